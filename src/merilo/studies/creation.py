"""Make a study from a dataset: draw its items, choose its controls, write its instruction and its plan."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path
from typing import Final

from merilo.atomic_write import new_folder, write_files
from merilo.datasets.custom import declaration_text
from merilo.datasets.declaration import CATALOGUE, Dataset
from merilo.datasets.own_items import read_splits
from merilo.datasets.rendering import in_english, template
from merilo.errors import DataError, InputError, UsageError, argument, for_command_line
from merilo.files import sha256
from merilo.items import Item
from merilo.settings import CreateSettings, PlannedAnalysis
from merilo.strict_json import Json, indented
from merilo.studies.instruction import (
    UNFOLDED,
    card_text,
    default_restrictions,
    write_instruction,
    written_examples,
)
from merilo.studies.item_fields import grouping_fields
from merilo.studies.known_answers import (
    ChosenControls,
    ChosenExamples,
    choose_controls,
    choose_examples,
    opening_turns,
    screen_known,
    spacing,
    telling_shares,
    wanted_controls,
)
from merilo.studies.plan_checks import control_shortfalls, metric_gaps, overlap_shortfalls
from merilo.studies.plan_figures import PlanFigures, plan_figures, plan_page
from merilo.studies.plan_file import AUTHOR_QUESTIONS, PUBLISHED, plan_text
from merilo.studies.plan_types import (
    CONTROLS_FILE,
    INSTRUCTION_FILES,
    ITEMS_FILE,
    STUDY_FILE,
    TRAINING_FILE,
    WEIGHTS_FILE,
    Arm,
    ControlsPlan,
    SourceFile,
    Study,
    TrainingPlan,
)
from merilo.studies.question_sampling import value_of
from merilo.studies.study_folder import StudyFolder, StudyItem, item_lines, study_items
from merilo.studies.study_source import (
    JUDGED,
    StudySource,
    comparable,
    judging_sources,
    known_judgements,
    read_source,
)
from merilo.studies.study_tasks import domain_of
from merilo.studies.subset_choice import ChosenSubset, choose_subset, shares_csv, shares_svg, weights_csv
from merilo.text import Language
from merilo.wording import listed, shown

#: The declaration of a custom dataset, copied into the study's folder.
DECLARATION_FILE: Final = "dataset.yaml"
#: The guide's set of questions for one expert.
EXPERT_ITEMS: Final = 100


@dataclass(frozen=True, slots=True)
class CreatedStudy:
    """A study that was made.

    Attributes:
        folder: the study.
        source: its dataset.
        subset: the chosen items.
        controls: the control items; `None` without them.
        examples: the examples of the instruction.
        figures: the computed plan.
        warnings: what the author should know, a sentence each.
    """

    folder: StudyFolder
    source: StudySource
    subset: ChosenSubset
    controls: ChosenControls | None
    examples: ChosenExamples
    figures: PlanFigures
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Json]:
        """Return the result as JSON: the items, the control items and examples, the computed plan and the warnings."""
        largest, controls = self.subset.largest_deviation, self.controls
        deviation: Json = None
        if largest is not None:
            points = round(largest.deviation, 4)
            deviation = {"field": largest.field, "value": largest.value, "points": points}
        checked: Json = None
        if controls is not None:
            checked = {
                "items": len(controls.items),
                "wanted": controls.wanted,
                "alike": not any(share.telling for share in controls.shares),
                "shares": [
                    {
                        "field": share.field,
                        "value": share.value,
                        "test": round(share.test, 4),
                        "controls": round(share.controls, 4),
                    }
                    for share in controls.shares
                ],
            }
        return {
            "study": self.folder.plan.study,
            "folder": str(self.folder.path),
            "audience": self.source.audience,
            "audience_from": self.source.audience_from,
            "items": {"asked": len(self.subset.items), "of": self.subset.section.of},
            "largest_deviation": deviation,
            "fields": [field.name for field in self.subset.fields],
            "fields_not_kept": {field.name: field.reason for field in self.subset.dropped},
            "controls": checked,
            "examples": {"items": len(self.examples.items), "not_shown": list(self.examples.uncovered)},
            "plan": self.figures.as_json(),
            "warnings": list(self.warnings),
        }


@dataclass(slots=True)
class _Known:
    """Solved items, divided between the instruction, the controls and the training."""

    examples: ChosenExamples = field(default_factory=lambda: ChosenExamples((), ()))
    controls: ChosenControls | None = None
    training: tuple[Item, ...] = ()
    warnings: list[str] = field(default_factory=list)


def create_studies(
    path: Path, out: Path, settings: CreateSettings | None = None, *, force: bool = False, **chosen: object
) -> dict[str, CreatedStudy]:
    """Make the folder of a study, or for ruDetox a folder with a study for each of the three projects.

    Everything else is decided in the study's `study.yaml`.

    Args:
        path: the dataset's file or folder.
        out: the folder to make.
        settings: what is asked, and whom; by default, the defaults of `CreateSettings`.
        force: replace an existing folder.
        chosen: single settings by name.

    Returns:
        A mapping from project to its study; the one study of other datasets has an empty name.

    Raises:
        InputError: a file cannot be read.
        UsageError: a wish cannot be met.
        DataError: the dataset's content does not allow the study.
        OutputError: the folder exists, or cannot be written.
    """
    wishes = CreateSettings.of(chosen, settings)
    source = read_source(path, name=wishes.dataset, audience=wishes.audience)
    with new_folder(out, force=force) as hidden:
        if source.declared.name != JUDGED:
            return {"": _made(source, out, hidden, wishes)}
        studies = {}
        for project, judged in judging_sources(source).items():
            (hidden / project).mkdir()
            own = replace(wishes, name=f"{wishes.name or JUDGED}-{project}")
            studies[project] = _made(judged, out / project, hidden / project, own)
        return studies


def _made(source: StudySource, out: Path, hidden: Path, wishes: CreateSettings) -> CreatedStudy:
    """Write the files of a study to `hidden`, which is moved to `out` later."""
    try:
        subset = choose_subset(
            source.split,
            source.declared,
            size=wishes.size,
            per_domain=wishes.per_domain,
            fields=wishes.field,
            seed=wishes.seed,
        )
    except DataError as error:
        if error.place.file:
            raise
        raise DataError(error.marked, file=source.file, field=error.place.field) from error
    known = _divide(source, subset, wishes)
    plan = _plan(source, subset, known, out, wishes)
    return _written(source, subset, known, plan, out=out, hidden=hidden)


def _written(
    source: StudySource, subset: ChosenSubset, known: _Known, plan: Study, *, out: Path, hidden: Path
) -> CreatedStudy:
    """Write the files of a study to `hidden`, which is moved to `out` later."""
    controls = known.controls.items if known.controls else ()
    figures = plan_figures(
        plan, source.declared, controls_there=len(controls), training_there=len(known.training)
    )
    warnings = known.warnings
    warnings += [
        f"domain '{name}' has only {there} of {subset.section.per_domain} items"
        for name, there in subset.short.items()
    ]
    for dropped in () if subset.section.all else subset.dropped:
        warnings.append(f"the field '{dropped.name}' is not kept by the subset: it {dropped.reason}")
    warnings += metric_gaps(plan, source.declared, subset.items)
    warnings += overlap_shortfalls(plan, subset.items)
    warnings += control_shortfalls(plan, subset.items, controls)
    warnings += figures.notes
    reason = for_command_line(f"A test of the kind '{source.audience}': {source.audience_from}.")
    files = {
        ITEMS_FILE: item_lines(_rendered(subset.items, source.declared)),
        WEIGHTS_FILE: weights_csv(subset.items, subset.weights),
        "subset.csv": shares_csv(subset.shares),
        "subset.svg": shares_svg(subset.shares),
        "plan.json": indented(figures.as_json()) + "\n",
        "plan.md": plan_page(plan, figures, warnings),
        STUDY_FILE: plan_text(plan, folder=shown(out.name), reason=reason),
    }
    for name, items in ((CONTROLS_FILE, controls), (TRAINING_FILE, known.training)):
        if items:
            files[name] = item_lines(_rendered(items, source.declared))
    for language, name in plan.instruction.items():
        files[name] = write_instruction(
            language,
            source.declared,
            plan,
            task=None if source.project else card_text(source.file.parent, language),
            examples=_rendered(known.examples.items, source.declared),
            beside_models=not source.project,
        )
    write_files(hidden, {name: text.encode() for name, text in files.items()})
    if source.declaration_file is not None:
        shutil.copyfile(source.declaration_file, hidden / DECLARATION_FILE)
    elif source.declared.name not in CATALOGUE:
        text = declaration_text(replace(source.declared, items=None))
        write_files(hidden, {DECLARATION_FILE: text.encode()})
    return CreatedStudy(
        StudyFolder(out, plan), source, subset, known.controls, known.examples, figures, tuple(warnings)
    )


def _divide(source: StudySource, subset: ChosenSubset, wishes: CreateSettings) -> _Known:
    """Divide the solved items: training and controls of their own files first, then shots."""
    test, declared = source.split.items, source.declared
    controls, training, share = wishes.controls, wishes.training, wishes.control_share
    _refuse_known(declared, controls, training)
    unknown = declared.answer.kind == "program" or declared.rated

    known = _Known()

    def screened(items: Sequence[Item], where: str) -> tuple[Item, ...]:
        screened_items = screen_known(items, test)
        known.warnings.extend(f"{where}: {fault}" for fault in screened_items.faults)
        return screened_items.items

    pool = screened(source.shots, "shots")
    taken: set[str] = set()
    if training is not None:
        known.training = screened(_solved(training, source), shown(training))
        if not known.training:
            raise DataError("has no item that can be used for training", file=training)
        taken.update(comparable(known.training))
    wanted = wanted_controls(len(subset.items), share)
    if controls is None:
        # Shots serve both, because an example cannot be a control item: examples leave as many shots as there should be
        # control items, or half of the shots if these are fewer.
        most = max(ceil(len(pool) / 2), len(pool) - wanted)
        known.examples = _examples(source, subset, _free(pool, taken), most)
        taken.update(comparable(known.examples.items))
        # A turn of one dialogue makes no sense inside another, and of rewritten sentences none is the known answer.
        solved = () if source.split.lengths or unknown else pool
    else:
        solved = screened(_solved(controls, source), shown(controls))
        if not solved:
            raise DataError(
                "has no item that can be a control item: it needs gold answers and questions that are not in the test",
                file=controls,
            )
    ids = {str(item.id) for item in test}
    known.training = _apart(known.training, ids, "training")
    if rest := _free(solved, taken):
        chosen = choose_controls(rest, subset.items, declared, wanted=wanted, seed=wishes.seed)
        known.controls = replace(chosen, items=_apart(chosen.items, ids, "control"))
        taken.update(comparable(known.controls.items))
    if controls is not None:
        known.examples = _examples(source, subset, _free(pool, taken), len(pool))
    if known.controls is not None and abs(1 / spacing(share) - share) > 0.005:
        known.warnings.append(
            f"one task in {spacing(share)} is a control item, a share of {1 / spacing(share):.3g}, which is the "
            f"nearest to {argument('control_share', f'{share:g}')}"
        )
    known.warnings += _notes(known, declared)
    return known


def _refuse_known(declared: Dataset, controls: Path | None, training: Path | None) -> None:
    """Refuse items with known answers where answers are programs, or sentences that classifiers rate."""
    for option, file in (("controls", controls), ("training", training)):
        if declared.answer.kind == "program" and file is not None:
            raise UsageError(
                f"answers to {declared.title} are programs, and each is checked by its tests in the sandbox: leave "
                f"{argument(option)} out",
                field=argument(option),
            )
    if controls is not None and declared.rated:
        raise DataError(
            f"cannot be control items: the metric {declared.metrics[0]} of {declared.title} rates sentences with "
            f"classifiers, so no answer is the known one; leave out {argument('controls')}",
            file=controls,
        )


def _notes(known: _Known, declared: Dataset) -> Iterator[str]:
    if not known.examples.items:
        yield "the dataset has no shots: the instruction has no examples; write some into it"
    elif missing := known.examples.uncovered:
        yield f"the examples of the instruction do not show {listed(missing, 8)}; add examples"
    if known.controls is not None:
        yield from telling_shares(known.controls.shares)
    elif declared.answer.kind != "program":
        option = argument("controls", "FILE")
        yield f"there are no solved items for controls: give {option} with items with known answers"


def _examples(source: StudySource, subset: ChosenSubset, solved: Sequence[Item], most: int) -> ChosenExamples:
    """Choose the examples of the instruction from the dataset's solved items and from those written for Merilo."""
    if source.split.lengths and solved:
        return opening_turns(solved, source.declared, most=UNFOLDED)
    written = written_examples(source.declared, subset.items)
    written = list(screen_known(written, source.split.items).items)
    return choose_examples(solved, subset.items, source.declared, most=most, written=written)


def _free(items: Sequence[Item], taken: set[str]) -> list[Item]:
    return [item for item, text in zip(items, comparable(items), strict=True) if text not in taken]


def _apart(items: Sequence[Item], taken: set[str], prefix: str) -> tuple[Item, ...]:
    """Give a new id to items whose id another item of the study has, because answers are matched by id."""
    renamed = []
    for item in items:
        new: str | int = item.id
        while str(new) in taken:
            new = f"{prefix}-{new}"
        taken.add(str(new))
        renamed.append(item if new == item.id else replace(item, id=new, meta={**item.meta, "id": new}))
    return tuple(renamed)


def _solved(path: Path, source: StudySource) -> tuple[Item, ...]:
    splits = read_splits(path, source.declared)
    if not splits:
        raise InputError("has no items", file=path)
    name = next(
        (name for name in ("controls", "training", "shots", "train") if name in splits), next(iter(splits))
    )
    solved = splits[name].items
    return known_judgements(solved, source.project) if source.project else solved


def _plan(
    source: StudySource, subset: ChosenSubset, known: _Known, out: Path, wishes: CreateSettings
) -> Study:
    arms = {"people": Arm(kind="basic" if source.audience == "basic" else "untrained")}
    if source.audience == "expert":
        domains = wishes.field if wishes.per_domain is not None else ()
        domain = _domain_field(source.declared, subset.items, domains)
        arms["experts"] = Arm(kind="expert", items_per_person=EXPERT_ITEMS, skip_own=True, domain=domain)
    declared = source.declared
    # Each figure is computed for the groups of the dataset too, where the items have them.
    by = [
        name
        for name in grouping_fields(declared)
        if f"{{{name}}}" in (declared.extra or "") and any(value_of(item, name) for item in subset.items)
    ]
    every = spacing(wishes.control_share)
    chosen: tuple[Language, ...] = tuple(dict.fromkeys(wishes.language))
    chosen = chosen or (("en",) if in_english(declared, subset.items) else ("ru", "en"))
    return Study(
        study=wishes.name or declared.name,
        dataset=declared.name
        if source.declaration_file is None and declared.name in CATALOGUE
        else DECLARATION_FILE,
        languages=chosen,
        seed=wishes.seed,
        # The plan is published, and an absolute path would name folders of the author's machine.
        source=SourceFile(
            file=shown(Path(os.path.relpath(source.file, out)).as_posix()),
            sha256=sha256(source.file),
            split=source.split.name,
        ),
        arms=arms,
        restrictions=default_restrictions(declared, chosen),
        subset=subset.section,
        controls=ControlsPlan(share=round(1 / every, 6), every=every) if known.controls else None,
        training=TrainingPlan() if known.training else None,
        instruction={language: INSTRUCTION_FILES[language] for language in chosen},
        baseline=PlannedAnalysis(metric=declared.metrics[0], by=tuple(by)),
        checklist=dict.fromkeys(AUTHOR_QUESTIONS, ""),
        publication=dict.fromkeys(PUBLISHED, ""),
    )


def _domain_field(declared: Dataset, items: Sequence[Item], domains: Sequence[str]) -> str | None:
    """Return the field of the experts' domains, which has two values or more and one in every item.

    It is that of the draw, else the first by which the dataset groups its metrics.
    """
    names = [*domains, *grouping_fields(declared)]
    for name in names[:1]:
        values = {domain_of(item, name) for item in items}
        if len(values) > 1 and "" not in values:
            return name
    return None


def _rendered(items: Sequence[Item], declared: Dataset) -> list[StudyItem]:
    """Render items, each with its own template, so that the study needs no prompts of the dataset."""
    return study_items([replace(item, instruction=template(item, declared)) for item in items], declared)
