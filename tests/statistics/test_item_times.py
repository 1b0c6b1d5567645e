"""Item times from people's times: against the analysis of variance, and in simulated pages with several items or a time limit."""

import numpy as np
import pytest

from merilo.statistics.item_times import ItemTimes, Pages, fast_guessers, item_times


def complete(items: int, people: int, seed: int) -> tuple[np.ndarray, Pages]:
    """Log times of a table in which everyone answers every item, and its pages."""
    random = np.random.default_rng(seed)
    table = (
        random.normal(4, 1, (items, 1))
        + random.normal(0, 0.6, people)
        + random.normal(0, 0.5, (items, people))
    )
    item, person = np.divmod(np.arange(items * people), people)
    return table, Pages(np.arange(item.size), item, person, np.exp(table.ravel()), item < 0, items, people)


@pytest.mark.parametrize(("items", "people"), [(12, 5), (6, 15)])
def test_variances_of_a_complete_table_are_those_of_the_analysis_of_variance(items: int, people: int) -> None:
    table, pages = complete(items, people, 3)
    found = item_times(pages)
    rows, columns, mean = table.mean(axis=1), table.mean(axis=0), table.mean()
    rest = table - rows[:, None] - columns + mean
    noise = (rest**2).sum() / ((items - 1) * (people - 1))
    assert found.noise == pytest.approx(noise**0.5, rel=0.01)
    assert found.spread == pytest.approx((rows.var(ddof=1) - noise / people) ** 0.5, rel=0.02)
    assert found.person_spread == pytest.approx((columns.var(ddof=1) - noise / items) ** 0.5, rel=0.02)
    # Everybody answered every item, so people's effects cancel out between items, and shift all items alike.
    assert np.diff(found.measured) == pytest.approx(np.diff(rows), rel=0.03, abs=0.01)
    assert found.shared.sum(axis=1) == pytest.approx(1.0, abs=1e-6)
    assert found.error == pytest.approx(found.noise**2 / people, rel=0.15)
    # The standard error of the logarithm of a variance estimate with f degrees of freedom is the root of 2 / f.
    assert found.noise_error == pytest.approx((2 / ((items - 1) * (people - 1))) ** 0.5, rel=0.1)


def drawn(page: int, limit: float, seed: int = 2, items: int = 60) -> tuple[np.ndarray, Pages]:
    random = np.random.default_rng(seed)
    log_time, person = random.normal(4, 1, items), random.normal(0, 0.4, 12)
    held = np.concatenate([random.permutation(items) for _ in range(6)]).reshape(-1, page)
    who = random.integers(12, size=held.shape[0])
    seconds = np.exp(log_time[held] + person[who][:, None] + random.normal(0, 0.5, held.shape)).sum(axis=1)
    rows = np.repeat(np.arange(held.shape[0]), page)
    cut = seconds > limit
    return log_time, Pages(rows, held.ravel(), who, np.minimum(seconds, limit), cut, items, 12)


def slope(truth: np.ndarray, found: ItemTimes) -> float:
    """How measured times grow with true ones: 1 without attenuation."""
    return float(np.polyfit(truth, found.measured, 1)[0])


def test_times_that_were_cut_off_are_extended_beyond_the_limit() -> None:
    truth, pages = drawn(1, 90.0)
    assert pages.censored.mean() > 0.2
    found = item_times(pages)
    assert slope(truth, found) == pytest.approx(1, abs=0.12)
    as_given = Pages(
        *(getattr(pages, name) for name in ("page", "item", "person", "seconds")),
        pages.censored & False,
        60,
        12,
    )
    assert slope(truth, item_times(as_given)) < 0.85


def test_items_of_pages_with_several_are_told_apart() -> None:
    truth, pages = drawn(3, np.inf)
    found = item_times(pages)
    assert np.corrcoef(truth, found.measured)[0, 1] > 0.6
    assert slope(truth, found) == pytest.approx(1, abs=0.25)
    # The mean of a page hardly tells its items apart, and its error is larger than that of single times.
    assert found.error.mean() > 2 * item_times(drawn(1, np.inf)[1]).error.mean()


def test_sums_of_times_do_not_make_items_longer() -> None:
    """The log of a sum of uncertain times is above the log of the sum of typical ones: 0.15 without a correction."""
    apart = []
    for seed in range(4):
        truth, pages = drawn(3, np.inf, seed)
        apart.append(item_times(pages).mean - truth.mean())
    # The noise of single items makes sums longer too, here by about 0.05; four studies have a standard error of 0.06.
    assert np.mean(apart) == pytest.approx(0.03, abs=0.1)


def test_people_whose_times_are_short_and_alike_are_found() -> None:
    _, pages = drawn(1, np.inf)
    assert not fast_guessers(pages, item_times(pages)).any()
    random = np.random.default_rng(4)
    guessing = np.isin(np.arange(12), [3, 7])
    short = np.exp(np.log(6) + 0.4 * random.normal(size=pages.person.shape[0]))
    fast = Pages(
        pages.page, pages.item, pages.person, np.where(guessing[pages.person], short, pages.seconds),
        pages.censored, 60, 12,
    )  # fmt: skip
    found = fast_guessers(fast, item_times(fast))
    assert found.tolist() == guessing.tolist()
    left, items = fast.without(found)
    assert (left.people, left.items, items.tolist()) == (10, 60, [*range(60)])
    kept = ~guessing[pages.person]
    assert left.seconds.tolist() == pages.seconds[kept].tolist()
    assert left.item.tolist() == pages.item[kept].tolist()
    # A person who is only fast takes longer on long items, and stays.
    quick = np.where(pages.person == 3, pages.seconds / 6, pages.seconds)
    swift = Pages(pages.page, pages.item, pages.person, quick, pages.censored, 60, 12)
    assert not fast_guessers(swift, item_times(swift)).any()


def test_items_that_nobody_else_answered_go_with_their_people() -> None:
    person = np.array([0, 0, 1, 1, 2])
    item = np.array([0, 1, 1, 2, 3])
    pages = Pages(np.arange(5), item, person, np.arange(1.0, 6), item < 0, 4, 3)
    left, items = pages.without(np.array([False, True, False]))
    assert items.tolist() == [0, 1, 3]
    assert left.item.tolist() == [0, 1, 2]
    assert left.person.tolist() == [0, 0, 1]
    assert left.page.tolist() == [0, 1, 2]


def test_given_noise_is_taken_as_known() -> None:
    item = np.arange(30)
    seconds = np.exp(np.random.default_rng(1).normal(4, 1, 30))
    found = item_times(Pages(item, item, item % 5, seconds, item < 0, 30, 5), noise=0.5)
    assert (found.noise, found.noise_error) == (0.5, 0.0)
    assert found.error.mean() > 0.2
