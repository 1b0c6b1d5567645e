"""The notebook of a published folder: it computes the baseline from the raw answers, and verifies the folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from merilo.baselines.baseline import Baseline
from merilo.strict_json import Json, indented
from merilo.text import Language, Text

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
baseline = merilo.load(".")  # computed from raw/, with the settings of raw/settings.json
baseline"""

_WITHHELD: Final = "# The gold answers are withheld: values that need them are those of baseline.json.\n"

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


def notebook_file(baseline: Baseline, languages: Sequence[Language]) -> bytes:
    """Return the notebook of a baseline, which speaks the languages of its study."""
    withheld = baseline.gold is not None and baseline.gold.withheld
    title = f"# Human baseline: {baseline.dataset or 'a study'}"

    def heading(text: Text) -> dict[str, Json]:
        return _text(f"## {' / '.join(map(text.in_language, languages))}")

    cells = [
        _text("\n\n".join([title, *map(_ABOUT.in_language, languages)])),
        heading(Text("Raw answers")),
        _code(_READ),
        heading(Text("The baseline with the settings of the study")),
        _code(_WITHHELD * withheld + _COMPUTE),
        heading(Text("Annotators")),
        _code(_PEOPLE),
        heading(Text("Consensus")),
        _code(_CONSENSUS),
        heading(Text("The published values")),
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


def _text(source: str) -> dict[str, Json]:
    return {"cell_type": "markdown", "metadata": {}, "source": [*source.splitlines(keepends=True)]}


def _code(source: str) -> dict[str, Json]:
    lines: list[Json] = [*source.splitlines(keepends=True)]
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": lines}
