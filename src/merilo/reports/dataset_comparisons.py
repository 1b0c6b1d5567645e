"""`merilo.compare_datasets`: people and models on several datasets, in one table and on one page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from merilo.baselines.baseline import read_record
from merilo.baselines.baseline_reader import StoredBaseline, read_stored_baseline
from merilo.baselines.model_answers import Samples, by_criterion, by_dataset, dataset_key
from merilo.baselines.model_comparison import compare as compare_models
from merilo.baselines.model_comparison import verdict_sentence
from merilo.baselines.model_verdicts import Margin, verdicts
from merilo.baselines.opposite_outcomes import Side
from merilo.datasets import dataset, names
from merilo.errors import DataError, InputError, MeriloError, UsageError, argument, for_command_line
from merilo.estimate import Estimate
from merilo.models.run_folder import RunFolder, is_run, read_run
from merilo.reports.chart_files import FORMS, chart_file, with_title
from merilo.reports.charts import MODEL_COLOURS, Chart, page_environment
from merilo.reports.comparison import (
    ONE_MODEL,
    ComparedModel,
    Comparison,
    answers_by_dataset,
    chosen_margin,
    compared,
    comparison_warnings,
    items_of_models,
    people_spent,
)
from merilo.reports.comparison_table import (
    THIS_BASELINE,
    ComparisonTable,
    ModelCell,
    PeopleValue,
    TableColumn,
    grid,
    heads,
    main_metrics,
    notes,
    published_value,
)
from merilo.reports.forest import forest_chart
from merilo.runs.run_scores import scored_dataset, source_of
from merilo.settings import ComparisonSettings
from merilo.strict_json import Json
from merilo.text import Language, Text
from merilo.wording import listed, shortened, shown


@dataclass(frozen=True, slots=True)
class Skipped:
    """A model that is not compared with people on a dataset.

    Attributes:
        dataset: the dataset.
        model: the model.
        reason: why it is not compared.
    """

    dataset: str
    model: str
    reason: Text


@dataclass(frozen=True, slots=True)
class DatasetComparisons:
    """The comparisons of people with models on several datasets.

    Attributes:
        results: mapping from dataset to the comparison on it; datasets without a model are left out.
        table: people and models over all datasets.
        skipped: the models that are not compared on a dataset.
        settings: how people are compared with models.
    """

    results: Mapping[str, Comparison]
    table: ComparisonTable
    skipped: tuple[Skipped, ...]
    settings: ComparisonSettings

    def __repr__(self) -> str:
        lines = [f"{name}:\n{result!r}" for name, result in self.results.items()]
        skipped = (f"not compared: {one.dataset}, {one.model}: {one.reason.en}" for one in self.skipped)
        return "\n".join([*lines, *skipped])

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what limits the comparisons, a sentence each."""
        return tuple(one.en for one in self.limits())

    def limits(self, *, every: bool = True) -> list[Text]:
        """Return what limits the comparisons; without `every`, sentences of one kind once, with a count."""
        skipped: dict[tuple[str, str], list[Skipped]] = {}
        for one in self.skipped:
            skipped.setdefault((one.reason.en, f"{one.dataset} {one.model}" if every else ""), []).append(one)
        return [
            *comparison_warnings(self.results, every=every),
            *(
                Text(
                    "not compared: {pairs}: {reason}",
                    pairs=listed([f"{one.dataset}, {one.model}" for one in group], 3),
                    reason=group[0].reason,
                )
                for group in skipped.values()
            ),
        ]

    def forest(self) -> Chart | None:
        """Return the forest plot: the differences from people, or from the first model, by dataset."""
        if not any(one.tests.marked for result in self.results.values() for one in result.models):
            return None
        return forest_chart(self.results, {one.key: one.title for one in self.table.columns})

    def chart(self, suffix: str, language: Language) -> bytes:
        """Return the forest plot as the content of a file that ends in `.svg`, `.pdf` or `.png`.

        Raises:
            DataError: no comparison could be made.
            MissingPartError: PDF and PNG need Matplotlib.
        """
        drawn = self.forest()
        if drawn is None:
            raise DataError("nothing was compared, so there is nothing to draw")
        form = next(one for one in FORMS if suffix == f".{one}")
        return chart_file(*with_title(drawn, drawn.title), language, form)

    def item_rows(self) -> list[dict[str, Json]]:
        """Return a row for each item on which one side is right and the other wrong."""
        return [row for key, one in self.results.items() for row in one.item_rows(key)]

    def to_dict(self) -> dict[str, Json]:
        """Return the comparisons as JSON."""
        return {
            "datasets": {key: one.to_dict() for key, one in self.results.items()},
            "table": self.table.to_dict(),
            "total": self.table.totals(),
            "not_compared": [
                {"dataset": one.dataset, "model": one.model, "reason": one.reason.en} for one in self.skipped
            ],
            "forced": self.settings.force,
            "seed": self.settings.seed,
        }


def compare_datasets(
    baselines: Sequence[str | Path],
    models: Sequence[str | Path],
    *,
    dataset: str | None = None,
    data: str | Path | None = None,
    settings: ComparisonSettings | None = None,
    **chosen: object,
) -> DatasetComparisons:
    """Compare people with models on every dataset that both have, and the other models with the first one.

    Args:
        baselines: folders of baselines, at most one of each dataset; without any, models alone are compared.
        models: runs, logs, files of answers, or folders of these.
        dataset: as for `compare`, without a baseline.
        data: as for `compare`, if there is at most one baseline.
        settings: as for `compare`; the metric and the cluster must fit every dataset.
        chosen: single settings by name, as for `compare`.

    Raises:
        UsageError: two baselines are of the same dataset, no model is given, a file could belong to several
            baselines, or the metric or a field does not fit a dataset.
        InputError: answers cannot be read, or a run asked other items than a baseline has.
        DataError: a model has no dataset in common with the baselines, the items differ and `force` is not
            given, or a study is too small for the margin.
    """
    if not models:
        raise UsageError("give a model too: a run, a file of answers or a log")
    if not baselines and len(models) < 2:
        raise UsageError(ONE_MODEL)
    if data is not None and len(baselines) > 1:
        raise UsageError("is for a single baseline: make the baselines with gold", field=argument("data"))
    settings = ComparisonSettings.of(chosen, settings)
    given = [Path(one) for one in models]
    if baselines:
        items = None if data is None else Path(data)
        crowds = by_dataset(
            [read_stored_baseline(Path(one), data=items, cluster=settings.cluster) for one in baselines]
        )
    else:
        crowds = items_of_models(given, dataset, data, settings.cluster)
    samples = answers_by_dataset(given, crowds, force=settings.force, replies=settings.replies)
    whole = frozenset(crowds)
    if settings.metric is None:
        crowds, samples = _by_correlation(crowds, samples)
    first = next(
        one.model for held in samples.values() for one in held if Path(one.file).is_relative_to(given[0])
    )
    if not baselines and not any(len(held) > 1 for held in samples.values()):
        raise DataError("nothing to compare: no dataset has answers of two models")
    results = {
        key: compared(crowds[key], held, settings, _margin(crowds[key], settings.margin), first=first)
        for key, held in samples.items()
        if held
    }
    results = corrected_together(results)
    runs = [read_run(path) for path in given if is_run(path) and settings.metric is None]
    table, skipped = _table(crowds, results, settings)
    return _with_runs(DatasetComparisons(results, table, skipped, settings), runs, whole)


def _margin(crowd: StoredBaseline, margin: float | None) -> Margin | None:
    return chosen_margin(Path(crowd.folder) if crowd.annotators else None, margin)


def corrected_together(results: Mapping[str, Comparison]) -> dict[str, Comparison]:
    """Correct the p-values of all comparisons on several datasets by one method of Holm, and tell the verdicts.

    The family has all models, datasets and kinds of comparison with people: every verdict of the table. Comparisons
    with the first model are a family of their own. On one dataset each kind of comparison keeps its own correction
    over the models.
    """
    if len(results) < 2:
        return {**results}
    told = [compared for one in results.values() for compared in one.told()]
    judged = iter(verdicts(told))
    family = len(told)
    of_models = {
        (key, at): match for key, one in results.items() for at, match in enumerate(one.firsts()) if match
    }
    beside = verdicts([match.compared(results[key].margin, 0) for (key, _), match in of_models.items()])
    firsts = {
        place: replace(match, corrected=p, verdict=verdict)
        for (place, match), (p, verdict) in zip(of_models.items(), beside, strict=True)
    }
    made: dict[str, Comparison] = {}
    for key, result in results.items():
        one = result.with_firsts([firsts.get((key, at)) for at in range(len(result.models))], len(firsts))
        pairs = [(match, *next(judged)) for match in one.matches()]
        matches = (replace(match, corrected=p, verdict=verdict) for match, p, verdict in pairs)
        made[key] = replace(one.with_matches(matches), family=family)
    return made


def on_one_dataset(result: Comparison) -> DatasetComparisons:
    """Return a comparison on one dataset with its table; it has no total."""
    key = dataset_key(result.baseline)
    table, skipped = _table({key: result.baseline}, {key: result}, result.settings)
    return DatasetComparisons({key: result}, replace(table, with_total=False), skipped, result.settings)


def _by_correlation(
    crowds: Mapping[str, StoredBaseline], samples: Mapping[str, list[Samples]]
) -> tuple[dict[str, StoredBaseline], dict[str, list[Samples]]]:
    """Give each correlation of a dataset with criteria its own place, named after the dataset and the correlation."""
    people: dict[str, StoredBaseline] = {}
    models: dict[str, list[Samples]] = {}
    for key, crowd in crowds.items():
        for name, (part, own) in (by_criterion(crowd, samples[key]) or {"": (crowd, samples[key])}).items():
            people[f"{key} {name}".strip()], models[f"{key} {name}".strip()] = part, own
    return people, models


def _table(
    crowds: Mapping[str, StoredBaseline], results: Mapping[str, Comparison], settings: ComparisonSettings
) -> tuple[ComparisonTable, tuple[Skipped, ...]]:
    """Return people and models on the datasets of the baselines, and the models without answers to one of them."""
    columns: list[TableColumn] = []
    order = dict.fromkeys(name for result in results.values() for name in result.comparisons)
    models: dict[str, dict[str, ModelCell]] = {name: {} for name in order}
    for key, crowd in crowds.items():
        result = results.get(key)
        main = _main_values(key, result) if result else {}
        columns.append(_column(key, crowd, result))
        for model in result.models if result else ():
            one = model.tests
            models[one.model][key] = ModelCell(
                one.score.value,
                one.score.n,
                one,
                one.samples,
                _committee(crowd),
                main.get(one.model, {}),
                interval=one.score.interval,
                spent=model.spent,
            )
    skipped = [
        Skipped(key, name, Text("it has no answers to this dataset"))
        for key in crowds
        for name in models
        if key not in models[name]
    ]
    families = [
        max((getattr(one, name) for one in results.values()), default=0) for name in ("family", "pairs")
    ]
    return ComparisonTable(tuple(columns), models, settings.metric is None, *families), tuple(skipped)


def _with_runs(
    found: DatasetComparisons, runs: Sequence[RunFolder], whole: frozenset[str]
) -> DatasetComparisons:
    """Add the datasets of runs that have no baseline: the published values of people, and the runs' scores."""
    columns = {one.key: one for one in found.table.columns}
    models = {name: {**cells} for name, cells in found.table.models.items()}
    skipped = [*found.skipped]
    for run in runs:
        for key in run.record.datasets:
            if key in whole:
                continue
            columns.setdefault(key, _published_column(key))
            cell = _scored(run, key, found.settings.seed)
            name = run.model
            if key in models.get(name, {}):
                name = f"{name} (prompts: {run.record.datasets[key].prompts})"
            models.setdefault(name, {}).setdefault(key, cell)
            why = Text("there is no baseline of this dataset")
            if cell.reason:
                why = Text(
                    "there is no baseline of this dataset, and no score ({reason})", reason=cell.reason
                )
            skipped.append(Skipped(key, run.model, why))
    table = replace(found.table, columns=tuple(columns.values()), models=models)
    return replace(found, table=table, skipped=tuple(skipped))


def _committee(crowd: StoredBaseline) -> tuple[int, int]:
    """Return the smallest and the largest number of annotators of an item."""
    overlap = np.bincount(crowd.votes.item)
    return (int(overlap[overlap > 0].min()), int(overlap.max())) if overlap.size else (0, 0)


def _column(key: str, crowd: StoredBaseline, result: Comparison | None) -> TableColumn:
    name = crowd.declaration.name
    metric = result.metric if result else crowd.metric_name
    if not crowd.annotators:
        return replace(_published_column(key), metric=metric, people=published_value(key, metric))
    record = read_record(Path(crowd.folder))
    own = record.metrics.get(metric, Estimate())
    matches = result.models[0].tests.matches if result else ()
    single = next((one.difference for one in matches if one.kind == "single"), None)
    spent = people_spent(crowd)
    value: PeopleValue | None = None
    if own.value is not None or matches:
        value = PeopleValue(
            matches[0].difference.first if own.value is None else own.value,
            matches[0].difference.n if own.value is None else own.n,
            THIS_BASELINE,
            shown(crowd.folder),
            own.ci95,
            (single.first, single.n) if single else None,
            crowd.status == "rejected",
            record.simulated,
            over_annotators=own.people is not None or own.value is None,
            spent=spent[0] if spent else None,
            spent_each=spent[1] if spent else None,
        )
    title = dataset(name).title if name in names() else key
    in_total = key in names() and dataset(key).in_total
    wanted = main_metrics(key)
    main = {name: one.value for name in wanted if (one := record.metrics.get(name)) and one.value is not None}
    return TableColumn(key, title, metric, in_total, value, main if len(main) == len(wanted) else {})


def _main_values(key: str, result: Comparison) -> dict[str, dict[str, float]]:
    """Return every model's main metrics of the catalogue.

    Empty if one cannot be computed or another metric is asked for.
    """
    models: dict[str, dict[str, float]] = {}
    settings, samples = result.settings, [one.samples for one in result.models]
    for wanted in main_metrics(key) if settings.metric is None else ():
        tests = [one.tests for one in result.models]
        if wanted != result.metric:
            try:
                tests = compare_models(
                    result.baseline, samples, metric=wanted, force=settings.force, seed=settings.seed
                )
            except MeriloError:
                return {}
        for one in tests:
            models.setdefault(one.model, {})[wanted] = one.score.value
    return models


def _published_column(key: str) -> TableColumn:
    known = key in names()
    wanted = main_metrics(key)
    people = {name: value for name in wanted if (value := published_value(key, name)) is not None}
    main = {name: one.value for name, one in people.items()} if len(people) == len(wanted) else {}
    return TableColumn(
        key,
        dataset(key).title if known else key,
        wanted[0] if wanted else "",
        known and dataset(key).in_total,
        people.get(wanted[0]) if wanted else None,
        main,
    )


def _scored(folder: RunFolder, key: str, seed: int) -> ModelCell:
    """Score a run's answers to a dataset that has no baseline."""
    try:
        found = scored_dataset(folder, key, source_of(folder.record.datasets[key]), seed=seed)
    except (InputError, DataError, UsageError) as error:
        return ModelCell(None, None, reason=error.message)
    wanted = main_metrics(key)
    scores = found.metrics
    first = scores.get(wanted[0]) if wanted else next(iter(scores.values()), None)
    if first is None:
        return ModelCell(None, None, reason=found.reason or "the main metric cannot be computed")
    main = {name: scores[name].value for name in wanted if name in scores}
    samples = found.record.samples
    items = len(found.record.hashes)
    return ModelCell(
        first.value,
        items,
        None,
        (samples, samples),
        main=main if len(main) == len(wanted) else {},
        interval=first.interval,
    )


#: The most items that the page lists of each model, dataset and side; the file of `--items` lists all.
MOST_ITEMS_LISTED: Final = 50

_LONGEST_TEXT: Final = 300


def comparison_page(found: DatasetComparisons) -> str:
    """Render the page in English and Russian, without scripts and links to anything outside itself."""
    table = found.table
    titles = {one.key: one.title for one in table.columns}
    rendered = (
        page_environment()
        .get_template("comparison.html.j2")
        .render(
            heads=heads(table),
            rows=grid(table),
            notes=notes(table),
            forest=found.forest(),
            colours=MODEL_COLOURS,
            spent=[
                (
                    model
                    or (Text("people, consensus") if side == "consensus" else Text("people, single person")),
                    one,
                )
                for (model, side), one in table.spent().items()
            ],
            results=[(key, titles[key], one) for key, one in found.results.items()],
            verdict_sentence=verdict_sentence,
            listed=_listed,
            skipped=found.skipped,
            most=MOST_ITEMS_LISTED,
        )
    )
    return for_command_line(rendered)


def _listed(result: Comparison, model: ComparedModel, side: Side) -> list[dict[str, str]]:
    """Return the first items on which only this side is right."""
    opposites, crowd = model.opposites, result.baseline
    if opposites is None:
        return []
    names = opposites.only_people if side == "people" else opposites.only_model
    place = {name: row for row, name in enumerate(crowd.names)}
    found = []
    for name in names[:MOST_ITEMS_LISTED]:
        inputs = crowd.items[row := place[name]].inputs
        text = " │ ".join(map(str, inputs.values())) if isinstance(inputs, Mapping) else inputs
        found.append(
            {
                "name": name,
                "group": opposites.group_of.get(name, ""),
                "text": shortened(text, _LONGEST_TEXT),
                "consensus": shortened(crowd.consensus[row] or ""),
                "gold": shortened(crowd.gold[row]),
                "answers": shortened(" | ".join(model.samples.answers[name]), 120),
            }
        )
    return found
