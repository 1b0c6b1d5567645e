"""The root of the command line."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

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


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("power --half-width 0.05", ["План исследования", "Для средней полуширины 0,05", "угадывающего"]),
        ("datasets list", ["Датасет", "Оценка человека", "любых людей"]),
        ("datasets show lcs", ["поля вопроса", "Опубликованные оценки человека", "кого спрашивать"]),
        ("experts plan", ["часов на эксперта", "Предположения: 30 вопросов в час"]),
        (
            "run --model gold --datasets lcs --out run",
            ["95%-й интервал по вопросам", "1,0000", "все с ответом"],
        ),
    ],
)
def test_results_are_told_in_the_language_of_the_terminal(
    words: str, told: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MERILO_LANG", "ru")
    monkeypatch.setenv("COLUMNS", "200")
    screen = merilo(*words.split()).out
    for text in told:
        assert text in screen
