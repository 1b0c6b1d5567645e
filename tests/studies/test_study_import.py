"""What comes back from a platform: everything once, nothing of another study, and nothing half done."""

import csv
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest
from command import merilo
from every import every
from study_people import NAMES, Visit, answered, bundled_study, frozen, of_kind, study_of, visits

from merilo.errors import DataError, InputError, MeriloError
from merilo.items import Item
from merilo.reports.study_baseline import study_baseline, study_responses
from merilo.reports.study_status import study_status
from merilo.studies.instruction import SKIP_OWN
from merilo.studies.platform_files import export_study
from merilo.studies.platform_rows import MAY_BE_MINE
from merilo.studies.study_folder import StudyFolder, open_study
from merilo.studies.study_import import IMPORTS_FILE, answers_file, import_files, imported_table, read_imports

PLATFORMS = ["toloka", "abc", "label-studio", "mturk", "table"]


class Room:
    """A study, its export to a platform, and people who answer it."""

    def __init__(
        self, path: Path, platform: str = "toloka", *, page: int = 1, training: bool = False
    ) -> None:
        self.path, self.platform = path, platform
        more = [Item(90, "{inputs}", "( )", "1", {"id": 90})] if training else []
        bundled_study(path / "study", page=page, training=more)
        self.folder: StudyFolder = open_study(path / "study")
        export_study(self.folder, platform, path / "out")  # type: ignore[arg-type]
        self.people = visits(self.folder)

    def file(self, people: list[Visit] | None = None, name: str = "") -> Path:
        path = self.path / f"{name}{NAMES[self.platform]}"
        text = answered(self.platform, self.path / "out", self.people if people is None else people)
        path.write_text(text, encoding="utf-8", newline="")
        return path

    @property
    def answers(self) -> str:
        return answers_file(self.folder, "people").read_text("utf-8")

    @property
    def everything(self) -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in (self.path / "study").rglob("*") if path.is_file()}


def edited(path: Path, edit: Callable[[list[dict[str, str]]], object], delimiter: str = ",") -> Path:
    """The same table after an edit of its rows."""
    rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig")), delimiter=delimiter))
    edit(rows)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), delimiter=delimiter, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


@every("platform", PLATFORMS)
def test_importing_again_changes_nothing(platform: str, tmp_path: Path) -> None:
    room = Room(tmp_path / platform, platform)
    assert len(import_files(room.folder, [room.file()]).added) == 1
    before = room.everything
    again = import_files(room.folder, [room.file()])
    assert (again.added, again.known) == ((), (str(room.file()),))
    assert room.everything == before
    import_files(room.folder, [])
    assert room.everything == before


@every("platform", PLATFORMS)
def test_files_merge_in_any_order_and_with_overlapping_rows(platform: str, tmp_path: Path) -> None:
    whole = Room(tmp_path / platform / "whole", platform)
    import_files(whole.folder, [whole.file()])
    for number, order in enumerate(list(permutations([slice(0, 15), slice(10, 25), slice(25, None)]))[::3]):
        room = Room(tmp_path / platform / str(number), platform)
        parts = [room.file(room.people[part], f"{part.start}-") for part in order]
        import_files(room.folder, parts[:2])
        made = import_files(room.folder, parts[2:])
        assert room.answers == whole.answers
        assert made.imports.tables["people"].repeated == 5


def test_a_later_export_of_a_page_replaces_an_earlier_one(tmp_path: Path) -> None:
    room = Room(tmp_path)
    import_files(room.folder, [room.file()])
    ((task, answer),) = room.people[0].answers.items()
    other = replace(room.people[0], answers={task: "1" if answer == "0" else "0"})
    import_files(room.folder, [room.file([other], "later-")])
    rows = [json.loads(line) for line in room.answers.splitlines()]
    assert len(rows) == len(room.people)
    assert [row["answer"] for row in rows if row["page"] == "1"] == [other.answers[task]]


def test_a_page_that_is_rejected_later_is_taken_back(tmp_path: Path) -> None:
    room = Room(tmp_path)
    import_files(room.folder, [room.file()])
    text = answered("toloka", tmp_path / "out", room.people[:2]).replace("APPROVED", "REJECTED", 1)
    later = tmp_path / "later.tsv"
    later.write_text(text, "utf-8", newline="")
    assert import_files(room.folder, [later]).added[0].left_out == {"rejected": 1}
    rows = [json.loads(line) for line in room.answers.splitlines()]
    assert sorted(int(row["page"]) for row in rows) == [visit.number for visit in room.people[1:]]


@every("platform", PLATFORMS)
def test_rows_of_another_study_are_refused_and_leave_the_study_as_it_was(
    platform: str, tmp_path: Path
) -> None:
    room = Room(tmp_path / platform / "own", platform)
    import_files(room.folder, [room.file(room.people[:9])])
    before = room.everything
    study_of(
        tmp_path / platform / "other" / "study",
        room.folder.items(),
        [],
        name="other",
        overlap=2,
    )
    other = open_study(tmp_path / platform / "other" / "study")
    export_study(other, platform, tmp_path / platform / "other" / "out")  # type: ignore[arg-type]
    foreign = tmp_path / platform / NAMES[platform]
    foreign.write_text(
        answered(platform, tmp_path / platform / "other" / "out", visits(other)), "utf-8", newline=""
    )
    with pytest.raises(DataError, match=r"row \d+, study: belongs to study-\w+, not to this study \(study-"):
        import_files(room.folder, [room.file(), foreign])
    assert room.everything == before


def test_a_changed_item_is_no_task_of_the_study_any_more(tmp_path: Path) -> None:
    room = Room(tmp_path)
    path = room.file()
    controls = room.folder.path / "controls.jsonl"
    controls.write_text("\n".join(controls.read_text("utf-8").splitlines()[1:]) + "\n", "utf-8")
    with pytest.raises(
        DataError, match=r"there is no task 't[0-9a-f]{11}' in this study: was the item changed"
    ):
        import_files(open_study(room.folder.path), [path])


def test_what_an_import_does_not_take_as_it_stands_is_named(tmp_path: Path) -> None:
    room = Room(tmp_path, "table")

    def edit(rows: list[dict[str, str]]) -> None:
        other = "1" if rows[0]["answer"] == "0" else "0"
        control = next(
            row for row in rows if row["task"] in {task.id for task in of_kind(room.folder, "control")}
        )
        rows.append({**rows[0], "answer": other})
        rows.append(rows[1])
        rows.append({**control, "answer": "1" if control["answer"] == "0" else "0", "page": "another page"})
        rows.append({**rows[0], "page": "another page"})
        rows[1]["seconds"], rows[2]["seconds"] = "nan", "-5"

    imported = merilo("study", "import", room.folder.path, edited(room.file(), edit), "--json", "-")
    last = len(room.people) + 5
    assert imported.json["warnings"] == [
        f"3 rows have an unreadable duration in seconds (the first is 'nan': {tmp_path / 'answers.csv'}, row 3); it is "
        "treated as missing",
        "answers.csv: 1 answer is followed by another one of the same person, task and page: the last counts "
        "(the first is in row 2)",
        "answers.csv: 1 answer differs from an earlier one of the same person to the same item: see baseline.repeats "
        f"(the first is in row {last})",
    ]
    frozen(room.folder)
    refused = merilo("study", "baseline", room.folder.path)
    assert refused.status == 1
    assert "choose first, last or drop with baseline.repeats" in refused.complaint


def test_answers_that_are_no_label_of_their_item_are_counted_and_named(tmp_path: Path) -> None:
    room = Room(tmp_path, "table")
    path = room.file()

    def edit(rows: list[dict[str, str]]) -> None:
        for row, answer in zip(rows, ["maybe", "да", " 1. ", "2", SKIP_OWN["en"], "answer: 1"], strict=False):
            row["answer"] = answer

    imported = merilo("study", "import", room.folder.path, edited(path, edit), "--json", "-")
    assert imported.json["warnings"] == [
        "answers.csv: 1 answer is read as the label that it names (the first is 'answer: 1': row 7, field answer)",
        "answers.csv: 2 answers are no labels of their items: they count as votes and are always wrong (the first is "
        "'maybe': row 2, field answer)",
    ]
    assert all(f"warning: {sentence}" in imported.err for sentence in imported.json["warnings"])
    assert {json.loads(line)["answer"] for line in room.answers.splitlines()} >= {"maybe", "да", "2", "1"}
    assert "answer: 1" not in room.answers


def test_a_table_half_of_whose_answers_are_no_labels_is_refused(tmp_path: Path) -> None:
    room = Room(tmp_path, "table")

    def edit(rows: list[dict[str, str]]) -> None:
        for row in rows[::2]:
            row["answer"] = "3"

    n = len(room.people)
    with pytest.raises(
        DataError, match=rf"{(n + 1) // 2} of {n} answers are no labels .* give the labels \(0, 1\)"
    ):
        import_files(room.folder, [edited(room.file(), edit)])


def test_rows_of_a_sheet_without_an_answer_are_no_answers_and_are_not_paid(tmp_path: Path) -> None:
    room = Room(tmp_path, "table", page=2)
    frozen(room.folder)
    path = room.file()

    def edit(rows: list[dict[str, str]]) -> None:
        item = next(
            row["task"] for row in rows if row["task"] in {t.id for t in of_kind(room.folder, "test")}
        )
        for row in rows:
            row["reward"] = ""
            if row["task"] == item:
                row["answer"] = " "
        rows[-1].update(answer="", respondent="", page="")

    imported = merilo("study", "import", room.folder.path, edited(path, edit), "--json", "-")
    (warning,) = imported.json["warnings"]
    assert re.fullmatch(r"answers.csv: 4 rows have no answer \(the first is row \d+\)", warning)
    (file,) = imported.json["added"]
    assert (file["left_out"], file["answers"]) == ({"unanswered": 4}, file["rows"] - 4)
    assert imported.json["tables"]["people"]["answers"] == file["answers"]
    baseline = study_baseline(room.folder)
    assert baseline.cost.total == pytest.approx(0.05 / 2 * file["answers"])
    found = {finding.code: finding.sentence.en for finding in baseline.findings}
    n = len(room.folder.items())
    assert found["unfinished"] == f"2 of {n} planned items have fewer than 3 answers, 1 of them none"
    whole = Room(tmp_path / "whole", "table")
    import_files(whole.folder, [whole.file()])
    assert "unfinished" not in {finding.code for finding in study_baseline(whole.folder).findings}


def test_a_sheet_that_nobody_filled_in_holds_no_answers(tmp_path: Path) -> None:
    room = Room(tmp_path, "table")
    (file,) = import_files(room.folder, [tmp_path / "out" / "tasks.csv"]).added
    assert (file.answers, file.left_out) == (0, {"unanswered": file.rows})
    with pytest.raises(DataError, match="has no answers of the arm 'people' yet"):
        study_baseline(room.folder)


CUTS: dict[str, Callable[[str], str]] = {
    "in the middle of a row": lambda text: text[: int(len(text) * 0.6)],
    "in the last value": lambda text: text.rstrip()[:-1],
    "of nothing": lambda _: "",
    "of the header": lambda text: text[:30],
}


@every(
    "platform, cut",
    [
        (platform, cut)
        for platform in PLATFORMS
        for cut in CUTS
        if (platform, cut) != ("table", "in the last value")
    ],
)
def test_a_half_written_file_is_refused_in_one_sentence(platform: str, cut: str, tmp_path: Path) -> None:
    room = Room(tmp_path / platform / cut, platform)
    before = room.everything
    path = room.file()
    path.write_text(CUTS[cut](path.read_text("utf-8")), "utf-8", newline="")
    with pytest.raises(MeriloError) as refused:
        import_files(room.folder, [path])
    assert "\n" not in str(refused.value)
    assert path.name in str(refused.value)
    assert room.everything == before


def test_a_file_without_the_ids_of_tasks_is_refused(tmp_path: Path) -> None:
    room = Room(tmp_path)
    for name, text in (
        (
            "pool.tsv",
            "INPUT:q\tOUTPUT:answer\tASSIGNMENT:worker_id\tASSIGNMENT:started\nx\t1\tw\t2026-01-01\n",
        ),
        ("plain.csv", "task,respondent,answer\n1,w,1\n"),
        (
            "project.json",
            '[{"id": 1, "data": {"q": "x"}, "annotations": [{"id": 1, "result": [{"from_name": "answer", "value": {"text": ["1"]}}]}]}]',
        ),
    ):
        path = tmp_path / name
        path.write_text(text, "utf-8")
        with pytest.raises(InputError, match="holds no tasks of a study: the field 'study'"):
            import_files(room.folder, [path])


def test_training_and_rejected_rows_are_counted_and_are_no_answers(tmp_path: Path) -> None:
    room = Room(tmp_path, training=True)
    (taught,) = of_kind(room.folder, "training")

    def edit(rows: list[dict[str, str]]) -> None:
        rows[1]["ASSIGNMENT:status"] = "REJECTED"
        rows[2]["ASSIGNMENT:status"] = "SKIPPED"
        rows[3]["INPUT:task"] = taught.id
        rows[4]["OUTPUT:answer"] = ""

    (one,) = import_files(room.folder, [edited(room.file(), edit, "\t")]).added
    assert dict(one.left_out) == {"not_submitted": 1, "rejected": 1, "training": 1}
    assert one.answers == one.rows - 4
    responses = study_responses(room.folder)
    # A paid page without an answer counts for the cost only.
    assert responses.dropped == {"empty_answer": 1}
    assert responses.table.height == one.answers


def test_a_control_item_is_judged_by_the_study_not_by_the_file(tmp_path: Path) -> None:
    room = Room(tmp_path)
    path = room.file()
    path.write_text(path.read_text("utf-8").replace("\tGOLDEN:answer\t", "\tGOLDEN:other\t"), "utf-8")
    import_files(room.folder, [path])
    known = {task.item.id: task.known for task in of_kind(room.folder, "control")}
    rows = [json.loads(line) for line in room.answers.splitlines()]
    assert {(row["id"], row["control"]) for row in rows if row["control"] is not None} == set(known.items())


def test_a_changed_table_of_answers_is_noticed_and_made_anew_from_the_copies(tmp_path: Path) -> None:
    room = Room(tmp_path)
    import_files(room.folder, [room.file()])
    right = room.answers
    answers_file(room.folder, "people").write_text(right.replace('"answer": "1"', '"answer": "0"'), "utf-8")
    with pytest.raises(DataError, match="was changed after the import"):
        imported_table(room.folder, "people")
    import_files(room.folder, [])
    assert room.answers == right
    (copy,) = (room.folder.path / "imports").iterdir()
    copy.write_bytes(copy.read_bytes() + b"x\n")
    with pytest.raises(DataError, match="is not the file that was imported"):
        import_files(room.folder, [])


def test_an_import_that_was_interrupted_is_repaired_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = Room(tmp_path)
    import_files(room.folder, [room.file(room.people[:9], "first-")])
    listed = (room.folder.path / IMPORTS_FILE).read_bytes()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr("merilo.studies.study_import.indented", killed)
        with pytest.raises(KeyboardInterrupt):
            import_files(room.folder, [room.file()])
    assert (room.folder.path / IMPORTS_FILE).read_bytes() == listed
    import_files(room.folder, [room.file()])
    other = Room(tmp_path / "other")
    import_files(other.folder, [other.file()])
    assert room.answers == other.answers
    assert len(read_imports(room.folder).files) == 2


@every("form", ["label", "options"])
def test_answers_of_mechanical_turk_are_read_from_json_too(form: str, tmp_path: Path) -> None:
    """Amazon's form element writes all answers of a page in one column, radio buttons as true and false."""
    room = Room(tmp_path / form, "mturk", page=3)
    other = Room(tmp_path / form / "other", "mturk", page=3)

    def edit(rows: list[dict[str, str]]) -> None:
        for row in rows:
            given = {name: row.pop(name) for name in list(row) if name.startswith("Answer.")}
            given = {name.removeprefix("Answer."): answer for name, answer in given.items() if answer}
            both = {name: {label: label == answer for label in "01"} for name, answer in given.items()}
            row["Answer.taskAnswers"] = json.dumps([given if form == "label" else both])

    import_files(room.folder, [room.file()])
    import_files(other.folder, [edited(room.file(), edit)])
    assert other.answers == room.answers


def test_pay_is_that_of_the_plan_where_the_platform_does_not_state_it(tmp_path: Path) -> None:
    room = Room(tmp_path, "table", page=3)
    path = edited(room.file(), lambda rows: [row.update(reward="") for row in rows])
    made = import_files(room.folder, [path])
    assert made.imports.tables["people"].planned_pay == made.added[0].rows
    rewards = {(row["page"], row["reward"]) for row in map(json.loads, room.answers.splitlines())}
    assert {reward for _, reward in rewards} == {0.05, round(0.05 / 3, 10)}


def _expert_files(tmp_path: Path, platform: str, *, closed: bool) -> tuple[StudyFolder, list[Path]]:
    """Three experts answer the items of the others; the second marks one more item as possibly their own."""
    items = [
        Item(
            n,
            "{inputs}" if closed else "{text}{topic}",
            f"( ) {n}" if closed else {"text": f"q{n}", "topic": "t"},
            "1",
            {"id": n, "author": f"e{n % 3}"},
        )
        for n in range(1, 10)
    ]
    folder = study_of(
        tmp_path / "study", items, [], dataset_name="bps" if closed else "chegeka", experts=True
    )
    made = export_study(folder, platform, tmp_path / "out", arm="experts")  # type: ignore[arg-type]
    tasks = of_kind(folder, "test")
    start = visits(folder)[0].started
    paths = []
    for number, sheet in enumerate(made.sheets):
        people = []
        for place, task in enumerate(one for one in tasks if sheet.respondent not in one.authors):
            answer = MAY_BE_MINE if (number, place) == (1, 0) else "1"
            people.append(Visit(100 * number + place, 200 + number, start, 20, {task.id: answer}))
        path = tmp_path / f"{number}-{NAMES[platform]}"
        path.write_text(answered(platform, tmp_path / "out" / sheet.folder, people), "utf-8", newline="")
        paths.append(path)
    return folder, paths


@every("platform, closed", [(platform, closed) for platform in PLATFORMS for closed in (True, False)])
def test_experts_decide_the_items_of_the_others(platform: str, closed: bool, tmp_path: Path) -> None:
    folder, paths = _expert_files(tmp_path / f"{platform}-{closed}", platform, closed=closed)
    import_files(folder, paths)
    record = study_baseline(folder, arm="experts")
    assert (record.response_counts.used, record.response_counts.dropped) == (17, {"may_be_mine": 1})
    assert record.item_counts.overlap == {2: 8, 1: 1}
    assert (record.resolved_by.majority, record.agreement.low_agreement) == (9, 1)
    assert record.metrics["acc" if closed else "em"].n == 9
    assert record.cost.pages == 18
    status = study_status(folder, arm="experts")
    assert (status.counted, status.missing) == (17, 0), "own items are not missing"


def test_the_option_is_read_in_every_language_and_as_a_mark_beside_an_open_answer(tmp_path: Path) -> None:
    def options(platform: str, edit: Callable[[Path], object], *, closed: bool = False) -> int:
        folder, (path, *_) = _expert_files(tmp_path / platform, platform, closed=closed)
        edit(path)
        import_files(folder, [path])
        answers = [
            json.loads(line)["answer"]
            for line in answers_file(folder, "experts").read_text("utf-8").splitlines()
        ]
        assert set(answers) == {MAY_BE_MINE, "1"}
        return answers.count(MAY_BE_MINE)

    def in_english(path: Path) -> None:
        path.write_text(path.read_text("utf-8").replace("\t1\t", f"\t{SKIP_OWN['en']}\t", 2), "utf-8")

    def in_project(path: Path) -> None:
        project = json.loads(path.read_text("utf-8"))
        project[0]["annotations"][0]["result"][0] |= {
            "from_name": "mine",
            "value": {"choices": [MAY_BE_MINE]},
        }
        path.write_text(json.dumps(project), "utf-8")

    def in_columns(*marks: dict[str, str]) -> Callable[[Path], object]:
        return lambda path: edited(
            path, lambda rows: [row.update(mark) for row, mark in zip(rows, marks, strict=False)]
        )

    assert options("toloka", in_english, closed=True) == 2
    assert options("table", in_columns({"answer": "", "mine": "true"}, {"mine": "false"})) == 1
    assert options("label-studio", in_project) == 1
    assert options("mturk", in_columns({"Answer.mine_1": "true"}, *[{"Answer.mine_1": ""}] * 20)) == 1
