"""Print a run on a terminal: its table, its plan, and the explanation of an item."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.table import Table
from rich.text import Text

from merilo.cli import tame
from merilo.cli.score_table import cells
from merilo.errors import for_command_line
from merilo.metrics.score import Score
from merilo.models.asking import Request
from merilo.models.runner import Progress
from merilo.runs.model_run import RunPlan, rendered
from merilo.runs.run_explanation import ItemExplanation
from merilo.runs.run_scores import DatasetRun, RunResult

#: Extra metrics shown for a dataset without main ones; the JSON holds all.
_SHOWN_EXTRA: Final = 15


def show_run(result: RunResult) -> None:
    """Print a table of all datasets with metrics and outcomes."""
    table = Table(title=Text(tame(result.model)), title_justify="left")
    table.add_column("dataset")
    table.add_column("metric", overflow="fold")
    for name in ("value", "95 % interval over items", "items"):
        table.add_column(name, justify="right")
    table.add_column("outcomes", overflow="fold")
    for one in result.datasets.values():
        _add(table, one)
    console = Console()
    console.print(table)
    for one in result.datasets.values():
        missing = {} if one.scores is None else one.scores.missing
        for reason in dict.fromkeys(missing.values()):
            names = ", ".join(name for name, why in missing.items() if why == reason)
            console.print(Text(f"{one.declared.title}: not computed: {names} ({for_command_line(reason)})"))
        if one.contamination is not None:
            console.print(Text(_contamination(one)))


def _add(table: Table, one: DatasetRun) -> None:
    scores: list[Score] = []
    if one.scores is not None:
        scores = list((one.scores.main or one.scores.extra).values())[:_SHOWN_EXTRA]
    outcomes = str(one.outcomes) or "all answered"
    if one.refused:
        outcomes += f", {one.refused} with media left out"
    rows = [cells(score) for score in scores]
    if one.scores is not None:
        rows += [(name, "—", "—", "—") for name in one.scores.missing]
    if not rows:
        rows = [("—", "—", "—", str(len(one.record.hashes)))]
        outcomes += f"; {for_command_line(one.reason)}" if one.reason else ""
    for place, row in enumerate(rows):
        table.add_row("" if place else one.declared.title, *row, "" if place else outcomes)


def _contamination(one: DatasetRun) -> str:
    found = one.contamination
    if found is None or not found.overlaps:
        return f"{one.declared.title}: no text is long enough for the contamination check"
    longest = max(overlap.run for overlap in found.overlaps)
    told = (
        f"{one.declared.title}: contamination check on {len(found.overlaps)} items: "
        f"{found.mean_share:.1%} of the hidden words repeated on "
        f"average, longest run {longest} words, {len(found.repeated)} items with at least half repeated"
    )
    if found.repeated:
        told += ": " + ", ".join(overlap.item for overlap in found.repeated[:5])
    return told


def show_plan(plan: RunPlan, wanted: Sequence[str]) -> None:
    """Print a plan: a rendered request of each dataset, and the estimates.

    Args:
        plan: the plan.
        wanted: ids of items whose requests are shown; by default, the first item of each dataset.
    """
    for one in plan.datasets.values():
        shown = [request for request in one.requests if str(request.item) in wanted] or list(one.requests[:1])
        for request in shown if wanted or one.requests else ():
            typer.echo(f"=== {one.title}, item {request.item} ===")
            typer.echo(_prompt(request))
    table = Table(title=Text(tame(plan.model)), title_justify="left")
    table.add_column("dataset")
    for name in ("items", "requests", "prompt tokens", "answer tokens", "USD"):
        table.add_column(name, justify="right")
    for one in plan.datasets.values():
        cost = "—" if one.usd is None else f"{one.usd:.4f}"
        table.add_row(
            one.title,
            str(one.items),
            str(one.count),
            f"~{one.prompt_tokens}",
            f"≤{one.completion_tokens}",
            cost,
        )
    Console().print(table)


def _prompt(request: Request) -> str:
    content = rendered(request)
    lines: list[str] = []
    if request.messages:
        lines += [f"[{one.role}]\n{one.text}" for one in request.messages]
    else:
        lines.append(request.prompt)
    if request.choices:
        lines.append(f"[choices] {list(request.choices)}")
    else:
        told = ", ".join(
            f"{name} {content[name]!r}"
            for name in ("max_tokens", "temperature", "top_p", "stop")
            if content[name] is not None
        )
        lines.append(f"[parameters] {told}")
    return "\n".join(map(_lines_tamed, lines))


def show_explanation(one: ItemExplanation) -> None:
    """Print how the answers to an item were asked, found and scored."""
    for sample in one.samples:
        number = f", sample {sample.sample}" if len(one.samples) > 1 else ""
        typer.echo(f"=== {one.title}, item {one.item}{number} ===")
        if sample.request is not None:
            typer.echo(_prompt(sample.request))
        if sample.reply.thought:
            typer.echo(f"[thought]\n{_lines_tamed(sample.reply.thought)}")
        typer.echo(f"[reply] ({sample.reply.finish})\n{_lines_tamed(sample.reply.text)}")
        if sample.reply.loglikelihoods:
            typer.echo(
                f"[log-likelihoods] {', '.join(f'{value:.4f}' for value in sample.reply.loglikelihoods)}"
            )
        if sample.reply.error:
            typer.echo(f"[error] {tame(sample.reply.error)}")
        found = sample.extracted
        typer.echo(
            f"[{found.outcome}] "
            f"{_lines_tamed(str(found.answer if found.answer is not None else '—'))} (rule: "
            f"{found.rule})"
        )
        for judgement in sample.judgements:
            typer.echo(f"[{judgement.metric}] {judgement.points:g} of {judgement.most:g}")
            for step in judgement.steps:
                typer.echo(f"  - {tame(step)}")
        if sample.reason:
            typer.echo(f"[not scored] {for_command_line(sample.reason)}")


def _lines_tamed(text: str) -> str:
    """Remove control characters from every line of a text of the model or the data."""
    return "\n".join(map(tame, text.split("\n")))


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
