"""The dictionary of terms that datasets share: what the text "default" stands for in a dataset's metadata."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

#: Field or metric, lower-case -> its description in English and in Russian.
TERMS: Final[Mapping[str, tuple[str, str]]] = {
    "instruction": ("the prompt with places for the fields of `inputs`", "промпт с местами для полей `inputs`"),
    "inputs": ("the data of the item", "данные задания"),
    "outputs": ("the gold answer", "эталонный ответ"),
    "meta": ("information about the item", "сведения о задании"),
    "id": ("the number of the item in the dataset", "номер задания в датасете"),
    "question": ("the text of the question", "текст вопроса"),
    "text": ("the text that the question is about", "текст, к которому относится вопрос"),
    "context": ("the text in which the answer is to be found", "текст, в котором нужно найти ответ"),
    "choices": ("the options of the answer", "варианты ответа"),
    "topic": ("the topic of the question", "тема вопроса"),
    "subject": ("the subject of the question", "предмет, к которому относится вопрос"),
    "domain": ("the domain of the item", "домен задания"),
    "categories": ("the categories of the item", "категории задания"),
    "type": ("the type of the item", "тип задания"),
    "class": ("the class of the item", "класс задания"),
    "source": ("the source of the data", "источник данных"),
    "synt_source": ("the models that made the data; empty if the data are not synthetic", "модели, которыми созданы данные; пусто, если данные не синтетические"),
    "image": ("the path of the picture", "путь к изображению"),
    "audio": ("the path of the recording", "путь к аудиозаписи"),
    "video": ("the path of the video", "путь к видеозаписи"),
    "accuracy": ("the share of correct answers", "доля верных ответов"),
    "exact match": ("the share of answers that equal the gold answer", "доля ответов, совпавших с эталонным"),
    "f1": ("the F1 score", "F1-мера"),
}  # fmt: skip

_OPTION: Final = re.compile(r"(?:option|choice)_?([a-z0-9])")


def shared_term(name: str) -> dict[str, str] | None:
    """Return the description of a shared term in English and Russian; `None` if the dictionary does not have it.

    Example:
        >>> shared_term("option_b"), shared_term("xyz")
        ({'en': 'option B of the answer', 'ru': 'вариант ответа B'}, None)
    """
    key = name.rsplit(".", 1)[-1].strip().lower()
    if (option := _OPTION.fullmatch(key)) is not None:
        return {
            "en": f"option {option[1].upper()} of the answer",
            "ru": f"вариант ответа {option[1].upper()}",
        }
    texts = TERMS.get(key)
    return None if texts is None else {"en": texts[0], "ru": texts[1]}
