"""Models' answers to the items of baselines.

Which argument is what, and the answers in the spelling of the annotators' answers.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import polars as pl

from merilo.answer_tables import ItemAnswer, OtherColumnsError, item_answer, read_item_answers, sample_of
from merilo.baselines.baseline import BASELINE_FILE
from merilo.baselines.crowd import Crowd
from merilo.baselines.pool_items import items_of_pool
from merilo.datasets import Answer, Dataset
from merilo.datasets.declaration import undeclared
from merilo.errors import DataError, InputError, UsageError, argument
from merilo.estimate import Finding
from merilo.items import Item
from merilo.metrics.answers import (
    AnswerError,
    AnswerKind,
    gold_label,
    program_golds,
    read_answer,
)
from merilo.metrics.pass_at_k import FAILED, PASSED
from merilo.metrics.scoring import Part, parts
from merilo.models.log_formats import copied_name
from merilo.models.reply_answers import OUTCOMES, ItemAnswers, no_labels, read_answers
from merilo.models.reply_files import ItemFinder, OtherItemsError, is_harness_log, only_log
from merilo.models.run_folder import DatasetRecord, RunFolder, inputs_hash, is_run, read_run
from merilo.models.run_log import log_path, read_log
from merilo.people.frames import Frame, is_frame, polars_of, records_of
from merilo.people.platforms.loading import json_text
from merilo.people.spelling import answer_keys
from merilo.people.votes import MOST_CLOSED_LABELS
from merilo.strict_json import Json, json_lines, number_at
from merilo.wording import listed, shown

#: Answers of a model: a file, a table of `id` and `answer`, or a mapping from id to an answer or its samples.
Answers: TypeAlias = str | Path | Frame | Mapping[str, str | Sequence[str]]

#: The suffixes of files of answers in a folder.
_SUFFIXES: Final = (".jsonl", ".json", ".csv", ".tsv", ".parquet")

#: Members of the ZIP archives that are logs of Inspect.
_INSPECT_MEMBERS: Final = re.compile(r"(?:header\.json|_journal/)")

#: The form of the results of programs.
_INTEGER: Final = re.compile(r"0|-?[1-9]\d*")

_PROGRAM: Final = Answer(kind="program")


class RunDataset(NamedTuple):
    """The part of a run that asked one dataset.

    Attributes:
        folder: the run.
        name: the dataset's name in the run.
    """

    folder: RunFolder
    name: str

    @property
    def record(self) -> DatasetRecord | None:
        """Return what was asked; `None` for a file that no dataset of the run has."""
        return self.folder.record.datasets.get(self.name)

    def logged(self, *columns: str) -> pl.DataFrame | None:
        """Return columns of the log, a row for each reply; `None` without a log."""
        log = log_path(self.folder.path, self.name)
        return read_log(log, columns).select(columns) if log.is_file() else None

    def outcomes(self) -> str:
        """Describe the replies that are no answers, such as "2 refused, 1 truncated"."""
        programs = self.folder.path / f"{self.name}.completions.jsonl"
        counts = Counter(
            str(entry.get("outcome"))
            for _, entry in json_lines(
                programs if programs.is_file() else self.folder.path / f"{self.name}.jsonl"
            )
            if isinstance(entry, dict)
        )
        absences = [f"{counts[name]} {name.replace('_', ' ')}" for name in OUTCOMES[1:] if counts[name]]
        absent = (self.record.requests if self.record else 0) - counts.total()
        return ", ".join([*absences, *([f"{absent} without a reply"] if absent > 0 else [])])


@dataclass(frozen=True, slots=True)
class Samples:
    """A model's answers.

    Attributes:
        model: the name of the model.
        file: the file, with its name as given.
        answers: mapping from item id to its answers, in the order of the samples.
        log: the answers as read in the log of another harness; `None` for a file of answers.
        run: the run that gave them; `None` if it is no run.
        no_labels: the answers that are none of the dataset's labels; `None` if all are.
    """

    model: str
    file: str
    answers: dict[str, tuple[str, ...]]
    log: ItemAnswers | None = None
    run: RunDataset | None = None
    no_labels: Finding | None = None

    @property
    def unasked(self) -> int:
        """Return how many items of a run have no answer, because it was interrupted or requests failed."""
        record = self.run.record if self.run else None
        return sum(name not in self.answers for name in record.hashes) if record else 0

    @property
    def shots(self) -> int:
        """Return how many solved examples stood before each question, as the run or the log says it."""
        if self.log and self.log.source:
            return int(number_at(self.log.source.asked, "shots") or 0)
        record = self.run.record if self.run else None
        return record.shots if record else 0

    @property
    def usd(self) -> float | None:
        """Return the price of the answers to an item, if it is a run whose log tells it."""
        table = self.run.logged("item", "sample", "cost") if self.run else None
        if table is None or not table["cost"].is_not_null().any():
            return None
        return float(table["cost"].sum()) / table["item"].n_unique()


def read_samples(path: Path, crowd: Crowd) -> Samples:
    """Read a model's answers and bring them to the spelling of the annotators' answers.

    Args:
        path: a file of answers as `merilo.answer_tables` reads it, with `sample` if the model answered an
            item more than once; in JSON, the answer may also be the list of all samples. Or the log of
            another harness, or a folder with such a log (`merilo.models.log_formats`).
        crowd: the annotators with whom the model is compared.

    Raises:
        InputError: the file has no ids or answers, or has two answers to an item without sample numbers.
        DataError: the log of another harness has no answer to an item of the baseline.
    """
    log = read_answers(path, _declared(crowd), _named_items(crowd))
    records = log.in_file_order if log else read_item_answers(path)
    name = log.source.model if log and log.source else None
    return samples_of(records, crowd, name or path.stem, path, log)


def samples_of(
    records: Iterable[ItemAnswer], crowd: Crowd, model: str, file: Path, log: ItemAnswers | None = None
) -> Samples:
    """Bring a model's answers to the spelling of the annotators' answers.

    Args:
        records: the answers.
        crowd: the annotators with whom the model is compared.
        model: the name of the model.
        file: where the answers come from, for messages.
        log: the answers as read in the log of another harness.

    Raises:
        InputError: there are no answers, or two to an item without sample numbers; or half of them are no labels.
    """
    answers_by_item: dict[str, dict[str, str]] = {}
    golds = _results(crowd)
    sampled = False
    for record in records:
        sampled = sampled or record.sample is not None
        item = _folded(record.item)
        if not item:
            raise InputError("has an answer without an id", file=file, row=record.row)
        answers = answers_by_item.setdefault(item, {})
        for name, text in _verdicts(file, record, golds) if golds else _samples(file, record):
            if name in answers:
                hint = (
                    ""
                    if sampled
                    else "; if the model answered items several times, number its answers in 'sample'"
                )
                raise InputError(f"item {item[:60]!r} is answered twice{hint}", file=file, row=record.row)
            answers[name] = text
    if not answers_by_item:
        raise InputError("has no answers", file=file)
    spelling = _spelling(
        {answer for answers in answers_by_item.values() for answer in answers.values()}, crowd
    )
    spelled = {
        item: tuple(spelling[answer] for _, answer in _by_sample(answers))
        for item, answers in answers_by_item.items()
    }
    return Samples(
        model, str(file), spelled, log, no_labels=None if log else _no_labels(spelled, crowd, file)
    )


def _no_labels(answers: Mapping[str, Sequence[str]], crowd: Crowd, file: Path) -> Finding | None:
    form, names = _declared(crowd).answer, set(crowd.names)
    known = {*form.labels, *crowd.labels, *crowd.gold}
    labelled = ((item, answer) for item, each in answers.items() if item in names for answer in each)
    return no_labels(((item, _by_criteria(parsed)) for item, parsed in labelled), form, known, file)


def _by_criteria(answer: str) -> str | dict[str, str]:
    """Return the labels of an answer that is a JSON object of criteria."""
    try:
        content = json.loads(answer) if answer.startswith("{") else {}
    except ValueError:
        return answer
    return {name: _folded(label) for name, label in content.items()} or answer


def by_criterion(crowd: Crowd, models: Sequence[Samples]) -> dict[str, tuple[Crowd, list[Samples]]]:
    """Divide a baseline and models' answers by correlation.

    If the gold answer of an item has a label for each criterion.

    Annotators give one label, which is compared with the label of each criterion. Models give one label too,
    or a label for each criterion.

    Args:
        crowd: the annotators of the baseline.
        models: the models' answers.

    Returns:
        A mapping from the name of a correlation (`correct.virtue`) to the baseline and the models on its
        items, with single labels as gold and as answers; empty for other datasets.
    """
    if not crowd.declaration.answer.criteria:
        return {}
    return {
        part.name: (_part_of_people(crowd, part), [_part_of_model(model, crowd, part) for model in models])
        for part in parts(crowd.declaration, crowd.items)[1]
    }


def _part_of_people(crowd: Crowd, part: Part) -> Crowd:
    own = crowd.on(part.rows)
    items = tuple(replace(item, outputs=gold_label(item, part.criterion)) for item in own.items)
    form = Answer(kind="choice", labels=crowd.declaration.answer.labels)
    declaration = replace(crowd.declaration, metrics=(part.metric.name,), answer=form, extra=part.name)
    return replace(own, items=items, declaration=declaration)


def _part_of_model(model: Samples, crowd: Crowd, part: Part) -> Samples:
    other = set(crowd.names) - {crowd.names[row] for row in part.rows}
    criterion, labels = str(part.criterion), crowd.declaration.answer.labels
    return replace(
        model,
        answers={
            name: tuple(_label_of(answer, criterion, labels) for answer in answers)
            for name, answers in model.answers.items()
            if name not in other
        },
    )


def _label_of(answer: str, criterion: str, labels: Sequence[str]) -> str:
    """Return the label that an answer gives to a criterion: an answer is one label, or a JSON object of criteria."""
    by_criterion_labels = _by_criteria(answer)
    answer = (
        by_criterion_labels
        if isinstance(by_criterion_labels, str)
        else by_criterion_labels.get(criterion, "")
    )
    keys = answer_keys([("", text) for text in (answer, *labels)], undeclared(), labels)
    return next((label for label in labels if keys["", label] == keys["", answer]), answer)


def log_file(path: Path, crowd: Crowd) -> Path:
    """Return the file that a path means: the log in a folder that answers the baseline's items, or the file itself.

    Raises:
        InputError: the folder holds no log of another harness.
        DataError: the folder holds several logs with items of the baseline, or none.
    """
    return only_log(path, ItemFinder(_declared(crowd), _named_items(crowd)))[0] if path.is_dir() else path


def _named_items(crowd: Crowd) -> dict[str, Item]:
    """Return the items by id; those of a pool in the dataset's fields if they have them, for any of its prompts."""
    items = tuple(replace(item, id=name) for name, item in zip(crowd.names, crowd.items, strict=True))
    if crowd.declaration.fields and not any(item.instruction for item in items):
        own = items_of_pool(crowd.declaration, items)
        items = tuple(replace(item, instruction="") for item in own or items)
    return dict(zip(crowd.names, items, strict=True))


def _declared(crowd: Crowd) -> Dataset:
    """Return the declaration of the baseline's dataset: the one by which `merilo score` reads a log of it.

    Without a declaration, the labels are the gold answers if they are few, and the answers integers if all gold answers
    are integers.
    """
    plain = crowd.declaration
    name = plain.name or "these items"
    named = replace(plain, name=name, title=plain.title or name)
    if plain.answer.kind != "label":
        return named
    labels = plain.answer.labels or tuple(sorted(set(crowd.gold)))
    if 2 <= len(labels) <= MOST_CLOSED_LABELS:
        return replace(named, answer=Answer(kind="choice", labels=labels))
    kind: AnswerKind = "integer" if all(map(_INTEGER.fullmatch, labels)) else "text"
    return replace(named, answer=Answer(kind=kind))


def _samples(path: Path, record: ItemAnswer) -> Iterator[tuple[str, str]]:
    """Yield the samples of a record: one, or in JSON a list."""
    answer = record.answer
    if not isinstance(answer, list):
        yield sample_of(record), _folded(answer)
        return
    if not all(isinstance(sample, str | int | float | None) for sample in answer):
        raise InputError("the answer is neither a text nor a list of texts", file=path, row=record.row)
    if not answer:
        raise InputError("the list of answers is empty", file=path, row=record.row)
    for number, sample in enumerate(answer, start=1):
        yield str(number), _folded(sample)


def _results(crowd: Crowd) -> dict[str, list[str]]:
    """Return the expected results of the tests by item, if the answers are programs; else nothing."""
    if crowd.declaration.answer.kind != "program":
        return {}
    return {name: program_golds(item) for name, item in zip(crowd.names, crowd.items, strict=True)}


def _verdicts(path: Path, record: ItemAnswer, golds: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    """Yield the verdict on each program of a record: whether its results are those of the item's tests."""
    try:
        generations = read_answer(_PROGRAM, record.answer)
    except AnswerError as error:
        raise InputError(
            f"are not the results of programs ({error}): 'merilo run' and 'merilo code score' write them",
            file=path,
            row=record.row,
        ) from error
    gold = golds.get(_folded(record.item), [])
    for number, results in enumerate(generations, start=1):
        yield str(number), PASSED if results == tuple(gold) else FAILED


def _folded(value: Json) -> str:
    """Convert a value to text, with whitespace folded as in the annotators' answers."""
    return " ".join((json_text(value) or "").split())


def _by_sample(answers: dict[str, str]) -> list[tuple[str, str]]:
    """Sort samples by number; samples with other names follow in the order of the file."""
    return sorted(
        answers.items(), key=lambda pair: int(pair[0]) if pair[0].isdecimal() else len(answers) + 10**9
    )


def _spelling(written: set[str], crowd: Crowd) -> dict[str, str]:
    """Map each answer as typed to its spelling in the annotators' answers, by the same comparison."""
    if crowd.metric == "grade_norm":
        return dict(zip(written, written, strict=True))
    labels = [*dict.fromkeys((*crowd.labels, *crowd.gold))]
    texts = [("", text) for text in (*written, *labels)]
    keys = answer_keys(texts, crowd.declaration, crowd.declaration.answer.labels)
    known = {keys["", label]: label for label in reversed(labels)}
    return {answer: known.get(keys["", answer], answer) for answer in written}


def run_file(path: Path, dataset: str | None) -> Path:
    """Return the file of answers that a path means: for the folder of a run, its file of the dataset.

    Args:
        path: a file of answers, or the folder of a run.
        dataset: the dataset's name; without it, the run must have one dataset.

    Raises:
        UsageError: the run has no answers to the dataset.
        InputError: the run's answers have not been written.
    """
    if not is_run(path):
        return path
    folder = read_run(path)
    name = folder.dataset_named(dataset or None)
    file = folder.answers_file(name)
    if not file.is_file():
        raise InputError(f"has no {file.name}: the same 'merilo run' writes it", file=path)
    return file


def read_model(path: Path, crowd: Crowd) -> Samples:
    """Read a model's answers from a file or from the folder of a run, as `read_samples` does.

    A run has found the answers in its replies already.

    Raises:
        UsageError: the run has no answers to the baseline's dataset.
        InputError: the answers cannot be read, or the run asked other items.
    """
    file = run_file(path, crowd.declaration.name)
    samples = read_samples(file, crowd)
    if not is_run(file.parent):
        return samples
    run = RunDataset(read_run(file.parent), file.stem)
    if run.record:
        _refuse_other_items(run.record, crowd, file)
    # What became of a run's replies is told by `RunDataset.outcomes`.
    return replace(samples, model=run.folder.model, run=run, no_labels=None)


def model_file_name(path: Path) -> str:
    """Return the name of a copy of a model's file of answers: answers of a run are named after its model."""
    if is_run(path.parent):
        return re.sub(r"[^\w.-]+", "__", read_run(path.parent).model) + ".jsonl"
    return copied_name(path)


def _refuse_other_items(record: DatasetRecord, crowd: Crowd, file: Path) -> None:
    """Refuse a run whose items have the ids of the baseline's items and other texts."""
    other = [
        name
        for name, item in zip(crowd.names, crowd.items, strict=True)
        # Items made from the columns of an export have no instruction, and their texts may be shortened.
        if item.instruction
        and name in record.hashes
        and record.hashes[name].partition("-")[0] != inputs_hash(item)
    ]
    if other:
        raise InputError(
            f"the run asked other items than the baseline: the inputs of {len(other)} items differ "
            f"({listed(other, 5)})",
            file=file,
        )


def is_baseline(path: Path) -> bool:
    """Check whether a path is the folder of a baseline."""
    return (path / BASELINE_FILE).is_file()


def checked_paths(paths: Sequence[Path]) -> None:
    """Refuse what is no model's answers.

    Raises:
        InputError: a path does not exist, is an empty folder or an archive, or a table has no column of ids or of
            answers, as people's answers look.
    """
    for path in paths:
        if path.is_file() and zipfile.is_zipfile(path) and path.suffix.lower() in {".zip", ""}:
            with zipfile.ZipFile(path) as archive:
                if not any(map(_INSPECT_MEMBERS.match, archive.namelist())):
                    raise InputError("is a ZIP archive: unpack it, and give the folder", file=shown(path))
        if path.is_dir() and not any(path.iterdir()):
            raise InputError("is an empty folder", file=shown(path))
        if not path.exists():
            raise InputError("does not exist", file=shown(path))
        if (
            not path.is_file()
            or path.suffix.lower() in {".json", ".jsonl", ".ndjson"}
            or is_harness_log(path)
        ):
            continue
        try:
            next(iter(read_item_answers(path)), None)
        except OtherColumnsError as error:
            people = f"if people gave these answers, 'merilo baseline {shown(path)}' makes a baseline of them"
            raise InputError(f"{error.message}; {people}", file=shown(path), row=1) from error


def dataset_key(crowd: Crowd) -> str:
    """Return the name under which a baseline's dataset is listed: that of the dataset, or else that of the folder."""
    return crowd.declaration.name or Path(crowd.folder).resolve().name


def by_dataset(crowds: Sequence[Crowd]) -> dict[str, Crowd]:
    """Return a mapping from dataset to baseline.

    Raises:
        UsageError: two baselines are of the same dataset.
    """
    by_key: dict[str, Crowd] = {}
    for crowd in crowds:
        key = dataset_key(crowd)
        if key in by_key:
            raise UsageError(
                f"{shown(by_key[key].folder)} and {shown(crowd.folder)} are both baselines of "
                f"{key}: give one baseline of each dataset"
            )
        by_key[key] = crowd
    return by_key


def named_answers(name: str, answers: Answers, crowds: Mapping[str, Crowd]) -> dict[str, Samples]:
    """Read the answers of a model that the caller names: a file, a table, or a mapping; arguments as for `compare`."""
    if isinstance(answers, str | Path):
        return {
            key: replace(samples, model=name) for key, samples in answers_to(Path(answers), crowds).items()
        }
    if len(crowds) > 1:
        raise UsageError("answers in memory are compared with one baseline", field=argument("models"))
    records: Iterable[ItemAnswer]
    if isinstance(answers, Mapping):
        records = (
            ItemAnswer(row, str(item), answer if isinstance(answer, str) else list(answer))
            for row, (item, answer) in enumerate(answers.items(), start=1)
        )
    elif is_frame(answers):
        rows = records_of(polars_of(answers))
        records = (
            item_answer({**row_fields}, Path(name), row) for row, row_fields in enumerate(rows, start=1)
        )
    else:
        raise UsageError(
            f"the answers of '{name}' are no file, no table and no mapping", field=argument("models")
        )
    return {key: samples_of(records, crowd, name, Path(name)) for key, crowd in crowds.items()}


def answers_to(path: Path, crowds: Mapping[str, Crowd], *, force: bool = False) -> dict[str, Samples]:
    """Read a model's answers to the datasets of baselines.

    Args:
        path: the folder of a run, a folder with logs or with files named after datasets, a log, or a file of answers.
        crowds: the baselines by dataset.
        force: whether a file may answer other items than its baseline has.

    Returns:
        A mapping from dataset to the answers; a run may have none.

    Raises:
        UsageError: a file could belong to several baselines.
        InputError: the answers cannot be read, or a run asked other items than a baseline has.
        DataError: a file or folder has no answers to the items of any baseline.
    """
    if is_run(path):
        record = read_run(path).record
        own = {key for key, crowd in crowds.items() if len(crowds) == 1 and not crowd.declaration.name}
        return {
            key: read_model(path, crowd) for key, crowd in crowds.items() if record.key_of(key) or key in own
        }
    if path.is_dir():
        return _of_folder(path, crowds)
    if is_harness_log(path):
        return _of_log(path, crowds)
    key, name = _dataset_of(path, crowds, force=force)
    samples = read_model(path, crowds[key])
    return {key: samples if is_run(path.parent) or name is None else replace(samples, model=name)}


def _of_folder(path: Path, crowds: Mapping[str, Crowd]) -> dict[str, Samples]:
    files = dict(_named_files(path, crowds))
    if files:
        name = path.resolve().name
        read = {key: read_samples(file, crowds[key]) for key, file in files.items()}
        return {key: replace(samples, model=name) for key, samples in read.items()}
    if not is_harness_log(path):
        raise InputError(
            f"is no baseline (no {BASELINE_FILE}), no run (no run.json), and has no log and no "
            f"file of answers named after a dataset ({listed([*crowds])})",
            file=shown(path),
        )
    return _of_log(path, crowds)


def _named_files(path: Path, crowds: Mapping[str, Crowd]) -> Iterator[tuple[str, Path]]:
    """Yield the files of a folder that are named after datasets and are no logs."""
    for key in crowds:
        files = (path / f"{name}{suffix}" for suffix in _SUFFIXES for name in (key, key.lower()))
        file = next((file for file in files if file.is_file() and not is_harness_log(file)), None)
        if file is not None:
            yield key, file


def _of_log(path: Path, crowds: Mapping[str, Crowd]) -> dict[str, Samples]:
    """Read the answers of a log or of a folder of logs, whose name a model without a name gets."""
    answers, reason = {}, ""
    for key, crowd in crowds.items():
        try:
            samples = read_samples(log_file(path, crowd), crowd)
        except OtherItemsError as error:
            reason = error.message
            continue
        name = path.resolve().name if path.is_dir() else path.stem
        known = samples.log and samples.log.source and samples.log.source.model
        answers[key] = samples if known else replace(samples, model=name)
    if not answers:
        raise DataError(f"has no items of the baselines ({listed([*crowds])}): {reason}", file=shown(path))
    return answers


def _dataset_of(path: Path, crowds: Mapping[str, Crowd], *, force: bool) -> tuple[str, str | None]:
    """Return the dataset that a file of answers belongs to, and the model's name if the file's name has both."""
    lower = {key.lower(): key for key in crowds}
    parts = re.split(r"[._-]", path.stem)
    for at, rest in ((0, parts[1:]), (-1, parts[:-1])):
        if key := lower.get(parts[at].lower()):
            whole = path.stem
            name = whole[len(parts[0]) + 1 :] if at == 0 else whole[: -len(parts[-1]) - 1]
            return key, name if rest else path.resolve().parent.name
    if key := lower.get(path.resolve().parent.name.lower()):
        return key, None
    if len(crowds) == 1:
        return next(iter(crowds)), None
    answered = {" ".join(record.item.split()) for record in read_item_answers(path)}
    fits = [key for key, crowd in crowds.items() if answered == set(crowd.names)]
    if not fits and force:
        fits = [key for key, crowd in crowds.items() if answered & set(crowd.names)]
    if len(fits) == 1:
        return fits[0], None
    if fits:
        raise UsageError(
            f"{shown(path)} could belong to several baselines ({listed(fits)}): begin its name "
            f"with its dataset, such as {fits[0]}.jsonl"
        )
    raise DataError(
        f"its items are not those of any baseline ({listed([*crowds])}): begin its name with its "
        f"dataset, such as {next(iter(crowds))}.jsonl",
        file=shown(path),
    )
