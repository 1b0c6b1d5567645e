"""Hook of mkdocs: build the page of commands from the command line, so that it is not a file of the repository."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from typer.main import get_command

from merilo.cli import COMMANDS
from merilo.cli.application import below, subcommands

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

#: What at least this many commands explain in the same words is explained once.
SHARED = 2

_HEAD = """\
# Commands

Exit status of every command: 0 success; 1 the work was done and the answer is no (invalid data, a rejected baseline);
2 wrong usage or unreadable input. Options marked with + may be given several times.
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add `commands.md` to the pages of the site."""
    from mkdocs.structure.files import File  # noqa: PLC0415 - the test of the page needs no mkdocs

    files.append(File.generated(config, "commands.md", content=reference()))
    return files


def every_command() -> Iterator[tuple[str, Any]]:
    """Yield every command and group of Merilo with its words: ("study", ...), ("study create", ...)."""
    for name, (module, _) in COMMANDS.items():
        yield from below(name, get_command(import_module(module).app))


def reference() -> str:
    """Return the documentation page that lists every command with its arguments and options."""
    leaves = sorted((path, command) for path, command in every_command() if not subcommands(command))
    groups = [
        (name, text, [(path, command) for path, command in leaves if path.partition(" ")[0] == name])
        for name, (_, text) in COMMANDS.items()
    ]
    entries = Counter(
        (_spelling(parameter), _entry(parameter))
        for _, _, commands in groups
        for _, command in commands
        for parameter in _shown(command)
    )
    shared: dict[str, str] = {}  # the most frequent explanation of each
    for (option, entry), count in entries.most_common():
        if count >= SHARED:
            shared.setdefault(option, entry)
    lines = [_HEAD, "## Arguments and options of several commands", "", *sorted(shared.values())]
    for name, text, commands in groups:
        lines += ["", f"## merilo {name}"]
        if len(commands) > 1:
            lines += ["", f"{text[:1].upper()}{text[1:]}."]
        for path, command in commands:
            lines += _section(path, command, set(shared.values()), nested=len(commands) > 1)
    return "\n".join(lines) + "\n"


def _section(name: str, command: Any, shared: set[str], *, nested: bool) -> Iterator[str]:
    if nested:
        yield from ("", f"### merilo {name}")
    yield from ("", *textwrap.wrap(" ".join((command.help or "").split("\n\n")[0].split()), 120))
    entries = [(parameter, _entry(parameter)) for parameter in _shown(command)]
    own = [entry for _, entry in entries if entry not in shared]
    elsewhere = [_spelling(parameter) for parameter, entry in entries if entry in shared]
    if own:
        yield from ("", *own)
    if elsewhere:
        yield from ("", *textwrap.wrap(f"As above: {', '.join(elsewhere)}.", 120, break_on_hyphens=False))


def _shown(command: Any) -> list[Any]:
    return [
        parameter
        for parameter in command.params
        if not getattr(parameter, "hidden", False) and parameter.name != "help"
    ]


def _entry(parameter: Any) -> str:
    """Return what the page says about an argument or option, as an item of a list."""
    mark = "+" if parameter.param_type_name == "option" and parameter.multiple else ""
    text = f"- {_spelling(parameter)}{mark}{_values(parameter)}{_default(parameter)}: {_help(parameter)}"
    return "\n".join(
        textwrap.wrap(text, 120, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)
    )


def _help(parameter: Any) -> str:
    text = " ".join((getattr(parameter, "help", "") or "").split()).replace("<", "&lt;")
    return text.replace("; may be given several times", "")


def _spelling(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{(parameter.metavar or parameter.name).upper()}`"
    return "/".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))


def _values(parameter: Any) -> str:
    """Return the values from which an option chooses, or the form of its value, if it is declared."""
    if parameter.param_type_name == "argument":
        return ""
    annotation = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    values = "|".join(get_args(annotation)) if get_origin(annotation) is Literal else parameter.metavar
    return f" `{values}`" if values and not values.isalpha() else ""


def _default(parameter: Any) -> str:
    if parameter.required:
        return " (required)" if parameter.param_type_name == "option" else ""
    value = parameter.default
    if value is None or value in ([], (), "") or isinstance(value, bool):
        return ""
    return f" = `{value}`"
