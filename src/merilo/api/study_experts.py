"""The baseline of experts who wrote the questions of a study themselves, beside people without training."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from merilo.api.study_baseline import (
    frozen_plan,
    gold_file,
    study_baseline,
    study_responses,
    weights_file,
)
from merilo.atomic_write import guarded
from merilo.baselines.expert_baseline import expert_items
from merilo.baselines.expert_scores import LabelScores
from merilo.baselines.experts import with_own_items
from merilo.baselines.provenance import provenance
from merilo.baselines.study_input import find_population, gold_of
from merilo.errors import DataError, UsageError, argument
from merilo.people.experts.out_of_bag import OutOfBag, OutOfBagDesign
from merilo.reports.baseline import BaselineResult
from merilo.reports.hb.expert_raw import experts_computed
from merilo.reports.hb.raw_study import RAW, RawStudy, without_folders
from merilo.responses import Responses
from merilo.settings import Settings
from merilo.strict_json import Json, as_text
from merilo.studies.collected import collected_table, read_imports
from merilo.studies.plan_file import plan_path
from merilo.studies.study_export import arm_of
from merilo.studies.study_folder import StudyFolder, open_study
from merilo.studies.study_tasks import author_field, authors_of, domain_of
from merilo.wording import shown


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
    people: BaselineResult | None
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

    An item is decided by the majority of the experts who did not mark it as possibly their own. It needs as many answers as the
    overlap less one, and at most 3, because one expert normally is the author. Answers after the time limit do not count. Other
    items are decided too; see `out_of_bag`.

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
        without_folders(published),
        gold=known,
        dataset=declared,
        population=find_population(weights, (), responses=raw, gold=known),
    )
    made = experts_computed(study_raw, design, others.details if others else None, domains)
    summary: dict[str, Json] = {"dataset": declared.name, **made.content, "provenance": record.to_json()}
    return ExpertStudyResult(summary, made.bag, made.scored, made.responses, others, study_raw)


def _item_facts(
    folder: StudyFolder, responses: Responses, domain: str | None
) -> tuple[dict[int, tuple[str, ...]], dict[int, str] | None]:
    """Return the authors of each answered item by its number, and its domain; `None` if the plan names no field of domains."""
    items = [one.item for one in folder.items()]
    known, field = {str(item.id): item for item in items}, author_field(items)
    there = {
        int(number): known[str(name)]
        for number, name in responses.items.select("item", "id").iter_rows()
        if str(name) in known
    }
    authors = {number: authors_of(item, field) for number, item in there.items()}
    return authors, {number: domain_of(item, domain) for number, item in there.items()} if domain else None


def _people(folder: StudyFolder, experts: str) -> BaselineResult | None:
    """The baseline of the other group of annotators, if it has answered."""
    others = [name for name in folder.plan.arms if name != experts and name in read_imports(folder).tables]
    if not others:
        return None
    try:
        return study_baseline(folder, arm=others[0])
    except DataError as error:
        raise DataError(f"the arm '{others[0]}' has no baseline: {error.marked}") from error
