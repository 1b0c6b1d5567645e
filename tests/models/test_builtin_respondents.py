"""Built-in respondents answer by a rule; `gold` gets full marks, so that a scorer can be tested."""

import asyncio

import pytest
from every import every

from merilo.datasets import dataset, names
from merilo.datasets.bundled_items import examples
from merilo.datasets.generators import generate_splits
from merilo.errors import DataError, UsageError
from merilo.items import Item
from merilo.metrics.answers import read_answer
from merilo.metrics.scoring import score
from merilo.models.builtin_respondents import BuiltinRespondent, RespondentMaterial
from merilo.models.prompter import Prompter
from merilo.models.reply_answers import read_reply
from merilo.sandbox.extraction import Stub
from merilo.sandbox.extraction import extract as extract_program
from merilo.settings import RunSettings
from merilo.strict_json import Json


def material(name: str) -> RespondentMaterial:
    splits = examples(dataset(name))
    return RespondentMaterial(dataset(name), splits["test"].items, splits["shots"].items)


def answers(rule: str, known: RespondentMaterial, *, chat: bool = True, seed: int = 0) -> dict[object, Json]:
    """What a rule answers, by item, read as a model's replies are."""
    asked = Prompter(known.declared, [], RunSettings(shots=0), chat=chat)
    requests = [asked.request(item) for item in known.items]
    respondent = BuiltinRespondent(rule, [known], seed=seed)
    replies = asyncio.run(respondent.ask(requests))
    return {
        item.id: read_reply(known.declared, item, reply).answer
        for item, request, reply in zip(known.items, requests, replies, strict=True)
    }


#: Datasets whose answers are scored without a sandbox and without classifiers.
PLAIN = [name for name in names() if dataset(name).answer.kind != "program" and not dataset(name).rated]


@every("name", PLAIN)
def test_gold_gets_full_marks(name: str) -> None:
    known = material(name)
    given = {
        id_: read_answer(known.declared.answer, answer) for id_, answer in answers("gold", known).items()
    }
    found = score(known.declared, known.items, given).all()  # type: ignore[arg-type]
    assert found
    assert {name: each.value for name, each in found.items()} == pytest.approx(dict.fromkeys(found, 1.0))


def test_the_gold_answer_of_a_problem_is_its_canonical_solution() -> None:
    known = material("ruhumaneval")
    for item, answer in zip(known.items, answers("gold", known).values(), strict=True):
        assert isinstance(item.inputs, dict)
        stub = Stub.read(str(item.inputs["function"]), str(item.meta["entry_point"]))
        assert stub is not None
        assert extract_program(str(answer), stub).source.endswith(str(item.meta["canonical_solution"]))


def test_random_answers_are_near_chance_and_repeat_with_the_seed() -> None:
    test = next(split for split in generate_splits("bps", 400, 1) if split.name == "test")
    known = RespondentMaterial(dataset("bps"), test.items)
    given = answers("random", known)
    accuracy = score(dataset("bps"), test.items, given).main["acc"]  # type: ignore[arg-type]
    assert 0.4 < accuracy.value < 0.6
    assert given == answers("random", known)
    assert given != answers("random", known, seed=1)


@every("name", [name for name in names() if name not in {"ruhumaneval", "rucodeeval"}])
def test_random_and_most_frequent_answers_are_of_the_datasets_kind(name: str) -> None:
    for rule in ("random", "most-frequent"):
        assert None not in answers(rule, material(name)).values()


def test_random_answers_to_an_exam_are_among_its_options() -> None:
    known = material("use")
    for item, answer in zip(known.items, answers("random", known).values(), strict=True):
        if item.meta["type"] == "multiple_choice_based_on_text" and isinstance(item.inputs, dict):
            assert all(f"{number}) " in str(item.inputs["choices"]) for number in str(answer).split(","))


def test_the_most_frequent_answer_is_that_of_the_shots_of_the_domain() -> None:
    declared = dataset("rummlu")
    shots = [
        Item(number, "", {"text": str(number)}, gold, {"domain": domain})
        for number, (gold, domain) in enumerate(
            [("A", "law"), ("A", "law"), ("B", "law"), ("D", "art"), ("B", "law"), ("A", "law")]
        )
    ]
    inputs = dict.fromkeys(declared.fields, "x")
    items = [
        Item(number, "{text}", inputs, "C", {"domain": domain})
        for number, domain in enumerate(["law", "art", "music"])
    ]
    assert list(answers("most-frequent", RespondentMaterial(declared, items, shots)).values()) == [
        "A",
        "D",
        "A",
    ]


def test_the_longest_option_is_chosen_and_of_equals_the_first() -> None:
    declared = dataset("parus")
    items = [
        Item(number, "{premise}", {"premise": "p", "choice1": one, "choice2": two}, "1", {"task": "cause"})
        for number, (one, two) in enumerate([("short", "longer one"), ("same", "size")])
    ]
    assert list(answers("longest", RespondentMaterial(declared, items)).values()) == ["2", "1"]


NO_GOLD = RespondentMaterial(dataset("bps"), [Item(1, "{inputs}", "( )")])
NO_PROGRAM = Item(1, "{function}", {"function": "def f():", "tests": "[]"}, ["1"], {"entry_point": "f"})


@every(
    ("rule", "known", "message"),
    [
        ("most-frequnt", NO_GOLD, "no built-in respondent 'most-frequnt': did you mean most-frequent"),
        (
            "longest",
            material("bps"),
            "'longest' answers questions whose options are fields, and BPS has none",
        ),
        ("most-frequent", NO_GOLD, "BPS has no gold answers, neither of shots nor of items"),
        ("gold", NO_GOLD, "item 1 of BPS has no gold answer, so 'gold' cannot answer it"),
        (
            "gold",
            RespondentMaterial(dataset("ruhumaneval"), [NO_PROGRAM]),
            "item 1 of ruHumanEval has no canonical_solution in its meta",
        ),
    ],
)
def test_a_rule_that_cannot_answer_says_so(rule: str, known: RespondentMaterial, message: str) -> None:
    with pytest.raises(DataError if rule == "gold" else UsageError, match=message):
        answers(rule, known)
