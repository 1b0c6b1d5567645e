"""What a score, a run, the plan of a run and a scored submission print, and how single answers were judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from merilo.cli.output import deliver, say
from merilo.estimate import Estimate
from merilo.records import Span
from merilo.reports.table import Cell, Section, Table
from merilo.strict_json import Json
from merilo.text import Money
from merilo.wording import counted_noun, listed, shortened

if TYPE_CHECKING:
    # Each command needs one of these, and runs load much.
    from merilo.cli.output import Part
    from merilo.metrics.metric import Judgement, Score
    from merilo.metrics.scoring import Scores
    from merilo.models.asking import Request
    from merilo.runs.model_run import RunPlan
    from merilo.runs.run_explanation import AnswerExplanation
    from merilo.runs.scores import DatasetRun, RunResult
    from merilo.submissions.evaluation import DatasetResult, SubmissionResult

#: Extra metrics shown for a dataset without main ones; the JSON holds all.
_SHOWN_EXTRA: Final = 15

#: How many faults are shown per dataset; the JSON holds more.
_SHOWN_FAULTS: Final = 5

#: How many items with unreadable replies are named per dataset; the JSON holds all.
_SHOWN_UNREADABLE: Final = 20

#: What a run's outcomes are called by the prompts that it asked with.
_PROMPTS: Final = {"harness": "those of the benchmark's harness", "merilo": "Merilo's"}


def score_parts(title: str, scores: Scores) -> Iterator[Part]:
    """Yield a dataset's scores."""
    main = (scores.main or scores.extra).values()
    methods = {score.interval.method: None for score in main if score.interval}
    notes = [f"Intervals: {'; '.join(methods)}"] if methods else []
    notes += [f"{name} is not computed: {why}" for name, why in scores.missing.items()]
    several = any(score.answers for score in scores.all().values())
    head = ("metric", "estimate", "items", *["answers"] * several)
    yield Table(title, head, tuple(_score_rows(scores, scores.all(), several=several)), tuple(notes))


def _estimate(score: Score) -> Estimate:
    return Estimate(value=score.value, ci95=Span.of(score.interval))


def deliver_run(result: RunResult, explained: list[AnswerExplanation], json_to: str | None) -> None:
    """Write and print a run, or the explanations of its items."""
    also: dict[str, Json] = (
        {"explained": [explanation.to_dict() for explanation in explained]} if explained else {}
    )
    parts = (part for explanation in explained for part in _explanation(explanation))
    deliver(json_to, lambda: {**result.to_dict(), **also}, parts if explained else _run(result))
    for note in result.notes:
        say(note)


def _run(result: RunResult) -> Iterator[Part]:
    """Yield a table of all datasets with metrics and outcomes, and what limits it."""
    several = any(dataset.record.samples > 1 for dataset in result.datasets.values())
    rows = [
        ("" if place else dataset.declared.title, *row, "" if place else _outcomes(dataset))
        for dataset in result.datasets.values()
        for place, row in enumerate(_run_rows(dataset, several=several))
    ]
    head = ("dataset", "metric", "estimate", "items", *["answers"] * several, "outcomes")
    remarks = [*_prompts(result)]
    for dataset in result.datasets.values():
        if dataset.answers.unreadable:
            remarks.append(_unreadable(dataset))
        if dataset.scores is not None:
            remarks += _not_computed(dataset.declared.title, dataset.scores)
    yield Table(result.model, head, tuple(rows))
    yield Section("remarks", remarks=tuple(remarks))


def _unreadable(dataset: DatasetRun) -> str:
    """Name the items whose replies have no readable answer, so that the reader can look at them."""
    unreadable = dataset.answers.unreadable
    items = list(dict.fromkeys(answer.item for answer in unreadable))
    return (
        f"{dataset.declared.title}: {counted_noun(len(unreadable), 'reply has', 'replies have')} no readable answer: "
        f"items {listed(items, _SHOWN_UNREADABLE)}; --explain {dataset.declared.name}:{items[0]} shows the reply and "
        "the reason"
    )


def _prompts(result: RunResult) -> Iterator[str]:
    """Say in which prompts a model was asked; a built-in respondent reads none."""
    if result.folder.record.model.builtin:
        return
    titles_of: dict[str, list[str]] = {}
    for dataset in result.datasets.values():
        titles_of.setdefault(dataset.record.prompts, []).append(dataset.declared.title)
    for form, titles in titles_of.items():
        datasets = f" ({', '.join(titles)})" if len(titles_of) > 1 else ""
        yield f"Prompts: {_PROMPTS.get(form, 'those that people saw')}{datasets}"


def _run_rows(dataset: DatasetRun, *, several: bool) -> Iterator[tuple[Cell, ...]]:
    """Yield metric, estimate, items and, if models answered items several times, answers of each metric."""
    asked = len(dataset.record.hashes)
    rows: list[tuple[Cell, ...]] = []
    if dataset.scores is not None:
        scores = (dataset.scores.main or dataset.scores.extra).values()
        rows = [(score.name, _estimate(score), *dataset.counts(score)) for score in scores]
        rows += [(name, None, None, None) for name in dataset.scores.missing]
    for row in rows[:_SHOWN_EXTRA] or [(None, None, asked, asked * dataset.record.samples)]:
        yield row if several else row[:-1]


def _outcomes(dataset: DatasetRun) -> str:
    outcomes = dataset.answers.absences or "all answered"
    if dataset.refused:
        outcomes += f", {dataset.refused} with media left out"
    return f"{outcomes}; {dataset.reason}" if dataset.scores is None and dataset.reason else outcomes


def _not_computed(title: str, scores: Scores) -> Iterator[str]:
    for reason in dict.fromkeys(scores.missing.values()):
        names = [name for name, why in scores.missing.items() if why == reason]
        yield f"{title}: not computed: {listed(names)} ({reason})"


def plan_parts(plan: RunPlan) -> Iterator[Part]:
    """Yield the first request of each dataset as it is rendered, and the estimates."""
    for dataset in plan.datasets.values():
        for request in dataset.rendered[:1]:
            yield f"=== {dataset.title}, item {request.item} ==="
            yield _prompt(request)
    rows = (
        (
            *(dataset.title, dataset.items, dataset.requests),
            *(
                dataset.prompt_tokens,
                dataset.completion_tokens,
                None if dataset.usd is None else Money(dataset.usd, "USD", 4),
            ),
        )
        for dataset in plan.datasets.values()
    )
    head = ("dataset", "items", "requests", "prompt tokens, about", "answer tokens, at most", "price")
    yield Table(plan.model, head, tuple(rows))


def _prompt(request: Request) -> str:
    from merilo.runs.model_run import rendered  # noqa: PLC0415 - as above

    content = rendered(request)
    lines = [f"[{message.role}]\n{message.text}" for message in request.messages] or [request.prompt]
    if request.choices:
        lines.append(f"[choices] {list(request.choices)}")
    else:
        names = [name for name in ("max_tokens", "temperature", "stop") if content[name] is not None]
        lines.append(f"[parameters] {', '.join(f'{name} {content[name]!r}' for name in names)}")
    return "\n".join(lines)


def _explanation(explanation: AnswerExplanation) -> Iterator[Part]:
    """Yield how an answer to an item of a run was asked, found and scored."""
    request, reply, extracted = explanation.request, explanation.reply, explanation.extracted
    sample = f", sample {request.sample}" if explanation.several else ""
    yield f"=== {explanation.title}, item {request.item}{sample} ==="
    yield _prompt(request)
    if reply.thought:
        yield f"[thought]\n{reply.thought}"
    yield f"[reply] ({reply.finish})\n{reply.text}"
    if reply.loglikelihoods:
        yield f"[log-likelihoods] {', '.join(f'{value:.4f}' for value in reply.loglikelihoods)}"
    if reply.error:
        yield f"[error] {reply.error}"
    answer = "—" if extracted.answer is None else extracted.answer
    yield f"[{extracted.outcome}] {answer} (rule: {extracted.rule})"
    yield from judgement_parts(explanation.judgements)
    if explanation.reason:
        yield f"[not scored] {explanation.reason}"


def judgement_parts(judgements: Iterable[Judgement], item: str = "") -> Iterator[Part]:
    """Yield the points of an answer under each metric, step by step; its item is named if it is given."""
    for judgement in judgements:
        name = f"item {item}, {judgement.metric}:" if item else f"[{judgement.metric}]"
        yield f"{name} {judgement.points:g} of {judgement.most:g}"
        yield from (f"  - {step}" for step in judgement.steps)


def submission_parts(result: SubmissionResult) -> Iterator[Part]:
    """Yield a submission's result: metrics by dataset, errors, total."""
    rows = [
        ("" if place else title, *row, "" if place else _why(of_dataset))
        for title, of_dataset in result.datasets.items()
        for place, row in enumerate(
            _score_rows(of_dataset.scores, of_dataset.scores.main or of_dataset.scores.extra)
        )
    ]
    if rows:
        yield Table("", ("dataset", "metric", "estimate", "items", "errors"), tuple(rows))
    yield Section("remarks", remarks=tuple(_remarks(result)))


def _score_rows(
    scores: Scores, shown: Mapping[str, Score], *, several: bool = False
) -> Iterator[tuple[Cell, ...]]:
    """Yield metric, estimate, items and, if items were answered several times, answers."""
    for name, score in shown.items():
        yield name, _estimate(score), score.n, *([score.answers or score.n] if several else [])
    yield from ((name, None, None, *[None] * several) for name in scores.missing)


def _why(dataset: DatasetResult) -> str:
    """Say why a dataset scored 0: its first error, and how many more there are."""
    count = dataset.answers.fault_count
    if not dataset.answers.faults:
        return str(count or "")
    more = f" (and more: {count - 1})" if count > 1 else ""
    return f"{shortened(str(dataset.answers.faults[0].line), 100)}{more}"


def _remarks(result: SubmissionResult) -> Iterator[str]:
    yield from (str(fault.line) for fault in result.faults)
    for title, of_dataset in result.datasets.items():
        answers = of_dataset.answers
        yield from _not_computed(title, of_dataset.scores)
        yield from (f"{title}: {fault.line}" for fault in answers.faults[:_SHOWN_FAULTS])
        if (more := answers.fault_count - _SHOWN_FAULTS) > 0:
            yield f"{title}: and more: {more}"
        if answers.unknown:
            yield f"{title}: answers to unknown items: {answers.unknown}"
    if result.ignored:
        names = [name if name.isprintable() else ascii(name)[1:-1] for name in result.ignored]
        yield f"Files of unknown datasets, not read: {listed(names)}"
    if result.without_gold:
        yield f"No gold answers, not scored: {', '.join(result.without_gold)}"
    if result.total is not None:
        yield f"Total score (datasets: {len(result.counted)}): {result.total:.4f}"
    if not result.counted and not result.without_gold:  # one's own datasets alone
        yield "Complete." if result.complete else "Not complete: a dataset with errors scores 0."
    elif result.ready_for_public and not result.counted:
        yield "Readiness for the public table was not judged: no dataset of the total score was scored."
    elif not result.ready_for_public:
        yield "Not ready for the public table."
    elif result.without_gold:
        # Only the owner of the closed tests can determine this for the whole benchmark.
        yield "Ready for the public table (judged by the datasets that could be scored)."
    else:
        yield "Ready for the public table."
