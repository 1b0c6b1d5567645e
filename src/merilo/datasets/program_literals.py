"""Parse the tests and gold results of programming problems, which files hold as Python literals in strings."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final, cast

from merilo.errors import DataError
from merilo.items import Item

#: Literal lists longer than this, in characters, are refused.
LONGEST_LITERAL: Final = 1_000_000


def literal_list(text: str, *, what: str) -> list[object]:
    """Parse a list written as a Python literal, as `tests` and `outputs` of programming problems are.

    Nothing is executed: only literals are parsed. A text that is too long, too deeply nested or not a list is refused.

    Args:
        text: the literal.
        what: its name for the message.

    Raises:
        DataError: the text is not a list of literals.

    Example:
        >>> literal_list("[{'n': 3}, {'n': 4}]", what="tests")
        [{'n': 3}, {'n': 4}]
    """
    if len(text) > LONGEST_LITERAL:
        raise DataError(f"is longer than {LONGEST_LITERAL} characters", field=what)
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise DataError("is not a list of literals", field=what) from error
    if not isinstance(value, list):
        raise DataError("is a literal, but not a list", field=what)
    return value


def program_tests(item: Item) -> list[dict[str, object]]:
    """Return the keyword arguments of each test of a programming problem.

    Raises:
        DataError: `inputs.tests` is not a list of dictionaries with names for keys.
    """
    tests = item.inputs.get("tests") if isinstance(item.inputs, Mapping) else None
    cases = _a_list(tests, "inputs.tests")
    for case in cases:
        if not isinstance(case, dict) or not all(isinstance(key, str) and key.isidentifier() for key in case):
            raise DataError("must be a list of dictionaries from arguments to values", field="inputs.tests")
    return cast("list[dict[str, object]]", cases)


def program_golds(item: Item) -> list[str]:
    """Return the expected `str(result)` of each test of a programming problem.

    Raises:
        DataError: `outputs` is not a list, or a list of equal lists, of texts.
    """
    golds = _a_list(item.outputs, "outputs")
    if golds and all(isinstance(sample, list) for sample in golds):
        golds = _a_list(golds[0], "outputs")
    return [*map(str, golds)]


def _a_list(value: object, what: str) -> list[object]:
    """Return a list; one in a text is parsed."""
    if isinstance(value, str):
        return literal_list(value, what=what)
    if not isinstance(value, list):
        raise DataError("must be a list", field=what)
    return value
