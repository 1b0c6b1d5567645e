"""`merilo.report`, `merilo.verify` and `merilo.read_raw`: publish a baseline so that others can compute it again."""

from __future__ import annotations

from pathlib import Path

from merilo.reports.hb import raw_reader
from merilo.reports.hb.building import HbFolder, write_hb
from merilo.reports.hb.raw_study import RawStudy
from merilo.reports.hb.verification import Verification, verify_folder


def report(
    source: str | Path,
    out: str | Path,
    *,
    experts: str | Path | None = None,
    cards: str | Path | None = None,
    with_gold: bool = False,
    force: bool = False,
) -> HbFolder:
    """Write the folder `hb/` of a baseline, as `merilo report` does.

    Args:
        source: a folder that `BaselineResult.save` or `merilo baseline --out` wrote, or the folder of a study.
        out: a new folder.
        experts: for an expert dataset, the JSON of `merilo experts baseline`, or the folder that it wrote.
        cards: the dataset's folder with `raw_dataset_meta.json` and `raw_readme_*.json`; copies of them with the human
            baseline are written to `cards/`.
        with_gold: include gold answers that the dataset declares closed; by default they are withheld, with everything per
            item that follows from them.
        force: replace an existing one.

    Returns:
        The folder with the names of its files and remarks for the user.

    Raises:
        InputError: the source is not such a folder, or its files are damaged.
        DataError: recomputing the baseline from its raw answers gives other values.
        OutputError: the folder exists and `force` is not given, or it contains the source.
    """
    return write_hb(
        Path(source),
        Path(out),
        experts=None if experts is None else Path(experts),
        cards=None if cards is None else Path(cards),
        with_gold=with_gold,
        force=force,
    )


def verify(folder: str | Path) -> Verification:
    """Recompute every published value of a folder `hb/`, as `merilo report verify` does.

    Args:
        folder: a folder that `report` wrote.

    Returns:
        Every value as published and as recomputed, and the files that changed; `ok` if there is no difference.

    Raises:
        InputError: the folder is not such a folder.
    """
    return verify_folder(Path(folder))


def read_raw(folder: str | Path) -> RawStudy:
    """Read everything that a baseline is computed from: responses, gold answers, skills, dataset and settings.

    Args:
        folder: the subfolder `raw` of `hb/`, or of a folder that `merilo baseline --out` wrote.

    Returns:
        The raw state of the study; its attributes are arguments of `merilo.baseline`.

    Raises:
        InputError: a file is missing or damaged.
    """
    return raw_reader.read_raw(folder)
