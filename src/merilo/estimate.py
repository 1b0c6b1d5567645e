"""The two types that every result is made of: an estimate with its interval, and a finding for the reader."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, PlainSerializer, PlainValidator

from merilo.records import Ends, Number, Record
from merilo.text import Given, Text


class Estimate(Record):
    """A value with its 95 % interval, of the consensus, one person, a group, an arm, a model or a difference.

    Attributes:
        name: what is estimated: a metric, or a group and its metric.
        value: the estimate; `None` if it could not be computed.
        ci95: the ends of its 95 % interval over items and annotators, see `statistics.crossed`; `None` without one.
        n: the number of items behind the value.
        people: the number of people behind it; `None` for a model.
        reason: why there is no value or no interval.
    """

    name: str = ""
    value: Number = None
    ci95: Ends = None
    n: int = 0
    people: int | None = None
    reason: str | None = None


def _sentence(value: object) -> Text:
    return value if isinstance(value, Text) else Given({"en": str(value)})


#: A sentence, in JSON its English text.
Sentence = Annotated[Text, PlainValidator(_sentence), PlainSerializer(str, return_type=str)]


class Finding(Record):
    """What the reader of a result must know or do.

    Attributes:
        code: a word for programs.
        sentence: what was found and what to do.
        items: the items concerned, by id; empty if it concerns all or none.
        people: the people concerned, by their pseudonymous ids.
        rejects: whether the result must not be used because of it.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    code: str
    sentence: Sentence
    items: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    rejects: bool = False
