"""The estimates of a study as JSON and as lines of text."""

from __future__ import annotations

from typing import Final

from merilo.baselines.decision_rule import by_majority_alone
from merilo.baselines.estimates import Bounds, Estimate, Estimates
from merilo.bilingual import BilingualText, form
from merilo.metrics.score import Score
from merilo.people.uncertainty.annotator_accuracy import Individuals, Person
from merilo.people.uncertainty.two_way import LEAST_ANNOTATORS, TwoWay, interval_of_record
from merilo.reports.json_numbers import rounded
from merilo.settings import Settings
from merilo.statistics.intervals import Interval
from merilo.strict_json import Json
from merilo.text import Text

#: The names of the two kinds of intervals. The first is the interval of record, which needs a name only in column heads.
OVER_BOTH: Final = Text("over items and annotators")
OVER_ITEMS_ALONE: Final = Text("over items alone")


def metrics_json(estimates: Estimates) -> dict[str, Json]:
    """Return every metric by name, main metrics first; metrics that could not be computed have the reason."""
    missing: dict[str, Json] = {
        name: {"value": None, "n": 0, "ci95": None, "reason": reason}
        for name, reason in estimates.missing.items()
    }
    return {name: _metric(one, estimates) for name, one in estimates.all().items()} | missing


def human_benchmark_json(estimates: Estimates, settings: Settings) -> Json:
    """Return the values for `human_benchmark` in a dataset's metadata and on which items they are; null without metrics.

    The items are those with a majority ("agreed"), or all that are decided ("all"): also if the value on those with a majority is withheld
    from a folder without gold answers.
    """
    chosen = {
        name: one.published if settings.human_benchmark == "agreed" and one.published else one.score
        for name, one in estimates.main.items()
    }
    if not chosen:
        return None
    agreed = settings.human_benchmark == "agreed" and (
        by_majority_alone(settings) or all(one.published for one in estimates.main.values())
    )
    return {
        "items": "agreed" if agreed else "all",
        "metrics": {name: {"value": rounded(one.value), "n": one.n} for name, one in chosen.items()},
    }


def single_person_json(estimates: Estimates) -> Json:
    """Return the main metric of single annotators; null if there is none."""
    headline = estimates.headline
    if headline is None or headline.single is None:
        return None
    return {"metric": headline.score.name, **_single(headline.single, estimates)}


def _metric(estimate: Estimate, estimates: Estimates) -> dict[str, Json]:
    content: dict[str, Json] = {**_score(estimate.score), **_crowd(estimate)}
    if estimate.published:
        content["by_majority_alone"] = {
            **_score(estimate.published),
            "ci95_items_and_annotators": interval_json(
                estimate.published_two_way.interval if estimate.published_two_way else None
            ),
        }
    if estimate.bounds:
        content["with_dropped_items"] = _bounds(estimate.bounds)
    if estimate.single:
        content["single_person"] = _single(estimate.single, estimates)
    elif estimate.no_single:
        content["single_person"] = {"value": None, "reason": estimate.no_single}
    return content


def _score(score: Score) -> dict[str, Json]:
    return {
        "value": rounded(score.value),
        "ci95": interval_json(score.interval),
        "n": score.n,
        "clusters": score.clusters,
        "interval": score.interval.method if score.interval else None,
    }


def _crowd(estimate: Estimate) -> dict[str, Json]:
    """Return the interval over items and annotators, and the sources of its width."""
    crowd = estimate.two_way
    if crowd is None:
        reason = why_items_alone(estimate)
        return (
            {"ci95_items_and_annotators": None, "interval_items_and_annotators": reason.en} if reason else {}
        )
    return {
        "ci95_items_and_annotators": interval_json(crowd.interval),
        "interval_items_and_annotators": crowd.interval.method,
        "annotators": crowd.annotators,
        "design_effect": rounded(crowd.design_effect),
        "cluster_design_effect": rounded(crowd.cluster_effect),
        "standard_error": {
            "items": rounded(crowd.item_error),
            "annotators": rounded(crowd.annotator_error),
        },
    }


def why_items_alone(estimate: Estimate) -> BilingualText | None:
    """Say why there is no interval over items and annotators; `None` if there is one, or no interval at all."""
    single = estimate.single
    if estimate.two_way or (single is None and estimate.score.interval is None):
        return None
    if single is None or single.annotators >= LEAST_ANNOTATORS:
        return BilingualText("not defined for this metric", "для этой метрики не определён")
    n = single.annotators
    return BilingualText(
        f"not defined: it takes at least {LEAST_ANNOTATORS} annotators, and {n} answered",
        f"не определён: нужно не меньше {LEAST_ANNOTATORS} разметчиков, а {form(n, 'ответил', 'ответили', 'ответили')} {n}",
    )


def _bounds(bounds: Bounds) -> dict[str, Json]:
    return {
        "n": bounds.n,
        "dropped": bounds.dropped,
        "dropped_counted_as_wrong": rounded(bounds.dropped_wrong),
        "dropped_resolved_by_plurality": rounded(bounds.plurality),
    }


def _single(single: Individuals, estimates: Estimates) -> dict[str, Json]:
    return {
        "mean": rounded(single.mean),
        "ci95": interval_json(single.interval),
        "interval": single.interval.method,
        "spread": rounded(single.spread),
        "spread_ci95": interval_json(single.spread_interval),
        "annotators": single.annotators,
        "answers": single.answers,
        "items": single.items,
        "min_answers": single.min_answers,
        "with_min_answers": len(single.people),
        "best": _person(estimates, single.best),
        "worst": _person(estimates, single.worst),
    }


def lines(estimates: Estimates) -> list[tuple[str, str]]:
    """Return the estimates as rows (name, value) of the terminal table."""
    rows = [row for name, one in estimates.main.items() for row in _metric_lines(name, one)]
    rows += [(f"  {name}", _brief(one.score, one.two_way)) for name, one in estimates.extra.items()]
    rows += [(name, f"not computed: {reason}") for name, reason in estimates.missing.items()]
    rows += _single_lines(estimates.headline)
    if any(one.two_way or one.single for one in estimates.all().values()):
        rows.append(("95 % intervals", f"{OVER_BOTH.en}, unless the row names another"))
    return rows


def _metric_lines(name: str, estimate: Estimate) -> list[tuple[str, str]]:
    crowd, score = estimate.two_way, estimate.score
    people = f", {counted(crowd.annotators, 'annotator')}" if crowd else ""
    rows = [(name, f"{_brief(score, crowd)}{people}")]
    if crowd and score.interval:
        rows.append((f"  {OVER_ITEMS_ALONE.en}", _text(score.interval)))
    elif reason := why_items_alone(estimate):
        rows.append(("  items and annotators", reason.en))
    if estimate.published and estimate.published_differs:
        brief = _brief(estimate.published, estimate.published_two_way)
        rows.append(("  majorities alone", f"{brief} (published procedure)"))
    if bounds := estimate.bounds:
        on = f"on {counted(bounds.n, 'item')}"
        rows += [
            (f"  {bounds.dropped} dropped as wrong", f"{bounds.dropped_wrong:.3f}  {on}"),
            ("  dropped by plurality", f"{bounds.plurality:.3f}  {on}"),
        ]
    return rows


def _single_lines(headline: Estimate | None) -> list[tuple[str, str]]:
    if headline is None:
        return []
    if headline.single is None:
        return [("single person", f"not defined: {headline.no_single}")] if headline.no_single else []
    single = headline.single
    rows = [
        (
            "single person",
            f"{single.mean:.3f} {_text(single.interval)}  {counted(single.annotators, 'annotator')}, "
            f"{counted(single.answers, 'answer')}",
        ),
        ("  spread beyond chance", f"{single.spread:.3f} {_text(single.spread_interval)} over annotators"),
    ]
    return rows + [
        (
            f"  {name} (of {person.among})",
            f"{person.value:.3f} {_text(person.simultaneous)} {OVER_ITEMS_ALONE.en}  on {counted(person.n, 'item')}",
        )
        for name, person in (("best", single.best), ("worst", single.worst))
        if person is not None
    ]


def counted(n: int, noun: str) -> str:
    """Format a number with its noun in the singular or plural.

    Example:
        >>> counted(1, "item"), counted(2, "item")
        ('1 item', '2 items')
    """
    return f"{n} {noun}{'' if n == 1 else 's'}"


def items_in_clusters(n: int, clusters: int | None) -> str:
    """Format a number of items with the number of their clusters, if they form any.

    Example:
        >>> items_in_clusters(645, 215), items_in_clusters(1, None)
        ('645 items in 215 clusters', '1 item')
    """
    return counted(n, "item") + (f" in {counted(clusters, 'cluster')}" if clusters else "")


def interval_json(interval: Interval | None) -> Json:
    """Convert an interval to a pair; null without an interval."""
    return None if interval is None else [rounded(interval.low), rounded(interval.high)]


def _person(estimates: Estimates, person: Person | None) -> Json:
    if person is None:
        return None
    return {
        "annotator": estimates.name(person.annotator),
        "value": rounded(person.value),
        "n": person.n,
        "ci95": interval_json(person.interval),
        "ci95_chosen_among_all": interval_json(person.simultaneous),
        "shrunk": rounded(person.shrunk),
    }


def _brief(score: Score, crowd: TwoWay | None) -> str:
    sure = f" \\{record_text(score, crowd)}" if interval_of_record(score, crowd) else ""
    return f"{score.value:.3f}{sure}  on {items_in_clusters(score.n, score.clusters)}"


def record_text(score: Score, crowd: TwoWay | None) -> str:
    """Format the interval of record; one over items alone has its name after it. Empty without an interval."""
    interval = interval_of_record(score, crowd)
    if interval is None:
        return ""
    return interval_text(interval) + ("" if crowd else f" {OVER_ITEMS_ALONE.en}")


def interval_text(interval: Interval) -> str:
    """Format an interval as "[0.500, 0.700]"."""
    return f"[{interval.low:.3f}, {interval.high:.3f}]"


def _text(interval: Interval) -> str:
    # Rich reads an unescaped square bracket as markup.
    return f"\\{interval_text(interval)}"
