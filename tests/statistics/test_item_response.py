"""Item-response models against a brute-force likelihood and simulated people with known abilities; girth is in `test_independent_references`."""

import numpy as np
import pytest
from every import every
from scipy.optimize import minimize
from scipy.special import expit

from merilo.errors import DataError
from merilo.statistics.item_location import expected_score, information, locate, people_on_scale
from merilo.statistics.item_response import ItemResponseFit, fit_item_response

SLOPES = np.array([0.7, 1.0, 1.4, 0.8, 1.2, 1.0, 1.6, 0.9])


def test_paper() -> np.ndarray:
    """Right and wrong answers of 400 people to 8 items."""
    rng = np.random.default_rng(7)
    ability, difficulty = rng.normal(0, 1, 400), np.linspace(-1.5, 1.5, 8)
    return (rng.random((400, 8)) < expit(SLOPES * (ability[:, None] - difficulty))).astype(float)


test_paper.__test__ = False  # type: ignore[attr-defined]


def fitted(table: np.ndarray, model: str = "rasch", **options: object) -> ItemResponseFit:
    """Fit a table of people by items; `nan` is a missing answer."""
    person, item = np.nonzero(~np.isnan(table))
    return fit_item_response(
        person, item, table[person, item], respondents=table.shape[0], items=table.shape[1], model=model, **options
    )  # fmt: skip


def exact(table: np.ndarray, model: str = "rasch") -> ItemResponseFit:
    return fitted(table, model, shrink=False, nodes=25, tolerance=1e-7, iterations=5000)


def brute_force(table: np.ndarray, model: str) -> tuple[float, np.ndarray, np.ndarray]:
    """Maximise the marginal likelihood, integrated over 400 equal steps of ability; return it, slopes and intercepts."""
    theta = np.linspace(-8, 8, 401)
    density = np.exp(-(theta**2) / 2) / np.sqrt(2 * np.pi) * (theta[1] - theta[0])
    items = table.shape[1]

    def minus(parameters: np.ndarray) -> float:
        slope = np.exp(parameters[items:]) * np.ones(items)
        p = expit(slope[:, None] * theta + parameters[:items, None])
        given = np.where(np.isnan(table), 0.0, table)
        asked = ~np.isnan(table)
        each = given @ np.log(p) + (asked * (1 - given)) @ np.log(1 - p)
        return -float(np.log(np.exp(each) @ density).sum())

    start = np.zeros(items + (1 if model == "rasch" else items))
    best = minimize(minus, start, method="BFGS", options={"gtol": 1e-6})
    return -float(best.fun), np.exp(best.x[items:]) * np.ones(items), best.x[:items]


@every("model", ["rasch", "2pl"])
def test_missing_answers_leave_the_maximum_of_the_marginal_likelihood(model: str) -> None:
    table = test_paper()[:150, :4].copy()
    table[np.random.default_rng(0).random(table.shape) < 0.15] = np.nan
    likelihood, slope, intercept = brute_force(table, model)
    fit = exact(table, model)
    assert fit.converged
    assert fit.log_likelihood == pytest.approx(likelihood, abs=1e-3)
    assert fit.discrimination * fit.spread == pytest.approx(slope, rel=0.01)
    assert -fit.discrimination * fit.difficulty == pytest.approx(intercept, abs=0.01)


def test_standard_errors_are_those_of_the_curvature_of_the_likelihood() -> None:
    # Repeated tables: the errors must predict how difficulties vary between samples of people.
    difficulty = np.linspace(-1.5, 1.5, 6)
    found, errors = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        ability = rng.normal(0, 1.2, 300)
        ability -= ability.mean()
        fit = exact((rng.random((300, 6)) < expit(ability[:, None] - difficulty)).astype(float))
        found.append(fit.difficulty)
        errors.append(fit.difficulty_error)
    assert np.std(found, axis=0) == pytest.approx(np.mean(errors, axis=0), rel=0.35)


def crowd(
    seed: int, people: int = 40, items: int = 150, overlap: int = 10, spread: float = 1.0
) -> tuple[ItemResponseFit, np.ndarray, np.ndarray]:
    """A crowd of which each item has few answers; the fit, the abilities and the difficulties."""
    rng = np.random.default_rng(seed)
    ability, difficulty = rng.normal(0, spread, people), rng.normal(-1, 1, items)
    item = np.repeat(np.arange(items), overlap)
    person = np.concatenate([rng.choice(people, overlap, replace=False) for _ in range(items)])
    score = (rng.random(len(item)) < expit(ability[person] - difficulty[item])).astype(float)
    return fit_item_response(person, item, score, respondents=people, items=items), ability, difficulty


def test_abilities_and_difficulties_of_a_simulated_crowd_are_recovered() -> None:
    fit, ability, difficulty = crowd(1)
    centred = ability - ability.mean()
    assert np.corrcoef(fit.ability, ability)[0, 1] > 0.9
    assert np.corrcoef(fit.difficulty, difficulty)[0, 1] > 0.65
    assert np.sqrt(np.mean((fit.ability - centred) ** 2)) < 1.3 * np.sqrt(np.mean(fit.ability_error**2))
    assert fit.spread == pytest.approx(ability.std(), rel=0.25)


def test_the_interval_of_a_models_ability_covers_it() -> None:
    covered, estimates = 0, []
    for seed in range(40):
        fit, _, difficulty = crowd(seed, people=24, overlap=5)
        answers = np.random.default_rng(1000 + seed).random(150) < expit(1.0 - difficulty)
        found = locate(fit, np.arange(150), answers.astype(float))
        estimates.append(found.ability)
        covered += found.interval.low <= 1.0 <= found.interval.high
    assert covered >= 34  # 0.85; the expected number is 38, and its standard deviation 1.4
    assert np.mean(estimates) == pytest.approx(1.0, abs=0.12)


def test_the_dependence_tells_reversed_difficulties_from_those_of_people() -> None:
    rng = np.random.default_rng(0)
    like, reversed_, covered = 0, 0, 0
    for seed in range(40):
        fit, _, difficulty = crowd(seed, people=12, items=100, overlap=5)
        people_like = locate(fit, np.arange(100), (rng.random(100) < expit(-difficulty)).astype(float))
        other = locate(fit, np.arange(100), (rng.random(100) < expit(2 + difficulty)).astype(float))
        like += people_like.dependence < 0.5 and people_like.dependence_z < -1.645
        reversed_ += other.dependence < 0.5 and other.dependence_z < -1.645
        covered += people_like.interval.low <= 0 <= people_like.interval.high
    assert like <= 4  # 5 % of 40 are 2
    assert reversed_ >= 36
    assert covered >= 35  # 0.92 of 40 are 36.8, and their standard deviation is 1.7


def test_a_respondent_who_errs_where_people_do_not_has_a_high_infit() -> None:
    fit, _, difficulty = crowd(3)
    easy = difficulty < np.median(difficulty)
    like_people = locate(fit, np.arange(150), easy.astype(float))
    unlike = locate(fit, np.arange(150), (~easy).astype(float))
    assert like_people.infit < 0.9
    assert unlike.infit > 1.3
    assert unlike.infit_z > 3
    assert np.argmin(unlike.surprise) in np.flatnonzero(easy)


def test_a_perfect_respondent_has_a_finite_ability_above_nearly_everybody() -> None:
    fit, _, _ = crowd(4)
    found = locate(fit, np.arange(150), np.ones(150))
    assert np.isfinite(found.ability)
    assert found.below > 0.99
    assert found.below_interval.low < found.below <= found.below_interval.high


def test_the_expected_score_of_the_median_person_is_near_the_share_of_correct_answers() -> None:
    fit, _, _ = crowd(5, spread=0.3)
    people = people_on_scale(fit)
    assert people.median_score == pytest.approx(fit.right.sum() / fit.answers.sum(), abs=0.02)
    assert people.best_tenth_score > people.median_score
    assert expected_score(fit, -50) < 0.01


def test_items_that_everybody_solves_tell_nothing() -> None:
    rng = np.random.default_rng(0)
    ability = rng.normal(0, 1, 300)
    difficulty = np.array([-6.0] * 5 + [0.0] * 10 + [6.0] * 5)
    told = information(fitted((rng.random((300, 20)) < expit(ability[:, None] - difficulty)).astype(float)))
    assert told.too_easy[:5].min() > 0.9
    assert told.too_hard[15:].min() > 0.9
    assert max(told.too_easy[5:15].max(), told.too_hard[5:15].max()) < 0.01
    assert told.information[5:15].min() > 5 * told.information[:5].max()


def test_without_shrinkage_an_item_that_all_solve_has_no_finite_difficulty() -> None:
    table = test_paper()[:, :5].copy()
    table[:, 0] = 1
    fit = exact(table)
    rest = exact(table[:, 1:])
    assert fit.difficulty[0] == -np.inf
    assert fit.difficulty[1:] == pytest.approx(rest.difficulty, abs=1e-4)
    assert information(fit).too_easy[0] == 1


def test_infit_is_one_for_items_that_fit_and_high_for_one_that_is_answered_at_random() -> None:
    rng = np.random.default_rng(2)
    ability, difficulty = rng.normal(0, 1.5, 500), np.linspace(-1, 1, 10)
    table = (rng.random((500, 10)) < expit(ability[:, None] - difficulty)).astype(float)
    table[:, 4] = rng.random(500) < 0.5
    fit = fitted(table)
    assert fit.infit[4] > 1.2
    assert fit.infit_z[4] > 5
    assert np.delete(fit.infit, 4) == pytest.approx(np.ones(9), abs=0.12)


@every(
    "people, items, score, said",
    [
        ([0, 0, 1, 1], [0, 1, 0, 1], [1, 0, 1, 1], "at least 3 respondents; there are 2"),
        ([0, 1, 2], [0, 0, 0], [1, 0, 1], "at least 2 items; there is 1"),
        ([0, 1, 2], [0, 1, 1], [1, 1, 1], "all 3 answers are correct"),
    ],
)
def test_too_little_to_fit_is_said(people: list[int], items: list[int], score: list[int], said: str) -> None:
    with pytest.raises(DataError, match=said):
        fit_item_response(np.array(people), np.array(items), np.array(score, float), respondents=3, items=2)
