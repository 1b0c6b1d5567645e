"""The logs of other harnesses: samples of lm-eval and logs of Inspect.

Each format is a generator of rows, which also names the task and the model in the mapping and adds notes to it.
"""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Final, Literal, TypeAlias

from merilo.errors import InputError, MissingPartError
from merilo.models.asking import FINISHES, ModelReply
from merilo.models.harness_logs import (
    LogMapping,
    LogRow,
    first_line,
    head_of,
    ids_of,
    log_lines,
    read_log,
    texts_of,
)
from merilo.strict_json import Json, Row, at, dict_at, dicts_at, list_at, text_at
from merilo.wording import shortened, shown

#: `samples_TASK_DATE.jsonl`; the date is that of `results_DATE.json` in the same folder.
FILE_NAME: Final = re.compile(r"samples_(?P<task>.+?)_(?P<date>\d{4}-\d\d-\d\dT[\d.\-]+)\.jsonl")

#: A larger file of results is not read for the model's name.
_LARGEST_RESULTS: Final = 1 << 26


def _is_lm_eval_row(row: Row) -> bool:
    return "doc" in row and ("resps" in row or "filtered_resps" in row)


def copied_name(path: Path) -> str:
    """Return the name of a copy of a model's file.

    Samples of lm-eval are named after the model if the results beside them tell it.
    """
    model = _model_of_results(_results_beside(path))
    return re.sub(r"[^\w.-]+", "__", model) + path.suffix if model else path.name


def _results_beside(path: Path) -> Json:
    """Return lm-eval's results beside its samples; `None` if there are none that can be read."""
    if (named := FILE_NAME.fullmatch(path.name)) is None:
        return None
    results = path.with_name(f"results_{named['date']}.json")
    try:
        return read_log(results) if results.stat().st_size <= _LARGEST_RESULTS else None
    except (OSError, InputError):
        return None


def _model_of_results(content: Json) -> str | None:
    return text_at(content, "model_name") or text_at(content, "config", "model") or None


def _lm_eval_rows(path: Path, mapping: LogMapping) -> Iterator[LogRow]:
    named, results = FILE_NAME.fullmatch(path.name), _results_beside(path)
    mapping.task, mapping.model = named and named["task"], _model_of_results(results)
    mapping.was_asked(
        shots=at(results, "n-shot", mapping.task or ""), system_prompt=at(results, "system_instruction")
    )
    first: str | None = None
    for number, row in log_lines(path, mapping.notes):
        if not _is_lm_eval_row(row):
            raise InputError("is not a sample of lm-eval: 'doc' or 'resps' is missing", file=path, row=number)
        name = text_at(row, "filter")
        first = name if first is None else first
        # Each filter repeats all documents; the raw answers are the same.
        if name == first:
            for _, parameters in _asked(row.get("arguments"))[:1]:
                mapping.was_asked(
                    temperature=at(parameters, "temperature"),
                    token_limit=at(parameters, "max_gen_toks") or at(parameters, "max_tokens"),
                )
            yield from _lm_eval_answers(row, number, path)


def _lm_eval_answers(row: Row, number: int, path: Path) -> Iterator[LogRow]:
    """Yield the answers of a row: one, or one for each repeat."""
    document = dict_at(row, "doc") or {"text": row["doc"]}
    asked = _asked(row.get("arguments"))
    replies = _by_request(row)

    def answer(
        reply: ModelReply, sample: int = 1, choices: tuple[str, ...] = (), right: int | None = None
    ) -> LogRow:
        return LogRow(
            row=number,
            ids=ids_of(document, "doc"),
            texts=tuple(texts_of(dict(document))),
            prompt=asked[0][0] if asked else None,
            reply=reply,
            choices=choices,
            right=right,
            target="" if row.get("target") is None else str(row["target"]).strip(),
            sample=sample,
        )

    scores = [_loglikelihood(reply[0]) if reply else None for reply in replies]
    values = tuple(score for score in scores if score is not None)
    if replies and len(values) == len(scores):
        choices = tuple(text_at(continuation) for _, continuation in asked) or ("",) * len(values)
        if len(values) == 1:
            raise InputError("has one log-likelihood, which gives no answer", file=path, row=number)
        if len(choices) != len(values):
            raise InputError("has log-likelihoods and choices of different number", file=path, row=number)
        conditional = _conditional(asked)
        choices, values = choices[:conditional], values[:conditional]
        yield answer(ModelReply(loglikelihoods=values), choices=choices, right=_right(row, choices, values))
        return
    if len(replies) != 1:
        several = f"has {len(replies)} requests without log-likelihoods, which give no answer"
        raise InputError(several, file=path, row=number)
    for sample, text in enumerate(replies[0], start=1):
        if not isinstance(text, str):
            raise InputError("the answer is not a text", file=path, row=number, field="resps")
        yield answer(ModelReply(text=text), sample)


def _right(row: Row, choices: Sequence[str], values: Sequence[float]) -> int | None:
    """Return the place of the right choice, by the row's `acc` and `target`; `None` if they leave it open.

    The target is the place of a choice, or its text; both are digits where the choices are.
    """
    best = [place for place, value in enumerate(values) if value == max(values)]
    if row.get("acc") == 1:
        return best[0] if len(best) == 1 else None
    target, texts = str(row.get("target")).strip(), [choice.strip() for choice in choices]
    open_to = {int(target)} if target.isdecimal() and int(target) < len(texts) else set()
    open_to |= {place for place, text in enumerate(texts) if text == target}
    if row.get("acc") == 0:
        if len(texts) == 2 and len(best) == 1:
            return 1 - best[0]
        open_to -= {best[0]}
    return open_to.pop() if len(open_to) == 1 else None


def _asked(arguments: Json) -> list[tuple[str, Json]]:
    """Return the context of each request, and its continuation or its parameters."""
    requests = arguments.values() if isinstance(arguments, dict) else list_at(arguments)
    pairs = [[*request.values()] if isinstance(request, dict) else list_at(request) for request in requests]
    return [(text_at(pair[0]), pair[1]) for pair in pairs if len(pair) > 1]


def _by_request(row: Row) -> list[list[Json]]:
    """Return the replies to each request of a document, one for each repeat."""
    if (raw := list_at(row, "resps")) and all(isinstance(replies, list) for replies in raw):
        return [list_at(replies) for replies in raw]
    # Without raw answers, those after the filter are all that there is.
    return [
        reply
        if isinstance(reply, list) and isinstance(at(reply, 0), str) and _loglikelihood(reply) is None
        else [reply]
        for reply in list_at(row, "filtered_resps")
    ]


def _loglikelihood(reply: Json) -> float | None:
    """Return the log-likelihood of a pair (log-likelihood, whether it is the greedy one); `None` for anything else."""
    if not isinstance(reply, list) or len(reply) != 2 or str(reply[1]) not in {"True", "False"}:
        return None
    try:
        value = float(str(reply[0]))
    except ValueError:
        return None
    return float("-inf") if isnan(value) else value


def _conditional(asked: Sequence[tuple[str, Json]]) -> int:
    """Return how many requests come first that have the prompt as context.

    For the metric `acc_mutual_info` the same continuations follow without the prompt.
    """
    half = len(asked) // 2
    first, second = asked[:half], asked[half:]
    repeated = half > 1 and [more for _, more in first] == [more for _, more in second]
    alone = repeated and len({context for context, _ in second}) == 1 and second[0][0] != first[0][0]
    return half if alone else len(asked)


#: Larger archives, and archives that were packed more tightly, are refused: each sample is unpacked in memory.
LARGEST_MEMBER: Final = 1 << 28
LARGEST_LOG: Final = 1 << 33
MAX_RATIO: Final = 1000
RATIO_MATTERS_FROM: Final = 1 << 24

#: The fields of a sample that hold no answer; they are most of a log.
_UNREAD: Final = {"events", "store", "timelines", "events_data"}

_VERSION: Final = 2
_ATTACHMENT: Final = "attachment://"

#: The letters that name choices in their order.
LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _inspect_rows(path: Path, mapping: LogMapping) -> Iterator[LogRow]:
    """Yield the samples of a JSON log, read without Inspect if its form is known."""
    content = read_log(path)
    samples = dicts_at(content, "samples")
    if not dict_at(content, "eval"):
        raise InputError("has no 'eval': it is not a log of Inspect", file=path)
    if at(content, "version") != _VERSION or any(map(_refers, samples)):
        yield from _through_inspect(path, mapping)
    else:
        _name_inspect(mapping, dict_at(content, "eval"), text_at(content, "status"), dict_at(content, "plan"))
        for number, sample in enumerate(samples, start=1):
            mapping.was_asked(system_prompt=_system_prompt(sample))
            yield _inspect_row(number, sample)


def _system_prompt(sample: Row) -> str | None:
    """Return the message of the system to a model."""
    said = [_contents(message) for message in dicts_at(sample, "messages") if message.get("role") == "system"]
    return "\n".join(said) or None


def _name_inspect(mapping: LogMapping, header: Row, status: str, plan: Row) -> None:
    mapping.task, mapping.model = text_at(header, "task") or None, text_at(header, "model") or None
    # The settings of the evaluation stand over those of the model.
    for settings in (dict_at(plan, "config"), dict_at(header, "model_generate_config")):
        mapping.was_asked(
            temperature=settings.get("temperature"),
            token_limit=settings.get("max_tokens"),
            system_prompt=settings.get("system_message"),
        )
    if status != "success":
        ended = f"the evaluation ended with the status {status or 'unknown'!r}, so samples may be missing"
        mapping.notes.append(ended)


def _archive_rows(path: Path, mapping: LogMapping) -> Iterator[LogRow]:
    """Yield the samples of a log that is a ZIP archive; one that would not fit into memory is refused."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, struct.error) as error:
        damaged = f"is not a log of Inspect: the ZIP archive is damaged or cut off ({error})"
        raise InputError(damaged, file=path) from None
    if not {member.filename for member in members} & {"header.json", "_journal/start.json"}:
        raise InputError("is not a log of Inspect: it is a ZIP archive without header.json", file=path)
    for member in members:
        ratio = member.file_size / max(member.compress_size, 1)
        if member.file_size > LARGEST_MEMBER or (member.file_size > RATIO_MATTERS_FROM and ratio > MAX_RATIO):
            size = f"{member.file_size >> 20} MB, {ratio:.0f} times its packed size"
            name = shortened(ascii(member.filename))
            raise InputError(f"is refused: unpacked, {name} has {size}", file=path)
    if sum(member.file_size for member in members) > LARGEST_LOG:
        raise InputError(f"is refused: unpacked, it is larger than {LARGEST_LOG >> 30} GB", file=path)
    yield from _through_inspect(path, mapping)


def _through_inspect(path: Path, mapping: LogMapping) -> Iterator[LogRow]:
    try:
        from inspect_ai.log import read_eval_log, read_eval_log_samples  # noqa: PLC0415 - heavy, optional
    except ImportError:
        needed = "this log of Inspect is read by the package inspect-ai, which is not installed"
        raise MissingPartError(f"{path}: {needed}: pip install inspect-ai") from None
    try:
        header = read_eval_log(path, header_only=True)
        _name_inspect(
            mapping, header.eval.model_dump(mode="json"), header.status, header.plan.model_dump(mode="json")
        )
        samples = read_eval_log_samples(
            path, all_samples_required=False, resolve_attachments=True, exclude_fields=_UNREAD
        )
        for number, sample in enumerate(samples, start=1):
            dumped = sample.model_dump(mode="json", exclude=_UNREAD)
            mapping.was_asked(system_prompt=_system_prompt(dumped))
            yield _inspect_row(number, dumped)
    except Exception as error:  # Inspect raises errors of many kinds for damaged logs
        what = shortened(str(error) or type(error).__name__, 120)
        raise InputError(f"Inspect cannot read this log ({what})", file=path) from error


def _inspect_row(number: int, sample: Row) -> LogRow:
    metadata, own, epoch = dict_at(sample, "metadata"), sample.get("id"), sample.get("epoch")
    choices, right = list_at(sample, "choices"), text_at(sample, "target")
    return LogRow(
        row=number,
        ids=(*ids_of(metadata, "metadata"), *((("id", str(own)),) if isinstance(own, str | int) else ())),
        texts=tuple(texts_of([_contents(sample.get("input")), choices, metadata])),
        prompt=_inspect_prompt(sample),
        reply=_inspect_reply(sample),
        letters=tuple(zip(LETTERS, map(text_at, choices), strict=False)),
        target=right.strip(),
        sample=epoch if isinstance(epoch, int) else 1,
    )


def _inspect_prompt(sample: Row) -> str | None:
    """Return what the model was asked: the messages before its last answer, or the input."""
    messages = dicts_at(sample, "messages")
    while messages and messages[-1].get("role") == "assistant":
        messages.pop()
    asked: Sequence[Json] = [*messages] or [sample.get("input")]
    return "\n".join(filter(None, map(_contents, asked))) or None


def _contents(value: Json) -> str:
    """Return the text of an input: a text, a message, or a list of messages or parts."""
    match value:
        case str():
            return value
        case list():
            return "\n".join(filter(None, map(_contents, value)))
        case dict() if value.get("type") != "reasoning":
            return _contents(value["content"]) if "content" in value else text_at(value, "text")
        case _:
            return ""


def _inspect_reply(sample: Row) -> ModelReply:
    output = dict_at(sample, "output")
    model = text_at(output, "model") or None
    if sample.get("error") or not list_at(output, "choices"):
        error = text_at(sample, "error", "message") or text_at(output, "error")
        return ModelReply(finish="failed", error=shortened(error or "no output"), model=model)
    content = at(output, "choices", 0, "message", "content")
    thoughts = (text_at(part, "reasoning") for part in dicts_at(content) if part.get("type") == "reasoning")
    return ModelReply(
        # A solver may rewrite the completion: multiple_choice writes the letter before shuffling.
        text=text_at(output, "completion") or _contents(content),
        thought="".join(thoughts) or None,
        finish=FINISHES.get(text_at(output, "choices", 0, "stop_reason"), "other"),
        model=model,
    )


def _refers(sample: Row) -> bool:
    """Check whether the question or the answer of a sample is stored as an attachment."""
    shown = [sample.get(name) for name in ("input", "messages", "output", "metadata")]
    return any(text.startswith(_ATTACHMENT) for text in texts_of(shown))


Harness: TypeAlias = Literal["lm-eval", "Inspect", "Inspect archive"]

#: For each format, the harness's name, the field that the answers come from, and the reader of the rows.
_FORMATS: Final[Mapping[Harness, tuple[str, str, Callable[[Path, LogMapping], Iterator[LogRow]]]]] = {
    "lm-eval": ("lm-eval", "resps", _lm_eval_rows),
    "Inspect": ("Inspect", "output.completion", _inspect_rows),
    "Inspect archive": ("Inspect", "output.completion", _archive_rows),
}

#: The names of harnesses in messages.
READ: Final = "lm-eval or Inspect"

_ZIP: Final = b"PK\x03\x04"

#: The keys at the head of a log that is one JSON document.
_INSPECT: Final = re.compile(rb'"(?:eval_id|run_id)"\s*:')
_INSPECT_EVAL: Final = re.compile(rb'\A\{\s*(?:"(?:version|status)"\s*:\s*[^,{\[]+,\s*)*"eval"\s*:\s*\{')
_SAMPLES: Final = re.compile(rb'\A\[\s*\{\s*"(?:doc_id|doc|arguments)"\s*:')
_RESULTS: Final = re.compile(rb'\A\{\s*"results"\s*:\s*\{')

#: Folders are searched to this depth, for at most this many files.
_DEPTH: Final = 3
_MOST_FILES: Final = 10_000


def harness_of(path: Path) -> Harness | None:
    """Return the harness that wrote a file; `None` if it is not a known log.

    Raises:
        InputError: the file is missing or cannot be read; it is empty; or it is called `.eval` and is not a
            log of Inspect.
    """
    head, suffix = head_of(path), path.suffix.lower()
    if not head and suffix in {".eval", ".jsonl", ".ndjson"}:
        raise InputError("the file is empty", file=path)
    if suffix == ".eval" and not head.startswith(_ZIP):
        raise InputError("is not a log of Inspect: a .eval file is a ZIP archive", file=path)
    if suffix == ".json" and _RESULTS.match(head) and b'"n-shot"' in head:
        results = (
            "holds lm-eval's results without the answers: run it with --log_samples and give samples_*.jsonl"
        )
        raise InputError(results, file=path)
    if head.startswith(_ZIP):
        return "Inspect archive" if suffix in {".eval", ".zip"} else None
    if _INSPECT_EVAL.match(head) and _INSPECT.search(head):
        return "Inspect"
    if _SAMPLES.match(head):
        return "lm-eval"
    if suffix == ".json" or not head.startswith(b"{"):
        return None
    return "lm-eval" if _is_lm_eval_row(first_line(path)) else None


def open_log(path: Path, harness: Harness) -> tuple[LogMapping, Iterator[LogRow]]:
    """Open a log.

    Returns:
        What is known of the log, complete after the rows were read; and its rows. Reading them raises `InputError`
        if the file cannot be read as a log of this harness, and `MissingPartError` if it needs a package that
        is not installed.
    """
    name, answer_field, read = _FORMATS[harness]
    mapping = LogMapping(name, shown(path.name), answer_field=answer_field)
    return mapping, read(path, mapping)


def logs_in(folder: Path) -> Iterator[tuple[Path, Harness]]:
    """Yield the logs in a folder and in the folders below it, sorted by name.

    Raises:
        InputError: the folder holds too many files.
    """
    files = sorted(
        path
        for depth in range(1, _DEPTH + 1)
        for path in folder.glob("/".join("*" * depth))
        if path.suffix.lower() in {".jsonl", ".json", ".eval"} and path.is_file()
    )
    if len(files) > _MOST_FILES:
        raise InputError(f"holds more than {_MOST_FILES} files: name the log itself", file=folder)
    for path in files:
        try:
            harness = harness_of(path)
        except InputError:
            continue
        if harness is not None:
            yield path, harness
