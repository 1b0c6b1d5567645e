"""A baseline reports suspect control items with their answers."""

from pathlib import Path

import pytest
from command import done, merilo
from exports import row, small_pool, toloka, written


def pool_with_suspect_controls() -> list[tuple[str, ...]]:
    """Twelve people, two controls with a wrong known answer, and five people who answered only these two.

    The known answer of x0 and x1 is B, and everybody answers A. Seven people (`w`) also answer six fair controls. All answer
    q0 to q3: A, but on q3 four of the seven answer B. Those five (`v`) are excluded, so that most votes make q3 a B.
    """
    steady, fresh = [f"w{n}" for n in range(7)], [f"v{n}" for n in range(5)]
    wrong = {("q3", name) for name in steady[:4]}
    rows = [
        row(question, "B" if (question, who) in wrong else "A", who)
        for question in ("q0", "q1", "q2", "q3")
        for who in (*steady, *fresh)
    ]
    rows += [row(f"x{n}", "A", who, golden="B") for n in range(2) for who in (*steady, *fresh)]
    return rows + [row(f"c{n}", "A", who, golden="A") for n in range(6) for who in steady]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    tmp_path = tmp_path_factory.mktemp("suspects")
    gold = "question,gold\n" + "".join(f"q{n},A\n" for n in range(4))
    return (
        written(tmp_path / "pool.tsv", toloka(pool_with_suspect_controls())),
        written(tmp_path / "gold.csv", gold),
    )


@pytest.fixture(scope="module")
def content(files: tuple[Path, Path]) -> dict:
    return merilo("baseline", files[0], "--gold", files[1], "--json", "-").json


def test_controls_that_good_annotators_contradict_are_named_with_their_answers(content: dict) -> None:
    found = content["controls"]
    assert found["total"] == 8
    assert [one["inputs"] for one in found["suspects"]] == [{"question": "x0"}, {"question": "x1"}]
    for one in found["suspects"]:
        assert (one["known"], one["most_common"], one["most_common_answers"]) == ("B", "A", 12)
        assert (one["correct"], one["good_annotators_correct"], one["good_annotators_answers"]) == (0, 0, 7)


def test_each_weakness_of_the_controls_is_a_warning(content: dict) -> None:
    warnings = "\n".join(one["sentence"] for one in content["findings"])
    assert "2 of 8 control items may have a wrong known answer" in warnings
    assert "5 of 12 annotators (42%) are excluded, more than a third" in warnings


def test_terminal_report_and_published_folder_show_suspect_controls(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    made = done("baseline", files[0], "--gold", files[1], "--details", "--out", tmp_path / "out")
    shown = " ".join(made.out.split())
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for text in (
        "Suspect control items",
        "2 of 8 control items may have a wrong known answer",
        "check the controls",
    ):
        assert text in shown, text
        assert text in page, text
    assert "5 of 12 annotators (42%) are excluded, more than a third" in page
    said = merilo("report", tmp_path / "out", "--out", tmp_path / "hb").err
    assert "Check the control items: many of them may have a wrong known answer" in said
    assert "Check the control items" in (tmp_path / "hb" / "README.md").read_text(encoding="utf-8")
    assert merilo("verify", tmp_path / "hb").status == 0


def test_a_third_may_be_excluded_without_a_warning_and_half_are_not_accepted(tmp_path: Path) -> None:
    def pool(careless: int) -> str:
        rows = small_pool(people=6)
        for person in range(6):
            rows += [
                row(f"k{n}", "B" if person < careless else "A", worker=f"w{person}", golden="A")
                for n in range(4)
            ]
        return toloka(rows)

    for careless, status in ((2, "no estimate"), (3, "check the controls")):
        path = written(tmp_path / f"{careless}.tsv", pool(careless))
        outcome = merilo("baseline", path, "--min-votes", 2, "--json", "-")
        assert (outcome.status, outcome.json["status"]) == (0, status)
        assert outcome.json["annotators"]["excluded"] == careless
        warned = any("excluded, more than" in finding["sentence"] for finding in outcome.json["findings"])
        assert warned == (careless == 3)


def test_without_gold_there_is_no_estimate_to_accept_and_low_agreement_still_rejects(tmp_path: Path) -> None:
    same = merilo("baseline", written(tmp_path / "same.tsv", toloka(small_pool())), "--json", "-")
    assert (same.status, same.json["status"], same.json["metrics"]) == (0, "no estimate", {})
    rows = [row(f"q{n}", "ABCD"[person], worker=f"w{person}") for n in range(4) for person in range(4)]
    apart = merilo("baseline", written(tmp_path / "apart.tsv", toloka(rows)), "--json", "-")
    assert (apart.status, apart.json["status"]) == (1, "rejected")
