from itertools import pairwise

import pytest
from every import every

from merilo.errors import DataError
from merilo.studies.known_answers import spacing, wanted_controls
from merilo.studies.mixing import mix_controls


@every("share", [0.05, 0.1, 0.2, 1 / 3, 0.5])
@every("seed", [0, 1, 2, 3])
def test_a_person_who_answers_all_items_meets_no_control_twice(share: float, seed: int) -> None:
    items = [f"item {number}" for number in range(137)]
    controls = [f"control {number}" for number in range(wanted_controls(len(items), share))]
    tasks = mix_controls(items, controls, every=spacing(share), seed=seed)
    assert [task for task in tasks if task.startswith("item")] == items
    assert len(set(tasks)) == len(tasks)
    places = [place for place, task in enumerate(tasks) if task.startswith("control")]
    assert {after - before for before, after in pairwise(places)} == {spacing(share)}


def test_too_few_controls_are_refused_instead_of_repeated() -> None:
    with pytest.raises(DataError, match="need more than 2 control items"):
        mix_controls(list(range(100)), [-1, -2], every=20, seed=0)


def test_different_people_meet_controls_at_different_places() -> None:
    orders = {tuple(mix_controls(range(30), [-1, -2, -3, -4], every=10, seed=seed)) for seed in range(20)}
    assert len(orders) > 10
