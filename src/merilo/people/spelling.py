"""Unify the spelling of answers that the dataset's metric treats as equal, so that they are votes for one label.

Annotators write `007`, `+5` and `1 000` for numbers, `3, 1` for the set `1,3`, and names with or without a full stop.
Whether answers are equal depends on the metric: numbers are compared by value, free answers as in SQuAD, and answers of
the exam by the question's type. Gold answers are not used.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import polars as pl

from merilo.metrics.exam import letters
from merilo.metrics.scoring import Declared
from merilo.metrics.squad import f1_points, normalised
from merilo.people.normalisation import canonical, rules_of
from merilo.responses import Responses

_NUMBERS: Final = rules_of(["numbers"])
_BETWEEN_NUMBERS: Final = re.compile(r"[\s,;]+")
_LIST_OF_NUMBERS: Final = re.compile(r"\d+(?:,\d+)*")

#: The type of an exam question if it is unknown.
_UNTYPED: Final = ""


def spelled_as_compared(
    responses: Responses,
    dataset: Declared,
    types: Mapping[int, str] | None = None,
    *,
    min_control_score: float = 1.0,
) -> Responses:
    """Give one spelling to answers that the dataset's metric treats as equal.

    Numbers are written as plain decimals, the numbers of a set are sorted, and free answers get their most frequent
    spelling. Known answers of control items get the spelling of the answers that equal them; those that are free texts get
    the spelling of the answers that count as right.

    Args:
        responses: the responses.
        dataset: the dataset's declaration.
        types: mapping from item number to the question's type, on which the comparison of the exam's answers depends.
        min_control_score: a free-text answer to a control item is right from this F1 of its words on.

    Returns:
        The responses; `renamed` maps each changed answer to its new spelling.

    Example:
        >>> from merilo.metrics.plain_dataset import PlainAnswer, PlainDataset
        >>> numbers = PlainDataset("", ("em",), PlainAnswer("integer"))
        >>> key_of(numbers)("+007", "")
        '7'
    """
    key = key_of(dataset)
    if key is None:
        return responses
    table = responses.table
    kinds = pl.DataFrame(
        [(number, kind) for number, kind in (types or {}).items()],
        schema={"item": pl.UInt32, "kind": pl.String},
        orient="row",
    )
    table = table.join(kinds, on="item", how="left", maintain_order="left").with_columns(
        pl.col("kind").fill_null(_UNTYPED)
    )
    counts = Counter(
        {
            (kind, answer): n
            for kind, answer, n in table.group_by("kind", "answer").len().drop_nulls("answer").iter_rows()
        }
    )
    for kind, control in table.select("kind", "control").drop_nulls().unique().iter_rows():
        counts.setdefault((kind, control), 0)
    spelling = _spellings(
        counts, key, plainly=dataset.answer.kind != "text" and "grade_norm" not in dataset.metrics
    )
    changed = {pair: text for pair, text in spelling.items() if pair[1] != text}
    if changed:
        table = _respelled(table, changed)
    if dataset.answer.kind == "text":
        table = _matching_controls(table, dataset, min_control_score)
    renamed = {**(responses.renamed or {}), **{text: kept for (_, text), kept in sorted(changed.items())}}
    return replace(responses, table=table.drop("kind"), renamed=renamed)


def key_of(dataset: Declared) -> Callable[[str, str], str] | None:
    """Return a function of answer and question type that gives equal keys to answers that the metric treats as equal.

    Returns:
        The function; `None` if the metric treats only identical texts as equal.
    """
    if "grade_norm" in dataset.metrics:
        return _exam_key
    form = dataset.answer
    numbers = form.kind == "integer" or (form.kind == "choice" and all(map(_is_integer, form.labels)))
    if numbers:
        return lambda answer, _: _number(answer)
    if form.kind == "text":
        return lambda answer, _: normalised(answer) or answer
    return None


def _number(text: str) -> str:
    if text.isascii() and text.isdecimal() and (text[0] != "0" or text == "0"):
        return text
    return canonical(text, _NUMBERS)


def _is_integer(label: str) -> bool:
    return label.removeprefix("-").isdecimal()


def _exam_key(answer: str, kind: str) -> str:
    """Compute the key of an exam answer: words are compared by letters, choices as sets, matchings as sequences."""
    if kind == "text":
        return letters(answer) or answer
    numbers = _BETWEEN_NUMBERS.sub(",", answer.strip()).strip(",")
    if not _LIST_OF_NUMBERS.fullmatch(numbers):
        return answer
    if kind.startswith("multiple_choice"):
        return ",".join(sorted(set(numbers.split(",")), key=int))
    return numbers


def _exam_right(answer: str, known: str, kind: str) -> bool:
    """Return whether an exam answer equals the known one: numbers by the kind of the question, words by letters."""
    if _LIST_OF_NUMBERS.fullmatch(known):
        return _exam_key(answer, kind) == _exam_key(known, kind)
    return letters(answer) in {letters(word) for word in known.split(",")}


def _spellings(
    counts: Counter[tuple[str, str]], key: Callable[[str, str], str], *, plainly: bool
) -> dict[tuple[str, str], str]:
    """Map each pair of type and answer to its spelling: the key itself, or the key's most frequent spelling."""
    keys = {pair: key(pair[1], pair[0]) for pair in counts}
    best: dict[tuple[str, str], tuple[int, str]] = {}
    for (kind, answer), n in counts.items():
        if plainly or (kind != "text" and _LIST_OF_NUMBERS.fullmatch(keys[kind, answer])):
            continue
        rank = (-n, answer)
        place = (kind, keys[kind, answer])
        best[place] = min(best.get(place, rank), rank)
    return {
        pair: best[pair[0], found][1] if (pair[0], found) in best else found for pair, found in keys.items()
    }


def _respelled(table: pl.DataFrame, changed: Mapping[tuple[str, str], str]) -> pl.DataFrame:
    for name in ("answer", "control"):
        new = pl.DataFrame(
            [(*pair, text) for pair, text in changed.items()],
            schema={"kind": pl.String, name: pl.String, "new": pl.String},
            orient="row",
        )
        table = (
            table.join(new, on=["kind", name], how="left", maintain_order="left")
            .with_columns(pl.coalesce("new", name).alias(name))
            .drop("new")
        )
    return table


def _matching_controls(table: pl.DataFrame, dataset: Declared, least: float) -> pl.DataFrame:
    """Replace the known answer of a control item by the given answer if that answer counts as right."""
    columns = ["kind", "answer", "control"]
    pairs = table.filter("is_control").select(columns).drop_nulls().unique(maintain_order=True)
    if not pairs.height:
        return table
    given, known = pairs["answer"].to_list(), pairs["control"].to_list()
    separator = dataset.answer.alternatives
    if "grade_norm" in dataset.metrics:
        right = [
            _exam_right(answer, true, kind)
            for kind, answer, true in zip(pairs["kind"], given, known, strict=True)
        ]
    else:
        right = [score >= least for score in f1_points(given, known, separator)]
    hits = pairs.with_columns(pl.Series("right", right)).filter("right")
    joined = table.join(hits, on=columns, how="left", nulls_equal=False, maintain_order="left")
    return joined.with_columns(pl.when("right").then("answer").otherwise("control").alias("control")).drop(
        "right"
    )
