"""The rank of a model among people, with the chance in people's scores removed."""

import numpy as np
import pytest
from scipy import integrate, stats

from merilo.errors import DataError
from merilo.people.uncertainty.percentile_rank import CARELESS, NODES, _Abilities, _masses, percentile_rank
from merilo.people.votes import Votes


def crowd(
    seed: int,
    *,
    people: int = 40,
    answers: int = 25,
    centre: float = 1.5,
    spread: float = 0.8,
    model: float = 1.5,
) -> tuple[Votes, np.ndarray, np.ndarray]:
    """Everybody answers items of their own, all equally hard; abilities are normal in logits."""
    rng = np.random.default_rng(seed)
    ability = centre + spread * rng.standard_normal(people)
    annotator = np.repeat(np.arange(people, dtype=np.int32), answers)
    n = annotator.size
    right = rng.random(n) < 1 / (1 + np.exp(-ability[annotator]))
    theirs = rng.random(n) < 1 / (1 + np.exp(-model))
    item = np.arange(n, dtype=np.int32)
    return (
        Votes(item, annotator, np.zeros(n, np.int32), n, people, 1),
        right.astype(float),
        theirs.astype(float),
    )


def ranked(study: tuple[Votes, np.ndarray, np.ndarray]) -> tuple[float, float, float]:
    share, interval, _ = percentile_rank(*study)
    return share, interval.low, interval.high


def test_a_model_above_84_percent_of_people_is_reported_there_although_people_answer_little() -> None:
    found = [ranked(crowd(seed, model=1.5 + 0.8)) for seed in range(40)]
    assert np.mean([share for share, _, _ in found]) == pytest.approx(0.84, abs=0.03)
    assert sum(low <= stats.norm.cdf(1) <= high for _, low, high in found) >= 35
    # The plain share of people below it is drawn towards one half.
    study = crowd(0, people=2000, model=2.3)
    votes, score, model = study
    own = np.bincount(votes.annotator, score) / 25
    rival = np.bincount(votes.annotator, model) / 25
    assert np.mean(own < rival) + np.mean(own == rival) / 2 < 0.79
    assert ranked(study)[0] == pytest.approx(0.84, abs=0.03)


def test_the_rank_of_many_is_the_share_of_true_scores_below_the_model() -> None:
    share, low, high = ranked(crowd(1, people=1000, answers=60, model=1.0))
    assert share == pytest.approx(stats.norm.cdf(-0.5 / 0.8), abs=0.05)
    assert high - low < 0.2


def test_a_few_careless_annotators_hardly_move_the_rank_among_the_others() -> None:
    votes, score, model = crowd(2, people=300, answers=50, model=2.3)
    guessing = votes.annotator < 24
    score[guessing] = np.random.default_rng(0).random(int(guessing.sum())) < 0.3
    share, low, high = ranked((votes, score, model))
    true = 0.92 * stats.norm.cdf(1) + 0.08
    assert share == pytest.approx(true, abs=0.06)
    assert low <= true <= high


def test_the_fitted_share_is_the_integral_of_the_masses() -> None:
    at = np.array([1.0, np.log(0.7), -2.0, 0.3])
    careless = 1 / (1 + np.exp(2.0))
    below, above = 0.7 * np.exp(0.3), 0.7 * np.exp(-0.3)

    def density(x: float) -> float:
        spread = below if x < 1 else above
        careful = stats.norm.pdf((x - 1) / spread) * 2 / (below + above)
        return (1 - careless) * careful + careless * stats.uniform.pdf(x, 1 - CARELESS, CARELESS)

    by_hand = integrate.quad(density, -10, 0.5, points=[-5.0])[0]
    assert _Abilities.below(at, 1 / (1 + np.exp(-0.5))) == pytest.approx(by_hand, abs=1e-6)
    middles = np.array([integrate.quad(density, x - 0.0625, x + 0.0625)[0] for x in NODES])
    assert _masses(at) == pytest.approx(middles, abs=1e-6)


@pytest.mark.parametrize("sloppy", [0.0, 0.25])
def test_sloppy_people_do_not_lower_the_rank_of_a_very_good_model(sloppy: float) -> None:
    rng = np.random.default_rng(0)
    ability = np.where(rng.random(4000) < sloppy, 0.3, 1.8) + 0.8 * rng.standard_normal(4000)
    right = 1 / (1 + np.exp(-ability))
    fitted = _Abilities.fit(rng.binomial(40, right) / 40, np.full(4000, 40.0))
    share = fitted.below(fitted.at, float(np.quantile(right, 0.95)))
    assert share == pytest.approx(0.95, abs=0.01)


def test_everybody_perfect_leaves_the_rank_of_a_perfect_model_open() -> None:
    votes, score, model = crowd(3)
    share, low, high = ranked((votes, np.ones_like(score), np.ones_like(model)))
    assert 0 < low < share < high <= 1
    assert high - low > 0.5
    assert ranked((votes, np.ones_like(score), np.zeros_like(model)))[2] < 0.09


def test_people_without_spread_are_all_below_a_much_better_model_and_above_a_much_worse_one() -> None:
    assert ranked(crowd(4, spread=0.0, centre=0.0, model=3.0))[0] > 0.98
    assert ranked(crowd(4, spread=0.0, centre=0.0, model=-3.0))[0] < 0.02


def test_three_people_give_a_wide_interval_and_one_person_says_nothing() -> None:
    _, low, high = ranked(crowd(5, people=3))
    assert high - low > 0.6
    share, low, high = ranked(crowd(6, people=1, model=6.0))
    assert (share, low, high) == (1.0, 0.0, 1.0)


def test_partial_points_are_ranked_too() -> None:
    votes, score, model = crowd(7, people=100)
    share, low, high = ranked((votes, 0.25 + 0.5 * score, 0.25 + 0.5 * model))
    assert low < 0.5 < high
    assert 0 < share < 1


def test_annotators_with_few_answers_are_left_out() -> None:
    votes, score, model = crowd(8, people=5, answers=9)
    with pytest.raises(DataError, match="no annotator answered enough"):
        percentile_rank(votes, score, model)
    assert percentile_rank(votes, score, model, min_answers=9)[2] == 5


def full_study(people: int, items: int, right: float, seed: int = 0) -> tuple[Votes, np.ndarray]:
    """Everybody answers every item."""
    item, annotator = (a.astype(np.int32) for a in np.divmod(np.arange(people * items), people))
    score = (np.random.default_rng(seed).random(item.size) < right).astype(float)
    return Votes(item, annotator, np.zeros_like(item), items, people, 1), score


@pytest.mark.parametrize("people", [3, 10, 30])
def test_people_who_are_all_below_a_model_cannot_show_that_nobody_is_above(people: int) -> None:
    votes, score = full_study(people, 300, 0.6)
    share, interval, _ = percentile_rank(votes, score, np.ones(300))
    assert share > 0.99
    assert interval.low <= stats.beta.ppf(0.025, people, 1) + 1e-12


def test_without_any_error_the_rank_is_not_known() -> None:
    votes, score = full_study(20, 100, 2.0)
    _, interval, _ = percentile_rank(votes, score, np.ones(100))
    assert interval.low < 0.05
    assert interval.high > 0.95
