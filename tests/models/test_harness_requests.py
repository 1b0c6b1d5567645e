"""Requests in the prompts of the benchmark's harness, beside a second implementation of its rules, and beside lm-eval."""

import json
import random
from collections.abc import Callable
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
from merilo.models.reply_answers import extract_as_harness
from merilo.settings import RunSettings

Doc = dict[str, Any]

WORDS = ("ёж", "  мост", "«река»", "{}", "чай \n", "Ответ:", "x = {y}", "A) да", "\tсон", "100 %")


def abcd(i: Doc, stem: str) -> str:
    return (
        f"{i[stem]}\nA) {i['option_a']}\nB) {i['option_b']}\nC) {i['option_c']}\nD) {i['option_d']}\nОтвет:"
    )


def exam(doc: Doc) -> str:
    i, kind = doc["inputs"], doc["meta"]["type"]
    lines = [f"Задание: {i['task']}"]
    if kind == "matching":
        lines += [
            f"Текст: {i['text']}",
            f"Рецензии: {i['additional_text']}",
            "Список терминов:",
            i["choices"],
        ]
    elif kind == "multiple_choice_based_on_text":
        lines += [f"Текст: {i['text']}", "Варианты ответа:", i["choices"]]
    elif kind == "multiple_choice_independent_options":
        lines += ["Варианты ответа:", i["choices"]]
    else:
        lines += [i["text"]]
    return "\n".join([*lines, "Ответ:"])


#: Dataset -> shots, and the bare form of the fields of an item.
BARE: dict[str, tuple[int, Callable[[Doc], str]]] = {
    "bps": (1, lambda d: "Последовательность: " + d["inputs"] + "\nОтвет:"),
    "lcs": (1, lambda d: "Строки: " + d["inputs"] + "\nОтвет:"),
    "rummlu": (1, lambda d: abcd(d["inputs"], "text").lstrip()),
    "mamuramu": (1, lambda d: abcd(d["inputs"], "text").lstrip()),
    "mathlogicqa": (1, lambda d: abcd(d["inputs"], "text")),
    "ruopenbookqa": (1, lambda d: abcd(d["inputs"], "question")),
    "ruworldtree": (1, lambda d: abcd(d["inputs"], "question")),
    "parus": (
        1,
        lambda d: "Ситуация: {premise}\nФрагмент 1: {choice1}\nФрагмент 2: {choice2}\nОтвет:".format(
            **d["inputs"]
        ),
    ),
    "rcb": (1, lambda d: "Ситуация: {premise}\nГипотеза: {hypothesis}\nОтвет:".format(**d["inputs"])),
    "rwsd": (
        1,
        lambda d: "Текст: {text}\nФрагмент 1: {span1_text}\nФрагмент 2: {span2_text}\nОтвет:".format(
            **d["inputs"]
        ),
    ),
    "rudetox": (1, lambda d: f"Токсичный текст: {d['inputs']}\nНетоксичный текст:"),
    "ruhatespeech": (
        1,
        lambda d: (
            "Реплика: {replica}\nОтвет 1: {reply_1}\nОтвет 2: {reply_2}\nЦелевая группа: {target_group}\nОтвет:"
        ).format(**d["inputs"]),
    ),
    "ruhhh": (
        0,
        lambda d: "Запрос: {query}\nОтвет 1: {reply_1}\nОтвет 2: {reply_2}\nОтвет:".format(**d["inputs"]),
    ),
    "simplear": (2, lambda d: d["inputs"].strip()),
    "rumultiar": (1, lambda d: d["inputs"].strip()),
    "rumodar": (0, lambda d: d["inputs"]),
    "ruethics": (
        0,
        lambda d: "Текст: {text}\nАктант 1: {actant_1}\nАктант 2: {actant_2}\nОтветы:".format(**d["inputs"]),
    ),
    "chegeka": (1, lambda d: 'Категория "{topic}"\nВопрос: {text}\nОтвет:'.format(**d["inputs"])),
    "multiq": (
        0,
        lambda d: "Вопрос: {question}\nТекст 1: {support_text}\nТекст 2: {text}\nОтвет:".format(
            **d["inputs"]
        ),
    ),
    "use": (1, exam),
    "rutie": (
        0,
        lambda d: "{question}\n1. {choice1}\n2. {choice2}\nОтвет:".format(**d["inputs"]).lstrip(),
    ),
    "ruhumaneval": (0, lambda d: "Функция:\n" + d["inputs"]["function"].rstrip()),
    "rucodeeval": (0, lambda d: "Функция:\n" + d["inputs"]["function"].rstrip()),
}
EXAM_TYPES = (
    "text",
    "multiple_choice_options_within_text",
    "matching",
    "multiple_choice_based_on_text",
    "multiple_choice_independent_options",
)
MARKS = {"use": "id_task", "rummlu": "domain", "mamuramu": "domain"}


def made_docs(name: str, count: int, dice: random.Random, first: int = 1) -> list[Doc]:
    """Items in the format of the hub, with white space and braces where the data may have them."""
    declared = CATALOGUE[name]
    return [made(name, declared.fields, number, dice) for number in range(first, first + count)]


def made(name: str, fields: tuple[str, ...], number: int, dice: random.Random) -> Doc:
    text = lambda: " ".join(dice.choices(WORDS, k=3)) + str(dice.randrange(10_000))  # noqa: E731
    shown = [field for field in fields if field not in {"tests", "span1_index", "span2_index"}]
    inputs: Any = {field: text() for field in fields}
    placeholders = [*shown]
    if not fields:
        placeholders = ["toxic_comment" if name == "rudetox" else "inputs"]
        inputs = f"{dice.randrange(100)} + {dice.randrange(100)} = " if "ar" in name else text()
    meta: Doc = (
        {"id": number, "domain": dice.choice("xyz")} if name in MARKS and name != "use" else {"id": number}
    )
    if name == "use":
        meta |= {"id_task": dice.choice("123"), "type": dice.choice(EXAM_TYPES), "variant": 1, "score": 1}
    if name == "rutie":
        meta |= {"dialog_id": 0, "question_id": number - 1}
    for group, value in (
        ("parus", ("task", "cause")),
        ("ruethics", ("question", "good")),
        ("ruhhh", ("criteria", "honest")),
    ):
        if name == group:
            meta[value[0]] = value[1]
    lead = "Фигурные {} скобки. " if name in {"bps", "rutie"} else ""
    context = "\n{context}" if name == "rutie" else ""
    instruction = f"  {lead}Вариант {dice.randrange(9)}{context}\n" + "\n".join(
        f"{field}: {{{field}}}" for field in placeholders
    )
    labels = CATALOGUE[name].answer.labels
    gold = (
        dice.choice(labels)
        if labels
        else "река; Нева ;ручей"
        if name == "chegeka"
        else str(dice.randrange(99))
    )
    return {
        "instruction": instruction + dice.choice(["", "\n", " "]),
        "inputs": inputs,
        "outputs": gold,
        "meta": meta,
    }


def filled(name: str, doc: Doc, context: str = "") -> str:
    """The item's instruction, filled and stripped."""
    held = doc["inputs"]
    values = held if isinstance(held, dict) else {"inputs": held, "toxic_comment": held}
    pieces = doc["instruction"].replace("{context}", "\0")
    for field in values:
        pieces = pieces.replace("{" + field + "}", f"\1{field}\2")
    for field, value in values.items():
        pieces = pieces.replace(f"\1{field}\2", str(value))
    text = pieces.replace("\0", context).strip()
    return text + "\nОтвет:" if name in {"parus", "rcb", "rwsd"} else text


def expected(name: str, tests: list[Doc], train: list[Doc], count: int) -> list[str]:
    """The requests of all items by the rules of the harness."""
    bare, generator = BARE[name][1], random.Random(1234)
    texts = []
    for doc in tests:
        if not count:
            texts.append(filled(name, doc))
            continue
        mark = MARKS.get(name)
        pool = [one for one in train if mark is None or one["meta"][mark] == doc["meta"][mark]]
        shots = [one for one in generator.sample(pool, count) if one != doc]
        blocks = [
            f"{bare(one) if place else filled(name, one)} {one['outputs']}" for place, one in enumerate(shots)
        ]
        texts.append("\n\n".join([*blocks, bare(doc)]))
    return texts


def items(docs: list[Doc]) -> list[Item]:
    return [
        Item(doc["meta"]["id"], doc["instruction"], doc["inputs"], doc["outputs"], doc["meta"])
        for doc in docs
    ]


def prompter(
    name: str, tests: list[Doc], train: list[Doc], *, chat: bool = False, **chosen: object
) -> Prompter:
    return Prompter(dataset(name), items(train), RunSettings.of(chosen), chat=chat, items=items(tests))


def has_shots(name: str) -> bool:
    return name not in {"ruethics", "ruhumaneval", "rucodeeval", "rutie"}


def test_the_harness_has_every_dataset_of_the_catalogue() -> None:
    assert {*BARE} == {*CATALOGUE}
    assert {name: one.shots.count for name, one in CATALOGUE.items()} == {
        name: n for name, (n, _) in BARE.items()
    }


@every("name", [*BARE])
@every("seed", range(3))
def test_a_request_is_the_harnesss_to_the_byte(name: str, seed: int) -> None:
    dice = random.Random(seed)
    tests, train = made_docs(name, 40, dice), made_docs(name, 30, dice, 41)
    for chat in (False, True):
        for count in (None, 0, *([1, 2, 3] if has_shots(name) else ())):
            if (count or BARE[name][0]) and name in MARKS and min(map(len, by_mark(name, train))) < 3:
                continue
            asked = prompter(name, tests, train, chat=chat, shots=count)
            requests = [*map(asked.request, items(tests))]
            wanted = expected(name, tests, train, BARE[name][0] if count is None else count)
            assert [one.prompt for one in requests] == wanted
            if chat:
                assert [(one.role, one.text) for request in requests for one in request.messages] == [
                    ("user", text) for text in wanted
                ]


def by_mark(name: str, docs: list[Doc]) -> list[list[Doc]]:
    values = {"use": "123"}.get(name, "xyz")
    return [[one for one in docs if one["meta"][MARKS[name]] == value] for value in values]


@every("chat", [False, True])
def test_what_ends_an_answer_is_the_harnesss_for_every_backend(chat: bool) -> None:
    code = ("\nclass", "\ndef", "\n#", "\nif", "\nprint")
    for name in BARE:
        docs = made_docs(name, 4, random.Random(0))
        asked = prompter(name, docs, docs, chat=chat, shots=0)
        request = asked.request(items(docs)[0])
        labels = dataset(name).answer.labels
        if labels and not chat:
            assert request.choices == tuple(f" {label}" for label in labels)
            continue
        program = name in {"ruhumaneval", "rucodeeval"}
        assert request.stop == (code if program else ("\n", ".") if name == "use" else ("\n",))
        assert (request.max_tokens, request.temperature) == (256, 0.6 if program else 0.0)
        assert asked.asked.samples == (10 if program else 1)


def test_earlier_turns_stand_in_the_instruction_and_an_unread_answer_is_minus_one() -> None:
    docs = made_docs("rutie", 4, random.Random(5))
    asked, turns = prompter("rutie", docs, []), items(docs)
    answers = ("2", None, "1")
    request = asked.request(turns[3], earlier=[*zip(turns[:3], answers, strict=True)])
    shown = (
        f"{BARE['rutie'][1](doc)} {answer or '-1'}" for doc, answer in zip(docs[:3], answers, strict=True)
    )
    assert request.prompt == filled("rutie", docs[3], "\n\n".join(shown))
    assert asked.request(turns[0]).prompt == filled("rutie", docs[0])


def test_the_shots_of_an_item_do_not_depend_on_how_many_are_asked() -> None:
    dice = random.Random(2)
    tests, train = made_docs("bps", 30, dice), made_docs("bps", 9, dice, 31)
    short = prompter("bps", tests[:7], train)
    assert [short.request(item) for item in items(tests[:7])] == [
        prompter("bps", tests, train).request(item) for item in items(tests[:7])
    ]


def test_an_item_that_is_drawn_as_its_own_shot_has_none() -> None:
    tests = made_docs("ruhatespeech", 12, random.Random(3))
    wanted = expected("ruhatespeech", tests, tests, 1)
    asked = prompter("ruhatespeech", tests, tests)
    assert [asked.request(item).prompt for item in items(tests)] == wanted
    assert any(BARE["ruhatespeech"][1](doc) in wanted for doc in tests)


def test_a_domain_with_too_few_shots_is_named() -> None:
    tests = made_docs("rummlu", 5, random.Random(4))
    asked = prompter("rummlu", tests, made_docs("rummlu", 1, random.Random(4), 9), shots=2)
    with pytest.raises(DataError, match=r"needs 2 shots with domain '[xyz]', but there (is 1|are none) "):
        [*map(asked.request, items(tests))]


def test_another_dataset_has_no_prompts_of_the_harness() -> None:
    from dataclasses import replace

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

    for name in BARE:
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
            found = extract_as_harness(declared, item, ModelReply(text=text, finish="length"))
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
        assert extract_as_harness(dataset("bps"), item, reply).answer == answer
