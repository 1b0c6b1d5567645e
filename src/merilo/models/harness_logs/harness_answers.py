"""Answers by item from the log of another harness."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final

from merilo.answer_tables import AnswerRecord
from merilo.datasets.declaration import Dataset
from merilo.datasets.rendering import option_fields
from merilo.errors import DataError, InputError
from merilo.items import Item
from merilo.models.answer_extraction import ExtractedAnswer, extract
from merilo.models.asking import ChatMessage, Request
from merilo.models.harness_logs.item_matching import ItemFinder, NamedItem, known_prompts, squeezed
from merilo.models.harness_logs.log_formats import Harness, harness_of, logs_in, open_log
from merilo.models.harness_logs.log_rows import UNANSWERED, LogMapping, LogRow
from merilo.wording import listed, shortened

#: A letter that names a choice: after "ANSWER:", as Inspect asks for it, or alone.
_ANSWERED: Final = re.compile(r"(?i:answer)\s*:?\s*\**\(?([A-Z])\b")
_ALONE: Final = re.compile(r"\W*([A-Z])\W*")


def answer_of(row: LogRow, declared: Dataset, item: Item) -> ExtractedAnswer:
    """Return the answer of a row, by the rules of `merilo run`.

    If the harness compared choices that are not the dataset's labels, or named the choices of a generated
    answer by letters, a choice stands for the label whose option has the same text, or else for the label in
    the same position.
    """
    labels = declared.answer.labels
    if row.reply.loglikelihoods:
        places = _places(row.choices, declared, item)
        if not places:
            values = row.reply.loglikelihoods
            best = row.choices[values.index(max(values))]
            return ExtractedAnswer(best.strip(), "answered", "text of the likeliest choice", best)
        reply = replace(row.reply, loglikelihoods=tuple(row.reply.loglikelihoods[place] for place in places))
        return extract(declared, item, _request(row, declared, item, choices=labels), reply)
    letters = [letter for letter, _ in row.letters]
    places = _places([text for _, text in row.letters], declared, item)
    if places and [letters[place] for place in places] != [*labels]:
        text = row.reply.text
        found = [*_ANSWERED.finditer(text)][-1:] or [*filter(None, [_ALONE.fullmatch(text)])]
        if found and found[0][1] in letters:
            label = labels[places.index(letters.index(found[0][1]))]
            return ExtractedAnswer(label, "answered", "letter of the choice", found[0][0])
    return extract(declared, item, _request(row, declared, item), row.reply)


def _places(choices: Sequence[str], declared: Dataset, item: Item) -> list[int]:
    """Return the place of each label's choice among the choices; empty if choices and labels do not correspond."""
    texts, labels = [squeezed(choice) for choice in choices], declared.answer.labels
    if not labels or len(texts) != len(labels):
        return []
    inputs = item.inputs if isinstance(item.inputs, Mapping) else {}
    options = [squeezed(str(inputs.get(field, ""))) for field in option_fields(declared).values()]
    for known in ([squeezed(label) for label in labels], options):
        if len(set(texts)) == len(texts) and set(texts) == set(known) and len(known) == len(texts):
            return [texts.index(one) for one in known]
    return [*range(len(labels))]


def _request(row: LogRow, declared: Dataset, item: Item, choices: Sequence[str] = ()) -> Request:
    """Return the request as far as the log tells it."""
    prompt = row.prompt or ""
    said = (ChatMessage("user", (prompt,)),)
    name = declared.name
    return Request(name, item.id, row.sample, said, prompt, choices=tuple(choices), stop=declared.stop)


#: How many rows of a log in a folder are tried.
_TRIED: Final = 20
_EXAMPLES: Final = 3


@dataclass(frozen=True, slots=True)
class HarnessAnswers:
    """The answers of a log by item.

    Attributes:
        records: the answers, under the names of the items; a failed request has no record.
        mapping: how they were found.
    """

    records: tuple[AnswerRecord, ...]
    mapping: LogMapping


def is_harness_log(path: Path) -> bool:
    """Check whether a file is the log of another harness, or a folder that holds such logs.

    Raises:
        InputError: the file is missing or empty, or cannot be read.
    """
    return next(logs_in(path), None) is not None if path.is_dir() else harness_of(path) is not None


def read_harness_log(path: Path, declared: Dataset, items: Sequence[NamedItem]) -> HarnessAnswers:
    """Read the answers of a log and match them to the items of a dataset.

    Args:
        path: a log, or a folder that holds one log of the dataset.
        declared: the dataset.
        items: its items, with the names under which answers are wanted.

    Raises:
        InputError: the log cannot be read, holds no answers, or answers an item twice.
        DataError: no row belongs to an item; or the folder holds several logs of the dataset, or none.
        MissingPartError: the log needs a package that is not installed.
    """
    finder = ItemFinder(declared, items)
    file, harness = _only_log(path, finder) if path.is_dir() else (path, harness_of(path))
    if harness is None:
        raise InputError("is not a log of lm-eval, Inspect, HELM or a batch", file=path)
    mapping, rows = open_log(file, harness)
    records = []
    seen: dict[tuple[int, int], int] = {}
    for row in rows:
        mapping.rows += 1
        found = finder.find(row)
        if found.place is None:
            mapping.unmatched[found.by] += 1
            if len(mapping.examples) < _EXAMPLES:
                mapping.examples.append(_example(row))
            continue
        named, sample = items[found.place], row.sample if found.sample is None else found.sample
        if (first := seen.get((found.place, sample))) is not None:
            twice = f"item {shortened(named.name)!r} is answered twice, here and in row {first}"
            raise InputError(twice, file=file, row=row.row)
        seen[found.place, sample] = row.row
        mapping.matched[found.by] += 1
        _compare_prompt(mapping, row, named, known_prompts(named.item, declared))
        extracted = answer_of(row, declared, named.item)
        mapping.outcomes[extracted.outcome] += 1
        mapping.rules[extracted.rule] += 1
        if extracted.outcome not in UNANSWERED:
            answer = "" if extracted.answer is None else extracted.answer
            records.append(AnswerRecord(row.row, named.name, answer, str(sample)))
    _refuse_unanswered(mapping, file, declared)
    return HarnessAnswers(tuple(records), mapping)


def only_log(folder: Path, declared: Dataset, items: Sequence[NamedItem]) -> Path:
    """Return the log in a folder that has answers to items of a dataset.

    Raises:
        InputError: the folder holds no log.
        DataError: the folder holds several logs of the dataset, or logs of others only.
    """
    return _only_log(folder, ItemFinder(declared, items))[0]


def _compare_prompt(mapping: LogMapping, row: LogRow, named: NamedItem, known: Sequence[str]) -> None:
    """Count a row whose prompt contains none of the item's prompts."""
    if not row.prompt or not known:
        return
    mapping.prompts_checked += 1
    asked = squeezed(row.prompt)
    if not any(prompt in asked for prompt in known):
        mapping.other_prompts += 1
        mapping.other_prompt = mapping.other_prompt or named.name


def _refuse_unanswered(mapping: LogMapping, file: Path, declared: Dataset) -> None:
    """Refuse a log without answers of the dataset."""
    if not mapping.rows:
        told = f" ({'; '.join(mapping.notes)})" if mapping.notes else ""
        raise InputError(f"holds no answers{told}", file=file)
    if not mapping.matched:
        task = f" of the task {shortened(mapping.task)}" if mapping.task else ""
        raise DataError(
            f"not one of {mapping.rows} rows{task} belongs to an item of {declared.title}: is it a log of another "
            f"dataset or version? ({mapping.reasons}; the first: {', '.join(mapping.examples)})",
            file=file,
        )
    if mapping.lost() == sum(mapping.outcomes.values()):
        raise DataError(f"holds no answers: all {mapping.lost()} requests to items failed", file=file)


def _example(row: LogRow) -> str:
    for name, value in row.ids:
        return shortened(f"{name} {value if value.isprintable() else ascii(value)[1:-1]}", 40)
    return shortened(next(iter(row.texts), "") or f"row {row.row}", 40)


def _only_log(folder: Path, finder: ItemFinder) -> tuple[Path, Harness]:
    """Return the only log in a folder with a row of the dataset among its first rows."""
    logs = [*logs_in(folder)]
    known = [(path, harness) for path, harness in logs if _has_items(path, harness, finder)]
    if len(known) == 1:
        return known[0]
    if known:
        names = listed([str(path.relative_to(folder)) for path, _ in known], 4)
        several = f"holds {len(known)} logs with items of the dataset: name one of them ({names})"
        raise DataError(several, file=folder)
    if not logs:
        raise InputError("holds no log of lm-eval, Inspect, HELM or a batch", file=folder)
    raise DataError(f"holds {len(logs)} logs, and none of them has items of the dataset", file=folder)


def _has_items(path: Path, harness: Harness, finder: ItemFinder) -> bool:
    try:
        _, rows = open_log(path, harness)
        return any(finder.find(row).place is not None for row in islice(rows, _TRIED))
    except InputError:
        return False
