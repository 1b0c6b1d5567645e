"""Control items: the accuracy of annotators on them, and the exclusion that follows from it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import polars as pl

from merilo.errors import DataError, InputError, argument
from merilo.files import read_table
from merilo.people.quality.exclusion import ExclusionRule
from merilo.responses import Responses, page_of

_ID_COLUMNS: Final = ("worker_id", "annotator", "respondent", "user_id", "id")
_SKILL_COLUMNS: Final = ("skill_value", "skill", "value")


def annotators(
    responses: Responses,
    *,
    min_control_accuracy: float,
    min_controls: int = 1,
    skills: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Judge every annotator on the control items.

    An annotator with at least `min_controls` judged control answers and an accuracy on them below
    `min_control_accuracy` is excluded with all answers (`quality.exclusion.Rule`). Annotators with fewer control answers
    cannot be judged: they are kept, and `judged` is false.

    Args:
        responses: the responses, control items among them.
        min_control_accuracy: the threshold, 0 to 1; an annotator exactly at it is kept.
        min_controls: how many control answers are needed to judge an annotator.
        skills: the platform's own skill values, columns `annotator` and `skill`; see `read_skills`.

    Returns:
        One row per annotator, sorted by id: `annotator`, `responses` (to test items), `controls`, `controls_correct`,
        `control_accuracy` (null without controls), `skill` (null if unknown), `median_seconds`, `judged` (has enough
        control answers), `excluded`, `rule`.

    Raises:
        DataError: every annotator is excluded.
    """
    known_control = pl.col("is_control") & pl.col("control").is_not_null()
    accuracy = pl.col("controls_correct") / pl.col("controls")
    table = (
        responses.table.with_columns(
            (pl.col("page_seconds") / pl.len().over("file", page_of(), "respondent")).alias("seconds")
        )
        .group_by(pl.col("respondent").alias("annotator"))
        .agg(
            (~pl.col("is_control")).sum().alias("responses"),
            known_control.sum().alias("controls"),
            (known_control & (pl.col("answer") == pl.col("control"))).sum().alias("controls_correct"),
            pl.col("seconds").median().alias("median_seconds"),
        )
        .sort("annotator")
        .with_columns(pl.when(pl.col("controls") > 0).then(accuracy).alias("control_accuracy"))
    )
    rule = ExclusionRule(min_control_accuracy, min_controls)
    answers, right = table["controls"].to_numpy(), table["controls_correct"].to_numpy()
    below = pl.lit(f"control accuracy below {min_control_accuracy:g}")
    table = table.with_columns(
        pl.Series("judged", rule.judged(answers)), pl.Series("excluded", rule.excluded(right, answers))
    ).with_columns(pl.when("excluded").then(below).alias("rule"))
    known_skills = (
        skills if skills is not None else pl.DataFrame(schema={"annotator": pl.String, "skill": pl.Float64})
    )
    table = table.join(known_skills, on="annotator", how="left", maintain_order="left")
    if table.height and table["excluded"].all():
        best = max(table["control_accuracy"].to_list())
        raise DataError(
            f"all {table.height} annotators are below {min_control_accuracy:g} on control items (the best has "
            f"{best:.2f}): no answers are left to aggregate; check the control items' known answers, or lower "
            f"{argument('min_control_accuracy')}"
        )
    return table.select(
        "annotator",
        "responses",
        "controls",
        "controls_correct",
        "control_accuracy",
        "skill",
        "median_seconds",
        "judged",
        "excluded",
        "rule",
    )


def read_skills(path: Path, encoding: str | None = None) -> pl.DataFrame:
    """Read a platform's skills, such as Toloka's `worker_id|skill_value`.

    Args:
        path: a delimited file with a column of ids and a column of numbers.
        encoding: the encoding, if it is not UTF-8 and has no byte order mark.

    Returns:
        Columns `annotator` and `skill`.

    Raises:
        InputError: a column is missing, a value is not a number, or an annotator occurs twice with different values.
    """
    table = read_table(path, encoding=encoding)
    found = {}
    for what, names in (("annotator", _ID_COLUMNS), ("skill", _SKILL_COLUMNS)):
        found[what] = next((name for name in names if name in table.data.columns), None)
        if found[what] is None:
            raise InputError(
                f"there is no column for the {what} (expected one of: {', '.join(names)})", file=path, row=1
            )
    data = table.data.select(
        pl.col(str(found["annotator"])).str.strip_chars().alias("annotator"),
        pl.col(str(found["skill"]))
        .str.replace(",", ".", literal=True)
        .cast(pl.Float64, strict=False)
        .alias("skill"),
    ).with_row_index("row", offset=2)
    data = data.filter(pl.col("annotator").is_not_null() | pl.col("skill").is_not_null())
    wrong = data.filter(
        pl.col("annotator").is_null() | pl.col("skill").is_null() | ~pl.col("skill").is_finite()
    )
    if wrong.height:
        nameless = wrong["annotator"][0] is None
        raise InputError(
            "has no annotator" if nameless else "is not a number",
            file=path,
            row=wrong["row"][0],
            field=found["annotator" if nameless else "skill"],
        )
    first = pl.col("skill").first().over("annotator")
    doubled = data.filter(pl.col("skill") != first).head(1)
    if doubled.height:
        raise InputError(
            f"annotator {doubled['annotator'].item()} has two different skills",
            file=path,
            row=doubled["row"].item(),
        )
    return data.unique("annotator", maintain_order=True).select("annotator", "skill")
