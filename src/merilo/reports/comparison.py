"""`merilo.compare`: people and models, or models alone, on the same items of datasets: a list of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from pydantic import PrivateAttr

from merilo.baselines.baseline import ModelEchoes
from merilo.baselines.comparison import judged, left_out, metric_value, pairs, rows_beside
from merilo.baselines.crowd import Crowd, crowd_of, items_without_people
from merilo.baselines.findings import SIMULATED
from merilo.baselines.model_answers import (
    Answers,
    Samples,
    answers_to,
    by_criterion,
    by_dataset,
    checked_paths,
    dataset_key,
    is_baseline,
    named_answers,
    read_model,
)
from merilo.baselines.model_echoes import echoes_or_reason
from merilo.baselines.published_folder import load
from merilo.baselines.raw_files import RAW
from merilo.baselines.row import Margin, Row, margin_of
from merilo.datasets import Dataset, dataset, names
from merilo.datasets import dataset as find_dataset
from merilo.datasets.dataset_files import own_file, read_split
from merilo.datasets.declaration import undeclared, with_metric
from merilo.errors import DataError, InputError, MeriloError, UsageError, argument
from merilo.estimate import Estimate, Finding
from merilo.metrics.answers import has_gold
from merilo.models.run_folder import RunFolder, is_run, read_run, refuse_other_items
from merilo.records import Number, Record, Span
from merilo.reports.facts import languages_of, plan_of
from merilo.runs.item_sources import source_of
from merilo.runs.scores import refuse_other_dataset, scored_dataset
from merilo.studies.plan import FROZEN_FILE
from merilo.studies.study_folder import read_frozen
from merilo.text import LANGUAGES, Language, Text, joined
from merilo.wording import listed, shown

if TYPE_CHECKING:
    from merilo.baselines.baseline import Baseline

    #: A baseline, its folder, a model (a run, a log, a file of answers, a folder of these), or answers by model.
    Source: TypeAlias = Baseline | str | Path | Mapping[str, Answers]

#: Where a frozen plan is, seen from a baseline: in its own folder, in `raw/` of the published folder, in its study.
_PLACES: Final = (".", RAW, "..")


class Total(Record):
    """A total score: the mean over datasets of the mean of their main metrics.

    Attributes:
        model: the model; empty for the people.
        value: the total; `None` without datasets.
        datasets: the datasets that it is computed over.
        people: the people's total over the same datasets; `None` if they lack one of them.
    """

    model: str = ""
    value: Number = None
    datasets: tuple[str, ...] = ()
    people: Number = None


class Comparison(Record):
    """People beside models: every form of it, on a terminal, on a page or on a board, shows these rows.

    Attributes:
        rows: the rows, in the order of the datasets, then of the models.
        totals: the total scores, the highest first; empty if no dataset counts in the benchmark's total.
        missing: the datasets that a complete total needs too.
        findings: what limits the comparison.
    """

    rows: tuple[Row, ...]
    totals: tuple[Total, ...] = ()
    missing: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()

    _languages: tuple[Language, ...] = PrivateAttr(default=LANGUAGES)

    @property
    def languages(self) -> tuple[Language, ...]:
        """Return the languages of its pages: those of the studies."""
        return self._languages

    @property
    def datasets(self) -> list[str]:
        """Return the names of the datasets."""
        return list(dict.fromkeys(row.dataset for row in self.rows))

    @property
    def limits(self) -> list[Text]:
        """Return the sentences of the findings that limit the comparison; how a log was read does not."""
        return [finding.sentence for finding in self.findings if finding.code != "read"]

    @property
    def models(self) -> list[str]:
        """Return the names of the models: by the total, without totals by their value on the first dataset."""
        first = [row for row in self.rows if row.dataset == self.rows[0].dataset]
        by_value = [row.model for row in sorted(first, key=lambda row: -(row.score.value or 0.0))]
        by_total = [total.model for total in self.totals if total.model and self.has_total]
        return list(dict.fromkeys([*by_total, *by_value, *(row.model for row in self.rows)]))

    @property
    def has_total(self) -> bool:
        """Whether a total is over several datasets, so that it is shown."""
        return any(len(total.datasets) > 1 for total in self.totals)

    def __repr__(self) -> str:
        sentences = [*(row.sentence for row in self.rows), *(finding.sentence for finding in self.findings)]
        return "\n".join(map(str, sentences))


class _Asked(NamedTuple):
    """A dataset, its people and the models' answers."""

    key: str
    people: Crowd
    samples: list[Samples]
    margin: Margin | None


def compare(
    *sources: Source,
    dataset: str | Dataset | None = None,
    data: str | Path | None = None,
    margin: float | None = None,
    force: bool = False,
) -> Comparison:
    """Compare models with people, or without people the other models with the first one, on the same items.

    Args:
        sources: baselines (results of `baseline` or their folders, one of each dataset) and models: runs, logs, files
            of answers, folders of these, or a mapping from model to a table of `id` and `answer` or from id to
            answer.
        dataset: without baselines and runs, the dataset of the answers.
        data: the items with ids and gold answers, if the baseline has no gold or if there are neither baselines nor
            runs.
        margin: the largest difference that counts as none, in (0, 1): with it, equality can be shown. By default,
            `baseline.margin` of the study's frozen plan.
        force: if the items differ, compare on those that both answered; if no answer can be read, count all as wrong.

    Raises:
        UsageError: an argument does not fit the others.
        InputError: answers cannot be read, or a run asked other items than a baseline has.
        DataError: the items differ and `force` is not given, a model has no dataset in common with the baselines, or no
            item has a gold answer.
    """
    chosen = None if margin is None else margin_of(margin)
    folders = [
        source
        for source in sources
        if not isinstance(source, Mapping)
        and (not isinstance(source, str | Path) or is_baseline(Path(source)))
    ]
    models = [source for source in sources if source not in folders]
    if data is not None and len(folders) > 1:
        raise UsageError("is for a single baseline: make the baselines with gold", field=argument("data"))
    number = sum(len(source) if isinstance(source, Mapping) else 1 for source in models)
    if not number:
        raise UsageError("give a model too: a run, a file of answers or a log")
    if not folders and number < 2:
        raise UsageError("one model cannot be compared: give a second one, or a human baseline")
    files = [Path(source) for source in models if isinstance(source, str | Path)]
    checked_paths(files)
    crowds = (
        by_dataset([_people(source, data, files) for source in folders])
        if folders
        else _items_of_models(files, dataset, data)
    )
    asked = _asked(crowds, models, chosen, force=force)
    findings = [finding for part in asked for finding in _findings(part, several=len(asked) > 1)]
    findings += _absent(crowds, asked)
    compared = []
    for part in asked:
        counted = {model.model: _counted(part.people, model, part.key) for model in part.samples}
        for pair in pairs(part.people, part.samples, force=force):
            more = {"dataset": part.key, "counted": counted[pair.row.model]}
            compared.append(pair._replace(row=pair.row.model_copy(update=more), margin=part.margin))
    rows = [*judged(compared), *_without_baseline(files, crowds)]
    if not rows:
        raise DataError("nothing to compare: no dataset has answers of two models")
    totals, missing = _totals(rows)
    comparison = Comparison(rows=tuple(rows), totals=totals, missing=missing, findings=tuple(findings))
    spoken = {language for crowd in crowds.values() for language in _languages(crowd)}
    comparison._languages = tuple(language for language in LANGUAGES if language in spoken) or LANGUAGES
    return comparison


def _languages(crowd: Crowd) -> tuple[Language, ...]:
    """Return the languages of a study, or of the items if nobody answered them."""
    plan = plan_of(crowd.baseline.evidence.study.plan) if crowd.baseline else None
    return languages_of(plan, crowd.declaration.name in names(), crowd.items[:20])


def _people(source: Baseline | str | Path, data: str | Path | None, models: Sequence[Path]) -> Crowd:
    if data is not None and not isinstance(source, str | Path):
        raise UsageError("is for the folder of a baseline: give gold to baseline", field=argument("data"))
    people = load(source, gold=data) if isinstance(source, str | Path) else source
    folder = str(Path(source)) if isinstance(source, str | Path) else "this baseline"
    withheld = people.gold is not None and people.gold.withheld
    return _closed(people, folder, models) if withheld else crowd_of(people, folder)


def _closed(people: Baseline, folder: str, models: Sequence[Path]) -> Crowd:
    """Return the items of a baseline with closed gold answers as a run has them; people's answers earn no points."""
    declared, gold = people.evidence.declaration, people.evidence.gold
    ids = {" ".join(str(item.id).split()) for item in gold.items.values()} if gold else set()
    for run in (read_run(path) for path in models if is_run(path)):
        if name := run.record.key_of(declared.name):
            asked = source_of(run.record.datasets[name]).split
            items = [item for item in asked if str(item.id) in ids and has_gold(item)]
            if items:
                return replace(items_without_people(items, declared, folder), baseline=people)
    raise DataError(
        f"the gold answers are closed: give them with {argument('data', 'FILE')}, or compare a run whose items have "
        "gold answers",
        file=folder,
    )


def _items_of_models(
    paths: Sequence[Path], chosen: str | Dataset | None, data: str | Path | None
) -> dict[str, Crowd]:
    """Return the items that models answered, by dataset: those of `data`, or those that the runs asked."""
    declared = find_dataset(chosen) if isinstance(chosen, str) else chosen
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
        alone = items_without_people(items, declared, shown(file))
        return {dataset_key(alone): alone}
    by_key: dict[str, Crowd] = {}
    failed: list[DataError] = []
    for run in runs:
        for name, record in run.record.datasets.items():
            if name in by_key or (declared and declared.name != name):
                continue
            source = source_of(record, None if data is None else Path(data))
            refuse_other_items(record, source.split.items, source.file)
            by_id = {str(item.id): item for item in source.split}
            try:
                by_key[name] = items_without_people(
                    [by_id[item] for item in record.hashes], source.declared, shown(run.path)
                )
            except DataError as error:
                failed.append(error)
    if not by_key:
        none = UsageError(f"no run has answers to {declared.name if declared else 'a dataset'}")
        raise failed[0] if failed else none
    return by_key


def _asked(
    crowds: Mapping[str, Crowd], models: Sequence[object], margin: Margin | None, *, force: bool
) -> list[_Asked]:
    """Read the models' answers by dataset; a dataset of criteria has a part for each correlation."""
    samples: dict[str, list[Samples]] = {key: [] for key in crowds}
    for source in models:
        if isinstance(source, Mapping):
            for name, source_answers in source.items():
                for key, named in named_answers(name, source_answers, crowds).items():
                    samples[key].append(named)
            continue
        path = Path(str(source))
        answers = answers_to(path, crowds, force=force)
        if not answers:
            raise DataError(
                f"the run has no dataset in common with the baselines: it has "
                f"{listed([*read_run(path).record.datasets])}, and the baselines are of {listed([*crowds])}",
                file=shown(path),
            )
        for key, named in answers.items():
            samples[key].append(replace(named, model=_free_name(named, path, key, samples[key])))
    asked = []
    for key, crowd in crowds.items():
        planned = planned_margin(Path(crowd.folder)) if crowd.baseline else None
        chosen = planned if margin is None or (planned and planned.value == margin.value) else margin
        split = by_criterion(crowd, samples[key]) or {"": (crowd, samples[key])}
        asked += [
            _Asked(f"{key} {name}".strip(), part, own, chosen) for name, (part, own) in split.items() if own
        ]
    return asked


def _free_name(samples: Samples, path: Path, key: str, others: Sequence[Samples]) -> str:
    """Return the name of a model; a second one of the same name is called by its prompts or `name (2)`."""
    taken, name, at = {other.model for other in others}, samples.model, 2
    if name in taken and is_run(path) and (record := read_run(path).record.datasets.get(key)):
        name = f"{name} (prompts: {record.prompts})"
    while name in taken:
        name, at = f"{samples.model} ({at})", at + 1
    return name


def planned_margin(folder: Path) -> Margin | None:
    """Read the margin that was fixed before the data, the key `baseline.margin` of a frozen plan beside a baseline.

    Raises:
        InputError: the record of the plan is damaged, or its margin is not a number between 0 and 1.
    """
    place = next((folder / name for name in _PLACES if (folder / name / FROZEN_FILE).is_file()), None)
    frozen = read_frozen(place) if place is not None else None
    section = frozen.plan.get("baseline") if frozen else None
    value = section.get("margin") if isinstance(section, dict) else None
    if frozen is None or place is None or value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise InputError(
            "must be a number between 0 and 1", file=place / FROZEN_FILE, field="plan.baseline.margin"
        )
    return Margin(float(value), frozen.date)


def _counted(people: Crowd, model: Samples, key: str) -> tuple[float | None, float | None]:
    """Return what a model and the people have in the total: the mean of the dataset's main metrics."""
    if key not in names() or not dataset(key).in_total:
        return None, None
    wanted = dataset(key).metrics
    try:
        mine = [
            metric_value(replace(people, declaration=with_metric(people.declaration, name)), model)
            for name in wanted
        ]
    except MeriloError:
        mine = []
    baseline = people.baseline
    known = baseline.metrics if baseline and baseline.status != "rejected" else {}
    return _mean(mine), _mean([known[name].value if name in known else None for name in wanted])


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if values and len(known) == len(values) else None


def _without_baseline(files: Sequence[Path], crowds: Mapping[str, Crowd]) -> Iterator[Row]:
    """Yield the rows of runs on datasets without a baseline: scores beside published values, without a test."""
    taken: set[tuple[str, str]] = set()
    for run in (read_run(path) for path in files if is_run(path)):
        for key, record in run.record.datasets.items():
            if key not in crowds:
                again = (run.model, key) in taken
                taken.add((run.model, key))
                yield _published_row(
                    run, key, f"{run.model} (prompts: {record.prompts})" if again else run.model
                )


def _published_row(run: RunFolder, key: str, model: str) -> Row:
    """Return a run's score on a dataset without a baseline, beside the catalogue's value of people."""
    declared = dataset(key) if key in names() else None
    wanted = declared.metrics if declared else ()
    people = {figure.metric: figure for figure in declared.human} if declared else {}
    scores, why = {}, ""
    try:
        result = scored_dataset(run, key, source_of(run.record.datasets[key]))
        scores, why = result.metrics, result.reason
    except (InputError, DataError, UsageError) as error:
        why = error.message
    name = next((metric for metric in (*wanted, *scores) if metric in scores), "")
    score, known = scores.get(name), people.get(wanted[0]) if wanted else None
    mine = Estimate(name=name, reason=why or "no metric can be computed")
    if score is not None:
        mine = Estimate(name=name, value=score.value, ci95=Span.of(score.interval), n=score.n)
    theirs = None
    if known:
        theirs = Estimate(name=known.metric, value=known.value, n=known.n or 0, reason=known.provenance)
    in_total = wanted if declared and declared.in_total else ()
    return Row(
        dataset=key,
        model=model,
        beside="consensus",
        score=mine,
        people=theirs,
        difference=Estimate(reason="there is no baseline of this dataset"),
        sentence=_untested(model, key, mine, theirs),
        counted=(
            _mean([scores[metric].value if metric in scores else None for metric in in_total]),
            _mean([people[metric].value if metric in people else None for metric in in_total]),
        ),
    )


def _untested(model: str, key: str, score: Estimate, people: Estimate | None) -> Text:
    if score.value is None:
        return Text("{model} has no score on {dataset}: {why}.", model=model, dataset=key, why=score.reason)
    if people is None:
        return Text(
            "{model} is not compared with people on {dataset} ({value:.3f}): there is no baseline.",
            model=model, dataset=key, value=score.value,
        )  # fmt: skip
    return Text(
        "{model} is beside a published value of people on {dataset} ({value:.3f} against {people:.3f}), which comes "
        "from other items or people: the two are not tested.",
        model=model, dataset=key, value=score.value, people=people.value,
    )  # fmt: skip


def _totals(rows: Sequence[Row]) -> tuple[tuple[Total, ...], tuple[str, ...]]:
    """Return the total of the people and of each model, and the datasets that a complete total lacks."""
    models: dict[str, dict[str, tuple[float, float | None]]] = {}
    people: dict[str, float] = {}
    for row in rows:
        mine, theirs = row.counted
        if mine is not None:
            models.setdefault(row.model, {})[row.dataset] = mine, theirs
        if theirs is not None:
            people[row.dataset] = theirs
    if not models and not people:
        return (), ()
    totals = [
        Total(value=_mean([*people.values()]), datasets=tuple(people), people=_mean([*people.values()]))
    ]
    for model, of_dataset in models.items():
        own, beside = ([pair[side] for pair in of_dataset.values()] for side in (0, 1))
        totals.append(Total(model=model, value=_mean(own), datasets=tuple(of_dataset), people=_mean(beside)))
    totals.sort(key=lambda total: (bool(total.model), -len(total.datasets), -(total.value or 0.0)))
    counting = {name for name in names() if dataset(name).in_total}
    known = {*people}.union(*models.values())
    return tuple(totals), tuple(sorted(counting - known))


def _findings(asked: _Asked, *, several: bool) -> Iterator[Finding]:
    """Yield what limits the comparisons on a dataset; with several datasets, its name stands before each sentence."""
    where = f"{asked.key}: " if several else ""
    yield from _prefixed(where, _of_people(asked.people))
    for model in asked.samples:
        findings = (*_of_items(asked.people, model), *_of_answers(model), *_of_asking(asked.people, model))
        yield from _prefixed(f"{where}{model.model}: ", findings)


def _prefixed(where: str, findings: Iterable[Finding]) -> Iterator[Finding]:
    for finding in findings:
        yield finding.model_copy(update={"sentence": joined([where, finding.sentence], "")})


def _of_people(people: Crowd) -> Iterator[Finding]:
    """Yield what limits every comparison with these people."""
    baseline = people.baseline
    findings = baseline.findings if baseline else ()
    if baseline and baseline.status == "rejected":
        why = joined([finding.sentence for finding in findings if finding.rejects], "; ")
        text = Text("the baseline is rejected, so a comparison with it is not valid: {why}", why=why)
        yield Finding(code="rejected", sentence=text, rejects=True)
    if any(finding.code == SIMULATED for finding in findings):
        yield Finding(code="simulated", sentence=Text("simulated annotators, not people"))
    if baseline and people.sampled_from:
        text = Text(
            "the comparison is on a sample, {sampled} of {n:# item|# items} of the dataset, without weights",
            sampled=baseline.item_counts.total,
            n=people.sampled_from,
        )
        yield Finding(code="sample", sentence=text)
    decided = people.answers
    undecided = tuple(
        name for item, name in zip(people.items, people.names, strict=True) if item.id not in decided
    )
    if people.annotators and undecided and not (people.scored.counted or people.declaration.judged):
        text = Text("{n:# item|# items} without a consensus: left out beside the consensus", n=len(undecided))
        yield Finding(code="undecided", sentence=text, items=undecided)


def _absent(crowds: Mapping[str, Crowd], asked: Sequence[_Asked]) -> Iterator[Finding]:
    """Yield the models that have no answers to a dataset."""
    answered = [(part.people.folder, model.model) for part in asked for model in part.samples]
    for model in dict.fromkeys(name for _, name in answered):
        lacking = [key for key, crowd in crowds.items() if (crowd.folder, model) not in answered]
        if lacking:
            text = Text("{model}: it has no answers to {datasets}", model=model, datasets=listed(lacking, 5))
            yield Finding(code="no_answers", sentence=text)


def _of_items(people: Crowd, model: Samples) -> Iterator[Finding]:
    """Yield the items that a model did not answer, and its answers to others."""
    without, others = left_out(people, model)
    if without:
        text = Text("{n:# item|# items} without an answer: left out", n=len(without))
        yield Finding(code="not_answered", sentence=text, items=tuple(without))
    if others:
        text = Text("{n:# answer|# answers} to other items: left out", n=len(others))
        yield Finding(code="other_items", sentence=text, items=tuple(others))


def _of_answers(model: Samples) -> Iterator[Finding]:
    """Yield how a model's log was read, and which of its answers are none."""
    for at, sentence in enumerate(model.log.sentences() if model.log else ()):
        yield Finding(code="log" if at else "read", sentence=joined([sentence]))
    if model.no_labels:
        yield model.no_labels


def _of_asking(people: Crowd, model: Samples) -> Iterator[Finding]:
    """Yield what became of a model's requests, and what it saw more than people."""
    if outcomes := model.run.outcomes() if model.run else "":
        text = Text("{outcomes}; these count as wrong, except requests without a reply", outcomes=outcomes)
        yield Finding(code="outcomes", sentence=text)
    if people.baseline and (shots := model.shots):
        text = Text("asked with {n:# solved example|# solved examples}, which people did not see", n=shots)
        yield Finding(code="shots", sentence=text)


@dataclass(frozen=True, slots=True)
class ModelSections:
    """Models beside the annotators of a baseline.

    Attributes:
        rows: each model beside the annotators, as `compare` gives them.
        samples: the answers of models.
        echoes: who repeats each model's wrong answers, or why this cannot be tested.
        limits: how the models' logs were read, and what limits their answers.
    """

    rows: tuple[Row, ...] = ()
    samples: tuple[Samples, ...] = ()
    echoes: tuple[ModelEchoes, ...] = ()
    limits: tuple[Text, ...] = ()


def with_models(baseline: Baseline, models: Sequence[Path], *, margin: Margin | None = None) -> ModelSections:
    """Compare models with the annotators of a baseline, item by item and as a whole.

    Args:
        baseline: the baseline.
        models: files of models' answers.
        margin: the margin for equality.

    Raises:
        DataError: the items differ.
        InputError: a file cannot be read.
    """
    crowd = crowd_of(baseline)
    samples = tuple(read_model(path, crowd) for path in models)
    echoes = tuple(echoes_or_reason(crowd, model) for model in samples)
    rows = rows_beside(crowd, samples, margin)
    limits = tuple(
        finding.sentence for model in samples for finding in _prefixed(f"{model.model}: ", _of_answers(model))
    )
    return ModelSections(rows, samples, echoes, limits)
