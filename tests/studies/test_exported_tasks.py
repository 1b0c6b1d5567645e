"""What leaves a study: the same tasks on every platform, without any gold answer and without anything that could run."""

import csv
import html
import io
import itertools
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command import done, merilo
from every import every
from exports import csv_rows
from study_people import bundled_study, frozen, of_kind, study_of

from merilo.datasets import dataset
from merilo.datasets.bundled_items import examples
from merilo.errors import DataError, OutputError, UsageError
from merilo.items import Item
from merilo.studies.platform_files import export_study
from merilo.studies.platform_rows import MAY_BE_MINE
from merilo.studies.study_folder import StudyFolder

PLATFORMS = ["toloka", "abc", "label-studio", "mturk", "table"]

HOSTILE = "</script><script>alert(1)</script>\"' onload=x ${prompt_2} {{x}} <img src=x onerror=alert(1)> ]]> \U0001f600 =1+1"


def texts_of(out: Path) -> dict[str, str]:
    return {str(path.relative_to(out)): path.read_text("utf-8") for path in out.rglob("*") if path.is_file()}


def asked(number: int, text: str, gold: str, **meta: object) -> Item:
    return Item(number, "{text}{topic}", {"text": text, "topic": ""}, gold, {"id": number, **meta})


def secret_study(folder: Path) -> StudyFolder:
    """Every gold answer is a word that occurs nowhere else."""
    items = [asked(n, f"question {n}", f"goldoftest{n}") for n in range(1, 8)]
    controls = [asked(n, f"control question {n}", f"goldofcontrol{n};other") for n in (8, 9)]
    training = [asked(10, "training question", "goldoftraining", hint="read it")]
    return study_of(folder, items, controls, dataset_name="chegeka", training=training, page=3)


@every("platform", PLATFORMS)
def test_no_written_byte_holds_the_gold_of_a_test_item(platform: str, tmp_path: Path) -> None:
    folder = secret_study(tmp_path / platform / "study")
    export_study(folder, platform, tmp_path / platform / "out")  # type: ignore[arg-type]
    written = texts_of(tmp_path / platform / "out")
    everything = "".join([*written, *written.values()])
    assert "question 7" in everything
    assert "goldoftest" not in everything
    holding = {name for name, text in written.items() if "goldofcontrol" in text}
    assert holding == ({"tasks.tsv"} if platform == "toloka" else set())


def test_toloka_gets_known_answers_in_golden_columns_and_hints_in_training(tmp_path: Path) -> None:
    export_study(secret_study(tmp_path / "study"), "toloka", tmp_path / "out")
    rows = csv_rows(tmp_path / "out" / "tasks.tsv")
    known = ["", "goldofcontrol8", "", "", "", "", "goldofcontrol9", "", ""]
    assert [row["GOLDEN:answer"] for row in rows] == known
    (taught,) = csv_rows(tmp_path / "out" / "training.tsv")
    assert (taught["GOLDEN:answer"], taught["HINT:text"]) == ("goldoftraining", "read it")
    project = json.loads((tmp_path / "out" / "project.json").read_text("utf-8"))
    assert set(project["task_spec"]["input_spec"]) == {"study", "task", "prompt"}
    shown = json.loads(project["task_spec"]["view_spec"]["config"])["view"]["items"]
    assert [one["type"] for one in shown] == ["view.text", "field.textarea"]


@every("platform", PLATFORMS)
def test_the_prompt_is_that_of_models_and_controls_stand_at_regular_intervals(
    platform: str, tmp_path: Path
) -> None:
    folder = bundled_study(tmp_path / platform / "study", "mathlogicqa", page=3)
    export_study(folder, platform, tmp_path / platform / "out")  # type: ignore[arg-type]
    tests, known = of_kind(folder, "test"), of_kind(folder, "control")
    written = "".join(texts_of(tmp_path / platform / "out").values())
    places = {task.id: written.index(task.id) for task in (*tests, *known)}
    order = sorted(places, key=lambda task: places[task])
    controls = [order.index(task.id) for task in known]
    step = len(order) / len(controls)
    assert all(abs(place - (number + 0.5) * step) <= 1 for number, place in enumerate(sorted(controls)))
    for prompt in (task.prompt for task in tests):
        variants = {
            prompt,
            json.dumps(prompt, ensure_ascii=False)[1:-1],
            html.escape(prompt).replace("$", "&#36;").replace("\n", "<br>"),
        }
        variants |= {text.replace('"', '""') for text in variants}
        assert any(text in written for text in variants), prompt


def test_ids_tell_neither_the_kind_nor_the_item_and_depend_on_the_answers(tmp_path: Path) -> None:
    folder = bundled_study(tmp_path / "a", "bps")
    ids = [task.id for task in folder.tasks()]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"t[0-9a-f]{11}", name) for name in ids)
    assert folder.arm_id("people") != folder.arm_id("experts")
    items = folder.items()
    changed = [Item(items[0].id, items[0].instruction, items[0].inputs, "0", items[0].meta), *items[1:]]
    other = study_of(tmp_path / "b", changed, folder.controls())
    assert not set(ids) & {task.id for task in other.tasks()}


class Markup(HTMLParser):
    """Collects the elements of a page and their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def runs(text: str) -> list[tuple[str, dict[str, str | None]]]:
    """The elements of a page that a browser would run or load, but for Amazon's own form script."""
    return [
        (tag, attributes)
        for tag, attributes in Markup(text).tags
        if (
            tag in {"script", "iframe", "object", "img"}
            and attributes.get("src") != "https://assets.crowd.aws/crowd-html-elements.js"
        )
        or any(name.startswith("on") for name in attributes)
        or any(
            (value or "").strip().lower().startswith(("javascript:", "data:"))
            for value in attributes.values()
        )
    ]


@every("platform", PLATFORMS)
def test_hostile_text_of_a_dataset_cannot_run_as_script(platform: str, tmp_path: Path) -> None:
    folder = study_of(
        tmp_path / platform / "study",
        [asked(1, HOSTILE, "a")],
        [asked(2, f"2{HOSTILE}", "b")],
        training=[asked(3, f"3{HOSTILE}", HOSTILE, hint=HOSTILE)],
        dataset_name="chegeka",
        page=2,
        instruction=f"# {HOSTILE}\n\n{HOSTILE}\n\n[x](javascript:alert(1)) ![y](https://example.com/a.png)\n",
    )
    export_study(folder, platform, tmp_path / platform / "out")  # type: ignore[arg-type]
    for name, text in texts_of(tmp_path / platform / "out").items():
        if name.endswith(".html"):
            assert not runs(text), name
    if platform == "mturk":
        (table,) = csv_rows(tmp_path / platform / "out" / "tasks.csv")
        page = (tmp_path / platform / "out" / "layout.html").read_text("utf-8")
        # As Mechanical Turk does: every placeholder is replaced by its cell, and the result is searched no more.
        filled = re.sub(r"\$\{(\w+)\}", lambda found: table[found[1]], page)
        assert not runs(filled)
        assert HOSTILE in html.unescape(filled)
        assert "\U0001f600" not in "".join(table.values())
        assert set(re.findall(r"\$\{(\w+)\}", page)) == {"prompt_1", "prompt_2"}
    if platform == "toloka":
        project = json.loads((tmp_path / platform / "out" / "project.json").read_text("utf-8"))
        assert not runs(project["public_instructions"])


def test_a_cell_that_a_spreadsheet_would_run_gets_an_apostrophe(tmp_path: Path) -> None:
    folder = study_of(tmp_path / "study", [Item(1, "{inputs}", "=HYPERLINK(1)", "1", {"id": 1})], [])
    export_study(folder, "table", tmp_path / "out")
    (row,) = csv_rows(tmp_path / "out" / "tasks.csv")
    assert row["prompt"] == "'=HYPERLINK(1)"


PROGRAMS = [Item(1, "{function}", {"function": "def f():", "tests": "[]"}, ["1"], {"id": 1})]


@every(
    "name, tag",
    [("bps", "Choices"), ("simplear", "Number"), ("chegeka", "TextArea"), ("ruhumaneval", "TextArea")],
)
def test_label_studio_gets_the_tag_that_fits_the_form_of_the_answer(
    name: str, tag: str, tmp_path: Path
) -> None:
    items = PROGRAMS if name == "ruhumaneval" else examples(dataset(name))["test"].items
    study = study_of(tmp_path / name / "study", items, [], dataset_name=name)
    export_study(study, "label-studio", tmp_path / name / "out")
    view = ElementTree.fromstring((tmp_path / name / "out" / "labels.xml").read_text("utf-8"))
    (answer,) = [one for one in view if one.get("name") == "answer"]
    assert answer.tag == tag
    if tag == "Choices":
        assert [(one.get("value"), one.get("hotkey")) for one in answer] == [("0", "0"), ("1", "1")]


def test_a_dialogue_leaves_whole_and_only_where_one_person_can_answer_it(tmp_path: Path) -> None:
    folder = bundled_study(tmp_path / "study", "rutie")
    export_study(folder, "abc", tmp_path / "abc")
    rows = csv_rows(tmp_path / "abc" / "tasks.tsv")
    assert [len(json.loads(row["INPUT:dialog"])) for row in rows] == [len(folder.items())]
    made = export_study(folder, "table", tmp_path / "table")
    turns = [row["task"] for row in csv_rows(tmp_path / "table" / "tasks.csv")]
    assert (turns, made.controls) == ([task.id for task in of_kind(folder, "test")], 0)
    for platform in ("toloka", "label-studio", "mturk"):
        with pytest.raises(DataError, match="turns of dialogues"):
            export_study(folder, platform, tmp_path / platform)  # type: ignore[arg-type]


def expert_study_of(folder: Path) -> StudyFolder:
    items = [
        Item(n, "{inputs}", f"( ) {n}", str(n % 2), {"id": n, "author": f"Эксперт {'АБВ'[n % 3]}"})
        for n in range(1, 10)
    ]
    return study_of(folder, items, [], experts=True, page=3)


@every("platform", PLATFORMS)
def test_each_expert_gets_a_sheet_without_their_own_items_and_the_option_to_skip(
    platform: str, tmp_path: Path
) -> None:
    folder = expert_study_of(tmp_path / platform / "study")
    made = export_study(folder, platform, tmp_path / platform / "out", arm="experts")  # type: ignore[arg-type]
    assert [(one.respondent, one.tests, one.left_out) for one in made.sheets] == [
        (f"Эксперт {letter}", 6, 3) for letter in "АБВ"
    ]
    for sheet in made.sheets:
        text = "".join(texts_of(tmp_path / platform / "out" / sheet.folder).values())
        for task in of_kind(folder, "test"):
            assert (task.id in text) == (sheet.respondent not in task.authors)
        assert MAY_BE_MINE in text.replace('""', '"')
        assert "На одно задание даётся не более 60 с." in text


def test_a_time_limit_is_stated_once(tmp_path: Path) -> None:
    for number, (text, times) in enumerate(
        [("Отвечайте.", 1), ("На одно задание отводится 60 секунд.", 0), ("1600 слов.", 1)]
    ):
        folder = study_of(
            tmp_path / str(number),
            [Item(1, "{inputs}", "( )", "1", {"id": 1})],
            [],
            experts=True,
            instruction=text,
        )
        export_study(folder, "table", tmp_path / f"out{number}", arm="experts")
        page = (tmp_path / f"out{number}" / "instruction.html").read_text("utf-8")
        assert page.count("На одно задание даётся не более 60 с.") == times, text


def test_only_experts_named_get_sheets_and_unknown_authorship_gives_one_sheet(tmp_path: Path) -> None:
    folder = expert_study_of(tmp_path / "study")
    made = export_study(folder, "table", tmp_path / "out", arm="experts", experts=["Эксперт А", "Новый"])
    assert [(one.respondent, one.tests) for one in made.sheets] == [("Эксперт А", 6), ("Новый", 9)]
    plain = study_of(tmp_path / "plain", [Item(1, "{inputs}", "( )", "1", {"id": 1})], [], experts=True)
    assert [one.folder for one in export_study(plain, "table", tmp_path / "one", arm="experts").sheets] == [
        ""
    ]


def test_wrong_wishes_are_refused_in_one_sentence(tmp_path: Path) -> None:
    folder = bundled_study(tmp_path / "study")
    with pytest.raises(UsageError, match="no arm 'crowd', only people"):
        export_study(folder, "table", tmp_path / "out", arm="crowd")
    with pytest.raises(UsageError, match="skip_own"):
        export_study(folder, "table", tmp_path / "out", experts=["А"])
    with pytest.raises(UsageError, match="no instruction in 'en'"):
        export_study(folder, "table", tmp_path / "out", language="en")
    (tmp_path / "out").mkdir()
    with pytest.raises(OutputError, match="exists already"):
        export_study(folder, "table", tmp_path / "out")
    single = study_of(
        tmp_path / "s", [Item(1, "{inputs}", "( )", "1", {"id": 1, "author": "А"})], [], experts=True
    )
    with pytest.raises(DataError, match="'А' wrote all items"):
        export_study(single, "table", tmp_path / "none", arm="experts")
    assert not (tmp_path / "none").exists()


@pytest.fixture
def sheets(tmp_path: Path) -> tuple[StudyFolder, Path]:
    """A study whose items Anna and Boris wrote in turn, and the tables of the two."""
    splits = examples(dataset("bps"))
    authors = itertools.cycle(("Anna", "Boris"))
    items = [replace(item, meta={**item.meta, "author": next(authors)}) for item in splits["test"].items]
    controls = [replace(item, meta={**item.meta, "author": "Anna"}) for item in splits["shots"].items[:1]]
    controls += splits["shots"].items[1:]
    study = frozen(study_of(tmp_path / "study", items, controls, experts=True))
    out = tmp_path / "out"
    done("study", "export", study.path, "--platform", "table", "--arm", "experts", "--out", out)
    return study, out


def filled(table: Path, respondent: str) -> str:
    rows = csv_rows(table)
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0])
    writer.writeheader()
    writer.writerows({**row, "respondent": respondent, "answer": "1"} for row in rows)
    return text.getvalue()


def test_an_answer_of_a_named_expert_to_their_own_item_is_none(sheets: tuple[StudyFolder, Path]) -> None:
    study, out = sheets
    controls = {task.id for task in of_kind(study, "control")}
    for name, known in (("01-Anna", 1), ("02-Boris", 2)):
        assert len(controls & {row["task"] for row in csv_rows(out / name / "tasks.csv")}) == known, (
            "no control item of their own"
        )
    foreign = study.path / "foreign.csv"
    foreign.write_text(filled(out / "02-Boris" / "tasks.csv", "Anna"), "utf-8")
    (imported,) = merilo("study", "import", study.path, foreign, "--json", "-").json["added"]
    assert imported["left_out"] == {"own_item": 4}
    assert imported["answers"] == imported["rows"] - 4


def test_filled_tables_are_not_replaced_and_a_misspelled_author_is_named(
    sheets: tuple[StudyFolder, Path],
) -> None:
    study, out = sheets
    table = out / "01-Anna" / "tasks.csv"
    table.write_text(filled(table, "Anna"), "utf-8")
    before = table.read_bytes()
    platform = ("--platform", "table", "--arm", "experts", "--out", out)
    again = merilo("study", "export", study.path, *platform, "--force")
    assert again.status == 2
    assert "tasks.csv: has answers" in again.err
    assert table.read_bytes() == before
    for saved in (
        before.decode().replace(",", ";").encode("cp1251", "replace"),
        "ответ;да".encode("cp1251"),
        b"\xff\xfe\x00",
    ):
        table.write_bytes(saved)  # as spreadsheets save it
        assert merilo("study", "export", study.path, *platform, "--force").status == 2
        assert table.read_bytes() == saved
    words = ("--platform", "table", "--arm", "experts", "--expert", "Ana", "--out", out.parent / "new")
    assert "did you mean 'Anna'?" in merilo("study", "export", study.path, *words).err
