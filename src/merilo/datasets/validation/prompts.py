"""Rules for prompts: each names exactly the input fields, and prompts are used equally often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import cast

from merilo.datasets.folders import META, texts_in
from merilo.datasets.rendering import CONTEXT, PLACEHOLDER, prompts
from merilo.datasets.validation.folder import OWN, Contents, LocatedItem
from merilo.datasets.validation.metadata import FEWEST_PROMPTS, in_parts
from merilo.items import Item
from merilo.strict_json import Json


def media_fields(contents: Contents) -> frozenset[str]:
    """Return the media fields: fields that the dataset declares, or that a template puts in angle brackets."""
    declared = contents.declared
    templates = {*texts_in(contents.meta.get("prompts") if contents.meta else None)}
    templates |= {text for place in contents.places if isinstance(text := place.item.instruction, str)}
    if declared is not None:
        templates |= {text for texts in declared.prompts.values() for text in texts}
    named = {match[2] for text in templates for match in PLACEHOLDER.finditer(text) if match[2]}
    return frozenset(named | {*(declared.media if declared else ())})


def check_prompts(contents: Contents) -> None:
    """Check the prompts of the metadata, or of a custom declaration, and the templates of the items."""
    meta, declared = contents.meta, contents.declared
    for name, form in (declared.bare if declared else {}).items():
        if fault := _fields_fault(form, _fields_of(name, contents), contents, whole=False):
            contents.wrong(OWN, f"bare.{name}" if name else "bare", fault)
    own = {name: list(texts) for name, texts in (prompts(declared) if declared else {}).items()}
    written: Json = meta.get("prompts") if meta is not None else cast("Json", own)
    parts = in_parts(written)
    lists = dict(_lists(written))
    if (contents.whole and meta is not None) or (meta is None and declared is not None and declared.prompts):
        for name, texts in lists.items():
            _check_texts(META if meta is not None else OWN, name, texts, contents, parts=parts)
    groups = {name: texts for name, texts in lists.items() if isinstance(texts, list)}
    for place in contents.places:
        if fault := _template_fault(place, contents, None if parts else groups):
            contents.wrong_item(place, "instruction", fault)
    # A prompt composed of parts has no text to count; a declaration chooses the prompt that an item can fill.
    if not parts and (declared is None or declared.items is None or meta is not None):
        _check_spread(contents, groups)


def _lists(prompts: Json) -> Iterator[tuple[str, Json]]:
    """Yield each list of prompts with its name: one, one for each domain, or one for each style of each part."""
    for name, group in prompts.items() if isinstance(prompts, dict) else [("", prompts)]:
        if isinstance(group, dict) and group:
            yield from ((f"{name}.{style}", texts) for style, texts in group.items())
        else:
            yield name, group


def _check_texts(file: str, name: str, texts: Json, contents: Contents, *, parts: bool) -> None:
    """Check a list of prompts; the texts of a part may be empty, leave fields out and name other parts."""
    where = f"prompts.{name}".rstrip(".")
    if not isinstance(texts, list) or (parts and not texts):
        many = f"must be a list of at least {FEWEST_PROMPTS} prompts, or a mapping from each domain to such a list"
        contents.wrong(
            file, where, "must be a list of texts, or an object of such lists by style" if parts else many
        )
        return
    if len(texts) < FEWEST_PROMPTS and not parts:
        if file == META:
            contents.wrong(file, where, f"has {len(texts)} prompts; at least {FEWEST_PROMPTS} are required")
        elif contents.declared is not None and contents.declared.items is None:
            few = f"has {len(texts)} prompts; a dataset of the benchmark needs at least {FEWEST_PROMPTS}"
            contents.note(file, where, few)
    fields = _fields_of("" if parts else name, contents)
    for number, text in enumerate(texts):
        if not isinstance(text, str) or not (text.strip() or parts):
            contents.wrong(file, f"{where}[{number}]", "must be a text")
        elif text in texts[:number]:
            same = f"is the same as {'text' if parts else 'prompt'} {texts.index(text)}"
            (contents.note if parts else contents.wrong)(file, f"{where}[{number}]", same)
        elif fault := _fields_fault(text, fields, contents, whole=not parts):
            contents.wrong(file, f"{where}[{number}]", fault)


def _fields_of(name: str, contents: Contents) -> frozenset[str] | None:
    """Return the fields of the items in a prompt group; if items differ, the most frequent set of fields."""
    own = [place for place in contents.places if name in _meta_values(place.item)] if name else []
    shapes = Counter(_fields(place, contents) for place in own or contents.places)
    return shapes.most_common(1)[0][0] if shapes else None


def _meta_values(item: Item) -> list[Json]:
    """Return the values of an item's meta, and of the dictionary `categories` in it, which newer datasets have."""
    categories = item.meta.get("categories")
    return [*item.meta.values(), *(categories.values() if isinstance(categories, dict) else ())]


def _fields(place: LocatedItem, contents: Contents) -> frozenset[str]:
    if isinstance(place.item.inputs, Mapping):
        return place.fields
    return frozenset({contents.declared.placeholder if contents.declared else "inputs"})


def _fields_fault(
    text: str, fields: frozenset[str] | None, contents: Contents, *, whole: bool = True
) -> str | None:
    """Return what is wrong with the fields that a template names: braces, and known fields in angle brackets."""
    if fields is None:
        return None
    named = {braced or angled for braced, angled in PLACEHOLDER.findall(text) if braced or angled in fields}
    free = _free(contents)
    if strange := named - fields - free:
        return f"names {_listed(strange)}, which the inputs do not have"
    missing = fields - named - free if whole else None
    return f"does not name {_listed(missing)}" if missing else None


def _free(contents: Contents) -> set[str]:
    """Return the fields that a prompt may leave out, and the parts of which it may be composed."""
    declared, meta = contents.declared, contents.meta or {}
    free = {*declared.hidden} if declared else set()
    if declared and declared.shots.earlier_turns:
        free.add(CONTEXT)
    excluded = meta.get("exclude_fields")
    free |= {*texts_in(excluded.get("inputs") if isinstance(excluded, dict) else excluded)}
    written = meta.get("prompts")
    return free | {*written} if isinstance(written, dict) and in_parts(written) else free


def _listed(names: Set[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in sorted(names))


def _template_fault(
    place: LocatedItem, contents: Contents, groups: Mapping[str, Sequence[Json]] | None
) -> str | None:
    """Return what is wrong with an item's template or the number of its prompt; `groups`: `None` for parts."""
    item = place.item
    if isinstance(item.instruction, str):
        fields = _fields(place, contents)
        if isinstance(item.inputs, Mapping):  # fields that are empty in the item are optional
            named = {name for match in PLACEHOLDER.findall(item.instruction) for name in match}
            fields = frozenset(name for name in fields if name in named or item.inputs[name] != "")
        return _fields_fault(item.instruction, fields, contents)
    if groups is None:  # the number counts combinations of parts, which the metadata do not list
        return "must be the number of a prompt, from 0 on" if item.instruction < 0 else None
    if not groups:
        return f"is the number of a prompt, but there are no prompts in {META}"
    if (group := _group(item, contents, groups)) is None:
        return f"meta must name one of the domains {', '.join(sorted(groups))}"
    if not 0 <= item.instruction < len(groups[group]):
        last = len(groups[group]) - 1
        return f"asks for prompt {item.instruction}; the prompts are numbered from 0 to {last}"
    return None


def _group(item: Item, contents: Contents, groups: Mapping[str, Sequence[Json]]) -> str | None:
    """Return an item's group of prompts: the unnamed group, or the group that its meta names."""
    if set(groups) == {""}:
        return ""
    values = _meta_values(item)
    if contents.meta is None and contents.declared is not None and contents.declared.prompts_by:
        values = [item.meta.get(contents.declared.prompts_by)]
    return next((value for value in values if isinstance(value, str) and value in groups), None)


def _check_spread(contents: Contents, groups: Mapping[str, Sequence[Json]]) -> None:
    """Check that the counts of prompts in a group differ by at most one, in the test or in all splits together."""
    by = contents.declared.prompts_by if contents.declared else None
    by_group: dict[str, list[LocatedItem]] = {}
    for place in contents.places:
        name = str(place.item.value(by) or "") if by else _group(place.item, contents, groups) or ""
        by_group.setdefault(name, []).append(place)
    for name, places in by_group.items():
        test = [place for place in places if place.split == "test"] or places
        together, counted = (_uses(some, name, contents, groups) for some in (places, test))
        if min(max(counts.values()) - min(counts.values()) for counts in (together, counted)) <= 1:
            continue
        (most, often), *_, (least, rarely) = together.most_common()
        contents.wrong(
            test[0].file,
            "data",
            f"prompts{f' of {name}' if name else ''} are not spread evenly: '{str(most)[:40]}' is used in"
            f" {often} items, '{str(least)[:40]}' in {rarely}",
        )


def _uses(
    places: Sequence[LocatedItem], name: str, contents: Contents, groups: Mapping[str, Sequence[Json]]
) -> Counter[str | int]:
    """Count the items with each prompt; without metadata, the items' own templates are the only prompts."""
    counts = Counter[str | int](place.item.instruction for place in places)
    texts = groups.get(name, ())
    known: Sequence[str | int] = [str(text) for text in texts] if contents.meta is not None else ()
    if all(isinstance(prompt, int) for prompt in counts):
        known = range(len(texts))
    return Counter({prompt: counts[prompt] for prompt in [*known, *counts]})
