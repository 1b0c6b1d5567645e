"""`merilo judge`: a model that judges texts in place of people."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from merilo.cli.options import JsonOption, takes_settings
from merilo.cli.output import check_places, deliver, interval, number, say, show, show_table, working
from merilo.settings import INPUT, JudgeSettings
from merilo.text import Text

if TYPE_CHECKING:
    from merilo.baselines.judging import JudgedScore, Judging
    from merilo.people.uncertainty.prediction_powered import CorrectedMean

app = typer.Typer(add_completion=False)


@app.command()
@takes_settings(of=JudgeSettings)
def judge(
    baseline: Annotated[
        Path,
        typer.Argument(
            help="The baseline of people's judgements: a folder written by 'merilo baseline --out'."
        ),
    ],
    *,
    model: Annotated[
        Path,
        typer.Option(
            "--judge",
            metavar="RUN",
            help="The judge over all texts: a run, or a file of answers (id, answer, sample).",
            rich_help_panel=INPUT,
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            help="The texts with ids and fields, if the judge's answers are a file, or the texts of a run were moved.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    settings: JudgeSettings,
    json_to: JsonOption = None,
) -> int:
    """Test whether a model may judge texts in place of people, and correct its scores by people's.

    Exit status 1: the judge is refused.
    """
    from merilo.reports.judging import judge as test_judge  # noqa: PLC0415 - slow

    check_places([baseline / "baseline.json", model, data], json_to)
    with working(Text("Testing the judge")):
        result = test_judge(baseline, model, data=data, settings=settings)
    found = result.details
    deliver(json_to, result.to_dict, partial(_show, found))
    for note in found.notes:
        say(note)
    for reason in found.reasons:
        say(Text("{judge} is refused: {reason}", judge=found.model, reason=reason))
    return 0 if found.accepted else 1


def _show(found: Judging) -> None:
    """Print the test and the scores on standard output."""
    test = found.test
    rows = [
        (
            found.crowd.annotators[one.annotator],
            str(one.texts),
            number(one.judge, ".3f"),
            number(one.person, ".3f"),
            number(one.p, ".2g"),
            Text("yes") if one.won else Text("no"),
        )
        for one in test.tested
    ]
    heads = [
        Text("annotator"),
        Text("texts"),
        Text("judge as close"),
        Text("annotator as close"),
        "p",
        Text("won"),
    ]
    show_table(rows, heads, title=Text("{judge} in place of each annotator", judge=found.model))
    if test.tested:
        show(
            Text(
                "Winning rate {rate:.2f} (at least 0.50 passes); average advantage probability "
                "{advantage:.3f}{interval}",
                rate=test.winning_rate,
                advantage=test.advantage,
                interval=interval(test.interval),
            ),
            wrap=True,
        )
    heads = [
        Text("texts"),
        Text("corrected"),
        Text("people alone"),
        Text("judge alone"),
        Text("judge minus people"),
        Text("judged by people"),
    ]
    show_table(
        [
            (
                _name(one),
                _estimate(one.corrected),
                _estimate(one.people),
                number(one.judge, ".3f"),
                _estimate(one.bias, "+.3f"),
                Text("{n} of {all}", n=one.with_people, all=one.texts),
            )
            for one in found.scores
        ],
        heads,
        title=Text("Scores with 95 % intervals over texts and annotators"),
    )
    first = next((one for one in found.scores if one.group is not None), None)
    for one in found.scores:
        if one.beside_first and first:
            show(
                Text(
                    "{name} minus {first}: {difference}",
                    name=_name(one),
                    first=first.group,
                    difference=_estimate(one.beside_first, "+.3f"),
                )
            )


def _name(one: JudgedScore) -> object:
    parts = [part for part in (one.group, one.label) if part is not None]
    return ", ".join(parts) if parts else Text("all texts")


def _estimate(found: CorrectedMean | None, spec: str = ".3f") -> str:
    return "—" if found is None else f"{number(found.value, spec)}{interval(found.interval, spec)}"
