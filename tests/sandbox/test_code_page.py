"""The page about generated programs names every outcome and every rule."""

from pathlib import Path
from typing import get_args

from every import every

from merilo.sandbox.extraction import Form, Place
from merilo.sandbox.program import Outcome

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "code.md").read_text(encoding="utf-8")


ENDS = sorted(outcome.value for outcome in set(Outcome) - {Outcome.COMPLETED, Outcome.REFUSED})


@every("word", [*ENDS, *get_args(Place), *get_args(Form)])
def test_every_outcome_and_every_rule_stands_in_a_table_of_the_page(word):
    assert f"\n| `{word}` |" in PAGE
