"""People and models as respondents of one kind: their metrics and every answer, for the formats of other tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import polars as pl

from merilo.baselines.answer_table import answer_table
from merilo.baselines.record import BASELINE_FILE, BaselineRecord, read_record
from merilo.datasets.declaration import CATALOGUE
from merilo.datasets.rendering import render
from merilo.errors import InputError
from merilo.metrics.answers import read_answer
from merilo.metrics.worth import item_points
from merilo.models.run_folder import RECORD_FILE as RUN_FILE
from merilo.records import Span
from merilo.reports.hb.raw_study import RAW, read_raw
from merilo.reports.hb.recomputation import Recomputed, recompute
from merilo.reports.hb.verification import MANIFEST
from merilo.reports.hb.withholding import gold_is_closed, withheld
from merilo.runs.run_scores import DatasetRun, score_run, source_of

Kind: TypeAlias = Literal["consensus", "person", "model"]

#: id        the item's id in the dataset
#: prompt    the question as it was asked
#: who       the annotator, or the model
#: answer    the answer; null for a model's reply without one, and for an item without a consensus
#: gold      null if it is not known or withheld
#: points    0 to 1; null without gold
#: seconds   null if they were not measured
COLUMNS: Final = ("id", "prompt", "who", "answer", "gold", "points", "seconds")


class Reported(NamedTuple):
    """A metric as it is reported: its value, 95 % interval with its method, and number of items."""

    value: float
    interval: Span | None
    method: str
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Respondent:
    """A respondent: the consensus of people, a single person, or a model.

    Attributes:
        kind: which of them.
        name: the name to show.
        dataset: the dataset's name.
        title: its title.
        metrics: mapping from name to metric.
        answers: every answer, columns as in `COLUMNS`.
        details: facts of the respondent, all as texts.
        when: the last answer, ISO 8601; empty if it is not known.
    """

    kind: Kind
    name: str
    dataset: str
    title: str
    metrics: Mapping[str, Reported]
    answers: pl.DataFrame
    details: Mapping[str, str] = field(default_factory=dict)
    when: str = ""

    @property
    def is_people(self) -> bool:
        """Return whether people answered."""
        return self.kind != "model"


def read_respondents(folder: Path, data: Path | None = None) -> list[Respondent]:
    """Read the respondents of a baseline, of a published folder, or of a run; one for each dataset of a run.

    Gold answers that a dataset declares closed are left out.

    Args:
        folder: the folder.
        data: the folder of the items of a run, if they are no longer where they were.

    Raises:
        InputError: the folder is none of these, or its files are damaged.
    """
    if (folder / RUN_FILE).is_file():
        return [*_of_run(folder, data)]
    if (folder / BASELINE_FILE).is_file() or (folder / MANIFEST).is_file():
        made = recompute(read_raw(folder / RAW))
        return _of_baseline(withheld(made) if gold_is_closed(made.raw) else made, read_record(folder))
    raise InputError("is neither a baseline, nor a published folder, nor a run of merilo run", file=folder)


def _of_baseline(made: Recomputed, record: BaselineRecord) -> list[Respondent]:
    table = answer_table(made.baseline)
    name = record.dataset or "study"
    declared = CATALOGUE.get(name.lower())
    used = table.filter(pl.col("became") == "used")
    last = table["submitted"].drop_nulls().max()
    shared: Any = {
        "dataset": name,
        "title": declared.title if declared else name,
        "when": str(last).replace(" ", "T") if last is not None else "",
    }
    details = {
        "respondent": "people",
        "people": str(record.annotators.used),
        "people_excluded": str(record.annotators.excluded),
        "answers": str(record.responses.used),
        "simulated": str(record.simulated).lower(),
        "status": record.status,
    }
    settings = made.raw.settings
    decided_by = {"aggregator": settings.aggregator, "resolve": settings.resolve}
    consensus = {
        one: Reported(found.value, found.interval, found.method_over_both or found.method or "", found.n)
        for one, found in record.main_metrics.items()
        if found.value is not None
    }
    single = {
        one: Reported(alone.mean, alone.ci95, alone.method or "", alone.items)
        for one, found in record.main_metrics.items()
        if (alone := found.single) is not None and alone.mean is not None
    }
    decided = made.baseline.consensus
    prompts = table.unique("item", maintain_order=True).select("item", "id", "prompt", "gold")
    of_consensus = prompts.join(
        decided.select("item", pl.col("label").alias("answer"), "points"), on="item", maintain_order="left"
    ).with_columns(pl.lit("consensus").alias("who"), pl.lit(None, pl.Float64).alias("seconds"))
    return [
        Respondent(
            kind="consensus",
            name="People (consensus)",
            metrics=consensus,
            answers=of_consensus.select(COLUMNS),
            details={**details, **decided_by},
            **shared,
        ),
        Respondent(
            kind="person",
            name="People (single person)",
            metrics=single,
            answers=used.rename({"respondent": "who"}).select(COLUMNS),
            details=details,
            **shared,
        ),
    ]


def _of_run(folder: Path, data: Path | None) -> Iterator[Respondent]:
    scored = score_run(folder, data=data)
    model = scored.folder.record.model
    for name, one in scored.datasets.items():
        scores = {**one.scores.main, **one.scores.extra} if one.scores else {}
        yield Respondent(
            kind="model",
            name=scored.model,
            dataset=name,
            title=one.declared.title,
            metrics={
                key: Reported(
                    one.value, Span.of(one.interval), one.interval.method if one.interval else "", one.n
                )
                for key, one in scores.items()
            },
            answers=_answers_of(one, scored.model, data),
            details={
                "respondent": "built-in" if model.builtin else "model",
                "backend": model.backend,
                "shots": str(one.record.shots),
                "samples": str(one.record.samples),
                **{key: value for key, value in model.args.items() if key != "model"},
            },
        )


def _answers_of(run: DatasetRun, model: str, data: Path | None) -> pl.DataFrame:
    by_id = {str(item.id): item for item in source_of(run.record, data).split}
    items = [by_id[one.item] for one in run.answers.answers]
    texts = [
        str(read_answer(run.declared.answer, one.answer)) if one.outcome == "answered" else None
        for one in run.answers.answers
    ]
    opened = run.declared.gold == "open"
    gold = [item.outputs if opened and isinstance(item.outputs, str) else None for item in items]
    points: list[float | None] = [None] * len(items)
    if run.declared.answer.kind not in {"criteria", "program"}:
        known = [place for place, right in enumerate(gold) if right is not None]
        earned = item_points(run.declared, [items[at] for at in known], [texts[at] or "" for at in known])
        for place, value in zip(known, earned.tolist(), strict=True):
            points[place] = value
    rows = [
        (answer.item, render(item, run.declared), model, text, right, value, None)
        for answer, item, text, right, value in zip(
            run.answers.answers, items, texts, gold, points, strict=True
        )
    ]
    kinds = (pl.String, pl.String, pl.String, pl.String, pl.String, pl.Float64, pl.Float64)
    return pl.DataFrame(rows, schema=dict(zip(COLUMNS, kinds, strict=True)), orient="row")
