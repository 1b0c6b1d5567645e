"""Processes that tests start: they end with the block, whatever happens in it, so that no test waits for one for ever."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

#: Seconds for a process to stop by itself.
PATIENCE = 30


@contextmanager
def ended_process(
    command: list, *, stopped_by: signal.Signals = signal.SIGKILL, **options: object
) -> Iterator[subprocess.Popen]:
    """A process; at the end of the block it gets a signal, and SIGKILL if it does not stop."""
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        finally:
            process.send_signal(stopped_by)
            with suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE)
            process.kill()
