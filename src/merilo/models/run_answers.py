"""The answers of a run: what the model's replies in the log say, and what became of the other requests."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from merilo.atomic_write import write_text
from merilo.datasets.declaration import Dataset
from merilo.datasets.rendering import offered_labels, option_fields
from merilo.errors import argument
from merilo.items import Item
from merilo.models.answer_extraction import EXTRACTORS, OUTCOMES, ExtractedAnswer, ExtractionOutcome
from merilo.models.asking import ModelReply, Request
from merilo.models.run_log import log_path, read_log
from merilo.settings import Manner
from merilo.strict_json import Json
from merilo.wording import listed, shortened

if TYPE_CHECKING:
    import polars as pl

#: Why a model stopped, where the backend reports that there is no answer.
_REPORTED: Final = frozenset({"failed", "too_long"})

#: The share of replies that were cut at the limit of tokens from which a run warns.
MANY_CUT: Final = 0.05

#: The columns of the log that answers depend on.
_COLUMNS: Final = ("item", "sample", "text", "finish", "loglikelihoods", "error")


class RunAnswer(NamedTuple):
    """The model's answer to an item.

    Attributes:
        item: the item's id as text.
        sample: the number of this answer among several to the item.
        answer: the answer in the form of the dataset; an empty text if there is none. For a program, the text
            of the reply.
        outcome: whether there is an answer, and if not, why.
        rule: the rule that found the answer, or the reason why there is none.
    """

    item: str
    sample: int
    answer: Json
    outcome: ExtractionOutcome
    rule: str = ""


class UnansweredRequest(NamedTuple):
    """A request that failed or was too long for the model.

    Attributes:
        item: the item's id as text.
        sample: the number of the answer.
        outcome: "failed" or "too_long".
        reason: what the backend reported, such as by how many tokens the prompt is too long; may be empty.
    """

    item: str
    sample: int
    outcome: ExtractionOutcome
    reason: str


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
        counted = [(name.replace("_", " "), self.counts.get(name, 0)) for name in OUTCOMES[1:]]
        return ", ".join(
            f"{count} {name}" for name, count in (*counted, ("not asked", self.missing)) if count > 0
        )


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
        unanswered: requests that failed or were too long, in the order of the log.
        replies: how many replies there are, without those of requests that failed or were too long.
        cut: how many of them ended at the limit of tokens.
        cut_at: the most tokens of a reply that was cut; 0 if the backend does not count them.
        manner: how answers are found in replies.
    """

    declared: Dataset
    answers: Sequence[RunAnswer]
    outcomes: Outcomes
    models: tuple[str, ...] = ()
    usd: float | None = None
    tokens: tuple[int, int, int] = (0, 0, 0)
    unanswered: tuple[UnansweredRequest, ...] = ()
    replies: int = 0
    cut: int = 0
    cut_at: int = 0
    manner: Manner = "merilo"

    @property
    def unreadable(self) -> tuple[RunAnswer, ...]:
        """The replies in which no rule finds one answer, or something speaks against it."""
        return tuple(one for one in self.answers if one.outcome == "unreadable")

    def warnings(self, most: int = 5) -> list[str]:
        """Return a sentence if many replies were cut, for each reason of failures, and on requests that were too long.

        Args:
            most: how many items and reasons are named.
        """
        title = self.declared.title
        sentences: list[str] = []
        if self.cut >= MANY_CUT * self.replies > 0:
            after = f" after {self.cut_at} tokens" if self.cut_at else ""
            thought = f"; thought takes {self.tokens[2] / self.tokens[1]:.0%} of all tokens" * bool(
                self.tokens[2]
            )
            more = argument("max_tokens", "N" if not self.cut_at else str(4 * self.cut_at))
            sentences.append(
                f"{title}: {self.cut} of {self.replies} replies ({self.cut / self.replies:.0%}) were cut at the limit "
                f"of tokens{after}{thought}: ask with a larger limit in another folder ({more})"
            )
        failed: dict[str, list[str]] = {}
        for one in self.unanswered:
            if one.outcome == "failed":
                failed.setdefault(one.reason or "no reason given", []).append(one.item)
        for reason, items in sorted(failed.items(), key=lambda pair: -len(pair[1]))[:most]:
            named = listed(list(dict.fromkeys(items)), most)
            sentences.append(f"{title}: {len(items)} failed: {shortened(reason, 200)} (items: {named})")
        if long := [one for one in self.unanswered if one.outcome == "too_long"]:
            told = [f"{one.item} ({shortened(one.reason, 200)})" if one.reason else one.item for one in long]
            named = listed(told, most)
            sentences.append(f"{title}: {len(long)} too long for the model's context: items {named}")
        return sentences


def read_answers_of(
    run: Path, declared: Dataset, items: Sequence[Item], samples: int, manner: Manner = "merilo"
) -> RunAnswers:
    """Read the answers to a dataset from the log of a run.

    Args:
        run: the run's folder.
        declared: the dataset.
        items: the items that were asked.
        samples: how many answers to each item were asked for.
        manner: how answers are found in replies.

    Raises:
        InputError: the log cannot be read.
    """
    path = log_path(run, declared.name)
    tokens = ("prompt_tokens", "completion_tokens", "thought_tokens")
    table = read_log(path, (*_COLUMNS, "model", "cost", *tokens))
    counts: Counter[ExtractionOutcome] = Counter()
    answers: list[RunAnswer] = []
    for answer in _answers(table, declared, items, manner):
        counts[answer.outcome] += 1
        if answer.outcome != "failed":
            answers.append(answer)
    sums = [int(table[name].sum() or 0) for name in tokens]
    cut = table.filter(table["finish"] == "length")
    return RunAnswers(
        declared,
        answers,
        Outcomes(dict(counts), len(items) * samples),
        tuple(sorted(set(table["model"].drop_nulls()))),
        float(table["cost"].sum()) if table["cost"].is_not_null().any() else None,
        (sums[0], sums[1], sums[2]),
        _unanswered(table, {str(item.id) for item in items}),
        replies=table.height - int(table["finish"].is_in(list(_REPORTED)).sum()),
        cut=cut.height,
        cut_at=cast("int | None", cut["completion_tokens"].max()) or 0,
        manner=manner,
    )


def _answers(
    table: pl.DataFrame, declared: Dataset, items: Sequence[Item], manner: Manner
) -> Iterator[RunAnswer]:
    for name, sample, extracted in _extractions(table, declared, items, manner):
        answer = "" if extracted.answer is None else extracted.answer
        yield RunAnswer(name, sample, answer, extracted.outcome, extracted.rule)


def _unanswered(table: pl.DataFrame, asked: Set[str]) -> tuple[UnansweredRequest, ...]:
    reported = table.filter(table["finish"].is_in(list(_REPORTED)))
    rows = reported.select("item", "sample", "finish", "error").iter_rows()
    return tuple(
        UnansweredRequest(item, sample, outcome, reason or "")
        for item, sample, outcome, reason in rows
        if item in asked
    )


def write_answers(run: Path, found: RunAnswers) -> Path:
    """Write the answers to a dataset into the run's folder.

    `<dataset>.jsonl`, for programs `<dataset>.completions.jsonl`.

    Returns:
        The file.

    Raises:
        OutputError: the file cannot be written.
    """
    programs = found.declared.answer.kind == "program"
    path = run / f"{found.declared.name}.{'completions.' if programs else ''}jsonl"
    lines = []
    for one in found.answers:
        item, answer = ("task_id", "completion") if programs else ("id", "answer")
        record: dict[str, Json] = {item: one.item, answer: one.answer}
        record |= {"sample": one.sample, "outcome": one.outcome}
        lines.append(json.dumps(record, ensure_ascii=False) + "\n")
    write_text(path, "".join(lines))
    return path


def reply_to(
    declared: Dataset, item: Item, sample: int, reply: ModelReply, manner: Manner = "merilo"
) -> ExtractedAnswer:
    """Find the answer in a reply of the log; the request's text is not needed for it."""
    choices = offered_labels(item, declared) if reply.loglikelihoods else ()
    request = Request(declared.name, item.id, sample, (), "", choices=choices)
    return EXTRACTORS[manner](declared, item, request, reply)


def _extractions(
    table: pl.DataFrame, declared: Dataset, items: Sequence[Item], manner: Manner
) -> Iterator[tuple[str, int, ExtractedAnswer]]:
    """Yield item, sample and answer of each record, in the order of items and samples.

    Records of other items are left out.
    """
    import polars as pl  # noqa: PLC0415 - takes half a second

    names = [str(item.id) for item in items]
    places = pl.DataFrame(
        {"item": names, "place": range(len(names))}, schema={"item": pl.String, "place": pl.Int64}
    )
    ordered = table.select(_COLUMNS).join(places, on="item").sort("place", "sample")
    likelihoods = ordered["loglikelihoods"].to_list()
    errors = ordered["error"].to_list()
    shared: dict[tuple[str, str], ExtractedAnswer] = {}
    known: dict[tuple[str, str], ExtractedAnswer] = {}
    last = -1
    columns = (ordered[name].to_list() for name in ("place", "sample", "text", "finish"))
    for row, (place, sample, text, finish) in enumerate(zip(*columns, strict=True)):
        if place != last:
            # Samples of one item often repeat each other.
            known, last = {}, place
        if likelihoods[row] or finish in _REPORTED:
            values = tuple(-float("inf") if one is None else one for one in likelihoods[row] or ())
            reply = ModelReply(text=text, finish=finish, loglikelihoods=values, error=errors[row])
            yield names[place], sample, reply_to(declared, items[place], sample, reply, manner)
            continue
        # The harness reads a reply without regard to the item.
        memory = shared if manner == "harness" or _means_the_same(declared, text) else known
        extracted = memory.get((text, finish))
        if extracted is None:
            reply = ModelReply(text=text, finish=finish, error=errors[row])
            extracted = memory[text, finish] = reply_to(declared, items[place], sample, reply, manner)
        yield names[place], sample, extracted


def _means_the_same(declared: Dataset, text: str) -> bool:
    """Check whether a reply means the same for every item: a label that all offer, or a number, and nothing else."""
    if declared.answer.kind == "choice" and {*declared.hidden} & {*option_fields(declared).values()}:
        return False
    if declared.answer.kind == "integer":
        return text.strip().lstrip("-").isdigit()
    return text.strip(" .*()\n") in declared.answer.labels
