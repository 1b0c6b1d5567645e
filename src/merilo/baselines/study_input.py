"""What a baseline is computed from, made of its arguments: responses, gold answers, skills, the whole dataset.

They are recorded in the provenance. A study gets its responses by an import, see `studies.study_import`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, cast

import polars as pl

from merilo.baselines.estimates import verdict_gold
from merilo.baselines.population import Population, population_of_weights
from merilo.baselines.provenance import Provenance, command_line, provenance
from merilo.datasets import Dataset
from merilo.datasets.dataset_files import own_gold_file
from merilo.datasets.declaration import undeclared, with_metric
from merilo.datasets.solvers import SOLVERS
from merilo.errors import DataError, UsageError, argument
from merilo.file_reading import Origin, Reading
from merilo.metrics.registry import NAMES, is_metric
from merilo.people.controls import read_skills
from merilo.people.frames import Frame, is_frame, mapping_of, polars_of, records_of
from merilo.people.gold import Gold, is_id, read_gold, solved_gold
from merilo.people.gold_file import ID_COLUMNS, read_gold_file
from merilo.people.reading import Source, inputs_of, read_responses
from merilo.people.spelling import answer_keys
from merilo.people.votes import MOST_CLOSED_LABELS
from merilo.responses import Responses
from merilo.settings import DEFAULTS, Settings, has_option
from merilo.strict_json import Json
from merilo.wording import listed, shown

if TYPE_CHECKING:
    from merilo.baselines.row import Margin
    from merilo.people.peers import OtherAnswers

GoldSource: TypeAlias = str | Path | Frame | Mapping[str, str] | None
SkillSource: TypeAlias = str | Path | Frame | Mapping[str, float] | None

#: Placeholder in the provenance for an argument that is not a file.
IN_MEMORY: Final = "in memory"

#: Fewer gold answers may differ from every answer because people are wrong.
_FEWEST_OF_ANOTHER_FORM: Final = 5


class ArmInput(NamedTuple):
    """Another group of people of a study, and the settings of its baseline."""

    study: StudyInput
    settings: Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyInput:
    """Everything that a baseline is computed from, beside its settings.

    Attributes:
        responses: the responses as they are written.
        dataset: the dataset's declaration; `None` if the study names none: labels are compared as texts.
        gold: the gold answers; `None` if they are not known.
        skills: the platform's skills as a table of `annotator` and `skill`; `None` if they are not known.
        population: the whole dataset in strata; `None` if the items are not a sample of it.
        arm: the name of the arm whose answers these are; `None` if the study has no arms.
        arms: the other arms by name, each with its settings.
        other: the annotators' answers to other datasets; `None` if they are not known.
        models: the files of models' answers to compare with the annotators.
        margin: the margin for equivalence with models; `None` if there is none.
        provenance: how the baseline is computed; `None` if it is not recorded.
        files: the input files.
        pseudonymous: whether annotators already have pseudonyms.
    """

    responses: Responses
    dataset: Dataset | None = None
    gold: Gold | None = None
    skills: pl.DataFrame | None = None
    population: Population | None = None
    arm: str | None = None
    arms: Mapping[str, ArmInput] = field(default_factory=dict)
    other: OtherAnswers | None = None
    models: tuple[Path, ...] = ()
    margin: Margin | None = None
    provenance: Provenance | None = None
    files: tuple[Path, ...] = ()
    plan: Mapping[str, bytes] = field(default_factory=dict)
    pseudonymous: bool = False

    @property
    def origin(self) -> Origin | None:
        """Where the responses come from; `None` if they were not read by `read_responses`."""
        return self.responses.origin


def reading_options(origin: Origin | None) -> dict[str, Json]:
    """Return how the responses were read, as options of the command."""
    reading = origin.reading if origin and not origin.declared else Reading()
    return {
        "platform": reading.platform,
        "reading": shown(origin.declared) if origin and origin.declared else None,
        "item": [*reading.item],
        "annotator": next(iter(reading.annotator), None),
        "answer": next(iter(reading.answer), None),
    }


def recorded(study: StudyInput, parameters: Mapping[str, Json], *, in_memory: bool = False) -> Provenance:
    """Record the provenance: the command if all inputs are files and its options suffice, else the Python call.

    Args:
        study: the responses and the input files.
        parameters: all parameters.
        in_memory: whether an argument was given in memory, so that no command gives the same result.
    """
    origin = study.origin
    without_option = [name for name in parameters if not has_option(name)]
    in_memory = in_memory or any(parameters[name] != DEFAULTS.get(name) for name in without_option)
    if not in_memory and origin and origin.files:
        words = command_line("baseline", origin.files, parameters, DEFAULTS)
        return provenance(words, study.files, parameters)
    chosen = {
        name: value
        for name, value in parameters.items()
        if value is not None and value != [] and value != DEFAULTS.get(name)
    }
    arguments = ", ".join(["responses", *(f"{name}={value!r}" for name, value in chosen.items())])
    record = provenance(f"merilo.baseline({arguments})", study.files, parameters)
    tables = inputs_of(origin) if origin else ()
    return record.model_copy(update={"inputs": (*tables, *record.inputs)})


def study_input(
    responses: Responses | Source,
    declared: Dataset | None,
    *,
    gold: GoldSource = None,
    gold_column: str | None = None,
    alternatives: str | None = None,
    skills: SkillSource = None,
) -> StudyInput:
    """Read the responses, gold answers and skills of a study.

    Args:
        responses: the result of `read_responses`, or any source that it accepts.
        declared: the dataset.
        gold: a file, a table, or a mapping from item to answer if items have one field; by default, the answers of the
            dataset's solver, if it has one.
        gold_column: the column of the gold answers, if it cannot be found by name.
        alternatives: the separator of several gold answers in one text.
        skills: a file, a table of `annotator` and `skill`, or a mapping from annotator to skill.

    Raises:
        UsageError: an argument does not fit the others or the data.
        InputError: a file cannot be read.
    """
    read = responses if isinstance(responses, Responses) else read_responses(responses)
    origin = read.origin
    encoding = origin.reading.encoding if origin else None
    if read.scored and (gold is not None or gold_column is not None):
        raise UsageError(
            f"the reading declares answers that are already scored (columns.score): leave {argument('gold')} out"
        )
    if gold is None and not read.scored:
        gold = own_gold_file(declared)
    gold_file, skills_file = _file(gold), _file(skills)
    return StudyInput(
        responses=read,
        dataset=declared,
        gold=verdict_gold(read)
        if read.scored
        else find_gold(read, declared, gold, gold_column, encoding, alternatives=alternatives),
        skills=read_skills(skills_file, encoding) if skills_file else _skills(skills),
        files=(*(origin.files if origin else ()), *filter(None, (gold_file, skills_file))),
    )


def find_gold(
    responses: Responses,
    declared: Dataset | None,
    gold: GoldSource,
    column: str | None,
    encoding: str | None,
    *,
    alternatives: str | None = None,
) -> Gold | None:
    """Return the gold answers from any source, else from the dataset's solver; `None` if there is neither.

    Arguments as for `study_input`.

    Raises:
        UsageError: a column is given without a file.
    """
    if gold is not None:
        rows = _file(gold) or _rows(responses.fields, cast("Frame | Mapping[str, str]", gold))
        return _read(responses, declared, rows, column, encoding, alternatives)
    if column is not None:
        raise UsageError(f"{argument('gold_column')} needs {argument('gold')}")
    if declared and declared.name in SOLVERS:
        return solved_gold(responses.test_items, SOLVERS[declared.name], declared.name)
    return None


def _file(source: object) -> Path | None:
    return Path(source) if isinstance(source, str | Path) else None


def name_of(source: object) -> str | None:
    """Return the name of a file as given, `IN_MEMORY` for another argument, and `None` for none."""
    file = _file(source)
    return shown(file) if file else None if source is None else IN_MEMORY


def _skills(source: object) -> pl.DataFrame | None:
    """Convert skills in memory to a table of `annotator` and `skill`."""
    if source is None or isinstance(source, str | Path):
        return None
    if isinstance(source, Mapping):
        rows = [(str(name), float(value)) for name, value in source.items()]
        return pl.DataFrame(rows, schema={"annotator": pl.String, "skill": pl.Float64}, orient="row")
    table = polars_of(source) if is_frame(source) else pl.DataFrame()
    if not {"annotator", "skill"} <= set(table.columns):
        raise UsageError("takes a table with the columns annotator and skill", field=argument("skills"))
    return table.select(pl.col("annotator").cast(pl.String), pl.col("skill").cast(pl.Float64))


def _read(  # noqa: PLR0917 - one source
    responses: Responses,
    declared: Dataset | None,
    source: Path | Sequence[Mapping[str, Json]],
    column: str | None,
    encoding: str | None,
    alternatives: str | None,
) -> Gold:
    """Read gold answers and join them to the test items."""
    gold_read = read_gold(
        source,
        responses.test_items,
        answer=responses.answer_field or "",
        column=column,
        encoding=encoding,
        dataset=declared,
        alternatives=alternatives,
    )
    if declared is None and alternatives is None:
        _refuse_other_form(gold_read, responses)
    return gold_read


def _refuse_other_form(gold: Gold, responses: Responses) -> None:
    """Refuse gold answers that nobody gave, of a few labels each: every answer would count as wrong.

    Raises:
        DataError: the gold answers are other labels than the answers.
    """
    asked = responses.table.join(gold.answers.select("item"), on="item", how="semi")
    texts = [column.drop_nulls().unique() for column in (gold.answers["gold"], asked["answer"])]
    few = all(1 < len(column) <= MOST_CLOSED_LABELS for column in texts)
    if not few or gold.answers.height < _FEWEST_OF_ANOTHER_FORM:
        return
    known, answered = (sorted(column.to_list()) for column in texts)
    reading = responses.reading or Reading()
    pairs = [("", text) for text in (*known, *answered)]
    keys = answer_keys(pairs, undeclared(), reading.order, reading.set_separator)
    if {keys["", text] for text in known} & {keys["", text] for text in answered}:
        return
    raise DataError(
        f"the gold answers are {listed(known, 5)}, and people answered {listed(answered, 5)}: if both name the same in "
        "two ways, declare the questions with 'merilo datasets new' and give the declaration as "
        f"{argument('dataset', 'FILE')}",
        file=gold.facts.source,
        field=gold.facts.column,
    )


def _rows(fields: Sequence[str], source: Frame | Mapping[str, str]) -> Sequence[Mapping[str, Json]]:
    """Return gold answers in memory as the records of a file.

    Args:
        fields: the fields of the items.
        source: a table with the fields of the items and the gold answers, or a mapping (or a Series of pandas)
            from item to gold answer if items have one field or one field of ids. The items of a mapping are
            ids by which answers of models are matched, and so is the only field of the items in a table
            without a column of ids.

    Raises:
        UsageError: a mapping is given although items have several fields and none of ids.
    """
    source = mapping_of(source)
    if not isinstance(source, Mapping):
        rows: Sequence[Mapping[str, Json]] = records_of(polars_of(source))
    else:
        named = fields if len(fields) == 1 else tuple(name for name in fields if is_id(name))
        if len(named) != 1:
            raise UsageError(
                f"takes a table, because items have {len(fields)} fields ({', '.join(fields)})",
                field=argument("gold"),
            )
        rows = [{named[0]: item, "gold": answer} for item, answer in source.items()]
    columns = {name.casefold() for row in rows for name in row}
    if len(fields) == 1 and not columns & {*ID_COLUMNS, "meta"}:
        # The only field is the item's id, by which answers of models are matched.
        ids = [row.get(fields[0]) for row in rows]
        if len(set(map(str, ids))) == len(ids):
            rows = [{**row, "id": identity} for row, identity in zip(rows, ids, strict=True)]
    return rows


def find_population(
    source: str | Path | None,
    *,
    responses: Responses,
    gold: Gold | None,
    encoding: str | None = None,
) -> Population | None:
    """Return the whole dataset in strata; `None` if it is not given.

    Args:
        source: a study's `weights.csv`.
        responses: the responses of the study.
        gold: the gold answers.
        encoding: the file's encoding.

    Raises:
        UsageError: there are no gold answers.
        InputError: the file cannot be read, or is not one of weights.
        DataError: an item has no weight.
    """
    if source is None:
        return None
    if gold is None:
        raise UsageError(
            f"{argument('population')} is for metrics, and no gold answers are known: give {argument('gold', 'FILE')}"
        )
    table = read_gold_file(Path(source), encoding).table
    return population_of_weights(table, source=shown(Path(source)), items=_ids(responses.test_items, gold))


def _ids(items: pl.DataFrame, gold: Gold) -> dict[int, str]:
    """Return the ids of the study's items: those that annotators were shown, else those of the gold answers."""
    table = items if "id" in items.columns else gold.answers.join(items, on="item", how="semi")
    id_of = {int(item): name for item, name in table.select("item", "id").iter_rows()}
    return {item: str(id_of[item]) for item in items["item"] if id_of.get(item) is not None}


def refuse_unknown_metric(settings: Settings) -> None:
    """Refuse the name of a metric that does not exist.

    Raises:
        UsageError: there is no metric with the name in the settings.
    """
    if settings.metric is not None and not is_metric(settings.metric):
        raise UsageError(f"there is no metric '{settings.metric}' (choose from: {', '.join(NAMES)})")


def declared(dataset: Dataset | None, settings: Settings) -> Dataset:
    """Return the dataset as the scorer uses it, with the metric of the settings first.

    Args:
        dataset: the declaration; `None` if the study has no declared dataset.
        settings: the metric and the alternatives.

    Raises:
        UsageError: there is no such metric, it does not fit the answers, or separators of alternatives are given twice.
    """
    refuse_unknown_metric(settings)
    if dataset is None:
        return undeclared(settings.metric or "acc", settings.alternatives)
    if settings.alternatives is not None:
        raise UsageError(
            f"{argument('alternatives')} cannot be given: {dataset.title} declares the separator of its gold answers"
        )
    plain = replace(dataset, cluster=None)  # the clusters are those of the study
    return plain if settings.metric is None else with_metric(plain, settings.metric)
