"""`merilo power`: plan how many items, people and control items a study needs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import typer

from merilo.cli.options import JsonOption, takes_settings
from merilo.cli.output import deliver, show_table
from merilo.settings import PowerSettings
from merilo.text import Text

app = typer.Typer(add_completion=False)


@app.command()
@takes_settings(of=PowerSettings)
def plan(*, settings: PowerSettings, json_to: JsonOption = None) -> int:
    """Plan a study: how many items, annotators and control items an interval, a difference or equivalence needs.

    Exit status 1: no number of items or control items is enough, or annotators are too few.
    """
    from merilo.people.power import power  # noqa: PLC0415 - slow

    content = power(settings)
    deliver(json_to, lambda: content, partial(_show, content))
    return 0


def _show(content: dict[str, Any]) -> None:
    show_table(_rows(content), title=Text("Plan of a study"))


def _rows(content: dict[str, Any]) -> Iterator[tuple[Text, Text]]:
    assumed = content["assumed"]
    clusters = Text(
        ", clusters of {cluster_size:g} items with a correlation of {icc:g} "
        "(design effect {cluster_design_effect:.2f})",
        **assumed,
    )
    crowd = Text("{people} annotators", **assumed) if assumed["people"] else Text("enough annotators")
    yield (
        Text("assumed"),
        Text(
            "consensus {expected:g} at overlap {overlap}, single annotator {single_person:.3f} ± {spread:g}, "
            "{crowd}{clusters}",
            **assumed,
            crowd=crowd,
            clusters="" if assumed["cluster_design_effect"] == 1 else clusters,
        ),
    )
    if found := content.get("interval"):
        yield (
            Text("interval"),
            Text(
                "For a mean half-width of {half_width:g}: {items_if_people_do_not_matter} items if no two share an "
                "annotator; {size}",
                **found,
                size=_size(found),
            ),
        )
        yield (
            Text("assurance"),
            Text(
                "For a half-width of at most {half_width:g} in {assurance:.0%} of studies: consensus {consensus}; "
                "single annotator {single}",
                half_width=found["half_width"],
                assurance=assumed["assurance"],
                consensus=_assured(found["assured"]["consensus"]),
                single=_assured(found["assured"]["single_person"]),
            ),
        )
    if found := content.get("precision"):
        yield (
            Text("precision"),
            Text(
                "With {items} items: half-width {half_width:.4f}, design effect {design_effect:.2f}; "
                "at most {assured_half_width:.4f} in {assurance:.0%} of studies",
                **found,
                assurance=assumed["assurance"],
            ),
        )
        for name, of in (
            (Text("single annotator"), found["single_person"]),
            (Text("Krippendorff's alpha"), found.get("krippendorff_alpha")),
        ):
            if of is not None:
                yield (
                    name,
                    Text(
                        "{expected:.3f} with a half-width of {half_width:.4f}; "
                        "at most {assured_half_width:.4f} in {assurance:.0%} of studies",
                        **of,
                        assurance=assumed["assurance"],
                    ),
                )
        if found["detectable_difference"] is not None:
            yield (
                Text("model"),
                Text(
                    "With {items} items: a difference of {detectable_difference:.3f} or more is detected{equality}",
                    **found,
                    equality=Text("; equality can be shown within ±{equality_within:.3f}", **found)
                    if found["equality_within"] is not None
                    else "",
                ),
            )
    if found := content.get("difference"):
        yield (
            Text("difference"),
            Text(
                "To detect a difference of {difference:g} if {discordant:.3f} of items are discordant: {needed}",
                **found,
                needed=_needed(found),
            ),
        )
    if found := content.get("equivalence"):
        yield (
            Text("equivalence"),
            Text(
                "To show that a model without a true difference is at human level (within ±{margin:g}) if "
                "{discordant:.3f} of items are discordant: {needed}",
                **found,
                needed=_needed(found),
            ),
        )
    if found := content.get("controls"):
        yield (
            Text("controls", context="row"),
            Text(
                "{a_person} control answers per annotator ({right_to_be_kept} correct to be kept at {threshold:g}) "
                "exclude one who guesses in {excluded_at_chance:.1%} of cases and keep a skilled one in "
                "{kept_if_skilled:.1%}; {always_from} or more always suffice",
                **found,
            ),
        )


def _assured(found: dict[str, Any]) -> Text:
    """Say how many items, or how many annotators, make the half-width small enough in the assured share of studies."""
    if found["items"] is None and found["people_at_least"] is None:
        return Text("no number of items and annotators is enough")
    if found["items"] is None:
        return Text("no number of items is enough, at least {people_at_least} annotators are needed", **found)
    if found["people_at_least"] is None:
        return Text("{items} items with these annotators", **found)
    return Text("{items} items with at least {people_at_least} annotators", **found)


def _needed(found: dict[str, Any]) -> Text:
    return Text(
        "{items_if_people_do_not_matter} items if annotators do not differ; {size}",
        **found,
        size=_size(found),
    )


def _size(found: dict[str, Any]) -> Text:
    """Say how many items these annotators need, and the annotators for the answers."""
    people = (
        Text("with these annotators (design effect {design_effect:.2f})", **found)
        if found.get("people_at_least") is None
        else Text("with at least {people_at_least} annotators", **found)
    )
    return Text(
        "{items} items {people}; the answers take {people_at_so_many_items_each} annotators at {items_each} items each",
        **found,
        people=people,
    )
