"""`merilo.audit`: find gold answers of a dataset that are probably wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from merilo.api.baseline import DEFAULTS
from merilo.api.saved_folder import save_folder
from merilo.api.study_input import GoldSource, SkillSource, recoding_inputs, study_input
from merilo.baselines import pipeline
from merilo.baselines.audit import audit_summary, contested_table, findings_table
from merilo.baselines.declared import settings_for
from merilo.baselines.pipeline import Baseline
from merilo.baselines.provenance import Provenance
from merilo.datasets import Dataset
from merilo.datasets import dataset as find_dataset
from merilo.errors import DataError
from merilo.people.audit.findings import StudyAudit, agreement_in, audit_study
from merilo.people.audit.revision import read_revisions, revise
from merilo.people.reading import Source, read_responses
from merilo.responses import Responses
from merilo.settings import Settings
from merilo.strict_json import Json
from merilo.wording import listed, named, shown

#: The settings of a baseline that an audit takes.
_SETTINGS: Final = (
    "metric",
    "alternatives",
    "min_control_accuracy",
    "min_controls",
    "min_votes",
    "resolve",
    "repeats",
)


@dataclass(frozen=True, slots=True, repr=False)
class AuditResult:
    """The audit of a dataset.

    Attributes:
        details: the internal representation of the audit.
        before: the baseline with the original gold answers.
        after: the baseline with the revised gold answers; `None` if none was revised.
        revised: how many gold answers were revised.
        provenance: how the audit was computed.
        inputs: the files that were read.
    """

    details: StudyAudit
    before: Baseline
    after: Baseline | None
    revised: int
    provenance: Provenance
    inputs: tuple[Path, ...]

    @property
    def findings(self) -> pl.DataFrame:
        """Return the items with an answer that differs from the gold, most probably wrong gold first, as in `audit.csv`."""
        return findings_table(self.details)

    @property
    def contested(self) -> pl.DataFrame:
        """Return the items without gold on which annotators disagree, least certain first."""
        return contested_table(self.details)

    def to_dict(self) -> dict[str, Json]:
        """Return the audit as JSON, as `merilo audit --json` prints it."""
        return audit_summary(self.details, self.before, self.after, self.revised, self.provenance)

    def save(self, folder: str | Path, *, force: bool = False) -> dict[str, Json]:
        """Write the folder that `merilo audit --out` writes: `audit.csv`, `contested.csv` and `audit.json`.

        Args:
            folder: a new folder.
            force: replace an existing one.

        Returns:
            The audit as JSON.

        Raises:
            OutputError: the folder exists and `force` is not given, or it contains an input file of the audit.
        """
        tables = {
            "audit.csv": self.findings,
            "contested.csv": self.contested if self.details.audit.contested else None,
        }
        return save_folder(folder, "audit.json", self.to_dict(), tables, force=force, needed=self.inputs)

    def __repr__(self) -> str:
        found = self.details.audit
        return f"<{found.golds} golds: {len(found.findings)} with answers against them; {len(found.contested)} contested items>"


def audit(
    responses: Responses | Source,
    *,
    gold: GoldSource = None,
    dataset: str | Dataset | None = None,
    gold_column: str | None = None,
    revised: str | Path | None = None,
    skills: SkillSource = None,
    others: Sequence[str | Path] = (),
    choice: bool | None = None,
    settings: Settings | None = None,
    **chosen: object,
) -> AuditResult:
    """Find the items whose gold is probably wrong, and distinguish typing errors from errors of the dataset.

    Args:
        responses: the result of `read_responses`, or any source that it accepts.
        gold: the gold answers, in any form that `baseline` accepts.
        dataset: a dataset's name, the path of a YAML declaration, or a declaration object.
        gold_column: the column of the gold answers, if it cannot be found by name.
        revised: a file of items with a new gold, such as a filled-in `audit.csv`; the baseline is then also computed with
            the new gold answers.
        skills: the platform's skills of annotators, in any form that `baseline` accepts.
        others: exports of other datasets that the same annotators answered, one dataset each; an annotator's agreement with
            the others is then judged on these datasets too.
        choice: whether answers are a choice among labels; by default, true for up to five labels.
        settings: the settings of the baselines before and after revision; by default, the defaults of `Settings`.
        chosen: single settings by name, as in `baseline`.

    Raises:
        UsageError: an argument does not fit the others or the data.
        InputError: a file cannot be read.
        DataError: an annotator gave two different answers to an item and `repeats` forbids it, all annotators fail the
            control items, or the file of revised golds names an item that the study does not have.
    """
    declared = find_dataset(dataset) if isinstance(dataset, str) else dataset
    settings = settings_for(declared, Settings.of(chosen, settings))
    study = study_input(
        responses,
        declared,
        gold=gold,
        gold_column=gold_column,
        alternatives=settings.alternatives,
        skills=skills,
    )
    origin, known = study.origin, study.gold
    before = pipeline.baseline(study.responses, settings, dataset=declared, gold=known, skills=study.skills)
    after, audited = None, before.responses
    new_golds = Path(revised) if revised is not None else None
    changes = (
        read_revisions(new_golds, study.responses, known, origin.encoding if origin else None)
        if new_golds
        else {}
    )
    if changes:
        audited, known = revise(before.responses, known, changes)
        after = pipeline.baseline(audited, settings, dataset=declared, gold=known, skills=study.skills)
    closed = True if settings.labels else None
    elsewhere = agreement_in(read_responses(path) for path in others)
    people = set(before.responses.table["respondent"].unique())
    if others and not people & elsewhere.keys():
        raise DataError(
            f"no annotator of this study stands in {listed([shown(path) for path in others])}; annotators are matched by their ids"
        )
    # Revised known answers of controls are other labels, so the votes are then encoded again.
    details = audit_study(
        audited,
        known,
        choice=closed if choice is None else choice,
        encoding=None if changes else before.pool.everyone,
        others=elsewhere,
    )
    parameters = settings.parameters()
    options: dict[str, Json] = {
        **study.reading("platform"),
        "dataset": dataset if isinstance(dataset, str) else settings.dataset,
        "gold": study.gold_name,
        "gold_column": gold_column,
        "revised": named(new_golds),
        **study.reading("answer", "recode"),
        "skills": study.skills_name,
        **study.reading("encoding"),
        **{name: parameters[name] for name in _SETTINGS},
        **study.reading("item", "annotator", "control", "page"),
    }
    other_files: list[Json] = [named(Path(path)) for path in others]
    flags: dict[str, Json] = {"other": other_files} | (
        {} if choice is None else {"choice" if choice else "open": True}
    )
    files = (
        *study.files,
        *([new_golds] if new_golds else []),
        *recoding_inputs(origin),
        *map(Path, others),
    )
    made = study.provenance(
        "audit",
        {**options, "others": other_files, "choice": choice},
        DEFAULTS,
        inputs=files,
        flags={**options, **flags},
    )
    return AuditResult(details, before, after, len(changes), made, files)
