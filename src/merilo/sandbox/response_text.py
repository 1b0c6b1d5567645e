"""Removal of reasoning, end marks and labels from a completion."""

from __future__ import annotations

import re
from typing import Final

from merilo.sandbox.layout import KEYWORDS, read_layout

#: End-of-text tokens of models, which some clients leave in the completion.
_END_MARK: Final = re.compile(
    r"<\|(?:endoftext|im_end|eot_id|eom_id|end|return|file_sep|fim_\w+|end_of_text)\|>|<end_of_turn>"
    r"|<｜end▁of▁sentence｜>"
)
#: End-of-text tokens removed only at the end, because programs may contain them elsewhere.
_LAST_MARKS: Final = ("</s>", "<eos>", "<pad>", "<EOT>")
#: The mark before the answer of a model that writes its reasoning in a separate channel.
_FINAL: Final = "<|channel|>final<|message|>"
#: The opening and closing marks of reasoning.
_THOUGHTS: Final = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
)
#: "Answer: return x": a label on the line where the code begins.
_LABELLED: Final = re.compile(r"\s*(?P<word>[^\W\d]\w*):[ \t]*(?=(?:async|def|from|import|return)\b)")
#: An answer that is a single span of inline code.
_QUOTED: Final = re.compile(r"\s*(?P<mark>``?)(?!`)(?P<code>[^`]+)(?P=mark)\s*")


def without_reasoning(completion: str) -> str:
    r"""Return the completion without the model's reasoning, its end mark, and a label before the code.

    Example:
        >>> without_reasoning("<think>Double it?</think>Answer: return 2 * x<|im_end|>")
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
    """Return the text after the last reasoning block; if it holds no code, the text outside all reasoning blocks."""
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
    """Return the text with newlines as its only line ends, and without a byte-order mark."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
