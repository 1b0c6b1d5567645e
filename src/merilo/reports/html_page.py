"""The frame of every page: style sheet, languages, templates."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from merilo.reports.table import words
from merilo.text import LANGUAGES, Language, Text, both_languages, markup

#: What the name of each language is in this language.
LANGUAGE_NAMES: Final[Mapping[Language, str]] = {"en": "English", "ru": "Русский"}


@cache
def page_environment() -> Environment:
    """Return the environment of all report pages.

    It has the templates of this package and escapes every value; an unknown name is an error. `_` is
    `text.both_languages`, `text` a sentence.
    """
    environment = Environment(
        loader=PackageLoader("merilo.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["words"] = words
    environment.globals |= {
        "_": both_languages,
        "text": Text,
        "languages": LANGUAGES,
        "own_name": Text("English", context="name of this language"),
    }
    return environment


def spans(languages: Sequence[Language]) -> Callable[..., Markup]:
    """Return the function `_` of a template for a page in one language, or in two with a span for each."""
    return both_languages if len(languages) > 1 else partial(_in_language, languages[0])


def _in_language(
    language: Language, english: str | Text, /, *, context: str = "", **values: object
) -> Markup:
    return markup(english, language, context=context, **values)


def html_page(
    title: Text | str,
    bodies: Mapping[Language, Markup],
    links: Sequence[tuple[str, Text]] = (),
    *,
    style: str = "",
    script: str = "",
) -> str:
    """Return a page that shows one of its languages at a time, the first one first.

    Args:
        title: its title.
        bodies: its content by language.
        links: addresses beside it, with their names.
        style: style sheet of this package in addition to that of all pages.
        script: the name of the template with its script, the only one that the page's policy admits.
    """
    content = script_content(script) if script else {"script": ""}
    content["style"] = Markup(style)  # noqa: S704 - of this package
    template = page_environment().get_template("page.html.j2")
    return template.render(title=title, bodies=bodies, links=links, names=LANGUAGE_NAMES, **content)


def script_content(name: str) -> dict[str, str]:
    """Return a script of the templates and its hash, as `script` and `script_hash`."""
    text = (files("merilo.reports") / "templates" / name).read_text("utf-8")
    digest = b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return {"script": Markup(text), "script_hash": digest}  # noqa: S704 - a file of this package
