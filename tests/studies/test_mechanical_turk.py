"""A study goes to Mechanical Turk through its API, workers answer it, are paid, and their answers make a baseline."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from command import merilo
from study_people import bundled_study, frozen, visits
from turk_server import Turk, turk_server

from merilo.studies import mechanical_turk
from merilo.studies.collected import answers_file
from merilo.studies.mechanical_turk import turk_study
from merilo.studies.study_folder import StudyFolder, freeze_plan
from merilo.studies.study_tasks import interleaved, pages, study_tasks

PAGE = 3


@pytest.fixture
def turk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Turk]:
    """The sandbox and the marketplace are one server here; credentials come from the environment."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    with turk_server() as (made, address):
        monkeypatch.setattr(mechanical_turk, "SANDBOX", address)
        monkeypatch.setenv("AWS_ENDPOINT_URL_MTURK", address)
        yield made


@pytest.fixture
def study(tmp_path: Path) -> StudyFolder:
    folder = bundled_study(tmp_path / "study", page=PAGE)
    plan = folder.path / "study.yaml"
    plan.write_text(
        plan.read_text("utf-8").replace("items_per_page", "items_per_person: 6\n    items_per_page"), "utf-8"
    )
    return frozen(folder)


def answer_everything(turk: Turk, study: StudyFolder, *, whole: bool) -> set[tuple[str, str, str]]:
    """Workers answer all pages; return (item, worker, answer) of every answer."""
    tasks = study_tasks(study)
    items = {task.id: str(task.item) for task in (*tasks.tests, *tasks.controls)}
    hits = {hit["RequesterAnnotation"].split()[1]: hit for hit in turk.hits}
    order = {
        tuple(task.id for task in page): hits[str(number)]
        for number, page in enumerate(pages(interleaved(tasks.tests, tasks.controls), PAGE), start=1)
    }
    wanted = set()
    for visit in visits(study):
        hit = order[tuple(visit.answers)]
        answers = {f"answer_{place}": text for place, text in enumerate(visit.answers.values(), start=1)}
        turk.submit(hit, f"A{visit.person}", answers, whole=whole)
        wanted |= {(items[task], f"A{visit.person}", text) for task, text in visit.answers.items()}
    return wanted


def collected(study: StudyFolder) -> list[dict[str, Any]]:
    return [json.loads(line) for line in answers_file(study, "people").read_text("utf-8").splitlines()]


def test_a_study_is_answered_paid_and_scored_on_mechanical_turk(
    turk: Turk, study: StudyFolder, tmp_path: Path
) -> None:
    place = study.path
    trial = merilo("study", "mturk", "create", place, "--live", "--json", "-")
    assert (trial.json["made"], trial.json["sent"], turk.hits) == (4, False, [])
    turk.lost = {"CreateHITWithHITType"}
    made = merilo("study", "mturk", "create", place, "--live", "--yes", "--json", "-")
    assert made.status == 0, made.err
    assert (made.json["hits"], made.json["cost"], turk.calls.count("CreateHITWithHITType")) == (4, "0.60", 5)
    assert [(hit["MaxAssignments"], hit["Reward"]) for hit in turk.hits] == [(3, "0.05")] * 4
    (kind,) = turk.kinds.values()
    assert kind["AssignmentDurationInSeconds"] == PAGE * 4 * 120
    assert kind["QualificationRequirements"] == [
        {"QualificationTypeId": "Q0", "Comparator": "DoesNotExist", "ActionsGuarded": "DiscoverPreviewAndAccept"}
    ]  # fmt: skip
    first = turk.page(turk.hits[0])
    assert "${" not in first
    assert all(task.prompt.split("\n")[0] in first for task in study_tasks(study).tests[:2])
    again = merilo("study", "mturk", "create", place, "--live", "--yes", "--json", "-").json
    assert (again["made"], again["extended"], len(turk.hits)) == (0, 0, 4)
    turk.hits[0]["Expiration"] = datetime(2026, 1, 1, tzinfo=UTC)
    assert merilo("study", "mturk", "create", place, "--live", "--yes", "--json", "-").json["extended"] == 1
    assert turk.hits[0]["Expiration"] > datetime.now(UTC)

    wanted = answer_everything(turk, study, whole=True)
    assert "give --live" in merilo("study", "mturk", "pull", place).complaint
    assert not (place / "imports.json").exists()
    pulled = merilo("study", "mturk", "pull", place, "--live", "--json", "-")
    assert pulled.status == 0, pulled.err
    assert {(str(row["id"]), row["respondent"], row["answer"]) for row in collected(study)} == wanted
    assert {(row["seconds"], row["reward"]) for row in collected(study)} == {(40.0, 0.05)}
    hits = {one["WorkerId"]: 0 for one in turk.assignments}
    for one in turk.assignments:
        hits[one["WorkerId"]] += 1
    assert turk.holders == [("Q0", worker) for worker in sorted(hits) if hits[worker] >= 2]
    out = tmp_path / "results.csv"
    assert merilo("study", "mturk", "pull", place, "--out", out).status == 0
    assert merilo("study", "import", place, out, "--json", "-").json["known"] == [str(out)]
    assert merilo("study", "baseline", place, "--json", "-").json["items"]["total"] == len(study.items())

    dry = merilo("study", "mturk", "approve", place, "--live", "--json", "-").json
    assert (len(dry["payments"]), dry["usd"], dry["sent"]) == (12, 0.6, False)
    assert merilo("study", "mturk", "approve", place, "--live", "--yes").status == 0
    state = merilo("study", "mturk", "status", place, "--live", "--json", "-").json
    assert (state["approved"], state["submitted"], state["places"], state["workers"]) == (
        12,
        0,
        12,
        len(hits),
    )
    bonuses = tmp_path / "bonuses.csv"
    worker = min(hits)
    bonuses.write_text(f"respondent,bonus\n{worker},0.25\n", "utf-8")
    pay = ("study", "mturk", "pay", place, bonuses, "--reason", "a long page", "--live", "--json", "-")
    assert merilo(*pay).json["usd"] == 0.25
    assert turk.bonuses == []
    turk.lost = {"SendBonus"}
    assert merilo(*pay, "--yes").json["sent"]
    assert merilo(*pay, "--yes").json["usd"] == 0
    (bonus,) = turk.bonuses
    assert (bonus["WorkerId"], bonus["BonusAmount"], bonus["Reason"]) == (worker, "0.25", "a long page")


def test_answers_that_are_sent_field_by_field_are_read_too(turk: Turk, study: StudyFolder) -> None:
    shown = turk_study(study)
    shown.create(days=1)
    wanted = answer_everything(turk, study, whole=False)
    shown.pull()
    assert {(str(row["id"]), row["respondent"], row["answer"]) for row in collected(study)} == wanted


def test_mechanical_turk_is_asked_nothing_that_costs_more_or_cannot_be_shown(
    turk: Turk, study: StudyFolder, tmp_path: Path
) -> None:
    create = ("study", "mturk", "create", study.path, "--live", "--yes")
    turk.balance = "0.59"
    assert merilo(*create).complaint.endswith(
        "4 HITs cost $0.60 without the platform's fee, and the account has $0.59"
    )
    assert "nobody has submitted" in merilo("study", "mturk", "pull", study.path, "--live").complaint
    bonuses = tmp_path / "bonuses.csv"
    for row, why in (
        ("A1,0.255", "row 2: needs a respondent and an amount in whole cents"),
        ("A1,", "row 2"),
        ("A1,1\nA1,1", "row 3: the respondent A1 stands twice"),
        ("A1,1", "A1 has no approved assignment"),
    ):
        bonuses.write_text(f"respondent,bonus\n{row}\n", "utf-8")
        pay = ("study", "mturk", "pay", study.path, bonuses, "--reason", "x", "--live", "--yes")
        assert why in merilo(*pay).complaint
    assert (turk.hits, turk.bonuses) == ([], [])
    plan = study.path / "study.yaml"
    text = plan.read_text("utf-8")
    plan.write_text(text.replace("0.05", "0.055"), "utf-8")
    assert "was changed after the freeze" in merilo(*create).complaint
    freeze_plan(study, day="2026-01-13", force=True)
    assert "pays whole US cents for a page, and the plan has 0.055 USD" in merilo(*create).complaint
    (study.path / "frozen.json").unlink()
    assert "the plan is not frozen" in merilo(*create).complaint


@pytest.mark.parametrize(
    ("library", "extra", "words"),
    [("boto3", "mturk", ("mturk", "status")), ("label_studio_sdk", "label-studio", ("label-studio", "pull"))],
)
def test_a_missing_extra_is_named(
    library: str, extra: str, words: tuple[str, str], study: StudyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    more = ("--url", "http://127.0.0.1:9") if extra == "label-studio" else ()
    assert f"pip install 'merilo[{extra}]'" in merilo("study", *words, study.path, *more).complaint
