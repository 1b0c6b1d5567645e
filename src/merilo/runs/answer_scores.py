"""`merilo.score`: score the answers of a model or of annotators to a dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic_core import to_jsonable_python

from merilo.answer_tables import ItemAnswer
from merilo.datasets import Dataset
from merilo.datasets import dataset as find_dataset
from merilo.datasets.own_items import own_file, read_split
from merilo.errors import DataError, InputError, UsageError, argument, for_library
from merilo.estimate import Finding
from merilo.items import Item, ItemId
from merilo.metrics.detox import Rater, rater_of
from merilo.metrics.metric import Judgement, Score
from merilo.metrics.scoring import Scores, clusters_of
from merilo.metrics.scoring import explain as explain_points
from merilo.models.replies import replies_of_table
from merilo.models.reply_answers import (
    ItemAnswers,
    answers_in,
    answers_of_table,
    by_id,
    no_labels,
    read_answers,
    read_sheet,
    refuse_unreadable,
    score_answers,
    value_of,
)
from merilo.people.frames import Frame, is_frame, polars_of, records_of
from merilo.strict_json import Json
from merilo.wording import choices, listed

Answers = str | Path | Frame | Mapping[str, Json]


@dataclass(frozen=True, slots=True, repr=False)
class ScoreResult:
    """The scores of a set of answers.

    Attributes:
        answers: the answers by item, and what is known of their file.
        asked: the items with their gold answers.
        scores: the internal representation of the metrics.
        cluster: the field of the items' clusters; `None` if items are independent.
        no_labels: the answers that are none of the dataset's labels; `None` if all are.
        rater: the classifiers of the metric J; `None` if J was not computed.
    """

    answers: ItemAnswers
    asked: Sequence[Item]
    scores: Scores
    cluster: str | None = None
    no_labels: Finding | None = None
    rater: Rater | None = None

    @property
    def dataset(self) -> str:
        """Return the dataset's name."""
        return self.answers.declared.name

    @property
    def items(self) -> int:
        """Return how many items the dataset has."""
        return len(self.asked)

    @property
    def answered(self) -> int:
        """Return how many of these items were answered."""
        return len({answer.item for answer in self.answers.rows})

    @property
    def unanswered(self) -> tuple[ItemId, ...]:
        """Return the ids of items without an answer, in the order of the items."""
        answered = {answer.item for answer in self.answers.rows}
        return tuple(item.id for item in self.asked if str(item.id) not in answered)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Return the ids of answers that match no item."""
        return self.answers.unknown

    @property
    def clusters(self) -> int | None:
        """Return how many clusters the answered items form; `None` if items are independent."""
        answered = {answer.item for answer in self.answers.rows}
        items = [item for item in self.asked if str(item.id) in answered]
        clusters = clusters_of(items, self.cluster) if self.cluster else None
        return len(set(clusters)) if clusters else None

    @property
    def metrics(self) -> dict[str, Score]:
        """Return the metrics by name, the main one first, each with `value`, `n` and `interval`."""
        return self.scores.all()

    @property
    def missing(self) -> dict[str, str]:
        """Return a mapping from metric to the reason why it could not be computed."""
        return {name: for_library(reason) for name, reason in self.scores.missing.items()}

    @property
    def per_item(self) -> dict[str, dict[str, float]]:
        """Return metric -> item -> value, without macro F1 and MCC, which are not means over items."""
        return {
            name: {str(item): value for item, value in metric.per_item.items()}
            for name, metric in self.scores.main.items()
            if metric.per_item
        }

    def explain(self, item: str | int) -> list[Judgement]:
        """Explain step by step how each metric judged the answer to an item, the first of several.

        Args:
            item: the item's id.

        Raises:
            UsageError: there is no such item, or it has no answer.
        """
        name = str(item)
        asked = by_id(self.asked)
        if name not in asked:
            raise UsageError(f"there is no item '{item}' to explain")
        first = next((answer for answer in self.answers.rows if answer.item == name), None)
        if first is None:
            raise UsageError(f"item '{item}' has no answer to explain")
        declared = self.answers.declared
        return explain_points(declared, asked[name], value_of(declared, first), rater=self.rater)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what limits the scores, a sentence each: answers that cannot be read, or that are no labels."""
        return (*self.answers.faults(), *([self.no_labels.sentence.en] if self.no_labels else []))

    def to_dict(self, *, explain: Sequence[str | int] = (), per_item: bool = False) -> dict[str, Json]:
        """Return the scores as JSON, as `merilo score --json` prints them.

        Args:
            explain: the ids of items whose judgements are added under `explained`.
            per_item: whether the value of each item under each metric is added under `per_item`.

        Raises:
            UsageError: there is no such item, or it has no answer.
        """
        clusters, source = self.clusters, self.answers.source
        content: dict[str, Json] = {
            "dataset": self.dataset,
            "items": {"total": self.items, "answered": self.answered},
            "unanswered": [*self.unanswered],
            "unknown": [*self.unknown],
            "no_labels": [*self.no_labels.items] if self.no_labels else [],
            "warnings": [*self.warnings],
            "clusters": None if clusters is None else {"field": self.cluster, "clusters": clusters},
            "metrics": self.scores.to_dict(),
        }
        if source:
            counted: dict[str, Json] = {
                "outcomes": {**self.answers.outcomes.counts},
                "rules": {**self.answers.rules},
            }
            content["log"] = {**source.to_json(), **counted}
        if explain:
            content["explained"] = {str(name): to_jsonable_python(self.explain(name)) for name in explain}
        if per_item:
            content["per_item"] = {name: {**values} for name, values in self.per_item.items()}
        return {**content, "rudetox": {**self.rater.making}} if self.rater else content

    def __repr__(self) -> str:
        lines = [f"{self.dataset}: {self.answered} of {self.items} items answered"]
        for name, metric in self.metrics.items():
            sure = f" [{metric.interval.low:.3f}, {metric.interval.high:.3f}]" if metric.interval else ""
            lines.append(f"  {name} {metric.value:.3f}{sure} on {metric.n} items")
        lines += [f"  {name}: {why}" for name, why in self.missing.items()]
        return "\n".join([*lines, *(f"  warning: {sentence}" for sentence in self.warnings)])


def score(
    answers: Answers,
    *,
    dataset: str | Dataset,
    data: str | Path | None = None,
    split: str | None = None,
    cluster: str | None = None,
    rudetox_models: str | Path | Rater | None = None,
    rudetox_curves: str | Path | None = None,
    replies: bool = False,
    force: bool = False,
) -> ScoreResult:
    """Score answers of a model or of annotators to a dataset, as `merilo score` does.

    Args:
        answers: a file of `id` and `answer`, a submission file, the log of another harness, a table of `id`
            and `answer`, or a mapping from item id to answer.
        dataset: a dataset's name, the path of a YAML declaration, or a declaration object.
        data: the items with their gold answers: JSON, JSONL or Parquet; by default, the file that the declaration
            names.
        split: the split of the file; by default "test", or the only split.
        cluster: the field of `inputs` or `meta` that items of one cluster share, such as a text; intervals
            take clusters into account. By default, the field that the dataset declares.
        rudetox_models: the classifiers of the metric J: a folder with `sta`, `sim` and `fl`, "hub" for the published
            models, or a rater object; by default, J is not computed.
        rudetox_curves: the file of J's calibration curves; by default, the identity.
        replies: whether the answers are whole replies of a model, in which the answer is to be found.
        force: whether to score answers none of which can be read; all count as wrong.

    Raises:
        UsageError: there is no such dataset, there is no field `cluster`, or curves are given without models.
        InputError: a file cannot be read, or an answer has not the type that the dataset declares.
        DataError: no answer matches an item, no answer can be read and `force` is not given, or all items belong to the
            same cluster.
        MissingPartError: the extra `hf` or a classifier is missing.
    """
    declared = find_dataset(dataset) if isinstance(dataset, str) else dataset
    file = own_file(declared) if data is None else Path(data)
    if file is None:
        raise UsageError(
            f"answers to {declared.title} need {argument('data', 'FILE')}, the items with gold answers"
        )
    items = read_split(file, declared, split).items
    refuse_other_dataset(declared, items, file)
    named = by_id(items)
    if isinstance(answers, str | Path):
        source = str(answers)
        read = read_answers(Path(answers), declared, named, replies=replies)
        read = read or answers_of_table(read_sheet(Path(answers)), declared, items, source)
    else:
        source, records = "answers", _records(answers)
        if replies:
            read = answers_in(replies_of_table(records, Path(source), declared, named), named)
        else:
            read = answers_of_table(records, declared, items, source)
    texts = [(answer.item, value_of(declared, answer)) for answer in read.rows]
    closed = [(item, text) for item, text in texts if not isinstance(text, tuple)]
    if not force:
        refuse_unreadable((text for _, text in closed), read if read.source else None, source)
    strange = None
    if not read.source:
        strange = no_labels(closed, declared.answer, declared.answer.labels, source)
    if cluster is not None:
        answered = {answer.item for answer in read.rows}
        _check_cluster(cluster, [item for item in items if str(item.id) in answered] or items)
    if not read.rows:
        raise DataError(f"not one of {len(read.unknown)} answers belongs to an item of {file}", file=source)
    rater = rater_of(rudetox_models, rudetox_curves)
    scores = score_answers(declared, items, read.rows, cluster=cluster, rater=rater)
    return ScoreResult(read, items, scores, cluster or declared.cluster, strange, rater)


def _check_cluster(field: str, items: Sequence[Item]) -> None:
    """Raise an error if no item has the field, or if all items have the same value."""
    clusters = clusters_of(items, field)
    if clusters is None:
        known = dict.fromkeys(
            name
            for item in items
            for name in (*(item.inputs if isinstance(item.inputs, Mapping) else {}), *item.meta)
        )
        raise UsageError(f"{argument('cluster')}: there is no field '{field}' ({choices(field, [*known])})")
    if len(items) > 1 and len(set(clusters)) == 1:
        raise DataError(
            f"{argument('cluster', field, given=field)}: all {len(items)} answered items have the "
            "same value, so there is no interval over items: at least two clusters are needed"
        )


def refuse_other_dataset(declared: Dataset, items: Sequence[Item], data: str | Path) -> None:
    """Refuse items of another dataset: its metrics would give a meaningless score without an error."""
    asked = set(declared.fields)
    inputs = [item.inputs for item in items]
    if asked and inputs and not any(isinstance(entry, Mapping) and asked & entry.keys() for entry in inputs):
        first = inputs[0]
        fields = "a plain text" if isinstance(first, str) else listed(list(first)) or "nothing"
        raise InputError(
            f"its items have {fields}, but those of {declared.title} have "
            f"{listed(declared.fields)}; is it a file of another dataset?",
            file=data,
            field="inputs",
        )


def _records(answers: Frame | Mapping[str, Json]) -> list[ItemAnswer]:
    """Convert answers in memory to the records of a file of answers."""
    pairs: list[tuple[str, Json]]
    if isinstance(answers, Mapping):
        pairs = [(str(name), answer) for name, answer in answers.items()]
    elif is_frame(answers):
        rows = records_of(polars_of(answers))
        if rows and not {"id", "answer"} <= rows[0].keys():
            raise UsageError("a table needs the columns id and answer", field=argument("answers"))
        pairs = [(str(row["id"]), row["answer"] or "") for row in rows]
    else:
        raise UsageError("takes a file, a table or a mapping", field=argument("answers"))
    if len({name for name, _ in pairs}) < len(pairs):
        raise UsageError("answers an item twice", field=argument("answers"))
    return [ItemAnswer(row, name, answer) for row, (name, answer) in enumerate(pairs, start=1)]
