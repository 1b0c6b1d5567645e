"""Every rule for a dataset's files: a valid folder passes, and each fault is reported with its location."""

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from merilo.datasets import CATALOGUE
from merilo.datasets.validation import Contents, Violation, validate
from merilo.errors import InputError
from merilo.metrics.exam import TASKS

META = "raw_dataset_meta.json"


class Folder:
    """A dataset in the newer form, with pictures: 24 items in the test, 12 in the shots, 12 prompts."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "samples").mkdir()
        self.meta: dict[str, Any] = {
            "dataset_name": "cities",
            "description": "Угадать город по картинке",
            "license": "MIT",
            "dataset_size": 24,
            "modalities": ["text", "image"],
            "skills": ["Common domain knowledge"],
            "domains": ["geography"],
            "universal_domains": ["Science"],
            "synt_source_models": [],
            "data_example": self.item(1),
            "data_field_descriptions": {
                name: {"en": name, "ru": "поле"} for name in ("question", "option_a", "option_b", "image")
            },
            "prompts": [
                f"{n}. <image> {{question}} A. {{option_a}} B. {{option_b}} A или B?" for n in range(12)
            ],
            "metrics": {
                "acc": {"en": "Accuracy", "ru": "Доля верных"},
                "em": {"en": "Exact match", "ru": "Точное"},
            },
            "human_benchmark": {"acc": 0.91, "em": 0.9},
        }
        self.test: dict[str, Any] = {"data": [self.item(n) for n in range(1, 25)], "access": "private"}
        self.shots: dict[str, Any] = {"data": [self.item(n) for n in range(25, 37)], "access": "public"}
        ru = ("Описание задачи", "Мотивация", "Создание датасета", "Human baseline", "Авторы")
        en = ("Task description", "Motivation", "Dataset creation", "Human baseline", "Contributors")
        self.ru = dict.fromkeys(ru, "Текст.")
        self.en = dict.fromkeys(en, "Text.")
        for n in range(1, 37):
            (root / "samples" / f"image{n:03d}.png").write_bytes(b"\x89PNG" + bytes([n]))

    @staticmethod
    def item(number: int) -> dict[str, Any]:
        return {
            "instruction": number % 12,
            "inputs": {
                "question": f"Какой это город, № {number}?",
                "option_a": "Тверь",
                "option_b": "Омск",
                "image": f"samples/image{number:03d}.png",
            },
            "outputs": "A",
            "meta": {"id": number},
        }

    def write(self) -> Path:
        files = {META: self.meta, "test.json": self.test, "shots.json": self.shots}
        files |= {"raw_readme_ru.json": self.ru, "raw_readme_en.json": self.en}
        for name, content in files.items():
            if content is not None:
                (self.root / name).write_text(
                    json.dumps(content, ensure_ascii=False, indent=4), encoding="utf-8"
                )
        return self.root


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / "cities").mkdir()
    return Folder(tmp_path / "cities")


def found(report: Contents) -> list[tuple[str, str, str]]:
    return [(problem.file, problem.path, problem.message) for problem in report.problems]


def test_a_good_folder_is_valid_and_has_nothing_to_note(folder: Folder) -> None:
    report = validate(folder.write())
    assert found(report) == []
    assert report.notes == []
    assert report.items == {"shots": 12, "test": 24}
    assert report.valid


def spoil(path: str, value: Any) -> Callable[[Folder], None]:
    """Set the value at a path such as `meta.prompts.3`."""

    def change(folder: Folder) -> None:
        first, *steps = path.split(".")
        target: Any = getattr(folder, first)
        if not steps:
            setattr(folder, first, value)
            return
        for step in steps[:-1]:
            target = target[int(step)] if step.isdigit() else target[step]
        last: Any = int(steps[-1]) if steps[-1].isdigit() else steps[-1]
        if value is None:
            del target[last]
        else:
            target[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "file", "path", "message"),
    [
        # The metadata.
        (spoil("meta", None), META, "", "is missing"),
        (spoil("meta.license", None), META, "license", "is missing"),
        (spoil("meta.dataset_name", ""), META, "dataset_name", "must be a text"),
        (spoil("meta.dataset_size", 25), META, "dataset_size", "says 25 items, but the files have 24 or 36"),
        (spoil("meta.modalities", ["text", "smell"]), META, "modalities", "must be a list of some of text, image"),
        (spoil("meta.skills", []), META, "skills", "with at least one"),
        (spoil("meta.data_example", []), META, "data_example", "must be an object"),
        (spoil("meta.metrics.ACC ", {"en": "A", "ru": "Д"}), META, "metrics.ACC ", "named twice: also as 'acc'"),
        (spoil("meta.human_benchmark", [0.91]), META, "human_benchmark", "must be an object"),
        # The prompts.
        (spoil("meta.prompts", "?"), META, "prompts", "must be a list"),
        (spoil("meta.prompts.3", ""), META, "prompts[3]", "must be a text"),
        (spoil("meta.prompts.3", "<image> {question} {option_a}"), META, "prompts[3]", "does not name {option_b}"),
        (spoil("meta.prompts.3", "<image> {question} {option_a} {option_b} {hint}"), META, "prompts[3]", "names {hint}"),
        (spoil("meta.prompts.11", "0. <image> {question} A. {option_a} B. {option_b} A или B?"), META, "prompts[11]",
         "is the same as prompt 0"),
        (lambda f: f.meta.update(prompts=f.meta["prompts"][:9]), META, "prompts", "has 9 prompts; at least 10 are required"),
        (lambda f: f.meta.update(prompts={"a": f.meta["prompts"], "b": f.meta["prompts"][:2]}), META, "prompts.b",
         "has 2 prompts"),
        (spoil("test.data.0.instruction", 12), "test.json", "data[0].instruction", "numbered from 0 to 11"),
        (spoil("test.data.0.instruction", True), "test.json", "data[0].instruction", "must be a text or the number"),
        (spoil("test.data.0.instruction", "{question}"), "test.json", "data[0].instruction", "does not name"),
        (spoil("test.data.0.instruction", 5), "test.json", "data", "not spread evenly: '5' is used in 4 items, '1' in 2"),
        # Items.
        (spoil("test.data.1", 5), "test.json", "data[1]", "must be an item"),
        (spoil("test.data.1.meta", None), "test.json", "data[1].meta", "must be an object with an id"),
        (spoil("test.data.1.meta.id", None), "test.json", "data[1].meta.id", "must be a number"),
        (spoil("test.data.1.outputs", None), "test.json", "data[1].outputs", "is missing"),
        (spoil("test.data.1.inputs", "текст"), "test.json", "data[1].inputs", "but is a text"),
        (spoil("test.data.1.meta.id", 36), "test.json", "data[1].meta.id", "36 is also the id of shots.json, data[11]"),
        (spoil("test.data.0.meta.id", 0), "test.json", "data[0].meta.id", "must run from 1 to 36"),
        (spoil("test.data.0.meta.id", "1"), "test.json", "data[0].meta.id", "must be a whole number"),
        (spoil("test.access", "secret"), "test.json", "access", "must be 'public' or 'private'"),
        (spoil("test.data", {}), "test.json", "data", "has no items"),
        (spoil("test", [1]), "test.json", "", "has no items"),
        # Shots that give the test away.
        (spoil("shots.data.0.inputs.image", "samples/image003.png"), "shots.json", "data[0].inputs.image",
         "repeats a medium of test.json, data[2]"),
        # Media.
        (spoil("test.data.4.inputs.image", "samples/none.png"), "test.json", "data[4].inputs.image", "does not exist"),
        (spoil("test.data.4.inputs.image", "/etc/passwd"), "test.json", "data[4].inputs.image", "below samples/"),
        (spoil("test.data.4.inputs.image", "samples/../test.json"), "test.json", "data[4].inputs.image", "below samples/"),
        (spoil("test.data.4.inputs.image", "samples\\x.png"), "test.json", "data[4].inputs.image", "below samples/"),
        (spoil("test.data.4.inputs.image", "samples/a\0.png"), "test.json", "data[4].inputs.image", "below samples/"),
        (spoil("test.data.4.inputs.image", "samples/" + "x" * 5000), "test.json", "data[4].inputs.image", "names a file"),
        (spoil("test.data.4.inputs.image", "samples"), "test.json", "data[4].inputs.image", "does not exist"),
        # The card.
        (spoil("en", None), "raw_readme_en.json", "", "is missing: a card must be written in both languages"),
        (spoil("en.Motivation", " "), "raw_readme_en.json", "Motivation", "must be a text"),
        (spoil("en.Thanks", "To all."), "raw_readme_en.json", "Thanks", "is not a section of a card (there are: Task"),
        (spoil("en", ["Text"]), "raw_readme_en.json", "", "must be a JSON object"),
    ],
)  # fmt: skip
def test_each_fault_is_found_at_its_place(
    folder: Folder, change: Callable[[Folder], None], file: str, path: str, message: str
) -> None:
    change(folder)
    report = validate(folder.write())
    assert not report.valid
    assert [p for p in report.problems if p.file == file and p.path == path and message in p.message], found(
        report
    )


def test_a_shot_that_repeats_a_question_of_the_test_is_found_through_case_and_space(tmp_path: Path) -> None:
    data = {"test": [v1(1, "Который час?")], "shots": [v1(2, "который   ЧАС? ")]}
    report = validate(written(tmp_path / "own.json", data))
    assert found(report) == [
        ("own.json", "data.shots[0].inputs", "repeats the question of own.json, data.test[0]")
    ]


def test_another_json_file_beside_the_data_is_noted(folder: Folder) -> None:
    root = folder.write()
    (root / "package.json").write_text("{}", encoding="utf-8")
    report = validate(root)
    assert report.valid
    assert [(note.file, note.message[:29]) for note in report.notes] == [
        ("package.json", "is not read as a file of item")
    ]


def test_what_steers_a_terminal_is_written_out() -> None:
    assert str(Violation("a.json", "x\x1b[2J", "is\nwrong")) == "a.json, x\\x1b[2J: is\\nwrong"


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
    | st.sampled_from(["{question}", "samples/image001.png", "8_1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


def paths_of(value: Any, path: str) -> Iterator[str]:
    yield path
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value[:2]):
            yield from paths_of(inner, f"{path}.{key}")


@given(st.data())
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_stands_in_the_files_is_answered_with_problems_and_never_a_crash(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = Folder(tmp_path_factory.mktemp("any"))
    whole = {"meta": folder.meta, "test": folder.test, "shots": folder.shots, "ru": folder.ru}
    places = [
        path
        for name, value in whole.items()
        for path in paths_of(value, name)
        if not re.search(r"[ -]", path)
    ]
    for path in data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=2)):
        with suppress(KeyError, IndexError, TypeError):  # the second place may be gone with the first
            spoil(path, data.draw(ANY_JSON))(folder)
    report = validate(
        folder.write(), data.draw(st.sampled_from([None, CATALOGUE["use"], CATALOGUE["ruhumaneval"]]))
    )
    assert all(str(problem) for problem in [*report.problems, *report.notes])


def test_prompts_by_domain_are_counted_by_domain(folder: Folder) -> None:
    folder.meta["prompts"] = dict.fromkeys(("rivers", "towns"), folder.meta["prompts"])
    for entry in [*folder.test["data"], *folder.shots["data"]]:
        entry["meta"]["domain"] = "rivers" if (entry["meta"]["id"] - 1) // 12 % 2 else "towns"
    assert found(validate(folder.write())) == []
    del folder.test["data"][0]["meta"]["domain"]
    report = validate(folder.write())
    assert ("test.json", "data[0].instruction") in {
        (problem.file, problem.path) for problem in report.problems
    }


@pytest.mark.parametrize("excluded", [["option_b"], {"inputs": ["option_b"], "meta": {"image": ["type"]}}])
def test_a_prompt_may_leave_out_the_excluded_fields(folder: Folder, excluded: Any) -> None:
    folder.meta["prompts"] = [text.replace("B. {option_b}", "B") for text in folder.meta["prompts"]]
    assert found(validate(folder.write()))[0] == (META, "prompts[0]", "does not name {option_b}")
    folder.meta["exclude_fields"] = excluded
    assert found(validate(folder.write())) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ensure_ascii", "letters written as"),
        ("indent", "must be indented by 4 spaces"),
        ("flat", "must be indented by 4 spaces"),
    ],
)
def test_the_metadata_are_written_for_readers(folder: Folder, text: str, message: str) -> None:
    root = folder.write()
    dumps = {
        "ensure_ascii": json.dumps(folder.meta, indent=4),
        "indent": json.dumps(folder.meta, indent=2, ensure_ascii=False),
        "flat": json.dumps(folder.meta, ensure_ascii=False),
    }
    (root / META).write_text(dumps[text], encoding="utf-8")
    assert [problem.file for problem in validate(root).problems if message in problem.message] == [META]


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"a": NaN}', b"5"])
@pytest.mark.parametrize("name", [META, "raw_readme_ru.json", "test.json"])
def test_an_unreadable_file_is_a_problem_beside_the_others(folder: Folder, name: str, content: bytes) -> None:
    folder.shots["access"] = "secret"
    root = folder.write()
    (root / name).write_bytes(content)
    files = {problem.file for problem in validate(root).problems}
    assert {name, "shots.json"} <= files


def test_media_that_lead_out_of_the_folder_through_links_are_found(folder: Folder, tmp_path: Path) -> None:
    root = folder.write()
    (tmp_path / "secret.png").write_bytes(b"secret")
    (root / "samples" / "image007.png").unlink()
    (root / "samples" / "image007.png").symlink_to(tmp_path / "secret.png")
    (root / "samples" / "image008.png").unlink()
    (root / "samples" / "image008.png").symlink_to("image008.png")
    (root / "samples" / "image009.png").write_bytes(b"")
    problems = {problem.path: problem.message for problem in validate(root).problems}
    assert "points outside the folder" in problems["data[6].inputs.image"]
    assert "names a file" in problems["data[7].inputs.image"]
    assert "names an empty file" in problems["data[8].inputs.image"]


def test_a_pipe_in_place_of_a_file_does_not_hang(folder: Folder) -> None:
    root = folder.write()
    (root / "samples" / "image001.png").unlink()
    os.mkfifo(root / "samples" / "image001.png")
    (root / "test.json").unlink()
    os.mkfifo(root / "test.json")
    assert ("test.json", "", "is a pipe or a device, which cannot be read twice; save it as a file") in found(
        validate(root)
    )


def test_what_may_be_a_mistake_is_noted(folder: Folder) -> None:
    folder.meta["colour"] = "red"
    del folder.meta["human_benchmark"]["em"]
    folder.test["data"][0]["comment"] = "?"
    root = folder.write()
    report = validate(root)
    assert report.valid
    assert {(note.file, note.path) for note in report.notes} == {
        (META, "colour"),
        (META, "human_benchmark.em"),
        ("test.json", "data[0].comment"),
    }


def test_a_folder_without_items_is_invalid_and_no_folder_is_no_input(tmp_path: Path) -> None:
    assert found(validate(tmp_path)) == [("", "", "has no items: expected test.json")]
    with pytest.raises(InputError, match="no such file or folder"):
        validate(tmp_path / "nowhere")


# The first form, and what the catalogue knows.


def v1(
    number: int, inputs: Any, outputs: Any = "1", instruction: str = "{inputs}", **meta: Any
) -> dict[str, Any]:
    return {"instruction": instruction, "inputs": inputs, "outputs": outputs, "meta": {"id": number, **meta}}


def written(file: Path, data: dict[str, Any]) -> Path:
    file.write_text(json.dumps({"data": data}, ensure_ascii=False), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("name", "item", "path", "message"),
    [
        ("bps", v1(1, "( )", "2"), "outputs", "must be one of 0, 1, not '2'"),
        ("bps", v1(1, "( )", 1), "outputs", "must be a text"),
        ("bps", v1(1, {"inputs": "( )"}), "inputs", "must be a text"),
        ("bps", v1(1, "( )", instruction="{inputs} {more}"), "instruction", "names {more}"),
        ("bps", v1(1, "( )", instruction="?"), "instruction", "does not name {inputs}"),
        ("simplear", v1(1, "1 + 1 = ", "два"), "outputs", "must be a whole number"),
        ("rcb", v1(1, {"premise": "а"}, instruction="{premise}"), "inputs", "must be an object with hypothesis, premise"),
        ("ruethics", v1(1, {"text": "", "actant_1": "", "actant_2": ""}, {"law": "1"}, "", question="good"), "outputs",
         "must be an object with virtue, law"),
        ("ruethics", v1(1, {"text": "", "actant_1": "", "actant_2": ""},
         dict.fromkeys(("virtue", "law", "moral", "justice", "utilitarianism"), "2"), ""), "outputs", "virtue must be one of"),
        ("ruhumaneval", v1(1, {"function": "f", "tests": "[{'n': 1}]"}, ["1", "2"], "{function}"), "outputs",
         "has 2 results for 1 tests"),
        ("ruhumaneval", v1(1, {"function": "f", "tests": "open('x')"}, ["1"], "{function}"), "inputs.tests",
         "is not a list of literals"),
        ("ruhumaneval", v1(1, {"function": "f", "tests": "[]"}, 5, "{function}"), "outputs", "must be a list of results"),
    ],
)  # fmt: skip
def test_items_of_a_known_dataset_are_as_it_declares(
    tmp_path: Path, name: str, item: dict[str, Any], path: str, message: str
) -> None:
    report = validate(written(tmp_path / f"{name}.json", {"test": [item]}))
    assert [p for p in report.problems if p.path == f"data.test[0].{path}" and message in p.message], found(
        report
    )


def test_items_of_a_known_dataset_may_name_its_prompts_by_number(tmp_path: Path) -> None:
    items = [v1(n, f"{'( )' * n}", instruction=n % 10) for n in range(1, 21)]  # type: ignore[arg-type]
    assert found(validate(written(tmp_path / "bps.json", {"test": items}))) == []
    items[0]["instruction"] = 10
    (_, path, message), *_ = found(validate(written(tmp_path / "bps.json", {"test": items})))
    assert (path, message) == (
        "data.test[0].instruction",
        "asks for prompt 10; the prompts are numbered from 0 to 9",
    )


def test_prompts_and_bare_forms_of_ones_own_are_checked_with_the_data(tmp_path: Path) -> None:
    (tmp_path / "dataset.yaml").write_text(
        "{name: own, title: Own, fields: [a, b], answer: {kind: integer}, metrics: [em], prompts_by: kind,"
        " prompts: {sum: ['{a} + {b}'], product: ['{a} * {c}']}, bare: {sum: 'a = {a}', product: '{a} * {c}'}}",
        encoding="utf-8",
    )
    items = [v1(n, {"a": "1", "b": "2"}, instruction=0, kind=kind) for n, kind in [(1, "sum"), (2, "root")]]  # type: ignore[arg-type]
    written(tmp_path / "test.json", {"test": items})
    report = validate(tmp_path)
    strange = "names {c}, which the inputs do not have"
    assert found(report) == [
        ("dataset.yaml", "bare.product", strange),
        ("dataset.yaml", "prompts.product[0]", strange),
        ("test.json", "data.test[1].instruction", "meta must name one of the domains product, sum"),
    ]
    assert {note.path for note in report.notes} == {"prompts.sum", "prompts.product"}


@pytest.mark.parametrize("ids", [("s1", "s2"), ("q/1", "07"), (5, 9)])
def test_an_own_dataset_may_have_texts_or_any_whole_numbers_as_ids(
    tmp_path: Path, ids: tuple[object, object]
) -> None:
    entries = [v1(1, "?"), v1(2, "!")]
    for entry, one in zip(entries, ids, strict=True):
        entry["meta"]["id"] = one
    written(tmp_path / "test.json", {"test": entries})
    assert found(validate(tmp_path)) == []
    # The catalogue's datasets have whole numbers from 1.
    assert {path for _, path, _ in found(validate(tmp_path, CATALOGUE["lcs"]))} >= {"data.test[0].meta.id"}


# The exam.

TEXT_TASKS = {"2", "4", "5", "6", "7", "13", "14", "24"}


def variant(number: int = 1, first_id: int = 1) -> list[dict[str, Any]]:
    """A complete variant with one prompt per type."""
    made = []
    for position, task in enumerate(TASKS):
        kind = (
            "text" if task in TEXT_TASKS else "matching" if task == "26" else "multiple_choice_based_on_text"
        )
        gold = "слово,слова" if task in TEXT_TASKS else "1,2,3,4" if task == "26" else "1,3"
        inputs = {"task": f"{number}, {task}", "text": "", "choices": "", "additional_text": ""}
        score = {"16": 2, "26": 4}.get(task, 1)
        meta = {"id_task": task, "variant": number, "score": score, "type": kind}
        made.append(v1(first_id + position, inputs, gold, f"{kind}: {{task}}", **meta))
    return made


def test_variants_of_the_dev_split_must_be_whole_under_either_of_its_names(tmp_path: Path) -> None:
    for split in ("dev", "validation"):
        file = written(tmp_path / "use.json", {"test": variant(1), split: variant(2, 31)[:-1]})
        assert {message for _, path, message in found(validate(file)) if path == f"data.{split}"} == {
            "variant 2 lacks task 26"
        }


@pytest.mark.parametrize(
    ("task", "key", "value", "path", "message"),
    [
        ("9", "variant", None, "meta", "needs id_task, variant and score"),
        ("4", "type", "essay", "meta", "no tasks of type 'essay'"),
        ("3", "score", 2, None, "variant 1 has a task twice, or not 34 points"),
        ("9", "id_task", "10", None, "lacks task 9"),
        ("16", "outputs", "3", "outputs", "must be at least two numbers"),
        ("16", "outputs", "3,3", "outputs", "must be at least two numbers"),
    ],
)
def test_the_rules_of_the_exam(
    tmp_path: Path, task: str, key: str, value: Any, path: str | None, message: str
) -> None:
    items = variant()
    at = TASKS.index(task)
    (items[at] if key == "outputs" else items[at]["meta"])[key] = value
    report = validate(written(tmp_path / "use.json", {"test": items}))
    where = "data.test" if path is None else f"data.test[{at}].{path}"
    assert [p for p in report.problems if p.path == where and message in p.message], found(report)


def test_problems_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    items = variant()
    for item in items:
        item["meta"]["type"] = "none"
    problems = validate(written(tmp_path / "use.json", {"test": items})).problems
    paths = [problem.path for problem in problems if problem.path.endswith(".meta")]
    assert paths == [f"data.test[{number}].meta" for number in range(30)]
