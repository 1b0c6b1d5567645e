"""Groups of people as arms of one study: estimates in columns, and differences by the crossed test."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command import merilo as command

import merilo
from merilo.baselines.arms import arm_estimates, arms_of_files, read_arms
from merilo.errors import DataError, InputError
from merilo.reports.arm_tables import arm_notes
from merilo.reports.hb.withholding import without_gold

GOLD = {f"q{item}": "ABCD"[item % 4] for item in range(120)}


def answers(lay: float = 0.65, expert: float = 0.95, overlap: int = 3, seed: int = 1) -> pl.DataFrame:
    """Ten lay people and ten experts; three of each answer every item."""
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(120):
        for arm, chance in (("lay", lay), ("expert", expert)):
            for person in rng.permutation(10)[:overlap].tolist():
                shift = 0 if rng.random() < chance else int(rng.integers(1, 4))
                rows.append((f"q{item}", f"{arm}{person}", "ABCD"[(item + shift) % 4], arm))
    return pl.DataFrame(rows, schema=["task", "worker", "label", "group"], orient="row")


OPTIONS = {"item": ["task"], "annotator": "worker", "answer": "label"}


def arms_of(table: pl.DataFrame) -> dict[str, str]:
    return dict(table.select("worker", "group").unique().iter_rows())


def test_experts_are_above_lay_people_by_both_tests() -> None:
    table = answers()
    made = merilo.baseline(merilo.read_responses(table, **OPTIONS), gold=GOLD)
    found = arm_estimates(made.evidence, arms_of(table))
    expert, lay = found.arms
    assert (expert.arm, lay.arm, expert.annotators, lay.answers) == ("expert", "lay", 10, 360)
    right = table.filter(pl.col("label") == pl.col("task").replace_strict(GOLD))
    shares = {name: right.filter(pl.col("group") == name).height / 360 for name in ("expert", "lay")}
    assert (expert.single.value, lay.single.value) == pytest.approx((shares["expert"], shares["lay"]))
    (apart,) = found.differences
    assert apart.single.difference == pytest.approx(lay.single.value - expert.single.value, abs=2e-6)
    assert apart.consensus.difference == pytest.approx(lay.consensus.value - expert.consensus.value, abs=2e-6)
    assert apart.single.p_holm < 0.001
    assert apart.consensus.p_holm < 0.01


@pytest.mark.thorough
def test_equal_arms_seldom_differ() -> None:
    """40 studies: more than 7 rejections have a probability of less than 0.1 % at 5 %."""
    rejected = np.zeros(2)
    for seed in range(40):
        table = answers(0.7, 0.7, seed=seed)
        made = merilo.baseline(
            merilo.read_responses(table, **OPTIONS), gold=GOLD, resolve="none", max_low_agreement=1.0
        )
        (apart,) = arm_estimates(made.evidence, arms_of(table)).differences
        rejected += np.array([apart.single.p_holm, apart.consensus.p_holm]) < 0.05
    assert rejected.max() <= 7


def test_three_arms_have_three_pairs_corrected_together() -> None:
    table = answers()
    arms = {who: f"{arm}{int(who[-1]) % 2}" if arm == "lay" else arm for who, arm in arms_of(table).items()}
    made = merilo.baseline(merilo.read_responses(table, **OPTIONS), gold=GOLD)
    found = arm_estimates(made.evidence, arms)
    assert [(one.first, one.second) for one in found.differences] == [
        ("expert", "lay0"), ("expert", "lay1"), ("lay0", "lay1"),
    ]  # fmt: skip
    for one in found.differences:
        assert one.single.p_holm >= one.single.p


def test_arms_with_different_numbers_of_answers_are_compared_by_as_many() -> None:
    table = answers(0.7, 0.7, overlap=5)
    fewer = table.filter((pl.col("group") == "lay") | (pl.int_range(pl.len()).over("task", "group") < 1))
    made = merilo.baseline(merilo.read_responses(fewer, **OPTIONS), gold=GOLD, max_low_agreement=1.0)
    found = arm_estimates(made.evidence, arms_of(fewer))
    (apart,) = found.differences
    # The consensus of five is better than one answer, but a majority of one is not.
    assert found.arms[1].consensus.value > found.arms[0].consensus.value + 0.05
    assert abs(apart.consensus.difference) < 0.12


def test_what_is_no_division_into_arms_is_refused() -> None:
    table = answers()
    made = merilo.baseline(merilo.read_responses(table, **OPTIONS), gold=GOLD)
    arms = arms_of(table)
    with pytest.raises(DataError, match="1 of 20 annotators have no arm \\(lay3\\)"):
        arm_estimates(made.evidence, {who: arm for who, arm in arms.items() if who != "lay3"})
    with pytest.raises(DataError, match="2 to 12 arms"):
        arm_estimates(made.evidence, dict.fromkeys(arms, "all"))
    with pytest.raises(DataError, match="2 to 12 arms"):
        arm_estimates(made.evidence, {who: who for who in arms})
    apart = table.filter((pl.col("group") == "lay") == (pl.col("task").str.slice(1).cast(pl.Int64) < 60))
    disjoint = merilo.baseline(merilo.read_responses(apart, **OPTIONS), gold=GOLD)
    with pytest.raises(DataError, match="share no item"):
        arm_estimates(disjoint.evidence, arms)
    plain = merilo.baseline(merilo.read_responses(table, **OPTIONS))
    with pytest.raises(DataError, match="no gold answers"):
        arm_estimates(plain.evidence, arms)


def test_arms_too_small_for_a_test_and_arms_apart_keep_the_others() -> None:
    """A third arm of two people has no interval; a fourth answers other items than the third."""
    table = answers()
    early = pl.col("task").str.slice(1).cast(pl.Int64) < 60
    few = table.filter(pl.col("worker").is_in(["lay0", "lay1"]) & early)
    apart = table.filter(pl.col("worker").is_in(["lay2", "lay3", "lay4"]) & ~early)
    whole = table.filter(~pl.col("worker").is_in(["lay0", "lay1", "lay2", "lay3", "lay4"]))
    made = merilo.baseline(merilo.read_responses(pl.concat([whole, few, apart]), **OPTIONS), gold=GOLD)
    arms = arms_of(table) | {
        "lay0": "few",
        "lay1": "few",
        "lay2": "late",
        "lay3": "late",
        "lay4": "late",
        "nobody": "empty",
    }
    found = arm_estimates(made.evidence, arms)
    assert found.without_answers == ("empty",)
    by_name = {one.arm: one for one in found.arms}
    assert by_name["few"].single.over_both is None
    pairs = {(one.first, one.second): one for one in found.differences}
    assert pairs["expert", "few"].single.difference < 0
    assert pairs["expert", "few"].single.p_holm is None
    assert (pairs["few", "late"].items, pairs["few", "late"].single.difference) == (0, None)
    assert pairs["expert", "lay"].single.p_holm < 0.01
    shown = "\n".join(note.en for note in arm_notes(found))
    assert "fewer than 3 annotators" in shown
    assert "without a common item" in shown
    assert "Without answers that count: empty." in shown


def test_arms_of_one_person_have_no_test() -> None:
    table = answers().filter(pl.col("worker").is_in(["lay0", "expert0"]))
    made = merilo.baseline(merilo.read_responses(table, **OPTIONS), gold=GOLD, min_votes=1)
    found = arm_estimates(made.evidence, arms_of(table))
    assert [one.single.over_both for one in found.arms] == [None, None]
    assert found.differences[0].single.p is None


def test_closed_gold_publishes_no_arms(tmp_path: Path) -> None:
    table = answers()
    raw = merilo.baseline(merilo.read_responses(table, **OPTIONS), gold=GOLD, arm=arms_of(table))
    raw.save(tmp_path / "out")
    study = merilo.read_raw(tmp_path / "out" / "raw")
    assert study.arms is not None
    assert not {"lay0", "expert0"} & set(study.arms.of)
    assert set(study.arms.of) == set(study.responses.table["respondent"])
    assert without_gold(study).arms is None


def test_pseudonyms_keep_the_arms(tmp_path: Path) -> None:
    answers().write_csv(tmp_path / "all.csv")
    read = merilo.read_responses(tmp_path / "all.csv", **OPTIONS)
    named, hidden = (
        merilo.baseline(read, gold=GOLD, arm=arms_of(answers()), anonymise=anonymise)
        for anonymise in (False, True)
    )
    assert named.to_json()["arms"] == hidden.to_json()["arms"]


def test_a_table_of_arms_is_read_or_its_fault_is_told(tmp_path: Path) -> None:
    path = tmp_path / "arms.csv"
    path.write_text("annotator,arm\na,lay\nb, expert\na,lay\n")
    assert read_arms(path) == {"a": "lay", "b": "expert"}
    path.write_text("annotator,arm\na,lay\na,expert\n")
    with pytest.raises(DataError, match="a is in two arms"):
        read_arms(path)
    path.write_text("annotator,arm\na,\n")
    with pytest.raises(InputError, match="is empty"):
        read_arms(path)
    path.write_text("who,what\na,b\n")
    with pytest.raises(InputError, match="expected one of"):
        read_arms(path)


def test_a_column_and_files_name_the_arms_too(tmp_path: Path) -> None:
    table = answers()
    assert merilo.read_responses(table, **OPTIONS, arm="group").arms == arms_of(table)
    for name, rows in table.drop("group").group_by(table["group"]):
        rows.write_csv(tmp_path / f"{name[0]}.csv")
    files = merilo.read_responses([tmp_path / "lay.csv", tmp_path / "expert.csv"], **OPTIONS)
    assert arms_of_files(files) == arms_of(table)


@pytest.mark.parametrize("how", ["group", "arms.csv", "files"])
def test_the_command_prints_columns_and_writes_the_arms(how: str, tmp_path: Path) -> None:
    table = answers()
    pl.DataFrame({"task": [*GOLD], "gold": [*GOLD.values()]}).write_csv(tmp_path / "gold.csv")
    table.write_csv(tmp_path / "all.csv")
    table.select(annotator="worker", arm="group").unique().write_csv(tmp_path / "arms.csv")
    files = [tmp_path / "all.csv"]
    if how == "files":
        files = []
        for name, rows in table.drop("group").group_by(table["group"]):
            files.append(tmp_path / f"{name[0]}.csv")
            rows.write_csv(files[-1])
    done = command(
        "baseline", *files, "--gold", tmp_path / "gold.csv", "--item", "task", "--annotator", "worker",
        "--answer", "label", "--arm", tmp_path / how if how == "arms.csv" else how, "--out", tmp_path / "out",
        "--json", tmp_path / "made.json",
    )  # fmt: skip
    assert done.status == 0, done.err
    assert "Differences between the arms" in done.out
    found = json.loads((tmp_path / "made.json").read_text())["arms"]
    assert found == json.loads((tmp_path / "out" / "baseline.json").read_text())["arms"]
    report = (tmp_path / "out" / "report.html").read_text()
    assert "lay minus expert" in report
    assert "lay минус expert" in report
    built = command("report", tmp_path / "out", "--out", tmp_path / "hb")
    assert built.status == 0, built.err
    assert found == json.loads((tmp_path / "hb" / "metrics.json").read_text())["arms"]
    assert "lay minus expert" in (tmp_path / "hb" / "report.html").read_text()
    verified = command("report", "verify", tmp_path / "hb", "--json", "-")
    assert verified.status == 0, verified.err
    assert verified.json["follows"]["arm_differences.differences.0.single_person.p_holm"] is True
    assert [*found] == ["expert", "lay"]
    (apart,) = json.loads((tmp_path / "made.json").read_text())["arm_differences"]["differences"]
    assert apart["single_person"]["p_holm"] < 0.001
    assert apart["items"] == 120


def test_a_column_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    answers().write_csv(tmp_path / "all.csv")
    done = command(
        "baseline", tmp_path / "all.csv", "--item", "task", "--annotator", "worker", "--answer", "label",
        "--arm", "nothing",
    )  # fmt: skip
    assert done.status in {1, 2}
    assert "nothing" in done.err
    assert "Traceback" not in done.err
