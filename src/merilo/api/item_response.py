"""`merilo.item_response`: people and models on one scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from merilo.api.comparison import Answers, samples_of
from merilo.baselines.ability_scale import AbilityScale, ability_scale
from merilo.baselines.baseline_reader import read_stored_baseline, stored_baseline_of
from merilo.errors import UsageError, argument
from merilo.reports.ability_scale import scale_chart, scale_summary
from merilo.reports.baseline import BaselineResult
from merilo.statistics.item_response import ItemModel
from merilo.strict_json import Json


@dataclass(frozen=True, slots=True)
class ScaleResult:
    """People and models on one scale.

    Attributes:
        scale: the fitted model, the items' information, and the models' locations.
    """

    scale: AbilityScale

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what limits the estimates, a sentence each."""
        return tuple(warning.en for warning in self.scale.warnings)

    def to_dict(self) -> dict[str, Json]:
        """Return the scale as JSON, as `merilo scale --json` prints it."""
        return scale_summary(self.scale)

    def chart(self) -> str:
        """Return people, models and items on one axis, as the text of an SVG file."""
        return scale_chart(self.scale)

    def __repr__(self) -> str:
        people = self.scale.people
        best = f", best tenth above {people.best_tenth:+.2f}" if self.scale.ranked else ""
        lines = [f"median person 0.00{best} (logits)"]
        for one in self.scale.models:
            found = one.location
            lines.append(
                f"{one.model}: {found.ability:+.2f} [{found.interval.low:+.2f}, {found.interval.high:+.2f}]"
                + (f", above {found.below:.0%} of people" if self.scale.ranked else "")
            )
        return "\n".join(lines)


def item_response(
    baseline: BaselineResult | str | Path,
    models: Mapping[str, Answers] | Sequence[str | Path] = (),
    *,
    model: ItemModel = "rasch",
    data: str | Path | None = None,
) -> ScaleResult:
    """Fit an item-response model to people's answers and place models on its scale.

    Args:
        baseline: the result of `baseline`, or the folder of a baseline.
        models: the models' answers, as `compare` takes them; a model may have answered only a part of the items.
        model: "rasch", or "2pl" with a discrimination for each item.
        data: the items with ids and gold answers, if the baseline was computed without gold.

    Raises:
        UsageError: the model is unknown, or answers of the dataset are neither right nor wrong.
        InputError: answers cannot be read.
        DataError: there are fewer than three people or two items, all answers are equal, or no item has a gold answer.
    """
    if model not in {"rasch", "2pl"}:
        raise UsageError(f"there is no item-response model '{model}' (choose from: rasch, 2pl)")
    if isinstance(models, str | Path):
        raise UsageError("takes models by name, or several files", field=argument("models"))
    if data is not None and isinstance(baseline, BaselineResult):
        raise UsageError("is for the folder of a baseline: give gold to baseline", field=argument("data"))
    people = (
        stored_baseline_of(baseline.details)
        if isinstance(baseline, BaselineResult)
        else read_stored_baseline(Path(baseline), data=None if data is None else Path(data))
    )
    given: list[tuple[str, Answers]] = (
        [*models.items()] if isinstance(models, Mapping) else [(str(path), path) for path in models]
    )
    with TemporaryDirectory() as place:
        samples = [
            samples_of(name, answers, people, Path(place), keep=not isinstance(models, Mapping))
            for name, answers in given
        ]
    return ScaleResult(ability_scale(people, samples, model=model))
