"""Running `merilo` inside the test's process, as its users see it."""

import contextlib
import functools
import io
import json
from dataclasses import dataclass
from typing import Any

from merilo.cli import main


@dataclass(frozen=True)
class Outcome:
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def complaint(self) -> str:
        """The one sentence on standard error."""
        lines = self.err.strip().splitlines()
        assert len(lines) == 1, self.err
        assert "Traceback" not in self.err
        assert "fault of Merilo" not in self.err
        return lines[0]


def merilo(*words: object) -> Outcome:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main([str(word) for word in words])
    return Outcome(status, out.getvalue(), err.getvalue())


def done(*words: object) -> Outcome:
    """Run a command that must succeed."""
    outcome = merilo(*words)
    assert outcome.status == 0, f"merilo {' '.join(map(str, words))}: {outcome.err}"
    return outcome


@functools.cache
def merilo_once(*words: object) -> Outcome:
    """As `merilo`, and the command runs once in a process for all tests.

    For commands that write no file and read only files that no test changes, such as those of a real pool.
    """
    return merilo(*words)


def printed(*words: object) -> tuple[int, str]:
    """The exit status, and standard output and standard error together, as a terminal shows them."""
    screen = io.StringIO()
    with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen):
        status = main([str(word) for word in words])
    return status, screen.getvalue()
