"""Requests hold the prompt, the shots or the dialogue, and what ends an answer."""

from dataclasses import replace
from itertools import pairwise

import pytest
from every import every

from merilo.datasets import Answer, Dataset, Shots, dataset, names
from merilo.datasets.bundled_items import examples
from merilo.datasets.rendering import Media, render
from merilo.errors import DataError, UsageError
from merilo.items import Item
from merilo.models.prompter import Prompter, RequestSettings
from merilo.settings import RunSettings

MERILO = RunSettings(prompts="merilo")
NO_SHOTS = RunSettings(prompts="merilo", shots=0)


def asked_way(name: str, *, chat: bool = False, **chosen: object) -> RequestSettings:
    """Return how the items of a dataset are asked with these settings."""
    return RequestSettings.of(RunSettings.of({"prompts": "merilo", **chosen}), dataset(name), chat=chat)


SUM = dataset("simplear")
SOLVED = [
    Item(number, f"Сумма номер {number}: {{inputs}}\nОтвет:", f"{number} + 1 = ", str(number + 1))
    for number in range(10, 20)
]
QUESTION = Item(1, "Сколько будет {inputs}?\nОтвет:", "2 + 2 = ", "4")

PICTURES = Dataset(
    name="pictures",
    title="Pictures",
    fields=("image", "question", "option_a", "option_b"),
    media=("image",),
    answer=Answer(kind="choice", labels=("A", "B")),
    metrics=("acc",),
    shots=Shots(count=1),
)


def picture(number: int) -> Item:
    inputs = {
        "image": f"image/{number}.png",
        "question": f"What is it? {number}",
        "option_a": "cat",
        "option_b": "dog",
    }
    return Item(number, "Look.\n<image>\n{question}\nA. {option_a}\nB. {option_b}\nAnswer:", inputs, "A")


def prompt(shots: int, question: Item = QUESTION, seed: int = 0) -> str:
    return (
        Prompter(SUM, SOLVED, RunSettings(prompts="merilo", shots=shots, seed=seed), chat=False)
        .request(question)
        .prompt
    )


def test_a_larger_number_of_shots_begins_with_the_same_ones() -> None:
    blocks = [prompt(shots).split("\n\n")[:-1] for shots in range(1, 6)]
    for fewer, more in pairwise(blocks):
        assert more[: len(fewer)] == fewer


def test_the_same_seed_chooses_the_same_shots_and_another_seed_others() -> None:
    assert prompt(3) == prompt(3)
    assert len({prompt(3, seed=seed) for seed in range(20)}) > 10


def test_the_shots_of_a_dataset_are_spread_over_its_items() -> None:
    first = {prompt(1, replace(QUESTION, id=number)).split("\n")[0] for number in range(200)}
    assert len(first) == len(SOLVED)


def test_no_shot_is_the_item_itself_even_under_another_id() -> None:
    asked = Prompter(SUM, SOLVED, RunSettings(prompts="merilo", shots=9), chat=False)
    for item in SOLVED:
        twin = replace(item, id=f"copy of {item.id}")
        assert asked.request(twin).prompt.count(str(item.inputs)) == 1


@every("name", names())
def test_a_text_as_people_saw_it_is_the_rendered_prompt(name: str) -> None:
    declared = dataset(name)
    asked = Prompter(declared, [], RunSettings(as_people=True), chat=True)
    for item in examples(declared)["test"]:
        assert asked.request(item).messages[0].text == asked.request(item).prompt == render(item, declared)


def test_programs_are_sampled_with_a_seed_for_each_sample_and_answers_are_greedy() -> None:
    programs = Prompter(dataset("ruhumaneval"), [], MERILO, chat=False)
    item = examples(dataset("ruhumaneval"))["test"].items[0]
    requests = [programs.request(item, sample) for sample in (1, 2, 3)]
    assert {request.temperature for request in requests} == {0.6}
    assert len({request.seed for request in requests}) == len({request.sha256 for request in requests}) == 3
    greedy = Prompter(SUM, [], NO_SHOTS, chat=False).request(QUESTION)
    assert (greedy.temperature, greedy.seed) == (0.0, None)
    assert asked_way("ruhumaneval").samples == 10
    assert asked_way("simplear").samples == 1


def test_runs_of_neighbouring_seeds_share_no_sample() -> None:
    ways = [asked_way("ruhumaneval", seed=seed) for seed in range(5)]
    seeds = [way.seed_of(sample) for way in ways for sample in range(1, 11)]
    assert len(set(seeds)) == 50


def test_the_dataset_ends_a_continued_answer_and_a_chat_model_ends_its_own() -> None:
    assert asked_way("use").stop == ("\n", ".")
    assert asked_way("use", chat=True).stop == ()
    assert asked_way("use", chat=True, stop=("END",)).stop == ("END",)
    assert asked_way("use", stop=()).stop == ()


def test_pictures_stay_pictures_in_shots_and_question() -> None:
    request = Prompter(PICTURES, [picture(2)], MERILO, chat=True).request(picture(1))
    (message,) = request.messages
    assert [part for part in message.parts if isinstance(part, Media)] == [
        Media("image", "image/2.png"),
        Media("image", "image/1.png"),
    ]
    assert message.text.endswith("Answer: A\n\n<image>\nWhat is it? 1\nA. cat\nB. dog\nAnswer:")


def test_requests_that_show_different_pictures_differ() -> None:
    asked = Prompter(PICTURES, [], RunSettings(prompts="merilo", shots=0), chat=True)
    item = picture(1)
    assert isinstance(item.inputs, dict)
    other = replace(item, inputs={**item.inputs, "image": "image/9.png"})
    assert asked.request(item).messages[0].text == asked.request(other).messages[0].text
    assert asked.request(item).sha256 != asked.request(other).sha256


class TestDialogue:
    declared = dataset("rutie")
    turns = examples(dataset("rutie"))["test"].items

    def asked(self, **settings: object) -> Prompter:
        return Prompter(self.declared, [], RunSettings(prompts="merilo", **settings), chat=True)  # type: ignore[arg-type]

    def test_the_template_may_say_where_the_earlier_turns_stand(self) -> None:
        first, second = self.turns[:2]
        second = replace(
            second, instruction="Беседа:\n{context}\nТеперь: {question} {choice1} {choice2}\nОтвет:"
        )
        text = self.asked().request(second, earlier=[(first, "1")]).prompt
        assert text.startswith("Беседа:\nВопрос: Привет!")
        assert "Ответ: 1\nТеперь: А у паука" in text
        assert self.asked().request(second).prompt.startswith("Беседа:\n\nТеперь:")

    def test_other_datasets_have_no_earlier_turns(self) -> None:
        with pytest.raises(UsageError, match="SimpleAr has no dialogues"):
            Prompter(SUM, [], NO_SHOTS, chat=True).request(QUESTION, earlier=[(QUESTION, "4")])


MMLU = examples(dataset("rummlu"))
FIRST = MMLU["test"].items[0]


@every(
    ("name", "shots", "asked", "item", "message"),
    [
        ("simplear", [replace(SOLVED[0], outputs=None)], 1, QUESTION, "item 10 .* as a shot, but has no gold answer"),
        ("simplear", SOLVED[:2], 3, QUESTION, "item 1 of SimpleAr needs 3 shots, but there are 2 besides the item"),
        ("simplear", [], None, QUESTION, "SimpleAr is asked with 2 shots an item, but its data has no solved"),
        ("rummlu", [one for one in MMLU["shots"] if one.meta["domain"] != "astronomy"], None, FIRST,
         "needs 1 shot with domain 'astronomy', but there are none"),
        ("rummlu", MMLU["shots"].items, None, replace(FIRST, meta={"id": 1}),
         r"meta\.domain: item 1 of ruMMLU has no domain"),
    ],
)  # fmt: skip
def test_shots_that_are_missing_are_named(
    name: str, shots: list[Item], asked: int | None, item: Item, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        Prompter(dataset(name), shots, RunSettings(prompts="merilo", shots=asked), chat=False).request(item)


@every(
    ("name", "chosen", "message"),
    [
        (
            "rumodar",
            {"shots": 1},
            "ruModAr has no shots, so it cannot be asked with 1 shot an item.*use shots=0",
        ),
        ("simplear", {"mode": "loglikelihood", "shots": 0}, "the answers of SimpleAr are open"),
        (
            "simplear",
            {"samples": 5, "shots": 0},
            "5 answers to an item of SimpleAr would be equal at temperature 0",
        ),
        ("ruethics", {"shots": 1}, "has no shots: "),
        ("ruhumaneval", {"shots": 1}, "has no shots: "),
        ("rucodeeval", {"shots": 1}, "has no shots: "),
    ],
)
def test_settings_that_do_not_fit_a_dataset(name: str, chosen: dict[str, object], message: str) -> None:
    shots = [] if name == "rumodar" else SOLVED
    with pytest.raises(UsageError, match=message):
        Prompter(dataset(name), shots, RunSettings.of({"prompts": "merilo", **chosen}), chat=False)


def test_several_answers_need_a_temperature() -> None:
    assert asked_way("simplear", temperature=0.7, samples=5).samples == 5
    assert asked_way("ruhumaneval", temperature=0.0).samples == 1
