"""Text from datasets and authors made harmless in LaTeX, Markdown, CSV and BibTeX, and tables of such texts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

from merilo.atomic_write import guarded_text

_LATEX: Final = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "\N{NO-BREAK SPACE}": "~",
}

_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]<>|#~!$&])")


def one_line(text: str) -> str:
    """Fold white space, and remove control and format characters.

    Such characters steer terminals or reverse the direction of text.
    """
    kept = "".join(
        sign
        for sign in text
        if sign.isspace() or unicodedata.category(sign) not in {"Cc", "Cf", "Cs", "Co", "Cn"}
    )
    return re.sub(r"[^\S\N{NO-BREAK SPACE}]+", " ", kept).strip()


def latex(text: str) -> str:
    r"""Escape a text for LaTeX; no character of it is a command.

    Example:
        >>> print(latex("50% of $x_1 \\input{secret}"))
        50\% of \$x\_1 \textbackslash{}input\{secret\}
    """
    return "".join(_LATEX.get(sign, sign) for sign in one_line(text))


def markdown(text: str) -> str:
    r"""Escape a text for a paragraph or a table's cell in Markdown; no character of it is markup or HTML.

    Example:
        >>> print(markdown("a|b <img src=x> [c](d)"))
        a\|b \<img src=x\> \[c\](d)
    """
    return _MARKDOWN.sub(r"\\\1", one_line(text))


def csv_cell(text: str) -> str:
    """Make a text one line that a spreadsheet does not run as a formula."""
    return guarded_text(one_line(text))


def markdown_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[bool] = ()
) -> list[str]:
    """Return the lines of a table in Markdown.

    Args:
        heads: the heads of its columns, already escaped.
        rows: its cells, already escaped.
        right: whether a column is aligned to the right; by default, none is.
    """
    marks = ["---:" if one else "---" for one in right] or ["---"] * len(heads)
    return [f"| {' | '.join(row)} |" for row in (heads, marks, *rows)]


def latex_table(columns: str, heads: Sequence[str], *parts: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table in LaTeX, for the package `booktabs`.

    Args:
        columns: the alignment of its columns, such as `lrr`.
        heads: the heads of its columns, already escaped.
        parts: its cells, already escaped; a rule separates parts.
    """
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", " & ".join(heads) + r" \\"]
    for part in parts:
        lines += [r"\midrule", *(" & ".join(row) + r" \\" for row in part)]
    return [*lines, r"\bottomrule", r"\end{tabular}"]
