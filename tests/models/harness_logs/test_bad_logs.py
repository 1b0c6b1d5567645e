"""Logs that are damaged, hostile or something else: one sentence, never a traceback."""

import json
import zipfile
from pathlib import Path

import pytest
from command import merilo
from harness_files import (
    data_of,
    inspect_log,
    inspect_sample,
    items_of,
    lm_eval_choice,
    lm_eval_text,
    written,
)

from merilo import score
from merilo.models import log_formats as log_files


def refused(log: Path, *, status: int = 2) -> str:
    done = merilo("score", log, "--dataset", "parus", "--data", data_of("parus", log.parent))
    assert done.status == status, done.err
    assert log.name in done.complaint
    return done.complaint


def rows() -> list[dict]:
    return [lm_eval_choice(at, "parus", item, "1") for at, item in enumerate(items_of("parus"))]


def test_a_log_cut_off_in_a_line_gives_its_complete_rows(tmp_path: Path) -> None:
    log = written(tmp_path / "s.jsonl", rows())
    log.write_bytes(log.read_bytes()[:-200])
    found = score(log, dataset="parus", data=data_of("parus", tmp_path))
    assert found.answered == 7
    assert found.answers.source.notes == ["line 8 is cut off and left out"]


@pytest.mark.parametrize(
    ("second", "complaint"),
    [
        (b'{"doc": {"id', "row 2: is not JSON"),
        ('{"doc": "вода"}'.encode("cp1251"), "row 2: is not UTF-8"),
        (b'{"doc": ' + b"[" * 200_000, "nested too deeply"),
        (b'{"id": 1}', "row 2: is not a sample of lm-eval"),
        (b"[1]", "row 2: is not a JSON object"),
    ],
)
def test_a_line_that_is_no_row_is_an_error_with_its_number(
    second: bytes, complaint: str, tmp_path: Path
) -> None:
    log = written(tmp_path / "s.jsonl", rows())
    first, _, *others = log.read_bytes().split(b"\n")
    log.write_bytes(b"\n".join([first, second, *others]))
    assert complaint in refused(log)


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.eval"])
def test_an_empty_log(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"")
    refused(tmp_path / name)


def test_logs_without_answers(tmp_path: Path) -> None:
    (tmp_path / "i.json").write_text(
        '{"version": 2, "status": "started", "eval": {"eval_id": "e", "run_id": "r", "task": "t"}}'
    )
    assert "holds no answers (the evaluation ended with the status 'started'" in refused(tmp_path / "i.json")


def test_another_encoding(tmp_path: Path) -> None:
    log = written(tmp_path / "s.jsonl", rows())
    log.write_bytes(log.read_text(encoding="utf-8").encode("utf-16"))
    refused(log)


def test_a_gigantic_line_is_refused_before_it_is_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_files, "LONGEST_LINE", 1 << 20)
    log = written(
        tmp_path / "s.jsonl", [rows()[0], lm_eval_text(1, "parus", items_of("parus")[1], "1" * (1 << 21))]
    )
    assert "row 2: is longer than 1 MB" in refused(log)


def test_hostile_text_is_data(tmp_path: Path) -> None:
    """Half a surrogate pair, control characters, markup, and ids that would move the cursor."""
    log = tmp_path / "s.jsonl"
    first = json.dumps(lm_eval_text(0, "parus", items_of("parus")[0], "1"), ensure_ascii=False)
    log.write_text(first.replace('[["1"]]', '[["1 \\ud83d"]]') + "\n", encoding="utf-8")
    done = merilo("score", log, "--dataset", "parus", "--data", data_of("parus", tmp_path))
    assert done.status == 0, done.err
    bad = inspect_sample("\x1b[2J\u202e[bold]9", "\x00<script>")
    log = inspect_log(tmp_path / "log.json", [inspect_sample("1", "1"), bad])
    done = merilo("score", log, "--dataset", "parus", "--data", data_of("parus", tmp_path))
    assert done.status == 0
    assert "\x1b" not in done.err
    assert "\u202e" not in done.err


def test_a_zip_that_is_no_log_of_inspect(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.eval", "w") as archive:
        archive.writestr("parus.json", "{}")
    assert "without header.json" in refused(tmp_path / "a.eval")
    (tmp_path / "b.eval").write_bytes((tmp_path / "a.eval").read_bytes()[:40])
    assert "damaged or cut off" in refused(tmp_path / "b.eval")
    (tmp_path / "c.eval").write_text("{}")
    assert "a .eval file is a ZIP archive" in refused(tmp_path / "c.eval")


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", "{}")
        archive.writestr("samples/1_epoch_1.json", b"0" * (300 << 20))
    assert "is refused: unpacked" in refused(tmp_path / "a.eval")
