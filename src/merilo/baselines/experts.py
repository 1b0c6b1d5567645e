"""An expert study from files: domains, marks, and the experts' figure beside that of people without training."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from merilo.baselines.expert_comparison import compare
from merilo.baselines.pipeline import Baseline
from merilo.errors import UsageError
from merilo.files import listed
from merilo.people import platforms
from merilo.people.experts.out_of_bag import OutOfBag
from merilo.people.gold import Gold, read_gold, records
from merilo.people.platforms import Columns, Platform
from merilo.responses import INPUT_MARK, Responses
from merilo.statistics.comparison import Difference

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
            field="--mine-column",
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


def gold_by_item(gold: Gold | None) -> dict[int, str]:
    """Item's number -> right answer."""
    return dict(gold.answers.select("item", "gold").iter_rows()) if gold else {}


def beside_people(
    experts: Mapping[int, bool], responses: Responses, gold: Gold | None, people: Baseline
) -> Difference:
    """Set experts beside people without training, on the items that both decided.

    Items are matched by the dataset's id where the file of right answers gives it, else by their input texts.

    Args:
        experts: item's number in the experts' study -> whether their answer is right.
        responses: the experts' study.
        gold: its right answers.
        people: the baseline of people without training.

    Returns:
        The difference: experts less people.

    Raises:
        UsageError: the two studies share no item.
    """
    ours = _keys(responses, gold, experts.keys())
    right = people.consensus.filter(pl.col("correct").is_not_null()).select("item", "correct")
    decided = {int(item): bool(correct) for item, correct in right.iter_rows()}
    theirs = _keys(people.responses, people.gold, decided.keys())
    result = compare(
        {theirs[item]: correct for item, correct in decided.items()},
        {ours[item]: correct for item, correct in experts.items()},
    )
    if result is None:
        raise UsageError(
            "the experts and the people decided no item in common: are these studies of one dataset?"
        )
    return result


def decided_right(result: OutOfBag) -> dict[int, bool]:
    """Item's number -> whether the experts' answer is right, for items with an answer and gold."""
    return {one.item: one.correct for one in result.items if one.correct is not None}


def _keys(responses: Responses, gold: Gold | None, items: Collection[int]) -> dict[int, str]:
    ids = dict(gold.answers.select("item", "id").iter_rows()) if gold else {}
    fields = sorted(responses.fields)
    texts = {
        row["item"]: "\x1f".join(str(row[name] or "") for name in fields)
        for row in responses.items.to_dicts()
    }
    return {item: str(ids[item]) if ids.get(item) is not None else texts[item] for item in items}
