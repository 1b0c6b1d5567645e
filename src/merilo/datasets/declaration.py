"""The declaration of a dataset: its properties that are known before its items are read.

Built-in datasets are declared in `catalogue.toml`, custom datasets in a YAML file with the same field names
(`merilo.datasets.custom`). Both give a `Dataset`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias, cast

from merilo.errors import UsageError
from merilo.items import Item
from merilo.strict_json import Json

if TYPE_CHECKING:
    AnswerKind: TypeAlias = Literal["choice", "integer", "text", "program", "criteria", "label", "verdict"]
else:
    # Files cannot declare "label", the kind of answers to a dataset that has no declaration, and "verdict", that of
    # answers that were scored elsewhere.
    AnswerKind = Literal["choice", "integer", "text", "program", "criteria"]


import ast
import tomllib
from importlib.resources import files
from types import MappingProxyType

from merilo.errors import DataError

#: Literal lists longer than this, in characters, are refused.
LONGEST_LITERAL: Final = 1_000_000


def literal_list(text: str, *, what: str) -> list[object]:
    """Parse a list written as a Python literal, as `tests` and `outputs` of programming problems are.

    Nothing is executed: only literals are parsed. A text that is too long, too deeply nested or not a list is refused.

    Args:
        text: the literal.
        what: its name for the message.

    Raises:
        DataError: the text is not a list of literals.

    Example:
        >>> literal_list("[{'n': 3}, {'n': 4}]", what="tests")
        [{'n': 3}, {'n': 4}]
    """
    if len(text) > LONGEST_LITERAL:
        raise DataError(f"is longer than {LONGEST_LITERAL} characters", field=what)
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise DataError("is not a list of literals", field=what) from error
    if not isinstance(value, list):
        raise DataError("is a literal, but not a list", field=what)
    return value


def program_tests(item: Item) -> list[dict[str, object]]:
    """Return the keyword arguments of each test of a programming problem.

    Raises:
        DataError: `inputs.tests` is not a list of dictionaries with names for keys.
    """
    tests = item.inputs.get("tests") if isinstance(item.inputs, Mapping) else None
    cases = _a_list(tests, "inputs.tests")
    for case in cases:
        if not isinstance(case, dict) or not all(isinstance(key, str) and key.isidentifier() for key in case):
            raise DataError("must be a list of dictionaries from arguments to values", field="inputs.tests")
    return cast("list[dict[str, object]]", cases)


def program_golds(item: Item) -> list[str]:
    """Return the expected `str(result)` of each test of a programming problem.

    Raises:
        DataError: `outputs` is not a list, or a list of equal lists, of texts.
    """
    golds = _a_list(item.outputs, "outputs")
    if golds and all(isinstance(sample, list) for sample in golds):
        golds = _a_list(golds[0], "outputs")
    return [*map(str, golds)]


def _a_list(value: object, what: str) -> list[object]:
    """Return a list; one in a text is parsed."""
    if isinstance(value, str):
        return literal_list(value, what=what)
    if not isinstance(value, list):
        raise DataError("must be a list", field=what)
    return value


Provenance: TypeAlias = Literal["measured", "literature", "official statistics", "by definition"]

#: The knowledge skills, which determine the required annotators.
BASIC_SKILLS: Final = ("Common everyday knowledge", "Common domain knowledge")
EXPERT_SKILL: Final = "Expert domain knowledge"

#: The possible names of a dataset's metrics; `pass@k` takes any k.
METRICS: Final = ("acc", "em", "f1", "f1_macro", "mcc", "grade_norm", "j", "sta", "sim", "fl")

#: Metrics that need only the labels of the answer and of the gold answer.
LABEL_METRICS: Final = ("acc", "em", "f1_macro", "mcc", "f1")

#: Kind of answer -> the metrics that can be computed from such answers.
_COMPUTED: Final[Mapping[AnswerKind, tuple[str, ...]]] = {
    "choice": ("acc", "em", "f1_macro", "mcc"),
    "integer": ("acc", "em", "f1_macro"),
    "text": ("acc", "em", "f1", "grade_norm", "j", "sta", "sim", "fl"),
    "program": ("pass@k",),
    "criteria": ("mcc",),
    "label": LABEL_METRICS,
    "verdict": ("acc",),
}
#: Kind of answer -> the metrics that fit a dataset which declares others.
_FITTING: Final[Mapping[AnswerKind, tuple[str, ...]]] = {
    "label": LABEL_METRICS,
    "choice": ("acc", "em", "f1_macro", "mcc"),
    "integer": ("acc", "em"),
    "text": ("f1", "em", "acc"),
}
#: Used by Pydantic if a declaration is read from a file: unknown fields are errors.
_STRICT: Final = {"extra": "forbid"}

_PASS_AT: Final = re.compile(r"pass@[1-9][0-9]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The form of an answer to an item.

    Attributes:
        kind: one of few labels; an integer; free text; a program; one label per criterion; or a label of a
            dataset without a declaration.
        labels: the labels of a choice, or of each criterion.
        criteria: the keys of `outputs`, if it is a dictionary of criteria.
        alternatives: the separator between alternative answers in a gold text.
    """

    kind: AnswerKind
    labels: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    alternatives: str | None = None
    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    def __post_init__(self) -> None:
        if self.kind in {"choice", "criteria"} and len(self.labels) < 2:
            raise ValueError(f"an answer of kind '{self.kind}' needs at least two labels")
        if (self.kind == "criteria") != bool(self.criteria):
            raise ValueError(
                "'criteria' is required for answers of kind 'criteria' and not allowed for others"
            )
        if self.alternatives is not None and self.kind != "text":
            raise ValueError("'alternatives' is allowed only for answers of kind 'text'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shots:
    """The number of few-shot examples before the question, and how they are chosen.

    Attributes:
        count: the number of examples.
        same: the field of `meta` that a shot must share with the item, such as the domain.
        earlier_turns: the context is the dialogue so far, with the respondent's own answers.
    """

    count: int = 0
    same: str | None = None
    earlier_turns: bool = False
    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanFigure:
    """A published human result and its source.

    Attributes:
        metric: the metric's name as in scores; `correct.virtue` for the result of a group.
        value: the published value.
        n: the number of items on which it was measured; `None` if it was not measured or the source does not
            give the number.
        provenance: the kind of result: measured, estimated and so on.
        source: who measured it and how, in a phrase.
    """

    metric: str
    value: float
    n: int | None
    provenance: Provenance
    source: str
    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT


#: How gold answers name one of an item's options: by its letter, number from 0 or from 1, text or own label.
GoldForm: TypeAlias = Literal["letter", "from-0", "from-1", "text", "label"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemColumns:
    """Which columns of a file hold what, so that the file can stay as it is.

    A column inside an object is named with dots: `choices.text`.

    Attributes:
        file: the file of the items; in a YAML file, relative to its folder.
        shots: the file of solved items, with the same columns.
        id: the column of ids; `None`: the rows are numbered from 1.
        fields: a field of the declaration -> its column, if the names differ.
        options: the column of each option, or one column that holds lists. The options become the fields `option_a`,
            `option_b` and so on. If the gold column is one of them, the options of every item are shuffled.
        option_labels: the column with the options' own labels.
        gold: the column of gold answers; the values of several columns are all right answers.
        gold_is: how gold answers name an option.
        gold_after: the text after which a gold answer starts, such as `####`.
        meta: the columns that are kept as `meta`.
    """

    file: str | None = None
    shots: str | None = None
    id: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    option_labels: str | None = None
    gold: tuple[str, ...] = ()
    gold_is: GoldForm | None = None
    gold_after: str | None = None
    meta: tuple[str, ...] = ()
    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """The declaration of a dataset.

    Attributes:
        name: the name in lower case: the key in the catalogue, the file's name, the configuration on the hub.
        title: the benchmark's spelling of the name, in submissions and tables.
        about: the task, in a phrase.
        fields: the keys of `inputs`; empty if `inputs` is a plain text.
        placeholder: the name of a plain text in prompts.
        media: those of the fields that hold a file below `samples/`.
        hidden: those of the fields that a prompt may leave out, such as the tests of a program.
        pool_fields: a field, or `inputs` for a plain text -> the columns of annotation pools that hold it, if
            their names differ; several columns are joined by spaces.
        answer: the form of an answer.
        metrics: names of metrics, the main one first.
        extra: the name of the metric by group, the group's field or fields in braces: `acc.{domain}`.
        cluster: the field of `inputs` or `meta` that items of one cluster share: a text, a dialogue. Items
            with the same value are not independent, which every interval and test takes into account; `None`:
            all items are independent.
        shots: the number and choice of solved items shown to models.
        stop: what ends a generated answer.
        prompts_by: the field of `meta` that determines an item's group of prompts.
        prompts: the dataset's own prompts, if they are not included in Merilo; a group's name may be empty.
        bare: the questions without an instruction, by group of prompts, for requests with several solved
            items; a text for the empty name is used for all groups.
        splits: the splits on the hub.
        sizes: version of the benchmark -> items in the test.
        in_total: whether the dataset counts in the benchmark's total score.
        gold: whether the gold answers of the test are published, "open" or "closed"; `merilo report`
            withholds closed ones.
        skills: the skills that the dataset tests; the knowledge skills determine the required annotators.
        human: published human results.
        items: the columns of a file that is not in the benchmark's format; `None` if it is.
    """

    name: str
    title: str
    about: str = ""
    fields: tuple[str, ...] = ()
    placeholder: str = "inputs"
    media: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    pool_fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    answer: Answer
    metrics: tuple[str, ...]
    extra: str | None = None
    cluster: str | None = None
    shots: Shots = Shots()
    stop: tuple[str, ...] = ("\n",)
    prompts_by: str | None = None
    prompts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    bare: Mapping[str, str] = field(default_factory=dict)
    splits: tuple[str, ...] = ("train", "test")
    sizes: Mapping[str, int] = field(default_factory=dict)
    in_total: bool = False
    gold: Literal["open", "closed"] = "open"
    skills: tuple[str, ...] = ()
    human: tuple[HumanFigure, ...] = ()
    items: ItemColumns | None = None
    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    def __post_init__(self) -> None:
        if not self.metrics:
            raise ValueError("a dataset needs a metric")
        kind = self.answer.kind
        for name in self.metrics:
            if not is_metric(name):
                raise ValueError(
                    f"there is no metric '{name}' (choose from: {', '.join(METRICS)} and pass@k)"
                )
            if _PASS_AT.sub("pass@k", name) not in _COMPUTED[kind]:
                fitting = ", ".join(_COMPUTED[kind])
                raise ValueError(
                    f"the metric '{name}' does not fit answers of kind '{kind}' (choose from: {fitting})"
                )
        if len(set(self.metrics)) < len(self.metrics):
            raise ValueError("a metric is named twice")
        if stray := {*self.media, *self.hidden} - set(self.fields):
            raise ValueError(f"the media or hidden field '{min(stray)}' is not among the fields")

    @property
    def expert(self) -> bool:
        """Whether the dataset needs special training; if so, experts and untrained annotators are asked separately."""
        return EXPERT_SKILL in self.skills

    @property
    def judged(self) -> bool:
        """Whether every answer is right or wrong by itself and has no consensus: programs and scored answers."""
        return self.answer.kind in {"program", "verdict"}

    def results(self, item: Item) -> list[str]:
        """Return the expected `str(result)` for each test of a programming problem.

        Raises:
            DataError: the item's `outputs` are not a list of texts.
        """
        return program_golds(item)

    @property
    def fields_of_groups(self) -> tuple[str, ...]:
        """The fields of `meta` by which the items are grouped, each group with a metric of its own."""
        return tuple(name for name in re.findall(r"\{([\w.]+)\}", self.extra or "") if name != "criterion")

    def group(self, item: Item) -> str | None:
        """Return the name of the metric of an item's group, such as `acc.anatomy`; `None` if there are no groups.

        An answer's criteria are not fields of the item, so `{criterion}` stays in the name.
        """
        return item.fill(self.extra)


def is_metric(name: str) -> bool:
    """Check whether a metric of this name exists.

    Example:
        >>> is_metric("acc"), is_metric("pass@10"), is_metric("pass@0")
        (True, True, False)
    """
    return name in METRICS or _PASS_AT.fullmatch(name) is not None


def undeclared(metric: str = "acc", alternatives: str | None = None, *, name: str = "") -> Dataset:
    """Return a declaration for labels without a declared dataset.

    Args:
        metric: one of `LABEL_METRICS`.
        alternatives: the separator between alternative answers in a gold text; answers are then free texts.
        name: what the dataset is called in messages.

    Raises:
        UsageError: the metric needs more than labels.

    Example:
        >>> undeclared("f1", ";").answer.kind
        'text'
    """
    if metric not in LABEL_METRICS:
        raise UsageError(
            f"the metric '{metric}' needs a dataset; without a dataset, choose from: {', '.join(LABEL_METRICS)}"
        )
    if alternatives is not None and metric not in _FITTING["text"]:
        raise UsageError(f"{metric} takes one gold answer per item, but alternatives were given")
    kind: AnswerKind = "text" if metric == "f1" or alternatives is not None else "label"
    return Dataset(
        name=name, title=name, metrics=(metric,), answer=Answer(kind=kind, alternatives=alternatives)
    )


def scored_elsewhere(dataset: Dataset | None) -> Dataset:
    """Return the declaration of answers that were scored elsewhere: each is right or wrong."""
    known = undeclared() if dataset is None else replace(dataset, cluster=None, items=None)
    return replace(known, answer=Answer(kind="verdict"), metrics=("acc",))


def with_metric(dataset: Dataset, metric: str) -> Dataset:
    """Return the dataset with this metric as its main metric.

    Raises:
        UsageError: the metric does not fit the dataset's answers; the message names those that do.
    """
    fitting = tuple(dict.fromkeys((*dataset.metrics, *_FITTING.get(dataset.answer.kind, ()))))
    if metric not in fitting:
        raise UsageError(
            f"the metric '{metric}' does not fit the answers of {dataset.name} (choose from: {', '.join(fitting)})"
        )
    return replace(dataset, metrics=tuple(dict.fromkeys((metric, *dataset.metrics))))


def declaration_json(dataset: Dataset) -> dict[str, Json]:
    """Return what scoring uses of a declaration as JSON; `read_declaration_json` reads it back."""
    form = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in asdict(dataset.answer).items()
    }
    return {"name": dataset.name, "metrics": list(dataset.metrics), "extra": dataset.extra, "answer": form}


def read_declaration_json(content: Json) -> Dataset | None:
    """Read what `declaration_json` wrote; `None` if the content is not such a declaration."""
    try:
        known = cast("dict[str, Any]", content)
        name, extra, form = str(known.get("name") or ""), known.get("extra"), known["answer"]
        answer = Answer(
            kind=form["kind"],
            labels=tuple(map(str, form.get("labels", ()))),
            criteria=tuple(map(str, form.get("criteria", ()))),
            alternatives=form.get("alternatives"),
        )
        extra = extra if isinstance(extra, str) else None
        return Dataset(
            name=name, title=name, metrics=tuple(map(str, known["metrics"])), answer=answer, extra=extra
        )
    except (KeyError, TypeError, AttributeError, ValueError):
        return None


def _declarations() -> dict[str, Dataset]:
    held = tomllib.loads((files("merilo.datasets") / "catalogue.toml").read_text("utf-8"))
    return {
        name: _declared(name, held["datasets"][name], held["sources"]) for name in sorted(held["datasets"])
    }


def _declared(name: str, given: dict[str, Any], sources: dict[str, dict[str, Any]]) -> Dataset:
    human = (one | sources[one["source"]] for one in given.pop("human"))
    answer, shots = _tuples(given.pop("answer")), given.pop("shots", {})
    return Dataset(
        name=name,
        answer=Answer(**answer),
        shots=Shots(**shots),
        human=tuple(HumanFigure(n=one.pop("n", None), **one) for one in human),
        **_tuples(given),
    )


def _tuples(value: Any) -> Any:  # noqa: ANN401 - any value of a TOML file
    """Return a value with its lists as tuples."""
    if isinstance(value, dict):
        return {name: _tuples(inner) for name, inner in value.items()}
    return tuple(value) if isinstance(value, list) else value


#: Name -> declaration, in the alphabetical order of names.
CATALOGUE: Final = MappingProxyType(_declarations())
