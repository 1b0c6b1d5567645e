"""The files of a dataset: the human baseline in its metadata, and in the texts of its card."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from merilo.baselines.baseline import Baseline
from merilo.baselines.findings import SIMULATED
from merilo.errors import DataError, InputError
from merilo.metrics.registry import display_of, plain_name
from merilo.strict_json import Json, dict_at, parse_json

META_FILE: Final = "raw_dataset_meta.json"
HUMAN: Final = "human_benchmark"
HUMAN_EXPERT: Final = "human_benchmark_expert"

#: The section of a card.
SECTION: Final = "Human baseline"

#: Digits of a published value after the decimal point.
DIGITS: Final = 4

#: Names that mean a metric only if no other computed metric has a better claim to them. Accuracy and exact match are
#: both the share of answers that equal the gold answer.
_ALSO: Final[Mapping[str, tuple[str, ...]]] = {
    "acc": ("exactmatch", "em"),
    "em": ("accuracy", "acc"),
    "f1_macro": ("f1", "f1score"),
}


def metadata_with_human_benchmark(raw: bytes, values: Mapping[str, float], key: str = HUMAN) -> bytes:
    """Set the human values in the metadata under the display names that the file's `metrics` use.

    Values are rounded to four places; metrics that the baseline did not measure keep their value.

    Args:
        raw: the file `raw_dataset_meta.json`.
        values: metric -> human value; see `human_values`.
        key: where they are written.

    Raises:
        InputError: the file is not JSON.
        DataError: the file has none of the metrics.
    """
    meta = _object(raw, META_FILE)
    displayed = list(dict_at(meta, "metrics"))
    shown = display_names(list(values), displayed)
    if not shown:
        raise DataError(
            f"none of the baseline's metrics ({', '.join(values)}) is among the file's "
            f"({', '.join(displayed) or 'none'})",
            file=META_FILE,
            field="metrics",
        )
    written = {display: round(values[name], DIGITS) for name, display in shown.items()}
    return _with_member(meta, key, {**dict_at(meta, key), **written})


def human_values(baseline: Baseline, key: str = HUMAN) -> dict[str, float]:
    """Return the values for a key of the metadata: metric -> value, on the items that the settings choose.

    Raises:
        DataError: the baseline is rejected, simulated or has no metric.
    """
    if baseline.status == "rejected":
        why = "the baseline is rejected, so its estimate must not be published"
    elif any(finding.code == SIMULATED for finding in baseline.findings):
        why = "the annotators are simulated"
    else:
        chosen = baseline.human_benchmark.metrics if baseline.human_benchmark else {}
        values = {name: estimate.value for name, estimate in chosen.items() if estimate.value is not None}
        if values:
            return values
        why = (
            "the baseline has no metric: its gold answers are not known, or withheld because they are closed"
        )
    raise DataError(f"{key} is not written: {why}", file=META_FILE, field=key)


def readme_with_section(raw: bytes, section: str, file: str) -> bytes:
    """Set the section "Human baseline" of a card.

    Args:
        raw: the file `raw_readme_ru.json` or `raw_readme_en.json`: section -> text.
        section: the new text; HTML and links in it are escaped, because names from datasets occur in it.
        file: the file's name, for messages.

    Raises:
        InputError: the file is not JSON.
        DataError: the file is not an object.
    """
    card = _object(raw, file)
    key = next((name for name in card if name.strip().casefold() == SECTION.casefold()), SECTION)
    return _with_member(card, key, section)


def _object(raw: bytes, file: str) -> dict[str, Json]:
    """Read a JSON object strictly; a byte-order mark is allowed."""
    try:
        content = parse_json(raw.decode("utf-8-sig"), file=file)
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 text (byte {error.start + 1})", file=file) from error
    if not isinstance(content, dict):
        raise DataError("must be a JSON object", file=file)
    return content


def _with_member(content: Mapping[str, Json], key: str, value: Json) -> bytes:
    """Write a JSON object with a member set, as `merilo datasets validate` asks: its keys stay in their order."""
    return f"{json.dumps({**content, key: value}, ensure_ascii=False, indent=4)}\n".encode()


def display_names(computed: Sequence[str], displayed: Sequence[str]) -> dict[str, str]:
    """Find the display name of each computed metric among the names that a card uses.

    Equal names come first, then usual display names, then names that also fit: a card that calls the exact
    match "Accuracy" gets it there, unless the accuracy was computed too. No display name is given to two metrics.

    Args:
        computed: our names of metrics, main ones first.
        displayed: the names that the card's `metrics` uses.

    Returns:
        Our name -> display name, for the metrics that the card names.

    Example:
        >>> display_names(["acc", "f1_macro"], ["F1-score", "Accuracy"])
        {'acc': 'Accuracy', 'f1_macro': 'F1-score'}
        >>> display_names(["em"], ["Accuracy"]), display_names(["acc"], ["chrf"])
        ({'em': 'Accuracy'}, {})
    """
    free = {plain_name(name): name for name in reversed(displayed)}
    displays: dict[str, str] = {}
    for meanings in (lambda base: (base,), display_of, lambda base: _ALSO.get(base, ())):
        for name in computed:
            if name in displays:
                continue
            base, mark, group = name.partition(".")
            candidates = [f"{plain_name(meaning)}{plain_name(group)}" for meaning in meanings(base)]
            fitting = next((plain for plain in candidates if plain in free), None)
            if fitting is not None and not (mark and not group):
                displays[name] = free.pop(fitting)
    return {name: displays[name] for name in computed if name in displays}
