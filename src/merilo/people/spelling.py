"""Which spellings are the same answer, decided once for a study; which of repeated answers counts; what is no vote.

Answers are compared as the dataset declares: numbers, free texts and the exam's lists as its metric does. Other answers
are equal if they differ in case, white space, a full stop at the end, Unicode form or the way a number is written. Yes
and no equal true and false, 1 and 0, да and нет where all answers and gold answers are such. Answers with several
labels are sets. Experts skip questions that they may have written (`may_be_mine`).

The words, letters and phrases of Russian answers of people stand here, those of models in `merilo.models.reply_reader`.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import polars as pl

from merilo.datasets.declaration import Dataset
from merilo.errors import DataError, argument
from merilo.file_reading import Reading
from merilo.metrics.exam import letters
from merilo.metrics.registry import metric_of
from merilo.metrics.squad import best_f1, normalised
from merilo.responses import Responses
from merilo.settings import Repeats

if TYPE_CHECKING:
    from merilo.people.gold import Gold

#: The letters of the Russian keyboard, in the order of "`qwerty...bnm,." without and with Shift.
JCUKEN: Final = "ёйцукенгшщзхъфывапролджэячсмитьбюЁЙЦУКЕНГШЩЗХЪФЫВАПРОЛДЖЭЯЧСМИТЬБЮ"
#: Cyrillic letters that look Latin, and their Latin twins.
TWINS: Final = str.maketrans("АВЕКМНОРСТУХаеорсухкі", "ABEKMHOPCTYXaeopcyxki")
_QWERTY: Final = "`qwertyuiop[]asdfghjkl;'zxcvbnm,.~QWERTYUIOP{}ASDFGHJKL:\"ZXCVBNM<>"
TO_JCUKEN: Final = str.maketrans(_QWERTY, JCUKEN)
TO_QWERTY: Final = str.maketrans(JCUKEN, _QWERTY)
#: A key whose Cyrillic letters all look Latin in capitals, and single letters that do not.
_LOOKS_LATIN: Final = r"^[ -~авекмнорстухі]*[авекмнорстухі][ -~авекмнорстухі]*$"
_OWN_LETTERS: Final = "бгдёжзийлпфцчшщъыьэюя"
YO: Final = str.maketrans("ёЁ", "еЕ")

_SPACE: Final = re.compile(r"[\s\u200b\ufeff]+")
_QUOTES: Final = str.maketrans(dict.fromkeys("«»„“”‟‹›‚‘’‛`´\"'", None))
_DASHES: Final = str.maketrans(dict.fromkeys("‐‑‒–—―−", "-"))
_GROUPED: Final = re.compile(r"([+-]?)(\d{1,3}(?:[ \u00a0\u202f'’]\d{3})+)([.,]\d+)?")
_DECIMAL_COMMA: Final = re.compile(r"([+-]?)(\d+),(\d*)")
_DECIMAL: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?")
#: Longer texts are no numbers that people type.
_LONGEST_NUMBER: Final = 400
#: Words for no, in lower case.
FALSE: Final = frozenset({"false", "no", "нет", "неверно", "ложь"})
_TRUTH: Final = {
    **dict.fromkeys(("1", "true", "yes", "y", "да", "верно", "истина"), "1"),
    **dict.fromkeys(("0", "n", *FALSE), "0"),
}
#: Texts of ASCII with a letter that no number has, whose key is plain: lower case, without the full stop.
_EASY: Final = r"^[ -Z\\-~]*[A-DF-Za-df-z][ -Z\\-~]*$"
_BETWEEN_NUMBERS: Final = re.compile(r"[\s,;]+")
_LIST_OF_NUMBERS: Final = re.compile(r"\d+(?:,\d+)*")

#: Kinds of answers that are one of a few labels or a number; gold answers get the spelling of the people's answers.
_LABELS: Final = frozenset({"label", "choice", "integer", "criteria"})


def plain_number(text: str) -> str | None:
    """Return a number as a plain decimal; `None` for other texts and for "1,234", which may be 1234 or 1.234."""
    written = text.translate(_DASHES)
    if match := _GROUPED.fullmatch(written):
        sign, whole, fraction = match.groups()
        written = sign + re.sub(r"\D", "", whole) + (fraction or "").replace(",", ".")
    elif match := _DECIMAL_COMMA.fullmatch(written):
        sign, whole, fraction = match.groups()
        if len(fraction) == 3 and len(whole) <= 3 and whole.lstrip("0"):
            return None
        written = f"{sign}{whole}.{fraction}"
    if not _DECIMAL.fullmatch(written):
        return None
    if len(written) > _LONGEST_NUMBER:
        return None
    number = Decimal(written)
    plain = f"{number:f}" if number else "0"
    plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
    return plain if len(plain) <= _LONGEST_NUMBER else None


def plain_key(text: str) -> str:
    """Return the key of an answer that nothing else is declared for.

    Example:
        >>> plain_key(" Yes. "), plain_key("1 000,50"), plain_key("1.0")
        ('yes', '1000.5', '1')
    """
    text = _SPACE.sub(" ", text).strip()
    if text.isascii():
        if text.isdecimal() and (text[0] != "0" or text == "0"):
            return text
    else:
        text = unicodedata.normalize("NFC", text)
    if any(map(str.isdecimal, text)) and (number := plain_number(text)) is not None:
        return number
    return text.casefold().removesuffix(".").rstrip() or text


def _set_key(text: str, separator: str) -> str | None:
    """Return the key of an answer with several labels; `None` if it is one label."""
    parts: list[str] = []
    if text.startswith("[") and text.endswith("]"):
        try:
            content = json.loads(text)
        except ValueError:
            return None
        if not isinstance(content, list) or any(isinstance(part, list | dict) for part in content):
            return None
        parts = ["" if part is None else str(part) for part in content]
    elif separator and separator in text:
        parts = text.split(separator)
    return "\x1f".join(sorted({plain_key(part) for part in parts if part.strip()})) if parts else None


def key_of(dataset: Dataset, separator: str = "") -> Callable[[str, str], str]:
    """Return a function of answer and question type that gives equal keys to equal answers.

    Args:
        dataset: the dataset, whose metric decides which free texts and exam answers are equal.
        separator: what separates the labels of an answer with several.

    Example:
        >>> from merilo.datasets.declaration import Answer, Dataset
        >>> numbers = Dataset(name="", title="", metrics=("em",), answer=Answer(kind="integer"))
        >>> key_of(numbers)("+007", "")
        '7'
    """
    if "grade_norm" in dataset.metrics:
        return _exam_key
    if dataset.judged:
        return lambda answer, _: answer
    kind = dataset.answer.kind
    folded = (metric_of(dataset.metrics[0], kind).key or normalised) if kind == "text" else plain_key

    def key(answer: str, _: str) -> str:
        if separator or answer.startswith("["):
            several = _set_key(answer, separator)
            if several is not None:
                return several
        return folded(answer) or answer

    return key


def answer_keys(
    texts: Iterable[tuple[str, str]], dataset: Dataset, labels: Iterable[str], separator: str = ""
) -> dict[tuple[str, str], str]:
    """Return the key of each pair of question type and answer.

    Args:
        texts: all answers, and gold answers if they are labels.
        dataset: the dataset.
        labels: the labels in the order of their scale, or none.
        separator: as for `key_of`.

    Example:
        >>> from merilo.datasets.declaration import undeclared
        >>> answer_keys([("", "No"), ("", "False"), ("", "1")], undeclared(), [])
        {('', 'No'): '0', ('', 'False'): '0', ('', '1'): '1'}
    """
    pairs = list(dict.fromkeys(texts))
    table = pl.DataFrame(pairs, schema={"kind": pl.String, "text": pl.String}, orient="row")
    return dict(zip(pairs, _keys(table, dataset, labels, separator), strict=True))


def _keys(texts: pl.DataFrame, dataset: Dataset, labels: Iterable[str], separator: str) -> pl.Series:
    """Return the key of each `text` of its `kind`; most texts of an export need no closer look."""
    key, text = key_of(dataset, separator), pl.col("text")
    plain = dataset.answer.kind != "text" and not dataset.judged and "grade_norm" not in dataset.metrics
    easy = text.str.contains(_EASY) if plain and not separator else pl.lit(value=False)
    words = text.str.replace_all(r"\s+", " ").str.strip_chars().str.to_lowercase()
    words = words.str.strip_suffix(".").str.strip_chars_end()
    marked = texts.with_columns(easy=easy, key=words)
    rest = marked.filter(~pl.col("easy"))
    hard = pl.Series([key(*pair) for pair in rest.select("text", "kind").iter_rows()], dtype=pl.String)
    keys = marked["key"].scatter((~marked["easy"]).arg_true(), hard)
    if dataset.answer.kind not in _LABELS:
        return keys
    keys = _in_one_alphabet(keys)
    few = {key(label, "") for label in labels} or ({*keys} if texts.height <= len(_TRUTH) * 4 else {""})
    return keys.replace(_TRUTH) if few <= _TRUTH.keys() else keys


def _in_one_alphabet(keys: pl.Series) -> pl.Series:
    """Replace a key in Cyrillic letters that look Latin by the Latin key, if that is given too and no other fits.

    A letter may also be one of an own Cyrillic list (А, Б, В), or stand on the key of another Latin label: В is on
    the key of D. It is then the Latin letter only if others look Latin that are on no key of a label, such as А.
    """
    written = keys.filter(keys.str.contains(_LOOKS_LATIN)).unique()
    if written.is_empty():
        return keys
    listed = keys.is_in(list(_OWN_LETTERS)).any()
    latin = written.map_elements(lambda key: key.upper().translate(TWINS).casefold(), return_dtype=pl.String)
    typed = written.map_elements(lambda key: key.translate(TO_QWERTY), return_dtype=pl.String)
    there = keys.unique().implode()
    alike = latin.is_in(there) & ~typed.is_in(there)
    fits = alike | (latin.is_in(there) & ((typed == latin) | alike.any()))
    fits &= (written.str.len_chars() > 1) | pl.Series([not listed])
    return keys.replace(written.filter(fits), latin.filter(fits))


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


@dataclass(frozen=True, slots=True)
class Merged:
    """Which answers count as another spelling, and which texts are no answers.

    Attributes:
        spelling: answer -> the spelling that it counts as, for each answer with another spelling.
        counts: such an answer -> how often it was given; 0 for known answers of control items and gold answers.
        missing: text that is no answer -> how often it was given.
    """

    spelling: Mapping[str, str]
    counts: Mapping[str, int]
    missing: Mapping[str, int]


def same_answers(
    responses: Responses,
    gold: Gold | None,
    dataset: Dataset,
    types: Mapping[int, str] | None = None,
    *,
    min_control_score: float = 1.0,
) -> tuple[Responses, Gold | None, Merged]:
    """Give equal answers one spelling, also gold answers and the known answers of control items.

    Missing answers and answers that mean "may be mine" are left out and counted. A label or gold answer is written as
    the dataset, the order of the reading, or most annotators write it.

    Args:
        responses: the responses.
        gold: the gold answers.
        dataset: the dataset's declaration.
        types: mapping from item number to the question's type, on which the comparison of the exam's answers depends.
        min_control_score: a free-text answer to a control item is right from this F1 of its words on.

    Returns:
        The responses and the gold answers in one spelling, and what was merged.
    """
    reading = responses.reading or Reading()
    labels = tuple(dict.fromkeys((*reading.order, *dataset.answer.labels)))
    known = [] if gold is None else gold.answers["gold"].drop_nulls().unique().to_list()
    words = {word for word in reading.missing if word} - {*labels, *known}
    responses, missing = _without_missing(responses, words)
    responses = _without_skipped(responses, reading)
    kind = pl.lit("").alias("kind")
    if types:
        kind = pl.col("item").replace_strict(types, default="", return_dtype=pl.String).alias("kind")
    table = responses.table.with_columns(kind)
    closed = dataset.answer.kind in _LABELS and "grade_norm" not in dataset.metrics
    separator = dataset.answer.alternatives
    single = [text for text in known if not (separator and separator in text) and not text.startswith("{")]
    spelled = _spellings(table, dataset, labels, single if closed else [], reading.set_separator)
    changed = spelled.filter(pl.col("text") != pl.col("spelling"))
    if changed.height:
        # The type of a question and an answer together tell its spelling.
        pairs, texts = changed.select(_pair("text")).to_series(), changed["spelling"]
        table = table.with_columns(
            (_pair(name).replace_strict(pairs, texts, default=pl.col(name)) if types
             else pl.col(name).replace(changed["text"], texts)).alias(name)
            for name in ("answer", "control")
        )  # fmt: skip
    if dataset.answer.kind == "text":
        table = _matching_controls(table, dataset, min_control_score)
    renamed = dict(changed.select("text", "spelling").sort("text").iter_rows())
    if gold is not None and closed:
        of_labels = changed.filter(pl.col("kind") == "")
        news = pl.col("gold").replace(of_labels["text"], of_labels["spelling"])
        gold = gold.with_answers(gold.answers.with_columns(news))
    times = dict(changed.group_by("text").agg(pl.col("n").sum()).iter_rows())
    earlier = {text: renamed.get(new, new) for text, new in (responses.renamed or {}).items()}
    responses = replace(responses, table=table.drop("kind"), renamed={**earlier, **renamed})
    return responses, gold, Merged(renamed, times, missing)


def _pair(name: str) -> pl.Expr:
    return pl.concat_str("kind", name, separator="\x1f")


def _spellings(
    table: pl.DataFrame, dataset: Dataset, labels: Sequence[str], known: Sequence[str], separator: str
) -> pl.DataFrame:
    """Return every `text` of a question's `kind`, how often it was given (`n`), and the `spelling` of its equals.

    The spelling is that of most annotators, but for labels that of the dataset, and for numbers the plain number.
    """
    numeric, exam = dataset.answer.kind == "integer", "grade_norm" in dataset.metrics
    fixed = pl.DataFrame({"text": [*labels, *known]}, schema={"text": pl.String})
    parts = [
        table.group_by("kind", text="answer").agg(n=pl.len()),
        table.select("kind", text="control").unique().with_columns(n=pl.lit(0, pl.UInt32)),
        fixed.select(pl.lit("").alias("kind"), "text", n=pl.lit(0, pl.UInt32)),
    ]
    texts = pl.concat(parts).drop_nulls("text").group_by("kind", "text").agg(pl.col("n").sum())
    key = _keys(texts, dataset, labels, separator)
    texts = texts.with_columns(key=key).sort(
        "n", pl.col("text").str.len_chars(), "text", descending=[True, False, False]
    )
    number = pl.lit(value=False)
    if numeric or exam:
        form = _DECIMAL if numeric else _LIST_OF_NUMBERS
        number = (pl.col("kind") != "text") & pl.col("key").str.contains(f"^(?:{form.pattern})$")
    usual = pl.col("text").first().over("kind", "key")
    spelling = pl.when(number).then("key").otherwise(usual)
    own = texts.filter(pl.col("text").is_in(labels), pl.col("kind") == "").select("text", "key")
    of_text = dict(own.iter_rows())
    if declared := {of_text[label]: label for label in reversed(labels)}:
        of_labels = pl.col("key").replace_strict(declared, default=None, return_dtype=pl.String)
        spelling = (
            pl.when((pl.col("kind") == "") & of_labels.is_not_null()).then(of_labels).otherwise(spelling)
        )
    return texts.with_columns(spelling=spelling)


def _without_missing(responses: Responses, words: set[str]) -> tuple[Responses, dict[str, int]]:
    """Leave out the texts that are no answers; return how often each was given."""
    gone = pl.col("answer").is_in(sorted(words))
    counts = responses.table.filter(gone)["answer"].value_counts().sort("answer")
    return responses.without(gone, "missing"), dict(counts.iter_rows())


def settle(responses: Responses, repeats: Repeats = "refuse") -> Responses:
    """Keep at most one answer per annotator and test item.

    A repeated row (the same page and item) counts once, for control items too; a control item that one annotator
    answered on several pages is not a duplicate, nor is an item that they answered as a control and as a test item.
    The same answer given twice counts once. First and last go by time where the times are known, else by the order of
    rows.

    Args:
        responses: the responses.
        repeats: what to do if an annotator gave one item two different answers: refuse, keep the first or the last,
            or drop all of them.

    Raises:
        DataError: an annotator gave one item two different answers and `repeats` is "refuse".
    """
    same = ["item", "respondent", "sample", "is_control"]
    if responses.table.height == responses.table.select(same).n_unique():
        return responses
    # Without pages, rows that took the same time are the same row.
    paged = pl.col("page").is_not_null()
    times = pl.when(~paged).then(pl.struct("started", "submitted", "page_seconds")).alias("times")
    row = pl.struct("page", "answer", *same, *([times] if responses.table["page"].null_count() else []))
    known = paged | pl.any_horizontal(pl.col("submitted", "page_seconds").is_not_null())
    once = responses.without(known & ~row.is_first_distinct(), "same_row_twice")
    # The row that remains has the page's cost.
    responses = replace(once, lost_pages=responses.lost_pages)
    tests = responses.table.filter(~pl.col("is_control"))
    if tests.height == tests.select(same).n_unique():
        return responses
    different = (pl.col("answer").n_unique().over(same) > 1) & ~pl.col("is_control")
    two = responses.table.filter(different)
    if two.height and repeats == "refuse":
        first, second = (
            two.filter(pl.struct(same) == pl.struct(same).first())
            .unique("answer", maintain_order=True)
            .head(2)
            .to_dicts()
        )
        raise DataError(
            f"annotator {second['respondent']} gave one item two answers, {second['answer']!r} here and "
            f"{first['answer']!r} in row {first['row']}; choose first, last or drop with {argument('repeats')}",
            file=second["file"],
            row=second["row"],
        )
    if repeats == "drop":
        responses = responses.without(different, "contradicted")
    table = responses.table.select(*same, pl.coalesce("submitted", "started").alias("time"))
    by_row = pl.col("time").is_null().any().over(same)
    place = pl.when(by_row).then(pl.int_range(1, pl.len() + 1)).otherwise(pl.col("time").rank("ordinal"))
    table = table.with_columns(place.cast(pl.Int64).alias("place"))
    best = pl.col("place").max() if repeats == "last" else pl.col("place").min()
    chosen = table.select(pl.col("place") == best.over(same)).to_series()
    return responses.without(~chosen & ~pl.col("is_control"), "repeated")


#: A part of each answer that means "may be mine"; other answers need no closer look.
_PERHAPS_MINE: Final = r"(?i)мной|мною|мой|моё|мое|\bmine\b|\bmy\b|\bby me\b|^не показан"


def _without_skipped(responses: Responses, reading: Reading) -> Responses:
    """Leave out answers that mean "may be mine", and items not shown to their author: they are no votes."""
    # A task that was not shown is no paid page.
    shown = responses.without(pl.col("answer") == NOT_SHOWN, "not_shown")
    responses = replace(shown, lost_pages=responses.lost_pages)
    texts = responses.table["answer"].drop_nulls()
    perhaps = texts.filter(texts.str.contains(_PERHAPS_MINE)).unique().to_list()
    own = {spelling(text) for text in reading.skip}
    if own:
        perhaps = texts.unique().to_list()
    mine = [text for text in perhaps if may_be_mine(text) or spelling(text) in own]
    return responses.without(pl.col("answer").is_in(mine), "may_be_mine") if mine else responses


def _matching_controls(table: pl.DataFrame, dataset: Dataset, least: float) -> pl.DataFrame:
    """Replace the known answer of a control item by the given answer if that answer counts as right."""
    columns = ["kind", "answer", "control"]
    pairs = table.filter("is_control").select(columns).drop_nulls().unique(maintain_order=True)
    if not pairs.height:
        return table
    answers, known = pairs["answer"].to_list(), pairs["control"].to_list()
    separator = dataset.answer.alternatives
    if "grade_norm" in dataset.metrics:
        right = [
            _exam_right(answer, true, kind)
            for kind, answer, true in zip(pairs["kind"], answers, known, strict=True)
        ]
    else:
        right = [
            best_f1(answer, true, separator) >= least for answer, true in zip(answers, known, strict=True)
        ]
    hits = pairs.with_columns(pl.Series("right", right)).filter("right")
    joined = table.join(hits, on=columns, how="left", nulls_equal=False, maintain_order="left")
    return joined.with_columns(pl.when("right").then("answer").otherwise("control").alias("control")).drop(
        "right"
    )


#: What stands in a table of answers for a question that was not shown to the expert who wrote it.
NOT_SHOWN: Final = "не показан: вопрос придуман этим экспертом"

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
    plain = text.translate(_QUOTES).translate(_DASHES).casefold().translate(YO)
    return " ".join(_PUNCTUATION.sub(" ", plain).split())


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
