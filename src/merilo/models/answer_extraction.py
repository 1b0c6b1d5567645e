"""The answer in a model's reply, how it was found, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import Literal, TypeAlias

from merilo.datasets.declaration import Dataset
from merilo.items import Item
from merilo.models.asking import ModelReply, Request
from merilo.models.thoughts import split_thought
from merilo.strict_json import Json

#: What became of a request.
ExtractionOutcome: TypeAlias = Literal[
    "answered", "refused", "empty", "truncated", "unreadable", "too_long", "failed"
]


@dataclass(frozen=True, slots=True)
class ExtractedAnswer:
    """The answer in a model's reply.

    Attributes:
        answer: the answer in the form of the dataset: a label, an integer in digits, a text, a label per criterion; for a
            program, the whole text of the reply, from which the sandbox extracts it. `None` if there is none: with any
            outcome but "answered", except for a program that was cut off ("truncated"), whose text is kept.
        outcome: whether there is an answer, and if not, why.
        rule: the name of the rule that found the answer, or that found that there is none.
        found: the piece of the text that the rule read.
    """

    answer: Json
    outcome: ExtractionOutcome
    rule: str
    found: str = ""


def extract(declared: Dataset, item: Item, request: Request, reply: ModelReply) -> ExtractedAnswer:
    """Find the answer in a model's reply.

    Thought is set aside first. If a text holds several different answers and no rule decides between them, it is unreadable:
    no rule guesses.

    Args:
        declared: the dataset.
        item: the item that was asked.
        request: what the model was sent.
        reply: the reply.
    """
    if reply.finish in {"failed", "too_long"}:
        outcome: ExtractionOutcome = "failed" if reply.finish == "failed" else "too_long"
        return ExtractedAnswer(None, outcome, reply.error or "the backend's own report")
    if request.mode == "loglikelihood":
        return _most_likely(declared, reply)
    if not isinstance(reply.text, str):
        return ExtractedAnswer(None, "unreadable", "the answer is not a text")
    text = split_thought(reply.text).answer
    if reply.finish == "refusal":
        return ExtractedAnswer(None, "refused", "the backend's own report")
    if not text:
        return ExtractedAnswer(None, "truncated" if reply.finish == "length" else "empty", "no text")
    if declared.answer.kind == "program":
        if reply.finish == "length":
            return ExtractedAnswer(reply.text, "truncated", "program, cut off at the limit of tokens")
        return ExtractedAnswer(reply.text, "answered", "program")
    if text in declared.answer.labels:
        return ExtractedAnswer(_for_criteria(declared, text), "answered", "label alone", text)
    return ExtractedAnswer(None, "unreadable", "no label")


def _most_likely(declared: Dataset, reply: ModelReply) -> ExtractedAnswer:
    """Return the label of the most likely continuation; equal or missing likelihoods decide nothing."""
    labels, values = declared.answer.labels, reply.loglikelihoods
    if len(values) != len(labels) or any(map(isnan, values)):
        return ExtractedAnswer(None, "unreadable", "log-likelihoods missing")
    best = max(values)
    if values.count(best) > 1:
        return ExtractedAnswer(None, "unreadable", "equal log-likelihoods")
    label = labels[values.index(best)]
    return ExtractedAnswer(_for_criteria(declared, label), "answered", "greatest log-likelihood", label)


def _for_criteria(declared: Dataset, label: str) -> Json:
    """Return the label, or a dictionary of all criteria with this label, as submissions have it."""
    return dict.fromkeys(declared.answer.criteria, label) if declared.answer.criteria else label
