"""`merilo.leaderboard`: people and models on many datasets, with ranges of ranks, as JSON and as a static site."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, cast

import numpy as np

from merilo.atomic_write import new_folder, refuse_existing, write_files
from merilo.boards.board_datasets import BoardDataset
from merilo.boards.board_models import (
    FaultyArchive,
    GoldTests,
    LogReader,
    RankedModel,
    RunReader,
    SubmissionReader,
    runs_and_logs,
)
from merilo.boards.board_people import (
    BesidePeople,
    PeopleStudy,
    beside_people,
    people_studies,
    shown_match,
)
from merilo.boards.stored_scores import StoredResults
from merilo.datasets import CATALOGUE
from merilo.errors import InputError, UsageError, argument, for_command_line
from merilo.metrics.score import total_score
from merilo.records import rounded
from merilo.statistics import IntArray
from merilo.statistics.rank_ranges import (
    ALPHA,
    AllPairs,
    RankRange,
    all_pairs,
    mean_of_pairs,
    rank_ranges,
    total_interval,
)
from merilo.strict_json import Json
from merilo.version import __version__
from merilo.wording import listed, shown

#: The format's name; the number increases when the meaning of the fields changes.
FORMAT: Final = "merilo leaderboard 1"

JSON_FILE: Final = "leaderboard.json"

#: The group of all datasets of the total.
ALL: Final = ""


@dataclass(frozen=True, slots=True)
class BoardOptions:
    """What an organiser may choose about a board.

    Attributes:
        title: the title of the site; empty for the usual one.
        language: the language that pages open in.
        names: the name of a run's folder, an archive or a model -> the name that is shown.
        hidden: folders, archives, models or studies that have no row.
        total: the datasets of the total; empty for those that count in the benchmark's, or else all.
        groups: group -> its datasets; empty for the skills that the datasets declare.
    """

    title: str = ""
    language: str = "en"
    names: Mapping[str, str] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    total: tuple[str, ...] = ()
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def read_board_options(path: Path) -> BoardOptions:
    """Read the options of a board from a TOML file.

    Raises:
        InputError: the file cannot be read, or a key is unknown or of the wrong type.
    """
    try:
        held = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"cannot be read as TOML: {error}", file=shown(path)) from None
    known = BoardOptions.__slots__
    if unknown := [name for name in held if name not in known]:
        raise InputError(f"is unknown; choose from {listed([*known])}", file=shown(path), field=unknown[0])
    names, groups = held.get("names", {}), held.get("groups", {})
    for name in ("title", "language"):
        if not isinstance(held.get(name, ""), str):
            raise InputError("must be a text", file=shown(path), field=name)
    for name in ("hidden", "total"):
        _require_texts(held.get(name, []), path, name)
    if not isinstance(names, dict) or not all(isinstance(one, str) for one in names.values()):
        raise InputError("must be a table of texts", file=shown(path), field="names")
    if not isinstance(groups, dict):
        raise InputError("must be a table of lists of datasets", file=shown(path), field="groups")
    for name, members in groups.items():
        _require_texts(members, path, f"groups.{name}")
    if held.get("language", "en") not in {"en", "ru"}:
        raise InputError("must be en or ru", file=shown(path), field="language")
    return BoardOptions(
        held.get("title", ""),
        held.get("language", "en"),
        names,
        tuple(held.get("hidden", ())),
        tuple(one.lower() for one in held.get("total", ())),
        {name: tuple(one.lower() for one in members) for name, members in groups.items()},
    )


def _require_texts(values: object, path: Path, name: str) -> None:
    if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
        raise InputError("must be a list of texts", file=shown(path), field=name)


@dataclass(frozen=True, slots=True)
class BoardTotal:
    """A total score.

    Attributes:
        value: the mean over the datasets of the mean of their main metrics; `None` if one of them is missing.
        low: the lower bound of its 95 % interval over items; `None` without one.
        high: the upper bound.
        counted: the datasets of the total that have a value.
        needed: the datasets of the total.
        partial: the same mean over the datasets that have a value; `None` without any.
        rank: the range of the rank; `None` without a value.
    """

    value: float | None
    low: float | None
    high: float | None
    counted: tuple[str, ...]
    needed: tuple[str, ...]
    partial: float | None
    rank: RankRange | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the total as JSON."""
        return {
            "value": _rounded(self.value),
            "ci95": _pair(self.low, self.high),
            "rank": _rank(self.rank),
            "datasets": len(self.counted),
            "of": len(self.needed),
            "missing": [one for one in self.needed if one not in self.counted],
            "over_counted": _rounded(self.partial),
        }


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A model on the board.

    Attributes:
        name: the name that is shown, which no other row has.
        model: the model with its results.
        totals: group -> total; the group `ALL` has all datasets of the total.
        ranks: dataset -> the range of the rank.
        beside: dataset -> the comparisons with people.
        reasons: dataset -> why it is not compared with people.
    """

    name: str
    model: RankedModel
    totals: Mapping[str, BoardTotal] = field(default_factory=dict)
    ranks: Mapping[str, RankRange] = field(default_factory=dict)
    beside: Mapping[str, Sequence[BesidePeople]] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)

    def main(self, about: BoardDataset) -> float | None:
        """Return the mean of the main metrics of a dataset; `None` if one is missing."""
        answered = self.model.datasets.get(about.key)
        if answered is None or not about.metrics:
            return None
        values = [answered.score.metrics[name][0] for name in about.metrics if name in answered.score.metrics]
        return sum(values) / len(values) if len(values) == len(about.metrics) else None


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """People and models on many datasets.

    Attributes:
        datasets: the datasets, those of the benchmark first.
        models: the models, the best total first; then those with results on more datasets.
        people: the studies of people.
        groups: group -> its datasets on the board; `ALL` has the datasets of the total.
        faulty: the archives and logs of which something could not be scored.
        options: what the organiser chose.
        made: how many results were made anew; the others were stored.
    """

    datasets: tuple[BoardDataset, ...]
    models: tuple[ModelRow, ...]
    people: tuple[PeopleStudy, ...]
    groups: Mapping[str, tuple[str, ...]]
    faulty: tuple[FaultyArchive, ...] = ()
    options: BoardOptions = BoardOptions()
    made: int = 0

    def people_total(self, group: str = ALL, *, measured: bool = True) -> BoardTotal:
        """Return people's total over the datasets of a group.

        Args:
            group: the group.
            measured: whether it is over accepted studies; otherwise over published values.
        """
        about = {one.key: one for one in self.datasets}
        main: dict[str, list[tuple[float, float | None, float | None]]] = {}
        for key in self.groups[group]:
            study = next((one for one in self.people if one.dataset.key == key and one.accepted), None)
            names = about[key].metrics
            values: list[tuple[float, float | None, float | None]]
            if not measured:
                published = {one.metric: one.value for one in about[key].human}
                values = [(published[name], None, None) for name in names if name in published]
            else:
                values = [
                    (one.value, one.low, one.high)
                    for one in (study.metrics.get(name) for name in names if study)
                    if one is not None
                ]
            if names and len(values) == len(names):
                main[key] = [*values]
        return _total(main, self.groups[group])

    def to_dict(self) -> dict[str, Json]:
        """Return the board as JSON, as `leaderboard.json` holds it."""
        return {
            "format": FORMAT,
            "merilo": __version__,
            "title": self.options.title or None,
            "alpha": ALPHA,
            "total": [*self.groups[ALL]],
            "groups": {name: [*keys] for name, keys in self.groups.items() if name != ALL},
            "datasets": [one.to_json() for one in self.datasets],
            "people": [_study_json(one) for one in self.people],
            "people_total": {
                "measured": self.people_total().to_json(),
                "published": self.people_total(measured=False).to_json(),
            },
            "models": [self._row_json(one) for one in self.models],
            "archives": [_archive_json(one) for one in self.faulty],
        }

    def _row_json(self, row: ModelRow) -> dict[str, Json]:
        conditions = [one.conditions.to_json() for one in row.model.datasets.values()]
        shared: dict[str, Json] = {
            name: value
            for name, value in (conditions[0] if conditions else {}).items()
            if value is not None and all(one[name] == value for one in conditions)
        }
        return {
            "model": row.name,
            "kind": row.model.kind,
            "source": row.model.source,
            "day": row.model.day or None,
            "conditions": shared,
            "total": row.totals[ALL].to_json(),
            "groups": {
                name: {"value": _rounded(one.value), "rank": _rank(one.rank)}
                for name, one in row.totals.items()
                if name != ALL
            },
            "datasets": {
                one.key: self._cell_json(row, one.key, shared)
                for one in self.datasets
                if one.key in row.model.datasets
            },
        }

    def _cell_json(self, row: ModelRow, key: str, shared: Mapping[str, Json]) -> dict[str, Json]:
        answered = row.model.datasets[key]
        scores = answered.score.metrics
        match = shown_match(row.beside.get(key, ()))
        cell: dict[str, Json] = {
            "metrics": {
                name: [_rounded(value), n, _rounded(low), _rounded(high)]
                for name, (value, n, low, high) in scores.items()
                if name in answered.about.metrics or not answered.about.metrics
            },
            "rank": _rank(row.ranks.get(key)),
            "people": None
            if match is None
            else {
                "study": match.study,
                "kind": match.kind,
                "verdict": match.verdict.outcome,
                "difference": [_rounded(one) for one in (match.value, match.low, match.high)],
                "p": _rounded(match.p),
                "n": match.n,
            },
            "conditions": {
                name: value
                for name, value in answered.conditions.to_json().items()
                if value is not None and shared.get(name) != value
            },
            "missing": [*answered.score.missing],
            "reason": "; ".join(
                dict.fromkeys(
                    one
                    for one in (
                        *answered.score.missing.values(),
                        answered.score.reason,
                        row.reasons.get(key),
                    )
                    if one
                )
            ),
            "faults": len(answered.faults),
        }
        return {name: value for name, value in cell.items() if value}

    def files(self) -> dict[str, bytes]:
        """Return the files of the site by name."""
        from merilo.boards.board_pages import pages  # noqa: PLC0415 - it needs this module's types

        return pages(self) | {JSON_FILE: _compact(self.to_dict())}

    def save(self, out: str | Path, *, force: bool = False, needed: Sequence[Path] = ()) -> Path:
        """Write the site.

        Args:
            out: the folder; an earlier board in it is replaced.
            force: whether a folder without a board may be replaced too.
            needed: input files and folders, which must not be inside `out`.

        Returns:
            The first page.

        Raises:
            OutputError: the folder exists and holds no board, or cannot be written.
        """
        folder = Path(out)
        replaces = force or (folder / JSON_FILE).is_file()
        refuse_existing(folder, force=replaces, needed=needed)
        with new_folder(folder, force=replaces) as new:
            write_files(new, self.files())
        return folder / "index.html"


def leaderboard(
    runs: Sequence[str | Path] = (),
    *,
    baselines: str | Path | Sequence[str | Path] = (),
    submissions: str | Path | None = None,
    gold: str | Path | None = None,
    options: str | Path | BoardOptions | None = None,
    cache: str | Path | None = None,
) -> Leaderboard:
    """Make a leaderboard of people and models.

    Without runs, baselines and submissions it is the table of the benchmark's published human values.

    Args:
        runs: folders of `merilo.run`, logs of other harnesses, or folders of these.
        baselines: folders in which baselines of people are looked for.
        submissions: a folder of submission archives.
        gold: a folder of the tests with their gold answers: for the submissions, for logs of other harnesses, and for
            runs of closed tests.
        options: a TOML file, or the options themselves.
        cache: the folder of stored results, which must not be published: it tells which items were answered rightly;
            without it nothing is stored.

    Returns:
        The board; `save` writes it as a site.

    Raises:
        UsageError: submissions or logs are given without `gold`.
        InputError: a folder does not hold what it should, or a file cannot be read.
        DataError: a gold answer is missing or does not fit its metric.
    """
    folders = [Path(baselines)] if isinstance(baselines, str | Path) else [Path(one) for one in baselines]
    chosen = (
        BoardOptions()
        if options is None
        else options
        if isinstance(options, BoardOptions)
        else read_board_options(Path(options))
    )
    if submissions is not None and gold is None:
        raise UsageError(f"needs {argument('gold', 'DIR')}", field=argument("submissions"))
    stored = StoredResults(None if cache is None else Path(cache))
    tests = None if gold is None else Path(gold)
    if tests is not None and not tests.is_dir():
        raise InputError("there is no such folder of tests", file=shown(tests))
    asked, logs = runs_and_logs([Path(one) for one in runs])
    if logs and tests is None:
        raise UsageError(
            f"logs of other harnesses need {argument('gold', 'DIR')}: {listed([shown(one) for one in logs], 3)}"
        )
    reader = RunReader(stored, tests)
    models = [reader.model(path) for path in asked]
    faulty: list[FaultyArchive] = []
    if tests is not None:
        gold_tests = GoldTests(stored, tests)
        archives = [] if submissions is None else _archives(Path(submissions))
        submitted, logged = SubmissionReader(stored, gold_tests), LogReader(stored, gold_tests)
        for row, fault in (*map(logged.read, logs), *map(submitted.read, archives)):
            models += [] if row is None else [row]
            faulty += [] if fault is None else [fault]
    people = people_studies(folders, stored) if folders else []
    hidden = set(chosen.hidden)
    models = [one for one in models if not {one.name, one.source} & hidden]
    people = [one for one in people if one.name not in hidden]
    rows = named_rows(models, chosen.names)
    made = _assembled(rows, people, chosen, stored)
    stored.save()
    return replace(made, faulty=tuple(faulty), made=stored.made)


def _archives(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise InputError("there is no such folder of submissions", file=shown(folder))
    found = sorted(one for one in folder.iterdir() if one.suffix.lower() == ".zip" and one.is_file())
    if not found:
        raise InputError("holds no submission: no file ends in .zip", file=shown(folder))
    return found


def named_rows(models: Sequence[RankedModel], names: Mapping[str, str]) -> list[ModelRow]:
    """Return a row for each model, with names that differ.

    Runs of one model under the same conditions on different datasets are one row. If two rows have the same name, the
    names of their folders follow it.

    Args:
        models: the models.
        names: folder or model -> the name that is shown.
    """
    merged: list[RankedModel] = []
    for given in models:
        one = replace(given, name=names.get(given.source) or names.get(given.name) or given.name)
        at = next((at for at, other in enumerate(merged) if _are_parts(other, one)), None)
        if at is None:
            merged.append(one)
        else:
            other = merged[at]
            merged[at] = replace(
                other,
                datasets={**other.datasets, **one.datasets},
                source=f"{other.source}, {one.source}",
                day=max(other.day, one.day),
            )
    often = Counter(one.name for one in merged)
    taken: set[str] = set()
    rows = []
    for one in merged:
        wanted = f"{one.name} ({one.source})" if often[one.name] > 1 else one.name
        name, at = wanted, 2
        while name in taken:
            name, at = f"{wanted} ({at})", at + 1
        taken.add(name)
        rows.append(ModelRow(name, one))
    return rows


def _are_parts(one: RankedModel, other: RankedModel) -> bool:
    """Whether two runs are parts of one: the same model, asked in the same way on different datasets."""

    def manner(model: RankedModel) -> set[tuple[str, str, float | None]]:
        conditions = (held.conditions for held in model.datasets.values())
        return {(one.prompts, one.extract, one.temperature) for one in conditions}

    return (
        (one.name, one.kind) == (other.name, other.kind)
        and one.kind != "submission"
        and not set(one.datasets) & set(other.datasets)
        and manner(one) == manner(other)
    )


def _assembled(
    rows: Sequence[ModelRow],
    people: Sequence[PeopleStudy],
    options: BoardOptions,
    stored: StoredResults,
) -> Leaderboard:
    about: dict[str, BoardDataset] = {}
    for row in rows:
        about.update({key: one.about for key, one in row.model.datasets.items()})
    for study in people:
        about.setdefault(study.dataset.key, study.dataset)
    if not about:
        about = {name: BoardDataset.of(one) for name, one in CATALOGUE.items()}
    datasets = tuple(sorted(about.values(), key=lambda one: (not one.of_catalogue, one.title.lower())))
    groups = _groups(datasets, rows, options)
    pairs = {one.key: _matrix(rows, one.key, "points") for one in datasets}
    beside, reasons = beside_people(people, [row.model for row in rows], stored)
    ranks = {
        key: dict(zip(places, rank_ranges(found), strict=True)) for key, (places, found) in pairs.items()
    }
    totals = {name: _totals(rows, keys, about, pairs) for name, keys in groups.items()}
    made = [
        replace(
            row,
            totals={name: held[place] for name, held in totals.items()},
            ranks={key: held[place] for key, held in ranks.items() if place in held},
            beside={key: held for (at, key), held in beside.items() if at == place},
            reasons={key: held for (at, key), held in reasons.items() if at == place},
        )
        for place, row in enumerate(rows)
    ]
    return Leaderboard(datasets, tuple(sorted(made, key=_order)), tuple(people), groups, options=options)


def _order(row: ModelRow) -> tuple[bool, float, int, str]:
    total = row.totals[ALL]
    return total.value is None, -(total.value or 0.0), -len(total.counted), row.name.lower()


def _groups(
    datasets: Sequence[BoardDataset], rows: Sequence[ModelRow], options: BoardOptions
) -> dict[str, tuple[str, ...]]:
    """Return the datasets of the total and of the groups.

    The total is over the datasets that count in the benchmark's, if models have results on two of them or more;
    otherwise over all with results.
    """
    held = {key for row in rows for key, one in row.model.datasets.items() if one.score.metrics}
    on_board = [one.key for one in datasets]
    scored = [one for one in datasets if one.metrics and (one.key in held or not rows)]
    counting = [one.key for one in scored if one.in_total]
    if options.total:
        if unknown := [one for one in options.total if one not in on_board]:
            raise UsageError(f"total: the board has no dataset '{unknown[0]}', it has {listed(on_board)}")
        counting = [*options.total]
    if len(counting) < 2 and not options.total:
        counting = [one.key for one in scored]
    groups = {ALL: tuple(counting)}
    if options.groups:
        named = {name: [key for key in on_board if key in keys] for name, keys in options.groups.items()}
    else:
        skills = sorted({skill for one in datasets for skill in one.skills})
        named = {
            skill: [one.key for one in datasets if skill in one.skills and one.metrics] for skill in skills
        }
    return groups | {name: tuple(keys) for name, keys in named.items() if keys}


#: The places of the models that have contributions of items, and the comparison of every two of them.
_Pairs = tuple[list[int], AllPairs]


def _matrix(rows: Sequence[ModelRow], key: str, column: str, only: Iterable[int] | None = None) -> _Pairs:
    scores = {
        place: row.model.datasets[key].score
        for place, row in enumerate(rows)
        if key in row.model.datasets and (only is None or place in only)
    }
    places = [place for place, one in scores.items() if one.points is not None]
    columns: dict[str, int] = {}
    clusters: list[int] = []
    known: dict[tuple[str, ...], IntArray] = {}  # most models answered the same items
    for place in places:
        one = scores[place]
        if one.items in known:
            continue
        codes = [-1] * len(one.items) if one.clusters is None else one.clusters.tolist()
        for item, code in zip(one.items, codes, strict=True):
            if item not in columns:
                columns[item] = len(columns)
                clusters.append(code)
        known[one.items] = np.array([columns[item] for item in one.items], dtype=np.int64)
    matrix = np.full((len(places), len(columns)), np.nan)
    for row_at, place in enumerate(places):
        matrix[row_at, known[scores[place].items]] = getattr(scores[place], column)
    independent = all(scores[place].clusters is None for place in places)
    codes_of = None if independent else np.array(clusters, dtype=np.int64)
    return places, all_pairs(matrix, codes_of)


def _totals(
    rows: Sequence[ModelRow],
    keys: Sequence[str],
    about: Mapping[str, BoardDataset],
    pairs: Mapping[str, _Pairs],
) -> list[BoardTotal]:
    """Return the total of every row over these datasets, with the ranges of the ranks of those that have them all."""
    totals = []
    for row in rows:
        main: dict[str, list[tuple[float, float | None, float | None]]] = {}
        for key in keys:
            if row.main(about[key]) is not None:
                metrics = row.model.datasets[key].score.metrics
                main[key] = [
                    (value, low, high)
                    for value, _, low, high in (metrics[name] for name in about[key].metrics)
                ]
        totals.append(_total(main, keys))
    complete = [
        place
        for place, one in enumerate(totals)
        if one.value is not None and all(place in pairs[key][0] for key in keys)
    ]
    if not complete or not keys:
        return totals
    parts = []
    for key in keys:
        several = len(about[key].metrics) > 1
        if several:
            parts.append(_matrix(rows, key, "of_total", complete)[1])
            continue
        places, found = pairs[key]
        kept = np.ix_(*[[places.index(place) for place in complete]] * 2)
        parts.append(AllPairs(*(getattr(found, name)[kept] for name in AllPairs.__slots__)))
    for place, rank in zip(complete, rank_ranges(mean_of_pairs(parts)), strict=True):
        totals[place] = replace(totals[place], rank=rank)
    return totals


def _total(
    main: Mapping[str, Sequence[tuple[float, float | None, float | None]]], needed: Sequence[str]
) -> BoardTotal:
    """Return a total from the main metrics of datasets, each with its interval.

    A dataset with several main metrics counts by their mean, whose interval is as wide as theirs are on average: that
    is right if they rise and fall together, and too wide otherwise.
    """
    counted = tuple(main)
    if not counted:
        return BoardTotal(None, None, None, (), tuple(needed), None)
    value = total_score({key: [one for one, _, _ in metrics] for key, metrics in main.items()})
    complete = len(counted) == len(needed)
    low = high = None
    parts = [
        tuple(np.mean(np.array(metrics, dtype=np.float64), axis=0).tolist()) for metrics in main.values()
    ]
    if complete and not any(np.isnan(part).any() for part in parts):
        _, low, high = total_interval([cast("tuple[float, float, float]", part) for part in parts])
    return BoardTotal(value if complete else None, low, high, counted, tuple(needed), value)


def _study_json(one: PeopleStudy) -> dict[str, Json]:
    return {
        "dataset": one.dataset.key,
        "study": one.name,
        "metrics": {
            name: {
                "value": _rounded(held.value),
                "n": held.n,
                "ci95": _pair(held.low, held.high),
                "over": held.over,
            }
            for name, held in one.metrics.items()
        },
        "annotators": one.annotators,
        "first_day": one.first_day or None,
        "last_day": one.last_day or None,
        "status": "accepted" if one.accepted else "rejected",
        "simulated": one.simulated,
        "verified": one.verified,
    }


def _archive_json(one: FaultyArchive) -> dict[str, Json]:
    return {
        "file": one.name,
        "scored": one.scored,
        "refused": None if one.reason is None else {"en": one.reason.en, "ru": one.reason.ru},
        "datasets": {title: count for title, (_, count) in one.datasets.items()},
    }


def _compact(content: Json) -> bytes:
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return (for_command_line(text) + "\n").encode("utf-8", "backslashreplace")


def _rounded(value: float | None) -> float | None:
    return None if value is None else rounded(value, 4)


def _pair(low: float | None, high: float | None) -> Json:
    return None if low is None or high is None else [_rounded(low), _rounded(high)]


def _rank(rank: RankRange | None) -> Json:
    return None if rank is None else [*rank]
