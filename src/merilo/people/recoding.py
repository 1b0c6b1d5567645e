"""Answers that the user replaces, and answers that an annotator gave twice.

Only answers that the user names are replaced. `near_spellings` lists answers that look like misspellings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from merilo.errors import DataError, UsageError, argument
from merilo.people.typing_errors import SHORTEST_TEXT, within_one_edit
from merilo.people.votes import MOST_CLOSED_LABELS
from merilo.responses import Responses
from merilo.settings import Repeats
from merilo.wording import listed, shortened

#: The reason under which answers without a replacement are counted.
LEFT_OUT: Final = "recoded_to_nothing"


def recode(responses: Responses, mapping: Mapping[str, str | None]) -> Responses:
    """Replace answers and known answers of control items simultaneously: replacements are not replaced again.

    Args:
        responses: the responses.
        mapping: answer -> replacement; `None` leaves the answer out, counted as `recoded_to_nothing`.

    Returns:
        The responses; `renamed` has the replacements.

    Raises:
        UsageError: an answer does not occur.
    """
    if not mapping:
        return responses
    counts = dict(responses.table["answer"].value_counts().iter_rows())
    known = {*counts, *responses.table["control"].drop_nulls().unique()}
    for text in mapping:
        if text not in known:
            raise UsageError(_never_given(text, counts, responses), field="recode")
    gone = [text for text, kept in mapping.items() if kept is None]
    responses = responses.without(pl.col("answer").is_in(gone), LEFT_OUT)
    if not responses.table.height:
        raise UsageError("no answers are left: all of them are recoded to an empty text", field="recode")
    return responses.with_spelling({text: kept for text, kept in mapping.items() if kept is not None})


def _never_given(text: str, counts: Mapping[str, int], responses: Responses) -> str:
    read_as = (responses.renamed or {}).get(text)
    if read_as is not None:
        return f"'{text}' is read as '{read_as}': recode '{read_as}' instead"
    usual = sorted(counts, key=lambda answer: (-counts[answer], answer))
    there = listed([f"'{shortened(answer, 30)}'" for answer in usual], 8)
    return f"no response is '{shortened(text)}' (answers: {there})"


@dataclass(frozen=True, slots=True)
class NearSpelling:
    """An answer that looks like a misspelling of a label.

    Attributes:
        written: the answer.
        label: the label that it resembles.
        answers: how often the answer was given.
        label_answers: how often the label was given.
    """

    written: str
    label: str
    answers: int
    label_answers: int


#: Answers are a choice among labels if at most `MOST_CLOSED_LABELS` labels make up this share of all answers.
_SHARE_OF_LABELS: Final = 0.8

#: A label is an answer given at least this often; a misspelling is given at most a tenth as often as its label.
_FEWEST_OF_A_LABEL: Final = 5
_SHARE_OF_A_LABEL: Final = 0.02
_RARE: Final = 0.1

_APPENDED: Final = " \t0123456789.,;:!?*'\"`_-"


def near_spellings(counts: Mapping[str, int], labels: Sequence[str] = ()) -> tuple[NearSpelling, ...]:
    """Find answers that look like a misspelling of a label: an extra mark or digit, or one wrong letter.

    For open or numeric answers the result is empty, because another spelling is another answer.

    Args:
        counts: answer -> how often it was given.
        labels: the dataset's labels, if it declares them. Otherwise frequent answers are the labels.

    Returns:
        The answers that look like misspellings, the most frequent first.

    Example:
        >>> [(one.written, one.label) for one in near_spellings({"yes": 90, "no": 80, "yes6": 2})]
        [('yes6', 'yes')]
        >>> near_spellings({"10": 90, "11": 80, "101": 2})
        ()
    """
    total = sum(counts.values())
    often = max(_FEWEST_OF_A_LABEL, _SHARE_OF_A_LABEL * total)
    found = {answer for answer, count in counts.items() if count >= often}
    if not labels and (
        not 0 < len(found) <= MOST_CLOSED_LABELS
        or sum(counts[one] for one in found) < _SHARE_OF_LABELS * total
    ):
        return ()
    accepted = set(labels) or found
    near = []
    for answer, count in counts.items():
        if answer in accepted or _is_number(answer):
            continue
        alike = [
            label
            for label in accepted
            if not _is_number(label)
            and (bool(labels) or count <= _RARE * counts[label])
            and _looks_like(answer, label)
        ]
        if alike:
            label = max(alike, key=lambda one: (counts.get(one, 0), one))
            near.append(NearSpelling(answer, label, count, counts.get(label, 0)))
    return tuple(sorted(near, key=lambda one: (-one.answers, one.written)))


def _is_number(text: str) -> bool:
    return not any(letter.isalpha() for letter in text)


def _looks_like(answer: str, label: str) -> bool:
    one, other = answer.casefold(), label.casefold()
    if one == other or one.strip(_APPENDED) == other.strip(_APPENDED):
        return True
    return min(len(one), len(other)) >= SHORTEST_TEXT and within_one_edit(one, other)


def settle(responses: Responses, repeats: Repeats = "refuse") -> Responses:
    """Keep at most one answer per annotator and test item.

    A repeated row (the same page and item) counts once, for control items too; a control item that one annotator
    answered on several pages is not a duplicate, nor is an item that they answered as a control and as a test item.
    The same answer given twice counts once. First and last go by time where the times are known, else by the order of
    rows.

    Args:
        responses: the responses.
        repeats: what to do if an annotator gave one item two different answers: refuse, keep the first or the last,
            or drop all of them.

    Raises:
        DataError: an annotator gave one item two different answers and `repeats` is "refuse".
    """
    one = ["item", "respondent", "sample", "is_control"]
    on_page = ["page", "answer", *one]
    same_row = pl.col("page").is_not_null() & ~pl.struct(on_page).is_first_distinct()
    responses = responses.without(same_row, "same_row_twice")
    tests = responses.table.filter(~pl.col("is_control"))
    if tests.height == tests.select(one).n_unique():
        return responses
    different = (pl.col("answer").n_unique().over(one) > 1) & ~pl.col("is_control")
    two = responses.table.filter(different)
    if two.height and repeats == "refuse":
        first, second = (
            two.filter(pl.struct(one) == pl.struct(one).first())
            .unique("answer", maintain_order=True)
            .head(2)
            .to_dicts()
        )
        raise DataError(
            f"annotator {second['respondent']} gave one item two answers, {second['answer']!r} here and "
            f"{first['answer']!r} in row {first['row']}; choose first, last or drop with {argument('repeats')}",
            file=second["file"],
            row=second["row"],
        )
    if repeats == "drop":
        responses = responses.without(different, "contradicted")
    table = responses.table.select(*one, pl.coalesce("submitted", "started").alias("time"))
    by_row = pl.col("time").is_null().any().over(one)
    place = pl.when(by_row).then(pl.int_range(1, pl.len() + 1)).otherwise(pl.col("time").rank("ordinal"))
    table = table.with_columns(place.cast(pl.Int64).alias("place"))
    best = pl.col("place").max() if repeats == "last" else pl.col("place").min()
    kept = table.select(pl.col("place") == best.over(one)).to_series()
    return responses.without(~kept & ~pl.col("is_control"), "repeated")
