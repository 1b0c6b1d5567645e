"""Requests made of items: the prompt with its shots or earlier turns, and what ends an answer.

A request without shots is the prompt that people read. With shots, the instruction stands only in the first shot; later
shots and the question are in their bare form (`merilo.datasets.bare_forms`). One space separates a question from its
answer, a blank line separates solved items.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from merilo.datasets.bare_forms import bare_parts
from merilo.datasets.declaration import Dataset
from merilo.datasets.rendering import Media, parts, shown_value
from merilo.errors import UsageError, argument
from merilo.items import Item
from merilo.models.asking import ChatMessage, Request
from merilo.models.dialogue_context import EarlierTurn, Parts, names_context, turns
from merilo.models.prompt_settings import PromptSettings
from merilo.models.shot_choice import ShotDeck, shot_count, shown_gold
from merilo.wording import listed

#: What stands between a question and its answer, and between solved items.
TARGET_DELIMITER: Final = " "
SHOT_DELIMITER: Final = "\n\n"


class Prompter:
    """Makes the requests of a dataset.

    Args:
        declared: the dataset.
        shots: the solved items that shots are taken from; `shots_of` finds them.
        settings: the settings of requests.
        chat: whether the backend takes a conversation.

    Attributes:
        declared: the dataset.
        settings: the settings.
        chat: whether requests are for a backend that takes a conversation.
        shot_count: how many shots precede a question.

    Raises:
        UsageError: shots are wanted of a dataset that has none, or settings do not fit the dataset or the backend.
        DataError: there are no shots in the data, or one has no gold answer.

    Example:
        >>> from merilo.datasets import dataset
        >>> asked = Prompter(dataset("simplear"), [], PromptSettings(shots=0), chat=False)
        >>> asked.request(Item(1, "Сколько будет {inputs}?", "2 + 2", "4")).prompt
        'Сколько будет 2 + 2?'
    """

    def __init__(
        self, declared: Dataset, shots: Sequence[Item], settings: PromptSettings, *, chat: bool
    ) -> None:
        if settings.shots_as_turns and not chat:
            raise UsageError(
                f"{argument('shots_as_turns')} needs a backend that takes a conversation; this one continues a text"
            )
        self.declared = declared
        self.settings = settings
        self.chat = chat
        self.shot_count = shot_count(declared, settings)
        self._mode = settings.mode_for(declared, chat=chat)
        self._deck = ShotDeck(declared, shots, self.shot_count, settings.seed)

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
        settings, declared = self.settings, self.declared
        generated = self._mode == "generate"
        return Request(
            dataset=declared.name,
            item=item.id,
            sample=sample,
            messages=self._messages(solved, question),
            prompt=_text(_joined(((settings.system or "",), *_blocks(solved), question))),
            choices=() if generated else tuple(TARGET_DELIMITER + label for label in declared.answer.labels),
            stop=settings.stop_for(declared, chat=self.chat) if generated else (),
            max_tokens=settings.max_tokens_for(declared, chat=self.chat) if generated else None,
            temperature=settings.temperature_for(declared) if generated else 0.0,
            top_p=settings.top_p if generated else None,
            seed=settings.seed_for(declared, sample) if generated else None,
        )

    def blind(self, item: Item) -> str | None:
        """Return what is wrong with the prompt of an item if it shows nothing of the item; `None` if it shows something.

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
        declared = self.declared
        if earlier:
            solved = turns(earlier, declared, as_people=self.settings.as_people)
            if names_context(item, declared) and not self.settings.shots_as_turns:
                context = _text(_joined(_blocks(solved)))
                return [], self._trimmed(parts(item, declared, context=context))
            return solved, self._trimmed(parts(item, declared))
        solved = [
            (
                self._trimmed(bare_parts(shot, declared) if number else parts(shot, declared)),
                shown_gold(shot, declared),
            )
            for number, shot in enumerate(self._deck.choose(item))
        ]
        return solved, self._trimmed(bare_parts(item, declared) if solved else parts(item, declared))

    def _trimmed(self, shown: Parts) -> Parts:
        """Remove white space at the end, where an answer follows; a program and the text of people stay as they are."""
        if self.settings.as_people or self.declared.answer.kind == "program":
            return shown
        kept = list(shown)
        while kept and isinstance(last := kept[-1], str):
            kept.pop()
            if text := last.rstrip():
                return (*kept, text)
        return tuple(kept)

    def _messages(self, solved: Sequence[tuple[Parts, str]], question: Parts) -> tuple[ChatMessage, ...]:
        if not self.chat:
            return ()
        system = [ChatMessage("system", (self.settings.system,))] if self.settings.system else []
        if not self.settings.shots_as_turns:
            return (*system, ChatMessage("user", _joined((*_blocks(solved), question))))
        said: list[ChatMessage] = []
        for asked, answer in solved:
            said += [ChatMessage("user", _joined((asked,))), ChatMessage("assistant", (answer,))]
        return (*system, *said, ChatMessage("user", _joined((question,))))


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
