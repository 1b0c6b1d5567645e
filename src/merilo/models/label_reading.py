"""Reading one of a few labels from a piece of a model's reply."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

#: Cyrillic letters and the Latin letters that look the same.
_LOOK_ALIKES: Final = dict(zip("АВЕЅКМНОРСТХавеѕкорсх", "ABESKMHOPCTXabeskopcx", strict=True))
_BACK: Final = {latin: cyrillic for cyrillic, latin in _LOOK_ALIKES.items()}

#: Signs around an answer.
_SIGNS: Final = " \t\n*_`\"'«»“”„‘’()[]{}<>$#.,:;!?…|\\/=~•–—-→>"
#: Words before a label.
_BEFORE: Final = re.compile(
    r"(?:(?:это|под|the|правильный|верный|мой|is|correct)\s+)*"
    r"(?:вариант(?:ом|у|а)?(?:\s+ответа)?|ответ(?:ом)?|букв(?:а|ой|у)|номер(?:ом)?|цифр(?:а|ой|у)|пункт(?:ом)?|число|№"
    r"|option|choice|answer|letter|number|variant)\s*[:№#*_\"'«(\[]*\s*",
    re.IGNORECASE,
)
#: What follows a label at the beginning of an answer.
_AFTER: Final = re.compile(
    r"\s*(?:[).:;,!?\]*\"»_`(/|]|[—–]|-\s|$|\n|-?(?:й|я|е|ый|ое|ая)\b)|\s+(?:потому|так\s+как|поскольку|because|since)\b"
)
#: A second label in a list: "A или B", "1, 2".
_JOINED: Final = r"\s*[)\]*\"»]*\s*(?:,|;|/|&|\+|и|или|либо|and|or)\s*[(\[*\"«]*\s*"
_DENIED_BEFORE: Final = re.compile(
    r"(?:(?:\bне|\bнет|\bnot|\bкроме|\bexcept|n['’]t)\s+(?:вариант\w*\s+|ответ\s+|option\s+)?"
    r"|(?:\bнеправильн|\bневер(?=ен|н)|\bошибочн|\bincorrect|\bwrong)\w*\s+(?:вариант|ответ|answer|option|choice)?\w*\s*[:—–-]?\s*)[\"«(*]*$",
    re.IGNORECASE,
)
_DENIED_AFTER: Final = re.compile(
    r"(?:-?(?:й|я|е|ый|ое|ая)\b)?[)\]*\"».:]*\s*(?:[—–-]\s*)?(?:вариант\s+|ответ\s+)?(?:это\s+)?(?:явно\s+|точно\s+|is\s+|was\s+|тоже\s+|также\s+)?"
    r"(?:невер|неправ|не\s+(?:подход|верн|правильн|явля|соответств|может|является)|ошибоч|ложн|исключ|менее\b|incorrect|wrong|not\b|isn['’]t|false|less\b)",
    re.IGNORECASE,
)
_CALLED_RIGHT: Final = (
    r"[)\]*\"»]*\s*(?:[—–-]\s*)?(?:это\s+)?(?:(?:единственн\w+|наиболее)\s+)?"
    r"(?:верен|верна|верно|правилен|правильный|верный|является\s+(?:верным|правильным)"
    r"|is\s+(?:the\s+)?(?:correct|right|best)|подходит\s+лучше)"
)
#: What follows a letter that is a label, and not an article, a preposition or a conjunction.
_IS_LABEL: Final = re.compile(
    r"\s+(?:or|and|is|was|seems|because|since|и|или|либо|верен|верн|правильн|подходит|является|потому|так\s+как)\b"
)
_VARIANT: Final = re.compile(
    r"(?:вариант|ответ|букв|пункт|номер|предположени|причин|следстви|реплик|гипотез|утверждени|предложени|класс|option|answer|choice"
    r"|sentence|reply)\w*\s*[:№#\"«(*]*\s*$",
    re.IGNORECASE,
)

#: Numbers in words, for labels that are digits.
_WORDS: Final = {
    "0": r"нол[ья]|нуль|zero",
    "1": r"один|одна|одно|перв(?:ый|ая|ое|ого|ом|ую)|one|first",
    "2": r"два|две|втор(?:ой|ая|ое|ого|ом|ую)|two|second",
    "3": r"три|трет(?:ий|ья|ье|ьего|ьем|ью)|three|third",
    "4": r"четыре|четв[её]рт(?:ый|ая|ое|ого|ом|ую)|four|fourth",
    "5": r"пять|пят(?:ый|ая|ое)|five|fifth",
    "6": r"шесть|шест(?:ой|ая|ое)|six|sixth",
    "7": r"семь|седьм(?:ой|ая|ое)|seven|seventh",
    "8": r"восемь|восьм(?:ой|ая|ое)|eight|eighth",
    "9": r"девять|девят(?:ый|ая|ое)|nine|ninth",
}
_NOUN: Final = r"(?:вариант|ответ|предложение|утверждение|гипотеза|реплика|причина|следствие|option|choice|answer|one|reply)"


#: A digit that is part of a number, a range or an expression, or that counts something, is no label.
_PART_BEFORE: Final = re.compile(
    r"(?:\d[.,:/]|\d?\s?[-−–+*/^]\s?|\b(?:шаг|step|этап|слов[оае]|букв[аы]|строк[аеи])\s+[№#]?)$",
    re.IGNORECASE,
)
_PART_AFTER: Final = re.compile(r"[.,:/]\d|\s?[-–—−+*/^]\s?\d|\s*(?:%|°)")
_COUNTED: Final = re.compile(
    r"\s+(?!(?:вариант|ответ|так\b|потому|поскольку|верн|правильн|явля|подход|более|менее|лучше|вероятн|и\b|или\b|а\b|но\b"
    r"|до\b|to\b|символ|букв|or\b|and\b|is\b|because|since|but\b|letter|character))[^\W\d_]",
    re.IGNORECASE,
)
_ALTERNATIVE: Final = re.compile(r"\b(?:или|либо|ли|or)\s+[«\"*]*$", re.IGNORECASE)
#: How many characters around a label are looked at.
_WINDOW: Final = 60


class LabelReader:
    """Reads labels of a choice.

    A Cyrillic letter counts as the Latin letter that looks the same, and the reverse, if the labels have only one of them.

    Args:
        labels: the labels.
        shown: the texts of the item: an answer that repeats one of them names no label.

    Example:
        >>> reader = LabelReader("ABCD")
        >>> reader.alone("**В)**"), reader.stated("вариант C, так как A неверен"), reader.only("A or B")
        ('B', 'C', ['A', 'B'])
    """

    def __init__(self, labels: Iterable[str], shown: Iterable[str] = ()) -> None:
        self.labels = tuple(labels)
        self._patterns = _patterns(self.labels)
        self._spellings = self._patterns.spellings
        self._folded = self._patterns.folded
        self._shown = [text.strip() for text in shown if len(text.strip()) > 1]

    def alone(self, piece: str) -> str | None:
        """Return the label if the piece is nothing but a label, signs around it and words such as "вариант"."""
        bare = piece.strip().strip(_SIGNS).strip()
        bare = _BEFORE.sub("", bare, count=1).strip(_SIGNS).strip() if _BEFORE.match(bare) else bare
        if not bare:
            return None
        if (label := self._spellings.get(bare) or self._folded.get(bare.casefold())) is not None:
            return label
        found = {label for label, pattern in self._patterns.in_words if pattern.fullmatch(bare)}
        return found.pop() if len(found) == 1 else None

    def stated(self, piece: str) -> str | None:
        """Return the label with which the piece begins, as in "B) Марс, потому что ..."; or the only label in it."""
        if (label := self.alone(piece)) is not None:
            return label
        if _DENIED_BEFORE.match(piece + " ") or piece[:3].casefold() == "не ":
            return None
        if (label := self._leading(piece)) is not None:
            return label
        found = self.only(piece)
        return found[0] if len(found) == 1 else None

    def leading(self, piece: str) -> str | None:
        """Return the label with which the piece begins, followed by a sign: "B) Марс", "1, так как ..."."""
        return None if self._is_enumeration(piece) else self._leading(piece)

    def _leading(self, piece: str) -> str | None:
        start = before.end() if (before := _BEFORE.match(piece)) else 0
        match = self._patterns.leading.match(piece, start)
        if match is None:
            return None
        token, end = match[1], match.end()
        after = piece[end : end + _WINDOW]
        if token not in self._spellings and start == 0 and not re.match(r"\s*[)\]]", after):
            return self._word(token, piece, end)
        denied = not _AFTER.match(after) or re.match(r"[.,:/]\d", after) or _DENIED_AFTER.match(after)
        if denied or self._is_followed(token, piece, end) or self._is_shown(piece):
            return None
        return self._spellings.get(token) or self._folded.get(token.casefold())

    def _is_followed(self, token: str, piece: str, end: int) -> bool:
        """Check whether another label follows ("A или B", "Нет. Да ..."), or the initials of a name."""
        after = piece[end : end + _WINDOW]
        if self._patterns.next_in_list.match(piece, end) is not None:
            return True
        if len(token) > 1:
            return self._patterns.token.match(after.lstrip(" .!")) is not None
        return _is_initial(token, after)

    def _word(self, token: str, piece: str, end: int) -> str | None:
        """Return a label that is a word in other letter case: "да, ..."."""
        if len(token) == 1 or not _AFTER.match(piece, end) or self._patterns.next_in_list.match(piece, end):
            return None
        return self._folded.get(token.casefold())

    def called_right(self, text: str) -> list[str]:
        """Return the distinct labels that the text calls right: "вариант B верен", "C is correct"."""
        found = [
            self._spellings[match[1]]
            for match in self._patterns.right.finditer(text)
            if match[1] in self._spellings
            and not _DENIED_BEFORE.search(text[max(0, match.start() - _WINDOW) : match.start()])
            # "А правильный ответ ..." begins with a conjunction.
            and not (
                re.match(r"[А-Я]\s+(?:правильн|верный|верно)", match[0])
                and not _VARIANT.search(text[max(0, match.start() - _WINDOW) : match.start()])
            )
        ]
        return list(dict.fromkeys(found))

    def only(self, text: str) -> list[str]:
        """Return the distinct labels in a text, in their order.

        Texts of the item, denied labels, parts of numbers, and words that look like a label ("В", "А", "a") are left out.
        """
        for shown in sorted(self._shown, key=len, reverse=True):
            if self._patterns.token.search(shown):
                text = text.replace(shown, " ")
        found: list[str] = []
        for match in self._patterns.token.finditer(text):
            if not self._is_other(match, text):
                found.append(self._spellings[match[1]])
                if (joined := self._patterns.next_in_list.match(text, match.end())) is not None:
                    found.append(self._folded.get(joined[1].casefold(), joined[1]))
        if (last := self._patterns.last_word.search(text)) and not _ALTERNATIVE.search(
            text[: last.start()][-9:]
        ):
            found.append(self._folded.get(last[1].casefold(), last[1]))
        return list(dict.fromkeys(found))

    def _is_other(self, match: re.Match[str], text: str) -> bool:
        """Check whether a token is not meant as a label."""
        token = match[1]
        before = text[max(0, match.start() - _WINDOW) : match.start()]
        after = text[match.end() : match.end() + _WINDOW]
        end = match.end()
        for _ in self.labels:
            joined = self._patterns.next_in_list.match(text, end)
            end = end if joined is None else joined.end()
        if _DENIED_BEFORE.search(before) or _DENIED_AFTER.match(text[end : end + _WINDOW]):
            return True
        if token.isdigit():
            return bool(
                _PART_BEFORE.search(before)
                or _PART_AFTER.match(after)
                or (_COUNTED.match(after) and not _VARIANT.search(before))
            )
        return _is_word(token, before, after)

    def _is_shown(self, piece: str) -> bool:
        return piece.strip(_SIGNS) in {text.strip(_SIGNS) for text in self._shown}

    def _is_enumeration(self, piece: str) -> bool:
        """Check whether the piece lists several labels, as the question does: one a line, or "1: ..., 2: ..." in one."""
        lists = (self._patterns.option_line, self._patterns.option_inside)
        return any(len({self._spellings[found] for found in one.findall(piece)}) > 1 for one in lists)


@dataclass(frozen=True)
class _Patterns:
    """The patterns of a set of labels."""

    spellings: Mapping[str, str]
    folded: Mapping[str, str]
    token: re.Pattern[str]
    leading: re.Pattern[str]
    next_in_list: re.Pattern[str]
    option_line: re.Pattern[str]
    option_inside: re.Pattern[str]
    right: re.Pattern[str]
    in_words: Sequence[tuple[str, re.Pattern[str]]]
    last_word: re.Pattern[str]


@cache
def _patterns(labels: tuple[str, ...]) -> _Patterns:
    spellings = _spellings(labels)
    folded = _folded(spellings)
    tokens = "|".join(re.escape(token) for token in sorted(spellings, key=len, reverse=True))
    loose = "|".join(re.escape(token) for token in sorted(folded, key=len, reverse=True))
    words = any(len(label) > 1 for label in labels)
    return _Patterns(
        spellings,
        folded,
        token=re.compile(rf"(?<![\w\\])({tokens})(?!\w)"),
        leading=re.compile(rf"[\s*_`\"'«“(\[<#•]*({loose})(?!\w)", re.IGNORECASE),
        # Words are joined in any letter case ("Да или нет"); letters are not, for "а" and "в" are words.
        next_in_list=re.compile(
            rf"{_JOINED}(?:вариант\s+)?({loose if words else tokens})(?!\w)",
            re.IGNORECASE if words else re.NOFLAG,
        ),
        option_line=re.compile(rf"^[ \t*_`\-•(\[]*({tokens})\s*[).:\]]", re.MULTILINE),
        option_inside=re.compile(rf"(?:^|[,;.]\s|[а-яёa-z]\s)({tokens})(?:\s*[):]|\s[—–-])\s"),
        right=re.compile(rf"(?<!\w)({tokens}){_CALLED_RIGHT}", re.IGNORECASE),
        # A label that is a word ends the reply in any letter case: "Думаю, да".
        last_word=re.compile(rf"(?<!\w)({loose if words else '(?!)'})[\s.!»\"*)]*$", re.IGNORECASE),
        in_words=[
            (
                label,
                re.compile(rf"(?:{_NOUN}\s+)?(?:the\s+)?(?:{_WORDS[label]})(?:\s+{_NOUN})?", re.IGNORECASE),
            )
            for label in labels
            if label in _WORDS
        ],
    )


def _is_word(token: str, before: str, after: str) -> bool:
    """Check whether a letter or a word is part of a sentence and not meant as a label."""
    if len(token) > 1:
        # "Нет сомнений ..." begins with a word that is no answer.
        return re.match(r"\s+(?!так\b|потому|поскольку)[а-яёa-z]", after) is not None
    if _VARIANT.search(before) or _IS_LABEL.match(after):
        return False
    if re.fullmatch("[A-Z]", token):
        return token in {"A", "I"} and re.match(r"\s+[a-z]", after) is not None
    return re.match(r"\s+[а-яё]|\.\s?[А-ЯЁ]|\s+[А-ЯЁ][а-яё]", after) is not None


def _is_initial(token: str, after: str) -> bool:
    """Check whether a Cyrillic letter is the initial of a name: "А. С. Пушкин"."""
    return token in _LOOK_ALIKES and re.match(r"\.\s?[А-ЯЁ]\.", after) is not None


def _spellings(labels: tuple[str, ...]) -> Mapping[str, str]:
    """Map each spelling to its label: the label itself, and its letter's look-alike if no other label is written so."""
    known = {label: label for label in labels}
    for label in labels:
        for table in (_LOOK_ALIKES, _BACK):
            if len(label) == 1 and label in table:
                known.setdefault(table[label], label)
    return known


def _folded(spellings: Mapping[str, str]) -> Mapping[str, str]:
    """Map spellings in lower case to labels; those that two labels share are left out."""
    found: dict[str, str] = {}
    shared: set[str] = set()
    for spelling, label in spellings.items():
        key = spelling.casefold()
        if found.setdefault(key, label) != label:
            shared.add(key)
    return {key: label for key, label in found.items() if key not in shared}
