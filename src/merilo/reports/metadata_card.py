"""Writing the human baseline into a dataset's own files: `raw_dataset_meta.json` and `raw_readme_*.json`.

One member of the JSON object is set in the text of the file. Every other byte stays, because authors lay
these files out by
hand: lists on one line beside lists on many, and several indents in one file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from merilo.errors import DataError, InputError
from merilo.reports.json_record import mapping_at, number_at, text_at, value_at
from merilo.reports.metric_names import display_names
from merilo.strict_json import Json, parse_json

META_FILE: Final = "raw_dataset_meta.json"
HUMAN: Final = "human_benchmark"

#: The section of a card.
SECTION: Final = "Human baseline"

#: Digits of a published value after the decimal point.
DIGITS: Final = 4

#: The beginning of a tag, and the middle of a link or picture: names from a dataset must not become these in Markdown.
_MARKUP: Final = re.compile(r"<(?=[A-Za-z/!?])|\]\(")

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder()
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class MetadataCard:
    """Metadata with the human estimates.

    Attributes:
        content: the bytes of the new file.
        written: display name -> figure, as written.
        kept: metrics of the file that the baseline did not measure and that keep their value.
        missing: metrics of the file that have no human estimate.
    """

    content: bytes
    written: Mapping[str, float]
    kept: tuple[str, ...]
    missing: tuple[str, ...]


def metadata_with_human_benchmark(
    raw: bytes,
    baseline: Mapping[str, Json],
    *,
    names: Mapping[str, str] | None = None,
    file: str = META_FILE,
) -> MetadataCard:
    """Set `human_benchmark` in the metadata under the display names that the file's `metrics` use.

    Every other byte of the file stays as it is. Values are rounded to four places.

    Args:
        raw: the file `raw_dataset_meta.json`.
        baseline: the JSON of the baseline; for a dataset of experts the JSON of `merilo experts baseline`,
            whose experts give the figures.
        names: our metric -> display name, for metrics whose display name does not tell.
        file: the file's name, for messages.

    Raises:
        InputError: the file is not JSON.
        DataError: the baseline is rejected, simulated or has no metric, or the file has none of its metrics.
    """
    if text_at(baseline, "status") == "rejected":
        raise DataError(
            f"{HUMAN} is not written: the baseline is rejected, so its estimate must not be published",
            file=file,
            field=HUMAN,
        )
    if value_at(baseline, "simulated") is True:
        raise DataError(f"{HUMAN} is not written: the annotators are simulated", file=file, field=HUMAN)
    meta = _object(raw, file)
    figures = _figures(baseline)
    if not figures:
        raise DataError(
            f"{HUMAN} is not written: the baseline has no metric, because it has no gold answers",
            file=file,
            field=HUMAN,
        )
    displayed = list(mapping_at(meta, "metrics"))
    chosen = _chosen(names or {}, figures, displayed, file)
    others = [name for name in figures if name not in chosen]
    shown = {
        **display_names(others, [name for name in displayed if name not in chosen.values()]),
        **chosen,
    }
    if not shown:
        raise DataError(
            f"none of the baseline's metrics ({', '.join(figures)}) is among the file's "
            f"({', '.join(displayed) or 'none'})",
            file=file,
            field="metrics",
        )
    written = {display: round(figures[name], DIGITS) for name, display in shown.items()}
    before = mapping_at(meta, HUMAN)
    return MetadataCard(
        content=_with_member(raw, HUMAN, {**before, **written}),
        written=written,
        kept=tuple(name for name in before if name not in written),
        missing=tuple(name for name in displayed if name not in written and name not in before),
    )


def readme_with_section(raw: bytes, section: str, file: str) -> bytes:
    """Set the section "Human baseline" of a card and keep every other byte.

    Args:
        raw: the file `raw_readme_ru.json` or `raw_readme_en.json`: section -> text.
        section: the new text; HTML and links in it are escaped, because names from datasets occur in it.
        file: the file's name, for messages.

    Raises:
        InputError: the file is not JSON.
        DataError: the file is not an object.
    """
    card = _object(raw, file)
    section = _MARKUP.sub(lambda found: f"{found[0][:-1]}\\{found[0][-1]}", section)
    key = next((name for name in card if name.strip().casefold() == SECTION.casefold()), SECTION)
    return _with_member(raw, key, section)


def _object(raw: bytes, file: str) -> dict[str, Json]:
    """Read a JSON object strictly; a byte-order mark is allowed."""
    try:
        content = parse_json(raw.decode("utf-8-sig"), file=file)
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 text (byte {error.start + 1})", file=file) from error
    if not isinstance(content, dict):
        raise DataError("must be a JSON object", file=file)
    return content


def _with_member(raw: bytes, key: str, value: Json) -> bytes:
    """Set a member of the JSON object in a file and keep every other byte: order, indents, escapes, line ends.

    A value that is there is replaced in its place. A new member is added behind the last one, as the file
    writes its own.

    Example:
        >>> _with_member(b'{"b": 1,  "a": {"x": 1}}', "a", {"x": 1, "y": 0.5})
        b'{"b": 1,  "a": {"x": 1, "y": 0.5}}'
        >>> _with_member(b'{"b": 1}', "a", {"y": 0.5})
        b'{"b": 1, "a": {"y": 0.5}}'
    """
    mark = _BYTE_ORDER_MARK if raw.startswith(_BYTE_ORDER_MARK) else b""
    text = raw.removeprefix(mark).decode()
    opening = _behind_space(text, 0)
    place = _behind_space(text, opening + 1)
    indent, between, end = text[opening + 1 : place], "", place
    while text[place] != "}":
        name, name_end = _DECODER.raw_decode(text, place)
        start = _behind_space(text, _behind_space(text, name_end) + 1)
        _, end = _DECODER.raw_decode(text, start)
        if name == key:
            new = _as_file(value, text, indent, text[start:end])
            return mark + (text[:start] + new + text[end:]).encode()
        between = text[name_end:start]
        place = _behind_space(text, end)
        if text[place] == ",":
            place = _behind_space(text, place + 1)
    if not between:
        return mark + (text[:opening] + _as_file({key: value}, text, "") + text[place + 1 :]).encode()
    name, new = (_as_file(content, text, indent) for content in (key, value))
    return mark + f"{text[:end]},{indent or ' '}{name}{between}{new}{text[end:]}".encode()


def _as_file(value: Json, text: str, indent: str, before: str = "") -> str:
    """Write JSON with a file's line ends, indent and escapes.

    Args:
        value: the JSON.
        text: the file.
        indent: the line end and indent before a member of its object; empty if the object stands on one line.
        before: the text that is replaced; an object on one line stays on one line.
    """
    one_line = "\n" not in indent or (before.startswith("{") and len(before) > 2 and "\n" not in before)
    step = None if one_line else indent.lstrip("\r\n")
    return json.dumps(value, ensure_ascii=text.isascii() and "\\u" in text, indent=step).replace("\n", indent)


def _behind_space(text: str, place: int) -> int:
    space = _SPACE.match(text, place)
    return space.end() if space else place


def _figures(baseline: Mapping[str, Json]) -> dict[str, float]:
    """Return the values of the metrics; of an expert study, those of the experts."""
    chosen = mapping_at(baseline, "human_benchmark", "metrics")
    metrics = chosen or mapping_at(baseline, "metrics") or mapping_at(baseline, "experts", "metrics")
    values = {name: number_at(metrics, name, "value") for name in metrics}
    return {name: value for name, value in values.items() if value is not None}


def _chosen(
    names: Mapping[str, str], figures: Mapping[str, float], displayed: list[str], file: str
) -> Mapping[str, str]:
    for name, display in names.items():
        if name not in figures:
            raise DataError(f"'{name}' is not a metric of the baseline ({', '.join(figures)})", file=file)
        if display not in displayed:
            raise DataError(
                f"'{display}' is not one of the file's metrics ({', '.join(displayed)})",
                file=file,
                field="metrics",
            )
    return names
