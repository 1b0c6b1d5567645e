import re

from every import every

from merilo.datasets import CATALOGUE, dataset
from merilo.datasets.bundled import examples
from merilo.studies.instruction_text import DEFAULT_RESTRICTIONS, fenced, write_instruction
from merilo.studies.plan_types import Arm, ControlsPlan, TrainingPlan
from merilo.studies.study_folder import study_items
from merilo.studies.task_descriptions import TASKS


def instruction(language: str, name: str = "rummlu", **other: object) -> str:
    declared = dataset(name)
    known = {
        "task": None,
        "restrictions": DEFAULT_RESTRICTIONS,
        "arms": {"people": Arm(kind="basic")},
        "controls": ControlsPlan(),
        "training": None,
        "examples": study_items(examples(declared)["shots"].items, declared) if name == "rummlu" else [],
    }
    return write_instruction(language, declared, **{**known, **other})


@every("name", sorted(CATALOGUE))
def test_every_dataset_of_the_catalogue_says_what_to_do_in_both_languages(name: str) -> None:
    assert set(TASKS[name]) == {"ru", "en"}
    russian, english = instruction("ru", name), instruction("en", name)
    assert TASKS[name]["ru"] in russian
    assert TASKS[name]["en"] in english
    assert not re.search("[а-яё]", english.split("## Examples")[0].replace("Да", "").replace("Нет", ""))
    assert "{" not in russian.split("## Примеры")[0]
    assert "{" not in english.split("## Examples")[0]


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
    "seconds, said",
    [
        (1.0, "1 секунда"),
        (21.0, "21 секунда"),
        (60.0, "60 секунд"),
        (2.0, "2 секунды"),
        (11.0, "11 секунд"),
        (90.5, "90.5 секунды"),
    ],
)
def test_seconds_agree_with_their_number(seconds: float, said: str) -> None:
    text = instruction("ru", arms={"people": Arm(kind="basic", time_limit=seconds)})
    assert f"отводится {said.replace('.', ',')} с момента" in text


def test_the_option_for_authors_is_that_of_the_guide() -> None:
    arms = {"people": Arm(kind="untrained"), "experts": Arm(kind="expert", skip_own=True)}
    assert "«пропустить вопрос, так как он, возможно, был придуман мной»" in instruction("ru", arms=arms)
    assert "Экспертам" in instruction("ru", arms=arms)
    assert "Экспертам" not in instruction("ru", arms={"experts": arms["experts"]})
    assert "придуман мной" not in instruction("ru")


def test_training_and_controls_are_mentioned_only_if_there_are_any() -> None:
    assert "Проверка качества" not in instruction("ru", controls=None)
    text = instruction("en", training=TrainingPlan(threshold=0.75))
    assert "at least 75% of the training tasks" in text
    assert "the training shows the right one" in text


def test_a_prompt_cannot_leave_its_block() -> None:
    text = fenced("```text\n# not a heading\n````")
    assert text.splitlines()[0] == "`````text"
    assert text.splitlines()[-1] == "`````"
