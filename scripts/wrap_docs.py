#!/usr/bin/env python3
"""Break the lines of Markdown pages at 120 columns; tables, code, headings and HTML comments keep their lines.

usage: scripts/wrap_docs.py FILE...
"""

import re
import sys
import textwrap
from pathlib import Path

WIDTH = 120

#: The start of a list item or of a quotation, with its indent.
MARK = re.compile(r"^(\s*)([-*] |\d+\. |> )?")


def wrapped(text: str) -> str:
    """Return a page with its paragraphs and list items broken at the width."""
    lines: list[str] = []
    paragraph: list[str] = []
    fenced = False

    def end() -> None:
        if paragraph:
            lines.extend(broken(paragraph))
            paragraph.clear()

    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        kept = fenced or not line.strip() or re.match(r"\s*(```|\||#|<|!!!|>$|!\[|\[\^)|    \S", line)
        if kept and not (
            paragraph and re.match(r"    \S", line) and not fenced and len(MARK.match(paragraph[0])[0]) >= 3
        ):
            end()
            lines.append(line)
        else:
            if MARK.match(line)[2]:
                end()
            paragraph.append(line)
    end()
    return "\n".join(lines)


def broken(paragraph: list[str]) -> list[str]:
    """Break a paragraph or list item only if one of its lines is too long."""
    if max(map(len, paragraph)) <= WIDTH:
        return paragraph
    start = MARK.match(paragraph[0])[0]
    text = " ".join(line.strip() for line in [paragraph[0][len(start) :], *paragraph[1:]])
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=start,
        subsequent_indent=start if start.endswith("> ") else " " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
    )


def main() -> None:
    """Rewrite the pages in place."""
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(wrapped(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
