"""Pseudonyms of annotators, and a baseline without their ids."""

from pathlib import Path

import pytest
from exports import written
from hypothesis import given
from hypothesis import strategies as st

from merilo.errors import UsageError
from merilo.people import pseudonyms as module
from merilo.people.pseudonyms import PREFIX, key_of, pseudonyms
from merilo.people.simulation import SIMULATED_PREFIX

KEY = b"the study's own"


@given(st.lists(st.text(max_size=5), unique=True, max_size=40), st.randoms())
def test_every_id_has_one_pseudonym_whatever_the_order(ids: list[str], random: object) -> None:
    names = pseudonyms(ids, KEY)
    assert set(names) == set(ids)
    assert len(set(names.values())) == len(ids)
    assert pseudonyms(reversed(ids), KEY) == names


def test_who_joins_later_changes_no_other_pseudonym() -> None:
    few, many = pseudonyms(["a", "b"], KEY), pseudonyms(["a", "b", "c"], KEY)
    assert {one: many[one] for one in few} == few


def test_another_key_gives_other_pseudonyms() -> None:
    assert pseudonyms(["1"], KEY) != pseudonyms(["1"], b"of another study")
    for key in (b"", b"x" * 65):
        with pytest.raises(UsageError):
            pseudonyms(["1"], key)


def test_ids_that_would_share_a_pseudonym_get_longer_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_DIGITS", 1)
    ids = [str(n) for n in range(100)]
    names = pseudonyms(ids, KEY)
    assert len(set(names.values())) == 100
    assert {len(name) for name in names.values()} - {len(PREFIX) + 1}


def test_simulated_annotators_stay_known_as_such() -> None:
    assert pseudonyms([f"{SIMULATED_PREFIX}careful-01"], KEY).popitem()[1].startswith(SIMULATED_PREFIX)


def test_a_key_follows_from_the_files_content_alone(tmp_path: Path) -> None:
    one, two = written(tmp_path / "a.tsv", "a"), written(tmp_path / "b.tsv", "b")
    assert key_of([one, two]) == key_of([two, one])
    moved = written(tmp_path / "c.tsv", "a")
    assert key_of([moved, two]) == key_of([one, two])
    assert key_of([one]) != key_of([two])
