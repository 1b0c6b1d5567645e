"""Replacement of answers by the user, and answers that look like misspellings."""

from pathlib import Path

import pytest
from command import done, merilo
from exports import row, small_pool, toloka, written

from merilo.errors import UsageError
from merilo.file_reading import Reading
from merilo.people.reading import read_responses, recode
from merilo.people.typing_errors import near_spellings
from merilo.responses import Responses


def study(folder: Path, answers: list[str], golden: str = "") -> Responses:
    rows = [row("q", answer, f"w{n}") for n, answer in enumerate(answers)]
    rows += [row("control", "A", "w0", golden=golden)] if golden else []
    return read_responses([written(folder / "p.tsv", toloka(rows))], reading=Reading())


def test_answers_and_known_answers_are_replaced_and_counted(tmp_path: Path) -> None:
    read = study(tmp_path, ["yes6", "yes", "yes6", "no"], golden="yes6")
    made = recode(read, {"yes6": "yes"})
    assert made.table["answer"].to_list() == ["yes", "yes", "yes", "no", "A"]
    assert made.table["control"].drop_nulls().to_list() == ["yes"]
    assert made.renamed == {"yes6": "yes"}
    assert read.table["answer"].to_list() == ["yes6", "yes", "yes6", "no", "A"]


def test_all_replacements_happen_at_once(tmp_path: Path) -> None:
    made = recode(study(tmp_path, ["a", "b", "c"]), {"a": "b", "b": "a"})
    assert made.table["answer"].to_list() == ["b", "a", "c"]


def test_an_answer_without_a_replacement_is_left_out_and_counted(tmp_path: Path) -> None:
    made = recode(study(tmp_path, ["yes", "some text", "no"]), {"some text": None})
    assert made.table["answer"].to_list() == ["yes", "no"]
    assert made.dropped == {"recoded_to_nothing": 1}
    with pytest.raises(UsageError, match="no answers are left"):
        recode(study(tmp_path, ["yes"]), {"yes": None})


def test_what_was_recoded_stands_in_the_result(tmp_path: Path) -> None:
    pool = written(tmp_path / "p.tsv", toloka([*small_pool(), row("q0", "A6", "new")]))
    before = merilo("baseline", pool, "--json", "-")
    assert (
        "1 answer looks like a misspelling: 'A6' (1) for 'A' (25) (recode in reading.yaml merges them)"
        in before.err
    )
    reading = written(tmp_path / "reading.yaml", "recode: {A6: A}\n")
    outcome = done("baseline", pool, "--reading", reading, "--json", "-")
    assert "looks like" not in outcome.err
    assert outcome.json["provenance"]["command"].endswith(f"--reading {reading}")
    assert [one["file"] for one in outcome.json["provenance"]["inputs"]] == [str(pool), str(reading)]
    written(reading, "recode: {B: A}\n")
    refused = merilo("baseline", pool, "--reading", reading)
    assert refused.status == 2
    assert "no response is 'B'" in refused.complaint


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
    assert {one.answer: one.label for one in near_spellings(counts)} == found


def test_declared_labels_are_never_slips_of_each_other() -> None:
    labels = ("agree", "agrees")
    assert near_spellings({"agree": 90, "agrees": 1}, labels) == ()
    assert [one.answer for one in near_spellings({"agree": 1, "agre": 3}, labels)] == ["agre"]
