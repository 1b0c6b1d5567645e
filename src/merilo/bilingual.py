"""Sentences in English and Russian, and the forms of Russian nouns after numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

#: The languages of messages, instructions and pages.
Language: TypeAlias = Literal["ru", "en"]


@dataclass(frozen=True, slots=True)
class BilingualText:
    """One sentence in both languages of the report.

    Attributes:
        en: the sentence in English.
        ru: the same sentence in Russian.
    """

    en: str
    ru: str

    def replaced(self, old: str, new: str) -> BilingualText:
        """Return the sentence with a text replaced in both languages.

        Example:
            >>> BilingualText("row 1 of a/b", "строка 1 файла a/b").replaced("a/b", "b").ru
            'строка 1 файла b'
        """
        return BilingualText(self.en.replace(old, new), self.ru.replace(old, new))


def form(n: int, one: str, few: str, many: str) -> str:
    """Choose the form of a Russian noun that agrees with a number.

    Example:
        >>> [form(n, "ответ", "ответа", "ответов") for n in (1, 3, 11, 25, 101)]
        ['ответ', 'ответа', 'ответов', 'ответов', 'ответ']
    """
    if n % 10 == 1 and n % 100 != 11:
        return one
    return few if n % 10 in {2, 3, 4} and n % 100 not in {12, 13, 14} else many


def counted(n: int, one: str, few: str, many: str) -> str:
    """Format a number with the agreeing form of a Russian noun.

    Example:
        >>> counted(22, "ответ", "ответа", "ответов")
        '22 ответа'
    """
    return f"{n} {form(n, one, few, many)}"


def counted_en(n: int, one: str, several: str) -> str:
    """Format a number with the singular or plural of an English noun.

    Example:
        >>> counted_en(2, "answer", "answers")
        '2 answers'
    """
    return f"{n} {one if n == 1 else several}"


_MONTHS: Final = (
    "января",
    "февраля",
    "марта",
    "апреля",
    "мая",
    "июня",
    "июля",
    "августа",
    "сентября",
    "октября",
    "ноября",
    "декабря",
)


def date_ru(day: str) -> str:
    """Write a date as Russian text does; a text that is no date stays.

    Example:
        >>> date_ru("2026-11-22"), date_ru("spring")
        ('22 ноября 2026 г.', 'spring')
    """
    found = re.fullmatch(r"(\d{4})-(0[1-9]|1[0-2])-(\d{2})", day)
    return f"{int(found[3])} {_MONTHS[int(found[2]) - 1]} {found[1]} г." if found else day


def listed_ru(names: Sequence[str], most: int = 12) -> str:
    """Join names for a Russian message, shortened if there are too many.

    Example:
        >>> listed_ru(["а", "б", "в"], 2)
        'а, б и ещё 1'
    """
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} и ещё {len(names) - most}"
