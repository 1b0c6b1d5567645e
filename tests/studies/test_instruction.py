import re
from ast import literal_eval
from dataclasses import replace
from pathlib import Path

import pytest
from every import every

from merilo.datasets import CATALOGUE, dataset
from merilo.datasets.bundled_items import examples
from merilo.items import write_splits
from merilo.site.served_study import load_study
from merilo.studies.creation import create_studies
from merilo.studies.instruction import (
    SKIP_OWN,
    UNFOLDED,
    default_restrictions,
    fenced,
    html_of,
    task_descriptions,
    write_instruction,
    written_examples,
)
from merilo.studies.plan import (
    Arm,
    ControlsPlan,
    DrawnSubset,
    OwnWords,
    Plan,
    SourceFile,
    TimeLimits,
    TrainingPlan,
)
from merilo.studies.plan_checks import freeze_study

RIGHT = {"ru": "**Правильный ответ:**", "en": "**Right answer:**"}
#: ruEthics asks for people's opinion.
POSSIBLE = {"ru": "**Пример ответа:**", "en": "**Example answer:**"}
#: The datasets whose items people answer; the pairs of ruDetox are judged in three projects.
ASKED = sorted({*CATALOGUE} - {"rudetox"})
MORE = {"ru": "## Ещё примеры", "en": "## More examples"}


def instruction(language: str, name: str = "rummlu", **other: object) -> str:
    declared = dataset(name)
    plan = Plan(
        study="s",
        dataset=name,
        source=SourceFile(file="f", sha256="0"),
        arms={"people": Arm(kind="basic")},
        restrictions=default_restrictions(declared),
        subset=DrawnSubset(size=1, of=1),
        controls=ControlsPlan(),
        instruction={"ru": "ru.md", "en": "en.md"},
    )
    solved = examples(declared)["shots"].items if name == "rummlu" else ()
    return write_instruction(language, declared, replace(plan, **other), task=None, examples=solved)


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the studies of this module, each of which is made once."""
    return tmp_path_factory.mktemp("instructions")


def created_instruction(folder: Path, name: str, language: str) -> str:
    """The instruction of a study made of the bundled items."""
    declared = dataset(name)
    if not (folder / name).exists():
        write_splits(folder / f"{name}.json", list(examples(declared).values()))
        create_studies(folder / f"{name}.json", folder / name, dataset=name)
    return (folder / name / f"instruction.{language}.md").read_text("utf-8")


def shown_answers(text: str, language: str) -> list[str]:
    answers = (
        part.strip().split("\n\n")[0]
        for part in text.replace(POSSIBLE[language], RIGHT[language]).split(RIGHT[language])[1:]
    )
    return [re.sub(r"^```\w+\n|\n```$", "", answer) for answer in answers]


@every("name", ASKED)
def test_every_dataset_of_the_catalogue_says_what_to_do_in_both_languages(name: str) -> None:
    task = task_descriptions()[name].task
    russian, english = instruction("ru", name), instruction("en", name)
    assert task["ru"] in russian
    assert task["en"] in english
    assert not re.search("[а-яё]", english.split("## Examples")[0].replace("Да", "").replace("Нет", ""))
    assert "{" not in russian.split("## Примеры")[0]
    assert "{" not in english.split("## Examples")[0]


@every("language", ["ru", "en"])
@every("name", ASKED)
def test_every_label_has_its_meaning_and_an_example(room: Path, name: str, language: str) -> None:
    declared = dataset(name)
    text = created_instruction(room, name, language)
    meant = [label for group in task_descriptions()[name].labels for label in group.split(", ")]
    if declared.answer.labels:
        assert sorted(meant) == sorted(declared.answer.labels)
    for meaning in task_descriptions()[name].labels.values():
        assert f" — {meaning[language]}\n" in text
    assert set(declared.answer.labels) <= set(shown_answers(text, language))
    # At most eight are unfolded.
    right = (POSSIBLE if name == "ruethics" else RIGHT)[language]
    assert 2 <= text.split(MORE[language])[0].count(right) <= UNFOLDED == 8
    page = html_of(text)
    assert page.count("<details>") == text.count(MORE[language]) == page.count("</details>")
    assert len(page.partition("<details>")[2]) >= len(html_of(text.partition(MORE[language])[2]))


def test_the_projects_of_rudetox_ask_for_judgements_and_not_for_sentences(tmp_path: Path) -> None:
    write_splits(tmp_path / "rudetox.json", list(examples(dataset("rudetox")).values()))
    studies = create_studies(tmp_path / "rudetox.json", tmp_path / "studies")
    assert [*studies] == ["meaning", "fluent", "inoffensive"]
    for project, study in studies.items():
        known = task_descriptions()[f"rudetox-{project}"]
        for language in ("ru", "en"):
            text = study.folder.instruction(language)
            assert known.task[language] in text
            assert all(f" — {one[language]}\n" in text for one in known.labels.values())
            assert set(shown_answers(text, language)) == {"0", "1"}
            assert not re.search("модел|model|[Пп]ерепиш|[Rr]ewrite", text)


def test_the_exam_unfolds_one_short_example_of_every_form(room: Path) -> None:
    text = created_instruction(room, "use", "ru")
    first, _, more = text.partition(MORE["ru"])
    assert text.count(RIGHT["ru"]) > 20
    assert len(first) < 5_000, "a few screens of a phone"
    assert more


@every("name", ASKED)
def test_written_examples_are_no_items_of_the_bundled_sets(name: str) -> None:
    declared = dataset(name)
    there = {str(item.inputs) for split in examples(declared).values() for item in split}
    own = written_examples(declared, examples(declared)["test"].items)
    assert len({str(item.inputs) for item in own}) == len(own) or name == "rwsd"
    assert not there & {str(item.inputs) for item in own}


def common(one: str, other: str) -> int:
    """The length of the longest common subsequence, by its definition."""
    if not one or not other:
        return 0
    if one[0] == other[0]:
        return 1 + common(one[1:], other[1:])
    return max(common(one[1:], other), common(one, other[1:]))


def test_the_answers_of_written_examples_are_right() -> None:
    known = task_descriptions()
    for item in known["lcs"].examples:
        assert str(common(*str(item.inputs).split())) == item.outputs
    for name in ("simplear", "rumultiar"):
        for item in known[name].examples:
            text = str(item.inputs).removesuffix(" = ")
            assert re.fullmatch(r"[\d ()*+-]+", text)
            assert str(eval(text)) == item.outputs
    for item in known["rumodar"].examples:
        *solved, last = [line.split(" -> ") for line in str(item.inputs).split("\n")]
        added = {int(value) - eval(text) for text, value in solved}
        assert len(added) == 1
        assert str(eval(last[0]) + added.pop()) == item.outputs
    for item in known["ruhumaneval"].examples:
        program, function = str(item.meta["canonical_solution"]), str(item.inputs["function"])
        space: dict[str, object] = {}
        exec(program if program.startswith("def") else f"{function}\n{program}", space)
        made = next(value for name, value in space.items() if callable(value))
        for given, wanted in zip(literal_eval(item.inputs["tests"]), item.outputs, strict=True):
            assert str(made(**given)) == wanted


def test_examples_use_the_prompt_of_the_items() -> None:
    """People must find in the examples the form of text that they will see."""
    declared = dataset("rcb")
    items = examples(declared)["test"].items
    assert {item.instruction for item in written_examples(declared, items[3:])} == {items[3].instruction}


@every("name", ["ruhumaneval", "rucodeeval"])
def test_programmers_are_told_how_much_to_write_and_not_to_run_it(name: str) -> None:
    text = instruction("ru", name)
    assert "тело функции или функцию целиком" in text
    assert "Не запускайте программу: пользоваться Python" in text
    assert "Do not run the program" in instruction("en", name)


def test_examples_of_programs_show_a_body_and_a_whole_function(room: Path) -> None:
    answers = shown_answers(created_instruction(room, "ruhumaneval", "ru"), "ru")
    assert {answer.startswith("def ") for answer in answers} == {True, False}


def test_a_dialogue_shows_its_beginning(room: Path) -> None:
    text = created_instruction(room, "rutie", "ru")
    turns = [str(item.inputs["question"]) for item in examples(dataset("rutie"))["shots"]]
    shown = [turn for turn in turns if turn in text]
    assert shown == turns[: len(shown)]


def test_an_instruction_holds_what_the_guide_demands() -> None:
    text = instruction("ru")
    headings = re.findall("^## (.+)$", text, re.MULTILINE)
    assert headings == ["Что нужно сделать", "Как отвечать", "Ограничения", "Проверка качества", "Примеры"]
    assert "в интернете" in text
    assert "калькулятором" in text
    assert "нейросетями" in text
    assert "**A**, **B**, **C**, **D**" in text  # labels of the model, not the texts of options
    assert text.count("**Правильный ответ:**") == 5


@every(
    "limit, said",
    [
        (1.0, "отводится 1 секунда с момента"),
        (2.0, "отводится 2 секунды с момента"),
        (11.0, "отводится 11 секунд с момента"),
        (21.0, "отводится 21 секунда с момента"),
        (90.5, "отводится 90,5 секунды с момента"),
        (TimeLimits(field="grade", seconds={"5": 240.0, "9": 420.0}), "зависит от поля «grade»: 5 — 240 секунд; 9 — 420 секунд."),
    ],
)  # fmt: skip
def test_seconds_agree_with_their_number_and_limits_by_a_field_are_listed(
    limit: float | TimeLimits, said: str
) -> None:
    assert said in instruction("ru", arms={"people": Arm(kind="basic", time_limit=limit)})


def test_only_closed_questions_are_kept_from_the_public_and_an_opinion_is_no_right_answer(room: Path) -> None:
    closed = next(name for name in ASKED if dataset(name).gold == "closed")
    assert "открытый доступ" in instruction("ru", closed)
    ethics = created_instruction(room, "ruethics", "ru")
    assert "открытый доступ" not in ethics
    assert POSSIBLE["ru"] in ethics
    assert RIGHT["ru"] not in ethics
    assert "Ниже приведены примеры заданий с возможными ответами." in ethics
    assert "virtue" not in ethics, "people answer one question and no criteria"


def test_only_experts_read_of_their_own_items(tmp_path: Path) -> None:
    declared = dataset("rummlu")
    write_splits(tmp_path / "rummlu.json", list(examples(declared).values()))
    made = create_studies(tmp_path / "rummlu.json", tmp_path / "s", dataset="rummlu")[""].folder
    freeze_study(made.path)
    people, experts = (load_study(made, arm).instructions for arm in ("people", "experts"))
    assert "придуман" not in people["ru"]
    assert "you wrote a question" not in people["en"]
    assert "придуман" in experts["ru"]
    assert "you wrote a question" in experts["en"]
    for language in ("ru", "en"):
        assert f"{SKIP_OWN[language]}" in experts[language]


def test_a_restriction_appears_in_its_own_languages_only() -> None:
    rules = (
        OwnWords(ru="Не спешите.", en="Take your time."),
        OwnWords(ru="Молчите."),
        OwnWords(en="Use no paper."),
    )
    russian, english = instruction("ru", restrictions=rules), instruction("en", restrictions=rules)
    for text, said, unsaid in (
        (russian, ("Не спешите.", "Молчите."), ("Take", "paper")),
        (english, ("Take your time.", "Use no paper."), ("спешите", "Молчите")),
    ):
        assert all(rule in text for rule in said)
        assert not any(rule in text for rule in unsaid)


def test_training_and_controls_are_mentioned_only_if_there_are_any() -> None:
    assert "Проверка качества" not in instruction("ru", controls=None)
    text = instruction("en", training=TrainingPlan(threshold=0.75))
    assert "at least 75% of the training tasks, or all but one of them, are admitted" in text
    assert "the training shows the right one" in text
    assert "решит все тренировочные" in instruction("ru", training=TrainingPlan(threshold=1.0))
    assert "Если вы ошиблись больше чем в половине контрольных заданий" in instruction("ru")


def test_a_prompt_cannot_leave_its_block() -> None:
    text = fenced("```text\n# not a heading\n````")
    assert text.splitlines()[0] == "`````text"
    assert text.splitlines()[-1] == "`````"
