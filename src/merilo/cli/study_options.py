"""Command-line options shared by the commands that read a study's exports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from merilo.people.platforms import Platform

INPUT: Final = "Input"
COLUMNS: Final = "Columns of a plain table"
OUTPUT: Final = "Output"

# fmt: off
Exports: TypeAlias = Annotated[list[Path], typer.Argument(help="Exports of one study: Toloka, ABC Elementary, Label Studio (JSON, JSON-MIN, CSV), Amazon Mechanical Turk (batch CSV), or a plain CSV, TSV, Parquet or JSONL.")]
PlatformOption: TypeAlias = Annotated[Platform | None, typer.Option(help="Where the files come from; told by their header when not given.", rich_help_panel=INPUT)]
DatasetOption: TypeAlias = Annotated[str | None, typer.Option("--dataset", metavar="NAME", help="The dataset's name: gives its labels and, where answers can be computed, the gold.", rich_help_panel=INPUT)]
GoldOption: TypeAlias = Annotated[Path | None, typer.Option(help="Right answers: CSV, TSV, JSON or JSONL, joined on the inputs.", rich_help_panel=INPUT)]
GoldColumnOption: TypeAlias = Annotated[str | None, typer.Option(metavar="COLUMN", help="The column of right answers, where its name does not tell.", rich_help_panel=INPUT)]
AnswerOption: TypeAlias = Annotated[str | None, typer.Option(metavar="COLUMN", help="The column of answers, where there are several.", rich_help_panel=INPUT)]
ItemOption: TypeAlias = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="A column that makes an item; may be given several times. Platforms that name their columns: all that was shown, when not given.", rich_help_panel=INPUT)]
RecodeOption: TypeAlias = Annotated[list[str] | None, typer.Option(metavar="FROM=TO|FILE", help="Replace an answer by another (nothing after = leaves it out), or all answers of a table with the columns from and to; may be given several times.", rich_help_panel=INPUT)]
AnonymiseOption: TypeAlias = Annotated[bool, typer.Option("--anonymise", help="Replace the annotators' ids by pseudonyms that are stable within the study, and leave folders out of file names.", rich_help_panel=OUTPUT)]
SkillsOption: TypeAlias = Annotated[Path | None, typer.Option(help="The platform's skills: annotator and number.", rich_help_panel=INPUT)]
EncodingOption: TypeAlias = Annotated[str | None, typer.Option(metavar="NAME", help="The files' encoding, where it is neither UTF-8 nor marked.", rich_help_panel=INPUT)]
AnnotatorOption: TypeAlias = Annotated[str | None, typer.Option(metavar="COLUMN", help="The column of annotators' ids.", rich_help_panel=COLUMNS)]
ControlOption: TypeAlias = Annotated[str | None, typer.Option(metavar="COLUMN", help="The column of control items' known answers.", rich_help_panel=COLUMNS)]
PageOption: TypeAlias = Annotated[str | None, typer.Option(metavar="COLUMN", help="The column of pages: what was answered and paid together.", rich_help_panel=COLUMNS)]
StartedOption: TypeAlias = Annotated[str | None, typer.Option(metavar="COLUMN", help="The column of the time when a page was opened.", rich_help_panel=COLUMNS)]
SubmittedOption: TypeAlias = Annotated[str | None, typer.Option(metavar="COLUMN", help="The column of the time when a page was sent.", rich_help_panel=COLUMNS)]
SecondsOption: TypeAlias = Annotated[str | None, typer.Option(metavar="COLUMN", help="The column of the seconds that a page took.", rich_help_panel=COLUMNS)]
RewardOption: TypeAlias = Annotated[str | None, typer.Option(metavar="COLUMN", help="The column of what a page paid.", rich_help_panel=COLUMNS)]
ForceOption: TypeAlias = Annotated[bool, typer.Option("--force", help="Replace an existing --out.", rich_help_panel=OUTPUT)]
JsonOption: TypeAlias = Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="The result as one JSON object; - is standard output.", rich_help_panel=OUTPUT)]
# fmt: on
