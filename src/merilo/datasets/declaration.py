"""The declaration of a dataset: everything that is known before its items are read.

Built-in datasets are declared in `merilo.datasets.catalogue`, custom datasets in a YAML file with the same field
names (`merilo.datasets.custom`). Both give a `Dataset`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal, TypeAlias

from merilo.datasets.program_literals import program_golds
from merilo.items import Item

AnswerKind: TypeAlias = Literal["choice", "integer", "text", "program", "criteria"]
Provenance: TypeAlias = Literal["measured", "literature", "official statistics", "by definition"]

#: The knowledge skills that decide which people must be asked.
BASIC_SKILLS: Final = ("Common everyday knowledge", "Common domain knowledge")
EXPERT_SKILL: Final = "Expert domain knowledge"

#: The names a dataset's metrics may have; `pass@k` takes any k.
METRICS: Final = ("acc", "em", "f1", "f1_macro", "mcc", "grade_norm", "j", "sta", "sim", "fl")
#: Read by Pydantic, when a declaration comes from a file: a field that is not known is a mistake.
_STRICT: Final = {"extra": "forbid"}

_PASS_AT: Final = re.compile(r"pass@[1-9][0-9]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What an answer to an item looks like.

    Attributes:
        kind: one of few labels; an integer; free text; a program; or one label per criterion.
        labels: the labels of a choice, or of each criterion.
        criteria: the keys of `outputs`, where it is a dictionary of criteria.
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
        count: how many.
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
        metric: the metric's name as a score bears it; a group's figure as `correct.virtue`.
        value: the published value.
        n: how many items it was measured on; `None` where nothing was measured, or the source does not say.
        provenance: what kind of figure it is.
        source: who measured it and how, in a phrase.
    """

    metric: str
    value: float
    n: int | None
    provenance: Provenance
    source: str
    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """The declaration of a dataset.

    Attributes:
        name: lower-case: the key in the catalogue, the file's name, the configuration on the hub.
        title: the name as the benchmark writes it, in submissions and tables.
        about: what is asked, in a phrase.
        fields: the keys of `inputs`; empty where `inputs` is a plain text.
        placeholder: how prompts call a plain text.
        media: those of the fields that hold a file below `samples/`.
        hidden: those of the fields that a prompt may leave out, such as the tests of a program.
        answer: what an answer looks like.
        metrics: names of metrics, the main one first.
        extra: the name of the metric by group, the group's field or fields in braces: `acc.{domain}`.
        shots: how models are shown solved items.
        stop: what ends a generated answer.
        prompts_by: the field of `meta` that decides which group of prompts an item takes.
        prompts: the dataset's own prompts, where they do not come with Merilo; a group's name may be empty.
        splits: the splits on the hub.
        sizes: version of the benchmark -> items in the test.
        in_total: whether the dataset counts in the benchmark's total score.
        open_test: whether the gold answers of the test are published.
        skills: what the dataset tests; the knowledge skills decide which people to ask.
        human: published human figures.
    """

    name: str
    title: str
    about: str = ""
    fields: tuple[str, ...] = ()
    placeholder: str = "inputs"
    media: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    answer: Answer
    metrics: tuple[str, ...]
    extra: str | None = None
    shots: Shots = Shots()
    stop: tuple[str, ...] = ("\n",)
    prompts_by: str | None = None
    prompts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    splits: tuple[str, ...] = ("train", "test")
    sizes: Mapping[str, int] = field(default_factory=dict)
    in_total: bool = False
    open_test: bool = True
    skills: tuple[str, ...] = ()
    human: tuple[HumanFigure, ...] = ()
    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    def __post_init__(self) -> None:
        if not self.metrics:
            raise ValueError("a dataset needs a metric")
        unknown = [name for name in self.metrics if not is_metric(name)]
        if unknown:
            raise ValueError(
                f"there is no metric '{unknown[0]}' (choose from: {', '.join(METRICS)} and pass@k)"
            )
        if len(set(self.metrics)) < len(self.metrics):
            raise ValueError("a metric is named twice")
        if stray := {*self.media, *self.hidden} - set(self.fields):
            raise ValueError(f"the media or hidden field '{min(stray)}' is not among the fields")

    @property
    def expert(self) -> bool:
        """Whether special training is needed: experts and untrained people are then asked apart."""
        return EXPERT_SKILL in self.skills

    @property
    def answers_as_typed(self) -> bool:
        """Whether answers are free texts or lists of numbers, which must be read as they were typed."""
        return self.answer.kind == "text" or "grade_norm" in self.metrics

    def results(self, item: Item) -> list[str]:
        """What `str(result)` must be for each test of a programming problem.

        Raises:
            DataError: the item's `outputs` are no such list.
        """
        return program_golds(item)

    def group(self, item: Item) -> str | None:
        """The name of the metric that an item's own group has, such as `acc.anatomy`; `None` where there are no groups.

        The criteria of an answer are no field of the item: `{criterion}` stays to be filled.
        """
        if self.extra is None:
            return None
        known = {**(item.inputs if isinstance(item.inputs, Mapping) else {}), **item.meta}
        return re.sub(r"\{(\w+)\}", lambda found: str(known.get(found[1], found[0])), self.extra)


def is_metric(name: str) -> bool:
    """Whether a metric of this name exists.

    Example:
        >>> is_metric("acc"), is_metric("pass@10"), is_metric("pass@0")
        (True, True, False)
    """
    return name in METRICS or _PASS_AT.fullmatch(name) is not None
