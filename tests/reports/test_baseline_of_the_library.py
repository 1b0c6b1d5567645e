"""The library makes what the command line makes."""

import json
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from command import merilo as run
from model_backends import LocalBackend
from simulated_pool import simulated_pool

import merilo
from merilo.baselines.baseline import Baseline
from merilo.settings import Settings


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulated_pool(tmp_path_factory.mktemp("pool"), "lcs", 40)


def content(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_baseline_of_files_is_saved_as_the_command_saves_it_to_the_byte(
    study: Path, tmp_path: Path
) -> None:
    export, gold, model = study / "export.tsv", study / "test.json", study / "rule.jsonl"
    words = ("--dataset", "lcs", "--gold", gold, "--model", model, "--min-votes", "3")
    assert run("baseline", export, *words, "--out", tmp_path / "command").status in {0, 1}
    responses = merilo.read_responses(str(export))
    made = merilo.baseline(responses, dataset="lcs", gold=str(gold), models=[model], min_votes=3)
    made.save(tmp_path / "library")
    assert content(tmp_path / "library") == content(tmp_path / "command")
    assert made.provenance.command.startswith("merilo baseline ")


def test_the_table_of_answers_holds_people_and_models_with_points_seconds_and_cost(
    study: Path, tmp_path: Path
) -> None:
    export, gold, rule = study / "export.tsv", study / "test.json", study / "rule.jsonl"
    run_of = tmp_path / "run"
    backend = LocalBackend(lambda request: "3" if int(str(request.item)) % 2 else "?")
    merilo.run(backend, "lcs", data=gold, shots=0, out=run_of)
    log = run_of / "log" / "lcs.jsonl"
    priced = [{**json.loads(line), "cost": 0.25} for line in log.read_text().splitlines()]
    log.write_text("".join(json.dumps(one) + "\n" for one in priced))
    made = merilo.baseline(export, dataset="lcs", gold=str(gold), models=[rule, run_of], min_votes=3)
    answers = made.answers
    people = answers.filter(kind="person")
    assert people.drop("kind").equals(
        merilo.baseline(export, dataset="lcs", gold=str(gold)).answers.drop("kind")
    )
    assert people["cost"].sum() == pytest.approx(made.to_json()["cost"]["total"])
    assert people["seconds"].sum() / 3600 == pytest.approx(made.to_json()["cost"]["hours"], abs=1e-6)
    models = answers.filter(kind="model").group_by("respondent", maintain_order=True)
    for (name, given), one in zip(models, made.models[1::2], strict=True):
        assert (name[0], given.height) == (one.model, made.consensus.height)
        assert given["points"].mean() == pytest.approx(one.score.value, abs=1e-6)
        logged = name[0] != rule.stem
        assert given["cost"].to_list() == [0.25 if logged else None] * given.height
        assert (given["seconds"].null_count() == 0) == logged
        assert given["answer"].null_count() == (given.height // 2 if logged else 0)


@pytest.fixture
def frame() -> pl.DataFrame:
    rows = [
        (task, worker, "yes" if (task + (worker == "c")) % 2 else "no")
        for task in range(1, 9)
        for worker in "abc"
    ]
    return pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row")


GOLD = {str(task): "yes" if task % 2 else "no" for task in range(1, 9)}


def test_tables_of_pandas_and_polars_give_one_baseline(frame: pl.DataFrame) -> None:
    one = merilo.baseline(frame, gold=GOLD)
    other = merilo.baseline(pd.DataFrame(frame.to_dict(as_series=False)), gold=GOLD)
    assert one.to_json() == other.to_json()
    assert one.metrics["acc"].value == 1.0
    assert one.single_person.name == "acc"
    assert one.consensus.to_pandas()["label"].tolist() == list(GOLD.values())
    assert (one.annotators.height, one.items.height) == (3, 8)
    assert merilo.baseline(frame, gold=pd.Series(GOLD)).metrics == one.metrics


def test_a_baseline_of_tables_names_the_call_and_the_digest_of_the_table(frame: pl.DataFrame) -> None:
    made = merilo.baseline(frame, gold=GOLD, min_votes=2).to_json()["provenance"]
    assert made["command"] == "merilo.baseline(responses, gold='in memory', min_votes=2)"
    (table,) = made["inputs"]
    assert table["file"] == "table"
    assert len(table["sha256"]) == 64


def test_columns_of_other_names_are_named(frame: pl.DataFrame) -> None:
    renamed = frame.rename({"task": "sentence", "worker": "who", "label": "said"})
    read = merilo.read_responses(renamed, item="sentence", annotator="who", answer="said")
    assert read.items["sentence"].to_list() == [str(task) for task in range(1, 9)]
    with pytest.raises(
        merilo.UsageError,
        match=r"no column is plainly the annotator \(columns: sentence, who, said\): name it with annotator",
    ):
        merilo.read_responses(renamed, item="sentence")
    with pytest.raises(merilo.UsageError, match="takes files or tables of pandas or Polars, not int"):
        merilo.read_responses([1, 2])
    missing = pd.DataFrame({"task": [1, 1, 2], "worker": [*"aba"], "label": ["x", None, float("nan")]})
    read = merilo.read_responses(missing)
    assert (read.table.height, read.dropped) == (1, {"empty_answer": 2})
    assert set(merilo.read_responses(frame, recode={"yes": "YES"}).table["answer"]) == {"YES", "no"}


def test_labels_of_the_dataset_are_used_though_responses_were_read_before(tmp_path: Path) -> None:
    table = pl.DataFrame({"task": [1, 1, 1], "worker": [*"abc"], "label": ["true", "true", "false"]})
    made = merilo.baseline(merilo.read_responses(table), dataset="rwsd", min_votes=2)
    assert made.consensus["label"].to_list() == ["Да"]


def test_the_table_and_the_page_of_a_notebook_show_the_metric(frame: pl.DataFrame, capsys) -> None:
    made = merilo.baseline(frame, gold=GOLD)
    assert "The accuracy of the consensus of 3 annotators is 1.000" in repr(made)
    html = made._repr_html_()
    assert html.startswith("<section")
    assert "<svg" in html
    assert "<script" not in html
    assert capsys.readouterr().out == ""


def test_without_gold_the_library_is_told_of_an_argument_and_not_of_a_flag(frame: pl.DataFrame) -> None:
    shown = repr(merilo.baseline(frame))
    assert "the study has no gold answers" in shown
    assert "--" not in shown


def test_settings_are_given_together_or_by_name(frame: pl.DataFrame) -> None:
    together = merilo.baseline(frame, gold=GOLD, settings=Settings(min_votes=2, resolve="none"))
    by_name = merilo.baseline(frame, gold=GOLD, settings=Settings(min_votes=2), resolve="none")
    assert together.to_json() == by_name.to_json()
    with pytest.raises(
        merilo.UsageError, match=r"there is no setting 'min_vote' \(did you mean 'min_votes'\?"
    ):
        merilo.baseline(frame, gold=GOLD, min_vote=3)


def test_models_of_one_file_name_are_kept_apart(frame: pl.DataFrame, tmp_path: Path) -> None:
    made = merilo.baseline(frame, gold=GOLD)
    made.save(tmp_path / "baseline")
    paths = []
    for folder, answers in (("a", GOLD), ("b", {**GOLD, "1": "no"})):
        paths.append(tmp_path / folder / "model.jsonl")
        paths[-1].parent.mkdir()
        paths[-1].write_text("".join(json.dumps({"id": k, "answer": v}) + "\n" for k, v in answers.items()))
    found = merilo.compare(tmp_path / "baseline", *paths)
    assert [(row.model, row.score.value) for row in found.rows[::2]] == [("model", 1.0), ("model (2)", 0.875)]


def test_integer_labels_stay_integers_beside_ties() -> None:
    rows = [(1, "a", 0), (1, "b", 0), (2, "a", 0), (2, "b", 1)]
    table = pd.DataFrame(rows, columns=["task", "worker", "label"])
    labels = merilo.aggregate(table, method="majority")["label"]
    assert str(labels.iloc[0]) == "0"
    assert pd.isna(labels.iloc[1])


def answered_by_three(ids: list, **fields: str) -> pl.DataFrame:
    """Two of three people are right: "no" to the first item, "yes" to the second, and so on."""
    rows = [
        {
            "task": one,
            **{name: text.format(one) for name, text in fields.items()},
            "worker": worker,
            "label": "yes" if (place + (worker == "c")) % 2 else "no",
        }
        for place, one in enumerate(ids)
        for worker in "abc"
    ]
    return pl.DataFrame(rows)


def share_of(made: Baseline | Path, answers: dict) -> tuple[float, int]:
    score = merilo.compare(made, {"m": answers}).rows[0].score
    return score.value, score.n


@pytest.mark.parametrize(
    "ids",
    [
        [*range(1, 9)],
        [*range(8, 0, -1)],
        [*range(101, 109)],
        [f"q/{n}" for n in range(8)],
        [f"{n:03}" for n in range(8)],
        [f"Which  of  the {n} sides is red?" for n in range(8)],
    ],
    ids=["numbers", "backwards", "from 101", "texts", "zeros", "questions"],
)
@pytest.mark.parametrize("table", [False, True], ids=["mapping", "table"])
def test_answers_of_models_are_matched_by_the_ids_of_the_gold_answers(ids: list, table: bool) -> None:
    gold = {one: "yes" if place % 2 else "no" for place, one in enumerate(ids)}
    given = pd.DataFrame({"task": list(gold), "gold": list(gold.values())}) if table else gold
    made = merilo.baseline(answered_by_three(ids), gold=given)
    # Six answers are right: the last two are exchanged.
    answers = {**gold, ids[-1]: gold[ids[-2]], ids[-2]: gold[ids[-1]]}
    assert share_of(made, answers) == (0.75, 8)
    assert share_of(made, {str(one): answer for one, answer in answers.items()}) == (0.75, 8)


def test_items_of_several_fields_take_a_mapping_by_their_ids_or_a_table_with_ids(tmp_path: Path) -> None:
    ids = [f"k{n}" for n in range(8)]
    gold = {one: "yes" if place % 2 else "no" for place, one in enumerate(ids)}
    answers = {**gold, "k0": "yes"}
    pool = answered_by_three(ids, premise="premise of {}", hypothesis="hypothesis of {}").rename(
        {"task": "id"}
    )
    with_ids = merilo.read_responses(pool, item=["id", "premise", "hypothesis"])
    made = merilo.baseline(with_ids, gold=gold)
    assert share_of(made, answers) == (0.875, 8)
    made.save(tmp_path / "baseline")
    assert share_of(tmp_path / "baseline", answers) == (0.875, 8)
    texts = merilo.read_responses(pool, item=["premise", "hypothesis"])
    table = pool.unique(["id"]).select("id", "premise", "hypothesis", gold=pl.col("id").replace_strict(gold))
    for given in (table, table.to_pandas(), table.reverse()):
        assert share_of(merilo.baseline(texts, gold=given), answers) == (0.875, 8)
    numbered = table.with_columns(id=100 + pl.col("id").str.slice(1).cast(int))
    by_number = {100 + int(one[1:]): answer for one, answer in answers.items()}
    assert share_of(merilo.baseline(texts, gold=numbered), by_number) == (0.875, 8)
    with pytest.raises(merilo.UsageError, match=r"takes a table, because items have 2 fields"):
        merilo.baseline(texts, gold=gold)
