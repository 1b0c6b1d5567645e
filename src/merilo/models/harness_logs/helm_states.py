"""HELM's `scenario_state.json`: the requests of one run with the instances that they ask and their results.

Methods that ask for each reference separately have one request for each; the reference with the largest log-likelihood per token is the
answer, after that without the question is subtracted for the calibrated method, as in HELM.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from merilo.bilingual import counted_en
from merilo.errors import InputError
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

_State: TypeAlias = Mapping[str, Json]

_FINISHES: Final[Mapping[str, Finish]] = {
    "stop": "stop",
    "endoftext": "stop",
    "length": "length",
    "content_filter": "refusal",
}


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
    log.rows = _rows(states, path, log)
    return log


def _rows(states: Sequence[Json], path: Path, log: HarnessLog) -> Iterator[LogRow]:
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
            yield _row(number, state, reply, completions[name])
    for (name, _), asked in separate.items():
        completions[name] += 1
        yield _of_references(asked, completions[name], path)
    if perturbed:
        log.notes.append(
            f"{counted_en(perturbed, 'request with a perturbed instance is', 'requests with perturbed instances are')} left out"
        )


def _row(number: int, state: _State, reply: ModelReply, sample: int, choices: tuple[str, ...] = ()) -> LogRow:
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
        prompt=_prompt(mapping_in(state.get("request"))),
        reply=reply,
        choices=choices,
        letters=letters,
        sample=sample,
    )


def _prompt(request: _State) -> str | None:
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
            finish=_FINISHES.get(text_in(mapping_in(one.get("finish_reason")).get("reason")), "stop"),
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
    return _row(number, first, ModelReply(loglikelihoods=values), sample, tuple(references))


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
