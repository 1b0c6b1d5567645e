"""How many people came to a study and stayed, and what they said of themselves: counts, nothing about one person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Final

from pydantic import Field, NonNegativeInt

from merilo.records import Record
from merilo.text import Given, Language, Text, joined

#: Fewer people than this are not counted on their own: the count could tell who they are.
FEWEST: Final = 3

#: Where somebody stopped going on: a stage of a person.
_STEPS: Final[Mapping[str, Text]] = {
    "consent": Text("before they agreed: {n:,}"),
    "questions": Text("at the questions about themselves: {n:,}"),
    "instruction": Text("at the instruction: {n:,}"),
    "training": Text("in the training: {n:,}"),
    "working": Text("among the tasks: {n:,}"),
}

#: So many numbers of tasks are listed; of more, the median and the range.
_LISTED: Final = 5


class OptionCount(Record):
    """How many people chose an option."""

    answer: dict[Language, str]
    people: int


class PersonalCounts(Record):
    """What people said to one question about themselves.

    Attributes:
        name: the question's name in the plan.
        question: the question.
        options: the options that at least `FEWEST` people chose.
        other: people who chose any other option.
        declined: people who did not answer.
    """

    name: str
    question: dict[Language, str]
    options: tuple[OptionCount, ...]
    other: int = 0
    declined: int = 0

    @property
    def texts(self) -> list[tuple[Text, int]]:
        """The answers with the number of people; those that nobody gave are left out."""
        answers: list[tuple[Text, int]] = [(Given(option.answer), option.people) for option in self.options]
        merged = (
            Text("other answers") if self.options else Text("all answers: too few people for single counts")
        )
        answers += [(merged, self.other), (Text("no answer"), self.declined)]
        return [(name, n) for name, n in answers if n]


@dataclass(frozen=True, slots=True)
class PersonalWords:
    """A question of the plan with its options, whose answers are counted."""

    name: str
    question: dict[Language, str]
    options: tuple[dict[Language, str], ...]

    def counted(self, chosen: Mapping[int, int], declined: int) -> PersonalCounts:
        """Count the answers; options of few people are merged, with the next ones if these are too few together.

        Args:
            chosen: place of an option -> people.
            declined: people who did not answer.

        Example:
            >>> words = PersonalWords("x", {"en": "?"}, ({"en": "a"}, {"en": "b"}, {"en": "c"}))
            >>> counts = words.counted({0: 9, 1: 2, 2: 4}, 0)
            >>> [(one.answer["en"], one.people) for one in counts.options], counts.other
            ([('a', 9)], 6)
        """
        counts = {place: n for place, n in sorted(chosen.items()) if n >= FEWEST}
        other = sum(n for n in chosen.values() if n < FEWEST)
        while 0 < other < FEWEST and counts:
            other += counts.pop(min(counts, key=lambda place: (counts[place], place)))
        options = tuple(OptionCount(answer=self.options[place], people=n) for place, n in counts.items())
        return PersonalCounts(
            name=self.name, question=self.question, options=options, other=other, declined=declined
        )


class Participation(Record):
    """What became of the people who opened a study.

    Attributes:
        came: people who opened the study.
        declined: did not agree to take part.
        agreed: agreed to take part.
        failed_training: did not pass the training.
        stopped: stopped because of control items.
        excluded: excluded by the author.
        finished: answered as much as the plan asks of a person; of invited people, all that was left for them.
        without_tasks: found no more tasks before.
        under_way: were answering when this was counted.
        left: where the others left -> people.
        left_after: number of answered tasks -> people who then left among the tasks.
        personal: what people said of themselves.
    """

    came: NonNegativeInt = 0
    declined: NonNegativeInt = 0
    agreed: NonNegativeInt = 0
    failed_training: NonNegativeInt = 0
    stopped: NonNegativeInt = 0
    excluded: NonNegativeInt = 0
    finished: NonNegativeInt = 0
    without_tasks: NonNegativeInt = 0
    under_way: NonNegativeInt = 0
    left: dict[str, NonNegativeInt] = Field(default_factory=dict)
    left_after: dict[NonNegativeInt, NonNegativeInt] = Field(default_factory=dict)
    personal: tuple[PersonalCounts, ...] = ()

    @property
    def dropped(self) -> int:
        """People who agreed and left before the end."""
        return sum(n for step, n in self.left.items() if step != "consent")

    @property
    def refusals(self) -> Text:
        """How many did not agree, of all who came."""
        return _share(self.declined, self.came)

    @property
    def dropouts(self) -> Text:
        """How many left before the end, of all who agreed."""
        return _share(self.dropped, self.agreed)

    @property
    def where_people_left(self) -> Text:
        """Where people left, and after how many tasks; empty if nobody left."""
        parts = [
            Text(text.english, n=self.left[step]) for step, text in _STEPS.items() if self.left.get(step)
        ]
        if after := self.tasks_before_leaving:
            parts.append(Text("tasks answered before: {tasks}", tasks=after))
        return joined(parts, "; ")

    @property
    def texts(self) -> list[tuple[Text, Text]]:
        """The counts with their shares: a name and a value each; those that are 0 are left out, except the first."""
        rows = [
            (Text("came"), self.came, Text("{n:,}", n=self.came)),
            (Text("did not agree to take part"), self.declined, self.refusals),
            (
                Text("did not pass the training", context="people"),
                self.failed_training,
                _share(self.failed_training, self.agreed),
            ),
            (
                Text("stopped because of control items", context="people"),
                self.stopped,
                _share(self.stopped, self.agreed),
            ),
            (Text("excluded by the author"), self.excluded, _share(self.excluded, self.agreed)),
            (Text("finished their part"), self.finished, _share(self.finished, self.agreed)),
            (
                Text("found no more tasks before their part was complete"),
                self.without_tasks,
                _share(self.without_tasks, self.agreed),
            ),
            (Text("still answering"), self.under_way, _share(self.under_way, self.agreed)),
            (Text("agreed and left before the end"), self.dropped, self.dropouts),
        ]
        return [(name, value) for place, (name, n, value) in enumerate(rows) if n or not place]

    @property
    def tasks_before_leaving(self) -> Text | None:
        """After how many tasks people left; `None` if nobody left among the tasks."""
        tasks = sorted(number for number, n in self.left_after.items() for _ in range(n))
        if not tasks:
            return None
        if len(tasks) <= _LISTED:
            return joined([Text("{n:,}", n=number) for number in tasks], ", ")
        return Text(
            "median {middle:g} ({least:,} to {most:,})", middle=median(tasks), least=tasks[0], most=tasks[-1]
        )


def _share(part: int, whole: int) -> Text:
    if not whole:
        return Text("{n:,}", n=part)
    return Text("{part:,} of {whole:,} ({share:%})", part=part, whole=whole, share=part / whole)
