"""The declaration of a dataset: its properties that are known before its items are read.

Built-in datasets are declared in `catalogue.toml`, custom datasets in a YAML file with the same field names
(`merilo.datasets.custom`). Both give a `Dataset`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import ClassVar, Final, Literal, TypeAlias

from pydantic import TypeAdapter

from merilo.errors import UsageError
from merilo.metrics.answers import Answer, AnswerKind
from merilo.metrics.registry import Scoring, fitting, metric_of
from merilo.strict_json import Json

Provenance: TypeAlias = Literal["measured", "literature", "official statistics", "by definition"]

#: The knowledge skills, which determine the required annotators.
BASIC_SKILLS: Final = ("Common everyday knowledge", "Common domain knowledge")
EXPERT_SKILL: Final = "Expert domain knowledge"

#: Used by Pydantic if a declaration is read from a file: unknown fields are errors.
_STRICT: Final = {"extra": "forbid"}


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
        experts: whether experts were asked, in place of people without training.
    """

    metric: str
    value: float
    n: int | None
    provenance: Provenance
    source: str
    experts: bool = False
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
        meta: the columns that are kept as `meta`; if there is a column of ids, its values are the `id`.
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
class Dataset(Scoring):
    """The declaration of a dataset; how its answers are scored is said by `Scoring`.

    Attributes:
        title: the benchmark's spelling of the name, in submissions and tables.
        about: the task, in a phrase.
        fields: the keys of `inputs`; empty if `inputs` is a plain text.
        placeholder: the name of a plain text in prompts.
        media: those of the fields that hold a file below `samples/`.
        hidden: those of the fields that a prompt may leave out, such as the tests of a program.
        pool_fields: a field, or `inputs` for a plain text -> the columns of annotation pools that hold it, if
            their names differ; several columns are joined by spaces.
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

    title: str
    about: str = ""
    fields: tuple[str, ...] = ()
    placeholder: str = "inputs"
    media: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    pool_fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
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
        Scoring.__post_init__(self)
        if re.search(r"[/\\:\x00-\x1f]|^\.", self.name):
            raise ValueError(
                "the name names files: it must have no '/', '\\' or ':', and must not begin with '.'"
            )
        if stray := {*self.media, *self.hidden} - set(self.fields):
            raise ValueError(f"the media or hidden field '{min(stray)}' is not among the fields")

    @property
    def expert(self) -> bool:
        """Whether the dataset needs special training; if so, experts and untrained annotators are asked separately."""
        return EXPERT_SKILL in self.skills


def undeclared(metric: str = "acc", alternatives: str | None = None, *, name: str = "") -> Dataset:
    """Return a declaration for labels without a declared dataset.

    Args:
        metric: a metric of labels, or of short texts.
        alternatives: the separator between alternative answers in a gold text; answers are then free texts.
        name: what the dataset is called in messages.

    Raises:
        UsageError: the metric needs more than labels, or takes one gold answer per item.

    Example:
        >>> undeclared("f1", ";").answer.kind
        'text'
    """
    kind: AnswerKind = "text" if alternatives is not None or metric not in fitting("label") else "label"
    if not _needs_no_dataset(metric, kind):
        kinds: tuple[AnswerKind, ...] = ("label", "text")
        names = dict.fromkeys(
            name for known in kinds for name in fitting(known) if _needs_no_dataset(name, known)
        )
        raise UsageError(
            f"the metric '{metric}' needs a dataset; without one, choose from: {', '.join(names)}"
        )
    return Dataset(
        name=name, title=name, metrics=(metric,), answer=Answer(kind=kind, alternatives=alternatives)
    )


def _needs_no_dataset(metric: str, kind: AnswerKind) -> bool:
    known = metric_of(metric, kind)
    return not (known.unit or known.ratings)


def scored_elsewhere(dataset: Dataset | None) -> Dataset:
    """Return the declaration of answers that were scored elsewhere: each is right or wrong."""
    known = undeclared() if dataset is None else replace(dataset, cluster=None, items=None, extra=None)
    return replace(known, answer=Answer(kind="verdict"), metrics=("acc",))


def with_metric(dataset: Dataset, metric: str) -> Dataset:
    """Return the dataset with this metric as its main metric.

    Raises:
        UsageError: the metric does not fit the dataset's answers; the message names those that do.
    """
    metric_of(metric, dataset.answer.kind)
    return replace(dataset, metrics=tuple(dict.fromkeys((metric, *dataset.metrics))))


def declaration_json(dataset: Dataset) -> dict[str, Json]:
    """Return what scoring uses of a declaration as JSON."""
    scoring = {"name", "metrics", "extra", "answer"}
    content: dict[str, Json] = adapter().dump_python(dataset, mode="json", include=scoring, warnings=False)
    return content


@cache
def adapter() -> TypeAdapter[Dataset]:
    """Return what reads declarations from files, and writes them."""
    return TypeAdapter(Dataset)


def _declarations() -> Iterator[tuple[str, Dataset]]:
    content = tomllib.loads((files("merilo.datasets") / "catalogue.toml").read_text("utf-8"))
    for name, declared in sorted(content["datasets"].items()):
        human = [{"n": None} | figure | content["sources"][figure["source"]] for figure in declared["human"]]
        yield name, adapter().validate_python({**declared, "name": name, "human": human})


#: Name -> declaration, in the alphabetical order of names.
CATALOGUE: Final = MappingProxyType(dict(_declarations()))
