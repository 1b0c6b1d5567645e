"""`merilo.baseline`: compute a human baseline from responses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Final

from merilo.api.population_input import (
    PopulationSource,
    find_population,
    population_files,
    population_name,
)
from merilo.api.result import BaselineResult
from merilo.api.study_input import IN_MEMORY, GoldSource, SkillSource, recoding_inputs, study_input
from merilo.baselines import pipeline
from merilo.baselines.baseline_reader import stored_baseline_of
from merilo.baselines.declared import settings_for
from merilo.baselines.model_answers import log_file, run_file
from merilo.baselines.model_verdicts import Margin
from merilo.datasets import Dataset
from merilo.datasets import dataset as find_dataset
from merilo.errors import UsageError, argument
from merilo.people import pseudonyms
from merilo.people.reading import Source
from merilo.reports.planned_margin import planned_margin
from merilo.responses import Responses
from merilo.settings import Settings
from merilo.strict_json import Json
from merilo.studies.plan_types import FROZEN_FILE
from merilo.wording import shown

if TYPE_CHECKING:
    from merilo.reports.hb.raw_study import RawStudy

#: Options that a recorded command leaves out, because they have the default of the settings.
DEFAULTS: Final[dict[str, Json]] = {
    **{one.name: one.default for one in fields(Settings) if isinstance(one.default, str | int | float)},
    "common_items": False,
    "anonymise": False,
}


def baseline(
    responses: Responses | Source,
    *,
    dataset: str | Dataset | None = None,
    gold: GoldSource = None,
    gold_column: str | None = None,
    skills: SkillSource = None,
    models: Sequence[str | Path] = (),
    common_items: bool = False,
    margin: float | Margin | None = None,
    population: PopulationSource = None,
    strata: Sequence[str] = (),
    anonymise: bool = False,
    settings: Settings | None = None,
    **chosen: object,
) -> BaselineResult:
    """Compute a human baseline from responses, as `merilo baseline` does.

    Args:
        responses: the result of `read_responses`, or any source that it accepts.
        dataset: a dataset's name, the path of a YAML declaration, or a declaration object.
        gold: the gold answers: a file, a table, a mapping from item to answer if items have one field or one
            field of ids (`merilo.compare` matches answers of models by these items), or what `read_raw` gives; by default, the answers of the dataset's solver, if it has one.
        gold_column: the column of the gold answers, if it cannot be found by name.
        skills: the platform's skills of annotators: a file, a table of `annotator` and `skill`, or a mapping from
            annotator to skill.
        models: files of models' answers, or folders of runs, to compare with the annotators in the report; see also `compare`.
        common_items: if the items differ, compare models on the items that both sides answered.
        margin: the largest difference from a model that counts as none, in (0, 1): with it, equivalence with people is
            tested. By default, `baseline.margin` of the frozen plan if the file of gold answers is that of a study.
        population: the whole dataset, if the items are a sample of it: the file or table of its items, or of its strata with
            their numbers of items (column `count`), a study's `weights.csv`, or a mapping from the value of one field to the number of items.
        strata: the fields of the items whose values define the strata of the population.
        anonymise: replace annotators' ids by pseudonyms.
        settings: the settings; by default, the defaults of `Settings`.
        chosen: single settings by name, such as `min_votes=3`; `docs/commands.md` explains each as an option.

    Returns:
        The baseline.

    Raises:
        UsageError: an argument does not fit the others or the data.
        InputError: a file cannot be read.
        DataError: no item is left, or all annotators fail the control items.

    Example:
        >>> import polars as pl
        >>> frame = pl.DataFrame(
        ...     {"task": [1, 1, 1, 2, 2, 2], "worker": [*"abcabc"], "label": [*"yynnnn"]}
        ... )
        >>> made = baseline(frame, gold={"1": "y", "2": "n"})
        >>> made.metrics["acc"].value, made.consensus["label"].to_list()
        (1.0, ['y', 'n'])
    """
    declared = find_dataset(dataset) if isinstance(dataset, str) else dataset
    settings = settings_for(declared, Settings.of(chosen, settings))
    models = [run_file(Path(one), settings.dataset) for one in models]
    study = study_input(
        responses,
        declared,
        gold=gold,
        gold_column=gold_column,
        alternatives=settings.alternatives,
        skills=skills,
    )
    read, found, skilled, origin = study.responses, study.gold, study.skills, study.origin
    if anonymise:
        if origin is None:
            raise UsageError(f"{argument('anonymise')} needs responses from read_responses")
        read, skilled = pseudonyms.anonymise(read, skilled, origin.key)
        found = found.named(Path(found.source).name) if found else None
    if models and not found:
        raise UsageError(
            f"{argument('model')} is compared on gold answers, and none are known: give {argument('gold')}"
        )
    allowed = _margin(margin, gold) if models or margin is not None else None
    if allowed and not models:
        raise UsageError(
            f"{argument('margin')} is for a comparison with models: give {argument('model', 'FILE')}"
        )
    whole = find_population(
        population, strata, responses=read, gold=found, encoding=origin.encoding if origin else None
    )
    made = pipeline.baseline(read, settings, dataset=declared, gold=found, skills=skilled, population=whole)
    if any(Path(one).is_dir() for one in models):
        crowd = stored_baseline_of(made)
        models = [log_file(Path(one), crowd) for one in models]
    options: dict[str, Json] = {
        **study.reading("platform"),
        "dataset": dataset if isinstance(dataset, str) else settings.dataset,
        "gold": study.gold_name,
        "gold_column": gold_column,
        **study.reading("answer", "recode"),
        "anonymise": anonymise,
        "skills": study.skills_name,
        "model": [shown(Path(one)) for one in models],
        "common_items": common_items,
        "margin": allowed.value if allowed else None,
        "population": population_name(population),
        "strata": [*strata],
        **study.reading("encoding"),
        **settings.parameters(),
        **study.reading("item", "annotator", "control", "page", "started", "submitted", "seconds", "reward"),
    }
    inputs = [*study.files, *map(Path, models), *population_files(population), *recoding_inputs(origin)]
    in_memory = population_name(population) == IN_MEMORY
    record = study.provenance("baseline", options, DEFAULTS, inputs=inputs, in_memory=in_memory)

    def raw() -> RawStudy:
        from merilo.reports.hb.raw_study import RawStudy, without_folders  # noqa: PLC0415 - needed only to write files

        kept = RawStudy(
            read,
            settings,
            without_folders(record),
            found,
            skilled,
            declared,
            tuple(map(Path, models)),
            common_items,
            platform=origin.recognised if origin else None,
            population=whole,
            margin=allowed,
        )
        return kept if anonymise else kept.pseudonymised(origin.key if origin else None)

    return BaselineResult(
        made,
        record.without_folders() if anonymise and not study.in_memory else record,
        raw=raw,
        models=tuple(map(Path, models)),
        common_items=common_items,
        margin=allowed,
        inputs=tuple(inputs),
    )


def _margin(given: float | Margin | None, gold: GoldSource) -> Margin | None:
    """Return the margin; it is planned if it equals that of the frozen plan beside the file of gold answers."""
    if isinstance(given, Margin):
        return given
    own = Margin(given) if given is not None else None
    folder = Path(gold).parent if isinstance(gold, str | Path) else None
    planned = planned_margin(folder) if folder and (folder / FROZEN_FILE).is_file() else None
    return planned if own is None or (planned and planned.value == own.value) else own
