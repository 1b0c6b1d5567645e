"""`merilo.leaderboard`: people and models on all datasets, as one page and as JSON.

Every number is one of `merilo.compare_datasets` on the same baselines and models.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from markupsafe import Markup

from merilo.atomic_write import refuse_unwritable, write_text
from merilo.baselines.baseline import BASELINE_FILE
from merilo.baselines.model_answers import split_arguments
from merilo.baselines.model_comparison import Match, signed, verdict_sentence
from merilo.errors import InputError, OutputError, for_command_line
from merilo.records import rounded
from merilo.reports.charts import page_environment
from merilo.reports.comparison_table import (
    MARK_NAMES,
    THIS_BASELINE,
    ComparisonTable,
    ModelCell,
    TableColumn,
    mark_of,
    notes,
)
from merilo.reports.dataset_comparisons import DatasetComparisons, compare_datasets
from merilo.reports.estimates import interval_json
from merilo.settings import ComparisonSettings
from merilo.strict_json import Json, as_text
from merilo.version import __version__
from merilo.wording import shown

PAGE: Final = "index.html"
JSON_FILE: Final = "leaderboard.json"

#: How far below the given folder baselines are looked for: `bps/study/baseline`.
_DEPTH: Final = 3


def leaderboard(
    models: Sequence[str | Path],
    *,
    baselines: str | Path,
    out: str | Path,
    settings: ComparisonSettings | None = None,
    **chosen: object,
) -> DatasetComparisons:
    """Compare people with models on all datasets, and write the page `index.html` and `leaderboard.json`.

    Args:
        models: as for `compare_datasets`.
        baselines: the folder in which baselines are looked for, at most one of each dataset.
        out: the folder of the two files; an earlier leaderboard in it is replaced.
        settings: as for `compare_datasets`.
        chosen: single settings by name, as for `compare_datasets`.

    Returns:
        The comparisons that the page shows.

    Raises:
        UsageError: two baselines are of the same dataset, or a file could belong to several baselines.
        InputError: the folder holds no baseline, or answers cannot be read.
        DataError: as for `compare_datasets`.
        OutputError: the folder holds another page, or cannot be written.
    """
    page, rows = (Path(out) / name for name in (PAGE, JSON_FILE))
    if page.exists() and not rows.exists():
        raise OutputError("exists already and is not a leaderboard; choose another folder", file=page)
    for file in (page, rows):
        refuse_unwritable(file)
    given, others = split_arguments([Path(one) for one in models])
    found = compare_datasets(
        [*given, *_baselines(Path(baselines))], others, settings=ComparisonSettings.of(chosen, settings)
    )
    page.parent.mkdir(parents=True, exist_ok=True)
    write_text(rows, as_text(leaderboard_json(found)))
    write_text(page, leaderboard_page(found))
    return found


def _baselines(folder: Path) -> list[Path]:
    """Return the folders with a baseline below a folder.

    Raises:
        InputError: there is none.
    """

    def within(place: Path, depth: int) -> Iterator[Path]:
        if (place / BASELINE_FILE).is_file():
            yield place
        elif depth and place.is_dir():
            for one in sorted(place.iterdir()):
                if not one.name.startswith("."):
                    yield from within(one, depth - 1)

    found = [*within(folder, _DEPTH)]
    if not found:
        why = f"holds no baseline: {BASELINE_FILE} is missing" if folder.is_dir() else "is not a folder"
        raise InputError(why, file=shown(folder))
    return found


def leaderboard_json(found: DatasetComparisons) -> dict[str, Json]:
    """Return people's values, the totals, and a row for each model, dataset and comparison; the best total is first."""
    table = found.table
    return {
        "merilo": __version__,
        "people": [_people_json(one) for one in table.columns],
        "total": table.totals(),
        "rows": [
            _row_json(key, model, cell, match)
            for model in ranked(table)
            for key, cell in table.models[model].items()
            for match in cell.marked or (None,)
        ],
        "not_compared": [
            {"dataset": one.dataset, "model": one.model, "reason": one.reason.en} for one in found.skipped
        ],
        "warnings": [*found.warnings],
    }


def _people_json(column: TableColumn) -> Json:
    about: dict[str, Json] = {
        "dataset": column.key, "title": column.title, "metric": column.metric, "in_total": column.in_total
    }  # fmt: skip
    people = column.people
    if people is None:
        return about
    own, span = people.kind == THIS_BASELINE, people.interval
    return about | {
        "value": rounded(people.value),
        "ci95": None if span is None else [rounded(end) for end in span],
        "n": people.n,
        "kind": people.kind,
        "source": None if own else people.source,
        "status": ("rejected" if people.rejected else "accepted") if own else None,
        "simulated": people.simulated,
        "single_person": rounded(people.single[0]) if people.single else None,
    }


def _row_json(dataset: str, model: str, cell: ModelCell, match: Match | None) -> Json:
    row: dict[str, Json] = {
        "dataset": dataset,
        "model": model,
        "score": {
            "value": None if cell.value is None else rounded(cell.value),
            "ci95": interval_json(cell.interval),
            "n": cell.n,
        },
        "reason": cell.reason or None,
        "beside": match.kind if match else None,
    }
    if match is None:
        return row
    sentence = verdict_sentence(match, model) if match.verdict else None
    return row | {
        "people": rounded(match.difference.first),
        "difference": {
            "value": rounded(match.difference.value),
            "ci95": interval_json(match.interval),
            "over": "items and annotators" if match.both else "items",
            "n": match.difference.n,
        },
        "p": rounded(match.p, 9),
        "p_holm": rounded(match.corrected, 9),
        "verdict": match.verdict.outcome if match.verdict else None,
        "sentence": {"en": sentence.en, "ru": sentence.ru} if sentence else None,
    }


def ranked(table: ComparisonTable) -> list[str]:
    """Return the models: those with most datasets of the total first, then by the total.

    Without a total, they are ordered by their values on the first dataset.
    """

    def place(model: str) -> tuple[float, ...]:
        total, cells = table.model_total(model), table.models[model]
        values = [cells[one.key].value if one.key in cells else None for one in table.columns]
        return (-len(total.counted), *(1 if one is None else -one for one in (total.value, *values)))

    return sorted(table.models, key=place)


def leaderboard_page(found: DatasetComparisons) -> str:
    """Render the page in English and Russian; without scripts it is complete, and its order is that of the totals."""
    table, environment = found.table, page_environment()
    script = (Path(__file__).parent / "templates" / "leaderboard.js").read_text(encoding="utf-8")
    models = ranked(table)
    totals = {model: table.model_total(model) for model in models}
    rendered = environment.get_template("leaderboard.html.j2").render(
        table=table,
        compared=found.results,
        models=models,
        totals=totals,
        people=table.people_total(),
        with_total=any(one.counted for one in totals.values()),
        mark_of=mark_of,
        signed=signed,
        mark_names=MARK_NAMES,
        notes=notes(table),
        limits=found.limits(every=False),
        script=Markup(script),  # noqa: S704 - a file of this package
        script_hash=b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    return for_command_line(rendered)
