"""Rules for media: the files must exist below `samples/`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from merilo.datasets.rendering import PLACEHOLDER
from merilo.datasets.validation.folder import SAMPLES, Contents
from merilo.datasets.validation.prompts import prompt_texts
from merilo.datasets.validation.report import ValidationReport
from merilo.items import Item

#: File suffixes by modality.
_KINDS: Final = {
    "image": {".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".svg"},
    "audio": {".wav", ".mp3", ".ogg", ".flac", ".m4a", ".opus", ".aac"},
    "video": {".mp4", ".webm", ".mkv", ".avi", ".mov"},
}


def media_fields(contents: Contents) -> frozenset[str]:
    """Return the media fields: fields that the dataset declares, or that a template puts in angle brackets."""
    held = contents.meta.get("prompts") if contents.meta else None
    templates = set(prompt_texts(held))
    templates |= {
        place.item.instruction for place in contents.places if isinstance(place.item.instruction, str)
    }
    if contents.declared is not None:
        templates |= {text for texts in contents.declared.prompts.values() for text in texts}
    named = {found[2] for text in templates for found in PLACEHOLDER.finditer(text) if found[2]}
    return frozenset(named | set(contents.declared.media if contents.declared else ()))


def media_paths(item: Item, contents: Contents) -> Mapping[str, str]:
    """Return the media of an item: field -> path.

    A path below `samples/` counts as a medium even if no template marks its field as media.
    """
    if not isinstance(item.inputs, Mapping):
        return {}
    return {
        name: value
        for name, value in item.inputs.items()
        if isinstance(value, str) and (name in contents.media or value.startswith(f"{SAMPLES}/"))
    }


def check_media(contents: Contents, report: ValidationReport) -> None:
    """Check that every medium is a file below `samples/`, and note unused files there."""
    used: set[Path] = set()
    faults: dict[str, str | None] = {}
    for place in contents.places:
        for field, path in media_paths(place.item, contents).items():
            if path not in faults:
                faults[path] = media_fault(path, contents.root)
            if (fault := faults[path]) is not None:
                report.wrong(place.file, f"{place.path}.inputs.{field}", fault)
            else:
                used.add((contents.root / path).resolve())
    _check_modalities(faults, contents, report)
    if contents.whole:
        _note_unused(contents.root / SAMPLES, used, report)


def media_fault(path: str, root: Path) -> str | None:
    """Return what is wrong with the path of a medium below a dataset's folder."""
    pure = PurePosixPath(path)
    if (
        "\0" in path
        or "\\" in path
        or pure.is_absolute()
        or pure.parts[:1] != (SAMPLES,)
        or ".." in pure.parts
    ):
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


def _check_modalities(faults: Mapping[str, str | None], contents: Contents, report: ValidationReport) -> None:
    """Check that the files' modalities are among those that the metadata name."""
    named = contents.meta.get("modalities") if contents.meta else None
    if not isinstance(named, list):
        return
    suffixes = {PurePosixPath(path).suffix.lower() for path, fault in faults.items() if fault is None}
    for kind, endings in _KINDS.items():
        if suffixes & endings and kind not in named:
            report.wrong(
                "raw_dataset_meta.json", "modalities", f"must name '{kind}': there are such files in samples/"
            )


def _note_unused(samples: Path, used: set[Path], report: ValidationReport) -> None:
    if not samples.is_dir() or samples.is_symlink():
        return
    for file in sorted(samples.rglob("*")):
        if file.is_file() and file.resolve() not in used:
            report.note(str(file.relative_to(samples.parent)), "", "is not used by any item")
