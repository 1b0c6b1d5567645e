"""An answer is taken from a reply by a named rule, or there is none; no rule guesses."""

from every import every
from hypothesis import given
from hypothesis import strategies as st
from reply_corpus import CORPUS, Case

from merilo.datasets import dataset
from merilo.datasets.ready_items import examples
from merilo.items import Item
from merilo.models.answer_extraction import OUTCOMES, extract
from merilo.models.asking import ModelReply, Request


@every("case", CORPUS, ids=lambda case: f"{case.dataset}-{case.reply[:40]!r}-{case.finish}")
def test_the_corpus_is_read_as_a_careful_reader_would(case: Case) -> None:
    declared = dataset(case.dataset)
    item = examples(declared)["test"].items[case.item - 1]
    found = extract(
        declared,
        item,
        Request(case.dataset, item.id, 1, (), ""),
        ModelReply(text=case.reply, finish=case.finish),
    )
    assert (found.outcome, found.answer) == (case.outcome, case.answer), found


BPS = dataset("bps")
BALANCED = Item(1, "{inputs}", "( )", "1")
COMPARED = Request("bps", 1, 1, (), "( )", choices=(" 0", " 1"))
GENERATED = Request("bps", 1, 1, (), "( )")


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
        ((), None, "log-likelihoods are missing"),
    ],
)
def test_the_most_likely_label_is_the_answer(
    values: tuple[float, ...], answer: str | None, rule: str
) -> None:
    found = extract(BPS, BALANCED, COMPARED, ModelReply(loglikelihoods=values))
    assert (found.answer, found.rule) == (answer, rule)
    assert found.outcome == ("unreadable" if answer is None else "answered")


def test_one_label_answers_all_criteria() -> None:
    declared = dataset("ruethics")
    item = examples(declared)["test"].items[0]
    request = Request("ruethics", item.id, 1, (), "", choices=(" 0", " 1"))
    found = extract(declared, item, request, ModelReply(loglikelihoods=(-2.0, -1.0)))
    assert found.answer == dict.fromkeys(declared.answer.criteria, "1")


@every("value", [None, 5, {"answer": "1"}, ["1"]])
def test_an_answer_that_is_not_a_text_is_unreadable(value: object) -> None:
    found = extract(BPS, BALANCED, GENERATED, ModelReply(text=value))  # type: ignore[arg-type]
    assert (found.outcome, found.answer, found.rule) == ("unreadable", None, "the answer is not a text")


@every(
    ("reply", "rule"),
    [
        ("1", "whole reply"),
        ('{"answer": 1}', "JSON"),
        ("so \\boxed{1}", "box"),
        ("Пары верны, ответ: 1", "answer statement"),
        ("1\nПары верны.", "first line"),
        ("1 — пары верны", "beginning"),
        ("Вариант 1 верен, так как пары вложены", "called right"),
        ("1 ✅, скобки вложены", "ticked"),
        ("Пары верно вложены.\n1", "last line"),
        ("Пары верны, значит, 1", "conclusion"),
        ("Метка 0 для других строк.\nПары вложены, это последовательность с меткой 1.", "last sentence"),
        ("Скобки сбалансированы, последовательность сбалансирована", "only one"),
        ("Ответ 0 неверен.", "the others are denied"),
        ("0 и 1", "the stated answer has none or several"),
        ("Пары верны.", "no answer"),
        ("Ответ: 0 или 1", "the stated answer has none or several"),
        ("1\nОтвет: 0", "answer statements differ"),
        ("Ответ: 0. Хотя нет.", "the answer is taken back"),
        ("Ни один ответ не подходит.", "no answer fits"),
        ("Я не знаю.", "refusal"),
    ],
)
def test_every_rule_is_named(reply: str, rule: str) -> None:
    assert extract(BPS, BALANCED, GENERATED, ModelReply(text=reply)).rule == rule


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
RUDE = Item(1, "{inputs}", "Заткнись уже, достал своими советами!")


@every(
    ("name", "item", "reply"),
    [
        *(
            ("rummlu", RIVERS, reply)
            for reply in (
                "Ответ: B\n\nВолга длиннее.\n\nИтоговый ответ: A",
                "Ответ: A\nПояснение: Днепр впадает в Каспийское море.",
                "Ответ: B\n\nХм, если подумать, в Каспий впадает Волга.",
                "Самая длинная из них — A, но вопрос не о длине.",
                "The only river that does not fit is A.",
                "Вероятность A — 0,9; B — 0,05; C — 0,03; D — 0,02.",
                "Вряд ли это Днепр.",
                "На первый взгляд это Амур.",
                "The teacher's answer is A.",
                "Ответ C неверен, B и D тоже, да и A сомнителен.",
                '{"answer": "B", "corrected_answer": "A"}',
            )
        ),
        *(
            ("multiq", BRIDGE, reply)
            for reply in (
                "Мост построил Савин.",
                "Савин. Олег Рубцов.",
                "Савин → Олег Рубцов",
                "Олег Рубцов, ученик Савина",
                "В тексте об этом ничего нет.",
                "Ответ: Савин учил Олега Рубцова.",
                "Ответ: Савин (строитель), Рубцов (ученик)",
                "Ответ: Савин. Поправка: Рубцов.",
                "**Савин** построил мост, **Рубцов** был его учеником.",
                "Мост построил **Савин**, а учился у него Олег Рубцов.",
                "Не Савин",
            )
        ),
        *(
            ("rudetox", RUDE, reply)
            for reply in (
                "Пожалуйста, хватит советов.\n\nИли:\n\nСпасибо, советов достаточно.",
                "Слово «заткнись» заменяем на «помолчи».",
                "«Хватит советов» — так грубость исчезает, а смысл остаётся.",
                "Thank you, but I have had enough advice.",
                "1) Спасибо, хватит советов.\n2) Я справлюсь сам.",
                "Вот несколько вариантов:\n- Спасибо, хватит.\n- Советов достаточно.",
                "«Заткнись уже!» → «Спасибо, советов достаточно.»",
            )
        ),
    ],
)
def test_a_reply_is_left_unread_if_it_speaks_against_its_answer(name: str, item: Item, reply: str) -> None:
    found = extract(dataset(name), item, Request(name, 1, 1, (), ""), ModelReply(text=reply))
    assert (found.outcome, found.answer) == ("unreadable", None), found


@every(
    ("name", "item", "reply", "answer"),
    [
        ("rummlu", RIVERS, "Ответ: B\n\nПроверим ещё раз.\n\nПравильный ответ: A", "A"),
        ("rummlu", RIVERS, "Ответ: A\n\nХотя Днепр длинный, он впадает в Чёрное море, а Волга — в Каспийское.", "A"),
        ("multiq", BRIDGE, "Олег Рубцов", "Олег Рубцов"),
        ("multiq", BRIDGE, "в Томском политехническом институте", "в Томском политехническом институте"),
        ("multiq", BRIDGE, "Мост построил Савин, а его учеником был **Олег Рубцов**.", "Олег Рубцов"),
        ("rudetox", RUDE, "Спасибо, советов достаточно.\n\nНадеюсь, это поможет!", "Спасибо, советов достаточно."),
        ("rudetox", RUDE, "Спасибо, советов достаточно.\n\n(Я убрал слово «заткнись».)", "Спасибо, советов достаточно."),
    ],
)  # fmt: skip
def test_what_only_looks_like_a_contradiction_is_read(name: str, item: Item, reply: str, answer: str) -> None:
    assert extract(dataset(name), item, Request(name, 1, 1, (), ""), ModelReply(text=reply)).answer == answer


@given(
    st.text(max_size=300), st.sampled_from(["bps", "rummlu", "rwsd", "simplear", "use", "chegeka", "rudetox"])
)
def test_any_text_has_an_outcome_and_a_rule(text: str, name: str) -> None:
    declared = dataset(name)
    item = examples(declared)["test"].items[0]
    found = extract(declared, item, Request(name, item.id, 1, (), ""), ModelReply(text=text))
    assert found.outcome in OUTCOMES
    assert found.rule
    assert (found.answer is not None) == (found.outcome == "answered")
    if found.answer is not None and declared.answer.labels:
        assert found.answer in declared.answer.labels


WORDS = st.sampled_from(
    [
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
        "\n",
    ]
)


@given(st.lists(WORDS, max_size=12).map(" ".join))
def test_an_answer_of_letters_is_one_that_the_text_names(text: str) -> None:
    declared = dataset("rummlu")
    item = examples(declared)["test"].items[0]
    found = extract(declared, item, Request("rummlu", item.id, 1, (), ""), ModelReply(text=text))
    assert found.answer is None or str(found.answer) in text.replace("А", "A")


SENTENCE = "Рассмотрим варианты: A дальше от Солнца, B ещё дальше, а C ближе. "
HOSTILE = [
    "Ответ: ",
    "**a**",
    "A, ",
    "A) x\n",
    "(",
    "{}",
    "\\boxed{",
    "1 = ",
    "А-1, Б-2, ",
    "<think>",
    "```\n",
]
HOSTILE += [
    "ответ на a ",
    "\n",
    SENTENCE,
    "A и ",
    "не A ",
    "1, ",
    "1+",
    "1=1=",
    "нет, ",
    "два ",
    '"a',
    "✅ ",
    " ",
    "! ",
    "→ ",
    "вариант 1: ",
]


@every("unit", HOSTILE)
def test_the_time_of_reading_grows_in_proportion_to_the_text(unit: str) -> None:
    """The number of steps of the readers is bounded by the length; a quadratic reader would not come to an end here."""
    for name in ("rummlu", "simplear", "bps", "use", "chegeka", "rudetox"):
        declared = dataset(name)
        item = examples(declared)["test"].items[0]
        text = unit * (30_000 // len(unit)) + "x"
        found = extract(declared, item, Request(name, item.id, 1, (), ""), ModelReply(text=text))
        assert found.outcome in OUTCOMES
