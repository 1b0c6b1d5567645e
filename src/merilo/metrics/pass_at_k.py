"""pass@k: the probability that at least one of k generated programs is correct."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from math import comb
from typing import Final

from merilo.items import ItemId
from merilo.metrics.score import Judgement, Score
from merilo.statistics.intervals import mean_interval

#: The verdict on one program, as the answer of a study of programs.
PASSED: Final = "passed"
FAILED: Final = "failed"


@lru_cache(maxsize=4096)
def pass_at_k(n: int, c: int, k: int) -> float:
    """Return the unbiased estimate of pass@k from n generations, c of them correct.

        pass@k = 1 - C(n - c, k) / C(n, k)

    which is 1 if n - c < k, else 1 - prod_{i = n-c+1 .. n} (1 - k / i). Computed with integers and rounded once, to
    avoid accumulated rounding errors at n = 200, k = 100.

    Args:
        n: how many programs were generated.
        c: how many of them are correct, 0 .. n.
        k: the number of attempts, 1 .. n.

    Raises:
        ValueError: c is outside 0 .. n, or k is outside 1 .. n.

    References:
        M. Chen et al. (2021), Evaluating large language models trained on code, section 2.1.

    Example:
        >>> pass_at_k(10, 3, 1), pass_at_k(10, 3, 5), pass_at_k(10, 3, 10)
        (0.3, 0.9166666666666666, 1.0)
    """
    if not 0 <= c <= n:
        raise ValueError(f"impossible counts: {c} correct of {n} generations")
    if not 1 <= k <= n:
        raise ValueError(
            f"pass@{k} needs at least {max(k, 1)} generations and a positive k, not {n} generations"
        )
    every = comb(n, k)
    return (every - comb(n - c, k)) / every


def is_right(results: Sequence[str | None], gold: Sequence[str]) -> bool:
    """Check whether a generation passed all tests: `str(result)` equals the gold answer in each.

    Args:
        results: `str(result)` for every test, `None` if the program failed. A length other than that of the gold
            counts as incorrect.
        gold: the expected result of every test.

    Example:
        >>> is_right(["[1]", "[2]"], ["[1]", "[2]"]), is_right(["[1]", None], ["[1]", "[2]"])
        (True, False)
    """
    return list(results) == list(gold)


def pass_score(
    counts: Sequence[tuple[int, int]],
    k: int,
    ids: Sequence[ItemId] | None = None,
    clusters: Sequence[Hashable] | None = None,
    *,
    seed: int = 0,
) -> Score:
    """Compute the mean of `pass_at_k` over problems.

    Args:
        counts: (n, c) of each problem: the number of generations and how many of them are correct.
        k: the number of attempts.
        ids: the problems' ids; by default numbers from 0.
        clusters: shape (n,), equal for problems of one cluster; by default, they are independent.
        seed: random seed for the interval's bootstrap.

    Raises:
        ValueError: a problem has fewer than k generations.

    Example:
        >>> pass_score([(10, 10), (10, 0)], 5).value
        0.5
    """
    values = [pass_at_k(n, c, k) for n, c in counts]
    names: Sequence[ItemId] = range(len(values)) if ids is None else ids
    value = sum(values) / len(values) if values else 0.0
    interval = mean_interval(values, clusters, seed=seed)
    return Score(f"pass@{k}", value, len(values), interval, dict(zip(names, values, strict=True)))


def judge(generations: Sequence[Sequence[str | None]], gold: Sequence[str], k: int) -> Judgement:
    """Explain how pass@k judges one problem: which generations passed, and the estimate.

    Raises:
        ValueError: there are fewer than k generations.

    Example:
        >>> judge([["1"], ["2"]], ["1"], 1).points
        0.5
    """
    steps = [f"{len(generations)} generations against {len(gold)} tests"]
    for number, results in enumerate(generations, start=1):
        steps.append(f"generation {number}: {_verdict(results, gold)}")
    n, c = len(generations), sum(is_right(results, gold) for results in generations)
    points = pass_at_k(n, c, k)
    steps.append(f"{c} of {n} are correct: pass@{k} = 1 - C({n - c}, {k}) / C({n}, {k}) = {points:.4g}")
    return Judgement(f"pass@{k}", points, 1.0, tuple(steps))


def _verdict(results: Sequence[str | None], gold: Sequence[str]) -> str:
    if len(results) != len(gold):
        return f"{len(results)} results for {len(gold)} tests, incorrect"
    for test, (result, true) in enumerate(zip(results, gold, strict=True), start=1):
        if result is None:
            return f"failed at test {test}, incorrect"
        if result != true:
            return f"test {test} gave {result!r} instead of {true!r}, incorrect"
    return "right"
