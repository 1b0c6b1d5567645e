"""Read a platform's file as answers to a study's tasks, by the ids that travelled with the tasks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, cast

import polars as pl

from merilo.atomic_write import unguarded_csv
from merilo.errors import DataError, InputError
from merilo.file_reading import OtherColumns, Reading
from merilo.files import FileTable, opened
from merilo.people.platforms import NAMES, Export, loading
from merilo.people.platforms.forms import TABLE_FORMS, SeveralAnswersError, questions_of
from merilo.people.reading import field_names, read_export
from merilo.people.spelling import FALSE
from merilo.responses import SIGNALS
from merilo.settings import Platform
from merilo.studies.instruction import SKIP_OWN
from merilo.studies.platform_tasks import ANSWER, MINE, STUDY, TASK
from merilo.studies.sealed_answers import page_copies
from merilo.studies.study_tasks import StudyTasks
from merilo.wording import listed, shortened, shown

#: How a table of answers writes the option "skip the question, because I may have written it", in any language.
MAY_BE_MINE: Final = SKIP_OWN["ru"]
#: Values of a column of marks that mean "not marked".
_NOT_MARKED: Final = ("", "0", "0.0", "-", *sorted(FALSE))

#: Formats that their reader finds incomplete by itself.
_WITH_AN_END: Final = frozenset({".json", ".jsonl", ".ndjson", ".parquet", ".pq"})

#: The answers of the files of a study.
_ANSWER: Final = Reading(answer=(ANSWER,))

#: The columns of a plain table, as a reading names them.
_PLAIN: Final = ("page", "started", "submitted", "seconds", "reward")


@dataclass(frozen=True, slots=True)
class FileReplies:
    """The rows of one file.

    Attributes:
        arm: the group of annotators whose tasks it answers.
        replies: the answers to test and control items, in the file's order: `task`, `respondent`, `answer` (null if
            the page was sent without one), `page`, `started`, `submitted`, `seconds` and `reward` of the page,
            `signals`.
        withdrawn: the rows of rejected and skipped pages, which take back what an earlier file says of them.
        rows: rows of the file with a task.
        left_out: reason -> rows that are no answers: rejected, not submitted, training, own items.
        copies: respondent -> the browser's copy of their page, if the file is of a page without a server.
    """

    arm: str
    replies: pl.DataFrame
    withdrawn: pl.DataFrame
    rows: int
    left_out: Mapping[str, int]
    copies: Mapping[str, str]


def file_replies(
    path: Path,
    tasks: StudyTasks,
    arms: Mapping[str, str],
    platform: Platform,
    encoding: str | None = None,
    *,
    skip_own: Collection[str] = (),
) -> FileReplies:
    """Read the answers of a file.

    Args:
        path: the platform's file.
        tasks: the study's tasks.
        arms: the study's id on platforms -> the group of annotators.
        platform: the platform.
        encoding: the file's encoding, if it is not UTF-8 and not marked.
        skip_own: the groups of annotators whose answers to items that they wrote do not count.

    Raises:
        InputError: the file is incomplete, is not an export of the platform, or holds no tasks of a study.
        DataError: a row is of another study, a task is not in the study, or the file of a page was changed.
    """
    _refuse_cut(path, platform)
    copies = page_copies(path, tasks.ids.key) if platform == "table" else {}
    rows = _rows(path, platform, encoding)
    arm = _arm(rows, arms, path)
    known = [task.id for task in (*tasks.tests, *tasks.controls, *tasks.training)]
    strange = rows.filter(~pl.col(TASK).is_in(known))
    for task, row in strange.select(TASK, "row").head(1).iter_rows():
        raise DataError(
            f"there is no task '{shortened(str(task))}' in this study: was the item changed after the export?",
            file=shown(path),
            row=row,
            field=TASK,
        )
    training = pl.col(TASK).is_in([task.id for task in tasks.training])
    own = [f"{task.id}\x1f{author}" for task in tasks.tests for author in task.authors if arm in skip_own]
    by_author = pl.concat_str(TASK, pl.col("respondent").str.strip_chars(), separator="\x1f").is_in(own)
    marked = pl.col("answer").str.strip_chars().is_in(list(SKIP_OWN.values()))
    why = (
        pl.when(pl.col("dropped").is_not_null()).then("dropped")
        .when(training).then(pl.lit("training"))
        .when(by_author & ~marked.fill_null(value=False)).then(pl.lit("own_item"))
    )  # fmt: skip
    left_out = dict(rows.select(why.alias("why")).drop_nulls()["why"].value_counts(sort=True).iter_rows())
    if SIGNALS not in rows.columns:
        rows = rows.with_columns(pl.lit(None, pl.String).alias(SIGNALS))
    answers = rows.filter(why.is_null())
    for row in answers.filter(pl.col("respondent").is_null())["row"].head(1):
        raise InputError("the answer has no annotator", file=shown(path), row=row)
    withdrawn = rows.filter(pl.col("dropped").is_not_null()).select(*_reply())
    return FileReplies(
        arm, answers.select(*_reply()), withdrawn, rows.height, dict(sorted(left_out.items())), copies
    )


def _reply() -> list[pl.Expr]:
    """The columns of an answer; a time that is missing follows from the other time and the duration."""
    started, submitted, stated = pl.col("started"), pl.col("submitted"), pl.col("page_seconds")
    between = pl.when(submitted >= started).then((submitted - started).dt.total_microseconds() / 1e6)
    seconds = pl.coalesce(stated, between)
    begun = pl.coalesce(started, submitted - pl.duration(microseconds=(seconds * 1e6).round()))
    bare = pl.col("answer").str.strip_chars()
    answer = (
        pl.when(bare.is_in(list(SKIP_OWN.values()))).then(pl.lit(MAY_BE_MINE)).otherwise(pl.col("answer"))
    )
    return [
        pl.col(TASK),
        pl.col("respondent").str.strip_chars(),
        pl.when(bare != "").then(answer).alias("answer"),
        pl.col("page"),
        begun.alias("started"),
        submitted,
        seconds.alias("seconds"),
        pl.col("page_reward").alias("reward"),
        pl.col(SIGNALS),
    ]


def _refuse_cut(path: Path, platform: Platform) -> None:
    """Refuse a table that does not end with a line break: its last value may be cut."""
    if platform == "table" or path.suffix.lower() in _WITH_AN_END:
        return
    with opened(path) as stream:
        stream.seek(0, 2)
        size = stream.tell()
        stream.seek(max(0, size - 4))
        end = stream.read().rstrip(b"\0")
    if size and not end.endswith((b"\n", b"\r")):
        raise InputError(
            f"ends in the middle of a row: the last line has no line break, as exports of {NAMES[platform]} have; "
            "export it again",
            file=shown(path),
        )


def _rows(path: Path, platform: Platform, encoding: str | None) -> pl.DataFrame:
    """The rows of a file: `study`, `task`, and the columns of `Export.rows`."""
    if platform == "mturk":
        rows = pl.concat(
            [_labelled(page, path) for page in _pages_laid_open(loading.load(path, encoding=encoding))]
        )
        # Pages of a shorter batch in the same file have empty places.
        return rows.filter(pl.col(TASK).is_not_null() | pl.col("answer").is_not_null())
    asked = _ANSWER.named(encoding=encoding)
    if platform == "table":
        names = field_names(path, encoding)
        _require_fields(names, path)
        there: Any = {name: name for name in _PLAIN if name in names}
        asked = Reading(
            answer=(ANSWER,),
            item=(STUDY, TASK),
            annotator=("respondent",),
            columns=OtherColumns(**there),
            encoding=encoding,
        )
        fields: tuple[str, ...] = tuple(names)
    elif platform == "abc":
        return _rows_of_abc(path, encoding)
    export = read_export(path, platform, asked)
    if platform != "table":
        fields = (*export.answer_fields, *export.inputs.columns)
    rows = _labelled(export, path)
    if platform == "table":
        rows = rows.with_columns(unguarded_csv(rows.select("answer")))
    if not any(name.rpartition(":")[2] == MINE for name in fields):
        return rows
    marks = _labelled(read_export(path, platform, asked.named(answer=MINE)), path)
    return _with_marks(rows, marks)


def _rows_of_abc(path: Path, encoding: str | None) -> pl.DataFrame:
    """ABC Elementary: the output field has the name that the requester gave it, unless there are several."""
    try:
        return _labelled(read_export(path, "abc", Reading().named(encoding=encoding)), path)
    except SeveralAnswersError as error:
        rows = _labelled(read_export(path, "abc", _ANSWER.named(encoding=encoding)), path)
        if MINE not in error.names:
            return rows
        return _with_marks(
            rows,
            _labelled(read_export(path, "abc", Reading(answer=(MINE,)).named(encoding=encoding)), path),
        )


def _labelled(export: Export, path: Path) -> pl.DataFrame:
    """The rows of an export with the ids of the study and the task.

    Rows without any input, a fault of platforms, go.
    """
    _require_fields(export.inputs.columns, path)
    ids = export.inputs.select(pl.col(STUDY, TASK).str.strip_chars().replace("", None))
    empty = pl.all_horizontal(pl.col(name).is_null() for name in export.inputs.columns)
    rows = pl.concat([ids, export.rows.with_columns(pl.col("row").cast(pl.Int64))], how="horizontal")
    return rows.filter(~export.inputs.select(empty.alias("empty"))["empty"])


def _require_fields(names: list[str], path: Path) -> None:
    missing = [name for name in (STUDY, TASK) if name not in names]
    if missing:
        raise InputError(
            f"holds no tasks of a study: the field '{missing[0]}' of the files of 'merilo study export' is missing "
            f"(there are: {listed(names)})",
            file=shown(path),
        )


def _with_marks(rows: pl.DataFrame, marks: pl.DataFrame) -> pl.DataFrame:
    """Answers, with the guide's option in place of the answers that are marked "may be mine"."""
    key = ["row", "page", TASK]
    set_ = ~pl.col("answer").str.strip_chars().str.to_lowercase().is_in(_NOT_MARKED)
    marked = marks.filter(pl.col("answer").is_not_null() & set_).with_columns(
        pl.lit(MAY_BE_MINE).alias("answer")
    )
    rest = rows.join(marked, on=key, how="anti", nulls_equal=True, maintain_order="left")
    return pl.concat([rest, marked.select(rows.columns)]).sort("row", maintain_order=True)


def _pages_laid_open(table: FileTable) -> list[Export]:
    """The tasks of a batch whose pages (HITs) show several: an export for each place of the page."""
    data = questions_of(table)
    places = sorted(
        (name.removeprefix(f"Input.{TASK}_") for name in data.columns if name.startswith(f"Input.{TASK}_")),
        key=lambda place: (len(place), place),
    )
    if not places:
        raise InputError(
            f"holds no tasks of a study: the column 'Input.{TASK}_1' of the files of 'merilo study export' is missing",
            file=table.file,
        )
    page = [name for name in data.columns if not name.startswith(("Input.", "Answer."))]
    exports = []
    for place in places:
        names = {
            f"Input.{STUDY}": f"Input.{STUDY}",
            f"Input.{TASK}_{place}": f"Input.{TASK}",
            f"Answer.{ANSWER}_{place}": f"Answer.{ANSWER}",
        }
        absent = [name for name in names if name not in data.columns]
        if absent:
            raise InputError("there is no such column", file=table.file, field=absent[0])
        own = data.select(*page, *(pl.col(old).alias(new) for old, new in names.items()))
        mine = f"Answer.{MINE}_{place}"
        if mine in data.columns:
            marked = ~pl.col("mark").fill_null("").str.to_lowercase().is_in(_NOT_MARKED)
            answer = pl.when(marked).then(pl.lit(MAY_BE_MINE)).otherwise(pl.col(f"Answer.{ANSWER}"))
            own = (
                own.with_columns(data[mine].alias("mark"))
                .with_columns(answer.alias(f"Answer.{ANSWER}"))
                .drop("mark")
            )
        exports.append(TABLE_FORMS["mturk"].read(replace(table, data=own), _ANSWER))
    return exports


def _arm(rows: pl.DataFrame, arms: Mapping[str, str], path: Path) -> str:
    """The group of annotators that a file's rows belong to; every row must be of the same one."""
    if not rows.height:
        raise DataError("has no answers", file=shown(path))
    first: str | None = None
    for study, row in rows.select(STUDY, "row").unique(STUDY, keep="first", maintain_order=True).iter_rows():
        if study not in arms:
            what = "has no id of a study" if study is None else f"belongs to {shortened(study)}"
            raise DataError(
                f"{what}, not to this study ({listed(list(arms))}), or the study's items were changed after the export",
                file=shown(path),
                row=row,
                field=STUDY,
            )
        if first is not None:
            raise DataError(
                f"answers a task of the arm '{arms[study]}', and the rows before it tasks of '{arms[first]}'",
                file=shown(path),
                row=row,
            )
        first = study
    return arms[cast("str", first)]


def as_given(answer: str | None) -> str | None:
    """Return an answer as it was given.

    `None` for blanks, and one text for the option "may be mine" in every language.
    """
    bare = (answer or "").strip()
    if not bare:
        return None
    return MAY_BE_MINE if bare in SKIP_OWN.values() else answer
