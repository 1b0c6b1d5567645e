"""The README of `hb/` in English and in Russian: a description of each file, and how to verify the values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from merilo.baselines.record import BaselineRecord
from merilo.reports.hb.withholding import LEAST_ITEMS
from merilo.reports.prose import main_result
from merilo.text import Language, Text, joined

README_FILES: Final[dict[str, Language]] = {"README.md": "en", "README_ru.md": "ru"}

#: The beginning of the names of instructions.
_INSTRUCTION: Final = "plan/instruction"

#: File, or folder ending in `/` -> what it is.
_FILES: Final = {
    "raw/responses.csv": Text(
        "all answers of the export, one row per answer: item, annotator (a pseudonym), answer, known "
        "answer of a control item, page, times, reward"
    ),
    "raw/items.csv": Text("all items as annotators saw them, with the numbers used in the other files"),
    "raw/gold.jsonl": Text("the gold answers of the items"),
    "raw/ids.jsonl": Text("the dataset's ids of the items, and the fields by which results are grouped"),
    "raw/skills.csv": Text("the platform's skills of annotators, which are used to break ties"),
    "raw/dataset.yaml": Text("the declaration of the dataset: kind of answers and metrics"),
    "raw/population.csv": Text("the strata of the whole dataset with their numbers of items"),
    "raw/strata.csv": Text("the stratum of every item that people answered"),
    "raw/models/": Text("the answers of the models that are compared with people"),
    "raw/reading.json": Text(
        "other information on the export (dropped rows, pages without answers), and the settings of "
        "the baseline"
    ),
    "raw/experts/": Text(
        "the same files of the experts: their answers, their marks on questions of their own, times and pay"
    ),
    "annotators.csv": Text("all annotators: answers, accuracy on control items, time, exclusion"),
    "consensus.csv": Text("all items: answers, consensus, the step that decided it, gold answer"),
    "metrics.json": Text(
        "all values except costs: metrics with intervals, counts, agreement, groups, sensitivity"
    ),
    "costs.json": Text("costs and time: total, pages, hours, hourly pay"),
    "plan/settings.json": Text("the settings of the baseline"),
    "plan/study.yaml": Text("the plan of the study"),
    "plan/frozen.json": Text("the date and hash of the frozen plan"),
    "plan/plan.md": Text("the plan in figures: answers, people, hours, pay, expected interval, power"),
    "plan/plan.json": Text("the same figures as JSON"),
    "plan/subset.csv": Text(
        "the distribution of every field in the dataset and in the items that people answered"
    ),
    "plan/subset.svg": Text("the same as a plot"),
    "plan/weights.csv": Text("the number of items of the dataset for which each item stands"),
    _INSTRUCTION: Text("the instruction that annotators read"),
    "plan/changes.json": Text("the changes of the plan after it was frozen"),
    "experts.json": Text("the baselines of the experts and of people without training"),
    "cards/": Text(
        "the section \"Human baseline\" of the dataset's cards in both languages, and the dataset's "
        "metadata and cards with it, if they were given"
    ),
    "cost/": Text("the cost report and the message with it, ready to send, in both languages"),
    "checklist/": Text(
        "the reporting checklist for human baselines, filled in from the study, in Markdown, JSON and LaTeX"
    ),
    "paper/": Text("tables, the methods paragraph and references for a paper, in LaTeX, Markdown and CSV"),
    "items.html": Text("a page with every item and all its answers"),
    "report.html": Text("the report as a page, in English and Russian"),
    "plots/": Text("the plots of the report, in `en/` and `ru/`"),
    "hb.ipynb": Text(
        "a notebook that recomputes every published value from `raw/`; Run All needs only `merilo`"
    ),
    "manifest.json": Text("the SHA-256 of every file, the versions and the parameters"),
}

#: What the files hold if the gold answers are withheld.
_WITHHELD_FILES: Final = {
    "consensus.csv": Text(
        "all items: answers, consensus, the step that decided it; the columns of gold answers are empty"
    ),
    "metrics.json": Text("all published values except costs: metrics with intervals, counts, agreement"),
    "hb.ipynb": Text(
        "a notebook that recomputes from `raw/` every value that needs no gold answers; Run All needs"
        " only `merilo`"
    ),
}


def readme_files(
    record: BaselineRecord, names: Iterable[str], *, version: str, plots_only_svg: bool
) -> dict[str, bytes]:
    """Return the README in both languages.

    Args:
        record: the baseline.
        names: the names of all other files of the folder.
        version: the version of Merilo.
        plots_only_svg: whether plots are missing as PDF and PNG.
    """
    files = sorted({*names, "manifest.json"})
    readme = joined(_paragraphs(record, files, version, plots_only_svg=plots_only_svg), "\n\n")
    return {name: f"{readme.in_language(language)}\n".encode() for name, language in README_FILES.items()}


def _paragraphs(
    record: BaselineRecord, files: list[str], version: str, *, plots_only_svg: bool
) -> Iterator[Text | str]:
    yield Text("# Human baseline: {name}", name=record.dataset or Text("a study"))
    if record.status == "rejected":
        yield Text(
            "**The baseline is rejected: too many items have no majority, and the estimate must not be used.**"
        )
    if record.status == "check the controls":
        yield Text(
            "**Check the control items: many of them may have a wrong known answer, or they exclude half of the "
            "annotators.**"
        )
    if record.simulated:
        yield Text("**The annotators are simulated.**")
    yield from main_result(record)
    withheld = record.gold is not None and record.gold.withheld
    if record.gold is None:
        yield Text(
            "The gold answers are closed or unknown: the files do not contain them, so there are counts, agreement and "
            "cost, but no metric."
        )
    if withheld:
        yield Text(
            "The gold answers of this dataset are closed: the files contain neither them nor anything per item that "
            "follows from them. The metrics were computed with them and cannot be recomputed from "
            "this folder; groups of "
            "fewer than {least} items have no metric.",
            least=LEAST_ITEMS,
        )
        sure = [(name, one.value) for name, one in record.main_metrics.items()][:1]
        for name, value in sure:
            if value in {0, 1}:
                yield Text(
                    "**{metric} is {value}, so the gold answers follow from the consensus: keep "
                    "`raw/`, `consensus.csv` "
                    "and `items.html` private.**",
                    metric=name,
                    value=int(value),
                )
    yield joined([Text("| file | content |"), "| --- | --- |", *_rows(files, withheld=withheld)], "\n")
    yield Text("Annotators and pages have pseudonyms, which are the same in all files.")
    if "plan/study.yaml" not in files:
        yield Text(
            "The study has no plan made with Merilo; `plan/settings.json` contains the settings that were used."
        )
    if plots_only_svg:
        yield Text(
            "The plots are SVG only, because Matplotlib is not installed (`pip install "
            "'merilo[plots]'` adds PDF and PNG)."
        )
    yield Text(
        "To verify the values, install Merilo {version} and run this command in the folder above:",
        version=version,
    )
    yield "```console\nmerilo report verify hb\n```"
    if withheld:
        yield Text(
            "The command recomputes from `raw/` every value that needs no gold answers, lists those that differ, and "
            "names the values that it cannot recompute."
        )
    else:
        yield Text("The command recomputes every value from `raw/` and lists those that differ.")


def _rows(files: list[str], *, withheld: bool) -> Iterator[Text]:
    """Return a row of the table for each file, and for each folder whose files have one description."""
    for name, content in (_FILES | _WITHHELD_FILES if withheld else _FILES).items():
        if name == _INSTRUCTION:
            shown = [file for file in files if file.startswith(name)]
        elif name.endswith("/"):
            shown = [name] if any(file.startswith(name) for file in files) else []
        else:
            shown = [file for file in files if file == name]
        for file in shown:
            yield joined([f"| `{file}` |", content, "|"])
