"""Gold answers of a study from a file, a table, a mapping or the dataset's solver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from merilo.baselines.pipeline import test_items
from merilo.datasets import Dataset
from merilo.datasets.solvers import SOLVERS, solver
from merilo.errors import UsageError, argument
from merilo.people.frames import Frame, mapping_of, polars_of, records_of
from merilo.people.gold import Gold, is_id, read_gold, solved_gold
from merilo.people.gold_file import ID_COLUMNS
from merilo.responses import Responses
from merilo.strict_json import Json


def gold_of(
    responses: Responses,
    declared: Dataset | None,
    gold: Path | None,
    column: str | None,
    encoding: str | None,
    *,
    alternatives: str | None = None,
) -> Gold | None:
    """Return the gold answers from the user's file, else from the dataset's solver; `None` if there is neither.

    Raises:
        UsageError: a column is given without a file.
    """
    if gold is not None:
        return _read(responses, declared, gold, column, encoding, alternatives)
    if column is not None:
        raise UsageError(f"{argument('gold_column')} needs {argument('gold')}")
    if declared and declared.name in SOLVERS:
        return solved_gold(test_items(responses), solver(declared.name), declared.name)
    return None


def _read(  # noqa: PLR0917 - one source
    responses: Responses,
    declared: Dataset | None,
    source: Path | Sequence[Mapping[str, Json]],
    column: str | None,
    encoding: str | None,
    alternatives: str | None,
) -> Gold:
    """Read gold answers and join them to the test items, in the spelling of the responses."""
    return read_gold(
        source,
        test_items(responses),
        answer=responses.answer_field or "",
        column=column,
        labels=sorted(set(responses.table["answer"].unique())),
        encoding=encoding,
        form=declared.answer if declared else None,
        alternatives=alternatives,
    )


def gold_in_memory(
    responses: Responses,
    declared: Dataset | None,
    given: Frame | Mapping[str, str],
    column: str | None,
    *,
    alternatives: str | None = None,
) -> Gold:
    """Return the gold answers from a table or a mapping, read by the same rules as a file.

    Args:
        responses: the responses.
        declared: the dataset.
        given: a table with the fields of the items and the gold answers, or a mapping (or a Series of pandas) from item to
            gold answer if items have one field or one field of ids. The items of a mapping are ids by which answers of
            models are matched, and so is the only field of the items in a table without a column of ids.
        column: the column of the gold answers, if it cannot be found by name.
        alternatives: the separator of several gold answers in one text.

    Raises:
        UsageError: a mapping is given although items have several fields and none of ids.
    """
    given = mapping_of(given)
    fields = responses.fields
    if not isinstance(given, Mapping):
        rows = records_of(polars_of(given))
    else:
        named = fields if len(fields) == 1 else tuple(name for name in fields if is_id(name))
        if len(named) != 1:
            raise UsageError(
                f"takes a table, because items have {len(fields)} fields ({', '.join(fields)})",
                field=argument("gold"),
            )
        rows = [{named[0]: item, "gold": answer} for item, answer in given.items()]
    columns = {name.casefold() for row in rows for name in row}
    if len(fields) == 1 and not columns & {*ID_COLUMNS, "meta"}:
        # The only field is the item's id, by which answers of models are matched.
        ids = [row.get(fields[0]) for row in rows]
        if len(set(map(str, ids))) == len(ids):
            rows = [{**row, "id": identity} for row, identity in zip(rows, ids, strict=True)]
    return _read(responses, declared, rows, column, None, alternatives)
