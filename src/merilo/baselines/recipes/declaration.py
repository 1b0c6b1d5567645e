"""What a recipe says: which questions were asked about an item, and what is made of the answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import ClassVar, Final, Literal, TypeAlias

from merilo.datasets.custom import faults_of, read_yaml
from merilo.errors import InputError, UsageError

#: Metrics that a recipe may ask for.
Metric: TypeAlias = Literal["acc", "em", "f1_macro", "mcc", "j"]

_SUFFIX: Final = ".yaml"

_Config: TypeAlias = dict[str, str]

#: A field that no recipe has is a mistake, and is named.
_STRICT: Final[_Config] = {"extra": "forbid"}

#: Columns of the result beside the fields and the questions.
RESERVED: Final = frozenset({"kept", "gold"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question that people were asked about the items, in a project of its own.

    Attributes:
        about: what was asked, in words.
        shows: the item's fields that people saw; all of them when empty.
        columns: item's field -> how the export calls it, where it calls it otherwise.
        answer: the column of answers, where the export has several.
        accept: the answer that accepts an item.
        min_votes: how many equal votes make a majority; the recipe's own when not given.
    """

    __pydantic_config__: ClassVar[_Config] = _STRICT

    about: str = ""
    shows: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    answer: str | None = None
    accept: str | None = None
    min_votes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreStep:
    """One metric over the answers.

    Attributes:
        metric: the metric.
        questions: the questions whose answers it scores, each by itself; all when empty. Not for `j`.
        gold: the columns of right answers, one score each: criteria such as `virtue` and `law`. Not for `j`.
        source: `j` only: the item's field of the toxic sentence.
        rewritten: `j` only: the item's field of what was made of it.
        kept: whether only items that the recipe keeps are scored.
    """

    __pydantic_config__: ClassVar[_Config] = _STRICT

    metric: Metric
    questions: tuple[str, ...] = ()
    gold: tuple[str, ...] = ("gold",)
    source: str | None = None
    rewritten: str | None = None
    kept: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Several questions about one item.

    Attributes:
        name: its name.
        about: what it is for, in words.
        item: the fields that together are one item.
        questions: name -> question.
        min_votes: how many equal votes make a majority.
        min_control_accuracy: people below it on control items are excluded, in each question by itself.
        resolve: what happens to items without a majority, as in `merilo baseline`.
        keep: the questions that must all accept an item for it to be kept; none keeps nothing apart.
        scores: what is scored.
        compare: two questions whose answers are set beside each other, item by item.
    """

    __pydantic_config__: ClassVar[_Config] = _STRICT

    name: str
    about: str = ""
    item: tuple[str, ...]
    questions: Mapping[str, Question]
    min_votes: int = 3
    min_control_accuracy: float = 0.5
    resolve: Literal["none", "skill", "glad", "cascade"] = "none"
    keep: tuple[str, ...] = ()
    scores: tuple[ScoreStep, ...] = ()
    compare: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.item or not self.questions:
            raise ValueError("a recipe needs the fields of an item and at least one question")
        if taken := sorted(RESERVED.intersection((*self.item, *self.questions))):
            raise ValueError(f"'{taken[0]}' is the result's own name: call the field or question otherwise")
        for name, question in self.questions.items():
            for shown in (*question.shows, *question.columns):
                self._require(shown, self.item, f"question {name} shows", "field")
            if name in self.item:
                raise ValueError(f"question {name} is called like a field of the item")
        if not any(set(self.item) <= set(self.shown(name)) for name in self.questions):
            raise ValueError(
                "no question shows all fields of an item: nothing says which of them belong together"
            )
        for name in self.keep:
            self._require(name, self.questions, "keep", "question")
            if self.questions[name].accept is None:
                raise ValueError(f"keep: question {name} does not say which answer accepts an item")
        if self.compare and len(set(self.compare)) != 2:
            raise ValueError("compare takes two questions")
        for name in self.compare:
            self._require(name, self.questions, "compare", "question")
        for step in self.scores:
            self._check(step)

    def shown(self, question: str) -> tuple[str, ...]:
        """The item's fields that people saw with a question."""
        return self.questions[question].shows or self.item

    def asked(self, step: ScoreStep) -> tuple[str, ...]:
        """The questions that a step scores."""
        return step.questions or tuple(self.questions)

    def _check(self, step: ScoreStep) -> None:
        for name in step.questions:
            self._require(name, self.questions, f"score {step.metric}", "question")
        if step.kept and not self.keep:
            raise ValueError(f"score {step.metric}: kept, and the recipe keeps nothing apart")
        if step.metric == "j":
            for field_name in (step.source, step.rewritten):
                self._require(field_name or "", self.item, "score j: source and rewritten", "field")

    @staticmethod
    def _require(name: str, known: Mapping[str, object] | tuple[str, ...], where: str, what: str) -> None:
        if name not in known:
            raise ValueError(f"{where}: there is no {what} '{name}' (there are: {', '.join(known)})")


@cache
def names() -> tuple[str, ...]:
    """The names of the recipes that Merilo brings."""
    folder = files("merilo.baselines.recipes") / "declared"
    return tuple(
        sorted(path.name.removesuffix(_SUFFIX) for path in folder.iterdir() if path.name.endswith(_SUFFIX))
    )


def text_of(name: str) -> str:
    """The declaration of a recipe that Merilo brings, to read and to copy.

    Raises:
        UsageError: there is none of this name.
    """
    if name not in names():
        raise UsageError(
            f"there is no recipe '{name}' (there are: {', '.join(names())}; or give a YAML file)"
        )
    return (files("merilo.baselines.recipes") / "declared" / f"{name}{_SUFFIX}").read_text(encoding="utf-8")


def recipe(name: str) -> Recipe:
    """A recipe by its name, or from the YAML file of that path.

    Raises:
        UsageError: there is neither.
        InputError: the file is no recipe; one sentence names all faults.
    """
    if name in names():
        with as_file(files("merilo.baselines.recipes") / "declared" / f"{name}{_SUFFIX}") as path:
            return read_recipe(path)
    if name.endswith((".yaml", ".yml")) or Path(name).is_file():
        return read_recipe(Path(name))
    text_of(name)
    raise AssertionError  # text_of has raised


def read_recipe(path: Path) -> Recipe:
    """Read a recipe of one's own.

    Args:
        path: a YAML file with the fields of `Recipe`.

    Raises:
        InputError: the file cannot be read, or is no recipe; one sentence names all faults.
    """
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - only recipes pay for it

    content = read_yaml(path)
    if not isinstance(content, dict):
        raise InputError(
            "holds no recipe: 'name: ...', 'item: [...]', 'questions: ...' were expected", file=path
        )
    try:
        return TypeAdapter(Recipe).validate_python(_texts(content))
    except ValidationError as error:
        raise InputError(faults_of(error), file=path) from error


def _texts(value: object) -> object:
    """YAML reads `accept: 1` as a number and `accept: yes` as a truth; an answer is a text."""
    if not isinstance(value, dict):
        return value
    return {
        key: str(inner) if key == "accept" and isinstance(inner, int | float) and not isinstance(inner, bool)
        else {name: _texts(one) for name, one in inner.items()} if key == "questions" and isinstance(inner, dict)
        else inner
        for key, inner in value.items()
    }  # fmt: skip
