"""A frozen study in memory: its tasks by number, its instruction, its rules.

And how answers to known items are judged.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Final

import polars as pl

from merilo.datasets.declaration import Dataset
from merilo.errors import DataError, UsageError, argument
from merilo.metrics.answers import alternatives
from merilo.metrics.squad import best_f1
from merilo.people.platforms.loading import json_text
from merilo.people.spelling import key_of
from merilo.site.task_rules import TaskRules
from merilo.studies.instruction import instruction_html
from merilo.studies.plan import PEOPLE_FILE, Arm, Plan
from merilo.studies.study_folder import StudyFolder, refuse_changed
from merilo.studies.study_tasks import StudyTask, in_domains
from merilo.text import Language
from merilo.wording import listed

#: Control items that a person answers before they can be stopped.
STOP_AFTER: Final = 5


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
        return path.is_file() and external in map(str.strip, path.read_text("utf-8").splitlines())

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
        for number, task in enumerate(self.tasks[: self.rules.tests]):
            if domains and task.domain not in domains:
                reasons[number] = "foreign"
            elif self.arm.skip_own and name in task.authors:
                reasons[number] = "own"
        known = self.tasks[self.rules.tests :]
        of_domain = set(in_domains(known, domains))
        for number, task in enumerate(known, start=self.rules.tests):
            if task not in of_domain:
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
        rules=_rules(plan, group, tasks),
        instructions={
            language: instruction_html(folder.instruction(language), group, language)
            for language in plan.languages
        },
        kinds={number: kind for number, kind in types.items() if isinstance(kind, str)},
        secret=folder.key,
        preview=preview,
    )


def _rules(plan: Plan, arm: Arm, tasks: Sequence[StudyTask]) -> TaskRules:
    number, dialogues = Counter(task.kind for task in tasks), any(task.dialogue for task in tasks)
    return TaskRules(
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
