"""`merilo.baseline`: compute a human baseline from responses, and the result that it returns."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from merilo.atomic_write import new_folder, refuse_existing, write_files
from merilo.baselines import pipeline
from merilo.baselines.answer_table import answer_table
from merilo.baselines.arms import Arms, ArmSource, arm_division, arm_estimates
from merilo.baselines.consensus_scorer import settings_for
from merilo.baselines.estimates import Bounds, MetricEstimate
from merilo.baselines.pipeline import Baseline, test_items
from merilo.baselines.provenance import Provenance
from merilo.baselines.record import BaselineRecord, record_of, with_quality
from merilo.baselines.study_input import (
    IN_MEMORY,
    GoldSource,
    PopulationSource,
    SkillSource,
    find_population,
    population_files,
    population_name,
    reading_inputs,
    study_input,
)
from merilo.baselines.warnings import Status
from merilo.datasets import dataset as find_dataset
from merilo.datasets.declaration import Dataset
from merilo.errors import UsageError, argument, for_library
from merilo.metrics.score import Score
from merilo.people import pseudonyms
from merilo.people.agreement import Agreement
from merilo.people.other_datasets import OtherAnswers, read_other_answers
from merilo.people.reading import Source
from merilo.people.uncertainty.annotator_accuracy import Individuals
from merilo.responses import Responses
from merilo.settings import DEFAULTS, Settings
from merilo.statistics.intervals import Interval
from merilo.strict_json import Json
from merilo.wording import shown

if TYPE_CHECKING:
    from merilo.baselines.model_comparison import ModelComparison
    from merilo.baselines.model_verdicts import Margin
    from merilo.baselines.quality import StudyQuality
    from merilo.baselines.record import ModelEchoes
    from merilo.reports.hb.raw_study import RawStudy
    from merilo.reports.model_sections import ModelSections


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of a baseline.

    Attributes:
        name: the metric's name.
        value: the metric of the consensus.
        n: how many items it was computed on.
        interval_over_items: its 95 % interval over items alone.
        interval_items_and_annotators: its 95 % interval over items and annotators together; `None` if it is
            not defined.
        single_person: the metric of single annotators; `None` if it is not defined.
        published: the metric by majority only, other items left out; `None` if `value` is already computed so.
        bounds: the possible values of the metric if no item were left out; `None` if none was left out.
    """

    name: str
    value: float
    n: int
    interval_over_items: Interval | None
    interval_items_and_annotators: Interval | None
    single_person: Individuals | None
    published: Score | None
    bounds: Bounds | None

    @classmethod
    def of(cls, name: str, estimate: MetricEstimate) -> Metric:
        """Build the metric from an estimate."""
        return cls(
            name=name,
            value=estimate.score.value,
            n=estimate.score.n,
            interval_over_items=estimate.score.interval,
            interval_items_and_annotators=estimate.two_way.interval if estimate.two_way else None,
            single_person=estimate.single,
            published=estimate.published,
            bounds=estimate.bounds,
        )

    @property
    def interval(self) -> Interval | None:
        """Return the 95 % interval to publish.

        Over items and annotators, or over items alone if that is not defined.
        """
        return self.interval_items_and_annotators or self.interval_over_items


class BaselineResult:
    """A human baseline with all its data, as returned by `merilo.baseline`; printing it shows the table.

    Attributes:
        details: the internal representation of the baseline.
        provenance: how the baseline was computed.
    """

    def __init__(
        self,
        details: Baseline,
        provenance: Provenance,
        *,
        models: tuple[Path, ...] = (),
        common_items: bool = False,
        margin: Margin | None = None,
        inputs: tuple[Path, ...] = (),
        raw: Callable[[], RawStudy] | None = None,
        arms: Arms | None = None,
    ) -> None:
        self.details = details
        self.provenance = provenance
        self._models, self._common_items, self._inputs = models, common_items, inputs
        self._margin, self._arms = margin, arms
        self._raw = raw

    @property
    def status(self) -> Status:
        """Return "accepted", or why not: "rejected", "check the controls" or "no estimate"."""
        return self.details.status

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return the reasons for rejection; empty if the baseline is accepted."""
        return tuple(for_library(one.en) for one in self.details.reasons)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return the warnings for the reader of the baseline."""
        return tuple(for_library(one.en) for one in self.details.warnings)

    @property
    def settings(self) -> Settings:
        """Return the settings of the baseline."""
        return self.details.settings

    @cached_property
    def metrics(self) -> Mapping[str, Metric]:
        """Return the metrics by name, the main one first; empty without gold answers."""
        return {name: Metric.of(name, one) for name, one in self.details.estimates.all().items()}

    @property
    def agreement(self) -> Agreement:
        """Return Krippendorff's alpha with its interval, Fleiss' kappa and Gwet's AC1."""
        return self.details.agreement

    @property
    def consensus(self) -> pl.DataFrame:
        """Return the consensus, one row per item.

        `item`, `id`, its fields, `answers`, `votes`, `label`, `resolved_by`, `confidence`, `difficulty`,
        `gold`, `correct`, `points`.
        """
        return self.details.consensus

    @cached_property
    def answers(self) -> pl.DataFrame:
        """Return every answer of people and of the models with its gold answer, points, seconds and cost.

        The columns are those of `ANSWER_COLUMNS`.
        """
        return answer_table(self.details, self._models)

    @property
    def annotators(self) -> pl.DataFrame:
        """Return the annotators, one row each: answers, control items, accuracy, skill, exclusion."""
        return self.details.annotators

    @property
    def items(self) -> pl.DataFrame:
        """Return the items that are not control items, one row each: the number `item` and the fields."""
        return test_items(self.details.responses)

    @cached_property
    def quality(self) -> StudyQuality:
        """Return the doubtful items and the sensitivity of the metric; computed on first access."""
        from merilo.baselines.quality import study_quality  # noqa: PLC0415 - fits models

        return study_quality(self.details)

    @property
    def doubtful(self) -> pl.DataFrame | None:
        """Return the doubtful items, the most probably wrong gold first; `None` if they are not checked."""
        found = self.quality.doubtful
        return found.table if found else None

    @cached_property
    def record(self) -> BaselineRecord:
        """Return everything that `baseline.json` holds, typed, without the comparisons with models."""
        return with_quality(self.without_quality, self.quality)

    @cached_property
    def without_quality(self) -> BaselineRecord:
        """Return the record without what is computed last and takes longest: the doubtful items."""
        return record_of(self.details, self.provenance, arms=self._arms)

    @cached_property
    def _with_models(self) -> ModelSections:
        from merilo.reports.model_sections import with_models  # noqa: PLC0415 - needed only for JSON and models

        return with_models(
            self.details,
            self.record.to_json(),
            self._models,
            common_items=self._common_items,
            margin=self._margin,
        )

    @property
    def comparisons(self) -> list[ModelComparison]:
        """Return the comparisons with models; computed on first access."""
        return self._with_models.comparisons if self._models else []

    @property
    def echoes(self) -> tuple[ModelEchoes, ...]:
        """Return who repeats the wrong answers of each model; computed on first access."""
        return self._with_models.echoes if self._models else ()

    def to_dict(self) -> dict[str, Json]:
        """Return the baseline as JSON, as in the output of `merilo baseline --json` and in `baseline.json`."""
        return dict(self._with_models.content) if self._models else self.record.to_json()

    def save(self, folder: str | Path, *, force: bool = False) -> dict[str, Json]:
        """Write the folder that `merilo baseline --out` writes: report, JSON and tables.

        Args:
            folder: a new folder.
            force: replace an existing one.

        Returns:
            The baseline as JSON, with the comparisons with models if there are any.

        Raises:
            OutputError: the folder exists and `force` is not given, or it contains an input file of the baseline.
        """
        from merilo.reports.folder import write_folder  # noqa: PLC0415 - slow to load; needed only to write files
        from merilo.reports.hb.raw_study import RAW  # noqa: PLC0415 - as above

        path = Path(folder)
        refuse_existing(path, force=force, needed=self._inputs)
        with new_folder(path, force=force) as place:
            write_folder(place, self.details, self.quality, self._with_models)
            if self._raw:
                write_files(place / RAW, self._raw().to_files())
        return self.to_dict()

    def __repr__(self) -> str:
        from rich.console import Console  # noqa: PLC0415 - slow to load; needed only to print

        from merilo.reports.baseline_table import table  # noqa: PLC0415

        text = io.StringIO()
        Console(file=text, width=100, highlight=False, color_system=None).print(
            table(self.without_quality, for_library)
        )
        return text.getvalue().rstrip("\n")

    def _repr_html_(self) -> str:
        from merilo.reports.baseline_table import baseline_html  # noqa: PLC0415 - needed only in notebooks

        return baseline_html(self.without_quality)


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
    arm: ArmSource = None,
    other: Sequence[str | Path] | OtherAnswers = (),
    anonymise: bool = False,
    settings: Settings | None = None,
    **chosen: object,
) -> BaselineResult:
    """Compute a human baseline from responses, as `merilo baseline` does.

    Args:
        responses: the result of `read_responses`, or any source that it accepts.
        dataset: a dataset's name, the path of a YAML declaration, or a declaration object.
        gold: the gold answers: a file, a table, a mapping from item to answer if items have one field or one
            field of ids (`merilo.compare` matches answers of models by these items), or what `read_raw`
            gives; by default, the answers of the dataset's solver, if it has one.
        gold_column: the column of the gold answers, if it cannot be found by name.
        skills: the platform's skills of annotators: a file, a table of `annotator` and `skill`, or a mapping from
            annotator to skill.
        models: files of models' answers, or folders of runs, to compare with the annotators in the report;
            see also `compare`.
        common_items: if the items differ, compare models on the items that both sides answered.
        margin: the largest difference from a model that counts as none, in (0, 1): with it, equivalence with people is
            tested. By default, `baseline.margin` of the frozen plan if the file of gold answers is that of a study.
        population: the whole dataset, if the items are a sample of it: the file or table of its items, or of
            its strata with their numbers of items (column `count`), a study's `weights.csv`, or a mapping
            from the value of one field to the number of items.
        strata: the fields of the items whose values define the strata of the population.
        arm: the arms of the study, which are compared with each other: a table of annotator and arm, a mapping from
            annotator to arm, or what `read_raw` gives.
        other: exports of other datasets that the same annotators answered, one for each dataset, or what `read_raw`
            gives: who agrees with the others there is reliable.
        anonymise: replace annotators' ids by pseudonyms.
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
    settings = settings_for(declared, Settings.of(chosen, settings))
    answered = _answer_files(models, settings.dataset)
    study = study_input(
        responses,
        declared,
        gold=gold,
        gold_column=gold_column,
        alternatives=settings.alternatives,
        skills=skills,
    )
    read, found, skilled, origin = study.responses, study.gold, study.skills, study.origin
    division = arm_division(arm, origin.reading.encoding if origin else None)
    if isinstance(other, OtherAnswers):
        elsewhere: OtherAnswers | None = other
    else:
        elsewhere = read_other_answers(other, read.table["respondent"].unique().to_list()) if other else None
    if anonymise:
        if origin is None:
            raise UsageError(f"{argument('anonymise')} needs responses from read_responses")
        names = pseudonyms.names_of(read, origin.key)
        division = division.renamed(names) if division else None
        elsewhere = elsewhere.renamed(names) if elsewhere else None
        read, skilled = pseudonyms.anonymise(read, skilled, origin.key)
        found = replace(found, source=Path(found.source).name) if found else None
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
        population, strata, responses=read, gold=found, encoding=origin.reading.encoding if origin else None
    )
    made = pipeline.baseline(
        read, settings, dataset=declared, gold=found, skills=skilled, population=whole, other=elsewhere
    )
    compared = arm_estimates(made, division.of) if division else None
    answered = _log_files(answered, made)
    options: dict[str, Json] = {
        "dataset": dataset if isinstance(dataset, str) else settings.dataset,
        "gold": study.gold_name,
        "gold_column": gold_column,
        **study.reading,
        "anonymise": anonymise,
        "skills": study.skills_name,
        "model": [shown(path) for path in answered],
        "common_items": common_items,
        "margin": allowed.value if allowed else None,
        "population": population_name(population),
        "strata": [*strata],
        "arm": division.source if division else None,
        "other": [*elsewhere.sources] if elsewhere else [],
        **settings.parameters(),
    }
    inputs = [
        *study.files,
        *answered,
        *population_files(population),
        *reading_inputs(origin),
        *([table] if (table := _path(arm)) else []),
        *([] if isinstance(other, OtherAnswers) else map(Path, other)),
    ]
    in_memory = IN_MEMORY in {population_name(population), division.source if division else None}
    off = dict.fromkeys(("common_items", "anonymise"), False)
    defaults: dict[str, Json] = {**DEFAULTS, **off}
    record = study.provenance("baseline", options, defaults, inputs=inputs, in_memory=in_memory)

    def raw() -> RawStudy:
        from merilo.reports.hb.raw_study import RawStudy, without_folders  # noqa: PLC0415 - needed only to write files

        kept = RawStudy(
            read,
            settings,
            without_folders(record),
            found,
            skilled,
            declared,
            tuple(answered),
            common_items,
            platform=origin.recognised if origin else None,
            population=whole,
            margin=allowed,
            arms=division,
            other=elsewhere,
        )
        return kept if anonymise else kept.pseudonymised(origin.key if origin else None)

    return BaselineResult(
        made,
        record.without_folders() if anonymise and not study.in_memory else record,
        raw=raw,
        models=tuple(answered),
        common_items=common_items,
        margin=allowed,
        inputs=tuple(inputs),
        arms=compared,
    )


def _path(given: object) -> Path | None:
    return Path(given) if isinstance(given, str | Path) else None


def _answer_files(models: Sequence[str | Path], dataset: str | None) -> list[Path]:
    """Return the files of models' answers that paths of files and of runs mean."""
    if not models:
        return []
    from merilo.baselines.model_answers import run_file  # noqa: PLC0415 - slow to load; needed only with models

    return [run_file(Path(one), dataset) for one in models]


def _log_files(models: list[Path], made: Baseline) -> list[Path]:
    """Replace folders of other harnesses by the log in them that answers the baseline's items."""
    if not any(path.is_dir() for path in models):
        return models
    from merilo.baselines.baseline_reader import stored_baseline_of  # noqa: PLC0415 - needed only for folders
    from merilo.baselines.model_answers import log_file  # noqa: PLC0415 - as above

    crowd = stored_baseline_of(made)
    return [log_file(path, crowd) for path in models]


def _margin(given: float | Margin | None, gold: GoldSource) -> Margin | None:
    """Return the margin; it is planned if it equals that of the frozen plan beside the file of gold answers."""
    from merilo.baselines.model_verdicts import Margin  # noqa: PLC0415 - needed only with models
    from merilo.reports.comparison import planned_margin  # noqa: PLC0415 - as above
    from merilo.studies.plan_types import FROZEN_FILE  # noqa: PLC0415 - as above

    if isinstance(given, Margin):
        return given
    own = Margin(given) if given is not None else None
    folder = Path(gold).parent if isinstance(gold, str | Path) else None
    planned = planned_margin(folder) if folder and (folder / FROZEN_FILE).is_file() else None
    return planned if own is None or (planned and planned.value == own.value) else own
