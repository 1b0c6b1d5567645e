"""The datasets of `merilo.run`: where their items are, and what is asked of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from merilo.datasets import Dataset
from merilo.datasets import __file__ as datasets_package
from merilo.datasets import dataset as find_dataset
from merilo.datasets.rendering import render
from merilo.errors import InputError, UsageError, argument
from merilo.items import Item, Split, dialogue_lengths, read_split, split_file
from merilo.models.answer_extraction import extract
from merilo.models.asked_dataset import AskedDataset, limited, without_media
from merilo.models.asking import Abilities, ModelReply, Request
from merilo.models.prompt_settings import PromptSettings
from merilo.models.prompter import Prompter
from merilo.models.run_record import DatasetRecord
from merilo.models.shot_choice import shots_of
from merilo.strict_json import Json
from merilo.studies.study_folder import open_study
from merilo.wording import shown

#: The items included in Merilo, which are asked without `data`.
BUNDLED: Final = Path(datasets_package).parent / "examples"

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


def item_sources(
    datasets: Sequence[str], data: Path | None = None, study: Path | None = None
) -> list[ItemSource]:
    """Find the items of datasets.

    Args:
        datasets: names of the catalogue, or paths of declarations; with a study they may be left out.
        data: a folder with `<name>.json` or `<name>/test.json` for each dataset, or a file; by default, the folder of a custom
            declaration, else the items included in Merilo.
        study: the folder of a study, whose items are asked exactly as people saw them.

    Raises:
        UsageError: no dataset is named, one is named twice, or it is not that of the study.
        InputError: a file is missing or cannot be read.
    """
    if study is not None:
        return [_study_items(study, datasets)]
    if not datasets:
        raise UsageError("name at least one dataset", field=argument("datasets"))
    found: list[ItemSource] = []
    for name in datasets:
        declared = find_dataset(name)
        if any(one.declared.name == declared.name for one in found):
            raise UsageError(f"{declared.title} is named twice", field=argument("datasets"))
        file = _file(name, declared, data, alone=len(datasets) == 1)
        found.append(ItemSource(declared, name, read_split(file), file))
    return found


def asked_datasets(
    sources: Sequence[ItemSource],
    settings: PromptSettings,
    abilities: Abilities,
    *,
    samples: int | None = None,
    limit: int | None = None,
    media_folder: Path | None = None,
) -> list[AskedDataset]:
    """Make the datasets of a run as they are asked.

    Args:
        sources: the items.
        settings: the settings of requests.
        abilities: what the backend can do.
        samples: how many answers to each item; by default, 10 programs, else 1.
        limit: ask only so many of the first items of each dataset.
        media_folder: the folder that paths of media are relative to for the backend.

    Raises:
        UsageError: the settings do not fit a dataset or the backend.
        DataError: a dataset has no items, or its shots are missing.
    """
    if limit is not None and limit < 1:
        raise UsageError("takes a number of at least 1", field=argument("limit"))
    return [
        _asked(one, settings, abilities, samples=samples, limit=limit, media_folder=media_folder)
        for one in sources
    ]


def source_of(record: DatasetRecord, data: Path | None = None) -> ItemSource:
    """Find the items of a dataset of a run.

    Args:
        record: what was asked.
        data: a folder or file of items, if they are no longer where they were.

    Raises:
        InputError: the items are not there.
    """
    if record.study is not None and data is None:
        return _study_items(Path(record.study), ())
    declared = find_dataset(record.declaration)
    bundled = BUNDLED if record.data == BUNDLED_NAME else None
    place = data or bundled
    file = _file(record.declaration, declared, place, alone=True) if place else Path(record.data)
    if not file.is_file():
        raise InputError(
            f"the items of {record.title} are no longer there: name their folder with {argument('data', 'DIR')}",
            file=file,
        )
    return ItemSource(declared, record.declaration, read_split(file), file)


def read_turn(declared: Dataset, item: Item, request: Request, reply: ModelReply) -> Json:
    """Read the answer to an earlier turn of a dialogue."""
    return extract(declared, item, request, reply).answer


def _file(name: str, declared: Dataset, data: Path | None, *, alone: bool) -> Path:
    if data is not None and data.is_file():
        if not alone:
            raise UsageError(
                "is one file, but several datasets are named; name a folder", field=argument("data")
            )
        return data
    if data is not None and not data.is_dir():
        if (data.parent / "baseline.json").is_file():
            raise InputError(
                f"this baseline has no items that a model can be asked: its pool lacks fields of {declared.title}, or asked "
                "people another question",
                file=data,
            )
        raise InputError("there is no such folder of items", file=data)
    is_file = Path(name).suffix in {".yaml", ".yml"}
    own = Path(name).parent if is_file else Path(name)
    if data is None and (is_file or (own / "dataset.yaml").is_file()):
        found = split_file(own.parent, own.name) or split_file(own, "test")
    else:
        folder = data or BUNDLED
        found = split_file(folder, declared.name) or (split_file(folder, "test") if alone else None)
    if found:
        return found
    raise InputError(
        f"has no items of {declared.title}: expected {declared.name}.json or {declared.name}/test.json",
        file=data or own,
    )


def _study_items(path: Path, datasets: Sequence[str]) -> ItemSource:
    folder = open_study(path)
    declared = folder.declared()
    if datasets and [find_dataset(name).name for name in datasets] != [declared.name]:
        raise UsageError(
            f"the study {shown(folder.path)} is about {declared.title}; leave {argument('datasets')} out"
        )
    held = folder.items()
    for one in held:
        if render(one.item, declared) != one.prompt:
            raise InputError(
                f"the prompt of item {one.item.id} is not what its instruction and inputs give, so a model cannot be asked what "
                "people saw; create the study again",
                file=folder.path / "items.jsonl",
            )
    items = tuple(one.item for one in held)
    split = Split("test", items, lengths=dialogue_lengths(items))
    own = folder.path / folder.plan.dataset
    name = str(own) if own.exists() else folder.plan.dataset
    return ItemSource(declared, name, split, folder.path / "items.jsonl", folder.path)


def _asked(
    source: ItemSource,
    settings: PromptSettings,
    abilities: Abilities,
    *,
    samples: int | None,
    limit: int | None,
    media_folder: Path | None,
) -> AskedDataset:
    declared = source.declared
    if not len(source.split):
        raise InputError(f"has no items of {declared.title}", file=source.file)
    if settings.as_people or source.study is not None:
        settings = replace(settings, as_people=True)
    shots: Sequence[Item] = ()
    if not settings.as_people and (declared.shots.count or settings.shots):
        shots = shots_of(source.file, declared, split=source.split.name)
    prompter = Prompter(declared, shots, settings, chat=abilities.chat)
    mode = settings.mode_for(declared, chat=abilities.chat)
    if mode not in abilities.modes:
        raise UsageError(
            f"this backend has no log-likelihoods: ask {declared.title} with {argument('mode', 'generate', given='generate')}"
            if mode == "loglikelihood"
            else f"this backend generates no text, which {declared.title} needs"
        )
    split, refused = without_media(limited(source.split, limit), declared, abilities)
    count = settings.samples_for(declared, samples)
    if mode == "loglikelihood" and samples is not None and count > 1:
        raise UsageError(
            f"the log-likelihoods of {declared.title} are the same in each sample: leave {argument('samples')} out"
        )
    asked = AskedDataset(
        prompter,
        split,
        count,
        shots,
        BUNDLED_NAME if source.file.is_relative_to(BUNDLED) else shown(source.file),
        read_turn,
        refused,
        source.declaration,
        None if source.study is None else str(source.study),
        limit,
        _below(source.file.parent, media_folder) if media_folder and declared.media else "",
    )
    asked.refuse_blind()
    return asked


def _below(folder: Path, media_folder: Path) -> str:
    """Return a folder relative to the backend's folder of media; empty if they are the same."""
    inner = shown(folder.resolve().relative_to(media_folder.resolve()))
    return "" if inner == "." else inner
