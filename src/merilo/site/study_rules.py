"""The rules by which a study's tasks are given to people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from random import Random
from typing import Final

from merilo.datasets.declaration import Dataset
from merilo.items import Item
from merilo.people.spelling import canonical, key_of, rules_of, unify
from merilo.settings import AdaptiveOverlap
from merilo.studies.instruction import SKIP_OWN

_SCALE: Final = 2**64


def same_text(_: int, answer: str) -> str | None:
    """Return the key of an answer if texts are compared without white space at the ends and without case."""
    return answer.strip().casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyRules:
    """How one group's tasks are given; everything comes from the frozen plan, except the times.

    Attributes:
        study: the number of the study in the database.
        seed: the seed of the study.
        overlap: how many people answer an item.
        tests: the number of items of the test; their tasks have the numbers from 0.
        controls: the number of control items, whose tasks follow.
        training: the number of training items, whose tasks follow.
        every: one task in so many is a control item; 0 without control items.
        min_accuracy: people with a lower accuracy on control items are stopped.
        stop_after: control items that a person answers before they can be stopped.
        threshold: the share of right answers to training items that admits a person.
        time_limit: seconds for a task; `None` without a limit.
        grace: seconds after the limit in which an answer is still taken, for the time on the network.
        lease: seconds after which a task that was not answered goes to somebody else.
        adaptive: the adaptive overlap; `None` for a fixed one.
        fixed: with adaptive overlap, the tasks of the random share that has fixed overlap.
        vote_key: a function of a task and an answer; answers with equal keys are equal votes. `None` if the
            text is no answer, such as "may be mine".
        dialogues: whether the tasks are turns of dialogues, which one person answers in order.
    """

    study: int
    seed: int
    overlap: int
    tests: int
    controls: int = 0
    training: int = 0
    every: int = 0
    min_accuracy: float = 0.5
    stop_after: int = 5
    threshold: float = 0.8
    time_limit: float | None = None
    grace: float = 3.0
    lease: float = 1800.0
    adaptive: AdaptiveOverlap | None = None
    fixed: frozenset[int] = frozenset()
    vote_key: Callable[[int, str], str | None] = same_text
    dialogues: bool = False

    def control_at(self, seed: int, place: int) -> int | None:
        """Return the task of the control item at a place of a person's order; `None` if the place has none.

        The first place is drawn among the first `every`, so that people cannot count; the control items come
        in random order, and none comes twice.

        Args:
            seed: the person's seed.
            place: the place, from 1.
        """
        if not self.controls or not self.every or self.dialogues:
            return None
        first = self._number("control", seed) % self.every
        turn, rest = divmod(place - 1 - first, self.every)
        if rest or not 0 <= turn < self.controls:
            return None
        random = Random(f"controls {self.seed} {seed}")  # noqa: S311 - an order that can be repeated, not a secret
        return self.tests + random.sample(range(self.controls), self.controls)[turn]

    def start_at(self, seed: int, place: int, ranks: int) -> int:
        """Return the rank from which a person's next task is searched: another random one at every place."""
        return self._number("start", seed, place) * ranks // _SCALE

    def needed(self, task: int) -> int:
        """Return how many people an item of the test is given to at first."""
        if self.adaptive is None:
            return self.overlap
        return self.adaptive.limit if self.in_fixed_slice(task) else self.adaptive.start

    def in_fixed_slice(self, task: int) -> bool:
        """Return whether the overlap of an item is fixed."""
        return self.adaptive is None or task in self.fixed

    def _number(self, *words: object) -> int:
        text = " ".join(str(word) for word in (self.seed, *words))
        return int.from_bytes(blake2b(text.encode(), digest_size=8, person=b"merilo site").digest())


_SKIPS: Final = frozenset(SKIP_OWN.values())


def vote_keys(
    dataset: Dataset, normalise: Sequence[str], items: Sequence[Item]
) -> Callable[[int, str], str | None]:
    """Return a function of a task's number and an answer that makes equal texts of equal votes.

    The baseline counts votes in the same way.

    It returns `None` for a skip, which is no answer.

    Args:
        dataset: the dataset's declaration.
        normalise: names of normalisation rules, as the plan has them.
        items: the items of the test, by the numbers of their tasks.

    Example:
        >>> from merilo.datasets import dataset
        >>> key = vote_keys(dataset("multiq"), (), [])
        >>> key(0, " The  House. ") == key(0, "house")
        True
    """
    rules, metric = rules_of(normalise), key_of(dataset)
    kinds = tuple(str(item.meta.get("type") or "") for item in items)

    def key(task: int, answer: str) -> str | None:
        text = " ".join(answer.split())
        if not text or text in _SKIPS:
            return None
        if not dataset.answers_as_typed:
            text = unify([text], dataset.answer.labels)[text]
        text = canonical(text, rules)
        return text if metric is None else metric(text, kinds[task] if task < len(kinds) else "")

    return key
