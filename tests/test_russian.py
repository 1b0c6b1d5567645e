"""Russian texts that an editor corrected do not come back."""

import re
from pathlib import Path

from every import every

ROOT = Path(__file__).resolve().parent.parent
SOURCES = [
    path
    for pattern in (
        *("src/merilo/**/*.py", "src/merilo/**/*.j2", "src/merilo/**/*.yaml"),
        *("README.ru.md", "docs/ru/**/*.md"),
    )
    for path in sorted(ROOT.glob(pattern))
]

#: Phrases that stood in the program and were corrected; see the tests of each page for what took their place.
CORRECTED = [
    "отдельную оценку по каждому критерию",
    "Запишите программу целиком",
    "обычно стоят в последней строке",
    "с теми же вариантами ответа",
    "не определяется ею",
    "выделены в нём два фрагмента",
    "сложить или вычесть",
    "Экспертам, участвовавшим в создании",
    "расхождения с проверочными",
    "проверочными заданиями",
    "пройти обучение",
    "Пройдено заданий",
    "Инструкция прочитана, продолжить",
    "Число, например 12",
    "печатайте ответ",
    "программами для вычислений",
    "Пропустить: вопрос, возможно, придуман мной",
    "Общие затраты на оплату разметки",
    "меньше чем по",
    "у кого ответов не меньше чем",
    "всего исключено",
    "Это слишком мало, чтобы составлять список",
    "По опубликованной процедуре",
    "'вопросы и разметчики'",
    "Люди ответили на выборку",
    "'быстрее других'",
    "95-процентный",
    "95 %-й",
    "точность (accuracy)",
    "'принята'",
    "Единогласно реш",
    "средний балл",
    "скорость слишком неровная",
    "контрольные задания при них",
    "Оплата часа работы",
    "по {} зад.",
    "и сравнить с ними модели",
    "дать людям отвечать",
    "или наравне",
    "точное перекрытие, эталонные",
]


@every("phrase", CORRECTED)
def test_a_corrected_phrase_stands_nowhere(phrase: str) -> None:
    found = [
        path.relative_to(ROOT) for path in SOURCES if phrase in " ".join(path.read_text("utf-8").split())
    ]
    assert not found


def test_people_are_addressed_as_vy_without_a_capital() -> None:
    """Prompts of the datasets are addressed to models and are not part of the program's own texts."""
    own = [path for path in SOURCES if "prompts" not in path.parts]
    for path in own:
        text = path.read_text("utf-8")
        assert not re.search(r"[а-яё,] (?:Вы|Вас|Вам|Вами|Ваш\w*)\b", text), path
        assert not re.search(r"\b(?:[Тт]ебя|[Тт]ебе|[Тт]обой|[Тт]воего|[Тт]воих|[Тт]воей)\b", text), path
