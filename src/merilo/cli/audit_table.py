"""Print an audit on the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from merilo.baselines.audit import LEAST_PROBABLE, suspect_golds, tally
from merilo.baselines.pipeline import Baseline
from merilo.metrics.score import Score
from merilo.people.audit.findings import FEWEST_EXPECTED, NONE_OF_THESE, VERDICTS, Audit, Finding, StudyAudit
from merilo.people.audit.typos import TYPING_ERRORS
from merilo.responses import INPUT_MARK
from merilo.wording import shortened

_COLOURS = {"gold": "red", "typing_error": "cyan", "annotator": "yellow", "disagreement": "magenta"}

#: Longer item texts are cut on the terminal; the files have them in full.
_LONGEST_INPUT, _LONGEST_ANSWER, _LONGEST_NAME = 300, 120, 20


def show(
    study: StudyAudit, before: Baseline, after: Baseline | None, *, limit: int, out: Path | None
) -> None:
    """Print the items to review, and the counts over all items, on standard output."""
    console = Console(highlight=False)
    found = study.audit
    suspects = suspect_golds(found)
    _blocks(console, "Items to read first: their gold may be wrong", study, suspects[:limit])
    if not found.golds:
        _blocks(console, "Items on which people disagree", study, found.contested[:limit])
    if found.golds:
        _golds(console, found, len(suspects))
    if found.golds < found.items:
        console.print(
            f"{_counted(found.items - found.golds, 'item')} without gold; people disagree on {len(found.contested)} of them"
            f"{' (listed in contested.csv)' if out and found.contested else ''}.",
            soft_wrap=True,
        )
    counts: Counter[str] = Counter(one.verdict for one in chain(found.findings, found.contested))
    for verdict, text in VERDICTS.items():
        if counts[verdict]:
            console.print(f"  [{_COLOURS[verdict]}]{verdict}[/]: {counts[verdict]}  ({text})", soft_wrap=True)
    for kind, n in found.typing_errors.items():
        console.print(
            f"  typing error, {kind}: {_counted(n, 'answer')}  ({TYPING_ERRORS[kind]})", soft_wrap=True
        )
    if after:
        for name, score in before.scores.items():
            console.print(f"{name} before revision: {_figure(score)}; after: {_figure(after.scores[name])}")
        if not before.scores:
            console.print("Without gold answers nothing can be scored again (add --gold FILE).")
    if out:
        console.print(f"The list: {out / 'audit.csv'}", soft_wrap=True, markup=False)


def _golds(console: Console, found: Audit, suspects: int) -> None:
    """Print the summary over all gold answers."""
    console.print(
        f"{len(found.findings)} of {_counted(found.golds, 'item')} with gold {_have(len(found.findings))} an answer "
        "that differs from it.",
        soft_wrap=True,
    )
    if not found.findings:
        return
    if max(len(one.answers) for one in found.findings) == 1:
        console.print(
            "Each of them has one answer, so an answer that differs from the gold may be the annotator's error just as well.",
            soft_wrap=True,
        )
    expected = f"Expected number of wrong golds: {found.expected_wrong:.1f} of {found.golds}"
    first = found.to_review(0.9)
    if first:
        first_items = "first item" if first == 1 else f"first {first} items"
        expected += f"; the {first_items} of the list {_have(first, 'holds', 'hold')} 90 % of them"
    console.print(f"{expected}.", soft_wrap=True)
    if not first:
        console.print(
            f"This is below {FEWEST_EXPECTED:g}, so the audit recommends no list to read.", soft_wrap=True
        )
    elif not suspects:
        console.print(
            f"No gold is wrong with a probability of {LEAST_PROBABLE:g} or more: the answers give no reason to doubt one.",
            soft_wrap=True,
        )


def _blocks(console: Console, title: str, study: StudyAudit, findings: Sequence[Finding]) -> None:
    """Print a block of lines per item; in columns, a narrow terminal would have no room for the text."""
    if findings:
        console.print(f"[bold]{title}[/]\n")
    for rank, finding in enumerate(findings, start=1):
        number = study.numbers[finding.item]
        mark = " (control)" if number in study.controls else ""
        doubt = "" if finding.gold is None else f"P(gold wrong) {finding.gold_wrong:.3f}, "
        console.print(
            f"[bold]{rank}. item {number}{mark}[/]: {doubt}[{_COLOURS[finding.verdict]}]{finding.verdict}[/]"
        )
        fields = Table.grid(padding=(0, 2), expand=False)
        fields.add_column(style="dim", no_wrap=True)
        fields.add_column(overflow="fold")
        for name, text in study.inputs[number].items():
            if text:
                shown = shortened(name.removeprefix(INPUT_MARK), _LONGEST_NAME)
                fields.add_row(f"   {escape(shown)}", escape(shortened(text, _LONGEST_INPUT)))
        if finding.gold is not None:
            fields.add_row("   gold", escape(shortened(finding.gold, _LONGEST_ANSWER)))
        best = NONE_OF_THESE if finding.best is None else escape(shortened(finding.best, _LONGEST_ANSWER))
        fields.add_row("   most probable", f"{best} (P {finding.best_probability:.3f})")
        fields.add_row("   answers", escape(shortened(tally(finding), _LONGEST_ANSWER)))
        console.print(fields)
        console.print()


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _have(n: int, one: str = "has", many: str = "have") -> str:
    return one if n == 1 else many


def _figure(score: Score) -> str:
    sure = f" \\[{score.interval.low:.3f}, {score.interval.high:.3f}]" if score.interval else ""
    return f"{score.value:.3f}{sure} on {_counted(score.n, 'item')}"
