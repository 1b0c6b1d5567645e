"""Readings that fit a file, and `reading.yaml` with comments: what `merilo inspect` shows and writes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from merilo.file_reading import Numbered, OtherColumns, Reading
from merilo.people import platforms
from merilo.people.platforms import SeveralAnswersError, plain
from merilo.wording import listed

#: A column with at most this many different values may hold labels.
_MOST_LABELS: Final = 20

#: Placeholder for a column that the user must name.
COLUMN: Final = "COLUMN"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A reading that fits a file.

    Attributes:
        reading: the reading.
        says: what it takes the columns for.
        complete: whether it names all columns that it needs.
    """

    reading: Reading
    says: str
    complete: bool = True


def proposals(files: Sequence[Path], given: Reading) -> list[Proposal]:
    """Return the readings that fit the first file; one if only one does.

    Args:
        files: the files of one study.
        given: what the user says about the columns.

    Raises:
        InputError: the file cannot be read.
        UsageError: a column that the user names is missing.
    """
    platform = given.platform or platforms.recognise(files[0], given.encoding)
    own = given.named(platform=platform)
    if platform != "table":
        try:
            platforms.read(files[:1], own)
        except SeveralAnswersError as several:
            return [Proposal(own.named(answer=name), f"the answers are {name}") for name in several.names]
        return [Proposal(own, f"an export of {platforms.NAMES[platform]}")]
    data = plain.load(files[0], encoding=given.encoding).data
    if given.rows != "answer" or given.numbered:
        return [Proposal(own, "as it is declared")]
    own = plain.with_usual_answer(data, own)
    found = plain.columns_of(data, own, str(files[0]))
    if not found.unclear:
        others = {what: name for what, name in found.others.items() if name}
        answer = {} if own.columns.score else {"answer": found.answer}
        reading = own.named(item=found.item, annotator=found.annotator, **answer, **others)
        return [Proposal(reading, "a row is an answer")]
    return list(_of_table(data, own, found))


def _of_table(data: pl.DataFrame, given: Reading, found: plain.PlainColumns) -> Iterator[Proposal]:
    numbered = _numbered(data.columns)
    if numbered and "annotator" not in found.unclear:
        reading = given.named(annotator=found.annotator, numbered=numbered)
        yield Proposal(reading, "a row is a page with several questions")
        return
    taken = {*found.item, found.annotator, *found.others.values()}
    free = [name for name in data.columns if name not in taken]
    labels = _alike([name for name in free if _holds_labels(data[name])], data)
    if len(labels) > 1 and found.answer in {None, *labels}:
        rest = [name for name in data.columns if name not in labels]
        person = found.annotator
        each = [name for name in rest if data[name].n_unique() == data.height]
        if person is not None and data[person].n_unique() == data.height:
            yield Proposal(
                given.named(rows="person", annotator=person, answer=labels),
                f"a row is a person, and {listed(labels, 6)} are items",
            )
            return
        item = [name for name in (*found.item, *each, *rest) if name != person][:1]
        if item:
            yield Proposal(
                given.named(rows="item", item=item, annotator=labels),
                f"a row is an item, and {listed(labels, 6)} are annotators",
            )
        yield Proposal(
            given.named(rows="person", annotator=each[:1], answer=labels),
            f"a row is a person, and {listed(labels, 6)} are items",
        )
        return
    known = {"item": found.item, "annotator": (found.annotator,), "answer": (found.answer,)}
    chosen = {what: [name for name in names if name] or [COLUMN] for what, names in known.items()}
    unclear = [
        f"{what}: {listed(names) or 'no column is plainly the ' + what}"
        for what, names in found.unclear.items()
    ]
    yield Proposal(
        given.named(**{what: names if what == "item" else names[0] for what, names in chosen.items()}),
        f"a row is an answer; name the columns ({'; '.join(unclear)}; columns: {listed(data.columns, 40)})",
        complete=False,
    )


def _holds_labels(values: pl.Series) -> bool:
    """Return whether a column may hold labels: few different texts, which repeat."""
    different = values.drop_nulls().n_unique()
    return 1 <= different <= _MOST_LABELS and different < values.len()


def _alike(names: Sequence[str], data: pl.DataFrame) -> list[str]:
    """Return the largest group of columns that share labels with each other."""
    values = {name: {*data[name].drop_nulls()} for name in names}
    groups = (
        [other for other in names if len(values[one] & values[other]) * 2 >= len(values[other])]
        for one in names
    )
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
    if not items:
        return None
    return Numbered(item=tuple(f"{stem}{{n}}" for stem in items), answer=f"{answers[0]}{{n}}")


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
        if isinstance(value, OtherColumns):
            own = {what: getattr(value, what) for what in OtherColumns.model_fields}
            text = "{" + ", ".join(f"{what}: {_yaml(one)}" for what, one in own.items()) + "}"
        elif isinstance(value, Numbered):
            text = f"{{item: {_yaml(value.item)}, answer: {_yaml(value.answer)}}}"
        elif isinstance(value, tuple) and name in {"annotator", "answer"} and len(value) < 2:
            text = _yaml(value[0] if value else None)
        elif isinstance(value, dict):
            text = "{" + ", ".join(f"{_yaml(key)}: {_yaml(one)}".rstrip() for key, one in value.items()) + "}"
        else:
            text = _yaml(value)
        lines.append(f"{name}: {text}".rstrip() + f"    # {says}")
    return "\n".join(lines) + "\n"


def _yaml(value: object) -> str:
    """Write a text, number, list or nothing in one line of YAML."""
    if value is None:
        return ""
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_yaml, value))}]"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    plain_text = re.fullmatch(r"\w[\w ./-]*", text) and text == text.strip() and text not in {"null", "~"}
    return text if plain_text else json.dumps(text, ensure_ascii=False)


def reading_file(found: Sequence[Proposal]) -> str:
    """Return the content of `reading.yaml`; several readings, or one that lacks a column, are commented out."""
    if len(found) == 1 and found[0].complete:
        return f"# {found[0].says}\n{written(found[0].reading)}"
    parts = [
        "# Nothing is read yet: take the signs '# ' from the lines of one reading, and check its columns."
    ]
    for number, one in enumerate(found, start=1):
        block = written(one.reading).replace("\n", "\n# ").removesuffix("# ")
        parts.append(f"\n# Reading {number}: {one.says}\n# {block}".rstrip())
    return "\n".join(parts) + "\n"
