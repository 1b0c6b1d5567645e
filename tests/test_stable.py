"""What docs/stable.md promises is there: names, keys, files and columns. `UPDATE_DOCS=1` writes the lists anew."""

import json
import os
import re
import textwrap
from pathlib import Path

import polars as pl
import pytest

import merilo

PAGE = Path(__file__).resolve().parent.parent / "docs" / "stable.md"

#: Parts of the JSON whose keys are listed.
PARTS = ("responses", "annotators", "items", "metrics.acc", "agreement", "cost")


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Everything that is promised, by the name of its list."""
    folder = tmp_path_factory.mktemp("stable")
    rows = [
        (f"q{item}", f"p{person}", "AB"[(item + (person == item % 4)) % 2])
        for item in range(6)
        for person in range(4)
    ]
    pool = pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row")
    made = merilo.baseline(
        merilo.read_responses(pool), gold={f"q{item}": "AB"[item % 2] for item in range(6)}
    )
    made.save(folder / "base")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("merilo.reports.hb.plots.has_matplotlib", lambda: False)
        merilo.report(folder / "base", folder / "hb", authors=["An Author"])
    content = json.loads((folder / "base" / "baseline.json").read_text())
    keys = [*content]
    for part in PARTS:
        held = content
        for key in part.split("."):
            held = held[key]
        keys += [f"{part.replace('.acc', '.NAME')}.{key}" for key in held]
    tables = [folder / "base" / f"{name}.csv" for name in ("responses", "consensus", "annotators")]
    return {
        "names": sorted(merilo.__all__),
        "keys": keys,
        **{
            name: sorted(
                path.relative_to(folder / name).as_posix()
                for path in (folder / name).rglob("*")
                if path.is_file()
            )
            for name in ("base", "hb")
        },
        "columns": [
            *(f"{path.stem}.{column}" for path in tables for column in pl.read_csv(path).columns),
            *(f"answers.{column}" for column in made.answers.columns),
        ],
    }


@pytest.mark.parametrize("name", ["names", "keys", "base", "hb", "columns"])
def test_what_is_promised_is_there(lists: dict[str, list[str]], name: str) -> None:
    text = PAGE.read_text()
    block = re.compile(rf"(?<=```text {name}\n)[^`]*(?=```)")
    found = block.search(text)
    assert found is not None
    if os.environ.get("UPDATE_DOCS"):
        shown = textwrap.fill(" ".join(lists[name]), 118, break_on_hyphens=False, break_long_words=False)
        PAGE.write_text(block.sub(lambda _: f"{shown}\n", text))
        return
    promised = found[0].split()
    assert promised
    assert [one for one in promised if one not in lists[name]] == []
    assert sorted(promised) == sorted(lists[name]), "new ones are listed too: UPDATE_DOCS=1"
