"""The pages about datasets agree with the code: every dataset, result, rule and field; the walk-through works."""

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest
from every import every

from merilo.cli import main
from merilo.datasets import CATALOGUE, Dataset, dataset
from merilo.datasets.declaration import METRICS
from merilo.datasets.rendering import render
from merilo.items import read_split

DOCS = Path(__file__).resolve().parents[2] / "docs"
DATASETS = (DOCS / "datasets.md").read_text(encoding="utf-8")
OWN = (DOCS / "own-dataset.md").read_text(encoding="utf-8")


@every("declared", CATALOGUE.values(), ids=CATALOGUE)
def test_the_table_has_every_dataset_with_its_metrics_figures_and_provenance(declared: Dataset) -> None:
    catalogue = DATASETS.split("## Files")[0].splitlines()
    (row,) = [line for line in catalogue if line.startswith(f"| {declared.title} |")]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[3].replace("5, 10", "pass@5, pass@10") == ", ".join(declared.metrics)
    if len(declared.human) < 15:
        assert {float(number) for number in re.findall(r"\d\.\d+", cells[4])} == {
            f.value for f in declared.human
        }
    counts = {figure.n for figure in declared.human} - {None}
    assert {int(number) for number in re.findall(r"of (\d+)", cells[4])} == counts
    assert cells[5].startswith(declared.human[0].provenance)


def test_every_field_of_a_declaration_is_explained() -> None:
    for known in fields(Dataset):
        assert re.search(rf"`{known.name}[`.]", OWN), known.name
    assert all(re.search(rf"\b{metric}\b", OWN) for metric in METRICS)


def blocks() -> dict[str, str]:
    return dict(re.findall(r'```\w+ title="([^"]+)"\n(.*?)```', OWN, flags=re.DOTALL))


def test_the_walk_through_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in blocks().items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["datasets", "validate", "capitals/", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["problems"] == []
    assert main(["datasets", "show", "capitals/"]) == 0
    assert "Which of two cities" in capsys.readouterr().out
    declared = dataset("capitals")
    items = read_split(Path("capitals/test.json")).items
    assert render(items[1], declared).startswith("Какой из городов — столица? Страна: Австралия.")
    assert declared.group(items[0]) == "acc.Европа"
    words = ["score", "answers.csv", "--dataset", "capitals/", "--data", "capitals/test.json"]
    assert " ".join(words) in OWN
    assert main([*words, "--json", "-"]) == 0
    metrics = json.loads(capsys.readouterr().out)["metrics"]
    assert {name: metric["value"] for name, metric in metrics.items()} == {
        "acc": 0.5,
        "acc.Европа": 1.0,
        "acc.Австралия": 0.0,
    }


def test_the_python_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", DATASETS, flags=re.DOTALL)
    exec(code, {})
    assert "Ответ" in capsys.readouterr().out
