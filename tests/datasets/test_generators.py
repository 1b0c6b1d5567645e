"""Generated items follow the published methodology, at any size and seed."""

import json
from collections import Counter
from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from merilo.datasets.generators import (
    ARGUMENTS,
    DEPTHS,
    GENERATORS,
    generate,
    generate_splits,
    shared_out,
)
from merilo.datasets.solvers import SOLVERS
from merilo.errors import UsageError
from merilo.items import Item

NAMES = st.sampled_from(sorted(GENERATORS))
SIZES = st.integers(1, 60)
SEEDS = st.integers(0, 2**64)


def text_of(item: Item) -> str:
    assert isinstance(item.inputs, str)
    return item.inputs


def as_bytes(items: list[Item]) -> bytes:
    return json.dumps([asdict(item) for item in items], ensure_ascii=False).encode()


@given(NAMES, SIZES, SEEDS)
@settings(deadline=None)
def test_every_dataset_comes_in_any_size_with_running_ids_and_answers_of_its_solver(
    name: str, size: int, seed: int
) -> None:
    items = generate(name, size, seed)
    assert [item.id for item in items] == [item.meta["id"] for item in items] == list(range(1, size + 1))
    assert all(item.outputs == SOLVERS[name](item.inputs) for item in items)


@given(NAMES, SIZES, SEEDS)
@settings(deadline=None)
def test_the_same_seed_gives_the_same_bytes(name: str, size: int, seed: int) -> None:
    assert as_bytes(generate(name, size, seed)) == as_bytes(generate(name.upper(), size, seed))


@given(NAMES, SIZES, st.integers(1, 12), SEEDS)
@settings(deadline=None)
def test_shots_follow_the_test_repeat_none_of_it_and_leave_it_as_it_is(
    name: str, size: int, shots: int, seed: int
) -> None:
    test, solved = generate_splits(name, size, seed, shots=shots)
    assert list(test) == generate(name, size, seed)
    assert [item.id for item in solved] == list(range(size + 1, size + shots + 1))
    questions = [item.inputs for item in solved]
    assert len({*questions}) == shots
    assert not {*questions} & {item.inputs for item in test}
    assert all(item.outputs == SOLVERS[name](item.inputs) for item in solved)


def test_the_bytes_of_a_seed_do_not_change_from_version_to_version() -> None:
    first = {name: generate(name, 1, seed=0)[0].inputs for name in GENERATORS}
    assert first == {
        "bps": "{ ( [ ] [ ] { } ) [ ( [ ] [ { } ] ) ] }",
        "lcs": "PRWTWOUKWWGSGBFGWS CBBDFALNZIMXWFYPNILV",
        "rumodar": "659 + 390 -> 1049\n790 + 656 -> 1446\n867 + 961 -> 1828\n314 + 853 -> 1167\n787 + 718 -> 1505\n119 + 952 ->",
        "rumultiar": "2 + 1 + 0 / (-7) = ",
        "simplear": "5 + 6 = ",
    }


@given(st.integers(1, 3000), SEEDS)
@settings(deadline=None)
def test_bps_labels_are_as_balanced_as_can_be_at_every_length(size: int, seed: int) -> None:
    counts = Counter((len(text_of(item).split()), item.outputs) for item in generate("bps", size, seed))
    assert abs(sum(n * (1 if label == "1" else -1) for (_, label), n in counts.items())) <= 1
    assert all(abs(counts[length, "1"] - counts[length, "0"]) <= 1 for length in (2, 4, 8, 12, 20))


def test_bps_lengths_are_distributed_as_published() -> None:
    lengths = Counter(len(text_of(item).split()) for item in generate("bps", 1000, seed=3))
    assert lengths == {20: 301, 12: 279, 8: 273, 4: 121, 2: 26}


def test_a_bps_sequence_comes_again_only_when_its_kind_is_used_up() -> None:
    counts = Counter(text_of(item) for item in generate("bps", 1000, seed=3))
    assert max(n for text, n in counts.items() if len(text.split()) > 4) == 1
    balanced_pairs = [counts[text] for text in ("( )", "[ ]", "{ }")]
    assert sum(balanced_pairs) == 13
    assert max(balanced_pairs) - min(balanced_pairs) <= 1


@given(st.integers(1, 400), SEEDS)
@settings(deadline=None)
def test_lcs_words_are_of_the_published_lengths_and_answers_are_spread_evenly(size: int, seed: int) -> None:
    items = generate("lcs", size, seed)
    words = [word for item in items for word in text_of(item).split()]
    assert all(4 <= len(word) < 32 and word.isascii() and word.isupper() for word in words)
    answers = Counter(str(item.outputs) for item in items)
    assert set(answers) <= set("0123456789")
    assert max(answers.values()) - min(answers[digit] for digit in "0123456789") <= 1
    assert len({item.inputs for item in items}) == size


def test_simplear_has_every_number_of_digits_equally_often() -> None:
    terms = [text_of(item).split() for item in generate("simplear", 1000, seed=4)]
    assert all(len(words[0]) == len(words[2]) and words[1] == "+" and words[3] == "=" for words in terms)
    assert Counter(len(words[0]) for words in terms) == dict.fromkeys(range(1, 6), 200)


def test_rumultiar_keeps_to_its_bounds() -> None:
    items = generate("rumultiar", 1500, seed=6)
    answers = Counter(int(str(item.outputs)) for item in items)
    assert all(-1000 <= answer <= 1000 for answer in answers)
    assert max(answers.values()) <= 10
    assert len({item.inputs for item in items}) == 1500
    numbers = {int(word) for item in items for word in text_of(item).replace("(", " ").replace(")", " ").split() if word.lstrip("-").isdigit()}  # fmt: skip
    assert numbers == set(ARGUMENTS)
    assert all(text_of(item).endswith(" = ") for item in items)


def test_rumultiar_expressions_are_as_deep_as_they_say_and_every_depth_is_as_frequent() -> None:
    items = generate("rumultiar", 300, seed=7)
    for item in items:
        plain = text_of(item)
        for number in ARGUMENTS:
            plain = plain.replace(f"({number})", "")
        depth = deepest = 1
        for sign in plain:
            depth += (sign == "(") - (sign == ")")
            deepest = max(deepest, depth)
        assert deepest == item.meta["depth"]
    assert Counter(item.meta["depth"] for item in items) == dict.fromkeys(DEPTHS, 100)


def test_rumultiar_still_finds_expressions_when_most_answers_are_used_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("merilo.datasets.generators.TARGETS", range(-100, 101))  # for 2010 items at most
    items = generate("rumultiar", 1500, seed=8)
    answers = Counter(item.outputs for item in items)
    assert max(answers.values()) == 10
    assert len({item.inputs for item in items}) == 1500
    assert all(item.outputs == SOLVERS["rumultiar"](item.inputs) for item in items)


def test_rumultiar_cannot_be_larger_than_its_answers_allow() -> None:
    with pytest.raises(UsageError, match="fewer than 20011"):
        generate("rumultiar", 20011, seed=0)


@given(st.integers(0, 500), st.dictionaries(st.text(max_size=2), st.floats(0.01, 1), min_size=1, max_size=6))
def test_shares_add_up_and_are_less_than_one_off(size: int, weights: dict[str, float]) -> None:
    shares = shared_out(size, weights)
    assert sum(shares.values()) == size
    assert all(abs(shares[key] - size * w / sum(weights.values())) < 1 + 1e-9 for key, w in weights.items())
