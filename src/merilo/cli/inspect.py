"""`merilo inspect`: describe an export, and suggest the command that fits it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path
from typing import Final

import polars as pl
import typer

from merilo.baselines.pipeline import test_items
from merilo.baselines.study_input import gold_of
from merilo.cli import tame
from merilo.cli.output import emit_json, reading, refuse_json
from merilo.cli.study_options import (
    AnnotatorOption,
    AnswerOption,
    ControlOption,
    DatasetOption,
    EncodingOption,
    Exports,
    GoldColumnOption,
    GoldOption,
    ItemOption,
    JsonOption,
    PlatformOption,
)
from merilo.datasets import CATALOGUE, Dataset, dataset
from merilo.errors import DataError, InputError, UsageError, for_command_line
from merilo.people import platforms
from merilo.people.gold import Gold
from merilo.people.gold_file import records
from merilo.people.platforms import NAMES, Columns, Platform, SeveralAnswersError, plain
from merilo.people.quality.controls import read_skills
from merilo.people.reading import Inspection, inspect
from merilo.reports.estimates import counted
from merilo.responses import Responses
from merilo.strict_json import Json
from merilo.wording import choices, listed, shortened, shown

app = typer.Typer(add_completion=False)

#: Placeholder for a column that the user did not name and that could not be guessed.
UNKNOWN: Final = "COLUMN"

#: Larger files are not looked into for skills, bytes.
_MOST_SKILLS: Final = 10_000_000

#: Data that a platform usually exports, in words.
_ABSENT: Final = {"time": "times", "reward": "rewards", "page": "pages", "control": "control items"}

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
def inspect_(
    files: Exports,
    *,
    platform: PlatformOption = None,
    dataset_name: DatasetOption = None,
    gold: GoldOption = None,
    gold_column: GoldColumnOption = None,
    answer: AnswerOption = None,
    item: ItemOption = None,
    encoding: EncodingOption = None,
    annotator: AnnotatorOption = None,
    control: ControlOption = None,
    json_to: JsonOption = None,
) -> int:
    """Describe an export: answers, overlap, control items, repeats, and whether gold answers match.

    The last line is a suitable merilo baseline command. Exit status 1: the gold answers or the dataset do not match
    the files.
    """
    refuse_json(json_to, [*files, *([gold] if gold else [])])
    declared = dataset(dataset_name) if dataset_name else None
    columns = Columns(answer=answer, item=tuple(item or ()), annotator=annotator, control=control)
    kind = platform or platforms.recognise(files[0], encoding)
    names = platforms.field_names(files[0], encoding)
    options: dict[str, tuple[str, ...]] = {"platform": (platform,)} if platform else {}
    if kind == "csv":
        table = plain.load(files[0], encoding=encoding).data
        columns = plain.guess(table, columns)
        options |= plain.unusual(table, columns)
        options |= {
            what: (UNKNOWN,)
            for what, column in (
                ("item", columns.item),
                ("annotator", columns.annotator),
                ("answer", columns.answer),
            )
            if not column
        }
    elif columns.item:
        options["item"] = columns.item
    read: dict[str, Responses] = {}
    if (UNKNOWN,) not in options.values():
        read = _by_answer(files, platform, columns, declared, encoding)
    chosen = next(iter(read), None)
    if kind != "csv" and (len(read) > 1 or answer):
        options["answer"] = (str(chosen),)
    looked = {
        name: inspect(responses, declared.answer.labels if declared else ())
        for name, responses in read.items()
    }
    matches = _matches(read[chosen], looked[chosen], declared, gold, gold_column, encoding) if chosen else []
    if chosen and looked[chosen].different_repeats:
        options["repeats"] = ("first",)
    recognised = None if dataset_name or not chosen else _recognised(read[chosen], looked[chosen], encoding)
    options |= {"dataset": (name,)} if (name := dataset_name or recognised) else {}
    # A gold file without an answer to any item would only make the suggested command fail.
    useless = {match.source for match in matches if match.matched == 0}
    if gold and shown(gold) not in useless:
        options["gold"] = (shown(gold),)
        options |= {"gold-column": (gold_column,)} if gold_column else {}
    options |= {"encoding": (encoding,)} if encoding else {}
    options |= {"skills": (shown(skills),)} if (skills := _skills(files)) else {}
    options["out"] = (_free_folder(),)
    found = Found(
        platform=kind,
        columns=names,
        fields=read[chosen].fields if chosen else list(columns.item),
        answer=chosen,
        by_answer=looked,
        matches=matches,
        command=_command(files, options),
    )
    if json_to:
        emit_json(_as_json(files, found), json_to)
    if json_to != "-":
        _show(files, found)
    return 0 if all(match.fits for match in matches) else 1


def _by_answer(
    files: list[Path],
    platform: Platform | None,
    columns: Columns,
    declared: Dataset | None,
    encoding: str | None,
) -> dict[str, Responses]:
    """Read the study once per answer column, or only with the chosen one."""
    labels = declared.answer.labels if declared else ()

    def read(chosen: Columns) -> Responses:
        with reading(files) as progress:
            return platforms.read(
                files,
                platform=platform,
                columns=chosen,
                labels=labels,
                encoding=encoding,
                progress=progress,
                as_typed=declared is not None and declared.answers_as_typed,
            )

    try:
        one = read(columns)
    except SeveralAnswersError as several:
        return {name: read(replace(columns, answer=name)) for name in several.names}
    return {columns.answer or one.answer_field or "": one}


def _matches(
    responses: Responses,
    found: Inspection,
    declared: Dataset | None,
    gold: Path | None,
    gold_column: str | None,
    encoding: str | None,
) -> list[GoldMatch]:
    matches = []
    if gold or gold_column:
        matches.append(_match_of_gold(responses, found.items, gold, gold_column, encoding))
    if declared:
        matches.append(_match_of_dataset(responses, found, declared, encoding))
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
        known = gold_of(responses, declared, None, None, encoding) if found.items else None
    except DataError as error:
        fits = False
        why.append(for_command_line(error.marked))
    if outside:
        why.append(f"{outside} of {answers} answers are not among its labels ({listed(labels)})")
    if missing:
        why.append(f"the files have no field {listed(missing)} ({choices(missing[0], responses.fields)})")
    matched = known.answers.height if known else None
    return GoldMatch(
        f"dataset {declared.name}", fits=fits, matched=matched, items=found.items, why="; ".join(why)
    )


def _recognised(responses: Responses, found: Inspection, encoding: str | None) -> str | None:
    """Return the only dataset that has these fields and labels, or whose solver answers all items; `None` otherwise."""
    fits = []
    for declared in CATALOGUE.values():
        if len(declared.fields) > 1 and {*declared.fields} != {*responses.fields}:
            continue
        match = _match_of_dataset(responses, found, declared, encoding)
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


def _match_of_gold(
    responses: Responses, items: int, gold: Path | None, gold_column: str | None, encoding: str | None
) -> GoldMatch:
    try:
        known = gold_of(responses, None, gold, gold_column, encoding)
    except (DataError, InputError, UsageError) as error:
        if gold is None or not gold.is_file():
            raise
        why = for_command_line(error.marked)
        missing = [name for name in responses.fields if gold and name not in records(gold, encoding).columns]
        if missing:
            why += f"; the file has no column {listed(missing)}, which the annotators were shown"
        return GoldMatch(shown(gold) if gold else "", fits=False, matched=0, items=items, why=why)
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
    from rich.console import Console  # noqa: PLC0415 - the JSON needs no tables
    from rich.markup import escape  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    console = Console(highlight=False)
    table = Table(show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in _rows(files, found):
        table.add_row(name, escape(tame(value)))
    console.print(table)
    for one in found.by_answer.values():
        for near in one.near[:5]:
            console.print(
                f"'{tame(near.written)}' ({near.answers}) looks like a spelling of '{tame(near.label)}' "
                f"({near.label_answers}); {tame(near.option)} joins them",
                soft_wrap=True,
                markup=False,
            )
    if len(found.by_answer) > 1:
        console.print(f"Choose the column of answers with --answer; the command below uses {found.answer}.")
    if UNKNOWN in found.command.split():
        console.print(f"Replace {UNKNOWN} by the name of the column: it could not be recognised.")
    console.print("Suggested command:")
    console.print(f"  {tame(found.command)}", soft_wrap=True, markup=False)


def _rows(files: Sequence[Path], found: Found) -> list[tuple[str, str]]:
    rows = [
        ("files", ", ".join(shown(path) for path in files)),
        ("platform", f"{NAMES[found.platform]} ({found.platform})"),
        ("columns", listed([name or "(no name)" for name in found.columns], 40)),
        ("item fields", listed(found.fields, 40) or "not known"),
    ]
    for name, one in found.by_answer.items():
        rows.append((f"answers, {name}", _answers(one)))
    if found.answer is not None:
        rows += _counts(found.by_answer[found.answer])
    return rows + [(_title(match), _match(match)) for match in found.matches]


def _answers(one: Inspection) -> str:
    top = [f"{shortened(answer, 40)}: {n}" for answer, n in list(one.answers.items())[:MOST_ANSWERS]]
    more = len(one.answers) - len(top)
    return "; ".join(top) + (f"; and {more} more different answers" if more else "")


def _counts(one: Inspection) -> list[tuple[str, str]]:
    controls = one.controls
    dropped = ", ".join(f"{n} {reason.replace('_', ' ')}" for reason, n in one.dropped.items())
    rows = [
        ("rows", f"{one.rows_read}" + (f", of which dropped: {dropped}" if dropped else "")),
        ("annotators", f"{one.annotators}"),
        ("items", f"{one.items}, control items not counted"),
        ("overlap", ", ".join(f"{items} of {people}" for people, items in one.overlap.items()) or "none"),
        (
            "control items",
            f"{controls.items} with {counted(controls.rows, 'response')}, {controls.known} of them "
            "with a known answer, by "
            f"{counted(controls.people, 'annotator')}"
            if controls.items
            else "none",
        ),
        (
            "repeated answers",
            f"{one.equal_repeats} times the same answer, {one.different_repeats} times another"
            if one.equal_repeats or one.different_repeats
            else "none",
        ),
        ("times, rewards", f"{counted(one.timed, 'response')} with a duration, {one.paid} with a reward"),
    ]
    if one.absent:
        rows.append(("no column of", ", ".join(_ABSENT[what] for what in one.absent)))
    return rows


def _title(match: GoldMatch) -> str:
    return "dataset" if match.source.startswith("dataset ") else "gold answers"


def _match(match: GoldMatch) -> str:
    verdict = "match" if match.fits else "do not match"
    matched = "" if match.matched is None else f", {match.matched} of {counted(match.items, 'item')}"
    counts = f"{match.source}: {verdict}{matched}"
    unused = f"; {counted(match.unused, 'gold answer')} without an item" if match.unused else ""
    return counts + unused + (f"; {match.why}" if match.why else "")
