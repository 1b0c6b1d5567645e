"""`merilo` as a process: streams that are full, closed or of another encoding, and signals."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ended_process import ended_process
from exports import row, small_pool, toloka, written

COMMAND = [sys.executable, "-m", "merilo"]


def process(*words: object, **settings: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, *map(str, words)], stderr=subprocess.PIPE, check=False, timeout=120, **settings
    )


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    return written(tmp_path / "pool.tsv", toloka(small_pool(people=10)))


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_behind_standard_output(pool: Path) -> None:
    for words in (["--help"], ["baseline", pool], ["baseline", pool, "--json", "-"]):
        with Path("/dev/full").open("wb") as full:
            done = process(*words, stdout=full)
        assert done.returncode == 2
        assert done.stderr.decode() == "merilo: the output cannot be written (No space left on device)\n"


@pytest.mark.thorough
def test_a_reader_that_has_gone(pool: Path) -> None:
    for words in (["--help"], ["baseline", pool], ["baseline", pool, "--json", "-"]):
        read, write = os.pipe()
        os.close(read)
        done = process(*words, stdout=write)
        os.close(write)
        assert done.returncode == 0
        assert done.stderr == b""


def test_a_closed_standard_output(pool: Path) -> None:
    done = process("baseline", pool, "--json", "-", preexec_fn=lambda: os.close(1))
    assert done.returncode == 0
    assert done.stderr == b""


@pytest.mark.thorough
def test_a_terminal_that_lacks_the_letters_of_the_answers(tmp_path: Path) -> None:
    path = written(tmp_path / "ёж.tsv", toloka([row("вопрос", "Ёж", f"жук-{n}") for n in range(4)]))
    poor = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = process("baseline", path, "--json", "-", env=poor, stdout=subprocess.PIPE)
    assert done.returncode == 0
    assert json.loads(done.stdout.decode("utf-8"))["annotators"]["total"] == 4
    done = process("baseline", path, "--out", tmp_path / "отчёт", env=poor, stdout=subprocess.PIPE)
    assert done.returncode == 0
    assert (tmp_path / "отчёт" / "report.html").is_file()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_process_that_is_told_to_stop_leaves_nothing_behind(
    tmp_path: Path, number: signal.Signals, status: int
) -> None:
    rows = [row(f"q{item}", "A", f"w{person}") for item in range(4_000) for person in range(5)]
    path = written(tmp_path / "pool.tsv", toloka(rows))
    command = [*COMMAND, "baseline", str(path), "--out", str(tmp_path / "out")]
    for _ in range(5):  # on a busy machine, the program may have ended before its folder was seen
        with ended_process(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as running:
            while running.poll() is None and not any(
                one.name.startswith(".out") for one in tmp_path.iterdir()
            ):
                os.sched_yield()
            running.send_signal(number)
            _, said = running.communicate(timeout=120)
        if running.returncode:
            break
        shutil.rmtree(tmp_path / "out")
    # Python dies of SIGINT itself if the signal came while a class was being made by exec; a shell shows 130 for both.
    assert running.returncode in {status, -number}, said
    assert said.decode().splitlines()[-1] == "merilo: stopped by the user"
    assert [one.name for one in tmp_path.iterdir()] == ["pool.tsv"]
