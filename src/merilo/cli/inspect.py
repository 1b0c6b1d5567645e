"""`merilo inspect`: show what is in a file and one decoded item, and write how the file is read."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import polars as pl
import typer

from merilo.atomic_write import write_text
from merilo.baselines.study_input import find_gold
from merilo.cli.options import Exports, ForceOption, JsonOption, takes_settings
from merilo.cli.output import check_places, deliver, refuse_idle
from merilo.datasets import Dataset, dataset
from merilo.datasets.dataset_files import own_file
from merilo.errors import DataError, for_command_line
from merilo.file_reading import Reading, read_reading
from merilo.people.gold import Gold
from merilo.people.inspection import (
    MOST_ANSWERS,
    Inspection,
    Proposal,
    columns_not_read,
    inspect,
    proposals,
    reading_file,
    written,
)
from merilo.people.reading import field_names, read_responses
from merilo.records import Record
from merilo.reports.table import Cell, Table
from merilo.responses import INPUT_MARK, Responses
from merilo.settings import OUTPUT, InputSettings
from merilo.strict_json import Json
from merilo.wording import counted_noun, listed, shortened, shown

if TYPE_CHECKING:
    from merilo.cli.output import Part

app = typer.Typer(add_completion=False)


class DecodedItem(Record):
    """One item as it was read.

    Attributes:
        fields: the fields that annotators were shown.
        answers: annotator -> their answer.
        gold: the gold answer, if it is known.
    """

    fields: dict[str, str | None]
    answers: dict[str, str]
    gold: str | None


class Found(Record):
    """The result of `merilo inspect`.

    Attributes:
        files: the files.
        columns: the names of the first file's columns.
        summary: what the files hold; `None` unless exactly one reading fits.
        item: one item; `None` as above.
        gold: how many items have a gold answer, and of how many; `None` if no gold answers are known.
        not_read: the columns of a table from which nothing is taken.
        fault: why the gold answers do not match; `None` if they do.
    """

    files: tuple[str, ...]
    columns: tuple[str, ...]
    summary: Inspection | None = None
    item: DecodedItem | None = None
    gold: dict[str, int] | None = None
    not_read: tuple[str, ...] = ()
    fault: str | None = None


@app.command("inspect")
@takes_settings(
    *("platform", "dataset", "gold", "gold_column", "reading", "item", "annotator", "answer"),
    of=InputSettings,
    into="options",
)
def inspect_(
    files: Exports,
    *,
    options: InputSettings,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write how the files are read, for --reading.", rich_help_panel=OUTPUT
        ),
    ] = None,
    force: ForceOption = False,
    json_to: JsonOption = None,
) -> int:
    """Show what is in an export, one decoded item, and how its columns are read.

    Exit status 1: several readings fit, columns must be named, or the gold answers do not match.
    """
    check_places([*files, options.gold, options.reading], json_to, out, force=force)
    refuse_idle(out, json_to, force=force)
    declared = dataset(options.dataset) if options.dataset else None
    chosen = read_reading(options.reading) if options.reading else Reading()
    own = {name: getattr(options, name) for name in ("platform", "item", "annotator", "answer")}
    chosen = chosen.named(**{name: value for name, value in own.items() if value})
    fitting = proposals(files, chosen)
    certain = len(fitting) == 1 and fitting[0].complete
    reading = fitting[0].reading
    names = tuple(field_names(files[0], reading.encoding))
    result = Found(
        files=tuple(map(shown, files)),
        columns=names,
        **(_looked_into(files, reading, options, declared) if certain else {}),
    )
    if out:
        write_text(out, reading_file(fitting))
    readings: list[Json] = [{"says": proposal.says, **proposal.reading.to_json()} for proposal in fitting]
    deliver(
        json_to,
        lambda: {**result.model_dump(mode="json"), "readings": readings},
        _parts(files, result, fitting, options, out),
    )
    return 0 if certain and not result.fault else 1


def _looked_into(
    files: Sequence[Path], reading: Reading, options: InputSettings, declared: Dataset | None
) -> dict[str, Any]:
    """Read the files by the only reading that fits."""
    responses = read_responses(files, reading=reading)
    gold, fault = None, None
    try:
        path = options.gold or (own_file(declared) if declared else None)
        gold = find_gold(responses, declared, path, options.gold_column, reading.encoding)
    except DataError as error:
        fault = for_command_line(error.marked)
    summary = inspect(responses, declared.answer.labels if declared else ())
    matched = {"matched": gold.answers.height, "items": summary.items} if gold else None
    return {
        "summary": summary,
        "item": _item(responses, gold),
        "gold": matched,
        "not_read": columns_not_read(files[0], reading),
        "fault": fault,
    }


def _item(responses: Responses, gold: Gold | None) -> DecodedItem | None:
    """Return the first of the items that most annotators answered."""
    tests = responses.table.filter(~pl.col("is_control"))
    if not tests.height:
        return None
    counts = (
        tests.group_by("item", maintain_order=True).len().sort("len", descending=True, maintain_order=True)
    )
    number = counts["item"][0]
    answers = tests.filter(item=number).select("respondent", "answer").head(MOST_ANSWERS)
    known = gold.answers.filter(item=number)["gold"].to_list() if gold else []
    texts = responses.items.filter(item=number).drop("item").row(0, named=True)
    fields = {name.removeprefix(INPUT_MARK): text for name, text in texts.items()}
    return DecodedItem(fields=fields, answers=dict(answers.iter_rows()), gold=next(iter(known), None))


def _parts(
    files: Sequence[Path],
    result: Found,
    fitting: Sequence[Proposal],
    options: InputSettings,
    out: Path | None,
) -> Iterator[Part]:
    """Yield what was found, and how to go on."""
    yield Table("", (), tuple(_rows(result, fitting)))
    for near in result.summary.near_spellings[:5] if result.summary else ():
        yield (
            f"'{near.answer}' ({near.answers}) looks like a spelling of '{near.label}' ({near.label_answers}); recode "
            "in reading.yaml joins them"
        )
    if not result.summary:
        yield "Several readings fit, or a column must be named; none is taken:"
        for proposal in fitting:
            yield f"\n# {proposal.says}"
            yield from written(proposal.reading).split("\n")[:6]
    elif not result.fault:
        yield "If the item is read right:"
        yield from _next_commands(files, fitting[0], options, out)


def _next_commands(
    files: Sequence[Path], proposal: Proposal, options: InputSettings, out: Path | None
) -> Iterator[str]:
    """Yield the commands that make a baseline of the files as they were read here."""
    by_reading, names = ("platform", "item", "annotator", "answer"), [*map(shown, files)]
    if proposal.guessed and out is None:
        # `merilo baseline` guesses no such reading: it must be declared, in a file that is not there yet.
        free = (Path(f"reading{n}.yaml") for n in ("", *range(2, 1000)))
        out = next(path for path in free if not path.exists())
        reading = ["--reading", shown(options.reading)] if options.reading else []
        named = [*_words(options, by_reading), *reading]
        yield f"  {shlex.join(['merilo', 'inspect', *names, *named, '--out', shown(out)])}"
    words = _words(options, ("dataset", "gold", "gold_column", *(() if out else by_reading)))
    if out or options.reading:
        words += ["--reading", shown(out or options.reading or "")]
    yield f"  {shlex.join(['merilo', 'baseline', *names, *words])}"


def _words(options: InputSettings, names: Sequence[str]) -> list[str]:
    """Return the options of these names as words of a command."""
    words: list[str] = []
    for name in names:
        values = getattr(options, name) or ()
        for value in values if isinstance(values, tuple) else (values,):
            words += [f"--{name.replace('_', '-')}", str(value)]
    return words


def _rows(result: Found, fitting: Sequence[Proposal]) -> Iterator[tuple[str, Cell]]:
    yield "files", ", ".join(result.files)
    yield "columns", listed(result.columns, 40)
    if result.summary:
        yield "how it is read", str(fitting[0].says)
    if result.not_read:
        yield "not read", listed(result.not_read, 40)
    if result.summary:
        yield from _counts(result.summary)
    if result.item:
        for name, text in result.item.fields.items():
            yield f"one item, {name}", shortened(text or "", 200)
        answers = [f"{who}: {shortened(answer, 60)}" for who, answer in result.item.answers.items()]
        yield "its answers", "; ".join(answers)
        if result.gold:
            yield "its gold answer", result.item.gold or "none"
    if result.gold:
        items = counted_noun(result.gold["items"], "item", "items")
        yield "gold answers", f"for {result.gold['matched']} of {items}"
    if result.fault:
        yield "gold answers", result.fault


def _counts(contents: Inspection) -> Iterator[tuple[str, Cell]]:
    dropped = ", ".join(f"{n} {reason.replace('_', ' ')}" for reason, n in contents.dropped.items())
    yield "rows", f"{contents.rows}, of which dropped: {dropped}" if dropped else contents.rows
    yield "annotators", contents.annotators
    yield "items", f"{contents.items}, control items not counted"
    answers = [f"{shortened(answer, 40)}: {n}" for answer, n in contents.answers.top.items()]
    if (more := contents.answers.distinct - len(answers)) > 0:
        answers.append(f"and {more} more different answers")
    yield "answers", "; ".join(answers)
    yield "overlap", ", ".join(f"{n} of {people}" for people, n in contents.overlap.items()) or "none"
    controls, repeats = contents.controls, contents.repeats
    yield (
        "control items",
        f"{controls['items']} with {counted_noun(controls['rows'], 'response', 'responses')}, {controls['known']} of "
        f"them with a known answer, by {counted_noun(controls['annotators'], 'annotator', 'annotators')}"
        if controls["items"]
        else "none",
    )
    yield (
        "repeated answers",
        f"{repeats['equal']} times the same answer, {repeats['different']} times another"
        if any(repeats.values())
        else "none",
    )
    timed = counted_noun(contents.timed, "response", "responses")
    yield "times, rewards", f"{timed} with a duration, {contents.paid} with a reward"
