"""The answer in a model's reply, how it was found, or why there is none."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isnan
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from merilo.datasets.declaration import Dataset
from merilo.datasets.rendering import offered_labels, option_fields
from merilo.items import Item
from merilo.metrics.answers import AnswerContentError, AnswerTypeError, read_answer
from merilo.metrics.scoring import RATED
from merilo.models.answer_readers import (
    IntegerReader,
    NumberListReader,
    criteria_in,
    read_text,
    reader_of,
    without_criteria,
)
from merilo.models.answer_rules import AnswerReader, find_answer, json_object, own_part, refusal
from merilo.models.asking import ModelReply, Request
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
#: Rules that take a free text as it stands, which may be a refusal.
_UNMARKED: Final = ("first line", "whole text", "after an announcement")
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
    asked = item.inputs if isinstance(item.inputs, str) else "\n".join(map(str, item.inputs.values()))
    read = partial(_free_text, asked=asked) if _is_free(declared, item) else partial(_closed, item=item)
    if (own := own_part(text, asked)) != text:
        found = read(declared, text=own, cut=False)
        if found.rule not in ("no answer", "nothing marks the answer"):
            return found
    return read(declared, text=text, cut=cut)


def _reported_text(reply: ModelReply) -> str:
    text: object = reply.error or reply.text
    return text[:_LONGEST_PIECE] if isinstance(text, str) else ""


def _is_free(declared: Dataset, item: Item) -> bool:
    """Check whether the answer is a free text; in the exam, only tasks of type "text" have one."""
    if declared.answer.kind != "text":
        return False
    return "grade_norm" not in declared.metrics or item.meta.get("type") == "text"


def _compared(declared: Dataset, item: Item, values: Sequence[float]) -> tuple[str, ...]:
    """Return the labels whose log-likelihoods these are: those that the item offers, or all of the dataset."""
    offered = offered_labels(item, declared)
    return offered if len(offered) == len(values) else declared.answer.labels


def _most_likely(declared: Dataset, item: Item, reply: ModelReply) -> ExtractedAnswer:
    """Return the label of the most likely continuation; equal or missing log-likelihoods decide nothing."""
    values = reply.loglikelihoods
    labels = _compared(declared, item, values)
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
    if not any(word in text for word in _CODE) and (words := refusal(text, free=False)) is not None:
        return ExtractedAnswer(None, "refused", "refusal", words)
    if cut:
        return ExtractedAnswer(
            said, "truncated", "whole text, cut off; the sandbox takes the program from it"
        )
    return ExtractedAnswer(said, "answered", "whole text; the sandbox takes the program from it")


def _free_text(declared: Dataset, text: str, asked: str, *, cut: bool) -> ExtractedAnswer:
    sentence = bool(set(RATED) & set(declared.metrics))
    found = read_text(text, declared.stop, asked, sentence=sentence)
    if (words := refusal(text, free=sentence)) is not None and (found is None or found.rule in _UNMARKED):
        return ExtractedAnswer(None, "refused", "refusal", words)
    if found and not sentence and (words := refusal(found.text, free=False)) is not None:
        return ExtractedAnswer(None, "refused", "refusal", words)
    if found is None:
        reason = "nothing marks the answer" if any(map(str.isalnum, text)) else "no letters or digits"
        return ExtractedAnswer(None, "unreadable", reason, shortened(text))
    piece = found.piece[:_LONGEST_PIECE]
    if cut and not found.complete:
        return ExtractedAnswer(None, "truncated", found.rule, piece)
    return ExtractedAnswer(found.text, "answered", found.rule, piece)


def _all_criteria(declared: Dataset, text: str) -> tuple[Json, str] | None:
    """Return the labels of all criteria, from a JSON object or one a line, and the rule; `None` without them."""
    if not declared.answer.criteria:
        return None
    held: Json = json_object(text)
    rule = "JSON"
    if held is None:
        held, rule = {**criteria_in(text, declared.answer.criteria, declared.answer.labels)}, "criteria"
    try:
        given = read_answer(declared.answer, held)
    except (AnswerTypeError, AnswerContentError):
        return None
    return ({**given}, rule) if isinstance(given, Mapping) else None


def _closed(declared: Dataset, item: Item, text: str, *, cut: bool) -> ExtractedAnswer:
    """Find a label, an integer, or the numbers of an exam task."""
    if (judged := _all_criteria(declared, text)) is not None:
        return ExtractedAnswer(judged[0], "answered", judged[1], text[:_LONGEST_PIECE])
    single = without_criteria(text, declared.answer.criteria, declared.answer.labels)
    found = find_answer(single, _reader(declared, item), cut=cut)
    piece = found.piece[:_LONGEST_PIECE]
    if found.value is not None:
        return ExtractedAnswer(_for_criteria(declared, found.value), "answered", found.rule, piece)
    outcome: ExtractionOutcome = "refused" if found.refused else "truncated" if cut else "unreadable"
    return ExtractedAnswer(None, outcome, found.rule, piece)


def _reader(declared: Dataset, item: Item) -> AnswerReader:
    inputs = item.inputs if not isinstance(item.inputs, str) else {"": item.inputs}
    if declared.answer.kind == "integer":
        return IntegerReader(item.inputs if isinstance(item.inputs, str) else "")
    if declared.answer.kind == "text":
        return NumberListReader(item)
    fields = option_fields(declared)
    texts = {label: inputs.get(name) for label, name in fields.items()}
    options = tuple((label, text) for label, text in texts.items() if isinstance(text, str))
    named = set(fields.values())
    question = " ".join(text for name, text in inputs.items() if isinstance(text, str) and name not in named)
    return reader_of(declared.name, offered_labels(item, declared), options, question)


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
        labels = _compared(declared, item, values)
        if len(values) != len(labels) or any(map(isnan, values)):
            return _most_likely(declared, item, reply)
        label = labels[values.index(max(values))]
        return ExtractedAnswer(_for_criteria(declared, label), "answered", "greatest log-likelihood")
    if not labels:
        text = said.lstrip()
        return ExtractedAnswer(text, "answered" if text else "empty", "whole text", text[:_LONGEST_PIECE])
    found = re.search(_first_label(labels), said)
    if found and found[0] in labels:
        return ExtractedAnswer(_for_criteria(declared, found[0]), "answered", "first label", found[0])
    unread = None if declared.answer.criteria else found[0] if found else "-1"
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
