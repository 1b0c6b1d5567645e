"""Print the scores of runs, of answers and of submissions, and how single answers were judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from merilo.cli.output import deliver, number, say, show, show_table
from merilo.metrics.metric import Judgement, Score
from merilo.metrics.scoring import Scores
from merilo.models.asking import Request
from merilo.runs.model_run import RunPlan, rendered
from merilo.runs.run_explanation import ItemExplanation
from merilo.runs.scores import DatasetRun, RunResult
from merilo.strict_json import Json
from merilo.submissions.evaluation import DatasetResult, SubmissionResult
from merilo.text import Text, joined
from merilo.wording import listed, shortened

#: Extra metrics shown for a dataset without main ones; the JSON holds all.
_SHOWN_EXTRA: Final = 15

#: How many faults are shown per dataset; the JSON holds more.
_SHOWN_FAULTS: Final = 5

#: How many items with unreadable replies are named per dataset; the JSON holds all.
_SHOWN_UNREADABLE: Final = 20

_VALUE: Final = (Text("value"), Text("95 % interval"), Text("items", context="column"))


def show_scores(title: str, scores: Scores) -> None:
    """Print a dataset's scores."""
    rows: list[tuple[object, ...]] = [
        (*_cells(score), score.interval.method if score.interval else "") for score in scores.all().values()
    ]
    rows += [
        (name, "—", "—", "—", Text("not computed: {why}", why=why)) for name, why in scores.missing.items()
    ]
    show_table(rows, [Text("metric"), *_VALUE, Text("interval method")], title=title, left=(0, 4))


def deliver_run(result: RunResult, explained: list[ItemExplanation], json_to: str | None) -> None:
    """Write and print a run, or the explanations of its items."""

    def shown() -> None:
        for explanation in explained:
            show_explanation(explanation)
        if not explained:
            show_run(result)

    also: dict[str, Json] = (
        {"explained": [explanation.to_dict() for explanation in explained]} if explained else {}
    )
    deliver(json_to, lambda: {**result.to_dict(), **also}, shown)
    for note in result.notes:
        say(note)


def show_run(result: RunResult) -> None:
    """Print a table of all datasets with metrics and outcomes."""
    over_items = (_VALUE[0], Text("95 % interval over items"), _VALUE[2])
    sampled = [Text("answers", context="column")] * any(
        dataset.record.samples > 1 for dataset in result.datasets.values()
    )
    heads = [Text("dataset"), Text("metric"), *over_items, *sampled, Text("outcomes")]
    rows = [
        ("" if place else dataset.declared.title, *row[: len(heads) - 2], "" if place else _outcomes(dataset))
        for dataset in result.datasets.values()
        for place, row in enumerate(_run_rows(dataset))
    ]
    show_table(rows, heads, title=result.model, left=(0, 1, len(heads) - 1))
    show(*_prompts(result), wrap=True)
    for dataset in result.datasets.values():
        if dataset.answers.unreadable:
            show(_unreadable(dataset), wrap=True)
        if dataset.scores is not None:
            show(*_not_computed(dataset.declared.title, dataset.scores), wrap=True)


def _unreadable(dataset: DatasetRun) -> Text:
    """Name the items whose replies have no readable answer, so that the reader can look at them."""
    unreadable = dataset.answers.unreadable
    items = list(dict.fromkeys(answer.item for answer in unreadable))
    return Text(
        "{dataset}: {n:# reply has|# replies have} no readable answer: items {items}; --explain {example} shows the "
        "reply and the reason",
        dataset=dataset.declared.title,
        n=len(unreadable),
        items=listed(items, _SHOWN_UNREADABLE),
        example=f"{dataset.declared.name}:{items[0]}",
    )


def _prompts(result: RunResult) -> Iterator[Text]:
    """Say in which prompts a model was asked; a built-in respondent reads none."""
    if result.folder.record.model.builtin:
        return
    titles_of: dict[str, list[str]] = {}
    for dataset in result.datasets.values():
        titles_of.setdefault(dataset.record.prompts, []).append(dataset.declared.title)
    for form, titles in titles_of.items():
        named = f" ({', '.join(titles)})" if len(titles_of) > 1 else ""
        yield Text(
            "Prompts: {form:harness=those of the benchmark's harness|merilo=Merilo's|those that people saw}{datasets}",
            form=form,
            datasets=named,
        )


def _run_rows(dataset: DatasetRun) -> list[tuple[str, ...]]:
    """Return metric, value, interval, items and answers of each metric."""
    rows: list[tuple[str, ...]] = []
    if dataset.scores is not None:
        scores = (dataset.scores.main or dataset.scores.extra).values()
        rows = [(*_cells(score)[:-1], *map(str, dataset.counts(score))) for score in scores]
        rows += [(name, *["—"] * 4) for name in dataset.scores.missing]
    asked = len(dataset.record.hashes)
    return rows[:_SHOWN_EXTRA] or [("—", "—", "—", str(asked), str(asked * dataset.record.samples))]


def _score_rows(scores: Scores) -> Iterator[tuple[str, ...]]:
    for score in (scores.main or scores.extra).values():
        yield _cells(score)
    for name in scores.missing:
        yield name, "—", "—", "—"


def _cells(score: Score) -> tuple[str, ...]:
    sure = score.interval
    bounds = "—" if sure is None else f"{number(sure.low, '.3f')} … {number(sure.high, '.3f')}"
    return score.name, number(score.value, ".4f"), bounds, str(score.n)


def _outcomes(dataset: DatasetRun) -> Text:
    refused = Text("{n} with media left out", n=dataset.refused) if dataset.refused else ""
    outcomes = joined([str(dataset.outcomes) or Text("all answered"), refused], ", ")
    return joined([outcomes, dataset.reason], "; ") if dataset.scores is None else outcomes


def _not_computed(title: str, scores: Scores) -> Iterator[Text]:
    for reason in dict.fromkeys(scores.missing.values()):
        names = [name for name, why in scores.missing.items() if why == reason]
        yield Text(
            "{dataset}: not computed: {metrics} ({reason})", dataset=title, metrics=names, reason=reason
        )


def show_plan(plan: RunPlan) -> None:
    """Print a plan: the first request of each dataset as it is rendered, and the estimates."""
    for dataset in plan.datasets.values():
        for request in dataset.requests[:1]:
            show(
                Text("=== {dataset}, item {item} ===", dataset=dataset.title, item=request.item),
                _prompt(request),
            )
    show_table(
        [
            (
                dataset.title,
                dataset.items,
                dataset.count,
                f"~{dataset.prompt_tokens}",
                f"≤{dataset.completion_tokens}",
                number(dataset.usd, ".4f"),
            )
            for dataset in plan.datasets.values()
        ],
        [
            *(Text("dataset"), Text("items", context="column"), Text("requests"), Text("prompt tokens")),
            *(Text("answer tokens"), "USD"),
        ],
        title=plan.model,
    )  # fmt: skip


def _prompt(request: Request) -> str:
    content = rendered(request)
    lines = [f"[{message.role}]\n{message.text}" for message in request.messages] or [request.prompt]
    if request.choices:
        lines.append(f"[choices] {list(request.choices)}")
    else:
        estimate = (
            f"{name} {content[name]!r}"
            for name in ("max_tokens", "temperature", "stop")
            if content[name] is not None
        )
        lines.append(f"[parameters] {', '.join(estimate)}")
    return "\n".join(lines)


def show_explanation(explanation: ItemExplanation) -> None:
    """Print how the answers to an item of a run were asked, found and scored."""
    for sample in explanation.samples:
        several = Text(", sample {n}", n=sample.sample) if len(explanation.samples) > 1 else ""
        show(
            Text(
                "=== {dataset}, item {item}{sample} ===",
                dataset=explanation.title,
                item=explanation.item,
                sample=several,
            )
        )
        reply, extracted = sample.reply, sample.extracted
        if sample.request is not None:
            show(_prompt(sample.request))
        if reply.thought:
            show(f"[thought]\n{reply.thought}")
        show(f"[reply] ({reply.finish})\n{reply.text}")
        if reply.loglikelihoods:
            show(f"[log-likelihoods] {', '.join(f'{value:.4f}' for value in reply.loglikelihoods)}")
        if reply.error:
            show(f"[error] {reply.error}")
        answer = "—" if extracted.answer is None else extracted.answer
        show(
            Text(
                "[{outcome}] {answer} (rule: {rule})",
                outcome=extracted.outcome,
                answer=answer,
                rule=extracted.rule,
            )
        )
        show_judgements(sample.judgements)
        if sample.reason:
            show(Text("[not scored] {why}", why=sample.reason))


def show_judgements(judgements: Iterable[Judgement], item: str = "") -> None:
    """Print the points of an answer under each metric, step by step; its item is named if it is given."""
    for judgement in judgements:
        name = (
            Text("item {item}, {metric}:", item=item, metric=judgement.metric)
            if item
            else f"[{judgement.metric}]"
        )
        show(
            Text("{metric} {points:g} of {most:g}", metric=name, points=judgement.points, most=judgement.most)
        )
        show(*(f"  - {step}" for step in judgement.steps))


def show_result(result: SubmissionResult) -> None:
    """Print a submission's result: metrics by dataset, errors, total."""
    rows = [
        ("" if place else title, *row, "" if place else _why(result_of))
        for title, result_of in result.datasets.items()
        for place, row in enumerate(_score_rows(result_of.scores))
    ]
    if result.datasets:
        show_table(rows, [Text("dataset"), Text("metric"), *_VALUE, Text("errors")], left=(0, 1, 5))
    show(*_remarks(result), wrap=True)


def _why(dataset: DatasetResult) -> str:
    """Say why a dataset scored 0: its first error, and how many more there are."""
    count = dataset.answers.fault_count
    if not dataset.answers.faults:
        return str(count or "")
    more = Text(" (and more: {n})", n=count - 1) if count > 1 else ""
    return f"{shortened(str(dataset.answers.faults[0].line), 100)}{more}"


def _remarks(result: SubmissionResult) -> Iterator[Text]:
    yield from (fault.line for fault in result.faults)
    for title, result_of in result.datasets.items():
        answers = result_of.answers
        yield from _not_computed(title, result_of.scores)
        for fault in answers.faults[:_SHOWN_FAULTS]:
            yield joined([f"{title}:", fault.line])
        if (more := answers.fault_count - _SHOWN_FAULTS) > 0:
            yield Text("{dataset}: and more: {n}", dataset=title, n=more)
        if answers.unknown:
            yield Text("{dataset}: answers to unknown items: {n}", dataset=title, n=answers.unknown)
    if result.ignored:
        names = [name if name.isprintable() else ascii(name)[1:-1] for name in result.ignored]
        yield Text("Files of unknown datasets, not read: {names}", names=names)
    if result.without_gold:
        yield Text("No gold answers, not scored: {names}", names=joined(result.without_gold, ", "))
    if result.total is not None:
        yield Text("Total score (datasets: {n}): {total:.4f}", n=len(result.counted), total=result.total)
    if result.ready_for_public and not result.counted:
        yield Text("Readiness for the public table was not judged: no dataset of the total score was scored.")
    elif not result.ready_for_public:
        yield Text("Not ready for the public table.")
    elif result.without_gold:
        # Only the owner of the closed tests can determine this for the whole benchmark.
        yield Text("Ready for the public table (judged by the datasets that could be scored).")
    else:
        yield Text("Ready for the public table.")
