"""The record of a run: what it holds, what may change later, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from every import every

from merilo.errors import InputError, UsageError
from merilo.items import Item
from merilo.models.run_folder import (
    AskedModel,
    DatasetRecord,
    RunRecord,
    inputs_hash,
    item_hash,
    read_record,
    refuse_other_items,
    write_record,
)
from merilo.settings import RunSettings

ITEMS = [Item(number, "{inputs}?", f"вопрос {number}", "1") for number in range(4)]


def dataset_record(**changed: object) -> DatasetRecord:
    record = DatasetRecord(
        title="LCS", declaration="lcs", data="lcs.json", study=None, mode="generate", chat=True, prompts="harness",
        shots=1, shots_sha256="ab", samples=2, limit=None,
        hashes={str(item.id): item_hash(item) for item in ITEMS},
    )  # fmt: skip
    return record.model_copy(update=changed)


def record(
    model: AskedModel | None = None, settings: RunSettings | None = None, **datasets: DatasetRecord
) -> RunRecord:
    model = model or AskedModel(name="m", backend="local", args={"model": "m", "timeout": "20"})
    return RunRecord(
        format="merilo run 1",
        model=model,
        settings=settings or RunSettings(stop=("\n",)),
        datasets=datasets or {"lcs": dataset_record()},
        commands=({"command": "c"},),
    )


def test_a_record_is_read_back_as_it_was(tmp_path: Path) -> None:
    write_record(tmp_path, record())
    assert read_record(tmp_path) == record()


@every(
    ("other", "told"),
    [
        (record(AskedModel(name="m", backend="local", args={"model": "m", "base_url": "u"})), 'model.args.base_url was not given and is now "u"'),
        (record(settings=RunSettings(stop=("\n", "."))), r'stop was ["\n"] and is now ["\n", "."]'),
        (record(lcs=dataset_record(shots=2)), "lcs: shots was 1 and is now 2"),
        (record(lcs=dataset_record(shots_sha256="cd")), 'lcs: shots_sha256 was "ab" and is now "cd"'),
        (record(lcs=dataset_record(samples=1)), "lcs: samples was 2 and is now 1, but can only be raised"),
        (record(lcs=dataset_record(mode="loglikelihood")), 'lcs: mode was "generate" and is now "loglikelihood"'),
        (record(lcs=dataset_record(hashes={"0": item_hash(ITEMS[0])}, limit=1)), "lcs: limit was not given and is now 1, but can only be raised"),
        (record(lcs=dataset_record(hashes={"0": item_hash(ITEMS[0])})), "lcs: 3 items are not among the items now (1, 2, 3)"),
    ],
)  # fmt: skip
def test_what_changes_the_requests_is_refused_with_the_difference(
    other: RunRecord, told: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as refused:
        record().extended(other, tmp_path)
    assert told in str(refused.value)


@every(
    ("before", "now", "told"),
    [
        ("http://a:8000/v1", "https://b/v1/", ""),
        ("http://a/v1?api-key=1&api-version=2", "http://a/v1?api-key=3&api-version=2", ""),
        ("http://a/v1?api-version=2", "http://a/v1?api-version=3", 'args.base_url was "/v1?api-version=2"'),
        ("http://a/v1", "http://a/other/v1", 'args.base_url was "/v1" and is now "/other/v1"'),
    ],
)
def test_a_server_may_move_to_another_host_and_not_to_another_path(
    before: str, now: str, told: str, tmp_path: Path
) -> None:
    first, second = (
        record(AskedModel(name="m", backend="b", args={"base_url": url})) for url in (before, now)
    )
    if told:
        with pytest.raises(UsageError) as refused:
            first.extended(second, tmp_path)
        assert told in str(refused.value)
    else:
        assert len(first.extended(second, tmp_path).commands) == 2


def test_a_file_that_is_no_record_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"not a folder of 'merilo run': run\.json is missing"):
        read_record(tmp_path)
    for content in (
        "[]",
        '{"format": "merilo run 0"}',
        '{"format": "merilo run 1"}',
        json.dumps(record().to_json() | {"model": {"new": 1}}),
    ):
        (tmp_path / "run.json").write_text(content)
        with pytest.raises(InputError, match="is not the record of a run of this version"):
            read_record(tmp_path)


def test_the_hash_of_an_item_depends_on_what_is_asked_and_not_on_gold() -> None:
    item = ITEMS[0]
    assert item_hash(replace(item, outputs=None)) == item_hash(item)
    assert item_hash(replace(item, instruction="{inputs}!")) != item_hash(item)
    assert inputs_hash(replace(item, instruction="{inputs}!")) == inputs_hash(item)
    assert inputs_hash(replace(item, inputs="другой")) != inputs_hash(item)


def test_items_of_another_file_are_refused() -> None:
    refuse_other_items(dataset_record(), [*ITEMS, Item(9, "", "")], "gold.json")
    with pytest.raises(
        InputError, match=r"gold\.json: has not all items of the run: 1 of 4 are missing \(3\)"
    ):
        refuse_other_items(dataset_record(), ITEMS[:3], "gold.json")
