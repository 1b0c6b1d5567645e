"""The answers in a model's replies, each with the rule that found it, or the reason why there is none."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import repeat
from math import inf, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, cast, get_args

from merilo.answer_tables import ItemAnswer
from merilo.atomic_write import write_text
from merilo.datasets import Answer, Dataset
from merilo.datasets.rendering import offered_labels, option_fields
from merilo.errors import DataError, InputError, argument
from merilo.estimate import Finding
from merilo.items import Item
from merilo.models.asking import ModelReply, Replies, split_thought
from merilo.models.log_formats import Source
from merilo.models.reply_files import SeenChoice, read_replies
from merilo.models.reply_reader import Form, read
from merilo.models.run_log import TOKENS
from merilo.settings import Manner
from merilo.strict_json import Json
from merilo.text import Text
from merilo.wording import listed, shortened

if TYPE_CHECKING:
    import polars as pl

#: What became of a request.
ExtractionOutcome: TypeAlias = Literal[
    "answered", "refused", "empty", "truncated", "unreadable", "too_long", "failed"
]
#: The outcomes in the order of tables.
OUTCOMES: Final[tuple[ExtractionOutcome, ...]] = get_args(ExtractionOutcome)

_REPORTED: Final[Mapping[str, ExtractionOutcome]] = {
    "failed": "failed",
    "too_long": "too_long",
    "refusal": "refused",
}
_LONGEST_PIECE: Final = 500
#: A refusal, in a reply that states no answer.
_REFUSAL: Final = re.compile(
    r"\bI(?: can(?:no|')t| won't| am (?:unable|not able)|'m (?:sorry|unable|not able))\b|as an ai\b"
    r"|\bunable to (?:answer|assist|help)|\bне могу\b|\bотказываюсь\b|к сожалению, я|\bя не знаю\b"
    r"|\bне (?:буду|стану) (?:отвеч|выбир|перефраз|помог)|как языковая модель",
    re.IGNORECASE,
)
#: Rules that read an answer which the reply does not announce, so that it may be a refusal.
_UNANNOUNCED: Final = ("whole reply", "only one")
#: Words that only a program has; a refusal has none of them.
_CODE: Final = ("def ", "return", "```", "lambda", "=")


class ExtractedAnswer(NamedTuple):
    """The answer in a model's reply.

    Attributes:
        answer: the answer in the form of the dataset: a label, an integer in digits, a text, a label per
            criterion; for a program, the whole text of the reply, from which the sandbox extracts it. `None`
            if there is none: with any outcome but "answered", except for a program that was cut off
            ("truncated"), whose text is kept.
        outcome: whether there is an answer, and if not, why.
        rule: the name of the rule that found the answer, or the reason why there is none.
        piece: the piece of the reply that the rule read, at most 500 characters.
    """

    answer: Json
    outcome: ExtractionOutcome
    rule: str
    piece: str = ""


#: The rule of an answer that was found as a letter of an option.
BY_LETTER: Final = "letter of the choice"


def read_reply(
    declared: Dataset,
    item: Item,
    reply: ModelReply,
    manner: Manner = "merilo",
    *,
    choices: Sequence[SeenChoice] = (),
) -> ExtractedAnswer:
    """Find the answer in a reply.

    Thought is set aside first. If a reply holds several different answers and no rule decides between them,
    it is unreadable: no rule guesses. In a reply that was cut off at the limit of tokens, only an answer that
    the reply marks as one counts.

    In the manner of the benchmark's harness, an answer of one of a few labels is the first digit or letter from A to D
    that stands alone (in RWSD: the first of its labels), else "-1"; an open answer is the whole text without white
    space at its beginning; of equal log-likelihoods, the first one decides.

    Args:
        declared: the dataset.
        item: the item.
        reply: the reply.
        manner: how the answer is found.
        choices: the choices that the model saw; by default, those of the item.

    Example:
        >>> from merilo.datasets import dataset
        >>> item, declared = Item(1, "{inputs}", "( )", "1"), dataset("bps")
        >>> read_reply(declared, item, ModelReply(text="<think>Pairs.</think>Answer: **1**."))
        ExtractedAnswer(answer='1', outcome='answered', rule='answer statement', piece='Answer: 1.')
        >>> [read_reply(declared, item, ModelReply(text=text), "harness").answer for text in ("2 pairs: 1", "10")]
        ['2', '-1']
    """
    as_harness = manner == "harness" and declared.answer.kind != "program"
    outcome = _REPORTED.get(reply.finish)
    if outcome and not (as_harness and outcome == "refused"):
        said = (reply.error or reply.text)[:_LONGEST_PIECE]
        return ExtractedAnswer(None, outcome, "reported by the backend", said)
    if reply.loglikelihoods:
        return _most_likely(declared, item, reply.loglikelihoods, choices, first=as_harness)
    cut = reply.finish == "length"
    find = _as_harness if as_harness else partial(_from_text, cut=cut)
    label_of = {choice.name: choice.label for choice in choices}
    labels = offered_labels(item, declared)
    if any(label_of.values()):
        form = Form("label", (*label_of,), {choice.name: choice.text for choice in choices})
        extracted = find(reply.text, form, declared)
        if isinstance(letter := extracted.answer, str) and letter in label_of:
            return extracted._replace(answer=label_of[letter], rule=BY_LETTER)
        if label_of.keys() & {*labels}:
            return extracted  # a label in the reply is a letter that the model saw
    extracted = find(reply.text, form_of(declared, item), declared)
    if declared.answer.criteria and extracted.answer in labels:
        # One label answers all criteria, as in submissions.
        return extracted._replace(answer=dict.fromkeys(declared.answer.criteria, str(extracted.answer)))
    return extracted


def _from_text(said: str, form: Form, declared: Dataset, *, cut: bool) -> ExtractedAnswer:
    """Find the answer in a text by Merilo's rules."""
    text = split_thought(said).answer
    if not text:
        reason = "the limit of tokens came before an answer" if cut else "no text"
        return ExtractedAnswer(None, "truncated" if cut else "empty", reason)
    refused = _REFUSAL.search(text)
    if declared.answer.kind == "program":
        if not refused or any(word in text for word in _CODE):
            rule = f"whole text{', cut off' * cut}; the sandbox takes the program from it"
            return ExtractedAnswer(said, "truncated" if cut else "answered", rule)
    elif (judged := _all_criteria(declared, text)) is not None:
        return ExtractedAnswer(judged, "answered", "criteria", text[:_LONGEST_PIECE])
    else:
        value, rule, piece = read(text, form, cut=cut)
        if value is not None and not (refused and rule in _UNANNOUNCED):
            return ExtractedAnswer(value, "answered", rule, piece[:_LONGEST_PIECE])
        if not refused:
            return ExtractedAnswer(None, "truncated" if cut else "unreadable", rule, piece[:_LONGEST_PIECE])
    return ExtractedAnswer(None, "refused", "refusal", refused[0])


def _as_harness(said: str, form: Form, declared: Dataset) -> ExtractedAnswer:
    """Find the answer in a text as the benchmark's harness does."""
    if form.kind != "label":
        text = said.lstrip()
        return ExtractedAnswer(text, "answered" if text else "empty", "whole text", text[:_LONGEST_PIECE])
    labels = form.labels
    kind = r"[0-9]" if all(map(str.isdigit, labels)) else r"[ABCD]" if set(labels) <= set("ABCD") else ""
    match = re.search(rf"\b(?:{kind or '|'.join(map(re.escape, labels))})\b", said)
    if match and match[0] in labels:
        return ExtractedAnswer(match[0], "answered", "first label", match[0])
    unread = None if declared.answer.criteria else match[0] if match else "-1"
    return ExtractedAnswer(unread, "unreadable" if said.strip() else "empty", "first label")


def _most_likely(
    declared: Dataset, item: Item, values: Sequence[float], choices: Sequence[SeenChoice], *, first: bool
) -> ExtractedAnswer:
    """Return the label of the most likely choice; equal or missing log-likelihoods decide nothing.

    Args:
        declared: the dataset.
        item: the item.
        values: the log-likelihoods, of the choices or of the labels.
        choices: the choices that the model saw.
        first: whether the first of equal log-likelihoods decides.
    """
    labels = [choice.label for choice in choices] or [*offered_labels(item, declared)]
    shown = ", ".join(f"{value:.4f}" for value in values)
    if len(values) != len(labels) or any(map(isnan, values)):
        return ExtractedAnswer(None, "unreadable", "log-likelihoods are missing", shown)
    best = max(values)
    place = values.index(best)
    if choices and {*labels} != {*offered_labels(item, declared)}:
        name = choices[place].name
        return ExtractedAnswer(name.strip(), "answered", "text of the likeliest choice", name)
    if values.count(best) > 1 and not first:
        return ExtractedAnswer(None, "unreadable", "equal log-likelihoods", shown)
    label = labels[place]
    answer: Json = dict.fromkeys(declared.answer.criteria, label) if declared.answer.criteria else label
    return ExtractedAnswer(answer, "answered", "greatest log-likelihood", shown)


def _all_criteria(declared: Dataset, text: str) -> Json:
    """Return the labels of all criteria, from a JSON object or one a line; `None` without them."""
    if not declared.answer.criteria:
        return None
    label = rf"[^\n\w]*?[:=—–-][\s\"'*]*({'|'.join(map(re.escape, declared.answer.labels))})"
    matches = {
        name: re.search(rf"\b{name}\b{label}\b", text, re.IGNORECASE) for name in declared.answer.criteria
    }
    labels_of: dict[str, Json] = {name: match[1] for name, match in matches.items() if match}
    return labels_of if len(labels_of) == len(matches) else None


_LISTED: Final = re.compile(r"(?:^|\n)\s*(\d+)\)")
_IN_TEXT: Final = re.compile(r"\((\d+)\)")


def numbers_of(item: Item) -> list[str]:
    """Return the numbers among which a task lets choose: those of its options, or else those in its text."""
    fields = item.inputs if not isinstance(item.inputs, str) else {"text": item.inputs}
    texts = {name: value for name, value in fields.items() if isinstance(value, str)}
    listed = _LISTED.findall(texts.get("choices", ""))
    numbers = [
        number for name, text in texts.items() if name != "choices" for number in _IN_TEXT.findall(text)
    ]
    return list(dict.fromkeys(listed or numbers))


#: How many letters a task of the exam asks a number for.
_LETTERS_ASKED: Final = 4


def form_of(declared: Dataset, item: Item) -> Form:
    """Return what an answer to an item may be."""
    if declared.answer.kind == "integer":
        return Form("integer")
    if declared.answer.kind == "text":
        exam = "grade_norm" in declared.metrics and item.meta.get("type") != "text"
        if exam:
            letters = _LETTERS_ASKED if item.meta.get("type") == "matching" else 0
            return Form("numbers", letters=letters, choices=frozenset(numbers_of(item)))
        return Form("text", sentence=declared.rated)
    inputs = item.inputs if not isinstance(item.inputs, str) else {}
    texts = {label: inputs.get(name) for label, name in option_fields(declared).items()}
    options = {label: text for label, text in texts.items() if isinstance(text, str)}
    return _label_form(offered_labels(item, declared), tuple(options.items()))


@lru_cache(maxsize=64)
def _label_form(labels: tuple[str, ...], options: tuple[tuple[str, str], ...]) -> Form:
    """Make a form once for all replies to an item, because it compiles a pattern for each option."""
    return Form("label", labels, dict(options))


#: Why a model stopped, where the backend reports that there is no reply.
_NO_REPLY: Final = frozenset({"failed", "too_long"})

#: The share of replies that were cut at the limit of tokens from which a run warns.
MANY_CUT: Final = 0.05


@dataclass(frozen=True, slots=True)
class ItemAnswers:
    """The answers of a respondent to one dataset.

    Attributes:
        declared: the dataset.
        rows: the answers in the order of the items, then of the samples, or of a table; requests that failed are not
            among them.
        outcomes: outcome -> number of requests.
        asked: how many answers were wanted.
        rules: how many answers each rule found.
        models: the names that the backend gave for the model, such as a dated version.
        usd: the cost in US dollars; `None` if no reply states it.
        tokens: tokens of requests, of answers, and of thought within the answers.
        unanswered: requests that failed or were too long, in the order of the log; `rule` is what the backend reported.
        replies: how many replies there are, without those of requests that failed or were too long.
        cut: how many of them ended at the limit of tokens.
        cut_at: the most tokens of a reply that was cut; 0 if the backend does not count them.
        manner: how answers are found in replies.
        source: how the rows of a log or a table of replies were matched to items; `None` for a run or a table of
            answers.
        unknown: the ids of a table that match no item, as written in the file.
        russian: whether replies name the options by Russian letters.
    """

    declared: Dataset
    rows: Sequence[ItemAnswer]
    outcomes: Mapping[str, int] = field(default_factory=dict)
    asked: int = 0
    rules: Mapping[str, int] = field(default_factory=dict)
    models: tuple[str, ...] = ()
    usd: float | None = None
    tokens: tuple[int, ...] = (0, 0, 0)
    unanswered: tuple[ItemAnswer, ...] = ()
    replies: int = 0
    cut: int = 0
    cut_at: int = 0
    manner: Manner = "merilo"
    source: Source | None = None
    unknown: tuple[str, ...] = ()
    russian: bool = False

    @property
    def in_file_order(self) -> list[ItemAnswer]:
        """The answers of a log or a table of replies in its order."""
        return sorted(self.rows, key=lambda answer: (answer.row, int(answer.sample or 1)))

    @property
    def unreadable(self) -> tuple[ItemAnswer, ...]:
        """The replies in which no rule finds one answer, or something speaks against it."""
        return tuple(answer for answer in self.rows if answer.outcome == "unreadable")

    @property
    def failed(self) -> int:
        """How many requests failed, so that their items have no answer."""
        return self.outcomes.get("failed", 0)

    @property
    def missing(self) -> int:
        """How many requests were not asked yet."""
        return self.asked - sum(self.outcomes.values())

    @property
    def all_outcomes(self) -> dict[str, int]:
        """What became of all requests, in the order of tables, zeros included."""
        return {**{name: self.outcomes.get(name, 0) for name in OUTCOMES}, "not_asked": self.missing}

    @property
    def absences(self) -> str:
        """What became of the requests that have no answer, such as "2 refused, 1 not asked"."""
        names = [name for name, count in self.all_outcomes.items() if count > 0 and name != "answered"]
        return ", ".join(f"{self.all_outcomes[name]} {name.replace('_', ' ')}" for name in names)

    def sentences(self) -> Iterator[str]:
        """Yield what a reader must know of a log: what it is, and its faults."""
        if self.source:
            yield str(self.source)
        yield from self.faults()

    def faults(self) -> Iterator[str]:
        """Yield what limits the answers of a log, one sentence at a time; nothing if every row is an answer."""
        if (source := self.source) is None:
            return
        if source.unmatched:
            yield Text(
                "{count:# row belongs to no item and is|# rows belong to no item and are} left out "
                "({reasons}; the first: {first})",
                count=source.unmatched.total(),
                reasons=source.reasons,
                first=", ".join(source.examples),
            ).en
        total = sum(self.outcomes.values())
        unread = {name: n for name, n in self.outcomes.items() if name not in {"answered", "failed"}}
        if unread:
            yield f"{sum(unread.values())} of {total} answers cannot be read ({_counted(unread)})"
        if self.failed:
            yield Text(
                "{lost} of {total} requests failed, which {lost:leaves its item|leave their items} without an answer",
                lost=self.failed,
                total=total,
            ).en
        if source.other_prompts:
            yield (
                f"in {source.other_prompts} of {source.prompts_checked} rows the prompt is not the dataset's"
                f" (first: item {source.other_prompt}), so these answers are to another question than people read"
            )
        if self.russian:
            yield RUSSIAN_LETTERS
        yield from source.notes

    def warnings(self, most: int = 5) -> list[str]:
        """Return a sentence if many replies were cut, and for each reason why requests have no reply.

        Args:
            most: how many items and reasons are named.
        """
        title = self.declared.title
        sentences = [f"{title}: {RUSSIAN_LETTERS}"] if self.russian else []
        if self.cut >= MANY_CUT * self.replies > 0:
            after = f" after {self.cut_at} tokens" if self.cut_at else ""
            thought = f"; thought takes {self.tokens[2] / self.tokens[1]:.0%} of all tokens" * bool(
                self.tokens[2]
            )
            more = argument("max_tokens", "N" if not self.cut_at else str(4 * self.cut_at))
            sentences.append(
                f"{title}: {self.cut} of {self.replies} replies ({self.cut / self.replies:.0%}) were cut at the limit "
                f"of tokens{after}{thought}: ask with a larger limit in another folder ({more})"
            )
        items_of: dict[tuple[str, str], list[str]] = {}
        for request in self.unanswered:
            items_of.setdefault((request.outcome, request.rule), []).append(request.item)
        for (outcome, reason), items in sorted(items_of.items(), key=lambda pair: -len(pair[1]))[:most]:
            what = "failed" if outcome == "failed" else "too long for the model's context"
            named = listed([*dict.fromkeys(items)], most)
            why = shortened(reason or "no reason given", 200)
            sentences.append(f"{title}: {len(items)} {what}: {why} (items: {named})")
        return sentences


def _counted(outcomes: Mapping[str, int]) -> str:
    return listed([f"{name.replace('_', ' ')}: {count}" for name, count in sorted(outcomes.items())])


def answers_in(
    replies: Replies, items: Mapping[str, Item], *, samples: int | None = None, manner: Manner = "merilo"
) -> ItemAnswers:
    """Find the answers in replies.

    Args:
        replies: the replies; those to other items are left out.
        items: the items by name.
        samples: how many answers to each item were asked for; by default, as many as there are.
        manner: how answers are found.
    """
    declared, table = replies.dataset, replies.table
    russian = manner == "merilo" and names_in_russian(declared, table)
    read_answers = [*_answers(table, declared, items, manner, russian=russian)]
    counts = Counter(answer.outcome for answer in read_answers)
    sums = tuple(int(table[name].sum() or 0) for name in TOKENS)
    cut = table.filter(table["finish"] == "length")
    reported = table.filter(table["finish"].is_in(list(_NO_REPLY)))
    unanswered = reported.select("item", "sample", "finish", "error").iter_rows()
    return ItemAnswers(
        declared,
        [answer for answer in read_answers if answer.outcome != "failed"],
        counts,
        counts.total() if samples is None else len(items) * samples,
        Counter(answer.rule for answer in read_answers),
        tuple(sorted(set(table["model"].drop_nulls()))),
        float(table["usd"].sum()) if table["usd"].is_not_null().any() else None,
        sums,
        tuple(
            ItemAnswer(0, item, "", sample, outcome=outcome, rule=reason or "")
            for item, sample, outcome, reason in unanswered
            if item in items
        ),
        replies=table.height - reported.height,
        cut=cut.height,
        cut_at=cast("int | None", cut["completion_tokens"].max()) or 0,
        manner=manner,
        source=replies.source,
        russian=russian,
    )


#: The letters of options in Russian, and the labels of the same place.
_LATIN: Final = dict(zip("АБВГДЕЖЗИК", "ABCDEFGHIJ", strict=True))
_RUSSIAN_LETTER: Final = r"\b[АБВГДЕЖЗИК]\b"
#: Those that look like no Latin letter.
_ONLY_RUSSIAN: Final = frozenset("БГДЖЗИ")


#: What a reader is told of them.
RUSSIAN_LETTERS: Final = (
    "replies name options by the Russian letters А, Б, В, ...: В is read as the third option"
)


def names_in_russian(declared: Dataset, table: pl.DataFrame) -> bool:
    """Check whether a model names the options А, Б, В, ..., so that В is the third one and not the Latin B."""
    letters = dict(zip(_LATIN, declared.answer.labels, strict=False))
    if not letters or any(_LATIN[letter] != label.upper() for letter, label in letters.items()):
        return False
    own = table.filter(table["choices"].is_null()) if "choices" in table.columns else table
    texts = own["text"].drop_nulls()
    form = Form("label", tuple(letters))
    return any(
        read(split_thought(text).answer, form).value in _ONLY_RUSSIAN
        for text in texts.filter(texts.str.contains(rf"\b[{''.join(sorted(_ONLY_RUSSIAN))}]\b"))
    )


def in_latin(text: str) -> str:
    """Return a text with the Latin letters of options in place of the Russian ones.

    Example:
        >>> in_latin("Ответ: В")
        'Ответ: C'
    """
    return re.sub(_RUSSIAN_LETTER, lambda letter: _LATIN[letter[0]], text)


def write_answers(run: Path, answers: ItemAnswers) -> None:
    """Write the answers to a dataset into the run's folder.

    `<dataset>.jsonl`, for programs `<dataset>.completions.jsonl`.

    Raises:
        OutputError: the file cannot be written.
    """
    programs = answers.declared.answer.kind == "program"
    item, answer = ("task_id", "completion") if programs else ("id", "answer")
    lines = (
        json.dumps(
            {item: entry.item, answer: entry.answer, "sample": entry.sample, "outcome": entry.outcome},
            ensure_ascii=False,
        )
        for entry in answers.rows
    )
    path = run / f"{answers.declared.name}.{'completions.' if programs else ''}jsonl"
    write_text(path, "".join(f"{line}\n" for line in lines))


def _answers(
    table: pl.DataFrame, declared: Dataset, items: Mapping[str, Item], manner: Manner, *, russian: bool
) -> Iterator[ItemAnswer]:
    """Yield the answer of each reply, in the order of items and samples."""
    import polars as pl  # noqa: PLC0415 - takes half a second

    names, ordered_items = [*items], [*items.values()]
    places = pl.DataFrame(
        {"item": names, "place": range(len(names))}, schema={"item": pl.String, "place": pl.Int64}
    )
    ordered = table.join(places, on="item").sort("place", "sample")
    columns = ("place", "sample", "row", "text", "finish", "error", "loglikelihoods", "choices")
    # A run has no rows of a file, and asks with the item's own choices.
    cells = (ordered[name].to_list() if name in ordered.columns else repeat(None) for name in columns)
    shared: dict[Hashable, ExtractedAnswer] = {}
    last = -1
    for place, sample, row, text, finish, error, values, choices in zip(*cells, strict=False):
        if place != last:
            # Samples of one item often repeat each other.
            known: dict[tuple[str, str], ExtractedAnswer] = {}
            item, last = ordered_items[place], place
            group, options = _alike(declared, item)
        alone = bool(values or choices or finish in _NO_REPLY)
        if russian and not alone:
            text = in_latin(text)  # noqa: PLW2901
        extracted = None if alone else known.get((text, finish))
        if extracted is None:
            letters = "" if alone else _squeezed(text)
            own = not letters or any(option in letters for option in options)
            extracted = None if own else shared.get((group, text, finish))
            if extracted is None:
                likelihoods = tuple(-inf if value is None else value for value in values or ())
                reply = ModelReply(text=text, finish=finish, loglikelihoods=likelihoods, error=error)
                seen = [SeenChoice(**choice) for choice in choices or ()]
                extracted = read_reply(declared, item, reply, manner, choices=seen)
            if not own:
                shared[group, text, finish] = extracted
            if not alone:
                known[text, finish] = extracted
        answer = "" if extracted.answer is None else extracted.answer
        yield ItemAnswer(
            row or 0, names[place], answer, sample, outcome=extracted.outcome, rule=extracted.rule
        )


def _alike(declared: Dataset, item: Item) -> tuple[Hashable, list[str]]:
    """Return what items have in common whose replies are read alike unless they name an option, and the options."""
    form = form_of(declared, item)
    options = [_squeezed(text) for text in form.options.values()]
    return (form.kind, form.labels, (*form.options,), form.letters, form.choices), options


@lru_cache(maxsize=4096)
def _squeezed(text: str) -> str:
    """Return the letters and digits of a text in one case; nothing if marks of LaTeX or Markdown may hide some."""
    if _HIDING.search(text):
        return ""
    return "".join(_LETTERS.findall(unicodedata.normalize("NFKC", text).upper().casefold()))


#: Marks that the reader removes with letters inside them.
_HIDING: Final = re.compile(r"[\\`~]")
_LETTERS: Final = re.compile(r"[^\W_]+")


def read_answers(
    path: Path, declared: Dataset, items: Mapping[str, Item], *, replies: bool = False
) -> ItemAnswers | None:
    """Read the answers in a log or a table of replies; arguments and errors as for `read_replies`.

    Returns:
        The answers; `None` for a table of answers.

    Raises:
        DataError: all requests failed; or as for `read_replies`.
    """
    logged = read_replies(path, declared, items, replies=replies)
    if logged is None:
        return None
    answers = answers_in(logged, items)
    if not answers.rows:
        raise DataError(f"holds no answers: all {answers.failed} requests to items failed", file=path)
    return answers


#: An answer of kind "integer"; people's spellings of a number have spaces and commas.
_NUMBER: Final = re.compile(r"[-+−]?\d[\d\s.,]*")


def no_labels(
    answers: Iterable[tuple[str, str | Mapping[str, str]]],
    form: Answer,
    labels: Collection[str],
    file: object,
) -> Finding | None:
    """Find answers that are no labels, where only labels can be right; an empty answer is one of them.

    Args:
        answers: the answers, each with its item's id.
        form: the form of an answer.
        labels: the labels.
        file: the file of the answers, for messages.

    Raises:
        InputError: half of the answers are other texts, so that a score would say nothing of the model.
    """
    if form.kind not in {"choice", "criteria", "integer"}:
        return None
    known = _NUMBER.fullmatch if form.kind == "integer" else labels.__contains__
    others: list[tuple[str, str]] = []
    total = 0
    for item, answer in answers:
        for label in [answer] if isinstance(answer, str) else sorted({*map(str, answer.values())}):
            total += 1
            if not known(label):
                others.append((item, label))
    if not others:
        return None
    first, example = max(others, key=lambda other: bool(other[1]))
    if 2 * sum(bool(text) for _, text in others) >= total:
        kind = "numbers" if form.kind == "integer" else f"labels ({listed(sorted(labels))})"
        # "В" may be the Cyrillic letter
        sign = example if len(example) == 1 and not example.isascii() else ""
        named = f" ({unicodedata.name(sign, '').capitalize()})" if sign else ""
        raise InputError(
            f"{len(others)} of {total} answers are no {kind}, such as {shortened(example)!r}{named} for item "
            f"{first[:60]!r}: give the labels; if these are whole replies of a model, name their column 'reply'",
            file=file,
        )
    ids = tuple(dict.fromkeys(item for item, _ in others))
    return Finding(
        code="no_labels",
        sentence=Text(
            "{count} of {total} answers are no {kind:integer=numbers|labels} and count as wrong, such as "
            "'{example}' (items {items}); if they are whole replies of a model, name their column 'reply'",
            count=len(others),
            total=total,
            kind=form.kind,
            items=[printable(name[:60]) for name in ids],
            example=printable(shortened(example)),
        ),
        items=ids,
    )


def refuse_unreadable(
    answers: Iterable[str | Mapping[str, str]], log: ItemAnswers | None, file: object
) -> None:
    """Refuse answers none of which can be read: their score would be that of a wrong format.

    Args:
        answers: the answers to items; one that cannot be read is empty.
        log: the answers with their outcomes, if they were read in replies; `None` for a file of answers.
        file: the file of the answers, for messages.

    Raises:
        DataError: all answers are empty.
    """
    texts = [answer if isinstance(answer, str) else "".join(answer.values()) for answer in answers]
    if any(texts) or not texts:
        return
    why = _counted(log.outcomes if log else {}) or "all are empty"
    form = "log" if log else "file"
    raise DataError(
        f"not one of {len(texts)} answers can be read ({why}), so the score would say nothing of the model: check that "
        f"the {form} holds the model's replies to these items, or give {argument('force', given=True)} to count "
        "all as wrong",
        file=file,
    )


def printable(text: str) -> str:
    """Return a text of a file for a message, without signs that would move the cursor."""
    return text if text.isprintable() else ascii(text)[1:-1]
