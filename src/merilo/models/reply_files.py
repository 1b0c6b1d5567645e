"""What a model said to the items of a dataset, whoever wrote the file.

A run, a log of another harness and a table of replies become the same table, `Replies`; `merilo.models.reply_answers`
reads the answers in it. The item of a row is found by its id and by its texts, which are compared without white space,
because harnesses strip and join them.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from merilo.answer_tables import ItemAnswer, each_once, holds_replies, read_item_answers
from merilo.datasets.declaration import Dataset
from merilo.datasets.rendering import (
    bare_parts,
    group,
    harness_prompts,
    offered_labels,
    option_fields,
    render,
)
from merilo.datasets.rendering import prompts as dataset_prompts
from merilo.errors import DataError, InputError, MeriloError
from merilo.items import Item, id_of
from merilo.models.asking import FINISHES, ModelReply, Replies
from merilo.models.log_formats import (
    LETTERS,
    READ,
    REPLIES,
    Harness,
    LogRow,
    Source,
    harness_of,
    log_rows,
    logs_in,
    texts_of,
)
from merilo.models.run_log import TOKENS, log_schema
from merilo.strict_json import parse_json
from merilo.wording import counted_noun, listed, shortened, shown

if TYPE_CHECKING:
    import polars as pl


#: The columns that a log takes from a reply as they are.
_OF_REPLY: Final = ("text", "finish", "error", "model", *TOKENS)

#: How many rows of a log in a folder are tried.
_TRIED: Final = 20
_EXAMPLES: Final = 3


class OtherItemsError(DataError):
    """No row of a log belongs to an item of the dataset."""


def schema() -> dict[str, pl.DataType | type[pl.DataType]]:
    """Return the columns of a table of replies with their types.

    `loglikelihoods` has a value for each of `choices`, or for each label that the item offers. `choices` are the
    choices or letters as the model saw them, each with the text of its option and the label that it stands for; null
    if they are the item's own.
    """
    import polars as pl  # noqa: PLC0415 - takes half a second

    own = log_schema()
    choice = pl.Struct(dict.fromkeys(SeenChoice._fields, pl.String()))
    return {
        **{name: own[name] for name in ("item", "sample", *_OF_REPLY, "loglikelihoods")},
        "choices": pl.List(choice),
        "row": pl.Int64(),
        "usd": pl.Float64(),
    }


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
    file, harness = only_log(path, finder) if path.is_dir() else (path, harness_of(path))
    assert harness is not None  # noqa: S101 - `is_harness_log` has found one
    return _matched(*log_rows(file, harness), file, finder)


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
    source, unnumbered = Source(REPLIES, shown(file.name), REPLIES), Counter[str]()
    rows = _rows_of_table(records, file, unnumbered)
    replies = _matched(source, rows, file, ItemFinder(declared, items))
    if repeated := [item for item, count in unnumbered.items() if count > 1]:
        source.notes.append(
            f"{counted_noun(len(repeated), 'item has', 'items have')} several replies without a 'sample' "
            f"({listed(repeated, 4)}): each counts as one more sample"
        )
    return replies


def _rows_of_table(records: Iterable[ItemAnswer], file: Path, unnumbered: Counter[str]) -> Iterator[LogRow]:
    """Yield the replies of a table, and count the records of an item without a sample."""
    counts: Counter[str] = Counter()
    rows = [*each_once(records, file, uncounted=True)]
    numbered = {(row.item, int(str(row.sample))) for row in rows if str(row.sample or "").isdecimal()}
    for record in rows:
        unnumbered[record.item] += record.sample is None
        for reply in record.answer if isinstance(record.answer, list) else [record.answer]:
            if isinstance(reply, list | bool):
                raise InputError("the reply is not a text", file=file, row=record.row)
            number = str(record.sample or "")
            counts[record.item] += 1
            while not number.isdecimal() and (record.item, counts[record.item]) in numbered:
                counts[record.item] += 1
            text = json.dumps(reply, ensure_ascii=False) if isinstance(reply, dict) else str(reply)
            if reply is None or (isinstance(reply, float) and isnan(reply)):
                text = ""
            yield LogRow(
                row=record.row,
                ids=(("id", record.item),),
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
        if source.harness == REPLIES and row.letters and not order.known:
            _refuse_other_options(row, name, file, _option_texts(declared, item))
        if row.reply.finish != "failed":
            choices.add(row, item, order)
        own_labels = (
            [choice.name for choice in order.choices]
            == [*offered_labels(item, declared)]
            == [choice.label for choice in order.choices]
        )
        table_rows.append(
            {
                **{column: getattr(row.reply, column) for column in _OF_REPLY},
                "item": name,
                "sample": row.sample,
                "row": row.row,
                "loglikelihoods": [*row.reply.loglikelihoods],
                "choices": None if own_labels else [choice._asdict() for choice in order.choices],
            }
        )
    _refuse_unmatched(source, file, declared)
    source.lost = (*source.notes,)
    source.notes += choices.notes()
    return Replies(declared, pl.DataFrame(table_rows, schema=schema()), source)


def _refuse_other_options(row: LogRow, name: str, file: Path, own: Sequence[str]) -> None:
    """Refuse options of a table that are not the texts of the item's options: a letter would mean another option."""
    known, seen = [*map(squeezed, own)], [text for _, text in row.letters]
    if not any(known):
        return
    what = f"{len(seen)} options, of which {len(set(seen))} differ, but the item has {len(own)}"
    if other := next((text for text in seen if squeezed(text) not in known), ""):
        what = f"{shortened(other)!r} is none of its options ({listed([*map(repr, map(shortened, own))])})"
    raise InputError(f"item {shortened(name)!r}: {what}", file=file, row=row.row, field="options")


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


def only_log(folder: Path, finder: ItemFinder) -> tuple[Path, Harness]:
    """Return the only log in a folder with a row of the dataset among its first rows.

    Raises:
        InputError: the folder holds no log.
        DataError: the folder holds several logs of the dataset, or logs of others only.
    """
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
        _, rows = log_rows(path, harness)
        return any(finder.find(row).place is not None for row in islice(rows, _TRIED))
    except InputError:
        return False


#: How a row was matched: the name of the field that gave the id, or "inputs".
BY_INPUTS: Final = "inputs"

#: Why a row matches no item.
Mismatch: TypeAlias = Literal["unknown id", "other inputs", "several items"]

#: A text that more items share does not identify any of them.
_MOST_SHARED: Final = 200

#: Longer texts are looked up by pieces of this many characters, because a prompt may hold them anywhere.
_GRAM: Final = 10

#: The last line of many prompts, which some harnesses add.
_ANSWER_MARK: Final = "Ответ:"

_MARKS: Final = re.compile(r"[:.)»]\s*")
_QUOTED: Final = re.compile(r"«([^«»]+)»|\"([^\"]+)\"|`([^`]+)`|“([^“”]+)”")


@dataclass(frozen=True, slots=True)
class FoundItem:
    """The item of a row.

    Attributes:
        place: the item's place among the items; `None` if the row matches no item.
        by: the field that gave the id, or `BY_INPUTS`; for a row that matches no item, why.
        alike: the places of all items that differ from this one in nothing but their id, if the inputs gave it.
    """

    place: int | None
    by: str
    alike: tuple[int, ...] = ()


class ItemFinder:
    """Finds the items of rows.

    Args:
        declared: the dataset.
        items: its items by the ids under which answers name them.
    """

    def __init__(self, declared: Dataset, items: Mapping[str, Item]) -> None:
        self._place = {name: place for place, name in enumerate(items)}
        for place, item in enumerate(items.values()):
            own = id_of(item.meta)
            if isinstance(own, str | int) and not isinstance(own, bool):
                self._place.setdefault(str(own), place)
        hidden = {*declared.hidden, *declared.media}
        self.declared = declared
        self.items = items
        self._values = [_checked(name, item, hidden) for name, item in items.items()]
        self._holders: dict[str, list[int]] = defaultdict(list)
        for place, values in enumerate(self._values):
            for key in {key for value in values for key in _keys(value)}:
                self._holders[key].append(place)

    def find(self, row: LogRow) -> FoundItem:
        """Find the item of a row."""
        # All texts of the row without white space; empty if it has none.
        shown = "\0".join(map(squeezed, row.texts)) if any(map(str.strip, row.texts)) else ""
        named = False
        for name, value in row.ids:
            if (place := self._place.get(value)) is not None:
                if not shown or self._is_held(place, shown):
                    return FoundItem(place, name)
                named = True
        if shown:
            places = self._by_prompt(row) or self._by_texts(row, shown)
            if places and len({self._contents[place] for place in places}) == 1:
                return FoundItem(places[0], BY_INPUTS, alike=tuple(places))
            reason: Mismatch = "other inputs" if named else "unknown id"
            return FoundItem(None, "several items" if places else reason)
        return FoundItem(None, "unknown id")

    def prompts(self, place: int) -> list[str]:
        """Return the prompts of an item (`known_prompts`)."""
        return self._prompts[place]

    @cached_property
    def _prompts(self) -> list[list[str]]:
        return [known_prompts(item, self.declared) for item in self.items.values()]

    @cached_property
    def _ends(self) -> dict[str, list[int]]:
        """The items by the prompts that end a row's prompt."""
        ends: dict[str, list[int]] = defaultdict(list)
        for place, prompts in enumerate(self._prompts):
            for prompt in prompts:
                ends[prompt.removesuffix(_ANSWER_MARK)].append(place)
        return ends

    @cached_property
    def _lengths(self) -> set[int]:
        return set(map(len, self._ends))

    @cached_property
    def _contents(self) -> list[str]:
        """All of each item but its id: items that are equal in it can take each other's answers."""
        return [
            repr((values, item.outputs, {**item.meta, "id": None}))
            for values, item in zip(self._values, self.items.values(), strict=True)
        ]

    def _is_held(self, place: int, shown: str) -> bool:
        return all(value in shown for value in self._values[place])

    def _by_prompt(self, row: LogRow) -> list[int]:
        """Return the items with whose prompt the row's prompt ends; solved items may stand in lines before it."""
        for text in (row.prompt,) if row.prompt else row.texts:
            whole, start = squeezed(text).removesuffix(_ANSWER_MARK), 0
            for line in text.splitlines():
                if len(whole) - start in self._lengths and (places := self._ends.get(whole[start:])):
                    return places
                start += len(squeezed(line))
        return []

    def _by_texts(self, row: LogRow, shown: str) -> list[int]:
        candidates: set[int] = set()
        for key in _keys_in(row.texts, shown):
            holders = self._holders.get(key, ())
            if len(holders) <= _MOST_SHARED:
                candidates.update(holders)
        holding = [
            place for place in sorted(candidates) if self._values[place] and self._is_held(place, shown)
        ]
        if len(holding) < 2:
            return holding
        # A short text also stands within longer ones.
        lines = [line for text in row.texts for line in text.splitlines()]
        for texts in (row.texts, lines, [piece for line in lines for piece in _pieces(line)]):
            whole = set(map(squeezed, texts))
            if whole_matches := [place for place in holding if whole.issuperset(self._values[place])]:
                holding = whole_matches
                break
        # Items with equal inputs differ in their instruction; of prompts that follow each other, the last is asked.
        asked = squeezed(row.prompt or "") + shown
        ends = {place: max(map(partial(_end, asked), self.prompts(place)), default=-1) for place in holding}
        last = max(ends.values())
        return [place for place, end in ends.items() if end == last]


def _keys_in(texts: Sequence[str], joined: str) -> set[str]:
    """Return the keys (`_keys`) of all texts that a row may hold."""
    pieces = {squeezed(piece) for text in texts for piece in _pieces(text)}
    return {joined[start : start + _GRAM] for start in range(len(joined) - _GRAM + 1)} | pieces


def squeezed(text: str) -> str:
    """Remove all white space from a text.

    Example:
        >>> squeezed(" 2 + 2")
        '2+2'
    """
    return "".join(text.split())


def _checked(name: str, item: Item, hidden: set[str]) -> tuple[str, ...]:
    """Return the texts that a row must hold, without white space; none if only the id of the item is known."""
    values = tuple(_visible(item, hidden))
    return () if values == (name,) else tuple(map(squeezed, values))


def _visible(item: Item, hidden: set[str]) -> Iterator[str]:
    """Yield the texts of an item that a prompt shows."""
    if isinstance(item.inputs, Mapping):
        for name, value in item.inputs.items():
            if name not in hidden:
                yield from (text for text in texts_of(value) if text.strip())
    elif item.inputs.strip():
        yield item.inputs


def _end(text: str, piece: str) -> int:
    """Return where a piece ends for the last time in a text; -1 without it."""
    start = text.rfind(piece)
    return start + len(piece) if start >= 0 else -1


def _rendered(item: Item, declared: Dataset) -> str:
    """Return the prompt of an item without white space; empty if the item has no prompt."""
    try:
        return squeezed(render(item, declared))
    except MeriloError:
        return ""


def _keys(value: str) -> Iterator[str]:
    """Yield the keys of a text without white space: the whole text, and for a longer one its begin, middle and end."""
    yield value
    if len(value) > _GRAM:
        for start in (0, (len(value) - _GRAM) // 2, len(value) - _GRAM):
            yield value[start : start + _GRAM]


def _pieces(text: str) -> Iterator[str]:
    """Yield a text, its lines, and what follows a label or stands in quotes in a line."""
    yield text
    for line in text.splitlines():
        yield line
        for mark in _MARKS.finditer(line):
            yield line[mark.end() :]
        for quoted in _QUOTED.finditer(line):
            yield quoted[quoted.lastindex or 0]


def known_prompts(item: Item, declared: Dataset) -> list[str]:
    """Return the prompts of an item without white space: with its instruction, and bare after solved items.

    An item without an instruction may have been asked by any prompt of its dataset. Empty if it has none.
    """
    own, harness = [item.instruction], harness_prompts(declared)
    if item.instruction == "":
        with suppress(MeriloError):
            own = [*range(len(dataset_prompts(declared).get(group(item, declared), ())))]
    prompts = [_rendered(replace(item, instruction=text), declared) for text in own if text != ""]
    with suppress(MeriloError):
        prompts.append(squeezed("".join(map(str, bare_parts(item, declared)))))
    with suppress(MeriloError):
        prompts.append("" if harness is None else squeezed(harness.bare_question(item, declared)))
    return [*dict.fromkeys(filter(None, prompts))]


#: Choices in these orders stand for the labels in theirs, even if no right answer confirms it.
_SERIES: Final = ("ABCDEFGHIJ", "abcdefghij", "АБВГДЕЖЗИК", "абвгдежзик", "0123456789", "123456789")

#: The share of rows in which the log's right answer must be the item's gold answer.
_AGREEING: Final = 0.9


class SeenChoice(NamedTuple):
    """A choice as the model saw it.

    Attributes:
        name: the choice that was compared, or the letter of an option.
        text: the text of the option, if it has a letter.
        label: the label of the dataset that it stands for; `None` if it stands for none.
    """

    name: str
    text: str
    label: str | None


class SeenOrder(NamedTuple):
    """Which label each option of a row stands for.

    Attributes:
        choices: the choices that were compared, or the letters of a generated answer, as the model saw them.
        known: whether the texts of the options, or the dataset's own prompt, tell the order.
        named: whether the names are the labels themselves.
    """

    choices: tuple[SeenChoice, ...]
    known: bool
    named: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the choices."""
        return tuple(choice.name for choice in self.choices)


def seen_order(row: LogRow, declared: Dataset, item: Item, *, own_prompt: bool) -> SeenOrder:
    """Find the order in which the model saw the options of an item.

    A choice or a letter stands for the label whose option has the same text, wherever it stands; a letter's option is
    named by the log, or stands behind the letter in the prompt. Otherwise, it stands for the label of its name or
    place, which `LogChoices` checks.
    """
    labels, own_texts = offered_labels(item, declared), _option_texts(declared, item)
    seen = dict(row.letters or (() if own_prompt else _letters_in(row.prompt or "", own_texts)))

    def order(places: Sequence[int], *, known: bool, named: bool) -> SeenOrder:
        label_of = dict(zip(places, labels, strict=False))
        choices = (
            SeenChoice(name, seen.get(name, ""), label_of.get(place)) for place, name in enumerate(names)
        )
        return SeenOrder(tuple(choices), known, named)

    if not row.reply.loglikelihoods:
        names = (*seen,) or labels
        by_text = _places_of([*seen.values()], own_texts)
        places = by_text or (_by_position(names, declared, item) if seen else range(len(labels)))
        return order(places, known=bool(by_text) or (own_prompt and not seen), named=names == labels)
    names = tuple(choice.strip() for choice in row.choices)
    bare = [name.strip("().") for name in names]
    texts = [seen[name] for name in bare] if set(bare) == seen.keys() else names
    if by_text := _places_of(texts, own_texts):
        return order(by_text, known=True, named=False)
    if by_name := _places_of(names, labels):
        # Labels that are sentences or words of their own mean themselves in any order.
        return order(by_name, known=own_prompt, named=True)
    return order(_by_position(names, declared, item), known=False, named=False)


#: The letter or number before an option in a prompt, such as "B) ", "(2) " or "**C.** ".
_OPTION_MARK: Final = r"(?<![^\s(\[*])([A-ZА-ЯЁa-zа-яё]|\d\d?)[).:\]]+[\s*]*"


def _letters_in(prompt: str, options: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the letters before options in a prompt, in their order; nothing if one has none."""
    marks = []
    for text in options:
        words = r"\s+".join(map(re.escape, text.split()))
        # Solved items may have the same options: the item itself is asked last.
        *_, last = [None, *re.finditer(rf"{_OPTION_MARK}{words}(?!\w)", prompt)]
        if not words or last is None:
            return ()
        marks.append((last.start(), last[1], text))
    letters = tuple((letter, text) for _, letter, text in sorted(marks))
    return letters if len(dict(letters)) == len(marks) else ()


def _option_texts(declared: Dataset, item: Item) -> list[str]:
    """Return the texts of an item's options in the order of the labels; nothing if they have no fields."""
    inputs, fields = item.inputs if isinstance(item.inputs, Mapping) else {}, option_fields(declared)
    return [str(inputs.get(fields[label], "")) for label in offered_labels(item, declared) if label in fields]


def _by_position(choices: Sequence[str], declared: Dataset, item: Item) -> Sequence[int]:
    """Return the place of each label's choice if choices stand for the labels in their order; else nothing."""
    # Only an item with all options tells whether other choices stand for the labels in their order.
    if len(choices) != len(offered_labels(item, declared)):
        return ()
    whole = len(choices) == len(declared.answer.labels)
    return range(len(choices)) if whole or _is_series(choices) else ()


def _places_of(choices: Sequence[str], known: Sequence[str]) -> list[int]:
    """Return the place of each known text among the choices; nothing if they are not the same texts."""
    texts, wanted = [*map(squeezed, choices)], [*map(squeezed, known)]
    if texts == wanted:
        return [*range(len(texts))]
    same = len(wanted) == len(texts) == len(set(texts)) and set(texts) == set(wanted)
    return [texts.index(text) for text in wanted] if same else []


def _is_series(choices: Sequence[str]) -> bool:
    """Check whether choices are letters or numbers in their order."""
    return any(
        [squeezed(choice).strip("().") for choice in choices] == [*known[: len(choices)]] for known in _SERIES
    )


def _right_label(row: LogRow, order: SeenOrder) -> str | None:
    """Return the label that the log counts as right; `None` if it does not say or can be read in two ways."""
    place = row.right
    if place is None and not row.reply.loglikelihoods:
        texts = [text for _, text in row.letters]
        open_to = {at for at, name in enumerate(order.names) if name == row.target}
        open_to |= {at for at, text in enumerate(texts) if squeezed(text) == squeezed(row.target)}
        if row.target.isdecimal() and int(row.target) < len(order.names):
            open_to.add(int(row.target))
        place = open_to.pop() if len(open_to) == 1 else None
    return None if place is None else order.choices[place].label


@dataclass
class LogChoices:
    """Whether the choices of a log mean what its right answers say.

    Attributes:
        declared: the dataset.
        file: the log, for messages.
        foreign: the choices of the first row whose choices are neither the labels nor texts of options.
        known: of the rows whose order is known, how many agree with the item on the right answer.
        assumed: of the rows whose choices stand for the labels by their names or in their order, the same.
        unconfirmed: how many rows tell neither the order nor a right answer, although letters or numbers before options
            are the labels.
        unshown: how many of them have no prompt either.
    """

    declared: Dataset
    file: Path
    foreign: tuple[str, ...] = ()
    known: Counter[bool] = field(default_factory=Counter)
    assumed: Counter[bool] = field(default_factory=Counter)
    unconfirmed: int = 0
    unshown: int = 0

    def add(self, row: LogRow, item: Item, order: SeenOrder) -> None:
        """Check the choices of a row.

        Args:
            row: the row.
            item: its item.
            order: the order of its options.
        """
        labels, gold = offered_labels(item, self.declared), item.outputs
        right = _right_label(row, order) if gold in labels else None
        if right is not None:
            (self.known if order.known else self.assumed)[right == gold] += 1
        elif not order.known and order.named and self._marks_options(labels):
            self.unconfirmed += 1
            self.unshown += not row.prompt
        # Of an item that offers fewer labels than others, the choices are a series in its order.
        whole = len(labels) == len(self.declared.answer.labels)
        if whole and not (order.known or order.named) and any(choice.label for choice in order.choices):
            self.foreign = self.foreign or order.names

    def _marks_options(self, labels: Sequence[str]) -> bool:
        """Check whether labels stand before options, so that they mean nothing without them."""
        if not labels:
            return False
        return bool(option_fields(self.declared)) or (_is_series(labels) and not labels[0].isdecimal())

    def notes(self) -> list[str]:
        """Return what a reader must know of the choices.

        Raises:
            DataError: the log's right answers contradict the items' gold answers, or nothing tells the order.
        """
        if self.assumed[False] > (1 - _AGREEING) * self.assumed.total():
            raise DataError(
                f"in {self.assumed[False]} of {self.assumed.total()} rows the log counts another label as right than "
                f"the item's gold answer, and {self._unknown_order()}",
                file=self.file,
            )
        notes, agreeing = [], self.known + self.assumed
        if other := agreeing[False]:
            notes.append(
                f"in {other} of {agreeing.total()} rows the log counts another answer as right than the item's "
                "gold answer: one of them is another version"
            )
        if self.unshown and option_fields(self.declared):
            notes.append(
                f"{counted_noun(self.unshown, 'reply does', 'replies do')} not say in which order the model saw the "
                "options, so a letter means the item's own option: if they were shuffled, give a table with a column "
                "of options (id, reply, options)"
            )
        elif self.unconfirmed > self.unshown:
            notes.append(
                f"in {self.unconfirmed} rows no right answer confirms which label means which option, and "
                f"{self._unknown_order()}; here the labels are taken to mean the same as the items'"
            )
        if self.foreign:
            if not (self.assumed or _is_series(self.foreign)):
                raise DataError(
                    f"compares choices that are no labels of the dataset ({listed([*map(repr, self.foreign)])}), and "
                    "no right answers tell which choice is which label: name the choices like the labels, or give the "
                    "replies as a table (id, reply)",
                    file=self.file,
                )
            named = [f"choice {n} is {label}" for n, label in enumerate(self.declared.answer.labels, start=1)]
            notes.append(f"the choices are not the dataset's labels; by their order, {listed(named)}")
        return notes

    def _unknown_order(self) -> str:
        """Say why the order is not known, and how to give it."""
        if not option_fields(self.declared):
            return (
                "the items have no fields of options, which would show in which order the model saw them: name them in "
                "a declaration of the dataset, and make the baseline or score the answers with it"
            )
        return (
            "its prompts do not show in which order the model saw the options: give the replies as a table (id, reply, "
            "options)"
        )
