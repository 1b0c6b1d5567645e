"""Commands that pages show, and what the pages say they print.

An HTML comment before a fenced block says how the block is run; a reader of the page does not see it:

    <!-- run: demo -->            in a new folder in which `merilo demo` has run
    <!-- run: pools/lcs -->       in a new folder with the files of a published pool; its export is called assignments.tsv
    <!-- run: empty folder -->    in a new folder
    <!-- run: same folder -->     where the block before it ran
    <!-- file: answers.csv -->    the block is written to this file, where the block before it ran; or, with
                                  `, empty folder` after the name, in a new folder

After the place may stand `exit status 1` (0 is expected otherwise) and, for files of a pool, `NAME = PATTERN`. A block of
`console` holds commands after `$ ` and may hold what they print; a block of `python` is run as it is. A `text` block that
comes next is everything that the last command printed on standard output and standard error, 80 columns wide; a line `...`
stands for any lines. A `json` block that comes next is a part of the JSON that was printed.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_DIRECTIVE = re.compile(r"<!-- (run|file): (.+?) -->\s*\Z")

#: The line that stands for any lines.
ANYTHING = "..."


@dataclass(frozen=True)
class Block:
    """A fenced block of a page.

    Attributes:
        language: what stands behind the fence.
        text: its lines.
        line: the number of its first line.
        place: where it is run; empty where it is not.
        file: the file that it is written to; empty where it is none.
        status: the exit status that the page states.
        names: the names that files of a pool get, by pattern.
    """

    language: str
    text: str
    line: int
    place: str = ""
    file: str = ""
    status: int = 0
    names: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Command:
    """A command of a console block with what the block says it prints; `None` where it says nothing."""

    words: tuple[str, ...]
    to: str
    shows: str | None


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page in order."""
    found = []
    for match in _FENCE.finditer(page):
        line = page.count("\n", 0, match.start()) + 2
        directive = _DIRECTIVE.search(page, 0, match.start())
        block = Block(match[1], match[2], line)
        if directive and directive[1] == "file":
            file, _, place = directive[2].partition(", ")
            block = Block(match[1], match[2], line, place, file=file)
        elif directive:
            block = _run(match, line, directive[2])
        found.append(block)
    return found


def _run(match: re.Match[str], line: int, told: str) -> Block:
    place, *rest = (part.strip() for part in told.split(","))
    status, names = 0, []
    for part in rest:
        if found := re.fullmatch(r"exit status (\d)", part):
            status = int(found[1])
        else:
            name, pattern = (word.strip() for word in part.split("="))
            names.append((name, pattern))
    return Block(match[1], match[2], line, place, status=status, names=tuple(names))


def stories(page: str) -> list[list[Block]]:
    """The blocks of a page that are run, in groups: each group has its own folder."""
    groups: list[list[Block]] = []
    everything = blocks(page)
    for block in everything:
        if block.place and block.place != "same folder":
            groups.append([block])
        elif groups:
            groups[-1].append(block)
    return groups


def commands(block: Block) -> list[Command]:
    """The commands of a console block.

    Raises:
        ValueError: one is not a command of Merilo.
    """
    found: list[Command] = []
    shown: list[str] = []
    lines = block.text.replace("\\\n", " ").splitlines()
    for line in [*lines, "$ end"]:
        if not line.startswith("$ "):
            shown.append(line)
            continue
        if found and shown:
            found[-1] = Command(found[-1].words, found[-1].to, "\n".join(shown))
        shown = []
        if line == "$ end":
            break
        words = shlex.split(line[2:], comments=True)
        if words[0] != "merilo":
            raise ValueError(f"line {block.line}: only merilo's commands are run, not '{words[0]}'")
        to = words[-1] if len(words) > 2 and words[-2] == ">" else ""
        found.append(Command(tuple(words[1:-2] if to else words[1:]), to, None))
    return found


def tidy(text: str) -> str:
    """Output as pages show it: no blanks at the end of lines, no empty lines at either end."""
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")


def shows(documented: str, printed: str) -> bool:
    """Whether the page shows what was printed.

    Example:
        >>> shows("a\\n...\\nd", "a\\nb\\nc\\nd\\n"), shows("a\\nd", "a\\nb\\n"), shows("a", "a\\nb\\n")
        (True, False, False)
    """
    parts = re.split(rf"^{re.escape(ANYTHING)}$\n?", tidy(documented) + "\n", flags=re.MULTILINE)
    pattern = r"(?:.*\n)*?".join(re.escape(part) for part in parts)
    return re.fullmatch(pattern, tidy(printed) + "\n") is not None


def is_part(documented: object, printed: object, path: str = "") -> str:
    """Return the place where documented JSON differs from the printed JSON; empty if it is a part of it.

    Objects may leave keys out; lists, texts and numbers are whole.

    Example:
        >>> is_part({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}), is_part({"a": [1]}, {"a": [1, 2]}), is_part({"a": 1}, {})
        ('', '.a: the page has [1], printed was [1, 2]', '.a was not printed')
    """
    if isinstance(documented, dict) and isinstance(printed, dict):
        for key, value in documented.items():
            if key not in printed:
                return f"{path}.{key} was not printed"
            if fault := is_part(value, printed[key], f"{path}.{key}"):
                return fault
        return ""
    return "" if documented == printed else f"{path}: the page has {documented!r}, printed was {printed!r}"


def pages(root: Path) -> list[Path]:
    """The pages whose commands are run: not the Russian ones, which repeat the blocks of the English ones."""
    own = [page for page in sorted((root / "docs").rglob("*.md")) if page not in twins(root)]
    return [*own, *sorted(root.glob("README*.md"))]


def twins(root: Path) -> dict[Path, Path]:
    """The English page of each Russian page of the documentation."""
    russian = root / "docs" / "ru"
    return {page: root / "docs" / page.relative_to(russian) for page in sorted(russian.rglob("*.md"))}
