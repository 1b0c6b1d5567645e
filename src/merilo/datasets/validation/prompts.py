"""Rules for prompts: each names exactly the input fields, and prompts are used equally often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Final

from merilo.datasets.rendering import CONTEXT, PLACEHOLDER, prompts
from merilo.datasets.validation.folder import META, OWN, Contents, LocatedItem
from merilo.datasets.validation.report import ValidationReport
from merilo.items import Item
from merilo.strict_json import Json

#: Names of parts as the benchmark's newer datasets have them; a mapping of these is not a mapping of domains.
PARTS: Final = frozenset({"task_context", "task_description", "answer_format"})


def in_parts(prompts: Json) -> bool:
    """Check whether the prompts of the metadata are composed of parts.

    Example:
        >>> in_parts({"answer_format": {"formal": ["Answer with a letter."]}}), in_parts({"geography": ["{question}"]})
        (True, False)
    """
    return isinstance(prompts, dict) and (
        bool(prompts.keys() & PARTS) or any(isinstance(part, dict) for part in prompts.values())
    )


def prompt_texts(prompts: Json) -> Iterator[str]:
    """Yield every text of the prompts, in whatever shape they are given."""
    pending = [prompts]
    while pending:
        held = pending.pop()
        if isinstance(held, str):
            yield held
        elif isinstance(held, list):
            pending += held
        elif isinstance(held, dict):
            pending += held.values()


def check_parts(prompts: Mapping[str, Json], fields: Set[str] | None, report: ValidationReport) -> None:
    """Check the parts of prompts: each style has texts, which name only fields of the inputs and other parts.

    Args:
        prompts: part -> texts, or part -> style -> texts.
        fields: the names that texts may have in braces; `None` if there are no items.
        report: receives what was found.
    """
    for path, held in _lists(prompts):
        if not isinstance(held, list) or not held:
            report.wrong(META, path, "must be a list of texts, or an object of such lists by style")
            continue
        for number, text in enumerate(held):
            where = f"{path}[{number}]"
            if not isinstance(text, str) or not text.strip():
                report.wrong(META, where, "must be a text")
                continue
            if text in held[:number]:
                report.note(META, where, f"is the same as text {held.index(text)}")
            named = {found[1] for found in PLACEHOLDER.finditer(text) if found[1] is not None}
            if fields is not None and (strange := named - fields - prompts.keys()):
                shown = ", ".join(f"{{{name}}}" for name in sorted(strange))
                report.wrong(META, where, f"names {shown}, which the inputs do not have")


def _lists(prompts: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    for part, held in prompts.items():
        if isinstance(held, dict) and held:
            yield from ((f"prompts.{part}.{style}", texts) for style, texts in held.items())
        else:
            yield f"prompts.{part}", held


#: How many prompts a dataset must have; if prompts are given by domain, in each domain.
FEWEST: Final = 10


def check_prompts(contents: Contents, report: ValidationReport) -> None:
    """Check the prompts of the metadata, or of a custom declaration, and the templates of the items."""
    _check_bare_forms(contents, report)
    if contents.meta is not None and in_parts(contents.meta.get("prompts")):
        _check_in_parts(contents, report)
        return
    groups = prompt_groups(contents)
    if contents.whole and contents.meta is not None and "prompts" in contents.meta:
        held = contents.meta["prompts"]
        # A value that is neither a list nor an object is reported by the rules for metadata.
        if isinstance(held, dict) and (not held or len(groups) < len(held)):
            report.wrong(
                META,
                "prompts",
                f"must be a list of at least {FEWEST} prompts, or a mapping from each domain to a list of that size",
            )
        for where, texts in _check_texts(META, groups, contents, report):
            if len(texts) < FEWEST:
                report.wrong(META, where, f"has {len(texts)} prompts; at least {FEWEST} are required")
    elif contents.declared is not None and contents.declared.prompts:
        for where, texts in _check_texts(OWN, groups, contents, report):
            if len(texts) < FEWEST:
                report.note(
                    OWN,
                    where,
                    f"has {len(texts)} prompts; a dataset of the benchmark needs at least {FEWEST}",
                )
    for place in contents.places:
        _check_template(place, contents, groups, report)
    _check_spread(contents, groups, report)


def _check_in_parts(contents: Contents, report: ValidationReport) -> None:
    """Check prompts that are composed of parts: the parts, and the templates that items have of their own.

    A prompt's number counts combinations of parts, which the metadata do not list.
    """
    held = contents.meta.get("prompts") if contents.meta else None
    if contents.whole and isinstance(held, dict):
        fields = _fields_of("", contents)
        check_parts(held, None if fields is None else fields | _free(contents), report)
    for place in contents.places:
        instruction = place.item.instruction
        if isinstance(instruction, str):
            _check_template(place, contents, {}, report)
        elif instruction < 0:
            report.wrong(place.file, f"{place.path}.instruction", "must be the number of a prompt, from 0 on")


def _check_bare_forms(contents: Contents, report: ValidationReport) -> None:
    """Check the bare forms of a custom declaration: they may leave fields out, but name no others."""
    for name, form in (contents.declared.bare if contents.declared else {}).items():
        fields = _fields_of(name, contents)
        if fields is not None and (strange := set(_named(form, fields)) - fields):
            where = f"bare.{name}" if name else "bare"
            report.wrong(OWN, where, f"names {_listed(strange)}, which the inputs do not have")


def prompt_groups(contents: Contents) -> Mapping[str, Sequence[str]]:
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
    file: str, groups: Mapping[str, Sequence[str]], contents: Contents, report: ValidationReport
) -> Iterator[tuple[str, Sequence[str]]]:
    """Check each prompt, and yield each group's JSON path and prompts."""
    for name, texts in groups.items():
        where = f"prompts.{name}" if name else "prompts"
        yield where, texts
        for number, text in enumerate(texts):
            if not text.strip():
                report.wrong(file, f"{where}[{number}]", "must be a text")
            elif text in texts[:number]:
                report.wrong(file, f"{where}[{number}]", f"is the same as prompt {texts.index(text)}")
            elif fault := _fields_fault(text, _fields_of(name, contents), contents):
                report.wrong(file, f"{where}[{number}]", fault)


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


def _named(text: str, known: frozenset[str]) -> Iterator[str]:
    """Yield the fields that a template names: every name in braces, and known fields in angle brackets."""
    for found in PLACEHOLDER.finditer(text):
        if found[1] is not None:
            yield found[1]
        elif found[2] in known:
            yield found[2]


def _fields_fault(text: str, fields: frozenset[str] | None, contents: Contents) -> str | None:
    if fields is None:
        return None
    named = set(_named(text, fields))
    free = _free(contents)
    if strange := named - fields - free:
        return f"names {_listed(strange)}, which the inputs do not have"
    if missing := fields - named - free:
        return f"does not name {_listed(missing)}"
    return None


def _free(contents: Contents) -> set[str]:
    """Return the fields that a prompt may leave out."""
    free = set(contents.declared.hidden) if contents.declared else set()
    if contents.declared and contents.declared.shots.earlier_turns:
        free.add(CONTEXT)
    excluded = contents.meta.get("exclude_fields") if contents.meta else None
    return free | {name for name in excluded if isinstance(name, str)} if isinstance(excluded, list) else free


def _listed(names: set[str] | frozenset[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in sorted(names))


def _check_template(
    place: LocatedItem, contents: Contents, groups: Mapping[str, Sequence[str]], report: ValidationReport
) -> None:
    item, where = place.item, f"{place.path}.instruction"
    if isinstance(item.instruction, str):
        if fault := _fields_fault(item.instruction, _shown_fields(item, contents), contents):
            report.wrong(place.file, where, fault)
        return
    group = _group(item, contents, groups)
    if not groups:
        report.wrong(place.file, where, f"is the number of a prompt, but there are no prompts in {META}")
    elif group is None:
        report.wrong(place.file, where, f"meta must name one of the domains {', '.join(sorted(groups))}")
    elif not 0 <= item.instruction < len(groups[group]):
        last = len(groups[group]) - 1
        report.wrong(
            place.file,
            where,
            f"asks for prompt {item.instruction}; the prompts are numbered from 0 to {last}",
        )


def _shown_fields(item: Item, contents: Contents) -> frozenset[str]:
    """Return the fields that an item's own template must name; fields that are empty in the item are optional."""
    fields = _fields(item, contents)
    if isinstance(item.instruction, str) and isinstance(item.inputs, Mapping):
        named = set(_named(item.instruction, fields))
        return frozenset(name for name in fields if name in named or item.inputs[name] != "")
    return fields


def _group(item: Item, contents: Contents, groups: Mapping[str, Sequence[str]]) -> str | None:
    """Return an item's group of prompts: the unnamed group, or the group that its meta names."""
    if set(groups) == {""}:
        return ""
    if contents.meta is None and contents.declared is not None and contents.declared.prompts_by:
        named = item.meta.get(contents.declared.prompts_by)
        return named if isinstance(named, str) and named in groups else None
    return next((value for value in _meta_values(item) if isinstance(value, str) and value in groups), None)


def _check_spread(contents: Contents, groups: Mapping[str, Sequence[str]], report: ValidationReport) -> None:
    """Check that the counts of prompts in a group differ by at most one, in the test or in all splits together."""
    used: dict[str, dict[str, Counter[str | int]]] = {}
    for place in contents.places:
        group = _spread_group(place.item, contents, groups)
        used.setdefault(group, {}).setdefault(place.split, Counter())[place.item.instruction] += 1
    for group, by_split in used.items():
        counted = {split: _with_unused(counts, group, contents, groups) for split, counts in by_split.items()}
        together = Counter[str | int]()
        for counts in counted.values():
            together.update(counts)
        if _even(together) or all(
            _even(counts) for split, counts in counted.items() if split == "test" or "test" not in counted
        ):
            continue
        most, least = together.most_common()[0], together.most_common()[-1]
        report.wrong(
            (contents.splits().get("test") or contents.places)[0].file,
            "data",
            f"prompts{f' of {group}' if group else ''} are not spread evenly: "
            f"'{str(most[0])[:40]}' is used in {most[1]} items,"
            f" '{str(least[0])[:40]}' in {least[1]}",
        )


def _spread_group(item: Item, contents: Contents, groups: Mapping[str, Sequence[str]]) -> str:
    if contents.declared is not None and contents.declared.prompts_by:
        return str(item.meta.get(contents.declared.prompts_by, ""))
    return _group(item, contents, groups) or ""


def _with_unused(
    counts: Counter[str | int], group: str, contents: Contents, groups: Mapping[str, Sequence[str]]
) -> Counter[str | int]:
    """Return the counts, with a zero for each prompt of the group that no item uses.

    If no metadata list the prompts, the items' own templates are the only prompts.
    """
    texts = groups.get(group, ())
    if all(isinstance(name, int) for name in counts):
        everyone: list[str | int] = [*range(len(texts))]
    else:
        everyone = [*texts] if contents.meta is not None else []
    return Counter({name: counts[name] for name in [*everyone, *counts]})


def _even(counts: Counter[str | int]) -> bool:
    return max(counts.values()) - min(counts.values()) <= 1
