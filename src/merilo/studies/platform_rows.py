"""Read a platform's file as answers to a study's tasks, by the ids that travelled with the tasks.

The file of a page without a server is a JSON list, whose seals tell whether it was changed. Every answer has a seal
that is made of its fields, of the seal before it and of a key that only the page of its place has for its task. The
keys stand in the page, so a seal shows a file that was edited, shortened in the middle or put together, and a task of
another place; it cannot stop somebody who writes a program for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import polars as pl

from merilo.atomic_write import unguarded_csv
from merilo.errors import DataError, InputError
from merilo.file_reading import Reading
from merilo.files import FileTable, opened
from merilo.models.reply_answers import form_of
from merilo.models.reply_reader import read as read_in_words
from merilo.people.platforms import NAMES, Export, loading
from merilo.people.platforms.forms import TABLE_FORMS, SeveralAnswersError, questions_of
from merilo.people.reading import field_names, read_export
from merilo.people.spelling import FALSE, answer_keys, may_be_mine
from merilo.responses import SIGNALS, Unread
from merilo.settings import Platform
from merilo.strict_json import read_json
from merilo.studies.instruction import SKIP_OWN
from merilo.studies.study_folder import StudyFolder
from merilo.studies.study_tasks import ANSWER, MINE, PAGE_FIELDS, STUDY, TASK, StudyTask
from merilo.wording import counted_noun, listed, shortened, shown

#: How a table of answers writes the option "skip the question, because I may have written it", in any language.
MAY_BE_MINE: Final = SKIP_OWN["ru"]
#: Values of a column of marks that mean "not marked".
_NOT_MARKED: Final = ("", "0", "0.0", "-", *sorted(FALSE))

#: Formats that their reader finds incomplete by itself.
_WITH_AN_END: Final = frozenset({".json", ".jsonl", ".ndjson", ".parquet", ".pq"})


@dataclass(frozen=True, slots=True)
class FileReplies:
    """The rows of one file.

    Attributes:
        arm: the group of annotators whose tasks it answers.
        replies: the rows of test and control items, in the file's order: `task`, `respondent`, `answer` (null if
            the page was sent without one), `page`, `started`, `submitted`, `seconds` and `reward` of the page,
            `signals`; and `withdrawn`, whether the page was rejected or skipped, which takes back what an earlier
            file says of it.
        rows: rows of the file with a task.
        left_out: reason -> rows that are no answers: rejected, not submitted, training, unanswered, own items.
        warnings: what the author should know of the answers, a sentence each.
        copies: respondent -> the browser's copy of their page, if the file is of a page without a server.
    """

    arm: str
    replies: pl.DataFrame
    rows: int
    left_out: Mapping[str, int]
    warnings: tuple[str, ...]
    copies: Mapping[str, str]


def file_replies(
    folder: StudyFolder,
    tasks: Sequence[StudyTask],
    path: Path,
    platform: Platform,
    encoding: str | None = None,
) -> FileReplies:
    """Read the answers of a file.

    Args:
        folder: the study.
        tasks: its tasks.
        path: the platform's file.
        platform: the platform.
        encoding: the file's encoding, if it is not UTF-8 and not marked.

    Raises:
        InputError: the file is incomplete, is not an export of the platform, or holds no tasks of a study.
        DataError: a row is of another study, a task is not in the study, or the file of a page was changed.
    """
    _refuse_cut(path, platform)
    copies = page_copies(path, folder.key) if platform == "table" else {}
    rows, unread = _rows(path, platform, encoding)
    arm = _arm(rows, {folder.arm_id(arm): arm for arm in folder.plan.arms}, path)
    for task, row in rows.filter(~pl.col(TASK).is_in([task.id for task in tasks])).select(TASK, "row").rows():
        raise DataError(
            f"there is no task '{shortened(str(task))}' in this study: was the item changed after the export?",
            file=shown(path),
            row=row,
            field=TASK,
        )
    skip_own = folder.plan.arms[arm].skip_own
    tests = [task for task in tasks if task.kind == "test" and skip_own]
    own = [f"{task.id}\x1f{author}" for task in tests for author in task.authors]
    by_author = pl.concat_str(TASK, pl.col("respondent").str.strip_chars(), separator="\x1f").is_in(own)
    marked = pl.col("answer").str.strip_chars().is_in(list(SKIP_OWN.values()))
    training = pl.col(TASK).is_in([task.id for task in tasks if task.kind == "training"])
    # A platform pays for a page that was sent without an answer; a row of a sheet was not filled in.
    unfilled = (platform == "table") & _blank() & pl.col("page_reward").is_null()
    why = (
        pl.when(pl.col("dropped").is_not_null()).then("dropped")
        .when(training).then(pl.lit("training"))
        .when(unfilled).then(pl.lit("unanswered"))
        .when(by_author & ~marked.fill_null(value=False)).then(pl.lit("own_item"))
    )  # fmt: skip
    if SIGNALS not in rows.columns:
        rows = rows.with_columns(pl.lit(None, pl.String).alias(SIGNALS))
    rows = rows.with_columns(why.alias("why"), withdrawn=pl.col("dropped").is_not_null())
    rows, outside = _with_labels(rows, tasks, path)
    answers = rows.filter(pl.col("why").is_null())
    for row in answers.filter(pl.col("respondent").is_null())["row"].head(1):
        raise InputError(
            "the answer has no annotator: fill in the column 'respondent'", file=shown(path), row=row
        )
    left_out = dict(sorted(rows["why"].drop_nulls().value_counts().iter_rows()))
    replies = rows.filter(pl.col("why").is_null() | pl.col("withdrawn")).select(*_reply(), "withdrawn")
    replies = replies.sort("withdrawn", maintain_order=True)
    warnings = (
        *(values.sentence.in_language("en") for values in unread),
        *_unanswered(rows.filter(pl.col("why").is_null() | (pl.col("why") == "unanswered"), _blank()), path),
        *_contradicting(answers, [task.id for task in tasks if task.kind == "test"], path),
        *outside,
    )
    return FileReplies(arm, replies, rows.height, left_out, warnings, copies)


def _blank() -> pl.Expr:
    return pl.col("answer").fill_null("").str.strip_chars() == ""


def _unanswered(rows: pl.DataFrame, path: Path) -> Iterator[str]:
    """Count the rows without an answer, and name the first."""
    for row in rows["row"].head(1):
        count = counted_noun(rows.height, "row has no answer", "rows have no answer")
        yield f"{shown(path.name)}: {count} (the first is row {row})"


def _contradicting(answers: pl.DataFrame, tests: Sequence[str], path: Path) -> Iterator[str]:
    """Count the answers that another answer of the same person to the same task contradicts, and name the first."""
    versions, paged = pl.col("answer").n_unique(), pl.col("page").is_not_null()
    changed = answers.filter(paged & (versions.over("respondent", TASK, "page") > 1))
    replaced = changed.filter(pl.col("row") < pl.col("row").max().over("respondent", TASK, "page"))
    last = answers.filter(
        pl.col(TASK).is_in(tests),
        ~paged | (pl.col("row") == pl.col("row").max().over("respondent", TASK, "page")),
    )
    several = last.filter(versions.over("respondent", TASK) > 1)
    second = several.filter(pl.col("row") > pl.col("row").min().over("respondent", TASK))
    for rows, single, plural in (
        (replaced, "answer is followed by another one of the same person, task and page: the last counts",
         "answers are followed by others of the same person, task and page: the last count"),
        (second, "answer differs from an earlier one of the same person to the same item: see baseline.repeats",
         "answers differ from earlier ones of the same person to the same item: see baseline.repeats"),
    ):  # fmt: skip
        if rows.height:
            count = counted_noun(rows.height, single, plural)
            yield f"{shown(path.name)}: {count} (the first is in row {rows['row'].sort()[0]})"


def _with_labels(
    rows: pl.DataFrame, tasks: Sequence[StudyTask], path: Path
) -> tuple[pl.DataFrame, list[str]]:
    """Read answers that are no label of their item as replies of models are read, and say how many are one or none.

    Raises:
        DataError: half of the answers are no labels, so that the table has another form.
    """
    labelled = {task.id: task for task in tasks if task.form == "labels"}
    own = pl.col("answer").str.strip_chars().is_in(list(SKIP_OWN.values()))
    answers = rows.filter(pl.col("why").is_null() & pl.col(TASK).is_in([*labelled]) & ~_blank() & ~own)
    if answers.is_empty():
        return rows, []
    every = dict.fromkeys(label for task in labelled.values() for label in task.labels)
    keys = answer_keys(
        [("", text) for text in (*answers["answer"].unique(), *every)], tasks[0].declared, every
    )
    read: dict[str, str] = {}
    found: dict[bool, list[tuple[str, int]]] = {True: [], False: []}
    for name, text, row in answers.select(TASK, "answer", "row").iter_rows():
        task = labelled[name]
        if keys["", text] in {keys["", label] for label in task.labels} or may_be_mine(text):
            continue
        # The alphabet of a single letter follows from the other answers.
        words = len(text.strip()) > 1
        label = words and read_in_words(text, form_of(task.declared, task.item)).value
        found[bool(label)].append((text, row))
        if label:
            read[f"{name}\x1f{text}"] = label
    warnings = []
    for known, single, plural in (
        (True, "answer is read as the label that it names", "answers are read as the labels that they name"),
        (False, "answer is no label of its item: it counts as a vote and is always wrong",
         "answers are no labels of their items: they count as votes and are always wrong"),
    ):  # fmt: skip
        for text, row in found[known][:1]:
            first = f"(the first is '{shortened(text, 30)}': row {row}, field {ANSWER})"
            warnings.append(f"{shown(path.name)}: {counted_noun(len(found[known]), single, plural)} {first}")
    if 2 * len(found[False]) >= answers.height:
        raise DataError(
            f"{len(found[False])} of {answers.height} answers are no labels of their items, such as "
            f"'{shortened(found[False][0][0], 30)}': give the labels ({listed([*every])})",
            file=shown(path),
            row=found[False][0][1],
            field=ANSWER,
        )
    named = pl.concat_str(TASK, "answer", separator="\x1f")
    return rows.with_columns(answer=named.replace_strict(read, default=pl.col("answer"))), warnings


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


def _rows(path: Path, platform: Platform, encoding: str | None) -> tuple[pl.DataFrame, Sequence[Unread]]:
    """The rows of a file: `study`, `task`, and the columns of `Export.rows`; and the values that could not be read."""
    if platform == "mturk":
        exports = _pages_laid_open(loading.load(path, encoding=encoding))
        rows = pl.concat([_labelled(page, path) for page in exports])
        # Pages of a shorter batch in the same file have empty places.
        return rows.filter(pl.col(TASK).is_not_null() | pl.col("answer").is_not_null()), exports[0].unread
    asked = Reading(answer=() if platform == "abc" else (ANSWER,)).named(encoding=encoding)
    fields: Sequence[str] = ()
    if platform == "table":
        fields = field_names(path, encoding)
        _require_fields(fields, path)
        there: Any = {name: name for name in PAGE_FIELDS if name in fields}
        asked = asked.named(item=(STUDY, TASK), annotator="respondent", **there)
    try:
        export = read_export(path, platform, asked)
    except SeveralAnswersError as error:
        # ABC Elementary: an only output field has the name that the requester gave it.
        fields, asked = error.names, asked.named(answer=ANSWER)
        export = read_export(path, platform, asked)
    rows = _labelled(export, path)
    if platform == "table":
        rows = rows.with_columns(unguarded_csv(rows.select("answer")))
    elif platform != "abc":
        fields = (*export.answer_fields, *export.inputs.columns)
    if not any(name.rpartition(":")[2] == MINE for name in fields):
        return rows, export.unread
    marks = _labelled(read_export(path, platform, asked.named(answer=MINE)), path)
    # Answers, with the guide's option in place of the answers that are marked "may be mine".
    marked = marks.filter(pl.col("answer").is_not_null() & _is_marked("answer"))
    marked = marked.with_columns(pl.lit(MAY_BE_MINE).alias("answer"))
    key = ["row", "page", TASK]
    rest = rows.join(marked, on=key, how="anti", nulls_equal=True, maintain_order="left")
    rows = pl.concat([rest, marked.select(rows.columns)]).sort("row", maintain_order=True)
    return rows, export.unread


def _is_marked(column: str) -> pl.Expr:
    """Whether a column of marks "may be mine" is set in a row."""
    return ~pl.col(column).fill_null("").str.strip_chars().str.to_lowercase().is_in(_NOT_MARKED)


def _labelled(export: Export, path: Path) -> pl.DataFrame:
    """The rows of an export with the ids of the study and the task.

    Rows without any input, a fault of platforms, go.
    """
    _require_fields(export.inputs.columns, path)
    ids = export.inputs.select(pl.col(STUDY, TASK).str.strip_chars().replace("", None))
    empty = pl.all_horizontal(pl.col(name).is_null() for name in export.inputs.columns)
    rows = pl.concat([ids, export.rows.with_columns(pl.col("row").cast(pl.Int64))], how="horizontal")
    return rows.filter(~export.inputs.select(empty.alias("empty"))["empty"])


def _require_fields(names: Sequence[str], path: Path) -> None:
    missing = [name for name in (STUDY, TASK) if name not in names]
    if missing:
        raise InputError(
            f"holds no tasks of a study: the field '{missing[0]}' of the files of 'merilo study export' is missing "
            f"(there are: {listed([*names])})",
            file=shown(path),
        )


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
        if (mine := f"Answer.{MINE}_{place}") in data.columns:
            answer = pl.when(_is_marked("mark")).then(pl.lit(MAY_BE_MINE)).otherwise(f"Answer.{ANSWER}")
            own = own.with_columns(data[mine].alias("mark"))
            own = own.with_columns(answer.alias(f"Answer.{ANSWER}")).drop("mark")
        exports.append(TABLE_FORMS["mturk"].read(replace(table, data=own), Reading(answer=(ANSWER,))))
    return exports


def _arm(rows: pl.DataFrame, arms: Mapping[str, str], path: Path) -> str:
    """The group of annotators that a file's rows belong to; every row must be of the same one."""
    studies = rows.select(STUDY, "row").unique(STUDY, keep="first", maintain_order=True).rows()
    if not studies:
        raise DataError("has no answers", file=shown(path))
    for study, row in studies:
        if study not in arms:
            what = "has no id of a study" if study is None else f"belongs to {shortened(study)}"
            raise DataError(
                f"{what}, not to this study ({listed(list(arms))}), or the study's items were changed after the export",
                file=shown(path),
                row=row,
                field=STUDY,
            )
    if len(studies) > 1:
        (first, _), (second, row) = studies[:2]
        raise DataError(
            f"answers a task of the arm '{arms[second]}', and the rows before it tasks of '{arms[first]}'",
            file=shown(path),
            row=row,
        )
    return arms[studies[0][0]]


def as_given(answer: str | None) -> str | None:
    """Return an answer as it was given.

    `None` for blanks, and one text for the option "may be mine" in every language.
    """
    bare = (answer or "").strip()
    if not bare:
        return None
    return MAY_BE_MINE if bare in SKIP_OWN.values() else answer


#: The fields of an answer that its seal is made of, in their order; all are texts.
SEALED: Final = ("study", "task", "answer", "mine", "respondent", "page", "started", "submitted")
SEAL: Final = "seal"

_OFFSET, _PRIME, _RANGE = 0xCBF29CE484222325, 0x100000001B3, 2**64


def page_key(secret: bytes, respondent: str, task: str) -> str:
    """Return the key of a task on the page of a respondent.

    Args:
        secret: the key of the study's ids.
        respondent: the place, or the expert whom the page is for.
        task: the task's id.
    """
    words = f"{respondent}\x1f{task}".encode()
    return blake2b(words, key=secret, digest_size=12, person=b"merilo page").hexdigest()


def seal(key: str, fields: Sequence[str], before: str) -> str:
    """Return the seal of an answer, as the page computes it: FNV-1a with 64 bits.

    Args:
        key: the key of its task.
        fields: the values of `SEALED`.
        before: the seal of the answer before it; empty for the first one.

    Example:
        >>> seal("", [], "")
        'af63d24c8601db8e'
    """
    value = _OFFSET
    for byte in "\x1f".join((key, *fields, before)).encode("utf-8", "surrogatepass"):
        value = (value ^ byte) * _PRIME % _RANGE
    return f"{value:016x}"


def page_copies(path: Path, secret: bytes) -> dict[str, str]:
    """Check the seals of a file of a page; a file of anything else is not looked at.

    Returns:
        Respondent -> the browser's copy of the page. Empty if the file is not of a page.

    Raises:
        InputError: the file is no JSON.
        DataError: an answer was changed, taken out or moved, or is of a task that the page does not have.
    """
    if path.suffix.lower() != ".json":
        return {}
    answers: Any = read_json(path)
    if not (isinstance(answers, list) and all(isinstance(answer, dict) for answer in answers)):
        return {}
    if not any(SEAL in answer for answer in answers):
        return {}
    copies: dict[str, str] = {}
    before = ""
    for row, answer in enumerate(answers, start=1):
        fields = [answer[name] for name in SEALED if isinstance(answer.get(name), str)]
        if len(fields) < len(SEALED):
            raise DataError("is no answer of a page", file=shown(path), row=row)
        expected = seal(page_key(secret, answer["respondent"], answer["task"]), fields, before)
        if answer.get(SEAL) != expected:
            raise DataError(
                f"the answer to task {shortened(answer['task'])}, or the one before it, was changed after the page "
                "wrote it, or is of another page: ask for the file again",
                file=shown(path),
                row=row,
                field=SEAL,
            )
        before = expected
        copies[answer["respondent"]] = answer["page"].rpartition("-")[0]
    return copies
