"""`merilo recipe`: combine the answers to several questions about each item."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from merilo.baselines.recipes.recipe import Recipe, names, recipe, text_of
from merilo.baselines.recipes.running import RecipeResult
from merilo.cli.output import OutFolder, emit_json, refuse_json, say, working
from merilo.cli.procedure_options import takes_settings
from merilo.cli.rater import CurvesOption, ModelsOption, tell_calibration
from merilo.errors import UsageError
from merilo.reports.recipes import run_recipe
from merilo.settings import Settings
from merilo.strict_json import Json

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Several questions about each item: list the recipes, print one to copy, run one.",
)


@app.command("list")
def list_(
    *,
    json_to: Annotated[
        str | None,
        typer.Option(
            "--json", metavar="FILE|-", help="Write the list as one JSON object; - is standard output."
        ),
    ] = None,
) -> int:
    """List the bundled recipes."""
    known = [recipe(name) for name in names()]
    if json_to:
        emit_json({"recipes": [_as_json(one) for one in known]}, json_to)
    if json_to != "-":
        for one in known:
            sys.stdout.write(f"{one.name}: {one.about}\n  questions: {', '.join(one.questions)}\n")
    return 0


@app.command()
def show(name: Annotated[str, typer.Argument(help="A recipe's name.")]) -> int:
    """Print a recipe's declaration, to read or to copy for another dataset."""
    sys.stdout.write(text_of(name))
    return 0


@app.command()
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
    gold: Annotated[
        Path | None, typer.Option(help="Gold answers: CSV, TSV, JSON or JSONL, joined on the item's fields.")
    ] = None,
    models: ModelsOption = None,
    curves: CurvesOption = None,
    encoding: Annotated[
        str | None, typer.Option(help="The files' encoding, if it is not UTF-8 and has no byte-order mark.")
    ] = None,
    settings: Settings,
    seed: Annotated[
        int, typer.Option(min=0, help="The random seed of the intervals' bootstrap resamples.")
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            help="A new folder for recipe.json and items.csv: every item with every question's answer."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing --out.")] = False,
    json_to: Annotated[
        str | None,
        typer.Option(
            "--json", metavar="FILE|-", help="Write the result as one JSON object; - is standard output."
        ),
    ] = None,
) -> int:
    """Run a recipe: a baseline for every question, the kept items, the scores and the comparison."""
    exports = _exports(files)
    own = [Path(name)] if name not in names() else []
    inputs = [*own, *(path for paths in exports.values() for path in paths), *([gold] if gold else [])]
    folder = OutFolder.checked(out, force=force, needed=inputs)
    refuse_json(json_to, inputs)
    with working(f"Running the recipe {name}"):
        result = run_recipe(
            name,
            exports,
            gold=gold,
            rudetox_models=models,
            rudetox_curves=curves,
            encoding=encoding,
            settings=settings,
            seed=seed,
        )
    tell_calibration(result.rater)
    if folder:
        result.save(folder.path, force=folder.force)
    for sentence in result.details.left_undone:
        say(sentence)
    if json_to:
        emit_json(result.to_dict(), json_to)
    if json_to != "-":
        _print(result.details, out)
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


def _as_json(one: Recipe) -> dict[str, Json]:
    return {
        "name": one.name,
        "about": one.about,
        "item": list(one.item),
        "questions": {name: question.about for name, question in one.questions.items()},
    }


def _items(n: int) -> str:
    return "1 item" if n == 1 else f"{n} items"


def _print(result: RecipeResult, out: Path | None) -> None:
    from rich.console import Console  # noqa: PLC0415 - the JSON needs no tables
    from rich.markup import escape  # noqa: PLC0415 - as above
    from rich.table import Table  # noqa: PLC0415 - as above

    from merilo.reports.estimates import OVER_ITEMS_ALONE, record_text  # noqa: PLC0415 - as above

    console = Console(highlight=False)
    table = Table(title=f"Recipe {escape(result.recipe.name)}", title_justify="left", title_style="bold")
    for name in ("question", "people", "excluded", "items", "answered"):
        table.add_column(name, justify="left" if name == "question" else "right")
    for name, made in result.questions.items():
        answered = f"{result.table.height - result.table[name].null_count()} of {result.table.height}"
        excluded = str(made.annotators["excluded"].sum())
        table.add_row(escape(name), str(made.annotators.height), excluded, str(made.items), answered)
    console.print(table)
    if result.recipe.keep:
        kept = result.table["kept"]
        console.print(
            f"kept: {kept.sum()} of {result.table.height}; rejected: {(~kept).sum()}; undecided: {kept.null_count()}"
        )
    for name, score in result.scores.items():
        sure = f" \\{record_text(score, None)}" if score.interval else ""
        console.print(f"{escape(name)}: {score.value:.3f}{sure} on {_items(score.n)}")
    if result.agreement:
        one, two = result.recipe.compare
        same, n = result.agreement
        console.print(f"{escape(one)} and {escape(two)} agree on {same} of {_items(n)}")
    if result.comparison:
        found = result.comparison
        console.print(
            f"difference in accuracy: {found.value:+.3f} \\[{found.interval.low:+.3f}, "
            f"{found.interval.high:+.3f}] {OVER_ITEMS_ALONE.en}, "
            f"p = {found.test.p:.3g} ({found.test.method})"
        )
    if out:
        console.print(f"The files: {out}", soft_wrap=True, markup=False)
