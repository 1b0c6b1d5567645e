"""The files of a dataset: the human baseline in its metadata, and its card.

One member of the JSON object of the metadata is set in the text of the file. Every other byte stays, because authors
lay these files out by hand: lists on one line beside lists on many, and several indents in one file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from merilo.baselines.findings import SIMULATED
from merilo.errors import DataError, InputError
from merilo.items import Item
from merilo.records import list_at, mapping_at, number_at, text_at
from merilo.reports.estimates import display_names
from merilo.strict_json import Json, dumped, parse_json
from merilo.text import LANGUAGES, Language, Text

META_FILE: Final = "raw_dataset_meta.json"
HUMAN: Final = "human_benchmark"
HUMAN_EXPERT: Final = "human_benchmark_expert"

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
    key: str = HUMAN,
    file: str = META_FILE,
) -> MetadataCard:
    """Set the human values in the metadata under the display names that the file's `metrics` use.

    Every other byte of the file stays as it is. Values are rounded to four places.

    Args:
        raw: the file `raw_dataset_meta.json`.
        baseline: the JSON of the baseline.
        names: our metric -> display name, for metrics whose display name does not tell.
        key: where the values are written.
        file: the file's name, for messages.

    Raises:
        InputError: the file is not JSON.
        DataError: the baseline is rejected, simulated or has no metric, or the file has none of its metrics.
    """
    if text_at(baseline, "status") == "rejected":
        raise DataError(
            f"{key} is not written: the baseline is rejected, so its estimate must not be published",
            file=file,
            field=key,
        )
    if any(isinstance(one, dict) and one.get("code") == SIMULATED for one in list_at(baseline, "findings")):
        raise DataError(f"{key} is not written: the annotators are simulated", file=file, field=key)
    meta = _object(raw, file)
    figures = _figures(baseline)
    if not figures:
        raise DataError(
            f"{key} is not written: the baseline has no metric, because it has no gold answers",
            file=file,
            field=key,
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
    before = mapping_at(meta, key)
    return MetadataCard(
        content=_with_member(raw, key, {**before, **written}),
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
    """Return the values of the metrics."""
    metrics = mapping_at(baseline, "human_benchmark", "metrics") or mapping_at(baseline, "metrics")
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


_DEFAULT: Final = "default"

#: Headings, and the names of the sections of `raw_readme_*`.
_WORDS: Final = {
    "task": Text("Task description"),
    "motivation": Text("Motivation"),
    "creation": Text("Dataset creation"),
    "authors": Text("Contributors"),
    "skills": Text("Evaluated skills"),
    "dataset": Text("Dataset description"),
    "fields": Text("Data fields"),
    "example": Text("Example"),
    "prompts": Text("Prompts"),
    "evaluation": Text("Evaluation"),
    "metrics": Text("Metrics"),
}

#: What the text "default" stands for in a dataset's metadata: field or metric, lower-case -> its description.
_TERMS: Final[Mapping[str, Text]] = {
    "instruction": Text("the prompt with places for the fields of `inputs`"),
    "inputs": Text("the data of the item"),
    "outputs": Text("the gold answer"),
    "meta": Text("information about the item"),
    "id": Text("the number of the item in the dataset"),
    "question": Text("the text of the question"),
    "text": Text("the text that the question is about"),
    "context": Text("the text in which the answer is to be found"),
    "choices": Text("the options of the answer"),
    "topic": Text("the topic of the question"),
    "subject": Text("the subject of the question"),
    "domain": Text("the domain of the item"),
    "categories": Text("the categories of the item"),
    "type": Text("the type of the item"),
    "class": Text("the class of the item"),
    "source": Text("the source of the data"),
    "synt_source": Text("the models that made the data; empty if the data are not synthetic"),
    "image": Text("the path of the picture"),
    "audio": Text("the path of the recording"),
    "video": Text("the path of the video"),
    "accuracy": Text("the share of correct answers"),
    "exact match": Text("the share of answers that equal the gold answer"),
    "f1": Text("the F1 score"),
}

_OPTION: Final = re.compile(r"(?:option|choice)_?([a-z0-9])")


def built_metadata(meta: Mapping[str, Json], items: Iterable[Item]) -> dict[str, Json]:
    """Build the content of `dataset_meta.json`: placeholders are computed, shared terms are written out.

    A shared term that is not in the dictionary stays "default".

    Args:
        meta: the content of `raw_dataset_meta.json`.
        items: the items of the test.
    """
    entries = [*items]
    built: dict[str, Json] = dict(meta)
    if isinstance(meta.get("dataset_size"), str):
        built["dataset_size"] = len(entries)
    if isinstance(meta.get("synt_source_models"), str):
        found: set[str] = set()
        for item in entries:
            found |= set(_sources({**item.meta}))
        built["synt_source_models"] = [*sorted(found)]
    for key in ("data_field_descriptions", "metrics"):
        built[key] = {name: _resolved(name, held) for name, held in mapping_at(meta, key).items()}
    return built


def metadata_text(built: Mapping[str, Json]) -> str:
    """Write metadata as the benchmark writes them: four spaces of indent, letters as they are."""
    return dumped(dict(built))


def dataset_card(built: Mapping[str, Json], readme: Mapping[str, Json], language: Language) -> str:
    """Render the card in Markdown.

    Title, task description with skills and contributors, motivation, data fields, example, prompts, dataset
    creation, metrics, human baseline; one blank line after each heading. A section without a text is left out.

    Args:
        built: the content of `dataset_meta.json`.
        readme: the content of `raw_readme_ru.json` or `raw_readme_en.json`.
        language: `ru` or `en`.
    """
    words = {name: text.in_language(language) for name, text in _WORDS.items()}
    skills = ", ".join(str(name) for name in list_at(built, "skills"))
    task = [text_at(readme, words["task"]), f"**{words['skills']}:** {skills}" if skills else None]
    authors = text_at(readme, words["authors"])
    task.append(f"**{words['authors']}:** {authors}" if authors else None)
    fields = "\n".join(_fields(mapping_at(built, "data_field_descriptions"), language, 0))
    example = (
        _fenced(json.dumps(built.get("data_example"), ensure_ascii=False, indent=4), "json")
        if built.get("data_example")
        else None
    )
    metrics = "\n".join(_metric(name, held, language) for name, held in mapping_at(built, "metrics").items())
    parts = [
        f"# {_name(text_at(built, 'dataset_name') or '')}",
        _section(2, words["task"], "\n\n".join(filter(None, task))),
        _section(2, words["motivation"], text_at(readme, words["motivation"])),
        _group(words["dataset"], [
            _section(3, words["fields"], fields),
            _section(3, words["example"], example),
            _section(3, words["prompts"], _prompts(built.get("prompts"), language)),
            _section(3, words["creation"], text_at(readme, words["creation"])),
        ]),
        _group(words["evaluation"], [
            _section(3, words["metrics"], metrics),
            _section(3, SECTION, text_at(readme, SECTION)),
        ]),
    ]  # fmt: skip
    return "\n\n".join(filter(None, parts)) + "\n"


def _section(level: int, title: str, text: str | None) -> str | None:
    return f"{'#' * level} {title}\n\n{text}" if text else None


def _group(title: str, sections: list[str | None]) -> str | None:
    return _section(2, title, "\n\n".join(filter(None, sections)))


def _resolved(name: str, held: Json) -> Json:
    """Write out the shared terms below a value."""
    if held == _DEFAULT:
        term = _shared_term(name)
        return held if term is None else {language: term.in_language(language) for language in LANGUAGES}
    if isinstance(held, dict) and not _is_translation(held):
        return {inner: _resolved(inner, value) for inner, value in held.items()}
    return [_resolved(name, value) for value in held] if isinstance(held, list) else held


def _shared_term(name: str) -> Text | None:
    """Return the description of a shared term; `None` if the dictionary does not have it."""
    key = name.rsplit(".", 1)[-1].strip().lower()
    if (option := _OPTION.fullmatch(key)) is not None:
        return Text("option {letter} of the answer", letter=option[1].upper())
    return _TERMS.get(key)


def _is_translation(held: Json) -> bool:
    return (
        isinstance(held, dict)
        and bool(held)
        and held.keys() <= {*LANGUAGES}
        and all(isinstance(text, str) for text in held.values())
    )


def _fields(held: Mapping[str, Json], language: Language, depth: int) -> Iterator[str]:
    """Yield a line for each field; the fields inside a field are indented below it."""
    for name, value in held.items():
        line = f"{'    ' * depth}- `{_name(name)}`"
        if isinstance(value, dict) and not _is_translation(value):
            yield line
            yield from _fields(value, language, depth + 1)
        elif isinstance(value, list):
            yield line
            yield from _fields(
                {str(number): inner for number, inner in enumerate(value)}, language, depth + 1
            )
        else:
            text = text_at(value, language) if isinstance(value, dict) else None
            yield f"{line} — {_line(text)}" if text else line


def _metric(name: str, held: Json, language: Language) -> str:
    text = text_at(held, language) if isinstance(held, dict) else None
    return f"- `{_name(name)}`" + (f" — {_line(text)}" if text else "")


def _prompts(held: Json, language: Language) -> str | None:
    """Say how many prompts there are, and show an example of each group or part."""
    groups = {"": held} if isinstance(held, list) else held if isinstance(held, dict) else {}
    texts = {name: [*_texts(group)] for name, group in groups.items()}
    total = sum(map(len, texts.values()))
    if not total:
        return None
    parted = any(isinstance(group, dict) for group in groups.values())
    told = (
        Text("The dataset has {n:# variant|# variants} of prompt parts. An example of each part:", n=total)
        if parted
        else Text("The dataset has {n:# prompt|# prompts}. An example:", n=total)
    )
    shown = [_fenced(f"{name}: {group[0]}" if name else group[0]) for name, group in texts.items() if group]
    return "\n\n".join([told.in_language(language), *(shown if parted else shown[:1])])


def _texts(held: Json) -> Iterator[str]:
    if isinstance(held, str):
        yield held
    for inner in held.values() if isinstance(held, dict) else held if isinstance(held, list) else ():
        yield from _texts(inner)


def _fenced(text: str, kind: str = "") -> str:
    """Put a text into a code block whose fence does not occur in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{kind}\n{text}\n{fence}"


def _name(text: str) -> str:
    return _line(text).replace("`", "'")


def _line(text: str) -> str:
    return " ".join(text.split())


def _sources(held: Json) -> Iterator[str]:
    """Yield the models named under `synt_source` at any depth."""
    pending: list[Json] = [held]
    while pending:
        value = pending.pop()
        if isinstance(value, list):
            pending += value
        elif isinstance(value, dict):
            for name, inner in value.items():
                if name == "synt_source":
                    yield from (text.strip() for text in _texts(inner) if text.strip())
                else:
                    pending.append(inner)
