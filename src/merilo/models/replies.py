"""What a model said to the items of a dataset, whoever wrote the file.

A run, a log of another harness and a table of replies become the same table, `Replies`; `merilo.models.reply_answers`
reads the answers in it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from merilo.answer_tables import ItemAnswer, holds_replies, read_item_answers
from merilo.datasets.declaration import Dataset
from merilo.datasets.rendering import offered_labels
from merilo.errors import DataError, InputError
from merilo.items import Item
from merilo.models.asking import FINISHES, ModelReply
from merilo.models.log_formats import (
    LETTERS,
    READ,
    REPLIES,
    Harness,
    LogRow,
    Source,
    harness_of,
    logs_in,
    open_log,
)
from merilo.models.matching import ItemFinder, LogChoices, SeenOrder, seen_order, squeezed
from merilo.models.run_log import log_path, read_log
from merilo.strict_json import parse_json
from merilo.wording import listed, shortened, shown

if TYPE_CHECKING:
    import polars as pl

#: The columns of tokens.
TOKENS: Final = ("prompt_tokens", "completion_tokens", "thought_tokens")

#: How many rows of a log in a folder are tried.
_TRIED: Final = 20
_EXAMPLES: Final = 3


class Replies(NamedTuple):
    """The replies of a model.

    Attributes:
        dataset: the dataset.
        table: a row for each reply, with the columns of `schema`.
        source: how the rows of a log or a table were matched to items; `None` for a run.
    """

    dataset: Dataset
    table: pl.DataFrame
    source: Source | None = None


class OtherItemsError(DataError):
    """No row of a log belongs to an item of the dataset."""


def schema() -> dict[str, pl.DataType | type[pl.DataType]]:
    """Return the columns of a table of replies with their types.

    `loglikelihoods` has a value for each of `choices`, or for each label that the item offers. `choices` are the
    choices or letters as the model saw them, each with the text of its option and the label that it stands for; null
    if they are the item's own.
    """
    import polars as pl  # noqa: PLC0415 - takes half a second

    text = pl.String()
    choice = pl.Struct({"name": text, "text": text, "label": text})
    return {
        "item": text,
        "sample": pl.Int64(),
        **dict.fromkeys(("text", "finish", "error"), text),
        "loglikelihoods": pl.List(pl.Float64()),
        "choices": pl.List(choice),
        "row": pl.Int64(),
        "model": text,
        "usd": pl.Float64(),
        **dict.fromkeys(TOKENS, pl.Int64()),
    }


def replies_of_run(run: Path, declared: Dataset) -> Replies:
    """Read the replies to a dataset from the log of a run.

    Raises:
        InputError: the log cannot be read.
    """
    import polars as pl  # noqa: PLC0415 - takes half a second

    columns = schema()
    table = read_log(log_path(run, declared.name), (*columns, "cost")).rename({"cost": "usd"})
    empty = (pl.lit(None, columns[name]).alias(name) for name in ("choices", "row"))
    return Replies(declared, table.with_columns(*empty).select([*columns]))


def read_replies(
    path: Path, declared: Dataset, items: Mapping[str, Item], *, replies: bool = False
) -> Replies | None:
    """Read a log or a table of replies, and match its rows to items; return nothing for a table of answers.

    Args:
        path: the file, or a folder that holds one log of the dataset.
        declared: the dataset.
        items: its items, with the names under which answers are wanted.
        replies: whether the answers of a table are replies, even if their field is not called so.

    Raises:
        InputError: the file cannot be read, holds no answers, or answers an item twice.
        DataError: no row belongs to an item; the answers are programs; or the folder holds several logs of the
            dataset, or none.
        MissingPartError: the log needs a package that is not installed.
    """
    log = is_harness_log(path)
    if not (log or replies or holds_replies(path)):
        return None
    if declared.answer.kind == "program":
        first = "which must be run before they are scored: write them as JSON Lines for merilo code score"
        raise DataError(f"holds programs, {first}", file=path)
    if not log:
        return replies_of_table(read_item_answers(path, replies=True), path, declared, items)
    finder = ItemFinder(declared, items)
    file, harness = _only_log(path, finder) if path.is_dir() else (path, harness_of(path))
    assert harness is not None  # noqa: S101 - `is_harness_log` has found one
    return _matched(*open_log(file, harness), file, finder)


def replies_of_table(
    records: Iterable[ItemAnswer], file: Path, declared: Dataset, items: Mapping[str, Item]
) -> Replies:
    """Match whole replies of a model to items; several records of an item are its samples.

    Args:
        records: the replies; null is an empty reply.
        file: where they come from, for messages.
        declared: the dataset.
        items: its items.

    Raises:
        InputError: there are no replies, one is not a text, or a sample occurs twice.
        DataError: no reply belongs to an item.
    """
    source = Source(REPLIES, shown(file.name), REPLIES)
    return _matched(source, _rows_of_table(records, file), file, ItemFinder(declared, items))


def _rows_of_table(records: Iterable[ItemAnswer], file: Path) -> Iterator[LogRow]:
    counts: Counter[str] = Counter()
    for record in records:
        for reply in record.answer if isinstance(record.answer, list) else [record.answer]:
            if isinstance(reply, list | bool):
                raise InputError("the reply is not a text", file=file, row=record.row)
            counts[record.item] += 1
            text = json.dumps(reply, ensure_ascii=False) if isinstance(reply, dict) else str(reply)
            if reply is None or (isinstance(reply, float) and isnan(reply)):
                text = ""
            number = str(record.sample or "")
            yield LogRow(
                row=record.row,
                ids=(("id", record.item.strip()),),
                letters=_letters(record, file),
                reply=ModelReply(text=text, finish=FINISHES.get((record.finish or "stop").lower(), "other")),
                sample=int(number) if number.isdecimal() else counts[record.item],
            )


def _letters(record: ItemAnswer, file: Path) -> tuple[tuple[str, str], ...]:
    """Return the options of a record by the letters under which the model saw them; in a table they are JSON."""
    options = record.options
    if isinstance(options, str) and options.strip():
        options = parse_json(options, file=file, row=record.row)
    if not options:
        return ()
    named = dict(zip(LETTERS, options, strict=False)) if isinstance(options, list) else options
    if not isinstance(named, dict) or not all(isinstance(text, str) for text in named.values()):
        wrong = "must be a list of texts, or an object from letters to texts"
        raise InputError(wrong, file=file, row=record.row, field="options")
    return tuple((letter, str(text)) for letter, text in named.items())


def _matched(source: Source, rows: Iterable[LogRow], file: Path, finder: ItemFinder) -> Replies:
    """Match rows to items, and find which label each choice stands for."""
    import polars as pl  # noqa: PLC0415 - takes half a second

    declared, items = finder.declared, [*finder.items.items()]
    table_rows: list[dict[str, Any]] = []
    choices = LogChoices(declared, file)
    seen: dict[tuple[int, int], int] = {}
    for row in rows:
        source.rows += 1
        owner = finder.find(row)
        if owner.place is None:
            source.unmatched[owner.by] += 1
            if len(source.examples) < _EXAMPLES:
                source.examples.append(_example(row))
            continue
        # Rows of items that are alike are the items' in their order.
        place = next((place for place in owner.alike if (place, row.sample) not in seen), owner.place)
        name, item = items[place]
        if (first := seen.get((place, row.sample))) is not None:
            twice = f"item {shortened(name)!r} is answered twice, here and in row {first}"
            raise InputError(twice, file=file, row=row.row)
        seen[place, row.sample] = row.row
        source.matched[owner.by] += 1
        own = _compare_prompt(source, row, name, finder.prompts(place))
        order = seen_order(row, declared, item, own_prompt=own)
        if row.reply.finish != "failed":
            choices.add(row, item, order, len(table_rows))
        table_rows.append(_table_row(row, name, offered_labels(item, declared), order))
    _refuse_unmatched(source, file, declared)
    source.notes += choices.settle(table_rows)
    return Replies(declared, pl.DataFrame(table_rows, schema=schema()), source)


def _table_row(row: LogRow, name: str, labels: tuple[str, ...], order: SeenOrder) -> dict[str, object]:
    """Return a row of a log as a row of `Replies`."""
    own = tuple(order.names[place] for place in order.places) == order.names == labels
    label_of = dict(zip(order.places, labels, strict=False))
    choices = [
        {"name": choice, "text": order.texts.get(choice, ""), "label": label_of.get(place)}
        for place, choice in enumerate(order.names)
    ]
    reply = row.reply
    return {
        **{column: getattr(reply, column) for column in ("text", "finish", "error", "model", *TOKENS)},
        "item": name,
        "sample": row.sample,
        "row": row.row,
        "loglikelihoods": [*reply.loglikelihoods],
        "choices": None if own else choices,
    }


def _compare_prompt(source: Source, row: LogRow, name: str, known: Sequence[str]) -> bool:
    """Return whether a row's prompt contains one of the item's prompts, and count a row with another one."""
    if not row.prompt or not known:
        return False
    source.prompts_checked += 1
    asked = squeezed(row.prompt)
    if any(prompt in asked for prompt in known):
        return True
    source.other_prompts += 1
    source.other_prompt = source.other_prompt or name
    return False


def _refuse_unmatched(source: Source, file: Path, declared: Dataset) -> None:
    """Refuse a log without answers of the dataset."""
    if not source.rows:
        notes = f" ({'; '.join(source.notes)})" if source.notes else ""
        raise InputError(f"holds no answers{notes}", file=file)
    if not source.matched:
        task = f" of the task {shortened(source.task)}" if source.task else ""
        raise OtherItemsError(
            f"not one of {source.rows} rows{task} belongs to an item of {declared.title}: is it a log of another "
            f"dataset or version? ({source.reasons}; the first: {', '.join(source.examples)})",
            file=file,
        )


def _example(row: LogRow) -> str:
    for name, value in row.ids:
        return shortened(f"{name} {value if value.isprintable() else ascii(value)[1:-1]}", 40)
    return shortened(next(iter(row.texts), "") or f"row {row.row}", 40)


def is_harness_log(path: Path) -> bool:
    """Check whether a file is the log of another harness, or a folder that holds such logs.

    Raises:
        InputError: the file is missing or empty, or cannot be read.
    """
    return next(logs_in(path), None) is not None if path.is_dir() else harness_of(path) is not None


def only_log(folder: Path, declared: Dataset, items: Mapping[str, Item]) -> Path:
    """Return the log in a folder that has answers to items of a dataset.

    Raises:
        InputError: the folder holds no log.
        DataError: the folder holds several logs of the dataset, or logs of others only.
    """
    return _only_log(folder, ItemFinder(declared, items))[0]


def _only_log(folder: Path, finder: ItemFinder) -> tuple[Path, Harness]:
    """Return the only log in a folder with a row of the dataset among its first rows."""
    logs = [*logs_in(folder)]
    known = [(path, harness) for path, harness in logs if _has_items(path, harness, finder)]
    if len(known) == 1:
        return known[0]
    if known:
        names = listed([str(path.relative_to(folder)) for path, _ in known], 4)
        several = f"holds {len(known)} logs with items of the dataset: name one of them ({names})"
        raise DataError(several, file=folder)
    if not logs:
        raise InputError(f"holds no log of {READ}", file=folder)
    raise OtherItemsError(f"holds {len(logs)} logs, and none of them has items of the dataset", file=folder)


def _has_items(path: Path, harness: Harness, finder: ItemFinder) -> bool:
    try:
        _, rows = open_log(path, harness)
        return any(finder.find(row).place is not None for row in islice(rows, _TRIED))
    except InputError:
        return False
