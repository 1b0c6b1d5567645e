"""Warnings of a baseline are sentences in both languages, and their numbers agree with their nouns."""

import re
from pathlib import Path

import pytest
from exports import row, small_pool, toloka, written

import merilo


@pytest.mark.parametrize(
    ("rows", "gold", "sentence"),
    [
        (small_pool(items=3), "q0,A\nq1,A\nother,A\n", "для 1 вопроса пула нет эталонного ответа, в оценку он не вошёл (номер 3)"),
        (small_pool(items=4), "q0,A\n", "для 3 вопросов пула нет эталонного ответа, в оценку они не вошли (номера 2, 3, 4)"),
        ([*small_pool(people=4), *(row(f"q{item}", "A", "late") for item in range(4))], None,
         "1 разметчик из 5 ответил меньше чем на 1 контрольное задание: проверить его нельзя, ответы оставлены"),
    ],
)  # fmt: skip
def test_findings_are_russian_sentences_whose_numbers_agree(
    rows: list, gold: str | None, sentence: str, tmp_path: Path
) -> None:
    known = gold and written(tmp_path / "gold.csv", f"question,gold\n{gold}")
    made = merilo.baseline(written(tmp_path / "p.tsv", toloka(rows)), gold=known)
    found = [finding.sentence.in_language("ru") for finding in made.findings]
    assert sentence in found
    assert not [text for text in found if re.search(r"[a-z]+ [a-z]+ [a-z]+", text)]
