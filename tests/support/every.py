"""A test over many cases as one test: cheaper than a test a case, and every case that fails is named."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def every(names: str | tuple[str, ...], cases: Iterable[Any], *, ids: Any = None) -> Callable[[Any], Any]:
    """As `pytest.mark.parametrize`, in one test. For cases that are quick and share no folder.

    Args:
        names: the parameters, one or several.
        cases: a value a case, or a tuple of values where there are several parameters; or `pytest.param`.
        ids: what the cases are called, in a list or by a function of the first value.
    """
    several = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    known = [_case(case, several) for case in cases]
    if not known:
        raise ValueError(f"there are no cases of {', '.join(several)}: the test could not fail")
    if callable(ids):
        known = [(ids(values[0]), values) for _, values in known]
    elif ids is not None:
        known = [(name, values) for name, (_, values) in zip(ids, known, strict=True)]

    def decorate(test: Any) -> Any:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            failures: list[tuple[str, Exception]] = []
            for name, values in known:
                try:
                    test(**fixtures, **dict(zip(several, values, strict=True)))
                except (Exception, pytest.fail.Exception) as error:
                    failures.append((str(name), error))
            if failures:
                told = "\n".join(f"[{name}] {type(error).__name__}: {error}" for name, error in failures)
                raise AssertionError(f"{len(failures)} of {len(known)} cases failed\n{told}") from failures[
                    0
                ][1]

        signature = inspect.signature(test)
        left = [parameter for parameter in signature.parameters.values() if parameter.name not in several]
        assert len(left) == len(signature.parameters) - len(several), (
            f"{test.__name__} does not take {several}"
        )
        run.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return run

    return decorate


def _case(case: Any, several: list[str]) -> tuple[str, tuple[Any, ...]]:
    """A case's name and its values."""
    if hasattr(case, "values") and hasattr(case, "marks"):  # pytest.param
        assert not case.marks, "marks belong to tests"
        return case.id or repr(case.values), tuple(case.values)
    values = (case,) if len(several) == 1 else tuple(case)
    return ", ".join(repr(value)[:80] for value in values), values
