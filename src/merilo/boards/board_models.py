"""The models of a board: runs, logs of other harnesses and submission archives, each scored once and stored."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Final, NamedTuple, cast

import numpy as np

from merilo.answer_tables import AnswerRecord
from merilo.baselines.baseline_reader import StoredBaseline
from merilo.baselines.model_answers import Samples, answers_to, read_samples, samples_of
from merilo.boards.board_datasets import BoardDataset
from merilo.boards.stored_scores import DatasetScore, StoredResults, content_key, metric_values
from merilo.datasets import CATALOGUE, Dataset, dataset
from merilo.datasets.declaration import undeclared
from merilo.datasets.own_items import read_split
from merilo.datasets.ready_items import BUNDLED
from merilo.errors import DataError, InputError, MeriloError, UsageError, for_library
from merilo.files import collecting_later
from merilo.items import Item, ItemId, split_file
from merilo.metrics.answers import Given
from merilo.metrics.exam import VARIANT_ITEMS, VARIANT_POINTS
from merilo.metrics.scoring import Scores, clusters_for
from merilo.metrics.scoring import score as score_answers
from merilo.metrics.worth import OF_LABELS, NamedPart, worth
from merilo.models.asked_datasets import BUNDLED_NAME, ItemSource
from merilo.models.harness_logs import LogMapping
from merilo.models.harness_logs.harness_answers import OtherItemsError, is_harness_log
from merilo.models.harness_logs.log_formats import READ, copied_name, logs_in
from merilo.models.run_folder import RECORD_FILE, DatasetRecord, inputs_hash, is_run, read_run
from merilo.models.run_log import log_path
from merilo.models.sheets import match, read_sheet_or_log, refuse_unreadable
from merilo.runs.run_scores import DatasetRun, sampled, scored_dataset, source_of
from merilo.settings import Manner
from merilo.statistics import FloatArray
from merilo.statistics.intervals import cluster_codes
from merilo.strict_json import Json, dict_at
from merilo.submissions.archive import ArchiveError
from merilo.submissions.evaluation import (
    DatasetResult,
    GoldItems,
    SubmissionResult,
    read_gold,
    refused,
    score_submission,
)
from merilo.submissions.submitted_answers import Kind
from merilo.text import LANGUAGES, Language, Text, joined
from merilo.text import Given as GivenText
from merilo.wording import listed, shown

#: How far below a given folder runs are looked for.
_DEPTH: Final = 2

#: The most faults of a dataset that a page and its JSON list; the count is of all.
MOST_FAULTS: Final = 50


class NamedFault(NamedTuple):
    """One fault of a submission: its kind and a sentence that says where it is."""

    kind: Kind
    text: Text


@dataclass(frozen=True, slots=True)
class Conditions:
    """How a model was asked on one dataset.

    Attributes:
        shots: solved items before each question; `None` if it is not known.
        prompts: whose prompts: "harness", "merilo" or "people"; empty if it is not known.
        extract: how answers were found in replies: "merilo" or "harness"; empty if it is not known.
        mode: "generate" or "loglikelihood"; empty if it is not known.
        temperature: the temperature of sampling; `None` for the default.
        samples: answers to each item.
        thinking: whether the replies contain thought; `None` if it is not known.
    """

    shots: int | None = None
    prompts: str = ""
    extract: str = ""
    mode: str = ""
    temperature: float | None = None
    samples: int = 1
    thinking: bool | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the conditions as JSON."""
        return {
            "shots": self.shots,
            "prompts": self.prompts or None,
            "extract": self.extract or None,
            "mode": self.mode or None,
            "temperature": self.temperature,
            "samples": self.samples,
            "thinking": self.thinking,
        }


@dataclass(frozen=True, slots=True)
class AnsweredDataset:
    """A model's result on one dataset.

    Attributes:
        key: the dataset's name in lower case.
        about: the dataset.
        score: the scores.
        conditions: how the model was asked.
        answers_key: a hash of the answers, for results that depend on them.
        samples: reads the answers beside the annotators of a baseline.
        faults: what is wrong with a submission's answers; then there are no scores.
    """

    key: str
    about: BoardDataset
    score: DatasetScore
    conditions: Conditions
    answers_key: str
    samples: Callable[[StoredBaseline], Samples]
    faults: tuple[NamedFault, ...] = ()


@dataclass(frozen=True, slots=True)
class RankedModel:
    """One model with its results.

    Attributes:
        name: its name.
        kind: where it comes from; a built-in respondent is a simple rule and no model.
        source: the name of the run's folder or of the archive.
        datasets: the results by dataset.
        day: the day of the last command of a run, as 2026-11-23; empty if it is not known.
    """

    name: str
    kind: str
    source: str
    datasets: Mapping[str, AnsweredDataset]
    day: str = ""


@dataclass(frozen=True, slots=True)
class FaultyArchive:
    """A submission archive, or a log of another harness, of which something could not be scored.

    Attributes:
        name: the file's name.
        reason: why the whole file is refused; `None` if single datasets have faults.
        datasets: title -> the faults that are listed and the number of all.
        scored: how many datasets were scored.
    """

    name: str
    reason: Text | None
    datasets: Mapping[str, tuple[tuple[NamedFault, ...], int]] = field(default_factory=dict)
    scored: int = 0

    @property
    def is_log(self) -> bool:
        """Whether it is a log, whose reason says what to do; archives end in .zip."""
        return not self.name.lower().endswith(".zip")


class RunReader:
    """Reads and scores runs; items of a dataset are read once for all runs.

    Args:
        stored: the stored results.
        gold: a folder of tests with their gold answers, which take the place of the items that were asked.
    """

    def __init__(self, stored: StoredResults, gold: Path | None = None) -> None:
        self._stored = stored
        self._gold = gold
        self._sources: dict[tuple[str, str, str | None], ItemSource] = {}
        self._files: dict[tuple[str, str, str | None], Path] = {}
        self._clusters: dict[int, dict[str, int] | None] = {}

    def model(self, path: Path) -> RankedModel:
        """Read a run and score its datasets.

        Raises:
            InputError: the record of the run cannot be read.
        """
        stored = self._stored
        key = content_key("run", stored.hash_of(path / RECORD_FILE))
        summary = stored.result(key, lambda: _summary(path))
        found = {}
        for name, held in cast("dict[str, dict[str, Json]]", summary["datasets"]).items():
            found[name.lower()] = self._answered(path, name, held, summary)
        kind = "builtin" if summary["builtin"] else "run"
        return RankedModel(str(summary["name"]), kind, path.resolve().name, found, str(summary["day"] or ""))

    def _answered(
        self, path: Path, name: str, held: Mapping[str, Json], summary: Mapping[str, Json]
    ) -> AnsweredDataset:
        stored = self._stored
        place = (
            str(held["declaration"]),
            str(held["data"]),
            None if held["study"] is None else str(held["study"]),
        )
        answers = content_key(
            "answers",
            str(held["hash"]),
            stored.hash_of(log_path(path, name)),
            stored.hash_of(path / f"{name}.json"),
        )
        items = [stored.hash_of(one) for one in self._item_files(place)]
        made = stored.result(content_key("score", answers, *items), lambda: self._scored(path, name, place))
        score = DatasetScore.of_json(made)
        temperature = summary["temperature"]
        conditions = Conditions(
            int(cast("int", held["shots"])),
            str(held["prompts"]),
            str(summary["extract"]),
            str(held["mode"]),
            None if temperature is None else float(cast("float", temperature)),
            int(cast("int", held["samples"])),
            score.thought,
        )
        return AnsweredDataset(
            name.lower(),
            BoardDataset.of_json(made["about"]),
            score,
            conditions,
            answers,
            partial(_run_samples, path, name),
        )

    def _item_files(self, place: tuple[str, str, str | None]) -> list[Path]:
        """Return the files that the score depends on beside the answers."""
        declaration, data, study = place
        if place not in self._files:
            name = declaration.lower() if declaration.lower() in CATALOGUE else Path(declaration).stem
            given = split_file(self._gold, name) if self._gold else None
            bundled = split_file(BUNDLED, declaration) if data == BUNDLED_NAME else None
            self._files[place] = (
                given or bundled or (Path(study) / "items.jsonl" if study else None) or Path(data)
            )
        own = Path(declaration)
        declared = own / "dataset.yaml" if own.is_dir() else own
        return [self._files[place], *([declared] if declaration.lower() not in CATALOGUE else [])]

    def _scored(self, path: Path, name: str, place: tuple[str, str, str | None]) -> dict[str, Json]:
        folder = read_run(path)
        record = folder.record.datasets[name]
        try:
            declared = dataset(record.declaration)
        except MeriloError as error:
            declared = replace(undeclared(), name=name, title=record.title or name, metrics=())
            return _content(declared, DatasetScore(reason=for_library(error.marked)))
        try:
            with collecting_later():
                source = self._source(record, place)
                run = scored_dataset(folder, name, source)
        except (InputError, DataError, UsageError) as error:
            # Messages of several files name them; a page names none.
            return _content(declared, DatasetScore(reason=for_library(error.marked)))
        return _content(source.declared, _run_score(run, self._items(run, source), self._codes(source)))

    def _source(self, record: DatasetRecord, place: tuple[str, str, str | None]) -> ItemSource:
        if place not in self._sources:
            given = split_file(self._gold, dataset(record.declaration).name) if self._gold else None
            if given:
                declared = dataset(record.declaration)
                found = ItemSource(declared, record.declaration, read_split(given, declared), given)
            else:
                found = source_of(record)
            self._sources[place] = found
        return self._sources[place]

    def _items(self, run: DatasetRun, source: ItemSource) -> list[Item]:
        by_id = {str(item.id): item for item in source.split}
        return [by_id[one] for one in run.record.hashes]

    def _codes(self, source: ItemSource) -> dict[str, int] | None:
        if id(source) not in self._clusters:
            self._clusters[id(source)] = item_clusters(source.declared, source.split.items)
        return self._clusters[id(source)]


def _content(declared: Dataset, score: DatasetScore) -> dict[str, Json]:
    return {**score.to_json(), "about": BoardDataset.of(declared).to_json()}


def _run_samples(path: Path, name: str, crowd: StoredBaseline) -> Samples:
    return answers_to(path, {name: crowd})[name]


def _summary(path: Path) -> dict[str, Json]:
    """Return what the board needs of a run's record; the record itself holds a hash for every item."""
    folder = read_run(path)
    record = folder.record
    manner: Manner = record.settings.manner
    when = str(record.commands[-1].get("when", "")) if record.commands else ""
    temperature = record.settings.temperature
    datasets: dict[str, Json] = {
        name: {
            "declaration": one.declaration,
            "data": one.data,
            "study": one.study,
            "shots": one.shots,
            "prompts": one.prompts,
            "mode": one.mode,
            "samples": one.samples,
            "hash": content_key("asked", cast("Json", asdict(one)), manner),
        }
        for name, one in record.datasets.items()
    }
    return {
        "name": record.model.name,
        "builtin": record.model.builtin,
        "day": when[:10],
        "temperature": temperature,
        "extract": manner,
        "datasets": datasets,
    }


def _run_score(run: DatasetRun, items: Sequence[Item], codes: Mapping[str, int] | None) -> DatasetScore:
    thought = run.answers.tokens[2] > 0 if run.answers.tokens[1] else None
    if run.scores is None:
        return DatasetScore(reason=for_library(run.reason), thought=thought)
    hashes = {name: held.partition("-")[0] for name, held in run.record.hashes.items()}
    if run.declared.answer.kind == "program":
        return dataset_score(run.declared, items, {}, run.scores, codes=codes, hashes=hashes, thought=thought)
    expanded, given, _ = sampled(run.declared, items, run.answers.answers)
    several = max(one.sample for one in run.answers.answers) > 1
    return dataset_score(
        run.declared,
        expanded,
        given,
        run.scores,
        codes=codes,
        hashes=hashes,
        thought=thought,
        several=several,
    )


def dataset_score(
    declared: Dataset,
    items: Sequence[Item],
    given: Mapping[ItemId, Given],
    scores: Scores,
    *,
    codes: Mapping[str, int] | None,
    hashes: Mapping[str, str],
    thought: bool | None = None,
    several: bool = False,
) -> DatasetScore:
    """Return what is stored of a respondent's scores.

    Args:
        declared: the dataset.
        items: the items as they were scored: with several samples, one for each answer.
        given: item id -> answer.
        scores: the metrics.
        codes: item id as text -> its cluster; `None` if items are independent.
        hashes: item id as text -> the hash of its inputs.
        thought: whether the replies contain thought.
        several: whether the ids end in the number of a sample.
    """
    parts = {name: _contributions(declared, name, items, given, scores) for name in scores.main}
    names: list[str] = []
    columns: list[FloatArray] = []
    if parts and all(parts.values()):
        for part in parts.values():
            own, values = _by_item(part, several=several)
            if names and own != names:
                columns = []
                break
            names = own
            columns.append(values)
    known = bool(columns)
    points = columns[0] if known else None
    return DatasetScore(
        metric_values([*scores.main.values(), *scores.extra.values()]),
        {name: for_library(reason) for name, reason in scores.missing.items()},
        tuple(_item_token(name, hashes[name]) for name in names) if known else (),
        points,
        points if len(columns) < 2 else np.mean(columns, axis=0),
        None
        if codes is None or not known
        else np.array([codes.get(one, -1) for one in names], dtype=np.int64),
        thought=thought,
    )


def _item_token(name: str, inputs: str) -> str:
    """Return a short hash of an item: models that were asked other items of the same ids are not compared."""
    return hashlib.sha256(f"{name}\0{inputs}".encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _contributions(
    declared: Dataset, name: str, items: Sequence[Item], given: Mapping[ItemId, Given], scores: Scores
) -> dict[str, float]:
    """Return the contribution of each answer to a main metric, by item id; their mean is the metric."""
    score = scores.main[name]
    if name in OF_LABELS:
        answered = [item for item in items if item.id in given]
        answers = [str(given[item.id]) for item in answered]
        place = np.arange(len(answered))
        part = NamedPart(name, name, tuple(range(len(answered))))
        if not answered:
            return {}
        found = worth(declared, part, answered, place=place, answers=answers, weight=np.ones(len(answered)))
        return {str(item.id): float(one) for item, one in zip(answered, found.answer, strict=True)}
    scale = VARIANT_ITEMS / VARIANT_POINTS if name == "grade_norm" else 1.0
    return {str(item): value * scale for item, value in score.per_item.items()}


def _by_item(values: Mapping[str, float], *, several: bool) -> tuple[list[str], FloatArray]:
    """Return the items and the mean contribution of each."""
    if not several:
        return list(values), np.array([*values.values()], dtype=np.float64)
    groups: dict[str, list[float]] = {}
    for name, value in values.items():
        groups.setdefault(name.rpartition("#")[0], []).append(value)
    return list(groups), np.array([sum(one) / len(one) for one in groups.values()])


def item_clusters(declared: Dataset, items: Sequence[Item]) -> dict[str, int] | None:
    """Return the cluster of each item by its id as text; of an exam, its variant. `None` if items are independent."""
    field_name = "variant" if "grade_norm" in declared.metrics else declared.cluster
    clusters = clusters_for(items, field_name)
    if clusters is None or len(set(clusters)) == len(items):
        return None
    codes = cluster_codes(clusters)
    return {str(item.id): int(code) for item, code in zip(items, codes, strict=True)}


def runs_and_logs(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Return the folders of runs and the logs of other harnesses: those given, and those in the given folders.

    A folder with runs is not searched for logs.

    Raises:
        InputError: there is neither at a path.
    """
    runs: dict[Path, None] = {}
    logs: dict[Path, None] = {}
    for path in paths:
        found = [path] if is_run(path) else [*_below(path, _DEPTH)]
        runs.update(dict.fromkeys(found))
        if found:
            continue
        held = [path] if _may_be_log(path) else [one for one, _ in logs_in(path)]
        if not held:
            told = "there is no such run or log"
            if path.is_dir():
                told = f"holds no run (run.json is missing) and no log of {READ}"
            elif path.exists():
                told = f"is neither a run nor a log of {READ} (merilo compare takes files of answers)"
            raise InputError(told, file=shown(path))
        logs.update(dict.fromkeys(held))
    return [*runs], [*logs]


def _may_be_log(path: Path) -> bool:
    """Whether a file is a log, or cannot be read, which its page on the board then says."""
    try:
        return path.is_file() and is_harness_log(path)
    except (InputError, DataError):
        return True


def _below(path: Path, depth: int) -> Iterator[Path]:
    if not path.is_dir():
        return
    for entry in sorted(path.iterdir()):
        if not entry.is_dir() or entry.name.startswith("."):
            continue
        if is_run(entry):
            yield entry
        elif depth > 1:
            yield from _below(entry, depth - 1)


class GoldTests:
    """The tests of a board with their gold answers, read when the first answers must be scored.

    Args:
        stored: the stored results.
        folder: the folder of the tests.

    Attributes:
        hash: a hash of the tests' files.
    """

    def __init__(self, stored: StoredResults, folder: Path) -> None:
        self._folder = folder
        self._codes: dict[str, dict[str, int] | None] = {}
        self._hashes: dict[str, dict[str, str]] = {}
        declared = sorted(folder.glob("*/dataset.yaml"))
        files = [split_file(folder, name) for name in (*CATALOGUE, *(one.parent.name for one in declared))]
        self.hash = content_key("gold", *(stored.hash_of(one) for one in (*files, *declared) if one))

    @cached_property
    def of_title(self) -> dict[str, GoldItems]:
        """The tests by title."""
        return read_gold(self._folder)

    def score(self, title: str, given: Mapping[ItemId, Given], scores: Scores) -> DatasetScore:
        """Return what is stored of the scores of answers to a test."""
        held = self.of_title[title]
        if title not in self._codes:
            self._codes[title] = item_clusters(held.dataset, held.split.items)
            self._hashes[title] = {str(item.id): inputs_hash(item) for item in held.split}
        codes, hashes = self._codes[title], self._hashes[title]
        return dataset_score(held.dataset, held.split.items, given, scores, codes=codes, hashes=hashes)


class LogReader:
    """Reads and scores logs of other harnesses, by the first sample of each item.

    Args:
        stored: the stored results.
        tests: the tests that the logs may answer.
    """

    def __init__(self, stored: StoredResults, tests: GoldTests) -> None:
        self._stored = stored
        self._tests = tests

    def read(self, path: Path) -> tuple[RankedModel | None, FaultyArchive | None]:
        """Read a log and score it on the tests of which it has items; programs must be run and are left out.

        Returns:
            The row, if the log has answers to a test; or why it has none.
        """
        stored = self._stored
        answers = content_key("log", copied_name(path), stored.hash_of(path), self._tests.hash)
        made = stored.result(answers, lambda: self._content(path))
        if made["refused"] is not None:
            # Logs in different folders often have the same name.
            name = f"{path.absolute().parent.name}/{path.name}"
            return None, FaultyArchive(name, _text_of(made["refused"]))
        found = {}
        for title, held in cast("dict[str, dict[str, Json]]", made["datasets"]).items():
            about = BoardDataset.of_json(held["about"])
            found[about.key] = AnsweredDataset(
                about.key,
                about,
                DatasetScore.of_json(held),
                _logged_conditions(dict_at(held, "asked")),
                content_key("logged", answers, title),
                partial(read_samples, path),
            )
        return RankedModel(str(made["model"]), "log", path.name, found), None

    def _content(self, path: Path) -> dict[str, Json]:
        datasets: dict[str, Json] = {}
        model, refused = path.stem, ""
        tests = self._tests.of_title
        for title in sorted(tests, key=lambda name: name.lower() not in path.stem.lower()):
            held = tests[title]
            if held.dataset.answer.kind == "program":
                continue
            try:
                log, given = _logged(path, held)
                scores = score_answers(held.dataset, held.split.items, given)
            except OtherItemsError:
                continue
            except (InputError, DataError) as error:
                row = "" if error.place.row is None else f"row {error.place.row}: "
                refused = refused or f"{row}{for_library(error.marked)}"
                continue
            datasets[title] = {
                **_content(held.dataset, self._tests.score(title, given, scores)),
                "asked": {**log.asked},
            }
            model = log.model or model
            if not log.unmatched:
                break
        if not datasets and not refused:
            refused = f"none of its rows belongs to an item of the tests ({listed([*tests], 5)})"
        return {
            "refused": None if datasets else _texts(joined([refused])),
            "model": model,
            "datasets": datasets,
        }


def _logged_conditions(asked: Mapping[str, Json]) -> Conditions:
    """Return what a log says about how the model was asked."""
    shots, temperature = asked.get("shots"), asked.get("temperature")
    return Conditions(
        shots=shots if isinstance(shots, int) else None,
        extract="merilo",
        temperature=float(temperature) if isinstance(temperature, int | float) else None,
    )


def _logged(path: Path, test: GoldItems) -> tuple[LogMapping, Mapping[ItemId, Given]]:
    """Read the answers of a log to a test, and how they were found."""
    items = test.split.items
    sheet = read_sheet_or_log(path, test.dataset, items)
    if sheet.log is None:
        raise InputError(f"is no log of {READ}")
    given = match(sheet, items, test.dataset.answer).given
    refuse_unreadable((one for one in given.values() if not isinstance(one, tuple)), sheet.log, sheet.file)
    return sheet.log, given


class SubmissionReader:
    """Reads and scores submission archives.

    Args:
        stored: the stored results.
        tests: the tests.
    """

    def __init__(self, stored: StoredResults, tests: GoldTests) -> None:
        self._stored = stored
        self._tests = tests
        self._results: dict[Path, SubmissionResult] = {}

    def read(self, path: Path) -> tuple[RankedModel | None, FaultyArchive | None]:
        """Read and score an archive.

        Returns:
            The row, if any dataset was scored; and what is wrong with the archive, if anything is.

        Raises:
            InputError: the tests cannot be read.
            DataError: a gold answer is missing or does not fit its metric.
        """
        stored = self._stored
        answers = content_key("submission", stored.hash_of(path), self._tests.hash)
        made = stored.result(answers, lambda: self._content(path))
        if made["refused"] is not None:
            return None, FaultyArchive(path.name, _text_of(made["refused"]))
        found: dict[str, AnsweredDataset] = {}
        faulty: dict[str, tuple[tuple[NamedFault, ...], int]] = {}
        for title, held in cast("dict[str, dict[str, Json]]", made["datasets"]).items():
            if held["count"]:
                faults = tuple(
                    NamedFault(cast("Kind", one["kind"]), _text_of(one["text"]))
                    for one in cast("list[dict[str, Json]]", held["faults"])
                )
                faulty[title] = faults, int(cast("int", held["count"]))
                if held["absent"]:
                    continue
            else:
                faults = ()
            about = BoardDataset.of_json(held["about"])
            found[about.key] = AnsweredDataset(
                about.key,
                about,
                DatasetScore() if faults else DatasetScore.of_json(held),
                Conditions(),
                content_key("submitted", answers, title),
                partial(self._samples, path, title),
                faults,
            )
        scored = sum(not one.faults for one in found.values())
        row = RankedModel(path.stem, "submission", path.name, found) if scored else None
        fault = FaultyArchive(path.name, None, faulty, scored) if faulty else None
        return row, fault

    def _scored(self, path: Path) -> SubmissionResult:
        if path not in self._results:
            try:
                with collecting_later():
                    self._results[path] = score_submission(path, self._tests.of_title)
            except ArchiveError as error:
                self._results[path] = refused(error)
        return self._results[path]

    def _content(self, path: Path) -> dict[str, Json]:
        result = self._scored(path)
        if result.faults:
            return {"refused": _texts(result.faults[0].message), "datasets": {}}
        return {
            "refused": None,
            "datasets": {title: self._dataset(title, one) for title, one in result.datasets.items()},
        }

    def _dataset(self, title: str, one: DatasetResult) -> dict[str, Json]:
        faults = one.answers.faults
        score = DatasetScore() if faults else self._tests.score(title, one.answers.given, one.scores)
        return {
            **_content(one.dataset, score),
            "count": one.answers.fault_count,
            "absent": bool(faults) and faults[0].kind == "no_task",
            "faults": [{"kind": one.kind, "text": _texts(one.line)} for one in faults[:MOST_FAULTS]],
        }

    def _samples(self, path: Path, title: str, crowd: StoredBaseline) -> Samples:
        given = self._scored(path).datasets[title].answers.given
        records = (
            AnswerRecord(row, str(item), cast("Json", answer))
            for row, (item, answer) in enumerate(given.items(), start=1)
        )
        return samples_of(records, crowd, path.stem, path)


def _texts(text: Text) -> Json:
    return {language: text.in_language(language) for language in LANGUAGES}


def _text_of(held: Json) -> Text:
    return GivenText(cast("dict[Language, str]", held))
