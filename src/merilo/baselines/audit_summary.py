"""The summary of an audit as JSON: in a baseline, and of every finding."""

from __future__ import annotations

from collections import Counter
from typing import Final

from merilo.people.audit.findings import Audit, Finding, GivenAnswer, StudyAudit
from merilo.records import rounded
from merilo.strict_json import Json

#: The number of findings in a baseline's summary; `merilo audit` lists all.
MOST_FINDINGS: Final = 20


def wrong_golds_json(found: Audit) -> dict[str, Json]:
    """Return the expected number of wrong golds and its range."""
    bounds = found.wrong_golds
    return {
        "expected_wrong_golds": None if found.expected_wrong is None else rounded(found.expected_wrong),
        "wrong_golds_range": [bounds.low, bounds.high] if bounds else None,
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
        **wrong_golds_json(found),
        "findings_total": len(found.findings),
        "verdicts": dict(sorted(Counter(one.verdict for one in found.findings).items())),
        "typing_errors": dict(found.typing_errors),
        "findings": [finding_json(one, study) for one in found.findings[:most]],
    }


def finding_json(finding: Finding, study: StudyAudit) -> dict[str, Json]:
    """Return a finding as JSON."""
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
        **(
            {"people_wrong": rounded(finding.people_wrong), "models": dict(finding.models)}
            if study.audit.joint
            else {}
        ),
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
