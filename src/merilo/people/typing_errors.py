"""Typing errors: wrong answers that are mistyped correct ones.

An answer that differs from the gold answer by a power of ten or in one digit suggests a typing error, not an error of
the dataset. This holds for typed numbers of several digits: a count from 0 to 9 that is off by one is a miscount, not
a typing error.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final

from merilo.people.spelling import JCUKEN, TWINS, YO
from merilo.text import Text

#: Kind of typing error -> its name, from the most to the least certain.
TYPING_ERRORS: Final[Mapping[str, Text]] = {
    "notation": Text("another notation"),
    "case": Text("letter case"),
    "alphabet": Text("look-alike letters"),
    "layout": Text("keyboard layout"),
    "sign": Text("sign"),
    "power_of_ten": Text("factor of 10, 100 ..."),
    "swapped_digits": Text("swapped digits"),
    "off_by_one": Text("off by one"),
    "off_by_ten": Text("off by 10, 100 ..."),
    "one_digit": Text("one digit"),
    "digit_count": Text("a missing or extra digit"),
    "one_letter": Text("one letter"),
}

_QWERTY: Final = "`qwertyuiop[]asdfghjkl;'zxcvbnm,.~QWERTYUIOP{}ASDFGHJKL:\"ZXCVBNM<>"
_TO_JCUKEN: Final = str.maketrans(_QWERTY, JCUKEN)
_TO_QWERTY: Final = str.maketrans(JCUKEN, _QWERTY)

#: Longer texts are not numbers that people type, and would exceed the precision of the arithmetic.
_LONGEST_NUMBER: Final = 25

_NUMBER: Final = re.compile(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)")

#: Shorter texts are within one edit of each other: "A" for "B" is a different choice, not a typing error.
SHORTEST_TEXT: Final = 4

#: Numbers with fewer digits are often chosen or counted, not typed: 4 for 5 is a different answer.
FEWEST_DIGITS: Final = 2


def typing_error(answer: str, right: str) -> str | None:
    """Return the kind of typing error that turns `right` into `answer`, if any.

    Errors in digits are considered only if the correct answer has at least `FEWEST_DIGITS` digits.

    Args:
        answer: the answer given.
        right: the correct answer.

    Returns:
        The first key of `TYPING_ERRORS` that applies; `None` if the answers are equal, or no typing error explains
        the answer.

    Example:
        >>> typing_error("1324", "1234"), typing_error("120", "12"), typing_error("cat", "cot")
        ('swapped_digits', 'power_of_ten', None)
        >>> typing_error("4", "5") is None
        True
    """
    if answer == right:
        return None
    one, two = number(answer), number(right)
    if one is not None and two is not None:
        return _of_numbers(one, two)
    return _of_texts(answer, right)


def number(text: str) -> Decimal | None:
    """Parse a number as people write it: with spaces between thousands, a comma or a point, any kind of minus.

    Example:
        >>> number("−1 234,5"), number("twelve")
        (Decimal('-1234.5'), None)
    """
    bare = re.sub(r"[\s_]", "", text.replace("−", "-").replace("–", "-"))
    if len(bare) > _LONGEST_NUMBER or not bare.isascii() or not _NUMBER.fullmatch(bare):
        return None
    return Decimal(bare.replace(",", "."))


def within_one_edit(one: str, two: str) -> bool:
    """Check whether the Damerau-Levenshtein distance of two texts is 1 or 0.

    Example:
        >>> within_one_edit("paris", "pairs"), within_one_edit("paris", "parsi"), within_one_edit("abc", "cba")
        (True, True, False)
    """
    start = 0
    while start < min(len(one), len(two)) and one[start] == two[start]:
        start += 1
    one, two = one[start:], two[start:]
    end = 0
    while end < min(len(one), len(two)) and one[-1 - end] == two[-1 - end]:
        end += 1
    one, two = one[: len(one) - end], two[: len(two) - end]
    if max(len(one), len(two)) <= 1:
        return True
    return len(one) == len(two) == 2 and one == two[::-1]


def _of_numbers(answer: Decimal, right: Decimal) -> str | None:
    kinds = _OF_NUMBERS if sum(map(str.isdigit, _digits(right))) >= FEWEST_DIGITS else _OF_DIGITS
    return next((kind for kind, holds in kinds.items() if holds(answer, right)), None)


def _digits(value: Decimal) -> str:
    """Return the digits and the point, without the sign and without insignificant zeros."""
    plain = f"{abs(value):f}"
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def _swapped(one: Decimal, two: Decimal) -> bool:
    left, right = _digits(one), _digits(two)
    if (one < 0) != (two < 0) or len(left) != len(right):
        return False
    places = [i for i, (a, b) in enumerate(zip(left, right, strict=True)) if a != b]
    if len(places) != 2 or places[1] != places[0] + 1:
        return False
    i = places[0]
    return left[i : i + 2] == right[i : i + 2][::-1]


def _one_digit(one: Decimal, two: Decimal) -> bool:
    """Check whether exactly one digit differs; numbers of a single digit are excluded."""
    left, right = _digits(one), _digits(two)
    if (one < 0) != (two < 0) or len(left) != len(right) or len(left) < 2:
        return False
    return sum(a != b for a, b in zip(left, right, strict=True)) == 1


def _digit_count(one: Decimal, two: Decimal) -> bool:
    """Check whether one digit is missing or added."""
    left, right = _digits(one), _digits(two)
    if (one < 0) != (two < 0) or len(left) == len(right) or min(len(left), len(right)) < 2:
        return False
    return within_one_edit(left, right)


def _is_power_of_ten(value: Decimal) -> bool:
    """Check whether the value is 10^k or -10^k for a whole k other than 0."""
    return value.normalize().as_tuple().digits == (1,) and abs(value) != 1


#: Errors in a number of any length, in the order in which they are tried.
_OF_DIGITS: Final[Mapping[str, Callable[[Decimal, Decimal], bool]]] = {
    "notation": lambda one, two: one == two,
    "sign": lambda one, two: one == -two,
}

#: Errors in a number of several digits, in the same order.
_OF_NUMBERS: Final[Mapping[str, Callable[[Decimal, Decimal], bool]]] = {
    **_OF_DIGITS,
    "power_of_ten": lambda one, two: one * two > 0 and _is_power_of_ten(one / two),
    "swapped_digits": _swapped,
    "off_by_one": lambda one, two: abs(one - two) == 1,
    "off_by_ten": lambda one, two: abs(one - two) > 1 and _is_power_of_ten(one - two),
    "one_digit": _one_digit,
    "digit_count": _digit_count,
}


def _of_texts(answer: str, right: str) -> str | None:
    one, two = _plain(answer), _plain(right)
    if one == two:
        return "notation"
    if one.casefold() == two.casefold():
        return "case"
    one, two = one.casefold(), two.casefold()
    if answer.strip().translate(TWINS).casefold() == right.strip().translate(TWINS).casefold():
        return "alphabet"
    folded_answer, folded_right = answer.strip().casefold(), right.strip().casefold()
    if folded_right in {folded_answer.translate(_TO_JCUKEN), folded_answer.translate(_TO_QWERTY)}:
        return "layout"
    if min(len(one), len(two)) >= SHORTEST_TEXT and within_one_edit(one, two):
        return "one_letter"
    return None


def _plain(text: str) -> str:
    """Normalise white space, remove quotation marks and the final stop, and replace the Russian letter io by ie."""
    composed = unicodedata.normalize("NFC", text).translate(YO)
    return " ".join(composed.split()).strip(" .,;:!?«»\"'“”„")
