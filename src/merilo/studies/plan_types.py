"""The plan of a study: what `study.yaml` holds, as types.

Every class reads one section of the file, and every attribute is a key of that section. An unknown key is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, ClassVar, Final, Literal, TypeAlias

from pydantic import Field, Strict

from merilo.bilingual import Language
from merilo.settings import (
    AdaptiveDesign,
    AdaptiveOverlap,
    AnalysisSettings,
    Count,
    Flag,
    PlannedAnalysis,
    Probability,
    Settings,
    Share,
    Text,
    Whole,
)

#: Names of files in a study's folder.
STUDY_FILE: Final = "study.yaml"
ITEMS_FILE: Final = "items.jsonl"
CONTROLS_FILE: Final = "controls.jsonl"
TRAINING_FILE: Final = "training.jsonl"
WEIGHTS_FILE: Final = "weights.csv"
FROZEN_FILE: Final = "frozen.json"
INSTRUCTION_FILES: Final[Mapping[Language, str]] = {"ru": "instruction.ru.md", "en": "instruction.en.md"}

ArmKind: TypeAlias = Literal["basic", "expert", "untrained"]

Amount: TypeAlias = Annotated[float, Strict(), Field(ge=0, allow_inf_nan=False)]
Positive: TypeAlias = Annotated[float, Strict(), Field(gt=0, allow_inf_nan=False)]

#: A file in the study's folder itself: a plan must not make a command publish a file from elsewhere.
FileName: TypeAlias = Annotated[str, Strict(), Field(pattern=r"^[^/\\.][^/\\]*$")]

_STRICT: Final[dict[str, str]] = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """The dataset's file that the items were drawn from.

    Attributes:
        file: the file, from the study's folder.
        sha256: its hash.
        split: the split of the file.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    file: Text
    sha256: Text
    split: Text = "test"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pay:
    """The pay of an arm.

    Attributes:
        per_page: the pay for a page; `None` while it is not decided.
        currency: the currency's code.
        commission: the platform's commission as a share of the pay, such as 0.3; `None` while it is not known.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    per_page: Amount | None = None
    currency: Text = "USD"
    commission: Share | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """A group of annotators who answer all items of the study.

    Attributes:
        kind: any adults (basic), experts (expert), or people without training on an expert test (untrained).
        overlap: how many annotators answer an item.
        items_per_page: tasks on a page, control items included.
        items_per_person: test items that an annotator answers, on average.
        items_per_hour: tasks that an annotator answers in an hour.
        people: the number of annotators; by default, enough for `items_per_person`.
        pay: the pay.
        time_limit: seconds for a task; `None` without a limit.
        skip_own: whether annotators skip items that they may have written.
        domain: the field of the items that holds the domain: people who are invited for some domains get only their items; `None` if everybody
            gets all items.
        adaptive: the adaptive overlap; `None` for a fixed one. Its limit equals `overlap`.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    kind: ArmKind
    overlap: Count = 5
    items_per_page: Count = 20
    items_per_person: Count = 50
    items_per_hour: Positive = 30.0
    people: Count | None = None
    pay: Pay = Pay()
    time_limit: Positive | None = None
    skip_own: Flag = False
    domain: Text | None = None
    adaptive: AdaptiveOverlap | None = None

    def __post_init__(self) -> None:
        if self.adaptive is None:
            return
        if self.adaptive.limit != self.overlap:
            raise ValueError(
                f"adaptive.limit is {self.adaptive.limit}, but overlap is {self.overlap}: both say how many people answer an item at most"
            )
        if self.kind == "expert" or self.skip_own:
            raise ValueError(
                "adaptive: experts are compared with each other on the same items, which needs a fixed overlap; set adaptive to null"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Restriction:
    """A rule for annotators, in one language of the study or in both.

    Attributes:
        ru: the rule in Russian.
        en: the rule in English.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    ru: Text | None = None
    en: Text | None = None

    def __post_init__(self) -> None:
        if self.ru is None and self.en is None:
            raise ValueError("a restriction needs a text in Russian (ru) or in English (en)")

    def text(self, language: str) -> str | None:
        """Return the rule in a language; `None` if it is not translated."""
        return self.ru if language == "ru" else self.en

    @classmethod
    def of(cls, text: str) -> Restriction:
        """Read a rule in one language, or in both with `|` between them; Cyrillic letters tell the Russian text.

        Raises:
            ValueError: a text is empty, or two texts are in the same language.

        Example:
            >>> Restriction.of("Answer alone. | Отвечайте без помощи.")
            Restriction(ru='Отвечайте без помощи.', en='Answer alone.')
        """
        texts = [part.strip() for part in text.split("|")]
        if not all(texts):
            missing = "takes a text on both sides of |" if any(texts) else "takes a text that is not empty"
            raise ValueError(missing)
        languages = ["ru" if re.search("[А-Яа-яЁё]", part) else "en" for part in texts]
        if len(set(languages)) < len(texts):
            raise ValueError("takes a rule in one language, or in Russian and in English with | between them")
        return cls(**dict(zip(languages, texts, strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnSubset:
    """Which items of the dataset people answer.

    Attributes:
        all: whether they answer all of them.
        size: the number of drawn items.
        of: the number of items of the dataset.
        fields: the fields whose distribution the drawn items keep.
        method: how they were drawn: `all`, `balanced` (in proportion, every field balanced), `even` (as many of each domain).
        per_domain: with `even`, the number of items of each domain.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    all: Flag = False
    size: Count
    of: Count
    fields: tuple[Text, ...] = ()
    method: Literal["all", "balanced", "even"] = "balanced"
    per_domain: Count | None = None

    def __post_init__(self) -> None:
        if self.size > self.of:
            raise ValueError(f"size {self.size} is more than the {self.of} items of the dataset")
        if self.all and self.size != self.of:
            raise ValueError(f"all is true, but size is {self.size} of {self.of}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlsPlan:
    """Items with known answers, placed among the items to check annotators.

    Attributes:
        file: the file of control items.
        share: the share of control items among the tasks of an annotator.
        every: one task in so many is a control item.
        min_accuracy: annotators with a lower accuracy on control items are excluded.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    file: FileName = CONTROLS_FILE
    share: Probability = 0.05
    every: Annotated[int, Strict(), Field(ge=2)] = 20
    min_accuracy: Share = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """Items that annotators answer first, with feedback.

    Attributes:
        file: the file of training items.
        threshold: the share of right answers that admits an annotator to the study.
        feedback: whether an annotator sees the right answer after a wrong one.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    file: FileName = TRAINING_FILE
    threshold: Share = 0.8
    feedback: Flag = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """The assumptions of the computed plan; see `merilo power`.

    Attributes:
        expected: the expected accuracy of the consensus.
        spread: the standard deviation of accuracy between annotators.
        skilled: the accuracy on control items of annotators who should be kept.
        level: the nominal coverage of intervals.
        power: the probability of detecting a difference.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    expected: Probability = 0.9
    spread: Annotated[float, Strict(), Field(ge=0, le=0.5)] = 0.1
    skilled: Probability = 0.85
    level: Probability = 0.95
    power: Probability = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """The plan of a study.

    Attributes:
        study: its name.
        dataset: a name of the catalogue, or the path of a declaration, from the study's folder.
        languages: the languages of the instruction.
        seed: the random seed of every draw.
        source: the dataset's file.
        arms: name -> group of annotators: `people`, and `experts` on expert tests.
        restrictions: the rules for annotators.
        subset: which items are asked.
        controls: the control items; `None` without them.
        training: the training items; `None` without them.
        instruction: language -> file of the instruction.
        assumptions: the assumptions of the computed plan.
        baseline: the settings of the baseline.
        checklist: number of a question of the reporting checklist -> the author's answer; empty until it is given.
        publication: what is published -> where.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    study: Text
    dataset: Text
    languages: tuple[Language, ...] = ("ru", "en")
    seed: Whole = 0
    source: SourceFile
    arms: Mapping[str, Arm]
    restrictions: tuple[Restriction, ...] = ()
    subset: DrawnSubset
    controls: ControlsPlan | None = None
    training: TrainingPlan | None = None
    instruction: Mapping[Language, FileName]
    assumptions: Assumptions = Assumptions()
    baseline: PlannedAnalysis = field(default_factory=PlannedAnalysis)
    checklist: Mapping[str, str] = field(default_factory=dict)
    publication: Mapping[str, str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.arms:
            raise ValueError("arms: a study needs at least one group of annotators")
        if not self.languages:
            raise ValueError("languages: a study needs at least one language")
        if missing := [name for name in self.languages if name not in self.instruction]:
            raise ValueError(f"instruction: there is no file for the language '{missing[0]}'")

    def settings(self, arm: Arm) -> Settings:
        """Return the settings of the baseline for the answers of one group of annotators."""
        decided = {one.name: getattr(self.baseline, one.name) for one in fields(AnalysisSettings)}
        adaptive = None if arm.adaptive is None else str(AdaptiveDesign(arm.adaptive, self.seed))
        return Settings(**decided, adaptive=adaptive, currency=arm.pay.currency)
