"""Write the files of an ABC Elementary project: tasks or whole dialogues, and the instruction."""

from __future__ import annotations

import json
from itertools import groupby

from merilo.studies.instruction_html import instruction_page, training_page
from merilo.studies.outgoing import Outgoing
from merilo.studies.study_tasks import StudyTask
from merilo.studies.toloka_tasks import tab_separated


def abc_files(outgoing: Outgoing) -> dict[str, str]:
    """Return the files of an ABC Elementary project by name.

    `tasks.tsv` has a row for each task or, if the items are turns of dialogues, a row for each dialogue with a JSON list in
    `INPUT:dialog`. It holds no known answer; an import takes those of control items from the study.
    """
    files = {"tasks.tsv": "\ufeff" + _table(outgoing), "instruction.html": instruction_page(outgoing)}
    if outgoing.training:
        files["training.html"] = training_page(outgoing)
    return files


def _table(outgoing: Outgoing) -> str:
    if not outgoing.dialogue:
        tasks = outgoing.mixed
        header = [f"INPUT:{name}" for name in outgoing.shown(tasks[0])]
        header += ["INPUT:labels"] if outgoing.labels else []
        labels = [json.dumps(outgoing.labels, ensure_ascii=False)] if outgoing.labels else []
        return tab_separated(header, ([*outgoing.shown(task).values(), *labels] for task in tasks))
    dialogues = [list(turns) for _, turns in groupby(outgoing.tests, key=lambda task: task.dialogue)]
    return tab_separated(["INPUT:dialog"], ([_turns(outgoing, turns)] for turns in dialogues))


def _turns(outgoing: Outgoing, turns: list[StudyTask]) -> str:
    return json.dumps([outgoing.shown(task) for task in turns], ensure_ascii=False)
