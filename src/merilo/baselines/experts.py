"""Expert studies read from files: domains, marks, and the comparison of experts with non-experts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from merilo.baselines.evidence import Evidence
from merilo.baselines.expert_scores import GroupRule
from merilo.datasets import Dataset
from merilo.errors import UsageError, argument
from merilo.people.gold import Gold, read_gold
from merilo.people.gold_file import records
from merilo.people.out_of_bag import OutOfBagDesign
from merilo.people.spelling import FALSE, NOT_SHOWN, spelling
from merilo.people.uncertainty.two_way import group_difference
from merilo.people.votes import MOST_CLOSED_LABELS
from merilo.responses import INPUT_MARK, Responses
from merilo.statistics.paired_tests import SAME, Difference, PairedTest
from merilo.wording import choices, listed, shortened

#: Values in a column of marks that mean "not marked".
NOT_MARKED: Final = frozenset({"", "0", "0.0", "-"}) | FALSE


@dataclass(frozen=True, slots=True)
class Marks:
    """Marks "may be mine" that the export holds in a separate column.

    Attributes:
        of: the pair (annotator, item number) of every mark.
        only_marked: texts of the items that have no answer because every annotator marked them.
    """

    of: frozenset[tuple[str, int]] = frozenset()
    only_marked: tuple[str, ...] = ()


def marks_of(marked: Responses, column: str, responses: Responses) -> Marks:
    """Return the marks from a column separate from the answers.

    Args:
        marked: the experts' study, read with the column of the marks as the answers; every value counts as a
            mark unless it is empty or means "no".
        column: the name of the column.
        responses: the same study, read with its answers.

    Returns:
        The marks.

    Raises:
        UsageError: every answer is marked, so the column cannot be the column of marks.
    """
    table = marked.table.filter(~pl.col("answer").str.to_lowercase().is_in(list(NOT_MARKED)))
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
            f"column '{column}' marks every answer ({values}); an answer without a mark needs an empty cell, 0 or 'no'",
            field=argument("mine_column"),
        )
    return Marks(
        marks,
        tuple(sorted({texts[item] for _, item in pairs if number[item] is None})),
    )


def domains_of(
    responses: Responses, name: str, gold_file: Path | None, encoding: str | None = None
) -> dict[int, str]:
    """Return each item's domain from an input field of the study or a column of the file of gold answers.

    Args:
        responses: the study.
        name: the field or column; in a benchmark's split file, also a field of `meta`.
        gold_file: the file of gold answers.
        encoding: its encoding.

    Returns:
        Mapping from item number to domain.

    Raises:
        UsageError: neither the study nor the file has the field.
    """
    for field in (name, f"{INPUT_MARK}{name}"):
        if field in responses.fields:
            found = responses.items.filter(pl.col(field).is_not_null()).select("item", field)
            return {int(item): str(domain) for item, domain in found.iter_rows()}
    columns = records(gold_file, encoding).columns[1:] if gold_file else []
    column = next((one for one in (name, f"meta.{name}") if one in columns), None)
    if gold_file is None or column is None:
        there = [*responses.fields, *columns]
        raise UsageError(f"there is no field '{name}' for the domain ({choices(name, there)})")
    gold = read_gold(gold_file, responses.items, column=column, encoding=encoding)
    return {int(item): str(domain) for item, domain in gold.answers.select("item", "gold").iter_rows()}


def with_own_items(
    responses: Responses, authors: Mapping[int, Collection[str]], domains: Mapping[int, str] | None = None
) -> Responses:
    """Add a mark to the answers for every item that was not shown to the expert who wrote it.

    An author is known by their id. A platform's id tells no name; but an expert who answered all items of
    their domains except exactly those of one author is that author, whose sheet has no others left out.

    Args:
        responses: the experts' answers.
        authors: mapping from item number to its authors; empty if authorship is not known.
        domains: mapping from item number to domain; by default, all items have one domain.
    """
    wrote: dict[str, set[int]] = {}
    for item, names in authors.items():
        for name in names:
            wrote.setdefault(name, set()).add(item)
    tests = responses.table.filter(~pl.col("is_control"))
    added = []
    for rows in tests.partition_by("respondent", maintain_order=True):
        answered = set(rows["item"].to_list())
        scope = {(domains or {}).get(item) for item in answered}
        left = {item for item in authors if (domains or {}).get(item) in scope} - answered
        name = str(rows["respondent"][0])
        exact = {frozenset(own & left) for own in wrote.values() if own & left == left and not own & answered}
        hidden = wrote[name] & left if name in wrote else left if exact and left else set()
        row = rows.head(1).select("respondent", "is_control", "file", "row")
        added += [row.with_columns(pl.lit(item, pl.UInt32).alias("item")) for item in sorted(hidden)]
    if not added:
        return responses
    marks = pl.concat(added).with_columns(pl.lit(NOT_SHOWN).alias("answer"))
    table = pl.concat([responses.table, marks], how="diagonal").select(responses.table.columns)
    return replace(responses, table=table)


def outside_labels(
    responses: Responses, design: OutOfBagDesign, marks: Marks, gold: Gold | None, declared: Dataset | None
) -> dict[str, int]:
    """Count the answers that count as votes but are not labels, most frequent first.

    The labels are those of the dataset. Without a dataset they are the gold answers, if these are few and occur often
    enough to be labels. Open answers have no labels, so the result is empty.
    """
    right = gold.answers["gold"].unique().to_list() if gold else []
    closed = len(right) <= MOST_CLOSED_LABELS and gold is not None and 4 * len(right) <= gold.answers.height
    labels = declared.answer.labels if declared else tuple(right) if closed else ()
    return {
        text: n
        for text, n in _counts(responses, marks.of).items()
        if labels and text not in labels and not design.marks(text)
    }


def require_marks(
    responses: Responses, design: OutOfBagDesign, marks: Marks, outside: Mapping[str, int]
) -> None:
    """Raise an error for an out-of-bag study in which no question is marked as "may be mine".

    Args:
        responses: the experts' study.
        design: the design of the study; `design.mine` names the answers that are marks.
        marks: marks from a separate column.
        outside: answers outside the labels; one of them may be the mark, so the message lists them.

    Raises:
        UsageError: there is no mark, or no annotator gave an answer that `design.mine` names.
    """
    given = _counts(responses)
    spellings = set(map(spelling, given))
    for text in design.mine:
        if spelling(text) not in spellings:
            raise UsageError(
                f"no expert gave the answer '{text}' (answers: {told(given)})", field=argument("mine")
            )
    if marks.of or marks.only_marked or any(map(design.marks, given)):
        return
    answers = f"answers outside the labels: {told(outside)}" if outside else f"answers: {told(given)}"
    raise UsageError(
        "no answer means 'may be mine', so the authors' answers to their own questions would count as votes: name the "
        f"answer that means it with {argument('mine', 'TEXT')} or the column of marks with "
        f"{argument('mine_column')} ({answers}); "
        f"if the experts had not seen the questions, use {argument('protocol', 'basic', given='basic')}"
    )


def told(counts: Mapping[str, int]) -> str:
    """Format answers with their counts for a message: "'A' (40), 'skip' (3)"."""
    return listed([f"'{shortened(text)}' ({n})" for text, n in counts.items()], 6)


def _counts(responses: Responses, marks: Collection[tuple[str, int]] = ()) -> dict[str, int]:
    """Count the answers to test items, most frequent first; marked answers are left out."""
    tests = responses.table.filter(~pl.col("is_control"))
    schema = {"respondent": pl.String, "item": pl.UInt32}
    marked = pl.DataFrame(list(marks), schema=schema, orient="row")
    tests = tests.join(marked, on=["respondent", "item"], how="anti")
    counted = tests["answer"].drop_nulls().value_counts()
    rows = counted.sort(["count", "answer"], descending=[True, False]).iter_rows()
    return {str(text): int(n) for text, n in rows}


def beside_people(
    experts: GroupRule, responses: Responses, gold: Gold | None, people: GroupRule, untrained: Evidence
) -> Difference:
    """Compare experts with people without training on the items that both groups answered.

    The two groups are decided by one rule, for which `group_difference` has the reasons. Items are matched by the
    dataset's id if the file of gold answers has one, else by their input texts.

    Args:
        experts: the experts' votes.
        responses: the experts' study.
        gold: the gold answers of the experts' study.
        people: the votes of the people without training.
        untrained: their baseline.

    Returns:
        The difference: experts minus people, over items and the annotators of both groups.

    Raises:
        UsageError: the two studies have no item in common.
        DataError: all common items belong to one cluster.
    """
    ours = {key: number for number, key in _keys(responses, gold, _answered(experts)).items()}
    theirs = {
        key: number for number, key in _keys(untrained.responses, untrained.gold, _answered(people)).items()
    }
    common = [key for key in theirs if key in ours]
    if not common:
        raise UsageError(
            "no item was answered by both experts and non-experts: check that both studies use the same dataset"
        )
    codes = untrained.clusters.codes([theirs[key] for key in common]) if untrained.clusters else None
    first, second = (
        group.graded({numbers[key]: place for place, key in enumerate(common)}, codes)
        for group, numbers in ((people, theirs), (experts, ours))
    )
    of_people, of_experts, found = group_difference(first, second, clusters=codes)
    return Difference(
        float(of_people.mean()),
        float(of_experts.mean()),
        found.n,
        found.value,
        found.interval(),
        PairedTest(found.p, found.method),
        int((of_experts > of_people + SAME).sum()),
        int((of_people > of_experts + SAME).sum()),
        found.detectable(),
    )


def _answered(group: GroupRule) -> list[int]:
    """Return the numbers of the items with gold that the group answered."""
    answered = np.bincount(group.rule.votes.item, minlength=group.rule.votes.items) > 0
    scorer = group.scorer
    return [
        int(item.id) for item, code in zip(scorer.items, scorer.codes.tolist(), strict=True) if answered[code]
    ]


def _keys(responses: Responses, gold: Gold | None, items: Collection[int]) -> dict[int, str]:
    ids = dict(gold.answers.select("item", "id").iter_rows()) if gold else {}
    fields = sorted(responses.fields)
    texts = {
        row["item"]: "\x1f".join(str(row[name] or "") for name in fields)
        for row in responses.items.to_dicts()
    }
    return {item: str(ids[item]) if ids.get(item) is not None else texts[item] for item in items}
