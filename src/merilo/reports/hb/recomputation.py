"""Computing a baseline again from the raw state of its study."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from merilo.atomic_write import guarded
from merilo.baselines.baseline import Baseline
from merilo.baselines.evidence import Evidence
from merilo.baselines.pipeline import compute
from merilo.baselines.provenance import Provenance, provenance
from merilo.reports.cost_report import CostLine, cost_json, pool_costs
from merilo.reports.hb.raw_study import RawStudy, arm_folder
from merilo.reports.item_browser import item_browser
from merilo.reports.model_sections import ModelSections, with_models
from merilo.reports.page import page
from merilo.strict_json import Json, as_text


@dataclass(frozen=True, slots=True)
class Recomputed:
    """A baseline computed from the raw state of its study.

    Attributes:
        raw: the raw state.
        record: the baseline.
        content: the baseline as JSON, exactly as it is written to files.
        models: the comparisons with models.
    """

    raw: RawStudy
    record: Baseline
    content: dict[str, Json]
    models: ModelSections

    @property
    def baseline(self) -> Evidence:
        """Return what the baseline rests on."""
        return self.record.evidence

    @property
    def made_by(self) -> Provenance:
        """Return how the baseline was first computed."""
        return self.raw.provenance or provenance("merilo baseline", [], self.raw.keywords)

    def page(
        self,
        *,
        plan: Mapping[str, Json] | None,
        attachments: Mapping[str, bytes],
    ) -> str:
        """Return the report page with the study's plan and instruction."""
        return page(self.record, plan=plan, attachments=attachments)

    def item_page(self) -> str:
        """Return the page of all items."""
        return item_browser(self.record, self.models.answered)

    def tables(self) -> dict[str, bytes]:
        """Return annotators, consensus and doubtful items as CSV files, guarded against formulas, by name."""
        tables = {"annotators.csv": self.baseline.annotators, "consensus.csv": self.baseline.consensus}
        if self.record.doubtful is not None:
            tables["doubtful.csv"] = self.record.doubtful
        for number, (name, arm) in enumerate(self.record.arms.items(), start=1):
            folder = arm_folder(name, number)
            tables |= {f"{folder}/annotators.csv": arm.annotators, f"{folder}/consensus.csv": arm.consensus}
        return {name: guarded(table).write_csv().encode() for name, table in tables.items()}


def recompute(raw: RawStudy) -> Recomputed:
    """Compute the baseline of a study from its raw state.

    Raises:
        DataError: no baseline can be computed from these answers.
    """
    baseline = compute(raw.study, raw.settings)
    models = with_models(baseline.evidence, raw.models, common_items=raw.common_items, margin=raw.margin)
    baseline = baseline.with_models(models)
    return Recomputed(raw, baseline, as_written(baseline.to_json()), models)


def as_written(content: dict[str, Json]) -> dict[str, Json]:
    """Return JSON as a reader of its file gets it: mappings with text keys, arguments named as on the command line."""
    return cast("dict[str, Json]", json.loads(as_text(content)))


def pools(made: Recomputed) -> list[CostLine]:
    """Return the cost of each pool of answers."""
    raws = (made.raw, *made.raw.arms.values())
    return [
        line
        for raw, arm in zip(raws, made.record.by_arm.values(), strict=True)
        for line in pool_costs(raw.responses.table, arm.cost.currency)
    ]


def cost_details(made: Recomputed) -> dict[str, Json]:
    """Return the costs by group of people and by pool."""
    return cost_json(made.record.by_arm, pools(made))
