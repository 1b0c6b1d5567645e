"""Check a study before it is frozen: the plan, the files that it names, and what they say of each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path

from merilo.atomic_write import write_text
from merilo.baselines.declared import settings_for
from merilo.datasets.declaration import Dataset
from merilo.datasets.rendering import render
from merilo.errors import DataError, InputError, MeriloError, UsageError, for_command_line
from merilo.files import sha256
from merilo.items import Item, read_split
from merilo.metrics.scoring import RATED, gold_label, has_gold, score
from merilo.settings import AnalysisSettings
from merilo.strict_json import indented
from merilo.studies.freezing import FrozenPlan, changes_since_freeze, freeze_plan
from merilo.studies.item_fields import fields_of
from merilo.studies.known_answers import compare_controls
from merilo.studies.plan_figures import PlanFigures, plan_figures, plan_page
from merilo.studies.plan_file import (
    CHECKLIST_NUMBERS,
    LinedYaml,
    PlanFault,
    YamlPath,
    first_fault,
    plan_path,
    read_plan_text,
)
from merilo.studies.plan_types import ITEMS_FILE, STUDY_FILE, WEIGHTS_FILE, Arm, Study
from merilo.studies.study_folder import StudyFolder, StudyItem, read_study_items
from merilo.studies.study_source import comparable
from merilo.studies.study_tasks import author_field, authors_of, domain_of, needs_fixed_overlap, one_answer
from merilo.wording import listed


@dataclass(slots=True)
class StudyCheck:
    """The problems and warnings found in a study.

    Attributes:
        problems: faults; a study with one cannot be frozen.
        warnings: what the author should know.
        figures: the computed plan; `None` if the plan cannot be read.
        study: the study; `None` if the plan cannot be read.
    """

    problems: list[PlanFault] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    figures: PlanFigures | None = None
    study: StudyFolder | None = None

    @property
    def valid(self) -> bool:
        """Whether no fault was found."""
        return not self.problems


def validate_study(path: Path) -> StudyCheck:
    """Check a study: its plan, the files that the plan names, and the settings of its baseline.

    Args:
        path: the study's folder, or its `study.yaml`.

    Returns:
        All problems and warnings, and the computed plan.

    Raises:
        InputError: there is no study at the path, or its `study.yaml` is not YAML.
    """
    found = read_plan_text(path)
    check = StudyCheck(problems=list(found.faults))
    if found.plan is None:
        return check
    check.study = StudyFolder(plan_path(path).parent, found.plan)
    _Visit(check, check.study, found.source).look()
    check.problems.sort(key=lambda fault: (fault.file != STUDY_FILE, fault.file, fault.row or 0))
    return check


@dataclass(slots=True)
class _Visit:
    """One pass over a study."""

    check: StudyCheck
    study: StudyFolder
    source: LinedYaml
    declared: Dataset | None = None

    def wrong(self, key: str, message: str) -> None:
        """Note a fault of a key of the plan."""
        path: YamlPath = tuple(key.split(".")) if key else ()
        if path[:1] == ("checklist",):
            path = ("checklist", key.partition(".")[2])
        row = self.source.line(path)
        self.check.problems.append(PlanFault(STUDY_FILE, row, key, for_command_line(message)))

    def wrong_file(self, error: MeriloError) -> None:
        """Note a fault of another file."""
        place = error.place
        name = Path(place.file or "").name
        self.check.problems.append(
            PlanFault(name, place.row, place.field or "", for_command_line(error.message))
        )

    def look(self) -> None:
        plan = self.study.plan
        self._look_at_settings()
        try:
            self.declared = self.study.declared()
        except MeriloError as error:
            self.wrong("dataset", error.message)
        items = self._items("", ITEMS_FILE)
        controls = self._items("controls.file", plan.controls.file) if plan.controls else []
        training = self._items("training.file", plan.training.file) if plan.training else []
        if items is not None:
            self._look_at_items(items)
            self._look_at_weights(items)
            self.check.warnings += overlap_shortfalls(plan, [one.item for one in items])
            if self.declared is not None:
                self.check.warnings += metric_gaps(plan, self.declared, [one.item for one in items])
        self._look_at_known(items or [], "controls.file", controls or [], [])
        self._look_at_known(items or [], "training.file", training or [], controls or [])
        self._look_at_controls(items or [], controls or [])
        self._look_at_instruction()
        self._look_at_names()
        self._look_at_source(items or [])
        if self.declared is not None:
            self.check.figures = plan_figures(
                plan, self.declared, controls_there=len(controls or []), training_there=len(training or [])
            )
            self.check.warnings += self.check.figures.notes
        if self.study.frozen:
            self._look_at_frozen()

    def _look_at_settings(self) -> None:
        plan = self.study.plan
        try:
            settings_for(None, plan.settings(next(iter(plan.arms.values()))))
        except UsageError as error:
            named = next((one.name for one in fields(AnalysisSettings) if one.name in error.message), "")
            self.wrong(f"baseline.{named}".rstrip("."), error.message)

    def _items(self, key: str, name: str) -> list[StudyItem] | None:
        path = self.study.path / name
        if not path.is_file():
            message = f"the file {name} is missing"
            if key:
                self.wrong(key, message)
            else:
                self.check.problems.append(PlanFault(name, None, "", "is missing"))
            return None
        try:
            return read_study_items(path)
        except InputError as error:
            self.wrong_file(error)
            return None

    def _look_at_items(self, items: Sequence[StudyItem]) -> None:
        plan = self.study.plan
        if len(items) != plan.subset.size:
            self.wrong("subset.size", f"says {plan.subset.size} items, but {ITEMS_FILE} has {len(items)}")
        if self.declared is None or not items:
            return
        for key, message in _adaptive_faults(plan, self.declared, [one.item for one in items]):
            self.wrong(key, message)
        for number, one in enumerate(items, start=1):
            try:
                same = render(one.item, self.declared) == one.prompt
            except DataError as error:
                self.check.problems.append(
                    PlanFault(ITEMS_FILE, number, error.place.field or "", error.message)
                )
                return
            if not same:
                message = (
                    f"item {one.item.id}: the prompt is not what a model receives (instruction and "
                    "inputs give another text)"
                )
                self.check.problems.append(PlanFault(ITEMS_FILE, number, "prompt", message))
                return
        every = [one.item for one in items]
        for name, arm in plan.arms.items():
            without = [str(item.id) for item in every if arm.domain and not domain_of(item, arm.domain)]
            if without:
                self.wrong(f"arms.{name}.domain", f"items {listed(without, 5)} have no domain '{arm.domain}'")
        kept, dropped = fields_of(every, self.declared, size=len(every))
        there = [*(one.name for one in kept), *(one.name for one in dropped)]
        for key, names in _named_fields(plan):
            for name in names:
                known = there if key == "subset.fields" else [*there, *_inputs(items)]
                if name not in known:
                    self.wrong(key, f"no item has the field '{name}'{_nearest(name, known)}")

    def _look_at_weights(self, items: Sequence[StudyItem]) -> None:
        if not (self.study.path / WEIGHTS_FILE).is_file():
            self.check.problems.append(PlanFault(WEIGHTS_FILE, None, "", "is missing"))
            return
        try:
            weights = self.study.weights()
        except InputError as error:
            self.wrong_file(error)
            return
        ids = {str(one.item.id) for one in items}
        if ids != set(weights):
            lost = sorted(ids.symmetric_difference(weights))
            message = f"has other items than {ITEMS_FILE}: {listed(lost, 5)}"
            self.check.problems.append(PlanFault(WEIGHTS_FILE, None, "id", message))

    def _look_at_known(
        self, items: Sequence[StudyItem], key: str, known: Sequence[StudyItem], others: Sequence[StudyItem]
    ) -> None:
        """Check that items with known answers have one, and repeat neither the test nor other such items."""
        test = dict(zip(comparable([one.item for one in items]), items, strict=True))
        taken = dict(zip(comparable([one.item for one in others]), others, strict=True))
        seen: dict[str, StudyItem] = {}
        ids = {str(one.item.id) for one in (*items, *others)}
        if shared := [str(one.item.id) for one in known if str(one.item.id) in ids]:
            self.wrong(
                key,
                f"ids {listed(shared, 5)} are also those of other items of the study, but answers are matched by id",
            )
        for one, text in zip(known, comparable([one.item for one in known]), strict=True):
            if one_answer(one.item.outputs) is None:
                differ = " (its criteria differ)" if isinstance(one.item.outputs, dict) else ""
                self.wrong(key, f"item {one.item.id} has no gold answer{differ}")
            if (other := test.get(text)) is not None:
                self.wrong(key, f"item {one.item.id} repeats the question of test item {other.item.id}")
            if (other := taken.get(text)) is not None:
                self.wrong(key, f"item {one.item.id} repeats the question of control item {other.item.id}")
            if (other := seen.get(text)) is not None:
                self.wrong(key, f"item {one.item.id} repeats the question of item {other.item.id}")
            seen[text] = one

    def _look_at_controls(self, items: Sequence[StudyItem], controls: Sequence[StudyItem]) -> None:
        plan = self.study.plan
        section = plan.controls
        if section is None:
            return
        if abs(section.share - 1 / section.every) > 0.02:
            self.wrong(
                "controls.every",
                f"one task in {section.every} is a share of {1 / section.every:.3g}, but share says {section.share:g}",
            )
        if section.min_accuracy != plan.baseline.min_control_accuracy:
            self.wrong(
                "baseline.min_control_accuracy",
                f"says {plan.baseline.min_control_accuracy:g}, but controls.min_accuracy says {section.min_accuracy:g}",
            )
        if not controls:
            self.check.warnings.append(f"{section.file} has no control items")
        elif items and self.declared is not None:
            compared = compare_controls(
                [one.item for one in controls], [one.item for one in items], self.declared, seed=plan.seed
            )
            self.check.warnings += compared.warnings

    def _look_at_instruction(self) -> None:
        for language, name in self.study.plan.instruction.items():
            if not (self.study.path / name).is_file():
                self.wrong(f"instruction.{language}", f"the file {name} is missing")
                continue
            try:
                text = self.study.instruction(language)
            except InputError as error:
                self.wrong_file(error)
                continue
            if not text.strip():
                self.check.problems.append(PlanFault(name, None, "", "is empty"))
            folded = " ".join(text.split()).casefold()
            for number, rule in enumerate(self.study.plan.restrictions):
                if (own := rule.text(language)) is None:
                    self.check.warnings.append(
                        f"restrictions.{number}.{language}: restriction {number + 1} has no text "
                        "in this language, so the "
                        f"instruction, the card and the methods in it leave it out: '{rule.ru or rule.en}'"
                    )
                    continue
                said = " ".join(own.split())
                if said.casefold() not in folded:
                    self.check.warnings.append(f"{name} does not contain restriction {number + 1}: '{said}'")

    def _look_at_names(self) -> None:
        for number in self.study.plan.checklist:
            if number not in CHECKLIST_NUMBERS:
                hint = _nearest(number, CHECKLIST_NUMBERS)
                self.wrong(f"checklist.{number}", f"is not a number of the checklist{hint}")

    def _look_at_source(self, items: Sequence[StudyItem]) -> None:
        source = self.study.plan.source
        path = self.study.path / source.file
        if not path.is_file():
            return  # The study is complete without the dataset's file, which may be on another machine.
        try:
            if sha256(path) != source.sha256:
                self.check.warnings.append(
                    f"the dataset's file {source.file} has changed since the study was created"
                )
                return
            there = {str(item.id) for item in read_split(path, source.split)}
        except MeriloError:
            return
        if lost := [str(one.item.id) for one in items if str(one.item.id) not in there]:
            self.wrong("source.file", f"has no items {listed(lost, 5)}, which {ITEMS_FILE} has")

    def _look_at_frozen(self) -> None:
        try:
            changes = changes_since_freeze(self.study.path)
        except InputError as error:
            self.wrong_file(error)
            return
        self.check.warnings += [
            f"differs from the frozen plan: {change}" for change in changes if change.decision
        ]


def _inputs(items: Sequence[StudyItem]) -> list[str]:
    return list(
        dict.fromkeys(
            name for one in items if isinstance(one.item.inputs, Mapping) for name in one.item.inputs
        )
    )


def _named_fields(plan: Study) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the fields of the items that the plan names, by the key of the plan."""
    cluster = plan.baseline.cluster
    return (
        ("subset.fields", plan.subset.fields),
        ("baseline.by", plan.baseline.by),
        ("baseline.cluster", () if cluster is None else (cluster,)),
    )


def _nearest(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean '{near[0]}'?" if near else f"; there are {listed(list(known)) or 'none'}"


def _adaptive_faults(plan: Study, declared: Dataset, items: Sequence[Item]) -> Iterator[tuple[str, str]]:
    """List the faults of the arms with adaptive overlap: a key of the plan, and what is wrong with it.

    Args:
        plan: the plan.
        declared: the dataset.
        items: the items that people answer.
    """
    for name, arm in plan.arms.items():
        if arm.adaptive is None:
            continue
        if reason := needs_fixed_overlap(declared, items):
            yield f"arms.{name}.adaptive", f"must be null: {reason}"
        votes = plan.baseline.min_votes
        if votes != "majority" and votes > arm.adaptive.start:
            yield (
                "baseline.min_votes",
                f"is {votes}, but an item on which the first {arm.adaptive.start} people agree gets no further answers "
                f"(arms.{name}.adaptive.start): it could never have a majority",
            )


def metric_gaps(plan: Study, declared: Dataset, items: Sequence[Item]) -> list[str]:
    """Return a sentence for each reason why `study baseline` will lack the main metric, or some items of it.

    Args:
        plan: the plan.
        declared: the dataset.
        items: the items that people answer, with their gold answers.
    """
    metric = plan.baseline.metric or declared.metrics[0]
    if metric in RATED:
        return [
            f"'merilo study baseline' will compute no {metric}, which takes three questions about "
            "each rewritten sentence: "
            "whether the meaning is kept, whether it is fluent, whether it is toxic (merilo recipe show rudetox)"
        ]
    solved = [item for item in items if has_gold(item)]
    if not solved:
        return [
            "the items have no gold answers: 'merilo study baseline' will compute the agreement "
            f"and the cost, but no {metric}"
        ]
    gaps = []
    if missing := len(items) - len(solved):
        gaps.append(f"{missing} of {len(items)} items have no gold answer and will not count in {metric}")
    if metric == "grade_norm":
        right = {item.id: gold_label(item) for item in solved}
        if reason := score(declared, solved, right).missing.get(metric):
            gaps.append(
                f"'merilo study baseline' will compute no {metric}, even of right answers only: {reason}"
            )
    return gaps


def overlap_shortfalls(plan: Study, items: Sequence[Item]) -> list[str]:
    """Return a sentence for every arm that skips its own items and cannot reach its overlap.

    An item with k authors gets at most as many answers as there are experts who did not write it. The experts
    are the authors named in `meta`, or as many as the plan says if these are more.

    Args:
        plan: the plan.
        items: the items that people answer.
    """
    return [
        text
        for name, arm in plan.arms.items()
        if arm.skip_own and (text := _shortfall(name, arm, items)) is not None
    ]


def _shortfall(name: str, arm: Arm, items: Sequence[Item]) -> str | None:
    field = author_field(items)
    own = [set(authors_of(item, field)) for item in items]
    authors = len(set().union(*own)) if own else 0
    experts = max(authors, arm.people or 0)
    if not experts:
        return None
    # Without the field every item still has an author, who normally is one of the experts.
    least = experts - max((len(one) for one in own), default=0) if authors else experts - 1
    if least >= arm.overlap:
        return None
    whom = (
        f"the items name {authors} authors in '{field}'"
        if authors >= (arm.people or 0)
        else f"the plan has {experts} experts"
    )
    short = sum(experts - len(one) < arm.overlap for one in own) if authors else len(items)
    return (
        f"{name}: {whom}, and an item's own authors skip it, so {short} of {len(items)} items get "
        "fewer answers than the overlap "
        f"{arm.overlap} (the fewest: {max(least, 0)}): set arms.{name}.overlap to {max(least, 1)}, "
        "or ask experts who wrote no items"
    )


def freeze_study(path: Path, *, day: str | None = None, force: bool = False) -> tuple[FrozenPlan, StudyCheck]:
    """Check a study, update its computed plan, and record the date and the hashes in `frozen.json`.

    Args:
        path: the study's folder, or its `study.yaml`.
        day: the date, `YYYY-MM-DD`. Default: today.
        force: replace an earlier record.

    Raises:
        DataError: the study has problems; the message names the first one.
        OutputError: the plan is frozen already and `force` is not given.
        UsageError: the date is not a date.
        InputError: there is no study, or a file of it cannot be read.
    """
    check = validate_study(path)
    if not check.valid or check.study is None or check.figures is None:
        first = check.problems[0]
        raise DataError(
            first_fault(check.problems), file=first.file, row=first.row, field=first.field or None
        )
    frozen = freeze_plan(check.study, day=day, force=force)
    folder = check.study.path
    write_text(folder / "plan.json", indented(check.figures.as_json()) + "\n")
    write_text(folder / "plan.md", plan_page(check.study.plan, check.figures, check.warnings))
    return frozen, check
