"""The report of a baseline: one self-contained page, in the languages of its study, that prints well."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup

from merilo.baselines.baseline import Baseline
from merilo.baselines.baseline_tables import shown_fields
from merilo.baselines.provenance import Provenance
from merilo.baselines.raw_files import CHANGES_FILE
from merilo.baselines.row import Row
from merilo.reports.comparison_page import rows_section
from merilo.reports.facts import (
    PlannedBaseline,
    arm_sections,
    facts,
    methods,
    option_letters,
    overview,
    status,
)
from merilo.reports.html_page import html_page, page_environment, spans
from merilo.reports.messages import arms_of
from merilo.reports.table import Cell, Section, Table, cell_text, html_section, html_table
from merilo.strict_json import Json
from merilo.studies.instruction import html_of
from merilo.studies.plan import FROZEN_FILE, INSTRUCTION_FILES
from merilo.text import LANGUAGES, Language, Text


def page(
    baseline: Baseline,
    plan: Mapping[str, Json] | None = None,
    *,
    attachments: Mapping[str, bytes] | None = None,
) -> str:
    """Render the report of a baseline.

    Args:
        baseline: the baseline.
        plan: the content of `study.yaml`; `None` if the study was not planned with Merilo.
        attachments: the files of the plan by name, such as the instruction.

    Returns:
        HTML without scripts and without links to anything outside itself.
    """
    study, files = PlannedBaseline(baseline, plan or {}), attachments or {}
    more = [*arm_sections(baseline), *_models(baseline.models)]
    bodies = {language: _body(study, more, files, language) for language in study.languages}
    return html_page(study.title or Text("A study"), bodies, [("items.html", Text("Items and answers"))])


def _body(
    study: PlannedBaseline, more: Sequence[Section], files: Mapping[str, bytes], language: Language
) -> Markup:
    """Return the content of the page: the status, the result and what spoils it, its tables, and folded parts."""
    record, (result, *others) = study.record, facts(study)
    paper = methods(arms_of(record, study.plan))
    folded = [*others, paper, *_plan(files), *_origin(record.provenance)]
    shown = [section for section in folded if section.sentences or section.remarks or section.tables]
    kind = "neutral" if record.findings else "good"
    content = {
        "_": spans([language]),
        "language": language,
        "title": study.title or Text("A study"),
        "status": status(record.status),
        "kind": {"accepted": kind, "rejected": "bad"}.get(record.status, "warning"),
        "simulated": record.simulated,
        "result": result,
        "cards": [[cell_text(cell, language) for cell in box] for box in overview(record)],
        "tables": [html_table(table, language) for table in result.tables if table.head],
        "more": [html_section(section, language) for section in more],
        "parts": [(section.title, html_section(section._replace(title=None), language)) for section in shown],
        "instruction": _instruction(files, language),
        "example": _example(study),
    }
    template = page_environment().get_template("report.html.j2")
    return Markup(template.render(content))  # noqa: S704 - the template escapes


def _models(rows: Sequence[Row]) -> Iterator[Section]:
    """Yield the section on models beside people; none without models."""
    if rows:
        yield rows_section(Text("People and models"), rows, rows)


def _plan(files: Mapping[str, bytes]) -> Iterator[Section]:
    """Yield the section on the frozen plan and its later changes; none if the plan was not frozen."""
    if FROZEN_FILE not in files:
        return
    frozen, changes = json.loads(files[FROZEN_FILE]), json.loads(files.get(CHANGES_FILE, b"[]"))
    rows = tuple(
        (
            change["what"],
            Text("decision") if change["decision"] else "",
            change["frozen"] or None,
            change["now"] or None,
        )
        for change in changes
    )
    head = (Text("what"), "", Text("frozen"), Text("now"))
    yield Section(
        "plan",
        Text("The frozen plan"),
        (
            Text(
                "The plan was frozen on {day:date} (SHA-256 {hash}).", day=frozen["date"], hash=frozen["hash"]
            ),
            Text("{n:# difference|# differences} since.", n=len(changes))
            if changes
            else Text("Nothing was changed since."),
        ),
        tables=(Table(Text("Differences from the frozen plan"), head, rows),) if rows else (),
    )


def _origin(provenance: Provenance | None) -> Iterator[Section]:
    """Yield the section on the command, the files and the versions that made the baseline."""
    if provenance is None:
        return
    rows: list[tuple[Cell, ...]] = [
        (str(file["file"]), f"sha256 {file['sha256']}") for file in provenance.inputs
    ]
    rows += list(provenance.versions.items())
    yield Section(
        "origin",
        Text("How this report was made"),
        (
            Text("This command reproduces the report byte for byte from the same files:"),
            Text("{command} --out hb", command=provenance.command),
        ),
        tables=(Table(Text("Files and versions"), (), tuple(rows)),),
    )


def _instruction(files: Mapping[str, bytes], language: Language) -> tuple[Language, Markup] | None:
    """Return the instruction, in this language if there is one; HTML inside stays text, and images are not loaded."""
    for known in (language, *LANGUAGES):
        if (name := INSTRUCTION_FILES[known]) in files:
            return known, Markup(html_of(files[name].decode("utf-8", "replace")))  # noqa: S704 - HTML is escaped
    return None


def _example(study: PlannedBaseline) -> list[tuple[str, str]]:
    """Return the first item: its fields, or the letters of options, and their texts."""
    if study.evidence is None or not study.evidence.consensus.height:
        return []
    consensus, letters = study.evidence.consensus, option_letters(study.evidence)
    row = consensus.sort("item").row(0, named=True)
    named = ((name, row[name]) for name in shown_fields(consensus) if row[name] not in {None, ""})
    return [(letters.get(name, name), str(text)[:1200]) for name, text in named]
