"""Top-level definitions in a text, which other code may use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from merilo.sandbox.layout import Layout, Statement

_NAME: Final = re.compile(r"[^\W\d]\w*")
_IMPORT: Final = re.compile(r"(?:from\s+\S+\s+)?import\b(.*)", re.DOTALL)
_IMPORTED: Final = re.compile(r"([\w.]+)(?:\s+as\s+(\w+))?")


@dataclass(frozen=True, slots=True)
class Definition:
    """A top-level function, class, assignment or import, with its decorators and its block.

    Attributes:
        names: the names that it binds.
        text: its lines, moved to the left margin.
        is_assignment: whether it is a plain assignment, which may follow a definition of the same name.
    """

    names: tuple[str, ...]
    text: str
    is_assignment: bool = False


def read_definitions(layout: Layout, statements: list[Statement]) -> list[Definition]:
    r"""Find the definitions among statements, each with its decorators and its block.

    Example:
        >>> from merilo.sandbox.layout import read_layout
        >>> layout = read_layout("import os.path, re as r\n@cache\ndef one(x):\n    return x\nprint(one(1))\n")
        >>> [definition.names for definition in read_definitions(layout, layout.segments[0])]
        [('os', 'r'), ('one',)]
    """
    found = []
    first = 0
    while first < len(statements):
        last = first
        while last < len(statements) - 1 and statements[last].text.startswith("@"):
            last += 1
        end = end_of_block(statements, last)
        head, base = statements[last], statements[first].indent
        text = layout.cut(statements[first].first, statements[end - 1].last, base)
        if names := _names(head, text):
            found.append(Definition(names, text, is_assignment=not head.defines and head.bound is not None))
        first = end
    return found


def end_of_block(statements: list[Statement], start: int) -> int:
    """Return the index of the first statement after the block that begins at `start`."""
    end = start + 1
    while end < len(statements) and len(statements[end].indent) > len(statements[start].indent):
        end += 1
    return end


def needed(text: str, definitions: Iterable[Definition], without: Iterable[str]) -> str:
    """Return the text of the definitions that a text uses, directly or through other definitions, in their order.

    Args:
        text: the code that uses definitions.
        definitions: the available definitions.
        without: names that are already defined; of definitions with these names, only assignments are taken.
    """
    every = list(definitions)
    refused = frozenset(without)
    named: dict[str, list[int]] = {}
    for number, definition in enumerate(every):
        for name in definition.names:
            if definition.is_assignment or name not in refused:
                named.setdefault(name, []).append(number)
    chosen: set[int] = set()
    pending = list(set(_NAME.findall(text)))
    while pending:
        for number in named.pop(pending.pop(), ()):
            if number not in chosen:
                chosen.add(number)
                pending.extend(set(_NAME.findall(every[number].text)))
    return "".join(every[number].text for number in sorted(chosen))


def _names(head: Statement, text: str) -> tuple[str, ...]:
    if head.bound is not None:
        return (head.bound,)
    imports = _IMPORT.match(text)
    if imports is None:
        return ()
    listed = re.sub(r"#.*|[()\\]", "", imports[1])
    parts = [_IMPORTED.match(part.strip()) for part in listed.split(",")]
    return tuple(part[2] or part[1].split(".")[0] for part in parts if part)
