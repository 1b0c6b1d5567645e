"""The audit of a dataset: gold answers that are probably wrong, as a table for review and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from merilo.atomic_write import guarded
from merilo.baselines import pipeline
from merilo.baselines.audit_summary import finding_json, wrong_golds_json
from merilo.baselines.baseline_reader import stored_baseline_of
from merilo.baselines.consensus_scorer import settings_for
from merilo.baselines.model_answers import log_file, read_model, run_file
from merilo.baselines.pipeline import Baseline
from merilo.baselines.provenance import Provenance
from merilo.baselines.study_input import GoldSource, SkillSource, recoding_inputs, study_input
from merilo.datasets import Dataset
from merilo.datasets import dataset as find_dataset
from merilo.errors import DataError, UsageError, argument
from merilo.metrics.score import Score
from merilo.people.audit.decisions import COLUMN, DECISION_COLUMN, GoldDecisions, read_decisions, recode_gold
from merilo.people.audit.findings import (
    FEWEST_EXPECTED,
    NONE_OF_THESE,
    Audit,
    AuditModels,
    Finding,
    StudyAudit,
    agreement_in,
    audit_study,
)
from merilo.people.reading import Source, read_responses
from merilo.records import rounded, save_result
from merilo.responses import INPUT_MARK, Responses
from merilo.settings import DEFAULTS, Settings
from merilo.strict_json import Json
from merilo.text import Text
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
        decisions: the decisions about the gold answers; `None` if none were given.
        provenance: how the audit was computed.
        inputs: the files that were read.
    """

    details: StudyAudit
    before: Baseline
    after: Baseline | None
    decisions: GoldDecisions | None
    provenance: Provenance
    inputs: tuple[Path, ...]

    @property
    def findings(self) -> pl.DataFrame:
        """Return the items with an answer that differs from the gold, most probably wrong gold first.

        `audit.csv` has the same order.
        """
        return findings_table(self.details)

    @property
    def contested(self) -> pl.DataFrame:
        """Return the items without gold on which annotators disagree, least certain first."""
        return contested_table(self.details)

    def to_dict(self) -> dict[str, Json]:
        """Return the audit as JSON, as `merilo audit --json` prints it."""
        return audit_summary(self.details, self.before, self.after, self.decisions, self.provenance)

    def save(
        self, folder: str | Path, *, force: bool = False, pages: Mapping[str, str] | None = None
    ) -> dict[str, Json]:
        """Write the folder of the audit: `audit.csv`, `contested.csv` and `audit.json`.

        Args:
            folder: a new folder.
            force: replace an existing one.
            pages: mapping from a further file's name to its text; `merilo audit --out` adds the page for deciding.

        Returns:
            The audit as JSON.

        Raises:
            OutputError: the folder exists and `force` is not given, or it contains an input file of the audit.
        """
        tables = {
            "audit.csv": self.findings,
            "contested.csv": self.contested if self.details.audit.contested else None,
        }
        return save_result(
            folder, "audit.json", self.to_dict(), tables, pages, force=force, needed=self.inputs
        )

    def __repr__(self) -> str:
        found = self.details.audit
        return (
            f"<{found.golds} golds: {len(found.findings)} with answers against them; "
            f"{len(found.contested)} contested items>"
        )


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
    models: Sequence[str | Path] = (),
    families: Mapping[str, str] | None = None,
    settings: Settings | None = None,
    **chosen: object,
) -> AuditResult:
    """Find the items whose gold is probably wrong, and distinguish typing errors from errors of the dataset.

    Args:
        responses: the result of `read_responses`, or any source that it accepts.
        gold: the gold answers, in any form that `baseline` accepts.
        dataset: a dataset's name, the path of a YAML declaration, or a declaration object.
        gold_column: the column of the gold answers, if it cannot be found by name.
        revised: a file of items with a new gold, such as a filled-in `audit.csv`; the baseline is then also
            computed with the new gold answers.
        skills: the platform's skills of annotators, in any form that `baseline` accepts.
        others: exports of other datasets that the same annotators answered, one dataset each; an annotator's
            agreement with the others is then judged on these datasets too.
        choice: whether answers are a choice among labels; by default, true for up to five labels.
        models: files of models' answers, or folders of runs; their answers and those of people are then weighed
            together.
        families: model (its name or its file as given) -> the name of its family; models of a family never count as
            independent. By default, families are estimated from shared errors.
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
        read_decisions(
            new_golds,
            study.responses,
            known,
            origin.encoding if origin else None,
            labels=settings.labels or (),
        )
        if new_golds
        else None
    )
    if changes:
        audited, known = recode_gold(before.responses, known, changes)
        after = pipeline.baseline(audited, settings, dataset=declared, gold=known, skills=study.skills)
    closed = True if settings.labels else None
    closed = closed if choice is None else choice
    answered = [run_file(Path(one), settings.dataset) for one in models]
    audit_models = _models(models, answered, families or {}, after or before)
    elsewhere = agreement_in(read_responses(path) for path in others)
    people = set(before.responses.table["respondent"].unique())
    if others and not people & elsewhere.keys():
        raise DataError(
            f"no annotator of this study stands in {listed([shown(path) for path in others])}; "
            "annotators are matched by their ids"
        )
    # Revised known answers of controls are other labels, so the votes are then encoded again.
    details = audit_study(
        audited,
        known,
        choice=closed,
        encoding=None if changes else before.pool.everyone,
        others=elsewhere,
        models=audit_models,
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
    related: list[Json] = [f"{name}={run}" for run, name in (families or {}).items()]
    asked: list[Json] = [shown(path) for path in answered]
    flags: dict[str, Json] = {"other": other_files, "model": asked, "family": related}
    if choice is not None:
        flags["choice" if choice else "open"] = True
    new_files = [*([new_golds] if new_golds else []), *answered]
    files = (*study.files, *new_files, *recoding_inputs(origin), *map(Path, others))
    made = study.provenance(
        "audit",
        {
            **options,
            "others": other_files,
            "choice": choice,
            "models": asked,
            "families": related,
        },
        DEFAULTS,
        inputs=files,
        flags={**options, **flags},
    )
    return AuditResult(details, before, after, changes, made, files)


def _models(
    given: Sequence[str | Path], files: Sequence[Path], families: Mapping[str, str], baseline: Baseline
) -> AuditModels | None:
    """Read the answers of models, by the items' numbers; of several samples of an answer the most frequent counts."""
    if not given:
        if families:
            raise UsageError(f"{argument('family')} needs {argument('model', 'FILE')}")
        return None
    if baseline.gold is None or baseline.declaration.judged:
        raise UsageError(
            f"{argument('model')} is weighed against gold answers, and none are known: give {argument('gold', 'FILE')}"
        )
    crowd = stored_baseline_of(baseline)
    number = dict(zip(crowd.names, crowd.numbers, strict=True))
    answers: dict[str, dict[int, str]] = {}
    named: dict[str, str] = {}
    left = dict(families)
    for path, file in zip(given, files, strict=True):
        found = read_model(log_file(file, crowd), crowd)
        if files.count(file) > 1:
            raise UsageError(f"{argument('model')} names {shown(path)} twice")
        name = found.model if found.model not in answers else str(path)
        answers[name] = {
            number[item]: Counter(one).most_common(1)[0][0]
            for item, one in found.answers.items()
            if item in number
        }
        if not answers[name]:
            raise DataError("answers no item of this study", file=file)
        for key in (found.model, str(path), Path(path).name, Path(path).stem):
            if key in left:
                named[name] = left.pop(key)
    if left:
        raise UsageError(
            f"{argument('family')}: there is no model '{next(iter(left))}' ({listed([*answers])})"
        )
    return AuditModels(answers, named)


#: Prefix of input fields in column names, as platforms write it, so that fields do not clash with other columns.
_INPUT: Final = "INPUT:"

#: Gold answers with a lower probability of being wrong are not shown on the terminal or in the report.
LEAST_PROBABLE: Final = 0.05


def findings_table(study: StudyAudit) -> pl.DataFrame:
    """Return the table of items with an answer that differs from the gold, most probably wrong gold first.

    Args:
        study: the audit.

    Returns:
        Columns `rank`, `item`, `id`, `control`, `INPUT:...`, `gold`, `gold_wrong` (probability), `best` (the most
        probable truth, or `NONE_OF_THESE`), `best_probability`, `error_chance`, `verdict`, `answers` (counted),
        `people` (the annotators who gave each answer), `typing_errors`, and `decision` (wrong, ambiguous or fine) and
        `revised_gold`, which are empty and are filled in by the reviewer. Text that a spreadsheet would run as a
        formula is prefixed with an apostrophe.
    """
    rows = [
        {**_row(rank, one, study), "gold": one.gold, "gold_wrong": rounded(one.gold_wrong)}
        for rank, one in enumerate(study.audit.findings, start=1)
    ]
    return _table(
        rows,
        study,
        ("gold", pl.String),
        ("gold_wrong", pl.Float64),
        last=((DECISION_COLUMN, pl.String), (COLUMN, pl.String)),
    )


def contested_table(study: StudyAudit) -> pl.DataFrame:
    """Return the items without gold on which annotators disagree, least certain first.

    Args:
        study: the audit.

    Returns:
        Columns as in `findings_table`, without `gold`, `gold_wrong`, `decision` and `revised_gold`.
    """
    return _table([_row(rank, one, study) for rank, one in enumerate(study.audit.contested, start=1)], study)


def _row(rank: int, finding: Finding, study: StudyAudit) -> dict[str, object]:
    number = study.numbers[finding.item]
    return {
        "rank": rank,
        "item": number,
        "id": study.ids.get(number),
        "control": number in study.controls,
        **{_shown(name): text for name, text in study.inputs[number].items()},
        "best": finding.best if finding.best is not None else NONE_OF_THESE,
        "best_probability": rounded(finding.best_probability),
        "error_chance": rounded(finding.error_chance),
        "verdict": finding.verdict,
        "answers": tally(finding),
        "people": "; ".join(f"{one.annotator}: {one.answer}" for one in finding.answers),
        **(
            {"models": model_answers(finding), "people_wrong": rounded(finding.people_wrong)}
            if study.audit.joint
            else {}
        ),
        "typing_errors": "; ".join(
            f"{one.answer}: {one.typing_error}" for one in finding.answers if one.typing_error
        ),
    }


def _table(
    rows: list[dict[str, object]],
    study: StudyAudit,
    *gold: tuple[str, type[pl.DataType]],
    last: Iterable[tuple[str, type[pl.DataType]]] = (),
) -> pl.DataFrame:
    fields = next(iter(study.inputs.values()), {})
    schema: dict[str, type[pl.DataType]] = {
        "rank": pl.Int64,
        "item": pl.Int64,
        "id": pl.String,
        "control": pl.Boolean,
        **{_shown(name): pl.String for name in fields},
        **dict(gold),
        **({"people_wrong": pl.Float64} if study.audit.joint and gold else {}),
        "best": pl.String,
        "best_probability": pl.Float64,
        "error_chance": pl.Float64,
        "verdict": pl.String,
        "answers": pl.String,
        "people": pl.String,
        **({"models": pl.String} if study.audit.joint else {}),
        "typing_errors": pl.String,
        **dict(last),
    }
    return guarded(pl.DataFrame(rows, schema=schema))


def _shown(field: str) -> str:
    """Return the column name of an input field, with the prefix that keeps it apart from other columns."""
    return f"{_INPUT}{field.removeprefix(INPUT_MARK)}"


def tally(finding: Finding) -> str:
    """Format the answers of a finding with their counts: `12: 3; 21: 2`."""
    counts = Counter(one.answer for one in finding.answers)
    return "; ".join(f"{answer}: {n}" for answer, n in counts.items())


def model_answers(finding: Finding) -> str:
    """Format the models' answers to the item of a finding: `12: GPT, Llama; 21: Qwen`."""
    answers = sorted(set(finding.models.values()), key=lambda one: -Counter(finding.models.values())[one])
    return "; ".join(
        f"{answer}: {', '.join(name for name, given in finding.models.items() if given == answer)}"
        for answer in answers
    )


def audited_models(found: Audit) -> list[dict[str, Json]]:
    """Return what was estimated about each model; empty without models.

    Args:
        found: the audit.
    """
    joint = found.joint
    if joint is None:
        return []
    return [
        {
            "model": name,
            "family": joint.family[place],
            "counts_as": rounded(float(joint.weight[place])),
            "accuracy": rounded(float(joint.accuracy[place])),
            "repeats_gold": rounded(float(joint.copied[place])),
        }
        for place, name in enumerate(joint.names)
    ]


def audit_summary(
    study: StudyAudit,
    before: Baseline,
    after: Baseline | None,
    decisions: GoldDecisions | None,
    provenance: Provenance,
) -> dict[str, Json]:
    """Summarise an audit as one JSON object.

    Args:
        study: the audit, computed with the revised gold answers if there are any.
        before: the baseline with the original gold answers.
        after: the baseline with the revised gold answers; `None` if none was revised.
        decisions: the decisions about the gold answers.
        provenance: the provenance of the audit.
    """
    found = study.audit
    model = found.model
    return {
        "dataset": before.settings.dataset,
        "items": found.items,
        "golds": found.golds,
        "findings_total": len(found.findings),
        "contested_total": len(found.contested),
        **wrong_golds_json(found),
        "review_first": found.to_review(0.9),
        "verdicts": dict(sorted(Counter(one.verdict for one in found.findings).items())),
        "typing_errors": dict(found.typing_errors),
        "model": {
            "gold_error_rate": rounded(model.gold_error_rate),
            "converged": model.converged,
            "iterations": len(model.log_posterior),
            "log_posterior": rounded(model.log_posterior[-1]),
        },
        **({"models": [*audited_models(found)]} if found.joint else {}),
        "findings": [finding_json(one, study) for one in found.findings],
        "contested": [finding_json(one, study) for one in found.contested],
        "rescored": None
        if after is None or decisions is None
        else {
            "revised": len(decisions.revised),
            "dropped": len(decisions.dropped),
            "before": _scores(before.scores),
            "after": _scores(after.scores),
        },
        "provenance": provenance.to_json(),
    }


def number_of_wrong_golds(found: Audit) -> Text:
    """Describe the range of the number of wrong golds, or why there is none.

    Args:
        found: the audit of a study with gold.
    """
    bounds = found.wrong_golds
    if bounds is None:
        return Text(
            "The number of wrong golds cannot be estimated: the answers do not exclude that half of the "
            "{golds} golds are wrong.",
            golds=found.golds,
        )
    if bounds.low == 0 and bounds.high and found.probable >= FEWEST_EXPECTED:
        return Text(
            "Wrong golds: 0 to {high} of {golds}. It may be 0, because wrong answers that attract many people "
            "would explain these answers too.",
            high=bounds.high,
            golds=found.golds,
        )
    return Text(
        "Wrong golds: {low} to {high} of {golds}.", low=bounds.low, high=bounds.high, golds=found.golds
    )


@dataclass(frozen=True, slots=True)
class DoubtfulGold:
    """An item with a doubtful gold answer, as a line of the report."""

    number: int
    text: str
    finding: Finding
    answers: str


def suspect_golds(found: Audit) -> list[Finding]:
    """Return the findings whose gold is wrong with a probability of at least 0.05.

    None if the audit recommends no list.

    Args:
        found: the audit.
    """
    return [one for one in found.findings if one.gold_wrong >= LEAST_PROBABLE] if found.to_review() else []


def doubtful_golds(study: StudyAudit) -> list[DoubtfulGold]:
    """Return the items to read first, the most probably wrong gold first; see `suspect_golds`.

    Args:
        study: the audit.
    """
    return [
        DoubtfulGold(
            number=(number := study.numbers[one.item]),
            text=" · ".join(text for text in study.inputs[number].values() if text),
            finding=one,
            answers=tally(one),
        )
        for one in suspect_golds(study.audit)
    ]


def _scores(scores: dict[str, Score]) -> dict[str, Json]:
    return {
        name: {
            "value": rounded(score.value),
            "ci95": [score.interval.low, score.interval.high] if score.interval else None,
            "n": score.n,
        }
        for name, score in scores.items()
    }
