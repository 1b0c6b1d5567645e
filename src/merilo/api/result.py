"""The result class of `merilo.baseline`."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import polars as pl

from merilo.atomic_write import new_folder, refuse_existing, write_files
from merilo.baselines.estimates import Bounds, Estimate
from merilo.baselines.model_comparison import ModelComparison
from merilo.baselines.model_verdicts import Margin
from merilo.baselines.pipeline import Baseline, Settings, test_items
from merilo.baselines.record import record_of
from merilo.baselines.warnings import Status
from merilo.errors import for_library
from merilo.metrics.score import Score
from merilo.people.agreement import Agreement
from merilo.people.uncertainty.annotator_accuracy import Individuals
from merilo.statistics.intervals import Interval
from merilo.strict_json import Json

if TYPE_CHECKING:
    from merilo.baselines.provenance import Provenance
    from merilo.baselines.quality import StudyQuality
    from merilo.reports.hb.raw_study import RawStudy


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of a baseline.

    Attributes:
        name: the metric's name.
        value: the metric of the consensus.
        n: how many items it was computed on.
        interval_over_items: its 95 % interval over items alone.
        interval_items_and_annotators: its 95 % interval over items and annotators together; `None` if it is not defined.
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
    def of(cls, name: str, estimate: Estimate) -> Metric:
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
        """Return the 95 % interval to publish: over items and annotators, or over items alone if that is not defined."""
        return self.interval_items_and_annotators or self.interval_over_items


class BaselineResult:
    """A human baseline with all its data, as returned by `merilo.baseline`; printing it shows the table.

    Attributes:
        details: the internal representation of the baseline.
        provenance: how the baseline was computed.
        comparisons: the comparisons with models; filled by `to_dict` and `save`.
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
    ) -> None:
        self.details = details
        self.provenance = provenance
        self.comparisons: list[ModelComparison] = []
        self._models, self._common_items, self._inputs = models, common_items, inputs
        self._margin = margin
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
        """Return Krippendorff's alpha, Fleiss' kappa and Gwet's AC1 with their intervals."""
        return self.details.agreement

    @property
    def consensus(self) -> pl.DataFrame:
        """Return the consensus, one row per item: `item`, `id`, its fields, `answers`, `votes`, `label`, `resolved_by`, `confidence`, `difficulty`, `gold`, `correct`, `points`."""
        return self.details.consensus

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
        """Return the quality of the annotators and the sensitivity of the metric; computed on first access."""
        from merilo.baselines.quality import study_quality  # noqa: PLC0415 - fits models

        return study_quality(self.details)

    @cached_property
    def _content(self) -> dict[str, Json]:
        return record_of(self.details, self.provenance, self.quality).to_json()

    def to_dict(self) -> dict[str, Json]:
        """Return the baseline as JSON, as in the output of `merilo baseline --json` and in `baseline.json`."""
        if not self._models:
            return dict(self._content)
        with TemporaryDirectory() as folder:
            return self._write(Path(folder))

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
        from merilo.reports.hb.raw_study import RAW  # noqa: PLC0415 - needed only to write files

        path = Path(folder)
        refuse_existing(path, force=force, needed=self._inputs)
        with new_folder(path, force=force) as place:
            content = self._write(place)
            if self._raw:
                write_files(place / RAW, self._raw().to_files())
            return content

    def _write(self, folder: Path) -> dict[str, Json]:
        from merilo.reports.folder import write_folder  # noqa: PLC0415 - slow to load; needed only to write files

        content, self.comparisons = write_folder(
            folder,
            self.details,
            self._content,
            self.quality,
            models=self._models,
            common_items=self._common_items,
            margin=self._margin,
        )
        return content

    def __repr__(self) -> str:
        from rich.console import Console  # noqa: PLC0415 - slow to load; needed only to print

        from merilo.reports.baseline_table import table  # noqa: PLC0415

        text = io.StringIO()
        Console(file=text, width=100, highlight=False, color_system=None).print(
            table(self.details, for_library)
        )
        return text.getvalue().rstrip("\n")

    def _repr_html_(self) -> str:
        from merilo.reports.notebook import baseline_html  # noqa: PLC0415 - needed only in notebooks

        return baseline_html(self.details)
