"""The bundled examples obey Merilo's rules, and their golds are correct as far as programs can check."""

from pathlib import Path

import pytest
from every import every

import merilo.datasets
from merilo.datasets import Answer, Dataset, dataset, names
from merilo.datasets.ready_items import examples
from merilo.datasets.validation import validate
from merilo.errors import UsageError

FOLDER = Path(merilo.datasets.__file__).parent / "examples"
each = every("name", names())


@each
def test_bundled_examples_are_valid(name: str) -> None:
    report = validate(FOLDER / f"{name}.json", dataset(name))
    assert report.problems == []
    assert report.items["test"] >= 8


def test_a_dataset_of_ones_own_has_no_bundled_examples() -> None:
    own = Dataset(name="own", title="Own", answer=Answer(kind="integer"), metrics=("em",))
    with pytest.raises(UsageError, match="no examples of 'own'"):
        examples(own)
