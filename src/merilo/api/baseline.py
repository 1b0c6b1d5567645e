"""`merilo.baseline`: compute a human baseline from responses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from merilo.api.population_input import (
    PopulationSource,
    find_population,
    population_files,
    population_name,
)
from merilo.api.reading import Source
from merilo.api.result import BaselineResult
from merilo.api.study_input import IN_MEMORY, GoldSource, SkillSource, recoding_inputs, study_input
from merilo.baselines import pipeline
from merilo.baselines.baseline_reader import stored_baseline_of
from merilo.baselines.model_answers import log_file
from merilo.baselines.model_verdicts import Margin
from merilo.baselines.run_samples import run_file
from merilo.baselines.settings import Settings
from merilo.datasets import Dataset
from merilo.datasets import dataset as find_dataset
from merilo.errors import UsageError, argument
from merilo.people import pseudonyms
from merilo.people.agreement import Level
from merilo.people.decision import Aggregator, Resolve
from merilo.people.duplicates import Repeats
from merilo.reports.planned_margin import planned_margin
from merilo.responses import Responses
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
    metric: str | None = None,
    alternatives: str | None = None,
    min_control_accuracy: float = 0.5,
    min_controls: int = 1,
    min_control_score: float = 0.5,
    min_votes: int | Literal["majority"] = "majority",
    max_low_agreement: float = 0.3,
    aggregator: Aggregator = "majority",
    resolve: Resolve = "cascade",
    anchor_controls: bool = False,
    normalise: Sequence[str] = (),
    by: Sequence[str] = (),
    cluster: str | None = None,
    level: Level = "nominal",
    repeats: Repeats = "refuse",
    adaptive: str | None = None,
    currency: str | None = None,
    anonymise: bool = False,
) -> BaselineResult:
    """Compute a human baseline from responses, as `merilo baseline` does.

    Args:
        responses: the result of `read_responses`, or any source that it accepts.
        dataset: a dataset's name, the path of a YAML declaration, or a declaration object.
        gold: the gold answers: a file, a table, a mapping from item to answer if items have one field, or what `read_raw`
            gives; by default, the answers of the dataset's solver, if it has one.
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
        metric: the main metric; by default, the dataset's main metric, or `acc` without a dataset.
        alternatives: the separator of several gold answers in one text, if no dataset declares it.
        min_control_accuracy: annotators with a lower accuracy on control items are excluded.
        min_controls: annotators with fewer control answers are not judged and are kept.
        min_control_score: a free-text answer to a control item is right if it scores at least this much: the F1 of its words
            with a known answer, whatever the dataset's metric. Other answers must equal the known answer.
        min_votes: how many equal votes make a majority; "majority" is more than half.
        max_low_agreement: the share of items without a majority above which the baseline is rejected.
        aggregator: "majority", "dawid-skene", "one-coin" or "glad".
        resolve: what happens to items left undecided: "none", "skill", "glad" or "cascade".
        anchor_controls: whether models of annotators are given the known answers of control items.
        normalise: names of the rules by which spellings count as the same answer.
        by: fields of the items; agreement and metrics are computed for each of their values.
        cluster: the field of the items that form a cluster if they have the same value, such as a text; every interval and test
            takes clusters into account. By default, the field that the dataset declares.
        level: the level of measurement of Krippendorff's alpha.
        repeats: what happens to an annotator's second, different answer to an item.
        adaptive: the adaptive overlap with which answers were collected, as START:LIMIT[:SHARE[:SEED]]; by default, the overlap was fixed.
        currency: the currency of rewards, if the export does not state it.
        anonymise: replace annotators' ids by pseudonyms.

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
    settings = Settings(
        metric=metric,
        alternatives=alternatives,
        min_control_accuracy=min_control_accuracy,
        min_controls=min_controls,
        min_control_score=min_control_score,
        min_votes=min_votes,
        max_low_agreement=max_low_agreement,
        aggregator=aggregator,
        resolve=resolve,
        anchor_controls=anchor_controls,
        normalise=tuple(normalise),
        by=tuple(by),
        cluster=cluster,
        level=level,
        repeats=repeats,
        adaptive=adaptive,
        currency=currency,
    ).for_dataset(declared)
    models = [run_file(Path(one), settings.dataset) for one in models]
    study = study_input(
        responses, declared, gold=gold, gold_column=gold_column, alternatives=alternatives, skills=skills
    )
    read, found, skilled, origin = study.responses, study.gold, study.skills, study.origin
    if anonymise:
        if origin is None:
            raise UsageError(f"{argument('anonymise')} needs responses from read_responses")
        read, skilled = pseudonyms.anonymise(read, skilled, origin.key)
        found = pseudonyms.gold_without_folders(found) if found else None
    if models and not found:
        raise UsageError(
            f"{argument('model')} is compared on gold answers, and none are known: give {argument('gold')}"
        )
    chosen = _margin(margin, gold) if models or margin is not None else None
    if chosen and not models:
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
        "margin": chosen.value if chosen else None,
        "population": population_name(population),
        "strata": [*strata],
        **study.reading("encoding"),
        "currency": currency,
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
            margin=chosen,
        )
        return kept if anonymise else kept.pseudonymised(origin.key if origin else None)

    return BaselineResult(
        made,
        record.without_folders() if anonymise and not study.in_memory else record,
        raw=raw,
        models=tuple(map(Path, models)),
        common_items=common_items,
        margin=chosen,
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
