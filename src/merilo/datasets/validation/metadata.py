"""Rules for the descriptions of a dataset.

`raw_dataset_meta.json`, its metadata, and `raw_readme_*.json`, its cards.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from merilo.datasets.validation.folder import META, OWN, READMES, Contents, read_object
from merilo.datasets.validation.report import ValidationReport
from merilo.strict_json import Json

#: The text that stands for the entry of a dictionary of terms that datasets share.
SHARED_TERM: Final = "default"

LANGUAGES: Final = ("en", "ru")


def description_faults(value: Json, path: str) -> Iterator[tuple[str, str]]:
    """Yield the JSON path and the fault of each description below a value.

    A description is an object with a text in English and in Russian, or the text "default". Other objects and
    lists hold the descriptions of fields inside a field, to any depth, as in `data_example`.

    Args:
        value: a description, or an object or list that holds descriptions.
        path: its JSON path.

    Example:
        >>> nested = {"inputs": {"image": "default", "question": {"en": "The question"}}}
        >>> list(description_faults(nested, "data_field_descriptions"))
        [('data_field_descriptions.inputs.question.ru', 'must be a text')]
    """
    pending = [(path, value)]
    while pending:
        where, held = pending.pop()
        if is_translation(held):
            yield from _translation_faults(held, where)
        elif isinstance(held, dict) and held:
            pending += [(f"{where}.{name}", inner) for name, inner in held.items()]
        elif isinstance(held, list) and held:
            pending += [(f"{where}[{number}]", inner) for number, inner in enumerate(held)]
        elif held != SHARED_TERM:
            yield where, f"must be an object with texts in en and ru, or '{SHARED_TERM}'"


def described_fields(value: Json) -> set[str]:
    """Return the names of all described fields, at any depth; a name such as `inputs.image` counts as `image`."""
    names: set[str] = set()
    pending = [value]
    while pending:
        held = pending.pop()
        if isinstance(held, dict) and not is_translation(held):
            names |= {name.rsplit(".", 1)[-1] for name in held}
            pending += held.values()
        elif isinstance(held, list):
            pending += held
    return names


def is_translation(value: Json) -> bool:
    """Check whether a value is a text in two languages, complete or not, and not an object of fields."""
    return (
        isinstance(value, Mapping)
        and bool(value.keys() & set(LANGUAGES))
        and not any(isinstance(value.get(language), dict | list) for language in LANGUAGES)
    )


def _translation_faults(value: Json, path: str) -> Iterator[tuple[str, str]]:
    for language in LANGUAGES:
        text = value.get(language) if isinstance(value, dict) else None
        if not isinstance(text, str) or not text.strip():
            yield f"{path}.{language}", "must be a text"


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


LONGEST_DESCRIPTION: Final = 200
MODALITIES: Final = ("text", "image", "audio", "video")

#: Placeholders of values that are computed when the card is built.
SIZE_PLACEHOLDER: Final = re.compile(r"len\(\w+\)")
SOURCES_PLACEHOLDER: Final = re.compile(r"list\(set\(.*\)\)", re.DOTALL)

_INDENT: Final = 4
_ESCAPED_LETTER: Final = re.compile(r"(?<!\\)(?:\\\\)*\\u(?!00[01])[0-9a-fA-F]{4}")


def check_metadata(contents: Contents, report: ValidationReport) -> None:
    """Check every key of the metadata; a folder of the newer form must have them."""
    meta = contents.meta
    if not contents.whole:
        return
    if meta is None:
        described = (contents.root / OWN).is_file()  # a custom dataset is described there
        if contents.second_form and META not in report.files and not described:
            report.wrong(META, "", "is missing")
        return
    for key, check in _KEYS.items():
        if key not in meta:
            report.wrong(META, key, "is missing")
        elif fault := check(meta[key]):
            report.wrong(META, key, fault)
    for key, check in _OPTIONAL.items():
        if key in meta and (fault := check(meta[key])):
            report.wrong(META, key, fault)
    for key in sorted(meta.keys() - _KEYS.keys() - _OPTIONAL.keys()):
        report.note(META, key, "is not a key of the metadata")
    _note_length(meta, report)
    _check_size(meta, report)
    _check_descriptions(meta, "data_field_descriptions", report)
    _check_descriptions(meta, "metrics", report)
    _check_descriptions(meta, "task_description", report)
    _note_undescribed(contents, meta, report)
    _check_human(meta, report)
    _check_writing((contents.root / META).read_text(encoding="utf-8-sig"), report)


def _text(value: Json) -> str | None:
    return None if isinstance(value, str) and value.strip() else "must be a text"


def _text_or_texts(value: Json) -> str | None:
    return _some_texts(value) if isinstance(value, list) else _text(value)


def _size(value: Json) -> str | None:
    """Return the fault of a size: a number of items, or the placeholder that is filled when the card is built."""
    if isinstance(value, str) and SIZE_PLACEHOLDER.fullmatch(value):
        return None
    whole = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return None if whole else "must be the number of items, or the placeholder 'len(DATA)'"


def _sources(value: Json) -> str | None:
    """Return the fault of the list of models that made data.

    The placeholder that is filled when the card is built is checked too.
    """
    if isinstance(value, str) and SOURCES_PLACEHOLDER.fullmatch(value):
        return None
    return _texts(value) and "must be a list of texts, or the placeholder 'list(set(...))'"


def _texts(value: Json) -> str | None:
    fine = isinstance(value, list) and all(isinstance(text, str) and text.strip() for text in value)
    return None if fine else "must be a list of texts"


def _some_texts(value: Json) -> str | None:
    return "must name at least one" if value == [] else _texts(value)


def _modalities(value: Json) -> str | None:
    if isinstance(value, list) and (unknown := [name for name in value if name not in MODALITIES]):
        return f"'{unknown[0]}' is not one of {', '.join(MODALITIES)}"
    return _some_texts(value)


def _object(value: Json) -> str | None:
    return None if isinstance(value, dict) and value else "must be an object that is not empty"


def _prompts(value: Json) -> str | None:
    return (
        None
        if isinstance(value, list | dict)
        else "must be a list, or an object of lists by domain or by part"
    )


_KEYS: Final[Mapping[str, Callable[[Json], str | None]]] = {
    "dataset_name": _text,
    "description": _text,
    "license": _text,
    "dataset_size": _size,
    "modalities": _modalities,
    "skills": _some_texts,
    "domains": _texts,
    "universal_domains": _texts,
    "synt_source_models": _sources,
    "data_example": _object,
    "data_field_descriptions": _object,
    "prompts": _prompts,
    "metrics": _object,
    "human_benchmark": lambda value: (
        None if isinstance(value, dict) else "must be an object: metric -> number"
    ),
}

#: Keys that newer metadata may have.
_OPTIONAL: Final[Mapping[str, Callable[[Json], str | None]]] = {
    "task_type": _text_or_texts,
    "task_description": lambda value: None if isinstance(value, dict) and value else _text(value),
    "exclude_fields": _texts,
}


def _note_length(meta: Mapping[str, Json], report: ValidationReport) -> None:
    description = meta.get("description")
    if isinstance(description, str) and len(description) > LONGEST_DESCRIPTION:
        message = f"has {len(description)} characters; at most {LONGEST_DESCRIPTION} are recommended"
        report.note(META, "description", message)


def _check_size(meta: Mapping[str, Json], report: ValidationReport) -> None:
    """Check that `dataset_size` is the number of items in the test, or in the test and the shots."""
    size = meta.get("dataset_size")
    counted = {report.items.get("test", 0), sum(report.items.values())} - {0}
    if isinstance(size, int) and not isinstance(size, bool) and size > 0 and counted and size not in counted:
        found = " or ".join(map(str, sorted(counted)))
        report.wrong(META, "dataset_size", f"says {size} items, but the files have {found}")


def _check_descriptions(meta: Mapping[str, Json], key: str, report: ValidationReport) -> None:
    """Check that each entry is given in English and in Russian, or by the dictionary of terms."""
    held = meta.get(key)
    if isinstance(held, dict) and held:
        for path, fault in description_faults(held, key):
            report.wrong(META, path, fault)


def _note_undescribed(contents: Contents, meta: Mapping[str, Json], report: ValidationReport) -> None:
    described = meta.get("data_field_descriptions")
    if not isinstance(described, dict) or not contents.places or isinstance(described.get("inputs"), str):
        return
    inputs = contents.places[0].item.inputs
    for name in sorted(set(inputs) - described_fields(described)) if isinstance(inputs, Mapping) else ():
        report.note(META, f"data_field_descriptions.{name}", "is missing: the field is not described")


def _check_human(meta: Mapping[str, Json], report: ValidationReport) -> None:
    """Check that metrics are named once, and that human scores are given for these metrics."""
    metrics, human = meta.get("metrics"), meta.get("human_benchmark")
    names = list(metrics) if isinstance(metrics, dict) else []
    folded = [name.strip().casefold() for name in names]
    for number, name in enumerate(names):
        if folded[number] in folded[:number]:
            report.wrong(
                META, f"metrics.{name}", f"is named twice: also as '{names[folded.index(folded[number])]}'"
            )
    if not isinstance(human, dict):
        return
    for name, value in human.items():
        if isinstance(metrics, dict) and name not in metrics:
            report.wrong(META, f"human_benchmark.{name}", f"is not one of the metrics {', '.join(names)}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            report.wrong(META, f"human_benchmark.{name}", "must be a number")
    for name in sorted(set(names) - set(human)):
        report.note(META, f"human_benchmark.{name}", "is missing: there is no human result for this metric")


def _check_writing(text: str, report: ValidationReport) -> None:
    """Check the file's formatting: an indent of four spaces, letters not escaped."""
    if _ESCAPED_LETTER.search(text):
        report.wrong(META, "", "has letters written as \\u…; write them as they are (ensure_ascii=False)")
    indents = [len(line) - len(line.lstrip(" \t")) for line in text.splitlines() if line.strip()]
    if "\t" in text or max(indents, default=0) < _INDENT or any(indent % _INDENT for indent in indents):
        report.wrong(META, "", f"must be indented by {_INDENT} spaces a level (indent={_INDENT})")
