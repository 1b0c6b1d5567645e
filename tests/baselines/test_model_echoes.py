"""Annotators who repeat a model's wrong answers: planted copies are found, and honest people are not named."""

import json
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import merilo
from merilo.baselines.model_echoes import ALPHA, at_least, echoes
from merilo.statistics.crossed import holm

PEOPLE, ITEMS, OVERLAP = 30, 120, 5


class Study(NamedTuple):
    """Answers to items, some of which have a wrong answer that attracts people and the model alike."""

    annotator: NDArray[np.int32]
    item: NDArray[np.int32]
    answer: NDArray[np.int64]
    gold: NDArray[np.int64]
    model: NDArray[np.int64]


def study(seed: int, *, copying: int = 0, guessing: int = 0, labels: int = 4) -> Study:
    """The first people copy the model in 90 % of their answers, the last ones guess; the model errs on a fifth of the items."""
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, labels, ITEMS)
    lure = (gold + rng.integers(1, labels, ITEMS)) % labels
    difficulty, ability = rng.standard_normal(ITEMS), 1.5 + 0.8 * rng.standard_normal(PEOPLE)
    model = gold.copy()
    missed = np.argsort(-(difficulty + rng.standard_normal(ITEMS)))[: ITEMS // 5]
    model[missed] = np.where(rng.random(missed.size) < 0.6, lure[missed], (gold[missed] + 1) % labels)
    chosen = np.argsort(rng.random((ITEMS, PEOPLE)), axis=1)[:, :OVERLAP]
    item, person = np.repeat(np.arange(ITEMS, dtype=np.int32), OVERLAP), chosen.ravel().astype(np.int32)
    wrong = np.where(
        rng.random(item.size) < 0.5, lure[item], (gold[item] + rng.integers(1, labels, item.size)) % labels
    )
    right = rng.random(item.size) < 1 / (1 + np.exp(difficulty[item] - ability[person]))
    answer = np.where(right, gold[item], wrong)
    answer = np.where(person >= PEOPLE - guessing, rng.integers(0, labels, item.size), answer)
    answer = np.where((person < copying) & (rng.random(item.size) < 0.9), model[item], answer)
    return Study(person, item, answer, gold, model)


def named(made: Study) -> set[int]:
    """The annotators with a p-value of at most 5 % after Holm's correction."""
    wrong = made.answer != made.gold[made.item]
    found = echoes(
        made.annotator,
        made.item,
        wrong,
        wrong & (made.answer == made.model[made.item]),
        made.model != made.gold,
    )
    corrected = holm([one.p for one in found])
    return {int(one.annotator) for one, p in zip(found, corrected, strict=True) if p <= ALPHA}


def test_the_probability_is_that_of_all_answers_with_so_many_errors() -> None:
    others, odds, alike = np.array([0.5, 2.0]), np.array([0.3, 1.0, 4.0]), np.array([0.2, 0.5, 0.9])
    for errors, repeated in ((2, 1), (3, 2), (3, 0), (5, 3)):
        total = least = 0.0
        for ends in product(("right", "wrong"), ("right", "wrong"), *(("right", "wrong", "repeated"),) * 3):
            if sum(end != "right" for end in ends) != errors:
                continue
            weight = 1.0
            for end, odd in zip(ends, (*others, *odds), strict=True):
                weight *= 1.0 if end == "right" else odd
            for end, share in zip(ends[2:], alike, strict=True):
                weight *= {"right": 1.0, "wrong": 1 - share, "repeated": share}[end]
            total += weight
            least += weight * (ends.count("repeated") >= repeated)
        assert at_least(repeated, errors, others, odds, alike) == pytest.approx(least / total)


@pytest.mark.parametrize(("labels", "least"), [(2, 1), (4, 9)])
def test_people_who_copy_are_named_and_nobody_else(labels: int, least: int) -> None:
    found = [named(study(seed, copying=3, labels=labels)) for seed in range(6)]
    assert all(one <= {0, 1, 2} for one in found)
    assert sum(map(len, found)) >= least, "of 18; with two labels, every error on such an item is the model's"


@pytest.mark.parametrize("labels", [2, 4])
def test_people_who_share_errors_with_the_model_or_guess_are_not_named(labels: int) -> None:
    found = [named(study(seed, guessing=3, labels=labels)) for seed in range(40)]
    assert sum(map(bool, found)) <= 4, "nominally at most 5 % of the studies"


def table(made: Study) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "item": [f"q{code}" for code in made.item],
            "annotator": [f"p{code}" for code in made.annotator],
            "answer": [f"label {code}" for code in made.answer],
        }
    )


def test_a_baseline_names_who_repeats_the_model_s_errors(tmp_path: Path) -> None:
    made = study(1, copying=3)
    gold = {f"q{item}": f"label {code}" for item, code in enumerate(made.gold)}
    answers = tmp_path / "robot.csv"
    pl.DataFrame({"id": list(gold), "answer": [f"label {code}" for code in made.model]}).write_csv(answers)
    result = merilo.baseline(table(made), gold=gold, models=[answers], min_votes=2)
    (found,) = result.to_json()["echoes"]
    tested = np.unique(made.annotator[(made.model != made.gold)[made.item]]).size
    assert (found["model"], found["missed"], found["annotators"]) == ("robot", ITEMS // 5, tested)
    assert {one["annotator"] for one in found["named"]} <= {"p0", "p1", "p2"}
    first = found["named"][0]
    mine = made.annotator == int(first["annotator"][1:])
    on_missed = mine & (made.model != made.gold)[made.item]
    assert first["answers"] == on_missed.sum()
    assert first["repeated"] == (on_missed & (made.answer == made.model[made.item])).sum()
    assert first["others"] < first["repeated"] / first["answers"]
    assert first["p"] <= first["p_holm"] <= ALPHA
    result.save(tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "the wrong answers of robot more often than" in page
    (published,) = json.loads((tmp_path / "out" / "baseline.json").read_text(encoding="utf-8"))["echoes"]
    assert len(published["named"]) == len(found["named"])
    assert f"({', '.join(one['annotator'] for one in published['named'])})" in page, "by their pseudonyms"


def test_a_model_without_errors_gives_the_reason(tmp_path: Path) -> None:
    made = study(1)
    gold = {f"q{item}": f"label {code}" for item, code in enumerate(made.gold)}
    answers = tmp_path / "robot.csv"
    pl.DataFrame({"id": list(gold), "answer": list(gold.values())}).write_csv(answers)
    (told,) = merilo.baseline(table(made), gold=gold, models=[answers], min_votes=2).to_json()["echoes"]
    assert "wrong on fewer than 3 items" in told["reason"]
