"""`merilo datasets` lists, shows, checks, makes and loads; its exit statuses and JSON are a contract."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command import Outcome, merilo

from merilo.datasets import CATALOGUE
from merilo.datasets.dataset_files import read_split
from merilo.datasets.rendering import prompts
from merilo.items import split_file


def run(*words: object) -> Outcome:
    return merilo("datasets", *words)


def test_the_list_names_every_dataset_with_its_figures_and_their_provenance() -> None:
    listed = run("list")
    assert listed.status == 0
    for declared in CATALOGUE.values():
        assert declared.title in listed.out
        if len(declared.human) <= 3:
            assert all(re.search(rf"{fig.metric} +{fig.value:.3f} ", listed.out) for fig in declared.human)
    for text in ("mcc, from", "0.665", "0.880", "measured", "literature", "official", "by definition"):
        assert text in listed.out
    assert max(map(len, listed.out.splitlines())) <= 80


def test_every_published_figure_is_printed_with_its_provenance() -> None:
    for name, declared in CATALOGUE.items():
        lines = run("show", name.upper()).out.splitlines()
        whole = " ".join(" ".join(lines).split())
        for figure in declared.human:
            named = [line for line in lines if line.split()[:2] == [figure.metric, f"{figure.value:.3f}"]]
            assert any(figure.provenance in line for line in named)
            assert " ".join(figure.source.split()) in whole
        assert all(texts[0].splitlines()[0] in whole for texts in prompts(declared).values())
    exam = " ".join(run("show", "use").out.split())
    assert "text: words, alternatives by ','" in exam
    assert "multiple_choice: numbers by ',' in any order" in exam
    assert exam.count("alternatives") == 1


def test_json_says_the_same_in_one_object() -> None:
    listed = run("list", "--json", "-").json["datasets"]
    assert [declared["name"] for declared in listed] == list(CATALOGUE)
    shown = run("show", "ruEthics", "--json", "-").json
    assert shown in listed
    assert len(shown["human"]) == 15
    assert {len(texts) for texts in shown["prompts"].values()} == {10}


def test_listing_and_showing_do_without_polars_and_numpy() -> None:
    code = "import sys; from merilo.cli import main; main(['datasets', 'list']); main(['datasets', 'show', 'use'])"
    code += "; sys.exit('polars' in sys.modules or 'numpy' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=False).returncode == 0
    )


def test_generated_items_are_the_same_for_the_same_seed_and_valid(tmp_path: Path) -> None:
    files = [tmp_path / "1" / "lcs.json", tmp_path / "2", tmp_path / "3" / "lcs.json"]
    for file, seed in zip(files, (7, 7, 8), strict=True):
        words = ("generate", "LCS", "--seed", seed, "--size", 50, "--shots", 5, "--out", file)
        assert run(*words).status == 0
        report = run("validate", file, "--dataset", "lcs", "--json", "-").json
        assert (report["valid"], report["problems"], report["items"]) == (True, [], {"test": 50, "shots": 5})
    assert split_file(tmp_path / "2", "LCS") == tmp_path / "2" / "lcs.json"
    assert files[0].read_bytes() == (tmp_path / "2" / "lcs.json").read_bytes() != files[2].read_bytes()


def test_as_many_items_are_made_as_the_test_has(tmp_path: Path) -> None:
    assert "1000 items in test" in run("generate", "bps", "--seed", 1, "--out", tmp_path / "bps.jsonl").err
    assert len(read_split(tmp_path / "bps.jsonl")) == 1000


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ("show ruMLU", "did you mean rummlu"),
        ("validate nowhere", "no such file or folder"),
        ("generate parus --seed 1 --out x.json", "cannot be generated"),
        ("generate bps --seed 1 --out x.csv", "end in .json, .jsonl, .ndjson, .parquet"),
        ("generate bps --seed 1 --size 0 --out x.json", "at least 1 item"),
        ("generate lcs --seed 1 --size 10000000000 --out x.json", "at most 1000000 items and shots together"),
        ("generate bps --out x.json", "seed"),
    ],
)
def test_wrong_usage_is_one_sentence_and_makes_no_file(
    words: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run(*words.split(" "))
    assert (outcome.status, outcome.out) == (2, "")
    assert fault in outcome.complaint
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_replaced_only_when_told(tmp_path: Path) -> None:
    file = tmp_path / "bps.json"
    file.write_text("mine", encoding="utf-8")
    words = ["generate", "bps", "--seed", 1, "--size", 3, "--out", file]
    assert "exists already" in run(*words).complaint
    assert file.read_text(encoding="utf-8") == "mine"
    assert run(*words, "--force").status == 0
    assert len(read_split(file)) == 3


def test_invalid_data_are_answered_with_status_1_and_every_problem(tmp_path: Path) -> None:
    entries = [
        {"instruction": "{inputs}", "inputs": "( )", "outputs": gold, "meta": {"id": 4}} for gold in "1x"
    ]
    file = tmp_path / "data.json"
    file.write_text(json.dumps({"data": {"test": entries}}), encoding="utf-8")
    assert "invalid: 1 problem (" in run("validate", file).out
    shown = run("validate", file, "--dataset", "bps")
    assert shown.status == 1
    assert "data.json, data.test[1].meta.id: 4 is also the id of" in shown.out
    assert "data.json, data.test[1].outputs: must be one of 0, 1" in shown.out
    assert "invalid: 3 problems" in shown.out
    report = run("validate", file, "--dataset", "bps", "--json", "-")
    assert report.status == 1
    paths = [problem["path"] for problem in report.json["problems"]]
    assert paths == [f"data.test[{end}" for end in ("0].meta.id", "1].meta.id", "1].outputs")]


def test_mistakes_of_one_kind_are_one_line(tmp_path: Path) -> None:
    entries = [
        {"instruction": "{q}", "inputs": {"q": f"q{n}"} if n < 30 else {"other": "x"}, "outputs": "A", "meta": {"id": f"s{n % 40}"}, "domain": "x"}
        for n in range(50)
    ]  # fmt: skip
    (tmp_path / "test.json").write_text(json.dumps({"data": entries}))
    done = run("validate", tmp_path / "test.json")
    assert done.status == 1
    assert len(done.out.splitlines()) <= 6, done.out
    ids = "s0 is also the id of test.json, data[0] (and 9 more like this, the last at data[49].meta.id)"
    assert ids in done.out
    assert "put your fields under inputs, outputs or meta, or declare them" in done.out
    assert len(run("validate", tmp_path / "test.json", "--json", "-").json["problems"]) == 50
