"""The human figures reach the metadata under the file's own names, and no other value of the file changes."""

import json
from typing import Any

import pytest
from every import every

from merilo.baselines.baseline import Baseline
from merilo.errors import DataError, InputError
from merilo.reports.dataset_card import (
    display_names,
    human_values,
    metadata_with_human_benchmark,
)

LCS = {"acc": 0.5612349}


META = """{
    "dataset_name": "lcs",
    "description": "Строки: \\u0430, \\/ и \\"б\\"",
    "data_example": {"inputs": "AB  CD",
         "outputs": 1.50},
    "metrics": {
        "Accuracy": "default", "chrf": {"en": "chrF", "ru": "chrF"}
    },%s
    "prompts": {"task_context": {"formal": ["{inputs}"]}}
}
"""


@every(
    "before", ['"human_benchmark": {"chrf": 0.3, "Accuracy": 0.1},', '"human_benchmark": {"chrf": 0.3},', ""]
)
def test_the_value_is_set_in_its_place_and_nothing_else_changes(before: str) -> None:
    known = json.loads(META % before)
    raw = b"\xef\xbb\xbf" + (META % before).replace("\n", "\r\n").encode()
    edited = metadata_with_human_benchmark(raw, LCS)
    assert json.loads(edited) == known | {
        "human_benchmark": {**known.get("human_benchmark", {}), "Accuracy": 0.5612}
    }
    assert [*json.loads(edited)] == [*known | {"human_benchmark": 0}]
    assert "Строки: а".encode() in edited


@every(
    ("computed", "displayed", "expected"),
    [
        (["acc"], ["acc"], {"acc": "acc"}),
        (["f1", "em"], ["Exact match", "F1"], {"f1": "F1", "em": "Exact match"}),
        (["f1", "em"], ["EM", "f1-score"], {"f1": "f1-score", "em": "EM"}),
        (["acc", "f1_macro"], ["F1 macro", "Accuracy"], {"acc": "Accuracy", "f1_macro": "F1 macro"}),
        (["em"], ["Accuracy"], {"em": "Accuracy"}),
        (["em", "acc"], ["Accuracy"], {"acc": "Accuracy"}),
        (["f1", "f1_macro"], ["F1"], {"f1": "F1"}),
        (["pass@1", "pass@10"], ["pass@10", "pass@1"], {"pass@1": "pass@1", "pass@10": "pass@10"}),
        (["acc"], ["Group Exact match", "Slots F1"], {}),
        (["correct.virtue"], ["Correct virtue"], {"correct.virtue": "Correct virtue"}),
        (["grade_norm"], ["Grade Norm"], {"grade_norm": "Grade Norm"}),
        (["j"], ["J = STA * SIM * FL"], {"j": "J = STA * SIM * FL"}),
    ],
)
def test_metrics_are_found_under_the_names_of_cards(
    computed: list[str], displayed: list[str], expected: dict[str, str]
) -> None:
    assert display_names(computed, displayed) == expected


def test_a_file_without_the_metrics_is_named() -> None:
    text = (META % "").replace("Accuracy", "Share of right lengths")
    with pytest.raises(
        DataError, match=r"metrics: none of the baseline's metrics \(acc\) is among the file's"
    ):
        metadata_with_human_benchmark(text.encode(), LCS)


@every(
    ("content", "message"),
    [
        ({"status": "rejected"}, "the baseline is rejected"),
        ({"findings": [{"code": "simulated", "sentence": "simulated"}]}, "the annotators are simulated"),
        ({"human_benchmark": None}, "the baseline has no metric"),
        ({"human_benchmark": {"metrics": {"acc": {"value": None, "n": 0}}}}, "the baseline has no metric"),
    ],
)
def test_a_value_that_must_not_be_published_is_not_written(content: dict[str, Any], message: str) -> None:
    known = {"status": "accepted", "human_benchmark": {"metrics": {"acc": {"value": 0.5, "n": 9}}}}
    assert human_values(Baseline.of_json(known)) == {"acc": 0.5}
    with pytest.raises(DataError, match=message):
        human_values(Baseline.of_json({**known, **content}))


@pytest.mark.parametrize("raw", [b"", b"{", b'{"a": 1, "a": 2}', b"\xff"])
def test_a_file_that_is_not_json_is_refused_with_its_name(raw: bytes) -> None:
    with pytest.raises(InputError, match=r"raw_dataset_meta\.json: is not"):
        metadata_with_human_benchmark(raw, LCS)
