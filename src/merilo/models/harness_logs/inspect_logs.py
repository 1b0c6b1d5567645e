"""The logs of Inspect: `.eval`, a ZIP archive that Inspect's own reader unpacks, and `.json`.

A `.json` log of the current version is read as it is, which takes no time; logs of older versions and logs whose messages refer to
attachments go through Inspect's reader.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Final

from merilo.errors import InputError, MissingPartError
from merilo.models.asking import Finish, ModelReply
from merilo.models.harness_logs.log_files import read_log
from merilo.models.harness_logs.log_rows import (
    HarnessLog,
    LogRow,
    ids_of,
    list_in,
    mapping_in,
    text_in,
    texts_of,
)
from merilo.strict_json import Json
from merilo.wording import shortened

#: Larger archives, and archives that were packed more tightly, are refused: each sample is unpacked in memory.
LARGEST_MEMBER: Final = 1 << 28
LARGEST_LOG: Final = 1 << 33
MAX_RATIO: Final = 1000
RATIO_MATTERS_FROM: Final = 1 << 24

#: The fields of a sample that hold no answer; they are most of a log.
_UNREAD: Final = {"events", "store", "timelines", "events_data"}

_FINISHES: Final[Mapping[str, Finish]] = {
    "stop": "stop",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "refusal",
}

_VERSION: Final = 2
_ATTACHMENT: Final = "attachment://"


def open_inspect_log(path: Path, *, zipped: bool) -> HarnessLog:
    """Open a log of Inspect.

    Args:
        path: the log.
        zipped: whether it is a ZIP archive.

    Raises:
        InputError: the file is not a log of Inspect, or is too large.
        MissingPartError: Inspect is not installed, and the log cannot be read without it.
    """
    if zipped:
        _check_archive(path)
        return _through_inspect(path)
    content = mapping_in(read_log(path))
    header = mapping_in(content.get("eval"))
    if not header:
        raise InputError("has no 'eval': it is not a log of Inspect", file=path)
    samples = [mapping_in(one) for one in list_in(content.get("samples"))]
    if content.get("version") != _VERSION or any(map(_refers, samples)):
        return _through_inspect(path)
    return _log(path, header, text_in(content.get("status")), iter(samples))


def _check_archive(path: Path) -> None:
    """Refuse an archive that is not a log, or that would not fit into memory."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except FileNotFoundError:
        raise InputError("there is no such file", file=path) from None
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, struct.error) as error:
        raise InputError(
            f"is not a log of Inspect: the ZIP archive is damaged or cut off ({error})", file=path
        ) from None
    names = {member.filename for member in members}
    if not names & {"header.json", "_journal/start.json"}:
        raise InputError("is not a log of Inspect: it is a ZIP archive without header.json", file=path)
    for member in members:
        ratio = member.file_size / max(member.compress_size, 1)
        if member.file_size > LARGEST_MEMBER or (member.file_size > RATIO_MATTERS_FROM and ratio > MAX_RATIO):
            raise InputError(
                f"is refused: unpacked, {shortened(ascii(member.filename))} has {member.file_size >> 20} MB, {ratio:.0f} times its packed size",
                file=path,
            )
    if sum(member.file_size for member in members) > LARGEST_LOG:
        raise InputError(f"is refused: unpacked, it is larger than {LARGEST_LOG >> 30} GB", file=path)


def _through_inspect(path: Path) -> HarnessLog:
    try:
        from inspect_ai.log import read_eval_log, read_eval_log_samples  # noqa: PLC0415 - heavy, optional
    except ImportError:
        raise MissingPartError(
            f"{path}: this log of Inspect is read by the package inspect-ai, which is not installed: pip install inspect-ai"
        ) from None

    def samples() -> Iterator[Mapping[str, Json]]:
        try:
            for sample in read_eval_log_samples(
                path, all_samples_required=False, resolve_attachments=True, exclude_fields=_UNREAD
            ):
                yield sample.model_dump(mode="json", exclude=_UNREAD)
        except Exception as error:  # Inspect raises errors of many kinds for damaged logs
            raise _unreadable(path, error) from error

    try:
        header = read_eval_log(path, header_only=True)
    except Exception as error:
        raise _unreadable(path, error) from error
    return _log(path, header.eval.model_dump(mode="json"), header.status, samples())


def _unreadable(path: Path, error: Exception) -> InputError:
    return InputError(
        f"Inspect cannot read this log ({shortened(str(error) or type(error).__name__, 120)})", file=path
    )


def _log(
    path: Path, header: Mapping[str, Json], status: str, samples: Iterator[Mapping[str, Json]]
) -> HarnessLog:
    task, model = text_in(header.get("task")) or None, text_in(header.get("model")) or None
    log = HarnessLog("Inspect", str(path), iter(()), "output.completion", task, model)
    if status != "success":
        log.notes.append(
            f"the evaluation ended with the status {status or 'unknown'!r}, so samples may be missing"
        )
    log.rows = chain.from_iterable(_row(number, sample) for number, sample in enumerate(samples, start=1))
    return log


def _row(number: int, sample: Mapping[str, Json]) -> Iterator[LogRow]:
    metadata = mapping_in(sample.get("metadata"))
    own = sample.get("id")
    ids = (*ids_of(metadata, "metadata"), *((("id", str(own)),) if isinstance(own, str | int) else ()))
    choices, epoch = list_in(sample.get("choices")), sample.get("epoch")
    yield LogRow(
        row=number,
        ids=ids,
        texts=tuple(texts_of([_contents(sample.get("input")), choices, dict(metadata)])),
        prompt=_prompt(sample),
        reply=_reply(sample),
        letters=tuple(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", map(text_in, choices), strict=False)),
        sample=epoch if isinstance(epoch, int) else 1,
    )


def _prompt(sample: Mapping[str, Json]) -> str | None:
    """Return what the model was asked: the messages before its last answer, or the input."""
    messages = [mapping_in(one) for one in list_in(sample.get("messages"))]
    while messages and messages[-1].get("role") == "assistant":
        messages.pop()
    asked: Sequence[Json] = [dict(one) for one in messages] or [sample.get("input")]
    return "\n".join(text for one in asked if (text := _contents(one))) or None


def _contents(value: Json) -> str:
    """Return the text of an input: a text, a message, or a list of messages or parts."""
    match value:
        case str():
            return value
        case list():
            return "\n".join(filter(None, map(_contents, value)))
        case dict() if value.get("type") == "reasoning":
            return ""
        case dict():
            return _contents(value["content"]) if "content" in value else text_in(value.get("text"))
        case _:
            return ""


def _reply(sample: Mapping[str, Json]) -> ModelReply:
    output = mapping_in(sample.get("output"))
    choices = [mapping_in(one) for one in list_in(output.get("choices"))]
    model = text_in(output.get("model")) or None
    error = mapping_in(sample.get("error")).get("message") or output.get("error")
    if not choices or sample.get("error"):
        return ModelReply(finish="failed", error=shortened(text_in(error) or "no output"), model=model)
    parts = [mapping_in(one) for one in list_in(mapping_in(choices[0].get("message")).get("content"))]
    thought = "".join(text_in(part.get("reasoning")) for part in parts if part.get("type") == "reasoning")
    # A solver may rewrite the completion: multiple_choice writes the letter before shuffling.
    text = text_in(output.get("completion")) or _contents(
        mapping_in(choices[0].get("message")).get("content")
    )
    finish = _FINISHES.get(text_in(choices[0].get("stop_reason")), "other")
    return ModelReply(text=text, thought=thought or None, finish=finish, model=model)


def _refers(sample: Mapping[str, Json]) -> bool:
    """Check whether the question or the answer of a sample is stored as an attachment."""
    shown = (sample.get("input"), sample.get("messages"), sample.get("output"), sample.get("metadata"))
    return any(text.startswith(_ATTACHMENT) for text in texts_of([*shown]))
