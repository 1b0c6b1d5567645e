"""Files of answers by id, from any respondent."""

import json
from pathlib import Path

import polars as pl
import pytest
from command import merilo
from gold_sets import documents, gold_split, right_answer
from harness_files import data_of, items_of, written
from hypothesis import given, settings
from hypothesis import strategies as st

from merilo import score
from merilo.answer_tables import ItemAnswer, holds_replies, read_sheet
from merilo.datasets import dataset
from merilo.errors import DataError, InputError
from merilo.items import entry_of
from merilo.runs.scores import answers_of_table


def written_as(suffix: str, folder: Path, answers: dict[str, str]) -> Path:
    """A file of answers in one of the accepted forms."""
    path = folder / f"answers.{suffix.rpartition(' ')[2]}"
    rows = [{"id": name, "answer": answer} for name, answer in answers.items()]
    if suffix in {"csv", "tsv"}:
        pl.DataFrame([{**row, "annotator": "p1"} for row in rows]).write_csv(
            path, separator="\t" if suffix == "tsv" else ","
        )
        return path
    test = [{"outputs": answer, "meta": {"id": name}} for name, answer in answers.items()]
    text = {
        "list json": json.dumps(rows),
        "mapping json": json.dumps(answers, ensure_ascii=False),
        "submission json": json.dumps({"data": {"test": test}}),
        "jsonl": "\ufeff" + "\n\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n",
    }[suffix]
    path.write_text(text, encoding="utf-8")
    return path


FORMS = ("list json", "mapping json", "submission json", "jsonl", "csv", "tsv")


@settings(deadline=None)
@given(
    st.dictionaries(
        st.integers(0, 10**6).map(str),
        st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=20),
        min_size=1,
        max_size=6,
    )
)
def test_answers_are_not_touched_on_the_way(
    tmp_path_factory: pytest.TempPathFactory, answers: dict[str, str]
) -> None:
    folder = tmp_path_factory.mktemp("sheets")
    for form in FORMS:
        assert {one.item: one.answer for one in read_sheet(written_as(form, folder, answers))} == answers, (
            form
        )


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        (
            "a.json",
            '[{"id": 1, "answer": "a"}, {"id": "1", "answer": "b"}]',
            "row 2: item '1' is answered twice",
        ),
        (
            "a.jsonl",
            '{"id": 1, "answer": "a"}\n\n{"id": 1, "answer": "a"}',
            "row 3: item '1' is answered twice",
        ),
        ("a.csv", "id,answer\n1,a\n2,b\n1,a\n", "row 4: item '1' is answered twice, here and in row 2; tell several answers to an item apart by a field 'sample'"),
        ("a.csv", "id,answer,sample\n1,a,x\n1,b,y\n1,a,x\n", "row 4: item '1' is answered twice, here and in row 2"),
        ("a.json", '[{"answer": "a"}]', "row 1: has no 'id'"),
        ("a.json", '[{"id": null, "answer": "a"}]', "row 1: has no 'id'"),
        ("a.json", '[{"id": true, "answer": "a"}]', "row 1: has no 'id'"),
        ("a.json", '[{"id": 1}]', "row 1: has no 'answer'"),
        ("a.json", '["a"]', "row 1: is not a record"),
        ("a.json", "1", "has no answers"),
        ("a.json", '{"data": {"train": []}}', "no list 'test'"),
        ("a.json", '{"1": "a", "1": "b"}', "occurs twice"),
        ("a.jsonl", '{"id": 1, "answer": "a"}\nnot json', "row 2"),
        ("a.jsonl", b"\xff\xfe\x00", "not UTF-8"),
        ("a.csv", "number,text\n1,a\n", "needs columns 'id' and 'answer'"),
        ("a.csv", "id,answer\n,a\n", "row 2, id: has an answer but no id"),
        ("a.csv", "", "empty"),
    ],
)  # fmt: skip
def test_bad_files_are_one_sentence_with_the_place(
    name: str, content: str | bytes, told: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        read_sheet(path)
    assert told in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_both_sides_that_find_no_partner_are_told() -> None:
    items = gold_split(dataset("BPS"), 4).items
    records = [ItemAnswer(1, "2", "1"), ItemAnswer(2, "4", "0"), ItemAnswer(3, "77", "1")]
    matched = answers_of_table(records, dataset("BPS"), items)
    assert [(row.item, row.answer) for row in matched.rows] == [("2", "1"), ("4", "0")]
    assert matched.unknown == ("77",)


def read(answer, items, declared):
    (row,) = answers_of_table([ItemAnswer(1, "1", answer)], declared, items, "a.json").rows
    return row.answer


def test_what_a_form_did_to_an_answer_is_undone() -> None:
    ethics, code = gold_split(dataset("ruEthics"), 1).items, gold_split(dataset("ruCodeEval"), 1).items
    all_right = dict.fromkeys(dataset("ruEthics").answer.criteria, "1")
    for typed in (all_right, json.dumps(all_right), "1", 1):
        assert read(typed, ethics, dataset("ruEthics")) == all_right
    for typed in ([["1", None]], '[["1", null]]', [[["1", None], ["2", "3"]]][:1]):
        assert read(typed, code, dataset("ruCodeEval"))[0] == ("1", None)
    assert read(7, gold_split(dataset("ruModAr"), 1).items, dataset("ruModAr")) == "7"


@pytest.mark.parametrize("answer", [None, True, 0.5, ["1"], {"a": "1"}])
def test_an_answer_of_another_type_is_refused_with_its_row(answer) -> None:
    items = gold_split(dataset("BPS"), 1).items
    with pytest.raises(InputError, match=r"a\.json, row 1: the answer to item '1': expected a text"):
        read(answer, items, dataset("BPS"))


def test_turns_of_a_dialogue_are_found_by_either_name(tmp_path: Path) -> None:
    declared = dataset("ruTiE")
    split = gold_split(declared, 30)
    path = tmp_path / "rutie.json"
    path.write_text(
        json.dumps({"data": {"test": documents(declared, split, right_answer)}}), encoding="utf-8"
    )
    rows = answers_of_table(read_sheet(path), declared, split.items, path).rows
    assert {row.item: row.answer for row in rows} == {str(item.id): item.outputs for item in split}


RIGHT = {item.id: str(item.outputs) for item in items_of("parus")}


def scored(file: Path, *options: object):
    data = data_of("parus", file.parent)
    return merilo("score", file, "--dataset", "parus", "--data", data, "--json", "-", *options)


@pytest.mark.parametrize(
    ("typed", "example"),
    [
        (lambda label: f"Ответ: **{label}**", "Ответ: **1**"),
        (lambda label: int(label) - 1, "0"),
        (lambda label: "АБ"[int(label) - 1], "А"),
        (lambda label: f"({label})", "(1)"),
    ],
)
def test_answers_that_are_no_labels_give_no_score(typed, example: str, tmp_path: Path) -> None:
    rows = [{"id": item, "answer": typed(label)} for item, label in RIGHT.items()]
    done = scored(written(tmp_path / "a.jsonl", rows))
    assert done.status == 2
    assert "8 answers are no labels (1, 2), such as " in done.complaint
    assert repr(example) in done.complaint
    assert "name their column 'reply'" in done.complaint


def test_a_few_answers_that_are_no_labels_are_named(tmp_path: Path) -> None:
    rows = [
        {"id": item, "answer": "" if item == 2 else "Ответ: 1" if item < 4 else label}
        for item, label in RIGHT.items()
    ]
    done = scored(written(tmp_path / "a.jsonl", rows))
    assert (done.status, done.json["no_labels"]) == (0, ["1", "2", "3"])
    assert "3 of 8 answers are no labels and count as wrong, such as 'Ответ: 1' (items 1, 2, 3)" in done.err
    numbers = gold_split(dataset("SimpleAr"), 4)
    given = {item.id: item.outputs for item in numbers} | {numbers.items[0].id: "сорок"}
    data = tmp_path / "simplear.json"
    data.write_text(json.dumps({"data": {"test": [entry_of(item) for item in numbers]}}), encoding="utf-8")
    found = score(given, dataset="simplear", data=data)
    assert "1 of 4 answers are no numbers" in repr(found)


def as_csv(path: Path, rows: list[dict]) -> Path:
    import polars as pl

    pl.DataFrame(rows).write_csv(path.with_suffix(".csv"))
    return path.with_suffix(".csv")


def as_parquet(path: Path, rows: list[dict]) -> Path:
    import polars as pl

    pl.DataFrame(rows).write_parquet(path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


@pytest.mark.parametrize("field", ["answer", "reply"])
@pytest.mark.parametrize("form", [written, as_csv, as_parquet])
def test_a_table_of_replies_is_read_by_the_rules_of_replies(form, field: str, tmp_path: Path) -> None:
    """A field `reply` needs no option; a reply that was cut off has no answer; repeated ids are samples."""
    rows = [
        {"id": item, field: f"Подумаем.\nОтвет: **{label}**", "finish_reason": "stop"}
        for item, label in RIGHT.items()
    ]
    rows[0] |= {field: "Подумаем, варианта здесь", "finish_reason": "length"}
    rows[1] |= {field: None}
    file = form(tmp_path / "a.jsonl", [*rows, *rows])
    done = scored(file, *["--replies"][: field == "answer"])
    assert done.status == 0, done.err
    found = done.json["metrics"]["acc"]
    assert (found["value"], found["n"], found["answers"]) == (0.75, 8, 16)
    assert done.json["log"]["outcomes"] == {"truncated": 2, "empty": 2, "answered": 12}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"id": 1, "reply": true}', "row 1: the reply is not a text"),
        ('{"id": 1, "reply": "1", "sample": 1}\n{"id": 1, "reply": "2", "sample": 1}', "item '1' is answered twice"),
        ('{"id": 1, "reply": "1", "sample": "a"}\n{"id": 1, "reply": "2", "sample": "a"}', "item '1' is answered twice"),
        ('{"id": 1, "reply": NaN}', "row 1: is not JSON"),
        ('{"id": 1, "reply": "1"}\n{"id": 2, "rep', "row 2: is not JSON"),
        ('{"id": 1, "reply": "1"}\n{"id": 2}', "row 2: has no 'answer'"),
    ],
)  # fmt: skip
def test_bad_tables_of_replies_are_refused_with_their_place(content: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=told):
        score(tmp_path / "a.jsonl", dataset="parus", data=data_of("parus", tmp_path))


@pytest.mark.parametrize(
    ("content", "replies"),
    [
        ('{"id": 1, "reply": "A", "usage": {"output": 12}}', True),
        (
            '[{"usage": {"output": {"n": 12}}, "id": 1, "reply": "say \\"output\\": }]}"}, {"id": 2, "reply": "',
            True,
        ),
        ('{"data": {"test": [{"meta": {"id": 1}, "reply": "A", "trace": [{"answer": 1}]}]}}', True),
        ('{"id": 1, "answer": "A", "log": {"reply": "..."}}', False),
        ('{"id": 1, "answer": "A", "reply": "..."}', False),
    ],
)
def test_the_fields_of_records_tell_replies_from_answers(content: str, replies: bool, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(content, encoding="utf-8")
    assert holds_replies(tmp_path / "a.json") == replies


@pytest.mark.parametrize("field", ["answer", "reply"])
@pytest.mark.parametrize("samples", [(0, 1), (1, 2), ("a", "b"), (2, "x"), ("x", 1), None])
def test_samples_have_any_numbers_or_names_and_those_of_replies_are_counted_without(
    samples: tuple[object, object] | None, field: str, tmp_path: Path
) -> None:
    rows = [
        {"id": f"{item} ", field: reply} | ({"sample": samples[at]} if samples else {})
        for item, label in RIGHT.items()
        for at, reply in enumerate((label, "2" if label == "1" else "1"))
    ]
    file = written(tmp_path / "a.jsonl", rows)
    done = scored(file)
    if samples is None and field == "answer":
        assert (done.status, "item '1' is answered twice" in done.complaint) == (2, True)
        return
    assert done.json["metrics"]["acc"]["value"] == 0.5
    other = written(tmp_path / "b.jsonl", rows)
    beside = merilo("compare", file, other, "--dataset", "parus", "--data", data_of("parus", tmp_path))
    assert beside.status == 0
    for told in (done.err, beside.err):
        assert ("8 items have several replies without a 'sample'" in told) == (samples is None)


def test_an_item_counts_once_however_often_it_was_answered(tmp_path: Path) -> None:
    """Of items with one to three replies, score and compare take the mean over items."""
    rows = [
        {"id": item, "reply": label if at else "нет", "sample": at}
        for item, label in RIGHT.items()
        for at in range(1 + item % 3)
    ]
    file, data = written(tmp_path / "a.jsonl", rows), data_of("parus", tmp_path)
    of_items = [item % 3 / (1 + item % 3) for item in RIGHT]
    found = scored(file, "--per-item").json
    assert found["metrics"]["acc"]["value"] == pytest.approx(sum(of_items) / 8)
    assert [*found["per_item"]["acc"].values()] == pytest.approx(of_items)
    other = written(tmp_path / "b.jsonl", rows)
    beside = merilo("compare", file, other, "--dataset", "parus", "--data", data, "--json", "-")
    assert beside.status == 0, beside.err
    assert beside.json["rows"][0]["score"]["value"] == pytest.approx(sum(of_items) / 8)


def test_replies_to_other_items_or_of_programs_are_refused(tmp_path: Path) -> None:
    file = written(tmp_path / "a.jsonl", [{"id": 1001, "reply": "1"}])
    with pytest.raises(DataError, match="not one of 1 rows belongs to an item of PARus"):
        score(file, dataset="parus", data=data_of("parus", tmp_path))
    with pytest.raises(DataError, match="holds programs, which must be run before"):
        score(file, dataset="rucodeeval", data=data_of("rucodeeval", tmp_path))
    assert (
        score({1: "Ответ: 1"}, dataset="parus", data=data_of("parus", tmp_path), replies=True).answered == 1
    )


SHUFFLED = ["Волк", "Лось", "Ёж", "Заяц-беляк"]


@pytest.mark.parametrize(
    ("options", "reply", "label"),
    [
        (SHUFFLED, "Ответ: B", "D"),
        (SHUFFLED, "Думаю, это **C**.", "C"),
        (SHUFFLED, "Ответ: 2", ""),
        (dict(zip("1234", SHUFFLED, strict=True)), "Ответ: 2", "D"),
        (dict(zip("1234", SHUFFLED, strict=True)), "Ответ: A", "A"),
        (None, "Ответ: B", "B"),
    ],
)
@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_a_letter_stands_for_the_option_that_the_model_saw(
    options, reply: str, label: str, suffix: str, tmp_path: Path
) -> None:
    file, data = tmp_path / f"replies{suffix}", data_of("ruworldtree", tmp_path)
    row = {"id": 2, "reply": reply, "options": options}
    if suffix == ".csv":
        text = json.dumps(options, ensure_ascii=False) if options else ""
        pl.DataFrame([{**row, "options": text}]).write_csv(file)
    else:
        written(file, [row])
    rows = score(file, dataset="ruworldtree", data=data, force=True).answers.rows
    assert [(row.item, row.answer) for row in rows] == [("2", label)]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (3, "must be a list of texts"),
        (["Волк", 4], "must be a list of texts"),
        ("Волк", "is not JSON"),
        ([f"{text}!" for text in SHUFFLED], "item '2': 'Волк!' is none of its options"),
        (SHUFFLED[:3], "item '2': 3 options, of which 3 differ, but the item has 4"),
        (SHUFFLED[:1] * 4, "item '2': 4 options, of which 1 differ, but the item has 4"),
    ],
)
def test_options_that_are_not_the_item_s_are_refused(options: object, told: str, tmp_path: Path) -> None:
    data = data_of("ruworldtree", tmp_path)
    file = written(tmp_path / "replies.jsonl", [{"id": 2, "reply": "B", "options": options}])
    with pytest.raises(InputError, match=rf"row 1.*{told}"):
        score(file, dataset="ruworldtree", data=data)


def test_the_letters_of_a_model_that_answers_in_russian_are_those_of_its_alphabet(tmp_path: Path) -> None:
    """Beside Б, the letter В is the third one; without it, В is a B that was typed in Cyrillic."""
    items, data = items_of("ruworldtree"), data_of("ruworldtree", tmp_path)

    def read(*letters: str) -> tuple[list[object], bool]:
        rows = [
            {"id": item.id, "reply": f"Ответ: {letter}"} for item, letter in zip(items, letters, strict=False)
        ]
        found = score(written(tmp_path / "a.jsonl", rows), dataset="ruworldtree", data=data)
        return [row.answer for row in found.answers.rows], "В is read as the third option" in repr(found)

    assert read("А", "Б", "В", "Г") == (["A", "B", "C", "D"], True)
    assert read("А", "В", "С") == (["A", "B", "C"], False)
