"""Generate BPS: sequences of brackets, half of them balanced at every length."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb
from random import Random
from typing import Final

from merilo.datasets.generators.question import GeneratedQuestion, shared_out
from merilo.datasets.solvers import solve_bps

#: Length in brackets -> share of the dataset, as published.
LENGTHS: Final = {20: 0.301, 12: 0.279, 8: 0.273, 4: 0.121, 2: 0.026}

_KINDS: Final = ("()", "[]", "{}")
_SIGNS: Final = "()[]{}"


def bps(size: int, random: Random) -> Iterator[GeneratedQuestion]:
    """Draw questions, half of them balanced.

    Half of the unbalanced sequences are balanced sequences with one bracket changed, so that only reading the whole
    sequence gives the answer; the others are random brackets. A sequence repeats only if no other of its length is left:
    there are only three balanced sequences of length 2.
    """
    plan = list(_plan(size, random))
    random.shuffle(plan)
    seen: dict[tuple[int, bool], set[str]] = {}
    for length, balanced in plan:
        known = seen.setdefault((length, balanced), set())
        if len(known) == _distinct(length, balanced=balanced):
            known.clear()
        while (signs := _balanced(length, random) if balanced else _broken(length, random)) in known:
            pass
        known.add(signs)
        yield GeneratedQuestion(" ".join(signs))


def _plan(size: int, random: Random) -> Iterator[tuple[int, bool]]:
    """Yield each item's length and label; lengths with an odd count give the extra item to the labels in turn."""
    odd = random.random() < 0.5  # which label gets the extra item first
    for length, count in shared_out(size, LENGTHS).items():
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
