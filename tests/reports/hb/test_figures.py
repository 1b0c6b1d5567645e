"""When two values of a figure are the same."""

from every import every

from merilo.reports.hb.figures import Figure, compare_figures, figures_of, table_figures


@every(
    "one,other",
    [
        (0.5, 0.500001),
        (3, 3.0),
        (None, None),
        ("A", "A"),
        ("0.5", "0.5000001"),
        ("1e-9", "1.5e-9"),
        (True, True),
        ([], []),
    ],
    ids=str,
)
def test_these_values_are_the_same(one: object, other: object) -> None:
    assert Figure("n", one, other).follows  # type: ignore[arg-type]


@every(
    "one,other",
    [
        (0.5, 0.50001),
        (3, 4),
        (None, 0),
        ("A", "B"),
        ("1", "01"),
        ("1", "1.0"),
        ("10", "11"),
        (True, 1),
        ([], {}),
        ("0.5", None),
        ("1.50", "1.5"),
    ],
    ids=str,
)
def test_these_values_are_different(one: object, other: object) -> None:
    assert not Figure("n", one, other).follows  # type: ignore[arg-type]


def test_a_large_figure_may_differ_by_as_many_digits() -> None:
    assert Figure("cost", 1_234_567.123456, 1_234_567.123457).follows


def test_figures_in_a_list_are_named_by_what_they_are_of_and_not_by_their_place() -> None:
    first = {"quality": {"annotators": [{"annotator": "b", "n": 1}, {"annotator": "a", "n": 2}]}}
    second = {"quality": {"annotators": [{"annotator": "a", "n": 2}, {"annotator": "b", "n": 1}]}}
    found = figures_of(first)
    assert found["quality.annotators.a.n"] == 2
    assert all(one.follows for one in compare_figures(found, figures_of(second)))


def test_a_figure_that_one_side_lacks_does_not_follow() -> None:
    assert [one.name for one in compare_figures({"a": None}, {"b": None}) if not one.follows] == ["a", "b"]


def test_the_cells_of_a_table_are_figures_except_the_texts_of_items() -> None:
    table = b"item,id,question,label,confidence\n7,x,What?,A,0.8\n"
    assert table_figures("consensus.csv", table) == {
        "consensus.csv, item 7, id": "x",
        "consensus.csv, item 7, label": "A",
        "consensus.csv, item 7, confidence": "0.8",
    }
