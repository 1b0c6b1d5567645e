"""What a baseline has to say for itself, in both languages of its report."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Remark:
    """One sentence for the reader of a baseline.

    Attributes:
        code: what it is about, for programs.
        en: the sentence in English.
        ru: the same in Russian.
    """

    code: str
    en: str
    ru: str


def counted(n: int, one: str, few: str, many: str) -> str:
    """A number with the form of the Russian noun that it asks for.

    Example:
        >>> [counted(n, "ответ", "ответа", "ответов") for n in (1, 3, 11, 25, 101)]
        ['1 ответ', '3 ответа', '11 ответов', '25 ответов', '101 ответ']
    """
    if n % 10 == 1 and n % 100 != 11:
        return f"{n} {one}"
    if n % 10 in {2, 3, 4} and n % 100 not in {12, 13, 14}:
        return f"{n} {few}"
    return f"{n} {many}"
