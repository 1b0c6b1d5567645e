"""The progress of a run on a terminal: rate, time left, errors and cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from merilo.models.runner import Progress

#: Replies after which the bar is drawn again; drawing costs more than a reply.
_STEP: Final = 16


@contextmanager
def bar(requests: int) -> Iterator[Callable[[Progress], None]]:
    """Show a bar on standard error; the block receives a function to call with the progress."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}", markup=False),
        TimeRemainingColumn(),
        TextColumn("{task.fields[told]}", markup=False),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False) as bars:
        task = bars.add_task("asking", total=requests, rate="", told="")

        def tell(progress: Progress) -> None:
            done = progress.answered + progress.failed
            if done % _STEP and done < requests and done > _STEP:
                return
            speed = bars.tasks[0].speed
            bars.update(task, completed=done, rate="" if not speed else f"{speed:.1f}/s", told=told(progress))

        yield tell


def told(progress: Progress) -> str:
    """Return what the bar says beside its numbers.

    Example:
        >>> told(Progress(answered=3, failed=1, retried=2, running=4, usd=0.0123))
        '4 running, 1 failed, 2 retried, $0.0123'
    """
    parts = [f"{progress.running} running"]
    parts += [f"{progress.failed} failed"] if progress.failed else []
    parts += [f"{progress.retried} retried"] if progress.retried else []
    parts += [f"${progress.usd:.4f}"] if progress.usd else []
    return ", ".join(parts)
