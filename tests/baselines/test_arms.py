"""Groups of people as arms of one study: a baseline each, differences, and experts who skip their own items."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command import merilo as command

import merilo
from merilo.baselines.baseline import Baseline, read_record
from merilo.errors import DataError
from merilo.people.spelling import NOT_SHOWN, may_be_mine

GOLD = {f"q{item}": "ABCD"[item % 4] for item in range(120)}
OPTIONS = {"item": ["task"], "annotator": "worker", "answer": "label"}


def answers(lay: float = 0.65, expert: float = 0.95, overlap: int = 3, seed: int = 1) -> pl.DataFrame:
    """Ten lay people and ten experts; three of each answer every item."""
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(120):
        for arm, chance in (("people", lay), ("experts", expert)):
            for person in rng.permutation(10)[:overlap].tolist():
                shift = 0 if rng.random() < chance else int(rng.integers(1, 4))
                rows.append((f"q{item}", f"{arm}{person}", "ABCD"[(item + shift) % 4], arm))
    return pl.DataFrame(rows, schema=["task", "worker", "label", "group"], orient="row")


def made(table: pl.DataFrame, **more: object) -> Baseline:
    return merilo.baseline(
        merilo.read_responses(table, **OPTIONS, arm="group"), gold=GOLD, arm="group", **more
    )


def test_every_arm_has_the_baseline_of_its_own_answers_and_the_differences_are_theirs() -> None:
    table = answers()
    found = made(table)
    alone = {
        name: merilo.baseline(merilo.read_responses(rows, **OPTIONS), gold=GOLD)
        for name in ("people", "experts")
        for rows in [table.filter(pl.col("group") == name)]
    }
    record = found
    assert list(record.by_arm) == ["people", "experts"]
    for name, own in alone.items():
        arm = record.by_arm[name]
        for part in ("status", "metrics", "agreement", "item_counts", "cost", "single_person"):
            assert getattr(arm, part) == getattr(own, part), (name, part)
    consensus, person = record.differences
    assert (consensus.name, consensus.n, consensus.people) == ("experts minus people: acc", 120, 20)
    values = [one.metrics["acc"].value for one in record.by_arm.values()]
    assert consensus.value == pytest.approx(values[1] - values[0], abs=0.03)
    singles = [one.single_person.value for one in record.by_arm.values()]
    assert person.value == pytest.approx(singles[1] - singles[0], abs=2e-6)
    assert min(consensus.ci95[0], person.ci95[0]) > 0


@pytest.mark.thorough
def test_equal_arms_seldom_differ() -> None:
    """40 studies: more than 7 rejections have a probability of less than 0.1 % at 5 %."""
    apart = np.zeros(2)
    for seed in range(40):
        found = made(answers(0.7, 0.7, seed=seed), resolve="none", max_low_agreement=1.0)
        apart += [not one.ci95[0] <= 0 <= one.ci95[1] for one in found.differences]
    assert apart.max() <= 7


def test_arms_with_different_numbers_of_answers_are_compared_by_as_many() -> None:
    table = answers(0.7, 0.7, overlap=5)
    fewer = table.filter((pl.col("group") == "people") | (pl.int_range(pl.len()).over("task", "group") < 1))
    found = made(fewer, max_low_agreement=1.0)
    # The consensus of five is better than one answer, but a majority of one is not.
    values = [one.metrics["acc"].value for one in found.by_arm.values()]
    assert values[0] > values[1] + 0.05
    assert abs(found.differences[0].value) < 0.12


def test_arms_too_small_for_an_interval_and_arms_apart_say_so() -> None:
    table = answers()
    early = pl.col("task").str.slice(1).cast(pl.Int64) < 60
    few = table.filter(pl.col("worker").is_in(["people0", "people1"]) & early)
    late = table.filter(pl.col("worker").is_in(["people2", "people3", "people4"]) & ~early)
    rest = table.filter(pl.col("group") == "experts")
    named = [few.with_columns(group=pl.lit("few")), late.with_columns(group=pl.lit("late")), rest]
    record = made(pl.concat(named))
    assert list(record.by_arm) == ["everybody", "experts", "late", "few"], (
        "without people, everybody is the main arm"
    )
    found = {one.name: one for one in record.differences}
    assert found["few minus experts: acc"].reason == "an arm has fewer than 3 annotators"
    assert found["few minus experts: acc"].value is not None
    assert found["few minus late: acc"].reason == "the two arms have no common item"
    assert found["late minus experts: acc"].ci95 is not None


def test_what_is_no_division_into_arms_is_refused(tmp_path: Path) -> None:
    table = answers()
    read = merilo.read_responses(table, **OPTIONS)
    arms = dict(table.select("worker", "group").unique().iter_rows())
    for division, complaint in (
        ({who: arm for who, arm in arms.items() if who != "people3"}, r"1 of 20 annotators have no arm \(people3\)"),
        (dict.fromkeys(arms, "all"), "2 to 12 arms"),
        ({who: who for who in arms}, "2 to 12 arms"),
        ("files", "2 to 12 arms"),
    ):  # fmt: skip
        with pytest.raises(DataError, match=complaint):
            merilo.baseline(read, gold=GOLD, arm=division)
    for name, rows in (("one", table), ("two", table[:-1])):
        rows.write_csv(tmp_path / f"{name}.csv")
    both = merilo.read_responses([tmp_path / "one.csv", tmp_path / "two.csv"], **OPTIONS)
    with pytest.raises(DataError, match="is in two arms"):
        merilo.baseline(both, gold=GOLD, arm="files")
    done = command(
        "baseline", tmp_path / "one.csv", "--item", "task", "--annotator", "worker", "--arm", "nothing"
    )
    assert (done.status, "nothing" in done.complaint) == (2, True)
    without_gold = merilo.baseline(read, arm=arms)
    assert (list(without_gold.arms), without_gold.differences) == (["experts"], ())


@pytest.mark.parametrize("how", ["group", "files"])
def test_the_command_prints_the_arms_and_the_folder_is_computed_again(how: str, tmp_path: Path) -> None:
    table = answers()
    pl.DataFrame({"task": [*GOLD], "gold": [*GOLD.values()]}).write_csv(tmp_path / "gold.csv")
    for (name,), rows in table.group_by("group"):
        rows.write_csv(tmp_path / f"{name}.csv")
    table.write_csv(tmp_path / "all.csv")
    files = ["all.csv"] if how == "group" else ["people.csv", "experts.csv"]
    done = command(
        "baseline", *(tmp_path / file for file in files), "--gold", tmp_path / "gold.csv", "--item", "task",
        "--annotator", "worker", "--answer", "label", "--arm", how, "--out", tmp_path / "out", "--json", "-",
    )  # fmt: skip
    assert done.status == 0, done.err
    assert f"--arm {how}" in done.json["provenance"]["command"]
    assert set(done.json["arms"]) == {"experts"}
    assert "experts minus people: acc" in (tmp_path / "out" / "report.html").read_text()
    assert (tmp_path / "out" / "experts" / "consensus.csv").is_file()
    built = command("report", tmp_path / "out", "--out", tmp_path / "hb")
    assert built.status == 0, built.err
    assert read_record(tmp_path / "hb").arms["experts"].metrics["acc"].value == pytest.approx(
        done.json["arms"]["experts"]["metrics"]["acc"]["value"]
    )
    verified = command("verify", tmp_path / "hb", "--json", "-")
    assert verified.status == 0, verified.err
    content = json.loads((tmp_path / "hb" / "baseline.json").read_text())
    content["arms"]["experts"]["metrics"]["acc"]["value"] = content["differences"][0]["value"] = 0.001
    (tmp_path / "hb" / "baseline.json").write_text(json.dumps(content))
    names = {one["name"] for one in command("verify", tmp_path / "hb", "--json", "-").json["differences"]}
    assert names == {"arms.experts.metrics.acc.value", "differences.0.value", "baseline.json"}
    shown = command(
        "baseline", tmp_path / "all.csv", *["--item", "task", "--annotator", "worker", "--arm", "group"]
    )
    assert "Arms of the study" in shown.out


def experts(*items: Sequence[str], **settings: object) -> Baseline:
    """Five experts answer each item; the gold answer is A."""
    rows = [(n, f"expert {m}", said) for n, item in enumerate(items) for m, said in enumerate(item)]
    table = pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row")
    gold = {str(n): "A" for n in range(len(items))}
    return merilo.baseline(merilo.read_responses(table), gold=gold, max_low_agreement=1.0, **settings)


MINE = "skip: this may be mine"


def test_an_item_keeps_n_less_k_answers_and_their_majority_decides() -> None:
    """Also where nearly all items have five answers, two of the three that are left are a majority."""
    found = experts(*[list("AAAAB")] * 40, [MINE, NOT_SHOWN, "A", "A", "B"])
    last = found.consensus.row(40, named=True)
    assert (last["votes"], last["label"], last["resolved_by"]) == (3, "A", "majority")
    assert found.response_counts.dropped == {"may_be_mine": 1, "not_shown": 1}
    assert found.item_counts.overlap == {5: 40, 3: 1}
    assert found.agreement.low_agreement == 0


def test_the_more_accurate_experts_decide_a_tie() -> None:
    agreed = [["A", "A", "X", "A", "X"]] * 5
    (tie, *_) = experts(["A", "A", "B", MINE, "B"], *agreed, resolve="cascade").consensus.to_dicts()
    assert tie["label"] == "A"
    assert experts(["A", "A", "B", MINE, "B"], *agreed, resolve="none").consensus["label"][0] is None


def test_an_item_that_every_expert_skipped_stays_without_a_label() -> None:
    found = experts([MINE] * 5, list("AAAAA"))
    assert found.consensus["label"].to_list() == [None, "A"]
    record = found
    assert (record.item_counts.total, record.item_counts.consensus, record.metrics["acc"].n) == (2, 1, 1)


@pytest.mark.parametrize(
    "option",
    [
        "пропустить вопрос, так как он, возможно, был придуман мной",
        "«Пропустить вопрос, так как он возможно был придуман мной».",
        "Возможно, придуман мной",
        "Skip: this may be mine",
        "skip, may be mine",
        "Skip this question, as it may have been written by me",
    ],
)
def test_the_guides_wording_is_no_vote(option: str) -> None:
    found = experts([option, option, "A", "A", "A"], list("AAAAA"))
    assert found.response_counts.dropped == {"may_be_mine": 2}
    assert found.consensus["votes"].to_list() == [3, 5]


@pytest.mark.parametrize("said", ["skip", "пропустить", "мой дядя", "maybe", "A", "написан", "возможно", ""])
def test_other_answers_are_votes(said: str) -> None:
    assert not may_be_mine(said)


def test_experts_who_saw_nothing_are_an_arm_like_any_other() -> None:
    found = made(answers()).arms["experts"]
    assert found.response_counts.dropped == {}
    assert found.agreement.min_votes == "majority"
