"""The samples that lm-eval logs: one row a document and filter, in `samples_TASK_DATE.jsonl`.

Versions 0.4.0 to 0.4.2 wrote a JSON list into files of this form, `arguments` as lists and log-likelihoods as numbers; later ones write
JSON lines, `arguments` as mappings and log-likelihoods as texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Final

from merilo.errors import InputError
from merilo.models.asking import ModelReply
from merilo.models.harness_logs.log_files import LogLines, read_log
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
    log.rows = _rows(path, log)
    return log


def copied_name(path: Path) -> str:
    """Return the name of a copy of a model's file: lm-eval's samples, whose model is named beside them, are named after it."""
    named = FILE_NAME.fullmatch(path.name)
    model = _model(path, named["date"]) if named else None
    return re.sub(r"[^\w.-]+", "__", model) + ".jsonl" if model else path.name


def _rows(path: Path, log: HarnessLog) -> Iterator[LogRow]:
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
