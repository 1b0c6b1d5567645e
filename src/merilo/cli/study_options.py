"""Command-line options shared by the commands that read a study's exports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from merilo.people.platforms import Platform

INPUT: Final = "Input"
SAMPLE: Final = "Sample of a larger dataset"
MODELS: Final = "Comparison with models"
COLUMNS: Final = "Columns of a plain table"
OUTPUT: Final = "Output"

Exports: TypeAlias = Annotated[
    list[Path],
    typer.Argument(
        help="Exports of one study: Toloka, ABC Elementary, Label Studio, Amazon Mechanical Turk, or a "
        "table (CSV, TSV, Parquet, JSONL)."
    ),
]
PlatformOption: TypeAlias = Annotated[
    Platform | None,
    typer.Option(
        help="The platform that wrote the files. Default: recognised by the header.", rich_help_panel=INPUT
    ),
]
DatasetOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--dataset",
        metavar="NAME",
        help="The dataset's name: gives the labels and, if answers can be computed, the gold answers.",
        rich_help_panel=INPUT,
    ),
]
GoldOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(help="Gold answers: CSV, TSV, JSON or JSONL, joined on the inputs.", rich_help_panel=INPUT),
]
GoldColumnOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="The column of gold answers, if it cannot be recognised by its name.",
        rich_help_panel=INPUT,
    ),
]
AnswerOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="The column of answers, if there are several.", rich_help_panel=INPUT
    ),
]
ItemOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="A column that identifies an item; may be given several times. Default: all input fields, "
        "on platforms that mark them.",
        rich_help_panel=INPUT,
    ),
]
RecodeOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FROM=TO|FILE",
        help="Replace an answer by another (FROM= drops it), or all that a table with the columns from "
        "and to lists; may be given several times.",
        rich_help_panel=INPUT,
    ),
]
AnonymiseOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--anonymise",
        help="Replace annotators' ids by pseudonyms, and remove folders from file names.",
        rich_help_panel=OUTPUT,
    ),
]
SkillsOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="The platform's skills: a table of annotators and their skill values.", rich_help_panel=INPUT
    ),
]
PopulationOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The whole dataset, if the items are a sample of it: its items, a table of strata with "
        "the column count, or a study's weights.csv.",
        rich_help_panel=SAMPLE,
    ),
]
StrataOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FIELD[,FIELD]",
        help="The fields of the items that define the strata of --population; may be given several times.",
        rich_help_panel=SAMPLE,
    ),
]
EncodingOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The files' encoding, if it is not UTF-8 and has no byte-order mark.",
        rich_help_panel=INPUT,
    ),
]
AnnotatorOption: TypeAlias = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="The column of annotators' ids.", rich_help_panel=COLUMNS)
]
ControlOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="The column of known answers to control items.", rich_help_panel=COLUMNS
    ),
]
PageOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="The column of pages. Items of one page were answered and paid together.",
        rich_help_panel=COLUMNS,
    ),
]
StartedOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="The column of times when a page was opened.", rich_help_panel=COLUMNS
    ),
]
SubmittedOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="The column of times when a page was submitted.", rich_help_panel=COLUMNS
    ),
]
SecondsOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="The column of durations of a page, in seconds.", rich_help_panel=COLUMNS
    ),
]
RewardOption: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="The column of the reward for a page.", rich_help_panel=COLUMNS),
]
ForceOption: TypeAlias = Annotated[
    bool, typer.Option("--force", help="Replace an existing --out.", rich_help_panel=OUTPUT)
]
DetailsOption: TypeAlias = Annotated[
    bool, typer.Option("--details", help="Show all rows of the table.", rich_help_panel=OUTPUT)
]
JsonOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--json",
        metavar="FILE|-",
        help="Write the result as one JSON object; - is standard output.",
        rich_help_panel=OUTPUT,
    ),
]
StudyArgument: TypeAlias = Annotated[Path, typer.Argument(help="The study's folder.")]
ArmOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="The group of annotators in study.yaml: people (the default) or experts."
    ),
]


def fields_of_strata(given: list[str] | None) -> list[str]:
    """Split the values of `--strata` at commas.

    Example:
        >>> fields_of_strata(["domain,difficulty", "author"])
        ['domain', 'difficulty', 'author']
    """
    return [name.strip() for text in given or () for name in text.split(",") if name.strip()]
