"""What dataset registries read in a published baseline: Croissant, the front matter of a dataset card, citations."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl
import yaml

from merilo.reports.baseline_facts import BaselineFacts
from merilo.reports.checklist import Checklist
from merilo.reports.prose import agreement, main_result, paragraphs
from merilo.reports.table import latex
from merilo.strict_json import Json, indented
from merilo.text import joined
from merilo.version import __version__

CROISSANT_FILE: Final = "croissant.json"
CITATION_FILE: Final = "CITATION.cff"
BIBTEX_FILE: Final = "citation.bib"

#: The tables of the folder: the name of a table -> its file, and the columns that identify a row.
TABLES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "responses": ("raw/responses.csv", ("item", "respondent", "sample")),
    "items": ("raw/items.csv", ("item",)),
    "consensus": ("consensus.csv", ("item",)),
    "annotators": ("annotators.csv", ("annotator",)),
}

#: The columns of tables that name a row of another table.
_REFERENCES: Final = {"responses/item": "items/item", "consensus/item": "items/item"}

#: The vocabulary of Croissant 1.0; the specification asks every file to repeat it.
_CONTEXT: Final[dict[str, Json]] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "rai": "http://mlcommons.org/croissant/RAI/",
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

#: Questions of the reporting checklist whose answers tell a property of the RAI vocabulary.
_RAI_ANSWERS: Final = {
    "annotationsPerItem": ("1.3",),
    "annotatorDemographics": ("2.1", "2.1.1", "5.1.1"),
    "personalSensitiveInformation": ("5.2", "5.2.1"),
    "machineAnnotationTools": ("5.1.4",),
}

#: The question of the checklist about the language of the items, and the codes of its answers.
_LANGUAGE_QUESTION: Final = "0.7"
_LANGUAGES: Final = {"Russian": "ru", "English": "en"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """What only the authors of a published baseline know.

    Attributes:
        authors: their names.
        licence: of the data, an identifier of SPDX such as CC-BY-4.0.
        repo: the repository on the Hugging Face hub, `owner/name`.
    """

    authors: tuple[str, ...] = ()
    licence: str | None = None
    repo: str | None = None

    @property
    def url(self) -> str | None:
        """Return the address of the repository."""
        return dataset_url(self.repo) if self.repo else None


def dataset_url(repo: str) -> str:
    """Return the address of a dataset's repository, `owner/name`, on the Hugging Face hub."""
    return f"https://huggingface.co/datasets/{repo}"


def registry_files(
    facts: BaselineFacts,
    files: Mapping[str, bytes],
    answered: Checklist,
    responses: pl.DataFrame,
    publication: Publication,
) -> dict[str, bytes]:
    """Return the files by name: Croissant, and the citation if the authors are known.

    Args:
        facts: the baseline.
        files: the contents of the folder's other files by name.
        answered: its reporting checklist.
        responses: the table of all responses, for the dates of the collection.
        publication: what the authors say of it.
    """
    days = _days(responses)
    made = {CROISSANT_FILE: _croissant(facts, files, answered, days, publication)}
    if publication.authors:
        made |= {
            CITATION_FILE: _citation(facts, days, publication),
            BIBTEX_FILE: _bibtex(facts, days, publication),
        }
    return made


def front_matter(
    facts: BaselineFacts, files: Mapping[str, bytes], answered: Checklist, publication: Publication
) -> str:
    """Return the front matter of the README, by which the hub and `datasets.load_dataset` find the tables."""
    language = _LANGUAGES.get(answered[_LANGUAGE_QUESTION].answer) if _LANGUAGE_QUESTION in answered else None
    content: dict[str, Json] = {
        "pretty_name": _title(facts),
        **({"language": [language]} if language else {}),
        **({"license": publication.licence.lower()} if publication.licence else {}),
        "tags": ["human-baseline", "benchmark"],
        "configs": [
            {"config_name": name, "data_files": file, **({"default": True} if name == "responses" else {})}
            for name, (file, _) in TABLES.items()
            if file in files
        ],
    }
    return f"---\n{yaml.safe_dump(content, allow_unicode=True, sort_keys=False)}---\n\n"


def _croissant(
    facts: BaselineFacts,
    files: Mapping[str, bytes],
    answered: Checklist,
    days: tuple[str, str] | None,
    publication: Publication,
) -> bytes:
    there = {name: place for name, place in TABLES.items() if place[0] in files}
    content: dict[str, Json | None] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"],
        "name": _title(facts),
        "description": _english(main_result(facts.record)) or None,
        "url": publication.url,
        "license": publication.licence and f"https://spdx.org/licenses/{publication.licence}.html",
        "creator": [{"@type": "sc:Person", "name": author} for author in publication.authors] or None,
        "citeAs": _bibtex(facts, days, publication).decode().strip() if publication.authors else None,
        "datePublished": days and days[1],
        "version": "1.0.0",
        "keywords": ["human baseline", "benchmark", "annotation"],
        "isLiveDataset": False,
        **{f"rai:{name}": value for name, value in _responsible(facts, answered, days)},
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
        "recordSet": [_record_set(name, *place, files) for name, place in there.items()],
    }
    return f"{indented({key: value for key, value in content.items() if value is not None})}\n".encode()


def _record_set(name: str, file: str, key: tuple[str, ...], files: Mapping[str, bytes]) -> Json:
    table = pl.read_csv(io.BytesIO(files[file]), infer_schema_length=None)
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


def _responsible(
    facts: BaselineFacts, answered: Checklist, days: tuple[str, str] | None
) -> Iterator[tuple[str, Json]]:
    """Yield the properties of the RAI vocabulary that the study tells, and their values."""
    yield "dataCollection", _english(paragraphs(facts))
    yield "dataCollectionType", "Experiments"
    if days:
        yield "dataCollectionTimeFrame", list(days)
    dropped = {reason: count for reason, count in facts.record.response_counts.dropped.items() if count}
    if dropped:
        yield (
            "dataCollectionMissingData",
            "; ".join(f"{reason}: {count}" for reason, count in dropped.items()),
        )
    yield "dataCollectionRawData", TABLES["responses"][0]
    if facts.platform:
        yield "dataAnnotationPlatform", facts.platform
    told = _english(agreement(facts))
    if told:
        yield "dataAnnotationAnalysis", told
    for name, numbers in _RAI_ANSWERS.items():
        parts = [
            f"{found.answer}: {found.detail}" if found.detail else found.answer
            for number in numbers
            if (found := answered.get(number)) is not None
        ]
        if parts:
            yield name, "; ".join(parts)
    if facts.record.findings:
        yield "dataLimitations", _english(one.sentence for one in facts.record.findings)


def _english(told: Iterable[object]) -> str:
    return joined(told, " ").in_language("en")


def _title(facts: BaselineFacts) -> str:
    return f"Human baseline: {facts.title or facts.record.dataset or 'a study'}"


def _days(responses: pl.DataFrame) -> tuple[str, str] | None:
    """Return the first and the last day of the collection; `None` if no answer has a time."""
    days = (
        pl.concat([responses["started"], responses["submitted"]]).drop_nulls().dt.to_string("%Y-%m-%d").sort()
    )
    return (days[0], days[-1]) if len(days) else None


def _citation(facts: BaselineFacts, days: tuple[str, str] | None, publication: Publication) -> bytes:
    """Return the citation in the Citation File Format 1.2.0."""
    content = {
        "cff-version": "1.2.0",
        "message": "If you use this human baseline, please cite it.",
        "type": "dataset",
        "title": _title(facts),
        "authors": [{"name": author} for author in publication.authors],
        **({"date-released": days[1]} if days else {}),
        **({"license": publication.licence} if publication.licence else {}),
        **({"url": publication.url} if publication.url else {}),
        "keywords": ["human baseline", "benchmark"],
        "references": [
            {
                "type": "software",
                "title": "Merilo: human baselines for benchmarks",
                "version": __version__,
                "authors": [{"name": "The Merilo authors"}],
            }
        ],
    }
    return yaml.safe_dump(content, allow_unicode=True, sort_keys=False).encode()


def _bibtex(facts: BaselineFacts, days: tuple[str, str] | None, publication: Publication) -> bytes:
    """Return the entry of BibTeX."""
    name = "".join(sign for sign in str(facts.record.dataset or "study") if sign.isascii() and sign.isalnum())
    rows = {
        "author": " and ".join(f"{{{latex(author)}}}" for author in publication.authors),
        "title": f"{{{latex(_title(facts))}}}",
        "year": days[1][:4] if days else None,
        "url": publication.url,
        "note": f"Made with Merilo {__version__}",
    }
    body = ",\n".join(f"  {key} = {{{value}}}" for key, value in rows.items() if value)
    return f"@misc{{human-baseline-{name},\n{body}\n}}\n".encode()
