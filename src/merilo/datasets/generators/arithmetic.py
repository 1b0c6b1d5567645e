"""SimpleAr, ruMultiAr and ruModAr: sums, nested expressions, and arithmetic operations with an added constant."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from random import Random
from typing import Final

from merilo.datasets.generators.question import GeneratedQuestion, shared_out
from merilo.errors import UsageError

#: SimpleAr: how many digits the terms of a sum have.
DIGITS: Final = range(1, 6)

#: ruMultiAr: the smallest and the largest argument and answer, and how often an answer may occur.
ARGUMENTS: Final = range(-9, 10)
TARGETS: Final = range(-1000, 1001)
MOST_OF_A_TARGET: Final = 10

#: ruMultiAr: levels of brackets in an expression.
DEPTHS: Final = (1, 2, 3)

#: ruModAr: subtask -> sign, digits of the arguments, what is added to the result.
SUBTASKS: Final[dict[str, tuple[str, int, int]]] = {
    "three_digit_addition_control": ("+", 3, 0),
    "three_digit_addition_plus_one": ("+", 3, 1),
    "three_digit_subtraction_control": ("-", 3, 0),
    "three_digit_subtraction_plus_one": ("-", 3, 1),
    "two_digit_multiplication_control": ("*", 2, 0),
    "two_digit_multiplication_plus_one": ("*", 2, 1),
}

#: ruModAr: solved lines before the open one.
SOLVED_LINES: Final = 5

_OPERATIONS: Final[dict[str, Callable[[int, int], int]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}
_TERMS: Final = (2, 3, 4)

#: ruMultiAr: after this many rejected draws, an expression is extended to reach an answer that may still occur.
_LUCK: Final = 20


def simplear(size: int, random: Random) -> Iterator[GeneratedQuestion]:
    """Draw sums of two numbers with equally many digits, 1 to 5 digits equally often, with no avoidable repeats."""
    plan = [
        digits for digits, count in shared_out(size, dict.fromkeys(DIGITS, 1.0)).items() for _ in range(count)
    ]
    random.shuffle(plan)
    seen: dict[int, set[tuple[int, int]]] = {digits: set() for digits in DIGITS}
    for digits in plan:
        numbers, known = _numbers(digits), seen[digits]
        if len(known) == len(numbers) ** 2:
            known.clear()
        while (pair := (random.choice(numbers), random.choice(numbers))) in known:
            pass
        known.add(pair)
        yield GeneratedQuestion(f"{pair[0]} + {pair[1]} = ")


def rumodar(size: int, random: Random) -> Iterator[GeneratedQuestion]:
    """Draw five solved lines and an open one; the six subtasks occur equally often, and no question repeats."""
    plan = [
        task for task, count in shared_out(size, dict.fromkeys(SUBTASKS, 1.0)).items() for _ in range(count)
    ]
    random.shuffle(plan)
    seen: set[str] = set()
    for task in plan:
        while (text := _modified(task, random)) in seen:
            pass
        seen.add(text)
        yield GeneratedQuestion(text, {"task_type": task})


def _modified(task: str, random: Random) -> str:
    """Make a question of a subtask: six different pairs of arguments, the last without its result."""
    sign, digits, added = SUBTASKS[task]
    numbers = _numbers(digits)
    pairs: dict[tuple[int, int], None] = {}
    while len(pairs) <= SOLVED_LINES:
        pairs[random.choice(numbers), random.choice(numbers)] = None
    *solved, (a, b) = pairs
    lines = [f"{left} {sign} {right} -> {_OPERATIONS[sign](left, right) + added}" for left, right in solved]
    return "\n".join([*lines, f"{a} {sign} {b} ->"])


def _numbers(digits: int) -> range:
    """Return the range of numbers with `digits` digits; 0 has one digit."""
    return range(10 ** (digits - 1) if digits > 1 else 0, 10**digits)


@dataclass(frozen=True, slots=True)
class _Term:
    """A part of an expression: its text, with brackets if needed, and its value."""

    text: str
    value: int


def rumultiar(size: int, random: Random) -> Iterator[GeneratedQuestion]:
    """Draw expressions of several depths, equally often; no repeats, no answer more than ten times.

    Raises:
        UsageError: more items are wanted than there are answers.
    """
    if size > len(TARGETS) * MOST_OF_A_TARGET:
        raise UsageError(
            f"there are only {len(TARGETS)} answers with at most {MOST_OF_A_TARGET} items each: ask for fewer than {size} items"
        )
    plan = [
        depth for depth, count in shared_out(size, dict.fromkeys(DEPTHS, 1.0)).items() for _ in range(count)
    ]
    random.shuffle(plan)
    answers: Counter[int] = Counter()
    seen: set[str] = set()
    for depth in plan:
        expression = _fresh(depth, random, answers, seen)
        answers[expression.value] += 1
        seen.add(expression.text)
        yield GeneratedQuestion(f"{expression.text} = ", {"depth": depth})


def _fresh(depth: int, random: Random, answers: Counter[int], seen: set[str]) -> _Term:
    """Draw a new expression whose answer may still occur."""
    drawn = 0
    while True:
        drawn += 1
        expression = _expression(depth, random)
        if expression is not None and drawn > _LUCK:
            free = [answer for answer in TARGETS if answers[answer] < MOST_OF_A_TARGET]
            expression = _led(expression, random.choice(free))
        if (
            expression is not None
            and expression.value in TARGETS
            and answers[expression.value] < MOST_OF_A_TARGET
            and expression.text not in seen
        ):
            return expression


def _led(expression: _Term, answer: int) -> _Term | None:
    """Append a product and a term that give the wanted answer; return `None` if it is too far away."""
    steps = _steps().get(answer - expression.value)
    if steps is None:
        return None
    a, b, c, d = (_number(step).text for step in steps)
    return _Term(f"{expression.text} + {a} * {b} * {c} + {d}", answer)


@cache
def _steps() -> dict[int, tuple[int, int, int, int]]:
    """Return difference -> arguments a, b, c, d with a * b * c + d equal to the difference."""
    return {a * b * c + d: (a, b, c, d) for a, b, c, d in product(ARGUMENTS, repeat=4)}


def _expression(depth: int, random: Random) -> _Term | None:
    """Draw a chain of two to four terms, at least one of depth - 1; return `None` if a quotient is not an integer.

    The value follows the usual precedence: products and quotients first, then sums, both from left to right.
    """
    count = random.choice(_TERMS)
    deepest = random.randrange(count)
    done, sign, product = 0, 1, _Term("", 0)
    text = ""
    for place in range(count):
        term = _term(depth - 1 if place == deepest else random.randrange(depth), random)
        if term is None:
            return None
        operation = random.choice("+-*/") if place else ""
        text += f" {operation} {term.text}" if place else term.text
        if operation == "*":
            product = _Term("", product.value * term.value)
        elif operation == "/":
            if term.value == 0 or product.value % term.value:
                return None
            product = _Term("", product.value // term.value)
        else:
            done += sign * product.value
            sign, product = (-1 if operation == "-" else 1), term
    return _Term(text, done + sign * product.value)


def _term(depth: int, random: Random) -> _Term | None:
    if depth == 0:
        return _number(random.choice(ARGUMENTS))
    inner = _expression(depth, random)
    return None if inner is None else _Term(f"({inner.text})", inner.value)


def _number(value: int) -> _Term:
    return _Term(f"({value})" if value < 0 else str(value), value)
