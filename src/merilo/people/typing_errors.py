"""Typing errors: wrong answers that are mistyped correct ones, and answers that look like a misspelled label.

An answer that differs from the gold answer by a power of ten or in one character suggests a typing error, not an error
of the dataset. This holds for typed numbers of several digits: a count from 0 to 9 that is off by one is a miscount.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Final

from merilo.people.spelling import TO_JCUKEN, TO_QWERTY, TWINS, YO, plain_number
from merilo.people.votes import MOST_CLOSED_LABELS
from merilo.records import Record
from merilo.text import Text

#: Kind of typing error -> its name, from the most to the least certain.
TYPING_ERRORS: Final[Mapping[str, Text]] = {
    "notation": Text("another notation"),
    "case": Text("letter case"),
    "alphabet": Text("look-alike letters"),
    "layout": Text("keyboard layout"),
    "sign": Text("sign"),
    "power_of_ten": Text("factor of 10, 100 ..."),
    "one_character": Text("one character"),
}

#: Shorter texts are within one edit of each other: "A" for "B" is a different choice, not a typing error.
SHORTEST_TEXT: Final = 4

#: Numbers with fewer digits are often chosen or counted, not typed: 4 for 5 is a different answer.
FEWEST_DIGITS: Final = 2


def typing_error(answer: str, right: str) -> str | None:
    """Return the kind of typing error that turns `right` into `answer`, the first key of `TYPING_ERRORS` that applies.

    `None` if the answers are equal, or no typing error explains the answer. Errors in digits are considered only if the
    correct answer has at least `FEWEST_DIGITS` digits.

    Example:
        >>> typing_error("1324", "1234"), typing_error("120", "12"), typing_error("cat", "cot")
        ('one_character', 'power_of_ten', None)
        >>> typing_error("4", "5") is None
        True
    """
    if answer == right:
        return None
    typed, two = plain_number(answer), plain_number(right)
    numbers = None if typed is None or two is None else (Decimal(typed), Decimal(two))
    kinds = _of_numbers(*numbers) if numbers else _of_texts(answer, right)
    return next((kind for kind, holds in kinds.items() if holds), None)


def within_one_edit(first: str, two: str) -> bool:
    """Check whether the Damerau-Levenshtein distance of two texts is 1 or 0.

    Example:
        >>> within_one_edit("paris", "pairs"), within_one_edit("paris", "parsi"), within_one_edit("abc", "cba")
        (True, True, False)
    """
    for _ in range(2):
        # What is left without the common beginning, and then without the common end.
        start = next(
            (i for i, (a, b) in enumerate(zip(first, two, strict=False)) if a != b), min(len(first), len(two))
        )
        first, two = first[start:][::-1], two[start:][::-1]
    if max(len(first), len(two)) <= 1:
        return True
    return len(first) == len(two) == 2 and first == two[::-1]


def _of_numbers(typed: Decimal, two: Decimal) -> dict[str, bool]:
    answer, right = _digits(typed), _digits(two)
    kinds = {"notation": typed == two, "sign": typed == -two}
    if sum(map(str.isdigit, right)) < FEWEST_DIGITS:
        return kinds
    near = (typed < 0) == (two < 0) and min(len(answer), len(right)) > 1 and within_one_edit(answer, right)
    return kinds | {
        "power_of_ten": typed * two > 0 and _is_power_of_ten(typed / two),
        "one_character": near,
    }


def _digits(value: Decimal) -> str:
    """Return the digits and the point, without the sign and without insignificant zeros."""
    plain = f"{abs(value):f}"
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def _is_power_of_ten(value: Decimal) -> bool:
    """Check whether the value is 10^k or -10^k for a whole k other than 0."""
    return value.normalize().as_tuple().digits == (1,) and abs(value) != 1


def _of_texts(answer: str, right: str) -> dict[str, bool]:
    plain, two = _plain(answer), _plain(right)
    typed, known = answer.strip(), right.strip().casefold()
    return {
        "notation": plain == two,
        "case": plain.casefold() == two.casefold(),
        "alphabet": typed.translate(TWINS).casefold() == right.strip().translate(TWINS).casefold(),
        "layout": known in {typed.casefold().translate(table) for table in (TO_JCUKEN, TO_QWERTY)},
        "one_character": _one_letter(plain, two),
    }


def _one_letter(typed: str, two: str) -> bool:
    return min(len(typed), len(two)) >= SHORTEST_TEXT and within_one_edit(typed.casefold(), two.casefold())


def _plain(text: str) -> str:
    """Normalise white space, remove quotation marks and the final stop, and replace the Russian letter io by ie."""
    composed = unicodedata.normalize("NFC", text).translate(YO)
    return " ".join(composed.split()).strip(" .,;:!?«»\"'“”„")


# Misspelled labels


class NearSpelling(Record):
    """An answer that looks like a misspelling of a label.

    Attributes:
        answer: the answer.
        label: the label that it resembles.
        answers: how often the answer was given.
        label_answers: how often the label was given.
    """

    answer: str
    label: str
    answers: int
    label_answers: int


#: Answers are a choice among labels if at most `MOST_CLOSED_LABELS` labels make up this share of all answers.
_SHARE_OF_LABELS: Final = 0.8

#: A label is an answer given at least this often; a misspelling is given at most a tenth as often as its label.
_FEWEST_OF_A_LABEL: Final = 5
_SHARE_OF_A_LABEL: Final = 0.02
_RARE: Final = 0.1

_APPENDED: Final = " \t0123456789.,;:!?*'\"`_-"


def near_spellings(counts: Mapping[str, int], labels: Sequence[str] = ()) -> tuple[NearSpelling, ...]:
    """Find answers that look like a misspelling of a label: an extra mark or digit, or one wrong letter.

    For open or numeric answers the result is empty, because another spelling is another answer.

    Args:
        counts: answer -> how often it was given.
        labels: the dataset's labels, if it declares them. Otherwise frequent answers are the labels.

    Returns:
        The answers that look like misspellings, the most frequent first.

    Example:
        >>> [(near.answer, near.label) for near in near_spellings({"yes": 90, "no": 80, "yes6": 2})]
        [('yes6', 'yes')]
        >>> near_spellings({"10": 90, "11": 80, "101": 2})
        ()
    """
    total = sum(counts.values())
    often = max(_FEWEST_OF_A_LABEL, _SHARE_OF_A_LABEL * total)
    usual = {answer for answer, count in counts.items() if count >= often}
    closed = 0 < len(usual) <= MOST_CLOSED_LABELS
    if not labels and not (closed and sum(counts[label] for label in usual) >= _SHARE_OF_LABELS * total):
        return ()
    accepted = {label for label in labels or usual if any(map(str.isalpha, label))}
    near = []
    for answer, count in counts.items():
        if answer in {*labels, *accepted} or not any(map(str.isalpha, answer)):
            continue
        alike = [
            label
            for label in accepted
            if (labels or count <= _RARE * counts[label]) and _looks_like(answer.casefold(), label.casefold())
        ]
        if alike:
            label = max(alike, key=lambda text: (counts.get(text, 0), text))
            near.append(
                NearSpelling(answer=answer, label=label, answers=count, label_answers=counts.get(label, 0))
            )
    return tuple(sorted(near, key=lambda near_spelling: (-near_spelling.answers, near_spelling.answer)))


def _looks_like(answer: str, label: str) -> bool:
    same = answer.strip(_APPENDED) == label.strip(_APPENDED)
    return same or looks_like(answer, label) or _one_letter(answer, label)


def looks_like(cyrillic: str, latin: str) -> bool:
    """Return whether a text in Cyrillic letters looks like one in Latin letters."""
    written, two = cyrillic.upper(), latin.upper()
    return written != two and written.translate(TWINS) == two
