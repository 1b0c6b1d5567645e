"""The metadata of a dataset (`raw_dataset_meta.json`) and its cards (`raw_readme_*.json`), as Pydantic models."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    RootModel,
    StringConstraints,
    Tag,
    TypeAdapter,
    ValidationError,
    WrapValidator,
    create_model,
)
from pydantic_core import PydanticCustomError

from merilo.datasets.folders import META
from merilo.datasets.validation.folder import OWN, READMES, Contents
from merilo.errors import fault_text
from merilo.strict_json import Json
from merilo.text import LANGUAGES, Text

#: How many prompts a dataset must have; if prompts are given by domain, in each domain.
FEWEST_PROMPTS: Final = 10
#: Names of parts as the benchmark's newer datasets have them; a mapping of these is not a mapping of domains.
PARTS: Final = frozenset({"task_context", "task_description", "answer_format"})

_INDENT: Final = 4
_ESCAPED_LETTER: Final = re.compile(r"(?<!\\)(?:\\\\)*\\u(?!00[01])[0-9a-fA-F]{4}")


def says(sentence: str, *, inside: bool = False) -> WrapValidator:
    """Replace Pydantic's words on a value by one sentence; with `inside`, values inside it keep their own."""

    def check(value: object, handler: Callable[[object], object]) -> object:
        try:
            return handler(value)
        except ValidationError as error:
            if inside and all(fault["loc"] for fault in error.errors(include_url=False)):
                raise
            raise PydanticCustomError("rule", sentence) from error

    return WrapValidator(check)


def is_translation(value: object) -> bool:
    """Return whether a value is a text in two languages, complete or not, and not an object of fields."""
    return (
        isinstance(value, dict)
        and bool(value.keys() & {*LANGUAGES})
        and not any(isinstance(value.get(language), dict | list) for language in LANGUAGES)
    )


def in_parts(prompts: object) -> bool:
    """Return whether the prompts of the metadata are composed of parts.

    Example:
        >>> in_parts({"answer_format": {"formal": ["Answer with a letter."]}}), in_parts({"geography": ["{question}"]})
        (True, False)
    """
    return isinstance(prompts, dict) and (
        bool(prompts.keys() & PARTS) or any(isinstance(part, dict) for part in prompts.values())
    )


def _form(value: object) -> str:
    if is_translation(value) or not value:
        return "[translation]" if value else "[]"
    return "[object]" if isinstance(value, dict) else "[list]" if isinstance(value, list) else "[]"


Words: TypeAlias = Annotated[str, StringConstraints(pattern=r"\S"), says("must be a text")]
Texts: TypeAlias = Annotated[list[Words], says("must be a list of texts")]


class Translation(BaseModel):
    """A text in both languages."""

    model_config = ConfigDict(strict=True, validate_default=True)
    ru: Words = ""
    en: Words = ""


class Description(
    RootModel[
        Annotated[
            Annotated[Translation, Tag("[translation]")]
            | Annotated[dict[str, "Description"], Tag("[object]")]
            | Annotated[list["Description"], Tag("[list]")]
            | Annotated[
                Literal["default"], says("must be an object with texts in en and ru, or 'default'"), Tag("[]")
            ],
            Discriminator(_form),
        ]
    ]
):
    """A text in both languages, "default" for the entry of a shared dictionary, or the descriptions of inner fields."""


_OneOrTwo: TypeAlias = Annotated[
    Annotated[Translation, Tag("[translation]")] | Annotated[Words, Tag("[]")],
    Discriminator(lambda value: "[translation]" if is_translation(value) else "[]"),
]
_Descriptions: TypeAlias = Annotated[
    dict[str, Description], Field(min_length=1), says("must be an object that is not empty", inside=True)
]
_Human: TypeAlias = Annotated[
    dict[str, Annotated[float, Field(allow_inf_nan=False), says("must be a number")]],
    says("must be an object: metric -> number", inside=True),
]


class Excluded(RootModel["list[Words] | dict[str, Excluded]"]):
    """The fields that are not published: names, or an object of parts with names."""


class Metadata(BaseModel):
    """The metadata; keys with a default are optional, placeholders are filled when the card is built."""

    model_config = ConfigDict(strict=True)
    dataset_name: Words
    description: _OneOrTwo
    license: Words
    dataset_size: Annotated[
        Annotated[int, Field(gt=0)] | Annotated[str, StringConstraints(pattern=r"^len\(\w+\)$")],
        says("must be the number of items, or the placeholder 'len(DATA)'"),
    ]
    modalities: Annotated[
        list[Literal["text", "image", "audio", "video"]],
        Field(min_length=1),
        says("must be a list of some of text, image, audio, video"),
    ]
    skills: Annotated[list[Words], Field(min_length=1), says("must be a list of texts with at least one")]
    domains: Texts
    universal_domains: Texts
    synt_source_models: Annotated[
        list[Words] | Annotated[str, StringConstraints(pattern=r"^list\(set\((?s:.*)\)\)$")],
        says("must be a list of texts, or the placeholder 'list(set(...))'"),
    ]
    data_example: Annotated[dict[str, Any], Field(min_length=1), says("must be an object that is not empty")]
    data_field_descriptions: _Descriptions
    prompts: Annotated[
        list[Any] | Annotated[dict[str, Any], Field(min_length=1)],
        says("must be a list, or an object of lists by domain or by part"),
    ]
    metrics: _Descriptions
    human_benchmark: _Human
    human_benchmark_expert: _Human = {}
    task_type: Annotated[
        Words | Annotated[list[Words], Field(min_length=1)], says("must be a text or texts")
    ] = ""
    task_description: _OneOrTwo = ""
    exclude_fields: Annotated[
        Excluded, says("must be an object of parts with lists of fields, or a list of fields")
    ] = Excluded([])


_TAGS: Final = {"[translation]", "[object]", "[list]", "[]"}


def model_faults(model: TypeAdapter[Any], value: Json) -> Iterator[tuple[str, str]]:
    """Yield the JSON path of each fault and what is wrong there.

    Example:
        >>> [*model_faults(TypeAdapter(Description), {"inputs": {"image": "default", "text": [{"en": "The text"}]}})]
        [('inputs.text[0].ru', 'must be a text')]
    """
    try:
        model.validate_python(value)
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_input=False):
            steps = [
                f"[{step}]" if isinstance(step, int) else f".{step}"
                for step in fault["loc"]
                if step not in _TAGS
            ]
            yield "".join(steps).removeprefix("."), fault_text(fault)


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


def check_readmes(contents: Contents) -> None:
    """Check the cards: both languages or none, every section, each with a text."""
    there = [language for language, name in READMES.items() if (contents.root / name).exists()]
    for language, name in READMES.items() if contents.whole else ():
        if language not in there:
            if there:
                contents.wrong(name, "", "is missing: a card must be written in both languages")
            elif contents.meta is not None:
                contents.note(name, "", "is missing: the dataset has no card")
        elif (card := contents.read_object(name)) is not None:
            sections = SECTIONS[language]
            model = TypeAdapter(create_model("Card", **dict.fromkeys(sections, (Words, ...))))  # type: ignore[call-overload]
            for path, fault in model_faults(model, {key: card[key] for key in sections if key in card}):
                contents.wrong(name, path, fault)
            for section in sorted(card.keys() - {*sections}):
                known = ", ".join(sections)
                contents.wrong(name, section, f"is not a section of a card (there are: {known})")


def check_metadata(contents: Contents) -> None:
    """Check every key of the metadata; a folder of the newer form must have them."""
    meta = contents.meta
    if not contents.whole:
        return
    if meta is None:
        described = (contents.root / OWN).is_file()  # a custom dataset is described there
        if contents.second_form and META not in contents.files and not described:
            contents.wrong(META, "", "is missing")
        return
    for path, fault in model_faults(TypeAdapter(Metadata), dict(meta)):
        contents.wrong(META, path, fault)
    for key in sorted(meta.keys() - Metadata.model_fields.keys()):
        contents.note(META, key, "is not a key of the metadata")
    _check_sizes(meta, contents)
    _check_human(meta, contents)
    _check_writing((contents.root / META).read_text(encoding="utf-8-sig"), contents)


def _check_sizes(meta: Mapping[str, Json], contents: Contents) -> None:
    """Check that `dataset_size` is the number of items in the test, or in the test and the shots."""
    size = meta.get("dataset_size")
    counted = {contents.items.get("test", 0), sum(contents.items.values())} - {0}
    if type(size) is int and size > 0 and counted and size not in counted:
        message = f"says {size} items, but the files have {' or '.join(map(str, sorted(counted)))}"
        # The files may hold a part of a dataset, but never more than all.
        (contents.note if size > max(counted) else contents.wrong)(META, "dataset_size", message)


def _check_human(meta: Mapping[str, Json], contents: Contents) -> None:
    """Check that metrics are named once, and that human scores are given for these metrics."""
    metrics, human = meta.get("metrics"), meta.get("human_benchmark")
    names = list(metrics) if isinstance(metrics, dict) else []
    first: dict[str, str] = {}
    for name in names:
        if (other := first.setdefault(name.strip().casefold(), name)) != name:
            contents.wrong(META, f"metrics.{name}", f"is named twice: also as '{other}'")
    for key in ("human_benchmark", "human_benchmark_expert"):
        for name in (
            human_values
            if isinstance(metrics, dict) and isinstance(human_values := meta.get(key), dict)
            else ()
        ):
            if name not in names:
                contents.wrong(META, f"{key}.{name}", f"is not one of the metrics {', '.join(names)}")
    for name in sorted({*names} - {*human}) if isinstance(human, dict) else ():
        contents.note(META, f"human_benchmark.{name}", "is missing: there is no human result for this metric")


def _check_writing(text: str, contents: Contents) -> None:
    """Check the file's formatting: keys indented by four spaces, letters not escaped."""
    if _ESCAPED_LETTER.search(text):
        contents.wrong(META, "", "has letters written as \\u…; write them as they are (ensure_ascii=False)")
    indents = {len(line) - len(line.lstrip(" ")) for line in text.splitlines() if line.strip()}
    if "\t" in text or min(indents - {0}, default=0) != _INDENT:
        contents.wrong(META, "", f"must be indented by {_INDENT} spaces a level (indent={_INDENT})")
