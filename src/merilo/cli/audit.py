"""`merilo audit`: find gold answers that are probably wrong, and wrong answers that are typing errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from merilo.baselines.audit import LEAST_PROBABLE, suspect_golds, tally
from merilo.baselines.audit import audit as find_wrong_golds
from merilo.baselines.pipeline import Baseline
from merilo.cli.output import OutFolder, emit_json, reading, refuse_json, say, working
from merilo.cli.procedure_options import takes_settings
from merilo.cli.study_options import (
    INPUT,
    OUTPUT,
    AnnotatorOption,
    AnswerOption,
    ControlOption,
    DatasetOption,
    EncodingOption,
    Exports,
    ForceOption,
    GoldColumnOption,
    GoldOption,
    ItemOption,
    JsonOption,
    PageOption,
    PlatformOption,
    RecodeOption,
    SkillsOption,
)
from merilo.metrics.score import Score
from merilo.people.audit.findings import FEWEST_EXPECTED, NONE_OF_THESE, VERDICTS, Audit, Finding, StudyAudit
from merilo.people.audit.typos import TYPING_ERRORS
from merilo.people.reading import read_responses
from merilo.people.recoding import recoding_files
from merilo.responses import INPUT_MARK
from merilo.settings import Settings
from merilo.wording import shortened

app = typer.Typer(add_completion=False)


@app.command()
@takes_settings(
    "metric", "alternatives", "min_control_accuracy", "min_controls", "min_votes", "resolve", "repeats"
)
def audit(
    files: Exports,
    *,
    platform: PlatformOption = None,
    dataset_name: DatasetOption = None,
    gold: GoldOption = None,
    gold_column: GoldColumnOption = None,
    revised: Annotated[
        Path | None,
        typer.Option(
            help="The filled-in audit.csv of --out: the baseline is scored before and after the revision.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    answer: AnswerOption = None,
    recode: RecodeOption = None,
    skills: SkillsOption = None,
    other: Annotated[
        list[Path] | None,
        typer.Option(
            help="An export of another dataset with the same annotators, to judge them on it too; may be "
            "given several times.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    encoding: EncodingOption = None,
    choice: Annotated[
        bool | None,
        typer.Option(
            "--choice/--open",
            help="Answers are labels, or typed freely. Default: labels if there are at most five.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    settings: Settings,
    item: ItemOption = None,
    annotator: AnnotatorOption = None,
    control: ControlOption = None,
    page: PageOption = None,
    limit: Annotated[
        int,
        typer.Option(
            min=0, help="How many items to print; the files have all of them.", rich_help_panel=OUTPUT
        ),
    ] = 20,
    out: Annotated[
        Path | None,
        typer.Option(
            help="A new folder for audit.csv (to fill in for --revised), contested.csv and audit.json.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    force: ForceOption = False,
    json_to: JsonOption = None,
) -> int:
    """List the items whose gold answer is probably wrong, and separate typing errors from dataset errors."""
    inputs = [
        *files,
        *(path for path in (gold, revised, skills) if path),
        *(other or ()),
        *recoding_files(recode or ()),
    ]
    folder = OutFolder.checked(out, force=force, needed=inputs)
    refuse_json(json_to, inputs)
    with reading(files) as progress:
        responses = read_responses(
            files,
            platform=platform,
            dataset=dataset_name,
            item=item,
            annotator=annotator,
            answer=answer,
            control=control,
            page=page,
            encoding=encoding,
            recode=recode or (),
            progress=progress,
        )
    with working(f"Comparing {responses.table.height:,} answers with gold"):
        result = find_wrong_golds(
            responses,
            dataset=dataset_name,
            gold=gold,
            gold_column=gold_column,
            revised=revised,
            skills=skills,
            others=other or (),
            choice=choice,
            settings=settings,
        )
    study = result.details
    if folder:
        result.save(folder.path, force=folder.force)
    if not study.audit.golds:
        say(
            "no item has a gold: only the items on which people disagree can be listed (add --gold "
            "FILE to look for wrong golds)"
        )
    if json_to:
        emit_json(result.to_dict(), json_to)
    if json_to != "-":
        show(study, result.before, result.after, limit=limit, out=out)
    return 0


_COLOURS = {"gold": "red", "typing_error": "cyan", "annotator": "yellow", "disagreement": "magenta"}

#: Longer item texts are cut on the terminal; the files have them in full.
_LONGEST_INPUT, _LONGEST_ANSWER, _LONGEST_NAME = 300, 120, 20


def show(
    study: StudyAudit, before: Baseline, after: Baseline | None, *, limit: int, out: Path | None
) -> None:
    """Print the items to review, and the counts over all items, on standard output."""
    console = Console(highlight=False)
    found = study.audit
    suspects = suspect_golds(found)
    _blocks(console, "Items to read first: their gold may be wrong", study, suspects[:limit])
    if not found.golds:
        _blocks(console, "Items on which people disagree", study, found.contested[:limit])
    if found.golds:
        _golds(console, found, len(suspects))
    if found.golds < found.items:
        console.print(
            f"{_counted(found.items - found.golds, 'item')} without gold; people disagree on "
            f"{len(found.contested)} of them"
            f"{' (listed in contested.csv)' if out and found.contested else ''}.",
            soft_wrap=True,
        )
    counts: Counter[str] = Counter(one.verdict for one in chain(found.findings, found.contested))
    for verdict, text in VERDICTS.items():
        if counts[verdict]:
            console.print(f"  [{_COLOURS[verdict]}]{verdict}[/]: {counts[verdict]}  ({text})", soft_wrap=True)
    for kind, n in found.typing_errors.items():
        console.print(
            f"  typing error, {kind}: {_counted(n, 'answer')}  ({TYPING_ERRORS[kind]})", soft_wrap=True
        )
    if after:
        for name, score in before.scores.items():
            console.print(f"{name} before revision: {_figure(score)}; after: {_figure(after.scores[name])}")
        if not before.scores:
            console.print("Without gold answers nothing can be scored again (add --gold FILE).")
    if out:
        console.print(f"The list: {out / 'audit.csv'}", soft_wrap=True, markup=False)


def _golds(console: Console, found: Audit, suspects: int) -> None:
    """Print the summary over all gold answers."""
    console.print(
        f"{len(found.findings)} of {_counted(found.golds, 'item')} with gold {_have(len(found.findings))} an answer "
        "that differs from it.",
        soft_wrap=True,
    )
    if not found.findings:
        return
    if max(len(one.answers) for one in found.findings) == 1:
        console.print(
            "Each of them has one answer, so an answer that differs from the gold may be the "
            "annotator's error just as well.",
            soft_wrap=True,
        )
    expected = f"Expected number of wrong golds: {found.expected_wrong:.1f} of {found.golds}"
    first = found.to_review(0.9)
    if first:
        first_items = "first item" if first == 1 else f"first {first} items"
        expected += f"; the {first_items} of the list {_have(first, 'holds', 'hold')} 90 % of them"
    console.print(f"{expected}.", soft_wrap=True)
    if not first:
        console.print(
            f"This is below {FEWEST_EXPECTED:g}, so the audit recommends no list to read.", soft_wrap=True
        )
    elif not suspects:
        console.print(
            f"No gold is wrong with a probability of {LEAST_PROBABLE:g} or more: the answers give "
            "no reason to doubt one.",
            soft_wrap=True,
        )


def _blocks(console: Console, title: str, study: StudyAudit, findings: Sequence[Finding]) -> None:
    """Print a block of lines per item; in columns, a narrow terminal would have no room for the text."""
    if findings:
        console.print(f"[bold]{title}[/]\n")
    for rank, finding in enumerate(findings, start=1):
        number = study.numbers[finding.item]
        mark = " (control)" if number in study.controls else ""
        doubt = "" if finding.gold is None else f"P(gold wrong) {finding.gold_wrong:.3f}, "
        console.print(
            f"[bold]{rank}. item {number}{mark}[/]: {doubt}[{_COLOURS[finding.verdict]}]{finding.verdict}[/]"
        )
        fields = Table.grid(padding=(0, 2), expand=False)
        fields.add_column(style="dim", no_wrap=True)
        fields.add_column(overflow="fold")
        for name, text in study.inputs[number].items():
            if text:
                shown = shortened(name.removeprefix(INPUT_MARK), _LONGEST_NAME)
                fields.add_row(f"   {escape(shown)}", escape(shortened(text, _LONGEST_INPUT)))
        if finding.gold is not None:
            fields.add_row("   gold", escape(shortened(finding.gold, _LONGEST_ANSWER)))
        best = NONE_OF_THESE if finding.best is None else escape(shortened(finding.best, _LONGEST_ANSWER))
        fields.add_row("   most probable", f"{best} (P {finding.best_probability:.3f})")
        fields.add_row("   answers", escape(shortened(tally(finding), _LONGEST_ANSWER)))
        console.print(fields)
        console.print()


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _have(n: int, one: str = "has", many: str = "have") -> str:
    return one if n == 1 else many


def _figure(score: Score) -> str:
    sure = f" \\[{score.interval.low:.3f}, {score.interval.high:.3f}]" if score.interval else ""
    return f"{score.value:.3f}{sure} on {_counted(score.n, 'item')}"
