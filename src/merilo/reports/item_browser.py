"""The item browser: one page with every item, all answers to it, the consensus.

The gold answer and the models' answers.

The page is a plain list, so that it can be read, searched and linked without scripts. Its script only hides
and reorders items. Text from datasets and annotators is escaped, and the page's content security policy
admits this script alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from merilo.baselines.baseline import Baseline, Evidence
from merilo.baselines.baseline_tables import scored_answers, shown_fields
from merilo.items import laid_open
from merilo.reports.facts import PlannedBaseline, option_letters
from merilo.reports.html_page import page_environment, script_content, spans
from merilo.text import LANGUAGES, Language, Text

#: The largest number of items on the page: a browser opens so many from a file in about a second.
MOST_ITEMS: Final = 5000

#: A field is offered as a filter if it has at most this many values.
_MOST_VALUES: Final = 60

#: Fields of `meta` that identify single items.
_IDENTIFIERS: Final = frozenset({"id", "question_id", "q_id", "index"})

#: The outcomes of an item: style class and name.
_OUTCOMES: Final = {
    "right": ("good", Text("consensus correct")),
    "partly": ("neutral", Text("consensus partly correct")),
    "wrong": ("bad", Text("consensus wrong")),
    "undecided": ("neutral", Text("no consensus")),
    "unknown": ("neutral", Text("no gold answer")),
}

_FATES: Final = {"excluded_annotator": Text("annotator excluded"), "control": Text("control item")}


def item_browser(whole: Baseline, languages: Sequence[Language] = LANGUAGES) -> str:
    """Render the item browser of a baseline.

    Args:
        whole: the baseline.
        languages: the languages of the page.

    Returns:
        HTML without links to anything outside itself. If there are more than `MOST_ITEMS` items, the page holds those
        with the lowest agreement and says so.
    """
    baseline, simulated = whole.evidence, whole.simulated
    rows = baseline.consensus
    fields = shown_fields(rows)
    shown = rows.with_columns(agreement=_agreement(baseline))
    if shown.height > MOST_ITEMS:
        shown = shown.sort("agreement", "item", nulls_last=False).head(MOST_ITEMS).sort("item")
    facets, letters = _facets(baseline, shown), option_letters(baseline)
    answers = scored_answers(whole, shown["item"])
    of_people, of_models = _by_item(answers)
    models = answers.filter(kind="model")["respondent"].unique(maintain_order=True).to_list()
    template = page_environment().get_template("items.html.j2")
    outcomes = Counter(_outcome(row) for row in shown.iter_rows(named=True))
    return template.render(
        name=PlannedBaseline(whole).title or "",
        _=spans(languages),
        languages=languages,
        simulated=simulated,
        items=rows.height,
        shown=shown.height,
        outcomes=[(code, name, outcomes[code]) for code, (_, name) in _OUTCOMES.items() if outcomes[code]],
        facets={name: sorted({values[n] for n in values}, key=_in_order) for name, values in facets.items()},
        models=models,
        **script_content("items.js"),
        articles=(
            _article(
                row,
                fields,
                letters,
                facets,
                {name: of_models.get((row["item"], name), []) for name in models},
            )
            for row in shown.iter_rows(named=True)
        ),
        answers=of_people,
        fates=_FATES,
        mark=_mark,
    )


def _agreement(baseline: Evidence) -> pl.Series:
    """Return, for each row of the consensus, the share of counted answers that equal the most frequent one."""
    used = baseline.used.drop_nulls("answer").group_by("item", "answer").agg(n=pl.len())
    most = used.group_by("item").agg(agreement=pl.col("n").max() / pl.col("n").sum())
    joined = baseline.consensus.select("item").join(most, on="item", how="left", maintain_order="left")
    return joined["agreement"]


def _by_item(
    answers: pl.DataFrame,
) -> tuple[dict[int, list[dict[str, object]]], dict[tuple[int, str], list[tuple[str, float | None]]]]:
    """Return the answers of people by item, in the order of the files, and those of models by item and model."""
    people: dict[int, list[dict[str, object]]] = defaultdict(list)
    models: dict[tuple[int, str], list[tuple[str, float | None]]] = defaultdict(list)
    shown = answers.filter(pl.col("became").ne_missing("control")).select(
        "item", "kind", "points", annotator="respondent", text=pl.col("answer").fill_null(""),
        seconds="page_seconds", fate="became",
    )  # fmt: skip
    for row in shown.iter_rows(named=True):
        if row["kind"] == "model":
            models[row["item"], row["annotator"]].append((row["text"], row["points"]))
        else:
            people[row["item"]].append(row)
    return people, models


def _facets(baseline: Evidence, shown: pl.DataFrame) -> dict[str, dict[int, str]]:
    """Return the fields that group items, each as a mapping from item number to value."""
    items = set(shown["item"].to_list())
    columns: dict[str, dict[int, str]] = {}
    for item, known in (baseline.gold.items if baseline.gold else {}).items():
        for name, value in laid_open(known.meta):
            if item in items and name not in _IDENTIFIERS and isinstance(value, str | int | bool):
                columns.setdefault(name, {})[item] = str(value)
    for name in baseline.settings.by:
        if name in shown.columns:
            columns[name] = dict(shown.select("item", pl.col(name).cast(pl.String)).drop_nulls().iter_rows())
    return {name: values for name, values in columns.items() if 1 < len(set(values.values())) <= _MOST_VALUES}


def _outcome(row: Mapping[str, object]) -> str:
    if row["label"] is None:
        return "undecided"
    earned_points = row["points"]
    if row["gold"] is None or not isinstance(earned_points, int | float):
        return "unknown" if row["correct"] is None else "right" if row["correct"] else "wrong"
    return "right" if earned_points >= 1 else "wrong" if earned_points <= 0 else "partly"


def _article(
    row: Mapping[str, object],
    fields: Sequence[str],
    letters: Mapping[str, str],
    facets: Mapping[str, Mapping[int, str]],
    models: Mapping[str, Sequence[tuple[str, float | None]]],
) -> dict[str, object]:
    """Return what the page says of one item."""
    item, agreement, outcome = row["item"], row["agreement"], _outcome(row)
    assert isinstance(item, int)  # noqa: S101 - the column's type
    kind, title = _OUTCOMES[outcome]
    alone = row["resolved_by"] == "each_answer"
    if alone:
        share = row["points"] if isinstance(row["points"], float) else 0.0
        title = Text("{share:.0%} of the programs pass", share=share)
    name = str(item if row["id"] is None else row["id"])
    data = {"outcome": outcome, "agreement": "" if agreement is None else f"{agreement:.4f}", "item": item}
    data |= {f"facet-{at}": values.get(item, "") for at, values in enumerate(facets.values())}
    for side in ("people", "model") if models else ():
        data[f"only-{side}"] = " ".join(
            str(at) for at, texts in enumerate(models.values()) if _only(outcome, texts) == side
        )
    return {
        "item": item,
        "name": name,
        "kind": kind,
        "title": title,
        "data": data,
        "inputs": [
            (letters.get(field, field), row[field], field in letters and letters[field] == row["gold"])
            for field in fields
            if row[field] not in {None, ""}
        ],
        "alone": alone,
        "consensus": row["label"],
        "gold": row["gold"],
        "agreement": agreement,
        "models": [(name, texts) for name, texts in models.items() if texts],
    }


def _only(outcome: str, answers: Sequence[tuple[str, float | None]]) -> str:
    """Return which side alone is right on an item: "people", "model", or none; most answers of a model decide."""
    points = [earned for _, earned in answers if earned is not None]
    if outcome == "right" and 2 * sum(point <= 0 for point in points) > len(points):
        return "people"
    return "model" if outcome == "wrong" and 2 * sum(point >= 1 for point in points) > len(points) else ""


def _in_order(value: str) -> tuple[bool, float, str]:
    """Sort whole numbers by value, before texts."""
    return (not value.isdecimal(), float(value) if value.isdecimal() else 0.0, value)


def _mark(points: float | None) -> str:
    """Return the style class of an answer with these points."""
    if points is None:
        return "unscored"
    return "right" if points >= 1 else "wrong" if points <= 0 else "partly"
