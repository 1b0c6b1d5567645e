"""The rules by which an answer is found in a model's reply: which statement is final, which is only a mention.

A reader (`merilo.models.answer_readers`) replaces every answer that the text mentions by one character, so that the
rules below need not know whether the answers are labels or numbers. `find_answer` goes through the sentences once and
collects what they state, deny and take back; `_decided` chooses.
"""

from __future__ import annotations

import json
import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args
from unicodedata import normalize

from merilo.strict_json import Json

#: Characters without a shape of their own: zero-width spaces, soft hyphens, the marks that make a digit a keycap.
#: Letters and digits in circles, in squares and in mathematical alphabets.
_STYLED: Final = (
    *range(0x2460, 0x2474),
    *range(0x24B6, 0x24EA),
    *range(0x1D400, 0x1D800),
    *range(0x1F130, 0x1F14A),
)
_TABLE: Final = {
    **dict.fromkeys(
        map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad\ufe0f\u20e3"), ""
    ),  # without a shape of their own
    **dict.fromkeys(map(ord, "\u00a0\u2007\u2009\u202f"), " "),
    **{code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},  # full width
    **{code: normalize("NFKC", chr(code)).strip("()") for code in _STYLED},
    **{start + place: chr(65 + place) for start in (0x1F150, 0x1F170) for place in range(26)},  # badges
    0x201A: ",",
    0x066B: ",",
    0x2024: ".",
}

_LATEX: Final = re.compile(
    r"\\(?:text|textbf|textit|texttt|textrm|mathrm|mathbf|mathsf|operatorname)\s*\{([^{}]*)\}"
)
_LATEX_MARKS: Final = re.compile(
    r"~~.*?~~|\\[()\[\]]|&(?==)|\\\\(?=\s)|\\(?:begin|end)\{\w+\*?\}|\$|\\[,;!:]|(?<=\d)\{,\}(?=\d)|\\displaystyle"
)
_BOXED: Final = re.compile(r"\\(?:boxed|fbox)\s*(?:\{((?:[^{}]|\{[^{}]*\})*)\}|\s(\w+))")
_MATHS: Final = {
    "cdot": "*",
    "times": "*",
    "div": "/",
    "rightarrow": "→",
    "to": "→",
    "neq": "≠",
    "approx": "≈",
}
_LATEX_SIGNS: Final = re.compile(rf"\\({'|'.join(_MATHS)})\b")
#: Marks of emphasis; between digits an asterisk is a multiplication.
_EMPHASIS: Final = re.compile(
    r"\*\*+|__+|`+|</?(?:b|strong|i|em|u|code)>|(?<![\w)\s])\*(?=\S)|(?<=[^\W\d_])\*(?!\*)"
    r"|(?<!\S)\*(?=[^\W\d_])"
)
_MOST_OBJECTS: Final = 20

# ---------------------------------------------------------------------------------------------------------------------
# Characters for answers

#: A sure mention of an answer; a word that may be one ("first"); the text of an option; an answer that is denied, or
#: the result of a step; the right side of an equation with all numbers of the item's expression; that of itself.
MentionKind: TypeAlias = Literal["sure", "word", "option", "denied", "equation", "expression"]
_BASES: Final[dict[MentionKind, int]] = {
    kind: 0xE000 + 0x400 * place for place, kind in enumerate(get_args(MentionKind))
}
_MOST_VALUES: Final = 0x400
_KINDS: Final[tuple[MentionKind | None, ...]] = (*_BASES, None)
_RESULTS: Final = ("equation", "expression")
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


def _kind(sign: str) -> MentionKind | None:
    """Return what a character stands for; `None` for a mark."""
    return _KINDS[(ord(sign) - 0xE000) // _MOST_VALUES]


def _deny(found: re.Match[str]) -> str:
    return re.sub(_NAMED, lambda sign: _as("denied", sign[0]), found[0])


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
    return _EMPHASIS.sub("", _LATEX_SIGNS.sub(lambda found: _MATHS[found[1]], text))


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
        named = next((keys[key] for key in TABLES["json"]["keys"].split() if key in keys), None)
        if len({repr(held[name]) for key, name in keys.items() if "answer" in key or "ответ" in key}) > 1:
            continue  # a corrected answer, or one of several questions
        if named is None and len(held) == 1:
            named = next(iter(held))
        if named is not None:
            return held[named], piece
    return None


def json_object(text: str) -> dict[str, Json] | None:
    """Return the last JSON object of the text."""
    return next((held for held, _ in _json_objects(text)), None)


def _json_objects(text: str) -> Iterator[tuple[dict[str, Json], str]]:
    """Yield the JSON objects of a text, the last one first."""
    found: list[tuple[dict[str, Json], str]] = []
    start = text.find("{")
    while start >= 0 and len(found) < _MOST_OBJECTS:
        try:
            held, end = json.JSONDecoder().raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            found.append((held, text[start:end]))
        start = text.find("{", end)
    yield from reversed(found)


# ---------------------------------------------------------------------------------------------------------------------
# The grammar of statements, on sentences in lower case whose answers are characters


def _words(listed: str) -> str:
    """Return a pattern of the words of one entry of `answer_words.toml`, which explains its signs."""
    signs = {"*": r"\w*", "~": r"\w{0,3}", "_": r"\s+", "'": "['’]?"}
    pattern = re.sub(r"(?<!\\[wW])\*|[~_']", lambda sign: signs[sign[0]], "|".join(listed.split()))
    return f"(?:{pattern})"


_ENTRIES: Final = tomllib.loads(Path(__file__).with_name("answer_words.toml").read_text(encoding="utf-8"))
#: Name -> a pattern of the words of this meaning; name of a table -> its entries as they stand.
WORDS: Final = {name: _words(words) for name, words in _ENTRIES.items() if isinstance(words, str)}
TABLES: Final[Mapping[str, Mapping[str, str]]] = {
    name: words for name, words in _ENTRIES.items() if isinstance(words, dict)
}

_SURE: Final = "\ue000-\ue3ff"
_WORD: Final = "\ue400-\ue7ff"
_OPTION: Final = "\ue800-\uebff"
_DENIED: Final = "\uec00-\uefff"
_RESULT: Final = "\uf000-\uf7ff"
_EXACT: Final = "\uf400-\uf7ff"
#: An answer that may be denied; an answer or a mark that may be stated; signs that are no answers.
_NAMED: Final = f"[{_SURE}{_WORD}{_OPTION}]"
_STATED: Final = f"[{_SURE}{_WORD}{_OPTION}{_RESULT}{OTHER}{_SEVERAL}]"
_SIGNS: Final = r"[^\w\ue000-\uf8ff]*"

#: Words that name an option, and what stands between them and the label.
_LINK: Final = r"\s*(?:здесь\s+|тут\s+)?(?:под\s+(?:буквой|номер(?:ом|ами)|цифрой)|number|letter)?\s*[№#]?\s*"
_JOIN: Final = (
    r"\s*(?:,?\s*\b(?:и/или|и|или|либо|and/or|and|or|nor|ни|versus|vs\.?|through|to|до)\b,?"
    r"(?:\s*(?:даже|возможно|может\s+быть|perhaps|maybe|possibly)\b,?)?|,|/|&|\+|[–—-])\s*"
)
_LIST: Final = rf"(?:{WORDS['noun']}\s+)?{_NAMED}(?:{_JOIN}(?:{WORDS['noun']}\s+)?{_NAMED}){{0,11}}+"
_LISTED: Final = re.compile(
    rf"[{_SURE}{_WORD}{_OPTION}{OTHER}](?:{_JOIN}(?:{WORDS['noun']}{_LINK})?[{_SURE}{_WORD}{_OPTION}{OTHER}]){{1,30}}"
)

# What names an answer twice is one mention: «C», "C) Меркурий", "Меркурий (C)", "вариант C", "the first option".
_BRACKETED: Final = re.compile(rf"[«\"'“„‘(\[<]\s*({_STATED})\s*\.?[»\"'”“’)\]>]")
_NOUN_FIRST: Final = re.compile(rf"{_SIGNS}(?:(?:the\s+)?{WORDS['noun']}\b|{_NAMED}\s+{WORDS['noun']}\b)")
_GLOSSED: Final = re.compile(rf"([{_SURE}])\s*[).:,=—–-]{{0,2}}\s*[«\"(]?([{_OPTION}])[»\")]?")
_GLOSS: Final = re.compile(
    rf"([{_OPTION}])\s*[.,(—–→-]{{0,2}}\s*"
    rf"(?:{WORDS['meaning']}(?!\w),?\s*)*(?:{WORDS['noun']}{_LINK})?([{_SURE}])\)?"
)
_TAGGED: Final = re.compile(rf"([{_OPTION}])[»\"]?\s*[(\[](?:{WORDS['noun']}{_LINK})?([{_SURE}])[)\]]")
_HEADED: Final = re.compile(
    rf"(?<!\bне\s)(?<!\bnot\s)\b(ответ|answer)\s+([{_SURE}{_WORD}])(?=\s*(?:[.!;]|$))"
)
_TWICE: Final = re.compile(rf"([{_SURE}{_WORD}])\s+([{_SURE}{_WORD}])")
_NAMED_OPTION: Final = re.compile(rf"(?:\b{WORDS['noun']}{_LINK})+([{_SURE}{_WORD}])")
_NTH: Final = re.compile(
    rf"([{_WORD}])\s+(?=вариант|option|statement|фрагмент|причин)\w+|([{_WORD}])\s+(?:(?:из\s+)?(?:{WORDS['noun']})(?![\w:])|one\b)|([{_SURE}])\s+(?:вариант|ответ|option)(?![\w:])"
)
_EQUATION: Final = re.compile(rf"[{_SURE}{OTHER}+*/×·∙÷:^()\[\]=→>≈\s−-]{{3,}}")
_OPERATOR: Final = re.compile(r"[+/–—-]")
_CHAIN: Final = re.compile(r"(?<=[\d)])\s*\n\s*=")
_EQUALS: Final = re.compile(r"=>|->|=|→|≈")

# What denies the answers after it, and before it.
#: What is excluded, to the end of the clause chain: "исключаем B и D, затем A".
_EXCLUDED: Final = re.compile(rf"\b{WORDS['excludes']}(?:(?!{WORDS['leaves']})[^.;:!?—–])*")
#: What something is compared with: neither stated nor denied.
_COMPARED: Final = re.compile(
    rf"((?:\b{WORDS['than']}|{_NAMED}\s+(?:\w+\s+)?(?:лучше|\w{{3,}}ее)|\b(?:лучше|хуже|\w{{3,}}ее)(?=\s+\w+[аи]\s))\s+"
    rf"(?:the\s+)?(?:{WORDS['noun']}{_LINK})?){_NAMED}"
)
_NOT_BEFORE: Final = re.compile(
    rf"(?:\b{WORDS['denies']}|(?:\b(?:не|нельзя|not)|n['’]t)\s+(?:\w+\s+){{0,2}}{WORDS['fits']})\s*[:—–-]?\s*(?:the\s+)?({_LIST})"
)
#: What follows an answer that begins a sentence of its own: "The answer is D. C and E are not".
_NEXT_SAID: Final = re.compile(
    rf"\s*(?:{WORDS['between']}\s+){{0,3}}{WORDS['unfit']}|{_JOIN}(?:{WORDS['noun']}\s+)?{_NAMED}"
)
_NOT_AFTER: Final = re.compile(
    rf"(?<!только\s)(?<!лишь\s)(?<!only\s)({_LIST})\s*(?:[—–:-]\s*)?(?:{WORDS['between']}\s+){{0,3}}{WORDS['unfit']}"
)
_WHILE: Final = re.compile(r",\s*(?:а|но|but|while|whereas)\s")
#: A contrast after the last answer that is named.
_BUT: Final = re.compile(r"\b(?:но|однако|but|however|yet)\b[^\ue000-\uf8ff]*$")
#: A clause that denies something, so that an answer in it is not stated.
_NEGATION: Final = re.compile(rf"\b{WORDS['negation']}\b|n['’]t\b")
_CLAUSE: Final = re.compile(r"[,;()]|\b(?:но|а|but|while|whereas|хотя|тогда\s+как|and|because|потому)\b")

# What may follow an answer that is stated. A unit or a word may follow a number.
_END: Final = rf"(?=\s*(?:$|[.,;:!)(»\"”—–✅✔☑✓|]|-\s|{WORDS['goes_on']}\b))"
_END_OF_NUMBER: Final = rf"(?!\s*(?:[+*/^×·÷=−-]|\(\s*[^\W_a-zа-яё]|{_STATED}))"

# Heads of statements: "правильный ответ на вопрос — ", "final answer: ", "ответом будет ".
_DIVIDER: Final = r"\s*(?:(?:->|=>|[:=—–→⇒]|-(?=\s|[\ue000-\uf804]))\s*)+"
_VERB: Final = rf"\s+(?:{WORDS['indeed']}\s+)?(?:[—–-]\s+)?{WORDS['is']}\b\s*:?\s*"
_TOPIC: Final = (
    r"(?:\s*\([^()\n]{1,60}\))?(?:\s+(?:на|к|для|в|из|по|здесь|тут|задачи|вопроса|ответа|варианта|предложени\w+|утверждени\w+|высказывани\w+|выражения|верн\w+|правильн\w+|этой|этого"
    r"|данной|данного|to|for|in|here|of)\b[^:.!?\n+*()]{0,60}?(?:«[^»\n]{1,80}»)?)?"
)
_HEAD: Final = re.compile(
    rf"(?<!\w)(?:(?:(?P<final>{WORDS['final']})\s+|(?P<right>{WORDS['right']})\s+)*"
    rf"(?:(?P<head>{WORDS['answer']})|(?P<noun>{WORDS['weak_answer']})){_TOPIC}(?:(?P<divider>{_DIVIDER})|{_VERB})"
    rf"|(?P<last>окончательно|финально|finally)(?:{_DIVIDER})"
    rf"|(?P<bare>лучш(?:ий|ая|ее)|правильн(?:ый|ым|ая|о)|верн(?:ый|ым|ая))(?:{_DIVIDER}|{_VERB})|(?P<mark>[{_BOX}{_JSON}]))"
)
#: What before a head turns it round: "неправильный ответ:", "not the answer:".
_TURNED: Final = re.compile(rf"\b{WORDS['turned']}\s*$")
_CHOICE: Final = re.compile(
    rf"\b{WORDS['choose']}\b\s*[:—–-]?\s*(?:(?:ответ\w{{0,2}}|вариант\w{{0,2}}|the|option|answer)\s*:?\s*)*(?P<value>{_STATED}){_END}"
)

# What calls an answer right: "C подходит", "the better reply is C".
_GOOD_AFTER: Final = re.compile(
    rf"(?P<value>[{_SURE}{_WORD}{_OPTION}])(?:\s*(?:[—–-]\s*)?(?:{WORDS['adverb']}\s+){{0,3}}{WORDS['good']}\b(?!\s*(?:[?]|ли\b)"
    r"|[^.;:]{0,30}\b(?:только|лишь|only|merely)\b)|\s+it\s+is(?:,\s+then)?\W*$)"
)
_GOOD_BEFORE: Final = re.compile(
    rf"(?<!не\s)(?<!not\s)(?<!менее\s)(?<!less\s)\b{WORDS['good']}(?:\s+than)?(?:\s*[:—–-]\s*|\s+)(?:{WORDS['stress']}\s+){{0,2}}"
    rf"(?P<value>{_STATED})(?:\s+{WORDS['noun']}\b)?(?!\s*[—–:=-]+\s*\d){_END}"
)
# What leads to a conclusion: "значит, C", "so it must be C", "не A, а C".
_LEADS_ONLY: Final = re.compile(rf"{_SIGNS}(?:{WORDS['lead']}\b[,:—–\s]*)*")
_INFERRED: Final = re.compile(WORDS["inferred"])
#: Words that conclude nothing unless the answer ends the sentence, or follows a denied one: "не A, а C".
_WEAK_LEAD: Final = re.compile(rf"[^\w]*(?:{WORDS['weak_lead']}\b[^\w]*)+")
_CONCLUSION: Final = re.compile(
    rf"(?:^{_SIGNS}|[,;:(—–]\s*|(?<=\s)-\s+|(?<=\s)(?={WORDS['so']}\s)|(?<=\s)(?={WORDS['equal']}\s))"
    rf"(?:{WORDS['lead']}\b[,:—–\s]*){{1,5}}(?P<value>{_STATED}){_END}"
)
_BY_EQUALITY: Final = re.compile(rf"\b{WORDS['by_equality']}\b")
_IT_IS: Final = re.compile(rf"{_SIGNS}(?:{WORDS['so']}\b[,:\s]*)?(?:it\s+is|it['’]s|это)\s+{_STATED}{_SIGNS}")
_EQUALS_OPTION: Final = re.compile(rf"[=≈]\s*(?P<value>[{_OPTION}]){_END}")
_USUAL: Final = re.compile(rf"\b{WORDS['usual']}")
_AT_END: Final = re.compile(rf":\s*(?P<value>[{_SURE}]){_SIGNS}$")

# An answer that follows nothing: the line, or its beginning.
_ALONE: Final = re.compile(rf"(?:{_SIGNS}\d+[.)])?{_SIGNS}(?P<value>{_STATED}){_SIGNS}")
_BEGINNING: Final = re.compile(
    rf"{_SIGNS}(?:the\s+)?(?P<value>[{_SURE}{_WORD}{_OPTION}{OTHER}{_SEVERAL}])"
    rf"(?:\s*(?:[)\].:,;!(»\"]|[—–-]\s)|\s+{WORDS['reason']}\b)"
)
_MEANT: Final = re.compile(
    rf"\s*[,:—–(-]?\s*(?!(?:{WORDS['reason']}|but|not|а|но|не|ни|чем|than|or|или|unlike)\b)(?:[^\W_]+\s+){{0,4}}(?P<value>[{_OPTION}]){_END}"
)
_INSIDE: Final = re.compile(
    rf"{_SIGNS}(?:(?:не|not)\s+[{_DENIED}](?:,[^.;,{_SURE}{_OPTION}]{{0,40}})?,?\s+(?:а|but)\s+)?(?:{WORDS['about']}\b[,:\s—–-]*)*(?P<value>{_STATED})"
)
_ONLY: Final = re.compile(_INSIDE.pattern + _SIGNS)
#: A sentence that corrects what was taken back: "C, of course."
_CORRECTS: Final = re.compile(rf"{_SIGNS}[{_SURE}][.,!]")
#: Words that tell which option is meant: "the second one, about the hoover".
_ABOUT_WHICH: Final = re.compile(
    r"[,(—–\s]*\b(?:про|где|тот|та|то|об?|about|the\s+one|which|with)\s+([^.;:,]{3,60})"
)
#: Another answer that is offered beside a stated one: "C, или, возможно, A".
_ALTERNATIVE: Final = re.compile(
    rf"[,.\s]*(?:(?:но|хотя|а|but|though)\s+)?(?:также\s+)?(?:{WORDS['offered']}\b[^.!?\n]{{0,30}}?)(?P<value>{_STATED})"
)

# Labels for several tasks: "1) B; 2) A", "Question 2: A", "| 2 | A |".
_TASK_NUMBER: Final = rf"(?:[\d{_SURE}{_WORD}{OTHER}]|{WORDS['ordinal']})"
_PART: Final = rf"(?:{WORDS['task_noun']}\s*№?\s*{_TASK_NUMBER}|{_TASK_NUMBER}\s+{WORDS['task_noun']})"
_TASK: Final = re.compile(
    rf"(?:(?<![\w.,])[qQ]?\d{{1,2}}|(?i:{WORDS['task_noun']})[ \t]*№?[ \t]*[{_SURE}{OTHER}])[ \t]*(?:[).:|—–-][ \t]*)+"
    rf"([{_SURE}])[ \t]*(?=[;,.|\n]|$)"
)
#: What stands before the number of a vote, which the reply may sum up: "Run 1: A".
_LONGEST_VOTER: Final = 40
_VOTE: Final = re.compile(rf"(?<!\w)(?!{WORDS['task_noun']})[^\W\d_]+[ \t]\Z")

# A statement in such a sentence is not the reply's own: another's opinion, a condition, a first impression, an example,
# another question, a mistake; a possibility.
_EITHER: Final = re.compile(r"\bлибо\b|\beither\b.*\bor\b|\bне\s+уверен|\bnot\s+sure\b")
_POSSIBLE: Final = re.compile(rf"\b{WORDS['maybe']}\b")
_SUPPOSED: Final = re.compile(
    rf"\b(?:{WORDS['others']}|{WORDS['if']}|{WORDS['maybe']}|{WORDS['person']}\s+(?:\w+\s+){{0,2}}{WORDS['says']}"
    rf"|(?:(?:ответ|answer)\s+(?:на|к|в|для|to|for|in)|(?:for|in|на|в|для))\s+(?:the\s+|your\s+)?{_PART})\b"
)
#: What ends a supposition within its sentence.
_CONTRAST: Final = re.compile(
    r"[,;—–]\s*(?:(?:но|однако|but|however|yet)\b(?!\s+(?:может|если|возможно|if|may))"
    rf"|(?:so|поэтому|значит|therefore)\s+(?=(?:the\s+)?(?:{WORDS['right']}|{WORDS['answer']})\b))"
)
_IN_BRACKETS: Final = re.compile(r"\([^()]*\)")
_LAST_NUMBER: Final = re.compile(
    rf"(?:(?:^|\b(?:{WORDS['equal']}|{WORDS['by_equality']}|{WORDS['so']})|[:=—–]|\b{WORDS['amounts']})\s*"
    rf"(?P<value>[{_SURE}{_RESULT}])(?:,?\s+(?:а\s+)?(?:не|not)\s+[{_DENIED}])?|(?P<step>[{_DENIED}])){_SIGNS}$"
)
_RATHER: Final = re.compile(rf",\s*(?:а|but)\s+(?={_STATED})")
#: A part of a number that is not the whole answer; what a digit measures on the way; what it measures at last.
_STEP: Final = re.compile(rf"\b{WORDS['step']}\b")
_THEREFORE: Final = re.compile(rf"\b{WORDS['so']}\b")
_COUNTER: Final = re.compile(rf"\b{WORDS['counter']}")
_SUBJECT: Final = re.compile(rf"\b{WORDS['subject']}\b")

# Words that take back what was stated, leave it open, say that nothing fits, or decline.
_TAKEN_BACK: Final = re.compile(rf"\b{WORDS['taken_back']}")
#: What goes on after a refusal to decide: "I can't be sure, but ...".
_DOUBTED_AFTER: Final = re.compile(
    r"\b(?:но|однако|вс[её](?:\s|-)(?:же|таки)|but|still|yet|so|поэтому|значит)\b"
)
#: A sentence that thinks again about what was stated.
_RECONSIDERS: Final = re.compile(rf"^\W*{WORDS['reconsiders']}\b")
#: A conclusion that the same sentence goes on to limit.
_LIMITED: Final = re.compile(r"[^.;]{0,80}?,\s*(?:but|yet|though|но|однако|хотя)\b")
_DOUBTED: Final = re.compile(rf"\b{WORDS['doubted']}\b")
_OR: Final = re.compile(rf"\W*(?:или|либо|а\s+может|а\s+вдруг|or|maybe|perhaps|but\s+what)\b[^?]*{_STATED}")
_OF_THE_REST: Final = rf"(?!\s+(?:\w+\s+){{0,2}}{WORDS['rest']})"
_NONE: Final = re.compile(rf"\b{WORDS['none']}{_OF_THE_REST}")
_DECLINED: Final = re.compile(
    rf"\b(?:{WORDS['cannot']}(?:\s+[^\W\d_]+){{0,3}}?\s+(?:от\s+)?{WORDS['decide']}"
    rf"|{WORDS['what']}(?:\s+(?:[^\W\d_]+|[\ue000-\uf8ff])){{0,3}}?\s+не\s+{WORDS['will_not']}|{WORDS['declined']})\b{_OF_THE_REST}"
)
#: What follows checks an answer that was stated.
_CHECK: Final = re.compile(rf"\b{WORDS['check']}")
_CHECK_AGAIN: Final = re.compile(WORDS["check_again"])
#: A polite end, which offers more and states nothing.
CLOSING: Final = re.compile(rf"^\W*{WORDS['closing']}")
#: Where a sentence is so uncertain, the only answer that it names is not stated.
_UNSURE: Final = re.compile(rf"\b{WORDS['unsure']}\b")
#: A sentence about what only seems or would be so.
_UNREAL: Final = re.compile(rf"\b{WORDS['unreal']}\b")
_WOULD: Final = re.compile(r"(?<!i )(?<!we )\b(?:would|бы)\b", re.IGNORECASE)
_OTHER_ONE: Final = re.compile(rf"\b{WORDS['other_one']}\W*$")
#: An option of which a clause says something: "A — летает, B — нет".
_SPOKEN_OF: Final = re.compile(rf"({_NAMED})\s*(?:[—–:]|-\s)")
#: A sentence that begins with an option, of which it tells something.
_DESCRIBED: Final = re.compile(rf"{_SIGNS}(?:а\s+)?({_NAMED})\s*[—–:]")
_GIVES: Final = re.compile(rf"\b{WORDS['equal']}\b")
_NUMBERED_STEP: Final = re.compile(r"^\W*(?:step|шаг)\b")
#: So many characters after a head such as "Ответ: " may recall an option.
_LONGEST_STRESS: Final = 2
#: Words that judge or choose.
_VERDICT: Final = re.compile(
    rf"\b(?:{WORDS['good']}|{WORDS['choose']}|{WORDS['noun']}|{WORDS['right']}|виноват\w*)\b"
)
#: What a contrast says about the answer itself: "the answer is A, and copper is C".
_SAYS_MORE: Final = re.compile(rf"{_VERDICT.pattern}|[{_SURE}]|{_NAMED}{_SIGNS}$")
#: "The friendly one, and not the first".
_AND_NOT: Final = re.compile(rf"\b(?:а|and|certainly|точно)\s+(?:не|not)\s+[{_DENIED}]{_SIGNS}$")
_RECALLED_WITHIN: Final = 200
_OPENS: Final = re.compile(rf"\W*{WORDS['opens']}")
#: A row that says whether an option is right: "| C | да |".
_ROW: Final = re.compile(
    rf"{_SIGNS}{_NAMED}(?:\W*\|[^|]*)??\W*(?:[|:—–)]|\s-)\s*(?:(?P<right>да|yes|верно|true|correct|\+)|нет|no|неверно|false|incorrect|-)(?:\W*|[,.;:(].*)"
)
#: A line that ends by judging the option that it begins with: "B: 21 − 7 = 14 — подходит".
_JUDGED: Final = re.compile(
    rf"{_SIGNS}{_NAMED}[).:].*[—–,:]\s*(?:(?P<right>{WORDS['holds']})|(?:не|not)\s+(?:{WORDS['holds']}|\d+))\W*"
)
#: What is said about one option: "Ответ 1: ...", "Reply 2 — ...".
_ABOUT_ONE: Final = re.compile(
    rf"(?:^|[.!?»\"”]\s+){_SIGNS}{WORDS['noun']}{_LINK}({_NAMED})\s*[:—–]", re.MULTILINE
)
#: A heading over what is said about one option: "## Ответ 1".
_SECTION: Final = re.compile(rf"{_SIGNS}{WORDS['noun']}{_LINK}([{_SURE}{_WORD}]){_SIGNS}")
_RIGHT_MARK: Final = re.compile("[✅✔☑🟢👍]")
_WRONG_MARK: Final = re.compile("[❌✗✘✖❎🔴⛔🚫👎]")
#: A line that speaks of one option: "A) Венера — вторая планета", "Меркурий: ...", "| B | ... |".
_LEADING: Final = re.compile(
    rf"^{_SIGNS}(?:{WORDS['noun']}{_LINK})?[«\"(\[]?({_NAMED})(?:\s*[).:,\]|=»\"]+|\s+[—–-]|\s*[❌✅✔✓✗✘])\s*(?=\S)"
)
#: What makes a sentence that names an answer answer the question.
_SO_SAID: Final = re.compile(rf"\b{WORDS['so_said']}\b|[—–]\s(?=[{_SURE}{_WORD}{_OPTION}])|^\W*это\b")
#: The beginning of another item, in the words of a dataset's bare form.
_NEXT_ITEM: Final = re.compile(
    rf"^[*_#> \t]*(?:{WORDS['next_item']}[ \t]*(?:(?:№[ \t]*)?\d+[ \t]*)?[*_]*:|(?:input|sequence)[*_]*:"
    rf"|{WORDS['numbered']}[ \t]*(?:№[ \t]*)?\d+\.)",
    re.MULTILINE,
)


#: Refusals in any text, because they speak of the request or of the model itself.
_OF_THE_REQUEST: Final = re.compile(
    rf"{WORDS['cannot_do']}\s+(?:(?:вам|тебе)\s+)?(?:{WORDS['redo']}|(?:с|в)\s+эт\w+\s+{WORDS['help']}|{WORDS['help']}[^.!?\n]{{0,40}}?{WORDS['request']})|{WORDS['refuses']}"
)
#: Refusals to choose or to compute: in a free text they may be the answer itself.
_OF_THE_QUESTION: Final = re.compile(WORDS["does_not_know"])
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
    found = _OF_THE_REQUEST.search(opening)
    return _OF_THE_QUESTION.search(opening) if found is None and not free else found


# ---------------------------------------------------------------------------------------------------------------------
# From sentences to a decision

_WORD_STEM: Final = re.compile(r"(?<![^\W_])[a-zа-я]{4}")


def stems(text: str) -> Set[str]:
    """Return the first four letters of each longer word."""
    return set(_WORD_STEM.findall(lowered(text).replace("ё", "е")))


#: A reply that is longer is read at its beginning and its end; a line that is longer is read in pieces.
_LONGEST_PART: Final = 30_000
_LONGEST_LINE: Final = 1_500
_QUESTION: Final = re.compile(r"\?[ \"»)*]*$")
_SENTENCE: Final = re.compile(r"(?<=[.!?…;])\s+")
_STATEMENTS: Final = (
    (_CHOICE, 3, "answer statement"),
    (_GOOD_AFTER, 2, "called right"),
    (_GOOD_BEFORE, 2, "called right"),
    (_CONCLUSION, 2, "conclusion"),
    (_AT_END, 2, "conclusion"),
    (_EQUALS_OPTION, 2, "conclusion"),
)
#: Rules that hold whatever else a reply says; others give way to a refusal.
_EXPLICIT: Final = frozenset(
    {"whole reply", "JSON", "box", "answer statement", "first line", "beginning", "last line"}
)
#: Rules whose statements contradict one another if they differ, even if the later one is called final.
_DECIDED: Final = _EXPLICIT - {"beginning"}


@dataclass(frozen=True, slots=True)
class _Statement:
    """What a sentence states: an answer, or `None` for several or an impossible one.

    The weight is 5 for what is called final, 4 for what is called right, 3 for other statements and 2 for conclusions,
    which may be inferred. With an open end, the reply ends with the statement.
    """

    value: str | None
    weight: int
    rule: str
    sentence: int
    piece: str
    open_end: bool = False
    inferred: bool = False


@dataclass(frozen=True, slots=True)
class _Naming:
    """The answers that a sentence names in clauses that deny nothing, and marks of impossible or several answers.

    `answers` is 2 if the sentence concludes, repeats words of the question or names both the label and the text of an
    option, and 1 if it ends with an answer; `labels` is whether it names answers by their labels.
    """

    values: frozenset[str]
    sentence: int
    text: str
    answers: int
    labels: bool


class AnswerReader(ABC):
    """Finds the mentions of answers of one form in a text.

    Attributes:
        labels: all possible answers, if they are few.
        digits: whether the labels are digits, which also count and number things.
        words: whether the labels are words, with which any sentence may begin.
        bare_numbers: whether texts of options are nothing but numbers, which also occur in a solution.
        question: beginnings of the words of the question; a sentence that repeats them answers it.
        asked: those of its last sentence.
        expression: for numbers, the expression whose value is asked, without spaces; `None` for other answers.
        exact: the weight of an equation whose left side is the expression.
        by_meaning: whether words mean the labels, which have no options.
        prose: whether the options are sentences, which a reply may continue instead of choosing.
    """

    labels: Sequence[str] = ()
    digits: bool = False
    words: bool = False
    bare_numbers: bool = False
    question: Set[str] = frozenset()
    asked: Set[str] = frozenset()
    expression: str | None = None
    exact: int = 3
    by_meaning: bool = False
    prose: bool = False

    @abstractmethod
    def marked(self, text: str, mentions: Mentions) -> str:
        """Return the text with a character in place of each mention of an answer."""

    def recalled(self, text: str) -> set[str]:
        """Return the answers from whose options a text in lower case repeats words that no other option has."""
        return set()

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
    stressed = _STRESSED.findall(reply.rstrip().rpartition("\n")[2])
    found = _Scan(reader, text, cut=cut, stressed=plain(stressed[0]) if len(stressed) == 1 else "").decided()
    place = lowered(text).find(lowered(found.piece))
    if place >= 0:
        found = replace(found, piece=text[place : place + len(found.piece)])
    if found.value is not None and found.rule in _EXPLICIT:
        return found
    words = refusal(plain(reply), free=False)
    if words is None or (found.value is not None and found.rule == "conclusion"):
        return found
    return RuleFinding(None, "refusal", words, refused=True)


def _prepared(reply: str) -> str:
    """Return the text with marks where a box or a JSON value stands."""
    text = _PRIVATE.sub(" ", reply)
    if (
        "```" in text
        and any(map(str.isalnum, around := _CODE_BLOCK.sub("\n", text)))
        and json_answer(text) is None
    ):
        text = around
    if "{" in text and (held := json_answer(text)) is not None:
        text = text.replace(held[1], f"\n{_JSON}{_as_text(held[0])}\n", 1) if held[1] in text else text
    if "\\" in text:
        text = _BOXED.sub(lambda found: f"\n{_BOX}{found[1] if found[1] is not None else found[2]}\n", text)
    if "[[" in text:
        text = _DOUBLE_BRACKETS.sub(rf"\n{_BOX}\1\n", text)
    text = _TAG.sub(lambda found: "\n" if found[1] else "\nответ: ", text)
    return _TITLED.sub(r"\g<0>:", plain(text))


#: "[[A]]", as judges of answers are told to write.
_DOUBLE_BRACKETS: Final = re.compile(r"(?<!\w)\[\[\s*([^\W_]+)\s*\]\](?!\w)")
#: A tag of an XML element that holds the answer.
_TAG: Final = re.compile(rf"<(/?){WORDS['tag']}>", re.IGNORECASE)
_STRESSED: Final = re.compile(r"(?:\*\*|__)([^*_\n]{1,20})(?:\*\*|__)")
#: A program that the reply shows, and what it computes.
_CODE_BLOCK: Final = re.compile(r"^```[a-z+]+\n.*?^```[ \t]*$", re.MULTILINE | re.DOTALL)
#: A heading over an answer.
_TITLED: Final = re.compile(
    rf"^[#*_> \t]*(?:(?:{WORDS['right']}|{WORDS['final']})\s+)?(?:ответ|answer|вывод|conclusion)(?=[*_ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)


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

    def __init__(self, reader: AnswerReader, text: str, *, cut: bool, stressed: str = "") -> None:
        self.reader, self.cut = reader, cut
        self.numeric, self.hidden_rule = reader.expression is not None, reader.exact == 2
        self.own = set(re.findall(r"\d+", reader.expression or ""))
        self.mentions = Mentions()
        #: Lines that name options by digits.
        self.labelled: list[str] = []
        #: What the last line stresses.
        self.stressed = stressed
        self.statements: list[_Statement] = []
        self.named: list[tuple[str, int, bool]] = []
        self.denied: set[str] = set()
        self.possible: set[str] = set()
        self.equations: list[list[tuple[list[str], str]]] = []
        self.solution: list[tuple[list[str], str]] = []
        self.taken_back = self.none_fits = ""
        self.checking = self.doubted = self.questioned = False
        #: The only answer that the sentence before asks about; the last sentence, and its number without checks.
        self.final = 0
        self.asked = self.ending = self.about = ""
        # The sentence, and the last ones that think again about a statement, and that do so or check it.
        self.sentence = self.reconsidered = self.again = 0
        # Whether the sentence is the first or the last one of the reply, and whether its line speaks of one option.
        self.first = self.last = self.listed = self.noun_first = self.describes = False
        self.text = text
        marked = reader.marked(_CHAIN.sub(" =", text) if self.numeric else text, self.mentions)
        tasks = list(_TASK.finditer(marked))
        several = len(self._values(found[1] for found in tasks)) > 1
        if several and all(
            _VOTE.search(lowered(marked[max(0, found.start() - _LONGEST_VOTER) : found.start()]))
            for found in tasks
        ):
            several = not _HEAD.search(lowered(marked[tasks[-1].end() :]))
        self.tasks = marked if several else ""
        lines = (line for line in lowered(marked).split("\n") if line.strip(" \t*_`#>-–—|"))
        self._read([piece for line in lines for piece in _pieces(line)])

    def _values(self, signs: Iterable[str]) -> set[str]:
        """Return the answers of characters, and the marks among them."""
        return {self.mentions.value(sign) or sign for sign in signs}

    # ----- lines

    def _read(self, lines: list[str]) -> None:
        about = [found and self.mentions.value(found[1]) for found in map(_LEADING.match, lines)]
        enumerated = not self.numeric and len({value for value in about if value}) > 1
        titles = {place: found[1] for place, line in enumerate(lines) if (found := _SECTION.fullmatch(line))}
        sections = titles if len(set(titles.values())) > 1 else {}
        reduced = [self._reduced(line) for line in lines]
        alone = [_ALONE.fullmatch(line) for line in reduced]
        pending: tuple[int, str] | None = None
        describes = len(self._values(sign for line in lines for sign in _ABOUT_ONE.findall(line))) > 1
        for place, line in enumerate(reduced):
            first, last, found = place == 0, place == len(reduced) - 1, alone[place]
            self.first, self.last, self.listed = first, last, enumerated and bool(about[place])
            self.about = self.mentions.sign(about[place] or "") if self.listed else ""
            if pending is not None:
                following = {one["value"] for one in alone[place : place + 2] if one}
                if (found or not self.listed) and len(following) < 2:
                    self._state(*pending, line, line)
                pending = None
            if place in sections or self._ticked(line) or self._explains_labels(line):
                continue
            if self.listed and not found:
                leading = _LEADING.match(line)
                line = line[leading.end() :] if leading else line  # noqa: PLW2901 - the line without its label
            elif first and last:
                found = found or _ONLY.fullmatch(line)
            if found and (first or (last and not self.cut)):
                beside = {
                    one["value"]
                    for one in (*alone[max(0, place - 1) : place], *alone[place + 1 : place + 2])
                    if one
                }
                several = any(sign != found["value"] and _kind(sign) not in _RESULTS for sign in beside)
                self.sentence += 1
                rule = "whole reply" if first and last else "first line" if first else "last line"
                self._put(
                    _SEVERAL if several else found["value"], self._weight(found["value"], 3), rule, line
                )
                continue
            if self.numeric and not (self.checking or _CHECK.search(line) or _TAKEN_BACK.search(line)):
                self.solution += self.equations[place]
            self.noun_first = first and _NOUN_FIRST.match(lines[0]) is not None
            self.describes = self.noun_first and describes
            sentences = _SENTENCE.split(line)
            for number, sentence in enumerate(sentences):
                self.sentence += 1
                self.first = first and number == 0 and not enumerated
                self.last = last and number == len(sentences) - 1
                pending = self._read_sentence(sentence)

    def _weight(self, sign: str, weight: int) -> int:
        """Return the weight of a statement, which an equation has only if its left side is the item's expression."""
        kind = _kind(sign)
        return weight if kind not in _RESULTS else self.reader.exact if kind == "expression" else 2

    def _ticked(self, line: str) -> bool:
        """Read the marks ✅ and ❌ of a line about one option."""
        row = _ROW.fullmatch(line) or _JUDGED.fullmatch(line)
        right = row["right"] if row else _RIGHT_MARK.search(line)
        wrong = not row["right"] if row else _WRONG_MARK.search(line)
        signs = {self.mentions.value(sign): sign for sign in re.findall(f"[{_SURE}{_OPTION}{_DENIED}]", line)}
        whole = (
            self.first and self.last and wrong and _ALONE.fullmatch(line)
        )  # "❌ 0" says that it is wrong: 0
        if self.numeric or not (right or wrong) or len(signs) != 1 or whole:
            return False
        ((value, sign),) = signs.items()
        if wrong:
            self.denied.add(str(value))
        else:
            self._put(sign if self.reader.labels else _SEVERAL, 3, "ticked", line)
        return True

    def _explains_labels(self, line: str) -> bool:
        """Check whether a line says what each label means: "1 - yes, 0 - no"."""
        explained = self._values(re.findall(rf"([{_SURE}])\s*[—–=:-]\s*[^\W\d_]", line))
        return len(self.reader.labels) > 1 and explained == set(self.reader.labels)

    def _reduced(self, text: str) -> str:
        """Reduce what names an answer to one character: "вариант (C) Меркурий"; mark denied answers and lists."""
        self.equations.append([])
        several = len(_PRIVATE.findall(text))
        if not several:
            return text
        bare: MentionKind = "sure" if self.reader.bare_numbers else "option"
        named: MentionKind = (
            "option" if self.reader.digits else "sure"
        )  # a digit that is named does not count
        if several > 1:
            text = _TAGGED.sub(lambda found: self._combined(found, bare, found[0]), text)
        text = _HEADED.sub(r"\1: \2", _BRACKETED.sub(r"\1", _COMPARED.sub(r"\1#", text)))
        if several > 1:
            text = _GLOSSED.sub(lambda found: self._combined(found, "sure"), _TWICE.sub(self._same, text))
            text = _GLOSS.sub(lambda found: self._combined(found, bare), text)
        labelled = self.reader.digits and _NAMED_OPTION.search(text) is not None
        text = _NAMED_OPTION.sub(lambda found: _as(named, found[1]), text)
        text = _NTH.sub(lambda found: _as(named, found[1] or found[2] or found[3]), text)
        if self.numeric:
            text = _EQUATION.sub(self._equated, text)
        for pattern in (_NOT_BEFORE, _EXCLUDED, _NOT_AFTER):
            text = pattern.sub(_deny, text)
        text = _LISTED.sub(self._list, text) if several > 1 else text
        if labelled:
            self.labelled.append(text)
        return text

    def _combined(self, found: re.Match[str], kind: MentionKind, other: str = _SEVERAL) -> str:
        same = self.mentions.value(found[1]) == self.mentions.value(found[2])
        if not same and "." in found[0] and _NEXT_SAID.match(found.string, found.end()):
            return found[0]
        return _as(kind, found[1]) + ":" * self.reader.digits if same else other

    def _same(self, found: re.Match[str]) -> str:
        """Reduce an answer that is repeated in other words: "85 (восемьдесят пять)"."""
        return found[1] if self.mentions.value(found[1]) == self.mentions.value(found[2]) else found[0]

    def _list(self, found: re.Match[str]) -> str:
        signs = re.findall(_STATED, found[0])
        if self.numeric and _OPERATOR.search(found[0]):
            return found[0]
        return signs[0] if len(self._values(signs)) == 1 else _SEVERAL

    def _equated(self, found: re.Match[str]) -> str:
        """Reduce a chain of equations to its right side; one that lacks numbers of the expression is only a step."""
        *parts, right = _EQUALS.split(found[0])
        right = right.strip(" ()[]")
        if not parts or len(right) != 1 or not re.match(f"[{_SURE}]", right):
            return found[0]
        numbers = [str(self.mentions.value(sign)) for sign in re.findall(f"[{_SURE}]", "=".join(parts))]
        self.equations[-1].append((numbers, str(self.mentions.value(right))))
        left = re.sub(r"\s", "", self.mentions.shown(parts[0]).translate(_OPERATORS))
        if left and left.lstrip("/").strip("()") == (self.reader.expression or "").strip("()"):
            return f" {_as('expression', right)} "
        whole = not numbers or self.own <= {number.lstrip("-") for number in numbers}
        return f" {_as('equation' if whole else 'denied', right)} "

    # ----- sentences

    def _read_sentence(self, text: str) -> tuple[int, str] | None:
        """Collect what a sentence states; return a statement whose answer is on the next line."""
        self.checking |= bool(_CHECK.search(text) or (self.statements and _CHECK_AGAIN.search(text)))
        self.doubted |= self.cut and _DOUBTED.search(text) is not None
        if self.statements and _RECONSIDERS.search(text):
            self.reconsidered = self.sentence
        if self.statements and (_RECONSIDERS.search(text) or _CHECK_AGAIN.search(text)):
            self.again = self.sentence
        if not self.checking:
            self.final = self.sentence
        if CLOSING.match(text):
            return None
        if not text.startswith("("):
            self.ending = "" if self.listed or _QUESTION.search(text) else text
        declined = None if _QUESTION.search(text) else _DECLINED.search(text)
        if declined is not None:
            self.statements.clear()
            self.none_fits = self.mentions.shown(text)
            text, self.first = text[declined.end() :], False
            if not _DOUBTED_AFTER.search(text):
                return None
        answers_itself = self.questioned and (_SAYS_YES.match(text) or _SAYS_NO.match(text))
        self.questioned = _QUESTION.search(text) is not None
        if not answers_itself and (back := _TAKEN_BACK.search(text)) is not None:
            last, self.last = self.last, False
            self._divide(text[: back.start()])
            if self.statements:
                self.checking = False
                self.taken_back = self.mentions.shown(text)
            for collected in (self.statements, self.named, self.solution, self.possible):
                collected.clear()
            text, self.first, self.last = text[back.start() :], False, last
        return self._divide(text)

    def _divide(self, text: str) -> tuple[int, str] | None:
        """Collect what a sentence names and states, apart from what it only supposes."""
        supposed = _SUPPOSED.search(text) if _PRIVATE.search(text) else None
        contrast = _CONTRAST.search(text, supposed.end()) if supposed else None
        before = text[: supposed.start()] if supposed else ""
        if contrast is None and supposed and re.search(f"[{_DENIED}]", before) and not _HEAD.search(before):
            contrast = _RATHER.search(text, supposed.end())
        if contrast is not None:  # "Most people say A, but the answer is B"
            last, self.last = self.last, False
            self._divide(text[: contrast.start()])
            self.first, self.last = False, last
            return self._divide(text[contrast.start() :])
        if (
            supposed
            and self.first
            and self.last
            and supposed[0] == "если" in self.reader.question
            and self._repeats_question(text)
        ):
            supposed = None  # the question is completed
        none = None if _OPENS.match(text) else _NONE.search(text)
        if none and _PRIVATE.search(none[0]) and self._leaves_one(text):
            none = None
        if none and not any(one.weight > 2 for one in self.statements):
            self.statements.clear()
            self.none_fits = self.mentions.shown(text)
        if _QUESTION.search(text):
            self._ask(text)
            return None
        text = self._answer_itself(text)
        self.denied |= self._values(re.findall(f"[{_DENIED}]", text))
        named = self._values(re.findall(_STATED, text))
        self._name_the_other(text, named)
        if self.statements and (_EITHER.search(text) or (supposed and _POSSIBLE.search(text))):
            self.possible |= self._values(re.findall(_STATED, text[supposed.start() if supposed else 0 :]))
        if named and not (self.checking or none or supposed):
            self.named.append((text, self.sentence, self.listed))
        step = self.numeric and _STEP.search(text)
        limit = supposed.start() if supposed else len(text)
        concludes = step and _THEREFORE.search(
            text, step.end()
        )  # "one more than the sum, so the answer is 9"
        before_step = min(limit, step.start()) if step else limit
        if concludes or not step:
            return self._collect(text, limit, limit)
        return self._collect(text, 0, before_step)

    def _leaves_one(self, text: str) -> bool:
        """Check whether a sentence denies all of several options but one: "neither A nor B nor D"."""
        denied = self._values(re.findall(f"[{_DENIED}]", text))
        return len(denied) > 1 and len(set(self.reader.labels) - denied) == 1

    def _ask(self, text: str) -> None:
        """Note the only option that a question of the reply names."""
        if _OR.match(text):
            self.statements.clear()
        asked = set(re.findall(_NAMED, text)) or {*filter(None, (self.about,))}
        self.asked = asked.pop() if len(asked) == 1 and self.reader.labels and not self.reader.words else ""

    def _answer_itself(self, text: str) -> str:
        """Read how a sentence answers the question before it: "Is it C? No, ..."; return the rest."""
        asked, self.asked = self.asked, ""
        said = (_SAYS_YES.match(text) or _SAYS_NO.match(text)) if asked else None
        if said is None:
            return text
        if said.re is _SAYS_YES:
            self._put(asked, 2, "called right", text)
        else:
            self.denied.add(str(self.mentions.value(asked)))
        return text[said.end() :]

    def _name_the_other(self, text: str, named: Set[str]) -> None:
        """Read the choice of the other one of two options, where the reply has spoken of one."""
        if len(self.reader.labels) == 2 and _OTHER_ONE.search(text):
            earlier = (self._values(re.findall(_NAMED, one)) for one, *_ in self.named)
            left = set(self.reader.labels) - self.denied.union(named, *earlier)
            if len(left) == 1:
                self._put(self.mentions.sign(left.pop()), 2, "conclusion", text)

    @cached_property
    def namings(self) -> list[_Naming]:
        """The sentences that name answers, for the decision."""
        namings = [self._naming(*named) for named in self.named]
        described = [_DESCRIBED.match(naming.text) for naming in namings]
        if self.numeric or len(self._values(found[1] for found in described if found)) < 2:
            return namings
        return [
            replace(naming, answers=0) if found else naming
            for naming, found in zip(namings, described, strict=True)
        ]

    def _naming(self, text: str, sentence: int, listed: bool) -> _Naming:
        """Return the answers that a sentence names in clauses that deny nothing."""
        whole = _ONLY.fullmatch(text)
        signs = [
            sign
            for clause in _CLAUSE.split(text)
            if not (
                _BUT.search(text) or _OPENS.match(text) or _NEGATION.search(clause) or _UNSURE.search(clause)
            )
            for sign in re.findall(_STATED, clause)
            if _kind(sign) != "option" or whole or self._may_be_number(clause)
        ]
        *before, contrast = _WHILE.split(text)
        if before and self._repeats_question(contrast) and not self._repeats_question(" ".join(before)):
            signs = [sign for sign in signs if sign in contrast]
        ends = re.search(rf"[{_SURE}{_OPTION}](?:-\w{{1,2}})?{_SIGNS}$", text)
        if ends and self.reader.bare_numbers and signs:
            signs.append(ends[0][0])
        if self.reader.digits and (not ends or _COUNTER.search(text) or _BY_EQUALITY.search(text)):
            signs = [sign for sign in signs if _kind(sign) in ("option", None)]  # the others may count things
        if self.reader.labels:  # "the first step", "да и"
            signs = [
                sign
                for sign in signs
                if _kind(sign) == "option" or (_kind(sign) != "word" and not self.reader.words)
            ]
        values = frozenset(self._values(signs))
        twice = len(values) == 1 and len(set(map(_kind, signs))) > 1
        answers = 2 if _SO_SAID.search(text) or twice or self._repeats_question(text) else 1 if ends else 0
        spoken_of = listed or text.startswith("(")
        labels = bool({"sure", "option" if self.reader.digits else "sure"} & set(map(_kind, signs)))
        return _Naming(values, sentence, text, 0 if spoken_of else answers, labels)

    def _may_be_number(self, clause: str) -> bool:
        """Check that an option which is a number is no step's result: its clause concludes or repeats the question."""
        asked = self.reader.asked if self.reader.bare_numbers else None
        return (
            not asked
            or len(self.mentions.known) == self.sentence == 1
            or _INFERRED.search(clause) is not None
            or bool(stems(clause) & asked)
        )

    def _repeats_question(self, text: str) -> bool:
        shared = len(stems(text) & self.reader.question) if self.reader.question else 0
        return shared > 1 or (shared == 1 and len(self.reader.question) < 3)

    # ----- statements

    def _put(self, sign: str | None, weight: int, rule: str, piece: str, *, inferred: bool = False) -> None:
        if self.checking and weight < 3:
            return
        if weight > 2:
            self.possible.clear()
        value = self.mentions.value(sign) if sign else None
        shown = self.mentions.shown(piece).strip()
        self.statements.append(_Statement(value, weight, rule, self.sentence, shown, self.last, inferred))
        self.doubted = False

    def _state(self, weight: int, rule: str, rest: str, piece: str, *, strict: bool = True) -> None:
        """Add what a head such as "Ответ: " announces; if it is strict, also if that is no answer."""
        found = _INSIDE.match(rest)
        signs = re.findall(_STATED, rest)
        sure = re.findall(f"[{_SURE}{_RESULT}{_SEVERAL}]", rest)
        step = re.match(rf"{_SIGNS}([{_DENIED}]){_SIGNS}$", rest) if self.numeric else None
        ends = re.search(rf"([{_SURE}{_OPTION}]){_SIGNS}$", rest)
        stated: str | None = None
        if (
            found
            and self.numeric
            and re.match(r"\s*[^\W\d_]", rest[found.end() :])
            and len(self._values(signs)) > 1
        ):
            strict = strict or _kind(found["value"]) != "word"
            signs = signs if strict else []
        elif found and self._ends(rest, found.end()):
            stated = self._without_alternative(rest, found)
        elif step:
            stated, signs = step[1], [step[1]]
        elif (
            not self.numeric
            and len(self._values(sure)) == 1
            and (not self.reader.digits or (ends and ends[1] in sure))
        ):
            stated = sure[0]
        elif not sure and ends and len(self._values(signs)) == 1:
            stated = ends[1]
        if not signs and len(self.reader.labels) == 2 and _AND_NOT.search(rest):
            left = set(self.reader.labels) - self._values(re.findall(f"[{_DENIED}]", rest))
            self._put(self.mentions.sign(left.pop()) if len(left) == 1 else None, weight, rule, piece)
        elif not (signs or self.numeric) and len(recalled := self._recalled_in(rest[:_RECALLED_WITHIN])) == 1:
            self._put(self.mentions.sign(recalled.pop()), weight, "own words", piece)
        elif signs or strict:
            self._put(stated, weight, rule if signs else "empty", piece)

    def _without_alternative(self, text: str, found: re.Match[str]) -> str | None:
        """Return a stated answer, unless another is said to be possible or to be meant."""
        value = self.mentions.value(found["value"])
        about = _ABOUT_WHICH.match(text, found.end("value"))
        recalled = self.reader.recalled(about[1]) if about else set()
        if recalled and value not in recalled:
            return None
        others = (pattern.match(text, found.end("value")) for pattern in (_ALTERNATIVE, _MEANT))
        return (
            None
            if any(one and self.mentions.value(one["value"]) != value for one in others)
            else found["value"]
        )

    def _ends(self, text: str, place: int) -> bool:
        end = _END_OF_NUMBER if self.numeric or self.reader.bare_numbers else _END
        return re.match(end, text[place : place + 40]) is not None

    def _collect(self, text: str, limit: int, limit_of_heads: int) -> tuple[int, str] | None:
        """Collect the statements of a sentence that begin before `limit`, or with a head before `limit_of_heads`."""
        pending = self._heads(text, limit_of_heads)
        if not _PRIVATE.search(text):
            return pending
        stated = bool(self.statements) and self.statements[-1].sentence == self.sentence
        trails_off = not self.last and text.rstrip().endswith(("...", "…"))
        opens = self.reader.words and not (self.cut and self.last)
        corrects = self.taken_back and not (self.statements or self.reader.bare_numbers)
        if (
            (alone := _ALONE.fullmatch(text))
            and (self.first or self.last)
            and not (trails_off or self.describes)
        ):
            weight = self._weight(alone["value"], 3) if self.first else 2
            self._put(alone["value"], weight, "beginning" if self.first else "last line", text)
        elif (self.first or opens or (corrects and _CORRECTS.match(text))) and not (stated or trails_off):
            beginning = _BEGINNING.match(text)
            if beginning and self._begins(text, beginning):
                self._put(self._without_alternative(text, beginning), 3, "beginning", text)
        for pattern, weight, rule in _STATEMENTS:
            for found in pattern.finditer(text):
                if found.start("value") <= limit and self._accepted(text, found, rule):
                    inferred = rule == "conclusion" and _INFERRED.search(found[0]) is not None
                    self._put(self._without_alternative(text, found), weight, rule, text, inferred=inferred)
        for sign, rest in re.findall(f"([{_EXACT}])(.*)", text) if limit == len(text) else ():
            naive = self.hidden_rule and (_USUAL.search(text) or re.search(f"{_STATED}|[{_DENIED}]", rest))
            if not naive:
                self._put(sign, self.reader.exact, "the item's expression", text)
        return pending

    def _heads(self, text: str, limit: int) -> tuple[int, str] | None:
        """Collect the statements such as "Ответ: B"; return one whose answer is on the next line."""
        pending = None
        for found in _HEAD.finditer(text):
            mark, before = found["mark"], text[: found.start()]
            weight = (
                5 if found["final"] or found["last"] or mark else 4 if found["right"] or found["bare"] else 3
            )
            inside = (
                found["noun"]
                and weight == 3
                and not (_LEADS_ONLY.fullmatch(before) or before.endswith("the "))
            )
            nth = re.search(f"[{_WORD}]\\s+$", before[-12:]) is not None
            inside = inside or (self.cut and self.last and weight == 3 and found["noun"])
            if (found.end() > limit and not mark) or inside or nth or _TURNED.search(before[-25:]):
                continue
            rule = {"": "answer statement", _BOX: "box", _JSON: "JSON"}[mark or ""]
            rest = text[found.end() :]
            if rest.strip(' *_`#>"«'):
                self._state(weight, rule, rest, text, strict=found["divider"] is not None and not mark)
            else:
                pending = (weight, rule)
        return pending

    def _begins(self, text: str, found: re.Match[str]) -> bool:
        """Check whether a beginning answers, and does not begin a list or speak of an option."""
        sign, after = found["value"], text[found.end("value") :].lstrip()
        kind, reason = _kind(sign), rf"{WORDS['reason']}\b"
        listed = len(set(re.findall(rf"([{_SURE}])\s*[).:\]—–-]", text))) > 1
        spoken_of = self.noun_first and re.match(rf"[:—–,-]\s*(?!{reason})", after)
        goes_on = self.reader.words and re.match(r",\s*(?:и|а|но|если|так\s+не|and|but|if)\b", after)
        if listed or spoken_of or goes_on:
            return False
        if kind == "word":
            return re.match(rf"(?!,\s*(?:что|котор|which|that))[.,!)]|{reason}", after) is not None
        if self.numeric:
            return re.match(rf"[.,;!—–(]|{reason}", after) is not None
        if kind in ("option", None):
            others = self._values(re.findall(f"[{_SURE}{_SEVERAL}]", text)) - self._values(sign)
            return not others and not re.match(r"[—–-]", after)
        analysis = self.cut and self.mentions.value(sign) == self.reader.labels[0]
        return not (analysis and re.match(r"[).:\]—–-]", after))

    def _accepted(self, text: str, found: re.Match[str], rule: str) -> bool:
        """Check whether what surrounds a found statement lets it stand."""
        kind, place, pattern = _kind(found["value"]), found.end("value"), found.re
        ends = re.match(rf"\s*[.!)]*{_SIGNS}$", text[place:]) is not None
        if pattern is _EQUALS_OPTION:
            return (self.last or ends) and not (_NEGATION.search(text) or _SUPPOSED.search(text))
        number = kind == "option" and self.reader.bare_numbers and not _INFERRED.search(found[0])
        if (
            (number and not (self.last and ends and self._may_be_number(text)))
            or (kind == "word" and re.match(r"\s*[—–-]", text[place:]))
            or (kind in _RESULTS and not ends)
            or (pattern is _AT_END and not self._at_end(text, found))
        ):
            return False
        limited = pattern is not _CHOICE and _LIMITED.match(text, place)
        if not self.numeric and (limited or self._is_negated(text, found)):
            return False
        if rule == "called right" and len(self._values(re.findall(f"[{_SURE}]", text))) > 2:
            return False  # a list of what each option is worth
        if rule == "conclusion" and not ends and len(self._values(_SPOKEN_OF.findall(text))) > 2:
            return False
        return rule != "conclusion" or (self._ends(text, place) and self._concludes(text, found, ends=ends))

    def _is_negated(self, text: str, found: re.Match[str]) -> bool:
        """Check whether something else is denied of an answer: "the one that is no planet is C"."""
        clause = _CLAUSE.split(text[: found.start("value")])[-1]
        denied = _NEGATION.search(clause) is not None and not re.search(f"[{_DENIED}]", clause)
        return denied and _BY_EQUALITY.search(found[0]) is not None

    def _at_end(self, text: str, found: re.Match[str]) -> bool:
        """Check whether the answer after the colon at the end of a sentence may conclude the reply."""
        if not self.last or (not self.reader.labels and _NEGATION.search(text, 0, found.start())):
            return False
        return not self.numeric or len(self.mentions.known) == 1

    def _concludes(self, text: str, found: re.Match[str], *, ends: bool) -> bool:
        """Check whether a conclusion is more than "and C", "option A is iron" or the result of a step."""
        before = text[: found.start("value")]
        equality = _BY_EQUALITY.search(found[0])
        if _WEAK_LEAD.fullmatch(found[0][:-1]):
            return ends or re.search(f"[{_DENIED}]", before[-12:]) is not None
        if self.reader.labels and equality and re.match(f"{_SIGNS}{_STATED}", before):
            return False
        if self.numeric and equality:
            signs = [sign for sign in re.findall(_STATED, text[: found.start()]) if sign != _SEVERAL]
            usual = self.hidden_rule and _USUAL.search(text)
            return not usual and {str(self.mentions.value(sign)).strip("-") for sign in signs} <= self.own
        measured = before.split()[-1:] if found.re is _AT_END else re.split("[,;]", before)[-1:]
        if self.last and _IT_IS.fullmatch(text):
            return True
        if self.reader.digits and (equality or any(map(_COUNTER.search, measured))):
            alone = len(self.mentions.known) == 1 and not _COUNTER.search(text)
            subject = alone or _SUBJECT.search(text, 0, found.end("value"))
            return bool(subject) and "[" not in text
        return True

    # ----- the decision

    def decided(self) -> RuleFinding:
        """Choose among the statements."""
        if self.tasks:
            return RuleFinding(None, "several answers", self.mentions.shown(self.tasks).strip())
        steps = {number for numbers, _ in self.solution for number in numbers} if self.hidden_rule else set()
        strong = self._strong()
        weak = [one for one in self.statements if one.weight == 2 and one.value not in steps]
        if strong:
            found = self._heaviest(strong)
        elif self.cut:
            found = RuleFinding(None, "no final statement before the cut")
        elif weak:
            found = self._concluded(weak)
        elif (value := self._solved()) is not None:
            last = self._last_number()
            contrary = last is not None and last.value != value
            found = RuleFinding(None if contrary else value, "the last equation", value)
        else:
            found = self._implied()
            if found.value is None and self.taken_back:
                found = RuleFinding(None, "the answer is taken back", self.taken_back)
        if found.value is not None and self.possible - {found.value}:
            return RuleFinding(None, "another answer is called possible", found.piece)
        return found

    def _strong(self) -> list[_Statement]:
        """Return what is stated by more than a conclusion.

        Left out are marks on several options, heads without an answer before another statement, and a word such as "да"
        that only opens a reply which states its answer later.
        """
        headed = max((one.sentence for one in self.statements if one.rule == "answer statement"), default=0)
        answered = max((one.sentence for one in self.statements if one.value), default=0)
        last = max(
            [one.sentence for one in self.statements] + [sentence for _, sentence, _ in self.named],
            default=0,
        )
        ticked = {one.value for one in self.statements if one.rule == "ticked"}

        def stands(stated: _Statement) -> bool:
            if stated.rule == "ticked":
                return len(ticked) == 1
            if stated.rule == "empty":
                return answered < stated.sentence and stated.sentence >= last
            opens = self.reader.words and stated.rule == "beginning" and headed > stated.sentence
            return not (opens and re.match(r"\W*\w+,", stated.piece))

        return [one for one in self.statements if one.weight > 2 and stands(one)]

    def _solved(self) -> str | None:
        """Return the result of steps that use all numbers of the expression, and every result before the last."""
        used: set[str] = set()
        left: list[str] = []
        steps = 0
        for numbers, result in self.solution:
            amounts = {number.lstrip("-") for number in numbers}
            if used or (self.own <= amounts if self.hidden_rule else amounts & self.own):
                used |= amounts
                left = [one for one in left if one.lstrip("-") not in amounts] + [result]
                steps += 1
        enough = steps > self.hidden_rule  # a hidden rule needs a step more
        return left[0] if self.own and self.own <= used and len(left) == 1 and enough else None

    def _heaviest(self, strong: list[_Statement]) -> RuleFinding:
        """Choose among statements: the last of the heaviest ones, if none differs, or only lighter ones before it."""
        strong = [one for one in strong if not _WOULD.search(one.piece)] or strong
        last = strong[-1]
        most = max(one.weight for one in strong)
        heaviest = [one for one in strong if one.weight == most]
        chosen = heaviest[-1]
        if len({one.value for one in strong}) > 1:
            resolved = all(one.value is None for one in strong[:-1])
            explicit = {
                one.value
                for one in strong
                if one.rule in _DECIDED and not one.sentence < self.again <= last.sentence
            }
            if not resolved and (
                len(explicit - {None}) > 1 or len({one.value for one in heaviest}) > 1 or chosen is not last
            ):
                pieces = " / ".join(dict.fromkeys(one.piece for one in strong))
                return RuleFinding(None, "answer statements differ", pieces)
            chosen = last
        if chosen.value is None:
            return RuleFinding(None, "the stated answer has none or several", chosen.piece)
        if doubt := self._doubt(chosen):
            return RuleFinding(None, doubt, chosen.piece)
        if self.cut and (self.doubted or (chosen.open_end and not self.reader.labels)):
            return RuleFinding(None, "no final statement before the cut", chosen.piece)
        return RuleFinding(chosen.value, chosen.rule, chosen.piece)

    def _doubt(self, chosen: _Statement) -> str:
        """Return what else in the reply speaks against a statement; empty if nothing does."""
        inferred = {one.value for one in self.statements if one.inferred and one.sentence < chosen.sentence}
        if self.reader.by_meaning:
            end = self.sentence + (not self.cut)  # the last sentence may be incomplete
            meant = [
                one.values
                for one in self.namings
                if chosen.sentence <= one.sentence < max(end, chosen.sentence + 1) and len(one.values) == 1
            ]
            inferred |= meant[-1] if meant else frozenset()
        contrary = self.reader.labels and inferred - {chosen.value, None}
        if chosen.weight < 5 and (contrary or self._echoes_another(chosen)):
            return "the reasoning names another answer"
        if chosen.rule == "beginning" and self._ends_otherwise(chosen):
            return "the last sentence names another answer"
        if self._beside_another_text(chosen):
            return "a label beside another option's text"
        return "another answer is named on reflection" if self._reconsidered(chosen) else ""

    def _ends_otherwise(self, chosen: _Statement) -> bool:
        """Check whether the reply ends with another label than the one that it begins with."""
        end = re.search(rf"(?:^|[—–:]\s*)({_NAMED}){_SIGNS}$", self.ending)
        return end is not None and self.mentions.value(end[1]) != chosen.value

    def _beside_another_text(self, chosen: _Statement) -> bool:
        """Check whether a stated label is explained by the text of one other option, and not by its own."""
        if self.numeric or self.reader.by_meaning or self.reader.bare_numbers or chosen.rule == "ticked":
            return False
        for one in self.namings:
            text, *contrast = _WHILE.split(one.text, maxsplit=1)
            if one.sentence != chosen.sentence or any(map(_SAYS_MORE.search, contrast)):
                text = one.text
            texts = self._values(re.findall(f"[{_OPTION}]", text)) & one.values
            near = one.sentence == chosen.sentence or (
                one.sentence == chosen.sentence + 1 and one.answers > 0 and not one.labels
            )
            if (
                near
                and len(texts) == 1
                and chosen.value not in texts
                and not one.values - texts - {chosen.value}
            ):
                return not re.search(f"[{_OPTION}]\\W*[{_SURE}]", one.text)
        return False

    def _reconsidered(self, chosen: _Statement) -> bool:
        """Check whether the reply thinks again after a statement and then names only other answers."""
        if not chosen.sentence < self.reconsidered:
            return False
        later = frozenset().union(*(one.values for one in self.namings if one.sentence >= self.reconsidered))
        return bool(later) and chosen.value not in later

    def _echoes_another(self, chosen: _Statement) -> bool:
        """Check whether a statement repeats a part of another option than the one that it names."""
        echoed = self.reader.echoed(chosen.piece)
        return bool(echoed) and chosen.value not in echoed

    def _concluded(self, weak: list[_Statement]) -> RuleFinding:
        """Choose among conclusions: the last one, if it ends the reply or all are the same."""
        weak = [one for one in weak if one.value is not None] or weak
        last = weak[-1]
        at_end = {one.value for one in weak if one.sentence == last.sentence}
        later = [
            one
            for one in self.namings
            if one.sentence > last.sentence
            and (self.numeric or (one.answers and not _DESCRIBED.match(one.text)))
        ]
        if later and len(later[-1].values) == 1:
            at_end |= later[-1].values & self.mentions.known
        alike = len({one.value for one in weak}) == 1
        if last.value is None or len(at_end) > 1 or not (alike or last.sentence >= self.final):
            return RuleFinding(None, "several answers", " / ".join(one.piece for one in weak)[:500])
        if self._echoes_another(last):
            return RuleFinding(None, "the reasoning names another answer", last.piece)
        return RuleFinding(last.value, last.rule, last.piece)

    def _implied(self) -> RuleFinding:
        """Return an answer that no sentence states, but that something else singles out."""
        if self.none_fits:
            return RuleFinding(None, "no answer fits", self.none_fits)
        named = frozenset().union(*(one.values for one in self.namings))
        sources = [self._stressed, self._best_score, self._named_at_last, self._recalled, self._left]
        if self.numeric:
            sources = [self._stressed, self._last_number]
        for source in sources:
            if (found := source()) is not None:
                return found
        shown = ", ".join(sorted(named & self.mentions.known)[:12])
        return RuleFinding(None, "several answers" if named else "no answer", shown)

    def _stressed(self) -> RuleFinding | None:
        """Return the only answer that the last line stresses."""
        mentions = Mentions()
        signs = re.findall(_STATED, self.reader.marked(self.stressed, mentions))
        value = (
            mentions.value(signs[0])
            if len(signs) == 1 and len(self.stressed.split()) <= _LONGEST_STRESS
            else None
        )
        denied = self.denied - {result for _, result in self.solution}
        return RuleFinding(value, "stressed", self.stressed) if value and value not in denied else None

    def _best_score(self) -> RuleFinding | None:
        """Return the option to which the reply gives the best score."""
        if self.reader.by_meaning or self.reader.bare_numbers:
            return None
        given = scores(self.text, self.reader.labels)
        most = max(given.values(), default=0)
        best = [label for label, score in given.items() if score == most]
        return RuleFinding(best[0], "best score", str(given)) if len(best) == 1 else None

    def _left(self) -> RuleFinding | None:
        """Return the only option that the reply does not deny."""
        left = set(self.reader.labels) - self.denied
        named = set().union(*(one.values for one in self.namings))
        if len(left) != 1 or not self.denied or (len(self.reader.labels) == 2 and named - left):
            return None
        rather = len(self.reader.labels) == 2 and _AND_NOT.search(self.ending)
        if not (left <= named or rather or not left & self.mentions.known):
            return None
        return RuleFinding(left.pop(), "the others are denied", ", ".join(sorted(self.denied)))

    def _last_number(self) -> RuleFinding | None:
        """Return the number with which the last sentence ends, if it is a result and no check."""
        text = _IN_BRACKETS.sub("", self.ending)
        last = _LAST_NUMBER.search(text)
        if (
            last is None
            or self.checking
            or any(
                pattern.search(text, 0, last.start())
                for pattern in (_UNREAL, _SUPPOSED, _NEGATION, _NUMBERED_STEP)
            )
        ):
            return None
        value = self.mentions.value(last["value"] or last["step"])
        if last["step"]:
            *earlier, (numbers, result) = self.solution or [([], "")]
            known = self.own | {result for _, result in earlier}
            value = value if result == value and known & {*numbers} and not _STEP.search(text) else None
        return None if value is None else RuleFinding(value, "last number", self.mentions.shown(self.ending))

    def _recalled_in(self, text: str) -> set[str]:
        """Return the options that a text names by their text or recalls in clauses that deny nothing."""
        clauses = " ".join(
            clause
            for clause in _CLAUSE.split(text)
            if not _NEGATION.search(clause)
            and (
                self._may_be_number(clause) or _GIVES.search(clause) or not re.search(f"[{_OPTION}]", clause)
            )
        )
        if self.reader.digits and any(
            text in line for line in self.labelled
        ):  # the signs are not those of texts
            return self.reader.recalled(_PRIVATE.sub(" ", clauses))
        return self._values(re.findall(f"[{_OPTION}]", clauses)) | self.reader.recalled(
            self.mentions.shown(clauses)
        )

    def _recalled(self) -> RuleFinding | None:
        """Return the only option that the last sentence repeats words of, if it names no other."""
        text = self.ending
        recalled = self._recalled_in(text)
        signs = self._values(re.findall(f"{_STATED}|[{_DENIED}]", text))
        if len(recalled) != 1 or not signs <= recalled or _UNREAL.search(text) or _SUPPOSED.search(text):
            return None
        repeats = self._repeats_question(text) if self.reader.prose else stems(text) & self.reader.question
        answers = repeats or _SO_SAID.search(text) or _VERDICT.search(text)
        if not answers or (
            not self.reader.digits and _DESCRIBED.match(text) and not self._repeats_question(text)
        ):
            return None
        (value,) = recalled
        if value in self.denied:
            return None
        return RuleFinding(value, "own words", self.mentions.shown(text))

    def _named_at_last(self) -> RuleFinding | None:
        """Return the only answer named, or the one that all answering sentences name, or the last sentence's label."""
        if not self.namings:
            return None
        named = frozenset().union(*(one.values for one in self.namings))
        last = self.namings[-1]
        answering = [one for one in self.namings if one.answers > 1 and one.values]
        chosen = answering[-1] if answering else last
        rule = "only one" if len(named) == 1 else "last sentence"
        if len(named) == 1:
            object_only = self.sentence == 1 and not re.match(rf"{_SIGNS}{_NAMED}", last.text)
            asserted = self.reader.by_meaning and last.sentence == self.sentence
            stands = bool(last.answers or object_only or asserted) if self.reader.labels else last.answers > 1
        elif answering and len({one.values for one in answering}) == 1:
            after = [
                one
                for one in self.namings
                if one.sentence > chosen.sentence and not one.values <= chosen.values
            ]
            # A sentence that begins with an option describes it.
            stands = not any(
                one.answers or (one.labels and not re.match(rf"{_SIGNS}{_NAMED}", one.text)) for one in after
            )
        else:
            chosen = last
            stands = (
                last.answers > 0 and last.labels and self.sentence - last.sentence < 2 and len(answering) < 2
            )
        if not stands or len(chosen.values) != 1 or _UNREAL.search(chosen.text):
            return None
        (value,) = chosen.values
        # One number of the exam may be a count.
        possible = (
            value in self.mentions.known and value not in self.denied and (self.reader.labels or "," in value)
        )
        return RuleFinding(value, rule, self.mentions.shown(chosen.text)) if possible else None


#: A scale on which less is better.
_FAULT: Final = re.compile(WORDS["fault"])
_SCALE: Final = re.compile(WORDS["scale"])


def scores(text: str, labels: Sequence[str]) -> dict[str, float]:
    r"""Return the score of each label, if a text gives one to each of them; empty otherwise.

    Example:
        >>> scores("| A | 20 % |\n| B | 80 % |", "AB")
        {'A': 20.0, 'B': 80.0}
    """
    if len(labels) > _MOST_SCORED or not _SCALE.search(lowered(text)) or _FAULT.search(lowered(text)):
        return {}
    found: dict[str, float] = {}
    named = rf"{WORDS['noun']}[\s_№#]*" if all(map(str.isdigit, labels)) else rf"^\W*(?:{WORDS['noun']}\s+)?"
    between = r"(?:\W+|[^\n\d]{1,40}?\s)"
    pattern = rf"(?im){named}({'|'.join(map(re.escape, labels))})\b{between}(\d+(?:[.,]\d+)?)(?![\d.,]*\d)"
    for label, score in re.findall(pattern, text):
        if label in found:
            return {}
        found[label] = float(score.replace(",", "."))
    return found if len(found) == len(labels) > 1 else {}


#: So many labels may have scores.
_MOST_SCORED: Final = 5


def own_part(reply: str, asked: str) -> str:
    r"""Return the part of a reply that answers the item, without other items before it or after it.

    A model may go on with items of its own, or repeat examples before the question that was asked.

    Example:
        >>> own_part("Рим\n\nВопрос: Столица Франции?\nОтвет: Париж", "Вопрос: Столица Италии?")
        'Рим'
    """
    given = _WORDLESS.sub(" ", lowered(asked))
    start = 0
    for found in _NEXT_ITEM.finditer(low := lowered(reply)):
        if not reply[start : found.start()].strip(" *_#\n-"):
            if re.search(r"\d", found[0]):
                return reply  # answers to several items, which the rules find to differ
            continue
        title = _WORDLESS.sub(" ", low[found.end() :].lstrip().split("\n", 1)[0][:_TITLE]).strip()
        if not title or title not in given:
            return reply[: found.start()].rstrip()
    for paragraph in _PARAGRAPH.finditer(reply) if "\n\n" in reply else ():
        offered = [_WORDLESS.sub(" ", lowered(text)).strip() for text in _OFFERED.findall(paragraph[0])]
        if (
            len(offered) > 1
            and not any(text in given for text in offered)
            and _ITS_ANSWER.search(paragraph[0])
        ):
            return reply[: paragraph.start()].rstrip()
    return reply


#: A paragraph after the first one; the options in it, and the line with which it answers.
_PARAGRAPH: Final = re.compile(r"(?<=\n\n)\S(?:.|\n(?!\n))*")
_OFFERED: Final = re.compile(r"^[ \t]*(?:[A-EА-Д]|\d)[.)][ \t]+(\S.*)$", re.MULTILINE)
_ITS_ANSWER: Final = re.compile(r"^(?:ответ|answer):", re.MULTILINE | re.IGNORECASE)
#: How a reply answers its own question.
_SAYS_YES: Final = re.compile(r"\W*(?:да|yes|верно|подходит|correct)\b\W*")
_SAYS_NO: Final = re.compile(r"\W*(?:(?:тоже|также|also)\s+)?(?:нет|no)\b\W*")
_WORDLESS: Final = re.compile(r"\W+")
#: So many characters of a question show that it is the one that was asked.
_TITLE: Final = 30


def takes_back(text: str) -> bool:
    """Check whether a text takes back what it states."""
    return any(
        _TAKEN_BACK.search(sentence) for sentence in _SENTENCE.split(lowered(text[:_LONGEST_LINE]))[1:]
    )


def stated_texts(reply: str) -> list[tuple[str, bool]]:
    r"""Return the free texts that a reply states as its answer, and whether the reply goes on after them.

    Example:
        >>> stated_texts("Ответ: самовар?\nПравильный ответ — чайник.")
        [('чайник.', False)]
    """
    found: list[tuple[str, bool]] = []
    text = _TITLED.sub(r"\g<0>:", plain(reply[-_LONGEST_PART:]))
    lines = [line for line in text.split("\n") if line.strip(" *_`#>\t-—")]
    lines = [piece for line in lines for piece in _pieces(line)]
    for place, line in enumerate(lines):
        low = lowered(line)
        for head in _HEAD.finditer(low):
            before = low[max(0, head.start() - 200) : head.start()]
            if _TURNED.search(before[-25:]) or _SUPPOSED.search(_SENTENCE.split(before)[-1]):
                continue
            if head["noun"] and not (
                head["final"] or head["right"] or _LEADS_ONLY.fullmatch(low[: head.start()])
            ):
                continue
            text, end = line[head.end() :].strip(), place
            if not text.strip(' *_`#>"«') and place + 1 < len(lines):
                text, end = lines[place + 1].strip(), place + 1
            if text and not text.endswith("?"):
                found.append((text, end + 1 < len(lines)))
    return found


#: The signs of multiplication, division and minus, as `_OPERATORS` unifies them.
_OPERATORS: Final = str.maketrans(
    {"·": "*", "×": "*", "∙": "*", "÷": "/", ":": "/", "−": "-", "–": "-", "[": "(", "]": ")"}
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
