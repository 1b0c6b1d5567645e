"""`merilo.baseline`: compute a human baseline from responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import polars as pl

from merilo.api.frames import Frame, is_frame, polars_of
from merilo.api.gold_answers import gold_in_memory, gold_of
from merilo.api.reading import Origin, Source, StudyResponses, read_responses
from merilo.api.result import BaselineResult
from merilo.baselines import pipeline
from merilo.baselines.provenance import Provenance, command_line, provenance
from merilo.baselines.settings import Settings
from merilo.datasets import Dataset
from merilo.datasets import dataset as find_dataset
from merilo.errors import UsageError, argument
from merilo.people import pseudonyms
from merilo.people.agreement import Level
from merilo.people.controls import read_skills
from merilo.people.decision import Aggregator, Resolve
from merilo.people.duplicates import Repeats
from merilo.people.recoding import recoding_files
from merilo.responses import Responses
from merilo.strict_json import Json
from merilo.wording import shown

if TYPE_CHECKING:
    from merilo.reports.hb.raw_study import RawStudy

#: Options that a recorded command leaves out, because they have the default of the settings.
DEFAULTS: Final[dict[str, Json]] = {
    **{one.name: one.default for one in fields(Settings) if isinstance(one.default, str | int | float)},
    "common_items": False,
    "anonymise": False,
}

#: Placeholder in the provenance for an argument that is not a file.
IN_MEMORY: Final = "in memory"


def baseline(
    responses: Responses | Source,
    *,
    dataset: str | Dataset | None = None,
    gold: str | Path | Frame | Mapping[str, str] | None = None,
    gold_column: str | None = None,
    skills: str | Path | Frame | Mapping[str, float] | None = None,
    models: Sequence[str | Path] = (),
    common_items: bool = False,
    metric: str | None = None,
    alternatives: str | None = None,
    min_control_accuracy: float = 0.5,
    min_controls: int = 1,
    min_votes: int | Literal["majority"] = "majority",
    max_low_agreement: float = 0.3,
    aggregator: Aggregator = "majority",
    resolve: Resolve = "cascade",
    anchor_controls: bool = False,
    normalise: Sequence[str] = (),
    by: Sequence[str] = (),
    level: Level = "nominal",
    repeats: Repeats = "refuse",
    currency: str | None = None,
    anonymise: bool = False,
) -> BaselineResult:
    """Compute a human baseline from responses, as `merilo baseline` does.

    Args:
        responses: the result of `read_responses`, or any source that it accepts.
        dataset: a dataset's name, the path of a YAML declaration, or a declaration object.
        gold: the gold answers: a file, a table, or a mapping from item to answer if items have one field; by default, the
            answers of the dataset's solver, if it has one.
        gold_column: the column of the gold answers, if it cannot be found by name.
        skills: the platform's skills of annotators: a file, a table of `annotator` and `skill`, or a mapping from
            annotator to skill.
        models: files of models' answers to compare with the annotators in the report; see also `compare`.
        common_items: if the items differ, compare models on the items that both sides answered.
        metric: the main metric; by default, the dataset's main metric, or `acc` without a dataset.
        alternatives: the separator of several gold answers in one text, if no dataset declares it.
        min_control_accuracy: annotators with a lower accuracy on control items are excluded.
        min_controls: annotators with fewer control answers are not judged and are kept.
        min_votes: how many equal votes make a majority; "majority" is more than half.
        max_low_agreement: the share of items without a majority above which the baseline is rejected.
        aggregator: "majority", "dawid-skene", "one-coin" or "glad".
        resolve: what happens to items left undecided: "none", "skill", "glad" or "cascade".
        anchor_controls: whether models of annotators are given the known answers of control items.
        normalise: names of the rules by which spellings count as the same answer.
        by: fields of the items; agreement and metrics are computed for each of their values.
        level: the level of measurement of Krippendorff's alpha.
        repeats: what happens to an annotator's second, different answer to an item.
        currency: the currency of rewards, if the export does not state it.
        anonymise: replace annotators' ids by pseudonyms.

    Returns:
        The baseline.

    Raises:
        UsageError: an argument does not fit the others or the data.
        InputError: a file cannot be read.
        DataError: no item is left, or all annotators fail the control items.

    Example:
        >>> frame = pl.DataFrame(
        ...     {"task": [1, 1, 1, 2, 2, 2], "worker": [*"abcabc"], "label": [*"yynnnn"]}
        ... )
        >>> made = baseline(frame, gold={"1": "y", "2": "n"})
        >>> made.metrics["acc"].value, made.consensus["label"].to_list()
        (1.0, ['y', 'n'])
    """
    declared = find_dataset(dataset) if isinstance(dataset, str) else dataset
    settings = Settings(
        dataset=declared.name if declared else None,
        metric=metric,
        alternatives=alternatives,
        labels=declared.answer.labels if declared else (),
        min_control_accuracy=min_control_accuracy,
        min_controls=min_controls,
        min_votes=min_votes,
        max_low_agreement=max_low_agreement,
        aggregator=aggregator,
        resolve=resolve,
        anchor_controls=anchor_controls,
        normalise=tuple(normalise),
        by=tuple(by),
        level=level,
        repeats=repeats,
        currency=currency,
        open_answers=not declared.answer.labels if declared else None,
    )
    given = responses if isinstance(responses, Responses) else read_responses(responses, dataset=declared)
    read = given.of_dataset(declared) if isinstance(given, StudyResponses) else given
    origin = given.origin if isinstance(given, StudyResponses) else None
    encoding = origin.encoding if origin else None
    gold_file, skills_file = _file(gold), _file(skills)
    found = (
        gold_in_memory(read, declared, gold, gold_column)
        if gold is not None and not isinstance(gold, str | Path)
        else gold_of(read, declared, gold_file, gold_column, encoding, alternatives=alternatives)
    )
    skilled = read_skills(skills_file, encoding) if skills_file else _skills(skills)
    if anonymise:
        if origin is None:
            raise UsageError(f"{argument('anonymise')} needs responses from read_responses")
        read, skilled = pseudonyms.anonymise(read, skilled, origin.key)
        found = pseudonyms.gold_without_folders(found) if found else None
    if models and not found:
        raise UsageError(
            f"{argument('model')} is compared on right answers, and none are known: give {argument('gold')}"
        )
    made = pipeline.baseline(read, settings, dataset=declared, gold=found, skills=skilled)
    recode = list(origin.recode) if origin else []
    columns = origin.columns if origin else None
    options: dict[str, Json] = {
        "platform": origin.platform if origin else None,
        "dataset": dataset if isinstance(dataset, str) else settings.dataset,
        "gold": shown(gold_file) if gold_file else None if gold is None else IN_MEMORY,
        "gold_column": gold_column,
        "answer": columns.answer if columns else None,
        "recode": [*recode],
        "anonymise": anonymise,
        "skills": shown(skills_file) if skills_file else None if skills is None else IN_MEMORY,
        "model": [shown(Path(one)) for one in models],
        "common_items": common_items,
        "encoding": encoding,
        "currency": currency,
        "metric": metric,
        "alternatives": alternatives,
        "min_control_accuracy": min_control_accuracy,
        "min_controls": min_controls,
        "min_votes": min_votes,
        "max_low_agreement": max_low_agreement,
        "aggregator": aggregator,
        "resolve": resolve,
        "anchor_controls": anchor_controls,
        "normalise": [*normalise],
        "by": [*by],
        "level": level,
        "repeats": repeats,
        "item": [*(columns.item if columns else ())],
        "annotator": columns.annotator if columns else None,
        "control": columns.control if columns else None,
        "page": columns.page if columns else None,
        "started": columns.started if columns else None,
        "submitted": columns.submitted if columns else None,
        "seconds": columns.seconds if columns else None,
        "reward": columns.reward if columns else None,
    }
    inputs = [
        *(origin.files if origin else ()),
        *(one for one in (gold_file, skills_file) if one),
        *map(Path, models),
        *recoding_files(recode),
    ]
    in_memory = not (origin and origin.files) or IN_MEMORY in {options["gold"], options["skills"]}
    record = _provenance(origin, inputs, options, in_memory=in_memory)

    def raw() -> RawStudy:
        from merilo.reports.hb.raw_study import RawStudy, without_folders  # noqa: PLC0415 - needed only to write files

        study = RawStudy(
            read,
            settings,
            without_folders(record),
            found,
            skilled,
            declared,
            tuple(map(Path, models)),
            common_items,
        )
        return study if anonymise else study.pseudonymised(origin.key if origin else None)

    return BaselineResult(
        made,
        record.without_folders() if anonymise and not in_memory else record,
        raw=raw,
        models=tuple(map(Path, models)),
        common_items=common_items,
        inputs=tuple(inputs),
    )


def _provenance(
    origin: Origin | None, inputs: Sequence[Path], options: dict[str, Json], *, in_memory: bool
) -> Provenance:
    """Record the provenance: the command if all inputs are files, else the Python call."""
    if not in_memory and origin:
        return provenance(command_line("baseline", origin.files, options, DEFAULTS), inputs, options)
    given = {
        name: value
        for name, value in options.items()
        if value is not None and value != [] and value != DEFAULTS.get(name)
    }
    words = ", ".join(["responses", *(f"{name}={value!r}" for name, value in given.items())])
    made = provenance(f"merilo.baseline({words})", inputs, options)
    tables = origin.inputs() if origin else ()
    return Provenance(made.command, (*tables, *made.inputs), made.parameters, made.versions)


def _file(given: object) -> Path | None:
    return Path(given) if isinstance(given, str | Path) else None


def _skills(given: object) -> pl.DataFrame | None:
    """Convert skills in memory to a table of `annotator` and `skill`."""
    if given is None or isinstance(given, str | Path):
        return None
    if isinstance(given, Mapping):
        rows = [(str(name), float(value)) for name, value in given.items()]
        return pl.DataFrame(rows, schema={"annotator": pl.String, "skill": pl.Float64}, orient="row")
    table = polars_of(given) if is_frame(given) else pl.DataFrame()
    if not {"annotator", "skill"} <= set(table.columns):
        raise UsageError("takes a table with the columns annotator and skill", field=argument("skills"))
    return table.select(pl.col("annotator").cast(pl.String), pl.col("skill").cast(pl.Float64))
