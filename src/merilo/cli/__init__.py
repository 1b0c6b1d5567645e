"""The command line: one module a command group, nothing but parsing and printing.

The root knows every command's name and its one line of help, and imports a command's module only when it is called:
`merilo --help` costs little more than starting Python.
"""

from __future__ import annotations

import errno
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
    "demo": ("merilo.cli.demo", "show the whole job on bundled data, without a network"),
    "datasets": ("merilo.cli.datasets", "list, show, check, generate and load datasets"),
    "inspect": ("merilo.cli.inspect", "tell what is in an export, and the command that fits it"),
    "baseline": ("merilo.cli.baseline", "make a human baseline from raw annotation"),
    "power": ("merilo.cli.power", "plan a study: how many items, people and control items"),
    "compare": ("merilo.cli.compare", "set people beside models on the same items, like beside like"),
    "audit": ("merilo.cli.audit", "list the items whose gold is probably wrong"),
    "recipe": ("merilo.cli.recipe", "several questions about one item: follow a declared recipe"),
    "experts": ("merilo.cli.experts", "expert tests: draw questions, plan, set experts beside others"),
    "code": ("merilo.cli.code", "run and score generated programs, jailed"),
    "score": ("merilo.cli.score", "score anybody's answers to a dataset"),
    "submission": ("merilo.cli.submission", "pack and score submissions to the benchmark"),
}

INTERRUPTED: Final = 130
TERMINATED: Final = 143

#: What the system says when there is no more room.
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def main(arguments: list[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: the words after the program's name; the process's own when not given.

    Returns:
        The exit status: 0 done, 1 the answer is no, 2 wrong usage or unreadable input.
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
        # The reader of our output has gone (`merilo ... | head`; Rich leaves by SystemExit): there is nobody left to tell.
        abandon_output()
        return 0
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _FULL:
            abandon_output()
            say(f"the output cannot be written ({error.strerror})")
            return OutputError.exit_status
        if os.environ.get("MERILO_DEBUG"):
            raise
        say(
            f"unexpected {type(error).__name__} ({error}): this is a fault of Merilo; set MERILO_DEBUG=1 for the full story"
        )
        return UsageError.exit_status
    return status


class Terminated(KeyboardInterrupt):
    """The process was asked to end: it stops as it would for its user, and leaves nothing half-written."""


def _prepare_process() -> None:
    """A process of our own: it ends in order when asked to, and letters that the terminal lacks do not stop it."""

    def end(*_: object) -> None:
        raise Terminated

    signal.signal(signal.SIGTERM, end)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # Closed by whoever started us (`>&-`).
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def abandon_output() -> None:
    """Let what still waits for standard output go nowhere, so that leaving Python does not try it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _run(name: str, words: list[str]) -> int:
    if name in {"-h", "--help", "help"}:
        sys.stdout.write(_help())
        return 0
    if name == "--version":
        sys.stdout.write(f"merilo {__version__}\n")
        return 0
    if name not in COMMANDS:
        from difflib import get_close_matches  # noqa: PLC0415 - only a mistyped command pays for it

        near = get_close_matches(name, COMMANDS, n=1)
        hint = f", did you mean '{near[0]}'" if near else ""
        raise UsageError(f"there is no command '{name}'{hint}; 'merilo --help' lists them")
    from merilo.cli.application import run  # noqa: PLC0415 - Typer costs more than the whole of --help

    module, _ = COMMANDS[name]
    return run(import_module(module).app, name, words)


def _help() -> str:
    width = max(map(len, COMMANDS), default=0)
    lines = [f"  {name:<{width}}  {text}" for name, (_, text) in COMMANDS.items()]
    return "\n".join(
        [
            "Merilo: human baselines for benchmarks.",
            "",
            "Usage: merilo COMMAND [OPTIONS]   ('merilo COMMAND --help' tells all about one command)",
            "",
            *lines,
            "",
            "Exit status: 0 done; 1 the work was done and the answer is no; 2 wrong usage or unreadable input.",
            "",
        ]
    )


def say(message: str) -> None:
    """A message to the person, on standard error: one line, whatever the names in it try to do to the terminal."""
    sys.stderr.write(f"merilo: {' '.join(tame(message).split())}\n")


def tame(text: str) -> str:
    """A text that steers no terminal: what cannot be printed is a space; bytes of file names that are not UTF-8 stay.

    Example:
        >>> tame(chr(27) + "[2J")
        ' [2J'
    """
    return "".join(
        letter if letter.isprintable() or "\udc80" <= letter <= "\udcff" else " "
        for letter in for_command_line(text)
    )
