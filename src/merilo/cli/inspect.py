"""`merilo inspect`: show what is in a file and one decoded item, and write how the file is read."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from merilo.atomic_write import write_text
from merilo.baselines.study_input import find_gold
from merilo.cli.options import Exports, ForceOption, JsonOption, takes_settings
from merilo.cli.output import check_places, deliver, show, show_table
from merilo.datasets import Dataset, dataset
from merilo.datasets.own_items import own_file
from merilo.errors import DataError, InputError, UsageError, for_command_line
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
from merilo.responses import INPUT_MARK, Responses
from merilo.settings import OUTPUT, InputSettings
from merilo.strict_json import Json
from merilo.text import Text, joined
from merilo.wording import listed, shortened, shown

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


class MatchedGold(Record):
    """How many items have a gold answer, of how many."""

    matched: int
    items: int


class Found(Record):
    """The result of `merilo inspect`.

    Attributes:
        files: the files.
        columns: the names of the first file's columns.
        summary: what the files hold; `None` unless exactly one reading fits.
        item: one item; `None` as above.
        gold: the items with a gold answer; `None` if no gold answers are known.
        not_read: the columns of a table from which nothing is taken.
        fault: why the gold answers do not match; `None` if they do.
    """

    files: tuple[str, ...]
    columns: tuple[str, ...]
    summary: Inspection | None = None
    item: DecodedItem | None = None
    gold: MatchedGold | None = None
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
        partial(_show, files, result, fitting, options, out),
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
    except (DataError, InputError, UsageError) as error:
        fault = for_command_line(error.marked)
    summary = inspect(responses, declared.answer.labels if declared else ())
    matched = MatchedGold(matched=gold.answers.height, items=summary.items) if gold else None
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


def _show(
    files: Sequence[Path],
    result: Found,
    fitting: Sequence[Proposal],
    options: InputSettings,
    out: Path | None,
) -> None:
    """Print what was found on standard output."""
    show_table(_rows(result, fitting))
    for near in result.summary.near_spellings[:5] if result.summary else ():
        show(
            Text(
                "'{answer}' ({answers}) looks like a spelling of '{label}' ({label_answers}); recode in reading.yaml "
                "joins them",
                **near.model_dump(),
            )
        )
    if not result.summary:
        show(Text("Several readings fit, or a column must be named; none is taken:"))
        for proposal in fitting:
            show(f"\n# {proposal.says}", *written(proposal.reading).split("\n")[:6])
        return
    if result.fault:
        return
    show(Text("If the item is read right:"), *_next_commands(files, fitting[0], options, out))


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


def _rows(result: Found, fitting: Sequence[Proposal]) -> Iterator[tuple[Text, object]]:
    yield Text("files", context="row"), ", ".join(result.files)
    yield Text("columns", context="row"), listed(result.columns, 40)
    if result.summary:
        yield Text("how it is read"), fitting[0].says
    if result.not_read:
        yield Text("not read"), listed(result.not_read, 40)
    if result.summary:
        yield from _counts(result.summary)
    if result.item:
        for name, text in result.item.fields.items():
            yield Text("one item, {field}", field=name), shortened(text or "", 200)
        answers = [f"{who}: {shortened(answer, 60)}" for who, answer in result.item.answers.items()]
        yield Text("its answers"), "; ".join(answers)
        if result.gold:
            yield Text("its gold answer"), result.item.gold or Text("none")
    if result.gold:
        matched = Text("for {matched} of {items:# item|# items}", **result.gold.model_dump())
        yield Text("gold answers", context="row"), matched
    if result.fault:
        yield Text("gold answers", context="row"), result.fault


def _counts(contents: Inspection) -> Iterator[tuple[Text, object]]:
    none, summary = Text("none"), contents.model_dump()
    dropped = [f"{n} {reason.replace('_', ' ')}" for reason, n in contents.dropped.items()]
    rows = Text("{n}, of which dropped: {reasons}", n=contents.rows, reasons=dropped)
    yield Text("rows"), rows if dropped else contents.rows
    yield Text("annotators", context="row"), contents.annotators
    yield Text("items", context="row"), Text("{n}, control items not counted", n=contents.items)
    top = [f"{shortened(answer, 40)}: {n}" for answer, n in contents.answers.top.items()]
    more = contents.answers.distinct - len(top)
    also = Text("and {n} more different answers", n=more) if more else ""
    yield Text("answers"), joined([*top, also], "; ")
    pairs = [
        Text("{items} of {people}", items=items, people=people) for people, items in contents.overlap.items()
    ]
    yield Text("overlap"), joined(pairs, ", ") if pairs else none
    controls = Text(
        "{items} with {rows:# response|# responses}, {known} of them with a known answer, by "
        "{annotators:# annotator|# annotators}",
        **summary["controls"],
    )
    yield Text("control items", context="row"), controls if contents.controls["items"] else none
    repeats = Text("{equal} times the same answer, {different} times another", **summary["repeats"])
    yield Text("repeated answers"), repeats if any(contents.repeats.values()) else none
    times = Text(
        "{n:# response|# responses} with a duration, {paid} with a reward",
        n=contents.timed,
        paid=contents.paid,
    )
    yield Text("times, rewards"), times
