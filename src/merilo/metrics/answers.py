"""Types of answers, and reading them strictly from JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, TypeGuard

from merilo.datasets.declaration import Answer
from merilo.strict_json import Json
from merilo.text import Text

#: The results of each generated program: `str(result)` for every test, `None` for a failed test.
Generations: TypeAlias = "tuple[tuple[str | None, ...], ...]"

#: An answer to one item: a text; one label per criterion; or the results of generated programs.
Given: TypeAlias = "str | Mapping[str, str] | Generations"


class _AnswerError(ValueError):
    """An answer that does not fit the dataset; `reason` says why in every language, and the message in English."""

    def __init__(self, reason: Text) -> None:
        self.reason = reason
        super().__init__(reason.en)


class AnswerTypeError(_AnswerError):
    """The answer has the wrong type for the dataset, such as a number instead of a text."""


class AnswerContentError(_AnswerError):
    """The answer has the right type, but its content cannot be read."""


def read_answer(form: Answer, value: Json) -> Given:
    """Read one answer strictly.

    Args:
        form: the form of the dataset's answers.
        value: the JSON: a text; a dictionary of criteria; or a list of generations, each the list of results, which
            some published tools wrap in one more list.

    Raises:
        AnswerTypeError: the JSON type differs from that of the dataset's answers.
        AnswerContentError: a criterion is missing, unknown or has an invalid label; or a generation is not a list of
            texts and nulls.

    Example:
        >>> from merilo.datasets import dataset
        >>> read_answer(dataset("LCS").answer, "7")
        '7'
        >>> read_answer(dataset("ruCodeEval").answer, [[["1", None], ["1", "2"]]])
        (('1', None), ('1', '2'))
    """
    if form.kind == "criteria":
        return _criteria(form, value)
    if form.kind == "program":
        return _generations(value)
    if not isinstance(value, str):
        raise AnswerTypeError(Text("expected a text, not {kind}", kind=kind_of(value)))
    return value


def kind_of(value: Json) -> Text:
    """Name the type of a JSON value in words, for a message.

    Example:
        >>> [kind_of(value).en for value in (None, True, [])]
        ['null', 'true or false', 'a list']
    """
    match value:
        case bool():
            return Text("true or false")
        case int() | float():
            return Text("a number")
        case str():
            return Text("a text")
        case list():
            return Text("a list")
        case dict():
            return Text("a dictionary")
    return Text("null")


def _criteria(form: Answer, value: Json) -> Mapping[str, str]:
    if not isinstance(value, dict):
        raise AnswerTypeError(Text("expected a dictionary of criteria, not {kind}", kind=kind_of(value)))
    if missing := [name for name in form.criteria if name not in value]:
        raise AnswerContentError(Text("lacks {criteria}", criteria=missing))
    found = {}
    for name in form.criteria:
        label = value[name]
        text = str(label) if isinstance(label, int) and not isinstance(label, bool) else label
        if not isinstance(text, str) or text not in form.labels:
            raise AnswerContentError(Text("'{name}' must be one of {labels}", name=name, labels=form.labels))
        found[name] = text
    return found


def _generations(value: Json) -> Generations:
    if not isinstance(value, list):
        raise AnswerTypeError(Text("expected a list of generations, not {kind}", kind=kind_of(value)))
    (inner,) = value if len(value) == 1 else (None,)
    generations = inner if isinstance(inner, list) and any(isinstance(one, list) for one in inner) else value
    if not generations:
        raise AnswerContentError(Text("contains no generations"))
    found = []
    for number, results in enumerate(generations, start=1):
        if not _are_results(results):
            raise AnswerContentError(
                Text("generation {number} must be a list of texts and nulls, one per test", number=number)
            )
        found.append(tuple(results))
    return tuple(found)


def _are_results(value: Json) -> TypeGuard[list[str | None]]:
    return isinstance(value, list) and all(result is None or isinstance(result, str) for result in value)
