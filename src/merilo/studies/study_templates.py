"""The templates of a study's pages, pictures and configurations, which escape text of datasets."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape


@cache
def study_templates() -> Environment:
    """Return the templates; the filter `cell` escapes a text for a cell of Mechanical Turk."""
    made = Environment(
        loader=PackageLoader("merilo.studies"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["cell"] = mturk_cell
    return made


def mturk_cell(text: str) -> Markup:
    """Return a text as HTML for a cell of the batch of Mechanical Turk.

    Example:
        >>> mturk_cell("<b>1</b> ${x}") == "&lt;b&gt;1&lt;/b&gt; &#36;{x}"
        True
    """
    escaped = escape(text).replace("$", Markup("&#36;")).replace("\r\n", "\n").replace("\n", Markup("<br>"))
    return Markup("").join(
        letter if ord(letter) < 0x10000 else Markup(f"&#{ord(letter)};")  # noqa: S704 - a number
        for letter in map(Markup, escaped)
    )
