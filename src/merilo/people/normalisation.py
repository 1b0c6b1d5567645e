"""Normalisation of answers: named rules, applied only on request, that merge equivalent spellings.

Annotators type `1 000`, `1000.0` and `+1000` for one number, and `Ёж`, `еж.` and `«ёж»` for one word. Agreement and aggregation
work on classes of equal answers; the rules and the number of answers that each rule changed are recorded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Final

import polars as pl

from merilo.errors import UsageError
from merilo.people.gold import Gold
from merilo.responses import Responses

_SPACE: Final = re.compile(r"[\s\u200b\ufeff]+")
_QUOTES: Final = str.maketrans(dict.fromkeys("«»„“”‟‹›‚‘’‛`´\"'", None))
_DASHES: Final = str.maketrans(dict.fromkeys("‐‑‒–—―−", "-"))
_ENDS: Final = " \t.,;:!?…"
_YO: Final = str.maketrans("ёЁ", "еЕ")
_GROUPED: Final = re.compile(r"([+-]?)(\d{1,3}(?:[ \u00a0\u202f'’]\d{3})+)([.,]\d+)?")
_DECIMAL_COMMA: Final = re.compile(r"([+-]?)(\d+),(\d*)")
_DECIMAL: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?")
_TRUE: Final = frozenset({"true", "yes", "да", "верно", "истина"})
_FALSE: Final = frozenset({"false", "no", "нет", "неверно", "ложь"})


@dataclass(frozen=True, slots=True)
class NormalisationRule:
    """A rule by which two spellings count as the same answer.

    Attributes:
        says: a description for the documentation and the command's help.
        rewrite: the function that rewrites a spelling.
    """

    says: str
    rewrite: Callable[[str], str]


def _white_space(text: str) -> str:
    return _SPACE.sub(" ", text).strip()


def _ends(text: str) -> str:
    stripped = text.strip(_ENDS)
    # A leading decimal point belongs to its number.
    return "." + stripped if stripped[:1].isdigit() and text.lstrip().startswith(".") else stripped


def _number(text: str) -> str:
    """Convert a number to a plain decimal; ambiguous texts are unchanged."""
    written = text.strip().translate(_DASHES)
    if match := _GROUPED.fullmatch(written):
        sign, whole, fraction = match.groups()
        written = sign + re.sub(r"\D", "", whole) + (fraction or "").replace(",", ".")
    elif match := _DECIMAL_COMMA.fullmatch(written):
        sign, whole, fraction = match.groups()
        # "1,234" may mean 1234 or 1.234; "0,125" is unambiguous.
        if len(fraction) == 3 and len(whole) <= 3 and whole.lstrip("0"):
            return text
        written = f"{sign}{whole}.{fraction}"
    if not _DECIMAL.fullmatch(written):
        return text
    try:
        number = Decimal(written)
    except InvalidOperation:
        return text
    plain = f"{number.normalize():f}" if number else "0"
    return plain if len(plain) <= 400 else text


def _truth(text: str) -> str:
    word = text.strip().casefold()
    return "1" if word in _TRUE else "0" if word in _FALSE else text


#: name -> rule, in the order in which they are applied.
RULES: Final[dict[str, NormalisationRule]] = {
    "white_space": NormalisationRule(
        "runs of white space become one space; white space at the ends is removed", _white_space
    ),
    "quotes": NormalisationRule(
        "quotation marks of every kind are removed", lambda text: text.translate(_QUOTES)
    ),
    "dashes": NormalisationRule(
        "dashes and minus signs of every kind become hyphens", lambda text: text.translate(_DASHES)
    ),
    "punctuation": NormalisationRule("punctuation at the ends is removed", _ends),
    "case": NormalisationRule("upper and lower case are the same", str.casefold),
    "yo": NormalisationRule("ё and е are the same", lambda text: text.translate(_YO)),
    "truth": NormalisationRule("true, yes, да become 1; false, no, нет become 0", _truth),
    "number": NormalisationRule(
        "1 000, 1000.0, +1000 and 1e3 become 1000; 2,5 becomes 2.5; 1,234 is ambiguous and unchanged", _number
    ),
}

#: name -> rules that are applied together.
SETS: Final[dict[str, tuple[str, ...]]] = {
    "numbers": ("white_space", "dashes", "number"),
    "words": ("white_space", "quotes", "dashes", "punctuation", "case", "yo"),
}


@dataclass(frozen=True, slots=True)
class Normalisation:
    """The rules that were applied, and their effect.

    Attributes:
        rules: the rules' names, in the order of application.
        classes: spelling -> the spelling of its class, for every distinct answer.
        changed: rule -> how many distinct spellings it changed.
    """

    rules: tuple[str, ...]
    classes: dict[str, str]
    changed: dict[str, int]


def rules_of(names: Iterable[str]) -> tuple[str, ...]:
    """Resolve names of rules and of sets of rules to rules, in the order of application.

    Raises:
        UsageError: there is no such rule.

    Example:
        >>> rules_of(["numbers", "truth"])
        ('white_space', 'dashes', 'truth', 'number')
    """
    wanted: set[str] = set()
    for name in names:
        if name not in RULES and name not in SETS:
            known = ", ".join([*SETS, *RULES])
            raise UsageError(f"there is no normalisation rule '{name}' (choose from: {known})")
        wanted.update(SETS.get(name, (name,)))
    return tuple(name for name in RULES if name in wanted)


def canonical(text: str, rules: Sequence[str]) -> str:
    """Apply rules (names of `RULES`) to an answer; if nothing is left, return the answer itself.

    Example:
        >>> canonical(" «Ёж». ", rules_of(["words"])), canonical("1 000,50", ["number"])
        ('еж', '1000.5')
    """
    for name in rules:
        rewritten = RULES[name].rewrite(text)
        text = rewritten if rewritten.strip() else text
    return text


def classes(written: Sequence[str], counts: Sequence[int], rules: Sequence[str]) -> Normalisation:
    """Group spellings into classes, each named by its most frequent spelling.

    Args:
        written: distinct spellings.
        counts: how often each was given.
        rules: names of `RULES`.

    Returns:
        The classes. Equal counts are ordered alphabetically, so the order of answers does not matter.

    Example:
        >>> classes(["Ёж", "еж", "лис"], [3, 2, 1], ["case", "yo"]).classes
        {'Ёж': 'Ёж', 'еж': 'Ёж', 'лис': 'лис'}
    """
    changed = dict.fromkeys(rules, 0)
    keys = []
    for text in written:
        key = text
        for name in rules:
            rewritten = canonical(key, [name])
            changed[name] += rewritten != key
            key = rewritten
        keys.append(key)
    spelling: dict[str, tuple[int, str]] = {}
    for text, count, key in zip(written, counts, keys, strict=True):
        rank = (-count, text)
        spelling[key] = min(spelling.get(key, rank), rank)
    return Normalisation(
        tuple(rules),
        {text: spelling[key][1] for text, key in zip(written, keys, strict=True)},
        changed,
    )


def normalise(responses: Responses, rules: Sequence[str]) -> tuple[Responses, Normalisation]:
    """Rewrite every answer, and every known answer of a control item, to the spelling of its class.

    Args:
        responses: the responses.
        rules: names of `RULES`.

    Returns:
        The responses, whose `renamed` maps each spelling to its class, and the classes.
    """
    if not rules:
        return responses, Normalisation((), {}, {})
    table = responses.table
    given = table["answer"].drop_nulls().value_counts()
    counts = dict(given.iter_rows())
    for text in table["control"].drop_nulls().unique().to_list():
        counts.setdefault(text, 0)
    written = sorted(counts)
    made = classes(written, [counts[text] for text in written], rules)
    old, new = list(made.classes), list(made.classes.values())
    if not old:
        return responses, made
    rewritten = table.with_columns(pl.col(name).replace(old, new) for name in ("answer", "control"))
    earlier = responses.renamed or {}
    renamed = {text: made.classes.get(kept, kept) for text, kept in earlier.items()}
    renamed |= {text: kept for text, kept in made.classes.items() if text != kept and text not in renamed}
    return replace(responses, table=rewritten, renamed=renamed), made


def normalise_gold(gold: Gold, made: Normalisation) -> Gold:
    """Rewrite gold answers to the spelling of their class; others are unchanged."""
    if not made.rules:
        return gold
    spelling = {canonical(text, made.rules): kept for text, kept in made.classes.items()}
    texts = gold.answers["gold"].drop_nulls().unique().to_list()
    new = [spelling.get(canonical(text, made.rules), text) for text in texts]
    if not texts:
        return gold
    return gold.with_answers(gold.answers.with_columns(pl.col("gold").replace(texts, new)))
