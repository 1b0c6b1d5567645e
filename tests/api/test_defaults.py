"""The settings of a baseline have one list of defaults: the command and the library function hold to it."""

import inspect
from dataclasses import MISSING, fields

from merilo.api.baseline import DEFAULTS, baseline
from merilo.cli.baseline import make
from merilo.settings import OF_DATASET, Settings


def settings() -> dict[str, object]:
    assert all(one.default is not MISSING for one in fields(Settings))
    return {one.name: one.default for one in fields(Settings) if one.name not in OF_DATASET}


def test_the_function_and_the_command_take_every_setting_with_its_default() -> None:
    for function in (baseline, make):
        parameters = inspect.signature(function).parameters
        for name, default in settings().items():
            given = parameters[name].default
            assert (given or None) == (default or None), f"{function.__name__}: {name}"


def test_a_recorded_command_leaves_out_what_has_the_default() -> None:
    for name, default in settings().items():
        assert DEFAULTS.get(name) == (default if isinstance(default, str | int | float) else None), name
