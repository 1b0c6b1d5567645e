"""Blocks of code in a completion: fences of backticks or tildes, and tags, closed or not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

PYTHON: Final = frozenset({"python", "py", "python3", "py3", "python2", "ipython", "pycon"})

_FENCE: Final = re.compile(r"(?P<indent>[ \t>]*)(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)$")
#: A fence opened at the end of a line of prose: "Here it is: ```python".
_TRAILING: Final = re.compile(r"(?<![`~])(?P<mark>```|~~~)[ \t]*(?P<info>[A-Za-z]+[0-9]?)$")
_ONE_LINE: Final = re.compile(r"[ \t]*(?P<mark>`{3,})(?P<code>[^`\n]+)(?P=mark)[ \t]*$")
_TAG: Final = re.compile(r"^[ \t]*\[(PYTHON|CODE)\]\n?(.*?)(\n?[ \t]*\[/\1\]|\Z)", re.DOTALL | re.MULTILINE)
#: Languages of a fence that may contain a whole answer with inner fences.
_WRAPPERS: Final = frozenset({"", "markdown", "md"})
_TRIPLE: Final = re.compile(r'"""|\'\'\'')


@dataclass(frozen=True, slots=True)
class Block:
    """One block of code.

    Attributes:
        code: the text between the fences.
        language: the first word after the opening fence, in lower case; empty if there is none.
        closed: whether the closing fence is present.
    """

    code: str
    language: str = ""
    closed: bool = True

    @property
    def is_python(self) -> bool:
        """Whether the fence names Python as the language."""
        return self.language in PYTHON


@dataclass(frozen=True, slots=True)
class Marked:
    """A text split at its fences.

    Attributes:
        before: the text before the first fence.
        outside: the text outside all fences, `before` included.
        bare: whether the first fence names no language, so that it may be the closing fence of a block.
        blocks: the blocks, in order.
    """

    before: str
    outside: str
    bare: bool
    blocks: list[Block]


def read_fences(text: str) -> Marked | None:
    r"""Split a text at its fences; return `None` if it has none.

    A fence inside a docstring is content, unless the docstring is never closed.

    Example:
        >>> read_fences("So:\n~~~py\nreturn 1\n~~~\nDone.").blocks
        [Block(code='return 1\n', language='py', closed=True)]
    """
    if tags := list(_TAG.finditer(text)):
        blocks = [Block(tag[2] + "\n", "python", closed=bool(tag[3])) for tag in tags]
        return Marked(text[: tags[0].start()], _TAG.sub("", text), bare=False, blocks=blocks)
    if "```" not in text and "~~~" not in text:
        return None
    marked = _cut(text)
    if marked is not None:
        marked.blocks[:] = [inner for block in marked.blocks for inner in _unwrapped(block)]
    return marked


def _cut(text: str) -> Marked | None:
    lines = [part for line in text.split("\n") for part in _apart(line)]
    return _read(lines, strings_matter=not _swallowed(lines))


def _unwrapped(block: Block) -> list[Block]:
    """Return the inner blocks if a fence encloses a whole answer, otherwise the block itself; unwraps one level only."""
    if block.language not in _WRAPPERS or not ("```" in block.code or "~~~" in block.code):
        return [block]
    inner = _cut(block.code)
    if inner is None or not inner.blocks or (not block.language and inner.before.strip()):
        return [block]
    return inner.blocks


def _read(lines: list[str], *, strings_matter: bool) -> Marked | None:
    """Split lines at their fences; return `None` if there are none."""
    before: list[str] = []
    behind: list[str] = []
    bare = False
    blocks: list[Block] = []
    opened: re.Match[str] | None = None
    content: list[str] = []
    string = ""
    for line in lines:
        fence = None if string else _FENCE.match(line)
        if fence and opened is not None and _closes(fence, opened):
            blocks.append(_block(opened, content, closed=True))
            opened = None
        elif opened is None and (
            fence := fence or (None if string else _TRAILING.search(line.rstrip()[-20:]))
        ):
            bare = bare or (not blocks and not fence["info"].strip() and bool(before))
            opened, content = fence, []
        elif opened is None and not string and (one := _ONE_LINE.match(line)):
            blocks.append(Block(_without_language(one["code"]) + "\n"))
        else:
            if opened is not None:
                content.append(line)
            else:
                (behind if blocks else before).append(line)
            string = _string_after(line, string) if strings_matter else ""
    if opened is not None and not (bare and not any(map(str.strip, content))):
        blocks.append(_block(opened, content, closed=False))
    if not blocks and not bare:
        return None
    return Marked(_joined(before), _joined([*before, *behind]), bare, blocks)


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _apart(line: str) -> tuple[str, ...]:
    """Split a line of code that ends with a closing fence into two lines."""
    code = line.rstrip()
    if code.endswith("```") and code.count("```") == 1 and code.strip(" \t>`#"):
        return code[:-3], "```"
    return (line,)


def _swallowed(lines: list[str]) -> bool:
    """Return whether a triple quote is never closed: every fence after it would then count as a docstring's text."""
    string = ""
    for line in lines:
        string = _string_after(line, string)
    return bool(string)


def _closes(fence: re.Match[str], opened: re.Match[str]) -> bool:
    mark = opened["mark"]
    return fence["mark"][0] == mark[0] and len(fence["mark"]) >= len(mark) and not fence["info"].strip()


def _block(opened: re.Match[str], content: list[str], *, closed: bool) -> Block:
    indent = opened.groupdict().get("indent") or ""
    code = _typed("".join(f"{line.removeprefix(indent)}\n" for line in content))
    words = opened["info"].strip().strip("{}.").lower().split()
    return Block(code, words[0].rstrip(":,") if words else "", closed)


def _typed(code: str) -> str:
    """Return the input lines of an interactive session; other code is returned unchanged."""
    if not code.lstrip("\n").startswith(">>> "):
        return code
    lines = [re.match(r"(?:>>>|\.\.\.)(?: (.*)|$)", line) for line in code.split("\n")]
    return "".join(f"{line[1] or ''}\n" for line in lines if line)


def _without_language(code: str) -> str:
    word, _, rest = code.strip().partition(" ")
    return rest if word.lower() in PYTHON and rest else code.strip()


def _string_after(line: str, string: str) -> str:
    """Return the triple quote that is open after this line, given the one open before it; empty if none is open."""
    for quote in _TRIPLE.findall(line):
        if not string:
            string = quote
        elif string == quote:
            string = ""
    return string
