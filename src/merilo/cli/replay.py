"""`merilo replay`: recompute the published human scores from their raw answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from merilo.cli.options import CurvesOption, JsonOption, RaterOption
from merilo.cli.output import check_places, deliver, interval, number, show, show_table, working
from merilo.text import Text, joined

if TYPE_CHECKING:
    from merilo.reports.replay import PublishedRow, PublishedValue, Replay

app = typer.Typer(add_completion=False)


@app.command()
def replay(
    pools: Annotated[
        Path,
        typer.Argument(help="The folder of the published raw answers, one folder per dataset (bps, lcs)."),
    ],
    *,
    gold: Annotated[
        Path | None,
        typer.Option(help="A folder with gold answers that are not published, as DATASET.json (rwsd.json)."),
    ] = None,
    models: RaterOption = None,
    curves: CurvesOption = None,
    json_to: JsonOption = None,
) -> int:
    """Recompute every published human score whose raw answers are at hand; exit status 1 if one is not reproduced."""
    from merilo.reports.replay import replay as recompute  # noqa: PLC0415 - slow

    check_places([pools, gold], json_to)
    with working(Text("Recomputing the published scores")):
        result = recompute(pools, gold=gold, rudetox_models=models, rudetox_curves=curves)
    deliver(json_to, result.to_dict, partial(_show, result))
    return 1 if result.failures else 0


def _show(result: Replay) -> None:
    """Print a line per row of the published table, then the reasons and the warnings, on standard output."""
    from merilo.reports.replay import VERDICTS  # noqa: PLC0415 - slow

    notes = _reasons(result)
    show_table(
        [
            (
                row.dataset.title,
                joined((_published(row), *_n(row, "published"))),
                joined((_ours(row), *_n(row, "value"))),
                joined((sum(one.verdict == "reproduced" for one in row.counts), len(row.counts)), "/")
                if row.command
                else "",
                joined(
                    (VERDICTS[row.verdict], *([f"[{notes.index(row.because) + 1}]"] if row.because else []))
                ),
            )
            for row in result.rows
        ],
        [Text("Dataset"), Text("Published"), "Merilo", Text("Counts"), Text("Verdict")],
        left=range(5),
        dense=True,
    )
    show(
        Text("Counts: how many published counts of people, items and cost are reproduced"),
        wrap=True,
    )
    show(*(f"[{place}] {text}" for place, text in enumerate(notes, start=1)), wrap=True)
    for row, one in _unequal_counts(result):
        show(
            Text(
                "{dataset}, {value}: {ours}, published {published} {note}",
                dataset=row.dataset.title,
                value=one.name,
                ours=number(one.value, ".5g"),
                published=number(one.published),
                note=_note(one, notes),
            )
        )
    for row in result.rows:
        show(*(f"{row.dataset.title}: {text}" for text in row.warnings), wrap=True)


def _unequal_counts(result: Replay) -> list[tuple[PublishedRow, PublishedValue]]:
    """Return the values that differ and are not in the table, or have no reason."""
    return [
        (row, one)
        for row in result.rows
        for one in row.values
        if one.verdict == "differs" and (one.because is None or one not in row.table_values)
    ]


def _reasons(result: Replay) -> list[Text]:
    """Return the reasons of all verdicts, each once."""
    explained: list[PublishedRow | PublishedValue] = [
        *result.rows,
        *(one for _, one in _unequal_counts(result)),
    ]
    return list(dict.fromkeys(one.because for one in explained if one.because))


def _note(one: PublishedRow | PublishedValue, reasons: list[Text]) -> str:
    """Return the number of the note with the reason for a verdict, if it has one."""
    return f"[{reasons.index(one.because) + 1}]" if one.because else ""


def _scores(values: Sequence[float]) -> str:
    """Format scores; of more than three, the least and the greatest."""
    shown = [number(value, ".3f") for value in values]
    return f"{min(shown)}–{max(shown)}" if len(shown) > 3 else "; ".join(shown)


def _published(row: PublishedRow) -> str:
    """Format the scores of the published table, which are the first of each metric."""
    first: dict[str, float] = {}
    for one in row.scores:
        first.setdefault(one.name, one.published)
    return _scores([*first.values()])


def _ours(row: PublishedRow) -> str:
    found = [one for one in row.scores if one.value is not None]
    if not found:
        return "—"
    return _scores([one.value for one in found if one.value is not None]) + interval(found[0].interval)


def _n(row: PublishedRow, which: Literal["published", "value"]) -> Iterator[Text]:
    """Yield the number of items behind the scores, if it is known."""
    for one in row.counts:
        n = getattr(one, which)
        if one.name == "n" and n is not None:
            yield Text("on {n}", n=n)
