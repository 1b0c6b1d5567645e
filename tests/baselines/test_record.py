"""The record of a baseline: one type for its JSON."""

import json
from pathlib import Path

import pytest
from command import done
from exports import small_pool, toloka, written

from merilo.baselines.baseline import Baseline, read_record
from merilo.errors import InputError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("record")
    pool = written(place / "pool.tsv", toloka(small_pool()))
    gold = written(place / "gold.csv", "question,gold\nq0,A\nq1,B\nq2,A\nq3,A\n")
    done("baseline", pool, "--gold", gold, "--by", "question", "--aggregator", "glad", "--out", place / "out")
    return place / "out"


def test_a_saved_record_is_read_back_and_written_the_same(folder: Path) -> None:
    text = (folder / "baseline.json").read_text(encoding="utf-8")
    record = read_record(folder)
    assert record.to_json() == json.loads(text)
    assert list(record.to_json()) == list(json.loads(text))
    assert Baseline.of_json(record.to_json()) == record


def test_a_record_has_defaults_for_what_its_file_lacks(tmp_path: Path) -> None:
    content = {
        "dataset": "bps",
        "status": "accepted",
        "metrics": {"acc": {"value": 0.5, "n": 4, "ci95": [0.2, 0.8]}},
    }
    (tmp_path / "baseline.json").write_text(json.dumps({**content, "unknown": 1}))
    record = read_record(tmp_path)
    assert record.metrics["acc"].ci95 == (0.2, 0.8)
    assert (record.annotator_counts.total, record.cost.total, record.agreement.krippendorff_alpha) == (
        None,
        None,
        None,
    )
    assert record.to_json() == content


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "baseline.json is missing"),
        ('{"metrics": {"acc": {"value": "half"}}}', "metrics.acc.value: must be a number"),
        ('{"responses": {"total": [1]}}', "responses.total: must be a whole number"),
        ("[1]", "must be a mapping"),
        ('{"status": ', "is not JSON"),
    ],
)
def test_a_bad_record_is_refused_in_one_sentence(text: str | None, message: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "baseline.json").write_text(text)
    with pytest.raises(InputError, match=r"baseline\.json") as refused:
        read_record(tmp_path)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
