"""Tables of pandas and Polars that users pass to the library, and their votes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import polars as pl

from merilo.errors import UsageError
from merilo.people.gold import is_id
from merilo.people.platforms.loading import as_texts
from merilo.people.votes import Encoding, encode
from merilo.responses import Responses
from merilo.wording import listed

if TYPE_CHECKING:
    import pandas as pd

    Frame: TypeAlias = pl.DataFrame | pd.DataFrame
else:
    Frame: TypeAlias = Any

#: The columns of a table of responses, as crowd-kit names them.
COLUMNS = ("task", "worker", "label")


def is_frame(value: object) -> TypeGuard[Frame]:
    """Return whether a value is a Polars or pandas table."""
    return isinstance(value, pl.DataFrame) or is_pandas(value)


def is_pandas(value: object) -> bool:
    """Return whether a value is a pandas table, without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.DataFrame)


def mapping_of(value: Any) -> Any:  # noqa: ANN401 - any argument
    """Convert a Series of pandas to a mapping from its index; other values are returned as they are."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(value, pandas.Series):
        return value
    return {str(item): str(answer) for item, answer in value.dropna().items()}


def polars_of(frame: Frame | Responses) -> pl.DataFrame:
    """Convert a table to Polars; missing values of pandas become null.

    Of responses, the table has the answers to items, without those to control items.

    Raises:
        UsageError: the value is neither a table nor responses, or two of its columns have one name.
    """
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, Responses):
        answers = frame.table.filter(~pl.col("is_control"))
        ids = frame.fields if len(frame.fields) == 1 else [name for name in frame.fields if is_id(name)]
        if len(ids) == 1 and frame.items[ids[0]].n_unique() == frame.items.height:
            by_id = frame.items.select("item", pl.col(ids[0]).alias("\x1fid"))
            answers = answers.join(by_id, on="item", how="left", maintain_order="left").drop("item")
            answers = answers.rename({"\x1fid": "item"})
        return answers.select(task="item", worker="respondent", label="answer")
    if not is_pandas(frame):
        raise UsageError(f"takes a table of pandas or Polars, or the result of read_responses, {not_(frame)}")
    columns: Any = frame
    if not columns.columns.is_unique:
        twice = columns.columns[columns.columns.duplicated()][0]
        raise UsageError(f"two columns of the table have the name '{twice}'")
    # As objects, missing values of every type can be None.
    values = {str(name): columns[name].astype(object) for name in columns.columns}
    return pl.DataFrame(
        [pl.Series(n, v.where(v.notna(), None).tolist(), strict=False) for n, v in values.items()]
    )


def not_(value: object) -> str:
    """Say what a value is instead of a table."""
    kind = type(value).__name__
    return f"not {kind}" + (": collect it first" if kind == "LazyFrame" else "")


def pandas_of(table: pl.DataFrame) -> Any:  # noqa: ANN401 - pandas may be missing
    """Convert a Polars table to pandas; integers with missing values stay integers."""
    import pandas as pd  # noqa: PLC0415 - needed only for callers who pass pandas tables

    return pd.DataFrame({
        column.name: pd.array(column.to_list(), dtype="Int64")
        if column.dtype.is_integer() and column.null_count()
        else column.to_list()
        for column in table
    })  # fmt: skip


def records_of(table: pl.DataFrame) -> list[dict[str, str | None]]:
    """Return the rows of a table as dictionaries of texts."""
    return as_texts(table, "table").to_dicts()


def encoded(frame: Frame | Responses) -> Encoding:
    """Encode the votes of a table, or of responses.

    Raises:
        UsageError: a column is missing, or there is no complete row.
    """
    table = polars_of(frame)
    if not set(COLUMNS) <= {*table.columns}:
        raise UsageError(f"a table needs the columns {', '.join(COLUMNS)}; it has {listed(table.columns)}")
    encoding = encode(*(table[name] for name in COLUMNS))
    if not len(encoding.votes):
        raise UsageError("the table has no row with a task, a worker and a label")
    return encoding
