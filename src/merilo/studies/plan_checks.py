"""Check a study before it is frozen: the plan, the files that it names, and what they say of each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import islice
from math import ceil
from pathlib import Path
from typing import Final, TypeAlias

from merilo.atomic_write import write_text
from merilo.baselines.study_input import refuse_unknown_metric
from merilo.datasets.dataset_files import read_split
from merilo.datasets.declaration import Dataset
from merilo.datasets.rendering import render
from merilo.errors import DataError, InputError, MeriloError, UsageError, argument
from merilo.files import sha256
from merilo.items import Item, named_field
from merilo.metrics.answers import gold_label, has_gold
from merilo.metrics.registry import metric_of
from merilo.metrics.scoring import score
from merilo.settings import AnalysisSettings
from merilo.strict_json import json_lines
from merilo.studies.item_fields import field_names
from merilo.studies.known_answers import compare_controls, telling_shares
from merilo.studies.plan import (
    CONTROLS_FILE,
    ITEMS_FILE,
    LEASE_MINUTES,
    STUDY_FILE,
    TRAINING_FILE,
    WEIGHTS_FILE,
    Consent,
    OwnWords,
    Plan,
    TimeLimits,
    YamlPath,
    author_questions,
    first_fault,
    plan_path,
    read_plan_text,
)
from merilo.studies.plan_figures import PlanFigures, plan_figures, plan_page
from merilo.studies.study_folder import (
    FrozenPlan,
    StudyFolder,
    changes_since_freeze,
    freeze_date,
    freeze_plan,
)
from merilo.studies.study_source import comparable
from merilo.studies.study_tasks import author_field, authors_of, domain_of, one_answer
from merilo.wording import choices, counted_noun, listed

#: A fault of a key of the plan (the key and what is wrong), a fault of another file, or a warning.
Finding: TypeAlias = tuple[str, str] | MeriloError | str


@dataclass(slots=True)
class StudyCheck:
    """The problems and warnings found in a study.

    Attributes:
        problems: faults; a study with one cannot be frozen.
        warnings: what the author should know.
        figures: the computed plan; `None` if the plan cannot be read.
        study: the study; `None` if the plan cannot be read.
    """

    problems: list[MeriloError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    figures: PlanFigures | None = None
    study: StudyFolder | None = None

    @property
    def valid(self) -> bool:
        """Whether no fault was found."""
        return not self.problems


@dataclass(slots=True)
class _Content:
    """What the files of a study hold; `None` of a file that cannot be read."""

    study: StudyFolder
    plan: Plan
    declared: Dataset | None = None
    items: list[Item] | None = None
    controls: list[Item] | None = None
    training: list[Item] | None = None


def validate_study(path: Path) -> StudyCheck:
    """Check a study: its plan, the files that the plan names, and the settings of its baseline.

    Args:
        path: the study's folder, or its `study.yaml`.

    Returns:
        All problems and warnings, and the computed plan.

    Raises:
        InputError: there is no study at the path, or its `study.yaml` is not YAML.
    """
    plan, faults, source = read_plan_text(path)
    check = StudyCheck(problems=faults)
    if plan is None:
        return check
    check.study = study = StudyFolder(plan_path(path).parent, plan)
    content = _Content(study, plan)
    for findings in _CHECKS:
        try:
            for finding in findings(content):
                if isinstance(finding, str):
                    check.warnings.append(finding)
                elif isinstance(finding, MeriloError):
                    check.problems.append(_in_folder(finding))
                else:
                    key, message = finding
                    section, _, rest = key.partition(".")
                    where: YamlPath = (section, rest) if section == "checklist" else tuple(key.split("."))
                    row = source.line(where)
                    check.problems.append(InputError(message, file=STUDY_FILE, row=row, field=key))
        except MeriloError as error:
            check.problems.append(_in_folder(error))
    if content.declared is not None:
        counts = {
            "controls_there": len(content.controls or ()),
            "training_there": len(content.training or ()),
        }
        try:
            check.figures = plan_figures(plan, content.declared, **counts)
            check.warnings += check.figures.notes
        except UsageError as error:  # of a metric that the checks have refused already
            if not check.problems:
                check.problems.append(error)
    check.problems.sort(key=lambda fault: (fault.place.file != STUDY_FILE, fault.place.row or 0))
    return check


def _in_folder(error: MeriloError) -> MeriloError:
    """Name the file at fault as the study's folder does."""
    place = error.place
    return InputError(error.marked, file=Path(place.file or "").name, row=place.row, field=place.field)


def _read(content: _Content) -> Iterator[Finding]:
    """Read the declaration and the files of items, strictly."""
    path, plan = content.study.path, content.plan
    try:
        content.declared = content.study.declared()
    except MeriloError as error:
        yield "dataset", error.message
    for name, kind, asked in (
        (ITEMS_FILE, "items", True),
        (CONTROLS_FILE, "controls", plan.controls),
        (TRAINING_FILE, "training", plan.training),
    ):
        try:
            setattr(content, kind, [*read_split(path / name)] if asked else [])
        except InputError as error:
            yield error


def _settings(content: _Content) -> Iterator[Finding]:
    try:
        refuse_unknown_metric(content.plan.settings(next(iter(content.plan.arms.values()))))
    except UsageError as error:
        names = (setting.name for setting in fields(AnalysisSettings) if setting.name in error.message)
        yield ".".join(["baseline", *islice(names, 1)]), error.message


def _items(content: _Content) -> Iterator[Finding]:
    plan, declared, items = content.plan, content.declared, content.items
    if items is None:
        return
    if len(items) != plan.subset.size:
        yield "subset.size", f"says {plan.subset.size} items, but {ITEMS_FILE} has {len(items)}"
    yield from overlap_shortfalls(plan, items)
    if declared is None or not items:
        return
    yield from _metric_gaps(plan, declared, items)
    for number, (item, (_, entry)) in enumerate(
        zip(items, json_lines(content.study.path / ITEMS_FILE), strict=True), start=1
    ):
        try:
            same = isinstance(entry, dict) and render(item, declared) == entry.get("prompt")
        except DataError as error:
            yield InputError(error.message, file=ITEMS_FILE, row=number, field=error.place.field)
            return
        if not same:
            message = f"item {item.id}: the prompt is not what instruction and inputs give, which people and models get"
            yield InputError(message, file=ITEMS_FILE, row=number, field="prompt")
            return
    yield from _arm_faults(plan, items)
    there = field_names(items, declared)
    inputs = dict.fromkeys(name for item in items if isinstance(item.inputs, Mapping) for name in item.inputs)
    cluster = plan.baseline.cluster
    for key, names, known in (
        ("subset.fields", plan.subset.fields, there),
        ("baseline.by", plan.baseline.by, [*there, *inputs]),
        ("baseline.cluster", () if cluster is None else (cluster,), [*there, *inputs]),
    ):
        for name in names:
            if named_field(name.removeprefix("meta."), known) is None:
                yield key, f"no item has the field '{name}'; {choices(name, known)}"


def _arm_faults(plan: Plan, items: Sequence[Item]) -> Iterator[Finding]:
    """List what an arm asks that its items cannot give: a domain, a time limit, several tasks on a page."""
    turns = any(isinstance(item.meta.get("dialog_id"), int) for item in items)
    for name, arm in plan.arms.items():
        without = [str(item.id) for item in items if arm.domain and not domain_of(item, arm.domain)]
        if without:
            yield f"arms.{name}.domain", f"items {listed(without, 5)} have no domain '{arm.domain}'"
        if isinstance(limit := arm.time_limit, TimeLimits):
            untimed = [str(item.id) for item in items if str(item.value(limit.field)) not in limit.seconds]
            if untimed:
                message = f"items {listed(untimed, 5)} have no '{limit.field}' of {listed([*limit.seconds])}"
                yield f"arms.{name}.time_limit", message
        key, minutes = f"arms.{name}.items_on_screen", 60 * arm.items_on_screen / arm.items_per_hour
        if arm.items_on_screen > 1 and turns:
            yield key, "must be 1: the items are turns of dialogues, which are answered one after another"
        elif arm.items_on_screen > 1 and limit is None and minutes > LEASE_MINUTES:
            yield (
                key,
                f"is {arm.items_on_screen}: at {arm.items_per_hour:g} tasks an hour (items_per_hour) a page takes "
                f"{minutes:.0f} minutes, but after {LEASE_MINUTES} its tasks go to others",
            )


def _weights(content: _Content) -> Iterator[Finding]:
    if not (content.study.path / WEIGHTS_FILE).is_file():
        yield InputError("is missing", file=WEIGHTS_FILE)
    elif content.items:
        lost = sorted({str(item.id) for item in content.items}.symmetric_difference(content.study.weights()))
        if lost:
            message = f"has other items than {ITEMS_FILE}: {listed(lost, 5)}"
            yield InputError(message, file=WEIGHTS_FILE, field="id")


def _known(content: _Content) -> Iterator[Finding]:
    """Check that items with known answers have one, and repeat neither the test nor other such items."""
    taken = {"test item": content.items or []}
    for key, items in (("controls", content.controls or []), ("training", content.training or [])):
        ids = {str(item.id) for group in taken.values() for item in group}
        if shared := [str(item.id) for item in items if str(item.id) in ids]:
            yield (
                key,
                f"ids {listed(shared, 5)} are also those of other items of the study, but answers are matched by id",
            )
        seen = {
            text: f"{kind} {item.id}"
            for kind, group in taken.items()
            for text, item in zip(comparable(group), group, strict=True)
        }
        for item, text in zip(items, comparable(items), strict=True):
            if one_answer(item.outputs) is None:
                differ = " (its criteria differ)" if isinstance(item.outputs, dict) else ""
                yield key, f"item {item.id} has no gold answer{differ}"
            if text in seen:
                yield key, f"item {item.id} repeats the question of {seen[text]}"
            seen[text] = f"item {item.id}"
        taken["control item"] = items


def _controls(content: _Content) -> Iterator[Finding]:
    plan, section, controls = content.plan, content.plan.controls, content.controls
    if section is None or controls is None:
        return
    needed = plan.baseline.min_controls
    for name, arm in plan.arms.items():
        # Only people from platforms, who are not experts, have a limit.
        items = plan.subset.size
        items = items if arm.kind == "expert" else min(items, arm.items_per_person)
        most = min(len(controls), ceil(ceil(items * section.every / (section.every - 1)) / section.every))
        if most < needed:
            gets = counted_noun(most, "control item", "control items")
            yield (
                "baseline.min_controls",
                f"is {needed}, but a person of '{name}' gets at most {gets}, so "
                f"nobody could be excluded (change it, controls.every, arms.{name}.items_per_person, or "
                f"{CONTROLS_FILE})",
            )
    if controls and content.items and content.declared is not None:
        yield from control_shortfalls(plan, content.items, controls)
        yield from telling_shares(compare_controls(controls, content.items, content.declared))


def _instruction(content: _Content) -> Iterator[Finding]:
    for language, name in content.plan.instruction.items():
        if not (content.study.path / name).is_file():
            yield f"instruction.{language}", f"the file {name} is missing"
            continue
        try:
            text = " ".join(content.study.instruction(language).split()).casefold()
        except InputError as error:
            yield error
            continue
        if not text:
            yield InputError("is empty", file=name)
        for number, rule in enumerate(content.plan.restrictions):
            own = rule.text(language)
            if own is None:
                yield (
                    f"restrictions.{number}.{language}: restriction {number + 1} has no text in this language, so "
                    f"the instruction, the card and the methods in it leave it out: '{rule.ru or rule.en}'"
                )
            elif (said := " ".join(own.split())).casefold() not in text:
                yield f"{name} does not contain restriction {number + 1}: '{said}'"
        for arm, asked in content.plan.arms.items():
            for limit in asked.limits:
                if f"{limit:g}" not in text.replace(",", "."):
                    yield f"{name} does not name the time limit of {limit:g} seconds (arms.{arm}.time_limit)"


def _consent(content: _Content) -> Iterator[Finding]:
    """Name what the consent page does not tell people."""
    plan, missing = content.plan, []
    for part in fields(Consent):
        own = getattr(plan.consent, part.name)
        if own is None and part.name != "minutes":
            missing.append(f"consent.{part.name}")
        elif isinstance(own, OwnWords):
            missing += [
                f"consent.{part.name}.{language}" for language in plan.languages if own.text(language) is None
            ]
    if missing:
        yield f"the consent page and the checklist lack {listed(missing)}"


def _checklist(content: _Content) -> Iterator[Finding]:
    numbers = author_questions()["numbers"].split()
    for number in content.plan.checklist:
        if number not in numbers:
            yield f"checklist.{number}", f"is not a number of the checklist; {choices(number, numbers)}"


def _source(content: _Content) -> Iterator[Finding]:
    source = content.plan.source
    path = content.study.path / source.file
    # The study is complete without the dataset's file, which may be on another machine.
    if path.is_file() and sha256(path) != source.sha256:
        yield f"the dataset's file {source.file} has changed since the study was created"
    elif path.is_file() and content.declared is not None:
        there = {str(item.id) for item in read_split(path, content.declared, source.split)}
        if lost := [str(item.id) for item in content.items or () if str(item.id) not in there]:
            yield "source.file", f"has no items {listed(lost, 5)}, which {ITEMS_FILE} has"


def _frozen(content: _Content) -> Iterator[Finding]:
    for change in changes_since_freeze(content.study.path):
        if change.decision:
            yield f"differs from the frozen plan: {change}"


#: The checks, in their order.
_CHECKS: Final[tuple[Callable[[_Content], Iterator[Finding]], ...]] = (
    _read, _settings, _items, _weights, _known, _controls, _instruction, _consent, _checklist, _source, _frozen,
)  # fmt: skip


def _metric_gaps(plan: Plan, declared: Dataset, items: Sequence[Item]) -> list[str]:
    """Return a sentence for each reason why `study baseline` will lack the main metric, or some items of it.

    Args:
        plan: the plan.
        declared: the dataset.
        items: the items that people answer, with their gold answers.
    """
    metric = plan.baseline.metric or declared.metrics[0]
    if metric_of(metric, declared.answer.kind).ratings:
        return [
            f"'merilo study baseline' will compute no {metric}, which takes three questions about "
            "each rewritten sentence: "
            "whether the meaning is kept, whether it is fluent, whether it is toxic (docs/rudetox.md)"
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


def overlap_shortfalls(plan: Plan, items: Sequence[Item]) -> Iterator[str]:
    """Yield a sentence for every arm that skips its own items and cannot reach its overlap.

    An item with k authors gets at most as many answers as there are experts who did not write it. The experts
    are the authors named in `meta`, or as many as the plan says if these are more.

    Args:
        plan: the plan.
        items: the items that people answer.
    """
    field = author_field(items)
    own = [set(authors_of(item, field)) for item in items]
    authors = len(set().union(*own)) if own else 0
    for name, arm in plan.arms.items():
        experts = max(authors, arm.people or 0)
        if not arm.skip_own or not experts:
            continue
        # Without the field every item still has an author, who normally is one of the experts.
        left = [experts - len(wrote) for wrote in own] if authors else [experts - 1] * len(items)
        short = sum(answers < arm.overlap for answers in left)
        if not short:
            continue
        least = min(left)
        whom = (
            f"the items name {authors} authors in '{field}'"
            if authors >= (arm.people or 0)
            else f"the plan has {experts} experts"
        )
        yield (
            f"{name}: {whom}, and an item's own authors skip it, so {short} of {len(items)} items get fewer answers "
            f"than the overlap {arm.overlap} (the fewest: {max(least, 0)}): set arms.{name}.overlap to "
            f"{max(least, 1)}, or ask experts who wrote no items"
        )


def control_shortfalls(plan: Plan, items: Sequence[Item], controls: Sequence[Item]) -> Iterator[str]:
    """Yield a sentence for every domain with fewer control items than the plan's share: its experts get no others.

    Args:
        plan: the plan.
        items: the items that people answer.
        controls: the control items.
    """
    for name, arm in plan.arms.items():
        if arm.domain is None or plan.controls is None:
            continue
        asked, there = (Counter(domain_of(item, arm.domain) for item in some) for some in (items, controls))
        for domain, n in sorted(asked.items()):
            needed = max(n // (plan.controls.every - 1), 1)
            if there[domain] < needed:
                yield (
                    f"{name}: the domain '{domain}' has {there[domain]} of the {needed} control items that its {n} "
                    f"items need: add items with known answers to {CONTROLS_FILE}"
                )


def freeze_study(
    path: Path,
    *,
    day: str | None = None,
    force: bool = False,
    agreed: Callable[[Sequence[str]], bool] = lambda _: True,
) -> tuple[FrozenPlan, StudyCheck]:
    """Check a study, update its computed plan, and record the date and the hashes in `frozen.json`.

    Args:
        path: the study's folder, or its `study.yaml`.
        day: the date, `YYYY-MM-DD`. Default: today.
        force: replace an earlier record.
        agreed: whether the author freezes a study by which no model can be told from people, given the sentences that
            say so.

    Raises:
        DataError: the study has problems; the message names the first one. Or the author does not agree to a study
            without a verdict.
        OutputError: the plan is frozen already and `force` is not given.
        UsageError: the date is not a date, or is in the future.
        InputError: there is no study, or a file of it cannot be read.
    """
    stamped = freeze_date(day)
    check = validate_study(path)
    if not check.valid or check.study is None or check.figures is None:
        raise first_fault(check.problems, DataError if check.study else InputError)
    without = check.figures.without_verdict
    if without and not agreed(without):
        raise DataError(
            f"{without[0].removesuffix('.')}: the plan was not frozen; to freeze it nevertheless, give "
            f"{argument('yes')}",
            file=path,
        )
    frozen = freeze_plan(check.study, day=stamped, force=force)
    write_figures(check)
    return frozen, check


def write_figures(check: StudyCheck) -> None:
    """Write the computed plan into the study's folder: `plan.md`."""
    if check.study is not None and check.figures is not None:
        page = plan_page(check.study.plan, check.figures, check.warnings)
        write_text(check.study.path / "plan.md", page)
