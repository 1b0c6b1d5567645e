"""The notebook of a report: it computes every published figure from the raw answers through the public API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from merilo.reports.hb.figures import NO_FIGURES, SENTENCE, TOLERANCE
from merilo.reports.hb.raw_study import RawStudy
from merilo.reports.hb.verification import COST_KEYS, DETAILS_KEY
from merilo.strict_json import Json, indented
from merilo.text import Text

NOTEBOOK_FILE: Final = "hb.ipynb"

_ABOUT: Final = Text(
    "This notebook recomputes every published value from the raw answers in `raw/` and compares it with "
    "`metrics.json`, `costs.json`, `annotators.csv` and `consensus.csv`. It needs only `pip install "
    "merilo`; a cell fails if a value differs."
)

_READ: Final = """\
import csv
import json
from pathlib import Path

import merilo

raw = merilo.read_raw("raw")
published = {}
for name in ("metrics.json", "costs.json"):
    published |= json.loads(Path(name).read_text(encoding="utf-8"))
raw.responses.table.head()"""

_COMPARE: Final = f"""\
texts = {{{", ".join(f'"{one}"' for one in (*NO_FIGURES, "findings", "reasons"))}}}


def differing(published, recomputed, name):
    \"\"\"The names of the figures that differ by more than one unit of the sixth decimal place.\"\"\"
    if isinstance(published, dict) and isinstance(recomputed, dict):
        keys = [key for key in {{**published, **recomputed}} if key not in {{"{SENTENCE}", *texts}}]
        pairs = {{key: (published.get(key, "absent"), recomputed.get(key, "absent")) for key in keys}}
    elif isinstance(published, list) and isinstance(recomputed, list) and len(published) == len(recomputed):
        pairs = dict(enumerate(zip(published, recomputed)))
    else:
        both = [one for one in (published, recomputed) if isinstance(one, (int, float)) and not isinstance(one, bool)]
        near = len(both) == 2 and abs(both[0] - both[1]) <= {TOLERANCE} * max(1, abs(both[0]))
        same = near or (len(both) != 2 and published == recomputed)
        return [] if same else [name]
    return [one for key, (first, second) in pairs.items() for one in differing(first, second, f"{{name}}.{{key}}")]


def check(*keys):
    \"\"\"Compare parts of the published JSON with what follows from the raw answers.\"\"\"
    for key in keys:
        moved = differing(published.get(key), recomputed.get(key), key)
        assert not moved, f"these figures do not follow from the raw answers: {{', '.join(moved)}}"
        left.discard(key)
    print("the published figures follow:", ", ".join(keys))


recomputed = json.loads(json.dumps(made.to_json()))
left = set(published) | set(recomputed)
left -= texts
left -= {{"{DETAILS_KEY}"}}  # merilo.verify computes it below"""

_COUNTS: Final = """\
print(f"{recomputed['responses']['total']} rows, {recomputed['responses']['used']} answers count")
print(f"{recomputed['annotators']['total']} annotators, {recomputed['annotators']['excluded']} excluded")
print(f"{recomputed['items']['total']} items, {recomputed['items']['consensus']} with a consensus")
check("status", "responses", "annotators", "items", "controls")"""

_CONSENSUS: Final = """\
with open("consensus.csv", encoding="utf-8", newline="") as stream:
    rows = {int(row["item"]): row["label"].lstrip("'") for row in csv.DictReader(stream)}
labels = {item: (label or "").lstrip("'") for item, label in made.consensus.select("item", "label").iter_rows()}
assert rows == labels
check("resolved_by")
made.consensus.head()"""

_METRICS: Final = """\
for name, metric in made.metrics.items():
    interval = metric.interval
    over = "over items and annotators" if metric.over_both else "over items alone"
    bounds = f"[{interval.low:.3f}, {interval.high:.3f}] {over}" if interval else ""
    print(f"{name}: {metric.value:.3f} on {metric.n} items", bounds)
check("metrics", "single_person")"""

_WITHHELD: Final = """\
# The gold answers are withheld: these values cannot be recomputed here.
need_gold = "metrics human_benchmark single_person population by models status arms differences"
for key in need_gold.split():
    left.discard(key)
for name, metric in published["metrics"].items():
    print(f"{name}: {metric['value']} on {metric['n']} items, published, not recomputed")"""

_AGREEMENT: Final = """\
print("Krippendorff's alpha:", made.agreement.krippendorff_alpha)
check("agreement", "by", "model")"""

_COST: Final = """\
cost = recomputed["cost"]
print("total:", cost["total"], cost["currency"] or "", "| an hour:", cost["hourly"], "| hours:", cost["hours"])
check(COST_KEYS)"""

_PEOPLE: Final = """\
with open("annotators.csv", encoding="utf-8", newline="") as stream:
    excluded = {row["annotator"] for row in csv.DictReader(stream) if row["excluded"] == "true"}
assert excluded == set(made.annotators.filter(made.annotators["excluded"])["annotator"])
made.annotators.head()"""

_REST: Final = """\
check(*sorted(left))
assert not left"""

_FILES: Final = """\
verified = merilo.verify(".")
assert not verified.moved and not verified.faults
print(f"{len(verified.figures)} published figures follow from the raw answers")"""


def notebook_file(raw: RawStudy, name: str) -> bytes:
    """Return the notebook.

    Args:
        raw: the raw state of the study, whose settings the notebook spells out.
        name: the name of the dataset, or of the study.
    """
    withheld = raw.gold is not None and raw.gold.withheld
    # In an environment that has merilo, Run All needs nothing else.
    cells = [
        _text(f"# Human baseline: {name}\n\n{_ABOUT.en}\n\n{_ABOUT.ru}"),
        _heading(Text("Raw answers")),
        _code(_READ),
        _heading(Text("The baseline with the settings of the study")),
        _code(_call(raw.keywords, raw)),
        _code(_COMPARE),
        _heading(Text("Answers, annotators, items")),
        _code(_COUNTS.replace('"status", ', "") if withheld else _COUNTS),
        _code(_PEOPLE),
        _heading(Text("Consensus")),
        _code(_CONSENSUS),
        _heading(Text("Metrics with 95% intervals")),
        _code(_WITHHELD if withheld else _METRICS),
        _heading(Text("Agreement and groups")),
        _code(_AGREEMENT.replace('"by", ', "") if withheld else _AGREEMENT),
        _heading(Text("Cost")),
        _code(_COST.replace("COST_KEYS", ", ".join(f'"{key}"' for key in COST_KEYS))),
        _heading(Text("Everything else")),
        _code(_REST),
        _heading(Text("The tables, cell by cell")),
        _code(_FILES),
    ]
    content: dict[str, Json] = {
        "cells": [{"id": f"cell-{place}", **cell} for place, cell in enumerate(cells, start=1)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return f"{indented(content)}\n".encode()


def _call(settings: Mapping[str, Json], raw: RawStudy) -> str:
    """Return the call of `merilo.baseline` with every setting spelled out."""
    given = {name: value for name, value in settings.items() if value is not None and value != []}
    lines = [f"    {name}={value!r}," for name, value in given.items()]
    models = (
        ["    models=raw.models,", "    common_items=raw.common_items,", "    margin=raw.margin,"]
        if raw.models
        else []
    )
    return "\n".join(
        [
            "made = merilo.baseline(",
            "    raw.responses,",
            "    dataset=raw.dataset,",
            "    gold=raw.gold,",
            "    skills=raw.skills,",
            *models,
            *(["    population=raw.population,"] if raw.population else []),
            *(["    other=raw.other,"] if raw.other else []),
            *lines,
            ")",
            *(_ARMS if raw.arms else ()),
            "made",
        ]
    )


#: The other arms of a study, with the settings of each.
_ARMS: Final = (
    "others = {",
    "    name: merilo.baseline(",
    "        arm.responses, dataset=arm.dataset, gold=arm.gold, skills=arm.skills,",
    "        population=arm.population, **arm.keywords,",
    "    )",
    "    for name, arm in raw.arms.items()",
    "}",
    "made = made.beside(raw.arm, others)",
)


def _heading(text: Text) -> dict[str, Json]:
    return _text(f"## {text.en} / {text.ru}")


def _text(source: str) -> dict[str, Json]:
    return {"cell_type": "markdown", "metadata": {}, "source": _lines(source)}


def _code(source: str) -> dict[str, Json]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": _lines(source),
    }


def _lines(source: str) -> list[Json]:
    return [*source.splitlines(keepends=True)]
