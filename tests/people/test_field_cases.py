"""Small annotation files as people have them, and what must come out of them.

A case: name, files (name -> content), run (lists of arguments, in order), status (of the last), json (path -> value of its
standard output), says and never (texts in what it prints), why.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from command import merilo

CASES = [
    json.loads(line)
    for path in sorted((Path(__file__).parent / "field").glob("*.jsonl"))
    for line in path.read_text(encoding="utf-8").splitlines()
]


def at(tree: Any, path: str) -> Any:
    for key in path.split("."):
        tree = tree[int(key)] if isinstance(tree, list) else tree[key]
    return tree


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_file_is_read_right_or_refused(
    case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in case["files"].items():
        Path(name).write_text(content, encoding="utf-8")
    for words in case["run"]:
        done = merilo(*words)
    printed = done.out + done.err
    assert done.status == case["status"] if "status" in case else done.status in {0, 1}, printed
    for path, right in case.get("json", {}).items():
        assert at(done.json, path) == pytest.approx(right, abs=6e-4), path
    for text in case.get("says", ()):
        assert re.search(text, printed, re.IGNORECASE), printed
    for text in case.get("never", ()):
        assert not re.search(text, printed, re.IGNORECASE), printed
