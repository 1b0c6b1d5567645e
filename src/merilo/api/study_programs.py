"""The programs that people wrote in a study, run in the sandbox: the verdicts are the answers of its baseline.

STUDY/answers/ARM.verdicts.jsonl    the table of answers with `passed` or `failed` in place of each program, and beside it
                                    the program, how it ended, the sandbox and the version of Python
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, cast

from merilo.atomic_write import write_text
from merilo.errors import DataError, MissingPartError
from merilo.metrics.pass_at_k import FAILED, PASSED
from merilo.metrics.scoring import has_gold
from merilo.sandbox.completions import count_completions
from merilo.sandbox.executors import Jails
from merilo.sandbox.job import Job, run_job
from merilo.sandbox.ledger import SHORTENED, open_ledger
from merilo.sandbox.problems import read_problems
from merilo.sandbox.program import Limits
from merilo.sandbox.verdicts import Ending
from merilo.strict_json import Json, json_lines
from merilo.studies.collected import answers_file
from merilo.studies.plan_types import ITEMS_FILE
from merilo.studies.study_folder import StudyFolder
from merilo.wording import shown

#: What one program may use, as in `merilo code score`.
LIMITS: Final = Limits(wall_seconds=3.0, memory_bytes=512 << 20)


def write_verdicts(folder: StudyFolder, arm: str, answers: Path) -> Path:
    """Run every program of a group of annotators and write the table of verdicts.

    Args:
        folder: the study.
        arm: the group.
        answers: the table of its collected answers.

    Returns:
        The table of verdicts.

    Raises:
        DataError: an item's tests or their results are missing, so that programs cannot be judged.
        MissingPartError: no sandbox works on this machine.
    """
    for one in folder.items():
        if not has_gold(one.item):
            raise DataError(
                f"the results of the tests of item {one.item.id} are closed, so the programs that people wrote cannot be judged "
                "here: the owner of the results can judge them with 'merilo code score'",
                file=shown(folder.path / ITEMS_FILE),
            )
    rows = [cast("dict[str, Json]", value) for _, value in json_lines(answers)]
    written = [row for row in rows if row.get("answer") is not None]
    with TemporaryDirectory() as place:
        completions = Path(place) / "completions.jsonl"
        lines = [{"id": row["id"], "completion": str(row["answer"])} for row in written]
        completions.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        endings, jail = _endings(folder, completions)
    ends = iter(endings)
    judged = [
        row
        if row.get("answer") is None
        else {
            **row,
            "answer": PASSED if (ending := next(ends)) is Ending.PASSED else FAILED,
            "program": row["answer"],
            "ending": ending.value,
            "sandbox": jail.get("jail"),
            "python": jail.get("python"),
        }
        for row in rows
    ]
    path = answers_file(folder, f"{arm}.verdicts")
    write_text(path, "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in judged))
    return path


def _endings(folder: StudyFolder, completions: Path) -> tuple[list[Ending], dict[str, Json]]:
    """Run the programs; return how each ended, in the order of the file, and what ran them."""
    jails = Jails(limits=LIMITS)
    try:
        jail = jails.described()
    except MissingPartError as error:
        raise MissingPartError(
            f"the programs that people wrote in {shown(folder.path)} cannot be run, so there is no baseline: {error.marked}"
        ) from error
    known = read_problems(folder.path / ITEMS_FILE)
    census = count_completions(completions, known)
    header: dict[str, Json] = {"completions": census.sha256, **jail, "retries": 0}
    with open_ledger(None, header, {"answers": SHORTENED}) as ledger:
        entries = run_job(Job(known, completions, census), ledger, jails.open)
        found = [
            Ending.TOO_LONG if entry.key is None else ledger.verdicts[entry.key].result for entry in entries
        ]
    return found, jail
