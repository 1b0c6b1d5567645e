"""The raw state of a study: all that its baseline is computed from, as files that can be read back without loss.

`merilo baseline --out` writes them to the subfolder `raw/`, with pseudonyms for annotators, and `hb/raw/` has the same
files.

    responses.csv    every answer as read, columns as in `responses.SCHEMA`; annotators and pages have pseudonyms
    items.csv        every item as people saw it: its number and a column for each field
    gold.jsonl       the gold answers, one item a line; missing if they are not known, or withheld
    ids.jsonl        if gold is withheld: the same lines without answers, and only the fields that group items
    skills.csv       the platform's skills of annotators; missing if none were given
    ARM/             the same files of another arm of the study, such as experts
    other.csv        the annotators' answers to other datasets, as numbers; missing if none were given
    dataset.yaml     the declaration of a dataset of one's own; missing for datasets of the catalogue
    population.csv   the strata of the dataset with their numbers of items; missing if the items are not a sample
    strata.csv       the stratum of every item; missing with population.csv
    models/          the answers of models, one numbered folder each
    reading.json     what else reading found (dropped rows, lost pages), and the settings of the baseline
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from pathlib import Path, PurePath
from typing import Any, Final

import polars as pl

from merilo.atomic_write import guarded, unguarded
from merilo.baselines.model_answers import model_file_name
from merilo.baselines.population import Population
from merilo.baselines.provenance import Provenance
from merilo.baselines.row import Margin
from merilo.baselines.study_input import ArmInput, StudyInput
from merilo.datasets import CATALOGUE, Dataset
from merilo.datasets.custom import declaration_text, read_declaration
from merilo.errors import InputError, UsageError
from merilo.file_reading import Reading
from merilo.items import Item
from merilo.participation import Participation
from merilo.people import pseudonyms
from merilo.people.gold import Gold
from merilo.people.other_datasets import OtherAnswers
from merilo.records import Object, Record
from merilo.responses import SCHEMA, SIGNALS, Responses, Unread
from merilo.settings import Settings
from merilo.strict_json import Json, indented, json_lines

#: The subfolder of a baseline's folder, and of `hb/`, that holds these files.
RAW: Final = "raw"

#: The gold answers; and, if they are withheld, the ids of the items and the fields that group them.
GOLD_FILE: Final = "gold.jsonl"
IDS_FILE: Final = "ids.jsonl"

#: The annotators' answers to other datasets.
OTHER_FILE: Final = "other.csv"

#: The number of the files' format; a reader refuses others.
FORMAT: Final = 1


_OTHER: Final = {"dataset": pl.Int64(), "item": pl.Int64(), "annotator": pl.String(), "answer": pl.Int64()}

#: How times are written, to the millisecond, and read.
_WRITTEN_TIME: Final = "%Y-%m-%dT%H:%M:%S%.3f"
_TIME: Final = "%Y-%m-%dT%H:%M:%S%.f"


class _GoldReading(Record):
    """What is known about the gold answers beside the lines of their file."""

    source: str
    column: str | None
    without_gold: tuple[int, ...]
    unused: tuple[int, ...]
    unsolved: tuple[int, ...]
    withheld: bool
    fields: tuple[str, ...] | None


class _GoldLine(Record):
    """One line of the gold answers: the pool's number, the answer, the id, the other fields, the whole item."""

    item: int
    gold: str | None = None
    id: str | int | None = None
    fields: Object | None = None
    asked: _AskedItem | None = None


class _AskedItem(Record):
    """An item's fields as they are; `entry_of` would add the id to `meta`."""

    id: int | str
    instruction: str | int
    inputs: str | Object
    outputs: Any = None
    meta: Object


class _PopulationReading(Record):
    """Where the sizes of the strata come from, and the fields that define them."""

    source: str
    fields: tuple[str, ...]


class _Reading(Record):
    """The content of `reading.json`."""

    format: int
    rows_read: int
    dropped: dict[str, int]
    currency: str | None
    answer_field: str | None
    platform: str | None
    renamed: dict[str, str] | None
    unread: tuple[Unread, ...]
    reading: Reading | None = None
    lost_pages: tuple[tuple[float | None, float | None], ...] | None
    participation: Participation | None = None
    scored: bool
    gold: _GoldReading | None
    dataset: str | None
    common_items: bool
    margin: Margin | None
    population: _PopulationReading | None
    arms: tuple[str, ...] = ()
    other: tuple[str, ...] = ()
    settings: Object
    provenance: Provenance | None


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
        arm: the name of the arm whose answers these are; `None` if the study has no arms.
        arms: the other arms by name.
        other: the annotators' answers to other datasets; `None` if none were given.
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
    arm: str | None = None
    arms: Mapping[str, RawStudy] = field(default_factory=dict)
    other: OtherAnswers | None = None

    @property
    def study(self) -> StudyInput:
        """Return everything that the baseline is computed from, beside its settings."""
        return StudyInput(
            responses=self.responses,
            dataset=self.dataset,
            gold=self.gold,
            skills=self.skills,
            population=self.population,
            arm=self.arm,
            arms={name: ArmInput(one.study, one.settings) for name, one in self.arms.items()},
            other=self.other,
            models=self.models,
            common_items=self.common_items,
            margin=self.margin,
            provenance=self.provenance,
        )

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
        names = pseudonyms.names_of(self.responses, secret) if self.other else {}
        return replace(
            self,
            responses=responses,
            skills=skills,
            other=self.other.renamed(names) if self.other else None,
            gold=replace(self.gold, source=Path(self.gold.source).name) if self.gold else None,
        )

    def to_files(self) -> dict[str, bytes]:
        """Return the files by their names below the folder `raw`."""
        responses = self.responses
        files = {
            "responses.csv": _csv(responses.table),
            "items.csv": _csv(responses.items),
            "reading.json": f"{indented(self._reading().to_json())}\n".encode(),
        }
        if self.gold:
            files[IDS_FILE if self.gold.withheld else GOLD_FILE] = _gold_lines(self.gold)
        if self.skills is not None:
            files["skills.csv"] = _csv(self.skills)
        for number, (name, arm) in enumerate(self.arms.items(), start=1):
            files |= {f"{arm_folder(name, number)}/{file}": data for file, data in arm.to_files().items()}
        if self.other:
            files[OTHER_FILE] = _csv(self.other.table)
        if self.dataset and not _is_bundled(self.dataset):
            files["dataset.yaml"] = _declaration(self.dataset)
        if self.population:
            files |= _population_files(self.population)
        for number, path in enumerate(self.models, start=1):
            files[f"models/{number}/{model_file_name(path)}"] = path.read_bytes()
        return files

    def _reading(self) -> _Reading:
        responses, gold, dataset, population = self.responses, self.gold, self.dataset, self.population
        more: dict[str, Any] = {"participation": responses.participation} if responses.participation else {}
        if self.arms:
            more["arms"] = (self.arm, *self.arms)
        if self.other:
            more["other"] = tuple(PurePath(one).name for one in self.other.sources)
        return _Reading(
            format=FORMAT,
            rows_read=responses.rows_read,
            dropped=responses.dropped,
            currency=responses.currency,
            answer_field=responses.answer_field,
            platform=self.platform,
            renamed=responses.renamed,
            scored=responses.scored,
            unread=responses.unread,
            reading=responses.reading,
            lost_pages=None if responses.lost_pages is None else tuple(responses.lost_pages.iter_rows()),
            **more,
            gold=_GoldReading(
                source=gold.source,
                column=gold.column,
                without_gold=gold.without_gold,
                unused=gold.unused,
                unsolved=gold.unsolved,
                withheld=gold.withheld,
                fields=None if gold.fields is None else tuple(gold.fields.drop("item").columns),
            )
            if gold
            else None,
            dataset=None if dataset is None else dataset.name if _is_bundled(dataset) else "dataset.yaml",
            common_items=self.common_items,
            margin=self.margin,
            population=_PopulationReading(source=PurePath(population.source).name, fields=())
            if population
            else None,
            settings=self.keywords,
            provenance=self.provenance,
        )


def published_study(study: StudyInput, settings: Settings) -> RawStudy:
    """Return the raw state of a study with pseudonyms for annotators and files named without folders."""
    origin, record = study.origin, study.provenance
    raw = RawStudy(
        study.responses,
        settings,
        record.without_folders() if record else None,
        study.gold,
        study.skills,
        study.dataset,
        study.models,
        study.common_items,
        platform=origin.recognised if origin else None,
        population=study.population,
        margin=study.margin,
        arm=study.arm,
        arms={name: published_study(*one) for name, one in study.arms.items()},
        other=study.other,
    )
    return raw if study.pseudonymous else raw.pseudonymised(origin.key if origin else None)


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
    """Write the gold answers as JSON Lines."""
    others: dict[int, dict[str, Json]] = {}
    if gold.fields is not None:
        others = {row.pop("item"): row for row in gold.fields.to_dicts()}
    lines = []
    for number, text, identity in gold.answers.select("item", "gold", "id").iter_rows():
        item = gold.items.get(number)
        asked = _AskedItem.model_validate(asdict(item)) if item else None
        line = _GoldLine(item=number, gold=text, id=identity, fields=others.get(number), asked=asked)
        lines.append(json.dumps(line.to_json(), ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines).encode()


def _declaration(dataset: Dataset) -> bytes:
    # The columns of the author's file are not needed: the items and gold answers are in this folder.
    return declaration_text(replace(dataset, items=None)).encode()


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
    reading = _Reading.read(path)
    if reading.format != FORMAT:
        raise InputError(
            f"has the format {reading.format}; this version of Merilo reads {FORMAT}",
            file=path,
            field="format",
        )
    dataset = None
    if reading.dataset is not None:
        dataset = CATALOGUE.get(reading.dataset) or read_declaration(place / "dataset.yaml")
    items, lost = _items(place / "items.csv"), reading.lost_pages
    schema = {"page_reward": pl.Float64(), "page_seconds": pl.Float64()}
    responses = Responses(
        table=_responses(place / "responses.csv", items),
        items=items,
        rows_read=reading.rows_read,
        dropped=reading.dropped,
        currency=reading.currency,
        answer_field=reading.answer_field,
        renamed=reading.renamed,
        unread=reading.unread,
        lost_pages=None if lost is None else pl.DataFrame(lost, schema=schema, orient="row"),
        scored=reading.scored,
        reading=reading.reading,
        participation=reading.participation,
    )
    skills = place / "skills.csv"
    return RawStudy(
        responses,
        settings=_settings(reading.settings, path),
        provenance=reading.provenance,
        gold=_gold(place, reading.gold) if reading.gold else None,
        skills=_typed(skills, {"annotator": pl.String(), "skill": pl.Float64()})
        if skills.is_file()
        else None,
        dataset=dataset,
        models=tuple(sorted(place.glob("models/*/*"), key=lambda one: (len(one.parent.name), str(one)))),
        common_items=reading.common_items,
        platform=reading.platform,
        population=_population(place, reading.population) if reading.population else None,
        margin=reading.margin,
        arm=reading.arms[0] if reading.arms else None,
        arms={
            name: read_raw(place / arm_folder(name, number))
            for number, name in enumerate(reading.arms[1:], start=1)
        },
        other=OtherAnswers(reading.other, _typed(place / OTHER_FILE, _OTHER)) if reading.other else None,
    )


def arm_folder(name: str, number: int) -> str:
    """Return the name of an arm's folder: that of the arm, or its number if another folder or file may bear it."""
    plain = re.fullmatch(r"[^\W_][\w-]*", name) and name != "models"
    return name if plain else f"arm-{number}"


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
    with_signals = SIGNALS in _texts(path).columns
    table = _typed(path, {**SCHEMA, SIGNALS: pl.String()} if with_signals else SCHEMA)
    for name in ("item", "respondent", "answer", "is_control", "file", "row"):
        if (empty := table[name].is_null().arg_true()).len():
            raise InputError("must not be empty", file=path, row=empty[0] + 2, field=name)
    if (strange := (~table["item"].is_in(items["item"].implode())).arg_true()).len():
        number = table["item"][strange[0]]
        raise InputError(
            f"there is no item {number} in items.csv", file=path, row=strange[0] + 2, field="item"
        )
    return table


def _settings(found: Mapping[str, Json], path: Path) -> Settings:
    """Check the names and types of the settings."""
    damaged = InputError("is not as Merilo writes it", file=path, field="settings")
    if set(found) != set(Settings().parameters()):
        raise damaged
    try:
        return Settings.of(found)
    except UsageError as error:
        raise damaged from error


def _population(place: Path, reading: _PopulationReading) -> Population:
    sizes = _typed(place / "population.csv", {"stratum": pl.String(), "items": pl.Int64()})
    of = _typed(place / "strata.csv", {"item": pl.Int64(), "stratum": pl.String()})
    return Population(reading.source, dict(sizes.iter_rows()), dict(of.iter_rows()))


def _gold(place: Path, reading: _GoldReading) -> Gold:
    """Read the gold answers; `item` and, unless they are withheld, `gold` of every line are required."""
    path = place / (IDS_FILE if reading.withheld else GOLD_FILE)
    lines = []
    for row, content in json_lines(path):
        try:
            lines.append(_GoldLine.of_json(content))
        except InputError as error:
            raise InputError(error.message, file=path, row=row, field=error.place.field) from error
        if lines[-1].gold is None and not reading.withheld:
            raise InputError("needs item (a number) and gold (a text)", file=path, row=row)
    answers = [
        (one.item, None if reading.withheld else one.gold, None if one.id is None else str(one.id))
        for one in lines
    ]
    fields = None
    if reading.fields is not None:
        schema = {"item": pl.UInt32(), **dict.fromkeys(reading.fields, pl.String())}
        fields = pl.DataFrame(
            [{"item": one.item, **one.fields} for one in lines if one.fields is not None], schema=schema
        )
    return Gold(
        pl.DataFrame(
            answers, schema={"item": pl.UInt32(), "gold": pl.String(), "id": pl.String()}, orient="row"
        ),
        source=reading.source,
        without_gold=reading.without_gold,
        unused=reading.unused,
        fields=fields,
        items={one.item: Item(**dict(one.asked)) for one in lines if one.asked},
        column=reading.column,
        unsolved=reading.unsolved,
        withheld=reading.withheld,
    )
