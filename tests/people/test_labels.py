"""Different spellings of one label."""

from hypothesis import given
from hypothesis import strategies as st

from merilo.people.spelling import unify


def test_numbers_lose_an_empty_fraction_and_nothing_else() -> None:
    assert unify(["7", "7.0", "7,00", "7.5", "-3.0", "1e0"]) == {
        "7": "7", "7.0": "7", "7,00": "7", "7.5": "7.5", "-3.0": "-3", "1e0": "1e0",
    }  # fmt: skip


def test_truth_values_become_the_labels_in_use() -> None:
    assert unify(["True", "0", "1"])["True"] == "1"
    assert unify(["True", "false"]) == {"True": "true", "false": "false"}
    assert unify(["Да", "true"], ["Да", "Нет"]) == {"Да": "Да", "true": "Да"}
    assert unify(["1", "0"], ["Да", "Нет"]) == {"1": "Да", "0": "Нет"}


def test_words_are_not_truth_values_where_no_such_labels_are_used() -> None:
    assert unify(["да", "возможно"], ["A", "B"]) == {"да": "да", "возможно": "возможно"}


def test_a_word_among_other_labels_is_no_truth_value() -> None:
    assert unify(["3", "1", "yes"]) == {"3": "3", "1": "1", "yes": "yes"}


#: Answers that are one label typed in many ways, and answers that only look like it.
TYPED = st.sampled_from(
    [
        "0",
        "1",
        "true",
        "True",
        "TRUE",
        "false",
        "Да",
        "да",
        "Нет",
        "нет",
        "yes",
        "No",
        "YES",
        "1.0",
        "1.00",
        "0,0",
        "01",
        "a",
        "A",
        "b",
    ]
) | st.text(max_size=4)


@given(st.lists(TYPED, max_size=8), st.lists(TYPED.filter(bool), max_size=4))
def test_every_answer_gets_a_label_and_labels_stay_themselves(written: list[str], labels: list[str]) -> None:
    mapping = unify(written, labels)
    assert set(mapping) == set(written)
    assert all(mapping[text] == text for text in written if text in labels)
    again = unify(mapping.values(), labels)
    assert all(again[label] == label for label in mapping.values())
