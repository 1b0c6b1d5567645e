"""Reading tables and writing files."""

import csv
import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from merilo import files
from merilo.errors import InputError, OutputError

CELL = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=12)
HEADERS = st.lists(st.from_regex(r"[a-zA-Zа-яё:_]{1,8}", fullmatch=True), min_size=2, max_size=5, unique=True)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[str]], str]:
    header = draw(HEADERS)
    rows = draw(st.lists(st.lists(CELL, min_size=len(header), max_size=len(header)), max_size=8))
    return header, rows, draw(st.sampled_from("\t;,"))


def as_text(header: list[str], rows: list[list[str]], delimiter: str) -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


@given(tables(), st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
@settings(max_examples=150, deadline=None)
def test_what_is_written_is_read(table: tuple[list[str], list[list[str]], str], encoding: str) -> None:
    header, rows, delimiter = table
    with io.BytesIO(as_text(header, rows, delimiter).encode(encoding)) as content:
        path = Path(os.environ.get("TMPDIR", "/tmp")) / f"merilo-table-{os.getpid()}.tsv"
        path.write_bytes(content.read())
    try:
        found = files.read_table(path).data
    finally:
        path.unlink()
    assert found.columns == header
    assert found.rows() == [tuple(cell or None for cell in row) for row in rows]


@given(tables(), st.data())
@settings(max_examples=150, deadline=None)
def test_a_file_cut_anywhere_gives_an_error_or_whole_rows(
    table: tuple[list[str], list[list[str]], str], data: st.DataObject
) -> None:
    header, rows, delimiter = table
    whole = as_text(header, rows, delimiter).encode()
    cut = data.draw(st.integers(1, len(whole)))
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"merilo-cut-{os.getpid()}.tsv"
    path.write_bytes(whole[:cut])
    try:
        found = files.read_table(path).data
    except InputError:
        return
    finally:
        path.unlink()
    if found.columns == header and found.height:
        expected = [tuple(cell or None for cell in row) for row in rows]
        *whole_rows, last = found.rows()
        assert whole_rows == expected[: len(whole_rows)]
        # A cut right behind the last delimiter looks like an empty last field: no reader can tell.
        assert last in {expected[len(whole_rows)], (*expected[len(whole_rows)][:-1], None)}


def test_many_blocks_keep_their_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{n},x\n" for n in range(120_000)), encoding="utf-8")
    steps: list[int] = []
    table = files.read_table(path, progress=steps.append)
    assert table.data["a"].cast(pl.Int64).to_list() == list(range(120_000))
    assert 0 < sum(steps) <= path.stat().st_size
    with path.open("a", encoding="utf-8") as stream:
        stream.write("1,2,3\n")
    with pytest.raises(InputError, match="row 120002"):
        files.read_table(path)


@pytest.mark.parametrize("ending", ["\n", ""])
@pytest.mark.parametrize("n", range(8))
def test_a_table_may_end_anywhere_in_a_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n: int, ending: str
) -> None:
    monkeypatch.setattr(files, "BLOCK", 3)
    path = tmp_path / "t.csv"
    whole = "\n".join(["a,b", *(f'{row},"x\ny"' for row in range(n))])
    path.write_text(whole + ending, encoding="utf-8")
    assert files.read_table(path).data.rows() == [(str(row), "x\ny") for row in range(n)]
    path.write_text(f'{whole}\n{n},"x\ny{ending}', encoding="utf-8")
    with pytest.raises(InputError, match=f"row {n + 2}: the file ends in the middle of a quoted field"):
        files.read_table(path)
    path.write_text(f"{whole}\n{n}{ending}", encoding="utf-8")
    with pytest.raises(InputError, match=f"row {n + 2}.*ends in the middle of a row"):
        files.read_table(path)


def test_a_header_that_never_closes_its_quotes(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('"a,b\n1,2\n', encoding="utf-8")
    with pytest.raises(InputError, match="row 1: the file ends in the middle of a quoted field"):
        files.read_table(path)


def test_only_the_wanted_columns_are_held(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,c\n1,2,3\n", encoding="utf-8")
    assert files.read_table(path, keep=lambda name: name != "b").data.columns == ["a", "c"]


def test_blank_lines_keep_the_numbers_of_the_rows_after_them(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n\n3,4\n", encoding="utf-8")
    assert files.read_table(path).data["a"].to_list() == ["1", None, "3"]


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "new"

    def fail_halfway() -> None:
        with files.new_folder(target) as hidden:
            (hidden / "half").write_text("x", encoding="utf-8")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_halfway()
    assert list(tmp_path.iterdir()) == []
    with files.new_folder(target) as hidden:
        (hidden / "whole").write_text("x", encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["new"]
    with pytest.raises(OutputError, match="--force"), files.new_folder(target):
        pass
    with files.new_folder(target, force=True) as hidden:
        (hidden / "other").write_text("y", encoding="utf-8")
    assert [path.name for path in target.iterdir()] == ["other"]


def test_a_killed_process_leaves_the_old_folder(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    (target / "old").write_text("x", encoding="utf-8")
    code = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom merilo.files import new_folder\n"
        "with new_folder(Path(sys.argv[1]), force=True) as hidden:\n"
        "    (hidden / 'half').write_text('x')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(target)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert [path.name for path in target.iterdir()] == ["old"]


def test_an_old_folder_comes_back_when_the_work_is_stopped_on_the_last_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out"
    target.mkdir()
    (target / "old").write_text("x", encoding="utf-8")
    rename = Path.rename

    def stopped(self: Path, other: Path) -> Path:
        if other == target and not (self / "old").exists():
            raise KeyboardInterrupt
        return rename(self, other)

    monkeypatch.setattr(Path, "rename", stopped)
    with pytest.raises(KeyboardInterrupt), files.new_folder(target, force=True):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert [path.name for path in target.iterdir()] == ["old"]


def test_a_link_in_the_place_of_a_folder_is_replaced_and_what_it_led_to_stays(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "precious").write_text("mine", encoding="utf-8")
    (tmp_path / "out").symlink_to(tmp_path / "real")
    with files.new_folder(tmp_path / "out", force=True) as hidden:
        (hidden / "new").write_text("x", encoding="utf-8")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["new"]
    assert (tmp_path / "real" / "precious").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "real"]


def test_what_is_no_file_is_written_to_and_stays_what_it_is(tmp_path: Path) -> None:
    """A superuser who writes to /dev/null must find a device there afterwards."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    files.write_text(pipe, "text")
    assert os.read(reader, 100) == b"text"
    os.close(reader)
    assert pipe.is_fifo()


def test_a_link_to_a_file_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    files.write_text(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text(encoding="utf-8") == "text"


def test_files_have_the_rights_that_the_user_gives_to_new_files(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        files.write_text(tmp_path / "file", "x")
        with files.new_folder(tmp_path / "folder"):
            pass
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "folder").stat().st_mode & 0o777 == 0o700


def test_a_quoted_name_may_hold_another_delimiter(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('"one, two, three, four";b\n1;2\n', encoding="utf-8")
    assert files.read_table(path).data.columns == ["one, two, three, four", "b"]


def test_a_file_is_replaced_in_one_step(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "result.json"
    files.write_text(path, "one")
    files.write_text(path, "two")
    assert path.read_text(encoding="utf-8") == "two"
    assert [one.name for one in path.parent.iterdir()] == ["result.json"]
