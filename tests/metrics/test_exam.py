"""The exam's grading, held against a brute-force reading of its rules."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from merilo.items import Item
from merilo.metrics.answers import Answer
from merilo.metrics.exam import complete_rows, letters, points_of, question
from merilo.metrics.registry import Scoring
from merilo.metrics.scoring import Scores, explain, score, score_samples

EXAM = Scoring(
    name="use", answer=Answer(kind="text"), metrics=("grade_norm",), extra="grade_norm.task{id_task}"
)

TASKS = [*map(str, range(1, 8)), *(f"8_{part}" for part in range(5)), *map(str, range(9, 27))]
TEXT_TASKS = {"2", "4", "5", "6", "7", "13", "14", "24"}
russian = st.text("абеёийъЁЙЕИ \u0301\u0306\u0308,.-—9a_", max_size=8)
numbers = st.sets(st.integers(1, 9), min_size=2, max_size=5)
written = st.lists(st.sampled_from([*map(str, range(1, 10)), "", " 1", "а"]), max_size=6).map(",".join)


def item(task: str, variant: int = 1, gold: str | None = None, number: int = 0) -> Item:
    """An item of a task; by default, its gold answer identifies the task."""
    most, kind, usual = 2 if task == "16" else 1, "multiple_choice_independent_options", "1,3"
    if task in TEXT_TASKS:
        kind, usual = "text", "слово,другоеслово"
    elif task == "26":
        most, kind, usual = 4, "matching", "3,1,8,5"
    meta = {"id_task": task, "variant": variant, "score": most, "type": kind}
    return Item(number, "", "", gold or usual, meta)


def points(one: Item, answer: str) -> float:
    return points_of(question(one), answer)


def sat(items: list[Item], answers: dict) -> Scores:
    return score(EXAM, items, answers)


def grade_norm(items: list[Item], answers: dict):
    return sat(items, answers).main["grade_norm"]


def variant(number: int) -> list[Item]:
    return [item(task, number, number=number * 100 + place) for place, task in enumerate(TASKS)]


def right(one: Item) -> str:
    """A correct answer: the gold, or the first of its alternatives."""
    return one.outputs.split(",")[0] if one.meta["type"] == "text" else one.outputs


def neighbours(gold: set[str]) -> set[frozenset[str]]:
    """Every answer that differs from the gold by one number wrong, missing or too many, enumerated."""
    signs = [*map(str, range(1, 10)), "", " 1", "а"]
    fewer = {frozenset(gold - {number}) for number in gold}
    more = {frozenset(gold | {sign}) for sign in signs}
    other = {frozenset((gold - {number}) | {sign}) for number in gold for sign in signs}
    return (fewer | more | other) - {frozenset(gold)}


@settings(deadline=None)
@given(numbers, written)
def test_task_16_is_the_enumeration_of_its_rule(gold_numbers: set[int], answer: str) -> None:
    gold = {str(number) for number in gold_numbers}
    chosen = frozenset(answer.split(","))
    expected = 2 if chosen == gold else 1 if chosen in neighbours(gold) else 0
    if not answer.strip():
        expected = 0
    assert points(item("16", gold=",".join(sorted(gold))), answer) == expected


@settings(deadline=None)
@given(numbers, written)
def test_other_choices_are_all_or_nothing(gold_numbers: set[int], answer: str) -> None:
    gold = [str(number) for number in gold_numbers]
    every_order_holds = sorted(set(answer.split(","))) == sorted(gold)
    assert points(item("9", gold=",".join(gold)), answer) == int(every_order_holds)


@settings(deadline=None)
@given(st.lists(st.integers(1, 9), min_size=4, max_size=4), written)
def test_matching_counts_positions(gold: list[int], answer: str) -> None:
    given = answer.split(",")
    expected = 0
    if len(given) == 4:
        for place in range(4):
            expected += given[place] == str(gold[place])
    assert points(item("26", gold=",".join(map(str, gold))), answer) == expected


@settings(deadline=None)
@given(russian, russian)
def test_text_compares_letters_only(gold: str, answer: str) -> None:
    def kept(text: str) -> str:
        composed = unicodedata.normalize("NFC", text)
        return "".join(sign for sign in composed if unicodedata.category(sign).startswith("L")).lower()

    expected = bool(kept(answer)) and any(kept(answer) == kept(part) for part in gold.split(","))
    assert points(item("4", gold=gold or ","), answer) == int(expected)


@pytest.mark.parametrize(("task", "gold", "answer", "expected"), [
    ("26", "8,1,9,7", "8,1,7,9", 2), ("26", "8,1,9,7", "8,1,9,7,2", 0),
    ("1", "1,3", "3,1", 1), ("1", "1,3", "1, 3", 0), ("8_0", "9", "9", 1),
    ("5", "праздничного", "Праздничного.", 1), ("24", "всёравно,безразлично", "всё равно", 1),
    ("24", "всёравно,безразлично", "все равно", 0),
    ("16", "1,2,5", "5,2,1", 2), ("16", "1,2,5", "1,2", 1), ("16", "1,2,5", "1,2,3", 1),
    ("16", "1,2,5", "1,2,5,3", 1), ("16", "1,2,5", "1,3,4", 0),
])  # fmt: skip
def test_worked_examples(task: str, gold: str, answer: str, expected: int) -> None:
    one = item(task, gold=gold)
    assert points(one, answer) == expected
    (judgement,) = explain(EXAM, one, answer)
    assert (judgement.points, judgement.most) == (expected, one.meta["score"])


@pytest.mark.parametrize("task", ["2", "9", "16", "26"])
@pytest.mark.parametrize("answer", ["", "  ", "\n"])
def test_a_blank_earns_nothing(task: str, answer: str) -> None:
    assert points(item(task), answer) == 0
    assert "no answer" in explain(EXAM, item(task), answer)[0].steps[0]


def test_letters_survive_how_they_were_typed() -> None:
    assert letters("Йо́д") == letters(unicodedata.normalize("NFD", "йод")) == "йод"


def test_a_heap_of_marks_is_read_in_no_time() -> None:
    """Unicode's own normalisation would sort these for hours."""
    heap = "а" + "\u0315\u0300" * 2_000_000
    assert letters(heap) == "а"


def test_a_complete_variant_is_thirty_items_and_34_points() -> None:
    whole = variant(1)
    assert complete_rows(whole) == list(range(30))
    assert sum(question(one).most for one in whole) == 34
    assert not complete_rows(whole[:-1]), "29 items"
    assert not complete_rows([*whole, item("3", number=999)]), "31 items"
    assert not complete_rows([*whole[:-1], item("3", number=999)]), "a task twice"


@settings(deadline=None)
@given(st.lists(st.lists(st.booleans(), min_size=30, max_size=30), min_size=1, max_size=5))
def test_the_norm_is_the_mean_over_variants(sheets: list[list[bool]]) -> None:
    items, answers, by_hand = [], {}, []
    for number, sheet in enumerate(sheets, start=1):
        earned = 0
        for one, known in zip(variant(number), sheet, strict=True):
            items.append(one)
            answers[one.id] = right(one) if known else "мимо"
            earned += one.meta["score"] if known else 0
        by_hand.append(earned / 34)
    score = grade_norm(items, answers)
    assert score.value == pytest.approx(sum(by_hand) / len(by_hand))
    assert score.n == 30 * len(sheets)
    grades = {name: grade.value for name, grade in sat(items, answers).extra.items()}
    assert list(grades) == [f"grade_norm.task{task}" for task in TASKS]
    for place, task in enumerate(TASKS):
        assert grades[f"grade_norm.task{task}"] == pytest.approx(sum(s[place] for s in sheets) / len(sheets))


def test_incomplete_variants_and_those_nobody_sat_do_not_count() -> None:
    items = [*variant(1), *variant(2)[:20], *variant(3)]
    sheet = {one.id: right(one) for one in [*variant(1), *variant(2)]}
    score = grade_norm(items, sheet)
    assert (score.value, score.n) == (1.0, 30)
    assert "variant 2 lacks tasks" in sat(variant(2)[:20], sheet).missing["grade_norm"]


def test_variants_are_what_the_interval_draws() -> None:
    items = [one for number in range(1, 11) for one in variant(number)]
    answers = {one.id: right(one) if one.meta["variant"] % 2 else "мимо" for one in items}
    interval = grade_norm(items, answers).interval
    assert interval is not None
    assert interval.method == "Wilson's form over variants"
    assert interval.high - interval.low > 0.4, (
        "ten variants of two sorts say little, however many items they hold"
    )


@pytest.mark.parametrize("variants", [1, 2])
def test_samples_of_a_variant_are_no_variants_and_blanks_are_part_of_each(variants: int) -> None:
    items = [one for number in range(1, variants + 1) for one in variant(number)]
    answers = {one.id: {"1": right(one), "2": "мимо"} for one in items}
    answers[items[0].id]["3"] = right(items[0])
    scores = score_samples(EXAM, [*items, *variant(9)], answers)
    whole, first = scores.main["grade_norm"], scores.extra["grade_norm.task1"]
    assert whole.value == pytest.approx((35 / 34 / 3 + (variants - 1) / 2) / variants)
    assert first.value == pytest.approx((2 / 3 + (variants - 1) / 2) / variants)
    assert (whole.n, whole.answers) == (30 * variants, 60 * variants + 1)
    assert [score.interval is None for score in (whole, first)] == [variants == 1] * 2
