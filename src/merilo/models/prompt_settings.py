"""What a user chooses about requests: shots, mode, sampling, limits."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from math import isfinite
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from merilo.datasets.declaration import AnswerKind, Dataset
from merilo.errors import UsageError, argument
from merilo.models.asking import Mode

#: How a model is asked: "auto" compares log-likelihoods if the answers are closed and the backend continues a text.
AskedMode: TypeAlias = Literal["auto", "generate", "loglikelihood"]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSettings:
    """The settings of requests; `None` means the default of the dataset and its kind of answer.

    Attributes:
        shots: how many solved items stand before the question.
        shots_as_turns: whether solved items, and the earlier turns of a dialogue, are turns of the conversation.
        system: the system prompt.
        as_people: whether a request holds exactly the text that people saw: no shots, and each item with its instruction.
        mode: whether closed answers are compared by log-likelihood or generated.
        stop: what ends an answer; `()` means nothing.
        max_tokens: the most tokens of an answer, thought included.
        temperature: 0 is greedy decoding.
        top_p: the share of probability that is sampled from.
        seed: random seed for the choice of shots and for sampling.

    Raises:
        UsageError: a value is out of range, or two settings contradict each other.

    Example:
        >>> PromptSettings(shots=2).shots
        2
    """

    shots: int | None = None
    shots_as_turns: bool = False
    system: str | None = None
    as_people: bool = False
    mode: AskedMode = "auto"
    stop: tuple[str, ...] | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.shots is not None and self.shots < 0:
            raise UsageError("takes a number of at least 0", field=argument("shots"))
        if self.max_tokens is not None and self.max_tokens < 1:
            raise UsageError("takes a number of at least 1", field=argument("max_tokens"))
        if self.temperature is not None and not (isfinite(self.temperature) and self.temperature >= 0):
            raise UsageError("takes a number of at least 0", field=argument("temperature"))
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise UsageError("takes a number above 0 and at most 1", field=argument("top_p"))
        if self.stop is not None and "" in self.stop:
            raise UsageError("takes texts that are not empty", field=argument("stop"))
        if self.mode not in {"auto", "generate", "loglikelihood"}:
            raise UsageError("takes auto, generate or loglikelihood", field=argument("mode"))
        if self.as_people and self.shots:
            raise UsageError(f"people saw no shots: leave out {argument('shots')} or {argument('as_people')}")

    def mode_for(self, declared: Dataset, *, chat: bool) -> Mode:
        """Return how a dataset's items are asked.

        Raises:
            UsageError: log-likelihoods were asked for, but the answers are open.
        """
        closed = declared.answer.kind in CLOSED
        if self.mode == "loglikelihood" and not closed:
            raise UsageError(
                f"the answers of {declared.title} are open: there are no labels whose log-likelihoods could be compared"
                f" (use {argument('mode', 'auto', given='auto')})"
            )
        if self.mode == "auto":
            return "loglikelihood" if closed and not chat else "generate"
        return self.mode

    def stop_for(self, declared: Dataset, *, chat: bool) -> tuple[str, ...]:
        """Return what ends an answer: by default the dataset's stop strings, and nothing for a chat model.

        A chat model ends its answer itself. A stop at the first newline would cut off everything after an opening
        sentence or a line of thought, and a stop before "def" would cut off a program in fences.
        """
        if self.stop is not None:
            return self.stop
        return () if chat else declared.stop

    def max_tokens_for(self, declared: Dataset, *, chat: bool) -> int:
        """Return the most tokens of an answer."""
        if self.max_tokens is not None:
            return self.max_tokens
        return (CHAT_TOKENS if chat else CONTINUATION_TOKENS)[declared.answer.kind]

    def temperature_for(self, declared: Dataset) -> float:
        """Return the temperature: by default 0.6 for programs, else 0."""
        if self.temperature is not None:
            return self.temperature
        return PROGRAM_TEMPERATURE if declared.answer.kind == "program" else 0.0

    def samples_for(self, declared: Dataset, samples: int | None = None) -> int:
        """Return how many answers an item gets: by default 10 programs, else 1.

        Args:
            declared: the dataset.
            samples: how many answers the user asked for.

        Raises:
            UsageError: fewer than one, or several answers by greedy decoding, which would be equal.
        """
        if samples is None:
            samples = PROGRAM_SAMPLES if declared.answer.kind == "program" else 1
            return samples if self.temperature_for(declared) > 0 else 1
        if samples < 1:
            raise UsageError("takes a number of at least 1", field=argument("samples"))
        if samples > 1 and self.temperature_for(declared) == 0:
            raise UsageError(
                f"{samples} answers to an item of {declared.title} would be equal at temperature 0:"
                f" give {argument('temperature', 'T')} above 0"
            )
        return samples

    def seed_for(self, declared: Dataset, sample: int) -> int | None:
        """Return the seed of sampling an answer, different for each sample; `None` with greedy decoding."""
        if self.temperature_for(declared) == 0:
            return None
        return int.from_bytes(sha256(f"sample {self.seed} {sample}".encode()).digest()[:4]) >> 1
