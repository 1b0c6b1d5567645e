"""Datasets are loaded through the `datasets` package: from a folder laid out as the hub's repository, without a network."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from merilo.cli import main
from merilo.datasets import dataset
from merilo.datasets.bundled_items import examples, pull, split_of
from merilo.datasets.dataset_files import read_splits
from merilo.errors import InputError
from merilo.items import Item, Split, write_splits

pytest.importorskip("datasets", reason="the extra 'hub' is not installed")

CARD = """---
configs:
- config_name: parus
  data_files:
  - {{split: train, path: parus/train.{suffix}}}
  - {{split: test, path: parus/test.{suffix}}}
- config_name: lcs
  data_files:
  - {{split: public_test, path: lcs/public_test.{suffix}}}
  - {{split: test, path: lcs/test.{suffix}}}
- config_name: rcb
  data_files:
  - {{split: test, path: rcb/test.{suffix}}}
---
"""

SHOTS = {"parus": "train", "lcs": "public_test"}


def repository_of(root: Path, suffix: str) -> Path:
    for name, shots in SHOTS.items():
        (root / name).mkdir(parents=True)
        splits = examples(dataset(name))
        write_splits(root / name / f"test.{suffix}", [splits["test"]])
        write_splits(root / name / f"{shots}.{suffix}", [splits["shots"]])
    (root / "rcb").mkdir()
    (root / "rcb" / "test.jsonl").write_text(json.dumps({"question": "?"}), encoding="utf-8")
    (root / "README.md").write_text(CARD.format(suffix=suffix), encoding="utf-8")
    return root


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return repository_of(tmp_path / "repository", "jsonl")


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
@pytest.mark.parametrize("name", ["parus", "lcs"])
def test_every_split_of_a_dataset_is_loaded_the_test_first(tmp_path: Path, name: str, suffix: str) -> None:
    bundled = examples(dataset(name))
    source = repository_of(tmp_path / "source", suffix)
    splits = pull(dataset(name), source=str(source), cache=str(tmp_path / "cache"))
    assert splits == [Split("test", bundled["test"].items), Split(SHOTS[name], bundled["shots"].items)]


def test_turns_of_the_hub_fall_into_dialogues_and_fields_that_are_null_are_absent() -> None:
    turn = {"instruction": "{question}", "inputs": {"question": "Кто?", "hint": None}, "outputs": ""}
    rows = [
        {**turn, "meta": {"dialog_id": d, "question_id": q, "id": None}} for d, q in [(0, 0), (0, 1), (1, 0)]
    ]
    split = split_of("test", rows, file="hub")
    assert split.lengths == (2, 1)
    assert [item.id for item in split] == ["0/0", "0/1", "1/0"]
    assert split.items[0] == Item(
        "0/0", "{question}", {"question": "Кто?"}, None, {"dialog_id": 0, "question_id": 0}
    )


def test_a_dataset_that_is_not_there_is_refused_with_a_sentence(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'bps' cannot be loaded"):
        pull(dataset("bps"), source=str(repository), cache=str(tmp_path / "cache"))
    with pytest.raises(InputError, match="'bps' cannot be loaded"):
        pull(dataset("bps"), source=str(tmp_path / "nowhere"), cache=str(tmp_path / "cache"))


def test_a_folder_that_changed_is_read_anew(tmp_path: Path) -> None:
    source = repository_of(tmp_path / "source", "jsonl")
    before = pull(dataset("parus"), source=str(source))[0]
    changed = tuple(replace(item, instruction="Ответьте: {premise}") for item in before.items)
    write_splits(source / "parus" / "test.jsonl", [Split("test", changed)])
    assert pull(dataset("parus"), source=str(source))[0].items == changed


def test_the_command_writes_what_was_loaded(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    out = tmp_path / "parus.json"
    assert main(["datasets", "pull", "PARus", "--source", str(repository), "--out", str(out)]) == 0
    assert "8 items in test" in capsys.readouterr().err
    assert read_splits(out)["test"].items == examples(dataset("parus"))["test"].items
    assert main(["datasets", "pull", "PARus", "--source", str(repository), "--out", str(out)]) == 2
    assert "exists already" in capsys.readouterr().err
