"""A dataset of one's own: its declaration in a YAML file beside the data."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

import yaml
from pydantic import TypeAdapter, ValidationError

from merilo.datasets.declaration import Dataset
from merilo.errors import InputError

_LARGEST_FILE: Final = 1_000_000


class _PlainLoader(yaml.SafeLoader):
    """The safe loader without aliases: a small file could grow without bound through them."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases (*name) are not allowed")
        return super().compose_node(parent, index)


@cache
def _adapter() -> TypeAdapter[Dataset]:
    return TypeAdapter(Dataset)


def read_declaration(path: Path) -> Dataset:
    """Read the declaration of a dataset of one's own.

    Args:
        path: a YAML file with the fields of `Dataset`; `prompts` is a list, or a mapping from groups to lists.

    Raises:
        InputError: where the file cannot be read, or fields are missing, unknown or wrong; one sentence names all faults.
    """
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise InputError(
            "holds no declaration: 'name: ...', 'answer: ...', 'metrics: ...' were expected", file=path
        )
    if isinstance(content.get("prompts"), list):
        content["prompts"] = {"": content["prompts"]}
    try:
        return _adapter().validate_python(content)
    except ValidationError as error:
        raise InputError(faults_of(error), file=path) from error


def faults_of(error: ValidationError) -> str:
    """All that is wrong with a declaration, in one sentence."""
    return "; ".join(
        f"{'.'.join(map(str, fault['loc'])) or 'declaration'}: {fault['msg'].removeprefix('Value error, ')}"
        for fault in error.errors(include_url=False)
    )


def read_yaml(path: Path) -> object:
    """Read a page of YAML that somebody else wrote: plain values only, no aliases, no tags.

    Raises:
        InputError: the file cannot be read, is too large, or is no such YAML.
    """
    try:
        if path.exists() and not path.is_file():
            raise InputError("is not a file", file=path)
        if path.stat().st_size > _LARGEST_FILE:
            raise InputError(
                f"is larger than {_LARGEST_FILE} bytes; a declaration is a page of text", file=path
            )
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_PlainLoader)  # noqa: S506 - a SafeLoader
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read ({error})", file=path) from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InputError(f"is not YAML ({' '.join(str(error).split())[:200]})", file=path) from error
