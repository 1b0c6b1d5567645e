"""Progress of long work is shown on terminals only."""

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ended_process import ended_process

#: Runs in a process of its own: work that lasts until standard input ends.
WORK = """
import sys
from merilo.cli import output
output.LONG_SECONDS = float(sys.argv[1])
with output.working("Deciding 200,000 items"):
    sys.stdin.read()
print("decided")
"""

COMMAND = """
import sys
from merilo.cli import main, output
output.LONG_SECONDS = 0.0
sys.exit(main(sys.argv[1:]))
"""


@contextmanager
def on_terminal(*command: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process whose standard error is a terminal, and our end of that terminal."""
    ours, theirs = pty.openpty()
    with ended_process(
        [sys.executable, "-c", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    ) as process:
        os.close(theirs)
        yield process, ours
    os.close(ours)


def shown(terminal: int, until: str | None = None) -> str:
    """What the terminal was sent, up to some text or to the end of the process."""
    text = ""
    while until is None or until not in text:
        try:
            text += os.read(terminal, 4096).decode()
        except OSError:  # how Linux tells that nobody holds the other end
            break
    return text


def test_a_terminal_is_told_of_long_work_and_standard_output_is_not() -> None:
    with on_terminal(WORK, "0") as (process, terminal):
        seen = shown(terminal, "Deciding 200,000 items")
        assert "Deciding 200,000 items" in seen
        assert process.communicate()[0] == "decided\n"
        # The line is taken back when the work is done.
        assert re.search(r"\x1b\[2K", seen + shown(terminal))


def test_short_work_and_pipes_are_told_nothing() -> None:
    with on_terminal(WORK, "3600") as (process, terminal):
        assert process.communicate()[0] == "decided\n"
        assert shown(terminal) == ""
    command = [sys.executable, "-c", WORK, "0"]
    done = subprocess.run(command, input="", capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("decided\n", "")


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    rows = [f"{item},{person},{'yes' if item % 2 else 'no'}" for item in range(300) for person in range(5)]
    (tmp_path / "pool.csv").write_text("\n".join(["item,annotator,answer", *rows]) + "\n", encoding="utf-8")
    return tmp_path / "pool.csv"


def test_the_json_of_a_baseline_stands_alone_on_standard_output(pool: Path) -> None:
    with on_terminal(COMMAND, "baseline", str(pool), "--json", "-") as (process, terminal):
        answer = process.communicate()[0]
        assert json.loads(answer)["responses"]["total"] == 1500
        assert "Making a baseline of 1,500 answers" in shown(terminal)
