"""Finding the mentions of answers of one form in a model's reply.

Labels, integers, the numbers of an exam task; and a free text, which is read by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from merilo.items import Item
from merilo.models.answer_rules import (
    OTHER,
    AnswerReader,
    Mentions,
    boxed,
    json_answer,
    lowered,
    plain,
    stated_texts,
)

#: Cyrillic letters and the Latin letters that look the same.
_LOOK_ALIKES: Final = dict(zip("АВЕЅКМНОРСТХ", "ABESKMHOPCTX", strict=True))
_BACK: Final = {latin: cyrillic for cyrillic, latin in _LOOK_ALIKES.items()}
#: Letters of a list in Russian order: in such a reply a Cyrillic В is the third letter, not the Latin B.
_RUSSIAN_LIST: Final = re.compile(r"(?<!\w)[БГД](?:\)|\.\s|\s[—–-]\s)")

_ORDINALS: Final = (
    r"перв(?:ый|ая|ое|ого|ому|ым|ом|ой|ую)|first",
    r"втор(?:ой|ая|ое|ого|ому|ым|ом|ую)|second",
    r"трет(?:ий|ья|ье|ьего|ьему|ьим|ьем|ьей|ью)|third",
    r"четв[её]рт(?:ый|ая|ое|ого|ому|ым|ом|ой|ую)|fourth",
    r"пят(?:ый|ая|ое|ого|ому|ым|ом|ой|ую)|fifth",
)
_UNITS: Final = (
    "ноль нуль нулю zero|один одна одно единица единице единицу одному одной one|два две двойка двум двух two"
    "|три тройка трем трём трех трёх three|четыре четырем четырём four|пять five|шесть six|семь seven|восемь восьми"
    " eight|девять nine|десять ten|одиннадцать eleven|двенадцать twelve|тринадцать thirteen|четырнадцать fourteen"
    "|пятнадцать fifteen|шестнадцать sixteen|семнадцать seventeen|восемнадцать eighteen|девятнадцать nineteen"
)
_TENS: Final = (
    "двадцать twenty|тридцать thirty|сорок сорока forty|пятьдесят fifty|шестьдесят sixty|семьдесят seventy"
    "|восемьдесят eighty|девяносто ninety"
)
_HUNDREDS: Final = "сто ста|двести|триста|четыреста|пятьсот|шестьсот|семьсот|восемьсот|девятьсот"
_NUMERALS: Final = {
    form: number * size
    for words, first, size in ((_UNITS, 0, 1), (_TENS, 2, 10), (_HUNDREDS, 1, 100))
    for number, group in enumerate(words.split("|"), first)
    for word in group.split()
    for form in ({word, word[:-1] + "и"} if word.endswith("ь") and word != "ноль" else {word})
}
_SCALES: Final = {
    **dict.fromkeys(("hundred",), 100),
    **dict.fromkeys(("тысяча", "тысячи", "тысяч", "тысячу", "thousand"), 1000),
    **dict.fromkeys(("миллион", "миллиона", "миллионов", "million"), 1_000_000),
}
_NUMERAL: Final = "|".join(sorted((*_NUMERALS, *_SCALES), key=len, reverse=True))
_IN_WORDS: Final = re.compile(
    rf"(?<![\w-])(?:(?:минус|minus|negative)\s+)?(?:{_NUMERAL})(?:(?:\s+and\s+"
    rf"|[\s-]+)(?:{_NUMERAL}))*(?![\w-])"
)


def number_in_words(text: str) -> int:
    """Return the value of a number in words, in lower case.

    Example:
        >>> number_in_words("минус двенадцать тысяч двести девяносто один"), number_in_words("eighty-five")
        (-12291, 85)
    """
    total = part = 0
    sign = 1
    for word in re.split(r"[\s-]+", text):
        if word in _SCALES and _SCALES[word] > 100:
            total, part = total + (part or 1) * _SCALES[word], 0
        elif word in _SCALES:
            part = (part or 1) * 100
        elif word in _NUMERALS:
            part += _NUMERALS[word]
        elif word != "and":
            sign = -1
    return sign * (total + part)


#: Words that name the labels of a dataset, whose options have no fields.
_MEANINGS: Final[Mapping[str, Mapping[str, str]]] = {
    "bps": {
        "0": r"не\s*сбалансирован\w*|unbalanced|not\s+balanced|isn['’]t\s+balanced|нарушен\s+баланс",
        "1": r"сбалансирован\w*|balanced",
    },
    "rwsd": {
        "Нет": r"разные\s+(?:люди|лица|слова|предметы|вещи)|different\s+(?:people|things|persons)",
        "Да": r"одно\s+и\s+то\s+же|один\s+и\s+тот\s+же|the\s+same\s+(?:person|thing)",
    },
    "rcb": {
        "1": r"следовани[еяю]|логически\s+следует|entailment|entails",
        "2": r"противоречи[ея]|contradiction|contradicts",
        "3": r"нейтральн\w+|независим\w+|neutral|neutrality",
    },
}

#: After a letter: what shows that it is a label, and not an article, a preposition or a conjunction.
_IS_LABEL: Final = re.compile(
    r"\s+(?:or|and|it|to|through|is|isn|was|seems|fits|matches|because|since|too|и|или|либо|верен|верн"
    r"|правильн|неверн|подходит|не\s|является|потому|так\s+как)\b"
)
_NAMES_LABEL: Final = re.compile(
    r"(?:вариант\w*|ответ\w*|букв\w+|пункт\w*|номер\w*|предположени\w+|причин\w+|следстви\w+|реплик\w+"
    r"|гипотез\w+|утверждени\w+|предложени\w+"
    r"|фрагмент\w*|класс\w*|option|choice|answer|letter|sentence|reply|response|statement|number"
    r"|label)\s*[:№#]?\s*[«\"'(]*$",
    re.IGNORECASE,
)
#: After a word such as "нет": what shows that it belongs to a sentence.
_WORD_INSIDE: Final = re.compile(
    r"\s+(?!так\b|потому|поскольку|или\b|либо\b|и\b|or\b|and\b|because|since)[а-яёa-z]"
)
#: "Vitamin C", "25 °C", "точка A": a letter that is no label.
_NAMED_LETTER: Final = re.compile(
    r"(?:[°\d]\s?|(?:vitamin|hepatitis|витамин\w*|гепатит\w*|точк\w+|угол|угла|отрез\w+|город\w*|язык\w*"
    r"|language|grade|plan)\s)$",
    re.IGNORECASE,
)
#: A digit that numbers a step, or belongs to an index or an expression, is no label; nor is one that counts.
_PART_BEFORE: Final = re.compile(
    r"(?:[+*/^×·<>≤≥]\s?|\d\s?[−–-]\s?|\w[\[(]|\]\[|[,;]\s?\d\]|\b(?:шаг\w*|step|этап\w*|слов[оае]|строк[аеи]"
    r"|пример\w*|скобк\w+|пар[аыу]|позици\w+|line|row|position|pair|глав\w+|балл\w*|плюс|минус|по)\s[№#]?)$",
    re.IGNORECASE,
)
_PART_AFTER: Final = re.compile(r"[.,:/]\d|\s?[+*^×·<>=≤≥]|\s?[−–-]\s?\d|\s*[%°]|\]\[|\]\s?=")
_COUNTED: Final = re.compile(
    r"[^\S\n]+(?!(?:вариант\b|ответ\b|так\b|потому|поскольку|ведь|верн|верен|правильн|неверн|неправ|явля"
    r"|подход|подой|годится|более|менее|тоже|также|слишком|мимо|отпад|исключ|не\b|нет\b|соответств"
    r"|\w+ее\b|лучше|хуже|и\b|или\b|либо\b|а\b|но\b|как\b|ближе|до\b|to\b|or\b|and\b|is\b|was\b|would|because"
    r"|since|but\b|as\b|fits|matches|option|cannot|can['’]t|isn|doesn|rather|instead|with\b|over\b"
    r"|than\b))[^\W\d_]"
)
#: So many words in a row repeat an option.
_ECHO: Final = 4
#: How many characters around a mention are looked at.
_WINDOW: Final = 40


class LabelReader(AnswerReader):
    """Finds labels of a choice: letters, digits or words, ordinals ("the first"), and the texts of options.

    A Cyrillic letter counts as the Latin letter that looks the same, and the reverse, if the labels have only
    one of them.

    Args:
        labels: the labels.
        options: label -> the text of its option. Texts that two labels share are left out.
        meanings: label -> a pattern of words that mean it.

    Example:
        >>> mentions = Mentions()
        >>> text = LabelReader("ABCD", {"C": "Меркурий"}).marked("Ответ: **В**. Меркурий", mentions)
        >>> [mentions.value(sign) for sign in text if mentions.value(sign)]
        ['B', 'C']
    """

    def __init__(
        self,
        labels: Iterable[str],
        options: Mapping[str, str] | None = None,
        meanings: Mapping[str, str] | None = None,
    ) -> None:
        self.labels = tuple(labels)
        self.digits = all(label.isdigit() for label in self.labels)
        self.words = any(len(label) > 1 for label in self.labels) and not self.digits
        self._tokens = _tokens(self.labels)
        texts = {label: option_key(text) for label, text in (options or {}).items()}
        self._options = {
            text: label
            for label, text in texts.items()
            if text and list(texts.values()).count(text) == 1 and text.upper() not in self._tokens.spellings
        }
        self.bare_numbers = any(re.fullmatch(r"[\d\s.,/-]+", text) for text in self._options)
        self._meanings = meanings or {}

    def marked(self, text: str, mentions: Mentions) -> str:
        """Return the text with a character in place of each mention of a label."""
        if self.digits and (unit := _UNIT.fullmatch(text)):
            text = unit[1]
        text = self._with_options(text, mentions)
        tokens = self._tokens
        letters = not self.digits and any(len(label) == 1 for label in self.labels)
        russian = letters and _RUSSIAN_LIST.search(text) is not None

        def token(found: re.Match[str]) -> str:
            return self._token(found, mentions, russian=russian)

        text = tokens.pattern.sub(token, text)
        low = lowered(text)
        if tokens.ordinals is not None and tokens.ordinals.search(low):
            text = _replaced(tokens.ordinals, low, text, lambda found: self._ordinal(found, mentions))
        if self.digits and _IN_WORDS.search(low := lowered(text)):
            text = _replaced(_IN_WORDS, low, text, lambda found: self._cardinal(found, mentions))
        return text

    def echoed(self, text: str) -> set[str]:
        """Return the labels of options of which four words in a row stand in a text."""
        low = " ".join(re.findall(r"\w+", option_spelling(text)))
        found = set()
        for option, label in self._options.items():
            words = re.findall(r"\w+", option)
            runs = (" ".join(words[at : at + _ECHO]) for at in range(len(words) - _ECHO + 1))
            if any(run in low for run in runs):
                found.add(label)
        return found

    def _with_options(self, text: str, mentions: Mentions) -> str:
        low = option_spelling(text)
        present = [one for one in self._options if one in low]
        if present:
            pattern = _option_pattern(tuple(sorted(present, key=len, reverse=True)))

            def option(found: re.Match[str]) -> str:
                whole = text[found.start() : found.end()]
                if len(whole) == 1 and whole != whole.upper():
                    return whole
                return mentions.sign(self._options[found[0]], "option")

            text = _replaced(pattern, low, text, option)
        for label, meaning in self._meanings.items():
            text = _replaced(
                re.compile(rf"(?<!\w)(?:{meaning})(?!\w)"),
                lowered(text),
                text,
                lambda found, label=label: mentions.sign(label, "option"),  # type: ignore[misc]
            )
        return text

    def _token(self, found: re.Match[str], mentions: Mentions, *, russian: bool) -> str:
        """Return the character for what may be a label, or the text itself."""
        whole, text = found[0], found.string
        before = text[max(0, found.start() - _WINDOW) : found.start()]
        after = text[found.end() : found.end() + _WINDOW]
        if self.digits:
            return self._digit(whole, before, after, mentions)
        if len(whole) > 1:
            inside = _WORD_INSIDE.match(after) or lowered(before).endswith("хотя ")
            return whole if inside else mentions.sign(self._tokens.folded[whole.casefold()])
        named = _NAMES_LABEL.search(before) is not None
        label = self._tokens.spellings.get(whole)
        if whole.islower():
            label = self._tokens.folded.get(whole.casefold())
            alone = re.match(r"\s*\)|\W*(?:\n|$)", after) and not re.search(r"\w\s*$", before)
            is_label = bool(label and (alone or (named and whole not in "авси")))
        elif label is None:
            ends = re.match(r"\)|\.\s|[»\"*.]*\s*(?:\n|$)", after)
            is_label = bool(ends) and bool(named or re.search(r"(?:^|\n|[:—–]\s)\W*$", before))
        else:
            sure = named or _IS_LABEL.match(after) or not _is_word(whole, after)
            is_label = bool(sure) and not _NAMED_LETTER.search(before)
        if not is_label:
            return whole
        return OTHER if label is None or (russian and whole in "ВС") else mentions.sign(label)

    def _digit(self, whole: str, before: str, after: str, mentions: Mentions) -> str:
        named = _NAMES_LABEL.search(before) is not None
        if _PART_BEFORE.search(before) or _PART_AFTER.match(after) or (not named and _COUNTED.match(after)):
            return whole
        number = re.match(r"\d+(?![.,]\d)", whole)
        return mentions.sign(number[0]) if number and number[0] in self.labels else OTHER

    def _ordinal(self, found: re.Match[str], mentions: Mentions) -> str:
        for place, words in enumerate(_ORDINALS[: len(self.labels)]):
            if re.fullmatch(words, found[0]):
                return mentions.sign(self.labels[place], "word")
        return found[0]

    def _cardinal(self, found: re.Match[str], mentions: Mentions) -> str:
        if found[0] == "one" and _PRONOUN.search(
            found.string[max(0, found.start() - _WINDOW) : found.start()]
        ):
            return found[0]
        value = str(number_in_words(found[0]))
        if not found.string[: found.start()].rpartition("\n")[2].strip(" *_") and value in self.labels:
            return (
                mentions.sign(value)
                if re.match(r"\s*[.,:!—–]", found.string[found.end() :])
                else mentions.sign(value, "word")
            )
        stated = re.match(r"\s*(?:[.,;:!)\n»\"]|—|–|-\s|$)", found.string[found.end() :])
        return mentions.sign(value, "word") if stated and value in self.labels else found[0]


#: "The safer one": the word stands for a noun.
_PRONOUN: Final = re.compile(
    r"\b(?:the|a|an|this|that|which|other|only|every|any|no|first|second)(?:\s+[a-z-]+)?\s+$", re.IGNORECASE
)
#: A whole reply that counts letters: "Five letters."
_UNIT: Final = re.compile(r"\W*(\w+)\s+(?:букв\w*|символ\w*|letters?|characters?)\W*")


def _replaced(pattern: re.Pattern[str], low: str, text: str, replace: Callable[[re.Match[str]], str]) -> str:
    """Replace in a text what a pattern finds in its lower case."""
    parts: list[str] = []
    end = 0
    for found in pattern.finditer(low):
        new = replace(found)
        parts += [text[end : found.start()], text[found.start() : found.end()] if new == found[0] else new]
        end = found.end()
    return "".join((*parts, text[end:]))


def option_spelling(text: str) -> str:
    """Return a text in the spelling in which options are compared, at the same length."""
    return lowered(text).replace("ё", "е").replace("\n", " ")


def option_key(text: str) -> str:
    """Return an option in the spelling in which it is compared, without signs around it."""
    return " ".join(_OUTER.sub("", option_spelling(text)).split())


_OUTER: Final = re.compile(r"^[\s\"'«»“”„.,;:!?]+|[\s\"'«»“”„.,;:!?]+$")


@cache
def _option_pattern(options: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(
        "|".join(rf"(?<!\w)(?<!\d[.,]){re.escape(one)}(?!\w|[.,/]\d|\s?[%^])" for one in options)
    )


@dataclass(frozen=True)
class _Tokens:
    """The spellings of a set of labels, and a pattern of what may be one."""

    spellings: Mapping[str, str]
    folded: Mapping[str, str]
    pattern: re.Pattern[str]
    ordinals: re.Pattern[str] | None


@cache
def _tokens(labels: tuple[str, ...]) -> _Tokens:
    spellings = {label: label for label in labels}
    for label in labels:
        for table in (_LOOK_ALIKES, _BACK):
            if label in table:
                spellings.setdefault(table[label], label)
    if {label.casefold() for label in labels} == {"да", "нет"}:
        spellings |= {"Yes": next(one for one in labels if one.casefold() == "да")}
        spellings |= {"No": next(one for one in labels if one.casefold() == "нет")}
    folded: dict[str, str] = {}
    for spelling, label in spellings.items():
        key = spelling.casefold()
        folded[key] = label if folded.get(key, label) == label else ""
    words = "|".join(
        re.escape(one) for one in sorted(folded, key=len, reverse=True) if len(one) > 1 and folded[one]
    )
    if all(label.isdigit() for label in labels):
        pattern = r"(?<![\w.,])\d+(?:[.,]\d+)*(?:-?(?:й|я|е|ый|ая|ое|го|му|м|ой|ую|th|st|nd|rd)\b)?(?!\w)"
    elif all(len(label) == 1 for label in labels):
        pattern = r"(?<![\w\\'’])[^\W\d_](?![\w'’])"
    else:
        letters = "|".join(re.escape(one) for one in spellings if len(one) == 1)
        pattern = rf"(?<!\w)(?i:{words or '(?!)'})(?!\w)|(?<![\w\\'’])(?:{letters or '(?!)'})(?![\w'’])"
    ordered = len(labels) <= len(_ORDINALS) and all(len(label) == 1 for label in labels) and "0" not in labels
    ordinals = re.compile(rf"(?<!\w)(?:{'|'.join(_ORDINALS[: len(labels)])})(?!\w)") if ordered else None
    return _Tokens(spellings, {key: one for key, one in folded.items() if one}, re.compile(pattern), ordinals)


def _is_word(letter: str, after: str) -> bool:
    """Check whether a capital letter is an article, a preposition, a conjunction or an initial."""
    if "A" <= letter <= "Z":
        return letter in {"A", "I"} and re.match(r"\s+[a-z]", after) is not None
    return re.match(r"\s+[а-яё]|\.\s?[А-ЯЁ]\.|\s+[А-ЯЁ][а-яё]", after) is not None


def reader_of(name: str, labels: Sequence[str], options: Mapping[str, str]) -> LabelReader:
    """Return the reader of a dataset's labels."""
    return LabelReader(labels, options, _MEANINGS.get(name))


#: Criteria in Russian.
_CRITERIA: Final = {
    "virtue": "добродетел",
    "law": "закон",
    "moral": "морал",
    "justice": "справедлив",
    "utilitarianism": "утилитар|польз",
}


def criteria_in(text: str, criteria: Sequence[str], labels: Sequence[str]) -> dict[str, str]:
    r"""Return the labels that a text gives to criteria by name, of those that it gives one label.

    Example:
        >>> criteria_in("Virtue: 1\nЗакон (law) — 0", ("virtue", "law", "moral"), ("0", "1"))
        {'virtue': '1', 'law': '0'}
    """
    low, found = plain(lowered(text)), {}
    values = "|".join(map(re.escape, labels))
    for name in criteria:
        words = "|".join(filter(None, (re.escape(name.lower()), _CRITERIA.get(name))))
        given = re.findall(
            rf"(?<!\w)(?:{words})\w*\W{{0,5}}?(?:\([^()\n]{{0,40}}\))?\s*[:=—–|-]+\s*({values})(?!\w)", low
        )
        if len(set(given)) == 1:
            found[name] = given[0]
    return found


_MINUS: Final = str.maketrans(dict.fromkeys("−–‒－", "-"))
#: Groups of three digits are divided by a space, an apostrophe or a comma: 12 291, 12'291, 12,291.
_NUMBER: Final = re.compile(
    r"(?<![\w.,^])(?P<sign>[+−–‒－-]\s?|минус\s+|minus\s+"
    r"|negative\s+)?(?P<whole>[1-9]\d{0,2}(?:(?P<mark>[ ,.'’])\d{3}(?:(?P=mark)\d{3})*)(?!\d)|\d+)"
    r"(?P<fraction>[.,]\d+)?(?![\w^])(?!\s?%)",
    re.IGNORECASE,
)
#: What makes the sign before a number an operator.
_OPERAND: Final = re.compile(r"[\d)\]\ue000-\uf7ff]\s*$")
_MOST_DIGITS: Final = 400


class IntegerReader(AnswerReader):
    """Finds integers, in digits and in words.

    Args:
        expression: the item's inputs, if the answer is the value of an expression: "48 + 37 = ".
    """

    def __init__(self, expression: str = "") -> None:
        # The value of the last of several lines may follow a hidden rule.
        self.expression = re.sub(r"[\s=]|->", "", expression.rpartition("\n")[2].translate(_MINUS))
        self.exact = 2 if "\n" in expression else 3

    def marked(self, text: str, mentions: Mentions) -> str:
        """Return the text with a character in place of each number."""
        parts: list[str] = []
        end = 0
        for found in _NUMBER.finditer(text):
            start, sign = found.start(), found["sign"] or ""
            if sign and _OPERAND.search(text[max(0, start - 4) : start]):
                parts += [text[end:start], sign]
                start, sign = start + len(sign), ""
            else:
                parts.append(text[end:start])
            value = _integer(found, sign)
            parts.append(OTHER if value is None else mentions.sign(value))
            end = found.end()
        text = "".join((*parts, text[end:]))
        low = lowered(text)

        def word(found: re.Match[str]) -> str:
            return mentions.sign(str(number_in_words(found[0])), "word")

        return _replaced(_IN_WORDS, low, text, word) if _IN_WORDS.search(low) else text


def _integer(match: re.Match[str], sign: str) -> str | None:
    """Return the number in plain digits; `None` if it is no integer."""
    fraction = match["fraction"]
    if fraction and fraction.strip(".,0"):
        return None
    digits = re.sub(r"\D", "", match["whole"])
    if len(digits) > _MOST_DIGITS:
        return None
    negative = sign.strip().casefold().translate(_MINUS) in {"-", "минус", "minus", "negative"}
    return str(-int(digits) if negative else int(digits))


_OPTION_NUMBER: Final = r"\d{1,2}"
#: Numbers that form one answer: "1, 3", "1 и 3", "1; 3", "1 3".
_LIST: Final = re.compile(
    rf"(?<![\w.,]){_OPTION_NUMBER}(?:\s*[)\]»\"*]*\s*(?:,|;|и|&|\+|and|"
    rf"\s)\s*[(\[«\"*№]*\s*{_OPTION_NUMBER}(?!\w))*(?!\w|[.,:]\d)"
    r"|(?<![\w.,])\d{3,9}(?!\w|[.,:]\d)",
    re.IGNORECASE,
)
#: "А-8, Б-1": a number for each letter, also one a line, with words after the number.
_PAIR: Final = re.compile(r"(?<!\w)([А-Е])(?!\w)[)\]\s]*(?:[-–—:=.)|]|->|→)?\s*[(]*(\d)(?!\w)")
_PAIRS: Final = re.compile(
    r"(?:(?<!\w)[А-Е](?!\w)[)\]\s]{0,3}(?:[-–—:=.)|]|->|→)?\s?[(]?\d(?!\w)"
    r"[^\S\n]*(?:\([^()\n]{0,60}\)|[.)]?[^\S\n]*[—–:-]?[^\S\n]*[^\W\d_][^\n\d,;]{1,60}(?=\n"
    r"|$))?[\s,;.|•*-]*){2,}"
)
_LISTED: Final = re.compile(rf"^[ \t]*({_OPTION_NUMBER})[ \t]*[).][ \t]*(.*)$", re.MULTILINE)
_IN_TEXT: Final = re.compile(rf"\(({_OPTION_NUMBER})\)")
_NUMBERED: Final = re.compile(rf"^[^\S\n]*{_OPTION_NUMBER}[.)][^\S\n]+(?!и\b|and\b)(?=[^\d\s])", re.MULTILINE)


class NumberListReader(AnswerReader):
    r"""Finds the numbers of a task; the answer has them divided by commas.

    Digits without a separator ("13") are single numbers if the item has no number 13, and one number if it has.

    Args:
        item: the item.

    Example:
        >>> item = Item(1, "", {"choices": "1) a\n2) b\n3) c"}, meta={"type": "multiple_choice_based_on_text"})
        >>> mentions = Mentions()
        >>> text = NumberListReader(item).marked("1 и 3 или 2", mentions)
        >>> [mentions.value(sign) for sign in text if mentions.value(sign)]
        ['1,3', '2']
    """

    def __init__(self, item: Item) -> None:
        self._ordered = item.meta.get("type") == "matching"
        self._options = dict(_LISTED.findall(_texts(item).get("choices", "")))
        self._known = {*self._options, *_numbers_in_text(item)}

    def marked(self, text: str, mentions: Mentions) -> str:
        """Return the text with a character in place of each list of numbers."""
        if self._ordered:
            text = _PAIRS.sub(lambda found: self._pairs(found, mentions), text)
        text = _NUMBERED.sub("", text)

        def numbers(found: re.Match[str]) -> str:
            after = text[found.end() : found.end() + _WINDOW]
            named = _NAMES_LABEL.search(text[max(0, found.start() - _WINDOW) : found.start()])
            counts = not named and _COUNTED.match(after) is not None
            return found[0] if counts else mentions.sign(self._joined(found[0]))

        return _LIST.sub(numbers, text)

    def _pairs(self, found: re.Match[str], mentions: Mentions) -> str:
        pairs = _PAIR.findall(found[0])
        letters = [letter for letter, _ in pairs]
        if sorted(letters) != list("АБВГДЕ"[: len(letters)]):
            return found[0]
        end = "\n" if found[0].endswith("\n") else ""
        return mentions.sign(",".join(number for _, number in sorted(pairs))) + end

    def _joined(self, piece: str) -> str:
        return ",".join(number for run in re.findall(r"\d+", piece) for number in self._numbers(run))

    def _numbers(self, run: str) -> Sequence[str]:
        number = run.lstrip("0") or "0"
        if len(run) == 1 or (run in self._known and not self._ordered):
            return (number,)
        apart = self._ordered or (len(set(run)) == len(run) and set(run) <= self._known)
        return tuple(run) if apart else (number,)


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
_BULLET: Final = re.compile(r"^[-•–—>]\s+")
#: "Конечно! Вот вежливый вариант:" and a second line such as "Вариант:"; more are part of the text.
_MOST_ANNOUNCEMENTS: Final = 3
#: What stands before a short answer: "Думаю, это самовар".
_HEDGE: Final = re.compile(
    r"^(?:(?:я\s+)?(?:думаю|полагаю|считаю|предполагаю)|наверное|скорее\s+всего|вероятно|возможно|видимо"
    r"|по-моему|кажется|пожалуй|итак|загадан\w?|i\s+think|probably)\b,?\s*(?:что\s+)?(?:это\s+(?:[—–-]\s+)?"
    r"|it\s+is\s+|it['’]s\s+)?"
    r"|^(?:это|it\s+is|it['’]s)(?:,?\s*(?:конечно|безусловно|разумеется|наверное|видимо)(?:\s+же)?,?)?\s+(?:[—–-]\s+)?",
    re.IGNORECASE,
)
#: A longer text that is not stated to be the answer of a quiz explains something.
_LONGEST_ANSWER: Final = 15
_NUMBERED_LINE: Final = re.compile(r"^\W*\d+[.)]\s", re.MULTILINE)
#: Two names, between which the reply does not decide.
_EITHER: Final = re.compile(
    r"(?:[Лл]ибо\s+|[Ee]ither\s+)?[«\"“]?[A-ZА-ЯЁ][\w-]*(?:\s[\w-]+)?[»\"”]?,?\s+(?:или|либо|or)\s+(?:может\s+быть,?\s+)?[«\"“]?[A-ZА-ЯЁ]"
)
#: A first sentence that only opens an explanation.
_FILLER: Final = re.compile(
    r"(?:хм|подума|рассу[дж]|вспомн|хорош|интересн|отличн|конечно|давай|итак|разбер|посмотр|ясно|понятно|let|hmm|well|ok|sure|good|great"
    r"|interesting)"
)
#: A word of the exam may consist of so many: "таким образом".
_LONGEST_WORD: Final = 3
#: The item asks for one word.
_ONE_WORD: Final = re.compile(
    r"(?i)(?:выпиш|запиш|напиш|укаж|подбер)\w*\s+(?:\w+\s+){0,3}?(?:слово|союз|местоимение|частицу)\b"
)
#: The beginning of a long word, by which a rewritten text is known to be about the same.
_STEM: Final = re.compile(r"(?<!\w)(\w{5})\w+")
#: Words that ask for what is needed to answer.
_ASKS: Final = re.compile(
    r"(?:уточн|пришл|предостав|укаж|поясн|подскаж|напиш)ите\b|\b(?:clarify|provide|share|specify|send|paste|tell\s+me)\b"
)
#: What goes on after a short answer: another sentence, a reason, a gloss.
_EXPLAINED: Final = re.compile(
    r"(?<=[^\W\d]|[»\"”)*])(?:[.!][*_»\"”]*\s+(?=[A-ZА-ЯЁ«\"“])|,?\s+(?:потому\s+что|так\s+как|поскольку|ведь|because|since)\b"
    r"|\s+\((?=[^()]*\)\W*$)|\s+[—–]\s+(?=\w+\s+\w+\s+\w))"
)
#: A longer question asks back and answers nothing.
_SHORT_QUESTION: Final = 3
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


def read_text(reply: str, stop: tuple[str, ...], asked: str = "", *, sentence: bool) -> FoundText | None:
    r"""Find a free text in a reply.

    In this order: the value in a JSON object; the last box; the last statement of the answer ("Ответ: ...");
    the text after an announcement ("Вот вежливый вариант:"); the text itself. It ends at the dataset's stop
    strings: at the end of its line, in the exam also at a full stop. Signs of emphasis and quotation marks
    around the whole answer are removed, and a full stop at its end.

    Args:
        reply: the reply without thought, not empty.
        stop: the dataset's stop strings.
        asked: the item's text. If it asks for one word, a list is no answer.
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
        one_word = _ONE_WORD.search(asked) is not None
        for last, complete in reversed(stated_texts(reply)):
            found = _found(last, "answer statement", stop, complete=complete, sentence=sentence)
            if found is not None and not (one_word and _is_list(found.text)):
                return None if _EITHER.match(found.text) else found
    listed = not sentence and len(_NUMBERED_LINE.findall(reply)) > 1 and _NUMBERED_LINE.match(reply)
    if listed or _asks_back(reply, asked, sentence=sentence):
        return None
    text, rule = reply.strip(), "first line" if "\n" in stop else "whole text"
    for _ in range(_MOST_ANNOUNCEMENTS):
        if not (lead_in := _announcement(text)) or not text[lead_in:].strip():
            break
        text, rule = text[lead_in:].strip(), "after an announcement"
    if not sentence:
        text = _HEDGE.sub("", text, count=1)
    found = _found(text, rule, stop, complete=False, sentence=sentence)
    if found is None or sentence:
        return found
    marked = _without_signs(found.piece.split("\n", 1)[0]) == found.text or found.piece[:1] in '*_«"“'
    words = len((found.text if marked else found.piece.split("\n", 1)[0]).split())
    unfit = words > _LONGEST_ANSWER or (one_word and _is_list(found.text)) or _EITHER.match(found.text)
    return None if unfit or (not marked and _FILLER.match(lowered(found.text))) else found


def _is_list(text: str) -> bool:
    """Check whether a text is more than one word of the language, which may be written apart."""
    return len(re.split(r"\W+\s|\s", text)) > _LONGEST_WORD or bool(re.search(r"\w\W*[,;:]\W*\w", text))


def _asks_back(reply: str, asked: str, *, sentence: bool) -> bool:
    """Check whether a reply only asks: a question that shares no long word with the item, or asks for details."""
    first = reply if sentence else reply.strip().split("\n", 1)[0]
    question = first.rstrip(' \n*_»"').endswith("?")
    if not sentence:
        asks = question or ("?" in first and _ASKS.search(lowered(first)) is not None)
        return asks and len(reply.split()) > _SHORT_QUESTION
    known = set(_STEM.findall(lowered(asked)))
    foreign = not known.intersection(_STEM.findall(lowered(reply)))
    return foreign and (question or _ASKS.search(lowered(reply)) is not None)


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
    if not sentence:
        for found in _EXPLAINED.finditer(text):
            if not _ABBREVIATED.search(text[: found.start() + 1]):
                text, complete = _without_signs(text[: found.start()]), True
                break
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
