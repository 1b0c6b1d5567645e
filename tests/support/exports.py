"""Small exports in the platforms' own formats, in the shapes that these really write."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

PAGE = ("assignment_id", "worker_id", "status", "started", "submitted", "reward")
HEADER = ("INPUT:question", "OUTPUT:answer", "GOLDEN:answer", *(f"ASSIGNMENT:{name}" for name in PAGE))
OLD_TOLOKA = ("INPUT:premise", "", "INPUT:hypothesis", "OUTPUT:label", "ASSIGNMENT:worker_id")
MTURK = (
    "HITId", "HITTypeId", "Title", "Reward", "AssignmentId", "WorkerId", "AssignmentStatus", "AcceptTime",
    "SubmitTime", "WorkTimeInSeconds", "Input.text",
)  # fmt: skip


def delimited(header: Sequence[str], rows: Sequence[Sequence[str]], delimiter: str = ",") -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows([header, *rows])
    return text.getvalue()


def toloka(rows: Sequence[Sequence[str]], header: Sequence[str] = HEADER) -> str:
    return delimited(header, rows, "\t")


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
    page = page or f"{worker}-{question}"
    return (question, answer, golden, page, worker, status, started, submitted, reward)


def small_pool(people: int = 5, items: int = 4) -> list[tuple[str, ...]]:
    """Everybody answers every item `A` and one control item rightly."""
    rows = [row(f"q{item}", "A", f"w{person}") for item in range(items) for person in range(people)]
    return rows + [row("control", "A", f"w{person}", golden="A") for person in range(people)]


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="backslashreplace")
    return path


def csv_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a table with a header."""
    text = io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")
    return list(csv.DictReader(text, delimiter="\t" if path.suffix == ".tsv" else ","))


def write_items(path: Path, *items: object) -> Path:
    """A dataset's file of a test."""
    return written(path, json.dumps({"data": {"test": items}}, ensure_ascii=False))


def write_lines(path: Path, *rows: object) -> Path:
    """A file of JSON lines."""
    return written(path, "".join(f"{json.dumps(row)}\n" for row in rows))


def old_toloka() -> list[list[str]]:
    """Everybody answers `entailment` to odd items and `neutral` to even ones."""
    return [
        [f"premise {item}", "", f"hypothesis {item}", "entailment" if item % 2 else "neutral", f"w{person}"]
        for item in range(10)
        for person in range(3)
    ]


def mturk_row(item: int, person: int, *answers: str, **others: str) -> list[str]:
    fields = {
        "HITId": f"H{item}", "Title": "a title", "Reward": "$0.05", "AssignmentId": f"A{item}-{person}",
        "WorkerId": f"W{person}", "AssignmentStatus": "Approved", "AcceptTime": "Thu Oct 09 23:59:30 PDT 2025",
        "SubmitTime": "Fri Oct 10 00:00:20 PDT 2025", "WorkTimeInSeconds": "50", "Input.text": f"text {item}",
        **others,
    }  # fmt: skip
    return [*(fields.get(name, "") for name in MTURK), *answers]


def studio_records(tasks: int = 4, **more: object) -> list[dict[str, object]]:
    """JSON-MIN: what was shown, the task's id, the answer, the annotation. Person 1 answers `Neg` to the first task."""
    return [
        {
            "text": f"text {task}",
            "meta": {"source": "a"},
            "id": 100 + task,
            "sentiment": "Neg" if (task, person) == (0, 1) else "Pos",
            **more,
            "annotator": person + 1,
            "annotation_id": task * 3 + person + 1,
            "created_at": "2021-03-09T22:16:08.728353Z",
            "updated_at": "2021-03-09T22:17:08.728353Z",
            "lead_time": 4.288,
        }
        for task in range(tasks)
        for person in range(3)
    ]


def studio_csv(path: Path, records: Sequence[Mapping[str, object]], delimiter: str = ",") -> Path:
    """As Label Studio writes it: columns sorted by name, structures as JSON, texts in quotation marks."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, sorted(records[0]), quoting=csv.QUOTE_NONNUMERIC, delimiter=delimiter)
        writer.writeheader()
        for record in records:
            texts = {
                name: json.dumps(value) if isinstance(value, dict | list) else value
                for name, value in record.items()
            }
            writer.writerow(texts)
    return path
