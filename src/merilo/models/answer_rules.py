"""The rules by which a label or a number is found in a model's reply, from the most explicit to the least."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from merilo.models.refusals import after_refusal, refusal
from merilo.models.reply_pieces import (
    AnswerStatement,
    bold,
    boxed,
    json_answer,
    lines,
    lowered,
    plain,
    statements,
)
from merilo.strict_json import Json

#: The most characters of a reply in which labels are searched; what is longer is no answer to a closed question.
_LONGEST: Final = 200_000


#: Signs of emphasis and of lists around a line.
_MARKS: Final = " \t*_`#>-–—•|."
_CONCLUSION: Final = re.compile(
    r"(?:^|[\s,;])(?:следовательно|таким\s+образом|итак|значит|поэтому|остаётся|остается|therefore|thus|hence|so)\b[,:—–\s]+(\S.*)$",
)
#: Words that correct an answer; a different answer after them contradicts the first.
_TAKEN_BACK: Final = re.compile(
    r"(?:\bнет,\s+(?:вс[её]\b|лучше\b|это\b|ответ)|\bточнее[:,]|\bвернее[:,]|\bя\s+ошиб(?:ся|лась)|\bисправл\w+"
    r"|\bno,\s|\bwait\b|\bactually\b|\bcorrection\b|\bon\s+second\s+thought)",
)


class AnswerReader(Protocol):
    """Reads an answer of one form from a piece of text."""

    def alone(self, piece: str) -> str | None:
        """Return the answer if the piece is nothing else."""

    def stated(self, piece: str) -> str | None:
        """Return the answer in a piece that is said to be the answer."""

    def leading(self, piece: str) -> str | None:
        """Return the answer with which a reply begins, if its beginning decides."""

    def called_right(self, text: str) -> list[str]:
        """Return the distinct answers that the text calls right."""

    def only(self, text: str) -> list[str]:
        """Return the distinct possible answers in a text."""


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
       statement such as "Ответ: B"; a first line that is nothing but the answer. If two of them differ, nothing decides.
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
