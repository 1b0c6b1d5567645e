"""The card is built from the raw files: placeholders computed, shared terms written out, sections in their order."""

import json
import re
from typing import Any

from published_metadata import item, published

from merilo.items import Item
from merilo.reports.dataset_card import built_metadata, dataset_card, metadata_text

RU = {
    "Авторы": "А. Б.",
    "Human baseline": "Точность — 0,96.",
    "Создание датасета": "Собран вручную.",
    "Мотивация": "Проверить чтение.",
    "Описание задачи": "Прочитать вывеску.",
}
EN = {
    "Task description": "Read the sign.",
    "Motivation": "Reading.",
    "Dataset creation": "By hand.",
    "Human baseline": "The accuracy is 0.96.",
    "Contributors": "A. B.",
}


def items() -> list[Item]:
    made = []
    for number in (1, 2, 3):
        entry = item(number)
        sources = {1: ["GPT-4"], 2: ["flux", "GPT-4"], 3: []}[number]
        made.append(Item(number, 0, entry["inputs"], "A", {"image": {"synt_source": sources}}))
    return made


def test_placeholders_are_computed_from_the_items() -> None:
    built = built_metadata(published(), items())
    assert built["dataset_size"] == 3
    assert built["synt_source_models"] == ["GPT-4", "flux"]
    assert built["prompts"] == published()["prompts"]


def test_values_that_are_no_placeholders_stay() -> None:
    meta = {**published(), "dataset_size": 500, "synt_source_models": ["x"]}
    built = built_metadata(meta, items())
    assert (built["dataset_size"], built["synt_source_models"]) == (500, ["x"])


def test_shared_terms_are_written_out_at_any_depth() -> None:
    meta = published()
    meta["data_field_descriptions"]["meta"]["image"]["unheard_of"] = "default"
    built: Any = built_metadata(meta, items())
    described = built["data_field_descriptions"]
    assert described["inputs"]["question"] == {"en": "the text of the question", "ru": "текст вопроса"}
    assert described["meta"]["image"]["synt_source"]["ru"].startswith("модели, которыми")
    assert described["meta"]["image"]["unheard_of"] == "default"
    assert built["metrics"]["Exact match"]["ru"] == "доля ответов, совпавших с эталонным"


def test_the_metadata_are_written_as_the_benchmark_writes_them() -> None:
    text = metadata_text(built_metadata(published(), items()))
    assert json.loads(text)["dataset_size"] == 3
    assert '\n    "description": "Вопросы' in text


def test_the_card_has_its_sections_in_order() -> None:
    text = dataset_card(built_metadata(published(), items()), RU, "ru")
    assert re.findall(r"^#+ .*", text, re.MULTILINE) == [
        "# ruSigns", "## Описание задачи", "## Мотивация", "## Описание датасета", "### Поля данных", "### Пример", "### Промпты",
        "### Создание датасета", "## Оценка", "### Метрики", "### Human baseline",
    ]  # fmt: skip
    assert "Прочитать вывеску.\n\n**Тестируемые навыки:** Common everyday knowledge, Scene understanding\n\n**Авторы:** А. Б.\n\n## Мотивация" in text  # fmt: skip
    assert "- `inputs`\n    - `image`\n        - `image_path` — Поле path\n" in text
    assert "Для датасета составлено 4 варианта частей промпта. Пример каждой части:" in text
    assert text.endswith("### Human baseline\n\nТочность — 0,96.\n")


def test_one_blank_line_follows_each_heading() -> None:
    for readme, language in ((RU, "ru"), (EN, "en")):
        lines = dataset_card(built_metadata(published(), items()), readme, language).split("\n")  # type: ignore[arg-type]
        for number, line in enumerate(lines[:-1]):
            if line.startswith("#"):
                assert lines[number + 1] == ""
                assert lines[number + 2] != ""


def test_prompts_of_a_list_are_counted() -> None:
    meta = {**published(), "prompts": [f"{number}. {{question}}" for number in range(10)]}
    assert "The dataset has 10 prompts. An example:\n\n```\n0. {question}\n```" in dataset_card(
        meta, EN, "en"
    )
    assert "Для датасета составлено 10 промптов. Пример:" in dataset_card(meta, RU, "ru")


def test_text_with_fences_does_not_end_its_block() -> None:
    meta = {**published(), "prompts": ["```\n# heading\n```"] * 10, "data_example": {"inputs": "````"}}
    text = dataset_card(meta, EN, "en")
    assert "````\n```\n# heading\n```\n````" in text
    assert "`````json\n" in text


def test_what_is_missing_is_left_out() -> None:
    assert dataset_card({"dataset_name": "x"}, {}, "en") == "# x\n"
