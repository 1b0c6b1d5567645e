r"""Read the answer that a model's reply states.

The last explicit statement decides, whatever was said on the way: a box, JSON, a tag, "#### X", "Answer: X",
"I choose X". Without one, the last or first line if it is an answer, a conclusion ("so B"), or the only
answer that a short reply names is read. A reply that states none is left unread: no letter and no number is
taken out of a sentence that does not state an answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal, NamedTuple, TypeAlias

#: What an answer may be: one of a few labels, a whole number, a list of numbers, or a text.
Kind: TypeAlias = Literal["label", "integer", "numbers", "text"]


class ReadReply(NamedTuple):
    """What was read in a reply.

    Attributes:
        value: the answer; `None` if the reply states none, or several.
        rule: the name of the rule that found it, or why there is none.
        piece: the piece of the reply that states it.
    """

    value: str | None
    rule: str
    piece: str = ""


#: A statement names several answers, or a label with the text of another option.
UNDECIDED: Final = ""

#: What may not follow a label or a number: it would be a part of a word, a fraction or a formula.
_ALONE: Final = r"(?![\w%°]|[.,]\d|['’]\w|\s?[-+*/×·^=]\s?\d)"
#: What joins two labels: after a comma alone, only a noun may precede the second ("A, option B", not "b, a river").
_JOINED: Final = (
    r"[)\]»\"'.…]*\s*(?:,?\s*(?:и|или|либо|and|or|&)\s+(?:\w+\s+)??"
    r"|[/,](?!\s*a\s[^\W\d_])\s*(?:(?:option|choice|answer|вариант\w*|ответ\w*|пункт\w*)\s+)?)"
)
_CYRILLIC: Final = dict(zip("ABCEHKMOPTX", "АВСЕНКМОРТХ", strict=True))
#: Labels in words: where options have texts, the first or second option; elsewhere numbers, yes and no.
_ORDINALS: Final = (r"first|перв\w{2}", r"second|втор\w{2}", r"third|трет\w{2}", r"fourth|четв[её]рт\w{2}")
_NUMBERS: Final = ("zero|ноль", "one|один", "two|два|две", "three|три", "four|четыре")
_WORDS: Final = {"Да": "yes", "Нет": "no", **dict(zip("01234", _NUMBERS, strict=True))}


@dataclass(frozen=True)
class Form:
    """What an answer may be.

    Attributes:
        kind: labels, a whole number, a list of numbers, or a text.
        labels: the labels, in their order.
        options: label -> its text, as the model saw it.
        sentence: whether a text is a whole sentence, such as a rewritten one.
        letters: how many letters a number each is asked for; 0 if a list is asked.
        choices: the numbers of which a list consists.
    """

    kind: Kind
    labels: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    sentence: bool = False
    letters: int = 0
    choices: frozenset[str] = frozenset()

    @cached_property
    def token(self) -> re.Pattern[str]:
        """A label that stands alone, in Latin or in Cyrillic letters."""
        return re.compile(rf"(?<![\w.,+*/×^-])(?<!\w['’]){self.own}(?!\.[a-z]\b){_ALONE}")

    @cached_property
    def joined(self) -> re.Pattern[str]:
        """What follows a label that is joined with a second one, such as "or B"."""
        return re.compile(rf"{_JOINED}{self.own}{_ALONE}")

    @cached_property
    def own(self) -> str:
        """A pattern of the labels, a group each."""

        def pattern(label: str) -> str:
            if len(label) > 1:
                return f"(?i:{re.escape(label)})"
            # Models write small labels as capitals too.
            capital = label.upper() if label.upper() not in self.labels else ""
            return f"[{''.join(re.escape(sign) + _CYRILLIC.get(sign, '') for sign in label + capital)}]"

        groups = (f"(?P<l{at}>{pattern(label)})" for at, label in enumerate(self.labels))
        return f"(?:{'|'.join(groups) or '(?!)'})"

    @cached_property
    def texts(self) -> list[tuple[str, re.Pattern[str]]]:
        """Labels with the texts of their options, long texts first; not texts that two options share."""
        texts = {label: " ".join(_plain(text).split()).rstrip(" .") for label, text in self.options.items()}
        seen = [text.casefold() for text in texts.values()]
        own = [(label, text) for label, text in texts.items() if text and seen.count(text.casefold()) == 1]
        own.sort(key=lambda pair: -len(pair[1]))
        return [(label, _named(re.escape(text).replace(r"\ ", r"\s+"))) for label, text in own]

    @cached_property
    def named(self) -> list[tuple[str, re.Pattern[str]]]:
        """Labels with the texts of their options, and with what they are called in words."""
        if self.options:
            noun = r"(?:\s+(?:option|choice|answer|reply|вариант\w*|ответ\w*|пункт\w*|номер\w*)|\W*$)"
            words = [
                (label, rf"(?:{word}){noun}") for label, word in zip(self.labels, _ORDINALS, strict=False)
            ]
        else:
            words = [(label, _WORDS[label]) for label in self.labels if label in _WORDS]
        return [*self.texts, *((label, _named(word)) for label, word in words)]

    def label_at(self, match: re.Match[str]) -> str:
        """Return the label of a match of `token` or `joined`."""
        return self.labels[int(str(match.lastgroup)[1:])]

    def labels_in(self, text: str) -> set[str]:
        """Return the labels that a text names, without those that may be words or count something."""
        return {self.label_at(match) for match in self.token.finditer(text) if not _word_like(text, match)}


def _named(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{pattern}){_ALONE}", re.IGNORECASE)


# Text without marks -----------------------------------------------------------------------------------------

_INVISIBLE: Final = {
    **dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad\ufe0f"), None),
    **dict.fromkeys(map(ord, "\u00a0\u2007\u2009\u202f"), " "),
    **{code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},
    0x2212: "-",
    0x201A: ",",
}
_LATEX: Final = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathsf|boldsymbol)\s*\{([^{}]*)\}")
_MARKS: Final = re.compile(
    r"\*\*|__|`+\w*\n|`|\$|\\[()\[\],;!$%]|(?<![\w)])\*(?=\S)|(?<=[^\s*])\*(?![\w(])"
    r"|^[ \t]*#{1,3}[ \t]+|^[ \t]*>\s|~~[^~]*~~",
    re.MULTILINE,
)
_GROUPED: Final = re.compile(r"(?<=\d)(?:\{,\}|[’'](?=\d{3}(?!\d)))(?=\d)")
_SIGN: Final = re.compile(r"(?<![\w)\s])[–—](?=\d)|(?<=[=:(→>] )[–](?=\d)|^[–—](?=\d)", re.MULTILINE)


def _plain(text: str) -> str:
    """Return a text without invisible characters and marks of Markdown and LaTeX."""
    text = _LATEX.sub(r"\1", text.translate(_INVISIBLE))
    return _SIGN.sub("-", _GROUPED.sub("", _MARKS.sub("", text)))


# What a statement states ------------------------------------------------------------------------------------


def _any(*words: str) -> str:
    """Return a pattern of any of the words, which are separated by white space; `_` stands for a space."""
    return "(?:" + "|".join(" ".join(words).split()).replace("_", r"\s+") + ")"


#: Words and signs between "Answer" and the answer.
_LEAD: Final = re.compile(
    r"(?:[\s:=\-–—→>«»\"'“„(\[{|]|\b(?:an?(?=\s+(?:option|choice))|"
    + _any(
        "the option choice letter answer number reply label is it would will should must be that correct",
        "right most",
        "likely best about approximately exactly only not_just под это скорее всего число именно",
        r"вариант\w* ответ\w* букв\w* номер\w* цифр\w* верн\w* правильн\w* пункт\w*",
    )
    + r")\b[.:]?\s|№|≈)*",
    re.IGNORECASE,
)
#: Words that may follow a label that is a word of the language too, such as A or 1.
_AFTER: Final = re.compile(
    r"\s+"
    + _any(
        "is was because since as which that and with for due ,",
        "потому так поскольку является ведь верн подход правильн котор",
    ),
    re.IGNORECASE,
)
_INTEGER: Final = re.compile(
    r"(?<![\w.,])([-+]?)\(?([-+]?)\s?(\d{1,3}(?:[ ,]\d{3})+(?!\d)|\d+)(?![\w])(?:[.,]0{1,2}(?!\d))?"
)
_TAIL: Final = re.compile(r"[.,]\d|\s?[-+*/×·^:÷]\s?\(?\d|/|\s?%")
_LIST: Final = re.compile(r"\d[\d\s,;.и]*")
_PAIRS: Final = re.compile(r"(?<!\w)[А-ЯA-Z]\s*[-–—:.)=]?\s*(\d)(?!\d)")


#: How much of a text is read for the answer with which it begins, or with which it ends, in characters.
_LONGEST: Final = 2_000
_LONGEST_END: Final = 300


def _after_lead(text: str) -> str:
    lead = _LEAD.match(text)
    return text[lead.end() :] if lead else text


def stated(text: str, form: Form) -> str | None:
    """Return the answer with which a text begins; `UNDECIDED` for several, `None` if it begins with none."""
    text = text[:_LONGEST]
    rest = _after_lead(text)
    if form.kind == "label":
        return _label(rest, form)
    if form.kind == "integer":
        return _integer(text, rest)
    if form.kind == "numbers":
        return _numbers(rest, form)
    return _phrase(text, sentence=form.sentence)


def _label(text: str, form: Form) -> str | None:
    if re.fullmatch(r"[^\W\d_]\W*", text) and text[0] not in form.labels and text[0].upper() in form.labels:
        text = text.upper()
    match = form.token.match(text)
    if not match:
        return _by_name(text, form)
    own, rest = form.label_at(match), text[match.end() :]
    joined = form.joined.match(rest)
    if joined and form.label_at(joined) != own:
        return UNDECIDED
    if _word_like(text, match):
        return own if _named_at(rest.lstrip(), form.texts) == own else None
    other = _named_at(rest.lstrip(' .):,—–-«"“('), form.texts) or own
    return own if other == own else UNDECIDED


def _by_name(text: str, form: Form) -> str | None:
    """Return the label of the option with whose text or name a text begins."""
    label = _named_at(text, form.named)
    if label is None or not form.options:
        return label
    end = next(match.end() for _, name in form.named if (match := name.match(text)))
    between = re.match(r"[\s.,:;—–\-(«»\"]*(?:(?:option|вариант)\s+)?", text[end:])
    second = form.token.match(text, end + (between.end() if between else 0))
    other = second and form.label_at(second) != label and not _word_like(text, second)
    return UNDECIDED if other else label


def _word_like(text: str, match: re.Match[str]) -> bool:
    """Whether a label in a sentence may be a word: A, В, С, or a digit that counts something."""
    rest = text[match.end() :]
    return bool(re.match(r"[ \t][^\W\d_]", rest)) and not _AFTER.match(rest)


def _named_at(text: str, named: list[tuple[str, re.Pattern[str]]]) -> str | None:
    return next((label for label, name in named if name.match(text)), None)


def _integer(text: str, rest: str) -> str | None:
    start = len(text) - len(rest)
    while start and text[start - 1] in "-+(":
        start -= 1
    match = _INTEGER.match(text, start)
    if not match or _TAIL.match(text, match.end()):
        return _last_of_equation(text[start:].partition("\n")[0])
    return _digits(match)


def _digits(match: re.Match[str]) -> str:
    number = int(re.sub(r"[ ,]", "", match[3]))
    return str(-number if "-" in match[1] + match[2] else number)


def _last_of_equation(text: str) -> str | None:
    """Return the number that ends an equation, such as 9 in "4 + 5 = 9"."""
    last = re.search(r"(?:=|→|->)\s*([^=→]*?)[\s.;)]*$", text)
    match = _INTEGER.fullmatch(last[1].strip().rstrip(")")) if last else None
    return _digits(match) if match else None


def _numbers(text: str, form: Form) -> str | None:
    if form.letters and len(pairs := _PAIRS.findall(text)) == form.letters:
        return ",".join(pairs)
    match = _LIST.match(text)
    if not match or re.match(r"\s*[-+*/%=]|[а-яa-z)]", text[match.end() :]):
        return None
    parts = re.findall(r"\d+", match[0].split("\n")[0].rstrip(".").partition(". ")[0])
    if len(parts) == 1 and (form.letters or (parts[0] not in form.choices and {*parts[0]} <= form.choices)):
        parts = list(parts[0])
    return ",".join(parts) if not form.letters or len(parts) == form.letters else None


_QUOTED: Final = re.compile(r"[«\"“„'](.+?)[»\"”“'][.!]?$")
#: A sentence after a phrase, which explains it.
_EXPLAINED: Final = re.compile(r"(?<=[^\W\d_]{2})\.\s+[^\W\d_].*$|\s+\(.*$|\s+[—–]\s.*$", re.DOTALL)


def _phrase(text: str, *, sentence: bool = False) -> str | None:
    line = text.strip().split("\n")[0].strip(" \t:=—–-*")
    line = re.sub(r"\s[^\w\s.,!?»\"”)(]+$", "", line if sentence else _EXPLAINED.sub("", line))
    quoted = _QUOTED.fullmatch(line)
    return (quoted[1] if quoted else line).strip().rstrip("" if sentence else ".;") or None


# The statements of a reply ----------------------------------------------------------------------------------

_BOX: Final = re.compile(r"\\(?:boxed|fbox)\s*\{((?:[^{}]|\{[^{}]*\})*)\}|\[\[([^\[\]\n]{1,60})\]\]")
_TAG: Final = re.compile(r"<(?:answer|final_answer|ответ|result|label)>(.*?)</", re.IGNORECASE | re.DOTALL)
_JSON: Final = re.compile(r"(\{(?:[^{}]|\{[^{}]*\})*\})")
_HASHES: Final = re.compile(r"^[ \t]*#{4}\s*([^\n#]+)", re.MULTILINE)
_KEYS: Final = ("answer", "final_answer", "correct_answer", "ответ", "label", "choice", "option", "text")
_WRONG: Final = _any(
    "wrong incorrect not_the possible not_an?", r"неверн\w+ неправильн\w+ ошибочн\w+ возможн\w+"
)
_RIGHT: Final = _any("final correct right best", r"верн\w+ правильн\w+ итогов\w+ окончательн\w+ финальн\w+")
_NOUN: Final = _any(
    "answer option choice result conclusion ответ(?:ом|а)? вариант(?:ом)? итог вывод заключение"
)
_VERB: Final = _any("is are will_be would_be must_be should_be это будет является равен")
_NO_FILLER: Final = _any(r"(?:is|are|not|would|will|must|should|не|это|будет)\b явля")
_ANSWER: Final = re.compile(
    rf"(?P<wrong>\b{_WRONG}\s+)?(?P<right>\b{_RIGHT}\s+(?:\w+\s+)?)?\b(?P<noun>{_NOUN})\b"
    rf"(?P<filler>(?:\s+(?!{_NO_FILLER})[a-zа-яё]{{2,}}){{0,6}}(?:\s*\([^()\n]{{1,40}}\))?)"
    rf"\s*(?P<sign>:|=|→|->|[—–-](?=\s)|\n|\b{_VERB}\b)",
    re.IGNORECASE,
)
_CHOSEN: Final = re.compile(
    r"\b(?:(?:i\s+(?:would\s+)?|i'?d\s+|i'?ll\s+)(?:choose|pick|select|say|answer|go\s+(?:with|for))|"
    + _any(
        r"my_choice_is выбира(?:ю|ем) выберу выбрать отметить отвечу отвечаю остановлюсь_на ставлю пишу",
        r"отмеча(?:ю|ем) выводим указываем выбор\s*[:—–-] corresponds?_to_(?:option|choice|letter)",
        r"записыва(?:ю|ем) (?:соответствует|подходит)_(?:вариант\w*|ответ\w*|букв\w*)",
    )
    + r"|(?:лучше|уместн\w+|уместен|безопасн\w+|безвредн\w+|полезн\w+|better|prefer)\s+(?:всего\s+)?"
    r"(?:ответ\w*|вариант\w*|reply|option))\s+",
    re.IGNORECASE,
)
#: What a conclusion follows, at the end of a reply.
_SO: Final = re.compile(
    r"\b"
    + _any(
        "so thus therefore hence consequently that'?s it'?s is equals gives we_get option choice letter",
        "number evaluates_to comes_to",
        r"значит следовательно поэтому итак получается стало_быть то_есть таким_образом равн[аоы]? равен",
        r"получаем получится выходит это так_что вариант\w* ответа? ставим ставлю итого букв\w+ номером",
        r"пишу останется будет составля\w+ получим",
    )
    + r"\b[\s,:]*|(?:→|=>|->|=|:|—)\s*",
    re.IGNORECASE,
)
#: A sentence that only checks the answer.
_CHECK: Final = re.compile(
    r"\W*"
    + _any(
        r"(?:само)?проверка проверим проверя\w+ пересчит\w+ для_(?:уверенности|проверки|сравнения)",
        r"sanity_check check",
        "verification let'?s_verify to_verify to_double-check for_comparison",
    )
    + r"\b",
    re.IGNORECASE,
)
#: What makes a sentence speak of a mistake, or of a case that is not the one asked about.
_MISTAKE: Final = (
    r"if hardly mistake common(?:ly)? often tempting confus\w* если бы вряд будь часто обычно ошибк\w* путают"
)
_SUPPOSED: Final = re.compile(rf"\b{_any(_MISTAKE, 'had were instead would_have')}\b", re.IGNORECASE)
_DENIED: Final = re.compile(
    r"\b"
    + _any(
        "not no never isn'?t cannot can'?t neither nor anything unless wrong incorrect false except maybe",
        r"perhaps might could seems? students people many suppose\w* assum\w*",
        r"не ни нельзя кроме неверн\w* неправильн\w* ошибочн\w* исключ\w* отпада\w* многие предпол\w*",
        r"кажется возможно может вряд ложн\w*",
        _MISTAKE,
    )
    + r"\b",
    re.IGNORECASE,
)
_TAKEN_BACK: Final = re.compile(
    r"\b"
    + _any(
        "wait actually correction on_second_thought hold_on scratch_that i_was_wrong my_mistake misread",
        "change_my_answer hmm",
        r"upd my_first_answer apologi[sz]e хотя_нет подожд\w+ точнее ой поправка постойте погодите",
        r"меняется_на пересчита\w+ ошиб(?:ся|лась|ка_в) исправл\w+ опечатка хм впрочем прошу_прощения по_ошибке",
    )
    + r"\b|(?<=[.\n] )нет,",
    re.IGNORECASE,
)
#: What follows an answer in its sentence: another answer that it is not, or why.
_NOT_THE_OTHER: Final = re.compile(
    r"(?:,\s+(?:а не|not|и не|but not)"
    r"|[\s,]+(?:rather than|unlike|because|since|в отличие от|потому что|так как|поскольку))"
    r"\s(?:[^.!?\n]|[.!?](?=\S))*",
    re.IGNORECASE,
)
_NEXT_QUESTION: Final = re.compile(
    r"\n[^\S\n]*(?:вопрос|задание|question|q|user|human)\s*\d*\s*:", re.IGNORECASE
)
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+(?=[^\sa-zа-яё])|\n+")
_NOTHING: Final = ReadReply(None, "no answer")


class _Statement(NamedTuple):
    start: int
    end: int
    value: str
    rule: str
    piece: str


def read(reply: str, form: Form, *, cut: bool = False) -> ReadReply:
    r"""Read the answer that a reply states.

    Args:
        reply: the reply, without thought.
        form: what an answer may be.
        cut: whether the reply was cut off at the limit of tokens; then only an answer that it marks or
            begins with, and does not end with, is read.

    Example:
        >>> choice = Form("label", ("A", "B"), {"A": "Volga", "B": "Don"})
        >>> texts = "Not the Don. Answer: A", "**B) Don**", "A thorough look is needed."
        >>> [read(text, choice).value for text in texts]
        ['A', 'B', None]
        >>> read(r"12 + 30 = \boxed{42}", Form("integer")).value
        '42'
    """
    following = _NEXT_QUESTION.search(reply, 1)
    if following and (before := read(reply[: following.start()], form)).value is not None:
        return before
    text = _plain(reply)
    if form.kind == "integer":
        text = re.sub(r"^\s*[-–—]\s?(?=\d+\W*$)|(?<=[:=])(\s*)[-–—]\s?(?=\d)", r"\1-", text)
    last = _last_statement(reply, text, form, cut=cut)
    if last is None:
        if cut:
            return _cut_off(reply, text, form)
        return _free_text(reply, text, form) if form.kind == "text" else _unmarked(text.strip(), form)
    if last.value == UNDECIDED:
        after = (text + "\n").index("\n", last.end)
        reading = _unmarked(text[after:].strip(), form)
        return reading if reading.value else ReadReply(None, "several answers", last.piece)
    if form.kind == "text" or not _TAKEN_BACK.search(text, last.end):
        return ReadReply(last.value, last.rule, last.piece)
    return _NOTHING if cut else _unmarked(text[last.end :].strip(), form)


def _last_statement(reply: str, text: str, form: Form, *, cut: bool) -> _Statement | None:
    """Return the last of the statements; a box, a tag and the like also beside one that follows at once."""
    end = len(text.rstrip())
    statements = [*_announced(text, form), *_chosen(text, form)]
    last = max((statement for statement in statements if not (cut and statement.end >= end)), default=None)
    marked = max(_marked(reply, text, form), default=None)
    if marked is None or (last is not None and marked.start < last.start - 200):
        return last
    return marked


def _marked(reply: str, text: str, form: Form) -> Iterator[_Statement]:
    """Yield what boxes, tags, JSON and lines of #### state, with places in the text without marks."""
    scale = len(text) / max(len(reply), 1)
    for rule, pattern in (("box", _BOX), ("tag", _TAG), ("JSON", _JSON), ("####", _HASHES)):
        for match in pattern.finditer(reply):
            inner = next(part for part in match.groups() if part is not None)
            value = _json_value(inner, form) if rule == "JSON" else stated(_plain(inner).strip(), form)
            if value is not None:
                yield _Statement(int(match.start() * scale), int(match.end() * scale), value, rule, inner)


def _json_value(text: str, form: Form) -> str | None:
    try:
        fields = {str(name).lower(): value for name, value in json.loads(text).items()}
    except (ValueError, RecursionError):
        return None
    values = fields.values() if len(fields) == 1 else map(fields.get, _KEYS)
    value = next((value for value in values if isinstance(value, str | int | float | list)), None)
    if isinstance(value, list) and form.kind == "numbers":
        value = ",".join(map(str, value))
    return None if isinstance(value, bool | list | None) else stated(_plain(str(value)).strip(), form)


def _announced(text: str, form: Form) -> Iterator[_Statement]:
    """Yield the answers that are announced: "Answer: X", "the correct answer is X"."""
    for match in _ANSWER.finditer(text):
        start, sign = match.start(), match["sign"]
        bare = match["noun"].lower() not in {"answer", "ответ", "ответом"} and not match["right"]
        heading = sign != "\n" or not (match["filler"] or text[:start].rpartition("\n")[2].strip())
        if match["wrong"] or bare or not heading or (sign != ":" and _doubtful(text, start)):
            continue
        rest = text[match.end() : match.end() + _LONGEST].lstrip()
        value = stated(rest, form)
        if value is None:
            continue
        # A text is no question, and a few words unless a colon announces it.
        long = value.endswith("?") or (sign != ":" and len(value.split()) > _MOST_WORDS[1])
        if form.kind == "text" and long and not form.sentence:
            continue
        length = len(value) if form.kind != "text" else len(rest.partition("\n")[0])
        end = min(len(text), match.end() + _LONGEST) - len(rest) + length
        yield _Statement(start, end, value, "answer statement", text[start : end + 20])


def _chosen(text: str, form: Form) -> Iterator[_Statement]:
    """Yield the answers that the reply says it chooses."""
    if form.kind not in {"label", "integer"}:
        return
    for match in _CHOSEN.finditer(text):
        start, end = match.span()
        if not _doubtful(text, start) and (value := stated(text[end : end + _LONGEST], form)):
            yield _Statement(start, end + 1, value, "chosen", text[start : end + 20])


def _doubtful(text: str, end: int) -> bool:
    """Whether the words before a place deny or suppose what follows."""
    clause = re.split(r"[,;:.]\s|\n", text[max(0, end - 200) : end])[-1]
    sentence = re.split(r"[.!?]\s|\n", text[max(0, end - 300) : end])[-1]
    return bool(_DENIED.search(clause) or _SUPPOSED.search(sentence))


# Replies that announce no answer ----------------------------------------------------------------------------


def _whole_line(line: str, form: Form) -> str | None:
    """Return the answer that a line is: a label, with the text of its option or not; a number."""
    line = re.sub(r"^\s*[-–—•*]\s+", "", line).strip(" \t.,;:!«»\"“”'()[]{}|*→✅✔")
    counted = re.fullmatch(r"(\d) [а-яё]+", line) if form.kind == "label" and not form.options else None
    value = stated(counted[1] if counted else line, form) if line else None
    if not value:
        return None
    if form.kind == "integer":
        return value if _INTEGER.fullmatch(line.strip(" .=≈(")) else None
    if form.kind != "label":
        return value if re.fullmatch(r"(?:\w+\s+)?[\d\s,;.и]+|(?:[А-ЯA-Z]\W*\d\W*)+", line) else None
    if len(line) == 1 or counted:
        return value
    rest = form.token.sub("", line, count=1) if form.token.match(_after_lead(line)) else line
    rest = _LEAD.sub("", rest, count=1)
    for label, name in form.named:
        rest = name.sub("", rest, count=1) if label == value else rest
    return value if not re.search(r"\w", rest) else None


def _unmarked(text: str, form: Form) -> ReadReply:
    """Read a last or first line, the end of the last sentence, or the only answer that the reply names."""
    if (reading := _line(text, form)) is not None:
        return reading
    sentences = [part for part in _SENTENCE.split(text) if part.strip(" .!?*-")]
    checked = next((at for at, sentence in enumerate(sentences) if at and _CHECK.match(sentence)), None)
    if not (sentences := sentences[:checked]):
        return _NOTHING
    last = _NOT_THE_OTHER.sub("", sentences[-1].strip().rstrip(".!"))
    if (reading := _conclusion(last, form)) is not None:
        return reading
    if form.kind == "integer":
        value = _last_of_equation(last)
        return ReadReply(value, "equation", last) if value else _begun(text, form) or _NOTHING
    return _only_one(text, len(sentences), form) if form.kind == "label" else _NOTHING


def _line(text: str, form: Form) -> ReadReply | None:
    """Read the last or the first line, if it is an answer; a list of answers is none."""
    lines = [line for line in text.split("\n") if line.strip()]
    closed = form.kind == "label"
    if form.letters and (pairs := _numbers(text, form)) is not None:
        return ReadReply(pairs, "letters", text)
    numbered = rf"^[^\w\n]*\w{{0,9}} ?\d{{1,4}}[.:)] *{form.own}[^\w\n]*$"
    if closed and len(re.findall(numbered, text, re.MULTILINE)) > 1:
        return ReadReply(None, "several answers", text)
    for rule, at in (("last line", -1), ("first line", 0)):
        if not lines or (at == 0 and _TAKEN_BACK.search(text)):
            return None
        piece = lines[at].strip()
        if closed and len(piece) < 200 and stated(piece.lstrip("*•- "), form) == UNDECIDED:
            return ReadReply(None, "several answers", piece)
        if (value := _whole_line(piece, form)) is not None:
            others = {_whole_line(line, form) for line in (lines[1:] if at == 0 else lines[-2:-1])}
            agreed = not closed or others <= {None, value}
            return ReadReply(value, rule, piece) if agreed else ReadReply(None, "several answers", piece)
    return None


def _conclusion(last: str, form: Form) -> ReadReply | None:
    """Read what the last sentence is, or concludes."""
    if (value := _whole_line(last, form)) is not None:
        return ReadReply(value, "last sentence", last)
    last = last[-_LONGEST_END:]
    for match in reversed([*_SO.finditer(last)]):
        rest = last[match.end() :]
        if _DENIED.search(rest) or _SUPPOSED.search(last[: match.end()]):
            continue
        if value := _concluded(rest, form, last):
            return ReadReply(value, "conclusion", last)
    return None


def _concluded(text: str, form: Form, sentence: str) -> str | None:
    if form.kind == "integer":
        match = _INTEGER.match(text.strip())
        return stated(text, form) if match and not re.search(r"\d", text.strip()[match.end() :]) else None
    if form.kind != "label":
        return _whole_line(text, form)
    value = stated(text, form)
    named = form.token.finditer(text if form.token.match(_after_lead(text)) else sentence)
    return value if {form.label_at(match) for match in named} <= {value} else None


def _begun(text: str, form: Form) -> ReadReply | None:
    """Read a label or number with which a reply begins, and of which alone it then speaks."""
    begun = re.match(r"\W*?(?P<answer>-?\w{1,9}?)(?:[.):]\s|\s*[—–]\s|\s+-\s|,\s)", text)
    if (
        not begun
        or _TAKEN_BACK.search(text)
        or re.search(r"^[ \t]*2[.)]\s", text[begun.end() :], re.MULTILINE)
    ):
        return None
    if form.kind == "integer":
        match = _INTEGER.fullmatch(begun["answer"]) if "=" not in text and begun["answer"] != "1" else None
        return ReadReply(_digits(match), "beginning", begun[0]) if match else None
    label = form.token.match(text, begun.start("answer"))
    text = _NOT_THE_OTHER.sub("", text)
    if not label or label.end() != begun.end("answer") or _joins(text, form):
        return None
    value = form.label_at(label)
    return ReadReply(value, "beginning", begun[0]) if form.labels_in(text) <= {value} else None


def _joins(text: str, form: Form) -> bool:
    return any(form.joined.match(text, match.end()) for match in form.token.finditer(text))


def _only_one(text: str, sentences: int, form: Form) -> ReadReply:
    """Read the only label, or else the only option, that a short reply names or ticks."""
    ticked = [line for line in text.split("\n") if re.search("[✅✔✓]", line) and form.labels_in(line)]
    if len(ticked) == 1 and len(value := form.labels_in(ticked[0])) == 1:
        return ReadReply(value.pop(), "ticked", ticked[0])
    first = re.match(r"\W*(\w{2,})\s*[,.:;—–-]", text)
    if first and set(form.labels) == {"Да", "Нет"} and (answer := _label(first[1], form)):
        return ReadReply(answer, "beginning", first[0])
    if (begun := _begun(text, form)) is not None:
        return begun
    several = all(map(str.isdigit, form.labels)) and len(re.findall(r"\d+", text)) > 1
    if sentences > 2 or several or _joins(text, form) or _DENIED.search(text):
        return _NOTHING
    labels = form.labels_in(text)
    options = {label for label, name in (form.named if form.options else ()) if name.search(text)}
    only = labels or (set() if form.token.search(text) else options)
    if len(only) != 1 or options - labels - only:
        return _NOTHING
    return ReadReply(only.pop(), "only one", text)


def _cut_off(reply: str, text: str, form: Form) -> ReadReply:
    """Read a reply that was cut off: only what it begins with."""
    if form.kind == "label" and (begun := _begun(text, form)) is not None:
        return begun
    first, newline, _ = text.lstrip().partition("\n")
    if not newline:
        return _NOTHING
    bold = _BOLD.fullmatch(reply.strip().split("\n")[0].strip())
    value = (bold and bold[1]) if form.kind == "text" else _whole_line(first, form)
    return ReadReply(value, "first line", first) if value else _NOTHING


# Free texts -------------------------------------------------------------------------------------------------

#: The most words of a phrase, and of a sentence with a full stop, that are an answer without a mark.
_MOST_WORDS: Final = (8, 3)
_BOLD: Final = re.compile(r"\*\*([^*\n]+?)\*\*")
_INTRODUCED: Final = re.compile(
    r"^[^\n:]{0,120}"
    + _any("вариант верси перефраз text version rewri rephras paraphras текст так")
    + r"[^\n:]{0,40}:\s+",
    re.IGNORECASE,
)


def _free_text(reply: str, text: str, form: Form) -> ReadReply:
    """Read a reply that is nothing but its answer: one sentence or phrase, perhaps with an introduction."""
    parts = [part.strip() for part in text.split("\n") if part.strip()]
    if len(parts) == 2 and parts[0].endswith(":"):
        parts = parts[1:]
    if form.sentence:
        if len(parts) != 1 or parts[0].startswith("{"):
            return _NOTHING
        line = _INTRODUCED.sub("", parts[0], count=1).rpartition(" → ")[2]
        return ReadReply(_phrase(line, sentence=True), "whole reply", parts[0])
    bold = {phrase.strip(" .:") for phrase in _BOLD.findall(reply)}
    if len(bold) == 1 and not (only := bold.pop()).endswith(("?", ":")):
        return ReadReply(only, "the only bold text", only)
    alone = parts and len(parts[0].split()) <= _MOST_WORDS[1] and not re.search(r"[.:!?,]$", parts[0])
    return _short_phrase(parts[0]) if alone or len(parts) == 1 else _NOTHING


_QUOTED_AT_THE_END: Final = re.compile(r"[^«\"“„»]{3,}\s[«\"“„]([^»\"”“]+)[»\"”“]\W*(?:\([^()]*\)\W*)?")


def _short_phrase(line: str) -> ReadReply:
    if quoted := _QUOTED_AT_THE_END.fullmatch(line):
        return ReadReply(quoted[1], "quoted at the end", line)
    phrase = _phrase(line)
    if not phrase or re.search(r"\s[—–]\s|→|[?]$|^\w+:", line):
        return _NOTHING
    short = len(phrase.split()) <= _MOST_WORDS[line.endswith(".") or "," in line]
    return ReadReply(phrase, "whole reply", line) if short else _NOTHING
