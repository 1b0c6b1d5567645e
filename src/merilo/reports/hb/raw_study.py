"""The raw state of a study: all that its baseline is computed from, as files that can be read back without loss.

`merilo baseline --out` writes them to the subfolder `raw/`, with pseudonyms for annotators, and `hb/raw/` has the same
files.

    responses.csv    every answer as read, columns as in `responses.SCHEMA`; annotators and pages have pseudonyms
    items.csv        every item as people saw it: its number and a column for each field
    gold.jsonl       the gold answers, one item a line; missing if they are not known, or withheld
    ids.jsonl        if gold is withheld: the same lines without answers, and only the fields that group items
    skills.csv       the platform's skills of annotators; missing if none were given
    dataset.yaml     the declaration of a dataset of one's own; missing for datasets of the catalogue
    population.csv   the strata of the dataset with their numbers of items; missing if the items are not a sample
    strata.csv       the stratum of every item; missing with population.csv
    models/          the answers of models, one numbered folder each
    reading.json     what else reading found (dropped rows, lost pages), and the settings of the baseline
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path, PurePath
from typing import Final

import polars as pl
import yaml

from merilo.atomic_write import guarded
from merilo.baselines.model_answers import model_file_name
from merilo.baselines.model_verdicts import Margin
from merilo.baselines.population import Population
from merilo.baselines.provenance import Provenance
from merilo.datasets import CATALOGUE, Dataset
from merilo.items import Item
from merilo.people import pseudonyms
from merilo.people.gold import Gold
from merilo.responses import Responses
from merilo.settings import Settings
from merilo.strict_json import Json, indented

#: The subfolder of a baseline's folder, and of `hb/`, that holds these files.
RAW: Final = "raw"

#: The gold answers; and, if they are withheld, the ids of the items and the fields that group them.
GOLD_FILE: Final = "gold.jsonl"
IDS_FILE: Final = "ids.jsonl"

#: The number of the files' format; a reader refuses others.
FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class RawStudy:
    """Everything that a baseline is computed from.

    Attributes:
        responses: the responses as read.
        settings: the settings of the baseline.
        provenance: how the baseline was first computed; `None` if it is not recorded.
        gold: the gold answers; `None` if they are not known.
        skills: the platform's skills, columns `annotator` and `skill`; `None` if none were given.
        dataset: the dataset's declaration; `None` if the study names none.
        models: the files of models' answers.
        common_items: whether models are compared on the items that both sides answered.
        platform: the code of the platform that wrote the files; `None` if it is not known.
        population: the whole dataset in strata; `None` if the items are not a sample of it.
        margin: the margin for equivalence with models; `None` if there is none.
    """

    responses: Responses
    settings: Settings
    provenance: Provenance | None = None
    gold: Gold | None = None
    skills: pl.DataFrame | None = None
    dataset: Dataset | None = None
    models: tuple[Path, ...] = ()
    common_items: bool = False
    platform: str | None = None
    population: Population | None = None
    margin: Margin | None = None

    @property
    def keywords(self) -> dict[str, Json]:
        """Return the settings as keyword arguments of `merilo.baseline`."""
        return self.settings.parameters()

    def pseudonymised(self, key: bytes | None = None) -> RawStudy:
        """Replace annotators' ids, pages and folders of files; see `pseudonyms.anonymise`.

        Args:
            key: the study's secret; by default, a digest of the responses themselves.
        """
        secret = key or blake2b(self.responses.table.write_csv().encode(), person=b"merilo key").digest()
        responses, skills = pseudonyms.anonymise(self.responses, self.skills, secret)
        return replace(
            self,
            responses=responses,
            skills=skills,
            gold=pseudonyms.gold_without_folders(self.gold) if self.gold else None,
        )

    def to_files(self) -> dict[str, bytes]:
        """Return the files by their names below the folder `raw`."""
        responses = self.responses
        files = {
            "responses.csv": _csv(responses.table),
            "items.csv": _csv(responses.items),
            "reading.json": f"{indented(self._reading())}\n".encode(),
        }
        if self.gold:
            files[IDS_FILE if self.gold.withheld else GOLD_FILE] = _gold_lines(self.gold)
        if self.skills is not None:
            files["skills.csv"] = _csv(self.skills)
        if self.dataset and not _is_bundled(self.dataset):
            files["dataset.yaml"] = _declaration(self.dataset)
        if self.population:
            files |= _population_files(self.population)
        for number, path in enumerate(self.models, start=1):
            files[f"models/{number}/{model_file_name(path)}"] = path.read_bytes()
        return files

    def _reading(self) -> dict[str, Json]:
        responses, gold, dataset = self.responses, self.gold, self.dataset
        lost = responses.lost_pages
        return {
            "format": FORMAT,
            "rows_read": responses.rows_read,
            "dropped": {**responses.dropped},
            "currency": responses.currency,
            "answer_field": responses.answer_field,
            "platform": self.platform,
            "renamed": None if responses.renamed is None else {**responses.renamed},
            "absent": [*responses.absent],
            "unread": [asdict(one) for one in responses.unread],
            "recoded": [asdict(one) for one in responses.recoded],
            "lost_pages": None if lost is None else [list(row) for row in lost.iter_rows()],
            "gold": None
            if gold is None
            else {
                "source": gold.source,
                "column": gold.column,
                "without_gold": [*gold.without_gold],
                "unused": [*gold.unused],
                "unsolved": [*gold.unsolved],
                "withheld": gold.withheld,
                "warnings": [{"en": one.en, "ru": one.ru} for one in gold.warnings],
                "fields": None
                if gold.fields is None
                else [name for name in gold.fields.columns if name != "item"],
            },
            "dataset": None if dataset is None else dataset.name if _is_bundled(dataset) else "dataset.yaml",
            "common_items": self.common_items,
            "margin": None
            if self.margin is None
            else {"value": self.margin.value, "planned": self.margin.planned},
            "population": None
            if self.population is None
            else {"source": PurePath(self.population.source).name, "fields": [*self.population.fields]},
            "settings": {**self.keywords},
            "provenance": self.provenance.to_json() if self.provenance else None,
        }


def without_folders(provenance: Provenance) -> Provenance:
    """Return the provenance with every path named without its folder: those of inputs, and of a dataset's declaration.

    The command may be a call of the library; paths are replaced in both kinds of text.
    """
    paths = [str(one["file"]) for one in provenance.inputs]
    if isinstance(declared := provenance.parameters.get("dataset"), str):
        paths.append(declared)
    names = {path: PurePath(path).name for path in sorted(paths, key=len, reverse=True)}
    command = provenance.command
    for path, name in names.items():
        command = command.replace(path, name)

    def named(value: Json) -> Json:
        if isinstance(value, list):
            return [named(one) for one in value]
        return names.get(value, value) if isinstance(value, str) else value

    return replace(
        provenance,
        command=command,
        inputs=tuple({**one, "file": names[str(one["file"])]} for one in provenance.inputs),
        parameters={name: named(value) for name, value in provenance.parameters.items()},
    )


def _is_bundled(dataset: Dataset) -> bool:
    return CATALOGUE.get(dataset.name) == dataset


def _population_files(population: Population) -> dict[str, bytes]:
    sizes = pl.DataFrame(
        list(population.sizes.items()), schema={"stratum": pl.String, "items": pl.Int64}, orient="row"
    )
    of = pl.DataFrame(
        list(population.of.items()), schema={"item": pl.Int64, "stratum": pl.String}, orient="row"
    )
    return {"population.csv": _csv(sizes), "strata.csv": _csv(of)}


def _csv(table: pl.DataFrame) -> bytes:
    """Write a table so that it can be read back exactly: an empty field is null, and `""` is an empty text."""
    times = [name for name, kind in table.schema.items() if isinstance(kind, pl.Datetime)]
    plain = table.with_columns(pl.col(times).dt.strftime("%Y-%m-%dT%H:%M:%S%.3f"))
    return guarded(plain).write_csv().encode()


def _gold_lines(gold: Gold) -> bytes:
    """Write the gold answers as JSON Lines: the pool's number, the answer, the id, the other fields, the whole item."""
    others: dict[int, dict[str, Json]] = {}
    if gold.fields is not None:
        others = {row.pop("item"): row for row in gold.fields.to_dicts()}
    lines = []
    for number, text, identity in gold.answers.select("item", "gold", "id").iter_rows():
        item = gold.items.get(number)
        line: dict[str, Json] = {
            "item": number,
            "gold": text,
            "id": identity,
            "fields": others.get(number),
            "asked": None if item is None else _asked(item),
        }
        lines.append(json.dumps(line, ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines).encode()


def _asked(item: Item) -> dict[str, Json]:
    """Return an item's fields as they are; `entry_of` would add the id to `meta`."""
    return {
        "id": item.id,
        "instruction": item.instruction,
        "inputs": item.inputs if isinstance(item.inputs, str) else {**item.inputs},
        "outputs": item.outputs,
        "meta": {**item.meta},
    }


def _declaration(dataset: Dataset) -> bytes:
    from pydantic import TypeAdapter  # noqa: PLC0415 - needed only for datasets of one's own

    content = TypeAdapter(Dataset).dump_python(dataset, mode="json")
    return yaml.safe_dump(content, allow_unicode=True, sort_keys=False).encode()
