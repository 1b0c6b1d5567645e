"""Items that share a text: `--cluster` and the dataset's declaration, from the baseline to its comparison with models."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command import merilo

from merilo.baselines.pool_items import fields_of, find_clusters
from merilo.errors import DataError
from merilo.items import Item

TEXTS, EACH, PEOPLE, OVERLAP = 12, 4, 10, 5
ITEM = ("--item", "text", "--item", "question")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Twelve texts with four questions each; whole texts are hard for people and for the model."""
    rng = np.random.default_rng(3)
    answers, gold, model = [], [], []
    for item in range(TEXTS * EACH):
        text, right, wrong = item // EACH, "BA"[item % 2], "AB"[item % 2]
        gold.append((item, f"question {item}", right))
        share = 0.95 - 0.4 * (text % 4 == 0)
        answers += [
            (f"text {text}", f"question {item}", f"w{person}", right if rng.random() < share else wrong)
            for person in rng.permutation(PEOPLE)[:OVERLAP]
        ]
        model.append((item, wrong if text % 4 == 1 else right))
    for name, head, rows in (
        ("answers", ["text", "question", "worker", "label"], answers),
        ("gold", ["id", "question", "gold"], gold),
        ("model", ["id", "answer"], model),
    ):
        pl.DataFrame(rows, schema=head, orient="row").write_csv(tmp_path / f"{name}.csv")
    return tmp_path


def made(study: Path, *words: object):
    return merilo("baseline", study / "answers.csv", *ITEM, "--gold", study / "gold.csv", *words)


def width(interval: list[float]) -> float:
    return interval[1] - interval[0]


def test_every_interval_of_a_baseline_takes_clusters_into_account(study: Path) -> None:
    found = made(study, "--cluster", "text", "--json", "-").json
    plain = made(study, "--json", "-").json
    acc, alone = found["metrics"]["acc"], plain["metrics"]["acc"]
    assert (acc["value"], acc["n"]) == (alone["value"], 48)
    person, one = found["single_person"], plain["single_person"]
    assert person["value"] == one["value"]
    for mine, other in ((acc, alone), (person, one), (found["agreement"], plain["agreement"])):
        assert width(mine["ci95"]) > width(other["ci95"])
    assert found["clusters"] == {
        "field": "text", "given_by": "option", "items": 48, "clusters": 12, "items_without_field": 0, "block": None,
    }  # fmt: skip
    assert plain["clusters"] is None
    assert found["provenance"]["parameters"]["cluster"] == "text"
    assert "--cluster text" in found["provenance"]["command"]


def test_a_saved_baseline_remembers_its_clusters_and_compare_uses_them(study: Path) -> None:
    made(study, "--cluster", "text", "--out", study / "shared")
    made(study, "--out", study / "alone")
    clustered, plain = (
        merilo("compare", study / name, study / "model.csv", "--json", "-").json["rows"]
        for name in ("shared", "alone")
    )
    for ours, other in zip(clustered, plain, strict=True):
        assert ours["difference"]["value"] == other["difference"]["value"]
        assert width(ours["difference"]["ci95"]) > width(other["difference"]["ci95"]), ours["beside"]
        assert ours["p"] > other["p"]


def test_items_without_the_field_are_clusters_of_their_own(study: Path) -> None:
    gold = pl.read_csv(study / "gold.csv").with_row_index("row")
    topic = pl.when(pl.col("row") < 40).then(pl.format("topic {}", pl.col("row") // 8))
    gold.with_columns(topic=topic).drop("row").write_csv(study / "gold.csv")
    outcome = made(study, "--cluster", "topic", "--json", "-")
    assert outcome.json["clusters"]["clusters"] == 5 + 8
    assert outcome.json["clusters"]["items_without_field"] == 8


def items(n: int, **fields: list) -> pl.DataFrame:
    return pl.DataFrame({"item": range(1, n + 1), **fields}, schema_overrides={"item": pl.UInt32})


def test_the_chosen_field_has_priority_and_its_absence_is_told() -> None:
    table = items(4, text=["a", "a", "b", "b"], topic=["x", "x", "x", "y"])
    found = find_clusters("topic", "text", [1, 2, 3, 4], [table])
    assert (found.field, found.given_by, found.clusters) == ("topic", "option", 2)
    assert find_clusters(None, None, [1, 2], [table]) is None
    lacking = find_clusters(None, "premise", [1, 2], [table])
    assert (lacking.field, lacking.given_by, lacking.clusters) == ("premise", "dataset", 0)
    apart = find_clusters("text", None, [1, 3], [table])
    assert (apart.clusters, apart.codes([1, 3])) == (2, None), "clusters of one item each change nothing"


def test_inputs_come_before_meta_and_meta_can_be_named() -> None:
    table = fields_of(
        {n: Item(n, "", {"text": f"t{n % 2}"}, None, {"text": "m", "book": n // 3}) for n in (1, 2, 3, 4)}
    )
    assert dict(find_clusters("text", None, [1, 2, 3, 4], [table]).code) == {1: 0, 2: 1, 3: 0, 4: 1}
    assert find_clusters("meta.book", None, [1, 2, 3, 4], [table]).clusters == 2
    with pytest.raises(DataError, match="all 4 items have the same value"):
        find_clusters("meta.text", None, [1, 2, 3, 4], [table])


def test_a_single_declared_dialogue_is_divided_into_blocks_of_neighbours() -> None:
    found = find_clusters(None, "dialog_id", [*range(1, 431)], [items(430, dialog_id=["0"] * 430)])
    assert (found.block, found.clusters) == (8, 54)
    assert found.codes(range(1, 431))[:9].tolist() == [0] * 8 + [1]


def test_a_custom_declaration_names_the_field(study: Path) -> None:
    text = "name: school\ntitle: School\nfields: [text, question]\nanswer: {kind: choice, labels: [A, B]}\nmetrics: [acc]\ncluster: text\n"
    (study / "school.yaml").write_text(text, encoding="utf-8")
    found = made(study, "--dataset", study / "school.yaml", "--json", "-").json["clusters"]
    assert (found["given_by"], found["clusters"]) == ("dataset", 12)
    data = [
        {"instruction": "", "inputs": {"text": f"text {n // EACH}", "question": f"q{n}"}, "outputs": "BA"[n % 2],
         "meta": {"id": n, "book": n // 16}}
        for n in range(48)
    ]  # fmt: skip
    (study / "test.json").write_text(json.dumps({"data": data}), encoding="utf-8")
    words = ("score", study / "model.csv", "--dataset", study / "school.yaml", "--data", study / "test.json")
    for options, field, clusters in (((), "text", 12), (("--cluster", "book"), "book", 3)):
        scored = merilo(*words, *options, "--json", "-").json
        assert scored["clusters"] == {"field": field, "clusters": clusters}
        assert f"{clusters} clusters of items" in scored["metrics"]["acc"]["interval"]
    wrong = merilo(*words, "--cluster", "txt")
    assert wrong.status == 2
    assert "no field 'txt' (did you mean 'text'? choose from: text, question, id, book)" in wrong.complaint
