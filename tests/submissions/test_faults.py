"""The benchmark's errors: each with its exact name, its place and a sentence in two languages, all of them at once."""

import json
import re
from pathlib import Path

import pytest
from command import merilo
from gold_sets import TITLES, documents, gold_split, right_answer, write_gold, write_zip

from merilo.datasets import dataset
from merilo.submissions.submitted_answers import KINDS, Fault, parse_file, read_answers

BENCHMARK_NAMES = (
    "unreadable_zip, no_task, extension, unreadable_file, no_data_field, no_split, no_outputs_field_for_doc, "
    "no_meta_field_for_doc, no_id_field_for_doc, no_id, doc_output_type_error, doc_parse_output_error"
)


def read(title: str, content, n: int = 10):
    declared = dataset(title)
    return read_answers(content, declared, gold_split(declared, n).items)


def perfect(title: str, n: int = 10):
    declared = dataset(title)
    return documents(declared, gold_split(declared, n), right_answer)


def kinds(title: str, test, n: int = 10) -> list[str]:
    return [found.kind for found in read(title, {"data": {"test": test}}, n).faults]


def test_the_names_are_the_benchmarks() -> None:
    assert ", ".join(KINDS) == BENCHMARK_NAMES


def test_the_documentation_explains_each() -> None:
    page = (Path(__file__).parents[2] / "docs" / "submissions.md").read_text(encoding="utf-8")
    assert [kind for kind in KINDS if f"| `{kind}` |" not in page] == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_speaks_both_languages(kind) -> None:
    one = Fault(kind, "17", position=3, id=17)
    assert one.message.ru != one.message.en
    assert any("а" <= sign <= "я" for sign in one.message.ru)
    assert one.message.en.isascii()
    assert "{" not in one.message.ru + one.message.en
    assert one.line.en.startswith(f"{kind}: data.test[3]: ")
    assert one.content()["type"] == kind


@pytest.mark.parametrize(("content", "kind"), [
    *((content, "no_data_field") for content in ([], {}, None, 1, "data", {"data": []}, {"data": None}, {"Data": {"test": []}})),
    *(({"data": data}, "no_split") for data in ({}, {"train": []}, {"test": None}, {"test": {}})),
])  # fmt: skip
def test_a_file_without_a_list_of_answers(content, kind) -> None:
    assert [fault.kind for fault in read("BPS", content).faults] == [kind]


@pytest.mark.parametrize("title", TITLES)
def test_what_is_missing_in_an_answer_is_told_once_with_its_place(title: str) -> None:
    flat = not dataset(title).shots.earlier_turns
    for spoil, kind in (
        (lambda document: document.pop("outputs"), "no_outputs_field_for_doc"),
        (lambda document: document.pop("meta"), "no_meta_field_for_doc"),
        (lambda document: document["meta"].clear(), "no_id_field_for_doc"),
    ):
        test = perfect(title)
        spoil(test[2] if flat else test[0][2])
        n = 30 if title == "USE" else 10
        (found,) = read(title, {"data": {"test": test}}, n).faults
        assert found.kind == kind
        assert (found.position, found.turn) == ((2, None) if flat else (0, 2))
        assert found.path == ("data.test[2]" if flat else "data.test[0][2]")


@pytest.mark.parametrize(
    ("title", "outputs"),
    [(title, wrong) for title in ("BPS", "ruModAr", "CheGeKa", "USE", "ruDetox", "ruTiE") for wrong in (1, 0.5, True, None, ["1"], {"a": "1"})]
    + [("ruEthics", wrong) for wrong in ("1", 1, ["1"] * 5, None)]
    + [("ruCodeEval", wrong) for wrong in ("[]", {"1": []}, 3, None)],
)  # fmt: skip
def test_an_answer_of_the_wrong_type(title: str, outputs) -> None:
    test = perfect(title)
    (test[0][4] if title == "ruTiE" else test[4])["outputs"] = outputs
    n = 30 if title == "USE" else 10
    assert kinds(title, test, n) == ["doc_output_type_error"]


CRITERIA = ("virtue", "law", "moral", "justice", "utilitarianism")


@pytest.mark.parametrize(("title", "outputs"), [
    *(("ruEthics", outputs) for outputs in ({"virtue": "1"}, {}, *(dict.fromkeys(CRITERIA, each) for each in ("да", 2, None)))),
    *(("ruCodeEval", outputs) for outputs in ([], ["1", "2"], [["1"], "2"], [["1", 2]], [[["1", ["2"]]]])),
])  # fmt: skip
def test_an_answer_that_cannot_be_read(title: str, outputs) -> None:
    test = perfect(title)
    test[4]["outputs"] = outputs
    found = read(title, {"data": {"test": test}}).faults
    assert [(one.kind, one.position, one.id) for one in found] == [("doc_parse_output_error", 4, 5)]


def test_an_item_answered_twice_is_no_choice_of_the_better() -> None:
    test = perfect("BPS")
    assert kinds("BPS", [*test, {"outputs": "0", "meta": {"id": 3}}]) == ["doc_parse_output_error"]
    assert kinds("BPS", [*test, {"outputs": "0", "meta": {"id": "3"}}]) == ["doc_parse_output_error"]


def test_answers_to_no_item_are_counted_and_left_out() -> None:
    found = read("BPS", {"data": {"test": [*perfect("BPS"), {"outputs": "0", "meta": {"id": 999}}]}})
    assert (found.faults, found.unknown) == ([], 1)


def test_one_error_hides_no_other() -> None:
    test = perfect("BPS")
    del test[0]["outputs"]
    del test[1]["meta"]
    del test[2]["meta"]["id"]
    test[3]["outputs"] = 1
    test[4]["meta"]["id"] = 4
    del test[5:]
    found = [(one.kind, one.position, one.id) for one in read("BPS", {"data": {"test": test}}).faults]
    assert found == [
        ("no_outputs_field_for_doc", 0, None),
        ("no_meta_field_for_doc", 1, None),
        ("no_id_field_for_doc", 2, None),
        ("doc_output_type_error", 3, 4),
        ("doc_parse_output_error", 4, 4),
        *[("no_id", None, missing) for missing in (2, 3, 5, 6, 7, 8, 9, 10)],
    ]


@pytest.mark.parametrize(("content", "told"), [
    (b"", "not JSON"), (b"{", "not JSON"), (b"\x00" * 100, "not JSON"), (b"1" * 10_000, "not JSON"),
    (b'{"data": NaN}', "NaN"), (b'{"data": -Infinity}', "Infinity"), (b'{"data": 1, "data": 2}', "occurs twice"),
    (b"[" * 200_000, "too deep"), (b'{"a":' * 200_000, "too deep"), (b'"\xff\xfe"', "not UTF-8"), (b'"\\ud800"', "surrogate"),
    (b"[" + b"0," * 3_000_001 + b"0]", "too many values"),
])  # fmt: skip
def test_an_unreadable_file_is_one_error(content: bytes, told: str) -> None:
    value, why = parse_file(content, "BPS.json")
    assert value is None
    assert why is not None
    assert told in why.en
    assert "\n" not in why.en + why.ru
    assert set(re.findall("[A-Za-z]+", why.ru)) <= {"JSON", "UTF", "NaN"}, "half of it is English"


def test_all_files_of_a_submission_are_looked_at(tmp_path: Path) -> None:
    splits = {title: gold_split(dataset(title), 10) for title in TITLES}
    gold = write_gold(tmp_path / "gold", splits)
    members = {title: documents(dataset(title), split, right_answer) for title, split in splits.items()}
    del members["LCS"], members["RCB"], members["BPS"], members["RWSD"], members["PARus"]
    members["RCB.txt"] = b"{}"
    members["BPS.json"] = b"\xff"
    members["RWSD.json"] = b"{}"
    members["PARus.json"] = b'{"data": {"train": []}}'
    outcome = merilo(
        "submission", "score", write_zip(tmp_path / "s.zip", members), "--gold", gold, "--json", "-"
    )
    assert outcome.status == 1
    found = {
        title: [error["type"] for error in one["errors"]] for title, one in outcome.json["results"].items()
    }
    assert {title: errors for title, errors in found.items() if errors} == {
        "LCS": ["no_task"],
        "RCB": ["extension"],
        "BPS": ["unreadable_file"],
        "RWSD": ["no_data_field"],
        "PARus": ["no_split"],
    }


def test_the_json_tells_the_place_and_both_sentences(tmp_path: Path) -> None:
    gold = write_gold(tmp_path / "gold", {"BPS": gold_split(dataset("BPS"), 10)})
    test = perfect("BPS")
    test[3]["outputs"] = 1
    outcome = merilo(
        "submission", "score", write_zip(tmp_path / "s.zip", {"BPS": test}), "--gold", gold, "--json", "-"
    )
    (error,) = outcome.json["results"]["BPS"]["errors"]
    assert error == {
        "type": "doc_output_type_error",
        "position": 3,
        "id": 4,
        "path": "data.test[3]",
        "message": {
            "ru": "ответ не того типа: нужна строка, а не число",
            "en": "the answer is of the wrong type: expected a text, not a number",
        },
    }
    assert outcome.status == 0, "BPS does not count in the total"


def test_of_very_many_errors_the_count_is_kept() -> None:
    answers = read("BPS", {"data": {"test": [{"outputs": 1, "meta": {}}] * 5000}})
    assert (len(answers.faults), answers.fault_count) == (1000, 5000)


def test_what_comes_from_outside_is_printed_safely(tmp_path: Path) -> None:
    gold = write_gold(tmp_path / "gold", {"BPS": gold_split(dataset("BPS"), 2)})
    path = write_zip(tmp_path / "s.zip", {"BPS": [], "[bold]x[/bold].txt": b"", "[red": b""})
    outcome = merilo("submission", "score", path, "--gold", gold)
    assert "[bold]x[/bold].txt" in outcome.out.replace("\n", "")
    assert json.loads(merilo("submission", "score", path, "--gold", gold, "--json", "-").out)
