"""Recipes: several questions about one item, and the results computed from all their answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import ClassVar, Final, Literal, TypeAlias, get_args

from merilo.datasets import Dataset, dataset
from merilo.datasets.custom import TextLoader, faults_of, read_yaml
from merilo.errors import InputError, UsageError

#: Metrics available to a recipe without a dataset.
Metric: TypeAlias = Literal["acc", "em", "f1_macro", "mcc", "j"]

_SUFFIX: Final = ".yaml"

_Config: TypeAlias = dict[str, str]

#: Unknown fields are errors, and the message names them.
_STRICT: Final[_Config] = {"extra": "forbid"}

#: Columns of the result besides the fields and the questions.
GOLD, KEPT = "gold", "kept"
RESERVED: Final = frozenset({KEPT, GOLD})


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeQuestion:
    """One question that annotators answered about the items, collected in a separate project.

    Attributes:
        about: description of the question.
        shows: the item's fields shown to annotators; all fields if empty.
        columns: mapping from item field to the export's column, for fields whose names differ.
        answer: the column of answers, if the export has several.
        accept: the answers that accept an item; in a file, a single answer needs no list.
        accept_in_study: the answers that accept an item in a study of `merilo study create`, if they are other ones.
        min_votes: how many equal votes make a majority; by default, the recipe's value.
    """

    __pydantic_config__: ClassVar[_Config] = _STRICT

    about: str = ""
    shows: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    answer: str | None = None
    accept: tuple[str, ...] = ()
    accept_in_study: tuple[str, ...] = ()
    min_votes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreStep:
    """One scoring step of a recipe.

    Attributes:
        metric: the metric; `None` if the recipe names a dataset, whose metrics are then used.
        questions: the questions whose answers are scored, each separately; all questions if empty. Not
            allowed with `source`.
        gold: the columns of gold answers, one score for each; if empty, the dataset's criteria (`virtue`, `law`) or
            `gold`. Not allowed with `source`.
        source: the item's field with the toxic sentence, if rewritten sentences are scored.
        rewritten: the item's field with the rewritten sentence.
        kept: whether only items that the recipe keeps are scored.
    """

    __pydantic_config__: ClassVar[_Config] = _STRICT

    metric: Metric | None = None
    questions: tuple[str, ...] = ()
    gold: tuple[str, ...] = ()
    source: str | None = None
    rewritten: str | None = None
    kept: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Several questions about one item.

    Attributes:
        name: the name of the recipe.
        about: description of its purpose.
        dataset: the dataset whose metrics score the answers: a name from the catalogue or the path of a declaration.
            Without a dataset, every score names its metric.
        item: the fields that together identify an item.
        ignore: input fields of the exports that belong to the platform and not to the item, such as row numbers.
        questions: mapping from name to question.
        min_votes: how many equal votes make a majority.
        min_control_accuracy: annotators with a lower accuracy on control items are excluded, separately for
            each question.
        resolve: what happens to items without a majority, as in `merilo baseline`.
        keep: the questions that must all accept an item for it to be kept; if empty, items are not filtered.
        scores: the scoring steps.
        compare: two questions whose answers are compared item by item.
    """

    __pydantic_config__: ClassVar[_Config] = _STRICT

    name: str
    about: str = ""
    dataset: str | None = None
    item: tuple[str, ...]
    ignore: tuple[str, ...] = ()
    questions: Mapping[str, RecipeQuestion]
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
            raise ValueError(f"'{taken[0]}' is a reserved name of the result: rename the field or question")
        if both := sorted(set(self.item) & set(self.ignore)):
            raise ValueError(f"ignore: '{both[0]}' is also a field of the item")
        self._check_questions()
        for name in self.keep:
            self._require(name, self.questions, "keep", "question")
            if not self.questions[name].accept:
                raise ValueError(f"keep: question {name} has no 'accept' (the answers that accept an item)")
        if self.compare and len(set(self.compare)) != 2:
            raise ValueError("compare takes two questions")
        for name in self.compare:
            self._require(name, self.questions, "compare", "question")
        for step in self.scores:
            self._check(step)

    def _check_questions(self) -> None:
        for name, question in self.questions.items():
            for shown in (*question.shows, *question.columns):
                self._require(shown, self.item, f"question {name} shows", "field")
            if name in self.item:
                raise ValueError(f"question {name} has the same name as a field of the item")
        if not any(set(self.item) <= set(self.shown(name)) for name in self.questions):
            raise ValueError("no question shows all fields of an item, so items cannot be identified")

    def shown(self, question: str) -> tuple[str, ...]:
        """Return the item's fields that annotators saw with a question."""
        return self.questions[question].shows or self.item

    def asked(self, step: ScoreStep) -> tuple[str, ...]:
        """Return the questions that a step scores."""
        return step.questions or tuple(self.questions)

    @property
    def declared(self) -> Dataset | None:
        """Return the declaration of the recipe's dataset.

        Raises:
            UsageError: there is no such dataset.
            InputError: its declaration cannot be read.
        """
        return dataset(self.dataset) if self.dataset else None

    def gold_columns(self, step: ScoreStep) -> tuple[str, ...]:
        """Return the columns of gold answers that a step needs."""
        if step.source:
            return ()
        declared = self.declared
        return step.gold or (declared.answer.criteria if declared else ()) or (GOLD,)

    def _check(self, step: ScoreStep) -> None:
        what = f"score {step.metric}" if step.metric else "score"
        for name in step.questions:
            self._require(name, self.questions, what, "question")
        if step.kept and not self.keep:
            raise ValueError(f"{what}: 'kept' needs the recipe's 'keep'")
        if self.dataset and step.metric:
            raise ValueError(
                f"{what}: 'metric' is not allowed, because the metrics are those of dataset {self.dataset}"
            )
        if not self.dataset and not step.metric:
            raise ValueError(
                f"score: give its 'metric' ({', '.join(get_args(Metric))}) or the recipe's 'dataset'"
            )
        if step.metric == "j" or step.source or step.rewritten:
            for field_name in (step.source, step.rewritten):
                self._require(field_name or "", self.item, f"{what}: source and rewritten", "field")
            if step.metric not in {None, "j"}:
                raise ValueError(f"{what}: only the metric j takes source and rewritten")

    @staticmethod
    def _require(name: str, known: Mapping[str, object] | tuple[str, ...], where: str, what: str) -> None:
        if name not in known:
            raise ValueError(f"{where}: there is no {what} '{name}' (choose from: {', '.join(known)})")


@cache
def names() -> tuple[str, ...]:
    """Return the names of the recipes included in Merilo."""
    folder = files("merilo.baselines.recipes") / "declared"
    return tuple(
        sorted(path.name.removesuffix(_SUFFIX) for path in folder.iterdir() if path.name.endswith(_SUFFIX))
    )


def text_of(name: str) -> str:
    """Return the YAML text of a recipe included in Merilo, to read or copy.

    Raises:
        UsageError: no included recipe has this name.
    """
    if name not in names():
        raise UsageError(
            f"there is no recipe '{name}' (choose from: {', '.join(names())}; or give a YAML file)"
        )
    return (files("merilo.baselines.recipes") / "declared" / f"{name}{_SUFFIX}").read_text(encoding="utf-8")


def recipe(name: str) -> Recipe:
    """Return the recipe of this name, or read it from the YAML file at this path.

    Raises:
        UsageError: there is neither a recipe nor a file of this name.
        InputError: the file is not a valid recipe; one sentence names all errors.
    """
    if name in names():
        with as_file(files("merilo.baselines.recipes") / "declared" / f"{name}{_SUFFIX}") as path:
            return read_recipe(path)
    if name.endswith((".yaml", ".yml")) or Path(name).is_file():
        return read_recipe(Path(name))
    text_of(name)
    raise AssertionError  # text_of has raised


def read_recipe(path: Path) -> Recipe:
    """Read a user's recipe from a file.

    Args:
        path: a YAML file with the fields of `Recipe`. Plain values are read as text: `accept: yes` is the answer
            "yes", and `accept: false` is the answer "false".

    Raises:
        InputError: the file cannot be read or is not a valid recipe; one sentence names all errors.
    """
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - imported only for recipes: slow to load

    content = read_yaml(path, loader=TextLoader)
    if not isinstance(content, dict):
        raise InputError("is not a recipe: expected 'name: ...', 'item: [...]', 'questions: ...'", file=path)
    try:
        return TypeAdapter(Recipe).validate_python(_listed_answers(content))
    except ValidationError as error:
        raise InputError(faults_of(error), file=path) from error


def _listed_answers(content: dict[object, object]) -> dict[object, object]:
    """Return the declaration with every single accepting answer as a list of one."""
    questions = content.get("questions")
    if not isinstance(questions, dict):
        return content
    return content | {
        "questions": {
            name: {
                key: [value] if key in {"accept", "accept_in_study"} and isinstance(value, str) else value
                for key, value in question.items()
            }
            if isinstance(question, dict)
            else question
            for name, question in questions.items()
        }
    }
