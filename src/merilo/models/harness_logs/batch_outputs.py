"""The output files of batch APIs: OpenAI's (`custom_id`, `response`) and Anthropic's (`custom_id`, `result`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from merilo.errors import InputError
from merilo.models.asking import Finish, ModelReply
from merilo.models.harness_logs.log_files import LogLines
from merilo.models.harness_logs.log_rows import HarnessLog, LogRow, list_in, mapping_in, text_in
from merilo.strict_json import Json
from merilo.wording import shortened

_FINISHES: Final[Mapping[str, Finish]] = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "completed": "stop",
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
    "model_context_window_exceeded": "length",
}


def is_batch_row(row: Mapping[str, Json]) -> bool:
    """Check whether a JSON object is a row of a batch's output."""
    return "custom_id" in row and bool({"response", "result", "error"} & row.keys()) and "doc" not in row


def open_batch_output(path: Path) -> HarnessLog:
    """Open the output file of a batch.

    Raises:
        InputError: as the rows are read: a row has no `custom_id`, or neither a response nor an error.
    """
    log = HarnessLog("a batch", str(path), iter(()), "response")
    log.rows = _rows(path, log)
    return log


def _rows(path: Path, log: HarnessLog) -> Iterator[LogRow]:
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
    finish: Finish = "refusal" if refusal else _FINISHES.get(text_in(choice.get("finish_reason")), "other")
    thought = text_in(message.get("reasoning_content")) or text_in(message.get("reasoning")) or None
    text = _joined(message.get("content")) if message else text_in(choice.get("text"))
    return ModelReply(text=text or refusal, thought=thought, finish=finish, model=model)


def _of_responses(body: Mapping[str, Json], model: str | None) -> ModelReply:
    """Read the body of the Responses API."""
    messages = [one for one in map(mapping_in, list_in(body.get("output"))) if one.get("type") == "message"]
    parts = [mapping_in(part) for message in messages for part in list_in(message.get("content"))]
    refusal = "".join(text_in(part.get("refusal")) for part in parts)
    reason = mapping_in(body.get("incomplete_details")).get("reason") or body.get("status")
    finish: Finish = "refusal" if refusal else _FINISHES.get(text_in(reason), "other")
    return ModelReply(
        text="".join(text_in(part.get("text")) for part in parts) or refusal, finish=finish, model=model
    )


def _anthropic(row: Mapping[str, Json]) -> list[ModelReply]:
    result = mapping_in(row.get("result"))
    message = mapping_in(result.get("message"))
    if result.get("type") != "succeeded" or not message:
        error = mapping_in(mapping_in(result.get("error")).get("error")).get("message")
        return [
            ModelReply(
                finish="failed",
                error=shortened(text_in(error) or text_in(result.get("type")) or "no message"),
            )
        ]
    parts = [mapping_in(one) for one in list_in(message.get("content"))]
    thought = "".join(text_in(part.get("thinking")) for part in parts) or None
    return [
        ModelReply(
            text="".join(text_in(part.get("text")) for part in parts),
            thought=thought,
            finish=_FINISHES.get(text_in(message.get("stop_reason")), "other"),
            model=text_in(message.get("model")) or None,
        )
    ]


def _joined(content: Json) -> str:
    """Return the text of a message's content: a text, or a list of parts."""
    if isinstance(content, list):
        return "".join(text_in(mapping_in(part).get("text")) for part in content)
    return text_in(content)
