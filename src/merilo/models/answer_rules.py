"""The rules by which an answer is found in a model's reply: which statement is final, which is only a mention.

A reader (`merilo.models.answer_readers`) replaces every answer that the text mentions by one character, so that the
rules below need not know whether the answers are labels or numbers. `find_answer` goes through the sentences once and
collects what they state, deny and take back; `_decided` chooses.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias
from unicodedata import normalize

from merilo.strict_json import Json

#: Characters without a shape of their own: zero-width spaces, soft hyphens, the marks that make a digit a keycap.
_INVISIBLE: Final = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad\ufe0f\u20e3"))
_SPACES: Final = dict.fromkeys(map(ord, "\u00a0\u2007\u2009\u202f"), " ")
_FULL_WIDTH: Final = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
#: Letters and digits in circles, in squares and in mathematical alphabets.
_STYLED: Final = {
    code: normalize("NFKC", chr(code)).strip("()")
    for code in (
        *range(0x2460, 0x2474),
        *range(0x24B6, 0x24EA),
        *range(0x1D400, 0x1D800),
        *range(0x1F130, 0x1F14A),
    )
}
_BADGES: Final = {0x1F150 + place: chr(65 + place) for place in range(26)} | {
    0x1F170 + place: chr(65 + place) for place in range(26)
}
_TABLE: Final = {
    **_INVISIBLE,
    **_SPACES,
    **_FULL_WIDTH,
    **_STYLED,
    **_BADGES,
    0x201A: ",",
    0x066B: ",",
    0x2024: ".",
}

_LATEX: Final = re.compile(
    r"\\(?:text|textbf|textit|texttt|textrm|mathrm|mathbf|mathsf|operatorname)\s*\{([^{}]*)\}"
)
_LATEX_MARKS: Final = re.compile(r"\\[()\[\]]|\$|\\[,;!:]|(?<=\d)\{,\}(?=\d)|\\displaystyle")
_BOXED: Final = re.compile(r"\\(?:boxed|fbox)\s*(?:\{((?:[^{}]|\{[^{}]*\})*)\}|\s(\w+))")
_SIGNS: Final = {
    "cdot": "*",
    "times": "*",
    "div": "/",
    "rightarrow": "→",
    "to": "→",
    "neq": "≠",
    "approx": "≈",
}
_LATEX_SIGNS: Final = re.compile(r"\\(cdot|times|div|rightarrow|to|neq|approx)\b")
#: Marks of emphasis; between digits an asterisk is a multiplication.
_EMPHASIS: Final = re.compile(
    r"\*\*+|__+|`+|</?(?:b|strong|i|em|u|code)>|(?<![\w)\s])\*(?=\S)|(?<=[^\W\d_])\*(?!\*)"
    r"|(?<!\S)\*(?=[^\W\d_])"
)
_FLAT_OBJECT: Final = re.compile(r"\{[^{}]*\}")

#: The keys of a JSON object that hold an answer.
_KEYS: Final = (
    "answer",
    "final_answer",
    "correct_answer",
    "ответ",
    "правильный_ответ",
    "итоговый_ответ",
    "label",
    "choice",
    "option",
    "result",
    "output",
    "outputs",
    "value",
    "letter",
    "результат",
    "выбор",
    "вариант",
    "буква",
    "номер",
    "число",
)


# ---------------------------------------------------------------------------------------------------------------------
# Characters for answers

#: What a character stands for: a sure mention of an answer; a word that may be one ("first"); the text of an option;
#: an answer that is denied; the right side of an equation; that of the item's own expression.
MentionKind: TypeAlias = Literal["sure", "word", "option", "denied", "equation", "expression"]
_BASES: Final[dict[MentionKind, int]] = {
    "sure": 0xE000,
    "word": 0xE400,
    "option": 0xE800,
    "denied": 0xEC00,
    "equation": 0xF000,
    "expression": 0xF400,
}
_MOST_VALUES: Final = 0x400
#: A label or a number that cannot be the answer; several answers in one place; a mark before a box and a JSON value.
OTHER, _SEVERAL, _BOX, _JSON, _VALUE_END = "\uf800", "\uf801", "\uf802", "\uf803", "\uf804"
_PRIVATE: Final = re.compile("[\ue000-\uf8ff]")


class Mentions:
    """The distinct answers that a text mentions, and the characters that stand for them."""

    def __init__(self) -> None:
        self._values: list[str] = []
        self._places: dict[str, int] = {}

    def sign(self, value: str, kind: MentionKind = "sure") -> str:
        """Return the character for an answer."""
        place = self._places.setdefault(value, len(self._values))
        if place >= _MOST_VALUES:
            return OTHER
        if place == len(self._values):
            self._values.append(value)
        return chr(_BASES[kind] + place)

    def value(self, sign: str) -> str | None:
        """Return the answer that a character stands for; `None` for a mark."""
        code = ord(sign) - 0xE000
        return self._values[code % _MOST_VALUES] if 0 <= code < _MOST_VALUES * len(_BASES) else None

    @property
    def known(self) -> Set[str]:
        """All distinct answers."""
        return self._places.keys()

    def shown(self, text: str) -> str:
        """Return a text with answers in place of their characters."""
        return _PRIVATE.sub(lambda found: self.value(found[0]) or "", text)


def _as(kind: MentionKind, sign: str) -> str:
    """Return the character of another kind for the same answer; marks stay."""
    code = ord(sign) - 0xE000
    return chr(_BASES[kind] + code % _MOST_VALUES) if 0 <= code < _MOST_VALUES * len(_BASES) else sign


def plain(text: str) -> str:
    r"""Return the text without invisible characters, typographic spaces, emphasis and LaTeX's marks of mathematics.

    Example:
        >>> plain("$12\\,291$"), plain("**\\text{B}**"), plain("１\u202f000")
        ('12291', 'B', '1 000')
    """
    text = _LATEX_MARKS.sub(_unmarked, _LATEX.sub(r"\1", text.translate(_TABLE)))
    return _EMPHASIS.sub("", _LATEX_SIGNS.sub(lambda found: _SIGNS[found[1]], text))


def lowered(text: str) -> str:
    """Return the text in lower case, at the same length: patterns are faster on it than patterns that ignore case."""
    return text.replace("İ", "I").lower()  # the only letter that becomes two


def _unmarked(found: re.Match[str]) -> str:
    return "," if found[0] == "{,}" else ""


def boxed(text: str) -> str | None:
    r"""Return what stands in the last `\boxed{...}`.

    Example:
        >>> boxed("so \\boxed{\\text{B}}")
        'B'
    """
    last = None
    for found in _BOXED.finditer(text):
        last = found[1] if found[1] is not None else found[2]
    return None if last is None else plain(last).strip()


def json_answer(text: str) -> tuple[Json, str] | None:
    r"""Return the answer in a JSON object and the object's text.

    The value of a key such as "answer", or of the only key.

    Example:
        >>> json_answer('```json\n{"reason": "...", "answer": "B"}\n```')
        ('B', '{"reason": "...", "answer": "B"}')
    """
    for held, piece in _json_objects(text):
        keys = {str(key).strip().lower().replace(" ", "_"): key for key in held}
        named = next((keys[key] for key in _KEYS if key in keys), None)
        if named is None and len(held) == 1:
            named = next(iter(held))
        if named is not None:
            return held[named], piece
    return None


def json_object(text: str) -> dict[str, Json] | None:
    """Return the last JSON object of the text."""
    return next((held for held, _ in _json_objects(text)), None)


def _json_objects(text: str) -> Iterator[tuple[dict[str, Json], str]]:
    """Yield the JSON objects: the whole text, the last object without inner objects."""
    pieces = [text, *reversed(_FLAT_OBJECT.findall(text))] if "{" in text else ()
    for piece in map(str.strip, pieces):
        with suppress(ValueError, RecursionError):
            if isinstance(held := json.loads(piece), dict):
                yield held, piece


# ---------------------------------------------------------------------------------------------------------------------
# The grammar of statements, on sentences in lower case whose answers are characters

_SURE: Final = "\ue000-\ue3ff"
_WORD: Final = "\ue400-\ue7ff"
_OPTION: Final = "\ue800-\uebff"
_DENIED: Final = "\uec00-\uefff"
_RESULT: Final = "\uf000-\uf7ff"
_EXACT: Final = "\uf400-\uf7ff"
#: An answer that may be denied; an answer or a mark that may be stated.
_NAMED: Final = f"[{_SURE}{_WORD}{_OPTION}]"
_STATED: Final = f"[{_SURE}{_WORD}{_OPTION}{_RESULT}{OTHER}{_SEVERAL}]"

#: How a character that is stated can stand for its answer.
_KINDS: Final = {"option": _OPTION, "word": _WORD, "equation": _RESULT, "other": "\ue000-\uf8ff"}
#: Words that name an option.
_NOUN: Final = (
    r"(?:вариант\w{0,3}(?:\s+ответ\w{0,2})?|ответ\w{0,2}|букв\w{1,2}|номер\w{0,2}|цифр\w{1,2}|пункт\w{0,2}"
    r"|числ\w{1,2}"
    r"|предположени\w{1,2}|причин\w{1,2}|следстви\w{1,2}|реплик\w{1,2}|гипотез\w{1,2}|утверждени\w{1,2}"
    r"|метк\w{1,2}"
    r"|предложени\w{1,3}|высказывани\w{1,3}|фрагмент\w{0,2}|продолжени\w{1,2}|класс\w{0,2}|категори\w{1,2}"
    r"|option|choice"
    r"|letter|number|variant|statement|reply|response|sentence|hypothesis|label|class|category|candidate"
    r"|alternative"
    r"|cause|effect|answer)"
)
_LINK: Final = r"\s*(?:здесь\s+|тут\s+)?(?:под\s+(?:буквой|номер(?:ом|ами)|цифрой)|number|letter)?\s*[№#]?\s*"
_JOIN: Final = (
    r"\s*(?:,?\s*\b(?:и/или|и|или|либо|and/or|and|or|nor|ни|versus|vs\.?|through|to|до)\b,?"
    r"(?:\s*(?:даже|возможно|может\s+быть|perhaps|maybe|possibly)\b,?)?|,|/|&|\+|[–—-])\s*"
)
_LIST: Final = rf"(?:{_NOUN}\s+)?{_NAMED}(?:{_JOIN}(?:{_NOUN}\s+)?{_NAMED}){{0,11}}+"

#: Signs that are no answers.
_SIGNS_ONLY: Final = r"[^\w\ue000-\uf8ff]*"

_NOUN_FIRST: Final = re.compile(rf"{_SIGNS_ONLY}{_NOUN}\b")
_BRACKETED: Final = re.compile(rf"[«\"'“„‘(\[<]\s*({_STATED})\s*\.?[»\"'”“’)\]>]")
#: "C) Меркурий", "Меркурий (C)": a label and the text of an option.
_GLOSSED: Final = re.compile(rf"([{_SURE}])\s*[).:,=—–-]{{0,2}}\s*[«\"(]?([{_OPTION}])[»\")]?")
_GLOSS: Final = re.compile(
    rf"([{_OPTION}])\s*[.,(—–-]{{0,2}}\s*(?:(?:то\s+есть|это|а\s+это|что\s+соответствует|i\.e\.|that\s+is"
    rf"|which\s+is)\b,?\s*)*"
    rf"(?:{_NOUN}{_LINK})?([{_SURE}])\)?"
)
_HEADED: Final = re.compile(rf"\b(ответ|answer)\s+([{_SURE}{_WORD}])(?=\s*(?:[.!;]|$))")
_TWICE: Final = re.compile(rf"([{_SURE}{_WORD}])\s+([{_SURE}{_WORD}])")
_NAMED_OPTION: Final = re.compile(rf"(?:\b{_NOUN}{_LINK})+([{_SURE}{_WORD}])")
_NTH: Final = re.compile(
    rf"([{_WORD}])\s+(?:(?:из\s+)?(?:{_NOUN})(?![\w:])|one\b)|([{_SURE}])\s+(?:вариант|ответ|option)(?![\w:])"
)
_NOT_BEFORE: Final = re.compile(
    rf"""(?:\b(?:не|ни|not|neither|кроме|except(?:\s+for)?|вместо|instead\s+of|чем|than|without|avoid|unlike
      |(?:all|any\w*|every\w*)(?:\s+\w+)?\s+but|apart\s+from|save\s+for|в\s+отличие\s+от
      |(?:исключ|отбрас|отброс|отверг|отмета|отмет[ия]|вычерк|отсе)\w+|(?:discard|eliminat|exclud|reject
      |dismiss)\w*|rul(?:e|ed|es|ing)\s+out
      |(?:(?:неверн|неправильн|ошибочн)\w+|incorrect|wrong|false)(?!\s*[:—–-])|хуже|слабее|worse
      |(?:лучше|\w+нее)\s+(?=(?:ответа|варианта|реплики|совета)\b))
      |\b(?:не|нельзя|not|n['’]t)\s+(?:\w+\s+){{0,2}}(?:выбра\w+|выбира\w+|подход\w+|год\w+|соответств\w+
      |может\s+быть|является|быть|choose|pick|be))
      \s*[:—–-]?\s*(?:the\s+)?({_LIST})""",
    re.VERBOSE,
)
_NOT_AFTER: Final = re.compile(
    rf"""({_LIST})\s*(?:[—–:-]\s*)?(?:(?:это|тоже|также|явно|точно|сразу|же|здесь|тут|оба|both|all|also|is|are
      |was|were|can|could|would|does|do|certainly
      |clearly|definitely|obviously|simply|just|either|therefore|вообще|совсем|уже|можно|следует|надо|нужно
      |i\s+can|we\s+can)\s+){{0,3}}
      (?:никуда\s+не|бесполез|не\s|нет\b|невер|неправ|ошибоч|ложн|исключ|отпад|отбрасыв|отброс|отверг|мимо\b|слишком|хуже|слабее
      |менее\b|груб|оскорб|токсич|противореч
      |вычёрк|вычерк|отсе|убира|out\b|ruled\s+out|incorrect|wrong|not\b|isn['’]t|can['’]t|cannot|aren['’]t
      |doesn['’]t|don['’]t|false\b|too\b
      |less\b|worse|eliminated|excluded|discarded|[❌✗✘✖❎⛔🚫👎])""",
    re.VERBOSE,
)
_LISTED: Final = re.compile(
    rf"[{_SURE}{_WORD}{_OPTION}{OTHER}](?:{_JOIN}(?:{_NOUN}{_LINK})?[{_SURE}{_WORD}{_OPTION}{OTHER}]){{1,30}}"
)
_EQUATION: Final = re.compile(rf"[{_SURE}{OTHER}+*/×·∙÷:^()\[\]=→>≈\s−-]{{3,}}")
_OPERATOR: Final = re.compile(r"[+/–—-]")
_EQUALS: Final = re.compile(r"=>|->|=|→|≈")

#: What may follow an answer that is stated.
_END: Final = (
    r"(?=\s*(?:$|[.,;:!)(»\"”—–✅✔☑✓|]|-\s|(?:потому|так\s+как|поскольку|ведь|а\s+не|и\s+не|because|since|as"
    r"|but|and\s+not"
    r"|rather|instead|with|on\s+this|for\s+this|here|здесь|тут|is\s+the)\b))"
)
#: A unit or a word may follow a number.
_END_OF_NUMBER: Final = rf"(?!\s*(?:[+*/^×·÷=−-]|\(\s*[^\W_a-zа-яё]|{_STATED}))"
_DIVIDER: Final = r"\s*(?:(?:->|=>|[:=—–→⇒]|-(?=\s|[\ue000-\uf804]))\s*)+"
_VERB: Final = (
    r"\s+(?:(?:тогда|все-таки|всё-таки|вс[её]\s+же|таким\s+образом|здесь|тут|therefore|thus|then|clearly"
    r"|definitely|probably)\s+)?(?:[—–-]\s+)?"
    r"(?:это|будет|является|являются|есть|равен|равна|равно|составляет|оказывается|служит|находится|is|are"
    r"|was|would\s+be|should\s+be"
    r"|must\s+be|would\s+have\s+to\s+be|has\s+to\s+be|will\s+be|equals)\b\s*:?\s*"
)
_FINAL: Final = r"итогов\w+|окончательн\w+|финальн\w+|final"
_RIGHT: Final = (
    r"правильн\w+|верн(?:ый|ым|ая|ое|ой|ого)|(?:наи)?лучш(?:ий|им|ая|ее)|correct|right|best|подходящ\w+|моим?|my"
    r"|выбранн\w+|chosen|selected"
)
_TOPIC: Final = (
    r"(?:\s*\([^()\n]{1,60}\))?(?:\s+(?:на|к|для|в|из|по|здесь|тут|задачи|вопроса|выражения|верного|правильного|этой"
    r"|этого|данной|данного|to|for|in|here|of)\b[^:.!?\n]{0,60}?)?"
)
_HEAD: Final = re.compile(
    rf"""(?<!\w)(?:
        (?:(?P<final>{_FINAL})\s+|(?P<right>{_RIGHT})\s+)*
        (?:(?P<head>ответом|ответ|отгадка|результат|итого?|вывод|(?:выпис|запис)ыва(?:ем|ю)(?:\s+слово)?|answer|anwser|result|output|conclusion)
          |(?P<noun>выбор|вариант\w{{0,2}}(?:\s+ответа)?|option|choice|буква|номер|цифра|число|число|letter
      |number|label|сумма|sum|value|значение(?:\s+выражения)?))
        {_TOPIC}(?:(?P<divider>{_DIVIDER})|{_VERB})
      | (?P<last>окончательно|финально|finally)(?:{_DIVIDER})
      | (?P<bare>лучш(?:ий|ая|ее)|правильн(?:ый|ым|ая|о)|верн(?:ый|ым|ая))(?:{_DIVIDER}|{_VERB})
      | (?P<mark>[{_BOX}{_JSON}])
    )""",
    re.VERBOSE,
)
_CHOICE: Final = re.compile(
    rf"""\b(?:выбираю|выберу|выбираем|отмечаю|отметим|отмечаем|беру|возьму|указываю|назову|выбрала?\s+бы
      |бы\s+выбрала?|(?:бы\s+)?предпоч(?:ту|итаю|[её]л|ла)|голосую\s+за|ставлю(?:\s+на)?|останов(?:люсь|ливаюсь)\s+на|склон(?:яюсь|ен
      |на)\s+(?:к|в\s+пользу)
      |(?:меняю|исправляю)\s+(?:свой\s+)?ответ\s+на|(?:следует|нужно|надо|стоит|логичнее(?:\s+всего)?|разумнее(?:\s+всего)?)\s+выбрать|отвечу|отвечаю
      |i(?:['’]d|\s+would|\s+will|['’]ll|['’]m|\s+am)?\s+(?:choose|pick|select|go\s+with|go\s+for|going\s+with
      |say|answer)|my\s+(?:pick|choice)\s+is
      |lean(?:ing)?\s+(?:toward|towards|to)|(?:we|you|one)\s+(?:should|must)\s+(?:choose|pick
      |select))\b\s*[:—–-]?\s*
      (?:(?:ответ\w{{0,2}}|вариант\w{{0,2}}|the|option|answer)\s*:?\s*)*(?P<value>{_STATED}){_END}""",
    re.VERBOSE,
)
_ADVERB: Final = (
    r"(?:это|is|are|the|является|будет|must\s+be|более|наиболее|самый|самая|самое|единственн\w+|только|лишь|именно|явно|здесь"
    r"|тут|как\s+раз|единственно|куда|гораздо|намного|заметно"
    r"|more|most|clearly|indeed|only|one|that|answer|option|ответ|вариант|выбор)"
)
_GOOD: Final = (
    r"(?:(?:причин(?:а|ой)|следстви(?:е|ем))(?=\s+(?:является|стало|будет)\s)|верен|верна|верно|верный|верным|правилен|правильн(?:ый|ая|о|ое|ым)|подходит|подойд[её]т|true(?!\s+(?:of|that|for|only|or)\b)"
    r"|соответствует|годится|correct|right|best|fits|matches"
    r"|лучше|полезнее|честнее|безопаснее|безобиднее|вежливее|уместнее|корректнее|логичнее|вероятнее"
    r"|правдоподобнее|предпочтительнее|точнее|естественнее"
    r"|better|(?:полез|чест|безопас|вероят|умест|коррект|вежли|логич)\w+|helpful|honest|harmless|plausible"
    r"|likely|corresponds\s+to|cause|effect|reason|answer)"
)
_GOOD_AFTER: Final = re.compile(
    rf"(?P<value>[{_SURE}{_WORD}{_OPTION}])(?:\s*(?:[—–-]\s*)?(?:{_ADVERB}\s+){{0,3}}{_GOOD}\b(?!\s*(?:[?]"
    rf"|ли\b)|[^.;:]{{0,30}}\b(?:только|лишь|only|merely)\b)|\s+it\s+is\W*$)"
)
_GOOD_BEFORE: Final = re.compile(
    rf"(?<!не\s)(?<!not\s)\b{_GOOD}(?:\s+than)?(?:\s*[:—–-]\s*|\s+)(?:(?:является|будет|оказывается|только"
    rf"|лишь|именно|здесь|тут|стало|вс[её][\s-]же|вс[её][\s-]таки|как\s+раз|is|would\s+be|the)\s+){{0,2}}"
    rf"(?P<value>{_STATED})(?:\s+{_NOUN}\b)?{_END}"
)
#: A whole sentence that calls an answer right: "B is correct."
_CALLED: Final = re.compile(
    rf"{_SIGNS_ONLY}(?:the\s+)?(?P<value>[{_SURE}{_OPTION}])\s*(?:[—–-]\s*)?(?:{_ADVERB}\s+){{0,2}}"
    r"(?:верен|верно|правилен|правильн(?:ый|ая|о|ое)(?:\s+(?:ответ|вариант))?|correct|right)\W*"
)
_LEAD: Final = (
    r"(?:нет(?=,)|no(?=,)|but|and|sorry|точнее|вернее|правильно|стоп|хотя|наоборот|итого|in\s+total|total"
    r"|значит|следовательно|таким\s+образом|итак|поэтому|потому|оста[её]тся(?:\s+(?:только|лишь|один))?"
    r"|скорее(?:\s+всего)?|вероятн(?:о|ее(?:\s+всего)?)|наверное|видимо|похоже|пожалуй"
    r"|думаю|полагаю|считаю|по-моему|кажется|мне|я\s+за|то\s+есть|так\s+что|стало\s+быть|выходит|получ(?:аем"
    r"|им|ится|ается|илось|аю)|находим|имеем|вс[её][\s-]таки|вс[её]\s+же|в\s+итоге|в\s+результате|а|но|и|что"
    r"|это|вот"
    r"|конечно|именно|их|как\s+раз|ближе(?:\s+всего)?|точно|здесь|тут|у\s+меня|so|therefore|thus|hence|then"
    r"|probably|likely|most\s+likely|perhaps|i\s+think|i\s+guess|i\s+believe|i['’]d\s+say"
    r"|it['’]s|it\s+is|it\s+must\s+be|must\s+be|тогда|да[её]т|that\s+is|that['’]s|that\s+leaves|leaving|which\s+is|i\.e\."
    r"|we\s+get|this\s+is|this\s+gives|gives|obviously|clearly|definitely"
    r"|that\s+matches|matching|namely|corresponding\s+to|only|the|ровно|всего|равн[оаы]|равен|составляет"
    r"|equals|is|was|в\s+сумме|comes\s+to|makes|totals?)"
)
_INFERRED: Final = re.compile(
    r"значит|следовательно|таким\s+образом|поэтому|получается|so\b|therefore|thus|hence"
)
#: Words that conclude nothing unless the answer ends the sentence, or follows a denied one: "не A, а C".
_WEAK_LEAD: Final = re.compile(
    r"[^\w]*(?:(?:а|но|и|что|это|вот|but|and|the|then|here|здесь|тут|мне|only|хотя|which\s+is)\b[^\w]*)+"
)
_CONCLUSION: Final = re.compile(
    rf"(?:^{_SIGNS_ONLY}|[,;:(—–]\s*|(?<=\s)-\s+|(?<=\s)(?=(?:поэтому|значит|следовательно|so|therefore|thus"
    rf"|hence|равн[оаы]|равен|составляет|получ\w+|выходит|да[её]т|equals|is"
    rf"|gives|comes\s+to|makes)\s))(?:{_LEAD}\b[,:—–\s]*){{1,5}}(?P<value>{_STATED}){_END}"
)
#: An answer that follows nothing: the sentence, or its beginning.
_ALONE: Final = re.compile(rf"(?:{_SIGNS_ONLY}\d+[.)])?{_SIGNS_ONLY}(?P<value>{_STATED}){_SIGNS_ONLY}")
_BEGINNING: Final = re.compile(
    rf"{_SIGNS_ONLY}(?:the\s+)?(?P<value>[{_SURE}{_WORD}{_OPTION}{OTHER}{_SEVERAL}])(?:\s*(?:[)\].:,;!(»\"]"
    rf"|[—–-]\s)|\s+(?:потому|так\s+как|поскольку|because|since|as)\b)"
)
_MEANT: Final = re.compile(rf"\s*,?\s*(?:это|они|it['’]s|they\s+are)\s+(?P<value>[{_OPTION}]){_END}")
_INSIDE: Final = re.compile(
    rf"{_SIGNS_ONLY}(?:(?:не|not)\s+[{_DENIED}],?\s+(?:а|but)\s+)?(?:(?:это|the|скорее\s+всего|вероятно|именно|примерно|ровно|только|конечно|probably"
    rf"|likely|just|exactly|about|вариант|ответ)\b[,:\s—–-]*)*(?P<value>{_STATED})"
)
_ONLY: Final = re.compile(_INSIDE.pattern + _SIGNS_ONLY)
_AT_END: Final = re.compile(rf":\s*(?P<value>[{_SURE}]){_SIGNS_ONLY}$")
_TASK_NOUN: Final = r"(?:вопрос|задани|задач|част|пример|question|task|part|problem|example|step|шаг)\w*"
_TASK_NUMBER: Final = (
    rf"(?:[\d{_SURE}{_WORD}{OTHER}]|перв\w+|втор\w+|трет\w+|one|two|three|first|second|third)"
)
#: One of several questions: "the answer to the first question is".
_PART: Final = rf"(?:{_TASK_NOUN}\s*№?\s*{_TASK_NUMBER}|{_TASK_NUMBER}\s+{_TASK_NOUN})"
_PERSON: Final = (
    r"(?:сосед|брат|сестр|приятел|учител|преподавател|реб[её]н|дети|автор|друг\b|подруг|форум|сайт|он\b|она\b|они\b|кто\b"
    r"|child|kid|boy|girl|friend|teacher|neighbou?r|brother|sister|colleague|tutor|forum|site|key|app\b|calculator|he\b|she\b"
    r"|they\b|who\b)\w*"
)
_SAYS: Final = (
    r"(?:сказ|ответи|написа|предлож|посчита|реши|подума|назва|выбра|говор|счита|дума|уверен|полага)\w*"
    r"|(?:said|says?|told|tells?|claim|think|thought|believe|wrote|writes?|answer|guess|suggest|repli|chose|choose|pick)\w*"
)
#: One of several tasks and its label: "1) B; 2) A", "Question 2: A", "| 2 | A |".
_TASK: Final = re.compile(
    rf"(?:(?<![\w.,])\d{{1,2}}|(?i:{_TASK_NOUN})[ \t]*№?[ \t]*[{_SURE}{OTHER}])[ \t]*(?:[).:|—–-][ \t]*)+"
    rf"([{_SURE}])[ \t]*(?=[;,.|\n]|$)"
)
#: The beginning of another item, in the words of a dataset's bare form.
_NEXT_ITEM: Final = re.compile(
    r"^[*_#> \t]*(?:(?:ситуация|вопрос|текст|реплика|строки|последовательность|задани[ея]|задача|категория|тема|запрос"
    r"|question|q|premise|passage|input|user|human|пользователь|sequence|situation|task|problem|topic|item)"
    r"[ \t]*(?:(?:№[ \t]*)?\d+[ \t]*)?[*_]*:"
    r"|(?:задани[ея]|задача|вопрос|question|task|problem|item)[ \t]*(?:№[ \t]*)?\d+\.)",
    re.MULTILINE,
)
#: A polite end, which offers more and states nothing.
_CLOSING: Final = re.compile(
    r"^\W*(?:если\s+(?:хотите|нужн|что|будут|вам|интересно)|хотите\b|могу\s|готов\w*\s|удачи|надеюсь"
    r"|обращайтесь|if\s+you(?:['’]d|\s+(?:would|want|need|have|like))|would\s+you|let\s+me\s+know|happy\s+to"
    r"|feel\s+free|i\s+hope|good\s+luck)"
)
_ALTERNATIVE: Final = re.compile(
    rf"[,.\s]*(?:но\s+|хотя\s+|а\s+|but\s+|though\s+)?(?:также\s+)?(?:(?:возможн\w*|может|could|may|might"
    rf"|either|also|или|либо|or)\b[^.!?\n]{{0,30}}?)(?P<value>{_STATED})"
)

#: A statement in such a sentence is not the reply's own: a first impression, another's opinion, a condition.
_SUPPOSED: Final = re.compile(
    rf"""\b(?:{_PERSON}\s+(?:\w+\s+){{0,2}}(?:{_SAYS})|(?:ответ|answer)\s+(?:на|к|в|для|to|for|in)\s+(?:the\s+|your\s+)?{_PART}
      |(?:for|in|на|в|для)\s+(?:the\s+|your\s+)?{_PART}|previous\s+(?:question|task|one|quiz)|(?:предыдущ|прошл)\w+\s+(?:вопрос|задани|задач|раз)\w*|example\s+above
      |nobody|no\s+one|никто|(?:isn['’]t|not)\s+that\s+the|не\s+то,?\s+что
      |(?<!\bi\s)(?:would|might|may|could)\s+(?:\w+\s+)?(?:think|say|answer|guess|write|expect|choose|pick)
      |если(?!\s+(?:подумать|посмотреть|присмотреться|вдуматься|разобраться|сложить|коротко|кратко
      |быть))|допустим|предполож\w+|казалось\s+бы|сначала\s+каж\w+|на\s+первый\s+взгляд
      |можно\s+(?:было\s+бы\s+)?подумать|может\s+(?:по)?казаться|мог(?:ло|ла|ли)?\s+бы|был[оаи]?\s+бы|многие
      |некоторые|кто-то|(?:часто|обычно|иногда|порой)\s+(?:на|вы|от|ду|го|пу|пи|сч|по)\w+|иногда|порой
      |почти\s+все|большинств\w+|ошибочно
      |по\s+ошибке|соблазн\w*|хочется|так\s+и\s+тянет|интуитивн\w*|типичн\w+|распростран[её]нн\w+|популярн\w+
      |пользовател\w+\s+(?:выб|отв|счит|дум|пиш|утвер)\w+|знаком\w+|уверя\w+|утвержда(?:ет|ют|л\w*)
      |учебник\w*|например|(?:пример|образец|формат)\w*\s+ответа|(?:sample|example|model)\s+(?:answer|reply)|(?:с|под)\s+(?:эт\w+\s+|друг\w+\s+)?точки\s+зрения|point\s+of\s+view|perspective|первой\s+мыслью|first\s+(?:guess|thought)|claimed|someone|textbook|for\s+example|студент\w*|учени[кц]\w*|товарищ\w*|друзья|коллег\w+|промежуточн\w+|частичн\w+
      |(?:неправильн|неверн)\w+\s+(?:ответ|решени|вывод|вариант|выбор)
      |возможно|может\s+быть|проверим|рассмотрим|начн[её]м\s+с
      |if|unless|suppose|supposing|assum\w+|at\s+first|first\s+glance|might\s+(?:seem|think|say|be)
      |may\s+(?:seem|be)|tempt\w*|many|some\s+(?:people|might|would|say)|people\s+(?:often|tend|say|usually)
      |most\s+people|often|usually
      |common(?:ly)?|typical|mistakenly|wrongly|sometimes|students?|learners?|naive|intuit\w+|would\s+have(?!\s+to\s+be)|had
      |could\s+(?:be|think)|everyone|intermediate|incorrect|wrong|perhaps|maybe|consider|let['’]s\s+(?:check
      |see|start|look))\b""",
    re.VERBOSE,
)
#: A part of a number that is not the whole answer.
_STEP: Final = re.compile(
    r"\b(?:шаг\w*|step|разряд\w*|единиц\w*|десятк\w*|сотен|сотни|units?|ones|tens|hundreds|column|столб\w+|скобк\w*|brackets?"
    r"|parenthes\w+|действи\w+|partial|carry|перенос\w*|больше|меньше|(?:more|less|greater|fewer)\s+than|around|около|примерно)\b"
)
#: What ends a supposition within its sentence.
_CONTRAST: Final = re.compile(
    r"[,;—–]\s*(?:но|однако|but|however|yet)\b(?!\s+(?:может|если|возможно|if|may))"
)
#: Words that take back what was stated before.
_TAKEN_BACK: Final = re.compile(
    r"""\b(?:хотя\s+нет|хотя\s*(?:…|\.\.)|нет[,—–-]\s*(?:вс[её]|лучше|это|ответ|подожд|погод|стоп|не\s+так|я\b|неверн|скорее
      |пожалуй|правильн)|подожди\w*|погоди\w*|стоп\b|постойте|ошиб(?:ся|лась|очка)\b|исправл\w+|поправ(?:ка|лю
      |ляю)\w*
      |нет,?\s*(?=[\ue000-\uf7ff])|no,?\s*(?=[\ue000-\uf7ff])|(?<!\()(?:точнее|вернее)[:,]|простите,|пардон
      |меняю\s+(?:свой\s+)?(?:ответ|мнение)|передум\w+|перечитал\w*|перепутал\w*|беру\s+(?:свои\s+)?слова
      |пересчита\w+|wait\b|scratch\s+that|correction\b|on\s+second\s+thought|my\s+mistake|i\s+was\s+wrong
      |i\s+made\s+an?\b|let\s+me\s+(?:correct|fix|redo|reconsider|rethink|recheck|recount)|no,\s|actually,
      |^actually\b|oops\b|strike\s+that|take\s+that\s+back|i\s+misread|i\s+misspoke|changing\s+my\s+answer
      |hold\s+on|that['’]?s\s+(?:not\s+right|wrong)|not\s+quite|^\W*(?:это\s+)?неверно\b|^\W*(?:ой|ох|упс
      |не)\b|^\W*(?:нет|no)\s*[,.:!—–]|upd\b|edit:)""",
    re.VERBOSE,
)
#: In a reply that was cut off, such words after a statement leave it open.
_DOUBTED: Final = re.compile(
    r"\b(?:перепровер\w*|провер(?:им|ю)\b|однако|впрочем|хотя|хм+|сомнева\w+|double-check|let\s+me\s+(?:check"
    r"|verify)|hmm+|however|but\s+(?:if|wait))\b"
)
#: Where a sentence is so uncertain, the only answer that it names is not stated.
_UNSURE: Final = re.compile(
    r"\b(?:не|нет|ни|no|not|never|possible|possibly|возможн\w*|может|мог\w*|could|may|might|also|too|тоже"
    r"|также|either|options|варианты|between|между|depending|зависит|both|оба|нач\w+|start\w*|begin\w*|first\s*\W*$|let\s+us|let['’]s|сравни\w*|compar\w+|see|смотри\w*|odd|лишн\w+|avoid|opposite|против\w+|опис\w+\s*$|форм\w+\s+ответа|format|пример\w*|example|grade)\b|n['’]t\b"
)
_CALLED_WRONG: Final = re.compile(
    r"\b(?:неверн|неправ|ошиб|ловушк|заблужд|wrong|incorrect|mistak|trap\b|trick)"
)
#: A question that doubts what was stated: "Или всё же 2?"
_OR: Final = re.compile(rf"\W*(?:или|либо|а\s+может|а\s+вдруг|or|maybe|perhaps|but\s+what)\b[^?]*{_STATED}")
_NONE: Final = re.compile(
    r"""\b(?:ни\s+один\w*|ни\s+одн[аоу]\w*|ни\s+[\ue000-\uefff],?\s+ни|none\s+(?:of|fits?|is|are|match\w*)
      |neither\s+(?:of|option|answer|reply|one|fits)|no\s+(?:correct|right|such|valid|suitable)\s+(?:answer
      |option|choice)|нет\s+(?:среди|верного|правильного|подходящего|такого|однозначного)
      |(?:такого|правильного|верного|подходящего|нужного)\s+(?:варианта|ответа)\b[^.!?]{0,40}\bнет
      |оба\s+(?:варианта|ответа)|обе\s+(?:реплики|причины)|both\s+(?:options|answers|replies|are|of)
      |все\s+варианты|all\s+of\s+(?:the|them|these)
      |not\s+(?:listed|among)|затрудняюсь|(?:не\s+могу|трудно|сложно|нельзя|невозможно)\s+(?:решить|сказать)
      |(?:can['’]t|cannot|hard\s+to)\s+(?:say|tell))(?!\s+(?:из\s+)?(?:остальн|друг|other|of\s+the\s+other
      |the\s+other|the\s+rest|оставш))""",
    re.VERBOSE,
)
#: Words that decline to answer, whatever was said before them.
_DECLINED: Final = re.compile(
    r"""\b(?:(?:не\s+(?:могу|смогу|берусь|возьмусь|буду|стану|готов\w*|хочу|получ\w+|удал\w+|бер[её]мся)|нельзя|невозможно
      |трудно|сложно|затрудн\w+|отказыва\w+|воздерж\w+)(?:\s+[^\W\d_]+){0,3}?\s+(?:от\s+)?(?:выб[оие]р\w*|выбрать|назвать
      |назыв\w+|определ\w+|отда\w+|предпоч\w+|остан[ао]в\w+|решать|утверждать)
      |(?:выб[оие]р\w*|выбрать|назвать|определ\w+|отдать|утверждать|цифр\w+|числ\w+|ответ\w*|вариант\w*|букв\w+)
      (?:\s+[^\W\d_]+){0,3}?\s+не\s+(?:могу|смогу|берусь|возьмусь|буду|стану|назову|дам|выберу|обойтись|существует|получится)
      |не\s+(?:назову|выберу|определюсь)|(?:решать|решайте|выбирайте|выбор\s+за|судить)\s+(?:сами|вам|вами)
      |(?:выбор|вс[её]|ответ)\s+(?:здесь\s+|тут\s+)?зависит
      |(?:can['’]t|cannot|can\s+not|couldn['’]t|won['’]t|will\s+not|wouldn['’]t|don['’]t|not\s+(?:able|going|willing|ready|prepared)\s+to
      |unable\s+to|rather\s+not|refuse\s+to|decline\s+to|hard\s+to|difficult\s+to|impossible\s+to|hesitate\s+to)
      (?:\s+[a-z]+){0,2}?\s+(?:pick|choose|decide|settle|commit|select|name|single|determine|favou?r|give\s+an?\b)
      |up\s+to\s+you|your\s+call|(?:it|choice|answer)(?:\s+really|\s+all)?\s+depends)\b(?!\s+(?:\w+\s+)?(?:остальн|друг|other|the\s+other|the\s+rest|any\s+other))""",
    re.VERBOSE,
)
#: What follows checks an answer that was stated.
_CHECK: Final = re.compile(
    r"\b(?:само)?проверка\s*[:—–.]|^\W*(?:само)?проверка\b|\b(?:sanity\s+)?check\s*[:—–]|\bverif(?:ying"
    r"|ication)\b"
)
_CHECK_AGAIN: Final = re.compile(
    r"^\W*(?:давайте\s+)?провер(?:им|яем|ю)\b|\b(?:to|let['’]s|let\s+me)\s+(?:verify|check)\b|^\W*check"
)
_RIGHT_MARK: Final = re.compile("[✅✔☑🟢👍]")
_WRONG_MARK: Final = re.compile("[❌✗✘✖❎🔴⛔🚫👎]")


#: Refusals in any text, because they speak of the request or of the model itself.
_OF_THE_REQUEST: Final = re.compile(
    r"""
      (?:как|будучи)\s+(?:и\s+любая\s+)?(?:большая\s+)?(?:языков\w+\s+модел\w+|искусственн\w+\s+интеллект\w*
      |ии\b)
    | не\s+(?:могу|можем|буду|стану|имею\s+возможности|способ\w+|в\s+состоянии)\s+
      (?:вам\s+|тебе\s+)?(?:выполнить|помочь|помогать|обсуждать|поддержать|переписать
      |перефразировать|переформулировать|предоставить
      |сгенерировать|продолжить|отвечать|ответить|участвовать|комментировать)
      [^.!?\n]{0,40}?(?:запрос|просьб|эт(?:от|у|им|ой|ого|ом)\b|тако|таки|подобн|данн|тем[уыа]\b|текст|ваш)
    | (?:отказываюсь|вынужден\w*\s+отказа\w+|воздержусь)\b
    | (?:что-то\s+в\s+вашем\s+вопросе\s+меня\s+смущает|не\s+люблю\s+менять\s+тему\s+разговора
      |(?:давайте|может,?)\s+(?:сменим\s+тему|поговорим\s+(?:о\s+чём|о\s+чем|на\s+другую)))
    | разговоры\s+на\s+(?:некоторые|чувствительные)\s+темы
    | (?:ваш|этот|данный)\s+запрос\s+(?:нарушает|противоречит|содержит\s+(?:недопустим|неприемлем|оскорбит))
    | \bas\s+an?\s+(?:ai|artificial\s+intelligence|(?:large\s+)?language\s+model)\b
    | \b(?:i['’]?m|i\s+am)\s+(?:not\s+able|unable)\s+to\s+(?:help|assist|answer|provide|comply
    |fulfil|complete|respond|rewrite|discuss)
    | \bi\s+(?:can['’]?t|cannot|can\s+not|won['’]?t|will\s+not|must\s+decline\s+to|am\s+not\s+going\s+to)\s+
      (?:help|assist|answer|provide|comply|fulfil|complete|respond|rewrite|discuss|engage|generate
      |do\s+that|participate)
    | \bi\s+(?:must|have\s+to)\s+(?:decline|refuse)\b
    | \b(?:against|violates?)\s+(?:my|our|the)\s+(?:\w+\s+)?(?:guidelines|policy|policies)\b
    """,
    re.VERBOSE,
)
#: Refusals to choose or to compute: in a free text they may be the answer itself.
_OF_THE_QUESTION: Final = re.compile(
    r"""
      (?:извините|простите|к\s+сожалению|sorry|unfortunately)[^.!?\n]{0,60}?
      (?:не\s+(?:могу|можем|смогу|знаю|уверен\w*|удалось)|невозможно|can['’]?t|cannot|unable|don['’]?t\s+know)
    | \bя\s+не\s+(?:могу|смогу|знаю|берусь|уверен\w*|имею\s+(?:доступа|возможности|личн\w+|собственн\w+))
    | ^\W*не\s+(?:могу|знаю|уверен\w*)\b
    | (?:затрудняюсь|сложно|трудно)\s+(?:\w+\s+)?(?:ответить|сказать|определить)
    | невозможно\s+(?:\w+\s+)?(?:определить|ответить|выбрать|установить|сказать)
    | (?:недостаточно|не\s+хватает)\s+(?:информации|данных|сведений|контекста)
    | не\s+(?:видно|приведен\w*|предоставлен\w*|указан\w*)\s+(?:ни\s+)?(?:текст|вопрос|услови
    |вариант|изображени|картинк)
    | \bi\s+(?:don['’]?t|do\s+not)\s+know\b | \bi['’]?m\s+not\s+sure\b | \bi\s+(?:can['’]?t
    |cannot)\s+(?:determine|choose|decide|tell|say)\b
    | \bnot\s+enough\s+(?:information|context)\b | \bcannot\s+be\s+determined\b
    """,
    re.VERBOSE,
)
#: A whole answer that says that there is none.
_NOTHING: Final = re.compile(
    r"\W*(?:я\s+)?(?:не\s+знаю|нет\s+ответа|без\s+ответа|ответа\s+нет|"
    r"затрудняюсь\s+ответить|i\s+don['’]?t\s+know|no\s+answer|unknown|n/a)\W*",
)
#: A refusal opens a reply; later in the text the same words explain an answer.
_REFUSAL_WITHIN: Final = 300


def refusal(text: str, *, free: bool) -> str | None:
    """Return the words by which a model refuses to answer, or `None`.

    Args:
        text: the reply without thought.
        free: whether the answer is a free text, in which "я не могу" may belong to the answer.

    Example:
        >>> refusal("Извините, я не могу помочь с этим запросом.", free=True)
        'не могу помочь с этим'
        >>> refusal("Я не могу с этим согласиться.", free=True)
        >>> refusal("Я не знаю ответа.", free=False)
        'я не знаю'
    """
    found = _found(text, free=free)
    return None if found is None else " ".join(found[0].split())


def _found(text: str, *, free: bool) -> re.Match[str] | None:
    opening = lowered(text[:_REFUSAL_WITHIN])
    found = _OF_THE_REQUEST.search(opening) or (
        _NOTHING.fullmatch(opening) if len(text) < _REFUSAL_WITHIN else None
    )
    return _OF_THE_QUESTION.search(opening) if found is None and not free else found


# ---------------------------------------------------------------------------------------------------------------------
# From sentences to a decision

#: A reply that is longer is read at its beginning and its end; a line that is longer is read in pieces.
_LONGEST_PART: Final = 30_000
_LONGEST_LINE: Final = 1_500
#: A sentence without an answer can state that there is none, or that it follows: "Ответ: Юпитер", "### Ответ".
_DIVIDED: Final = re.compile(r"[:=—–→]|->")
_SHORT: Final = 40
_SENTENCE: Final = re.compile(r"(?<=[.!?…;])\s+")
_ABBREVIATED: Final = re.compile(
    r"\b([тТ])\.\s?([еЕкК])\.|\b(i)\.\s?(e)\.|\b(?:e\.\s?g|напр)\.", re.IGNORECASE
)
#: A line that speaks of one option: "A) Венера — вторая планета", "Меркурий: ...", "| B | ... |".
_LEADING: Final = re.compile(
    rf"^{_SIGNS_ONLY}(?:{_NOUN}{_LINK})?[«\"(\[]?({_NAMED})(?:\s*[).:\]|=»\"]+|\s+[—–-]|\s*[❌✅✔✓✗✘])\s*(?=\S)"
)
_BY_EQUALITY: Final = re.compile(
    r"\b(?:равн[аоы]|равен|составляет|equals|is|was|gives|ровно|всего|получается|выходит|we\s+get)\b"
)
#: What a digit measures on the way to the answer.
_COUNTER: Final = re.compile(
    r"\b(?:баланс|сч[её]тчик|глубин|стек|остат|остал|количеств|разност|ошиб|нарушен|индекс|позици|dp\b|balance|counter"
    r"|count|depth|stack|error|mistake|index|remain|left\b)"
)
_SUBJECT: Final = re.compile(
    r"\b(?:lcs|нoп|ноп|\w*последовательност\w*|subsequence|output|result|answer|ответ\w*|результат\w*"
    r"|длина\s+общей)\b"
)


@dataclass(frozen=True, slots=True)
class _Statement:
    """What a sentence states: an answer, or `None` for several or an impossible one.

    Attributes:
        value: the answer.
        weight: 5 for what is called final, 4 for what is called right, 3 for other statements, 2 for conclusions,
            1 for what is only implied.
        rule: the rule's name.
        sentence: the number of the sentence.
        piece: the sentence.
        open_end: whether the text ends with the statement.
        inferred: whether it is said to follow from what precedes.
    """

    value: str | None
    weight: int
    rule: str
    sentence: int
    piece: str
    open_end: bool = False
    inferred: bool = False


class AnswerReader(ABC):
    """Finds the mentions of answers of one form in a text.

    Attributes:
        labels: all possible answers, if they are few.
        digits: whether the labels are digits, which also count and number things.
        words: whether the labels are words, with which any sentence may begin.
        bare_numbers: whether texts of options are nothing but numbers, which also occur in a solution.
        expression: for numbers, the expression whose value is asked, without spaces; `None` for other answers.
        exact: the weight of an equation whose left side is the expression.
    """

    labels: Sequence[str] = ()
    digits: bool = False
    words: bool = False
    bare_numbers: bool = False
    expression: str | None = None
    exact: int = 3

    @abstractmethod
    def marked(self, text: str, mentions: Mentions) -> str:
        """Return the text with a character in place of each mention of an answer."""

    def echoed(self, text: str) -> set[str]:
        """Return the answers whose options a text in lower case repeats in part."""
        return set()


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """What the rules found in a reply.

    Attributes:
        value: the answer; `None` if there is none.
        rule: the rule that found it, or the reason why there is none.
        piece: the piece of the reply that the rule read.
        refused: whether the reply refuses to answer.
    """

    value: str | None
    rule: str
    piece: str = ""
    refused: bool = False


def find_answer(reply: str, reader: AnswerReader, *, cut: bool = False) -> RuleFinding:
    r"""Find the answer to a closed question or a number in a reply.

    What a reply states decides, and the heaviest statement first: what it calls final (also a box and JSON), what it
    calls right, other statements ("Ответ: B", "выбираю B", a line with nothing but B), conclusions ("значит, B",
    "B подходит"), and at last an answer that is the only one named. Statements of the same weight that differ decide
    nothing, unless the reply takes the earlier one back. Denied answers, first impressions, conditions, questions and
    opinions of others are no statements.

    Args:
        reply: the reply without thought, not empty.
        reader: finds answers of the dataset's form.
        cut: whether the reply was cut off; then only statements count, and no conclusions.
    """
    if len(reply) > 2 * _LONGEST_PART:
        reply = reply[:_LONGEST_PART] + "\n" + reply[-_LONGEST_PART:]
    text = _prepared(reply)
    found = _Scan(reader, text, cut=cut).decided()
    place = lowered(text).find(lowered(found.piece))
    if place >= 0:
        found = replace(found, piece=text[place : place + len(found.piece)])
    if found.value is not None and found.rule in _EXPLICIT:
        return found
    words = refusal(plain(reply), free=False)
    if words is None or (found.value is not None and found.rule == "conclusion"):
        return found
    return RuleFinding(None, "refusal", words, refused=True)


#: Rules that hold whatever else a reply says; others give way to a refusal.
_EXPLICIT: Final = frozenset(
    {"whole reply", "JSON", "box", "answer statement", "first line", "beginning", "last line"}
)


def _prepared(reply: str) -> str:
    """Return the text with marks where a box or a JSON value stands."""
    text = _PRIVATE.sub(" ", reply)
    if "{" in text and (held := json_answer(text)) is not None:
        text = text.replace(held[1], f"\n{_JSON}{_as_text(held[0])}\n", 1) if held[1] in text else text
    if "\\" in text:
        text = _BOXED.sub(lambda found: f"\n{_BOX}{found[1] if found[1] is not None else found[2]}\n", text)
    text = _ABBREVIATED.sub(_spelled_out, text.replace("<answer>", "\nответ: ").replace("</answer>", "\n"))
    return plain(text)


def _spelled_out(found: re.Match[str]) -> str:
    if not found[2]:
        return "that is" if found[3] else "for example"
    return "то есть" if found[2] in "еЕ" else "так как"


def _as_text(value: Json) -> str:
    if isinstance(value, list):
        return ", ".join(map(_as_text, value))
    return "" if value is None or isinstance(value, bool | dict) else str(value).replace("\n", " ")


def _pieces(line: str) -> Iterator[str]:
    """Divide a long line, if possible between sentences, so that the time of the rules grows with the length only."""
    start = 0
    while len(line) - start > _LONGEST_LINE:
        ends = [found.end() for found in _SENTENCE.finditer(line, start, start + _LONGEST_LINE)]
        end = ends[-1] if ends else start + _LONGEST_LINE
        yield line[start:end]
        start = end
    yield line[start:]


class _Scan:
    """One pass through the sentences of a reply."""

    def __init__(self, reader: AnswerReader, text: str, *, cut: bool) -> None:
        self.reader, self.cut = reader, cut
        self.mentions = Mentions()
        self.statements: list[_Statement] = []
        self.denied: set[str] = set()
        self.named: set[str] = set()
        self.options: set[str] = set()
        self.taken_back = ""
        self.none_fits = ""
        self.last_named: set[str] = set()
        self.last_place = 0
        self.last_text = self.tail = ""
        self.noun_first = False
        self.checking = False
        self.doubted = False
        self.sentence = 0
        marked = reader.marked(text, self.mentions)
        several = len(self.mentions.known) > 1
        self.tasks = several and len({self.mentions.value(sign) for sign in _TASK.findall(marked)}) > 1
        lines = (line for line in marked.split("\n") if line.strip(" \t*_`#>-–—|"))
        self._read([piece for line in lines for piece in _pieces(line)])

    # ----- reading

    def _read(self, lines: list[str]) -> None:
        reduced = [self._reduced(line) for line in lines]
        leading = [found[1] if (found := _LEADING.match(line)) else "" for line in reduced]
        listed = {self.mentions.value(sign) for sign in leading if sign}
        enumerated = len(listed) > 1
        pending: tuple[int, str] | None = None
        for place, line in enumerate(reduced):
            first, last = place == 0, place == len(reduced) - 1
            if pending is not None:
                following = {one["value"] for one in map(_ALONE.fullmatch, reduced[place : place + 2]) if one}
                if not (enumerated and leading[place]) and len(following) < 2:
                    self._state(*pending, line, line, open_end=last)
                pending = None
            if self._marked_line(line):
                continue
            if enumerated and leading[place] and not _ALONE.fullmatch(line):
                found = _LEADING.match(line)
                line = line[found.end() :] if found else line  # noqa: PLW2901 - the line without its label
            elif (first or (last and not self.cut)) and (
                alone := _ALONE.fullmatch(line) or (first and last and _ONLY.fullmatch(line))
            ):
                rule = "whole reply" if first and last else "first line" if first else "last line"
                beside = (*reduced[max(0, place - 1) : place], *reduced[place + 1 : place + 2])
                self._alone(alone["value"], rule, line, beside, open_end=last)
                continue
            self.noun_first = first and _NOUN_FIRST.match(lowered(lines[0])) is not None
            sentences = _SENTENCE.split(line)
            for number, sentence in enumerate(sentences):
                self.sentence += 1
                end = last and number == len(sentences) - 1
                pending = self._read_sentence(
                    sentence, first=first and number == 0 and not enumerated, last=end
                )

    def _alone(self, sign: str, rule: str, line: str, beside: Sequence[str], *, open_end: bool) -> None:
        """Add a line that is nothing but an answer; lines beside it that are other answers make a list."""
        self.sentence += 1
        if re.match(f"[{_RESULT}]", sign):
            exact = re.match(f"[{_EXACT}]", sign) is not None
            self._add(sign, self.reader.exact if exact else 2, rule, line, open_end=open_end)
            return
        several = any(one["value"] != sign for one in map(_ALONE.fullmatch, beside) if one)
        self._put(None if several else self.mentions.value(sign), 3, rule, line, open_end=open_end)

    def _reduced(self, line: str) -> str:
        """Reduce what names an answer to one character: "вариант (C) Меркурий"; mark denied answers and lists."""
        text = lowered(line)
        if not _PRIVATE.search(text):
            return text
        text = _HEADED.sub(r"\1: \2", _BRACKETED.sub(r"\1", text))
        text = _TWICE.sub(self._same, text)
        text = _GLOSS.sub(self._combined, _GLOSSED.sub(self._combined, text))
        text = _NAMED_OPTION.sub(lambda found: _as("sure", found[1]), text)
        text = _NTH.sub(lambda found: _as("sure", found[1] or found[2]), text)
        if self.reader.expression is not None:
            text = _EQUATION.sub(self._equated, text)
        text = _NOT_BEFORE.sub(self._denied, text)
        text = _NOT_AFTER.sub(self._denied, text)
        return _LISTED.sub(self._list, text)

    def _combined(self, found: re.Match[str]) -> str:
        same = self.mentions.value(found[1]) == self.mentions.value(found[2])
        return _as("sure", found[1]) if same else _SEVERAL

    def _same(self, found: re.Match[str]) -> str:
        """Reduce an answer that is repeated in other words: "85 (восемьдесят пять)"."""
        return found[1] if self.mentions.value(found[1]) == self.mentions.value(found[2]) else found[0]

    def _denied(self, found: re.Match[str]) -> str:
        return re.sub(_NAMED, lambda sign: _as("denied", sign[0]), found[0])

    def _list(self, found: re.Match[str]) -> str:
        signs = re.findall(_STATED, found[0])
        if self.reader.expression is not None and _OPERATOR.search(found[0]):
            return found[0]
        return signs[0] if len({self.mentions.value(sign) or sign for sign in signs}) == 1 else _SEVERAL

    def _equated(self, found: re.Match[str]) -> str:
        parts = _EQUALS.split(found[0])
        right = parts[-1].strip(" ()[]")
        if len(parts) < 2 or len(right) != 1 or not re.match(f"[{_SURE}]", right):
            return found[0]
        left = re.sub(r"\s", "", self.mentions.shown(parts[0]).translate(_OPERATORS))
        exact = left != "" and left.lstrip("/").strip("()") == (self.reader.expression or "").strip("()")
        value = _as("expression" if exact else "equation", right)
        return f" {value} "

    # ----- statements

    def _add(self, sign: str, weight: int, rule: str, piece: str, *, open_end: bool = False) -> None:
        self._put(self.mentions.value(sign), weight, rule, piece, open_end=open_end)

    def _put(
        self,
        value: str | None,
        weight: int,
        rule: str,
        piece: str,
        *,
        open_end: bool = False,
        inferred: bool = False,
    ) -> None:
        if self.checking and weight < 3:
            return
        shown = self.mentions.shown(piece).strip()
        self.statements.append(_Statement(value, weight, rule, self.sentence, shown, open_end, inferred))
        self.doubted = False

    def _marked_line(self, line: str) -> bool:
        """Read the marks ✅ and ❌ of a line about one option."""
        if not self.reader.labels:
            return False
        values = {self.mentions.value(sign) for sign in re.findall(f"[{_SURE}{_OPTION}{_DENIED}]", line)} - {
            None
        }
        if len(values) != 1:
            return False
        (value,) = values
        if value is not None and _WRONG_MARK.search(line):
            self.denied.add(value)
            return True
        if _RIGHT_MARK.search(line):
            self._put(value, 3, "ticked", line)
            return True
        return False

    def _state(
        self, weight: int, rule: str, rest: str, piece: str, *, open_end: bool, strict: bool = True
    ) -> None:
        """Add a statement; if it is strict, also one that names no answer, which then has none."""
        value, mentioned = self._inside(rest)
        if mentioned or strict:
            self._put(value, weight, rule, piece, open_end=open_end)

    def _inside(self, rest: str) -> tuple[str | None, bool]:
        """Return the answer in what is said to be the answer, and whether it names any."""
        reader = self.reader
        found = _INSIDE.match(rest)
        follows = found and reader.expression is not None and re.match(r"\s*[^\W\d_]", rest[found.end() :])
        if follows and len({self.mentions.value(one) for one in re.findall(_STATED, rest)}) > 1:
            return None, not re.match(f"[{_WORD}]", found["value"]) if found else True
        if found and self._ends(rest, found.end()):
            return self._without_alternative(rest, found), True
        signs = set(re.findall(f"[{_SURE}{_RESULT}{_SEVERAL}]", rest))
        values = {self.mentions.value(sign) for sign in signs}
        if (
            len(values) == 1
            and reader.expression is None
            and (not reader.digits or re.search(rf"[{_SURE}]{_SIGNS_ONLY}$", rest))
        ):
            return values.pop(), True
        options = {self.mentions.value(sign) for sign in re.findall(f"[{_OPTION}]", rest)}
        if not signs and len(options) == 1 and re.search(rf"[{_OPTION}]{_SIGNS_ONLY}$", rest):
            return options.pop(), True
        return None, bool(re.search(_STATED, rest))

    def _without_alternative(self, text: str, found: re.Match[str]) -> str | None:
        """Return a stated answer, unless another is said to be possible: "C, или, возможно, A"."""
        value = self.mentions.value(found["value"])
        other = _ALTERNATIVE.match(text, found.end("value"))
        return None if other and self.mentions.value(other["value"]) != value else value

    def _ends(self, text: str, place: int) -> bool:
        if self.reader.expression is not None:
            return re.match(_END_OF_NUMBER, text[place : place + 40]) is not None
        return re.match(_END, text[place : place + 40]) is not None

    def _read_sentence(self, text: str, *, first: bool, last: bool) -> tuple[int, str] | None:
        """Collect what a sentence states; return a statement whose answer is on the next line."""
        if _CHECK.search(text) or (self.statements and _CHECK_AGAIN.search(text)):
            self.checking = True
        if self.cut and _DOUBTED.search(text):
            self.doubted = True
        if _CLOSING.match(text):
            return None
        if (declined := _DECLINED.search(text)) is not None and not text.rstrip().endswith("?"):
            self.statements.clear()
            self.none_fits = self.mentions.shown(text)
            text, first = text[declined.end() :], False
        back = _TAKEN_BACK.search(text)
        if back is not None:
            self._collect_all(text[: back.start()], first=first, last=False)
            if self.statements:
                self.statements.clear()
                self.checking = False
                self.taken_back = self.mentions.shown(text)
            text, first = text[back.start() :], False
        return self._collect_all(text, first=first, last=last)

    def _collect_all(self, text: str, *, first: bool, last: bool) -> tuple[int, str] | None:
        supposed = _SUPPOSED.search(text) if _PRIVATE.search(text) else None
        contrast = _CONTRAST.search(text, supposed.end()) if supposed else None
        if contrast is not None:  # "Most people say A, but the answer is B"
            self._collect_all(text[: contrast.start()], first=first, last=False)
            return self._collect_all(text[contrast.start() :], first=False, last=last)
        self.tail += " " + text
        none = _NONE.search(text)
        if none and not any(one.weight > 2 for one in self.statements):
            self.statements.clear()
            self.none_fits = self.mentions.shown(text)
        question = text.rstrip(' "»)*').endswith("?")
        if question and _OR.match(text):
            self.statements.clear()
        if question or not (_PRIVATE.search(text) or _DIVIDED.search(text) or len(text) < _SHORT):
            return None
        self.denied.update(filter(None, map(self.mentions.value, re.findall(f"[{_DENIED}]", text))))
        limit = supposed.start() if supposed else len(text)
        if self.reader.expression is not None and _STEP.search(text):
            limit = 0
        named = {self.mentions.value(sign) or sign for sign in re.findall(_STATED, text)}
        if named and not self.checking:
            ends = re.search(rf"[{_SURE}{_OPTION}]{_SIGNS_ONLY}$", text)
            counts = self.reader.digits and (not ends or _COUNTER.search(text) or _BY_EQUALITY.search(text))
            self.last_named = set() if none or supposed or counts else named
            self.last_place = self.sentence
            self.last_text = self.tail = text
        if none or supposed:
            self.named |= {f"?{name}" for name in named}
        else:
            self.named |= named
            self.options |= {self.mentions.value(sign) or sign for sign in re.findall(f"[{_OPTION}]", text)}
        return self._collect(text, limit, first=first, last=last)

    def _collect(self, text: str, limit: int, *, first: bool, last: bool) -> tuple[int, str] | None:
        """Collect the statements of a sentence that begin before the place `limit`."""
        pending = self._heads(text, limit, last=last)
        if not _PRIVATE.search(text):
            return pending
        stated = bool(self.statements) and self.statements[-1].sentence == self.sentence
        if (alone := _ALONE.fullmatch(text)) and (first or last):
            weight, rule = (3, "beginning") if first else (2, "last line")
            self._add(alone["value"], weight, rule, text, open_end=last)
        elif called := _CALLED.fullmatch(text):
            self._add(called["value"], 3, "called right", text, open_end=last)
        elif (first or self.reader.words) and not stated:
            beginning = _BEGINNING.match(text)
            if beginning and self._begins(text, beginning):
                self._put(self._not_contrary(text, beginning), 3, "beginning", text)
        for pattern, weight, rule in _PATTERNS:
            for found in pattern.finditer(text):
                if found.start("value") <= limit and self._accepted(text, found, rule, last=last):
                    inferred = rule == "conclusion" and _INFERRED.search(found[0]) is not None
                    value = self._without_alternative(text, found)
                    self._put(value, weight, rule, text, open_end=last, inferred=inferred)
        if self.reader.expression is not None and limit == len(text):
            for sign in re.findall(f"[{_EXACT}]", text):
                self._add(sign, self.reader.exact, "the item's expression", text, open_end=last)
        return pending

    def _heads(self, text: str, limit: int, *, last: bool) -> tuple[int, str] | None:
        """Collect the statements such as "Ответ: B"; return one whose answer is on the next line."""
        pending = None
        for found in _HEAD.finditer(text):
            mark = found["mark"]
            before = text[: found.start()]
            weight = (
                5 if found["final"] or found["last"] or mark else 4 if found["right"] or found["bare"] else 3
            )
            late = found.start() >= limit and mark is None
            inside = found["noun"] and weight == 3 and before.strip(" *_#>-\t")
            if late or inside or _TURNED.search(before[-25:]):
                continue
            rule = {"": "answer statement", _BOX: "box", _JSON: "JSON"}[mark or ""]
            rest = text[found.end() :]
            if not rest.strip(' *_`#>"«'):
                pending = (weight, rule)
                continue
            strict = found["divider"] is not None and not mark
            self._state(weight, rule, rest, text, open_end=last, strict=strict)
        return pending

    def _begins(self, text: str, found: re.Match[str]) -> bool:
        """Check whether a beginning answers, and does not begin a list or speak of an option."""
        sign, after = found["value"], text[found.end("value") :].lstrip()
        listed = len(set(re.findall(rf"([{_SURE}])\s*[).:\]—–-]", text))) > 1
        spoken_of = self.noun_first and re.match(r"[:—–-]", after)
        word = re.match(f"[{_WORD}]", sign) and not re.match(
            r"(?!,\s*(?:что|котор|which|that))[.,!)]|потому|так|because|since", after
        )
        number = self.reader.expression is not None and not re.match(
            r"[.,;!—–(]|потому|так|because|since", after
        )
        analysed = (
            self.cut
            and self.reader.labels
            and self.mentions.value(sign) == self.reader.labels[0]
            and re.match(r"[).:\]—–-]", after)
        )
        others = {self.mentions.value(one) or one for one in re.findall(f"[{_SURE}{_SEVERAL}]", text)}
        named = bool(re.match(f"[{_OPTION}]", sign) and others - {self.mentions.value(sign)})
        subject = re.match(f"[{_OPTION}{_SEVERAL}]", sign) and re.match(r"[—–-]", after)
        return not (listed or named or spoken_of or word or number or analysed or subject)

    def _not_contrary(self, text: str, found: re.Match[str]) -> str | None:
        """Return the answer with which a reply begins, unless it goes on with words that mean another."""
        value = self.mentions.value(found["value"])
        meant = _MEANT.match(text, found.end("value"))
        return None if meant and self.mentions.value(meant["value"]) != value else value

    def _accepted(self, text: str, found: re.Match[str], rule: str, *, last: bool) -> bool:
        """Check whether what surrounds a found statement lets it stand."""
        after = text[found.end("value") :]
        ends = re.match(rf"\s*[.!)]*{_SIGNS_ONLY}$", after) is not None
        kind = next(name for name, chars in _KINDS.items() if re.match(f"[{chars}]", found["value"]))
        if (
            (
                kind == "option"
                and self.reader.bare_numbers
                and not (last and ends)
                and not _INFERRED.search(found[0])
            )
            or (kind == "word" and re.match(r"\s*[—–-]", after))
            or (kind == "equation" and not ends)
            or (found.re is _AT_END and not (last and self.reader.labels))
        ):
            return False
        if rule != "conclusion" or not self._ends(text, found.end("value")):
            return rule != "conclusion"
        if _WEAK_LEAD.fullmatch(found[0][:-1]):
            return ends or re.search(f"[{_DENIED}]", text[: found.start("value")][-12:]) is not None
        if self.reader.expression is not None and _BY_EQUALITY.search(found[0]):
            before = re.findall(_STATED, text[: found.start()])
            own = set(re.findall(r"\d+", self.reader.expression))
            return {str(self.mentions.value(one)).strip("-") for one in before if one != _SEVERAL} <= own
        if self.reader.digits and (_BY_EQUALITY.search(found[0]) or _COUNTER.search(text)):
            return _SUBJECT.search(text, 0, found.end("value")) is not None and "[" not in text
        return True

    # ----- the decision

    def decided(self) -> RuleFinding:
        """Choose among the statements."""
        if self.tasks:
            return RuleFinding(None, "several answers", self.mentions.shown(self.tail).strip())
        ticked = {one.value for one in self.statements if one.rule == "ticked"}
        strong = [
            one for one in self.statements if one.weight > 2 and (one.rule != "ticked" or len(ticked) == 1)
        ]
        if strong:
            return self._heaviest(strong)
        if self.cut:
            return RuleFinding(None, "no final statement before the cut")
        weak = [one for one in self.statements if one.weight == 2]
        if weak:
            return self._concluded(weak)
        if self.taken_back:
            return RuleFinding(None, "the answer is taken back", self.taken_back)
        return self._implied()

    def _concluded(self, weak: list[_Statement]) -> RuleFinding:
        """Choose among conclusions: the last one, if it ends the reply or all are the same."""
        last = weak[-1]
        at_end = {one.value for one in weak if one.sentence == last.sentence}
        if self.last_place > last.sentence and len(self.last_named) == 1:
            at_end |= self.last_named
        alike = len({one.value for one in weak}) == 1
        if last.value is None or len(at_end) > 1 or not (alike or last.sentence == self.sentence):
            return RuleFinding(None, "several answers", " / ".join(one.piece for one in weak)[:500])
        if (echoed := self.reader.echoed(last.piece)) and last.value not in echoed:
            return RuleFinding(None, "the reasoning names another answer", last.piece)
        return RuleFinding(last.value, last.rule, last.piece)

    def _heaviest(self, strong: list[_Statement]) -> RuleFinding:
        last = strong[-1]
        most = max(one.weight for one in strong)
        heaviest = [one for one in strong if one.weight == most]
        chosen = heaviest[-1]
        values = {one.value for one in strong}
        if len(values) > 1:
            resolved = all(one.value is None for one in strong[:-1])
            heavier = len({one.value for one in heaviest}) == 1 and chosen is last
            if not (resolved or heavier):
                pieces = " / ".join(dict.fromkeys(one.piece for one in strong))
                return RuleFinding(None, "answer statements differ", pieces)
            chosen = last
        if chosen.value is None:
            return RuleFinding(None, "the stated answer has none or several", chosen.piece)
        if chosen.weight < 5 and self._contradicted(chosen):
            return RuleFinding(None, "the reasoning names another answer", chosen.piece)
        if self.cut and (self.doubted or (chosen.open_end and not self.reader.labels)):
            return RuleFinding(None, "no final statement before the cut", chosen.piece)
        return RuleFinding(chosen.value, chosen.rule, chosen.piece)

    def _contradicted(self, chosen: _Statement) -> bool:
        """Check whether a conclusion of the same reply, or the sentence itself, speaks for another answer."""
        inferred = {one.value for one in self.statements if one.inferred and one.sentence < chosen.sentence}
        others = inferred - {chosen.value, None} if self.reader.labels else set()
        echoed = self.reader.echoed(chosen.piece)
        return bool(others) or bool(echoed and chosen.value not in echoed)

    def _implied(self) -> RuleFinding:
        """Return an answer that no sentence states, but that is the only one named at last, or the only one left."""
        if self.none_fits:
            return RuleFinding(None, "no answer fits", self.none_fits)
        ends = re.search(rf"[{_SURE}{_WORD}{_OPTION}]{_SIGNS_ONLY}$", self.last_text)
        unsure = (
            self.reader.expression is not None
            or self.reader.words
            or not ends
            or re.search(f"[{_DENIED}]", self.last_text)
            or _UNSURE.search(self.last_text)
            or _CALLED_WRONG.search(self.tail)
        )
        only = self.options if self.reader.digits else self.named
        close = self.sentence - self.last_place < 2
        candidates = (
            (only if only == self.named else set(), "only one"),
            (self.last_named if close else set(), "last sentence"),
        )
        for values, rule in () if unsure else candidates:
            if len(values) == 1 and not values & self.denied and values <= self.mentions.known:
                (value,) = values
                if not self.reader.labels and "," not in value:
                    continue  # one number of the exam may be a count
                return RuleFinding(value, rule, value)
        left = set(self.reader.labels) - self.denied
        if len(left) == 1 and self.denied and not self.named - left:
            return RuleFinding(left.pop(), "the others are denied", ", ".join(sorted(self.denied)))
        named = sorted(self.named & self.mentions.known)
        return RuleFinding(None, "several answers" if self.named else "no answer", ", ".join(named[:12]))


def own_part(reply: str, asked: str) -> str:
    r"""Return a reply up to the item with which a model goes on by itself.

    A repetition of the question that was asked is part of the reply.

    Example:
        >>> own_part("Рим\n\nВопрос: Столица Франции?\nОтвет: Париж", "Вопрос: Столица Италии?")
        'Рим'
    """
    for found in _NEXT_ITEM.finditer(low := lowered(reply)):
        if not reply[: found.start()].strip(" *_#\n-"):
            if re.search(r"\d", found[0]):
                return reply  # answers to several items, which the rules find to differ
            continue
        title = _WORDLESS.sub(" ", low[found.end() :].lstrip().split("\n", 1)[0][:_TITLE]).strip()
        if not (title and title in _WORDLESS.sub(" ", lowered(asked))):
            return reply[: found.start()].rstrip()
    first, _, rest = reply.partition("\n")
    return first if _NUMBER_ONLY.fullmatch(first) and _NEXT_SUMS.fullmatch(rest) else reply


#: A number, and then items of the dataset's bare form: "604 + 18 = 622".
_NUMBER_ONLY: Final = re.compile(r"\W{0,5}\d[\d ]*\W{0,5}")
_NEXT_SUMS: Final = re.compile(r"(?:\s*\(*-?\d[\d +*()-]{2,60}(?:=|->)[ -]*\d*[ ]*(?=\n|$))+\s*")
_WORDLESS: Final = re.compile(r"\W+")
#: So many characters of a question show that it is the one that was asked.
_TITLE: Final = 30


def stated_texts(reply: str) -> list[tuple[str, bool]]:
    r"""Return the free texts that a reply states as its answer, and whether the reply goes on after them.

    Example:
        >>> stated_texts("Ответ: самовар?\nПравильный ответ — чайник.")
        [('чайник.', False)]
    """
    found: list[tuple[str, bool]] = []
    lines = [line for line in plain(reply[-_LONGEST_PART:]).split("\n") if line.strip(" *_`#>\t-—")]
    lines = [piece for line in lines for piece in _pieces(line)]
    for place, line in enumerate(lines):
        low = lowered(line)
        for head in _HEAD.finditer(low):
            before = low[max(0, head.start() - 200) : head.start()]
            if _TURNED.search(before[-25:]) or _SUPPOSED.search(_SENTENCE.split(before)[-1]):
                continue
            if head["noun"] and (
                not (head["final"] or head["right"]) and low[: head.start()].strip(" *_#>-\t")
            ):
                continue
            text, end = line[head.end() :].strip(), place
            if not text.strip(' *_`#>"«') and place + 1 < len(lines):
                text, end = lines[place + 1].strip(), place + 1
            if text and not text.endswith("?"):
                found.append((text, end + 1 < len(lines)))
    return found


#: What before a statement turns it round: "неправильный ответ:", "not the answer:".
_TURNED: Final = re.compile(
    r"(?:\bне|\bне(?:правильн|верн)\w*|\bошибочн\w*|\bincorrect|\bwrong|\bnot(?:\s+the)?)\s*$"
)
#: The signs of multiplication, division and minus, as `_OPERATORS` unifies them.
_OPERATORS: Final = str.maketrans(
    {"·": "*", "×": "*", "∙": "*", "÷": "/", ":": "/", "−": "-", "–": "-", "[": "(", "]": ")"}
)
_PATTERNS: Final = (
    (_CHOICE, 3, "answer statement"),
    (_GOOD_AFTER, 2, "called right"),
    (_GOOD_BEFORE, 2, "called right"),
    (_CONCLUSION, 2, "conclusion"),
    (_AT_END, 2, "conclusion"),
)


#: The order of letters that a question of the exam names: "в порядке букв А, Б, В, Г", "для А, Б, В и Г".
_LETTERS: Final = re.compile(r"(?:букв\w*|для)\s+\(?((?:[А-Я]\s*,\s*)+[А-Я](?:\s+и\s+[А-Я])?)\b")


def letters_asked(prompt: str) -> tuple[str, ...]:
    """Return the letters for which a question of the exam asks a number each; empty if it names none.

    Example:
        >>> letters_asked("Запишите цифры в порядке букв А, Б, В.")
        ('А', 'Б', 'В')
    """
    named = _LETTERS.findall(prompt)
    return tuple(re.findall(r"[А-Я]", named[-1])) if named else ()
