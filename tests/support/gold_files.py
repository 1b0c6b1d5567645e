"""Small pools, and the files of their gold answers."""

import json
from pathlib import Path

import polars as pl

from merilo.people.gold import Gold


def pool(**fields: list[str]) -> pl.DataFrame:
    """A pool's items: a column a field."""
    return pl.DataFrame(fields).with_row_index("item", offset=1)


def split(path: Path, items: list[dict[str, object]], form: str = "v1") -> Path:
    """A split file in one of the benchmark's forms."""
    if form == "parquet":
        pl.DataFrame(items).write_parquet(path.with_suffix(".parquet"))
        return path.with_suffix(".parquet")
    if form == "jsonl":
        path = path.with_suffix(".jsonl")
        path.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
        return path
    content = {"data": {"test": items}} if form == "v1" else {"data": items, "access": "public"}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def entry(
    identity: object, outputs: object, meta: dict[str, object] | None = None, **inputs: object
) -> dict[str, object]:
    return {
        "instruction": "{question}",
        "inputs": inputs,
        "outputs": outputs,
        "meta": {"id": identity, **(meta or {})},
    }


def table(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def golds(gold: Gold) -> list[str]:
    return gold.answers["gold"].to_list()
