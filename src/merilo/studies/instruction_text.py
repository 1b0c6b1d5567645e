"""Write the instruction for annotators in Markdown, in Russian and in English."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from merilo.datasets.declaration import Dataset
from merilo.errors import InputError
from merilo.strict_json import Json, read_json
from merilo.studies.plan_types import Arm, ControlsPlan, Restriction, TrainingPlan
from merilo.studies.study_folder import StudyItem
from merilo.studies.study_tasks import one_answer
from merilo.studies.task_descriptions import TASKS

#: The rules of every study, unless the author replaces them.
DEFAULT_RESTRICTIONS: Final = (
    Restriction(
        ru="Не ищите ответы в интернете, книгах и других источниках.",
        en="Do not search for answers on the internet, in books or in other sources.",
    ),
    Restriction(
        ru="Не пользуйтесь калькулятором и программами для вычислений.",
        en="Do not use a calculator or any program that computes.",
    ),
    Restriction(
        ru="Не пользуйтесь нейросетями, чат-ботами и голосовыми помощниками и не копируйте в них задания.",
        en="Do not use neural networks, chatbots or voice assistants, and do not copy the tasks into them.",
    ),
)

#: The option for annotators who may have written an item.
SKIP_OWN: Final = {
    "ru": "пропустить вопрос, так как он, возможно, был придуман мной",
    "en": "skip the question because I may have written it",
}

_CARD: Final = {
    "ru": ("raw_readme_ru.json", "Описание задачи"),
    "en": ("raw_readme_en.json", "Task description"),
}


def card_text(folder: Path, language: str) -> str | None:
    """Read the description of the task from the dataset's card; `None` if there is no card.

    Raises:
        InputError: the card is not an object of texts.
    """
    name, section = _CARD[language]
    if not (folder / name).is_file():
        return None
    content: Json = read_json(folder / name)
    if not isinstance(content, dict):
        raise InputError("must be a JSON object: section -> text", file=folder / name)
    found = next((text for title, text in content.items() if title.casefold() == section.casefold()), None)
    return found.strip() if isinstance(found, str) and found.strip() else None


def write_instruction(
    language: str,
    declared: Dataset,
    *,
    task: str | None,
    restrictions: Sequence[Restriction],
    arms: Mapping[str, Arm],
    controls: ControlsPlan | None,
    training: TrainingPlan | None,
    examples: Sequence[StudyItem],
) -> str:
    """Write the instruction in one language.

    Args:
        language: "ru" or "en".
        declared: the dataset.
        task: the description of the task from the dataset's card; by default, Merilo's own for datasets of the catalogue.
        restrictions: the rules for annotators.
        arms: the groups of annotators.
        controls: the control items, which are mentioned if there are any.
        training: the training items, which are mentioned if there are any.
        examples: solved items.
    """
    words = _RU if language == "ru" else _EN
    parts = [f"# {words['title'].format(title=declared.title)}"]
    parts += [f"## {words['task']}", _task(language, declared, task), words["as_models"]]
    parts += [f"## {words['answering']}", _answering(words, declared)]
    limits = sorted({arm.time_limit for arm in arms.values() if arm.time_limit is not None})
    if limits:
        seconds = f"{limits[0]:g}".replace(".", "," if language == "ru" else ".")
        parts.append(words["time_limit"].format(seconds=seconds, unit=_seconds(limits[0], language)))
    if any(arm.skip_own for arm in arms.values()):
        alone = all(arm.skip_own for arm in arms.values())
        parts.append(words["skip_own" if alone else "skip_own_experts"].format(option=SKIP_OWN[language]))
    parts += [f"## {words['rules']}", words["rules_why"]]
    parts.append("\n".join(f"- {rule.text(language)}" for rule in restrictions) or words["no_rules"])
    if training is not None or controls is not None:
        parts.append(f"## {words['checks']}")
    if training is not None:
        feedback = words["feedback"] if training.feedback else ""
        parts.append(words["training"].format(share=_percent(training.threshold, language)) + feedback)
    if controls is not None:
        parts.append(words["controls"].format(share=_percent(controls.min_accuracy, language)))
    if examples:
        parts += [f"## {words['examples']}", words["examples_how"]]
        parts += [_example(words, number, one, declared) for number, one in enumerate(examples, start=1)]
    return "\n\n".join(parts) + "\n"


def _task(language: str, declared: Dataset, task: str | None) -> str:
    known = TASKS.get(declared.name)
    if task or known:
        return task or (known or {})[language]
    if language == "en" and declared.about:
        return f"{declared.about.rstrip('.')}."
    kind = {"ru": _KIND_RU, "en": _KIND_EN}[language]
    return kind[declared.answer.kind]


_KIND_RU: Final = {
    "choice": "В каждом задании нужно прочитать вопрос и выбрать правильный ответ.",
    "integer": "В каждом задании нужно прочитать условие и найти число.",
    "text": "В каждом задании нужно прочитать вопрос и кратко ответить на него своими словами.",
    "program": "В каждом задании нужно прочитать описание и написать программу.",
    "criteria": "В каждом задании нужно прочитать текст и ответить на один вопрос о нём.",
}
_KIND_EN: Final = {
    "choice": "In each task, read the question and choose the right answer.",
    "integer": "In each task, read the problem and find a number.",
    "text": "In each task, read the question and answer it briefly in your own words.",
    "program": "In each task, read the description and write a program.",
    "criteria": "In each task, read the text and answer one question about it.",
}


def _answering(words: Mapping[str, str], declared: Dataset) -> str:
    answer = declared.answer
    labels = ", ".join(f"**{label}**" for label in answer.labels)
    key = "exam" if "grade_norm" in declared.metrics else answer.kind
    if key == "criteria" and answer.labels != ("0", "1"):
        key = "choice"
    steps = [
        words["read"],
        words[key].format(labels=labels),
        words["form"],
        words["guess"],
    ]
    if declared.media:
        steps.insert(1, words["media"])
    return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, start=1))


def _example(words: Mapping[str, str], number: int, one: StudyItem, declared: Dataset) -> str:
    gold = one_answer(one.item.outputs)
    if isinstance(gold, list):
        shown = "\n".join(map(str, gold))
    else:
        shown = str(gold)
        if declared.answer.alternatives and "grade_norm" not in declared.metrics:
            shown = words["or"].join(
                part.strip() for part in shown.split(declared.answer.alternatives) if part.strip()
            )
    answer = fenced(shown) if "\n" in shown else shown
    break_ = "\n\n" if "\n" in shown else " "
    return f"### {words['example']} {number}\n\n{fenced(one.prompt)}\n\n**{words['right']}:**{break_}{answer}"


def fenced(text: str) -> str:
    """Put a text into a fenced block of Markdown that the text cannot close.

    Example:
        >>> fenced("2 + 2 =").splitlines()
        ['```text', '2 + 2 =', '```']
    """
    longest = max((len(found) for found in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _percent(share: float, language: str) -> str:
    text = f"{100 * share:g}"
    return f"{text.replace('.', ',')}\u00a0%" if language == "ru" else f"{text}%"


def _seconds(number: float, language: str) -> str:
    if language == "en":
        return "second" if number == 1 else "seconds"
    whole = int(number)
    if number != whole:
        return "секунды"
    if whole % 10 == 1 and whole % 100 != 11:
        return "секунда"
    return "секунды" if 2 <= whole % 10 <= 4 and not 12 <= whole % 100 <= 14 else "секунд"


_RU: Final = {
    "title": "Инструкция к заданиям датасета {title}",
    "task": "Что нужно сделать",
    "as_models": "Каждое задание показано в том же виде, в каком его получает языковая модель: с тем же текстом вопроса и с теми же вариантами ответа. По вашим ответам мы оцениваем, насколько хорошо с этими заданиями справляется человек.",
    "answering": "Как отвечать",
    "read": "Прочитайте задание до конца: требования к ответу обычно стоят в последней строке.",
    "media": "Откройте изображение, запись или видео, если оно приложено, и изучите его полностью.",
    "choice": "Выберите один ответ из предложенных: {labels}. Указывайте само обозначение ответа, а не его текст.",
    "integer": "Запишите ответ целым числом, цифрами, без пробелов, единиц измерения и пояснений.",
    "text": "Запишите краткий ответ: одно слово или несколько слов, без пояснений.",
    "program": "Запишите программу целиком, с теми же именами функций, что и в задании.",
    "criteria": "Ответьте на один вопрос о поступке: **1** — да, **0** — нет.",
    "exam": "Запишите ответ так, как требует задание: номера через запятую без пробелов или слово строчными буквами.",
    "form": "Отвечайте только на то, о чём спрашивают: лишние слова и знаки могут сделать верный ответ неверным.",
    "guess": "Работайте самостоятельно и в удобном для себя темпе. Если вы не уверены, дайте тот ответ, который кажется вам наиболее вероятным.",
    "time_limit": "На одно задание отводится {seconds} {unit} с момента его показа.",
    "skip_own": "Если у вас есть хотя бы подозрение, что вопрос придумали вы сами, обязательно выберите вариант «{option}».",
    "skip_own_experts": "Экспертам, участвовавшим в создании датасета: если у вас есть хотя бы подозрение, что вопрос придумали вы сами, обязательно выберите вариант «{option}».",
    "rules": "Ограничения",
    "rules_why": "Ответы людей и моделей сравнимы, только если условия одинаковы. Кроме того, вопросы датасета не должны попасть в открытый доступ: модели могут на них обучиться. Поэтому соблюдайте правила:",
    "no_rules": "- Отвечайте самостоятельно, без помощи других людей.",
    "checks": "Проверка качества",
    "training": "Перед основными заданиями нужно пройти обучение. К основным заданиям допускаются те, кто верно выполнил не менее {share} учебных.",
    "feedback": " После каждого неверного ответа в обучении показан правильный.",
    "controls": "Среди заданий встречаются контрольные, ответы на которые известны заранее; внешне они не отличаются от остальных. Если доля верных ответов на контрольные задания ниже {share}, ответы разметчика не учитываются.",
    "examples": "Примеры",
    "examples_how": "Ниже приведены примеры заданий с правильными ответами. В самих заданиях подсказок не будет.",
    "example": "Пример",
    "right": "Правильный ответ",
    "or": " или ",
}
_EN: Final = {
    "title": "Instruction for the tasks of {title}",
    "task": "What to do",
    "as_models": "Each task is shown exactly as a language model receives it, with the same text of the question and the same options. Your answers tell us how well people solve these tasks.",
    "answering": "How to answer",
    "read": "Read the task to the end: the last line usually says what form the answer must have.",
    "media": "Open the picture, recording or film if there is one, and study all of it.",
    "choice": "Choose one of these answers: {labels}. Give the label of the answer, not its text.",
    "integer": "Write the answer as a whole number in digits, without spaces, units or explanations.",
    "text": "Write a short answer, one word or a few words, without explanations.",
    "program": "Write the whole program, with the names of functions that the task uses.",
    "criteria": "Answer one question about the act: **1** is yes, **0** is no.",
    "exam": "Write the answer in the form that the task requires: numbers separated by commas without spaces, or a word in lower case.",
    "form": "Answer only what is asked: extra words or signs can make a right answer wrong.",
    "guess": "Work on your own and at your own pace. If you are not sure, give the answer that seems most likely to you.",
    "time_limit": "You have {seconds} {unit} for a task from the moment it is shown.",
    "skip_own": "If you have the slightest suspicion that you wrote a question yourself, you must choose the option “{option}”.",
    "skip_own_experts": "For experts who took part in making the dataset: if you have the slightest suspicion that you wrote a question yourself, you must choose the option “{option}”.",
    "rules": "Restrictions",
    "rules_why": "The answers of people and models can be compared only under equal conditions. Besides, the questions must not become public, because models could be trained on them. Please follow these rules:",
    "no_rules": "- Answer on your own, without help from other people.",
    "checks": "Quality checks",
    "training": "The tasks are preceded by a training. Only those who solve at least {share} of the training tasks are admitted to the main tasks.",
    "feedback": " After each wrong answer, the training shows the right one.",
    "controls": "Some of the tasks are control tasks, whose answers are known in advance; they look like all other tasks. If an annotator answers less than {share} of the control tasks correctly, their answers are not used.",
    "examples": "Examples",
    "examples_how": "Here are examples of tasks with their right answers. The tasks themselves give no hints.",
    "example": "Example",
    "right": "Right answer",
    "or": " or ",
}
