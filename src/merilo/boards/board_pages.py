"""The pages of a board: the overview, a page for each dataset, and one for each archive with faults.

Every page is complete without scripts, holds its style and script, and needs no server. Text from datasets, runs and
archives is escaped, and the page's policy admits its own script alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib.resources import files
from typing import Final, TypeAlias

from markupsafe import Markup, escape

from merilo.boards.board import ALL, BoardTotal, Leaderboard, ModelRow
from merilo.boards.board_datasets import BoardDataset
from merilo.boards.board_models import AnsweredDataset, Conditions, FaultyArchive
from merilo.boards.board_people import BesidePeople, PeopleStudy, shown_match
from merilo.datasets import dataset
from merilo.datasets import names as catalogue_names
from merilo.reports.charts import WIDTH, Chart, Shape, page_environment
from merilo.reports.comparison_table import MARKS
from merilo.reports.human_table import KINDS
from merilo.statistics.rank_ranges import RankRange
from merilo.strict_json import Json
from merilo.submissions.submitted_answers import Kind
from merilo.text import LANGUAGES, Text, joined, plain_number
from merilo.wording import shortened

#: The most models of a chart; the table below it has all.
MOST_CHARTED: Final = 12

EMPTY: Final = "—"

Told: TypeAlias = Text | str

#: What a participant can do about each kind of fault.
ADVICE: Final[dict[Kind, Text]] = {
    "unreadable_zip": Text(
        "Make a new ZIP archive of the files alone, without encryption, links or nested folders; "
        "merilo submission pack makes one."
    ),
    "no_task": Text("Add the file with this name to the archive."),
    "extension": Text("Save the answers as JSON, with the extension .json."),
    "unreadable_file": Text("Save the file as JSON in UTF-8; merilo submission sample writes an example."),
    "no_data_field": Text('Put the answers under {"data": {"test": [...]}}.', context="advice"),
    "no_split": Text('Put the answers under {"data": {"test": [...]}}.', context="advice"),
    "no_outputs_field_for_doc": Text("Write the answer to this item into its field outputs."),
    "no_meta_field_for_doc": Text("Copy the field meta of the item from the test."),
    "no_id_field_for_doc": Text("Copy the id in meta from the test."),
    "no_id": Text("Answer every item of the test; an empty text is an answer too."),
    "doc_output_type_error": Text("Write the answer in the type that the dataset asks for."),
    "doc_parse_output_error": Text("Write the answer in the form that the dataset asks for."),
}

_KIND_NAMES: Final = {
    "run": Text("model"),
    "submission": Text("submission"),
    "builtin": Text("simple rule, no model"),
    "log": Text("log of another harness"),
}


@dataclass(frozen=True, slots=True)
class _Head:
    """The head of a column; `groups` are the groups that show it, `total` marks the total of one group."""

    name: Told
    note: Told = ""
    link: str = ""
    groups: str | None = None
    total: bool = False
    left: bool = False


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of a table; `values` are its values of all facets, `filters` those of the facets that tell rows apart."""

    cells: Markup
    human: bool = False
    values: tuple[str, ...] = ()
    filters: str | None = None


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of a page."""

    label: Text
    heads: Sequence[_Head]
    rows: Sequence[_Row]
    title: Told = ""


@dataclass(frozen=True, slots=True)
class _Facet:
    """A filter: its name and the name of each value."""

    name: Text
    names: Mapping[str, Text]


#: The filters, in the order of the values of a row.
_FACETS: Final = (
    _Facet(Text("Rows"), {"people": Text("people"), **_KIND_NAMES}),
    _Facet(Text("Solved examples"), {}),
    _Facet(
        Text("Prompts"),
        {
            "harness": Text("of the benchmark’s harness"),
            "merilo": Text("of Merilo"),
            "people": Text("as people saw them"),
        },
    ),
    _Facet(
        Text("Answers found"),
        {"merilo": Text("by Merilo’s rules"), "harness": Text("as the harness does")},
    ),
    _Facet(Text("Thinking"), {"yes": Text("with"), "no": Text("without")}),
    _Facet(
        Text("Sampling"),
        {
            "greedy": Text("greedy or default"),
            "sampled": Text("with a temperature"),
            "several": Text("several answers an item"),
        },
    ),
)


def pages(board: Leaderboard) -> dict[str, bytes]:
    """Return the pages of a board by file name, and a JSON file for each archive with faults."""
    return dict(_Site(board).files())


def page_name(kind: str, name: str) -> str:
    """Return the stem of a page's file: the kind and the name in letters that every file system and address takes.

    Example:
        >>> page_name("dataset", "bps"), page_name("archive", "Team 1 (new)")
        ('dataset-bps', 'archive-team-1-new-ba2d43ff')
    """
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40]
    if plain != name:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        plain = f"{plain}-{digest}" if plain else digest
    return f"{kind}-{plain}"


class _Site:
    """Renders a board."""

    def __init__(self, board: Leaderboard) -> None:
        self._board = board
        folder = files("merilo.reports") / "templates"
        script = (folder / "leaderboard.js").read_text("utf-8")
        self._shared: dict[str, object] = {
            "opens": board.options.language,
            "style": Markup((folder / "leaderboard.css").read_text("utf-8")),  # noqa: S704 - a file of this package
            "script": Markup(script),  # noqa: S704 - a file of this package
            "script_hash": b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        }
        self._template = page_environment().get_template("leaderboard.html.j2")
        self._archives = {one.name: page_name("archive", one.name) for one in board.faulty}
        self._title: Told = board.options.title or Text("People and models")

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield the name and content of every file."""
        yield "index.html", self._overview()
        for about in self._board.datasets:
            yield f"{page_name('dataset', about.key)}.html", self._dataset(about)
        for one in self._board.faulty:
            name = self._archives[one.name]
            yield f"{name}.html", self._archive(one)
            yield f"{name}.json", _archive_content(one)

    def _page(self, title: Told, lead: Sequence[Told], **parts: object) -> bytes:
        given: dict[str, object] = {
            "home": self._title,
            "chart": None,
            "facets": None,
            "groups": [],
            "tables": [],
            "notes": [],
        }
        rendered = self._template.render(title=title, lead=lead, **self._shared, **(given | parts))
        return rendered.encode("utf-8", "backslashreplace")

    def _overview(self) -> bytes:
        board = self._board
        groups = [name for name in board.groups if name != ALL]
        with_total = len(board.groups[ALL]) > 1
        heads = [_Head(Text("Name"), left=True)]
        if board.models:
            heads.append(_Head(Text("Rank")))
        if with_total:
            heads.append(
                _Head(
                    Text("Total", context="score"),
                    Text("{n:# dataset|# datasets}", n=len(board.groups[ALL])),
                    groups="",
                )
            )
            heads += [
                _Head(Text("Rank and total"), shown_group(name), groups=str(at), total=True)
                for at, name in enumerate(groups)
            ]
        heads += [
            _Head(
                one.title,
                one.metrics[0] if one.metrics else "",
                f"{page_name('dataset', one.key)}.html",
                " ".join(str(at) for at, name in enumerate(groups) if one.key in board.groups[name]),
            )
            for one in board.datasets
        ]
        rows = [*self._people_rows(groups, with_total=with_total)]
        rows += [self._model_row(one, groups, with_total=with_total) for one in board.models]
        facets, rows = _faceted(rows)
        chart = self._total_chart() if with_total else None
        lead: list[Told] = [
            Text(
                "{models:# model|# models} and {studies:# study|# studies} of people on {datasets:# dataset|# datasets}"
                ".",
                models=len(board.models),
                studies=len(board.people),
                datasets=len(board.datasets),
            )
        ]
        return self._page(
            self._title,
            lead,
            home="",
            chart=chart,
            facets=facets,
            groups=[(str(at), shown_group(name)) for at, name in enumerate(groups)] if with_total else [],
            tables=[_Table(Text("People and models"), heads, rows), *self._archive_table()],
            notes=[(Text("How to read this page"), [*self._notes()])],
        )

    def _notes(self) -> Iterator[Told]:
        board = self._board
        if board.models:
            yield Text(
                "A rank is a range: two models have separate ranges only if their difference on the same items is "
                "significant. The ranges of a column hold together with 95 % probability: all pairs of models are "
                "tested on the items that both answered, and the p-values are corrected by Holm’s method."
            )
        if len(board.groups[ALL]) > 1:
            yield Text(
                "The total is the mean over datasets of the mean of their main metrics. A row that lacks a dataset has "
                "no total and no rank; in brackets stands its mean over the datasets that it has."
            )
        if any(row.beside for row in board.models):
            yield Text(
                "Beside a model’s value: {marks}. These compare the model with the consensus of the people of a study "
                "(for programs, with a single person) on the items that both answered, over items and people; one "
                "correction by Holm’s method is over all these comparisons.",
                marks=_marks(),
            )
        if any(one.human for one in board.datasets):
            yield Text(
                "Published values of people were measured on other items or with other people; models are beside them "
                "without a test."
            )
        missing = [
            dataset(name).title
            for name in catalogue_names()
            if dataset(name).in_total and name not in board.groups[ALL]
        ]
        if any(one.in_total for one in board.datasets) and missing:
            yield Text(
                "The benchmark’s total has {n:# more dataset|# more datasets}: {names}.",
                n=len(missing),
                names=", ".join(missing),
            )
        yield Text("All values are in {file}.", file="leaderboard.json")

    # People

    def _people_rows(self, groups: Sequence[str], *, with_total: bool) -> Iterator[_Row]:
        board = self._board
        by_dataset: dict[str, list[PeopleStudy]] = {}
        for study in board.people:
            by_dataset.setdefault(study.dataset.key, []).append(study)
        for slot in range(max(map(len, by_dataset.values()), default=0)):
            held = {key: found[slot] for key, found in by_dataset.items() if slot < len(found)}
            name = Text("People, studies of this board")
            if slot:
                name = Text("People, further studies ({n})", n=slot + 1)
            simulated = [Text("simulated annotators")] if all(one.simulated for one in held.values()) else []
            cells = [_study_cell(held.get(one.key), one) for one in board.datasets]
            totals = [board.people_total(group) for group in (ALL, *groups)] if not slot else []
            yield self._people_row(name, simulated, totals, cells, groups, with_total=with_total)
        if any(one.human for one in board.datasets):
            cells = [_published_cell(one) for one in board.datasets]
            totals = [board.people_total(group, measured=False) for group in (ALL, *groups)]
            name = Text("People, published values")
            yield self._people_row(name, [], totals, cells, groups, with_total=with_total)

    def _people_row(
        self,
        name: Text,
        remarks: Sequence[Text],
        totals: Sequence[BoardTotal],
        cells: Sequence[Markup],
        groups: Sequence[str],
        *,
        with_total: bool,
    ) -> _Row:
        shown = [_name_cell(name, remarks)]
        if self._board.models:
            shown.append(_cell())
        if with_total:
            shown.append(_total_cell(totals[0]) if totals else _cell(EMPTY))
            shown += [
                _cell(EMPTY if not totals else _value(totals[at + 1].value), hidden=True)
                for at in range(len(groups))
            ]
        return _Row(Markup("").join([*shown, *cells]), True, ("people", "", "", "", "", ""))

    # Models

    def _model_row(self, row: ModelRow, groups: Sequence[str], *, with_total: bool) -> _Row:
        board = self._board
        rank = row.totals[ALL].rank if with_total else None
        if not with_total and board.datasets:
            rank = row.ranks.get(board.datasets[0].key)
        kind = [] if row.model.kind == "run" else [_KIND_NAMES[row.model.kind]]
        shown = [_name_cell(row.name, kind), _cell(_range(rank))]
        if with_total:
            shown.append(_total_cell(row.totals[ALL]))
            for name in groups:
                total = row.totals[name]
                told = EMPTY if total.value is None else f"{_range(total.rank)}: {_value(total.value)}"
                shown.append(_cell(told, hidden=True))
        shown += [self._model_cell(row, one) for one in board.datasets]
        return _Row(Markup("").join(shown), values=_filters(row.model.kind, row.model.datasets.values()))

    def _model_cell(self, row: ModelRow, about: BoardDataset) -> Markup:
        answered = row.model.datasets.get(about.key)
        if answered is None:
            return _cell(EMPTY)
        if answered.faults:
            return _cell(self._faults_link(row))
        if not about.metrics or about.metrics[0] not in answered.score.metrics:
            return _cell(EMPTY)
        value = _value(answered.score.metrics[about.metrics[0]][0])
        rank = row.ranks.get(about.key)
        mark = _mark(shown_match(row.beside.get(about.key, ())))
        if rank and rank.best == 1:
            return _cell(Markup("<b>{}</b>{}").format(value, mark))
        return _cell(value + mark)

    def _total_chart(self) -> Chart | None:
        board = self._board
        bars = [
            _Bar(name, total.value, total.low, total.high, human=True)
            for name, total in (
                (Text("People, studies of this board"), board.people_total()),
                (Text("People, published values"), board.people_total(measured=False)),
            )
            if total.value is not None
        ]
        ranked = [
            _Bar(row.name, total.value, total.low, total.high)
            for row in board.models
            if (total := row.totals[ALL]).value is not None
        ]
        return _bars_chart(Text("Totals with their 95 % intervals over items"), bars, ranked)

    # One dataset

    def _dataset(self, about: BoardDataset) -> bytes:
        board = self._board
        studies = [one for one in board.people if one.dataset.key == about.key]
        rows = sorted(
            (row for row in board.models if about.key in row.model.datasets),
            key=lambda row: (-_main(row, about), row.name.lower()),
        )
        lead: list[Told] = [
            Text("{n:# model|# models}; ranked by {metric}.", n=len(rows), metric=about.metrics[0])
            if about.metrics
            else Text("{n:# model|# models}; this dataset has metrics by group only.", n=len(rows))
        ]
        asked = [one for row in rows if (one := row.model.datasets[about.key].conditions).shots is not None]
        same = [*_told_conditions(_shared(asked))] if asked else []
        if same:
            lead.append(Text("How all runs were asked: {conditions}.", conditions=joined(same, ", ")))
        facets, table = _faceted(self._dataset_rows(about, rows))
        return self._page(
            about.title,
            lead,
            chart=self._dataset_chart(about, studies, rows) if about.metrics else None,
            facets=facets if rows else None,
            tables=[
                *([_Table(Text("Models"), self._dataset_heads(about, rows), table)] if rows else []),
                *([_studies_table(studies)] if studies else []),
                *([_published_table(about)] if about.human else []),
            ],
            notes=[(Text("How to read this page"), [*self._dataset_notes(about, rows)])],
        )

    def _dataset_heads(self, about: BoardDataset, rows: Sequence[ModelRow]) -> list[_Head]:
        heads = [_Head(Text("Name"), left=True)]
        if about.metrics:
            heads += [_Head(Text("Rank")), _Head(about.metrics[0]), _Head(Text("95 % interval"))]
        heads.append(_Head(Text("Items")))
        if any(row.beside.get(about.key) for row in rows):
            heads.append(_Head(Text("Model minus people")))
        heads += [_Head(name) for name in _other_metrics(about, rows)]
        heads += [_Head(_COLUMNS[name]) for name in _different(about, rows)]
        return heads + [_Head(Text("Remarks"), left=True)] * any(_has_remarks(row, about) for row in rows)

    def _dataset_rows(self, about: BoardDataset, rows: Sequence[ModelRow]) -> list[_Row]:
        beside = any(row.beside.get(about.key) for row in rows)
        others, different = _other_metrics(about, rows), _different(about, rows)
        remarks = any(_has_remarks(row, about) for row in rows)
        found = []
        for row in rows:
            answered = row.model.datasets[about.key]
            metrics = answered.score.metrics
            kind = [_KIND_NAMES["builtin"]] if row.model.kind == "builtin" else []
            cells = [_name_cell(row.name, kind)]
            first = metrics.get(about.metrics[0]) if about.metrics else next(iter(metrics.values()), None)
            if about.metrics:
                cells += [
                    _cell(_range(row.ranks.get(about.key))),
                    _cell(EMPTY if first is None else _value(first[0])),
                    _cell(EMPTY if first is None else _interval(first[2], first[3])),
                ]
            n = 0 if first is None else first[1]
            cells.append(_cell(str(n) if n else EMPTY))
            if beside:
                match = shown_match(row.beside.get(about.key, ()))
                cells.append(_cell(EMPTY if match is None else _difference(match, n)))
            cells += [_cell(_value(metrics[name][0]) if name in metrics else EMPTY) for name in others]
            cells += [_cell(_condition(answered.conditions, name)) for name in different]
            if remarks:
                cells.append(_cell(self._remarks(row, about), left=True))
            found.append(_Row(Markup("").join(cells), values=_filters(row.model.kind, [answered])))
        return found

    def _remarks(self, row: ModelRow, about: BoardDataset) -> Markup:
        answered = row.model.datasets[about.key]
        if answered.faults:
            return self._faults_link(row)
        reasons = [*answered.score.missing.values(), answered.score.reason, row.reasons.get(about.key, "")]
        return _both(joined(dict.fromkeys(filter(None, reasons)), "; "))

    def _faults_link(self, row: ModelRow) -> Markup:
        name = self._archives[row.model.source]
        return Markup('<a href="{}.html" data-p>{}</a>').format(name, _both(Text("faults")))

    def _dataset_chart(
        self, about: BoardDataset, studies: Sequence[PeopleStudy], rows: Sequence[ModelRow]
    ) -> Chart | None:
        metric = about.metrics[0]
        people = [
            _Bar(Text("People, {study}", study=one.name), held.value, held.low, held.high, human=True)
            for one in studies
            if (held := one.metrics.get(metric))
        ]
        people += [
            _Bar(Text("People, published values"), one.value, None, None, human=True)
            for one in about.human
            if one.metric == metric
        ]
        models = [
            _Bar(row.name, held[0], held[2], held[3])
            for row in rows
            for held in [row.model.datasets[about.key].score.metrics.get(metric)]
            if held
        ]
        return _bars_chart(Text("{metric} with its 95 % interval", metric=metric), people, models)

    def _dataset_notes(self, about: BoardDataset, rows: Sequence[ModelRow]) -> Iterator[Told]:
        if about.metrics and rows:
            yield Text(
                "A rank is a range: two models have separate ranges only if their difference on the same items is "
                "significant, by Holm’s method over all pairs of this dataset. The models’ intervals are over items."
            )
        if any(row.beside.get(about.key) for row in rows):
            yield Text(
                "The difference from people is from the consensus of the first accepted study (for programs, from a "
                "single person), on the items that both answered, with its interval over items and people: {marks}.",
                marks=_marks(),
            )

    # Archives with faults

    def _archive_table(self) -> Iterator[_Table]:
        if not self._board.faulty:
            return
        rows = []
        for one in self._board.faulty:
            link = Markup('<a href="{}.html" data-p>{}</a>').format(self._archives[one.name], one.name)
            told: Told = one.reason or Text(
                "{n:# dataset|# datasets} with faults, {scored:# was|# were} scored",
                n=len(one.datasets),
                scored=one.scored,
            )
            name = Markup("<th scope=row>{}").format(link)
            rows.append(_Row(name + _cell(_both(told), left=True)))
        heads = [_Head(Text("File"), left=True), _Head(Text("What was wrong"), left=True)]
        yield _Table(Text("Files with faults"), heads, rows, Text("Files with faults"))

    def _archive(self, one: FaultyArchive) -> bytes:
        if one.reason is not None:
            lead: list[Told] = [
                Text("Nothing of this file could be scored."),
                one.reason,
                *([] if one.is_log else [ADVICE["unreadable_zip"]]),
            ]
            return self._page(one.name, lead)
        lead = [
            Text(
                "{scored:# dataset was|# datasets were} scored. Each dataset below has faults and no score; correct "
                "them and send the archive again.",
                scored=one.scored,
            )
        ]
        tables = []
        for title, (faults, count) in one.datasets.items():
            rows = [
                _Row(
                    Markup("<th scope=row><code>{}</code>").format(fault.kind)
                    + _cell(_both(fault.text), left=True)
                    + _cell(_both(ADVICE[fault.kind]), left=True)
                )
                for fault in faults
            ]
            heads = [
                _Head(Text("Fault"), left=True),
                _Head(Text("Where and what"), left=True),
                _Head(Text("What to do"), left=True),
            ]
            name = Text("{title}: {n:# fault|# faults}", title=title, n=count)
            if count > len(faults):
                name = Text(
                    "{title}: {n:# fault|# faults}, the first {shown} are listed",
                    title=title,
                    n=count,
                    shown=len(faults),
                )
            tables.append(_Table(name, heads, rows, name))
        return self._page(one.name, lead, tables=tables)


def shown_group(name: str) -> Text:
    """Return the name of a group; those of the benchmark's skills are translated."""
    return _SKILLS.get(name) or joined([name])


_SKILLS: Final = {
    "Common everyday knowledge": Text("Common everyday knowledge"),
    "Common domain knowledge": Text("Common domain knowledge"),
    "Expert domain knowledge": Text("Expert domain knowledge"),
}


def _studies_table(studies: Sequence[PeopleStudy]) -> _Table:
    heads = [
        _Head(Text("Study"), left=True),
        _Head(Text("Metric")),
        _Head(Text("Value")),
        _Head(Text("95 % interval")),
        _Head(Text("Items")),
        _Head(Text("Annotators")),
        _Head(Text("Days of the answers")),
        _Head(Text("Status"), left=True),
    ]
    rows = []
    for one in studies:
        status: list[Told] = [
            Text("accepted", context="baseline") if one.accepted else Text("rejected", context="baseline"),
            {
                "verified": Text("recomputed from its raw answers"),
                "differs": Text("its values DIFFER from those of its raw answers"),
                "no": Text("not verified: no published folder"),
            }[one.verified],
            *([Text("simulated annotators")] if one.simulated else []),
        ]
        names = [name for name in one.dataset.metrics if name in one.metrics] or [*one.metrics][:1]
        for name in names:
            held = one.metrics[name]
            over = [Text("(over items alone)")] if held.low is not None and held.over == "items" else []
            days = one.first_day if one.first_day == one.last_day else f"{one.first_day} – {one.last_day}"
            rows.append(
                _Row(
                    Markup("").join(
                        [
                            _name_cell(one.name, []),
                            _cell(name),
                            _cell(_value(held.value)),
                            _cell(_both(joined([_interval(held.low, held.high), *over]))),
                            _cell(EMPTY if held.n is None else str(held.n)),
                            _cell(EMPTY if one.annotators is None else str(one.annotators)),
                            _cell(days or EMPTY),
                            _cell(_both(joined(status, "; ")), left=True),
                        ]
                    ),
                    human=True,
                )
            )
    return _Table(Text("Studies of people"), heads, rows, Text("Studies of people"))


def _published_table(about: BoardDataset) -> _Table:
    heads = [
        _Head(Text("Metric"), left=True),
        _Head(Text("Value")),
        _Head(Text("Items")),
        _Head(Text("Kind"), left=True),
        _Head(Text("Source"), left=True),
    ]
    rows = [
        _Row(
            Markup("").join(
                [
                    _name_cell(one.metric, []),
                    _cell(_value(one.value)),
                    _cell(EMPTY if one.n is None else str(one.n)),
                    _cell(_both(KINDS[one.provenance]), left=True),
                    _cell(one.source, left=True),
                ]
            ),
            human=True,
        )
        for one in about.human
    ]
    return _Table(Text("Published values of people"), heads, rows, Text("Published values of people"))


# Cells


def _cell(content: str = "", *, hidden: bool = False, left: bool = False) -> Markup:
    sign = " hidden" if hidden else " class=t" if left else ""
    return Markup(f"<td{sign}>{escape(content)}")  # noqa: S704 - the content is escaped


def _name_cell(name: Told, remarks: Sequence[Text]) -> Markup:
    shown = name if isinstance(name, str) else _both(name)
    small = Markup("<small>{}</small>").format(_both(joined(remarks, ", "))) if remarks else Markup("")
    return (
        Markup("<th scope=row>{} {}").format(shown, small)
        if small
        else Markup("<th scope=row>{}").format(shown)
    )


def _both(text: Told) -> Markup:
    if isinstance(text, str):
        return escape(text)
    if text.en == text.ru:
        return escape(text.en)
    spans = (Markup('<span lang="{}">{}</span>').format(one, text.in_language(one)) for one in LANGUAGES)
    return Markup("").join(spans)


def _value(value: float | None) -> str:
    return EMPTY if value is None else plain_number(value, ".3f").replace("-", "−")


def _interval(low: float | None, high: float | None) -> str:
    return EMPTY if low is None or high is None else f"{_value(low)}–{_value(high)}"


def _range(rank: RankRange | None) -> str:
    if rank is None:
        return EMPTY
    return str(rank.best) if rank.best == rank.worst else f"{rank.best}–{rank.worst}"


def _total_cell(total: BoardTotal) -> Markup:
    if total.value is not None:
        return _cell(Markup("{}{}").format(_value(total.value), _small(_interval(total.low, total.high))))
    if total.partial is None:
        return _cell(EMPTY)
    counts = Text("over {n} of {all}", n=len(total.counted), all=len(total.needed))
    return _cell(Markup("({}){}").format(_value(total.partial), _small(_both(counts))))


def _small(content: str) -> Markup:
    return Markup(" <small>{}</small>").format(content) if content != EMPTY else Markup("")


def _study_cell(study: PeopleStudy | None, about: BoardDataset) -> Markup:
    held = study.metrics.get(about.metrics[0]) if study and about.metrics else None
    if study is None or held is None:
        return _cell(EMPTY)
    if not study.accepted:
        return _cell(
            Markup("{}{}").format(_value(held.value), _small(_both(Text("rejected", context="baseline"))))
        )
    return _cell(_value(held.value))


def _published_cell(about: BoardDataset) -> Markup:
    found = next((one for one in about.human if about.metrics and one.metric == about.metrics[0]), None)
    if found is None:
        return _cell(EMPTY)
    kind = "" if found.provenance == "measured" else _both(KINDS[found.provenance])
    return _cell(Markup("{}{}").format(_value(found.value), _small(kind) if kind else ""))


def _mark(match: BesidePeople | None) -> str:
    return MARKS[match.verdict.outcome] if match else ""


def _marks() -> Text:
    return joined(
        [
            Text("{mark} above people", mark=MARKS["above"]),
            Text("{mark} below people", mark=MARKS["below"]),
            Text("{mark} equivalent within the margin of the plan", mark=MARKS["human_level"]),
            Text("{mark} not worse by the margin", mark=MARKS["not_worse"]),
            Text("{mark} cannot be told", mark=MARKS["untold"]),
        ],
        ", ",
    )


def _difference(match: BesidePeople, n: int) -> Markup:
    """Show the difference with its mark and interval, and the number of items if it is not that of the row."""
    sign = "+" if match.value >= 0 else ""
    value = f"{_mark(match)} {sign}{_value(match.value)}"
    items = Markup(", {}").format(_both(Text("{n:# item|# items}", n=match.n))) if match.n != n else ""
    return Markup("{} <small>{}{}</small>").format(value, _interval_signed(match), items)


def _interval_signed(match: BesidePeople) -> str:
    low, high = (f"{'+' if one >= 0 else ''}{_value(one)}" for one in (match.low, match.high))
    return f"[{low}, {high}]"


def _main(row: ModelRow, about: BoardDataset) -> float:
    """Return the metric by which rows are sorted; less than any value without one."""
    held = row.model.datasets[about.key].score.metrics.get(about.metrics[0]) if about.metrics else None
    return -2.0 if held is None else held[0]


#: The most metrics of a dataset's page beside the one that models are ranked by.
_MOST_METRICS: Final = 16


def _other_metrics(about: BoardDataset, rows: Iterable[ModelRow]) -> list[str]:
    """Return the metrics beside the first main one: the other main metrics, or without main metrics those by group."""
    if about.metrics:
        return [*about.metrics[1:]]
    found = dict.fromkeys(name for row in rows for name in row.model.datasets[about.key].score.metrics)
    return [*found][:_MOST_METRICS]


#: The conditions that have a column where they differ.
_COLUMNS: Final = {
    "shots": Text("Solved examples"),
    "prompts": Text("Prompts"),
    "extract": Text("Answers found"),
    "mode": Text("Mode"),
    "temperature": Text("Temperature"),
    "samples": Text("Answers an item"),
    "thinking": Text("Thinking"),
}


def _different(about: BoardDataset, rows: Iterable[ModelRow]) -> list[str]:
    """Return the conditions in which runs differ on a dataset."""
    asked = [one for row in rows if (one := row.model.datasets[about.key].conditions).shots is not None]
    return [name for name in _COLUMNS if len({getattr(one, name) for one in asked}) > 1]


def _condition(one: Conditions, name: str) -> str:
    value = getattr(one, name)
    if value is None or value == "" or one.shots is None:
        return EMPTY
    if isinstance(value, bool):
        return "+" if value else "−"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _shared(asked: Sequence[Conditions]) -> Conditions:
    """Return the conditions that are the same in all runs; the others are as if they were not known."""
    plain = Conditions()
    held = {field.name: {getattr(one, field.name) for one in asked} for field in fields(Conditions)}
    return replace(plain, **{name: values.pop() for name, values in held.items() if len(values) == 1})


def _told_conditions(one: Conditions) -> Iterator[Text]:
    if one.prompts:
        yield Text(
            "{prompts:harness=harness prompts|merilo=Merilo’s prompts|people=prompts as people saw them}",
            prompts=one.prompts,
        )
    if one.shots is not None:
        yield Text("{n:# solved example|# solved examples}", n=one.shots)
    if one.extract == "harness":
        yield Text("answers found as the harness does")
    if one.mode == "loglikelihood":
        yield Text("by log-likelihood")
    if one.temperature:
        yield Text("temperature {value:g}", value=one.temperature)
    if one.samples > 1:
        yield Text("{n:# answer|# answers} an item", n=one.samples)
    if one.thinking:
        yield Text("with thinking")


def _has_remarks(row: ModelRow, about: BoardDataset) -> bool:
    answered = row.model.datasets[about.key]
    return bool(
        answered.faults or answered.score.missing or answered.score.reason or row.reasons.get(about.key)
    )


# Filters


def _filters(kind: str, answered: Iterable[AnsweredDataset]) -> tuple[str, ...]:
    """Return a row's values of each facet, separated by commas."""
    facets: tuple[dict[str, None], ...] = ({kind: None}, {}, {}, {}, {}, {})
    for held in answered:
        one = held.conditions
        if one.shots is None:
            continue
        sampling = "several" if one.samples > 1 else "sampled" if one.temperature else "greedy"
        values = (str(one.shots), one.prompts, one.extract, "yes" if one.thinking else "no", sampling)
        for place, value in enumerate(values, start=1):
            if value:
                facets[place][value] = None
    return tuple(",".join(sorted(one)) for one in facets)


#: A filter: its place among the values of a row, its name, and its values with their names.
_Offered: TypeAlias = tuple[int, Text, list[tuple[str, Text]]]


def _faceted(rows: Sequence[_Row]) -> tuple[list[_Offered], list[_Row]]:
    """Return the filters that tell rows apart, and the rows with their values of these filters."""
    offered: list[_Offered] = []
    places: list[int] = []
    for place, facet in enumerate(_FACETS):
        values = {value for row in rows if row.values for value in row.values[place].split(",") if value}
        if len(values) > 1:
            order = sorted(values, key=lambda one: (int(one) if one.isdecimal() else -1, one))
            named = [(value, facet.names.get(value) or joined([value])) for value in order]
            offered.append((len(places), facet.name, named))
            places.append(place)
    return offered, [
        replace(row, filters="|".join(row.values[place] for place in places)) if row.values else row
        for row in rows
    ]


# Charts


@dataclass(frozen=True, slots=True)
class _Bar:
    """A line of a chart: a name, a value and its interval, if there is one."""

    name: Told
    value: float | None
    low: float | None
    high: float | None
    human: bool = False


def _bars_chart(title: Text, people: Sequence[_Bar], models: Sequence[_Bar]) -> Chart | None:
    """Draw people and the first models, each a line with its interval; a dashed line continues the first of people."""
    shown = [*people, *models[:MOST_CHARTED]]
    known = [end for one in shown for end in (one.value, one.low, one.high) if end is not None]
    if len(shown) < 2 or not known:
        return None
    start, end, step, top = 250.0, WIDTH - 16.0, 24.0, 14.0
    least = next((one for one in (0.6, 0.4, 0.2, 0.0) if min(known) >= one), -1.0)
    bottom = top + step * len(shown)

    def x(value: float) -> float:
        return start + (end - start) * (min(max(value, least), 1.0) - least) / (1.0 - least)

    shapes = []
    for tick in range(round(least * 10), 11, 2):
        shapes.append(Shape("line", (x(tick / 10), top - 8, x(tick / 10), bottom - 6), "grid"))
        shapes.append(
            Shape("text", (x(tick / 10), bottom + 10), "tick", Text("{value:.1f}", value=tick / 10))
        )
    if people and people[0].value is not None:
        shapes.append(Shape("line", (x(people[0].value), top - 8, x(people[0].value), bottom - 6), "people"))
    for place, one in enumerate(shown):
        y, kind = top + step * place + 4, " hm" if one.human else ""
        name = shortened(one.name, 34) if isinstance(one.name, str) else one.name
        shapes.append(Shape("text", (start - 14, y + 4), "name", name, "end"))
        if one.low is not None and one.high is not None:
            shapes.append(Shape("line", (x(one.low), y, x(one.high), y), f"bar{kind}"))
        if one.value is not None:
            shapes.append(Shape("circle", (x(one.value), y, 4.5), f"mark{kind}"))
    return Chart(title, bottom + 16, shapes)


def _archive_content(one: FaultyArchive) -> bytes:
    def told(text: Text) -> Json:
        return {language: text.in_language(language) for language in LANGUAGES}

    content: dict[str, Json] = {
        "file": one.name,
        "scored": one.scored,
        "refused": None if one.reason is None else told(one.reason),
        "do": None if one.reason is None or one.is_log else told(ADVICE["unreadable_zip"]),
        "datasets": {
            title: {
                "count": count,
                "faults": [
                    {"kind": fault.kind, "message": told(fault.text), "do": told(ADVICE[fault.kind])}
                    for fault in faults
                ],
            }
            for title, (faults, count) in one.datasets.items()
        },
    }
    text = json.dumps(content, ensure_ascii=False, indent=2) + "\n"
    return text.encode("utf-8", "backslashreplace")
