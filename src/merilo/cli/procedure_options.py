"""The settings of a baseline as options of a command: one option for each setting, made from its declaration."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, get_origin, get_type_hints

import typer

from merilo.cli.exports import votes_option
from merilo.settings import Settings, help_of, type_of


def takes_settings(*names: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Replace the parameter `settings` of a command by one option for each setting.

    The command gets the options' values as `Settings`; impossible values are refused before it starts.

    Args:
        names: the settings; by default, all that a user chooses.
    """

    def decorated(command: Callable[..., int]) -> Callable[..., int]:
        chosen = names or tuple(Settings().parameters())
        options = [_option(name) for name in chosen]

        @wraps(command)
        def run(**values: Any) -> int:  # noqa: ANN401 - a command's options have many types
            given = {name: _value(name, values.pop(name)) for name in chosen}
            return command(**values, settings=Settings.of(given))

        hints = get_type_hints(command, include_extras=True)
        parameters = [
            one
            for own in signature(command).parameters.values()
            for one in (options if own.name == "settings" else [own.replace(annotation=hints[own.name])])
        ]
        run.__signature__ = signature(command).replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        return run

    return decorated


def _option(name: str) -> Parameter:
    """Return the parameter of one setting that a user chooses."""
    about = help_of(name)
    if about is None:
        raise KeyError(name)
    kind, default = type_of(name), getattr(Settings(), name)
    flags = [f"--{name.replace('_', '-')}"] if kind is bool else []
    if get_origin(kind) is tuple:
        kind, default = list[str] | None, None
    elif name == "min_votes":
        kind = str
    shown = typer.Option(*flags, help=about.text, metavar=about.metavar, rich_help_panel=about.panel)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, shown])


def _value(name: str, given: Any) -> object:  # noqa: ANN401 - as above
    """Convert an option's value to that of the setting."""
    if get_origin(type_of(name)) is tuple:
        return tuple(given or ())
    return votes_option(given) if name == "min_votes" else given
