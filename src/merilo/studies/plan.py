"""The plan of a study, `study.yaml`: every key with its type, default, bounds and meaning, read and written.

Every class reads one section of the file, and every attribute is a key of that section. An unknown key is an error. The
comments of the file and the messages about impossible values follow from these classes; every fault is named with its
line and the nearest known key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from functools import cache
from importlib.resources import files
from math import ceil
from pathlib import Path
from textwrap import wrap
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias, get_args, get_origin, get_type_hints

import yaml
from pydantic import Field, Strict, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, to_jsonable_python

from merilo.errors import InputError, MeriloError, fault_text
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
    help_of,
)
from merilo.settings import Text as Words
from merilo.strict_yaml import PlainLoader
from merilo.text import LANGUAGES, Given, Language, Text
from merilo.wording import choices

#: Names of files in a study's folder.
STUDY_FILE: Final = "study.yaml"
ITEMS_FILE: Final = "items.jsonl"
CONTROLS_FILE: Final = "controls.jsonl"
TRAINING_FILE: Final = "training.jsonl"
WEIGHTS_FILE: Final = "weights.csv"
PEOPLE_FILE: Final = "people.txt"
FROZEN_FILE: Final = "frozen.json"
INSTRUCTION_FILES: Final[Mapping[Language, str]] = {"ru": "instruction.ru.md", "en": "instruction.en.md"}

#: Items per annotator, if a study has so many.
ITEMS_PER_PERSON: Final = 50

#: Minutes after which the tasks of a page on Merilo's own site go to others.
LEASE_MINUTES: Final = 30
#: Control items that a person answers there before they can be stopped.
STOP_AFTER: Final = 5

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
    items_per_person: Annotated[
        Count, Help("Items per annotator: the most that one gets on the site from a platform.")
    ] = ITEMS_PER_PERSON
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
class Plan:
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


#: The keys and list positions that lead to a value.
YamlPath: TypeAlias = tuple[str | int, ...]

_LARGEST: Final = 1_000_000
_UNFOLDED: Final[Mapping[str, Any]] = {"allow_unicode": True, "width": 10**9, "sort_keys": False}


@cache
def author_questions() -> Mapping[str, Any]:
    """Return what only the author can answer (`checklist`, `publication`), and all `numbers` of the checklist."""
    text = (files("merilo.studies") / "author_questions.yaml").read_text(encoding="utf-8")
    content: Mapping[str, Any] = yaml.safe_load(text)
    return content


_HEAD: Final = """\
# Plan of a human baseline. Edit what you like, then check it:
#   merilo study validate {folder}
# and before the first answer is collected, record it with its date and hash:
#   merilo study freeze {folder}
# Explanation of every key: docs/studies.md
"""


def plan_text(plan: Plan, *, folder: str, reason: str = "") -> str:
    """Write a plan as YAML with the meaning of every key as a comment; `read_plan` gives the same plan.

    Args:
        plan: the plan.
        folder: the study's folder, for the comment at the top.
        reason: why these arms are asked, for a comment above them.
    """
    parts = [_HEAD.format(folder=folder)]
    for section in fields(plan):
        about = [_meaning(section.name, plan), reason if section.name == "arms" else ""]
        lines = _entry(section.name, getattr(plan, section.name), "")
        if len(lines) > 1 or lines[0].endswith((" []", " null", " {}")):
            lines = [*(f"# {line}" for text in about for line in wrap(text, 100)), *lines]
        else:
            lines = [_commented(lines[0], about[0])]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _entry(name: str, value: object, indent: str) -> list[str]:
    """Return the lines of one key: a section with its keys below it, another value beside it."""
    key = f"{indent}{_flow(name)}:"
    if isinstance(value, tuple) and value and is_dataclass(value[0]):
        listed = yaml.safe_dump([asdict(part) for part in value], **_UNFOLDED)
        return [key, *(f"{indent}  {line}" for line in listed.splitlines())]
    if isinstance(value, Mapping):
        about = author_questions()[name] if name in {"checklist", "publication"} else {}
        members = {inner: (value.get(inner) or "", about.get(inner, "")) for inner in {**about, **value}}
    elif is_dataclass(value) and len(indent) < 4:
        members = {
            part.name: (getattr(value, part.name), _meaning(part.name, value)) for part in fields(value)
        }
    else:
        return [f"{key} {_flow(value)}"]
    lines = [key] if members else [f"{key} {{}}"]
    for inner, (own, meaning) in members.items():
        below = _entry(inner, own, f"{indent}  ")
        lines += below if len(below) > 1 else [_commented(below[0], meaning)]
    return lines


def _commented(line: str, comment: str) -> str:
    return f"{line:<36}  # {comment}" if comment else line


def _meaning(name: str, section: object) -> str:
    """Return the comment of a key; the settings of the baseline have none, 'merilo baseline --help' explains them."""
    about = help_of(name, type(section))
    return about.text if about and not isinstance(section, PlannedAnalysis) else ""


def _flow(value: object) -> str:
    """Return one YAML value on one line; numbers of the checklist and empty texts in double quotes."""
    if isinstance(value, str) and re.fullmatch(r"[\d.]*", value):
        return f'"{value}"'
    plain = to_jsonable_python(value)
    text: str = yaml.safe_dump(plain, default_flow_style=True, **_UNFOLDED)
    return text.removesuffix("...\n").strip()


def first_fault(faults: Sequence[MeriloError], kind: type[MeriloError]) -> MeriloError:
    """Return the first fault as an error of a kind; it says how many more there are."""
    more = len(faults) - 1
    hint = f" (and {more} more; 'merilo study validate' names all of them)" if more else ""
    place = faults[0].place
    return kind(f"{faults[0].marked}{hint}", file=place.file, row=place.row, field=place.field)


@dataclass(slots=True)
class LinedYaml:
    """The content of a YAML file.

    Attributes:
        content: the plain values.
        lines: path -> line of its key, from 1.
        repeated: path and line of every key that occurs twice in one mapping.
    """

    content: object
    lines: dict[YamlPath, int]
    repeated: list[tuple[YamlPath, int]]

    def known(self, path: YamlPath) -> YamlPath:
        """Return the path, or the nearest one above it that the file has."""
        while path and path not in self.lines:
            path = path[:-1]
        return path

    def line(self, path: YamlPath) -> int:
        """Return the line of a path, or of the nearest path above it."""
        return self.lines.get(self.known(path), 1)

    def note(self, node: yaml.Node, path: YamlPath) -> None:
        """Note the lines of a node and of everything below it."""
        self.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            seen: set[str | int] = set()
            for key, value in node.value:
                inner = (*path, str(key.value))
                self.lines[inner] = key.start_mark.line + 1
                if inner[-1] in seen:
                    self.repeated.append((inner, self.lines[inner]))
                seen.add(inner[-1])
                self.note(value, inner)
        elif isinstance(node, yaml.SequenceNode):
            for number, value in enumerate(node.value):
                self.note(value, (*path, number))


def plan_path(study: Path) -> Path:
    """Return the path of `study.yaml`, given the study's folder or the file itself."""
    return study / STUDY_FILE if study.is_dir() or study.name != STUDY_FILE else study


def read_plan(study: Path) -> Plan:
    """Read the plan of a study.

    Args:
        study: the study's folder, or its `study.yaml`.

    Raises:
        InputError: the file cannot be read, or has a fault; the message names the first one with its line.
    """
    plan, faults, _ = read_plan_text(study)
    if plan is None:
        raise first_fault(faults, InputError)
    return plan


def read_plan_text(study: Path) -> tuple[Plan | None, list[MeriloError], LinedYaml]:
    """Read the plan of a study and list all of its faults.

    Returns:
        The plan, `None` if the file has faults; the faults, in the order of the file; the YAML with its lines.

    Raises:
        InputError: the file is missing or is not YAML.
    """
    path = plan_path(study)
    if not path.exists():
        missing = "is not a folder of a study: study.yaml is missing"
        raise InputError(missing if study.exists() else "there is no such folder of a study", file=study)
    source = read_lined_yaml(path)
    faults: list[MeriloError] = [
        InputError(
            "occurs twice in one mapping; keep one of the two", file=STUDY_FILE, row=row, field=_dotted(where)
        )
        for where, row in source.repeated
    ]
    plan: Plan | None = None
    if not isinstance(source.content, Mapping):
        expected = "is not a plan of a study: expected 'study: ...', 'dataset: ...', 'arms: ...'"
        faults.append(InputError(expected, file=STUDY_FILE, row=1))
    else:
        try:
            plan = _adapter().validate_python(source.content)
        except ValidationError as error:
            faults += _faults_of(error, source)
    faults.sort(key=lambda fault: fault.place.row or 0)
    return None if faults else plan, faults, source


@cache
def _adapter() -> TypeAdapter[Plan]:
    return TypeAdapter(Plan)


def _faults_of(error: ValidationError, source: LinedYaml) -> Iterator[InputError]:
    """Convert Pydantic's faults; those of one union's members become one fault."""
    by_path: dict[YamlPath, list[str]] = {}
    for fault in error.errors(include_url=False):
        path: YamlPath = tuple(part for part in fault["loc"] if part != "[key]")
        if fault["type"] != "missing":
            path = source.known(path)
        by_path.setdefault(path, []).append(_message(path, fault))
    for place, messages in by_path.items():
        path, message = place, " or ".join(dict.fromkeys(messages))
        key, colon, rest = message.partition(": ")
        if not path and colon and key in keys_at(()):
            path, message = (key,), rest  # a fault between two sections names the one at fault itself
        yield InputError(message, file=STUDY_FILE, row=source.line(path), field=_dotted(path) or None)


def _message(path: YamlPath, fault: ErrorDetails) -> str:
    if fault["type"] == "unexpected_keyword_argument":
        hint = choices(str(path[-1]), keys_at(path[:-1]), 99)
        return f"is not a key of the plan; {hint.partition(' choose')[0]}"
    return fault_text(fault)


def keys_at(path: YamlPath) -> list[str]:
    """Return the keys that a mapping of the plan may have.

    Example:
        >>> keys_at(("arms", "people", "pay"))
        ['per_page', 'currency', 'commission', 'screening', 'minimum_per_hour']
    """
    kind: Any = Plan
    parts = iter(path)
    for part in parts:
        hint = get_type_hints(kind).get(str(part))
        inner = [known for known in (hint, *get_args(hint)) if is_dataclass(known)]
        if not inner:
            return []
        kind = inner[0]
        if get_origin(hint) in {Mapping, tuple}:
            next(parts, None)  # the name of a group of annotators, or a place in a list
    return [member.name for member in fields(kind)]


def _dotted(path: YamlPath) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def read_lined_yaml(path: Path) -> LinedYaml:
    """Read a YAML file: plain values only, no aliases, no tags.

    Raises:
        InputError: the file cannot be read, is too large, or is not such YAML; the message names the line.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(f"is larger than {_LARGEST} bytes", file=path)
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read ({error})", file=path) from error
    lined = LinedYaml(None, {}, [])
    try:
        loader = PlainLoader(text)
        node = loader.get_single_node()
        if node is not None:
            lined.note(node, ())
            lined.content = loader.construct_document(node)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        row = mark.line + 1 if mark else None
        if isinstance(error, yaml.reader.ReaderError):
            row = text.count("\n", 0, error.position) + 1
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"is not YAML ({reason})", file=path, row=row) from error
    return lined
