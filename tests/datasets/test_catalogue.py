"""The catalogue agrees with the benchmark's published table."""

import pytest
from every import every

from merilo.datasets import Answer, Dataset, dataset, names
from merilo.errors import UsageError
from merilo.items import Item

#: The published table: title, human results by metric, items with a majority, items in the test.
PUBLISHED = [
    ("BPS", {"acc": 1.0}, 100, 1000),
    ("LCS", {"acc": 0.704}, 54, 500),
    ("MathLogicQA", {"acc": 0.995}, 1130, 1143),
    ("PARus", {"acc": 0.982}, 400, 400),
    ("RCB", {"f1_macro": 0.68, "acc": 0.702}, 438, 438),
    ("RWSD", {"acc": 0.837}, 259, 260),
    ("ruDetox", {"j": 0.477}, 404, 1000),
    ("ruHateSpeech", {"acc": 0.985}, 265, 268),
    ("ruHHH", {"acc": 0.814}, 177, 178),
    ("ruHumanEval", {"pass@1": 1.0, "pass@5": 1.0, "pass@10": 1.0}, None, 164),
    ("ruMMLU", {"acc": 0.898}, None, 961),
    ("ruModAr", {"em": 0.999}, 1794, 6000),
    ("ruMultiAr", {"em": 1.0}, 519, 1024),
    ("ruTiE", {"acc": 0.977}, 430, 430),
    ("SimpleAr", {"em": 1.0}, 200, 1000),
    ("CheGeKa", {"f1": 0.719, "em": 0.645}, 416, 416),
    ("MultiQ", {"f1": 0.928, "em": 0.910}, 900, 900),
    ("ruWorldTree", {"f1_macro": 0.838, "acc": 0.837}, 525, 525),
    ("ruOpenBookQA", {"f1_macro": 0.875, "acc": 0.865}, 400, 400),
    ("USE", {"grade_norm": 0.701}, None, 900),
]

IN_TOTAL = {
    "LCS", "MathLogicQA", "PARus", "RCB", "RWSD", "ruModAr", "ruMultiAr", "ruTiE", "CheGeKa", "MultiQ", "ruWorldTree",
    "ruOpenBookQA", "USE", "MaMuRAMu", "ruCodeEval",
}  # fmt: skip

ALL = [dataset(name) for name in names()]
by_name = every("declared", ALL, ids=names())


@every(("title", "figures", "n", "size"), PUBLISHED, ids=[row[0] for row in PUBLISHED])
def test_the_published_figures_are_in_the_catalogue(
    title: str, figures: dict[str, float], n: int | None, size: int
) -> None:
    declared = dataset(title)
    assert declared.title == title
    # A dataset may have several results for a metric; the table's result is first.
    assert {figure.metric: figure.value for figure in reversed(declared.human)} == figures
    assert {figure.n for figure in declared.human} == {n}
    assert declared.sizes["1.0"] == size


def test_ruethics_has_its_fifteen_correlations() -> None:
    figures = {figure.metric: figure.value for figure in dataset("ruEthics").human}
    assert len(figures) == 15
    rows = {
        "justice": (0.748, 0.789, 0.729),
        "law": (0.864, 0.832, 0.817),
        "moral": (0.880, 0.837, 0.811),
        "utilitarianism": (0.684, 0.675, 0.665),
        "virtue": (0.813, 0.802, 0.771),
    }
    for criterion, row in rows.items():
        assert tuple(figures[f"{question}.{criterion}"] for question in ("correct", "good", "ethical")) == row


def test_there_are_the_21_datasets_of_the_table_and_two_of_version_1_2() -> None:
    titles = {declared.title for declared in ALL}
    assert titles == {row[0] for row in PUBLISHED} | {"ruEthics", "MaMuRAMu", "ruCodeEval"}
    assert {d.title for d in ALL if "1.0" not in d.sizes} == {"MaMuRAMu", "ruCodeEval"}


def test_fifteen_datasets_count_in_the_total_and_the_diagnostic_ones_are_open() -> None:
    assert {declared.title for declared in ALL if declared.in_total} == IN_TOTAL
    assert all((declared.gold == "closed") == declared.in_total for declared in ALL)


@by_name
def test_every_dataset_says_where_its_human_figure_comes_from(declared: Dataset) -> None:
    assert declared.human
    assert all(figure.source and figure.provenance for figure in declared.human)
    assert all((figure.n is None) == (figure.provenance in {"official statistics", "by definition"})
               or declared.name in {"rummlu", "mamuramu"} for figure in declared.human)  # fmt: skip
    assert all(
        "{" in (declared.extra or "") or figure.metric in declared.metrics for figure in declared.human
    )


@by_name
def test_names_are_found_in_any_letter_case(declared: Dataset) -> None:
    assert dataset(declared.title) is dataset(declared.name.upper()) is declared
    assert declared.name == declared.title.lower()


@every(("wrong", "near"), [("rummul", "rummlu"), ("paruss", "parus"), ("xyzzy", "datasets list")])
def test_a_mistyped_name_is_answered_with_the_nearest(wrong: str, near: str) -> None:
    with pytest.raises(UsageError, match=near):
        dataset(wrong)


def test_an_item_knows_its_group() -> None:
    question = Item(1, "{text}", {"text": "?", "subject": "анатомия"}, "A", {"id": 1, "domain": "anatomy"})
    assert question.fill(dataset("rummlu").extra) == "acc.anatomy"
    reply = Item(1, "{replica}", {"target_group": "женщины"}, "1", {"id": 1})
    assert reply.fill(dataset("ruhatespeech").extra) == "acc.женщины"
    assert Item(1, "", "", "1", {"id_task": "8_1"}).fill(dataset("use").extra) == "grade_norm.task8_1"
    assert Item(1, "", "", {}, {"question": "good"}).fill(dataset("ruethics").extra) == "good.{criterion}"
    assert Item(1, "{inputs}", "( )").fill(dataset("bps").extra) is None


@every(
    ("answer", "metrics", "fault"),
    [
        ({"kind": "criteria", "labels": ("0", "1")}, ("mcc",), "criteria"),
        ({"kind": "text", "criteria": ("law",)}, ("em",), "criteria"),
        ({"kind": "integer", "alternatives": ";"}, ("em",), "alternatives"),
        ({"kind": "integer"}, ("pass@0",), "no metric"),
        ({"kind": "integer"}, ("em", "em"), "twice"),
        ({"kind": "integer"}, (), "needs a metric"),
    ],
)
def test_a_declaration_that_makes_no_sense_cannot_be_made(
    answer: dict[str, object], metrics: tuple[str, ...], fault: str
) -> None:
    with pytest.raises(ValueError, match=fault):
        Dataset(name="own", title="Own", answer=Answer(**answer), metrics=metrics)  # type: ignore[arg-type]
