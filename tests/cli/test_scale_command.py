"""`merilo scale`: people, models and items on one scale."""

import csv
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from command import merilo
from scipy.special import expit

import merilo as library

ITEMS, PEOPLE, OVERLAP = 80, 20, 8


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A baseline of a crowd with known abilities, and three models: strong, weak, and one that fails easy items."""
    folder = tmp_path_factory.mktemp("scale")
    rng = np.random.default_rng(5)
    ability, difficulty = np.linspace(-1.5, 1.5, PEOPLE), rng.permutation(np.linspace(-2.5, 1.0, ITEMS))
    with (
        (folder / "answers.csv").open("w", newline="") as file,
        (folder / "items.csv").open("w", newline="") as gold,
    ):
        rows, known = csv.writer(file), csv.writer(gold)
        rows.writerow(["text", "annotator", "answer"])
        known.writerow(["id", "text", "gold"])
        for item in range(ITEMS):
            known.writerow([f"q{item}", f"question {item}", "A"])
            for person in rng.permutation(PEOPLE)[:OVERLAP]:
                right = rng.random() < expit(ability[person] - difficulty[item])
                rows.writerow([f"question {item}", f"p{person}", "A" if right else "B"])
    done = merilo(
        "baseline", folder / "answers.csv", "--platform", "csv", "--item", "text", "--annotator", "annotator", "--answer",
        "answer", "--gold", folder / "items.csv", "--gold-column", "gold", "--out", folder / "people",
    )  # fmt: skip
    assert done.status in {0, 1}, done.complaint
    for name, solved in {
        "strong": difficulty < 2,
        "weak": difficulty < -1.5,
        "odd": difficulty > np.median(difficulty),
    }.items():
        table = ["id,answer", *(f"q{item},{'A' if solved[item] else 'B'}" for item in range(ITEMS))]
        (folder / f"{name}.csv").write_text("\n".join(table))
    return folder


def test_models_stand_on_the_scale_where_their_answers_put_them(study: Path) -> None:
    found = merilo(
        "scale", study / "people", *(study / f"{name}.csv" for name in ("strong", "weak")), "--json", "-"
    ).json
    strong, weak = found["models"]
    assert weak["ability"] < found["people"]["median"]["ability"] < strong["ability"]
    assert strong["ci95"][0] > weak["ci95"][1]
    assert weak["share_of_people_below"] < 0.5 < strong["share_of_people_below"]
    assert strong["score"] == 1.0
    abilities = {row["annotator"]: row["ability"] for row in found["people"]["annotators"]}
    assert np.mean([abilities[f"p{number}"] for number in range(15, 20)]) > 0.5
    assert found["items"]["n"] == ITEMS
    assert all(item["answers"] == OVERLAP for item in found["items"]["each"])


def test_a_model_that_fails_what_people_find_easy_is_told_by_its_infit_and_items(study: Path) -> None:
    odd, weak = merilo("scale", study / "people", study / "odd.csv", study / "weak.csv", "--json", "-").json[
        "models"
    ]
    assert odd["infit"] > 1.2 > weak["infit"]
    assert odd["infit_z"] > 3
    assert all(row["score"] == 0 and row["expected"] > 0.5 for row in odd["fails_unlike_people"])
    shown = merilo("scale", study / "people", study / "odd.csv")
    assert "median person" in shown.out
    assert shown.status == 0


def test_a_model_whose_difficulties_are_not_those_of_people_is_named_in_a_warning(study: Path) -> None:
    shown = merilo("scale", study / "people", study / "odd.csv", study / "weak.csv")
    said = " ".join(shown.complaint.split())
    assert (
        "odd fails items that are easy for people more often than hard ones, so its place on this scale"
        in said
    )
    assert "weak" not in said
    found = merilo("scale", study / "people", study / "odd.csv", study / "weak.csv", "--json", "-").json
    odd, weak = found["models"]
    assert (odd["fits"], weak["fits"]) == (False, True)
    assert odd["dependence"] < 0 < weak["dependence"]
    assert any(one.startswith("odd fails items") for one in found["warnings"])
    answers = dict(line.split(",") for line in (study / "odd.csv").read_text().splitlines()[1:])
    assert "odd: " in (told := repr(library.item_response(study / "people", {"odd": answers})))
    assert "does not fit the scale" in told


def test_the_two_parameter_model_gives_each_item_a_discrimination(study: Path) -> None:
    found = merilo("scale", study / "people", "--model", "2pl", "--json", "-").json
    slopes = [item["discrimination"] for item in found["items"]["each"]]
    assert np.exp(np.mean(np.log(slopes))) == pytest.approx(1, abs=1e-4)
    assert np.std(slopes) > 0


def test_the_chart_is_an_svg_with_every_person_and_model(study: Path, tmp_path: Path) -> None:
    chart = tmp_path / "scale.svg"
    assert merilo("scale", study / "people", study / "weak.csv", "--chart", chart).status == 0
    tree = ET.fromstring(chart.read_text(encoding="utf-8"))
    name = "{http://www.w3.org/2000/svg}"
    assert len(tree.findall(f"{name}circle")) == PEOPLE
    assert any("weak" in (text.text or "") for text in tree.findall(f"{name}text"))
    again = merilo("scale", study / "people", "--chart", chart)
    assert again.status != 0


def test_the_library_gives_the_same_numbers_as_the_command(study: Path) -> None:
    answers = {f"q{item}": "A" for item in range(40)}
    result = library.item_response(study / "people", {"half": answers})
    assert result.to_dict()["models"][0]["items"] == 40
    assert "half" in repr(result)
    with pytest.raises(library.UsageError, match="no item-response model 'three'"):
        library.item_response(study / "people", model="three")  # type: ignore[arg-type]


def test_a_model_that_answers_no_item_of_the_baseline_is_refused(study: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("id,answer\nz1,A\n")
    outcome = merilo("scale", study / "people", other)
    assert outcome.status == 1
    assert "answers none of the 80 items" in outcome.complaint
    twice = merilo("scale", study / "people", other, other)
    assert twice.status == 2
    assert "is given twice" in twice.complaint
