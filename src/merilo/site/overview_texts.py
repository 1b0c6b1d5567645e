"""The figures of a study as the texts of a page, in the author's language."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil

from merilo.bilingual import Language, counted, counted_en
from merilo.site.collected_figures import CollectedAgreement, PersonFigures
from merilo.site.overview_words import overview_words
from merilo.site.speed_flags import SpeedFlag, parsed_flag
from merilo.site.study_figures import StudyFigures

#: Stages in the order in which people pass them.
_STAGES = ("consent", "instruction", "training", "working", "refused", "stopped", "excluded")


def written(value: float, digits: int, language: Language) -> str:
    """Write a number with a fixed number of digits, as the language does.

    Example:
        >>> written(12345.678, 1, "en"), written(12345.678, 1, "ru"), written(1000, 0, "ru")
        ('12,345.7', '12\u202f345,7', '1\u202f000')
    """
    text = f"{value:,.{digits}f}"
    if language == "en":
        return text
    return text.replace(",", "\u202f").replace(".", ",").replace("-", "−")


def duration(hours: float, language: Language) -> str:
    """Write a time of work with about two digits.

    Example:
        >>> duration(0.5, "en"), duration(3.26, "en"), duration(100, "en")
        ('30 min', '3.3 h', '4 days')
    """
    said = overview_words(language)
    if hours < 1:
        return said["minutes"].format(written(ceil(hours * 60), 0, language))
    if hours < 48:
        return said["hours"].format(written(hours, 1 if hours < 10 else 0, language))
    days = hours / 24
    return said["days"].format(written(days, 1 if days < 4 else 0, language))


def share(value: float, language: Language, digits: int = 1) -> str:
    """Write a share in percent, without the sign."""
    return written(100 * value, digits, language)


def money(value: float | None, currency: str, language: Language) -> str:
    """Write a sum of money; a word if the pay is not decided."""
    if value is None:
        return overview_words(language)["pay_undecided"]
    return f"{written(value, 0 if value == int(value) else 2, language)} {currency}"


def answers_counted(n: int, language: Language) -> str:
    """Write a number of answers with its noun."""
    number = written(n, 0, language)
    if language == "en":
        return counted_en(n, "answer", "answers").replace(str(n), number, 1)
    return counted(n, "ответ", "ответа", "ответов").replace(str(n), number, 1)


def overview_texts(figures: StudyFigures, language: Language) -> dict[str, str]:
    """Return the texts of the overview.

    Args:
        figures: the figures.
        language: the language of the page.

    Returns:
        Name of an element of the page -> its text. `points` and `share` are numbers for the chart and the bar.
    """
    said = overview_words(language)
    counts, found = figures.counts, figures.collected
    done = counts.answered / counts.needed if counts.needed else 0.0
    paid, kept, left = found.paid, found.collected, figures.remaining
    unknown = said["none_yet"]

    def number(value: int) -> str:
        return written(value, 0, language)

    return {
        "answered": said["of_share"].format(
            number(counts.answered), number(counts.needed), share(done, language)
        ),
        "complete": said["of"].format(number(counts.complete), number(counts.items)),
        "in_hand": number(counts.in_hand),
        "rate": _rate(figures, language),
        "end": _end(figures, language),
        "alpha": _alpha(found.agreement, language),
        "low_agreement": unknown
        if found.agreement.low_agreement is None
        else said["low_agreement_text"].format(
            share(found.agreement.low_agreement, language),
            share(found.agreement.most_low_agreement, language, 0),
        ),
        "counted": said["of"].format(number(found.agreement.counted), number(found.agreement.answers)),
        "controls": said["controls_text"].format(
            share(counts.controls_right / counts.controls, language),
            number(counts.controls_right),
            number(counts.controls),
        )
        if counts.controls
        else unknown,
        "earned": money(figures.earned, figures.currency, language),
        "hourly": unknown
        if paid is None or paid.hourly is None
        else money(paid.hourly, figures.currency, language),
        "spent": unknown if paid is None or paid.hours is None else duration(paid.hours, language),
        "median_seconds": unknown
        if kept is None or kept.median_seconds is None
        else said["seconds"].format(written(kept.median_seconds, 1, language)),
        "remaining_pay": money(None, figures.currency, language)
        if left.pay is None
        else money(0.0, figures.currency, language)
        if not left.answers
        else said["remaining_text"].format(
            money(left.pay, figures.currency, language), answers_counted(left.answers, language)
        ),
        "remaining_hours": unknown if left.hours is None else duration(left.hours, language),
        "people": _people(figures, language),
        "flagged": number(figures.flagged),
        "share": f"{done:.4f}",
        "points": chart_points(figures),
        "chart_text": said["chart_text"].format(
            answers_counted(counts.answered, language), number(counts.needed)
        ),
    }


def _rate(figures: StudyFigures, language: Language) -> str:
    said, rate = overview_words(language), figures.rate
    if rate is None:
        return said["no_rate"]
    per_hour = written(rate.per_hour, 0, language)
    recent = answers_counted(rate.answers, language)
    return said["rate_text"].format(
        per_hour, recent, said["minutes"].format(written(rate.minutes, 0, language))
    )


def _end(figures: StudyFigures, language: Language) -> str:
    said = overview_words(language)
    if not figures.counts.missing:
        return said["end_reached"]
    if figures.counts.paused:
        return said["end_paused"]
    if figures.rate is None:
        return said["end_unknown"]
    if figures.end is None:
        return said["end_vague"]
    return said["end_text"].format(*(duration(hours, language) for hours in figures.end))


def _alpha(agreement: CollectedAgreement, language: Language) -> str:
    if agreement.alpha is None:
        return overview_words(language)[f"alpha_{agreement.why or 'undefined'}"]
    return written(agreement.alpha, 3, language)


def _people(figures: StudyFigures, language: Language) -> str:
    said, stages = overview_words(language), dict(figures.counts.stages)
    parts = [
        f"{said[f'stage_{stage}']}: {written(stages[stage], 0, language)}"
        for stage in _STAGES
        if stages.get(stage)
    ]
    return ", ".join(parts) or said["nobody"]


#: The size of the chart's drawing.
CHART = (600, 160)


def chart_points(figures: StudyFigures) -> str:
    """Return the points of the line of answers over time, in the coordinates of `CHART`; empty without answers."""
    points = figures.points
    if len(points) < 2:
        return ""
    width, height = CHART
    longest, most = points[-1][0] or 1.0, max(figures.counts.needed, points[-1][1], 1)
    return " ".join(f"{hours / longest * width:.1f},{height - n / most * height:.1f}" for hours, n in points)


@dataclass(frozen=True, slots=True)
class PersonRow:
    """One row of the table of people: the person, and the texts of the cells by the names of the columns."""

    person: PersonFigures
    cells: Mapping[str, str]


def person_row(person: PersonFigures, language: Language) -> PersonRow:
    """Return the texts of a row of the table of people.

    Args:
        person: the person.
        language: the language of the page.
    """
    said = overview_words(language)
    unknown = "—" if language == "ru" else "–"

    def known(value: float | None, text: Callable[[float], str]) -> str:
        return unknown if value is None else text(value)

    low, high = person.control_low, person.control_high
    accuracy = person.control_accuracy
    controls = (
        unknown
        if accuracy is None or low is None or high is None
        else f"{share(accuracy, language, 0)} % ({share(low, language, 0)}–{share(high, language, 0)}); "
        f"{said['of'].format(person.controls_right, person.controls)}"
    )
    agreement = known(
        person.agreement,
        lambda value: f"{share(value, language, 0)} % {_on_items(person.compared, language)}",
    )
    return PersonRow(
        person,
        {
            "source": said.get(f"source_{person.source}", person.source),
            "stage": said[f"person_{person.stage}"],
            "answers": written(person.answers, 0, language),
            "controls": controls,
            "seconds": known(person.median_seconds, lambda value: written(value, 1, language)),
            "agreement": agreement,
            "flag": "" if person.flag is None else flag_text(person.flag, language),
            "earned": known(person.earned, lambda value: written(value, 2, language)),
        },
    )


def _on_items(n: int, language: Language) -> str:
    if language == "en":
        return f"on {counted_en(n, 'item', 'items')}"
    return f"по {counted(n, 'заданию', 'заданиям', 'заданиям')}"


def flag_text(flag: SpeedFlag, language: Language) -> str:
    """Return what a flag of suspicious speed says."""
    said = overview_words(language)
    if flag.characters_per_second is not None:
        return said["flag_reading"].format(written(flag.characters_per_second, 0, language))
    return said["flag_faster"].format(written(flag.times_faster, 1, language))


def stored_flag_text(stored: str, language: Language) -> str:
    """Return what a flag says that the database keeps."""
    flag = parsed_flag(stored)
    return "" if flag is None else flag_text(flag, language)
