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
from merilo.reports.html_page import html_page
from merilo.reports.messages import arms_of
from merilo.reports.table import Cell, Section, Table, cell_text, html_section, html_table, words
from merilo.strict_json import Json
from merilo.studies.instruction import html_of
from merilo.studies.plan_types import FROZEN_FILE, INSTRUCTION_FILES
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
    result, *others = facts(study)
    lead, *sentences = result.sentences
    paper = methods(arms_of(study.record, study.plan))
    folded = [*others, paper, *_plan(files), *_origin(study.record.provenance)]
    parts = [
        Markup("<details><summary><h2>{}</h2></summary>\n{}\n</details>").format(
            words(section.title or "", language), html_section(section._replace(title=None), language)
        )
        for section in folded
        if section.sentences or section.remarks or section.tables
    ]
    asked = _asked(study, files, language)
    return Markup("\n").join(
        [
            _header(study, result, lead, language),
            _cards(study, language),
            Markup("<p>{}</p>").format(" ".join(words(text, language) for text in sentences)),
            *(html_table(table, language) for table in result.tables if table.head),
            *(html_section(section, language) for section in more),
            *parts[:2],
            *([asked] if asked else []),
            *parts[2:],
        ]
    )


def _models(rows: Sequence[Row]) -> Iterator[Section]:
    """Yield the section on models beside people; none without models."""
    if rows:
        yield rows_section(Text("People and models"), rows, rows)


def _header(study: PlannedBaseline, result: Section, lead: Text, language: Language) -> Markup:
    """Return the heading, the status, the result in one sentence, and what spoils it."""
    kind = {"accepted": "neutral" if study.record.findings else "good", "rejected": "bad"}.get(
        study.record.status, "warning"
    )
    badges = [Markup('<p class="badge {}">{}</p>').format(kind, words(status(study.record), language))]
    if study.record.simulated:
        badges.append(
            Markup('<p class="badge warning">{}</p>').format(words(Text("simulated annotators"), language))
        )
    remarks = Markup("").join(Markup("<li>{}</li>").format(words(text, language)) for text in result.remarks)
    return Markup(
        '<header>\n<p class="kicker">{}</p>\n<h1>{}</h1>\n{}\n<p class="lead">{}</p>\n{}</header>'
    ).format(
        words(Text("Human baseline"), language),
        words(study.title or Text("A study"), language),
        Markup("\n").join(badges),
        words(lead, language),
        Markup('<ul class="findings">{}</ul>\n').format(remarks) if remarks else "",
    )


def _cards(study: PlannedBaseline, language: Language) -> Markup:
    """Return people, items, agreement and cost as boxes."""
    boxes = (
        Markup("<div><small>{}</small><b>{}</b><small>{}</small></div>").format(
            *(cell_text(cell, language) for cell in (name, value, detail))
        )
        for name, value, detail in overview(study.record)
    )
    return Markup('<div class="cards">{}</div>').format(Markup("\n").join(boxes))


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
            Text("{command}", command=provenance.command),
        ),
        tables=(Table(Text("Files and versions"), (), tuple(rows)),),
    )


def _asked(study: PlannedBaseline, files: Mapping[str, bytes], language: Language) -> Markup | None:
    """Return what annotators were asked: the instruction and the first item; `None` if neither is known.

    HTML inside an instruction stays text, and images are not loaded.
    """
    known = [
        known_language
        for known_language in (language, *LANGUAGES)
        if INSTRUCTION_FILES[known_language] in files
    ]
    parts = []
    if known:
        text = Markup(html_of(files[INSTRUCTION_FILES[known[0]]].decode("utf-8", "replace")))  # noqa: S704 - HTML is escaped
        parts.append(Markup('<div class="instruction" lang="{}">{}</div>').format(known[0], text))
    if study.evidence is not None and study.evidence.consensus.height:
        consensus = study.evidence.consensus
        row = consensus.sort("item").row(0, named=True)
        letters = option_letters(study.evidence)
        lines = (
            Markup("<dt>{}</dt><dd>{}</dd>").format(letters.get(name, name), str(row[name])[:1200])
            for name in shown_fields(consensus)
            if row[name] not in {None, ""}
        )
        example = Markup('<p class="note">{}</p><dl class="example">{}</dl>')
        parts.append(
            example.format(words(Text("The first item of the study:"), language), Markup("").join(lines))
        )
    if not parts:
        return None
    title = words(Text("What annotators were asked"), language)
    return Markup("<details><summary><h2>{}</h2></summary>\n{}\n</details>").format(
        title, Markup("\n").join(parts)
    )
