"""Reasons why items have no consensus, in both languages."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from merilo.baselines.pipeline import Baseline


@dataclass(frozen=True, slots=True)
class Unresolved:
    """The items that are unresolved for one reason.

    Attributes:
        code: machine-readable code of the reason.
        items: the number of items.
        en: the reason in English.
        ru: the reason in Russian.
    """

    code: str
    items: int
    en: str
    ru: str


def unresolved(baseline: Baseline) -> list[Unresolved]:
    """Count the items without a consensus by reason; reasons that never occurred are left out."""
    settings = baseline.settings
    left = baseline.consensus.filter(pl.col("label").is_null())
    empty = int((left["votes"] == 0).sum())
    if settings.aggregator == "majority" and settings.resolve == "none":
        open_reason = ("no_majority", "no majority", "нет большинства")
    else:
        open_reason = ("equal", "equal at every step", "равенство на всех шагах")
    found = [
        Unresolved(
            "no_answers", empty, "no answer left after exclusion", "после исключения не осталось ответов"
        ),
        Unresolved(open_reason[0], left.height - empty, open_reason[1], open_reason[2]),
    ]
    return [one for one in found if one.items]
