"""Warnings about busy, hasty and few annotators: planted, and absent by chance."""

import numpy as np
import polars as pl

import merilo
from merilo.baselines.findings import finding_on_busy_annotators, worse_busy_annotators
from merilo.people.votes import Votes

ITEMS, PEOPLE, LABELS = 200, 20, 4


def crowd(seed: int, *, busy: int = 0, overlap: int = 8) -> tuple[Votes, np.ndarray]:
    """Votes, with an attractive wrong label on an eighth of the items, and the labels with most votes."""
    rng = np.random.default_rng(seed)
    eager = np.where(np.arange(PEOPLE) < busy, 2.5, 0.0)
    person = np.argsort(-(eager + rng.gumbel(size=(ITEMS, PEOPLE))), axis=1)[:, :overlap].ravel()
    item = np.repeat(np.arange(ITEMS), overlap)
    lure = rng.random(ITEMS) < 0.12
    right = rng.random(item.size) < np.where(lure[item], 0.4, 0.85)
    wrong = np.where(lure[item] & (rng.random(item.size) < 0.8), 1, rng.integers(1, LABELS, item.size))
    label = np.where(right, 0, wrong)
    label = np.where(person < busy, rng.integers(0, LABELS, item.size), label).astype(np.int32)
    votes = Votes(item.astype(np.int32), person.astype(np.int32), label, ITEMS, PEOPLE, LABELS)
    counts = np.bincount(item * LABELS + label, minlength=ITEMS * LABELS).reshape(ITEMS, LABELS)
    return votes, counts.argmax(axis=1).astype(np.int32)


def test_busy_people_who_guess_are_found_and_busy_people_who_do_not_are_not() -> None:
    found = [worse_busy_annotators(*crowd(seed, busy=2)) for seed in range(10)]
    assert all(one is not None and one[2] < 0.6 < one[3] for one in found)
    assert sum(worse_busy_annotators(*crowd(seed)) is not None for seed in range(20)) <= 3


def test_one_person_with_half_of_the_answers_is_named() -> None:
    votes, consensus = crowd(0)
    person = np.where(np.arange(len(votes)) % 2 == 0, 0, votes.annotator).astype(np.int32)
    names = [f"p{code}" for code in range(PEOPLE)]
    mine = Votes(votes.item, person, votes.label, ITEMS, PEOPLE, LABELS)
    found = finding_on_busy_annotators(mine, consensus, names)
    assert found is not None
    assert "(p0) gave 5" in found.sentence.en
    assert "(p0) дал 5" in found.sentence.ru


def test_few_answers_accuse_nobody() -> None:
    none = np.zeros(0, np.int32)
    assert finding_on_busy_annotators(Votes(none, none, none, 0, 0, 0), none, []) is None
    two = Votes(*(np.array(codes, np.int32) for codes in ([0, 0], [0, 1], [0, 0])), 1, 2, 1)
    assert finding_on_busy_annotators(two, np.zeros(1, np.int32), ["a", "b"]) is None


def hasty(seconds: float, people: int = 12) -> pl.DataFrame:
    """Answers to texts of 200 characters, one a page."""
    rows = [
        (f"{'x' * 198}{item:02}", f"p{person}", "AB"[item % 2], seconds)
        for item in range(20)
        for person in range(people)
    ]
    return pl.DataFrame(rows, schema=["item", "annotator", "answer", "seconds"], orient="row")


def codes_of(table: pl.DataFrame) -> set[str]:
    return {one.code for one in merilo.baseline(table).findings}


def test_pages_that_nobody_can_have_read_are_counted() -> None:
    assert "fast_answers" not in codes_of(hasty(seconds=10))
    made = merilo.baseline(hasty(seconds=1.5))
    (found,) = [one for one in made.findings if one.code == "fast_answers"]
    assert found.sentence.en.startswith(
        "240 of 240 answers (100%), by 12 annotators, were given faster than anyone can read"
    )
    assert "12 разметчик" in found.sentence.ru
    assert found.sentence.en.endswith("read the item: the estimate says nothing about people who read")


def test_too_few_annotators_for_a_verdict_are_named() -> None:
    assert "few_annotators" not in codes_of(hasty(seconds=10))
    assert "few_annotators" in codes_of(hasty(seconds=10, people=9))
