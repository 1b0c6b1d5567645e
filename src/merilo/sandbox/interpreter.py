"""Finding the Python for the jail, and the files of this machine that it needs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from merilo.errors import MissingPartError, UsageError, argument

OLDEST = (3, 9)
NEWEST = (3, 14)

#: Folders of the system's shared libraries; a jail mounts them whole and read-only.
SYSTEM_LIBRARIES = ("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64")

#: Run by the interpreter without its site packages: prints its paths and the libraries that it has loaded.
_QUESTION = """
import json, os, sys
for name in ("bz2", "ctypes", "decimal", "hashlib", "lzma", "sqlite3", "zlib"):
    try:
        __import__(name)
    except ImportError:
        pass
with open("/proc/self/maps") as maps:
    loaded = sorted({line.split(None, 5)[5].strip() for line in maps if "/" in line and ".so" in line})
print(json.dumps({
    "version": list(sys.version_info[:3]),
    "executable": os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable),
    "path": [path for path in sys.path if path and os.path.exists(path)],
    "libraries": loaded,
}))
"""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python for the jail.

    Attributes:
        executable: the real file, not a virtual environment's link to it.
        version: the full version, such as "3.12.1".
        needs: the files and folders that it needs to run with its standard library, without the system libraries.
        hides: folders of installed packages below `needs`, which a jail hides.
    """

    executable: Path
    version: str
    needs: tuple[Path, ...]
    hides: tuple[Path, ...]


def interpreter(wanted: str | None = None) -> Interpreter:
    """Find the Python for the jail.

    Args:
        wanted: a path to an executable or its name on `PATH`, or a version such as "3.12" or "3.12.1"; by default, the
            Python that runs Merilo.

    Raises:
        UsageError: the executable is not a Python of a supported version.
        MissingPartError: no Python of that version is installed.

    Example:
        >>> interpreter().version.startswith("3.")
        True
    """
    if wanted is None:
        return _described(sys.executable)
    if not re.fullmatch(r"\d+\.\d+(\.\d+)?", wanted):
        executable = shutil.which(wanted)
        if executable is None:
            raise UsageError(
                f"'{wanted}' is neither a program that can be run nor a version such as {_dotted(NEWEST)}",
                field=argument("python"),
            )
        return _described(str(Path(executable).absolute()))
    _demand_supported(tuple(map(int, wanted.split("."))), f"Python {wanted}")
    for candidate in _candidates(wanted):
        described = _described(str(candidate))
        if (described.version + ".").startswith(wanted + "."):
            return described
    raise MissingPartError(
        f"there is no Python {wanted} on this machine: install it (for example with 'uv python "
        f"install {wanted}' or pyenv), or give the path of one",
        field=argument("python"),
    )


def _candidates(version: str) -> Iterator[Path]:
    """Yield possible executables for a version: the running Python, then those on PATH, of pyenv and of uv."""
    minor = ".".join(version.split(".")[:2])
    if sys.version.startswith(minor + "."):
        yield Path(sys.executable)
    on_path = shutil.which(f"python{minor}")
    # pyenv puts wrapper scripts on PATH; its interpreters are found below.
    if on_path and "shims" not in Path(on_path).parts:
        yield Path(on_path)
    roots = (
        Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions",
        Path.home() / ".local/share/uv/python",
    )
    for root in roots:
        with suppress(OSError):  # a folder that this user may not read
            for folder in sorted(root.glob(f"*{minor}*"), reverse=True):
                if (binary := folder / "bin" / f"python{minor}").exists():
                    yield binary


@lru_cache(maxsize=32)
def _described(executable: str) -> Interpreter:
    try:
        answer = subprocess.run(  # noqa: S603 - the user named this executable
            [executable, "-I", "-S", "-c", _QUESTION],
            capture_output=True,
            timeout=60,
            check=True,
            stdin=subprocess.DEVNULL,
            # Preloaded libraries are not available in the jail, and their folders must not be mounted there.
            env={name: text for name, text in os.environ.items() if name not in {"LD_PRELOAD", "LD_AUDIT"}},
        )
        facts = json.loads(answer.stdout)
        version = tuple(facts["version"])
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
        raise UsageError(
            f"'{executable}' does not answer as a Python on Linux does ({type(error).__name__})",
            field=argument("python"),
        ) from error
    _demand_supported(version, f"'{executable}'")
    standard = [Path(path) for path in facts["path"]]
    folders = [*standard, *(Path(path).parent for path in facts["libraries"] if Path(path).exists())]
    own = {
        folder
        for folder in map(Path.resolve, folders)
        if not any(folder.is_relative_to(library) for library in SYSTEM_LIBRARIES)
    }
    hides = {path / name for path in standard for name in ("site-packages", "dist-packages")} | {
        Path("/usr/lib/python3/dist-packages")
    }
    return Interpreter(
        executable=Path(facts["executable"]),
        version=".".join(map(str, version)),
        # Of folders inside one another, the outermost.
        needs=(Path(facts["executable"]), *sorted(folder for folder in own if not own & set(folder.parents))),
        hides=tuple(sorted(path.resolve() for path in hides if path.is_dir())),
    )


def _demand_supported(version: tuple[int, ...], what: str) -> None:
    if not OLDEST <= version[:2] <= NEWEST:
        raise UsageError(
            f"{what} is not supported in the sandbox, which runs Python {_dotted(OLDEST)} to {_dotted(NEWEST)}",
            field=argument("python"),
        )


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
