"""The explanation of an item of a run: what was asked, what came back, how the answer was found and scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic_core import to_jsonable_python

from merilo.answer_tables import ItemAnswer
from merilo.datasets import Dataset
from merilo.errors import MeriloError, UsageError, argument
from merilo.items import Item
from merilo.metrics.detox import Rater
from merilo.metrics.metric import Judgement
from merilo.metrics.scoring import explain as explain_points
from merilo.models.asked_datasets import AskedDataset, asked_datasets
from merilo.models.asking import Abilities, ModelReply, Request
from merilo.models.prompter import EarlierTurn
from merilo.models.reply_answers import ExtractedAnswer, read_reply, value_of
from merilo.models.run_folder import DatasetRecord, RunRecord, read_run
from merilo.models.run_log import log_path, read_log, reply_of
from merilo.runs.model_run import rendered
from merilo.runs.scores import source_of
from merilo.strict_json import Json

#: What the explanation tells of a reply.
_REPLY = ("text", "thought", "finish", "loglikelihoods", "error")


@dataclass(frozen=True, slots=True)
class SampleExplanation:
    """The explanation of one answer.

    Attributes:
        sample: the number of the answer.
        request: what the model was sent; `None` if it cannot be rendered again.
        reply: what came back.
        extracted: the answer, with the rule that found it.
        judgements: how each metric judges it.
        reason: why it is not scored.
    """

    sample: int
    request: Request | None
    reply: ModelReply
    extracted: ExtractedAnswer
    judgements: tuple[Judgement, ...] = ()
    reason: str = ""

    def to_dict(self) -> dict[str, Json]:
        """Return the explanation as JSON."""
        return {
            "sample": self.sample,
            "request": None if self.request is None else rendered(self.request),
            "reply": {name: to_jsonable_python(getattr(self.reply, name)) for name in _REPLY},
            "answer": self.extracted.answer,
            "outcome": self.extracted.outcome,
            "rule": self.extracted.rule,
            "judgements": to_jsonable_python(self.judgements),
            "reason": self.reason or None,
        }


@dataclass(frozen=True, slots=True)
class ItemExplanation:
    """The explanation of an item.

    Attributes:
        dataset: the dataset's name.
        title: its title.
        item: the item's id.
        samples: the answers.
    """

    dataset: str
    title: str
    item: str
    samples: tuple[SampleExplanation, ...]

    def to_dict(self) -> dict[str, Json]:
        """Return the explanation as JSON."""
        return {
            "dataset": self.dataset,
            "item": self.item,
            "samples": [sample.to_dict() for sample in self.samples],
        }


def explain_item(
    run: Path, item: str, *, data: Path | None = None, rater: Rater | None = None
) -> ItemExplanation:
    """Explain the answers to an item of a run.

    Args:
        run: the run's folder.
        item: the item's id; `DATASET:ID` if several datasets have an item of this id.
        data: a folder with the items, if they are no longer where they were.
        rater: the classifiers of the metric J.

    Raises:
        UsageError: no dataset of the run has such an item, several have, or it has no reply yet.
        InputError: the items or the log cannot be read.
    """
    folder = read_run(run)
    name, number = _find(folder.record, item)
    record = folder.record.datasets[name]
    asked = _asked_again(folder.record, record, data)
    by_id = {str(own_item.id): own_item for own_item in asked.split}
    table = read_log(log_path(run, name))
    replies = {(row["item"], row["sample"]): reply_of(row) for row in table.iter_rows(named=True)}
    samples = sorted(sample for name_of_item, sample in replies if name_of_item == number)
    if not samples:
        raise UsageError(f"item {number} of {record.title} has no reply yet")
    explanations = tuple(_explained(asked, by_id[number], sample, replies, rater) for sample in samples)
    return ItemExplanation(name, record.title, number, explanations)


def _find(record: RunRecord, item: str) -> tuple[str, str]:
    name, colon, number = item.partition(":")
    if colon and name.lower() in record.datasets and number in record.datasets[name.lower()].hashes:
        return name.lower(), number
    holding = [name for name, dataset in record.datasets.items() if item in dataset.hashes]
    if len(holding) > 1:
        raise UsageError(
            f"{' and '.join(holding)} have an item '{item}': name one as {holding[0]}:{item}",
            field=argument("explain"),
        )
    if not holding:
        raise UsageError(f"no dataset of the run has an item '{item}'", field=argument("explain"))
    return holding[0], item


def _asked_again(record: RunRecord, dataset: DatasetRecord, data: Path | None) -> AskedDataset:
    """Make the dataset of a run again, as it was asked."""
    source = source_of(dataset, data)
    abilities = Abilities(
        frozenset(("generate", "loglikelihood")),
        frozenset(("image", "audio", "video")),
        dataset.chat,
    )
    samples = dataset.samples if dataset.mode == "generate" else None
    (asked,) = asked_datasets([source], replace(record.settings, samples=samples), abilities)
    return asked


def _explained(
    asked: AskedDataset,
    item: Item,
    sample: int,
    replies: dict[tuple[str, int], ModelReply],
    rater: Rater | None,
) -> SampleExplanation:
    declared = asked.declared
    reply = replies[str(item.id), sample]
    extracted = read_reply(declared, item, reply, asked.prompter.settings.manner)
    request = asked.prompter.request(item, sample, _earlier(asked, item, sample, replies))
    judgements, reason = _judged(declared, item, extracted, rater)
    return SampleExplanation(sample, request, reply, extracted, judgements, reason)


def _earlier(
    asked: AskedDataset, item: Item, sample: int, replies: dict[tuple[str, int], ModelReply]
) -> Sequence[EarlierTurn]:
    if not asked.is_dialogue:
        return ()
    turns = next(turns for turns in asked.split.dialogues() if item in turns)
    before = turns[: turns.index(item)]
    manner = asked.prompter.reads_turns_like
    read = (
        (turn, read_reply(asked.declared, turn, replies[str(turn.id), sample], manner))
        for turn in before
        if (str(turn.id), sample) in replies
    )
    return [(turn, extracted.answer if extracted.outcome == "answered" else None) for turn, extracted in read]


def _judged(
    declared: Dataset, item: Item, extracted: ExtractedAnswer, rater: Rater | None
) -> tuple[tuple[Judgement, ...], str]:
    if declared.answer.kind == "program":
        return (), "programs are scored together, by their results in the sandbox"
    if extracted.outcome == "failed":
        return (), "the request failed"
    answer = "" if extracted.answer is None else extracted.answer
    try:
        value = value_of(declared, ItemAnswer(0, str(item.id), answer))
        return tuple(explain_points(declared, item, value, rater=rater)), ""
    except MeriloError as error:
        return (), error.marked
