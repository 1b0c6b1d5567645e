"""The form of an item: which field it has, which answers it takes, and how media are shown."""

from collections.abc import Callable
from pathlib import Path

import pytest

from merilo.datasets import dataset
from merilo.datasets.rendering import Media
from merilo.items import Item
from merilo.site.item_form import ItemField, answer_in, asked_prompt, field_of, prompt_html
from merilo.site.served_study import load_study
from merilo.studies.study_folder import StudyFolder
from merilo.studies.study_tasks import AnswerForm, StudyTask

Frozen = Callable[..., StudyFolder]

#: Form of an answer -> a dataset with such answers, and the type of the item.
FORMS = {
    "labels": ("parus", ""), "number": ("simplear", ""), "set": ("use", "multiple_choice"), "matching": ("use", "matching"),
    "program": ("ruhumaneval", ""), "text": ("chegeka", ""),
}  # fmt: skip


def asked(form: AnswerForm, prompt: str) -> StudyTask:
    name, kind = FORMS[form]
    return StudyTask("a", Item(1, prompt, "", meta={"type": kind}), "test", dataset(name))


@pytest.mark.parametrize(
    ("form", "prompt", "field"),
    [
        ("set", "Текст\n1) да\n2) нет", ItemField("choices", ("1", "2"))),
        ("matching", "в порядке букв А, Б, В.", ItemField("letters", ("А", "Б", "В"), r"\s*\d{1,3}\s*")),
        (
            "matching",
            "обозначены буквами (А, Б). Ответ для А, Б и В",
            ItemField("letters", ("А", "Б", "В"), r"\s*\d{1,3}\s*"),
        ),
        ("program", "def f():", ItemField("program")),
        ("text", "Кто?", ItemField("text")),
    ],
)
def test_the_field_follows_from_what_the_person_reads(
    form: AnswerForm, prompt: str, field: ItemField
) -> None:
    assert field_of(asked(form, prompt)) == field


@pytest.mark.parametrize(
    ("form", "prompt", "typed", "answer", "fault"),
    [
        ("labels", "?", ["2"], "2", ""),
        ("labels", "?", ["C"], "", "is missing"),
        ("number", "?", [" -12 "], "-12", ""),
        ("number", "?", ["twelve"], "", "a whole number"),
        ("set", "1) a\n2) b\n3) c", ["3", "1"], "1,3", ""),
        ("set", "1) a\n2) b\n3) c", ["4"], "", "is missing"),
        ("set", "no options", ["1, 3"], "1, 3", ""),
        ("set", "no options", ["one"], "", "separated by commas"),
        ("matching", "букв А, Б", ["2", " 1"], "2,1", ""),
        ("matching", "букв А, Б", ["2"], "", "Each letter"),
        ("matching", "букв А, Б", ["2", ""], "", "Each letter"),
        ("program", "?", ["    return 1\r\n\r\n"], "    return 1", ""),
        ("text", "?", ["  Пушкин\0 "], "Пушкин", ""),
        ("text", "?", [" "], "", "is missing"),
        ("text", "?", [], "", "is missing"),
        ("text", "?", ["x" * 60_000], "", "longer than 50,000"),
    ],
)
def test_answers_are_taken_as_the_model_must_write_them(
    form: AnswerForm, prompt: str, typed: list[str], answer: str, fault: str
) -> None:
    field = field_of(asked(form, prompt))
    found, wrong = answer_in(field, {"answer": typed})
    assert found == answer
    assert fault in (wrong.en if wrong else "")
    assert (wrong is None) == (fault == "")


def test_media_come_only_from_samples_and_text_stays_text(frozen: Frozen) -> None:
    folder = frozen()
    samples = folder.path / "samples"
    samples.mkdir()
    (samples / "cat.png").write_bytes(b"png")
    (folder.path / "secret.png").write_bytes(b"no")
    (samples / "link.png").symlink_to(folder.path / "secret.png")
    study = load_study(folder, "people")
    paths = [
        "samples/cat.png",
        "samples/../secret.png",
        "samples/link.png",
        "secret.png",
        str(Path("/etc/passwd")),
    ]
    task = study.tasks[0]
    vars(task).update(
        prompt="<b>Look</b>: <m0> or <m1>?", media=tuple(Media(f"m{n}", path) for n, path in enumerate(paths))
    )
    assert list(study.media.values()) == [samples / "cat.png"]
    html = prompt_html(study, task, "en")
    assert html.startswith("&lt;b&gt;Look&lt;/b&gt;: <img src=")
    assert "cat" not in html
    assert html.endswith("or <strong>[The task's file was not found]</strong>?")


def test_every_kind_of_line_end_in_an_answer_becomes_one() -> None:
    program = ItemField("program")
    assert answer_in(program, {"answer": ["a\r\nb\rc\nd"]}) == ("a\nb\nc\nd", None)


@pytest.mark.parametrize(
    ("name", "template", "signs", "asked"),
    [
        ("rummlu", "{text}\nВарианты:\nA. {option_a}\nB) {option_b}\nC = {option_c};\n[D] {option_d}.\nБуква:", "ABCD", ("?", "Буква", "Варианты")),
        ("rummlu", "{text}\nОтветы: A) {option_a}; B) {option_b}; C) {option_c}; D) {option_d}.\nКакой?", "ABCD", ("?\nКакой?", "", "Ответы")),
        ("rummlu", "{text} «{option_a}» (A) или «{option_b}» (B), {option_c} (C), {option_d} (D)?", "ABCD", ("? «один» (A) или «два» (B), A. три\nB. четыре (C), пять (D)?", "", "")),
        ("rcb", "{premise}\n1 — следует;\n2 — нет;\n3 — неясно.\nОтвет:", "123", ("A. x\n1. y", "Ответ", "")),
        ("rcb", "{premise}: 1 — следует, 2 — нет, 3 — неясно", "", ("A. x\n1. y: 1 — следует, 2 — нет, 3 — неясно", "", "")),
    ],
    ids=["lines", "one line", "a sentence", "options without fields", "labels in a sentence"],
)  # fmt: skip
def test_options_are_in_the_buttons_and_the_rest_of_the_prompt_stands_once(
    name: str, template: str, signs: str, asked: tuple[str, str, str]
) -> None:
    texts = {"text": "?", "premise": "A. x\n1. y", "hypothesis": "z", "subject": "s"}
    options = {"option_a": "один", "option_b": "два", "option_c": "A. три\nB. четыре", "option_d": "пять"}
    declared = dataset(name)
    item = Item(
        1, template, {field: {**texts, **options}[field] for field in declared.fields}, "A", {"id": 1}
    )
    task = StudyTask("a", item, "test", declared)
    shown = asked_prompt(task)
    assert (shown.text, shown.cue, shown.heading) == asked
    assert "".join(option.sign for option in task.options) == signs
    if name == "rummlu":
        assert [option.text for option in task.options] == list(options.values())
