"""Check a dataset's files against the benchmark's rules: all problems in one pass, each with file and JSON path."""

from __future__ import annotations

from pathlib import Path

from merilo.datasets.catalogue import CATALOGUE
from merilo.datasets.declaration import Dataset
from merilo.datasets.validation.folder import OWN, Contents, read_contents
from merilo.datasets.validation.item_rules import (
    check_answers,
    check_fields,
    check_ids,
    check_shots,
    check_use,
)
from merilo.datasets.validation.media import check_media, media_fields
from merilo.datasets.validation.metadata import check_metadata, check_readmes
from merilo.datasets.validation.prompts import check_prompts
from merilo.datasets.validation.report import ValidationReport, Violation
from merilo.errors import InputError

__all__ = ["ValidationReport", "Violation", "validate"]


def validate(path: Path, declared: Dataset | None = None) -> ValidationReport:
    """Check a dataset's folder, or a single file of items.

    Args:
        path: the folder or file.
        declared: the dataset's declaration; by default found by its name, or in `dataset.yaml` beside the data.

    Returns:
        Everything that was found.

    Raises:
        InputError: there is nothing at the path.
    """
    report = ValidationReport()
    contents = read_contents(path, report)
    contents.declared = declared or _known(path, contents, report)
    contents.media = media_fields(contents)
    check_ids(contents, report)
    check_fields(contents, report)
    check_metadata(contents, report)
    check_prompts(contents, report)
    check_media(contents, report)
    check_shots(contents, report)
    check_answers(contents, report)
    check_readmes(contents, report)
    if contents.declared is CATALOGUE["use"]:
        check_use(contents, report)
    report.problems = sorted(set(report.problems), key=lambda problem: problem.order)
    report.notes = sorted(set(report.notes), key=lambda note: note.order)
    return report


def _known(path: Path, contents: Contents, report: ValidationReport) -> Dataset | None:
    own = contents.root / OWN
    if own.is_file():
        from merilo.datasets.custom import read_declaration  # noqa: PLC0415 - imports Pydantic

        report.files.append(OWN)
        try:
            return read_declaration(own)
        except InputError as error:
            report.wrong(OWN, "", error.message)
    named = contents.meta.get("dataset_name") if contents.meta else None
    names = [str(named), path.name, path.stem, contents.root.resolve().name]
    found = next((CATALOGUE[name.lower()] for name in names if name.lower() in CATALOGUE), None)
    if found is None and any({"id_task", "variant"} <= place.item.meta.keys() for place in contents.places):
        return CATALOGUE["use"]  # only the exam has these
    return found
