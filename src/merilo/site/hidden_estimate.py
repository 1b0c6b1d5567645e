"""The estimate of a study so far, computed only when its author asks for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from sqlalchemy import Engine

from merilo.site.live_events import in_thread
from merilo.site.served_study import ServedStudy


@dataclass(frozen=True, slots=True)
class HiddenEstimate:
    """The main metric of what was collected so far.

    Attributes:
        metric: its name; an empty text if there is no estimate.
        value: the estimate; `None` without one.
        low: the lower bound of its 95 % interval; `None` without one.
        high: the upper bound.
        items: the items in the estimate.
        answers: the answers that count.
        problem: why there is no estimate; an empty text if there is one.
        over_annotators: whether the interval is over items and annotators; otherwise it is over items alone.
    """

    metric: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    items: int = 0
    answers: int = 0
    problem: str = ""
    over_annotators: bool = True


#: Computes the estimate of a study from the site's database.
Estimator: TypeAlias = Callable[[Engine, ServedStudy], HiddenEstimate]


class AskedEstimates:
    """Computes estimates when an author asks, in a thread; who asks while one is computed waits for it.

    Args:
        engine: the site's database.
        estimator: computes an estimate.
    """

    def __init__(self, engine: Engine, estimator: Estimator) -> None:
        self._engine = engine
        self._estimator = estimator
        self._running: dict[int, asyncio.Task[HiddenEstimate]] = {}

    async def compute(self, study: ServedStudy) -> HiddenEstimate:
        """Return the estimate of a study."""
        number = study.rules.study
        running = self._running.get(number)
        if running is None:
            running = asyncio.create_task(in_thread(lambda: self._estimator(self._engine, study)))
            self._running[number] = running
            running.add_done_callback(lambda _: self._running.pop(number, None))
        # An author who goes away does not end the computation for another one.
        return await asyncio.shield(running)


def no_estimate(_engine: Engine, _study: ServedStudy) -> HiddenEstimate:
    """Return that there is no estimate: a site without an estimator shows none."""
    return HiddenEstimate()
