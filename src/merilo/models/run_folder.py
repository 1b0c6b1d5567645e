"""The folder of a run: its record, its logs, and the files of answers made from them.

RUN/run.json                        what is asked and how
RUN/log/<dataset>.jsonl             every reply, appended as it arrives
RUN/<dataset>.jsonl                 the answers: id, answer, sample, outcome
RUN/<dataset>.completions.jsonl     the programs: task_id, completion, sample, outcome
RUN/<dataset>.json                  the results of the programs, as a submission has them

A command with the same parameters resumes a run. More items (`--limit`), more samples and further datasets
extend it. Anything else that changes the requests is refused, and the message shows the difference.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit, urlunsplit

from pydantic import BeforeValidator, InstanceOf, PlainSerializer

from merilo.atomic_write import write_text
from merilo.datasets import CATALOGUE
from merilo.errors import InputError, OutputError, UsageError, argument
from merilo.items import Item, entry_of
from merilo.models.asking import Mode
from merilo.models.prompter import PromptForm
from merilo.models.run_log import LOG_FOLDER, RunLog, open_log
from merilo.records import Object, Record
from merilo.settings import RunSettings
from merilo.strict_json import Json, indented
from merilo.wording import listed, shortened

#: The file in a run's folder.
RECORD_FILE: Final = "run.json"

#: Hexadecimal digits of a hash.
_DIGITS: Final = 12

#: What stands in the record in place of a key.
_HIDDEN: Final = "***"

_SECRET: Final = re.compile(
    r"(?:^|[-_])(?:api[-_]?key|key|token|password|secret|credentials?)$", re.IGNORECASE
)

#: Arguments of backends that change the speed of a run or its connections, and not its answers.
_OF_SPEED: Final = frozenset(
    {"num_concurrent", "max_retries", "timeout", "batch_size", "max_batch_size", "device"}
    | {"verify_certificate", "ca_cert_path"}
)


def hidden_args(args: Mapping[str, str]) -> dict[str, str]:
    """Return the arguments of a backend with keys and passwords hidden.

    Example:
        >>> hidden_args({"api_key": "sk-1", "base_url": "http://me:secret@host/v1", "tokenizer": "t"})
        {'api_key': '***', 'base_url': 'http://***@host/v1', 'tokenizer': 't'}
        >>> hidden_args({"extra_body": '{"user": {"key": "sk-1"}}'})
        {'extra_body': '{"user": {"key": "***"}}'}
    """
    return {name: _hidden(name, value) for name, value in args.items()}


def _hidden(name: str, value: str) -> str:
    if _SECRET.search(name):
        return _HIDDEN
    if value.startswith("{"):
        with suppress(ValueError, RecursionError):
            return json.dumps(_hidden_fields(json.loads(value)), ensure_ascii=False)
    return without_secrets(value) if "://" in value else value


def _hidden_fields(value: Json) -> Json:
    if isinstance(value, dict):
        return {
            name: _HIDDEN if _SECRET.search(name) else _hidden_fields(entry) for name, entry in value.items()
        }
    return [_hidden_fields(entry) for entry in value] if isinstance(value, list) else value


def without_secrets(address: str) -> str:
    """Return an address without what may be a key: the user, and all values of the query but the API's version.

    Example:
        >>> without_secrets("https://me:secret@host/v1?api-key=sk-1&api-version=2")
        'https://***@host/v1?api-key=***&api-version=2'
    """
    parts = urlsplit(address)
    user, at, host = parts.netloc.rpartition("@")
    query = re.sub(r"(?<![^&])(?!api-version=)([^&=]*=)[^&]*", r"\1***", parts.query)
    return urlunsplit(parts._replace(netloc=f"{_HIDDEN if user else ''}{at}{host}", query=query))


class AskedModel(Record):
    """The model of a run.

    Attributes:
        name: the name that tables show.
        backend: the backend's name.
        args: the backend's arguments; keys are hidden.
        builtin: whether it is a built-in respondent, which is no model.
    """

    name: str
    backend: str
    args: Annotated[dict[str, str], BeforeValidator(hidden_args)]
    builtin: bool = False


class DatasetRecord(Record):
    """What is asked of a dataset.

    Attributes:
        title: the dataset's title.
        declaration: its name, or the path of its declaration; in the file of the record, from the run's folder.
        data: the file of the items, the same.
        study: the folder of the study whose items are asked; `None` without a study.
        mode: generation or log-likelihood.
        chat: whether requests are conversations.
        prompts: the form of requests: "harness", "merilo" or "people".
        shots: solved items before each question.
        shots_sha256: the hash of the solved items that shots are taken from.
        samples: answers to each item.
        limit: the first items that are asked; `None` for all.
        hashes: item id -> hash of the item without its gold answer, in the order in which items are asked.
    """

    title: str
    declaration: str
    data: str
    study: str | None
    mode: Mode
    chat: bool
    prompts: PromptForm
    shots: int
    shots_sha256: str
    samples: int
    limit: int | None
    hashes: dict[str, str]

    def moved(self, here: Path, there: Path) -> DatasetRecord:
        """Return the record with those paths that begin in one folder beginning in another one."""
        paths = {name: getattr(self, name) or "" for name in ("declaration", "data", "study")}
        own = {name: path for name, path in paths.items() if path.lower() not in {"", *CATALOGUE}}
        files = {name: here / path for name, path in own.items() if not Path(path).is_absolute()}
        moved = {name: os.path.relpath(file, there) for name, file in files.items() if file.exists()}
        return self.model_copy(update=moved)

    @property
    def requests(self) -> int:
        """How many answers are asked for."""
        return len(self.hashes) * self.samples

    @property
    def condition(self) -> str:
        """How the dataset was asked, for the name of the model in tables.

        Empty for the prompts of the benchmark's harness, for those that people saw, and for Merilo's of a dataset that
        the harness does not have.
        """
        known = self.declaration.lower() in CATALOGUE
        return "prompts: merilo" if self.prompts == "merilo" and known else ""


def _settings(value: object) -> object:
    return RunSettings.of(value) if isinstance(value, dict) else value


def _written_settings(settings: RunSettings) -> dict[str, Json]:
    return {**settings.of_requests(), "extract": settings.extract}


class RunRecord(Record):
    """Everything that determines the requests of a run.

    Attributes:
        model: the model.
        settings: the settings of requests.
        datasets: the datasets by name.
        commands: what was called, the first command first: the command, its time, the backend's arguments,
            and versions.
    """

    format: Literal["merilo run 1"]
    model: AskedModel
    settings: Annotated[
        InstanceOf[RunSettings],
        BeforeValidator(_settings),
        PlainSerializer(_written_settings, return_type=Object),
    ]
    datasets: dict[str, DatasetRecord]
    commands: tuple[Object, ...] = ()

    def key_of(self, name: str) -> str | None:
        """Return the dataset of this name in any letter case."""
        return next((known for known in self.datasets if known.lower() == name.lower()), None)

    def extended(self, other: RunRecord, run: Path) -> RunRecord:
        """Return the record of this run after a later command.

        Args:
            other: what the later command asks.
            run: the folder of the run, for messages.

        Raises:
            UsageError: the later command asks something else under the same names.
        """
        _refuse(_differences(self._fixed(), other._fixed()), run)
        datasets = dict(self.datasets)
        for name, new in other.datasets.items():
            old = datasets.get(name)
            datasets[name] = new if old is None else _extended(name, old, new, run)
        settings = replace(self.settings, extract=other.settings.extract or self.settings.extract)
        commands = (*self.commands, *other.commands)
        return self.model_copy(update={"settings": settings, "datasets": datasets, "commands": commands})

    def moved(self, here: Path, there: Path) -> RunRecord:
        """Return the record with the paths of its datasets moved."""
        datasets = {name: record.moved(here, there) for name, record in self.datasets.items()}
        return self.model_copy(update={"datasets": datasets})

    def _fixed(self) -> dict[str, Json]:
        """Return the parameters that must not change."""
        shown = {name: value for name, value in self.model.args.items() if value != _HIDDEN}
        args: dict[str, Json] = {name: value for name, value in shown.items() if name not in _OF_SPEED}
        if "base_url" in shown:
            # The same server may be at another host or port the next day; each command records its own address.
            address = urlsplit(shown["base_url"])
            args["base_url"] = urlunsplit(
                address._replace(scheme="", netloc="", path=address.path.rstrip("/"))
            )
        model: dict[str, Json] = {"backend": self.model.backend, "name": self.model.name, "args": args}
        return {"model": model, **self.settings.of_requests()}


def write_record(run: Path, record: RunRecord) -> None:
    """Write the record into a run's folder.

    Raises:
        OutputError: the file cannot be written.
    """
    write_text(run / RECORD_FILE, indented(record.to_json()) + "\n")


def read_record(run: Path) -> RunRecord:
    """Read the record of a run's folder, whose paths begin there.

    Raises:
        InputError: the folder is not one of a run, or its record is not one of this version.
    """
    path = run / RECORD_FILE
    if not path.is_file():
        raise InputError(f"not a folder of 'merilo run': {RECORD_FILE} is missing", file=run)
    try:
        return RunRecord.read(path)
    except (InputError, UsageError):
        raise InputError("is not the record of a run of this version", file=path) from None


def is_run(path: Path) -> bool:
    """Check whether a path is the folder of a run."""
    return (path / RECORD_FILE).is_file()


def item_hashes(items: Iterable[Item]) -> dict[str, str]:
    """Return the hash of each item by its id as text. Gold answers do not count: they may be added for scoring."""
    return {str(item.id): item_hash(item) for item in items}


def item_hash(item: Item) -> str:
    """Return the hash of what is asked about an item: its inputs, and after a hyphen its instruction."""
    return f"{inputs_hash(item)}-{_hash(item.instruction)[:_DIGITS]}"


def inputs_hash(item: Item) -> str:
    """Return the hash of an item's inputs, the first part of `item_hash`."""
    return _hash(item.inputs if isinstance(item.inputs, str) else dict(item.inputs))[:_DIGITS]


def _hash(content: Json) -> str:
    text = json.dumps(content, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def shots_hash(shots: Sequence[Item]) -> str:
    """Return the hash of the solved items that shots are taken from; empty without any."""
    return _hash([entry_of(shot) for shot in shots])[:_DIGITS] if shots else ""


def refuse_other_items(record: DatasetRecord, items: Sequence[Item], file: object) -> None:
    """Refuse items that are not those that were asked.

    Raises:
        InputError: an item of the run is missing in the file, or its text differs.
    """
    hashes = item_hashes(items)
    asked = len(record.hashes)
    if missing := [name for name in record.hashes if name not in hashes]:
        reason = f"{len(missing)} of {asked} are missing ({listed(missing, 5)})"
        raise InputError(f"has not all items of the run: {reason}", file=file)
    if other := [name for name, known in record.hashes.items() if hashes[name] != known]:
        reason = f"{len(other)} of {asked} differ ({listed(other, 5)})"
        raise InputError(f"its items are not those that were asked: {reason}", file=file)


def _extended(name: str, old: DatasetRecord, new: DatasetRecord, run: Path) -> DatasetRecord:
    free = {"samples", "limit", "hashes", "data", "title"}
    before, now = (
        {key: value for key, value in record.to_json().items() if key not in free} for record in (old, new)
    )
    differences = _differences(before, now)
    if new.samples < old.samples:
        differences.append(f"samples was {old.samples} and is now {new.samples}, but can only be raised")
    if changed := [item for item, known in old.hashes.items() if new.hashes.get(item, known) != known]:
        differences.append(f"{len(changed)} items have changed since ({listed(changed, 5)})")
    gone = [item for item in old.hashes if item not in new.hashes]
    if gone and new.limit is not None and (old.limit is None or new.limit < old.limit):
        differences.append(
            f"limit was {old.limit or 'not given'} and is now {new.limit}, but can only be raised"
        )
    elif gone:
        differences.append(f"{len(gone)} items are not among the items now ({listed(gone, 5)})")
    _refuse([f"{name}: {difference}" for difference in differences], run)
    return new


def _differences(old: Mapping[str, Json], new: Mapping[str, Json], where: str = "") -> list[str]:
    """Return what differs between two records, a phrase for each parameter."""
    differences: list[str] = []
    for name in dict.fromkeys((*old, *new)):
        before, now = old.get(name), new.get(name)
        if isinstance(before, dict) and isinstance(now, dict):
            differences += _differences(before, now, f"{where}{name}.")
        elif before != now:
            differences.append(f"{where}{name} was {_told(before)} and is now {_told(now)}")
    return differences


def _told(value: Json) -> str:
    return "not given" if value is None else shortened(json.dumps(value, ensure_ascii=False))


def _refuse(differences: Sequence[str], run: Path) -> None:
    if differences:
        what = f"choose another folder, or start this one again with {argument('force', given=True)}"
        raise UsageError(f"holds another run: {listed(differences, 4)}; {what}", file=run)


#: The folder of the sandbox's verdicts in a run's folder.
SANDBOX_FOLDER: Final = "sandbox"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of a run with its record.

    Attributes:
        path: the folder.
        record: what is asked and how.
    """

    path: Path
    record: RunRecord

    def answers_file(self, dataset: str) -> Path:
        """Return the file of the answers to a dataset; for programs, their results."""
        programs = self.path / f"{dataset}.json"
        return programs if programs.is_file() else self.path / f"{dataset}.jsonl"

    @property
    def model(self) -> str:
        """The model's name, as tables show it; a built-in respondent says so, and others how they were asked."""
        model, datasets = self.record.model, self.record.datasets.values()
        if model.builtin:
            return model.name
        extract = "extract: harness" if self.record.settings.extract == "harness" else ""
        conditions = dict.fromkeys(filter(None, (*(dataset.condition for dataset in datasets), extract)))
        return f"{model.name} ({'; '.join(conditions)})" if conditions else model.name

    def dataset_named(self, name: str | None = None) -> str:
        """Return a dataset of the run: that of this name, or the only one.

        Raises:
            UsageError: the run has no such dataset, or several and none is named.
        """
        names = list(self.record.datasets)
        if name and (known := self.record.key_of(name)):
            return known
        if not name and len(names) == 1:
            return names[0]
        reason = (
            f"the run has answers to {listed(names)}; name one file, such as {self.path / names[0]}.jsonl"
        )
        if name:
            reason = f"the run has no answers to {name}, only to {listed(names)}"
        raise UsageError(reason, field=str(self.path))


def read_run(path: Path) -> RunFolder:
    """Read the folder of a run.

    Raises:
        InputError: the folder is not one of a run, or its record cannot be read.
    """
    return RunFolder(path, read_record(path).moved(path, Path()))


@contextmanager
def run_in(path: Path, record: RunRecord, *, force: bool = False) -> Iterator[tuple[RunFolder, RunLog]]:
    """Open the folder of a run for asking: make it, or resume the run that it holds.

    Args:
        path: the folder.
        record: what is asked and how.
        force: delete the run that the folder holds and start again.

    Yields:
        The folder with the whole record, and its log.

    Raises:
        UsageError: the folder holds another run.
        InputError: its record cannot be read.
        OutputError: it holds other files, cannot be written, or another process is writing it.
    """
    if path.exists() and not is_run(path) and not _is_new(path):
        raise OutputError("exists already and holds no run; choose another folder", file=path)
    with open_log(path) as log:
        if is_run(path) and force:
            _clear(path)
        record = record.moved(Path(), path)
        if is_run(path):
            record = read_record(path).extended(record, path)
        write_record(path, record)
        yield read_run(path), log


def _is_new(path: Path) -> bool:
    """Check whether a folder is empty, or a run that was killed before its record was written."""
    if not path.is_dir():
        return False
    names = {entry.name for entry in path.iterdir()}
    log = path / LOG_FOLDER
    return names <= {LOG_FOLDER} and (not log.is_dir() or not any(log.glob("*.jsonl")))


def _clear(path: Path) -> None:
    """Delete the files of a run; other files in its folder are kept."""
    try:
        datasets = list(read_record(path).datasets)
    except InputError:
        datasets = []
    try:
        for name in datasets:
            for suffix in (".jsonl", ".json", ".completions.jsonl"):
                (path / f"{name}{suffix}").unlink(missing_ok=True)
        for entry in (path / LOG_FOLDER).glob("*.*"):
            entry.unlink()
        shutil.rmtree(path / SANDBOX_FOLDER, ignore_errors=True)
        (path / RECORD_FILE).unlink()
    except OSError as error:
        cleared = f"cannot be cleared for {argument('force', given=True)} ({error.strerror})"
        raise OutputError(cleared, file=path) from error
