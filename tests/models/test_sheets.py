"""Files of answers by id, from any respondent."""

import json
from pathlib import Path

import pytest
from gold_sets import documents, gold_split, right_answer
from hypothesis import given, settings
from hypothesis import strategies as st

from merilo.datasets import dataset
from merilo.errors import InputError
from merilo.models.sheets import Sheet, match, read_sheet


def as_json_list(path: Path, answers: dict[str, str]) -> Path:
    path = path / "a.json"
    path.write_text(
        json.dumps([{"id": name, "answer": answer} for name, answer in answers.items()]), encoding="utf-8"
    )
    return path


def as_json_mapping(path: Path, answers: dict[str, str]) -> Path:
    path = path / "b.json"
    path.write_text(json.dumps(answers, ensure_ascii=False), encoding="utf-8")
    return path


def as_submission(path: Path, answers: dict[str, str]) -> Path:
    path = path / "c.json"
    test = [{"outputs": answer, "meta": {"id": name}} for name, answer in answers.items()]
    path.write_text(json.dumps({"data": {"test": test}}), encoding="utf-8")
    return path


def as_lines(path: Path, answers: dict[str, str]) -> Path:
    path = path / "d.jsonl"
    rows = (
        json.dumps({"id": name, "answer": answer}, ensure_ascii=False) for name, answer in answers.items()
    )
    path.write_text("\ufeff" + "\n\n".join(rows) + "\n", encoding="utf-8")
    return path


def as_table(path: Path, answers: dict[str, str], suffix: str = "csv", comma: str = ",") -> Path:
    import csv

    path = path / f"e.{suffix}"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter=comma)
        writer.writerow(["id", "annotator", "answer"])
        writer.writerows([name, "p1", answer] for name, answer in answers.items())
    return path


def as_tabs(path: Path, answers: dict[str, str]) -> Path:
    return as_table(path, answers, "tsv", "\t")


FORMS = [as_json_list, as_json_mapping, as_submission, as_lines, as_table, as_tabs]


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
        assert read_sheet(form(folder, answers)).answers == answers, form


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
        ("a.csv", "id,answer\n1,a\n2,b\n1,a\n", "row 4: item '1' is answered twice"),
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
)
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
    matched = match(
        Sheet("a.json", {"2": "1", "4": "0", "77": "1"}, {"2": 1, "4": 2, "77": 3}),
        items,
        dataset("BPS").answer,
    )
    assert matched.given == {2: "1", 4: "0"}
    assert matched.unanswered == (1, 3)
    assert matched.unknown == ("77",)


def sheet(answer) -> Sheet:
    return Sheet("a.json", {"1": answer}, {"1": 1})


def test_what_a_form_did_to_an_answer_is_undone() -> None:
    ethics, code = gold_split(dataset("ruEthics"), 1).items, gold_split(dataset("ruCodeEval"), 1).items
    form = dataset("ruEthics").answer
    all_right = dict.fromkeys(form.criteria, "1")
    for written in (all_right, json.dumps(all_right), "1", 1):
        assert match(sheet(written), ethics, form).given == {1: all_right}
    for written in ([["1", None]], '[["1", null]]', [[["1", None], ["2", "3"]]][:1]):
        given = match(sheet(written), code, dataset("ruCodeEval").answer).given
        assert given[1][0] == ("1", None)
    assert match(sheet(7), gold_split(dataset("ruModAr"), 1).items, dataset("ruModAr").answer).given == {
        1: "7"
    }


@pytest.mark.parametrize("answer", [None, True, 0.5, ["1"], {"a": "1"}])
def test_an_answer_of_another_type_is_refused_with_its_row(answer) -> None:
    items = gold_split(dataset("BPS"), 1).items
    with pytest.raises(InputError, match=r"a\.json, row 1: the answer to item '1': expected a text"):
        match(sheet(answer), items, dataset("BPS").answer)


def test_turns_of_a_dialogue_are_found_by_either_name(tmp_path: Path) -> None:
    declared = dataset("ruTiE")
    split = gold_split(declared, 30)
    path = tmp_path / "rutie.json"
    path.write_text(
        json.dumps({"data": {"test": documents(declared, split, right_answer)}}), encoding="utf-8"
    )
    matched = match(read_sheet(path), split.items, declared.answer)
    assert matched.given == {item.id: item.outputs for item in split}
