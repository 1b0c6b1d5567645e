"""The answers of a run: what the model's replies in the log say, and what became of the other requests."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast, get_args

from merilo.atomic_write import write_text
from merilo.datasets.declaration import Dataset
from merilo.items import Item
from merilo.models.answer_extraction import ExtractedAnswer, ExtractionOutcome, extract
from merilo.models.asking import Finish, ModelReply, Request
from merilo.models.run_log import log_path, read_log
from merilo.strict_json import Json

if TYPE_CHECKING:
    import polars as pl

#: The outcomes of requests, in the order of tables.
OUTCOMES: Final[tuple[ExtractionOutcome, ...]] = get_args(ExtractionOutcome)

#: The columns of the log that answers depend on.
_COLUMNS: Final = ("item", "sample", "text", "finish", "loglikelihoods", "error")


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """The model's answer to an item.

    Attributes:
        item: the item's id as text.
        sample: the number of this answer among several to the item.
        answer: the answer in the form of the dataset; an empty text if there is none. For a program, the text of the reply.
        outcome: whether there is an answer, and if not, why.
    """

    item: str
    sample: int
    answer: Json
    outcome: ExtractionOutcome


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What became of the requests of a dataset.

    Attributes:
        counts: outcome -> number of requests.
        asked: how many answers were wanted.
    """

    counts: Mapping[ExtractionOutcome, int] = field(default_factory=dict)
    asked: int = 0

    @property
    def missing(self) -> int:
        """How many requests were not asked yet."""
        return self.asked - sum(self.counts.values())

    def to_dict(self) -> dict[str, Json]:
        """Return the counts as JSON, zeros included."""
        return {**{name: self.counts.get(name, 0) for name in OUTCOMES}, "not_asked": self.missing}

    def __str__(self) -> str:
        told = [
            f"{self.counts[name]} {name.replace('_', ' ')}" for name in OUTCOMES[1:] if self.counts.get(name)
        ]
        told += [f"{self.missing} not asked"] if self.missing > 0 else []
        return ", ".join(told)


@dataclass(frozen=True, slots=True)
class RunAnswers:
    """The answers to one dataset.

    Attributes:
        declared: the dataset.
        answers: the answers in the order of the items, then of the samples; requests that failed are not among them.
        outcomes: what became of all requests.
        models: the names that the backend gave for the model, such as a dated version.
        usd: the cost in US dollars; `None` if no reply states it.
        tokens: tokens of requests, of answers, and of thought within the answers.
    """

    declared: Dataset
    answers: Sequence[RunAnswer]
    outcomes: Outcomes
    models: tuple[str, ...] = ()
    usd: float | None = None
    tokens: tuple[int, int, int] = (0, 0, 0)


def read_answers_of(run: Path, declared: Dataset, items: Sequence[Item], samples: int) -> RunAnswers:
    """Read the answers to a dataset from the log of a run.

    Args:
        run: the run's folder.
        declared: the dataset.
        items: the items that were asked.
        samples: how many answers to each item were asked for.

    Raises:
        InputError: the log cannot be read.
    """
    path = log_path(run, declared.name)
    table = read_log(
        path, (*_COLUMNS, "model", "cost", "prompt_tokens", "completion_tokens", "thought_tokens")
    )
    by_id = {str(item.id): (place, item) for place, item in enumerate(items)}
    found: list[tuple[int, RunAnswer]] = []
    counts: Counter[ExtractionOutcome] = Counter()
    for name, sample, extracted in _extractions(table, declared, by_id):
        counts[extracted.outcome] += 1
        if extracted.outcome != "failed":
            answer = "" if extracted.answer is None else extracted.answer
            found.append((by_id[name][0], RunAnswer(name, sample, answer, extracted.outcome)))
    found.sort(key=lambda pair: (pair[0], pair[1].sample))
    sums = [int(table[f"{kind}_tokens"].sum() or 0) for kind in ("prompt", "completion", "thought")]
    return RunAnswers(
        declared,
        [answer for _, answer in found],
        Outcomes(dict(counts), len(items) * samples),
        tuple(sorted(set(table["model"].drop_nulls()))),
        float(table["cost"].sum()) if table["cost"].is_not_null().any() else None,
        (sums[0], sums[1], sums[2]),
    )


def write_answers(run: Path, found: RunAnswers) -> Path:
    """Write the answers to a dataset into the run's folder: `<dataset>.jsonl`, for programs `<dataset>.completions.jsonl`.

    Returns:
        The file.

    Raises:
        OutputError: the file cannot be written.
    """
    programs = found.declared.answer.kind == "program"
    path = run / f"{found.declared.name}.{'completions.' if programs else ''}jsonl"
    lines = []
    for one in found.answers:
        record: dict[str, Json] = (
            {"task_id": one.item, "completion": one.answer}
            if programs
            else {"id": one.item, "answer": one.answer}
        )
        record |= {"sample": one.sample, "outcome": one.outcome}
        lines.append(json.dumps(record, ensure_ascii=False) + "\n")
    write_text(path, "".join(lines))
    return path


def reply_to(declared: Dataset, item: Item, sample: int, reply: ModelReply) -> ExtractedAnswer:
    """Find the answer in a reply of the log; the request's text is not needed for it."""
    choices = declared.answer.labels if reply.loglikelihoods else ()
    return extract(declared, item, Request(declared.name, item.id, sample, (), "", choices=choices), reply)


def _extractions(
    table: pl.DataFrame, declared: Dataset, by_id: Mapping[str, tuple[int, Item]]
) -> Iterator[tuple[str, int, ExtractedAnswer]]:
    """Yield item, sample and answer of each record; records of other items are left out."""
    known: dict[tuple[str, str, str], ExtractedAnswer] = {}
    columns = [table[name].to_list() for name in _COLUMNS]
    for name, sample, text, finish, likelihoods, error in zip(*columns, strict=True):
        if name not in by_id:
            continue
        if likelihoods or finish == "failed":
            values = tuple(-float("inf") if one is None else one for one in likelihoods or ())
            reply = ModelReply(text=text, finish=cast("Finish", finish), loglikelihoods=values, error=error)
            yield name, sample, reply_to(declared, by_id[name][1], sample, reply)
            continue
        # Samples of one item often repeat each other.
        key = (name, text, finish)
        extracted = known.get(key)
        if extracted is None:
            reply = ModelReply(text=text, finish=cast("Finish", finish), error=error)
            extracted = known[key] = reply_to(declared, by_id[name][1], sample, reply)
        yield name, sample, extracted
