"""How long items take people: item times with person effects from the times of pages, some of which were cut off.

The logarithm of a page's time is the logarithm of the sum of its items' times, plus the effect of its person, plus
noise. A page may hold one item or several, and may have been cut off at a time limit. Items' log times and people's
effects are normal. The three variances maximise the restricted likelihood. Pages of several items are linearised at the
current estimates; a time that was cut off is replaced by its expectation (an EM algorithm).

References:
    W. van der Linden (2006), A lognormal model for response times on test items. J. Educational and Behavioral
    Statistics 31, 181-204.
    C. Henderson (1975), Best linear unbiased estimation and prediction under a selection model. Biometrics 31, 423-447
    (mixed-model equations).
    M. Lindstrom, D. Bates (1990), Nonlinear mixed effects models for repeated measures data. Biometrics 46, 673-687
    (linearisation at the current estimates).
    A. Dempster, N. Laird, D. Rubin (1977), Maximum likelihood from incomplete data via the EM algorithm. J. Royal
    Statistical Society B 39, 1-38 (section 4.2: censored data).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, log, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize, sparse, special

from merilo.statistics import FloatArray

#: Bounds of the logarithm of a standard deviation divided by that of the noise.
_RATIO: Final = (log(1e-3), log(30.0))
#: Rounds of linearisation and replacement, and the change of log times at which they end.
_ROUNDS: Final = 60
_SETTLED: Final = 2e-3
#: The rounds in which the variances are estimated; in others, only what follows from them.
_ESTIMATED: Final = (0, 1, 3, 7, 15, 31)
#: Who has fewer pages is not said to guess; and the logarithms of how fast and how likely guessing must be.
LEAST_PAGES: Final = 5
_HALF: Final = log(2)
_EVIDENCE: Final = log(1000)
#: The step of numerical derivatives of the restricted likelihood.
_STEP: Final = 0.05


@dataclass(frozen=True, slots=True)
class Pages:
    """Pages with their times.

    Attributes:
        page: shape (n,), the page of each pair of a page and an item.
        item: shape (n,), the item of each pair.
        person: shape (pages,), the person of each page.
        seconds: shape (pages,), the time of each page; for one that was cut off, the time limit.
        censored: shape (pages,), whether the page was cut off.
        items: the number of items.
        people: the number of people.
    """

    page: NDArray[np.int64]
    item: NDArray[np.int64]
    person: NDArray[np.int64]
    seconds: FloatArray
    censored: NDArray[np.bool_]
    items: int
    people: int

    def without(self, people: NDArray[np.bool_]) -> tuple[Pages, NDArray[np.int64]]:
        """Return the pages of the other people, and the items that are on them, in the order of their new codes.

        Args:
            people: shape (people,), who is left out.
        """
        kept = ~people[self.person]
        pairs = kept[self.page]
        items, item = np.unique(self.item[pairs], return_inverse=True)
        person = np.cumsum(~people) - 1
        return Pages(
            (np.cumsum(kept) - 1)[self.page[pairs]],
            item.astype(np.int64),
            person[self.person[kept]],
            self.seconds[kept],
            self.censored[kept],
            items.shape[0],
            int((~people).sum()),
        ), items


@dataclass(frozen=True, slots=True)
class ItemTimes:
    """The log time of every item for a typical person, as if it had been measured once with an error of known variance.

    Attributes:
        mean: the mean log time of items.
        spread: the standard deviation of items' log times.
        person_spread: the standard deviation of people's effects.
        noise: the standard deviation of a page's log time given its items and its person.
        noise_error: the standard error of the logarithm of the noise's variance; 0 if the noise was given, infinite if
            the times do not tell it.
        measured: shape (items,), the measured log times.
        error: shape (items,), the variances of their errors, without what all items have in common.
        shared: shape (items, people), the derivative of `measured` by the effect of each person.
    """

    mean: float
    spread: float
    person_spread: float
    noise: float
    noise_error: float
    measured: FloatArray
    error: FloatArray
    shared: FloatArray

    @property
    def reliability(self) -> float:
        """The share of the variance of measured times that is of true times."""
        return float(np.mean(self.spread**2 / (self.spread**2 + self.error)))


def fast_guessers(pages: Pages, times: ItemTimes) -> NDArray[np.bool_]:
    """Return who answers without working on the items: people whose times are short and not related to the items'.

    Their times take less than half as long as other people's for the same items, and are at least 1,000 times as likely
    under one normal distribution for all items as under the other people's item times. People with fewer than
    `LEAST_PAGES` pages that were not cut off are not judged.

    Args:
        pages: the pages; every item is on one.
        times: the times of all items that `item_times` finds on these pages.

    Returns:
        Shape (people,), who guesses.

    References:
        S. Wise, C. DeMars (2006), An application of item response time: the effort-moderated IRT model. J. Educational
        Measurement 43, 19-38 (rapid guessing).
    """
    found = np.zeros(pages.people, dtype=np.bool_)
    model, logs = _LogTimes.of(pages), np.log(pages.seconds)
    design, offset = model.linear(times.measured)
    ratios = ((times.noise / times.spread) ** 2, (times.noise / times.person_spread) ** 2)
    count = np.bincount(pages.person[~pages.censored], minlength=pages.people)
    apart = np.where(pages.censored, 0.0, logs - offset - design @ times.measured)
    # A person's own times are among those that tell the items', so that they seem to be less apart than they are.
    faster = np.bincount(pages.person, weights=apart, minlength=pages.people) < -_HALF / 3 * count
    for who in np.flatnonzero(faster & (count >= LEAST_PAGES)).tolist():
        mine = (pages.person == who) & ~pages.censored
        others = _System(design, model.person, pages.people, (pages.person != who).astype(np.float64))
        mean, _, effects, _ = _profile(others, logs - offset, ratios, 0.0)
        rest = (logs - offset - design @ (mean + effects[: pages.items]))[mine]
        if rest.mean() >= -_HALF:
            continue
        inverse, _ = others.inverse(*ratios)
        variance = (times.noise**2 * (1 + design.multiply(design) @ inverse))[mine]
        center = float((rest / variance).sum() / (1 / variance).sum())
        as_others = -float(((rest - center) ** 2 / variance + np.log(variance)).sum()) / 2
        own = max(float(logs[mine].var()), 1e-4)
        found[who] = -(1 + log(own)) * int(mine.sum()) / 2 - as_others > _EVIDENCE
    return found


def item_times(pages: Pages, noise: float | None = None) -> ItemTimes:
    """Estimate the time that each item takes a typical person.

    Args:
        pages: the pages; every item is on one.
        noise: the standard deviation of a page's log time given its items and its person; by default, it is estimated,
            which needs items with times of two people.

    Example:
        >>> person, item = np.divmod(np.arange(40), 10)
        >>> noise = 0.1 * np.sin(np.arange(40.0) ** 2)
        >>> times = np.exp(np.linspace(0, 3, 10)[item] + np.linspace(-1, 1, 4)[person] + noise)
        >>> found = item_times(Pages(np.arange(40), item, person, times, times > 1e9, 10, 4))
        >>> round(float(found.measured[9] - found.measured[0]), 1), round(found.noise, 1)
        (3.0, 0.1)
    """
    model = _LogTimes.of(pages)
    limit = np.log(pages.seconds)
    target = limit.copy()
    ratios, extra = np.zeros(2), 0.0
    level, spread = _start(pages), None
    for number in range(_ROUNDS):
        design, offset = model.linear(level, spread)
        system = _System(design, model.person, pages.people, np.ones(limit.shape[0]))
        if number in _ESTIMATED:
            ratios = _restricted(system, target - offset, extra, ratios, noise)
        found = _effects(system, target - offset, extra, ratios, noise)
        fitted = offset + design @ (found.mean + found.item) + found.person_effect[pages.person]
        new = found.mean + found.item
        moved = float(np.abs(new - level).max())
        level = new
        if pages.censored.any():
            above = (limit - fitted) / found.noise
            hazard = _hazard(above)
            cut = pages.censored
            target = np.where(cut, fitted + found.noise * hazard, limit)
            extra = float((found.noise**2 * (1 + above * hazard - hazard**2))[cut].sum())
        elif model.plain:
            break
        if not model.plain:
            spread = found.noise**2 * system.of_items(*np.exp(-2 * ratios))
        if number in _ESTIMATED[2:] and moved < _SETTLED:
            break
    weight = np.ones(limit.shape[0])
    design, offset = model.linear(level, spread)
    working = target - offset
    if pages.censored.any():
        fitted = offset + design @ level + found.person_effect[pages.person]
        above = (limit - fitted) / found.noise
        hazard = _hazard(above)
        told = np.maximum(hazard * (hazard - above), 1e-4)
        weight = np.where(pages.censored, told, 1.0)
        working = np.where(pages.censored, fitted - offset + found.noise * hazard / told, working)
    system = _System(design, model.person, pages.people, weight)
    error = 0.0 if noise is not None else _noise_error(system, working, found)
    return _measured(system, working, found, error)


@dataclass(frozen=True, slots=True)
class _LogTimes:
    """The pairs of pages and items, and how a page's log time depends on its items'."""

    page: NDArray[np.int64]
    item: NDArray[np.int64]
    person: NDArray[np.int64]
    pages: int
    items: int

    @staticmethod
    def of(pages: Pages) -> _LogTimes:
        return _LogTimes(pages.page, pages.item, pages.person, pages.seconds.shape[0], pages.items)

    @property
    def plain(self) -> bool:
        """Whether each page has one item."""
        return bool(self.page.shape[0] == self.pages)

    def linear(
        self, level: FloatArray, spread: FloatArray | None = None
    ) -> tuple[sparse.csr_matrix, FloatArray]:
        """Return the derivatives of pages' log times by their items', and the rest, at these log times of items.

        Log times are uncertain, and the log of a sum is convex: its mean is above its value at their means, by half the
        product of its second derivatives and the log times' covariances `spread`, shape (items, items).
        """
        each = np.exp(level[self.item] - level.max())
        total = np.bincount(self.page, weights=each, minlength=self.pages)
        share = each / total[self.page]
        design = sparse.csr_matrix((share, (self.page, self.item)), shape=(self.pages, self.items))
        rest = np.log(total) + level.max() - design @ level
        if spread is not None:
            both = np.asarray(design.multiply(design @ spread).sum(axis=1)).ravel()
            rest += (design @ np.diag(spread) - both) / 2
        return design, rest


def _start(pages: Pages) -> FloatArray:
    """Return first log times of items: the mean over an item's pages, each in equal shares."""
    size = np.bincount(pages.page, minlength=pages.seconds.shape[0])
    each = (np.log(pages.seconds) - np.log(size))[pages.page]
    count = np.maximum(np.bincount(pages.item, minlength=pages.items), 1)
    return np.asarray(np.bincount(pages.item, weights=each, minlength=pages.items) / count)


def _hazard(above: FloatArray) -> FloatArray:
    """Return the mean of a standard normal variable above a limit."""
    return np.asarray(np.exp(-(above**2) / 2 - special.log_ndtr(-above)) / sqrt(2 * np.pi))


@dataclass(frozen=True, slots=True)
class _Found:
    """The estimates of one linear model."""

    mean: float
    item: FloatArray
    person_effect: FloatArray
    spread: float
    person_spread: float
    noise: float


class _System:
    """The mixed-model equations of pages, with the larger diagonal block eliminated."""

    def __init__(
        self, design: sparse.csr_matrix, person: NDArray[np.int64], people: int, weight: FloatArray
    ) -> None:
        rows = weight.shape[0]
        self.rows, self.items, self.people, self.weight = rows, design.shape[1], people, weight
        self.design = design
        self.of_person = sparse.csr_matrix((np.ones(rows), (np.arange(rows), person)), shape=(rows, people))
        weighted = sparse.diags(weight) @ design
        self.normal = np.asarray((design.T @ weighted).todense())
        self.cross = np.asarray((weighted.T @ self.of_person).todense())
        self.load = np.bincount(person, weights=weight, minlength=people)
        self.plain = design.nnz == rows
        self.by_items = self.plain and self.items > people

    def solve(self, item_ratio: float, person_ratio: float, target: FloatArray) -> tuple[FloatArray, float]:
        """Return the effects of items and people for each column of targets, and the log determinant of the equations.

        Args:
            item_ratio: the variance of the noise divided by that of items.
            person_ratio: the variance of the noise divided by that of people.
            target: shape (rows, columns).
        """
        weighted = self.weight[:, None] * target
        return self.solved(item_ratio, person_ratio, self.design.T @ weighted, self.of_person.T @ weighted)

    def solved(
        self, item_ratio: float, person_ratio: float, of_item: FloatArray, of_person: FloatArray
    ) -> tuple[FloatArray, float]:
        """Return the solution for these right-hand sides, shapes (items, columns) and (people, columns), as `solve`."""
        people = self.load + person_ratio
        if self.by_items:
            items = np.diag(self.normal) + item_ratio
            small = np.diag(people) - self.cross.T @ (self.cross / items[:, None])
            factor = linalg.cho_factor(small, check_finite=False)
            person = linalg.cho_solve(
                factor, of_person - self.cross.T @ (of_item / items[:, None]), check_finite=False
            )
            item = (of_item - self.cross @ person) / items[:, None]
            determinant = float(np.log(items).sum())
        else:
            small = self.normal + item_ratio * np.eye(self.items) - self.cross @ (self.cross / people).T
            factor = linalg.cho_factor(small, check_finite=False)
            item = linalg.cho_solve(
                factor, of_item - self.cross @ (of_person / people[:, None]), check_finite=False
            )
            person = (of_person - self.cross.T @ item) / people[:, None]
            determinant = float(np.log(people).sum())
        return np.vstack([item, person]), determinant + 2 * float(np.log(np.diag(factor[0])).sum())

    def inverse(self, item_ratio: float, person_ratio: float) -> tuple[FloatArray, FloatArray]:
        """Return the diagonal of the items' block of the inverse, and its block of items by people."""
        people = self.load + person_ratio
        if self.by_items:
            items = np.diag(self.normal) + item_ratio
            scaled = self.cross / items[:, None]
            small = linalg.inv(np.diag(people) - self.cross.T @ scaled)
            both = scaled @ small
            return 1 / items + (both * scaled).sum(axis=1), -both
        small = self.of_items(item_ratio, person_ratio)
        return np.diag(small).copy(), -small @ (self.cross / people)

    def of_items(self, item_ratio: float, person_ratio: float) -> FloatArray:
        """Return the items' block of the inverse."""
        people = self.load + person_ratio
        return np.asarray(
            linalg.inv(self.normal + item_ratio * np.eye(self.items) - self.cross @ (self.cross / people).T)
        )


def _profile(
    system: _System, target: FloatArray, ratios: tuple[float, float], extra: float
) -> tuple[float, float, FloatArray, float]:
    """Return the mean, the residual sum of squares with the mean fitted, the effects, and the log determinant."""
    both = np.column_stack([np.ones(system.rows), target])
    effects, determinant = system.solve(*ratios, both)
    fitted = system.design @ effects[: system.items] + system.of_person @ effects[system.items :]
    weighted = system.weight[:, None] * (both - fitted)
    (ones, one_target), (_, squares) = both.T @ weighted
    mean = one_target / ones
    rest = squares - mean * one_target + extra
    return mean, rest, effects[:, 1] - mean * effects[:, 0], determinant + log(ones)


def _restricted(
    system: _System, target: FloatArray, extra: float, start: FloatArray, noise: float | None
) -> FloatArray:
    """Return the logarithms of the two ratios of standard deviations that maximise the restricted likelihood."""

    def deviance(logs: FloatArray) -> float:
        ratios = (float(np.exp(-2 * logs[0])), float(np.exp(-2 * logs[1])))
        _, rest, _, determinant = _profile(system, target, ratios, extra)
        return _deviance(system, logs, rest, determinant, noise)

    simplex = np.clip(start + np.array([[0, 0], [0.3, 0], [0, 0.3]]), *_RATIO)
    return np.asarray(
        optimize.minimize(
            deviance,
            start,
            method="Nelder-Mead",
            bounds=[_RATIO, _RATIO],
            options={"xatol": 1e-2, "fatol": 1e-2, "initial_simplex": simplex},
        ).x
    )


def _effects(
    system: _System, target: FloatArray, extra: float, logs: FloatArray, noise: float | None
) -> _Found:
    """Return the estimates at these logarithms of the ratios of standard deviations."""
    mean, rest, effects, _ = _profile(system, target, tuple(np.exp(-2 * logs)), extra)
    scale = noise if noise is not None else sqrt(max(rest, 1e-12) / max(system.rows - 1, 1))
    spread, person_spread = scale * np.exp(logs)
    items = system.items
    return _Found(mean, effects[:items], effects[items:], float(spread), float(person_spread), scale)


def _deviance(
    system: _System, logs: FloatArray, rest: float, determinant: float, noise: float | None
) -> float:
    """Return minus twice the restricted log-likelihood, without a constant; the noise is profiled out if not given."""
    prior = 2 * float(system.items * logs[0] + system.people * logs[1])
    if noise is None:
        return float((system.rows - 1) * log(max(rest, 1e-12)) + determinant + prior)
    return float(rest / noise**2 + determinant + prior)


def _noise_error(system: _System, target: FloatArray, found: _Found) -> float:
    """Return the standard error of the logarithm of the noise's variance, from the curvature of the likelihood."""
    at = np.log([found.spread / found.noise, found.person_spread / found.noise, found.noise])

    def deviance(logs: FloatArray) -> float:
        # The arguments are logarithms of the three standard deviations.
        ratios = logs[:2] - logs[2]
        _, rest, _, determinant = _profile(system, target, tuple(np.exp(-2 * ratios)), 0.0)
        noise = float(np.exp(logs[2]))
        return float(_deviance(system, ratios, rest, determinant, noise) + 2 * (system.rows - 1) * log(noise))

    center = np.array([at[0] + at[2], at[1] + at[2], at[2]])
    free = [0, 2] if at[1] <= _RATIO[0] + 0.5 else [0, 1, 2]
    steps = np.eye(3)[free] * _STEP
    curvature = np.array(
        [
            [
                sum(
                    sign * deviance(center + one + sign * other)
                    - sign * deviance(center - one + sign * other)
                    for sign in (1, -1)
                )
                for other in steps
            ]
            for one in steps
        ]
    ) / (4 * _STEP**2)
    try:
        variance = linalg.inv(curvature / 2)[-1, -1]
    except linalg.LinAlgError:
        return float("inf")
    # The logarithm of a variance is twice that of a standard deviation.
    return 2 * sqrt(variance) if variance > 0 and isfinite(variance) else float("inf")


def _measured(system: _System, target: FloatArray, found: _Found, noise_error: float) -> ItemTimes:
    """Return the measurements that carry the same information about each item as the times do."""
    item_ratio, person_ratio = (found.noise / found.spread) ** 2, (found.noise / found.person_spread) ** 2
    mean, _, effects, _ = _profile(system, target, (item_ratio, person_ratio), 0.0)
    ones, _ = system.solve(item_ratio, person_ratio, np.ones((system.rows, 1)))
    inverse, both = system.inverse(item_ratio, person_ratio)
    items, alone = system.items, ones[:, 0]
    # Errors that all items share do not change which items take longer: the mean product of two items' errors.
    sums, _ = system.solved(item_ratio, person_ratio, np.ones((items, 1)), np.zeros((system.people, 1)))
    shared = max((float(sums[:items].sum()) - float(inverse.sum())) / max(items * (items - 1), 1), 0.0)
    variance = np.maximum(inverse - shared, inverse * 1e-3) * found.noise**2
    variance = np.minimum(variance, found.spread**2 * (1 - 1e-9))
    stretch = 1 / (1 - variance / found.spread**2)
    information = (
        system.weight.sum() - system.load @ alone[system.items :] - _item_load(system) @ alone[:items]
    )
    of_mean = person_ratio * alone[items:] / information
    of_item = -person_ratio * both - np.outer(alone[:items], of_mean)
    return ItemTimes(
        mean,
        found.spread,
        found.person_spread,
        found.noise,
        noise_error,
        mean + effects[:items] * stretch,
        variance * stretch,
        of_mean + stretch[:, None] * of_item,
    )


def _item_load(system: _System) -> FloatArray:
    return np.asarray(system.design.T @ system.weight)
