"""`merilo report`: write the folder that a published baseline hands in, and verify such a folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer
from typer.core import TyperGroup

from merilo.atomic_write import refuse_existing, write_text
from merilo.baselines.record import BASELINE_FILE, METRICS_FILE
from merilo.cli.output import emit_json, refuse_json, say, working
from merilo.cli.study_options import ForceOption, JsonOption
from merilo.reports.hb.building import report
from merilo.reports.hb.verification import Verification, verify
from merilo.text import Language
from merilo.wording import counted_noun

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
    experts: Annotated[
        Path | None,
        typer.Option(help="For an expert dataset: the folder or JSON of 'merilo experts baseline'."),
    ] = None,
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
    force: ForceOption = False,
    json_to: JsonOption = None,
) -> int:
    """Write the folder of a published baseline: raw answers, results, plan, notebook, plots and manifest.

    The word make may be left out. Exit status 1: recomputing the baseline from its raw answers gives other values.
    """
    refuse_json(json_to, [source, *(one for one in (experts, cards) if one)])
    with working("Computing the baseline again and writing the report"):
        made = report(source, out, experts=experts, cards=cards, with_gold=with_gold, force=force)
    for remark in made.remarks:
        say(remark)
    if json_to:
        emit_json({"folder": str(out), "files": [*made.files], "remarks": [*made.remarks]}, json_to)
    if json_to != "-":
        sys.stdout.write(f"{len(made.files)} files are in {out}; merilo report verify {out} checks them\n")
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
    refuse_json(json_to, [folder])
    with working("Recomputing every value"):
        found = verify(folder)
    if json_to:
        emit_json(found.to_dict(), json_to)
    if json_to != "-":
        sys.stdout.write("".join(f"{line}\n" for line in _lines(found)))
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
        Literal["markdown", "latex", "html"],
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
    from merilo.reports.human_table import (  # noqa: PLC0415 - the other commands need no catalogue
        human_rows,
        read_study,
        table_html,
        table_json,
        table_latex,
        table_markdown,
    )

    studies = [read_study(folder) for folder in folders or []]
    read = [one.folder / name for one in studies for name in (BASELINE_FILE, METRICS_FILE)]
    refuse_json(json_to, read)
    if out is not None:
        refuse_existing(out, force=force, needed=read)
    rows = human_rows(studies)
    beside = None if out is None else out.parent
    if form == "html":
        text = table_html(rows, beside=beside)
    elif form == "latex":
        text = table_latex(rows, language)
    else:
        text = table_markdown(rows, language, beside=beside)
    if json_to:
        emit_json({"rows": table_json(rows)}, json_to)
    if out is not None:
        write_text(out, text)
    elif json_to != "-":
        sys.stdout.write(text)
    return 0


def _lines(found: Verification) -> list[str]:
    """Return the lines of the terminal, without control characters of names."""
    from merilo.cli import tame  # noqa: PLC0415 - defined beside the list of commands

    moved = found.moved
    lines = [
        f"{len(found.figures) - len(moved):,} of {len(found.figures):,} published values equal the recomputed ones"
    ]
    if unknown := found.without_gold:
        parts = [name.split(".") for name in unknown]
        named = dict.fromkeys(".".join(one[: 2 if one[0] == "metrics" else 1]) for one in parts)
        lines.append(
            f"{counted_noun(len(unknown), 'value was', 'values were')} not recomputed, because the gold answers are "
            f"withheld: {', '.join(named)}"
        )
    lines += [
        f"differs: {one.name}: published {_shown(one.published)}, recomputed {_shown(one.recomputed)}"
        for one in moved[:_MOST]
    ]
    if len(moved) > _MOST:
        lines.append(f"and {len(moved) - _MOST:,} more (--json lists all)")
    for what, names in (
        ("changed", found.files.changed),
        ("missing", found.files.missing),
        ("not in the manifest", found.files.extra),
    ):
        lines += [f"{what}: {name}" for name in names]
    lines += [
        f"{name}: checked by its hash only, because the raw answers behind it are not in the folder"
        for name in found.hashed
    ]
    lines += [f"not recomputed: {one}" for one in found.taken]
    lines += [f"fault: {one}" for one in found.faults]
    lines.append("verified" if found.ok else "NOT verified")
    return [tame(line) for line in lines]


def _shown(value: object) -> str:
    text = "null" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
