"""The files that `merilo.score_programs` writes, and the check that none overwrites another file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from merilo.atomic_write import refuse_existing, refuse_unwritable
from merilo.errors import OutputError, UsageError, argument

#: Names of the files in the output folder.
VERDICTS: Final = "verdicts.jsonl"
GENERATIONS: Final = "generations.jsonl"
SCORE: Final = "score.json"
KEPT: Final = (VERDICTS, GENERATIONS, SCORE)


def refuse_places(
    read: list[Path],
    packages: Path | None,
    out: Path | None,
    outputs: Path | None,
    json_file: Path | None = None,
) -> None:
    """Refuse outputs that overwrite a file or cannot be written, and a packages folder that holds gold answers."""
    for one in read:
        if str(one) == "-":
            raise UsageError(
                "standard input cannot be used, because the file is read twice; save it as a file"
            )
    kept = [out / name for name in KEPT] if out else []
    for path in [*(one for one in (outputs, json_file) if one), *kept]:
        refuse_existing(path, force=True, needed=read)
    if out and not (out / VERDICTS).exists():
        for path in kept:
            if path.exists():
                raise OutputError(
                    f"exists already, and without a {VERDICTS} beside it cannot be overwritten; choose another folder",
                    file=path,
                )
    # Both options may name the same score file.
    _refuse_same(json_file, [path for path in kept if path.name != SCORE])
    _refuse_same(outputs, [*kept, *([json_file] if json_file else [])])
    written = [*kept, *([outputs] if outputs else []), *([json_file] if json_file else [])]
    for path in written:
        refuse_unwritable(path)
    # The outputs of correct programs reveal as much as the gold answers.
    for one in [*read, *written] if packages and packages.is_dir() else []:
        if Path(os.path.realpath(one)).is_relative_to(os.path.realpath(str(packages))):
            raise UsageError(
                f"'{packages}' contains {one}, which programs must not see; choose another folder",
                field=argument("packages"),
            )


def _refuse_same(path: Path | None, others: list[Path]) -> None:
    if path is None or (path.exists() and not path.is_file()):
        return
    for other in others:
        if os.path.realpath(path) == os.path.realpath(other):
            raise OutputError(
                "would be written twice, with different results; choose another path", file=path
            )
