"""The subfolder `raw/` of a published folder: everything that a baseline is computed from, readable without loss.

    responses.csv    every answer as read, columns as in `responses.SCHEMA`; annotators and pages have pseudonyms
    items.csv        every item as people saw it: its number and a column for each field
    gold.csv         the gold answers with the items as they are scored; missing if they are not known, or withheld
    ids.csv          if gold is withheld: the same rows without answers, and only the fields that group items
    skills.csv       the platform's skills of annotators; missing if none were given
    ARM/             the same files of another arm of the study, such as experts
    other.csv        the annotators' answers to other datasets, as numbers; missing if none were given
    dataset.yaml     the declaration of a dataset of one's own; missing for datasets of the catalogue
    population.csv   the strata of the dataset with their numbers of items; missing if the items are not a sample
    strata.csv       the stratum of every item; missing with population.csv
    models/          the answers of models, one numbered folder each
    reading.yaml     how the columns of the exports became responses; missing if there was no choice
    settings.json    the settings of the baseline, and what reading found (dropped rows, lost pages)

The files of a study's plan stand beside them: `study.yaml`, `frozen.json`, the instructions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from hashlib import blake2b
from pathlib import Path, PurePath
from typing import Any, Final

import polars as pl
import yaml

from merilo.atomic_write import guarded, unguarded
from merilo.baselines.model_answers import model_file_name
from merilo.baselines.population import Population
from merilo.baselines.provenance import Provenance
from merilo.baselines.row import Margin
from merilo.baselines.study_input import ArmInput, StudyInput
from merilo.datasets import CATALOGUE
from merilo.datasets.custom import declaration_text, read_declaration
from merilo.errors import InputError
from merilo.file_reading import read_reading
from merilo.items import Item
from merilo.participation import Participation
from merilo.people.gold import Gold, GoldRecord
from merilo.people.peers import OtherAnswers
from merilo.people.pseudonyms import anonymise
from merilo.people.reading import key_of_origin, platform_of
from merilo.records import Object, Record
from merilo.responses import SCHEMA, SIGNALS, Responses, Unread
from merilo.settings import Settings
from merilo.strict_json import Json, indented, parse_json

#: The subfolder of a published folder.
RAW: Final = "raw"

#: The answers of models, one numbered folder each.
MODELS: Final = "models"

#: The gold answers; and, if they are withheld, the ids of the items and the fields that group them.
GOLD_FILE: Final = "gold.csv"
IDS_FILE: Final = "ids.csv"

#: The settings and what reading found.
SETTINGS_FILE: Final = "settings.json"

_READING_FILE: Final = "reading.yaml"

#: The differences between a frozen plan and the present one.
CHANGES_FILE: Final = "changes.json"

#: The files of a study's plan, as patterns of names.
PLAN_FILES: Final = ("study.yaml", "frozen.json", CHANGES_FILE, "instruction*.md")

#: The tables of a dataset's strata.
_STRATA: Final[Mapping[str, Mapping[str, pl.DataType]]] = {
    "population.csv": {"stratum": pl.Int64(), "items": pl.Int64()},
    "strata.csv": {"item": pl.Int64(), "stratum": pl.Int64()},
}
_SKILLS: Final = {"annotator": pl.String(), "skill": pl.Float64()}
_GOLD: Final = {"item": pl.UInt32(), **dict.fromkeys(("id", "gold", "fields", "asked"), pl.String())}
_OTHER: Final = {"dataset": pl.Int64(), "item": pl.Int64(), "annotator": pl.String(), "answer": pl.Int64()}
_PAGES: Final = {"page_reward": pl.Float64(), "page_seconds": pl.Float64()}

#: How times are written, to the millisecond.
_TIME: Final = "%Y-%m-%dT%H:%M:%S%.3f"


class _Facts(Record):
    """The content of `settings.json`."""

    rows_read: int
    dropped: dict[str, int]
    currency: str | None
    answer_field: str | None
    renamed: dict[str, str] | None
    unread: tuple[Unread, ...]
    lost_pages: tuple[tuple[float | None, float | None], ...] | None
    participation: Participation | None
    planned: tuple[int, int] | None
    scored: bool
    signals: bool
    gold: GoldRecord | None
    gold_fields: tuple[str, ...] | None
    dataset: str | None
    margin: Margin | None
    population: str | None
    arms: tuple[str, ...]
    other: tuple[str, ...]
    settings: Settings
    provenance: Provenance | None


class _Asked(Record):
    """An item as it is scored."""

    id: int | str
    instruction: str | int
    inputs: str | Object
    outputs: Any = None
    meta: Object


def publishable(study: StudyInput, authors: Collection[str] = ()) -> StudyInput:
    """Return the study with pseudonyms for annotators and pages, and with files named without folders.

    Args:
        study: the study.
        authors: the fields of `meta` that name the items' authors, who get numbers.
    """
    record = study.provenance
    if record and study.origin and record.parameters.get("platform") is None:
        record = record.model_copy(
            update={"parameters": {**record.parameters, "platform": platform_of(study.origin)}}
        )
    arms = {
        name: ArmInput(publishable(arm, authors), settings) for name, (arm, settings) in study.arms.items()
    }
    study = replace(study, provenance=record and record.without_folders(), arms=arms)
    if study.pseudonymous:
        return study
    secret = key_of_origin(study.origin) if study.origin else _digest(study.responses)
    responses, names = anonymise(study.responses, secret)
    skills, annotator = study.skills, pl.col("annotator")
    return replace(
        study,
        responses=responses,
        skills=skills
        if skills is None
        else skills.filter(annotator.is_in([*names])).with_columns(annotator.replace(names)),
        other=study.other.renamed(names) if study.other else None,
        gold=study.gold and study.gold.named(PurePath(study.gold.facts.source).name).with_numbers(authors),
        pseudonymous=True,
    )


def _digest(responses: Responses) -> bytes:
    return blake2b(responses.table.write_csv().encode(), person=b"merilo key").digest()


def raw_files(study: StudyInput, settings: Settings) -> dict[str, bytes]:
    """Return the files by their names below the folder `raw`."""
    responses, population = study.responses, study.population
    facts = _facts(study, settings)
    files = {
        "responses.csv": _csv(responses.table),
        "items.csv": _csv(responses.items),
        SETTINGS_FILE: f"{indented(facts.to_json())}\n".encode(),
        **study.plan,
    }
    if study.gold:
        files[IDS_FILE if study.gold.withheld else GOLD_FILE] = _csv(_gold_table(study.gold))
    if study.skills is not None:
        files["skills.csv"] = _csv(study.skills)
    for number, (name, arm) in enumerate(study.arms.items(), start=1):
        files |= {f"{arm_folder(name, number)}/{file}": data for file, data in raw_files(*arm).items()}
    if study.other:
        files["other.csv"] = _csv(study.other.table)
    if study.dataset and facts.dataset == "dataset.yaml":
        # The columns of the author's file are not needed: the items and gold answers are in this folder.
        files["dataset.yaml"] = declaration_text(replace(study.dataset, items=None)).encode()
    if population:
        rows: dict[str, list[Any]] = {
            "population.csv": [*population.sizes.items()],
            "strata.csv": [*population.of.items()],
        }
        files |= {n: _csv(pl.DataFrame(rows[n], schema=_STRATA[n], orient="row")) for n in _STRATA}
    if responses.reading and (declared := responses.reading.model_dump(mode="json", exclude_unset=True)):
        files[_READING_FILE] = yaml.safe_dump(declared, allow_unicode=True, sort_keys=False).encode()
    for number, path in enumerate(study.models, start=1):
        files[f"{MODELS}/{number}/{model_file_name(path)}"] = path.read_bytes()
    return files


def _facts(study: StudyInput, settings: Settings) -> _Facts:
    responses, gold, dataset, population = study.responses, study.gold, study.dataset, study.population
    own = dataset is not None and CATALOGUE.get(dataset.name) != dataset
    lost = responses.lost_pages
    return _Facts.of(
        responses,
        lost_pages=None if lost is None else tuple(lost.iter_rows()),
        signals=SIGNALS in responses.table.columns,
        gold=gold and gold.facts,
        gold_fields=None if gold is None or gold.fields is None else gold.fields.drop("item").columns,
        dataset="dataset.yaml" if own else dataset and dataset.name,
        margin=study.margin,
        population=PurePath(population.source).name if population else None,
        arms=(study.arm or "", *study.arms) if study.arms else (),
        other=tuple(PurePath(source).name for source in study.other.sources) if study.other else (),
        settings=settings,
        provenance=study.provenance,
    )


def _csv(table: pl.DataFrame) -> bytes:
    """Write a table so that it can be read back exactly: an empty field is null, and `""` is an empty text."""
    times = [name for name, kind in table.schema.items() if isinstance(kind, pl.Datetime)]
    plain = table.with_columns(pl.col(times).dt.strftime(_TIME))
    return guarded(plain).write_csv().encode()


def arm_folder(name: str, number: int) -> str:
    """Return the name of an arm's folder: that of the arm, or its number if another folder or file may bear it."""
    plain = re.fullmatch(r"[^\W_][\w-]*", name) and name not in {MODELS, "raw"}
    return name if plain else f"arm-{number}"


def _gold_table(gold: Gold) -> pl.DataFrame:
    """Return a row for each item: number, id, answer, and as JSON the other fields and the item as it is scored."""
    rows = {} if gold.fields is None else {row.pop("item"): row for row in gold.fields.to_dicts()}
    asked = {number: asdict(item) for number, item in gold.items.items()}
    columns = (
        pl.col("item")
        .replace_strict(
            {number: json.dumps(value, ensure_ascii=False) for number, value in values.items()},
            default=None,
            return_dtype=pl.String,
        )
        .alias(name)
        for name, values in (("fields", rows), ("asked", asked))
    )
    return gold.answers.select("item", "id", "gold", *columns)


def read_raw(folder: Path) -> tuple[StudyInput, Settings]:
    """Read everything that a baseline is computed from, and its settings.

    Args:
        folder: the subfolder `raw` of a published folder.

    Raises:
        InputError: a file is missing or damaged.
    """
    path = folder / SETTINGS_FILE
    if not path.is_file():
        raise InputError(f"has no raw answers of a baseline: {SETTINGS_FILE} is missing", file=folder)
    facts = _Facts.read(path)
    dataset = None
    if facts.dataset is not None:
        dataset = CATALOGUE.get(facts.dataset) or read_declaration(folder / "dataset.yaml")
    skills = folder / "skills.csv"
    plan = {file.name: file.read_bytes() for pattern in PLAN_FILES for file in sorted(folder.glob(pattern))}
    study = StudyInput(
        responses=_read_responses(folder, facts),
        dataset=dataset,
        gold=_read_gold(folder, facts.gold, facts.gold_fields) if facts.gold else None,
        skills=_table(skills, _SKILLS) if skills.is_file() else None,
        population=_read_population(folder, facts.population) if facts.population else None,
        arm=facts.arms[0] if facts.arms else None,
        arms={
            name: ArmInput(*read_raw(folder / arm_folder(name, number)))
            for number, name in enumerate(facts.arms[1:], start=1)
        },
        other=OtherAnswers(facts.other, _table(folder / "other.csv", _OTHER)) if facts.other else None,
        models=tuple(
            sorted(folder.glob(f"{MODELS}/*/*"), key=lambda file: (len(file.parent.name), str(file)))
        ),
        margin=facts.margin,
        provenance=facts.provenance,
        plan=plan,
        pseudonymous=True,
    )
    return study, facts.settings


def _read_responses(folder: Path, facts: _Facts) -> Responses:
    items, path = _read_items(folder / "items.csv"), folder / "responses.csv"
    table = _table(path, {**SCHEMA, SIGNALS: pl.String()} if facts.signals else SCHEMA)
    for name in ("item", "respondent", "answer", "is_control", "file", "row"):
        if (empty := table[name].is_null().arg_true()).len():
            raise InputError("must not be empty", file=path, row=empty[0] + 2, field=name)
    if (strange := (~table["item"].is_in(items["item"].implode())).arg_true()).len():
        message = f"there is no item {table['item'][strange[0]]} in items.csv"
        raise InputError(message, file=path, row=strange[0] + 2, field="item")
    reading = folder / _READING_FILE
    return Responses(
        table=table,
        items=items,
        rows_read=facts.rows_read,
        dropped=facts.dropped,
        currency=facts.currency,
        answer_field=facts.answer_field,
        renamed=facts.renamed,
        unread=facts.unread,
        lost_pages=None if facts.lost_pages is None else pl.DataFrame(facts.lost_pages, _PAGES, orient="row"),
        scored=facts.scored,
        participation=facts.participation,
        planned=facts.planned,
        reading=read_reading(reading) if reading.is_file() else None,
    )


def _read_items(path: Path) -> pl.DataFrame:
    table = _table(path)
    table = table.rename({name: name[1:] for name in table.columns if name.startswith("'")})
    if "item" not in table.columns:
        raise InputError("must have the column item", file=path, row=1)
    numbers = table["item"].cast(pl.UInt32, strict=False)
    if numbers.null_count() or numbers.n_unique() < numbers.len():
        raise InputError("must be whole numbers, each once", file=path, field="item")
    return table.with_columns(numbers)


def _read_population(folder: Path, source: str) -> Population:
    sizes, of = (_table(folder / name, schema) for name, schema in _STRATA.items())
    return Population(source, dict(sizes.iter_rows()), dict(of.iter_rows()))


def _read_gold(folder: Path, facts: GoldRecord, names: tuple[str, ...] | None) -> Gold:
    path = folder / (IDS_FILE if facts.withheld else GOLD_FILE)
    table = _table(path, _GOLD)
    fields, items = [], {}
    for row, (number, _, answer, others, asked) in enumerate(table.iter_rows(), start=2):
        if number is None or (answer is None and not facts.withheld):
            raise InputError("needs item (a number) and gold (a text)", file=path, row=row)
        if others is not None:
            fields.append({"item": number, **_object(others, path, row)})
        if asked is not None:
            items[number] = Item(**dict(_Asked.of_json(_object(asked, path, row), path)))
    schema = {"item": pl.UInt32(), **dict.fromkeys(names or (), pl.String())}
    columns = None if names is None else pl.DataFrame(fields, schema=schema)
    return Gold(table.select("item", "gold", "id"), facts, columns, items)


def _object(text: str, path: Path, row: int) -> dict[str, Json]:
    content = parse_json(text, file=path, row=row)
    if not isinstance(content, dict):
        raise InputError("is not a JSON object", file=path, row=row)
    return content


def _table(path: Path, schema: Mapping[str, pl.DataType] | None = None) -> pl.DataFrame:
    """Read a CSV file that `_csv` wrote; without a schema, as texts."""
    try:
        table = pl.read_csv(path.read_bytes(), schema=schema, infer_schema=schema is not None)
    except FileNotFoundError as error:
        raise InputError("there is no such file", file=path) from error
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=path) from error
    except pl.exceptions.PolarsError as error:
        reason = str(error).partition("\n")[0][:200]
        raise InputError(f"is not a table as Merilo writes it ({reason})", file=path) from error
    return unguarded(table)
