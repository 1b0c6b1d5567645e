from every import every

from merilo.datasets import dataset
from merilo.datasets.generators import generate_splits
from merilo.datasets.ready_items import examples
from merilo.items import Item
from merilo.studies.known_answers import (
    choose_controls,
    choose_examples,
    screen_known,
    spacing,
    wanted_controls,
)


def test_solved_items_of_the_test_without_gold_or_repeated_are_not_used() -> None:
    test = [Item(1, "{inputs}", "two  plus two", "1")]
    pool = [
        Item(2, "{inputs}", "Two plus Two", "1"),
        Item(3, "{inputs}", "three", None),
        Item(4, "{inputs}", "four", "0"),
        Item(5, "another template {inputs}", "FOUR", "0"),
    ]
    found = screen_known(pool, test)
    assert [item.id for item in found.items] == [4]
    assert (found.in_test, found.unanswered, found.repeated) == (("2",), 1, 1)


def test_examples_show_every_domain_and_label_with_few_items() -> None:
    splits = examples(dataset("rummlu"))
    chosen = choose_examples(splits["shots"].items, splits["test"].items, dataset("rummlu"), most=5)
    shown = {f"domain: {item.meta['domain']}" for item in chosen.items}
    shown |= {f"answer: {item.outputs}" for item in chosen.items}
    wanted = {f"domain: {item.meta['domain']}" for item in splits["test"]} | {
        f"answer: {label}" for label in "ABCD"
    }
    assert set(chosen.uncovered) == wanted - shown


def test_two_labels_need_two_examples_and_no_more() -> None:
    test, shots = generate_splits("bps", 50, seed=1, shots=30)
    chosen = choose_examples(shots.items, test.items, dataset("bps"), most=30)
    assert sorted(str(item.outputs) for item in chosen.items) == ["0", "1"]
    assert not chosen.uncovered


def test_what_the_shots_cannot_show_is_named() -> None:
    test, shots = generate_splits("bps", 50, seed=1, shots=30)
    ones = [item for item in shots if item.outputs == "1"]
    assert choose_examples(ones, test.items, dataset("bps"), most=30).uncovered == ("answer: 0",)


def test_controls_of_a_larger_pool_have_the_tests_balance_of_answers() -> None:
    test, shots = generate_splits("bps", 400, seed=2, shots=200)
    skewed = [item for at, item in enumerate(shots) if item.outputs == "1" or at % 4 == 0]
    chosen = choose_controls(skewed, test.items, dataset("bps"), wanted=20, seed=0)
    assert abs(sum(item.outputs == "1" for item in chosen.items) - 10) <= 1


def test_controls_are_drawn_again_by_the_same_seed() -> None:
    test, shots = generate_splits("bps", 60, seed=2, shots=60)
    one, other = (
        choose_controls(shots.items, test.items, dataset("bps"), wanted=10, seed=seed).items
        for seed in (1, 2)
    )
    assert one != other
    assert one == choose_controls(shots.items, test.items, dataset("bps"), wanted=10, seed=1).items


@every("share", [0.05, 0.1, 0.2, 1 / 3, 0.5])
def test_control_items_are_enough_for_a_person_who_answers_all_items(share: float) -> None:
    assert wanted_controls(137, share) * (spacing(share) - 1) >= 137
