"""People and models on one scale: an item-response model of a baseline's answers, with models placed on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from merilo.baselines.baseline_reader import StoredBaseline
from merilo.baselines.model_answers import Samples
from merilo.baselines.model_comparison import model_scores, people_scores
from merilo.datasets.declaration import undeclared
from merilo.errors import DataError, UsageError
from merilo.people.uncertainty.percentile_rank import LEAST_RANKED
from merilo.statistics import FloatArray
from merilo.statistics.item_location import (
    ItemInformation,
    Location,
    PeopleOnScale,
    information,
    locate,
    people_on_scale,
)
from merilo.statistics.item_response import ItemModel, ItemResponseFit, fit_item_response
from merilo.text import Text

#: With fewer answers an item, difficulties are mostly what their prior says.
FEW_ANSWERS: Final = 3.0
#: Below this spread of abilities, in logits, people do not differ beyond chance.
NO_SPREAD: Final = 0.1
#: A model does not fit the scale if its answers depend on the people's difficulties less than half as strongly as
#: people's do, and chance does not explain this (one-sided, 5 %).
LEAST_DEPENDENCE: Final = 0.5
_UNLIKELY: Final = -1.645


@dataclass(frozen=True, slots=True)
class ModelLocation:
    """One model on the scale.

    Attributes:
        model: the model's name.
        items: how many of the baseline's items it answered.
        score: the mean score of its answers.
        location: its ability.
        places: shape (items,), the places of these items in the baseline.
        scores: shape (items,), the share of correct answers to each of them.
    """

    model: str
    items: int
    score: float
    location: Location
    places: tuple[int, ...]
    scores: FloatArray

    @property
    def fits(self) -> bool:
        """Whether its answers depend on the people's difficulties, so that its place on the scale has a meaning."""
        found = self.location
        return found.dependence >= LEAST_DEPENDENCE or found.dependence_z > _UNLIKELY

    def places_of(self, rows: Sequence[int]) -> list[int]:
        """Return the places in the baseline of items given by their positions in `places`."""
        return [self.places[row] for row in rows]


@dataclass(frozen=True, slots=True)
class AbilityScale:
    """People, items and models on one scale.

    Attributes:
        baseline: the baseline.
        fit: the item-response model of people's answers.
        people: the distribution of people's ability.
        information: what each item tells about people.
        models: the models.
        exact: whether answers were compared for equality although the dataset's metric gives shares of a point.
        warnings: what limits the estimates, a sentence each.
    """

    baseline: StoredBaseline
    fit: ItemResponseFit
    people: PeopleOnScale
    information: ItemInformation
    models: tuple[ModelLocation, ...]
    exact: bool
    warnings: tuple[Text, ...]

    @property
    def ranked(self) -> bool:
        """Whether there are enough people, who differ beyond chance, to show ranks among them."""
        return self.why_no_ranks is None

    @property
    def why_no_ranks(self) -> Text | None:
        """Why the best tenth of people and the share of people below a model are not shown; `None` if they are."""
        n = len(self.baseline.annotators)
        if n < LEAST_RANKED:
            return Text(
                "no ranks among people: they need at least {least} annotators, and there are {n}",
                least=LEAST_RANKED,
                n=n,
            )
        if self.fit.spread < NO_SPREAD:
            return Text("no ranks among people: they do not differ beyond chance")
        return None


def ability_scale(
    crowd: StoredBaseline, models: Sequence[Samples], *, model: ItemModel = "rasch"
) -> AbilityScale:
    """Fit an item-response model to people's answers and place models on its scale.

    The scale comes from people alone, so that no model changes it. A model with several samples of an item
    has the share of correct ones as its score, with the weight of one answer.

    Args:
        crowd: the people of the baseline, with gold.
        models: the models' answers; a model may have answered only a part of the items.
        model: "rasch", or "2pl" with a discrimination for each item.

    Raises:
        UsageError: a file is given for two models, or answers of the dataset are neither right nor wrong.
        DataError: there are too few people or items, all answers are equal, or a model answered none of the items.
    """
    files = [one.file for one in models]
    if twice := next((file for file in files if files.count(file) > 1), None):
        raise UsageError(f"{twice} is given twice: give each file once")
    if crowd.declaration.answer.kind == "criteria":
        raise UsageError(
            f"{crowd.metric} of {crowd.declaration.name} has no right or wrong answers to single "
            "items, so an item-response model cannot be fitted"
        )
    exact = crowd.metric not in {"acc", "em"}
    scored = replace(crowd, declaration=undeclared("acc")) if exact else crowd
    votes, score = crowd.votes, people_scores(scored)
    try:
        fit = fit_item_response(
            votes.annotator, votes.item, score, respondents=votes.annotators, items=votes.items, model=model
        )
    except DataError as error:
        raise DataError(error.message, file=crowd.folder) from error
    located = tuple(_located(scored, fit, one) for one in models)
    return AbilityScale(
        crowd,
        fit,
        people_on_scale(fit),
        information(fit),
        located,
        exact,
        tuple(_warnings(crowd, fit, located, exact=exact)),
    )


def _located(crowd: StoredBaseline, fit: ItemResponseFit, model: Samples) -> ModelLocation:
    places = [place for place, name in enumerate(crowd.names) if name in model.answers]
    if not places:
        raise DataError(f"answers none of the {len(crowd.names)} items of {crowd.folder}", file=model.file)
    given = [model.answers[crowd.names[place]] for place in places]
    scores = model_scores(crowd, places, given)
    known = np.isfinite(fit.difficulty[places])
    if not known.any():
        raise DataError(f"no annotator answered an item that {model.model} answered", file=model.file)
    kept = tuple(place for place, usable in zip(places, known.tolist(), strict=True) if usable)
    return ModelLocation(
        model.model,
        len(kept),
        float(scores[known].mean()),
        locate(fit, np.asarray(kept), scores[known]),
        kept,
        scores[known],
    )


def _warnings(
    crowd: StoredBaseline, fit: ItemResponseFit, models: Sequence[ModelLocation], *, exact: bool
) -> Iterator[Text]:
    for one in models:
        if not one.fits and one.location.dependence < 0:
            yield Text(
                "{model} fails items that are easy for people more often than hard ones, so its place on this scale "
                "means nothing",
                model=one.model,
            )
        elif not one.fits:
            yield Text(
                "the answers of {model} hardly depend on how difficult items are for people, so its place on this "
                "scale means nothing",
                model=one.model,
            )
    if not fit.converged:
        yield Text(
            "the item-response model has not converged after {n:# iteration|# iterations}",
            n=fit.iterations,
        )
    if exact:
        yield Text(
            "{metric} gives no right or wrong answers: an answer counts as correct if it equals the gold answer",
            metric=crowd.metric,
        )
    each = float(fit.answers[fit.answers > 0].mean())
    if each < FEW_ANSWERS:
        yield Text(
            "an item has {each:.1f} answers on average: difficulties of single items are mostly what the model "
            "expects of any item",
            each=each,
        )
    if fit.spread < NO_SPREAD:
        yield Text("people do not differ beyond chance: the share of people below a model is not reliable")
    if crowd.clusters and crowd.clusters.code:
        yield Text(
            "items with the same '{field}' count as independent here: the standard errors on this scale are "
            "too small",
            field=crowd.clusters.field,
        )
