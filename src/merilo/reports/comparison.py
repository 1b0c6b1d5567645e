"""`merilo.compare`: people and models on the same items of a dataset, and the result as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from merilo.answer_tables import AnswerRecord, answer_record
from merilo.baselines.baseline import BASELINE_FILE, cluster_record
from merilo.baselines.baseline_reader import (
    StoredBaseline,
    items_without_people,
    read_stored_baseline,
    stored_baseline_of,
)
from merilo.baselines.model_answers import Samples, answers_to, by_criterion, dataset_key, samples_of
from merilo.baselines.model_comparison import Match, ModelComparison, verdict_sentence
from merilo.baselines.model_comparison import compare as compare_models
from merilo.baselines.model_verdicts import Compared, Margin
from merilo.baselines.opposite_outcomes import OppositeOutcomes, opposite_outcomes
from merilo.datasets import Dataset
from merilo.datasets import dataset as find_dataset
from merilo.datasets.declaration import undeclared, with_metric
from merilo.datasets.own_items import own_file, read_split
from merilo.errors import DataError, InputError, UsageError, argument
from merilo.models.run_folder import is_run, read_run, refuse_other_items
from merilo.models.run_log import log_path, read_log
from merilo.people.frames import Frame, is_frame, polars_of, records_of
from merilo.records import rounded
from merilo.reports.conditions import AskedConditions, conditions, frozen_beside
from merilo.reports.cost_report import each
from merilo.reports.estimates import counted, interval_json
from merilo.runs.answer_scores import refuse_other_dataset
from merilo.runs.run_scores import source_of
from merilo.settings import ComparisonSettings
from merilo.strict_json import Json
from merilo.studies.plan_types import FROZEN_FILE
from merilo.text import Money, Text, joined
from merilo.wording import listed, shown

if TYPE_CHECKING:
    from merilo.baselines.baseline import Baseline

Answers: TypeAlias = str | Path | Frame | Mapping[str, str | Sequence[str]]

#: Names of the two sides of each kind of comparison.
KINDS: Final = {
    "consensus": (Text("the people's consensus"), Text("the model's answers")),
    "single": (Text("a single person"), Text("a single answer")),
    "majority": (Text("the majority of people"), Text("the majority of as many answers")),
}


@dataclass(frozen=True, slots=True)
class Expense:
    """Money and time spent on items.

    Attributes:
        cost: the money; `None` if it is not known.
        currency: its currency.
        seconds: the time; `None` if it is not known.
        items: the number of items, or of answers.
    """

    cost: float | None
    currency: str | None
    seconds: float | None
    items: int

    @staticmethod
    def sum(parts: Sequence[Expense]) -> Expense:
        """Add up money and time of datasets; unknown if one is, or if the currencies differ."""
        costs = [one.cost for one in parts if one.cost is not None]
        seconds = [one.seconds for one in parts if one.seconds is not None]
        known = len(costs) == len(parts) and len({one.currency for one in parts}) == 1
        return Expense(
            sum(costs) if known else None,
            parts[0].currency,
            sum(seconds) if len(seconds) == len(parts) else None,
            sum(one.items for one in parts),
        )

    @property
    def cost_each(self) -> Money | None:
        """The money per item."""
        return None if self.cost is None else each(self.cost / self.items, self.currency)

    @property
    def seconds_each(self) -> float | None:
        """The seconds per item."""
        return None if self.seconds is None else self.seconds / self.items

    def to_json(self) -> dict[str, Json]:
        """Return cost and time per item."""
        each = (None if one is None else rounded(one / self.items, 9) for one in (self.cost, self.seconds))
        return {**dict(zip(("cost", "seconds"), each, strict=True)), "currency": self.currency}


def people_spent(crowd: StoredBaseline) -> tuple[Expense, Expense] | None:
    """Return what all people spent on their items, and on their answers; `None` if neither cost nor time is known.

    The time of an answer is the median, if times of answers are known.
    """
    paid = crowd.cost
    if paid is None or (paid.total is None and paid.hours is None) or not crowd.asked or not paid.answers:
        return None
    seconds = None if paid.hours is None else paid.hours * 3600
    median = paid.median_seconds_per_answer
    of_answers = seconds if median is None else median * paid.answers
    return (
        Expense(paid.total, paid.currency, seconds, crowd.asked),
        Expense(paid.total, paid.currency, of_answers, paid.answers),
    )


def model_spent(samples: Samples, key: str) -> Expense | None:
    """Return what a run spent on the items of a dataset, all samples together; `None` if the log does not tell."""
    file = Path(samples.file)
    log = log_path(file if is_run(file) else file.parent, key.lower())
    if not log.is_file():
        return None
    table = read_log(log, ("item", "sample", "seconds", "cost"))
    sums = {
        name: float(table[name].sum()) if table[name].is_not_null().any() else None
        for name in ("seconds", "cost")
    }
    seconds = sums["seconds"] or None  # a built-in respondent takes no time
    if not table.height or (seconds is None and sums["cost"] is None):
        return None
    return Expense(sums["cost"], "USD", seconds, table["item"].n_unique())


@dataclass(frozen=True, slots=True)
class ComparedModel:
    """One model beside people.

    Attributes:
        samples: the model's answers.
        tests: the comparisons with people and with the first model, and their verdicts.
        opposites: the items on which one side is right and the other wrong; `None` in the report of a baseline, which
            shows them item by item, and for the model with which the others are compared.
        spent: what its answers to these items cost, and how long they took; `None` if it is not known.
    """

    samples: Samples
    tests: ModelComparison
    opposites: OppositeOutcomes | None
    spent: Expense | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """People beside models on one dataset.

    Attributes:
        baseline: the annotators' answers in the baseline.
        metric: the metric's name.
        settings: how they were compared.
        models: the models.
        margin: the margin for equivalence.
        family: the number of comparisons whose p-values are corrected together, those on other datasets among
            them; 0 if each kind of comparison is corrected by itself, over the models.
        pairs: the same number for the comparisons with the first model.
    """

    baseline: StoredBaseline
    metric: str
    settings: ComparisonSettings
    models: tuple[ComparedModel, ...]
    margin: Margin | None = None
    family: int = 0
    pairs: int = 0

    @property
    def correction(self) -> str:
        """Return over what the p-values are corrected."""
        if self.pairs and not self.baseline.annotators:
            return (
                f"Holm over {counted(self.pairs, 'comparison')} with the first model: all models and datasets"
            )
        if self.family:
            return f"Holm over {counted(self.family, 'comparison')}: all models, datasets and kinds of comparison"
        return f"Holm over {counted(len(self.models), 'model')}, each kind of comparison by itself"

    def told(self) -> list[Compared]:
        """Return what the verdicts are told from, in the order of `matches`."""
        return [match.compared(self.margin, self.baseline.votes.annotators) for match in self.matches()]

    def matches(self) -> list[Match]:
        """Return all comparisons of all models."""
        return [match for one in self.models for match in one.tests.matches]

    def with_matches(self, matches: Iterable[Match]) -> Comparison:
        """Return the result with other comparisons, in the order of `matches`."""
        left = iter(matches)
        tests = (
            replace(one.tests, matches=tuple(next(left) for _ in one.tests.matches)) for one in self.models
        )
        models = (replace(one, tests=made) for one, made in zip(self.models, tests, strict=True))
        return replace(self, models=tuple(models))

    def firsts(self) -> list[Match | None]:
        """Return the comparison of each model with the first one."""
        return [one.tests.first for one in self.models]

    def with_firsts(self, firsts: Iterable[Match | None], pairs: int) -> Comparison:
        """Return the result with other comparisons with the first model, and how many are corrected together."""
        models = (
            replace(one, tests=replace(one.tests, first=first))
            for one, first in zip(self.models, firsts, strict=True)
        )
        return replace(self, models=tuple(models), pairs=pairs)

    @property
    def comparisons(self) -> dict[str, ModelComparison]:
        """Return a mapping from model to its comparison."""
        return {one.tests.model: one.tests for one in self.models}

    @property
    def conditions(self) -> AskedConditions | None:
        """Return how people and models were asked; `None` if neither a plan nor a run tells it."""
        spent = {one.tests.model: one.spent for one in self.models}
        each = {name: one.cost / one.items for name, one in spent.items() if one and one.cost is not None}
        samples = {one.tests.model: one.samples for one in self.models}
        return conditions(self.baseline, samples, each)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what limits the comparisons, a sentence each."""
        return tuple(one.en for one in comparison_warnings({"": self}))

    def to_dict(self) -> dict[str, Json]:
        """Return the comparison as JSON, as `merilo compare --json` prints it."""
        crowd = self.baseline
        clusters = cluster_record(crowd.clusters)
        spent, asked = people_spent(crowd), self.conditions
        return {
            "baseline": crowd.folder if crowd.annotators else None,
            "first_model": next((one.beside for one in self.firsts() if one), None),
            "metric": self.metric,
            "items": len(crowd.names),
            "annotators": len(crowd.annotators),
            "people_per_item": spent[0].to_json() if spent else None,
            "people_per_answer": spent[1].to_json() if spent else None,
            "clusters": clusters.to_json() if clusters else None,
            "forced": self.settings.force,
            "warnings": [one.en for one in baseline_warnings(crowd)],
            "correction": self.correction,
            "seed": self.settings.seed,
            "conditions": asked.to_dict() if asked else None,
            "models": [_model_json(one) for one in self.models],
        }

    def item_rows(self, dataset: str) -> list[dict[str, Json]]:
        """Return a row for each item on which one side is right and the other wrong.

        Args:
            dataset: the dataset's name.

        Returns:
            Rows with `ITEM_COLUMNS`: `right` is `people`, without people the name of the first model, or `model`;
            `answers` is the list of the model's answers.
        """
        crowd = self.baseline
        place = {name: at for at, name in enumerate(crowd.names)}
        return [
            {
                "dataset": dataset,
                "model": one.opposites.model,
                "right": one.opposites.beside or side if side == "people" else side,
                "id": name,
                "group": one.opposites.group_of.get(name),
                "consensus": crowd.consensus[place[name]],
                "gold": crowd.gold[place[name]],
                "answers": [*one.samples.answers[name]],
            }
            for one in self.models
            if one.opposites
            for name, side in one.opposites.sides().items()
        ]

    def __repr__(self) -> str:
        lines = []
        for name, one in self.comparisons.items():
            lines += [f"warning: {name}: {sentence}" for sentence in reading_faults(one)]
            for match in one.every:
                difference, interval = match.difference, match.interval
                if match.verdict:
                    lines.append(verdict_sentence(match, name).en)
                lines.append(
                    f"{name}, {match.kind}: {match.beside or 'people'} {difference.first:.3f}, model "
                    f"{difference.second:.3f}, difference {difference.value:+.3f} "
                    f"[{interval.low:+.3f}, {interval.high:+.3f}]"
                    f"{'' if match.both else ' over items alone'}, p {match.corrected:.3g} on {difference.n} items"
                )
        return "\n".join(lines)


#: The columns of the table of items on which one side alone is right.
ITEM_COLUMNS: Final = ("dataset", "model", "right", "id", "group", "consensus", "gold", "answers")


def compare(
    baseline: Baseline | str | Path | None,
    models: Mapping[str, Answers] | Sequence[str | Path] | str | Path = (),
    *,
    dataset: str | Dataset | None = None,
    data: str | Path | None = None,
    settings: ComparisonSettings | None = None,
    **chosen: object,
) -> Comparison:
    """Compare the annotators of a baseline with models on the same items, or models with each other.

    Args:
        baseline: the result of `baseline`, or the folder of a baseline. Without people, the first model, as in
            `compare("run-a", "run-b")`, or `None`: the other models are compared with the first one.
        models: mapping from model to its answers: a file, a table of `id`, `answer` and, for several answers
            to an item, `sample`, or a mapping from item id to an answer or a list of samples. Or files and
            folders, as `merilo compare` takes them.
        dataset: without people, the dataset of the answers; runs know theirs.
        data: the items with ids and gold answers, if the baseline was computed without gold, or if there is neither a
            baseline nor a run.
        settings: how they are compared; by default, the defaults of `ComparisonSettings`.
        chosen: single settings by name, such as `margin=0.02`: `metric`, `margin`, `force`, `cluster`,
            `seed`.

    Raises:
        UsageError: there is no field `cluster`, no model is given, the metric does not fit the answers, or
            the margin is not between 0 and 1.
        InputError: answers cannot be read.
        DataError: the items differ and `force` is not given, no item has a gold answer, or the study is too small for a
            test of equivalence.
    """
    settings = ComparisonSettings.of(chosen, settings)
    models = [models] if isinstance(models, str | Path) else models
    folder = Path(baseline) if isinstance(baseline, str | Path) else None
    if folder and not isinstance(models, Mapping) and not (folder / BASELINE_FILE).is_file():
        models, baseline, folder = [folder, *models], None, None
    if not models:
        raise UsageError("takes models by name, or several files", field=argument("models"))
    if baseline is not None:
        people = people_of(baseline, data, settings.cluster)
    else:
        if len(models) < 2:
            raise UsageError(ONE_MODEL)
        paths = () if isinstance(models, Mapping) else [Path(one) for one in models]
        found = items_of_models(paths, dataset, data, settings.cluster)
        if len(found) > 1:
            raise UsageError(
                f"the runs have answers to {listed([*found])}: name one with {argument('dataset')}, or compare all of "
                "them with compare_datasets"
            )
        (people,) = found.values()
    margin = chosen_margin(folder, settings.margin)
    return compared(
        people,
        models_beside(people, models, force=settings.force, replies=settings.replies),
        settings,
        margin,
    )


#: Why one model cannot be compared.
ONE_MODEL: Final = "one model cannot be compared: give a second one, or a human baseline"


def items_of_models(
    paths: Sequence[Path], dataset: str | Dataset | None, data: str | Path | None, cluster: str | None = None
) -> dict[str, StoredBaseline]:
    """Return the items that models answered, by dataset: those of `data`, or those that the first run asked.

    Args:
        paths: the models.
        dataset: the dataset of the answers; by default, those of the runs, or labels compared with gold labels.
        data: the items with their gold answers; by default, those of the runs.
        cluster: the field of the items' clusters; by default, that of the dataset.

    Raises:
        UsageError: there is neither a run nor `data`, or no run has answers to the dataset.
        InputError: the items cannot be read, or are not those that were asked.
        DataError: no dataset has gold answers.
    """
    declared = find_dataset(dataset) if isinstance(dataset, str) else dataset
    runs = [read_run(path) for path in paths if is_run(path)]
    if data is None and not runs:
        data = own_file(declared)
    if not runs and data is None:
        raise UsageError(
            f"without a baseline or a run, answers need {argument('data', 'FILE')}, and {argument('dataset', 'NAME')} "
            "for another metric than the share of right labels"
        )
    if not runs:
        declared, file = declared or undeclared(), Path(str(data))
        items = read_split(file, declared).items
        refuse_other_dataset(declared, items, shown(file))
        alone = items_without_people(items, declared, shown(file), cluster=cluster)
        return {dataset_key(alone): alone}
    found: dict[str, StoredBaseline] = {}
    failed: list[DataError] = []
    for run in runs:
        for name, record in run.record.datasets.items():
            if name in found or (declared and declared.name != name):
                continue
            source = source_of(record, None if data is None else Path(data))
            refuse_other_items(record, source.split.items, source.file)
            by_id = {str(item.id): item for item in source.split}
            asked = [by_id[one] for one in record.hashes]
            try:
                found[name] = items_without_people(asked, source.declared, shown(run.path), cluster=cluster)
            except DataError as error:
                failed.append(error)
    if not found:
        raise (
            failed[0]
            if failed
            else UsageError(f"no run has answers to {declared.name if declared else 'a dataset'}")
        )
    return found


def planned_margin(folder: Path) -> Margin | None:
    """Read the margin that was fixed before the data: the key `baseline.margin` of a frozen plan.

    Args:
        folder: the folder of a baseline.

    Returns:
        The margin with the date of the plan; `None` if the baseline has no frozen plan, or the plan has no margin.

    Raises:
        InputError: the record of the plan is damaged, or its margin is not a number between 0 and 1.
    """
    found = frozen_beside(folder)
    if found is None:
        return None
    place, frozen = found
    section = frozen.plan.get("baseline")
    value = section.get("margin") if isinstance(section, dict) else None
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise InputError(
            "must be a number between 0 and 1", file=place / FROZEN_FILE, field="plan.baseline.margin"
        )
    return Margin(float(value), frozen.date)


def chosen_margin(folder: Path | None, margin: float | None) -> Margin | None:
    """Return the margin of a comparison: the planned one, unless another one is given after the data.

    Args:
        folder: the folder of the baseline; `None` if it was not read from a folder.
        margin: the given margin; by default, the planned one.

    Raises:
        InputError: as for `planned_margin`.
    """
    planned = None if folder is None else planned_margin(folder)
    return planned if margin is None or (planned and planned.value == margin) else Margin(margin)


def people_of(
    baseline: Baseline | str | Path, data: str | Path | None, cluster: str | None = None
) -> StoredBaseline:
    """Return the annotators of a baseline, given by its result or its folder.

    Raises:
        UsageError: `data` is given with the result of a baseline.
    """
    if isinstance(baseline, str | Path):
        return read_stored_baseline(
            Path(baseline), data=None if data is None else Path(data), cluster=cluster
        )
    if data is not None:
        raise UsageError("is for the folder of a baseline: give gold to baseline", field=argument("data"))
    return stored_baseline_of(baseline.evidence, cluster=cluster)


def models_beside(
    people: StoredBaseline,
    models: Mapping[str, Answers] | Sequence[str | Path],
    *,
    force: bool = False,
    replies: bool = False,
) -> list[Samples]:
    """Read models' answers to the items of a baseline; the arguments are those of `compare`."""
    if isinstance(models, Mapping):
        return [_named_answers(name, answers, people, replies=replies) for name, answers in models.items()]
    key = dataset_key(people)
    return answers_by_dataset([*map(Path, models)], {key: people}, force=force, replies=replies)[key]


def answers_by_dataset(
    paths: Sequence[Path], crowds: Mapping[str, StoredBaseline], *, force: bool, replies: bool = False
) -> dict[str, list[Samples]]:
    """Read models' answers by dataset; a second one of the same name is called by its prompts or `name (2)`.

    Raises:
        DataError: a run has no dataset in common with the baselines.
    """
    found: dict[str, list[Samples]] = {key: [] for key in crowds}
    for path in paths:
        answers = answers_to(path, crowds, force=force, replies=replies)
        if not answers:
            held = listed([*read_run(path).record.datasets])
            raise DataError(
                f"the run has no dataset in common with the baselines: it has {held}, and the "
                f"baselines are of {listed([*crowds])}",
                file=shown(path),
            )
        for key, one in answers.items():
            held_names = {other.model for other in found[key]}
            name, at = one.model, 2
            if name in held_names and is_run(path) and key in (datasets := read_run(path).record.datasets):
                name = f"{name} (prompts: {datasets[key].prompts})"
            while name in held_names:
                name, at = f"{one.model} ({at})", at + 1
            found[key].append(replace(one, model=name))
    return found


def _named_answers(name: str, given: Answers, people: StoredBaseline, *, replies: bool) -> Samples:
    """Read the answers of a model that the caller names."""
    if isinstance(given, str | Path):
        (answers,) = answers_to(Path(given), {dataset_key(people): people}, replies=replies).values()
        return replace(answers, model=name)
    records: Iterable[AnswerRecord]
    if isinstance(given, Mapping):
        records = (
            AnswerRecord(row, str(item), answer if isinstance(answer, str) else list(answer))
            for row, (item, answer) in enumerate(given.items(), start=1)
        )
    elif is_frame(given):
        rows = records_of(polars_of(given))
        records = (answer_record({**one}, Path(name), row) for row, one in enumerate(rows, start=1))
    else:
        raise UsageError(
            f"the answers of '{name}' are no file, no table and no mapping", field=argument("models")
        )
    return samples_of(records, people, name, Path(name), replies=replies)


def compared(
    people: StoredBaseline,
    samples: Sequence[Samples],
    settings: ComparisonSettings,
    margin: Margin | None,
    *,
    first: str | None = None,
) -> Comparison:
    """Compare the annotators of a baseline with models whose answers have been read.

    Args:
        people: the annotators.
        samples: the models' answers.
        settings: how they are compared.
        margin: the margin for equivalence.
        first: the model with which the others are compared; by default, the first one.

    Raises:
        UsageError: the metric does not fit the answers.
        DataError: the items differ and `force` is not given, or the study is too small for a test of equivalence.
    """
    metric = settings.metric
    parts = by_criterion(people, samples)
    if metric in parts:
        people, samples = parts[metric]
        metric = None
    tests = compare_models(
        people,
        samples,
        first=first,
        metric=metric,
        force=settings.force,
        margin=margin,
        seed=settings.seed,
    )
    scored = (
        people if metric is None else replace(people, declaration=with_metric(people.declaration, metric))
    )
    beside = {test.first.beside for test in tests if test.first and not people.annotators}
    rival = next((one for one in samples if one.model in beside), None)
    models = (
        ComparedModel(
            one,
            test,
            opposite_outcomes(scored, one, rival) if people.annotators or test.first else None,
            model_spent(one, dataset_key(people)),
        )
        for one, test in zip(samples, tests, strict=True)
    )
    return Comparison(people, metric or people.metric_name, settings, tuple(models), margin)


def comparison_warnings(results: Mapping[str, Comparison], *, every: bool = True) -> list[Text]:
    """Return what limits comparisons, each sentence once, with the models and datasets that it is about.

    Args:
        results: mapping from dataset to its comparison.
        every: whether sentences of one kind that differ in their numbers all stand; otherwise the first one stands
            for them with a count, and reasons that always hold for single answers are left out.
    """
    about: dict[str, dict[Text, list[tuple[str, str]]]] = {}
    for key, result in results.items():
        for name, comparison in result.comparisons.items():
            for kind, sentence in _limits(comparison):
                if every or kind != "missing" or comparison.samples[1] > 1:
                    of_kind = about.setdefault(sentence.en if every else kind, {})
                    of_kind.setdefault(sentence, []).append((key, name))
    told = []
    for of_kind in about.values():
        (sentence, pairs), *others = of_kind.items()
        datasets, models = (list(dict.fromkeys(part)) for part in zip(*pairs, strict=True))
        who = models[0] if len(models) == 1 else Text("{n:# model|# models}", n=len(models))
        where = Text("{datasets}, ", datasets=datasets) if len(datasets) < len(results) else ""
        text = Text("{where}{who}: {sentence}", where=where, who=who, sentence=sentence)
        if others:
            text = Text(
                "{text} (and {n} more like this)",
                text=text,
                n=sum(map(len, dict(others).values())),
            )
        told.append(text)
    return told


def baseline_warnings(crowd: StoredBaseline) -> list[Text]:
    """Return the warnings about the baseline with which models are compared."""
    found = []
    if crowd.status == "rejected":
        reasons = "; ".join(crowd.reasons) or Text("its summary gives no reason")
        found.append(
            Text(
                "{folder} is rejected, so a comparison with it is not valid: {reasons}",
                folder=crowd.folder,
                reasons=reasons,
            )
        )
    if crowd.sampled and crowd.sampled[0] < crowd.sampled[1]:
        found.append(
            Text(
                "the comparison is on a sample, {sampled} of {n:# item|# items} of the dataset: its scores and "
                "differences are not weighted to the whole dataset",
                sampled=crowd.sampled[0],
                n=crowd.sampled[1],
            )
        )
    return found


def sentences(comparison: ModelComparison) -> list[Text]:
    """Return the warnings about a comparison, and how a log of another harness was read."""
    return [sentence for _, sentence in _limits(comparison)]


def reading_faults(comparison: ModelComparison) -> list[str]:
    """Return what was wrong with a model's answers as they were read, a sentence each."""
    faults = [*comparison.log.faults()] if comparison.log else []
    return [*faults, comparison.no_labels.sentence.en] if comparison.no_labels else faults


def _limits(comparison: ModelComparison) -> Iterator[tuple[str, Text]]:
    """Yield the warnings about a comparison, each with its kind."""
    counted_out = (
        (
            Text("{n:# item|# items} of the baseline without an answer of {model}: left out"),
            len(comparison.people_only),
        ),
        (Text("{n:# answer|# answers} of {model} to other items: left out"), len(comparison.model_only)),
        (
            Text(
                "{n:# item|# items} without a consensus of the people: left out of the comparison with the consensus"
            ),
            comparison.undecided,
        ),
    )
    for one in comparison.log.sentences() if comparison.log else ():
        yield str(one), joined([one])
    if comparison.no_labels:
        yield "no labels", comparison.no_labels.sentence
    for text, n in counted_out:
        if n:
            yield text.english, Text(text.english, n=n, model=comparison.model)
    for kind, why in comparison.missing.items():
        yield (
            "missing",
            Text(
                "{people} and {model} are not compared: {why}",
                people=KINDS[kind][0],
                model=KINDS[kind][1],
                why=why,
            ),
        )
    if any(match.kind == "consensus" and not match.like for match in comparison.matches):
        yield (
            "unlike",
            Text(
                "the first comparison sets a consensus of several people beside single answers of the "
                "model, which favours the people"
            ),
        )


def _model_json(one: ComparedModel) -> dict[str, Json]:
    comparison, opposites = one.tests, one.opposites
    content: dict[str, Json] = {
        "model": comparison.model,
        "n": comparison.n,
        "score": {
            "value": rounded(comparison.score.value),
            "n": comparison.score.n,
            "ci95": interval_json(comparison.score.interval),
            "interval": comparison.score.interval.method if comparison.score.interval else None,
        },
        "per_item": one.spent.to_json() if one.spent else None,
        "samples": {"fewest": comparison.samples[0], "most": comparison.samples[1]},
        "left_out": {
            "without_consensus": comparison.undecided,
            "without_answer_of_the_model": [*comparison.people_only],
            "not_in_the_baseline": [*comparison.model_only],
        },
        "comparisons": {match.kind: _match_json(match, comparison.model) for match in comparison.matches},
        "beside_first_model": _first_json(comparison.first, comparison.model) if comparison.first else None,
        "not_compared": {str(kind): why for kind, why in comparison.missing.items()},
        "log": comparison.log.to_json() if comparison.log else None,
        "warnings": [one.en for one in sentences(comparison)],
    }
    if opposites:
        content["opposite_outcomes"] = {
            "n": opposites.n,
            "only_first_model" if opposites.beside else "only_people": [*opposites.only_people],
            "only_model": [*opposites.only_model],
            "field": opposites.group_field,
            "groups": {
                group: {
                    "n": count.items,
                    "only_first_model" if opposites.beside else "only_people": count.only_people,
                    "only_model": count.only_model,
                }
                for group, count in opposites.groups.items()
            },
        }
    return content


#: Names of a comparison of two models in place of those that are about people.
_OF_MODELS: Final = {
    "people": "first_model",
    "ci95_items_and_annotators": "ci95",
    "interval_items_and_annotators": "interval",
    "p_for_these_annotators": "p_exact",
    "test_for_these_annotators": "test_exact",
}
_ABOUT_PEOPLE: Final = frozenset({"like_beside_like", "ci95", "interval", "design_effect"})


def _first_json(match: Match, model: str) -> dict[str, Json]:
    """Return the comparison with the first model: as one with people, without what is about annotators."""
    found = {
        _OF_MODELS.get(name, name): value
        for name, value in _match_json(match, model).items()
        if name not in _ABOUT_PEOPLE
    }
    if match.crossed is None:
        found |= {"ci95": interval_json(match.interval), "interval": match.interval.method}
        found |= {"test": match.difference.test.method}
    if found["verdict"] == "human_level":
        found["verdict"] = "equivalent"
    return {"model_name": match.beside, **found}


def _match_json(match: Match, model: str) -> dict[str, Json]:
    difference, crossed = match.difference, match.crossed
    return {
        "people": rounded(difference.first),
        "model": rounded(difference.second),
        "n": difference.n,
        "clusters": crossed.clusters if crossed else None,
        "like_beside_like": match.like,
        "difference": rounded(difference.value),
        "ci95": interval_json(difference.interval),
        "interval": difference.interval.method,
        "ci95_items_and_annotators": interval_json(match.both),
        "interval_items_and_annotators": match.both.method if match.both else None,
        "design_effect": rounded(crossed.design_effect) if crossed else None,
        "cluster_design_effect": rounded(crossed.cluster_effect) if crossed else None,
        "p": rounded(match.p, 9),
        "p_holm": rounded(match.corrected, 9),
        "test": crossed.method if crossed else f"{difference.test.method}, for these annotators",
        "p_for_these_annotators": rounded(difference.test.p, 9),
        "test_for_these_annotators": difference.test.method,
        "model_better": difference.better,
        "model_worse": difference.worse,
        "detectable_difference": None if match.detectable is None else rounded(match.detectable),
        **_verdict_json(match, model),
    }


def _verdict_json(match: Match, model: str) -> dict[str, Json]:
    """Return the verdict of a comparison, and its tests of equivalence if there is a margin."""
    verdict, crossed = match.verdict, match.crossed
    if verdict is None:
        return {
            "verdict": None, "significant": None, "verdict_sentence": None, "equivalence": None,
        }  # fmt: skip
    equivalence: dict[str, Json] | None = None
    if crossed and verdict.margin:
        margin, needed = verdict.margin, verdict.needed
        equivalence = {
            "margin": margin.value,
            "margin_given": "after_the_data" if margin.planned is None else "in_the_frozen_plan",
            "plan_frozen": margin.planned,
            "ci90_items_and_annotators" if crossed.annotators else "ci90": interval_json(
                crossed.interval(0.9)
            ),
            "p_equivalent": rounded(crossed.p_within(margin.value), 9),
            "p_equivalent_holm": rounded(verdict.p_equivalent or 0.0, 9),
            "p_not_worse": rounded(crossed.p_above(-margin.value), 9),
            "p_not_worse_holm": rounded(verdict.p_not_worse or 0.0, 9),
            "items_needed": needed.items if needed else None,
            "annotators_needed": needed.annotators if needed else None,
        }
    sentence = verdict_sentence(match, model)
    return {
        "verdict": verdict.outcome,
        "significant": verdict.significant,
        "verdict_sentence": {"en": sentence.en, "ru": sentence.ru},
        "equivalence": equivalence,
    }
