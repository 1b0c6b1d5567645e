"""Tables of pandas and Polars as arguments and results. pandas is imported only if the caller passes a pandas table."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from merilo.errors import UsageError
from merilo.people.votes import Encoding, encode
from merilo.wording import listed

if TYPE_CHECKING:
    import pandas as pd

    Frame: TypeAlias = pl.DataFrame | pd.DataFrame
    Column: TypeAlias = pl.Series | pd.Series[Any]
else:
    Frame: TypeAlias = Any

#: The columns of a table of responses, as crowd-kit names them.
COLUMNS = ("task", "worker", "label")


def is_frame(value: object) -> bool:
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


def polars_of(frame: Frame) -> pl.DataFrame:
    """Convert a table to Polars; missing values of pandas become null.

    Raises:
        UsageError: the value is not a table.
    """
    if isinstance(frame, pl.DataFrame):
        return frame
    if not is_pandas(frame):
        raise UsageError(f"takes a table of pandas or Polars, not {type(frame).__name__}")
    columns: Any = frame
    # As objects, missing values of every type can be None.
    values = {name: columns[name].astype(object) for name in columns.columns}
    return pl.DataFrame(
        [
            pl.Series(str(name), column.where(column.notna(), None).tolist(), strict=False)
            for name, column in values.items()
        ]
    )


def pandas_of(table: pl.DataFrame, index: str | None = None) -> Any:  # noqa: ANN401 - pandas may be missing
    """Convert a Polars table to pandas, with the column `index` as index if given."""
    import pandas as pd  # noqa: PLC0415 - needed only for callers who pass pandas tables

    frame = pd.DataFrame({name: _pandas_column(table[name]) for name in table.columns})
    return frame if index is None else frame.set_index(index)


def _pandas_column(column: pl.Series) -> Any:  # noqa: ANN401 - pandas may be missing
    """Return a column's values for pandas; integers with missing values stay integers."""
    import pandas as pd  # noqa: PLC0415 - needed only for callers who pass pandas tables

    values = column.to_list()
    missing = column.dtype.is_integer() and column.null_count()
    return pd.array(values, dtype="Int64") if missing else values


def records_of(table: pl.DataFrame) -> list[dict[str, str | None]]:
    """Return the rows of a table as dictionaries of texts."""
    from merilo.people.platforms.plain import as_texts  # noqa: PLC0415 - needed only for tables read like files

    return as_texts(table, "table").to_dicts()


def encoded(frame: Frame) -> Encoding:
    """Encode the votes of a table.

    Raises:
        UsageError: a column is missing, or there is no complete row.
    """
    table = polars_of(frame)
    missing = [name for name in COLUMNS if name not in table.columns]
    if missing:
        raise UsageError(f"a table needs the columns {', '.join(COLUMNS)}; it has {listed(table.columns)}")
    found = encode(*(table[name] for name in COLUMNS))
    if not len(found.votes):
        raise UsageError("the table has no row with a task, a worker and a label")
    return found
