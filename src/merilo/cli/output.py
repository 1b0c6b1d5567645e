"""What commands share when they answer: JSON, messages, progress, a new folder."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Final

from merilo.atomic_write import new_folder, refuse_existing, write_text
from merilo.cli import say
from merilo.errors import for_command_line
from merilo.files import Progress, shown
from merilo.strict_json import Json, indented

__all__ = ["OutFolder", "emit_json", "named", "refuse_json", "say", "tracked", "working"]

#: Work that takes longer shows on a terminal that it goes on.
LONG_SECONDS: Final = 2.0


def emit_json(content: dict[str, Json], where: str) -> None:
    """Print one JSON object on standard output (`-`) or write it to a file.

    Raises:
        OutputError: the file cannot be written.
    """
    text = for_command_line(indented(content)) + "\n"
    if where == "-":
        if isinstance(sys.stdout, io.TextIOWrapper):
            # JSON is UTF-8 whatever the terminal's language.
            sys.stdout.reconfigure(encoding="utf-8")
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        write_text(Path(where), text)


def named(path: Path | str | None) -> str | None:
    """A file as the user named it, for the parameters of a result; null where there is none."""
    return None if path is None else shown(path)


def refuse_json(where: str | None, needed: Iterable[Path]) -> None:
    """Refuse to write JSON over a file that the command reads.

    Raises:
        OutputError: `where` is one of them.
    """
    if where not in {None, "-"}:
        refuse_existing(Path(str(where)), force=True, needed=needed)


@contextmanager
def tracked(what: str, total: int) -> Iterator[Progress]:
    """A progress bar on standard error; the block receives a function to call with each step's size."""
    from rich.console import Console  # noqa: PLC0415 - quick commands draw nothing
    from rich.progress import Progress as Bars  # noqa: PLC0415

    with Bars(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(what, total=total)
        yield lambda step: bars.advance(task, step)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on standard error what is being done, and for how long, once the block has taken `LONG_SECONDS`.

    Only a terminal is shown anything, and nothing of it stays there. The block must not write to standard error.
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
    # Standard output must stay the command's own while a bar is shown.
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
    """The folder that a command will fill: looked at before the work, written after it.

    Attributes:
        path: the folder.
        force: whether an existing one may be replaced.
    """

    path: Path
    force: bool

    @classmethod
    def checked(cls, path: Path | None, *, force: bool, needed: Iterable[Path] = ()) -> OutFolder | None:
        """The folder, if one is asked for and may be made.

        Args:
            path: the folder.
            force: whether an existing one may be replaced.
            needed: the files that the command reads.

        Raises:
            OutputError: it exists and `force` is not given, or it holds a file that the command reads.
        """
        if path is None:
            return None
        refuse_existing(path, force=force, needed=needed)
        return cls(path, force)

    def filled(self) -> AbstractContextManager[Path]:
        """A hidden folder that takes its place when the block ends well."""
        return new_folder(self.path, force=self.force)
