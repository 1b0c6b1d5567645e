"""Rules for prompts that are composed of parts: part -> texts, or part -> style -> texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Final

from merilo.datasets.rendering import PLACEHOLDER
from merilo.datasets.validation.folder import META
from merilo.datasets.validation.report import ValidationReport
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
