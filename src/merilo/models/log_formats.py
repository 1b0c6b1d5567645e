"""The logs of other harnesses, row by row: samples of lm-eval and logs of Inspect.

Each format is a generator of rows, which also names the task and the model in the source and adds notes to it.
"""

from __future__ import annotations

import json
import re
import struct
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import isnan
from pathlib import Path
from typing import Final, Literal, TypeAlias, cast

from merilo.errors import InputError, MissingPartError
from merilo.files import opened
from merilo.items import id_of
from merilo.models.asking import FINISHES, ModelReply
from merilo.strict_json import LARGEST_FILE, Json, Row, at, dict_at, dicts_at, list_at, text_at
from merilo.wording import listed, shortened, shown

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


#: The name under which a table of replies is read like the log of a harness.
REPLIES: Final = "replies"

_REASONS: Final[Mapping[str, str]] = {
    "unknown id": "unknown id or inputs",
    "other inputs": "the id of an item but other inputs",
    "several items": "inputs of several items",
}


@dataclass
class Source:
    """Where replies come from: a log or a table, and how its rows were matched to items.

    Attributes:
        harness: the name of the harness.
        file: the name of the file.
        answer_field: the field that the replies come from.
        task: the name of the task; `None` if the log does not name it.
        model: the model's name; `None` if the log does not name it.
        rows: how many replies the file holds.
        matched: how many rows were matched to an item, by the name of the field that gave the id, or "inputs".
        unmatched: how many rows match no item, by the reason.
        examples: ids or texts of the first unmatched rows.
        other_prompts: rows whose prompt is not the dataset's.
        prompts_checked: rows whose prompt was compared with the dataset's.
        other_prompt: the id of the first item with another prompt.
        asked: what the log says about how the model was asked: `shots`, `system_prompt`, `temperature`, `token_limit`.
        lost: sentences on answers that the file lacks.
        notes: these and other sentences for the reader.
    """

    harness: str
    file: str
    answer_field: str
    task: str | None = None
    model: str | None = None
    rows: int = 0
    matched: Counter[str] = field(default_factory=Counter)
    unmatched: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    other_prompts: int = 0
    prompts_checked: int = 0
    other_prompt: str | None = None
    asked: dict[str, Json] = field(default_factory=dict)
    lost: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        names = [
            f"{kind} {shortened(name)}" for kind, name in (("task", self.task), ("model", self.model)) if name
        ]
        named = f" ({', '.join(names)})" if names else ""
        by = listed([f"{count} by {name}" for name, count in self.matched.most_common()])
        what = "a table of replies" if self.harness == REPLIES else f"a log of {self.harness}"
        return (
            f"{self.file} is {what}{named}: {self.matched.total()} of {self.rows} rows"
            f" belong to items ({by}); the answers are from {self.answer_field}"
        )

    @property
    def reasons(self) -> str:
        """Why rows belong to no item, each reason with its count."""
        return listed([f"{_REASONS[name]}: {count}" for name, count in self.unmatched.most_common()])

    def was_asked(self, **conditions: Json) -> None:
        """Note how the model was asked; what is not known is `None`, and the first value stays."""
        for name, value in conditions.items():
            if value is not None and not isinstance(value, dict | list):
                self.asked.setdefault(name, value)

    def to_json(self) -> dict[str, Json]:
        """Return the source as JSON."""
        names = ("harness", "file", "task", "model", "answer_field", "rows")
        return {
            **{name: getattr(self, name) for name in names},
            "matched": {**self.matched},
            "unmatched": {**self.unmatched},
            "unmatched_examples": [*self.examples],
            "prompts": {"checked": self.prompts_checked, "other": self.other_prompts},
            "notes": [*self.notes],
        }


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
            yield from enumerate(list_at(read_json_log(path)), start=1)
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


def read_json_log(path: Path) -> Json:
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
        value = json.loads(text, strict=False)
        if "\\ud" in text or "\\uD" in text:
            # Halves of surrogate pairs become U+FFFD.
            whole = json.dumps(value, ensure_ascii=False).encode("utf-16-le", "surrogatepass")
            value = json.loads(whole.decode("utf-16-le", "replace"))
        return cast("Json", value)
    except json.JSONDecodeError as error:
        what = error.msg.lower().removesuffix(" at")
        where = f"position {error.pos + 1}" if row else f"line {error.lineno}, column {error.colno}"
        cut = "; the file may be cut off" if row is None and error.pos >= len(text.rstrip()) - 1 else ""
        raise InputError(f"is not JSON: {what} at {where}{cut}", file=file, row=row) from None
    except RecursionError:
        raise InputError("cannot be read as JSON: nested too deeply", file=file, row=row) from None
    except ValueError as error:
        raise InputError(f"is not JSON: {error}", file=file, row=row) from None


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
        return read_json_log(results) if results.stat().st_size <= _LARGEST_RESULTS else None
    except (OSError, InputError):
        return None


def _model_of_results(content: Json) -> str | None:
    return text_at(content, "model_name") or text_at(content, "config", "model") or None


def _lm_eval_rows(path: Path, source: Source) -> Iterator[LogRow]:
    named, results = FILE_NAME.fullmatch(path.name), _results_beside(path)
    source.task, source.model = named and named["task"], _model_of_results(results)
    source.was_asked(
        shots=at(results, "n-shot", source.task or ""), system_prompt=at(results, "system_instruction")
    )
    first: str | None = None
    for number, row in log_lines(path, source.notes):
        if not _is_lm_eval_row(row):
            raise InputError("is not a sample of lm-eval: 'doc' or 'resps' is missing", file=path, row=number)
        name = text_at(row, "filter")
        first = name if first is None else first
        # Each filter repeats all documents; the raw answers are the same.
        if name == first:
            for _, parameters in _asked(row.get("arguments"))[:1]:
                source.was_asked(
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
    return half if repeated and second[0][0] != first[0][0] else len(asked)


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


def _inspect_rows(path: Path, source: Source) -> Iterator[LogRow]:
    """Yield the samples of a JSON log, read without Inspect if its form is known."""
    content = read_json_log(path)
    samples = dicts_at(content, "samples")
    if not dict_at(content, "eval"):
        raise InputError("has no 'eval': it is not a log of Inspect", file=path)
    if at(content, "version") != _VERSION or any(map(_refers, samples)):
        yield from _through_inspect(path, source)
    else:
        _name_inspect(source, dict_at(content, "eval"), text_at(content, "status"), dict_at(content, "plan"))
        yield from _inspect_samples(samples, source)


def _name_inspect(source: Source, header: Row, status: str, plan: Row) -> None:
    source.task, source.model = text_at(header, "task") or None, text_at(header, "model") or None
    # The settings of the evaluation stand over those of the model.
    for settings in (dict_at(plan, "config"), dict_at(header, "model_generate_config")):
        source.was_asked(
            temperature=settings.get("temperature"),
            token_limit=settings.get("max_tokens"),
            system_prompt=settings.get("system_message"),
        )
    if status != "success":
        ended = f"the evaluation ended with the status {status or 'unknown'!r}, so samples may be missing"
        source.notes.append(ended)


def _archive_rows(path: Path, source: Source) -> Iterator[LogRow]:
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
    yield from _through_inspect(path, source)


def _through_inspect(path: Path, source: Source) -> Iterator[LogRow]:
    try:
        from inspect_ai.log import read_eval_log, read_eval_log_samples  # noqa: PLC0415 - heavy, optional
    except ImportError:
        needed = "this log of Inspect is read by the package inspect-ai, which is not installed"
        raise MissingPartError(f"{path}: {needed}: pip install inspect-ai") from None
    try:
        header = read_eval_log(path, header_only=True)
        _name_inspect(
            source, header.eval.model_dump(mode="json"), header.status, header.plan.model_dump(mode="json")
        )
        samples = read_eval_log_samples(
            path, all_samples_required=False, resolve_attachments=True, exclude_fields=_UNREAD
        )
        dumped = (sample.model_dump(mode="json", exclude=_UNREAD) for sample in samples)
        yield from _inspect_samples(dumped, source)
    except Exception as error:  # Inspect raises errors of many kinds for damaged logs
        what = shortened(str(error) or type(error).__name__, 120)
        raise InputError(f"Inspect cannot read this log ({what})", file=path) from error


def _inspect_samples(samples: Iterable[Row], source: Source) -> Iterator[LogRow]:
    for number, sample in enumerate(samples, start=1):
        system = [
            _contents(message) for message in dicts_at(sample, "messages") if message.get("role") == "system"
        ]
        source.was_asked(system_prompt="\n".join(system) or None)
        metadata, own, epoch = dict_at(sample, "metadata"), sample.get("id"), sample.get("epoch")
        choices = list_at(sample, "choices")
        yield LogRow(
            row=number,
            ids=(*ids_of(metadata, "metadata"), *((("id", str(own)),) if isinstance(own, str | int) else ())),
            texts=tuple(texts_of([_contents(sample.get("input")), choices, metadata])),
            prompt=_inspect_prompt(sample),
            reply=_inspect_reply(sample),
            letters=tuple(zip(LETTERS, map(text_at, choices), strict=False)),
            target=text_at(sample, "target").strip(),
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
_FORMATS: Final[Mapping[Harness, tuple[str, str, Callable[[Path, Source], Iterator[LogRow]]]]] = {
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
_FOLDERS: Final = 3
_MOST_FILES: Final = 10_000


def harness_of(path: Path) -> Harness | None:
    """Return the harness that wrote a file; `None` if it is not a known log.

    Raises:
        InputError: the file is missing or cannot be read; it is empty; or it is called `.eval` and is not a
            log of Inspect.
    """
    with opened(path) as stream:
        head = stream.read(_READ_AT_ONCE).removeprefix(b"\xef\xbb\xbf").lstrip()
    suffix = path.suffix.lower()
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
    try:
        return "lm-eval" if any(_is_lm_eval_row(row) for _, row in islice(log_lines(path, []), 1)) else None
    except InputError:
        return None


def log_rows(path: Path, harness: Harness) -> tuple[Source, Iterator[LogRow]]:
    """Open a log.

    Returns:
        What is known of the log, complete after the rows were read; and its rows. Reading them raises `InputError`
        if the file cannot be read as a log of this harness, and `MissingPartError` if it needs a package that
        is not installed.
    """
    name, answer_field, read = _FORMATS[harness]
    source = Source(name, shown(path.name), answer_field=answer_field)
    return source, read(path, source)


def logs_in(folder: Path) -> Iterator[tuple[Path, Harness]]:
    """Yield the logs in a folder and in the folders below it, sorted by name.

    Raises:
        InputError: the folder holds too many files.
    """
    files = sorted(
        path
        for depth in range(1, _FOLDERS + 1)
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
