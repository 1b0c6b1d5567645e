"""A backend that lies about log-likelihoods is refused before a run, and one that does not is let through."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from every import every
from scripted_server import MODEL, Answers, Asked, Likelihoods, Raw, ScriptedServer, completion_body

from merilo.errors import BackendError
from merilo.models.asking import Abilities, ModelReply, Request
from merilo.models.backends import open_backend, self_check


def checked(server: ScriptedServer, name: str = "local-completions") -> None:
    async def run() -> None:
        backend = open_backend(name, {"model": MODEL, "base_url": server.url, "max_retries": "0"})
        try:
            await self_check(backend)
        finally:
            await backend.close()

    asyncio.run(run())


def test_right_log_likelihoods_obey_every_law() -> None:
    with ScriptedServer() as server:
        checked(server)


@every(
    ("likelihoods", "message"),
    [
        ("shifted", "servers that shift log-probabilities by one token do this"),
        ("shifted back", "different words have the same log-likelihood"),
        ("constant", "different words have the same log-likelihood"),
        ("positive", "a text has a probability above 1"),
        ("missing", "it ignores echo or logprobs"),
        ("no echo", "it ignores echo or logprobs"),
    ],
)
def test_a_server_that_lies_is_refused(likelihoods: Likelihoods, message: str) -> None:
    with (
        ScriptedServer(likelihoods=likelihoods) as server,
        pytest.raises(BackendError, match=message) as raised,
    ):
        checked(server)
    assert str(raised.value).startswith(
        f"the log-likelihoods of local-completions for {MODEL} cannot be trusted: "
    )
    assert str(raised.value).endswith("or let the model generate its answers (mode='generate')")
    assert raised.value.on_command_line.endswith("(--mode generate)")


def test_a_chat_has_no_log_likelihoods_to_check() -> None:
    with (
        ScriptedServer() as server,
        pytest.raises(BackendError, match="local-chat-completions gives no log-likelihoods"),
    ):
        checked(server, "local-chat-completions")
    assert server.asked == []


GENERAL = Abilities(frozenset({"generate", "loglikelihood"}), chat=False)


@dataclass
class Deaf:
    """A model whose log-likelihoods come from a table of words, whatever stood before them."""

    values: dict[str, float]
    generates: str = " the"
    name: str = "deaf"
    model: str = "deaf"
    abilities: Abilities = GENERAL
    batch_size: int = 3
    concurrency: int = 1

    async def ask(self, requests: Sequence[Request]) -> Sequence[ModelReply]:
        assert len(requests) <= self.batch_size
        return [self.reply(asked) for asked in requests]

    def reply(self, asked: Request) -> ModelReply:
        if not asked.choices:
            return ModelReply(text=self.generates)
        return ModelReply(loglikelihoods=tuple(sum(map(self.value, text.split())) for text in asked.choices))

    def value(self, word: str) -> float:
        return self.values.get(word, -4.0 - len(word))

    async def close(self) -> None:
        pass


def test_probabilities_that_sum_up_to_more_than_one_are_refused() -> None:
    with pytest.raises(BackendError, match="sum up to more than 1"):
        asyncio.run(self_check(Deaf({"Paris": -0.1, "blue": -0.2, "seven": -0.3, "the": -0.05})))


def test_a_model_that_takes_an_unlikely_token_at_temperature_0_is_refused() -> None:
    with pytest.raises(
        BackendError, match="other words are more likely than the token that the model itself takes"
    ):
        asyncio.run(self_check(Deaf({"Paris": -1.0, "blue": -4.0, "seven": -5.0, "the": -6.0})))


@every("generates", ["", "tail", " \ufffd", " ", "\n"])
def test_a_token_that_cannot_be_asked_for_again_is_left_out(generates: str) -> None:
    words = {"Paris": -1.0, "blue": -4.0, "seven": -5.0, "the": -6.0}
    asyncio.run(self_check(Deaf(words, generates)))


def test_small_errors_of_half_precision_are_let_through() -> None:
    class Rounded(Deaf):
        def reply(self, asked: Request) -> ModelReply:
            exact = super().reply(asked)
            return ModelReply(
                text=exact.text,
                loglikelihoods=tuple(round(value * 16) / 16 for value in exact.loglikelihoods),
            )

    asyncio.run(self_check(Rounded({"Paris": -1.03, "blue": -4.11, "seven": -5.37, "the": -0.98})))


def test_a_server_whose_tokens_are_parts_of_cyrillic_letters_is_refused_with_what_to_do() -> None:
    def in_bytes(asked: Asked) -> Raw:
        body = completion_body(Answers(), asked, "right")
        given = body["choices"][0]["logprobs"]
        given["tokens"] = [token.encode("ascii", "replace").decode() for token in given["tokens"]]
        return Raw(json.dumps(body).encode())

    with (
        ScriptedServer(in_bytes) as server,
        pytest.raises(BackendError, match="name the model's tokenizer by tokenizer="),
    ):
        checked(server)
