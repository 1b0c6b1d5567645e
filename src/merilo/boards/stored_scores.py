"""Scored results on disk, by the content of what they were made from, so that an unchanged result is not made again.

A result's key is a hash of everything that it depends on: answers, items, parameters and Merilo's version. The hash of
a file is remembered with its size, times and inode, as Git does for its index, so that unchanged files are not read.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

import numpy as np

from merilo.atomic_write import write_text
from merilo.files import sha256
from merilo.metrics.score import Score
from merilo.statistics import FloatArray, IntArray
from merilo.strict_json import Json
from merilo.version import __version__
from merilo.wording import shown

#: What is hashed with every key; the number increases when the meaning of stored results changes.
_FORMAT: Final = f"merilo leaderboard 1, {__version__}"

_FILES: Final = "files.json"


class StoredResults:
    """A folder of results by key.

    Results that cannot be read are made again. Nothing of it is needed: the folder may be deleted at any time.

    Args:
        folder: the folder; it is made with the first result. `None` if nothing is stored.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        known = None if folder is None else _read(folder / _FILES)
        self._files: dict[str, Json] = known if isinstance(known, dict) else {}
        self._hashed: dict[str, Json] = {}
        self.made = 0

    def hash_of(self, path: Path) -> str:
        """Return the SHA-256 of a file; `-` if there is no such file.

        Raises:
            InputError: the file cannot be read.
        """
        try:
            seen = path.stat()
        except OSError:
            return "-"
        name = shown(path.absolute())
        signs: list[Json] = [seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino]
        held = self._hashed.get(name) or self._files.get(name)
        if not (isinstance(held, list) and len(held) == 5 and held[:4] == signs):
            held = [*signs, sha256(path)]
        self._hashed[name] = held
        return str(held[4])

    def result(self, key: str, make: Callable[[], dict[str, Json]]) -> dict[str, Json]:
        """Return the result of a key, which is made and stored if there is none."""
        if self._folder is None:
            self.made += 1
            return make()
        path = self._folder / key[:2] / f"{key}.json"
        held = _read(path)
        if isinstance(held, dict):
            return held
        made = make()
        self.made += 1
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(made, ensure_ascii=False))
        return made

    def save(self) -> None:
        """Write down the hashes of files that were asked for."""
        if self._folder is not None and self._hashed != self._files:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_text(self._folder / _FILES, json.dumps(self._hashed, ensure_ascii=False))


def content_key(kind: str, *parts: Json) -> str:
    """Return the key of a result of a kind that depends on these values alone."""
    text = json.dumps([_FORMAT, kind, *parts], ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _read(path: Path) -> object:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class DatasetScore:
    """A respondent's scores on one dataset.

    Attributes:
        metrics: metric -> value, number of items, lower and upper bound of the 95 % interval over items; the bounds are
            `None` without an interval.
        missing: metric -> why it could not be computed.
        items: a hash of the id and inputs of each answered item; empty if the metrics have no contributions of items.
        points: shape (items,), the contribution of each item to the first main metric.
        of_total: shape (items,), the contribution to the mean of the main metrics.
        clusters: shape (items,), the codes of the items' clusters; `None` if they are independent.
        reason: why there are no scores.
        thought: whether the model used tokens for thought; `None` if it is not known.
    """

    metrics: Mapping[str, tuple[float, int, float | None, float | None]] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    items: tuple[str, ...] = ()
    points: FloatArray | None = None
    of_total: FloatArray | None = None
    clusters: IntArray | None = None
    reason: str = ""
    thought: bool | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the content of the stored result."""
        return {
            "metrics": {name: [*values] for name, values in self.metrics.items()},
            "missing": {**self.missing},
            "items": [*self.items],
            "points": _packed(self.points),
            "of_total": None if self.of_total is self.points else _packed(self.of_total),
            "clusters": _packed(None if self.clusters is None else self.clusters.astype(np.float64)),
            "reason": self.reason,
            "thought": self.thought,
        }

    @staticmethod
    def of_json(held: Mapping[str, Json]) -> DatasetScore:
        """Read the content of a stored result."""
        points, clusters = _unpacked(held["points"]), _unpacked(held["clusters"])
        return DatasetScore(
            {
                name: cast("tuple[float, int, float | None, float | None]", tuple(cast("list[Json]", values)))
                for name, values in cast("dict[str, Json]", held["metrics"]).items()
            },
            cast("dict[str, str]", held["missing"]),
            tuple(cast("list[str]", held["items"])),
            points,
            points if held["of_total"] is None else _unpacked(held["of_total"]),
            None if clusters is None else clusters.astype(np.int64),
            str(held["reason"]),
            cast("bool | None", held["thought"]),
        )


def metric_values(
    scores: Iterable[Score],
) -> dict[str, tuple[float, int, float | None, float | None]]:
    """Return the metrics of `DatasetScore` from those of the scorer."""
    return {
        one.name: (one.value, one.n, *((None, None) if (i := one.interval) is None else (i.low, i.high)))
        for one in scores
    }


def _packed(values: FloatArray | None) -> Json:
    return None if values is None else b64encode(values.astype("<f8").tobytes()).decode()


def _unpacked(text: Json) -> FloatArray | None:
    return None if text is None else np.frombuffer(b64decode(str(text)), dtype="<f8").astype(np.float64)
