"""`merilo.score_programs` in the real sandbox, beside `merilo code score`."""

import json
from pathlib import Path

import pytest
from command import merilo as run
from exports import write_items, write_lines
from programming import completion, item, need_a_jail

import merilo

RIGHT, WRONG = "    return 2 * x\n", "    return x\n"

#: What differs from run to run.
VARYING = {"seconds"}


@pytest.fixture(scope="module", autouse=True)
def jail():
    need_a_jail()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_items(tmp_path / "problems.json", item(1), item(2))


@pytest.fixture
def completions(tmp_path: Path) -> Path:
    rows = [completion(number, text) for number in (1, 2) for text in (RIGHT, WRONG[: 4 * number] + RIGHT)]
    return write_lines(tmp_path / "completions.jsonl", *rows, completion(1, WRONG), completion(2, RIGHT))


def without_time(content: dict) -> dict:
    return {name: value for name, value in content.items() if name not in VARYING}


def test_the_dictionary_is_the_json_of_the_command(completions: Path, data: Path) -> None:
    scored = merilo.score_programs(completions, data=data, workers=2)
    told = run("code", "score", completions, "--data", data, "--workers", 2, "--json", "-").json
    assert without_time(json.loads(json.dumps(scored.to_dict()))) == without_time(told)
    assert scored.metrics["pass@1"].n == 2
    assert 0 < scored.metrics["pass@1"].value < 1
    assert "pass@5" not in scored.metrics
    assert repr(scored).startswith("pass@1 0.")


def test_errors_name_arguments_and_not_flags(data: Path, tmp_path: Path) -> None:
    one = write_lines(tmp_path / "one.jsonl", completion(1, RIGHT))
    with pytest.raises(merilo.DataError, match=r"partial=True scores the others"):
        merilo.score_programs(one, data=data)
    assert merilo.score_programs(one, data=data, partial=True, workers=1).metrics["pass@1"].value == 1.0
    with pytest.raises(merilo.UsageError, match=r"^judge_seed: no problem has a check"):
        merilo.score_programs(one, data=data, partial=True, judge_seed="1")
    with pytest.raises(merilo.OutputError, match="would be written twice"):
        merilo.score_programs(
            one, data=data, partial=True, out=tmp_path, outputs=tmp_path / "generations.jsonl"
        )
