"""One rule determines the excluded annotators and those who cannot be judged."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from merilo.cli import main
from merilo.people.quality.controls import ExclusionRule, control_accuracy
from merilo.people.quality.work import work_of
from merilo.people.votes import encode

counts = st.tuples(st.integers(0, 8), st.integers(0, 8)).map(lambda pair: (min(pair), max(pair)))


@given(st.lists(counts, max_size=6), st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.integers(0, 4))
def test_an_annotator_below_the_threshold_with_enough_controls_is_excluded(
    people: list[tuple[int, int]], threshold: float, least: int
) -> None:
    rule = ExclusionRule(threshold, least)
    found = rule.excluded([right for right, _ in people], [n for _, n in people]).tolist()
    assert found == [n >= max(least, 1) and right / n < threshold for right, n in people]


def test_the_rule_for_one_person_is_the_rule_for_all() -> None:
    encoding = encode([1, 2, 3], ["ann"] * 3, ["a", "a", "b"])
    (ann,) = control_accuracy(work_of(encoding.votes, correct={0: True, 1: False, 2: False}), guess=0.5)
    assert ExclusionRule(0.5, 3).excludes(ann)
    assert not ExclusionRule(0.5, 4).excludes(ann)


def test_people_with_too_few_controls_are_told_apart_from_people_without(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    asked = {"ann": 4, "bob": 4, "cat": 4, "dan": 2, "eve": 1, "fay": 0}
    rows = [f"c{n},{who},x,x" for who, many in asked.items() for n in range(many)]
    rows += [f"q{n},{who},x," for who in asked for n in range(3)]
    pool = tmp_path / "pool.csv"
    pool.write_text("\n".join(["item,annotator,answer,control", *rows]), encoding="utf-8")
    assert main(["baseline", str(pool), "--min-controls", "3", "--json", "-"]) == 0
    people = json.loads(capsys.readouterr().out)["annotators"]
    assert (people["unjudged"], people["kept_without_controls"], people["with_controls"]) == (3, 1, 5)
    assert main(["baseline", str(pool), "--min-controls", "3"]) == 0
    said = capsys.readouterr().out
    assert "6, 0 excluded, 1 without controls, 2 kept with fewer than 3 control answers" in said
