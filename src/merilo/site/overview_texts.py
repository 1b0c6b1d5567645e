"""The figures of a study in the author's words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Final, NamedTuple

from merilo.site.collected_figures import PersonFigures, SpeedFlag
from merilo.site.study_figures import StudyFigures
from merilo.statistics.intervals import wilson
from merilo.text import Language, Money, Text, formatted, joined

#: What a person does now.
STAGES: Final[Mapping[str, Text]] = {
    "consent": Text("has not agreed yet"),
    "declined": Text("did not agree"),
    "questions": Text("answers questions about themselves"),
    "instruction": Text("reads the instruction"),
    "training": Text("in training"),
    "working": Text("answers tasks"),
    "finished": Text("finished"),
    "refused": Text("did not pass the training"),
    "stopped": Text("stopped because of control items"),
    "excluded": Text("excluded"),
}

#: How many people are at a stage, in the order in which people pass the stages.
_AT_STAGE: Final[Mapping[str, Text]] = {
    "consent": Text("have not agreed yet: {n:,}"),
    "declined": Text("did not agree: {n:,}"),
    "questions": Text("telling about themselves: {n:,}"),
    "instruction": Text("reading the instruction: {n:,}"),
    "training": Text("in training: {n:,}"),
    "working": Text("answering: {n:,}"),
    "finished": Text("finished: {n:,}"),
    "refused": Text("did not pass the training: {n:,}"),
    "stopped": Text("stopped: {n:,}"),
    "excluded": Text("excluded: {n:,}"),
}

#: How a person came in.
SOURCES: Final[Mapping[str, Text]] = {
    "link": Text("personal link"),
    "code": Text("code"),
    "expert": Text("invitation of an expert"),
    "prolific": Text("Prolific"),
    "mturk": Text("Mechanical Turk"),
    "platform": Text("platform"),
}

#: Why there is no agreement.
_NO_AGREEMENT: Final[Mapping[str, Text]] = {
    "": Text("not defined yet: no item has two answers, or all answers are equal"),
    "no_answers": Text("not defined yet: there are no answers"),
    "all_below": Text("not defined: everyone is below the threshold on control items"),
    "programs": Text("not computed: the answers are programs"),
}

_NONE_YET: Final = Text("none yet")
_UNKNOWN: Final = "–"

#: The size of the chart's drawing.
CHART: Final = (600, 160)


def duration(hours: float) -> Text:
    """Return a time of work with about two digits.

    Example:
        >>> duration(0.5).en, duration(3.26).en, duration(100).en
        ('30 min', '3.3 h', '4 days')
    """
    if hours < 1:
        return Text("{n:,} min", n=ceil(hours * 60))
    if hours < 10:
        return Text("{n:.1f} h", n=hours)
    if hours < 48:
        return Text("{n:.0f} h", n=hours)
    days = hours / 24
    return Text("{n:.1f} days", n=days) if days < 4 else Text("{n:,} {n:day|days}", n=round(days))


def overview_texts(figures: StudyFigures, language: Language) -> dict[str, str]:
    """Return the texts of the overview.

    Args:
        figures: the figures.
        language: the language of the page.

    Returns:
        Name of an element of the page -> its text. `points` and `share` are numbers for the chart and the bar.
    """
    counts, found, left = figures.counts, figures.collected, figures.remaining
    done = counts.answered / counts.needed if counts.needed else 0.0
    paid, kept, agreement = found.paid, found.collected, found.agreement
    undecided = Text("the plan does not state the pay")

    def money(amount: float | None, without: Text, share: float = 0.0) -> Text | Money:
        return without if amount is None else Money(amount * (1 + share), figures.currency)

    commission, came = figures.commission or 0.0, figures.participation

    texts: dict[str, object] = {
        "answered": Text(
            "{done:,} of {needed:,} ({share:.1%})", done=counts.answered, needed=counts.needed, share=done
        ),
        "complete": Text("{part:,} of {whole:,}", part=counts.complete, whole=counts.items),
        "in_hand": Text("{n:,}", n=counts.in_hand),
        "rate": _rate(figures),
        "end": _end(figures),
        "end_range": _end_range(figures),
        "final_cost": money(figures.final_pay, undecided, commission),
        "planned_cost": ""
        if figures.planned_pay is None
        else Text("by the plan, {cost}", cost=money(figures.planned_pay, undecided, commission)),
        "assumed": _assumed(figures),
        "alpha": _NO_AGREEMENT[agreement.why]
        if agreement.alpha is None
        else Text("{value:.3f}", value=agreement.alpha),
        "low_agreement": _NONE_YET
        if agreement.low_agreement is None
        else Text(
            "{share:.1%} of the answered items; the plan allows {most:.0%}",
            share=agreement.low_agreement,
            most=agreement.most_low_agreement,
        ),
        "counted": Text("{part:,} of {whole:,}", part=agreement.counted, whole=agreement.answers),
        "controls": Text(
            "{share:.1%} ({right:,} of {controls:,})",
            share=counts.controls_right / counts.controls,
            right=counts.controls_right,
            controls=counts.controls,
        )
        if counts.controls
        else _NONE_YET,
        "earned": money(figures.earned, undecided),
        "hourly": money(paid.hourly if paid else None, _NONE_YET),
        "spent": _NONE_YET if paid is None or paid.hours is None else duration(paid.hours),
        "median_seconds": _NONE_YET
        if kept is None or kept.median_seconds is None
        else Text("{seconds:,.1f} s", seconds=kept.median_seconds),
        "remaining_pay": Text(
            "{pay} for {n:,} {n:answer|answers} and the control items among them",
            pay=money(left.pay, undecided),
            n=left.answers,
        )
        if left.pay is not None and left.answers
        else money(left.pay, undecided),
        "remaining_hours": _NONE_YET if left.hours is None else duration(left.hours),
        "people": _people(figures),
        "refusals": came.refusals,
        "dropouts": came.dropouts,
        "where_left": came.where_people_left,
        "low_pay": _low_pay(paid.hourly if paid else None, figures),
        "flagged": Text("{n:,}", n=figures.flagged),
        "chart_text": Text(
            "Answers to test items from the first answer until now: {n:,} {n:answer|answers}. The "
            "upper edge is {most:,}.",
            n=counts.answered,
            most=counts.needed,
        ),
    }
    shown = {name: formatted(text, "", language) for name, text in texts.items()}
    return {**shown, "share": f"{done:.4f}", "points": chart_points(figures)}


def _low_pay(hourly: float | None, figures: StudyFigures) -> Text | str:
    """A warning if the measured pay of an hour is below the plan's minimum."""
    least = figures.minimum_hourly
    if hourly is None or least is None or hourly >= least:
        return ""
    return Text("below the minimum of the plan, {least}", least=Money(least, figures.currency))


def _rate(figures: StudyFigures) -> Text:
    rate = figures.rate
    if rate is None:
        return Text("not known yet: it takes 10 answers and 10 minutes")
    return Text(
        "{rate:,.0f} an hour ({n:,} {n:answer|answers} in the last {time})",
        rate=rate.per_hour,
        n=rate.answers,
        time=_past(rate.minutes),
    )


def _past(minutes: float) -> Text:
    return Text("{n:,} min", n=round(minutes)) if minutes < 100 else duration(minutes / 60)


def _end(figures: StudyFigures) -> Text:
    if not figures.counts.missing:
        return Text("all answers are there")
    if figures.counts.paused:
        return Text("the study is paused")
    if figures.rate is None:
        return Text("cannot be told yet: the speed is not known")
    if figures.end is None:
        return Text("cannot be told: the speed varies too much")
    return Text("in {expected}", expected=duration(figures.end[0]))


def _end_range(figures: StudyFigures) -> Text | str:
    if figures.end is None:
        return ""
    _, low, high = map(duration, figures.end)
    return Text("by the variation of the speed, between {low} and {high}", low=low, high=high)


def _assumed(figures: StudyFigures) -> Text:
    """What the end and the final cost assume."""
    parts = []
    if figures.end is not None and figures.rate is not None:
        time = _past(figures.rate.minutes)
        parts.append(Text("The end assumes that answers go on coming as in the last {time}.", time=time))
    if figures.final_pay is not None:
        parts.append(
            Text(
                "The cost is the pay for all answers until now and, by the plan, for {n:,} more.",
                n=figures.more,
            )
        )
        parts.append(
            Text("The platform's commission is not in it.")
            if figures.commission is None
            else Text("The platform's commission of {share:%} is in it.", share=figures.commission)
        )
    parts.append(Text("Nobody else is assumed to be stopped or excluded."))
    return joined(parts)


def _people(figures: StudyFigures) -> Text:
    stages = dict(figures.counts.stages)
    parts = [Text(text.english, n=stages[stage]) for stage, text in _AT_STAGE.items() if stages.get(stage)]
    return joined(parts, ", ") if parts else Text("nobody yet")


def chart_points(figures: StudyFigures) -> str:
    """Return the points of the line of answers over time, in the coordinates of `CHART`; empty without answers."""
    points = figures.points
    if len(points) < 2:
        return ""
    width, height = CHART
    longest, most = points[-1][0] or 1.0, max(figures.counts.needed, points[-1][1], 1)
    return " ".join(f"{hours / longest * width:.1f},{height - n / most * height:.1f}" for hours, n in points)


class PeopleColumn(NamedTuple):
    """A column of the table of people.

    Attributes:
        heading: its heading.
        value: the value by which people are sorted; `None` comes last.
        shown: what a cell shows; `None` if the template writes it.
        rising: whether small values come first when the column is chosen.
    """

    heading: Text
    value: Callable[[PersonFigures], str | float | None]
    shown: Callable[[PersonFigures], Text | str] | None
    rising: bool = False


def people_columns(currency: str) -> dict[str, PeopleColumn]:
    """Return the columns of the table of people by their names in addresses."""
    return {
        "pseudonym": PeopleColumn(Text("Pseudonym"), lambda one: one.pseudonym, None, rising=True),
        "source": PeopleColumn(
            Text("Came by"),
            lambda one: one.person.source,
            lambda one: SOURCES.get(one.person.source, one.person.source),
            rising=True,
        ),
        "stage": PeopleColumn(
            Text("State"), lambda one: one.person.stage, lambda one: STAGES[one.person.stage], rising=True
        ),
        "answers": PeopleColumn(
            Text("Answers"), lambda one: one.answers, lambda one: Text("{n:,}", n=one.answers)
        ),
        "controls": PeopleColumn(
            Text("Control items"), lambda one: one.control_accuracy, _controls, rising=True
        ),
        "seconds": PeopleColumn(
            Text("Median, s"),
            lambda one: one.median_seconds,
            lambda one: _known("{value:,.1f}", one.median_seconds),
            rising=True,
        ),
        "agreement": PeopleColumn(
            Text("Agreement with others"), lambda one: one.agreement, _agreement, rising=True
        ),
        "flag": PeopleColumn(
            Text("Speed"),
            lambda one: one.flag.times_faster if one.flag else None,
            lambda one: flag_text(one.flag) if one.flag else "",
        ),
        "earned": PeopleColumn(
            Text("Earned, {currency}", currency=currency),
            lambda one: one.earned,
            lambda one: _known("{value:,.2f}", one.earned),
        ),
        "seen": PeopleColumn(Text("Last seen"), lambda one: one.last_seen, None),
    }


def sorted_people(
    people: Sequence[PersonFigures], value: Callable[[PersonFigures], str | float | None], *, descending: bool
) -> list[PersonFigures]:
    """Sort people by a value; those without one come last."""
    known = [one for one in people if value(one) is not None]
    rest = [one for one in people if value(one) is None]
    return sorted(known, key=value, reverse=descending) + rest  # type: ignore[arg-type]  # values of one column


def _controls(one: PersonFigures) -> Text | str:
    right, controls = one.person.controls_right, one.person.controls
    if not controls:
        return _UNKNOWN
    interval = wilson(right, controls)
    return Text(
        "{accuracy:.0%} ({low:.0%}–{high:.0%}); {right} of {controls}",
        accuracy=right / controls,
        low=interval.low,
        high=interval.high,
        right=right,
        controls=controls,
    )


def _agreement(one: PersonFigures) -> Text | str:
    if one.agreement is None:
        return _UNKNOWN
    return Text("{share:.0%} on {n:# item|# items}", share=one.agreement, n=one.compared)


def _known(text: str, value: float | None) -> Text | str:
    return _UNKNOWN if value is None else Text(text, value=value)


def flag_text(flag: SpeedFlag) -> Text:
    """Return what a flag of suspicious speed says."""
    if flag.characters_per_second is not None:
        return Text("{n:,.0f} characters a second: nobody reads so fast", n=flag.characters_per_second)
    return Text("{times:,.1f} times faster than others", times=flag.times_faster)
