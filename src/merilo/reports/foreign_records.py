"""Respondents in the formats of other tools: logs of Inspect and lm-eval, records of Every Eval Ever, tables."""

from __future__ import annotations

import hashlib
import io
import json
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import yaml

from merilo.atomic_write import guarded
from merilo.errors import DataError, UsageError, argument
from merilo.reports import ForeignFormat
from merilo.reports.hb.registries import dataset_url
from merilo.reports.respondents import Reported, Respondent
from merilo.strict_json import Json, indented
from merilo.version import __version__

#: The version of the schema of Every Eval Ever that the records follow.
_EEE: Final = "0.3.0"

#: The key of the free texts of a record under which stand the fields that the schema lacks for people, as JSON.
_PROPOSED: Final = "proposed_fields"

#: The facts of people that `model_info` has no field for.
_FACTS: Final = ("people", "people_excluded", "answers", "simulated", "status")

#: The smallest value of metrics that can be negative.
_LEAST: Final = {"mcc": -1.0}

_SCORER: Final = "merilo"


def foreign_files(
    respondents: Sequence[Respondent], form: ForeignFormat, *, source: str = "", repo: str | None = None
) -> dict[str, bytes]:
    """Return the files of a format by name.

    Args:
        respondents: who answered.
        form: the format.
        source: the organisation that provides the results, for records of Every Eval Ever.
        repo: the repository of the dataset on the Hugging Face hub, for evaluation results.

    Raises:
        DataError: nobody has answers of the kind that the format holds.
        UsageError: the format needs the repository.
    """
    made: dict[str, bytes] = {}
    for one in respondents:
        made |= _WRITERS[form](one, source, repo)
    if not made:
        raise DataError(f"there is nothing that {form} could hold")
    return made


def _tables(one: Respondent, form: str) -> dict[str, bytes]:
    held = io.BytesIO()
    if form == "csv":
        guarded(one.answers).write_csv(held)
    else:
        one.answers.write_parquet(held)
    return {f"{_file_name(one)}.{form}": held.getvalue()}


def _inspect(one: Respondent, _source: str, repo: str | None) -> dict[str, bytes]:
    """Return a log of Inspect in which each person is an epoch, and each item a sample.

    Of the consensus, the block of an evaluation's metadata with the human baseline, if its repository is known.
    """
    if one.kind == "consensus":
        return _human_baseline(one, repo)
    people = {name: number for number, name in enumerate(one.answers["who"].unique().sort(), start=1)}
    asked: Counter[tuple[str, str]] = Counter()
    samples: list[Json] = []
    for row in one.answers.iter_rows(named=True):
        epoch = people[row["who"]] + asked[row["id"], row["who"]] * len(people)
        asked[row["id"], row["who"]] += 1
        answer = row["answer"] or ""
        message: Json = {"role": "assistant", "content": answer, "source": "generate"}
        samples.append(
            {
                "id": row["id"],
                "epoch": epoch,
                "input": row["prompt"],
                "target": row["gold"] or "",
                "messages": [{"role": "user", "content": row["prompt"], "source": "input"}, message],
                "output": {"model": _identity(one), "choices": [{"message": message, "stop_reason": "stop"}]},
                "scores": {}
                if row["points"] is None
                else {_SCORER: {"value": _verdict(row["points"]), "answer": answer}},
                "metadata": {"annotator": row["who"]} if one.is_people else {},
                "uuid": _uuid(one, row["id"], str(epoch)),
                **({"total_time": row["seconds"]} if row["seconds"] is not None else {}),
            }
        )
    ids = one.answers["id"].unique(maintain_order=True).to_list()
    created = one.when or "1970-01-01T00:00:00"
    log: dict[str, Json] = {
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": _uuid(one, "eval"),
            "run_id": _uuid(one, "run"),
            "created": f"{created[:19]}+00:00",
            "task": one.dataset,
            "task_id": one.dataset,
            "task_version": 0,
            "dataset": {"name": one.title, "samples": len(ids), "sample_ids": ids},
            "model": _identity(one),
            "config": {"epochs": len(people) * max(asked.values(), default=1)},
            "packages": {"merilo": __version__},
            "metadata": dict(one.details),
        },
        "results": {
            "total_samples": len(samples),
            "completed_samples": len(samples),
            "scores": [
                {
                    "name": _SCORER,
                    "scorer": _SCORER,
                    "metrics": {name: _inspect_metric(name, found) for name, found in one.metrics.items()},
                }
            ],
        },
        "samples": samples,
    }
    return {f"{_file_name(one)}.json": f"{indented(log)}\n".encode()}


def _human_baseline(one: Respondent, repo: str | None) -> dict[str, bytes]:
    if repo is None or not one.metrics:
        return {}
    metric, found = next(iter(one.metrics.items()))
    task: Json = {
        "name": one.dataset,
        "dataset_samples": len(one.answers),
        "human_baseline": {"metric": metric, "score": found.value, "source": dataset_url(repo)},
    }
    return {"eval.yaml": yaml.safe_dump({"tasks": [task]}, allow_unicode=True, sort_keys=False).encode()}


def _inspect_metric(name: str, found: Reported) -> Json:
    limits: Json = {"ci95": [*found.interval], "interval": found.method} if found.interval else {}
    return {"name": name, "value": found.value, "metadata": limits}


def _verdict(points: float) -> Json:
    """Return Inspect's value of a score: C or I, or the points if they are a part."""
    return {1.0: "C", 0.0: "I"}.get(points, points)


def _lm_eval(one: Respondent, _source: str, _repo: str | None) -> dict[str, bytes]:
    """Return lm-eval's samples, one file a person, in a folder of its own as lm-eval keeps models apart."""
    files = {}
    date = re.sub(r"[:.]", "-", one.when[:19]) or "1970-01-01T00-00-00"
    for (name,), rows in one.answers.group_by("who", maintain_order=True):
        lines = []
        for number, row in enumerate(rows.iter_rows(named=True)):
            answer = row["answer"] or ""
            lines.append(
                json.dumps(
                    {
                        "doc_id": number,
                        "doc": {"id": row["id"], "prompt": row["prompt"]},
                        "target": row["gold"] or "",
                        "arguments": {"gen_args_0": {"arg_0": row["prompt"], "arg_1": {}}},
                        "resps": [[answer]],
                        "filtered_resps": [answer],
                        "filter": "none",
                        "metrics": ["acc"],
                        **({"acc": row["points"]} if row["points"] is not None else {}),
                        "doc_hash": _sha(row["id"] + row["prompt"]),
                        "prompt_hash": _sha(row["prompt"]),
                        "target_hash": _sha(row["gold"] or ""),
                    },
                    ensure_ascii=False,
                )
            )
        place = _part(str(name)) if one.kind == "person" else _file_name(one)
        files[f"{place}/samples_{_part(one.dataset)}_{date}.jsonl"] = ("\n".join(lines) + "\n").encode()
    return files


def _every_eval_ever(one: Respondent, source: str, _repo: str | None) -> dict[str, bytes]:
    """Return a record of Every Eval Ever and its file of samples."""
    identity, when = _identity(one), _epoch(one.when)
    evaluation = f"{one.dataset}/{identity}/{when}"
    number = _uuid(one, "record")
    place = f"data/{_part(one.dataset)}/{identity}/{number}"
    samples = "".join(
        f"{json.dumps(row, ensure_ascii=False)}\n" for row in _instances(one, evaluation, identity)
    ).encode()
    results: list[Json] = [
        {
            "evaluation_result_id": f"{evaluation}/{name}",
            "evaluation_name": name,
            "source_data": {"dataset_name": one.title, "source_type": "other"},
            "metric_config": {
                "metric_id": name,
                "metric_name": name,
                "lower_is_better": False,
                "score_type": "continuous",
                "min_score": _LEAST.get(name, 0.0),
                "max_score": 1.0,
            },
            "score_details": {"score": found.value, "uncertainty": _uncertainty(found)},
        }
        for name, found in one.metrics.items()
    ]
    if not results:
        return {}
    record: dict[str, Json] = {
        "schema_version": _EEE,
        "evaluation_id": evaluation,
        "retrieved_timestamp": when,
        "source_metadata": {
            "source_name": "Merilo",
            "source_type": "evaluation_run",
            "source_organization_name": source or "unknown",
            "evaluator_relationship": "other" if one.is_people else "third_party",
        },
        "eval_library": {"name": "merilo", "version": __version__},
        "model_info": {
            "name": one.name,
            "id": identity,
            "developer": identity.partition("/")[0],
            "additional_details": {
                "deployment_type": "unknown",
                "model_availability": "unknown",
                **{key: value for key, value in one.details.items() if value},
                **({_PROPOSED: json.dumps(_proposed(one))} if one.is_people else {}),
            },
        },
        "evaluation_results": results,
        "detailed_evaluation_results": {
            "format": "jsonl",
            "file_path": f"{place}_samples.jsonl",
            "hash_algorithm": "sha256",
            "checksum": hashlib.sha256(samples).hexdigest(),
            "total_rows": len(one.answers),
        },
    }
    return {f"{place}.json": f"{indented(record)}\n".encode(), f"{place}_samples.jsonl": samples}


def _proposed(one: Respondent) -> Json:
    """Return the fields that the schema lacks for people, each with its value in this record and its enum, if any.

    Example:
        >>> people = Respondent(
        ...     kind="person", name="", dataset="", title="", metrics={}, answers=None, details={"people": "4"}
        ... )
        >>> _proposed(people)["model_info.respondents"]
        {'value': {'people': 4}}
    """
    known: dict[str, Json] = {"true": True, "false": False}
    facts: dict[str, Json] = {
        name: int(value) if value.isdecimal() else known.get(value, value)
        for name, value in one.details.items()
        if name in _FACTS and value
    }
    found: dict[str, Json] = {
        "model_info.respondent_type": {"value": one.kind, "enum": ["model", "person", "consensus"]},
        "model_info.respondents": {"value": facts},
        "source_metadata.source_type": {"value": "annotation_study", "enum": ["annotation_study"]},
        "model_info.additional_details.deployment_type": {
            "value": "not_applicable",
            "enum": ["not_applicable"],
        },
    }
    if one.kind == "consensus":
        found["model_info.aggregation"] = {
            "value": {name: one.details[name] for name in ("aggregator", "resolve") if name in one.details}
        }
    return found


def _instances(one: Respondent, evaluation: str, identity: str) -> Iterator[dict[str, Json]]:
    name = next(iter(one.metrics), "")
    for row in one.answers.iter_rows(named=True):
        answer, gold, points = row["answer"] or "", row["gold"], row["points"]
        yield {
            "schema_version": _EEE,
            "evaluation_id": evaluation,
            "model_id": identity,
            "evaluation_name": name,
            "evaluation_result_id": f"{evaluation}/{name}",
            "sample_id": row["id"],
            "sample_hash": _sha(row["prompt"] + (gold or "")),
            "interaction_type": "single_turn",
            "input": {"raw": row["prompt"], "reference": [gold] if gold is not None else []},
            "output": {"raw": [answer]},
            "answer_attribution": [
                {
                    "turn_idx": 0,
                    "source": "output.raw",
                    "extracted_value": answer,
                    "extraction_method": "merilo",
                    "is_terminal": True,
                }
            ],
            "evaluation": {"score": points or 0.0, "is_correct": points == 1},
            **({"performance": {"latency_ms": 1000 * row["seconds"]}} if row["seconds"] is not None else {}),
            "metadata": {"respondent": row["who"], **({"scored": "false"} if points is None else {})},
        }


def _uncertainty(found: Reported) -> Json:
    if not found.interval:
        return {"num_samples": found.n}
    low, high = found.interval
    limits: Json = {"lower": low, "upper": high, "confidence_level": 0.95, "method": found.method}
    return {"confidence_interval": limits, "num_samples": found.n}


def _eval_results(one: Respondent, source: str, repo: str | None) -> dict[str, bytes]:
    """Return the evaluation results of a model as the Hugging Face hub reads them in the model's repository."""
    if one.is_people or not one.metrics:
        return {}
    if repo is None:
        raise UsageError("is needed: the dataset's repository on the hub", field=argument("repo"))
    name, found = next(iter(one.metrics.items()))
    entry: dict[str, Json] = {
        "dataset": {"id": repo, "task_id": one.dataset},
        "value": found.value,
        **({"date": one.when[:10]} if one.when else {}),
        "notes": f"{name}, {found.n} items" + (f"; {source}" if source else ""),
    }
    text = yaml.safe_dump([entry], allow_unicode=True, sort_keys=False)
    return {f".eval_results/{_part(one.dataset)}.yaml": text.encode()}


_WRITERS: Final[Mapping[ForeignFormat, Callable[[Respondent, str, str | None], dict[str, bytes]]]] = {
    "inspect": _inspect,
    "lm-eval": _lm_eval,
    "every-eval-ever": _every_eval_ever,
    "eval-results": _eval_results,
    "parquet": lambda one, _source, _repo: _tables(one, "parquet"),
    "csv": lambda one, _source, _repo: _tables(one, "csv"),
}


def _identity(one: Respondent) -> str:
    """Return the id of a respondent as hubs write it: the owner and the name."""
    if one.is_people:
        return "human/consensus" if one.kind == "consensus" else "human/single-person"
    owner, slash, name = one.name.partition("/")
    return f"{_part(owner)}/{_part(name)}" if slash else f"unknown/{_part(one.name)}"


def _file_name(one: Respondent) -> str:
    return f"{_part(one.dataset)}-{_identity(one).replace('/', '-')}"


def _part(name: str) -> str:
    """Return a name as one portable part of a path."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-. ") or "unnamed"


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _uuid(one: Respondent, *parts: str) -> str:
    """Return an identifier of version 4 that follows from what it names, so equal input gives equal bytes."""
    told = "\n".join((one.dataset, one.name, one.when, str(len(one.answers)), *parts))
    return str(uuid.UUID(bytes=hashlib.sha256(told.encode()).digest()[:16], version=4))


def _epoch(when: str) -> str:
    if not when:
        return "0"
    return str(int(datetime.fromisoformat(when).replace(tzinfo=UTC).timestamp()))
