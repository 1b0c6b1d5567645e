"""Finding Python statements and the prose between them in a text, without parsing it.

The text is untrusted: it can crash Python's own parser, whose results also differ between versions. This module reads
only characters, in time linear in the length of the text, and never fails.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

#: The keywords of every version, including two that are no longer keywords.
KEYWORDS: Final = frozenset(keyword.kwlist) | {"exec", "print"}
#: Words that are keywords only at the beginning of a statement.
SOFT_KEYWORDS: Final = frozenset({"match", "case", "type"})
STRING_PREFIXES: Final = frozenset({"r", "b", "f", "t", "u", "br", "rb", "fr", "rf", "tr", "rt"})

#: No group is repeated possessively: Python before 3.11.5 matches that wrongly. None of these goes back in any case.
_TOKEN: Final = re.compile(
    r"""
      [^"'\#\\()\[\]{}\n]++
    | (?P<string> \"\"\" (?: [^"\\]++ | \\. | "(?!"") )* (?: \"\"\" | \\? \Z )
                | ''' (?: [^'\\]++ | \\. | '(?!'') )* (?: ''' | \\? \Z )
                | " (?: [^"\\\n]++ | \\. )* "?
                | ' (?: [^'\\\n]++ | \\. )* '? )
    | (?P<open> [(\[{] )
    | (?P<close> [)\]}] )
    | (?P<newline> \n )
    | \#[^\n]*+
    | \\\n
    | .
    """,
    re.VERBOSE | re.DOTALL,
)
_COLON: Final = re.compile(r":[ \t]*(?:#.*)?$")
_LONG_WORD: Final = 40
_QUOTE: Final = re.compile(r"[\"'#]")
_WORD: Final = re.compile(r"\w+")
_BOUND: Final = re.compile(r"(?:async\s+)?(?:def|class)\s+(\w+)|([^\W\d]\w*)\s*(?::[^=]*)?=(?!=)")
_FOREIGN: Final = re.compile(r"[^\w\s()\[\]{}:;,.+\-*/%@&|^~<>=!\\]|!(?!=)")
#: Bullets, numbers of a list, rules, headings in bold, quotations, tables, tags, commands: no statement begins so.
_MARKUP: Final = re.compile(
    r"[-*+]\s+[^\W\d]|\d+[.)]\s|(?:[-=*_][ \t]*){3,}$|\*\*|[<>|%/&^=!,;:?]|\\\w|\.(?!\.\.|\d)"
)
_LABEL: Final = re.compile(r"(?!else\b|try\b|finally\b|except\b)[^\W\d]\w*:\s*$|[A-Z]\w*:(?!.*=)")
#: "Done", a word in other letters, "Yes, sure:", "python": no statement that does anything.
_BARE_WORDS: Final = re.compile(r"(?:[^\W\d_a-z]\w*(?:,\s*[^\W\d]\w*)*:?|(?i:py|python\d?))\s*$")


@dataclass(frozen=True, slots=True)
class Statement:
    """A logical line, which brackets, strings and backslashes may extend over several physical lines.

    Attributes:
        first: its first physical line.
        last: the physical line after its last one.
        indent: the whitespace before it.
        text: its first physical line without the indentation.
        opens_block: whether it ends with a colon, so that an indented block must follow.
    """

    first: int
    last: int
    indent: str
    text: str
    opens_block: bool

    @property
    def defines(self) -> bool:
        """Whether a function or a class begins here."""
        return re.match(r"(?:async\s+)?def\b|class\b", self.text) is not None

    @property
    def bound(self) -> str | None:
        """The name that a definition or a plain assignment binds."""
        binding = _BOUND.match(self.text)
        return binding and (binding[1] or binding[2])


@dataclass(frozen=True, slots=True)
class Layout:
    """The statements of a text.

    Attributes:
        lines: the physical lines, without line ends.
        segments: runs of statements with prose between them; comments and blank lines belong to none.
        in_string: the physical lines that begin inside a string, whose indentation is therefore content.
    """

    lines: list[str]
    segments: list[list[Statement]]
    in_string: frozenset[int]

    def begins_with_code(self) -> bool:
        """Return whether there is no prose before the first statement."""
        if not self.segments:
            return False
        before = self.lines[: self.segments[0][0].first]
        return all(not line.strip() or line.lstrip().startswith("#") for line in before)

    def cut(self, first: int, last: int, old: str = "", new: str = "") -> str:
        """Return lines `first` to `last - 1` with the indentation `old` replaced by `new`, except inside strings."""
        moved_lines = []
        for number in range(first, last):
            line = self.lines[number]
            moved = number not in self.in_string and line.startswith(old) and line.strip()
            moved_lines.append(f"{new}{line[len(old) :]}\n" if moved else f"{line}\n")
        return "".join(moved_lines)


def read_layout(text: str) -> Layout:
    r"""Find the statements of a text.

    Example:
        >>> layout = read_layout("Here it is:\n    return f(\n        x)\nThat is all.")
        >>> [[statement.text for statement in segment] for segment in layout.segments]
        [['return f(']]
    """
    lines = text.split("\n")
    segments: list[list[Statement]] = [[]]
    in_string: set[int] = set()
    number = position = 0
    while number < len(lines):
        line = lines[number]
        indent = line[: len(line) - len(line.lstrip(" \t\f"))]
        bare = line[len(indent) :]
        if not bare or bare.startswith("#"):
            number, position = number + 1, position + len(line) + 1
        elif (not indent and is_prose(bare)) or (indent and not segments[-1] and not is_possible(bare)):
            number, position = number + 1, position + len(line) + 1
            if segments[-1]:
                segments.append([])
        else:
            first = number
            number, position = _end_of_statement(text, number, position, in_string)
            opens_block = _COLON.search(lines[number - 1]) is not None
            segments[-1].append(Statement(first, number, indent, bare, opens_block))
    return Layout(lines, [segment for segment in segments if segment], frozenset(in_string))


def _end_of_statement(text: str, number: int, position: int, in_string: set[int]) -> tuple[int, int]:
    """Return the number and position of the physical line after the statement that begins here."""
    depth = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        assert token is not None, "the last alternative matches any character"  # noqa: S101 - for the type checker
        position = token.end()
        match token.lastgroup:
            case "string":
                crossed = token[0].count("\n")
                in_string.update(range(number + 1, number + crossed + 1))
                number += crossed
            case "open":
                depth += 1
            case "close":
                depth = max(0, depth - 1)
            case "newline":
                number += 1
                if not depth:
                    return number, position
            case _:
                number += token[0].count("\n")
    return number + 1, len(text) + 1


def is_prose(line: str) -> bool:
    """Return whether a line cannot begin a statement of Python and is therefore prose.

    Labels ("Explanation:", "Note: x") and words alone that are capitalised or not Latin ("Yes, sure") count
    as prose too, though Python could run some.

    Args:
        line: the line without its indentation.

    Example:
        >>> is_prose("Here is the solution:"), is_prose("return [x for x in numbers if x]")
        (True, False)
    """
    return bool(_LABEL.match(line) or _BARE_WORDS.match(line)) or not is_possible(line)


def is_possible(line: str) -> bool:
    """Return whether a statement of Python can begin with this line.

    In Python, of two adjacent words one is a keyword, and only few punctuation marks occur outside of strings.
    """
    if _MARKUP.match(line):
        return False
    head = _QUOTE.split(line, maxsplit=1)[0]
    if _FOREIGN.search(head) or (head == line and re.search(r"(?<![\d.])\.\s*$", line)):
        return False
    return not (_has_adjacent_words(head) or _has_apostrophe(line, head))


def _has_adjacent_words(head: str) -> bool:
    words = list(_WORD.finditer(head))
    for number, (left, right) in enumerate(pairwise(words)):
        if left[0] in KEYWORDS or right[0] in KEYWORDS or left[0][0].isdigit():
            continue
        if number == 0 and left[0] in SOFT_KEYWORDS:
            continue
        if head[left.end() : right.start()].isspace():
            return True
    return False


def _has_apostrophe(line: str, head: str) -> bool:
    """Return whether the first quote of the line is an apostrophe after a word."""
    if head == line or line[len(head)] == "#":
        return False
    word = re.search(r"[^\W\d]\w*$", head[-_LONG_WORD:])
    return word is not None and word[0] not in KEYWORDS and word[0].lower() not in STRING_PREFIXES


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
    definitions = []
    first = 0
    while first < len(statements):
        last = first
        while last < len(statements) - 1 and statements[last].text.startswith("@"):
            last += 1
        end = end_of_block(statements, last)
        head, base = statements[last], statements[first].indent
        text = layout.cut(statements[first].first, statements[end - 1].last, base)
        if names := _names(head, text):
            definitions.append(
                Definition(names, text, is_assignment=not head.defines and head.bound is not None)
            )
        first = end
    return definitions


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
