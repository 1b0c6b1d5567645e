"""The published folder `hb/`: written from a baseline, the same by `merilo baseline --out` and `merilo report`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from merilo.atomic_write import new_folder, refuse_existing, write_files
from merilo.baselines.arms import EXPERTS
from merilo.baselines.baseline import BASELINE_FILE, Baseline, Evidence
from merilo.baselines.pool_items import items_of_pool
from merilo.baselines.published_folder import MANIFEST, load, manifest, tables
from merilo.baselines.raw_files import CHANGES_FILE, RAW, publishable, raw_files
from merilo.baselines.withholding import LEAST_ITEMS, is_closed, withheld
from merilo.errors import DataError, InputError
from merilo.items import Item, entry_of
from merilo.people.gold import is_id
from merilo.reports.baseline import computed
from merilo.reports.checklist import answers, checklist_markdown
from merilo.reports.croissant import CROISSANT_FILE, croissant, front_matter
from merilo.reports.dataset_card import (
    HUMAN,
    HUMAN_EXPERT,
    META_FILE,
    human_values,
    metadata_with_human_benchmark,
    readme_with_section,
)
from merilo.reports.facts import PlannedBaseline, findings, headline, plan_of
from merilo.reports.item_browser import item_browser
from merilo.reports.messages import arm_head, arms_of, cost_text, human_baseline
from merilo.reports.notebook import NOTEBOOK_FILE, notebook_file
from merilo.reports.page import page
from merilo.reports.study_baseline import study_baseline
from merilo.strict_json import Json, as_text, dict_at
from merilo.studies.plan import FROZEN_FILE, STUDY_FILE
from merilo.studies.study_tasks import AUTHOR_FIELDS
from merilo.text import LANGUAGES, Language, Text, joined
from merilo.version import __version__

#: The dataset's own files that get the human baseline.
CARD_FILES: Final = (META_FILE, "raw_readme_ru.json", "raw_readme_en.json")

#: The items that people answered, in the benchmark's format, in `raw/`.
ITEMS_FILE: Final = "items.jsonl"

#: File -> what it is.
_FILES: Final = {
    f"{RAW}/": Text(
        "everything that the baseline is computed from: every answer with the pseudonym of its annotator, the items, "
        "the gold answers unless they are closed, how the files were read, the settings or the plan of the study"
    ),
    BASELINE_FILE: Text("all values: metrics with intervals, counts, agreement, groups, cost"),
    "consensus.csv": Text("all items: answers, consensus, the step that decided it, gold answer"),
    "annotators.csv": Text("all annotators: answers, accuracy on control items, time, exclusion"),
    "experts/": Text("annotators and items of the experts, as in the two tables above"),
    "doubtful.csv": Text(
        "the items whose gold answer may be wrong, with typing errors and how reliable the annotators are"
    ),
    "report.html": Text("the report as a page"),
    "items.html": Text("a page with every item and all its answers"),
    "human_baseline_*.md": Text("the section “Human baseline” of the dataset’s card"),
    "cost_*.md": Text("the message with costs and methodology, ready to send"),
    META_FILE: Text("the dataset’s metadata with the human value"),
    "raw_readme_*.json": Text("the texts of the dataset’s card with the section “Human baseline”"),
    NOTEBOOK_FILE: Text("a notebook that computes every value from `raw/`; Run All needs only `merilo`"),
    CROISSANT_FILE: Text("the description of the tables for dataset registries, in the format Croissant"),
    "checklist.md": Text("the reporting checklist for human baselines, filled in from the study"),
    MANIFEST: Text("the SHA-256 of every file"),
}


class Published(NamedTuple):
    """A folder that was written.

    Attributes:
        folder: the folder.
        files: the names of its files.
        remarks: what the user should know about it, a sentence each.
        baseline: the baseline as it is published.
    """

    folder: Path
    files: tuple[str, ...]
    remarks: tuple[str, ...]
    baseline: Baseline


def save(
    baseline: Baseline,
    folder: str | Path,
    *,
    cards: Mapping[str, bytes] | None = None,
    with_gold: bool = True,
    force: bool = False,
) -> Published:
    """Write the folder of a baseline. Annotators have pseudonyms; the same baseline gives the same bytes.

    Args:
        baseline: the baseline.
        folder: a new folder.
        cards: the dataset's own files by name (`CARD_FILES`), which get the human baseline.
        with_gold: include gold answers that the dataset declares closed.
        force: replace an existing folder.

    Raises:
        OutputError: the folder exists and `force` is not given, or it contains an input file of the baseline.
        DataError: the gold answers are closed, and annotators were excluded by test items.
    """
    place, evidence = Path(folder), baseline.evidence
    refuse_existing(place, force=force, needed=evidence.study.files)
    study = publishable(evidence.study, _author_fields(evidence.study.plan))
    shown = baseline if evidence.study.pseudonymous else computed(study, evidence.settings)
    if not with_gold and is_closed(study) and study.gold and not study.gold.withheld:
        shown = withheld(shown)
    files, remarks = _files(shown, cards or {})
    with new_folder(place, force=force) as new:
        write_files(new, files)
    return Published(place, tuple(sorted(files)), tuple(remarks), shown)


def report(
    source: str | Path,
    out: str | Path,
    *,
    cards: str | Path | None = None,
    with_gold: bool = False,
    force: bool = False,
) -> Published:
    """Write the published folder of a study or a baseline, as `merilo report` does.

    Args:
        source: the folder of a study, or one that `Baseline.save` or `merilo baseline --out` wrote.
        out: a new folder.
        cards: the dataset's folder with `raw_dataset_meta.json` and `raw_readme_*.json`; copies of them get the human
            baseline.
        with_gold: include gold answers that the dataset declares closed; by default they are withheld, with
            everything per item that follows from them.
        force: replace an existing folder.

    Raises:
        InputError: the source is not such a folder, or its files are damaged.
        DataError: no baseline can be computed from it.
        OutputError: the folder exists and `force` is not given, or it contains the source.
    """
    folder, dataset = Path(source), None if cards is None else Path(cards)
    refuse_existing(Path(out), force=force, needed=[folder, *([dataset] if dataset else [])])
    files = {} if dataset is None else {
        name: (dataset / name).read_bytes() for name in CARD_FILES if (dataset / name).is_file()
    }  # fmt: skip
    if dataset is not None and not files:
        raise InputError(f"has none of {', '.join(CARD_FILES)}", file=dataset)
    if (folder / STUDY_FILE).is_file():
        baseline = study_baseline(folder)
    else:
        baseline = load(folder)
        if baseline.evidence.study.models:
            baseline = computed(baseline.evidence.study, baseline.settings)
    return save(baseline, out, cards=files, with_gold=with_gold, force=force)


def _files(baseline: Baseline, cards: Mapping[str, bytes]) -> tuple[dict[str, bytes], list[str]]:
    """Return all files of the folder by name, and remarks for the user."""
    study = baseline.evidence.study
    plan = plan_of(study.plan)
    planned = PlannedBaseline(baseline, plan or {})
    languages = planned.languages
    files = {f"{RAW}/{name}": data for name, data in raw_files(study, baseline.settings).items()}
    files |= {BASELINE_FILE: as_text(baseline.to_json()).encode(), **tables(baseline)}
    files["report.html"] = page(baseline, plan=plan, attachments=study.plan).encode()
    files["items.html"] = item_browser(baseline, languages).encode()
    if asked := _asked_items(baseline.evidence):
        lines = [json.dumps(entry_of(item), ensure_ascii=False) for item in asked]
        files[f"{RAW}/{ITEMS_FILE}"] = ("\n".join(lines) + "\n").encode()
    files |= _texts(baseline, plan, languages, cards)
    metadata, faults = _metadata(baseline, cards)
    files |= metadata
    frozen = json.loads(study.plan[FROZEN_FILE]) if FROZEN_FILE in study.plan else None
    files["checklist.md"] = checklist_markdown(answers(baseline, plan, frozen=frozen)).encode()
    files[NOTEBOOK_FILE] = notebook_file(baseline, languages)
    title = f"Human baseline: {planned.title or 'a study'}"
    result = joined(headline(planned), " ").in_language("en")
    files[CROISSANT_FILE] = croissant(title, result or title, files)
    files["README.md"] = (
        front_matter(title, files) + _readme(baseline, [*files, MANIFEST], languages)
    ).encode()
    return {**files, MANIFEST: manifest(files)}, [*_remarks(baseline, study.plan), *faults]


def _texts(
    baseline: Baseline,
    plan: Mapping[str, Json] | None,
    languages: Sequence[Language],
    cards: Mapping[str, bytes],
) -> dict[str, bytes]:
    """Write the section of cards and the message with costs in the study's languages, and set it in the cards."""
    files = {}
    arms = arms_of(baseline, plan, submitted=META_FILE in cards)
    for language in LANGUAGES:
        section = human_baseline(arms, language)
        if language in languages:
            files[f"human_baseline_{language}.md"] = f"{section}\n".encode()
            files[f"cost_{language}.md"] = cost_text(arms, language).encode()
        if (name := f"raw_readme_{language}.json") in cards:
            files[name] = readme_with_section(cards[name], section, name)
    return files


def _metadata(baseline: Baseline, cards: Mapping[str, bytes]) -> tuple[dict[str, bytes], list[str]]:
    """Return the metadata with the values of people and of experts, if there are any, and why a value is missing."""
    if META_FILE not in cards:
        return {}, []
    arms = {HUMAN: baseline} if baseline.arm != EXPERTS else {}
    if EXPERTS in baseline.by_arm:
        arms[HUMAN_EXPERT] = baseline.by_arm[EXPERTS]
    metadata, faults = cards[META_FILE], []
    for key, arm in arms.items():
        try:
            metadata = metadata_with_human_benchmark(metadata, human_values(arm, key), key)
        except DataError as error:
            faults.append(str(error))
    return ({META_FILE: metadata} if metadata != cards[META_FILE] else {}), faults


def _asked_items(evidence: Evidence) -> Sequence[Item]:
    """Return the items that people answered, as `merilo run --data` and `merilo score --data` read them.

    Items with gold have the ids of the consensus. Without gold, only items that can be asked are returned, without
    answers.
    """
    dataset, gold = evidence.study.dataset, evidence.gold
    if evidence.crowd is not None and gold is not None:
        items = [replace(item, id=gold.items[int(item.id)].id) for item in evidence.crowd.items]
        if any(item.instruction for item in items):
            return items
        return (items_of_pool(dataset, items) if dataset else None) or items
    ids = dict(gold.answers.select("item", "id").iter_rows()) if gold else {}
    return (items_of_pool(dataset, _without_gold(evidence.items, ids)) if dataset else None) or ()


def _without_gold(items: pl.DataFrame, known: Mapping[int, str | None]) -> list[Item]:
    """Return the items of a pool under their known ids, those of a column of distinct ids, or their numbers."""
    named = next((name for name in items.columns if is_id(name)), "item")
    ids = items[named] if items[named].is_unique().all() and not items[named].null_count() else items["item"]
    if ids.dtype == pl.String and ids.str.contains(r"^(0|[1-9]\d{0,17})$").all():
        ids = ids.cast(pl.Int64)
    rows = items.iter_rows(named=True)
    return [Item(known.get(row.pop("item")) or name, "", row) for name, row in zip(ids, rows, strict=True)]


def _readme(baseline: Baseline, names: list[str], languages: Sequence[Language]) -> str:
    """Return what the folder holds and how to verify it, in each language of the study."""
    text = joined(_paragraphs(baseline, names), "\n\n")
    return "\n\n".join(text.in_language(language) for language in languages) + "\n"


def _paragraphs(baseline: Baseline, names: list[str]) -> Iterator[Text | str]:
    yield Text("# Human baseline: {name}", name=baseline.dataset or Text("a study"))
    yield from (joined(["**", text, "**"], "") for text in _warnings(baseline))
    for name, arm in arms_of(baseline, None).items():
        head = [arm_head(name)] if baseline.arms else []
        yield joined([*head, *headline(arm)])
    if about := _about_gold(baseline):
        yield about
    rows = [
        joined([f"| `{name}` |", content, "|"])
        for name, content in _FILES.items()
        if any(Path(file).match(name) or file.startswith(name) for file in names)
    ]
    yield joined([Text("| file | content |"), "| --- | --- |", *rows], "\n")
    yield Text("Annotators and pages have pseudonyms, which are the same in all files.")
    if _author_fields(baseline.evidence.study.plan):
        yield Text("Numbers stand for the names of the items’ authors.")
    yield Text(
        "To verify the values, install Merilo {version} and run this command in the folder above:",
        version=__version__,
    )
    yield "```console\nmerilo verify hb\n```"
    if baseline.gold is not None and baseline.gold.withheld:
        yield Text(
            "The command recomputes from `raw/` every value that needs no gold answers, lists those that differ, and "
            "names the values that it cannot recompute."
        )
    else:
        yield Text("The command recomputes every value from `raw/` and lists those that differ.")


def _warnings(baseline: Baseline) -> Iterator[Text]:
    """Yield why the baseline must not be used, or not be published yet."""
    yield from findings(PlannedBaseline(baseline), void=True)
    if baseline.status == "check the controls":
        yield Text(
            "Check the control items: many of them may have a wrong known answer, or they exclude half of the "
            "annotators."
        )
    if baseline.gold and not baseline.gold.withheld and is_closed(baseline.evidence.study):
        yield Text(
            "This folder contains closed gold answers: do not publish it. `merilo report` writes a folder without them."
        )


def _about_gold(baseline: Baseline) -> Text | None:
    """Say what the folder lacks without gold answers; `None` if it has them."""
    if baseline.gold is None:
        return Text(
            "The gold answers are closed or unknown: the files do not contain them, so there are counts, agreement and "
            "cost, but no metric."
        )
    if not baseline.gold.withheld:
        return None
    return Text(
        "The gold answers of this dataset are closed: the files contain neither them nor anything per item that "
        "follows from them. The metrics were computed with them and cannot be recomputed from this folder; groups "
        "of fewer than {least} items have no metric.",
        least=LEAST_ITEMS,
    )


def _author_fields(files: Mapping[str, bytes]) -> Sequence[str]:
    """Return the fields that name the items' authors, if experts of the plan answer no items of their own.

    From the items that an expert did not answer and the names, whoever reads the folder could tell who is who.
    """
    groups = dict_at(plan_of(files), "arms").values()
    skip = any(isinstance(group, dict) and group.get("skip_own") is True for group in groups)
    return AUTHOR_FIELDS if skip else ()


def _remarks(baseline: Baseline, plan: Mapping[str, bytes]) -> Iterator[str]:
    """Yield what the user should know about the folder."""
    yield from map(str, filter(None, (*_warnings(baseline), _about_gold(baseline))))
    if baseline.programs:
        yield "the folder has the verdicts on the programs, not the programs: verify does not run them again"
    if plan.get(CHANGES_FILE, b"[]").strip() != b"[]":
        yield f"the plan was changed after it was frozen: {RAW}/{CHANGES_FILE} lists the changes"
