"""A row of another harness's log: one answer to one item, whatever the harness; and how such logs are read.

Logs are read less strictly than answers: NaN and infinite numbers, which harnesses write for metrics, are
accepted, and half of a surrogate pair, which a model's text may hold, becomes U+FFFD. A last line that is cut
off is reported and left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

from merilo.errors import InputError
from merilo.files import opened
from merilo.items import id_of
from merilo.models.asking import ModelReply
from merilo.strict_json import LARGEST_FILE, Json

#: Longer lines are rejected; a row with a prompt of a million tokens is far shorter.
LONGEST_LINE: Final = 1 << 26

_READ_AT_ONCE: Final = 1 << 20


@dataclass
class LogLines:
    """The rows of a log with one JSON object per line, or of a JSON list.

    Attributes:
        path: the file.
        cut_off: the number of the last line if it is cut off; known after the rows were read.
    """

    path: Path
    cut_off: int | None = field(default=None, init=False)

    def __iter__(self) -> Iterator[tuple[int, Mapping[str, Json]]]:
        """Yield the number of each row, from 1, and the row.

        Raises:
            InputError: a line is too long, not UTF-8, or not a JSON object; the last line may be cut off.
        """
        with opened(self.path) as stream:
            start = stream.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
            stream.seek(0)
            if start.startswith(b"["):
                yield from self._list()
                return
            for row, line in enumerate(iter(lambda: stream.readline(LONGEST_LINE + 1), b""), start=1):
                if len(line) > LONGEST_LINE:
                    raise InputError(f"is longer than {LONGEST_LINE >> 20} MB", file=self.path, row=row)
                complete = line.endswith(b"\n")
                if not line.strip(b"\xef\xbb\xbf \t\r\n"):
                    continue
                try:
                    value = parse_log(line, file=self.path, row=row)
                except InputError:
                    if complete:
                        raise
                    self.cut_off = row
                    return
                if not isinstance(value, dict):
                    raise InputError("is not a JSON object", file=self.path, row=row)
                yield row, value

    def _list(self) -> Iterator[tuple[int, Mapping[str, Json]]]:
        content = read_log(self.path)
        for row, value in enumerate(content if isinstance(content, list) else [], start=1):
            if not isinstance(value, dict):
                raise InputError("is not a JSON object", file=self.path, row=row)
            yield row, value


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


def first_line(path: Path) -> Mapping[str, Json] | None:
    """Return the first row of a file of JSON objects, one per line; `None` if the first line is not one."""
    try:
        return next((row for _, row in LogLines(path)), None)
    except InputError:
        return None


def _with_whole_letters(value: Json) -> Json:
    """Replace halves of surrogate pairs in all texts by U+FFFD."""
    match value:
        case str():
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        case list():
            return [_with_whole_letters(one) for one in value]
        case dict():
            return {str(_with_whole_letters(name)): _with_whole_letters(one) for name, one in value.items()}
        case _:
            return value


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
        sample: the number of this answer among several to the item, from 1.
    """

    row: int
    ids: tuple[tuple[str, str], ...]
    reply: ModelReply
    texts: tuple[str, ...] = ()
    prompt: str | None = None
    choices: tuple[str, ...] = ()
    letters: tuple[tuple[str, str], ...] = ()
    sample: int = 1


@dataclass
class HarnessLog:
    """An opened log.

    Attributes:
        harness: the harness's name.
        file: the file's name as given.
        rows: the answers, read as they are asked for.
        task: the name of the task; `None` if the log does not name it.
        model: the model's name; `None` if the log does not name it.
        answer_field: the field that the answers come from.
        notes: what a reader must know, one sentence each; complete after the rows were read.
    """

    harness: str
    file: str
    rows: Iterator[LogRow]
    answer_field: str
    task: str | None = None
    model: str | None = None
    notes: list[str] = field(default_factory=list)


def ids_of(document: Mapping[str, Json], name: str) -> tuple[tuple[str, str], ...]:
    """List the values of a document that may be the item's id, with the names of their fields.

    Args:
        document: the document.
        name: what the log calls it, such as `doc`.

    Example:
        >>> ids_of({"idx": 4, "meta": {"id": 12}}, "doc")
        (('doc.meta.id', '12'), ('doc.idx', '4'))
    """
    found = []
    meta = document.get("meta")
    if isinstance(meta, dict) and (own := _as_id(id_of(meta))) is not None:
        found.append((f"{name}.meta.id", own))
    values = ((key, _as_id(document.get(key))) for key in ID_FIELDS)
    found += [(f"{name}.{key}", value) for key, value in values if value is not None]
    if not found and (own := _as_id(id_of(document))) is not None:
        found.append((f"{name}.dialog_id, {name}.question_id", own))
    return tuple(found)


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
            for one in value:
                yield from texts_of(one, depth - 1)
        case dict() if depth:
            for one in value.values():
                yield from texts_of(one, depth - 1)
        case _:
            return


def text_in(value: Json) -> str:
    """Return a text, or an empty text for anything else."""
    return value if isinstance(value, str) else ""


def mapping_in(value: Json) -> Mapping[str, Json]:
    """Return a mapping, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def list_in(value: Json) -> list[Json]:
    """Return a list, or an empty one for anything else."""
    return value if isinstance(value, list) else []


def _as_id(value: Json) -> str | None:
    return (
        str(value) if isinstance(value, str | int) and not isinstance(value, bool) and value != "" else None
    )
