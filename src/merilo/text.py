"""Sentences for people: English in the code, other languages in a catalogue, numbers and nouns agreeing in each.

A sentence is written once, where it is needed, as `Text("{n:# item|# items} without a majority", n=3)`. Its
translation stands in `locale/LANGUAGE.po` under the English text. A placeholder formats its value for the
reader's language:

    {x}                     a number as it is, a text, another `Text`, or a list of these ("a, b and 2 more")
    {x:.3f} {x:,} {x:.1%}   a number with the language's decimal sign, groups of digits and per cent sign
    {x:%}                   a share in per cent with at most one digit, and none if it is whole
    {x:# item|# items}      the plural form that the language uses for x (English two, Russian three); # is the number
    {x:key=text|text}       the text of the key that equals x; one without a key is for all others
    {x:date}                a day such as 2026-11-22 in words
    {x:capital}             a text that begins the sentence
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from markupsafe import Markup

#: The languages of messages, instructions and pages.
Language: TypeAlias = Literal["ru", "en"]

LANGUAGES: Final[tuple[Language, ...]] = ("en", "ru")

#: A list in a sentence names at most so many.
_MOST_LISTED: Final = 12

#: The signs that English text puts before an amount.
_SYMBOLS: Final = {"USD": "$", "EUR": "€"}

_FIXED: Final = "\N{NO-BREAK SPACE}"
_CONTEXT_END: Final = "\x04"


class Text:
    """One sentence that pages show in every language of the catalogue, and the terminal in English.

    Args:
        english: the sentence in English, with placeholders.
        context: tells apart equal English texts whose translations differ ("heading").
        values: the values of the placeholders.

    Example:
        >>> text = Text("{low:# item|# items} of {items} ({share:%}) without a majority", low=3, items=40, share=0.075)
        >>> text.en
        '3 items of 40 (7.5%) without a majority'
    """

    __slots__ = ("context", "english", "values")

    def __init__(self, english: str, /, *, context: str = "", **values: object) -> None:
        self.english, self.context, self.values = english, context, values

    def in_language(self, language: Language) -> str:
        """Return the sentence in a language; in English where the catalogue does not have it."""
        template = self.english if language == "en" else translation(self.english, language, self.context)
        return _SentenceFormatter(language).vformat(template, (), self.values)

    @property
    def en(self) -> str:
        """Return the sentence in English."""
        return self.in_language("en")

    @property
    def ru(self) -> str:
        """Return the sentence in Russian."""
        return self.in_language("ru")

    def __str__(self) -> str:
        return self.en

    def __repr__(self) -> str:
        return f"Text({self.en!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Text) and (self.en, self.ru) == (other.en, other.ru)

    def __hash__(self) -> int:
        return hash(self.en)


class Given(Text):
    """A text that somebody wrote in one or several languages, such as a rule in a plan; it is in no catalogue.

    Example:
        >>> Given({"ru": "Merilo"}).en
        'Merilo'
    """

    __slots__ = ("texts",)

    def __init__(self, texts: Mapping[Language, str]) -> None:
        super().__init__("")
        self.texts = texts

    def in_language(self, language: Language) -> str:
        """Return the text in a language; in another one where it was not given in this."""
        return self.texts.get(language) or next(iter(self.texts.values()), "")


def joined(parts: Iterable[object], by: str = " ") -> Text:
    """Join sentences or phrases to one text; empty ones are left out.

    Example:
        >>> joined([Text("{shown} and {more} more", shown="a", more=2), "", "b"], "; ").en
        'a and 2 more; b'
    """
    values: dict[str, Any] = {
        f"part{place}": part for place, part in enumerate(part for part in parts if part != "")
    }
    between = by.replace("{", "{{").replace("}", "}}")
    return Text(between.join(f"{{{name}}}" for name in values), **values)


@dataclass(frozen=True, slots=True)
class Money:
    """An amount of money in a sentence.

    Attributes:
        amount: how much.
        currency: the code of the currency; `None` if it is not known.
        digits: digits of a fraction; a whole amount has none.
    """

    amount: float
    currency: str | None
    digits: int = 2


class _SentenceFormatter(Formatter):
    """Formats the placeholders of one sentence in one language."""

    def __init__(self, language: Language) -> None:
        self._language: Language = language

    def format_field(self, value: Any, format_spec: str) -> str:  # noqa: ANN401 - the base class declares it so
        if "|" in format_spec:
            return self._chosen(value, format_spec.split("|"))
        return formatted(value, format_spec, self._language)

    def _chosen(self, value: object, choices: Sequence[str]) -> str:
        keyed = {key: text for key, sign, text in (choice.partition("=") for choice in choices) if sign}
        if keyed:
            otherwise = choices[-1] if "=" not in choices[-1] else ""
            return keyed.get(str(value), otherwise)
        assert isinstance(value, int | float), f"{value!r} chooses a plural form"  # noqa: S101 - a fault of ours
        return choices[plural_form(value, self._language)].replace("#", formatted(value, "", self._language))


class _MarkupFormatter(_SentenceFormatter):
    """Formats sentences that are HTML and values that are not."""

    def format_field(self, value: Any, format_spec: str) -> str:  # noqa: ANN401 - the base class declares it so
        from markupsafe import escape  # noqa: PLC0415 - only for pages

        text = super().format_field(value, format_spec)
        return text if "|" in format_spec or hasattr(value, "__html__") else str(escape(text))


def markup(english: str | Text, language: Language, /, *, context: str = "", **values: object) -> Markup:
    """Return a sentence of a page in one language as HTML.

    Args:
        english: the sentence, which may have HTML, with placeholders for values, which are escaped; a `Text`
            is escaped whole.
        language: the language.
        context: as of `Text`.
        values: the values of the placeholders.

    Example:
        >>> markup("<b>{n:# answer|# answers}</b> of {who}", "en", n=2, who="<a>")
        Markup('<b>2 answers</b> of &lt;a&gt;')
    """
    from markupsafe import Markup, escape  # noqa: PLC0415 - only for pages

    if isinstance(english, Text):
        return escape(english.in_language(language))
    template = english if language == "en" else translation(english, language, context)
    return Markup(_MarkupFormatter(language).vformat(template, (), values))  # noqa: S704 - the values are escaped


def both_languages(english: str | Text, /, *, context: str = "", **values: object) -> Markup:
    """Return a sentence of a page that shows one of two languages: a span in each.

    Example:
        >>> both_languages("Items & answers")
        Markup('<span lang="en">Items & answers</span><span lang="ru">Items & answers</span>')
    """
    from markupsafe import Markup  # noqa: PLC0415 - only for pages

    texts = ((language, markup(english, language, context=context, **values)) for language in LANGUAGES)
    return Markup("").join(Markup('<span lang="{}">{}</span>').format(*span) for span in texts)


def plain_number(value: float, spec: str) -> str:
    """Format a number as Python does, but round half a digit up, as people do.

    Half a digit is half of the decimal number, also where a sum misses it by its rounding error.

    Example:
        >>> plain_number(0.86249999999999993, ".3f"), plain_number(-0.0625, ".3f"), plain_number(3.375, ",.2f")
        ('0.863', '-0.063', '3.38')
    """
    fixed = re.search(r"\.(\d+)([f%])$", spec)
    if fixed is None or not abs(value) < 1e12:
        return format(value, spec)
    digits = int(fixed[1]) + 2 * (fixed[2] == "%")
    exact = Decimal(repr(round(float(value), 12)))
    return format(exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP), spec)


def formatted(value: object, spec: str, language: Language) -> str:
    """Format one value of a sentence for a language; the module's docstring explains the specifications.

    Example:
        >>> formatted(-0.5604, ".3f", "ru"), formatted(0.3, "%", "en")
        ('−0,560', '30%')
        >>> formatted(1234567, ",", "ru").replace(chr(160), " ")
        '1 234 567'
        >>> formatted(Money(7.25, "RUB"), "", "en")
        '7.25 RUB'
    """
    match value:
        case Text() | str() if spec == "capital":
            text = formatted(value, "", language)
            text = text[:1].upper() + text[1:]
        case Text():
            text = value.in_language(language)
        case Money():
            text = _money(value, language)
        case list() | tuple():
            text = _listed([formatted(part, spec, language) for part in value], language)
        case str() if spec == "date":
            text = _date(value, language)
        case float() | int() if spec == "%":
            text = percent(value, language)
        case float() | int():
            text = _localised(plain_number(value, spec), language)
        case _:
            text = format(value, spec)
    return text


def percent(share: float, language: Language) -> str:
    """Format a share in per cent, with one digit if it is not whole.

    Example:
        >>> percent(1 / 260, "en"), percent(0.3, "ru").replace(chr(160), " ")
        ('0.4%', '30 %')
    """
    value = round(100 * share, 1)
    return formatted(share, f".{0 if value == int(value) else 1}%", language)


def plural_form(number: float, language: Language) -> int:
    """Return which plural form of a noun a number takes: English one, other; Russian one, few, many.

    A Russian decimal fraction takes the genitive singular, which is the form of few.

    Example:
        >>> [plural_form(n, "ru") for n in (1, 3, 11, 25, 101)], plural_form(0, "en"), plural_form(0.5, "ru")
        ([0, 1, 2, 2, 0], 1, 1)
    """
    if language == "en":
        return 0 if number == 1 else 1
    from babel import Locale  # noqa: PLC0415 - slow to load

    return {"one": 0, "few": 1, "many": 2, "other": 1}[Locale(language).plural_form(number)]


def translation(english: str, language: Language, context: str = "") -> str:
    """Return the text of the catalogue for an English text; the English text where there is none."""
    key = f"{context}{_CONTEXT_END}{english}" if context else english
    return _catalogue(language).get(key) or english


@cache
def _catalogue(language: Language) -> dict[str, str]:
    from babel.messages.pofile import read_po  # noqa: PLC0415 - slow to load

    texts = {}
    with (Path(__file__).parent / "locale" / f"{language}.po").open("rb") as stream:
        for message in (entry for entry in read_po(stream) if entry.id):
            key = f"{message.context}{_CONTEXT_END}{message.id}" if message.context else str(message.id)
            texts[key] = str(message.string)
    return texts


def _localised(text: str, language: Language) -> str:
    """Replace the signs of Python's number formats by those of a language."""
    if language == "en":
        return text
    signs = {".": ",", ",": _FIXED, "-": "\N{MINUS SIGN}", "%": f"{_FIXED}%"}
    return re.sub(r"[.,%-]", lambda sign: signs[sign[0]], text)


def _listed(names: Sequence[str], language: Language) -> str:
    shown = ", ".join(names[:_MOST_LISTED])
    more = len(names) - _MOST_LISTED
    return (
        Text("{shown} and {more} more", shown=shown, more=more).in_language(language) if more > 0 else shown
    )


def _money(value: Money, language: Language) -> str:
    whole = round(value.amount, value.digits) == int(value.amount)
    amount = plain_number(value.amount, f",.{0 if whole else value.digits}f")
    if language == "en":
        symbol = _SYMBOLS.get(value.currency or "", "")
        return f"{amount} {value.currency}" if value.currency and not symbol else f"{symbol}{amount}"
    if abs(value.amount) < 10_000:  # Russian groups the digits of five and more
        amount = amount.replace(",", "")
    text = _localised(amount, language)
    if value.currency is None:
        return text
    unit = translation(f"plural of {value.currency}", language)
    if unit == f"plural of {value.currency}":
        return f"{text}{_FIXED}{value.currency}"
    forms = unit.split("|")
    return f"{text}{_FIXED}{forms[plural_form(abs(int(value.amount)), language) if whole else 1]}"


def _date(day: str, language: Language) -> str:
    from datetime import date  # noqa: PLC0415 - only for dates

    try:
        parsed = date.fromisoformat(day)
    except ValueError:
        return day
    if language == "en":
        return day
    from babel.dates import format_date  # noqa: PLC0415 - slow to load

    return format_date(parsed, "long", locale=language).replace("\N{NARROW NO-BREAK SPACE}", _FIXED)
