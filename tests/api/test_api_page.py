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


@pytest.fixture
def notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The notebook of the examples; its cells run in an empty folder."""
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MERILO_POOLS", raising=False)
    return nbformat.read(ROOT / "docs" / "notebooks" / "crowd-kit-and-merilo.ipynb", as_version=4)


def test_the_notebook_makes_the_published_accuracy_again(notebook, pools: Path, monkeypatch, capsys) -> None:
    """A kernel takes seconds to start, so these cells run in the test's own process."""
    monkeypatch.setenv("MERILO_POOLS", str(pools))
    names: dict[str, object] = {}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            exec(compile(cell.source, "notebook", "exec"), names)
    shown = capsys.readouterr().out
    assert "merilo    acc 0.704 on 54 items" in shown
    assert "crowd-kit acc 0.704 on 54 items" in shown
