"""Rules for prompts: each names exactly the input fields, and prompts are used equally often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Final, TypeGuard

from merilo.datasets.rendering import CONTEXT, PLACEHOLDER, prompts
from merilo.datasets.validation.folder import META, OWN, Contents, LocatedItem
from merilo.items import Item
from merilo.strict_json import Json

#: Names of parts as the benchmark's newer datasets have them; a mapping of these is not a mapping of domains.
PARTS: Final = frozenset({"task_context", "task_description", "answer_format"})

#: How many prompts a dataset must have; if prompts are given by domain, in each domain.
FEWEST: Final = 10

_STRANGE: Final = "names {}, which the inputs do not have"


def in_parts(prompts: Json) -> TypeGuard[dict[str, Json]]:
    """Check whether the prompts of the metadata are composed of parts.

    Example:
        >>> in_parts({"answer_format": {"formal": ["Answer with a letter."]}}), in_parts({"geography": ["{question}"]})
        (True, False)
    """
    return isinstance(prompts, dict) and (
        bool(prompts.keys() & PARTS) or any(isinstance(part, dict) for part in prompts.values())
    )


def media_fields(contents: Contents) -> frozenset[str]:
    """Return the media fields: fields that the dataset declares, or that a template puts in angle brackets."""
    declared = contents.declared
    templates = {*_texts(contents.meta.get("prompts") if contents.meta else None)}
    templates |= {text for place in contents.places if isinstance(text := place.item.instruction, str)}
    if declared is not None:
        templates |= {text for texts in declared.prompts.values() for text in texts}
    named = {found[2] for text in templates for found in PLACEHOLDER.finditer(text) if found[2]}
    return frozenset(named | set(declared.media if declared else ()))


def _texts(prompts: Json) -> Iterator[str]:
    """Yield every text of the prompts, in whatever shape they are given."""
    pending = [prompts]
    while pending:
        held = pending.pop()
        if isinstance(held, str):
            yield held
        elif isinstance(held, list | dict):
            pending += held.values() if isinstance(held, dict) else held


def check_prompts(contents: Contents) -> None:
    """Check the prompts of the metadata, or of a custom declaration, and the templates of the items."""
    meta, declared, report = contents.meta, contents.declared, contents.report
    _check_bare_forms(contents)
    held = meta.get("prompts") if meta is not None else None
    if in_parts(held):
        _check_parts(contents, held)
        return
    groups = _prompt_groups(contents)
    if contents.whole and meta is not None and "prompts" in meta:
        if isinstance(held, dict) and (not held or len(groups) < len(held)):
            wanted = (
                f"must be a list of at least {FEWEST} prompts, or a mapping from each domain to such a list"
            )
            report.wrong(META, "prompts", wanted)
        for where, texts in _check_texts(META, groups, contents):
            if len(texts) < FEWEST:
                report.wrong(META, where, f"has {len(texts)} prompts; at least {FEWEST} are required")
    elif declared is not None and declared.prompts:
        for where, texts in _check_texts(OWN, groups, contents):
            if len(texts) < FEWEST and declared.items is None:
                few = f"has {len(texts)} prompts; a dataset of the benchmark needs at least {FEWEST}"
                report.note(OWN, where, few)
    for place in contents.places:
        if fault := _template_fault(place.item, contents, groups):
            contents.wrong(place, "instruction", fault)
    if declared is None or declared.items is None:  # a declaration chooses the prompt that an item can fill
        _check_spread(contents, groups)


def _check_bare_forms(contents: Contents) -> None:
    """Check the bare forms of a custom declaration: they may leave fields out, but name no others."""
    for name, form in (contents.declared.bare if contents.declared else {}).items():
        fields = _fields_of(name, contents)
        if fields is not None and (strange := _named(form, fields) - fields):
            contents.report.wrong(OWN, f"bare.{name}" if name else "bare", _STRANGE.format(_listed(strange)))


def _check_parts(contents: Contents, parts: Mapping[str, Json]) -> None:
    """Check prompts that are composed of parts: the parts, and the templates that items have of their own.

    Each style of a part has texts, which name only fields of the inputs and other parts. A prompt's number counts
    combinations of parts, which the metadata do not list.
    """
    fields = _fields_of("", contents)
    known = None if fields is None else fields | _free(contents) | parts.keys()
    for path, held in _lists(parts) if contents.whole else ():
        if not isinstance(held, list) or not held:
            contents.report.wrong(META, path, "must be a list of texts, or an object of such lists by style")
            continue
        for number, text in enumerate(held):
            where = f"{path}[{number}]"
            if not isinstance(text, str) or not text.strip():
                contents.report.wrong(META, where, "must be a text")
                continue
            if text in held[:number]:
                contents.report.note(META, where, f"is the same as text {held.index(text)}")
            if known is not None and (strange := _named(text, frozenset()) - known):
                contents.report.wrong(META, where, _STRANGE.format(_listed(strange)))
    for place in contents.places:
        instruction = place.item.instruction
        if isinstance(instruction, str) and (fault := _template_fault(place.item, contents, {})):
            contents.wrong(place, "instruction", fault)
        elif isinstance(instruction, int) and instruction < 0:
            contents.wrong(place, "instruction", "must be the number of a prompt, from 0 on")


def _lists(prompts: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    for part, held in prompts.items():
        if isinstance(held, dict) and held:
            yield from ((f"prompts.{part}.{style}", texts) for style, texts in held.items())
        else:
            yield f"prompts.{part}", held


def _prompt_groups(contents: Contents) -> Mapping[str, Sequence[str]]:
    """Return the metadata's prompts by domain (a list is one unnamed group), or else the declaration's prompts."""
    if contents.meta is None:
        return prompts(contents.declared) if contents.declared else {}
    held = contents.meta.get("prompts")
    groups = held if isinstance(held, dict) else {"": held}
    return {
        name: [text if isinstance(text, str) else "" for text in texts]
        for name, texts in groups.items()
        if isinstance(texts, list)
    }


def _check_texts(
    file: str, groups: Mapping[str, Sequence[str]], contents: Contents
) -> Iterator[tuple[str, Sequence[str]]]:
    """Check each prompt, and yield each group's JSON path and prompts."""
    for name, texts in groups.items():
        where = f"prompts.{name}" if name else "prompts"
        yield where, texts
        for number, text in enumerate(texts):
            if not text.strip():
                fault: str | None = "must be a text"
            elif text in texts[:number]:
                fault = f"is the same as prompt {texts.index(text)}"
            else:
                fault = _fields_fault(text, _fields_of(name, contents), contents)
            if fault:
                contents.report.wrong(file, f"{where}[{number}]", fault)


def _fields_of(name: str, contents: Contents) -> frozenset[str] | None:
    """Return the fields of the items in a prompt group; if items differ, the most frequent set of fields."""
    items = [place.item for place in contents.places]
    own = [item for item in items if name in _meta_values(item)] if name else items
    shapes = Counter(_fields(item, contents) for item in own or items)
    return shapes.most_common(1)[0][0] if shapes else None


def _meta_values(item: Item) -> list[Json]:
    """Return the values of an item's meta, and of the dictionary `categories` in it, which newer datasets have."""
    categories = item.meta.get("categories")
    return [*item.meta.values(), *(categories.values() if isinstance(categories, dict) else ())]


def _fields(item: Item, contents: Contents) -> frozenset[str]:
    if isinstance(item.inputs, Mapping):
        return frozenset(item.inputs)
    return frozenset({contents.declared.placeholder if contents.declared else "inputs"})


def _named(text: str, known: frozenset[str]) -> set[str]:
    """Return the fields that a template names: every name in braces, and known fields in angle brackets."""
    found = PLACEHOLDER.findall(text)
    return {braced or angled for braced, angled in found if braced or angled in known}


def _fields_fault(text: str, fields: frozenset[str] | None, contents: Contents) -> str | None:
    if fields is None:
        return None
    named, free = _named(text, fields), _free(contents)
    if strange := named - fields - free:
        return _STRANGE.format(_listed(strange))
    missing = fields - named - free
    return f"does not name {_listed(missing)}" if missing else None


def _free(contents: Contents) -> set[str]:
    """Return the fields that a prompt may leave out."""
    free = set(contents.declared.hidden) if contents.declared else set()
    if contents.declared and contents.declared.shots.earlier_turns:
        free.add(CONTEXT)
    excluded = contents.meta.get("exclude_fields") if contents.meta else None
    return free | {name for name in excluded if isinstance(name, str)} if isinstance(excluded, list) else free


def _listed(names: Set[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in sorted(names))


def _template_fault(item: Item, contents: Contents, groups: Mapping[str, Sequence[str]]) -> str | None:
    """Return what is wrong with an item's template or with the number of its prompt."""
    if isinstance(item.instruction, str):
        fields = _fields(item, contents)
        if isinstance(item.inputs, Mapping):  # fields that are empty in the item are optional
            named = _named(item.instruction, fields)
            fields = frozenset(name for name in fields if name in named or item.inputs[name] != "")
        return _fields_fault(item.instruction, fields, contents)
    if not groups:
        return f"is the number of a prompt, but there are no prompts in {META}"
    if (group := _group(item, contents, groups)) is None:
        return f"meta must name one of the domains {', '.join(sorted(groups))}"
    if not 0 <= item.instruction < len(groups[group]):
        last = len(groups[group]) - 1
        return f"asks for prompt {item.instruction}; the prompts are numbered from 0 to {last}"
    return None


def _group(item: Item, contents: Contents, groups: Mapping[str, Sequence[str]]) -> str | None:
    """Return an item's group of prompts: the unnamed group, or the group that its meta names."""
    if set(groups) == {""}:
        return ""
    values = _meta_values(item)
    if contents.meta is None and contents.declared is not None and contents.declared.prompts_by:
        values = [item.meta.get(contents.declared.prompts_by)]
    return next((value for value in values if isinstance(value, str) and value in groups), None)


def _check_spread(contents: Contents, groups: Mapping[str, Sequence[str]]) -> None:
    """Check that the counts of prompts in a group differ by at most one, in the test or in all splits together."""
    used: dict[str, dict[str, Counter[str | int]]] = {}
    by = contents.declared.prompts_by if contents.declared else None
    for place in contents.places:
        item = place.item
        group = str(item.meta.get(by, "")) if by else _group(item, contents, groups) or ""
        used.setdefault(group, {}).setdefault(place.split, Counter())[item.instruction] += 1
    for group, by_split in used.items():
        counted = {split: _with_unused(counts, group, contents, groups) for split, counts in by_split.items()}
        together = Counter[str | int]()
        for counts in counted.values():
            together.update(counts)
        decisive = [counted["test"]] if "test" in counted else [*counted.values()]
        if _even(together) or all(map(_even, decisive)):
            continue
        (most, often), *_, (least, rarely) = together.most_common()
        contents.report.wrong(
            _first_place(contents).file,
            "data",
            f"prompts{f' of {group}' if group else ''} are not spread evenly: '{str(most)[:40]}' is used in"
            f" {often} items, '{str(least)[:40]}' in {rarely}",
        )


def _first_place(contents: Contents) -> LocatedItem:
    return next((place for place in contents.places if place.split == "test"), contents.places[0])


def _with_unused(
    counts: Counter[str | int], group: str, contents: Contents, groups: Mapping[str, Sequence[str]]
) -> Counter[str | int]:
    """Return the counts, with a zero for each prompt of the group that no item uses.

    If no metadata list the prompts, the items' own templates are the only prompts.
    """
    texts = groups.get(group, ())
    known: Sequence[str | int] = texts if contents.meta is not None else ()
    if all(isinstance(name, int) for name in counts):
        known = range(len(texts))
    return Counter({name: counts[name] for name in [*known, *counts]})


def _even(counts: Counter[str | int]) -> bool:
    return max(counts.values()) - min(counts.values()) <= 1
