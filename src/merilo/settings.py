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
from merilo.wording import choices

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
        panel: the group of options in a command's help.
        metavar: the placeholder of the value; by default, it follows from the type.
        option: whether `merilo baseline` has an option for it; plans and the library have it anyway.
    """

    text: str
    panel: str = PROCEDURE
    metavar: str | None = None
    option: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSettings:
    """Settings whose values are checked by their declarations."""

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
        float,
        Strict(),
        Field(gt=0, le=1, allow_inf_nan=False),
        Help(
            "A free-text answer to a control item is right if the F1 of its words is at least this much.",
            option=False,
        ),
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

    alternatives: Annotated[
        Text | None, Help("The separator of several gold answers in one cell.", option=False)
    ] = None
    currency: Annotated[
        str | None, Help("The currency of rewards, if the platform does not state it.", option=False)
    ] = None
    minimum_hourly: Annotated[
        Amount | None, Help("Warn if annotators earned less for an hour of work.", option=False)
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings(CheckedSettings):
    """The settings of a run; `help_of` tells what each one means.

    `None` means the default of the dataset and its kind of answer.
    """

    limit: Annotated[Count | None, Help("Ask only the first N items of each dataset.", INPUT)] = None
    prompts: Annotated[
        Manner | None,
        Help(
            "The form of requests: that of the benchmark's harness, or Merilo's. Default: harness for the "
            "benchmark's datasets.",
            PROMPT,
        ),
    ] = None
    shots: Annotated[
        Whole | None,
        Help("Solved items before each question. Default: as many as the dataset declares.", PROMPT),
    ] = None
    system: Annotated[str | None, Help("The system prompt.", PROMPT)] = None
    as_people: Annotated[
        Flag, Help("Ask exactly what people saw: no shots, each item with its instruction.", PROMPT)
    ] = False
    mode: Annotated[
        AskedMode,
        Help(
            "How closed answers are asked; auto compares log-likelihoods where the backend has them.", PROMPT
        ),
    ] = "auto"
    stop: Annotated[
        tuple[Text, ...] | None,
        Help(
            "A string that ends an answer, \\n for a line break; may be given several times. "
            "Default: those of the dataset, none for chat.",
            PROMPT,
        ),
    ] = None
    max_tokens: Annotated[
        Count | None,
        Help("The most tokens of an answer, thought included. Default: by kind of answer.", PROMPT),
    ] = None
    temperature: Annotated[
        Amount | None,
        Help(
            "The temperature of sampling, 0 for greedy decoding. Default: 0.6 for programs, else 0.", PROMPT
        ),
    ] = None
    seed: Annotated[Whole, Help("The random seed of the choice of shots and of sampling.", PROMPT)] = 0
    samples: Annotated[Count | None, Help("Answers to each item. Default: 10 programs, else 1.", PROMPT)] = (
        None
    )
    price: Annotated[
        Text | None,
        Help(
            "The price in USD of a million tokens of requests and of answers, such as 2.5,10.",
            LIMITS,
            "IN,OUT",
        ),
    ] = None
    max_usd: Annotated[
        Amount | None, Help("Stop when the run has cost so much, earlier commands included.", LIMITS, "USD")
    ] = None
    extract: Annotated[
        Manner | None,
        Help(
            "How answers are read from replies: by Merilo's rules, or as the harness does, by the first label. "
            "May change when a run is resumed. Default: merilo.",
            OUTPUT,
        ),
    ] = None

    def __post_init__(self) -> None:
        super(RunSettings, self).__post_init__()
        if self.as_people and self.shots:
            raise UsageError(f"people saw no shots: leave out {argument('shots')} or {argument('as_people')}")
        if self.as_people and self.prompts:
            raise UsageError(
                f"{argument('as_people')} sends what people saw: leave out {argument('prompts')}"
            )
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
        names = (
            "prompts",
            "shots",
            "system",
            "as_people",
            "mode",
            "stop",
            "max_tokens",
            "temperature",
            "seed",
        )
        chosen = self.parameters()
        return {name: chosen[name] for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramSettings(CheckedSettings):
    """The settings of running programs in the sandbox; `help_of` tells what each one means."""

    partial: Annotated[
        Flag, Help("Score the problems that have completions, even if other problems have none.", INPUT)
    ] = False
    workers: Annotated[
        Count | None,
        Help("How many programs run at once; with --ray, on each node. Default: one per processor.", SANDBOX),
    ] = None
    timeout: Annotated[
        float,
        Strict(),
        Field(ge=0.01, le=86_400, allow_inf_nan=False),
        Help("Time limit of one program with all its tests, in seconds.", SANDBOX),
    ] = 3.0
    memory: Annotated[
        int, Strict(), Field(ge=16, le=1 << 24), Help("Memory limit of one program, in MiB.", SANDBOX)
    ] = 512
    judge_seed: Annotated[
        str | None,
        Help(
            "The seed of a check's random tests; give that of an earlier result to repeat it. "
            "Default: a new secret seed.",
            SANDBOX,
            "TEXT",
        ),
    ] = None
    python: Annotated[
        str | None,
        Help(
            "The Python that runs the programs, 3.9 to 3.14. Default: the one that runs Merilo.",
            SANDBOX,
            "3.12|PATH",
        ),
    ] = None
    packages: Annotated[
        Path | None, Help("A folder of packages that programs may import.", SANDBOX, "DIR")
    ] = None
    backend: Annotated[
        str, Help("The sandbox: bubblewrap, docker, or auto for the first one available.", SANDBOX)
    ] = "auto"
    ray: Annotated[
        str | None,
        Help("Spread the work over a Ray cluster: its address, auto, or local.", SANDBOX, "ADDRESS"),
    ] = None
    unsafe_no_sandbox: Annotated[
        Flag, Help("Run without a sandbox. The programs can then do anything that you can.", SANDBOX)
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

    dataset: Annotated[str | None, Help("The dataset: labels and computed gold.", INPUT, "NAME")] = None
    gold: Annotated[Path | None, Help("Gold answers, joined by id or inputs.", INPUT)] = None
    item: Annotated[
        tuple[str, ...], Help("A column that identifies an item; repeatable.", INPUT, "COLUMN")
    ] = ()
    annotator: Annotated[str | None, Help("The column of annotators' ids.", INPUT, "COLUMN")] = None
    answer: Annotated[str | None, Help("The column of answers.", INPUT, "COLUMN")] = None
    reading: Annotated[Path | None, Help("How columns are read, from merilo inspect.", INPUT, "FILE")] = None
    platform: Annotated[Platform | None, Help("The platform. Default: recognised.", INPUT)] = None
    gold_column: Annotated[str | None, Help("The column of gold answers.", INPUT, "COLUMN")] = None
    skills: Annotated[Path | None, Help("The platform's skills of annotators.", INPUT)] = None


#: Setting -> default, of settings that are not a list; commands in the provenance leave them out.
DEFAULTS: Final[dict[str, Any]] = {
    setting.name: setting.default
    for setting in fields(Settings)
    if isinstance(setting.default, str | int | float)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateSettings(CheckedSettings):
    """What a new study asks, and whom; `help_of` tells what each one means. Everything else is decided in its plan."""

    dataset: Annotated[
        str | None,
        Help(
            "A name of 'merilo datasets list', or the path of a declaration. Default: taken from the data.",
            STUDY,
        ),
    ] = None
    size: Annotated[
        Count | None,
        Help(
            "How many items to draw. Default: all items if there are at most 3,000, otherwise 1,000.", STUDY
        ),
    ] = None
    per_domain: Annotated[
        Count | None,
        Help(
            "Draw this number of items from each domain (the first --field); the guide's draw for experts.",
            STUDY,
        ),
    ] = None
    field: Annotated[
        tuple[Text, ...],
        Help(
            "A field whose distribution the drawn items keep; may be given several times. Default: every field that "
            "can be kept.",
            STUDY,
        ),
    ] = ()
    seed: Annotated[Whole, Help("The seed of every draw.", STUDY)] = 0
    language: Annotated[
        tuple[Literal["ru", "en"], ...],
        Help(
            "A language of the instruction and of the site's pages, the first by default; may be given several times. "
            "Default: en for prompts in English, else ru and en.",
            STUDY,
            "ru|en",
        ),
    ] = ()
    audience: Annotated[
        Literal["basic", "expert"] | None,
        Help("Whom to ask. Default: taken from the dataset's knowledge skills.", STUDY),
    ] = None
    controls: Annotated[
        Path | None,
        Help(
            "A file of items with known answers, or how many to take of the items that are not drawn. Default: the "
            "dataset's shots.",
            STUDY,
            "FILE|N",
        ),
    ] = None
    control_share: Annotated[
        float, Strict(), Field(gt=0, le=0.5, allow_inf_nan=False), Help("The share of control items.", STUDY)
    ] = 0.05
    training: Annotated[
        Path | None,
        Help(
            "Training items, which annotators answer first, with feedback: a file, or how many to take of the items "
            "that are not drawn.",
            STUDY,
            "FILE|N",
        ),
    ] = None
    name: Annotated[str | None, Help("The study's name. Default: the dataset's name.", OUTPUT)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerSettings(CheckedSettings):
    """What is assumed and wanted of a study in planning; `help_of` tells what each one means."""

    expected: Annotated[Probability, Help("The expected score of the consensus.", ESTIMATE)] = 0.9
    half_width: Annotated[
        Annotated[float, Strict(), Field(gt=0, lt=0.5, allow_inf_nan=False)] | None,
        Help("The wanted half-width of the confidence interval.", ESTIMATE),
    ] = None
    difference: Annotated[
        Probability | None,
        Help("The difference between people and a model that the study must detect.", ESTIMATE),
    ] = None
    margin: Annotated[
        Probability | None,
        Help("The margin within which equality with a model must be shown, if it is true.", ESTIMATE),
    ] = None
    discordant: Annotated[
        Annotated[float, Strict(), Field(gt=0, le=1, allow_inf_nan=False)] | None,
        Help(
            "The share of items on which only one side is right. Default: as if errors were independent.",
            ESTIMATE,
        ),
    ] = None
    items: Annotated[Count | None, Help("Compute the precision for this number of items.", ESTIMATE)] = None
    level: Annotated[Probability, Help("The intervals' nominal coverage.", ESTIMATE)] = 0.95
    power: Annotated[
        Probability, Help("The probability of detecting the difference, or of showing equivalence.", ESTIMATE)
    ] = 0.8
    overlap: Annotated[Count, Help("How many annotators answer an item.", PEOPLE)] = 5
    people: Annotated[
        Annotated[int, Strict(), Field(ge=2)] | None,
        Help(
            "How many annotators there are. Default: enough to make their share of the variance negligible.",
            PEOPLE,
        ),
    ] = None
    spread: Annotated[
        Annotated[float, Strict(), Field(ge=0, le=0.5, allow_inf_nan=False)],
        Help("The standard deviation of accuracy between single annotators.", PEOPLE),
    ] = 0.1
    cluster_size: Annotated[
        Annotated[float, Strict(), Field(ge=1, le=10_000_000, allow_inf_nan=False)],
        Help("How many items form a cluster, such as questions about one text.", ESTIMATE),
    ] = 1.0
    icc: Annotated[
        Share, Help("The correlation of items' scores within a cluster, from 0 to 1.", ESTIMATE)
    ] = 0.0
    each: Annotated[Count, Help("How many items one annotator answers.", PEOPLE)] = 50
    min_control_accuracy: Annotated[
        Annotated[float, Strict(), Field(gt=0, le=1, allow_inf_nan=False)],
        Help("Exclude annotators whose accuracy on control items is lower.", CONTROLS),
    ] = DEFAULTS["min_control_accuracy"]
    chance: Annotated[Probability, Help("The expected accuracy of random guessing.", CONTROLS)] = 0.25
    skilled: Annotated[
        Probability, Help("The accuracy on control items of an annotator who should be kept.", CONTROLS)
    ] = 0.85
    exclude: Annotated[
        Probability, Help("The probability of excluding an annotator who guesses.", CONTROLS)
    ] = 0.95
    keep: Annotated[Probability, Help("The probability of keeping a skilled annotator.", CONTROLS)] = 0.95


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
