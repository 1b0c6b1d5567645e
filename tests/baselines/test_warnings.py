"""Warnings of a baseline are sentences in both languages, and their numbers agree with their nouns."""

import re
from pathlib import Path

from exports import row, small_pool, toloka, written

import merilo as merilo_library


def russian_warnings(folder: Path, rows: list, *, gold: Path | None = None) -> list[str]:
    """The sentences of the findings in Russian."""
    made = merilo_library.baseline(written(folder / "p.tsv", toloka(rows)), gold=gold)
    return [one.sentence.in_language("ru") for one in made.findings]


def test_gold_warnings_are_in_russian_too(tmp_path: Path) -> None:
    gold = written(tmp_path / "gold.csv", "question,gold\nq0,A\nq1,A\nother,A\n")
    found = russian_warnings(tmp_path, small_pool(items=3), gold=gold)
    assert not [text for text in found if re.search(r"[a-z]+ [a-z]+ [a-z]+", text)]
    assert "для 1 вопроса пула нет эталонного ответа, в оценку он не вошёл (номер 3)" in found


def test_numbers_of_several_agree(tmp_path: Path) -> None:
    gold = written(tmp_path / "gold.csv", "question,gold\nq0,A\n")
    found = russian_warnings(tmp_path, small_pool(items=4), gold=gold)
    assert "для 3 вопросов пула нет эталонного ответа, в оценку они не вошли (номера 2, 3, 4)" in found


def test_people_without_enough_controls_agree_with_their_number(tmp_path: Path) -> None:
    rows = [*small_pool(people=4), *(row(f"q{item}", "A", "late") for item in range(4))]
    found = russian_warnings(tmp_path, rows)
    assert (
        "1 разметчик из 5 ответил меньше чем на 1 контрольное задание: проверить его нельзя, ответы оставлены"
    ) in found
