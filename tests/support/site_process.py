"""The annotation site as a real process, started by its command."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ended_process import ended_process


@contextmanager
def running_site(study: Path, *options: str) -> Iterator[tuple[str, dict[str, str], subprocess.Popen]]:
    """The site's address, the path of each group's pages, and the process; it is ended by SIGINT as by Ctrl-C."""
    command = [sys.executable, "-m", "merilo", "study", "serve", str(study), "--port", "0", *options]
    with ended_process(
        command,
        stopped_by=signal.SIGINT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=dict(os.environ),
    ) as process:
        said, address = [], ""
        for line in process.stdout:
            said.append(line)
            if line.startswith("The site is running at "):
                address = line.split()[5].rstrip(";")
                break
        assert address, "".join(said)
        paths = {
            line.split(": http")[0]: f"/s/{line.split('/s/')[1].split('/')[0]}/"
            for line in said
            if "/s/" in line
        }
        yield address, paths, process
