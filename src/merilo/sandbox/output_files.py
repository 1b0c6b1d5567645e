"""Output files of a judged job: one line for each generation, and outputs in the form of a submission."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from merilo.errors import DataError, OutputError
from merilo.sandbox.job import Entry
from merilo.sandbox.ledger import Ledger
from merilo.sandbox.problems import Problem
from merilo.sandbox.program import Check
from merilo.sandbox.verdicts import Ending


def write_generations(path: Path, entries: Sequence[Entry], ledger: Ledger) -> None:
    """Write one line of JSON a generation: its row, problem, result, and the rule by which it was extracted.

    Raises:
        OutputError: the file cannot be written.
    """
    with _written(path) as stream:
        for entry in entries:
            stored = None if entry.key is None else ledger.verdicts[entry.key]
            result = Ending.TOO_LONG if stored is None else stored.result
            line = {
                "row": entry.row,
                "id": entry.problem,
                "passed": result is Ending.PASSED,
                "result": result.value,
                "error": "" if stored is None else stored.error,
                "attempts": 0 if stored is None else stored.attempts,
                "rule": entry.rule,
                "program": entry.key,
            }
            stream.write(json.dumps(line) + "\n")


def write_outputs(
    path: Path, problems: Mapping[str, Problem], entries: Sequence[Entry], ledger: Ledger
) -> None:
    """Write the programs' answers in the form of a submission.

    Each item's `outputs` is a list of its generations, and each generation is the list of `str(result)` for every test.
    An answer is `null` if the program failed or answered with a lone surrogate, which strict JSON readers reject. Only
    one generation's answers are held in memory at a time.

    Raises:
        DataError: a problem is tested by a check, which has no outputs.
        UsageError: the ledger shortens long answers.
        OutputError: the file cannot be written.
    """
    rows: dict[str, list[Entry]] = {name: [] for name in problems}
    for entry in entries:
        rows[entry.problem].append(entry)
    with _written(path) as stream:
        separator = '{"data": {"test": ['
        for name, problem in problems.items():
            if isinstance(problem.tests, Check):
                message = f"problem {name} is tested by check(candidate), which has no outputs"
                raise DataError(message, file=path)
            stream.write(separator + '\n{"outputs": [')
            for number, entry in enumerate(rows[name]):
                none: list[str | None] = [None] * len(problem.tests)
                texts = none if entry.key is None else ledger.texts(entry.key) or none
                stream.write((", " if number else "") + json.dumps([_strict(text) for text in texts]))
            stream.write('], "meta": ' + json.dumps({"id": problem.id}) + "}")
            separator = ","
        stream.write("\n]}}\n")


def _strict(text: str | None) -> str | None:
    """Return the text, or `None` if it holds a lone surrogate, which would make the whole file unreadable."""
    try:
        (text or "").encode()
    except UnicodeEncodeError:
        return None
    return text


@contextmanager
def _written(path: Path) -> Iterator[IO[str]]:
    """Open a text file for writing that replaces `path` only when it is complete."""
    hidden = None
    try:
        if path.exists() and not path.is_file():
            # Pipes and devices are written directly: as root, a rename could replace /dev/null with a file.
            with path.open("w", encoding="utf-8") as stream:
                yield stream
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", prefix=f".{path.name}-", dir=path.parent, delete=False
        ) as stream:
            hidden = Path(stream.name)
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        hidden.chmod(0o644)
        hidden.replace(path)
    except OSError as error:
        raise OutputError(f"cannot be written ({error.strerror})", file=path) from error
    finally:
        if hidden is not None:
            hidden.unlink(missing_ok=True)
