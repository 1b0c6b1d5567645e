"""Problems and completions for tests: one function, many ways to get it wrong."""

import os
from typing import Any

import pytest

from merilo.errors import MissingPartError
from merilo.sandbox.backends import backend

STUB = 'def double(x):\n    """Удвойте x."""\n'


def need_a_jail() -> None:
    """Skip where no jail works; where tests must not be skipped, MERILO_NEEDS_JAIL makes that a failure."""
    try:
        backend().close()
    except MissingPartError as error:
        if os.environ.get("MERILO_NEEDS_JAIL"):
            raise
        pytest.skip(str(error))


def item(number: int, tests: str = "[{'x': 1}, {'x': 'ab'}]", outputs: Any = ("2", "abab")) -> dict[str, Any]:
    return {
        "instruction": "Допишите функцию.\n{function}",
        "inputs": {"function": STUB, "tests": tests},
        "outputs": list(outputs),
        "meta": {"id": number, "entry_point": "double", "canonical_solution": "    return 2 * x\n"},
    }


def check_row(name: str) -> dict[str, Any]:
    test = "def check(candidate):\n    assert candidate(1) == 2\n    assert candidate('ab') == 'abab'\n"
    return {
        "task_id": name,
        "prompt": STUB,
        "entry_point": "double",
        "test": test,
        "canonical_solution": "    return 2 * x\n",
    }


def completion(number: object, text: str) -> dict[str, Any]:
    return {"id": number, "completion": text}


#: A completion, and how it ends.
ENDINGS = [
    ("    return 2 * x\n", "passed", ""),
    ("```python\ndef double(x):\n    return x + x\n```", "passed", ""),
    ("    return x\n", "wrong_answer", ""),
    ("    return 2 * int(x)\n", "exception", "ValueError"),
    ("    return y\n", "exception", "NameError"),
    ("    while True:\n        pass\n", "timeout", ""),
    ("    return [0] * 10**10\n", "memory", ""),
    ("    import os\n    os.mkdir('/forbidden')\n", "forbidden", ""),
    ("    return 2 * x)\n", "syntax_error", ""),
    ("    return '\0'\n", "syntax_error", ""),
    ("    return '\ud800'\n", "syntax_error", ""),
    ("def triple(x):\n    return 3 * x\n", "no_such_function", ""),
    ("    import os\n    os._exit(0)\n", "exited", ""),
    ("    return 'x' * 10**8\n", "output", ""),
    ("#" * 1_000_001, "too_long", ""),
]  # fmt: skip
