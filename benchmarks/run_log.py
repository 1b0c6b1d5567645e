"""Measure how long a run of 1,000,000 logged replies takes to be loaded and scored, with a limit of 15 seconds.

The run has 10,000 items of ruMMLU with 100 answers each; the replies are sentences in which a rule must find the letter. The whole process
is measured: the log, the extraction of answers, accuracy with its intervals over all items and by domain. Exit status 1: the best round takes
longer.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from merilo.models.asking import Abilities, ModelReply
from merilo.models.run_folder import AskedModel, RunRecord, write_record
from merilo.models.run_log import encoded, log_path
from merilo.runs.item_sources import item_sources
from merilo.runs.model_run import asked_dataset
from merilo.settings import RunSettings

ALLOWED_SECONDS = 15.0
ROUNDS = 2
DOMAINS = 50
REPLIES = (
    "{0}",
    "Ответ: {0}",
    "Правильный ответ — {0}.",
    "Я думаю, что это вариант {0}, потому что остальные не подходят.",
    "**{0}**",
)


def build(folder: Path, items: int, samples: int) -> Path:
    """Write the items and the log of a run that asked them; two answers in three are right."""
    rng = random.Random(1)
    written = [
        {
            "instruction": "{text} A) {option_a} B) {option_b} C) {option_c} D) {option_d} ({subject})",
            "inputs": {
                "text": f"Вопрос {n}?",
                "subject": "тема",
                **{f"option_{one}": f"вариант {one}{n}" for one in "abcd"},
            },
            "outputs": rng.choice("ABCD"),
            "meta": {"id": n, "domain": f"domain{n % DOMAINS}"},
        }
        for n in range(items)
    ]
    (folder / "rummlu.json").write_text(
        json.dumps({"data": {"test": written}}, ensure_ascii=False), encoding="utf-8"
    )
    settings = RunSettings(shots=0, temperature=1.0, samples=samples)
    abilities = Abilities(frozenset({"generate"}))
    (source,) = item_sources(["rummlu"], folder)
    asked = asked_dataset(source, settings, abilities)
    run = folder / "run"
    model = AskedModel(name="benchmark", backend="local", args={})
    write_record(
        run,
        RunRecord(format="merilo run 1", model=model, settings=settings, datasets={"rummlu": asked.record()}),
    )
    log_path(run, "rummlu").parent.mkdir()
    with log_path(run, "rummlu").open("wb") as stream:
        for request in asked.requests({}):
            gold = str(written[int(request.item)]["outputs"])
            letter = gold if rng.random() < 2 / 3 else rng.choice("ABCD")
            text = rng.choice(REPLIES).format(letter)
            reply = ModelReply(
                text=text, prompt_tokens=80, completion_tokens=12, seconds=0.5, model="benchmark-2026-01-01"
            )
            stream.write(encoded(request, reply, 0.0001))
    return run


def timed(words: list[str]) -> tuple[float, float, float]:
    """Run a process; return its seconds, its seconds of processor time, and the most memory that it took, in GB."""
    start = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(words)} ended with status {process.returncode}")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--samples", type=int, default=100)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="merilo-bench-") as name:
        run = build(Path(name), given.items, given.samples)
        size = log_path(run, "rummlu").stat().st_size / 1e6
        print(f"{given.items * given.samples:,} replies, {size:.0f} MB")
        words = [sys.executable, "-m", "merilo", "score", str(run), "--json", "-"]
        rounds = [timed(words) for _ in range(ROUNDS)]
    seconds, own, memory = min(rounds)
    print(
        f"merilo score RUN: {seconds:.1f} s at best of {ROUNDS} ({', '.join(f'{one:.1f}' for one, *_ in rounds)}), {own:.1f} s of processor time, {memory:.1f} GB"
    )
    if seconds > ALLOWED_SECONDS:
        print(f"above the limit of {ALLOWED_SECONDS:.0f} s")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
