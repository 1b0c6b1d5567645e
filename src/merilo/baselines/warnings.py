"""Warnings of a baseline and reasons to reject it, in both languages of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import polars as pl

from merilo.bilingual import BilingualText, counted, counted_en, form
from merilo.errors import argument
from merilo.people.aggregation import Fit
from merilo.people.gold import Gold
from merilo.people.quality.controls import FEW_CONTROLS, ControlHealth
from merilo.people.recoding import near_spellings
from merilo.responses import Responses, Unread
from merilo.settings import Settings
from merilo.wording import shortened

__all__ = [
    "MOST_EXCLUDED",
    "NO_ESTIMATE",
    "STATUSES",
    "BaselineWarning",
    "Status",
    "counted",
    "form",
    "majority_rule",
    "reasons_to_reject",
    "status_of_baseline",
    "warnings",
    "warnings_on_exclusion",
]

#: A baseline that excludes a larger share of its annotators gets a warning.
MOST_EXCLUDED: Final = 1 / 3

#: A baseline is not accepted if its control items exclude this share of the annotators, or if this share of them is suspect.
_UNTRUSTED_EXCLUSION: Final = 1 / 2
_UNTRUSTED_CONTROLS: Final = 1 / 4
_FEWEST_SUSPECTS: Final = 2

Status: TypeAlias = Literal["accepted", "rejected", "check the controls", "no estimate"]
NO_ESTIMATE: Final = "no estimate"

#: The statuses of a baseline in both languages, with the colour of the terminal and the sign of the page.
STATUSES: Final[Mapping[Status, tuple[BilingualText, str, str]]] = {
    "accepted": (BilingualText("accepted", "оценка принята"), "green", "good"),
    "rejected": (BilingualText("rejected", "оценка отклонена"), "red", "bad"),
    "check the controls": (
        BilingualText("check the controls", "проверьте контрольные задания"),
        "yellow",
        "simulated",
    ),
    NO_ESTIMATE: (BilingualText(NO_ESTIMATE, "оценки нет"), "yellow", "simulated"),
}


@dataclass(frozen=True, slots=True)
class BaselineWarning:
    """One sentence for the reader of a baseline.

    Attributes:
        code: machine-readable code of the warning.
        en: the sentence in English.
        ru: the same sentence in Russian.
    """

    code: str
    en: str
    ru: str


def majority_rule(needed: Mapping[int, int]) -> BaselineWarning:
    """Describe how many equal answers make a majority.

    Args:
        needed: mapping from the number of equal votes that make a majority to the number of items that need it.

    Example:
        >>> majority_rule({3: 100}).en, majority_rule({2: 10, 3: 40}).en
        ('3 equal answers', '2 to 3 equal answers, more than half of each item')
    """
    least, most = min(needed, default=0), max(needed, default=0)
    if least == most:
        en = f"{most} equal answers"
        return BaselineWarning(
            "majority", en, counted(most, "одинаковый ответ", "одинаковых ответа", "одинаковых ответов")
        )
    return BaselineWarning(
        "majority",
        f"{least} to {most} equal answers, more than half of each item",
        f"от {least} до {most} одинаковых ответов, больше половины ответов на вопрос",
    )


def reasons_to_reject(
    low: int, items: int, needed: Mapping[int, int], settings: Settings
) -> tuple[BaselineWarning, ...]:
    """Return the reasons why a baseline is rejected; empty if it is accepted.

    Args:
        low: how many items have no majority.
        items: how many items there are.
        needed: mapping from the number of equal votes that make a majority to the number of items that need it.
        settings: the settings of the baseline.
    """
    share = low / items
    if share <= settings.max_low_agreement:
        return ()
    return (
        BaselineWarning(
            "low_agreement",
            f"{low} of {items} items ({share:.0%}) have no majority ({majority_rule(needed).en}), more than the "
            f"{settings.max_low_agreement:.0%} allowed: the estimate is not valid and must not be used",
            f"{counted(low, 'вопрос', 'вопроса', 'вопросов')} из {items} ({share * 100:.0f} %) без большинства ({majority_rule(needed).ru}) "
            f"при допустимых {settings.max_low_agreement * 100:.0f} %: оценка "
            "некорректна, использовать её нельзя",
        ),
    )


def status_of_baseline(reasons: Sequence[BaselineWarning], health: ControlHealth, *, scored: bool) -> Status:
    """Return the status of a baseline; with several, the first one of rejected, check the controls, no estimate.

    The controls are to be checked if they exclude half of the annotators, or if a quarter of them, at least two, are suspect.

    Args:
        reasons: the reasons for rejection.
        health: the control items, and the annotators excluded by them.
        scored: whether the consensus is scored against gold answers.
    """
    suspects = len(health.suspects)
    if reasons:
        return "rejected"
    if health.excluded and health.excluded >= _UNTRUSTED_EXCLUSION * health.annotators:
        return "check the controls"
    if suspects >= max(_FEWEST_SUSPECTS, _UNTRUSTED_CONTROLS * len(health.controls)):
        return "check the controls"
    return "accepted" if scored else NO_ESTIMATE


def warnings(
    responses: Responses,
    annotators: pl.DataFrame,
    settings: Settings,
    *,
    gold: Gold | None,
    skills: pl.DataFrame | None,
    fit: Fit | None,
) -> tuple[BaselineWarning, ...]:
    """Return the warnings for the reader of a baseline.

    Args:
        responses: all responses.
        annotators: the table of annotators that `judged_annotators` returns.
        settings: the settings of the baseline.
        gold: the gold answers, if they are known.
        skills: the platform's skills of annotators, if they were given.
        fit: the model of annotators, if one was fitted.
    """
    return (
        *_warnings_on_controls(responses, annotators, settings),
        *_warnings_on_labels(responses, settings.labels),
        *_warnings_on_reading(responses, settings.labels),
        *map(_warning_on_unread, responses.unread),
        *_warnings_on_skills(annotators, settings, skills),
        *(_warnings_on_gold(gold) if gold else ()),
        *_warnings_on_model(fit),
    )


def _warnings_on_controls(
    responses: Responses, annotators: pl.DataFrame, settings: Settings
) -> tuple[BaselineWarning, ...]:
    unjudged = annotators.filter(pl.col("controls") < settings.min_controls).height
    if responses.table["is_control"].any() and not annotators["controls"].sum():
        return (
            BaselineWarning(
                "no_known_answers",
                f"none of the control items has a known answer in {responses.answer_field}: annotators were not "
                "checked, and none was excluded",
                f"ни у одного контрольного задания нет эталонного ответа в столбце {responses.answer_field}: разметчики не "
                "проверены, и никто не исключён",
            ),
        )
    if unjudged == annotators.height and not annotators["controls"].sum():
        return (
            BaselineWarning(
                "no_controls",
                "there are no control items: annotators were not checked, and none was excluded",
                "контрольных заданий нет: разметчики не проверены, и никто не исключён",
            ),
        )
    if not unjudged:
        return ()
    least = settings.min_controls
    few = "no control item" if least == 1 else f"fewer than {least} control items"
    people = counted(unjudged, "разметчик", "разметчика", "разметчиков")
    tasks = counted(
        settings.min_controls, "контрольное задание", "контрольных задания", "контрольных заданий"
    )
    return (
        BaselineWarning(
            "unjudged",
            f"{unjudged} of {annotators.height} annotators answered {few}: they could not be judged and were kept",
            f"{people} из {annotators.height} {form(unjudged, 'ответил', 'ответили', 'ответили')} меньше чем на {tasks}: "
            f"проверить {form(unjudged, 'его', 'их', 'их')} нельзя, ответы оставлены",
        ),
    )


def _warnings_on_labels(responses: Responses, labels: Sequence[str]) -> tuple[BaselineWarning, ...]:
    outside = responses.table.filter(~pl.col("answer").is_in(labels)) if labels else None
    if outside is None or not outside.height:
        return ()
    first = outside.row(0, named=True)
    place = f"{first['file']}, row {first['row']}"
    return (
        BaselineWarning(
            "outside_labels",
            f"{counted_en(outside.height, 'answer is', 'answers are')} not among the dataset's labels (the first is {shortened(first['answer'], 30)!r}: "
            f"{place}); {'it counts as a vote and is' if outside.height == 1 else 'they count as votes and are'} always wrong",
            f"{counted(outside.height, 'ответ', 'ответа', 'ответов')} не {form(outside.height, 'входит', 'входят', 'входят')} в набор меток датасета (первый — "
            f"«{shortened(first['answer'], 30)}»: {first['file']}, строка {first['row']}); "
            + (
                "он учтён как голос, но неверен"
                if outside.height == 1
                else "они учтены как голоса, но неверны"
            ),
        ),
    )


#: Data that older exports lack, in both languages; missing control items have a separate warning.
_ABSENT = {"time": ("times", "нет времени"), "reward": ("rewards", "нет вознаграждений")}


def _warnings_on_reading(responses: Responses, labels: Sequence[str]) -> tuple[BaselineWarning, ...]:
    """Warn about data missing from the export, recoded answers, and answers that look like typing errors."""
    found = []
    absent = [_ABSENT[what] for what in responses.absent if what in _ABSENT]
    if absent:
        found.append(
            BaselineWarning(
                "absent",
                f"the export has no {' and no '.join(en for en, _ in absent)}: values computed from them are left out",
                f"в выгрузке {', '.join(ru for _, ru in absent)}: основанные на них показатели не приводятся",
            )
        )
    for one in responses.recoded:
        answers = f"{one.answers} answer{'' if one.answers == 1 else 's'}"
        russian = counted(one.answers, "ответ", "ответа", "ответов")
        found.append(
            BaselineWarning(
                "recoded",
                f"recoded on request: {answers} '{one.written}' "
                + (f"count as '{one.kept}'" if one.kept is not None else "are left out"),
                f"перекодировано по запросу: {russian} «{one.written}» "
                + (
                    f"{form(one.answers, 'засчитан', 'засчитаны', 'засчитаны')} как «{one.kept}»"
                    if one.kept is not None
                    else f"не {form(one.answers, 'учтён', 'учтены', 'учтены')}"
                ),
            )
        )
    counts = dict(responses.table["answer"].value_counts().iter_rows())
    near = near_spellings(counts, labels)
    for place, typo in enumerate(near[:5], start=1):
        more, more_ru = _more_typos(len(near) - 5) if place == 5 < len(near) else ("", "")
        found.append(
            BaselineWarning(
                "near_spelling",
                f"'{typo.written}' ({typo.answers}) looks like a misspelling of '{typo.label}' ({typo.label_answers}); "
                f"{typo.option} merges them{more}",
                f"«{typo.written}» ({typo.answers}) похоже на опечатку в «{typo.label}» ({typo.label_answers}); "
                f"объединить: {typo.option}{more_ru}",
            )
        )
    return tuple(found)


def _more_typos(n: int) -> tuple[str, str]:
    """Describe how many further answers look like misspellings, in English and Russian."""
    en = counted_en(n, "more answer looks like a misspelling", "more answers look like misspellings")
    ru = counted(n, "ответ похож", "ответа похожи", "ответов похожи")
    return f"; {en}: see merilo inspect", f"; ещё {ru} на опечатки: см. merilo inspect"


def _warning_on_unread(unread: Unread) -> BaselineWarning:
    en, ru = {
        "time": ("time", "времени"),
        "seconds": ("duration", "длительности"),
        "reward": ("reward", "вознаграждения"),
    }[unread.what]
    text = shortened(unread.text, 30)
    rows = "1 row has" if unread.rows == 1 else f"{unread.rows} rows have"
    return BaselineWarning(
        f"unread_{unread.what}",
        f"{rows} an unreadable {en} in {unread.field} (the first is {text!r}: {unread.file}, row {unread.row}); it is "
        "treated as missing",
        f"в {counted(unread.rows, 'строке', 'строках', 'строках')} значение {ru} в столбце {unread.field} прочитать не удалось "
        f"(первое — «{text}»: {unread.file}, строка {unread.row}); оно считается пропущенным",
    )


def _warnings_on_skills(
    annotators: pl.DataFrame, settings: Settings, skills: pl.DataFrame | None
) -> tuple[BaselineWarning, ...]:
    if settings.resolve not in {"skill", "cascade"} or skills is None:
        return ()
    kept = annotators.filter(~pl.col("excluded"))
    unknown = kept["skill"].null_count()
    if not unknown:
        return ()
    return (
        BaselineWarning(
            "unknown_skill",
            f"{unknown} of {kept.height} annotators {'has' if unknown == 1 else 'have'} no skill in the file: the mean skill "
            "of the others is used instead",
            f"у {counted(unknown, 'разметчика', 'разметчиков', 'разметчиков')} из {kept.height} в файле нет навыка: вместо него "
            "взято среднее по остальным",
        ),
    )


def _warnings_on_model(fit: Fit | None) -> tuple[BaselineWarning, ...]:
    if fit is None or fit.converged:
        return ()
    name = {"glad": "GLAD", "dawid-skene": "Dawid-Skene", "one-coin": "one-coin"}[fit.model]
    return (
        BaselineWarning(
            "not_converged",
            f"{name} did not converge in {fit.iterations} iterations: its labels and estimates of annotators may still change",
            f"модель {name} не сошлась за {counted(fit.iterations, 'итерацию', 'итерации', 'итераций')}: её метки и оценки "
            "разметчиков могут ещё измениться",
        ),
    )


def _warnings_on_gold(gold: Gold) -> tuple[BaselineWarning, ...]:
    found = [BaselineWarning("gold", one.en, one.ru) for one in gold.warnings]
    if gold.without_gold:
        without = len(gold.without_gold)
        numbers = ", ".join(map(str, gold.without_gold[:10])) + (", …" if len(gold.without_gold) > 10 else "")
        found.append(
            BaselineWarning(
                "without_gold",
                f"{counted_en(without, 'item of the pool has no gold answer and is', 'items of the pool have no gold answer and are')} "
                f"not scored ({'item' if without == 1 else 'items'} {numbers})",
                f"для {counted(without, 'вопроса', 'вопросов', 'вопросов')} пула нет эталонного ответа, в оценку "
                f"{form(without, 'он не вошёл (номер', 'они не вошли (номера', 'они не вошли (номера')} {numbers})",
            )
        )
    if gold.unused:
        unused = len(gold.unused)
        rows = ", ".join(map(str, gold.unused[:10])) + (", …" if len(gold.unused) > 10 else "")
        found.append(
            BaselineWarning(
                "unused_gold",
                f"{counted_en(unused, 'gold answer matches', 'gold answers match')} no item of the pool "
                f"({'row' if unused == 1 else 'rows'} {rows} of {gold.source})",
                f"{counted(unused, 'эталонный ответ', 'эталонных ответа', 'эталонных ответов')} не "
                f"{form(unused, 'соответствует', 'соответствуют', 'соответствуют')} ни одному вопросу пула "
                f"({'строка' if unused == 1 else 'строки'} {rows} файла {gold.source})",
            )
        )
    return tuple(found)


def _excluded_ru(few: int, excluded: int) -> str:
    """Name the excluded annotators with few control answers, and their verb."""
    if few == excluded:
        return "единственный исключённый дал" if few == 1 else f"все {few} исключённых дали"
    return f"{few} из {excluded} исключённых {form(few, 'дал', 'дали', 'дали')}"


def warnings_on_exclusion(health: ControlHealth) -> tuple[BaselineWarning, ...]:
    """Return the warnings about control items and the annotators excluded by them."""
    found = []
    if suspects := len(health.suspects):
        controls_ru = counted(suspects, "контрольного задания", "контрольных заданий", "контрольных заданий")
        found.append(
            BaselineWarning(
                "suspect_controls",
                f"{suspects} of {len(health.controls)} control items may have a wrong known answer: most annotators who are accurate on "
                f"the other control items agree on another answer; without {'this control item' if suspects == 1 else 'these control items'}, the decision to exclude would change for "
                f"{counted_en(health.judged_differently, 'annotator', 'annotators')} of {health.annotators} (check the known answers)",
                f"у {controls_ru} из {len(health.controls)} эталонный ответ, возможно, ошибочен: большинство разметчиков, "
                "верно выполняющих остальные контрольные задания, сходятся на другом ответе; без таких заданий решение об исключении "
                f"изменилось бы для {counted(health.judged_differently, 'разметчика', 'разметчиков', 'разметчиков')} из "
                f"{health.annotators}",
            )
        )
    if few := health.excluded_on_few:
        found.append(
            BaselineWarning(
                "excluded_on_few_controls",
                f"{few} of {health.excluded} excluded annotators gave fewer than {FEW_CONTROLS} answers to control items "
                f"(to keep them, raise {argument('min_controls')})",
                f"{_excluded_ru(few, health.excluded)} меньше {FEW_CONTROLS} ответов на контрольные задания (чтобы не "
                f"исключать их, увеличьте {argument('min_controls')})",
            )
        )
    if health.excluded > MOST_EXCLUDED * health.annotators:
        people = counted(health.excluded, "разметчик", "разметчика", "разметчиков")
        found.append(
            BaselineWarning(
                "many_excluded",
                f"{health.excluded} of {health.annotators} annotators ({health.excluded / health.annotators:.0%}) are "
                "excluded, more than a third: the estimate describes only the remaining annotators",
                f"{form(health.excluded, 'исключён', 'исключены', 'исключены')} {people} из {health.annotators} "
                f"({health.excluded / health.annotators * 100:.0f} %), больше трети: оценка относится только к оставшимся разметчикам",
            )
        )
    return tuple(found)
