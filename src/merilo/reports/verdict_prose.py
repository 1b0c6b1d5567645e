"""The verdict of a comparison with people in one sentence, in English and in Russian."""

from __future__ import annotations

from typing import Final

from merilo.baselines.model_comparison import Match
from merilo.baselines.model_verdicts import FEWEST_ANNOTATORS, ComparisonVerdict, Margin
from merilo.bilingual import Language, counted, counted_en, date_ru
from merilo.statistics.intervals import Interval

#: The model's side and the people's side of each kind of comparison.
_SIDES: Final = {
    "en": {
        "consensus": ("single answers of {model}", "the consensus of people"),
        "single": ("a single answer of {model}", "a single person"),
        "majority": ("the majority of several answers of {model} (maj@k)", "the majority of as many people"),
    },
    "ru": {
        "consensus": ("одиночные ответы {model}", "согласованный ответ людей"),
        "single": ("один ответ {model}", "один человек"),
        "majority": ("большинство из нескольких ответов {model} (maj@k)", "большинство из стольких же людей"),
    },
}
_OUTCOMES: Final = {
    "en": {
        "above": "above people",
        "human_level": "at human level (within ±{margin})",
        "not_worse": "not worse than people (by {margin})",
        "below": "below people",
        "untold": "cannot be told",
        "above_within": "above people by {difference}, and within the margin (±{margin})",
        "below_within": "below people by {difference}, and within the margin (±{margin})",
    },
    "ru": {
        "above": "выше людей",
        "human_level": "на уровне человека (в пределах ±{margin})",
        "not_worse": "не хуже людей (с допуском {margin})",
        "below": "ниже людей",
        "untold": "пока не определить",
        "above_within": "выше людей на {difference}, но в пределах допуска (±{margin})",
        "below_within": "ниже людей на {difference}, но в пределах допуска (±{margin})",
    },
}


def verdict_sentence(match: Match, model: str, language: Language) -> str:
    """Describe the verdict of a comparison in one sentence; empty if the comparison has no verdict.

    Args:
        match: the comparison.
        model: the model's name.
        language: "en" or "ru".
    """
    verdict = match.verdict
    if verdict is None:
        return ""
    mine, theirs = (side.format(model=model) for side in _SIDES[language][match.kind])
    values = {
        "name": _upper(_outcome_name(verdict, abs(match.difference.value), language)),
        "mine": mine,
        "theirs": theirs,
        "model": f"{match.difference.second:.3f}",
        "people": f"{match.difference.first:.3f}",
        "margin": f"{verdict.margin.value:g}" if verdict.margin else "",
        "span": _span(match.interval, language),
    }
    if language == "ru":
        values = {name: _decimal_commas(name, text) for name, text in values.items()}
    texts = _TEXTS if match.crossed else _TEXTS_FOR_THESE_PEOPLE
    if verdict.few_annotators is not None:
        people = counted_en(verdict.few_annotators, "annotator", "annotators")
        if language == "ru":
            people = counted(verdict.few_annotators, "разметчика", "разметчиков", "разметчиков")
        return f"{_FEW_ANNOTATORS[language].format(**values, annotators=people, fewest=FEWEST_ANNOTATORS)}."
    text = texts[language][verdict.outcome].format(**values)
    if verdict.outcome == "untold":
        text += _untold(verdict, language)
    return f"{text}{_when(verdict.margin, language)}."


def _outcome_name(verdict: ComparisonVerdict, difference: float, language: Language) -> str:
    """Name the outcome of a verdict, with its margin, and with a significant difference within the margin."""
    within = verdict.outcome == "human_level" and verdict.significant
    name = _OUTCOMES[language][f"{verdict.significant}_within" if within else verdict.outcome]
    margin = f"{verdict.margin.value:g}" if verdict.margin else ""
    text = name.format(margin=margin, difference=f"{difference:.3f}")
    return text.replace(".", ",") if language == "ru" else text


_TEXTS: Final = {
    "en": {
        "above": "{name}: {mine} scored {model} and {theirs} {people}, and chance in the choice of items and people does "
        "not explain the difference",
        "human_level": "{name}: {mine} scored {model} and {theirs} {people}, and with other items and other people too "
        "the true scores differ by less than {margin}",
        "not_worse": "{name}: {mine} scored {model} and {theirs} {people}; the model is at most {margin} below people, and "
        "this study cannot tell whether it is level with them or above them",
        "below": "{name}: {mine} scored {model} and {theirs} {people}, and chance in the choice of items and people does "
        "not explain the difference",
        "untold": "{name}: {mine} scored {model} and {theirs} {people}, but with other items and other people the "
        "difference could be anything from {span}",
    },
    "ru": {
        "above": "{name}: {mine} — {model}, {theirs} — {people}; случайностью в выборе вопросов и людей эта разность не "
        "объясняется",
        "human_level": "{name}: {mine} — {model}, {theirs} — {people}; и на других вопросах, и с другими людьми истинные "
        "результаты различаются меньше чем на {margin}",
        "not_worse": "{name}: {mine} — {model}, {theirs} — {people}; модель уступает людям не больше чем на {margin}, а "
        "равна ли она им или выше, по этим данным сказать нельзя",
        "below": "{name}: {mine} — {model}, {theirs} — {people}; случайностью в выборе вопросов и людей эта разность не "
        "объясняется",
        "untold": "{name}: {mine} — {model}, {theirs} — {people}, но на других вопросах и с другими людьми разность может "
        "быть любой {span}",
    },
}

#: The sentences of metrics without an interval over items and annotators.
_TEXTS_FOR_THESE_PEOPLE: Final = {
    "en": {
        **_TEXTS["en"],
        **dict.fromkeys(
            ("above", "below"),
            "{name}: {mine} scored {model} and {theirs} {people}, and chance in the choice of items does not explain the "
            "difference; for this metric it is not known how other people would score",
        ),
        "untold": "{name}: {mine} scored {model} and {theirs} {people}, but with other items the difference could be anything "
        "from {span}",
    },
    "ru": {
        **_TEXTS["ru"],
        **dict.fromkeys(
            ("above", "below"),
            "{name}: {mine} — {model}, {theirs} — {people}; случайностью в выборе вопросов эта разность не объясняется, а "
            "каким был бы результат других людей, по этой метрике сказать нельзя",
        ),
        "untold": "{name}: {mine} — {model}, {theirs} — {people}, но на других вопросах разность может быть любой {span}",
    },
}
_FEW_ANNOTATORS: Final = {
    "en": "{name}: {mine} scored {model} and {theirs} {people}, but the answers of {annotators} do not show how other people "
    "would score (a verdict needs at least {fewest} annotators)",
    "ru": "{name}: {mine} — {model}, {theirs} — {people}, но по ответам {annotators} нельзя судить о результатах других "
    "людей (для вывода нужно не меньше {fewest} разметчиков)",
}


def _untold(verdict: ComparisonVerdict, language: Language) -> str:
    needed = verdict.needed
    if needed is not None:
        if language == "ru":
            return f"; понадобилось бы примерно вопросов: {needed.items}, разметчиков: {needed.annotators}"
        return f"; it would take about {needed.items} items and {needed.annotators} people"
    if verdict.margin is None:
        if language == "ru":
            return "; это не доказывает, что модель на уровне человека: для этого нужно задать допуск"
        return "; this does not show that the model is at human level, which takes a margin"
    return ""


def _when(margin: Margin | None, language: Language) -> str:
    if margin is None:
        return ""
    if margin.planned is None:
        return {
            "en": " [margin given after the data]",
            "ru": " [допуск задан после получения данных]",
        }[language]
    return {
        "en": f" [margin planned on {margin.planned}]",
        "ru": f" [допуск из плана от {date_ru(margin.planned)}]",
    }[language]


def _span(interval: Interval, language: Language) -> str:
    low, high = (f"{bound:+.3f}".replace("-", "−") for bound in (interval.low, interval.high))
    return f"от {low} до {high}" if language == "ru" else f"{low} to {high}"


def _decimal_commas(name: str, text: str) -> str:
    return text.replace(".", ",") if name in {"model", "people", "margin", "span"} else text


def _upper(text: str) -> str:
    return text[0].upper() + text[1:]
