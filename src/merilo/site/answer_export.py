"""The answers that the site collected: as a table for `merilo study import`, and as responses without a file."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import itemgetter
from typing import Final

import polars as pl

from merilo.atomic_write import guarded_csv
from merilo.participation import Participation
from merilo.people.controls import ExclusionRule
from merilo.people.platforms.loading import json_text
from merilo.people.signals import DECLARED, HIDDEN_WORD, SIGNAL_COLUMNS, unfolded
from merilo.people.spelling import NOT_SHOWN
from merilo.responses import Responses
from merilo.site.annotator_steps import is_complete, most_tasks, stage_now
from merilo.site.item_form import hidden_word
from merilo.site.people_access import PLATFORM_IDS
from merilo.site.served_study import ServedStudy
from merilo.site.state import Person, Stage, State
from merilo.strict_json import Json, dumped
from merilo.studies.instruction import SKIP_OWN
from merilo.studies.platform_rows import as_given
from merilo.studies.study_import import input_columns, read_imported
from merilo.studies.study_tasks import ANSWER_FIELDS, STUDY, TASK
from merilo.text import plain_number

#: The columns of the table, before those of signals if the plan asks for them.
COLLECTED_FIELDS: Final = (STUDY, TASK, *ANSWER_FIELDS)

#: Columns of responses that no input field of an item is called like.
SITE_TASK, _NUMBER = "merilo task", "merilo number"

_COLUMNS: Final = {
    "task": pl.Int32,
    "place": pl.Int32,
    "counts": pl.Boolean,
    "given": pl.Int64,
    "answered": pl.Int64,
    "seconds": pl.Float64,
    "answer": pl.String,
    "skipped": pl.Boolean,
    "signals": pl.String,
    "pseudonym": pl.String,
    "stage": pl.String,
    "controls": pl.Int32,
    "controls_right": pl.Int32,
    "declared": pl.String,
}


def read_answers(state: State) -> pl.DataFrame:
    """Read all answers to test and control items, in the order in which they came.

    Returns:
        One row for each answer: what was answered when, what is known of the person, and `left_out`: why the answer is
        not in the table of `merilo study collect` ("excluded", "stopped", "surplus"); an empty text if it is.
    """
    rows = [
        (
            assignment.task, assignment.place, assignment.counts, assignment.given, assignment.answered,
            assignment.seconds,
            SKIP_OWN["ru"] if assignment.skipped else assignment.answer, assignment.skipped, assignment.signals,
            person.pseudonym, person.stage, person.controls, person.controls_right, person.declared,
        )
        for person in state.people.values()
        for assignment in person.tasks.values()
        if assignment.state == "answered" and assignment.place
    ]  # fmt: skip
    return _with_reasons(state.study, pl.DataFrame(rows, schema=_COLUMNS, orient="row")).sort(
        "answered", "pseudonym", "place"
    )


def _with_reasons(study: ServedStudy, table: pl.DataFrame) -> pl.DataFrame:
    """Add the column `left_out` to columns of answers and of people."""
    plan, stage = study.folder.plan.baseline, pl.col("stage")
    rule = ExclusionRule(plan.min_control_accuracy, plan.min_controls)
    excluded_too = pl.Series(rule.excluded(table["controls_right"].to_numpy(), table["controls"].to_numpy()))
    why = (
        pl.when(stage == "excluded").then(pl.lit("excluded"))
        .when(excluded_too).then(pl.lit(""))
        .when(stage == "stopped").then(pl.lit("stopped"))
        .when(pl.col("counts") | (pl.col("task") >= study.rules.tests)).then(pl.lit(""))
        .otherwise(pl.lit("surplus"))
    )  # fmt: skip
    return table.with_columns(why.alias("left_out"))


def table_rows(study: ServedStudy, answers: pl.DataFrame) -> pl.DataFrame:
    """Return answers as rows of the table, with its columns.

    Answers that were sent together are a page, with its exact time and its share of the pay for a page of the plan.
    People appear by their pseudonyms.
    """
    reward, page = answer_reward(study), ["pseudonym", "given", "answered"]
    if study.rules.on_screen == 1:
        page = ["pseudonym", "place"]
    seconds = (pl.col("seconds").round(6).sum()).over(page)
    answers = answers.with_columns(
        first=pl.col("place").min().over(page),
        on_page=pl.len().over(page),
        seconds=seconds,
        given=pl.when(pl.len().over(page) == 1)
        .then("given")
        .otherwise(pl.col("answered") - (1000 * seconds).round().cast(pl.Int64)),
    )
    return answers.join(study.asked, on="task", how="left", maintain_order="left").select(
        pl.lit(study.key).alias("study"),
        pl.col("code").alias("task"),
        pl.col("pseudonym").alias("respondent"),
        "answer",
        pl.format("{}-{}", "pseudonym", "first").alias("page"),
        *(
            pl.from_epoch(name, time_unit="ms").dt.to_string("%Y-%m-%dT%H:%M:%S%.3f+00:00").alias(new)
            for name, new in (("given", "started"), ("answered", "submitted"))
        ),
        pl.Series(
            "seconds", [f"{seconds_of_page:.3f}" for seconds_of_page in answers["seconds"]], dtype=pl.String
        ),
        pl.Series(
            "reward",
            [None if reward is None else repr(round(n * reward, 10)) for n in answers["on_page"]],
            dtype=pl.String,
        ),
        *_signals(study, answers),
    )


def _signals(study: ServedStudy, answers: pl.DataFrame) -> list[pl.Series]:
    """Return the columns of the signals of help by AI that the plan asks for; none if it asks for none."""
    if not study.folder.plan.assistance:
        return []
    rows = []
    for task, answer, signals, declared in answers.select(
        "task", "answer", "signals", "declared"
    ).iter_rows():
        word = hidden_word(study, study.tasks[task])
        word_shown = {} if word is None else {HIDDEN_WORD: int(word in answer.casefold())}
        rows.append(unfolded(signals, {**word_shown, DECLARED: declared}))
    return [
        pl.Series(
            name, [None if (value := row[name]) is None else str(value) for row in rows], dtype=pl.String
        )
        for name in SIGNAL_COLUMNS
    ]


def collected_rows(state: State, answers: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the table of collected answers.

    A person whom the rule of the baseline excludes keeps their answers in the table: the baseline then reports
    them as excluded. Answers that another person has replaced are left out otherwise. Items
    that an expert was not shown, because they wrote them, have a mark in place of an answer, so that nobody waits
    for it.
    """
    study = state.study
    rows = table_rows(study, answers.filter(pl.col("left_out") == ""))
    people = set(rows["respondent"])
    marks = [
        (study.key, study.tasks[task].id, name, NOT_SHOWN, f"{name}-own-{task}", None, None, None, "0")
        for name, person in sorted(
            ((person.pseudonym, person) for person in state.people.values() if person.pseudonym in people),
            key=itemgetter(0),
        )
        for task, why in sorted(person.withheld.items())
        if why == "own" and study.rules.is_test(task) and task not in person.tasks
    ]
    own_rows = pl.DataFrame(marks, schema=dict.fromkeys(COLLECTED_FIELDS, pl.String), orient="row")
    return pl.concat([rows, own_rows], how="diagonal")


def responses_of(study: ServedStudy, rows: pl.DataFrame, *, with_inputs: bool = False) -> Responses:
    """Return rows of the table as responses, as they are read after an import.

    Args:
        study: the study.
        rows: the rows.
        with_inputs: whether the items have their input fields, by which gold answers are found.

    Raises:
        DataError: there are no answers.
    """
    texts = rows["answer"].unique().to_list()
    changed = {text: platform_text for text in texts if text != (platform_text := as_given(text))}
    asked = study.asked.select(
        pl.col("task").alias(_NUMBER), pl.col("code").alias(SITE_TASK), "id", "control"
    )
    inputs: list[str] = []
    if with_inputs and rows.height:
        fields = input_columns(study.tasks)
        shown = pl.DataFrame([
            {SITE_TASK: task, **{name: json_text(value) for name, value in fields[task].items()}}
            for task in rows["task"].unique()
        ])  # fmt: skip
        inputs = [name for name in shown.columns if name != SITE_TASK]
        asked = asked.join(shown, on=SITE_TASK)
    table = (
        rows.drop("study")
        .rename({"task": SITE_TASK})
        .join(asked, on=SITE_TASK, how="inner")
        .with_columns(pl.col("answer").replace(changed) if changed else pl.col("answer"))
        .sort(_NUMBER, "submitted", "respondent", nulls_last=True)
    )
    return read_imported(table, study.declared, ("id", *inputs) if inputs else (SITE_TASK, "id"))


@dataclass(frozen=True, slots=True)
class CollectedAnswers:
    """The answers of one group.

    Attributes:
        answers: answers in the table.
        people: people who gave them.
        left_out: why answers are left out -> how many: of people whom the author excluded ("excluded"), of
            stopped people whom the rule of the baseline would keep ("stopped"), beyond the overlap ("surplus").
        table: the answers as CSV, one row for each, in the order in which they came, as `guarded_csv` writes it.
    """

    answers: int
    people: int
    left_out: dict[str, int]
    table: str

    def to_dict(self) -> dict[str, Json]:
        """Return the counts as JSON."""
        return {"answers": self.answers, "people": self.people, "left_out": {**self.left_out}}


def collect_answers(state: State) -> CollectedAnswers:
    """Collect the answers to test and control items as a table."""
    answers = read_answers(state)
    why = Counter(answers["left_out"])
    people = answers.filter(pl.col("left_out") == "")["pseudonym"].n_unique()
    left_out = {reason: why[reason] for reason in ("excluded", "stopped", "surplus")}
    return CollectedAnswers(why[""], people, left_out, guarded_csv(collected_rows(state, answers)))


def answer_reward(study: ServedStudy) -> float | None:
    """Return the pay for one answer: that of a page divided by its tasks; `None` while the pay is not decided."""
    pay = study.arm.pay.per_page
    return None if pay is None else round(pay / study.arm.items_per_page, 10)


def moment(milliseconds: int) -> str:
    """Return a time in milliseconds since 1970 as ISO 8601 in UTC."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")


#: Somebody who has done nothing for so many milliseconds has left.
AWAY: Final = 1_800_000

#: Stage -> what is counted.
_ENDS: Final = {
    "declined": "declined",
    "refused": "failed_training",
    "stopped": "stopped",
    "excluded": "excluded",
}
_BEFORE_CONSENT: Final = frozenset({"consent", "declined"})


def participation(state: State, now: int) -> Participation:
    """Count what became of people.

    Whoever is in the middle and has done nothing for 30 minutes has left.

    Args:
        state: the study.
        now: the time, in milliseconds since 1970.
    """
    counts, left, after = Counter[str](), Counter[str](), Counter[int]()
    for person in state.people.values():
        stage = stage_now(state, person)
        counts["came"] += 1
        counts["agreed"] += (person.before or stage) not in _BEFORE_CONSENT
        if stage in _ENDS:
            counts[_ENDS[stage]] += 1
        elif stage == "finished":
            invited = person.answers and not person.from_platform
            counts["finished" if invited or is_complete(state, person) else "without_tasks"] += 1
        elif person.completion is None and now - person.last_seen < AWAY:
            counts["under_way"] += 1
        else:
            left[stage] += 1
            if stage == "working":
                after[len(person.seconds)] += 1
    ends = {
        name: counts[name]
        for name in ("came", "agreed", *_ENDS.values(), "finished", "without_tasks", "under_way")
    }
    return Participation(
        **ends, left=dict(sorted(left.items())), left_after=dict(sorted(after.items())), personal=()
    )


def count_people(state: State, now: int) -> Participation:
    """Count the people of a study, and what those who answered a task said of themselves.

    Args:
        state: the study.
        now: the time, in milliseconds since 1970.
    """
    came = participation(state, now)
    chosen: defaultdict[str, Counter[int]] = defaultdict(Counter)
    declined = Counter[str]()
    asked = [demographic.words for demographic in state.study.folder.plan.demographics]
    for person in state.people.values() if asked else ():
        if person.stage == "excluded" or not person.seconds:
            continue
        for question, answer in person.background.items():
            if answer is None:
                declined[question] += 1
            else:
                chosen[question][answer] += 1
    personal = tuple(words.counted(chosen[words.name], declined[words.name]) for words in asked)
    return came.model_copy(update={"personal": personal})


def people_counts(state: State, now: int) -> str:
    """Return what became of the people as JSON for `merilo study import`; arguments as for `count_people`."""
    return dumped({"study": state.study.key, "people": count_people(state, now).to_json()})


#: The columns of the table.
PAID_FIELDS: Final = (
    "platform", "id", "code", "stage", "answers", "seconds", "controls", "controls_right", "pay", "bonus",
)  # fmt: skip


def paid_people(state: State) -> str:
    """Return the people whom platforms sent as CSV, in the order in which they came.

    `answers` counts answers to test and control items, `seconds` is the time of all answers, training included.
    `pay` is what the platform pays for a complete part: only such a part is to be approved. `bonus` is what the plan
    owes a person without one: the pay for a failed training, or for the answers of somebody who was stopped or whose
    part ended early. Both are empty while the pay is not decided.
    """
    platforms = set(PLATFORM_IDS.values())
    rows = []
    for person in sorted(state.people.values(), key=lambda person: person.created):
        if person.source not in platforms:
            continue
        answered = [assignment for assignment in person.tasks.values() if assignment.is_answer]
        answers = sum(not state.rules.is_training(assignment.task) for assignment in answered)
        stage = stage_now(state, person)
        rows.append((
            person.source, person.external, person.completion or "", stage, str(answers),
            f"{sum(assignment.seconds or 0.0 for assignment in answered):.0f}", str(person.controls),
            str(person.controls_right), *_owed(state, person, stage, answers),
        ))  # fmt: skip
    return guarded_csv(pl.DataFrame(rows, schema=dict.fromkeys(PAID_FIELDS, pl.String), orient="row"))


def _owed(state: State, person: Person, stage: Stage, answers: int) -> tuple[str, str]:
    """Return the pay and the bonus of a person; empty while the pay is not decided."""
    study = state.study
    if (each := answer_reward(study)) is None:
        return "", ""
    whole, pay, bonus = each * most_tasks(study), 0.0, 0.0
    if stage == "refused":
        bonus = study.arm.pay.screening or 0.0
    elif stage == "stopped":
        bonus = min(whole, each * answers)
    elif stage not in _ENDS and (person.completion is not None or stage == "finished"):
        pay, bonus = (whole, 0.0) if is_complete(state, person) else (0.0, min(whole, each * answers))
    return plain_number(pay, ".2f"), plain_number(bonus, ".2f")
