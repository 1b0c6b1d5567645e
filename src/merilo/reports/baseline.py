"""`merilo.baseline`: compute a human baseline from responses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from merilo.baselines.arms import FILES, arms_of, divided
from merilo.baselines.baseline import Baseline
from merilo.baselines.pipeline import compute
from merilo.baselines.study_input import (
    IN_MEMORY,
    ArmInput,
    GoldSource,
    SkillSource,
    StudyInput,
    find_population,
    name_of,
    reading_options,
    recorded,
    refuse_unknown_metric,
    study_input,
)
from merilo.datasets import dataset as find_dataset
from merilo.datasets.declaration import Dataset
from merilo.errors import UsageError, argument
from merilo.people.peers import read_other_answers
from merilo.people.reading import Source, read_origin, read_responses
from merilo.responses import Responses
from merilo.settings import Settings
from merilo.strict_json import Json
from merilo.wording import shown

if TYPE_CHECKING:
    from merilo.baselines.row import Margin


def baseline(
    responses: Responses | Source,
    *,
    dataset: str | Dataset | None = None,
    gold: GoldSource = None,
    gold_column: str | None = None,
    skills: SkillSource = None,
    models: Sequence[str | Path] = (),
    population: str | Path | None = None,
    arm: str | Mapping[str, str] | None = None,
    other: Sequence[str | Path] = (),
    settings: Settings | None = None,
    **chosen: object,
) -> Baseline:
    """Compute a human baseline from responses, as `merilo baseline` does.

    Args:
        responses: the result of `read_responses`, or any source that it accepts.
        dataset: a dataset's name, the path of a YAML declaration, or a declaration object.
        gold: the gold answers: a file, a table, a mapping from item to answer if items have one field or one
            field of ids (`merilo.compare` matches answers of models by these items); by default, the answers of the
            dataset's solver, if it has one.
        gold_column: the column of the gold answers, if it cannot be found by name.
        skills: the platform's skills of annotators: a file, a table of `annotator` and `skill`, or a mapping from
            annotator to skill.
        models: files of models' answers, or folders of runs, to compare with the annotators in the report;
            see also `compare`.
        population: the whole dataset, if the items are a sample of it: a study's `weights.csv`.
        arm: the groups of people, which get a baseline each: a column of the files, `files` where every file is a
            group, or a mapping from annotator to arm. The arm `people` is the baseline that is returned, and its
            `arms` are the others; without such an arm, it is that of everybody, and its `arms` are all.
        other: exports of other datasets that the same annotators answered, one for each dataset: who agrees with the
            others there is reliable.
        settings: the settings; by default, the defaults of `Settings`.
        chosen: single settings by name, such as `min_votes=3`; `merilo baseline --help` explains each.

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
    settings = Settings.of(chosen, settings)
    refuse_unknown_metric(settings)
    study = study_input(
        responses if arm is None else _with_arms(responses, arm),
        declared,
        gold=gold,
        gold_column=gold_column,
        alternatives=settings.alternatives,
        skills=skills,
    )
    encoding = study.origin.reading.encoding if study.origin else None
    people = study.responses.table["respondent"].unique().to_list()
    study = replace(study, other=read_other_answers(other, people) if other else None)
    if models and not study.gold:
        raise UsageError(
            f"{argument('model')} is compared on gold answers, and none are known: give {argument('gold')}"
        )
    study = replace(
        study,
        population=find_population(population, responses=study.responses, gold=study.gold, encoding=encoding),
        margin=_planned(gold) if models else None,
    )
    study = replace(study, models=_answer_files(models, study, settings))
    options: dict[str, Json] = {
        "dataset": dataset if isinstance(dataset, str) or dataset is None else dataset.name,
        "gold": name_of(gold),
        "gold_column": gold_column,
        **reading_options(study.origin),
        "skills": name_of(skills),
        "model": [shown(path) for path in study.models],
        "population": name_of(population),
        "arm": arm if arm is None or isinstance(arm, str) else IN_MEMORY,
        "other": [*study.other.sources] if study.other else [],
        **settings.parameters(),
    }
    study = _with_provenance(study, options, (population, *other))
    return computed(study if arm is None else _divided(study, settings), settings)


def computed(study: StudyInput, settings: Settings) -> Baseline:
    """Compute the baseline of a study, with the comparisons with its models."""
    result = compute(study, settings)
    if not study.models:
        return result
    from merilo.reports.comparison import with_models  # noqa: PLC0415 - slow to load; needed only with models

    return result.with_models(with_models(result, study.models, margin=study.margin))


def _with_arms(responses: Responses | Source, arm: str | Mapping[str, str]) -> Responses:
    """Return the responses with the arm of each annotator; a column of arms is read from the files again."""
    read = responses if isinstance(responses, Responses) else read_responses(responses)
    origin = read.origin
    if isinstance(arm, str) and arm != FILES and origin and arm != origin.reading.columns.arm:
        read = read_origin(replace(origin, reading=origin.reading.named(arm=arm)))
    return replace(read, arms=arms_of(read, arm))


def _divided(study: StudyInput, settings: Settings) -> StudyInput:
    """Return the study of the main arm with the other arms beside it; models are compared with the main arm."""
    (main, own), *others = divided(study.responses, study.responses.arms or {}).items()
    alone = replace(study, models=(), margin=None)
    arms = {name: ArmInput(replace(alone, responses=part), settings) for name, part in others}
    return replace(study, responses=own, arm=main, arms=arms)


def _with_provenance(
    study: StudyInput, options: Mapping[str, Json], more_sources: Iterable[object]
) -> StudyInput:
    """Record how the baseline is computed, and its input files: those of the study and those among other arguments."""
    declared = study.origin.declared if study.origin else None
    files = (
        *study.models,
        *(Path(source) for source in (declared, *more_sources) if isinstance(source, str | Path)),
    )
    study = replace(study, files=(*study.files, *files))
    in_memory = IN_MEMORY in {options[name] for name in ("gold", "skills", "population", "arm")}
    record = recorded(study, options, in_memory=in_memory)
    return replace(study, provenance=record)


def _answer_files(models: Sequence[str | Path], study: StudyInput, settings: Settings) -> tuple[Path, ...]:
    """Return the files of models' answers that paths of files, of runs and of other harnesses' folders mean."""
    if not models:
        return ()
    from merilo.baselines.crowd import crowd_of  # noqa: PLC0415 - needed only with models
    from merilo.baselines.model_answers import log_file, run_file  # noqa: PLC0415 - as above

    files = [run_file(Path(model), study.dataset.name if study.dataset else None) for model in models]
    if any(path.is_dir() for path in files):
        people = crowd_of(compute(study, settings))
        files = [log_file(path, people) for path in files]
    return tuple(files)


def _planned(gold: GoldSource) -> Margin | None:
    """Return the margin for equivalence of the frozen plan beside the file of gold answers."""
    from merilo.reports.comparison import planned_margin  # noqa: PLC0415 - needed only with models
    from merilo.studies.plan import FROZEN_FILE  # noqa: PLC0415 - as above

    folder = Path(gold).parent if isinstance(gold, str | Path) else None
    return planned_margin(folder) if folder and (folder / FROZEN_FILE).is_file() else None
