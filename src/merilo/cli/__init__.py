"""The command line, one module per command group; the modules only parse options and print results.

This module lists every command with its one line of help. It imports a command's module only when the command is
called, so that `merilo --help` takes little longer than starting Python.
"""

from __future__ import annotations

import errno
import gc
import io
import os
import signal
import sys
from importlib import import_module
from typing import Final

from merilo.errors import MeriloError, OutputError, UsageError, for_command_line
from merilo.version import __version__

#: name -> (module with a Typer application called `app`, one line of help)
COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "demo": ("merilo.cli.demo", "run the whole procedure with simulated people, without a network"),
    "datasets": ("merilo.cli.datasets", "list, show, validate, generate and download datasets"),
    "inspect": ("merilo.cli.inspect", "show what is in an export, and how it is read"),
    "baseline": ("merilo.cli.baseline", "make a human baseline from raw annotation"),
    "study": ("merilo.cli.study", "design a study, send it to a platform, and read the answers"),
    "report": ("merilo.cli.report", "write the folder to publish: raw answers, results, report, notebook"),
    "verify": ("merilo.cli.verify", "recompute every value of a published folder, and compare"),
    "table": ("merilo.cli.table", "print a table of the human baselines of datasets"),
    "power": ("merilo.cli.power", "plan a study: how many items, annotators and control items"),
    "run": ("merilo.cli.run", "ask a model the items of datasets, and score its answers"),
    "compare": ("merilo.cli.compare", "compare people with models on the same items"),
    "leaderboard": ("merilo.cli.leaderboard", "write one page of people and models on all datasets"),
    "code": ("merilo.cli.code", "run generated programs in a sandbox and score them"),
    "score": ("merilo.cli.score", "score the answers of people or models to a dataset"),
    "submission": ("merilo.cli.submission", "pack and score submissions to the benchmark"),
}

#: The variable by which a shell asks what can follow the words of a line.
COMPLETION: Final = "_MERILO_COMPLETE"

INTERRUPTED: Final = 130
TERMINATED: Final = 143

#: Error numbers of a full disk, an exceeded quota and a file that is too large.
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

#: Error numbers of a place that this user may not use, or that cannot be there.
_REFUSED: Final = frozenset({
    errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG
})  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: the words after the program's name; by default `sys.argv[1:]`.

    Returns:
        The exit status: 0 for success, 1 if the answer is no, 2 for wrong usage or unreadable input.
    """
    words = sys.argv[1:] if arguments is None else arguments
    if arguments is None:
        _prepare_process()
    try:
        status = _run(words[0] if words else "--help", words[1:])
        sys.stdout.flush()
    except MeriloError as error:
        say(error.on_command_line)
        return error.exit_status
    except KeyboardInterrupt as error:
        say("stopped by the user")
        return TERMINATED if isinstance(error, Terminated) else INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # The reader closed the pipe (`merilo ... | head`; Rich raises SystemExit then): no message can be printed.
        abandon_output()
        return 0
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _FULL:
            abandon_output()
            say(f"the output cannot be written ({error.strerror})")
            return OutputError.exit_status
        if isinstance(error, OSError) and error.filename is not None and error.errno in _REFUSED:
            say(f"{error.filename}: cannot be read or written ({error.strerror})")
            return OutputError.exit_status
        if os.environ.get("MERILO_DEBUG"):
            raise
        say(
            f"unexpected {type(error).__name__} ({error}): this is a bug in Merilo; set "
            "MERILO_DEBUG=1 to see the traceback"
        )
        return UsageError.exit_status
    return status


class Terminated(KeyboardInterrupt):
    """Raised on SIGTERM: the process stops as on Ctrl-C and leaves no partly written files."""


def _prepare_process() -> None:
    """Install the signal handlers, collect garbage rarely, and escape characters that the terminal cannot encode."""

    def end(*_: object) -> None:
        raise Terminated

    signal.signal(signal.SIGTERM, end)
    # With Python's thresholds, the collector takes a tenth of the time of a short command, mostly during imports.
    gc.set_threshold(200_000, 20, 20)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # The parent process closed this stream (`>&-`).
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def abandon_output() -> None:
    """Discard the buffered standard output, so that Python does not try to write it again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _run(name: str, words: list[str]) -> int:
    if COMPLETION in os.environ or name in {"--install-completion", "--show-completion"}:
        from merilo.cli.application import complete  # noqa: PLC0415 - importing Typer takes longer than --help

        return complete([name, *words])
    if name in {"-h", "--help", "help"}:
        sys.stdout.write(_help())
        return 0
    if name == "--version":
        sys.stdout.write(f"merilo {__version__}\n")
        return 0
    if name not in COMMANDS:
        from difflib import get_close_matches  # noqa: PLC0415 - needed only for a mistyped command

        near = get_close_matches(name, COMMANDS, n=1)
        hint = f", did you mean '{near[0]}'" if near else ""
        raise UsageError(f"there is no command '{name}'{hint}; 'merilo --help' lists them")
    from merilo.cli.application import run  # noqa: PLC0415 - as above

    module, _ = COMMANDS[name]
    return run(import_module(module).app, name, words)


def _help() -> str:
    width = max(map(len, COMMANDS), default=0)
    lines = [f"  {name:<{width}}  {text}" for name, (_, text) in COMMANDS.items()]
    return "\n".join(
        [
            "Merilo: human baselines for benchmarks.",
            "",
            "Usage: merilo COMMAND [OPTIONS]   ('merilo COMMAND --help' describes one command)",
            "",
            *lines,
            "",
            "'merilo --install-completion' lets the shell complete commands and options.",
            "Exit status: 0 success; 1 the work was done and the answer is no; 2 wrong usage or unreadable input.",
            "",
        ]
    )


def say(message: object) -> None:
    """Print a message on standard error as one line, without control characters that names in it may contain."""
    sys.stderr.write(f"merilo: {' '.join(tame(str(message)).split())}\n")


def tame(text: str) -> str:
    """Replace unprintable characters by spaces, so that a text cannot control the terminal.

    Bytes of file names that are not UTF-8 are kept.

    Example:
        >>> tame(chr(27) + "[2J")
        ' [2J'
    """
    return "".join(
        letter if letter.isprintable() or "\udc80" <= letter <= "\udcff" else " "
        for letter in for_command_line(text)
    )
