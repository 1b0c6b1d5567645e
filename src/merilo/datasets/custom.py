"""Custom datasets: a declaration in a YAML file beside the data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import yaml
from pydantic import ValidationError

from merilo.datasets.declaration import Dataset, adapter
from merilo.errors import InputError, fault_text
from merilo.strict_yaml import read_yaml

#: The fields that a declaration begins with.
_FIRST: Final = ("name", "title", "about", "fields", "placeholder", "media", "hidden", "pool_fields")


def read_declaration(path: Path) -> Dataset:
    """Read the declaration of a custom dataset.

    Args:
        path: a YAML file with the fields of `Dataset`; `prompts` is a list, or a mapping from groups to lists;
            `bare` is a text, or a mapping from groups to texts; `items.file` is relative to the file's folder.

    Raises:
        InputError: the file cannot be read, or fields are missing, unknown or wrong; one sentence names all faults.
    """
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise InputError(
            "is not a declaration: expected 'name: ...', 'answer: ...', 'metrics: ...'", file=path
        )
    for key, alone in (("prompts", list), ("bare", str)):
        if isinstance(content.get(key), alone):
            content[key] = {"": content[key]}
    if isinstance(columns := content.get("items"), dict):
        lists = {
            key: [columns[key]] for key in ("options", "gold", "meta") if isinstance(columns.get(key), str)
        }
        content["items"] = {**columns, **lists}
    try:
        declared = adapter().validate_python(content)
    except ValidationError as error:
        raise InputError(faults_of(error), file=path) from error
    if declared.items is None:
        return declared
    names = declared.items.file, declared.items.shots
    file, shots = (None if name is None else str(path.parent / name) for name in names)
    return replace(declared, items=replace(declared.items, file=file, shots=shots))


class BlockDumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks and short lists on one line."""


def _text_node(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


def _list_node(dumper: yaml.SafeDumper, values: list[object]) -> yaml.SequenceNode:
    short = all(not isinstance(value, list | dict) and "\n" not in str(value) for value in values)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=short)


BlockDumper.add_representer(str, _text_node)
BlockDumper.add_representer(list, _list_node)


def declaration_text(declared: Dataset) -> str:
    """Write a declaration as YAML; `read_declaration` reads it back. Values that are the default are left out."""
    content = adapter().dump_python(declared, mode="json", exclude_defaults=True)
    content = {key: content[key] for key in _FIRST if key in content} | content
    for key in ("prompts", "bare"):
        if (content.get(key) or {}).keys() == {""}:
            content[key] = content[key][""]
    for key in ("options", "gold"):
        if len(content.get("items", {}).get(key, ())) == 1:
            content["items"][key] = content["items"][key][0]
    return yaml.dump(content, Dumper=BlockDumper, allow_unicode=True, sort_keys=False, width=110)


def faults_of(error: ValidationError) -> str:
    """Describe all faults of a declaration in one sentence."""
    return "; ".join(
        f"{'.'.join(str(part) for part in fault['loc'] if part != '[key]') or 'declaration'}: {fault_text(fault)}"
        for fault in error.errors(include_url=False)
    )
