"""Generate LCS: pairs of words of random capital letters, every answer from 0 to 9 equally often."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from string import ascii_uppercase
from typing import Final

from merilo.datasets.generators.question import GeneratedQuestion, shared_out
from merilo.datasets.solvers import solve_lcs

#: How long a word may be, as published: from 4 letters, below 32.
LENGTHS: Final = range(4, 32)

#: The answers that an item may have.
ANSWERS: Final = tuple(str(length) for length in range(10))


def lcs(size: int, random: Random) -> Iterator[GeneratedQuestion]:
    """Draw pairs of words; a pair is kept while its answer is still needed, and no pair repeats."""
    order = list(ANSWERS)
    random.shuffle(order)  # if the size is not divisible by ten, random answers get the extra items
    wanted = shared_out(size, dict.fromkeys(order, 1.0))
    kept: dict[str, None] = {}
    while len(kept) < size:
        pair = f"{_word(random)} {_word(random)}"
        answer = solve_lcs(pair)
        if wanted.get(answer, 0) and pair not in kept:
            wanted[answer] -= 1
            kept[pair] = None
    # The rarest answers are found last: without a shuffle, an item's position would reveal its answer.
    pairs = list(kept)
    random.shuffle(pairs)
    yield from map(GeneratedQuestion, pairs)


def _word(random: Random) -> str:
    return "".join(random.choices(ascii_uppercase, k=random.choice(LENGTHS)))
