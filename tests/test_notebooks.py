"""The notebooks of the docs run from an empty folder, without a network."""

import json
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest
from command import done

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))

#: The demo of this notebook takes too long for `make test`.
SLOW = "crowd-kit-and-merilo"


def run(path: Path) -> None:
    """Run the cells in this process, because a kernel takes seconds to start."""
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    transformer = pytest.importorskip("IPython.core.inputtransformer2", reason="IPython is not installed")
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    assert not any(cell.outputs for cell in cells)
    commands = transformer.TransformerManager()
    names: dict[str, object] = {"get_ipython": lambda: SimpleNamespace(system=command)}
    for cell in cells:
        exec(compile(commands.transform_cell(cell.source), path.name, "exec"), names)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.thorough] * (path.stem == SLOW))
        for path in NOTEBOOKS
    ],
)
@pytest.mark.usefixtures("offline")
def test_a_notebook_runs_to_its_end(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MERILO_POOLS", raising=False)
    monkeypatch.chdir(tmp_path)
    run(path)


def test_a_notebook_makes_the_published_accuracy_again(
    tmp_path: Path, pools: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MERILO_POOLS", str(pools))
    monkeypatch.chdir(tmp_path)
    run(ROOT / "docs" / "notebooks" / f"{SLOW}.ipynb")
    shown = capsys.readouterr().out
    assert all(f"{name} acc 0.704 on 54 items" in shown for name in ("merilo   ", "crowd-kit"))


def command(line: str) -> None:
    """Run a line such as `!merilo compare ...`, which must succeed."""
    program, *words = shlex.split(line)
    assert program == "merilo"
    done(*words)


def test_the_notebooks_are_short_and_named_on_the_first_page() -> None:
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    for path in NOTEBOOKS:
        assert f"notebooks/{path.name})" in page
        assert len(json.loads(path.read_text(encoding="utf-8"))["cells"]) <= 20
