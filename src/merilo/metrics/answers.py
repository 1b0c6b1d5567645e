"""What an answer may be: the kinds of answers, the form that a dataset declares, and reading answers and gold."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Literal, TypeAlias, cast

from merilo.errors import DataError
from merilo.items import Item
from merilo.strict_json import Json
from merilo.text import Text

if TYPE_CHECKING:
    AnswerKind: TypeAlias = Literal[
        "choice", "integer", "text", "program", "criteria", "slots", "label", "verdict"
    ]
else:
    # Files cannot declare "label", the kind of answers to a dataset that has no declaration, and "verdict", that of
    # answers that were scored elsewhere.
    AnswerKind = Literal["choice", "integer", "text", "program", "criteria", "slots"]

#: The results of each generated program: `str(result)` for every test, `None` for a failed test.
Generations: TypeAlias = "tuple[tuple[str | None, ...], ...]"

#: An answer to one item: a text; one label per criterion; or the results of generated programs.
Given: TypeAlias = "str | Mapping[str, str] | Generations"

#: The opening and closing marks of a model's thought, which is no part of its answer.
THOUGHT_MARKS: Final = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
)
#: The mark before the answer of a model that thinks in a separate channel.
FINAL_CHANNEL: Final = "<|channel|>final<|message|>"

#: Literal lists longer than this, in characters, are refused.
LONGEST_LITERAL: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The form of an answer to an item.

    Attributes:
        kind: one of few labels; an integer; free text; a program; one label per criterion; an intent with its slots;
            a label of a dataset without a declaration; or right or wrong, of answers that were scored elsewhere.
        labels: the labels of a choice, or of each criterion.
        criteria: the keys of `outputs`, if it is a dictionary of criteria.
        alternatives: the separator between alternative answers in a gold text.
    """

    kind: AnswerKind
    labels: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    alternatives: str | None = None
    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        if self.kind in {"choice", "criteria"} and len(self.labels) < 2:
            raise ValueError(f"an answer of kind '{self.kind}' needs at least two labels")
        if (self.kind == "criteria") != bool(self.criteria):
            raise ValueError(
                "'criteria' is required for answers of kind 'criteria' and not allowed for others"
            )
        if self.alternatives is not None and self.kind != "text":
            raise ValueError("'alternatives' is allowed only for answers of kind 'text'")


class AnswerError(ValueError):
    """An answer that does not fit the dataset.

    Attributes:
        reason: why, in every language; the message is in English.
        of_type: whether its type is wrong, such as a number instead of a text; else its content cannot be read.
    """

    def __init__(self, reason: Text, *, of_type: bool = False) -> None:
        self.reason, self.of_type = reason, of_type
        super().__init__(reason.en)


def read_answer(form: Answer, value: Json) -> Given:
    """Read one answer strictly.

    Args:
        form: the form of the dataset's answers.
        value: the JSON: a text; a dictionary of criteria; a dictionary of intent and slots, or its text; or a list of
            generations, each the list of results, which some published tools wrap in one more list.

    Raises:
        AnswerError: the JSON type differs from that of the dataset's answers; a criterion is missing, unknown or has
            an invalid label; or a generation is not a list of texts and nulls.

    Example:
        >>> read_answer(Answer(kind="text"), "7")
        '7'
        >>> read_answer(Answer(kind="program"), [[["1", None], ["1", "2"]]])
        (('1', None), ('1', '2'))
    """
    if form.kind == "criteria":
        return _criteria(form, value)
    if form.kind == "program":
        return _generations(value)
    if form.kind == "slots" and isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    if not isinstance(value, str):
        raise AnswerError(Text("expected a text, not {kind}", kind=kind_of(value)), of_type=True)
    return value


_JSON_TYPES: Final = (
    (bool, Text("true or false")),
    ((int, float), Text("a number")),
    (str, Text("a text")),
    (list, Text("a list")),
    (dict, Text("a dictionary")),
)


def kind_of(value: Json) -> Text:
    """Name the type of a JSON value in words, for a message.

    Example:
        >>> [kind_of(value).en for value in (None, True, [])]
        ['null', 'true or false', 'a list']
    """
    return next((name for types, name in _JSON_TYPES if isinstance(value, types)), Text("null"))


def _criteria(form: Answer, value: Json) -> Mapping[str, str]:
    if not isinstance(value, dict):
        raise AnswerError(
            Text("expected a dictionary of criteria, not {kind}", kind=kind_of(value)), of_type=True
        )
    if missing := [name for name in form.criteria if name not in value]:
        raise AnswerError(Text("lacks {criteria}", criteria=missing))
    labels = {}
    for name in form.criteria:
        label = value[name]
        text = str(label) if isinstance(label, int) and not isinstance(label, bool) else label
        if not isinstance(text, str) or text not in form.labels:
            raise AnswerError(Text("'{name}' must be one of {labels}", name=name, labels=form.labels))
        labels[name] = text
    return labels


def _generations(value: Json) -> Generations:
    if not isinstance(value, list):
        raise AnswerError(
            Text("expected a list of generations, not {kind}", kind=kind_of(value)), of_type=True
        )
    (inner,) = value if len(value) == 1 else (None,)
    generations = inner if isinstance(inner, list) and any(isinstance(row, list) for row in inner) else value
    if not generations:
        raise AnswerError(Text("contains no generations"))
    for number, results in enumerate(generations, start=1):
        if not (isinstance(results, list) and all(isinstance(result, str | None) for result in results)):
            raise AnswerError(
                Text("generation {number} must be a list of texts and nulls, one per test", number=number)
            )
    return tuple(tuple(cast("list[str | None]", results)) for results in generations)


def has_gold(item: Item) -> bool:
    """Check whether an item has a gold answer: in a closed test it is missing or consists of empty texts.

    Example:
        >>> has_gold(Item(1, "{function}", {}, ["", ""])), has_gold(Item(1, "{inputs}", "()", "1"))
        (False, True)
    """
    outputs = item.outputs
    if isinstance(outputs, dict):
        return any(outputs.values())
    return any(outputs) if isinstance(outputs, list) else outputs is not None


_GOLD_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "criteria": (dict,),
    "program": (list, str),
    "slots": (dict, str),
}


def require_gold(form: Answer, items: Sequence[Item], dataset: str) -> None:
    """Raise an error for an item without a gold answer, or with one of another type than the dataset's.

    Raises:
        DataError: there is such an item.
    """
    types = _GOLD_TYPES.get(form.kind, (str, int))
    for item in items:
        if str in types and isinstance(item.outputs, str):
            continue  # nearly every item; the checks below would find nothing
        if not has_gold(item):
            raise DataError(
                f"item {item.id!r} of {dataset} has no gold answer: the test is closed, and only its owner can score it"
            )
        if not isinstance(item.outputs, types):
            raise DataError(f"the gold answer of item {item.id!r} of {dataset} is not of the dataset's type")


def gold_label(item: Item, criterion: str | None = None) -> str:
    """Return the gold answer of an item as text, or the label of one of its criteria.

    Raises:
        DataError: the gold answer lacks the criterion.
    """
    if criterion is None:
        return item.outputs if isinstance(item.outputs, str) else str(item.outputs)
    label = item.outputs.get(criterion) if isinstance(item.outputs, Mapping) else None
    if label is None or label == "":
        raise DataError(f"the gold answer of item {item.id!r} lacks '{criterion}'")
    return str(label)


def alternatives(gold: str, separator: str | None) -> list[str]:
    """Split a gold answer into its alternatives.

    Example:
        >>> alternatives("Poe; E. A. Poe", ";")
        ['Poe', ' E. A. Poe']
    """
    return [gold] if separator is None else gold.split(separator)


def program_tests(item: Item) -> list[dict[str, object]]:
    """Return the keyword arguments of each test of a programming problem.

    Raises:
        DataError: `inputs.tests` is not a list of dictionaries with names for keys.
    """
    tests = item.inputs.get("tests") if isinstance(item.inputs, Mapping) else None
    cases = literal_list(tests, "inputs.tests")
    for case in cases:
        if not isinstance(case, dict) or not all(isinstance(key, str) and key.isidentifier() for key in case):
            raise DataError("must be a list of dictionaries from arguments to values", field="inputs.tests")
    return cast("list[dict[str, object]]", cases)


def program_golds(item: Item) -> list[str]:
    """Return the expected `str(result)` of each test of a programming problem.

    Raises:
        DataError: `outputs` is not a list, or a list of equal lists, of texts.
    """
    golds = literal_list(item.outputs, "outputs")
    if golds and all(isinstance(sample, list) for sample in golds):
        golds = literal_list(golds[0], "outputs")
    return [*map(str, golds)]


def literal_list(value: object, what: str) -> list[object]:
    """Return a list; one in a text is parsed as a Python literal, of which nothing is executed.

    Args:
        value: the list or its text, as `tests` and `outputs` of programming problems are.
        what: its name for the message.

    Raises:
        DataError: it is neither a list nor the text of one, or the text is too long or too deeply nested.

    Example:
        >>> literal_list("[{'n': 3}, {'n': 4}]", what="tests")
        [{'n': 3}, {'n': 4}]
    """
    if isinstance(value, str):
        if len(value) > LONGEST_LITERAL:
            raise DataError(f"is longer than {LONGEST_LITERAL} characters", field=what)
        try:
            value = ast.literal_eval(value.strip())
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
            raise DataError("is not a list of literals", field=what) from error
    if not isinstance(value, list):
        raise DataError("must be a list", field=what)
    return value
