"""The manifest of `hb/`: every file with its SHA-256, the versions and the parameters; and the check of the files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from merilo.errors import InputError
from merilo.strict_json import Json, indented, read_json

MANIFEST: Final = "manifest.json"

#: The baseline as JSON: everything but money, and money.
METRICS_FILE: Final = "metrics.json"
COSTS_FILE: Final = "costs.json"

_KIND: Final = "merilo hb"
_FORMAT: Final = 1

#: What programs leave in a folder that they open.
_IGNORED: Final = (".ipynb_checkpoints", ".DS_Store", "__pycache__")


@dataclass(frozen=True, slots=True)
class FileCheck:
    """What happened to the files of a folder since its manifest was written.

    Attributes:
        changed: files whose SHA-256 is another.
        missing: files of the manifest that are not there.
        extra: files that the manifest does not name.
    """

    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest of a folder `hb/`.

    Attributes:
        files: name -> its entry: `bytes`, `sha256`, and for notebooks `code_sha256` (of the cells without outputs).
        versions: the versions of Merilo, Python and the libraries that made the files.
        made_by: how the baseline was made: command, inputs, parameters, versions.
    """

    files: Mapping[str, Mapping[str, Json]]
    versions: Mapping[str, Json]
    made_by: Mapping[str, Json]

    def to_bytes(self) -> bytes:
        """Return the manifest as a file."""
        content: dict[str, Json] = {
            "kind": _KIND,
            "format": _FORMAT,
            "versions": {**self.versions},
            "baseline": {**self.made_by},
            "files": {name: {**entry} for name, entry in self.files.items()},
        }
        return f"{indented(content)}\n".encode()

    def check(self, folder: Path) -> FileCheck:
        """Compare a folder's files with the manifest; a notebook that was run is not changed.

        Raises:
            InputError: a file cannot be read.
        """
        found = _files(folder)
        return FileCheck(
            changed=tuple(
                name for name, path in found.items() if name in self.files and not self._is_same(name, path)
            ),
            missing=tuple(name for name in self.files if name not in found),
            extra=tuple(name for name in found if name not in self.files),
        )

    def _is_same(self, name: str, path: Path) -> bool:
        try:
            entry = entry_of_file(name, path.read_bytes())
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", file=path) from error
        key = "code_sha256" if "code_sha256" in self.files[name] else "sha256"
        return entry.get(key) == self.files[name].get(key)


def entry_of_file(name: str, content: bytes) -> dict[str, Json]:
    """Return the manifest's entry of a file."""
    entry: dict[str, Json] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    if name.endswith(".ipynb"):
        entry["code_sha256"] = hashlib.sha256(_code(content)).hexdigest()
    return entry


def _code(notebook: bytes) -> bytes:
    """Return the cells of a notebook without outputs and counts, which running it changes."""
    try:
        cells = [(one["cell_type"], "".join(one["source"])) for one in json.loads(notebook)["cells"]]
    except (ValueError, TypeError, KeyError):
        return notebook
    return json.dumps(cells, ensure_ascii=False).encode()


def _files(folder: Path) -> dict[str, Path]:
    found = {}
    for path in sorted(folder.rglob("*")):
        own = path.relative_to(folder)
        if not path.is_dir() and own.as_posix() != MANIFEST and not set(own.parts) & set(_IGNORED):
            found[own.as_posix()] = path
    return found


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a folder.

    Raises:
        InputError: the folder is not a folder `hb/`, or its manifest is damaged.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise InputError(f"is not a folder of merilo report: {MANIFEST} is missing", file=folder)
    content = read_json(path)
    if not isinstance(content, dict) or content.get("kind") != _KIND:
        raise InputError("is not a manifest of merilo report", file=path)
    if content.get("format") != _FORMAT:
        raise InputError(
            f"has the format {content.get('format')}; this version of Merilo reads {_FORMAT}",
            file=path,
            field="format",
        )
    files, versions, made_by = (content.get(key) for key in ("files", "versions", "baseline"))
    if not isinstance(files, dict) or not isinstance(versions, dict) or not isinstance(made_by, dict):
        raise InputError("must have the objects files, versions and baseline", file=path)
    entries = {name: entry for name, entry in files.items() if isinstance(entry, dict)}
    return Manifest(entries, versions, made_by)
