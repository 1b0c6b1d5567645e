"""`merilo scale`: people and models on one scale."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from merilo.cli.options import JsonOption
from merilo.cli.output import check_places, deliver, interval, number, say, show, show_table, working
from merilo.text import Text
from merilo.wording import listed

if TYPE_CHECKING:
    from merilo.baselines.ability_scale import AbilityScale
    from merilo.statistics.intervals import Interval

app = typer.Typer(add_completion=False)


@app.command()
def people_and_models(
    baseline: Annotated[
        Path, typer.Argument(help="The human baseline: a folder written by 'merilo baseline --out'.")
    ],
    responses: Annotated[
        list[Path] | None,
        typer.Argument(help="The models' answers, one file per model, as 'merilo compare' reads them."),
    ] = None,
    *,
    model: Annotated[
        Literal["rasch", "2pl"],
        typer.Option(
            help="The item-response model: equal discrimination of all items (rasch), or not (2pl)."
        ),
    ] = "rasch",
    data: Annotated[
        Path | None,
        typer.Option(help="The items with ids and gold answers, if the baseline was made without them."),
    ] = None,
    chart: Annotated[
        Path | None, typer.Option(help="Draw people, models and items on one axis: an SVG file.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing chart.")] = False,
    json_to: JsonOption = None,
) -> int:
    """Put people, models and items on one scale: an item-response model of the people's answers."""
    from merilo.atomic_write import write_text  # noqa: PLC0415 - the help needs no Polars
    from merilo.reports.ability_scale import item_response  # noqa: PLC0415 - slow

    files = responses or []
    check_places([baseline / "baseline.json", *files, data], json_to, chart, force=force)
    with working(Text("Fitting the item-response model")):
        result = item_response(baseline, files, model=model, data=data)
    if chart:
        write_text(chart, result.chart())
    deliver(json_to, result.to_dict, partial(_show, result.scale))
    for warning in result.warnings:
        say(warning)
    return 0


_NAMES = {"rasch": Text("Rasch model"), "2pl": Text("two-parameter model")}


def _show(scale: AbilityScale) -> None:
    """Print the scale on standard output."""
    people = scale.people
    rows: list[tuple[object, ...]] = [
        (
            Text("median person"),
            _ability(people.median, people.median_interval),
            number(0.5, ".0%"),
            number(people.median_score, ".3f"),
        )
    ]
    if scale.ranked:
        rows.append(
            (
                Text("best tenth, from"),
                _ability(people.best_tenth, people.best_tenth_interval),
                number(0.9, ".0%"),
                number(people.best_tenth_score, ".3f"),
            )
        )
    for one in scale.models:
        found = one.location
        below = f"{number(found.below, '.0%')}{interval(found.below_interval, '.0%')}"
        rows.append(
            (
                one.model,
                _ability(found.ability, found.interval),
                below if scale.ranked else "-",
                number(found.expected_score, ".3f"),
            )
        )
    show_table(
        rows,
        ["", Text("ability"), Text("people below"), Text("score", context="column")],
        title=Text("People and models on one scale ({model})", model=_NAMES[scale.fit.model]),
    )
    show(*_lines(scale), wrap=True)


def _lines(scale: AbilityScale) -> Iterator[Text]:
    from merilo.reports.ability_scale import misfits, separating  # noqa: PLC0415 - slow

    told, asked, names = scale.information, scale.fit.answers > 0, scale.baseline.names
    yield Text(
        "{n:# annotator|# annotators}, spread of ability {spread:.2f} logits; score: the expected share of correct "
        "answers to all items",
        n=len(scale.baseline.annotators),
        spread=scale.people.spread,
    )
    yield Text(
        "{n:# item|# items}: {easy:.0%} too easy and {hard:.0%} too hard to tell people apart",
        n=int(asked.sum()),
        easy=float(told.too_easy[asked].mean()),
        hard=float(told.too_hard[asked].mean()),
    )
    if scale.why_no_ranks:
        yield scale.why_no_ranks
    if odd := misfits(scale):
        yield Text(
            "answers to {n:# item|# items} depend on ability less than the model says: {names}",
            n=len(odd),
            names=listed([names[place][:40] for place in odd], 5),
        )
    for one in scale.models:
        worse, better = separating(scale, one)
        for rows, verb in ((worse, "fails"), (better, "solves")):
            if rows:
                yield Text(
                    "{model} {verb:fails=fails|solves} {n:# item|# items} unlike people of its ability: {names}",
                    model=one.model,
                    verb=verb,
                    n=len(rows),
                    names=listed([names[one.places[row]][:40] for row in rows], 5),
                )


def _ability(ability: float, sure: Interval) -> str:
    return f"{number(ability, '+.2f')}{interval(sure, '+.2f')}"
