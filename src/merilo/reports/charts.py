"""Charts of a report as SVG, coloured by the report's style sheet, with numbers in both languages.

They are drawn without a plotting library, because importing one takes about a second and the text in the charts must
follow the page's language.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup, escape

WIDTH = 720


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of a whole.

    Attributes:
        kind: the style class of its colour.
        en: its name in English.
        ru: its name in Russian.
        count: the size of the part.
    """

    kind: str
    en: str
    ru: str
    count: int


@dataclass(frozen=True, slots=True)
class Dot:
    """One annotator on the chart of control items.

    Attributes:
        name: the pseudonymous id of the annotator.
        value: accuracy on control items.
        low: the interval's lower bound.
        high: the interval's upper bound.
        n: the number of answers to control items.
        excluded: whether the annotator was excluded.
    """

    name: str
    value: float
    low: float
    high: float
    n: int
    excluded: bool


def number(value: float, digits: int = 3) -> Markup:
    """Format a number in both languages, with a decimal comma in Russian.

    A positive number that rounds to 0 is shown as less than the smallest number with so many decimal places.

    Example:
        >>> print(number(0.5, 1))
        <span lang="en">0.5</span><span lang="ru">0,5</span>
    """
    least = 10.0**-digits
    if 0 < value < least / 2:
        return Markup("&lt;&nbsp;") + _both("span", f"{least:.{digits}f}")
    return _both("span", f"{value:.{digits}f}".replace("-", "−"))


def _both(tag: str, text: str) -> Markup:
    russian = text.replace(".", ",").replace("%", "\u00a0%")
    return escape(text) if russian == text else _IN_BOTH[tag].format(text, russian)


_IN_BOTH: Final = {
    "span": Markup('<span lang="en">{}</span><span lang="ru">{}</span>'),
    "tspan": Markup('<tspan lang="en">{}</tspan><tspan lang="ru">{}</tspan>'),
}


def _text(x: float, y: float, text: str, anchor: str = "middle", kind: str = "tick") -> Markup:
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}" class="{}">{}</text>').format(
        x, y, anchor, kind, _both("tspan", text)
    )


def _svg(height: float, body: Sequence[Markup], en: str, ru: str) -> Markup:
    return Markup(
        '<svg viewBox="0 0 {} {:.0f}" role="img" preserveAspectRatio="xMidYMid meet"><title>{} / {}</title>{}</svg>'
    ).format(WIDTH, height, en, ru, Markup("").join(body))


def _broad(svg: Markup) -> Markup:
    """Make a chart scroll horizontally on narrow screens instead of shrinking until it is unreadable."""
    return Markup('<div class="chart">{}</div>').format(svg)


def interval_bar(value: float, low: float, high: float) -> Markup:
    """Draw an estimate between 0 and 1 with its interval."""
    left, right, y = 16, WIDTH - 16, 30

    def x(share: float) -> float:
        return left + (right - left) * min(max(share, 0.0), 1.0)

    body = [Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" class="axis"/>').format(left, y, right, y)]
    for tick in range(0, 11, 2):
        body.append(
            Markup('<line x1="{0:.1f}" y1="{1}" x2="{0:.1f}" y2="{2}" class="axis"/>').format(
                x(tick / 10), y - 4, y + 4
            )
        )
        body.append(_text(x(tick / 10), y + 22, f"{tick / 10:.1f}"))
    body.append(
        Markup('<rect x="{:.1f}" y="{}" width="{:.1f}" height="12" rx="6" class="band"/>').format(
            x(low), y - 6, max(x(high) - x(low), 2)
        )
    )
    body.append(Markup('<circle cx="{:.1f}" cy="{}" r="8" class="mark"/>').format(x(value), y))
    return _svg(60, body, f"{value:.3f} [{low:.3f}, {high:.3f}]", f"{value:.3f} [{low:.3f}; {high:.3f}]")


def stacked_bar(parts: Sequence[Segment]) -> Markup:
    """Draw parts of a whole as one bar; the page adds the legend."""
    total = sum(part.count for part in parts) or 1
    body, x = [], 0.0
    for part in parts:
        if not part.count:
            continue
        width = WIDTH * part.count / total
        body.append(
            Markup(
                '<rect x="{:.2f}" y="0" width="{:.2f}" height="44" class="{}"><title>{} / {}: {}</title></rect>'
            ).format(x, max(width - 1.5, 0.8), part.kind, part.en, part.ru, part.count)
        )
        if width > 34:
            body.append(_text(x + width / 2, 28, str(part.count), kind="inside"))
        x += width
    return _svg(44, body, "How items were resolved", "Как получены согласованные ответы")


def control_chart(dots: Sequence[Dot], threshold: float) -> Markup:
    """Draw annotators by their accuracy on control items, lowest first, with intervals and the threshold."""
    left, right, top, bottom = 40.0, WIDTH - 8.0, 12.0, 212.0

    def y(share: float) -> float:
        return bottom - (bottom - top) * share

    body = []
    for tick in range(0, 11, 2):
        body.append(
            Markup('<line x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}" class="grid"/>').format(
                left, y(tick / 10), right, y(tick / 10)
            )
        )
        body.append(_text(left - 8, y(tick / 10) + 4, f"{tick / 10:.1f}", "end"))
    step = (right - left) / max(len(dots), 1)
    radius = min(max(step * 0.32, 1.2), 5)
    for place, dot in enumerate(sorted(dots, key=lambda dot: (dot.value, dot.n, dot.name))):
        x = left + step * (place + 0.5)
        kind = "bad" if dot.excluded else "good"
        body.append(
            Markup('<line x1="{0:.1f}" y1="{1:.1f}" x2="{0:.1f}" y2="{2:.1f}" class="whisker {3}"/>').format(
                x, y(dot.low), y(dot.high), kind
            )
        )
        body.append(
            Markup(
                '<circle cx="{:.1f}" cy="{:.1f}" r="{:.1f}" class="{}"><title>{}: {:.2f} ({})</title></circle>'
            ).format(x, y(dot.value), radius, kind, dot.name, dot.value, dot.n)
        )
    body.append(
        Markup('<line x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}" class="threshold"/>').format(
            left, y(threshold), right, y(threshold)
        )
    )
    return _broad(_svg(224, body, "Accuracy on control items", "Точность на контрольных заданиях"))


def histogram(shares: Sequence[float], marked: Sequence[bool | None]) -> Markup:
    """Draw a histogram of items by the share of equal answers; each column shows items with a wrong consensus separately.

    Args:
        shares: for each item, the share of its answers that the most frequent label got, 0 to 1.
        marked: for each item, whether its consensus is correct; `None` without a consensus or without gold.
    """
    left, right, top, bottom, bins = 40.0, WIDTH - 8.0, 16.0, 196.0, 10
    columns: list[dict[str, int]] = [{"good": 0, "neutral": 0, "bad": 0} for _ in range(bins)]
    for share, right_answer in zip(shares, marked, strict=True):
        kind = "neutral" if right_answer is None else "good" if right_answer else "bad"
        columns[min(int(share * bins - 1e-9), bins - 1)][kind] += 1
    tallest = max((sum(column.values()) for column in columns), default=0) or 1
    step = (right - left) / bins
    body = [
        Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" class="axis"/>').format(left, bottom, right, bottom)
    ]
    for place, column in enumerate(columns):
        base = bottom
        for kind, count in column.items():
            height = (bottom - top) * count / tallest
            if count:
                body.append(
                    Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" class="{}"/>').format(
                        left + step * place + 3, base - height, step - 6, height, kind
                    )
                )
            base -= height
        if sum(column.values()):
            body.append(_text(left + step * (place + 0.5), base - 5, str(sum(column.values()))))
        body.append(_text(left + step * (place + 0.5), bottom + 18, f"{place * 10}–{(place + 1) * 10}%"))
    return _broad(_svg(220, body, "Items by agreement", "Вопросы по согласию разметчиков"))


def standing_chart(
    people: Sequence[float], crowd: float | None, models: Sequence[tuple[str, float]]
) -> Markup:
    """Draw single annotators as dots stacked at their scores, and the crowd and the models as named lines.

    Args:
        people: the score of each annotator, from 0 to 1.
        crowd: the score of the consensus.
        models: the name and score of each model.
    """
    left, right, radius = 16.0, WIDTH - 16.0, 4.0

    def x(share: float) -> float:
        return left + (right - left) * min(max(share, 0.0), 1.0)

    columns: dict[int, int] = {}
    named = [*([("crowd", crowd)] if crowd is not None else []), *models]
    tallest = max(
        (sum(round(x(one) / 9) == round(x(other) / 9) for one in people) for other in people), default=0
    )
    head = 22.0 * len(named) + 8
    axis = head + max(tallest * 2 * radius + 8, 40)
    body = [
        Markup('<line x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}" class="axis"/>').format(left, axis, right, axis)
    ]
    body += [_text(x(tick / 10), axis + 20, f"{tick / 10:.1f}") for tick in range(0, 11, 2)]
    for value in sorted(people):
        column = round(x(value) / 9)
        columns[column] = columns.get(column, 0) + 1
        y = axis - 4 - radius * (2 * columns[column] - 1)
        body.append(
            Markup(
                '<circle cx="{:.1f}" cy="{:.1f}" r="{}" class="person"><title>{:.3f}</title></circle>'
            ).format(column * 9, y, radius - 0.5, value)
        )
    for place, (name, value) in enumerate(named):
        y, kind = 16 + 22.0 * place, "crowd" if place == 0 and crowd is not None else "rival"
        anchor, shift = ("end", -6) if x(value) > WIDTH / 2 else ("start", 6)
        body.append(
            Markup('<line x1="{0:.1f}" y1="{1:.1f}" x2="{0:.1f}" y2="{2:.1f}" class="line {3}"/>').format(
                x(value), y - 10, axis, kind
            )
        )
        label = (
            Markup('<tspan lang="en">consensus</tspan><tspan lang="ru">согласованный ответ</tspan>')
            if kind == "crowd"
            else name
        )
        body.append(
            Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}" class="name {}">{} {}</text>').format(
                x(value) + shift, y + 2, anchor, kind, label, _both("tspan", f"{value:.3f}")
            )
        )
    return _broad(_svg(axis + 26, body, "People and models", "Люди и модели"))
