"""Answers in the logs of other harnesses."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Final, cast

from merilo.errors import InputError
from merilo.files import opened
from merilo.items import id_of
from merilo.models.asking import ModelReply
from merilo.strict_json import LARGEST_FILE, Json, Row, list_at
from merilo.text import Text
from merilo.wording import listed, shortened

#: Longer lines are rejected; a row with a prompt of a million tokens is far shorter.
LONGEST_LINE: Final = 1 << 26

_READ_AT_ONCE: Final = 1 << 20
_BLANK: Final = b"\xef\xbb\xbf \t\r\n"

#: The fields of a document that may hold an item's id, in the order in which they are tried.
ID_FIELDS: Final = ("id", "item_id", "question_id", "example_id", "sample_id", "idx", "qid", "uid")

#: The nesting to which the texts of a document are read.
_DEPTH: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRow:
    """One answer in a log.

    Attributes:
        row: the line of the file, or the position from 1.
        ids: the values that may be the item's id, each with the name of its field, the likeliest first.
        texts: the texts of the item as logged; empty if the log does not hold them.
        prompt: what the model was asked; `None` if the log does not hold it.
        reply: the model's reply, with log-likelihoods if choices were compared.
        choices: the continuations that were compared, one for each log-likelihood.
        letters: the letters that name the choices in a generated answer, each with the text of its choice;
            empty if there are none.
        right: the place of the choice that the log counts as right; `None` if it does not say.
        target: the right answer as the log has it: a label, a letter, the text or the place of an option.
        sample: the number of this answer among several to the item, from 1.
    """

    row: int
    ids: tuple[tuple[str, str], ...]
    reply: ModelReply
    texts: tuple[str, ...] = ()
    prompt: str | None = None
    choices: tuple[str, ...] = ()
    letters: tuple[tuple[str, str], ...] = ()
    right: int | None = None
    target: str = ""
    sample: int = 1


#: Outcomes that leave an item without an answer; with the others, a model has answered, if not readably.
UNANSWERED: Final = frozenset({"failed"})

#: The name under which a table of replies is read like the log of a harness.
REPLIES: Final = "replies"

_REASONS: Final[Mapping[str, str]] = {
    "unknown id": "unknown id or inputs",
    "other inputs": "the id of an item but other inputs",
    "several items": "inputs of several items",
}


@dataclass
class LogMapping:
    """How the rows of a log became answers.

    Attributes:
        harness: the name of the harness.
        file: the name of the log's file.
        answer_field: the field that the answers come from.
        task: the name of the task; `None` if the log does not name it.
        model: the model's name; `None` if the log does not name it.
        rows: how many answers the log holds.
        matched: how many rows were matched to an item, by the name of the field that gave the id, or "inputs".
        unmatched: how many rows match no item, by the reason.
        examples: ids or texts of the first unmatched rows.
        outcomes: how many rows have each outcome.
        rules: how many answers each rule found.
        other_prompts: rows whose prompt is not the dataset's.
        prompts_checked: rows whose prompt was compared with the dataset's.
        other_prompt: the id of the first item with another prompt.
        asked: what the log says about how the model was asked: `shots`, `system_prompt`, `temperature`, `token_limit`.
        notes: other sentences for the reader.
    """

    harness: str
    file: str
    task: str | None = None
    model: str | None = None
    answer_field: str = ""
    rows: int = 0
    matched: Counter[str] = field(default_factory=Counter)
    unmatched: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    other_prompts: int = 0
    prompts_checked: int = 0
    other_prompt: str | None = None
    asked: dict[str, Json] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def sentences(self) -> Iterator[str]:
        """Yield what a reader must know about the mapping, one sentence at a time."""
        names = [f"task {shortened(self.task)}"] if self.task else []
        names += [f"model {shortened(self.model)}"] if self.model else []
        named = f" ({', '.join(names)})" if names else ""
        by = listed([f"{count} by {name}" for name, count in self.matched.most_common()])
        what = "a table of replies" if self.harness == REPLIES else f"a log of {self.harness}"
        yield (
            f"{self.file} is {what}{named}: {sum(self.matched.values())} of {self.rows} rows"
            f" belong to items ({by}); the answers are from {self.answer_field}"
        )
        yield from self.faults()

    def faults(self) -> Iterator[str]:
        """Yield what limits the answers, one sentence at a time; nothing if every row is an answer to an item."""
        if self.unmatched:
            yield Text(
                "{count:# row belongs to no item and is|# rows belong to no item and are} left out "
                "({reasons}; the first: {first})",
                count=sum(self.unmatched.values()),
                reasons=self.reasons,
                first=", ".join(self.examples),
            ).en
        total = sum(self.outcomes.values())
        unread = {
            name: count for name, count in self.outcomes.items() if name not in {"answered", *UNANSWERED}
        }
        if unread:
            listing = listed([f"{name.replace('_', ' ')}: {count}" for name, count in sorted(unread.items())])
            yield f"{sum(unread.values())} of {total} answers cannot be read ({listing})"
        if lost := self.lost():
            yield Text(
                "{lost} of {total} requests failed, which {lost:leaves its item|leave their items} without an answer",
                lost=lost,
                total=total,
            ).en
        if self.other_prompts:
            yield (
                f"in {self.other_prompts} of {self.prompts_checked} rows the prompt is not the dataset's"
                f" (first: item {self.other_prompt}), so these answers are to another question than people read"
            )
        yield from self.notes

    @property
    def reasons(self) -> str:
        """Why rows belong to no item, each reason with its count."""
        return listed([f"{_REASONS[name]}: {count}" for name, count in self.unmatched.most_common()])

    def was_asked(self, **conditions: Json) -> None:
        """Note how the model was asked; what is not known is `None`, and the first value stays."""
        for name, value in conditions.items():
            if value is not None and not isinstance(value, dict | list):
                self.asked.setdefault(name, value)

    def lost(self) -> int:
        """Return how many requests to items failed, so that the items have no answer."""
        return sum(self.outcomes[name] for name in UNANSWERED)

    def to_json(self) -> dict[str, Json]:
        """Return the mapping as JSON."""
        content: dict[str, Json] = {}
        for attribute in fields(self):
            value = getattr(self, attribute.name)
            name = "unmatched_examples" if attribute.name == "examples" else attribute.name
            content[name] = dict(value) if isinstance(value, Counter) else value
        del content["other_prompt"], content["notes"], content["asked"]
        prompts = {"checked": content.pop("prompts_checked"), "other": content.pop("other_prompts")}
        return {**content, "prompts": prompts, "notes": [*self.notes]}


def log_lines(path: Path, notes: list[str]) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a log with one JSON object per line, or of a JSON list, each with its number from 1.

    Args:
        path: the file.
        notes: receives a note about a last line that is cut off.

    Raises:
        InputError: a line is too long, not UTF-8, or not a JSON object; the last line may be cut off.
    """
    for row, value in _values(path, notes):
        if not isinstance(value, dict):
            raise InputError("is not a JSON object", file=path, row=row)
        yield row, value


def _values(path: Path, notes: list[str]) -> Iterator[tuple[int, Json]]:
    with opened(path) as stream:
        if stream.read(64).lstrip(_BLANK).startswith(b"["):
            yield from enumerate(list_at(read_log(path)), start=1)
            return
        stream.seek(0)
        for row, line in enumerate(iter(lambda: stream.readline(LONGEST_LINE + 1), b""), start=1):
            if len(line) > LONGEST_LINE:
                raise InputError(f"is longer than {LONGEST_LINE >> 20} MB", file=path, row=row)
            if not line.strip(_BLANK):
                continue
            try:
                yield row, parse_log(line, file=path, row=row)
            except InputError:
                if line.endswith(b"\n"):
                    raise
                notes.append(f"line {row} is cut off and left out")


def read_log(path: Path) -> Json:
    """Read a log that is one JSON document.

    Raises:
        InputError: the file is missing, too large, not UTF-8 or not JSON.
    """
    with opened(path) as stream:
        content = stream.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise InputError(f"is larger than {LARGEST_FILE} bytes", file=path)
    return parse_log(content, file=path)


def parse_log(content: bytes, *, file: object, row: int | None = None) -> Json:
    r"""Parse the JSON of a log.

    Args:
        content: the JSON in UTF-8.
        file: the file it came from, for the message.
        row: the line it came from, if each line is a JSON document.

    Raises:
        InputError: the content is not UTF-8 or not JSON.

    Example:
        >>> parse_log(rb'{"a": NaN, "b": "x\ud83d"}', file="log")["b"] == "x\ufffd"
        True
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 text (byte {error.start + 1})", file=file, row=row) from None
    try:
        value = cast("Json", json.loads(text, strict=False))
        return _with_whole_letters(value) if "\\ud" in text or "\\uD" in text else value
    except json.JSONDecodeError as error:
        what = error.msg.lower().removesuffix(" at")
        where = f"position {error.pos + 1}" if row else f"line {error.lineno}, column {error.colno}"
        cut = "; the file may be cut off" if row is None and error.pos >= len(text.rstrip()) - 1 else ""
        raise InputError(f"is not JSON: {what} at {where}{cut}", file=file, row=row) from None
    except RecursionError:
        raise InputError("cannot be read as JSON: nested too deeply", file=file, row=row) from None
    except ValueError as error:
        raise InputError(f"is not JSON: {error}", file=file, row=row) from None


def head_of(path: Path, most: int = _READ_AT_ONCE) -> bytes:
    """Return the first bytes of a file without a byte order mark and leading white space.

    Raises:
        InputError: the file is missing, a folder, a pipe or a device.
    """
    with opened(path) as stream:
        return stream.read(most).removeprefix(b"\xef\xbb\xbf").lstrip()


def first_line(path: Path) -> Row:
    """Return the first row of a file of JSON objects, one per line; an empty one if the first line is not one."""
    try:
        return next((row for _, row in log_lines(path, [])), {})
    except InputError:
        return {}


def _with_whole_letters(value: Json) -> Json:
    """Replace halves of surrogate pairs in all texts by U+FFFD."""
    match value:
        case str():
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        case list():
            return [_with_whole_letters(entry) for entry in value]
        case dict():
            return {
                str(_with_whole_letters(name)): _with_whole_letters(entry) for name, entry in value.items()
            }
        case _:
            return value


def ids_of(document: Mapping[str, Json], name: str) -> tuple[tuple[str, str], ...]:
    """List the values of a document that may be the item's id, with the names of their fields.

    Args:
        document: the document.
        name: what the log calls it, such as `doc`.

    Example:
        >>> ids_of({"idx": 4, "meta": {"id": 12}}, "doc")
        (('doc.meta.id', '12'), ('doc.idx', '4'))
    """
    ids = []
    meta = document.get("meta")
    if isinstance(meta, dict) and (own := _as_id(id_of(meta))) is not None:
        ids.append((f"{name}.meta.id", own))
    values = ((key, _as_id(document.get(key))) for key in ID_FIELDS)
    ids += [(f"{name}.{key}", value) for key, value in values if value is not None]
    if not ids and (own := _as_id(id_of(document))) is not None:
        ids.append((f"{name}.dialog_id, {name}.question_id", own))
    return tuple(ids)


def texts_of(value: Json, depth: int = _DEPTH) -> Iterator[str]:
    """Yield all texts and numbers of a document, in its order, as text.

    Example:
        >>> list(texts_of({"a": "x", "b": [1, {"c": "y"}]}))
        ['x', '1', 'y']
    """
    match value:
        case str():
            yield value
        case bool() | None:
            return
        case int() | float():
            yield str(value)
        case list() if depth:
            for entry in value:
                yield from texts_of(entry, depth - 1)
        case dict() if depth:
            for entry in value.values():
                yield from texts_of(entry, depth - 1)
        case _:
            return


def _as_id(value: Json) -> str | None:
    is_id = isinstance(value, str | int) and not isinstance(value, bool) and value != ""
    return str(value) if is_id else None
