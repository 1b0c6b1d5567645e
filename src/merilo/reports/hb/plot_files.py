"""The plots of a report: every chart of the page as SVG, PDF and PNG, in English and in Russian."""

from __future__ import annotations

import re
from typing import Final

from merilo.baselines.pipeline import Baseline
from merilo.bilingual import Language
from merilo.reports.estimates import OVER_BOTH, OVER_ITEMS_ALONE
from merilo.reports.hb.drawing import has_matplotlib, plot
from merilo.reports.hb.recomputation import Recomputed
from merilo.reports.page import page_charts, resolution_legend

_TITLES: Final[dict[str, dict[Language, str]]] = {
    "resolution": {
        "en": "How items were resolved (number of items)",
        "ru": "Как получены согласованные ответы (число вопросов)",
    },
    "controls": {
        "en": "Annotators by accuracy on control items, with 95% intervals",
        "ru": "Точность разметчиков на контрольных заданиях, 95%-е интервалы",
    },
    "agreement": {
        "en": "Items by the share of equal answers",
        "ru": "Вопросы по доле одинаковых ответов",
    },
    "models": {"en": "People and models", "ru": "Люди и модели"},
}

_LEGENDS: Final[dict[str, list[tuple[str, dict[Language, str]]]]] = {
    "controls": [
        ("good", {"en": "kept", "ru": "ответы учтены"}),
        ("bad", {"en": "excluded", "ru": "ответы исключены"}),
        ("threshold", {"en": "threshold of exclusion", "ru": "порог исключения"}),
    ],
    "agreement": [
        ("good", {"en": "consensus is right", "ru": "согласованный ответ верен"}),
        ("bad", {"en": "consensus is wrong", "ru": "согласованный ответ неверен"}),
        (
            "neutral",
            {"en": "no consensus, or no gold", "ru": "нет согласованного или эталонного ответа"},
        ),
    ],
    "models": [
        ("person", {"en": "one annotator", "ru": "один разметчик"}),
    ],
}


def plot_files(made: Recomputed) -> dict[str, bytes]:
    """Return the plots by name: `plots/en/agreement.svg`; PDF and PNG only if Matplotlib is installed."""
    files = {}
    drawn = has_matplotlib()
    for name, chart in page_charts(made.baseline, made.comparisons).items():
        for language in ("en", "ru"):
            made_plot = plot(
                chart,
                _title(name, made.baseline, language),
                _legend(name, made.baseline, language),
                language,
            )
            file = f"plots/{language}/{_file_name(name)}"
            files[f"{file}.svg"] = made_plot.svg()
            if drawn:
                files[f"{file}.pdf"] = made_plot.with_matplotlib("pdf")
                files[f"{file}.png"] = made_plot.with_matplotlib("png")
    return files


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.@-]+", "-", name)


def _title(name: str, baseline: Baseline, language: Language) -> str:
    metric = name.removeprefix("estimate ")
    if metric == name:
        return _TITLES[name][language]
    one = baseline.estimates.all()[metric]
    value = _number(one.score.value, language)
    if one.interval is None:
        return f"{metric}: {value}"
    low, high = (_number(end, language) for end in (one.interval.low, one.interval.high))
    over = OVER_BOTH if one.two_way else OVER_ITEMS_ALONE
    if language == "ru":
        return f"{metric}: {value}, 95%-й интервал {over.ru} [{low}; {high}]"
    return f"{metric}: {value}, 95% interval {over.en} [{low}, {high}]"


def _number(value: float, language: Language) -> str:
    text = f"{value:.3f}".replace("-", "−")
    return text.replace(".", ",") if language == "ru" else text


def _legend(name: str, baseline: Baseline, language: Language) -> list[tuple[str, str]]:
    if name == "resolution":
        return [
            (one.kind, f"{one.ru if language == 'ru' else one.en}: {one.count}")
            for one in resolution_legend(baseline)
        ]
    return [(kind, names[language]) for kind, names in _LEGENDS.get(name, [])]
