"""Print the scores of programs on the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from merilo.cli import tame
from merilo.metrics.score import Score
from merilo.runs.program_scores import ProgramScores
from merilo.sandbox.extraction import NOTHING
from merilo.sandbox.job import Step
from merilo.sandbox.ledger import Ending

if TYPE_CHECKING:
    from merilo.runs.program_authors import Authors

#: How many authors the terminal shows; the JSON holds all.
MOST_AUTHORS: Final = 20


def show(report: ProgramScores, *, per_problem: bool) -> None:
    """Print the report on standard output."""
    from rich.console import Console  # noqa: PLC0415 - a third of this command's start
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(highlight=False)
    table = Table(title="Programs", show_header=False, title_justify="left", title_style="bold")
    table.add_column(style="bold")
    table.add_column()
    for score in report.scores:
        table.add_row(score.name, _shown(score))
    tally = report.tally
    for name, value in _author_rows(report.authors) if report.authors else ():
        table.add_row(Text(name), Text(value))
    table.add_row("generations", f"{tally.generations}  of {len(tally.problems)} problems")
    if tally.repeated:
        table.add_row(
            "repeated",
            f"{tally.repeated}  duplicates within a problem; each counts as a sample",
        )
    table.add_row("programs", f"{tally.programs}  distinct, {_judged(report)}")
    for result, count in tally.results.most_common():
        # Names from programs and files must not be read as markup.
        table.add_row(f"  {result.words}", Text(_with_exceptions(count, result, tally.exceptions)))
    if empty := sum(count for rule, count in tally.rules.items() if rule.endswith(f": {NOTHING}")):
        table.add_row("without code", f"{empty}; only the stub was run")
    retries = tally.retries
    if retries.timeouts:
        table.add_row("time-outs run again", f"{retries.timeouts}, of which {retries.timeouts_passed} passed")
    if retries.failures:
        table.add_row("failures run again", f"{retries.failures}, of which {retries.failures_passed} passed")
    console.print(table)
    if per_problem:
        console.print(_problems(report))


def _author_rows(authors: Authors) -> list[tuple[str, str]]:
    """Return the people who wrote the programs as (name, text) rows."""
    interval = authors.single.interval
    people = [
        (f"  {tame(one.annotator)}", f"{one.share:.3f}  solved {one.solved} of {one.problems}")
        for one in authors.people[:MOST_AUTHORS]
    ]
    if len(authors.people) > MOST_AUTHORS:
        people.append(("  …", f"{len(authors.people) - MOST_AUTHORS} more in the JSON"))
    return [
        ("single person", f"{authors.single.mean:.4f} [{interval.low:.3f}, {interval.high:.3f}]"),
        ("people", str(len(authors.people))),
        *people,
    ]


def _judged(report: ProgramScores) -> str:
    if not report.resumed:
        return f"{report.rate:.0f} judged per second"
    if report.resumed >= report.tally.programs:
        return "all judged before"
    return f"{report.resumed} judged before, the others at {report.rate:.0f} per second"


def _problems(report: ProgramScores) -> object:
    from rich.table import Table  # noqa: PLC0415 - see show
    from rich.text import Text  # noqa: PLC0415

    table = Table(
        *[
            "problem",
            "generations",
            "passed",
            *[score.name for score in report.scores],
            "how the others ended",
        ]
    )
    for tally in report.tally.problems:
        others = Counter({result: n for result, n in tally.results.items() if result is not Ending.PASSED})
        ended = ", ".join(
            f"{result.words} {_with_exceptions(n, result, tally.exceptions)}"
            for result, n in others.most_common()
        )
        shares = [f"{score.per_item[tally.problem.id]:.3f}" for score in report.scores]
        name = Text(tame(str(tally.problem.id)))
        table.add_row(name, str(tally.generations), str(tally.passed), *shares, Text(ended))
    return table


def _with_exceptions(count: int, result: Ending, exceptions: Counter[str]) -> str:
    if result is not Ending.EXCEPTION:
        return str(count)
    kinds = ", ".join(f"{tame(name)} {n}" for name, n in exceptions.most_common(4))
    return f"{count}  ({kinds}{', …' if len(exceptions) > 4 else ''})"


def _shown(score: Score) -> str:
    sure = f" \\[{score.interval.low:.3f}, {score.interval.high:.3f}]" if score.interval else ""
    return f"{score.value:.4f}{sure}  on {score.n} problems"


@contextmanager
def bars(generations: int) -> Iterator[Callable[[Step], None]]:
    """Show progress on standard error: a bar, a count, a rate, the time left, and a second bar for retries."""
    from rich.console import Console  # noqa: PLC0415 - see show
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=Console(stderr=True), transient=True, speed_estimate_period=20
    ) as progress:
        first = progress.add_task("programs", total=generations, rate="")
        again = progress.add_task("run again", total=None, visible=False, rate="")

        def tell(step: Step) -> None:
            task = again if step.quiet else first
            progress.update(task, advance=step.generations, total=step.total, visible=True)
            speed = progress.tasks[int(task)].speed
            if speed:
                progress.update(task, rate=f"{speed:.0f}/s")

        yield tell
