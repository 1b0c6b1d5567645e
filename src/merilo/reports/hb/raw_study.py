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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path, PurePath
from typing import Final, TypeVar, cast

import polars as pl
import yaml

from merilo.atomic_write import guarded, unguarded
from merilo.baselines.declared import settings_for
from merilo.baselines.model_answers import model_file_name
from merilo.baselines.model_verdicts import Margin
from merilo.baselines.population import Population
from merilo.baselines.provenance import Provenance
from merilo.datasets import CATALOGUE, Dataset
from merilo.datasets.custom import read_declaration
from merilo.errors import InputError, UsageError
from merilo.items import Item
from merilo.people import pseudonyms
from merilo.people.gold import Gold
from merilo.responses import SCHEMA, Recoded, Responses, Unread
from merilo.settings import Settings
from merilo.strict_json import Json, indented, json_lines, read_json
from merilo.text import Given

#: The subfolder of a baseline's folder, and of `hb/`, that holds these files.
RAW: Final = "raw"

#: The gold answers; and, if they are withheld, the ids of the items and the fields that group them.
GOLD_FILE: Final = "gold.jsonl"
IDS_FILE: Final = "ids.jsonl"

#: The number of the files' format; a reader refuses others.
FORMAT: Final = 1


#: How times are written, to the millisecond, and read.
_WRITTEN_TIME: Final = "%Y-%m-%dT%H:%M:%S%.3f"
_TIME: Final = "%Y-%m-%dT%H:%M:%S%.f"

T = TypeVar("T")


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
            gold=self.gold.named(Path(self.gold.source).name) if self.gold else None,
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
    plain = table.with_columns(pl.col(times).dt.strftime(_WRITTEN_TIME))
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


def read_raw(folder: str | Path) -> RawStudy:
    """Read everything that a baseline is computed from: responses, gold answers, skills, dataset and settings.

    Args:
        folder: the subfolder `raw` of `hb/`, or of a folder that `merilo baseline --out` wrote.

    Returns:
        The raw state of the study; its attributes are arguments of `merilo.baseline`.

    Raises:
        InputError: a file is missing or damaged.
    """
    place = Path(folder)
    path = place / "reading.json"
    if not path.is_file():
        raise InputError("has no raw answers of a baseline: reading.json is missing", file=place)
    reading = _Reading(path)
    if (number := reading.value("format")) != FORMAT:
        raise InputError(
            f"has the format {number}; this version of Merilo reads {FORMAT}", file=path, field="format"
        )
    dataset = _dataset(place, reading)
    items = _items(place / "items.csv")
    responses = Responses(
        table=_responses(place / "responses.csv", items),
        items=items,
        rows_read=reading.number("rows_read"),
        dropped=reading.made("dropped", lambda found: {str(name): int(n) for name, n in found.items()}),
        currency=reading.text("currency"),
        answer_field=reading.text("answer_field"),
        renamed=reading.made("renamed", lambda found: None if found is None else {**found}),
        unread=reading.made("unread", lambda found: tuple(Unread(**one) for one in found)),
        lost_pages=reading.made("lost_pages", _lost_pages),
        absent=reading.made("absent", tuple),
        recoded=reading.made("recoded", lambda found: tuple(Recoded(**one) for one in found)),
    )
    return RawStudy(
        responses,
        settings=reading.made("settings", lambda found: _settings(found, dataset)),
        provenance=reading.made("provenance", _provenance),
        gold=_gold(place, reading),
        skills=_skills(place / "skills.csv"),
        dataset=dataset,
        models=tuple(sorted(place.glob("models/*/*"), key=lambda one: (len(one.parent.name), str(one)))),
        common_items=reading.value("common_items") is True,
        # Earlier versions did not record the platform.
        platform=reading.text("platform") if "platform" in reading.content else None,
        population=_population(place, reading),
        margin=reading.made("margin", _margin) if "margin" in reading.content else None,
    )


class _Reading:
    """The content of `reading.json`; a wrong value becomes an `InputError` that names its key."""

    def __init__(self, path: Path) -> None:
        content = read_json(path)
        if not isinstance(content, dict):
            raise InputError("is not an object", file=path)
        self.path, self.content = path, content

    def value(self, key: str) -> Json:
        if key not in self.content:
            raise InputError("is missing", file=self.path, field=key)
        return self.content[key]

    def made(self, key: str, make: Callable[..., T]) -> T:
        value = self.value(key)
        try:
            return make(value)
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise InputError("is not as Merilo writes it", file=self.path, field=key) from error

    def number(self, key: str) -> int:
        value = self.value(key)
        if not isinstance(value, int) or isinstance(value, bool):
            raise InputError("must be a whole number", file=self.path, field=key)
        return value

    def text(self, key: str) -> str | None:
        value = self.value(key)
        if value is not None and not isinstance(value, str):
            raise InputError("must be a text", file=self.path, field=key)
        return value


def _texts(path: Path) -> pl.DataFrame:
    """Read a CSV file as text columns, the inverse of `_csv`; row `i` of the table is row `i + 2` of the file."""
    try:
        table = pl.read_csv(path.read_bytes(), infer_schema=False)
    except FileNotFoundError as error:
        raise InputError("there is no such file", file=path) from error
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=path) from error
    except pl.exceptions.PolarsError as error:
        reason = str(error).partition("\n")[0][:200]
        raise InputError(f"is not a table as Merilo writes it ({reason})", file=path) from error
    return unguarded(table)


def _typed(path: Path, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Read a CSV file with the columns of a schema."""
    table = _texts(path)
    if table.columns != list(schema):
        raise InputError(f"must have the columns {', '.join(schema)}", file=path, row=1)
    for name, kind in schema.items():
        made = _converted(table[name], kind)
        if (wrong := (made.is_null() & table[name].is_not_null()).arg_true()).len():
            raise InputError(
                f"'{table[name][wrong[0]][:60]}' is not a value of this column",
                file=path,
                row=wrong[0] + 2,
                field=name,
            )
        table = table.with_columns(made)
    return table


def _converted(column: pl.Series, kind: pl.DataType) -> pl.Series:
    if isinstance(kind, pl.Datetime):
        return column.str.to_datetime(_TIME, time_unit="ms", strict=False)
    if isinstance(kind, pl.Boolean):
        return column.replace_strict({"true": True, "false": False}, default=None, return_dtype=pl.Boolean)
    return column.cast(kind, strict=False)


def _items(path: Path) -> pl.DataFrame:
    table = _texts(path)
    table = table.rename({name: name[1:] for name in table.columns if name.startswith("'")})
    if "item" not in table.columns:
        raise InputError("must have the column item", file=path, row=1)
    numbers = table["item"].cast(pl.UInt32, strict=False)
    if numbers.null_count() or numbers.n_unique() < numbers.len():
        raise InputError("must be whole numbers, each once", file=path, field="item")
    return table.with_columns(numbers)


def _responses(path: Path, items: pl.DataFrame) -> pl.DataFrame:
    table = _typed(path, SCHEMA)
    for name in ("item", "respondent", "answer", "is_control", "file", "row"):
        if (empty := table[name].is_null().arg_true()).len():
            raise InputError("must not be empty", file=path, row=empty[0] + 2, field=name)
    if (strange := (~table["item"].is_in(items["item"].implode())).arg_true()).len():
        number = table["item"][strange[0]]
        raise InputError(
            f"there is no item {number} in items.csv", file=path, row=strange[0] + 2, field="item"
        )
    return table


def _lost_pages(rows: Sequence[Sequence[float | None]] | None) -> pl.DataFrame | None:
    if rows is None:
        return None
    schema = {"page_reward": pl.Float64(), "page_seconds": pl.Float64()}
    return pl.DataFrame([tuple(row) for row in rows], schema=schema, orient="row")


def _settings(found: Mapping[str, Json], dataset: Dataset | None) -> Settings:
    """Check the names and types of the settings, and add those that follow from the dataset."""
    # Earlier versions had no adaptive overlap, and no choice of items for human_benchmark.
    found = {"adaptive": None, "human_benchmark": "all", **found}
    if set(found) != set(Settings().parameters()):
        raise ValueError(found)
    try:
        return settings_for(dataset, Settings.of(found))
    except UsageError as error:
        raise ValueError(found) from error


def _provenance(found: Mapping[str, Json] | None) -> Provenance | None:
    if found is None:
        return None
    return Provenance(
        command=str(found["command"]),
        inputs=tuple(cast("list[dict[str, Json]]", found["inputs"])),
        parameters=cast("dict[str, Json]", found["parameters"]),
        versions=cast("dict[str, str]", found["versions"]),
    )


def _skills(path: Path) -> pl.DataFrame | None:
    return _typed(path, {"annotator": pl.String(), "skill": pl.Float64()}) if path.is_file() else None


def _dataset(folder: Path, reading: _Reading) -> Dataset | None:
    name = reading.text("dataset")
    if name is None:
        return None
    if name in CATALOGUE:
        return CATALOGUE[name]
    return read_declaration(folder / "dataset.yaml")


def _margin(said: Mapping[str, Json] | None) -> Margin | None:
    if said is None:
        return None
    planned = said["planned"]
    return Margin(float(cast("float", said["value"])), None if planned is None else str(planned))


def _population(place: Path, reading: _Reading) -> Population | None:
    """Read the dataset in strata; earlier versions did not record it."""
    if reading.content.get("population") is None:
        return None
    sizes = _typed(place / "population.csv", {"stratum": pl.String(), "items": pl.Int64()})
    of = _typed(place / "strata.csv", {"item": pl.Int64(), "stratum": pl.String()})
    return reading.made(
        "population",
        lambda said: Population(
            str(said["source"]),
            tuple(map(str, said["fields"])),
            {str(name): int(n) for name, n in sizes.iter_rows()},
            {int(item): str(name) for item, name in of.iter_rows()},
        ),
    )


def _gold(place: Path, reading: _Reading) -> Gold | None:
    """Read the gold answers; `item` and, unless they are withheld, `gold` of every line are required."""
    told = reading.value("gold")
    if told is None:
        return None
    # Earlier versions withheld nothing.
    withheld = isinstance(told, dict) and told.get("withheld") is True
    path = place / (IDS_FILE if withheld else GOLD_FILE)
    answers: list[tuple[int, str | None, str | None]] = []
    others: list[dict[str, Json]] = []
    asked: dict[int, Item] = {}
    for row, line in json_lines(path):
        if not isinstance(line, dict):
            raise InputError("is not an object", file=path, row=row)
        number, text, identity = line.get("item"), line.get("gold"), line.get("id")
        text = None if withheld else text
        if not isinstance(number, int) or not (withheld or isinstance(text, str)):
            raise InputError("needs item (a number) and gold (a text)", file=path, row=row)
        answers.append((number, cast("str | None", text), None if identity is None else str(identity)))
        if isinstance(fields_of := line.get("fields"), dict):
            others.append({"item": number, **fields_of})
        entry = line.get("asked")
        if isinstance(entry, dict):
            asked[number] = _item_as_asked(entry, path, row)
    schema = {"item": pl.UInt32(), "gold": pl.String(), "id": pl.String()}
    return reading.made(
        "gold",
        lambda said: Gold(
            pl.DataFrame(answers, schema=schema, orient="row"),
            source=said["source"],
            without_gold=tuple(said["without_gold"]),
            unused=tuple(said["unused"]),
            warnings=tuple(Given(one) for one in said["warnings"]),
            fields=None
            if said["fields"] is None
            else pl.DataFrame(
                others, schema={"item": pl.UInt32(), **dict.fromkeys(said["fields"], pl.String())}
            ),
            items=asked,
            column=said["column"],
            unsolved=tuple(said["unsolved"]),
            withheld=withheld,
        ),
    )


def _item_as_asked(entry: dict[str, Json], path: Path, row: int) -> Item:
    """Read one item; its id need not be the one in `meta`."""
    identity, instruction, inputs, meta = (entry.get(key) for key in ("id", "instruction", "inputs", "meta"))
    if not isinstance(identity, int | str) or not isinstance(instruction, str | int):
        raise InputError("must have an id and an instruction", file=path, row=row, field="asked")
    if not isinstance(inputs, str | dict) or not isinstance(meta, dict):
        raise InputError("must have inputs and meta", file=path, row=row, field="asked")
    return Item(identity, instruction, inputs, entry.get("outputs"), meta)
