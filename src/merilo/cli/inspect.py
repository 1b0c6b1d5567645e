"""`merilo inspect`: describe an export, and suggest the command that fits it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

import polars as pl
import typer

from merilo.baselines.pipeline import test_items
from merilo.baselines.study_input import gold_of
from merilo.cli.options import Exports, JsonOption, takes_settings
from merilo.cli.output import check_places, deliver, reading, show, show_table
from merilo.datasets import CATALOGUE, Dataset, dataset
from merilo.datasets.own_items import own_file
from merilo.errors import DataError, InputError, UsageError, for_command_line
from merilo.people import platforms
from merilo.people.gold import Gold
from merilo.people.gold_file import records
from merilo.people.platforms import NAMES, Columns, Platform, SeveralAnswersError, plain
from merilo.people.quality.controls import read_skills
from merilo.people.reading import Inspection, inspect
from merilo.responses import Responses
from merilo.settings import InputSettings
from merilo.strict_json import Json
from merilo.text import Text, joined
from merilo.wording import choices, listed, shortened, shown

app = typer.Typer(add_completion=False)

#: Placeholder for a column that the user did not name and that could not be guessed.
UNKNOWN: Final = "COLUMN"

#: Larger files are not looked into for skills, bytes.
_MOST_SKILLS: Final = 10_000_000

#: Data that a platform usually exports, in words.
_ABSENT: Final = {
    "time": Text("times", context="data"),
    "reward": Text("rewards", context="data"),
    "page": Text("pages", context="data"),
    "control": Text("control items", context="data"),
}

#: How many distinct answers are listed.
MOST_ANSWERS: Final = 12


@dataclass(frozen=True, slots=True)
class GoldMatch:
    """How well gold answers, or a dataset, match the files.

    Attributes:
        source: the file of gold answers, or the dataset.
        fits: whether at least one item has a gold answer; for a dataset, whether its solver accepts the items and most
            answers are among its labels.
        matched: how many items have a gold answer; `None` if no gold answers are known.
        items: how many items there are.
        unused: how many gold answers match no item.
        why: what does not match; empty if everything matches.
    """

    source: str
    fits: bool
    matched: int | None
    items: int
    unused: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """The result of `merilo inspect`.

    Attributes:
        platform: where the files come from.
        columns: the names of the first file's columns.
        fields: the input fields of an item.
        answer: the column of answers that was read.
        by_answer: answer column -> its summary; empty if a plain table's columns are not known.
        matches: how well the gold answers and the dataset match.
        command: the suggested command.
    """

    platform: Platform
    columns: list[str]
    fields: list[str]
    answer: str | None
    by_answer: dict[str, Inspection]
    matches: list[GoldMatch]
    command: str


@app.command("inspect")
@takes_settings(
    *("platform", "dataset", "gold", "gold_column", "answer", "item", "encoding", "annotator", "control"),
    *("score", "attempt", "seconds", "wide"),
    of=InputSettings,
    into="given",
)
def inspect_(files: Exports, *, given: InputSettings, json_to: JsonOption = None) -> int:
    """Describe an export: answers, overlap, control items, repeats, and whether gold answers match.

    The last line is a suitable merilo baseline command. Exit status 1: the gold answers or the dataset do not match
    the files.
    """
    check_places([*files, given.gold], json_to)
    declared = dataset(given.dataset) if given.dataset else None
    columns = Columns(
        answer=given.answer,
        item=given.item,
        annotator=given.annotator,
        control=given.control,
        score=given.score,
        attempt=given.attempt,
        seconds=given.seconds,
        wide=given.wide,
    )
    kind = given.platform or platforms.recognise(files[0], given.encoding)
    options: dict[str, tuple[str, ...]] = {"platform": (given.platform,)} if given.platform else {}
    if kind == "csv":
        table = plain.load(files[0], encoding=given.encoding).data
        if not (given.gold or given.dataset or given.answer):
            columns = plain.guess_scores(table, columns)
        if columns.wide:
            options["wide"] = ()
        elif columns.score:
            options |= {
                "score": (columns.score,),
                **({"attempt": (columns.attempt,)} if columns.attempt else {}),
            }
        else:
            columns = plain.guess(table, columns)
        if not columns.wide:
            options |= plain.unusual(table, columns)
            answer = columns.score or columns.answer
            guessed = {"item": columns.item, "annotator": columns.annotator, "answer": answer}
            options |= {what: (UNKNOWN,) for what, column in guessed.items() if not column}
    elif columns.item:
        options["item"] = columns.item
    known = (UNKNOWN,) not in options.values()
    read = _by_answer(files, given, columns, declared) if known else {}
    chosen = next(iter(read), None)
    if kind != "csv" and (len(read) > 1 or given.answer):
        options["answer"] = (str(chosen),)
    looked = {
        name: inspect(responses, declared.answer.labels if declared else ())
        for name, responses in read.items()
    }
    matches = _matches(read[chosen], looked[chosen], declared, given) if chosen else []
    if chosen and looked[chosen].different_repeats:
        options["repeats"] = ("first",)
    name = given.dataset or (_recognised(read[chosen], looked[chosen], given) if chosen else None)
    # A gold file without an answer to any item would only make the suggested command fail.
    useless = {match.source for match in matches if match.matched == 0}
    gold = given.gold if given.gold and shown(given.gold) not in useless else None
    optional = {
        "dataset": name,
        "gold": gold and shown(gold),
        "gold-column": gold and given.gold_column,
        "encoding": given.encoding,
        "skills": (skills := _skills(files)) and shown(skills),
        "out": _free_folder(),
    }
    options |= {option: (value,) for option, value in optional.items() if value}
    found = Found(
        platform=kind,
        columns=platforms.field_names(files[0], given.encoding),
        fields=read[chosen].fields if chosen else list(columns.item),
        answer=chosen,
        by_answer=looked,
        matches=matches,
        command=_command(files, options),
    )
    deliver(json_to, lambda: _as_json(files, found), partial(_show, files, found))
    return 0 if all(match.fits for match in matches) else 1


def _by_answer(
    files: list[Path], given: InputSettings, columns: Columns, declared: Dataset | None
) -> dict[str, Responses]:
    """Read the study once per answer column, or only with the chosen one."""

    def read(chosen: Columns) -> Responses:
        with reading(files) as progress:
            return platforms.read(
                files,
                platform=given.platform,
                columns=chosen,
                labels=declared.answer.labels if declared else (),
                encoding=given.encoding,
                progress=progress,
                as_typed=declared is not None and declared.answers_as_typed,
            )

    try:
        one = read(columns)
    except SeveralAnswersError as several:
        return {name: read(replace(columns, answer=name)) for name in several.names}
    return {columns.answer or one.answer_field or "": one}


def _matches(
    responses: Responses, found: Inspection, declared: Dataset | None, given: InputSettings
) -> list[GoldMatch]:
    matches = []
    if given.gold or given.gold_column:
        matches.append(_match_of_gold(responses, found.items, given))
    if declared:
        matches.append(_match_of_dataset(responses, found, declared, given.encoding))
    return matches


def _match_of_dataset(
    responses: Responses, found: Inspection, declared: Dataset, encoding: str | None
) -> GoldMatch:
    labels, answers = declared.answer.labels, sum(found.answers.values())
    outside = sum(n for label, n in found.answers.items() if labels and label not in labels)
    missing = [name for name in declared.fields if name not in responses.fields]
    why = []
    known: Gold | None = None
    fits = 2 * outside <= answers
    try:
        own = own_file(declared)
        known = gold_of(responses, declared, own, None, encoding) if found.items else None
    except DataError as error:
        fits = False
        why.append(for_command_line(error.marked))
    if outside:
        why.append(f"{outside} of {answers} answers are not among its labels ({listed(labels)})")
    if missing and not (own_file(declared) and known):
        why.append(f"the files have no field {listed(missing)} ({choices(missing[0], responses.fields)})")
    matched = known.answers.height if known else None
    return GoldMatch(
        f"dataset {declared.name}", fits=fits, matched=matched, items=found.items, why="; ".join(why)
    )


def _recognised(responses: Responses, found: Inspection, given: InputSettings) -> str | None:
    """Return the only dataset that has these fields and labels, or whose solver answers all items; `None` otherwise."""
    fits = []
    for declared in CATALOGUE.values():
        if len(declared.fields) > 1 and {*declared.fields} != {*responses.fields}:
            continue
        match = _match_of_dataset(responses, found, declared, given.encoding)
        by_fields = len(declared.fields) > 1 and bool(declared.answer.labels)
        if match.fits and (by_fields or (match.matched and _solves(responses, declared))):
            fits.append(declared.name)
    return fits[0] if len(fits) == 1 else None


def _solves(responses: Responses, declared: Dataset) -> bool:
    """Return whether people's answers equal the solver's more often than answers to something else would."""
    known = gold_of(responses, declared, None, None, None)
    tests = responses.table.filter(~pl.col("is_control"))
    if known is None or known.answers.height < tests["item"].n_unique():
        return False
    right = tests.join(known.answers, on="item").select((pl.col("answer") == pl.col("gold")).mean()).item()
    return bool(right >= max(0.3, 1.2 / max(1, len(declared.answer.labels) or 10)))


def _skills(files: list[Path]) -> Path | None:
    """Return the only table of annotators' skills in the folder of the first file."""
    there = []
    for path in sorted(files[0].parent.iterdir()):
        if (
            path.suffix.lower() in {".csv", ".tsv"}
            and path not in files
            and path.stat().st_size < _MOST_SKILLS
        ):
            try:
                read_skills(path)
            except (InputError, DataError):
                continue
            there.append(path)
    return there[0] if len(there) == 1 else None


def _free_folder() -> str:
    """Return a name for the folder of results that does not exist."""
    return next(
        name for n in count(1) if not Path(name := "baseline" if n == 1 else f"baseline-{n}").exists()
    )


def _match_of_gold(responses: Responses, items: int, given: InputSettings) -> GoldMatch:
    gold = given.gold
    try:
        known = gold_of(responses, None, gold, given.gold_column, given.encoding)
    except (DataError, InputError, UsageError) as error:
        if gold is None or not gold.is_file():
            raise
        why = for_command_line(error.marked)
        columns = records(gold, given.encoding).columns
        if missing := [name for name in responses.fields if name not in columns]:
            why += f"; the file has no column {listed(missing)}, which the annotators were shown"
        return GoldMatch(shown(gold), fits=False, matched=0, items=items, why=why)
    if known is None:
        return GoldMatch("", fits=False, matched=0, items=items)
    why = ""
    if known.without_gold:
        number = known.without_gold[0]
        row = test_items(responses).filter(item=number).row(0, named=True)
        text = " | ".join(str(row[name] or "") for name in responses.fields)
        why = f"the first item without a gold answer is '{' '.join(text.split())[:60]}'"
    return GoldMatch(
        known.source, fits=True, matched=known.answers.height, items=items, unused=len(known.unused), why=why
    )


def _command(files: list[Path], options: dict[str, tuple[str, ...]]) -> str:
    """Return the `merilo baseline` command line; placeholders are not quoted, because the user replaces them."""
    words = ["merilo", "baseline", *map(shown, files)]
    for name, values in options.items():
        if not values and name == "wide":
            words.append(f"--{name}")
        for value in values:
            words += [f"--{name}", value]
    return shlex.join(words)


def _as_json(files: list[Path], found: Found) -> dict[str, Json]:
    return {
        "files": [shown(path) for path in files],
        "platform": found.platform,
        "columns": list(found.columns),
        "fields": list(found.fields),
        "answer_columns": {name: _inspection(one) for name, one in found.by_answer.items()},
        "matches": [asdict(match) for match in found.matches],
        "command": found.command,
    }


def _inspection(one: Inspection) -> dict[str, Json]:
    return {
        "rows": one.rows_read,
        "dropped": {**one.dropped},
        "annotators": one.annotators,
        "items": one.items,
        "overlap": {str(people): items for people, items in one.overlap.items()},
        "answers": {
            "distinct": len(one.answers),
            "top": dict(list(one.answers.items())[:MOST_ANSWERS]),
        },
        "controls": {
            "items": one.controls.items,
            "rows": one.controls.rows,
            "known": one.controls.known,
            "annotators": one.controls.people,
        },
        "repeats": {"equal": one.equal_repeats, "different": one.different_repeats},
        "absent": list(one.absent),
        "timed": one.timed,
        "paid": one.paid,
        "near_spellings": [
            {"answer": near.written, "label": near.label, "answers": near.answers, "option": near.option}
            for near in one.near
        ],
    }


def _show(files: Sequence[Path], found: Found) -> None:
    """Print the findings and the suggested command on standard output."""
    show_table(_rows(files, found))
    for near in (near for one in found.by_answer.values() for near in one.near[:5]):
        show(
            Text(
                "'{written}' ({answers}) looks like a spelling of '{label}' ({labels}); {option} joins them",
                written=near.written,
                answers=near.answers,
                label=near.label,
                labels=near.label_answers,
                option=near.option,
            )
        )
    if len(found.by_answer) > 1:
        show(
            Text(
                "Choose the column of answers with --answer; the command below uses {name}.",
                name=found.answer,
            )
        )
    if UNKNOWN in found.command.split():
        show(Text("Replace {word} by the name of the column: it could not be recognised.", word=UNKNOWN))
    show(Text("Suggested command:"), f"  {found.command}")


def _rows(files: Sequence[Path], found: Found) -> Iterator[tuple[Text, object]]:
    yield Text("files", context="row"), ", ".join(map(shown, files))
    yield Text("platform"), f"{NAMES[found.platform]} ({found.platform})"
    nameless = str(Text("(no name)"))
    yield Text("columns", context="row"), listed([name or nameless for name in found.columns], 40)
    yield Text("item fields"), listed(found.fields, 40) or Text("not known")
    for name, one in found.by_answer.items():
        top = [f"{shortened(answer, 40)}: {n}" for answer, n in list(one.answers.items())[:MOST_ANSWERS]]
        more = len(one.answers) - len(top)
        also = Text("and {n} more different answers", n=more) if more else ""
        yield Text("answers, {column}", column=name), joined([*top, also], "; ")
    if found.answer is not None:
        yield from _counts(found.by_answer[found.answer])
    for match in found.matches:
        of_dataset = match.source.startswith("dataset ")
        yield Text("dataset") if of_dataset else Text("gold answers", context="row"), _match(match)


def _counts(one: Inspection) -> Iterator[tuple[Text, object]]:
    none = Text("none")
    dropped = [f"{n} {reason.replace('_', ' ')}" for reason, n in one.dropped.items()]
    told = Text("{n}, of which dropped: {reasons}", n=one.rows_read, reasons=dropped)
    yield Text("rows"), told if dropped else one.rows_read
    yield Text("annotators", context="row"), one.annotators
    yield Text("items", context="row"), Text("{n}, control items not counted", n=one.items)
    overlap = [
        Text("{items} of {people}", items=items, people=people) for people, items in one.overlap.items()
    ]
    yield Text("overlap"), joined(overlap, ", ") if overlap else none
    controls = Text(
        "{items} with {rows:# response|# responses}, {known} of them with a known answer, by "
        "{people:# annotator|# annotators}",
        **asdict(one.controls),
    )
    yield Text("control items", context="row"), controls if one.controls.items else none
    repeats = Text(
        "{same} times the same answer, {other} times another",
        same=one.equal_repeats,
        other=one.different_repeats,
    )
    yield Text("repeated answers"), repeats if one.equal_repeats or one.different_repeats else none
    yield (
        Text("times, rewards"),
        Text("{n:# response|# responses} with a duration, {paid} with a reward", n=one.timed, paid=one.paid),
    )
    if one.absent:
        yield Text("no column of"), joined([_ABSENT[what] for what in one.absent], ", ")


def _match(match: GoldMatch) -> Text:
    return Text(
        "{source}: {verdict:True=match|do not match}{matched}{unused}{why}",
        source=match.source,
        verdict=match.fits,
        matched=""
        if match.matched is None
        else Text(", {n} of {items:# item|# items}", n=match.matched, items=match.items),
        unused=Text("; {n:# gold answer|# gold answers} without an item", n=match.unused)
        if match.unused
        else "",
        why=f"; {match.why}" if match.why else "",
    )
