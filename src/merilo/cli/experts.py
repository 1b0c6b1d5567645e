"""`merilo experts`: sample questions, plan a study, and compare experts with people without training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from merilo.cli.options import ForceOption, JsonOption, input_files, read_exports, takes_settings
from merilo.cli.output import check_places, deliver, number, say, show, show_table, working
from merilo.settings import ExpertSettings, InputSettings, Settings
from merilo.text import Text

if TYPE_CHECKING:
    from merilo.people.question_sampling import ExpertPlan, Sample

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Expert tests: sample questions, plan the hours, and compare experts with people without training.",
)


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
    force: ForceOption = False,
    json_to: JsonOption = None,
) -> int:
    """Sample questions for experts: the same number per domain, evenly over subdomains and difficulty."""
    from merilo.items import Split, read_split, write_splits  # noqa: PLC0415 - slow
    from merilo.people.question_sampling import sample_questions  # noqa: PLC0415

    check_places([file], json_to, out, force=force)
    fields = even_over or []
    drawn = sample_questions(read_split(file).items, questions, domain=domain, fields=fields, seed=seed)
    write_splits(out, [Split("test", drawn.items)])
    for name, there in drawn.short.items():
        say(
            Text("domain '{domain}' has only {n} of {of} questions", domain=name, n=there, of=questions)
            if name
            else Text("there {n:is only # question|are only # questions}", n=there)
        )
    deliver(
        json_to,
        lambda: {
            "questions": len(drawn.items),
            "short": dict(drawn.short),
            "strata": [asdict(stratum) | {"values": list(stratum.values)} for stratum in drawn.strata],
            "seed": seed,
        },
        partial(_show_sample, drawn, domain, fields, out),
    )
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
    an_hour: Annotated[float, typer.Option(help="Questions answered per hour.")] = 30.0,
    rate: Annotated[float | None, typer.Option(help="Pay per hour, in US dollars.")] = None,
    json_to: JsonOption = None,
) -> int:
    """Plan one domain: hours, pay, and how many answers an item keeps."""
    from merilo.people.question_sampling import plan  # noqa: PLC0415 - slow

    made = plan(questions, experts, own=own, questions_an_hour=an_hour, usd_an_hour=rate)
    deliver(json_to, lambda: asdict(made), partial(_show_plan, made, an_hour, equal_shares=own is None))
    return 0


@app.command("baseline")
@takes_settings(
    *("platform", "dataset", "gold", "gold_column", "reading", "answer", "item", "annotator", "population"),
    "strata",
    of=InputSettings,
    into="given",
)
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
    given: InputSettings,
    settings: Settings,
    out: Annotated[
        Path | None,
        typer.Option(
            help="A new folder for experts.json and, under the out-of-bag protocol, items.csv with every question."
        ),
    ] = None,
    force: ForceOption = False,
    json_to: JsonOption = None,
) -> int:
    """Make the experts' baseline, and compare it with the baseline of people without training."""
    from merilo.baselines.expert_baseline import expert_baseline  # noqa: PLC0415 - slow
    from merilo.baselines.experts import told  # noqa: PLC0415

    check_places(input_files([*files, *(people or ())], given), json_to, out, force=force)
    responses = read_exports(files, given)
    with working(Text("Making the experts' baseline")):
        result = expert_baseline(
            responses,
            people=read_exports(people, given) if people else None,
            test=test,
            dataset=given.dataset,
            gold=given.gold,
            gold_column=given.gold_column,
            settings=settings,
            population=given.population,
            strata=given.fields_of_strata,
        )
    if result.outside:
        say(Text("answers outside the labels, counted as votes: {answers}", answers=told(result.outside)))
    summary = result.save(out, force=force) if out else result.to_dict()
    deliver(json_to, lambda: summary, partial(show_baselines, summary, out))
    return 0


def _show_sample(sample: Sample, domain: str | None, fields: Sequence[str], out: Path) -> None:
    """Print the sample, one row per stratum."""
    heads = [domain or Text("domain"), *fields]
    show_table(
        [(*stratum.values, stratum.available, stratum.taken) for stratum in sample.strata],
        [*heads, Text("available"), Text("drawn")],
        title=Text("{n:# question|# questions}", n=len(sample.items)),
        left=range(len(heads)),
    )
    show(Text("The questions: {file}", file=out))


def _show_plan(plan: ExpertPlan, speed: float, *, equal_shares: bool) -> None:
    """Print an expert study's plan and what it assumes."""
    rows: list[tuple[Text, object]] = [
        (Text("questions"), plan.questions),
        (Text("experts", context="row"), plan.experts),
        (Text("answers per expert"), number(plan.answered, ".1f")),
        (Text("hours per expert"), number(plan.hours, ".1f")),
        (Text("hours of all experts"), number(plan.total_hours, ".1f")),
        (Text("answers kept per item, on average"), number(plan.answers_an_item, ".1f")),
    ]
    if plan.usd is not None:
        rows.append((Text("pay, USD"), number(plan.usd, ".2f")))
    show_table(rows)
    show(
        Text(
            "Assumed: {speed:g} questions an hour ({minutes:.3g} minutes each); each expert wrote {share}{own:g} of "
            "the {questions} questions, reads them too, and skips them. If own questions are not shown, an expert "
            "works {hours:.1f} hours.",
            speed=speed,
            minutes=60 / speed,
            share=Text("an equal share, ") if equal_shares else "",
            own=plan.own,
            questions=plan.questions,
            hours=plan.hours_without_own,
        )
    )


def show_baselines(summary: Mapping[str, Any], out: Path | None) -> None:
    """Print both baselines side by side, and the undecided items."""
    experts, people, comparison = summary["experts"], summary["people"], summary["comparison"]
    rows = [
        *_rows(Text("experts", context="row"), experts),
        *_rows(Text("people without training"), people or {}),
    ]
    if rows:
        show_table(
            rows,
            [
                *("", Text("estimate, 95 % interval over items and annotators")),
                *(Text("items", context="column"), Text("decided")),
            ],
            title=Text("Experts and people without training"),
            left=(0, 1),
        )
    elif missing := experts.get("missing_metrics"):
        show("; ".join(f"{name}: {why}" for name, why in missing.items()))
    else:
        show(Text("No gold answers, so no score: add --gold FILE."))
    if isinstance(experts.get("answers"), dict):
        show(*_bag(experts))
    if comparison:
        show(
            Text(
                "On the {n:# item|# items} that both answered: experts {experts:.3f}, people {people:.3f}; {test}, "
                "p = {p:.3g}.",
                **comparison,
            )
        )
    if out:
        show(Text("The files: {folder}", folder=out))


def _rows(name: Text, side: Mapping[str, Any]) -> Iterator[tuple[object, ...]]:
    items = side.get("items")  # the number of items under the basic protocol
    share = items.get("decided_share") if isinstance(items, dict) else None
    for metric, score in side.get("metrics", {}).items():
        decided = "" if share is None else number(share, ".1%")
        yield f"{name}, {metric}", _figure(score), score["n"], decided
    for domain, score in side.get("by_domain", {}).items():
        if domain:
            yield f"  {domain}", _figure(score), score["n"], ""
    for metric, score in (side.get("whole_dataset") or {}).get("metrics", {}).items():
        if score.get("value") is not None:
            whole = Text("  {metric}, whole dataset", metric=metric)
            yield whole, _figure(score), Text("of {n}", n=score["items"]), ""


def _bag(experts: Mapping[str, Any]) -> Iterator[Text]:
    items, kept = experts["items"], experts["items"]["fallback"] or {}
    yield Text(
        "Answers: {counted} counted, {may_be_mine} marked as 'may be mine', {late} late, {missing} missing.",
        **experts["answers"],
    )
    if mine := experts["taken_as_mine"]:
        spelt = "; ".join(f"'{text}' ({n})" for text, n in mine.items())
        yield Text("Counted as 'may be mine': {answers}", answers=spelt)
    yield Text("Decided by the rule: {decided} of {total} items.", **items)
    for named, text in (
        (items["too_few"], Text("too few answers left for the rule")),
        (items["no_majority"], Text("no majority")),
        (kept.get("votes"), Text("decided by the most votes")),
        (kept.get("late"), Text("decided with late answers")),
        (kept.get("skill"), Text("decided by the experts' skill")),
        (items["counted_as_wrong"], Text("not decided, counted as wrong")),
    ):
        if named:
            yield Text(
                "{what}: {n:item|items} {names}", what=text, n=len(named), names=", ".join(map(str, named))
            )
    alone = experts["decided_by_rule"]
    if alone and items["decided"] != items["total"]:
        yield Text(
            "On the items that the rule decided: {value:.3f} ({n}).", value=alone["value"], n=alone["n"]
        )


def _figure(score: dict[str, Any]) -> str:
    from merilo.baselines.baseline import MetricRecord  # noqa: PLC0415 - slow
    from merilo.reports.estimates import OVER_ITEMS_ALONE  # noqa: PLC0415

    one = MetricRecord.of_json(score)
    if one.interval is None or one.value is None:
        return number(one.value, ".3f")
    alone = "" if one.over_both else f" {OVER_ITEMS_ALONE}"
    low, high = (number(end, ".3f") for end in one.interval)
    return f"{number(one.value, '.3f')} [{low}, {high}]{alone}"
