"""`merilo code doctor`: check that the sandbox works on this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from merilo.cli import abandon_output
from merilo.cli.output import emit_json, say
from merilo.sandbox.doctor import Attempt, examine
from merilo.sandbox.pool import Pool
from merilo.sandbox.program import Limits
from merilo.strict_json import Json


def doctor(
    *,
    backend: Annotated[str, typer.Option(help="The sandbox: bubblewrap, docker, or auto for the first one available.")] = "auto",
    python: Annotated[str | None, typer.Option(metavar="3.12|PATH", help="The Python that runs the programs, 3.9 to 3.14. Default: the one that runs Merilo.")] = None,
    packages: Annotated[Path | None, typer.Option(metavar="DIR", help="A folder of packages that programs may import.")] = None,
    json_to: Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="Write the results as one JSON object; - is standard output.")] = None,
) -> int:  # fmt: skip
    """Try to break out of the sandbox of generated programs, and print which guarantees held.

    Hostile programs attack a file, a port and a process made for this test, other programs, the verdict and the
    worker. They are harmless even if the sandbox fails.

    Exit status 1: a guarantee did not hold. Do not run untrusted programs on this machine.
    """
    limits = Limits(wall_seconds=2.0, memory_bytes=256 << 20)
    findings: list[Attempt] = []
    with Pool.open(1, limits=limits, name=backend, python=python, packages=packages) as pool:
        for finding in examine(pool):
            if json_to != "-":
                family = "" if findings and findings[-1].family == finding.family else f"{finding.family}\n"
                _print(family + _line(finding))
            findings.append(finding)
        jail: dict[str, Json] = {"backend": pool.backend.name, "python": pool.python}
    broken = sum(not finding.held for finding in findings)
    if json_to:
        emit_json(
            {**jail, "held": len(findings) - broken, "broken": broken, "findings": list(map(_row, findings))},
            json_to,
        )
    name = f"{jail['backend']} with Python {jail['python']}"
    if broken:
        say(
            f"{name}: {broken} of {len(findings)} guarantees did not hold; do not run untrusted programs on this machine"
        )
    else:
        say(f"{name}: all {len(findings)} guarantees held")
    return 1 if broken else 0


def _print(text: str) -> None:
    """Print a text; if the reader closed the pipe, the checks go on, so that the exit status covers all of them."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        abandon_output()


def _line(finding: Attempt) -> str:
    return f"  {'held   ' if finding.held else 'BROKEN '} {finding.claim}{f': {finding.detail}' if finding.detail else ''}\n"


def _row(finding: Attempt) -> Json:
    return {
        "family": finding.family,
        "claim": finding.claim,
        "held": finding.held,
        "detail": finding.detail or None,
    }
