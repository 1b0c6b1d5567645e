"""Pseudonyms of annotators, and a baseline without their ids."""

import json
import shlex
from pathlib import Path

import pytest
from command import merilo
from exports import row, small_pool, toloka, written
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


def test_no_id_and_no_folder_is_left_in_an_anonymised_baseline(tmp_path: Path) -> None:
    rows = [
        tuple(field.replace("w", "worker-") if n in {3, 4} else field for n, field in enumerate(line))
        for line in small_pool()
    ]
    rows.append(row("q0", "B", "worker-9", golden="", reward="much"))
    pool = written(tmp_path / "secret folder" / "pool.tsv", toloka(rows))
    skills = written(
        tmp_path / "secret folder" / "skills.csv", "worker_id|skill_value\nworker-0|90\nworker-x|10\n"
    )
    gold = written(tmp_path / "secret folder" / "gold.csv", "question,gold\nq0,A\nq0,A\nq1,A\nq2,A\nq3,A\n")
    model = written(tmp_path / "secret folder" / "model.csv", "id,answer\n1,A\n2,A\n3,A\n4,A\n")
    out = tmp_path / "out"
    outcome = merilo(
        "baseline",
        pool,
        "--skills",
        skills,
        "--gold",
        gold,
        "--model",
        model,
        "--anonymise",
        "--out",
        out,
        "--json",
        "-",
    )
    assert outcome.status == 0, outcome.err
    for path in (*(path for path in out.rglob("*") if path.is_file()), None):
        content = path.read_bytes() if path else outcome.out.encode()
        assert b"worker-" not in content, path
        assert b"secret folder" not in content, path
        assert str(tmp_path).encode() not in content, path
    assert PREFIX in (out / "annotators.csv").read_text()
    assert shlex.split(outcome.json["provenance"]["command"])[:5] == [
        "merilo",
        "baseline",
        "pool.tsv",
        "--gold",
        "gold.csv",
    ]


def test_anonymised_figures_are_the_same(tmp_path: Path) -> None:
    pool = written(tmp_path / "p.tsv", toloka([*small_pool(), row("q0", "B", "w7")]))
    plain = merilo("baseline", pool, "--json", "-").json
    hidden = merilo("baseline", pool, "--anonymise", "--json", "-").json
    for part in ("responses", "annotators", "items", "resolved_by", "agreement", "cost"):
        assert plain[part] == hidden[part]


def test_two_files_of_one_name_keep_their_pages_apart(tmp_path: Path) -> None:
    one = written(tmp_path / "a" / "p.tsv", toloka(small_pool(people=2)))
    two = written(tmp_path / "b" / "p.tsv", toloka([row("q9", "A", "w0", page="w0-q0")]))
    plain, hidden = (
        json.loads(merilo("baseline", one, two, *options, "--min-votes", 1, "--json", "-").out)["cost"]
        for options in ((), ("--anonymise",))
    )
    assert plain == hidden
