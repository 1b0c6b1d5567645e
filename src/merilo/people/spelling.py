"""Which spellings are the same answer: labels (`1`, `1.0`, `True`), named rules, and the dataset's metric.

Annotators type `1 000`, `1000.0` and `+1000` for one number, and `Ёж`, `еж.` and `«ёж»` for one word. Labels
are unified on reading (`unify`). Rules that merge further spellings (`RULES`) are applied only on request.
Answers that the metric treats as equal are votes for one label (`spelled_as_compared`). Every change is
recorded; gold answers are not used. Experts skip questions that they may have written (`may_be_mine`).

The words, letters and phrases of Russian answers of people stand here, those of models in `merilo.models.reply_reader`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Final

import polars as pl

from merilo.datasets.declaration import Dataset
from merilo.errors import UsageError
from merilo.metrics.exam import letters
from merilo.metrics.squad import f1_points, normalised
from merilo.responses import Responses

_EMPTY_FRACTION: Final = re.compile(r"([+-]?\d+)[.,]0+")

_TRUTH: Final = {"true": 1, "false": 0, "yes": 1, "no": 0, "да": 1, "нет": 0}

#: Labels that datasets use for yes and no, in the order (no, yes).
_PAIRS: Final = (("0", "1"), ("Нет", "Да"), ("No", "Yes"), ("false", "true"))


def unify(written: Iterable[str], labels: Sequence[str] | None = None) -> dict[str, str]:
    """Find one spelling for answers that mean the same label.

    Args:
        written: the distinct answers and known answers as they were typed, white space folded.
        labels: the dataset's labels, if it declares them.

    Returns:
        Mapping from answer as typed to label, for every member of `written`.

    Example:
        >>> unify(["1", "1.0", "True", "0"])
        {'1': '1', '1.0': '1', 'True': '1', '0': '0'}
        >>> unify(["true", "false"], ["Да", "Нет"])
        {'true': 'Да', 'false': 'Нет'}
        >>> unify(["a", "B"], ["A", "B"])
        {'a': 'A', 'B': 'B'}
    """
    plain = {
        text: _EMPTY_FRACTION.sub(r"\1", text) if _EMPTY_FRACTION.fullmatch(text) else text
        for text in written
    }
    known = set(labels or ())
    by_case = {label.casefold(): label for label in known}
    pair = _pair_in_use({by_case.get(value.casefold(), value) for value in plain.values()}, known)
    return {
        text: text if text in known else _label(value, known, by_case, pair) for text, value in plain.items()
    }


def _pair_in_use(values: set[str], known: set[str]) -> tuple[str, str] | None:
    """Find the labels for no and yes: the dataset's, or those of the answers if these are only no and yes."""
    declared = next((pair for pair in _PAIRS if known >= set(pair)), None)
    if (
        declared
        or not values
        or any(value.casefold() not in _TRUTH and value not in {"0", "1"} for value in values)
    ):
        return declared
    given = next((pair for pair in _PAIRS if values & set(pair)), None)
    return given or (
        ("false", "true") if {value.casefold() for value in values} & {"true", "false"} else None
    )


def _label(value: str, known: set[str], by_case: dict[str, str], pair: tuple[str, str] | None) -> str:
    if value in known:
        return value
    truth = _TRUTH.get(value.casefold())
    if truth is not None and pair is not None:
        return pair[truth]
    if pair is not None and value in {"0", "1"} and set(pair) <= known:
        return pair[int(value)]
    return by_case.get(value.casefold(), value)


#: The letters of the Russian keyboard, in the order of "`qwerty...bnm,." without and with Shift.
JCUKEN: Final = "ёйцукенгшщзхъфывапролджэячсмитьбюЁЙЦУКЕНГШЩЗХЪФЫВАПРОЛДЖЭЯЧСМИТЬБЮ"
#: Cyrillic letters that look Latin, and their Latin twins.
TWINS: Final = str.maketrans("АВЕКМНОРСТУХаеорсухкі", "ABEKMHOPCTYXaeopcyxki")

_SPACE: Final = re.compile(r"[\s\u200b\ufeff]+")
_QUOTES: Final = str.maketrans(dict.fromkeys("«»„“”‟‹›‚‘’‛`´\"'", None))
_DASHES: Final = str.maketrans(dict.fromkeys("‐‑‒–—―−", "-"))
_ENDS: Final = " \t.,;:!?…"
YO: Final = str.maketrans("ёЁ", "еЕ")
_GROUPED: Final = re.compile(r"([+-]?)(\d{1,3}(?:[ \u00a0\u202f'’]\d{3})+)([.,]\d+)?")
_DECIMAL_COMMA: Final = re.compile(r"([+-]?)(\d+),(\d*)")
_DECIMAL: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?")
_TRUE: Final = frozenset({"true", "yes", "да", "верно", "истина"})
#: Words for no, in lower case.
FALSE: Final = frozenset({"false", "no", "нет", "неверно", "ложь"})


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
    return "1" if word in _TRUE else "0" if word in FALSE else text


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
    "yo": NormalisationRule("ё and е are the same", lambda text: text.translate(YO)),
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
    return responses.with_spelling(made.classes), made


_NUMBERS: Final = rules_of(["numbers"])
_BETWEEN_NUMBERS: Final = re.compile(r"[\s,;]+")
_LIST_OF_NUMBERS: Final = re.compile(r"\d+(?:,\d+)*")

#: The type of an exam question if it is unknown.
_UNTYPED: Final = ""


def spelled_as_compared(
    responses: Responses,
    dataset: Dataset,
    types: Mapping[int, str] | None = None,
    *,
    min_control_score: float = 1.0,
) -> Responses:
    """Give one spelling to answers that the dataset's metric treats as equal.

    Numbers are written as plain decimals, the numbers of a set are sorted, and free answers get their most frequent
    spelling. Known answers of control items get the spelling of the answers that equal them; those that are
    free texts get the spelling of the answers that count as right.

    Args:
        responses: the responses.
        dataset: the dataset's declaration.
        types: mapping from item number to the question's type, on which the comparison of the exam's answers depends.
        min_control_score: a free-text answer to a control item is right from this F1 of its words on.

    Returns:
        The responses; `renamed` maps each changed answer to its new spelling.

    Example:
        >>> from merilo.datasets.declaration import Answer, Dataset
        >>> numbers = Dataset(name="", title="", metrics=("em",), answer=Answer(kind="integer"))
        >>> key_of(numbers)("+007", "")
        '7'
    """
    key = key_of(dataset)
    if key is None:
        return responses
    table = responses.table
    kinds = pl.DataFrame(
        [(number, kind) for number, kind in (types or {}).items()],
        schema={"item": pl.UInt32, "kind": pl.String},
        orient="row",
    )
    table = table.join(kinds, on="item", how="left", maintain_order="left").with_columns(
        pl.col("kind").fill_null(_UNTYPED)
    )
    counts = Counter(
        {
            (kind, answer): n
            for kind, answer, n in table.group_by("kind", "answer").len().drop_nulls("answer").iter_rows()
        }
    )
    for kind, control in table.select("kind", "control").drop_nulls().unique().iter_rows():
        counts.setdefault((kind, control), 0)
    spelling = _spellings(
        counts, key, plainly=dataset.answer.kind != "text" and "grade_norm" not in dataset.metrics
    )
    changed = {pair: text for pair, text in spelling.items() if pair[1] != text}
    if changed:
        pairs = ["\x1f".join(pair) for pair in changed]
        table = table.with_columns(
            pl.concat_str("kind", name, separator="\x1f")
            .replace_strict(pairs, list(changed.values()), default=pl.col(name))
            .alias(name)
            for name in ("answer", "control")
        )
    if dataset.answer.kind == "text":
        table = _matching_controls(table, dataset, min_control_score)
    renamed = {**(responses.renamed or {}), **{text: kept for (_, text), kept in sorted(changed.items())}}
    return replace(responses, table=table.drop("kind"), renamed=renamed)


def key_of(dataset: Dataset) -> Callable[[str, str], str] | None:
    """Return a function of answer and question type that gives equal keys to answers that the metric treats as equal.

    Returns:
        The function; `None` if the metric treats only identical texts as equal.
    """
    if "grade_norm" in dataset.metrics:
        return _exam_key
    form = dataset.answer
    numbers = form.kind == "integer" or (form.kind == "choice" and all(map(_is_integer, form.labels)))
    if numbers:
        return lambda answer, _: _plain_number(answer)
    if form.kind == "text":
        return lambda answer, _: normalised(answer) or answer
    return None


def _plain_number(text: str) -> str:
    if text.isascii() and text.isdecimal() and (text[0] != "0" or text == "0"):
        return text
    return canonical(text, _NUMBERS)


def _is_integer(label: str) -> bool:
    return label.removeprefix("-").isdecimal()


def _exam_key(answer: str, kind: str) -> str:
    """Compute the key of an exam answer: words are compared by letters, choices as sets, matchings as sequences."""
    if kind == "text":
        return letters(answer) or answer
    numbers = _BETWEEN_NUMBERS.sub(",", answer.strip()).strip(",")
    if not _LIST_OF_NUMBERS.fullmatch(numbers):
        return answer
    if kind.startswith("multiple_choice"):
        return ",".join(sorted(set(numbers.split(",")), key=int))
    return numbers


def _exam_right(answer: str, known: str, kind: str) -> bool:
    """Return whether an exam answer equals the known one: numbers by the kind of the question, words by letters."""
    if _LIST_OF_NUMBERS.fullmatch(known):
        return _exam_key(answer, kind) == _exam_key(known, kind)
    return letters(answer) in {letters(word) for word in known.split(",")}


def _spellings(
    counts: Counter[tuple[str, str]], key: Callable[[str, str], str], *, plainly: bool
) -> dict[tuple[str, str], str]:
    """Map each pair of type and answer to its spelling: the key itself, or the key's most frequent spelling."""
    keys = {pair: key(pair[1], pair[0]) for pair in counts}
    best: dict[tuple[str, str], tuple[int, str]] = {}
    for (kind, answer), n in counts.items():
        if plainly or (kind != "text" and _LIST_OF_NUMBERS.fullmatch(keys[kind, answer])):
            continue
        rank = (-n, answer)
        place = (kind, keys[kind, answer])
        best[place] = min(best.get(place, rank), rank)
    return {
        pair: best[pair[0], found][1] if (pair[0], found) in best else found for pair, found in keys.items()
    }


def _matching_controls(table: pl.DataFrame, dataset: Dataset, least: float) -> pl.DataFrame:
    """Replace the known answer of a control item by the given answer if that answer counts as right."""
    columns = ["kind", "answer", "control"]
    pairs = table.filter("is_control").select(columns).drop_nulls().unique(maintain_order=True)
    if not pairs.height:
        return table
    given, known = pairs["answer"].to_list(), pairs["control"].to_list()
    separator = dataset.answer.alternatives
    if "grade_norm" in dataset.metrics:
        right = [
            _exam_right(answer, true, kind)
            for kind, answer, true in zip(pairs["kind"], given, known, strict=True)
        ]
    else:
        right = [score >= least for score in f1_points(given, known, separator)]
    hits = pairs.with_columns(pl.Series("right", right)).filter("right")
    joined = table.join(hits, on=columns, how="left", nulls_equal=False, maintain_order="left")
    return joined.with_columns(pl.when("right").then("answer").otherwise("control").alias("control")).drop(
        "right"
    )


#: What stands in a table of answers for a question that was not shown to the expert who wrote it.
NOT_SHOWN: Final = "не показан: вопрос придуман этим экспертом"

#: Case, ё, quotation marks, dashes, white space and punctuation are ignored.
_WORDS: Final = rules_of(["words"])
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
    return " ".join(_PUNCTUATION.sub(" ", canonical(text, _WORDS)).split())


def may_be_mine(text: str) -> bool:
    """Check whether an answer is the guide's option "skip the question, because it may be mine".

    It may be in Russian or English; `NOT_SHOWN` counts too.

    A bare "skip" does not count: it may also mean "I do not know".

    Example:
        >>> may_be_mine("Пропустить вопрос, так как он, возможно, был придуман мной")
        True
        >>> may_be_mine("Skip: this may be mine"), may_be_mine("skip"), may_be_mine("Мой дядя")
        (True, False, False)
    """
    plain = spelling(text)
    return text == NOT_SHOWN or bool(_RUSSIAN.fullmatch(plain) or _ENGLISH.fullmatch(plain))
