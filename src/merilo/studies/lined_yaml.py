"""Read untrusted YAML together with the line of every key, so that errors can name the line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import yaml

from merilo.datasets.custom import PlainLoader
from merilo.errors import InputError

#: The keys and list positions that lead to a value.
YamlPath: TypeAlias = tuple[str | int, ...]

_LARGEST: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class LinedYaml:
    """The content of a YAML file.

    Attributes:
        content: the plain values.
        lines: path -> line of its key, from 1.
        repeated: path and line of every key that occurs twice in one mapping.
    """

    content: object
    lines: dict[YamlPath, int]
    repeated: tuple[tuple[YamlPath, int], ...]

    def line(self, path: YamlPath) -> int:
        """Return the line of a path, or of the nearest path above it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def read_lined_yaml(path: Path) -> LinedYaml:
    """Read a YAML file: plain values only, no aliases, no tags.

    Raises:
        InputError: the file cannot be read, is too large, or is not such YAML; the message names the line.
    """
    try:
        if not path.is_file():
            raise InputError("there is no such file" if not path.exists() else "is not a file", file=path)
        if path.stat().st_size > _LARGEST:
            raise InputError(f"is larger than {_LARGEST} bytes", file=path)
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read ({error})", file=path) from error
    lines: dict[YamlPath, int] = {}
    repeated: list[tuple[YamlPath, int]] = []
    loader: PlainLoader | None = None
    try:
        loader = PlainLoader(text)
        node = loader.get_single_node()
        if node is None:
            return LinedYaml(None, {}, ())
        _note_lines(node, (), lines, repeated)
        content = loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(part for part in (error.context, error.problem) if part)
        raise InputError(f"is not YAML: {problem}", file=path, row=mark.line + 1 if mark else None) from error
    except yaml.reader.ReaderError as error:
        row = text.count("\n", 0, error.position) + 1
        raise InputError(
            f"is not YAML: the character U+{ord(text[error.position]):04X} is not allowed", file=path, row=row
        ) from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InputError(f"is not YAML ({' '.join(str(error).split())[:200]})", file=path) from error
    finally:
        if loader is not None:
            loader.dispose()
    return LinedYaml(content, lines, tuple(repeated))


def _note_lines(
    node: yaml.Node, path: YamlPath, lines: dict[YamlPath, int], repeated: list[tuple[YamlPath, int]]
) -> None:
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            if name in seen:
                repeated.append(((*path, name), key.start_mark.line + 1))
            seen.add(name)
            lines[*path, name] = key.start_mark.line + 1
            _note_lines(value, (*path, name), lines, repeated)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            lines[*path, number] = value.start_mark.line + 1
            _note_lines(value, (*path, number), lines, repeated)
