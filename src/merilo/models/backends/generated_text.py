"""Cutting a generated text at stop strings, and separating the thought at a mark that the user names."""

from __future__ import annotations

from collections.abc import Sequence


def split_at_mark(text: str, mark: str | None) -> tuple[str | None, str]:
    """Split a generated text after the mark that ends its thought, lm-eval's `think_end_token`.

    Args:
        text: the text as generated.
        mark: the mark; without it the text stays whole, and the known marks are found when the answer is extracted.

    Returns:
        The thought, `None` if there is no mark in the text, and the answer without white space before it.

    Example:
        >>> split_at_mark("2 + 2 is 4. ### 4", "###")
        ('2 + 2 is 4.', '4')
        >>> split_at_mark("4", "###")
        (None, '4')
    """
    before, found, after = text.rpartition(mark) if mark else ("", "", text)
    return (before.strip(), after.lstrip()) if found else (None, text)


def cut_at_stop(text: str, stop: Sequence[str]) -> tuple[str, bool]:
    r"""Cut a text before the first stop string, as a server does that was sent them.

    Returns:
        The text, and whether it was cut.

    Example:
        >>> cut_at_stop("A\nB", ["\n"])
        ('A', True)
    """
    places = [place for mark in stop if mark and (place := text.find(mark)) >= 0]
    return (text[: min(places)], True) if places else (text, False)
