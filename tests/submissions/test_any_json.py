"""Reading any file of a submission gives answers and listed errors, without an exception."""

import json
import os
import subprocess
import sys
from pathlib import Path

from gold_sets import TITLES, documents, gold_split, right_answer, write_gold, write_zip
from hypothesis import given, settings
from hypothesis import strategies as st

from merilo.datasets import dataset
from merilo.metrics.scoring import score
from merilo.submissions.submitted_answers import KINDS, parse_file, read_answers

keys = st.sampled_from(
    ["data", "test", "outputs", "meta", "id", "dialog_id", "question_id", "virtue"]
) | st.text(max_size=3)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)
answers = st.fixed_dictionaries(
    {}, optional={"outputs": values, "meta": values | st.fixed_dictionaries({"id": st.integers(0, 6)})}
)


@settings(deadline=None)
@given(
    st.sampled_from(TITLES), values | st.lists(answers, max_size=6).map(lambda test: {"data": {"test": test}})
)
def test_any_json_is_answers_and_errors(title: str, content) -> None:
    declared = dataset(title)
    split = gold_split(declared, 3)
    found = read_answers(content, declared, split.items)
    ids = {item.id for item in split}
    assert set(found.given) <= ids
    assert {one.kind for one in found.faults} <= set(KINDS)
    assert found.fault_count == len(found.faults)
    assert found.faults or set(found.given) == ids, "missing answers are reported"
    json.dumps([one.content() for one in found.faults])
    if declared.name != "use":
        score(declared, split.items, found.given)


@settings(deadline=None)
@given(st.binary(max_size=60) | st.text('[]{}",:01e-.\\u nulltruefalseNaN', max_size=60).map(str.encode))
def test_any_bytes_are_json_or_one_error(content: bytes) -> None:
    value, why = parse_file(content, "BPS.json")
    assert value is None if why else json.loads(content.decode("utf-8-sig")) == value


def test_scoring_loads_nothing_heavy(tmp_path: Path) -> None:
    heavy = {"scipy.stats", "scipy.sparse", "sklearn", "polars", "pandas", "torch", "matplotlib"}
    splits = {title: gold_split(dataset(title), 10) for title in TITLES}
    gold = write_gold(tmp_path / "gold", splits)
    path = write_zip(
        tmp_path / "s.zip",
        {title: documents(dataset(title), split, right_answer) for title, split in splits.items()},
    )
    script = (
        "import sys; from merilo.cli import main; main(sys.argv[1:]);"
        f"sys.exit(', '.join(sorted({heavy!r} & set(sys.modules))) or 0)"
    )
    words = ["submission", "score", str(path), "--gold", str(gold), "--json", "-"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", script, *words], capture_output=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
