"""JSON of a baseline and of an expert study, as the command line writes it, for the tests of reports."""

from typing import Any

from merilo.baselines.baseline import Baseline

CONTENT: dict[str, Any] = {
    "dataset": "lcs",
    "status": "accepted",
    "responses": {"total": 750, "control": 250, "used": 492},
    "annotators": {
        "total": 29, "used": 26, "with_controls": 28, "excluded": 3, "unjudged": 1,
    },
    "controls": {"total": 19},
    "items": {"total": 100, "consensus": 99, "overlap": {"5": 91, "4": 8, "3": 1}, "overlap_before_exclusion": {"5": 100}},
    "resolved_by": {
        "majority": 80, "unanimous": 21, "plurality": 26, "skill": 15, "top_skill": 0, "glad": 4, "unresolved": 1,
    },
    "metrics": {"acc": {"name": "acc", "value": 0.56, "n": 99, "people": 26, "ci95": [0.408397, 0.701179]}},
    "by_majority_alone": {"acc": {"name": "acc", "value": 0.703704, "n": 54, "people": 26, "ci95": [0.533, 0.831]}},
    "single_person": {"name": "acc", "value": 0.46, "n": 99, "people": 26, "ci95": [0.330729, 0.594887]},
    "agreement": {
        "krippendorff_alpha": 0.300137, "ci95": [0.225784, 0.37303], "low_agreement": 20, "max_low_agreement": 0.3,
        "votes_needed": {"3": 100}, "n": 492,
    },
    "cost": {
        "total": 7.25, "pages": 250, "hours": 8.439354, "hourly": 0.859071, "currency": "USD", "median_seconds_per_answer": 26.748,
    },
    "gold": {"source": "the solver of lcs"},
    "provenance": {"parameters": {"platform": "toloka", "aggregator": "majority", "resolve": "cascade", "min_control_accuracy": 0.5}},
}  # fmt: skip

STUDY: dict[str, Any] = {
    **CONTENT,
    "arm": "people",
    "arms": {
        "experts": {
            **CONTENT,
            "responses": {"total": 200, "control": 0, "used": 171, "dropped": {"may_be_mine": 21, "not_shown": 6, "late": 2}},
            "annotators": {"total": 8, "used": 8, "with_controls": 0, "excluded": 0, "min_control_accuracy": 0.5},
            "items": {"total": 40, "consensus": 39, "overlap": {"5": 11, "4": 29}, "overlap_before_exclusion": {"5": 11, "4": 29}},
            "metrics": {"acc": {"name": "acc", "value": 0.925, "ci95": [0.83, 0.99], "n": 40, "people": 8}},
            "by_majority_alone": {}, "single_person": None,
            "human_benchmark": {"items": "agreed", "metrics": {"acc": {"value": 0.95, "n": 38}}},
            "cost": {"total": 640.0, "currency": "USD", "pages": 171, "hours": 5.7, "hourly": 112.28},
        },
    },
    "differences": [
        {"name": "experts minus people: acc", "value": 0.342105, "ci95": [0.17, 0.5], "n": 38, "people": 34},
        {"name": "experts minus people: acc of one person", "value": 0.3, "ci95": [0.1, 0.5], "n": 38, "people": 34},
    ],
}  # fmt: skip


def record(content: dict[str, Any] = CONTENT, **changes: Any) -> Baseline:
    """The record of a baseline, with other values for some keys."""
    return Baseline.of_json({**content, **changes})
