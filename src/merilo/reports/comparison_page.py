"""The forms of a comparison: sections for terminal, Markdown, LaTeX and CSV, and the page, which is the board too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from markupsafe import Markup

from merilo.atomic_write import refuse_unwritable, write_text
from merilo.baselines.comparison import plain
from merilo.baselines.model_answers import is_baseline
from merilo.baselines.row import Row, Verdict, headlines
from merilo.datasets import dataset, names
from merilo.errors import InputError, OutputError, for_command_line
from merilo.reports.comparison import Comparison, compare
from merilo.reports.html_page import html_page, page_environment, spans
from merilo.reports.human_table import KINDS
from merilo.reports.table import Bar, Cell, Section, Table, cell_text, html_section, words
from merilo.strict_json import as_text
from merilo.text import Language, Money, Text, joined
from merilo.wording import listed, shown

if TYPE_CHECKING:
    from merilo.reports.comparison import Source

PAGE: Final = "index.html"
JSON_FILE: Final = "leaderboard.json"

#: How far below the given folder baselines are looked for: `bps/study/baseline`.
_DEPTH: Final = 3

_COMPARISON: Final = Text("Comparison")

#: Verdicts in a word or two, as tables have them.
VERDICTS: Final[dict[Verdict, Text]] = {
    "above": Text("above", context="verdict"),
    "equal": Text("level", context="verdict"),
    "not_worse": Text("not worse", context="verdict"),
    "below": Text("below", context="verdict"),
    "untold": Text("cannot be told", context="verdict"),
}


def sections(comparison: Comparison, *, narrow: bool = False) -> list[Section]:
    """Return a comparison as sections: a sentence a model, the table, the totals, and what limits it.

    Args:
        comparison: the comparison.
        narrow: leave out the columns of what the sentences say, for a terminal.
    """
    first = rows_section(None, comparison.rows, comparison.rows, narrow=narrow)
    if len(first.remarks) == 1:
        first = first._replace(sentences=first.remarks, remarks=())
    if comparison.has_total:
        first = first._replace(tables=(*first.tables, totals_table(comparison)))
    return [first, *_limits(comparison)]


def rows_section(
    title: Text | None, rows: Sequence[Row], among: Sequence[Row], *, narrow: bool = False
) -> Section:
    """Return rows as a section: a sentence a model, and the table.

    Args:
        title: the title.
        rows: the rows.
        among: all rows of the comparison, among which they stand.
        narrow: as of `sections`.
    """
    sentences = tuple(named_sentence(row, rows) for row in headlines(rows))
    table = rows_table(rows, narrow=narrow)
    if len(rows) == len(among):
        table = table._replace(notes=(*table.notes, *notes(rows)))
    elif title:  # one table of several: its region needs a name of its own
        table = table._replace(title=title)
    return Section("comparison", title, remarks=sentences, tables=(table,) if table.rows else ())


def _limits(comparison: Comparison) -> Iterator[Section]:
    if comparison.limits:
        yield Section("limits", Text("What limits the comparison"), remarks=tuple(comparison.limits))


def named_sentence(row: Row, rows: Sequence[Row]) -> Text:
    """Return the sentence of a row, after the dataset if there are several."""
    several = len({other.dataset for other in rows}) > 1
    return joined([f"{title_of(row.dataset)}: ", row.sentence], "") if several else row.sentence


def rows_table(rows: Sequence[Row], *, narrow: bool = False) -> Table:
    """Return the table of rows; empty columns are left out, a single dataset, and people's times without a price.

    Args:
        rows: the rows.
        narrow: leave out intervals, differences and p, which the sentences have.
    """
    models_only, datasets = any(row.other for row in rows), {row.dataset for row in rows}
    ends = [end for row in rows for end in (*(row.difference.ci95 or ()), row.margin or 0.0)]
    reach = min(1.0, max(0.05, *map(abs, ends)) * 1.05)
    axis = Text("people better ← from −{reach:.2f} to {reach:.2f} → model better", reach=reach)
    if models_only:
        axis = Text("first better ← from −{reach:.2f} to {reach:.2f} → model better", reach=reach)
    columns: dict[Text, list[Cell]] = {
        Text("dataset"): [title_of(row.dataset) for row in rows] if len(datasets) > 1 else [],
        Text("model"): [row.model for row in rows],
        Text("beside"): [beside(row) for row in rows],
        Text("first model") if models_only else Text("people"): [
            row.people and (row.people.value if narrow else row.people) for row in rows
        ],
        Text("score"): [row.score.value if narrow else row.score for row in rows],
        axis: [] if narrow else [_drawn(row, reach) for row in rows],
        Text("difference"): [] if narrow else [row.difference for row in rows],
        Text("p"): [] if narrow else [p_value(row) for row in rows],
        Text("items"): [row.score.n for row in rows],
        Text("verdict"): [verdict(row) for row in rows],
        Text("person, seconds"): [None if row.seconds is None else plain(row.seconds, 1) for row in rows]
        if any(row.usd for row in rows)
        else [],
        Text("model, price"): [None if row.usd is None else Money(row.usd, "USD", 4) for row in rows],
    }
    shown = {head: cells for head, cells in columns.items() if any(cell is not None for cell in cells)}
    first = headlines(rows)
    rounded = not narrow and not all(row.adds_up() for row in rows)
    sentences = [Text("Differences are computed before rounding.")] if rounded else []
    return Table(
        Text("Models") if models_only else Text("People and models"),
        tuple(shown),
        tuple(zip(*shown.values(), strict=True)),
        (*sentences, *(named_sentence(row, rows) for row in rows if row not in first)),
    )


def _drawn(row: Row, reach: float) -> Bar | None:
    """Draw a difference on an axis from `-reach` to `reach`, with the margin as a band."""
    bar = Bar.of(row.difference, -reach, reach, line=0)
    if bar is None or row.margin is None:
        return bar
    half = row.margin / reach / 2
    return bar._replace(spans=((0.5 - half, 0.5 + half, "margin"), *bar.spans))


def notes(rows: Sequence[Row]) -> list[Text]:
    """Return how the numbers were computed, in sentences."""
    sentences = []
    if any(row.beside == "consensus" and row.difference.value is not None for row in rows):
        sentences.append(
            Text(
                "The consensus of several people is beside single answers of a model, which favours the people."
            )
        )
    most = max(
        sum(row.beside == kind and row.p is not None for row in rows)
        for kind in ("consensus", "person", "model")
    )
    if most > 1:
        sentences.append(
            Text("p is corrected by Holm’s method over {n:# comparison|# comparisons} of a kind.", n=most)
        )
    return sentences


def totals_table(comparison: Comparison) -> Table:
    """Return the total scores."""
    rows = tuple(
        (total.model or Text("people, consensus"), total.value, len(total.datasets), total.people)
        for total in comparison.totals
    )
    head = (Text("model"), Text("total", context="score"), Text("datasets"), Text("people on the same"))
    return Table(Text("Total score"), head, rows, tuple(missing(comparison)))


def missing(comparison: Comparison) -> list[Text]:
    """Return what a complete total needs."""
    if not comparison.missing:
        return []
    lacking = [title_of(name) for name in comparison.missing]
    return [
        Text(
            "A complete total needs {n:# more dataset|# more datasets}: {names}.",
            n=len(lacking),
            names=listed(lacking, 30),
        )
    ]


def title_of(key: str) -> str:
    """Return the title of a dataset of the catalogue; other datasets have their name."""
    return dataset(key).title if key in names() else key


def beside(row: Row) -> Text | str:
    """Return with whom a row compares."""
    if row.difference.value is None and row.people and row.people.reason:
        return KINDS[row.people.reason]
    return row.other or (
        Text("consensus") if row.beside == "consensus" else Text("one person", context="beside")
    )


def verdict(row: Row) -> Text | None:
    """Return the verdict of a row in a word or two."""
    return VERDICTS[row.verdict] if row.verdict else None


def p_value(row: Row) -> Text | None:
    """Return the p-value of a row."""
    if row.p is None:
        return None
    return Text("< 0.001") if row.p < 0.001 else Text("{p:.3g}", p=row.p)


def comparison_page(comparison: Comparison, kicker: Text = _COMPARISON) -> str:
    """Render the page in the languages of the studies; without its script, which sorts the board, it is complete.

    Args:
        comparison: the comparison.
        kicker: what stands above the title, and before it in the title of the window.
    """
    about = Text("Models") if any(row.other for row in comparison.rows) else Text("People and models")
    title = joined([kicker, about], ": ")
    bodies = {language: _body(comparison, kicker, about, language) for language in comparison.languages}
    style = (files("merilo.reports") / "templates" / "comparison.css").read_text("utf-8")
    return for_command_line(html_page(title, bodies, style=style, script="comparison.js"))


def _body(comparison: Comparison, kicker: Text, title: Text, language: Language) -> Markup:
    """Return the content of the page: the board of several datasets, each dataset, what limits the comparison."""
    by_dataset = {key: [row for row in comparison.rows if row.dataset == key] for key in comparison.datasets}
    parts = [
        Markup('<header><p class="kicker">{}</p><h1>{}</h1></header>').format(
            words(kicker, language), words(title, language)
        )
    ]
    if len(by_dataset) > 1 and not any(row.other for row in comparison.rows):
        board = page_environment().get_template("comparison.html.j2")
        content = {
            "comparison": comparison,
            "rows": by_dataset,
            "totals": {total.model: total for total in comparison.totals if comparison.has_total},
            "missing": missing(comparison),
            "title_of": title_of,
            "verdict": verdict,
            "kinds": KINDS,
            "cell": partial(cell_text, language=language),
            "_": spans([language]),
        }
        parts.append(Markup(board.render(content)))  # noqa: S704 - the template escapes
    shown_sections = [
        rows_section(Text("{title}", title=title_of(key)), rows, comparison.rows)
        for key, rows in by_dataset.items()
    ]
    if len(by_dataset) > 1:
        shown_sections.append(Section("notes", sentences=tuple(notes(comparison.rows))))
    shown_sections += _limits(comparison)
    parts += [html_section(section, language) for section in shown_sections]
    return Markup("\n").join(parts)


def leaderboard(
    *models: Source, baselines: str | Path, out: str | Path, margin: float | None = None, force: bool = False
) -> Comparison:
    """Compare people with models on all datasets, and write the page `index.html` and `leaderboard.json`.

    Args:
        models: models, as for `compare`.
        baselines: the folder in which baselines are looked for, at most one of each dataset.
        out: the folder of the two files; an earlier leaderboard in it is replaced.
        margin: as for `compare`.
        force: as for `compare`.

    Raises:
        UsageError: two baselines are of the same dataset, or a file could belong to several baselines.
        InputError: the folder holds no baseline, or answers cannot be read.
        DataError: as for `compare`.
        OutputError: the folder holds another page, or cannot be written.
    """
    page, rows = (Path(out) / name for name in (PAGE, JSON_FILE))
    if page.exists() and not rows.exists():
        raise OutputError("exists already and is not a leaderboard; choose another folder", file=page)
    for file in (page, rows):
        refuse_unwritable(file)
    comparison = compare(*_baselines(Path(baselines)), *models, margin=margin, force=force)
    page.parent.mkdir(parents=True, exist_ok=True)
    write_text(rows, as_text(comparison.to_json()))
    write_text(page, comparison_page(comparison, Text("Leaderboard")))
    return comparison


def _baselines(folder: Path) -> list[Path]:
    """Return the folders with a baseline below a folder, not within each other; `InputError` if there is none."""
    places = [
        folder,
        *(place for depth in range(1, _DEPTH + 1) for place in sorted(folder.glob("*/" * depth))),
    ]
    folders: list[Path] = []
    for place in places:
        hidden = any(part.startswith(".") for part in place.relative_to(folder).parts)
        if not hidden and is_baseline(place) and not {*place.parents} & {*folders}:
            folders.append(place)
    if not folders:
        why = "holds no baseline: baseline.json is missing" if folder.is_dir() else "is not a folder"
        raise InputError(why, file=shown(folder))
    return folders
