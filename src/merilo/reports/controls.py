"""The quality of a study's control items as JSON, as rows of the report, and as a line of text."""

from __future__ import annotations

from dataclasses import dataclass

from merilo.baselines.pipeline import Baseline
from merilo.people.quality.controls import FEW_CONTROLS, ControlItem
from merilo.reports.estimates import counted, interval_json, record_text
from merilo.strict_json import Json


@dataclass(frozen=True, slots=True)
class SuspectControl:
    """A suspect control item as shown in the report.

    Attributes:
        control: the control item and its answers.
        inputs: the texts shown to annotators, by field.
    """

    control: ControlItem
    inputs: dict[str, str]


def suspect_controls(baseline: Baseline) -> list[SuspectControl]:
    """Return the suspect control items of a baseline with the texts shown to annotators."""
    health = baseline.control_health
    shown = {
        int(row["item"]): {name: str(text) for name, text in row.items() if name != "item" and text}
        for row in baseline.responses.items.iter_rows(named=True)
        if row["item"] in health.suspects
    }
    return [SuspectControl(one, shown[one.item]) for one in health.controls if one.suspect]


def control_health_summary(baseline: Baseline) -> dict[str, Json]:
    """Return the quality of the control items as JSON; see `merilo.people.quality.controls.ControlHealth`."""
    health, score = baseline.control_health, baseline.without_suspects
    over_both = baseline.control_check.two_way
    return {
        "controls": len(health.controls),
        "suspects": [_suspect(one) for one in suspect_controls(baseline)],
        "annotators": health.annotators,
        "without_controls": health.without_controls,
        "unjudged": health.unjudged,
        "few_controls": FEW_CONTROLS,
        "judged_on_few": health.judged_on_few,
        "excluded": health.excluded,
        "excluded_on_few": health.excluded_on_few,
        "without_suspects": {
            "judged_differently": health.judged_differently,
            "newly_kept": list(health.newly_kept),
            "newly_excluded": list(health.newly_excluded),
            "metric": score.name if score else None,
            "value": round(score.value, 6) if score else None,
            "ci95": interval_json(score.interval) if score else None,
            "ci95_items_and_annotators": interval_json(over_both.interval if over_both else None),
            "n": score.n if score else 0,
        },
    }


def suspects_line(baseline: Baseline) -> str | None:
    """Return the suspect control items as one line for the terminal; `None` if there are none."""
    health, score = baseline.control_health, baseline.without_suspects
    if not health.suspects:
        return None
    line = f"{len(health.suspects)} of {counted(len(health.controls), 'control item')}; without them "
    line += f"{counted(health.judged_differently, 'annotator')} judged differently"
    if score is None:
        return line
    sure = record_text(score, baseline.control_check.two_way)
    return f"{line}, {score.name} {score.value:.3f}{sure and f' {sure}'} on {counted(score.n, 'item')}"


def _suspect(one: SuspectControl) -> dict[str, Json]:
    control = one.control
    return {
        "item": control.item,
        "inputs": dict(one.inputs),
        "known": control.known,
        "answers": control.answers,
        "correct": control.correct,
        "most_common": control.most_common,
        "most_common_answers": control.most_common_answers,
        "good_annotators_answers": control.good_answers,
        "good_annotators_correct": control.good_correct,
    }
