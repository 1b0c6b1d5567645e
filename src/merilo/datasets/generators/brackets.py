"""BPS: sequences of brackets, half of them balanced at every length."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb
from random import Random
from typing import Final

from merilo.datasets.generators.question import Question, shared_out
from merilo.datasets.solvers import solve_bps

#: Length in brackets -> share of the dataset, as published.
LENGTHS: Final = {20: 0.301, 12: 0.279, 8: 0.273, 4: 0.121, 2: 0.026}

_KINDS: Final = ("()", "[]", "{}")
_SIGNS: Final = "()[]{}"


def bps(size: int, random: Random) -> Iterator[Question]:
    """Draw questions, half of them balanced.

    A broken sequence is, half the time, a balanced one with one bracket changed, so that it must be read to be told apart;
    otherwise brackets at random. A sequence comes again only when its length has no other left: of length 2 there are but
    three balanced ones.
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
        yield Question(" ".join(signs))


def _plan(size: int, random: Random) -> Iterator[tuple[int, bool]]:
    """Each item's length and label. Where a length has an odd count, the labels take turns over the lengths."""
    odd = random.random() < 0.5  # who gets the odd one of an odd size
    for length, count in shared_out(size, LENGTHS).items():
        balanced = (count + odd) // 2
        odd ^= bool(count % 2)
        yield from ((length, number < balanced) for number in range(count))


def _distinct(length: int, *, balanced: bool) -> int:
    pairs = length // 2
    right: int = comb(length, pairs) // (pairs + 1) * 3**pairs
    return right if balanced else len(_SIGNS) ** length - right


def _balanced(length: int, random: Random) -> str:
    """A balanced sequence: each step opens or closes with even chances while both are possible."""
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
