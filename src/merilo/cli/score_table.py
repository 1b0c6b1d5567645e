"""Print tables of scores on a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from merilo.bilingual import Language
from merilo.errors import for_command_line
from merilo.metrics.score import Score
from merilo.metrics.scoring import Scores
from merilo.submissions.evaluation import DatasetResult, SubmissionResult
from merilo.wording import shortened

#: How many faults are shown per dataset; the JSON holds more.
_SHOWN_FAULTS: Final = 5

_WORDS: Final = {
    "dataset": ("датасет", "dataset"),
    "metric": ("метрика", "metric"),
    "value": ("значение", "value"),
    "ci95": ("95%-й интервал", "95 % interval"),
    "n": ("заданий", "items"),
    "how": ("метод интервала", "interval method"),
    "errors": ("ошибки", "errors"),
    "missing": ("не вычислено", "not computed"),
    "more": ("и ещё", "and more:"),
    "total": ("Итоговый балл", "Total score"),
    "over": ("датасетов", "datasets"),
    "ready": ("Готово к публичной таблице", "Ready for the public table"),
    "not_ready": ("Не готово к публичной таблице", "Not ready for the public table"),
    "not_judged": (
        "Готовность к публичной таблице не определена: ни один датасет итогового балла не оценён",
        "Readiness for the public table was not judged: no dataset of the total score was scored",
    ),
    "so_far": (
        " (по тем датасетам, которые удалось оценить)",
        " (judged by the datasets that could be scored)",
    ),
    "without_gold": ("Не оценены: нет эталонных ответов", "No gold answers, not scored"),
    "ignored": ("Файлы, не относящиеся к датасетам (не прочитаны)", "Files of unknown datasets, not read"),
    "unknown": ("ответов на неизвестные вопросы", "answers to unknown items"),
}


def word(key: str, language: Language) -> str:
    """Return a word of the tables in the given language."""
    return _WORDS[key][0 if language == "ru" else 1]


def show_scores(title: str, scores: Scores, language: Language = "en") -> None:
    """Print a dataset's scores."""
    table = Table(title=title, title_justify="left")
    table.add_column(word("metric", language), no_wrap=True, overflow="ignore")
    for key in ("value", "ci95", "n"):
        table.add_column(word(key, language), justify="right")
    table.add_column(word("how", language), overflow="fold")
    for one in scores.all().values():
        table.add_row(*_cells(one))
    for name, reason in scores.missing.items():
        table.add_row(name, "—", "—", "—", f"{word('missing', language)}: {for_command_line(reason)}")
    Console().print(table)


def show_result(result: SubmissionResult, language: Language) -> None:
    """Print a submission's result: metrics by dataset, errors, total."""
    console = Console()
    table = Table()
    table.add_column(word("dataset", language))
    table.add_column(word("metric", language), overflow="fold")
    for key in ("value", "ci95", "n"):
        table.add_column(word(key, language), justify="right")
    table.add_column(word("errors", language), overflow="fold")
    for title, one in result.datasets.items():
        for place, cells in enumerate(_rows(one)):
            table.add_row("" if place else title, *cells, _why(one, language) if not place else "")
    if result.datasets:
        console.print(table)
    for line in _remarks(result, language):
        # Texts from a submission must not be read as markup.
        console.print(Text(line))


def _why(one: DatasetResult, language: Language) -> Text:
    """Say why a dataset scored 0: its first error, and how many more there are."""
    if not one.faults:
        return Text(str(one.fault_count or ""))
    more = f" ({word('more', language)} {one.fault_count - 1})" if one.fault_count > 1 else ""
    return Text(shortened(one.faults[0].told(language), 100) + more)


def _rows(one: DatasetResult) -> Iterable[tuple[str, ...]]:
    for found in (one.scores.main or one.scores.extra).values():
        yield _cells(found)[:4]
    for name in one.scores.missing:
        yield name, "—", "—", "—"


def _remarks(result: SubmissionResult, language: Language) -> Iterable[str]:
    yield from (found.told(language) for found in result.faults)
    for title, one in result.datasets.items():
        for reason in dict.fromkeys(one.scores.missing.values()):
            metrics = [name for name, why in one.scores.missing.items() if why == reason]
            yield f"{title}: {word('missing', language)}: {', '.join(metrics)} ({for_command_line(reason)})"
        yield from (f"{title}: {found.told(language)}" for found in one.faults[:_SHOWN_FAULTS])
        if one.fault_count > _SHOWN_FAULTS:
            yield f"{title}: {word('more', language)} {one.fault_count - _SHOWN_FAULTS}"
        if one.unknown:
            yield f"{title}: {word('unknown', language)}: {one.unknown}"
    if result.ignored:
        names = [name if name.isprintable() else ascii(name)[1:-1] for name in result.ignored[:12]]
        yield f"{word('ignored', language)}: {', '.join(names)}"
    if result.without_gold:
        yield f"{word('without_gold', language)}: {', '.join(result.without_gold)}"
    if result.total is not None:
        count = f"({word('over', language)}: {len(result.counted)})"
        yield f"{word('total', language)} {count}: {result.total:.4f}"
    if result.ready_for_public and not result.counted:
        yield f"{word('not_judged', language)}."
        return
    verdict = word("ready" if result.ready_for_public else "not_ready", language)
    # Only the owner of the closed tests can determine this for the whole benchmark.
    yield f"{verdict}{word('so_far', language) if result.ready_for_public and result.without_gold else ''}."


def _cells(one: Score) -> tuple[str, str, str, str, str]:
    interval = one.interval
    bounds = "—" if interval is None else f"{interval.low:.3f} … {interval.high:.3f}"
    return one.name, f"{one.value:.4f}", bounds, str(one.n), "" if interval is None else interval.method
