"""Writing the section "Human baseline" of `raw_readme_ru.json` and `raw_readme_en.json` without other changes of the file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import ModuleType
from typing import Final

from merilo.bilingual import Language
from merilo.reports import baseline_prose_en, baseline_prose_ru
from merilo.reports.baseline_facts import BaselineFacts, baseline_facts, cost_facts
from merilo.reports.expert_prose import comparison_paragraph, experts_paragraph
from merilo.reports.json_editing import decoded_object, encoded_like, with_members
from merilo.reports.json_record import count_at, mapping_at, text_at
from merilo.reports.whole_dataset_prose import sample_paragraph
from merilo.strict_json import Json

SECTION: Final = "Human baseline"

#: The beginning of a tag, and the middle of a link or picture: names from a dataset must not become these in Markdown.
_MARKUP: Final = re.compile(r"<(?=[A-Za-z/!?])|\]\(")

_PROSE: Final[Mapping[str, ModuleType]] = {"ru": baseline_prose_ru, "en": baseline_prose_en}

_HEADS: Final = {
    "ru": ("Люди без специальной подготовки.", "Эксперты."),
    "en": ("People without training.", "Experts."),
}


def human_baseline_section(
    content: Mapping[str, Json],
    plan: Mapping[str, Json] | None,
    language: Language,
    *,
    experts: Mapping[str, Json] | None = None,
    platform: str | None = None,
) -> str:
    """Write the section that the guide asks for: whom, overlap, controls, restrictions, exclusion, aggregation, threshold, agreement,
    results with intervals and counts, time and pay.

    A sentence whose values are missing is left out; missing gold, controls and pay are said to be missing.

    Args:
        content: the JSON of the baseline of people without training.
        plan: the content of `study.yaml`.
        language: `ru` or `en`.
        experts: for an expert dataset, the JSON of `merilo experts baseline`, or of both arms (see `study_of_arms`).
        platform: the code of the platform, such as `toloka`, if the baseline's command does not name it.

    Returns:
        Paragraphs, divided by a blank line.
    """  # noqa: D205 - the first sentence lists what the guide asks for
    facts = baseline_facts(content, plan, language=language, platform=platform)
    told_of = [
        sample_paragraph(content, language),
        "" if experts else human_benchmark_sentence(content, language),
    ]
    people = [*paragraphs(facts, language), *filter(None, told_of)]
    if experts is None:
        return "\n\n".join(people)
    heads = _HEADS[language]
    told = [f"{heads[0]} {people[0]}" if people else heads[0], *people[1:]]
    other = _expert_paragraphs(experts, plan, language)
    told += [f"{heads[1]} {other[0]}", *other[1:]] if other else []
    told += filter(None, [comparison_paragraph(experts, language)])
    return "\n\n".join(told)


def human_benchmark_sentence(content: Mapping[str, Json], language: Language) -> str:
    """Say which items give the value of `human_benchmark`; empty without a metric."""
    metrics = mapping_at(content, "human_benchmark", "metrics")
    n = next((count_at(metrics, name, "n") for name in metrics), None)
    total = count_at(content, "items", "total")
    if n is None or total is None:
        return ""
    agreed = text_at(content, "human_benchmark", "items") == "agreed"
    if language == "ru":
        which = (
            "только на вопросах с большинством голосов"
            if agreed
            else "на всех вопросах с согласованным ответом"
        )
        return f"Значение human_benchmark в метаданных датасета посчитано {which}: {n} из {total}."
    which = "the items with a majority only" if agreed else "all items with a consensus"
    return f"The value of human_benchmark in the dataset's metadata is that of {which}: {n} of {total}."


def paragraphs(facts: BaselineFacts, language: Language) -> list[str]:
    """Write the paragraphs about one group of people; empty ones are left out."""
    prose = _PROSE[language]
    parts = ("conditions", "controls", "aggregation", "agreement", "results")
    told = [str(getattr(prose, name)(facts)) for name in parts]
    told.append(str(prose.pay(facts.cost)))
    return [text for text in told if text]


def _expert_paragraphs(
    study: Mapping[str, Json], plan: Mapping[str, Json] | None, language: Language
) -> list[str]:
    own = mapping_at(study, "experts")
    if not own:  # the experts' own baseline, without a comparison
        return paragraphs(baseline_facts(study, plan, language=language, role="experts"), language)
    prose = _PROSE[language]
    paid = [str(prose.pay(cost_facts(study)))] if mapping_at(study, "cost") else []
    if text_at(own, "protocol") == "out-of-bag":
        return [experts_paragraph(own, language), *paid]
    if "resolved_by" in own:
        return paragraphs(baseline_facts(own, plan, language=language, role="experts"), language)
    facts = baseline_facts({**own, "dataset": study.get("dataset")}, plan, language=language, role="experts")
    asked = " ".join(filter(None, [prose.conditions(facts), prose.exclusion(facts)]))
    return [asked, str(prose.results(facts)), *paid]


def readme_with_section(raw: bytes, section: str, file: str) -> bytes:
    """Set the section "Human baseline" of a card and keep every other byte.

    Args:
        raw: the file `raw_readme_ru.json` or `raw_readme_en.json`: section -> text.
        section: the new text; HTML and links in it are escaped, because names from datasets occur in it.
        file: the file's name, for messages.

    Raises:
        InputError: the file is not JSON.
        DataError: the file is not an object.
    """
    text, card = decoded_object(raw, file)
    section = _MARKUP.sub(lambda found: f"{found[0][:-1]}\\{found[0][-1]}", section)
    key = next((name for name in card if name.strip().casefold() == SECTION.casefold()), SECTION)
    return encoded_like(raw, with_members(text, {key: section}))
