"""Print expert studies on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from merilo.baselines.record import MetricRecord
from merilo.errors import for_command_line
from merilo.people.experts.sampling import ExpertPlan, Sample
from merilo.strict_json import Json


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def show_sample(sample: Sample, domain: str | None, fields: Sequence[str], out: Path) -> None:
    """Print the sample, one row per stratum."""
    console = Console(highlight=False)
    table = Table(title=_count(len(sample.items), "question"), title_justify="left", title_style="bold")
    for name in (domain or "domain", *fields):
        table.add_column(escape(name))
    table.add_column("available", justify="right")
    table.add_column("drawn", justify="right")
    for stratum in sample.strata:
        table.add_row(*map(escape, stratum.values), str(stratum.available), str(stratum.taken))
    console.print(table)
    console.print(f"The questions: {out}", soft_wrap=True, markup=False)


def show_plan(plan: ExpertPlan, speed: float, *, equal_shares: bool) -> None:
    """Print an expert study's plan and what it assumes."""
    table = Table(show_header=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_row("questions", str(plan.questions))
    table.add_row("experts", str(plan.experts))
    table.add_row("answers per expert", f"{plan.answered:.1f}")
    table.add_row("hours per expert", f"{plan.hours:.1f}")
    table.add_row("hours of all experts", f"{plan.total_hours:.1f}")
    table.add_row("answers kept per item, on average", f"{plan.answers_an_item:.1f}")
    if plan.usd is not None:
        table.add_row("pay, USD", f"{plan.usd:.2f}")
    console = Console(highlight=False)
    console.print(table)
    wrote = f"each expert wrote {'an equal share, ' if equal_shares else ''}{plan.own:g} of the {plan.questions} questions"
    console.print(
        f"Assumed: {speed:g} questions an hour ({60 / speed:.3g} minutes each); {wrote}, reads them too, and skips them. If own "
        f"questions are not shown, an expert works {plan.hours_without_own:.1f} hours.",
        soft_wrap=True,
    )


def show_baselines(summary: dict[str, Json], out: Path | None) -> None:
    """Print both baselines side by side, and the undecided items."""
    console = Console(highlight=False)
    table = Table(title="Experts and people without training", title_justify="left", title_style="bold")
    table.add_column("")
    table.add_column("estimate, 95 % interval over items and annotators")
    table.add_column("items", justify="right")
    table.add_column("decided", justify="right")
    experts, people = summary["experts"], summary["people"]
    for name, side in (("experts", experts), ("people without training", people)):
        for metric, score in _scores(side, "metrics"):
            table.add_row(f"{name}, {escape(metric)}", _figure(score), str(score["n"]), _decided(side))
        for domain, score in _scores(side, "by_domain"):
            if domain:
                table.add_row(f"  {escape(domain)}", _figure(score), str(score["n"]))
        for metric, score in _on_dataset(side):
            table.add_row(f"  {escape(metric)}, whole dataset", _figure(score), f"of {score['items']}")
    if table.row_count:
        console.print(table)
    elif missing := _missing(experts):
        console.print(missing, markup=False)
    else:
        console.print("No gold answers, so no score: add --gold FILE.")
    if isinstance(experts, dict) and isinstance(experts.get("answers"), dict):
        _print_bag(console, experts)
    comparison = summary["comparison"]
    if isinstance(comparison, dict):
        console.print(
            f"{_both(comparison['n'])}: experts {comparison['experts']:.3f}, people "
            f"{comparison['people']:.3f}; {comparison['test']}, p = {comparison['p']:.3g}."
        )
    if out:
        console.print(f"The files: {out}", soft_wrap=True, markup=False)


def _both(n: Json) -> str:
    return "On the 1 item that both decided" if n == 1 else f"On the {n} items that both decided"


def _print_bag(console: Console, experts: dict[str, Json]) -> None:
    answers, items = experts["answers"], experts["items"]
    if not isinstance(answers, dict) or not isinstance(items, dict):
        return
    console.print(
        f"Answers: {answers['counted']} counted, {answers['may_be_mine']} marked as 'may be mine', "
        f"{answers['late']} late, {answers['missing']} missing."
    )
    if isinstance(mine := experts["taken_as_mine"], dict) and mine:
        spelt = "; ".join(f"'{text}' ({n})" for text, n in mine.items())
        console.print(f"Counted as 'may be mine': {spelt}", soft_wrap=True, markup=False)
    console.print(f"Decided by the rule: {items['decided']} of {items['total']} items.")
    kept = items["fallback"] if isinstance(items["fallback"], dict) else {}
    for named, text in (
        (items["too_few"], "too few answers left for the rule"),
        (items["no_majority"], "no majority"),
        (kept.get("votes"), "decided by the most votes"),
        (kept.get("late"), "decided with late answers"),
        (kept.get("skill"), "decided by the experts' skill"),
        (items["counted_as_wrong"], "not decided, counted as wrong"),
    ):
        if isinstance(named, list) and named:
            console.print(
                f"{text}: {'item' if len(named) == 1 else 'items'} {', '.join(map(str, named))}",
                soft_wrap=True,
                markup=False,
            )
    alone = experts["decided_by_rule"]
    if isinstance(alone, dict) and items["decided"] != items["total"]:
        console.print(f"On the items that the rule decided: {alone['value']:.3f} ({alone['n']}).")


def _decided(side: Json) -> str:
    """The share of items that the experts' rule decided."""
    items = side.get("items") if isinstance(side, dict) else None
    share = items.get("decided_share") if isinstance(items, dict) else None
    return f"{share:.1%}" if isinstance(share, float) else ""


def _missing(side: Json) -> str:
    found = side.get("missing_metrics") if isinstance(side, dict) else None
    return (
        for_command_line("; ".join(f"{name}: {why}" for name, why in found.items()))
        if isinstance(found, dict)
        else ""
    )


def _scores(side: Json, what: str) -> list[tuple[str, dict[str, Json]]]:
    found = side.get(what) if isinstance(side, dict) else None
    if not isinstance(found, dict):
        return []
    return [(name, score) for name, score in found.items() if isinstance(score, dict)]


def _on_dataset(side: Json) -> list[tuple[str, dict[str, Json]]]:
    """Return the metrics on the whole dataset, if the questions are a sample of it."""
    whole = side.get("whole_dataset") if isinstance(side, dict) else None
    return [one for one in _scores(whole, "metrics") if one[1].get("value") is not None]


def _figure(score: dict[str, Json]) -> str:
    one = MetricRecord.of_json(score)
    if one.value is None:
        return "—"
    low, high = one.interval or (None, None)
    alone = "" if one.over_both else " over items alone"
    return f"{one.value:.3f}" + ("" if low is None else f" \\[{low:.3f}, {high:.3f}]{alone}")
