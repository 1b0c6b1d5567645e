"""A respondent that always answers a prompt in the same way, for Merilo, for lm-eval and for Inspect."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from merilo.datasets import dataset
from merilo.datasets.ready_items import examples
from merilo.models.asking import Abilities, ModelReply, Request
from merilo.models.prompter import Prompter
from merilo.settings import RunSettings


def chance(*texts: str) -> float:
    """A number in [0, 1) that depends only on the texts."""
    return int.from_bytes(sha256("\0".join(texts).encode()).digest()[:6]) / 2**48


def likelihood(prompt: str, continuation: str) -> float:
    return -20 * chance(prompt, continuation)


class Writer:
    """Writes answers to the bundled items of datasets: the gold answer for about half of the prompts, else another text."""

    def __init__(self, names: Sequence[str], *, chat: bool, shots: int | None = None) -> None:
        self._gold: dict[str, str] = {}
        for name in names:
            declared, splits = dataset(name), examples(dataset(name))
            solved = splits["shots"].items if "shots" in splits else ()
            items = splits["test"].items
            prompter = Prompter(declared, solved, RunSettings(shots=shots), chat=chat, items=items)
            for item in items:
                gold = item.outputs
                self._gold[prompter.request(item).prompt] = str(
                    next(iter(gold.values())) if isinstance(gold, dict) else gold
                )

    def write(self, prompt: str) -> str:
        gold, draw = self._gold[prompt], chance(prompt)
        if draw < 0.5:
            return gold
        return "" if draw < 0.6 else f"{gold} наоборот" if draw < 0.8 else "1"


@dataclass
class ScriptedBackend:
    """The respondent as a backend of Merilo."""

    writer: Writer | None = None
    chat: bool = False
    batch_size: int = 1
    concurrency: int = 4
    name: str = "scripted"
    model: str = "scripted"
    abilities: Abilities = field(init=False)

    def __post_init__(self) -> None:
        modes = frozenset({"generate"} if self.chat else {"generate", "loglikelihood"})
        self.abilities = Abilities(modes, chat=self.chat)

    async def ask(self, requests: Sequence[Request]) -> Sequence[ModelReply]:
        return [self._reply(one) for one in requests]

    def _reply(self, request: Request) -> ModelReply:
        if request.choices:
            return ModelReply(
                loglikelihoods=tuple(likelihood(request.prompt, one) for one in request.choices)
            )
        assert self.writer
        return ModelReply(text=self.writer.write(request.prompt))

    async def close(self) -> None:
        """Nothing is open."""
