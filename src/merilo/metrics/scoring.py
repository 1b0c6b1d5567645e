"""The scorer for people and models: it takes a dataset's declaration, its items and the answers.

Scores do not depend on who answered.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, cast

from merilo.datasets.declaration import Dataset
from merilo.errors import DataError, argument
from merilo.items import Item, ItemId
from merilo.metrics import classification, exam, pass_at_k, squad
from merilo.metrics.answers import Generations, Given
from merilo.metrics.detox import Rater, j_scores
from merilo.metrics.detox import judge as judge_detox
from merilo.metrics.score import Judgement, Score
from merilo.strict_json import Json


def clusters_for(
    items: Sequence[Item], field: str | None, given: Mapping[ItemId, Hashable] | None = None
) -> list[Hashable] | None:
    """Return the cluster of each item; `None` if items are independent.

    Args:
        items: the items.
        field: the field that items of one cluster share.
        given: item id -> cluster; used in place of the field.
    """
    if given is not None:
        return [given[item.id] for item in items]
    return clusters_of(items, field) if field else None


def clusters_of(items: Sequence[Item], field: str) -> list[Hashable] | None:
    """Return the cluster of each item, its value of a field; `None` if no item has the field.

    Args:
        items: the items; one without the field is a cluster of its own.
        field: the name of a field of `inputs` or, if they do not have it, of `meta`.

    Example:
        >>> clusters_of([Item(1, "", {"text": "A"}), Item(2, "", {"text": "A"}), Item(3, "", {})], "text")
        ['A', 'A', ('without', 2)]
    """
    values = [_field(item, field) for item in items]
    if all(value is None for value in values):
        return None
    return [("without", place) if value is None else value for place, value in enumerate(values)]


def _field(item: Item, field: str) -> str | None:
    own = item.inputs.get(field) if isinstance(item.inputs, Mapping) else None
    value = item.value(field) if own is None else own
    return None if value is None else str(value)


def shared_clusters(clusters: Sequence[Hashable] | None) -> int | None:
    """Count the clusters; `None` if every item is a cluster of its own."""
    count = len(set(clusters or ()))
    return count if count and clusters is not None and count < len(clusters) else None


#: The metrics computed with the three ruDetox classifiers; their gold answer is the toxic sentence itself.
RATED: Final = ("j", "sta", "sim", "fl")

#: What stands for each criterion of the answer in the name of a group's metric.
CRITERION: Final = "{criterion}"

NO_RATER: Final = (
    f"needs the three classifiers of ruDetox: the extra merilo[hf], and {argument('rudetox_models')}"
)


@dataclass(frozen=True, slots=True)
class Scores:
    """The values of all metrics of a dataset for a set of answers.

    Attributes:
        main: the dataset's metrics that could be computed, in the order of its declaration.
        extra: the metrics by group: "acc.anatomy", "correct.virtue", "grade_norm.task8_0".
        missing: metric -> why it could not be computed.
    """

    main: Mapping[str, Score]
    extra: Mapping[str, Score] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)

    def all(self) -> dict[str, Score]:
        """Main and extra metrics together, main first."""
        return {**self.main, **self.extra}

    def to_dict(self) -> dict[str, Json]:
        """Return the scores as JSON, including metrics that could not be computed."""
        missing: dict[str, Json] = {
            name: {"value": None, "n": 0, "ci95": None, "reason": reason}
            for name, reason in self.missing.items()
        }
        return {**missing, **{name: one.to_dict() for name, one in self.all().items()}}


def score(
    dataset: Dataset,
    items: Sequence[Item],
    answers: Mapping[ItemId, Given],
    *,
    clusters: Mapping[ItemId, Hashable] | None = None,
    rater: Rater | None = None,
    seed: int = 0,
) -> Scores:
    """Score answers to a dataset's items.

    Items without an answer are left out, and `n` of each score is the number of items that remain. The exception is
    the exam, where an unanswered question counts as 0 if its variant has any answer (`exam.grade_norm`). Answers to
    unknown items are ignored; the code that reads answers from a file reports both cases.

    Args:
        dataset: the declaration.
        items: the items with their gold answers, in the order of the file.
        answers: item id -> answer (`merilo.metrics.answers.read_answer`).
        clusters: item id -> its cluster; by default, by the dataset's field `cluster`. `grade_norm` takes
            variants instead.
        rater: rates rewritten sentences; without a rater, J and its parts are missing.
        seed: random seed for the intervals' bootstrap.

    Raises:
        DataError: an answered item has no gold answer (a closed test), or lacks data that its metric needs.

    Example:
        >>> from merilo.datasets import dataset
        >>> items = [Item(1, "{inputs}", "()", "1"), Item(2, "{inputs}", "(", "0")]
        >>> score(dataset("BPS"), items, {1: "1", 2: "1"}).main["acc"].value
        0.5
    """
    sheet = _Sheet.of(dataset, items, answers, clusters)
    if dataset.answer.kind == "criteria":
        return Scores({}, _criteria_scores(dataset, sheet, seed))
    main: dict[str, Score] = {}
    missing: dict[str, str] = {}
    rated = _rated(dataset, sheet, rater, seed)
    for metric in dataset.metrics:
        if metric in rated:
            main[metric] = rated[metric]
        elif metric in RATED:
            missing[metric] = NO_RATER
        elif metric == "grade_norm":
            main[metric] = exam.grade_norm(
                exam_items(dataset, items), cast("Mapping[ItemId, str]", answers), seed=seed
            )
            if not main[metric].n:
                del main[metric]
                missing[metric] = (
                    f"no complete variant ({exam.VARIANT_ITEMS} items, {exam.VARIANT_POINTS} points) was answered"
                    + _lacking(dataset, items)
                )
        elif metric.startswith("pass@") and (shortage := _shortage(sheet, int(metric[5:]))):
            missing[metric] = shortage
        else:
            main[metric] = _score(dataset, metric, sheet, seed)
    return Scores(main, _group_scores(dataset, sheet, items, answers, seed), missing)


def explain(dataset: Dataset, item: Item, answer: Given, *, rater: Rater | None = None) -> list[Judgement]:
    """Explain how one item's answer is judged by each metric that is computed item by item.

    Macro F1 and MCC depend on all items together; for them the comparison of the answer with the gold answer is
    explained.

    Raises:
        DataError: as `score`.
    """
    sheet = _Sheet.of(dataset, [item], {item.id: answer})
    if isinstance(answer, Mapping):
        gold = cast("Mapping[str, str]", item.outputs)
        return [
            classification.judge_equal(answer[name], gold[name], f"mcc, {name}")
            for name in dataset.answer.criteria
        ]
    if not isinstance(answer, str):
        ks = [int(metric[5:]) for metric in dataset.metrics]
        return [pass_at_k.judge(answer, dataset.results(item), k) for k in ks if k <= len(answer)]
    if "grade_norm" in dataset.metrics:
        return [exam.judge(exam_items(dataset, [item])[0], answer)]
    if any(metric in RATED for metric in dataset.metrics):
        if rater is None:
            raise DataError(f"J {NO_RATER}")
        return [judge_detox(str(item.inputs), answer, rater)]
    if dataset.answer.kind == "text" and {"f1", "em"} & set(dataset.metrics):
        return list(squad.judge(answer, sheet.gold_texts[0], dataset.answer.alternatives))
    metrics = [metric for metric in dataset.metrics if metric in {"acc", "em"}]
    return [classification.judge_equal(answer, sheet.gold_texts[0], ", ".join(metrics) or dataset.metrics[0])]


@dataclass(frozen=True, slots=True)
class _Sheet:
    """The answered items and their answers, in the order of the items."""

    items: Sequence[Item]
    answers: Sequence[Given]
    clusters: Sequence[Hashable] | None

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        items: Sequence[Item],
        answers: Mapping[ItemId, Given],
        clusters: Mapping[ItemId, Hashable] | None = None,
    ) -> _Sheet:
        answered = [item for item in items if item.id in answers]
        if not set(dataset.metrics) <= set(RATED):
            _require_gold(dataset, answered)
        return cls(
            answered,
            [answers[item.id] for item in answered],
            clusters_for(answered, dataset.cluster, clusters),
        )

    @property
    def ids(self) -> list[ItemId]:
        return [item.id for item in self.items]

    @property
    def texts(self) -> list[str]:
        return cast("list[str]", self.answers)

    @property
    def gold_texts(self) -> list[str]:
        return [gold_label(item) for item in self.items]

    def part(self, rows: Sequence[int]) -> _Sheet:
        clusters = None if self.clusters is None else [self.clusters[row] for row in rows]
        return _Sheet([self.items[row] for row in rows], [self.answers[row] for row in rows], clusters)


def has_gold(item: Item) -> bool:
    """Check whether an item has a gold answer: in a closed test it is missing or consists of empty texts.

    Example:
        >>> has_gold(Item(1, "{function}", {}, ["", ""])), has_gold(Item(1, "{inputs}", "()", "1"))
        (False, True)
    """
    outputs = item.outputs
    if isinstance(outputs, dict):
        return any(outputs.values())
    return any(outputs) if isinstance(outputs, list) else outputs is not None


def _require_gold(dataset: Dataset, items: Sequence[Item]) -> None:
    kind = {"criteria": dict, "program": list | str}.get(dataset.answer.kind, str | int)
    for item in items:
        if kind is not dict and isinstance(item.outputs, str):
            continue  # nearly every item; the checks below would find nothing
        if not has_gold(item):
            raise DataError(
                f"item {item.id!r} of {dataset.name} has no gold answer: the test is closed, and "
                "only its owner can score it"
            )
        if not isinstance(item.outputs, kind):
            raise DataError(
                f"the gold answer of item {item.id!r} of {dataset.name} is not of the dataset's type"
            )


def _score(dataset: Dataset, metric: str, sheet: _Sheet, seed: int, name: str | None = None) -> Score:
    """Compute one metric on a sheet, with the group's name if one is given."""
    if metric.startswith("pass@"):
        counts = [
            _passed(given, dataset.results(item))
            for item, given in zip(sheet.items, cast("list[Generations]", sheet.answers), strict=True)
        ]
        found = pass_at_k.pass_score(counts, int(metric[5:]), sheet.ids, sheet.clusters, seed=seed)
    elif metric in {"f1", "em"} and dataset.answer.kind == "text":
        rule = squad.f1 if metric == "f1" else squad.em
        separator = dataset.answer.alternatives
        found = rule(sheet.texts, sheet.gold_texts, sheet.ids, sheet.clusters, separator=separator, seed=seed)
    elif metric in {"acc", "em"}:
        rule_of = classification.acc if metric == "acc" else classification.em
        separator = dataset.answer.alternatives
        found = rule_of(
            sheet.texts, sheet.gold_texts, sheet.ids, sheet.clusters, separator=separator, seed=seed
        )
    elif metric == "f1_macro":
        found = classification.f1_macro(sheet.texts, sheet.gold_texts, sheet.clusters, seed=seed)
    elif metric == "mcc":
        found = classification.mcc(sheet.texts, sheet.gold_texts, sheet.clusters, seed=seed)
    else:
        raise DataError(f"the metric '{metric}' does not score answers of kind '{dataset.answer.kind}'")
    return replace(found, name=name or found.name, clusters=shared_clusters(sheet.clusters))


def _lacking(dataset: Dataset, items: Sequence[Item]) -> str:
    """List the missing tasks of the first variants, as the end of a sentence."""
    lacking = {
        name: tasks for name, tasks in exam.incomplete_variants(exam_items(dataset, items)).items() if tasks
    }
    told = [f"variant {name} lacks tasks {', '.join(tasks)}" for name, tasks in list(lacking.items())[:3]]
    more = [f"and {len(lacking) - 3} more variants lack tasks"] if len(lacking) > 3 else []
    return "".join(f"; {part}" for part in (*told, *more))


def _passed(generations: Generations, gold: Sequence[str]) -> tuple[int, int]:
    """Count the generations, and those that pass every test."""
    return len(generations), sum(pass_at_k.is_right(results, gold) for results in generations)


def _rated(dataset: Dataset, sheet: _Sheet, rater: Rater | None, seed: int) -> dict[str, Score]:
    if rater is None or not set(dataset.metrics) & set(RATED):
        return {}
    ratings = rater.rate([str(item.inputs) for item in sheet.items], sheet.texts)
    found = j_scores(ratings, sheet.ids, sheet.clusters, seed=seed)
    return {name: replace(one, clusters=shared_clusters(sheet.clusters)) for name, one in found.items()}


def _shortage(sheet: _Sheet, k: int) -> str | None:
    few = [
        (item.id, len(given))
        for item, given in zip(sheet.items, sheet.answers, strict=True)
        if len(given) < k
    ]
    if not few:
        return None
    return f"needs {k} generations for every problem; item {few[0][0]!r} has {few[0][1]}"


def _criteria_scores(dataset: Dataset, sheet: _Sheet, seed: int) -> dict[str, Score]:
    """Compute MCC for each question and criterion."""
    scores: dict[str, Score] = {}
    for group, rows in groups(dataset, sheet.items).items():
        part = sheet.part(rows)
        for criterion in dataset.answer.criteria:
            name = group.replace(CRITERION, criterion)
            given = [cast("Mapping[str, str]", answer)[criterion] for answer in part.answers]
            gold = [gold_label(item, criterion) for item in part.items]
            found = classification.mcc(given, gold, part.clusters, name=name, seed=seed)
            scores[name] = replace(found, clusters=shared_clusters(part.clusters))
    return scores


def gold_label(item: Item, criterion: str | None = None) -> str:
    """Return the gold answer of an item as text, or the label of one of its criteria.

    Raises:
        DataError: the gold answer lacks the criterion.
    """
    if criterion is None:
        return item.outputs if isinstance(item.outputs, str) else str(item.outputs)
    label = item.outputs.get(criterion) if isinstance(item.outputs, Mapping) else None
    if label is None or label == "":
        raise DataError(f"the gold answer of item {item.id!r} lacks '{criterion}'")
    return str(label)


def groups(dataset: Dataset, items: Sequence[Item]) -> dict[str, list[int]]:
    """Map the name of each group's metric to the positions of its items, sorted by name.

    Items that lack the field of the groups are in no group; if their answer has criteria, they are in one group.
    """
    rows: dict[str, list[int]] = defaultdict(list)
    fields = [f"{{{name}}}" for name in dataset.fields_of_groups]
    for row, item in enumerate(items):
        name = dataset.group(item) or CRITERION
        if not any(field in name for field in fields):
            rows[name].append(row)
        elif dataset.answer.kind == "criteria":
            rows[CRITERION].append(row)
    return dict(sorted(rows.items()))


def _group_scores(
    dataset: Dataset, sheet: _Sheet, items: Sequence[Item], answers: Mapping[ItemId, Given], seed: int
) -> dict[str, Score]:
    if dataset.extra is None:
        return {}
    metric = dataset.extra.partition(".")[0]
    if metric == "grade_norm":
        grades = exam.task_grades(
            exam_items(dataset, items), cast("Mapping[ItemId, str]", answers), seed=seed
        )
        return {grade.name: grade for grade in grades}
    return {
        name: _score(dataset, metric, sheet.part(rows), seed, name)
        for name, rows in groups(dataset, sheet.items).items()
    }


def exam_items(dataset: Dataset, items: Sequence[Item]) -> list[exam.ExamItem]:
    """Convert items to the form used by the exam's rules; errors are those of `exam_item`."""
    return [exam_item(dataset, item) for item in items]


def exam_item(dataset: Dataset, item: Item) -> exam.ExamItem:
    """Convert an item to the form used by the exam's rules.

    Raises:
        DataError: its meta lacks id_task, variant, score or type.
    """
    task, variant, most, kind = (item.meta.get(key) for key in ("id_task", "variant", "score", "type"))
    if not (
        isinstance(task, str | int) and isinstance(variant, str | int) and isinstance(most, int) and most > 0
    ):
        raise DataError(f"item {item.id!r} of {dataset.name} needs id_task, variant and score in its meta")
    try:
        return exam.ExamItem(item.id, str(task), variant, most, str(kind), str(item.outputs or ""))
    except ValueError as error:
        raise DataError(f"item {item.id!r} of {dataset.name}: {error}") from error


def metric_names(dataset: Dataset, items: Sequence[Item]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the main and extra metrics for a complete set of answers to these items.

    Raises:
        DataError: an item lacks data that its metric needs.
    """
    if dataset.answer.kind == "criteria":
        found = groups(dataset, items)
        return (), tuple(
            group.replace(CRITERION, criterion) for group in found for criterion in dataset.answer.criteria
        )
    if dataset.extra is None:
        return dataset.metrics, ()
    if dataset.extra.startswith("grade_norm."):
        return dataset.metrics, tuple(exam.task_names(exam_items(dataset, items)))
    return dataset.metrics, tuple(groups(dataset, items))
