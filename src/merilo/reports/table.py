"""Sections of sentences and tables, and their five forms: terminal, HTML, Markdown, LaTeX, CSV.

Sentences and cells are plain text without markup; only this module escapes them, each form in one function.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, TypeVar

from merilo.atomic_write import guarded_text
from merilo.errors import for_command_line
from merilo.estimate import Estimate
from merilo.text import Language, Money, Text, formatted

if TYPE_CHECKING:
    from markupsafe import Markup
    from rich.console import Console
    from rich.table import Table as DrawnTable

#: What sections are rendered to.
Form: TypeAlias = Literal["terminal", "html", "markdown", "latex", "csv"]

_T = TypeVar("_T")

#: A cell without a value.
EMPTY: Final = "—"

#: A text that is a number: a p-value, a part of a whole, a range of percentages.
_NUMBER: Final = re.compile(r"[<≤~] ?\d\S*|[−+-]?\d[\d.,]*(\s?[/–]\s?\d[\d.,]*)?%?")

#: A terminal does not break the cells of a first column that are all at most so long.
_LONGEST_NAME: Final = 30


class Percent(float):
    """A share, shown in per cent."""


class Link(NamedTuple):
    """A text that leads to an address on pages and in Markdown."""

    text: Text | str
    address: str


class Bar(NamedTuple):
    """A chart in a cell of a page, on an axis from 0 to 1: spans with their style classes, a mark, a line.

    A column of bars is left out in the other forms.
    """

    spans: tuple[tuple[float, float, str], ...] = ()
    mark: float | None = None
    line: float | None = None

    @staticmethod
    def of(estimate: Estimate, low: float = 0.0, high: float = 1.0, line: float | None = None) -> Bar | None:
        """Draw an estimate with its interval, and a line, on an axis from `low` to `high`."""
        if estimate.value is None:
            return None

        def place(value: float) -> float:
            return min(1.0, max(0.0, (value - low) / (high - low)))

        ends = estimate.ci95
        spans = ((place(ends[0]), place(ends[1]), "band"),) if ends else ()
        return Bar(spans, place(estimate.value), None if line is None else place(line))


#: What a cell may hold: a text, a count, a number (three decimals), an estimate with its interval, a chart, or nothing.
Cell: TypeAlias = Text | str | int | float | Percent | Money | Estimate | Link | Bar | None


class Table(NamedTuple):
    """A table; without heads, its rows are names and values."""

    title: Text | str
    head: tuple[Text | str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[Text | str, ...] = ()


class Section(NamedTuple):
    """A part of a report: a paragraph, a list of remarks, tables.

    Attributes:
        name: a word for selections.
        title: the heading; `None` for none.
        sentences: the sentences of its paragraph, the most important first.
        remarks: sentences that stand in a line each.
        tables: the tables.
    """

    name: str
    title: Text | str | None = None
    sentences: tuple[Text | str, ...] = ()
    remarks: tuple[Text | str, ...] = ()
    tables: tuple[Table, ...] = ()


def render(sections: Iterable[Section], form: Form, language: Language = "en") -> str:
    """Render sections; CSV has the tables alone, divided by an empty line.

    Args:
        sections: the sections.
        form: the form.
        language: the language of sentences and numbers; numbers in CSV are as in English.
    """
    if form == "terminal":
        from rich.console import Console  # noqa: PLC0415 - slow to load; needed only to print

        stream = io.StringIO()
        print_parts(sections, Console(file=stream, width=100))
        return stream.getvalue()
    if form == "html":
        return "\n".join(html_section(section, language) for section in sections)
    sections = [
        section._replace(tables=tuple(without_empty(table, bars=False) for table in section.tables))
        for section in sections
    ]
    parts = {"markdown": _markdown, "latex": _latex, "csv": _csv}[form]
    return "\n\n".join(part for section in sections for part in parts(section, language) if part)


def estimate_text(estimate: Estimate) -> Text | str:
    """Write an estimate with its interval: the one format of pages, sentences and tables.

    Example:
        >>> str(estimate_text(Estimate(value=0.7251, ci95=(0.6, 0.8), n=40)))
        '0.725 [0.600, 0.800]'
    """
    if estimate.value is None:
        return EMPTY
    if estimate.ci95 is None:
        return Text("{value:.3f}", value=estimate.value)
    low, high = estimate.ci95
    return Text("{value:.3f} [{low:.3f}, {high:.3f}]", value=estimate.value, low=low, high=high)


def words(text: Text | str, language: Language = "en") -> str:
    """Return a text in a language, with arguments named as on the command line."""
    return for_command_line(formatted(text, "", language))


def cell_text(cell: Cell, language: Language = "en") -> str:
    """Return what a cell shows, not yet escaped.

    Example:
        >>> [cell_text(cell) for cell in (0.5, 1200, Percent(0.031), Money(2.5, "USD"), None)]
        ['0.500', '1,200', '3.1%', '$2.50', '—']
    """
    value: object = cell.text if isinstance(cell, Link) else cell
    match value:
        case None:
            value, spec = EMPTY, ""
        case Estimate():
            value, spec = estimate_text(value), ""
        case Bar():
            value, spec = "", ""
        case Percent():
            value, spec = float(value), "%"
        case int():
            spec = ","
        case float():
            spec = ".3f"
        case _:
            spec = ""
    return for_command_line(formatted(value, spec, language))


def without_empty(table: Table, *, bars: bool) -> Table:
    """Return a table without columns that have no cell, and without bars unless they are wanted."""
    columns = [*zip(*table.rows, strict=True)] if table.rows else []
    empty = {place for place, cells in enumerate(columns) if all(cell in {None, ""} for cell in cells)}
    if not bars:
        empty |= {
            place for place, cells in enumerate(columns) if any(isinstance(cell, Bar) for cell in cells)
        }

    def without(cells: Sequence[_T]) -> tuple[_T, ...]:
        return tuple(cell for place, cell in enumerate(cells) if place not in empty)

    return table._replace(head=without(table.head), rows=tuple(map(without, table.rows)))


def numeric_columns(table: Table) -> list[bool]:
    """Return for each column whether its cells are numbers, or sentences of numbers, which stand to the right."""
    width = max(map(len, (table.head, *table.rows)), default=0)
    columns = ([row[place] for row in table.rows if place < len(row)] for place in range(width))

    def is_number(cell: Cell) -> bool:
        of_number = isinstance(cell, Text) and _NUMBER.fullmatch(cell.en) is not None
        return of_number or cell in {None, ""} or isinstance(cell, int | float | Money | Estimate)

    return [
        bool(table.head) and any(cell not in {None, ""} for cell in cells) and all(map(is_number, cells))
        for cells in columns
    ]  # fmt: skip


# The terminal


def print_parts(parts: Iterable[Section | Table], console: Console) -> None:
    """Print sections and tables in English on a console of Rich."""
    from rich.text import Text as Plain  # noqa: PLC0415 - slow to load; needed only to print

    def line(text: Text | str, style: str = "") -> None:
        console.print(Plain(one_line(words(text)), style=style))

    for part in parts:
        if isinstance(part, Table):
            if words(part.title):
                line(part.title, "bold")
            console.print(drawn(without_empty(part, bars=False), console.width))
            if part.notes:
                console.print()
            for note in part.notes:
                line(note, "dim")
            console.print()
            continue
        if part.title:
            line(part.title, "bold")
        if part.sentences:
            line(_paragraph(part.sentences, "en"))
        for remark in part.remarks:
            line(f"- {words(remark)}")
        if part.tables:
            console.print()
        print_parts(part.tables, console)


def drawn(table: Table, room: int) -> DrawnTable:
    """Draw a table in English for a terminal; without room for its words, its rows become blocks of head and value."""
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415
    from rich.table import Table as DrawnTable  # noqa: PLC0415
    from rich.text import Text as Plain  # noqa: PLC0415

    heads = [one_line(words(head)) for head in table.head]
    rows = [[one_line(cell_text(cell)) for cell in row] for row in table.rows]
    numbers = numeric_columns(table)
    columns = [*zip(*filter(None, [heads, *rows]), strict=True)]
    short = all(len(row[0]) <= _LONGEST_NAME for row in rows)
    whole = [is_number or (short and not place) for place, is_number in enumerate(numbers)]
    widths = _widths(columns, whole, room)
    if widths is None and heads:
        pairs = (zip(table.head, row, strict=True) for row in table.rows)
        blocks = (
            [("", ""), *((head, cell) for head, cell in pair if cell not in {None, ""})] for pair in pairs
        )
        return drawn(Table("", (), tuple(pair for block in blocks for pair in block)[1:]), room)
    result = DrawnTable(show_header=bool(heads), box=SIMPLE_HEAD, padding=0, pad_edge=False, show_edge=False)
    for place, is_number in enumerate(numbers):
        result.add_column(
            Plain(heads[place] if heads else ""),
            style="" if heads or place else "bold",
            justify="right" if is_number else "left",
            overflow="fold",
            no_wrap=whole[place],
            width=None if widths is None else widths[place],
        )
    for row in rows:
        result.add_row(*map(Plain, row))
    return result


def _widths(columns: Sequence[Sequence[str]], whole: Sequence[bool], room: int) -> list[int] | None:
    """Return the widths of columns in which no word is broken; `None` if there is not so much room.

    Args:
        columns: the texts of each column.
        whole: whether the texts of a column stay on one line.
        room: the width of the terminal.
    """
    from rich.cells import cell_len  # noqa: PLC0415

    widths = [max(map(cell_len, column)) for column in columns]
    least = [
        width
        if one_line
        else min(width, _LONGEST_NAME, max(cell_len(w) for text in column for w in text.split(" ")))
        for column, width, one_line in zip(columns, widths, whole, strict=True)
    ]
    while sum(widths) + len(widths) - 1 > room:
        wide = [place for place, width in enumerate(widths) if width > least[place]]
        if not wide:
            return None
        widths[max(wide, key=widths.__getitem__)] -= 1
    return widths


# HTML


def html_section(section: Section, language: Language) -> Markup:
    """Return a section of a page."""
    from markupsafe import Markup  # noqa: PLC0415 - only for pages

    parts = []
    if section.title:
        parts.append(Markup("<h2>{}</h2>").format(words(section.title, language)))
    if section.sentences:
        parts.append(Markup("<p>{}</p>").format(_paragraph(section.sentences, language)))
    if section.remarks:
        lines = (Markup("<li>{}</li>").format(words(text, language)) for text in section.remarks)
        parts.append(Markup("<ul>{}</ul>").format(Markup("").join(lines)))
    parts += [html_table(table, language) for table in section.tables]
    return Markup("<section>\n{}\n</section>").format(Markup("\n").join(parts))


def html_table(table: Table, language: Language) -> Markup:
    """Return a table of a page; on a narrow screen its rows become blocks in which each value has its head."""
    from markupsafe import Markup  # noqa: PLC0415

    table = without_empty(table, bars=True)
    heads = [words(head, language) for head in table.head]
    bars = [any(isinstance(cell, Bar) for cell in cells) for cells in zip(*table.rows, strict=True)]
    kinds = [
        Markup(' class="b"') if bar else Markup(' class="n"') if number else Markup("")
        for bar, number in zip(bars or [False] * len(heads), numeric_columns(table), strict=True)
    ]
    rows = [
        Markup("").join(
            Markup("<td{}{}>{}</td>").format(
                Markup(' class="t"') if not kind and isinstance(cell, str) else kind,
                Markup(' data-head="{}"').format(head) if head else "",
                _html_cell(cell, language),
            )
            for kind, cell, head in zip(kinds, row, heads or [""] * len(row), strict=True)
        )
        for row in table.rows
    ]
    if heads:
        cells = zip(kinds, heads, strict=True)
        rows.insert(0, Markup("").join(Markup('<th scope="col"{}>{}</th>').format(*cell) for cell in cells))
    title = words(table.title, language)
    notes = (Markup('\n<p class="note">{}</p>').format(words(note, language)) for note in table.notes)
    return Markup(
        '<div class="wide" tabindex="0" role="region"{}><table{}>{}\n{}\n</table></div>{}'
    ).format(
        Markup(' aria-label="{}"').format(title) if title else "",
        Markup(' class="rows"') if heads else "",
        Markup("<caption>{}</caption>").format(title) if title else "",
        Markup("\n").join(Markup("<tr>{}</tr>").format(row) for row in rows),
        Markup("").join(notes),
    )  # fmt: skip


def _html_cell(cell: Cell, language: Language) -> Markup:
    from markupsafe import Markup, escape  # noqa: PLC0415

    if isinstance(cell, Bar):
        return _drawn_bar(cell)
    text = cell_text(cell, language)
    if isinstance(cell, Link):
        return Markup('<a href="{}">{}</a>').format(cell.address, text)
    if isinstance(cell, float | Estimate):
        # An interval stays on one line.
        text = re.sub("([,;]) ", "\\1\N{NO-BREAK SPACE}", text.replace("-", "\N{MINUS SIGN}"))
    return escape(text)


def _drawn_bar(bar: Bar) -> Markup:
    """Draw a bar as SVG of any width; its numbers stand in the other cells of the row."""
    from markupsafe import Markup  # noqa: PLC0415

    shapes = [
        Markup('<rect class="{}" x="{:.2f}%" width="{:.2f}%" y="25%" height="50%"/>').format(
            kind, 100 * start, 100 * (end - start)
        )
        for start, end, kind in bar.spans
    ]
    if bar.line is not None:
        shapes.append(
            Markup('<line class="line" x1="{0:.2f}%" x2="{0:.2f}%" y1="0" y2="100%"/>').format(100 * bar.line)
        )
    if bar.mark is not None:
        shapes.append(Markup('<circle class="mark" cx="{:.2f}%" cy="50%" r="4.5"/>').format(100 * bar.mark))
    return Markup(
        '<svg class="bar" aria-hidden="true"><line class="axis" x2="100%" y1="50%" y2="50%"/>{}</svg>'
    ).format(Markup("").join(shapes))


def _paragraph(sentences: Iterable[Text | str], language: Language) -> str:
    return " ".join(words(text, language) for text in sentences)


# Markdown


def _markdown(section: Section, language: Language) -> Iterator[str]:
    if section.title:
        yield f"## {markdown(words(section.title, language))}"
    yield markdown(_paragraph(section.sentences, language))
    yield "\n".join(f"- {markdown(words(text, language))}" for text in section.remarks)
    for table in section.tables:
        title = markdown(words(table.title, language))
        yield f"**{title}**" if title else ""
        heads = [markdown(words(head, language)) for head in table.head]
        rows = [[_markdown_cell(cell, language) for cell in row] for row in table.rows]
        marks = ["---:" if is_number else "---" for is_number in numeric_columns(table)]
        lines = (heads or [""] * len(marks), marks, *rows)
        yield "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
        yield markdown(_paragraph(table.notes, language))


def _markdown_cell(cell: Cell, language: Language) -> str:
    text = markdown(cell_text(cell, language))
    return f"[{text}](<{cell.address}>)" if isinstance(cell, Link) else text


#: What begins markup; the brackets of an interval do not.
_MARKDOWN: Final = re.compile(
    r"([\\`*<>|]|\[(?![\d−-])|\](?=[(\[:])|(?<!\w)_|_(?!\w)|~(?=~)|\$(?!\d)|&(?=#?\w+;)|^[#+-](?=\s))"
)


def markdown(text: str) -> str:
    r"""Escape a text for a paragraph or a table's cell in Markdown; no character of it is markup or HTML.

    Example:
        >>> print(markdown("a|b <img src=x> [c](d), human_benchmark"))
        a\|b \<img src=x\> \[c\](d), human_benchmark
    """
    return _MARKDOWN.sub(r"\\\1", one_line(text))


# LaTeX


def _latex(section: Section, language: Language) -> Iterator[str]:
    if section.title:
        yield rf"\subsection*{{{latex(words(section.title, language))}}}"
    yield latex(_paragraph(section.sentences, language))
    if section.remarks:
        remarks = (rf"\item {latex(words(text, language))}" for text in section.remarks)
        yield "\n".join([r"\begin{itemize}", *remarks, r"\end{itemize}"])
    for table in section.tables:
        is_number = numeric_columns(table)
        heads = [latex(words(head, language)) for head in table.head]
        rows = [[latex(cell_text(cell, language)) for cell in row] for row in table.rows]
        shape = "".join("r" if right else "l" for right in is_number)
        caption = latex(_paragraph((table.title, *table.notes), language))
        lines = [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{caption}}}",
            rf"\begin{{tabular}}{{{shape}}}",
            r"\toprule",
        ]
        lines += [" & ".join(heads) + r" \\", r"\midrule"] if heads else []
        lines += [" & ".join(row) + r" \\" for row in rows]
        yield "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"])


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
    "\N{MINUS SIGN}": "$-$",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
}


def latex(text: str) -> str:
    r"""Escape a text for LaTeX; no character of it is a command.

    Example:
        >>> print(latex("50% of $x_1 \\input{secret}"))
        50\% of \$x\_1 \textbackslash{}input\{secret\}
    """
    return "".join(_LATEX.get(sign, sign) for sign in one_line(text))


# CSV


def _csv(section: Section, language: Language) -> Iterator[str]:
    for table in section.tables:
        width = len(numeric_columns(table))
        spread = [any(isinstance(row[place], Estimate) for row in table.rows) for place in range(width)]
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        if table.head:
            heads = (csv_cell(words(head, language)) for head in table.head)
            writer.writerow(_spread_heads(heads, spread))
        for row in table.rows:
            cells = zip(row, spread, strict=True)
            writer.writerow(text for cell, wide in cells for text in _csv_cells(cell, language, wide=wide))
        yield stream.getvalue()


def _spread_heads(heads: Iterable[str], spread: Sequence[bool]) -> Iterator[str]:
    """Yield the heads; those of estimates with two more columns, for the ends of the interval."""
    for head, wide in zip(heads, spread, strict=True):
        yield from (head, f"{head}, low", f"{head}, high") if wide else (head,)


def _csv_cells(cell: Cell, language: Language, *, wide: bool) -> Iterator[str]:
    match cell:
        case Estimate():
            values = (cell.value, *(cell.ci95 or (None, None)))
            yield from ("" if value is None else f"{value:.6g}" for value in values)
        case None:
            yield from [""] * (3 if wide else 1)
        case Money():
            yield f"{cell.amount:.6g}"
        case int() | float():
            yield f"{cell:.6g}" if isinstance(cell, float) else str(int(cell))
        case _:
            yield csv_cell(cell_text(cell, language))
            yield from [""] * (2 if wide else 0)


def csv_cell(text: str) -> str:
    """Make a text one line that a spreadsheet does not run as a formula."""
    return guarded_text(one_line(text))


def one_line(text: str) -> str:
    """Fold white space, and remove control and format characters.

    Such characters steer terminals or reverse the direction of text.
    """
    signs = (
        sign
        for sign in text
        if sign.isspace() or unicodedata.category(sign) not in {"Cc", "Cf", "Cs", "Co", "Cn"}
    )
    return re.sub(r"[^\S\N{NO-BREAK SPACE}]+", " ", "".join(signs)).strip()
