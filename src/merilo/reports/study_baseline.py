"""The baseline of a study: its collected answers, its plan and its gold answers put together.

Experts who wrote the questions themselves have a baseline beside people without training.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path

import polars as pl
from pydantic import TypeAdapter

from merilo.atomic_write import guarded
from merilo.baselines.baseline import Baseline
from merilo.baselines.expert_baseline import expert_items
from merilo.baselines.expert_scores import LabelScores
from merilo.baselines.experts import with_own_items
from merilo.baselines.provenance import provenance
from merilo.baselines.study_input import find_population, gold_of
from merilo.errors import DataError, UsageError, argument, renamed
from merilo.people.out_of_bag import OutOfBag, OutOfBagDesign
from merilo.people.reading import StudyResponses
from merilo.reports.baseline import baseline
from merilo.reports.hb.expert_raw import experts_computed
from merilo.reports.hb.raw_study import RAW, RawStudy
from merilo.responses import Responses
from merilo.settings import AnalysisSettings, Settings
from merilo.strict_json import Json, as_text
from merilo.studies.collected import collected_table, read_collected, read_imports
from merilo.studies.plan_file import plan_path
from merilo.studies.plan_types import (
    FROZEN_FILE,
    ITEMS_FILE,
    STUDY_FILE,
    WEIGHTS_FILE,
    Study,
)
from merilo.studies.study_export import arm_of
from merilo.studies.study_folder import PlanChange, StudyFolder, changes_since_freeze, open_study, read_frozen
from merilo.studies.study_tasks import author_field, authors_of, domain_of
from merilo.wording import shown


def study_responses(study: str | Path | StudyFolder, *, arm: str | None = None) -> StudyResponses:
    """Read the answers that a study has collected from one group of annotators.

    Programs are run, and their verdicts read.

    Args:
        study: the study's folder.
        arm: the group; `people` by default.

    Raises:
        InputError: the plan or a file of the study cannot be read.
        UsageError: the plan has no such group.
        DataError: nothing was imported for the group, or the imported answers were changed.
    """
    folder = study if isinstance(study, StudyFolder) else open_study(Path(study))
    name, _ = arm_of(folder, arm)
    path, table = collected_table(folder, name)
    if folder.declared().answer.kind == "program":
        from merilo.reports.study_programs import write_verdicts  # noqa: PLC0415 - only programs need a sandbox

        path = write_verdicts(folder, name, path)
    read = read_answers_table(folder, path, table.fields)
    return replace(read, participation=read_imports(folder).people.get(name))


def read_answers_table(folder: StudyFolder, path: Path, fields: Sequence[str]) -> StudyResponses:
    """Read a table of collected answers.

    Args:
        folder: the study.
        path: the table.
        fields: its columns that hold the items' input fields.
    """
    return read_collected(path, folder.declared(), ("id", *fields))


def frozen_plan(folder: StudyFolder) -> Study:
    """Return the plan as it was frozen; the plan as it is if it was not frozen.

    Raises:
        InputError: the record of the frozen plan is damaged.
        DataError: the items or control items were changed after the plan was frozen.
    """
    frozen = read_frozen(folder.path)
    if frozen is None:
        return folder.plan
    plan = TypeAdapter(Study).validate_python(dict(frozen.plan))
    asked = {ITEMS_FILE, *([plan.controls.file] if plan.controls else [])}
    for change in plan_changes(folder):
        if change.what in asked:
            raise DataError(
                f"was changed after the plan was frozen on {frozen.date}, so the answers are not "
                "to these items; restore it",
                file=shown(folder.path / change.what),
            )
    return plan


def plan_changes(folder: StudyFolder) -> list[PlanChange]:
    """Return the decisions that differ from the frozen plan; empty if the plan was not frozen.

    Raises:
        InputError: the record of the frozen plan is damaged.
    """
    return [one for one in changes_since_freeze(folder.path) if one.decision] if folder.frozen else []


def gold_file(folder: StudyFolder) -> Path | None:
    """Return the file of the study's gold answers; `None` if the test is closed."""
    return folder.path / ITEMS_FILE if any(one.item.outputs is not None for one in folder.items()) else None


def weights_file(folder: StudyFolder, plan: Study) -> Path | None:
    """Return the file of the items' weights if the study's items were drawn from a larger dataset; else `None`.

    Items that are scored as a whole, such as turns of a dialogue, are never drawn.
    """
    path = folder.path / WEIGHTS_FILE
    return path if plan.subset.size < plan.subset.of and path.is_file() else None


@contextmanager
def _keys_of_the_plan(folder: StudyFolder) -> Iterator[None]:
    """Name the plan's keys, not arguments, in errors about values that the plan gives."""
    keys = {one.name: f"baseline.{one.name}" for one in fields(AnalysisSettings)}
    try:
        yield
    except UsageError as error:
        told = renamed(error.marked, keys)
        if told == error.marked:
            raise
        raise UsageError(
            told, file=shown(folder.path / (FROZEN_FILE if folder.frozen else STUDY_FILE))
        ) from error


def study_baseline(
    study: str | Path | StudyFolder,
    *,
    arm: str | None = None,
    responses: StudyResponses | None = None,
    models: Sequence[str | Path] = (),
    common_items: bool = False,
    margin: float | None = None,
    anonymise: bool = False,
) -> Baseline:
    """Compute the baseline of a study with the settings of its frozen plan, or of its plan if it is not frozen.

    Args:
        study: the study's folder.
        arm: the group of annotators; `people` by default.
        responses: the group's answers, if `study_responses` has read them already.
        models: files of models' answers to compare with the annotators.
        common_items: if the items differ, compare models on the items that both sides answered.
        margin: the margin for equivalence; by default, that of the frozen plan.
        anonymise: replace annotators' ids by pseudonyms.

    Returns:
        The baseline.

    Raises:
        InputError: the plan or a file of the study cannot be read.
        UsageError: the plan has no such group, or its settings do not fit the answers.
        DataError: nothing was imported for the group, the imported answers or the frozen items were changed,
            or no item is left.
    """
    folder = study if isinstance(study, StudyFolder) else open_study(Path(study))
    name, group = arm_of(folder, arm)
    frozen = frozen_plan(folder)
    gold = gold_file(folder)
    own = folder.path / folder.plan.dataset
    with _keys_of_the_plan(folder):
        return baseline(
            responses or study_responses(folder, arm=name),
            dataset=shown(own) if own.exists() else folder.plan.dataset,
            gold=gold,
            models=models,
            common_items=common_items,
            margin=margin,
            population=weights_file(folder, frozen) if gold else None,
            anonymise=anonymise,
            settings=replace(
                frozen.settings(frozen.arms.get(name, group)),
                currency=group.pay.currency,
                minimum_hourly=group.pay.minimum_per_hour,
            ),
        )


@dataclass(frozen=True, slots=True)
class ExpertStudyResult:
    """The experts' answers without their own questions, and the comparison with people without training.

    Attributes:
        summary: the result as JSON, as `merilo experts baseline` writes it.
        bag: how every question was decided.
        scored: the experts' scores.
        responses: the experts' answers.
        people: the baseline of people without training; `None` if they have not answered yet.
        raw: all that the result is computed from.
    """

    summary: dict[str, Json]
    bag: OutOfBag
    scored: LabelScores
    responses: Responses
    people: Baseline | None
    raw: RawStudy

    def items(self) -> pl.DataFrame:
        """Return a table with one row per question: experts, marks, answers, outcome, points."""
        return expert_items(self.bag, self.scored, self.responses)

    def to_files(self) -> dict[str, bytes]:
        """Return the files of the result's folder by name: `experts.json`, `items.csv`, and the raw answers in `raw/`.

        Annotators have pseudonyms in the raw answers.
        """
        raw = self.raw.pseudonymised().to_files()
        return {
            "experts.json": as_text(self.summary).encode(),
            "items.csv": guarded(self.items()).write_csv().encode(),
            **{f"{RAW}/{name}": content for name, content in raw.items()},
        }


def expert_study(study: str | Path | StudyFolder, *, arm: str | None = None) -> ExpertStudyResult:
    """Compute the experts' baseline of a study whose experts skip their own questions.

    An item is decided by the majority of the experts who did not mark it as possibly their own. It needs as
    many answers as the overlap less one, and at most 3, because one expert normally is the author. Answers
    after the time limit do not count. Other items are decided too; see `out_of_bag`.

    Args:
        study: the study's folder.
        arm: the group of experts; `experts` by default.

    Raises:
        InputError: the plan or a file of the study cannot be read.
        UsageError: the plan has no such group, or the group does not skip its own questions.
        DataError: nothing was imported for the group, or no answer is left.
    """
    folder = study if isinstance(study, StudyFolder) else open_study(Path(study))
    name, _ = arm_of(folder, arm or "experts")
    plan = frozen_plan(folder)
    group = plan.arms.get(name, folder.plan.arms[name])
    if not group.skip_own:
        raise UsageError(f"the arm '{name}' does not skip its own questions", field=argument("arm"))
    declared, gold = folder.declared(), gold_file(folder)
    design = OutOfBagDesign(seconds=group.time_limit, min_answers=max(1, min(3, group.overlap - 1)))
    raw = study_responses(folder, arm=name)
    authors, domains = _item_facts(folder, raw, group.domain)
    raw = replace(raw, table=with_own_items(raw, authors, domains).table)
    known = gold_of(raw, declared, gold, None, None)
    others = _people(folder, name)
    settings = Settings(
        dataset=declared.name,
        labels=declared.answer.labels,
        repeats=plan.baseline.repeats,
        cluster=plan.baseline.cluster,
        currency=group.pay.currency,
    )
    inputs = [plan_path(folder.path), collected_table(folder, name)[0], *([gold] if gold else [])]
    # The raw answers are published without the folders of the author's machine.
    record, published = (
        provenance(f"merilo study baseline {place} --arm {name}", inputs, {"study": place, "arm": name})
        for place in (shown(folder.path), shown(folder.path.resolve().name))
    )
    weights = weights_file(folder, plan) if known else None
    study_raw = RawStudy(
        raw,
        settings,
        published.without_folders(),
        gold=known,
        dataset=declared,
        population=find_population(weights, (), responses=raw, gold=known),
    )
    made = experts_computed(study_raw, design, others.evidence if others else None, domains)
    summary: dict[str, Json] = {"dataset": declared.name, **made.content, "provenance": record.to_json()}
    return ExpertStudyResult(summary, made.bag, made.scored, made.responses, others, study_raw)


def _item_facts(
    folder: StudyFolder, responses: Responses, domain: str | None
) -> tuple[dict[int, tuple[str, ...]], dict[int, str] | None]:
    """Return the authors of each answered item by its number, and its domain.

    `None` if the plan names no field of domains.
    """
    items = [one.item for one in folder.items()]
    known, field = {str(item.id): item for item in items}, author_field(items)
    there = {
        int(number): known[str(name)]
        for number, name in responses.items.select("item", "id").iter_rows()
        if str(name) in known
    }
    authors = {number: authors_of(item, field) for number, item in there.items()}
    return authors, {number: domain_of(item, domain) for number, item in there.items()} if domain else None


def _people(folder: StudyFolder, experts: str) -> Baseline | None:
    """The baseline of the other group of annotators, if it has answered."""
    others = [name for name in folder.plan.arms if name != experts and name in read_imports(folder).tables]
    if not others:
        return None
    try:
        return study_baseline(folder, arm=others[0])
    except DataError as error:
        raise DataError(f"the arm '{others[0]}' has no baseline: {error.marked}") from error
