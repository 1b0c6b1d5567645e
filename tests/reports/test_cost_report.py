"""The cost report: what was paid once a page, per answer and per hour, arms apart, and a message ready to send."""

from typing import Any

import pytest

from merilo.baselines.baseline import Baseline
from merilo.reports.messages import arms_of, cost_report, cost_text
from merilo.text import Language

PEOPLE: dict[str, Any] = {
    "dataset": "lcs",
    "items": {"total": 100, "overlap_before_exclusion": {"5": 100}},
    "responses": {"used": 492, "control": 250},
    "cost": {
        "total": 7.25, "currency": "USD", "pages": 250, "hours": 8.439354, "hourly": 0.859071,
        "published_way": {"total": 14.5, "hourly": 1.730367},
    },
}  # fmt: skip
EXPERTS: dict[str, Any] = {
    "items": {"overlap_before_exclusion": {"3": 100}},
    "cost": {"total": 30.5, "currency": "USD", "pages": 300, "hours": 21.2, "hourly": 1.44},
}


def study(people: dict[str, Any], *experts: dict[str, Any]) -> Baseline:
    return Baseline.of_json({**people, **({"arms": {"experts": experts[0]}} if experts else {})})


def asked(people: dict[str, Any], *experts: dict[str, Any], plan: dict[str, Any] | None = None) -> dict:
    return arms_of(study(people, *experts), plan)


def russian(*arms: dict[str, Any]) -> str:
    return cost_report(asked(*arms), "ru").replace("\N{NO-BREAK SPACE}", " ")


def test_arms_are_told_apart_and_added_up() -> None:
    text = russian(PEOPLE, EXPERTS)
    assert "Общие затраты на весь проект — 37,75 доллара США, без комиссии платформы" in text
    assert "Базовый human baseline. За разметку выплачено 7,25 доллара США за 250 страниц заданий" in text
    assert "Экспертный human baseline. За разметку выплачено 30,50 доллара США за 300 страниц" in text
    assert "Почасовая оплата по измеренному времени (21 час) составила 1,44 доллара США." in text
    english = cost_report(asked(PEOPLE, EXPERTS), "en")
    assert "The total cost of the whole project is $37.75, without" in english
    assert "Expert human baseline. The annotation cost $30.50 for 300 pages" in english


def paid(arm: dict[str, Any], **cost: Any) -> dict[str, Any]:
    return {**arm, "cost": {**arm["cost"], **cost}}


@pytest.mark.parametrize(
    ("people", "experts", "told"),
    [
        ({}, {"currency": "RUB"}, "— 7,25 доллара США и 30,50 рубля, без"),
        ({}, {"total": None, "hourly": None}, "Экспертный human baseline. Сведений об оплате нет."),
        ({"currency": None}, {}, "7,25 (валюта не указана)"),
        ({"hours": None, "hourly": None}, {}, "Время работы не измерено, поэтому почасовая оплата неизвестна."),
        ({"total": None}, {"total": None}, "Сведений об оплате нет.\n\nБазовый"),
    ],
)  # fmt: skip
def test_what_is_not_known_is_said_and_currencies_are_not_added(
    people: dict, experts: dict, told: str
) -> None:
    assert told in russian(paid(PEOPLE, **people), paid(EXPERTS, **experts))


@pytest.mark.parametrize(
    ("total", "told"), [(7.25, "$0.015"), (725.0, "$1.45"), (0.4, "$0.00080"), (50.0, "$0.10"), (0.0, "$0")]
)  # fmt: skip
def test_an_answer_costs_at_least_two_digits(total: float, told: str) -> None:
    assert f"an answer cost {told} on average" in cost_report(asked(paid(PEOPLE, total=total)), "en")


def test_the_message_can_be_sent() -> None:
    text = cost_text(asked(PEOPLE), "ru")
    assert text.startswith(
        "Кому: mera@a-ai.ru\nТема: Human baseline датасета LCS: затраты и методология\n\nЗдравствуйте!"
    )
    assert "Уровень человека измерен на 100 вопросах датасета LCS." in text.split("Методология")[1]
    assert text.endswith("С уважением,\nавторы датасета LCS\n")


def test_only_datasets_of_the_benchmark_are_reported_to_its_organisers() -> None:
    own = study({**PEOPLE, "dataset": "sums"})
    assert cost_text(arms_of(own, None), "ru").startswith("Кому: …\n")
    assert "mera@a-ai.ru" not in cost_text(arms_of(own, None), "en")
    assert cost_text(arms_of(own, None, submitted=True), "en").startswith("To: mera@a-ai.ru\n")


def test_the_whole_project_costs_the_pay_and_the_commission_of_the_platform() -> None:
    def plan(people: float | None, experts: float | None) -> dict[str, Any]:
        pay = {"people": ("untrained", people), "experts": ("expert", experts)}
        return {
            "arms": {name: {"kind": kind, "pay": {"commission": one}} for name, (kind, one) in pay.items()}
        }

    def told(people: float | None, experts: float | None, language: Language = "en") -> str:
        arms = asked(PEOPLE, EXPERTS, plan=plan(people, experts))
        return cost_report(arms, language).replace("\N{NO-BREAK SPACE}", " ")

    assert "is $48.93, with the platform's commission." in told(0.3, 0.295082)
    assert "Общие затраты на весь проект — 39,20 доллара США, вместе с комиссией платформы." in told(
        0.2, 0, "ru"
    )
    assert "is $39.93, with the platform's commission for people only" in told(0.3, None)
    assert "is $37.75, without the platform's commission" in told(None, None)
