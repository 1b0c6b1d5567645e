"""Reading what `baseline.json` in a baseline's folder says: settings, declaration, status, sample."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

from merilo.errors import InputError
from merilo.metrics.plain_dataset import PlainDataset, read_declaration_json
from merilo.settings import Aggregator, Resolve, Settings
from merilo.strict_json import Json, read_json


def read_summary(folder: Path) -> dict[str, Json]:
    """Read the summary of a baseline.

    Raises:
        InputError: the folder has none.
    """
    path = folder / "baseline.json"
    if not path.is_file():
        raise InputError("is not a baseline folder: baseline.json is missing", file=folder)
    content = read_json(path)
    if not isinstance(content, dict):
        raise InputError("is not the summary of a baseline", file=path)
    return content


def sampled_items(content: Mapping[str, Json]) -> tuple[int, int] | None:
    """Return the number of items of the study and of the dataset from which they were sampled."""
    population = content.get("population")
    if not isinstance(population, dict):
        return None
    sampled, items = population.get("sampled"), population.get("items")
    return (sampled, items) if isinstance(sampled, int) and isinstance(items, int) else None


def settings_of(content: dict[str, Json], folder: Path) -> tuple[Settings, PlainDataset]:
    """Return the settings of the baseline and its dataset's declaration.

    Raises:
        InputError: one of them is missing or invalid.
    """
    made = content.get("provenance")
    given = made.get("parameters") if isinstance(made, dict) else None
    if not isinstance(given, dict):
        raise InputError(
            "the settings of the baseline are missing",
            file=folder / "baseline.json",
            field="provenance.parameters",
        )
    votes, rules = given.get("min_votes"), given.get("normalise")
    aggregator = next((name for name in get_args(Aggregator) if name == given.get("aggregator")), None)
    resolve = next((name for name in get_args(Resolve) if name == given.get("resolve")), None)
    if not (isinstance(votes, int) or votes == "majority") or aggregator is None or resolve is None:
        raise InputError(
            "min_votes, aggregator or resolve is missing or invalid",
            file=folder / "baseline.json",
            field="provenance.parameters",
        )
    declaration = read_declaration_json(content.get("declaration"))
    if declaration is None:
        raise InputError(
            "the dataset's declaration is missing or invalid: the folder may come from another version of Merilo",
            file=folder / "baseline.json",
            field="declaration",
        )
    names = tuple(str(rule) for rule in rules) if isinstance(rules, list) else ()
    min_votes: int | Literal["majority"] = votes if isinstance(votes, int) else "majority"
    adaptive = given.get("adaptive")
    made_with = Settings(
        min_votes=min_votes, aggregator=aggregator, resolve=resolve, normalise=names,
        adaptive=adaptive if isinstance(adaptive, str) else None,
    )  # fmt: skip
    return made_with, declaration


def has_criteria(folder: Path) -> bool:
    """Return whether the gold answers of a baseline have a label for each criterion, so that it has several main metrics.

    Raises:
        InputError: the folder has no valid summary.
    """
    return bool(settings_of(read_summary(folder), folder)[1].answer.criteria)


def status_of(content: dict[str, Json]) -> tuple[str, tuple[str, ...]]:
    """Return the baseline's status and the reasons for it."""
    reasons = content.get("reasons")
    return str(content.get("status")), tuple(map(str, reasons)) if isinstance(reasons, list) else ()


def cluster_field_of(content: dict[str, Json]) -> str | None:
    """Return the field of the clusters of the baseline's items."""
    clusters = content.get("clusters")
    field = clusters.get("field") if isinstance(clusters, dict) else None
    return field if isinstance(field, str) else None
