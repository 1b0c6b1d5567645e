"""Which answers to an item are equal votes, before the study is over: as the baseline will count them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from merilo.datasets.declaration import Dataset
from merilo.items import Item
from merilo.people.spelling import canonical, key_of, rules_of, unify
from merilo.studies.instruction import SKIP_OWN

_SKIPS: Final = frozenset(SKIP_OWN.values())


@dataclass(frozen=True, slots=True)
class EqualVotes:
    """The comparison of answers in a study.

    Attributes:
        dataset: the dataset's declaration.
        rules: the normalisation rules of the plan.
        metric: the dataset's comparison, see `key_of`; `None` if only identical texts are equal.
        kinds: the type of each item's question, by the number of its task; empty if it has none.
    """

    dataset: Dataset
    rules: tuple[str, ...]
    metric: Callable[[str, str], str] | None
    kinds: tuple[str, ...]

    @staticmethod
    def of(dataset: Dataset, normalise: Sequence[str], items: Sequence[Item]) -> EqualVotes:
        """Prepare the comparison.

        Args:
            dataset: the dataset's declaration.
            normalise: names of normalisation rules, as the plan has them.
            items: the items of the test, by the numbers of their tasks.
        """
        kinds = tuple(str(item.meta.get("type") or "") for item in items)
        return EqualVotes(dataset, rules_of(normalise), key_of(dataset), kinds)

    def key(self, task: int, answer: str) -> str | None:
        """Return a text that is the same for equal votes; `None` for a skip, which is no answer.

        Args:
            task: the number of the task.
            answer: the answer as it was saved.

        Example:
            >>> from merilo.datasets import dataset
            >>> votes = EqualVotes.of(dataset("multiq"), (), [])
            >>> votes.key(0, " The  House. ") == votes.key(0, "house")
            True
        """
        text = " ".join(answer.split())
        if not text or text in _SKIPS:
            return None
        if not self.dataset.answers_as_typed:
            text = unify([text], self.dataset.answer.labels)[text]
        text = canonical(text, self.rules)
        if self.metric is None:
            return text
        return self.metric(text, self.kinds[task] if task < len(self.kinds) else "")
