"""Replacement of answers by the user, and answers that look like misspellings."""

from pathlib import Path

import pytest
from command import merilo
from exports import row, small_pool, toloka, written

from merilo.errors import DataError, InputError, UsageError, for_command_line, for_library
from merilo.people import platforms
from merilo.people.recoding import near_spellings, read_recoding, recode
from merilo.responses import Recoded, Responses


def study(folder: Path, answers: list[str], golden: str = "") -> Responses:
    rows = [row("q", answer, f"w{n}") for n, answer in enumerate(answers)]
    rows += [row("control", "A", "w0", golden=golden)] if golden else []
    return platforms.read([written(folder / "p.tsv", toloka(rows))])


def test_answers_and_known_answers_are_replaced_and_counted(tmp_path: Path) -> None:
    read = study(tmp_path, ["yes6", "yes", "yes6", "no"], golden="yes6")
    made = recode(read, {"yes6": "yes"})
    assert made.table["answer"].to_list() == ["yes", "yes", "yes", "no", "A"]
    assert made.table["control"].drop_nulls().to_list() == ["yes"]
    assert made.recoded == (Recoded("yes6", "yes", 2),)
    assert made.renamed == {"yes6": "yes"}
    assert read.table["answer"].to_list() == ["yes6", "yes", "yes6", "no", "A"]


def test_all_replacements_happen_at_once(tmp_path: Path) -> None:
    made = recode(study(tmp_path, ["a", "b", "c"]), {"a": "b", "b": "a"})
    assert made.table["answer"].to_list() == ["b", "a", "c"]


def test_an_answer_without_a_replacement_is_left_out_and_counted(tmp_path: Path) -> None:
    made = recode(study(tmp_path, ["yes", "some text", "no"]), {"some text": None})
    assert made.table["answer"].to_list() == ["yes", "no"]
    assert made.dropped == {"recoded_to_nothing": 1}
    assert made.recoded == (Recoded("some text", None, 1),)
    with pytest.raises(UsageError, match="no answers are left"):
        recode(study(tmp_path, ["yes"]), {"yes": None})


def test_an_answer_that_nobody_gave_is_refused_with_those_that_were_given(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no response is 'maybe' .*'yes', 'no'"):
        recode(study(tmp_path, ["yes", "yes", "no"]), {"maybe": "no"})
    with pytest.raises(UsageError, match=r"'1\.0' is read as '1': recode '1'"):
        recode(study(tmp_path, ["1.0", "1", "2"]), {"1.0": "2"})


def test_what_was_recoded_stands_in_the_result(tmp_path: Path) -> None:
    pool = written(tmp_path / "p.tsv", toloka([*small_pool(), row("q0", "A6", "new")]))
    before = merilo("baseline", pool, "--json", "-")
    assert "'A6' (1) looks like a misspelling of 'A' (25); --recode A6=A merges them" in before.err
    outcome = merilo("baseline", pool, "--recode", "A6=A", "--json", "-")
    assert outcome.status == 0
    assert "1 answer 'A6' counts as 'A'" in outcome.err
    assert "looks like" not in outcome.err
    assert outcome.json["normalisation"] == {"A6": "A"}
    assert outcome.json["provenance"]["command"].endswith("--recode A6=A")
    refused = merilo("baseline", pool, "--recode", "B=A")
    assert refused.status == 2
    assert "no response is 'B'" in refused.complaint


def test_a_file_of_replacements(tmp_path: Path) -> None:
    pool = written(
        tmp_path / "p.tsv", toloka([*small_pool(), row("q0", "a=b", "new"), row("q1", "x", "new")])
    )
    table = written(tmp_path / "codes.csv", "from;to\na=b;A\n x ;\n")
    assert read_recoding([str(table)]) == {"a=b": "A", "x": None}
    outcome = merilo("baseline", pool, "--recode", table, "--json", "-")
    assert outcome.json["responses"]["dropped"] == {"recoded_to_nothing": 1}
    assert [one["file"] for one in outcome.json["provenance"]["inputs"]] == [str(pool), str(table)]


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        (["yes6"], UsageError, "must be FROM=TO or a file"),
        (["=yes"], UsageError, "has no answer before '='"),
        (["a=b", "a=c"], DataError, "'a' has two replacements"),
        (["a=b", "a="], DataError, "'a' has two replacements"),
        (["twice.csv"], DataError, "twice.csv, row 3: 'a' has two replacements"),
        (["columns.csv"], InputError, "to: there is no such column"),
        (["nameless.csv"], InputError, "nameless.csv, row 2, from: is empty"),
        (["cut.csv"], InputError, "ends in the middle of a row"),
        (["."], InputError, "is a folder"),
    ],
)
def test_replacements_that_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: list[str], error: type[Exception], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "twice.csv", "from,to\na,b\na,c\n")
    written(tmp_path / "columns.csv", "from,into\na,b\n")
    written(tmp_path / "nameless.csv", "from,to\n,b\n")
    written(tmp_path / "cut.csv", "from,to\na,b\nc")
    with pytest.raises(error, match=says):
        read_recoding(given)


@pytest.mark.parametrize(
    ("counts", "found"),
    [
        ({"entailment": 50, "neutral": 40, "entailment6": 2}, {"entailment6": "entailment"}),
        (
            {"entailment": 50, "neutral": 40, "entailmnet": 1, "netral": 1},
            {"entailmnet": "entailment", "netral": "neutral"},
        ),
        ({"yes": 50, "no": 40, "Yes": 2, "no.": 1}, {"Yes": "yes", "no.": "no"}),
        ({"да": 50, "нет": 40, "да 1": 2}, {"да 1": "да"}),
        # Two labels, both frequent.
        ({"task1": 50, "task2": 40}, {}),
        # A short word one letter off is another word.
        ({"cat": 50, "bat": 1}, {}),
        # Numbers are other numbers.
        ({"10": 50, "11": 40, "101": 1}, {}),
        # Open answers.
        ({**{f"answer number {n}": 1 for n in range(50)}, "Paris": 3, "Pariss": 1}, {}),
        ({}, {}),
    ],
)
def test_answers_that_look_like_slips(counts: dict[str, int], found: dict[str, str]) -> None:
    assert {one.written: one.label for one in near_spellings(counts)} == found


def test_declared_labels_are_never_slips_of_each_other() -> None:
    labels = ("agree", "agrees")
    assert near_spellings({"agree": 90, "agrees": 1}, labels) == ()
    assert [one.written for one in near_spellings({"agree": 1, "agre": 3}, labels)] == ["agre"]


def test_an_option_that_a_shell_would_break_is_quoted() -> None:
    (near,) = near_spellings({"it is so": 90, "it is so!": 1})
    assert for_command_line(near.option) == "--recode 'it is so!=it is so'"
    assert for_library(near.option) == "recode={'it is so!': 'it is so'}"
