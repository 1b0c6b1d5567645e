"""YAML, read strictly: plain values, no tags, and no aliases, through which a small file could grow without bound."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import yaml

from merilo.errors import InputError
from merilo.files import read_text

_LARGEST_FILE: Final = 1_000_000


class PlainLoader(yaml.SafeLoader):
    """The safe loader without aliases."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Raise an error for an alias, for which PyYAML would copy the aliased node."""
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases (*name) are not allowed")
        return super().compose_node(parent, index)


class TextLoader(PlainLoader):
    """Every scalar is a text as it is written, so that `no` is an answer."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.yaml_implicit_resolvers = {}


def read_yaml(path: Path, loader: type[PlainLoader] = PlainLoader) -> object:
    """Read untrusted YAML.

    Args:
        path: the file.
        loader: whether values are parsed or kept as texts.

    Raises:
        InputError: the file cannot be read, is too large, or is not such YAML.
    """
    content = read_text(path, _LARGEST_FILE)
    try:
        return yaml.load(content, Loader=loader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InputError(f"is not YAML ({' '.join(str(error).split())[:200]})", file=path) from error
