"""Submissions that Merilo writes: packed answers."""

import json
import zipfile
from pathlib import Path

import pytest
from command import merilo
from gold_sets import TITLES, gold_split, right_answer, write_gold
from tiny_models import POLITE, TOXIC

from merilo.datasets import dataset
from merilo.items import Item, Split
from merilo.metrics.classifiers import Classifiers
from merilo.metrics.detox import product


def score_zip(path: Path, gold: Path, *words: object):
    return merilo("submission", "score", path, "--gold", gold, "--json", "-", *words)


def test_an_archive_that_exists_is_kept(tmp_path: Path) -> None:
    (tmp_path / "s.zip").write_bytes(b"mine")
    assert "exists already" in merilo("submission", "pack", tmp_path, "--out", tmp_path / "s.zip").complaint
    assert (tmp_path / "s.zip").read_bytes() == b"mine"


def run_folder(folder: Path, splits: dict[str, Split]) -> Path:
    """A folder with one JSONL file of correct answers per dataset."""
    folder.mkdir()
    for title, split in splits.items():
        declared = dataset(title)
        lines = (json.dumps({"id": item.id, "answer": right_answer(declared, item)}) for item in split)
        (folder / f"{title.lower()}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


def test_packed_answers_score_as_they_were_given(tmp_path: Path) -> None:
    splits = {title: gold_split(dataset(title), 60) for title in TITLES}
    run = run_folder(tmp_path / "run", splits)
    (run / "log.txt").write_text("not answers")
    (run / "notes.json").write_text("{}")
    outcome = merilo("submission", "pack", run, "--out", tmp_path / "s.zip")
    assert (outcome.status, "answers to BPS, CheGeKa" in outcome.err) == (0, True)
    assert "notes.json: no dataset of the benchmark has this name" in outcome.err
    result = score_zip(tmp_path / "s.zip", write_gold(tmp_path / "gold", splits)).json
    assert (result["total"], result["ready_for_public"]) == (1.0, True)


def test_packing_gives_the_form_of_the_benchmark(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "rutie.csv").write_text("id,answer\n0/0,1\n0/1,2\n1/0,1\n", encoding="utf-8")
    (run / "ruethics.jsonl").write_text('{"id": 7, "answer": "1"}\n', encoding="utf-8")
    (run / "rumodar.json").write_text('{"3": 15}', encoding="utf-8")
    merilo("submission", "pack", run, "--out", tmp_path / "s.zip")
    with zipfile.ZipFile(tmp_path / "s.zip") as archive:
        content = {name: json.loads(archive.read(name))["data"]["test"] for name in archive.namelist()}
    first = [
        {"outputs": "1", "meta": {"dialog_id": 0, "question_id": 0}},
        {"outputs": "2", "meta": {"dialog_id": 0, "question_id": 1}},
    ]
    assert content["ruTiE.json"] == [first, [{"outputs": "1", "meta": {"dialog_id": 1, "question_id": 0}}]]
    assert content["ruEthics.json"] == [
        {"outputs": dict.fromkeys(dataset("ruEthics").answer.criteria, "1"), "meta": {"id": 7}}
    ]
    assert content["ruModAr.json"] == [{"outputs": "15", "meta": {"id": 3}}]


def test_an_own_dataset_is_packed_and_scored_by_its_declaration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("tests", "team"):
        (tmp_path / folder).mkdir()
    rows = [{"qid": f"q{n}", "question": f"Number {n}?", "correct": str(n)} for n in range(4)]
    Path("tests/sums.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    Path("team/sums.csv").write_text("id,answer\nq0,0\nq1,1\nq2,2\nq3,9\n", "utf-8")
    assert merilo("datasets", "new", "tests/sums.jsonl", "--answer", "integer").status == 0
    refused = merilo("submission", "pack", "team", "--out", "s.zip")
    assert "is named with --datasets FILE" in refused.complaint
    packed = merilo("submission", "pack", "team", "--datasets", "tests/sums.yaml", "--out", "s.zip")
    assert (packed.status, packed.err) == (0, "merilo: s.zip: answers to sums\n")
    Path("team/sums.csv").write_text("id,answer\nq0,0\n", "utf-8")
    merilo("submission", "pack", "team", "--datasets", "tests/sums.yaml", "--out", "partial.zip")
    partial = merilo("submission", "score", "partial.zip", "--gold", "tests/sums.yaml")
    assert (partial.status, "Not complete" in partial.out, "RCB" in partial.out) == (1, True, False)
    for gold in ("tests", "tests/sums.yaml"):
        result = score_zip(Path("s.zip"), Path(gold)).json["results"]["sums"]
        assert (result["metrics"]["em"]["value"], result["errors"]) == (0.75, [])
    merilo("run", "--model", "random", "--datasets", "tests/sums.yaml", "--out", "run")
    assert merilo("submission", "pack", "run", "--out", "r.zip").status == 0
    assert score_zip(Path("r.zip"), Path("tests/sums.yaml")).json["results"]["sums"]["errors"] == []


def test_an_empty_or_missing_folder_is_one_sentence(tmp_path: Path) -> None:
    for folder, sentence in ((tmp_path, "has no file of answers"), (tmp_path / "no", "no such folder")):
        assert sentence in merilo("submission", "pack", folder, "--out", tmp_path / "s.zip").complaint
    assert not (tmp_path / "s.zip").exists()


@pytest.fixture
def detox(tmp_path: Path) -> tuple[Path, Path]:
    items = tuple(
        Item(number, "{toxic_comment}", text, None, {"id": number}) for number, text in enumerate(TOXIC)
    )
    run = tmp_path / "run"
    run.mkdir()
    lines = (json.dumps({"id": number, "answer": text}) for number, text in enumerate(POLITE))
    (run / "rudetox.jsonl").write_text("\n".join(lines), encoding="utf-8")
    merilo("submission", "pack", run, "--out", tmp_path / "s.zip")
    return tmp_path / "s.zip", write_gold(tmp_path / "gold", {"ruDetox": Split("test", items)})


@pytest.mark.torch
def test_j_is_made_by_the_classifiers_that_are_named(tiny_models: Path, detox: tuple[Path, Path]) -> None:
    """No gold is needed: J compares with the toxic sentence itself."""
    outcome = score_zip(*detox, "--rudetox-models", tiny_models)
    metrics = outcome.json["results"]["ruDetox"]["metrics"]
    ratings = Classifiers(tiny_models).rate(TOXIC, POLITE)
    expected = {"j": product(ratings).mean()} | {
        name: part.mean() for name, part in ratings._asdict().items()
    }
    assert {name: metric["value"] for name, metric in metrics.items()} == pytest.approx(expected, abs=1e-6)
    assert metrics["j"]["n"] == 4
    assert outcome.json["rudetox"]["calibration"] == "identity"
    assert "not comparable with published figures" in outcome.complaint


@pytest.mark.torch
def test_j_is_explained_sentence_by_sentence(
    tiny_models: Path, detox: tuple[Path, Path], tmp_path: Path
) -> None:
    words = ["--dataset", "rudetox", "--data", detox[1] / "rudetox.json", "--explain", 2]
    outcome = merilo("score", tmp_path / "run" / "rudetox.jsonl", *words, "--rudetox-models", tiny_models)
    assert "item 2, j: " in outcome.out
    assert "STA" in outcome.out
    outcome = merilo("score", tmp_path / "run" / "rudetox.jsonl", *words)
    assert outcome.status == 1
    assert "needs the three classifiers" in outcome.complaint
