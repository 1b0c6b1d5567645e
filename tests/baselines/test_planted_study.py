"""Planted wrong golds are found, at a precision and recall stated here."""

import numpy as np
import pytest
from planted_study import Detection, detected


@pytest.fixture(scope="module")
def detection() -> Detection:
    return detected(8)


def test_wrong_golds_are_found_among_hard_items_and_bad_annotators(detection: Detection) -> None:
    assert detection.golds.precision >= 0.7
    assert detection.golds.recall >= 0.7


def test_the_probability_that_a_gold_is_wrong_means_what_it_says(detection: Detection) -> None:
    said, true = np.array(detection.said), np.array(detection.true)
    assert abs(said.sum() - true.sum()) <= 0.25 * true.sum()
    for low, high in ((0.0, 0.1), (0.1, 0.5), (0.5, 0.9), (0.9, 1.01)):
        here = (said >= low) & (said < high)
        assert abs(said[here].mean() - true[here].mean()) <= 0.15
