"""Batch files: the requests of a run as a vendor's batch API takes them, and its results read into the run's log.

A batch costs half as much as single requests, and takes up to a day. The id of a request (`custom_id`) names dataset,
item and sample, and holds a hash of the request, so that a result never passes for the reply to another version of
the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from merilo.atomic_write import write_text
from merilo.errors import InputError, UsageError, argument
from merilo.models.asking import ModelBackend, ModelReply, Request
from merilo.models.backends.chats import ChatBackend
from merilo.models.runner import RunBudget
from merilo.strict_json import Json, dict_at, parse_json

#: The longest id that both vendors take; they take Latin letters, digits, `_` and `-`.
_LONGEST: Final = 64
_DIGITS: Final = 12


def custom_id(request: Request) -> str:
    """Return the id of a request in a batch.

    Example:
        >>> custom_id(Request("lcs", "a 1", 2, (), "?"))
        'lcs-a_1-2-42918a643520'
    """
    name = "-".join(map(str, request.key))
    digest = sha256(f"{name} {request.sha256}".encode()).hexdigest()[:_DIGITS]
    return f"{re.sub('[^A-Za-z0-9_-]', '_', name)[: _LONGEST - _DIGITS - 1]}-{digest}"


def batch_backend(backend: ModelBackend) -> ChatBackend:
    """Return a backend that has batches.

    Raises:
        UsageError: it has none.
    """
    if isinstance(backend, ChatBackend):
        return backend
    known = "openai-chat-completions, local-chat-completions and anthropic-chat"
    raise UsageError(f"{backend.name} has no batches; {known} have", field=argument("model"))


def write_batch(path: Path, backend: ChatBackend, requests: Iterable[Request], budget: RunBudget) -> int:
    """Write requests into a file that the vendor's batch API takes.

    Returns:
        The number of requests.

    Raises:
        UsageError: the requests may cost more than the budget allows.
        DataError: a request cannot be made, such as one with an unreadable picture.
        OutputError: the file cannot be written.
    """
    named = {custom_id(request): request for request in budget.allowed(requests)}
    if named:
        write_text(path, backend.batch_file(named))
    return len(named)


class BatchResults:
    """The results of a batch, which answer requests in place of the backend that they were written for.

    Args:
        paths: the files; of several results of a request, the last one counts.
        backend: the backend.

    Attributes:
        ids: the ids of all results.

    Raises:
        InputError: a file cannot be read, or a row is not a result of a batch.
    """

    batch_size = 256
    concurrency = 1

    def __init__(self, paths: Sequence[Path], backend: ChatBackend) -> None:
        self.name, self.model, self.abilities = backend.name, backend.model, backend.abilities
        self._backend = backend
        self._results = {name: row for path in paths for name, row in _results_in(path)}

    @property
    def ids(self) -> set[str]:
        """The ids of the requests that have a result."""
        return set(self._results)

    def held(self, requests: Iterable[Request]) -> Iterator[Request]:
        """Leave out the requests that have no result."""
        return (request for request in requests if custom_id(request) in self._results)

    async def ask(self, requests: Sequence[Request]) -> Sequence[ModelReply]:
        """Return the results of requests."""
        return [self._backend.batch_reply(self._results[custom_id(one)], one) for one in requests]

    async def close(self) -> None:
        """Nothing is open."""


def _results_in(path: Path) -> Iterator[tuple[str, Mapping[str, Json]]]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"cannot be read ({getattr(error, 'strerror', None) or error})", file=path
        ) from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        row = dict_at(parse_json(line, file=path, row=number))
        name = row.get("custom_id")
        if not isinstance(name, str) or not {"response", "result", "error"} & row.keys():
            raise InputError(
                "is not a result of a batch: it has no custom_id, or no response", file=path, row=number
            )
        yield name, row
