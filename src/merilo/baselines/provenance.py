"""Provenance of a result: hashes of inputs, parameters and versions needed to reproduce it."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePath

from merilo.files import sha256
from merilo.records import Object, Record
from merilo.strict_json import Json
from merilo.version import __version__
from merilo.wording import shown


class Provenance(Record):
    """The provenance of a result.

    Attributes:
        command: the command that reproduces the result from the same inputs.
        inputs: each input file with its name as given, size in bytes and SHA-256.
        parameters: all parameters, including those left at their defaults.
        versions: the versions of Merilo, Python and the numerical libraries.
    """

    command: str = ""
    inputs: tuple[Object, ...] = ()
    parameters: Object = {}
    versions: dict[str, str] = {}

    def without_folders(self) -> Provenance:
        """Return the record with every path named without its folder: of inputs, and of a dataset's declaration."""
        paths = [str(file["file"]) for file in self.inputs]
        if isinstance(declared := self.parameters.get("dataset"), str):
            paths.append(declared)
        names = {path: PurePath(path).name for path in sorted(paths, key=len, reverse=True)}
        command = self.command
        for path, name in names.items():
            command = command.replace(path, name)
        if command.startswith("merilo "):  # the folder of a study is no input
            words = shlex.split(command)
            command = shlex.join(PurePath(word).name if word.startswith("/") else word for word in words)

        def named(value: Json) -> Json:
            if isinstance(value, list):
                return [named(part) for part in value]
            return names.get(value, value) if isinstance(value, str) else value

        return Provenance(
            command=command,
            inputs=tuple({**file, "file": names[str(file["file"])]} for file in self.inputs),
            parameters={name: named(value) for name, value in self.parameters.items()},
            versions=self.versions,
        )


def command_line(
    command: str, files: Sequence[Path], options: Mapping[str, Json], defaults: Mapping[str, Json]
) -> str:
    """Return the command that reproduces the result; parameters at their defaults are left out."""
    words = ["merilo", *command.split(), *map(shown, files)]
    for name, value in options.items():
        if value is None or value == [] or value == defaults.get(name):
            continue
        if value is True:
            words.append(f"--{name.replace('_', '-')}")
            continue
        for part in value if isinstance(value, list) else [value]:
            words += [f"--{name.replace('_', '-')}", str(part)]
    return shlex.join(words)


def provenance(command: str, inputs: Sequence[Path], parameters: Mapping[str, Json]) -> Provenance:
    """Record the provenance of a result.

    Args:
        command: the command that reproduces the result.
        inputs: the input files.
        parameters: all parameters.
    """
    return Provenance(
        command=command,
        inputs=tuple(map(_input, inputs)),
        parameters=dict(parameters),
        versions={
            "merilo": __version__,
            "python": platform.python_version(),
            **{name: _version(name) for name in ("numpy", "polars")},
        },
    )


def _input(path: Path) -> dict[str, Json]:
    digest = sha256(path)  # it also says in one sentence why a file cannot be read
    return {"file": shown(path), "bytes": path.stat().st_size, "sha256": digest}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
