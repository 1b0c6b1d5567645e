"""The root of the command line."""

import subprocess
import sys
from importlib import import_module

import pytest
from command import merilo

from merilo.cli import COMMANDS
from merilo.version import __version__


def test_help_names_every_command_with_its_line() -> None:
    shown = merilo("--help").out
    for name, (_, text) in COMMANDS.items():
        assert name in shown
        assert text in shown
    assert merilo().out == shown


def test_help_costs_little_more_than_starting_python() -> None:
    code = "import sys; from merilo.cli import main; main(['--help']); print(sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for heavy in ("typer", "polars", "numpy", "rich", "pydantic", "argparse"):
        assert f"'{heavy}'" not in done.stderr


def test_version() -> None:
    assert merilo("--version").out == f"merilo {__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_there_and_explains_itself(name: str) -> None:
    assert import_module(COMMANDS[name][0]).app is not None
    outcome = merilo(name, "--help")
    assert outcome.status == 0
    assert "Usage" in outcome.out
