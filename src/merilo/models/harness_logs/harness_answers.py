"""Answers by item from the log of another harness."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from merilo.models.harness_logs.log_rows import HarnessLog, LogRow
from merilo.strict_json import Json
from merilo.text import Text
from merilo.wording import listed, shortened, shown

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
    return Request(
        declared.name, item.id, row.sample, said, prompt, choices=tuple(choices), stop=declared.stop
    )


#: Outcomes that leave an item without an answer; with the others, a model has answered, if not readably.
UNANSWERED: Final = frozenset({"failed"})

#: How many rows of a log in a folder are tried.
_TRIED: Final = 20
_EXAMPLES: Final = 3


@dataclass
class LogMapping:
    """How the rows of a log became answers.

    Attributes:
        harness: the name of the harness.
        file: the name of the log's file.
        task: the name of the task; `None` if the log does not name it.
        model: the model's name; `None` if the log does not name it.
        answer_field: the field that the answers come from.
        rows: how many answers the log holds.
        matched: how many rows were matched to an item, by the name of the field that gave the id, or "inputs".
        unmatched: how many rows match no item, by the reason.
        examples: ids or texts of the first unmatched rows.
        outcomes: how many rows have each outcome.
        rules: how many answers each rule found.
        other_prompts: rows whose prompt is not the dataset's.
        prompts_checked: rows whose prompt was compared with the dataset's.
        other_prompt: the id of the first item with another prompt.
        notes: other sentences for the reader.
    """

    harness: str
    file: str
    task: str | None
    model: str | None
    answer_field: str
    rows: int = 0
    matched: Counter[str] = field(default_factory=Counter)
    unmatched: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    other_prompts: int = 0
    prompts_checked: int = 0
    other_prompt: str | None = None
    notes: list[str] = field(default_factory=list)

    def sentences(self) -> Iterator[str]:
        """Yield what a reader must know about the mapping, one sentence at a time."""
        names = [f"task {shortened(self.task)}"] if self.task else []
        names += [f"model {shortened(self.model)}"] if self.model else []
        told = f" ({', '.join(names)})" if names else ""
        by = listed([f"{count} by {name}" for name, count in self.matched.most_common()])
        yield (
            f"{self.file} is a log of {self.harness}{told}: {sum(self.matched.values())} of {self.rows} rows"
            f" belong to items ({by}); the answers are from {self.answer_field}"
        )
        if self.unmatched:
            reasons = listed([f"{_REASONS[name]}: {count}" for name, count in self.unmatched.most_common()])
            yield Text(
                "{count:# row belongs to no item and is|# rows belong to no item and are} left out "
                "({reasons}; the first: {first})",
                count=sum(self.unmatched.values()),
                reasons=reasons,
                first=", ".join(self.examples),
            ).en
        yield from self._unreadable()
        if self.other_prompts:
            yield (
                f"in {self.other_prompts} of {self.prompts_checked} rows the prompt is not the dataset's"
                f" (first: item {self.other_prompt}), so these answers are to another question than people read"
            )
        yield from self.notes

    def _unreadable(self) -> Iterator[str]:
        """Yield how many answers cannot be read, and how many requests failed."""
        total = sum(self.outcomes.values())
        given = {
            name: count for name, count in self.outcomes.items() if name not in {"answered", *UNANSWERED}
        }
        if given:
            yield f"{sum(given.values())} of {total} answers cannot be read ({_counts(given)})"
        if self.lost():
            yield Text(
                "{lost} of {total} requests failed, which {lost:leaves its item|leave their items} without an answer",
                lost=self.lost(),
                total=total,
            ).en

    def lost(self) -> int:
        """Return how many requests to items failed, so that the items have no answer."""
        return sum(self.outcomes[name] for name in UNANSWERED)

    def to_json(self) -> dict[str, Json]:
        """Return the mapping as JSON."""
        return {
            "harness": self.harness,
            "file": self.file,
            "task": self.task,
            "model": self.model,
            "answer_field": self.answer_field,
            "rows": self.rows,
            "matched": dict(self.matched),
            "unmatched": dict(self.unmatched),
            "unmatched_examples": [*self.examples],
            "outcomes": dict(self.outcomes),
            "rules": dict(self.rules),
            "prompts": {"checked": self.prompts_checked, "other": self.other_prompts},
            "notes": [*self.notes],
        }


_REASONS: Final[Mapping[str, str]] = {
    "unknown id": "unknown id or inputs",
    "other inputs": "the id of an item but other inputs",
    "several items": "inputs of several items",
    "other dataset": "an id with an unknown prefix",
}


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
    log = open_log(file, harness)
    mapping = LogMapping(log.harness, shown(file.name), log.task, log.model, log.answer_field)
    records = []
    seen: dict[tuple[int, int], int] = {}
    for row in log.rows:
        mapping.rows += 1
        found = finder.find(row)
        if found.place is None:
            mapping.unmatched[found.by] += 1
            if len(mapping.examples) < _EXAMPLES:
                mapping.examples.append(_example(row))
            continue
        named, sample = items[found.place], row.sample if found.sample is None else found.sample
        if (found.place, sample) in seen:
            first = seen[found.place, sample]
            raise InputError(
                f"item {shortened(named.name)!r} is answered twice, here and in row {first}",
                file=file,
                row=row.row,
            )
        seen[found.place, sample] = row.row
        mapping.matched[found.by] += 1
        _compare_prompt(mapping, row, named, known_prompts(named.item, declared))
        extracted = answer_of(row, declared, named.item)
        mapping.outcomes[extracted.outcome] += 1
        mapping.rules[extracted.rule] += 1
        if extracted.outcome not in UNANSWERED:
            answer = "" if extracted.answer is None else extracted.answer
            records.append(AnswerRecord(row.row, named.name, answer, str(sample)))
    _complete(mapping, log, declared)
    return HarnessAnswers(tuple(records), mapping)


def _counts(outcomes: Mapping[str, int]) -> str:
    return listed([f"{name.replace('_', ' ')}: {count}" for name, count in sorted(outcomes.items())])


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


def _complete(mapping: LogMapping, log: HarnessLog, declared: Dataset) -> None:
    """Take over what is known after all rows were read, and refuse a log without answers of the dataset."""
    mapping.harness, mapping.model, mapping.answer_field = log.harness, log.model, log.answer_field
    mapping.notes += log.notes
    if not mapping.rows:
        told = f" ({'; '.join(log.notes)})" if log.notes else ""
        raise InputError(f"holds no answers{told}", file=log.file)
    if not mapping.matched:
        reasons = listed([f"{_REASONS[name]}: {count}" for name, count in mapping.unmatched.most_common()])
        task = f" of the task {shortened(log.task)}" if log.task else ""
        raise DataError(
            f"not one of {mapping.rows} rows{task} belongs to an item of {declared.title}: is it a "
            "log of another dataset or"
            f" version? ({reasons}; the first: {', '.join(mapping.examples)})",
            file=log.file,
        )
    if mapping.lost() == sum(mapping.outcomes.values()):
        raise DataError(f"holds no answers: all {mapping.lost()} requests to items failed", file=log.file)


def _example(row: LogRow) -> str:
    name = next(
        (f"{field} {ascii(value)[1:-1] if not value.isprintable() else value}" for field, value in row.ids),
        "",
    )
    return shortened(name or next(iter(row.texts), "") or f"row {row.row}", 40)


def _only_log(folder: Path, finder: ItemFinder) -> tuple[Path, Harness]:
    """Return the only log in a folder with a row of the dataset among its first rows."""
    logs = [*logs_in(folder)]
    known = [(path, harness) for path, harness in logs if _has_items(path, harness, finder)]
    if len(known) == 1:
        return known[0]
    if known:
        names = listed([str(path.relative_to(folder)) for path, _ in known], 4)
        raise DataError(
            f"holds {len(known)} logs with items of the dataset: name one of them ({names})", file=folder
        )
    if not logs:
        raise InputError("holds no log of lm-eval, Inspect, HELM or a batch", file=folder)
    raise DataError(f"holds {len(logs)} logs, and none of them has items of the dataset", file=folder)


def _has_items(path: Path, harness: Harness, finder: ItemFinder) -> bool:
    try:
        return any(finder.find(row).place is not None for row in islice(open_log(path, harness).rows, _TRIED))
    except InputError:
        return False
