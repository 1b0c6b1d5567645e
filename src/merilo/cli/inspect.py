"""`merilo inspect`: show what is in a file and one decoded item, and write how the file is read."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import polars as pl
import typer

from merilo.atomic_write import write_text
from merilo.baselines.study_input import gold_of
from merilo.cli.options import Exports, ForceOption, JsonOption, takes_settings
from merilo.cli.output import check_places, deliver, show, show_table
from merilo.datasets import Dataset, dataset
from merilo.datasets.own_items import own_file
from merilo.errors import DataError, InputError, UsageError, for_command_line
from merilo.file_reading import Reading, read_reading
from merilo.people import platforms
from merilo.people.gold import Gold
from merilo.people.reading import Inspection, inspect
from merilo.people.reading_proposals import Proposal, proposals, reading_file, written
from merilo.responses import INPUT_MARK, Responses
from merilo.settings import OUTPUT, InputSettings
from merilo.strict_json import Json
from merilo.text import Text, joined
from merilo.wording import listed, shortened, shown

app = typer.Typer(add_completion=False)

#: How many distinct answers, and how many annotators of one item, are listed.
MOST_ANSWERS: Final = 12


@dataclass(frozen=True, slots=True)
class DecodedItem:
    """One item as it was read.

    Attributes:
        fields: the fields that annotators were shown.
        answers: annotator -> their answer.
        gold: the gold answer, if it is known.
    """

    fields: dict[str, str | None]
    answers: dict[str, str]
    gold: str | None


@dataclass(frozen=True, slots=True)
class Found:
    """The result of `merilo inspect`.

    Attributes:
        columns: the names of the first file's columns.
        proposals: the readings that fit the files.
        summary: what the files hold; `None` unless exactly one reading fits.
        item: one item; `None` as above.
        gold: how many items have a gold answer, of how many; `None` if no gold answers are known.
        fault: why the gold answers do not match; empty if they do.
    """

    columns: list[str]
    proposals: list[Proposal]
    summary: Inspection | None = None
    item: DecodedItem | None = None
    gold: tuple[int, int] | None = None
    fault: str = ""

    @property
    def certain(self) -> bool:
        """Return whether exactly one reading fits."""
        return len(self.proposals) == 1 and self.proposals[0].complete


@app.command("inspect")
@takes_settings(
    *("platform", "dataset", "gold", "gold_column", "reading", "item", "annotator", "answer"),
    of=InputSettings,
    into="given",
)
def inspect_(
    files: Exports,
    *,
    given: InputSettings,
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
    check_places([*files, given.gold, given.reading], json_to, out, force=force)
    declared = dataset(given.dataset) if given.dataset else None
    chosen = read_reading(given.reading) if given.reading else Reading()
    own = {name: getattr(given, name) for name in ("platform", "item", "annotator", "answer")}
    chosen = chosen.named(**{name: value for name, value in own.items() if value})
    found = _looked_into(files, proposals(files, chosen), given, declared)
    if out:
        write_text(out, reading_file(found.proposals))
    deliver(json_to, lambda: _as_json(files, found), partial(_show, files, found, given, out))
    return 0 if found.certain and not found.fault else 1


def _looked_into(
    files: Sequence[Path], fitting: list[Proposal], given: InputSettings, declared: Dataset | None
) -> Found:
    """Read the files if exactly one reading fits."""
    reading = fitting[0].reading
    found = Found(platforms.field_names(files[0], reading.encoding), fitting)
    if not found.certain:
        return found
    responses = platforms.read(files, reading)
    gold, fault = None, ""
    try:
        path = given.gold or (own_file(declared) if declared else None)
        gold = gold_of(responses, declared, path, given.gold_column, reading.encoding)
    except (DataError, InputError, UsageError) as error:
        fault = for_command_line(error.marked)
    summary = inspect(responses, declared.answer.labels if declared else ())
    matched = (gold.answers.height, summary.items) if gold else None
    return Found(found.columns, fitting, summary, _item(responses, gold), matched, fault)


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
    return DecodedItem(fields, dict(answers.iter_rows()), next(iter(known), None))


def _as_json(files: Sequence[Path], found: Found) -> dict[str, Json]:
    return {
        "files": [shown(path) for path in files],
        "columns": list(found.columns),
        "readings": [{"says": one.says, **one.reading.to_json()} for one in found.proposals],
        "summary": _summary(found.summary) if found.summary else None,
        "item": asdict(found.item) if found.item else None,
        "gold": {"matched": found.gold[0], "items": found.gold[1]} if found.gold else None,
        "fault": found.fault or None,
    }


def _summary(one: Inspection) -> dict[str, Json]:
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
        "timed": one.timed,
        "paid": one.paid,
        "near_spellings": [
            {"answer": near.written, "label": near.label, "answers": near.answers} for near in one.near
        ],
    }


def _show(files: Sequence[Path], found: Found, given: InputSettings, out: Path | None) -> None:
    """Print what was found on standard output."""
    show_table(_rows(files, found))
    for near in found.summary.near[:5] if found.summary else ():
        show(
            Text(
                "'{written}' ({answers}) looks like a spelling of '{label}' ({labels}); recode in reading.yaml "
                "joins them",
                written=near.written,
                answers=near.answers,
                label=near.label,
                labels=near.label_answers,
            )
        )
    if not found.certain:
        show(Text("Several readings fit, or a column must be named; none is taken:"))
        for one in found.proposals:
            show(f"\n# {one.says}", *written(one.reading).split("\n")[:6])
        return
    words = ["merilo", "baseline", *map(shown, files)]
    for name in ("platform", "dataset", "gold", "gold_column", "item", "annotator", "answer"):
        values = getattr(given, name) or ()
        if out and name in {"platform", "item", "annotator", "answer"}:
            continue
        for value in values if isinstance(values, tuple) else (values,):
            words += [f"--{name.replace('_', '-')}", str(value)]
    if out or given.reading:
        words += ["--reading", shown(out or given.reading or "")]
    show(Text("If the item is read right:"), f"  {shlex.join(words)}")


def _rows(files: Sequence[Path], found: Found) -> Iterator[tuple[Text, object]]:
    yield Text("files", context="row"), ", ".join(map(shown, files))
    yield Text("columns", context="row"), listed(found.columns, 40)
    if found.certain:
        yield Text("how it is read"), found.proposals[0].says
    if found.summary:
        yield from _counts(found.summary)
    if found.item:
        for name, text in found.item.fields.items():
            yield Text("one item, {field}", field=name), shortened(text or "", 200)
        answers = [f"{who}: {shortened(answer, 60)}" for who, answer in found.item.answers.items()]
        yield Text("its answers"), "; ".join(answers)
        if found.gold:
            yield Text("its gold answer"), found.item.gold or Text("none")
    if found.gold:
        yield (
            Text("gold answers", context="row"),
            Text("for {n} of {items:# item|# items}", n=found.gold[0], items=found.gold[1]),
        )
    if found.fault:
        yield Text("gold answers", context="row"), found.fault


def _counts(one: Inspection) -> Iterator[tuple[Text, object]]:
    none = Text("none")
    dropped = [f"{n} {reason.replace('_', ' ')}" for reason, n in one.dropped.items()]
    told = Text("{n}, of which dropped: {reasons}", n=one.rows_read, reasons=dropped)
    yield Text("rows"), told if dropped else one.rows_read
    yield Text("annotators", context="row"), one.annotators
    yield Text("items", context="row"), Text("{n}, control items not counted", n=one.items)
    top = [f"{shortened(answer, 40)}: {n}" for answer, n in list(one.answers.items())[:MOST_ANSWERS]]
    more = len(one.answers) - len(top)
    also = Text("and {n} more different answers", n=more) if more else ""
    yield Text("answers"), joined([*top, also], "; ")
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
