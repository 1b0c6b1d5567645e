"""How the tasks of one group of annotators are given: what a frozen plan says, in numbers."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from random import Random
from typing import Final

from merilo.people.controls import ExclusionRule
from merilo.studies.plan_checks import LEASE_MINUTES

#: The ranks of tasks are drawn from 0 to this number.
RANKS: Final = 2**31 - 1

_SCALE: Final = 2**64


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRules:
    """How one group's tasks are given; everything comes from the frozen plan, except the times.

    Attributes:
        seed: the seed of the study.
        overlap: how many people answer an item.
        tests: the number of items of the test; their tasks have the numbers from 0.
        controls: the number of control items, whose tasks follow.
        training: the number of training items, whose tasks follow.
        every: one task in so many is a control item; 0 without control items.
        min_accuracy: people with a lower accuracy on control items are stopped.
        min_controls: control items that a person answers before the baseline's rule can exclude them.
        stop_after: control items that a person answers before they can be stopped.
        time_limit: seconds for a task; `None` without a limit.
        limits: the seconds of each task, where they differ; else empty.
        grace: seconds after the limit in which an answer is still taken, for the time on the network.
        lease: seconds after which a task that was not answered goes to somebody else.
        dialogues: whether the tasks are turns of dialogues, which one person answers in order.
        on_screen: how many tasks a page has; 1 in dialogues.
    """

    seed: int
    overlap: int
    tests: int
    controls: int = 0
    training: int = 0
    every: int = 0
    min_accuracy: float = 0.5
    min_controls: int = 1
    stop_after: int = 5
    time_limit: float | None = None
    limits: tuple[float, ...] = ()
    grace: float = 3.0
    lease: float = 60.0 * LEASE_MINUTES
    dialogues: bool = False
    on_screen: int = 1

    def is_test(self, task: int) -> bool:
        """Return whether a task is an item of the test."""
        return task < self.tests

    def is_control(self, task: int) -> bool:
        """Return whether a task is a control item."""
        return self.tests <= task < self.tests + self.controls

    def is_training(self, task: int) -> bool:
        """Return whether a task is a training item."""
        return task >= self.tests + self.controls

    def control_at(self, seed: int, place: int) -> bool:
        """Return whether a control item comes at a place of a person's order.

        One place is drawn among each `every` places, so that people cannot count.

        Args:
            seed: the person's seed.
            place: the place, from 1.
        """
        if not self.controls or not self.every or self.dialogues:
            return False
        turn, at = divmod(place - 1, self.every)
        return turn < self.controls and at == self._number("control", seed, turn) % self.every

    def next_control(self, seed: int, had: Container[int]) -> int | None:
        """Return the task of a person's next control item; they come in random order, and none comes twice.

        Args:
            seed: the person's seed.
            had: the tasks that the person has had, or never gets because they are of another domain.
        """
        random = Random(f"controls {self.seed} {seed}")  # noqa: S311 - an order that can be repeated, not a secret
        order = random.sample(range(self.controls), self.controls)
        return next((self.tests + control for control in order if self.tests + control not in had), None)

    def excludes(self, controls: int, right: int) -> bool:
        """Return whether the baseline would exclude a person with these answers to control items."""
        return bool(ExclusionRule(self.min_accuracy, self.min_controls).excluded(right, controls))

    def stops(self, controls: int, right: int) -> bool:
        """Return whether a person has answered enough control items, and too many of them wrongly."""
        return controls >= self.stop_after and self.excludes(controls, right)

    def start_at(self, seed: int, place: int) -> int:
        """Return the rank from which a person's next task is searched: another random one at every place."""
        return self._number("start", seed, place) * RANKS // _SCALE

    def ends(self, now: int, tasks: Sequence[int]) -> tuple[int, int | None]:
        """Return when tasks that are sent now go back to others, and when their time limit ends, in milliseconds."""
        if self.time_limit is None:
            return now + round(1000 * self.lease), None
        seconds = sum(self.limits[task] if self.limits else self.time_limit for task in tasks)
        due = now + round(1000 * (seconds + self.grace))
        return due, due

    def _number(self, *words: object) -> int:
        text = " ".join(str(word) for word in (self.seed, *words))
        return int.from_bytes(blake2b(text.encode(), digest_size=8, person=b"merilo site").digest())
