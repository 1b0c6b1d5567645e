"""A baseline or a run for other registries: records of Every Eval Ever, and the human value for an `eval.yaml`."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from merilo.baselines.baseline import Baseline, read_record
from merilo.datasets.declaration import CATALOGUE
from merilo.errors import DataError
from merilo.models.run_folder import RECORD_FILE
from merilo.records import Span
from merilo.reports.hb.registries import dataset_url
from merilo.runs.run_scores import score_run
from merilo.strict_json import Json, indented
from merilo.version import __version__

#: The version of the schema of Every Eval Ever.
_SCHEMA: Final = "0.3.0"

#: The least values of metrics that can be negative.
_LEAST: Final = {"mcc": -1.0}


class _Metric(NamedTuple):
    """A metric with its 95 % interval, the method of the interval, and the number of items."""

    name: str
    value: float
    interval: Span | None
    method: str
    n: int


@dataclass(frozen=True, slots=True)
class _Respondent:
    """Who answered a dataset: the consensus of people, a single person, or a model."""

    name: str
    identity: str
    dataset: str
    title: str
    metrics: Sequence[_Metric]
    details: Mapping[str, str]


def evaluation_records(
    source: Path, data: Path | None = None, *, organisation: str = "", repo: str | None = None
) -> dict[str, bytes]:
    """Return records of Every Eval Ever by file name; of people also `eval.yaml`, if the repository is known.

    People are the models `human/consensus` and `human/single-person`, because the schema knows only models.

    Args:
        source: the folder of a baseline or of a run, or a published folder.
        data: the folder of the items of a run, if they are no longer where they were.
        organisation: who provides the results.
        repo: the dataset's repository on the Hugging Face hub.

    Raises:
        InputError: the folder is none of these, or its files are damaged.
        DataError: no metric has a value.
    """
    is_run = (source / RECORD_FILE).is_file()
    respondents = [*(_models(source, data) if is_run else _people(read_record(source)))]
    made = dict(_record(one, organisation) for one in respondents if one.metrics)
    if not made:
        raise DataError("no metric has a value", file=source)
    if repo is not None and not is_run:
        made["eval.yaml"] = _human_value(respondents[0], repo).encode()
    return made


def _people(record: Baseline) -> Iterator[_Respondent]:
    dataset = record.dataset or "study"
    declared = CATALOGUE.get(dataset.lower())
    title = declared.title if declared else dataset
    details = {
        "respondent": "people",
        "people": str(record.annotator_counts.used),
        "people_excluded": str(record.annotator_counts.excluded),
        "answers": str(record.response_counts.used),
        "simulated": str(record.simulated).lower(),
        "status": record.status,
    }
    decided = {name: str(record.parameters[name]) for name in ("aggregator", "resolve")}
    metrics = record.main_metrics
    consensus = [
        _Metric(name, one.value, one.ci95, "over items and annotators" if one.ci95 else "", one.n)
        for name, one in metrics.items()
        if one.value is not None
    ]
    alone = record.single_person
    single = (
        [
            _Metric(
                alone.name,
                alone.value,
                alone.ci95,
                "over items and annotators" if alone.ci95 else "",
                alone.n,
            )
        ]
        if alone and alone.value is not None
        else []
    )
    yield _Respondent("People (consensus)", "human/consensus", dataset, title, consensus, details | decided)
    yield _Respondent("People (single person)", "human/single-person", dataset, title, single, details)


def _models(folder: Path, data: Path | None) -> Iterator[_Respondent]:
    run = score_run(folder, data=data)
    model = run.folder.record.model
    owner, slash, name = run.model.partition("/")
    identity = f"{_part(owner)}/{_part(name)}" if slash else f"unknown/{_part(owner)}"
    for dataset, one in run.datasets.items():
        metrics = [
            _Metric(key, found.value, Span.of(limits), limits.method if limits else "", found.n)
            for key, found in one.metrics.items()
            for limits in [found.interval]
        ]
        details = {
            "respondent": "built-in" if model.builtin else "model",
            "backend": model.backend,
            "shots": str(one.record.shots),
            "samples": str(one.record.samples),
            **{key: value for key, value in model.args.items() if key != "model"},
        }
        yield _Respondent(run.model, identity, dataset, one.declared.title, metrics, details)


def _record(one: _Respondent, organisation: str) -> tuple[str, bytes]:
    """Return the name and the content of a record."""
    when = str(int(datetime.now(UTC).timestamp()))
    evaluation = f"{one.dataset}/{one.identity}/{when}"
    people = one.details["respondent"] == "people"
    content: dict[str, Json] = {
        "schema_version": _SCHEMA,
        "evaluation_id": evaluation,
        "retrieved_timestamp": when,
        "source_metadata": {
            "source_name": "Merilo",
            "source_type": "evaluation_run",
            "source_organization_name": organisation or "unknown",
            "evaluator_relationship": "other" if people else "third_party",
        },
        "eval_library": {"name": "merilo", "version": __version__},
        "model_info": {
            "name": one.name,
            "id": one.identity,
            "developer": one.identity.partition("/")[0],
            "additional_details": {
                "deployment_type": "unknown",
                "model_availability": "unknown",
                **{name: value for name, value in one.details.items() if value},
            },
        },
        "evaluation_results": [_result(one.title, metric, evaluation) for metric in one.metrics],
    }
    number = uuid.UUID(bytes=hashlib.sha256(evaluation.encode()).digest()[:16], version=4)
    return f"data/{_part(one.dataset)}/{one.identity}/{number}.json", f"{indented(content)}\n".encode()


def _result(title: str, metric: _Metric, evaluation: str) -> Json:
    uncertainty: dict[str, Json] = {"num_samples": metric.n}
    if metric.interval:
        uncertainty["confidence_interval"] = {
            "lower": metric.interval.low,
            "upper": metric.interval.high,
            "confidence_level": 0.95,
            "method": metric.method,
        }
    return {
        "evaluation_result_id": f"{evaluation}/{metric.name}",
        "evaluation_name": metric.name,
        "source_data": {"dataset_name": title, "source_type": "other"},
        "metric_config": {
            "metric_id": metric.name,
            "metric_name": metric.name,
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": _LEAST.get(metric.name, 0.0),
            "max_score": 1.0,
        },
        "score_details": {"score": metric.value, "uncertainty": uncertainty},
    }


def _human_value(people: _Respondent, repo: str) -> str:
    """Return the block `human_baseline` of an `eval.yaml`, with interval and number of items as a comment."""
    metric = people.metrics[0]
    limits = f"95 % interval {metric.interval.low} to {metric.interval.high}, " if metric.interval else ""
    return (
        f"tasks:\n- name: {json.dumps(people.dataset)}\n  human_baseline:\n    metric: {metric.name}\n"
        f"    score: {metric.value}  # {limits}n = {metric.n}\n    source: {dataset_url(repo)}\n"
    )


def _part(name: str) -> str:
    """Return a name as one portable part of a path."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-. ") or "unnamed"
