"""The programs that people wrote in a study, run in the sandbox: the verdicts are the answers of its baseline.

STUDY/answers/ARM.verdicts.jsonl    the table of answers with `passed` or `failed` in place of each program,
and beside it
                                    the program, how it ended, the hash of its item, the sandbox and the
                                    version of Python

A program is not run again while the program and its item are unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeAlias, cast

from merilo.atomic_write import write_text
from merilo.errors import DataError, MissingPartError
from merilo.metrics.answers import has_gold
from merilo.metrics.pass_at_k import FAILED, PASSED
from merilo.sandbox.executors import Jails
from merilo.sandbox.job import run_job
from merilo.sandbox.ledger import SHORTENED, open_ledger
from merilo.sandbox.problems import count_completions, read_problems
from merilo.sandbox.program import Limits
from merilo.strict_json import Json, json_lines
from merilo.studies.plan import ITEMS_FILE
from merilo.studies.study_folder import StudyFolder, item_lines
from merilo.studies.study_import import answers_file
from merilo.wording import shown

#: What one program may use, as in `merilo code score`.
LIMITS: Final = Limits(wall_seconds=3.0, memory_bytes=512 << 20)

#: A program and the hash of the item that it answers.
Asked: TypeAlias = tuple[str, str]

#: The keys of a row that tell how its program ended.
_VERDICT: Final = ("answer", "program", "ending", "item", "sandbox", "python")


def write_verdicts(folder: StudyFolder, arm: str, answers: Path) -> Path:
    """Write the table of verdicts of a group of annotators; only programs without a verdict are run.

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
    hashes, declared = {}, folder.declared()
    for item in folder.items():
        if not has_gold(item):
            raise DataError(
                f"the results of the tests of item {item.id} are closed, so the programs that "
                "people wrote cannot be judged "
                "here: the owner of the results can judge them with 'merilo code score'",
                file=shown(folder.path / ITEMS_FILE),
            )
        hashes[item.id] = sha256(item_lines([item], declared).encode()).hexdigest()
    rows = [cast("dict[str, Json]", value) for _, value in json_lines(answers)]
    asked = {
        (str(row["answer"]), hashes[cast("str | int", row["id"])]): row["id"]
        for row in rows
        if row.get("answer") is not None
    }
    path = answers_file(folder, f"{arm}.verdicts")
    verdicts = _known_verdicts(path)
    if missing := {pair: item for pair, item in asked.items() if pair not in verdicts}:
        verdicts |= _judged(folder, missing)
    judged = [
        row
        if row.get("answer") is None
        else row | verdicts[str(row["answer"]), hashes[cast("str | int", row["id"])]]
        for row in rows
    ]
    write_text(path, "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in judged))
    return path


def _known_verdicts(path: Path) -> dict[Asked, dict[str, Json]]:
    """Return the verdicts of the table that is there."""
    if not path.exists():
        return {}
    rows = [cast("dict[str, Json]", value) for _, value in json_lines(path)]
    return {
        (str(row["program"]), str(row["item"])): {name: row[name] for name in _VERDICT}
        for row in rows
        if row.get("answer") in {PASSED, FAILED} and all(name in row for name in _VERDICT)
    }


def _judged(folder: StudyFolder, asked: Mapping[Asked, Json]) -> dict[Asked, dict[str, Json]]:
    """Run programs, each given with the id of its item; return how each ended, and what ran it."""
    jails = Jails(limits=LIMITS)
    try:
        jail = jails.described()
    except MissingPartError as error:
        raise MissingPartError(
            f"the programs that people wrote in {shown(folder.path)} cannot be run, so there is no "
            f"baseline: {error.marked}"
        ) from error
    known = read_problems(folder.path / ITEMS_FILE)
    with TemporaryDirectory() as place:
        completions = Path(place) / "completions.jsonl"
        lines = ({"id": item, "completion": program} for (program, _), item in asked.items())
        completions.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        census = count_completions(completions, known)
        header: dict[str, Json] = {"completions": census.sha256, **jail}
        with open_ledger(None, header, {"answers": SHORTENED}) as ledger:
            verdicts = run_job(known, census, ledger, jails)
    return {
        (program, item): {
            "answer": PASSED if verdict.passed else FAILED,
            "program": program,
            "ending": verdict.execution.outcome.value,
            "item": item,
            "sandbox": jail.get("jail"),
            "python": jail.get("python"),
        }
        for (program, item), verdict in zip(asked, verdicts, strict=True)
    }
