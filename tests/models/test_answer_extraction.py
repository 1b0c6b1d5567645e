"""An answer is taken from a reply by a named rule, or there is none; no rule guesses."""

import polars as pl
from every import every
from hypothesis import given
from hypothesis import strategies as st

from merilo.datasets import Answer, Dataset, dataset
from merilo.datasets.bundled_items import examples
from merilo.items import Item
from merilo.models.asking import ModelReply
from merilo.models.reply_answers import OUTCOMES, names_in_russian, read_reply
from merilo.models.reply_reader import Form, read

BPS = dataset("bps")
BALANCED = Item(1, "{inputs}", "( )", "1")


@every(
    ("values", "answer", "rule"),
    [
        ((-2.0, -1.0), "1", "greatest log-likelihood"),
        ((-1.0, -2.0), "0", "greatest log-likelihood"),
        ((float("-inf"), -700.0), "1", "greatest log-likelihood"),
        ((-1.0, -1.0), None, "equal log-likelihoods"),
        ((float("-inf"), float("-inf")), None, "equal log-likelihoods"),
        ((float("nan"), -1.0), None, "log-likelihoods are missing"),
        ((-1.0,), None, "log-likelihoods are missing"),
    ],
)
def test_the_most_likely_label_is_the_answer(
    values: tuple[float, ...], answer: str | None, rule: str
) -> None:
    found = read_reply(BPS, BALANCED, ModelReply(loglikelihoods=values))
    assert (found.answer, found.rule) == (answer, rule)
    assert found.outcome == ("unreadable" if answer is None else "answered")


def test_one_label_answers_all_criteria() -> None:
    declared = dataset("ruethics")
    item = examples(declared)["test"].items[0]
    found = read_reply(declared, item, ModelReply(loglikelihoods=(-2.0, -1.0)))
    assert found.answer == dict.fromkeys(declared.answer.criteria, "1")


@every(
    ("reply", "rule"),
    [
        ("1", "last line"),
        ('{"answer": 1}', "JSON"),
        ("so \\boxed{1}", "box"),
        ("<answer>1</answer>", "tag"),
        ("Pairs match.\n#### 1", "####"),
        ("Пары верны, ответ: 1", "answer statement"),
        ("1\nПары верны.", "first line"),
        ("1 — пары верны", "beginning"),
        ("Я выбираю 1, потому что пары вложены", "chosen"),
        ("Пары верно вложены.\n1", "last line"),
        ("Пары верны, значит, 1", "conclusion"),
        ("0 и 1", "several answers"),
        ("Пары верны.", "no answer"),
        ("Ответ: 0 или 1", "several answers"),
        ("Я не знаю.", "refusal"),
    ],
)
def test_every_rule_is_named(reply: str, rule: str) -> None:
    assert read_reply(BPS, BALANCED, ModelReply(text=reply)).rule == rule


RIVERS = Item(
    1,
    "{text}",
    {"text": "Какая река впадает в Каспийское море?", "option_a": "Волга", "option_b": "Днепр", "option_c": "Обь", "option_d": "Амур"},
    meta={"domain": "geography"},
)  # fmt: skip
BRIDGE = Item(
    1,
    "{question}",
    {
        "question": "Кто был учеником инженера, построившего мост?",
        "support_text": "Мост через Тихую построил инженер Савин в 1931 году.",
        "text": "Савин учил Олега Рубцова; Рубцов преподавал в Томском политехническом институте.",
    },
)
SUM = Item(1, "{inputs}", "663 + 806 = ")
RUDE = Item(1, "{inputs}", "Заткнись уже, достал своими советами!")


@every(
    ("name", "item", "reply"),
    [
        *(
            ("rummlu", RIVERS, reply)
            for reply in (
                "Answer: N/A",
                "Final answer: A thorough look at the map is needed.",
                "Ответ: А это зависит от того, как считать.",
                "Ответ: A и C",
                "Ответ: A. Днепр",
                "Самая длинная из них — A, но вопрос не о длине.",
                "Вероятность A — 0,9; B — 0,05; C — 0,03; D — 0,02.",
                "Вряд ли это Днепр.",
                "A common mistake is to pick B.",
            )
        ),
        ("simplear", SUM, "The sum is 10.125"),
        ("simplear", SUM, "There are 3 numbers here."),
        ("simplear", SUM, "Answer: N/A"),
        ("multiq", BRIDGE, "В тексте об этом ничего не сказано, хотя мост построил Савин."),
        ("multiq", BRIDGE, "Савин → Олег Рубцов"),
        ("rudetox", RUDE, "Пожалуйста, хватит советов.\n\nИли:\n\nСпасибо, советов достаточно."),
    ],
)
def test_nothing_is_taken_from_a_reply_that_states_no_answer(name: str, item: Item, reply: str) -> None:
    found = read_reply(dataset(name), item, ModelReply(text=reply))
    assert (found.outcome, found.answer) == ("unreadable", None), found


@every(
    ("name", "item", "reply", "answer"),
    [
        ("rummlu", RIVERS, "Ответ: B\n\nПроверим ещё раз.\n\nПравильный ответ: A", "A"),
        ("rummlu", RIVERS, "Ответ: B\n\nВолга длиннее.\n\nИтоговый ответ: A", "A"),
        ("rummlu", RIVERS, "Ответ: В.", "B"),  # Cyrillic
        ("rummlu", RIVERS, "The answer is **(A) Волга**, which flows into the Caspian Sea.", "A"),
        ("rummlu", RIVERS, "Answer: $\\text{A}$", "A"),
        ("rummlu", RIVERS, "Волга", "A"),
        ("rummlu", RIVERS, "A, because B flows elsewhere.", "A"),
        ("rummlu", RIVERS, "A — a river of the plain, unlike C and D.", "A"),
        ("simplear", SUM, "663 + 806 = 1,469", "1469"),
        ("simplear", SUM, "Answer: $1 469.00", "1469"),
        ("simplear", SUM, "Ответ: −5", "-5"),
        ("multiq", BRIDGE, "Ответ: Олег Рубцов.", "Олег Рубцов"),
        ("multiq", BRIDGE, "Мост построил Савин, а его учеником был **Олег Рубцов**.", "Олег Рубцов"),
        ("rudetox", RUDE, "Вежливый вариант: Спасибо, советов достаточно.", "Спасибо, советов достаточно."),
    ],
)
def test_the_last_statement_is_the_answer(name: str, item: Item, reply: str, answer: str) -> None:
    assert read_reply(dataset(name), item, ModelReply(text=reply)).answer == answer


@every(
    ("reply", "answer"),
    [
        ("Two and two make four. Four is the second option. Answer: b", "b"),
        ("Four is the second option. Answer: **B)**", "b"),
        ("I'd choose b, a sum.", "b"),
        ("Ответ: В", "b"),  # Cyrillic
        ("Ответ: b, а не c", "b"),
        ("Answer: b or a", None),
        ("A thorough look, e.g. at a table, is needed.", None),
    ],
)
def test_small_letters_are_labels_too(reply: str, answer: str | None) -> None:
    assert read(reply, Form("label", ("a", "b", "c", "e"))).value == answer


def test_russian_letters_stand_for_small_labels_too() -> None:
    answer = Answer(kind="choice", labels=("a", "b", "c"))
    own = Dataset(name="own", title="Own", about="", fields=("question",), answer=answer, metrics=("acc",))
    assert names_in_russian(own, pl.DataFrame({"text": ["Ответ: В", "Ответ: Б"]}))


@every(
    ("reply", "answer"),
    [
        ("Ответ: 1\n\nПары вложены, потому что", "1"),
        ("Пары вложены, ответ: 1", None),
        ("Скобка 1 открыта", None),
    ],
)
def test_of_a_reply_that_was_cut_off_only_a_stated_answer_counts(reply: str, answer: str | None) -> None:
    found = read_reply(BPS, BALANCED, ModelReply(text=reply, finish="length"))
    assert found.answer == answer
    assert found.outcome == ("truncated" if answer is None else "answered")


@given(
    st.text(max_size=300), st.sampled_from(["bps", "rummlu", "rwsd", "simplear", "use", "chegeka", "rudetox"])
)
def test_any_text_has_an_outcome_and_a_rule(text: str, name: str) -> None:
    declared = dataset(name)
    item = examples(declared)["test"].items[0]
    found = read_reply(declared, item, ModelReply(text=text))
    assert found.outcome in OUTCOMES
    assert found.rule
    assert (found.answer is not None) == (found.outcome == "answered")
    if found.answer is not None and declared.answer.labels:
        assert found.answer in declared.answer.labels


WORDS = st.sampled_from(
    [
        "\n",
        *[
            "A",
            "B",
            "C",
            "А",
            "или",
            "ответ:",
            "Ответ",
            "—",
            "**",
            "не",
            "верен",
            ")",
            ".",
            "вариант",
            "{",
            "}",
            "=",
            "1",
        ],
    ]
)


@given(st.lists(WORDS, max_size=12).map(" ".join))
def test_an_answer_of_letters_is_one_that_the_text_names(text: str) -> None:
    declared = dataset("rummlu")
    item = examples(declared)["test"].items[0]
    found = read_reply(declared, item, ModelReply(text=text))
    assert found.answer is None or str(found.answer) in text.replace("А", "A")


SENTENCE = "Рассмотрим варианты: A дальше от Солнца, B ещё дальше, а C ближе. "
HOSTILE = [
    "Ответ: ", "**a**", "A, ", "A) x\n", "(", "{}", "\\boxed{", "1 = ", "А-1, Б-2, ", "<think>", "```\n", "ответ на a ", "\n",
    SENTENCE, "A и ", "не A ", "1, ", "1+", "1=1=", "нет, ", "два ", '"a', "✅ ", " ", "! ", "→ ", "вариант 1: ",
]  # fmt: skip


@every("unit", HOSTILE)
def test_the_time_of_reading_grows_in_proportion_to_the_text(unit: str) -> None:
    """The number of steps of the readers is bounded by the length; a quadratic reader would not come to an end here."""
    for name in ("rummlu", "simplear", "use", "chegeka"):
        declared = dataset(name)
        item = examples(declared)["test"].items[0]
        text = unit * (8_000 // len(unit)) + "x"
        found = read_reply(declared, item, ModelReply(text=text))
        assert found.outcome in OUTCOMES
