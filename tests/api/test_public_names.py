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


def test_pandas_is_not_loaded_for_tables_of_polars() -> None:
    code = (
        "import sys, polars as pl, merilo\n"
        "frame = pl.DataFrame({'task': [1, 1], 'worker': ['a', 'b'], 'label': ['x', 'x']})\n"
        "merilo.baseline(frame); merilo.aggregate(frame, 'glad'); merilo.agreement(frame)\n"
        "print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
