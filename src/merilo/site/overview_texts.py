"""The status of a served study in the author's words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import ceil
from typing import Final

from merilo.site.status import SiteStatus, progress_points
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
    "expert": Text("invitation of an expert"),
    "prolific": Text("Prolific"),
    "mturk": Text("Mechanical Turk"),
    "platform": Text("platform"),
}

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


def overview_texts(status: SiteStatus, language: Language) -> dict[str, str]:
    """Return the texts of the overview that more than a value decides, by their names in the template.

    Args:
        status: the status.
        language: the language of the page.
    """
    computed = status.status
    texts: dict[str, object] = {
        "rate": _rate(status),
        "end": _end(status),
        "end_range": _end_range(status),
        "assumed": _assumed(status, status.left[0]),
        "alpha": _agreement(status),
        "counted": Text(
            "{part:,} of {whole:,}",
            part=computed.counted if computed and not computed.problem else 0,
            whole=computed.answers if computed else 0,
        ),
        "low_pay": _low_pay(status),
        "people": _people(status),
    }
    return {name: formatted(text, "", language) for name, text in texts.items()}


def _agreement(site_status: SiteStatus) -> Text:
    """Krippendorff's alpha, or why there is none."""
    status = site_status.status
    if status is None and site_status.answered:
        return Text("being computed: reload the page in a while")
    if status is None or not status.answers:
        return Text("not defined yet: there are no answers")
    if status.alpha is not None:
        return Text("{value:.3f}", value=status.alpha)
    if site_status.study.declared.answer.kind == "program":
        return Text("not computed: the answers are programs")
    if status.problem:
        return Text("not defined: everyone is below the threshold on control items")
    return Text("not defined yet: no item has two answers, or all answers are equal")


def _low_pay(status: SiteStatus) -> Text | str:
    """A warning if the measured pay of an hour is below the plan's minimum."""
    pay, hourly = status.study.arm.pay, status.hourly
    if hourly is None or pay.minimum_per_hour is None or hourly >= pay.minimum_per_hour:
        return ""
    return Text("below the minimum of the plan, {least}", least=Money(pay.minimum_per_hour, pay.currency))


def _rate(status: SiteStatus) -> Text:
    rate = status.rate
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


def _end(status: SiteStatus) -> Text:
    if not status.missing:
        return Text("all answers are there")
    if status.paused:
        return Text("the study is paused")
    if status.rate is None:
        return Text("cannot be told yet: the speed is not known")
    if status.end is None:
        return Text("cannot be told: the speed varies too much")
    return Text("in {expected}", expected=duration(status.end[0]))


def _end_range(status: SiteStatus) -> Text | str:
    if status.end is None:
        return ""
    _, low, high = map(duration, status.end)
    return Text("by the variation of the speed, between {low} and {high}", low=low, high=high)


def _assumed(status: SiteStatus, more: int) -> Text:
    """What the end and the final cost assume."""
    parts = []
    if status.end is not None and status.rate is not None:
        time = _past(status.rate.minutes)
        parts.append(Text("The end assumes that answers go on coming as in the last {time}.", time=time))
    if status.final_pay is not None:
        parts.append(
            Text("The cost is the pay for all answers until now and, by the plan, for {n:,} more.", n=more)
        )
        commission = status.study.arm.pay.commission
        parts.append(
            Text("The platform's commission is not in it.")
            if commission is None
            else Text("The platform's commission of {share:%} is in it.", share=commission)
        )
    parts.append(Text("Nobody else is assumed to be stopped or excluded."))
    return joined(parts)


def _people(status: SiteStatus) -> Text:
    stages = Counter[str](worker.person.stage for worker in status.people)
    silent = sum(
        worker.person.from_platform and worker.person.stage == "working" and not worker.person.answers
        for worker in status.people
    )
    parts = [Text(text.english, n=stages[stage]) for stage, text in _AT_STAGE.items() if stages[stage]]
    if silent:
        parts.append(Text("of these without an answer yet: {n:,}", n=silent))
    return joined(parts, ", ") if parts else Text("nobody yet")


def chart_points(status: SiteStatus) -> str:
    """Return the points of the line of answers over time, in the coordinates of `CHART`; empty without answers."""
    points = progress_points(status.times, status.at if status.missing else 0)
    if len(points) < 2:
        return ""
    width, height = CHART
    longest, most = points[-1][0] or 1.0, max(status.needed, points[-1][1], 1)
    return " ".join(f"{hours / longest * width:.1f},{height - n / most * height:.1f}" for hours, n in points)
