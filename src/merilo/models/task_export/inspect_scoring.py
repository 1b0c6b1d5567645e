"""Run an exported task in Inspect."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from merilo.models.asking import FINISHES
from merilo.models.task_export.exported_scores import TASK_FILE, ExportedTask
from merilo.models.task_export.task_folder import ANSWERED
from merilo.strict_json import read_json

if TYPE_CHECKING:
    from inspect_ai import Task
    from inspect_ai.scorer import Metric as InspectMetric
    from inspect_ai.scorer import Score, Scorer, Target
    from inspect_ai.solver import TaskState


def inspect_task(file: str) -> Task:
    """Return the task of a folder.

    Args:
        file: the path of the folder's `task.py`.
    """
    from inspect_ai import Task  # noqa: PLC0415 - heavy, optional
    from inspect_ai.dataset import MemoryDataset, Sample  # noqa: PLC0415
    from inspect_ai.model import GenerateConfig  # noqa: PLC0415
    from inspect_ai.solver import generate  # noqa: PLC0415

    folder = Path(file).parent
    content = cast("dict[str, object]", read_json(folder / TASK_FILE))
    name = str(content["name"])
    lines = (folder / f"{name}.jsonl").read_text(encoding="utf-8").split("\n")
    rows = [cast("dict[str, str]", json.loads(line)) for line in lines if line]
    stop = cast("list[str]", content["stop"])
    return Task(
        name=name,
        dataset=MemoryDataset([Sample(id=row["id"], input=row["prompt"]) for row in rows], name=name),
        solver=generate(),
        scorer=_scorer(ExportedTask(folder), cast("list[str]", content["metrics"])),
        config=GenerateConfig(
            max_tokens=cast("int | None", content["max_tokens"]),
            temperature=cast("float", content["temperature"]),
            stop_seqs=stop or None,
        ),
    )


def _scorer(exported: ExportedTask, metrics: list[str]) -> Scorer:
    from inspect_ai.scorer import Score, scorer  # noqa: PLC0415 - heavy, optional

    @scorer(metrics=[_metric(exported, name) for name in (*metrics, ANSWERED)], name="merilo")
    def merilo() -> Scorer:
        async def judge(state: TaskState, target: Target) -> Score:
            finish = (
                FINISHES.get(str(state.output.stop_reason), "other") if state.output.choices else "failed"
            )
            found = exported.answer(str(state.sample_id), state.output.completion, finish)
            given = exported.given(found)
            held = {"id": str(state.sample_id), "answer": json.dumps(given, ensure_ascii=False)}
            return Score(
                value=float(found.outcome == "answered"),
                answer=found.answer if isinstance(found.answer, str) else held["answer"],
                explanation=found.rule,
                metadata={**held, "given": finish != "failed"},
            )

        return judge

    return merilo()


def _metric(exported: ExportedTask, name: str) -> InspectMetric:
    """Return a metric of Inspect that scores all answers at once, as Merilo does."""
    from inspect_ai.scorer import SampleScore, metric  # noqa: PLC0415 - heavy, optional

    @metric(name=name)
    def merilo_metric() -> InspectMetric:
        def compute(scores: Sequence[SampleScore]) -> float:
            if name == ANSWERED:
                return sum(one.score.as_float() for one in scores) / len(scores) if scores else 0.0
            held = [one.score.metadata or {} for one in scores]
            pairs = [(str(one["id"]), str(one["answer"])) for one in held if one.get("given")]
            return exported.value(name, pairs)

        # Inspect reads the types, whose names it would look for among this module's.
        compute.__annotations__ = {"scores": list[SampleScore], "return": float}
        return compute

    return merilo_metric()
