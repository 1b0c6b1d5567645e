"""`merilo recipe`: combine the answers to several questions about each item."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from merilo.cli.options import (
    CurvesOption,
    ForceOption,
    JsonOption,
    RaterOption,
    SeedOption,
    takes_settings,
    tell_calibration,
)
from merilo.cli.output import check_places, deliver, interval, say, show, show_table, working
from merilo.errors import UsageError
from merilo.settings import InputSettings, Settings
from merilo.text import Text

if TYPE_CHECKING:
    from merilo.baselines.recipes.running import RecipeResult

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Several questions about each item: list the recipes, print one to copy, run one.",
)


@app.command("list")
def list_(*, json_to: JsonOption = None) -> int:
    """List the bundled recipes."""
    from merilo.baselines.recipes import names, recipe  # noqa: PLC0415 - slow

    known = [recipe(name) for name in names()]

    def shown() -> None:
        for one in known:
            show(f"{one.name}: {one.about}", Text("  questions: {names}", names=[*one.questions]))

    deliver(
        json_to,
        lambda: {
            "recipes": [
                {
                    "name": one.name,
                    "about": one.about,
                    "item": list(one.item),
                    "questions": {name: question.about for name, question in one.questions.items()},
                }
                for one in known
            ]
        },
        shown,
    )
    return 0


@app.command("show")
def print_(name: Annotated[str, typer.Argument(help="A recipe's name.")]) -> int:
    """Print a recipe's declaration, to read or to copy for another dataset."""
    from merilo.baselines.recipes import text_of  # noqa: PLC0415 - slow

    sys.stdout.write(text_of(name))
    return 0


@app.command()
@takes_settings("gold", "encoding", of=InputSettings, into="given")
@takes_settings("repeats")
def run(
    name: Annotated[str, typer.Argument(help="A recipe's name, or the path of a YAML file.")],
    *,
    files: Annotated[
        list[str],
        typer.Option(
            metavar="QUESTION=FILE",
            help="An export with the answers to a question, or a study's folder; may be given several times.",
        ),
    ],
    given: InputSettings,
    models: RaterOption = None,
    curves: CurvesOption = None,
    settings: Settings,
    seed: SeedOption = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            help="A new folder for recipe.json and items.csv: every item with every question's answer."
        ),
    ] = None,
    force: ForceOption = False,
    json_to: JsonOption = None,
) -> int:
    """Run a recipe: a baseline for every question, the kept items, the scores and the comparison."""
    from merilo.baselines.recipes import names  # noqa: PLC0415 - slow
    from merilo.reports.recipes import run_recipe  # noqa: PLC0415

    exports = _exports(files)
    own = [Path(name)] if name not in names() else []
    check_places(
        [*own, *(path for paths in exports.values() for path in paths), given.gold], json_to, out, force=force
    )
    with working(Text("Running the recipe {name}", name=name)):
        result = run_recipe(
            name,
            exports,
            gold=given.gold,
            rudetox_models=models,
            rudetox_curves=curves,
            encoding=given.encoding,
            settings=settings,
            seed=seed,
        )
    tell_calibration(result.rater)
    if out:
        result.save(out, force=force)
    for sentence in result.details.left_undone:
        say(sentence)
    deliver(json_to, result.to_dict, partial(_show, result.details, out))
    return 0


def _exports(files: list[str]) -> dict[str, list[Path]]:
    """Parse `["fluent=a.tsv", "fluent=b.tsv"]` to question -> files."""
    exports: dict[str, list[Path]] = {}
    for one in files:
        question, sign, path = one.partition("=")
        if not sign or not question or not path:
            raise UsageError(f"--files takes QUESTION=FILE, not '{one}'")
        exports.setdefault(question, []).append(Path(path))
    return exports


def _show(result: RecipeResult, out: Path | None) -> None:
    items = result.table.height
    show_table(
        [
            (
                name,
                made.annotators.height,
                made.annotators["excluded"].sum(),
                made.items,
                Text("{n} of {of}", n=items - result.table[name].null_count(), of=items),
            )
            for name, made in result.questions.items()
        ],
        [
            *(Text("question"), Text("people", context="column"), Text("excluded", context="column")),
            *(Text("items", context="column"), Text("answered", context="column")),
        ],
        title=Text("Recipe {name}", name=result.recipe.name),
    )
    show(*_lines(result))
    if out:
        show(Text("The files: {folder}", folder=out))


def _lines(result: RecipeResult) -> Iterator[Text]:
    from merilo.reports.estimates import OVER_ITEMS_ALONE  # noqa: PLC0415 - slow

    if result.recipe.keep:
        kept = result.table["kept"]
        yield Text(
            "kept: {kept} of {items}; rejected: {rejected}; undecided: {undecided}",
            kept=kept.sum(),
            items=result.table.height,
            rejected=(~kept).sum(),
            undecided=kept.null_count(),
        )
    for name, score in result.scores.items():
        yield Text(
            "{metric}: {value:.3f}{interval}{over} on {n:# item|# items}",
            metric=name,
            value=score.value,
            interval=interval(score.interval),
            over=f" {OVER_ITEMS_ALONE}" if score.interval else "",
            n=score.n,
        )
    if result.agreement:
        one, two = result.recipe.compare
        same, n = result.agreement
        yield Text("{one} and {two} agree on {same} of {n:# item|# items}", one=one, two=two, same=same, n=n)
    if found := result.comparison:
        yield Text(
            "difference in accuracy: {value:+.3f}{interval} {over}, p = {p:.3g} ({test})",
            value=found.value,
            interval=interval(found.interval, "+.3f"),
            over=OVER_ITEMS_ALONE,
            p=found.test.p,
            test=found.test.method,
        )
