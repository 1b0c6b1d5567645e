"""`eval.yaml` of a benchmark's repository is what Inspect's loader for the hub takes, with the gold answers of Merilo."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.benchmark_shapes import SHAPES, write
from tests.support.command import merilo

from merilo.datasets.custom import read_declaration
from merilo.datasets.own_items import read_splits

hf = pytest.importorskip("inspect_ai._eval.task.hf", reason="inspect-ai is not installed")


def written(folder: Path, rows: list[dict[str, Any]], *options: object) -> tuple[Path, Any]:
    file = folder / "own.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    made = merilo("datasets", "new", file, *options)
    assert made.status == 0, made.err
    return file, merilo("datasets", "export", folder / "own.yaml", "--format", "hub", "--out", folder / "hub")


@pytest.mark.parametrize(
    "rows",
    [
        [
            {"question": f"What is {n} + 1?", "choices": [*"1234"], "answer": n, "subject": "x"}
            for n in range(4)
        ],
        [
            {
                "passage": f"There were {n} cats.",
                "question": "How many?",
                "a": str(n),
                "b": "none",
                "answer": "A",
            }
            for n in range(4)
        ],
        [{"question": f"What is {n} + 1?", "answer": n + 1} for n in range(4)],
        [
            {"question": f"Whose is number {n}?", "answer": ["Anna", "Boris", "Vera", "Gleb"][n]}
            for n in range(4)
        ],
    ],
    ids=["list of choices", "columns of choices", "number", "text"],
)
def test_inspect_reads_the_file_and_the_gold_answers_of_the_questions(tmp_path: Path, rows: list) -> None:
    options = ("--options", "a", "--options", "b") if "a" in rows[0] else ()
    file, exported = written(tmp_path, rows, *options)
    assert exported.status == 0, exported.err
    content = yaml.safe_load((tmp_path / "hub" / "eval.yaml").read_text("utf-8"))
    assert content.keys() == {"name", "description", "evaluation_framework", "tasks"}
    task = hf.HFTask.model_validate(content["tasks"][0])
    items = read_splits(file, read_declaration(tmp_path / "own.yaml"))["test"].items
    for row, item in zip(rows, items, strict=True):
        sample = hf._record_to_sample_hf(row, task.field_spec)
        assert sample.target == item.outputs
        assert sample.input == row["question"]
        template = task.solvers[0].args.get("template", "{prompt}")
        prompt = template.format(prompt=sample.input, **(sample.metadata or {}))
        assert all(str(row[name]) in prompt for name in ("passage", "question") if name in row)
        assert not sample.choices or [sample.choices["ABCD".index(sample.target)]] == [
            item.inputs[f"option_{sample.target.lower()}"]
        ]


@pytest.mark.parametrize(
    ("shape", "why"),
    [
        ("arc", "the column choices.text is inside another one"),
        ("gsm8k", "the gold answer is not the whole content of one column"),
        ("gpqa", "must hold capital letters of options or whole numbers from 0"),
    ],
)
def test_what_the_file_cannot_say_is_refused_in_one_sentence(tmp_path: Path, shape: str, why: str) -> None:
    file = write(tmp_path / f"own.{SHAPES[shape].suffix}", SHAPES[shape].rows)
    assert merilo("datasets", "new", file).status == 0
    refused = merilo(
        "datasets", "export", tmp_path / "own.yaml", "--format", "hub", "--out", tmp_path / "hub"
    )
    assert refused.status == 2
    assert "eval.yaml cannot say how own is asked" in refused.complaint
    assert why in refused.complaint
    assert not (tmp_path / "hub" / "eval.yaml").exists()
    built_in = merilo("datasets", "export", "lcs", "--format", "hub", "--out", tmp_path / "hub")
    assert (built_in.status, "names no file of questions" in built_in.complaint) == (2, True)
