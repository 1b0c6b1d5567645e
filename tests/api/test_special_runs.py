"""Runs of programs, pictures and studies."""

import json
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import pytest
from command import done
from model_backends import LocalBackend, label_by_hash
from programming import need_a_jail
from study_people import bundled_study, collect, of_kind, visits

import merilo
from merilo.datasets import dataset
from merilo.datasets.bundled_items import examples
from merilo.datasets.rendering import render
from merilo.errors import UsageError
from merilo.items import Item, Split, write_splits
from merilo.models.asking import ModelReply, Request
from merilo.runs.model_run import limited
from merilo.submissions import read_gold, score_submission
from merilo.submissions.writing import pack

PROBLEMS = {str(item.id): item for item in examples(dataset("ruhumaneval"))["test"]}


def solution(request: Request) -> str:
    """The reference solution in two samples of five, and a wrong program in the others."""
    if request.sample % 5 < 2:
        return str(PROBLEMS[str(request.item)].meta["canonical_solution"])
    return "    return None\n"


def test_programs_are_sampled_and_run_in_the_sandbox_in_one_call(tmp_path: Path) -> None:
    need_a_jail()
    backend = LocalBackend(solution)
    result = merilo.run(backend, "ruhumaneval", out=tmp_path)
    found = result.datasets["ruhumaneval"]
    assert len(backend.asked) == 10 * len(PROBLEMS)
    assert {one.temperature for one in backend.asked} == {0.6}
    assert len({one.seed for one in backend.asked if str(one.item) == next(iter(PROBLEMS))}) == 10
    assert found.metrics["pass@1"].value == pytest.approx(0.4)
    assert found.metrics["pass@10"].value == 1.0
    rows = [
        json.loads(line) for line in (tmp_path / "ruhumaneval.completions.jsonl").read_text().splitlines()
    ]
    assert {row["task_id"] for row in rows} == set(PROBLEMS)


def test_more_samples_of_programs_extend_the_run_and_its_verdicts(tmp_path: Path) -> None:
    need_a_jail()
    first = merilo.run(LocalBackend(solution), "ruhumaneval", out=tmp_path, samples=2, limit=3)
    assert first.datasets["ruhumaneval"].scores.missing["pass@5"].startswith("needs 5 generations")
    backend = LocalBackend(solution)
    more = merilo.run(backend, "ruhumaneval", out=tmp_path, samples=5, limit=3)
    assert len(backend.asked) == 9
    assert more.datasets["ruhumaneval"].metrics["pass@5"].value == 1.0
    assert len(list((tmp_path / "sandbox").iterdir())) == 1


@pytest.mark.parametrize("name", ["rutie", "ruethics", "use", "chegeka", "ruhumaneval"])
def test_a_run_is_packed_and_scores_the_same_as_a_submission(name: str, tmp_path: Path) -> None:
    declared = dataset(name)
    answer = label_by_hash(declared.answer.labels or ("1", "2", "слово"))
    if name == "ruhumaneval":
        need_a_jail()
        answer = solution
    result = merilo.run(LocalBackend(answer), name, out=tmp_path / "run")
    assert pack(tmp_path / "run", tmp_path / "mine.zip") == ([declared.title], [])
    (tmp_path / "gold").mkdir()
    write_splits(tmp_path / "gold" / f"{name}.json", [examples(declared)["test"]])
    gold = read_gold(tmp_path / "gold")
    scored = score_submission(tmp_path / "mine.zip", gold).datasets[declared.title]
    assert scored.answers.fault_count == 0
    assert {one: score.value for one, score in scored.scores.all().items()} == {
        one: score.value for one, score in result.datasets[name].metrics.items()
    }


def test_of_several_samples_the_first_is_packed(tmp_path: Path) -> None:
    merilo.run(LocalBackend(lambda one: str(one.sample)), "lcs", out=tmp_path, samples=3, temperature=1.0)
    assert pack(tmp_path, tmp_path / "mine.zip") == (["LCS"], [])
    with ZipFile(tmp_path / "mine.zip") as archive:
        documents = json.loads(archive.read("LCS.json"))["data"]["test"]
    assert {document["outputs"] for document in documents} == {"1"}


PICTURES = """\
name: pictures
title: Pictures
fields: [question, image]
media: [image]
answer: {kind: choice, labels: ["1", "2"]}
metrics: [acc]
"""


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    (folder / "samples").mkdir(parents=True)
    (folder / "samples" / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (folder / "dataset.yaml").write_text(PICTURES, encoding="utf-8")
    items = [
        {"instruction": instruction, "inputs": {"question": "Что?", "image": image}, "outputs": "1", "meta": {"id": n}}
        for n, instruction, image in ((1, "<image> {question}", "samples/a.png"), (2, "{question}", ""))
    ]  # fmt: skip
    (folder / "test.json").write_text(json.dumps({"data": items}), encoding="utf-8")
    return folder


def test_items_with_pictures_are_left_out_with_a_sentence_for_a_backend_without_them(
    pictures: Path, tmp_path: Path
) -> None:
    backend = LocalBackend(lambda one: "1")
    result = merilo.run(backend, str(pictures), out=tmp_path / "run")
    assert [one.item for one in backend.asked] == [2]
    assert (
        "Pictures: 1 of 2 items have media that the backend does not take, and are left out" in result.notes
    )
    assert result.datasets["pictures"].metrics["acc"].n == 1
    with pytest.raises(
        UsageError, match="the items of Pictures have pictures, which this backend does not take"
    ):
        merilo.run(LocalBackend(), str(pictures), out=tmp_path / "other", limit=1)


def test_pictures_are_given_to_a_backend_that_takes_them(pictures: Path, tmp_path: Path) -> None:
    backend = LocalBackend(lambda one: "1", media=("image",))
    merilo.run(backend, str(pictures), out=tmp_path / "run")
    (shown,) = [part for one in backend.asked for part in one.messages[-1].parts if not isinstance(part, str)]
    assert shown.path == "samples/a.png"


def test_a_study_is_asked_as_people_saw_it_and_a_refusal_counts_as_wrong_beside_them(tmp_path: Path) -> None:
    study, run, people = (
        bundled_study(tmp_path / "study", "parus", overlap=5),
        tmp_path / "run",
        tmp_path / "people",
    )
    collect(study.path, tmp_path, "table", visits(study, people=8))
    prompts = [render(item, study.declared()) for item in study.items()]
    gold = {task.prompt: str(task.item.outputs) for task in of_kind(study, "test")}
    assert [*gold] == prompts

    def answer(request: Request) -> str | ModelReply:
        refused = request.prompt == prompts[0]
        return ModelReply(finish="refusal") if refused else f"Ответ: {gold[request.prompt]}"

    backend = LocalBackend(answer)
    result = merilo.run(backend, study=study.path, out=run)
    assert [one.messages[-1].text for one in backend.asked] == prompts
    assert all(len(one.messages) == 1 for one in backend.asked)
    assert result.folder.record.datasets["parus"].study == str(study.path)
    metrics = result.datasets["parus"].metrics
    assert merilo.score_run(run).datasets["parus"].metrics == metrics
    assert metrics["acc"].value == pytest.approx(1 - 1 / len(gold))
    with pytest.raises(UsageError, match="is about PARus; leave datasets out"):
        merilo.run(backend, "bps", study=study.path, out=tmp_path / "other")
    done("study", "baseline", study.path, "--out", people, "--model", run)
    assert backend.model in (people / "report.html").read_text(encoding="utf-8")
    compared = done("compare", people, run, "--json", "-")
    assert f"{backend.model}: 1 refused; these count as wrong" in compared.err
    (score,) = {row["score"]["value"] for row in compared.json["rows"] if row["beside"] == "consensus"}
    assert score == pytest.approx(metrics["acc"].value, abs=1e-6), (
        "the comparison uses the answers of the run"
    )


def test_a_limit_keeps_the_first_items_of_the_first_dialogues() -> None:
    split = Split("test", tuple(Item(number, "", "") for number in range(6)), lengths=(3, 2, 1))
    assert limited(split, 4).lengths == (3, 1)
    assert limited(split, 3).lengths == (3,)
    assert limited(replace(split, lengths=()), 3).lengths == ()
    assert limited(split, 9) is split
