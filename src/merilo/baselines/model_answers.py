"""A model's answers, in the spelling of the people with whom it is compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from merilo.answer_tables import AnswerRecord, read_answer_records
from merilo.baselines.baseline_reader import Crowd
from merilo.errors import InputError
from merilo.people.gold_file import text_of
from merilo.people.labels import unify
from merilo.people.normalisation import canonical, rules_of
from merilo.people.spelling import key_of
from merilo.strict_json import Json


@dataclass(frozen=True, slots=True)
class Samples:
    """A model's answers.

    Attributes:
        model: its name.
        file: the file, as it was named.
        answers: item id -> its answers, in the order of the samples.
    """

    model: str
    file: str
    answers: dict[str, tuple[str, ...]]


def read_samples(path: Path, crowd: Crowd) -> Samples:
    """Read a model's answers, and bring them to the spelling that the people's answers were brought to.

    Args:
        path: a file of answers as `merilo.answer_tables` reads it, with `sample` where a model was asked more than once; in
            JSON the answer may also be the list of all samples.
        crowd: the people whom the model is compared with.

    Raises:
        InputError: the file has no ids or answers, or answers an item twice without saying which sample it is.
    """
    found: dict[str, dict[str, str]] = {}
    sampled = False
    for record in read_answer_records(path):
        sampled = sampled or record.sample is not None
        item = _folded(record.id)
        if not item:
            raise InputError("an answer without an id", file=path, row=record.row)
        answers = found.setdefault(item, {})
        for name, text in _samples(path, record):
            if name in answers:
                hint = (
                    ""
                    if sampled
                    else "; where a model was asked more than once, 'sample' tells the answers apart"
                )
                raise InputError(f"item {item[:60]!r} is answered twice{hint}", file=path, row=record.row)
            answers[name] = text
    if not found:
        raise InputError("holds no answers", file=path)
    spelling = _spelling({answer for answers in found.values() for answer in answers.values()}, crowd)
    return Samples(
        path.stem,
        str(path),
        {
            item: tuple(spelling[answer] for _, answer in _by_sample(answers))
            for item, answers in found.items()
        },
    )


def _samples(path: Path, record: AnswerRecord) -> Iterator[tuple[str, str]]:
    """The samples that a record holds: one, or in JSON a list of them."""
    given = record.answer
    if not isinstance(given, list):
        yield record.sample or "1", _folded(given)
        return
    if not all(isinstance(one, str | int | float | None) for one in given):
        raise InputError("the answer is neither a text nor a list of texts", file=path, row=record.row)
    if not given:
        raise InputError("the list of answers is empty", file=path, row=record.row)
    for number, one in enumerate(given, start=1):
        yield str(number), _folded(one)


def _folded(value: Json) -> str:
    """A value as text, white space folded as in the people's answers."""
    return " ".join((text_of(value) or "").split())


def _by_sample(answers: dict[str, str]) -> list[tuple[str, str]]:
    """Samples in the order of their numbers; names that are no numbers keep the file's order after them."""
    return sorted(
        answers.items(), key=lambda pair: int(pair[0]) if pair[0].isdecimal() else len(answers) + 10**9
    )


def _spelling(written: set[str], crowd: Crowd) -> dict[str, str]:
    """As typed -> as the people's answers are spelt: the same rules bring both to one spelling."""
    rules = rules_of(crowd.settings.normalise)
    key = key_of(crowd.declaration)

    def plain(text: str) -> str:
        text = canonical(text, rules) if rules else text
        return key(text, "") if key and crowd.metric != "grade_norm" else text

    known = {plain(label): label for label in reversed((*crowd.labels, *crowd.gold))} if rules or key else {}
    declared = crowd.declaration
    as_typed = bool(declared.name) and (declared.answer.kind == "text" or "grade_norm" in declared.metrics)
    unified = (
        dict(zip(written, written, strict=True))
        if as_typed
        else unify(sorted(written), sorted(set(crowd.gold)))
    )
    return {answer: known.get(plain(label), label) for answer, label in unified.items()}
