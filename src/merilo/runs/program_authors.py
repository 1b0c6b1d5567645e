"""The people who wrote the programs of a job, and the share of problems that each of them solved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from merilo.estimate import Estimate
from merilo.people.influence import person_influence
from merilo.people.votes import Votes
from merilo.sandbox.job import Entry
from merilo.sandbox.ledger import Verdict
from merilo.sandbox.program import Outcome
from merilo.statistics.crossed import crossed
from merilo.statistics.intervals import exact_interval
from merilo.strict_json import Json


@dataclass(frozen=True, slots=True)
class Author:
    """One person.

    Attributes:
        annotator: the name in the file of completions.
        problems: how many problems they wrote a program for.
        solved: how many of these programs passed.
    """

    annotator: str
    problems: int
    solved: int

    @property
    def share(self) -> float:
        """The share of the person's problems that they solved."""
        return self.solved / self.problems

    def content(self) -> dict[str, Json]:
        """Return the person as JSON, with the Clopper-Pearson interval."""
        interval = exact_interval(self.solved, self.problems)
        return {
            "annotator": self.annotator,
            "problems": self.problems,
            "solved": self.solved,
            "share": round(self.share, 6),
            "ci95": [interval.low, interval.high],
        }


@dataclass(frozen=True, slots=True)
class Authors:
    """The people who wrote the programs of a job.

    Attributes:
        people: all people, by share from the highest to the lowest.
        single: the expected share of problems that a single person solves, with the interval over people and
            problems; the same estimate as "single person" of `merilo baseline`.
    """

    people: tuple[Author, ...]
    single: Estimate

    def content(self) -> dict[str, Json]:
        """Return the people as JSON."""
        return {
            "count": len(self.people),
            "single_person": self.single.to_json(),
            "people": [author.content() for author in self.people],
        }


def authors(entries: Sequence[Entry], verdicts: Mapping[str, Verdict]) -> Authors | None:
    """Group a job's programs by the people who wrote them.

    Args:
        entries: the generations.
        verdicts: the verdicts by the programs' keys.

    Returns:
        The people; `None` if the completions name no annotators.
    """
    named = [(entry.annotator, entry) for entry in entries if entry.annotator is not None]
    if not named:
        return None
    items: dict[str, int] = {}
    names: dict[str, int] = {}
    item = np.array([items.setdefault(entry.problem, len(items)) for _, entry in named], np.int32)
    annotator = np.array([names.setdefault(name, len(names)) for name, _ in named], np.int32)
    passed = np.array([_passed(entry, verdicts) for _, entry in named], np.int32)
    votes = Votes(item, annotator, passed, len(items), len(names), 2)
    problems = np.bincount(annotator, minlength=len(names)).tolist()
    solved = np.bincount(annotator, weights=passed, minlength=len(names)).astype(int).tolist()
    people = [Author(name, problems[code], solved[code]) for name, code in names.items()]
    people.sort(key=lambda author: (-author.share, -author.problems, author.annotator))
    value, influence = person_influence(votes, passed.astype(np.float64))
    return Authors(tuple(people), crossed(value, influence).estimate("pass@1", len(items)))


def _passed(entry: Entry, verdicts: Mapping[str, Verdict]) -> bool:
    return entry.key is not None and verdicts[entry.key].outcome is Outcome.PASSED
