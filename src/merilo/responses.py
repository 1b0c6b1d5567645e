"""The response table: who answered what, when, how long it took and what it cost. One schema for people and models."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

import polars as pl

#: The columns of a response table.
#:
#: ==============  ==========================================================================================
#: item            the number of the item, from 1, in the order in which items first appear
#: respondent      the annotator's pseudonymous id, or the model's name
#: sample          which of several answers of one respondent this is (a model may be asked often); from 1
#: answer          the answer's text, as given
#: control         on a response to a control item: its known answer; else null
#: is_control      whether the item is a control item for this response
#: page            what was answered and paid together (an assignment of a platform), or null
#: started         when the page was opened, or null
#: submitted       when the page was sent, or null
#: page_seconds    how long the page took, or null
#: page_reward     what the page paid, or null
#: file            the file that the response was read from
#: row             its row in that file, as a spreadsheet counts
#: ==============  ==========================================================================================
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

#: Stands before the name of an input field that is called like a column above.
INPUT_MARK: Final = "input_"


@dataclass(frozen=True, slots=True)
class Unread:
    """Values that could not be read as what they should be, and count as not given.

    Attributes:
        what: what they should be: a time, a duration, a reward.
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


@dataclass(frozen=True, slots=True)
class Recoded:
    """Answers that the user asked to be replaced.

    Attributes:
        written: the answer as it was read.
        kept: what stands in its place; `None` where the answer is left out.
        answers: how many answers that were, known answers of control items not among them.
    """

    written: str
    kept: str | None
    answers: int


@dataclass(frozen=True, slots=True)
class Responses:
    """Responses with the items that they answer.

    Attributes:
        table: the responses, columns as in `SCHEMA`.
        items: a row an item: `item` (its number) and one text column an input field.
        rows_read: how many rows the files held, those that were dropped on reading among them.
        dropped: rows that are not in `table`, counted by reason.
        currency: the currency of `page_reward`, where the platform says it.
        answer_field: the column that the answers were read from.
        renamed: answers that were rewritten on reading, as written -> as kept.
        unread: times and rewards that could not be read.
        lost_pages: `page_reward` and `page_seconds` of every page that was paid and of which no response is in `table`.
        absent: what the platform usually exports and these files have no column for: `time`, `reward`, `page`, `control`.
        recoded: the answers that `recoding.recode` replaced.
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
    absent: tuple[str, ...] = ()
    recoded: tuple[Recoded, ...] = ()

    @property
    def fields(self) -> list[str]:
        """The names of the items' input fields."""
        return [name for name in self.items.columns if name != "item"]

    def without(self, rows: pl.Expr, reason: str) -> Responses:
        """The responses less those that an expression marks, counted under a reason.

        Args:
            rows: a boolean expression over `table`.
            reason: the name under which the rows are counted.
        """
        kept = self.table.filter(~rows)
        gone = self.table.height - kept.height
        if not gone:
            return self
        lost = lost_pages(self.table.filter(rows), kept)
        return replace(
            self,
            table=kept,
            dropped={**self.dropped, reason: self.dropped.get(reason, 0) + gone},
            lost_pages=lost if self.lost_pages is None else pl.concat([self.lost_pages, lost]),
        )


def page_of() -> pl.Expr:
    """The page of a response, unlike any other of the same file; without pages, every row of a file is one."""
    return pl.coalesce("page", pl.concat_str(pl.lit("row "), "row"))


def lost_pages(gone: pl.DataFrame, kept: pl.DataFrame) -> pl.DataFrame:
    """The pages of rows that are left out, where none of a page's rows is kept: what was paid must be counted.

    Args:
        gone: rows that are left out, and were paid.
        kept: the rows that stay.

    Returns:
        `page_reward` and `page_seconds`, a row a page.
    """
    page = ["page", "respondent"]
    whole = (
        gone.filter(pl.col("page").is_not_null())
        .join(kept, on=page, how="anti", nulls_equal=True)
        .unique(page, keep="first", maintain_order=True)
    )
    single = gone.filter(pl.col("page").is_null())
    return pl.concat([whole, single]).select("page_reward", "page_seconds")
