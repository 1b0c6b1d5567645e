"""The human figures reach the metadata under the file's own names, and no other byte of the file changes."""

import json
from typing import Any

import pytest
from every import every
from hypothesis import given
from hypothesis import strategies as st
from json_values import JSON

from merilo.baselines.baseline import Baseline
from merilo.errors import DataError, InputError
from merilo.reports.dataset_card import (
    _with_member,
    display_names,
    human_values,
    metadata_with_human_benchmark,
)

LCS = {"acc": 0.5612349}
STYLES = st.sampled_from(
    [{}, {"indent": 4}, {"indent": 2, "ensure_ascii": False}, {"separators": (",", ":")}, {"indent": "\t"}]
)
OBJECTS = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), JSON, max_size=4)


@given(OBJECTS, st.dictionaries(st.text("abc", max_size=2), st.floats(0, 1), min_size=1, max_size=3), STYLES)
def test_setting_a_member_gives_the_object_with_this_member(
    outer: dict[str, Any], values: dict[str, float], style: dict[str, Any]
) -> None:
    edited = json.loads(_with_member(json.dumps(outer, **style).encode(), "a", {**values}))
    assert edited == {**outer, "a": values}
    assert list(edited) == list({**outer, "a": values})


@given(OBJECTS, OBJECTS, STYLES, st.sampled_from(["", "\n", "\r\n", "  \n\n"]), st.booleans())
def test_every_byte_around_a_replaced_value_stays(
    before: dict[str, Any], behind: dict[str, Any], style: dict[str, Any], tail: str, bom: bool
) -> None:
    outer = {**before, "human": 123456789} | behind
    raw = b"\xef\xbb\xbf" * bom + (json.dumps(outer, **style) + tail).encode()
    assert _with_member(raw, "human", 987654321) == raw.replace(b"123456789", b"987654321")


@given(OBJECTS.filter(bool), STYLES)
def test_a_file_without_the_key_keeps_all_it_had_before_and_behind_the_new_member(
    outer: dict[str, Any], style: dict[str, Any]
) -> None:
    outer.pop("human", None)
    text = "\n" + json.dumps(outer or {"b": 1}, **style) + "\n"
    edited = _with_member(text.encode(), "human", {"x": 1}).decode()
    last = text.rstrip()[:-1].rstrip()
    assert edited.startswith(last)
    assert edited.endswith(text[len(last) :])


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


_LINES = '{\n        "Accuracy": 0.5612\n    }'


@every(
    ("before", "after"),
    [
        ('{"Accuracy": 0.1}', '{"Accuracy": 0.5612}'),
        ('{\n        "chrf": 0.3\n    }', '{\n        "chrf": 0.3,\n        "Accuracy": 0.5612\n    }'),
        ("{}", _LINES), ("null", _LINES), ('"TODO"', _LINES),
    ],
)  # fmt: skip
def test_an_existing_key_is_changed_in_its_place(before: str, after: str) -> None:
    raw, made = (META % f'\n    "human_benchmark": {value},' for value in (before, after))
    assert metadata_with_human_benchmark(raw.encode(), LCS).decode() == made


def test_line_ends_and_a_byte_order_mark_stay() -> None:
    raw = b"\xef\xbb\xbf" + (META % "").replace("\n", "\r\n").encode()
    made = metadata_with_human_benchmark(raw, LCS)
    assert made.startswith(b"\xef\xbb\xbf{\r\n")
    assert made.count(b"\n") == made.count(b"\r\n") == raw.count(b"\r\n") + 3


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
