"""What commands print and write: lines, tables and sections, JSON, progress, output files."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Final, TypeAlias

from merilo.atomic_write import refuse_existing, refuse_unwritable, write_text
from merilo.cli import say, tame
from merilo.errors import UsageError
from merilo.files import Progress
from merilo.strict_json import Json, as_text
from merilo.text import Text, formatted

if TYPE_CHECKING:
    from rich.progress import TaskID

    from merilo.reports.table import Section, Table

    #: What a command prints: a line, a table, a section.
    Part: TypeAlias = str | Text | Table | Section

__all__ = [
    "bars",
    "check_places",
    "deliver",
    "emit_json",
    "number",
    "reading",
    "refuse_idle",
    "say",
    "show",
    "working",
]

#: After this many seconds, a terminal shows that the work is in progress.
LONG_SECONDS: Final = 2.0

#: From this many bytes on, reading shows a progress bar.
LONG_INPUT_BYTES: Final = 8_000_000


def show(*parts: Part) -> None:
    """Print lines, tables and sections on standard output, without control characters that names may contain."""
    for part in parts:
        if isinstance(part, str | Text):
            lines = "\n".join(map(tame, str(part).split("\n")))
            sys.stdout.write(f"{lines}\n")
            continue
        from rich.console import Console  # noqa: PLC0415 - JSON needs no tables

        from merilo.reports.table import print_parts  # noqa: PLC0415 - as above

        print_parts([part], Console(highlight=False))


def number(value: float | None, spec: str = "") -> str:
    """Format a number; a dash without one."""
    return "—" if value is None else formatted(value, spec, "en")


def deliver(json_to: str | None, content: Callable[[], dict[str, Json]], parts: Iterable[Part]) -> None:
    """Write a result as JSON, if that is wanted, and print its tables, unless the JSON is on standard output.

    Raises:
        OutputError: the file cannot be written.
    """
    if json_to:
        emit_json(content(), json_to)
    if json_to != "-":
        show(*parts)


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


def check_places(
    needed: Iterable[Path | None], json_to: str | None, *outs: Path | None, force: bool = False
) -> None:
    """Check before the work that its results can be written.

    Args:
        needed: the files that the command reads, and folders of such files.
        json_to: where the JSON goes; an existing file is replaced.
        outs: the files or folders of the other results.
        force: whether existing ones may be replaced.

    Raises:
        OutputError: one of `outs` exists and `force` is false, a file that the command reads would be overwritten, or
            the JSON cannot be written.
        UsageError: two results have one path.
    """
    read = [path for path in needed if path is not None]
    inputs = [*read, *(file for path in read for file in path.glob("*") if file.is_file())]
    places = [path for path in outs if path is not None]
    for path in places:
        refuse_existing(path, force=force, needed=inputs)
    if json_to not in {None, "-"}:
        places.append(Path(str(json_to)))
        refuse_existing(places[-1], force=True, needed=inputs)
        refuse_unwritable(places[-1])
    if len({*map(os.path.realpath, places)}) < len(places):
        raise UsageError(f"two results would be written to {places[-1]}: give each its own path")


def refuse_idle(out: Path | None, json_to: str | None, *, force: bool = False, **shown: bool) -> None:
    """Refuse options that have no effect beside the others.

    Args:
        out: the place that `force` replaces.
        json_to: where the JSON goes; `-` leaves no room for tables.
        force: whether --force is given.
        shown: the options that lengthen the tables, by name.

    Raises:
        UsageError: an option has no effect.
    """
    if force and out is None:
        raise UsageError("replaces an existing --out: give --out too", field="--force")
    for name, given in shown.items():
        if given and json_to == "-":
            reason = "lengthens the tables, and --json - prints none: leave out one of them"
            raise UsageError(reason, field=f"--{name.replace('_', '-')}")


@contextmanager
def reading(files: Sequence[Path]) -> Iterator[Progress | None]:
    """Show a progress bar on standard error for large input, if it is a terminal."""
    size = sum(path.stat().st_size for path in files if path.is_file())
    if size < LONG_INPUT_BYTES or not sys.stderr.isatty():
        yield None
        return
    done = 0
    with bars() as move:

        def tell(step: int) -> None:
            nonlocal done
            done += step
            if move is not None:
                move("Reading", size, done, "")

        yield tell


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


#: Called with the name of a bar, the total, how much is done by now and a remark.
MoveBar: TypeAlias = Callable[[str, int | None, int, str], None]


@contextmanager
def bars() -> Iterator[MoveBar | None]:
    """Show bars on standard error, with a rate and the time left; `None` if it is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - quick commands draw nothing
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn  # noqa: PLC0415
    from rich.progress import Progress as Bars  # noqa: PLC0415

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}", markup=False),
        TimeRemainingColumn(),
        TextColumn("{task.fields[remark]}", markup=False),
    )
    console = Console(stderr=True)
    with Bars(
        *columns, console=console, transient=True, redirect_stdout=False, speed_estimate_period=20
    ) as drawn:
        tasks: dict[str, TaskID] = {}

        def move(name: str, total: int | None, done: int, remark: str) -> None:
            if name not in tasks:
                tasks[name] = drawn.add_task(name, total=total, rate="", remark="")
            speed = drawn.tasks[tasks[name]].speed
            rate = f"{number(speed, '.1f' if speed < 10 else '.0f')}/s" if speed else ""
            drawn.update(tasks[name], total=total, completed=done, rate=rate, remark=remark)

        yield move


def _show_long_work(what: str, ended: Event) -> None:
    if ended.wait(LONG_SECONDS):
        return
    from rich.console import Console  # noqa: PLC0415 - quick commands draw nothing
    from rich.progress import Progress as Bars  # noqa: PLC0415
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    # The bar must not redirect the command's standard output.
    with Bars(
        *columns, console=Console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False
    ) as bars:
        task = bars.tasks[bars.add_task(what, total=None)]
        task.start_time = bars.get_time() - LONG_SECONDS
        ended.wait()
