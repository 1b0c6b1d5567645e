"""A study leaves for a platform, people answer it there, and their answers come back."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from every import every
from exports import csv_rows, delimited
from study_people import NAMES, Visit, answered, bundled_study, study_of, visits

from merilo.items import Item
from merilo.reports.study_baseline import study_baseline, study_responses
from merilo.strict_json import indented
from merilo.studies.platform_files import export_study
from merilo.studies.study_folder import StudyFolder, open_study
from merilo.studies.study_import import answers_file, import_files

PLATFORMS = ["toloka", "abc", "label-studio", "mturk", "table"]


def came_back(folder: StudyFolder, platform: str, people: Sequence[Visit], room: Path) -> Path:
    """The platform's file of a study that was exported, answered there and exported again."""
    export_study(folder, platform, room / "out")  # type: ignore[arg-type]
    path = room / NAMES[platform]
    path.write_text(answered(platform, room / "out", people), encoding="utf-8", newline="")
    return path


def result_of(
    platform: str, name: str, page: int, room: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, str]:
    """The table of answers and the baseline's JSON of one study that went through a platform."""
    room.mkdir(parents=True)
    monkeypatch.chdir(room)
    bundled_study(Path("study"), name, page=page)
    folder = open_study(Path("study"))
    made = import_files(
        folder,
        [
            came_back(
                folder,
                platform,
                visits(folder, wrong=["7"] if name == "simplear" else ["7", "неверно"]),
                Path(),
            )
        ],
    )
    assert not made.known
    assert sum(sum(one.left_out.values()) for one in made.added) == 0
    content = study_baseline("study").to_json()
    assert content["provenance"]["parameters"].pop("platform") == platform  # type: ignore[index,union-attr,call-overload]
    return answers_file(folder, "people").read_text("utf-8"), indented(content)


def study_baseline_of(folder: StudyFolder, path: Path) -> object:
    """The metrics and agreement of a study after the import of one file."""
    import_files(folder, [path])
    made = study_baseline(folder).to_json()
    return made["items"], made["metrics"], made["agreement"], made["annotators"]


@every("name", ["bps", "chegeka", "simplear"])
def test_the_same_answers_make_the_same_baseline_to_the_byte_on_every_platform(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = tmp_path / name
    first = result_of("toloka", name, 1, room / "toloka", monkeypatch)
    folder = open_study(room / "toloka" / "study")
    assert first[0].count("\n") == 3 * (len(folder.items()) + len(folder.controls()))
    assert set(json.loads(first[1])["metrics"])
    for platform in PLATFORMS[1:]:
        answers, baseline = result_of(platform, name, 1, room / platform, monkeypatch)
        assert answers == first[0], platform
        assert baseline == first[1], platform


def test_pages_of_several_tasks_come_back_as_pages_from_the_platforms_that_have_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = result_of("toloka", "bps", 3, tmp_path / "toloka", monkeypatch)
    cost = json.loads(first[1])["cost"]
    assert cost["pages"] == 3 * 4
    assert cost["total"] == pytest.approx(3 * 4 * 0.05)
    for platform in ("abc", "mturk", "table"):
        assert result_of(platform, "bps", 3, tmp_path / platform, monkeypatch) == first, platform


def test_a_person_answers_a_whole_dialogue_on_abc_elementary(tmp_path: Path) -> None:
    bundled_study(tmp_path / "study", "rutie", page=10_000, overlap=4)
    folder = open_study(tmp_path / "study")
    turns = len(folder.items())
    people = [Visit(one.number, one.person, one.started, one.seconds, one.answers) for one in visits(folder)]
    import_files(folder, [came_back(folder, "abc", people, tmp_path)])
    responses = study_responses(folder)
    assert responses.table.filter(~responses.table["is_control"]).height == 4 * turns


def test_free_text_comes_back_as_it_was_typed(tmp_path: Path) -> None:
    study_of(
        tmp_path / "study",
        [Item(1, "{text}{topic}", {"text": "Что?", "topic": "А"}, "да", {"id": 1})],
        [],
        dataset_name="chegeka",
        overlap=1,
    )
    folder = open_study(tmp_path / "study")
    typed = '=1+1, «а\nб» "q"\t;'
    (one,) = visits(folder, people=1)
    for platform in PLATFORMS:
        visit = Visit(one.number, one.person, one.started, one.seconds, dict.fromkeys(one.answers, typed))
        own = tmp_path / platform
        own.mkdir()
        bundle = study_of(own / "study", folder.items(), [], dataset_name="chegeka", overlap=1)
        import_files(bundle, [came_back(bundle, platform, [visit], own)])
        assert json.loads(answers_file(bundle, "people").read_text("utf-8"))["answer"] == typed, platform


def test_four_columns_of_results_are_enough_as_tagme_has_them(tmp_path: Path) -> None:
    folder = bundled_study(tmp_path / "study")
    people = visits(folder)
    whole = came_back(folder, "table", people, tmp_path)
    wanted = study_baseline_of(folder, whole)
    rows = [[row[name] for name in ("study", "task", "respondent", "answer")] for row in csv_rows(whole)]
    results = tmp_path / "results.csv"
    results.write_text(delimited(("study", "task", "respondent", "answer"), rows), "utf-8")
    own = bundled_study(tmp_path / "own")
    assert study_baseline_of(own, results) == wanted
