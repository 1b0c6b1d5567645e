"""The report of a baseline: one self-contained page in English and Russian that prints well."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl
from markupsafe import Markup

from merilo.baselines.baseline import Baseline
from merilo.baselines.consensus_table import shown_fields
from merilo.baselines.doubtful_items import DoubtfulItems
from merilo.baselines.evidence import Evidence
from merilo.baselines.findings import STATUSES, majority_rule
from merilo.baselines.people_table import PEOPLE_ROWS, people_values
from merilo.baselines.row import Row, headlines
from merilo.baselines.signal_counts import PersonSignals, SignalsRecord, signal_sentences
from merilo.errors import for_command_line
from merilo.estimate import Estimate
from merilo.participation import FEWEST
from merilo.people.typing_errors import TYPING_ERRORS
from merilo.reports import charts
from merilo.reports.arm_tables import arm_tables
from merilo.reports.baseline_facts import (
    REASONS,
    WAYS,
    baseline_facts,
    counted_from,
    dataset_title,
    ways,
)
from merilo.reports.charts import Chart, Dot, Segment, page_environment
from merilo.reports.comparison_page import rows_table
from merilo.reports.estimates import metric_title
from merilo.reports.prose import methods
from merilo.reports.table import html_table
from merilo.statistics.intervals import wilson
from merilo.strict_json import Json
from merilo.studies.instruction import html_of
from merilo.studies.plan_types import FROZEN_FILE, INSTRUCTION_FILES
from merilo.text import Given, Text, joined

#: The maximum number of rows of a table on the page; the files in the same folder hold all rows.
MOST_ROWS: Final = 12

#: The list of differences between a frozen plan and the present one, beside the plan in a published folder.
CHANGES_FILE: Final = "changes.json"


def page(
    record: Baseline,
    *,
    plan: Mapping[str, Json] | None = None,
    attachments: Mapping[str, bytes] | None = None,
) -> str:
    """Render the report; if annotators are simulated, the heading and each estimate are marked as simulated.

    Args:
        record: the baseline.
        plan: the content of `study.yaml`; `None` if the study was not planned with Merilo.
        attachments: the files of the plan by name, such as the instruction.

    Returns:
        HTML without scripts and without links to anything outside itself.
    """
    baseline, models = record.evidence, record.models
    segments, rule = resolution(record), majority_rule(baseline.decided.votes_needed)
    rendered = (
        page_environment()
        .get_template("report.html.j2")
        .render(
            baseline=baseline,
            scored=record.scored,
            provenance=record.provenance,
            findings=baseline.findings,
            title=dataset_title(record, plan) or "",
            simulated=record.simulated,
            status=STATUSES[baseline.status],
            ways=segments,
            way_chart=charts.stacked_bar(segments),
            figures=_figures(baseline),
            headline=baseline.estimates.headline,
            metric_title=metric_title,
            control_chart=_control_chart(baseline),
            agreement_chart=_agreement_chart(baseline),
            excluded=baseline.annotators.filter("excluded")
            .sort(["responses", "control_accuracy", "annotator"], descending=[True, False, False])
            .to_dicts(),
            doubtful=_doubtful(baseline.doubtful) if baseline.doubtful else _undecided(baseline),
            checked=bool(baseline.doubtful),
            typing_errors=TYPING_ERRORS,
            fields=shown_fields(baseline.consensus),
            rows=_rows(record),
            overlap=_overlap(record),
            alpha_defined=record.agreement.krippendorff_alpha is not None,
            alpha_interval=record.agreement.ci95,
            majority=Given({"en": rule.en, "ru": rule.ru}),
            made=record,
            unjudged=record.annotator_counts.unjudged,
            suspects=record.controls.suspects,
            most_rows=MOST_ROWS,
            asked=_asked(baseline, attachments or {}),
            frozen=_frozen(attachments or {}),
            arms=arm_tables(record) if record.arms else (),
            methods=methods(record, plan),
            models=models,
            models_table=rows_table(models) if models else None,
            html_table=html_table,
            headlines=headlines,
            whole=baseline.whole,
            echoes=[one for one in record.echoes if not one.reason],
            signals=signal_sentences(record.signals) if record.signals else (),
            signalled=[] if record.signals is None else _with_signals(record.signals),
            conditions=baseline_facts(record, plan).conditions,
            standing_chart=_standing_chart(baseline, models),
            people=record.people,
            people_rows=PEOPLE_ROWS,
            counted_from=counted_from,
            came=record.participation,
            given=Given,
            fewest=FEWEST,
        )
    )
    return for_command_line(rendered)


def _with_signals(signals: SignalsRecord) -> list[PersonSignals]:
    """Return the annotators with something to look at, those with most such answers first."""

    def count(one: PersonSignals) -> int:
        return one.pastes + one.copies + one.returns + one.fast + one.hidden_word

    found = [one for one in signals.people if count(one) or one.declared not in {None, "no"}]
    return sorted(found, key=lambda one: (-count(one), one.annotator))[:MOST_ROWS]


def page_charts(record: Baseline) -> dict[str, Chart]:
    """Return every chart of the page by name.

    The names are `estimate METRIC`, `resolution`, `controls`, `agreement` and `models`.
    """
    baseline, models = record.evidence, record.models
    found = {f"estimate {name}": chart for name, _, chart in _figures(baseline) if chart is not None}
    charted = {
        "resolution": charts.stacked_bar(resolution(record)),
        "controls": _control_chart(baseline),
        "agreement": None if baseline.programs else _agreement_chart(baseline),
        "models": _standing_chart(baseline, models),
    }
    return found | {name: chart for name, chart in charted.items() if chart is not None}


def resolution(record: Baseline) -> list[Segment]:
    """Return the parts of the chart of how items were resolved."""
    return [Segment(WAYS[way].colour, WAYS[way].phrase, n) for way, n in ways(record).items()]


def _figures(baseline: Evidence) -> list[tuple[str, Estimate, Chart | None]]:
    """Return each main metric with its chart; if there is no main metric, the first metric by group."""
    estimates = baseline.estimates
    shown = estimates.main or dict(list(estimates.extra.items())[:1])
    return [
        (name, one, charts.interval_bar(one.value, *one.ci95) if one.ci95 else None)
        for name, one in shown.items()
        if one.value is not None
    ]


def _standing_chart(baseline: Evidence, models: Sequence[Row]) -> Chart | None:
    """Draw single annotators, the crowd and the models on one axis."""
    headline = baseline.estimates.headline
    if not models or headline is None:
        return None
    lines = {row.model: row.score.value for row in models if row.score.value is not None}
    return charts.standing_chart(people_values(baseline), headline.value, [*lines.items()])


def _control_chart(baseline: Evidence) -> Chart | None:
    judged = baseline.annotators.filter(pl.col("controls") > 0)
    if not judged.height:
        return None
    dots = []
    for row in judged.iter_rows(named=True):
        interval = wilson(row["controls_correct"], row["controls"])
        dots.append(
            Dot(
                row["annotator"],
                row["control_accuracy"],
                interval.low,
                interval.high,
                row["controls"],
                row["excluded"],
            )
        )
    return charts.control_chart(dots, baseline.settings.min_control_accuracy)


def _agreement_chart(baseline: Evidence) -> Chart:
    shares = _top_shares(baseline)
    return charts.histogram(shares["share"].to_list(), shares["correct"].to_list())


def _top_shares(baseline: Evidence) -> pl.DataFrame:
    """Compute the share of the most frequent answer among the answers to each item."""
    votes = baseline.used.group_by("item", "answer").len()
    top = votes.group_by("item").agg((pl.col("len").max() / pl.col("len").sum()).alias("share"))
    return baseline.consensus.select("item", "correct").join(
        top, on="item", how="inner", maintain_order="left"
    )


def _doubtful(found: DoubtfulItems) -> list[dict[str, object]]:
    """Return the doubtful items; `judged` counts their annotators who are reliable by other items, and all judged."""
    names = pl.col("reliable", "unreliable").fill_null("").str.extract_all("[^, ]+")
    judged = found.table.select(names.list.len()).select(judged=pl.concat_list("reliable", "unreliable"))
    return found.table.with_columns(judged).to_dicts()


def _undecided(baseline: Evidence) -> list[dict[str, object]]:
    """Return the items without a consensus, and those whose consensus differs from the gold."""
    table = baseline.consensus.join(_top_shares(baseline).select("item", "share"), on="item", how="left")
    wanted = pl.col("label").is_null() | ~pl.col("correct").fill_null(value=True)
    if baseline.programs:
        wanted = pl.col("points") == 0
    shown = table.filter(wanted).sort(
        ["correct", "share", "item"], descending=[True, True, False], nulls_last=True
    )
    return shown.rename({"label": "consensus"}).to_dicts()


def _overlap(record: Baseline) -> list[tuple[int, int, int]]:
    """Return how many people answered how many items, before and after exclusion, the most people first."""
    before, after = record.item_counts.overlap_before_exclusion, record.item_counts.overlap
    sizes = sorted({*before, *after}, reverse=True)
    return [(size, before.get(size, 0), after.get(size, 0)) for size in sizes]


def _asked(baseline: Evidence, files: Mapping[str, bytes]) -> dict[str, object] | None:
    """Collect what annotators were asked: the instructions by language, and the fields of the first item.

    HTML inside an instruction stays text, and images are not loaded. An instruction without a translation stands under
    no language. `None` if nothing is known.
    """
    instructions: dict[str, Markup] = {
        language: Markup(html_of(files[name].decode("utf-8", "replace")))  # noqa: S704 - HTML in the text is escaped
        for language, name in INSTRUCTION_FILES.items()
        if name in files
    }
    example: list[tuple[str, str]] = []
    if baseline.consensus.height:
        row = baseline.consensus.sort("item").row(0, named=True)
        fields = shown_fields(baseline.consensus)
        example = [(name, str(row[name])) for name in fields if row[name] not in {None, ""}]
    if len(instructions) == 1:
        instructions = {"": next(iter(instructions.values()))}
    return {"instructions": instructions, "example": example} if instructions or example else None


def _rows(record: Baseline) -> list[tuple[Text, int]]:
    """Return the counts of rows by use or reason for dropping."""
    used = Text("used") if record.programs else Text("used for the consensus")
    lines = [(used, record.response_counts.used), (Text("to control items"), record.response_counts.control)]
    lines += [
        (REASONS.get(reason, joined([reason.replace("_", " ")])), n)
        for reason, n in record.response_counts.dropped.items()
    ]
    return [(name, n) for name, n in lines if n is not None]


def _frozen(attachments: Mapping[str, bytes]) -> dict[str, Json] | None:
    """Return the record of a frozen plan with the later `changes`; `None` if the plan was not frozen.

    Args:
        attachments: the files of the plan by name, as `merilo report` collects them.
    """
    if FROZEN_FILE not in attachments:
        return None
    return {
        **json.loads(attachments[FROZEN_FILE]),
        "changes": json.loads(attachments.get(CHANGES_FILE, b"[]")),
    }
