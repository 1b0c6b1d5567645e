"""Every warning about gold answers is a sentence in English and one in Russian."""

import re
from pathlib import Path

from every import every
from gold_files import entry, pool, split, table

from merilo.datasets.solvers import solver
from merilo.people.gold import Gold, read_gold, solved_gold


def joined_by_id_only(folder: Path) -> Gold:
    return read_gold(table(folder / "g.csv", "id,gold\n1,A\n2,B\n"), pool(idx=["2", "1"], picture=["a", "b"]))


def edited_text(folder: Path) -> Gold:
    path = split(folder / "t.json", [entry(n, "A", question=f"q{n}") for n in range(20)])
    questions = [f"q{n}" for n in range(19)] + ["другой"]
    return read_gold(path, pool(id=[str(n) for n in range(20)], question=questions))


def whole_text(folder: Path) -> Gold:
    path = split(folder / "t.json", [{"inputs": "ABC BC", "outputs": "2", "meta": {"id": 4}}])
    return read_gold(path, pool(string1=["ABC"], string2=["BC"]))


def other_names(folder: Path) -> Gold:
    text = "comment,gold\n" + "".join(f"text {n},A\n" for n in range(5))
    return read_gold(table(folder / "g.csv", text), pool(words=[f"text {n}" for n in range(5)]))


def repeated_item(folder: Path) -> Gold:
    rows = [entry(n, "A", {"domain": f"d{n}"}, question="q") for n in range(3)]
    return read_gold(split(folder / "t.json", rows), pool(question=["q"]))


def two_columns(folder: Path) -> Gold:
    path = table(folder / "g.csv", "question,label,gold\nq1,A,A\nq2,A,B\n")
    return read_gold(path, pool(question=["q1", "q2"]), answer="OUTPUT:label")


def word_for_empty(folder: Path) -> Gold:
    path = table(folder / "g.csv", "question,gold\nq1,A\nq2,nan\n")
    return read_gold(path, pool(question=["q1", "q2"]), labels=["A"])


def unsolved(folder: Path) -> Gold:
    items = pool(inputs=["4 / 2 = ", "1 / 2 = ", "1 / 0 = ", "x", "1 / 3 = "])
    return solved_gold(items, solver("rumultiar"), "rumultiar")


CASES = [
    (joined_by_id_only, "других общих полей нет"),
    (edited_text, "хотя остальные поля 1 вопроса различаются"),
    (whole_text, "сопоставлен с полями пула (string1, string2)"),
    (other_names, "поле «words» пула со столбцом «comment» файла"),
    (repeated_item, "всего 2 такие строки); взята первая, строки различаются полями: meta.domain"),
    (two_columns, "взяты из столбца «gold», а не из «label»"),
    (word_for_empty, "строка 3: эталонный ответ — «nan»"),
    (unsolved, "не может ответить на 4 вопроса из 5; в оценку они не входят (номера: 2, 3, 4, 5)"),
]


@every("case, said", CASES)
def test_a_gold_warning_is_russian_in_a_russian_report(tmp_path: Path, case, said: str) -> None:
    (warning,) = case(tmp_path).warnings
    assert said in warning.ru
    assert warning.en != warning.ru
    assert not re.search(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}", warning.ru)
    assert not re.search("[а-яё]", warning.en)


def test_the_list_of_unsolved_items_is_shortened() -> None:
    gold = solved_gold(pool(inputs=["4 / 2 = ", *["1 / 2 = "] * 15]), solver("rumultiar"), "rumultiar")
    assert gold.warnings[0].ru.endswith("(номера: 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 и ещё 3)")
