"""Guess from the rows of a file what a dataset's declaration says: its fields, options, gold answers and groups.

Guesses go by the names that public datasets use, and are checked against the values. Every guess can be replaced.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from merilo.datasets.declaration import BASIC_SKILLS, Answer, Dataset, GoldForm, ItemColumns
from merilo.datasets.own_items import (
    QuestionRow,
    gold_place,
    gold_values,
    integer_of,
    is_media,
    meta_name,
    option_name,
    options_of,
)
from merilo.errors import InputError, UsageError, argument
from merilo.settings import OUTPUT, CheckedSettings, Help
from merilo.text import Language, Text
from merilo.wording import choices, listed, shortened

#: The form of an answer that a user can name.
AnswerForm: TypeAlias = Literal["choice", "integer", "text"]

#: How gold answers can name an option; the options' own labels come first.
FORMS: Final[tuple[GoldForm, ...]] = ("label", "letter", "from-0", "from-1", "text")

_COLUMNS: Final = "Instead of a guess"
_COLUMN: Final = "COLUMN"

#: The value of an option that turns a guess off.
NONE: Final = "none"

_IDS: Final = (
    *(
        "id",
        "qid",
        "question_id",
        "questionid",
        "item_id",
        "example_id",
        "sample_id",
        "problem_id",
        "task_id",
    ),
    *("uid", "guid", "key", "idx", "ind", "index", "number", "no", "номер"),
)
#: Texts before the question.
_CONTEXTS: Final = (
    *("context", "passage", "article", "paragraph", "story", "document", "background", "dialogue", "support"),
    *("text", "text1", "text2", "premise", "hypothesis", "sentence1", "sentence2", "контекст", "текст"),
)
_QUESTIONS: Final = (
    *("question", "question_stem", "question_text", "query", "problem", "prompt", "stem", "ctx", "goal"),
    *("sentence", "statement", "claim", "instruction", "input", "inputs", "text", "вопрос", "задание"),
)
_OPTIONS: Final = (
    *("options", "choices", "endings", "candidates", "alternatives", "variants", "answer_choices", "choice"),
    *("варианты", "варианты_ответа"),
)
_OPTION_LABELS: Final = ("label", "labels", "letter", "letters", "key", "keys")
#: Beginnings of columns that end in a letter or number, but hold no options.
_NO_OPTIONS: Final = ("sentence", "text", "ctx", "premise", "passage", "string", "word", "question", "input")
_RIGHT: Final = ("correct_answer", "right_answer", "best_answer")
_WRONG: Final = ("incorrect_answer", "wrong_answer", "distractor", "incorrect")
_GOLD: Final = (
    *("gold", "answerkey", "answer_key", "correct_answer", "correct_option", "correct_choice", "correct"),
    *("answer", "answers", "gold_label", "label", "target", "cop", "answer_idx", "answer_index"),
    *("best_answer", "solution", "output", "outputs", "ground_truth", "эталон", "правильный_ответ", "ответ"),
)
_GROUPS: Final = (
    *("subject", "category", "domain", "raw_subject", "topic", "field", "discipline", "subset", "task"),
    *("question_type", "type", "difficulty", "level", "предмет", "категория", "домен", "тема"),
)
_CLUSTERS: Final = (
    *("passage_id", "context_id", "article_id", "document_id", "paragraph_id", "story_id", "source_id"),
    *("group_id", "template_id", "title"),
)
#: Parts of names of columns that tell the answer, which are not kept as `meta`.
_TELLING: Final = (
    "answer",
    "label",
    "gold",
    "correct",
    "solution",
    "rationale",
    "explanation",
    "cot",
    "ответ",
)
_PREVIEW: Final = ("preview", "rationale", "solution", "answer")

_CYRILLIC: Final = re.compile(r"[\u0400-\u04ff]")
_LATIN: Final = re.compile(r"[A-Za-z]")
#: A choice has at most so many labels, a group so many values; longer texts are no category.
_MOST_LABELS, _MOST_GROUPS, _LONGEST_CATEGORY = 10, 100, 60
_MOST_OPTIONS: Final = 26


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes(CheckedSettings):
    """What a user says about a file of questions; the rest is guessed. `none` turns the guess of a column off."""

    name: Annotated[str | None, Help("The dataset's name. Default: that of the file.", OUTPUT)] = None
    id: Annotated[str | None, Help("The column of ids; none: the rows are numbered.", _COLUMNS, _COLUMN)] = (
        None
    )
    question: Annotated[
        tuple[str, ...],
        Help(
            "A column that is shown; may be given several times, in the order of the prompt.",
            _COLUMNS,
            _COLUMN,
        ),
    ] = ()
    options: Annotated[
        tuple[str, ...],
        Help(
            "A column with an option; may be given several times. Or one with lists; or none.",
            _COLUMNS,
            _COLUMN,
        ),
    ] = ()
    gold: Annotated[
        tuple[str, ...],
        Help(
            "The column of gold answers; several columns are all right answers; none: there are none.",
            _COLUMNS,
            _COLUMN,
        ),
    ] = ()
    gold_is: Annotated[
        GoldForm | None,
        Help(
            "How a gold answer names an option: its letter, its number from 0 or from 1, its text or own label.",
            _COLUMNS,
        ),
    ] = None
    gold_after: Annotated[
        str | None, Help("The text after which a gold answer starts, such as '####'.", _COLUMNS, "TEXT")
    ] = None
    group: Annotated[
        str | None, Help("The column of groups, for a score of each; or none.", _COLUMNS, _COLUMN)
    ] = None
    cluster: Annotated[
        str | None, Help("The column that dependent items share, such as a text; or none.", _COLUMNS, _COLUMN)
    ] = None
    answer: Annotated[AnswerForm | None, Help("The form of an answer.", _COLUMNS)] = None
    language: Annotated[
        Language | None, Help("The language of the prompts. Default: that of the questions.", _COLUMNS)
    ] = None


@dataclass(frozen=True, slots=True)
class Guess:
    """A declaration that was made from rows.

    Attributes:
        declared: the declaration; its columns name no file yet.
        language: the language of its prompts.
        notes: what the user should check.
        ready: whether the items are in the benchmark's format, so that no columns are named.
    """

    declared: Dataset
    language: Language
    notes: tuple[Text, ...] = ()
    ready: bool = False


def guess(rows: Sequence[QuestionRow], wishes: Wishes, file: Path) -> Guess:
    """Make the declaration of a dataset from the rows of its file.

    Args:
        rows: the rows.
        wishes: what the user says.
        file: their file, for messages.

    Raises:
        UsageError: a column does not exist, or something could not be guessed; the message names the option for it.
        InputError: gold answers do not fit the options.
    """
    return _Guesser(rows, wishes, file).guess()


@dataclass(frozen=True, slots=True)
class _Guesser:
    rows: Sequence[QuestionRow]
    wishes: Wishes
    file: Path

    def guess(self) -> Guess:
        wishes = self.wishes
        given = (wishes.id, wishes.group, wishes.cluster, *wishes.question, *wishes.options, *wishes.gold)
        for name in given:
            if name is not None and name != NONE and name not in self.columns:
                raise UsageError(
                    f"there is no column '{name}' ({choices(name, self.columns)})", file=self.file
                )
        media = self._media()
        questions = list(wishes.question) or self._questions()
        shown = [*([] if wishes.question else media), *questions]
        options = self._options(shown)
        language = wishes.language or self._language(questions)
        columns = ItemColumns(id=self._id(), options=options, option_labels=self._option_labels(options))
        answer, columns = self._answer(columns, shown, language)
        if options:
            texts = [options_of(row, options) for row in self.rows]
            counts = sorted({len(one) for one in texts}, reverse=True)
        else:
            counts = [0]
        fields: dict[str, str] = {}
        for column in shown:
            field = _field(column)
            fields[column] = field if field not in fields.values() else _plain_name(column)
        name = wishes.name or self.file.stem
        media_fields = tuple(fields[name] for name in shown if name in media)
        partial_media = tuple(
            fields[name]
            for name in shown
            if name in media and any(_empty(row.values.get(name)) for row in self.rows)
        )
        labels = answer.labels if options else ()
        hidden = [*partial_media, *(option_name(label) for label in labels[counts[-1] :])]
        group = self._group(shown, columns)
        cluster = self._cluster(shown, group)
        kept = self._meta(shown, columns, group, cluster)
        prompts = _prompts([*fields.values()], media_fields, partial_media, answer, counts, language)
        metrics = {"choice": ("acc",), "integer": ("em",)}.get(answer.kind, ("em", "f1"))
        declared = Dataset(
            name=name,
            title=name,
            fields=(*fields.values(), *map(option_name, labels)),
            media=media_fields,
            hidden=tuple(hidden),
            answer=answer,
            metrics=metrics,
            extra=None if group is None else f"{metrics[0]}.{{{fields.get(group, meta_name(group))}}}",
            cluster=None if cluster is None else fields.get(cluster, meta_name(cluster)),
            skills=(BASIC_SKILLS[1],),
            prompts={"": prompts},
            splits=("test",),
            items=replace(
                columns, fields={field: name for name, field in fields.items() if field != name}, meta=kept
            ),
        )
        return Guess(declared, language, tuple(self._notes(declared)))

    @property
    def columns(self) -> list[str]:
        return [*dict.fromkeys(name for row in self.rows for name in row.values)]

    def values(self, name: str) -> list[Any]:
        return [row.values.get(name) for row in self.rows]

    def filled(self, name: str) -> list[Any]:
        return [value for value in self.values(name) if not _empty(value)]

    def _find(self, names: Iterable[str], fits: Any = None) -> str | None:  # noqa: ANN401 - a test of a column
        """Return the first column with one of the names that passes a test."""
        known: dict[str, str] = {}
        for column in self.columns:
            known.setdefault(_plain_name(column), column)
        found = (known[name] for name in names if name in known)
        return next((name for name in found if fits is None or fits(name)), None)

    def _is_text(self, name: str) -> bool:
        filled = self.filled(name)
        return bool(filled) and all(isinstance(value, str) for value in filled)

    def _id(self) -> str | None:
        if self.wishes.id is not None:
            return None if self.wishes.id == NONE else self.wishes.id

        def identifies(name: str) -> bool:
            values = self.values(name)
            plain = all(type(value) in {str, int} and value != "" for value in values)
            return plain and len(set(map(str, values))) == len(values)

        return self._find(_IDS, identifies)

    def _media(self) -> list[str]:
        found = []
        for name in self.columns:
            filled = self.filled(name)
            if filled and all(map(is_media, filled)) and not any(one in name.casefold() for one in _PREVIEW):
                found.append(name)
        return [name for name in found if not self.wishes.question or name in self.wishes.question]

    def _questions(self) -> list[str]:
        question = self._find(_QUESTIONS, self._is_text)
        contexts = [self._find([name], self._is_text) for name in _CONTEXTS]
        found = [name for name in (*contexts, question) if name is not None]
        if not found:
            raise UsageError(
                f"no column of questions was found: name it with {argument('question', 'COLUMN')} "
                f"(choose from: {listed(self.columns)})",
                file=self.file,
            )
        # The question comes last.
        return list(
            dict.fromkeys([*(name for name in found if name != question), *([question] if question else [])])
        )

    def _options(self, shown: Sequence[str]) -> tuple[str, ...]:
        wishes = self.wishes
        if wishes.options:
            if wishes.options == (NONE,):
                return ()
            if wrong := next((row for row in self.rows if len(options_of(row, wishes.options)) < 2), None):
                raise InputError(
                    f"has fewer than two options in {listed(wishes.options)}",
                    file=self.file,
                    row=wrong.number,
                )
            return wishes.options
        if wishes.answer is not None and wishes.answer != "choice":
            return ()
        for name in self.columns:
            parts = [_plain_name(part) for part in name.split(".")]
            if {*parts} & {*_OPTIONS} and parts[-1] not in _OPTION_LABELS and self._lists(name):
                return (name,)
        if (right := self._find(_RIGHT)) and (
            others := [name for name in self.columns if re.sub(r"_?\d+$", "", _plain_name(name)) in _WRONG]
        ):
            return (right, *others)
        return self._columns_of_options(shown)

    def _lists(self, name: str) -> bool:
        values = self.values(name)
        return all(isinstance(value, list) and 2 <= len(value) <= _MOST_OPTIONS for value in values) and all(
            isinstance(one, str | int | float) for value in values for one in value
        )

    def _columns_of_options(self, shown: Sequence[str]) -> tuple[str, ...]:
        """Return the longest series of columns that end in a, b, c or in 1, 2, 3."""
        series: dict[str, list[tuple[str, str]]] = {}
        for name in self.columns:
            found = re.fullmatch(r"(.*?)[_\W]*([a-z]|\d)", name.casefold())
            found = found or re.fullmatch(r"(op)([a-z])", name.casefold())
            if found and name not in shown and _plain_name(found[1]) not in _NO_OPTIONS:
                series.setdefault(found[1], []).append((found[2], name))
        chosen: tuple[str, ...] = ()
        for ends in series.values():
            ends.sort()
            names = tuple(name for _, name in ends)
            first = ends[0][0]
            follow = all(ord(end) == ord(first) + place for place, (end, _) in enumerate(ends))
            if first in {"a", "0", "1"} and follow and len(names) > max(1, len(chosen)):
                plain = all(
                    isinstance(value, str | int | float) for name in names for value in self.filled(name)
                )
                if plain and all(len(options_of(row, names)) > 1 for row in self.rows):
                    chosen = names
        return chosen

    def _option_labels(self, options: tuple[str, ...]) -> str | None:
        """Return the column of the options' own labels, beside a column of lists of options."""
        if len(options) != 1 or "." not in options[0]:
            return None
        beside = options[0].rpartition(".")[0]
        names = [name for name in self.columns if name.rpartition(".")[0] == beside]
        return next(
            (name for name in names if name.rpartition(".")[2] in _OPTION_LABELS and self._lists(name)), None
        )

    def _gold_columns(self, columns: ItemColumns, shown: Sequence[str]) -> Iterator[tuple[str, ...]]:
        """Yield the possible columns of gold answers, the best first."""
        if columns.options and len(columns.options) > 1 and _plain_name(columns.options[0]) in _RIGHT:
            yield (columns.options[0],)
        taken = {*shown, *columns.options, columns.id, columns.option_labels}
        for wanted in _GOLD:
            for name in self.columns:
                if name not in taken and _plain_name(name) == wanted and self.filled(name):
                    yield (name,)
            inner = [
                name
                for name in self.columns
                if "." in name and _plain_name(name.partition(".")[0]) == wanted and name not in taken
            ]
            ends = {name.rpartition(".")[2]: name for name in inner}
            named = tuple(ends[end] for end in ("value", "text", "aliases", "answer") if end in ends)
            if named:
                yield named

    def _answer(
        self, columns: ItemColumns, shown: Sequence[str], language: Language
    ) -> tuple[Answer, ItemColumns]:
        """Return the form of an answer, and the columns with those of the gold answers."""
        wishes = self.wishes
        if wishes.gold == (NONE,):
            candidates: list[tuple[str, ...]] = [()]
        else:
            candidates = [wishes.gold] if wishes.gold else [*self._gold_columns(columns, shown)]
        if not candidates:
            raise UsageError(
                f"no column of gold answers was found: name it with {argument('gold', 'COLUMN')}, or give "
                f"{argument('gold', NONE)} if there are none (choose from: {listed(self.columns)})",
                file=self.file,
            )
        if columns.options:
            return self._choice(columns, candidates)
        return self._open(replace(columns, gold=candidates[0], gold_after=wishes.gold_after), language)

    def _choice(
        self, columns: ItemColumns, candidates: Sequence[tuple[str, ...]]
    ) -> tuple[Answer, ItemColumns]:
        most = max(len(options_of(row, columns.options)) for row in self.rows)
        if most > _MOST_OPTIONS:
            raise UsageError(f"a question has {most} options; {_MOST_OPTIONS} are the most", file=self.file)
        answer = Answer(kind="choice", labels=tuple(chr(ord("A") + place) for place in range(most)))
        first: InputError | None = None
        for gold in candidates:
            chosen = replace(columns, gold=gold, gold_after=self.wishes.gold_after)
            try:
                return answer, replace(chosen, gold_is=self._gold_is(chosen) if gold else None)
            except InputError as error:
                first = first or error
        raise first or UsageError("no gold answer fits", file=self.file)

    def _gold_is(self, columns: ItemColumns) -> GoldForm:
        """Return how gold answers name the options.

        Raises:
            InputError: no form fits all rows, or several do and mean different options.
        """
        if {*columns.gold} & {*columns.options}:
            return "text"
        wanted = self.wishes.gold_is
        forms: tuple[GoldForm, ...] = FORMS if wanted is None else (wanted,)
        placed: dict[GoldForm, list[int]] = {}
        failed: dict[GoldForm, QuestionRow] = {}
        for form in forms:
            places = []
            for row in self.rows:
                gold = gold_values(row, columns.gold, columns.gold_after)
                if not gold:
                    continue
                own = options_of(row, [columns.option_labels]) if columns.option_labels else []
                place = gold_place(gold[0], form, options_of(row, columns.options), own)
                if place is None or len(gold) > 1:
                    failed[form] = row
                    break
                places.append(place)
            else:
                placed[form] = places
        column = ", ".join(columns.gold)
        if not placed:
            row = failed[forms[0]] if wanted else max(failed.values(), key=lambda one: one.number)
            value = listed(
                [shortened(str(one)) for one in gold_values(row, columns.gold, columns.gold_after)]
            )
            options = listed([shortened(one) for one in options_of(row, columns.options)])
            how = (
                f" ({argument('gold_is', wanted, given=wanted)})"
                if wanted
                else " by its letter, number or text"
            )
            raise InputError(
                f"the gold answer {value} names none of the options {options}{how}",
                file=self.file,
                row=row.number,
                field=column,
            )
        best, *others = placed
        if best != "label" and any(placed[form] != placed[best] for form in others):
            raise UsageError(
                f"the gold answers can name different options if read as {' or as '.join(placed)}: say which with "
                f"{argument('gold_is', 'FORM')}",
                file=self.file,
                field=column,
            )
        return best

    def _open(self, columns: ItemColumns, language: Language) -> tuple[Answer, ItemColumns]:
        """Return the form of an answer without options."""
        gold = [gold_values(row, columns.gold, columns.gold_after) for row in self.rows]
        known = [one for one in gold if one]
        wanted = self.wishes.answer
        if (
            columns.gold_after is None
            and known
            and all(len(one) == 1 and isinstance(one[0], str) and "####" in one[0] for one in known)
        ):
            return self._open(replace(columns, gold_after="####"), language)
        if not known:
            if wanted is None or wanted == "choice":
                raise UsageError(
                    f"without gold answers the form of an answer is not known: give {argument('answer', 'text')} or "
                    f"{argument('answer', 'integer')}",
                    file=self.file,
                )
            return Answer(kind="integer" if wanted == "integer" else "text"), columns
        single = all(len(one) == 1 for one in known)
        firsts = [one[0] for one in known]
        if (
            wanted is None
            and single
            and all(isinstance(one, bool) or str(one).casefold() in {"true", "false"} for one in firsts)
        ):
            yes, no = (Text(word).in_language(language).casefold() for word in ("Yes", "No"))
            return Answer(kind="choice", labels=(yes, no)), columns
        texts = [str(one).strip() for one in firsts]
        counts = Counter(texts)
        few = 2 <= len(counts) <= _MOST_LABELS and min(counts.values()) > 1 and len(known) >= 4 * len(counts)
        brief = max(map(len, texts)) <= _LONGEST_CATEGORY
        if single and brief and (wanted == "choice" or (wanted is None and few)) and len(counts) > 1:
            return Answer(kind="choice", labels=tuple(sorted(counts, key=_natural))), columns
        if wanted == "choice":
            raise UsageError(
                f"no options were found: name their columns with {argument('options', 'COLUMN')}",
                file=self.file,
            )
        if wanted != "text" and single and all(integer_of(one) is not None for one in firsts):
            return Answer(kind="integer"), columns
        if wanted == "integer":
            row = next(
                row
                for row, one in zip(self.rows, gold, strict=True)
                if one and (len(one) > 1 or integer_of(one[0]) is None)
            )
            raise InputError(
                "the gold answer is not a whole number",
                file=self.file,
                row=row.number,
                field=", ".join(columns.gold),
            )
        separator = None
        if not single:
            everything = "\n".join(str(text) for one in known for text in one)
            separator = next(
                (sign for sign in (";", "|", "¦", " // ", "\x1f") if sign not in everything), "\x1f"
            )
        return Answer(kind="text", alternatives=separator), columns

    def _language(self, shown: Sequence[str]) -> Language:
        text = " ".join(str(value) for name in shown for value in self.filled(name)[:200])
        return "ru" if len(_CYRILLIC.findall(text)) > len(_LATIN.findall(text)) else "en"

    def _categories(self, name: str) -> bool:
        """Return whether a column divides the items into groups."""
        values = self.values(name)
        plain = all(
            type(value) in {str, int, bool} and len(str(value)) <= _LONGEST_CATEGORY for value in values
        )
        return plain and 2 <= len({*map(str, values)}) <= min(_MOST_GROUPS, max(2, len(values) // 2))

    def _group(self, shown: Sequence[str], columns: ItemColumns) -> str | None:
        if self.wishes.group is not None:
            return None if self.wishes.group == NONE else self.wishes.group
        taken = {*shown, *columns.gold, *columns.options, columns.id}
        return self._find(_GROUPS, lambda name: name not in taken and self._categories(name))

    def _cluster(self, shown: Sequence[str], group: str | None) -> str | None:
        if self.wishes.cluster is not None:
            return None if self.wishes.cluster == NONE else self.wishes.cluster

        def repeats(name: str) -> bool:
            values = [*map(str, self.values(name))]
            return name != group and all(self.values(name)) and 1 < len({*values}) < len(values)

        context = next((name for name in shown[:-1] if repeats(name)), None)
        return context or self._find(_CLUSTERS, repeats)

    def _meta(
        self, shown: Sequence[str], columns: ItemColumns, group: str | None, cluster: str | None
    ) -> tuple[str, ...]:
        """Return the columns that are kept: those of the group and cluster, and all categories."""
        taken = {*shown, *columns.gold, *columns.options, columns.id, columns.option_labels}
        named = [name for name in (group, cluster) if name is not None and name not in taken]
        return tuple(
            dict.fromkeys(
                [
                    *named,
                    *(
                        name
                        for name in self.columns
                        if name not in taken
                        and not any(part in name.casefold() for part in _TELLING)
                        and self._categories(name)
                    ),
                ]
            )
        )

    def _notes(self, declared: Dataset) -> Iterator[Text]:
        columns = declared.items or ItemColumns()
        if columns.id is None:
            yield Text("no column of ids was found: items are numbered from 1 in the order of the file")
        empty = sum(not gold_values(row, columns.gold, columns.gold_after) for row in self.rows)
        if empty:
            yield Text(
                "{n:# item has|# items have} no gold answer; people can answer them, but they are not scored",
                n=empty,
            )


def _empty(value: Any) -> bool:  # noqa: ANN401 - any value of a file
    return value is None or value in ("", [], {}) or (isinstance(value, Mapping) and not any(value.values()))


def _plain_name(name: str) -> str:
    return re.sub(r"\W+", "_", name.casefold()).strip("_")


def _field(column: str) -> str:
    """Return the name of a field in prompts: the last part of a column's name, in lower case."""
    name = _plain_name(column.rpartition(".")[2])
    return name if name and not name[0].isdigit() else f"field_{name}"


def _natural(text: str) -> tuple[bool, float, str]:
    return (False, float(text), "") if re.fullmatch(r"-?\d{1,15}", text) else (True, 0.0, text)


def _prompts(  # noqa: PLR0917 - one prompt
    fields: Sequence[str],
    media: Sequence[str],
    partial_media: Sequence[str],
    answer: Answer,
    counts: Sequence[int],
    language: Language,
) -> tuple[str, ...]:
    """Write a prompt for every number of options, and without the pictures that some items lack."""
    found = []
    for without in ((), tuple(partial_media)) if partial_media else ((),):
        for count in counts:
            asked = [
                f"<{name}>" if name in media else f"{{{name}}}" for name in fields if name not in without
            ]
            labels = answer.labels[:count] if count else answer.labels
            blocks = ["\n".join(asked)]
            if count:
                blocks.append("\n".join(f"{label}. {{{option_name(label)}}}" for label in labels))
            last = [_how(answer, labels, by_letter=bool(count)), Text("Answer:")]
            blocks.append("\n".join(one.in_language(language) for one in last))
            found.append("\n\n".join(blocks))
    return tuple(found)


def _how(answer: Answer, labels: Sequence[str], *, by_letter: bool) -> Text:
    """Say how to answer."""
    if answer.kind == "integer":
        return Text("Answer with a whole number in digits.")
    if answer.kind == "text":
        return Text("Answer briefly, in one word or a few words.")
    *first, last = labels
    if by_letter:
        return Text("Answer with one letter, {first} or {last}.", first=", ".join(first), last=last)
    return Text("Answer with one of these: {first} or {last}.", first=", ".join(first), last=last)
