"""Scores of answers and of runs: `merilo.score` and `merilo.score_run`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import cast

from pydantic_core import to_jsonable_python

from merilo.answer_tables import ItemAnswer, each_once, read_sheet, sample_of
from merilo.datasets import CATALOGUE, Answer, Dataset
from merilo.datasets import dataset as find_dataset
from merilo.datasets.dataset_files import own_file, read_split
from merilo.errors import DataError, InputError, UsageError, argument, for_library
from merilo.estimate import Finding
from merilo.files import collecting_later
from merilo.items import Item, ItemId
from merilo.metrics import scoring
from merilo.metrics.answers import AnswerError, Given, has_gold, read_answer
from merilo.metrics.detox import Rater, rater_of
from merilo.metrics.metric import Judgement, Score
from merilo.metrics.scoring import Scores, clusters_for
from merilo.models.reply_answers import ItemAnswers, answers_in, no_labels, read_answers, refuse_unreadable
from merilo.models.reply_files import replies_of_table
from merilo.models.run_folder import DatasetRecord, RunFolder, read_run, refuse_other_items
from merilo.models.run_log import cut_line, log_path, replies_of_run
from merilo.people.frames import Frame, is_frame, polars_of, records_of
from merilo.runs.item_sources import ItemSource, items_file, source_of
from merilo.strict_json import Json, parse_json
from merilo.wording import choices, listed

Answers = str | Path | Frame | Mapping[str, Json]


@dataclass(frozen=True, repr=False)
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
        """The dataset's name."""
        return self.answers.declared.name

    @property
    def items(self) -> int:
        """How many items the dataset has."""
        return len(self.asked)

    @cached_property
    def _answered(self) -> set[str]:
        return {answer.item for answer in self.answers.rows}

    @property
    def answered(self) -> int:
        """How many of these items were answered."""
        return len(self._answered)

    @property
    def unanswered(self) -> tuple[ItemId, ...]:
        """The ids of items without an answer, in the order of the items."""
        return tuple(item.id for item in self.asked if str(item.id) not in self._answered)

    @property
    def unknown(self) -> tuple[str, ...]:
        """The ids of answers that match no item."""
        return self.answers.unknown

    @property
    def clusters(self) -> int | None:
        """How many clusters the answered items form; `None` if items are independent."""
        items = [item for item in self.asked if str(item.id) in self._answered]
        clusters = clusters_for(items, self.cluster)
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
        return scoring.explain(declared, asked[name], value_of(declared, first), rater=self.rater)

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
                "outcomes": {**self.answers.outcomes},
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
        data: the items with their gold answers: a JSON, JSONL or Parquet file, or a folder as for `merilo.run`; by
            default, the file that the declaration names, or the test in its folder.
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
    name = dataset if isinstance(dataset, str) else declared.name
    in_folder = name.lower() not in CATALOGUE and Path(name).exists()
    if data is None and own_file(declared) is None and not in_folder:
        needed = f"{argument('data', 'FILE')}, the items with gold answers"
        raise UsageError(f"answers to {declared.title} need {needed}")
    file = items_file(name, declared, None if data is None else Path(data), alone=True)
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
            read = answers_of_table([*each_once(records, source)], declared, items, source)
    texts = [(answer.item, value_of(declared, answer)) for answer in read.rows]
    closed = [(item, text) for item, text in texts if not isinstance(text, tuple)]
    if not force:
        refuse_unreadable((text for _, text in closed), read if read.source else None, source)
    answer = declared.answer
    strange = None if read.source else no_labels(closed, answer, answer.labels, source)
    if cluster is not None:
        answered = {answer.item for answer in read.rows}
        _check_cluster(cluster, [item for item in items if str(item.id) in answered] or items)
    if not read.rows:
        raise DataError(f"not one of {len(read.unknown)} answers belongs to an item of {file}", file=source)
    rater = rater_of(rudetox_models, rudetox_curves)
    scores = score_answers(declared, items, read.rows, cluster=cluster, rater=rater)
    return ScoreResult(read, items, scores, cluster or declared.cluster, strange, rater)


def answers_of_table(
    records: Iterable[ItemAnswer], declared: Dataset, items: Sequence[Item], file: object = None
) -> ItemAnswers:
    """Match the answers of a table to items by id, as text; the turn of a dialogue has the id "dialogue/question" too.

    Args:
        records: the answers, one to an item.
        declared: the dataset.
        items: its items.
        file: the file of the answers, for messages.

    Raises:
        InputError: an answer is not of the dataset's type, or cannot be read.
    """
    ids = {str(item.id).strip(): str(item.id) for item in items}
    for item in items:
        if {"dialog_id", "question_id"} <= item.meta.keys():
            ids.setdefault(f"{item.meta['dialog_id']}/{item.meta['question_id']}", str(item.id))
    rows: list[ItemAnswer] = []
    unknown: list[str] = []
    for record in records:
        if record.item not in ids:
            unknown.append(record.item)
            continue
        try:
            answer = read_answer(declared.answer, _of_form(declared.answer, record.answer))
        except (AnswerError, InputError) as error:
            wrong = f"the answer to item {record.item[:60]!r}: {error}"
            raise InputError(wrong, file=file, row=record.row) from error
        rows.append(record._replace(item=ids[record.item], answer=cast("Json", answer)))
    return ItemAnswers(declared, rows, unknown=tuple(unknown))


def _of_form(form: Answer, answer: Json) -> Json:
    """Undo the file format's encoding of an answer: a table has no types, and JSON may hold an integer as a number."""
    if form.kind in {"criteria", "program"} and isinstance(answer, str) and answer.lstrip()[:1] in {"{", "["}:
        return parse_json(answer, file="answer")
    if form.kind == "criteria" and isinstance(answer, str | int) and not isinstance(answer, bool):
        # A single answer is scored against each criterion.
        return dict.fromkeys(form.criteria, str(answer))
    if isinstance(answer, int) and not isinstance(answer, bool):
        return str(answer)
    return answer


def by_id(items: Sequence[Item]) -> dict[str, Item]:
    """Return items under their own ids."""
    return {str(item.id): item for item in items}


def score_answers(
    declared: Dataset,
    items: Sequence[Item],
    answers: Sequence[ItemAnswer],
    *,
    cluster: str | None = None,
    rater: Rater | None = None,
) -> Scores:
    """Score answers: the only place where they meet the gold answers.

    Args:
        declared: the dataset.
        items: the items.
        answers: the answers; each is to one of the items.
        cluster: the field that items of one cluster share; by default, that of the dataset.
        rater: the classifiers of the metric J.

    Raises:
        DataError: an answered item has no gold answer, or lacks data that its metric needs.
    """
    ids = {str(item.id): item.id for item in items}
    samples: dict[ItemId, dict[str, Given]] = {}
    for answer in answers:
        samples.setdefault(ids[answer.item], {})[sample_of(answer)] = value_of(declared, answer)
    clustered = replace(declared, cluster=cluster or declared.cluster)
    return scoring.score_samples(clustered, items, samples, rater=rater)


def value_of(declared: Dataset, answer: ItemAnswer) -> Given:
    """Return an answer as the scorer takes it; a reply without a readable answer is wrong by every criterion."""
    if answer.answer == "" and declared.answer.criteria:
        return dict.fromkeys(declared.answer.criteria, "")
    return cast("Given", answer.answer)


def _check_cluster(field: str, items: Sequence[Item]) -> None:
    """Raise an error if no item has the field, or if all items have the same value."""
    clusters = clusters_for(items, field)
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
    if isinstance(answers, Mapping):
        return [ItemAnswer(row, str(name), answer) for row, (name, answer) in enumerate(answers.items(), 1)]
    if not is_frame(answers):
        raise UsageError("takes a file, a table or a mapping", field=argument("answers"))
    rows = records_of(polars_of(answers))
    if rows and not {"id", "answer"} <= rows[0].keys():
        raise UsageError("a table needs the columns id and answer", field=argument("answers"))
    return [
        ItemAnswer(row, str(entry["id"]), entry["answer"] or "", entry.get("sample"))
        for row, entry in enumerate(rows, 1)
    ]


@dataclass(frozen=True, slots=True)
class DatasetRun:
    """A model's run on one dataset.

    Attributes:
        declared: the dataset.
        record: what was asked.
        answers: the answers and the outcomes.
        scores: the metrics; `None` if they cannot be computed.
        reason: why there are no metrics.
        refused: items that the backend could not be asked, because it takes no such media.
    """

    declared: Dataset
    record: DatasetRecord
    answers: ItemAnswers
    scores: Scores | None = None
    reason: str = ""
    refused: int = 0

    @property
    def metrics(self) -> dict[str, Score]:
        """The metrics by name, the main ones first."""
        return {} if self.scores is None else self.scores.all()

    def counts(self, score: Score) -> tuple[int, int]:
        """Return the items and the answers that a metric is computed on."""
        programs = self.declared.answer.kind == "program"
        return score.n, len(self.answers.rows) if programs else score.answers or score.n

    @property
    def is_complete(self) -> bool:
        """Whether every item has an answer or an outcome other than a failed request."""
        return self.answers.missing <= 0 and not self.answers.failed

    def to_dict(self) -> dict[str, Json]:
        """Return the run on this dataset as JSON."""
        prompt, completion, thought = self.answers.tokens
        asked = self.record.model_dump(mode="json", include={"title", "samples", "mode", "prompts", "shots"})
        return {
            **asked,
            "items": len(self.record.hashes),
            "outcomes": {**self.answers.all_outcomes},
            "unanswered": [_told(answer) for answer in self.answers.unanswered],
            "unreadable": [_told(answer) for answer in self.answers.unreadable],
            "metrics": {} if self.scores is None else self.scores.to_dict(),
            "extract": self.answers.manner,
            "reason": for_library(self.reason) or None,
            "refused_media": self.refused,
            "models": list(self.answers.models),
            "tokens": {"prompt": prompt, "completion": completion, "thought": thought},
            "usd": self.answers.usd,
        }


@dataclass(frozen=True, slots=True, repr=False)
class RunResult:
    """A model's run.

    Attributes:
        folder: the run's folder with its record.
        datasets: the datasets by name.
        stopped: the limit of the budget that ended the run; empty if there was none.
        seconds: how long the command took to ask.
        asked: replies that this command received.
        notes: sentences for the reader.
    """

    folder: RunFolder
    datasets: Mapping[str, DatasetRun]
    stopped: str = ""
    seconds: float = 0.0
    asked: int = 0
    notes: tuple[str, ...] = ()

    @property
    def model(self) -> str:
        """The model's name; that of a built-in respondent says so."""
        return self.folder.model

    @property
    def is_complete(self) -> bool:
        """Whether everything was asked and no request failed."""
        return all(dataset.is_complete for dataset in self.datasets.values())

    def to_dict(self) -> dict[str, Json]:
        """Return the run as JSON, as `merilo run --json` prints it."""
        model = self.folder.record.model
        known = [dataset.answers.usd for dataset in self.datasets.values() if dataset.answers.usd is not None]
        return {
            "run": str(self.folder.path),
            "model": model.to_json(),
            "complete": self.is_complete,
            "stopped": for_library(self.stopped) or None,
            "asked": self.asked,
            "seconds": self.seconds,
            "usd": sum(known) if known else None,
            "datasets": {name: dataset.to_dict() for name, dataset in self.datasets.items()},
            "notes": list(map(for_library, self.notes)),
        }

    def __repr__(self) -> str:
        lines = [f"{self.model}: {self.folder.path}"]
        for dataset in self.datasets.values():
            figures = [
                f"{name} {score.value:.4f} ({_counted(*dataset.counts(score))})"
                for name, score in dataset.metrics.items()
            ]
            scores = listed(figures) or for_library(dataset.reason)
            lines.append(
                f"{dataset.declared.title}: " + "; ".join(filter(None, [scores, dataset.answers.absences]))
            )
        return "\n".join(lines)


def _told(answer: ItemAnswer) -> dict[str, Json]:
    """Return why a request has no answer, as JSON."""
    return {
        "item": answer.item,
        "sample": answer.sample,
        "outcome": answer.outcome,
        "reason": answer.rule,
    }


def _counted(items: int, answers: int) -> str:
    return f"{items} items" if items == answers else f"{items} items, {answers} answers"


def score_run(
    run: str | Path,
    *,
    data: str | Path | None = None,
    rudetox_models: str | Path | Rater | None = None,
    rudetox_curves: str | Path | None = None,
) -> RunResult:
    """Score the answers of a run.

    Args:
        run: the folder that `merilo.run` wrote.
        data: a folder with the items and their gold answers; by default, the items that were asked.
        rudetox_models: the classifiers of the metric J, as for `merilo.score`.
        rudetox_curves: the file of J's calibration curves.

    Raises:
        InputError: the folder is not one of a run, or the items are not those that were asked.
        DataError: some items have a gold answer and others have none.
    """
    folder = read_run(Path(run))
    rater = rater_of(rudetox_models, rudetox_curves)
    items = None if data is None else Path(data)
    with collecting_later():
        scored = {
            name: scored_dataset(folder, name, source_of(record, items), rater=rater)
            for name, record in folder.record.datasets.items()
        }
    warnings = [warning for dataset in scored.values() for warning in dataset.answers.warnings()]
    cuts = (cut_line(log_path(folder.path, name)) for name in scored)
    return RunResult(folder, scored, notes=(*filter(None, cuts), *warnings))


def scored_dataset(
    folder: RunFolder, name: str, source: ItemSource, *, rater: Rater | None = None
) -> DatasetRun:
    """Score the answers of a run to one dataset.

    Raises:
        InputError: the items are not those that were asked, or the log cannot be read.
        DataError: some items have a gold answer and others have none.
    """
    record = folder.record.datasets[name]
    refuse_other_items(record, source.split.items, source.file)
    by_name = by_id(source.split.items)
    asked = {name: by_name[name] for name in record.hashes}
    items = [*asked.values()]
    replies, manner = replies_of_run(folder.path, source.declared), folder.record.settings.manner
    answers = answers_in(replies, asked, samples=record.samples, manner=manner)
    unscored = DatasetRun(source.declared, record, answers, refused=_refused(source, record))
    rated = source.declared.rated
    if not rated and not any(map(has_gold, items)):
        return replace(unscored, reason="the test is closed: its items have no gold answers")
    if source.declared.answer.kind == "program":
        return _scored_programs(folder, unscored, items)
    if not answers.rows:
        return replace(unscored, reason="there are no answers")
    return replace(unscored, scores=score_answers(source.declared, items, answers.rows, rater=rater))


def _scored_programs(folder: RunFolder, unscored: DatasetRun, items: Sequence[Item]) -> DatasetRun:
    declared, results = unscored.declared, folder.path / f"{unscored.declared.name}.json"
    if not results.is_file():
        return replace(unscored, reason="the programs have not been run in the sandbox")
    try:
        rows = answers_of_table(read_sheet(results), declared, items, results).rows
        return replace(unscored, scores=score_answers(declared, items, rows))
    except DataError as error:
        return replace(unscored, reason=error.marked)


def _refused(source: ItemSource, record: DatasetRecord) -> int:
    """Count the items that were left out because of their media."""
    available = len(source.split) if record.limit is None else min(record.limit, len(source.split))
    return max(0, available - len(record.hashes)) if source.declared.media else 0
