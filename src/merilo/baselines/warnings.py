"""What a baseline has to say for itself, in both languages of its report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from merilo.baselines.settings import Settings
from merilo.files import shortened
from merilo.people.aggregation import Fit
from merilo.people.gold import Gold
from merilo.people.recoding import near_spellings
from merilo.responses import Responses, Unread


@dataclass(frozen=True, slots=True)
class BaselineWarning:
    """One sentence for the reader of a baseline.

    Attributes:
        code: what it is about, for programs.
        en: the sentence in English.
        ru: the same in Russian.
    """

    code: str
    en: str
    ru: str


def form(n: int, one: str, few: str, many: str) -> str:
    """The form of the Russian word that a number asks for.

    Example:
        >>> [form(n, "ответ", "ответа", "ответов") for n in (1, 3, 11, 25, 101)]
        ['ответ', 'ответа', 'ответов', 'ответов', 'ответ']
    """
    if n % 10 == 1 and n % 100 != 11:
        return one
    return few if n % 10 in {2, 3, 4} and n % 100 not in {12, 13, 14} else many


def counted(n: int, one: str, few: str, many: str) -> str:
    """A number with the form of the Russian word that it asks for.

    Example:
        >>> counted(22, "ответ", "ответа", "ответов")
        '22 ответа'
    """
    return f"{n} {form(n, one, few, many)}"


def reasons_to_reject(low: int, items: int, settings: Settings) -> tuple[BaselineWarning, ...]:
    """Why a baseline is not valid; nothing when it is.

    Args:
        low: how many items have no majority.
        items: how many items there are.
        settings: what was decided beforehand.
    """
    share = low / items
    if share <= settings.max_low_agreement:
        return ()
    return (
        BaselineWarning(
            "low_agreement",
            f"{low} of {items} items ({share:.0%}) have no {settings.min_votes} equal answers, more than the "
            f"{settings.max_low_agreement:.0%} that were allowed: the estimate is not valid and must not be used",
            f"{counted(low, 'вопрос', 'вопроса', 'вопросов')} из {items} ({share * 100:.0f} %) не {form(low, 'набрал', 'набрали', 'набрали')} "
            f"{settings.min_votes} одинаковых ответов при допустимых {settings.max_low_agreement * 100:.0f} %: оценка "
            "некорректна, использовать её нельзя",
        ),
    )


def warnings(
    responses: Responses,
    annotators: pl.DataFrame,
    settings: Settings,
    *,
    gold: Gold | None,
    skills: pl.DataFrame | None,
    fit: Fit | None,
) -> tuple[BaselineWarning, ...]:
    """What the reader of a baseline should know besides its figure.

    Args:
        responses: all responses.
        annotators: the annotators, as `controls.annotators` makes them.
        settings: what was decided beforehand.
        gold: the right answers, if they are known.
        skills: the platform's skills, if they were given.
        fit: the model that was fitted on the way, if any.
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
                f"none of the control items has a known answer in {responses.answer_field}: nobody was checked, and nobody was "
                "excluded",
                f"ни у одного контрольного вопроса нет известного ответа в столбце {responses.answer_field}: никто не проверен и "
                "никто не исключён",
            ),
        )
    if unjudged == annotators.height and not annotators["controls"].sum():
        return (
            BaselineWarning(
                "no_controls",
                "there are no control items: nobody was checked, and nobody was excluded",
                "контрольных вопросов нет: никто не проверен и никто не исключён",
            ),
        )
    if not unjudged:
        return ()
    people = counted(unjudged, "разметчик", "разметчика", "разметчиков")
    return (
        BaselineWarning(
            "unjudged",
            f"{unjudged} of {annotators.height} annotators answered fewer than {settings.min_controls} control items: "
            "they could not be judged and were kept",
            f"{people} из {annotators.height}: контрольных ответов меньше {settings.min_controls}, проверить их нельзя, "
            "ответы оставлены",
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
            f"{outside.height} answers are none of the dataset's labels (the first is {shortened(first['answer'], 30)!r}: "
            f"{place}); they count as votes and can only be wrong",
            f"{counted(outside.height, 'ответ', 'ответа', 'ответов')} вне множества меток датасета (первый — "
            f"«{shortened(first['answer'], 30)}»: {first['file']}, строка {first['row']}); они учтены как голоса и могут "
            "быть только ошибочными",
        ),
    )


#: What older exports lack, in both languages; missing control items have a warning of their own.
_ABSENT = {"time": ("times", "нет времени"), "reward": ("rewards", "нет вознаграждений")}


def _warnings_on_reading(responses: Responses, labels: Sequence[str]) -> tuple[BaselineWarning, ...]:
    """What the export lacks, what the user recoded, and which answers look like slips."""
    found = []
    absent = [_ABSENT[what] for what in responses.absent if what in _ABSENT]
    if absent:
        found.append(
            BaselineWarning(
                "absent",
                f"the export has no {' and no '.join(en for en, _ in absent)}: what rests on them is left out",
                f"в выгрузке {', '.join(ru for _, ru in absent)}: показатели, которые на них основаны, не приводятся",
            )
        )
    for one in responses.recoded:
        answers = f"{one.answers} answer{'' if one.answers == 1 else 's'}"
        russian = counted(one.answers, "ответ", "ответа", "ответов")
        found.append(
            BaselineWarning(
                "recoded",
                f"recoded as asked: {answers} '{one.written}' "
                + (f"count as '{one.kept}'" if one.kept is not None else "are left out"),
                f"перекодировано по указанию: {russian} «{one.written}» "
                + (f"— это «{one.kept}»" if one.kept is not None else "— не учитываются"),
            )
        )
    counts = dict(responses.table["answer"].value_counts().iter_rows())
    near = near_spellings(counts, labels)
    for place, slip in enumerate(near[:5], start=1):
        more = f"; {len(near) - 5} more look like slips, see merilo inspect" if place == 5 < len(near) else ""
        found.append(
            BaselineWarning(
                "near_spelling",
                f"'{slip.written}' ({slip.answers}) looks like a spelling of '{slip.label}' ({slip.label_answers}); "
                f"{slip.option} joins them{more}",
                f"«{slip.written}» ({slip.answers}) похоже на написание «{slip.label}» ({slip.label_answers}); "
                f"объединить: {slip.option}",
            )
        )
    return tuple(found)


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
        f"{rows} no readable {en} in {unread.field} (the first is {text!r}: {unread.file}, row {unread.row}); it counts as "
        "not given",
        f"в {counted(unread.rows, 'строке', 'строках', 'строках')} значение {ru} в столбце {unread.field} прочитать не удалось "
        f"(первое — «{text}»: {unread.file}, строка {unread.row}); оно не учтено",
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
            f"{unknown} of {kept.height} annotators have no skill in the file: each counts with the mean of the others",
            f"{counted(unknown, 'разметчик', 'разметчика', 'разметчиков')} из {kept.height} без навыка в файле: каждому "
            "приписано среднее остальных",
        ),
    )


def _warnings_on_model(fit: Fit | None) -> tuple[BaselineWarning, ...]:
    if fit is None or fit.converged:
        return ()
    name = {"glad": "GLAD", "dawid-skene": "Dawid-Skene", "one-coin": "one-coin"}[fit.model]
    return (
        BaselineWarning(
            "not_converged",
            f"{name} did not converge in {fit.iterations} iterations: its labels and qualities may still move",
            f"{name} не сошёлся за {counted(fit.iterations, 'итерацию', 'итерации', 'итераций')}: его метки и оценки людей "
            "могут ещё измениться",
        ),
    )


def _warnings_on_gold(gold: Gold) -> tuple[BaselineWarning, ...]:
    found = [BaselineWarning("gold", text, text) for text in gold.warnings]
    if gold.without_gold:
        numbers = ", ".join(map(str, gold.without_gold[:10])) + (", …" if len(gold.without_gold) > 10 else "")
        found.append(
            BaselineWarning(
                "without_gold",
                f"{len(gold.without_gold)} items of the pool have no gold answer and are not scored (items {numbers})",
                f"{counted(len(gold.without_gold), 'вопрос', 'вопроса', 'вопросов')} пула без правильного ответа, в "
                f"оценку не вошли (номера {numbers})",
            )
        )
    if gold.unused:
        rows = ", ".join(map(str, gold.unused[:10])) + (", …" if len(gold.unused) > 10 else "")
        found.append(
            BaselineWarning(
                "unused_gold",
                f"{len(gold.unused)} gold answers match no item of the pool (rows {rows} of {gold.source})",
                f"{counted(len(gold.unused), 'правильный ответ', 'правильных ответа', 'правильных ответов')} не "
                f"соответствуют ни одному вопросу пула (строки {rows} файла {gold.source})",
            )
        )
    return tuple(found)
