"""`merilo.score` and `merilo score` give the same result."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command import merilo as run
from exports import write_items

import merilo
from merilo.metrics.detox import Ratings


@pytest.fixture
def data(tmp_path: Path) -> Path:
    items = (
        {"instruction": "{inputs}", "inputs": "()" * n, "outputs": "1", "meta": {"id": n}}
        for n in range(1, 5)
    )
    return write_items(tmp_path / "bps.json", *items)


ANSWERS = {"1": "1", "2": "0", "3": "1", "9": "1"}


def test_the_dictionary_is_the_json_of_the_command(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "answers.csv"
    file.write_text("id,answer\n" + "".join(f"{name},{text}\n" for name, text in ANSWERS.items()))
    words = ("--dataset", "bps", "--data", data, "--explain", "2", "--per-item")
    told = run("score", file, *words, "--json", "-").json
    frame = pl.DataFrame({"id": list(ANSWERS), "answer": list(ANSWERS.values())})
    for answers in (file, ANSWERS, frame):
        scored = merilo.score(answers, dataset="bps", data=data)
        assert scored.to_dict(explain=["2"], per_item=True) == told
    assert (scored.items, scored.answered, scored.unanswered, scored.unknown) == (4, 3, (4,), ("9",))
    assert scored.per_item["acc"] == {"1": 1.0, "2": 0.0, "3": 1.0}


def test_the_judgement_of_an_answer_is_explained(data: Path) -> None:
    scored = merilo.score(ANSWERS, dataset="bps", data=data)
    (wrong,) = scored.explain(2)
    assert (wrong.metric, wrong.points, wrong.most) == ("acc", 0.0, 1.0)
    with pytest.raises(merilo.UsageError, match="there is no item '7' to explain"):
        scored.explain("7")
    with pytest.raises(merilo.UsageError, match="item '4' has no answer to explain"):
        scored.explain("4")


class HalfRater:
    """Gives every sentence one half for each part of J."""

    making = {"models": "none"}  # noqa: RUF012 - never changed

    def rate(self, toxic: list[str], rewritten: list[str]) -> Ratings:
        half = np.full(len(rewritten), 0.5)
        assert len(toxic) == len(rewritten)
        return Ratings(half, half, half)


def test_j_is_computed_with_a_rater_and_missing_without(tmp_path: Path) -> None:
    pairs = [
        {"instruction": "{inputs}", "inputs": f"грубо {n}", "outputs": f"мягко {n}", "meta": {"id": n}}
        for n in range(3)
    ]
    data, answers = write_items(tmp_path / "rudetox.json", *pairs), {str(n): f"мягко {n}" for n in range(3)}
    scored = merilo.score(answers, dataset="rudetox", data=data, rudetox_models=HalfRater())
    assert scored.metrics["j"].value == pytest.approx(0.125)
    assert scored.to_dict()["rudetox"] == {"models": "none"}
    without = merilo.score(answers, dataset="rudetox", data=data)
    assert "j" in without.missing
    assert "rudetox" not in without.to_dict()
    with pytest.raises(merilo.UsageError, match="rudetox_curves needs rudetox_models"):
        merilo.score(answers, dataset="rudetox", data=data, rudetox_curves="curves.json")
