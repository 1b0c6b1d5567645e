"""Reading the numbers that answer a task of the exam (USE): a set of numbers, or a sequence in the order of letters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from merilo.items import Item

_NUMBER: Final = r"\d{1,2}"
#: Numbers that form one answer: "1, 3", "1 и 3", "1; 3", "1 3".
_LIST: Final = re.compile(
    rf"(?<![\w.,]){_NUMBER}(?:\s*[)\]»\"*]*\s*(?:,|;|и|&|\+|and|\s)\s*[(\[«\"*№]*\s*{_NUMBER}(?!\w))*(?!\w|[.,:]\d)"
    r"|(?<![\w.,])\d{3,9}(?!\w|[.,:]\d)",
    re.IGNORECASE,
)
#: "А-8, Б-1": a number for each letter.
_PAIR: Final = re.compile(r"(?<!\w)([А-Е])(?!\w)[)\]*\s]*[-–—:=.)]?\s*[*(]*(\d)(?!\w)")
_OPTION: Final = re.compile(rf"^\W*({_NUMBER})\s*[).]\s*(\S.*)$")
_LISTED: Final = re.compile(rf"^[ \t]*({_NUMBER})[ \t]*[).][ \t]*(.*)$", re.MULTILINE)
_IN_TEXT: Final = re.compile(rf"\(({_NUMBER})\)")
_SIGNS: Final = " \t\n*_`\"'«»“”„()[]{}<>#.,:;!?•-–—"
_BEFORE: Final = re.compile(
    r"(?:ответ\w*|номер\w*|цифр\w*|числ\w*|предложени\w*|вариант\w*|answer\w*|numbers?|и|:|№|\s)*",
    re.IGNORECASE,
)
_DENIED_BEFORE: Final = re.compile(r"\b(?:не|кроме|not)\s+(?:номер\w*\s+|предложени\w*\s+)?$", re.IGNORECASE)
_AFTER: Final = re.compile(r"\s*(?:$|[.;:!?)\]*»\"`—–(]|,(?!\s*\d)|\n)|\s+(?:так\s+как|потому|поскольку)\b")
#: The first this many characters of an option identify it.
_OPTION_START: Final = 25


class NumberListReader:
    r"""Reads the numbers of a task; the answer has them divided by commas.

    Digits without a separator ("13") are single numbers if the item has no number 13, and one number if it has.

    Args:
        item: the item.

    Example:
        >>> item = Item(1, "", {"choices": "1) a\n2) b\n3) c"}, meta={"type": "multiple_choice_based_on_text"})
        >>> reader = NumberListReader(item)
        >>> reader.alone("1 и 3."), reader.alone("13"), reader.stated("2, потому что"), reader.only("1 или 1, 2")
        ('1,3', '1,3', '2', ['1', '1,2'])
    """

    def __init__(self, item: Item) -> None:
        self._ordered = item.meta.get("type") == "matching"
        self._options = dict(_LISTED.findall(_texts(item).get("choices", "")))
        self._known = {*self._options, *_numbers_in_text(item)}

    def alone(self, piece: str) -> str | None:
        """Return the numbers if the piece is nothing but numbers, or a number for each letter."""
        if (paired := self._paired(piece)) is not None:
            return paired
        bare = piece.strip().strip(_SIGNS).strip()
        bare = bare[_matched_end(_BEFORE, bare) :].strip(_SIGNS)
        match = _LIST.fullmatch(bare)
        return None if match is None else self._joined(match[0])

    def stated(self, piece: str) -> str | None:
        """Return the numbers with which the piece begins; or the only numbers in it."""
        if (value := self.alone(piece)) is not None:
            return value
        bare = piece.lstrip(_SIGNS)
        bare = bare[_matched_end(_BEFORE, bare) :].lstrip(_SIGNS)
        match = _LIST.match(bare)
        if match is not None and _AFTER.match(bare, match.end()):
            return self._joined(match[0])
        found = self.only(piece)
        return found[0] if len(found) == 1 else None

    def leading(self, text: str) -> str | None:
        """Return the numbers of a reply that repeats the options that it chooses, one a line."""
        chosen = []
        for line in filter(str.strip, text.splitlines()):
            match = _OPTION.match(line)
            if match is None or not self._is_option(match[1], match[2]):
                return None
            chosen.append(match[1])
        return ",".join(chosen) if chosen and len(chosen) < len(self._options) else None

    def called_right(self, text: str) -> list[str]:
        """Return nothing: an answer of several numbers is not called right number by number."""
        del text
        return []

    def only(self, text: str) -> list[str]:
        """Return the distinct answers in a text, in their order."""
        if (paired := self._paired(text)) is not None:
            return [paired]
        found = [
            self._joined(match[0])
            for match in _LIST.finditer(text)
            # Digits without a separator are read apart only if nothing else is said: "25 предложений" is a number.
            if (match[0] in self._known or not re.fullmatch(r"\d{2,}", match[0]))
            and not _DENIED_BEFORE.search(text[max(0, match.start() - 30) : match.start()])
        ]
        return list(dict.fromkeys(found))

    def _paired(self, text: str) -> str | None:
        if not self._ordered:
            return None
        pairs = _PAIR.findall(text)
        letters = [letter for letter, _ in pairs]
        if len(pairs) < 2 or sorted(letters) != list("АБВГДЕ"[: len(letters)]):
            return None
        return ",".join(number for _, number in sorted(pairs))

    def _joined(self, piece: str) -> str:
        return ",".join(number for run in re.findall(r"\d+", piece) for number in self._numbers(run))

    def _numbers(self, run: str) -> Sequence[str]:
        number = run.lstrip("0") or "0"
        if len(run) == 1 or (run in self._known and not self._ordered):
            return (number,)
        apart = self._ordered or (len(set(run)) == len(run) and set(run) <= self._known)
        return tuple(run) if apart else (number,)

    def _is_option(self, number: str, text: str) -> bool:
        option = self._options.get(number)
        return bool(option) and _key(str(option)) == _key(text)


def numbers_of(item: Item) -> list[str]:
    """Return the numbers among which a task lets choose: those of its options, or else those in its text, in their order."""
    listed = [number for number, _ in _LISTED.findall(_texts(item).get("choices", ""))]
    return list(dict.fromkeys(listed or _numbers_in_text(item)))


def _texts(item: Item) -> dict[str, str]:
    fields = item.inputs if not isinstance(item.inputs, str) else {"text": item.inputs}
    return {name: value for name, value in fields.items() if isinstance(value, str)}


def _numbers_in_text(item: Item) -> list[str]:
    return [
        number
        for name, text in _texts(item).items()
        if name != "choices"
        for number in _IN_TEXT.findall(text)
    ]


def _key(text: str) -> str:
    return "".join(_letters(text))[:_OPTION_START]


def _letters(text: str) -> Iterator[str]:
    return filter(str.isalnum, text.casefold())


def _matched_end(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.match(text)
    return match.end() if match else 0
