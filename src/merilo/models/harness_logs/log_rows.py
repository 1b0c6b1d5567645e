"""A row of another harness's log: one answer to one item, whatever the harness."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from merilo.items import id_of
from merilo.models.asking import ModelReply
from merilo.strict_json import Json

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
        letters: the letters that name the choices in a generated answer, each with the text of its choice; empty if there are none.
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
