"""Print tables of scores on a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text as Plain

from merilo.errors import for_command_line
from merilo.metrics.score import Score
from merilo.metrics.scoring import Scores
from merilo.submissions.evaluation import DatasetResult, SubmissionResult
from merilo.text import Language, Text, joined
from merilo.wording import shortened

#: How many faults are shown per dataset; the JSON holds more.
_SHOWN_FAULTS: Final = 5


def show_scores(title: str, scores: Scores) -> None:
    """Print a dataset's scores."""
    table = Table(title=title, title_justify="left")
    table.add_column("metric", no_wrap=True, overflow="ignore")
    for name in ("value", "95 % interval", "items"):
        table.add_column(name, justify="right")
    table.add_column("interval method", overflow="fold")
    for score in scores.all().values():
        table.add_row(*cells(score), score.interval.method if score.interval else "")
    for name, reason in scores.missing.items():
        table.add_row(name, "—", "—", "—", f"not computed: {for_command_line(reason)}")
    Console().print(table)


def show_result(result: SubmissionResult, language: Language) -> None:
    """Print a submission's result: metrics by dataset, errors, total."""
    console = Console()
    table = Table()
    table.add_column(Text("dataset").in_language(language))
    table.add_column(Text("metric").in_language(language), overflow="fold")
    for head in (Text("value"), Text("95 % interval"), Text("items", context="column")):
        table.add_column(head.in_language(language), justify="right")
    table.add_column(Text("errors").in_language(language), overflow="fold")
    for title, one in result.datasets.items():
        for place, cells in enumerate(_rows(one)):
            table.add_row("" if place else title, *cells, Plain("" if place else _why(one, language)))
    if result.datasets:
        console.print(table)
    for line in _remarks(result):
        # Texts from a submission must not be read as markup.
        console.print(Plain(line.in_language(language)))


def _why(one: DatasetResult, language: Language) -> str:
    """Say why a dataset scored 0: its first error, and how many more there are."""
    count = one.answers.fault_count
    if not one.answers.faults:
        return str(count or "")
    more = Text(" (and more: {n})", n=count - 1).in_language(language) if count > 1 else ""
    return shortened(one.answers.faults[0].line.in_language(language), 100) + more


def _rows(one: DatasetResult) -> Iterable[tuple[str, ...]]:
    for score in (one.scores.main or one.scores.extra).values():
        yield cells(score)
    for name in one.scores.missing:
        yield name, "—", "—", "—"


def cells(score: Score) -> tuple[str, str, str, str]:
    """Return the name, the value, the interval and the number of items of a score."""
    interval = score.interval
    bounds = "—" if interval is None else f"{interval.low:.3f} … {interval.high:.3f}"
    return score.name, f"{score.value:.4f}", bounds, str(score.n)


def _remarks(result: SubmissionResult) -> Iterable[Text]:
    yield from (fault.line for fault in result.faults)
    for title, one in result.datasets.items():
        answers = one.answers
        for reason in dict.fromkeys(one.scores.missing.values()):
            metrics = [name for name, why in one.scores.missing.items() if why == reason]
            yield Text(
                "{dataset}: not computed: {metrics} ({reason})",
                dataset=title,
                metrics=metrics,
                reason=for_command_line(reason),
            )
        for fault in answers.faults[:_SHOWN_FAULTS]:
            yield joined([f"{title}:", fault.line])
        if (more := answers.fault_count - _SHOWN_FAULTS) > 0:
            yield Text("{dataset}: and more: {n}", dataset=title, n=more)
        if answers.unknown:
            yield Text("{dataset}: answers to unknown items: {n}", dataset=title, n=answers.unknown)
    if result.ignored:
        names = [name if name.isprintable() else ascii(name)[1:-1] for name in result.ignored]
        yield Text("Files of unknown datasets, not read: {names}", names=names)
    if result.without_gold:
        yield Text("No gold answers, not scored: {names}", names=joined(result.without_gold, ", "))
    if result.total is not None:
        yield Text("Total score (datasets: {n}): {total:.4f}", n=len(result.counted), total=result.total)
    if result.ready_for_public and not result.counted:
        yield Text("Readiness for the public table was not judged: no dataset of the total score was scored.")
    elif not result.ready_for_public:
        yield Text("Not ready for the public table.")
    elif result.without_gold:
        # Only the owner of the closed tests can determine this for the whole benchmark.
        yield Text("Ready for the public table (judged by the datasets that could be scored).")
    else:
        yield Text("Ready for the public table.")
