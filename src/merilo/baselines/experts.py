"""An expert study from files: domains, marks, and the comparison of experts with people without training."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from merilo.baselines.expert_comparison import compare
from merilo.baselines.pipeline import Baseline
from merilo.datasets import Dataset
from merilo.errors import UsageError, argument
from merilo.files import listed, shortened
from merilo.people import platforms
from merilo.people.experts.marks import spelling
from merilo.people.experts.out_of_bag import OutOfBagDesign
from merilo.people.gold import Gold, read_gold, records
from merilo.people.platforms import Columns, Platform
from merilo.responses import INPUT_MARK, Responses
from merilo.statistics.comparison import Difference

#: With more different right answers than these they are no labels.
_MOST_LABELS: Final = 20

#: What stands in a column of marks where the mark was not set.
_UNSET: Final = frozenset({"", "0", "0.0", "false", "no", "нет", "-"})


@dataclass(frozen=True, slots=True)
class Marks:
    """Marks "may be mine" from a column of their own.

    Attributes:
        of: (annotator, item's number) of every mark.
        only_marked: texts of the items that everybody marked, so that no answer names them.
    """

    of: frozenset[tuple[str, int]] = frozenset()
    only_marked: tuple[str, ...] = ()


def read_marks(
    files: Sequence[Path],
    column: str,
    responses: Responses,
    platform: Platform | None,
    columns: Columns,
    *,
    encoding: str | None = None,
) -> Marks:
    """Read the marks that stand in a column beside the answers.

    Args:
        files: the experts' exports.
        column: the column of the marks; whatever is set in it and is no "no" is a mark.
        responses: the same files, read for their answers.
        platform: where the files come from.
        columns: the columns that the answers were read by.
        encoding: the files' encoding, where it is neither UTF-8 nor marked.

    Returns:
        The marks.

    Raises:
        UsageError: every answer is marked: the column says something else.
    """
    asked = Columns(
        answer=column,
        item=columns.item,
        annotator=columns.annotator,
        control=columns.control,
        page=columns.page,
    )
    marked = platforms.read(files, platform=platform, columns=asked, encoding=encoding)
    table = marked.table.filter(~pl.col("answer").str.to_lowercase().is_in(list(_UNSET)))
    fields = responses.fields
    known = marked.items.join(
        responses.items.rename({"item": "number"}), on=fields, how="left", nulls_equal=True
    )
    number = dict(known.select("item", "number").iter_rows())
    texts = {
        row["item"]: " ".join(str(row[name]) for name in fields if row[name]) for row in known.to_dicts()
    }
    pairs = list(table.select("respondent", "item").iter_rows())
    marks = frozenset((who, number[item]) for who, item in pairs if number[item] is not None)
    answers = set(responses.table.select("respondent", "item").iter_rows())
    if len(answers) > 1 and answers <= marks:
        values = listed(table["answer"].unique().sort().to_list(), 3)
        raise UsageError(
            f"'{column}' is set beside every answer ({values}); a column of marks is empty, 0 or 'no' where there is none",
            field=argument("mine_column"),
        )
    return Marks(
        marks,
        tuple(sorted({texts[item] for _, item in pairs if number[item] is None})),
    )


def domains_of(
    responses: Responses, name: str, gold_file: Path | None, encoding: str | None = None
) -> dict[int, str]:
    """Each item's domain: an input field of the study, or a column of the file of right answers.

    Args:
        responses: the study.
        name: the field or column; a benchmark's own split file has its `meta` too.
        gold_file: the file of right answers.
        encoding: its encoding.

    Returns:
        Item's number -> domain.

    Raises:
        UsageError: neither has it.
    """
    for field in (name, f"{INPUT_MARK}{name}"):
        if field in responses.fields:
            found = responses.items.filter(pl.col(field).is_not_null()).select("item", field)
            return {int(item): str(domain) for item, domain in found.iter_rows()}
    columns = records(gold_file, encoding).columns[1:] if gold_file else []
    column = next((one for one in (name, f"meta.{name}") if one in columns), None)
    if gold_file is None or column is None:
        there = [*responses.fields, *columns]
        raise UsageError(f"there is no field '{name}' of the domain (there are: {listed(there)})")
    gold = read_gold(gold_file, responses.items, column=column, encoding=encoding)
    return {int(item): str(domain) for item, domain in gold.answers.select("item", "gold").iter_rows()}


def outside_labels(
    responses: Responses, design: OutOfBagDesign, marks: Marks, gold: Gold | None, declared: Dataset | None
) -> dict[str, int]:
    """Answers that count as votes and are no label, with their counts, the most given first.

    The labels are the dataset's; without a dataset, the right answers are, where they are few and occur often enough to be
    labels. Open answers have no labels, so that nothing is outside.
    """
    right = gold.answers["gold"].unique().to_list() if gold else []
    closed = len(right) <= _MOST_LABELS and gold is not None and 4 * len(right) <= gold.answers.height
    labels = declared.answer.labels if declared else tuple(right) if closed else ()
    return {
        text: n
        for text, n in _counts(responses, marks.of).items()
        if labels and text not in labels and not design.marks(text)
    }


def require_marks(
    responses: Responses, design: OutOfBagDesign, marks: Marks, outside: Mapping[str, int]
) -> None:
    """Refuse an out-of-bag study in which nobody marked a question as "may be mine".

    Args:
        responses: the experts' study.
        design: the answers that are the mark.
        marks: marks from a column of their own.
        outside: answers outside the labels: one of them may be the mark.

    Raises:
        UsageError: there is no mark, or nobody gave an answer that `design.mine` names.
    """
    given = _counts(responses)
    spellings = set(map(spelling, given))
    for text in design.mine:
        if spelling(text) not in spellings:
            raise UsageError(f"nobody answered '{text}' (answers: {told(given)})", field=argument("mine"))
    if marks.of or marks.only_marked or any(map(design.marks, given)):
        return
    answers = f"answers outside the labels: {told(outside)}" if outside else f"answers: {told(given)}"
    raise UsageError(
        "no answer means 'may be mine', so the authors' own answers would count as votes: name the option with "
        f"{argument('mine', 'TEXT')} "
        f"or the column of marks with {argument('mine_column')} ({answers}); experts who had not seen the questions take {argument('protocol', 'basic', given='basic')}"
    )


def told(counts: Mapping[str, int]) -> str:
    """Answers and how often each was given, for a message: "'A' (40), 'skip' (3)"."""
    return listed([f"'{shortened(text)}' ({n})" for text, n in counts.items()], 6)


def _counts(responses: Responses, marks: Collection[tuple[str, int]] = ()) -> dict[str, int]:
    """Answers to test items with their counts, the most given first; answers beside a mark are left out."""
    tests = responses.table.filter(~pl.col("is_control"))
    schema = {"respondent": pl.String, "item": pl.UInt32}
    marked = pl.DataFrame(list(marks), schema=schema, orient="row")
    tests = tests.join(marked, on=["respondent", "item"], how="anti")
    counted = tests["answer"].drop_nulls().value_counts()
    rows = counted.sort(["count", "answer"], descending=[True, False]).iter_rows()
    return {str(text): int(n) for text, n in rows}


def beside_people(
    experts: Mapping[int, float],
    responses: Responses,
    gold: Gold | None,
    people: Baseline,
    points: Mapping[int, float],
) -> Difference:
    """Compare experts with people without training on the items that both decided.

    Items are matched by the dataset's id where the file of right answers gives it, else by their input texts.

    Args:
        experts: item's number in the experts' study -> the points of their answer.
        responses: the experts' study.
        gold: its right answers.
        people: the baseline of people without training.
        points: item's number in that study -> the points of their answer.

    Returns:
        The difference: experts less people.

    Raises:
        UsageError: the two studies share no item.
    """
    ours = _keys(responses, gold, experts.keys())
    theirs = _keys(people.responses, people.gold, points.keys())
    result = compare(
        {theirs[item]: value for item, value in points.items()},
        {ours[item]: value for item, value in experts.items()},
    )
    if result is None:
        raise UsageError(
            "the experts and the people decided no item in common: are these studies of one dataset?"
        )
    return result


def _keys(responses: Responses, gold: Gold | None, items: Collection[int]) -> dict[int, str]:
    ids = dict(gold.answers.select("item", "id").iter_rows()) if gold else {}
    fields = sorted(responses.fields)
    texts = {
        row["item"]: "\x1f".join(str(row[name] or "") for name in fields)
        for row in responses.items.to_dicts()
    }
    return {item: str(ids[item]) if ids.get(item) is not None else texts[item] for item in items}
