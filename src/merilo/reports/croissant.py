"""The tables of a published folder for registries: Croissant, and the front matter of the hub's dataset card."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from typing import Final

import polars as pl
import yaml

from merilo.strict_json import Json, indented

CROISSANT_FILE: Final = "croissant.json"

#: The tables of the folder: the name of a table -> its file, and the columns that identify a row.
TABLES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "responses": ("raw/responses.csv", ("item", "respondent", "sample")),
    "items": ("raw/items.csv", ("item",)),
    "consensus": ("consensus.csv", ("item",)),
    "annotators": ("annotators.csv", ("annotator",)),
}

#: The columns of tables that name a row of another table.
_REFERENCES: Final = {"responses/item": "items/item", "consensus/item": "items/item"}

#: The vocabulary of Croissant; the specification asks every file to repeat it.
_CONTEXT: Final[dict[str, Json]] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "sc": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{
        term: f"cr:{term}"
        for term in (
            "citeAs", "column", "equivalentProperty", "extract", "field", "fileObject", "fileProperty", "fileSet",
            "format", "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet",
            "references", "regex", "repeated", "replace", "samplingRate", "separator", "source", "subField",
            "transform",
        )
    },
}  # fmt: skip


def front_matter(title: str, files: Mapping[str, bytes]) -> str:
    """Return the front matter of the README, by which the hub and `datasets.load_dataset` find the tables."""
    content: dict[str, Json] = {
        "pretty_name": title,
        "tags": ["human-baseline", "benchmark"],
        "configs": [
            {"config_name": name, "data_files": file, **({"default": True} if name == "responses" else {})}
            for name, (file, _) in TABLES.items()
            if file in files
        ],
    }
    return f"---\n{yaml.safe_dump(content, allow_unicode=True, sort_keys=False)}---\n\n"


def croissant(title: str, description: str, files: Mapping[str, bytes]) -> bytes:
    """Describe the tables of a folder.

    Args:
        title: the name of the baseline.
        description: its main result in a sentence.
        files: the contents of the folder's files by name.
    """
    there = {name: place for name, place in TABLES.items() if place[0] in files}
    content: dict[str, Json] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": title,
        "description": description,
        "version": "1.0.0",
        "keywords": ["human baseline", "benchmark", "annotation"],
        "isLiveDataset": False,
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": file,
                "name": file,
                "contentUrl": file,
                "encodingFormat": "text/csv",
                "contentSize": f"{len(files[file])} B",
                "sha256": hashlib.sha256(files[file]).hexdigest(),
            }
            for file, _ in there.values()
        ],
        "recordSet": [_record_set(name, file, key, files[file]) for name, (file, key) in there.items()],
    }
    return f"{indented(content)}\n".encode()


def _record_set(name: str, file: str, key: tuple[str, ...], data: bytes) -> Json:
    table = pl.read_csv(io.BytesIO(data), infer_schema_length=None)
    fields: list[Json] = []
    for column in table.iter_columns():
        own = f"{name}/{column.name}"
        refers = _REFERENCES.get(own)
        fields.append(
            {
                "@type": "cr:Field",
                "@id": own,
                "name": column.name,
                "dataType": _data_type(column),
                "source": {"fileObject": {"@id": file}, "extract": {"column": column.name}},
                **({"references": {"field": {"@id": refers}}} if refers else {}),
            }
        )
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "key": [{"@id": f"{name}/{column}"} for column in key if column in table.columns],
        "field": fields,
    }


def _data_type(column: pl.Series) -> str:
    """Return the type of a column; whole numbers and truth values with gaps are given as numbers and texts."""
    if column.dtype.is_integer() and not column.null_count():
        return "sc:Integer"
    if column.dtype.is_numeric():
        return "sc:Float"
    return "sc:Boolean" if column.dtype == pl.Boolean and not column.null_count() else "sc:Text"
