"""The options of `merilo run`, shared by the library and the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from merilo.errors import UsageError, argument
from merilo.models.asking import ModelBackend
from merilo.models.backends import RateLimits
from merilo.models.prompt_settings import PromptSettings
from merilo.models.run_budget import Price


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What a run asks, and how.

    Attributes:
        model: the backend's name, or a backend.
        datasets: names of datasets, or paths of declarations.
        model_args: the backend's arguments by name.
        data: a folder of items, or one file.
        study: the folder of a study.
        settings: the settings of requests.
        samples: how many answers to each item.
        limit: how many of the first items of each dataset.
        contamination: whether to make the contamination check.
        limits: the limits of requests and tokens a minute.
        price: the price of tokens.
        max_usd: the most that the run may cost.
        max_requests: the most requests of the run.
        device: where local weights are put.
        command: the command, for the record.
    """

    model: str | ModelBackend
    datasets: Sequence[str] = ()
    model_args: Mapping[str, str] = field(default_factory=dict)
    data: Path | None = None
    study: Path | None = None
    settings: PromptSettings = field(default_factory=PromptSettings)
    samples: int | None = None
    limit: int | None = None
    contamination: bool = False
    limits: RateLimits = field(default_factory=RateLimits)
    price: Price | None = None
    max_usd: float | None = None
    max_requests: int | None = None
    device: str | None = None
    command: str = "merilo.run"


def price_given(price_in: float | None, price_out: float | None) -> Price | None:
    """Return the price that two arguments give, or `None` if neither is given.

    Raises:
        UsageError: one price is missing, or a price is negative.
    """
    if price_in is None and price_out is None:
        return None
    if price_in is None or price_out is None:
        raise UsageError(f"{argument('price_in')} and {argument('price_out')} need each other")
    return Price(price_in, price_out)
