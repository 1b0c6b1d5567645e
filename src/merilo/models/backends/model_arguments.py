"""The arguments of a backend, as lm-eval writes them: `model=gpt-4o,num_concurrent=16`."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Final, NoReturn

from merilo.errors import UsageError, argument
from merilo.wording import listed, shortened

#: Arguments that would put a key into logs and shell histories; keys come from the environment only.
_SECRETS: Final = frozenset({"api_key", "auth_token", "header", "token"})
_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no")


def parse_model_arguments(text: str) -> dict[str, str]:
    """Read arguments as lm-eval's `--model_args`: `K=V,K=V`, or a JSON object.

    Raises:
        UsageError: a part has no `=`, a name is empty or occurs twice, or the JSON is not an object of plain values.

    Example:
        >>> parse_model_arguments("model=gpt-4o, base_url=http://127.0.0.1:8000/v1")
        {'model': 'gpt-4o', 'base_url': 'http://127.0.0.1:8000/v1'}
        >>> parse_model_arguments('{"model": "a,b", "timeout": 60}')
        {'model': 'a,b', 'timeout': '60'}
    """
    if text.lstrip().startswith("{"):
        return _from_json(text)
    found: dict[str, str] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, equals, value = part.partition("=")
        if not equals or not name.strip():
            _wrong(
                f"takes NAME=VALUE, separated by commas, not {shortened(part)!r}; values with commas need a JSON object"
            )
        if name.strip() in found:
            _wrong(f"names {name.strip()!r} twice")
        found[name.strip()] = _unquoted(value.strip())
    return found


def _from_json(text: str) -> dict[str, str]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        _wrong(f"starts as a JSON object and is none: {shortened(str(error))}")
    if any(isinstance(entry, list | dict) for entry in value.values()):
        _wrong("takes a JSON object of texts, numbers, true and false")
    return {name: entry if isinstance(entry, str) else json.dumps(entry) for name, entry in value.items()}


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if quoted else value


def _wrong(message: str) -> NoReturn:
    raise UsageError(message, field=argument("model_args"))


def nearest(name: str, known: Collection[str]) -> str:
    """Return the names that are most like a mistyped one as the end of a sentence, or all names if none is.

    Example:
        >>> nearest("open-ai", ["openai", "hf"])
        'did you mean openai?'
        >>> nearest("x", ["openai", "hf"])
        'there are hf, openai'
    """
    near = get_close_matches(name.lower(), sorted(known), n=3, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?" if near else f"there are {listed(sorted(known), 40)}"


class BackendArguments:
    """The arguments of one backend, read by type.

    Args:
        backend: the backend's name, for messages.
        given: the arguments as written.
        known: the names that the backend takes.
        key: the environment variable with the backend's key, if it has one.

    Raises:
        UsageError: an argument is not known; the message offers the nearest names.
    """

    def __init__(
        self, backend: str, given: Mapping[str, str], known: Collection[str], key: str | None = None
    ) -> None:
        self._backend = backend
        self._given = given
        for name in given:
            if name in known:
                continue
            if name in _SECRETS:
                where = f"the environment variable {key}" if key else "the environment"
                _wrong(f"takes no {name}: keys are read from {where} only, so that no log holds them")
            _wrong(f"{backend} takes no argument {name!r}; {nearest(name, known)}")

    def text(self, *names: str) -> str | None:
        """Return the first of these arguments that is given and not empty or "None"."""
        for name in names:
            if self._given.get(name, "None") not in {"", "None", "none", "null"}:
                return self._given[name]
        return None

    def needed(self, *names: str) -> str:
        """Return the first of these arguments that is given.

        Raises:
            UsageError: none is.
        """
        value = self.text(*names)
        if value is None:
            _wrong(f"{self._backend} needs {names[0]}=...")
        return value

    def one_of(self, name: str, values: Collection[str]) -> str | None:
        """Return an argument that is one of several words, `None` if it is not given."""
        value = self.text(name)
        if value is not None and value not in values:
            _wrong(f"{name} takes {', '.join(sorted(values))}, not {shortened(value)!r}")
        return value

    def whole(self, name: str, default: int, *, least: int = 0) -> int:
        """Return a whole number."""
        value = self.text(name)
        if value is None:
            return default
        if not value.isascii() or not value.isdecimal() or int(value) < least:
            _wrong(f"{name} takes a whole number of at least {least}, not {shortened(value)!r}")
        return int(value)

    def seconds(self, name: str, default: float) -> float:
        """Return a positive number of seconds."""
        value = self.text(name)
        try:
            number = default if value is None else float(value)
        except ValueError:
            number = 0.0
        if not 0 < number < float("inf"):
            _wrong(f"{name} takes a positive number of seconds, not {shortened(str(value))!r}")
        return number

    def flag(self, name: str, default: bool) -> bool:
        """Return a truth value: true or false."""
        value = self.text(name)
        if value is not None and value.lower() not in _TRUE + _FALSE:
            _wrong(f"{name} takes true or false, not {shortened(value)!r}")
        return default if value is None else value.lower() in _TRUE
