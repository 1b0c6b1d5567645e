"""A study whose items were drawn from a larger dataset has two figures: the sample's and the dataset's."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from command import merilo
from edited_plan import edit_plan
from exports import csv_rows
from study_people import collect, visits

from merilo.datasets import dataset
from merilo.items import Item, Split
from merilo.studies.drawing import choose_subset
from merilo.studies.study_folder import open_study

SIZES = {"law": 300, "art": 60, "bio": 40}
DECLARATION = (
    "name: sums\ntitle: Sums\nfields: [question]\nanswer: {kind: choice, labels: [A, B]}\nmetrics: [acc]\n"
    "prompts: ['{question} A or B?']\nskills: [Common everyday knowledge]\n"
)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of 10 items of each of three domains of very unequal size, with answers; people know law less."""
    room = tmp_path_factory.mktemp("sampled")
    rng = np.random.default_rng(0)

    def item(name: str, domain: str) -> dict[str, object]:
        return {
            "instruction": "{question} A or B?",
            "inputs": {"question": f"{name} of {domain}?"},
            "outputs": str(rng.choice(["A", "B"])),
            "meta": {"id": name, "domain": domain},
        }

    data = room / "data"
    data.mkdir()
    test = [item(f"{domain}{n}", domain) for domain, size in SIZES.items() for n in range(size)]
    shots = [item(f"shot{n}", "law") for n in range(20)]
    (data / "test.json").write_text(json.dumps({"data": test}))
    (data / "shots.json").write_text(json.dumps({"data": shots}))
    (data / "dataset.yaml").write_text(DECLARATION)
    made = merilo(
        "study", "create", data, "--dataset", data / "dataset.yaml", "--per-domain", 10, "--field", "domain",
        "--out", room / "study",
    )  # fmt: skip
    assert made.status == 0, made.err
    edit_plan(room / "study", {"arms.people.items_per_page": 1})
    assert merilo("study", "freeze", room / "study", "--date", "2026-01-12", "--yes").status == 0
    people = visits(open_study(room / "study"), people=12, seed=10)
    collect(room / "study", room, "table", people)
    return room / "study"


def test_the_baseline_has_the_dataset_s_figure_by_the_weights_of_the_study(study: Path) -> None:
    made = merilo("study", "baseline", study, "--out", study / "baseline", "--json", "-")
    found = made.json
    rows = csv_rows(study / "baseline" / "consensus.csv")
    domain = {row["id"]: "".join(one for one in row["id"] if not one.isdigit()) for row in rows}
    points: dict[str, list[bool]] = {}
    for row in rows:
        points.setdefault(domain[row["id"]], []).append(row["correct"] == "true")
    by_hand = sum(SIZES[name] * float(np.mean(own)) for name, own in points.items()) / 400
    assert found["whole_dataset"]["acc"]["value"] == pytest.approx(by_hand, abs=1e-6)
    # Strata are numbers: their names may be those of the items' authors.
    assert (study / "baseline" / "raw" / "population.csv").read_text() == "stratum,items\n1,60\n2,40\n3,300\n"
    # The recorded command makes the same figure without the study's plan.
    assert found["provenance"]["command"] == f"merilo study baseline {study}"


@pytest.mark.thorough
def test_the_report_tells_both_figures_and_hb_verifies_them(study: Path) -> None:
    merilo("study", "baseline", study, "--out", study / "baseline", "--force")
    hb = study.parent / "hb"
    assert merilo("report", study, "--out", hb, "--force").status == 0
    assert merilo("verify", hb).status == 0
    assert json.loads((hb / "baseline.json").read_text())["whole_dataset"]["acc"]["value"] is not None
    (section,) = (path.read_text() for path in hb.glob("human_baseline_*.md"))
    assert "Weighted to the whole dataset of 400 items, it is 0." in section
    checklist = (hb / "checklist.md").read_text()
    assert "weighted to 400 items of the dataset" in checklist
    # The draw took as many of each domain, so no distribution was kept.
    assert "distribution of domain is kept" not in checklist


def test_strata_are_those_by_which_items_were_drawn_evenly() -> None:
    """Ten of each domain and five of each level within it: three levels would need more than five drawn items a stratum."""
    items = [
        Item(n, "", {"text": str(n), "option_a": "", "option_b": "", "option_c": "", "option_d": "", "subject": "x"}, "A", {"id": n, "domain": f"d{n % 4}", "level": "rare" if n % 40 < 4 else "usual"})
        for n in range(400)
    ]  # fmt: skip
    chosen = choose_subset(
        Split("test", tuple(items)), dataset("rummlu"), per_domain=4, fields=("domain", "level")
    )
    weights = {(one.stratum, round(one.weight, 6)) for one in chosen.weights}
    assert weights == {
        (f"domain=d{domain}, level={level}", weight)
        for domain in range(4)
        for level, weight in (("rare", 5.0), ("usual", 45.0))
    }


def test_a_wrong_field_of_the_plan_is_named_by_its_key(study: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(study, copy)
    (copy / "frozen.json").unlink()
    plan = (copy / "study.yaml").read_text()
    assert "  by: []" in plan
    (copy / "study.yaml").write_text(plan.replace("  by: []", "  by: [level]"))
    outcome = merilo("study", "baseline", copy)
    assert outcome.status == 2
    assert "study.yaml: baseline.by: there is no field 'level' (choose from: " in outcome.err
    assert "--by" not in outcome.err


def test_a_model_is_compared_by_the_margin_of_the_frozen_plan(study: Path, tmp_path: Path) -> None:
    answers = tmp_path / "robot.csv"
    lines = [f"{one.id},{one.outputs}" for one in open_study(study).items()]
    answers.write_text("\n".join(["id,answer", *lines]) + "\n")
    made = merilo("study", "baseline", study, "--model", answers, "--json", "-")
    assert {row["margin"] for row in made.json["models"]} == {0.02}


def test_a_run_on_the_whole_dataset_is_compared_on_the_items_of_the_sample(
    study: Path, tmp_path: Path
) -> None:
    merilo("study", "baseline", study, "--out", study / "baseline", "--force")
    declared = study.parent / "data" / "dataset.yaml"
    assert merilo("run", "--model", "random", "--datasets", declared, "--out", tmp_path / "run").status == 0
    compared = merilo("compare", study / "baseline", tmp_path / "run", "--json", "-")
    assert compared.status == 0, compared.err
    assert {row["score"]["n"] for row in compared.json["rows"]} == {30}
    assert "370 answers to other items: left out" in compared.err
