"""The frame of every page: style sheet, languages, templates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from merilo.reports.table import words
from merilo.text import LANGUAGES, Language, Text, both_languages, markup, plain_number

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
    environment.filters |= {"number": number, "words": words}
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


def number(value: float, digits: int = 3) -> Markup:
    """Format a number in both languages, with a decimal comma in Russian.

    A positive number that rounds to 0 is shown as less than the smallest number with so many decimal places.

    Example:
        >>> print(number(0.5, 1))
        <span lang="en">0.5</span><span lang="ru">0,5</span>
    """
    least = 10.0**-digits
    if 0 < value < least / 2:
        return Markup("&lt;&nbsp;") + _both(f"{least:.{digits}f}")
    return _both(plain_number(value, f".{digits}f").replace("-", "−"))


def _both(text: str) -> Markup:
    russian = text.replace(".", ",")
    if russian == text:
        return escape(text)
    return Markup('<span lang="en">{}</span><span lang="ru">{}</span>').format(text, russian)


def html_page(
    title: Text | str,
    bodies: Mapping[Language, Markup],
    links: Sequence[tuple[str, Text]] = (),
    *,
    style: str = "",
) -> str:
    """Return a page without scripts that shows one of its languages at a time, the first one first.

    Args:
        title: its title.
        bodies: its content by language.
        links: addresses beside it, with their names.
        style: style sheet in addition to that of all pages.
    """
    template = page_environment().get_template("page.html.j2")
    return template.render(title=title, bodies=bodies, links=links, names=LANGUAGE_NAMES, style=style)
