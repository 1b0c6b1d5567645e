"""Rows of a file of gold answers are joined to the items of a pool."""

from pathlib import Path

import polars as pl
import pytest
from gold_files import entry, golds, pool, split, table

from merilo.errors import DataError
from merilo.people.gold import read_gold

# By id


@pytest.mark.parametrize("field", ["id", "ID", "idx", "item_id", "meta.id", "input_id"])
def test_items_join_on_an_id_that_both_sides_have(tmp_path: Path, field: str) -> None:
    """The same question has two ids with different gold answers."""
    path = split(tmp_path / "t.json", [entry(5, "A", question="q"), entry(6, "B", question="q")])
    gold = read_gold(path, pool(**{field: ["6", "5"], "question": ["q", "q"]}))
    assert golds(gold) == ["B", "A"]
    assert [item.id for item in gold.items.values()] == [6, 5]
    assert gold.warnings == ()


def test_a_number_that_is_no_id_of_the_dataset_does_not_join(tmp_path: Path) -> None:
    """The pool numbers its items, and these numbers are ids of other items in the file."""
    path = split(tmp_path / "t.json", [entry(n, "AB"[n % 2], question=f"q{n}") for n in range(20)])
    items = pool(idx=[str(n) for n in range(1, 20)], question=[f"q{n}" for n in range(19)])
    gold = read_gold(path, items)
    assert golds(gold) == ["AB"[n % 2] for n in range(19)]
    assert [item.id for item in gold.items.values()] == list(range(19))


def test_a_text_that_was_edited_is_told_of_when_ids_join(tmp_path: Path) -> None:
    path = split(tmp_path / "t.json", [entry(n, "A", question=f"q{n}") for n in range(20)])
    questions = [f"q{n}" for n in range(19)] + ["q19, edited"]
    gold = read_gold(path, pool(id=[str(n) for n in range(20)], question=questions))
    assert gold.answers.height == 20
    assert "although other fields of 1 item differ" in gold.warnings[0].en


def test_an_id_alone_is_told_of(tmp_path: Path) -> None:
    path = table(tmp_path / "g.csv", "id,gold\n1,A\n2,B\n")
    gold = read_gold(path, pool(idx=["2.0", "1"], picture=["a.png", "b.png"]))
    assert golds(gold) == ["B", "A"]
    assert "joined on the pool's 'idx' and the file's 'id' only" in gold.warnings[0].en


def test_doubled_ids_are_refused_with_both_rows(tmp_path: Path) -> None:
    path = table(tmp_path / "g.csv", "id,question,gold\n1,q1,A\n2,q2,A\n1,q3,B\n")
    with pytest.raises(DataError, match=r"row 4, id: has the same id '1' as row 2"):
        read_gold(path, pool(question=["q1", "q3"]))


# By fields


def test_a_pool_may_show_fewer_fields_than_the_file(tmp_path: Path) -> None:
    path = split(
        tmp_path / "t.json", [entry(n, "AB"[n], question=f"q{n}", context=f"c{n}") for n in range(2)]
    )
    gold = read_gold(path, pool(question=["q1", "q0"]))
    assert (golds(gold), gold.warnings) == (["B", "A"], ())
    assert gold.items[1].inputs == {"question": "q1", "context": "c1"}


def test_a_file_may_have_fewer_fields_than_the_pool(tmp_path: Path) -> None:
    path = table(tmp_path / "g.csv", "question,gold\nq1,A\nq2,B\n")
    gold = read_gold(path, pool(picture=["x", "y"], question=["q2", "q1"]))
    assert (golds(gold), gold.warnings) == (["B", "A"], ())


def test_letter_case_of_names_makes_no_difference(tmp_path: Path) -> None:
    path = table(tmp_path / "g.csv", "Question,gold\nq1,A\n")
    assert golds(read_gold(path, pool(question=["q1"]))) == ["A"]


def test_rows_that_differ_in_what_the_pool_does_not_show_are_refused(tmp_path: Path) -> None:
    for answers in ("AB", "AA"):
        rows = [entry(n, answers[n], question="q", context=f"c{n}", topic="t") for n in range(2)]
        path = split(tmp_path / "t.json", rows)
        with pytest.raises(DataError) as caught:
            read_gold(path, pool(question=["q"]))
        said = str(caught.value)
        assert "row 2: has the same question as row 1" in said
        assert "the rows differ in context, which the pool does not have" in said
        assert ("different gold answers ('A', 'B')" in said) == (answers == "AB")


def test_rows_that_nobody_was_asked_may_be_ambiguous(tmp_path: Path) -> None:
    rows = [entry(n, "AB"[n], question="q", context=f"c{n}") for n in range(2)]
    path = split(tmp_path / "t.json", [*rows, entry(3, "A", question="other", context="c")])
    gold = read_gold(path, pool(question=["other"]))
    assert (golds(gold), gold.unused) == (["A"], (1, 2))


def test_items_that_differ_in_what_the_file_lacks_are_refused(tmp_path: Path) -> None:
    path = table(tmp_path / "g.csv", "question,gold\nq1,A\nq2,B\n")
    with pytest.raises(DataError) as caught:
        read_gold(path, pool(question=["q1", "q2", "q2"], options=["x", "x", "y"]))
    said = str(caught.value)
    assert "row 3: matches several items of the pool (items 2 and 3)" in said
    assert "differ in options, which the file lacks" in said


def test_a_field_of_meta_that_the_pool_shows_tells_rows_apart(tmp_path: Path) -> None:
    """Three questions share one text, and `meta` identifies the question."""
    rows = [entry(n, "01"[n], {"question": name}, text="t") for n, name in enumerate(("good", "ethical"))]
    path = split(tmp_path / "t.json", rows)
    gold = read_gold(path, pool(text=["t", "t"], question=["ethical", "good"]))
    assert (golds(gold), gold.warnings) == (["1", "0"], ())


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
    assert (golds(gold), gold.warnings) == (["1", "2", "2"], ())
    assert [item.id for item in gold.items.values()] == ["0/0", "0/1", "0/2"]


def test_two_answers_to_one_item_are_refused_with_both_rows(tmp_path: Path) -> None:
    path = table(tmp_path / "g.csv", "question,gold\nq1,A\nq2,A\nq1,B\n")
    with pytest.raises(DataError, match=r"row 4: gives 'q1' the gold answer 'B', but row 2 gives 'A'"):
        read_gold(path, pool(question=["q1"]))


def test_one_answer_twice_is_told_with_what_differs(tmp_path: Path) -> None:
    rows = [entry(n, "A", {"domain": f"d{n}"}, question="q") for n in range(3)]
    gold = read_gold(split(tmp_path / "t.json", rows), pool(question=["q"]))
    assert (golds(gold), gold.items[1].id) == (["A"], 0)
    assert "row 2: repeats an item with the same answer (2 such rows)" in gold.warnings[0].en
    assert "differ in meta.domain" in gold.warnings[0].en


# By values


def test_two_fields_make_the_one_text_of_the_file(tmp_path: Path) -> None:
    path = split(tmp_path / "t.json", [{"inputs": "ABC BC", "outputs": "2", "meta": {"id": 4}}])
    gold = read_gold(path, pool(string1=["ABC"], string2=["BC"]))
    assert golds(gold) == ["2"]
    assert "'inputs' was matched with the pool's string1, string2" in gold.warnings[0].en
    assert gold.items[1].inputs == "ABC BC"


def test_the_one_field_of_a_pool_is_the_one_text_of_the_file(tmp_path: Path) -> None:
    path = split(tmp_path / "t.json", [{"inputs": "( )", "outputs": "1", "meta": {"id": 4}}])
    gold = read_gold(path, pool(parentheses=["( )"]))
    assert (golds(gold), gold.warnings) == (["1"], ())


def test_columns_of_other_names_are_matched_by_what_they_hold(tmp_path: Path) -> None:
    rows = [
        entry(n, "AB"[n % 2], text="same", span1_index=n, span1_text=f"w{n}", span2_text=f"p{n // 2}")
        for n in range(6)
    ]
    path = split(tmp_path / "t.json", rows)
    items = pool(
        text=["same"] * 6, pronoun=[f"p{n // 2}" for n in range(6)], word=[f"w{n}" for n in range(6)]
    )
    gold = read_gold(path, items)
    assert golds(gold) == ["AB"[n % 2] for n in range(6)]
    assert "matched by their values" in gold.warnings[0].en
    assert "the pool's 'word' with the file's 'span1_text'" in gold.warnings[0].en


def test_a_counter_of_the_pool_is_not_matched_with_a_count_of_the_file(tmp_path: Path) -> None:
    text = "n,comment,gold\n" + "".join(f"{n},text {n},{'AB'[n % 2]}\n" for n in range(30))
    items = pool(counter=[str(n) for n in reversed(range(30))], words=[f"text {n}" for n in range(30)])
    gold = read_gold(table(tmp_path / "g.csv", text), items)
    assert gold.answers.height == 30
    assert golds(gold) == ["AB"[n % 2] for n in range(30)]
    assert "'counter'" not in gold.warnings[0].en


# Nothing matches


def test_a_join_that_fails_shows_the_fields_of_both_sides(tmp_path: Path) -> None:
    path = split(tmp_path / "t.json", [entry(1, "A", question="in the file", topic="sea")])
    with pytest.raises(DataError) as caught:
        read_gold(path, pool(question=["in the pool"], picture=["x.png"]))
    said = str(caught.value)
    assert "t.json: no row matches an item of the pool: both have question, but 'question' differs" in said
    assert "the pool begins with 'in the pool', the file with 'in the file'" in said
    assert "only the pool has picture" in said
    assert "only the file has topic" in said


def test_a_join_without_a_common_field_says_so(tmp_path: Path) -> None:
    path = table(tmp_path / "g.csv", "text,gold\nelsewhere,A\n")
    with pytest.raises(DataError) as caught:
        read_gold(path, pool(question=["here"]))
    said = str(caught.value)
    assert "they have no field in common; only the pool has question; only the file has text" in said


def test_of_two_common_fields_the_one_that_differs_is_shown(tmp_path: Path) -> None:
    path = table(tmp_path / "g.csv", "question,text,gold\nq1,plain,A\n")
    with pytest.raises(DataError, match="'text' differs: the pool begins with '<b>plain</b>'"):
        read_gold(path, pool(question=["q1"], text=["<b>plain</b>"]))


def test_another_dataset_with_the_same_ids_is_refused(tmp_path: Path) -> None:
    path = split(tmp_path / "t.json", [entry(n, "A", question=f"other {n}") for n in range(5)])
    with pytest.raises(DataError, match="both have id, question, but 'question' differs"):
        read_gold(path, pool(id=[str(n) for n in range(5)], question=[f"q{n}" for n in range(5)]))


def test_every_item_is_matched_once_however_the_rows_are_ordered(tmp_path: Path) -> None:
    count = 500
    questions = [f"question {n * 7919 % count}" for n in range(count)]
    rows = pl.DataFrame(
        {"question": [f"question {n}" for n in range(count)], "gold": [str(n) for n in range(count)]}
    )
    rows.write_csv(tmp_path / "g.csv")
    gold = read_gold(tmp_path / "g.csv", pool(question=questions))
    assert golds(gold) == [text.removeprefix("question ") for text in questions]
    assert list(gold.items) == list(range(1, count + 1))
