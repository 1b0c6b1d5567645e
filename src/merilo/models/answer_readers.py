"""Reading an answer of one form from a piece of a model's reply.

A label, an integer, the numbers of an exam task, a free text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from merilo.items import Item
from merilo.models.answer_rules import AnswerReader, boxed, json_answer, plain, statements

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
    r"\s*(?:[).:;,!?\]*\"»_`(/|]|[—–]|-\s|$|\n|-?(?:й|я|е|ый|ое|ая)\b)|\s+(?:потому|"
    r"так\s+как|поскольку|because|since)\b"
)
#: A second label in a list: "A или B", "1, 2".
_JOINED: Final = r"\s*[)\]*\"»]*\s*(?:,|;|/|&|\+|и|или|либо|and|or)\s*[(\[*\"«]*\s*"
_DENIED_BEFORE: Final = re.compile(
    r"(?:(?:\bне|\bнет|\bnot|\bкроме|\bexcept|n['’]t)\s+(?:вариант\w*\s+|ответ\s+|option\s+)?"
    r"|(?:\bнеправильн|\bневер(?=ен|н)|\bошибочн|\bincorrect|\bwrong)\w*\s+(?:вариант|"
    r"ответ|answer|option|choice)?\w*\s*[:—–-]?\s*)[\"«(*]*$",
    re.IGNORECASE,
)
_DENIED_AFTER: Final = re.compile(
    r"(?:-?(?:й|я|е|ый|ое|ая)\b)?[)\]*\"».:]*\s*(?:[—–-]\s*)?(?:вариант\s+|"
    r"ответ\s+)?(?:это\s+)?(?:явно\s+|точно\s+|is\s+|was\s+|тоже\s+|также\s+)?"
    r"(?:невер|неправ|не\s+(?:подход|верн|правильн|явля|соответств|может|является)|ошибоч|"
    r"ложн|исключ|менее\b|incorrect|wrong|not\b|isn['’]t|false|less\b)",
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
    r"(?:вариант|ответ|букв|пункт|номер|предположени|причин|следстви|реплик|гипотез|"
    r"утверждени|предложени|класс|option|answer|choice"
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
_NOUN: Final = (
    r"(?:вариант|ответ|предложение|утверждение|гипотеза|реплика|причина|следствие|option|"
    r"choice|answer|one|reply)"
)


#: A digit that is part of a number, a range or an expression, or that counts something, is no label.
_PART_BEFORE: Final = re.compile(
    r"(?:\d[.,:/]|\d?\s?[-−–+*/^]\s?|\b(?:шаг|step|этап|слов[оае]|букв[аы]|строк[аеи])\s+[№#]?)$",
    re.IGNORECASE,
)
_PART_AFTER: Final = re.compile(r"[.,:/]\d|\s?[-–—−+*/^]\s?\d|\s*(?:%|°)")
_COUNTED: Final = re.compile(
    r"\s+(?!(?:вариант|ответ|так\b|потому|поскольку|верн|правильн|явля|подход|более|менее|"
    r"лучше|вероятн|и\b|или\b|а\b|но\b"
    r"|до\b|to\b|символ|букв|or\b|and\b|is\b|because|since|but\b|letter|character))[^\W\d_]",
    re.IGNORECASE,
)
_ALTERNATIVE: Final = re.compile(r"\b(?:или|либо|ли|or)\s+[«\"*]*$", re.IGNORECASE)
#: How many characters around a label are looked at.
_WINDOW: Final = 60


class LabelReader(AnswerReader):
    """Reads labels of a choice.

    A Cyrillic letter counts as the Latin letter that looks the same, and the reverse, if the labels have only
    one of them.

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

        Texts of the item, denied labels, parts of numbers, and words that look like a label ("В", "А", "a")
        are left out.
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
        """Check whether the piece lists several labels, as the question does.

        One a line, or "1: ..., 2: ..." in one.
        """
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


_MINUS: Final = str.maketrans(dict.fromkeys("−–‒－", "-"))
_NUMBER_SIGNS: Final = " \t\n*_`\"'«»“”„‘’()[]{}<>$#.,:;!?…|\\/=~•"
#: Groups of three digits are divided by a space, an apostrophe or a comma: 12 291, 12'291, 12,291.
_NUMBER: Final = re.compile(
    r"(?<![\w.,])(?P<sign>[+-]\s?|минус\s+|minus\s+)?(?P<whole>[1-9]\d{0,2}(?:(?P<mark>[ "
    r",'’])\d{3}(?:(?P=mark)\d{3})*)?(?!\d)|\d+)"
    r"(?P<fraction>[.,]\d+)?(?!\w)",
    re.IGNORECASE,
)
_BEFORE_NUMBER: Final = re.compile(
    r"(?:(?:это|the|правильный|верный|примерно|ровно|is|равно|равен|равна)\s+)*(?:ответ|"
    r"число|результат|answer|number|result)?\s*[:=]?\s*",
    re.IGNORECASE,
)
#: What follows a number that answers, and not one that is part of an expression.
_AFTER_NUMBER: Final = re.compile(r"\s*(?:$|[.;:!?)(\]*»\"`]|,(?!\d)|—|–\s|\n)|\s+[^\W\d_]", re.IGNORECASE)
_ARROW: Final = re.compile(r"=>|[-–]>|→|⇒")
#: The left side of an equation, with at most one word before it.
_EXPRESSION: Final = re.compile(r"\s*(?:[^\W\d_]+[,:]?\s+)?[\d\s+\-*/×·÷:^()\[\]{}.,=x]*", re.IGNORECASE)
_MOST_DIGITS: Final = 400
#: The end of a text that may stop within a number or a list of numbers.
UNFINISHED: Final = re.compile(r"(?:\d|[,;]|\sи)\s*$")


class IntegerReader(AnswerReader):
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
        bare = text.strip().strip(_NUMBER_SIGNS).strip()
        bare = bare[before.end() :] if (before := _BEFORE_NUMBER.match(bare)) else bare
        match = _NUMBER.fullmatch(bare.strip().strip(_NUMBER_SIGNS).strip())
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
            or not _AFTER_NUMBER.match(start, match.end())
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


_OPTION_NUMBER: Final = r"\d{1,2}"
#: Numbers that form one answer: "1, 3", "1 и 3", "1; 3", "1 3".
_LIST: Final = re.compile(
    rf"(?<![\w.,]){_OPTION_NUMBER}(?:\s*[)\]»\"*]*\s*(?:,|;|и|&|\+|and|"
    rf"\s)\s*[(\[«\"*№]*\s*{_OPTION_NUMBER}(?!\w))*(?!\w|[.,:]\d)"
    r"|(?<![\w.,])\d{3,9}(?!\w|[.,:]\d)",
    re.IGNORECASE,
)
#: "А-8, Б-1": a number for each letter.
_PAIR: Final = re.compile(r"(?<!\w)([А-Е])(?!\w)[)\]*\s]*[-–—:=.)]?\s*[*(]*(\d)(?!\w)")
_OPTION: Final = re.compile(rf"^\W*({_OPTION_NUMBER})\s*[).]\s*(\S.*)$")
_LISTED: Final = re.compile(rf"^[ \t]*({_OPTION_NUMBER})[ \t]*[).][ \t]*(.*)$", re.MULTILINE)
_IN_TEXT: Final = re.compile(rf"\(({_OPTION_NUMBER})\)")
_LIST_SIGNS: Final = " \t\n*_`\"'«»“”„()[]{}<>#.,:;!?•-–—"
_BEFORE_LIST: Final = re.compile(
    r"(?:ответ\w*|номер\w*|цифр\w*|числ\w*|предложени\w*|вариант\w*|answer\w*|numbers?|и|:|№|\s)*",
    re.IGNORECASE,
)
_DENIED_LIST: Final = re.compile(r"\b(?:не|кроме|not)\s+(?:номер\w*\s+|предложени\w*\s+)?$", re.IGNORECASE)
_AFTER_LIST: Final = re.compile(
    r"\s*(?:$|[.;:!?)\]*»\"`—–(]|,(?!\s*\d)|\n)|\s+(?:так\s+как|потому|поскольку)\b"
)
#: The first this many characters of an option identify it.
_OPTION_START: Final = 25


class NumberListReader(AnswerReader):
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
        bare = piece.strip().strip(_LIST_SIGNS).strip()
        bare = bare[_matched_end(_BEFORE_LIST, bare) :].strip(_LIST_SIGNS)
        match = _LIST.fullmatch(bare)
        return None if match is None else self._joined(match[0])

    def stated(self, piece: str) -> str | None:
        """Return the numbers with which the piece begins; or the only numbers in it."""
        if (value := self.alone(piece)) is not None:
            return value
        bare = piece.lstrip(_LIST_SIGNS)
        bare = bare[_matched_end(_BEFORE_LIST, bare) :].lstrip(_LIST_SIGNS)
        match = _LIST.match(bare)
        if match is not None and _AFTER_LIST.match(bare, match.end()):
            return self._joined(match[0])
        found = self.only(piece)
        return found[0] if len(found) == 1 else None

    def leading(self, piece: str) -> str | None:
        """Return the numbers of a reply that repeats the options that it chooses, one a line."""
        chosen = []
        for line in filter(str.strip, piece.splitlines()):
            match = _OPTION.match(line)
            if match is None or not self._is_option(match[1], match[2]):
                return None
            chosen.append(match[1])
        return ",".join(chosen) if chosen and len(chosen) < len(self._options) else None

    def only(self, text: str) -> list[str]:
        """Return the distinct answers in a text, in their order."""
        if (paired := self._paired(text)) is not None:
            return [paired]
        found = [
            self._joined(match[0])
            for match in _LIST.finditer(text)
            # Digits without a separator are read apart only if nothing else is said: "25 предложений" is a number.
            if (match[0] in self._known or not re.fullmatch(r"\d{2,}", match[0]))
            and not _DENIED_LIST.search(text[max(0, match.start() - 30) : match.start()])
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
    """Return the numbers among which a task lets choose.

    Those of its options, or else those in its text, in their order.
    """
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


_QUOTES: Final = {"«": "»", '"': '"', "“": "”", "„": "“”", "'": "'", "‘": "’", "`": "`"}
#: Words that announce an answer on a line of its own, or before a colon.
_LEAD_IN: Final = re.compile(
    r"""^[\s*_\#>–—-]*(?:(?:конечно|хорошо|разумеется|sure|certainly|of\s+course)[!,.]\s*)?
        (?:вот\s+(?=вежл|вариант|ответ|мой|как|так(?:ой|ая)|более|перефраз|переписан|исправ|нейтральн
        |результат|текст|верси|отредакт)|ответ\b|итоговый|окончательный|правильный|верный|отгадка\b
        |вариант\b|вежливый|вежливая|нейтральный|мягкий|переписанн|перефразированн
        |отредактированн|исправленн|переформулированн|высказывание\b|комментарий\b|текст\s+без\b
        |версия\b|можно\s+(?:сказать|переписать|перефразировать)
        |answer\b|final\b|here\b|rewritten|polite|correct\b|the\s+(?:answer|polite|rewritten))
        [^:\n«"“]{0,80}:[*_]*\s*""",
    re.IGNORECASE | re.VERBOSE,
)
_EMPHASIS: Final = re.compile(
    r"(\*\*\*|\*\*|\*|__|_|`)(?=\S)(?P<inner>.+?)(?<=\S)\1|<(b|i|strong|em)>(?P<tagged>.+)</\3>", re.DOTALL
)
_BULLET: Final = re.compile(r"^[-•–—]\s+")
#: "Конечно! Вот вежливый вариант:" and a second line such as "Вариант:"; more are part of the text.
_MOST_ANNOUNCEMENTS: Final = 3
#: A full stop that belongs to an abbreviation or an initial.
_ABBREVIATED: Final = re.compile(r"(?:^|[\s.])[^\W\d_]{1,2}\.$")


@dataclass(frozen=True, slots=True)
class FoundText:
    """A free text in a reply.

    Attributes:
        text: the answer.
        rule: the name of the rule that found it.
        piece: the piece of the reply that it was made from.
        complete: whether the reply goes on after it, so that it was not cut off.
    """

    text: str
    rule: str
    piece: str
    complete: bool


def read_text(reply: str, stop: tuple[str, ...], *, sentence: bool) -> FoundText | None:
    r"""Find a free text in a reply.

    In this order: the value in a JSON object; the last box; the last statement of the answer ("Ответ: ...");
    the text after an announcement ("Вот вежливый вариант:"); the text itself. It ends at the dataset's stop
    strings: at the end of its line, in the exam also at a full stop. Signs of emphasis and quotation marks
    around the whole answer are removed, and a full stop at its end.

    Args:
        reply: the reply without thought, not empty.
        stop: the dataset's stop strings.
        sentence: whether the answer is a sentence, which may contain a colon and keeps its full stop.

    Example:
        >>> read_text("**Ответ:** «самовар».", ("\n",), sentence=False).text
        'самовар'
    """
    if (held := json_answer(reply)) is not None and isinstance(held[0], str | int | float):
        return FoundText(str(held[0]).strip(), "JSON", held[1], complete=True)
    if not sentence:
        if (box := boxed(reply)) is not None:
            return _found(box, "box", (), complete=True, sentence=sentence)
        if stated := statements(plain(reply)):
            last = stated[-1]
            return _found(last.piece, "answer statement", stop, complete=not last.cut, sentence=sentence)
    text, rule = reply.strip(), "first line" if "\n" in stop else "whole text"
    for _ in range(_MOST_ANNOUNCEMENTS):
        if not (lead_in := _announcement(text)) or not text[lead_in:].strip():
            break
        text, rule = text[lead_in:].strip(), "after an announcement"
    return _found(text, rule, stop, complete=False, sentence=sentence)


def _announcement(text: str) -> int:
    """Return where an announcement at the beginning ends.

    A line that ends with a colon, or known words before a colon.
    """
    first = text.split("\n", 1)[0]
    if first.rstrip(" *_").endswith(":") and first != text:
        return len(first)
    match = _LEAD_IN.match(text)
    return match.end() if match else 0


def _found(
    piece: str, rule: str, stop: tuple[str, ...], *, complete: bool, sentence: bool
) -> FoundText | None:
    text = _without_signs(piece.strip())
    for end in stop:
        before, mark, _ = text.partition(end)
        if mark and before.strip():
            text, complete = _without_signs(before.strip()), True
    if not sentence and text.endswith(".") and not text.endswith("..") and not _ABBREVIATED.search(text):
        text = _without_signs(text[:-1])
    return FoundText(text, rule, piece, complete) if any(map(str.isalnum, text)) else None


def _without_signs(text: str) -> str:
    """Remove emphasis, a bullet and quotation marks that enclose the whole text."""
    text = _BULLET.sub("", text).strip()
    if match := _EMPHASIS.fullmatch(text):
        return _without_signs(match["inner"] or match["tagged"])
    closing = _QUOTES.get(text[:1])
    if closing is not None and len(text) > 2:
        body = text[1:]
        ended = (
            body[:-1]
            if body[-1:] in closing
            else body[:-2]
            if body[-2:-1] in closing and body[-1] == "."
            else None
        )
        if ended is not None and not any(sign in ended for sign in (text[0], *closing)):
            return _without_signs(ended)
    return text
