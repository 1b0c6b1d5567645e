"""Reading an integer from a piece of a model's reply."""

from __future__ import annotations

import re
from typing import Final

_MINUS: Final = str.maketrans(dict.fromkeys("−–‒－", "-"))
_SIGNS: Final = " \t\n*_`\"'«»“”„‘’()[]{}<>$#.,:;!?…|\\/=~•"
#: Groups of three digits are divided by a space, an apostrophe or a comma: 12 291, 12'291, 12,291.
_NUMBER: Final = re.compile(
    r"(?<![\w.,])(?P<sign>[+-]\s?|минус\s+|minus\s+)?(?P<whole>[1-9]\d{0,2}(?:(?P<mark>[ ,'’])\d{3}(?:(?P=mark)\d{3})*)?(?!\d)|\d+)"
    r"(?P<fraction>[.,]\d+)?(?!\w)",
    re.IGNORECASE,
)
_BEFORE: Final = re.compile(
    r"(?:(?:это|the|правильный|верный|примерно|ровно|is|равно|равен|равна)\s+)*(?:ответ|число|результат|answer|number|result)?\s*[:=]?\s*",
    re.IGNORECASE,
)
#: What follows a number that answers, and not one that is part of an expression.
_AFTER: Final = re.compile(r"\s*(?:$|[.;:!?)(\]*»\"`]|,(?!\d)|—|–\s|\n)|\s+[^\W\d_]", re.IGNORECASE)
_ARROW: Final = re.compile(r"=>|[-–]>|→|⇒")
#: The left side of an equation, with at most one word before it.
_EXPRESSION: Final = re.compile(r"\s*(?:[^\W\d_]+[,:]?\s+)?[\d\s+\-*/×·÷:^()\[\]{}.,=x]*", re.IGNORECASE)
_MOST_DIGITS: Final = 400


class IntegerReader:
    """Reads integers.

    Example:
        >>> reader = IntegerReader()
        >>> reader.alone("**−12 291**."), reader.stated("48 + 37 = 85"), reader.only("7 или 8")
        ('-12291', '85', ['7', '8'])
    """

    def alone(self, piece: str) -> str | None:
        """Return the integer if the piece is nothing but a number, or an equation whose right side is one."""
        text = _ARROW.sub("=", piece.translate(_MINUS))
        if "=" in text:
            left, _, text = text.rpartition("=")
            if _EXPRESSION.fullmatch(left) is None:
                return None
        bare = text.strip().strip(_SIGNS).strip()
        bare = bare[before.end() :] if (before := _BEFORE.match(bare)) else bare
        match = _NUMBER.fullmatch(bare.strip().strip(_SIGNS).strip())
        return None if match is None else _integer(match)

    def stated(self, piece: str) -> str | None:
        """Return the integer with which the piece begins, as in "85, так как ..."; or the only one in it."""
        if (value := self.alone(piece)) is not None:
            return value
        text = piece.translate(_MINUS)
        if (value := self._leading(text)) is not None:
            return value
        found = self.only(text)
        return found[0] if len(found) == 1 and found[0][-1].isdigit() else None

    def leading(self, piece: str) -> str | None:
        """An integer at the beginning of a whole reply decides nothing: it may number a list or open an expression."""
        del piece
        return None

    def called_right(self, text: str) -> list[str]:
        """Numbers are not called right or wrong."""
        del text
        return []

    def only(self, text: str) -> list[str]:
        """Return the distinct numbers of a text, in their order; a number that is no integer counts as one more."""
        found = [
            _integer(match) or match[0].strip() + "?" for match in _NUMBER.finditer(text.translate(_MINUS))
        ]
        return list(dict.fromkeys(found))

    def _leading(self, text: str) -> str | None:
        start = text.lstrip(' *_`"«([')
        match = _NUMBER.match(start)
        if (
            match is None
            or not _AFTER.match(start, match.end())
            or re.match(r"\s*[.)]\s*\d", start[match.end() :])
        ):
            return None
        if re.match(r"\s+(?:или|либо|и|or|and)\s+-?\d", start[match.end() :]):
            return None
        return _integer(match)


def _integer(match: re.Match[str]) -> str | None:
    """Return the number in plain digits; `None` if it is no integer."""
    fraction = match["fraction"]
    if fraction and fraction.strip(".,0"):
        return None
    digits = re.sub(r"\D", "", match["whole"])
    if len(digits) > _MOST_DIGITS:
        return None
    value = int(digits)
    sign = (match["sign"] or "").strip().casefold()
    return str(-value if sign in {"-", "минус", "minus"} else value)
