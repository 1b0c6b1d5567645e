"""A test over many cases fails when one case does, names all that do, and still gets its fixtures."""

from pathlib import Path

import pytest
from every import every


@every("number", [1, 2, 3])
def only_odd(number: int) -> None:
    assert number % 2


@every(("word", "length"), [("a", 1), pytest.param("bb", 1, id="two letters"), ("ccc", 1)])
def of_length(word: str, length: int) -> None:
    assert len(word) == length


@every("letter", "ab")
@every("number", [1, 2])
def never_b2(letter: str, number: int) -> None:
    assert (letter, number) != ("b", 2)


def test_every_case_that_fails_is_named_and_the_others_are_run() -> None:
    with pytest.raises(AssertionError, match=r"1 of 3 cases failed\n\[2\] AssertionError"):
        only_odd()
    with pytest.raises(AssertionError, match=r"2 of 3 cases failed\n\[two letters\] [^[]*\['ccc', 1\]"):
        of_length()
    with pytest.raises(
        AssertionError, match=r"1 of 2 cases failed\n\['b'\] AssertionError: 1 of 2 .*\n\[2\]"
    ):
        never_b2()


@every("number", [1, 2])
def test_a_test_over_many_cases_gets_its_fixtures(tmp_path: Path, number: int) -> None:
    (tmp_path / str(number)).touch()
    assert len(list(tmp_path.iterdir())) == number


def test_no_case_at_all_is_an_error() -> None:
    with pytest.raises(ValueError, match="the test could not fail"):
        every("number", [])
