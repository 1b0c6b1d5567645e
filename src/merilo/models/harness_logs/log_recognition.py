"""Recognise the log of another harness by its content."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Literal, TypeAlias

from merilo.errors import InputError
from merilo.models.harness_logs.batch_outputs import is_batch_row, open_batch_output
from merilo.models.harness_logs.helm_states import open_helm_states
from merilo.models.harness_logs.inspect_logs import open_inspect_log
from merilo.models.harness_logs.lm_eval_samples import is_lm_eval_row, open_lm_eval_samples
from merilo.models.harness_logs.log_files import first_line, head_of
from merilo.models.harness_logs.log_rows import HarnessLog

Harness: TypeAlias = Literal["lm-eval", "Inspect", "Inspect archive", "HELM", "batch"]

_ZIP: Final = b"PK\x03\x04"

#: The keys at the head of a log that is one JSON document.
_INSPECT: Final = re.compile(rb'"(?:eval_id|run_id)"\s*:')
_INSPECT_EVAL: Final = re.compile(rb'\A\{\s*(?:"(?:version|status)"\s*:\s*[^,{\[]+,\s*)*"eval"\s*:\s*\{')
_HELM: Final = re.compile(rb'\A\{\s*"(?:adapter_spec|request_states)"\s*:')
_SAMPLES: Final = re.compile(rb'\A\[\s*\{\s*"(?:doc_id|doc|arguments)"\s*:')
_RESULTS: Final = re.compile(rb'\A\{\s*"results"\s*:\s*\{')

_DOCUMENTS: Final[tuple[tuple[Harness, Callable[[bytes], object]], ...]] = (
    ("HELM", _HELM.match),
    ("Inspect", lambda head: _INSPECT_EVAL.match(head) and _INSPECT.search(head)),
    ("lm-eval", _SAMPLES.match),
)

#: Folders are searched to this depth, for at most this many files.
_DEPTH: Final = 3
_MOST_FILES: Final = 10_000


def harness_of(path: Path) -> Harness | None:
    """Return the harness that wrote a file; `None` if it is not a known log.

    Raises:
        InputError: the file is missing or cannot be read; it is empty; or it is called `.eval` and is not a log of Inspect.
    """
    head, suffix = head_of(path), path.suffix.lower()
    if not head and suffix in {".eval", ".jsonl", ".ndjson"}:
        raise InputError("the file is empty", file=path)
    if suffix == ".eval" and not head.startswith(_ZIP):
        raise InputError("is not a log of Inspect: a .eval file is a ZIP archive", file=path)
    if suffix == ".json" and _RESULTS.match(head) and b'"n-shot"' in head:
        raise InputError(
            "holds lm-eval's results without the answers: run it with --log_samples and give samples_*.jsonl",
            file=path,
        )
    if head.startswith(_ZIP):
        return "Inspect archive" if suffix in {".eval", ".zip"} else None
    known = next((harness for harness, matches in _DOCUMENTS if matches(head)), None)
    return known if known or suffix == ".json" or not head.startswith(b"{") else _harness_of_lines(path)


def _harness_of_lines(path: Path) -> Harness | None:
    """Return the harness that wrote a file of JSON lines."""
    row = first_line(path)
    if row is None:
        return None
    return "lm-eval" if is_lm_eval_row(row) else "batch" if is_batch_row(row) else None


def open_log(path: Path, harness: Harness) -> HarnessLog:
    """Open a log; its rows are read as they are asked for.

    Raises:
        InputError: the file cannot be read as a log of this harness.
        MissingPartError: the log needs a package that is not installed.
    """
    match harness:
        case "lm-eval":
            return open_lm_eval_samples(path)
        case "HELM":
            return open_helm_states(path)
        case "batch":
            return open_batch_output(path)
        case _:
            return open_inspect_log(path, zipped=harness == "Inspect archive")


def logs_in(folder: Path) -> Iterator[tuple[Path, Harness]]:
    """Yield the logs in a folder and in the folders below it, sorted by name.

    Raises:
        InputError: the folder holds too many files.
    """
    found = sorted(
        path
        for depth in range(1, _DEPTH + 1)
        for path in folder.glob("/".join("*" * depth))
        if path.suffix.lower() in {".jsonl", ".json", ".eval"} and path.is_file()
    )
    if len(found) > _MOST_FILES:
        raise InputError(f"holds more than {_MOST_FILES} files: name the log itself", file=folder)
    for path in found:
        try:
            harness = harness_of(path)
        except InputError:
            continue
        if harness is not None:
            yield path, harness
