"""Make a study from a dataset: draw its items, choose its controls, write its instruction and its plan."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path
from typing import Final

from merilo.atomic_write import new_folder, write_files
from merilo.datasets.custom import declaration_text
from merilo.datasets.dataset_files import read_splits
from merilo.datasets.declaration import CATALOGUE, Dataset
from merilo.datasets.rendering import in_english, template
from merilo.errors import DataError, InputError, UsageError, argument, for_command_line
from merilo.files import sha256
from merilo.items import Item
from merilo.settings import CreateSettings, PlannedAnalysis
from merilo.strict_json import Json
from merilo.studies.drawing import ChosenSubset, choose_subset, shares_csv, weights_csv
from merilo.studies.instruction import (
    UNFOLDED,
    card_text,
    default_restrictions,
    write_instruction,
    written_examples,
)
from merilo.studies.item_fields import ComparedShare, grouping_fields, value_of
from merilo.studies.known_answers import (
    choose_controls,
    choose_examples,
    compare_controls,
    opening_turns,
    screen_known,
    spacing,
    wanted_controls,
)
from merilo.studies.plan import (
    CONTROLS_FILE,
    INSTRUCTION_FILES,
    ITEMS_FILE,
    ITEMS_PER_PERSON,
    STUDY_FILE,
    TRAINING_FILE,
    WEIGHTS_FILE,
    Arm,
    ArmKind,
    ControlsPlan,
    Plan,
    SourceFile,
    TrainingPlan,
    author_questions,
    first_fault,
    plan_text,
)
from merilo.studies.plan_checks import validate_study, write_figures
from merilo.studies.plan_figures import PlanFigures
from merilo.studies.study_folder import StudyFolder, item_lines
from merilo.studies.study_source import (
    DECLARATION_FILE,
    JUDGED,
    StudySource,
    comparable,
    judging_sources,
    known_judgements,
    read_source,
)
from merilo.studies.study_tasks import domain_of
from merilo.text import Language
from merilo.wording import listed, shown

#: The guide's set of questions for one expert.
EXPERT_ITEMS: Final = 100


@dataclass(frozen=True, slots=True)
class CreatedStudy:
    """A study that was made.

    Attributes:
        folder: the study.
        source: its dataset.
        subset: the chosen items.
        shares: what control items look like beside test items; empty without control items.
        examples: the examples of the instruction.
        figures: the computed plan.
        warnings: what the author should know, a sentence each.
    """

    folder: StudyFolder
    source: StudySource
    subset: ChosenSubset
    shares: tuple[ComparedShare, ...]
    examples: tuple[Item, ...]
    figures: PlanFigures
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Json]:
        """Return the result as JSON: the items, the control items, the computed plan and the warnings."""
        subset, figures, largest = self.subset, self.figures, self.subset.largest_deviation
        names = ("field", "value", "test", "controls", "telling")
        rows = (
            (share.field, share.value, share.share, share.chosen_share, share.telling)
            for share in self.shares
        )
        compared: list[Json] = [dict(zip(names, row, strict=True)) for row in rows]
        return {
            "study": self.folder.plan.study,
            "folder": str(self.folder.path),
            "audience": self.source.audience,
            "audience_from": self.source.audience_from,
            "items": {"asked": subset.section.size, "of": subset.section.of},
            "largest_deviation": None
            if largest is None
            else {"field": largest.field, "value": largest.value, "points": round(largest.deviation, 4)},
            "fields": [field.name for field in subset.fields],
            "fields_not_kept": dict(subset.dropped),
            "controls": {
                "items": figures.controls,
                "wanted": figures.controls_wanted,
                "alike": not any(share.telling for share in self.shares),
                "shares": compared,
            },
            "plan": figures.to_json(),
            "warnings": list(self.warnings),
        }


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
            return {"": _create(source, out, hidden, wishes)}
        studies = {}
        for project, judged in judging_sources(source).items():
            (hidden / project).mkdir()
            own = replace(wishes, name=f"{wishes.name or JUDGED}-{project}")
            studies[project] = _create(judged, out / project, hidden / project, own)
        return studies


def _create(source: StudySource, out: Path, hidden: Path, wishes: CreateSettings) -> CreatedStudy:
    """Write the files of a study to `hidden`, which is moved to `out` later, and check them."""
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
    known = _KnownItems(source, subset, wishes)
    known.divide()
    plan = _plan(known, out)
    _write(known, plan, out, hidden)
    check = validate_study(hidden)
    if check.figures is None:
        raise first_fault(check.problems, DataError)
    warnings = [
        *known.warnings,
        *(f"domain '{name}' has only {n} of {wishes.per_domain} items" for name, n in subset.short.items()),
    ]
    if subset.section.method != "all":
        warnings += [
            f"the field '{name}' is not kept by the subset: it {reason}"
            for name, reason in subset.dropped.items()
        ]
    warnings += [*map(str, check.problems), *check.warnings]
    check.warnings = [*dict.fromkeys(warnings)]
    write_figures(check)
    shares = compare_controls(known.controls, subset.items, source.declared)
    return CreatedStudy(
        StudyFolder(out, plan), source, subset, shares, known.examples, check.figures, tuple(check.warnings)
    )


def _write(known: _KnownItems, plan: Plan, out: Path, hidden: Path) -> None:
    """Write the plan and the files that it names."""
    source, subset, declared = known.source, known.subset, known.source.declared
    reason = for_command_line(f"A test of the kind '{source.audience}': {source.audience_from}.")
    files = {
        STUDY_FILE: plan_text(plan, folder=shown(out.name), reason=reason),
        WEIGHTS_FILE: weights_csv(subset.items, subset.weights),
        "subset.csv": shares_csv(subset.shares),
    }
    # Each item has its own template, so that the study needs no prompts of the dataset.
    asked, examples, *solved = (
        [replace(item, instruction=template(item, declared)) for item in items]
        for items in (subset.items, known.examples, known.controls, known.training)
    )
    files[ITEMS_FILE] = item_lines(asked, declared)
    for name, items in zip((CONTROLS_FILE, TRAINING_FILE), solved, strict=True):
        if items:
            files[name] = item_lines(items, declared)
    beside_models = not source.project
    for language, name in plan.instruction.items():
        task = card_text(source.file.parent, language) if beside_models else None
        files[name] = write_instruction(
            language, declared, plan, task=task, examples=examples, beside_models=beside_models
        )
    if source.declaration_file is None and declared.name not in CATALOGUE:
        files[DECLARATION_FILE] = declaration_text(replace(declared, items=None))
    write_files(hidden, {name: text.encode() for name, text in files.items()})
    if source.declaration_file is not None:
        shutil.copyfile(source.declaration_file, hidden / DECLARATION_FILE)


@dataclass(slots=True)
class _KnownItems:
    """Solved items, divided between the instruction, the controls and the training, so that none is used twice."""

    source: StudySource
    subset: ChosenSubset
    wishes: CreateSettings
    examples: tuple[Item, ...] = ()
    controls: tuple[Item, ...] = ()
    training: tuple[Item, ...] = ()
    warnings: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)

    def divide(self) -> None:
        """Divide the solved items: training and controls of their own first, then shots."""
        source, subset, wishes = self.source, self.subset, self.wishes
        declared, every = source.declared, spacing(wishes.control_share)
        _refuse_known(declared, wishes)
        wanted = wanted_controls(len(subset.items), every)
        pool = self._usable(source.shots, "shots", source.split.items)
        if wishes.training is not None:
            solved, count = self._solved("training", wishes.training)
            self.training = choose_controls(
                solved, subset.items, declared, wanted=count or len(solved), seed=wishes.seed
            )
            self._take(self.training)
        if wishes.controls is None:
            # Shots serve both, because an example cannot be a control item: examples leave as many shots as there
            # should be control items, or half of the shots if these are fewer.
            self._show_examples(pool, max(ceil(len(pool) / 2), len(pool) - wanted))
            # A turn of one dialogue makes no sense inside another, and of rewritten sentences none is the known answer.
            unknown = declared.answer.kind == "program" or declared.rated
            solved = () if source.split.lengths or unknown else pool
        else:
            solved, count = self._solved("controls", wishes.controls)
            wanted = count or wanted
        self.controls = choose_controls(
            self._free(solved), subset.items, declared, wanted=wanted, seed=wishes.seed
        )
        self._take(self.controls)
        if wishes.controls is not None:
            self._show_examples(pool, len(pool))
        ids = {str(item.id) for item in source.split.items}
        self.training = _apart(self.training, ids, "training")
        self.controls = _apart(self.controls, ids, "control")
        if self.controls and abs(1 / every - wishes.control_share) > 0.005:
            self.warnings.append(
                f"one task in {every} is a control item, a share of {1 / every:.3g}, which is the nearest to "
                f"{argument('control_share', f'{wishes.control_share:g}')}"
            )
        if not self.controls and declared.answer.kind != "program":
            self.warnings.append(
                f"there are no solved items for controls: give {argument('controls', 'FILE')} with items with known "
                "answers, or a number of items to take of those that are not drawn"
            )

    def _solved(self, option: str, known_file: Path) -> tuple[tuple[Item, ...], int | None]:
        """Return the usable items of a file; or those that were not drawn, and how many of them are wanted."""
        source, text = self.source, str(known_file)
        if text.isdecimal():
            drawn = {item.id for item in self.subset.items}
            rest = [item for item in source.split.items if item.id not in drawn]
            solved = self._usable(rest, "items that are not drawn", self.subset.items)
            if not rest:
                raise UsageError(
                    f"{argument(option)} takes items that are not drawn, and all {len(drawn)} items are drawn: draw "
                    f"fewer with {argument('size')}, or give a file"
                )
            if not solved:
                raise DataError(
                    f"no item that is not drawn can serve for {option}: they need gold answers and questions that are "
                    "not in the test",
                    file=source.file,
                )
            if not 1 <= int(text) <= len(solved):
                raise UsageError(
                    f"{argument(option)} takes a number from 1 to {len(solved)}, the items that are not drawn and can "
                    f"serve, not {text} (draw fewer with {argument('size')}, or give a file)"
                )
            return solved, int(text)
        splits = read_splits(known_file, source.declared)
        if not splits:
            raise InputError("has no items", file=known_file)
        name = next(
            (name for name in ("controls", "training", "shots", "train") if name in splits),
            next(iter(splits)),
        )
        items = splits[name].items
        items = known_judgements(items, source.project) if source.project else items
        solved = self._usable(items, shown(known_file), source.split.items)
        if not solved:
            raise DataError(
                f"has no item that can serve for {option}: it needs gold answers and questions that are not in the "
                "test",
                file=known_file,
            )
        return solved, None

    def _usable(self, pool: Sequence[Item], where: str, test: Sequence[Item]) -> tuple[Item, ...]:
        """Return the items that can serve, and note why others cannot."""
        usable, faults = screen_known(pool, test)
        self.warnings += [f"{where}: {fault}" for fault in faults]
        return tuple(self._free(usable))

    def _free(self, items: Sequence[Item]) -> list[Item]:
        return [item for item, text in zip(items, comparable(items), strict=True) if text not in self.taken]

    def _take(self, items: Sequence[Item]) -> None:
        self.taken.update(comparable(items))

    def _show_examples(self, pool: Sequence[Item], most: int) -> None:
        """Choose the examples of the instruction from the dataset's solved items and from those written for Merilo."""
        source, test = self.source, self.subset.items
        solved = self._free(pool)
        if source.split.lengths and solved:
            self.examples, missing = opening_turns(solved, source.declared, most=UNFOLDED)
        else:
            written, _ = screen_known(written_examples(source.declared, test), source.split.items)
            self.examples, missing = choose_examples(
                solved, test, source.declared, most=most, written=written
            )
        if not self.examples:
            self.warnings.append(
                "the dataset has no shots: the instruction has no examples; write some into it"
            )
        elif missing:
            self.warnings.append(
                f"the examples of the instruction do not show {listed(missing, 8)}; add examples"
            )
        self._take(self.examples)


def _refuse_known(declared: Dataset, wishes: CreateSettings) -> None:
    """Refuse items with known answers where answers are programs, or sentences that classifiers rate."""
    for option, path in (("controls", wishes.controls), ("training", wishes.training)):
        if path is not None and declared.answer.kind == "program":
            raise UsageError(
                f"answers to {declared.title} are programs, and each is checked by its tests in the sandbox: leave "
                f"{argument(option)} out",
                field=argument(option),
            )
    if wishes.controls is not None and declared.rated:
        raise DataError(
            f"cannot be control items: the metric {declared.metrics[0]} of {declared.title} rates sentences with "
            f"classifiers, so no answer is the known one; leave out {argument('controls')}",
            file=wishes.controls,
        )


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


def _plan(known: _KnownItems, out: Path) -> Plan:
    source, subset, wishes, declared = known.source, known.subset, known.wishes, known.source.declared
    most = len(subset.items)
    kind: ArmKind = "basic" if source.audience == "basic" else "untrained"
    arms = {"people": Arm(kind=kind, items_per_person=min(ITEMS_PER_PERSON, most))}
    if source.audience == "expert":
        domains = wishes.field if wishes.per_domain is not None else ()
        domain = _domain_field(declared, subset.items, domains)
        arms["experts"] = Arm(
            kind="expert", items_per_person=min(EXPERT_ITEMS, most), skip_own=True, domain=domain
        )
    # Each figure is computed for the groups of the dataset too, where the items have them.
    by = [
        name
        for name in grouping_fields(declared)
        if f"{{{name}}}" in (declared.extra or "") and any(value_of(item, name) for item in subset.items)
    ]
    chosen: tuple[Language, ...] = tuple(dict.fromkeys(wishes.language))
    chosen = chosen or (("en",) if in_english(declared, subset.items) else ("ru", "en"))
    return Plan(
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
        controls=ControlsPlan(every=spacing(wishes.control_share)) if known.controls else None,
        training=TrainingPlan() if known.training else None,
        instruction={language: INSTRUCTION_FILES[language] for language in chosen},
        baseline=PlannedAnalysis(metric=declared.metrics[0], by=tuple(by)),
        checklist=dict.fromkeys(author_questions()["checklist"], ""),
        publication=dict.fromkeys(author_questions()["publication"], ""),
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
