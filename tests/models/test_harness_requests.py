"""Requests in the prompts of the benchmark's harness beside lm-eval; for every dataset, `golden/` holds them as read."""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from every import every

from merilo.datasets import CATALOGUE, dataset
from merilo.errors import DataError, UsageError
from merilo.items import Item
from merilo.models.asking import ModelReply
from merilo.models.prompter import Prompter
from merilo.models.reply_answers import read_reply
from merilo.settings import RunSettings

Doc = dict[str, Any]

WORDS = ("ёж", "  мост", "«река»", "{}", "чай \n", "Ответ:", "x = {y}", "A) да", "\tсон", "100 %")


def made_docs(name: str, count: int, dice: random.Random, first: int = 1) -> list[Doc]:
    """Items in the format of the hub, with white space and braces where the data may have them."""
    fields, labels = CATALOGUE[name].fields, CATALOGUE[name].answer.labels
    docs = []
    for number in range(first, first + count):
        texts = {
            field: " ".join(dice.choices(WORDS, k=3)) + str(dice.randrange(10_000))
            for field in fields or ("inputs",)
        }
        lines = "\n".join(f"{field}: {{{field}}}" for field in texts)
        docs.append(
            {
                "instruction": f"  Вариант {dice.randrange(9)}\n{lines}" + dice.choice(["", "\n", " "]),
                "inputs": texts if fields else texts["inputs"],
                "outputs": dice.choice(labels) if labels else "река; Нева ;ручей",
                "meta": {"id": number, "domain": dice.choice("xyz")},
            }
        )
    return docs


def items(docs: list[Doc]) -> list[Item]:
    return [
        Item(doc["meta"]["id"], doc["instruction"], doc["inputs"], doc["outputs"], doc["meta"])
        for doc in docs
    ]


def prompter(name: str, tests: list[Doc], train: list[Doc], **chosen: object) -> Prompter:
    return Prompter(dataset(name), items(train), RunSettings.of(chosen), chat=False, items=items(tests))


def test_the_shots_of_an_item_do_not_depend_on_how_many_are_asked() -> None:
    dice = random.Random(2)
    tests, train = made_docs("bps", 30, dice), made_docs("bps", 9, dice, 31)
    short = prompter("bps", tests[:7], train)
    assert [short.request(item) for item in items(tests[:7])] == [
        prompter("bps", tests, train).request(item) for item in items(tests[:7])
    ]


def test_an_item_that_is_drawn_as_its_own_shot_has_none() -> None:
    tests = made_docs("ruhatespeech", 12, random.Random(3))
    asked = prompter("ruhatespeech", tests, tests)
    prompts = [asked.request(item).prompt for item in items(tests)]
    dice = random.Random(1234)
    own = [dice.sample(tests, 1) == [doc] for doc in tests]
    assert ["\n\n" not in prompt for prompt in prompts] == own
    assert any(own)


def test_a_domain_with_too_few_shots_is_named() -> None:
    tests = made_docs("rummlu", 5, random.Random(4))
    asked = prompter("rummlu", tests, made_docs("rummlu", 1, random.Random(4), 9), shots=2)
    with pytest.raises(DataError, match=r"needs 2 shots with domain '[xyz]', but there (is 1|are none) "):
        [*map(asked.request, items(tests))]


def test_another_dataset_has_no_prompts_of_the_harness() -> None:
    own = replace(dataset("bps"), name="own")
    with pytest.raises(
        UsageError, match="the benchmark's harness has no prompts for BPS: use prompts='merilo'"
    ):
        Prompter(own, [], RunSettings(prompts="harness"), chat=False)
    assert Prompter(own, [], RunSettings(shots=0), chat=False).form == "merilo"


#: Dataset -> the templates of lm-eval: of the shot with its instruction, and of the bare question.
TEMPLATES = {
    "lcs": ("{{instruction.format(inputs=inputs).strip()}}", "Строки: {{inputs}}\nОтвет:"),
    "rcb": (
        "{{instruction.format(**inputs).strip()}}\nОтвет:",
        "Ситуация: {{inputs.premise}}\nГипотеза: {{inputs.hypothesis}}\nОтвет:",
    ),
    "chegeka": (
        "{{instruction.format(**inputs).strip()}}",
        'Категория "{{inputs.topic}}"\nВопрос: {{inputs.text}}\nОтвет:',
    ),
    "mathlogicqa": (
        "{{instruction.format(**inputs).strip()}}",
        "{{'{text}\nA) {option_a}\nB) {option_b}\nC) {option_c}\nD) {option_d}\nОтвет:'.format(**inputs)}}",
    ),
}


@every("name", [*TEMPLATES])
def test_lm_eval_draws_the_same_shots_and_builds_the_same_text(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, offline: None
) -> None:
    """lm-eval's own sampler, with its default seed, and its own templates."""
    pytest.importorskip("lm_eval")
    from lm_eval.tasks import TaskManager

    dice = random.Random(6)
    tests, train = made_docs(name, 25, dice), made_docs(name, 12, dice, 26)
    for split, docs in (("train", train), ("test", tests)):
        lines = "".join(json.dumps(doc, ensure_ascii=False) + "\n" for doc in docs)
        (tmp_path / f"{split}.jsonl").write_text(lines, encoding="utf-8")
    first, bare = TEMPLATES[name]
    task = {
        "task": f"twin_{name}",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {one: str(tmp_path / f"{one}.jsonl") for one in ("train", "test")}},
        "training_split": "train",
        "test_split": "test",
        "fewshot_split": "train",
        "output_type": "generate_until",
        "doc_to_text": bare,
        "doc_to_target": "outputs",
        "fewshot_config": {"doc_to_text": first},
        "num_fewshot": 1,
    }
    (tmp_path / "twin.yaml").write_text(yaml.safe_dump(task, allow_unicode=True), encoding="utf-8")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    manager = TaskManager(include_path=str(tmp_path), include_defaults=False)
    (made_task,) = manager.load([f"twin_{name}"])["tasks"].values()
    made_task.set_fewshot_seed(1234)
    made_task.build_all_requests(limit=None, rank=0, world_size=1)
    asked = prompter(name, tests, train)
    assert [one.args[0] for one in made_task.instances] == [
        asked.request(item).prompt for item in items(tests)
    ]


REPLIES = (
    "2", " 1\n", "10", "Ответ: 1", "Из 2 вариантов верен 1", "", "-1", "нет", "Да", "Нет, да", "A", "Вариант B) да", "AB", "С", "5",
    "b", "C.", "Думаю, ДА", " 1469 ", "Пушкин\n",
)  # fmt: skip


def test_answers_are_extracted_as_lm_eval_does() -> None:
    """With lm-eval's own filter, configured as in the harness; of open answers, its release strips the beginning."""
    pytest.importorskip("lm_eval")
    from lm_eval.filters.extraction import RegexFilter

    for name in CATALOGUE:
        declared, (item,) = dataset(name), items(made_docs(name, 1, random.Random(0)))
        labels = declared.answer.labels
        if declared.answer.kind == "program":
            continue
        pattern = (
            r"(\b(Да|Нет)\b)" if name == "rwsd" else r"(\b([ABCD])\b)" if "A" in labels else r"(\b([0-9])\b)"
        )
        for text in REPLIES:
            expected_answer = text.lstrip()
            if labels:
                ((expected_answer,),) = RegexFilter(pattern, 0, "-1").apply([[text]], [{}])
            found = read_reply(declared, item, ModelReply(text=text, finish="length"), "harness")
            if not declared.answer.criteria:
                assert found.answer == expected_answer, (name, text)
            elif expected_answer in labels:
                assert found.answer == dict.fromkeys(declared.answer.criteria, expected_answer)
            else:
                assert found.answer is None
            assert (found.outcome == "answered") == (expected_answer in labels if labels else bool(text))


def test_of_equal_loglikelihoods_the_harness_takes_the_first() -> None:
    item = Item(1, "{inputs}", "( )", "1")
    for values, answer in (((-1.0, -1.0), "0"), ((-2.0, -1.0), "1")):
        reply = ModelReply(loglikelihoods=values)
        assert read_reply(dataset("bps"), item, reply, "harness").answer == answer
