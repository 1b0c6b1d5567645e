"""`merilo report`: write the published folder of a study or a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from merilo.cli.options import ForceOption, JsonOption
from merilo.cli.output import check_places, deliver, say, working
from merilo.strict_json import Json
from merilo.wording import counted_noun

app = typer.Typer(add_completion=False)


@app.command()
def publish(
    source: Annotated[
        Path,
        typer.Argument(
            help="The folder of a study, or of a baseline (merilo baseline --out).", show_default=False
        ),
    ],
    *,
    out: Annotated[Path, typer.Option(help="The new folder, by convention hb.")],
    cards: Annotated[
        Path | None,
        typer.Option(help="The dataset's folder: copies of its raw_ files get the human baseline."),
    ] = None,
    with_gold: Annotated[
        bool,
        typer.Option(
            "--with-gold",
            help="Include gold answers that the dataset declares closed, for a folder that is not published.",
        ),
    ] = False,
    force: ForceOption = False,
    json_to: JsonOption = None,
) -> int:
    """Write the folder to publish: raw answers, results, report, texts for cards, notebook and manifest.

    Closed gold answers, and what follows from them per item, are left out.
    """
    from merilo.reports.folder import report  # noqa: PLC0415 - slow

    check_places([source, cards], json_to)
    with working("Computing the baseline and writing the report"):
        published = report(source, out, cards=cards, with_gold=with_gold, force=force)
    for remark in published.remarks:
        say(remark)
    files: list[Json] = [*published.files]
    content: dict[str, Json] = {"folder": str(out), "files": files, "remarks": [*published.remarks]}
    written = f"{counted_noun(len(files), 'file is', 'files are')} in {out}; merilo verify {out} checks them"
    deliver(json_to, lambda: content, [written])
    return 0
