"""Write a study's tasks as a plain table that people fill in, or that any other platform reads."""

from __future__ import annotations

import csv
import io
import re
from typing import Final

from merilo.studies.instruction_html import instruction_page, training_page
from merilo.studies.outgoing import Outgoing
from merilo.studies.study_tasks import pages

#: The columns that a respondent or another platform fills in.
FILLED: Final = ("respondent", "answer", "page", "started", "submitted", "seconds", "reward")

#: A spreadsheet runs a text that begins like this as a formula.
_FORMULA: Final = re.compile(r"[=@\t\r]|[+-][^0-9.,]")


def csv_files(outgoing: Outgoing) -> dict[str, str]:
    """Return the files of a plain study by name.

    `tasks.csv` has a row for each task and empty columns for the answers. It begins with a byte-order mark, so that
    spreadsheets read it as UTF-8, and holds no known answer.
    """
    files = {"tasks.csv": _table(outgoing), "instruction.html": instruction_page(outgoing)}
    if outgoing.training:
        files["training.html"] = training_page(outgoing)
    return files


def _table(outgoing: Outgoing) -> str:
    tasks = outgoing.mixed
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    marks = ["mine"] if outgoing.mine and not outgoing.labels else []
    choices = ["labels"] if outgoing.labels else []
    writer.writerow([*outgoing.shown(tasks[0]), *choices, *FILLED, *marks])
    for number, page in enumerate(pages(tasks, outgoing.page), start=1):
        for task in page:
            shown = [_cell(value) for value in outgoing.shown(task).values()]
            labels = [_cell(" | ".join(outgoing.labels))] if choices else []
            empty = ["" for _ in (*FILLED[3:], *marks)]
            writer.writerow([*shown, *labels, outgoing.respondent, "", str(number), *empty])
    return "\ufeff" + text.getvalue()


def _cell(text: str) -> str:
    return f"'{text}" if _FORMULA.match(text) else text
