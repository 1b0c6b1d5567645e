"""What is in a file, the readings that fit it, and `reading.yaml` with comments, as `merilo inspect` shows them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from merilo.file_reading import Numbered, OtherColumns, Reading
from merilo.people.platforms import NAMES, plain
from merilo.people.platforms.forms import SeveralAnswersError, named_columns
from merilo.people.reading import load, read_responses, recognise
from merilo.people.typing_errors import NearSpelling, near_spellings
from merilo.people.votes import MOST_CLOSED_LABELS
from merilo.records import Record
from merilo.responses import Responses
from merilo.wording import listed

#: How many distinct answers are listed.
MOST_ANSWERS: Final = 12

#: Placeholder for a column that the user must name.
COLUMN: Final = "COLUMN"


class _Answers(Record):
    """How many different answers were given, to control items too, and how often the most frequent were."""

    distinct: int
    top: dict[str, int]


class Inspection(Record):
    """The contents of the exports of one study, before any exclusion.

    Attributes:
        rows: the number of rows in the files.
        dropped: reason -> the number of rows that are not responses.
        annotators: the number of annotators.
        items: the number of items, without control items.
        overlap: number of annotators -> number of items answered by that many annotators, largest first.
        answers: the answers.
        controls: how many control `items` there are, with how many `rows`, of which with a `known` answer, by how many
            `annotators`.
        repeats: pairs of annotator and item, without control items, with several `equal` or `different` answers.
        timed: how many responses have a duration.
        paid: how many responses have a reward.
        near_spellings: answers that look like misspellings.
    """

    rows: int
    dropped: dict[str, int]
    annotators: int
    items: int
    overlap: dict[int, int]
    answers: _Answers
    controls: dict[str, int]
    repeats: dict[str, int]
    timed: int
    paid: int
    near_spellings: tuple[NearSpelling, ...]


def inspect(responses: Responses, labels: Sequence[str] = ()) -> Inspection:
    """Summarise the exports of one study.

    Args:
        responses: the responses as read, including repeats and before any exclusion.
        labels: the dataset's labels, if they are known.
    """
    table = responses.table
    tests, controls = table.filter(~pl.col("is_control")), table.filter("is_control")
    known = controls.filter(pl.col("control").is_not_null())
    counts = table["answer"].value_counts().sort(["count", "answer"], descending=[True, False])
    pairs = tests.group_by("item", "respondent").agg(pl.len().alias("rows"), pl.col("answer").n_unique())
    repeated = pairs.filter(pl.col("rows") > 1)["answer"]
    people = pairs.group_by("item").agg(pl.len().alias("people"))["people"].value_counts()
    return Inspection(
        rows=responses.rows_read,
        dropped=dict(responses.dropped),
        annotators=table["respondent"].n_unique(),
        items=tests["item"].n_unique(),
        overlap=dict(sorted(people.iter_rows(), reverse=True)),
        answers=_Answers(distinct=counts.height, top=dict(counts.head(MOST_ANSWERS).iter_rows())),
        controls={
            "items": controls["item"].n_unique(),
            "rows": controls.height,
            "known": known.height,
            "annotators": known["respondent"].n_unique(),
        },
        repeats={"equal": int((repeated == 1).sum()), "different": int((repeated > 1).sum())},
        timed=table["page_seconds"].count(),
        paid=table["page_reward"].count(),
        near_spellings=near_spellings(dict(counts.iter_rows()), labels),
    )


@dataclass(frozen=True, slots=True)
class Proposal:
    """A reading that fits a file.

    Attributes:
        reading: the reading.
        says: what it takes the columns for.
        complete: whether it names all columns that it needs.
        guessed: whether a file must declare it, because only its one fitting shows it.
    """

    reading: Reading
    says: str
    complete: bool = True
    guessed: bool = False


def proposals(files: Sequence[Path], declared: Reading) -> list[Proposal]:
    """Return the readings that fit the first file; one if only one does.

    Args:
        files: the files of one study.
        declared: what the user says about the columns.

    Raises:
        InputError: the file cannot be read.
        UsageError: a column that the user names is missing.
    """
    platform = declared.platform or recognise(files[0], declared.encoding)
    own = declared.named(platform=platform)
    if platform != "table":
        try:
            read_responses(files[:1], reading=own)
        except SeveralAnswersError as several:
            return [Proposal(own.named(answer=name), f"the answers are {name}") for name in several.names]
        return [Proposal(own, f"an export of {NAMES[platform]}")]
    if declared.rows != "answer" or declared.numbered:
        return [Proposal(own, "as it is declared")]
    data = load(files[0], platform, declared).data
    own = plain.with_usual_answer(data, own)
    reading, unclear = plain.columns_of(data, own, str(files[0]))
    return (
        list(_of_table(data, own, reading, unclear)) if unclear else [Proposal(reading, "a row is an answer")]
    )


def columns_not_read(file: Path, reading: Reading) -> tuple[str, ...]:
    """Return the columns of a table from which nothing is taken; what platforms add to their exports is not listed."""
    if reading.platform != "table":
        return ()
    data = load(file, "table", reading).data
    return tuple(plain.not_read(data, reading, str(file)))


def _of_table(
    data: pl.DataFrame, declared: Reading, filled: Reading, unclear: Mapping[str, Sequence[str]]
) -> Iterator[Proposal]:
    """Yield the readings of a table in which columns may be questions of a page, annotators or items."""
    numbered = _numbered(data.columns)
    person, answer = (next(iter(names), None) for names in (filled.annotator, filled.answer))
    if numbered and "annotator" not in unclear:
        yield Proposal(
            declared.named(annotator=person, numbered=numbered),
            "a row is a page with several questions",
            guessed=True,
        )
        return
    taken = {*filled.item, person, *named_columns(filled)}
    labels = _alike([name for name in data.columns if name not in taken and _holds_labels(data[name])], data)
    if len(labels) > 1 and answer in {None, *labels}:
        names = listed(labels, 6)
        rest = [name for name in data.columns if name not in labels]
        each = [name for name in rest if data[name].n_unique() == data.height]
        a_row_a_person = person is not None and data[person].n_unique() == data.height
        item = [name for name in (*filled.item, *each, *rest) if name != person][:1]
        if item and not a_row_a_person:
            reading = declared.named(rows="item", item=item, annotator=labels)
            yield Proposal(reading, f"a row is an item, and {names} are annotators", guessed=True)
        reading = declared.named(
            rows="person", annotator=person if a_row_a_person else each[:1], answer=labels
        )
        yield Proposal(reading, f"a row is a person, and {names} are items", guessed=True)
        return
    why = [
        f"{what}: {listed(there) or 'no column is plainly the ' + what}" for what, there in unclear.items()
    ]
    yield Proposal(
        declared.named(item=filled.item or COLUMN, annotator=person or COLUMN, answer=answer or COLUMN),
        f"a row is an answer; name the columns ({'; '.join(why)}; columns: {listed(data.columns, 40)})",
        complete=False,
    )


def _holds_labels(values: pl.Series) -> bool:
    """Return whether a column may hold labels: few different texts, which repeat."""
    different = values.drop_nulls().n_unique()
    return 1 <= different <= MOST_CLOSED_LABELS and different < values.len()


def _alike(names: Sequence[str], data: pl.DataFrame) -> list[str]:
    """Return the largest group of columns that share labels with each other."""
    values = {name: {*data[name].drop_nulls()} for name in names}
    groups = ([b for b in names if len(values[a] & values[b]) * 2 >= len(values[b])] for a in names)
    return max(groups, key=len, default=[])


def _numbered(names: Sequence[str]) -> Numbered | None:
    """Return the patterns of numbered questions and answers, as in batches with several questions a page."""
    stems: dict[str, set[str]] = {}
    for name in names:
        if match := re.fullmatch(r"(.*\D)(\d+)", name):
            stems.setdefault(match[1], set()).add(match[2])
    answers = [stem for stem in stems if re.search(r"answer|label|ответ", stem, re.IGNORECASE)]
    if len(answers) != 1 or len(stems[answers[0]]) < 2:
        return None
    items = [stem for stem in stems if stem not in answers and stems[stem] >= stems[answers[0]]]
    patterns = tuple(f"{stem}{{n}}" for stem in items)
    return Numbered(item=patterns, answer=f"{answers[0]}{{n}}") if items else None


#: Name -> what it means, for the comments of `reading.yaml`.
_SAYS: Final = {
    "platform": "toloka, abc, label-studio, mturk, table",
    "rows": "answer: a row an answer; item: an item, with a column per annotator; person: a person, with one per item",
    "item": "what identifies an item; empty: all input fields of the platform",
    "annotator": "a column; with rows: item, the annotators' columns",
    "answer": "a column; with rows: person, the items' columns",
    "numbered": 'several questions a row, as {item: "Input.text{n}", answer: "Answer.label{n}"}',
    "columns": "what other columns hold; times, seconds and rewards are those of a page",
    "skip": 'answers that mean "may be mine", besides the guide\'s wording: never a vote',
    "time_limit": "seconds on a page, after which answers are late",
    "late": "drop or wrong",
    "missing": "texts that are no answers, unless gold has them: counted and named",
    "order": "labels from low to high; then the level is ordinal",
    "set_separator": "answers are sets of labels, separated by it; JSON lists are sets anyway",
    "recode": "answer: its replacement; empty leaves the answer out",
    "without_annotator": "refuse or drop",
    "encoding": "of files that are not UTF-8",
}


def written(reading: Reading) -> str:
    """Return `reading.yaml`: every name with its value and a comment."""
    lines = []
    for name, says in _SAYS.items():
        value = getattr(reading, name)
        single = name in {"annotator", "answer"} and len(value) < 2
        text = _yaml(next(iter(value), None) if single else value)
        lines.append(f"{name}: {text}".rstrip() + f"    # {says}")
    return "\n".join(lines) + "\n"


def _yaml(value: object) -> str:
    """Write a text, number, list, mapping or nothing in one line of YAML."""
    if value is None:
        return ""
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_yaml, value))}]"
    if isinstance(value, OtherColumns | Numbered):
        value = {name: getattr(value, name) for name in type(value).model_fields}
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_yaml(key)}: {_yaml(element)}" for key, element in value.items()) + "}"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    plain_text = re.fullmatch(r"\w[\w ./-]*", text) and text == text.strip() and text not in {"null", "~"}
    return text if plain_text else json.dumps(text, ensure_ascii=False)


def reading_file(fitting: Sequence[Proposal]) -> str:
    """Return the content of `reading.yaml`; several readings, or one that lacks a column, are commented out."""
    if len(fitting) == 1 and fitting[0].complete:
        return f"# {fitting[0].says}\n{written(fitting[0].reading)}"
    parts = [
        "# Nothing is read yet: take the signs '# ' from the lines of one reading, and check its columns."
    ]
    for number, proposal in enumerate(fitting, start=1):
        block = written(proposal.reading).replace("\n", "\n# ").removesuffix("# ")
        parts.append(f"\n# Reading {number}: {proposal.says}\n# {block}".rstrip())
    return "\n".join(parts) + "\n"
