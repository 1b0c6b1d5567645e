"""Continuations of a text over HTTP: generation, and log-likelihoods that are read off the echoed prompt."""

import json
from pathlib import Path
from typing import Any

import pytest
from asked_models import ask, request
from every import every
from scripted_server import (
    MODEL,
    Answers,
    Asked,
    Raw,
    ScriptedServer,
    completion_body,
    tokens_of,
    true_loglikelihood,
)
from tiny_tokenizers import save_tiny_tokenizer

from merilo.models.asking import ModelReply

LOCAL = "local-completions"
CONTEXT, CHOICES = "the night is", (" cold", " red and blue", " D")
TRUE = tuple(true_loglikelihood(CONTEXT, choice) for choice in CHOICES)


def arguments(server: ScriptedServer, **others: str) -> dict[str, str]:
    return {"model": MODEL, "base_url": server.url, "max_retries": "2", "timeout": "20", **others}


def scored(server: ScriptedServer, **others: str) -> ModelReply:
    return ask(LOCAL, arguments(server, **others), [request(CONTEXT, choices=CHOICES)])[0]


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


def test_log_likelihoods_are_the_models() -> None:
    with ScriptedServer() as server:
        reply = scored(server)
    assert reply.loglikelihoods == pytest.approx(TRUE)
    assert reply.prompt_tokens == sum(len(tokens_of(CONTEXT + choice)) for choice in CHOICES)
    assert (reply.text, reply.completion_tokens, reply.attempts) == ("", 0, 1)
    assert len(server.asked) == len(CHOICES)


def test_white_space_before_a_choice_belongs_to_it_as_in_lm_eval() -> None:
    with ScriptedServer() as server:
        reply = ask(LOCAL, arguments(server), [request(CONTEXT + " ", choices=("cold", "D"))])[0]
    assert reply.loglikelihoods == pytest.approx((TRUE[0], TRUE[2]))


def test_a_mark_before_the_text_that_the_server_adds_changes_nothing() -> None:
    def marked(asked: Asked) -> Raw:
        body = completion_body(Answers(), asked, "right")
        given = body["choices"][0]["logprobs"]
        given["tokens"] = ["<s>", *given["tokens"]]
        given["token_logprobs"] = [None, -9.0, *given["token_logprobs"][1:]]
        body["usage"]["prompt_tokens"] += 1
        return Raw(json.dumps(body).encode())

    with ScriptedServer(marked) as server:
        assert scored(server).loglikelihoods == pytest.approx(TRUE)


@every(
    ("fields", "reason"),
    [
        ({"token_logprobs": None}, "the server gives no log-probabilities of the prompt"),
        ({"token_logprobs": [-1.0]}, "the server gives no log-probabilities of the prompt"),
        (
            {"token_logprobs": [None, -1.0, -1.0, None, -1.0]},
            "the server leaves out log-probabilities of the continuation",
        ),
        (
            {"token_logprobs": [None, -1.0, -1.0, "x", -1.0]},
            "the server leaves out log-probabilities of the continuation",
        ),
        ({"tokens": ["the", " day"]}, "the server does not name the tokens"),
        (
            {"tokens": ["the", " \ufffd", " is", " cold", " A"]},
            "the server's tokens do not spell the text that was sent",
        ),
    ],
)
def test_log_probabilities_that_cannot_be_read_are_a_failed_reply(
    fields: dict[str, Any], reason: str
) -> None:
    with ScriptedServer([changed(**fields)]) as server:
        reply = ask(LOCAL, arguments(server), [request(CONTEXT, choices=CHOICES[:1])])[0]
    assert reply.finish == "failed"
    assert reason in str(reply.error)


def test_a_context_too_long_for_the_server_says_by_how_much() -> None:
    with ScriptedServer(context=3) as server:
        reply = scored(server)
    assert (reply.finish, reply.error) == ("too_long", "4 tokens are 1 too many for the model's context of 3")


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("lm_eval")
    return save_tiny_tokenizer(tmp_path_factory.mktemp("tokenizer"), "the night is cold red and blue D day")


def test_with_the_models_tokenizer_a_prompt_too_long_is_found_before_it_is_sent(tokenizer: Path) -> None:
    with ScriptedServer() as server:
        known = arguments(server, tokenizer=str(tokenizer), max_length="4")
        short = ask(LOCAL, known, [request("the", choices=(" night",))])[0]
        long = ask(LOCAL, known, [request(CONTEXT, choices=(" cold",)), request(CONTEXT, max_tokens=2)])
    assert short.finish == "stop"
    assert {(reply.finish, reply.attempts) for reply in long} == {("too_long", 0)}
    assert {reply.error for reply in long} == {"5 tokens are 1 too many for the model's context of 4"}
    assert len(server.asked) == 1


def test_with_the_models_tokenizer_tokens_are_counted_and_their_texts_not_needed(tokenizer: Path) -> None:
    def unnamed(asked: Asked) -> Raw:
        body = completion_body(Answers(), asked, "right")
        body["choices"][0]["logprobs"]["tokens"] = None
        return Raw(json.dumps(body).encode())

    with ScriptedServer(unnamed) as server:
        assert scored(server, tokenizer=str(tokenizer)).loglikelihoods == pytest.approx(TRUE)


def test_a_tokenizer_of_another_model_is_noticed(tokenizer: Path, tmp_path: Path) -> None:
    other = save_tiny_tokenizer(tmp_path, "th e nig ht is co ld")
    with ScriptedServer() as server:
        reply = scored(server, tokenizer=str(other))
    assert reply.finish == "failed"
    assert "name the model's own tokenizer by tokenizer=..." in str(reply.error)
