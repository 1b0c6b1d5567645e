"""The logs of other harnesses: lm-eval's samples, Inspect's logs, HELM's states and the outputs of batch APIs."""

from __future__ import annotations

import re
import struct
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from math import isnan
from pathlib import Path
from typing import Final, Literal, TypeAlias

from merilo.errors import InputError, MissingPartError
from merilo.models.asking import FINISHES, Finish, ModelReply
from merilo.models.harness_logs.log_rows import (
    HarnessLog,
    LogLines,
    LogRow,
    first_line,
    head_of,
    ids_of,
    list_in,
    mapping_in,
    read_log,
    text_in,
    texts_of,
)
from merilo.strict_json import Json
from merilo.text import Text
from merilo.wording import shortened

#: `samples_TASK_DATE.jsonl`; the date is that of `results_DATE.json` in the same folder.
FILE_NAME: Final = re.compile(r"samples_(?P<task>.+?)_(?P<date>\d{4}-\d\d-\d\dT[\d.\-]+)\.jsonl")

#: A larger file of results is not read for the model's name.
_LARGEST_RESULTS: Final = 1 << 26


def is_lm_eval_row(row: Mapping[str, Json]) -> bool:
    """Check whether a JSON object is a row of lm-eval's samples."""
    return "doc" in row and ("resps" in row or "filtered_resps" in row)


def open_lm_eval_samples(path: Path) -> HarnessLog:
    """Open a file of lm-eval's samples.

    Raises:
        InputError: as the rows are read: a row is not one of lm-eval's samples, or holds no answer.
    """
    named = FILE_NAME.fullmatch(path.name)
    log = HarnessLog(
        "lm-eval",
        str(path),
        iter(()),
        "resps",
        named and named["task"],
        _model(path, named and named["date"]),
    )
    log.rows = _lm_eval_rows(path, log)
    return log


def copied_name(path: Path) -> str:
    """Return the name of a copy of a model's file.

    Lm-eval's samples, whose model is named beside them, are named after it.
    """
    named = FILE_NAME.fullmatch(path.name)
    model = _model(path, named["date"]) if named else None
    return re.sub(r"[^\w.-]+", "__", model) + ".jsonl" if model else path.name


def _lm_eval_rows(path: Path, log: HarnessLog) -> Iterator[LogRow]:
    lines = LogLines(path)
    filters: dict[str, None] = {}
    for number, row in lines:
        if not is_lm_eval_row(row):
            raise InputError("is not a sample of lm-eval: 'doc' or 'resps' is missing", file=path, row=number)
        name = text_in(row.get("filter"))
        filters.setdefault(name)
        # Each filter repeats all documents; the raw answers are the same.
        if name == next(iter(filters)):
            yield from _answers(row, number, path)
    if lines.cut_off:
        log.notes.append(f"line {lines.cut_off} is cut off and left out")


def _answers(row: Mapping[str, Json], number: int, path: Path) -> Iterator[LogRow]:
    """Yield the answers of a row: one, or one for each repeat."""
    document = mapping_in(row["doc"]) or {"text": row["doc"]}
    asked = _asked(row.get("arguments"))
    prompt = asked[0][0] if asked else None
    replies = _by_request(row)
    ids, texts = ids_of(document, "doc"), tuple(texts_of(dict(document)))
    scores = [_loglikelihood(one[0]) if one else None for one in replies]
    if replies and all(score is not None for score in scores):
        values = tuple(score for score in scores if score is not None)
        choices = tuple(text_in(continuation) for _, continuation in asked) or ("",) * len(values)
        if len(values) == 1 or len(choices) != len(values):
            raise InputError(
                "has one log-likelihood and no choices, which give no answer"
                if len(values) == 1
                else "has log-likelihoods and choices of different number",
                file=path,
                row=number,
            )
        kept = _conditional(asked)
        yield LogRow(
            row=number, ids=ids, texts=texts, prompt=prompt, choices=choices[:kept],
            reply=ModelReply(loglikelihoods=values[:kept]),
        )  # fmt: skip
        return
    if len(replies) != 1:
        raise InputError(
            f"has {len(replies)} requests without log-likelihoods, which give no answer",
            file=path,
            row=number,
        )
    for sample, text in enumerate(replies[0], start=1):
        if not isinstance(text, str):
            raise InputError("the answer is not a text", file=path, row=number, field="resps")
        yield LogRow(
            row=number, ids=ids, texts=texts, prompt=prompt, sample=sample, reply=ModelReply(text=text)
        )


def _asked(arguments: Json) -> list[tuple[str | None, Json]]:
    """Return the context of each request, and its continuation or its parameters."""
    if isinstance(arguments, dict):
        pairs = [[*mapping_in(one).values()] for one in arguments.values()]
    else:
        pairs = [list_in(one) for one in list_in(arguments)]
    return [(text_in(pair[0]), pair[1]) for pair in pairs if len(pair) > 1]


def _by_request(row: Mapping[str, Json]) -> list[list[Json]]:
    """Return the replies to each request of a document, one for each repeat."""
    if (raw := list_in(row.get("resps"))) and all(isinstance(one, list) for one in raw):
        return [list_in(one) for one in raw]
    # Without raw answers, those after the filter are all that there is.
    filtered = list_in(row.get("filtered_resps"))
    return [
        one
        if isinstance(one, list) and one and isinstance(one[0], str) and _loglikelihood(one) is None
        else [one]
        for one in filtered
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


def _conditional(asked: Sequence[tuple[str | None, Json]]) -> int:
    """Return how many requests come first that have the prompt as context.

    For the metric `acc_mutual_info` the same continuations follow without the prompt.
    """
    half, odd = divmod(len(asked), 2)
    first, second = asked[:half], asked[half:]
    repeated = half and not odd and all(one[1] == other[1] for one, other in zip(first, second, strict=True))
    alone = repeated and len({context for context, _ in second}) == 1 and second[0][0] != first[0][0]
    return half if alone and half > 1 else len(asked)


def _model(path: Path, date: str | None) -> str | None:
    """Return the model's name from the results that lm-eval writes beside the samples."""
    results = path.with_name(f"results_{date}.json")
    try:
        if date is None or results.stat().st_size > _LARGEST_RESULTS:
            return None
        content = mapping_in(read_log(results))
    except (OSError, InputError):
        return None
    name = text_in(content.get("model_name")) or text_in(mapping_in(content.get("config")).get("model"))
    return name or None


#: Larger archives, and archives that were packed more tightly, are refused: each sample is unpacked in memory.
LARGEST_MEMBER: Final = 1 << 28
LARGEST_LOG: Final = 1 << 33
MAX_RATIO: Final = 1000
RATIO_MATTERS_FROM: Final = 1 << 24

#: The fields of a sample that hold no answer; they are most of a log.
_UNREAD: Final = {"events", "store", "timelines", "events_data"}

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
                f"is refused: unpacked, {shortened(ascii(member.filename))} has "
                f"{member.file_size >> 20} MB, {ratio:.0f} times its packed size",
                file=path,
            )
    if sum(member.file_size for member in members) > LARGEST_LOG:
        raise InputError(f"is refused: unpacked, it is larger than {LARGEST_LOG >> 30} GB", file=path)


def _through_inspect(path: Path) -> HarnessLog:
    try:
        from inspect_ai.log import read_eval_log, read_eval_log_samples  # noqa: PLC0415 - heavy, optional
    except ImportError:
        raise MissingPartError(
            f"{path}: this log of Inspect is read by the package inspect-ai, which is not "
            "installed: pip install inspect-ai"
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
    log.rows = chain.from_iterable(
        _inspect_row(number, sample) for number, sample in enumerate(samples, start=1)
    )
    return log


def _inspect_row(number: int, sample: Mapping[str, Json]) -> Iterator[LogRow]:
    metadata = mapping_in(sample.get("metadata"))
    own = sample.get("id")
    ids = (*ids_of(metadata, "metadata"), *((("id", str(own)),) if isinstance(own, str | int) else ()))
    choices, epoch = list_in(sample.get("choices")), sample.get("epoch")
    yield LogRow(
        row=number,
        ids=ids,
        texts=tuple(texts_of([_contents(sample.get("input")), choices, dict(metadata)])),
        prompt=_inspect_prompt(sample),
        reply=_reply(sample),
        letters=tuple(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", map(text_in, choices), strict=False)),
        sample=epoch if isinstance(epoch, int) else 1,
    )


def _inspect_prompt(sample: Mapping[str, Json]) -> str | None:
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
    finish = FINISHES.get(text_in(choices[0].get("stop_reason")), "other")
    return ModelReply(text=text, thought=thought or None, finish=finish, model=model)


def _refers(sample: Mapping[str, Json]) -> bool:
    """Check whether the question or the answer of a sample is stored as an attachment."""
    shown = (sample.get("input"), sample.get("messages"), sample.get("output"), sample.get("metadata"))
    return any(text.startswith(_ATTACHMENT) for text in texts_of([*shown]))


_State: TypeAlias = Mapping[str, Json]


def open_helm_states(path: Path) -> HarnessLog:
    """Open a `scenario_state.json`.

    Raises:
        InputError: the file has no list of request states; or, as the rows are read, a state has no instance.
    """
    content = mapping_in(read_log(path))
    states = content.get("request_states")
    if not isinstance(states, list):
        raise InputError("has no list 'request_states'", file=path)
    spec = mapping_in(content.get("adapter_spec"))
    model = text_in(spec.get("model")) or text_in(spec.get("model_deployment")) or None
    log = HarnessLog("HELM", str(path), iter(()), "result.completions", model=model)
    log.rows = _helm_rows(states, path, log)
    return log


def _helm_rows(states: Sequence[Json], path: Path, log: HarnessLog) -> Iterator[LogRow]:
    perturbed = 0
    separate: dict[tuple[str, int], list[tuple[int, _State]]] = defaultdict(list)
    completions: dict[str, int] = defaultdict(int)
    for number, entry in enumerate(states, start=1):
        state = mapping_in(entry)
        instance = mapping_in(state.get("instance"))
        if not instance:
            raise InputError("has no instance", file=path, row=number, field="request_states")
        if instance.get("perturbation"):
            perturbed += 1
            continue
        name = text_in(instance.get("id")) or text_in(mapping_in(instance.get("input")).get("text"))
        if state.get("reference_index") is not None:
            trial = state.get("train_trial_index")
            separate[name, trial if isinstance(trial, int) else 0].append((number, state))
            continue
        for reply in _replies(state):
            completions[name] += 1
            yield _helm_row(number, state, reply, completions[name])
    for (name, _), asked in separate.items():
        completions[name] += 1
        yield _of_references(asked, completions[name], path)
    if perturbed:
        log.notes.append(
            Text(
                "{count:# request with a perturbed instance is|# requests with perturbed instances are} left out",
                count=perturbed,
            ).en
        )


def _helm_row(
    number: int, state: _State, reply: ModelReply, sample: int, choices: tuple[str, ...] = ()
) -> LogRow:
    instance = mapping_in(state["instance"])
    letters = tuple((name, text_in(text)) for name, text in mapping_in(state.get("output_mapping")).items())
    return LogRow(
        row=number,
        ids=(
            *ids_of(mapping_in(instance.get("extra_data")), "instance.extra_data"),
            *ids_of(instance, "instance"),
        ),
        texts=tuple(
            texts_of([instance.get("input"), instance.get("references"), instance.get("extra_data")])
        ),
        prompt=_helm_prompt(mapping_in(state.get("request"))),
        reply=reply,
        choices=choices,
        letters=letters,
        sample=sample,
    )


def _helm_prompt(request: _State) -> str | None:
    messages = [text_in(mapping_in(one).get("content")) for one in list_in(request.get("messages"))]
    return text_in(request.get("prompt")) or "\n".join(messages) or None


def _replies(state: _State) -> list[ModelReply]:
    result = mapping_in(state.get("result"))
    completions = [mapping_in(one) for one in list_in(result.get("completions"))]
    if result.get("success") is False or not completions:
        return [ModelReply(finish="failed", error=shortened(text_in(result.get("error")) or "no completion"))]
    echoed = (
        text_in(mapping_in(state.get("request")).get("prompt"))
        if mapping_in(state.get("request")).get("echo_prompt")
        else ""
    )
    return [
        ModelReply(
            text=text_in(one.get("text")).removeprefix(echoed),
            thought=text_in(mapping_in(one.get("thinking")).get("text")) or None,
            finish=FINISHES.get(text_in(mapping_in(one.get("finish_reason")).get("reason")), "stop"),
        )
        for one in completions
    ]


def _of_references(asked: Sequence[tuple[int, _State]], sample: int, path: Path) -> LogRow:
    """Build the row of an instance whose references were asked for separately."""
    number, first = asked[0]
    references = [_reference(one) for one in list_in(mapping_in(first["instance"]).get("references"))]
    scores: dict[tuple[int, str], float] = {}
    for row, state in asked:
        place = state.get("reference_index")
        if not isinstance(place, int) or not 0 <= place < len(references):
            raise InputError(
                "names a reference that the instance does not have",
                file=path,
                row=row,
                field="reference_index",
            )
        scores[place, text_in(state.get("request_mode")) or "original"] = _per_token(state, references[place])
    values = tuple(
        scores.get((place, "original"), float("-inf")) - scores.get((place, "calibration"), 0.0)
        for place in range(len(references))
    )
    return _helm_row(number, first, ModelReply(loglikelihoods=values), sample, tuple(references))


def _reference(entry: Json) -> str:
    return text_in(mapping_in(mapping_in(entry).get("output")).get("text"))


def _per_token(state: _State, reference: str) -> float:
    """Return the mean log-likelihood of the tokens at the end of the completion that hold the reference."""
    completions = list_in(mapping_in(state.get("result")).get("completions"))
    tokens = list_in(mapping_in(completions[0]).get("tokens")) if completions else []
    text, total, count = "", 0.0, 0
    for token in map(mapping_in, reversed(tokens)):
        value = token.get("logprob")
        text, count = text_in(token.get("text")) + text, count + 1
        total += value if isinstance(value, int | float) else 0.0
        if len(text.lstrip()) >= len(reference.strip()):
            return total / count
    return float("-inf")


def is_batch_row(row: Mapping[str, Json]) -> bool:
    """Check whether a JSON object is a row of a batch's output."""
    return "custom_id" in row and bool({"response", "result", "error"} & row.keys()) and "doc" not in row


def open_batch_output(path: Path) -> HarnessLog:
    """Open the output file of a batch.

    Raises:
        InputError: as the rows are read: a row has no `custom_id`, or neither a response nor an error.
    """
    log = HarnessLog("a batch", str(path), iter(()), "response")
    log.rows = _batch_rows(path, log)
    return log


def _batch_rows(path: Path, log: HarnessLog) -> Iterator[LogRow]:
    lines = LogLines(path)
    for number, row in lines:
        name = row.get("custom_id")
        if not isinstance(name, str | int) or isinstance(name, bool) or not is_batch_row(row):
            raise InputError(
                "is not a row of a batch's output: 'custom_id' or 'response' is missing",
                file=path,
                row=number,
            )
        anthropic = "result" in row
        log.harness = "Anthropic's Message Batches" if anthropic else "OpenAI's Batch API"
        log.answer_field = "result.message" if anthropic else "response.body"
        for sample, reply in enumerate(_anthropic(row) if anthropic else _openai(row), start=1):
            log.model = log.model or reply.model
            yield LogRow(row=number, ids=(("custom_id", str(name)),), reply=reply, sample=sample)
    if lines.cut_off:
        log.notes.append(f"line {lines.cut_off} is cut off and left out")


def _openai(row: Mapping[str, Json]) -> list[ModelReply]:
    response = mapping_in(row.get("response"))
    body, status = mapping_in(response.get("body")), response.get("status_code", 200)
    error = row.get("error") or body.get("error")
    if error or status != 200 or not body:
        told = text_in(mapping_in(error).get("message")) or text_in(error) or f"status {status}"
        return [ModelReply(finish="failed", error=shortened(told))]
    model = text_in(body.get("model")) or None
    if "output" in body:
        return [_of_responses(body, model)]
    choices = [mapping_in(one) for one in list_in(body.get("choices"))]
    return [_of_choice(one, model) for one in choices] or [
        ModelReply(finish="failed", error="no choices", model=model)
    ]


def _of_choice(choice: Mapping[str, Json], model: str | None) -> ModelReply:
    message = mapping_in(choice.get("message"))
    refusal = text_in(message.get("refusal"))
    finish: Finish = "refusal" if refusal else FINISHES.get(text_in(choice.get("finish_reason")), "other")
    thought = text_in(message.get("reasoning_content")) or text_in(message.get("reasoning")) or None
    text = _joined(message.get("content")) if message else text_in(choice.get("text"))
    return ModelReply(text=text or refusal, thought=thought, finish=finish, model=model)


def _of_responses(body: Mapping[str, Json], model: str | None) -> ModelReply:
    """Read the body of the Responses API."""
    messages = [one for one in map(mapping_in, list_in(body.get("output"))) if one.get("type") == "message"]
    parts = [mapping_in(part) for message in messages for part in list_in(message.get("content"))]
    refusal = "".join(text_in(part.get("refusal")) for part in parts)
    reason = mapping_in(body.get("incomplete_details")).get("reason") or body.get("status")
    finish: Finish = "refusal" if refusal else FINISHES.get(text_in(reason), "other")
    return ModelReply(
        text="".join(text_in(part.get("text")) for part in parts) or refusal, finish=finish, model=model
    )


def _anthropic(row: Mapping[str, Json]) -> list[ModelReply]:
    result = mapping_in(row.get("result"))
    message = mapping_in(result.get("message"))
    if result.get("type") == "succeeded" and isinstance(message.get("content"), list):
        from merilo.models.backends.chats import read_message  # noqa: PLC0415 - loads the backends

        return [read_message(message, ())]
    error = mapping_in(mapping_in(result.get("error")).get("error")).get("message")
    reason = text_in(error) or text_in(result.get("type")) or "no message"
    return [ModelReply(finish="failed", error=shortened(reason))]


def _joined(content: Json) -> str:
    """Return the text of a message's content: a text, or a list of parts."""
    if isinstance(content, list):
        return "".join(text_in(mapping_in(part).get("text")) for part in content)
    return text_in(content)


Harness: TypeAlias = Literal["lm-eval", "Inspect", "Inspect archive", "HELM", "batch"]

_ZIP: Final = b"PK\x03\x04"

#: The keys at the head of a log that is one JSON document.
_INSPECT: Final = re.compile(rb'"(?:eval_id|run_id)"\s*:')
_INSPECT_EVAL: Final = re.compile(rb'\A\{\s*(?:"(?:version|status)"\s*:\s*[^,{\[]+,\s*)*"eval"\s*:\s*\{')
_HELM: Final = re.compile(rb'\A\{\s*"(?:adapter_spec|request_states)"\s*:')
_SAMPLES: Final = re.compile(rb'\A\[\s*\{\s*"(?:doc_id|doc|arguments)"\s*:')
_RESULTS: Final = re.compile(rb'\A\{\s*"results"\s*:\s*\{')

_DOCUMENTS: Final[tuple[tuple[Harness, Callable[[bytes], object]], ...]] = (
    ("HELM", _HELM.match),
    ("Inspect", lambda head: _INSPECT_EVAL.match(head) and _INSPECT.search(head)),
    ("lm-eval", _SAMPLES.match),
)

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
        raise InputError(
            "holds lm-eval's results without the answers: run it with --log_samples and give samples_*.jsonl",
            file=path,
        )
    if head.startswith(_ZIP):
        return "Inspect archive" if suffix in {".eval", ".zip"} else None
    known = next((harness for harness, matches in _DOCUMENTS if matches(head)), None)
    return known if known or suffix == ".json" or not head.startswith(b"{") else _harness_of_lines(path)


def _harness_of_lines(path: Path) -> Harness | None:
    """Return the harness that wrote a file of JSON lines."""
    row = first_line(path)
    if row is None:
        return None
    return "lm-eval" if is_lm_eval_row(row) else "batch" if is_batch_row(row) else None


def open_log(path: Path, harness: Harness) -> HarnessLog:
    """Open a log; its rows are read as they are asked for.

    Raises:
        InputError: the file cannot be read as a log of this harness.
        MissingPartError: the log needs a package that is not installed.
    """
    match harness:
        case "lm-eval":
            return open_lm_eval_samples(path)
        case "HELM":
            return open_helm_states(path)
        case "batch":
            return open_batch_output(path)
        case _:
            return open_inspect_log(path, zipped=harness == "Inspect archive")


def logs_in(folder: Path) -> Iterator[tuple[Path, Harness]]:
    """Yield the logs in a folder and in the folders below it, sorted by name.

    Raises:
        InputError: the folder holds too many files.
    """
    found = sorted(
        path
        for depth in range(1, _DEPTH + 1)
        for path in folder.glob("/".join("*" * depth))
        if path.suffix.lower() in {".jsonl", ".json", ".eval"} and path.is_file()
    )
    if len(found) > _MOST_FILES:
        raise InputError(f"holds more than {_MOST_FILES} files: name the log itself", file=folder)
    for path in found:
        try:
            harness = harness_of(path)
        except InputError:
            continue
        if harness is not None:
            yield path, harness
