"""The response table: one row per answer with respondent, item, times and reward; one schema for people and models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, Self

import polars as pl

from merilo.file_reading import Origin, Reading
from merilo.participation import Participation
from merilo.text import Text
from merilo.wording import shortened

#: The columns of a response table.
#:
#: ==============  ==========================================================================================
#: item            the number of the item, from 1, in the order in which items first appear
#: respondent      the annotator's pseudonymous id, or the model's name
#: sample          the number of the answer among several by one respondent (models may be sampled); from 1
#: answer          the answer's text, as given
#: control         on a response to a control item: its known answer; else null
#: is_control      whether the item is a control item for this response
#: page            the unit that is submitted and paid together (an assignment of a platform), or null
#: started         when the page was opened, or null
#: submitted       when the page was submitted, or null
#: page_seconds    how long the page took, or null
#: page_reward     what the page paid, or null
#: file            the file that the response was read from
#: row             its row in that file; the header is row 1
#: ==============  ==========================================================================================
#:
#: If the annotation site recorded signals of help by AI, there is a last column `signals`: a JSON text, or null.
SCHEMA: Final[dict[str, pl.DataType]] = {
    "item": pl.UInt32(),
    "respondent": pl.String(),
    "sample": pl.UInt32(),
    "answer": pl.String(),
    "control": pl.String(),
    "is_control": pl.Boolean(),
    "page": pl.String(),
    "started": pl.Datetime("ms"),
    "submitted": pl.Datetime("ms"),
    "page_seconds": pl.Float64(),
    "page_reward": pl.Float64(),
    "file": pl.String(),
    "row": pl.UInt32(),
}

#: The column of signals; see `people.signals`.
SIGNALS: Final = "signals"

#: The prefix of an input field whose name is that of a column above.
INPUT_MARK: Final = "input_"


@dataclass(frozen=True, slots=True)
class Unread:
    """Values that could not be parsed and are treated as missing.

    Attributes:
        what: the expected kind of value: a time, a duration, a reward.
        field: their column.
        rows: how many rows have such a value.
        file: the file of the first.
        row: the row of the first.
        text: the first of them.
    """

    what: Literal["time", "seconds", "reward"]
    field: str
    rows: int
    file: str
    row: int
    text: str

    @property
    def sentence(self) -> Text:
        """What a reader of the responses must know of them."""
        return Text(
            "{n:# row has|# rows have} an unreadable {what:time=time|seconds=duration|reward} in {field} (the first is "
            "'{first}': {file}, row {row}); it is treated as missing",
            n=self.rows,
            what=self.what,
            field=self.field,
            first=shortened(self.text, 30),
            file=self.file,
            row=self.row,
        )


@dataclass(frozen=True, slots=True, repr=False)
class Responses:
    """Responses with the items that they answer.

    Attributes:
        table: the responses, columns as in `SCHEMA`.
        items: one row per item: `item` (its number) and one text column per input field.
        rows_read: the number of rows in the files, including those dropped on reading.
        dropped: reason -> number of rows that are not in `table`.
        currency: the currency of `page_reward`, if the platform gives it.
        answer_field: the column that the answers were read from.
        renamed: answers that were rewritten on reading, as written -> as kept.
        unread: times and rewards that could not be read.
        lost_pages: `page_reward` and `page_seconds` of every paid page without a response in `table`.
        scored: whether the answers were scored elsewhere: each is `passed` or `failed`.
        participation: how many people came and stayed, if the study counted them.
        planned: how many items a study asks, and how many answers to each; `None` without a plan.
        reading: how the files were read; `None` if the responses do not come from files or tables.
        origin: the files or tables that were read; `None` if there are none, or if their folder is published.
        arms: annotator -> their arm, if the files have a column of arms.
    """

    table: pl.DataFrame
    items: pl.DataFrame
    rows_read: int
    dropped: dict[str, int]
    currency: str | None = None
    answer_field: str | None = None
    renamed: dict[str, str] | None = None
    unread: tuple[Unread, ...] = ()
    lost_pages: pl.DataFrame | None = None
    scored: bool = False
    participation: Participation | None = None
    planned: tuple[int, int] | None = None
    reading: Reading | None = None
    arms: Mapping[str, str] | None = None
    origin: Origin | None = None

    def __repr__(self) -> str:
        people = self.table["respondent"].n_unique()
        counts = f"{self.table.height} responses of {people} annotators to {self.items.height} items"
        return f"<{counts}, {self.rows_read} rows read>"

    @property
    def fields(self) -> list[str]:
        """The names of the items' input fields."""
        return [name for name in self.items.columns if name != "item"]

    @property
    def test_items(self) -> pl.DataFrame:
        """The items that are not control items, one row each: the number `item` and the input fields."""
        numbers = self.table.filter(~pl.col("is_control")).select("item").unique()
        return self.items.join(numbers, on="item", how="semi", maintain_order="left")

    def with_spelling(self, spelling: Mapping[str, str]) -> Responses:
        """Rewrite answers and known answers of control items, and record what each was written as.

        Args:
            spelling: mapping from answer to its new spelling; other answers stay.
        """
        changed = {written: spelled for written, spelled in spelling.items() if written != spelled}
        if not changed:
            return self
        earlier = {
            written: changed.get(spelled, spelled) for written, spelled in (self.renamed or {}).items()
        }
        return replace(
            self,
            table=self.table.with_columns(pl.col("answer", "control").replace(changed)),
            renamed=dict(sorted({**earlier, **changed}.items())),
        )

    def without(self, rows: pl.Expr, reason: str) -> Self:
        """Drop the responses selected by an expression, and count them under a reason.

        Args:
            rows: a boolean expression over `table`.
            reason: the name under which the rows are counted.
        """
        remaining = self.table.filter(~rows)
        gone = self.table.height - remaining.height
        if not gone:
            return self
        lost = lost_pages(self.table.filter(rows), remaining)
        return replace(
            self,
            table=remaining,
            dropped={**self.dropped, reason: self.dropped.get(reason, 0) + gone},
            lost_pages=lost if self.lost_pages is None else pl.concat([self.lost_pages, lost]),
        )


def page_of() -> pl.Expr:
    """Return an expression for the page of a response, unique within a file; without pages, each row is a page."""
    return pl.coalesce("page", pl.concat_str(pl.lit("row "), "row"))


def answer_seconds() -> pl.Expr:
    """Return an expression for the time of a response.

    The time of its page, shared equally among the page's responses.
    """
    return pl.col("page_seconds") / pl.len().over("file", page_of(), "respondent")


def answer_cost() -> pl.Expr:
    """Return an expression for the cost of a response: the reward of its page, shared equally among its responses."""
    return pl.col("page_reward") / pl.len().over("file", page_of(), "respondent")


def lost_pages(gone: pl.DataFrame, remaining: pl.DataFrame) -> pl.DataFrame:
    """Return the paid pages of which every row is left out, so that their cost is still counted.

    Args:
        gone: the paid rows that are left out.
        remaining: the rows that remain.

    Returns:
        `page_reward` and `page_seconds`, one row per page.
    """
    page = ["page", "respondent"]
    whole = (
        gone.filter(pl.col("page").is_not_null())
        .join(remaining, on=page, how="anti", nulls_equal=True)
        .unique(page, keep="first", maintain_order=True)
    )
    single = gone.filter(pl.col("page").is_null())
    return pl.concat([whole, single]).select("page_reward", "page_seconds")
