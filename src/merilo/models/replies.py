"""What a model said to the items of a dataset, whoever wrote the file, and the answers in it.

A run, a log of another harness and a table of replies become the same table, `Replies`; `answers_in` reads it once.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from merilo.answer_tables import AnswerRecord
from merilo.atomic_write import write_text
from merilo.datasets.declaration import Dataset
from merilo.datasets.rendering import offered_labels, option_fields
from merilo.errors import argument
from merilo.items import Item
from merilo.metrics.answers import Answer
from merilo.models.answer_extraction import EXTRACTORS, OUTCOMES, ExtractedAnswer, ExtractionOutcome, form_of
from merilo.models.asking import ModelReply, Request
from merilo.models.harness_logs import UNANSWERED, LogMapping
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

#: The columns of tokens.
TOKENS: Final = ("prompt_tokens", "completion_tokens", "thought_tokens")


class Replies(NamedTuple):
    """The replies of a model.

    Attributes:
        dataset: the dataset.
        table: a row for each reply, with the columns of `schema`.
        source: how the rows of a log or a table were matched to items; `None` for a run.
    """

    dataset: Dataset
    table: pl.DataFrame
    source: LogMapping | None = None


def schema() -> dict[str, pl.DataType | type[pl.DataType]]:
    """Return the columns of a table of replies with their types.

    `loglikelihoods` has a value for each of `choices`, or for each label that the item offers. `choices` are the
    choices or letters as the model saw them, each with the text of its option and the label that it stands for; null
    if they are the item's own.
    """
    import polars as pl  # noqa: PLC0415 - takes half a second

    text = pl.String()
    choice = pl.Struct({"name": text, "text": text, "label": text})
    return {
        "item": text,
        "sample": pl.Int64(),
        **dict.fromkeys(("text", "finish", "error"), text),
        "loglikelihoods": pl.List(pl.Float64()),
        "choices": pl.List(choice),
        "row": pl.Int64(),
        "model": text,
        "usd": pl.Float64(),
        **dict.fromkeys(TOKENS, pl.Int64()),
    }


def replies_of_run(run: Path, declared: Dataset) -> Replies:
    """Read the replies to a dataset from the log of a run.

    Raises:
        InputError: the log cannot be read.
    """
    import polars as pl  # noqa: PLC0415 - takes half a second

    columns = schema()
    table = read_log(log_path(run, declared.name), (*columns, "cost")).rename({"cost": "usd"})
    empty = (pl.lit(None, columns[name]).alias(name) for name in ("choices", "row"))
    return Replies(declared, table.with_columns(*empty).select([*columns]))


class ReadAnswer(NamedTuple):
    """The answer of a model to an item, as it was found in a reply.

    Attributes:
        item: the item's id as text.
        sample: the number of this answer among several to the item.
        answer: the answer in the form of the dataset; an empty text if there is none. For a program, the text
            of the reply.
        outcome: whether there is an answer, and if not, why.
        rule: the rule that found the answer, or the reason why there is none.
        row: the row of a log or a table.
    """

    item: str
    sample: int
    answer: Json
    outcome: ExtractionOutcome
    rule: str = ""
    row: int = 0


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
class ReadAnswers:
    """The answers to one dataset.

    Attributes:
        declared: the dataset.
        answers: the answers in the order of the items, then of the samples; requests that failed are not among them.
        outcomes: what became of all requests.
        rules: how many answers each rule found.
        models: the names that the backend gave for the model, such as a dated version.
        usd: the cost in US dollars; `None` if no reply states it.
        tokens: tokens of requests, of answers, and of thought within the answers.
        unanswered: requests that failed or were too long, in the order of the log.
        replies: how many replies there are, without those of requests that failed or were too long.
        cut: how many of them ended at the limit of tokens.
        cut_at: the most tokens of a reply that was cut; 0 if the backend does not count them.
        manner: how answers are found in replies.
        source: how the rows of a log or a table were matched to items; `None` for a run.
    """

    declared: Dataset
    answers: Sequence[ReadAnswer]
    outcomes: Outcomes
    rules: Mapping[str, int] = field(default_factory=dict)
    models: tuple[str, ...] = ()
    usd: float | None = None
    tokens: tuple[int, int, int] = (0, 0, 0)
    unanswered: tuple[UnansweredRequest, ...] = ()
    replies: int = 0
    cut: int = 0
    cut_at: int = 0
    manner: Manner = "merilo"
    source: LogMapping | None = None

    def records(self) -> list[AnswerRecord]:
        """Return the answers of a log or a table as the records of a file of answers, in its order."""
        in_file = sorted(self.answers, key=lambda answer: (answer.row, answer.sample))
        return [
            AnswerRecord(answer.row, answer.item, answer.answer, str(answer.sample)) for answer in in_file
        ]

    @property
    def unreadable(self) -> tuple[ReadAnswer, ...]:
        """The replies in which no rule finds one answer, or something speaks against it."""
        return tuple(answer for answer in self.answers if answer.outcome == "unreadable")

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
        for request in self.unanswered:
            if request.outcome == "failed":
                failed.setdefault(request.reason or "no reason given", []).append(request.item)
        for reason, items in sorted(failed.items(), key=lambda pair: -len(pair[1]))[:most]:
            named = listed(list(dict.fromkeys(items)), most)
            sentences.append(f"{title}: {len(items)} failed: {shortened(reason, 200)} (items: {named})")
        if long := [request for request in self.unanswered if request.outcome == "too_long"]:
            named_items = [
                f"{request.item} ({shortened(request.reason, 200)})" if request.reason else request.item
                for request in long
            ]
            named = listed(named_items, most)
            sentences.append(f"{title}: {len(long)} too long for the model's context: items {named}")
        return sentences


def answers_in(
    replies: Replies, items: Mapping[str, Item], *, samples: int | None = None, manner: Manner = "merilo"
) -> ReadAnswers:
    """Find the answers in replies.

    Args:
        replies: the replies; those to other items are left out.
        items: the items by name.
        samples: how many answers to each item were asked for; by default, as many as there are.
        manner: how answers are found.
    """
    declared, table = replies.dataset, replies.table
    counts: Counter[ExtractionOutcome] = Counter()
    rules: Counter[str] = Counter()
    answers: list[ReadAnswer] = []
    for answer in _answers(table, declared, items, manner):
        counts[answer.outcome] += 1
        rules[answer.rule] += 1
        if answer.outcome not in UNANSWERED:
            answers.append(answer)
    sums = [int(table[name].sum() or 0) for name in TOKENS]
    cut = table.filter(table["finish"] == "length")
    return ReadAnswers(
        declared,
        answers,
        Outcomes(dict(counts), counts.total() if samples is None else len(items) * samples),
        rules,
        tuple(sorted(set(table["model"].drop_nulls()))),
        float(table["usd"].sum()) if table["usd"].is_not_null().any() else None,
        (sums[0], sums[1], sums[2]),
        _unanswered(table, items.keys()),
        replies=table.height - int(table["finish"].is_in(list(_REPORTED)).sum()),
        cut=cut.height,
        cut_at=cast("int | None", cut["completion_tokens"].max()) or 0,
        manner=manner,
        source=replies.source,
    )


def _unanswered(table: pl.DataFrame, asked: Set[str]) -> tuple[UnansweredRequest, ...]:
    reported = table.filter(table["finish"].is_in(list(_REPORTED)))
    rows = reported.select("item", "sample", "finish", "error").iter_rows()
    return tuple(
        UnansweredRequest(item, sample, outcome, reason or "")
        for item, sample, outcome, reason in rows
        if item in asked
    )


def write_answers(run: Path, answers: ReadAnswers) -> Path:
    """Write the answers to a dataset into the run's folder.

    `<dataset>.jsonl`, for programs `<dataset>.completions.jsonl`.

    Returns:
        The file.

    Raises:
        OutputError: the file cannot be written.
    """
    programs = answers.declared.answer.kind == "program"
    path = run / f"{answers.declared.name}.{'completions.' if programs else ''}jsonl"
    lines = []
    for entry in answers.answers:
        item, answer = ("task_id", "completion") if programs else ("id", "answer")
        record: dict[str, Json] = {item: entry.item, answer: entry.answer}
        record |= {"sample": entry.sample, "outcome": entry.outcome}
        lines.append(json.dumps(record, ensure_ascii=False) + "\n")
    write_text(path, "".join(lines))
    return path


class SeenChoice(NamedTuple):
    """A choice as the model saw it.

    Attributes:
        name: the choice that was compared, or the letter of an option.
        text: the text of the option.
        label: the label of the dataset that it stands for; `None` if it stands for none.
    """

    name: str
    text: str
    label: str | None


#: The rule of an answer that was found as a letter of an option.
BY_LETTER: Final = "letter of the choice"


def reply_to(
    declared: Dataset,
    item: Item,
    sample: int,
    reply: ModelReply,
    manner: Manner = "merilo",
    *,
    choices: Sequence[SeenChoice] = (),
) -> ExtractedAnswer:
    """Find the answer in a reply; the request's text is not needed for it.

    Args:
        declared: the dataset.
        item: the item.
        sample: the number of the reply.
        reply: the reply.
        manner: how the answer is found.
        choices: the choices that the model saw; by default, those of the item.
    """
    labels = offered_labels(item, declared)
    place = {choice.label: at for at, choice in enumerate(choices) if choice.label is not None}
    values = reply.loglikelihoods
    if values and choices:
        if place.keys() != {*labels}:
            best = choices[values.index(max(values))].name
            return ExtractedAnswer(best.strip(), "answered", "text of the likeliest choice", best)
        reply = replace(reply, loglikelihoods=tuple(values[place[label]] for label in labels))
    elif place:
        form, asked = _asked_by_letter(declared, item, choices)
        extracted = reply_to(form, asked, sample, reply, manner)
        label_of = {choice.name: choice.label for choice in choices}
        if isinstance(extracted.answer, str) and extracted.answer in label_of:
            return ExtractedAnswer(label_of[extracted.answer], "answered", BY_LETTER, extracted.found)
        if label_of.keys() & {*labels}:
            return extracted  # a label in the reply is a letter that the model saw
    request = Request(declared.name, item.id, sample, (), "", choices=labels if values else ())
    return EXTRACTORS[manner](declared, item, request, reply)


def _asked_by_letter(declared: Dataset, item: Item, choices: Sequence[SeenChoice]) -> tuple[Dataset, Item]:
    """Return an item whose labels are the letters that the model saw, with its dataset."""
    inputs = item.inputs if isinstance(item.inputs, Mapping) else {declared.placeholder: item.inputs}
    own = {*option_fields(declared).values()}
    shown = {f"option_{choice.name.lower()}": choice.text for choice in choices}
    asked = {name: value for name, value in inputs.items() if name not in own}
    letters = Answer(kind="choice", labels=tuple(choice.name for choice in choices))
    fields = (*shown, *asked)
    form = Dataset(
        name="letters", title="", fields=fields, answer=letters, metrics=("acc",), stop=declared.stop
    )
    return form, replace(item, inputs=shown | asked)


def _answers(
    table: pl.DataFrame, declared: Dataset, items: Mapping[str, Item], manner: Manner
) -> Iterator[ReadAnswer]:
    """Yield the answer of each reply, in the order of items and samples."""
    import polars as pl  # noqa: PLC0415 - takes half a second

    names, ordered_items = [*items], [*items.values()]
    places = pl.DataFrame(
        {"item": names, "place": range(len(names))}, schema={"item": pl.String, "place": pl.Int64}
    )
    ordered = table.join(places, on="item").sort("place", "sample")
    likelihoods, choices, errors, rows = (
        ordered[name].to_list() for name in ("loglikelihoods", "choices", "error", "row")
    )
    shared: dict[Hashable, dict[tuple[str, str], ExtractedAnswer]] = {}
    general: dict[tuple[str, str], ExtractedAnswer] = {}
    options: list[str] | None = None
    known: dict[tuple[str, str], ExtractedAnswer] = {}
    last = -1
    columns = (ordered[name].to_list() for name in ("place", "sample", "text", "finish"))
    for at, (place, sample, text, finish) in enumerate(zip(*columns, strict=True)):
        if place != last:
            # Samples of one item often repeat each other.
            known, last = {}, place
            group, options = _shared_form(declared, ordered_items[place], manner)
            general = shared.setdefault(group, {})
        key, alone = (text, finish), likelihoods[at] or choices[at] or finish in _REPORTED
        extracted = None if alone else known.get(key)
        if extracted is None:
            own = alone or options is None or _may_name(text, options)
            extracted = None if own else general.get(key)
        if extracted is None:
            values = tuple(-float("inf") if value is None else value for value in likelihoods[at] or ())
            reply = ModelReply(text=text, finish=finish, loglikelihoods=values, error=errors[at])
            seen = tuple(SeenChoice(**choice) for choice in choices[at] or ())
            extracted = reply_to(declared, ordered_items[place], sample, reply, manner, choices=seen)
            if not own:
                general[key] = extracted
        if not alone:
            known[key] = extracted
        answer = "" if extracted.answer is None else extracted.answer
        yield ReadAnswer(names[place], sample, answer, extracted.outcome, extracted.rule, rows[at] or 0)


def _shared_form(declared: Dataset, item: Item, manner: Manner) -> tuple[Hashable, list[str] | None]:
    """Return what items have in common whose replies are read alike unless they name an option, and the options.

    The options are texts as `_squeezed` returns them; `None` if a reply must be read for the item.
    """
    if declared.answer.kind == "program":
        return None, None
    if manner == "harness":  # which reads a reply without regard to the item
        return None, []
    form = form_of(declared, item)
    texts = [_squeezed(text) for text in form.options.values()]
    group = (form.kind, form.labels, (*form.options,), form.sentence, form.letters, form.choices)
    return group, None if None in texts or "" in texts else [text for text in texts if text]


def _may_name(text: object, options: Sequence[str]) -> bool:
    """Check whether a reply may hold the text of an option."""
    squeezed = _squeezed(text) if isinstance(text, str) else None
    return squeezed is None or any(option in squeezed for option in options)


@lru_cache(maxsize=4096)
def _squeezed(text: str) -> str | None:
    """Return the letters and digits of a text in one case; `None` if marks of LaTeX or Markdown may hide some."""
    if _HIDING.search(text):
        return None
    return "".join(_LETTERS.findall(unicodedata.normalize("NFKC", text).upper().casefold()))


#: Marks that the reader removes with letters inside them.
_HIDING: Final = re.compile(r"[\\`~]")
_LETTERS: Final = re.compile(r"[^\W_]+")
