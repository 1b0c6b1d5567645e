"""Settings as options of a command: one option for each setting, made from its declaration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, Final, Literal, get_args, get_origin, get_type_hints

import typer

from merilo.errors import UsageError
from merilo.settings import CheckedSettings, Settings, help_of, type_of

#: The panel of the options that most people need, which stands first in the help of a command.
MOST_USED: Final = "Most used"


def takes_settings(
    *names: str, of: type[CheckedSettings] = Settings, most_used: Sequence[str] = (), into: str = "settings"
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Replace the parameter `settings` of a command by one option for each setting.

    The command gets the options' values as settings; impossible values are refused before it starts.

    Args:
        names: the settings; by default, all that a user chooses.
        of: the class that declares them.
        into: the name of the parameter.
        most_used: the parameters whose options stand first in the help, in a panel of their own.
    """

    def decorated(command: Callable[..., int]) -> Callable[..., int]:
        chosen = names or tuple(of().parameters())
        options = [_option(name, of()) for name in chosen]

        @wraps(command)
        def run(**values: Any) -> int:  # noqa: ANN401 - a command's options have many types
            given = {name: _value(name, of, values.pop(name)) for name in chosen}
            return command(**values, **{into: of.of(given)})

        hints = get_type_hints(command, include_extras=True)
        parameters = [
            one
            for own in signature(command).parameters.values()
            for one in (options if own.name == into else [own.replace(annotation=hints[own.name])])
        ]
        first = [_in_first_panel(one) for name in most_used for one in parameters if one.name == name]
        arguments = [one for one in parameters if one.kind is Parameter.POSITIONAL_OR_KEYWORD]
        others = [one for one in parameters if one.name not in most_used and one not in arguments]
        parameters = [*arguments, *first, *others]
        run.__signature__ = signature(command).replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        return run

    return decorated


def _in_first_panel(parameter: Parameter) -> Parameter:
    kind, option = parameter.annotation.__origin__, copy(parameter.annotation.__metadata__[0])
    option.rich_help_panel = MOST_USED
    return parameter.replace(annotation=Annotated[kind, option])


def _option(name: str, defaults: CheckedSettings) -> Parameter:
    """Return the parameter of one setting that a user chooses."""
    about = help_of(name, type(defaults))
    if about is None:
        raise KeyError(name)
    kind, default = type_of(name, type(defaults)), getattr(defaults, name)
    flags = [f"--{name.replace('_', '-')}"] if kind is bool else []
    if _is_tuple(kind):
        kind, default = list[str] | None, None
    elif name == "min_votes":
        kind = str
    shown = typer.Option(*flags, help=about.text, metavar=about.metavar, rich_help_panel=about.panel)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, shown])


def _value(name: str, of: type, given: Any) -> object:  # noqa: ANN401 - as above
    """Convert an option's value to that of the setting."""
    kind = type_of(name, of)
    if _is_tuple(kind):
        return tuple(given) if given else None if type(None) in get_args(kind) else ()
    return _votes(given) if name == "min_votes" else given


def _votes(text: str) -> int | Literal["majority"]:
    """Parse the value of --min-votes.

    Raises:
        UsageError: the text is neither 'majority' nor a whole number.
    """
    if text == "majority":
        return "majority"
    if not text.isdecimal():
        raise UsageError(f"--min-votes takes 'majority' or a number of at least 1, not '{text}'")
    return int(text)


def _is_tuple(kind: Any) -> bool:  # noqa: ANN401 - as above
    return any(get_origin(one) is tuple for one in (kind, *get_args(kind)))
