"""Options of commands: one for each setting, made from its declaration, and those that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    TypeAlias,
    get_args,
    get_origin,
    get_type_hints,
)

import typer

from merilo.cli.output import reading, say
from merilo.settings import INPUT, OUTPUT, CheckedSettings, InputSettings, Settings, help_of, type_of

if TYPE_CHECKING:
    from merilo.metrics.detox import Rater
    from merilo.responses import Responses

MODELS: Final = "Comparison with models"

JsonOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--json", metavar="FILE|-", help="The result as JSON; - is standard output.", rich_help_panel=OUTPUT
    ),
]
LanguageOption: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="ru|en", help="The language of the instruction. Default: the plan's first."),
]
MediaOption: TypeAlias = Annotated[
    str, typer.Option(metavar="URL", help="The URL of the folder samples/, for images, audio and video.")
]
ForceOption: TypeAlias = Annotated[
    bool, typer.Option("--force", help="Replace an existing --out.", rich_help_panel=OUTPUT)
]
DetailsOption: TypeAlias = Annotated[
    bool, typer.Option("--details", help="Show all rows of the table.", rich_help_panel=OUTPUT)
]
BaselineFolder: TypeAlias = Annotated[
    Path | None, typer.Option(help="A new folder: report, JSON, tables, raw answers.", rich_help_panel=OUTPUT)
]
ExplainOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--explain",
        metavar="ID",
        help="Show how the answer to this item was found and judged; may be given several times.",
        rich_help_panel=OUTPUT,
    ),
]
Exports: TypeAlias = Annotated[list[Path], typer.Argument(help="Exports of one study, or tables.")]
StudyArgument: TypeAlias = Annotated[Path, typer.Argument(help="The study's folder.")]
ArmOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="The group of annotators in study.yaml: people (the default) or experts."
    ),
]
ComparedModels: TypeAlias = Annotated[
    list[Path] | None, typer.Option(help="A model's answers or run; repeatable.", rich_help_panel=INPUT)
]
MarginOption: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help="The largest difference from a model that counts as none, for the verdict 'at human "
        "level'. Default: that of the study's frozen plan.",
        rich_help_panel=MODELS,
    ),
]
ForceItems: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--force",
        help="If the items differ, compare on those that both answered; if no answer of a model can be read, count all "
        "as wrong.",
        rich_help_panel=INPUT,
    ),
]
RaterOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--rudetox-models",
        metavar="DIR|hub",
        help="J's classifiers: a folder with sta, sim and fl, or 'hub'. Without them J is not computed.",
    ),
]
CurvesOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--rudetox-curves", help="J's calibration curves. Default: no calibration, which the result states."
    ),
]


def rater_of(models: str | None, curves: Path | None) -> Rater | None:
    """Return the rater that the options select, and say how it is calibrated; errors as for `detox.rater_of`."""
    from merilo.metrics.detox import rater_of as select_rater  # noqa: PLC0415 - the help needs no classifiers

    rater = select_rater(models, curves)
    if rater is not None:
        making = rater.making
        say(f"J is calibrated by '{making['calibration']}'. {making['provenance']}")
    return rater


#: The settings with which exports are read; the others belong to gold answers.
_READING: Final = ("platform", "reading", "item", "annotator", "answer")


def read_exports(files: Sequence[Path], settings: InputSettings) -> Responses:
    """Read the exports of a study with a progress bar; errors as for `merilo.read_responses`."""
    from merilo.people.reading import read_responses  # noqa: PLC0415 - the help needs no Polars

    chosen: dict[str, Any] = settings.parameters()
    with reading(files) as progress:
        return read_responses(
            list(files), progress=progress, **{name: chosen[name] or None for name in _READING}
        )


def input_files(files: Sequence[Path | None], settings: InputSettings) -> list[Path]:
    """Return the files that a command reads: those given and those of its settings."""
    named = (*files, settings.gold, settings.skills, settings.reading)
    return [path for path in named if path is not None]


def takes_settings(
    *names: str, of: type[CheckedSettings] = Settings, into: str = "settings"
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Replace the parameter `settings` of a command by one option for each setting.

    The command gets the options' values as settings; impossible values are refused before it starts.

    Args:
        names: the settings; by default, all that a user chooses.
        of: the class that declares them.
        into: the name of the parameter.
    """

    def decorated(command: Callable[..., int]) -> Callable[..., int]:
        chosen = names or tuple(
            name for name in of().parameters() if (about := help_of(name, of)) and about.option
        )
        options = [_option(name, of()) for name in chosen]

        @wraps(command)
        def run(**values: Any) -> int:  # noqa: ANN401 - a command's options have many types
            chosen_values = {name: _value(name, of, values.pop(name)) for name in chosen}
            return command(**values, **{into: of.of(chosen_values)})

        hints = get_type_hints(command, include_extras=True)
        parameters = [
            parameter
            for own in signature(command).parameters.values()
            for parameter in (options if own.name == into else [own.replace(annotation=hints[own.name])])
        ]
        arguments = [
            parameter for parameter in parameters if parameter.kind is Parameter.POSITIONAL_OR_KEYWORD
        ]
        others = [parameter for parameter in parameters if parameter not in arguments]
        parameters = [*arguments, *others]
        run.__signature__ = signature(command).replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return decorated


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
    shown = typer.Option(
        *flags, help=about.text, metavar=about.metavar, rich_help_panel=about.panel or defaults.panel
    )
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, shown])


def _value(name: str, of: type, value: Any) -> object:  # noqa: ANN401 - as above
    """Convert an option's value to that of the setting."""
    kind = type_of(name, of)
    if _is_tuple(kind):
        return tuple(value) if value else None if type(None) in get_args(kind) else ()
    return int(value) if name == "min_votes" and value.isdecimal() else value


def _is_tuple(kind: Any) -> bool:  # noqa: ANN401 - as above
    return any(get_origin(part) is tuple for part in (kind, *get_args(kind)))
