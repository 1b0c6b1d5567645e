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
from merilo.runs.run_scores import DatasetRun, RunResult
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
        for one in explained:
            show_explanation(one)
        if not explained:
            show_run(result)

    also: dict[str, Json] = {"explained": [one.to_dict() for one in explained]} if explained else {}
    deliver(json_to, lambda: {**result.to_dict(), **also}, shown)
    for note in result.notes:
        say(note)


def show_run(result: RunResult) -> None:
    """Print a table of all datasets with metrics and outcomes."""
    over_items = (_VALUE[0], Text("95 % interval over items"), _VALUE[2])
    sampled = [Text("answers", context="column")] * any(
        one.record.samples > 1 for one in result.datasets.values()
    )
    heads = [Text("dataset"), Text("metric"), *over_items, *sampled, Text("outcomes")]
    rows = [
        ("" if place else one.declared.title, *row[: len(heads) - 2], "" if place else _outcomes(one))
        for one in result.datasets.values()
        for place, row in enumerate(_run_rows(one))
    ]
    show_table(rows, heads, title=result.model, left=(0, 1, len(heads) - 1))
    show(*_prompts(result), wrap=True)
    for one in result.datasets.values():
        if one.answers.unreadable:
            show(_unreadable(one), wrap=True)
        if one.scores is not None:
            show(*_not_computed(one.declared.title, one.scores), wrap=True)


def _unreadable(one: DatasetRun) -> Text:
    """Name the items whose replies have no readable answer, so that the reader can look at them."""
    found = one.answers.unreadable
    items = list(dict.fromkeys(answer.item for answer in found))
    return Text(
        "{dataset}: {n:# reply has|# replies have} no readable answer: items {items}; --explain {example} shows the "
        "reply and the reason",
        dataset=one.declared.title,
        n=len(found),
        items=listed(items, _SHOWN_UNREADABLE),
        example=f"{one.declared.name}:{items[0]}",
    )


def _prompts(result: RunResult) -> Iterator[Text]:
    """Say in which prompts a model was asked; a built-in respondent reads none."""
    if result.folder.record.model.builtin:
        return
    held: dict[str, list[str]] = {}
    for one in result.datasets.values():
        held.setdefault(one.record.prompts, []).append(one.declared.title)
    for form, titles in held.items():
        named = f" ({', '.join(titles)})" if len(held) > 1 else ""
        yield Text(
            "Prompts: {form:harness=those of the benchmark's harness|merilo=Merilo's|those that people saw}{datasets}",
            form=form,
            datasets=named,
        )


def _run_rows(one: DatasetRun) -> list[tuple[str, ...]]:
    """Return metric, value, interval, items and answers of each metric."""
    rows: list[tuple[str, ...]] = []
    if one.scores is not None:
        scores = (one.scores.main or one.scores.extra).values()
        rows = [(*_cells(score)[:-1], *map(str, one.counts(score))) for score in scores]
        rows += [(name, *["—"] * 4) for name in one.scores.missing]
    asked = len(one.record.hashes)
    return rows[:_SHOWN_EXTRA] or [("—", "—", "—", str(asked), str(asked * one.record.samples))]


def _score_rows(scores: Scores) -> Iterator[tuple[str, ...]]:
    for score in (scores.main or scores.extra).values():
        yield _cells(score)
    for name in scores.missing:
        yield name, "—", "—", "—"


def _cells(score: Score) -> tuple[str, ...]:
    sure = score.interval
    bounds = "—" if sure is None else f"{number(sure.low, '.3f')} … {number(sure.high, '.3f')}"
    return score.name, number(score.value, ".4f"), bounds, str(score.n)


def _outcomes(one: DatasetRun) -> Text:
    refused = Text("{n} with media left out", n=one.refused) if one.refused else ""
    told = joined([str(one.outcomes) or Text("all answered"), refused], ", ")
    return joined([told, one.reason], "; ") if one.scores is None else told


def _not_computed(title: str, scores: Scores) -> Iterator[Text]:
    for reason in dict.fromkeys(scores.missing.values()):
        names = [name for name, why in scores.missing.items() if why == reason]
        yield Text(
            "{dataset}: not computed: {metrics} ({reason})", dataset=title, metrics=names, reason=reason
        )


def show_plan(plan: RunPlan) -> None:
    """Print a plan: the first request of each dataset as it is rendered, and the estimates."""
    for one in plan.datasets.values():
        for request in one.requests[:1]:
            show(
                Text("=== {dataset}, item {item} ===", dataset=one.title, item=request.item), _prompt(request)
            )
    show_table(
        [
            (
                one.title, one.items, one.count, f"~{one.prompt_tokens}", f"≤{one.completion_tokens}",
                number(one.usd, ".4f"),
            )
            for one in plan.datasets.values()
        ],
        [
            *(Text("dataset"), Text("items", context="column"), Text("requests"), Text("prompt tokens")),
            *(Text("answer tokens"), "USD"),
        ],
        title=plan.model,
    )  # fmt: skip


def _prompt(request: Request) -> str:
    content = rendered(request)
    lines = [f"[{one.role}]\n{one.text}" for one in request.messages] or [request.prompt]
    if request.choices:
        lines.append(f"[choices] {list(request.choices)}")
    else:
        told = (
            f"{name} {content[name]!r}"
            for name in ("max_tokens", "temperature", "stop")
            if content[name] is not None
        )
        lines.append(f"[parameters] {', '.join(told)}")
    return "\n".join(lines)


def show_explanation(one: ItemExplanation) -> None:
    """Print how the answers to an item of a run were asked, found and scored."""
    for sample in one.samples:
        several = Text(", sample {n}", n=sample.sample) if len(one.samples) > 1 else ""
        show(Text("=== {dataset}, item {item}{sample} ===", dataset=one.title, item=one.item, sample=several))
        reply, found = sample.reply, sample.extracted
        if sample.request is not None:
            show(_prompt(sample.request))
        if reply.thought:
            show(f"[thought]\n{reply.thought}")
        show(f"[reply] ({reply.finish})\n{reply.text}")
        if reply.loglikelihoods:
            show(f"[log-likelihoods] {', '.join(f'{value:.4f}' for value in reply.loglikelihoods)}")
        if reply.error:
            show(f"[error] {reply.error}")
        answer = "—" if found.answer is None else found.answer
        show(
            Text("[{outcome}] {answer} (rule: {rule})", outcome=found.outcome, answer=answer, rule=found.rule)
        )
        show_judgements(sample.judgements)
        if sample.reason:
            show(Text("[not scored] {why}", why=sample.reason))


def show_judgements(judgements: Iterable[Judgement], item: str = "") -> None:
    """Print the points of an answer under each metric, step by step; its item is named if it is given."""
    for one in judgements:
        name = Text("item {item}, {metric}:", item=item, metric=one.metric) if item else f"[{one.metric}]"
        show(Text("{metric} {points:g} of {most:g}", metric=name, points=one.points, most=one.most))
        show(*(f"  - {step}" for step in one.steps))


def show_result(result: SubmissionResult) -> None:
    """Print a submission's result: metrics by dataset, errors, total."""
    rows = [
        ("" if place else title, *row, "" if place else _why(one))
        for title, one in result.datasets.items()
        for place, row in enumerate(_score_rows(one.scores))
    ]
    if result.datasets:
        show_table(rows, [Text("dataset"), Text("metric"), *_VALUE, Text("errors")], left=(0, 1, 5))
    show(*_remarks(result), wrap=True)


def _why(one: DatasetResult) -> str:
    """Say why a dataset scored 0: its first error, and how many more there are."""
    count = one.answers.fault_count
    if not one.answers.faults:
        return str(count or "")
    more = Text(" (and more: {n})", n=count - 1) if count > 1 else ""
    return f"{shortened(str(one.answers.faults[0].line), 100)}{more}"


def _remarks(result: SubmissionResult) -> Iterator[Text]:
    yield from (fault.line for fault in result.faults)
    for title, one in result.datasets.items():
        answers = one.answers
        yield from _not_computed(title, one.scores)
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
