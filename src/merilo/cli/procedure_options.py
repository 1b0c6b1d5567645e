"""Command-line options shared by the commands that compute a baseline; they import the procedures that they name."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

import typer

from merilo.people.decision import Resolve
from merilo.people.duplicates import Repeats

PROCEDURE: Final = "Procedure"
GROUPS: Final = "Groups, clusters and agreement"

# fmt: off
MetricOption: TypeAlias = Annotated[str | None, typer.Option(help="The main metric. Default: the dataset's, or acc without a dataset (also: em, f1, f1_macro, mcc).", rich_help_panel=PROCEDURE)]
AlternativesOption: TypeAlias = Annotated[str | None, typer.Option(help="The separator of alternative gold answers inside a cell, if no dataset declares it.", metavar="TEXT", rich_help_panel=PROCEDURE)]
MinControlAccuracyOption: TypeAlias = Annotated[float, typer.Option(help="Exclude annotators whose accuracy on control items is lower.", rich_help_panel=PROCEDURE)]
MinControlsOption: TypeAlias = Annotated[int, typer.Option(help="Keep annotators with fewer control answers: they cannot be judged.", rich_help_panel=PROCEDURE)]
MinVotesOption: TypeAlias = Annotated[str, typer.Option(metavar="majority|N", help="How many equal votes make a majority: 'majority' is more than half of the overlap; or a number.", rich_help_panel=PROCEDURE)]
ResolveOption: TypeAlias = Annotated[Resolve, typer.Option(help="How to decide items without a majority: leave them out (none, the published procedure), by most votes and then skill, by most votes and then GLAD, or by all of these in turn (cascade). An item stays unresolved if it is tied at every step, or if exclusion leaves no answer.", rich_help_panel=PROCEDURE)]
ClusterOption: TypeAlias = Annotated[str | None, typer.Option(metavar="FIELD", help="A field of the items, such as a text or a dialogue: items with the same value form a cluster, and every interval and test takes into account that they are not independent. Default: the field that the dataset declares.", rich_help_panel=GROUPS)]
RepeatsOption: TypeAlias = Annotated[Repeats, typer.Option(help="What to do if an annotator answered an item twice, differently.", rich_help_panel=PROCEDURE)]
AdaptiveOption: TypeAlias = Annotated[str | None, typer.Option(metavar="START:LIMIT[:SHARE[:SEED]]", help="The answers were collected with adaptive overlap: START people answered an item, up to LIMIT if they disagreed, and LIMIT on a random SHARE of the items. Agreement and single people are then computed on the answers that were asked for whatever the others answered. 'merilo study baseline' takes it from the plan.", rich_help_panel=PROCEDURE)]
# fmt: on
