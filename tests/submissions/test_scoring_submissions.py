"""Whole submissions over the whole catalogue: perfect, wrong, random, adversarial."""

import json
from pathlib import Path

import pytest
from command import merilo
from gold_sets import (
    TITLES,
    documents,
    gold_split,
    right_answer,
    write_gold,
    write_zip,
    wrong_answer,
)

from merilo.datasets import dataset, names
from merilo.submissions import read_gold, score_submission

N = 60
RATED = {"j", "sta", "sim", "fl"}
IN_TOTAL = {one.title for one in map(dataset, names()) if one.in_total}


@pytest.fixture(scope="module")
def splits():
    return {title: gold_split(dataset(title), N) for title in TITLES}


@pytest.fixture(scope="module")
def gold(splits, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gold(tmp_path_factory.mktemp("gold"), splits)


def submission(path: Path, splits, answer) -> Path:
    return write_zip(
        path, {title: documents(dataset(title), split, answer) for title, split in splits.items()}
    )


def score_zip(path: Path, gold: Path, *words: object):
    outcome = merilo("submission", "score", path, "--gold", gold, "--json", "-", *words)
    assert "Traceback" not in outcome.err
    return outcome.status, outcome.json


def test_a_perfect_submission_earns_one_everywhere(splits, gold: Path, tmp_path: Path) -> None:
    status, result = score_zip(submission(tmp_path / "s.zip", splits, right_answer), gold)
    assert status == 0
    assert result["total"] == 1.0
    assert result["ready_for_public"] is True
    assert set(result["counted_in_total"]) == IN_TOTAL
    assert list(result["results"]) == TITLES
    for title, one in result["results"].items():
        assert one["errors"] == []
        computed = {name: metric["value"] for name, metric in one["metrics"].items() if name not in RATED}
        assert set(computed.values()) <= {1.0}, title
        assert computed or title == "ruDetox"
    for metric in result["results"]["ruDetox"]["metrics"].values():  # no zero, without its classifiers
        assert metric["value"] is None
        assert "the extra 'hf'" in metric["reason"]


def test_a_wrong_submission_earns_nothing_and_is_no_error(splits, gold: Path, tmp_path: Path) -> None:
    status, result = score_zip(submission(tmp_path / "s.zip", splits, wrong_answer), gold)
    assert (status, result["total"], result["ready_for_public"]) == (0, 0.0, True)
    for one in result["results"].values():
        assert one["errors"] == []
        assert {metric["value"] for metric in one["metrics"].values()} <= {0.0, None}


@pytest.mark.parametrize("title", TITLES)
def test_one_wrong_answer_costs_exactly_its_share(title: str, splits, tmp_path: Path) -> None:
    """The rule of the dataset applied by hand to a submission that is perfect but for its first item."""
    declared, split = dataset(title), splits[title]
    first = split.items[0].id
    gold = read_gold(write_gold(tmp_path, {title: split}))

    def answer(declared, item):
        return wrong_answer(declared, item) if item.id == first else right_answer(declared, item)

    write_zip(tmp_path / "s.zip", {title: documents(declared, split, answer)})
    result = score_submission(tmp_path / "s.zip", gold).datasets[title]
    assert not result.answers.faults
    for name, score in result.scores.main.items():
        if name == "f1_macro":
            assert 0.7 < score.value < 1
        elif name == "grade_norm":
            assert score.value == pytest.approx(1 - 1 / 34 / 2), "one point of 34 in one of two variants"
        else:
            assert score.value == pytest.approx(1 - 1 / N), name
    if declared.answer.kind == "criteria":
        changed = [name for name, score in result.scores.extra.items() if score.value < 1]
        assert all(name.startswith("correct.") for name in changed), "the first item asks whether it is right"


def test_a_dataset_with_an_error_scores_nought_on_all_its_metrics(splits, gold: Path, tmp_path: Path) -> None:
    perfect = {title: documents(dataset(title), split, right_answer) for title, split in splits.items()}
    whole = score_zip(write_zip(tmp_path / "whole.zip", perfect), gold)[1]["results"]
    for title in ("USE", "ruEthics", "MaMuRAMu", "RCB", "BPS"):
        broken = json.loads(json.dumps(perfect))
        del broken[title][3]
        status, result = score_zip(write_zip(tmp_path / f"{title}.zip", broken), gold)
        one = result["results"][title]
        assert {metric["value"] for metric in one["metrics"].values()} == {0.0}
        assert set(one["metrics"]) == set(whole[title]["metrics"])
        assert [error["type"] for error in one["errors"]] == ["no_id"]
        counts = title in IN_TOTAL
        assert (status, result["ready_for_public"]) == ((1, False) if counts else (0, True))
        assert result["total"] == pytest.approx(1 - counts / len(IN_TOTAL))


def test_the_table_names_a_missing_file_and_judges_readiness_by_datasets_of_the_total(
    splits, tmp_path: Path
) -> None:
    empty = write_zip(tmp_path / "empty.zip", {})
    for title, status, said in (("BPS", 0, "was not judged"), ("LCS", 1, "Not ready for the public table")):
        gold = write_gold(tmp_path / title, {title: splits[title]})
        outcome = merilo("submission", "score", empty, "--gold", gold)
        told = " ".join(outcome.out.split())
        assert (outcome.status, said in told, "Ready for the public table" in told) == (status, True, False)
        assert f"{title}: no_task: the archive has no file {title}.json" in told


def test_fewer_generations_than_k_are_no_success(tmp_path: Path) -> None:
    """By the short formula a single failed program would pass for sure in five tries."""
    declared = dataset("ruCodeEval")
    split = gold_split(declared, 4)
    gold = write_gold(tmp_path, {"ruCodeEval": split})
    write_zip(tmp_path / "s.zip", {"ruCodeEval": documents(declared, split, lambda _, item: [[None] * 5])})
    status, result = score_zip(tmp_path / "s.zip", gold)
    metrics = result["results"]["ruCodeEval"]["metrics"]
    assert metrics["pass@1"]["value"] == 0.0
    assert metrics["pass@5"]["value"] is None
    assert "needs 5 generations" in metrics["pass@5"]["reason"]
    assert (status, result["ready_for_public"]) == (1, False)


@pytest.mark.parametrize("wrap", [lambda runs: runs, lambda runs: [runs]], ids=["plain", "wrapped"])
def test_programs_come_plain_or_in_one_more_list(wrap, tmp_path: Path) -> None:
    declared = dataset("ruHumanEval")
    split = gold_split(declared, 10)
    gold = write_gold(tmp_path, {"ruHumanEval": split})

    def answer(_, item):
        return wrap([item.outputs] * 3 + [[None, *item.outputs[1:]]] * 6 + [item.outputs[:-1]])

    write_zip(tmp_path / "s.zip", {"ruHumanEval": documents(declared, split, answer)})
    _, result = score_zip(tmp_path / "s.zip", gold)
    metrics = result["results"]["ruHumanEval"]["metrics"]
    assert metrics["pass@1"]["value"] == pytest.approx(0.3)
    assert metrics["pass@5"]["value"] == pytest.approx(1 - 21 / 252)
    assert metrics["pass@10"]["value"] == 1.0


@pytest.mark.parametrize("form", ["dialogues", "flat", "ids"])
def test_rutie_comes_in_dialogues_or_flat(form: str, tmp_path: Path) -> None:
    declared = dataset("ruTiE")
    split = gold_split(declared, 50)
    gold = write_gold(tmp_path, {"ruTiE": split})
    content = documents(declared, split, right_answer)
    if form != "dialogues":
        content = [turn for dialogue in content for turn in dialogue]
    if form == "ids":
        content = [{**turn, "meta": {"id": item.id}} for turn, item in zip(content, split, strict=True)]
    _, result = score_zip(write_zip(tmp_path / "s.zip", {"ruTiE": content}), gold)
    assert result["results"]["ruTiE"]["errors"] == []
    assert result["results"]["ruTiE"]["metrics"]["acc"] == {
        "value": 1.0,
        "n": 50,
        # Three dialogues: 50 turns with a correlation of one half count as about five, with Student's quantile.
        "ci95": pytest.approx([0.221, 1.0], abs=1e-3),
        "interval": "Wilson's form over 3 clusters of items",
    }


@pytest.mark.parametrize(
    ("layout", "case"), [("{}.json", str.upper), ("{}.JSON", str.title), ("{}/TEST.JSON", str.lower)]
)
def test_gold_is_found_in_any_letter_case(layout: str, case, tmp_path: Path) -> None:
    declared = dataset("RCB")
    split = gold_split(declared, 9)
    source = write_gold(tmp_path / "made", {"RCB": split}) / "rcb.json"
    place = tmp_path / "gold" / layout.format(case("rcb"))
    place.parent.mkdir(parents=True)
    source.rename(place)
    submitted = {
        f"{case('rcb')}.json": json.dumps({"data": {"test": documents(declared, split, right_answer)}})
    }
    status, result = score_zip(write_zip(tmp_path / "s.zip", submitted), tmp_path / "gold")
    assert (status, result["total"]) == (0, 1.0)


def test_files_of_no_dataset_are_told_and_left_alone(tmp_path: Path) -> None:
    declared = dataset("RCB")
    split = gold_split(declared, 9)
    gold = write_gold(tmp_path / "gold", {"RCB": split})
    content = documents(declared, split, right_answer)
    path = write_zip(
        tmp_path / "s.zip", {"mine/RCB": content, "__MACOSX/mine/._RCB.json": b"\0\1", "readme.txt": b"hello"}
    )
    status, result = score_zip(path, gold)
    assert (status, result["total"]) == (0, 1.0)
    assert result["ignored_files"] == ["readme.txt"]


def test_a_closed_test_is_not_scored_and_is_named(tmp_path: Path) -> None:
    rcb, lcs = dataset("RCB"), dataset("LCS")
    splits = {"RCB": gold_split(rcb, 9), "LCS": gold_split(lcs, 9)}
    gold = write_gold(tmp_path / "gold", splits)
    closed = json.loads((gold / "lcs.json").read_text())
    for item in closed["data"]["test"]:
        item["outputs"] = ""
    (gold / "lcs.json").write_text(json.dumps(closed))
    path = write_zip(tmp_path / "s.zip", {"RCB": documents(rcb, splits["RCB"], right_answer)})
    status, result = score_zip(path, gold)
    assert list(result["results"]) == ["RCB"]
    assert "LCS" in result["without_gold"]
    assert status == 0


def test_a_dataset_of_ones_own_is_scored_beside_the_others(tmp_path: Path) -> None:
    folder = tmp_path / "gold" / "moods"
    folder.mkdir(parents=True)
    (folder / "dataset.yaml").write_text(
        "name: moods\ntitle: Moods\nfields: [text]\nanswer: {kind: choice, labels: [good, bad]}\nmetrics: [acc]\nin_total: true\n",
        encoding="utf-8",
    )
    items = [
        {"instruction": "{text}", "inputs": {"text": f"t{i}"}, "outputs": "good", "meta": {"id": i}}
        for i in range(4)
    ]
    (folder / "test.json").write_text(json.dumps({"data": items}))
    answers = [{"outputs": "good" if i else "bad", "meta": {"id": i}} for i in range(4)]
    _, result = score_zip(write_zip(tmp_path / "s.zip", {"Moods": answers}), tmp_path / "gold")
    assert result["results"]["Moods"]["metrics"]["acc"]["value"] == 0.75
    assert result["total"] == 0.75
