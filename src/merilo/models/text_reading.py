"""Reading a free text from a model's reply."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from merilo.models.reply_pieces import boxed, json_answer, plain, statements

_QUOTES: Final = {"«": "»", '"': '"', "“": "”", "„": "“”", "'": "'", "‘": "’", "`": "`"}
#: Words that announce an answer on a line of its own, or before a colon.
_LEAD_IN: Final = re.compile(
    r"""^[\s*_\#>–—-]*(?:(?:конечно|хорошо|разумеется|sure|certainly|of\s+course)[!,.]\s*)?
        (?:вот\s+(?=вежл|вариант|ответ|мой|как|так(?:ой|ая)|более|перефраз|переписан|исправ|нейтральн|результат|текст|верси|отредакт)|ответ\b|итоговый|окончательный|правильный|верный|отгадка\b|вариант\b|вежливый|вежливая|нейтральный|мягкий|переписанн|перефразированн
        |отредактированн|исправленн|переформулированн|высказывание\b|комментарий\b|текст\s+без\b|версия\b|можно\s+(?:сказать|переписать|перефразировать)
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

    In this order: the value in a JSON object; the last box; the last statement of the answer ("Ответ: ..."); the text after an
    announcement ("Вот вежливый вариант:"); the text itself. It ends at the dataset's stop strings: at the end of its
    line, in the exam also at a full stop. Signs of emphasis and quotation marks around the whole answer are removed, and a
    full stop at its end.

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
    """Return where an announcement at the beginning ends: a line that ends with a colon, or known words before a colon."""
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
