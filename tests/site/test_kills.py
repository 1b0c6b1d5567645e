"""The benchmark that kills the site finds nothing lost, doubled or over the overlap, and goes on with its history."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.thorough,
    pytest.mark.skipif(not (ROOT / "benchmarks").exists(), reason="the benchmarks come with a clone"),
]


@pytest.mark.parametrize("options", [[], ["--postgres"]], ids=["sqlite", "postgresql"])
def test_nothing_is_lost_or_doubled_although_the_server_is_killed(tmp_path: Path, options: list[str]) -> None:
    command = [sys.executable, "kills.py", "--folder", tmp_path, "--faults", "12", *options]
    place = ROOT / "benchmarks"
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{place}"}
    for rounds in (1, 2):
        subprocess.run(command, cwd=place, env=environment, check=True, timeout=600)
        (counts,) = json.loads((tmp_path / "history.json").read_text()).values()
        faults = sum(counts.get(name, 0) for name in ("kills", "full disks", "database restarts"))
        assert faults == 12 * rounds
        assert counts["acknowledged"] > 1000
