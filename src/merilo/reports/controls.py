"""The quality of a study's control items as a line of text."""

from __future__ import annotations

from merilo.baselines.pipeline import Baseline
from merilo.reports.estimates import counted, record_text


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
