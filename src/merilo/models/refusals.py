"""Phrases by which models refuse to answer, in Russian and English."""

from __future__ import annotations

import re
from typing import Final

from merilo.models.reply_pieces import lowered

#: Refusals in any text, because they speak of the request or of the model itself.
_OF_THE_REQUEST: Final = re.compile(
    r"""
      (?:как|будучи)\s+(?:и\s+любая\s+)?(?:большая\s+)?(?:языков\w+\s+модел\w+|искусственн\w+\s+интеллект\w*|ии\b)
    | не\s+(?:могу|можем|буду|стану|имею\s+возможности|способ\w+|в\s+состоянии)\s+
      (?:вам\s+|тебе\s+)?(?:выполнить|помочь|помогать|обсуждать|поддержать|переписать|перефразировать|переформулировать|предоставить
      |сгенерировать|продолжить|отвечать|ответить|участвовать|комментировать)
      [^.!?\n]{0,40}?(?:запрос|просьб|эт(?:от|у|им|ой|ого|ом)\b|тако|таки|подобн|данн|тем[уыа]\b|текст|ваш)
    | (?:отказываюсь|вынужден\w*\s+отказа\w+|воздержусь)\b
    | (?:что-то\s+в\s+вашем\s+вопросе\s+меня\s+смущает|не\s+люблю\s+менять\s+тему\s+разговора
      |(?:давайте|может,?)\s+(?:сменим\s+тему|поговорим\s+(?:о\s+чём|о\s+чем|на\s+другую)))
    | разговоры\s+на\s+(?:некоторые|чувствительные)\s+темы
    | (?:ваш|этот|данный)\s+запрос\s+(?:нарушает|противоречит|содержит\s+(?:недопустим|неприемлем|оскорбит))
    | \bas\s+an?\s+(?:ai|artificial\s+intelligence|(?:large\s+)?language\s+model)\b
    | \b(?:i['’]?m|i\s+am)\s+(?:not\s+able|unable)\s+to\s+(?:help|assist|answer|provide|comply|fulfil|complete|respond|rewrite|discuss)
    | \bi\s+(?:can['’]?t|cannot|can\s+not|won['’]?t|will\s+not|must\s+decline\s+to|am\s+not\s+going\s+to)\s+
      (?:help|assist|answer|provide|comply|fulfil|complete|respond|rewrite|discuss|engage|generate|do\s+that|participate)
    | \bi\s+(?:must|have\s+to)\s+(?:decline|refuse)\b
    | \b(?:against|violates?)\s+(?:my|our|the)\s+(?:\w+\s+)?(?:guidelines|policy|policies)\b
    """,
    re.VERBOSE,
)
#: Refusals to choose or to compute: in a free text they may be the answer itself.
_OF_THE_QUESTION: Final = re.compile(
    r"""
      (?:извините|простите|к\s+сожалению|sorry|unfortunately)[^.!?\n]{0,60}?
      (?:не\s+(?:могу|можем|смогу|знаю|уверен\w*|удалось)|невозможно|can['’]?t|cannot|unable|don['’]?t\s+know)
    | \bя\s+не\s+(?:могу|смогу|знаю|берусь|уверен\w*|имею\s+(?:доступа|возможности|личн\w+|собственн\w+))
    | ^\W*не\s+(?:могу|знаю)\b
    | (?:затрудняюсь|сложно|трудно)\s+(?:\w+\s+)?(?:ответить|сказать|определить)
    | невозможно\s+(?:\w+\s+)?(?:определить|ответить|выбрать|установить|сказать)
    | (?:недостаточно|не\s+хватает)\s+(?:информации|данных|контекста)
    | не\s+(?:видно|приведен\w*|предоставлен\w*|указан\w*)\s+(?:ни\s+)?(?:текст|вопрос|услови|вариант|изображени|картинк)
    | \bi\s+(?:don['’]?t|do\s+not)\s+know\b | \bi['’]?m\s+not\s+sure\b | \bi\s+(?:can['’]?t|cannot)\s+(?:determine|choose|decide|tell|say)\b
    | \bnot\s+enough\s+(?:information|context)\b | \bcannot\s+be\s+determined\b
    """,
    re.VERBOSE,
)
#: A whole answer that says that there is none.
_NOTHING: Final = re.compile(
    r"\W*(?:я\s+)?(?:не\s+знаю|нет\s+ответа|без\s+ответа|ответа\s+нет|затрудняюсь\s+ответить|i\s+don['’]?t\s+know|no\s+answer|unknown|n/a)\W*",
)
#: Words after which a reply that seemed to refuse gives an answer.
_TURN: Final = re.compile(r"\b(?:но|однако|вс[её]\s+же|скорее\s+всего|but|however|probably)\b")
#: A refusal opens a reply; later in the text the same words explain an answer.
_OPENING: Final = 300


def refusal(text: str, *, free: bool) -> str | None:
    """Return the words by which a model refuses to answer, or `None`.

    Args:
        text: the reply without thought.
        free: whether the answer is a free text, in which "я не могу" may belong to the answer.

    Example:
        >>> refusal("Извините, я не могу помочь с этим запросом.", free=True)
        'не могу помочь с этим'
        >>> refusal("Я не могу с этим согласиться.", free=True)
        >>> refusal("Я не знаю ответа.", free=False)
        'я не знаю'
    """
    found = _found(text, free=free)
    return None if found is None else " ".join(found[0].split())


def after_refusal(text: str) -> str:
    """Return what a reply says after it refuses, from a word such as "но": "Я не уверен, но скорее всего C".

    Example:
        >>> after_refusal("Извините, но я не могу выбрать вариант A."), after_refusal("Не знаю, но, думаю, C")
        ('', ', думаю, C')
    """
    found = _found(text, free=False)
    turn = None if found is None else _TURN.search(lowered(text), found.end())
    return "" if turn is None else text[turn.end() :]


def _found(text: str, *, free: bool) -> re.Match[str] | None:
    opening = lowered(text[:_OPENING])
    found = _OF_THE_REQUEST.search(opening) or (_NOTHING.fullmatch(opening) if len(text) < _OPENING else None)
    return _OF_THE_QUESTION.search(opening) if found is None and not free else found
