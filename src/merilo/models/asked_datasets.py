"""The datasets of a run: where their items are, what is asked of each.

And the requests that are still to be answered.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

from merilo.datasets import dataset as find_dataset
from merilo.datasets.declaration import Dataset
from merilo.datasets.own_items import own_file, read_split
from merilo.datasets.ready_items import BUNDLED
from merilo.datasets.rendering import Media, parts
from merilo.errors import DataError, InputError, UsageError, argument
from merilo.items import Item, ItemId, Split, split_file
from merilo.models.asking import Abilities, ModelReply, Request
from merilo.models.prompter import EarlierTurn, Prompter, shots_of
from merilo.models.reply_answers import read_reply
from merilo.models.run_folder import DatasetRecord, item_hashes, shots_hash
from merilo.models.run_log import Earlier
from merilo.models.runner import Dialogue, Requests
from merilo.settings import RunSettings
from merilo.strict_json import read_json, text_at
from merilo.wording import listed, shown

#: What was answered before: (item, sample) -> request and reply.
Known: TypeAlias = "Mapping[tuple[str, int], Earlier]"

#: Kinds of media with their names in messages.
_KINDS: Final = {"image": "pictures", "audio": "sounds", "video": "films"}


#: The items of a baseline, in its folder beside its record.
BASELINE_ITEMS: Final = "raw/items.jsonl"
#: The declaration of their dataset, if it is not of the catalogue.
BASELINE_DECLARATION: Final = "raw/dataset.yaml"
_BASELINE_RECORD: Final = "baseline.json"

#: What the record of a run names in place of their file.
BUNDLED_NAME: Final = "included in Merilo"


@dataclass(frozen=True, slots=True)
class ItemSource:
    """Where the items of a dataset come from.

    Attributes:
        declared: the dataset.
        declaration: its name, or the path of its declaration.
        split: the items.
        file: the file of the items.
        study: the folder of the study that they belong to.
    """

    declared: Dataset
    declaration: str
    split: Split
    file: Path
    study: Path | None = None

    @property
    def of_baseline(self) -> bool:
        """Whether they are the items that people answered for a baseline."""
        folder = self.file.parent.parent
        return self.file == folder / BASELINE_ITEMS and _is_baseline(folder)

    @property
    def place(self) -> str:
        """The file of the items, as a record names it."""
        return BUNDLED_NAME if self.file.is_relative_to(BUNDLED) else shown(self.file)


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


def item_sources(datasets: Sequence[str], data: Path | None = None) -> list[ItemSource]:
    """Find the items of datasets.

    Args:
        datasets: names of the catalogue, or paths of declarations.
        data: a folder with `<name>.json` or `<name>/test.json` for each dataset, the folder of a baseline,
            which names its dataset, or a file; of several datasets, those that are not in the folder may have a
            declaration that names their file. By default, the file or folder of a declaration, else the items included
            in Merilo.

    Raises:
        UsageError: no dataset is named, or one is named twice.
        InputError: a file is missing or cannot be read.
    """
    if not datasets and data is not None and _is_baseline(data):
        own = data / BASELINE_DECLARATION
        known = str(own) if own.is_file() else text_at(read_json(data / _BASELINE_RECORD), "dataset")
        datasets = [known] if known else []
    if not datasets:
        raise UsageError("name at least one dataset", field=argument("datasets"))
    sources: list[ItemSource] = []
    for name in datasets:
        declared = find_dataset(name)
        if any(source.declared.name == declared.name for source in sources):
            raise UsageError(f"{declared.title} is named twice", field=argument("datasets"))
        file = items_file(name, declared, data, alone=len(datasets) == 1)
        sources.append(ItemSource(declared, name, read_split(file, declared), file))
    return sources


def items_file(name: str, declared: Dataset, data: Path | None, *, alone: bool) -> Path:
    """Find the items of a dataset in a folder, or beside its declaration."""
    if data is not None and data.is_file():
        if not alone:
            several = "is one file, but several datasets are named; name a folder"
            raise UsageError(several, field=argument("data"))
        return data
    if data is not None and _is_baseline(data):
        data = data / BASELINE_ITEMS
        if data.is_file():
            return data
    if data is not None and not data.is_dir():
        if _is_baseline(data.parent.parent):
            why = f"its pool lacks fields of {declared.title}, or asked people another question"
            raise InputError(f"this baseline has no items that a model can be asked: {why}", file=data)
        raise InputError("there is no such folder of items", file=data)
    if data is None and (named := own_file(declared)) is not None:
        return named
    is_file = Path(name).suffix in {".yaml", ".yml"}
    own = Path(name).parent if is_file else Path(name)
    if data is None and (is_file or (own / "dataset.yaml").is_file()):
        file = split_file(own.parent, own.name) or split_file(own, "test")
    else:
        folder = data or BUNDLED
        file = split_file(folder, declared.name)
        file = file or (split_file(folder, "test") if alone else own_file(declared))
    if file:
        return file
    expected = f"expected {declared.name}.json or {declared.name}/test.json"
    raise InputError(f"has no items of {declared.title}: {expected}", file=data or own)


def _is_baseline(folder: Path) -> bool:
    return (folder / _BASELINE_RECORD).is_file()


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
        shots = shots_of(source.file, declared, split=source.split.name)
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
