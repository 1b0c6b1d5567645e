"""Groups of people as arms of one study: estimates in columns, and differences by the crossed test."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command import merilo as command

import merilo
from merilo.baselines.arms import arm_estimates, arms_of_column, arms_of_files, read_arms
from merilo.errors import DataError, InputError

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
    found = arm_estimates(made.details, arms_of(table))
    expert, lay = found.arms
    assert (expert.name, lay.name, expert.annotators, lay.answers) == ("expert", "lay", 10, 360)
    right = table.filter(pl.col("label") == pl.col("task").replace_strict(GOLD))
    shares = {name: right.filter(pl.col("group") == name).height / 360 for name in ("expert", "lay")}
    assert (expert.single[0], lay.single[0]) == pytest.approx((shares["expert"], shares["lay"]))
    (apart,) = found.differences
    assert apart.single.value == pytest.approx(lay.single[0] - expert.single[0])
    assert apart.consensus.value == pytest.approx(lay.consensus[0] - expert.consensus[0])
    assert apart.corrected[0] < 0.001
    assert apart.corrected[1] < 0.01
    assert apart.single.annotators == 19  # one degree of freedom is lost in each group


@pytest.mark.thorough
def test_equal_arms_seldom_differ() -> None:
    """40 studies: more than 7 rejections have a probability of less than 0.1 % at 5 %."""
    rejected = np.zeros(2)
    for seed in range(40):
        table = answers(0.7, 0.7, seed=seed)
        made = merilo.baseline(
            merilo.read_responses(table, **OPTIONS), gold=GOLD, resolve="none", max_low_agreement=1.0
        )
        (apart,) = arm_estimates(made.details, arms_of(table)).differences
        rejected += np.array(apart.corrected) < 0.05
    assert rejected.max() <= 7


def test_three_arms_have_three_pairs_corrected_together() -> None:
    table = answers()
    arms = {who: f"{arm}{int(who[-1]) % 2}" if arm == "lay" else arm for who, arm in arms_of(table).items()}
    made = merilo.baseline(merilo.read_responses(table, **OPTIONS), gold=GOLD)
    found = arm_estimates(made.details, arms)
    assert [(one.first, one.second) for one in found.differences] == [
        ("expert", "lay0"), ("expert", "lay1"), ("lay0", "lay1"),
    ]  # fmt: skip
    for one in found.differences:
        assert one.corrected[0] >= one.single.p


def test_arms_with_different_numbers_of_answers_are_compared_by_as_many() -> None:
    table = answers(0.7, 0.7, overlap=5)
    fewer = table.filter((pl.col("group") == "lay") | (pl.int_range(pl.len()).over("task", "group") < 1))
    made = merilo.baseline(merilo.read_responses(fewer, **OPTIONS), gold=GOLD, max_low_agreement=1.0)
    found = arm_estimates(made.details, arms_of(fewer))
    (apart,) = found.differences
    # The consensus of five is better than one answer, but a majority of one is not.
    assert found.arms[1].consensus[0] > found.arms[0].consensus[0] + 0.05
    assert abs(apart.consensus.value) < 0.12


def test_what_is_no_division_into_arms_is_refused() -> None:
    table = answers()
    made = merilo.baseline(merilo.read_responses(table, **OPTIONS), gold=GOLD)
    arms = arms_of(table)
    with pytest.raises(DataError, match="1 of 20 annotators have no arm \\(lay3\\)"):
        arm_estimates(made.details, {who: arm for who, arm in arms.items() if who != "lay3"})
    with pytest.raises(DataError, match="2 to 12 arms"):
        arm_estimates(made.details, dict.fromkeys(arms, "all"))
    with pytest.raises(DataError, match="2 to 12 arms"):
        arm_estimates(made.details, {who: who for who in arms})
    apart = table.filter((pl.col("group") == "lay") == (pl.col("task").str.slice(1).cast(pl.Int64) < 60))
    disjoint = merilo.baseline(merilo.read_responses(apart, **OPTIONS), gold=GOLD)
    with pytest.raises(DataError, match="share no item"):
        arm_estimates(disjoint.details, arms)
    plain = merilo.baseline(merilo.read_responses(table, **OPTIONS))
    with pytest.raises(DataError, match="no gold answers"):
        arm_estimates(plain.details, arms)


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
    assert arms_of_column(merilo.read_responses(table, **{**OPTIONS, "answer": "group"})) == arms_of(table)
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
    assert "lay minus expert, single person" in done.out
    found = json.loads((tmp_path / "made.json").read_text())["arms"]
    assert found == json.loads((tmp_path / "out" / "arms.json").read_text())
    assert [one["arm"] for one in found["arms"]] == ["expert", "lay"]
    (apart,) = found["differences"]
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
