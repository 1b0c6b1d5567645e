"""The raw files of a study hold all that its baseline is computed from, without loss."""

from dataclasses import fields
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import merilo
from merilo.atomic_write import guarded, guarded_text, unguarded, unguarded_text, write_files
from merilo.baselines.raw_files import raw_files, read_raw
from merilo.baselines.study_input import StudyInput
from merilo.errors import InputError
from merilo.people.pseudonyms import PREFIX
from merilo.responses import Responses
from merilo.settings import Settings

ANSWERS = pl.DataFrame(
    {
        "task": ["one", "one", "one", '=2+"2"', '=2+"2"', '=2+"2"', "'=3", "'=3", "'=3"],
        "worker": [*"abcabcabc"],
        "label": ["y", "n", "y", "n", "n", "n", "-x", "-x", "'-x"],
        "seconds": ["1.5", "2", "3", "4", "5", "6", "7", "8", "0.1"],
    }
)
GOLD = {"one": "y", '=2+"2"': "n", "'=3": "-x"}


def saved(tmp_path: Path) -> Path:
    merilo.baseline(ANSWERS, gold=GOLD, skills={"a": 90.0, "b": 12.5}).save(tmp_path / "base")
    return tmp_path / "base" / "raw"


@given(
    st.lists(
        st.text(
            alphabet="'=+-@\t\r\n ax10.,eE\N{MINUS SIGN}\N{FULLWIDTH EQUALS SIGN}\N{NO-BREAK SPACE}",
            max_size=6,
        )
    )
)
def test_a_text_that_looks_like_a_formula_is_restored_exactly(texts: list[str]) -> None:
    table = pl.DataFrame({"a": texts}, schema={"a": pl.String})
    assert_frame_equal(unguarded(guarded(table)), table)
    assert guarded(table)["a"].to_list() == [guarded_text(text) for text in texts]
    assert [unguarded_text(guarded_text(text)) for text in texts] == texts


def test_the_raw_answers_are_restored_exactly(tmp_path: Path) -> None:
    found, _ = read_raw(saved(tmp_path))
    given = merilo.read_responses(ANSWERS)
    for name in ("item", "answer", "control", "is_control", "started", "page_seconds", "row"):
        assert found.responses.table[name].to_list() == given.table[name].to_list()
    assert_frame_equal(found.responses.items, given.items)
    assert found.gold is not None
    assert found.gold.answers["gold"].to_list() == ["y", "n", "-x"]


def test_annotators_have_pseudonyms_in_every_file(tmp_path: Path) -> None:
    table = ANSWERS.with_columns(worker="platform-id-" + pl.col("worker"))
    skills = {"platform-id-a": 90.0, "platform-id-b": 12.5}
    merilo.baseline(table, gold=GOLD, skills=skills).save(tmp_path / "base")
    found, _ = read_raw(tmp_path / "base" / "raw")
    assert found.responses.table["respondent"].str.starts_with(PREFIX).all()
    assert sorted(found.skills["skill"]) == [12.5, 90.0]
    texts = [path.read_text() for path in (tmp_path / "base" / "raw").iterdir()]
    assert len(texts) == 6
    assert not [text for text in texts if "platform-id" in text]


def test_all_that_reading_found_is_kept(tmp_path: Path) -> None:
    given = Responses(
        merilo.read_responses(ANSWERS).table,
        merilo.read_responses(ANSWERS).items,
        rows_read=12,
        dropped={"empty_answer": 3},
        currency="USD",
        renamed={"Y": "y"},
        lost_pages=pl.DataFrame({"page_reward": [0.5, None], "page_seconds": [10.0, 2.5]}),
    )
    write_files(tmp_path, raw_files(StudyInput(responses=given), Settings(min_votes=2, by=("domain",))))
    found, settings = read_raw(tmp_path)
    assert settings == Settings(min_votes=2, by=("domain",))
    for one in fields(Responses):
        ours, theirs = getattr(found.responses, one.name), getattr(given, one.name)
        if isinstance(theirs, pl.DataFrame):
            assert_frame_equal(ours, theirs)
        else:
            assert ours == theirs, one.name


def test_a_damaged_file_is_named_with_its_row_and_field(tmp_path: Path) -> None:
    raw = saved(tmp_path)
    path = raw / "responses.csv"
    text = path.read_text()
    path.write_text(text.replace(",7.0,", ",seven,"))
    with pytest.raises(
        InputError, match=r"responses\.csv: is not a table .* `seven` as dtype `f64` at column 'page_seconds'"
    ):
        read_raw(raw)
    path.write_text(text.replace("\n3,", "\n9,", 1))
    with pytest.raises(InputError, match=r"row 8, item: there is no item 9 in items\.csv"):
        read_raw(raw)
    path.unlink()
    with pytest.raises(InputError, match=r"responses\.csv: there is no such file"):
        read_raw(raw)


def test_a_wrong_setting_is_named(tmp_path: Path) -> None:
    raw = saved(tmp_path)
    path = raw / "settings.json"
    path.write_text(path.read_text().replace('"cascade"', '"guess"'))
    with pytest.raises(InputError, match=r"settings\.json, settings\.resolve: must be "):
        read_raw(raw)
    path.unlink()
    with pytest.raises(InputError, match=r"has no raw answers of a baseline: settings\.json is missing"):
        read_raw(raw)
