"""`merilo compare`: compare models with people, and models with each other, on the same items."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from merilo.cli.options import ForceItems, JsonOption, MarginOption
from merilo.cli.output import check_places, deliver, say, working
from merilo.errors import UsageError
from merilo.settings import INPUT, OUTPUT

if TYPE_CHECKING:
    from merilo.reports.comparison import Comparison
    from merilo.reports.table import Form

app = typer.Typer(add_completion=False)

_FORMS: Final[dict[str, Form]] = {".html": "html", ".md": "markdown", ".tex": "latex", ".csv": "csv"}


_Sources: TypeAlias = Annotated[
    list[Path],
    typer.Argument(
        metavar="[BASELINE]... RUN...",
        help="Human baselines (folders of 'merilo baseline --out' or 'merilo report'), if there are any, and "
        "models: runs, files of answers (id, answer, sample), or logs of another harness.",
    ),
]
_NewFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write the comparison to this new file: .html (a page in both languages), .md, .tex or .csv.",
        rich_help_panel=OUTPUT,
    ),
]
_DatasetName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Without baselines and runs: the dataset of the answers, a name or the path of a YAML declaration.",
        rich_help_panel=INPUT,
    ),
]
_ItemsFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="The items with ids and gold answers, if the baseline was made without them, or if there are neither "
        "baselines nor runs.",
        rich_help_panel=INPUT,
    ),
]


@app.command()
def people_and_models_compared(
    paths: _Sources,
    *,
    margin: MarginOption = None,
    out: _NewFile = None,
    dataset: _DatasetName = None,
    data: _ItemsFile = None,
    force: ForceItems = False,
    json_to: JsonOption = None,
) -> int:
    """Compare models with people, or without people the other models with the first one, on the same items.

    Exit status 1: models answered other items than the baseline or the first model, and --force was not given.
    """
    from merilo.atomic_write import write_text  # noqa: PLC0415 - slow; the help needs only declarations
    from merilo.baselines.baseline import BASELINE_FILE  # noqa: PLC0415
    from merilo.baselines.model_answers import is_baseline  # noqa: PLC0415
    from merilo.reports.comparison import compare  # noqa: PLC0415
    from merilo.reports.comparison_page import sections  # noqa: PLC0415

    baselines = [path for path in paths if is_baseline(path)]
    needed = [
        *(baseline / BASELINE_FILE for baseline in baselines),
        *(path for path in paths if path not in baselines),
        data,
    ]
    check_places(needed, json_to, out)
    if out is not None and out.suffix.lower() not in _FORMS:
        raise UsageError(f"takes a file that ends in {', '.join(_FORMS)}", field="--out")
    if dataset is not None and baselines:
        raise UsageError("is for models without a baseline, which knows its dataset", field="--dataset")
    with working("Comparing people with models"):
        comparison = compare(*paths, dataset=dataset, data=data, margin=margin, force=force)
    if out is not None:
        write_text(out, _rendered(comparison, _FORMS[out.suffix.lower()]))
    opening = sections(comparison, narrow=True)[:1]
    if out is not None:
        opening = [section._replace(tables=()) for section in opening]
    deliver(json_to, comparison.to_json, opening)
    if out is not None:
        say(f"the comparison: {out}")
    for finding in comparison.findings:
        say(finding.sentence)
    return 0


def _rendered(comparison: Comparison, form: Form) -> str:
    from merilo.reports.comparison_page import comparison_page, sections  # noqa: PLC0415 - slow
    from merilo.reports.table import render  # noqa: PLC0415

    return comparison_page(comparison) if form == "html" else f"{render(sections(comparison), form)}\n"
