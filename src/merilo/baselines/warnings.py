"""Warnings of a baseline and reasons to reject it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import polars as pl

from merilo.estimate import Finding
from merilo.metrics.exam import VARIANT_ITEMS, VARIANT_POINTS, incomplete_variants
from merilo.people.cost import Cost
from merilo.people.gold import Gold
from merilo.people.quality import faster_than_reading
from merilo.people.quality.controls import ControlHealth
from merilo.people.spelling import Merged
from merilo.people.typing_errors import near_spellings
from merilo.responses import Responses, Unread
from merilo.settings import Settings
from merilo.statistics.planning import FEWEST_ANNOTATORS
from merilo.text import Money, Text
from merilo.wording import listed, shortened

if TYPE_CHECKING:
    from merilo.baselines.consensus_scorer import ConsensusScorer
    from merilo.baselines.evidence import Evidence

#: A baseline that excludes a larger share of its annotators gets a warning.
MOST_EXCLUDED: Final = 1 / 3

#: A baseline is not accepted if its control items exclude this share of the annotators, or if this share of
#: them is suspect.
_UNTRUSTED_EXCLUSION: Final = 1 / 2
_UNTRUSTED_CONTROLS: Final = 1 / 4
_FEWEST_SUSPECTS: Final = 2

Status: TypeAlias = Literal["accepted", "rejected", "check the controls", "no estimate"]
NO_ESTIMATE: Final = "no estimate"

#: The statuses of a baseline in words, with the colour of the terminal and the sign of the page.
STATUSES: Final[Mapping[Status, tuple[Text, str, str]]] = {
    "accepted": (Text("accepted", context="baseline"), "green", "good"),
    "rejected": (Text("rejected", context="baseline"), "red", "bad"),
    "check the controls": (Text("check the controls"), "yellow", "simulated"),
    NO_ESTIMATE: (Text("no estimate"), "yellow", "simulated"),
}


def majority_rule(needed: Mapping[int, int]) -> Text:
    """Describe how many equal answers make a majority.

    Args:
        needed: mapping from the number of equal votes that make a majority to the number of items that need it.

    Example:
        >>> majority_rule({3: 100}).en, majority_rule({2: 10, 3: 40}).en
        ('3 equal answers', '2 to 3 equal answers, more than half of each item')
    """
    least, most = min(needed, default=0), max(needed, default=0)
    if least == most:
        return Text("{n} equal answers", n=most)
    return Text("{least} to {most} equal answers, more than half of each item", least=least, most=most)


def reasons_to_reject(
    low: int, items: int, needed: Mapping[int, int], settings: Settings
) -> tuple[Finding, ...]:
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
    text = Text(
        "{low} of {items} items ({share:.0%}) have no majority ({rule}), more than the {allowed:.0%} allowed: the "
        "estimate is not valid and must not be used",
        low=low,
        items=items,
        share=share,
        rule=majority_rule(needed),
        allowed=settings.max_low_agreement,
    )
    return (Finding(code="low_agreement", sentence=text, rejects=True),)


def status_of_baseline(findings: Sequence[Finding], health: ControlHealth, *, scored: bool) -> Status:
    """Return the status of a baseline; with several, the first one of rejected, check the controls, no estimate.

    The controls are to be checked if they exclude half of the annotators, or if a quarter of them, at least
    two, are suspect.

    Args:
        findings: what the reader must know.
        health: the control items, and the annotators excluded by them.
        scored: whether the consensus is scored against gold answers.
    """
    suspects = len(health.suspects)
    if any(one.rejects for one in findings):
        return "rejected"
    if health.excluded and health.excluded >= _UNTRUSTED_EXCLUSION * health.annotators:
        return "check the controls"
    if suspects >= max(_FEWEST_SUSPECTS, _UNTRUSTED_CONTROLS * len(health.controls)):
        return "check the controls"
    return "accepted" if scored else NO_ESTIMATE


def findings_of(evidence: Evidence) -> tuple[Finding, ...]:
    """Return what the reader of a baseline must know, what rejects it first."""
    responses, annotators, settings = evidence.responses, evidence.annotators, evidence.settings
    decided, gold = evidence.decided, evidence.gold
    return (
        *reasons_to_reject(decided.low_agreement, evidence.items.height, decided.votes_needed, settings),
        *_warnings_on_controls(responses, annotators, settings),
        *_warnings_on_labels(responses, settings.labels),
        *_warnings_on_reading(responses, settings.labels, evidence.merged),
        *map(_warning_on_unread, responses.unread),
        *warnings_on_speed(responses),
        *warnings_on_few_annotators(annotators.filter(~pl.col("excluded")).height),
        *(_warnings_on_gold(gold) if gold else ()),
        *warnings_on_exclusion(evidence.health),
        *warnings_on_variants(evidence.scorer),
        *warnings_on_pay(evidence.cost, settings),
        *(warnings_on_other_datasets(annotators) if evidence.study.other else ()),
    )


def warnings_on_pay(paid: Cost, settings: Settings) -> Iterator[Finding]:
    """Yield a warning if annotators earned less than the minimum for an hour of work."""
    least = settings.minimum_hourly
    if least is not None and paid.hourly is not None and paid.hourly < least:
        earned, wanted = Money(paid.hourly, paid.currency), Money(least, paid.currency)
        text = Text(
            "annotators earned {earned} an hour, less than the minimum of {least}",
            earned=earned,
            least=wanted,
        )
        yield Finding(code="low_pay", sentence=text)


def _warnings_on_controls(
    responses: Responses, annotators: pl.DataFrame, settings: Settings
) -> Iterator[Finding]:
    unjudged = annotators.filter(pl.col("controls") < settings.min_controls).height
    if not unjudged:
        return
    if annotators["controls"].sum():
        text = Text(
            "{n} of {annotators} annotators answered {least:1=no control item|fewer than {least} control items}: they "
            "could not be judged and were kept",
            n=unjudged,
            annotators=annotators.height,
            least=settings.min_controls,
        )
    elif responses.table["is_control"].any():
        text = Text(
            "none of the control items has a known answer in {field}: annotators were not checked, "
            "and none was excluded",
            field=responses.answer_field,
        )
    else:
        text = Text("there are no control items: annotators were not checked, and none was excluded")
    yield Finding(code="no_controls", sentence=text)


#: The share of answers given faster than anyone reads that is worth a warning.
MOST_FAST: Final = 0.05


def warnings_on_speed(responses: Responses) -> Iterator[Finding]:
    """Yield a warning if many items were answered in less time than it takes to read them."""
    timed = faster_than_reading(responses).drop_nulls()
    fast = timed.filter("fast")
    if fast.height > MOST_FAST * timed.height:
        text = Text(
            "{n} of {answers:# answer|# answers} ({share:.0%}), by {people:# annotator|# annotators}, were given "
            "faster than anyone can read the item",
            n=fast.height,
            answers=timed.height,
            share=fast.height / timed.height,
            people=fast["respondent"].n_unique(),
        )
        yield Finding(code="fast_answers", sentence=text)


def warnings_on_few_annotators(annotators: int) -> Iterator[Finding]:
    """Yield a warning if no model can be told from so few annotators."""
    if 0 < annotators < FEWEST_ANNOTATORS:
        text = Text(
            "with {n:# annotator|# annotators} no model can be told from people: ask at least {least}",
            n=annotators,
            least=FEWEST_ANNOTATORS,
        )
        yield Finding(code="few_annotators", sentence=text)


def _warnings_on_labels(responses: Responses, labels: Sequence[str]) -> Iterator[Finding]:
    outside = responses.table.filter(~pl.col("answer").is_in(labels)) if labels else None
    if outside is None or not outside.height:
        return
    first = outside.row(0, named=True)
    text = Text(
        "{n:# answer is|# answers are} not among the dataset's labels (the first is '{first}': {file}, row {row}); "
        "{n:it counts as a vote and is|they count as votes and are} always wrong",
        n=outside.height,
        first=shortened(first["answer"], 30),
        file=first["file"],
        row=first["row"],
    )
    yield Finding(code="outside_labels", sentence=text)


def _warnings_on_reading(
    responses: Responses, labels: Sequence[str], merged: Merged | None
) -> Iterator[Finding]:
    """Warn about merged and missing answers, and about answers that look like typing errors."""
    yield from _warnings_on_merged(responses, merged)
    counts = dict(responses.table["answer"].value_counts().iter_rows())
    near = near_spellings(counts, labels)
    for place, typo in enumerate(near[:5], start=1):
        text = Text(
            "'{written}' ({answers}) looks like a misspelling of '{label}' ({label_answers}); "
            "recode in reading.yaml merges them",
            written=typo.answer,
            answers=typo.answers,
            label=typo.label,
            label_answers=typo.label_answers,
        )
        if place == 5 < len(near):
            text = Text(
                "{text}; {n:# more answer looks like a misspelling|# more answers look like "
                "misspellings}: see merilo inspect",
                text=text,
                n=len(near) - 5,
            )
        yield Finding(code="near_spelling", sentence=text)


#: How many answers a warning on merged answers lists.
_MOST_LISTED: Final = 8


def _warnings_on_merged(responses: Responses, merged: Merged | None) -> Iterator[Finding]:
    """Tell which answers are counted as others, which texts are no answers, and which rows have no annotator."""
    lost = responses.dropped.get("without_annotator", 0)
    if lost:
        yield Finding(
            code="without_annotator",
            sentence=Text(
                "{n:# row has|# rows have} no annotator and {n:is|are} left out, as the reading says", n=lost
            ),
        )
    if merged is None:
        return
    if merged.missing:
        told = [
            Text("'{text}' ({n})", text=shortened(text, 30), n=n)
            for text, n in list(merged.missing.items())[:_MOST_LISTED]
        ]
        text = Text(
            "{n:# answer is|# answers are} missing: {texts} (see missing in reading.yaml)",
            n=sum(merged.missing.values()),
            texts=told,
        )
        yield Finding(code="missing", sentence=text)
    given = {text: n for text, n in merged.counts.items() if n}
    if given:
        first = sorted(given, key=lambda text: (-given[text], text))[:_MOST_LISTED]
        told = [
            Text(
                "'{written}' ({n}) as '{kept}'",
                written=shortened(text, 30),
                n=given[text],
                kept=shortened(merged.spelling[text], 30),
            )
            for text in first
        ]
        more = Text(" and {n} more", n=len(given) - len(first)) if len(given) > len(first) else ""
        text = Text(
            "spellings of one answer were merged: {spellings}{more}",
            spellings=told,
            more=more,
        )
        yield Finding(code="merged", sentence=text)


def _warning_on_unread(unread: Unread) -> Finding:
    text = Text(
        "{n:# row has|# rows have} an unreadable {what:time=time|seconds=duration|reward} in {field} (the first is "
        "'{first}': {file}, row {row}); it is treated as missing",
        n=unread.rows,
        what=unread.what,
        field=unread.field,
        first=shortened(unread.text, 30),
        file=unread.file,
        row=unread.row,
    )
    return Finding(code="unread", sentence=text)


def warnings_on_other_datasets(annotators: pl.DataFrame) -> Iterator[Finding]:
    """Name the annotators who do not agree with the others on other datasets."""
    names = annotators.filter(~pl.col("reliable"))["annotator"].to_list()
    if names:
        text = Text(
            "{n:# annotator agrees|# annotators agree} with the majority on other datasets less than 90 % as often as "
            "the others do: where they differ from a gold answer, doubt their answers first ({names})",
            n=len(names),
            names=listed(names),
        )
        yield Finding(code="other_datasets", sentence=text)


def _warnings_on_gold(gold: Gold) -> Iterator[Finding]:
    if gold.without_gold:
        text = Text(
            "{n:# item of the pool has no gold answer and is|# items of the pool have no gold answer and are} not "
            "scored ({n:item|items} {numbers})",
            n=len(gold.without_gold),
            numbers=_first(gold.without_gold),
        )
        yield Finding(code="without_gold", sentence=text)


def _first(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[:10])) + (", …" if len(numbers) > 10 else "")


def warnings_on_exclusion(health: ControlHealth) -> Iterator[Finding]:
    """Return the warnings about control items and the annotators excluded by them."""
    if suspects := len(health.suspects):
        text = Text(
            "{n} of {controls} control items may have a wrong known answer: most annotators who are accurate on the "
            "other control items agree on another answer (check the known answers)",
            n=suspects,
            controls=len(health.controls),
        )
        yield Finding(code="suspect_controls", sentence=text)
    if health.excluded > MOST_EXCLUDED * health.annotators:
        text = Text(
            "{n} of {annotators} annotators ({share:.0%}) are excluded, more than a third: the estimate describes only "
            "the remaining annotators",
            n=health.excluded,
            annotators=health.annotators,
            share=health.excluded / health.annotators,
        )
        yield Finding(code="many_excluded", sentence=text)


def warnings_on_variants(scorer: ConsensusScorer | None) -> Iterator[Finding]:
    """Return a warning for each incomplete variant of the exam, with its missing tasks.

    Args:
        scorer: the study's scorer; `None` without gold.

    Raises:
        DataError: an item lacks data required by the exam's scoring rules.
    """
    if scorer is None or "grade_norm" not in scorer.dataset.metrics:
        return
    for variant, lacking in incomplete_variants(scorer.items).items():
        yield Finding(code="incomplete_variant", sentence=_variant(str(variant), lacking))


def _variant(variant: str, lacking: list[str]) -> Text:
    if lacking:
        return Text(
            "variant {variant} has no item with a gold answer for {n:task|tasks} {names}: the variant is incomplete "
            "and is not part of grade_norm",
            variant=variant,
            n=len(lacking),
            names=", ".join(lacking),
        )
    return Text(
        "variant {variant} does not have {items} different tasks worth {points} points: the variant is incomplete and "
        "is not part of grade_norm",
        variant=variant,
        items=VARIANT_ITEMS,
        points=VARIANT_POINTS,
    )
