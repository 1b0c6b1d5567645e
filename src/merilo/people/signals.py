"""Signals of help by AI that the annotation site records with an answer: counts and times, and no content.

In tables every signal is a column of its own with the prefix `signal_`; in the response table they are one JSON text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import Final

import polars as pl

from merilo.responses import SIGNALS
from merilo.strict_json import Json

#: What the page of an item counts and measures, by name.
MEASURED: Final[Mapping[str, str]] = {
    "pastes": "pastes and drops into the answer",
    "copies": "copies of text of the page",
    "leaves": "how often the window was left",
    "returns": "how often the answer was changed as the first thing after a return",
    "away_seconds": "seconds outside the window",
    "first_seconds": "seconds from the page to the first key or choice",
    "keys": "typed characters and deletions",
    "key_median_ms": "median milliseconds between two keys",
    "key_spread_ms": "their interquartile range",
}

#: Whether the answer has the word that the hidden text asks models for (0 or 1), and what the person declared at the
#: end: `no`, `some` or `most` answers with AI.
HIDDEN_WORD, DECLARED = "hidden_word", "declared"

#: What people may declare.
DECLARATIONS: Final = ("no", "some", "most")

PREFIX: Final = "signal_"

#: The columns of a table of answers.
SIGNAL_COLUMNS: Final = tuple(f"{PREFIX}{name}" for name in (*MEASURED, HIDDEN_WORD, DECLARED))

#: A larger count or time cannot be that of one answer.
_MOST: Final = 1e7
_LONGEST: Final = 1000


def measured(text: str) -> str | None:
    """Return what a page has sent as the JSON that is stored; `None` if it sent nothing that can be used.

    Example:
        >>> measured('{"pastes": 1, "away_seconds": 2.50001, "typed": "x"}')
        '{"pastes":1,"away_seconds":2.5}'
    """
    try:
        sent = json.loads(text) if len(text) <= _LONGEST else None
    except (ValueError, RecursionError):
        return None
    usable = {
        name: int(value) if value == int(value) else round(value, 3)
        for name in MEASURED
        if isinstance(sent, dict)
        and isinstance(value := sent.get(name), int | float)
        and not isinstance(value, bool)
        and 0 <= value <= _MOST
    }
    return json.dumps(usable, separators=(",", ":")) if usable else None


def unfolded(text: str | None, more: Mapping[str, Json] | None = None) -> dict[str, Json]:
    """Return the signals of an answer, and more of them, as columns of a table; those that are not known are null."""
    signals = {**(json.loads(text) if text else {}), **(more or {})}
    return {name: signals.get(name.removeprefix(PREFIX)) for name in SIGNAL_COLUMNS}


def folded(table: pl.DataFrame) -> pl.Series:
    """Return the signals of every row as JSON, from text columns; null in a row without any."""
    there = [name for name in SIGNAL_COLUMNS if name in table.columns]
    if not there:
        return pl.Series(SIGNALS, [None], dtype=pl.String).new_from_index(0, table.height)
    signals = [_read(row) for row in table.select(there).iter_rows(named=True)]
    return pl.Series(
        SIGNALS, [json.dumps(row, separators=(",", ":")) if row else None for row in signals], pl.String
    )


def _read(row: Mapping[str, str | None]) -> dict[str, Json]:
    """Return the signals of a row; a text that is no number of at least 0 and no declaration is left out."""
    signals: dict[str, Json] = {}
    for name, text in row.items():
        bare = name.removeprefix(PREFIX)
        if bare == DECLARED:
            if text in DECLARATIONS:
                signals[bare] = text
            continue
        try:
            value = float(text) if text is not None else -1.0
        except ValueError:
            continue
        if isfinite(value) and 0 <= value <= _MOST:
            signals[bare] = int(value) if value.is_integer() else value
    return signals
