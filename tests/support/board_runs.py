"""Runs of simulated models, written as `merilo run` writes them, without asking anybody."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from gold_sets import right_answer, wrong_answer

from merilo.datasets import dataset
from merilo.items import Split
from merilo.models.run_folder import AskedModel, DatasetRecord, RunRecord, item_hashes, write_record
from merilo.settings import RunSettings


def asked_run(
    folder: Path,
    model: str,
    tests: Mapping[str, tuple[Path, Split]],
    right: Mapping[str, float],
    *,
    shots: int = 0,
    thought: bool = False,
    seed: int = 0,
    when: str = "2026-11-20T12:00:00+00:00",
    **settings: object,
) -> Path:
    """A run whose answers to each dataset are right with a probability; `tests` has the file and items of each."""
    (folder / "log").mkdir(parents=True)
    rng = np.random.default_rng(seed)
    records = {}
    for name, share in right.items():
        file, split = tests[name]
        declared = dataset(name)
        hits = rng.random(len(split)) < share
        log, answers = [], []
        for item, hit in zip(split, hits.tolist(), strict=True):
            answer = right_answer(declared, item) if hit else wrong_answer(declared, item)
            reply = {
                "dataset": declared.name,
                "item": str(item.id),
                "sample": 1,
                "request": "0" * 64,
                "text": str(answer),
                "thought": None,
                "finish": "stop",
                "loglikelihoods": [],
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "thought_tokens": 3 if thought else 0,
                "seconds": 0.1,
                "attempts": 1,
                "error": None,
                "model": model,
                "cost": None,
                "when": when,
            }
            log.append(json.dumps(reply, ensure_ascii=False, separators=(",", ":")) + "\n")
            row = {"id": str(item.id), "answer": str(answer), "sample": 1, "outcome": "answered"}
            answers.append(json.dumps(row, ensure_ascii=False) + "\n")
        (folder / "log" / f"{declared.name}.jsonl").write_text("".join(log), encoding="utf-8")
        (folder / f"{declared.name}.jsonl").write_text("".join(answers), encoding="utf-8")
        records[declared.name] = DatasetRecord(
            title=declared.title,
            declaration=name,
            data=str(file),
            study=None,
            mode="generate",
            chat=True,
            prompts="harness",
            shots=shots,
            shots_like=None,
            shots_sha256="",
            samples=1,
            limit=None,
            hashes=item_hashes(split.items),
        )
    record = RunRecord(
        model=AskedModel(name=model, backend="simulated", args={}),
        settings=RunSettings.of({"shots": shots, **settings}),
        datasets=records,
        commands=({"command": "merilo run", "when": when, "merilo": "0.1.0"},),
    )
    write_record(folder, record)
    return folder
