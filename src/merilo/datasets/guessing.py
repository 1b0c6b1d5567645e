"""Guess from the rows of a file what a dataset's declaration says: its fields, options, gold answers and groups.

Guesses go by one table of usual names of columns, and are checked against the values. A user can name every column;
where two readings fit, they must.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from merilo.datasets.dataset_files import (
    RUSSIAN_LETTERS,
    QuestionRow,
    gold_of,
    gold_values,
    integer_of,
    is_media,
    meta_name,
    option_name,
    options_of,
    split_options,
)
from merilo.datasets.declaration import BASIC_SKILLS, Dataset, GoldForm, ItemColumns
from merilo.errors import InputError, UsageError, argument
from merilo.metrics.answers import Answer
from merilo.settings import OUTPUT, CheckedSettings, Help
from merilo.strict_json import Json
from merilo.text import Language, Text
from merilo.wording import choices, counted_noun, listed, shortened

#: The form of an answer that a user can name.
AnswerForm: TypeAlias = Literal["choice", "integer", "text"]

#: How gold answers can name an option; the options' own labels come first.
FORMS: Final[tuple[GoldForm, ...]] = ("label", "letter", "from-0", "from-1", "text")

#: The value of an option that turns a guess off.
NONE: Final = "none"

#: What a column holds -> the usual names of such columns in lower case, the best first.
USUAL: Final[Mapping[str, tuple[str, ...]]] = {
    role: tuple(names.split())
    for role, names in {
        "id": "id qid question_id item_id example_id problem_id task_id uid guid key idx ind index number номер",
        "context": "context passage article paragraph story document background dialogue support text text1 text2 "
        "premise hypothesis sentence1 sentence2 контекст текст",
        "question": "question question_stem question_text query problem prompt stem ctx goal sentence statement claim "
        "instruction input inputs text вопрос текст_вопроса задание текст_задания",
        "options": "options choices endings candidates alternatives variants answer_choices choice варианты "
        "варианты_ответа варианты_ответов",
        "option": "option opt op choice answer variant ending вариант",
        "option labels": "label labels letter letters key keys",
        "right option": "correct_answer right_answer best_answer",
        "wrong option": "incorrect_answer wrong_answer distractor incorrect",
        "gold": "gold answerkey answer_key correct_answer correct_option correct_choice correct answer answers "
        "gold_label label target cop answer_idx answer_index best_answer ground_truth эталон правильный_ответ ответ "
        "solution output outputs",
        "group": "subject category domain raw_subject topic field discipline subset task question_type type difficulty "
        "level предмет категория домен тема",
        "cluster": "passage_id context_id article_id document_id paragraph_id story_id source_id group_id template_id "
        "title",
    }.items()
}
#: Columns of which one at most can hold the gold answers of questions without options.
_RIVALS: Final = {*USUAL["gold"]} - {"solution", "output", "outputs"}
#: Columns that may tell the answer: they are neither shown nor kept as `meta`.
_TELLING: Final = re.compile(
    "answer|label|gold|correct|solution|rationale|explanation|preview|cot|ответ", re.IGNORECASE
)

#: A choice has at most so many labels, a group so many values; longer texts are no category.
_MOST_LABELS, _MOST_GROUPS, _LONGEST_CATEGORY = 10, 100, 60
_MOST_OPTIONS: Final = 26
#: A file of fewer rows has no gold answers that are clearly mistakes.
_FEWEST_ROWS: Final = 10

#: Letters of options in their order, and a line of a question that lists an option under its letter.
_ALPHABETS: Final = (ascii_uppercase[:_MOST_LABELS], RUSSIAN_LETTERS)
_LISTED: Final = re.compile(r"^[ \t]*[(\[]?([A-ZА-Я])[).:\]][ \t]*\S", re.MULTILINE)


_C: Final = "COLUMN"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes(CheckedSettings):
    """What a user says about a file of questions; the rest is guessed. `none` turns the guess of a column off."""

    panel: ClassVar[str] = "Instead of a guess"

    question: Annotated[
        tuple[str, ...], Help("A column that is shown; several in their order.", metavar=_C)
    ] = ()
    options: Annotated[
        tuple[str, ...], Help("The columns of options, or one with lists; or none.", metavar=_C)
    ] = ()
    gold: Annotated[
        tuple[str, ...], Help("The columns of gold answers, all right; or none.", metavar=_C)
    ] = ()
    gold_is: Annotated[GoldForm | None, Help("How a gold answer names an option.")] = None
    gold_after: Annotated[str | None, Help("What a gold answer follows, such as '####'.", metavar="TEXT")] = (
        None
    )
    answer: Annotated[AnswerForm | None, Help("The form of an answer.")] = None
    id: Annotated[str | None, Help("The column of ids; none: the rows are numbered.", metavar=_C)] = None
    group: Annotated[str | None, Help("The column of groups, each with a score; or none.", metavar=_C)] = None
    cluster: Annotated[str | None, Help("The column that dependent items share; or none.", metavar=_C)] = None
    language: Annotated[Language | None, Help("Of the prompts. Default: that of the questions.")] = None
    name: Annotated[str | None, Help("The dataset's name. Default: that of the file.", OUTPUT)] = None


def guess(rows: Sequence[QuestionRow], wishes: Wishes, file: Path) -> tuple[Dataset, Language, list[str]]:
    """Make the declaration of a dataset from the rows of its file.

    Args:
        rows: the rows.
        wishes: what the user says.
        file: their file, for messages.

    Returns:
        The declaration, whose columns name no file yet; the language of its prompts; and what the user should check.

    Raises:
        UsageError: a column does not exist, or something is ambiguous or unknown; the message names the option for it.
        InputError: gold answers do not fit the options.
    """
    table = _Table(rows, file, tuple(dict.fromkeys(name for row in rows for name in row.values)))
    named = (wishes.id, wishes.group, wishes.cluster, *wishes.question, *wishes.options, *wishes.gold)
    for name in named:
        if name is not None and name != NONE and name not in table.columns:
            raise UsageError(f"there is no column '{name}' ({choices(name, table.columns)})", file=file)
    media = table.media(wishes.question)
    shown = wishes.question or (*media, *_questions(table))
    texts = [str(value) for name in shown if name not in media for value in table.filled(name)[:200]]
    language = wishes.language or _language(" ".join(texts))
    columns = ItemColumns(options=_options(table, wishes, shown), gold_after=wishes.gold_after)
    beside = columns.options[0].rpartition(".")[0] if len(columns.options) == 1 else ""
    labels = table.find("option labels", table.lists, inside=beside) if beside else None
    listed_in = "" if columns.options else _listed_letters(table, shown)
    answer, columns = _answer(
        table, replace(columns, option_labels=labels), wishes, shown, language, listed_in=listed_in
    )
    taken = {*shown, *columns.gold, *columns.options, labels}
    identity = _wished(wishes.id, table.find("id", table.identifies))
    free = [name for name in table.columns if name not in {*taken, identity} and table.categories(name)]
    group = _wished(wishes.group, table.find("group", free.__contains__))
    context = next((name for name in shown[:-1] if name not in media and table.repeats(name)), None)
    other = table.find("cluster", lambda name: name != group and table.repeats(name))
    cluster = _wished(wishes.cluster, context or other)
    wanted = [name for name in (group, cluster) if name is not None and name not in taken]
    meta = dict.fromkeys([*wanted, *(name for name in free if not _TELLING.search(name))])
    columns = replace(columns, id=identity, meta=tuple(meta))
    declared = _declared(table, wishes.name or file.stem, shown, media, answer, columns, language)
    fields = {column: field for field, column in (declared.items or columns).fields.items()}
    by, shared = (name and fields.get(name, meta_name(name)) for name in (group, cluster))
    declared = replace(declared, extra=by and f"{declared.metrics[0]}.{{{by}}}", cluster=shared)
    return (
        declared,
        language,
        [*_notes(table, columns, declared, wishes, listed_in, {*taken, identity, *meta})],
    )


def _wished(wish: str | None, guessed: str | None) -> str | None:
    """Return the column that a user names, none for "none", or else the guess."""
    return guessed if wish is None else None if wish == NONE else wish


@dataclass(frozen=True, slots=True)
class _Table:
    """The rows of a file by column."""

    rows: Sequence[QuestionRow]
    file: Path
    columns: tuple[str, ...]

    def values(self, name: str) -> list[Any]:
        return [row.values.get(name) for row in self.rows]

    def filled(self, name: str) -> list[Any]:
        return [value for value in self.values(name) if not _empty(value)]

    def read(self, answer: Answer, columns: ItemColumns) -> tuple[list[Json], list[InputError]]:
        """Return the gold answers, and the errors of rows whose gold answer does not fit: the first few."""
        golds: list[Json] = []
        faults: list[InputError] = []
        for row in self.rows:
            try:
                golds.append(gold_of(row, answer, columns, self.file))
            except InputError as error:
                faults.append(error)
                if not _few(len(faults), len(self.rows)):
                    break
        return golds, faults

    def fault(self, faults: Sequence[InputError], help_: str) -> InputError:
        """Return the error of gold answers that do not fit, with what to do; the rows of a few are all named."""
        first, rest = faults[0], ""
        if _few(len(faults), len(self.rows)):
            others = listed([f"row {fault.place.row}" for fault in faults[1:]])
            rest = f", unlike those of other rows{others and f' (nor is that of {others})'}"
        place = first.place
        return InputError(f"{first.marked}{rest}; {help_}", file=self.file, row=place.row, field=place.field)

    def find(self, role: str, fits: Callable[[str], bool], *, inside: str = "") -> str | None:
        """Return the first column with a usual name of a role, perhaps inside an object, that passes a test."""
        return next(filter(fits, self.usual(role, inside)), None)

    def usual(self, role: str, inside: str = "") -> list[str]:
        """Return the columns with a usual name of a role, the best first."""
        known = {
            _plain(name.removeprefix(f"{inside}.") if inside else name): name
            for name in reversed(self.columns)
        }
        return [known[name] for name in USUAL[role] if name in known]

    def is_text(self, name: str) -> bool:
        filled = self.filled(name)
        return bool(filled) and all(isinstance(value, str) for value in filled)

    def identifies(self, name: str) -> bool:
        values = self.values(name)
        plain = all(type(value) in {str, int} and value != "" for value in values)
        return plain and len({*map(str, values)}) == len(values)

    def numbered(self) -> str:
        """Say why items are numbered: no column has a usual name of ids, or its values do not identify the rows."""
        for name in self.usual("id"):
            rows: dict[str, int] = {}
            for row in self.rows:
                value, number = row.values.get(name), row.number
                if type(value) not in {str, int} or value == "":
                    why = f"row {number} has no id"
                elif (first := rows.setdefault(str(value), number)) != number:
                    why = f"rows {first} and {number} both have {shortened(str(value))}"
                else:
                    continue
                return f"items are numbered from 1, because the column {name} does not identify them: {why}"
        return "no column of ids was found: items are numbered from 1 in the order of the file"

    def media(self, named: Sequence[str]) -> list[str]:
        """Return the columns of pictures and sounds among those named, or else all that do not tell the answer."""
        known = named or [name for name in self.columns if not _TELLING.search(name)]
        return [name for name in known if self.filled(name) and all(map(is_media, self.filled(name)))]

    def lists(self, name: str) -> bool:
        values = [value if isinstance(value, list) else split_options(value) for value in self.values(name)]
        return all(isinstance(value, list) and 2 <= len(value) <= _MOST_OPTIONS for value in values) and all(
            isinstance(option, str | int | float) for value in values for option in value
        )

    def categories(self, name: str) -> bool:
        """Return whether a column divides the items into groups."""
        values = self.values(name)
        plain = all(
            type(value) in {str, int, bool} and len(str(value)) <= _LONGEST_CATEGORY for value in values
        )
        return plain and 2 <= len({*map(str, values)}) <= min(_MOST_GROUPS, max(2, len(values) // 2))

    def repeats(self, name: str) -> bool:
        values = [*map(str, self.values(name))]
        return all(self.values(name)) and 1 < len({*values}) < len(values)


def _questions(table: _Table) -> list[str]:
    """Return the columns that are shown: contexts, then the question."""
    question = table.find("question", table.is_text)
    contexts = [name for name in table.usual("context") if name != question and table.is_text(name)]
    if not (texts := [*contexts, *filter(None, [question])]):
        raise UsageError(
            f"no column of questions was found: name it with {argument('question', 'COLUMN')} "
            f"(choose from: {listed(table.columns)})",
            file=table.file,
        )
    return texts


def _options(table: _Table, wishes: Wishes, shown: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of options: those named, one of lists, right and wrong ones, or a series from A or 1."""
    if wishes.options == (NONE,) or (not wishes.options and wishes.answer not in {None, "choice"}):
        return ()
    if wishes.options:
        if wrong := next((row for row in table.rows if len(options_of(row, wishes.options)) < 2), None):
            few = f"has fewer than two options in {listed(wishes.options)}"
            raise InputError(few, file=table.file, row=wrong.number)
        return wishes.options
    for name in table.columns:
        parts = [_plain(part) for part in name.split(".")]
        if {*parts} & {*USUAL["options"]} and parts[-1] not in USUAL["option labels"] and table.lists(name):
            return (name,)
    wrongs = [name for name in table.columns if re.sub(r"_?\d+$", "", _plain(name)) in USUAL["wrong option"]]
    if wrongs and (right := table.find("right option", table.is_text)):
        return (right, *wrongs)
    if series := _series(table, shown):
        return series
    stems = "|".join((*USUAL["options"], *USUAL["option"]))
    named = [
        name
        for name in table.columns
        if name not in {*shown, *wishes.gold} and re.fullmatch(rf"({stems})_?\w?", _plain(name))
    ]
    if unclear := [name for name in named if _plain(name) not in USUAL["gold"] and table.filled(name)]:
        raise UsageError(
            f"{listed(unclear)} may hold options, which do not stand in every row: name their columns with "
            f"{argument('options', 'COLUMN')}, or give {argument('options', NONE)} if there are none",
            file=table.file,
        )
    return ()


def _series(table: _Table, shown: Sequence[str]) -> tuple[str, ...]:
    """Return columns called A, B, C, or option_a, option_b, or choice1, choice2, that hold options in every row."""
    free = [name for name in table.columns if name not in shown]
    series = [
        (alphabet, {letter: letter for letter in alphabet if letter in free}) for alphabet in _ALPHABETS
    ]
    for stem in USUAL["option"]:
        ends = {
            end[1]: name for name in free if (end := re.fullmatch(rf"{stem}_?([a-zа-я0-9])", _plain(name)))
        }
        russian = (
            RUSSIAN_LETTERS.casefold() if ends.keys() & {*RUSSIAN_LETTERS.casefold()} else ascii_lowercase
        )
        series.append((f"{digits if '0' in ends else digits[1:]}{russian}", dict(sorted(ends.items()))))
    series.append((digits[1:], {digit: digit for digit in digits[1:] if digit in free}))
    for order, ends in series:
        signs, names = "".join(ends), tuple(ends.values())
        follow = signs in order and signs[:1] in {*order[:1], "a", "а"}
        if len(names) > 1 and follow and all(len(options_of(row, names)) > 1 for row in table.rows):
            return names
    return ()


def _listed_letters(table: _Table, shown: Sequence[str]) -> str:
    """Return the letters under which every question lists options itself: those of the longest list."""
    longest = ""
    for row in table.rows:
        text = "\n".join(value for name in shown if isinstance(value := row.values.get(name), str))
        letters = "".join(dict.fromkeys(_LISTED.findall(text)))
        if len(letters) < 2 or not any(alphabet.startswith(letters) for alphabet in _ALPHABETS):
            return ""
        longest = max(longest, letters, key=len)
    return longest


def _gold_columns(table: _Table, taken: Collection[str | None]) -> Iterator[tuple[str, ...]]:
    """Yield the possible columns of gold answers, the best first."""
    for wanted in USUAL["gold"]:
        for name in table.columns:
            if name not in taken and _plain(name) == wanted and table.filled(name):
                yield (name,)
        inner = [name for name in table.columns if "." in name and _plain(name.partition(".")[0]) == wanted]
        ends = {name.rpartition(".")[2]: name for name in inner if name not in taken}
        if named := tuple(ends[end] for end in ("value", "text", "aliases", "answer") if end in ends):
            yield named


def _answer(
    table: _Table,
    columns: ItemColumns,
    wishes: Wishes,
    shown: Sequence[str],
    language: Language,
    *,
    listed_in: str,
) -> tuple[Answer, ItemColumns]:
    """Return the form of an answer, and the columns with those of the gold answers."""
    taken = {*shown, *columns.options, columns.option_labels}
    candidates = [wishes.gold] if wishes.gold else [*_gold_columns(table, taken)]
    if len(columns.options) > 1 and _plain(columns.options[0]) in USUAL["right option"] and not wishes.gold:
        candidates.insert(0, (columns.options[0],))
    candidates = [()] if wishes.gold == (NONE,) else candidates
    if not candidates:
        raise UsageError(
            f"no column of gold answers was found: name it with {argument('gold', 'COLUMN')}, or give "
            f"{argument('gold', NONE)} if there are none (choose from: {listed(table.columns)})",
            file=table.file,
        )
    if columns.options:
        return _by_options(table, columns, candidates, wishes.gold_is)
    rivals = [names[0] for names in candidates if len(names) == 1 and _plain(names[0]) in _RIVALS]
    if len(rivals) > 1 and len({tuple(map(str, table.values(name))) for name in rivals}) > 1:
        raise UsageError(
            f"each of {listed(rivals)} may hold the gold answers: say which with {argument('gold', 'COLUMN')}",
            file=table.file,
        )
    return _open(table, replace(columns, gold=candidates[0]), wishes.answer, language, listed_in)


def _by_options(
    table: _Table, columns: ItemColumns, candidates: Sequence[tuple[str, ...]], wanted: GoldForm | None
) -> tuple[Answer, ItemColumns]:
    """Return labels, and the first columns of gold answers that name options in the same way in every row.

    Raises:
        InputError: no form of gold answers fits all rows.
        UsageError: several forms fit and mean different options.
    """
    most = max(len(options_of(row, columns.options)) for row in table.rows)
    if most > _MOST_OPTIONS:
        raise UsageError(f"a question has {most} options; {_MOST_OPTIONS} are the most", file=table.file)
    answer = Answer(kind="choice", labels=tuple(chr(ord("A") + place) for place in range(most)))
    failed: list[list[InputError]] = []
    for gold in candidates:
        read: dict[GoldForm, list[Json]] = {}
        forms = ("text",) if {*gold} & {*columns.options} else FORMS if wanted is None else (wanted,)
        for form in forms:
            golds, faults = table.read(answer, replace(columns, gold=gold, gold_is=form))
            if faults:
                failed.append(faults)
            else:
                read[form] = golds
        if read and "label" not in read and len({tuple(map(str, golds)) for golds in read.values()}) > 1:
            raise UsageError(
                f"the gold answers can name different options if read as {' or as '.join(read)}: say which with "
                f"{argument('gold_is', 'FORM')}",
                file=table.file,
                field=", ".join(gold),
            )
        if read:
            return answer, replace(columns, gold=gold, gold_is=next(iter(read)) if gold else None)
    faults = min(failed, key=lambda faults: (len(faults), -(faults[0].place.row or 0)))
    other = (
        f"name another column with {argument('gold', 'COLUMN')} or a form with {argument('gold_is', 'FORM')}"
    )
    raise table.fault(faults, "correct it" if _few(len(faults), len(table.rows)) else other)


def _open(
    table: _Table, columns: ItemColumns, wanted: AnswerForm | None, language: Language, listed_in: str
) -> tuple[Answer, ItemColumns]:
    """Return the form of an answer without options: letters that questions list, few labels, numbers or texts."""
    known = [values for row in table.rows if (values := gold_values(row, columns.gold, columns.gold_after))]
    single = all(len(values) == 1 for values in known)
    texts = [str(values[0]).strip() for values in known]
    if columns.gold_after is None and texts and single and all("####" in text for text in texts):
        return _open(table, replace(columns, gold_after="####"), wanted, language, listed_in)
    if not known and wanted in {None, "choice"}:
        raise UsageError(
            f"without gold answers the form of an answer is not known: give {argument('answer', 'text')} or "
            f"{argument('answer', 'integer')}",
            file=table.file,
        )
    if single and wanted in {None, "choice"} and (labels := _labels(texts, wanted, language, listed_in)):
        answer, other = (
            Answer(kind="choice", labels=labels),
            "choice if it is a label too, or text if all are free",
        )
    elif wanted == "choice":
        none = f"no options were found: name their columns with {argument('options', 'COLUMN')}"
        raise UsageError(none, file=table.file)
    elif wanted == "integer" or (wanted is None and single and _numbers(texts)):
        answer, other = Answer(kind="integer"), "text"
    else:
        everything = "\n".join(str(text) for values in known for text in values)
        signs = (sign for sign in (";", "|", "¦", " // ") if sign not in everything)
        return Answer(kind="text", alternatives=None if single else next(signs, "\x1f")), columns
    if faults := table.read(answer, columns)[1]:
        raise table.fault(faults, f"correct it, or give {argument('answer', other)}")
    return answer, columns


def _labels(
    texts: Sequence[str], wanted: AnswerForm | None, language: Language, listed_in: str
) -> tuple[str, ...]:
    """Return the labels of gold answers: yes and no, letters, or a few that repeat; a few others are wrong ones."""

    def fit(allowed: Collection[str]) -> bool:
        others = sum(text not in allowed for text in texts)
        return not others or (wanted is None and _few(others, len(texts)))

    if wanted is None and fit({text for text in texts if text.casefold() in {"true", "false"}}):
        yes, no = (Text(word).in_language(language).casefold() for word in ("Yes", "No"))
        return yes, no
    for letters in _ALPHABETS:
        known = {*texts, *listed_in} & {*letters}
        if known >= {*listed_in} and fit(known) and (listed_in or len(known) > 1):
            return tuple(letters[: max(map(letters.index, known)) + 1])
    counts = Counter(texts)
    labels = [label for label, count in counts.items() if count > 1 or wanted == "choice"]
    few = len(labels) <= _MOST_LABELS and len(texts) >= 4 * len(labels) and fit(labels)
    brief = len(labels) > 1 and max(map(len, labels)) <= _LONGEST_CATEGORY
    return tuple(sorted(labels, key=_natural)) if brief and (few or wanted) else ()


def _numbers(texts: Sequence[str]) -> bool:
    """Return whether all but a few are whole numbers."""
    others = sum(integer_of(text) is None for text in texts)
    return not others or _few(others, len(texts))


def _few(wrong: int, rows: int) -> bool:
    """Whether so many gold answers of a file are likely mistakes, and no other form of an answer."""
    return wrong <= (max(1, rows // 20) if rows >= _FEWEST_ROWS else 0)


def _declared(  # noqa: PLR0917 - one declaration
    table: _Table,
    name: str,
    shown: Sequence[str],
    media: Collection[str],
    answer: Answer,
    columns: ItemColumns,
    language: Language,
) -> Dataset:
    """Return the declaration of the columns, with a prompt for every number of options and lack of a picture."""
    fields: dict[str, str] = {}
    for column in shown:
        field = _field(column)
        fields[field if field not in fields else _plain(column)] = column
    asked = {name: f"<{name}>" if column in media else f"{{{name}}}" for name, column in fields.items()}
    partial = [
        name
        for name, column in fields.items()
        if column in media and len(table.filled(column)) < len(table.rows)
    ]
    counts = sorted({len(options_of(row, columns.options)) for row in table.rows}, reverse=True)
    labels = answer.labels if columns.options else ()
    prompts = [
        _prompt([asked[name] for name in fields if name not in without], answer, labels[:count], language)
        for without in ([], partial)[: 1 + bool(partial)]
        for count in counts
    ]
    metrics = {"choice": ("acc",), "integer": ("em",)}.get(answer.kind, ("em", "f1"))
    return Dataset(
        name=name,
        title=name,
        fields=(*fields, *map(option_name, labels)),
        media=tuple(field for field, column in fields.items() if column in media),
        hidden=(*partial, *map(option_name, labels[counts[-1] :])),
        answer=answer,
        metrics=metrics,
        skills=(BASIC_SKILLS[1],),
        prompts={"": tuple(prompts)},
        splits=("test",),
        items=replace(columns, fields={field: column for field, column in fields.items() if field != column}),
    )


_HOW: Final = {
    "integer": Text("Answer with a whole number in digits."),
    "text": Text("Answer briefly, in one word or a few words."),
}


def _prompt(asked: Sequence[str], answer: Answer, options: Sequence[str], language: Language) -> str:
    """Write a prompt: the fields, the options, and how to answer."""
    blocks = ["\n".join(asked)]
    if options:
        blocks.append("\n".join(f"{label}. {{{option_name(label)}}}" for label in options))
    how = _HOW.get(answer.kind)
    if how is None:
        *first, last = options or answer.labels
        before = ", ".join(first)
        by_letter = Text("Answer with one letter, {first} or {last}.", first=before, last=last)
        by_label = Text("Answer with one of these: {first} or {last}.", first=before, last=last)
        how = by_letter if options else by_label
    blocks.append("\n".join(sentence.in_language(language) for sentence in (how, Text("Answer:"))))
    return "\n\n".join(blocks)


def _notes(  # noqa: PLR0917 - one declaration
    table: _Table,
    columns: ItemColumns,
    declared: Dataset,
    wishes: Wishes,
    listed_in: str,
    used: Collection[str | None],
) -> Iterator[str]:
    labels, option = declared.answer.labels, argument("options", "COLUMN")
    if labels and not columns.options and any({*labels} <= {*alphabet} for alphabet in _ALPHABETS):
        yield (
            f"the gold answers are letters: {labels[0]} to {labels[-1]} are the options; if the file has them in "
            f"columns, name these with {option}"
        )
    if unused := [name for name in table.columns if name not in used]:
        yield f"not used: {listed(unused)}"
    if columns.id is None and wishes.id != NONE:
        yield table.numbered()
    known = [gold_values(row, columns.gold, columns.gold_after) for row in table.rows]
    if empty := known.count([]):
        has = counted_noun(empty, "item has", "items have")
        yield f"{has} no gold answer; people can answer them, but they are not scored"
    if declared.answer.kind != "text":
        return
    if listed_in:
        yield (
            f"the questions list options {listed_in[0]} to {listed_in[-1]}, but the gold answers are no letters: "
            f"people answer with free text; options in columns of their own can be named with {option}"
        )
    golds = [str(value) for values in known for value in values]
    for sign in "|;":
        several = [gold for gold in golds if sign in gold]
        if declared.answer.alternatives is None and len(several) > len(golds) / 4:
            yield (
                f"gold answers such as {shortened(several[0])} count as one answer; if they are several right ones, "
                f"add 'alternatives: \"{sign}\"' to the declaration's answer"
            )


def _empty(value: Any) -> bool:  # noqa: ANN401 - any value of a file
    return value is None or value in ("", [], {}) or (isinstance(value, Mapping) and not any(value.values()))


def _plain(name: str) -> str:
    return re.sub(r"\W+", "_", name.casefold().replace("№", "номер")).strip("_")


def _field(column: str) -> str:
    """Return the name of a field in prompts: the last part of a column's name, in lower case."""
    name = _plain(column.rpartition(".")[2])
    return name if name and not name[0].isdigit() else f"field_{name}"


def _language(text: str) -> Language:
    return "ru" if len(re.findall("[\u0400-\u04ff]", text)) > len(re.findall("[A-Za-z]", text)) else "en"


def _natural(text: str) -> tuple[bool, float, str]:
    return (False, float(text), "") if re.fullmatch(r"-?\d{1,15}", text) else (True, 0.0, text)
