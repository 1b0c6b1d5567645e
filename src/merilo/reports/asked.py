"""What annotators were asked: the instruction, and one item as it was shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from merilo.baselines.consensus_table import shown_fields
from merilo.baselines.pipeline import Baseline
from merilo.bilingual import Language
from merilo.studies.instruction_html import html_of
from merilo.studies.plan_types import INSTRUCTION_FILES


@dataclass(frozen=True, slots=True)
class Asked:
    """What annotators were asked.

    Attributes:
        instructions: mapping from language to the instruction as HTML; empty if it is not known.
        example: the fields of one item, as name and text.
    """

    instructions: Mapping[Language, Markup]
    example: tuple[tuple[str, str], ...]

    def instruction(self, language: Language) -> Markup:
        """Return the instruction in a language; in the other one if it was not translated."""
        return self.instructions.get(language) or next(iter(self.instructions.values()), Markup(""))


def asked(baseline: Baseline, attachments: Mapping[str, bytes] | None = None) -> Asked | None:
    """Collect what annotators were asked; the example is the first item of the study.

    Args:
        baseline: the baseline.
        attachments: the files of the study's plan by name; Markdown instructions are taken from them.

    Returns:
        `None` if nothing is known. HTML inside an instruction stays text, and images are not loaded.
    """
    files = attachments or {}
    instructions = {
        language: Markup(html_of(files[name].decode("utf-8", "replace")))  # noqa: S704 - HTML in the text is escaped
        for language, name in INSTRUCTION_FILES.items()
        if name in files
    }
    example: tuple[tuple[str, str], ...] = ()
    if baseline.consensus.height:
        row = baseline.consensus.sort("item").row(0, named=True)
        fields = shown_fields(baseline.consensus)
        example = tuple((name, str(row[name])) for name in fields if row[name] not in {None, ""})
    return Asked(instructions, example) if instructions or example else None
