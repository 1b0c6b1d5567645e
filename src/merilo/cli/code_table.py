"""Print a score of programs on the terminal, and convert it to JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from merilo.cli import tame
from merilo.metrics.score import Score
from merilo.sandbox.extraction import NOTHING
from merilo.sandbox.job import Step
from merilo.sandbox.results import JobTally, ProblemTally
from merilo.sandbox.verdicts import Ending
from merilo.strict_json import Json

if TYPE_CHECKING:
    from merilo.cli.code_people import Authors


@dataclass(frozen=True, slots=True)
class CodeReport:
    """The result of `merilo code score`.

    Attributes:
        tally: how the generations ended.
        scores: pass@k, each with its interval.
        refused: the k that could not be computed, each with the reason as a sentence.
        warnings: warnings for the user.
        seconds: how long the programs ran, in seconds.
        resumed: how many verdicts were taken from an earlier run.
        authors: the people who wrote the programs; `None` if a model wrote them.
    """

    tally: JobTally
    scores: Sequence[Score]
    refused: Mapping[int, str]
    warnings: Sequence[str]
    seconds: float
    resumed: int
    authors: Authors | None = None

    @property
    def rate(self) -> float:
        """Programs judged per second in this run."""
        judged = max(0, self.tally.programs - self.resumed)
        return judged / self.seconds if self.seconds > 0 else 0.0

    def content(self) -> dict[str, Json]:
        """Return the report as JSON."""
        tally = self.tally
        return {
            "problems": len(tally.problems),
            "generations": tally.generations,
            "programs": tally.programs,
            "repeated": tally.repeated,
            "metrics": {score.name: _figure(score) for score in self.scores},
            "refused": {f"pass@{k}": sentence for k, sentence in self.refused.items()},
            "outcomes": _outcomes(tally.results),
            "exceptions": _counted(tally.exceptions),
            "rules": _counted(tally.rules),
            "retries": {
                "timeouts": tally.retries.timeouts,
                "timeouts_passed": tally.retries.timeouts_passed,
                "failures": tally.retries.failures,
                "failures_passed": tally.retries.failures_passed,
            },
            **({"annotators": self.authors.content()} if self.authors else {}),
            "warnings": list(self.warnings),
            "resumed": self.resumed,
            "seconds": round(self.seconds, 3),
            "per_problem": [self._problem(one) for one in tally.problems],
        }

    def _problem(self, tally: ProblemTally) -> dict[str, Json]:
        return {
            "id": tally.problem.id,
            "generations": tally.generations,
            "passed": tally.passed,
            "outcomes": _outcomes(tally.results),
            "exceptions": _counted(tally.exceptions),
            **{score.name: score.per_item[tally.problem.id] for score in self.scores},
        }


def show(report: CodeReport, *, per_problem: bool) -> None:
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
    for name, value in report.authors.rows() if report.authors else ():
        table.add_row(Text(name), Text(value))
    table.add_row("generations", f"{tally.generations}  of {len(tally.problems)} problems")
    if tally.repeated:
        table.add_row(
            "repeated", f"{tally.repeated}  equal to another of their problem; each counts as a sample"
        )
    table.add_row("programs", f"{tally.programs}  distinct, {_judged(report)}")
    for result, count in tally.results.most_common():
        # Names from programs and files must not be read as markup.
        table.add_row(f"  {result.words}", Text(_with_exceptions(count, result, tally.exceptions)))
    if empty := sum(count for rule, count in tally.rules.items() if rule.endswith(f": {NOTHING}")):
        table.add_row("without code", f"{empty}, of which the stub alone was run")
    retries = tally.retries
    if retries.timeouts:
        table.add_row(
            "time-outs tried again", f"{retries.timeouts}, of which {retries.timeouts_passed} passed"
        )
    if retries.failures:
        table.add_row(
            "failures tried again", f"{retries.failures}, of which {retries.failures_passed} passed"
        )
    console.print(table)
    if per_problem:
        console.print(_problems(report))


def _judged(report: CodeReport) -> str:
    if not report.resumed:
        return f"{report.rate:.0f} judged a second"
    if report.resumed >= report.tally.programs:
        return "all judged before"
    return f"{report.resumed} judged before, the others {report.rate:.0f} a second"


def _problems(report: CodeReport) -> object:
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


def _figure(score: Score) -> dict[str, Json]:
    interval = score.interval
    return {
        "value": score.value,
        "ci95": [interval.low, interval.high] if interval else None,
        "n": score.n,
        "interval": interval.method if interval else None,
    }


def _outcomes(results: Counter[Ending]) -> dict[str, Json]:
    return {result.value: count for result, count in results.most_common()}


def _counted(counter: Counter[str]) -> dict[str, Json]:
    return dict(counter.most_common())


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
        again = progress.add_task("tried again", total=None, visible=False, rate="")

        def tell(step: Step) -> None:
            task = again if step.quiet else first
            progress.update(task, advance=step.generations, total=step.total, visible=True)
            speed = progress.tasks[int(task)].speed
            if speed:
                progress.update(task, rate=f"{speed:.0f}/s")

        yield tell
