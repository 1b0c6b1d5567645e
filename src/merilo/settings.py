"""The settings of a baseline and of a run: each with its type, default, bounds and help, declared once.

The options of the commands, the keyword arguments of the library, the section `baseline` of a study's plan,
the parameters of a result and the reference of the commands follow from these classes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    Literal,
    Self,
    TypeAlias,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import Field, Strict, TypeAdapter, ValidationError

from merilo.errors import UsageError, argument, one_text
from merilo.strict_json import Json
from merilo.wording import choices, listed

#: Groups of options in the help of a command.
PROCEDURE: Final = "Procedure"
INPUT: Final = "Input"
STUDY: Final = "The study"
ESTIMATE: Final = "The estimate"
PEOPLE: Final = "The people"
CONTROLS: Final = "Control items"
PROMPT: Final = "Prompt"
LIMITS: Final = "Limits"
OUTPUT: Final = "Output"
SANDBOX: Final = "Sandbox"

REPLIES_HELP: Final = (
    "The answers of tables are whole replies of the model: the answer in each is found as 'merilo run' finds it. "
    "Tables with a field 'reply' need no option."
)

Whole: TypeAlias = Annotated[int, Strict(), Field(ge=0)]
Count: TypeAlias = Annotated[int, Strict(), Field(ge=1)]
Share: TypeAlias = Annotated[float, Strict(), Field(ge=0, le=1, allow_inf_nan=False)]
#: A share that is neither 0 nor 1.
Probability: TypeAlias = Annotated[float, Strict(), Field(gt=0, lt=1, allow_inf_nan=False)]
Positive: TypeAlias = Annotated[float, Strict(), Field(gt=0, allow_inf_nan=False)]
#: A share that is not 0.
Part: TypeAlias = Annotated[float, Strict(), Field(gt=0, le=1, allow_inf_nan=False)]
#: A number of at least 0, such as a price or a temperature.
Amount: TypeAlias = Annotated[float, Strict(), Field(ge=0, allow_inf_nan=False)]
Flag: TypeAlias = Annotated[bool, Strict()]
Text: TypeAlias = Annotated[str, Strict(), Field(min_length=1)]

#: The platform that wrote an export.
Platform: TypeAlias = Literal["toloka", "abc", "label-studio", "mturk", "table"]
#: The method that aggregates votes into labels.
Aggregator: TypeAlias = Literal["majority", "auto", "dawid-skene", "glad"]
#: How items that the aggregator leaves unresolved are treated.
Resolve: TypeAlias = Literal["none", "skill", "glad", "cascade"]
#: What happens to an annotator's second, different answer to an item.
Repeats: TypeAlias = Literal["refuse", "first", "last", "drop"]
#: The level of measurement: labels are names, ranks, or numbers with meaningful differences.
Level: TypeAlias = Literal["nominal", "ordinal", "interval"]
#: How a model is asked: "auto" compares log-likelihoods if the answers are closed and the backend continues a text.
AskedMode: TypeAlias = Literal["auto", "generate", "loglikelihood"]
#: Whose way of asking, choosing shots or reading replies: Merilo's, or that of the benchmark's harness.
Manner: TypeAlias = Literal["harness", "merilo"]


@dataclass(frozen=True, slots=True)
class Help:
    """What a setting means, and how the command line shows it.

    Attributes:
        text: the help of the option.
        panel: the group of options in a command's help; by default, that of the settings' class.
        metavar: the placeholder of the value; by default, it follows from the type.
        option: whether `merilo baseline` has an option for it; plans and the library have it anyway.
    """

    text: str
    panel: str = ""
    metavar: str | None = None
    option: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSettings:
    """Settings whose values are checked by their declarations; `panel` is the usual group of their options."""

    panel: ClassVar[str] = PROCEDURE

    def __post_init__(self) -> None:
        kind: type = type(self)
        # A default needs no check, and making the checks takes long.
        names = [
            setting.name for setting in fields(self) if getattr(self, setting.name) is not setting.default
        ]
        for name in names:
            try:
                _check(name, kind).validate_python(getattr(self, name))
            except ValidationError as error:
                raise UsageError(f"{argument(name)} {one_text(error.errors(include_url=False))}") from error

    @classmethod
    def of(cls, chosen: Mapping[str, object], settings: Self | None = None) -> Self:
        """Return settings with some values chosen, as keyword arguments of the library give them.

        Args:
            chosen: name of a setting -> value; a sequence of texts stands for a tuple, and so does a single text.
            settings: the other values; by default, the defaults.

        Raises:
            UsageError: there is no such setting, or a value is impossible.

        Example:
            >>> Settings.of({"min_votes": 3, "by": ["domain"]}).by
            ('domain',)
        """
        known = [setting.name for setting in fields(cls) if help_of(setting.name, cls)]
        for name in chosen:
            if name not in known:
                raise UsageError(f"there is no setting '{name}' ({choices(name, known, len(known))})")
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list | tuple) else value for name, value in chosen.items()
        }
        for name, value in values.items():
            if isinstance(value, str) and get_origin(type_of(name, cls)) is tuple:
                values[name] = (value,)
        return replace(settings or cls(), **values)

    def parameters(self) -> dict[str, Json]:
        """Return the settings that a user chooses, as the parameters of a result; the dataset's are left out."""
        values = {
            setting.name: getattr(self, setting.name)
            for setting in fields(self)
            if help_of(setting.name, type(self))
        }
        return {name: [*value] if isinstance(value, tuple) else value for name, value in values.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisSettings(CheckedSettings):
    """The settings that the plan of a study decides before answers are seen; `help_of` tells what each one means."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    metric: Annotated[Text | None, Help("The main metric, or the dataset's.", metavar="NAME")] = None
    min_control_accuracy: Annotated[Share, Help("Exclude annotators below it on control items.")] = 0.5
    min_controls: Annotated[
        Count, Help("Keep annotators with fewer control answers: they cannot be judged.", option=False)
    ] = 1
    min_control_score: Annotated[
        Part, Help("The least F1 of words of a right free-text answer to a control item.", option=False)
    ] = 0.5
    min_votes: Annotated[
        Count | Literal["majority"], Help("Equal votes that make a majority.", metavar="majority|N")
    ] = "majority"
    max_low_agreement: Annotated[Share, Help("Reject if a larger share has no majority.")] = 0.3
    aggregator: Annotated[Aggregator, Help("What decides.")] = "majority"
    resolve: Annotated[Resolve, Help("What decides without a majority.")] = "cascade"
    by: Annotated[tuple[Text, ...], Help("Scores by a field; repeatable.", metavar="FIELD")] = ()
    cluster: Annotated[Text | None, Help("Items of one value, one cluster.", metavar="FIELD")] = None
    human_benchmark: Annotated[
        Literal["agreed", "all"], Help("The items of the value for metadata.", metavar="agreed|all")
    ] = "agreed"
    level: Annotated[Level, Help("The scale.")] = "nominal"
    repeats: Annotated[Repeats, Help("Two answers of one person.")] = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedAnalysis(AnalysisSettings):
    """The section `baseline` of a study's plan.

    The settings of the baseline, and the margin for comparisons with models.
    """

    margin: Annotated[Probability, Help("The largest difference from a model that counts as none.")] = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(AnalysisSettings):
    """The settings of a baseline, decided before its metrics are seen; `help_of` tells what each one means."""

    alternatives: Annotated[Text | None, Help("The separator of gold answers in a cell.", option=False)] = (
        None
    )
    currency: Annotated[str | None, Help("The currency of rewards, if not stated.", option=False)] = None
    minimum_hourly: Annotated[Amount | None, Help("Warn if an hour of work earned less.", option=False)] = (
        None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings(CheckedSettings):
    """The settings of a run; `help_of` tells what each one means.

    `None` means the default of the dataset and its kind of answer.
    """

    panel: ClassVar[str] = PROMPT

    limit: Annotated[Count | None, Help("Ask only the first N items of each dataset.", INPUT)] = None
    prompts: Annotated[
        Manner | None, Help("The form of requests. Default: harness for the benchmark's datasets.")
    ] = None
    shots: Annotated[Whole | None, Help("Solved items before each question. Default: the dataset's.")] = None
    system: Annotated[str | None, Help("The system prompt.")] = None
    as_people: Annotated[
        Flag, Help("Ask exactly what people saw: no shots, each item with its instruction.")
    ] = False
    mode: Annotated[
        AskedMode, Help("How closed answers are asked; auto: by log-likelihoods where the backend has them.")
    ] = "auto"
    stop: Annotated[
        tuple[Text, ...] | None,
        Help("What ends an answer, \\n for a line break; repeatable. Default: the dataset's, none for chat."),
    ] = None
    max_tokens: Annotated[
        Count | None, Help("The most tokens of an answer, thought included. Default: by kind of answer.")
    ] = None
    temperature: Annotated[
        Amount | None, Help("The sampling temperature; 0 is greedy. Default: 0.6 for programs, else 0.")
    ] = None
    seed: Annotated[Whole, Help("The random seed of the choice of shots and of sampling.")] = 0
    samples: Annotated[Count | None, Help("Answers to each item. Default: 10 programs, else 1.")] = None
    price: Annotated[
        Text | None,
        Help("USD for a million tokens of requests and of answers, such as 2.5,10.", LIMITS, "IN,OUT"),
    ] = None
    max_usd: Annotated[
        Amount | None, Help("Stop at this cost of the run, earlier commands included.", LIMITS, "USD")
    ] = None
    extract: Annotated[
        Manner | None,
        Help("How answers are read: by Merilo's rules, or the first label as the harness does.", OUTPUT),
    ] = None

    def __post_init__(self) -> None:
        super(RunSettings, self).__post_init__()
        if self.as_people and self.shots:
            raise UsageError(f"people saw no shots: leave out {argument('shots')} or {argument('as_people')}")
        if self.as_people and self.prompts:
            raise UsageError(
                f"{argument('as_people')} sends what people saw: leave out {argument('prompts')}"
            )
        unused = [name for name in ("stop", "max_tokens", "temperature") if getattr(self, name)]
        if self.mode == "loglikelihood" and unused:
            message = f"generates nothing: leave out {listed([*map(argument, unused)])}"
            raise UsageError(message, field=argument("mode", "loglikelihood", given="loglikelihood"))
        if self.max_usd is not None and self.price is None:
            message = f"needs the price of a million tokens: {argument('price', 'IN,OUT')}"
            raise UsageError(message, field=argument("max_usd"))
        if self.price is not None and self.prices is None:
            message = f"takes the prices of requests and of answers, such as 2.5,10, not {self.price!r}"
            raise UsageError(message, field=argument("price"))

    @property
    def prices(self) -> tuple[float, float] | None:
        """The price in US dollars of a million tokens of requests, and of answers; `None` if it is not known."""
        match = re.fullmatch(r"(\d+(?:\.\d+)?),(\d+(?:\.\d+)?)", "".join((self.price or "").split()))
        return (float(match[1]), float(match[2])) if match else None

    @property
    def manner(self) -> Manner:
        """How answers are found in replies."""
        return self.extract or "merilo"

    def of_requests(self) -> dict[str, Json]:
        """Return the settings that every request of a run depends on, which must not change when the run is resumed."""
        names = "prompts shots system as_people mode stop max_tokens temperature seed"
        chosen = self.parameters()
        return {name: chosen[name] for name in names.split()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramSettings(CheckedSettings):
    """The settings of running programs in the sandbox; `help_of` tells what each one means."""

    panel: ClassVar[str] = SANDBOX

    partial: Annotated[
        Flag, Help("Score the problems that have completions, if others lack them.", INPUT)
    ] = False
    workers: Annotated[
        Count | None, Help("Programs that run at once; with --ray, on each node. Default: one per processor.")
    ] = None
    timeout: Annotated[
        float,
        Strict(),
        Field(ge=0.01, le=86_400, allow_inf_nan=False),
        Help("Time limit of one program with all its tests, in seconds."),
    ] = 3.0
    memory: Annotated[
        int, Strict(), Field(ge=16, le=1 << 24), Help("Memory limit of one program, in MiB.")
    ] = 512
    judge_seed: Annotated[
        str | None,
        Help(
            "The seed of a check's random tests; an earlier result names its own. Default: new.",
            metavar="TEXT",
        ),
    ] = None
    python: Annotated[
        str | None,
        Help("What runs the programs, 3.9 to 3.14. Default: what runs Merilo.", metavar="3.12|PATH"),
    ] = None
    packages: Annotated[Path | None, Help("Packages that programs may import.", metavar="DIR")] = None
    backend: Annotated[str, Help("bubblewrap, docker, or auto: the first one available.")] = "auto"
    ray: Annotated[str | None, Help("A Ray cluster: its address, auto, or local.", metavar="ADDRESS")] = None
    unsafe_no_sandbox: Annotated[
        Flag, Help("Run without a sandbox. The programs can then do anything that you can.")
    ] = False

    def __post_init__(self) -> None:
        super(ProgramSettings, self).__post_init__()
        if self.ray is not None and not self.ray.strip():
            raise UsageError("must be an address, auto or local", field=argument("ray"))
        if self.unsafe_no_sandbox and self.backend != "auto":
            raise UsageError(
                f"'{self.backend}' is a sandbox, but {argument('unsafe_no_sandbox')} asks for none; give one of them",
                field=argument("backend"),
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSettings(CheckedSettings):
    """What a study's exports are read with; `help_of` tells what each one means."""

    panel: ClassVar[str] = INPUT

    dataset: Annotated[str | None, Help("The dataset: labels and computed gold.", metavar="NAME")] = None
    gold: Annotated[Path | None, Help("Gold answers, joined by id or inputs.")] = None
    item: Annotated[
        tuple[str, ...], Help("A column that identifies an item; repeatable.", metavar="COLUMN")
    ] = ()
    annotator: Annotated[str | None, Help("The column of annotators' ids.", metavar="COLUMN")] = None
    answer: Annotated[str | None, Help("The column of answers.", metavar="COLUMN")] = None
    reading: Annotated[Path | None, Help("How columns are read, from merilo inspect.", metavar="FILE")] = None
    platform: Annotated[Platform | None, Help("The platform. Default: recognised.")] = None
    gold_column: Annotated[str | None, Help("The column of gold answers.", metavar="COLUMN")] = None
    skills: Annotated[Path | None, Help("The platform's skills of annotators.")] = None


#: Setting -> default, of settings that are not a list; commands in the provenance leave them out.
DEFAULTS: Final[dict[str, Any]] = {
    setting.name: setting.default
    for setting in fields(Settings)
    if isinstance(setting.default, str | int | float)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateSettings(CheckedSettings):
    """What a new study asks, and whom; `help_of` tells what each one means. Everything else is decided in its plan."""

    panel: ClassVar[str] = STUDY

    dataset: Annotated[
        str | None, Help("A name of 'merilo datasets list', or a declaration. Default: taken from the data.")
    ] = None
    size: Annotated[
        Count | None, Help("How many items to draw. Default: all of at most 3,000 items, else 1,000.")
    ] = None
    per_domain: Annotated[
        Count | None, Help("Draw as many of each domain (the first --field), as for experts.")
    ] = None
    field: Annotated[
        tuple[Text, ...],
        Help("A field whose distribution the drawn items keep; repeatable. Default: all that can be kept."),
    ] = ()
    seed: Annotated[Whole, Help("The seed of every draw.")] = 0
    language: Annotated[
        tuple[Literal["ru", "en"], ...],
        Help(
            "Of instruction and pages; repeatable. Default: en for English prompts, else both.",
            metavar="ru|en",
        ),
    ] = ()
    audience: Annotated[
        Literal["basic", "expert"] | None, Help("Whom to ask. Default: by the dataset's knowledge skills.")
    ] = None
    controls: Annotated[
        Path | None,
        Help(
            "Items with known answers, or how many of those not drawn. Default: the shots.", metavar="FILE|N"
        ),
    ] = None
    control_share: Annotated[
        float, Strict(), Field(gt=0, le=0.5, allow_inf_nan=False), Help("The share of control items.")
    ] = 0.05
    training: Annotated[
        Path | None,
        Help(
            "Items answered first, with feedback: a file, or how many of those not drawn.", metavar="FILE|N"
        ),
    ] = None
    name: Annotated[str | None, Help("The study's name. Default: the dataset's name.", OUTPUT)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerSettings(CheckedSettings):
    """What is assumed and wanted of a study in planning; `help_of` tells what each one means."""

    panel: ClassVar[str] = ESTIMATE

    expected: Annotated[Probability, Help("The expected score of the consensus.")] = 0.9
    half_width: Annotated[
        Annotated[float, Strict(), Field(gt=0, lt=0.5, allow_inf_nan=False)] | None,
        Help("The wanted half-width of the confidence interval."),
    ] = None
    difference: Annotated[Probability | None, Help("The difference from a model to detect.")] = None
    margin: Annotated[Probability | None, Help("The margin of equality to be shown.")] = None
    discordant: Annotated[
        Part | None, Help("Items on which only one side is right. Default: as if errors were independent.")
    ] = None
    items: Annotated[Count | None, Help("Compute the precision for this number of items.")] = None
    level: Annotated[Probability, Help("The intervals' nominal coverage.")] = 0.95
    power: Annotated[
        Probability, Help("The probability of detecting the difference, or of showing equivalence.")
    ] = 0.8
    overlap: Annotated[Count, Help("How many annotators answer an item.", PEOPLE)] = 5
    people: Annotated[
        Annotated[int, Strict(), Field(ge=2)] | None,
        Help("How many annotators. Default: enough to make their share of the variance negligible.", PEOPLE),
    ] = None
    spread: Annotated[
        Annotated[float, Strict(), Field(ge=0, le=0.5, allow_inf_nan=False)],
        Help("The standard deviation of accuracy between single annotators.", PEOPLE),
    ] = 0.1
    cluster_size: Annotated[
        Annotated[float, Strict(), Field(ge=1, le=10_000_000, allow_inf_nan=False)],
        Help("How many items form a cluster, such as questions about one text."),
    ] = 1.0
    icc: Annotated[Share, Help("The correlation of items' scores within a cluster.")] = 0.0
    each: Annotated[Count, Help("How many items one annotator answers.", PEOPLE)] = 50
    min_control_accuracy: Annotated[Part, Help("Exclude annotators below it on them.", CONTROLS)] = 0.5
    chance: Annotated[Probability, Help("The expected accuracy of guessing.", CONTROLS)] = 0.25
    skilled: Annotated[Probability, Help("A skilled annotator's accuracy.", CONTROLS)] = 0.85
    exclude: Annotated[Probability, Help("The probability of excluding a guesser.", CONTROLS)] = 0.95
    keep: Annotated[Probability, Help("The probability of keeping a skilled one.", CONTROLS)] = 0.95


@cache
def _annotations(of: type) -> dict[str, Any]:
    return get_type_hints(of, include_extras=True)


@cache
def _check(name: str, of: type) -> TypeAdapter[object]:
    return TypeAdapter(_annotations(of)[name])


def help_of(name: str, of: type = Settings) -> Help | None:
    """Return what a setting means; `None` for a value that no user chooses.

    Args:
        name: the setting.
        of: the class that declares it.

    Example:
        >>> help_of("min_controls").text
        'Keep annotators with fewer control answers: they cannot be judged.'
    """
    kind = _annotations(of)[name]
    known = (mark for part in (kind, *get_args(kind)) for mark in getattr(part, "__metadata__", ()))
    return next((mark for mark in known if isinstance(mark, Help)), None)


def has_option(name: str) -> bool:
    """Return whether `merilo baseline` takes a parameter of a baseline as an option."""
    about = help_of(name) if name in _annotations(Settings) else None
    return bool(about and about.option) or name in {*_annotations(InputSettings), "model", "arm", "other"}


def type_of(name: str, of: type = Settings) -> Any:  # noqa: ANN401 - types of Python have no better type
    """Return the plain type of a setting, without its bounds."""
    return _types(of)[name]


@cache
def _types(of: type) -> dict[str, Any]:
    return get_type_hints(of)
