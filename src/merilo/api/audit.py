"""`merilo.audit`: which right answers of a dataset are probably wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from merilo.api.frames import Frame
from merilo.api.reading import Source, StudyResponses, read_responses
from merilo.api.right_answers import gold_in_memory, gold_of
from merilo.datasets import Dataset
from merilo.datasets import dataset as find_dataset
from merilo.people.audit.study import StudyAudit, audit_study
from merilo.people.duplicates import Repeats, settle
from merilo.reports.audit import contested_table, findings_table
from merilo.responses import Responses


@dataclass(frozen=True, slots=True, repr=False)
class AuditResult:
    """The audit of a dataset.

    Attributes:
        details: the audit as the program computes with it.
    """

    details: StudyAudit

    @property
    def findings(self) -> pl.DataFrame:
        """The items with an answer against their gold, the most probably wrong gold first: `merilo audit`'s audit.csv."""
        return findings_table(self.details)

    @property
    def contested(self) -> pl.DataFrame:
        """The items without gold on which annotators disagree, the least certain truth first."""
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
    """List the items whose gold is probably wrong, and tell typing errors from errors of the dataset.

    Args:
        responses: what `read_responses` read, or what it reads.
        gold: the right answers, as `baseline` takes them.
        dataset: a dataset's name, the YAML declaration of one of your own, or a declaration.
        gold_column: the column of the right answers, where its name does not tell.
        choice: whether answers are a choice among labels; by default a choice up to five labels.
        repeats: what happens to an annotator's second, different answer to an item.

    Raises:
        UsageError: an argument does not fit the others or the data.
        InputError: a file cannot be read.
        DataError: an annotator contradicts themselves and `repeats` refuses it.
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
