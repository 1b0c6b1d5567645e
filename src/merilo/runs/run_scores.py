"""The scores of a run, and where the items are that it asked: in a study, in a folder, or in Merilo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from merilo.datasets import Dataset
from merilo.datasets import dataset as find_dataset
from merilo.datasets.own_items import read_split
from merilo.datasets.ready_items import BUNDLED
from merilo.errors import DataError, InputError, UsageError, argument, for_library
from merilo.files import collecting_later
from merilo.items import Item, Split, dialogue_lengths
from merilo.metrics.answers import has_gold
from merilo.metrics.detox import Rater, rater_of
from merilo.metrics.metric import Score
from merilo.metrics.scoring import Scores
from merilo.models.asked_datasets import BUNDLED_NAME, ItemSource, items_file
from merilo.models.replies import replies_of_run
from merilo.models.reply_answers import (
    ItemAnswers,
    Outcomes,
    answers_in,
    answers_of_table,
    by_id,
    read_sheet,
    score_answers,
)
from merilo.models.run_folder import DatasetRecord, RunFolder, read_run, refuse_other_items
from merilo.models.run_log import cut_line, log_path
from merilo.strict_json import Json
from merilo.studies.study_folder import open_study
from merilo.wording import listed, shown


def source_of(record: DatasetRecord, data: Path | None = None) -> ItemSource:
    """Find the items of a dataset of a run.

    Args:
        record: what was asked.
        data: a folder or file of items, if they are no longer where they were.

    Raises:
        InputError: the items are not there.
    """
    if record.study is not None and data is None:
        return study_source(Path(record.study))
    declared = find_dataset(record.declaration)
    bundled = BUNDLED if record.data == BUNDLED_NAME else None
    place = data or bundled
    file = items_file(record.declaration, declared, place, alone=True) if place else Path(record.data)
    if not file.is_file():
        raise InputError(
            f"the items of {record.title} are no longer there: name their folder with {argument('data', 'DIR')}",
            file=file,
        )
    return ItemSource(declared, record.declaration, read_split(file, declared), file)


def study_source(path: Path, datasets: Sequence[str] = ()) -> ItemSource:
    """Find the items of a study, which are asked exactly as people saw them.

    Args:
        path: the study's folder.
        datasets: the name of its dataset, or nothing.

    Raises:
        UsageError: another dataset is named.
        InputError: there is no study, or its items cannot be read.
    """
    folder = open_study(path)
    declared = folder.declared()
    if datasets and [find_dataset(name).name for name in datasets] != [declared.name]:
        raise UsageError(
            f"the study {shown(folder.path)} is about {declared.title}; leave {argument('datasets')} out"
        )
    items = tuple(folder.items())
    split = Split("test", items, lengths=dialogue_lengths(items))
    own = folder.path / folder.plan.dataset
    name = str(own) if own.exists() else folder.plan.dataset
    return ItemSource(declared, name, split, folder.path / "items.jsonl", folder.path)


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
    def outcomes(self) -> Outcomes:
        """What became of the requests."""
        return self.answers.outcomes

    @property
    def metrics(self) -> dict[str, Score]:
        """The metrics by name, the main ones first."""
        return {} if self.scores is None else self.scores.all()

    def counts(self, score: Score) -> tuple[int, int]:
        """Return the items and the answers that a metric is the mean over: several samples are several answers."""
        samples, answers = self.record.samples, self.answers.rows
        if self.declared.answer.kind == "program":  # its metrics are means over items
            return score.n, len(answers)
        if score.n == len(answers):  # some samples may be missing
            return len({answer.item for answer in answers}), score.n
        return -(-score.n // samples), score.n

    @property
    def is_complete(self) -> bool:
        """Whether every item has an answer or an outcome other than a failed request."""
        return self.outcomes.missing <= 0 and not self.outcomes.counts.get("failed")

    def to_dict(self) -> dict[str, Json]:
        """Return the run on this dataset as JSON."""
        prompt, completion, thought = self.answers.tokens
        return {
            "title": self.declared.title,
            "items": len(self.record.hashes),
            "samples": self.record.samples,
            "mode": self.record.mode,
            "prompts": self.record.prompts,
            "shots": self.record.shots,
            "outcomes": self.outcomes.to_dict(),
            "unanswered": [
                {
                    "item": request.item,
                    "sample": request.sample,
                    "outcome": request.outcome,
                    "reason": request.rule,
                }
                for request in self.answers.unanswered
            ],
            "unreadable": [
                {"item": answer.item, "sample": answer.sample, "reason": answer.rule}
                for answer in self.answers.unreadable
            ],
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
            "model": {
                "name": model.name,
                "backend": model.backend,
                "args": dict(model.args),
                "builtin": model.builtin,
            },
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
                f"{dataset.declared.title}: " + "; ".join(filter(None, [scores, str(dataset.outcomes)]))
            )
        return "\n".join(lines)


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
    return RunResult(folder, scored, notes=(*cut_notes(folder), *warnings))


def cut_notes(folder: RunFolder) -> tuple[str, ...]:
    """Return a sentence for each log whose last line is cut off."""
    cuts = [cut_line(log_path(folder.path, name)) for name in folder.record.datasets]
    return tuple(str(cut) for cut in cuts if cut is not None)


def scored_dataset(
    folder: RunFolder,
    name: str,
    source: ItemSource,
    *,
    rater: Rater | None = None,
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
    answers = answers_in(
        replies_of_run(folder.path, source.declared),
        asked,
        samples=record.samples,
        manner=folder.record.settings.manner,
    )
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
