"""`merilo.leaderboard`: the comparison of models with people on all datasets of a folder, as one page and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from merilo.atomic_write import refuse_unwritable, write_text
from merilo.baselines.model_answers import is_baseline
from merilo.errors import InputError, OutputError
from merilo.reports.comparison import Comparison, compare
from merilo.reports.comparison_page import comparison_page
from merilo.strict_json import as_text
from merilo.wording import shown

if TYPE_CHECKING:
    from merilo.reports.comparison import Source

PAGE: Final = "index.html"
JSON_FILE: Final = "leaderboard.json"

#: How far below the given folder baselines are looked for: `bps/study/baseline`.
_DEPTH: Final = 3


def leaderboard(
    *models: Source,
    baselines: str | Path,
    out: str | Path,
    margin: float | None = None,
    force: bool = False,
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
    write_text(page, comparison_page(comparison))
    return comparison


def _baselines(folder: Path) -> list[Path]:
    """Return the folders with a baseline below a folder; raises `InputError` if there is none."""

    def within(place: Path, depth: int) -> Iterator[Path]:
        if is_baseline(place):
            yield place
        elif depth and place.is_dir():
            for inner in sorted(place.iterdir()):
                if not inner.name.startswith("."):
                    yield from within(inner, depth - 1)

    folders = [*within(folder, _DEPTH)]
    if not folders:
        why = "holds no baseline: baseline.json is missing" if folder.is_dir() else "is not a folder"
        raise InputError(why, file=shown(folder))
    return folders
