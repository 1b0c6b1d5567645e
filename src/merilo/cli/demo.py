"""`merilo demo`: run the whole procedure on generated items and simulated people, without another computer."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from merilo import cli
from merilo.atomic_write import refuse_existing, write_text
from merilo.cli.options import ForceOption
from merilo.cli.output import say, show
from merilo.datasets.solvers import RULES
from merilo.errors import DataError
from merilo.items import Item, read_split
from merilo.text import Text

if TYPE_CHECKING:
    from merilo.site.simulated_people import SimulatedCollection

app = typer.Typer(add_completion=False)

#: dataset -> (input columns and answer column of the export, how hard an item is for people)
_DEMONSTRATED: Final = {
    "bps": (("parentheses",), "correct", 0.04),
    "lcs": (("string1", "string2"), "length", 0.1),
}

#: The study whose baseline is published.
_PUBLISHED: Final = "lcs"

#: Built-in respondents that are compared with people.
_RESPONDENTS: Final = ("random", "most-frequent")

#: One task in five is a control item, so that people who guess are found out within their 50 items.
_CONTROL_SHARE: Final = 0.2

#: Items of the training, and shots that the instruction shows as examples.
_TRAINING: Final = 5
_EXAMPLES: Final = 24

#: The day of the freeze, before the simulated people come.
_FROZEN: Final = "2026-01-09"


@app.command()
def demonstrate(
    out: Annotated[Path, typer.Option(help="The folder of everything that is made.")] = Path("merilo-demo"),
    *,
    items: Annotated[int, typer.Option(min=10, max=5000, help="How many items each dataset gets.")] = 100,
    seed: Annotated[
        int, typer.Option(min=0, help="The random seed. The same seed gives the same files.")
    ] = 1,
    force: ForceOption = False,
    open_report: Annotated[
        bool | None,
        typer.Option("--open/--no-open", help="Open the report in a browser. Default: only on a desktop."),
    ] = None,
) -> int:
    """Run the whole procedure: two studies, simulated people who answer on the annotation site, baselines, comparison.

    Needs the extra 'site'.
    """
    from merilo.site import require_site  # noqa: PLC0415 - an extra

    require_site()
    refuse_existing(out, force=force)
    _remove_earlier(out)
    demo = _Demo(out, items, seed)
    for name in _DEMONSTRATED:
        demo.study(name)
    _run("report", out / _PUBLISHED / "study", "--out", out / _PUBLISHED / "hb")
    demo.comparison()
    show("", Text("All annotators of this demo are simulated. Open in a browser:"))
    for name in _DEMONSTRATED:
        folder = out / name / ("hb" if name == _PUBLISHED else "study/baseline")
        show(
            Text("  {file}: the report of {dataset}", file=folder / "report.html", dataset=name),
            Text("  {file}: its items with all answers", file=folder / "items.html"),
        )
    published = out / _PUBLISHED
    show(
        Text("  {file}: people and two built-in respondents", file=out / "comparison.html"),
        Text(
            "{folder} is the folder to publish; its notebook hb.ipynb computes the figures again.",
            folder=published / "hb",
        ),
        Text(
            "'{command}' shows the author's pages of the site.",
            command=f"merilo study serve {published / 'study'}",
        ),
    )
    if open_report if open_report is not None else _on_a_desktop():
        webbrowser.open((out / _PUBLISHED / "hb" / "report.html").resolve().as_uri())
    return 0


class _Demo:
    """A demonstration that is under way; it prints each command before it runs it.

    Args:
        out: the folder of everything that is made.
        items: how many items each dataset gets.
        seed: the random seed.
    """

    def __init__(self, out: Path, items: int, seed: int) -> None:
        self.out = out
        self.items = items
        self.seed = seed

    def study(self, name: str) -> None:
        """Make a study, let simulated people answer it, and make its baseline."""
        folder, study = self.out / name, self.out / name / "study"
        controls = max(12, round(self.items * _CONTROL_SHARE / (1 - _CONTROL_SHARE)))
        _run(
            *("datasets", "generate", name, "--seed", self.seed, "--size", self.items),
            *("--shots", controls + _EXAMPLES, "--out", folder / "test.json"),
        )
        _run(
            *("datasets", "generate", name, "--seed", self.seed + 1, "--size", _TRAINING),
            *("--out", folder / "training.json"),
        )
        _run(
            *("study", "create", folder / "test.json", "--dataset", name, "--name", f"{name}-simulated"),
            *("--seed", self.seed, "--control-share", _CONTROL_SHARE, "--training", folder / "training.json"),
            *("--items-per-page", 10, "--pay-per-page", 0.5, "--out", study),
        )
        _run("study", "freeze", study, "--date", _FROZEN)
        show(
            "",
            Text(
                "Simulated people answer {study} on the annotation site, as after '{command}' ...",
                study=f"{name}-simulated",
                command=f"merilo study serve {study}",
            ),
        )
        sys.stdout.flush()
        from merilo.site.simulated_people import collect_from_simulated_people  # noqa: PLC0415 - an extra

        _tell(collect_from_simulated_people(study, seed=self.seed, difficulty=difficulty(name, folder)))
        _run("study", "collect", study, "--out", folder / "answers.csv")
        _run("study", "import", study, folder / "answers.csv")
        if _run("study", "baseline", study, "--out", study / "baseline", may_be_rejected=True):
            say(
                Text(
                    "the baseline of {dataset} is rejected: people disagree on too many items, as the report shows",
                    dataset=name,
                )
            )
        _write_export(name, study, folder / "export.tsv")
        _write_rule(name, folder)

    def comparison(self) -> None:
        """Compare people with built-in respondents."""
        baselines = [self.out / name / "study" / "baseline" for name in _DEMONSTRATED]
        runs = [self.out / "runs" / respondent for respondent in _RESPONDENTS]
        for respondent, run in zip(_RESPONDENTS, runs, strict=True):
            _run(
                *("run", "--model", respondent, "--shots", 0, "--datasets", ",".join(_DEMONSTRATED)),
                *("--data", self.out, "--out", run),
            )
        _run("compare", *baselines, *runs, "--format", "html", "--out", self.out / "comparison.html")


def _run(*words: object, may_be_rejected: bool = False) -> int:
    """Print a command, run it, and return its exit status.

    Raises:
        typer.Exit: the command failed.
    """
    texts = [str(word) for word in words]
    show("", f"$ merilo {' '.join(texts)}")
    sys.stdout.flush()
    status = cli.main(texts)
    if status and not (may_be_rejected and status == DataError.exit_status):
        raise typer.Exit(status)
    return status


def _tell(collected: SimulatedCollection) -> None:
    ends = [
        Text(
            "{n} {end:done=worked to the end|stopped=stopped after control items|refused=failed the training|"
            "left=left half-way}",
            n=n,
            end=end,
        )
        for end, n in collected.people.items()
        if n
    ]
    show(
        Text(
            "{n} answers of simulated people: {ends}",
            n=collected.answers,
            ends=ends,
        )
    )


def _remove_earlier(out: Path) -> None:
    """Remove what an earlier demo made, and nothing else in the folder."""
    for name in (*_DEMONSTRATED, "runs"):
        shutil.rmtree(out / name, ignore_errors=True)
    (out / "comparison.html").unlink(missing_ok=True)


def difficulty(name: str, folder: Path) -> Callable[[Item], float]:
    """Return how difficult an item is for people: the longer, the harder."""
    hardest = _DEMONSTRATED[name][2]
    longest = max(len(str(item.inputs)) for item in read_split(folder / "test.json").items)
    return lambda item: min(hardest * 4 * len(str(item.inputs)) / longest, 1.0)


def _write_export(name: str, study: Path, path: Path) -> None:
    """Write the collected answers as a crowd platform exports them, for the tutorials about exports."""
    columns, answer, _ = _DEMONSTRATED[name]
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerow([
        *(f"INPUT:{column}" for column in columns), f"OUTPUT:{answer}", f"GOLDEN:{answer}", "HINT:text",
        "ASSIGNMENT:assignment_id", "ASSIGNMENT:worker_id", "ASSIGNMENT:status", "ASSIGNMENT:started",
        "ASSIGNMENT:submitted", "ASSIGNMENT:reward",
    ])  # fmt: skip
    for line in (study / "answers" / "people.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        writer.writerow([
            *(row["inputs"].split() if len(columns) > 1 else [row["inputs"]]), row["answer"], row["control"] or "", "",
            row["page"], row["respondent"], "APPROVED", row["started"], row["submitted"], f"{row['reward']:.10f}",
        ])  # fmt: skip
    write_text(path, text.getvalue())


def _write_rule(name: str, folder: Path) -> None:
    """Write the answers of a simple rule, as an example of a model's answers."""
    rule = RULES[name]
    answers = [
        json.dumps({"id": item.id, "answer": rule(str(item.inputs))})
        for item in read_split(folder / "test.json").items
    ]
    write_text(folder / f"rule-{rule.__name__.replace('_', '-')}.jsonl", "\n".join(answers) + "\n")


def _on_a_desktop() -> bool:
    return sys.stdout.isatty() and bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform == "darwin"
    )
