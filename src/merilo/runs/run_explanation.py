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
from merilo.models.asking import Abilities, ModelReply, Request
from merilo.models.prompter import EarlierTurn
from merilo.models.reply_answers import ExtractedAnswer, in_latin, names_in_russian, read_reply
from merilo.models.run_folder import DatasetRecord, RunRecord, read_run
from merilo.models.run_log import log_path, read_log, reply_of
from merilo.runs.item_sources import source_of
from merilo.runs.model_run import AskedDataset, asked_dataset, rendered
from merilo.runs.scores import value_of
from merilo.strict_json import Json

#: What the explanation tells of a reply.
_REPLY = ("text", "thought", "finish", "loglikelihoods", "error")


@dataclass(frozen=True, slots=True)
class AnswerExplanation:
    """The explanation of one answer to an item.

    Attributes:
        title: the title of the dataset.
        request: what the model was sent; it names the item and the sample.
        reply: what came back.
        extracted: the answer, with the rule that found it.
        judgements: how each metric judges it.
        reason: why it is not scored.
        several: whether the item has several answers.
    """

    title: str
    request: Request
    reply: ModelReply
    extracted: ExtractedAnswer
    judgements: tuple[Judgement, ...]
    reason: str
    several: bool

    def to_dict(self) -> dict[str, Json]:
        """Return the explanation as JSON."""
        return {
            "dataset": self.request.dataset,
            "item": str(self.request.item),
            "sample": self.request.sample,
            "request": rendered(self.request),
            "reply": {name: to_jsonable_python(getattr(self.reply, name)) for name in _REPLY},
            "answer": self.extracted.answer,
            "outcome": self.extracted.outcome,
            "rule": self.extracted.rule,
            "judgements": to_jsonable_python(self.judgements),
            "reason": self.reason or None,
        }


def explain_item(
    run: Path, name: str, *, data: Path | None = None, rater: Rater | None = None
) -> list[AnswerExplanation]:
    """Explain the answers to an item of a run, one for each sample.

    Args:
        run: the run's folder.
        name: the item's id; `DATASET:ID` if several datasets have an item of this id.
        data: a folder with the items, if they are no longer where they were.
        rater: the classifiers of the metric J.

    Raises:
        UsageError: no dataset of the run has such an item, several have, or it has no reply yet.
        InputError: the items or the log cannot be read.
    """
    record = read_run(run).record
    dataset, number = _find(record, name)
    asked = _asked_again(record, record.datasets[dataset], data)
    item = next(item for item in asked.split if str(item.id) == number)
    log = read_log(log_path(run, dataset))
    replies = {(row["item"], row["sample"]): reply_of(row) for row in log.iter_rows(named=True)}
    russian = record.settings.manner == "merilo" and names_in_russian(asked.declared, log)
    samples = sorted(sample for of_item, sample in replies if of_item == number)
    if not samples:
        raise UsageError(f"item {number} of {asked.declared.title} has no reply yet")
    explanations, several = [], len(samples) > 1
    for sample in samples:
        reply = replies[number, sample]
        read = replace(reply, text=in_latin(reply.text)) if russian else reply
        extracted = read_reply(asked.declared, item, read, record.settings.manner)
        request = asked.prompter.request(item, sample, _earlier(asked, item, sample, replies))
        judgements, reason = _judged(asked.declared, item, extracted, rater)
        explanations.append(
            AnswerExplanation(asked.declared.title, request, reply, extracted, judgements, reason, several)
        )
    return explanations


def _find(record: RunRecord, item: str) -> tuple[str, str]:
    name, colon, number = item.partition(":")
    if colon and (known := record.key_of(name)) and number in record.datasets[known].hashes:
        return known, number
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
    return asked_dataset(source, replace(record.settings, samples=samples), abilities)


def _earlier(
    asked: AskedDataset, item: Item, sample: int, replies: dict[tuple[str, int], ModelReply]
) -> Sequence[EarlierTurn]:
    if not asked.is_dialogue:
        return ()
    turns = next(turns for turns in asked.split.dialogues() if item in turns)
    before = [turn for turn in turns[: turns.index(item)] if (str(turn.id), sample) in replies]
    return [asked.earlier_turn(turn, replies[str(turn.id), sample]) for turn in before]


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
