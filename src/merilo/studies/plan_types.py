"""The plan of a study: every key of `study.yaml` with its type, default, bounds and meaning.

Every class reads one section of the file, and every attribute is a key of that section. An unknown key is an error. The
comments of the file and the messages about impossible values follow from these classes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from math import ceil
from typing import Annotated, ClassVar, Final, Literal, TypeAlias

from pydantic import Field, Strict

from merilo.items import Item
from merilo.participation import PersonalWords
from merilo.settings import (
    Amount,
    AnalysisSettings,
    Count,
    Flag,
    Help,
    PlannedAnalysis,
    Positive,
    Probability,
    Settings,
    Share,
    Whole,
)
from merilo.settings import Text as Words
from merilo.text import LANGUAGES, Given, Language, Text

#: Names of files in a study's folder.
STUDY_FILE: Final = "study.yaml"
ITEMS_FILE: Final = "items.jsonl"
CONTROLS_FILE: Final = "controls.jsonl"
TRAINING_FILE: Final = "training.jsonl"
WEIGHTS_FILE: Final = "weights.csv"
PEOPLE_FILE: Final = "people.txt"
FROZEN_FILE: Final = "frozen.json"
INSTRUCTION_FILES: Final[Mapping[Language, str]] = {"ru": "instruction.ru.md", "en": "instruction.en.md"}

ArmKind: TypeAlias = Literal["basic", "expert", "untrained"]
Audience: TypeAlias = Literal["basic", "expert"]

#: A file in the study's folder itself: a plan must not make a command publish a file from elsewhere.
FileName: TypeAlias = Annotated[str, Strict(), Field(pattern=r"^[^/\\.][^/\\]*$")]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnWords:
    """A text of the author, in one language of the study or in both."""

    ru: Words | None = None
    en: Words | None = None

    def __post_init__(self) -> None:
        if self.ru is None and self.en is None:
            raise ValueError("needs a text in Russian (ru) or in English (en)")

    def text(self, language: str) -> str | None:
        """Return the text in a language; `None` if it is not translated."""
        return self.ru if language == "ru" else self.en

    @property
    def given(self) -> Given:
        """The text in both languages; in the other one where it is not translated."""
        texts: dict[Language, str | None] = {"en": self.en, "ru": self.ru}
        return Given({language: text for language, text in texts.items() if text})


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """What people read before they agree to take part; tasks and pay are computed."""

    organisation: Annotated[OwnWords | None, Help("Who asks: the organisation and the people.")] = None
    contact: Annotated[Words | None, Help("Whom people may write or call.")] = None
    purpose: Annotated[OwnWords | None, Help("What the answers are for.")] = None
    minutes: Annotated[
        Positive | None, Help("Minutes that taking part lasts; null: computed from items_per_hour.")
    ] = None
    ethics: Annotated[OwnWords | None, Help("Who approved the study, or why no review was needed.")] = None
    data: Annotated[OwnWords | None, Help("Which data of people you keep.")] = None
    kept: Annotated[OwnWords | None, Help("For how long you keep them.")] = None


#: Questions that need no text in the plan: name -> question and options.
_QUESTIONS: Final[Mapping[str, tuple[Text, tuple[Text, ...]]]] = {
    "age": (
        Text("How old are you?"),
        (*map(Text, ("18–24", "25–34", "35–44", "45–54", "55–64")), Text("65 or older")),
    ),
    "native_language": (
        Text("What is your native language?"),
        (Text("Russian", context="language"), Text("English", context="language"),
         Text("Another language"), Text("More than one language")),
    ),
    "education": (
        Text("What is your highest completed education?"),
        (Text("School"), Text("Vocational training"), Text("Bachelor's degree"),
         Text("Master's degree or a diploma of five years"), Text("Doctorate")),
    ),
}  # fmt: skip


def in_languages(text: Text) -> dict[Language, str]:
    """Return a text in every language."""
    return {language: text.in_language(language) for language in LANGUAGES}


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalQuestion:
    """A question about a person, asked before they begin; everybody may decline to answer."""

    name: Words
    question: OwnWords | None = None
    options: tuple[OwnWords, ...] = ()

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", self.name):
            raise ValueError(
                f"the name '{self.name}' may have small Latin letters, digits and _ only, at most 40"
            )
        if self.question is None and self.name not in _QUESTIONS:
            raise ValueError(
                f"'{self.name}' needs a question and options; without them there are {', '.join(_QUESTIONS)}"
            )
        if len(self.choices) < 2:
            raise ValueError(f"'{self.name}' needs at least two options")
        if len({choice.en for choice in self.choices}) < len(self.choices):
            raise ValueError(f"two options of '{self.name}' are alike")

    @property
    def asked(self) -> Text:
        """The question."""
        return self.question.given if self.question else _QUESTIONS[self.name][0]

    @property
    def words(self) -> PersonalWords:
        """The question with its options in both languages."""
        return PersonalWords(
            self.name, in_languages(self.asked), tuple(in_languages(choice) for choice in self.choices)
        )

    @property
    def choices(self) -> tuple[Text, ...]:
        """The options, of which a person chooses one or none."""
        if self.options or self.question:
            return tuple(option.given for option in self.options)
        return _QUESTIONS[self.name][1]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """The dataset's file that the items were drawn from."""

    file: Annotated[Words, Help("The path from this folder.")]
    sha256: Words
    split: Words = "test"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pay:
    """The pay of an arm; a commission of the platform is a share of it, and `screening` that of a failed training."""

    per_page: Amount | None = None
    currency: Words = "USD"
    commission: Share | None = None
    screening: Annotated[
        Amount | None, Help("Pay of somebody who does not pass the training; null: nothing.")
    ] = None
    minimum_per_hour: Amount | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelCodes:
    """The completion codes of a study on Prolific, one for each way in which a person's part ends."""

    complete: Words
    no_consent: Words
    screened_out: Words
    stopped: Words

    def __post_init__(self) -> None:
        codes = [getattr(self, way.name) for way in fields(self)]
        if not all(re.fullmatch(r"[A-Za-z0-9]{4,24}", code) for code in codes):
            raise ValueError("a completion code must have 4 to 24 Latin letters and digits")
        if len(set(codes)) < len(codes):
            raise ValueError("every completion code must differ from the others")


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLimits:
    """Time limits that differ by a field of the items, such as the grade."""

    field: Words
    seconds: Annotated[Mapping[Words, Positive], Help("The seconds for a task, by the value of the field.")]

    def __post_init__(self) -> None:
        if not self.seconds:
            raise ValueError("needs the seconds of at least one value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """A group of annotators who answer all items of the study."""

    kind: Annotated[ArmKind, Help("basic: any adults; untrained: any adults on an expert test; expert.")]
    overlap: Annotated[Count, Help("How many annotators answer an item.")] = 5
    items_per_page: Annotated[Count, Help("Tasks on a page, control items included.")] = 20
    items_on_screen: Annotated[
        int,
        Strict(),
        Field(ge=1, le=20),
        Help("Tasks on a page of Merilo's own site; pay counts items_per_page."),
    ] = 1
    items_per_person: Annotated[Count, Help("Items per annotator, on average.")] = 50
    items_per_hour: Annotated[Positive, Help("Tasks in an hour; 30 unless you have measured it.")] = 30.0
    people: Annotated[Count | None, Help("Number of annotators; null: enough for items_per_person.")] = None
    pay: Annotated[
        Pay,
        Help(
            "per_page: null while it is not decided; commission: the platform's share on top; screening: for a failed "
            "training; minimum_per_hour: warn if people earn less."
        ),
    ] = Pay()
    time_limit: Annotated[
        Positive | TimeLimits | None,
        Help('Seconds for a task; or by a field, {field: grade, seconds: {"5": 240, "9": 420}}.'),
    ] = None
    skip_own: Annotated[Flag, Help("Whether annotators skip items that they may have written.")] = False
    listed: Annotated[
        Flag,
        Help(
            f"Only people with an invitation or a platform's id in {PEOPLE_FILE} may take part; experts always."
        ),
    ] = False
    domain: Annotated[
        Words | None,
        Help("Field of the items with the domain, for experts of domains; null: everybody gets all items."),
    ] = None
    prolific: Annotated[
        PanelCodes | None,
        Help(
            "Completion codes on Prolific, {complete: ..., no_consent: ..., screened_out: ..., stopped: ...}; null: "
            "every person gets a code of their own."
        ),
    ] = None

    def seconds_for(self, item: Item) -> float | None:
        """Return the time limit of an item in seconds; where its value has none, the longest."""
        if not isinstance(self.time_limit, TimeLimits):
            return self.time_limit
        value = str(item.value(self.time_limit.field))
        return self.time_limit.seconds.get(value, max(self.limits))

    @property
    def limits(self) -> tuple[float, ...]:
        """The time limits of the group in seconds, each once; empty without."""
        limit = self.time_limit
        seconds = (
            limit.seconds.values() if isinstance(limit, TimeLimits) else [] if limit is None else [limit]
        )
        return tuple(dict.fromkeys(seconds))


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnSubset:
    """Which items of the dataset people answer."""

    size: Count
    of: Annotated[Count, Help("Items of the dataset.")]
    fields: Annotated[tuple[Words, ...], Help("Kept fields: subset.csv shows each before and after.")] = ()
    method: Annotated[
        Literal["all", "balanced", "even"],
        Help("balanced: in proportion, every field balanced; even: as many of each domain."),
    ] = "balanced"
    per_domain: Annotated[Count | None, Help("With even: items of each domain.")] = None

    def __post_init__(self) -> None:
        if self.size > self.of:
            raise ValueError(f"size {self.size} is more than the {self.of} items of the dataset")


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlsPlan:
    """Items with known answers, placed among the items to check annotators."""

    every: Annotated[
        int,
        Strict(),
        Field(ge=2),
        Help(
            "One task in so many is a control item, at regular intervals, never twice to one person. Annotators below "
            "baseline.min_control_accuracy are excluded."
        ),
    ] = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """Items that annotators answer first, with feedback."""

    threshold: Annotated[
        Share,
        Help("The share of right answers that admits an annotator; with few items, one slip is allowed."),
    ] = 0.8
    feedback: Annotated[Flag, Help("Whether an annotator sees the right answer after a wrong one.")] = True

    def needed(self, items: int) -> int:
        """Return the right answers that admit an annotator: one slip is allowed, unless all must be right.

        Example:
            >>> [TrainingPlan().needed(items) for items in (1, 2, 3, 4, 10)], TrainingPlan(threshold=1.0).needed(3)
            ([1, 1, 2, 3, 8], 3)
        """
        needed = ceil(self.threshold * items - 1e-9)
        return needed if self.threshold == 1.0 or items < 2 else min(needed, items - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistancePlan:
    """What Merilo's own site records about help by AI; the consent page names it."""

    signals: Annotated[
        Flag,
        Help("Counts and times with each answer: pastes, copies, absences, typing rhythm; no content."),
    ] = False
    hidden_text: Annotated[
        Flag, Help("Hidden text beside items with free answers that asks models for a word.")
    ] = False
    declaration: Annotated[
        Flag, Help("An optional question at the end: did you use AI? Without effect on pay.")
    ] = False

    def __bool__(self) -> bool:
        return self.signals or self.hidden_text or self.declaration


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """The assumptions of the computed plan; see `merilo power`."""

    expected: Annotated[Probability, Help("The expected accuracy of the consensus.")] = 0.9
    spread: Annotated[
        float, Strict(), Field(ge=0, le=0.5), Help("Standard deviation of accuracy between annotators.")
    ] = 0.1
    level: Annotated[Probability, Help("Nominal coverage of intervals.")] = 0.95
    power: Annotated[Probability, Help("Probability of detecting a difference.")] = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """The plan of a study; it and its sections have no other keys."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    study: Annotated[Words, Help("The study's name.")]
    dataset: Annotated[Words, Help("A name of 'merilo datasets list', or the file of a declaration.")]
    languages: Annotated[tuple[Language, ...], Help("The languages of the instruction.")] = ("ru", "en")
    seed: Annotated[Whole, Help("The seed of every draw.")] = 0
    source: SourceFile
    arms: Annotated[Mapping[str, Arm], Help("Whom to ask.")]
    restrictions: Annotated[
        tuple[OwnWords, ...], Help("Rules for annotators; the instruction must contain them.")
    ] = ()
    consent: Annotated[
        Consent,
        Help(
            "What the consent page of Merilo's own site tells people, in Russian (ru) and English (en); number of "
            "tasks and pay are computed."
        ),
    ] = field(default_factory=Consent)
    demographics: Annotated[
        tuple[PersonalQuestion, ...],
        Help(
            "Questions about the people on Merilo's own site, such as [{name: age}, {name: native_language}, "
            "{name: education}]; nobody has to answer."
        ),
    ] = ()
    subset: Annotated[
        DrawnSubset,
        Help(
            "Which items are asked. The draw is made by 'merilo study create'; to draw again, create the study again."
        ),
    ]
    controls: Annotated[
        ControlsPlan | None,
        Help("Items with known answers, placed among the items to check annotators; null: none."),
    ] = None
    training: Annotated[
        TrainingPlan | None,
        Help("Items answered first, with feedback: {threshold: 0.8, feedback: true}, or null."),
    ] = None
    instruction: Mapping[Language, FileName]
    assistance: Annotated[
        AssistancePlan,
        Help("What Merilo's own site records about help by AI, by itself without consequences for anybody."),
    ] = AssistancePlan()
    assumptions: Annotated[Assumptions, Help("The assumptions of the computed plan; see 'merilo power'.")] = (
        Assumptions()
    )
    baseline: Annotated[
        PlannedAnalysis,
        Help("Settings of the baseline, decided before answers are seen; as 'merilo baseline' takes them."),
    ] = field(default_factory=PlannedAnalysis)
    checklist: Annotated[
        Mapping[str, str],
        Help(
            "Answers that only you can give for the reporting checklist of Wei et al. (2025), by its numbers. Leave "
            "empty what you do not know: it is reported as not answered. These may be filled in after the freeze."
        ),
    ] = field(default_factory=dict)
    publication: Annotated[
        Mapping[str, str | None],
        Help("What is published, and where. These may be filled in after the freeze."),
    ] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.arms:
            raise ValueError("arms: a study needs at least one group of annotators")
        if not self.languages:
            raise ValueError("languages: a study needs at least one language")
        names = [question.name for question in self.demographics]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"demographics: two questions have the name '{twice[0]}'")
        if missing := [name for name in self.languages if name not in self.instruction]:
            raise ValueError(f"instruction: there is no file for the language '{missing[0]}'")

    def settings(self, arm: Arm) -> Settings:
        """Return the settings of the baseline for the answers of one group of annotators.

        An item of experts who skip their own needs more than half of the answers that it has left.
        """
        decided = {setting.name: getattr(self.baseline, setting.name) for setting in fields(AnalysisSettings)}
        if arm.skip_own:
            decided["min_votes"] = "majority"
        if arm.domain:
            decided["by"] = tuple(dict.fromkeys((*decided["by"], arm.domain)))
        return Settings(**decided, currency=arm.pay.currency)
