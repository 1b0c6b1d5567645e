"""pass@k: the probability that at least one of k generated programs is correct."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from math import comb
from typing import Final, cast

from merilo.items import Item
from merilo.metrics.answers import Answer, Generations, Given, program_golds
from merilo.metrics.metric import Metric

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


def pass_metric(k: int) -> Metric:
    """Return the metric pass@k."""
    return Metric(
        f"pass@{k}",
        frozenset({"program"}),
        points=partial(_points, k),
        lacking=partial(_lacking, k),
        display=(f"pass@{k}",),
        steps=partial(_steps, k),
    )


def _points(k: int, _: Answer, item: Item, answer: Given) -> float:
    """Return `pass_at_k` of the generations of an item; of a verdict on one program, whether it passed."""
    if isinstance(answer, str):
        return float(answer == PASSED)
    return pass_at_k(len(answer), _correct(item, answer), k)


def _correct(item: Item, answer: Given) -> int:
    """Count the generations whose `str(result)` equals the gold answer in every test."""
    return cast("Generations", answer).count(tuple(program_golds(item)))


def _lacking(k: int, items: Sequence[Item], answers: Sequence[Given]) -> str | None:
    few = [(item.id, len(answer)) for item, answer in zip(items, answers, strict=False) if len(answer) < k]
    return f"needs {k} generations for every problem; item {few[0][0]!r} has {few[0][1]}" if few else None


def _steps(k: int, _: Answer, item: Item, answer: Given) -> list[str]:
    gold, n, c = program_golds(item), len(answer), _correct(item, answer)
    return [
        f"{n} generations against {len(gold)} tests",
        *(
            f"generation {number}: {_verdict(results, gold)}"
            for number, results in enumerate(cast("Generations", answer), start=1)
        ),
        f"{c} of {n} are correct: pass@{k} = 1 - C({n - c}, {k}) / C({n}, {k}) = {pass_at_k(n, c, k):.4g}",
    ]


def _verdict(results: Sequence[str | None], gold: Sequence[str]) -> str:
    if len(results) != len(gold):
        return f"{len(results)} results for {len(gold)} tests, incorrect"
    for test, (result, true) in enumerate(zip(results, gold, strict=True), start=1):
        if result is None:
            return f"failed at test {test}, incorrect"
        if result != true:
            return f"test {test} gave {result!r} instead of {true!r}, incorrect"
    return "right"
