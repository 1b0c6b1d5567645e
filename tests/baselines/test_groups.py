"""Agreement on a scale, and groups of items, through the command."""

import json
from pathlib import Path

import numpy as np
import pytest
from command import done, merilo
from exports import row, toloka, written

from merilo.errors import UsageError
from merilo.people.agreement import on_scale
from merilo.people.votes import Votes


def votes_of(names: list[str]) -> Votes:
    codes = np.arange(len(names))
    return Votes(codes // 2, codes % 2, codes, len(names) // 2 + 1, 2, len(names))


def test_numbers_are_ordered_by_their_value_and_not_by_the_alphabet() -> None:
    ordered, values = on_scale(votes_of(["10", "9", "1"]), ["10", "9", "1"], "ordinal")
    assert ordered.label.tolist() == [2, 1, 0]
    assert values is None


def test_the_datasets_own_order_comes_first() -> None:
    names = ["good", "bad", "fair"]
    ordered, _ = on_scale(votes_of(names), names, "ordinal", ["bad", "fair", "good"])
    assert ordered.label.tolist() == [2, 0, 1]


def test_the_interval_level_takes_numbers_only() -> None:
    votes, values = on_scale(votes_of(["1", "2,5"]), ["1", "2,5"], "interval")
    assert values.tolist() == [1.0, 2.5]
    assert votes.label.tolist() == [0, 1]
    with pytest.raises(UsageError, match="'two' is not a number"):
        on_scale(votes_of(["1", "two"]), ["1", "two"], "interval")


def study(tmp_path: Path) -> tuple[Path, Path]:
    """Four items of two domains; annotators agree on law and disagree on medicine."""
    rows = []
    for item in range(12):
        for person in range(5):
            answer = str(item % 3 + 1) if item < 6 else str((item + person) % 3 + 1)
            rows.append(row(f"q{item}", answer, f"w{person}"))
    gold = [
        {
            "inputs": f"q{item}",
            "outputs": str(item % 3 + 1),
            "meta": {"id": item, "domain": "law" if item < 6 else "medicine"},
        }
        for item in range(12)
    ]
    return (
        written(tmp_path / "p.tsv", toloka(rows)),
        written(tmp_path / "gold.json", json.dumps({"data": {"test": gold}}, ensure_ascii=False)),
    )


def test_agreement_and_the_figure_are_told_for_each_domain(tmp_path: Path) -> None:
    pool, gold = study(tmp_path)
    words = ("--gold", gold, "--by", "domain", "--max-low-agreement", "1")
    outcome = done("baseline", pool, *words, "--out", tmp_path / "out", "--json", "-")
    groups = {one["name"]: one for one in outcome.json["groups"]}
    assert list(groups) == [
        *("domain=law: acc", "domain=law: krippendorff_alpha"),
        "domain=medicine: krippendorff_alpha",  # no item has a majority
    ]
    assert groups["domain=law: krippendorff_alpha"]["value"] == 1.0
    assert groups["domain=medicine: krippendorff_alpha"]["value"] < 0
    assert (groups["domain=law: acc"]["value"], groups["domain=law: acc"]["n"]) == (1.0, 6)
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "medicine" in report
    assert "law" in merilo("baseline", pool, *words).out


def test_an_input_field_makes_groups_too_and_an_unknown_one_is_refused(tmp_path: Path) -> None:
    pool, _ = study(tmp_path)
    found = merilo("baseline", pool, "--by", "question", "--max-low-agreement", "1", "--json", "-").json
    assert "groups" not in found  # a single item without gold has no metric and no agreement
    outcome = merilo("baseline", pool, "--by", "colour")
    assert outcome.status == 2
    assert "there is no field 'colour' (choose from: question)" in outcome.complaint


def test_the_level_of_measurement_is_recorded_and_changes_alpha(tmp_path: Path) -> None:
    rows = [row(f"q{i}", str(i + (p == 0)), f"w{p}") for i in range(8) for p in range(5)]
    pool = written(tmp_path / "p.tsv", toloka(rows))
    found = {
        level: merilo("baseline", pool, "--level", level, "--json", "-").json["agreement"]
        for level in ("nominal", "ordinal", "interval")
    }
    assert found["interval"]["level"] == "interval"
    assert found["nominal"]["krippendorff_alpha"] < found["interval"]["krippendorff_alpha"]
    for agreement in found.values():
        low, high = agreement["ci95"]
        assert low <= agreement["krippendorff_alpha"] <= high


def test_on_an_ordered_level_auto_is_the_weighted_median_if_the_order_is_known(tmp_path: Path) -> None:
    truth = np.random.default_rng(0).integers(1, 6, 30).tolist()

    def resolved(name: str, *words: str) -> dict[str, int]:
        rows = [
            row(f"q{i}", name * (right + off + 1), f"w{p}")
            for i, right in enumerate(truth)
            for p, off in enumerate((-1, -1, 0, 1, 1))
        ]
        pool = written(tmp_path / "p.tsv", toloka(rows))
        return merilo("baseline", pool, "--aggregator", "auto", *words, "--json", "-").json["resolved_by"]

    assert resolved("1", "--level", "ordinal")["weighted_median"] == 30
    assert resolved("1", "--level", "interval")["weighted_median"] == 30
    assert "weighted_median" not in resolved("1")
    # Names have no order.
    named = written(tmp_path / "n.tsv", toloka([row("q", "ab"[p % 2], f"w{p}") for p in range(3)]))
    outcome = merilo("baseline", named, "--aggregator", "auto", "--level", "ordinal")
    assert outcome.status == 2
    assert "order" in outcome.complaint
