"""The section "Human baseline": whole sentences with every detail that the guide asks for, and no number without its count."""

import copy
import json
import re
from typing import Any

import pytest
from every import every
from report_contents import CONTENT, STUDY

from merilo.baselines.baseline import Baseline
from merilo.reports.dataset_card import readme_with_section
from merilo.reports.facts import methods
from merilo.reports.messages import arms_of, human_baseline

PLAN: dict[str, Any] = {
    "study": "lcs-2026",
    "dataset": "lcs",
    "arms": {"people": {"kind": "basic", "overlap": 5, "time_limit": 61, "skip_own": False}},
    "restrictions": [{"ru": "Не ищите ответ в интернете.", "en": "Do not search the internet."}],
    "subset": {"size": 100, "of": 5001, "fields": ["domain", "length"], "method": "balanced"},
    "controls": {"every": 20},
    "training": {"threshold": 0.8},
}


def changed(**places: Any) -> dict[str, Any]:
    """The content with other values; `a__b=1` sets `a.b`."""
    content = copy.deepcopy(CONTENT)
    for path, value in places.items():
        *steps, last = path.split("__")
        target = content
        for step in steps:
            target = target[step]
        target[last] = value
    return content


def russian(content: dict[str, Any] = CONTENT, plan: dict[str, Any] | None = None, **options: Any) -> str:
    return human_baseline(arms_of(Baseline.of_json(content), plan, **options), "ru").replace(
        "\N{NO-BREAK SPACE}", " "
    )


def english(content: dict[str, Any] = CONTENT, plan: dict[str, Any] | None = None, **options: Any) -> str:
    return human_baseline(arms_of(Baseline.of_json(content), plan, **options), "en")


#: Detail of the guide -> how the Russian and the English section tell it.
DETAILS = {
    "whom": ("29 разметчиков краудсорсинговой платформы Toloka.", "29 annotators of the crowdsourcing platform Toloka."),
    "overlap": ("Перекрытие — 5 ответов на вопрос, всего 500 ответов", "Each item received 5 answers, 500 answers in all"),
    "same form": ("в том же виде, в каком его получает модель", "in the form in which models receive it"),
    "restrictions": ("Инструкция устанавливала ограничение: «Не ищите ответ в интернете».", "set this rule: “Do not search the internet”."),
    "time limit": ("не более 61 секунды", "61 seconds per item"),
    "training": ("кто верно решил не менее 80 %", "at least 80% correct answers"),
    "subset": ("Из 5001 вопроса датасета LCS отобрано 100 вопросов с сохранением распределения по полям «domain», «length»", "Of the 5001 items of the dataset LCS, 100 were drawn so that the distribution of the fields 'domain', 'length' is kept"),
    "controls": ("добавлено 19 контрольных заданий с известным ответом; на них получено 250 ответов", "19 control items with a known answer, which received 250 answers"),
    "exclusion": ("ниже 50 % исключались вместе со всеми своими ответами: исключены 3 из 29 разметчиков", "below 50% on the control items were excluded with all their answers; this applied to 3 of 29 annotators"),
    "unchecked": ("Ещё учтён 1 разметчик, у которого", "Another 1 annotator had no or too few control answers and was kept"),
    "answers left": ("учтены 492 ответа: по 5 на 91 вопрос, по 4 на 8 вопросов, по 3 на 1 вопрос", "492 answers remain: 5 on 91 items, 4 on 8 items, 3 on 1 item"),
    "aggregation": ("Большинством считается не менее 3 голосов за один ответ", "A majority is at least 3 equal answers"),
    "ways": ("Согласованный ответ получен: на 21 вопрос — единогласно, на 33 — большинством голосов, на 26 — по наибольшему числу голосов", "A consensus was reached on 21 items unanimously, on 33 by a majority"),
    "unresolved": ("Без согласованного ответа остался 1 вопрос; в метрику он не вошёл", "There is no consensus on 1 item, which was left out"),
    "threshold": ("не набралось на 20 вопросах из 100 (20 %) при допустимой доле 30 %", "lacking on 20 of 100 items (20%); up to 30% were allowed"),
    "agreement": ("Альфа Криппендорфа — 0,300 [0,226; 0,373] по 492 ответам", "Krippendorff's alpha is 0.300 [0.226, 0.373] on 492 answers"),
    "estimate": ("Точность согласованного ответа 26 разметчиков — 0,560 [0,408; 0,701] на 99 вопросах", "accuracy of the consensus of 26 annotators is 0.560 [0.408, 0.701] on 99 items"),
    "intervals": ("95%-е доверительные интервалы", "95% confidence intervals"),
    "majority alone": ("На 54 вопросах с большинством голосов получается 0,704", "On the 54 items with a majority, it is 0.704"),
    "single": ("у одного разметчика — 0,460 [0,331; 0,595]", "a single annotator scores 0.460 [0.331, 0.595]"),
    "time": ("Медианное время ответа — 27 секунд", "median time of an answer is 27 seconds"),
    "pay": ("За разметку выплачено 7,25 доллара США за 250 страниц заданий; получено 500 ответов на вопросы теста, в среднем 0,015 доллара США за ответ. Почасовая оплата по измеренному времени (8,4 часа) составила 0,86 доллара США", "cost $7.25 for 250 pages; with 500 answers to test items, an answer cost $0.015 on average. The hourly pay by measured time (8.4 hours) was $0.86"),
}  # fmt: skip


@every("detail", list(DETAILS))
def test_every_detail_of_the_guide_is_told_in_both_languages(detail: str) -> None:
    ru, en = DETAILS[detail]
    assert ru in russian(plan=PLAN)
    assert en in english(plan=PLAN)


def test_both_languages_tell_the_same_numbers() -> None:
    def numbers(text: str) -> list[str]:
        found = re.findall(r"\d+(?:[.,]\d+)?", text.replace("AC1", ""))
        return sorted(number.replace(",", ".") for number in found)

    assert numbers(russian(plan=PLAN)) == numbers(english(plan=PLAN))


def planned(**changes: Any) -> dict[str, Any]:
    return {**PLAN, **changes}


#: What differs -> the content, the plan, and how the section tells it in Russian and in English.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any] | None, str, str]] = {
    "a model decides all items": (
        changed(resolved_by={"dawid_skene": 100}, provenance={"parameters": {"aggregator": "dawid-skene"}}), None,
        "за один ответ. Согласованный ответ получен: на 100 вопросов — моделью Дэвида — Скина.",
        "equal answers. A consensus was reached on 100 items by the Dawid–Skene model.",
    ),
    "the published procedure": (
        changed(provenance={"parameters": {"aggregator": "majority", "resolve": "none"}}), None,
        "Вопросы без большинства в метрику не входят.", "Items without a majority are left out of the metric.",
    ),
    "one excluded": (
        changed(annotators__excluded=1, annotators__total=24), None, "исключён 1 из 24 разметчиков", "to 1 of 24 annotators",
    ),
    "eleven excluded": (
        changed(annotators__excluded=11, annotators__total=111), None, "исключено 11 из 111 разметчиков", "11 of 111",
    ),
    "nobody excluded": (
        changed(annotators__excluded=0, annotators__total=3), None, "Ни один разметчик не исключён", "No annotator was excluded",
    ),
    "no currency": (
        changed(cost__currency=None), None, "выплачено 7,25 (валюта не указана)", "cost 7.25 (currency not known)",
    ),
    "a page for each answer": (
        changed(cost__pages=200, cost__answers=200), None, "за 200 ответов; получено", "cost $7.25 for 200 answers; with",
    ),
    "drawn evenly": (
        CONTENT, planned(subset={**PLAN["subset"], "fields": ["domain", "difficulty"], "method": "even"}),
        "отобрано 100 вопросов равномерно по полям «domain», «difficulty».",
        "100 were drawn evenly over the fields 'domain', 'difficulty'.",
    ),
    "time limits by a field": (
        CONTENT,
        planned(arms={"people": {**PLAN["arms"]["people"], "time_limit": {"field": "grade", "seconds": {"5": 240, "9": 420}}}}),
        "зависело от поля «grade»: 5 — 240 секунд; 9 — 420 секунд.",
        "depended on its field “grade”: 5 — 240 seconds; 9 — 420 seconds.",
    ),
    "groups": (
        changed(metrics={**CONTENT["metrics"], "acc.g1": {"value": 0.57, "n": 67, "ci95": [0.0, 0.9]}}), None,
        "| g1 | 0,570 [0,000; 0,900] | 67 |", "| g1 | 0.570 [0.000, 0.900] | 67 |",
    ),
    "groups alone": (
        changed(metrics={"correct.law": {"value": -0.2, "n": 8}, "good.law": {"value": 0.7, "n": 8}}, human_benchmark=None), None,
        "", "The consensus has 2 values, one for each group, from -0.200 to 0.700;",
    ),
    "judged sentences": (
        changed(declaration={"name": "rudetox-meaning"}), PLAN,
        "", "The annotators judged rewritten sentences; models get another task",
    ),
    "programs": (
        changed(resolved_by={"each_answer": 100}, metrics={"pass@1": {"value": 0.8, "n": 10}}), None,
        "", "programs have no consensus",
    ),
}  # fmt: skip


@every("case", list(CASES))
def test_what_differs_is_told(case: str) -> None:
    content, plan, ru, en = CASES[case]
    assert ru in russian(content, plan)
    assert en in english(content, plan)


def test_people_who_judge_or_program_are_not_said_to_do_what_they_did_not() -> None:
    assert "in which models receive it" not in english(*CASES["judged sentences"][:2])
    benchmark = {"items": "all", "metrics": {"pass@1": {"value": 0.8, "n": 10}}}
    assert "with a consensus" not in english({**CASES["programs"][0], "human_benchmark": benchmark})


def test_a_group_that_stands_under_its_field_is_not_told_again() -> None:
    groups = [
        {"name": "subject=g1: acc", "value": 0.57, "n": 67},
        {"name": "subject=g2: acc", "value": 0.4, "n": 9},
    ]
    metrics = {**CONTENT["metrics"], "acc.g1": {"value": 0.57, "n": 67}}
    assert "By group" not in english({**CONTENT, "metrics": metrics, "groups": groups})
    assert "| g1 | 0.570 | 67 |" in english({**CONTENT, "metrics": metrics, "groups": groups})
    other = {**metrics, "acc.hard": {"value": 0.2, "n": 5}}
    text = english({**CONTENT, "metrics": other, "groups": groups})
    assert "| group | accuracy | items |\n| --- | ---: | ---: |\n| hard | 0.200 | 5 |" in text
    assert text.count("| g1 |") == 1


def test_what_is_missing_is_said_or_left_out() -> None:
    content = changed(
        gold=None,
        metrics={},
        responses__control=0,
        controls={},
        annotators__excluded=0,
        cost={"total": None, "pages": 250, "hours": None, "hourly": None, "currency": None},
        agreement__krippendorff_alpha=None,
        agreement__gwet_ac1=None,
    )
    ru, en = russian(content), english(content)
    assert "эталонных ответов в исследовании нет" in ru
    assert "the study has no gold answers" in en
    assert "Контрольных заданий не было" in ru
    assert "There were no control items" in en
    assert "Сведений об оплате нет" in ru
    assert "There are no data on pay" in en
    for word in ("Криппендорф", "Медианное", "None"):
        assert word not in ru
    for word in ("alpha", "median", "None"):
        assert word not in en


def test_without_a_plan_nothing_is_told_of_conditions() -> None:
    for word in ("Инструкция", "модель,", "тренировочные", "отводилось", "отобран"):
        assert word in russian(plan=PLAN)
        assert word not in russian()


def test_an_expert_study_tells_both_groups_and_their_difference() -> None:
    ru, en = russian(STUDY), english(STUDY)
    for told in (
        "Базовый human baseline. Точность согласованного ответа 26 разметчиков — 0,560",
        "Экспертный human baseline. Точность согласованного ответа 8 экспертов — 0,925 [0,830; 0,990] на 40 вопросах.",
        "Уровень экспертов измерен на 40 вопросах датасета LCS.",
        "На вопросы отвечали 8 экспертов краудсорсинговой платформы Toloka.",
        "«пропустить вопрос, так как он, возможно, был придуман мной» (21 раз; вопрос не показан автору 6 раз)",
        "Ответы, данные после истечения времени (2), не учитываются.",
        "Значение human_benchmark_expert в метаданных датасета посчитано только на вопросах с большинством голосов: 38 из 40.",
        "Почасовая оплата по измеренному времени (5,7 часа) составила 112,28 доллара США.",
        "| эксперты минус люди: точность | 0,342 [0,170; 0,500] | 38 |",
    ):
        assert told in ru
    for told in (
        "Basic human baseline. The accuracy of the consensus of 26 annotators is 0.560",
        "Expert human baseline. The accuracy of the consensus of 8 experts is 0.925 [0.830, 0.990] on 40 items.",
        "The items were answered by 8 experts of the crowdsourcing platform Toloka.",
        "for which there was an option (21 times; an item was not shown to its author 6 times)",
        "Answers after the time limit (2) do not count.",
        "The hourly pay by measured time (5.7 hours) was $112.28.",
        "| experts minus people: accuracy | 0.342 [0.170, 0.500] | 38 |",
    ):
        assert told in en
    assert "| experts minus people: accuracy of one person | 0.300" in en


@pytest.mark.parametrize("content", [CONTENT, STUDY, changed(status="no metric", metrics={})])
def test_the_methods_for_a_paper_have_at_most_120_words_an_arm(content: dict[str, Any]) -> None:
    study = Baseline.of_json(content)
    for language in ("ru", "en"):
        paragraphs = [text.in_language(language) for text in methods(arms_of(study, PLAN)).remarks]
        assert len(paragraphs) == len(study.by_arm)
        assert max(len(text.split()) for text in paragraphs) <= 120
    untrained, trained = ({k: v for k, v in PLAN.items() if k != "training"}, PLAN)
    assert "without special training" in str(methods(arms_of(study, untrained)).remarks[0])
    assert "without special training" not in str(methods(arms_of(study, trained)).remarks[0])
    assert (
        "29 annotators of the crowdsourcing platform Toloka answered 100 items of the dataset LCS"
        in paragraphs[0]
    )


def test_only_the_section_changes_in_the_card() -> None:
    card = {"Мотивация": "Пробел  ", "Human baseline": "TODO", "Авторы": "А. Б."}
    text = 'Точность — 0,560.\n\n«Ок» "да"'
    edited = json.loads(readme_with_section(json.dumps(card).encode(), text, "raw_readme_ru.json"))
    assert [*edited.items()] == [*(card | {"Human baseline": text}).items()]


def test_names_of_a_dataset_cannot_be_markup_in_the_card() -> None:
    hostile = "a\n\n# heading <img src=x onerror=alert(1)> ![p](http://x) \N{RIGHT-TO-LEFT OVERRIDE}b"
    plan = {
        **PLAN,
        "dataset": hostile,
        "restrictions": [{"ru": hostile, "en": hostile}],
        "subset": {**PLAN["subset"], "fields": [hostile]},
    }
    content = changed(dataset=None, metrics={f"acc.{hostile}": {"value": 0.5, "n": 9}})
    for language in ("ru", "en"):
        section = human_baseline(arms_of(Baseline.of_json(content), plan), language)  # type: ignore[arg-type]
        made = json.loads(readme_with_section(b"{}", section, "raw_readme_ru.json"))["Human baseline"]
        assert "heading" in made
        assert "\n# heading" not in made
        assert not re.search(r"(?<!\\)<[a-z]", made)
        assert not re.search(r"(?<!\\)\]\(", made)
        assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in made
