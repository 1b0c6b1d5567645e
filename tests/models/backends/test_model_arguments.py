"""Arguments of a backend are read as lm-eval reads them, and unknown ones are named with the nearest."""

import pytest
from every import every

from merilo.errors import UsageError
from merilo.models.backends import backend_names, open_backend
from merilo.models.backends.model_arguments import ServerArguments, parse_model_arguments


@every(
    ("text", "read"),
    [
        ("", {}),
        ("model=a,num_concurrent=4", {"model": "a", "num_concurrent": "4"}),
        ("base_url=http://h:1/v1?a=b", {"base_url": "http://h:1/v1?a=b"}),
        (" model = a ,", {"model": "a"}),
        (
            '{"model": "a,b", "num_concurrent": 4, "images": true}',
            {"model": "a,b", "num_concurrent": "4", "images": "true"},
        ),
        ('{"model": "a", "extra_body": {"x": [1]}}', {"model": "a", "extra_body": '{"x": [1]}'}),
    ],
)
def test_arguments_are_names_and_values(text: str, read: dict[str, str]) -> None:
    assert parse_model_arguments(text) == read


@every(
    ("text", "message"),
    [
        ("gpt-4o", "model_args: takes NAME=VALUE, separated by commas, not 'gpt-4o'"),
        ("=4", "takes NAME=VALUE"),
        ("model=a,model=b", "names 'model' twice"),
        ('{"model": "a"', "starts as a JSON object and is none"),
    ],
)
def test_what_is_no_argument_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_model_arguments(text)


@every(
    ("name", "near"),
    [
        ("openai-chat", "openai-chat-completions"),
        ("local-chat-completion", "local-chat-completions"),
        ("antropic-chat", "anthropic-chat"),
        ("VLLM", "vllm"),
    ],
)
def test_an_unknown_backend_is_named_with_the_nearest(name: str, near: str) -> None:
    with pytest.raises(UsageError, match=f"there is no backend '{name}'; did you mean .*{near}"):
        open_backend(name, {})


def test_the_names_are_those_of_lm_eval() -> None:
    pytest.importorskip("lm_eval")
    from lm_eval.models import MODEL_MAPPING

    assert set(backend_names()) <= set(MODEL_MAPPING)


def test_an_unknown_argument_is_named_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="takes no argument 'num_concurent'; did you mean num_concurrent"):
        open_backend("local-chat-completions", {"model": "a", "num_concurent": "4"})


@every(
    ("name", "variable"),
    [("local-chat-completions", "OPENAI_API_KEY"), ("anthropic-chat", "ANTHROPIC_API_KEY")],
)
def test_a_key_is_taken_from_the_environment_only(name: str, variable: str) -> None:
    with pytest.raises(
        UsageError, match=f"takes no api_key: keys are read from the environment variable {variable} only"
    ) as raised:
        open_backend(name, {"model": "a", "api_key": "sk-secret"})
    assert "sk-secret" not in str(raised.value)


@every(
    ("given", "message"),
    [
        ({}, "local-chat-completions needs model="),
        ({"model": "a"}, "needs base_url="),
        ({"num_concurrent": "0"}, "num_concurrent must be 1 or more, not '0'"),
        ({"max_retries": "-1"}, "max_retries must be 0 or more"),
        ({"timeout": "soon"}, "timeout must be a number, not 'soon'"),
        ({"timeout": "nan"}, "timeout must be a finite number"),
        ({"extra_body": "[1]"}, "extra_body must be a mapping .*, not '\\[1\\]'"),
        ({"extra_body": '{"n": 2, "stream": true}'}, "extra_body must not set n, stream"),
        ({"response_format": "json"}, "response_format must be a JSON object"),
        ({"images": "maybe"}, "images must be true or false, not 'maybe'"),
        (
            {"base_url": "h:80/v1"},
            "base_url takes an address that starts with http:// or https://, not 'h:80/v1'",
        ),
        ({"base_url": "http://[::1/v1"}, "base_url takes an address"),
        ({"base_url": "http://h:port/v1?key=s"}, "base_url takes an address .*, not 'http://h:port/v1'"),
    ],
)
def test_a_wrong_value_is_named(given: dict[str, str], message: str) -> None:
    complete = {"model": "a", "base_url": "http://h/v1"} if given.keys() - {"model"} else {}
    with pytest.raises(UsageError, match=message):
        open_backend("local-chat-completions", complete | given)


def test_the_model_may_be_named_as_lm_eval_names_weights() -> None:
    assert ServerArguments.read("local-completions", {"pretrained": "b"}).model == "b"
