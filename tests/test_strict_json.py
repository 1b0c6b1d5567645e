"""JSON that is read strictly."""

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_values import JSON

from merilo.errors import InputError
from merilo.strict_json import Json, indented, parse_json, read_json


def test_a_key_that_stands_twice_is_found_in_one_pass() -> None:
    keys = [*range(300_000), 299_999, 7]
    # Counting each key would take hours here, so a search that is not linear never ends this test.
    with pytest.raises(InputError, match="the key '299999' occurs twice"):
        parse_json("{" + ", ".join(f'"{key}": 0' for key in keys) + "}", file="hostile.json")


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "marked.json").write_bytes(b"\xef\xbb\xbf[1]")
    assert read_json(tmp_path / "marked.json") == [1]


@given(JSON)
def test_strict_parsing_reads_all_that_is_json(value: Json) -> None:
    assert parse_json(json.dumps(value), file="f") == value


@given(st.text(max_size=40))
def test_any_text_is_json_or_refused_with_a_sentence(text: str) -> None:
    with suppress(InputError):
        parse_json(text, file="f")


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_json_cannot_say_is_not_written(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        indented({"a": [number]})
