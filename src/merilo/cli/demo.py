"""`merilo demo`: the whole job on items made on the spot, answered by simulated annotators, without a network."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path
from typing import Annotated, Final

import typer

from merilo import cli
from merilo.cli.output import say
from merilo.datasets import dataset
from merilo.datasets.generators import generate
from merilo.errors import DataError
from merilo.files import refuse_existing, write_text
from merilo.people.simulation import Question, toloka_export

app = typer.Typer(add_completion=False)

#: dataset -> (input columns, answer column, how hard an item is for people)
_DEMONSTRATED: Final = {
    "bps": (("parentheses",), "correct", 0.04),
    "lcs": (("string1", "string2"), "length", 0.19),
}

CONTROL_SHARE: Final = 0.15


@app.command()
def demonstrate(
    out: Annotated[Path, typer.Option(help="The folder for exports and reports.")] = Path("merilo-demo"),
    *,
    items: Annotated[int, typer.Option(min=10, max=5000, help="How many items each dataset gets.")] = 200,
    seed: Annotated[int, typer.Option(help="The seed; the same seed gives the same bytes.")] = 1,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier demo.")] = False,
    open_report: Annotated[
        bool | None,
        typer.Option("--open/--no-open", help="Open the report in a browser; on a desktop by default."),
    ] = None,
) -> int:
    """Show the whole job: items are generated, simulated annotators answer, merilo baseline does the rest."""
    refuse_existing(out, force=force)
    reports = []
    for name in _DEMONSTRATED:
        export = out / name / "export.tsv"
        write_text(export, _export(name, items, seed))
        words = ["baseline", str(export), "--dataset", name, "--out", str(out / name / "baseline")]
        print(f"\n$ merilo {' '.join(words)}", flush=True)  # noqa: T201 - the demo shows what it runs
        status = cli.main([*words, "--force"] if force else words)
        if status not in {0, DataError.exit_status}:
            return status
        if status:
            say(
                f"the baseline of {name} is rejected: people disagree on too many items, and the report says so"
            )
        reports.append(out / name / "baseline" / "report.html")
    listed = "\n".join(f"  {report}" for report in reports)
    print(f"\nThe annotators were simulated. Open the reports:\n{listed}")  # noqa: T201
    if open_report if open_report is not None else _on_a_desktop():
        webbrowser.open(reports[-1].resolve().as_uri())
    return 0


def _export(name: str, items: int, seed: int) -> str:
    """What the platform would have exported."""
    columns, answer, hardest = _DEMONSTRATED[name]
    controls = max(4, round(items * CONTROL_SHARE))
    made = generate(name, items + controls, seed)
    longest = max(len(str(item.inputs)) for item in made)
    questions = [
        Question(
            inputs=tuple(str(item.inputs).split()) if len(columns) > 1 else (str(item.inputs),),
            gold=str(item.outputs),
            difficulty=min(hardest * 4 * len(str(item.inputs)) / longest, 1.0),
        )
        for item in made
    ]
    return toloka_export(
        questions[controls:],
        questions[:controls],
        columns=columns,
        answer=answer,
        labels=dataset(name).answer.labels,
        seed=seed,
    )


def _on_a_desktop() -> bool:
    return sys.stdout.isatty() and bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform == "darwin"
    )
