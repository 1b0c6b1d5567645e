"""`merilo.run` asks every item once, resumes, and scores with outcomes beside."""

from collections.abc import Callable
from pathlib import Path

import pytest
from exports import write_items
from model_backends import LocalBackend, label_by_hash

import merilo
from merilo.datasets import dataset
from merilo.datasets.bundled_items import examples
from merilo.errors import BackendError, InputError, UsageError
from merilo.models.asking import ModelReply, Request


def golds(name: str) -> dict[str, str]:
    return {str(item.id): str(item.outputs) for item in examples(dataset(name))["test"]}


def right(name: str) -> Callable[[Request], str]:
    known = golds(name)
    return lambda request: known[str(request.item)]


def test_the_same_call_asks_nothing_twice_and_a_larger_limit_asks_the_rest(tmp_path: Path) -> None:
    first = LocalBackend(right("lcs"))
    merilo.run(first, "lcs", out=tmp_path, limit=3)
    assert len(first.asked) == 3
    again = LocalBackend(right("lcs"))
    merilo.run(again, "lcs", out=tmp_path, limit=3)
    assert again.asked == []
    more = LocalBackend(right("lcs"))
    result = merilo.run(more, "lcs", out=tmp_path)
    assert len(more.asked) == len(golds("lcs")) - 3
    assert result.datasets["lcs"].metrics["acc"].value == 1.0
    added = LocalBackend(right("bps"))
    assert {*merilo.run(added, ["lcs", "bps"], out=tmp_path).datasets} == {"lcs", "bps"}
    assert {one.dataset for one in added.asked} == {"bps"}, "datasets can be added"


def test_more_samples_are_added_to_those_of_before(tmp_path: Path) -> None:
    merilo.run(LocalBackend(right("lcs")), "lcs", out=tmp_path, samples=2, temperature=1.0, limit=4)
    backend = LocalBackend(lambda request: "none")
    result = merilo.run(backend, "lcs", out=tmp_path, samples=4, temperature=1.0, limit=4)
    assert sorted(one.sample for one in backend.asked) == [3] * 4 + [4] * 4
    found = result.datasets["lcs"]
    assert found.answers.outcomes == {"answered": 8, "unreadable": 8}
    assert found.metrics["acc"].value == 0.5
    assert (found.metrics["acc"].n, found.metrics["acc"].answers) == (4, 16)


def test_a_changed_parameter_or_model_is_refused_and_with_force_the_run_starts_again(tmp_path: Path) -> None:
    merilo.run(LocalBackend(right("lcs")), "lcs", out=tmp_path, limit=3)
    before = (tmp_path / "run.json").read_bytes()
    other = LocalBackend(right("lcs"), model="other")
    for backend, changed, why in (
        (LocalBackend(right("lcs")), {"temperature": 0.5}, "temperature was not given and is now 0.5"),
        (LocalBackend(right("lcs")), {"system": "Отвечай."}, 'system was not given and is now "Отвечай."'),
        (LocalBackend(right("lcs")), {"limit": 2}, "lcs: limit was 3 and is now 2, but can only be raised"),
        (other, {}, 'model.name was "local-model" and is now "other"'),
    ):
        with pytest.raises(UsageError) as refused:
            merilo.run(backend, "lcs", out=tmp_path, **{"limit": 3, **changed})
        assert why in str(refused.value)
        assert "choose another folder, or start this one again with force=True" in str(refused.value)
        assert backend.asked == []
        assert (tmp_path / "run.json").read_bytes() == before
    merilo.run(other, "lcs", out=tmp_path, limit=2, force=True)
    assert len(other.asked) == 2
    assert len((tmp_path / "lcs.jsonl").read_text().splitlines()) == 2


def test_a_run_says_why_requests_failed_and_which_items_are_too_long_by_how_much(tmp_path: Path) -> None:
    given = {
        "1": ModelReply(finish="failed", error="HTTP 500"),
        "2": ModelReply(finish="too_long", error="18 tokens are 10 too many for the model's context of 8"),
        "3": ModelReply(finish="failed", error="HTTP 500"),
        "4": ModelReply(finish="failed", error="the reply has no text"),
    }
    backend = LocalBackend(lambda request: given[str(request.item)])
    result = merilo.run(backend, "lcs", out=tmp_path / "run", limit=4)
    told = [
        "LCS: 2 failed: HTTP 500 (items: 1, 3)",
        "LCS: 1 failed: the reply has no text (items: 4)",
        "LCS: 1 too long for the model's context: 18 tokens are 10 too many for the model's context of 8 (items: 2)",
    ]
    assert {*told} <= {*result.notes}
    assert {*told} <= {*merilo.score_run(tmp_path / "run").notes}
    found = result.to_dict()["datasets"]["lcs"]["unanswered"]  # type: ignore[index,call-overload]
    assert {one["item"]: one["outcome"] for one in found} == {  # type: ignore[index,call-overload,union-attr]
        "1": "failed", "2": "too_long", "3": "failed", "4": "failed"
    }  # fmt: skip


def test_a_dialogue_that_was_interrupted_goes_on_with_the_answers_of_before(tmp_path: Path) -> None:
    whole = merilo.run(LocalBackend(label_by_hash(("1", "2"))), "rutie", out=tmp_path / "whole")
    said = []

    def twice(request: Request) -> str:
        said.append(request)
        if len(said) > 2:
            raise BackendError("the server is gone")
        return label_by_hash(("1", "2"))(request)

    with pytest.raises(BackendError):
        merilo.run(LocalBackend(twice), "rutie", out=tmp_path / "parts")
    backend = LocalBackend(label_by_hash(("1", "2")))
    parts = merilo.run(backend, "rutie", out=tmp_path / "parts")
    assert parts.is_complete
    sheets = [(tmp_path / name / "rutie.jsonl").read_text() for name in ("parts", "whole")]
    assert sheets[0] == sheets[1]
    assert len(backend.asked) == whole.asked - 2


def test_a_closed_test_has_no_metrics_and_says_why(tmp_path: Path) -> None:
    closed = {"instruction": "{inputs}", "inputs": "()", "outputs": "", "meta": {"id": 1}}
    data = write_items(tmp_path / "bps.json", closed)
    result = merilo.run(LocalBackend(lambda request: "1"), "bps", out=tmp_path / "run", data=data, shots=0)
    assert result.datasets["bps"].metrics == {}
    assert "the test is closed" in result.datasets["bps"].reason
    assert result.is_complete


def test_choices_are_compared_by_likelihood(tmp_path: Path) -> None:
    known = golds("bps")

    def answer(request: Request) -> ModelReply:
        assert request.choices == (" 0", " 1")
        values = (-1.0, -2.0) if known[str(request.item)] == "0" else (-float("inf"), -1.0)
        return ModelReply(loglikelihoods=values)

    result = merilo.run(
        LocalBackend(answer, chat=False, modes=("generate", "loglikelihood")), "bps", out=tmp_path
    )
    assert result.datasets["bps"].metrics["acc"].value == 1.0


def test_a_run_can_be_scored_later_with_the_gold_of_its_owner_and_not_with_other_items(
    tmp_path: Path,
) -> None:
    closed, gold = tmp_path / "closed.json", tmp_path / "gold.json"
    items = [
        {"instruction": "{inputs}?", "inputs": text, "outputs": "", "meta": {"id": n}}
        for n, text in enumerate("abc")
    ]
    write_items(closed, *items)
    write_items(gold, *({**item, "outputs": "1"} for item in items))
    merilo.run(LocalBackend(lambda request: "1"), "lcs", out=tmp_path / "run", data=closed, shots=0)
    assert merilo.score_run(tmp_path / "run", data=gold).datasets["lcs"].metrics["acc"].value == 1.0
    write_items(gold, *({**item, "inputs": "zz", "outputs": "1"} for item in items))
    with pytest.raises(InputError, match=r"gold\.json: its items are not those .* asked: 3 of 3 differ"):
        merilo.score_run(tmp_path / "run", data=gold)
