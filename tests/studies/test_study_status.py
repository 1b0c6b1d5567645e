"""The status of a study: its progress, without the estimate unless requested."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from command import done, merilo
from study_people import NAMES, answered, bundled_study, collect, frozen, of_kind, study_of, visits

from merilo.items import Item
from merilo.reports.study_status import study_status
from merilo.studies.study_folder import StudyFolder
from merilo.studies.study_import import import_files


def begun(path: Path, *, pages: int | None = None, overlap: int = 3, people: int = 6) -> StudyFolder:
    """A study of which some pages have been answered."""
    folder = bundled_study(path / "study", overlap=overlap, page=2)
    collect(folder.path, path, "toloka", visits(folder, people=people)[:pages])
    return folder


def test_a_study_without_answers_misses_the_whole_overlap(tmp_path: Path) -> None:
    status = study_status(bundled_study(tmp_path / "study", overlap=3))
    assert (status.items, status.planned, status.missing, status.missing_by) == (8, 24, 24, {3: 8})
    assert (status.answers, status.annotators, status.cost, status.estimate) == (0, (), None, None)


def test_the_missing_answers_are_those_of_the_overlap(tmp_path: Path) -> None:
    folder = begun(tmp_path, pages=4)
    status = study_status(folder)
    answers = Counter(task for one in visits(folder)[:4] for task in one.answers if task in _tests(folder))
    assert (status.answers, status.counted) == (answers.total(), answers.total())
    assert status.missing == 8 * 3 - answers.total()
    assert status.missing_by == dict(sorted(Counter(3 - answers[task] for task in _tests(folder)).items()))
    assert status.cost is not None
    assert (status.cost.pages, status.cost.total) == (4, pytest.approx(4 * 0.05))


def test_people_below_the_threshold_do_not_count_for_the_overlap(tmp_path: Path) -> None:
    items = [Item(n, "{inputs}", f"( ) {n}", "1", {"id": n}) for n in range(1, 5)]
    folder = study_of(
        tmp_path / "study", items, [Item(9, "{inputs}", "( )", "1", {"id": 9})], overlap=2, page=5
    )
    good, bad = visits(folder, people=2)
    (control,) = [task for task in good.answers if task not in _tests(folder)]
    right = dict.fromkeys(good.answers, "1")
    people = [
        type(good)(1, 101, good.started, good.seconds, right),
        type(bad)(2, 102, bad.started, bad.seconds, {**right, control: "0"}),
    ]
    collect(folder.path, tmp_path, "toloka", people)
    status = study_status(folder)
    assert {one.annotator: one.excluded for one in status.annotators} == {"101": False, "102": True}
    assert (status.answers, status.counted, status.missing, status.missing_by) == (8, 4, 4, {1: 4})
    collect(folder.path, tmp_path / "all", "toloka", [replace(people[0], answers=people[1].answers)])
    status = study_status(folder)
    assert [(one.excluded, status.counted) for one in status.annotators] == [(True, 0)] * 2
    assert status.problem.endswith("lower baseline.min_control_accuracy")


def _tests(folder: StudyFolder) -> set[str]:
    return {task.id for task in of_kind(folder, "test")}


def test_answers_on_the_site_are_said_to_come_with_the_import(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    assert "imported answers" not in merilo("study", "status", folder.path).err
    (folder.path / "site.db").touch()
    told = done("study", "status", folder.path)
    assert (
        "these are imported answers: 'merilo study collect' and 'merilo study import' add those" in told.err
    )


def test_the_estimate_is_hidden_until_it_is_asked_for(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    hidden = done("study", "status", folder.path)
    assert "so far" in hidden.out
    assert "acc" not in hidden.out
    assert "estimate" not in merilo("study", "status", folder.path, "--json", "-").json
    told = merilo("study", "status", folder.path, "--show-estimate")
    assert "acc so far" in told.out
    assert "biases the result" in told.err
    estimate = merilo("study", "status", folder.path, "--show-estimate", "--json", "-").json["estimate"]
    low, high = estimate["ci95"]
    assert estimate["name"] == "acc"
    assert 0 <= low <= estimate["value"] <= high <= 1


def test_a_second_answer_of_one_person_is_told_and_named_as_the_problem(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    one = visits(folder)[0]
    flipped = {task: "1" if answer == "0" else "0" for task, answer in one.answers.items()}
    again = type(one)(999, one.person, one.started, one.seconds, flipped)
    file = tmp_path / "again.tsv"
    file.write_text(answered("toloka", tmp_path / "export", [again]), encoding="utf-8")
    import_files(folder, [file])
    status = study_status(folder)
    assert status.repeated >= 1
    assert "gave one item two answers" in status.problem
    assert status.missing == 0
    assert status.alpha is None


def test_the_commands_say_what_is_not_frozen_and_what_was_imported_before(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    assert (
        "not frozen"
        in done("study", "export", folder.path, "--platform", "mturk", "--out", tmp_path / "again").err
    )
    assert "was imported before" in done("study", "import", folder.path, tmp_path / NAMES["toloka"]).err


def test_the_baseline_uses_the_frozen_settings_and_items_and_names_every_change(tmp_path: Path) -> None:
    folder = frozen(begun(tmp_path))
    before = merilo("study", "baseline", folder.path, "--json", "-")
    assert "differs" not in before.err
    assert "not frozen" not in before.err
    plan, items = folder.path / "study.yaml", folder.path / "items.jsonl"
    plan.write_text(plan.read_text("utf-8") + "baseline: {min_votes: 3}\n", encoding="utf-8")
    after = merilo("study", "baseline", folder.path, "--json", "-")
    assert after.json["metrics"] == before.json["metrics"]
    assert "differs from the frozen plan, whose settings are used: baseline.min_votes" in after.err
    items.write_text(
        items.read_text("utf-8").replace('"outputs": "1"', '"outputs": "0"', 1), encoding="utf-8"
    )
    refused = merilo("study", "baseline", folder.path)
    assert refused.status == 1
    assert "items.jsonl: was changed after the plan was frozen on 2026-01-12" in refused.err
