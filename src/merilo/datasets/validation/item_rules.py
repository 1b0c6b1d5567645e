"""Rules for items: ids, fields, media, answers, shots that do not repeat the test; whole variants of the exam (USE)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from merilo.datasets.dataset_files import absent_fields, unanswerable
from merilo.datasets.declaration import CATALOGUE, Dataset
from merilo.datasets.folders import META, SAMPLES, texts_in
from merilo.datasets.validation.folder import OWN, Contents, LocatedItem
from merilo.errors import DataError
from merilo.items import Item
from merilo.metrics.answers import program_golds, program_tests
from merilo.metrics.exam import incomplete_variants, question
from merilo.wording import listed


def check_items(contents: Contents) -> None:
    """Check the items of all splits."""
    for check in (
        _check_ids,
        _check_fields,
        _check_groups,
        _check_media,
        _check_shots,
        _check_answers,
        _check_questions,
    ):
        check(contents)
    if contents.declared is CATALOGUE["use"]:
        _check_exam(contents)


def _check_ids(contents: Contents) -> None:
    """Check that no two ids are written alike.

    In the benchmark they must also count from 1 over the test and the shots.
    """
    seen: dict[str, LocatedItem] = {}
    strict = contents.for_benchmark
    for place in contents.places:
        number = place.item.id
        if (first := seen.setdefault(str(number), place)) is not place:
            contents.wrong_item(place, "meta.id", f"{number} is also the id of {first.file}, {first.path}")
        elif strict and not isinstance(number, int) and "id" in place.item.meta:
            contents.wrong_item(place, "meta.id", f"must be a whole number, not {number!r}")
    numbers = {place.item.id: place for place in seen.values() if isinstance(place.item.id, int)}
    wanted = set(range(1, len(numbers) + 1))
    extra = numbers.keys() - wanted
    # Without the test, shots do not start at 1, because the test has the first ids.
    if strict and extra and any(place.split == "test" for place in seen.values()):
        missing, instead = (listed([*map(str, sorted(ids))], 10) for ids in (wanted - numbers.keys(), extra))
        are, occur = ("is", "occurs") if len(extra) == 1 else ("are", "occur")
        run = f"ids must run from 1 to {len(numbers)} through the test and the shots together"
        fault = f"{run}: {missing} {are} missing, {instead} {occur} instead"
        contents.wrong_item(numbers[min(extra)], "meta.id", fault)


#: Fields that items may have in different numbers: options, and media files.
_IN_NUMBERS: Final = re.compile(r"option_([a-z])|(?:image|audio|video)(?:_\d+)?")
#: A field that a prompt of the metadata leaves out if an item does not have it.
_IF_DEFINED: Final = re.compile(r"inputs\.(\w+) is defined")


def _check_fields(contents: Contents) -> None:
    """Check that all items have the same fields; for a known dataset, the declared fields."""
    declared, places = contents.declared, contents.places
    hidden = {*declared.hidden} if declared else set()
    if declared is None and contents.meta is not None:
        texts = " ".join(texts_in(contents.meta.get("prompts")))
        hidden = {*_IF_DEFINED.findall(texts)}
        hidden |= {name for place in places for name in place.fields if _IN_NUMBERS.fullmatch(name)}
    shapes = Counter(_shape(place.item) for place in places)
    usual = next((shape for shape, _ in shapes.most_common(1)), None)
    if declared is not None:
        usual = frozenset(declared.fields) or None
    for place in places:
        shape = _shape(place.item)
        if shape != usual and (shape is None or usual is None or shape | hidden != usual | hidden):
            contents.wrong_item(place, "inputs", f"must be {_named(usual)}, but is {_named(shape)}")
        elif declared is None and contents.meta is not None:
            _check_options(place, contents)


def _check_groups(contents: Contents) -> None:
    """Check that some item has each field by which a custom declaration groups items, shots or prompts."""
    declared = contents.declared
    if declared is None or declared.name in CATALOGUE or not contents.places:
        return
    for key, field in absent_fields([place.item for place in contents.places], declared):
        contents.wrong(OWN, key, f"no item has the field '{field}'")


def _check_options(place: LocatedItem, contents: Contents) -> None:
    """Check the options of an item of the newer form, and that its gold answer is the letter of one of them."""
    letters = sorted(
        option[1] for name in place.fields if (option := _IN_NUMBERS.fullmatch(name)) and option[1]
    )
    series = [chr(ord("a") + n) for n in range(max(2, len(letters)))]
    if not letters:
        return
    if letters != series:
        names = ", ".join(f"option_{letter}" for letter in series)
        contents.wrong_item(place, "inputs", f"must be an object with {names}, but is {_named(place.fields)}")
    elif (gold := place.item.outputs) is not None and str(gold) not in {*map(str.upper, series)}:
        labels = ", ".join(series).upper()
        contents.wrong_item(place, "outputs", f"must be one of {labels}, not '{str(gold)[:30]}'")


def _shape(item: Item) -> frozenset[str] | None:
    return None if isinstance(item.inputs, str) else frozenset(item.inputs)


def _named(shape: frozenset[str] | None) -> str:
    return "a text" if shape is None else f"an object with {', '.join(sorted(shape)) or 'no fields'}"


#: File suffixes by modality.
_KINDS: Final = {
    "image": {".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".svg"},
    "audio": {".wav", ".mp3", ".ogg", ".flac", ".m4a", ".opus", ".aac"},
    "video": {".mp4", ".webm", ".mkv", ".avi", ".mov"},
}


def _media_paths(item: Item, contents: Contents) -> Mapping[str, str]:
    """Return the media of an item: field -> path.

    A path below `samples/` counts as a medium even if no template marks its field as media.
    """
    return {
        name: value
        for name, value in (item.inputs.items() if isinstance(item.inputs, Mapping) else ())
        if isinstance(value, str) and (name in contents.media or value.startswith(f"{SAMPLES}/"))
    }


def _check_media(contents: Contents) -> None:
    """Check that every medium is a file below `samples/` of a modality that the metadata name."""
    faults: dict[str, str | None] = {}
    for place in contents.places:
        for field, path in _media_paths(place.item, contents).items():
            if path not in faults:
                faults[path] = _media_fault(path, contents.root)
            if (fault := faults[path]) is not None:
                contents.wrong_item(place, f"inputs.{field}", fault)
    modalities = contents.meta.get("modalities") if contents.meta else None
    suffixes = {PurePosixPath(path).suffix.lower() for path, fault in faults.items() if fault is None}
    for kind, endings in _KINDS.items():
        if isinstance(modalities, list) and suffixes & endings and kind not in modalities:
            contents.wrong(META, "modalities", f"must name '{kind}': there are such files in samples/")


def _media_fault(path: str, root: Path) -> str | None:
    """Return what is wrong with the path of a medium below a dataset's folder."""
    parts = PurePosixPath(path).parts
    if "\0" in path or "\\" in path or parts[:1] != (SAMPLES,) or ".." in parts:
        return f"must be a path below {SAMPLES}/, not '{path[:80]}'"
    file, samples = root / path, (root / SAMPLES).resolve()
    try:
        if not file.resolve().is_relative_to(samples) or not samples.is_relative_to(root.resolve()):
            return f"points outside the folder {SAMPLES}/ through a link: '{path[:80]}'"
        if not file.is_file():
            return f"names a file that does not exist: '{path[:80]}'"
        return f"names an empty file: '{path[:80]}'" if file.stat().st_size == 0 else None
    except (OSError, RuntimeError):
        return f"names a file that cannot be read: '{path[:80]}'"


def _check_shots(contents: Contents) -> None:
    """Check that shots repeat no question and no medium of the test."""
    questions: dict[str, LocatedItem] = {}
    media: dict[str, LocatedItem] = {}
    for place in contents.places:
        if place.split == "test":
            questions[_question(place.item)] = place
            media = dict.fromkeys(_media_paths(place.item, contents).values(), place) | media
    for place in (place for place in contents.places if place.split != "test"):
        if (same := questions.get(_question(place.item))) is not None:
            contents.wrong_item(place, "inputs", f"repeats the question of {same.file}, {same.path}")
        for field, path in _media_paths(place.item, contents).items():
            if (same := media.get(path)) is not None:
                contents.wrong_item(place, f"inputs.{field}", f"repeats a medium of {same.file}, {same.path}")


def _question(item: Item) -> str:
    """Return the question in one letter case and with normalised white space."""
    inputs = item.inputs
    text = inputs if isinstance(inputs, str) else json.dumps(inputs, ensure_ascii=False, sort_keys=True)
    return " ".join(text.split()).casefold()


def _check_answers(contents: Contents) -> None:
    """Check that gold answers are of the kind that the dataset declares."""
    declared = contents.declared
    if declared is None:
        return
    for place in contents.places:
        if place.item.outputs is not None and (fault := _answer_fault(place.item, declared)):
            contents.wrong_item(place, "outputs", fault)
        if declared.answer.kind == "program":
            _check_program(place, contents)


def _check_questions(contents: Contents) -> None:
    """Check that items can be answered; the author of a dataset of the catalogue cannot change it, but must know."""
    declared = contents.declared
    if declared is None:
        return
    for place in contents.places:
        for _, field, why in unanswerable([place.item], declared):
            tell = contents.note if declared.name in CATALOGUE else contents.wrong
            tell(place.file, f"{place.path}.inputs.{field}".rstrip("."), why)


def _answer_fault(item: Item, declared: Dataset) -> str | None:
    answer, gold = declared.answer, item.outputs
    if answer.kind == "program":
        return None if isinstance(gold, list | str) else "must be a list of results, one per test"
    if answer.kind == "criteria":
        if not isinstance(gold, Mapping) or set(gold) != set(answer.criteria):
            return f"must be an object with {', '.join(answer.criteria)}"
        wrong = next((name for name in answer.criteria if gold[name] not in answer.labels), None)
        return wrong and f"{wrong} must be one of {', '.join(answer.labels)}"
    if not isinstance(gold, str):
        return "must be a text"
    if answer.kind == "choice" and gold not in answer.labels:
        return f"must be one of {', '.join(answer.labels)}, not '{gold[:30]}'"
    whole = answer.kind != "integer" or re.fullmatch(r"-?[0-9]+", gold)
    return None if whole else f"must be a whole number, not '{gold[:30]}'"


def _check_program(place: LocatedItem, contents: Contents) -> None:
    try:
        tests = program_tests(place.item)
        golds = None if place.item.outputs is None else program_golds(place.item)
    except DataError as error:
        contents.wrong_item(place, str(error.place.field), error.message)
        return
    if golds is not None and len(golds) != len(tests):
        contents.wrong_item(place, "outputs", f"has {len(golds)} results for {len(tests)} tests")


def _check_exam(contents: Contents) -> None:
    """Check that each item of USE can be scored, and that each variant but those of the train split is whole."""
    splits: dict[str, list[LocatedItem]] = {}
    for place in contents.places:
        try:
            asked = question(place.item)
        except DataError as error:
            contents.wrong_item(place, "meta", error.message)
            continue
        splits.setdefault(place.split, []).append(place)
        if asked.task == "16" and place.item.outputs is not None and len({*asked.gold.split(",")}) < 2:
            # With a single gold number, any other number would count as one error and earn a point.
            contents.wrong_item(place, "outputs", "must be at least two numbers in task 16")
    # The hub calls the dev split `validation`.
    for places in (splits[name] for name in ("test", "dev", "validation") if name in splits):
        for variant, tasks in incomplete_variants([place.item for place in places]).items():
            how = f"lacks task {', '.join(tasks)}" if tasks else "has a task twice, or not 34 points"
            contents.wrong(places[0].file, places[0].path.split("[")[0], f"variant {variant} {how}")
