"""Solvers for datasets whose answers can be computed (brackets, subsequences, arithmetic)."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from merilo.errors import DataError

_CLOSES: Final = {")": "(", "]": "[", "}": "{"}
#: Typographic signs of arithmetic: minus, dash, times, divide, and spaces that do not break.
_TYPESET: Final = str.maketrans("\u2212\u2013\u00d7\u00b7\u00f7:\u00a0\u202f", "--**//  ")
_LONGEST_EXPRESSION: Final = 2_000
_DEEPEST_EXPRESSION: Final = 100
_SIGNS: Final = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_OPERATIONS: Final[Mapping[type, Callable[..., Fraction]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_LINE: Final = re.compile(r"\s*(-?\d{1,100})\s*([-+*])\s*(-?\d{1,100})\s*->\s*(-?\d{1,200})?\s*")


def solve_bps(brackets: str) -> str:
    """Check whether a sequence of brackets of three kinds is balanced.

    Args:
        brackets: brackets; white space between them is ignored.

    Returns:
        "1" when every bracket is closed by its own kind in the right order, "0" otherwise.

    Raises:
        DataError: the sequence contains other characters than brackets.

    Example:
        >>> solve_bps("[ ] ( { } )"), solve_bps("[ ( ] )")
        ('1', '0')
    """
    signs = "".join(brackets.split())
    if stranger := signs.strip("()[]{}"):
        raise DataError(f"'{stranger[:20]}' is not a bracket; the sequence may contain only ( ) [ ] {{ }}")
    opened: list[str] = []
    for sign in signs:
        if sign not in _CLOSES:
            opened.append(sign)
        elif not opened or opened.pop() != _CLOSES[sign]:
            return "0"
    return "0" if opened else "1"


def solve_lcs(text: str) -> str:
    """Find the length of the longest common subsequence of two words.

    A subsequence keeps the order of the letters and may skip some. Computed a whole row of the classic table at a
    time, as bits of one integer (Hyyrö, 2004: "Bit-parallel LCS-length computation revisited").

    Args:
        text: the two words with white space between.

    Returns:
        The length, in decimal digits.

    Raises:
        DataError: the text is not two words.

    Example:
        >>> solve_lcs("DYLI SVETDCGL")
        '2'
    """
    words = text.split()
    if len(words) != 2:
        raise DataError(f"expected two words separated by a space, got {len(words)}")
    first, second = words
    standing: dict[str, int] = {}
    for position, letter in enumerate(first):
        standing[letter] = standing.get(letter, 0) | 1 << position
    everything = (1 << len(first)) - 1
    row = everything
    for letter in second:
        common = row & standing.get(letter, 0)
        row = ((row + common) | (row - common)) & everything
    return str(len(first) - row.bit_count())


def solve_arithmetic(text: str) -> str:
    """Compute an expression of integers, `+ - * /` and brackets that ends in ` = `.

    Raises:
        DataError: the text is not such an expression, divides by zero, or its value is not an integer.

    Example:
        >>> solve_arithmetic("663 + 806 = "), solve_arithmetic("(7 - (-3) * 4) / (-1) = ")
        ('1469', '-19')
    """
    expression = text.translate(_TYPESET).strip().removesuffix("=").strip()
    if len(expression) > _LONGEST_EXPRESSION:
        raise DataError(f"the expression is longer than {_LONGEST_EXPRESSION} characters")
    try:
        tree = ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise DataError(f"'{expression[:60]}' is not an arithmetic expression") from error
    value = _value(tree, _DEEPEST_EXPRESSION)
    if value.denominator != 1:
        raise DataError(f"the value of '{expression[:60]}' is not an integer")
    return str(value.numerator)


def solve_rumodar(text: str) -> str:
    r"""Find the operation that the sign `->` stands for in solved lines, and compute the open line.

    The operation is that of the arithmetic sign plus a constant: 0 in the control subtasks, 1 in the others.

    Raises:
        DataError: the lines are not of that form, or no constant fits all solved lines.

    Example:
        >>> solve_rumodar("102 + 435 -> 538\n860 + 270 -> 1131\n466 + 214 ->")
        '681'
    """
    added: set[int] = set()
    *solved, last = text.translate(_TYPESET).strip().splitlines() or [""]
    for line in solved:
        plain, stated = _modified_line(line)
        if stated is None:
            raise DataError(f"the line '{line[:60]}' has no result; only the last line is open")
        added.add(stated - plain)
    plain, stated = _modified_line(last)
    if stated is not None or len(added) != 1:
        raise DataError("expected solved lines that fit one operation, and an open last line")
    return str(plain + added.pop())


def _modified_line(line: str) -> tuple[int, int | None]:
    """Return the computed result of a line, and the result that the line states."""
    match = _LINE.fullmatch(line)
    if match is None:
        raise DataError(f"'{line[:60]}' is not a line of the form '102 + 435 -> 538'")
    left, sign, right, stated = match.groups()
    a, b = int(left), int(right)
    return _SIGNS[sign](a, b), None if stated is None else int(stated)


def _value(node: ast.expr, deeper: int) -> Fraction:
    """Compute an expression of integers; `deeper` is how many further levels are allowed."""
    if deeper == 0:
        raise DataError(f"the expression is nested deeper than {_DEEPEST_EXPRESSION} levels")
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return Fraction(number)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, deeper - 1)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATIONS:
            values = _value(left, deeper - 1), _value(right, deeper - 1)
            if isinstance(sign, ast.Div) and not values[1]:
                raise DataError("the expression divides by zero")
            return _OPERATIONS[type(sign)](*values)
        case ast.BinOp():
            raise DataError("the expression has an operation other than + - * /")
    where = f"position {node.col_offset + 1} has something else"
    raise DataError(f"an expression may contain only integers, + - * / and brackets; {where}")


#: Dataset -> the function that answers an item from its text; several fields are joined by spaces.
SOLVERS: Final[Mapping[str, Callable[[str], str]]] = MappingProxyType(
    {
        "bps": solve_bps,
        "lcs": solve_lcs,
        "simplear": solve_arithmetic,
        "rumultiar": solve_arithmetic,
        "rumodar": solve_rumodar,
    }
)
