"""Files that the tests make once are written again with the same bytes, even if the first copy was changed."""

from pathlib import Path

from made_once import made_once


def test_files_are_made_once_for_equal_arguments_and_written_for_each_folder(tmp_path: Path) -> None:
    calls: list[str] = []

    @made_once
    def study(folder: Path, name: str, *, items: int = 1) -> Path:
        calls.append(name)
        (folder / "out").mkdir()
        (folder / "out" / "answers.csv").write_text(f"{name} {items} {len(calls)}", encoding="utf-8")
        return folder / "out"

    folders = [tmp_path / name for name in "abc"]
    for folder in folders:
        folder.mkdir()
    (folders[0] / "of_the_test").write_text("stays where it is")
    first = study(folders[0], "lcs")
    (first / "answers.csv").write_text("changed")
    second = study(folders[1], "lcs")
    assert (second, calls) == (folders[1] / "out", ["lcs"])
    assert (second / "answers.csv").read_text(encoding="utf-8") == "lcs 1 1"
    assert [path.name for path in folders[1].iterdir()] == ["out"]
    third = study(folders[2], "lcs", items=2)
    assert (third / "answers.csv").read_text(encoding="utf-8") == "lcs 2 2"
