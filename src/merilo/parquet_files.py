"""Reading Parquet files, which may be damaged."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from merilo.errors import InputError
from merilo.files import opened
from merilo.wording import shortened

if TYPE_CHECKING:
    # Importing polars takes half a second, so it is loaded only when tables are read.
    import polars as pl

#: Reads the Parquet file on its standard input.
_PROBE: Final = "import sys, polars; polars.read_parquet(sys.stdin.buffer)"


def read_parquet(path: Path, *, own: bool = False) -> pl.DataFrame:
    """Read a Parquet file that may be damaged; Polars then raises an error, panics or ends the process.

    Args:
        path: the file.
        own: whether Merilo wrote the file. Other files are first read in a separate process.

    Raises:
        InputError: the file is missing or not a readable Parquet file.
    """
    import polars as pl  # noqa: PLC0415 - heavy

    with opened(path) as stream:
        if not own:
            command = [sys.executable, "-P", "-c", _PROBE]
            probe = subprocess.run(command, stdin=stream, capture_output=True, check=False)  # noqa: S603 - fixed arguments
            if probe.returncode:
                said = probe.stderr.decode(errors="replace").strip().splitlines()
                raise _unreadable_parquet(path, next(filter(_names_an_error, reversed(said)), ""))
            stream.seek(0)
        try:
            return pl.read_parquet(stream)
        except pl.exceptions.PolarsError as error:
            raise _unreadable_parquet(path, str(error)) from error
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # which is a BaseException
                raise
            raise _unreadable_parquet(path, "") from None


def _names_an_error(line: str) -> bool:
    return line.startswith("polars.exceptions.")


def _unreadable_parquet(path: Path, said: str) -> InputError:
    why = (
        shortened(said.removeprefix("polars.exceptions.").partition(": ")[2] or said, 120) or "it is damaged"
    )
    return InputError(f"is not a readable Parquet file ({why})", file=path)
