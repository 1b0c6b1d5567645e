"""Requests made of items: the prompt with its shots or earlier turns, and what ends an answer.

A request without shots is the item's prompt. With shots, the instruction stands only in the first shot; later shots and
the question are in their bare form, Merilo's or that of the benchmark's harness (`merilo.datasets.rendering`). One
space separates a question from its answer, a blank line separates solved items.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from random import Random
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from merilo.datasets.declaration import Dataset
from merilo.datasets.rendering import (
    CONTEXT,
    PLACEHOLDER,
    Media,
    bare_parts,
    harness_prompts,
    offered_labels,
    parts,
    shown_value,
    template,
)
from merilo.errors import DataError, UsageError, argument
from merilo.items import Item, ItemId
from merilo.metrics.answers import AnswerKind, has_gold
from merilo.models.asking import ChatMessage, Mode, Request
from merilo.settings import Manner, RunSettings
from merilo.strict_json import Json
from merilo.text import Text
from merilo.wording import counted_noun, listed

#: The kinds of answers that are one of a few labels.
CLOSED: Final[frozenset[AnswerKind]] = frozenset({"choice", "criteria"})

#: The sampling of programs: n programs a problem at this temperature.
PROGRAM_TEMPERATURE: Final = 0.6
PROGRAM_SAMPLES: Final = 10

#: The most tokens of an answer of a backend that continues a text.
CONTINUATION_TOKENS: Final = MappingProxyType(
    {"choice": 16, "criteria": 16, "integer": 32, "text": 256, "program": 1024}
)
#: The most tokens of an answer of a chat model, which may think or explain before it answers.
CHAT_TOKENS: Final = MappingProxyType(
    {"choice": 2048, "criteria": 2048, "integer": 2048, "text": 2048, "program": 4096}
)
#: The most tokens of an answer in the benchmark's harness.
HARNESS_TOKENS: Final = 256
#: The harness's random seed for shots.
HARNESS_SEED: Final = 1234
#: What the harness shows for an earlier answer that could not be read.
HARNESS_UNREAD: Final = "-1"

#: The form of requests: the benchmark's harness's, Merilo's, or exactly what people saw.
PromptForm: TypeAlias = Literal["harness", "merilo", "people"]


def prompt_form(declared: Dataset, settings: RunSettings) -> PromptForm:
    """Return the form of the requests of a dataset.

    Raises:
        UsageError: the form of the harness is wanted of a dataset that it does not have.
    """
    if settings.as_people:
        return "people"
    known = harness_prompts(declared) is not None
    if settings.prompts == "harness" and not known:
        other = argument("prompts", "merilo", given="merilo")
        raise UsageError(f"the benchmark's harness has no prompts for {declared.title}: use {other}")
    return settings.prompts or ("harness" if known else "merilo")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSettings:
    """How the items of one dataset are asked: the settings of a run with the dataset's defaults.

    Attributes:
        mode: whether closed answers are compared by log-likelihood or generated.
        stop: what ends an answer.
        max_tokens: the most tokens of an answer, thought included.
        temperature: 0 is greedy decoding.
        samples: how many answers an item gets.
        seed: random seed for sampling.
    """

    mode: Mode
    stop: tuple[str, ...]
    max_tokens: int
    temperature: float
    samples: int
    seed: int

    @classmethod
    def of(cls, settings: RunSettings, declared: Dataset, *, chat: bool) -> RequestSettings:
        """Complete the settings of a run for a dataset.

        The prompts of the harness keep its stop strings and its limit of tokens for every backend. Otherwise, a
        chat model gets no stop strings by default, because it ends its answer itself. A stop at the first
        newline would cut off everything after an opening sentence or a line of thought, and a stop before
        "def" would cut off a program in fences.

        Raises:
            UsageError: the settings do not fit the dataset.
        """
        kind, title = declared.answer.kind, declared.title
        program, closed = kind == "program", kind in CLOSED
        mode: Mode = "loglikelihood" if closed and not chat else "generate"
        if settings.mode != "auto":
            mode = settings.mode
        if mode == "loglikelihood" and not closed:
            why = "there are no labels whose log-likelihoods could be compared"
            auto = argument("mode", "auto", given="auto")
            raise UsageError(f"the answers of {title} are open: {why} (use {auto})")
        temperature = settings.temperature
        if temperature is None:
            temperature = PROGRAM_TEMPERATURE if program else 0.0
        samples = settings.samples or (PROGRAM_SAMPLES if program and temperature > 0 else 1)
        if settings.samples is not None and samples > 1 and temperature == 0:
            above = f"give {argument('temperature', 'T')} above 0"
            raise UsageError(
                f"{samples} answers to an item of {title} would be equal at temperature 0: {above}"
            )
        if settings.samples is not None and samples > 1 and mode == "loglikelihood":
            leave = f"leave {argument('samples')} out"
            raise UsageError(f"the log-likelihoods of {title} are the same in each sample: {leave}")
        stop, most = declared.stop, HARNESS_TOKENS
        if prompt_form(declared, settings) != "harness":
            stop, most = (() if chat else stop), (CHAT_TOKENS if chat else CONTINUATION_TOKENS)[kind]
        return cls(
            mode=mode,
            stop=stop if settings.stop is None else settings.stop,
            max_tokens=settings.max_tokens or most,
            temperature=temperature,
            samples=samples,
            seed=settings.seed,
        )

    def seed_of(self, sample: int) -> int | None:
        """Return the seed of sampling an answer, different for each sample; `None` with greedy decoding."""
        if self.temperature == 0:
            return None
        return int.from_bytes(sha256(f"sample {self.seed} {sample}".encode()).digest()[:4]) >> 1


def whole_gold(item: Item, declared: Dataset) -> str:
    """Return the gold answer of a solved item as a text, with all alternatives.

    Raises:
        DataError: the item has no gold answer, or one that is not a text.
    """
    gold = item.outputs
    if isinstance(gold, int) and not isinstance(gold, bool):
        gold = str(gold)
    if not has_gold(item) or not isinstance(gold, str) or not gold.strip():
        lacks = f"item {item.id} of {declared.title} is used as a shot, but has no gold answer"
        raise DataError(lacks, field="outputs")
    return gold


def shown_gold(item: Item, declared: Dataset) -> str:
    """Return the answer that a solved item shows in Merilo's prompts: the gold answer, or its first alternative.

    Raises:
        DataError: as for `whole_gold`.

    Example:
        >>> from merilo.datasets import dataset
        >>> shown_gold(Item(1, "", {}, "Pushkin; A. S. Pushkin"), dataset("chegeka"))
        'Pushkin'
    """
    gold = whole_gold(item, declared)
    separator = declared.answer.alternatives
    # In the exam, commas divide alternatives only in tasks of type "text", and the numbers of one answer elsewhere.
    one_answer = "grade_norm" in declared.metrics and item.meta.get("type") != "text"
    if separator is not None and not one_answer:
        gold = next(filter(None, map(str.strip, gold.split(separator))), gold)
    return gold.strip()


def shot_count(declared: Dataset, settings: RunSettings) -> int:
    """Return how many solved items stand before a question.

    Raises:
        UsageError: the dataset cannot have any.
    """
    if settings.as_people:
        return 0
    count = declared.shots.count if settings.shots is None else settings.shots
    reason = ""
    if declared.shots.earlier_turns:
        reason = "an item follows the earlier turns of its dialogue"
    elif declared.answer.kind == "criteria":
        reason = f"its gold answer has {len(declared.answer.criteria)} criteria, and a model is asked for one label"
    elif declared.answer.kind == "program":
        reason = "a problem is shown without solved ones"
    if count and reason:
        raise UsageError(f"{declared.title} has no shots: {reason}; ask it with {_NO_SHOTS}")
    return count


#: How a user asks without solved items.
_NO_SHOTS: Final = argument("shots", "0", given=0)


class ShotDeck:
    """The solved items of a dataset, and the choice of those that precede an item.

    Each item gets its own shots at random, because the first shot gives the instruction: over all items,
    every prompt of the shots is used about equally often.

    By the rule of Merilo, the choice depends only on the dataset, the seed and the item; with one shot more, the
    earlier ones stay the same. By the rule of the harness, one generator draws for one item after another, in the
    order of the split and with a fixed seed, so that an item's shots depend on its place and not on the number of items
    that are asked. If the harness draws the item itself, which is possible in a dataset that has only a test, it leaves
    that shot out.

    Args:
        declared: the dataset.
        shots: the solved items.
        count: how many each item gets.
        seed: random seed for the rule of Merilo.
        items: all items of the split in order, for the rule of the harness; `None` for the rule of Merilo.

    Raises:
        UsageError: shots are wanted, but the data has none.
        DataError: a shot has no gold answer, or lacks the field that shots share with an item.
    """

    def __init__(
        self,
        declared: Dataset,
        shots: Sequence[Item],
        count: int,
        seed: int,
        items: Sequence[Item] | None = None,
    ) -> None:
        self._declared = declared
        self._count = count
        self._seed = seed
        if not count:
            self._by_field: Mapping[str, Sequence[Item]] = {}
            return
        if not shots:
            wanted = f"asked with {counted_noun(count, 'shot', 'shots')} an item"
            if declared.shots.count:
                add = f"add them as a split 'shots' or 'train', or use {_NO_SHOTS}"
                raise DataError(f"{declared.title} is {wanted}, but its data has no solved items: {add}")
            raise UsageError(f"{declared.title} has no shots, so it cannot be {wanted}: use {_NO_SHOTS}")
        by_field: dict[str, list[Item]] = {}
        for shot in shots:
            whole_gold(shot, declared)
            by_field.setdefault(self._shared(shot), []).append(shot)
        self._by_field = by_field
        self._in_sequence = None if items is None else self._sequence(items)

    def choose(self, item: Item) -> tuple[Item, ...]:
        """Return the shots of an item, in the order in which they are shown.

        Raises:
            DataError: there are too few; by the rule of Merilo, the item itself (the same question) does not count.
        """
        if not self._count:
            return ()
        known = self._by_field.get(self._shared(item), ())
        if self._in_sequence is not None:
            if len(known) < self._count:
                raise self._too_few(item, len(known), "")
            return tuple(shot for shot in self._in_sequence[item.id] if shot != item)
        chosen: list[Item] = []
        for shot in self._drawn(known, item):
            if shot.inputs != item.inputs and all(shot.inputs != other.inputs for other in chosen):
                chosen.append(shot)
                if len(chosen) == self._count:
                    return tuple(chosen)
        raise self._too_few(item, len(chosen), " besides the item itself")

    def _sequence(self, items: Sequence[Item]) -> dict[ItemId, tuple[Item, ...]]:
        """Draw the shots of all items; an item for which there are too few gets what there is."""
        random = Random(HARNESS_SEED)  # noqa: S311 - reproducible on purpose
        pools = ((item.id, self._by_field.get(self._shared(item), ())) for item in items)
        return {name: tuple(random.sample(pool, min(self._count, len(pool)))) for name, pool in pools}

    def _too_few(self, item: Item, count: int, besides: str) -> DataError:
        field = self._declared.shots.same
        where = f" with {field} '{self._shared(item)}'" if field else ""
        wanted = counted_noun(self._count, "shot", "shots")
        return DataError(
            f"item {item.id} of {self._declared.title} needs {wanted}{where}, but there"
            f" {'is' if count == 1 else 'are'} {count or 'none'}{besides}"
            f" (lower {argument('shots', 'N')}, or add solved items)"
        )

    def _shared(self, item: Item) -> str:
        """Return the value of the field that shots share with an item."""
        field = self._declared.shots.same
        value = "" if field is None else item.value(field)
        if not isinstance(value, str | int) or isinstance(value, bool):
            lacks = f"item {item.id} of {self._declared.title} has no {field}, by which its shots are chosen"
            raise DataError(lacks, field=f"meta.{field}")
        return str(value)

    def _drawn(self, known: Sequence[Item], item: Item) -> Iterator[Item]:
        """Draw without replacement, one at a time, so that a larger number of shots begins with the same ones."""
        random = Random(f"shots {self._declared.name} {self._seed} {item.id}")  # noqa: S311 - reproducible on purpose
        moved: dict[int, int] = {}
        for left in range(len(known), 0, -1):
            place = random.randrange(left)
            yield known[moved.get(place, place)]
            moved[place] = moved.get(left - 1, left - 1)


#: A turn before the question and the model's answer to it; `None` if it gave none that could be read.
EarlierTurn: TypeAlias = "tuple[Item, Json]"

#: Texts and media in the order in which they are shown.
Parts: TypeAlias = "tuple[str | Media, ...]"


def names_context(item: Item, declared: Dataset) -> bool:
    """Check whether the item's template says where the earlier turns stand."""
    if not declared.shots.earlier_turns:
        return False
    return any(match[1] == CONTEXT for match in PLACEHOLDER.finditer(template(item, declared)))


#: What stands between a question and its answer, and between solved items.
TARGET_DELIMITER: Final = " "
SHOT_DELIMITER: Final = "\n\n"


class Prompter:
    """Makes the requests of a dataset.

    Args:
        declared: the dataset.
        shots: the solved items that shots are taken from.
        settings: the settings of requests.
        chat: whether the backend takes a conversation.
        items: all items of the split in order, from which the shots of the harness follow.

    Attributes:
        declared: the dataset.
        form: the form of requests.
        settings: the settings.
        asked: the settings, with the dataset's defaults.
        chat: whether requests are for a backend that takes a conversation.
        shot_count: how many shots precede a question.

    Raises:
        UsageError: shots are wanted of a dataset that has none, or settings do not fit the dataset or the backend.
        DataError: there are no shots in the data, or one has no gold answer.

    Example:
        >>> from merilo.datasets import dataset
        >>> from merilo.settings import RunSettings
        >>> asked = Prompter(dataset("simplear"), [], RunSettings(shots=0), chat=False)
        >>> asked.request(Item(1, "What is {inputs}?", "2 + 2", "4")).prompt
        'What is 2 + 2?'
    """

    def __init__(
        self,
        declared: Dataset,
        shots: Sequence[Item],
        settings: RunSettings,
        *,
        chat: bool,
        items: Sequence[Item] = (),
    ) -> None:
        self.declared = declared
        self.settings = settings
        self.chat = chat
        self.shot_count = shot_count(declared, settings)
        self.form = prompt_form(declared, settings)
        self.asked = RequestSettings.of(settings, declared, chat=chat)
        self._harness = harness_prompts(declared) if self.form == "harness" else None
        in_sequence = items if self.form == "harness" else None
        self._deck = ShotDeck(declared, shots, self.shot_count, settings.seed, in_sequence)

    @property
    def reads_turns_like(self) -> Manner:
        """How the answers to the earlier turns of a dialogue are found in replies."""
        return "merilo" if self._harness is None else "harness"

    def request(self, item: Item, sample: int = 1, earlier: Sequence[EarlierTurn] = ()) -> Request:
        """Make the request of an item.

        Args:
            item: the item.
            sample: the number of this answer among several to the item, from 1.
            earlier: for dialogues, the turns before the item and the model's answers to them, the first turn first;
                an answer is `None` if there was none that could be read.

        Raises:
            DataError: a prompt names a field that the item does not have, or the item has too few shots.
            UsageError: earlier turns of a dataset that has no dialogues.
        """
        if earlier and not self.declared.shots.earlier_turns:
            raise UsageError(f"{self.declared.title} has no dialogues, so an item has no earlier turns")
        solved, question = self._solved(item, earlier)
        settings, declared, asked = self.settings, self.declared, self.asked
        generated = asked.mode == "generate"
        return Request(
            dataset=declared.name,
            item=item.id,
            sample=sample,
            messages=self._messages(solved, question),
            prompt=_text(_joined(((settings.system or "",), *_blocks(solved), question))),
            choices=()
            if generated
            else tuple(TARGET_DELIMITER + label for label in offered_labels(item, declared)),
            stop=asked.stop if generated else (),
            max_tokens=asked.max_tokens if generated else None,
            temperature=asked.temperature if generated else 0.0,
            seed=asked.seed_of(sample) if generated else None,
        )

    def blind(self, item: Item) -> str | None:
        """Return what is wrong with the prompt of an item if it shows nothing of the item.

        `None` if it shows something.

        Raises:
            DataError: as for `request`.
        """
        _, question = self._solved(item, ())
        text = _text(question)
        if not text.strip():
            return "is empty"
        if any(isinstance(part, Media) for part in question):
            return None
        inputs = {self.declared.placeholder: item.inputs} if isinstance(item.inputs, str) else item.inputs
        asked = {name: value for name, value in inputs.items() if name not in self.declared.hidden}
        texts = [shown_value(value).strip() for value in asked.values()]
        if any(shown and shown in text for shown in texts):
            return None
        return f"shows none of its inputs ({listed([*asked]) or 'it has none'})"

    def _solved(self, item: Item, earlier: Sequence[EarlierTurn]) -> tuple[list[tuple[Parts, str]], Parts]:
        """Return the solved items with their answers, and the question."""
        if earlier:
            solved = [self._turn(*turn) for turn in earlier]
            if names_context(item, self.declared):
                return [], self._question(item, context=_text(_joined(_blocks(solved))))
            return solved, self._question(item)
        gold = shown_gold if self._harness is None else whole_gold
        shots = self._deck.choose(item)
        solved = [
            (self._bare(shot) if number else self._question(shot), gold(shot, self.declared))
            for number, shot in enumerate(shots)
        ]
        # The instruction of the first shot names its labels, which must be those of the item.
        labels = {offered_labels(shown_item, self.declared) for shown_item in (item, *shots[:1])}
        return solved, self._bare(item) if self.shot_count and len(labels) == 1 else self._question(item)

    def _turn(self, item: Item, answer: Json) -> tuple[Parts, str]:
        """Return the question and the answer of an earlier turn; people saw it with its instruction."""
        unread = Text("(no answer)").ru if self._harness is None else HARNESS_UNREAD
        whole = self.form == "people" and not names_context(item, self.declared)
        return self._question(item) if whole else self._bare(item), unread if answer is None else str(answer)

    def _question(self, item: Item, *, context: str = "") -> Parts:
        """Return an item with its instruction."""
        if self._harness is not None:
            return (self._harness.question(item, self.declared, context=context),)
        return self._trimmed(parts(item, self.declared, context=context))

    def _bare(self, item: Item) -> Parts:
        """Return the bare form of an item."""
        if self._harness is not None:
            return (self._harness.bare_question(item, self.declared),)
        return self._trimmed(bare_parts(item, self.declared))

    def _trimmed(self, shown: Parts) -> Parts:
        """Remove white space at the end, where an answer follows; a program and the text of people stay as they are."""
        if self.form == "people" or self.declared.answer.kind == "program":
            return shown
        pieces = list(shown)
        while pieces and isinstance(last := pieces[-1], str):
            pieces.pop()
            if text := last.rstrip():
                return (*pieces, text)
        return tuple(pieces)

    def _messages(self, solved: Sequence[tuple[Parts, str]], question: Parts) -> tuple[ChatMessage, ...]:
        if not self.chat:
            return ()
        system = [ChatMessage("system", (self.settings.system,))] if self.settings.system else []
        return (*system, ChatMessage("user", _joined((*_blocks(solved), question))))


def _blocks(solved: Sequence[tuple[Parts, str]]) -> list[Parts]:
    return [(*question, TARGET_DELIMITER + answer) for question, answer in solved]


def _joined(blocks: Sequence[Parts]) -> Parts:
    """Join blocks by a blank line, and neighbouring texts to one."""
    spread: list[str | Media] = []
    for block in filter(any, blocks):
        spread += [SHOT_DELIMITER, *block] if spread else block
    joined: list[str | Media] = []
    for part in spread:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        else:
            joined.append(part)
    return tuple(joined)


def _text(shown: Parts) -> str:
    return "".join(map(str, shown))
