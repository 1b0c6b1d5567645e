"""The logs of other harnesses: lm-eval, Inspect, HELM, OpenCompass, LightEval, simple-evals and batch APIs.

Each format is a generator of rows, which also names the task and the model in the mapping and adds notes to it.
"""

from __future__ import annotations

import re
import struct
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import unescape
from io import SEEK_END
from math import isnan
from os.path import commonprefix
from pathlib import Path
from typing import Final, Literal, TypeAlias

from merilo.errors import DataError, InputError, MissingPartError
from merilo.files import opened, read_parquet
from merilo.models.asking import FINISHES, Finish, ModelReply
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
from merilo.strict_json import LARGEST_FILE, Json, Row, at, dict_at, dicts_at, list_at, text_at
from merilo.text import Text
from merilo.wording import shortened, shown

#: `samples_TASK_DATE.jsonl`; the date is that of `results_DATE.json` in the same folder.
FILE_NAME: Final = re.compile(r"samples_(?P<task>.+?)_(?P<date>\d{4}-\d\d-\d\dT[\d.\-]+)\.jsonl")

#: LightEval's `details/MODEL/DATE/details_TASK_DATE.parquet`.
_DETAILS: Final = re.compile(r"details_(?P<task>.+)_\d{4}-\d\d-\d\dT[\d.\-]+\.parquet")

#: A larger file of results is not read for the model's name.
_LARGEST_RESULTS: Final = 1 << 26


def _is_lm_eval_row(row: Row) -> bool:
    return "doc" in row and ("resps" in row or "filtered_resps" in row)


def copied_name(path: Path) -> str:
    """Return the name of a copy of a model's file.

    A log whose model is named by its folder, or by lm-eval's results beside it, is named after the model.
    """
    model = _model_beside(path)
    return re.sub(r"[^\w.-]+", "__", model) + path.suffix if model else path.name


def _model_beside(path: Path) -> str | None:
    """Return the model's name from the folders of LightEval and OpenCompass, or from lm-eval's results."""
    folders = path.absolute().parts[:-1]
    if _DETAILS.fullmatch(path.name) and "details" in folders[:-1]:
        return "/".join(folders[folders.index("details") + 1 : -1])
    if folders[-2:-1] == ("predictions",) and path.suffix == ".json":
        return folders[-1]
    return _model_of_results(_results_beside(path))


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
            for _, given in _asked(row.get("arguments"))[:1]:
                mapping.was_asked(
                    temperature=at(given, "temperature"),
                    token_limit=at(given, "max_gen_toks") or at(given, "max_tokens"),
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
            sample=sample,
        )

    scores = [_loglikelihood(one[0]) if one else None for one in replies]
    values = tuple(score for score in scores if score is not None)
    if replies and len(values) == len(scores):
        choices = tuple(text_at(continuation) for _, continuation in asked) or ("",) * len(values)
        if len(values) == 1:
            raise InputError("has one log-likelihood, which gives no answer", file=path, row=number)
        if len(choices) != len(values):
            raise InputError("has log-likelihoods and choices of different number", file=path, row=number)
        kept = _conditional(asked)
        choices, values = choices[:kept], values[:kept]
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
    pairs = [[*one.values()] if isinstance(one, dict) else list_at(one) for one in requests]
    return [(text_at(pair[0]), pair[1]) for pair in pairs if len(pair) > 1]


def _by_request(row: Row) -> list[list[Json]]:
    """Return the replies to each request of a document, one for each repeat."""
    if (raw := list_at(row, "resps")) and all(isinstance(one, list) for one in raw):
        return [list_at(one) for one in raw]
    # Without raw answers, those after the filter are all that there is.
    return [
        one
        if isinstance(one, list) and isinstance(at(one, 0), str) and _loglikelihood(one) is None
        else [one]
        for one in list_at(row, "filtered_resps")
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


_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


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
    said = [_contents(one) for one in dicts_at(sample, "messages") if one.get("role") == "system"]
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
        letters=tuple(zip(_LETTERS, map(text_at, choices), strict=False)),
        right=_LETTERS.find(right) if len(right) == 1 and right in _LETTERS[: len(choices)] else None,
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


def _helm_rows(path: Path, mapping: LogMapping) -> Iterator[LogRow]:
    content = read_log(path)
    states, spec = at(content, "request_states"), dict_at(content, "adapter_spec")
    if not isinstance(states, list):
        raise InputError("has no list 'request_states'", file=path)
    mapping.model = text_at(spec, "model") or text_at(spec, "model_deployment") or None
    mapping.was_asked(
        shots=spec.get("max_train_instances"),
        temperature=spec.get("temperature"),
        token_limit=spec.get("max_tokens"),
    )
    perturbed = 0
    completions: dict[str, int] = defaultdict(int)
    for number, state in enumerate(map(dict_at, states), start=1):
        instance = dict_at(state, "instance")
        if not instance:
            raise InputError("has no instance", file=path, row=number, field="request_states")
        if state.get("reference_index") is not None:
            apart = "asks for each reference apart, which is not read: run HELM with joint multiple choice"
            raise InputError(apart, file=path, row=number, field="reference_index")
        if instance.get("perturbation"):
            perturbed += 1
            continue
        name = text_at(instance, "id") or text_at(instance, "input", "text")
        for reply in _helm_replies(state):
            completions[name] += 1
            yield _helm_row(number, state, reply, completions[name])
    if perturbed:
        mapping.notes.append(
            Text(
                "{count:# request with a perturbed instance is|# requests with perturbed instances are} left out",
                count=perturbed,
            ).en
        )


def _helm_row(number: int, state: Row, reply: ModelReply, sample: int) -> LogRow:
    instance, extra = dict_at(state, "instance"), dict_at(state, "instance", "extra_data")
    asked = [text_at(message, "content") for message in list_at(state, "request", "messages")]
    letters = tuple((name, text_at(text)) for name, text in dict_at(state, "output_mapping").items())
    right = {
        text_at(one, "output", "text")
        for one in dicts_at(instance, "references")
        if "correct" in list_at(one, "tags")
    }
    return LogRow(
        row=number,
        ids=(*ids_of(extra, "instance.extra_data"), *ids_of(instance, "instance")),
        texts=tuple(texts_of([instance.get(name) for name in ("input", "references", "extra_data")])),
        prompt=text_at(state, "request", "prompt") or "\n".join(asked) or None,
        reply=reply,
        letters=letters,
        right=next((place for place, (_, text) in enumerate(letters) if text in right), None),
        sample=sample,
    )


def _helm_replies(state: Row) -> list[ModelReply]:
    completions = dicts_at(state, "result", "completions")
    if at(state, "result", "success") is False or not completions:
        error = text_at(state, "result", "error") or "no completion"
        return [ModelReply(finish="failed", error=shortened(error))]
    echoed = text_at(state, "request", "prompt") if at(state, "request", "echo_prompt") else ""
    return [
        ModelReply(
            text=text_at(one, "text").removeprefix(echoed),
            thought=text_at(one, "thinking", "text") or None,
            finish=FINISHES.get(text_at(one, "finish_reason", "reason"), "stop"),
        )
        for one in completions
    ]


def _is_batch_row(row: Row) -> bool:
    return "custom_id" in row and bool({"response", "result", "error"} & row.keys()) and "doc" not in row


def _batch_rows(path: Path, mapping: LogMapping) -> Iterator[LogRow]:
    for number, row in log_lines(path, mapping.notes):
        name = row.get("custom_id")
        if not isinstance(name, str | int) or isinstance(name, bool) or not _is_batch_row(row):
            wrong = "is not a row of a batch's output: 'custom_id' or 'response' is missing"
            raise InputError(wrong, file=path, row=number)
        if "result" in row:
            mapping.harness, mapping.answer_field = "Anthropic's Message Batches", "result.message"
            replies = [_anthropic(row)]
        else:
            mapping.harness, mapping.answer_field = "OpenAI's Batch API", "response.body"
            replies = _openai(row)
        for sample, reply in enumerate(replies, start=1):
            mapping.model = mapping.model or reply.model
            yield LogRow(row=number, ids=(("custom_id", str(name)),), reply=reply, sample=sample)


def _openai(row: Row) -> list[ModelReply]:
    body, status = dict_at(row, "response", "body"), at(row, "response", "status_code") or 200
    error = row.get("error") or body.get("error")
    if error or status != 200 or not body:
        told = text_at(error, "message") or text_at(error) or f"status {status}"
        return [ModelReply(finish="failed", error=shortened(told))]
    model = text_at(body, "model") or None
    if "output" in body:  # the Responses API
        messages = [one for one in dicts_at(body, "output") if one.get("type") == "message"]
        parts = [part for message in messages for part in dicts_at(message, "content")]
        reason = text_at(body, "incomplete_details", "reason") or text_at(body, "status")
        return [_reply(parts, "".join(text_at(part, "refusal") for part in parts), reason, model)]
    choices = dicts_at(body, "choices")
    return [_of_choice(one, model) for one in choices] or [
        ModelReply(finish="failed", error="no choices", model=model)
    ]


def _of_choice(choice: Row, model: str | None) -> ModelReply:
    message = dict_at(choice, "message")
    thought = text_at(message, "reasoning_content") or text_at(message, "reasoning") or None
    content = message.get("content") if message else choice.get("text")
    parts: Json = content if isinstance(content, list) else [{"text": content}]
    return _reply(
        dicts_at(parts), text_at(message, "refusal"), text_at(choice, "finish_reason"), model, thought
    )


def _reply(
    parts: Sequence[Row], refusal: str, reason: str, model: str | None, thought: str | None = None
) -> ModelReply:
    finish: Finish = "refusal" if refusal else FINISHES.get(reason, "other")
    text = "".join(text_at(part, "text") for part in parts)
    return ModelReply(text=text or refusal, thought=thought, finish=finish, model=model)


def _anthropic(row: Row) -> ModelReply:
    result = dict_at(row, "result")
    message = dict_at(result, "message")
    if result.get("type") == "succeeded" and isinstance(message.get("content"), list):
        from merilo.models.backends.chats import read_message  # noqa: PLC0415 - loads the backends

        return read_message(message, ())
    reason = text_at(result, "error", "error", "message") or text_at(result, "type") or "no message"
    return ModelReply(finish="failed", error=shortened(reason))


#: Why a candidate of Gemini has no text of its own.
_BLOCKED: Final = frozenset(
    {"safety", "recitation", "language", "blocklist", "prohibited_content", "spii", "image_safety"}
)


def _is_gemini_row(row: Row) -> bool:
    """Check whether a row is the Gemini API's (with a key) or Vertex AI's (with the request)."""
    answered = {"candidates", "promptFeedback", "usageMetadata"} & dict_at(row, "response").keys()
    failed = bool({"error", "status"} & row.keys()) and not row.get("response")
    return bool({"key", "request"} & row.keys()) and (bool(answered) or failed) and "custom_id" not in row


def _gemini_rows(path: Path, mapping: LogMapping) -> Iterator[LogRow]:
    for number, row in log_lines(path, mapping.notes):
        if not _is_gemini_row(row):
            wrong = "is not a row of a Gemini batch's output: 'key' or 'request', or 'response', is missing"
            raise InputError(wrong, file=path, row=number)
        response = dict_at(row, "response")
        mapping.model = mapping.model or text_at(response, "modelVersion") or None
        key, asked = row.get("key"), dicts_at(row, "request", "contents")
        settings = dict_at(row, "request", "generationConfig")
        mapping.was_asked(
            temperature=settings.get("temperature"),
            token_limit=settings.get("maxOutputTokens"),
            system_prompt="\n".join(texts_of(at(row, "request", "systemInstruction", "parts"))) or None,
        )
        texts = tuple(texts_of([one.get("parts") for one in asked]))
        for sample, reply in enumerate(_gemini_replies(row, response), start=1):
            yield LogRow(
                row=number,
                ids=(("key", str(key)),) if isinstance(key, str | int) else (),
                texts=texts[-1:],
                prompt="\n".join(texts) or None,
                reply=reply,
                sample=sample,
            )


def _gemini_replies(row: Row, response: Row) -> list[ModelReply]:
    candidates = dicts_at(response, "candidates")
    if not candidates:
        if blocked := text_at(response, "promptFeedback", "blockReason"):
            return [ModelReply(text=blocked, finish="refusal")]
        told = text_at(row, "error", "message") or text_at(row, "status") or "no candidates"
        return [ModelReply(finish="failed", error=shortened(told))]
    replies = []
    for one in candidates:
        reason = text_at(one, "finishReason").lower()
        parts = dicts_at(one, "content", "parts")
        replies.append(
            ModelReply(
                text="".join(text_at(part, "text") for part in parts if not part.get("thought")),
                thought="".join(text_at(part, "text") for part in parts if part.get("thought")) or None,
                finish="refusal" if reason in _BLOCKED else FINISHES.get(reason, "other"),
            )
        )
    return replies


#: OpenCompass writes the measures of each label, and of choices, under such keys.
_PPL: Final = "label: "


def _opencompass_rows(path: Path, mapping: LogMapping) -> Iterator[LogRow]:
    """Yield the predictions of OpenCompass: texts, perplexities of the labels, or probabilities of choices."""
    mapping.task, mapping.model = path.stem, _model_beside(path)
    content = read_log(path)
    if not isinstance(content, dict):
        raise InputError("has no predictions", file=path)
    # The keys count the rows of the evaluated part from 0, so they are no ids of items.
    for number, row in enumerate(map(dict_at, content.values()), start=1):
        labels = [name for name in row if name.startswith(_PPL)]
        prediction = row.get("prediction")
        if labels:
            # Each label's input ends with the label; what they have in common is the question.
            inputs = [_opencompass_text(at(row, name, "testing input")) for name in labels]
            choices = tuple(name.removeprefix(_PPL) for name in labels)
            values = [at(row, name, "PPL") for name in labels]
            prompts = [commonprefix(inputs)]  # noqa: RUF071 - of texts, not of paths
            replies = [_choice_reply([-one if isinstance(one, int | float) else one for one in values])]
        elif "choices" in row:
            choices = tuple(map(text_at, list_at(row, "choices")))
            prompts = [_opencompass_text(row.get("prompt"))]
            replies = [_choice_reply(list_at(prediction))]
        else:
            choices = ()
            asked = row.get("origin_prompt")
            prompts = (
                [_opencompass_text(one) for one in asked] if isinstance(asked, list) else [text_at(asked)]
            )
            texts = prediction if isinstance(prediction, list) else [prediction]
            if not all(isinstance(one, str) for one in texts) or any(
                isinstance(one, list) for one in list_at(asked)
            ):
                wrong = "the prediction is not a text: predictions of several rounds are not read"
                raise InputError(wrong, file=path, row=number, field="prediction")
            replies = [ModelReply(text=text_at(one)) for one in texts]
        gold = str(row.get("gold"))
        for sample, reply in enumerate(replies, start=1):
            yield LogRow(
                row=number,
                ids=(),
                texts=tuple(prompts[-1:]),
                prompt="\n".join(prompts),
                reply=reply,
                choices=choices,
                right=choices.index(gold) if gold in choices else None,
                sample=sample if len(replies) > 1 else None,
            )


def _opencompass_text(value: Json) -> str:
    """Return the text of a prompt: a text, a message, or a list of messages."""
    if isinstance(value, list):
        return "\n".join(map(_opencompass_text, value))
    return text_at(value, "prompt") if isinstance(value, dict) else text_at(value)


def _choice_reply(values: Sequence[Json]) -> ModelReply:
    """Return a reply with a value for each choice, the largest for the likeliest."""
    numbers = [float(one) if isinstance(one, int | float) else float("nan") for one in values]
    return ModelReply(loglikelihoods=tuple(float("-inf") if isnan(one) else one for one in numbers))


def _lighteval_rows(path: Path, mapping: LogMapping) -> Iterator[LogRow]:
    named = _DETAILS.fullmatch(path.name)
    mapping.task, mapping.model = named and named["task"], _model_beside(path)
    for number, row in enumerate(read_parquet(path).iter_rows(named=True), start=1):
        document, response = dict_at(row, "doc"), dict_at(row, "model_response")
        if not document or not response:
            missing = "is not a row of LightEval: 'doc' or 'model_response' is missing"
            raise InputError(missing, file=path, row=number)
        choices, gold = tuple(map(text_at, list_at(document, "choices"))), document.get("gold_index")
        texts, scores = list_at(response, "text"), list_at(response, "logprobs")
        if texts:
            thoughts = list_at(response, "reasonings")
            replies = [
                ModelReply(text=text_at(one), thought=text_at(at(thoughts, place)) or None)
                for place, one in enumerate(texts)
            ]
        elif len(scores) == len(choices) > 1:
            replies = [_choice_reply(scores)]
        else:
            raise InputError("has neither a text nor a log-likelihood of each choice", file=path, row=number)
        right = at(gold, 0) if isinstance(gold, list) and len(gold) == 1 else gold
        specific = dict_at(document, "specific")
        for sample, reply in enumerate(replies, start=1):
            yield LogRow(
                row=number,
                # `doc.id` counts the rows.
                ids=ids_of(specific, "doc.specific"),
                texts=tuple(texts_of([document.get("query"), document.get("instruction"), specific])),
                prompt=_contents(response.get("input")) or text_at(document, "query") or None,
                reply=reply,
                choices=choices,
                right=right if isinstance(right, int) and 0 <= right < len(choices) else None,
                sample=sample,
            )


#: An example, a message and its parts in the HTML report of simple-evals.
_EXAMPLE: Final = re.compile(r"<h3>Prompt conversation</h3>(.*?)<h3>Results</h3>", re.DOTALL)
_MESSAGE: Final = re.compile(r'<div class="role">\s*(\w+).*?<pre>(.*?)</pre>', re.DOTALL)


def _simple_evals_rows(path: Path, mapping: LogMapping) -> Iterator[LogRow]:
    """Yield the conversations of `*_allresults.json`."""
    conversations = (dicts_at(one) for one in list_at(read_log(path), "convos"))
    yield from _conversations(conversations, path)


def _simple_evals_page(path: Path, mapping: LogMapping) -> Iterator[LogRow]:
    """Yield the conversations of the HTML report, the only file with replies that older versions write."""
    with opened(path) as stream:
        text = stream.read(LARGEST_FILE).decode("utf-8", "replace")
    yield from _conversations(
        (
            [{"role": role, "content": unescape(said)} for role, said in _MESSAGE.findall(example)]
            for example in _EXAMPLE.findall(text)
        ),
        path,
    )


def _conversations(conversations: Iterable[Sequence[Row]], path: Path) -> Iterator[LogRow]:
    for number, messages in enumerate(conversations, start=1):
        if len(messages) < 2 or messages[-1].get("role") != "assistant":
            raise InputError("the conversation does not end with a reply", file=path, row=number)
        asked = [_contents(one.get("content")) for one in messages[:-1]]
        reply = ModelReply(text=_contents(messages[-1].get("content")))
        yield LogRow(
            row=number, ids=(), texts=tuple(asked[-1:]), prompt="\n".join(asked), reply=reply, sample=None
        )


Harness: TypeAlias = Literal[
    "lm-eval",
    "Inspect",
    "Inspect archive",
    "HELM",
    "OpenCompass",
    "LightEval",
    "simple-evals",
    "simple-evals page",
    "batch",
    "Gemini batch",
]

#: For each format, the harness's name, the field that the answers come from, and the reader of the rows.
_FORMATS: Final[Mapping[Harness, tuple[str, str, Callable[[Path, LogMapping], Iterator[LogRow]]]]] = {
    "lm-eval": ("lm-eval", "resps", _lm_eval_rows),
    "Inspect": ("Inspect", "output.completion", _inspect_rows),
    "Inspect archive": ("Inspect", "output.completion", _archive_rows),
    "HELM": ("HELM", "result.completions", _helm_rows),
    "OpenCompass": ("OpenCompass", "prediction", _opencompass_rows),
    "LightEval": ("LightEval", "model_response", _lighteval_rows),
    "simple-evals": ("simple-evals", "convos", _simple_evals_rows),
    "simple-evals page": ("simple-evals", "the sampled messages", _simple_evals_page),
    "batch": ("a batch", "response", _batch_rows),
    "Gemini batch": ("a Gemini batch", "response.candidates", _gemini_rows),
}

#: The names of harnesses in messages.
READ: Final = "lm-eval, Inspect, HELM, OpenCompass, LightEval, simple-evals or a batch"

_ZIP: Final = b"PK\x03\x04"
_PARQUET: Final = b"PAR1"

#: The keys at the head of a log that is one JSON document.
_INSPECT: Final = re.compile(rb'"(?:eval_id|run_id)"\s*:')
_INSPECT_EVAL: Final = re.compile(rb'\A\{\s*(?:"(?:version|status)"\s*:\s*[^,{\[]+,\s*)*"eval"\s*:\s*\{')
_HELM: Final = re.compile(rb'\A\{\s*"(?:adapter_spec|request_states)"\s*:')
_SAMPLES: Final = re.compile(rb'\A\[\s*\{\s*"(?:doc_id|doc|arguments)"\s*:')
_PREDICTIONS: Final = re.compile(rb'\A\{\s*"\d+"\s*:\s*\{')
_ALL_RESULTS: Final = re.compile(rb'\A\{\s*"score"\s*:')
_RESULTS: Final = re.compile(rb'\A\{\s*"results"\s*:\s*\{')

_DOCUMENTS: Final[tuple[tuple[Harness, Callable[[bytes], object]], ...]] = (
    ("HELM", _HELM.match),
    ("Inspect", lambda head: _INSPECT_EVAL.match(head) and _INSPECT.search(head)),
    ("lm-eval", _SAMPLES.match),
    ("OpenCompass", lambda head: _PREDICTIONS.match(head) and b'"prediction"' in head),
    ("simple-evals", lambda head: _ALL_RESULTS.match(head) and b'"htmls"' in head),
    (
        "simple-evals page",
        lambda head: head.startswith(b"<!DOCTYPE html>") and b"<h3>Prompt conversation" in head,
    ),
)

#: What identifies a row of JSON lines.
_LINES: Final[tuple[tuple[Harness, Callable[[Row], bool]], ...]] = (
    ("lm-eval", _is_lm_eval_row),
    ("batch", _is_batch_row),
    ("Gemini batch", _is_gemini_row),
)

#: Files of evalplus hold programs, which no reader of answers can judge.
_EVALPLUS_RESULTS: Final = re.compile(rb'"(?:base|plus)_status"\s*:')
_PROGRAMS: Final = (
    "holds programs of evalplus, which must be run first: give its samples (.jsonl) to merilo code score"
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
        results = (
            "holds lm-eval's results without the answers: run it with --log_samples and give samples_*.jsonl"
        )
        raise InputError(results, file=path)
    if suffix == ".json" and _EVALPLUS_RESULTS.search(head):
        raise DataError(_PROGRAMS, file=path)
    if head.startswith(_PARQUET):
        return "LightEval" if _names_column(path, b"model_response") else None
    if head.startswith(_ZIP):
        return "Inspect archive" if suffix in {".eval", ".zip"} else None
    known = next((harness for harness, matches in _DOCUMENTS if matches(head)), None)
    if known or suffix == ".json" or not head.startswith(b"{"):
        return known
    row = first_line(path)
    if "task_id" in row and isinstance(row.get("solution"), str):
        raise DataError(_PROGRAMS, file=path)
    return next((harness for harness, matches in _LINES if matches(row)), None)


def _names_column(path: Path, name: bytes) -> bool:
    """Check whether the end of a Parquet file, which holds the names of its columns, has a name."""
    with opened(path) as stream:
        stream.seek(0, SEEK_END)
        size = stream.tell()
        stream.seek(max(size - 8, 0))
        length = int.from_bytes(stream.read(4), "little")
        stream.seek(max(size - 8 - length, 0))
        return name in stream.read(length)


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
    found = sorted(
        path
        for depth in range(1, _DEPTH + 1)
        for path in folder.glob("/".join("*" * depth))
        if path.suffix.lower() in {".jsonl", ".json", ".eval", ".parquet", ".html"} and path.is_file()
    )
    if len(found) > _MOST_FILES:
        raise InputError(f"holds more than {_MOST_FILES} files: name the log itself", file=folder)
    for path in found:
        try:
            harness = harness_of(path)
        except (InputError, DataError):
            continue
        if harness is not None:
            yield path, harness
