"""The contamination check: does a model continue the texts of test items word for word?

A model that has seen an item in training may repeat the second half of its text when it is shown the first
half. The check asks for this continuation and measures the longest run of words that the model repeats.

References:
    S. Golchin, M. Surdeanu (2023), Time Travel in LLMs: Tracing Data Contamination in Large Language Models.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from typing import Final

from merilo.datasets.declaration import Dataset
from merilo.items import Item
from merilo.models.asking import ChatMessage, Request
from merilo.models.run_log import Earlier
from merilo.strict_json import Json
from merilo.text import Text

#: What is added to a dataset's name in the log.
SUFFIX: Final = ".contamination"

#: Texts with fewer words are left out: their continuation can be guessed.
FEWEST_WORDS: Final = 12

#: The share of the hidden half from which an item is listed as repeated.
REPEATED: Final = 0.5

_WORD: Final = re.compile(r"\w+")
#: Tokens for a word of the continuation.
_TOKENS_A_WORD: Final = 5


@dataclass(frozen=True, slots=True)
class Overlap:
    """How much of an item's hidden half a model repeated.

    Attributes:
        item: the item's id as text.
        words: words of the hidden half.
        run: the longest run of its words that the continuation repeats.
    """

    item: str
    words: int
    run: int

    @property
    def share(self) -> float:
        """The run as a share of the hidden half."""
        return self.run / self.words


@dataclass(frozen=True, slots=True)
class Contamination:
    """The check of one dataset.

    Attributes:
        overlaps: the overlap of each item that was asked.
        short: items whose text is too short to be asked.
    """

    overlaps: tuple[Overlap, ...]
    short: int

    @property
    def mean_share(self) -> float:
        """The mean of the shares; 0 without items."""
        return sum(one.share for one in self.overlaps) / len(self.overlaps) if self.overlaps else 0.0

    @property
    def repeated(self) -> tuple[Overlap, ...]:
        """The items of which at least half of the hidden half is repeated, the largest share first."""
        found = [one for one in self.overlaps if one.share >= REPEATED]
        return tuple(sorted(found, key=lambda one: -one.share))

    def to_dict(self) -> dict[str, Json]:
        """Return the check as JSON."""
        repeated: list[Json] = [asdict(one) | {"share": one.share} for one in self.repeated]
        return {
            "items": len(self.overlaps),
            "too_short": self.short,
            "mean_share": self.mean_share,
            "longest_run": max((one.run for one in self.overlaps), default=0),
            "repeated": repeated,
        }


def halves(item: Item) -> tuple[str, str] | None:
    """Split the longest text of an item after half of its words; `None` if it is too short.

    Example:
        >>> halves(Item(1, "", "a b c d e f g h i j k l"))
        ('a b c d e f', 'g h i j k l')
    """
    values = [item.inputs] if isinstance(item.inputs, str) else item.inputs.values()
    text = max((value for value in values if isinstance(value, str)), key=len, default="")
    words = list(_WORD.finditer(text))
    if len(words) < FEWEST_WORDS:
        return None
    at = words[len(words) // 2].start()
    return text[:at].rstrip(), text[at:]


def contamination_requests(
    declared: Dataset, items: Sequence[Item], known: Mapping[tuple[str, int], Earlier], *, chat: bool
) -> Iterator[Request]:
    """Make the requests for the continuation of each item that was not asked yet."""
    for item in items:
        parts = halves(item)
        if parts is not None and (str(item.id), 1) not in known:
            yield _request(declared, item, *parts, chat=chat)


def contamination_of(items: Sequence[Item], continuations: Mapping[str, str]) -> Contamination:
    """Measure the overlap of continuations with the hidden halves of items.

    Args:
        items: the items.
        continuations: item id as text -> what the model wrote.
    """
    hidden = {str(item.id): parts[1] for item in items if (parts := halves(item))}
    written = ((item, text, continuations[item]) for item, text in hidden.items() if item in continuations)
    return Contamination(tuple(overlap(*one) for one in written), len(items) - len(hidden))


def overlap(item: str, hidden: str, written: str) -> Overlap:
    """Measure the longest run of words of a hidden text that a continuation repeats, whatever their case.

    Example:
        >>> overlap("1", "there was-once a king and a queen", "There was ONCE a queen").run
        4
    """
    words, said = (_WORD.findall(text.lower()) for text in (hidden, written))
    match = SequenceMatcher(None, words, said, autojunk=False).find_longest_match()
    return Overlap(item, len(words), match.size)


def _request(declared: Dataset, item: Item, start: str, hidden: str, *, chat: bool) -> Request:
    text = Text(
        "Here is the first half of a text. Write its second half word for word, without explanations.\n\n{start}",
        start=start,
    ).ru
    return Request(
        dataset=declared.name + SUFFIX,
        item=item.id,
        sample=1,
        messages=(ChatMessage("user", (text,)),) if chat else (),
        prompt=start,
        max_tokens=max(64, _TOKENS_A_WORD * len(_WORD.findall(hidden))),
    )
