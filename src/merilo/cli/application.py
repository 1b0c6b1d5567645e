"""Running a command group's Typer application under Merilo's contract of exit statuses and one-sentence errors."""

from __future__ import annotations

import sys

import typer
from typer.exceptions import Abort, TyperException

from merilo.errors import UsageError


def run(app: typer.Typer, name: str, words: list[str]) -> int:
    """Run `merilo NAME WORDS...`.

    A command function returns its exit status; `None` means 0.
    """
    command = typer.main.get_command(app)
    try:
        # Not command.main(): it answers to signals and to a closed output in its own way, and ends the process.
        with command.make_context(f"merilo {name}", list(words)) as context:
            status = command.invoke(context)
    except typer.Exit as ended:
        return ended.exit_code
    except TyperException as error:
        if not words:
            sys.stdout.write(error.format_message() + "\n")
            return UsageError.exit_status
        usage = getattr(error, "ctx", None)
        path = usage.command_path if usage else f"merilo {name}"
        raise UsageError(f"{_sentence(error.format_message())} (see '{path} --help')") from error
    except Abort as error:
        raise KeyboardInterrupt from error
    return status if isinstance(status, int) else 0


def _sentence(message: str) -> str:
    """The library's message in the manner of ours: one line, no capital, no full stop."""
    line = " ".join(message.split()).rstrip(".")
    return line[:1].lower() + line[1:]
