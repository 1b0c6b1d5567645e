"""Questions of our own in the shapes of public benchmarks, as their cards describe them."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from small_media import png

Row = dict[str, Any]
COUNT = 24


@dataclass(frozen=True)
class Shape:
    """A benchmark's shape, and what is to be understood of it.

    Attributes:
        suffix: the format of its file.
        rows: its rows.
        id: the column of ids; `None` if rows are numbered.
        kind: the kind of answers.
        gold: the gold answer of the first row as Merilo writes it.
        says: a part of the first prompt.
        gold_is: how gold answers name an option.
        group: the metric by group.
        cluster: what dependent items share.
        wrong: the row that a bad file has in place of the last, and what is said of it.
    """

    suffix: str
    rows: list[Row]
    id: str | None
    kind: str
    gold: str
    says: str
    gold_is: str | None = None
    group: str | None = None
    cluster: str | None = None
    wrong: tuple[Row, str] | None = None
    options: list[str] = field(default_factory=list)


def rows(make: Callable[[int], Row]) -> list[Row]:
    return [make(n) for n in range(COUNT)]


def sums(n: int, count: int = 4) -> list[str]:
    """Options of the question what n plus n is; the right one is at n modulo the count."""
    return [f"{2 * n + place - n % count} apples" for place in range(count)]


def picture(n: int) -> str:
    return f"{n}.png" if n % 3 == 0 else ""


def write_pictures(folder: Path) -> None:
    """Write the pictures that the rows name."""
    (folder / "samples").mkdir()
    for n in range(0, COUNT, 3):
        (folder / "samples" / picture(n)).write_bytes(png(colour=(n, 90, 40)))


SHAPES: dict[str, Shape] = {
    "mmlu": Shape(
        "parquet",
        rows(
            lambda n: {
                "question": f"Twice {n} apples are",
                "subject": ["fruit counting", "orchards"][n % 2],
                "choices": sums(n),
                "answer": n % 4,
            }
        ),
        None,
        "choice",
        "A",
        "Twice 0 apples are\n\nA. 0 apples\nB. 1 apples\nC. 2 apples\nD. 3 apples\n\nAnswer with one letter, A, B, C or D.\nAnswer:",
        "from-0",
        "acc.{subject}",
        wrong=({"question": "?", "subject": "orchards", "choices": ["a", "b"], "answer": 4}, "answer: "),
    ),
    "arc": Shape(
        "jsonl",
        rows(
            lambda n: {
                "id": f"AP_{n}",
                "question": f"What are twice {n} apples?",
                "choices": {
                    "text": sums(n, 3 + n % 2),
                    "label": list("1234" if n % 5 == 0 else "ABCD")[: 3 + n % 2],
                },
                "answerKey": ("1234" if n % 5 == 0 else "ABCD")[n % (3 + n % 2)],
            }
        ),
        "id",
        "choice",
        "A",
        "C. 2 apples\n\nAnswer with one letter, A, B or C.",
        "label",
        wrong=(
            {
                "id": "x",
                "question": "?",
                "choices": {"text": ["a", "b"], "label": ["A", "B"]},
                "answerKey": "E",
            },
            "'E'|gold answer E",
        ),
    ),
    "hellaswag": Shape(
        "json",
        rows(
            lambda n: {
                "ind": 10 + n,
                "activity_label": ["Picking apples", "Baking"][n % 2],
                "ctx_a": f"A man picks {n} apples.",
                "ctx_b": "he",
                "ctx": f"A man picks {n} apples. he",
                "endings": [f"puts {one} into a basket." for one in sums(n)],
                "source_id": f"film~{n // 2}",
                "split_type": "indomain",
                "label": str(n % 4),
            }
        ),
        "ind",
        "choice",
        "A",
        "A man picks 0 apples. he\n\nA. puts 0 apples into a basket.",
        "from-0",
        cluster="source_id",
        wrong=({"ctx": "x", "endings": ["a", "b", "c", "d"], "label": "7", "ind": 1}, "'7'|gold answer 7"),
    ),
    "gsm8k": Shape(
        "jsonl",
        rows(
            lambda n: {
                "question": f"Anna has {n} baskets of 1000 apples and one apple. How many apples has she?",
                "answer": f"She has {n}*1000 = <<{n}*1000={n * 1000}>>{n * 1000} apples.\n#### {n * 1000 + 1:,}",
            }
        ),
        None,
        "integer",
        "1",
        "How many apples has she?\n\nAnswer with a whole number in digits.",
        wrong=({"question": "?", "answer": "Many. #### many"}, "many"),
    ),
    "triviaqa": Shape(
        "jsonl",
        rows(
            lambda n: {
                "question": f"Who planted tree number {n}?",
                "question_id": f"tq_{n}",
                "answer": {
                    "aliases": [f"John {n} Appleseed", f"Appleseed; {n}"],
                    "normalized_aliases": [f"john {n} appleseed"],
                    "value": f"Johnny {n}",
                    "type": "FreeForm",
                },
            }
        ),
        "question_id",
        "text",
        "Johnny 0|John 0 Appleseed|Appleseed; 0",
        "Who planted tree number 0?\n\nAnswer briefly",
    ),
    "boolq": Shape(
        "jsonl",
        rows(
            lambda n: {
                "question": f"are there more than {n} apples in the basket",
                "passage": f"Basket {n // 2} of the market holds twelve apples.",
                "answer": n < 12,
            }
        ),
        None,
        "choice",
        "yes",
        "holds twelve apples.\nare there more than 0 apples in the basket\n\nAnswer with one of these: yes or no.",
        cluster="passage",
    ),
    "hle": Shape(
        "jsonl",
        rows(
            lambda n: {
                "id": f"66e{n:03}",
                "question": f"Which apple is the {n}th of the orchard?",
                "image": picture(n),
                "image_preview": None,
                "answer": f"Apple of row {n}" if n % 2 else "C",
                "answer_type": "exactMatch" if n % 2 else "multipleChoice",
                "author_name": "A. Gardener",
                "rationale": f"The {n}th apple hangs in row {n}.",
                "rationale_image": None,
                "raw_subject": ["Botany", "Geometry"][n % 2],
                "category": ["Biology", "Math"][n % 2],
                "canary": "ours",
            }
        ),
        "id",
        "text",
        "C",
        "<image>\nWhich apple is the 0th of the orchard?",
        group="em.{category}",
    ),
    "squad": Shape(
        "csv",
        rows(
            lambda n: {
                "id": f"56be{n:04}",
                "title": ["Apple", "Pear"][n % 2],
                "context": f"Orchard {n // 3} was planted in 18{n // 3:02} by Mary.",
                "question": f"Question {n}: when was orchard {n // 3} planted?",
                "answers": json.dumps(
                    {"text": [f"18{n // 3:02}", f"in 18{n // 3:02}"], "answer_start": [24, 21]}
                ),
            }
        ),
        "id",
        "text",
        "1800;in 1800",
        "by Mary.\nQuestion 0: when was orchard 0 planted?",
        cluster="context",
    ),
    "medmcqa": Shape(
        "csv",
        rows(
            lambda n: {
                "id": f"m{n}",
                "question": f"Twice {n} apples are",
                **dict(zip(("opa", "opb", "opc", "opd"), sums(n), strict=True)),
                "cop": str(n % 4 + 1),
                "subject_name": "Fruit",
            }
        ),
        "id",
        "choice",
        "A",
        "B. 1 apples",
        "from-1",
        wrong=(
            {
                "id": "x",
                "question": "?",
                "opa": "a",
                "opb": "b",
                "opc": "c",
                "opd": "d",
                "cop": "5",
                "subject_name": "F",
            },
            "5",
        ),
    ),
    "gpqa": Shape(
        "csv",
        rows(
            lambda n: {
                "Question": f"Twice {n} apples are",
                "Correct Answer": f"{2 * n} apples",
                "Incorrect Answer 1": f"{2 * n + 1} apples",
                "Incorrect Answer 2": f"{2 * n + 2} apples",
                "Incorrect Answer 3": f"{2 * n + 3} apples",
                "High-level domain": ["Biology", "Physics"][n % 2],
            }
        ),
        None,
        "choice",
        "",
        "Twice 0 apples are\n\nA. ",
        "text",
    ),
}


def write(path: Path, found: list[Row]) -> Path:
    """Write rows in the format that the name says."""
    import polars as pl

    match path.suffix:
        case ".jsonl":
            path.write_text("".join(f"{json.dumps(row)}\n" for row in found), encoding="utf-8")
        case ".json":
            path.write_text(json.dumps(found), encoding="utf-8")
        case ".csv":
            pl.DataFrame(found).write_csv(path)
        case _:
            pl.DataFrame(found).write_parquet(path)
    return path
