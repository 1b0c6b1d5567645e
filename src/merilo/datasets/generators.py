"""Generate datasets of any size; the same seed gives the same bytes."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import count as count_from
from itertools import product
from math import comb
from random import Random
from string import ascii_uppercase
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias, TypeVar

from merilo.datasets.declaration import CATALOGUE
from merilo.datasets.rendering import spread
from merilo.datasets.solvers import SOLVERS, solve_bps, solve_lcs
from merilo.errors import UsageError
from merilo.items import Item, Split
from merilo.strict_json import Json

Key = TypeVar("Key")


#: A question, which becomes the item's inputs, and the item's further metadata.
Question: TypeAlias = tuple[str, Mapping[str, Json]]


def shared_out(size: int, weights: Mapping[Key, float]) -> dict[Key, int]:
    """Apportion whole items in proportion to weights, by largest remainders (earlier keys first on a tie).

    Example:
        >>> shared_out(10, {"a": 0.55, "b": 0.3, "c": 0.15})
        {'a': 6, 'b': 3, 'c': 1}
    """
    total = sum(weights.values())
    exact = {key: size * weight / total for key, weight in weights.items()}
    counts = {key: int(share) for key, share in exact.items()}
    missing = size - sum(counts.values())
    for key in sorted(exact, key=lambda key: counts[key] - exact[key])[:missing]:
        counts[key] += 1
    return counts


def _evenly(kinds: Iterable[Key], size: int, random: Random) -> list[Key]:
    """Return each kind equally often, in a random order."""
    plan = [kind for kind, count in shared_out(size, dict.fromkeys(kinds, 1.0)).items() for _ in range(count)]
    random.shuffle(plan)
    return plan


#: Length in brackets -> share of the dataset, as published.
BRACKET_SHARES: Final = {20: 0.301, 12: 0.279, 8: 0.273, 4: 0.121, 2: 0.026}

_KINDS: Final = ("()", "[]", "{}")
_SIGNS: Final = "()[]{}"


def bps(size: int, random: Random) -> Iterator[Question]:
    """Draw questions, half of them balanced.

    Half of the unbalanced sequences are balanced sequences with one bracket changed, so that only reading the whole
    sequence gives the answer; the others are random brackets. A sequence repeats only if no other of its
    length is left: there are only three balanced sequences of length 2.
    """
    plan = list(_plan(size, random))
    random.shuffle(plan)
    seen: dict[tuple[int, bool], set[str]] = {}
    for length, balanced in plan:
        known = seen.setdefault((length, balanced), set())
        if len(known) == _distinct(length, balanced=balanced):
            known.clear()
        draw = _balanced if balanced else _broken
        signs = _new(partial(draw, length, random), known)
        yield " ".join(signs), {}


def _new(draw: Callable[[], Key], seen: set[Key]) -> Key:
    """Draw until something new comes, and add it to what was seen."""
    while (drawn := draw()) in seen:
        pass
    seen.add(drawn)
    return drawn


def _plan(size: int, random: Random) -> Iterator[tuple[int, bool]]:
    """Yield each item's length and label; lengths with an odd count give the extra item to the labels in turn."""
    odd = random.random() < 0.5  # which label gets the extra item first
    for length, count in shared_out(size, BRACKET_SHARES).items():
        balanced = (count + odd) // 2
        odd ^= bool(count % 2)
        yield from ((length, number < balanced) for number in range(count))


def _distinct(length: int, *, balanced: bool) -> int:
    pairs = length // 2
    right: int = comb(length, pairs) // (pairs + 1) * 3**pairs
    return right if balanced else len(_SIGNS) ** length - right


def _balanced(length: int, random: Random) -> str:
    """Draw a balanced sequence: each step opens or closes with equal probability while both are possible."""
    signs: list[str] = []
    expected: list[str] = []
    while len(signs) + len(expected) < length or expected:
        may_open = len(signs) + len(expected) < length
        if may_open and (not expected or random.random() < 0.5):
            opening, closing = random.choice(_KINDS)
            signs.append(opening)
            expected.append(closing)
        else:
            signs.append(expected.pop())
    return "".join(signs)


def _broken(length: int, random: Random) -> str:
    while True:
        if random.random() < 0.5:
            signs = list(_balanced(length, random))
            signs[random.randrange(length)] = random.choice(_SIGNS)
        else:
            signs = random.choices(_SIGNS, k=length)
        if solve_bps("".join(signs)) == "0":
            return "".join(signs)


#: How long a word may be, as published: from 4 letters, below 32.
WORD_LENGTHS: Final = range(4, 32)

#: The answers that an item may have.
ANSWERS: Final = tuple(str(length) for length in range(10))


def lcs(size: int, random: Random) -> Iterator[Question]:
    """Draw pairs of words; a pair is kept while its answer is still needed, and no pair repeats."""
    order = list(ANSWERS)
    random.shuffle(order)  # if the size is not divisible by ten, random answers get the extra items
    wanted = shared_out(size, dict.fromkeys(order, 1.0))
    drawn: dict[str, None] = {}
    while len(drawn) < size:
        pair = f"{_word(random)} {_word(random)}"
        answer = solve_lcs(pair)
        if wanted.get(answer, 0) and pair not in drawn:
            wanted[answer] -= 1
            drawn[pair] = None
    # The rarest answers are found last: without a shuffle, an item's position would reveal its answer.
    pairs = list(drawn)
    random.shuffle(pairs)
    yield from ((pair, {}) for pair in pairs)


def _word(random: Random) -> str:
    return "".join(random.choices(ascii_uppercase, k=random.choice(WORD_LENGTHS)))


#: SimpleAr: how many digits the terms of a sum have.
DIGITS: Final = range(1, 6)

#: ruMultiAr: the smallest and the largest argument and answer, and how often an answer may occur.
ARGUMENTS: Final = range(-9, 10)
TARGETS: Final = range(-1000, 1001)
MOST_OF_A_TARGET: Final = 10

#: ruMultiAr: levels of brackets in an expression.
DEPTHS: Final = (1, 2, 3)

#: ruModAr: subtask -> sign, digits of the arguments, what is added to the result.
SUBTASKS: Final = {
    f"{name}_{end}": (sign, digits, added)
    for name, sign, digits in (
        *(("three_digit_addition", "+", 3), ("three_digit_subtraction", "-", 3)),
        ("two_digit_multiplication", "*", 2),
    )
    for end, added in (("control", 0), ("plus_one", 1))
}

#: ruModAr: solved lines before the open one.
SOLVED_LINES: Final = 5

_OPERATIONS: Final = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_TERMS: Final = (2, 3, 4)

#: ruMultiAr: after this many rejected draws, an expression is extended to reach an answer that may still occur.
_LUCK: Final = 20


def simplear(size: int, random: Random) -> Iterator[Question]:
    """Draw sums of two numbers with equally many digits, 1 to 5 digits equally often, with no avoidable repeats."""
    seen: dict[int, set[tuple[int, int]]] = {digits: set() for digits in DIGITS}
    for digits in _evenly(DIGITS, size, random):
        numbers, known = _numbers(digits), seen[digits]
        if len(known) == len(numbers) ** 2:
            known.clear()
        first, second = _new(partial(_pair, numbers, random), known)
        yield f"{first} + {second} = ", {}


def rumodar(size: int, random: Random) -> Iterator[Question]:
    """Draw five solved lines and an open one; the six subtasks occur equally often, and no question repeats."""
    seen: set[str] = set()
    for task in _evenly(SUBTASKS, size, random):
        yield _new(partial(_modified, task, random), seen), {"task_type": task}


def _pair(numbers: Sequence[int], random: Random) -> tuple[int, int]:
    return random.choice(numbers), random.choice(numbers)


def _modified(task: str, random: Random) -> str:
    """Make a question of a subtask: six different pairs of arguments, the last without its result."""
    sign, digits, added = SUBTASKS[task]
    numbers = _numbers(digits)
    pairs: dict[tuple[int, int], None] = {}
    while len(pairs) <= SOLVED_LINES:
        pairs[_pair(numbers, random)] = None
    *solved, (a, b) = pairs
    lines = [f"{left} {sign} {right} -> {_OPERATIONS[sign](left, right) + added}" for left, right in solved]
    return "\n".join([*lines, f"{a} {sign} {b} ->"])


def _numbers(digits: int) -> range:
    """Return the range of numbers with `digits` digits; 0 has one digit."""
    return range(10 ** (digits - 1) if digits > 1 else 0, 10**digits)


class _Term(NamedTuple):
    """A part of an expression: its text, with brackets if needed, and its value."""

    text: str
    value: int


def rumultiar(size: int, random: Random) -> Iterator[Question]:
    """Draw expressions of several depths, equally often; no repeats, no answer more than ten times.

    Raises:
        UsageError: more items are wanted than there are answers.
    """
    if size > len(TARGETS) * MOST_OF_A_TARGET:
        many = f"there are only {len(TARGETS)} answers with at most {MOST_OF_A_TARGET} items each"
        raise UsageError(f"{many}: ask for fewer than {size} items")
    answers: Counter[int] = Counter()
    seen: set[str] = set()
    for depth in _evenly(DEPTHS, size, random):
        expression = _fresh(depth, random, answers, seen)
        answers[expression.value] += 1
        seen.add(expression.text)
        yield f"{expression.text} = ", {"depth": depth}


def _fresh(depth: int, random: Random, answers: Counter[int], seen: set[str]) -> _Term:
    """Draw a new expression whose answer may still occur."""
    for drawn in count_from(1):
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
    raise AssertionError


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
    done, sign, product = 0, 1, 0
    text = ""
    for place in range(count):
        term = _term(depth - 1 if place == deepest else random.randrange(depth), random)
        if term is None:
            return None
        operation = random.choice("+-*/") if place else ""
        text += f" {operation} {term.text}" if place else term.text
        if operation == "*":
            product *= term.value
        elif operation == "/":
            if term.value == 0 or product % term.value:
                return None
            product //= term.value
        else:
            done, sign, product = done + sign * product, -1 if operation == "-" else 1, term.value
    return _Term(text, done + sign * product)


def _term(depth: int, random: Random) -> _Term | None:
    if depth == 0:
        return _number(random.choice(ARGUMENTS))
    inner = _expression(depth, random)
    return None if inner is None else _Term(f"({inner.text})", inner.value)


def _number(value: int) -> _Term:
    return _Term(f"({value})" if value < 0 else str(value), value)


#: A generator draws a given number of questions with a random number generator.
Generator: TypeAlias = Callable[[int, Random], Iterator[Question]]

GENERATORS: Final[Mapping[str, Generator]] = MappingProxyType(
    {draw.__name__: draw for draw in (bps, lcs, rumodar, rumultiar, simplear)}
)

#: The largest number of items in one run: all items are held in memory.
LARGEST: Final = 1_000_000

#: How many times questions are drawn again if they repeat questions of the test.
_ROUNDS: Final = 20


def generate(name: str, size: int, seed: int) -> list[Item]:
    """Make the items of a generated dataset.

    Args:
        name: one of `GENERATORS`, in any letter case.
        size: how many items.
        seed: random seed; the same seed gives the same items, to the byte.

    Returns:
        Items with ids from 1, the gold answers computed by the dataset's solver, its prompts spread evenly over them.

    Raises:
        UsageError: the dataset is not a generated one, or cannot be so large.

    Example:
        >>> [item.outputs for item in generate("bps", 4, seed=1)].count("1")
        2
    """
    return list(generate_splits(name, size, seed)[0])


def generate_splits(name: str, size: int, seed: int, *, shots: int = 0) -> list[Split]:
    """Make a test, and shots that repeat none of its questions.

    Args:
        name: one of `GENERATORS`, in any letter case.
        size: how many items the test has.
        seed: random seed; the test is the same with and without shots.
        shots: how many items the shots have; their ids follow those of the test.

    Returns:
        The test, and the shots if any are wanted.

    Raises:
        UsageError: the dataset is not a generated one, or cannot be so large.

    Example:
        >>> [len(split) for split in generate_splits("lcs", 20, seed=1, shots=3)]
        [20, 3]
    """
    key = name.lower()
    if key not in GENERATORS:
        raise UsageError(f"'{name}' cannot be generated (choose from: {', '.join(GENERATORS)})")
    if size < 1 or shots < 0 or size + shots > LARGEST:
        wrong = f"a dataset of {size} items and {shots} shots cannot be made"
        raise UsageError(f"{wrong}: ask for at least 1 item, and at most {LARGEST} items and shots together")
    # The name is part of the seed, so that datasets with equal seeds are independent.
    test = list(GENERATORS[key](size, Random(f"{key} {seed}")))  # noqa: S311 - reproducible on purpose, not a secret
    splits = [Split("test", _items(key, test, 1, seed))]
    if shots:
        splits.append(Split("shots", _items(key, _unasked(key, shots, seed, test), size + 1, seed)))
    return splits


def _unasked(key: str, count: int, seed: int, test: Sequence[Question]) -> list[Question]:
    """Draw questions that are not in the test."""
    asked = {text for text, _ in test}
    random = Random(f"{key} shots {seed}")  # noqa: S311 - as above
    fresh: dict[str, Question] = {}
    for _ in range(_ROUNDS):
        fresh |= {drawn[0]: drawn for drawn in GENERATORS[key](count, random) if drawn[0] not in asked}
        if len(fresh) >= count:
            return [*fresh.values()][:count]
    raise UsageError(f"the test leaves too few questions for {count} shots: ask for a smaller test")


def _items(key: str, questions: Sequence[Question], first: int, seed: int) -> tuple[Item, ...]:
    """Make items with the solver's answers, and assign prompts evenly."""
    items = [
        Item(number, "", text, SOLVERS[key](text), {"id": number, **meta})
        for number, (text, meta) in enumerate(questions, start=first)
    ]
    return tuple(spread(items, CATALOGUE[key], seed=seed))
