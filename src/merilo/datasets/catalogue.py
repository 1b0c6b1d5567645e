"""The built-in datasets, declared in `catalogue.toml`."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final

from merilo.datasets.declaration import Answer, Dataset, HumanFigure, Shots


def _declarations() -> dict[str, Dataset]:
    held = tomllib.loads((files("merilo.datasets") / "catalogue.toml").read_text("utf-8"))
    return {
        name: _declared(name, held["datasets"][name], held["sources"]) for name in sorted(held["datasets"])
    }


def _declared(name: str, given: dict[str, Any], sources: dict[str, dict[str, Any]]) -> Dataset:
    human = (one | sources[one["source"]] for one in given.pop("human"))
    answer, shots = _tuples(given.pop("answer")), given.pop("shots", {})
    return Dataset(
        name=name,
        answer=Answer(**answer),
        shots=Shots(**shots),
        human=tuple(HumanFigure(n=one.pop("n", None), **one) for one in human),
        **_tuples(given),
    )


def _tuples(value: Any) -> Any:  # noqa: ANN401 - any value of a TOML file
    """Return a value with its lists as tuples."""
    if isinstance(value, dict):
        return {name: _tuples(inner) for name, inner in value.items()}
    return tuple(value) if isinstance(value, list) else value


#: Name -> declaration, in the alphabetical order of names.
CATALOGUE: Final = MappingProxyType(_declarations())
