"""Output functions shared by commands: JSON, progress, output folders."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Final

from merilo.atomic_write import new_folder, refuse_existing, write_text
from merilo.cli import say
from merilo.files import Progress
from merilo.strict_json import Json, as_text
from merilo.wording import named

__all__ = ["OutFolder", "emit_json", "named", "reading", "refuse_json", "say", "tracked", "working"]

#: After this many seconds, a terminal shows that the work is in progress.
LONG_SECONDS: Final = 2.0


def emit_json(content: dict[str, Json], where: str) -> None:
    """Print one JSON object on standard output (`-`) or write it to a file.

    Raises:
        OutputError: the file cannot be written.
    """
    text = as_text(content)
    if where == "-":
        if isinstance(sys.stdout, io.TextIOWrapper):
            # JSON is UTF-8 in every locale.
            sys.stdout.reconfigure(encoding="utf-8")
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        write_text(Path(where), text)


def refuse_json(where: str | None, needed: Iterable[Path]) -> None:
    """Refuse to write JSON over a file that the command reads.

    Raises:
        OutputError: `where` is one of the files in `needed`.
    """
    if where not in {None, "-"}:
        refuse_existing(Path(str(where)), force=True, needed=needed)


#: From this many bytes on, reading shows a progress bar.
LONG_INPUT_BYTES: Final = 8_000_000


@contextmanager
def reading(files: Sequence[Path]) -> Iterator[Progress | None]:
    """Show a progress bar on standard error for large input, if it is a terminal."""
    size = sum(path.stat().st_size for path in files if path.is_file())
    if size < LONG_INPUT_BYTES or not sys.stderr.isatty():
        yield None
        return
    with tracked("Reading", size) as progress:
        yield progress


@contextmanager
def tracked(what: str, total: int) -> Iterator[Progress]:
    """Show a progress bar on standard error; the block receives a function to call with each step's size."""
    from rich.console import Console  # noqa: PLC0415 - quick commands draw nothing
    from rich.progress import Progress as Bars  # noqa: PLC0415

    with Bars(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(what, total=total)
        yield lambda step: bars.advance(task, step)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show the current work and its elapsed time on standard error, once the block has run for `LONG_SECONDS`.

    The line appears only on a terminal and is removed at the end. The block must not write to standard error.
    """
    if not sys.stderr.isatty():
        yield
        return
    ended = Event()
    thread = Thread(target=_show_long_work, args=(what, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _show_long_work(what: str, ended: Event) -> None:
    if ended.wait(LONG_SECONDS):
        return
    from rich.console import Console  # noqa: PLC0415 - quick commands draw nothing
    from rich.progress import Progress as Bars  # noqa: PLC0415
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    # The bar must not redirect the command's standard output.
    with Bars(
        *columns,
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    ) as bars:
        task = bars.tasks[bars.add_task(what, total=None)]
        task.start_time = bars.get_time() - LONG_SECONDS
        ended.wait()


@dataclass(frozen=True, slots=True)
class OutFolder:
    """The output folder of a command, checked before the work and written after it.

    Attributes:
        path: the folder.
        force: whether an existing one may be replaced.
    """

    path: Path
    force: bool

    @classmethod
    def checked(cls, path: Path | None, *, force: bool, needed: Iterable[Path] = ()) -> OutFolder | None:
        """Return the output folder after checking that it may be written, or `None` if `path` is `None`.

        Args:
            path: the folder.
            force: whether an existing one may be replaced.
            needed: the files that the command reads.

        Raises:
            OutputError: the folder exists and `force` is false, or it holds a file that the command reads.
        """
        if path is None:
            return None
        refuse_existing(path, force=force, needed=needed)
        return cls(path, force)

    def filled(self) -> AbstractContextManager[Path]:
        """Open a hidden folder that is renamed to `path` if the block ends without an error."""
        return new_folder(self.path, force=self.force)
