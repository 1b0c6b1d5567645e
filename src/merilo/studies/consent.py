"""What people are told before they agree to take part, and what they are asked about themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from merilo.participation import PersonalWords
from merilo.settings import Help, Positive
from merilo.settings import Text as Words
from merilo.text import LANGUAGES, Given, Language, Text


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnWords:
    """A text of the author, in one language of the study or in both."""

    ru: Words | None = None
    en: Words | None = None

    def __post_init__(self) -> None:
        if self.ru is None and self.en is None:
            raise ValueError("needs a text in Russian (ru) or in English (en)")

    def text(self, language: str) -> str | None:
        """Return the text in a language; `None` if it is not translated."""
        return self.ru if language == "ru" else self.en

    @property
    def given(self) -> Given:
        """The text in both languages; in the other one where it is not translated."""
        texts: dict[Language, str | None] = {"en": self.en, "ru": self.ru}
        return Given({language: text for language, text in texts.items() if text})


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """What people read before they agree to take part; tasks and pay are computed."""

    organisation: Annotated[OwnWords | None, Help("Who asks: the organisation and the people.")] = None
    contact: Annotated[Words | None, Help("Whom people may write or call.")] = None
    purpose: Annotated[OwnWords | None, Help("What the answers are for.")] = None
    minutes: Annotated[
        Positive | None, Help("Minutes that taking part lasts; null: computed from items_per_hour.")
    ] = None
    ethics: Annotated[OwnWords | None, Help("Who approved the study, or why no review was needed.")] = None
    data: Annotated[OwnWords | None, Help("Which data of people you keep.")] = None
    kept: Annotated[OwnWords | None, Help("For how long you keep them.")] = None


#: Questions that need no text in the plan: name -> question and options.
_QUESTIONS: Final[Mapping[str, tuple[Text, tuple[Text, ...]]]] = {
    "age": (
        Text("How old are you?"),
        (*map(Text, ("18–24", "25–34", "35–44", "45–54", "55–64")), Text("65 or older")),
    ),
    "native_language": (
        Text("What is your native language?"),
        (Text("Russian", context="language"), Text("English", context="language"),
         Text("Another language"), Text("More than one language")),
    ),
    "education": (
        Text("What is your highest completed education?"),
        (Text("School"), Text("Vocational training"), Text("Bachelor's degree"),
         Text("Master's degree or a diploma of five years"), Text("Doctorate")),
    ),
}  # fmt: skip


def in_languages(text: Text) -> dict[Language, str]:
    """Return a text in every language."""
    return {language: text.in_language(language) for language in LANGUAGES}


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalQuestion:
    """A question about a person, asked before they begin; everybody may decline to answer."""

    name: Words
    question: OwnWords | None = None
    options: tuple[OwnWords, ...] = ()

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", self.name):
            raise ValueError(
                f"the name '{self.name}' may have small Latin letters, digits and _ only, at most 40"
            )
        if self.question is None and self.name not in _QUESTIONS:
            raise ValueError(
                f"'{self.name}' needs a question and options; without them there are {', '.join(_QUESTIONS)}"
            )
        if len(self.choices) < 2:
            raise ValueError(f"'{self.name}' needs at least two options")
        if len({choice.en for choice in self.choices}) < len(self.choices):
            raise ValueError(f"two options of '{self.name}' are alike")

    @property
    def asked(self) -> Text:
        """The question."""
        return self.question.given if self.question else _QUESTIONS[self.name][0]

    @property
    def words(self) -> PersonalWords:
        """The question with its options in both languages."""
        return PersonalWords(
            self.name, in_languages(self.asked), tuple(in_languages(choice) for choice in self.choices)
        )

    @property
    def choices(self) -> tuple[Text, ...]:
        """The options, of which a person chooses one or none."""
        if self.options or self.question:
            return tuple(option.given for option in self.options)
        return _QUESTIONS[self.name][1]
