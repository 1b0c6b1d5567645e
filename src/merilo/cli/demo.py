"""`merilo demo`: run the whole procedure on generated items and simulated annotators, without a network."""

from __future__ import annotations

import json
import os
import sys
import webbrowser
from pathlib import Path
from typing import Annotated, Final

import typer

from merilo import cli
from merilo.atomic_write import refuse_existing, write_text
from merilo.cli.output import say
from merilo.datasets import dataset
from merilo.datasets.generators import generate
from merilo.datasets.rules import RULES
from merilo.errors import DataError
from merilo.items import Item, Split, write_splits
from merilo.people.simulation import SimulatedItem, toloka_export

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
    seed: Annotated[int, typer.Option(help="The random seed. The same seed gives the same files.")] = 1,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier demo.")] = False,
    open_report: Annotated[
        bool | None,
        typer.Option("--open/--no-open", help="Open the report in a browser. Default: only on a desktop."),
    ] = None,
) -> int:
    """Run the whole procedure: generate items, simulate annotators' answers, and make a baseline with merilo baseline."""
    refuse_existing(out, force=force)
    reports = []
    for name in _DEMONSTRATED:
        folder = out / name
        controls = max(4, round(items * CONTROL_SHARE))
        made = generate(name, items + controls, seed)
        _write(name, folder, made[controls:], made[:controls], seed)
        words = [
            *("baseline", str(folder / "export.tsv"), "--dataset", name, "--gold", str(folder / "test.json")),
            *("--model", str(folder / f"{_rule(name)}.jsonl"), "--out", str(folder / "baseline")),
        ]
        print(f"\n$ merilo {' '.join(words)}", flush=True)  # noqa: T201 - the demo shows what it runs
        status = cli.main([*words, "--force"] if force else words)
        if status not in {0, DataError.exit_status}:
            return status
        if status:
            say(f"the baseline of {name} is rejected: people disagree on too many items, as the report shows")
        reports.append(folder / "baseline" / "report.html")
    listed = "\n".join(f"  {report}" for report in reports)
    print(f"\nThe annotators were simulated. Open the reports:\n{listed}")  # noqa: T201
    if open_report if open_report is not None else _on_a_desktop():
        webbrowser.open(reports[-1].resolve().as_uri())
    return 0


def _write(name: str, folder: Path, tests: list[Item], control_items: list[Item], seed: int) -> None:
    """Write an export in the platform's format, the items with gold, and the answers of a simple rule in place of a model."""
    columns, answer, _ = _DEMONSTRATED[name]
    longest = max(len(str(item.inputs)) for item in [*tests, *control_items])
    export = toloka_export(
        [_question(name, item, longest) for item in tests],
        [_question(name, item, longest) for item in control_items],
        columns=columns,
        answer=answer,
        labels=dataset(name).answer.labels,
        seed=seed,
    )
    write_text(folder / "export.tsv", export)
    write_splits(folder / "test.json", [Split("test", tuple(tests))])
    rule = RULES[name]
    answers = [json.dumps({"id": item.id, "answer": rule(str(item.inputs))}) for item in tests]
    write_text(folder / f"{_rule(name)}.jsonl", "\n".join(answers) + "\n")


def _rule(name: str) -> str:
    """Return the name of the rule that stands in for a model."""
    return f"rule-{RULES[name].__name__.replace('_', '-')}"


def _question(name: str, item: Item, longest: int) -> SimulatedItem:
    columns, _, hardest = _DEMONSTRATED[name]
    text = str(item.inputs)
    return SimulatedItem(
        inputs=tuple(text.split()) if len(columns) > 1 else (text,),
        gold=str(item.outputs),
        difficulty=min(hardest * 4 * len(text) / longest, 1.0),
    )


def _on_a_desktop() -> bool:
    return sys.stdout.isatty() and bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform == "darwin"
    )
