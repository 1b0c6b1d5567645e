"""Gold answers from tables and split files, joined to the items of a pool."""

import json
from importlib.resources import files
from pathlib import Path

import polars as pl
import pytest
from gold_files import entry, golds, pool, split, table

from merilo.datasets import dataset, names
from merilo.errors import DataError, InputError, MeriloError
from merilo.items import read_split
from merilo.metrics.scoring import score
from merilo.people.gold import normalise_gold, read_gold
from merilo.people.gold_file import records
from merilo.people.spelling import classes

# The dataset's own split file


@pytest.mark.parametrize("form", ["v1", "v2", "jsonl", "parquet"])
def test_a_split_file_gives_its_items_unchanged(tmp_path: Path, form: str) -> None:
    meta = {"domain": "sea", "score": 2}
    path = split(
        tmp_path / "test.json",
        [entry(7, "A", meta, question="q 1"), entry(9, "B", meta, question="q2")],
        form,
    )
    gold = read_gold(path, pool(question=["q2", "q 1", "q3"]))
    assert golds(gold) == ["B", "A"]
    assert gold.answers["id"].to_list() == ["9", "7"]
    assert gold.without_gold == (3,)
    assert gold.column == "outputs"
    assert gold.warnings == ()
    first = gold.items[2]
    assert (first.id, first.instruction, first.inputs, first.outputs) == (
        7,
        "{question}",
        {"question": "q 1"},
        "A",
    )
    assert first.meta == {"id": 7, "domain": "sea", "score": 2}


def test_the_first_form_gives_its_test_and_not_its_shots(tmp_path: Path) -> None:
    content = {"data": {"shots": [entry(1, "B", question="q")], "test": [entry(2, "A", question="q")]}}
    path = table(tmp_path / "d.json", json.dumps(content))
    assert read_gold(path, pool(question=["q"])).items[1].id == 2


def test_criteria_stay_a_dictionary_of_texts(tmp_path: Path) -> None:
    ethics = dataset("ruEthics")
    outputs = dict.fromkeys(ethics.answer.criteria, 1)
    path = split(tmp_path / "t.json", [entry(1, outputs, {"question": "correct"}, text="t")])
    gold = read_gold(path, pool(text=["t"]), form=ethics.answer)
    assert json.loads(golds(gold)[0]) == outputs
    item = gold.items[1]
    assert item.outputs == dict.fromkeys(ethics.answer.criteria, "1")
    answers = {item.id: dict.fromkeys(ethics.answer.criteria, "1")}
    assert "correct.virtue" in score(ethics, [item], answers).extra


def test_criteria_without_a_choice_are_refused_by_name(tmp_path: Path) -> None:
    path = split(tmp_path / "t.json", [entry(1, {"virtue": "1", "law": "0"}, text="t")])
    with pytest.raises(InputError, match="virtue, law; choose one of them with gold_column"):
        read_gold(path, pool(text=["t"]))
    chosen = read_gold(path, pool(text=["t"]), answer="law")
    assert (golds(chosen), chosen.column, chosen.items[1].outputs) == (["0"], "outputs.law", "0")


def test_turns_of_a_dialogue_are_known_by_both_numbers(tmp_path: Path) -> None:
    turns = [
        {**entry(None, "1", question=f"q{n}"), "meta": {"dialog_id": 3, "question_id": n}} for n in range(2)
    ]
    path = table(tmp_path / "t.json", json.dumps({"data": {"test": [turns]}}))
    gold = read_gold(path, pool(question=["q1"]))
    assert gold.items[1].id == "3/1"
    assert gold.answers["id"].to_list() == ["3/1"]


def test_a_closed_test_is_refused(tmp_path: Path) -> None:
    for outputs in ("", [], {}, {"virtue": ""}, None):
        path = split(tmp_path / "t.json", [entry(1, outputs, question="q")])
        with pytest.raises(MeriloError, match=r"no row has a gold answer|choose one of them"):
            read_gold(path, pool(question=["q"]))


def test_several_right_answers_in_a_list_become_one_text(tmp_path: Path) -> None:
    path = split(tmp_path / "t.json", [entry(1, ["1932", "в 1932 году"], question="q")])
    multiq = dataset("MultiQ").answer
    assert read_gold(path, pool(question=["q"]), form=multiq).items[1].outputs == "1932;в 1932 году"
    with pytest.raises(InputError, match="row 1, outputs: is a list, but one gold answer is expected"):
        read_gold(path, pool(question=["q"]))


@pytest.mark.parametrize("name", names())
def test_a_pool_of_every_dataset_gets_its_items_from_the_split_file(name: str) -> None:
    """The pool shows the inputs with white space folded, in another order and without instructions."""
    path = Path(str(files("merilo.datasets") / "examples" / f"{name}.json"))
    items = list(reversed(read_split(path).items))
    shown = [item.inputs if isinstance(item.inputs, dict) else {"shown": item.inputs} for item in items]
    fields = list(dict.fromkeys(field for inputs in shown for field in inputs))
    texts = {field: [" ".join(str(inputs.get(field, "")).split()) for inputs in shown] for field in fields}
    if name == "ruethics":  # one text is asked about three times, and only this tells the questions apart
        texts["question"] = [str(item.meta["question"]) for item in items]
    labels = sorted({str(item.outputs) for item in items})
    gold = read_gold(path, pool(**texts), answer="answer", labels=labels, form=dataset(name).answer)
    assert gold.without_gold == ()
    assert gold.warnings == ()
    assert [gold.items[number] for number in range(1, len(items) + 1)] == items


# Items of a table


def test_a_table_gives_items_of_the_fields_that_the_pool_shows(tmp_path: Path) -> None:
    path = table(
        tmp_path / "g.csv",
        "id,question,gold,meta.domain,score,variant,id_task,year\n7,q1,A,sea,2,1,8_0,1990\n8,q2,B,,x,2,16,\n",
    )
    gold = read_gold(path, pool(question=["q1", "q2"], picture=["a", "b"]))
    assert gold.items[1].id == 7
    assert gold.items[1].inputs == {"question": "q1", "picture": "a"}
    assert gold.items[1].instruction == ""
    assert gold.items[1].meta == {
        "id": "7", "domain": "sea", "score": 2, "variant": 1, "id_task": "8_0", "year": "1990"
    }  # fmt: skip
    assert gold.items[2].meta == {"id": "8", "score": "x", "variant": 2, "id_task": "16"}


def test_ids_of_a_table_are_texts_unless_all_are_whole_numbers(tmp_path: Path) -> None:
    path = table(tmp_path / "g.csv", "id,question,gold\n007,q1,A\n8,q2,B\n")
    assert [item.id for item in read_gold(path, pool(question=["q1", "q2"])).items.values()] == ["007", "8"]


def test_an_item_without_an_id_never_takes_that_of_another(tmp_path: Path) -> None:
    path = table(tmp_path / "g.csv", "id,question,gold\n2,q1,A\n,q2,B\n,q3,B\n")
    gold = read_gold(path, pool(question=["q1", "q2", "q3"]))
    assert [item.id for item in gold.items.values()] == [2, "item 2", 3]
    assert gold.answers["id"].to_list() == ["2", None, None]


# Which column


def test_a_column_called_gold_wins_over_one_called_like_the_answers(tmp_path: Path) -> None:
    """The column with the name of the pool's answers has a model's answers, half of which are wrong."""
    for name in ("gold", "outputs", "answer_gold", "correct"):
        path = table(tmp_path / "g.csv", f"question,label,{name}\nq1,A,A\nq2,A,B\n")
        gold = read_gold(path, pool(question=["q1", "q2"]), answer="OUTPUT:label")
        assert golds(gold) == ["A", "B"]
        assert gold.column == name
        assert f"taken from the column '{name}', not from 'label'" in gold.warnings[0].en


def test_the_column_is_named_as_the_file_has_it(tmp_path: Path) -> None:
    path = table(tmp_path / "g.tsv", "INPUT:question\tOUTPUT:label\nq1\tA\n")
    gold = read_gold(path, pool(question=["q1"]), answer="OUTPUT:label")
    assert (golds(gold), gold.column, gold.warnings) == (["A"], "OUTPUT:label", ())


def test_an_empty_column_is_passed_over_without_a_word(tmp_path: Path) -> None:
    path = table(tmp_path / "g.csv", "question,gold,answer\nq1,,A\n")
    gold = read_gold(path, pool(question=["q1"]))
    assert (gold.column, gold.warnings) == ("answer", ())


def test_a_named_column_needs_no_warning(tmp_path: Path) -> None:
    path = table(tmp_path / "g.csv", "question,gold,label\nq1,B,A\n")
    gold = read_gold(path, pool(question=["q1"]), answer="label", column="label")
    assert (golds(gold), gold.column, gold.warnings) == (["A"], "label", ())


def test_an_input_of_the_split_is_no_right_answer(tmp_path: Path) -> None:
    """The pool does not show the field 'answer', which is a part of the question."""
    path = split(tmp_path / "t.json", [entry(1, "A", question="q1", answer="is it so?")])
    gold = read_gold(path, pool(question=["q1"]), answer="answer")
    assert (golds(gold), gold.column) == (["A"], "outputs")


# Spelling


def test_labels_take_the_spelling_of_the_pool_and_alternatives_keep_their_own(tmp_path: Path) -> None:
    path = table(tmp_path / "g.csv", 'question,gold\nq1,1.0\nq2,"1,0"\n')
    items = pool(question=["q1", "q2"])
    assert golds(read_gold(path, items, labels=["0", "1"])) == ["1", "1"]
    kept = read_gold(path, items, labels=["0", "1"], alternatives=",")
    assert golds(kept) == ["1", "1,0"]
    exam = read_gold(path, items, labels=["0", "1"], form=dataset("USE").answer)
    assert golds(exam) == ["1.0", "1,0"]
    assert exam.items[2].outputs == "1,0"


def test_other_answers_reach_the_items(tmp_path: Path) -> None:
    path = table(tmp_path / "g.csv", "question,gold\nq1,Ёж\nq2,лис\n")
    gold = read_gold(path, pool(question=["q1", "q2"]))
    made = classes(["еж", "лис"], [2, 1], ["case", "yo"])
    after = normalise_gold(gold, made)
    assert golds(after) == ["еж", "лис"]
    assert [item.outputs for item in after.items.values()] == ["еж", "лис"]
    assert gold.items[1].outputs == "Ёж"


@pytest.mark.parametrize("word", ["nan", "NaN", "None", "null"])
def test_a_word_for_an_empty_cell_is_told(tmp_path: Path, word: str) -> None:
    path = table(tmp_path / "g.csv", f"question,gold\nq1,A\nq2,{word}\n")
    items = pool(question=["q1", "q2"])
    assert f"row 3: the gold answer is '{word}'" in read_gold(path, items, labels=["A"]).warnings[0].en
    assert read_gold(path, items, labels=["A", word]).warnings == ()


def test_nan_of_a_parquet_file_is_an_empty_cell(tmp_path: Path) -> None:
    path = tmp_path / "g.parquet"
    pl.DataFrame({"question": ["q1", "q2"], "gold": [1.0, float("nan")]}).write_parquet(path)
    gold = read_gold(path, pool(question=["q1", "q2"]), labels=["0", "1"])
    assert (golds(gold), gold.without_gold) == (["1"], (2,))


# Files that cannot be read


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("g.csv", b"", "g.csv: the file is empty"),
        ("g.csv", b"question,gold\n", "g.csv: has no rows"),
        ("g.csv", "question,gold\nвопрос,A\n".encode("cp1251"), "g.csv, row 2: is not UTF-8 text"),
        ("g.csv", b"question,gold\nq1\n", "ends in the middle of a row"),
        ("g.csv", b"question,gold,gold\nq1,A,B\n", "two columns have this name"),
        ("g.json", b'{"data": {"test": [{"inputs": {"question": "q1"}, "outp', "is not JSON"),
        ("g.json", b'{"data": {"test": {"inputs": "q1"}}}', "has no list of items"),
        ("g.json", b'{"data": {"test": []}}', "has no records"),
        ("g.json", b"[1]", "row 1: is not a JSON object"),
        ("g.json", b'[{"question": "q1", "gold": NaN}]', "NaN is not a JSON number"),
        ("g.jsonl", b'{"question": "q1", "gold": "A"}\n[]\n', "row 2: is not a JSON object"),
        ("g.parquet", b"PAR1", "is not a readable Parquet file"),
        ("g.json", '[{"question": "вопрос"}]'.encode("cp1251"), "is not UTF-8 text"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_a_sentence(
    tmp_path: Path, name: str, content: bytes, says: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_gold(path, pool(question=["q1"]))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_huge_cell_is_cut_in_a_message(tmp_path: Path) -> None:
    path = table(tmp_path / "g.csv", f"question,gold\nq1,{'A' * 1_000_000}\nq1,B\n")
    with pytest.raises(DataError) as caught:
        read_gold(path, pool(question=["q1"]))
    assert len(str(caught.value)) < 500


def test_records_lay_a_split_open(tmp_path: Path) -> None:
    path = split(tmp_path / "t.json", [entry(1, {"virtue": 1}, {"domain": "sea"}, question=" q  1 ")])
    row = records(path).row(0, named=True)
    assert row["row"] == 1
    assert (row["question"], row["outputs.virtue"], row["id"], row["meta.domain"]) == ("q 1", "1", "1", "sea")
