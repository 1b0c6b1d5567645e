"""Where the items of a run are: in a study, in a folder, or included in Merilo."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from merilo.datasets import dataset as find_dataset
from merilo.datasets.ready_items import BUNDLED
from merilo.datasets.rendering import render
from merilo.errors import InputError, UsageError, argument
from merilo.items import Split, dialogue_lengths, read_split
from merilo.models.asked_datasets import BUNDLED_NAME, ItemSource, items_file
from merilo.models.run_folder import DatasetRecord
from merilo.studies.study_folder import open_study
from merilo.wording import shown


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
    return ItemSource(declared, record.declaration, read_split(file), file)


def study_source(path: Path, datasets: Sequence[str] = ()) -> ItemSource:
    """Find the items of a study, which are asked exactly as people saw them.

    Args:
        path: the study's folder.
        datasets: the name of its dataset, or nothing.

    Raises:
        UsageError: another dataset is named.
        InputError: there is no study, or its prompts are not those of its dataset.
    """
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
                f"the prompt of item {one.item.id} is not what its instruction and inputs give, so "
                "a model cannot be asked what "
                "people saw; create the study again",
                file=folder.path / "items.jsonl",
            )
    items = tuple(one.item for one in held)
    split = Split("test", items, lengths=dialogue_lengths(items))
    own = folder.path / folder.plan.dataset
    name = str(own) if own.exists() else folder.plan.dataset
    return ItemSource(declared, name, split, folder.path / "items.jsonl", folder.path)
