"""Compare people with models on several datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np

from merilo.api.comparison import ComparisonResult, compared
from merilo.baselines.baseline_reader import StoredBaseline, read_stored_baseline
from merilo.baselines.model_answers import Samples, answers_to, by_criterion, by_dataset
from merilo.baselines.model_comparison import compare as compare_models
from merilo.bilingual import BilingualText
from merilo.datasets import dataset, names
from merilo.errors import DataError, InputError, MeriloError, UsageError, argument
from merilo.models.run_folder import RunFolder, is_run, read_run
from merilo.people.uncertainty.annotator_accuracy import MIN_ANSWERS
from merilo.reports.comparison_page import ComparedDataset
from merilo.reports.comparison_table import (
    THIS_BASELINE,
    ComparisonTable,
    ModelCell,
    PeopleValue,
    TableColumn,
    main_metrics,
    published_value,
)
from merilo.reports.human_table import OwnStudy, read_study
from merilo.reports.opposite_items import opposite_rows
from merilo.reports.planned_margin import chosen_margin
from merilo.runs.run_scores import scored_dataset
from merilo.runs.run_sources import source_of
from merilo.strict_json import Json
from merilo.wording import listed, shown

#: Dataset, model, and why they are not compared.
Skipped: TypeAlias = tuple[str, str, BilingualText]

_NO_ANSWERS: Final = BilingualText("it has no answers to this dataset", "нет ответов на этот датасет")


@dataclass(frozen=True, slots=True)
class DatasetComparisons:
    """The comparisons of people with models on several datasets.

    Attributes:
        results: mapping from dataset to the comparison on it; datasets without a model are left out.
        table: people and models over all datasets.
        skipped: dataset, model and the reason why they are not compared.
        seed: random seed for all random draws.
        force: whether items that one side did not answer were left out.
    """

    results: Mapping[str, ComparisonResult]
    table: ComparisonTable
    skipped: tuple[Skipped, ...]
    seed: int
    force: bool

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return the warnings for the reader of the comparisons."""
        told = [f"{key}: {sentence}" for key, one in self.results.items() for sentence in one.warnings]
        return (*told, *(f"{key}: {model} is not compared: {why.en}" for key, model, why in self.skipped))

    def item_rows(self) -> list[dict[str, Json]]:
        """Return a row for each item on which one side is right and the other wrong."""
        return [
            row
            for key, one in self.results.items()
            for row in opposite_rows(key, one.baseline, one.samples, one.opposites)
        ]

    def page_parts(self) -> list[ComparedDataset]:
        """Return what the page shows about each dataset."""
        titles = {one.key: one.title for one in self.table.columns}
        return [
            ComparedDataset(key, titles[key], one.metric, one.baseline, one.found, one.samples, one.opposites)
            for key, one in self.results.items()
        ]

    def to_dict(self) -> dict[str, Json]:
        """Return the comparisons as JSON."""
        return {
            "datasets": {key: one.to_dict() for key, one in self.results.items()},
            "table": self.table.to_dict(),
            "total": self.table.totals(),
            "not_compared": [
                {"dataset": key, "model": model, "reason": why.en} for key, model, why in self.skipped
            ],
            "forced": self.force,
            "seed": self.seed,
        }


def compare_datasets(
    baselines: Sequence[str | Path],
    models: Sequence[str | Path],
    *,
    data: str | Path | None = None,
    metric: str | None = None,
    margin: float | None = None,
    force: bool = False,
    min_answers: int = MIN_ANSWERS,
    by: str | Sequence[str] = (),
    cluster: str | None = None,
    seed: int = 0,
) -> DatasetComparisons:
    """Compare people with models on every dataset that both have.

    Args:
        baselines: folders of baselines, at most one of each dataset.
        models: runs, logs, files of answers, or folders of these.
        data: as for `compare`, if there is one baseline.
        metric: a metric that fits the answers of every dataset; by default, each baseline's main metric.
        margin: the largest difference that counts as none; by default, that of each study's frozen plan.
        force: if the items differ, compare on the items that both answered.
        min_answers: as for `compare`.
        by: as for `compare`.
        cluster: as for `compare`.
        seed: random seed for permutations and bootstrap resamples.

    Raises:
        UsageError: two baselines are of the same dataset, no model is given, a file could belong to several baselines, or the
            metric or a field does not fit a dataset.
        InputError: answers cannot be read, or a run asked other items than a baseline has.
        DataError: a model has no dataset in common with the baselines, the items differ and `force` is not given, or a study is too
            small for the margin.
    """
    if not baselines or not models:
        raise UsageError("takes at least one baseline and one model")
    if data is not None and len(baselines) > 1:
        raise UsageError("is for a single baseline: make the baselines with gold", field=argument("data"))
    items = None if data is None else Path(data)
    crowds = by_dataset([read_stored_baseline(Path(one), data=items, cluster=cluster) for one in baselines])
    given = [Path(one) for one in models]
    read = [answers_to(path, crowds, force=force) for path in given]
    for path, found in zip(given, read, strict=True):
        if not found:
            raise _nothing_common(path, crowds)
    samples = _by_dataset(read, crowds)
    whole = frozenset(crowds)
    if metric is None:
        crowds, samples = _by_correlation(crowds, samples)
    fields = [by] if isinstance(by, str) else [*by]
    results: dict[str, ComparisonResult] = {}
    for key, held in samples.items():
        if not held:
            continue
        results[key] = compared(
            crowds[key],
            held,
            metric=metric,
            margin=chosen_margin(Path(crowds[key].folder), margin),
            force=force,
            min_answers=min_answers,
            by=fields,
            seed=seed,
        )
    table, skipped = _table(crowds, results, given, whole, metric=metric, force=force, seed=seed)
    return DatasetComparisons(results, table, skipped, seed, force)


def _nothing_common(path: Path, crowds: Mapping[str, StoredBaseline]) -> DataError:
    held = listed([*read_run(path).record.datasets])
    return DataError(
        f"the run has no dataset in common with the baselines: it has {held}, and the baselines are of {listed([*crowds])}",
        file=shown(path),
    )


def _by_dataset(
    read: Sequence[Mapping[str, Samples]], crowds: Mapping[str, StoredBaseline]
) -> dict[str, list[Samples]]:
    """Return the answers by dataset; a second model of the same name on a dataset is called `name (2)`."""
    found: dict[str, list[Samples]] = {key: [] for key in crowds}
    for answers in read:
        for key, one in answers.items():
            held = {other.model for other in found[key]}
            name, at = one.model, 2
            while name in held:
                name, at = f"{one.model} ({at})", at + 1
            found[key].append(replace(one, model=name))
    return found


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
    crowds: Mapping[str, StoredBaseline],
    results: Mapping[str, ComparisonResult],
    given: Sequence[Path],
    whole: frozenset[str],
    *,
    metric: str | None,
    force: bool,
    seed: int,
) -> tuple[ComparisonTable, tuple[Skipped, ...]]:
    columns: dict[str, TableColumn] = {}
    order = dict.fromkeys(one.model for result in results.values() for one in result.found)
    models: dict[str, dict[str, ModelCell]] = {name: {} for name in order}
    skipped: list[Skipped] = []
    for key, crowd in crowds.items():
        result = results.get(key)
        cells, people = _main_values(key, result, metric=metric, force=force, seed=seed)
        columns[key] = _column(key, crowd, result, people, metric)
        for one in result.found if result else ():
            match = one.matches[0]
            models[one.model][key] = ModelCell(
                match.difference.second,
                match.difference.n,
                one,
                one.samples,
                _committee(crowd),
                cells.get(one.model, {}),
            )
        skipped += [(key, name, _NO_ANSWERS) for name in models if key not in models[name]]
    for path in given:
        if not is_run(path) or metric is not None:
            continue
        folder = read_run(path)
        for key in folder.record.datasets:
            if key in whole:
                continue
            columns.setdefault(key, _published_column(key))
            cell = _scored(folder, key, seed)
            models.setdefault(folder.model, {}).setdefault(key, cell)
            skipped.append((key, folder.model, _no_baseline(cell.reason)))
    return ComparisonTable(tuple(columns.values()), models, metric is None), tuple(skipped)


def _no_baseline(reason: str) -> BilingualText:
    """Say why a dataset of a run is not compared; `reason` is why it has no score either."""
    if not reason:
        return BilingualText(
            "there is no baseline of this dataset", "нет исследования с людьми на этом датасете"
        )
    return BilingualText(
        f"there is no baseline of this dataset, and no score ({reason})",
        f"нет исследования с людьми на этом датасете и нет оценки ответов модели ({reason})",
    )


def _committee(crowd: StoredBaseline) -> tuple[int, int]:
    """Return the smallest and the largest number of annotators of an item."""
    overlap = np.bincount(crowd.votes.item)
    return int(overlap[overlap > 0].min()), int(overlap.max())


def _column(
    key: str,
    crowd: StoredBaseline,
    result: ComparisonResult | None,
    people: Mapping[str, float],
    metric: str | None,
) -> TableColumn:
    shown_metric = metric or crowd.metric_name
    study = read_study(Path(crowd.folder))
    own = study.figures.get(shown_metric)
    match = result.found[0].matches[0] if result else None
    single = next((one for one in result.found[0].matches if one.kind == "single"), None) if result else None
    value: PeopleValue | None = None
    if own is not None or match is not None:
        value = PeopleValue(
            own.value if own else match.difference.first if match else 0.0,
            own.n if own else match.difference.n if match else None,
            THIS_BASELINE,
            shown(crowd.folder),
            own.low if own else None,
            own.high if own else None,
            (single.difference.first, single.difference.n) if single else None,
            crowd.status == "rejected",
            study.simulated,
            over_annotators=own.over_annotators if own else True,
        )
    name = crowd.declaration.name
    title = dataset(name).title if name in names() else key
    in_total = key in names() and dataset(key).in_total
    return TableColumn(key, title, shown_metric, in_total, value, people or _own_main(key, study))


def _own_main(key: str, study: OwnStudy) -> dict[str, float]:
    """Return people's main metrics as the baseline gives them; empty if one is missing."""
    wanted = main_metrics(key)
    known = {name: study.figures[name].value for name in wanted if name in study.figures}
    return known if len(known) == len(wanted) else {}


def _main_values(
    key: str, result: ComparisonResult | None, *, metric: str | None, force: bool, seed: int
) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """Return every model's and people's main metrics of the catalogue, on the same items."""
    models: dict[str, dict[str, float]] = {}
    if result is None or metric is not None:
        return models, {}
    for wanted in main_metrics(key):
        try:
            found = (
                list(result.found)
                if wanted == result.metric
                else compare_models(result.baseline, result.samples, metric=wanted, force=force, seed=seed)
            )
        except MeriloError:
            return {}, {}
        for one in found:
            models.setdefault(one.model, {})[wanted] = one.matches[0].difference.second
    study = read_study(Path(result.baseline.folder))
    return models, _own_main(key, study)


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
        first.value, items, None, (samples, samples), main=main if len(main) == len(wanted) else {}
    )
