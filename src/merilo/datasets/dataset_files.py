"""Files of items: in the benchmark's format, or by the columns that a declaration names (`ItemColumns`).

An item's `instruction` is the number of the first prompt all of whose fields the item has: a declaration lists prompts
for items with a picture or with more options first.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from itertools import count
from pathlib import Path
from string import ascii_lowercase
from typing import Any, Final, cast

from merilo import items as ready
from merilo.datasets.declaration import Dataset, GoldForm, ItemColumns
from merilo.datasets.rendering import PLACEHOLDER, option_fields, prompts, shown_value
from merilo.errors import InputError, UsageError
from merilo.files import read_parquet, read_table
from merilo.items import Item, Split, list_of_records
from merilo.metrics.answers import LONGEST_LITERAL, Answer
from merilo.strict_json import Json, json_lines, read_json
from merilo.wording import choices, listed, shortened, shown

#: The formats of files of questions.
QUESTION_SUFFIXES: Final = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")

#: The keys of an item in the benchmark's format.
_READY: Final = {"inputs", "meta"}

_PATH: Final = re.compile(
    r"[^\s:]+\.(?:png|jpe?g|webp|gif|bmp|svg|mp3|wav|ogg|flac|m4a|mp4|webm|mov)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """A row of a file.

    Attributes:
        number: its number: the line of a JSON Lines file or of a table, or the place in a list.
        values: column -> value; a column inside an object is named with dots.
    """

    number: int
    values: Mapping[str, Any]


def read_split(path: Path, declared: Dataset | None = None, name: str | None = None) -> Split:
    """Read one split of a file of items.

    Args:
        path: the file.
        declared: the dataset, whose declaration may name the columns of the file.
        name: the name of the split; by default "test", or the only split.

    Raises:
        InputError: the file cannot be read as items; the message names the place.
        UsageError: the file holds no split of this name, or several and none is called "test".
    """
    splits = read_splits(path, declared)
    wanted = name or ("test" if "test" in splits or len(splits) != 1 else next(iter(splits)))
    if wanted not in splits:
        there = ", ".join(splits) or "no splits"
        raise UsageError(f"{shown(path)} has no split '{wanted}' (it has {there})")
    if declared is not None and path == own_file(declared):
        for key, field in absent_fields(splits[wanted].items, declared):
            raise InputError(
                f"no item has the field '{field}', which the declaration names as '{key}'", file=path
            )
    return splits[wanted]


def read_splits(path: Path, declared: Dataset | None = None) -> dict[str, Split]:
    """Read every split of a file of items: in the benchmark's format, or by the columns of the declaration.

    The file of a declaration has the split `test`, and `shots` if the declaration names a file of solved items.

    Raises:
        InputError: the file cannot be read as items; the message names the place.
    """
    entries = own_entries(path, declared)
    splits = ready.ready_splits(path) if entries is None else {"test": _split("test", entries, path)}
    columns = (declared and declared.items) or ItemColumns()
    if columns.shots and Path(columns.shots).is_file() and columns.file and path.samefile(columns.file):
        shots = Path(columns.shots)
        solved = own_entries(shots, declared, numbered="shot-{}")
        splits["shots"] = read_split(shots) if solved is None else _split("shots", solved, shots)
    return splits


def own_file(declared: Dataset | None) -> Path | None:
    """Return the file of items that a declaration names, if it is there; a study's copy may be on another machine."""
    named = declared.items.file if declared and declared.items else None
    return Path(named) if named and Path(named).is_file() else None


def own_gold_file(declared: Dataset | None) -> Path | None:
    """Return the file of items that a declaration names, if it has gold answers."""
    file = own_file(declared)
    if declared is None or declared.items is None or file is None or declared.items.gold:
        return file
    ready_items = read_rows(file) is None and any(item.outputs is not None for item in read_split(file))
    return file if ready_items else None


def own_entries(
    path: Path, declared: Dataset | None, *, numbered: str = "{}"
) -> list[tuple[int, dict[str, Json]]] | None:
    """Read the rows of a file as entries of the benchmark's format.

    Args:
        path: the file.
        declared: the dataset.
        numbered: the id of a row, if there is no column of ids.

    Returns:
        The number of each row, and its entry; `None` if the file is in the benchmark's format already, or is another
        file without the declared columns.

    Raises:
        InputError: the file has no such columns, or a row is not an item.
    """
    if declared is None or declared.items is None:
        return None
    rows = read_rows(path)
    if rows is None or (path != own_file(declared) and not _named_columns(declared) & rows[0].values.keys()):
        return None
    _refuse_mixed_letters(rows, declared.items, path)
    ids: Iterator[Json] = (int(text) if (text := numbered.format(n)).isdecimal() else text for n in count(1))
    return [(row.number, entry_of_row(row, declared, path, id_)) for row, id_ in zip(rows, ids, strict=False)]


def _refuse_mixed_letters(rows: Sequence[QuestionRow], columns: ItemColumns, path: Path) -> None:
    """Refuse letters of two alphabets in one column of gold answers: В is the third letter of one, and looks like B."""
    if columns.gold_is != "letter":
        return
    letters = {row.number: _text(gold[0]) for row in rows if (gold := gold_values(row, columns.gold))}
    cyrillic = {number: None for number, text in letters.items() if re.search("[А-Яа-я]", text)}
    latin = {number: None for number in letters if number not in cyrillic}
    if cyrillic and latin:
        few, script = (cyrillic, "Cyrillic") if len(cyrillic) <= len(latin) else (latin, "Latin")
        number = next(iter(few))
        wrong = (
            f"the gold answer {letters[number]} is a {script} letter, unlike those of other rows; correct it"
        )
        raise InputError(wrong, file=path, row=number, field=", ".join(columns.gold))


def absent_fields(items: Sequence[Item], declared: Dataset) -> Iterator[tuple[str, str]]:
    """Yield the fields by which a declaration groups items, shots or prompts and which no item has, after their key."""
    named: list[tuple[str, str | None]] = [("extra", field) for field in declared.fields_of_groups]
    named += [
        ("cluster", declared.cluster),
        ("shots.same", declared.shots.same),
        ("prompts_by", declared.prompts_by),
    ]
    for key, field in named:
        if field and all(item.value(field) is None for item in items):
            yield key, field


def unanswerable(items: Sequence[Item], declared: Dataset) -> Iterator[tuple[Item, str, str]]:
    """Yield the items that nobody can answer, with the field at fault and why: an empty question, equal options."""
    options = {field: label for label, field in option_fields(declared).items()}
    optional = {*options, *declared.media, *declared.hidden}
    for item in items:
        inputs = item.inputs if isinstance(item.inputs, Mapping) else {"": item.inputs}
        asked = {name: value for name, value in inputs.items() if name not in optional}
        empty = [name for name, value in asked.items() if value is None or value == ""]
        if empty and (declared.items or len(empty) == len(asked)) and not {*declared.media} & inputs.keys():
            yield item, empty[0], "is empty, so there is no question"
        first: dict[str, str] = {}
        for name, label in options.items():
            if name in inputs and (other := first.setdefault(shown_value(inputs[name]), label)) != label:
                yield item, name, f"is the same as option {other}: '{shortened(shown_value(inputs[name]))}'"


def _named_columns(declared: Dataset) -> set[str]:
    columns = declared.items or ItemColumns()
    texts = [columns.fields.get(name, name) for name in declared.fields]
    return {*texts, *columns.options, *columns.gold}


def _split(name: str, entries: Sequence[tuple[int, Json]], path: Path) -> Split:
    rows: dict[ready.ItemId, int] = {}
    items: list[Item] = []
    for row, entry in entries:
        item = ready.item_of(entry, file=path, where=f"row {row}")
        if (first := rows.setdefault(item.id, row)) != row:
            raise InputError(f"has the id {item.id!r} of row {first}; ids must differ", file=path, row=row)
        items.append(item)
    return Split(name, tuple(items))


def read_rows(path: Path) -> list[QuestionRow] | None:
    """Read the rows of a file of questions; `None` if its items are in the benchmark's format.

    Raises:
        InputError: the file cannot be read, or has no rows.
    """
    rows = [*_raw_rows(path)]
    if not rows:
        raise InputError("has no rows", file=path)
    for number, row in rows:
        if not isinstance(row, Mapping):
            raise InputError("is not a JSON object", file=path, row=number)
    if rows[0][1].keys() >= _READY:
        return None
    return [QuestionRow(number, dict(_flat(row))) for number, row in rows]


def _raw_rows(path: Path) -> Iterator[tuple[int, Any]]:
    match path.suffix.lower():
        case ".jsonl" | ".ndjson":
            yield from json_lines(path)
        case ".json":
            yield from enumerate(list_of_records(read_json(path), path), start=1)
        case ".parquet":
            yield from enumerate(read_parquet(path).iter_rows(named=True), start=1)
        case ".csv" | ".tsv":
            table = read_table(path)
            for number, row in enumerate(table.data.iter_rows(named=True), start=table.first_row):
                if any(value is not None for value in row.values()):
                    yield number, {name: _cell(value) for name, value in row.items()}
        case _:
            raise InputError(
                f"is not a file of questions: its name must end in {', '.join(QUESTION_SUFFIXES)}", file=path
            )


def _cell(text: str | None) -> Json:
    """Return a cell of a table; one with a list or an object, in JSON or as Python writes it, is parsed."""
    if text is None or text[:1] not in {"[", "{"} or len(text) > LONGEST_LITERAL:
        return text
    for parse in (json.loads, ast.literal_eval):
        try:
            value = parse(text)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            continue
        # NumPy writes no commas, and Python would join its texts to one.
        joined = parse is ast.literal_eval and isinstance(value, list) and len(value) == 1
        return text if joined else cast("Json", value)
    return text


def _flat(row: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in row.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}.")
        elif isinstance(value, list) and value and all(isinstance(record, Mapping) for record in value):
            for inner in dict.fromkeys(inner for record in value for inner in record):
                yield f"{name}.{inner}", [record.get(inner) for record in value]
        else:
            yield name, value


def entry_of_row(row: QuestionRow, declared: Dataset, path: Path, numbered: Json) -> dict[str, Json]:
    """Make an entry of the benchmark's format from a row.

    Args:
        row: the row.
        declared: the dataset, with its columns.
        path: the file, for messages.
        numbered: the item's id, if there is no column of ids.

    Raises:
        InputError: the row lacks a column, or its gold answer cannot be read.
    """
    columns, labels = cast("ItemColumns", declared.items), declared.answer.labels
    of_options = [option_name(label) for label in labels] if columns.options else []
    fields = declared.fields or ("inputs",)
    texts = {name: columns.fields.get(name, name) for name in fields if name not in of_options}
    named = [*filter(None, [columns.id]), *texts.values(), *columns.options, *columns.gold]
    if missing := next((name for name in named if name not in row.values), None):
        none = f"there is no such column ({choices(missing, [*row.values])})"
        raise InputError(none, file=path, row=row.number, field=missing)
    identity = numbered if columns.id is None else _plain(row.values[columns.id])
    if isinstance(identity, float) and identity.is_integer():
        identity = int(identity)
    if isinstance(identity, bool) or not isinstance(identity, str | int) or identity == "":
        raise InputError("must be a number or a text", file=path, row=row.number, field=columns.id)
    options, gold = _options_and_gold(row, declared, path, identity)
    inputs: dict[str, Json] = {}
    for name in fields:
        value = row.values[texts[name]] if name in texts else options.get(name)
        content = media_path(value) if name in declared.media else _plain(value)
        if content is not None or name not in declared.hidden:
            inputs[name] = "" if content is None else content
    meta = {meta_name(name): _plain(row.values.get(name)) for name in columns.meta}
    if columns.id is not None:
        meta.pop("id", None)
    needs = (_named(text, frozenset(declared.fields)) for text in prompts(declared).get("", ()))
    return {
        "instruction": next((number for number, names in enumerate(needs) if names <= inputs.keys()), 0),
        "inputs": dict(inputs) if declared.fields else str(inputs["inputs"]),
        "outputs": gold,
        "meta": {"id": identity, **{name: value for name, value in meta.items() if value is not None}},
    }


@cache
def _named(text: str, fields: frozenset[str]) -> frozenset[str]:
    return frozenset(field[1] or field[2] for field in PLACEHOLDER.finditer(text)) & fields


def _plain(value: Any) -> Json:  # noqa: ANN401 - any value of a file
    """Return a value as JSON; what JSON cannot hold (dates of Parquet) as text, NaN as null."""
    if isinstance(value, list):
        return [_plain(element) for element in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(element) for name, element in value.items()}
    if isinstance(value, bytes) or value != value:  # noqa: PLR0124 - only NaN differs from itself
        return None
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)


def meta_name(column: str) -> str:
    """Return the name that a column has in `meta`: letters, digits and _ only, as groups need.

    Example:
        >>> meta_name("High-level domain")
        'High_level_domain'
    """
    return re.sub(r"\W+", "_", column).strip("_")


def option_name(label: str) -> str:
    """Return the field of an option.

    Example:
        >>> option_name("A")
        'option_a'
    """
    return f"option_{label.lower()}"


def options_of(row: QuestionRow, columns: Sequence[str]) -> list[str]:
    """Return the texts of the options in a row; empty ones are left out."""
    values = [row.values.get(name) for name in columns]
    if len(columns) == 1:
        values = values[0] if isinstance(values[0], list) else split_options(values[0])
    return [_text(value) for value in values if _plain(value) not in (None, "")]


def split_options(value: Any) -> list[Any]:  # noqa: ANN401 - any value of a file
    """Split a text that lists options, by | or else by ;.

    Example:
        >>> split_options("red; green; blue"), split_options("a; b | c")
        (['red', 'green', 'blue'], ['a; b', 'c'])
    """
    sign = next((sign for sign in "|;" if isinstance(value, str) and sign in value), None)
    return [part.strip() for part in value.split(sign)] if sign else [value]


def _text(value: Any) -> str:  # noqa: ANN401 - any value of a file
    plain = _plain(value)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _options_and_gold(
    row: QuestionRow, declared: Dataset, path: Path, identity: Json
) -> tuple[dict[str, Json], Json]:
    """Return the options by field and the gold answer of a row."""
    columns, labels = cast("ItemColumns", declared.items), declared.answer.labels
    gold = gold_of(row, declared.answer, columns, path)
    if not columns.options:
        return {}, gold
    texts = options_of(row, columns.options)
    if not 2 <= len(texts) <= len(labels):
        many = f"has {len(texts)} options, but the declaration has {len(labels)} labels"
        raise InputError(many, file=path, row=row.number, field=", ".join(columns.options))
    order = [*range(len(texts))]
    if {*columns.gold} & {*columns.options}:
        order.sort(
            key=lambda place: blake2b(f"{declared.name} {identity} {place}".encode(), digest_size=8).digest()
        )
    options: dict[str, Json] = {
        option_name(label): texts[place] for label, place in zip(labels, order, strict=False)
    }
    return options, None if gold is None else labels[order.index(labels.index(str(gold)))]


def gold_of(row: QuestionRow, answer: Answer, columns: ItemColumns, path: Path) -> Json:
    """Return the gold answer of a row as the dataset writes it, the label of an option; `None` without one.

    Raises:
        InputError: it names no option, or is not of the kind that the dataset declares.
    """
    gold = gold_values(row, columns.gold, columns.gold_after)
    if not gold:
        return None
    if answer.kind == "text":
        return (answer.alternatives or "").join(map(_text, gold if answer.alternatives else gold[:1]))
    if columns.options:
        texts, form = options_of(row, columns.options), columns.gold_is or "letter"
        own = options_of(row, [columns.option_labels]) if columns.option_labels else []
        place = gold_place(gold[0], form, texts, own)
        label = None if place is None or place >= len(answer.labels) else answer.labels[place]
        options = listed([f"'{shortened(text)}'" for text in texts])
        expected = f"names none of the options {options} (gold_is: {form})"
    elif answer.kind == "integer":
        label, expected = integer_of(gold[0]), "is not a whole number"
    else:
        label = _label_of(gold[0], answer.labels, columns.gold_is)
        expected = f"is not one of {listed(answer.labels)}"
    if label is None or len(gold) > 1:
        answers = listed([shortened(_text(value)) for value in gold])
        field = ", ".join(columns.gold)
        raise InputError(f"the gold answer {answers} {expected}", file=path, row=row.number, field=field)
    return label


def gold_values(row: QuestionRow, columns: Sequence[str], after: str | None = None) -> list[Any]:
    """Return the gold answers of a row, without empty ones; -1 stands for a hidden answer in public datasets."""
    golds: list[Any] = []
    for name in columns:
        value = row.values.get(name)
        for element in value if isinstance(value, list) else [value]:
            plain = _plain(element)
            if isinstance(plain, str):
                plain = (plain.rpartition(after)[2] if after else plain).strip()
            if plain not in (None, "", -1, "-1") and plain not in golds:
                golds.append(plain)
    return golds


#: Letters of options in Russian tests; Ё and Й are not among them.
RUSSIAN_LETTERS: Final = "АБВГДЕЖЗИК"


def gold_place(value: Json, form: GoldForm, texts: Sequence[str], own: Sequence[str] = ()) -> int | None:
    """Return the place of the option that a gold answer names; `None` if it names none.

    Args:
        value: the gold answer.
        form: how it names an option.
        texts: the options.
        own: the options' own labels.

    Example:
        >>> gold_place("b", "letter", ["x", "y"]), gold_place(2, "from-1", ["x", "y"])
        (1, 1)
    """
    text = " ".join(_text(value).split()).casefold()
    if form == "letter":
        text = text.strip("().:")
        letters = ascii_lowercase if text in ascii_lowercase else RUSSIAN_LETTERS.casefold()
        names = [*letters[: len(texts)]]
    elif form in {"from-0", "from-1"}:
        start = int(form == "from-1")
        text = text.removesuffix(".0")
        names = [str(place + start) for place in range(len(texts))]
    else:
        names = [" ".join(name.split()).casefold() for name in (own if form == "label" else texts)]
    return names.index(text) if names.count(text) == 1 else None


def integer_of(value: Json) -> str | None:
    """Return a whole number in digits, `None` for anything else; `1,250`, `$40` and `7.0` are whole numbers.

    Example:
        >>> integer_of("1,250"), integer_of(-3.0), integer_of("3.5"), integer_of(True)
        ('1250', '-3', None, None)
    """
    if isinstance(value, bool):
        return None
    text = re.sub(r"(?<=\d)[, \u00a0](?=\d{3}\b)", "", _text(value).strip()).removeprefix("$")
    match = re.fullmatch(r"([+-]?\d+)(?:\.0+)?\.?", text)
    return str(int(match[1])) if match and len(match[1]) < 1000 else None


def _label_of(value: Json, labels: Sequence[str], form: GoldForm | None) -> str | None:
    """Return the label that a gold answer means; `true` is the first of two labels, `false` the second."""
    text = _text(value).strip().casefold()
    folded = {label.casefold(): label for label in labels}
    if text not in folded and len(labels) == 2 and text in {"true", "false"}:
        return labels[text == "false"]
    if form in {"from-0", "from-1"} and (place := gold_place(value, form, labels)) is not None:
        return labels[place]
    return folded.get(text)


def media_path(value: Any) -> str | None:  # noqa: ANN401 - any value of a file
    """Return the path of a picture or sound below the folder of the file, in `samples/`; `None` without one."""
    if not isinstance(value, str) or not value:
        return None
    return value if value.startswith("samples/") else f"samples/{value}"


def is_media(value: Any) -> bool:  # noqa: ANN401 - any value of a file
    """Return whether a value is the path of a picture, a sound or a film."""
    return isinstance(value, str) and _PATH.fullmatch(value) is not None
