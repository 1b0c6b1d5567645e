"""A frozen study in memory: its tasks by number, how they are given to people, and how known answers are judged."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b, sha256
from pathlib import Path
from random import Random
from typing import Final

import polars as pl

from merilo.datasets.declaration import Dataset
from merilo.errors import DataError, UsageError, argument
from merilo.metrics.answers import alternatives
from merilo.metrics.squad import best_f1
from merilo.people.controls import ExclusionRule
from merilo.people.platforms.loading import json_text
from merilo.people.spelling import key_of
from merilo.studies.instruction import instruction_html
from merilo.studies.plan import LEASE_MINUTES, PEOPLE_FILE, STOP_AFTER, Arm, Plan
from merilo.studies.study_folder import StudyFolder, refuse_changed
from merilo.studies.study_tasks import StudyTask, in_domains
from merilo.text import Language
from merilo.wording import listed

#: The ranks of tasks are drawn from 0 to this number.
RANKS: Final = 2**31 - 1

_SCALE: Final = 2**64


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRules:
    """How one group's tasks are given; everything comes from the frozen plan, except the times.

    Attributes:
        seed: the seed of the study.
        overlap: how many people answer an item.
        tests: the number of items of the test; their tasks have the numbers from 0.
        controls: the number of control items, whose tasks follow.
        training: the number of training items, whose tasks follow.
        every: one task in so many is a control item; 0 without control items.
        min_accuracy: people with a lower accuracy on control items are stopped.
        min_controls: control items that a person answers before the baseline's rule can exclude them.
        stop_after: control items that a person answers before they can be stopped.
        time_limit: seconds for a task; `None` without a limit.
        limits: the seconds of each task, where they differ; else empty.
        grace: seconds after the limit in which an answer is still taken, for the time on the network.
        lease: seconds after which a task that was not answered goes to somebody else.
        dialogues: whether the tasks are turns of dialogues, which one person answers in order.
        on_screen: how many tasks a page has; 1 in dialogues.
    """

    seed: int
    overlap: int
    tests: int
    controls: int = 0
    training: int = 0
    every: int = 0
    min_accuracy: float = 0.5
    min_controls: int = 1
    stop_after: int = STOP_AFTER
    time_limit: float | None = None
    limits: tuple[float, ...] = ()
    grace: float = 3.0
    lease: float = 60.0 * LEASE_MINUTES
    dialogues: bool = False
    on_screen: int = 1

    @classmethod
    def of(cls, plan: Plan, arm: Arm, tasks: Sequence[StudyTask]) -> TaskRules:
        """Return what a plan says of the tasks of one of its groups."""
        number, dialogues = Counter(task.kind for task in tasks), any(task.dialogue for task in tasks)
        return cls(
            seed=plan.seed,
            overlap=arm.overlap,
            tests=number["test"],
            controls=number["control"],
            training=number["training"],
            every=plan.controls.every if plan.controls else 0,
            min_accuracy=plan.baseline.min_control_accuracy if plan.controls else 0.0,
            min_controls=plan.baseline.min_controls,
            stop_after=max(STOP_AFTER, plan.baseline.min_controls),
            time_limit=max(arm.limits, default=None),
            limits=tuple(task.seconds for task in tasks if task.seconds) if len(arm.limits) > 1 else (),
            dialogues=dialogues,
            on_screen=1 if dialogues else arm.items_on_screen,
        )

    def is_test(self, task: int) -> bool:
        """Return whether a task is an item of the test."""
        return task < self.tests

    def is_control(self, task: int) -> bool:
        """Return whether a task is a control item."""
        return self.tests <= task < self.tests + self.controls

    def is_training(self, task: int) -> bool:
        """Return whether a task is a training item."""
        return task >= self.tests + self.controls

    def control_at(self, seed: int, place: int) -> bool:
        """Return whether a control item comes at a place of a person's order.

        One place is drawn among each `every` places, so that people cannot count.

        Args:
            seed: the person's seed.
            place: the place, from 1.
        """
        if not self.controls or not self.every or self.dialogues:
            return False
        turn, at = divmod(place - 1, self.every)
        return turn < self.controls and at == self._number("control", seed, turn) % self.every

    def next_control(self, seed: int, had: Container[int]) -> int | None:
        """Return the task of a person's next control item; they come in random order, and none comes twice.

        Args:
            seed: the person's seed.
            had: the tasks that the person has had, or never gets because they are of another domain.
        """
        order = _order_of_controls(f"controls {self.seed} {seed}", self.controls)
        return next((self.tests + control for control in order if self.tests + control not in had), None)

    def excludes(self, controls: int, right: int) -> bool:
        """Return whether the baseline would exclude a person with these answers to control items."""
        return _excluded(ExclusionRule(self.min_accuracy, self.min_controls), right, controls)

    def stops(self, controls: int, right: int) -> bool:
        """Return whether a person has answered enough control items, and too many of them wrongly."""
        return controls >= self.stop_after and self.excludes(controls, right)

    def start_at(self, seed: int, place: int) -> int:
        """Return the rank from which a person's next task is searched: another random one at every place."""
        return self._number("start", seed, place) * RANKS // _SCALE

    def ends(self, now: int, tasks: Sequence[int]) -> tuple[int, int | None]:
        """Return when tasks that are sent now go back to others, and when their time limit ends, in milliseconds."""
        if self.time_limit is None:
            return now + round(1000 * self.lease), None
        seconds = sum(self.limits[task] if self.limits else self.time_limit for task in tasks)
        due = now + round(1000 * (seconds + self.grace))
        return due, due

    def _number(self, *words: object) -> int:
        text = " ".join(str(word) for word in (self.seed, *words))
        return int.from_bytes(blake2b(text.encode(), digest_size=8, person=b"merilo site").digest())


@lru_cache(1024)  # people at work
def _order_of_controls(words: str, number: int) -> list[int]:
    random = Random(words)  # noqa: S311 - an order that can be repeated, not a secret
    return random.sample(range(number), number)


@lru_cache(1024)
def _excluded(rule: ExclusionRule, right: int, controls: int) -> bool:
    return bool(rule.excluded(right, controls))


@dataclass(frozen=True)
class ServedStudy:
    """One group of annotators of a frozen study.

    Attributes:
        key: the id of the study and the group, which travels with the answers.
        arm_name: the group's name in the plan.
        folder: the study's folder.
        tasks: items of the test, then control items, then training items; a task's place is its number.
        rules: how tasks are given.
        instructions: language -> the instruction as HTML without scripts.
        kinds: number of a control or training item -> the type of the question in an exam.
        secret: the key of names that must not tell anything.
        preview: whether the author looks at the study and nothing is kept.
    """

    key: str
    arm_name: str
    folder: StudyFolder
    tasks: tuple[StudyTask, ...]
    rules: TaskRules
    instructions: Mapping[Language, str]
    kinds: Mapping[int, str]
    secret: bytes
    preview: bool = False

    @property
    def path(self) -> str:
        """The path of its pages."""
        return f"/s/{self.key}/"

    @property
    def arm(self) -> Arm:
        """The group in the plan."""
        return self.folder.plan.arms[self.arm_name]

    @property
    def title(self) -> str:
        """The name of the study."""
        return self.folder.plan.study

    @property
    def by_invitation(self) -> bool:
        """Whether people need an invitation: experts do."""
        return self.arm.kind == "expert"

    def lets_in(self, external: str) -> bool:
        """Return whether the platform's id of a person is enough to take part."""
        if self.by_invitation or not self.arm.listed:
            return not self.by_invitation
        path = self.folder.path / PEOPLE_FILE
        return path.is_file() and external in map(str.strip, path.read_text("utf-8-sig").splitlines())

    @cached_property
    def declared(self) -> Dataset:
        """The declaration of the dataset."""
        return self.folder.declared()

    @cached_property
    def languages(self) -> tuple[Language, ...]:
        """The languages of the instruction, the plan's first one first."""
        return self.folder.plan.languages

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The number of a task by its id."""
        return {task.id: number for number, task in enumerate(self.tasks)}

    @cached_property
    def asked(self) -> pl.DataFrame:
        """What the baseline reads of every test and control item.

        The columns are `task` (its number), `code` (its id), `id` (of the item in the dataset), `control`

        """
        asked = self.tasks[: self.training.start]
        return pl.DataFrame(
            {
                "task": pl.Series(range(len(asked)), dtype=pl.Int32),
                "code": [task.id for task in asked],
                "id": [json_text(task.item.id) or "" for task in asked],
                "control": pl.Series([task.known for task in asked], dtype=pl.String),
            }
        )

    @cached_property
    def turns(self) -> list[tuple[int, int]]:
        """The dialogue and the turn of every item of the test."""
        return [(task.dialogue, task.turn) for task in self.tasks[: self.rules.tests]]

    @cached_property
    def longest_dialogue(self) -> int:
        """The number of turns of the longest dialogue; 1 without dialogues."""
        return max(Counter(dialogue for dialogue, _ in self.turns if dialogue).values(), default=1)

    @property
    def training(self) -> range:
        """The numbers of the training items."""
        return range(self.rules.tests + self.rules.controls, len(self.tasks))

    @cached_property
    def media(self) -> Mapping[str, Path]:
        """The files of pictures, sounds and films below `samples/`, by a name that tells nothing about the item.

        Files outside `samples/` are left out, also those behind a symbolic link.
        """
        samples = (self.folder.path / self.folder.plan.source.file).resolve().parent / "samples"
        files = {}
        for task in self.tasks:
            for medium in task.media:
                path = (samples.parent / medium.path).resolve()
                if path.is_relative_to(samples) and path.is_file():
                    files[self.media_name(medium.path)] = path
        return files

    def media_name(self, path: str) -> str:
        """Return the name under which the site sends a file."""
        digest = blake2b(path.encode(), key=self.secret, digest_size=10, person=b"merilo media").hexdigest()
        return digest + Path(path).suffix.lower()

    @cached_property
    def content(self) -> str:
        """The hash of everything that decides what people are asked; a study with answers must keep it."""
        plan = self.folder.plan
        decided = [
            [task.id for task in self.tasks], plan.seed, self.arm.overlap, self.rules.time_limit, self.arm.skip_own,
            self.rules.every, self.rules.min_accuracy, plan.training.threshold if plan.training else 0.0,
        ]  # fmt: skip
        if self.arm.domain is not None:
            decided.append([task.domain for task in self.tasks])
        if self.arm.items_on_screen > 1:
            decided.append(self.arm.items_on_screen)
        if self.rules.limits:
            decided.append(self.rules.limits)
        return sha256(json.dumps(decided).encode()).hexdigest()

    @cached_property
    def domains(self) -> tuple[str, ...]:
        """The domains of the items, if the plan names their field."""
        return tuple(sorted({task.domain for task in self.tasks[: self.rules.tests]} - {""}))

    def check_domains(self, domains: Sequence[str]) -> None:
        """Refuse domains that somebody cannot be invited for.

        Raises:
            UsageError: there is no such domain, or experts of a study with domains are invited without any.
        """
        option, arm = argument("domain"), f"arms.{self.arm_name}.domain"
        if domains and not self.domains:
            raise UsageError(f"{option}: the plan names no field of domains ({arm})")
        if strange := [name for name in domains if name not in self.domains]:
            raise UsageError(
                f"{option}: there is no domain '{strange[0]}' (choose from: {listed(self.domains)})"
            )
        if self.by_invitation and len(self.domains) > 1 and not domains:
            raise UsageError(
                f"experts get the items of their domains: give {option} (choose from: "
                f"{listed(self.domains)}); for experts of all domains, "
                f"set {arm} to null before the freeze"
            )

    def withheld(self, name: str, domains: Sequence[str]) -> dict[int, str]:
        """Return the tasks that a named person never gets, and why.

        Those of other domains ("foreign"), control and training items too, and own items ("own"). A dialogue is
        withheld as a whole.

        Args:
            name: the person, as the items name their authors.
            domains: the domains that they are invited for; empty for all.
        """
        reasons = {}
        for number, task in enumerate(self.tasks):
            known = number >= self.rules.tests
            if not (in_domains([task], domains) if known else not domains or task.domain in domains):
                reasons[number] = "foreign"
            elif self.arm.skip_own and name in task.authors:
                reasons[number] = "own"
        dialogues = {self.tasks[number].dialogue: state for number, state in reasons.items()}
        for number, task in enumerate(self.tasks[: self.rules.tests]):
            if task.dialogue and task.dialogue in dialogues:
                reasons.setdefault(number, dialogues[task.dialogue])
        return reasons

    def is_right(self, number: int, answer: str) -> bool:
        """Return whether an answer to a control or training item is right, as the study's baseline decides it.

        A free text is right if its words are like those of a known answer; other answers must equal it as the
        dataset's metric compares them.
        """
        task = self.tasks[number]
        if task.known is None:
            raise ValueError(f"task {number} has no known answer")
        settings = self.folder.plan.baseline
        stripped, true = answer.strip(), task.known.strip()
        if stripped == true:
            return True
        declared = self.declared
        if declared.answer.kind == "text" and "grade_norm" not in declared.metrics:
            return best_f1(stripped, true, task.alternatives) >= settings.min_control_score
        key = self._key
        kind = self.kinds.get(number, "")
        return key(stripped, kind) in {key(text, kind) for text in alternatives(true, task.alternatives)}

    @cached_property
    def _key(self) -> Callable[[str, str], str]:
        return key_of(self.declared)


def load_study(folder: StudyFolder, arm: str, *, preview: bool = False) -> ServedStudy:
    """Read a group of annotators of a frozen study.

    Args:
        folder: the study.
        arm: the group's name in the plan.
        preview: whether the author looks at the study and nothing is kept; then it need not be frozen.

    Raises:
        DataError: the study has no items, is not frozen, or was changed after the freeze.
        InputError: a file of the study cannot be read.
    """
    if not preview:
        refuse_changed(folder)
    plan, tasks = folder.plan, folder.tasks(arm)
    if not any(task.kind == "test" for task in tasks):
        raise DataError("the study has no items to answer", file=folder.path)
    group = plan.arms[arm]
    types = {number: task.item.meta.get("type") for number, task in enumerate(tasks) if task.kind != "test"}
    return ServedStudy(
        key=folder.arm_id(arm),
        arm_name=arm,
        folder=folder,
        tasks=tasks,
        rules=TaskRules.of(plan, group, tasks),
        instructions={
            language: instruction_html(folder.instruction(language), group, language)
            for language in plan.languages
        },
        kinds={number: kind for number, kind in types.items() if isinstance(kind, str)},
        secret=folder.key,
        preview=preview,
    )
