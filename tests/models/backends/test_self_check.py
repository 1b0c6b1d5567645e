"""A backend that lies about log-likelihoods is refused before a run, and one that does not is let through."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from every import every
from scripted_server import MODEL, Likelihoods, ScriptedServer
from tiny_models import save_word_tokenizer

from merilo.errors import BackendError
from merilo.models.asking import Abilities, ModelReply, Request
from merilo.models.backends import open_backend, self_check


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_word_tokenizer(tmp_path_factory.mktemp("words")))


def checked(server: ScriptedServer, tokenizer: str) -> None:
    async def run() -> None:
        known = {"model": MODEL, "base_url": server.url, "max_retries": "0", "tokenizer": tokenizer}
        backend = open_backend("local-completions", known)
        try:
            await self_check(backend)
        finally:
            await backend.close()

    asyncio.run(run())


def test_right_log_likelihoods_obey_every_law(words: str) -> None:
    with ScriptedServer() as server:
        checked(server, words)


@every(
    ("likelihoods", "message"),
    [
        ("shifted", "servers that shift log-probabilities by one token do this"),
        ("shifted back", "different words have the same log-likelihood"),
        ("constant", "different words have the same log-likelihood"),
        ("positive", "a text has a probability above 1"),
        ("missing", "it ignores echo or logprobs"),
        ("no echo", "the server gives log-probabilities of 0 tokens"),
    ],
)
def test_a_server_that_lies_is_refused(likelihoods: Likelihoods, message: str, words: str) -> None:
    with (
        ScriptedServer(likelihoods=likelihoods) as server,
        pytest.raises(BackendError, match=message) as raised,
    ):
        checked(server, words)
    assert str(raised.value).startswith(
        f"the log-likelihoods of local-completions for {MODEL} cannot be trusted: "
    )
    assert str(raised.value).endswith("or let the model generate its answers (mode='generate')")
    assert raised.value.on_command_line.endswith("(--mode generate)")


def test_a_chat_has_no_log_likelihoods_to_check() -> None:
    backend = open_backend("local-chat-completions", {"model": MODEL, "base_url": "http://localhost:1"})
    with pytest.raises(BackendError, match="local-chat-completions gives no log-likelihoods"):
        asyncio.run(self_check(backend))


GENERAL = Abilities(frozenset({"generate", "loglikelihood"}), chat=False)


@dataclass
class Deaf:
    """A model whose log-likelihoods come from a table of words, whatever stood before them."""

    values: dict[str, float]
    name: str = "deaf"
    model: str = "deaf"
    abilities: Abilities = GENERAL
    batch_size: int = 3
    concurrency: int = 1

    async def ask(self, requests: Sequence[Request]) -> Sequence[ModelReply]:
        assert len(requests) <= self.batch_size
        return [self.reply(asked) for asked in requests]

    def reply(self, asked: Request) -> ModelReply:
        return ModelReply(loglikelihoods=tuple(sum(map(self.value, text.split())) for text in asked.choices))

    def value(self, word: str) -> float:
        return self.values.get(word, -4.0 - len(word))

    async def close(self) -> None:
        pass


def test_probabilities_that_sum_up_to_more_than_one_are_refused() -> None:
    with pytest.raises(BackendError, match="sum up to more than 1"):
        asyncio.run(self_check(Deaf({"Paris": -0.1, "blue": -0.2, "seven": -0.3, "the": -0.05})))


def test_small_errors_of_half_precision_are_let_through() -> None:
    class Rounded(Deaf):
        def reply(self, asked: Request) -> ModelReply:
            exact = super().reply(asked)
            return ModelReply(loglikelihoods=tuple(round(value * 16) / 16 for value in exact.loglikelihoods))

    asyncio.run(self_check(Rounded({"Paris": -1.03, "blue": -4.11, "seven": -5.37, "the": -0.98})))
