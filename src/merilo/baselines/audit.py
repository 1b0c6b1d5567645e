"""An audit as a table for review and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import polars as pl

from merilo.atomic_write import guarded
from merilo.baselines.pipeline import Baseline
from merilo.baselines.provenance import Provenance
from merilo.metrics.score import Score
from merilo.people.audit.findings import NONE_OF_THESE, VERDICTS, Audit, Finding, GivenAnswer, StudyAudit
from merilo.people.audit.revision import COLUMN
from merilo.records import rounded
from merilo.responses import INPUT_MARK
from merilo.strict_json import Json

#: Prefix of input fields in column names, as platforms write it, so that fields do not clash with other columns.
_INPUT: Final = "INPUT:"

#: The number of findings in a baseline's summary; `merilo audit` lists all.
MOST_FINDINGS: Final = 20

#: Gold answers with a lower probability of being wrong are not shown on the terminal or in the report.
LEAST_PROBABLE: Final = 0.05

#: Russian texts of the verdicts; `VERDICTS` has the English texts.
VERDICTS_RU: Final = {
    "gold": "эталонный ответ, вероятно, неверен: прочитайте этот вопрос в первую очередь",
    "typing_error": "все остальные ответы — опечатки",
    "annotator": "остальные ответы дали разметчики, которые и на других вопросах расходятся с большинством",
    "disagreement": "разошлись разметчики, которые на других вопросах отвечают как большинство: вопрос труден, неоднозначен или содержит ошибку",
}


def findings_table(study: StudyAudit) -> pl.DataFrame:
    """Return the table of items with an answer that differs from the gold, most probably wrong gold first.

    Args:
        study: the audit.

    Returns:
        Columns `rank`, `item`, `id`, `control`, `INPUT:...`, `gold`, `gold_wrong` (probability), `best` (the most
        probable
        truth, or `NONE_OF_THESE`), `best_probability`, `error_chance`, `verdict`, `answers` (counted), `people` (the
        annotators who gave each answer), `typing_errors`, and `revised_gold`, which is empty and is filled in by the
        reviewer. Text that a spreadsheet would run as a formula is prefixed with an apostrophe.
    """
    rows = [
        {**_row(rank, one, study), "gold": one.gold, "gold_wrong": rounded(one.gold_wrong), COLUMN: None}
        for rank, one in enumerate(study.audit.findings, start=1)
    ]
    return _table(rows, study, ("gold", pl.String), ("gold_wrong", pl.Float64), last=((COLUMN, pl.String),))


def contested_table(study: StudyAudit) -> pl.DataFrame:
    """Return the items without gold on which annotators disagree, least certain first.

    Args:
        study: the audit.

    Returns:
        Columns as in `findings_table`, without `gold`, `gold_wrong` and `revised_gold`.
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
        "best": pl.String,
        "best_probability": pl.Float64,
        "error_chance": pl.Float64,
        "verdict": pl.String,
        "answers": pl.String,
        "people": pl.String,
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


def audit_summary(
    study: StudyAudit, before: Baseline, after: Baseline | None, revised: int, provenance: Provenance
) -> dict[str, Json]:
    """Summarise an audit as one JSON object.

    Args:
        study: the audit, computed with the revised gold answers if there are any.
        before: the baseline with the original gold answers.
        after: the baseline with the revised gold answers; `None` if none was revised.
        revised: how many gold answers were revised.
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
        "expected_wrong_golds": rounded(found.expected_wrong),
        "review_first": found.to_review(0.9),
        "verdicts": dict(sorted(Counter(one.verdict for one in found.findings).items())),
        "typing_errors": dict(found.typing_errors),
        "model": {
            "gold_error_rate": rounded(model.gold_error_rate),
            "converged": model.converged,
            "iterations": len(model.log_posterior),
            "log_posterior": rounded(model.log_posterior[-1]),
        },
        "findings": [_finding(one, study) for one in found.findings],
        "contested": [_finding(one, study) for one in found.contested],
        "rescored": None
        if after is None
        else {"revised": revised, "before": _scores(before.scores), "after": _scores(after.scores)},
        "provenance": provenance.to_json(),
    }


def audit_in_short(study: StudyAudit, most: int = MOST_FINDINGS) -> dict[str, Json]:
    """Summarise the audit for a baseline: how many gold answers are probably wrong, and the first findings.

    Args:
        study: the audit.
        most: the maximum number of findings.
    """
    found = study.audit
    return {
        "golds": found.golds,
        "expected_wrong_golds": rounded(found.expected_wrong),
        "findings_total": len(found.findings),
        "verdicts": dict(sorted(Counter(one.verdict for one in found.findings).items())),
        "typing_errors": dict(found.typing_errors),
        "findings": [_finding(one, study) for one in found.findings[:most]],
    }


@dataclass(frozen=True, slots=True)
class DoubtfulGold:
    """An item with a doubtful gold answer, as a line of the report in both languages."""

    number: int
    text: str
    finding: Finding
    answers: str
    en: str
    ru: str


def suspect_golds(found: Audit) -> list[Finding]:
    """Return the findings whose gold is wrong with a probability of at least 0.05; none if the audit recommends no list.

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
            en=VERDICTS[one.verdict],
            ru=VERDICTS_RU[one.verdict],
        )
        for one in suspect_golds(study.audit)
    ]


def _finding(finding: Finding, study: StudyAudit) -> dict[str, Json]:
    number = study.numbers[finding.item]
    return {
        "item": number,
        "id": study.ids.get(number),
        "control": number in study.controls,
        "inputs": dict(study.inputs[number]),
        "gold": finding.gold,
        "gold_wrong": rounded(finding.gold_wrong),
        "best": finding.best,
        "none_of_these": finding.best is None,
        "best_probability": rounded(finding.best_probability),
        "error_chance": rounded(finding.error_chance),
        "verdict": finding.verdict,
        "answers": [_answer(one) for one in finding.answers],
    }


def _answer(one: GivenAnswer) -> dict[str, Json]:
    return {
        "annotator": one.annotator,
        "answer": one.answer,
        "agreement_elsewhere": rounded(one.elsewhere),
        "agrees_elsewhere": one.agrees_elsewhere,
        "accuracy": rounded(one.accuracy),
        "typing_error": one.typing_error,
    }


def _scores(scores: dict[str, Score]) -> dict[str, Json]:
    return {
        name: {
            "value": rounded(score.value),
            "ci95": [score.interval.low, score.interval.high] if score.interval else None,
            "n": score.n,
        }
        for name, score in scores.items()
    }
