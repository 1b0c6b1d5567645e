"""A folder of the benchmark as a dataset: its declaration, made of `raw_dataset_meta.json` and the items.

The folder has `test.json`, `shots.json` and `samples/`. Items refer to prompts by number; if the metadata compose
prompts of parts, these items are asked with the template of `data_example`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from merilo.datasets.dataset_files import read_split
from merilo.datasets.declaration import CATALOGUE, Dataset, HumanFigure, ItemColumns
from merilo.errors import DataError, InputError, argument
from merilo.items import Item, Split, laid_open, split_file
from merilo.metrics.answers import Answer
from merilo.metrics.registry import displayed, fitting
from merilo.strict_json import Json, read_json
from merilo.wording import listed

META: Final = "raw_dataset_meta.json"
SAMPLES: Final = "samples"

_MEDIA: Final = re.compile(r"(?:image|audio|video)(?:_\d+)?")
_OPTION: Final = re.compile(r"option_([a-z])")


def is_folder_dataset(path: Path) -> bool:
    """Return whether a path is a folder with the benchmark's metadata."""
    return (path / META).is_file()


def folder_dataset(folder: Path) -> tuple[Dataset, list[str]]:
    """Make the declaration of a folder, and notes for the user; a dataset of the catalogue keeps its own.

    Raises:
        InputError: the metadata or the items cannot be read.
        DataError: the answers are of no kind that Merilo scores, or no metric of the metadata can be computed.
    """
    meta = read_json(folder / META)
    name = meta.get("dataset_name") if isinstance(meta, dict) else None
    if not isinstance(meta, dict) or not isinstance(name, str) or not name.strip():
        raise InputError("must be a text", file=folder / META, field="dataset_name")
    if (known := CATALOGUE.get(name.lower())) is not None:
        return known, []
    file = split_file(folder, "test") or split_file(folder, name)
    if file is None:
        raise InputError("has no items: expected test.json", file=folder)
    shots = split_file(folder, "shots")
    test = read_split(file)
    items = [*test, *(read_split(shots) if shots else ())]
    return _Folder(folder, meta, test, items, file, shots).declared()


@dataclass(frozen=True, slots=True)
class _Folder:
    folder: Path
    meta: Mapping[str, Json]
    test: Split
    items: Sequence[Item]
    file: Path
    shots: Path | None

    def declared(self) -> tuple[Dataset, list[str]]:
        meta, title = self.meta, str(self.meta["dataset_name"])
        shapes = [frozenset(item.inputs) for item in self.items if isinstance(item.inputs, Mapping)]
        if len(shapes) < len(self.items):
            raise DataError("must be an object in every item", file=self.file, field="inputs")
        fields = self._in_order({name for shape in shapes for name in shape})
        answer = self._answer(fields)
        prompts, by = self._prompts()
        metrics, notes = self._metrics(answer)
        groups = self._categories()
        group = "domain" if "domain" in groups else groups[0] if len(groups) == 1 else None
        if len(groups) > 1:
            known = listed([f"meta.categories.{name}" for name in groups])
            notes.append(f"items can be grouped by {known} ({argument('by')})")
        about = meta.get("description")
        shared = any(str(metric).casefold().startswith("group") for metric in self._object("metrics"))
        declared = Dataset(
            name=title.casefold(),
            title=title,
            about=str((about.get("en") or about.get("ru") or "") if isinstance(about, dict) else about or ""),
            fields=fields,
            media=tuple(name for name in fields if self._is_media(name)),
            hidden=tuple(name for name in fields if any(name not in shape for shape in shapes)),
            answer=answer,
            metrics=metrics,
            extra=None if group is None else f"{metrics[0]}.{{{group}}}",
            cluster="group_id" if shared and any("group_id" in item.meta for item in self.items) else None,
            prompts_by=by,
            prompts=prompts,
            splits=("test", "shots") if self.shots else ("test",),
            gold="closed" if self.test.access == "private" else "open",
            skills=tuple(map(str.strip, texts_in(meta.get("skills")))),
            human=tuple(self._human(metrics, answer)),
            items=ItemColumns(file=str(self.file), shots=None if self.shots is None else str(self.shots)),
        )
        return declared, notes

    def _object(self, key: str) -> Mapping[str, Json]:
        value = self.meta.get(key)
        return value if isinstance(value, dict) else {}

    def _in_order(self, names: set[str]) -> tuple[str, ...]:
        """Return fields in the order of the example, the media first and the options last."""
        example = self._object("data_example").get("inputs")
        order = {name: place for place, name in enumerate(example if isinstance(example, dict) else ())}

        def rank(name: str) -> tuple[int, int, str]:
            place = 0 if self._is_media(name) else 2 if _OPTION.fullmatch(name) else 1
            return place, order.get(name, len(order)) if place == 1 else 0, name

        return tuple(sorted(names, key=rank))

    def _is_media(self, name: str) -> bool:
        values = [item.inputs.get(name) for item in self.items if isinstance(item.inputs, Mapping)]
        paths = [isinstance(value, str) and value.startswith(f"{SAMPLES}/") for value in values if value]
        return bool(paths) and (all(paths) or _MEDIA.fullmatch(name) is not None)

    def _answer(self, fields: Sequence[str]) -> Answer:
        labels = tuple(option[1].upper() for name in fields if (option := _OPTION.fullmatch(name)))
        if len(labels) > 1:
            return Answer(kind="choice", labels=labels)
        strange = next((item for item in self.items if not isinstance(item.outputs, str | None)), None)
        if strange is not None:
            kind = type(strange.outputs).__name__
            raise DataError(
                f"the answer of item {strange.id} is no text ({kind}), and no metric of Merilo scores it",
                file=self.file,
                field="outputs",
            )
        return Answer(kind="text")

    def _prompts(self) -> tuple[dict[str, tuple[str, ...]], str | None]:
        """Return the prompts by group, and the field of `meta` that names an item's group."""
        written = self.meta.get("prompts")
        if isinstance(written, list):
            return {"": tuple(map(str, written))}, None
        if (
            isinstance(written, dict)
            and written
            and all(isinstance(texts, list) for texts in written.values())
        ):
            groups = {
                name: tuple(map(str, texts)) for name, texts in written.items() if isinstance(texts, list)
            }
            for by, value in laid_open(self.items[0].meta):
                if isinstance(value, str) and value in groups:
                    return groups, by
        example = self._object("data_example").get("instruction")
        if any(isinstance(item.instruction, int) for item in self.items) and not isinstance(example, str):
            raise InputError(
                "must be the template of items that name a prompt by its number",
                file=self.folder / META,
                field="data_example.instruction",
            )
        return ({"": (example,)} if isinstance(example, str) else {}), None

    def _metrics(self, answer: Answer) -> tuple[tuple[str, ...], list[str]]:
        """Return our names of the metrics that the metadata name, and a note on those that are not computed."""
        names = {name: displayed(name, answer.kind) for name in self._object("metrics")}
        known = tuple(dict.fromkeys(filter(None, names.values())))
        others = [name for name, ours in names.items() if ours is None]
        if not known:
            raise DataError(
                f"no metric can be computed ({listed(others) or 'none is named'}); Merilo has "
                f"{', '.join(fitting(answer.kind))}",
                file=self.folder / META,
                field="metrics",
            )
        notes = [f"not computed: {listed(others)}"] if others else []
        return known, notes

    def _categories(self) -> list[str]:
        """Return the names in `meta.categories` that divide the items into at most a hundred groups."""
        values: dict[str, set[str]] = {}
        for item in self.items:
            categories = item.meta.get("categories")
            for name, value in categories.items() if isinstance(categories, dict) else ():
                values.setdefault(name, set()).add(str(value))
        return [
            name
            for name, different in values.items()
            if 2 <= len(different) <= min(100, len(self.items) // 2)
        ]

    def _human(self, metrics: Sequence[str], answer: Answer) -> Iterator[HumanFigure]:
        for key in ("human_benchmark", "human_benchmark_expert"):
            for name, value in self._object(key).items():
                metric = displayed(name, answer.kind)
                if metric is not None and metric in metrics and isinstance(value, int | float):
                    experts, source = key.endswith("expert"), f"{key} of {META}"
                    yield HumanFigure(
                        metric=metric,
                        value=value,
                        n=None,
                        provenance="measured",
                        source=source,
                        experts=experts,
                    )


def texts_in(value: Json) -> Iterator[str]:
    """Yield every text in a value, in whatever shape it is given, such as skills that are grouped by category."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts_in(inner)
