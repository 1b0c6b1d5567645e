"""`merilo report`: write the folder that a published baseline hands in, and verify such a folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer
from typer.core import TyperGroup

from merilo.cli.options import ForceOption, JsonOption
from merilo.cli.output import check_places, deliver, emit_json, say, show, working
from merilo.text import Language, Text

if TYPE_CHECKING:
    from merilo.reports.hb.verification import Verification

#: The subcommand that is meant if the first word is a folder.
_DEFAULT: Final = "make"

#: How many values the terminal lists; the JSON lists all.
_MOST: Final = 20


class _ReportGroup(TyperGroup):
    """A group whose first word may be a folder: `merilo report SOURCE` is `merilo report make SOURCE`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - Typer's class is private
        if args and args[0] not in {*self.commands, "--help"}:
            args = [_DEFAULT, *args]
        return list(super().parse_args(ctx, args))


app = typer.Typer(
    cls=_ReportGroup,
    no_args_is_help=True,
    add_completion=False,
    help="Publish a baseline: merilo report SOURCE --out hb writes the folder, merilo report verify hb checks it.",
)


@app.command(_DEFAULT)
def make(
    source: Annotated[
        Path,
        typer.Argument(
            help="The folder of a baseline (merilo baseline --out), or of a study.", show_default=False
        ),
    ],
    *,
    out: Annotated[Path, typer.Option(help="The new folder, by convention hb.")],
    cards: Annotated[
        Path | None,
        typer.Option(
            help="The dataset's folder, with its raw_ files: copies with the human baseline are written to "
            "cards."
        ),
    ] = None,
    with_gold: Annotated[
        bool,
        typer.Option(
            "--with-gold",
            help="Include gold answers that the dataset declares closed, for a folder that is not published.",
        ),
    ] = False,
    author: Annotated[
        list[str] | None,
        typer.Option(
            help="An author of the baseline, for its citation; can be repeated.", show_default=False
        ),
    ] = None,
    licence: Annotated[
        str | None,
        typer.Option("--license", help="The licence of the data, an identifier of SPDX such as CC-BY-4.0."),
    ] = None,
    repo: Annotated[
        str | None,
        typer.Option(metavar="OWNER/NAME", help="The repository on the Hugging Face hub, for links to it."),
    ] = None,
    force: ForceOption = False,
    json_to: JsonOption = None,
) -> int:
    """Write the folder of a published baseline: raw answers, results, plan, notebook, plots and manifest.

    The word make may be left out. Exit status 1: recomputing the baseline from its raw answers gives other values.
    """
    from merilo.reports.hb.building import report  # noqa: PLC0415 - slow

    check_places([source, cards], json_to)
    with working(Text("Computing the baseline again and writing the report")):
        made = report(
            source,
            out,
            cards=cards,
            with_gold=with_gold,
            authors=author or (),
            licence=licence,
            repo=repo,
            force=force,
        )
    for remark in made.remarks:
        say(remark)
    told = Text(
        "{n:# file is|# files are} in {folder}; {command} checks them",
        n=len(made.files),
        folder=out,
        command=f"merilo report verify {out}",
    )
    deliver(
        json_to,
        lambda: {"folder": str(out), "files": [*made.files], "remarks": [*made.remarks]},
        partial(show, told),
    )
    return 0


@app.command("verify")
def check(
    folder: Annotated[Path, typer.Argument(help="A folder that merilo report wrote.", show_default=False)],
    *,
    json_to: JsonOption = None,
) -> int:
    """Recompute every value from the raw answers, and compare the files with the manifest.

    Values that need withheld gold answers are named and not recomputed.
    Exit status 1: a recomputed value differs, or a file was changed, is missing or is unknown.
    """
    from merilo.reports.hb.verification import verify  # noqa: PLC0415 - slow

    check_places([folder], json_to)
    with working(Text("Recomputing every value")):
        found = verify(folder)
    deliver(json_to, found.to_dict, lambda: show(*_lines(found)))
    return 0 if found.ok else 1


@app.command("table")
def table(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Folders of your own baselines (merilo baseline --out, or merilo report).",
            show_default=False,
        ),
    ] = None,
    *,
    form: Annotated[
        Literal["markdown", "latex", "html", "csv"],
        typer.Option("--format", help="The format of the table; html has both languages."),
    ] = "markdown",
    language: Annotated[Language, typer.Option(help="The language of Markdown and LaTeX.")] = "en",
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the table to this file. Default: standard output."),
    ] = None,
    force: ForceOption = False,
    json_to: JsonOption = None,
) -> int:
    """Print a table of human baselines: the published values with their provenance, and your own studies.

    The interval of a study covers items and annotators. Links to reports start from the folder of --out.
    """
    from merilo.atomic_write import write_text  # noqa: PLC0415 - slow
    from merilo.baselines.baseline import BASELINE_FILE, METRICS_FILE  # noqa: PLC0415
    from merilo.reports.human_table import (  # noqa: PLC0415
        human_rows,
        read_study,
        table_json,
        table_text,
    )

    studies = [read_study(folder) for folder in folders or []]
    read = [one.folder / name for one in studies for name in (BASELINE_FILE, METRICS_FILE)]
    check_places(read, json_to, out, force=force)
    rows = human_rows(studies)
    beside = None if out is None else out.parent
    text = table_text(rows, form, language, beside=beside)
    if json_to:
        emit_json({"rows": table_json(rows)}, json_to)
    if out is not None:
        write_text(out, text)
    elif json_to != "-":
        sys.stdout.write(text)
    return 0


def _lines(found: Verification) -> Iterator[object]:
    moved, values = found.moved, len(found.figures)
    yield Text("{n:,} of {of:,} published values equal the recomputed ones", n=values - len(moved), of=values)
    if unknown := found.without_gold:
        parts = [name.split(".") for name in unknown]
        named = dict.fromkeys(".".join(one[: 2 if one[0] == "metrics" else 1]) for one in parts)
        yield Text(
            "{n:# value was|# values were} not recomputed, because the gold answers are withheld: {names}",
            n=len(unknown),
            names=", ".join(named),
        )
    for one in moved[:_MOST]:
        yield Text(
            "differs: {name}: published {published}, recomputed {recomputed}",
            name=one.name,
            published=_shown(one.published),
            recomputed=_shown(one.recomputed),
        )
    if len(moved) > _MOST:
        yield Text("and {n:,} more (--json lists all)", n=len(moved) - _MOST)
    for what, names in (
        (Text("changed"), found.files.changed),
        (Text("missing", context="file"), found.files.missing),
        (Text("not in the manifest"), found.files.extra),
        (Text("not recomputed"), found.taken),
        (Text("fault"), found.faults),
    ):
        yield from (f"{what}: {name}" for name in names)
    yield Text("verified", context="report") if found.ok else Text("NOT verified", context="report")


def _shown(value: object) -> str:
    text = "null" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
