"""Instructions and prompts as HTML in which no text of a dataset can become markup or run as a script."""

from __future__ import annotations

import re
from html import escape
from typing import Final

from merilo.studies.instruction_text import MORE_EXAMPLES
from merilo.studies.outgoing import Outgoing

#: Fonts and colours of a page; no font or script is loaded from elsewhere.
STYLE: Final = (
    "body{font-family:sans-serif;max-width:50em;margin:1em auto;padding:0 1em;line-height:1.5}"
    ".prompt{white-space:pre-wrap;overflow-wrap:anywhere}fieldset{margin:1em 0}"
    "img,video{max-width:100%}pre{white-space:pre-wrap;overflow-wrap:anywhere}pre,code.language-text{font:inherit}table{border-collapse:collapse}td,th{border:1px solid;padding:.2em .6em}"
)

#: The section of further examples: its heading, and its text up to the next section.
_FOLDED: Final = re.compile(
    rf"<h2>(?P<title>{'|'.join(MORE_EXAMPLES.values())})</h2>\n(?P<body>.*?)(?=<h[12]>|\Z)", re.DOTALL
)


def html_of(markdown: str) -> str:
    r"""Convert Markdown to HTML; HTML inside it stays text, links to scripts stay text too, and further examples are folded.

    Example:
        >>> html_of("*Ответ*: <script>alert(1)</script>")
        '<p><em>Ответ</em>: &lt;script&gt;alert(1)&lt;/script&gt;</p>\n'
    """
    from markdown_it import MarkdownIt  # noqa: PLC0415 - needed only where an instruction is written

    # "zero" media: an image of an instruction would be loaded from anywhere.
    reader = (
        MarkdownIt("commonmark", {"html": False})
        .enable("table")
        .disable(["image", "html_block", "html_inline"])
    )
    return _FOLDED.sub(
        r"<details><summary>\g<title></summary>\n\g<body></details>\n", str(reader.render(markdown))
    )


def page(title: str, language: str, body: str) -> str:
    """Return an HTML page without scripts.

    Args:
        title: the title, as a text.
        language: the page's language.
        body: the content, as HTML.
    """
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src * data:; media-src *"
    return (
        f'<!DOCTYPE html>\n<html lang="{language}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n<body>\n{body}</body></html>\n"
    )


def instruction_page(outgoing: Outgoing) -> str:
    """Return the instruction as a page of its own."""
    return page(outgoing.title, outgoing.language, instruction_body(outgoing))


def instruction_body(outgoing: Outgoing) -> str:
    """Return the instruction of a group of annotators as HTML: with its time limit and its option to skip own items, unless stated."""
    found = outgoing.instruction
    if outgoing.time_limit is not None:
        limit = f"{outgoing.time_limit:g}"
        if not re.search(rf"(?<![\d.,]){re.escape(limit)}(?![\d.,]*\d)", outgoing.instruction):
            found += f"<p><strong>{escape(outgoing.word('limit', limit))}</strong></p>\n"
    if outgoing.mine and outgoing.mine.casefold() not in outgoing.instruction.casefold():
        found += f"<p><strong>{escape(outgoing.word('mine', outgoing.mine))}</strong></p>\n"
    return found


def training_page(outgoing: Outgoing) -> str:
    """Return the training items as a page; the right answer and the hint of each can be opened below it."""
    parts = [f"<h1>{escape(outgoing.word('training'))}</h1>\n"]
    for number, task in enumerate(outgoing.training, start=1):
        parts.append(
            f'<h2>{number}</h2>\n<div class="prompt">{escape(task.prompt)}</div>\n'
            f"<details><summary>{escape(outgoing.word('show'))}</summary>"
            f"<p>{escape(feedback(outgoing, task.first_known or '', task.hint))}</p></details>\n"
        )
    return page(outgoing.title, outgoing.language, "".join(parts))


def feedback(outgoing: Outgoing, known: str, hint: str | None) -> str:
    """Return what is said after a wrong answer to a training item."""
    return hint or outgoing.word("right", known)
