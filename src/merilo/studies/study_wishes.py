"""The decisions of the author of a study when it is created."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from merilo.errors import UsageError, argument
from merilo.settings import AdaptiveDesign, AdaptiveOverlap
from merilo.studies.plan_types import Restriction
from merilo.studies.study_source import Audience

#: The guide's overlap.
DEFAULT_OVERLAP: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyWishes:
    """The decisions of the author of a study; the defaults are those of the guide.

    Attributes:
        dataset: a name of the catalogue, or the path of a declaration.
        split: the split whose items are asked.
        name: the study's name; by default, the dataset's.
        audience: whom to ask; by default, taken from the dataset's knowledge skills.
        size: the number of items to draw.
        all_items: whether all items are asked, also of more than 3,000.
        per_domain: the number of items of each domain.
        fields: the fields whose distribution the subset keeps.
        controls: a file with items with known answers; by default, the dataset's shots.
        control_share: the share of control items.
        training: a file with training items.
        restrictions: the author's rules, besides the default ones: each in Russian, in English, or in both with `|` between them.
        overlap: answers to an item.
        expert_overlap: answers to an item by experts.
        adaptive: the adaptive overlap of people who are not experts: `START:LIMIT` or `START:LIMIT:SHARE`; its limit becomes the overlap.
            Without a share, a tenth of the items has fixed overlap.
        items_per_page: tasks on a page.
        items_per_person: test items that an annotator answers.
        pay_per_page: the pay for a page.
        expert_pay_per_page: the pay for a page of experts.
        currency: the currency's code.
        time_limit: seconds for a task.
        expected: the expected accuracy of the consensus.
        seed: the random seed.
    """

    dataset: str | None = None
    split: str | None = None
    name: str | None = None
    audience: Audience | None = None
    size: int | None = None
    all_items: bool = False
    per_domain: int | None = None
    fields: tuple[str, ...] = ()
    controls: Path | None = None
    control_share: float = 0.05
    training: Path | None = None
    restrictions: tuple[str, ...] = ()
    overlap: int = DEFAULT_OVERLAP
    expert_overlap: int | None = None
    adaptive: str | None = None
    items_per_page: int = 20
    items_per_person: int = 50
    pay_per_page: float | None = None
    expert_pay_per_page: float | None = None
    currency: str = "USD"
    time_limit: float | None = None
    expected: float = 0.9
    seed: int = 0

    @property
    def adaptive_overlap(self) -> AdaptiveOverlap | None:
        """The adaptive overlap; `None` for a fixed one.

        Raises:
            UsageError: the text is not an adaptive overlap, or gives the seed, which is that of the study.
        """
        if self.adaptive is None:
            return None
        if self.adaptive.count(":") > 2:
            raise UsageError(
                f"{argument('adaptive')} takes START:LIMIT[:SHARE], such as 3:5:0.1, not '{self.adaptive}'"
            )
        found = AdaptiveDesign.of(self.adaptive).overlap
        return found if self.adaptive.count(":") == 2 else AdaptiveOverlap(found.start, found.limit)

    @property
    def rules(self) -> tuple[Restriction, ...]:
        """The author's rules, read from `restrictions`.

        Raises:
            UsageError: a text is empty, or two texts of a rule are in the same language.
        """
        try:
            return tuple(map(Restriction.of, self.restrictions))
        except ValueError as error:
            raise UsageError(f"{argument('restriction')} {error}") from None

    def check(self) -> None:
        """Refuse impossible values.

        Raises:
            UsageError: a value is out of range.
        """
        if not 0 < self.control_share <= 0.5:
            raise UsageError(
                f"{argument('control_share')} takes a share above 0 and up to 0.5, not {self.control_share:g}"
            )
        if not 0 < self.expected < 1:
            raise UsageError(
                f"{argument('expected')} takes an accuracy between 0 and 1, not {self.expected:g}"
            )
        for name in ("pay_per_page", "expert_pay_per_page", "time_limit"):
            value: float | None = getattr(self, name)
            if value is not None and not 0 <= value < float("inf"):
                raise UsageError(f"{argument(name)} takes a number from 0 on, not {value:g}")
        adaptive = self.adaptive_overlap
        if adaptive is not None and self.overlap not in {DEFAULT_OVERLAP, adaptive.limit}:
            raise UsageError(
                f"{argument('overlap')} is {self.overlap}, but the limit of {argument('adaptive')} is {adaptive.limit}: both say how many "
                f"people answer an item at most; leave {argument('overlap')} out"
            )
        if self.time_limit == 0:
            raise UsageError(f"{argument('time_limit')} takes a number of seconds above 0")
        for name in ("name", "currency", "dataset"):
            if getattr(self, name) == "":
                raise UsageError(f"{argument(name)} takes a text that is not empty")
        _ = self.rules
        for name in ("overlap", "expert_overlap", "items_per_page", "items_per_person", "per_domain"):
            count: int | None = getattr(self, name)
            if count is not None and count < 1:
                raise UsageError(f"{argument(name)} takes a number from 1 on, not {count}")
