"""Answers that echo a model: planted copies are found, and honest people who share its errors are not."""

import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import merilo
from merilo.people.quality import model_echo as module
from merilo.people.quality.model_echo import NAMED, Echo, model_echo

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
from assistance import Study, World, simulated

COPIED = World("shared lures")


def study(seed: int, share: float, accuracy: float = 0.85) -> Study:
    return simulated(COPIED, accuracy, share, np.random.default_rng(seed))


def echo_of(made: Study) -> Echo:
    return model_echo(
        made.annotator, made.item, right=made.answer == made.gold[made.item],
        echoes=made.answer == made.model[made.item], model_right=made.model == made.gold, labels=4,
    )  # fmt: skip


@pytest.mark.parametrize("seed", [0, 3, 4])
def test_people_who_copy_are_named_and_the_share_of_their_answers_is_within_its_interval(seed: int) -> None:
    made = study(seed, 0.3)
    echo = echo_of(made)
    assert echo.interval.low <= made.copied.mean() <= echo.interval.high
    assert echo.interval.high - echo.interval.low < 0.15
    named = np.flatnonzero(echo.alone <= NAMED)
    assert named.size >= made.copies.sum() // 2
    assert made.copies[named].all()


@pytest.mark.parametrize("accuracy", [0.7, 0.95])
def test_people_who_share_the_errors_of_a_model_without_copying_are_not_named(accuracy: float) -> None:
    for seed in range(4):
        echo = echo_of(study(seed, 0.0, accuracy))
        assert echo.interval.low < 0.01
        assert np.nanmin(echo.alone) > NAMED


def test_the_size_of_the_parts_that_are_held_in_memory_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = study(5, 0.1)
    whole = echo_of(made)
    monkeypatch.setattr(module, "_CELLS", 3000)
    parts = echo_of(made)
    assert whole.share == pytest.approx(parts.share)
    np.testing.assert_allclose(whole.people, parts.people, rtol=1e-9)
    np.testing.assert_allclose(whole.alone, parts.alone, atol=1e-12)


def table(made: Study) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "item": [f"q{code}" for code in made.item],
            "annotator": [f"p{code}" for code in made.annotator],
            "answer": [f"label {code}" for code in made.answer],
        }
    )


def test_a_baseline_tells_the_share_and_what_people_reach_without_it(tmp_path: Path) -> None:
    made = study(1, 0.3)
    gold = {f"q{item}": f"label {code}" for item, code in enumerate(made.gold)}
    answers = tmp_path / "robot.csv"
    pl.DataFrame({"id": list(gold), "answer": [f"label {code}" for code in made.model]}).write_csv(answers)
    result = merilo.baseline(table(made), gold=gold, models=[answers], min_votes=2)
    (found,) = result.assistance
    assert found.interval.low <= made.copied.mean() <= found.interval.high
    assert {f"p{code}" for code in np.flatnonzero(made.copies)} >= {*found.named} != set()
    own = made.answer == made.gold[made.item]
    first, second, third = found.levels
    assert (first.share, first.single) == (0, pytest.approx(own.mean()))
    # The model is better than people, so people are worse without its answers.
    assert first.single > second.single > third.single
    assert 0 < third.consensus <= first.consensus <= 1
    (record,) = result.to_dict()["assistance"]  # type: ignore[misc, union-attr]
    assert record["share"] == pytest.approx(found.share, abs=1e-6)  # type: ignore[index, call-overload]
    folder = tmp_path / "out"
    result.save(folder)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Help by AI" in page
    assert "Помощь ИИ" in page


def test_a_model_without_errors_and_two_people_give_the_reason(tmp_path: Path) -> None:
    made = study(1, 0.0)
    gold = {f"q{item}": f"label {code}" for item, code in enumerate(made.gold)}
    answers = tmp_path / "robot.csv"
    pl.DataFrame({"id": list(gold), "answer": list(gold.values())}).write_csv(answers)
    told = merilo.baseline(table(made), gold=gold, models=[answers], min_votes=2).to_dict()["assistance"]
    assert "wrong on fewer than 3 items" in told[0]["reason"]  # type: ignore[index, call-overload, operator]
