"""`merilo demo`: run the whole procedure with simulated people, on a file of questions and on a built-in dataset.

The questions are a benchmark in English (`datasets/everyday`) that `merilo datasets new` declares. A simulated model
answers them in a log of lm-eval.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sys
import webbrowser
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, Final

import typer

from merilo import cli, datasets
from merilo.atomic_write import refuse_existing, refuse_unwritable, write_text
from merilo.cli.options import ForceOption
from merilo.cli.output import say, show
from merilo.datasets import Dataset, dataset
from merilo.datasets.dataset_files import option_name, read_split, read_splits
from merilo.datasets.rendering import render
from merilo.errors import DataError
from merilo.items import Item

if TYPE_CHECKING:
    from merilo.site.simulated_people import SimulatedCollection

app = typer.Typer(add_completion=False)

#: The benchmark of questions in English, whose baseline is published; and its bundled files.
_OWN: Final = "everyday"
_QUESTIONS: Final = Path(datasets.__file__).parent / _OWN

#: The dataset of the catalogue, whose items are generated.
_GENERATED: Final = "lcs"

#: dataset -> how hard an item is for people
_HARDNESS: Final = {_OWN: 0.04, _GENERATED: 0.1}

#: dataset -> input columns and answer column of the export
_EXPORTED: Final = {
    _OWN: (("question", "option_a", "option_b", "option_c", "option_d"), "answer"),
    _GENERATED: (("string1", "string2"), "length"),
}

#: The simulated model, its probability of a right answer, and that where it has to reckon.
_MODEL: Final = "simulated-model"
_KNOWS: Final = 0.9
_RECKONS: Final = 0.55
_RECKONED: Final = ("arithmetic", "calendar and time", "logic")

#: How the simulated model puts its answer.
_REPLIES: Final = (
    "{label}",
    "The answer is {label}.",
    "**{label}. {option}**",
    "Let us check the options one by one. Only '{option}' fits. The correct answer is ({label}).",
    "Answer: {label}",
)

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
    items: Annotated[
        int,
        typer.Option(
            min=10, max=5000, help="How many items each dataset gets; the benchmark in English has 80."
        ),
    ] = 100,
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

    The first study is about a file of questions in English, the second about LCS, a dataset of the catalogue.
    """
    refuse_existing(out, force=force)
    refuse_unwritable(out / "comparison.html")
    _remove_earlier(out)
    demo = _Demo(out, items, seed)
    demo.own_study()
    demo.generated_study()
    demo.comparison()
    report = out / _OWN / "hb" / "report.html"
    show(
        "",
        "All annotators and the model of this demo are simulated. Open in a browser:",
        f"  {report}: the report of {_OWN}",
        f"  {report.with_name('items.html')}: its items with all answers",
        f"  {out / _GENERATED / 'hb' / 'report.html'}: the report of {_GENERATED}",
        f"  {out / 'comparison.html'}: people, the model and two built-in respondents",
        f"  {out / 'leaderboard' / 'index.html'}: the leaderboard",
        f"{out / _OWN / 'hb'} is the folder to publish; its notebook hb.ipynb computes the figures again.",
        f"'merilo study serve {out / _OWN / 'study'}' shows the author's pages of the site.",
    )
    if open_report if open_report is not None else _on_a_desktop():
        webbrowser.open(report.resolve().as_uri())
    return 0


class _Demo:
    """A demonstration that is under way; it prints each command before it runs it.

    Args:
        out: the folder of everything that is made.
        items: how many items each dataset gets at most.
        seed: the random seed.
    """

    def __init__(self, out: Path, items: int, seed: int) -> None:
        self.out = out
        self.items = items
        self.seed = seed

    def own_study(self) -> None:
        """Declare the questions in English, make a study of them, publish its baseline, and write the model's log."""
        folder = self.out / _OWN
        _copy_questions(folder, self.items)
        declaration = folder / f"{_OWN}.yaml"
        _run(
            *("datasets", "new", folder / "questions.jsonl", "--shots", folder / "solved.jsonl"),
            *("--name", _OWN, "--out", declaration),
        )
        self._study(_OWN, declaration)
        _write_log(dataset(str(declaration)), read_items(folder), self.seed, folder / f"{_MODEL}.jsonl")

    def generated_study(self) -> None:
        """Generate items of a dataset of the catalogue, and make a study of them."""
        folder = self.out / _GENERATED
        controls = max(12, round(self.items * _CONTROL_SHARE / (1 - _CONTROL_SHARE)))
        _run(
            *("datasets", "generate", _GENERATED, "--seed", self.seed, "--size", self.items),
            *("--shots", controls + _EXAMPLES, "--out", folder / "test.json"),
        )
        _run(
            *("datasets", "generate", _GENERATED, "--seed", self.seed + 1, "--size", _TRAINING),
            *("--out", folder / "training.json"),
        )
        self._study(_GENERATED, folder / "test.json", "--dataset", _GENERATED)
        _write_rule(folder)

    def _study(self, name: str, *data: object) -> None:
        """Make a study, let simulated people answer it, and make its baseline."""
        folder, study = self.out / name, self.out / name / "study"
        training = folder / f"training{'.jsonl' if name == _OWN else '.json'}"
        _run(
            *("study", "create", *data, "--name", f"{name}-simulated", "--seed", self.seed),
            *("--control-share", _CONTROL_SHARE, "--training", training),
            *("--out", study),
        )
        _decide(study)
        _run("study", "freeze", study, "--date", _FROZEN, "--yes")
        served = f"as after 'merilo study serve {study}' ..."
        show("", f"Simulated people answer {name}-simulated on the annotation site, {served}")
        sys.stdout.flush()
        from merilo.site.simulated_people import collect_from_simulated_people  # noqa: PLC0415 - an extra

        _tell(collect_from_simulated_people(study, seed=self.seed, difficulty=difficulty(folder)))
        _run("study", "collect", study, "--out", folder / "answers.csv")
        _run("study", "import", study, folder / "answers.csv")
        if _run("study", "baseline", study, "--out", folder / "hb", may_be_rejected=True):
            why = "people disagree on too many items, as the report shows"
            say(f"the baseline of {name} is rejected: {why}")
        _write_export(folder)

    def comparison(self) -> None:
        """Compare people with the simulated model and with built-in respondents."""
        baselines = [self.out / name / "hb" for name in _HARDNESS]
        log = self.out / _OWN / f"{_MODEL}.jsonl"
        _run("compare", baselines[0], log)
        runs = [self.out / "runs" / respondent for respondent in _RESPONDENTS]
        for respondent, run in zip(_RESPONDENTS, runs, strict=True):
            _run(
                *("run", "--model", respondent, "--shots", 0),
                *("--datasets", f"{self.out / _OWN / f'{_OWN}.yaml'},{_GENERATED}"),
                *("--data", self.out, "--out", run),
            )
        _run("compare", *baselines, log, *runs, "--out", self.out / "comparison.html")
        board = self.out / "leaderboard"
        _run("leaderboard", log, *runs, "--baselines", self.out, "--out", board)


def _decide(study: Path) -> None:
    """Edit the plan as an author would: the length of a page and its pay."""
    plan = study / "study.yaml"
    text = plan.read_text(encoding="utf-8")
    for old, new in (("items_per_page: 20", "items_per_page: 10"), ("per_page: null", "per_page: 0.5")):
        text = text.replace(old, new)
        show(f"{plan}: {new}")
    plan.write_text(text, encoding="utf-8")


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


#: How a simulated person's part ended -> words.
_ENDS: Final = {
    "done": "worked to the end",
    "stopped": "stopped after control items",
    "refused": "failed the training",
    "left": "left half-way",
}


def _tell(collected: SimulatedCollection) -> None:
    ends = ", ".join(f"{n} {_ENDS[end]}" for end, n in collected.people.items() if n)
    show(f"{collected.answers} answers of simulated people: {ends}")


def _remove_earlier(out: Path) -> None:
    """Remove what an earlier demo made, and nothing else in the folder."""
    for name in (*_HARDNESS, "runs", "leaderboard"):
        shutil.rmtree(out / name, ignore_errors=True)
    (out / "comparison.html").unlink(missing_ok=True)


def read_items(folder: Path) -> tuple[Item, ...]:
    """Return the items of a dataset of the demo; its folder has the dataset's name."""
    if folder.name == _OWN:
        return read_splits(folder / "questions.jsonl", dataset(str(folder / f"{_OWN}.yaml")))["test"].items
    return read_split(folder / "test.json").items


def difficulty(folder: Path) -> Callable[[Item], float]:
    """Return how difficult an item is for people: the longer, the harder."""
    longest = max(len(str(item.inputs)) for item in read_items(folder))
    return lambda item: min(_HARDNESS[folder.name] * 4 * len(str(item.inputs)) / longest, 1.0)


def _copy_questions(folder: Path, size: int) -> None:
    """Write the bundled questions; the last solved ones of the file are those of the training."""
    folder.mkdir(parents=True)
    questions, solved = (
        (_QUESTIONS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        for name in ("questions", "solved")
    )
    for name, lines in (
        ("questions", questions[:size]),
        ("solved", solved[:-_TRAINING]),
        ("training", solved[-_TRAINING:]),
    ):
        write_text(folder / f"{name}.jsonl", "".join(lines))


def _write_log(declared: Dataset, items: Sequence[Item], seed: int, path: Path) -> None:
    """Write the replies of the simulated model as lm-eval logs them."""
    random = Random(f"model {seed}")  # noqa: S311 - reproducible on purpose, not a secret
    lines = []
    for number, item in enumerate(items):
        right = random.random() < (_RECKONS if item.meta.get("subject") in _RECKONED else _KNOWS)
        label = str(item.outputs)
        if not right:
            label = random.choice([other for other in declared.answer.labels if other != label])
        fields = item.inputs if isinstance(item.inputs, Mapping) else {}
        option = str(fields[option_name(label)])
        reply = random.choice(_REPLIES).format(label=label, option=option)
        lines.append(
            json.dumps(
                {
                    "doc_id": number,
                    "doc": dict(fields),
                    "target": item.outputs,
                    "arguments": {
                        "gen_args_0": {
                            "arg_0": render(item, declared),
                            "arg_1": {"until": [], "temperature": 0},
                        }
                    },
                    "resps": [[reply]],
                    "filtered_resps": [reply],
                }
            )
        )
    write_text(path, "\n".join(lines) + "\n")


def _write_export(folder: Path) -> None:
    """Write the collected answers as a crowd platform exports them, for the tutorials about exports."""
    lines = (folder / "study" / "answers" / "people.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    columns, answer = _EXPORTED[folder.name]
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerow([
        *(f"INPUT:{column}" for column in columns), f"OUTPUT:{answer}", f"GOLDEN:{answer}", "HINT:text",
        "ASSIGNMENT:assignment_id", "ASSIGNMENT:worker_id", "ASSIGNMENT:status", "ASSIGNMENT:started",
        "ASSIGNMENT:submitted", "ASSIGNMENT:reward",
    ])  # fmt: skip
    for row in rows:
        writer.writerow([
            *(row["inputs"].split() if "inputs" in row else (row[column] for column in columns)),
            row["answer"], row["control"] or "", "", row["page"], row["respondent"], "APPROVED",
            row["started"], row["submitted"], f"{row['reward']:.10f}",
        ])  # fmt: skip
    write_text(folder / "export.tsv", text.getvalue())


def _write_rule(folder: Path) -> None:
    """Write how many letters the words of each item share, as an example of a model's answers."""
    text = ""
    for item in read_items(folder):
        first, second = map(Counter, str(item.inputs).split())
        text += json.dumps({"id": item.id, "answer": str((first & second).total())}) + "\n"
    write_text(folder / "rule-letters-in-common.jsonl", text)


def _on_a_desktop() -> bool:
    return sys.stdout.isatty() and bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform == "darwin"
    )
