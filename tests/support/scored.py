"""Scores of answers to items that have only a gold answer."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial

from merilo.items import Item
from merilo.metrics.answers import Answer, AnswerKind, Given
from merilo.metrics.metric import Score
from merilo.metrics.registry import Scoring
from merilo.metrics.scoring import score
from merilo.strict_json import Json


def scored(
    metric: str,
    answers: Sequence[Given],
    gold: Sequence[Json],
    clusters: Sequence[Hashable] | None = None,
    *,
    kind: AnswerKind = "label",
    separator: str | None = None,
) -> Score:
    """The metric of answers to items with these gold answers, whose ids are 0, 1, ..."""
    form = Answer(kind=kind, alternatives=separator)
    scoring = Scoring(name="made", answer=form, metrics=(metric,), cluster="cluster")
    items = [
        Item(number, "", "", text, {"cluster": cluster})
        for number, (text, cluster) in enumerate(zip(gold, clusters or [None] * len(gold), strict=True))
    ]
    return score(scoring, items, dict(enumerate(answers))).main[metric]


acc, em, f1_macro, mcc = (partial(scored, name) for name in ("acc", "em", "f1_macro", "mcc"))
squad_f1, squad_em = (partial(scored, name, kind="text", separator=";") for name in ("f1", "em"))


def passed(counts: Sequence[tuple[int, int]], k: int) -> Score:
    """pass@k of problems with n generations, c of them correct."""
    answers = [(("1",),) * c + (("2",),) * (n - c) for n, c in counts]
    return scored(f"pass@{k}", answers, [["1"]] * len(counts), kind="program")
