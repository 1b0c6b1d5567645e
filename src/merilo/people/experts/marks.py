"""Recognise the answer "skip: this question may be mine" in any spelling."""

from __future__ import annotations

import re
from typing import Final

from merilo.people.normalisation import canonical, rules_of

#: What stands in a table of answers for a question that was not shown to the expert who wrote it.
NOT_SHOWN: Final = "не показан: вопрос придуман этим экспертом"

#: Case, ё, quotation marks, dashes, white space and punctuation are ignored.
_RULES: Final = rules_of(["words"])
_PUNCTUATION: Final = re.compile(r"[^\w\s]+")

#: The guide's wording and its variants, after `spelling`.
_RUSSIAN: Final = re.compile(
    r"(?:пропус\w+ )?(?:(?:этот )?вопрос )?(?:(?:так как|потому что|поскольку|тк) )?(?:(?:он|это|этот вопрос) )?"
    r"(?:возможно|вероятно|может быть|может) (?:быть )?(?:(?:он|это|этот вопрос) )?(?:был )?"
    r"(?:(?:придуман|написан|составлен|сочинен|создан) мно[йю]|мой|мой вопрос)"
)
_ENGLISH: Final = re.compile(
    r"(?:(?:skip|skipped|skipping) )?(?:(?:this |the )?question )?(?:(?:as|because|since) )?"
    r"(?:(?:it|this|this question|the question|this one) )?"
    r"(?:maybe|perhaps|possibly|(?:it )?(?:may|might|could) (?:be|have been|well be)) "
    r"(?:mine|my own|my question|my own question|(?:written|made up|invented|composed|created|authored) by me)"
)


def spelling(text: str) -> str:
    """Normalise an answer: ignore case, ё, quotation marks and punctuation.

    Example:
        >>> spelling(" «Пропустить:  вопрос МОЁ». ")
        'пропустить вопрос мое'
    """
    return " ".join(_PUNCTUATION.sub(" ", canonical(text, _RULES)).split())


def may_be_mine(text: str) -> bool:
    """Check whether an answer is the guide's option "skip the question, because it may be mine", in Russian or English, or `NOT_SHOWN`.

    A bare "skip" does not count: it may also mean "I do not know".

    Example:
        >>> may_be_mine("Пропустить вопрос, так как он, возможно, был придуман мной")
        True
        >>> may_be_mine("Skip: this may be mine"), may_be_mine("skip"), may_be_mine("Мой дядя")
        (True, False, False)
    """
    plain = spelling(text)
    return text == NOT_SHOWN or bool(_RUSSIAN.fullmatch(plain) or _ENGLISH.fullmatch(plain))
