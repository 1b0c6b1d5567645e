"""Read the dataset of a study: its items, its shots, its declaration, and whom to ask.

People do not rewrite the sentences of ruDetox. In three projects they say of every pair of a toxic sentence
and its neutral version whether the two mean the same, whether the second is written well, and whether it
offends nobody; the pairs that all three accept are kept. 1 accepts in every project.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Final

from merilo.datasets import CATALOGUE, Dataset, dataset
from merilo.datasets.dataset_files import own_file, read_splits
from merilo.datasets.declaration import BASIC_SKILLS, EXPERT_SKILL
from merilo.datasets.folders import META, is_folder_dataset, texts_in
from merilo.datasets.rendering import prompts
from merilo.errors import DataError, InputError, UsageError, argument
from merilo.items import Item, Split, split_file
from merilo.strict_json import Json, read_json
from merilo.studies.plan import Audience
from merilo.wording import shown

#: The declaration of an own dataset, in its folder and in that of a study.
DECLARATION_FILE: Final = "dataset.yaml"
_YAML: Final = (".yaml", ".yml")
#: Splits of solved items that are not the test.
_SHOTS: Final = ("shots", "train", "public_test")


@dataclass(frozen=True, slots=True)
class StudySource:
    """A dataset from which a study is made.

    Attributes:
        file: the file of the test's items.
        split: the test.
        shots: solved items that are not part of the test; empty if there are none.
        declared: the dataset's declaration, with the prompts of the folder's metadata.
        declaration_file: the file of a custom declaration; `None` if the folder's metadata declare the dataset.
        audience: whom to ask.
        audience_from: what decided it, in a phrase.
        project: the project in which people judge pairs (one of `PROJECTS`); empty if they answer the items themselves.
    """

    file: Path
    split: Split
    shots: tuple[Item, ...]
    declared: Dataset
    declaration_file: Path | None
    audience: Audience
    audience_from: str
    project: str = ""


def read_source(path: Path, *, name: str | None = None, audience: Audience | None = None) -> StudySource:
    """Read a dataset's file or folder: the split "test", or the only split.

    Args:
        path: a file of items; a declaration that names its file; or the dataset's folder with `test.json`,
            `shots.json` and `raw_dataset_meta.json`.
        name: a name of the catalogue, or the path of a declaration; by default, the declaration in the folder, or the
            dataset of the catalogue that the metadata or the file's name says.
        audience: whom to ask; by default, taken from the knowledge skills of the metadata or of the declaration.

    Raises:
        InputError: a file cannot be read.
        UsageError: there is no such dataset or split, or the audience is not known.
        DataError: the split has no items.
    """
    folder = path if path.is_dir() else path.parent
    meta = read_json(folder / META) if is_folder_dataset(folder) else {}
    if not isinstance(meta, dict):
        raise InputError("must be a JSON object", file=folder / META)
    declared, own = _declaration(path, folder, name, meta)
    file = _items_file(path, declared)
    splits = read_splits(file, declared)
    wanted = "test" if "test" in splits or len(splits) != 1 else next(iter(splits))
    if wanted not in splits:
        raise UsageError(f"{shown(file)} has no split '{wanted}' (it has {', '.join(splits) or 'no splits'})")
    test = splits[wanted]
    if not test.items:
        raise DataError(f"the split '{wanted}' has no items", file=file)
    kind, reason = (audience, f"given by {argument('audience')}") if audience else _audience(declared, meta)
    shots = _shots(file, declared, splits, wanted)
    return StudySource(file, test, shots, _with_prompts(declared, meta, folder), own, kind, reason)


def _declaration(
    path: Path, folder: Path, name: str | None, meta: Mapping[str, Json]
) -> tuple[Dataset, Path | None]:
    """Return the declaration, and its file if it is the author's own."""
    if name is None and path.suffix in _YAML:
        name = str(path)
    if name is None and (folder / DECLARATION_FILE).is_file():
        name = str(folder)
    if name is not None:
        named = Path(name)
        own = named / DECLARATION_FILE if named.is_dir() else named
        return dataset(name), own if name.lower() not in CATALOGUE and own.is_file() else None
    said = meta.get("dataset_name")
    for known in (said, path.stem, folder.resolve().name):
        if isinstance(known, str) and known.lower() in CATALOGUE:
            return CATALOGUE[known.lower()], None
    if said and path.is_dir():
        return dataset(str(path)), None
    raise UsageError(
        f"nothing says which dataset {shown(path)} is: give {argument('dataset', 'NAME')}, a name of 'merilo datasets "
        "list' or the path of a declaration"
    )


def _items_file(path: Path, declared: Dataset) -> Path:
    if not path.is_dir() and path.suffix not in _YAML:
        return path
    folder = path if path.is_dir() else path.parent
    file = own_file(declared) or split_file(folder, "test") or split_file(folder, declared.name)
    if file is None:
        raise InputError("has no items: expected test.json", file=folder)
    return file


def _shots(file: Path, declared: Dataset, splits: Mapping[str, Split], wanted: str) -> tuple[Item, ...]:
    """Return the solved items of the same file, or of `shots.json` beside a file `test.json`."""
    for other in _SHOTS:
        if other in splits and other != wanted:
            return splits[other].items
    for other in _SHOTS if file.stem.lower() == wanted.lower() else ():
        beside = split_file(file.parent, other, other)
        if beside is not None and beside != file:
            solved = next(iter(read_splits(beside, declared).values()), None)
            return solved.items if solved else ()
    return ()


def _audience(declared: Dataset, meta: Mapping[str, Json]) -> tuple[Audience, str]:
    levels = {skill.casefold(): skill for skill in (*BASIC_SKILLS, EXPERT_SKILL)}
    for skills, where in (
        (texts_in(meta.get("skills")), f"of {META}"),
        (declared.skills, "of the dataset's declaration"),
    ):
        said = [levels[name] for skill in skills if (name := skill.strip().casefold()) in levels]
        if EXPERT_SKILL in said:
            return "expert", f"the skill '{EXPERT_SKILL}' {where}"
        if said:
            return "basic", f"the skill '{said[0]}' {where}"
    raise UsageError(
        f"the skills of {declared.title} do not say whom to ask ({', '.join(BASIC_SKILLS)} or {EXPERT_SKILL}): "
        f"give {argument('audience', 'basic')} or {argument('audience', 'expert')}"
    )


def _with_prompts(declared: Dataset, meta: Mapping[str, Json], folder: Path) -> Dataset:
    """Add the prompts of the metadata, to which the items of newer datasets refer by number."""
    styles = meta.get("prompts")
    if prompts(declared) or styles is None:
        return declared
    by_group: dict[str, tuple[str, ...]] = {}
    for name, texts in (styles if isinstance(styles, dict) else {"": styles}).items():
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise InputError(
                "must be a list of texts", file=folder / META, field=f"prompts.{name}".rstrip(".")
            )
        by_group[name] = tuple(map(str, texts))
    return replace(declared, prompts=by_group)


def comparable(items: Sequence[Item]) -> list[str]:
    """Return for each item the text by which equal questions are found.

    Its inputs without case and repeated white space.

    Media are compared by their paths.

    Example:
        >>> comparable([Item(1, "{a}", {"a": "Two  words"}), Item(2, "", "two words")])
        ['two words', 'two words']
    """
    texts = (
        item.inputs
        if isinstance(item.inputs, str)
        else "\n".join(str(item.inputs[key]) for key in sorted(item.inputs))
        for item in items
    )
    return [" ".join(text.split()).casefold() for text in texts]


#: The dataset whose pairs people judge.
JUDGED: Final = "rudetox"
#: The projects.
PROJECTS: Final = ("meaning", "fluent", "inoffensive")

TOXIC: Final = "toxic_comment"
NEUTRAL: Final = "neutral_comment"

#: A sentence with fewer words may read well in reverse order too.
_LEAST_WORDS: Final = 4


def judging_sources(source: StudySource) -> dict[str, StudySource]:
    """Return what people are asked in each of the three projects.

    An item is a pair, or a neutral sentence that occurs in one or more pairs. It has no gold answer: people decide it.

    Args:
        source: ruDetox.

    Raises:
        DataError: an item has no rewritten sentence.
    """
    tests = _rewritten(source.split.items)
    if len(tests) < len(source.split.items):
        missing = len(source.split.items) - len(tests)
        raise DataError(
            f"{missing} of {len(source.split.items)} items have no rewritten sentence (outputs): people judge pairs "
            "of a toxic sentence and its neutral version",
            file=source.file,
            field="outputs",
        )
    fields = {}
    for project in PROJECTS:
        path = Path(str(files("merilo.studies") / "judging" / f"{project}.yaml"))
        declared = dataset(str(path))
        asked = [_asked(item, declared.fields) for item in tests]
        once: dict[str, Item] = {}
        for text, item in zip(comparable(asked), asked, strict=True):
            once.setdefault(text, item)
        fields[project] = replace(
            source,
            split=replace(source.split, items=tuple(once.values())),
            shots=known_judgements(source.shots, project),
            declared=declared,
            declaration_file=path,
            project=project,
        )
    return fields


def known_judgements(solved: Sequence[Item], project: str) -> tuple[Item, ...]:
    """Make control items of solved pairs: each gives one that is accepted and one that is not.

    Rejected are a toxic sentence with the neutral version of the next pair, a neutral sentence with its words
    in reverse order, and the toxic sentence itself. A solved pair is taken for a good one.

    Args:
        solved: items of ruDetox with their rewritten sentences.
        project: one of `PROJECTS`.

    Example:
        >>> pair = Item(1, "", "Shut up, you fool, and listen", "Please listen to us", {"id": 1})
        >>> [(one.inputs["neutral_comment"], one.outputs) for one in known_judgements([pair], "fluent")]
        [('Please listen to us', '1'), ('us to listen Please', '0')]
    """
    pairs = _rewritten(solved)
    fields = (TOXIC, NEUTRAL) if project == "meaning" else (NEUTRAL,)
    items = []
    for place, item in enumerate(pairs):
        items.append(_asked(item, fields, "1"))
        if project == "meaning":
            bad = str(pairs[(place + 1) % len(pairs)].outputs)
        elif project == "fluent":
            bad = str(item.outputs)
            if len(bad.split()) >= _LEAST_WORDS:
                bad = " ".join(reversed(bad.split()))
        else:
            bad = str(item.inputs)
        if bad != item.outputs:
            identity = f"{item.id}-rejected"
            rejected = replace(item, id=identity, outputs=bad, meta={**item.meta, "id": identity})
            items.append(_asked(rejected, fields, "0"))
    return tuple(items)


def _rewritten(items: Sequence[Item]) -> list[Item]:
    return [item for item in items if isinstance(item.outputs, str) and item.outputs.strip()]


def _asked(item: Item, fields: Sequence[str], known: str | None = None) -> Item:
    inputs: Mapping[str, Json] = {TOXIC: str(item.inputs), NEUTRAL: item.outputs}
    return replace(item, instruction=0, inputs={name: inputs[name] for name in fields}, outputs=known)
