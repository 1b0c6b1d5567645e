"""The program's own process: it runs the program and sends the results of its function.

This module shares a process with untrusted code, so it makes no decisions. The program can write records itself, but
gains nothing, because it does not know the gold answers. A reader must treat every byte from this process as the
program's.

A record is "+" and a text if the call returned. Otherwise it is a JSON list whose first item says what happened:

    +TEXT   ["exception", TYPE, MESSAGE, BUILT-IN TYPE]   ["memory"]   ["forbidden", TYPE, MESSAGE, BUILT-IN TYPE]
    ["output"]   ["syntax_error", TYPE, MESSAGE, BUILT-IN TYPE]   ["no_such_function"]
"""

from __future__ import annotations

import builtins
import errno
import json
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

from merilo.sandbox.inside import messages

Record = Sequence[str]

#: Source, name of the function, seed, packed keyword arguments of each call.
Job = tuple[str, str, int, list[bytes]]

_REFUSALS = frozenset({errno.EPERM, errno.EACCES, errno.EROFS, errno.ENETUNREACH})

#: Sent if the harness itself runs out of memory.
OUT_OF_MEMORY = messages.frame(b'["memory"]')

#: The longest message of an exception that is kept, in characters.
LONGEST_MESSAGE = 500


class FailedToLoadError(Exception):
    """The program has no function to call; `record` holds the reason."""

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.record = record


def load(job: Job) -> Callable[..., object]:
    """Compile and execute the program.

    Args:
        job: the source, the name of the function, the seed of `random`, and the calls.

    Returns:
        The function to call.

    Raises:
        FailedToLoadError: the program cannot be compiled, raises, or does not define the function.
    """
    source, entry_point, seed, _ = job
    import random  # noqa: PLC0415 - `start` controls how it is loaded

    random.seed(seed)
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)
    try:
        code = compile(source, "<program>", "exec", dont_inherit=True)
    except MemoryError:
        raise FailedToLoadError(["memory"]) from None
    except BaseException as error:  # the parser also raises ValueError, RecursionError and others
        raise FailedToLoadError(["syntax_error", *_said(error)]) from None
    # dataclasses, pickle and typing look up the program's module by its name.
    module = types.ModuleType("program")
    sys.modules["program"] = module
    try:
        exec(code, module.__dict__)  # noqa: S102 - runs in the jail
        function = module.__dict__.get(entry_point)
    except BaseException as error:
        raise FailedToLoadError(described(error)) from None
    if not callable(function):
        raise FailedToLoadError(["no_such_function"])
    return function  # type: ignore[no-any-return]  # checked by `callable` above


def answer_calls(job: Job, link: int, longest: int) -> None:
    """Make every test call and write one record for each.

    If the program does not load, write the same record for all.
    """
    arguments = [messages.unpacked(call) for call in job[3]]
    try:
        function = load(job)
    except FailedToLoadError as error:
        record = _packed(error.record)
        for _ in arguments:
            messages.write(link, record)
        return
    for keywords in arguments:
        messages.write(link, _packed(_outcome_of_call(function, keywords, longest)))


def serve_calls(job: Job, link: int, longest: int) -> None:
    """Answer the calls of a judge, which sends arguments and reads records, until it closes the link."""
    try:
        function = load(job)
    except FailedToLoadError as error:
        messages.write(link, _packed(error.record))
        return
    messages.write(link, _packed(["completed", ""]))
    while True:
        request = messages.read(link)
        if request is None:
            return
        messages.write(link, _packed(_outcome_of_request(function, request, longest)))


def _outcome_of_call(function: Callable[..., object], keywords: object, longest: int) -> Record:
    try:
        text = str(function(**keywords))  # type: ignore[arg-type]  # the pool sends only mappings
        return ["completed", text] if len(text) <= longest else ["output"]
    except BaseException as error:
        return described(error)


def _outcome_of_request(function: Callable[..., object], request: bytes, longest: int) -> Record:
    try:
        positional: Any
        keywords: Any
        positional, keywords = messages.unpacked(request)  # type: ignore[misc]  # the pair that the judge sends
        result = function(*positional, **keywords)
        if isinstance(result, (str, bytes)) and len(result) > longest:
            return ["output"]  # encoding it would take time
        text = messages.dumps(result, opaque=True)
        return ["completed", text] if len(text) <= longest else ["output"]
    except BaseException as error:
        return described(error)


def described(error: BaseException) -> Record:
    """Return the record for an exception that a program raised."""
    if isinstance(error, MemoryError):
        return ["memory"]
    if isinstance(error, OSError) and error.errno in _REFUSALS:
        return ["forbidden", *_said(error)]
    return ["exception", *_said(error)]


def _said(error: BaseException) -> list[str]:
    """Return the type, message and built-in base of an exception.

    Reading them may run the program's code, which may raise.
    """
    try:
        kind = type(error)
        built_in = next((base.__name__ for base in kind.__mro__ if base.__module__ == "builtins"), "")
        return [str(kind.__name__)[:100], str(error)[:LONGEST_MESSAGE], built_in]
    except BaseException:
        return ["Exception", ""]


def _packed(record: Record) -> bytes:
    if record[0] == "completed":
        return b"+" + record[1].encode("utf-8", "surrogatepass")
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass")


def rehearse() -> None:
    """Load and call a sample program, so that Python fills its caches once and not in every child."""
    arguments = {"number": 3, "texts": ["a"], "table": {"b": (1.5, None)}}
    function = load((_SAMPLE_PROGRAM, "rehearsed", 0, []))
    _packed(_outcome_of_call(function, arguments, 1000))
    _packed(_outcome_of_request(function, messages.packed(((), arguments)), 1000))
    _packed(_outcome_of_call(function, {}, 1000))
    del sys.modules["program"]


_SAMPLE_PROGRAM = '''
import math
from typing import Any, Dict, List, Optional, Tuple

def rehearsed(number: int, texts: List[str], table: Dict[str, Any], *, last: Optional[int] = None) -> Tuple[Any, ...]:
    """ Doc. """
    def key(text):
        return -len(text), text.lower()
    found = [f"{text}-{i}" for i, text in enumerate(sorted(texts, key=key)) if text and not text.isdigit()]
    count = {}
    for value in range(1, number + 1):
        count[value % 2] = count.get(value % 2, 0) + value ** 2 // 3
    while number > 0 and len(found) < 10:
        number -= 1
        found.append(str(number)[::-1])
    try:
        total = sum(int(text) for text in found)
    except (ValueError, TypeError) as error:
        total = math.sqrt(len(str(error)))
    return set(found) and (total, found, count, max(table, key=lambda name: name), " ".join(found).split(","))
'''


def provide_exit() -> None:
    """Define `exit` and `quit`, which programs expect and only `site` provides."""
    for name in ("exit", "quit"):
        setattr(builtins, name, sys.exit)
