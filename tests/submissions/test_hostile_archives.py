"""Hostile archives are refused with one sentence, in bounded memory, and write no file."""

import io
import json
import os
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from command import Outcome, merilo
from gold_sets import documents, gold_split, right_answer, write_gold

from merilo.datasets import dataset
from merilo.submissions.archive import MAX_DIRECTORY_BYTES, MAX_ENTRIES, MAX_FILE_BYTES

MEMORY_BYTES = 600 << 20


@pytest.fixture(scope="module")
def gold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gold(tmp_path_factory.mktemp("gold"), {"RCB": gold_split(dataset("RCB"), 9)})


@pytest.fixture(scope="module")
def perfect() -> bytes:
    split = gold_split(dataset("RCB"), 9)
    return json.dumps({"data": {"test": documents(dataset("RCB"), split, right_answer)}}).encode()


def archive(path: Path, *members: tuple[str | zipfile.ZipInfo, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in members:
            out.writestr(name, content)
    return path


def refusal(path: Path, gold: Path) -> str:
    """The one sentence of a refusal; the JSON has its name and both languages."""
    before = sorted(path.parent.rglob("*"))
    outcome = merilo("submission", "score", path, "--gold", gold, "--json", "-")
    assert outcome.status == 2
    (error,) = outcome.json["errors"]
    assert error["type"] == "unreadable_zip"
    assert any("а" <= sign <= "я" for sign in error["message"]["ru"])
    assert outcome.json["results"] == {}
    assert (outcome.json["total"], outcome.json["ready_for_public"]) == (None, False)
    assert sorted(path.parent.rglob("*")) == before, "nothing is written"
    assert outcome.complaint.startswith(f"merilo: {path}: the archive is refused: ")
    return outcome.complaint


#: What runs where memory is bounded: the command for each archive, one after another; all that was said as JSON.
BOUNDED = """
import contextlib, io, json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({memory}, {memory}))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
from merilo.cli import main
gold, *paths = sys.argv[1:]
found = []
for path in paths:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(["submission", "score", path, "--gold", gold, "--json", "-"])
    found.append([status, out.getvalue(), err.getvalue()])
print(json.dumps(found))
"""


def bounded(gold: Path, *paths: Path) -> list[Outcome]:
    """Score archives in a process of its own that cannot take more memory than one of them should need."""
    words = [sys.executable, "-c", BOUNDED.format(memory=MEMORY_BYTES), str(gold), *map(str, paths)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return [Outcome(*one) for one in json.loads(done.stdout)]


def with_mode(mode: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("RCB.json")
    info.external_attr = mode << 16
    return info


STRANGE_NAMES = ["../RCB.json", "a/../../RCB.json", "/etc/RCB.json", "..", "C:/RCB.json", "a\\..\\RCB.json"]
STRANGE_NAMES += ["RC\nB.json", "\x1b[31mRCB.json", "RCB\u202e.json"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(("told", "members"), [
    *(("name", (name,)) for name in STRANGE_NAMES),
    *(("link or a device", (with_mode(mode),)) for mode in (0o120777, 0o010644, 0o020644, 0o060644, 0o140644)),
    ("too deep", ("a/" * 300 + "RCB.json",)), ("too deep", ("a/b/c/RCB.json",)),
    ("twice", ("RCB.json", "RCB.json")), ("twice", ("RCB.json", "rcb.JSON")),
    (f"more than {MAX_ENTRIES} files", tuple(f"{number}.json" for number in range(MAX_ENTRIES + 1))),
], ids=lambda value: value if isinstance(value, str) else "")  # fmt: skip
def test_members_that_no_submission_has(
    told: str, members: tuple[str | zipfile.ZipInfo, ...], gold: Path, perfect: bytes, tmp_path: Path
) -> None:
    complaint = refusal(archive(tmp_path / "s.zip", *((member, perfect) for member in members)), gold)
    assert told in complaint
    assert complaint.isprintable()


def test_a_name_cut_by_a_nought_byte_and_an_encrypted_file(
    gold: Path, perfect: bytes, tmp_path: Path
) -> None:
    path = archive(tmp_path / "s.zip", ("RCB.json_x", perfect))
    path.write_bytes(path.read_bytes().replace(b"RCB.json_x", b"RCB.json\0x"))
    assert "name" in refusal(path, gold)
    data = bytearray(archive(path, ("RCB.json", perfect)).read_bytes())
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    assert "encrypted" in refusal(path, gold)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_rare_compression(method: int, gold: Path, perfect: bytes, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "s.zip", "w", method) as out:
        out.writestr("RCB.json", perfect)
    assert "unsupported" in refusal(tmp_path / "s.zip", gold)


@pytest.mark.parametrize(
    "content", [b"", b"PK", b"hello", b"PK\x05\x06", b"\0" * 100_000, b"PK\x03\x04" * 1000]
)
def test_what_is_no_archive(content: bytes, gold: Path, tmp_path: Path) -> None:
    (tmp_path / "s.zip").write_bytes(content)
    assert "not a ZIP file" in refusal(tmp_path / "s.zip", gold)


def test_every_truncation_and_every_flipped_byte_of_an_archive(
    gold: Path, perfect: bytes, tmp_path: Path
) -> None:
    """A broken archive is refused, has an error of the dataset, or gets the correct score."""
    path = archive(tmp_path / "s.zip", ("RCB.json", perfect))
    whole = path.read_bytes()
    cut = [whole[:length] for length in range(0, len(whole), 7)]
    flipped = [whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :] for at in range(len(whole))]
    for place, content in enumerate([*cut, *flipped]):
        path.write_bytes(content)
        outcome = merilo("submission", "score", path, "--gold", gold, "--json", "-")
        assert "fault of Merilo" not in outcome.err, (place, outcome.err)
        assert outcome.status == 2 or (place >= len(cut) and outcome.status in {0, 1}), place
        assert outcome.status or outcome.json["total"] == 1.0, place


def directory_bomb(path: Path, entries: int, stated: int, *, zip64: bool = False) -> Path:
    """A directory of very many entries whose end record states few of them; the ZIP64 record states all."""
    entry = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, 20, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0)
    with path.open("wb") as out:
        for start in range(0, entries, 1000):
            out.write(b"".join(entry + f"{number:06d}"[:6].encode() for number in range(start, start + 1000)))
        length = out.tell()
        if zip64:
            record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, entries, entries, length, 0)
            out.write(record + struct.pack("<4sLQL", b"PK\x06\x07", 0, length, 1))
        out.write(struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, stated, stated, length, 0, 0))
    return path


@pytest.mark.parametrize("sizes", [[20], [1] * 300], ids=["one file", "many small files"])
def test_a_bomb_by_ratio(sizes: list[int], gold: Path, tmp_path: Path) -> None:
    names = ["RCB.json", *(f"{number}.json" for number in range(1, len(sizes)))]
    members = ((name, b" " * (size << 20)) for name, size in zip(names, sizes, strict=True))
    assert "it would unpack to" in refusal(archive(tmp_path / "s.zip", *members), gold)


def larger_than_allowed(path: Path) -> Path:
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out,
        out.open("RCB.json", "w", force_zip64=False) as stream,
    ):
        for _ in range(0, MAX_FILE_BYTES + 1, 1 << 20):
            stream.write(os.urandom(1 << 10) + b" " * ((1 << 20) - (1 << 10)))
    return path


def larger_than_it_states(path: Path) -> Path:
    """The directory says ten bytes, the stream holds twenty million: no more than was stated is unpacked."""
    data = bytearray(archive(path, ("RCB.json", b" " * 20_000_000)).read_bytes())
    place = data.rindex(b"PK\x01\x02")
    data[place + 24 : place + 28] = struct.pack("<L", 10)
    path.write_bytes(data)
    return path


def test_bombs_are_refused_before_they_take_memory(gold: Path, tmp_path: Path) -> None:
    bombs = {
        directory_bomb(tmp_path / "entries.zip", 1_000_000, stated=5): "more than",
        directory_bomb(tmp_path / "zip64.zip", 70_000, stated=0xFFFF, zip64=True): "ZIP64",
        larger_than_allowed(tmp_path / "size.zip"): "larger than",
        larger_than_it_states(tmp_path / "stated.zip"): "damaged",
    }
    assert (tmp_path / "entries.zip").stat().st_size > 40 * MAX_DIRECTORY_BYTES
    with zipfile.ZipFile(tmp_path / "zip64.zip") as opened:
        assert len(opened.namelist()) == 70_000
    for (path, told), outcome in zip(bombs.items(), bounded(gold, *bombs), strict=True):
        assert outcome.status == 2, path
        assert told in outcome.err


#: A file of an archive, and what its refusal says; None where the file is read and holds no valid answers.
HOSTILE = {
    "brackets": (b"[" * (8 << 20), "too many values"),
    "objects": (b'{"data": {"test": [' + b"{}," * 2_000_000 + b"{}]}}", "too many values"),
    "texts": (b'{"data": {"test": [' + b'"",' * 2_500_000 + b'""]}}', None),
    "cyrillic": (b'{"data": {"test": "' + "ы".encode() * (14 << 20) + b'"}}', None),
    "wide": (b'{"data": "' + b"x" * (28 << 20) + "\U0001f600".encode() + b'"}', None),
}


@pytest.mark.thorough
def test_hostile_files_stay_in_their_memory(gold: Path, tmp_path: Path) -> None:
    """Stored, not packed, so that the ratio is not what stops it."""
    paths = [tmp_path / f"{name}.zip" for name in HOSTILE]
    for path in paths:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as out:
            out.writestr("RCB.json", HOSTILE[path.stem][0])
    for path, outcome in zip(paths, bounded(gold, *paths), strict=True):
        told = HOSTILE[path.stem][1]
        assert outcome.status == 1, (path.name, outcome.err)
        errors = outcome.json["results"]["RCB"]["errors"]
        assert errors, path.name
        assert "Traceback" not in outcome.err
        if told is not None:
            assert [error["type"] for error in errors] == ["unreadable_file"], path.name
            assert told in errors[0]["message"]["en"]


def test_an_archive_with_a_comment_or_something_before_it(gold: Path, perfect: bytes, tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as out:
        out.comment = b"a comment " * 100
        out.writestr("RCB.json", perfect)
    (tmp_path / "s.zip").write_bytes(b"#!/bin/sh\n" + inner.getvalue())
    assert (
        merilo("submission", "score", tmp_path / "s.zip", "--gold", gold, "--json", "-").json["total"] == 1.0
    )


def test_a_folder_or_nothing_in_place_of_an_archive(gold: Path, tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "none.zip"):
        assert "there is no such file" in merilo("submission", "score", place, "--gold", gold).complaint
