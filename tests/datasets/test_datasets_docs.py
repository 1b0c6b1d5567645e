"""The pages about datasets agree with the code: every dataset, result, rule and field; the walk-through works."""

import re
from dataclasses import fields
from pathlib import Path

import pytest
from every import every

from merilo.cli import main
from merilo.datasets import CATALOGUE, Dataset
from merilo.metrics.registry import NAMES

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
    assert all(re.search(rf"\b{metric}\b", OWN) for metric in NAMES)


def test_the_page_shows_the_declaration_that_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    questions, declaration = (OWN.split(f"```{kind}\n")[1].split("```")[0] for kind in ("json", "yaml"))
    (tmp_path / "questions.jsonl").write_text(questions, encoding="utf-8")
    assert main(["datasets", "new", "questions.jsonl"]) == 0
    assert (tmp_path / "questions.yaml").read_text("utf-8") == declaration
    assert "Canberra" in capsys.readouterr().out


def test_the_python_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", DATASETS, flags=re.DOTALL)
    exec(code, {})
    assert "Ответ" in capsys.readouterr().out
