"""Write the files of an Amazon Mechanical Turk project: the CSV of a batch and its HTML layout.

Mechanical Turk puts the cells of the CSV into the layout as HTML. Every cell is therefore written as HTML that shows a text:
markup characters, the dollar sign of placeholders and characters that the platform's CSV cannot hold are character references.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from html import escape
from typing import Final

from merilo.studies.instruction_html import STYLE, instruction_body, training_page
from merilo.studies.outgoing import PATTERNS, STUDY, MediaKind, Outgoing
from merilo.studies.study_tasks import StudyTask, pages

#: Amazon's form element, which sends the answers; the only script of the layout.
_FORM_SCRIPT: Final = "https://assets.crowd.aws/crowd-html-elements.js"


def mturk_files(outgoing: Outgoing) -> dict[str, str]:
    """Return the files of a Mechanical Turk project by name.

    A page (HIT) is a row of the CSV and shows `outgoing.page` tasks. If the last page is shorter, it has a CSV and a layout of
    its own. No file holds a known answer: a browser would show it.
    """
    files = {}
    whole = pages(outgoing.mixed, outgoing.page)
    for size in dict.fromkeys(map(len, whole)):
        mark = "" if size == len(whole[0]) else f"-{size}"
        same = [page for page in whole if len(page) == size]
        files[f"tasks{mark}.csv"] = _table(outgoing, same)
        files[f"layout{mark}.html"] = _layout(outgoing, size)
    if outgoing.training:
        files["training.html"] = training_page(outgoing)
    return files


def _table(outgoing: Outgoing, rows: Sequence[Sequence[StudyTask]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    places = range(1, len(rows[0]) + 1)
    names = [name for name in outgoing.shown(rows[0][0]) if name != STUDY]
    writer.writerow([STUDY, *(f"{name}_{place}" for place in places for name in names)])
    for page in rows:
        shown = (outgoing.shown(task) for task in page)
        cells = [as_cell(fields[name]) for fields in shown for name in names]
        writer.writerow([outgoing.study, *cells])
    return text.getvalue()


def as_cell(text: str) -> str:
    """Return a text as HTML for a cell of the batch.

    Example:
        >>> as_cell("<b>1</b> ${x}") == "&lt;b&gt;1&lt;/b&gt; &#36;{x}"
        True
    """
    escaped = escape(text).replace("$", "&#36;").replace("\r\n", "\n").replace("\n", "<br>")
    return "".join(letter if ord(letter) < 0x10000 else f"&#{ord(letter)};" for letter in escaped)


def _layout(outgoing: Outgoing, size: int) -> str:
    instruction = instruction_body(outgoing).replace("$", "&#36;")
    questions = "".join(_question(outgoing, place) for place in range(1, size + 1))
    return (
        f'<script src="{_FORM_SCRIPT}"></script>\n<style>{STYLE}</style>\n<crowd-form>\n'
        f"<details open><summary>{escape(outgoing.word('instruction'))}</summary>\n{instruction}</details>\n"
        f"{questions}</crowd-form>\n"
    )


def _question(outgoing: Outgoing, place: int) -> str:
    media = "".join(_medium(kind, f"media_{name}_{place}") for name, kind in outgoing.media.items())
    return (
        f"<fieldset>\n<legend>{place}</legend>\n"
        f'<div class="prompt">${{prompt_{place}}}</div>\n{media}{_field(outgoing, place)}</fieldset>\n'
    )


def _medium(kind: MediaKind, name: str) -> str:
    if kind == "image":
        return f'<img src="${{{name}}}" alt="">\n'
    return f'<{kind} controls src="${{{name}}}"></{kind}>\n'


def _field(outgoing: Outgoing, place: int) -> str:
    """The field of an answer. A mark "may be mine" beside it makes the answer needless."""
    name = f"answer_{place}"
    if outgoing.labels:
        return "".join(
            f'<p><label><input type="radio" name="{name}" value="{_attribute(label)}" required> '
            f"{_attribute(label)}</label></p>\n"
            for label in outgoing.labels
        )
    required = "" if outgoing.mine else " required"
    if outgoing.form in PATTERNS:
        pattern = _attribute(PATTERNS[outgoing.form])
        field = f'<input type="text" name="{name}" pattern="{pattern}" autocomplete="off"{required}>'
    else:
        field = f'<textarea name="{name}" rows="{12 if outgoing.form == "program" else 2}" cols="60"{required}></textarea>'
    mark = (
        f'<p><label><input type="checkbox" name="mine_{place}" value="true"> {_attribute(outgoing.mine)}</label></p>\n'
        if outgoing.mine
        else ""
    )
    return f"<p><label>{escape(outgoing.word('answer'))}: {field}</label></p>\n{mark}"


def _attribute(text: str) -> str:
    return as_cell(text).replace("<br>", " ")
