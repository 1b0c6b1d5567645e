"""Every answer of a baseline in one table: who answered what, whether it counts, and what it earns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl

from merilo.baselines.crowd import crowd_of
from merilo.baselines.evidence import Evidence
from merilo.datasets.rendering import render
from merilo.responses import answer_cost, answer_seconds

#: item        the number of the item
#: id          its id in the dataset, or its number
#: prompt      the question: the rendered prompt, or the fields that annotators saw
#: respondent  who answered: an annotator, or a model
#: kind        person or model
#: sample      which of the respondent's answers to this item, from 1
#: answer      the answer; null of a model's reply without one, which earns no points
#: became      used, control or excluded_annotator; null of a model
#: gold        the gold answer, of a control item the known one; null if it is not known or withheld
#: points      the share of the item's points that the answer earns, 0 to 1; null without gold
#: consensus   the consensus of the item
#: started, submitted   when
#: seconds     for the answer: a page's time in equal parts; of a run of merilo run, the time of the request
#: cost        of the answer: a page's reward in equal parts, in the study's currency; of a run, US dollars
ANSWER_COLUMNS: Final = (
    "item", "id", "prompt", "respondent", "kind", "sample", "answer", "became", "gold", "points", "consensus",
    "started", "submitted", "seconds", "cost",
)  # fmt: skip


def answer_table(evidence: Evidence, models: Sequence[Path] = ()) -> pl.DataFrame:
    """Return every answer, columns as in `ANSWER_COLUMNS`; the answers of models follow those of people.

    Args:
        evidence: what the baseline rests on.
        models: files of models' answers, or folders of runs; their answers to items with gold are in the table.

    Raises:
        UsageError: a run has no answers to the baseline's dataset.
        InputError: a file cannot be read, or a run asked other items.
    """
    table = evidence.with_fate.with_columns(
        answer_seconds().alias("seconds"), answer_cost().alias("cost"), pl.lit("person").alias("kind")
    )
    if models:
        table = pl.concat([table, _of_models(evidence, models)], how="diagonal")
    table = table.join(_questions(evidence), on="item", how="left", maintain_order="left")
    decided = evidence.consensus.select("item", pl.col("label").alias("consensus"))
    table = table.join(decided, on="item", how="left", maintain_order="left")
    gold = evidence.gold
    if gold is None or gold.withheld:
        table = table.with_columns(pl.lit(None, pl.String).alias("gold"))
    else:
        right = gold.answers.select("item", "gold")
        table = table.join(right, on="item", how="left", maintain_order="left")
    table = table.with_columns(pl.coalesce("control", "gold").alias("gold"))
    return table.with_columns(_points(evidence, table)).select(ANSWER_COLUMNS)


def _of_models(evidence: Evidence, models: Sequence[Path]) -> pl.DataFrame:
    """Return the models' answers to items with gold, with the seconds and costs that runs have logged."""
    from merilo.baselines.model_answers import read_model, run_file  # noqa: PLC0415 - needed only for models

    crowd = crowd_of(evidence)
    numbers = {name: int(item.id) for name, item in zip(crowd.names, crowd.items, strict=True)}
    rows: list[tuple[int, str, str, int, str | None, float | None, float | None]] = []
    for path in models:
        model, logged = read_model(path, crowd), _logged(run_file(path, crowd.declaration.name))
        for name in (item_name for item_name in model.answers if item_name in numbers):
            answers = model.answers[name]
            # A log without every answer does not tell which of them it has.
            known = logged.get(name, [])
            spent = known if len(known) == len(answers) else [(None, None)] * len(answers)
            rows += (
                (numbers[name], model.model, "model", sample, answer or None, *of_answer)
                for sample, (answer, of_answer) in enumerate(zip(answers, spent, strict=True), start=1)
            )
    kinds = {"respondent": pl.String, "kind": pl.String, "sample": pl.UInt32, "answer": pl.String}
    times = {"seconds": pl.Float64, "cost": pl.Float64}
    return pl.DataFrame(rows, schema={"item": pl.UInt32, **kinds, **times}, orient="row")


def _logged(file: Path) -> dict[str, list[tuple[float | None, float | None]]]:
    """Return the seconds and costs of the answers to each item in the log of a run, in the order of the samples."""
    from merilo.models.run_folder import is_run  # noqa: PLC0415 - needed only for models
    from merilo.models.run_log import log_path, read_log  # noqa: PLC0415 - as above

    path = log_path(file.parent, file.stem)
    logged: dict[str, list[tuple[float | None, float | None]]] = {}
    if is_run(file.parent) and path.is_file():
        columns = ("item", "sample", "seconds", "cost")
        for item, _, seconds, cost in (
            read_log(path, columns).select(columns).sort("item", "sample").iter_rows()
        ):
            logged.setdefault(" ".join(str(item).split()), []).append((seconds, cost))
    return logged


def _questions(evidence: Evidence) -> pl.DataFrame:
    """Return `item`, `id` and `prompt` of every item."""
    known = evidence.gold.items if evidence.gold else {}
    fields = evidence.responses.fields
    rows = []
    for number, *values in evidence.responses.items.select("item", *fields).iter_rows():
        item = known.get(number)
        prompt = "\n".join(str(value) for value in values if value is not None)
        if item is not None and item.instruction:
            prompt = render(item, evidence.declaration)
        rows.append((number, str(item.id if item else number), prompt))
    return pl.DataFrame(rows, schema={"item": pl.UInt32, "id": pl.String, "prompt": pl.String}, orient="row")


def _points(evidence: Evidence, table: pl.DataFrame) -> pl.Series:
    """Return the points of every answer that counts; null where the item has no gold or no metric scores it alone."""
    scorer, earned = evidence.scorer, [None] * len(table)
    if scorer is not None and evidence.declaration.answer.kind not in {"criteria", "program"}:
        items = {int(item.id): item for item in scorer.items}
        rows = [
            (place, items[number], answer or "")
            for place, (number, answer, became, kind) in enumerate(
                table.select("item", "answer", "became", "kind").iter_rows()
            )
            if became != "control" and (answer is not None or kind == "model") and number in items
        ]
        earned_points = scorer.points([item for _, item, _ in rows], [answer for *_, answer in rows])
        for (place, *_), value in zip(rows, earned_points.tolist(), strict=True):
            earned[place] = value
    return pl.Series("points", earned, dtype=pl.Float64)
