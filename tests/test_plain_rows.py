"""Ordinary rows, read by columns, are what the careful reader finds."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from merilo import files, plain_rows
from merilo.errors import InputError

#: What tables trip over: delimiters, quotes, ends of lines, bytes that are no text.
PIECES = st.sampled_from(
    [b"a", b"\t", b"\t", b"\n", b"\r\n", b"\r", b'"', b'""', b"\t\"", b"\"\t", b"\xd1\x8f", b"\xd1", b"\0", b" "]
)  # fmt: skip


def found(path: Path) -> list[tuple[str | None, ...]] | str:
    """The rows, or the error in their place."""
    try:
        return files.read_table(path).data.rows()
    except InputError as error:
        return str(error)


def carefully(path: Path) -> list[tuple[str | None, ...]] | str:
    """The same by the careful reader alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_rows, "ordinary_rows", lambda *_: iter(()))
        return found(path)


@given(st.lists(PIECES, max_size=40), st.sampled_from([4, 16, 1 << 20]))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_give_the_rows_or_the_error_of_the_careful_reader(
    tmp_path: Path, pieces: list[bytes], chunk: int
) -> None:
    path = tmp_path / "t.tsv"
    path.write_bytes(b"one\ttwo\n" + b"".join(pieces))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_rows, "CHUNK", chunk)
        assert found(path) == carefully(path)


CELLS = st.text(st.sampled_from('ab \t"\n;я'), max_size=6)


@given(
    st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=12),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_as_programs_write_them_are_all_ordinary(
    tmp_path: Path, rows: list[tuple[str, str, str]], ending: str, last_line_ends: bool
) -> None:
    def written(cell: str) -> str:
        quoted = '"' + cell.replace('"', '""') + '"'
        return quoted if any(sign in cell for sign in '\t"\n') else cell

    lines = ["one\ttwo\tthree", *("\t".join(map(written, row)) for row in rows)]
    path = tmp_path / "t.tsv"
    path.write_bytes((ending.join(lines) + (ending if last_line_ends else "")).encode())
    with path.open("rb") as stream:
        blocks = list(plain_rows.ordinary_rows(stream, "\t", 3, [0, 2]))
    assert [row for block in blocks for row in block.data.rows()] == [
        (row[0] or None, row[2] or None) for row in rows
    ]
    assert blocks[-1].end == path.stat().st_size


def test_the_careful_reader_goes_on_where_rows_are_no_longer_ordinary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain_rows, "CHUNK", 64)
    path = tmp_path / "t.csv"
    rows = "a,b\n" + "".join(f"{row},x\n" for row in range(100)) + 'he said "no",y\n'
    path.write_text(f"{rows}1,2,3\n", encoding="utf-8")
    with pytest.raises(InputError, match="row 103: has 3 fields, but the header has 2"):
        files.read_table(path)
    path.write_text(rows, encoding="utf-8")
    steps: list[int] = []
    table = files.read_table(path, progress=steps.append)
    assert table.data.rows()[99:] == [("99", "x"), ('he said "no"', "y")]
    assert sum(steps) == path.stat().st_size
