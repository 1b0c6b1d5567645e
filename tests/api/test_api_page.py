"""Every block of the library's page and of the READMEs runs, and the notebook too."""

import re
from pathlib import Path

import pytest
from every import every

import merilo

ROOT = Path(__file__).resolve().parents[2]


def blocks(path: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL)


@every("name", ["docs/api.md", "README.md", "README.ru.md"], ids=str)
def test_the_blocks_of_a_page_run_one_after_the_other(name: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = blocks(ROOT / name)
    assert found
    (tmp_path / "pool.csv").write_text("task,worker,label\n1,a,x\n1,b,x\n1,c,y\n", encoding="utf-8")
    names: dict[str, object] = {}
    for block in found:
        exec(compile(block, name, "exec"), names)


def test_every_public_name_is_on_the_page() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert not [name for name in merilo.__all__ if name != "__version__" and name not in page]


def run_notebook(folder: Path) -> str:
    """What the notebook prints when its cells run in a new kernel."""
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    book = nbformat.read(ROOT / "examples" / "crowd-kit-and-merilo.ipynb", as_version=4)
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return "".join(output.get("text", "") for cell in book.cells for output in cell.get("outputs", ()))


def test_the_notebook_runs_from_an_empty_kernel_on_simulated_data(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv("MERILO_POOLS", raising=False)
    assert re.search(r"merilo +acc 0\.\d{3} on \d+ items", run_notebook(tmp_path))


def test_the_notebook_makes_the_published_accuracy_again(pools: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("MERILO_POOLS", str(pools))
    shown = run_notebook(tmp_path)
    assert "merilo    acc 0.704 on 54 items" in shown
    assert "crowd-kit acc 0.704 on 54 items" in shown
