"""The public names of the library."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import merilo


def test_every_public_name_can_be_imported() -> None:
    for name in merilo.__all__:
        assert getattr(merilo, name) is not None
    assert set(merilo.__all__) <= set(dir(merilo))


def test_type_checkers_and_python_see_the_same_names() -> None:
    tree = ast.parse(Path(merilo.__file__).read_text(encoding="utf-8"))
    typed = {
        alias.asname: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("merilo.")
        for alias in node.names
        if alias.asname
    }
    assert typed == merilo._HOME_OF


def test_a_name_that_does_not_exist_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        merilo.nothing  # noqa: B018


def test_importing_the_library_loads_nothing_else() -> None:
    code = "import sys, merilo; print(sorted(name for name in sys.modules if name.startswith('merilo') or name in {'polars', 'numpy', 'typing', 'pandas'}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['merilo', 'merilo.version']"


def test_a_baseline_without_models_loads_neither_pandas_nor_what_asks_models_and_runs_programs(
    tmp_path: Path,
) -> None:
    code = (
        "import sys, polars as pl, merilo\n"
        "from merilo.cli import main\n"
        "frame = pl.DataFrame({'task': [1, 1], 'worker': ['a', 'b'], 'label': ['x', 'x']})\n"
        "merilo.baseline(frame).to_json(); merilo.aggregate(frame, 'glad'); merilo.agreement(frame)\n"
        "frame.write_csv(sys.argv[1])\n"
        "main(['baseline', sys.argv[1], '--json', sys.argv[1] + '.json'])\n"
        "slow = ('pandas', 'merilo.models', 'merilo.sandbox', 'merilo.runs', 'merilo.studies')\n"
        "print([name for name in slow if name in sys.modules], file=sys.stderr)"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "answers.csv")]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert (tmp_path / "answers.csv.json").is_file()
    assert done.stderr.splitlines()[-1] == "[]"
