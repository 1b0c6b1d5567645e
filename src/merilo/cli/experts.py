"""`merilo experts`: sample questions, plan a study, and compare experts with people without training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from merilo.atomic_write import refuse_existing
from merilo.baselines.expert_baseline import expert_baseline
from merilo.baselines.experts import told
from merilo.baselines.record import MetricRecord
from merilo.cli.output import OutFolder, emit_json, reading, refuse_json, say, working
from merilo.cli.procedure_options import takes_settings
from merilo.cli.study_options import PopulationOption, RecodeOption, StrataOption, fields_of_strata
from merilo.errors import for_command_line
from merilo.files import Progress
from merilo.items import Split, read_split, write_splits
from merilo.people.experts.sampling import QUESTIONS_AN_HOUR, ExpertPlan, Sample, plan, sample_questions
from merilo.people.platforms import Platform
from merilo.people.reading import StudyResponses, read_responses
from merilo.people.recoding import recoding_files
from merilo.settings import ExpertSettings, Settings
from merilo.strict_json import Json

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Expert tests: sample questions, plan the hours, and compare experts with people without training.",
)

JsonOption = Annotated[
    str | None,
    typer.Option(
        "--json", metavar="FILE|-", help="Write the result as one JSON object; - is standard output."
    ),
]


@app.command()
def sample(
    file: Annotated[Path, typer.Argument(help="The dataset's items: JSON, JSONL or Parquet.")],
    *,
    out: Annotated[Path, typer.Option(help="The file for the questions; its extension gives the format.")],
    questions: Annotated[int, typer.Option("-n", "--questions", help="How many questions per domain.")] = 100,
    domain: Annotated[
        str | None,
        typer.Option(help="The field that holds the domain, in meta or inputs. Default: one domain."),
    ] = None,
    even_over: Annotated[
        list[str] | None,
        typer.Option(
            help="Sample evenly over this field; may be given several times, the coarsest field first: "
            "subdomain, difficulty."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The random seed of the sample.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing --out.")] = False,
    json_to: JsonOption = None,
) -> int:
    """Sample questions for experts: the same number per domain, evenly over subdomains and difficulty."""
    refuse_existing(out, force=force, needed=[file])
    refuse_json(json_to, [file])
    split = read_split(file)
    drawn = sample_questions(split.items, questions, domain=domain, fields=even_over or (), seed=seed)
    write_splits(out, [Split("test", drawn.items)])
    for name, there in drawn.short.items():
        say(
            f"domain '{name}' has only {there} of {questions} questions"
            if name
            else f"there {'is only 1 question' if there == 1 else f'are only {there} questions'}"
        )
    if json_to:
        emit_json(
            {
                "questions": len(drawn.items),
                "short": dict(drawn.short),
                "strata": [asdict(stratum) | {"values": list(stratum.values)} for stratum in drawn.strata],
                "seed": seed,
            },
            json_to,
        )
    if json_to != "-":
        show_sample(drawn, domain, even_over or [], out)
    return 0


@app.command("plan")
def plan_(
    *,
    questions: Annotated[int, typer.Option("-n", "--questions", help="How many questions per domain.")] = 100,
    experts: Annotated[int, typer.Option(help="How many experts per domain.")] = 5,
    own: Annotated[
        float | None,
        typer.Option(help="How many of the questions an expert wrote, on average. Default: an equal share."),
    ] = None,
    an_hour: Annotated[float, typer.Option(help="Questions answered per hour.")] = QUESTIONS_AN_HOUR,
    rate: Annotated[float | None, typer.Option(help="Pay per hour, in US dollars.")] = None,
    json_to: JsonOption = None,
) -> int:
    """Plan one domain: hours, pay, and how many answers an item keeps."""
    made = plan(questions, experts, own=own, questions_an_hour=an_hour, usd_an_hour=rate)
    if json_to:
        emit_json({name: value for name, value in asdict(made).items()}, json_to)  # noqa: C416 - the copy has the type
    if json_to != "-":
        show_plan(made, an_hour, equal_shares=own is None)
    return 0


@app.command("baseline")
@takes_settings("repeats", "min_control_accuracy", "cluster")
@takes_settings(of=ExpertSettings, into="test")
def baseline_(
    files: Annotated[list[Path], typer.Argument(help="The experts' exports.")],
    *,
    people: Annotated[
        list[Path] | None,
        typer.Option(
            help="Exports of people without training on the same questions; may be given several times."
        ),
    ] = None,
    test: ExpertSettings,
    dataset_name: Annotated[str | None, typer.Option("--dataset", help="The dataset's name.")] = None,
    gold: Annotated[
        Path | None, typer.Option(help="Gold answers: CSV, TSV, JSON or JSONL, joined on the inputs.")
    ] = None,
    gold_column: Annotated[
        str | None, typer.Option(help="The column of gold answers, if it cannot be recognised by its name.")
    ] = None,
    platform: Annotated[
        Platform | None,
        typer.Option(help="The platform that wrote the files. Default: recognised by the header."),
    ] = None,
    answer: Annotated[str | None, typer.Option(help="The column of answers, if there are several.")] = None,
    recode: RecodeOption = None,
    item: Annotated[
        list[str] | None,
        typer.Option(help="A column that identifies an item (plain tables); may be given several times."),
    ] = None,
    annotator: Annotated[
        str | None, typer.Option(help="The column of annotators' ids (plain tables).")
    ] = None,
    seconds: Annotated[
        str | None, typer.Option(help="The column of durations of a page, in seconds (plain tables).")
    ] = None,
    page: Annotated[
        str | None,
        typer.Option(help="The column of pages, whose items were answered together (plain tables)."),
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="The files' encoding, if it is not UTF-8 and has no byte-order mark.")
    ] = None,
    settings: Settings,
    population: PopulationOption = None,
    strata: StrataOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="A new folder for experts.json and, under the out-of-bag protocol, items.csv with every question."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing --out.")] = False,
    json_to: JsonOption = None,
) -> int:
    """Make the experts' baseline, and compare it with the baseline of people without training."""
    inputs = [
        *files,
        *(people or ()),
        *([gold] if gold else []),
        *([population] if population else []),
        *recoding_files(recode or ()),
    ]
    folder = OutFolder.checked(out, force=force, needed=inputs)
    refuse_json(json_to, inputs)

    def read(exports: list[Path], progress: Progress | None = None) -> StudyResponses:
        return read_responses(
            exports, platform=platform, dataset=dataset_name, item=item, annotator=annotator, answer=answer, page=page,
            seconds=seconds, encoding=encoding, progress=progress,
        )  # fmt: skip

    with reading(files) as progress:
        responses = read(files, progress)
    with working("Making the experts' baseline"):
        result = expert_baseline(
            responses,
            people=read(people) if people else None,
            test=test,
            dataset=dataset_name,
            gold=gold,
            gold_column=gold_column,
            recode=recode or (),
            settings=settings,
            population=population,
            strata=fields_of_strata(strata),
        )
    if result.outside:
        say(f"answers outside the labels, counted as votes: {told(result.outside)}")
    summary = result.save(folder.path, force=folder.force) if folder else result.to_dict()
    if json_to:
        emit_json(summary, json_to)
    if json_to != "-":
        show_baselines(summary, out)
    return 0


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
    wrote = (
        f"each expert wrote {'an equal share, ' if equal_shares else ''}{plan.own:g} of the "
        f"{plan.questions} questions"
    )
    console.print(
        f"Assumed: {speed:g} questions an hour ({60 / speed:.3g} minutes each); {wrote}, reads "
        "them too, and skips them. If own "
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
    return "On the 1 item that both answered" if n == 1 else f"On the {n} items that both answered"


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
