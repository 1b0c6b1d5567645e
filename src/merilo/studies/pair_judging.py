"""The three projects in which people judge ruDetox: pairs of a toxic sentence and its neutral version.

People do not rewrite the sentences. They say of every pair whether the two mean the same, whether the second is written well, and
whether it offends nobody; the recipe `rudetox` keeps the pairs that all three accept. 1 accepts in every project.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Final

from merilo.datasets import dataset
from merilo.errors import DataError
from merilo.items import Item
from merilo.strict_json import Json
from merilo.studies.study_source import StudySource, comparable

#: The dataset whose pairs people judge.
JUDGED: Final = "rudetox"
#: The projects, named as the questions of the recipe.
PROJECTS: Final = ("meaning", "fluent", "inoffensive")

TOXIC: Final = "toxic_comment"
NEUTRAL: Final = "neutral_comment"

#: A sentence with fewer words may read well in reverse order too.
_LEAST_WORDS: Final = 4


@dataclass(frozen=True, slots=True)
class _Pair:
    """A toxic sentence, its neutral version, and what the dataset says of the item."""

    item: Item
    toxic: str
    neutral: str


def judging_sources(source: StudySource) -> dict[str, StudySource]:
    """Return what people are asked in each of the three projects.

    An item is a pair, or a neutral sentence that occurs in one or more pairs. It has no gold answer: people decide it.

    Args:
        source: ruDetox.

    Raises:
        DataError: an item has no rewritten sentence.
    """
    tests = _pairs(source.split.items)
    if len(tests) < len(source.split.items):
        missing = len(source.split.items) - len(tests)
        raise DataError(
            f"{missing} of {len(source.split.items)} items have no rewritten sentence (outputs): people judge pairs of a toxic "
            "sentence and its neutral version",
            file=source.file,
            field="outputs",
        )
    found = {}
    for project in PROJECTS:
        path = Path(str(files("merilo.studies") / "judging" / f"{project}.yaml"))
        declared = dataset(str(path))
        items = _once([_asked(one, declared.fields) for one in tests])
        found[project] = replace(
            source,
            split=replace(source.split, items=tuple(items)),
            shots=known_judgements(source.shots, project),
            declared=declared,
            declaration_file=path,
            project=project,
        )
    return found


def known_judgements(solved: Sequence[Item], project: str) -> tuple[Item, ...]:
    """Make control items of solved pairs: each gives one that is accepted and one that is not.

    Rejected are a toxic sentence with the neutral version of the next pair, a neutral sentence with its words in reverse order, and
    the toxic sentence itself. A solved pair is taken for a good one.

    Args:
        solved: items of ruDetox with their rewritten sentences.
        project: one of `PROJECTS`.

    Example:
        >>> pair = Item(1, "", "Закрой рот, болван, и слушай", "Помолчи и послушай нас", {"id": 1})
        >>> [(one.inputs["neutral_comment"], one.outputs) for one in known_judgements([pair], "fluent")]
        [('Помолчи и послушай нас', '1'), ('нас послушай и Помолчи', '0')]
    """
    pairs = _pairs(solved)
    fields = (TOXIC, NEUTRAL) if project == "meaning" else (NEUTRAL,)
    found = []
    for place, one in enumerate(pairs):
        found.append(_asked(one, fields, "1"))
        bad = None
        if project == "meaning":
            other = pairs[(place + 1) % len(pairs)].neutral
            bad = other if other != one.neutral else None
        elif project == "fluent":
            words = one.neutral.split()
            bad = " ".join(reversed(words)) if len(words) >= _LEAST_WORDS else None
        else:
            bad = one.toxic
        if bad is not None:
            rejected = _asked(replace(one, neutral=bad), fields, "0")
            identity = f"{one.item.id}-rejected"
            found.append(replace(rejected, id=identity, meta={**rejected.meta, "id": identity}))
    return tuple(found)


def _pairs(items: Sequence[Item]) -> list[_Pair]:
    return [
        _Pair(item, str(item.inputs), item.outputs)
        for item in items
        if isinstance(item.outputs, str) and item.outputs.strip()
    ]


def _asked(pair: _Pair, fields: Sequence[str], known: str | None = None) -> Item:
    inputs: Mapping[str, Json] = {TOXIC: pair.toxic, NEUTRAL: pair.neutral}
    return replace(pair.item, instruction=0, inputs={name: inputs[name] for name in fields}, outputs=known)


def _once(items: Sequence[Item]) -> list[Item]:
    """Leave out items that show the same text as an earlier one."""
    kept: dict[str, Item] = {}
    for text, item in zip(comparable(items), items, strict=True):
        kept.setdefault(text, item)
    return list(kept.values())
