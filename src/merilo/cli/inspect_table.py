"""Print the description of an export on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from merilo.cli import tame
from merilo.cli.inspect import MOST_ANSWERS, UNKNOWN, Found, GoldMatch
from merilo.people.inspection import Inspection
from merilo.people.platforms import NAMES
from merilo.reports.estimates import counted
from merilo.wording import listed, shortened, shown

_ABSENT = {"time": "times", "reward": "rewards", "page": "pages", "control": "control items"}


def show(files: Sequence[Path], found: Found) -> None:
    """Print the findings and the suggested command on standard output."""
    console = Console(highlight=False)
    table = Table(show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in _rows(files, found):
        table.add_row(name, escape(tame(value)))
    console.print(table)
    for one in found.by_answer.values():
        for near in one.near[:5]:
            console.print(
                f"'{tame(near.written)}' ({near.answers}) looks like a spelling of '{tame(near.label)}' "
                f"({near.label_answers}); {tame(near.option)} joins them",
                soft_wrap=True,
                markup=False,
            )
    if len(found.by_answer) > 1:
        console.print(f"Choose the column of answers with --answer; the command below uses {found.answer}.")
    if UNKNOWN in found.command.split():
        console.print(f"Replace {UNKNOWN} by the name of the column: it could not be recognised.")
    console.print("Suggested command:")
    console.print(f"  {tame(found.command)}", soft_wrap=True, markup=False)


def _rows(files: Sequence[Path], found: Found) -> list[tuple[str, str]]:
    rows = [
        ("files", ", ".join(shown(path) for path in files)),
        ("platform", f"{NAMES[found.platform]} ({found.platform})"),
        ("columns", listed([name or "(no name)" for name in found.columns], 40)),
        ("item fields", listed(found.fields, 40) or "not known"),
    ]
    for name, one in found.by_answer.items():
        rows.append((f"answers, {name}", _answers(one)))
    if found.answer is not None:
        rows += _counts(found.by_answer[found.answer])
    return rows + [(_title(match), _match(match)) for match in found.matches]


def _answers(one: Inspection) -> str:
    top = [f"{shortened(answer, 40)}: {n}" for answer, n in list(one.answers.items())[:MOST_ANSWERS]]
    more = len(one.answers) - len(top)
    return "; ".join(top) + (f"; and {more} more different answers" if more else "")


def _counts(one: Inspection) -> list[tuple[str, str]]:
    controls = one.controls
    dropped = ", ".join(f"{n} {reason.replace('_', ' ')}" for reason, n in one.dropped.items())
    rows = [
        ("rows", f"{one.rows_read}" + (f", of which dropped: {dropped}" if dropped else "")),
        ("annotators", f"{one.annotators}"),
        ("items", f"{one.items}, control items not counted"),
        ("overlap", ", ".join(f"{items} of {people}" for people, items in one.overlap.items()) or "none"),
        (
            "control items",
            f"{controls.items} with {counted(controls.rows, 'response')}, {controls.known} of them with a known answer, by "
            f"{counted(controls.people, 'annotator')}"
            if controls.items
            else "none",
        ),
        (
            "repeated answers",
            f"{one.equal_repeats} times the same answer, {one.different_repeats} times another"
            if one.equal_repeats or one.different_repeats
            else "none",
        ),
        ("times, rewards", f"{counted(one.timed, 'response')} with a duration, {one.paid} with a reward"),
    ]
    if one.absent:
        rows.append(("no column of", ", ".join(_ABSENT[what] for what in one.absent)))
    return rows


def _title(match: GoldMatch) -> str:
    return "dataset" if match.source.startswith("dataset ") else "gold answers"


def _match(match: GoldMatch) -> str:
    verdict = "match" if match.fits else "do not match"
    matched = "" if match.matched is None else f", {match.matched} of {counted(match.items, 'item')}"
    counts = f"{match.source}: {verdict}{matched}"
    unused = f"; {counted(match.unused, 'gold answer')} without an item" if match.unused else ""
    return counts + unused + (f"; {match.why}" if match.why else "")
