"""Metadata in the shapes that published folders have."""

from typing import Any


def described(name: str) -> dict[str, str]:
    return {"en": f"The {name}", "ru": f"Поле {name}"}


def published() -> dict[str, Any]:
    """Metadata with every deviation from the formatting guide that published folders have."""
    return {
        "dataset_name": "ruSigns",
        "license": "MIT",
        "dataset_size": "len(DATA)",
        "description": "Вопросы о вывесках на фотографиях. " * 10,
        "modalities": ["text", "image"],
        "skills": ["Common everyday knowledge", "Scene understanding"],
        "domains": [],
        "universal_domains": ["everyday"],
        "synt_source_models": "list(set([src for item in DATA for src in item['meta']['image']['synt_source']]))",
        "task_type": "letter",
        "task_description": {"en": "Questions about signs.", "ru": "Вопросы о вывесках."},
        "exclude_fields": ["option_b"],
        "data_example": item(1),
        "data_field_descriptions": {
            "instruction": "default",
            "inputs": {
                "image": {"image_path": described("path"), "size": [described("width"), described("height")]},
                "question": "default",
                "option_a": described("option"),
                "option_b": described("option"),
            },
            "outputs": described("answer"),
            "meta": {
                "id": "default",
                "image": {"synt_source": "default", "type": described("type")},
                "categories": {"domain": described("domain"), "class": "default"},
            },
        },
        "prompts": {
            "task_context": {
                "formal": ["Рассмотрите <image>. {question}"],
                "informal": ["Глянь на <image>. {question}"],
            },
            "options": ["A. {option_a}\nB. {option_b}"],
            "answer_format": {"formal": ["{task_context}\nОтветьте одной буквой."]},
        },
        "metrics": {"Exact match": "default", "Slots F1": described("score"), "pass@1": described("share")},
        "human_benchmark": {"Exact match": 0.9608},
    }


def item(number: int) -> dict[str, Any]:
    return {
        "instruction": number % 3,
        "inputs": {"question": f"Что написано на вывеске {number}?", "option_a": "Хлеб", "option_b": "Чай", "image": "нет"},
        "outputs": "A",
        "meta": {"id": number, "categories": {"domain": "town", "class": "shop"}},
    }  # fmt: skip
