"""What annotators were asked: the instruction, and one item as it was shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markupsafe import Markup

from merilo.baselines.consensus_table import shown_fields
from merilo.baselines.pipeline import Baseline

#: The files of a study's instruction by language.
INSTRUCTIONS = {"ru": "instruction.ru.md", "en": "instruction.en.md"}


@dataclass(frozen=True, slots=True)
class Asked:
    """What annotators were asked.

    Attributes:
        instructions: mapping from language to the instruction as HTML; empty if it is not known.
        example: the fields of one item, as name and text.
    """

    instructions: Mapping[str, Markup]
    example: tuple[tuple[str, str], ...]

    def instruction(self, language: str) -> Markup:
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
    reader = (
        MarkdownIt("commonmark", {"html": False})
        .enable("table")
        .disable(["image", "html_block", "html_inline"])
    )
    files = attachments or {}
    instructions = {
        language: Markup(reader.render(files[name].decode("utf-8", "replace")))  # noqa: S704 - the reader escapes HTML
        for language, name in INSTRUCTIONS.items()
        if name in files
    }
    example: tuple[tuple[str, str], ...] = ()
    if baseline.consensus.height:
        row = baseline.consensus.sort("item").row(0, named=True)
        fields = shown_fields(baseline.consensus)
        example = tuple((name, str(row[name])) for name in fields if row[name] not in {None, ""})
    return Asked(instructions, example) if instructions or example else None
