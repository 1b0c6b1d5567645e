"""Local weights through lm-eval: a random transformer that the tests build, alone and behind servers."""

import asyncio
import json
import os
import signal
import socket
import sys
import time
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from asked_models import ask, request
from ended_process import ended_process
from scripted_server import Asked, Raw, ScriptedServer
from tiny_models import save_tiny_language_model

from merilo.errors import BackendError, MissingPartError, UsageError
from merilo.models.asking import ChatMessage, ModelBackend
from merilo.models.backends import open_backend, self_check
from merilo.models.backends.lm_eval_models import passes_without_collisions

pytestmark = pytest.mark.torch

QUESTIONS = [
    request(
        f"Вопрос : сколько будет {number} плюс два ?\nОтвет :",
        choices=(" A", " B", " да нет", " cold blue Paris"),
    )
    for number in ("один", "два", "три", "четыре", "пять")
]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a random transformer, and nothing from the hub."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    return save_tiny_language_model(tmp_path_factory.mktemp("weights"))


@pytest.fixture(scope="module")
def local(weights: Path) -> ModelBackend:
    return open_backend("hf", {"pretrained": str(weights), "batch_size": "3", "device": "cpu"})


@pytest.fixture(scope="module")
def plain(weights: Path) -> Any:
    """lm-eval's own class on the same weights, one request at a time."""
    from lm_eval.models.huggingface import HFLM

    return HFLM(pretrained=str(weights), device="cpu", batch_size=1)


def instances(kind: str, pairs: list[tuple[str, Any]]) -> list[Any]:
    from lm_eval.api.instance import Instance

    return [Instance(kind, {}, pair, place) for place, pair in enumerate(pairs)]


def log_probabilities(lm: Any, asked: Asked) -> Raw:
    """What a right completions server with these weights replies."""
    import torch

    prompt = asked.body["prompt"]
    if isinstance(prompt[0], list):  # lm-eval sends a batch of one
        prompt = prompt[0]
    tokens = lm.tokenizer.encode(prompt) if isinstance(prompt, str) else prompt
    with torch.no_grad():
        table = torch.log_softmax(lm.model(torch.tensor([tokens])).logits[0].double(), -1)
    after = [*tokens[1:], int(table[-1].argmax())]
    values = [None, *(float(row[token]) for row, token in zip(table, after, strict=True))]
    names = [lm.tokenizer.decode([token]) for token in (*tokens, after[-1])]
    tops = [None, *({"x": float(row.max())} for row in table)]
    given = {"tokens": names, "token_logprobs": values, "top_logprobs": tops}
    choice = {"index": 0, "text": "".join(names), "finish_reason": "length", "logprobs": given}
    return Raw(
        json.dumps({"model": "tiny", "choices": [choice], "usage": {"prompt_tokens": len(tokens)}}).encode()
    )


def test_choices_agree_with_plain_lm_eval_and_with_a_server_of_the_same_weights(
    weights: Path, local: ModelBackend, plain: Any
) -> None:
    pairs = [(asked.prompt, choice) for asked in QUESTIONS for choice in asked.choices]
    expected = [
        value for value, _ in plain.loglikelihood(instances("loglikelihood", pairs), disable_tqdm=True)
    ]
    replies = asyncio.run(local.ask(QUESTIONS))
    assert [value for reply in replies for value in reply.loglikelihoods] == pytest.approx(expected, abs=1e-4)
    with ScriptedServer(lambda asked: log_probabilities(plain, asked)) as server:
        known = {"model": "tiny", "base_url": server.url, "tokenizer": str(weights)}
        for tokenized in ("False", "True"):
            served = ask("local-completions", known | {"tokenized_requests": tokenized}, QUESTIONS)
            assert [value for reply in served for value in reply.loglikelihoods] == pytest.approx(
                expected, abs=1e-4
            )
        from lm_eval.models.openai_completions import LocalCompletionsAPI

        url = f"{server.url}/completions"
        theirs = LocalCompletionsAPI(
            base_url=url, model="tiny", tokenizer=str(weights), tokenizer_backend="huggingface"
        )
        found = [
            value for value, _ in theirs.loglikelihood(instances("loglikelihood", pairs), disable_tqdm=True)
        ]
    assert found == pytest.approx(expected, abs=1e-4)


def test_texts_agree_with_plain_lm_eval(local: ModelBackend, plain: Any) -> None:
    asked = [request(question.prompt, max_tokens=12, stop=("о",)) for question in QUESTIONS]
    settings = {"until": ["о"], "max_gen_toks": 12, "do_sample": False}
    pairs = [(each.prompt, settings) for each in asked]
    expected = plain.generate_until(instances("generate_until", pairs), disable_tqdm=True)
    assert [reply.text for reply in asyncio.run(local.ask(asked))] == expected


def test_the_weights_pass_the_self_check(local: ModelBackend) -> None:
    asyncio.run(self_check(local))


def test_pairs_that_lm_eval_answers_wrongly_in_one_call_are_asked_apart(local: ModelBackend) -> None:
    """The second word's value must be the same alone and beside both words."""
    both = request("The capital of", choices=(" Paris blue",))
    second = request("The capital of Paris", choices=(" blue",))
    together = asyncio.run(local.ask([both, second]))[1]
    alone = asyncio.run(local.ask([second]))[0]
    assert together.loglikelihoods == pytest.approx(alone.loglikelihoods, abs=1e-5)
    assert passes_without_collisions([([1, 2], [3]), ([1, 2], [4, 5])]) == [[0, 1]]


def test_a_text_cut_off_at_the_limit_is_told_from_one_that_ended(local: ModelBackend, plain: Any) -> None:
    prompt = QUESTIONS[0].prompt
    whole = asyncio.run(local.ask([request(prompt, max_tokens=8)]))[0]
    assert (whole.finish, whole.completion_tokens) == ("length", 8)
    stop = whole.text[2:4]
    cut, uncut = asyncio.run(
        local.ask([request(prompt, max_tokens=8, stop=(stop,)), request(prompt, max_tokens=3)])
    )
    assert (cut.finish, cut.text) == ("stop", whole.text[: whole.text.index(stop)])
    assert (uncut.finish, uncut.completion_tokens) == ("length", 3)
    assert cut.prompt_tokens == len(plain.tok_encode(prompt))


def test_prompts_too_long_are_named_and_not_cut(local: ModelBackend) -> None:
    long = request("A " * 300, max_tokens=3)
    scored = request("A " * 300, choices=(" B",))
    replies = asyncio.run(local.ask([long, QUESTIONS[0], scored]))
    assert [reply.finish for reply in replies] == ["too_long", "stop", "too_long"]
    count = len(local._lm.tok_encode(long.prompt))  # type: ignore[attr-defined]
    assert (
        replies[0].error
        == f"{count + 3} tokens are {count + 3 - 256} too many for the model's context of 256"
    )


def test_a_conversation_is_written_by_the_models_template(weights: Path, local: ModelBackend) -> None:
    chat = open_backend("hf", {"pretrained": str(weights), "apply_chat_template": "True", "device": "cpu"})
    assert chat.abilities.chat
    assert not local.abilities.chat
    messages = (ChatMessage("system", ("A",)), ChatMessage("user", ("B",)))
    said = asyncio.run(chat.ask([request("", messages=messages, max_tokens=6)]))[0]
    same = asyncio.run(local.ask([request("[system]A\n[user]B\n[assistant]", max_tokens=6)]))[0]
    assert said.text == same.text


def test_sampling_is_repeated_with_its_seed(local: ModelBackend) -> None:
    def sampled(seed: int) -> list[str]:
        asked = [request("A", max_tokens=20, temperature=1.0, seed=seed, sample=number) for number in (1, 2)]
        return [reply.text for reply in asyncio.run(local.ask(asked))]

    assert sampled(1) == sampled(1) != sampled(2)


def test_one_request_that_fails_does_not_take_its_batch_with_it(
    local: ModelBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    lm = local._lm  # type: ignore[attr-defined]
    real = lm.loglikelihood

    def fails(requests: list[Any], **settings: Any) -> Any:
        if any(each.args[0] == "bad" for each in requests):
            raise RuntimeError("CUDA out of memory")
        return real(requests, **settings)

    monkeypatch.setattr(lm, "loglikelihood", fails)
    asked = [QUESTIONS[0], request("bad", choices=(" A",)), QUESTIONS[1]]
    replies = asyncio.run(local.ask(asked))
    assert [reply.finish for reply in replies] == ["stop", "failed", "stop"]
    assert replies[1].error == "RuntimeError: CUDA out of memory"


def test_weights_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match=r"the model '.*nothing' cannot be loaded by hf"):
        open_backend("hf", {"pretrained": str(tmp_path / "nothing"), "device": "cpu"})


def test_an_argument_that_neither_lm_eval_nor_transformers_knows_ends_the_run(weights: Path) -> None:
    with pytest.raises(UsageError, match="hf needs pretrained="):
        open_backend("hf", {"pretraind": str(weights)})
    with pytest.raises(BackendError, match=r"cannot be loaded by hf: .*devise"):
        open_backend("hf", {"pretrained": str(weights), "devise": "cpu"})


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vLLM is installed")
def test_an_engine_that_is_not_installed_is_named_with_what_to_install() -> None:
    with pytest.raises(MissingPartError, match=r"backend vllm needs the extra .models.: .* pip install vllm"):
        open_backend("vllm", {"pretrained": "tiny"})


def test_lm_eval_may_choose_the_size_of_its_batches(
    weights: Path, local: ModelBackend, capsys: pytest.CaptureFixture[str]
) -> None:
    auto = open_backend("hf", {"pretrained": str(weights), "batch_size": "auto", "device": "cpu"})
    assert auto.batch_size == 64
    replies, same = asyncio.run(auto.ask(QUESTIONS[:2])), asyncio.run(local.ask(QUESTIONS[:2]))
    for reply, expected in zip(replies, same, strict=True):
        assert reply.loglikelihoods == pytest.approx(expected.loglikelihoods, abs=1e-4)
    assert capsys.readouterr().out == "", "standard output belongs to the command"


def free_port() -> int:
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        return int(chosen.getsockname()[1])


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


@pytest.fixture(scope="module")
def served(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`transformers serve` with the same weights, as its address."""
    command = Path(sys.executable).with_name("transformers")
    if not command.exists():
        pytest.skip("transformers serve is not installed (the dependency group 'torch')")
    home = tmp_path_factory.mktemp("home")
    (home / "hub").mkdir()
    port = free_port()
    arguments = ["serve", str(weights), "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(home)}
    with (
        (home / "log").open("wb") as log,
        ended_process(
            [command, *arguments], stopped_by=signal.SIGTERM, env=environment, stdout=log, stderr=log
        ) as process,
    ):
        deadline = time.monotonic() + 180
        while not answers(f"http://127.0.0.1:{port}/health"):
            assert process.poll() is None, (home / "log").read_text()
            assert time.monotonic() < deadline, "transformers serve did not start"
        yield f"http://127.0.0.1:{port}/v1"


@pytest.mark.slow
def test_a_real_server_says_in_a_chat_what_the_same_weights_say(served: str, weights: Path) -> None:
    asked = [request(question.prompt, max_tokens=10) for question in QUESTIONS]
    known = {"model": str(weights), "base_url": served, "num_concurrent": "2"}
    over_http = ask("local-chat-completions", known, asked)
    local = ask("hf", {"pretrained": str(weights), "apply_chat_template": "True", "device": "cpu"}, asked)
    assert [reply.text for reply in over_http] == [reply.text for reply in local]
    assert [reply.completion_tokens for reply in over_http] == [10] * 5
    assert {reply.finish for reply in over_http} == {"length"}
    assert [reply.prompt_tokens for reply in over_http] == [reply.prompt_tokens for reply in local]
