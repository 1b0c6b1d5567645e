"""Finding the mentions of answers of one form in a model's reply.

Labels, integers, the numbers of an exam task; and a free text, which is read by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from merilo.items import Item
from merilo.models.answer_rules import (
    CLOSING,
    OTHER,
    TABLES,
    WORDS,
    AnswerReader,
    Mentions,
    boxed,
    json_answer,
    lowered,
    plain,
    stated_texts,
    stems,
    takes_back,
)

#: Cyrillic letters and the Latin letters that look the same.
_LOOK_ALIKES: Final = dict(zip("АВЕЅКМНОРСТХ", "ABESKMHOPCTX", strict=True))
_BACK: Final = {latin: cyrillic for cyrillic, latin in _LOOK_ALIKES.items()}
#: Letters of a list in Russian order: in such a reply a Cyrillic В is the third letter, not the Latin B.
_RUSSIAN_LIST: Final = re.compile(r"(?<!\w)[БГД](?:\)|\.\s|\s[—–-]\s)")

#: The words of numbers, ordinals, labels and criteria, which `answer_words.toml` lists.
_ORDINALS: Final = [WORDS[f"ordinal_{place}"] for place in range(1, 6)]
_OF_TWO: Final = (WORDS["ordinal_former"], WORDS["ordinal_latter"])
_FROM_END: Final = (WORDS["ordinal_before_last"], WORDS["ordinal_last"])
_NUMERALS: Final = {
    form: number * size
    for name, first, size in (("units", 0, 1), ("tens", 2, 10), ("hundreds", 1, 100))
    for number, group in enumerate(TABLES["numerals"][name].split("|"), first)
    for word in group.split()
    for form in ({word, word[:-1] + "и"} if word.endswith("ь") and word != "ноль" else {word})
}
_SCALES: Final = {
    word: 10 ** int(zeros) for zeros, words in TABLES["scales"].items() for word in words.split()
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


#: After a letter: what shows that it is a label, and not an article, a preposition or a conjunction.
_IS_LABEL: Final = re.compile(rf"\s+{WORDS['after_label']}\b")
_NAMES_LABEL: Final = re.compile(rf"\b{WORDS['noun']}\s*[:№#]?\s*[«\"'(]*$", re.IGNORECASE)
#: After a word such as "нет": what shows that it belongs to a sentence.
_WORD_INSIDE: Final = re.compile(rf"\s+(?!{WORDS['after_word']}\b)[а-яёa-z]")
#: "Vitamin C", "25 °C", "точка A": a letter that is no label.
_NAMED_LETTER: Final = re.compile(rf"(?:[°\d]\s?|{WORDS['before_name']}\s)$", re.IGNORECASE)
#: A digit that numbers a step, or belongs to an index or an expression, is no label; nor is one that counts.
_PART_BEFORE: Final = re.compile(
    rf"(?:[+*/^×·<>≤≥]\s?|\d\s?[−–-]\s?|\w[\[(]|\]\[|[,;]\s?\d\]|\b{WORDS['before_part']}\s[№#]?)$",
    re.IGNORECASE,
)
_PART_AFTER: Final = re.compile(r"\s(?:из|of)\s\d|[.,:/]\d|\s?[+*^×·<>=≤≥]|\s?[−–-]\s?\d|\s*[%°]|\]\[|\]\s?=")
_COUNTED: Final = re.compile(rf"[^\S\n]+(?!{WORDS['after_digit']})[^\W\d_]")
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
        question: the text of the question.

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
        question: str = "",
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
        surnames = [_SURNAME.fullmatch(text or "") for text in (options or {}).values()]
        last = [option_key(found[1] or found[2]) if found else "" for found in surnames]
        for label, name in zip(options or {}, last, strict=True):
            if name and last.count(name) == 1:
                self._options.setdefault(name, label)
        measured = {text: re.fullmatch(r"(-?[\d.,]+)\s*([^\d\s].*)", text) for text in self._options}
        if len({found and found[2] for found in measured.values()}) == 1:  # "60 км/ч" is also "60"
            self._options |= {found[1]: self._options[text] for text, found in measured.items() if found}
        self.bare_numbers = not self.digits and any(
            re.fullmatch(r"[\d\s.,/-]+", text) for text in self._options
        )
        self.prose = any(len(text.split()) > _LONGEST_PHRASE for text in self._options)
        self._meanings = {
            label: re.compile(rf"(?<!\w){words}(?!\w)") for label, words in (meanings or {}).items()
        }
        self._own_words: dict[str, set[str]] | None = None
        self.by_meaning = bool(self._meanings) and not self._options
        self.question = stems(question) - _ASKING
        self.asked = stems(re.split(r"(?<=[.!])\s", question.strip())[-1]) - _ASKING

    def marked(self, text: str, mentions: Mentions) -> str:
        """Return the text with a character in place of each mention of a label."""
        if self.digits:
            unit = _UNIT.fullmatch(text)
            text = _FIELD.sub(r"\1 ", unit[1] if unit else text)
            numbers = {number.strip(" .)") for number in _STEP_NUMBER.findall(text)}
            if len(numbers) > 1 and not numbers <= {*self.labels}:
                text = _STEP_NUMBER.sub("", text)  # a list, which is longer than that of the labels
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

    def recalled(self, text: str) -> set[str]:
        """Return the labels of options from which a text repeats words that no other option has."""
        if self._own_words is None:
            words = {label: roots(option) for option, label in self._options.items()}
            self._own_words = {
                label: own - set().union(*(words[other] for other in words if other != label))
                for label, own in words.items()
            }
        said = roots(text)
        return {
            label
            for label, own in self._own_words.items()
            if len(own & said) > (len(own) >= _MANY_WORDS)  # one word of a long text is too little
        }

    def _with_options(self, text: str, mentions: Mentions) -> str:
        low = option_spelling(text)
        present = tuple(one for one in self._options if all(stem in low for stem in _stems(one)))
        if present:

            def option(found: re.Match[str]) -> str:
                whole = text[found.start() : found.end()]
                if len(whole) == 1 and whole != whole.upper():
                    return whole
                return mentions.sign(self._options[present[int(str(found.lastgroup)[1:])]], "option")

            text = _replaced(_option_pattern(present), low, text, option)
        if self.bare_numbers and _IN_WORDS.search(low := lowered(text)):
            text = _replaced(_IN_WORDS, low, text, lambda found: self._number(found[0], mentions))
        for label, meaning in self._meanings.items():
            sign = mentions.sign(label, "option") if meaning.search(low := lowered(text)) else ""
            text = _replaced(meaning, low, text, lambda _, sign=sign: sign) if sign else text  # type: ignore[misc]
        return text

    def _number(self, words: str, mentions: Mentions) -> str:
        label = self._options.get(str(number_in_words(words)))
        return words if label is None or words == "one" else mentions.sign(label, "option")

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
        if whole in "БГД" and self.labels[0] == "A" and not russian:
            label = None  # only a list in Russian order shows what it means
        if whole.islower():
            label = self._tokens.folded.get(whole.casefold())
            alone = re.match(r"\s*\)|[^\w\ue000-\uf8ff]*(?:\n|$)", after) and not re.search(r"\w\s*$", before)
            is_label = bool(label and (alone or (named and (whole not in "авси" or not after.strip(" .!*")))))
        elif label is None:
            ends = re.match(r"\)|\.\s|[»\"*.]*\s*(?:\n|$)", after)
            if (
                "A" <= whole <= "Z"
                and re.search(r"(?:[,/]|\b(?:или|и|or|and))\s*$", before)
                and not re.match(r"\s+(?!(?:или|и|or|and)\b)\w", after)
            ):
                return OTHER  # "D, E или F"
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
        if re.search(r"(?:^|[\s:=(])[-−]$", before):
            return OTHER  # a negative number
        number = re.match(r"\d+(?![.,]\d)", whole)
        return mentions.sign(number[0]) if number and number[0] in self.labels else OTHER

    def _ordinal(self, found: re.Match[str], mentions: Mentions) -> str:
        for place, words in enumerate(_ordinals(len(self.labels))):
            if re.fullmatch(words, found[0]):
                return mentions.sign(self.labels[place], "word")
        return found[0]

    def _cardinal(self, found: re.Match[str], mentions: Mentions) -> str:
        before, after = found.string[: found.start()], found.string[found.end() :]
        value = str(number_in_words(found[0]))
        if value not in self.labels or (found[0] == "one" and _PRONOUN.search(before[-_WINDOW:])):
            return found[0]
        if not before.rpartition("\n")[2].strip(" *_"):
            return mentions.sign(value, "sure" if re.match(r"\s*[.,:!]", after) else "word")
        return (
            mentions.sign(value, "word") if re.match(r"\s*(?:[.,;:!)\n»\"]|—|–|-\s|$)", after) else found[0]
        )


#: "The safer one": the word stands for a noun.
_PRONOUN: Final = re.compile(
    r"\b(?:the|a|an|this|that|which|other|only|every|any|no|first|second)(?:\s+[a-z-]+){0,3}\s+$",
    re.IGNORECASE,
)
#: The name of an item's field: "choice1", "reply_2".
_FIELD: Final = re.compile(r"\b(choice|reply|option|response|вариант|ответ)_?(?=\d\b)", re.IGNORECASE)
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


#: Endings that do not belong to the root by which a repeated word is known.
_ROOT: Final = re.compile(
    r"(?<![\w-])([^\W\d_]{3,20}?)(?:[аеёиоуыьэюяй]{0,3}|[аоиыея](?:го|му|м|ми|х)|[аоея]в|[аеиуюяоы]{1,2}(?:т|ть|л|ла|ло|ли|шь)(?:с[ья])?|s|es|ed|ing)(?![\w-])"
)
_LONGEST_ROOT: Final = 6
_MANY_WORDS: Final = 6
_LONGEST_PHRASE: Final = 6


def roots(text: str) -> set[str]:
    """Return the beginnings of the words of a text that stand in most forms of each, without words of two letters."""
    return {
        root[:_LONGEST_ROOT] for root in _ROOT.findall(_IN_WORDS.sub(" ", option_spelling(text)))
    } - _COMMON


_COMMON: Final = frozenset(_ROOT.findall(TABLES["asking"]["common"]))
#: "И. А. Гончаров", "William Shakespeare": the last word is enough.
_SURNAME: Final = re.compile(
    r"(?:[^\W\d_]\.\s?)+([A-ZА-ЯЁ][\w-]{2,})|(?:[A-ZА-ЯЁ][\w-]+\s){1,2}([A-ZА-ЯЁ][\w-]{2,})"
)
_OUTER: Final = re.compile(r"^[\s\"'«»“”„.,;:!?]+|[\s\"'«»“”„.,;:!?]+$")
#: Endings of Russian nouns and adjectives, and of English nouns, in which an option may be repeated.
_INFLECTED: Final = re.compile(r"[а-я]*[а-я]{2}[бвгджзклмнпрстфхцчшщ](?=[аеийоуыьэюя]{0,2}$)")
_INFLECTION: Final = r"(?:[аоиыеяую]?(?:го|му|ми|й|м|х)|[аеёиоуыэюяьй]|[оеё]в|ью|[иь][аеиюя]|[аеиуюяо]{2})?"
_MOST_INFLECTED: Final = 4


@lru_cache(4096)
def _stems(option: str) -> tuple[str, ...]:
    """Return the beginnings of the words of an option that stand in every form of it."""
    words = option.split()
    if len(words) > _MOST_INFLECTED:
        return (option,)
    return tuple(stem[0] if (stem := _INFLECTED.match(word)) else word for word in words)


@lru_cache(4096)
def _option_pattern(options: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern of options in a spelling without capitals, in the forms of their words; a group for each."""
    patterns = []
    for place, option in sorted(enumerate(options), key=lambda one: -len(one[1])):
        form = r"\s+".join(re.escape(stem) + _ending(stem) for stem in _stems(option))
        patterns.append(rf"(?<![\w-])(?<!\d[.,])(?P<o{place}>{form})(?!\w|-\w{{3}}|[.,/]\d|\s?[%^])")
    return re.compile("|".join(patterns))


def _ending(stem: str) -> str:
    if _INFLECTED.match(stem):
        return _INFLECTION
    return "(?:s|es|['’]s)?" if stem.isascii() and stem.isalpha() else ""


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
    if labels[:1] == ("A",):
        spellings |= {
            "Б": "B",
            **({"Г": "D"} if "D" in labels else {}),
            **({"Д": "E"} if "E" in labels else {}),
        }
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
    places = "|".join(_ordinals(len(labels)))
    ordinals = re.compile(rf"(?<!\w)(?:{places})(?!\w|\s+{WORDS['after_ordinal']}\b)") if ordered else None
    return _Tokens(spellings, {key: one for key, one in folded.items() if one}, re.compile(pattern), ordinals)


@cache
def _ordinals(count: int) -> tuple[str, ...]:
    """Return the patterns of the words for each of so many places: "first", and "former", "last but one"."""
    words = _ORDINALS[:count]
    if count == len(_OF_TWO):
        words = [f"{word}|{other}" for word, other in zip(words, _OF_TWO, strict=True)]
    for place, other in zip((-2, -1), _FROM_END, strict=True):
        if -place <= len(words):
            words[place] += f"|{other}"
    return (*words,)


def _is_word(letter: str, after: str) -> bool:
    """Check whether a capital letter is an article, a preposition, a conjunction or an initial."""
    if "A" <= letter <= "Z":
        return letter in {"A", "I"} and re.match(r"\s+[a-z\ue000-\uebff]", after) is not None
    return re.match(r"\s+[а-яё]|\.\s?[А-ЯЁ]\.|\s+[А-ЯЁ][а-яё]", after) is not None


@lru_cache(16_384)
def reader_of(
    name: str, labels: Sequence[str], options: tuple[tuple[str, str], ...], question: str
) -> LabelReader:
    """Return the reader of a dataset's labels, whose options may have no fields, but words that mean them."""
    meanings = {label: WORDS[key] for label in labels if (key := f"{name}_{label}") in WORDS}
    return LabelReader(labels, dict(options), meanings, question)


#: Beginnings of words that any question may have.
_ASKING: Final = frozenset(TABLES["asking"]["stems"].split())


def without_criteria(text: str, criteria: Sequence[str], labels: Sequence[str]) -> str:
    """Return a text without the labels that it gives to single criteria."""
    for name in criteria:
        text = _given(name, tuple(labels)).sub(" ", text)
    return text


@cache
def _given(name: str, labels: tuple[str, ...]) -> re.Pattern[str]:
    words = "|".join(filter(None, (re.escape(name.lower()), TABLES["criteria"].get(name))))
    given = "|".join(map(re.escape, labels))
    gloss = r"\W{0,5}?(?:\([^()\n]{0,40}\))?\s*"
    return re.compile(rf"(?<!\w)(?:{words})\w*{gloss}[:=—–|-]+\s*({given})(?!\w)", re.IGNORECASE)


def criteria_in(text: str, criteria: Sequence[str], labels: Sequence[str]) -> dict[str, str]:
    r"""Return the labels that a text gives to criteria by name, of those that it gives one label.

    Example:
        >>> criteria_in("Virtue: 1\nЗакон (law) — 0", ("virtue", "law", "moral"), ("0", "1"))
        {'virtue': '1', 'law': '0'}
    """
    low, found = plain(lowered(text)), {}
    for name in criteria:
        given = _given(name, tuple(labels)).findall(low)
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
#: The number of a step: "2) 9 · 2 = 18".
_STEP_NUMBER: Final = re.compile(r"^[^\S\n]*\d{1,2}[.)]\s+(?=\S)", re.MULTILINE)
#: What makes the sign before a number an operator.
_OPERAND: Final = re.compile(r"[\d)\]\ue000-\uf7ff][^\S\n]*\Z")
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
        if len(_STEP_NUMBER.findall(text)) > 1:
            text = _STEP_NUMBER.sub("", text)
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
_PAIR: Final = re.compile(r"(?<!\w)([А-Е])(?![^\W\d])[)\]\s]*(?:[-–—:=.)|]|->|→)?\s*[(]*(\d)(?!\w)")
_PAIRS: Final = re.compile(
    r"(?:(?<!\w)[А-Е](?![^\W\d])[)\]\s]{0,3}(?:[-–—:=.)|]|->|→)?\s?[(]?\d(?!\w)"
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
        self.question = stems(_texts(item).get("task", ""))
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
_EMPHASIS: Final = re.compile(
    r"(\*\*\*|\*\*|\*|__|_|`)(?=\S)(?P<inner>.+?)(?<=\S)\1|<(b|i|strong|em)>(?P<tagged>.+)</\3>", re.DOTALL
)
_BULLET: Final = re.compile(r"^(?:[-•–—>]|#+)\s+")
#: Words that announce an answer before a colon: "Вот вежливый вариант:", "Можно сказать так:".
_ANNOUNCED: Final = re.compile(
    rf"^[\s*_#>–—-]*(?:(?:{WORDS['polite']}[!,.]\s*)?{WORDS['announces']}[^:\n«\"“]{{0,80}}"
    rf"|[^:\n«\"“.!?]{{0,60}}?\b{WORDS['rewritten']}\w*[^:\n«\"“.!?]{{0,40}}):[*_]*(?=\s|$)\s*",
    re.IGNORECASE,
)
#: "Вариант 1:", "2. «...»": one of several texts.
_ONE_OF_SEVERAL: Final = re.compile(
    r"^[^\w\n]*(?:(?:вариант|версия|option|version)\s*№?\s*\d+|\d+[.)]\s*[«\"“])",
    re.IGNORECASE | re.MULTILINE,
)
#: What stands before a short answer: "Думаю, это самовар".
_HEDGE: Final = re.compile(
    rf"^(?:{WORDS['hedge']}\b,?\s*(?:(?:что|that)\s+)?(?:{WORDS['hedged_is']}\s+(?:[—–-]\s+)?)?"
    rf"|(?:это|it\s+is|it['’]s)(?:,?\s*{WORDS['certainly']}(?:\s+же)?,?)?\s+(?:[—–-]\s+)?)",
    re.IGNORECASE,
)
#: "Неверно «много апельсин», нужно «апельсинов»."
_INSTEAD: Final = re.compile(rf"\b{WORDS['instead']}(?:\s+\w+)?\s*[:—–-]?\s*[«\"“]([^»\"”\n]+)[»\"”]")
#: "Не Моцарт, а Бетховен"
_NOT_BUT: Final = re.compile(r"^(?:не|not)\s[^.!?\n]{1,80},?\s(?:а|but)\s", re.IGNORECASE)
#: A longer text that is not stated to be the answer of a quiz explains something; a conclusion is shorter still.
_LONGEST_ANSWER: Final = 12
_LONGEST_CONCLUSION: Final = 6
_LONGEST_BESIDE: Final = 2
_NUMBERED_LINE: Final = re.compile(r"^[^\w\n]*\d+[.)]\s", re.MULTILINE)
#: Two names, between which the reply does not decide.
_NAME: Final = r"[«\"“]?[\w-]+(?:\s[\w-]+)?"
_EITHER: Final = re.compile(
    rf"(?:(?:либо|either)\s+)?{_NAME}[»\"”]?,?\s+(?:или|либо|or)\s+(?:может\s+быть,?\s+)?{_NAME}\W*(?:$|\n)",
    re.IGNORECASE,
)
#: A first sentence that only opens an explanation.
_FILLER: Final = re.compile(WORDS["filler"])
#: A word of the exam may consist of so many: "таким образом".
_LONGEST_WORD: Final = 3
#: The item asks for one word.
_ONE_WORD: Final = re.compile(rf"(?i){WORDS['write']}\s+(?:\w+\s+){{0,3}}?{WORDS['one_word']}\b")
#: The beginning of a long word, by which a rewritten text is known to be about the same.
_STEM: Final = re.compile(r"(?<!\w)(\w{5})\w+")
#: Words that ask for what is needed to answer.
_ASKS: Final = re.compile(rf"\b{WORDS['asks']}\b")
#: What goes on after a short answer: another sentence, a reason, a gloss.
_EXPLAINED: Final = re.compile(
    r"(?<=[^\W\d]|[»\"”)*])(?:[.!][*_»\"”]*\s+(?=[A-ZА-ЯЁ«\"“])|,\s+(?:а|while|whereas)\s+(?=\w+\s+\w)|,?\s+(?:потому\s+что|так\s+как|поскольку|ведь|хотя|because|since|although|though)\b"
    r"|\s+\((?=[^()]*\)\W*$)|\s+[—–]\s+(?=\w+\s+\w+\s+\w)(?![^.\n]*\s[—–]\s))"
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

    A sentence is the value in a JSON object, or the text after the last announcement ("Вот вежливый вариант:"), or
    the reply itself. A shorter answer is the value in a JSON object, the last box, the last statement ("Ответ: ..."),
    the first line if it is nothing else, or a conclusion in the last line ("Значит, это самовар"). It ends at the
    dataset's stop strings: at the end of its line, in the exam also at a full stop. Signs of emphasis and quotation
    marks around the whole answer are removed, and a full stop at its end.

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
    if tagged := _TAGGED.findall(reply):
        return _found(tagged[-1][1], "tag", (), complete=True, sentence=sentence)
    return _sentence(reply, stop, asked) if sentence else _short_text(reply, stop, asked)


#: `<answer>самовар</answer>`
_TAGGED: Final = re.compile(
    r"<(answer|final_answer|final|result|ответ)>(.*?)</\1>", re.DOTALL | re.IGNORECASE
)
#: An announcement inside a line: "Вежливый вариант: «...»".
_ANNOUNCED_INSIDE: Final = re.compile(
    r"(?<=[.!?]\s)(?:(?:my|corrected|исправленн\w+)\s+)*(?:вежлив|мягк|нейтральн|корректн|окончательн|polite|neutral|final)"
    r"\w*\s+(?:вариант|верси|формулировк|version|wording)\w*:\s*",
    re.IGNORECASE,
)
#: "Город стоит не на Волге, а на Тальнице."
_RATHER: Final = re.compile(r"[^.!?\n]*\b(?:не|not)\s[^.!?\n,]{1,60},?\s(?:а|but)\s+([^.!?\n]+)[.!]?")
#: The only words that a sentence stresses.
_STRESSED: Final = re.compile(
    rf"(?:[^*\n]*\*\*([^*\n]{{1,60}})\*\*(?:\W*|\s*\([^()\n]*\)\W*|,\s+{WORDS['reason']}\b[^*\n]*)|\*\*([^*\n]{{1,60}})\*\*\s+(?:—|is|was|был[аио]?|стал[аио]?)\s[^*\n]*)",
    re.IGNORECASE,
)
_LONGEST_STRESSED_SENTENCE: Final = 25
#: The yacht is called "Беда".
_QUOTED: Final = re.compile(r"[^«\"“\n]+[^:\s«\"“]\s[«\"“]([^»\"”\n]{1,60})[»\"”]\.?")
_ASKS_NAME: Final = re.compile(r"(?i)\b(?:кто|кем|ком|кого|где|городе?|who|where)\b[^.]*\?")
_ASKS_NUMBER: Final = re.compile(r"(?i)в\s+каком\s+году|сколько\s|what\s+year|how\s+many")
_OPENING: Final = re.compile(r"(?:да|нет|спасибо|хорошо|ясно|yes|no|thanks|okay)\b")
#: "искомый год — 1957"
_SOUGHT: Final = re.compile(
    r"^(?:нужн|иском|загадан|правильн|верн)\w*(?:\s+\w+)?\s+[—–-]\s+(?:это\s+)?", re.IGNORECASE
)


_CYRILLIC: Final = re.compile("[а-яё]")
#: A Latin word.
_LATIN: Final = re.compile("[a-z]{3,}")
#: Words of a sentence about the text that is to be rewritten, or about the question, which is no answer itself.
_ABOUT_TEXT: Final = re.compile(rf"\b{WORDS['about_text']}\b")
_ABOUT_QUESTION: Final = re.compile(rf"\b{WORDS['about_question']}\b")
#: A note under a rewritten text.
_NOTE: Final = re.compile(
    r"\W*(?:note|p\.?\s?s|примечани|пояснени|коммент|надеюсь|если\s|могу\s|i\s+hope|let\s+me\s+know|что\s+измен|изменени|здесь\s+я|я\s)",
    re.IGNORECASE,
)
#: What divides two texts.
_OR_ELSE: Final = re.compile(r"\W*(?:или|либо|or)\b")
#: A line of a list.
_ITEM: Final = re.compile(r"\s*(?:[-•*]\s|\d+[.)]\s)")
#: "Предлагаю: «...»", "«...» → «...»": the text is only a part of the line.
_LABELLED: Final = re.compile(r"[^\w\n]*\w+(?:\s\w+){0,2}:\s+[«\"“A-ZА-ЯЁ]|[^\n]*[→⇒]")
#: A clause: more than the name of something.
_CLAUSE: Final = re.compile(rf"\b{WORDS['clause']}\b")
#: A last line that is stressed as a whole.
_ALONE: Final = re.compile(r"\n\*\*([^*\n]+)\*\*[.!]?\Z")
#: The first word of a clause before a name.
_COPULA: Final = re.compile(WORDS["copula"])
#: Signs between the parts of what is more than a name.
_PARTS: Final = re.compile(r"[,;:?!=→⇒]|\s[—–-]\s|\d\.\s")


def _sentence(reply: str, stop: tuple[str, ...], asked: str) -> FoundText | None:
    """Find a text that was to be rewritten."""
    if len(_ONE_OF_SEVERAL.findall(reply)) > 1 or _asks_back(reply, asked):
        return None
    lines = [line for line in reply.split("\n") if line.strip(" *_#>-—`")]
    if (announced := _announced(lines)) is not None:
        several = sum(_ITEM.match(line) is not None for line in announced.split("\n")[:2]) > 1
        found = _found(announced, "after an announcement", stop, complete=False, sentence=True)
        return found if found and not several and _same_script(found.text, asked) else None
    if lines and lines[0].rstrip(" *_").endswith(":"):
        lines = [] if _NUMBERED_LINE.match(lines[-1]) or len(lines) > 2 else lines[1:]
    partial = lines and (_LABELLED.match(lines[0]) or any(map(_NUMBERED_LINE.match, lines[:2])))
    if not lines or partial or _speaks_of(_ABOUT_TEXT, lines[0], asked) or not _same_script(lines[0], asked):
        return None
    if any(map(_OR_ELSE.match, map(lowered, lines[1:]))) or not all(
        _NOTE.match(line) or _speaks_of(_ABOUT_TEXT, line, asked) for line in lines[1:2]
    ):
        return None  # another text follows, which may be the one that is meant
    return _found("\n".join(lines), "first line", stop, complete=False, sentence=True)


def _announced(lines: list[str]) -> str | None:
    """Return what follows the last announcement of a text, in its line or the next ones; `None` without one."""
    if lines and (inside := [*_ANNOUNCED_INSIDE.finditer(lines[-1])]):
        return lines[-1][inside[-1].end() :]
    for place, line in reversed(tuple(enumerate(lines))):
        if found := _ANNOUNCED.match(line):
            text = "\n".join((line[found.end() :], *lines[place + 1 :])).strip()
            if text:
                return text
    return None


def _same_script(text: str, asked: str) -> bool:
    """Check whether a text is in the script of the one that was to be rewritten."""
    low, given = lowered(text), lowered(asked)
    if not _CYRILLIC.search(given):
        return True
    return _CYRILLIC.search(low) is not None and {*_LATIN.findall(low)} <= {*_LATIN.findall(given)}


def _speaks_of(words: re.Pattern[str], text: str, asked: str) -> bool:
    """Check whether a text has words about the task that the item itself has not."""
    low, given = lowered(asked), stems(asked)
    found = (one[0] for one in words.finditer(lowered(text)))
    return any(not (stems(word) <= given if stems(word) else word in low) for word in found)


def _short_text(reply: str, stop: tuple[str, ...], asked: str) -> FoundText | None:
    """Find a name, a date, a word."""
    if (box := boxed(reply)) is not None:
        return _found(box, "box", (), complete=True)
    one_word = _ONE_WORD.search(asked) is not None
    for last, complete in reversed(stated_texts(reply)):
        found = _found(last, "answer statement", stop, complete=complete)
        if found is not None and not (one_word and _is_list(found.text)):
            after = reply[reply.rfind(found.text) :]
            open_ended = _EITHER.match(found.text) or _is_clause(found.text, asked) or takes_back(after)
            return None if open_ended else found
    text = reply.strip()
    while (announced := _ANNOUNCED.match(text)) and "\n" in announced[0] and text[announced.end() :].strip():
        text = text[announced.end() :].strip()
    first, _, rest = text.partition("\n")
    question = first.rstrip(' *_»"').endswith("?") or (
        "?" in first and _ASKS.search(lowered(first)) is not None
    )
    before, _, last = text.rstrip().rpartition("\n")
    if not before:
        before, last = ["", *re.split(r"(?<=[^\s.][.!?…])\s+(?=[A-ZА-ЯЁ])", last)][-2:]
    lead = _HEDGE.match(last) if before.strip() else None
    concluded = (
        _found(_SOUGHT.sub("", last[lead.end() :]), "conclusion", (), complete=False) if lead else None
    )
    if concluded and not _is_name(concluded.text, asked):
        concluded = None
    if not question and (singled_out := _singled_out(text, asked)):
        return singled_out
    if not (question and len(text.split()) > _SHORT_QUESTION) and len(_NUMBERED_LINE.findall(text)) < 2:
        text = _NOT_BUT.sub("", text, count=1)
        bare = _HEDGE.sub("", text, count=1)
        found = _found(
            bare if bare.strip(" .,!") else text,
            "first line" if "\n" in stop else "whole text",
            stop,
            complete=False,
        )
        longest = (
            _LONGEST_ANSWER if not rest.strip() else _LONGEST_BESIDE if concluded else _LONGEST_CONCLUSION
        )
        if found and not takes_back(text) and _is_answer(found, longest, asked, one_word=one_word):
            return found
    if instead := _INSTEAD.findall(last):
        return _found(instead[-1], "conclusion", (), complete=False)
    return concluded or _said_of_it(reply, asked)


def _singled_out(text: str, asked: str) -> FoundText | None:
    """Return what is stressed as the last line, or what a short sentence stresses, quotes or has as only number."""
    last = _ALONE.search(text)
    alone = last[1] if last and _is_name(last[1], asked) else ""
    if alone or len(text.split()) > _LONGEST_STRESSED_SENTENCE:
        return _found(alone, "stressed", (), complete=True)
    numbers = re.findall(r"(?<!\w)\d+(?!\w)", text) if _ASKS_NUMBER.search(asked) else []
    if len(numbers) == 1 and len(text.split()) > _LONGEST_WORD:
        return _found(numbers[0], "stressed", (), complete=True)
    if (stressed := _STRESSED.fullmatch(text)) and (words := stressed[1] or stressed[2]) != text.strip("*"):
        return _found(words, "stressed", (), complete=True)
    quoted = _QUOTED.fullmatch(text)
    if quoted and (_ONE_WORD.search(asked) or lowered(quoted[1]) not in lowered(asked)):
        return _found(quoted[1], "stressed", (), complete=True)
    if (rather := _RATHER.fullmatch(text)) and not text.lower().startswith(("не ", "not ")):
        return _found(rather[1], "conclusion", (), complete=False)
    return None


#: The frame of a sentence that answers in its last words: "Речь идёт о шахматах", "The red one is ruby".
_FRAME: Final = re.compile(rf"(?:^|.*?[\s,:])(?:{WORDS['framing']})[,:]?\s+(?:[—–-]\s+)?", re.IGNORECASE)
_SIDES: Final = re.compile(
    r"(.+?)(?:\s[—–-]|:|\b(?:is|was|are|were|был[аио]?|является|стал[аио]?|называется|зовут))\s+(?:это\s+)?([^:—–]+)"
)
_CONTRASTED: Final = re.compile(r";\s|(?:,|^)\s*(?:а|но|but|while|поэтому|значит|so|therefore)\s")
_IN_CYRILLIC: Final = re.compile(r"[«\"]?[а-яё][а-яё-]*(?:[\s«\"]+[а-яё][а-яё-]*)*[»\"]?", re.IGNORECASE)
_WORD: Final = re.compile(r"[\w²-]+")
_BEFORE_SAID: Final = re.compile(
    r"^(?:(?:в|во|на|у|о|об|из|для|с|со|by|in|at|with|the|an?|это|был[аио]?|стал[аио]?|является|только|именно|же)\s+)+",
    re.IGNORECASE,
)
#: Words with a capital letter, after the first word of a clause.
_CAPITALS: Final = re.compile(r"(?<=[\w,]\s)[A-ZА-ЯЁ][\w-]*(?:\s[A-ZА-ЯЁ][\w-]*)*")
_NOUN_BEFORE: Final = re.compile(r"^[a-zа-яё]+\s(?=(?:[A-ZА-ЯЁ][\w-]*\s?)+$)")
_DASH: Final = re.compile(r"\s[—–]\s")
#: What shows that a sentence speaks of the thing that the one before names.
_ITS: Final = re.compile(r"(?i)\b(?:его|её|их|his|her|its|their)\b")
_LONGEST_SAID: Final = 4
_LONGEST_SENTENCE: Final = 300
_FOCUS: Final = 2
_INTERROGATIVE: Final = roots(TABLES["asking"]["interrogative"])
#: A word that looks like a verb, at the end.
_VERB: Final = re.compile(r"(?:[аеёиыояу]л[аои]?|т)(?:с[ья])?\Z|ed\Z")
_UNDECIDED: Final = re.compile(r"(?i)\b(?:не|нет|либо|или|not|no|or|either|perhaps|maybe)\b|n['’]t\b")


def _said_of_it(reply: str, asked: str) -> FoundText | None:
    """Return what the last sentence says of the thing that is asked about, in words that the question has not."""
    sentences = [
        sentence
        for sentence in re.split(
            r"\n+|(?<=[^\s.][.!?…])\s+(?=[A-ZА-ЯЁ«\"])", plain(reply[-2 * _LONGEST_SENTENCE :].strip())
        )
        if any(map(str.isalnum, sentence)) and not CLOSING.match(lowered(sentence))
    ]
    last = sentences[-1] if sentences else ""
    if not 0 < len(last) < _LONGEST_SENTENCE or last.endswith("?") or takes_back(last):
        return None
    questions = [line for line in asked.split("\n") if line.rstrip().endswith("?")]
    # What follows a comma tells which thing is asked about: "Кто был учеником инженера, построившего мост?"
    question = _focus(questions[-1]) if questions else roots(asked)
    clauses = [clause for clause in _CONTRASTED.split(last.rstrip(" .!…")) if clause]
    clause = max(reversed(clauses), key=lambda clause: len(roots(clause) & question))
    if _UNDECIDED.search(clause) or (len(sentences) > 1 and _is_name(sentences[-2].rstrip("."), asked)):
        return None
    said = _said(clause, question, asked, contrasted=len(clauses) > 1)
    said = _BEFORE_SAID.sub("", re.sub(r"\s*\([^()]*\)$", "", said).strip(' ,»"'))
    if len(quoted := re.findall(r"[«\"“]([^»\"”]+)", said)) == 1:
        said = quoted[0]
    said = _NOUN_BEFORE.sub("", said)
    stressed = re.findall(r"\*\*([^*\n]+)\*\*", reply)
    if stressed and not any(said in words for words in stressed):
        return None
    number = re.search(r"\d", said)
    new = roots(said) - question
    known = not questions or number or new <= roots(asked)
    is_new = (new or number) and known and not (number and _ASKS_NAME.search(asked))
    apart = len(said.split()) > _LONGEST_SAID or re.search(r"[,;:?!=→⇒]|\s[—–-]\s", said)
    return _found(said, "said of it", (), complete=False) if is_new and not apart else None


def _focus(question: str) -> set[str]:
    """Return the roots of the words that a question begins with, which tell what is asked about the thing."""
    words = _WORD.findall(question.split(",", maxsplit=1)[0])
    found = [root for word in words for root in roots(word) - _INTERROGATIVE]
    return {*found[:_FOCUS]}


def _said(clause: str, question: set[str], asked: str, *, contrasted: bool) -> str:
    """Return the part of a clause that answers: its only new number or name, or what follows the thing asked about."""
    if _ASKS_NUMBER.search(asked):
        said = _singles(re.findall(r"\d+", clause), question)
    elif _CYRILLIC.search(lowered(asked)) and _LATIN.search(lowered(clause)):
        said = _singles([one.strip(' "«»') for one in _IN_CYRILLIC.findall(clause)], question)
    else:
        said = ""
    if said:
        return said
    sides = _SIDES.fullmatch(clause)
    if sides and (
        roots(sides[1]) & question
        or ":" in clause
        or _ITS.search(sides[1])
        or not _CYRILLIC.search(lowered(sides[1]))
    ):
        return sides[2]
    if frame := _FRAME.match(clause):
        return clause[frame.end() :]
    if _is_name(clause, asked):
        return clause
    names = [one for one in _CAPITALS.findall(clause) if not roots(one) <= question]
    if not _DASH.search(clause):
        said = re.split(r",|\s(?:и|and)\s(?=[а-яa-z])", _after_the_known(clause, question))[0]
    if said and (asked.rstrip().endswith("?") or said[:1].isupper() or said[1:2].isupper()):
        return said
    name = contrasted and len(names) == 1 and clause.endswith(names[0])
    return names[0] if name else ""


def _singles(parts: list[str], question: set[str]) -> str:
    """Return the only one of some texts that the question has not; empty if there are several."""
    new = [
        part for part in dict.fromkeys(parts) if not part or not roots(part) or not roots(part) <= question
    ]
    new = new or parts
    return new[0] if len(new) == 1 else ""


def _after_the_known(clause: str, question: set[str]) -> str:
    """Return the words after the last one that the question has."""
    known = [word.end() for word in _WORD.finditer(clause) if roots(word[0]) & question]
    if not known or ("," in clause[: known[-1]] and not _VERB.search(clause, 0, known[-1])):
        return ""
    return clause[known[-1] :]


def _is_answer(found: FoundText, longest: int, asked: str, *, one_word: bool) -> bool:
    """Check whether the text at the beginning of a reply is a short answer, and not the beginning of an explanation."""
    line = found.piece.split("\n", 1)[0]
    signed = found.piece[:1] in '*_«"“'
    words = len((found.text if signed or _without_signs(line) == found.text else line).split())
    name = (
        found.text[:1].isupper()
        and not _OPENING.match(lowered(found.text))
        and line.startswith(found.text + ". ")
    )
    if name and len(found.text.split()) <= _LONGEST_WORD:
        words = 1
    if words > _LONGEST_WORD and not signed and re.search(r"[.!?]\s+[A-ZА-ЯЁ]", line):
        return False  # the first of several sentences
    explains = re.search(r";|[:?]\s|,\s(?:котор|which\b|who\b)", found.text) or (
        one_word and _is_list(found.text)
    )
    undecided = _EITHER.match(found.text) or (not signed and _FILLER.match(lowered(found.text)))
    after = re.fullmatch(r"[.!]\s+(\w.*?)\W*", line[line.find(found.text) + len(found.text) :])
    another = (
        after and len(after[1].split()) <= _LONGEST_WORD and _is_name(after[1], asked)
    )  # "Савин. Рубцов."
    signed = signed and "**" not in found.text
    return (
        words <= longest
        and (signed or _is_name(found.text, asked))
        and not (explains or undecided or another)
    )


def _is_name(text: str, asked: str) -> bool:
    """Check whether a text that nothing marks as the answer is no more than a name, a date or a word.

    It has up to three words, or stands in the item's text as it is; no sign that parts it; and is neither a clause nor
    about the question.
    """
    words, given = (re.findall(r"\w+", option_spelling(said)) for said in (text, asked))
    taken = f" {' '.join(words)} " in f" {' '.join(given)} "
    return (
        (len(words) <= _LONGEST_WORD or taken)
        and not _has_parts(text, asked)
        and not _speaks_of(_ABOUT_QUESTION, text, asked if taken else "")
        and not (_CLAUSE.search(lowered(_without_names(text))) and len(words) > 1)
    )


def _without_names(text: str) -> str:
    """Remove words with a capital letter, whose ends may be those of verbs (Павел); the first one if all have it."""
    first, *others = text.split()
    if all(word[:1].isupper() for word in others):
        return "" if others and not _COPULA.fullmatch(lowered(first)) else first
    return " ".join([first, *(word for word in others if not word[:1].isupper())])


def _has_parts(text: str, asked: str) -> bool:
    """Check whether a text is more than one name, or one and its gloss; not so words of the item, divided by commas."""
    words, given = (re.findall(r"\w+", option_spelling(said)) for said in (text, asked))
    listed = "," in text and len(words) == text.count(",") + 1 and {*words} <= {*given}
    return "**" in text or (not listed and _PARTS.search(text) is not None)


def _is_clause(text: str, asked: str) -> bool:
    """Check whether what is stated as the answer tells more than the answer, or that there is none."""
    return len(text.split()) >= _LONGEST_WORD and (
        _CLAUSE.search(lowered(text)) is not None
        or _speaks_of(_ABOUT_QUESTION, text, asked)
        or _has_parts(text, asked)
    )


def _is_list(text: str) -> bool:
    """Check whether a text is more than one word of the language, which may be written apart."""
    return len(re.split(r"\W+\s|\s", text)) > _LONGEST_WORD or bool(re.search(r"\w\W*[,;:]\W*\w", text))


def _asks_back(reply: str, asked: str) -> bool:
    """Check whether a reply only asks: it shares no long word with the item, and is a question or asks for details."""
    known = set(_STEM.findall(lowered(asked)))
    foreign = not known.intersection(_STEM.findall(lowered(reply)))
    return foreign and (reply.rstrip(' \n*_»"').endswith("?") or _ASKS.search(lowered(reply)) is not None)


def _found(
    piece: str, rule: str, stop: tuple[str, ...], *, complete: bool, sentence: bool = False
) -> FoundText | None:
    text = _without_signs(_PICTURES.sub("", piece.strip()))
    for end in stop:
        before, mark, _ = text.partition(end)
        if mark and before.strip():
            text, complete = _without_signs(before.strip()), True
    if not sentence:
        for found in _EXPLAINED.finditer(text):
            if not _ABBREVIATED.search(text[: found.start() + 1]):
                text, complete = _without_signs(text[: found.start()]), True
                break
        if text.endswith(".") and not text.endswith("..") and not _ABBREVIATED.search(text):
            text = _without_signs(text[:-1])
    return FoundText(text, rule, piece, complete) if any(map(str.isalnum, text)) else None


#: Emoji at the end.
_PICTURES: Final = re.compile("[\\s\U0001f000-\U0001faff\u2600-\u27bf\ufe0f]+$")


def _without_signs(text: str) -> str:
    """Remove emphasis, a bullet and quotation marks that enclose the whole text."""
    text = _BULLET.sub("", text).strip()
    if match := _EMPHASIS.fullmatch(text):
        return _without_signs(match["inner"] or match["tagged"])
    closing = _QUOTES.get(text[:1])
    if closing is not None and len(text) > 2:
        body = text[1:-1] if text[-1] == "." and text[-2] in closing else text[1:]
        if body[-1] in closing and not any(sign in body[:-1] for sign in (text[0], *closing)):
            return _without_signs(body[:-1])
    return text
