"""Further files of a report: cards, cost report, checklist, and tables for a paper."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

import polars as pl

from merilo.bilingual import Language
from merilo.errors import DataError
from merilo.reports.cost_report import CostLine, cost_json, cost_message, cost_report, pool_costs
from merilo.reports.dataset_card import built_metadata, dataset_card, metadata_text
from merilo.reports.json_record import text_at
from merilo.reports.metadata_card import META_FILE, metadata_with_human_benchmark
from merilo.reports.paper_tables import Format, paper_files
from merilo.reports.prose import human_baseline_section
from merilo.reports.readme_section import readme_with_section
from merilo.reports.report_source import Producer, ReportSource
from merilo.reports.reporting_checklist import (
    checklist_json,
    checklist_latex,
    checklist_markdown,
    reporting_checklist,
)
from merilo.strict_json import Json, indented

_LANGUAGES: Final[tuple[Language, ...]] = ("ru", "en")
_FORMATS: Final[tuple[Format, ...]] = ("latex", "markdown", "csv")

#: The names of rendered cards.
_CARDS: Final[Mapping[Language, str]] = {"en": "README.md", "ru": "README_ru.md"}

#: The files of a dataset that a report completes.
CARD_FILES: Final = (META_FILE, "raw_readme_ru.json", "raw_readme_en.json")


def cost_details(
    content: Mapping[str, Json], responses: pl.DataFrame, experts: Mapping[str, Json] | None
) -> dict[str, Json]:
    """Return the costs by group of people and by pool.

    Args:
        content: the baseline as JSON.
        responses: the raw responses.
        experts: the JSON of `merilo experts baseline`.
    """
    return cost_json(_arms(content, experts), _pools(content, responses))


def cards(source: ReportSource) -> dict[str, bytes]:
    """Make the section "Human baseline" in both languages, and the dataset's files with it, if they were given."""
    files = {}
    for language in _LANGUAGES:
        section = human_baseline_section(
            source.content, source.plan, language, experts=source.experts, platform=source.platform
        )
        files[f"cards/human_baseline_{language}.md"] = f"{section}\n".encode()
        name = f"raw_readme_{language}.json"
        if name in source.cards:
            files[f"cards/{name}"] = readme_with_section(source.cards[name], section, name)
    if META_FILE in source.cards and not why_no_figure(source):
        card = metadata_with_human_benchmark(source.cards[META_FILE], source.experts or source.content)
        files[f"cards/{META_FILE}"] = card.content
        files |= _rendered(card.content, files, source)
    return files


def _rendered(raw_meta: bytes, files: Mapping[str, bytes], source: ReportSource) -> dict[str, bytes]:
    """Render the dataset's cards from its files with the human baseline; its size needs the items of the test."""
    meta = _content(raw_meta)
    made = {}
    if source.test is not None:
        meta = built_metadata(meta, source.test)
        made["cards/dataset_meta.json"] = metadata_text(meta).encode()
    for language, name in _CARDS.items():
        readme = files.get(f"cards/raw_readme_{language}.json")
        if readme is not None:
            made[f"cards/{name}"] = dataset_card(meta, _content(readme), language).encode()
    return made


def _content(text: bytes) -> dict[str, Json]:
    found = json.loads(text.decode("utf-8-sig"))
    return found if isinstance(found, dict) else {}


def why_no_figure(source: ReportSource) -> str:
    """Return why the metadata cannot get the figure; empty if it can, or if no metadata was given."""
    if META_FILE not in source.cards:
        return ""
    try:
        metadata_with_human_benchmark(source.cards[META_FILE], source.experts or source.content)
    except DataError as error:
        return str(error)
    return ""


def costs(source: ReportSource) -> dict[str, bytes]:
    """Make the cost report and the message with it, in both languages."""
    arms, pools = _arms(source.content, source.experts), _pools(source.content, source.responses)
    files = {}
    for language in _LANGUAGES:
        report = cost_report(arms, language, pools=pools, plan=source.plan)
        message = cost_message(
            arms, source.plan, language, pools=pools, experts=source.experts, platform=source.platform,
            submitted=META_FILE in source.cards,
        )  # fmt: skip
        files[f"cost/cost_report_{language}.md"] = f"{report}\n".encode()
        files[f"cost/message_{language}.txt"] = message.encode()
    return files


def checklist(source: ReportSource) -> dict[str, bytes]:
    """Make the reporting checklist in Markdown, JSON and LaTeX."""
    found = reporting_checklist(
        source.content, source.plan, frozen=source.frozen, experts=source.experts, platform=source.platform
    )
    return {
        "checklist/checklist.md": checklist_markdown(found).encode(),
        "checklist/checklist.json": f"{indented(checklist_json(found))}\n".encode(),
        "checklist/checklist.tex": checklist_latex(found).encode(),
    }


def paper(source: ReportSource) -> dict[str, bytes]:
    """Make the tables and the methods paragraph for a paper in every format."""
    return {
        f"paper/{form}/{name}": text.encode()
        for form in _FORMATS
        for name, text in paper_files(
            source.content, source.plan, form, experts=source.experts, platform=source.platform
        ).items()
    }


#: Every function that makes further files, in the order in which they run.
PRODUCERS: Final[tuple[Producer, ...]] = (cards, costs, checklist, paper)


def _arms(content: Mapping[str, Json], experts: Mapping[str, Json] | None) -> dict[str, Mapping[str, Json]]:
    return {"people": content, **({"experts": experts} if experts else {})}


def _pools(content: Mapping[str, Json], responses: pl.DataFrame) -> list[CostLine]:
    return pool_costs(responses, text_at(content, "cost", "currency"))
