"""Gold answers of files, tables and solvers, joined to the items of a pool."""

import json
from importlib.resources import files
from pathlib import Path

import polars as pl
import pytest
from exports import written
from hypothesis import given
from hypothesis import strategies as st

from merilo.datasets import dataset, names
from merilo.datasets.dataset_files import read_split
from merilo.datasets.solvers import SOLVERS
from merilo.errors import DataError, InputError, MeriloError
from merilo.metrics.scoring import score
from merilo.people.gold import Gold, read_gold, solved_gold


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


def golds(gold: Gold) -> list[str]:
    return gold.answers["gold"].to_list()


# The dataset's own split file


@pytest.mark.parametrize("form", ["v1", "v2", "jsonl", "parquet"])
def test_a_split_file_gives_its_items_unchanged(tmp_path: Path, form: str) -> None:
    meta = {"domain": "sea", "score": 2}
    entries = [
        entry(7, "A", meta, question="q 1", context="c"),
        entry(9, "B", meta, question="q2", context="c"),
    ]
    path = split(tmp_path / "test.json", entries, form)
    gold = read_gold(path, pool(question=["q2", "q 1", "q3"]))
    assert golds(gold) == ["B", "A"]
    assert gold.answers["id"].to_list() == ["9", "7"]
    assert gold.facts.items_without_gold == (3,)
    assert gold.facts.column == "outputs"
    first = gold.items[2]
    assert (first.id, first.instruction, first.inputs, first.outputs) == (
        7,
        "{question}",
        {"question": "q 1", "context": "c"},
        "A",
    )
    assert first.meta == {"id": 7, "domain": "sea", "score": 2}


def test_criteria_stay_a_dictionary_of_texts(tmp_path: Path) -> None:
    ethics = dataset("ruEthics")
    outputs = dict.fromkeys(ethics.answer.criteria, 1)
    path = split(tmp_path / "t.json", [entry(1, outputs, {"question": "correct"}, text="t")])
    gold = read_gold(path, pool(text=["t"]), dataset=ethics)
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
    assert (golds(chosen), chosen.facts.column, chosen.items[1].outputs) == (["0"], "outputs.law", "0")


def test_turns_of_a_dialogue_are_known_by_both_numbers(tmp_path: Path) -> None:
    turns = [
        {**entry(None, "1", question=f"q{n}"), "meta": {"dialog_id": 3, "question_id": n}} for n in range(2)
    ]
    path = written(tmp_path / "t.json", json.dumps({"data": {"test": [turns]}}))
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
    multiq = dataset("MultiQ")
    assert read_gold(path, pool(question=["q"]), dataset=multiq).items[1].outputs == "1932;в 1932 году"
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
    gold = read_gold(path, pool(**texts), answer="answer", dataset=dataset(name))
    assert gold.facts.items_without_gold == ()
    assert [gold.items[number] for number in range(1, len(items) + 1)] == items


# Items of a table


def test_a_table_gives_items_of_the_fields_that_the_pool_shows(tmp_path: Path) -> None:
    path = written(
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


#: The file, the pool, and how it is read -> the gold answers, their column, and the items' ids.
TABLES = {
    **{
        f"{name} before the name of the answers": (
            f"question,label,{name}\nq1,A,A\nq2,A,B\n",
            {"question": ["q1", "q2"]},
            {"answer": "OUTPUT:label"},
            (["A", "B"], name, ["q1", "q2"]),
        )
        for name in ("gold", "outputs", "answer_gold", "correct")
    },
    "an empty column": ("question,gold,answer\nq1,,A\n", {"question": ["q1"]}, {}, (["A"], "answer", ["q1"])),
    "a named column": (
        "question,gold,correct\nq1,B,A\n", {"question": ["q1"]}, {"column": "correct"}, (["A"], "correct", ["q1"])
    ),
    "as they are written": (
        'question,gold\nq1,1.0\nq2,"1,0"\n', {"question": ["q1", "q2"]}, {}, (["1.0", "1,0"], "gold", ["q1", "q2"])
    ),
    "letter case of names": ("Question,gold\nq1,A\n", {"question": ["q1"]}, {}, (["A"], "gold", ["q1"])),
    "an id is enough": ("id,gold\n1,A\n2,B\n", {"idx": ["2.0", "1"], "picture": ["a", "b"]}, {}, (["B", "A"], "gold", [2, 1])),
    "fewer fields": ("question,gold\nq1,A\nq2,B\n", {"picture": ["x", "y"], "question": ["q2", "q1"]}, {}, (["B", "A"], "gold", [1, 2])),
    "ids are texts unless all are numbers": (
        "id,question,gold\n007,q1,A\n8,q2,B\n", {"question": ["q1", "q2"]}, {}, (["A", "B"], "gold", ["007", "8"])
    ),
    "an item without an id takes none of another": (
        "id,question,gold\n2,q1,A\n,q2,B\n,q3,B\n", {"question": ["q1", "q2", "q3"]}, {}, (["A", "B", "B"], "gold", [2, "item 2", 3])
    ),
    "a bare name beside a platform's": (
        "INPUT:question,question,input_row,row,gold\nx,q1,a,b,A\n", {"question": ["q1"]}, {}, (["A"], "gold", ["q1"])
    ),
    "rows in another order": (
        "question,gold\n" + "".join(f"question {n},{n}\n" for n in range(500)),
        {"question": [f"question {n * 7919 % 500}" for n in range(500)]},
        {},
        ([str(n * 7919 % 500) for n in range(500)], "gold", [*range(1, 501)]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TABLES)
def test_a_table_joins_by_ids_or_fields_of_equal_names(tmp_path: Path, case: str) -> None:
    content, fields, how, expected = TABLES[case]
    gold = read_gold(written(tmp_path / "g.csv", content), pool(**fields), **how)
    assert (golds(gold), gold.facts.column, [item.id for item in gold.items.values()]) == expected


REFUSED = {
    "question,gold,correct\nq1,A,B\n": "gold, correct may all hold the gold answers",
    "id,question,gold\n1,q1,A\n2,q2,A\n1,q3,B\n": "row 4, id: has the same id '1' as row 2",
    "question,gold\nq1,A\nq3,A\nq1,B\n": "row 4: has the same question as row 2 and another gold answer ('B', not 'A')",
    "n,comment,gold\n1,text 1,A\n": "items have question, options, the file has n, comment, gold",
    "question,gold\nq1,A\nq2,B\n": "row 3: matches several items of the pool (items 2 and 3): they have the same question and differ "
    "in options, which the file lacks",
    "question,topic,gold\nq8,sea,A\n": "no row matches an item of the pool: the pool begins with question 'q1', options 'x'; the file "
    "begins with question 'q8', topic 'sea'",
    f"question,gold\nq1,{'A' * 1_000_000}\nq1,B\n": "another gold answer",
}


@pytest.mark.parametrize("content", REFUSED, ids=REFUSED.values())
def test_a_table_that_does_not_join_is_refused_in_a_short_sentence(tmp_path: Path, content: str) -> None:
    with pytest.raises(MeriloError) as caught:
        read_gold(
            written(tmp_path / "g.csv", content), pool(question=["q1", "q2", "q2"], options=["x", "x", "y"])
        )
    assert REFUSED[content] in str(caught.value)
    assert len(str(caught.value)) < 500


def test_an_input_of_the_split_is_no_right_answer(tmp_path: Path) -> None:
    """The pool does not show the field 'answer', which is a part of the question."""
    path = split(tmp_path / "t.json", [entry(1, "A", question="q1", answer="is it so?")])
    gold = read_gold(path, pool(question=["q1"]), answer="answer")
    assert (golds(gold), gold.facts.column) == (["A"], "outputs")


def test_nan_of_a_parquet_file_is_an_empty_cell(tmp_path: Path) -> None:
    path = tmp_path / "g.parquet"
    pl.DataFrame({"question": ["q1", "q2"], "gold": [1.0, float("nan")]}).write_parquet(path)
    gold = read_gold(path, pool(question=["q1", "q2"]))
    assert (golds(gold), gold.facts.items_without_gold) == (["1.0"], (2,))


# Files that cannot be read


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("g.csv", b"", "g.csv: the file is empty"),
        ("g.csv", b"question,gold\n", "g.csv: has no rows"),
        ("g.csv", "question,gold\nвопрос,A\n".encode("cp1251"), "g.csv, row 2: is not UTF-8 text"),
        ("g.json", b'{"data": {"test": {"inputs": "q1"}}}', "has no list of items"),
        ("g.json", b'{"data": {"test": []}}', "has no records"),
        ("g.json", b"[1]", "row 1: is not a JSON object"),
        ("g.jsonl", b'{"question": "q1", "gold": "A"}\n[]\n', "row 2: is not a JSON object"),
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


# By id


@pytest.mark.parametrize("field", ["id", "ID", "idx", "item_id", "meta.id", "input_id"])
def test_items_join_on_an_id_that_both_sides_have(tmp_path: Path, field: str) -> None:
    """The same question has two ids with different gold answers."""
    path = split(tmp_path / "t.json", [entry(5, "A", question="q"), entry(6, "B", question="q")])
    gold = read_gold(path, pool(**{field: ["6", "5"], "question": ["q", "q"]}))
    assert golds(gold) == ["B", "A"]
    assert [item.id for item in gold.items.values()] == [6, 5]


def test_a_number_that_is_no_id_of_the_dataset_does_not_join(tmp_path: Path) -> None:
    """The pool numbers its items, and these numbers are ids of other items in the file."""
    path = split(tmp_path / "t.json", [entry(n, "AB"[n % 2], question=f"q{n}") for n in range(20)])
    items = pool(idx=[str(n) for n in range(1, 20)], question=[f"q{n}" for n in range(19)])
    gold = read_gold(path, items)
    assert golds(gold) == ["AB"[n % 2] for n in range(19)]
    assert [item.id for item in gold.items.values()] == list(range(19))


def test_a_text_that_was_edited_joins_by_its_id(tmp_path: Path) -> None:
    path = split(tmp_path / "t.json", [entry(n, "A", question=f"q{n}") for n in range(20)])
    questions = [f"q{n}" for n in range(19)] + ["q19, edited"]
    gold = read_gold(path, pool(id=[str(n) for n in range(20)], question=questions))
    assert gold.answers.height == 20


def test_rows_that_differ_in_what_the_pool_does_not_show_are_refused(tmp_path: Path) -> None:
    for answers in ("AB", "AA"):
        rows = [entry(n, answers[n], question="q", context=f"c{n}", topic="t") for n in range(2)]
        path = split(tmp_path / "t.json", rows)
        with pytest.raises(DataError) as caught:
            read_gold(path, pool(question=["q"]))
        said = str(caught.value)
        assert "row 2: has the same question as row 1" in said
        assert "the rows differ in context, which the pool does not have: add a column 'context'" in said
        assert ("another gold answer ('B', not 'A')" in said) == (answers == "AB")


def test_questions_about_one_text_that_the_pool_does_not_tell_apart_are_refused(tmp_path: Path) -> None:
    """Even where their gold answers are equal: the criteria of ethics depend on the question."""
    ethics = dataset("ruethics")
    outputs = dict.fromkeys(ethics.answer.criteria, "1")
    rows = [entry(n, outputs, {"question": name}, text="t") for n, name in enumerate(("correct", "good"))]
    with pytest.raises(DataError, match=r"differ in meta\.question, .*: add a column 'question'"):
        read_gold(split(tmp_path / "t.json", rows), pool(text=["t"]), dataset=ethics)


def test_rows_that_nobody_was_asked_may_be_ambiguous(tmp_path: Path) -> None:
    rows = [entry(n, "AB"[n], question="q", context=f"c{n}") for n in range(2)]
    path = split(tmp_path / "t.json", [*rows, entry(3, "A", question="other", context="c")])
    gold = read_gold(path, pool(question=["other"]))
    assert (golds(gold), gold.facts.rows_without_item) == (["A"], (1, 2))


def test_a_field_of_meta_that_the_pool_shows_tells_rows_apart(tmp_path: Path) -> None:
    """Three questions share one text, and `meta` identifies the question."""
    rows = [entry(n, "01"[n], {"question": name}, text="t") for n, name in enumerate(("good", "ethical"))]
    path = split(tmp_path / "t.json", rows)
    gold = read_gold(path, pool(text=["t", "t"], question=["ethical", "good"]))
    assert golds(gold) == ["1", "0"]


def test_a_question_that_a_dialogue_repeats_is_known_by_its_turn(tmp_path: Path) -> None:
    """The gold answer to a repeated question depends on the turns in between."""
    asked = ["What is your name?", "Will you be Igor?", "What is your name?"]
    turns = [
        {
            "inputs": {"question": text, "choice1": "Ignat"},
            "outputs": right,
            "meta": {"dialog_id": 0, "question_id": n},
        }
        for n, (text, right) in enumerate(zip(asked, "122", strict=True))
    ]
    gold = read_gold(split(tmp_path / "t.json", turns), pool(turn=["1", "2", "3"], question=asked))
    assert golds(gold) == ["1", "2", "2"]
    assert [item.id for item in gold.items.values()] == ["0/0", "0/1", "0/2"]


def test_one_answer_twice_is_told_with_what_differs(tmp_path: Path) -> None:
    rows = [entry(n, "A", {"domain": f"d{n}"}, question="q") for n in range(3)]
    gold = read_gold(split(tmp_path / "t.json", rows), pool(question=["q"]))
    assert (golds(gold), gold.items[1].id) == (["A"], 0)


def test_another_dataset_with_the_same_ids_is_refused(tmp_path: Path) -> None:
    path = split(tmp_path / "t.json", [entry(n, "A", question=f"other {n}") for n in range(5)])
    with pytest.raises(DataError, match="no row matches an item of the pool"):
        read_gold(path, pool(id=[str(n) for n in range(5)], question=[f"q{n}" for n in range(5)]))


RECORDS = st.dictionaries(
    st.sampled_from(
        ["question", "inputs", "outputs", "meta", "id", "gold", "label", "answer", "instruction", "row", "item", "at",
         "INPUT:question", "OUTPUT:question", "input_row", "correct", "data"]
    ),
    st.sampled_from(
        ["a", "b", "", "1", "1.0", "q1", "None", "x;y", "\x1f", "\n", "ё", None, True, 1, 2.5, 10**400, [], ["a"], {},
         {"x": 1}, {"id": 3}]
    ),
    min_size=1,
    max_size=6,
)  # fmt: skip
SHOWN = st.sampled_from(["question", "text", "input_item", "input_row", "id", "gold", "inputs", "data"])


@given(
    st.lists(RECORDS, min_size=1, max_size=5), st.lists(SHOWN, min_size=1, max_size=3, unique=True), st.data()
)
def test_any_records_give_items_or_a_sentence(
    records: list[dict[str, object]], fields: list[str], data: st.DataObject
) -> None:
    texts = st.tuples(*(st.sampled_from(["a", "b", "1", "q1", "3", None]) for _ in fields))
    rows = data.draw(st.lists(texts, min_size=1, max_size=4, unique=True))
    columns = zip(*rows, strict=True)
    try:
        gold = read_gold(records, pool(**dict(zip(fields, map(list, columns), strict=True))))
    except MeriloError as error:
        refused = error
        gold = None
    if gold is None:
        assert "\n" not in str(refused)
        return
    assert list(gold.items) == gold.answers["item"].to_list()
    assert len({item.id for item in gold.items.values()}) == len(gold.items)
    assert gold.answers["id"].drop_nulls().is_unique().all()
    assert sorted([*gold.items, *gold.facts.items_without_gold]) == [*range(1, len(rows) + 1)]


def test_a_solver_gives_items_by_the_pools_numbers() -> None:
    gold = solved_gold(pool(string1=["ABC"], string2=["BC"]), SOLVERS["lcs"], "lcs")
    assert golds(gold) == ["2"]
    assert gold.facts.column is None
    item = gold.items[1]
    assert (item.id, item.inputs, item.outputs) == (1, {"string1": "ABC", "string2": "BC"}, "2")


def test_items_that_a_solver_cannot_answer_have_no_gold() -> None:
    items = pool(idx=[*"123456"], inputs=["4 / 2 = ", "1 / 2 = ", "1 / 0 = ", "x", "1 / 3 = ", "7 - 9 = "])
    gold = solved_gold(items, SOLVERS["rumultiar"], "rumultiar")
    assert golds(gold) == ["2", "-2"]
    assert gold.facts.unsolved == (2, 3, 4, 5)
    assert gold.facts.items_without_gold == ()
    assert sorted(gold.items) == [1, 6]


def test_a_solver_that_answers_nothing_is_of_another_dataset() -> None:
    with pytest.raises(DataError, match="the solver of lcs can answer no item; item 1: expected two words"):
        solved_gold(pool(text=["one", "one two three"]), SOLVERS["lcs"], "lcs")
