"""Texts inside messages: shortened values, paths that can be printed, and lists of names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path


def shortened(text: str, most: int = 60) -> str:
    """Shorten a text for a message.

    Example:
        >>> shortened("abcdef", 4)
        'abc…'
    """
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def shown(path: Path | str) -> str:
    """Convert a path to printable text; bytes that are not UTF-8 become escapes.

    Example:
        >>> shown(Path("folder/pool.tsv"))
        'folder/pool.tsv'
    """
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def named(path: Path | str | None) -> str | None:
    """Return a file's name as the user gave it, for the parameters of a result; `None` if there is no file."""
    return None if path is None else shown(path)


def listed(names: Sequence[str], most: int = 12) -> str:
    """Join names for a message, shortened if there are too many.

    Example:
        >>> listed(["a", "b", "c"], 2)
        'a, b and 1 more'
    """
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def choices(name: str, known: Sequence[str], most: int = 12) -> str:
    """Name what a wrong name may have meant, and what there is to choose from.

    Example:
        >>> choices("replic", ["target_group", "replica"])
        "did you mean 'replica'? choose from: target_group, replica"
        >>> choices("x", ["replica"])
        'choose from: replica'
    """
    from difflib import get_close_matches  # noqa: PLC0415 - needed only for a mistyped name

    near = get_close_matches(name, known, n=1)
    hint = f"did you mean '{near[0]}'? " if near else ""
    return f"{hint}choose from: {listed(known, most) or 'nothing'}"


def counted_noun(n: int, singular: str, several: str) -> str:
    """Format a number with the singular or plural of an English noun.

    Example:
        >>> counted_noun(2, "answer", "answers")
        '2 answers'
    """
    return f"{n} {singular if n == 1 else several}"
