"""The README of `hb/` in English and in Russian: a description of each file, and how to verify the values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from merilo.bilingual import Language
from merilo.reports.baseline_facts import metric_facts
from merilo.reports.hb.withholding import LEAST_ITEMS
from merilo.strict_json import Json

README_FILES: Final[dict[Language, str]] = {"en": "README.md", "ru": "README_ru.md"}

#: The beginning of the names of instructions.
_INSTRUCTION: Final = "plan/instruction"

#: File, or folder ending in `/` -> what it is.
_FILES: Final[dict[str, dict[Language, str]]] = {
    "raw/responses.csv": {
        "en": "all answers of the export, one row per answer: item, annotator (a pseudonym), answer, known answer of a control item, page, times, reward",
        "ru": "все ответы, прочитанные из выгрузки, по строке на ответ: вопрос, разметчик (псевдоним), ответ, правильный ответ контрольного задания, страница, время, оплата",
    },
    "raw/items.csv": {
        "en": "all items as annotators saw them, with the numbers used in the other files",
        "ru": "все вопросы в том виде, в каком их видели разметчики, с номерами, которые используются в остальных файлах",
    },
    "raw/gold.jsonl": {
        "en": "the gold answers of the items",
        "ru": "эталонные ответы на вопросы",
    },
    "raw/ids.jsonl": {
        "en": "the dataset's ids of the items, and the fields by which results are grouped",
        "ru": "идентификаторы вопросов в датасете и поля, по которым сгруппированы результаты",
    },
    "raw/skills.csv": {
        "en": "the platform's skills of annotators, which are used to break ties",
        "ru": "навыки разметчиков на платформе; они учитываются при равенстве голосов",
    },
    "raw/dataset.yaml": {
        "en": "the declaration of the dataset: kind of answers and metrics",
        "ru": "описание датасета: вид ответов и метрики",
    },
    "raw/population.csv": {
        "en": "the strata of the whole dataset with their numbers of items",
        "ru": "страты всего датасета с числом вопросов в каждой",
    },
    "raw/strata.csv": {
        "en": "the stratum of every item that people answered",
        "ru": "страта каждого вопроса, на который отвечали люди",
    },
    "raw/models/": {
        "en": "the answers of the models that are compared with people",
        "ru": "ответы моделей, с которыми сравниваются люди",
    },
    "raw/reading.json": {
        "en": "other information on the export (dropped rows, pages without answers), and the settings of the baseline",
        "ru": "остальные сведения о выгрузке (отброшенные строки, страницы без ответов) и параметры оценки",
    },
    "raw/experts/": {
        "en": "the same files of the experts: their answers, their marks on questions of their own, times and pay",
        "ru": "такие же файлы об экспертах: их ответы, пропуски собственных вопросов, время и оплата",
    },
    "annotators.csv": {
        "en": "all annotators: answers, accuracy on control items, time, exclusion",
        "ru": "все разметчики: ответы, точность на контрольных заданиях, время, исключение",
    },
    "consensus.csv": {
        "en": "all items: answers, consensus, the step that decided it, gold answer",
        "ru": "все вопросы: ответы, согласованный ответ и способ его получения, эталонный ответ",
    },
    "metrics.json": {
        "en": "all values except costs: metrics with intervals, counts, agreement, groups, sensitivity",
        "ru": "все показатели, кроме затрат: метрики с интервалами, количества, согласие разметчиков, группы, чувствительность",
    },
    "costs.json": {
        "en": "costs and time: total, pages, hours, hourly pay",
        "ru": "затраты и время: общая сумма, страницы, часы, почасовая оплата",
    },
    "plan/settings.json": {
        "en": "the settings of the baseline",
        "ru": "параметры, с которыми получена оценка",
    },
    "plan/study.yaml": {"en": "the plan of the study", "ru": "план исследования"},
    "plan/frozen.json": {
        "en": "the date and hash of the frozen plan",
        "ru": "дата фиксации плана и его хеш",
    },
    "plan/plan.md": {
        "en": "the plan in figures: answers, people, hours, pay, expected interval, power",
        "ru": "план в цифрах: ответы, разметчики, часы, оплата, ожидаемый интервал, мощность",
    },
    "plan/plan.json": {"en": "the same figures as JSON", "ru": "те же цифры в формате JSON"},
    "plan/subset.csv": {
        "en": "the distribution of every field in the dataset and in the items that people answered",
        "ru": "распределение каждого поля в датасете и в отобранных вопросах",
    },
    "plan/subset.svg": {"en": "the same as a plot", "ru": "то же в виде графика"},
    "plan/weights.csv": {
        "en": "the number of items of the dataset for which each item stands",
        "ru": "число вопросов датасета, которое представляет каждый отобранный вопрос",
    },
    _INSTRUCTION: {
        "en": "the instruction that annotators read",
        "ru": "инструкция, которую читали разметчики",
    },
    "plan/changes.json": {
        "en": "the changes of the plan after it was frozen",
        "ru": "изменения плана после его фиксации",
    },
    "experts.json": {
        "en": "the baselines of the experts and of people without training",
        "ru": "оценка экспертов рядом с оценкой людей без специальной подготовки",
    },
    "cards/": {
        "en": "the section \"Human baseline\" of the dataset's cards in both languages, and the dataset's metadata and cards with it, if they were given",
        "ru": "раздел Human baseline для карточек датасета на двух языках, а также метаданные и карточки датасета с ним, если их передали",
    },
    "cost/": {
        "en": "the cost report and the message with it, ready to send, in both languages",
        "ru": "отчёт о затратах и готовое письмо с ним на двух языках",
    },
    "checklist/": {
        "en": "the reporting checklist for human baselines, filled in from the study, in Markdown, JSON and LaTeX",
        "ru": "чек-лист для отчётов об оценке уровня человека, заполненный по данным исследования, в форматах Markdown, JSON и LaTeX",
    },
    "paper/": {
        "en": "tables, the methods paragraph and references for a paper, in LaTeX, Markdown and CSV",
        "ru": "таблицы, описание методики и список литературы для статьи в форматах LaTeX, Markdown и CSV",
    },
    "items.html": {
        "en": "a page with every item and all its answers",
        "ru": "страница со всеми вопросами и ответами на них",
    },
    "report.html": {
        "en": "the report as a page, in English and Russian",
        "ru": "отчёт в виде страницы на русском и английском языках",
    },
    "plots/": {
        "en": "the plots of the report, in `en/` and `ru/`",
        "ru": "графики отчёта, в папках `en/` и `ru/`",
    },
    "hb.ipynb": {
        "en": "a notebook that recomputes every published value from `raw/`; Run All needs only `merilo`",
        "ru": "блокнот, который заново вычисляет все опубликованные показатели по файлам из `raw/`; для Run All нужна только библиотека `merilo`",
    },
    "manifest.json": {
        "en": "the SHA-256 of every file, the versions and the parameters",
        "ru": "SHA-256 каждого файла, версии программ и параметры",
    },
}

#: What the files hold if the gold answers are withheld.
_WITHHELD_FILES: Final[dict[str, dict[Language, str]]] = {
    "consensus.csv": {
        "en": "all items: answers, consensus, the step that decided it; the columns of gold answers are empty",
        "ru": "все вопросы: ответы, согласованный ответ и способ его получения; столбцы эталонных ответов пусты",
    },
    "metrics.json": {
        "en": "all published values except costs: metrics with intervals, counts, agreement",
        "ru": "все опубликованные показатели, кроме затрат: метрики с интервалами, количества, согласие разметчиков",
    },
    "hb.ipynb": {
        "en": "a notebook that recomputes from `raw/` every value that needs no gold answers; Run All needs only `merilo`",
        "ru": "блокнот, который по файлам из `raw/` заново вычисляет все показатели, не требующие эталонных ответов;"
        " для Run All нужна только библиотека `merilo`",
    },
}

_TEXTS: Final[dict[Language, dict[str, str]]] = {
    "en": {
        "title": "Human baseline: {name}",
        "rejected": "**The baseline is rejected: too many items have no majority, and the estimate must not be used.**",
        "check the controls": "**Check the control items: many of them may have a wrong known answer, or they exclude half of the annotators.**",
        "simulated": "**The annotators are simulated.**",
        "value": "The main metric, {metric}, is {value} ({n} items).",
        "interval": "Its 95% interval over items and annotators is [{low}, {high}].",
        "alone": "Its 95% interval over items alone is [{low}, {high}]; over items and annotators it is not defined.",
        "table": "| file | content |",
        "sure": "**{metric} is {value:g}, so the gold answers follow from the consensus: keep `raw/`, `consensus.csv` and "
        "`items.html` private.**",
        "closed": "The gold answers are closed or unknown: the files do not contain them, so there are counts, agreement and cost, but no metric.",
        "withheld": "The gold answers of this dataset are closed: the files contain neither them nor anything per item that follows from them. The metrics were computed with them and cannot be recomputed from this folder; groups of fewer than {least} items have no metric.",
        "unplanned": "The study has no plan made with Merilo; `plan/settings.json` contains the settings that were used.",
        "plain": "The plots are SVG only, because Matplotlib is not installed (`pip install 'merilo[plots]'` adds PDF and PNG).",
        "verify": "To verify the values, install Merilo {version} and run this command in the folder above:",
        "verified": "The command recomputes every value from `raw/` and lists those that differ.",
        "verified_in_part": "The command recomputes from `raw/` every value that needs no gold answers, lists those that differ, and names the values that it cannot recompute.",
        "people": "Annotators and pages have pseudonyms, which are the same in all files.",
    },
    "ru": {
        "title": "Оценка уровня человека: {name}",
        "rejected": "**Оценка отклонена: слишком много вопросов не набрали большинства, использовать её нельзя.**",
        "check the controls": "**Проверьте контрольные задания: известные ответы многих из них, возможно, неверны, или из-за них исключена половина разметчиков.**",
        "simulated": "**Ответы разметчиков смоделированы.**",
        "value": "Значение основной метрики {metric} — {value} (вопросов: {n}).",
        "interval": "95%-й доверительный интервал по вопросам и разметчикам — [{low}; {high}].",
        "alone": "95%-й доверительный интервал только по вопросам — [{low}; {high}]; по вопросам и разметчикам он не определён.",
        "table": "| файл | содержание |",
        "sure": "**{metric} = {value:g}, поэтому эталонные ответы следуют из согласованных: не публикуйте `raw/`, "
        "`consensus.csv` и `items.html`.**",
        "closed": "Эталонные ответы закрыты или неизвестны: в файлах их нет, поэтому показатели — это количества, согласие разметчиков и затраты, без метрик.",
        "withheld": "Эталонные ответы этого датасета закрыты: в файлах нет ни их, ни сведений об отдельных вопросах, из которых они следуют. Метрики посчитаны по этим ответам, и по файлам папки их не пересчитать; для групп, в которых меньше {least} вопросов, метрик нет.",
        "unplanned": "План исследования в Merilo не составлялся; параметры, с которыми получена оценка, записаны в `plan/settings.json`.",
        "plain": "Графики сохранены только в формате SVG, потому что не установлена библиотека Matplotlib (команда `pip install 'merilo[plots]'` добавит PDF и PNG).",
        "verify": "Чтобы проверить показатели, установите Merilo {version} и выполните команду в папке уровнем выше:",
        "verified": "Команда заново вычисляет все показатели по файлам из `raw/` и называет те, которые не подтверждаются.",
        "verified_in_part": "Команда по файлам из `raw/` заново вычисляет все показатели, не требующие эталонных ответов, и называет те, которые не подтверждаются, и те, которые пересчитать нельзя.",
        "people": "Разметчики и страницы названы псевдонимами, одинаковыми во всех файлах.",
    },
}


def readme_files(
    content: Mapping[str, Json], names: Iterable[str], *, version: str, plots_only_svg: bool
) -> dict[str, bytes]:
    """Return the README in both languages.

    Args:
        content: the baseline as JSON.
        names: the names of all other files of the folder.
        version: the version of Merilo.
        plots_only_svg: whether plots are missing as PDF and PNG.
    """
    files = sorted({*names, "manifest.json"})
    return {
        path: _readme(content, files, language, version, plots_only_svg=plots_only_svg).encode()
        for language, path in README_FILES.items()
    }


def _readme(
    content: Mapping[str, Json], files: list[str], language: Language, version: str, *, plots_only_svg: bool
) -> str:
    text = _TEXTS[language]
    name = content.get("dataset") or ("a study" if language == "en" else "исследование")
    paragraphs = [f"# {text['title'].format(name=name)}"]
    paragraphs += [
        text[status] for status in ("rejected", "check the controls") if content.get("status") == status
    ]
    if content.get("simulated"):
        paragraphs.append(text["simulated"])
    if headline := _headline(content, language):
        paragraphs.append(headline)
    gold = content.get("gold")
    withheld = isinstance(gold, dict) and bool(gold.get("withheld"))
    if gold is None:
        paragraphs.append(text["closed"])
    elif withheld:
        paragraphs.append(text["withheld"].format(least=LEAST_ITEMS))
        paragraphs += [
            text["sure"].format(metric=one.name, value=one.value)
            for one in metric_facts(content)[:1]
            if one.value in {0, 1}
        ]
    paragraphs.append(
        "\n".join(
            [
                text["table"],
                "| --- | --- |",
                *_rows(files, language, _FILES | _WITHHELD_FILES if withheld else _FILES),
            ]
        )
    )
    paragraphs.append(text["people"])
    if "plan/study.yaml" not in files:
        paragraphs.append(text["unplanned"])
    if plots_only_svg:
        paragraphs.append(text["plain"])
    paragraphs += [text["verify"].format(version=version), "```console\nmerilo report verify hb\n```"]
    paragraphs.append(text["verified_in_part" if withheld else "verified"])
    return "\n\n".join(paragraphs) + "\n"


def _headline(content: Mapping[str, Json], language: Language) -> str:
    """Return the sentences on the main metric and its interval; empty if no metric has a value."""
    one = next(iter(metric_facts(content)), None)
    if one is None:
        return ""
    text = _TEXTS[language]
    said = text["value"].format(metric=one.name, value=_number(one.value, language), n=one.n)
    if one.interval is None:
        return said
    low, high = (_number(end, language) for end in one.interval)
    return f"{said} {text['interval' if one.over_both else 'alone'].format(low=low, high=high)}"


def _number(value: float, language: Language) -> str:
    text = f"{value:.3f}".replace("-", "−")
    return text.replace(".", ",") if language == "ru" else text


def _rows(files: list[str], language: Language, told: Mapping[str, Mapping[Language, str]]) -> list[str]:
    rows = []
    for name, about in told.items():
        if name.endswith("/"):
            found = [name] if any(file.startswith(name) for file in files) else []
        else:
            found = [
                file for file in files if file == name or (name == _INSTRUCTION and file.startswith(name))
            ]
        rows += [f"| `{file}` | {about[language]} |" for file in found]
    return rows
