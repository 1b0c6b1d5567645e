"""Write the instruction for annotators in Markdown, in Russian and in English."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Final

from merilo.datasets.declaration import Dataset
from merilo.errors import InputError
from merilo.strict_json import Json, read_json
from merilo.studies.plan_types import Arm, ControlsPlan, Restriction, TrainingPlan
from merilo.studies.study_folder import StudyItem
from merilo.studies.study_tasks import one_answer
from merilo.studies.task_descriptions import TaskDescription, task_descriptions

_NO_SEARCH: Final = Restriction(
    ru="Не ищите ответы в интернете, книгах и других источниках.",
    en="Do not search for answers on the internet, in books or in other sources.",
)
_NO_CALCULATOR: Final = Restriction(
    ru="Не пользуйтесь калькулятором, электронными таблицами и языками программирования, например Python.",
    en="Do not use a calculator, a spreadsheet or a programming language such as Python.",
)
_NO_RUNNING: Final = Restriction(
    ru="Не запускайте программу: пользоваться Python, средой разработки и калькулятором нельзя.",
    en="Do not run the program: Python, development environments and calculators are not allowed.",
)
_NO_NETWORKS: Final = Restriction(
    ru="Не пользуйтесь нейросетями, чат-ботами и голосовыми помощниками и не копируйте в них задания.",
    en="Do not use neural networks, chatbots or voice assistants, and do not copy the tasks into them.",
)


def default_restrictions(declared: Dataset) -> tuple[Restriction, ...]:
    """Return the rules of every study of a dataset, unless the author replaces them."""
    programs = declared.answer.kind == "program"
    return _NO_SEARCH, _NO_RUNNING if programs else _NO_CALCULATOR, _NO_NETWORKS


#: The number of examples that the instruction shows; the others are folded.
UNFOLDED: Final = 8
#: The longest text of all shown examples, in characters.
_UNFOLDED_TEXT: Final = 2500
#: The heading of the folded examples.
MORE_EXAMPLES: Final = {"ru": "Ещё примеры", "en": "More examples"}

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
    beside_models: bool = True,
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
        beside_models: whether models are asked the same items; people alone judge the pairs of ruDetox.
    """
    words = _RU if language == "ru" else _EN
    known = task_descriptions().get(declared.name)
    parts = [f"# {words['title'].format(title=declared.title)}"]
    parts += [f"## {words['task']}", _task(language, declared, task, known)]
    if beside_models:
        parts.append(words["as_models"])
    parts += [f"## {words['answering']}", _answering(language, declared, known)]
    limits = sorted({arm.time_limit for arm in arms.values() if arm.time_limit is not None})
    if limits:
        seconds = f"{limits[0]:g}".replace(".", "," if language == "ru" else ".")
        parts.append(words["time_limit"].format(seconds=seconds, unit=_seconds(limits[0], language)))
    parts += [f"## {words['rules']}", words["rules_why" if beside_models else "rules_please"]]
    rules = [rule for one in restrictions if (rule := one.text(language))]
    parts.append("\n".join(f"- {rule}" for rule in rules) or words["no_rules"])
    if training is not None or controls is not None:
        parts.append(f"## {words['checks']}")
    if training is not None:
        feedback = words["feedback"] if training.feedback else ""
        parts.append(words["training"].format(share=_percent(training.threshold, language)) + feedback)
    if controls is not None:
        parts.append(words["controls"].format(share=_percent(controls.min_accuracy, language)))
    solved = [_example(words, number, one, declared) for number, one in enumerate(examples, start=1)]
    shown = _unfolded([len(one.prompt) for one in examples])
    if solved:
        parts += [f"## {words['examples']}", words["examples_how"], *solved[:shown]]
    if len(solved) > shown:
        parts += [f"## {MORE_EXAMPLES[language]}", *solved[shown:]]
    return "\n\n".join(parts) + "\n"


def _unfolded(lengths: Sequence[int]) -> int:
    """Return how many examples are shown: at most `UNFOLDED`, and after the second one only what can be read in a minute."""
    fitting = [n for n, total in enumerate(accumulate(lengths), start=1) if n <= 2 or total <= _UNFOLDED_TEXT]
    return min(len(fitting), UNFOLDED)


def _task(language: str, declared: Dataset, task: str | None, known: TaskDescription | None) -> str:
    if task:
        return task
    if known:
        return known.task.ru if language == "ru" else known.task.en
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


def _answering(language: str, declared: Dataset, known: TaskDescription | None) -> str:
    words = _RU if language == "ru" else _EN
    answer = declared.answer
    labels = ", ".join(f"**{label}**" for label in answer.labels)
    if known and known.answer:
        how = known.answer.ru if language == "ru" else known.answer.en
    elif known and known.labels:
        how = words["one"]
    else:
        key = "exam" if "grade_norm" in declared.metrics else answer.kind
        if key == "criteria" and answer.labels != ("0", "1"):
            key = "choice"
        how = words[key].format(labels=labels)
    if known:
        meanings = ((one, text.ru if language == "ru" else text.en) for one, text in known.labels.items())
        how += "".join(f"\n   - {_bold(one)} — {meaning}" for one, meaning in meanings)
    steps = [words["read"], how]
    if not answer.labels:
        steps.append(words["form"])
    if declared.media:
        steps.insert(1, words["media"])
    steps.append(words["guess"])
    return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, start=1))


def _bold(labels: str) -> str:
    """Return labels in bold, a long series by its ends."""
    each = labels.split(", ")
    shown = each if len(each) < 6 else [each[0], each[1], "…", each[-1]]
    return ", ".join(one if one == "…" else f"**{one}**" for one in shown)


def _example(words: Mapping[str, str], number: int, one: StudyItem, declared: Dataset) -> str:
    gold = one_answer(one.item.outputs)
    program = one.item.meta.get("canonical_solution")
    if declared.answer.kind == "program" and isinstance(program, str):
        shown = program.strip("\n")
    elif isinstance(gold, list):
        shown = "\n".join(map(str, gold))
    else:
        shown = str(gold)
        if declared.answer.alternatives and "grade_norm" not in declared.metrics:
            shown = words["or"].join(
                part.strip() for part in shown.split(declared.answer.alternatives) if part.strip()
            )
    language = "python" if declared.answer.kind == "program" else "text"
    block = language == "python" or "\n" in shown
    answer = f"\n\n{fenced(shown, language)}" if block else f" {shown}"
    prompt = fenced(one.prompt, language)
    return f"### {words['example']} {number}\n\n{prompt}\n\n**{words['right']}:**{answer}"


def fenced(text: str, language: str = "text") -> str:
    """Put a text into a fenced block of Markdown that the text cannot close.

    Example:
        >>> fenced("2 + 2 =").splitlines()
        ['```text', '2 + 2 =', '```']
    """
    longest = max((len(found) for found in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


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
    "as_models": "Вы видите задания в том же виде, в каком их получает языковая модель. По вашим ответам мы оценим, насколько хорошо с ними справляются люди.",
    "answering": "Как отвечать",
    "read": "Прочитайте задание до конца: требования к ответу стоят в начале или в конце задания.",
    "media": "Откройте изображение, запись или видео, если оно приложено, и изучите его полностью.",
    "one": "Выберите один ответ:",
    "choice": "Выберите один ответ из предложенных: {labels}.",
    "integer": "Запишите ответ целым числом, цифрами, без пробелов, единиц измерения и пояснений.",
    "text": "Запишите краткий ответ: одно слово или несколько слов, без пояснений.",
    "program": "Запишите то, что просит задание: тело функции или функцию целиком.",
    "criteria": "Ответьте на один вопрос о поступке: **1** — да, **0** — нет.",
    "exam": "Запишите ответ так, как требует задание: номера через запятую без пробелов (например, 1,4) или слово строчными буквами. Если нужно выписать несколько слов, пишите их без пробелов и запятых.",
    "form": "Отвечайте только на то, о чём спрашивают: лишние слова и знаки могут сделать верный ответ неверным.",
    "guess": "Работайте самостоятельно и в удобном для вас темпе. Если вы не уверены, дайте ответ, который кажется вам самым вероятным.",
    "time_limit": "На одно задание отводится {seconds} {unit} с момента его показа.",
    "rules": "Ограничения",
    "rules_why": "Людям и моделям нужны одинаковые условия, а вопросы не должны попасть в открытый доступ: на них могут обучить модели. Поэтому соблюдайте правила:",
    "rules_please": "Соблюдайте правила:",
    "no_rules": "- Отвечайте самостоятельно, без помощи других людей.",
    "checks": "Проверка качества",
    "training": "Перед основными заданиями нужно пройти тренировку. К основным заданиям допускаются те, кто верно выполнил не менее {share} тренировочных.",
    "feedback": " После каждого неверного ответа в тренировке показан правильный.",
    "controls": "Среди заданий есть контрольные: ответы на них известны заранее, а на вид они не отличаются от остальных. Если верны менее {share} ваших ответов на контрольные задания, остальные ваши ответы не учитываются.",
    "examples": "Примеры",
    "examples_how": "Это примеры заданий с правильными ответами. В самих заданиях подсказок не будет.",
    "example": "Пример",
    "right": "Правильный ответ",
    "or": " или ",
}
_EN: Final = {
    "title": "Instruction for the tasks of {title}",
    "task": "What to do",
    "as_models": "You see the tasks exactly as a language model receives them. Your answers show how well people solve these tasks.",
    "answering": "How to answer",
    "read": "Read the task to the end: its beginning or its end says what form the answer must have.",
    "media": "Open the picture, recording or film if there is one, and study all of it.",
    "one": "Choose one answer:",
    "choice": "Choose one of these answers: {labels}.",
    "integer": "Write the answer as a whole number in digits, without spaces, units or explanations.",
    "text": "Write a short answer, one word or a few words, without explanations.",
    "program": "Write what the task asks for: the body of the function or the whole function.",
    "criteria": "Answer one question about the act: **1** is yes, **0** is no.",
    "exam": "Write the answer in the form that the task requires: numbers separated by commas without spaces (for example 1,4), or a word in lower case. If several words are needed, write them without spaces and commas.",
    "form": "Answer only what is asked: extra words or signs can make a right answer wrong.",
    "guess": "Work on your own and at your own pace. If you are not sure, give the answer that seems most likely to you.",
    "time_limit": "You have {seconds} {unit} for a task from the moment it is shown.",
    "rules": "Restrictions",
    "rules_why": "People and models need equal conditions, and the questions must not become public, because models could be trained on them. Please follow these rules:",
    "rules_please": "Please follow these rules:",
    "no_rules": "- Answer on your own, without help from other people.",
    "checks": "Quality checks",
    "training": "The tasks are preceded by a training. Only those who solve at least {share} of the training tasks are admitted to the main tasks.",
    "feedback": " After each wrong answer, the training shows the right one.",
    "controls": "Some of the tasks are control tasks, whose answers are known in advance; they look like all other tasks. If less than {share} of your answers to control tasks are right, your other answers are not used.",
    "examples": "Examples",
    "examples_how": "These are examples of tasks with their right answers. The tasks themselves give no hints.",
    "example": "Example",
    "right": "Right answer",
    "or": " or ",
}
