"""`merilo verify`: compute a published folder again and compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from merilo.cli.options import JsonOption
from merilo.cli.output import check_places, deliver, working
from merilo.strict_json import Json
from merilo.wording import counted_noun, shortened

if TYPE_CHECKING:
    from merilo.baselines.published_folder import Discrepancy

app = typer.Typer(add_completion=False)

#: How many differences the terminal lists; the JSON lists all.
_MOST: Final = 20


@app.command()
def check(
    folder: Annotated[
        Path, typer.Argument(help="A folder of merilo report or merilo baseline --out.", show_default=False)
    ],
    *,
    gold: Annotated[
        Path | None, typer.Option(help="The gold answers, if the folder has none because they are closed.")
    ] = None,
    json_to: JsonOption = None,
) -> int:
    """Recompute every value from the raw answers, and compare the files with the manifest.

    Without --gold, values that need withheld gold answers are named and not recomputed.
    Exit status 1: a recomputed value differs, or a file was changed, is missing or is unknown.
    """
    from merilo.baselines.published_folder import not_recomputed, verify  # noqa: PLC0415 - slow

    check_places([folder, gold], json_to)
    with working("Recomputing every value"):
        discrepancies, taken = verify(folder, gold=gold), not_recomputed(folder, gold=gold)
    content: dict[str, Json] = {
        "folder": str(folder),
        "verified": not discrepancies,
        "differences": [discrepancy._asdict() for discrepancy in discrepancies],
        "not_recomputed": [*taken],
    }
    deliver(json_to, lambda: content, _lines(discrepancies, taken))
    return 1 if discrepancies else 0


def _lines(discrepancies: Sequence[Discrepancy], taken: Sequence[str]) -> Iterator[str]:
    if taken:
        yield f"not recomputed: {', '.join(taken)}"
    for name, *values in discrepancies[:_MOST]:
        published, recomputed = map(_shown, values)
        yield f"differs: {name}: published {published}, recomputed {recomputed}"
    if (more := len(discrepancies) - _MOST) > 0:
        yield f"and {more:,} more (--json FILE lists all)"
    if discrepancies:
        yield f"NOT verified: {counted_noun(len(discrepancies), 'difference', 'differences')}"
    else:
        yield "verified: every value follows from the raw answers, and no file was changed"


def _shown(value: object) -> str:
    return shortened("null" if value is None else str(value))
