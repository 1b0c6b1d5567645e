"""The plan of a run: the rendered requests with an estimate of tokens and cost, before anything is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from merilo.models.asked_dataset import AskedDataset
from merilo.models.asking import Request
from merilo.models.run_budget import UNLIMITED_TOKENS, Price, estimated_tokens
from merilo.strict_json import Json


@dataclass(frozen=True, slots=True)
class DatasetPlan:
    """The requests of one dataset.

    Attributes:
        title: the dataset's title.
        items: items that are asked.
        samples: answers to each item.
        requests: the request of each item.
        prompt_tokens: the estimated tokens of all requests. Earlier turns of dialogues are not part of it.
        completion_tokens: the most tokens of all answers.
        usd: the most that the dataset is expected to cost; `None` without a price.
        refused: items that the backend cannot be asked.
    """

    title: str
    items: int
    samples: int
    requests: tuple[Request, ...]
    prompt_tokens: int
    completion_tokens: int
    usd: float | None
    refused: int = 0

    @property
    def count(self) -> int:
        """How many requests are sent."""
        return self.items * self.samples


@dataclass(frozen=True, slots=True)
class RunPlan:
    """The requests of a run.

    Attributes:
        model: the model's name.
        datasets: the plan of each dataset by name.
    """

    model: str
    datasets: dict[str, DatasetPlan]

    @property
    def usd(self) -> float | None:
        """The most that the run is expected to cost in US dollars; `None` without a price."""
        known = [one.usd for one in self.datasets.values() if one.usd is not None]
        return sum(known) if known else None

    def to_dict(self) -> dict[str, Json]:
        """Return the plan as JSON, with every request as it is rendered."""
        return {
            "model": self.model,
            "usd": self.usd,
            "datasets": {
                name: {
                    "title": one.title,
                    "items": one.items,
                    "samples": one.samples,
                    "requests": one.count,
                    "prompt_tokens": one.prompt_tokens,
                    "completion_tokens": one.completion_tokens,
                    "usd": one.usd,
                    "refused_media": one.refused,
                    "rendered": [rendered(request) for request in one.requests],
                }
                for name, one in self.datasets.items()
            },
        }


def rendered(request: Request) -> dict[str, Json]:
    """Return a request as JSON."""
    content: dict[str, Json] = {"item": request.item, "sha256": request.sha256}
    if request.messages:
        content["messages"] = [{"role": one.role, "content": one.text} for one in request.messages]
    else:
        content["prompt"] = request.prompt
    if request.choices:
        content["choices"] = list(request.choices)
        return content
    return content | {
        "stop": list(request.stop),
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "seed": request.seed,
    }


def plan_of(asked: Sequence[AskedDataset], model: str, price: Price | None) -> RunPlan:
    """Render the requests of datasets and estimate their tokens and cost.

    Raises:
        DataError: an item cannot be rendered.
    """
    return RunPlan(model, {one.declared.name: _dataset(one, price) for one in asked})


def _dataset(asked: AskedDataset, price: Price | None) -> DatasetPlan:
    requests = tuple(asked.first_requests())
    times = asked.samples
    prompt = sum(estimated_tokens(one) * max(1, len(one.choices)) for one in requests) * times
    completion = sum(
        len(one.choices) if one.choices else one.max_tokens or UNLIMITED_TOKENS for one in requests
    )
    return DatasetPlan(
        asked.declared.title,
        len(asked.split),
        times,
        requests,
        prompt,
        completion * times,
        None if price is None else price.of(prompt, completion * times),
        len(asked.refused),
    )
