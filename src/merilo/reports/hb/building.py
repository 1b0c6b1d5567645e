"""Building a folder `hb/` from a baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from merilo.atomic_write import new_folder, refuse_existing, write_files
from merilo.errors import for_command_line
from merilo.reports.hb import plots
from merilo.reports.hb.expert_raw import EXPERTS_RAW
from merilo.reports.hb.manifest import COSTS_FILE, MANIFEST, METRICS_FILE, Manifest, entry_of_file
from merilo.reports.hb.notebook_file import NOTEBOOK_FILE, notebook_file
from merilo.reports.hb.producers import PRODUCERS, cost_details, why_no_figure
from merilo.reports.hb.raw_study import RAW
from merilo.reports.hb.readme_files import readme_files
from merilo.reports.hb.recomputation import Recomputed
from merilo.reports.hb.sources import EXPERTS_FILE, read_source
from merilo.reports.hb.verification import COST_KEYS, DETAILS_KEY
from merilo.reports.plan_record import CHANGES_FILE
from merilo.reports.report_source import ReportSource
from merilo.strict_json import Json, indented
from merilo.version import __version__

#: The subfolder for the plan: the settings, and the files of a study that was planned with Merilo.
_PLAN: Final = "plan"


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


def write_hb(
    source: Path,
    out: Path,
    *,
    experts: Path | None = None,
    cards: Path | None = None,
    with_gold: bool = False,
    force: bool = False,
) -> HbFolder:
    """Write the folder `hb/` of a baseline.

    Args:
        source: the folder of a baseline, or of a study; see `sources.read_source`.
        out: the new folder.
        experts: the JSON of `merilo experts baseline`, or its folder.
        cards: the folder of the dataset, whose cards get the human baseline.
        with_gold: include gold answers that the dataset declares closed.
        force: replace an existing one.

    Raises:
        InputError: the source is neither, or its files are damaged.
        DataError: recomputing the baseline from its raw answers gives other values.
        OutputError: the folder exists and `force` is not given, or it contains the source.
    """
    refuse_existing(out, force=force, needed=[source, *(one for one in (experts, cards) if one)])
    read, made = read_source(source, experts=experts, cards=cards, with_gold=with_gold)
    files = hb_files(read, made)
    with new_folder(out, force=force) as place:
        write_files(place, files)
    return HbFolder(out, tuple(sorted(files)), _remarks(read, made), made.content)


def hb_files(source: ReportSource, made: Recomputed) -> dict[str, bytes]:
    """Return all files of the folder by name; the same source gives the same bytes."""
    content = made.content
    files = {f"{RAW}/{name}": data for name, data in made.raw.to_files().items()}
    files |= {f"{RAW}/{EXPERTS_RAW}/{name}": data for name, data in source.expert_raw.items()}
    files |= made.tables()
    # The manifest has the provenance.
    metrics = {key: value for key, value in content.items() if key not in {*COST_KEYS, "provenance"}}
    files[METRICS_FILE] = _json(metrics)
    details = cost_details(content, source.responses, source.experts)
    files[COSTS_FILE] = _json({**{key: content[key] for key in COST_KEYS}, DETAILS_KEY: details})
    if source.experts:
        # The provenance of the experts' baseline names folders of the author's machine.
        files[EXPERTS_FILE] = _json({key: one for key, one in source.experts.items() if key != "provenance"})
    files[f"{_PLAN}/settings.json"] = _json(made.raw.keywords)
    files |= {f"{_PLAN}/{name}": data for name, data in source.attachments.items()}
    files["report.html"] = made.page(source).encode()
    files["items.html"] = made.item_page().encode()
    files |= plots.plot_files(made)
    for producer in PRODUCERS:
        files |= producer(source)
    files[NOTEBOOK_FILE] = notebook_file(made.raw, str(content.get("dataset") or source.folder.name))
    files |= readme_files(content, files, version=__version__, plots_only_svg=not plots.has_matplotlib())
    return {**files, MANIFEST: _manifest(files, made).to_bytes()}


def _json(content: Mapping[str, Json]) -> bytes:
    return f"{for_command_line(indented({**content}))}\n".encode()


def _manifest(files: Mapping[str, bytes], made: Recomputed) -> Manifest:
    made_by = made.content["provenance"]
    versions: dict[str, Json] = {"merilo": __version__}
    for name in ("numpy", "polars", "scipy", *(["matplotlib"] if plots.has_matplotlib() else [])):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = None
    return Manifest(
        {name: entry_of_file(name, data) for name, data in sorted(files.items())},
        versions,
        made_by if isinstance(made_by, dict) else {},
    )


def _remarks(source: ReportSource, made: Recomputed) -> tuple[str, ...]:
    remarks = []
    if made.raw.gold is None:
        remarks.append("the baseline has no gold answers, so hb/ has no metric")
    elif made.raw.gold.withheld:
        remarks.append(
            "the gold answers of this dataset are closed, so hb/ has none of them and nothing per item that follows from them "
            "(the option with-gold of merilo report includes them)"
        )
        sure = [name for name, one in made.baseline.estimates.main.items() if one.score.value in {0, 1}]
        if sure:
            remarks.append(
                f"{sure[0]} is {made.baseline.estimates.main[sure[0]].score.value:g}, so the gold answers follow from the consensus: do not "
                "publish raw/, consensus.csv and items.html"
            )
    if made.baseline.programs:
        remarks.append(
            "hb/ has the verdicts on the programs, not the programs: verify does not run them again"
        )
    if made.content.get("status") == "rejected":
        remarks.append("the baseline is rejected, and every file of hb/ says so")
    if made.content.get("status") == "check the controls":
        remarks.append(
            "the control items must be checked before the baseline is published: see the warnings in report.html"
        )
    if reason := why_no_figure(source):
        remarks.append(reason)
    changes = source.attachments.get(CHANGES_FILE, b"[]")
    if changes.strip() != b"[]":
        remarks.append(f"the plan was changed after it was frozen: plan/{CHANGES_FILE} lists the changes")
    if source.plan is None:
        remarks.append("there is no study.yaml, so plan/ holds only the settings")
    if not plots.has_matplotlib():
        remarks.append(
            "Matplotlib is not installed, so plots are SVG only (pip install 'merilo[plots]' adds PDF and PNG)"
        )
    return tuple(remarks)
