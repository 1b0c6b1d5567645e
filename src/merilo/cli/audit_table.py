"""An audit on the terminal."""

from __future__ import annotations

from collections import Counter
from math import isnan
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from merilo.baselines.pipeline import Baseline
from merilo.files import shortened
from merilo.metrics.score import Score
from merilo.people.audit.findings import VERDICTS
from merilo.people.audit.study import StudyAudit
from merilo.people.audit.typos import SLIPS
from merilo.reports.audit import tally

_COLOURS = {"gold": "red", "slip": "cyan", "annotator": "yellow", "disagreement": "magenta"}


def show(
    study: StudyAudit, before: Baseline, after: Baseline | None, *, limit: int, out: Path | None
) -> None:
    """Print the list and what it comes to on standard output."""
    console = Console(highlight=False)
    found = study.audit
    if found.findings and limit:
        console.print(_findings(study, limit))
    counts: Counter[str] = Counter(one.verdict for one in found.findings)
    console.print(
        f"{len(found.findings)} of {found.items} items have an answer against the gold or against each other; "
        f"{found.golds} have a gold."
    )
    for verdict, text in VERDICTS.items():
        if counts[verdict]:
            console.print(f"  [{_COLOURS[verdict]}]{verdict}[/]: {counts[verdict]}  ({text})", soft_wrap=True)
    if found.golds:
        first = f"; the first {found.to_review(0.9)} of the list hold 9 of 10 of them"
        console.print(
            f"Wrong golds to be expected: {found.expected_wrong:.1f} of {found.golds}"
            f"{first if found.expected_wrong >= 1 else ''}.",
            soft_wrap=True,
        )
    for kind, n in found.slips.items():
        console.print(
            f"  slip, {kind}: {n} {'answer' if n == 1 else 'answers'}  ({SLIPS[kind]})", soft_wrap=True
        )
    if after:
        for name, score in before.scores.items():
            console.print(f"{name} before revision: {_figure(score)}; after: {_figure(after.scores[name])}")
        if not before.scores:
            console.print("Without right answers there is no figure to score again (--gold).")
    if out:
        console.print(f"The list: {out / 'audit.csv'}", soft_wrap=True, markup=False)


def _findings(study: StudyAudit, limit: int) -> Table:
    gold = study.audit.golds > 0
    table = Table(title="Items to look at", title_justify="left", title_style="bold")
    for name in ("item", "P(gold wrong)" if gold else "doubt"):
        table.add_column(name, justify="right")
    table.add_column("inputs", overflow="fold", ratio=3)
    for name in ("gold", "best"):
        table.add_column(name, overflow="fold")
    table.add_column("answers", overflow="fold", ratio=2)
    table.add_column("verdict", no_wrap=True, min_width=max(map(len, VERDICTS)))
    for finding in study.audit.findings[:limit]:
        number = study.numbers[finding.item]
        mark = " (control)" if number in study.controls else ""
        text = shortened(" | ".join(value for value in study.inputs[number].values() if value), 80)
        table.add_row(
            f"{number}{mark}",
            f"{finding.doubt:.3f}" if gold and not isnan(finding.gold_wrong) else f"~{finding.doubt:.3f}",
            escape(text),
            escape(shortened(finding.gold or "—", 20)),
            escape(shortened(finding.best or "another", 20)),
            escape(shortened(tally(finding), 60)),
            f"[{_COLOURS[finding.verdict]}]{finding.verdict}[/]",
        )
    return table


def _figure(score: Score) -> str:
    sure = f" \\[{score.interval.low:.3f}, {score.interval.high:.3f}]" if score.interval else ""
    return f"{score.value:.3f}{sure} on {score.n} items"
