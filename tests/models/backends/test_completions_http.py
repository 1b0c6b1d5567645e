"""Continuations of a text over HTTP: generation, and log-likelihoods that are read off the echoed prompt."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from asked_models import ask, request
from every import every
from scripted_server import (
    MODEL,
    Answers,
    Asked,
    Fails,
    Raw,
    ScriptedServer,
    completion_body,
    tokens_of,
    true_loglikelihood,
)
from tiny_models import save_tiny_tokenizer, save_word_tokenizer

from merilo.errors import BackendError
from merilo.models.asking import ModelReply

LOCAL = "local-completions"
CONTEXT, CHOICES = "the night is", (" cold", " red and blue", " D")
TRUE = tuple(true_loglikelihood(CONTEXT, choice) for choice in CHOICES)


def arguments(server: ScriptedServer, **others: str) -> dict[str, str]:
    return {"model": MODEL, "base_url": server.url, "max_retries": "2", "timeout": "20", **others}


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_word_tokenizer(tmp_path_factory.mktemp("words")))


def scored(
    server: ScriptedServer, tokenizer: str, context: str = CONTEXT, choices: tuple[str, ...] = CHOICES
) -> ModelReply:
    known = arguments(server, tokenizer=tokenizer)
    return ask(LOCAL, known, [request(context, choices=choices)])[0]


def changed(**fields: Any) -> Raw:
    """A reply to the first choice, with other fields in its log-probabilities."""
    asked = Asked(1, "", {"prompt": CONTEXT + CHOICES[0], "echo": True, "logprobs": 1, "max_tokens": 1}, {})
    body = completion_body(Answers(), asked, "right")
    body["choices"][0]["logprobs"] |= fields
    return Raw(json.dumps(body).encode())


def test_the_prompt_is_continued() -> None:
    with ScriptedServer([Answers(" 42 #and more")]) as server:
        asked = request("6 * 7 =", stop=("a", "b", "c", "d", "#"), max_tokens=5, seed=3)
        reply = ask(LOCAL, arguments(server), [asked])[0]
    assert (reply.text, reply.finish, reply.prompt_tokens) == (" 42 ", "stop", 4)
    assert server.asked[0].body == {
        "model": MODEL,
        "prompt": "6 * 7 =",
        "temperature": 0.0,
        "max_tokens": 5,
        "stop": ["a", "b", "c", "d"],
        "seed": 3,
    }


def test_log_likelihoods_are_the_models(words: str) -> None:
    with ScriptedServer() as server:
        reply = scored(server, words)
    assert reply.loglikelihoods == pytest.approx(TRUE)
    assert reply.prompt_tokens == sum(len(tokens_of(CONTEXT + choice)) for choice in CHOICES)
    assert (reply.text, reply.completion_tokens, reply.attempts) == ("", 0, 1)
    assert len(server.asked) == len(CHOICES)


def test_white_space_before_a_choice_belongs_to_it_as_in_lm_eval(words: str) -> None:
    with ScriptedServer() as server:
        reply = scored(server, words, CONTEXT + " ", ("cold", "D"))
    assert reply.loglikelihoods == pytest.approx((TRUE[0], TRUE[2]))


IGNORES = "the server gives no log-probabilities of the prompt"


@every(
    ("fields", "reason"),
    [
        ({"token_logprobs": None}, IGNORES),
        ({"top_logprobs": None}, IGNORES),
        ({"token_logprobs": [-1.0]}, "log-probabilities of 0 tokens and the tokenizer makes 4 of the text"),
        # A mark of the beginning, which the server adds, would shift the values by one token.
        ({"token_logprobs": [None, -9.0, -1.0, -1.0, -1.0, -1.0]}, "of 5 tokens .* add_bos_token=True"),
        ({"token_logprobs": [None, -1.0, -1.0, None, -1.0]}, IGNORES),
        ({"token_logprobs": [None, -1.0, -1.0, "x", -1.0]}, IGNORES),
        (
            {"token_logprobs": [None, -1.0, -1.0, float("-inf"), -1.0]},
            "log-probabilities that are no numbers",
        ),
    ],
)
def test_log_probabilities_that_cannot_be_read_are_a_failed_reply(
    fields: dict[str, Any], reason: str, words: str
) -> None:
    with ScriptedServer([changed(**fields)]) as server:
        reply = scored(server, words, choices=CHOICES[:1])
    assert reply.finish == "failed"
    assert re.search(reason, str(reply.error))


def test_a_context_too_long_for_the_server_is_named(words: str) -> None:
    told = "This model's maximum context length is 3 tokens. However, your messages resulted in 7 tokens."
    with ScriptedServer([Fails(400, told, "context_length_exceeded")]) as server:
        reply = scored(server, words)
    assert reply.finish == "too_long"
    assert "maximum context length is 3 tokens" in str(reply.error)


def test_a_tokenizer_of_another_model_is_noticed(tmp_path: Path) -> None:
    other = save_tiny_tokenizer(tmp_path, "th e nig ht is co ld")
    with ScriptedServer() as server:
        reply = scored(server, str(other))
    assert reply.finish == "failed"
    assert "name the model's own tokenizer by tokenizer=..." in str(reply.error)


def test_a_tokenizer_that_is_not_there_ends_the_run(tmp_path: Path) -> None:
    told = "the tokenizer '.*nothing' cannot be read: .*; name the model's own by tokenizer="
    with ScriptedServer() as server, pytest.raises(BackendError, match=told):
        scored(server, str(tmp_path / "nothing"))
