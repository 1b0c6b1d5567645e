"""`merilo.audit`: find gold answers of a dataset that are probably wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from merilo.api.frames import Frame
from merilo.api.gold_answers import gold_in_memory, gold_of
from merilo.api.reading import Source, StudyResponses, read_responses
from merilo.datasets import Dataset
from merilo.datasets import dataset as find_dataset
from merilo.people.audit.study_audit import StudyAudit, audit_study
from merilo.people.duplicates import Repeats, settle
from merilo.reports.audit import contested_table, findings_table
from merilo.responses import Responses


@dataclass(frozen=True, slots=True, repr=False)
class AuditResult:
    """The audit of a dataset.

    Attributes:
        details: the internal representation of the audit.
    """

    details: StudyAudit

    @property
    def findings(self) -> pl.DataFrame:
        """Return the items with an answer that differs from the gold, most probably wrong gold first, as in `audit.csv`."""
        return findings_table(self.details)

    @property
    def contested(self) -> pl.DataFrame:
        """Return the items without gold on which annotators disagree, least certain first."""
        return contested_table(self.details)

    def __repr__(self) -> str:
        found = self.details.audit
        return f"<{found.golds} golds: {len(found.findings)} with answers against them; {len(found.contested)} contested items>"


def audit(
    responses: Responses | Source,
    *,
    gold: str | Path | Frame | Mapping[str, str] | None = None,
    dataset: str | Dataset | None = None,
    gold_column: str | None = None,
    choice: bool | None = None,
    repeats: Repeats = "refuse",
) -> AuditResult:
    """Find the items whose gold is probably wrong, and distinguish typing errors from errors of the dataset.

    Args:
        responses: the result of `read_responses`, or any source that it accepts.
        gold: the gold answers, in any form that `baseline` accepts.
        dataset: a dataset's name, the path of a YAML declaration, or a declaration object.
        gold_column: the column of the gold answers, if it cannot be found by name.
        choice: whether answers are a choice among labels; by default, true for up to five labels.
        repeats: what happens to an annotator's second, different answer to an item.

    Raises:
        UsageError: an argument does not fit the others or the data.
        InputError: a file cannot be read.
        DataError: an annotator gave two different answers to an item and `repeats` forbids it.
    """
    declared = find_dataset(dataset) if isinstance(dataset, str) else dataset
    labels = declared.answer.labels if declared else ()
    given = responses if isinstance(responses, Responses) else read_responses(responses, dataset=declared)
    read = given.of_dataset(declared) if isinstance(given, StudyResponses) else given
    known = (
        gold_in_memory(read, declared, gold, gold_column)
        if gold is not None and not isinstance(gold, str | Path)
        else gold_of(read, declared, None if gold is None else Path(gold), gold_column, None)
    )
    closed = True if labels else None
    return AuditResult(audit_study(settle(read, repeats), known, choice=closed if choice is None else choice))
