"""`merilo.report`: build the folder `hb/` of a published baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from merilo.atomic_write import new_folder, refuse_existing, write_files
from merilo.baselines.record import COSTS_FILE, EXPERTS_FILE, METRICS_FILE
from merilo.errors import DataError
from merilo.reports.checklist import (
    checklist_json,
    checklist_latex,
    checklist_markdown,
    reporting_checklist,
)  # fmt: skip
from merilo.reports.cost_report import cost_message, cost_report
from merilo.reports.dataset_card import built_metadata, dataset_card, metadata_text
from merilo.reports.hb import plots
from merilo.reports.hb.expert_raw import EXPERTS_RAW
from merilo.reports.hb.notebook_file import NOTEBOOK_FILE, notebook_file
from merilo.reports.hb.raw_study import RAW
from merilo.reports.hb.readme_files import readme_files
from merilo.reports.hb.recomputation import arms, cost_details, pools
from merilo.reports.hb.sources import ReportSource, read_source
from merilo.reports.hb.verification import (
    COST_KEYS,
    DETAILS_KEY,
    MANIFEST,
    manifest_file,
)
from merilo.reports.metadata_card import META_FILE, metadata_with_human_benchmark, readme_with_section
from merilo.reports.page import CHANGES_FILE
from merilo.reports.paper import Format, paper_files
from merilo.reports.prose import human_baseline_section
from merilo.strict_json import Json, as_text, indented, parse_json
from merilo.text import LANGUAGES, Language
from merilo.version import __version__

#: The subfolder for the plan: the settings, and the files of a study that was planned with Merilo.
_PLAN: Final = "plan"

_FORMATS: Final[tuple[Format, ...]] = ("latex", "markdown", "csv")

#: The names of rendered cards.
_CARDS: Final[Mapping[Language, str]] = {"en": "README.md", "ru": "README_ru.md"}


@dataclass(frozen=True, slots=True)
class HbFolder:
    """A folder `hb/` that was written.

    Attributes:
        folder: the folder.
        files: the names of its files.
        remarks: what the user should know about it, a sentence each.
        content: the baseline as JSON.
    """

    folder: Path
    files: tuple[str, ...]
    remarks: tuple[str, ...]
    content: Mapping[str, Json]


def report(
    source: str | Path,
    out: str | Path,
    *,
    experts: str | Path | None = None,
    cards: str | Path | None = None,
    with_gold: bool = False,
    force: bool = False,
) -> HbFolder:
    """Write the folder `hb/` of a baseline, as `merilo report` does.

    Args:
        source: a folder that `BaselineResult.save` or `merilo baseline --out` wrote, or the folder of a study.
        out: a new folder.
        experts: for an expert dataset, the JSON of `merilo experts baseline`, or the folder that it wrote.
        cards: the dataset's folder with `raw_dataset_meta.json` and `raw_readme_*.json`; copies of them with the human
            baseline are written to `cards/`.
        with_gold: include gold answers that the dataset declares closed; by default they are withheld, with
            everything per item that follows from them.
        force: replace an existing one.

    Returns:
        The folder with the names of its files and remarks for the user.

    Raises:
        InputError: the source is not such a folder, or its files are damaged.
        DataError: recomputing the baseline from its raw answers gives other values.
        OutputError: the folder exists and `force` is not given, or it contains the source.
    """
    folder, place = Path(source), Path(out)
    others = [None if path is None else Path(path) for path in (experts, cards)]
    refuse_existing(place, force=force, needed=[folder, *filter(None, others)])
    read = read_source(folder, experts=others[0], cards=others[1], with_gold=with_gold)
    files = _files(read)
    with new_folder(place, force=force) as new:
        write_files(new, files)
    return HbFolder(place, tuple(sorted(files)), _remarks(read), read.content)


def _files(source: ReportSource) -> dict[str, bytes]:
    """Return all files of the folder by name; the same source gives the same bytes."""
    made, content = source.made, source.content
    files = {f"{RAW}/{name}": data for name, data in made.raw.to_files().items()}
    files |= {f"{RAW}/{EXPERTS_RAW}/{name}": data for name, data in source.expert_raw.items()}
    files |= made.tables()
    # The manifest has the provenance.
    metrics = {key: value for key, value in content.items() if key not in {*COST_KEYS, "provenance"}}
    files[METRICS_FILE] = as_text(metrics).encode()
    details = cost_details(made, source.experts)
    files[COSTS_FILE] = as_text({**{key: content[key] for key in COST_KEYS}, DETAILS_KEY: details}).encode()
    if source.experts:
        # The provenance of the experts' baseline names folders of the author's machine.
        published = {key: value for key, value in source.experts.items() if key != "provenance"}
        files[EXPERTS_FILE] = as_text(published).encode()
    files[f"{_PLAN}/settings.json"] = as_text(made.raw.keywords).encode()
    files |= {f"{_PLAN}/{name}": data for name, data in source.attachments.items()}
    page = made.page(plan=source.plan, attachments=source.attachments, experts=source.experts)
    files["report.html"] = page.encode()
    files["items.html"] = made.item_page().encode()
    files |= plots.plot_files(made)
    files |= {**_cards(source), **_costs(source), **_checklist(source), **_paper(source)}
    files[NOTEBOOK_FILE] = notebook_file(made.raw, str(content.get("dataset") or source.folder.name))
    files |= readme_files(made.record, files, version=__version__, plots_only_svg=not plots.has_matplotlib())
    drawn_with = ["matplotlib"] if plots.has_matplotlib() else []
    return {**files, MANIFEST: manifest_file(files, content["provenance"], drawn_with)}


def _cards(source: ReportSource) -> dict[str, bytes]:
    """Make the section "Human baseline" in both languages, and the dataset's files with it, if they were given."""
    files = {}
    for language in LANGUAGES:
        section = human_baseline_section(
            source.made.record, source.plan, language, experts=source.experts, platform=source.platform
        )
        files[f"cards/human_baseline_{language}.md"] = f"{section}\n".encode()
        name = f"raw_readme_{language}.json"
        if name in source.cards:
            files[f"cards/{name}"] = readme_with_section(source.cards[name], section, name)
    if META_FILE in source.cards and not _why_no_figure(source):
        card = metadata_with_human_benchmark(source.cards[META_FILE], source.experts or source.content)
        files[f"cards/{META_FILE}"] = card.content
        files |= _rendered(card.content, files, source)
    return files


def _rendered(raw_meta: bytes, files: Mapping[str, bytes], source: ReportSource) -> dict[str, bytes]:
    """Render the dataset's cards from its files with the human baseline; its size needs the items of the test."""
    meta = _content(raw_meta, META_FILE)
    rendered = {}
    if source.test is not None:
        meta = built_metadata(meta, source.test)
        rendered["cards/dataset_meta.json"] = metadata_text(meta).encode()
    for language, name in _CARDS.items():
        path = f"cards/raw_readme_{language}.json"
        if path in files:
            card = dataset_card(meta, _content(files[path], path), language)
            rendered[f"cards/{name}"] = card.encode()
    return rendered


def _content(text: bytes, name: str) -> dict[str, Json]:
    content = parse_json(text.decode("utf-8-sig"), file=name)
    return content if isinstance(content, dict) else {}


def _why_no_figure(source: ReportSource) -> str:
    """Return why the metadata cannot get the estimate; empty if it can, or if no metadata was given."""
    if META_FILE not in source.cards:
        return ""
    try:
        metadata_with_human_benchmark(source.cards[META_FILE], source.experts or source.content)
    except DataError as error:
        return str(error)
    return ""


def _costs(source: ReportSource) -> dict[str, bytes]:
    """Make the cost report and the message with it, in both languages."""
    asked, by_pool = arms(source.made.record, source.experts), pools(source.made)
    files = {}
    for language in LANGUAGES:
        text = cost_report(asked, language, pools=by_pool, plan=source.plan)
        message = cost_message(
            asked,
            source.plan,
            language,
            pools=by_pool,
            platform=source.platform,
            submitted=META_FILE in source.cards,
        )
        files[f"cost/cost_report_{language}.md"] = f"{text}\n".encode()
        files[f"cost/message_{language}.txt"] = message.encode()
    return files


def _checklist(source: ReportSource) -> dict[str, bytes]:
    """Make the reporting checklist in Markdown, JSON and LaTeX."""
    answered = reporting_checklist(
        source.made.record,
        source.plan,
        frozen=source.frozen,
        experts=source.experts,
        platform=source.platform,
    )
    return {
        "checklist/checklist.md": checklist_markdown(answered).encode(),
        "checklist/checklist.json": f"{indented(checklist_json(answered))}\n".encode(),
        "checklist/checklist.tex": checklist_latex(answered).encode(),
    }


def _paper(source: ReportSource) -> dict[str, bytes]:
    """Make the tables and the methods paragraph for a paper in every format."""
    return {
        f"paper/{form}/{name}": text.encode()
        for form in _FORMATS
        for name, text in paper_files(
            source.made.record, source.plan, form, experts=source.experts, platform=source.platform
        ).items()
    }


def _remarks(source: ReportSource) -> tuple[str, ...]:
    made, remarks = source.made, []
    if made.raw.gold is None:
        remarks.append("the baseline has no gold answers, so hb/ has no metric")
    elif made.raw.gold.withheld:
        remarks.append(
            "the gold answers of this dataset are closed, so hb/ has none of them and nothing per item that follows "
            "from them (the option with-gold of merilo report includes them)"
        )
        values = {name: estimate.score.value for name, estimate in made.baseline.estimates.main.items()}
        sure = [f"{name} is {value:g}" for name, value in values.items() if value in {0, 1}]
        if sure:
            remarks.append(
                f"{sure[0]}, so the gold answers follow from the consensus: do not publish raw/, "
                "consensus.csv and items.html"
            )
    if made.baseline.programs:
        remarks.append(
            "hb/ has the verdicts on the programs, not the programs: verify does not run them again"
        )
    if source.content.get("status") == "rejected":
        remarks.append("the baseline is rejected, and every file of hb/ says so")
    if source.content.get("status") == "check the controls":
        remarks.append(
            "the control items must be checked before the baseline is published: see the warnings in report.html"
        )
    if reason := _why_no_figure(source):
        remarks.append(reason)
    if source.attachments.get(CHANGES_FILE, b"[]").strip() != b"[]":
        remarks.append(f"the plan was changed after it was frozen: plan/{CHANGES_FILE} lists the changes")
    if source.plan is None:
        remarks.append("there is no study.yaml, so plan/ holds only the settings")
    if not plots.has_matplotlib():
        remarks.append(
            "Matplotlib is not installed, so plots are SVG only (pip install 'merilo[plots]' adds PDF and PNG)"
        )
    return tuple(remarks)
