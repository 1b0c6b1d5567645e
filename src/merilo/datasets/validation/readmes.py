"""Rules for `raw_readme_ru.json` and `raw_readme_en.json`: the dataset's card in two languages."""

from __future__ import annotations

from typing import Final

from merilo.datasets.validation.folder import READMES, Contents, read_object
from merilo.datasets.validation.report import ValidationReport

#: The sections of a card, language by language.
SECTIONS: Final = {
    "ru": ("Описание задачи", "Мотивация", "Создание датасета", "Human baseline", "Авторы"),
    "en": ("Task description", "Motivation", "Dataset creation", "Human baseline", "Contributors"),
}


def check_readmes(contents: Contents, report: ValidationReport) -> None:
    """Check the cards: both languages or none, every section, each with a text."""
    if not contents.whole:
        return
    there = [language for language, name in READMES.items() if (contents.root / name).exists()]
    for language, name in READMES.items():
        if language in there:
            _check_card(contents, language, report)
        elif there:
            report.wrong(name, "", "is missing: a card must be written in both languages")
        elif contents.meta is not None:
            report.note(name, "", "is missing: the dataset has no card")


def _check_card(contents: Contents, language: str, report: ValidationReport) -> None:
    name = READMES[language]
    card = read_object(contents.root / name, report)
    if card is None:
        return
    for section in SECTIONS[language]:
        text = card.get(section)
        if section not in card:
            report.wrong(name, section, "is missing")
        elif not isinstance(text, str) or not text.strip():
            report.wrong(name, section, "must be a text")
    for section in sorted(card.keys() - set(SECTIONS[language])):
        report.wrong(
            name, section, f"is not a section of a card (there are: {', '.join(SECTIONS[language])})"
        )
