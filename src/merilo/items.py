"""Items (one question each) in the benchmark's format, and reading and writing their files.

A split is a JSON file of one of two forms, or a JSONL or Parquet file with one item per line or row:

- ``{"data": {"test": [item, ...], "shots": [item, ...]}}`` (the first form; an item is
  ``{"instruction": ..., "inputs": ..., "outputs": ..., "meta": {"id": ...}}``),
- ``{"data": [item, ...], "access": "private"}`` in a file called after its split (the second).

In a dataset of dialogues (ruTiE), each entry is a list of items, the turns of one dialogue.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

from merilo.atomic_write import write_bytes, write_text
from merilo.errors import InputError, OutputError, UsageError
from merilo.files import read_parquet
from merilo.strict_json import Json, dumped, json_lines, read_json

#: Identifies an item within its dataset.
ItemId: TypeAlias = int | str

Access: TypeAlias = Literal["public", "private"]


SUFFIXES: Final = (".json", ".jsonl", ".ndjson", ".parquet")


@dataclass(frozen=True, slots=True)
class Item:
    """One question.

    Attributes:
        id: `meta.id`, unique within the dataset.
        instruction: a template with `{field}` placeholders, or an index into the dataset's prompts.
        inputs: the text to fill in, or one text per field.
        outputs: the gold answer; `None` in a closed test.
        meta: all other information about the item, including `id`.
    """

    id: ItemId
    instruction: str | int
    inputs: str | Mapping[str, Json]
    outputs: Json = None
    meta: Mapping[str, Json] = field(default_factory=dict)

    def value(self, field: str) -> Json:
        """Return the value of a field of `meta` or, if it lacks the field, of `inputs`; `None` if neither has it.

        Args:
            field: a name, a path such as `meta.categories.topic`, or the last name of one path inside `meta`.

        Example:
            >>> Item(1, "", "", meta={"categories": {"topic": "algebra"}}).value("topic")
            'algebra'
        """
        if field in self.meta:
            return self.meta[field]
        if isinstance(self.inputs, Mapping) and field in self.inputs:
            return self.inputs[field]
        inner = dict(laid_open(self.meta))
        name = named_field(field.removeprefix("meta."), inner)
        return None if name is None else inner[name]

    def fill(self, template: str | None) -> str | None:
        """Insert the item's fields into a text such as the name of a group's metric.

        Args:
            template: a text with fields of `inputs` or `meta` in braces, or `None`. A field that the item does not have
                stays in braces.

        Example:
            >>> Item(1, "", "", meta={"domain": "anatomy"}).fill("acc.{domain}.{criterion}")
            'acc.anatomy.{criterion}'
        """
        if template is None:
            return None

        def filled(placeholder: re.Match[str]) -> str:
            value = self.value(placeholder[1])
            return (
                placeholder[0]
                if value is None
                else ", ".join(map(str, value if isinstance(value, list) else [value]))
            )

        return re.sub(r"\{([\w.]+)\}", filled, template)


def laid_open(meta: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    """Yield the fields of `meta`, those inside a dictionary by their path.

    Example:
        >>> dict(laid_open({"id": 1, "categories": {"topic": "algebra"}}))
        {'id': 1, 'categories.topic': 'algebra'}
    """
    for name, value in meta.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}.{inner}", value_inside) for inner, value_inside in laid_open(value))
        else:
            yield name, value


def named_field(field: str, names: Collection[str]) -> str | None:
    """Return the name that a field goes by: its own, or the only path that ends in it; `None` if there is none."""
    if field in names:
        return field
    ends = [name for name in names if name.endswith(f".{field}")]
    return ends[0] if len(ends) == 1 else None


def id_of(meta: Mapping[str, Json]) -> Json:
    """Return the dataset's own id of an item, `None` without one.

    A turn of a dialogue also has `dialog_id/question_id`.
    """
    number = meta.get("id")
    if number is None and {"dialog_id", "question_id"} <= meta.keys():
        return f"{meta['dialog_id']}/{meta['question_id']}"
    return number


@dataclass(frozen=True, slots=True)
class Split:
    """The items of a split, in the order of the file.

    Attributes:
        name: "test", "shots", "train".
        items: all items; the turns of dialogues one after another.
        access: whether the gold answers are published, if the file says so.
        lengths: the number of turns of each dialogue; empty if the items are not dialogues.
    """

    name: str
    items: tuple[Item, ...]
    access: Access | None = None
    lengths: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def dialogues(self) -> list[tuple[Item, ...]]:
        """Return the items grouped by dialogue; without dialogues, each item forms a separate group."""
        turns = iter(self.items)
        return [tuple(islice(turns, length)) for length in self.lengths or (1,) * len(self.items)]


def ready_splits(path: Path) -> dict[str, Split]:
    """Read every split of a file in the benchmark's format, by name.

    In a file of one unnamed split (every format except JSON of the first form), the split is named after the file.

    Raises:
        InputError: the file cannot be read as splits; the message names the place.
    """
    return {raw.name: _split(raw, path) for raw in raw_splits(path)}


@dataclass(frozen=True, slots=True)
class RawSplit:
    """A split as read from its file, before its items are checked.

    Attributes:
        name: the split's name.
        entries: the unchecked list of items or of dialogues.
        where: the JSON path of the list.
        access: whether the gold answers are published, if the file says so.
    """

    name: str
    entries: Json
    where: str = ""
    access: Access | None = None


def raw_splits(path: Path) -> list[RawSplit]:
    """Read the splits of a file without checking their items, so that validation can report every fault.

    Raises:
        InputError: the file is in no format that can contain splits.
    """
    match path.suffix.lower():
        case ".json":
            return _json_splits(read_json(path), path)
        case ".jsonl" | ".ndjson":
            return [RawSplit(path.stem, [value for _, value in json_lines(path)])]
        case ".parquet":
            return [RawSplit(path.stem, [_without_nulls(row) for row in read_parquet(path).to_dicts()])]
        case _:
            raise InputError(f"is not a file of items: its name must end in {', '.join(SUFFIXES)}", file=path)


def split_file(folder: Path, name: str, split: str = "test") -> Path | None:
    """Find a dataset's split in a folder of several datasets.

    Args:
        folder: the folder, which is searched for `<name>.json` or `<name>/<split>.json`, in any letter case;
            JSONL and Parquet too.
        name: the dataset's name.
        split: the split's name.

    Returns:
        The file, or `None` if there is none.
    """
    for suffix in SUFFIXES:
        for wanted in ((f"{name}{suffix}",), (name, f"{split}{suffix}")):
            if (file := _in_any_case(folder, wanted)) is not None:
                return file
    return None


def _in_any_case(folder: Path, parts: tuple[str, ...]) -> Path | None:
    if not folder.is_dir():
        return None
    for entry in sorted(folder.iterdir()):
        if entry.name.lower() == parts[0].lower():
            nearest = entry if len(parts) == 1 else _in_any_case(entry, parts[1:])
            if nearest is not None and (len(parts) > 1 or nearest.is_file()):
                return nearest
    return None


def _json_splits(content: Json, path: Path) -> list[RawSplit]:
    data = content.get("data") if isinstance(content, dict) else None
    if isinstance(content, dict) and isinstance(data, list):
        access = content.get("access")
        if access not in (None, "public", "private"):
            raise InputError("must be 'public' or 'private'", file=path, field="access")
        return [RawSplit(path.stem, data, "data", cast("Access | None", access))]
    if not isinstance(data, dict):
        raise InputError('has no items: expected {"data": {"test": [...]}} or {"data": [...]}', file=path)
    return [RawSplit(name, entries, f"data.{name}") for name, entries in data.items()]


def list_of_records(content: Json, path: Path) -> list[Json]:
    """Return the records of `[...]`, `{"data": [...]}` or `{"data": {"test": [...]}}`; dialogues are concatenated.

    Raises:
        InputError: the content has no such list.
    """
    while isinstance(content, dict):
        inner = content.get("data", content.get("test"))
        if inner is None and len(content) == 1:
            inner = next(iter(content.values()))
        if inner is None:
            raise InputError("has no list of items", file=path)
        content = inner
    if not isinstance(content, list):
        raise InputError("has no list of items", file=path)
    return [turn for record in content for turn in (record if isinstance(record, list) else [record])]


def _without_nulls(value: Json) -> Json:
    """Drop null values: a Parquet structure has every key in every row, with null for the keys that an item lacks."""
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return value


def _split(raw: RawSplit, path: Path) -> Split:
    if not isinstance(raw.entries, list):
        raise InputError("must be a list of items", file=path, field=raw.where)
    items: list[Item] = []
    lengths: list[int] = []
    for number, entry in enumerate(raw.entries):
        place = f"{raw.where}[{number}]"
        if isinstance(entry, list):
            lengths.append(len(entry))
            items += [item_of(turn, file=path, where=f"{place}[{at}]") for at, turn in enumerate(entry)]
        else:
            items.append(item_of(entry, file=path, where=place))
    if lengths and sum(lengths) != len(items):
        raise InputError("mixes dialogues (lists of items) with single items", file=path, field=raw.where)
    seen: set[ItemId] = set()
    for item in items:
        if item.id in seen:
            raise InputError(f"two items have the id {item.id!r}", file=path, field=raw.where)
        seen.add(item.id)
    return Split(raw.name, tuple(items), raw.access, tuple(lengths) or dialogue_lengths(items))


def dialogue_lengths(items: Sequence[Item]) -> tuple[int, ...]:
    """Return the number of turns of each dialogue by `meta.dialog_id`; empty if the items have no such field."""
    if not items or any("dialog_id" not in item.meta for item in items):
        return ()
    return tuple(len(list(turns)) for _, turns in groupby(items, key=lambda item: item.meta["dialog_id"]))


def item_of(entry: Json, *, file: object, where: str) -> Item:
    """Make an item from an entry of a file.

    Empty outputs (`""`, `[]`, `{}`, or a missing key) mean a closed test. A turn of a dialogue may be identified by
    `meta.dialog_id` and `meta.question_id` instead of `meta.id`; its id then consists of both, joined by a slash.

    Args:
        entry: the parsed JSON.
        file: the file it came from, for the message.
        where: its JSON path.

    Raises:
        InputError: the entry is not an item.
    """
    for key, message in faults_of(entry):
        raise InputError(message, file=file, field=".".join(filter(None, (where, key))) or None)
    known: Any = entry
    meta, outputs = known["meta"], known.get("outputs")
    outputs = None if outputs in _CLOSED else outputs
    return Item(id_of(meta), known["instruction"], known["inputs"], outputs, meta)  # type: ignore[arg-type]


# Tuples, because a union of types would be made anew for every item.
_NAME: Final = (str, int)
_INPUTS: Final = (str, dict)
_CLOSED: Final[tuple[Json, ...]] = ("", [], {})


def faults_of(entry: Json) -> list[tuple[str, str]]:
    """List the faults of an entry as (key below the entry, message); empty if the entry is a valid item."""
    if not isinstance(entry, dict):
        return [("", "must be an item: an object with instruction, inputs, outputs and meta")]
    faults = []
    instruction, meta = entry.get("instruction"), entry.get("meta")
    if not isinstance(instruction, _NAME) or isinstance(instruction, bool):
        faults.append(("instruction", "must be a text or the number of a prompt"))
    if not isinstance(entry.get("inputs"), _INPUTS):
        faults.append(("inputs", "must be a text or an object"))
    if not isinstance(meta, dict):
        faults.append(("meta", "must be an object with an id"))
    elif not isinstance(number := id_of(meta), _NAME) or isinstance(number, bool) or number == "":
        faults.append(("meta.id", "must be a number or a text"))
    return faults


def entry_of(item: Item) -> dict[str, Json]:
    """Convert an item to an entry of a file; the inverse of `item_of`."""
    known = {"dialog_id", "question_id"} <= item.meta.keys()
    return {
        "instruction": item.instruction,
        "inputs": item.inputs if isinstance(item.inputs, str) else dict(item.inputs),
        "outputs": "" if item.outputs is None else item.outputs,
        "meta": dict(item.meta) if known else {"id": item.id, **item.meta},
    }


def write_splits(path: Path, splits: Sequence[Split]) -> None:
    """Write splits atomically into a file, in the format given by the file's extension.

    Args:
        path: a `.json`, `.jsonl` or `.parquet` file; only JSON takes several splits.
        splits: what to write.

    Raises:
        UsageError: the extension is unknown, or the format cannot hold several splits.
        OutputError: the file cannot be written, or the items do not fit into columns.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"{path.name}: the name of a file of items must end in {', '.join(SUFFIXES)}")
    if suffix == ".json":
        write_text(path, dumped({"data": {split.name: _entries(split) for split in splits}}))
        return
    if len(splits) != 1:
        raise UsageError(f"{path.name}: only JSON can hold several splits")
    (split,) = splits
    if suffix in {".jsonl", ".ndjson"}:
        write_text(path, "".join(f"{json.dumps(entry_of(item), ensure_ascii=False)}\n" for item in split))
    else:
        _write_parquet(path, split)


def _entries(split: Split) -> list[Json]:
    if not split.lengths:
        return [entry_of(item) for item in split]
    return [[entry_of(turn) for turn in turns] for turns in split.dialogues()]


def _write_parquet(path: Path, split: Split) -> None:
    import polars as pl  # noqa: PLC0415 - takes half a second, not needed for JSON

    content = BytesIO()
    try:
        table = pl.DataFrame([entry_of(item) for item in split], infer_schema_length=None)
        table.write_parquet(content)
    except (pl.exceptions.PolarsError, TypeError, OverflowError) as error:
        raise OutputError("the items do not fit into typed columns; write JSON instead", file=path) from error
    write_bytes(path, content.getvalue())
