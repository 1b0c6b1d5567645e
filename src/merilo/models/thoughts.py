"""Separating what a model thought from its answer, if both stand in one text."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

#: The opening and closing marks of thought.
_MARKS: Final = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
)
#: The answer of a model that thinks in a separate channel.
_FINAL: Final = "<|channel|>final<|message|>"
_ANALYSIS: Final = "<|channel|>analysis<|message|>"
#: The tokens at the end of a text, which some servers leave in the answer.
_END_MARK: Final = re.compile(
    r"<\|(?:endoftext|im_end|eot_id|eom_id|end|return|end_of_text)\|>|<end_of_turn>|<｜end▁of▁sentence｜>|</s>|<eos>"
)


class Thought(NamedTuple):
    """A text, separated.

    Attributes:
        thought: what the model thought; `None` if the text has no marks of thought.
        answer: what follows, without marks and white space at the ends.
    """

    thought: str | None
    answer: str


def split_thought(text: str) -> Thought:
    """Separate thought from the answer.

    The opening mark may be missing, because some chat templates end with it. If the closing mark is missing, the model did
    not come to an answer, and everything after the opening mark is thought.

    Example:
        >>> split_thought("<think>A or B? B.</think> B")
        Thought(thought='A or B? B.', answer='B')
        >>> split_thought("B") == split_thought(" B<|im_end|>") == Thought(None, "B")
        True
    """
    if _FINAL in text:
        before, _, after = text.rpartition(_FINAL)
        return Thought(before.removeprefix(_ANALYSIS).split("<|", 1)[0].strip(), _ended(after))
    if text.startswith(_ANALYSIS):
        return Thought(text.removeprefix(_ANALYSIS).strip(), "")
    thoughts = []
    for opening, closing in _MARKS:
        before, mark, after = text.rpartition(closing)
        if mark:
            first, opened, inside = before.partition(opening)
            # A text before the opening mark is neither thought nor, as a rule, the answer.
            thoughts.append((inside if opened else first).strip())
            text = after if after.strip() or not opened else first
        if opening in text:
            text, _, unfinished = text.partition(opening)
            thoughts.append(unfinished.strip())
    answer = _ended(text)
    return Thought("\n\n".join(filter(None, thoughts)), answer) if thoughts else Thought(None, answer)


def _ended(text: str) -> str:
    return _END_MARK.split(text, maxsplit=1)[0].strip()
