"""`merilo datasets` lists, shows, checks, makes and loads; its exit statuses and JSON are a contract."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command import merilo

from merilo.cli import main
from merilo.datasets import CATALOGUE
from merilo.datasets.rendering import prompts
from merilo.items import read_split, split_file


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["datasets", *words])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    status, out, err = run(capsys, *words, "--json", "-")
    assert err == ""
    return status, json.loads(out)


def test_the_list_names_every_dataset_with_its_figures_and_their_provenance(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, out, _ = run(capsys, "list")
    assert status == 0
    for declared in CATALOGUE.values():
        assert declared.title in out
        if len(declared.human) <= 3:
            assert all(f"{figure.metric} {figure.value}" in out for figure in declared.human)
    assert "mcc 0.665–0.88" in out
    assert "(15 scores)" in out
    for provenance in ("measured", "literature", "official", "by definition"):
        assert provenance in out
    assert max(map(len, out.splitlines())) <= 80


def test_every_published_figure_is_printed_with_its_provenance(capsys: pytest.CaptureFixture[str]) -> None:
    for name, declared in CATALOGUE.items():
        status, out, _ = run(capsys, "show", name.upper())
        assert status == 0
        lines = out.splitlines()
        for figure in declared.human:
            assert [
                line
                for line in lines
                if line.split()[:2] == [figure.metric, str(figure.value)] and figure.provenance in line
            ]
            assert " ".join(figure.source.split()) in " ".join(out.split())
        assert all(texts[0].splitlines()[0] in " ".join(out.split()) for texts in prompts(declared).values())
        assert max(map(len, lines)) <= 80, name


def test_the_comma_of_the_exam_lists_alternatives_in_text_tasks_only(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, out, _ = run(capsys, "show", "use")
    (line,) = [line for line in out.splitlines() if "alternatives" in line]
    assert "text: words, alternatives by ','" in line
    assert "multiple_choice: numbers by ',' in any order" in out


def test_json_says_the_same_in_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    status, listed = answer(capsys, "list")
    assert status == 0
    assert [one["name"] for one in listed["datasets"]] == list(CATALOGUE)
    status, shown = answer(capsys, "show", "ruEthics")
    assert shown in listed["datasets"]
    assert len(shown["human"]) == 15
    assert {len(texts) for texts in shown["prompts"].values()} == {10}


def test_a_dataset_that_does_not_exist_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "show", "ruMLU")
    assert (status, out) == (2, "")
    assert "did you mean" in err
    assert "rummlu" in err


def test_generated_items_are_the_same_for_the_same_seed_and_valid(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    files = [tmp_path / "1" / "lcs.json", tmp_path / "2" / "lcs.json", tmp_path / "3" / "lcs.json"]
    for file, seed in zip(files, ("7", "7", "8"), strict=True):
        assert (
            run(
                capsys, "generate", "LCS", "--seed", seed, "--size", "50", "--shots", "5", "--out", str(file)
            )[0]
            == 0
        )
        status, report = answer(capsys, "validate", str(file))
        assert (status, report["valid"], report["problems"]) == (0, True, [])
        assert report["items"] == {"test": 50, "shots": 5}
    assert files[0].read_bytes() == files[1].read_bytes() != files[2].read_bytes()


def test_as_many_items_are_made_as_the_test_has(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, _, err = run(capsys, "generate", "bps", "--seed", "1", "--out", str(tmp_path / "bps.jsonl"))
    assert status == 0
    assert "1000 items in test" in err
    assert len(read_split(tmp_path / "bps.jsonl")) == 1000


def test_a_folder_gets_a_file_called_after_the_dataset(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for folder in (tmp_path, tmp_path / "new"):
        assert run(capsys, "generate", "LCS", "--seed", "1", "--size", "5", "--out", str(folder))[0] == 0
        assert split_file(folder, "LCS") == folder / "lcs.json"


def test_listing_and_showing_do_without_polars_and_numpy() -> None:
    code = "import sys; from merilo.cli import main; main(['datasets', 'list']); main(['datasets', 'show', 'use'])"
    code += "; sys.exit('polars' in sys.modules or 'numpy' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=False).returncode == 0
    )


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["parus", "--seed", "1", "--out", "x.json"], "cannot be generated"),
        (["bps", "--seed", "1", "--out", "x.csv"], "end in .json, .jsonl, .parquet"),
        (["bps", "--seed", "1", "--size", "0", "--out", "x.json"], "at least 1 item"),
        (
            ["lcs", "--seed", "1", "--size", "10000000000", "--out", "x.json"],
            "at most 1000000 items and shots together",
        ),
        (["bps", "--out", "x.json"], "seed"),
    ],
)
def test_what_cannot_be_made_is_wrong_usage(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    fault: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = run(capsys, "generate", *words)
    assert (status, out) == (2, "")
    assert fault in err
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_replaced_only_when_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "bps.json"
    file.write_text("mine", encoding="utf-8")
    words = ["generate", "bps", "--seed", "1", "--size", "3", "--out", str(file)]
    status, _, err = run(capsys, *words)
    assert (status, file.read_text(encoding="utf-8")) == (2, "mine")
    assert "exists already" in err
    assert run(capsys, *words, "--force")[0] == 0
    assert len(read_split(file)) == 3


def test_invalid_data_are_answered_with_status_1_and_every_problem(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    entries = [
        {"instruction": "{inputs}", "inputs": "( )", "outputs": gold, "meta": {"id": 4}}
        for gold in ("1", "x")
    ]
    file = tmp_path / "bps.json"
    file.write_text(json.dumps({"data": {"test": entries}}), encoding="utf-8")
    status, out, _ = run(capsys, "validate", str(file))
    assert status == 1
    assert "bps.json, data.test[1].meta.id: 4 is also the id of" in out
    assert "bps.json, data.test[1].outputs: must be one of 0, 1" in out
    assert "invalid: 3 problems" in out
    status, report = answer(capsys, "validate", str(file))
    assert status == 1
    assert {problem["path"] for problem in report["problems"]} == {
        "data.test[0].meta.id",
        "data.test[1].meta.id",
        "data.test[1].outputs",
    }


def test_the_dataset_can_be_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "data.json"
    entry = {"instruction": "{inputs}", "inputs": "( )", "outputs": "2", "meta": {"id": 1}}
    file.write_text(json.dumps({"data": {"test": [entry]}}), encoding="utf-8")
    assert run(capsys, "validate", str(file))[0] == 0
    assert run(capsys, "validate", str(file), "--dataset", "bps")[0] == 1


def test_one_problem_is_no_problems(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "bps.json").write_text("{}", encoding="utf-8")
    status, out, _ = run(capsys, "validate", str(tmp_path / "bps.json"))
    assert status == 1
    assert "invalid: 1 problem (" in out


def test_nothing_to_validate_is_unreadable_input(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, err = run(capsys, "validate", str(tmp_path / "nowhere"))
    assert (status, out) == (2, "")
    assert "no such file or folder" in err


def test_mistakes_of_one_kind_are_one_line(tmp_path: Path) -> None:
    entries = [
        {"instruction": "{q}", "inputs": {"q": f"q{n}"} if n < 30 else {"other": "x"}, "outputs": "A", "meta": {"id": f"s{n % 40}"}, "domain": "x"}
        for n in range(50)
    ]  # fmt: skip
    (tmp_path / "test.json").write_text(json.dumps({"data": entries}))
    done = merilo("datasets", "validate", tmp_path / "test.json")
    assert done.status == 1
    lines = done.out.splitlines()
    assert len(lines) <= 6, done.out
    assert (
        "s0 is also the id of test.json, data[0] (and 9 more like this, the last at data[49].meta.id)"
        in done.out
    )
    assert "put your fields under inputs, outputs or meta, or declare them" in done.out
    everything = merilo("datasets", "validate", tmp_path / "test.json", "--json", "-").json
    assert len(everything["problems"]) == 50
