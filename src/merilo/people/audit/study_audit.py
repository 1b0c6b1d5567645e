"""The audit of a whole study: its items and controls, with the answers of all annotators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from merilo.people.audit.findings import Audit, SharedItems, audit, shared_items
from merilo.people.gold import Gold
from merilo.people.quality.study_work import study_work
from merilo.people.votes import Encoding
from merilo.responses import Responses


@dataclass(frozen=True, slots=True)
class StudyAudit:
    """An audit with the items that it covers.

    Attributes:
        audit: what was found; `Finding.item` counts along `numbers`.
        numbers: shape (items,), the items' numbers in the study.
        inputs: item's number -> its input texts, by field.
        ids: item's number -> the dataset's id, if the gold file gives one.
        controls: the numbers of control items.
    """

    audit: Audit
    numbers: tuple[int, ...]
    inputs: Mapping[int, Mapping[str, str | None]]
    ids: Mapping[int, str]
    controls: frozenset[int]


def golds(responses: Responses, gold: Gold | None) -> dict[int, str]:
    """Return the gold of every item that has one, by number: from the file or the solver, or the control's known answer."""
    controls = responses.table.filter(pl.col("is_control") & pl.col("control").is_not_null())
    known = {
        int(number): str(answer)
        for number, answer in controls.select("item", "control").unique("item", keep="first").iter_rows()
    }
    if gold:
        known |= dict(gold.answers.select("item", "gold").iter_rows())
    return known


def agreement_in(studies: Iterable[Responses]) -> dict[str, SharedItems]:
    """Return every annotator's agreement with the others in these studies together, by the annotator's id."""
    result: dict[str, SharedItems] = {}
    for responses in studies:
        coded = study_work(responses)
        for name, shared in zip(coded.annotators, shared_items(coded.work), strict=True):
            result[name] = shared.plus(result[name]) if name in result else shared
    return result


def audit_study(
    responses: Responses,
    gold: Gold | None,
    *,
    choice: bool | None = None,
    encoding: Encoding | None = None,
    others: Mapping[str, SharedItems] | None = None,
) -> StudyAudit:
    """Audit a study's items and controls.

    Annotators who fail the controls are not left out: the model weights each annotator by ability, and the known answer of a
    control that good annotators fail may itself be wrong.

    Args:
        responses: the responses, controls among them.
        gold: the gold answers to the test items, if they are known.
        choice: whether answers are a choice among few labels; by default decided by the number of labels.
        encoding: the votes of all these responses, as a baseline has in `pool.everyone`; by default, they are encoded here.
        others: annotator's id -> their agreement with others on other datasets.

    Returns:
        The audit.
    """
    known = golds(responses, gold)
    coded = study_work(responses, known.values(), encoding=encoding)
    code = {label: place for place, label in enumerate(coded.labels)}
    codes = np.array([code[known[n]] if n in known else -1 for n in coded.items], dtype=np.int32)
    found = audit(coded.work.votes, codes, coded.annotators, coded.labels, choice=choice, others=others)
    fields = responses.fields
    inputs = {
        row["item"]: {name: row[name] for name in fields} for row in responses.items.iter_rows(named=True)
    }
    ids = gold.answers.filter(pl.col("id").is_not_null()).select("item", "id") if gold else None
    controls = responses.table.filter("is_control")["item"].unique()
    return StudyAudit(
        found,
        coded.items,
        inputs,
        dict(ids.iter_rows()) if ids is not None else {},
        frozenset(controls.to_list()),
    )
