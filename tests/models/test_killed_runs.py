"""A run that is killed again and again ends with the same log as one that was not."""

import json
import os
import random
import select
import signal
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from ended_process import ended_process

from merilo.models.run_log import log_path

ITEMS = 400

#: Turns of all dialogues.
TURNS = 200

#: A run in a process of its own, whose backend answers after some turns of the event loop, so that many requests are on their way.
SCRIPT = f"""
import asyncio, sys
sys.path.insert(0, {str(Path(__file__).parent.parent / "support")!r})
from model_backends import LocalBackend
import merilo

class Slow(LocalBackend):
    async def ask(self, requests):
        await asyncio.sleep(0.002)
        replies = await super().ask(requests)
        print("answered", flush=True)
        return replies

result = merilo.run(Slow(concurrency=8), ["rutie", "lcs"], out=sys.argv[1], data=sys.argv[2], shots=0)
print("complete", result.is_complete, flush=True)
"""


def start(run: Path, data: Path) -> "AbstractContextManager[subprocess.Popen[str]]":
    return ended_process(
        [sys.executable, "-c", SCRIPT, run, data], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(run: Path, data: Path) -> None:
    with start(run, data) as process:
        out, err = process.communicate(timeout=120)
    assert out.splitlines()[-1] == "complete True", err


def kill_after(run: Path, data: Path, replies: int, how: signal.Signals) -> bool:
    """Kill a run when it has received so many replies; `False` if it ended before."""
    with start(run, data) as process:
        for _ in range(replies):
            assert select.select([process.stdout], [], [], 60)[0], "the run does not answer"
            line = process.stdout.readline()
            if not line.startswith("answered"):
                assert line.startswith("complete"), process.stderr.read()
                return False
        os.kill(process.pid, how)
        process.stdout.read()
        process.stderr.read()
    return True


def texts(run: Path, name: str) -> list[tuple[str, int, str, str]]:
    """What was asked and answered, without what differs from run to run: time and order."""
    rows = [json.loads(line) for line in log_path(run, name).read_text().splitlines()]
    return sorted((row["item"], row["sample"], row["request"], row["text"]) for row in rows)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    items = [
        {"instruction": "Вопрос {inputs}", "inputs": f"номер {n}", "outputs": "1", "meta": {"id": n}}
        for n in range(ITEMS)
    ]
    (folder / "lcs.json").write_text(json.dumps({"data": {"test": items}}), encoding="utf-8")
    turns = [
        [
            {
                "instruction": "{context}\nВопрос: {question} 1. {choice1} 2. {choice2}",
                "inputs": {"question": f"{dialogue}-{turn}?", "choice1": "да", "choice2": "нет"},
                "outputs": "1",
                "meta": {"dialog_id": dialogue, "question_id": turn},
            }
            for turn in range(40)
        ]
        for dialogue in range(5)
    ]
    (folder / "rutie.json").write_text(json.dumps({"data": {"test": turns}}), encoding="utf-8")
    return folder


@pytest.mark.thorough
@pytest.mark.slow
def test_a_run_killed_five_times_has_the_log_of_one_that_was_not(data: Path, tmp_path: Path) -> None:
    finish(tmp_path / "whole", data)
    chance = random.Random(14)
    for attempt in range(5):
        how = signal.SIGINT if attempt == 2 else signal.SIGKILL
        assert kill_after(tmp_path / "killed", data, chance.randint(1, (ITEMS + TURNS) // 7), how)
    finish(tmp_path / "killed", data)
    for name in ("lcs", "rutie"):
        assert texts(tmp_path / "killed", name) == texts(tmp_path / "whole", name)
        killed, whole = (tmp_path / run / f"{name}.jsonl" for run in ("killed", "whole"))
        assert killed.read_text() == whole.read_text()
    commands = json.loads((tmp_path / "killed" / "run.json").read_text())["commands"]
    assert len(commands) == 6
