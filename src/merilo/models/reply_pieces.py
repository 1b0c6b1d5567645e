"""The pieces of a model's reply in which an answer stands: a JSON value, a box, a statement such as "Ответ: B", a line."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from merilo.strict_json import Json

#: Characters without a shape of their own: zero-width spaces, soft hyphens, the marks that make a digit a keycap.
_INVISIBLE: Final = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad\ufe0f\u20e3"))
_SPACES: Final = dict.fromkeys(map(ord, "\u00a0\u2007\u2009\u202f"), " ")
_FULL_WIDTH: Final = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_TABLE: Final = {**_INVISIBLE, **_SPACES, **_FULL_WIDTH}

_LATEX: Final = re.compile(
    r"\\(?:text|textbf|textit|texttt|textrm|mathrm|mathbf|mathsf|operatorname)\s*\{([^{}]*)\}"
)
_LATEX_MARKS: Final = re.compile(r"\\[()\[\]]|\$|\\[,;!:]|(?<=\d)\{,\}(?=\d)|\\displaystyle")
_BOXED: Final = re.compile(r"\\(?:boxed|fbox)\s*(?:\{((?:[^{}]|\{[^{}]*\})*)\}|\s(\w+))")
_BOLD: Final = re.compile(r"\*\*([^*\n]+)\*\*|__([^_\n]+)__|<(?:b|strong)>([^<\n]+)</(?:b|strong)>")
_FENCED: Final = re.compile(r"```\w*\s*\n(.*?)\n?\s*```", re.DOTALL)
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

_KIND: Final = r"(?:итоговый|окончательный|финальный|правильный|верный|final|correct|right|best)"
_HEAD: Final = r"(?:ответ|результат|итого?|вывод|отгадка|answer|result)"
#: Words that also name the options: they state an answer with "правильный" before them, or at the beginning of a line.
_OPTION_HEAD: Final = r"(?:вариант(?:\s+ответа)?|выбор|номер|буква|цифра|число|сумма|значение(?:\s+выражения)?|option|choice|sum|value)"
_DIVIDER: Final = r"[*_`\s]*(?::|=|—|–|-(?=\s)|->|→)"
_VERB: Final = (
    r"\s+(?:[—–-]\s+)?(?:это|будет|является|есть|равен|равна|равно|составляет|находится|под\s+(?:буквой|номером|цифрой)"
    r"|is|would\s+be|should\s+be|equals)\b:?"
)
_TOPIC: Final = r"(?:\s*\([^()\n]{1,40}\))?(?:\s+(?:на|к|to|for)\s+[^:.!?\n]{1,40}?)?"
#: Each alternative ends where the answer begins.
_STATEMENT: Final = re.compile(
    rf"""(?<![\w«"])(?:
        (?:(?P<mark>{_KIND}\s+)?{_HEAD} | (?P<mark5>{_KIND}\s+){_OPTION_HEAD} | (?:^|(?<=[\n*_.]\s)|(?<=[\n*_])|мой\s+|my\s+|the\s+)
          {_OPTION_HEAD}){_TOPIC}(?:{_DIVIDER}|{_VERB})
      | (?P<weak>(?:равн[аоы]|равен|составляет|получаем|получается|получится|получим|equals)\b:?
          | (?:sum|result|value|total|product|difference)\b[^.:\n]{{0,60}}?\s(?:is|equals)\b:?)
      | (?P<mark2>(?:правильным|верным)\s+)?ответом\s+(?:является|будет|служит)\b:?
      | (?P<mark3>правильным|верным)\s+(?:является|будет|оказывается)\b:?
      | (?P<mark4>верен|правилен|подходит)\s+(?=(?:ответ|вариант|пункт)\b)
      | (?:я\s+)?(?:выбираю|выберу|выбрал\s+бы|бы\s+выбрала?|выбрала\s+бы)\b:?
      | (?:следует|нужно|надо)\s+выбрать\b:?
      | i(?:['’]d|\s+would|\s+will|['’]ll)?\s+(?:choose|pick|select|go\s+with)\b:?
    )""",
    re.VERBOSE,
)
#: What before a statement turns it round: "неправильный ответ:", "not the answer:".
_TURNED: Final = re.compile(
    r"(?:\bне(?:правильн\w*|верн\w*)?|\bошибочн\w*|\bincorrect|\bwrong|\bnot(?:\s+the)?)\s*$", re.IGNORECASE
)


#: A line that lists an option: "A) Венера", "- 1: ...".
_OPTION_LINE: Final = re.compile(r"[\s*_\-•(\[]*\w{1,2}\s*[).:\]—–-]")


#: What may stand before a statement that begins its line.
_OPENING: Final = re.compile(
    r"\W*(?:\d+[.)])?\W*(?:итак|таким\s+образом|следовательно|so|thus|therefore)?\W*", re.IGNORECASE
)
#: A text that repeats itself without end states no answer: only its last statements are read, and their beginnings.
_MOST_STATEMENTS: Final = 50
_LONGEST_PIECE: Final = 20_000


@dataclass(frozen=True, slots=True)
class AnswerStatement:
    """A statement of the answer.

    Attributes:
        piece: what it says, to the end of its line.
        marked: whether it calls the answer final or correct.
        own_line: whether it begins its line.
        last: whether nothing follows its line but white space.
        cut: whether nothing follows its line at all.
        step: whether it may state the result of a step ("равно 15"); such statements count only if there are no others.
    """

    piece: str
    marked: bool
    own_line: bool
    last: bool
    cut: bool
    step: bool


def plain(text: str) -> str:
    r"""Return the text without invisible characters, typographic spaces and LaTeX's marks of mathematics.

    Example:
        >>> plain("$12\\,291$"), plain("\\text{B}"), plain("１\u202f000")
        ('12291', 'B', '1 000')
    """
    return _LATEX_MARKS.sub(_unmarked, _LATEX.sub(r"\1", text.translate(_TABLE)))


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
    r"""Return the answer in a JSON object and the object's text: the value of a key such as "answer", or of the only key.

    Example:
        >>> json_answer('```json\n{"reason": "...", "answer": "B"}\n```')
        ('B', '{"reason": "...", "answer": "B"}')
    """
    for piece in _json_pieces(text):
        try:
            held = json.loads(piece)
        except (ValueError, RecursionError):
            continue
        if isinstance(held, dict) and held:
            keys = {str(key).strip().lower().replace(" ", "_"): key for key in held}
            named = next((keys[key] for key in _KEYS if key in keys), None)
            if named is not None:
                return held[named], piece
            if len(held) == 1:
                return next(iter(held.values())), piece
    return None


def json_object(text: str) -> dict[str, Json] | None:
    """Return the last JSON object of the text."""
    for piece in _json_pieces(text):
        try:
            held = json.loads(piece)
        except (ValueError, RecursionError):
            continue
        if isinstance(held, dict):
            return held
    return None


def _json_pieces(text: str) -> Iterator[str]:
    """Find what may be JSON: the whole text, the blocks in fences, the last object without inner objects."""
    if "{" not in text:
        return
    yield text.strip()
    yield from (block.strip() for block in reversed(_FENCED.findall(text)))
    yield from reversed(_FLAT_OBJECT.findall(text))


def statements(text: str) -> list[AnswerStatement]:
    r"""Find statements of the answer, in their order.

    Example:
        >>> [found.piece for found in statements("Ответ: A? Нет.\nПравильный ответ — B.")]
        ['A? Нет.', 'B.']
    """
    found = []
    for match in deque(_STATEMENT.finditer(lowered(text)), maxlen=_MOST_STATEMENTS):
        if _TURNED.search(text[max(0, match.start() - 20) : match.start()]):
            continue
        start = match.end()
        # Marks of emphasis after the colon belong to the words before it.
        end = text.find("\n", start)
        line = text[start : min(end if end >= 0 else len(text), start + _LONGEST_PIECE)]
        if not line.strip(" *_`#>"):
            following = [part for part in text[start:].split("\n") if part.strip(" *_`#>")]
            if len(following) > 1 and all(map(_OPTION_LINE.match, following[:2])):
                continue  # the options follow, not an answer
            line = following[0] if following else ""
            end = text.find("\n", text.find(line, start)) if line else -1
        found.append(
            AnswerStatement(
                line.strip().strip("*_`").strip(),
                marked=any(match[name] for name in ("mark", "mark2", "mark3", "mark4", "mark5")),
                own_line=_OPENING.fullmatch(text[text.rfind("\n", 0, match.start()) + 1 : match.start()])
                is not None,
                last=end < 0 or not text[end:].strip(),
                cut=end < 0,
                step=match["weak"] is not None,
            )
        )
    return [one for one in found if not one.step] or found


def bold(text: str) -> list[str]:
    """Return the pieces in bold."""
    return [next(filter(None, found)).strip() for found in _BOLD.findall(text)]


def lines(text: str) -> list[str]:
    """Return the lines that hold something besides marks."""
    return [line.strip() for line in text.splitlines() if line.strip(" \t*_`#>-—|")]
