"""`merilo power`: plan how many items, people and control items a study needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import typer

from merilo.cli.options import JsonOption, takes_settings
from merilo.cli.output import deliver
from merilo.settings import PowerSettings

if TYPE_CHECKING:
    from merilo.cli.output import Part

app = typer.Typer(add_completion=False)


@app.command()
@takes_settings(of=PowerSettings)
def plan(*, settings: PowerSettings, json_to: JsonOption = None) -> int:
    """Plan a study: how many items, annotators and control items an interval, a difference or equivalence needs.

    Exit status 1: no number of items or control items is enough, or annotators are too few.
    """
    from merilo.statistics.planning import power  # noqa: PLC0415 - slow

    content = power(settings)
    deliver(json_to, lambda: content, _parts(content))
    return 0


#: Part of the plan -> its sentence.
_SENTENCES: Final[Mapping[str, str]] = {
    "assumed": "consensus {expected:g} at overlap {overlap}, single annotator {single_person:.3f} ± {spread:g}, "
    "{people} annotators, design effect of clusters {cluster_design_effect:.2f}",
    "interval": "for a half-width of {half_width:g}: {size}",
    "precision": "with {items} items: half-width {half_width:.4f}, of the single annotator "
    "{single_person_half_width:.4f}; a difference of {detectable_difference} from a model is detected, and equality "
    "shown within ±{equality_within}",
    "difference": "to detect a difference of {difference:g} if {discordant:.3f} of items are discordant: {size}",
    "equivalence": "to show that a model without a true difference is at human level (within ±{margin:g}) if "
    "{discordant:.3f} of items are discordant: {size}",
    "controls": "{a_person} control answers per annotator ({right_to_be_kept} correct to be kept at {threshold:g}) "
    "exclude one who guesses in {excluded_at_chance:.1%} of cases and keep a skilled one in {kept_if_skilled:.1%}; "
    "{always_from} or more always suffice",
}

#: How large a study must be.
_SIZE: Final = (
    "{items} items (design effect {design_effect:.2f}; {items_if_people_do_not_matter} if annotators did not differ); "
    "annotators: {people} for the precision, {people_at_so_many_items_each} for the work at {items_each} items each; "
    "recruit the larger number"
)


def _parts(content: Mapping[str, Any]) -> Iterator[Part]:
    from merilo.reports.table import Table  # noqa: PLC0415 - the JSON needs no tables

    yield Table("Plan of a study", (), tuple(_rows(content)))


def _rows(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for part, sentence in _SENTENCES.items():
        if part not in content:
            continue
        values: dict[str, Any] = {n: "-" if value is None else value for n, value in content[part].items()}
        if "items_each" in values:
            least = content[part]["people_at_least"]
            people = f"{content['assumed']['people']} (given)" if least is None else f"at least {least}"
            values["size"] = _SIZE.format_map(values | {"people": people})
        elif content[part].get("people", "") is None:
            values["people"] = "enough"
        yield part, sentence.format(**values)
