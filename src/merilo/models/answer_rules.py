"""The rules by which an answer is found in a model's reply, and the pieces that they read.

A JSON value, a box, a statement, a refusal.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
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
_OPTION_HEAD: Final = (
    r"(?:вариант(?:\s+ответа)?|выбор|номер|буква|цифра|число|сумма|"
    r"значение(?:\s+выражения)?|option|choice|sum|value)"
)
_DIVIDER: Final = r"[*_`\s]*(?::|=|—|–|-(?=\s)|->|→)"
_VERB: Final = (
    r"\s+(?:[—–-]\s+)?(?:это|будет|является|есть|равен|равна|равно|составляет|находится|под\s+(?:буквой|номером|цифрой)"
    r"|is|would\s+be|should\s+be|equals)\b:?"
)
_TOPIC: Final = r"(?:\s*\([^()\n]{1,40}\))?(?:\s+(?:на|к|to|for)\s+[^:.!?\n]{1,40}?)?"
#: Each alternative ends where the answer begins.
_STATEMENT: Final = re.compile(
    rf"""(?<![\w«"])(?:
        (?:(?P<mark>{_KIND}\s+)?{_HEAD} | (?P<mark5>{_KIND}\s+){_OPTION_HEAD} | (?:^|(?<=[\n*_.]\s)
        |(?<=[\n*_])|мой\s+|my\s+|the\s+)
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
    """Yield the JSON objects: the whole text, the blocks in fences, the last object without inner objects."""
    pieces = (
        [text, *reversed(_FENCED.findall(text)), *reversed(_FLAT_OBJECT.findall(text))] if "{" in text else ()
    )
    for piece in map(str.strip, pieces):
        with suppress(ValueError, RecursionError):
            if isinstance(held := json.loads(piece), dict):
                yield held, piece


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


#: Refusals in any text, because they speak of the request or of the model itself.
_OF_THE_REQUEST: Final = re.compile(
    r"""
      (?:как|будучи)\s+(?:и\s+любая\s+)?(?:большая\s+)?(?:языков\w+\s+модел\w+|искусственн\w+\s+интеллект\w*|ии\b)
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
    | ^\W*не\s+(?:могу|знаю)\b
    | (?:затрудняюсь|сложно|трудно)\s+(?:\w+\s+)?(?:ответить|сказать|определить)
    | невозможно\s+(?:\w+\s+)?(?:определить|ответить|выбрать|установить|сказать)
    | (?:недостаточно|не\s+хватает)\s+(?:информации|данных|контекста)
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
#: Words after which a reply that seemed to refuse gives an answer.
_TURN: Final = re.compile(r"\b(?:но|однако|вс[её]\s+же|скорее\s+всего|but|however|probably)\b")
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


def after_refusal(text: str) -> str:
    """Return what a reply says after it refuses, from a word such as "но": "Я не уверен, но скорее всего C".

    Example:
        >>> after_refusal("Извините, но я не могу выбрать вариант A."), after_refusal("Не знаю, но, думаю, C")
        ('', ', думаю, C')
    """
    found = _found(text, free=False)
    turn = None if found is None else _TURN.search(lowered(text), found.end())
    return "" if turn is None else text[turn.end() :]


def _found(text: str, *, free: bool) -> re.Match[str] | None:
    opening = lowered(text[:_REFUSAL_WITHIN])
    found = _OF_THE_REQUEST.search(opening) or (
        _NOTHING.fullmatch(opening) if len(text) < _REFUSAL_WITHIN else None
    )
    return _OF_THE_QUESTION.search(opening) if found is None and not free else found


#: The most characters of a reply in which labels are searched; what is longer is no answer to a closed question.
_LONGEST: Final = 200_000


#: Signs of emphasis and of lists around a line.
_MARKS: Final = " \t*_`#>-–—•|."
_CONCLUSION: Final = re.compile(
    r"(?:^|[\s,;])(?:следовательно|таким\s+образом|итак|значит|поэтому|остаётся|остается|"
    r"therefore|thus|hence|so)\b[,:—–\s]+(\S.*)$",
)
#: Words that correct an answer; a different answer after them contradicts the first.
_TAKEN_BACK: Final = re.compile(
    r"(?:\bнет,\s+(?:вс[её]\b|лучше\b|это\b|ответ)|\bточнее[:,]|\bвернее[:,]|\bя\s+ошиб(?:ся|лась)|\bисправл\w+"
    r"|\bno,\s|\bwait\b|\bactually\b|\bcorrection\b|\bon\s+second\s+thought)",
)


class AnswerReader(ABC):
    """Reads an answer of one form from a piece of text."""

    @abstractmethod
    def alone(self, piece: str) -> str | None:
        """Return the answer if the piece is nothing else."""

    @abstractmethod
    def stated(self, piece: str) -> str | None:
        """Return the answer in a piece that is said to be the answer."""

    @abstractmethod
    def only(self, text: str) -> list[str]:
        """Return the distinct possible answers in a text."""

    def leading(self, piece: str) -> str | None:
        """Return the answer with which a reply begins, if its beginning decides; a number may number a list."""
        return None

    def called_right(self, text: str) -> list[str]:
        """Return the distinct answers that the text calls right."""
        return []


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """What the rules found in a reply.

    Attributes:
        value: the answer; `None` if there is none.
        rule: the rule that found it, or the reason why there is none.
        piece: the piece of the reply that the rule read.
        refused: whether the reply refuses to answer.
        explicit: whether the reply marks the answer as one, so that it also holds if the reply was cut off.
    """

    value: str | None
    rule: str
    piece: str = ""
    refused: bool = False
    explicit: bool = False


def find_answer(reply: str, reader: AnswerReader) -> RuleFinding:
    r"""Find the answer to a closed question or a number in a reply.

    The rules, in this order:

    1. "whole reply": nothing but the answer, signs around it, and words such as "вариант".
    2. "JSON", "box", "answer statement", "first line": the value of a JSON object; the last `\boxed{...}`; the last
       statement such as "Ответ: B"; a first line that is nothing but the answer. If two of them differ,
       nothing decides.
    3. "beginning": "B) Марс, потому что ...".
    4. "called right": "вариант B верен".
    5. a refusal: there is no answer, unless the reply goes on with one ("... но скорее всего C").
    6. "last line": nothing but the answer.
    7. "conclusion": "значит, C" at the end.
    8. "bold": the only answer in bold.
    9. "only one": the only label or number in the reply.

    Args:
        reply: the reply without thought, not empty.
        reader: reads answers of the dataset's form.
    """
    text = plain(reply[:_LONGEST])
    found = _by_rules(reply[:_LONGEST], text, reader)
    if found.value is not None and _is_listed(found, text, reader):
        return RuleFinding(None, "several answers", found.piece)
    place = text.rfind(found.piece)
    if found.value is None or place < 0 or (taken_back := _TAKEN_BACK.search(lowered(text), place)) is None:
        return found
    if {*reader.only(text[taken_back.end() :])} <= {found.value}:
        return found
    return RuleFinding(None, "the answer is taken back", text[taken_back.start() :][:60])


def _is_listed(found: RuleFinding, text: str, reader: AnswerReader) -> bool:
    """Check whether the line before or after the answer is another answer: "- A", "- B"."""
    bare = [line.strip(_MARKS) for line in lines(text)]
    piece = found.piece.strip(_MARKS)
    for place in (place for place, line in enumerate(bare) if line == piece):
        for line in (*bare[max(0, place - 1) : place], *bare[place + 1 : place + 2]):
            if "=" not in line and reader.alone(line) not in {None, found.value}:
                return True
    return False


def _by_rules(reply: str, text: str, reader: AnswerReader) -> RuleFinding:
    """Apply the rules in their order."""
    if "{" not in text and (value := reader.alone(text)) is not None:
        return RuleFinding(value, "whole reply", text, explicit=True)
    if (marked := _marked(reply, text, reader)) is not None:
        return marked
    if (value := reader.leading(text)) is not None:
        return RuleFinding(value, "beginning", text.strip().split("\n", 1)[0], explicit=True)
    if len(right := reader.called_right(text)) == 1:
        return RuleFinding(right[0], "called right", right[0])
    if (words := refusal(text, free=False)) is not None:
        hedged = _implied(after_refusal(text), reader)
        return RuleFinding(None, "refusal", words, refused=True) if hedged.value is None else hedged
    return _implied(text, reader)


def _marked(reply: str, text: str, reader: AnswerReader) -> RuleFinding | None:
    """Apply the rules for answers that the reply marks as such; `None` if it marks none."""
    found: list[RuleFinding] = []
    missed: RuleFinding | None = None
    if (held := json_answer(reply)) is not None:
        value = reader.stated(_as_text(held[0]))
        found += [RuleFinding(value, "JSON", held[1], explicit=True)] if value is not None else []
    if (box := boxed(reply)) is not None and (value := reader.stated(box)) is not None:
        found.append(RuleFinding(value, "box", box, explicit=True))
    if stated := statements(text):
        last = stated[-1]
        value = reader.stated(last.piece)
        if value is not None:
            values = {reader.stated(one.piece) for one in stated} - {None}
            if len(values) > 1 and not _is_final(stated):
                return RuleFinding(None, "answer statements differ", " / ".join(one.piece for one in stated))
            found.append(RuleFinding(value, "answer statement", last.piece, explicit=True))
        elif last.piece:
            missed = RuleFinding(None, "the stated answer has none or several", last.piece)
    whole = lines(text)
    # An equation in the first line may be the first step of several.
    first = whole[0] if len(whole) > 1 and "=" not in whole[0] and not statements(whole[0]) else ""
    if first and (value := reader.alone(first)) is not None:
        found.append(RuleFinding(value, "first line", first, explicit=True))
        if (other := reader.alone(whole[-1])) is not None:
            found.append(RuleFinding(other, "last line", whole[-1], explicit=True))
    if len({one.value for one in found}) > 1:
        pieces = " / ".join(f"{one.rule}: {one.value}" for one in found)
        return RuleFinding(None, "marked answers differ", pieces)
    if found:
        return found[0]
    if missed is not None and (words := refusal(text, free=False)) is not None:
        return RuleFinding(None, "refusal", words, refused=True)
    return missed


def _is_final(stated: Sequence[AnswerStatement]) -> bool:
    """Check whether the last of several statements decides, though the earlier ones say something else."""
    last = stated[-1]
    if last.marked or last.step:
        return last.marked or last.last
    return last.own_line and last.last and not any(one.own_line for one in stated[:-1])


def _implied(text: str, reader: AnswerReader) -> RuleFinding:
    """Apply the rules for answers that the reply does not mark as such."""
    whole = lines(text)
    for last in _endings(whole[-1]) if whole else ():
        if (value := reader.alone(last)) is not None:
            return RuleFinding(value, "last line", last)
    if whole and (concluded := _CONCLUSION.search(lowered(whole[-1]))) is not None:
        value = reader.alone(whole[-1][concluded.start(1) :])
        if value is not None:
            return RuleFinding(value, "conclusion", whole[-1][concluded.start() :].strip())
    in_bold = [(value, piece) for piece in bold(text) if (value := _in_bold(piece, reader)) is not None]
    if len({value for value, _ in in_bold}) == 1:
        return RuleFinding(in_bold[0][0], "bold", in_bold[0][1])
    found = reader.only(text)
    if len(found) == 1 and reader.alone(found[0]) is not None:
        return RuleFinding(found[0], "only one", found[0])
    return RuleFinding(None, "several answers" if len(found) > 1 else "no answer", ", ".join(found[:12]))


def _endings(line: str) -> list[str]:
    """Return the line, and the equation with which it ends."""
    clause = re.split(r"[:;.,]\s+|\s[—–]\s", line.rstrip(" .*_"))[-1]
    return [line, clause] if re.search("=|->|→", clause) else [line]


def _in_bold(piece: str, reader: AnswerReader) -> str | None:
    value = reader.alone(piece)
    return reader.leading(piece) if value is None else value


def _as_text(value: Json) -> str:
    if isinstance(value, list):
        return ", ".join(map(_as_text, value))
    return "" if value is None or isinstance(value, bool) else str(value)


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
