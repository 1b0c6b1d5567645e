"""The root of the command line."""

import re
import subprocess
import sys

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


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_names_values_in_words(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    outcome = merilo(command, "--help")
    shown = outcome.out
    assert (outcome.status, "Usage" in shown) == (0, True)
    assert not re.search(r"<[a-z]", shown)
    assert "list[" not in shown
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_every_option_of_baseline_stands_in_a_group() -> None:
    shown = merilo("baseline", "--help").out
    panels = re.split(r"\b(Arguments|Options|Most used|Input|Procedure|Output) [─-]", shown)
    ungrouped = panels[panels.index("Options") + 1]
    assert re.findall(r"--\w[\w-]*", ungrouped) == ["--help"]
