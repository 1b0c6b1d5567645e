"""Reading the raw state of a study from the files of `RawStudy`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar, cast

import polars as pl

from merilo.atomic_write import unguarded
from merilo.baselines.declared import settings_for
from merilo.baselines.model_verdicts import Margin
from merilo.baselines.population import Population
from merilo.baselines.provenance import Provenance
from merilo.bilingual import BilingualText
from merilo.datasets import CATALOGUE, Dataset
from merilo.datasets.custom import read_declaration
from merilo.errors import InputError, UsageError
from merilo.items import Item
from merilo.people.gold import Gold
from merilo.reports.hb.raw_study import FORMAT, GOLD_FILE, IDS_FILE, RawStudy
from merilo.responses import SCHEMA, Recoded, Responses, Unread
from merilo.settings import Settings
from merilo.strict_json import Json, json_lines, read_json

_TIME: Final = "%Y-%m-%dT%H:%M:%S%.f"

T = TypeVar("T")


def read_raw(folder: str | Path) -> RawStudy:
    """Read everything that a baseline is computed from.

    Args:
        folder: the subfolder `raw` of `hb/`, or of a folder that `merilo baseline --out` wrote.

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
    """Read a CSV file as text columns, the inverse of `raw_study._csv`; row `i` of the table is row `i + 2` of the file."""
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
            asked[number] = _asked(entry, path, row)
    schema = {"item": pl.UInt32(), "gold": pl.String(), "id": pl.String()}
    return reading.made(
        "gold",
        lambda said: Gold(
            pl.DataFrame(answers, schema=schema, orient="row"),
            source=said["source"],
            without_gold=tuple(said["without_gold"]),
            unused=tuple(said["unused"]),
            warnings=tuple(BilingualText(one["en"], one["ru"]) for one in said["warnings"]),
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


def _asked(entry: dict[str, Json], path: Path, row: int) -> Item:
    """Read one item; its id need not be the one in `meta`."""
    identity, instruction, inputs, meta = (entry.get(key) for key in ("id", "instruction", "inputs", "meta"))
    if not isinstance(identity, int | str) or not isinstance(instruction, str | int):
        raise InputError("must have an id and an instruction", file=path, row=row, field="asked")
    if not isinstance(inputs, str | dict) or not isinstance(meta, dict):
        raise InputError("must have inputs and meta", file=path, row=row, field="asked")
    return Item(identity, instruction, inputs, entry.get("outputs"), meta)
