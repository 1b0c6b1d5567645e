"""Rules for the descriptions of a dataset.

`raw_dataset_meta.json`, its metadata, and `raw_readme_*.json`, its cards.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias, TypeGuard

from merilo.datasets.validation.folder import META, OWN, READMES, Contents, ValidationReport
from merilo.strict_json import Json
from merilo.text import LANGUAGES, Text

#: The text that stands for the entry of a dictionary of terms that datasets share.
SHARED_TERM: Final = "default"

#: The sections of a card, language by language.
_BEFORE: Final = (Text("Task description"), Text("Motivation"), Text("Dataset creation"))
SECTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    language: (
        *(section.in_language(language) for section in _BEFORE),
        "Human baseline",
        Text("Contributors").in_language(language),
    )
    for language in LANGUAGES
}


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
            missing = [language for language in LANGUAGES if not _is_text(held.get(language))]
            yield from ((f"{where}.{language}", "must be a text") for language in missing)
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


def is_translation(value: Json) -> TypeGuard[dict[str, Json]]:
    """Check whether a value is a text in two languages, complete or not, and not an object of fields."""
    return (
        isinstance(value, dict)
        and bool(value.keys() & set(LANGUAGES))
        and not any(isinstance(value.get(language), dict | list) for language in LANGUAGES)
    )


def check_readmes(contents: Contents) -> None:
    """Check the cards: both languages or none, every section, each with a text."""
    if not contents.whole:
        return
    report = contents.report
    there = [language for language, name in READMES.items() if (contents.root / name).exists()]
    for language, name in READMES.items():
        if language not in there:
            if there:
                report.wrong(name, "", "is missing: a card must be written in both languages")
            elif contents.meta is not None:
                report.note(name, "", "is missing: the dataset has no card")
            continue
        if (card := contents.read_object(name)) is None:
            continue
        sections = SECTIONS[language]
        for section in sections:
            if not _is_text(card.get(section)):
                report.wrong(name, section, "must be a text" if section in card else "is missing")
        for section in sorted(card.keys() - set(sections)):
            known = ", ".join(sections)
            report.wrong(name, section, f"is not a section of a card (there are: {known})")


def _is_text(value: Json) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _are_texts(value: Json) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_object(value: Json) -> bool:
    return isinstance(value, dict) and bool(value)


def _is_size(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


LONGEST_DESCRIPTION: Final = 200
MODALITIES: Final = ("text", "image", "audio", "video")

#: Placeholders of values that are computed when the card is built.
SIZE_PLACEHOLDER: Final = re.compile(r"len\(\w+\)")
SOURCES_PLACEHOLDER: Final = re.compile(r"list\(set\(.*\)\)", re.DOTALL)

_INDENT: Final = 4
_ESCAPED_LETTER: Final = re.compile(r"(?<!\\)(?:\\\\)*\\u(?!00[01])[0-9a-fA-F]{4}")

#: Checks a value, and what is wrong with values that fail the check.
_Rule: TypeAlias = tuple[Callable[[Any], bool], str]

_TEXT: Final[_Rule] = (_is_text, "must be a text")
_TEXTS: Final[_Rule] = (_are_texts, "must be a list of texts")
_OBJECT: Final[_Rule] = (_is_object, "must be an object that is not empty")

_KEYS: Final[Mapping[str, _Rule]] = {
    "dataset_name": _TEXT,
    "description": _TEXT,
    "license": _TEXT,
    "dataset_size": (
        lambda value: _is_size(value) or (isinstance(value, str) and bool(SIZE_PLACEHOLDER.fullmatch(value))),
        "must be the number of items, or the placeholder 'len(DATA)'",
    ),
    "modalities": (
        lambda value: _are_texts(value) and bool(value) and set(value) <= set(MODALITIES),
        f"must be a list of some of {', '.join(MODALITIES)}",
    ),
    "skills": (lambda value: _are_texts(value) and bool(value), "must be a list of texts with at least one"),
    "domains": _TEXTS,
    "universal_domains": _TEXTS,
    "synt_source_models": (
        lambda value: (
            _are_texts(value) or (isinstance(value, str) and bool(SOURCES_PLACEHOLDER.fullmatch(value)))
        ),
        "must be a list of texts, or the placeholder 'list(set(...))'",
    ),
    "data_example": _OBJECT,
    "data_field_descriptions": _OBJECT,
    "prompts": (
        lambda value: isinstance(value, list | dict),
        "must be a list, or an object of lists by domain or by part",
    ),
    "metrics": _OBJECT,
    "human_benchmark": (lambda value: isinstance(value, dict), "must be an object: metric -> number"),
}

#: Keys that newer metadata may have.
_OPTIONAL: Final[Mapping[str, _Rule]] = {
    "task_type": (
        lambda value: _is_text(value) or (_are_texts(value) and bool(value)),
        "must be a text or texts",
    ),
    "task_description": (lambda value: _is_object(value) or _is_text(value), "must be a text"),
    "exclude_fields": _TEXTS,
}


def check_metadata(contents: Contents) -> None:
    """Check every key of the metadata; a folder of the newer form must have them."""
    meta, report = contents.meta, contents.report
    if not contents.whole:
        return
    if meta is None:
        described = (contents.root / OWN).is_file()  # a custom dataset is described there
        if contents.second_form and META not in report.files and not described:
            report.wrong(META, "", "is missing")
        return
    for key, (is_good, fault) in {**_KEYS, **_OPTIONAL}.items():
        if key in meta and not is_good(meta[key]):
            report.wrong(META, key, fault)
        elif key not in meta and key in _KEYS:
            report.wrong(META, key, "is missing")
    for key in sorted(meta.keys() - _KEYS.keys() - _OPTIONAL.keys()):
        report.note(META, key, "is not a key of the metadata")
    _check_sizes(meta, report)
    for key in ("data_field_descriptions", "metrics", "task_description"):
        if _is_object(held := meta.get(key)):
            for path, fault in description_faults(held, key):
                report.wrong(META, path, fault)
    _note_undescribed(contents, meta)
    _check_human(meta, report)
    _check_writing((contents.root / META).read_text(encoding="utf-8-sig"), report)


def _check_sizes(meta: Mapping[str, Json], report: ValidationReport) -> None:
    """Note a long description; `dataset_size` is the number of items in the test, or in the test and the shots."""
    description, size = meta.get("description"), meta.get("dataset_size")
    if isinstance(description, str) and len(description) > LONGEST_DESCRIPTION:
        many = f"has {len(description)} characters; at most {LONGEST_DESCRIPTION} are recommended"
        report.note(META, "description", many)
    counted = {report.items.get("test", 0), sum(report.items.values())} - {0}
    if _is_size(size) and counted and size not in counted:
        found = " or ".join(map(str, sorted(counted)))
        report.wrong(META, "dataset_size", f"says {size} items, but the files have {found}")


def _note_undescribed(contents: Contents, meta: Mapping[str, Json]) -> None:
    described = meta.get("data_field_descriptions")
    if not isinstance(described, dict) or not contents.places or isinstance(described.get("inputs"), str):
        return
    inputs = contents.places[0].item.inputs
    for name in sorted(set(inputs) - described_fields(described)) if isinstance(inputs, Mapping) else ():
        missing = "is missing: the field is not described"
        contents.report.note(META, f"data_field_descriptions.{name}", missing)


def _check_human(meta: Mapping[str, Json], report: ValidationReport) -> None:
    """Check that metrics are named once, and that human scores are given for these metrics."""
    metrics, human = meta.get("metrics"), meta.get("human_benchmark")
    names = list(metrics) if isinstance(metrics, dict) else []
    first: dict[str, str] = {}
    for name in names:
        if (other := first.setdefault(name.strip().casefold(), name)) != name:
            report.wrong(META, f"metrics.{name}", f"is named twice: also as '{other}'")
    if not isinstance(human, dict):
        return
    for name, value in human.items():
        where = f"human_benchmark.{name}"
        if isinstance(metrics, dict) and name not in metrics:
            report.wrong(META, where, f"is not one of the metrics {', '.join(names)}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            report.wrong(META, where, "must be a number")
    for name in sorted(set(names) - set(human)):
        report.note(META, f"human_benchmark.{name}", "is missing: there is no human result for this metric")


def _check_writing(text: str, report: ValidationReport) -> None:
    """Check the file's formatting: an indent of four spaces, letters not escaped."""
    if _ESCAPED_LETTER.search(text):
        report.wrong(META, "", "has letters written as \\u…; write them as they are (ensure_ascii=False)")
    indents = [len(line) - len(line.lstrip(" \t")) for line in text.splitlines() if line.strip()]
    if "\t" in text or max(indents, default=0) < _INDENT or any(indent % _INDENT for indent in indents):
        report.wrong(META, "", f"must be indented by {_INDENT} spaces a level (indent={_INDENT})")
