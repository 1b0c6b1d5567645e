"""Run a command group's Typer application with Merilo's exit statuses and one-sentence errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin

import typer
from typer.exceptions import Abort, TyperException

from merilo.cli import COMMANDS
from merilo.errors import UsageError


def run(app: typer.Typer, name: str, words: list[str]) -> int:
    """Run `merilo NAME WORDS...`.

    A command function returns its exit status; `None` means 0.
    """
    command = typer.main.get_command(app)
    try:
        # Not command.main(): it handles signals and closed output itself, and exits the process.
        if "--help" in words or not words:
            _name_values(command)
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


#: Placeholders for option values in the help, for options without a metavar.
_VALUES: Final = {Path: "FILE", str: "TEXT", int: "N", float: "NUMBER", bool: ""}


def _name_values(command: Any) -> None:  # noqa: ANN401 - Typer's classes are private
    """Show FILE and TEXT instead of Python type names in the help of a command and its subcommands, and defaults in it.

    The values of a choice are listed in the option's help text; beside its name they would wrap mid-word, and a default
    beside the text would take a line of its own.
    """
    for _, subcommand in below("", command):
        for parameter in subcommand.get_params(typer.Context(subcommand)):
            if parameter.param_type_name == "argument":
                parameter.display_type_rich = _nothing  # its name and its help are enough
                continue
            if parameter.metavar is None:
                _name_value(parameter)
            default = parameter.default
            if parameter.show_default and isinstance(default, str | int | float):
                parameter.show_default = False
                if not isinstance(default, bool) and default != "":
                    parameter.help = f"{parameter.help or ''} Default: {default}.".strip()


def _name_value(option: Any) -> None:  # noqa: ANN401 - as above
    """Name the value of an option that has no name for it."""
    kind: Any = option.type_descriptor.annotation
    while get_origin(kind) is list:
        kind = get_args(kind)[0]
    if get_origin(kind) is Literal:
        option.help = f"{option.help or ''} One of: {', '.join(get_args(kind))}.".strip()
        option.metavar = "NAME"
    else:
        folder = kind is Path and "folder" in (option.help or "")
        option.metavar = "FOLDER" if folder else _VALUES.get(kind)


def _nothing(*_: object, **__: object) -> None:
    return None


def complete(words: list[str]) -> int:
    """Install or print the script of a shell, or answer its request; import the module of the line's command only."""
    app = typer.Typer()
    for name, (_, text) in COMMANDS.items():
        app.command(name, help=text)(_nothing)
    root = typer.main.get_command(app)
    line = f"{os.environ.get('COMP_WORDS', '')} {os.environ.get('_TYPER_COMPLETE_ARGS', '')}".split()
    for name, (module, _) in COMMANDS.items():
        if name in line:
            subcommands(root)[name] = typer.main.get_command(import_module(module).app)
    try:
        root(words, prog_name="merilo")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    return 0


def below(path: str, command: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - as above
    """Yield a command, and those of a group, with their words."""
    yield path, command
    for name, subcommand in subcommands(command).items():
        yield from below(f"{path} {name}", subcommand)


def subcommands(command: Any) -> dict[str, Any]:  # noqa: ANN401 - as above
    """Return the commands of a group by name; of a command, none."""
    return getattr(command, "commands", None) or {}


def _sentence(message: str) -> str:
    """Rewrite a message of the library in Merilo's style: one line, no kind of error, no capital or full stop."""
    line = " ".join(message.split()).replace("Value error, ", "").rstrip(".")
    return line[:1].lower() + line[1:]
