"""The notebook of a published folder: it computes the baseline from the raw answers, and verifies the folder."""

from __future__ import annotations

from typing import Final

from merilo.baselines.baseline import Baseline
from merilo.strict_json import Json, indented
from merilo.text import Text

NOTEBOOK_FILE: Final = "hb.ipynb"

_ABOUT: Final = Text(
    "This notebook computes the baseline from the raw answers in `raw/` and compares every value with "
    "`baseline.json` and the tables of this folder. It needs only `pip install merilo`; the last cell fails if a "
    "value differs."
)

_READ: Final = """\
import polars as pl

import merilo

responses = pl.read_csv("raw/responses.csv")
responses.head()"""

_COMPUTE: Final = """\
baseline = merilo.load(".")  # the published procedure on raw/, with the settings of raw/settings.json
baseline"""

_WITHHELD: Final = """\
# The gold answers are withheld: values that need them are those of baseline.json.
baseline = merilo.load(".")  # the published procedure on raw/, with the settings of raw/settings.json
baseline"""

_PEOPLE: Final = """\
excluded = baseline.annotators.filter("excluded")
print(f"{excluded.height} of {baseline.annotators.height} annotators are excluded by control items")
baseline.annotators.head()"""

_CONSENSUS: Final = """\
print(baseline.consensus["resolved_by"].value_counts())
baseline.consensus.head()"""

_VERIFY: Final = """\
differences = merilo.verify(".")
assert not differences, differences
print("every published value follows from the raw answers")"""


def notebook_file(baseline: Baseline) -> bytes:
    """Return the notebook of the baseline of a dataset."""
    withheld = baseline.gold is not None and baseline.gold.withheld
    cells = [
        _text(f"# Human baseline: {baseline.dataset or 'a study'}\n\n{_ABOUT.en}\n\n{_ABOUT.ru}"),
        _heading(Text("Raw answers")),
        _code(_READ),
        _heading(Text("The baseline with the settings of the study")),
        _code(_WITHHELD if withheld else _COMPUTE),
        _heading(Text("Annotators")),
        _code(_PEOPLE),
        _heading(Text("Consensus")),
        _code(_CONSENSUS),
        _heading(Text("The published values")),
        _code(_VERIFY),
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


def _heading(text: Text) -> dict[str, Json]:
    return _text(f"## {text.en} / {text.ru}")


def _text(source: str) -> dict[str, Json]:
    return {"cell_type": "markdown", "metadata": {}, "source": [*source.splitlines(keepends=True)]}


def _code(source: str) -> dict[str, Json]:
    lines: list[Json] = [*source.splitlines(keepends=True)]
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": lines}
