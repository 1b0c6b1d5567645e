"""Reading tables."""

import contextlib
import csv
import io
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from merilo import files
from merilo.errors import InputError

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
    writer.writerows([header, *rows])
    return text.getvalue()


in_one_folder = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(tables(), st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
@in_one_folder
def test_what_is_written_is_read(
    tmp_path: Path, table: tuple[list[str], list[list[str]], str], encoding: str
) -> None:
    header, rows, delimiter = table
    (tmp_path / "t.tsv").write_bytes(as_text(header, rows, delimiter).encode(encoding))
    found = files.read_table(tmp_path / "t.tsv").data
    assert found.columns == header
    assert found.rows() == [tuple(cell or None for cell in row) for row in rows]


@given(tables(), st.data())
@in_one_folder
def test_a_file_cut_anywhere_gives_an_error_or_whole_rows(
    tmp_path: Path, table: tuple[list[str], list[list[str]], str], data: st.DataObject
) -> None:
    header, rows, delimiter = table
    whole = as_text(header, rows, delimiter).encode()
    (tmp_path / "t.tsv").write_bytes(whole[: data.draw(st.integers(1, len(whole)))])
    try:
        found = files.read_table(tmp_path / "t.tsv").data
    except InputError:
        return
    if found.columns == header and found.height:
        expected = [tuple(cell or None for cell in row) for row in rows]
        *whole_rows, last = found.rows()
        assert whole_rows == expected[: len(whole_rows)]
        # A file cut after the last delimiter looks like one with an empty last field, and one cut at the end of a line
        # within quotes like one with a quotation mark; readers cannot distinguish them.
        right = expected[len(whole_rows)]
        assert last in {right, (*right[:-1], None)} or (last[-1] or "").startswith('"')


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


def test_a_quoted_name_may_hold_another_delimiter(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('"one, two, three, four";b\n1;2\n', encoding="utf-8")
    assert files.read_table(path).data.columns == ["one, two, three, four", "b"]


@pytest.fixture(scope="module")
def parquet() -> bytes:
    table = {
        "text": [f"t{n % 7}" for n in range(500)],
        "number": [n / 3 if n % 5 else None for n in range(500)],
    }
    stream = io.BytesIO()
    pl.DataFrame(table).write_parquet(stream)
    return stream.getvalue()


@given(st.data())
@in_one_folder
def test_a_damaged_parquet_file_is_a_table_or_refused_with_a_sentence(
    tmp_path: Path, parquet: bytes, data: st.DataObject
) -> None:
    damaged = bytearray(parquet)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "table.parquet"
    path.write_bytes(damaged[: data.draw(st.sampled_from([len(damaged), len(damaged) // 2, 3]))])
    with contextlib.suppress(InputError):  # any other exception, a panic too, fails the test
        assert files.read_parquet(path, own=True).height >= 0


def test_a_parquet_file_that_ends_its_reader_is_refused(
    tmp_path: Path, parquet: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process reads it first, and that one's end says nothing worse than that the file is damaged."""
    (tmp_path / "table.parquet").write_bytes(parquet)
    assert files.read_parquet(tmp_path / "table.parquet").height == 500
    monkeypatch.setattr(files, "_PROBE", "import os; os.abort()")
    with pytest.raises(InputError, match=r"table\.parquet: is not a readable Parquet file \(it is damaged\)"):
        files.read_parquet(tmp_path / "table.parquet")


def test_a_missing_or_empty_parquet_file_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "empty.parquet").touch()
    for own in (True, False):
        with pytest.raises(InputError, match="no such file"):
            files.read_parquet(tmp_path / "missing.parquet", own=own)
        with pytest.raises(InputError, match="empty"):
            files.read_parquet(tmp_path / "empty.parquet", own=own)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('a\tb\nx\t"odd\ny\t"odd\nz\tw\n', [("x", '"odd'), ("y", '"odd'), ("z", "w")]),
        ('a,b\n1,"x\ny, z"\n2,"w"\n', [("1", "x\ny, z"), ("2", "w")]),
        ('a,b\n"say ""hi""",2\n3,"x" y\n', [('say "hi"', "2"), ("3", '"x" y')]),
        ("sep=;\na;b\n1;2\n", [("1", "2")]),
        ('"sep=,"\r\na,b\r\n1,2\r\n', [("1", "2")]),
        (",a,b\n0,1,2\n", [("1", "2")]),
        ("a,b,\n1,2\n3,4,\n", [("1", "2"), ("3", "4")]),
        ("a,b\n1,2,\n", [("1", "2")]),
        (
            "HITId,Answer.x,Approve,Reject\nh,1\nh,2,x\nh,3,,\n",
            [("h", "1", None, None), ("h", "2", "x", None), ("h", "3", None, None)],
        ),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_rows_as_programs_and_people_write_them(
    tmp_path: Path, text: str, rows: list[tuple[str | None, ...]], encoding: str
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode(encoding))
    found = files.read_table(path)
    assert found.data.rows() == rows
    assert found.first_row == (3 if "sep=" in text else 2)
