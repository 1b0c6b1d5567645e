"""Under which conditions people and models answered, side by side: the differences in how they were asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from merilo.baselines.baseline_reader import StoredBaseline
from merilo.baselines.model_answers import Samples, dataset_key
from merilo.models.harness_logs import LogMapping
from merilo.models.run_folder import DatasetRecord, is_run, read_run
from merilo.records import list_at, mapping_at, number_at, text_at
from merilo.strict_json import Json
from merilo.studies.plan_types import FROZEN_FILE
from merilo.studies.study_folder import FrozenPlan, read_frozen
from merilo.text import Text, joined
from merilo.wording import shortened

#: What is asked of either side.
Condition: TypeAlias = Literal[
    "prompt", "shots", "training", "time_limit", "tools", "answers", "pay", "system_prompt", "temperature",
    "token_limit",
]  # fmt: skip
#: The conditions that both sides have. Pay and cost are not judged, and the others are of models alone.
SHARED: Final[tuple[Condition, ...]] = ("prompt", "shots", "training", "time_limit", "tools", "answers")
CONDITIONS: Final[tuple[Condition, ...]] = get_args(Condition)

NAMES: Final[Mapping[Condition, Text]] = {
    "prompt": Text("question as asked"),
    "shots": Text("solved examples with a question"),
    "training": Text("training before"),
    "time_limit": Text("time limit, seconds"),
    "tools": Text("tools"),
    "answers": Text("answers an item"),
    "pay": Text("pay or cost of an answer"),
    "system_prompt": Text("system prompt"),
    "temperature": Text("temperature"),
    "token_limit": Text("limit of tokens of an answer"),
}
NONE: Final = Text("none", context="conditions")
#: Where the record of the plan is, seen from a baseline: in its own folder, in `plan/` of a report, in its study.
_PLACES: Final = (".", "plan", "..")


@dataclass(frozen=True, slots=True)
class Side:
    """The conditions of one side; those that are not known are missing.

    Attributes:
        values: condition -> its value, comparable with the other side's.
        shown: condition -> its value in words.
    """

    values: Mapping[Condition, Json] = field(default_factory=dict)
    shown: Mapping[Condition, Text] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AskedConditions:
    """The conditions of people and of models.

    Attributes:
        people: those of people, by the frozen plan and the measured pay.
        models: model -> those of its run.
    """

    people: Side
    models: Mapping[str, Side]

    def differences(self, model: str) -> list[Condition]:
        """Return the conditions that are known of both sides and differ; pay and cost are not judged."""
        other = self.models[model].values
        return [
            one
            for one in SHARED
            if one in self.people.values and one in other and self.people.values[one] != other[one]
        ]

    def unknown(self, model: str) -> list[Condition]:
        """Return the conditions that are not known of one side."""
        both = (self.people.values, self.models[model].values)
        return [one for one in SHARED if any(one not in side for side in both)]

    def sentence(self, model: str) -> Text:
        """Name the differences between how people and a model were asked."""
        apart = [
            Text(
                "{name} ({people} and {model})",
                name=NAMES[one],
                people=self.people.shown[one],
                model=self.models[model].shown[one],
            )
            for one in self.differences(model)
        ]
        unknown = [NAMES[one] for one in self.unknown(model)]
        missing = Text("; not known of both sides: {names}", names=joined(unknown, ", ")) if unknown else ""
        if not apart:
            return Text(
                "People and {model} were asked alike, as far as is known{missing}.",
                model=model,
                missing=missing,
            )
        return Text(
            "People and {model} were asked differently: {apart}{missing}.",
            model=model,
            apart=joined(apart, ", "),
            missing=missing,
        )

    def rows(self) -> list[tuple[Text, list[Text | str]]]:
        """Return a row for each condition that is known of a side: its name, people, then each model."""
        sides = [self.people, *self.models.values()]
        return [
            (NAMES[one], [side.shown.get(one, "—") for side in sides])
            for one in CONDITIONS
            if any(one in side.shown for side in sides)
        ]

    def to_dict(self) -> dict[str, Json]:
        """Return the conditions as JSON."""
        models: dict[str, Json] = {
            name: {
                **_json(side),
                "differs": [*self.differences(name)],
                "not_known": [*self.unknown(name)],
            }
            for name, side in self.models.items()
        }
        return {"people": _json(self.people), "models": models}


def _json(side: Side) -> dict[str, Json]:
    return {str(name): value for name, value in side.values.items()}


def conditions(
    people: StoredBaseline, models: Mapping[str, Samples], spent: Mapping[str, float]
) -> AskedConditions | None:
    """Return the conditions of people and models; `None` if neither a plan, a run nor a log tells them.

    Args:
        people: the annotators of a baseline.
        models: model -> its answers.
        spent: model -> the cost of an answer in USD, if it is known.
    """
    if not people.annotators:
        return None
    beside = frozen_beside(Path(people.folder))
    plan = beside[1].plan if beside else None
    key = dataset_key(people).lower()
    runs = {name: _run(Path(samples.file), key) for name, samples in models.items()}
    logs = {name: samples.log for name, samples in models.items() if samples.log and samples.log.asked}
    if plan is None and not any(runs.values()) and not logs:
        return None
    return AskedConditions(
        _of_people(people, plan),
        {
            name: _of_log(logs[name], samples, spent.get(name))
            if name in logs
            else _of_run(runs[name], spent.get(name))
            for name, samples in models.items()
        },
    )


def frozen_beside(folder: Path) -> tuple[Path, FrozenPlan] | None:
    """Return where the record of a frozen plan is, seen from a baseline, and the record; `None` without one.

    Raises:
        InputError: the record is damaged.
    """
    place = next((folder / name for name in _PLACES if (folder / name / FROZEN_FILE).is_file()), None)
    frozen = read_frozen(place) if place is not None else None
    return None if place is None or frozen is None else (place, frozen)


def _run(file: Path, key: str) -> DatasetRecord | None:
    """Return what a run asked of a dataset; `None` for other answers."""
    place = file if is_run(file) else file.parent
    if not is_run(place):
        return None
    asked = {name.lower(): one for name, one in read_run(place).record.datasets.items()}
    return asked.get(key)


def _of_people(people: StoredBaseline, plan: Mapping[str, Json] | None) -> Side:
    values: dict[Condition, Json] = {"shots": 0}
    shown: dict[Condition, Text] = {"shots": NONE}
    paid = people.cost
    if paid and (each := paid.per_answer) is not None:
        values["pay"] = round(each, 6)
        shown["pay"] = Text("{pay:.4f} {currency}", pay=each, currency=paid.currency or "")
    if plan is None:
        return Side(values, shown)
    values["prompt"], shown["prompt"] = "people", Text("with the instruction")
    trained = number_at(plan, "training", "threshold")
    values["training"] = trained is not None
    shown["training"] = (
        NONE if trained is None else Text("with feedback, {share:.0%} right to be admitted", share=trained)
    )
    rules = [one for one in list_at(plan, "restrictions") if one]
    values["tools"] = not rules
    shown["tools"] = (
        Text("{n:# rule restricts|# rules restrict} them", n=len(rules)) if rules else Text("any")
    )
    arms = mapping_at(plan, "arms")
    # The baseline does not tell of which of several other arms it is.
    known = (Path(people.folder).name, "people", *(arms if len(arms) == 1 else ()))
    arm = next((name for name in known if name in arms), None)
    if arm is None:
        return Side(values, shown)
    limit = number_at(plan, "arms", arm, "time_limit")
    values["time_limit"] = limit
    shown["time_limit"] = NONE if limit is None else Text("{limit:g}", limit=limit)
    overlap = number_at(plan, "arms", arm, "overlap")
    if overlap is not None:
        values["answers"] = int(overlap)
        shown["answers"] = Text("{n:# person|# people}", n=int(overlap))
    if "pay" not in values and (page := number_at(plan, "arms", arm, "pay", "per_page")) is not None:
        currency = text_at(plan, "arms", arm, "pay", "currency") or ""
        values["pay"] = page
        shown["pay"] = Text("{pay:g} {currency} a page by the plan", pay=page, currency=currency)
    return Side(values, shown)


_FORMS: Final = {
    "people": Text("with the instruction"),
    "merilo": Text("Merilo's prompt"),
    "harness": Text("the harness's prompt"),
}


def _of_log(log: LogMapping, samples: Samples, cost: float | None) -> Side:
    """Return what the log of another harness says about how the model was asked."""
    own = not log.other_prompts and log.prompts_checked
    most = max(map(len, samples.answers.values()), default=1)
    values: dict[Condition, Json] = {"prompt": "merilo" if own else "harness", "answers": most}
    shown: dict[Condition, Text] = {
        "prompt": _FORMS["merilo"] if own else Text("the prompt of {harness}", harness=log.harness),
        "answers": Text("{n:# sample|# samples}", n=most),
    }
    for name in ("shots", "system_prompt", "temperature", "token_limit"):
        value = log.asked.get(name)
        if isinstance(value, str) and value.strip():
            values[name], shown[name] = value, Text("“{text}”", text=shortened(" ".join(value.split()), 80))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            values[name] = value
            shown[name] = Text("{value:g}", value=value) if value or name != "shots" else NONE
    return _with_cost(values, shown, cost)


def _of_run(run: DatasetRecord | None, cost: float | None) -> Side:
    """Return the conditions of a run: Merilo gives a model no tools, training or time limit."""
    values: dict[Condition, Json] = {}
    shown: dict[Condition, Text] = {}
    if run is not None:
        values = {
            "prompt": run.prompts, "shots": run.shots, "training": False, "time_limit": None, "tools": False,
            "answers": run.samples,
        }  # fmt: skip
        shown = {
            "prompt": _FORMS[run.prompts],
            "shots": Text("{n:d}", n=run.shots) if run.shots else NONE,
            "training": NONE, "time_limit": NONE, "tools": NONE,
            "answers": Text("{n:# sample|# samples}", n=run.samples),
        }  # fmt: skip
    return _with_cost(values, shown, cost)


def _with_cost(values: dict[Condition, Json], shown: dict[Condition, Text], cost: float | None) -> Side:
    if cost is None:
        return Side(values, shown)
    return Side(
        {**values, "pay": round(cost, 6)},
        {**shown, "pay": Text("{pay:.4f} USD", pay=cost)},
    )
