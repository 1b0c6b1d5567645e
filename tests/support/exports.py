"""Small exports in the platforms' own formats, written by tests."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

HEADER = (
    "INPUT:question",
    "OUTPUT:answer",
    "GOLDEN:answer",
    "ASSIGNMENT:assignment_id",
    "ASSIGNMENT:worker_id",
    "ASSIGNMENT:status",
    "ASSIGNMENT:started",
    "ASSIGNMENT:submitted",
    "ASSIGNMENT:reward",
)


def row(
    question: str,
    answer: str,
    worker: str,
    *,
    golden: str = "",
    page: str = "",
    status: str = "APPROVED",
    started: str = "2026-01-01T10:00:00",
    submitted: str = "2026-01-01T10:00:30.500",
    reward: str = "0.02",
) -> tuple[str, ...]:
    return (
        question,
        answer,
        golden,
        page or f"{worker}-{question}",
        worker,
        status,
        started,
        submitted,
        reward,
    )


def toloka(rows: Sequence[Sequence[str]], header: Sequence[str] = HEADER) -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def small_pool(people: int = 5, items: int = 4) -> list[tuple[str, ...]]:
    """Everybody answers every item `A` and one control item rightly."""
    rows = [row(f"q{item}", "A", f"w{person}") for item in range(items) for person in range(people)]
    return rows + [row("control", "A", f"w{person}", golden="A") for person in range(people)]


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="backslashreplace")
    return path


def write_lines(path: Path, *rows: object) -> Path:
    """A file of JSON lines."""
    return written(path, "".join(f"{json.dumps(row)}\n" for row in rows))


def pool_with_suspect_controls() -> list[tuple[str, ...]]:
    """Twelve people, two controls with a wrong known answer, and five people who answered only these two.

    The known answer of x0 and x1 is B, and everybody answers A. Seven people (`w`) also answer six fair controls. All answer
    q0 to q3: A, but on q3 four of the seven answer B. Those five (`v`) are excluded, so that most votes make q3 a B.
    """
    steady, fresh = [f"w{n}" for n in range(7)], [f"v{n}" for n in range(5)]
    wrong = {("q3", name) for name in steady[:4]}
    rows = [
        row(question, "B" if (question, who) in wrong else "A", who)
        for question in ("q0", "q1", "q2", "q3")
        for who in (*steady, *fresh)
    ]
    rows += [row(f"x{n}", "A", who, golden="B") for n in range(2) for who in (*steady, *fresh)]
    return rows + [row(f"c{n}", "A", who, golden="A") for n in range(6) for who in steady]
