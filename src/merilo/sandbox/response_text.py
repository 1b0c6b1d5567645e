"""What of a completion is the answer: not what the model thought aloud, nor the marks and labels around."""

from __future__ import annotations

import re
from typing import Final

from merilo.sandbox.layout import KEYWORDS, read_layout

#: What ends a model's answer when its client has not taken it away.
_END_MARK: Final = re.compile(
    r"<\|(?:endoftext|im_end|eot_id|eom_id|end|return|file_sep|fim_\w+|end_of_text)\|>|<end_of_turn>"
    r"|<｜end▁of▁sentence｜>"
)
#: The same, where programs may well hold it elsewhere.
_LAST_MARKS: Final = ("</s>", "<eos>", "<pad>", "<EOT>")
#: What begins the answer where a model thinks in a channel of its own.
_FINAL: Final = "<|channel|>final<|message|>"
#: What stands around the part of an answer in which a model thinks aloud.
_THOUGHTS: Final = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
)
#: "Answer: return x": a label on the line where the code begins.
_LABELLED: Final = re.compile(r"\s*(?P<word>[^\W\d]\w*):[ \t]*(?=(?:async|def|from|import|return)\b)")
#: The whole answer as code in a sentence.
_QUOTED: Final = re.compile(r"\s*(?P<mark>``?)(?!`)(?P<code>[^`]+)(?P=mark)\s*")


def spoken(completion: str) -> str:
    r"""The completion without what the model thought aloud, without its end mark, and without a label before code.

    Example:
        >>> spoken("<think>Double it?</think>Answer: return 2 * x<|im_end|>")
        'return 2 * x'
    """
    text = with_plain_line_ends(completion)
    for opening, closing in _THOUGHTS:
        text = _without_thoughts(text, opening, closing)
    text = _without_last_marks(_END_MARK.split(text.rpartition(_FINAL)[2], maxsplit=1)[0])
    if quoted := _QUOTED.fullmatch(text):
        return quoted["code"]
    label = _LABELLED.match(text)
    return text[label.end() :] if label and label["word"] not in KEYWORDS else text


def _without_last_marks(text: str) -> str:
    end = len(text)
    while (bare := _end_without_blanks(text, end)) and text.endswith(_LAST_MARKS, 0, bare):
        end = text.rindex("<", 0, bare)
    return text[:end]


def _end_without_blanks(text: str, end: int) -> int:
    while end and text[end - 1].isspace():
        end -= 1
    return end


def _without_thoughts(text: str, opening: str, closing: str) -> str:
    """What stands behind the last thought; where no code does, what stands around the thoughts."""
    before, mark, after = text.rpartition(closing)
    if not mark or opening not in before or read_layout(after).segments:
        return after
    kept = []
    position = 0
    while (start := text.find(opening, position)) >= 0 and (end := text.find(closing, start)) >= 0:
        kept.append(text[position:start])
        position = end + len(closing)
    return "".join(kept) + text[position:].rpartition(closing)[2]


def with_plain_line_ends(text: str) -> str:
    """The text with the line ends that Python sees, and without a byte-order mark."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
