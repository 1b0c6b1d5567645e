"""Where the solved items of a data file are found."""

from pathlib import Path

from every import every

from merilo.datasets import dataset
from merilo.items import Item, Split, write_splits
from merilo.runs.item_sources import shots_of

SUM = dataset("simplear")


def items(first: int, count: int, *, gold: bool = True) -> tuple[Item, ...]:
    return tuple(
        Item(number, "{inputs}", f"{number} + 1 = ", str(number + 1) if gold else None)
        for number in range(first, first + count)
    )


@every("name", ["shots", "train", "public_test", "validation"])
def test_shots_are_another_split_of_the_same_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name / "simplear.json"
    write_splits(path, [Split("test", items(1, 3)), Split(name, items(10, 2))])
    assert [item.id for item in shots_of(path, SUM)] == [10, 11]


def test_the_split_named_shots_comes_before_the_others(tmp_path: Path) -> None:
    path = tmp_path / "simplear.json"
    write_splits(
        path, [Split("train", items(20, 5)), Split("test", items(1, 3)), Split("shots", items(10, 2))]
    )
    assert [item.id for item in shots_of(path, SUM)] == [10, 11]


@every("suffix", [".json", ".jsonl", ".parquet"])
def test_shots_are_a_file_beside_the_test(tmp_path: Path, suffix: str) -> None:
    folder = tmp_path / suffix[1:]
    write_splits(folder / f"test{suffix}", [Split("test", items(1, 3))])
    write_splits(folder / f"shots{suffix}", [Split("shots", items(10, 2))])
    assert [item.id for item in shots_of(folder / f"test{suffix}", SUM)] == [10, 11]


def test_files_beside_a_file_that_is_not_named_test_belong_to_others(tmp_path: Path) -> None:
    write_splits(tmp_path / "simplear.json", [Split("test", items(1, 3))])
    write_splits(tmp_path / "shots.json", [Split("shots", items(10, 2))])
    assert shots_of(tmp_path / "simplear.json", SUM) == ()


def test_a_dataset_that_has_only_a_test_takes_its_shots_from_it(tmp_path: Path) -> None:
    path = tmp_path / "ruhatespeech.json"
    write_splits(path, [Split("test", (*items(1, 2), *items(5, 1, gold=False)))])
    assert [item.id for item in shots_of(path, dataset("ruhatespeech"))] == [1, 2]
    assert shots_of(path, SUM) == ()
