"""`merilo.run`: ask a model the items of datasets, log every reply, and score the answers."""

from __future__ import annotations

import mimetypes
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from pydantic_core import to_jsonable_python

from merilo.datasets.declaration import Dataset
from merilo.datasets.rendering import Media, parts
from merilo.errors import DataError, InputError, MissingPartError, UsageError, argument
from merilo.files import sha256
from merilo.items import Item, ItemId, Split
from merilo.models.asking import (
    UNLIMITED_TOKENS,
    Abilities,
    Dialogue,
    ModelBackend,
    ModelReply,
    Price,
    Progress,
    Request,
    Requests,
    RunBudget,
    RunInLoop,
    ask_all,
    estimated_tokens,
    event_loop,
)
from merilo.models.backends import open_model, self_check
from merilo.models.builtin_respondents import RespondentMaterial
from merilo.models.prompter import EarlierTurn, Prompter
from merilo.models.reply_answers import read_reply, write_answers
from merilo.models.run_folder import (
    SANDBOX_FOLDER,
    AskedModel,
    DatasetRecord,
    RunFolder,
    RunRecord,
    hidden_args,
    is_run,
    item_hashes,
    read_record,
    run_in,
    shots_hash,
)
from merilo.models.run_log import Earlier, RunLog
from merilo.runs.item_sources import BUNDLED_NAME, ItemSource, item_sources, study_source
from merilo.runs.program_scores import Watch, score_programs, unwatched
from merilo.runs.scores import DatasetRun, RunResult, scored_dataset
from merilo.settings import RunSettings
from merilo.strict_json import Json
from merilo.version import __version__
from merilo.wording import listed

#: What was answered before: (item, sample) -> request and reply.
Known: TypeAlias = "Mapping[tuple[str, int], Earlier]"

#: Kinds of media with their names in messages.
_KINDS: Final = {"image": "pictures", "audio": "sounds", "video": "films"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What a run asks, and how.

    Attributes:
        model: the backend's name, or a backend.
        datasets: names of datasets, or paths of declarations.
        model_args: the backend's arguments by name.
        data: a folder of items, or one file.
        study: the folder of a study.
        settings: the settings of the run.
        command: the command, for the record.
    """

    model: str | ModelBackend
    datasets: Sequence[str] = ()
    model_args: Mapping[str, str] = field(default_factory=dict)
    data: Path | None = None
    study: Path | None = None
    settings: RunSettings = field(default_factory=RunSettings)
    command: str = "merilo.run"

    def __post_init__(self) -> None:
        """Refuse what would not change the requests."""
        chosen = {"data": self.data, "prompts": self.settings.prompts, "shots": self.settings.shots}
        for name, value in chosen.items():
            if self.study and value:
                leave = f"leave out {argument(name)}"
                raise UsageError(
                    f"a study is asked exactly as people saw it: {leave}", field=argument("study")
                )
        if self.model_args and not isinstance(self.model, str):
            raise UsageError("is for a backend that is named", field=argument("model_args"))

    @property
    def price(self) -> Price | None:
        """The price of tokens; `None` if it is not known."""
        return None if self.settings.prices is None else Price(*self.settings.prices)


@dataclass(frozen=True, slots=True)
class AskedDataset:
    """A dataset as a run asks it.

    Attributes:
        source: where the items come from.
        prompter: makes the requests.
        split: the items that are asked, in order.
        shots: the solved items that shots are taken from.
        refused: items that the backend cannot be asked, because it takes no such media.
    """

    source: ItemSource
    prompter: Prompter
    split: Split
    shots: Sequence[Item]
    refused: tuple[ItemId, ...] = ()

    @property
    def declared(self) -> Dataset:
        """The dataset."""
        return self.source.declared

    @property
    def samples(self) -> int:
        """How many answers each item gets."""
        return self.prompter.asked.samples

    @property
    def count(self) -> int:
        """How many answers are asked for."""
        return len(self.split) * self.samples

    @property
    def is_dialogue(self) -> bool:
        """Whether a request holds the answers to earlier ones."""
        return self.declared.shots.earlier_turns

    def requests(self, known: Known) -> Requests:
        """Make the requests that are not answered yet, one at a time.

        Args:
            known: what was answered before, with replies if the dataset has dialogues.

        Raises:
            UsageError: an item was asked before with another request.
            DataError: an item cannot be rendered.
        """
        if self.is_dialogue:
            for sample in range(1, self.samples + 1):
                for turns in self.split.dialogues():
                    yield self._dialogue(turns, sample, known)
            return
        for item in self.split:
            for sample in range(1, self.samples + 1):
                request = self.prompter.request(item, sample)
                if not _is_answered(request, known):
                    yield request

    def refuse_blind(self) -> None:
        """Refuse items whose prompts show nothing of them, before anything is asked.

        Raises:
            DataError: a prompt is empty or shows none of its item's inputs, or an item cannot be rendered.
        """
        blind = [(item, fault) for item in self.split if (fault := self.prompter.blind(item))]
        if blind:
            item, fault = blind[0]
            more = f" (and {len(blind) - 1} more of {len(self.split)})" if len(blind) > 1 else ""
            named = [f"{{{name}}}" for name in self.declared.fields or (self.declared.placeholder,)]
            prompt = f"the prompt of item {item.id}{more} of {self.declared.title} {fault}"
            needs = (
                f"an item needs an instruction that names its inputs, which the dataset calls {listed(named)}"
            )
            raise DataError(f"{prompt}: {needs}", file=self.source.place)

    def record(self) -> DatasetRecord:
        """Return the record of what is asked."""
        return DatasetRecord(
            title=self.declared.title,
            declaration=self.source.declaration,
            data=self.source.place,
            study=None if self.source.study is None else str(self.source.study),
            mode=self.prompter.asked.mode,
            chat=self.prompter.chat,
            prompts=self.prompter.form,
            shots=self.prompter.shot_count,
            shots_sha256=shots_hash(self.shots) if self.prompter.shot_count else "",
            samples=self.samples,
            limit=self.prompter.settings.limit,
            hashes=item_hashes(self.split),
        )

    def _dialogue(self, turns: Sequence[Item], sample: int, known: Known) -> Dialogue:
        earlier: list[EarlierTurn] = []
        for item in turns:
            request = self.prompter.request(item, sample, earlier)
            before = known[request.key[1:]] if _is_answered(request, known) else None
            reply = before.reply if before and before.reply else (yield request)
            if reply.finish == "failed":
                return
            earlier.append(self.earlier_turn(item, reply))

    def earlier_turn(self, item: Item, reply: ModelReply) -> EarlierTurn:
        """Return a turn of a dialogue with the answer that later turns show."""
        read = read_reply(self.declared, item, reply, self.prompter.reads_turns_like)
        return item, read.answer if read.outcome == "answered" else None


def limited(split: Split, limit: int | None) -> Split:
    """Return the first items of a split.

    Example:
        >>> from merilo.items import Item
        >>> len(limited(Split("test", (Item(1, "", ""), Item(2, "", ""))), 1))
        1
    """
    if limit is None or limit >= len(split):
        return split
    lengths: list[int] = []
    for length in split.lengths:
        lengths.append(min(length, limit - sum(lengths)))
    return replace(split, items=split.items[:limit], lengths=tuple(filter(None, lengths)))


def without_media(split: Split, declared: Dataset, abilities: Abilities) -> tuple[Split, tuple[ItemId, ...]]:
    """Leave out the items with media that a backend does not take.

    Returns:
        The other items, and the ids of those left out.

    Raises:
        UsageError: no item is left.
    """
    if not declared.media:
        return split, ()
    kinds = {item.id: _media_kinds(item, declared) - abilities.media for item in split}
    refused = tuple(name for name, lacking in kinds.items() if lacking)
    if len(refused) == len(split):
        named = listed([_KINDS[kind] for kind in sorted(set().union(*kinds.values()))])
        lacks = f"have {named}, which this backend does not take; choose another backend"
        raise UsageError(f"the items of {declared.title} {lacks}")
    taken = [tuple(item for item in turns if not kinds[item.id]) for turns in split.dialogues()]
    lengths = tuple(len(turns) for turns in taken if turns) if split.lengths else ()
    return replace(split, items=tuple(item for turns in taken for item in turns), lengths=lengths), refused


def _media_kinds(item: Item, declared: Dataset) -> set[str]:
    paths = [piece.path for piece in parts(item, declared) if isinstance(piece, Media)]
    kinds = {(mimetypes.guess_type(path)[0] or "").partition("/")[0] for path in paths}
    if unknown := kinds - _KINDS.keys():
        what = f"a file that is no picture, sound or film ({min(unknown) or 'unknown'})"
        raise DataError(f"item {item.id} has {what}")
    return kinds


def _is_answered(request: Request, known: Known) -> bool:
    """Check whether a request was answered before.

    Raises:
        UsageError: another request was asked for the same item and sample.
    """
    before = known.get(request.key[1:])
    if before is None:
        return False
    if before.request != request.sha256:
        version = "its log is of another version of the items, the prompts or Merilo; choose another folder"
        raise UsageError(
            f"item {request.item} of {request.dataset} was asked with another prompt before: {version}"
        )
    return True


def asked_dataset(source: ItemSource, settings: RunSettings, abilities: Abilities) -> AskedDataset:
    """Make a dataset of a run as it is asked.

    Args:
        source: the items.
        settings: the settings of the run.
        abilities: what the backend can do.

    Raises:
        UsageError: the settings do not fit the dataset or the backend.
        DataError: the dataset has no items, or its shots are missing.
    """
    declared = source.declared
    if not len(source.split):
        raise InputError(f"has no items of {declared.title}", file=source.file)
    if settings.as_people or source.study is not None:
        settings = replace(settings, as_people=True, prompts=None)
    elif source.of_baseline:
        # A baseline holds no solved items, and its prompts are not those of the benchmark's harness.
        settings = replace(settings, shots=settings.shots or 0, prompts=settings.prompts or "merilo")
    shots: Sequence[Item] = ()
    if not settings.as_people and (declared.shots.count or settings.shots):
        shots = source.shots
    prompter = Prompter(declared, shots, settings, chat=abilities.chat, items=source.split.items)
    if prompter.asked.mode not in abilities.modes:
        if prompter.asked.mode == "generate":
            raise UsageError(f"this backend generates no text, which {declared.title} needs")
        way = argument("mode", "generate", given="generate")
        raise UsageError(f"this backend has no log-likelihoods: ask {declared.title} with {way}")
    split, refused = without_media(limited(source.split, settings.limit), declared, abilities)
    asked = AskedDataset(source, prompter, split, shots, refused)
    asked.refuse_blind()
    return asked


class DatasetPlan(NamedTuple):
    """The requests of one dataset.

    Attributes:
        title: the dataset's title.
        items: items that are asked.
        samples: answers to each item.
        prompt_tokens: the estimated tokens of all requests. Earlier turns of dialogues are not part of it.
        completion_tokens: the most tokens of all answers.
        usd: the most that the dataset is expected to cost; `None` without a price.
        requests: how many requests are sent.
        refused_media: items that the backend cannot be asked.
        rendered: the request of each item.
    """

    title: str
    items: int
    samples: int
    prompt_tokens: int
    completion_tokens: int
    usd: float | None
    requests: int
    refused_media: int
    rendered: tuple[Request, ...]

    def to_dict(self) -> dict[str, Json]:
        """Return the plan of the dataset as JSON."""
        return self._asdict() | {"rendered": [rendered(request) for request in self.rendered]}


@dataclass(frozen=True, slots=True)
class RunPlan:
    """The requests of a run.

    Attributes:
        model: the model's name.
        datasets: the plan of each dataset by name.
    """

    model: str
    datasets: dict[str, DatasetPlan]

    @property
    def usd(self) -> float | None:
        """The most that the run is expected to cost in US dollars; `None` without a price."""
        known = [dataset.usd for dataset in self.datasets.values() if dataset.usd is not None]
        return sum(known) if known else None

    def to_dict(self) -> dict[str, Json]:
        """Return the plan as JSON, with every request as it is rendered."""
        return {
            "model": self.model,
            "usd": self.usd,
            "datasets": {name: dataset.to_dict() for name, dataset in self.datasets.items()},
        }


def rendered(request: Request) -> dict[str, Json]:
    """Return a request as JSON."""
    content: dict[str, Json] = {"item": request.item, "sha256": request.sha256}
    if request.messages:
        content["messages"] = [
            {"role": message.role, "content": message.text} for message in request.messages
        ]
    else:
        content["prompt"] = request.prompt
    if request.choices:
        return content | {"choices": list(request.choices)}
    names = ("stop", "max_tokens", "temperature", "seed")
    return content | {name: to_jsonable_python(getattr(request, name)) for name in names}


def _dataset(asked: AskedDataset, price: Price | None) -> DatasetPlan:
    # Turns of a dialogue have no earlier turns here.
    requests = tuple(map(asked.prompter.request, asked.split))
    prompt = completion = 0
    for request in requests:
        compared = len(request.choices)
        prompt += estimated_tokens(request) * max(1, compared) * asked.samples
        completion += (compared or request.max_tokens or UNLIMITED_TOKENS) * asked.samples
    usd = None if price is None else price.of(prompt, completion)
    items, refused = len(asked.split), len(asked.refused)
    return DatasetPlan(
        asked.declared.title, items, asked.samples, prompt, completion, usd, asked.count, refused, requests
    )


#: Called before anything is asked with the number of requests that are left and that were answered before;
#: the returned context receives a function to call with the progress.
AskWatch: TypeAlias = Callable[[int, int], AbstractContextManager[Callable[[Progress], None]]]


def run(
    model: str | ModelBackend,
    datasets: str | Sequence[str] = (),
    *,
    out: str | Path,
    model_args: Mapping[str, str] | None = None,
    data: str | Path | None = None,
    study: str | Path | None = None,
    force: bool = False,
    settings: RunSettings | None = None,
    **chosen: object,
) -> RunResult:
    """Ask a model the items of datasets and score the answers, as `merilo run` does.

    Every reply is logged as it arrives. If the run ends early, the same call resumes it and asks nothing twice.

    Args:
        model: the name of a backend (`openai-chat-completions`, `hf`, ...), of a built-in respondent
            (`random`, `most-frequent`, `longest`, `gold`), or a backend object.
        datasets: names of datasets, or paths of declarations.
        out: the folder of the run.
        model_args: the backend's arguments by name, such as `{"model": "gpt-4o"}`.
        data: a folder with `<name>.json` or `<name>/test.json` for each dataset, the folder of a baseline, whose
            items are asked without shots, or a file; by default, the items included in Merilo.
        study: the folder of a study: its items are asked exactly as people saw them.
        force: delete the run in the folder and start again.
        settings: the settings of the run.
        **chosen: single settings by name, such as `shots=0`; `merilo.RunSettings` declares them, `merilo run
            --help` explains them.

    Returns:
        The answers' scores with the outcomes of all requests.

    Raises:
        UsageError: the arguments do not fit each other, a dataset or the backend; or the folder holds another run.
        InputError: a file cannot be read.
        OutputError: the folder cannot be written, or another process is writing it.
        BackendError: the backend cannot answer at all.
        MissingPartError: an extra is missing.
        DataError: an item cannot be rendered, or a dataset has no shots.
    """
    options = RunOptions(
        model=model,
        datasets=(datasets,) if isinstance(datasets, str) else tuple(datasets),
        model_args=model_args or {},
        data=None if data is None else Path(data),
        study=None if study is None else Path(study),
        settings=RunSettings.of(chosen, settings),
    )
    return run_model(options, Path(out), force=force)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A run that is ready to ask."""

    options: RunOptions
    backend: ModelBackend
    asked: Sequence[AskedDataset]
    record: RunRecord


def run_model(
    options: RunOptions,
    out: Path,
    *,
    force: bool = False,
    watch: AskWatch = unwatched,
    watch_programs: Watch = unwatched,
    say: Callable[[str], None] = lambda _: None,
) -> RunResult:
    """Ask a model and score its answers.

    Args:
        options: what is asked.
        out: the folder of the run.
        force: delete the run in the folder and start again.
        watch: shows the progress of asking.
        watch_programs: shows the progress of the sandbox.
        say: told of cut-off logs and of other events before the run.

    Raises:
        MeriloError: as `run`.
    """
    with (
        event_loop() as loop,
        _prepared(options if force else _as_begun(options, out), loop) as prepared,
        run_in(out, prepared.record, force=force) as (folder, log),
    ):
        begun = time.monotonic()
        done = _ask(prepared, log, loop, watch, say)
        seconds = time.monotonic() - begun
    return _result(prepared, folder, done, seconds, watch=watch_programs)


def _as_begun(options: RunOptions, out: Path) -> RunOptions:
    """Return the options with the prompts of the run that a folder holds, unless they are chosen."""
    chosen = options.settings
    if not is_run(out) or chosen.as_people:
        return options
    begun = read_record(out).settings
    return replace(options, settings=replace(chosen, prompts=chosen.prompts or begun.prompts))


def plan_run(options: RunOptions) -> RunPlan:
    """Render the requests of a run and estimate its tokens and cost; nothing is asked.

    Raises:
        MeriloError: as `run`.
    """
    with event_loop() as loop, _prepared(options, loop) as prepared:
        plans = {dataset.declared.name: _dataset(dataset, options.price) for dataset in prepared.asked}
        return RunPlan(prepared.record.model.name, plans)


@contextmanager
def _prepared(options: RunOptions, loop: RunInLoop) -> Iterator[_Prepared]:
    """Open the backend and make the datasets; the backend is closed at the end."""
    if options.study is None:
        sources = item_sources(options.datasets, options.data)
    else:
        sources = [study_source(options.study, options.datasets)]
    if isinstance(options.model, str):
        backend = open_model(
            options.model,
            options.model_args,
            options.settings,
            [
                RespondentMaterial(
                    source.declared, source.split.items, () if options.settings.as_people else source.shots
                )
                for source in sources
            ],
            {source.declared.name: source.file.parent for source in sources},
        )
    else:
        backend = options.model
    command: dict[str, Json] = {
        "command": options.command,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "merilo": __version__,
        "model_args": {**hidden_args(options.model_args)},
    }
    try:
        asked = [asked_dataset(source, options.settings, backend.abilities) for source in sources]
        record = RunRecord(
            format="merilo run 1",
            model=AskedModel(
                name=backend.model,
                backend=backend.name,
                args=dict(options.model_args),
                builtin=backend.abilities.builtin,
            ),
            settings=options.settings,
            datasets={dataset.declared.name: dataset.record() for dataset in asked},
            commands=(command,),
        )
        yield _Prepared(options, backend, asked, record)
    finally:
        loop(backend.close())


def _ask(
    prepared: _Prepared, log: RunLog, loop: RunInLoop, watch: AskWatch, say: Callable[[str], None]
) -> Progress:
    sources: list[Requests] = []
    left = answered = 0
    usd = 0.0
    for dataset in prepared.asked:
        name = dataset.declared.name
        known, spent = log.earlier(name, replies=dataset.is_dialogue)
        usd, done = usd + spent, len(known)
        answered, left = answered + done, left + max(0, dataset.count - done)
        sources.append(dataset.requests(known))
    for cut in log.cut:
        say(f"{cut}; its request is asked again")
    compared = any(dataset.mode == "loglikelihood" for dataset in prepared.record.datasets.values())
    if left and compared and isinstance(prepared.options.model, str) and not prepared.record.model.builtin:
        loop(self_check(prepared.backend))
    options, limits = prepared.options, prepared.options.settings
    budget = RunBudget(options.price, max_usd=limits.max_usd, usd=usd)
    everything = chain.from_iterable(sources)
    with watch(left, answered) as tell:
        return ask_all(prepared.backend, everything, log, budget, watch=tell, run=loop)


def _result(
    prepared: _Prepared, folder: RunFolder, done: Progress, seconds: float, *, watch: Watch
) -> RunResult:
    scored_datasets: dict[str, DatasetRun] = {}
    notes: list[str] = []
    for dataset in prepared.asked:
        name = dataset.declared.name
        scored = scored_dataset(folder, name, dataset.source)
        write_answers(folder.path, scored.answers)
        if dataset.declared.answer.kind == "program" and scored.answers.rows:
            note = run_programs(folder, dataset.source, watch)
            notes += [note] if note else []
            scored = scored_dataset(folder, name, dataset.source)
        if dataset.refused:
            notes.append(
                f"{dataset.declared.title}: {len(dataset.refused)} of {len(dataset.source.split)} items have "
                "media that the backend does not take, and are left out"
            )
        notes += scored.answers.warnings()
        scored_datasets[name] = scored
    asked = (dataset.declared.title for dataset in prepared.asked if dataset.source.place == BUNDLED_NAME)
    if bundled := [*asked]:
        notes.append(
            f"{listed(bundled)}: the items are examples included in Merilo, not the benchmark's test"
        )
    if prepared.record.model.builtin:
        notes.append(f"{prepared.record.model.name} is a built-in respondent, not a model")
    return RunResult(
        folder, scored_datasets, done.stopped, seconds, done.answered + done.failed, tuple(notes)
    )


def run_programs(folder: RunFolder, source: ItemSource, watch: Watch) -> str:
    """Run the programs of a dataset in the sandbox and write their results as `<dataset>.json`.

    Programs that were judged before are not run again.

    Returns:
        A sentence if there is no sandbox; else an empty text.

    Raises:
        DataError: a problem is invalid.
        OutputError: the results cannot be written.
    """
    name = source.declared.name
    completions = folder.path / f"{name}.completions.jsonl"
    results = folder.path / f"{name}.json"
    # The ledger of other completions, from before the run was extended, is of no use.
    place = folder.path / SANDBOX_FOLDER / f"{name}-{sha256(completions)[:12]}"
    try:
        score_programs(completions, data=source.file, partial=True, out=place, outputs=results, watch=watch)
    except MissingPartError as error:
        return f"the programs of {source.declared.title} have not been run: {error.marked}"
    for old in place.parent.glob(f"{name}-*"):
        if old != place:
            shutil.rmtree(old, ignore_errors=True)
    return ""
