"""Read a file's answers by item id (`merilo.answer_tables`), and match them to the items of a dataset.

Ids are compared as text. Encodings of the file format are decoded: a table has no types, so program results and
criteria are JSON inside the cell, and JSON may hold an integer answer as a number. The answer itself is not changed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from merilo.answer_tables import AnswerRecord, read_answer_records
from merilo.datasets import Answer
from merilo.errors import DataError, InputError, argument
from merilo.items import Item, ItemId
from merilo.metrics.answers import (
    AnswerContentError,
    AnswerTypeError,
    Given,
    read_answer,
)
from merilo.models.harness_logs import LogMapping
from merilo.models.replies import ReadAnswers
from merilo.strict_json import Json, parse_json
from merilo.text import Text
from merilo.wording import listed, shortened


def read_sheet(path: Path, *, first_sample: bool = False) -> list[AnswerRecord]:
    """Read a file with one answer to an item.

    Args:
        path: the file.
        first_sample: of several samples of an item, read only the one with number 1.

    Raises:
        InputError: the file cannot be read, lacks ids or answers, or answers an item twice.
    """
    records: dict[str, AnswerRecord] = {}
    for record in read_answer_records(path):
        if first_sample and record.sample not in {None, "1"}:
            continue
        if first := records.get(record.id):
            twice = f"item {record.id[:60]!r} is answered twice, here and in row {first.row}"
            raise InputError(twice, file=path, row=record.row)
        records[record.id] = record
    return [*records.values()]


def by_id(items: Sequence[Item]) -> dict[str, Item]:
    """Return items under their own ids."""
    return {str(item.id): item for item in items}


def first_samples(read: ReadAnswers) -> list[AnswerRecord]:
    """Return the first sample of each item in a log."""
    first: dict[str, AnswerRecord] = {}
    records = read.records()
    for record in sorted(records, key=lambda record: int(record.sample or 1)):
        first.setdefault(record.id, record)
    if (more := len(records) - len(first)) and read.source:
        read.source.notes.append(
            f"items have several samples: the first of each is scored, {more} are left out"
        )
    return [*first.values()]


#: An answer of kind "integer"; people's spellings of a number have spaces and commas.
_NUMBER: Final = re.compile(r"[-+−]?\d[\d\s.,]*")


@dataclass(frozen=True, slots=True)
class NoLabels:
    """Answers that are none of the dataset's labels, and so count as wrong.

    Attributes:
        ids: the ids of their items.
        sentence: how many they are, with an example and what to do.
    """

    ids: tuple[str, ...]
    sentence: Text


def no_labels(
    answers: Iterable[tuple[str, str | Mapping[str, str]]],
    form: Answer,
    labels: Collection[str],
    file: object,
) -> NoLabels | None:
    """Find answers that are no labels, where only labels can be right; an empty answer is one of them.

    Args:
        answers: the answers, each with its item's id.
        form: the form of an answer.
        labels: the labels.
        file: the file of the answers, for messages.

    Raises:
        InputError: half of the answers are other texts, so that a score would say nothing of the model.
    """
    if form.kind not in {"choice", "criteria", "integer"}:
        return None
    known = _NUMBER.fullmatch if form.kind == "integer" else labels.__contains__
    others: list[tuple[str, str]] = []
    total = 0
    for item, answer in answers:
        for label in [answer] if isinstance(answer, str) else sorted({*map(str, answer.values())}):
            total += 1
            if not known(label):
                others.append((item, label))
    if not others:
        return None
    first, example = max(others, key=lambda other: bool(other[1]))
    if 2 * sum(bool(text) for _, text in others) >= total:
        kind = "numbers" if form.kind == "integer" else f"labels ({listed(sorted(labels))})"
        sign = (
            example if len(example) == 1 and not example.isascii() else ""
        )  # "В" may be the Cyrillic letter
        named = f" ({unicodedata.name(sign, '').capitalize()})" if sign else ""
        raise InputError(
            f"{len(others)} of {total} answers are no {kind}, such as {shortened(example)!r}{named} for item "
            f"{first[:60]!r}: give the labels; if these are whole replies of a model, name their column 'reply'",
            file=file,
        )
    ids = tuple(dict.fromkeys(item for item, _ in others))
    return NoLabels(
        ids,
        Text(
            "{count} of {total} answers are no {kind:integer=numbers|labels} and count as wrong, such as "
            "'{example}' (items {items}); if they are whole replies of a model, name their column 'reply'",
            count=len(others),
            total=total,
            kind=form.kind,
            items=[printable(name[:60]) for name in ids],
            example=printable(shortened(example)),
        ),
    )


def refuse_unreadable(
    answers: Iterable[str | Mapping[str, str]], log: LogMapping | None, file: object
) -> None:
    """Refuse answers none of which can be read: their score would be that of a wrong format.

    Args:
        answers: the answers to items; one that cannot be read is empty.
        log: how the answers were found in the log of another harness; `None` for a file of answers.
        file: the file of the answers, for messages.

    Raises:
        DataError: all answers are empty.
    """
    texts = [answer if isinstance(answer, str) else "".join(answer.values()) for answer in answers]
    if any(texts) or not texts:
        return
    counts = sorted(log.outcomes.items()) if log else []
    why = listed([f"{name.replace('_', ' ')}: {n}" for name, n in counts]) if counts else "all are empty"
    form = "log" if log else "file"
    raise DataError(
        f"not one of {len(texts)} answers can be read ({why}), so the score would say nothing of the model: check that "
        f"the {form} holds the model's replies to these items, or give {argument('force', given=True)} to count "
        "all as wrong",
        file=file,
    )


def printable(text: str) -> str:
    """Return a text of a file for a message, without signs that would move the cursor."""
    return text if text.isprintable() else ascii(text)[1:-1]


def match(
    records: Iterable[AnswerRecord],
    items: Sequence[Item],
    form: Answer,
    *,
    file: object,
    log: LogMapping | None = None,
) -> tuple[dict[ItemId, Given], tuple[str, ...]]:
    """Match answers to items.

    Args:
        records: the answers, one to an item.
        items: the items of the dataset.
        form: the form of an answer.
        file: the file of the answers, for messages.
        log: how the answers were found in the log of another harness; `None` for a file of answers.

    Returns:
        Item id -> answer; and the ids that match no item, as written in the file, in its order.

    Raises:
        InputError: an answer is not of the dataset's type, or cannot be read.
    """
    ids = {str(item.id): item.id for item in items}
    for item in items:
        if {"dialog_id", "question_id"} <= item.meta.keys():
            ids.setdefault(f"{item.meta['dialog_id']}/{item.meta['question_id']}", item.id)
    by_item: dict[ItemId, Given] = {}
    unknown = []
    for record in records:
        if record.id not in ids:
            unknown.append(record.id)
            continue
        if log and record.answer == "" and form.criteria:
            # A model's answer that cannot be read is wrong by every criterion.
            by_item[ids[record.id]] = dict.fromkeys(form.criteria, "")
            continue
        try:
            by_item[ids[record.id]] = read_answer(form, _of_form(form, record.answer))
        except (AnswerTypeError, AnswerContentError, InputError) as error:
            wrong = f"the answer to item {record.id[:60]!r}: {error}"
            raise InputError(wrong, file=file, row=record.row) from error
    return by_item, tuple(unknown)


def _of_form(form: Answer, answer: Json) -> Json:
    """Undo the file format's encoding of an answer."""
    if form.kind in {"criteria", "program"} and isinstance(answer, str) and answer.lstrip()[:1] in {"{", "["}:
        return parse_json(answer, file="answer")
    if form.kind == "criteria" and isinstance(answer, str | int) and not isinstance(answer, bool):
        # A single answer is scored against each criterion.
        return dict.fromkeys(form.criteria, str(answer))
    if isinstance(answer, int) and not isinstance(answer, bool):
        return str(answer)
    return answer
