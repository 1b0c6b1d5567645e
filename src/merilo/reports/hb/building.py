"""`merilo.report`: build the folder `hb/` of a published baseline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from merilo.atomic_write import new_folder, refuse_existing, write_files
from merilo.baselines.arms import EXPERTS
from merilo.baselines.baseline import COSTS_FILE, METRICS_FILE, Baseline
from merilo.errors import DataError
from merilo.records import mapping_at
from merilo.reports.baseline_facts import baseline_facts
from merilo.reports.checklist import (
    Checklist,
    checklist_json,
    checklist_latex,
    checklist_markdown,
    reporting_checklist,
)  # fmt: skip
from merilo.reports.cost_report import cost_message, cost_report
from merilo.reports.dataset_card import (
    HUMAN,
    HUMAN_EXPERT,
    META_FILE,
    built_metadata,
    dataset_card,
    metadata_text,
    metadata_with_human_benchmark,
    readme_with_section,
)
from merilo.reports.hb.notebook_file import NOTEBOOK_FILE, notebook_file
from merilo.reports.hb.raw_study import RAW
from merilo.reports.hb.recomputation import cost_details, pools
from merilo.reports.hb.registries import (
    BIBTEX_FILE,
    CITATION_FILE,
    CROISSANT_FILE,
    Publication,
    front_matter,
    registry_files,
)
from merilo.reports.hb.sources import ReportSource, read_source
from merilo.reports.hb.verification import (
    COST_KEYS,
    DETAILS_KEY,
    MANIFEST,
    manifest_file,
)
from merilo.reports.hb.withholding import LEAST_ITEMS
from merilo.reports.page import CHANGES_FILE
from merilo.reports.paper import Format, paper_files
from merilo.reports.prose import ARM_HEADS, human_baseline_section, main_result
from merilo.strict_json import Json, as_text, indented, parse_json
from merilo.text import LANGUAGES, Language, Text, joined
from merilo.version import __version__

#: The README that the hub shows as the dataset's card.
CARD_README: Final = "README.md"

README_FILES: Final[dict[str, Language]] = {CARD_README: "en", "README_ru.md": "ru"}

#: The beginning of the names of instructions.
_INSTRUCTION: Final = "plan/instruction"

#: File, or folder ending in `/` -> what it is.
_FILES: Final = {
    "raw/responses.csv": Text(
        "all answers of the export, one row per answer: item, annotator (a pseudonym), answer, known "
        "answer of a control item, page, times, reward"
    ),
    "raw/items.csv": Text("all items as annotators saw them, with the numbers used in the other files"),
    "raw/gold.jsonl": Text("the gold answers of the items"),
    "raw/ids.jsonl": Text("the dataset's ids of the items, and the fields by which results are grouped"),
    "raw/skills.csv": Text("the platform's skills of annotators, which are used to break ties"),
    "raw/other.csv": Text("the annotators' answers to other datasets, as numbers"),
    "raw/dataset.yaml": Text("the declaration of the dataset: kind of answers and metrics"),
    "raw/population.csv": Text("the strata of the whole dataset with their numbers of items"),
    "raw/strata.csv": Text("the stratum of every item that people answered"),
    "raw/models/": Text("the answers of the models that are compared with people"),
    "raw/reading.json": Text(
        "other information on the export (dropped rows, pages without answers), and the settings of "
        "the baseline"
    ),
    "raw/experts/": Text(
        "the same files of the experts: their answers, their marks on questions of their own, times and pay"
    ),
    "annotators.csv": Text("all annotators: answers, accuracy on control items, time, exclusion"),
    "consensus.csv": Text("all items: answers, consensus, the step that decided it, gold answer"),
    "doubtful.csv": Text(
        "the items whose gold answer may be wrong, with typing errors and how reliable the annotators are"
    ),
    "metrics.json": Text(
        "all values except costs: metrics with intervals, counts, agreement, groups, sensitivity"
    ),
    "costs.json": Text("costs and time: total, pages, hours, hourly pay"),
    "plan/settings.json": Text("the settings of the baseline"),
    "plan/study.yaml": Text("the plan of the study"),
    "plan/frozen.json": Text("the date and hash of the frozen plan"),
    "plan/plan.md": Text("the plan in figures: answers, people, hours, pay, expected interval, power"),
    "plan/plan.json": Text("the same figures as JSON"),
    "plan/subset.csv": Text(
        "the distribution of every field in the dataset and in the items that people answered"
    ),
    "plan/subset.svg": Text("the same as a plot"),
    "plan/weights.csv": Text("the number of items of the dataset for which each item stands"),
    _INSTRUCTION: Text("the instruction that annotators read"),
    "plan/changes.json": Text("the changes of the plan after it was frozen"),
    "experts/": Text("annotators and items of the experts, as in the two tables above"),
    "cards/": Text(
        "the section \"Human baseline\" of the dataset's cards in both languages, and the dataset's "
        "metadata and cards with it, if they were given"
    ),
    "cost/": Text("the cost report and the message with it, ready to send, in both languages"),
    "checklist/": Text(
        "the reporting checklist for human baselines, filled in from the study, in Markdown, JSON and LaTeX"
    ),
    "paper/": Text("tables, the methods paragraph and references for a paper, in LaTeX, Markdown and CSV"),
    CROISSANT_FILE: Text("the description of the tables for dataset registries, in the format Croissant"),
    CITATION_FILE: Text("how to cite the baseline, in the Citation File Format"),
    BIBTEX_FILE: Text("the same for BibTeX"),
    "items.html": Text("a page with every item and all its answers"),
    "report.html": Text("the report as a page, in English and Russian"),
    "hb.ipynb": Text(
        "a notebook that recomputes every published value from `raw/`; Run All needs only `merilo`"
    ),
    "manifest.json": Text("the SHA-256 of every file, the versions and the parameters"),
}

#: What the files hold if the gold answers are withheld.
_WITHHELD_FILES: Final = {
    "consensus.csv": Text(
        "all items: answers, consensus, the step that decided it; the columns of gold answers are empty"
    ),
    "metrics.json": Text("all published values except costs: metrics with intervals, counts, agreement"),
    "hb.ipynb": Text(
        "a notebook that recomputes from `raw/` every value that needs no gold answers; Run All needs"
        " only `merilo`"
    ),
}


def readme_files(record: Baseline, names: Iterable[str], *, version: str) -> dict[str, bytes]:
    """Return the README in both languages.

    Args:
        record: the baseline.
        names: the names of all other files of the folder.
        version: the version of Merilo.
    """
    files = sorted({*names, "manifest.json"})
    readme = joined(_paragraphs(record, files, version), "\n\n")
    return {name: f"{readme.in_language(language)}\n".encode() for name, language in README_FILES.items()}


def _paragraphs(record: Baseline, files: list[str], version: str) -> Iterator[Text | str]:
    yield Text("# Human baseline: {name}", name=record.dataset or Text("a study"))
    if record.status == "rejected":
        yield Text(
            "**The baseline is rejected: too many items have no majority, and the estimate must not be used.**"
        )
    if record.status == "check the controls":
        yield Text(
            "**Check the control items: many of them may have a wrong known answer, or they exclude half of the "
            "annotators.**"
        )
    if record.simulated:
        yield Text("**The annotators are simulated.**")
    for name, arm in record.by_arm.items():
        head = [ARM_HEADS.get(name, f"{name}.")] if record.arms else []
        yield joined([*head, *main_result(arm)])
    withheld = record.gold is not None and record.gold.withheld
    if record.gold is None:
        yield Text(
            "The gold answers are closed or unknown: the files do not contain them, so there are counts, agreement and "
            "cost, but no metric."
        )
    if withheld:
        yield Text(
            "The gold answers of this dataset are closed: the files contain neither them nor anything per item that "
            "follows from them. The metrics were computed with them and cannot be recomputed from "
            "this folder; groups of "
            "fewer than {least} items have no metric.",
            least=LEAST_ITEMS,
        )
        sure = [(name, one.value) for name, one in record.main_metrics.items()][:1]
        for name, value in sure:
            if value in {0, 1}:
                yield Text(
                    "**{metric} is {value}, so the gold answers follow from the consensus: keep "
                    "`raw/`, `consensus.csv` "
                    "and `items.html` private.**",
                    metric=name,
                    value=int(value),
                )
    yield joined([Text("| file | content |"), "| --- | --- |", *_rows(files, withheld=withheld)], "\n")
    yield Text("Annotators and pages have pseudonyms, which are the same in all files.")
    if "plan/study.yaml" not in files:
        yield Text(
            "The study has no plan made with Merilo; `plan/settings.json` contains the settings that were used."
        )
    yield Text(
        "To verify the values, install Merilo {version} and run this command in the folder above:",
        version=version,
    )
    yield "```console\nmerilo report verify hb\n```"
    if withheld:
        yield Text(
            "The command recomputes from `raw/` every value that needs no gold answers, lists those that differ, and "
            "names the values that it cannot recompute."
        )
    else:
        yield Text("The command recomputes every value from `raw/` and lists those that differ.")


def _rows(files: list[str], *, withheld: bool) -> Iterator[Text]:
    """Return a row of the table for each file, and for each folder whose files have one description."""
    for name, content in (_FILES | _WITHHELD_FILES if withheld else _FILES).items():
        if name == _INSTRUCTION:
            shown = [file for file in files if file.startswith(name)]
        elif name.endswith("/"):
            shown = [name] if any(file.startswith(name) for file in files) else []
        else:
            shown = [file for file in files if file == name]
        for file in shown:
            yield joined([f"| `{file}` |", content, "|"])


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
    cards: str | Path | None = None,
    with_gold: bool = False,
    authors: Sequence[str] = (),
    licence: str | None = None,
    repo: str | None = None,
    force: bool = False,
) -> HbFolder:
    """Write the folder `hb/` of a baseline, as `merilo report` does.

    Args:
        source: a folder that `BaselineResult.save` or `merilo baseline --out` wrote, or the folder of a study.
        out: a new folder.
        cards: the dataset's folder with `raw_dataset_meta.json` and `raw_readme_*.json`; copies of them with the human
            baseline are written to `cards/`.
        with_gold: include gold answers that the dataset declares closed; by default they are withheld, with
            everything per item that follows from them.
        authors: who made the baseline, for citations and registries.
        licence: of its data, an identifier of SPDX such as CC-BY-4.0.
        repo: its repository on the Hugging Face hub, `owner/name`.
        force: replace an existing one.

    Returns:
        The folder with the names of its files and remarks for the user.

    Raises:
        InputError: the source is not such a folder, or its files are damaged.
        DataError: recomputing the baseline from its raw answers gives other values.
        OutputError: the folder exists and `force` is not given, or it contains the source.
    """
    folder, place = Path(source), Path(out)
    dataset = None if cards is None else Path(cards)
    refuse_existing(place, force=force, needed=[folder, *([dataset] if dataset else [])])
    publication = Publication(authors=tuple(authors), licence=licence, repo=repo)
    read = read_source(folder, cards=dataset, with_gold=with_gold)
    files = _files(read, publication)
    with new_folder(place, force=force) as new:
        write_files(new, files)
    return HbFolder(place, tuple(sorted(files)), _remarks(read, publication), read.content)


def _files(source: ReportSource, publication: Publication) -> dict[str, bytes]:
    """Return all files of the folder by name; the same source gives the same bytes."""
    made, content = source.made, source.content
    files = {f"{RAW}/{name}": data for name, data in made.raw.to_files().items()}
    files |= made.tables()
    # The manifest has the provenance.
    metrics = {key: value for key, value in content.items() if key not in {*COST_KEYS, "provenance"}}
    files[METRICS_FILE] = as_text(metrics).encode()
    details = cost_details(made)
    files[COSTS_FILE] = as_text({**{key: content[key] for key in COST_KEYS}, DETAILS_KEY: details}).encode()
    files[f"{_PLAN}/settings.json"] = as_text(made.raw.keywords).encode()
    files |= {f"{_PLAN}/{name}": data for name, data in source.attachments.items()}
    page = made.page(plan=source.plan, attachments=source.attachments)
    files["report.html"] = page.encode()
    files["items.html"] = made.item_page().encode()
    answered = _answered(source)
    files |= {**_cards(source), **_costs(source), **_checklist(answered), **_paper(source)}
    files[NOTEBOOK_FILE] = notebook_file(made.raw, str(content.get("dataset") or source.folder.name))
    facts = baseline_facts(made.record, source.plan, platform=source.platform)
    files |= registry_files(facts, files, answered, made.raw.responses.table, publication)
    readmes = readme_files(made.record, files, version=__version__)
    readmes[CARD_README] = front_matter(facts, files, answered, publication).encode() + readmes[CARD_README]
    files |= readmes
    return {**files, MANIFEST: manifest_file(files, content["provenance"])}


def _cards(source: ReportSource) -> dict[str, bytes]:
    """Make the section "Human baseline" in both languages, and the dataset's files with it, if they were given."""
    files = {}
    for language in LANGUAGES:
        section = human_baseline_section(source.made.record, source.plan, language, platform=source.platform)
        files[f"cards/human_baseline_{language}.md"] = f"{section}\n".encode()
        name = f"raw_readme_{language}.json"
        if name in source.cards:
            files[f"cards/{name}"] = readme_with_section(source.cards[name], section, name)
    metadata, _ = _metadata(source)
    if metadata is not None:
        files[f"cards/{META_FILE}"] = metadata
        files |= _rendered(metadata, files, source)
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


def _metadata(source: ReportSource) -> tuple[bytes | None, list[str]]:
    """Return the metadata with the values of people and of experts, and why a value is missing.

    `None` if there is no value or no metadata were given.
    """
    if META_FILE not in source.cards:
        return None, []
    metadata, faults, arms = source.cards[META_FILE], [], mapping_at(source.content, "arms")
    baselines = {HUMAN: source.content, HUMAN_EXPERT: mapping_at(arms, EXPERTS)}
    if source.made.record.arm == EXPERTS:
        baselines = {HUMAN_EXPERT: source.content}
    for key, content in baselines.items():
        try:
            metadata = (
                metadata_with_human_benchmark(metadata, content, key=key).content if content else metadata
            )
        except DataError as error:
            faults.append(str(error))
    return (None if metadata == source.cards[META_FILE] else metadata), faults


def _costs(source: ReportSource) -> dict[str, bytes]:
    """Make the cost report and the message with it, in both languages."""
    asked, by_pool = source.made.record.by_arm, pools(source.made)
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


def _answered(source: ReportSource) -> Checklist:
    return reporting_checklist(
        source.made.record,
        source.plan,
        frozen=source.frozen,
        platform=source.platform,
    )


def _checklist(answered: Checklist) -> dict[str, bytes]:
    """Make the reporting checklist in Markdown, JSON and LaTeX."""
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
        for name, text in paper_files(source.made.record, source.plan, form, platform=source.platform).items()
    }


def _remarks(source: ReportSource, publication: Publication) -> tuple[str, ...]:
    made, remarks = source.made, []
    if made.raw.gold is None:
        remarks.append("the baseline has no gold answers, so hb/ has no metric")
    elif made.raw.gold.withheld:
        remarks.append(
            "the gold answers of this dataset are closed, so hb/ has none of them and nothing per item that follows "
            "from them (the option with-gold of merilo report includes them)"
        )
        values = {name: estimate.value for name, estimate in made.baseline.estimates.main.items()}
        sure = [f"{name} is {value:g}" for name, value in values.items() if value in {0, 1}]
        if sure:
            remarks.append(
                f"{sure[0]}, so the gold answers follow from the consensus: do not publish raw/, "
                "consensus.csv and items.html"
            )
    if made.baseline.declaration.answer.kind == "program":
        remarks.append(
            "hb/ has the verdicts on the programs, not the programs: verify does not run them again"
        )
    if source.content.get("status") == "rejected":
        remarks.append("the baseline is rejected, and every file of hb/ says so")
    if source.content.get("status") == "check the controls":
        remarks.append(
            "the control items must be checked before the baseline is published: see the warnings in report.html"
        )
    remarks += _metadata(source)[1]
    if source.attachments.get(CHANGES_FILE, b"[]").strip() != b"[]":
        remarks.append(f"the plan was changed after it was frozen: plan/{CHANGES_FILE} lists the changes")
    if source.plan is None:
        remarks.append("there is no study.yaml, so plan/ holds only the settings")
    if not publication.authors:
        remarks.append("no author is named, so there is no CITATION.cff")
    return tuple(remarks)
