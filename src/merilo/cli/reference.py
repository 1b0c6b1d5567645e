"""Generate the command-line reference from the commands: `python -m merilo.cli.reference > docs/commands.md`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import typer

from merilo.cli import COMMANDS


def reference() -> str:
    """Return the documentation page that lists every command with its arguments and options."""
    lines = [
        "# Commands",
        "",
        "Generated from the command line by `make reference`; a test compares this page with the commands.",
        "",
        "Exit status of every command: 0 success; 1 the work was done and the answer is no "
        "(invalid data, a rejected baseline);",
        "2 wrong usage or unreadable input. With `--json -` standard output holds one JSON object and nothing else.",
    ]
    for name, (module, text) in COMMANDS.items():
        command = typer.main.get_command(import_module(module).app)
        lines += ["", f"## merilo {name}", "", f"{text[:1].upper()}{text[1:]}."]
        subcommands = getattr(command, "commands", None)
        for path, one in sorted(subcommands.items()) if subcommands else [("", command)]:
            lines += _section(f"{name} {path}".strip(), one, nested=bool(path))
    return "\n".join(lines) + "\n"


def _section(name: str, command: Any, *, nested: bool) -> Iterator[str]:  # noqa: ANN401 - Typer's classes are private
    if nested:
        yield from ("", f"### merilo {name}")
    yield from ("", " ".join((command.help or "").split("\n\n")[0].split()))
    shown = [
        parameter
        for parameter in command.params
        if not getattr(parameter, "hidden", False) and parameter.name != "help"
    ]
    if shown:
        yield from ("", "| | | default |", "| --- | --- | --- |")
    for parameter in shown:
        yield f"| {_spelling(parameter)} | {_cell(getattr(parameter, 'help', '') or '')} | {_default(parameter)} |"


def _spelling(parameter: Any) -> str:  # noqa: ANN401 - as above
    if parameter.param_type_name == "argument":
        return f"`{(parameter.metavar or parameter.name).upper()}`"
    return " ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))


def _default(parameter: Any) -> str:  # noqa: ANN401 - as above
    if parameter.required:
        return "required"
    value = parameter.default
    if value is None or value in ([], (), "") or isinstance(value, bool):
        return ""
    return f"`{value}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    sys.stdout.write(reference())
