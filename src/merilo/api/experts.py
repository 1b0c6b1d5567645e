"""`merilo.expert_baseline`: the baseline of experts, beside people without training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

import polars as pl

from merilo.api.population_input import (
    PopulationSource,
    find_population,
    population_files,
    population_name,
)
from merilo.api.saved_folder import save_folder
from merilo.api.study_input import IN_MEMORY, GoldSource, StudyInput, find_gold, recoding_inputs, study_input
from merilo.atomic_write import guarded
from merilo.baselines.declared import settings_for
from merilo.baselines.expert_scores import LabelScores, score_experts, score_people
from merilo.baselines.experts import (
    Marks,
    beside_people,
    domains_of,
    marks_of,
    outside_labels,
    require_marks,
)
from merilo.baselines.pipeline import Baseline, baseline
from merilo.baselines.record import cost_record
from merilo.datasets import Dataset
from merilo.datasets import dataset as find_dataset
from merilo.errors import UsageError, argument
from merilo.people.cost import cost
from merilo.people.experts.out_of_bag import Decision, Late, OutOfBag, OutOfBagDesign, out_of_bag
from merilo.people.platforms import Columns
from merilo.people.reading import Origin, Source, StudyResponses, read_responses, recode_texts
from merilo.people.recoding import occurring, read_recoding, recoding_files, settle
from merilo.people.recoding import recode as recode_answers
from merilo.reports.experts import basic_summary, expert_items, experts_summary, out_of_bag_summary
from merilo.reports.whole_dataset import baseline_on_dataset_json, experts_on_dataset_json
from merilo.responses import Responses
from merilo.settings import Settings
from merilo.statistics.paired_tests import Difference
from merilo.strict_json import Json

Protocol: TypeAlias = Literal["out-of-bag", "basic"]

#: Parameters that a recorded command leaves out if they have these values.
DEFAULTS: Final[dict[str, Json]] = {
    "protocol": "out-of-bag",
    "late": "drop",
    "min_answers": 3,
    "decision": "majority",
    "min_control_accuracy": Settings().min_control_accuracy,
    "repeats": Settings().repeats,
}


@dataclass(frozen=True, slots=True, repr=False)
class ExpertBaseline:
    """The baseline of experts and, if given, of people without training on the same questions.

    Attributes:
        scored: the scores of the experts' answers.
        bag: the experts' out-of-bag answers; `None` for the basic protocol.
        people: the baseline of people without training; `None` if there is none.
        comparison: experts minus people on the items that both decided; `None` without people or gold.
        outside: answers outside the labels, with their counts; these answers count as votes.
        items: one row per question with its answers and how it was decided; `None` for the basic protocol.
        content: the result as JSON.
        inputs: the files that were read.
    """

    scored: LabelScores
    bag: OutOfBag | None
    people: Baseline | None
    comparison: Difference | None
    outside: Mapping[str, int]
    items: pl.DataFrame | None
    content: dict[str, Json]
    inputs: tuple[Path, ...]

    def to_dict(self) -> dict[str, Json]:
        """Return the result as JSON, as `merilo experts baseline --json` prints it."""
        return dict(self.content)

    def save(self, folder: str | Path, *, force: bool = False) -> dict[str, Json]:
        """Write the folder that `merilo experts baseline --out` writes: `experts.json` and, out of bag, `items.csv`.

        Args:
            folder: a new folder.
            force: replace an existing one.

        Returns:
            The result as JSON.

        Raises:
            OutputError: the folder exists and `force` is not given, or it contains an input file.
        """
        tables = {"items.csv": self.items}
        return save_folder(folder, "experts.json", self.to_dict(), tables, force=force, needed=self.inputs)

    def __repr__(self) -> str:
        lines = [
            f"experts, {name} {one.value:.3f} on {one.n} items"
            for name, one in self.scored.scores.main.items()
        ]
        if self.comparison:
            lines.append(f"experts minus people: {self.comparison.value:+.3f} on {self.comparison.n} items")
        return "\n".join(lines) or "<experts without gold answers>"


def expert_baseline(
    responses: Responses | Source,
    *,
    people: Responses | Source | None = None,
    protocol: Protocol = "out-of-bag",
    mine: Sequence[str] = (),
    mine_column: str | None = None,
    time_limit: float | None = None,
    late: Late = "drop",
    min_answers: int = 3,
    decision: Decision = "majority",
    domain: str | None = None,
    dataset: str | Dataset | None = None,
    gold: GoldSource = None,
    gold_column: str | None = None,
    recode: Mapping[str, str | None] | Sequence[str] = (),
    population: PopulationSource = None,
    strata: Sequence[str] = (),
    settings: Settings | None = None,
    **chosen: object,
) -> ExpertBaseline:
    """Compute the baseline of experts, and compare it with people without training, as `merilo experts baseline` does.

    Args:
        responses: the experts' responses: the result of `read_responses`, or any source that it accepts.
        people: the responses of people without training to the same questions.
        protocol: "out-of-bag": the experts wrote the questions and skip their own; "basic": they had not seen them, and
            the procedure is that of `baseline`.
        mine: answers that mean "may be mine", besides the guide's wording.
        mine_column: a column of marks "may be mine" separate from the answers.
        time_limit: seconds for a question, from the moment it is shown.
        late: whether answers after the time limit are dropped, counted, or counted as wrong.
        min_answers: items with fewer answers left are named, and the rule does not decide them.
        decision: what decides: more than half of the answers left, or the most of them. Other items are decided too; see
            docs/experts.md.
        domain: the field of the domain: an input field, or a column (or `meta` field) of the file of gold answers.
        dataset: a dataset's name, the path of a YAML declaration, or a declaration object.
        gold: the gold answers, in any form that `baseline` accepts.
        gold_column: the column of the gold answers, if it cannot be found by name.
        recode: replacements of answers as for `read_responses`; an answer need occur in one of the two groups only.
        population: the whole dataset, if the questions are a sample of it, in any form that `baseline` accepts.
        strata: the fields of the questions whose values define the strata of the population.
        settings: the settings of the baselines of people and, by the basic protocol, of experts; experts' answers out of bag use
            `repeats` and `cluster`.
        chosen: single settings by name, as in `baseline`.

    Raises:
        UsageError: no answer means "may be mine", or an argument does not fit the others or the data.
        InputError: a file cannot be read.
        DataError: a person gave two different answers to an item and `repeats` forbids it, or no item is left.
    """
    declared = find_dataset(dataset) if isinstance(dataset, str) else dataset
    settings = settings_for(declared, Settings.of(chosen, settings))
    texts = recode_texts(recode)
    experts, others = _recoded(
        _read(responses, declared), None if people is None else _read(people, declared), texts
    )
    study = study_input(experts, declared, gold=gold, gold_column=gold_column)
    encoding = study.origin.encoding if study.origin else None
    answers, known = study.responses, study.gold
    bag: OutOfBag | None = None
    outside: dict[str, int] = {}
    if protocol == "basic":
        whole = find_population(population, strata, responses=answers, gold=known, encoding=encoding)
        made = baseline(answers, settings, gold=known, population=whole)
        answers, scored = made.responses, score_people(made, declared)
        content = {**basic_summary(made, scored), **baseline_on_dataset_json(made.whole)}
    else:
        design = OutOfBagDesign(tuple(mine), time_limit, late, min_answers, decision)
        marks = _marks(study, mine_column) if mine_column else Marks()
        outside = outside_labels(answers, design, marks, known, declared)
        require_marks(answers, design, marks, outside)
        answers = settle(answers, settings.repeats)
        gold_file = Path(gold) if isinstance(gold, str | Path) else None
        domains = domains_of(answers, domain, gold_file, encoding) if domain else None
        bag = out_of_bag(answers, design, domains=domains, marks=marks.of)
        scored = score_experts(bag, answers, known, declared, settings.cluster)
        whole = find_population(population, strata, responses=answers, gold=known, encoding=encoding)
        content = {
            **out_of_bag_summary(bag, marks, scored, outside),
            **experts_on_dataset_json(scored, whole),
        }
    untrained, comparison, other = None, None, None
    if others:
        other_gold = find_gold(others, declared, gold, gold_column, encoding)
        everyone = find_population(population, strata, responses=others, gold=other_gold, encoding=encoding)
        other = baseline(others, settings, dataset=declared, gold=other_gold, population=everyone)
        points = score_people(other, declared)
        untrained = {**basic_summary(other, points), **baseline_on_dataset_json(other.whole)}
        if scored.points:
            comparison = beside_people(scored.points, answers, known, other, points.points)
    people_files = _origin_files(others)
    in_memory = (others is not None and not people_files) or population_name(population) == IN_MEMORY
    options: dict[str, Json] = {
        "people": IN_MEMORY if others is not None and not people_files else [str(path) for path in people_files], "protocol": protocol, "mine": [*mine],
        "mine_column": mine_column, "time_limit": time_limit, "late": late, "min_answers": min_answers,
        "decision": decision, "domain": domain, "dataset": dataset if isinstance(dataset, str) else settings.dataset,
        "gold": study.gold_name, "gold_column": gold_column, "population": population_name(population),
        "strata": [*strata], **study.reading("platform", "answer"),
        "recode": [*(study.origin.recode if study.origin else ()), *texts],
        **study.reading("item", "annotator", "seconds", "page", "encoding"),
        **{name: settings.parameters()[name] for name in ("repeats", "min_control_accuracy", "cluster")},
    }  # fmt: skip
    gold_files = study.files[len(study.origin.files) if study.origin else 0 :]
    inputs = (
        *_origin_files(experts),
        *people_files,
        *gold_files,
        *population_files(population),
        *recoding_inputs(study.origin),
        *recoding_files(list(texts)),
    )
    record = study.provenance(
        "expert_baseline", options, DEFAULTS, inputs=inputs, command="experts baseline", in_memory=in_memory
    )
    return ExpertBaseline(
        scored,
        bag,
        other,
        comparison,
        outside,
        guarded(expert_items(bag, scored, answers)) if bag else None,
        experts_summary(
            content,
            untrained,
            comparison,
            settings.dataset,
            record,
            cost=cost_record(cost(experts)).to_json(),
        ),
        inputs,
    )


def _read(given: Responses | Source, declared: Dataset | None) -> Responses:
    found = given if isinstance(given, Responses) else read_responses(given, dataset=declared)
    return found.of_dataset(declared) if isinstance(found, StudyResponses) else found


def _origin_files(responses: Responses | None) -> tuple[Path, ...]:
    return responses.origin.files if isinstance(responses, StudyResponses) and responses.origin else ()


def _recoded(
    experts: Responses, people: Responses | None, texts: Sequence[str]
) -> tuple[Responses, Responses | None]:
    """Recode the answers of both groups; an answer of one group need not occur in the other."""
    origin = experts.origin if isinstance(experts, StudyResponses) else None
    mapping = read_recoding(texts, origin.encoding if origin else None)
    if people is None:
        return recode_answers(experts, mapping), None
    own, other = occurring(experts, mapping), occurring(people, mapping)
    rest = {text: kept for text, kept in mapping.items() if text in own or text not in other}
    return recode_answers(experts, rest), recode_answers(people, other)


def _marks(study: StudyInput, column: str) -> Marks:
    """Read the experts' files again with the column of marks as the answers."""
    origin = study.origin
    if origin is None:
        raise UsageError("needs responses from read_responses", field=argument("mine_column"))
    columns = origin.columns
    asked = Columns(
        answer=column,
        item=columns.item,
        annotator=columns.annotator,
        control=columns.control,
        page=columns.page,
    )
    marked = Origin(origin.files, origin.tables, origin.platform, asked, origin.encoding, ()).read()
    return marks_of(marked, column, study.responses)
