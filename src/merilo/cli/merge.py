"""`merilo merge`: baselines of several laboratories as one."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from merilo.cli.options import ForceOption, JsonOption, SeedOption
from merilo.cli.output import check_places, deliver, interval, number, say, show, show_table, working
from merilo.text import Text

if TYPE_CHECKING:
    from merilo.baselines.laboratories import LaboratoryEffects

app = typer.Typer(add_completion=False)


@app.command()
def merge(
    folder: Annotated[
        list[Path],
        typer.Argument(help="Baselines or published folders of the laboratories, on the same items."),
    ],
    *,
    out: Annotated[Path, typer.Option(help="The folder of the merged baseline.")],
    seed: SeedOption = 0,
    force: ForceOption = False,
    json_to: JsonOption = None,
) -> int:
    """Make one baseline of the answers of several laboratories, and estimate how far they differ.

    Exit status 1: the merged baseline must be rejected.
    """
    from merilo.cli.baseline import finish  # noqa: PLC0415 - slow
    from merilo.reports.merging import merge as merge_baselines  # noqa: PLC0415

    check_places([*folder], json_to, out, force=force)
    with working(Text("Computing the merged baseline")):
        made = merge_baselines(folder, seed=seed)
        made.save(out, force=force)
    for note in made.notes:
        say(note)
    if json_to != "-":
        finish(made.baseline, None, force=False, details=False, compared=False, json_to=None)
    deliver(json_to, made.to_dict, partial(_show, made.effects, out))
    return 1 if made.baseline.status == "rejected" else 0


def _show(effects: LaboratoryEffects | None, out: Path) -> None:
    if effects is not None:
        levels = effects.levels
        rows = [
            (
                name,
                f"{number(float(levels.value[place]), '.3f')}{interval(levels.interval(place))}",
                str(levels.people[place]),
                str(effects.answers[place]),
            )
            for place, name in enumerate(effects.names)
        ]
        heads = [
            Text("laboratory"),
            Text("single person on these items"),
            Text("annotators"),
            Text("answers"),
        ]
        show_table(rows, heads, title=Text("Laboratories"))
        show(_between(effects))
    show(Text("The report: {file}", file=out / "report.html"))


def _between(effects: LaboratoryEffects) -> Text:
    found = effects.between
    if found is None:
        return Text("How far laboratories differ is not estimated: {reason}.", reason=effects.reason or "")
    return Text(
        "Between laboratories: standard deviation {spread:.3f}, p = {p:.3f}; a new laboratory would reach between "
        "{low:.3f} and {high:.3f} (95 % prediction).",
        spread=found.spread,
        p=found.p,
        low=found.prediction.low,
        high=found.prediction.high,
    )
