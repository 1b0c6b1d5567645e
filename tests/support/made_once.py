"""Files that several tests start from: made once in a process, then written again from memory."""

import functools
from collections.abc import Callable
from pathlib import Path


def made_once(make: Callable[..., Path]) -> Callable[..., Path]:
    """Decorate a function that writes files below an empty folder and returns a path below it.

    The first call with some arguments makes the files. Later calls with equal arguments write the same bytes below the
    folder that they name, so that a test may change its files. The arguments must be hashable.
    """
    known: dict[object, tuple[dict[Path, bytes], Path]] = {}

    @functools.wraps(make)
    def write(folder: Path, *arguments: object, **named: object) -> Path:
        key = (arguments, tuple(sorted(named.items())))
        if key not in known:
            before = set(folder.rglob("*"))
            result = make(folder, *arguments, **named).relative_to(folder)
            made = (path for path in folder.rglob("*") if path.is_file() and path not in before)
            known[key] = {path.relative_to(folder): path.read_bytes() for path in made}, result
        else:
            files, result = known[key]
            for path, content in files.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(content)
        return folder / result

    return write
