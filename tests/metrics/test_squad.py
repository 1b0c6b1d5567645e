"""Free answers over alternatives, against a second implementation of SQuAD's rule."""

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scored import squad_em as em
from scored import squad_f1 as f1

from merilo.items import Item
from merilo.metrics.answers import Answer, alternatives
from merilo.metrics.registry import Scoring
from merilo.metrics.scoring import explain
from merilo.metrics.squad import normalised

SQUAD = Scoring(name="", answer=Answer(kind="text", alternatives=";"), metrics=("f1", "em"))

words = st.sampled_from(
    ["the", "a", "An", "Пушкин", "Толстой,", "лев", "«Лев»", "anna", "12-й", "—", "x;", "", "ё"]
)
phrases = st.lists(words, max_size=6).map(" ".join) | st.text(max_size=12)


def tokens_by_hand(text: str) -> list[str]:
    """Character by character, without regular expressions or translation tables."""
    kept = "".join(sign for sign in text.lower() if sign not in string.punctuation)
    out, word = [], ""
    for sign in kept + " ":
        if sign.isspace():
            out.append(word)
            word = ""
        else:
            word += sign
    return [word for word in out if word and word not in {"a", "an", "the"}]


def f1_by_hand(answer: list[str], true: list[str]) -> float:
    if not answer or not true:
        return 1.0 if answer == true else 0.0
    rest, common = list(true), 0
    for token in answer:
        if token in rest:
            rest.remove(token)
            common += 1
    return 2 * common / (len(answer) + len(true))


@settings(deadline=None)
@given(st.lists(words, max_size=6).map(" ".join))
def test_normalising_is_the_rule_read_literally(text: str) -> None:
    assert normalised(text).split() == tokens_by_hand(text)


@settings(deadline=None)
@given(st.lists(words, max_size=6).map(" ".join), st.lists(words, max_size=6).map(" ".join))
def test_the_best_alternative_counts(answer: str, gold: str) -> None:
    given = tokens_by_hand(answer)
    options = [tokens_by_hand(text) for text in gold.split(";")]
    assert f1([answer], [gold]).value == pytest.approx(max(f1_by_hand(given, option) for option in options))
    assert em([answer], [gold]).value == float(any(given == option for option in options))


@settings(deadline=None)
@given(phrases, phrases)
def test_the_judgement_tells_the_score(answer: str, gold: str) -> None:
    f1_judgement, em_judgement = explain(SQUAD, Item(1, "", "", gold), answer)
    assert f1_judgement.points == f1([answer], [gold]).value
    assert em_judgement.points == em([answer], [gold]).value
    assert em_judgement.points <= f1_judgement.points
    assert sum("alternative" in step for step in f1_judgement.steps) == len(alternatives(gold, ";"))
