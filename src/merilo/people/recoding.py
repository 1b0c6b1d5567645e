"""Answers that the user replaces, and answers that an annotator gave twice.

Only answers that the user names are replaced. `near_spellings` lists answers that look like misspellings.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import polars as pl

from merilo.errors import DataError, InputError, UsageError, argument
from merilo.files import read_table
from merilo.people.typing_errors import SHORTEST_TEXT, within_one_edit
from merilo.people.votes import MOST_CLOSED_LABELS
from merilo.responses import Recoded, Responses
from merilo.settings import Repeats
from merilo.wording import listed, shortened

_OPTION: Final = argument("recode")

#: The reason under which answers without a replacement are counted.
LEFT_OUT: Final = "recoded_to_nothing"


def read_recoding(given: Sequence[str], encoding: str | None = None) -> dict[str, str | None]:
    """Read the replacements of answers.

    Args:
        given: each `FROM=TO`, or the name of a delimited file with the columns `from` and `to`. An empty TO leaves the
            answer out. An answer that contains `=` can only be given in a file.
        encoding: the files' encoding, if it is not UTF-8 and has no byte order mark.

    Returns:
        Mapping from answer to replacement, white space folded; `None` if the answer is left out.

    Raises:
        UsageError: a word is neither `FROM=TO` nor a file.
        InputError: a file cannot be read or lacks a column, or a row has no `from`.
        DataError: an answer has two different replacements.
    """
    mapping: dict[str, str | None] = {}
    for word in given:
        path = next(iter(recoding_files([word])), None)
        if path and not path.exists():
            raise UsageError(
                f"must be FROM=TO or a file with the columns from and to, not '{shortened(word)}'",
                field=_OPTION,
            )
        rows = _rows(path, encoding) if path else [(None, *word.partition("=")[::2])]
        for row, *texts in rows:
            written, kept = (" ".join((text or "").split()) for text in texts)
            if not written and path:
                message = "is empty, so the row has no answer to replace"
                raise InputError(message, file=path, row=row, field="from")
            if not written:
                raise UsageError(f"'{shortened(word)}' has no answer before '='", field=_OPTION)
            if mapping.setdefault(written, kept or None) != (kept or None):
                raise DataError(
                    f"'{written}' has two replacements: '{mapping[written] or ''}' and '{kept}'",
                    file=path,
                    row=row,
                    field=None if path else _OPTION,
                )
    return mapping


def recoding_files(given: Sequence[str]) -> list[Path]:
    """Return the files among the arguments of `read_recoding`."""
    return [Path(word) for word in given if "=" not in word or Path(word).is_file()]


def _rows(path: Path, encoding: str | None) -> Iterator[tuple[int | None, str | None, str | None]]:
    data = read_table(path, keep=lambda name: name.lower() in {"from", "to"}, encoding=encoding).data
    data = data.rename({name: name.lower() for name in data.columns})
    for name in ("from", "to"):
        if name not in data.columns:
            raise InputError(
                "there is no such column (a recoding file needs from and to)", file=path, field=name
            )
    for row, (written, kept) in enumerate(data.select("from", "to").iter_rows(), start=2):
        if written is not None or kept is not None:
            yield row, written, kept


def recode(responses: Responses, mapping: Mapping[str, str | None]) -> Responses:
    """Replace answers and known answers of control items simultaneously: replacements are not replaced again.

    Args:
        responses: the responses.
        mapping: answer -> replacement; `None` leaves the answer out, counted as `recoded_to_nothing`.

    Returns:
        The responses; `recoded` has the number of answers that each replacement changed, `renamed` the replacements.

    Raises:
        UsageError: an answer does not occur.
    """
    if not mapping:
        return responses
    counts = dict(responses.table["answer"].value_counts().iter_rows())
    there = occurring(responses, mapping)
    missing = [text for text in mapping if text not in there]
    if missing:
        raise UsageError(_never_given(missing[0], counts, responses), field=_OPTION)
    gone = [text for text, kept in mapping.items() if kept is None]
    responses = responses.without(pl.col("answer").is_in(gone), LEFT_OUT)
    if not responses.table.height:
        raise UsageError("no answers are left: all of them are recoded to an empty text", field=_OPTION)
    responses = responses.with_spelling({text: kept for text, kept in mapping.items() if kept is not None})
    recoded = (Recoded(written, kept, int(counts.get(written, 0))) for written, kept in mapping.items())
    return replace(responses, recoded=tuple(recoded))


def occurring(responses: Responses, mapping: Mapping[str, str | None]) -> dict[str, str | None]:
    """Select the replacements whose answers occur as responses or as known answers of control items."""
    given = {
        *responses.table["answer"].drop_nulls().unique(),
        *responses.table["control"].drop_nulls().unique(),
    }
    return {text: kept for text, kept in mapping.items() if text in given}


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

    @property
    def option(self) -> str:
        """The command-line option that merges the two."""
        if "=" in self.written:
            return argument("recode", "FILE (columns from and to)", given={self.written: self.label})
        return argument(
            "recode",
            shlex.quote(f"{self.written}={self.label}"),
            given={self.written: self.label},
        )


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
    The same answer given twice counts once.

    Args:
        responses: the responses.
        repeats: what to do if an annotator gave one item two different answers: refuse, keep the first or the last,
            or drop both.

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
    order = pl.struct(one).is_last_distinct() if repeats == "last" else pl.struct(one).is_first_distinct()
    return responses.without(~order & ~pl.col("is_control"), "repeated")
