"""The answer in a model's reply, how it was found, or why there is none."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isnan
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from merilo.datasets.declaration import Dataset
from merilo.datasets.rendering import offered_labels, option_fields
from merilo.items import Item
from merilo.models.asking import ModelReply, Request
from merilo.models.reply_reader import Form, read
from merilo.settings import Manner
from merilo.strict_json import Json
from merilo.wording import shortened

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

    The opening mark may be missing, because some chat templates end with it. If the closing mark is missing,
    the model did not come to an answer, and everything after the opening mark is thought.

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


#: What became of a request.
ExtractionOutcome: TypeAlias = Literal[
    "answered", "refused", "empty", "truncated", "unreadable", "too_long", "failed"
]
#: The outcomes in the order of tables.
OUTCOMES: Final[tuple[ExtractionOutcome, ...]] = get_args(ExtractionOutcome)

_REPORTED: Final[Mapping[str, ExtractionOutcome]] = {
    "failed": "failed",
    "too_long": "too_long",
    "refusal": "refused",
}
_LONGEST_PIECE: Final = 500
#: A refusal, in a reply that states no answer.
_REFUSAL: Final = re.compile(
    r"\bI(?: can(?:no|')t| won't| am (?:unable|not able)|'m (?:sorry|unable|not able))\b|as an ai\b"
    r"|\bunable to (?:answer|assist|help)|\bне могу\b|\bотказываюсь\b|к сожалению, я|\bя не знаю\b"
    r"|\bне (?:буду|стану) (?:отвеч|выбир|перефраз|помог)|как языковая модель",
    re.IGNORECASE,
)
#: Rules that read an answer which the reply does not announce, so that it may be a refusal.
_UNANNOUNCED: Final = ("whole reply", "only one")
#: Words that only a program has; a refusal has none of them.
_CODE: Final = ("def ", "return", "```", "lambda", "=")


@dataclass(frozen=True, slots=True)
class ExtractedAnswer:
    """The answer in a model's reply.

    Attributes:
        answer: the answer in the form of the dataset: a label, an integer in digits, a text, a label per
            criterion; for a program, the whole text of the reply, from which the sandbox extracts it. `None`
            if there is none: with any outcome but "answered", except for a program that was cut off
            ("truncated"), whose text is kept.
        outcome: whether there is an answer, and if not, why.
        rule: the name of the rule that found the answer, or the reason why there is none.
        found: the piece of the reply that the rule read, at most 500 characters.
    """

    answer: Json
    outcome: ExtractionOutcome
    rule: str
    found: str = ""


def extract(declared: Dataset, item: Item, request: Request, reply: ModelReply) -> ExtractedAnswer:
    """Find the answer in a model's reply.

    Thought is set aside first. If a reply holds several different answers and no rule decides between them,
    it is unreadable: no rule guesses. In a reply that was cut off at the limit of tokens, only an answer that
    the reply marks as one counts.

    Args:
        declared: the dataset.
        item: the item that was asked.
        request: what the model was sent.
        reply: the reply.

    Example:
        >>> from merilo.datasets import dataset
        >>> item, declared = Item(1, "{inputs}", "( )", "1"), dataset("bps")
        >>> request = Request("bps", 1, 1, (), "( )")
        >>> extract(declared, item, request, ModelReply(text="<think>Pairs.</think>Answer: **1**."))
        ExtractedAnswer(answer='1', outcome='answered', rule='answer statement', found='Answer: 1.')
    """
    if (outcome := _REPORTED.get(reply.finish)) is not None:
        return ExtractedAnswer(None, outcome, "reported by the backend", _reported_text(reply))
    if request.mode == "loglikelihood":
        return _most_likely(declared, item, reply)
    said: object = reply.text
    if not isinstance(said, str):
        return ExtractedAnswer(None, "unreadable", "the answer is not a text", shortened(repr(said)))
    return _from_text(declared, item, said, cut=reply.finish == "length")


def _from_text(declared: Dataset, item: Item, said: str, *, cut: bool) -> ExtractedAnswer:
    text = split_thought(said).answer
    if not text:
        reason = "the limit of tokens came before an answer" if cut else "no text"
        return ExtractedAnswer(None, "truncated" if cut else "empty", reason)
    if declared.answer.kind == "program":
        return _program(said, text, cut=cut)
    if (judged := _all_criteria(declared, text)) is not None:
        return ExtractedAnswer(judged, "answered", "criteria", text[:_LONGEST_PIECE])
    form = form_of(declared, item)
    refused = _REFUSAL.search(text)
    reading = read(text, form, cut=cut)
    if reading.value is not None and not (refused and reading.rule in _UNANNOUNCED):
        return ExtractedAnswer(
            _for_criteria(declared, reading.value), "answered", reading.rule, reading.piece[:_LONGEST_PIECE]
        )
    outcome: ExtractionOutcome = "refused" if refused else "truncated" if cut else "unreadable"
    return ExtractedAnswer(
        None,
        outcome,
        "refusal" if refused else reading.rule,
        (refused[0] if refused else reading.piece)[:_LONGEST_PIECE],
    )


def _reported_text(reply: ModelReply) -> str:
    text: object = reply.error or reply.text
    return text[:_LONGEST_PIECE] if isinstance(text, str) else ""


def _most_likely(declared: Dataset, item: Item, reply: ModelReply) -> ExtractedAnswer:
    """Return the label of the most likely continuation; equal or missing log-likelihoods decide nothing."""
    values = reply.loglikelihoods
    labels = offered_labels(item, declared)
    shown = ", ".join(f"{value:.4f}" for value in values)
    if len(values) != len(labels) or any(map(isnan, values)):
        return ExtractedAnswer(None, "unreadable", "log-likelihoods are missing", shown)
    best = max(values)
    if values.count(best) > 1:
        return ExtractedAnswer(None, "unreadable", "equal log-likelihoods", shown)
    label = labels[values.index(best)]
    return ExtractedAnswer(_for_criteria(declared, label), "answered", "greatest log-likelihood", shown)


def _for_criteria(declared: Dataset, label: str) -> Json:
    """Return the label; for criteria, a dictionary of all criteria with this label, as submissions have it."""
    return dict.fromkeys(declared.answer.criteria, label) if declared.answer.criteria else label


def _program(said: str, text: str, *, cut: bool) -> ExtractedAnswer:
    if not any(word in text for word in _CODE) and (refused := _REFUSAL.search(text)):
        return ExtractedAnswer(None, "refused", "refusal", refused[0])
    if cut:
        return ExtractedAnswer(
            said, "truncated", "whole text, cut off; the sandbox takes the program from it"
        )
    return ExtractedAnswer(said, "answered", "whole text; the sandbox takes the program from it")


def _all_criteria(declared: Dataset, text: str) -> Json:
    """Return the labels of all criteria, from a JSON object or one a line; `None` without them."""
    if not declared.answer.criteria:
        return None
    labels = "|".join(map(re.escape, declared.answer.labels))
    labels_of = {}
    for name in declared.answer.criteria:
        match = re.search(rf"\b{name}\b[^\n\w]*?[:=—–-][\s\"'*]*({labels})\b", text, re.IGNORECASE)
        if match:
            labels_of[name] = match[1]
    return labels_of if len(labels_of) == len(declared.answer.criteria) else None


_LISTED: Final = re.compile(r"(?:^|\n)\s*(\d+)\)")
_IN_TEXT: Final = re.compile(r"\((\d+)\)")


def numbers_of(item: Item) -> list[str]:
    """Return the numbers among which a task lets choose: those of its options, or else those in its text."""
    fields = item.inputs if not isinstance(item.inputs, str) else {"text": item.inputs}
    texts = {name: value for name, value in fields.items() if isinstance(value, str)}
    listed = _LISTED.findall(texts.get("choices", ""))
    numbers = [
        number for name, text in texts.items() if name != "choices" for number in _IN_TEXT.findall(text)
    ]
    return list(dict.fromkeys(listed or numbers))


#: How many letters a task of the exam asks a number for.
_LETTERS_ASKED: Final = 4


def form_of(declared: Dataset, item: Item) -> Form:
    """Return what an answer to an item may be."""
    if declared.answer.kind == "integer":
        return Form("integer")
    if declared.answer.kind == "text":
        exam = "grade_norm" in declared.metrics and item.meta.get("type") != "text"
        if exam:
            letters = _LETTERS_ASKED if item.meta.get("type") == "matching" else 0
            return Form("numbers", letters=letters, choices=frozenset(numbers_of(item)))
        return Form("text", sentence=declared.rated)
    inputs = item.inputs if not isinstance(item.inputs, str) else {}
    texts = {label: inputs.get(name) for label, name in option_fields(declared).items()}
    options = {label: text for label, text in texts.items() if isinstance(text, str)}
    return _label_form(offered_labels(item, declared), tuple(options.items()))


@lru_cache(maxsize=64)
def _label_form(labels: tuple[str, ...], options: tuple[tuple[str, str], ...]) -> Form:
    """Make a form once for all replies to an item, because it compiles a pattern for each option."""
    return Form("label", labels, dict(options))


def extract_as_harness(declared: Dataset, item: Item, request: Request, reply: ModelReply) -> ExtractedAnswer:
    r"""Find the answer in a model's reply as the benchmark's harness does.

    An answer of one of a few labels is the first digit or letter from A to D that stands alone (in RWSD: the first of
    its labels), else "-1"; an open answer is the whole text without white space at its beginning; of equal
    log-likelihoods, the first one decides. Programs are found as `extract` finds them.

    Example:
        >>> from merilo.datasets import dataset
        >>> item, declared = Item(1, "{inputs}", "( )", "1"), dataset("bps")
        >>> request = Request("bps", 1, 1, (), "( )")
        >>> [extract_as_harness(declared, item, request, ModelReply(text=text)).answer for text in ("2 pairs: 1", "10")]
        ['2', '-1']
    """
    said: object = reply.text
    if (
        reply.finish in {"failed", "too_long"}
        or declared.answer.kind == "program"
        or not isinstance(said, str)
    ):
        return extract(declared, item, request, reply)
    labels, values = declared.answer.labels, reply.loglikelihoods
    if request.mode == "loglikelihood":
        labels = offered_labels(item, declared)
        if len(values) != len(labels) or any(map(isnan, values)):
            return _most_likely(declared, item, reply)
        label = labels[values.index(max(values))]
        return ExtractedAnswer(_for_criteria(declared, label), "answered", "greatest log-likelihood")
    if not labels:
        text = said.lstrip()
        return ExtractedAnswer(text, "answered" if text else "empty", "whole text", text[:_LONGEST_PIECE])
    match = re.search(_first_label(labels), said)
    if match and match[0] in labels:
        return ExtractedAnswer(_for_criteria(declared, match[0]), "answered", "first label", match[0])
    unread = None if declared.answer.criteria else match[0] if match else "-1"
    return ExtractedAnswer(unread, "unreadable" if said.strip() else "empty", "first label")


def _first_label(labels: Sequence[str]) -> str:
    """Return the harness's expression for labels."""
    if all(map(str.isdigit, labels)):
        return r"\b[0-9]\b"
    return r"\b[ABCD]\b" if set(labels) <= set("ABCD") else rf"\b(?:{'|'.join(map(re.escape, labels))})\b"


#: Manner -> how it finds the answer in a reply.
EXTRACTORS: Final[Mapping[Manner, Callable[[Dataset, Item, Request, ModelReply], ExtractedAnswer]]] = {
    "merilo": extract,
    "harness": extract_as_harness,
}
