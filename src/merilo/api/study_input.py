"""The arguments that describe a study: responses, gold answers and skills, and their record in the provenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import polars as pl

from merilo.api.gold_answers import gold_in_memory, gold_of
from merilo.baselines.provenance import Provenance, command_line, provenance
from merilo.datasets import Dataset
from merilo.errors import UsageError, argument
from merilo.people.frames import Frame, is_frame, polars_of
from merilo.people.gold import Gold
from merilo.people.quality.controls import read_skills
from merilo.people.reading import Origin, Source, StudyResponses, read_responses
from merilo.people.recoding import recoding_files
from merilo.responses import Responses
from merilo.strict_json import Json
from merilo.wording import shown

GoldSource: TypeAlias = str | Path | Frame | Mapping[str, str] | Gold | None
SkillSource: TypeAlias = str | Path | Frame | Mapping[str, float] | None

#: Placeholder in the provenance for an argument that is not a file.
IN_MEMORY: Final = "in memory"


@dataclass(frozen=True, slots=True)
class StudyInput:
    """A study as the arguments of a function give it.

    Attributes:
        responses: the responses, with answers in the spelling of the dataset.
        origin: where the responses come from; `None` if they were not read by `read_responses`.
        gold: the gold answers; `None` if they are not known.
        skills: the skills as a table of `annotator` and `skill`; `None` if they are not known.
        gold_name: the file of gold answers, `IN_MEMORY`, or `None`.
        skills_name: the same for skills.
        files: the input files.
    """

    responses: Responses
    origin: Origin | None
    gold: Gold | None
    skills: pl.DataFrame | None
    gold_name: str | None
    skills_name: str | None
    files: tuple[Path, ...]

    @property
    def in_memory(self) -> bool:
        """Return whether an input is not a file, so that no command reproduces the result."""
        return not (self.origin and self.origin.files) or IN_MEMORY in {self.gold_name, self.skills_name}

    def reading(self, *names: str) -> dict[str, Json]:
        """Return the reading options of these names, such as `platform` and `answer`."""
        origin = self.origin
        if origin is None:
            return {name: [] if name in {"recode", "item"} else None for name in names}
        columns = origin.columns
        found: dict[str, Json] = {
            "platform": origin.platform,
            "encoding": origin.encoding,
            "recode": [*origin.recode],
            "item": [*columns.item],
        }
        return {name: found[name] if name in found else getattr(columns, name) for name in names}

    def provenance(
        self,
        function: str,
        parameters: Mapping[str, Json],
        defaults: Mapping[str, Json],
        *,
        inputs: Sequence[Path],
        command: str | None = None,
        flags: Mapping[str, Json] | None = None,
        in_memory: bool = False,
    ) -> Provenance:
        """Record the provenance: the command if all inputs are files, else the Python call.

        Args:
            function: the name of the library's function.
            parameters: all parameters.
            defaults: the parameters that the command leaves out if they have these values.
            inputs: the input files.
            command: the command's name; by default, that of the function.
            flags: the options of the command line, if they differ from `parameters`.
            in_memory: whether a further argument was given in memory.
        """
        origin = self.origin
        if not (in_memory or self.in_memory) and origin:
            words = command_line(command or function, origin.files, flags or parameters, defaults)
            return provenance(words, inputs, parameters)
        given = {
            name: value
            for name, value in parameters.items()
            if value is not None and value != [] and value != defaults.get(name)
        }
        arguments = ", ".join(["responses", *(f"{name}={value!r}" for name, value in given.items())])
        made = provenance(f"merilo.{function}({arguments})", inputs, parameters)
        tables = origin.inputs() if origin else ()
        return Provenance(made.command, (*tables, *made.inputs), made.parameters, made.versions)


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
    given = responses if isinstance(responses, Responses) else read_responses(responses, dataset=declared)
    read = given.of_dataset(declared) if isinstance(given, StudyResponses) else given
    origin = given.origin if isinstance(given, StudyResponses) else None
    encoding = origin.encoding if origin else None
    gold_file, skills_file = _file(gold), _file(skills)
    files = [
        *(origin.files if origin else ()),
        *(one for one in (gold_file, skills_file) if one),
    ]
    return StudyInput(
        read,
        origin,
        find_gold(read, declared, gold, gold_column, encoding, alternatives=alternatives),
        read_skills(skills_file, encoding) if skills_file else _skills(skills),
        _name(gold),
        _name(skills),
        tuple(files),
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
    """Return the gold answers from any source; arguments as for `study_input`."""
    if isinstance(gold, Gold):
        return gold
    if gold is None or isinstance(gold, str | Path):
        return gold_of(responses, declared, _file(gold), column, encoding, alternatives=alternatives)
    return gold_in_memory(responses, declared, gold, column, alternatives=alternatives)


def recoding_inputs(origin: Origin | None) -> list[Path]:
    """Return the files of replacements that were read with the responses."""
    return [*recoding_files(list(origin.recode))] if origin else []


def _file(given: object) -> Path | None:
    return Path(given) if isinstance(given, str | Path) else None


def _name(given: object) -> str | None:
    file = _file(given)
    return shown(file) if file else None if given is None else IN_MEMORY


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
