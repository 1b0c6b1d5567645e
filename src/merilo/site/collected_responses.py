"""The answers that the site has collected so far, read from the database and made comparable as the baseline does it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl
from sqlalchemy import Connection, bindparam, literal_column, select

from merilo.baselines.declared import declared, settings_for
from merilo.baselines.steps import comparable
from merilo.files import Table
from merilo.people import platforms
from merilo.people.experts.out_of_bag import may_be_mine
from merilo.people.platforms import Columns
from merilo.people.platforms.export import json_text
from merilo.responses import Responses
from merilo.settings import Settings
from merilo.site.answer_export import answer_reward, reason_left_out
from merilo.site.hot_statements import HotStatement
from merilo.site.schema import ANSWERED, RESPONSE
from merilo.site.served_study import ServedStudy
from merilo.studies.platform_rows import as_given

#: Answers to test and control items, in the order of their tasks.
_ANSWERS: Final = HotStatement(
    select(
        RESPONSE.c.task, RESPONSE.c.person, RESPONSE.c.place, RESPONSE.c.counts, RESPONSE.c.given, RESPONSE.c.answered,
        RESPONSE.c.seconds, RESPONSE.c.answer,
    ).where(
        RESPONSE.c.study == bindparam("of_study"), RESPONSE.c.task < bindparam("before"),
        RESPONSE.c.state == literal_column(f"'{ANSWERED}'"),
    )
)  # fmt: skip

_ANSWER_COLUMNS: Final = {
    "task": pl.Int32, "person": pl.Int64, "place": pl.Int32, "counts": pl.Boolean, "given": pl.Int64, "answered": pl.Int64,
    "seconds": pl.Float64, "answer": pl.String,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SitePerson:
    """A person of a study as the database holds them.

    Attributes:
        id: the number in the database.
        pseudonym: the name under which the person's answers are exported.
        source: how the person came in.
        stage: what comes next for the person.
        reason: why the person was stopped or excluded; `None` otherwise.
        controls: answered control items.
        controls_right: correctly answered control items.
        flagged: the mark of suspicious speed; `None` without one.
        created: when the person came in, in milliseconds since 1970.
    """

    id: int
    pseudonym: str
    source: str
    stage: str
    reason: str | None
    controls: int
    controls_right: int
    flagged: str | None
    created: int


@dataclass(frozen=True, slots=True)
class AnsweredTasks:
    """All answers to test and control items of a study.

    Attributes:
        table: one row for each answer: the columns of the table `response`, `pseudonym`, and `left_out`: why the answer is not in the
            table of `merilo study collect`, an empty text if it is.
        people: the people of the study by their numbers.
    """

    table: pl.DataFrame
    people: Mapping[int, SitePerson]


def read_answers(
    connection: Connection, study: ServedStudy, people: Mapping[int, SitePerson]
) -> AnsweredTasks:
    """Read all answers to test and control items.

    Args:
        connection: a transaction that reads.
        study: the registered study.
        people: the people of the study by their numbers, read in the same transaction.
    """
    before = study.training.start
    cursor = _ANSWERS.run(connection, {"of_study": study.rules.study, "before": before})
    rows: list[Any] = cursor.fetchall()
    columns: Any = zip(*rows, strict=True) if rows else ((),) * len(_ANSWER_COLUMNS)
    table = pl.DataFrame(
        {name: pl.Series(values, dtype=kind, strict=False) for (name, kind), values in zip(_ANSWER_COLUMNS.items(), columns, strict=True)}
    )  # fmt: skip
    kinds = [(number, one.pseudonym, *_left_out(study, one)) for number, one in people.items()]
    schema = {"person": pl.Int64, "pseudonym": pl.String, "held": pl.String, "surplus": pl.String}
    whose = pl.DataFrame(kinds, schema=schema, orient="row")
    holds = pl.col("counts") | (pl.col("task") >= study.rules.tests)
    table = (
        table.join(whose, on="person", how="inner")
        .with_columns(pl.when(holds).then("held").otherwise("surplus").alias("left_out"))
        .drop("held", "surplus")
    )
    return AnsweredTasks(table, people)


def _left_out(study: ServedStudy, person: SitePerson) -> tuple[str, str]:
    """Return why a person's answers are left out that hold a place of their task, and why those that do not."""
    held, surplus = (
        reason_left_out(study, person.stage, person.controls, person.controls_right, holds=holds)
        for holds in (True, False)
    )
    return held, surplus


@dataclass(frozen=True, slots=True)
class TaskColumns:
    """What the baseline reads of every task.

    Attributes:
        table: `task` (its number), `code` (its id), `id` (of the item in the dataset), `control` (the known answer of a control item) and
            `length` (of the item's input texts).
        types: id of a task -> the type of the question in an exam.
    """

    table: pl.DataFrame
    types: Mapping[str, str]


def task_columns(study: ServedStudy) -> TaskColumns:
    """Return the columns of every test and control item of a study."""
    asked = study.tasks[: study.training.start]
    table = pl.DataFrame(
        {
            "task": pl.Series(range(len(asked)), dtype=pl.Int32),
            "code": [task.id for task in asked],
            "id": [json_text(task.item) or "" for task in asked],
            "control": pl.Series([task.known for task in asked], dtype=pl.String),
            "length": pl.Series(study.lengths, dtype=pl.Float64),
        }
    )
    return TaskColumns(table, {asked[number].id: kind for number, kind in study.types.items()})


def planned_settings(study: ServedStudy) -> Settings:
    """Return the settings of the baseline in the frozen plan."""
    return settings_for(study.declared, study.folder.plan.settings(study.arm))


def responses_of(study: ServedStudy, answers: pl.DataFrame, tasks: TaskColumns) -> Responses:
    """Return answers as responses, read as the table of `merilo study collect` is read after its import.

    Args:
        study: the study.
        answers: rows of `AnsweredTasks.table`.
        tasks: the study's tasks.

    Raises:
        DataError: there are no answers.
    """
    texts = answers["answer"].unique().to_list()
    new = {text: as_given(text) for text in texts}
    changed = {text: kept for text, kept in new.items() if text != kept}
    reward = answer_reward(study)
    rows = (
        answers.join(tasks.table, on="task", how="inner")
        .sort("task", "answered", "pseudonym")
        .select(
            "code",
            "id",
            pl.col("pseudonym").alias("respondent"),
            pl.col("answer").replace(changed) if changed else pl.col("answer"),
            "control",
            pl.format("{}-{}", "pseudonym", "place").alias("page"),
            *(pl.from_epoch(pl.col(name), time_unit="ms").dt.to_string("%Y-%m-%d %H:%M:%S%.3f").alias(new)
              for name, new in (("given", "started"), ("answered", "submitted"))),
            pl.col("seconds").round(3).cast(pl.String),
            pl.lit(None if reward is None else repr(reward), dtype=pl.String).alias("reward"),
        )
    )  # fmt: skip
    columns = Columns(
        answer="answer", item=("code", "id"), annotator="respondent", control="control", page="page", started="started",
        submitted="submitted", seconds="seconds", reward="reward",
    )  # fmt: skip
    form = study.declared
    return platforms.read(
        [Table("the site", rows)],
        platform="csv",
        columns=columns,
        labels=form.answer.labels,
        as_typed=form.answers_as_typed,
    )


def comparable_responses(study: ServedStudy, responses: Responses, tasks: TaskColumns) -> Responses:
    """Bring equal answers to one spelling, as the baseline does.

    Raises:
        UsageError: the answers are programs, which are not compared as texts.
    """
    settings = planned_settings(study)
    types = {
        number: tasks.types[task]
        for number, task in responses.items.select("item", "code").iter_rows()
        if task in tasks.types
    }
    return comparable(responses, declared(study.declared, settings), settings, types)[0]


def skipped_texts(answers: pl.Series) -> list[str]:
    """Return the distinct answers that mean "skip, it may be mine"."""
    return [text for text in answers.drop_nulls().unique().to_list() if may_be_mine(text)]
