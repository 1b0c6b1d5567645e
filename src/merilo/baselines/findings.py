"""What the reader of a baseline must know or do: at most sixteen findings, one of which rejects it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np
import polars as pl

from merilo.estimate import Finding
from merilo.metrics.exam import VARIANT_ITEMS, VARIANT_POINTS, incomplete_variants
from merilo.people.aggregation import NO_LABEL
from merilo.people.cost import faster_than_reading
from merilo.people.simulation import SIMULATED_PREFIX
from merilo.people.typing_errors import looks_like, near_spellings
from merilo.people.votes import IntArray, Votes
from merilo.statistics.planning import FEWEST_ANNOTATORS
from merilo.text import Money, Text
from merilo.wording import listed, shortened

if TYPE_CHECKING:
    from merilo.baselines.baseline import Evidence

#: The code of the finding that annotators are simulated.
SIMULATED: Final = "simulated"

#: A baseline that excludes a larger share of its annotators has a finding.
_MOST_EXCLUDED: Final = 1 / 3
#: The controls must be checked if they exclude this share of the annotators, or if this share of them is suspect.
_UNTRUSTED_EXCLUSION: Final = 1 / 2
_UNTRUSTED_CONTROLS: Final = 1 / 4
_FEWEST_SUSPECTS: Final = 2
#: Answers that take longer than this are likely in another unit than seconds.
_MOST_SECONDS: Final = 1000
#: The share of answers given faster than anyone reads that is worth a finding.
_MOST_FAST: Final = 0.05
#: How many merged answers a finding lists, and how many answers that look like misspellings.
_MOST_LISTED: Final = 8
_MOST_NEAR: Final = 5

Status: TypeAlias = Literal["accepted", "rejected", "check the controls", "no estimate"]
NO_ESTIMATE: Final = "no estimate"

#: The statuses of a baseline in words, with the colour of the terminal and the sign of the page.
STATUSES: Final[Mapping[Status, tuple[Text, str, str]]] = {
    "accepted": (Text("accepted", context="baseline"), "green", "good"),
    "rejected": (Text("rejected", context="baseline"), "red", "bad"),
    "check the controls": (Text("check the controls"), "yellow", "simulated"),
    NO_ESTIMATE: (Text("no estimate"), "yellow", "simulated"),
}


def status_of(evidence: Evidence, findings: Iterable[Finding]) -> Status:
    """Return the status; with several, the first one of rejected, check the controls, no estimate.

    The controls are to be checked if they exclude half of the annotators, or if a quarter of them, at least
    two, are suspect. Without gold there is no estimate.
    """
    controls, excluded = evidence.controls, int(evidence.annotators["excluded"].sum())
    if any(finding.rejects for finding in findings):
        return "rejected"
    untrusted = max(_FEWEST_SUSPECTS, _UNTRUSTED_CONTROLS * len(controls))
    suspects = sum(control.suspect for control in controls)
    if suspects >= untrusted or 0 < evidence.annotators.height * _UNTRUSTED_EXCLUSION <= excluded:
        return "check the controls"
    return "accepted" if evidence.crowd else NO_ESTIMATE


def findings_of(evidence: Evidence) -> tuple[Finding, ...]:
    """Return what the reader of a baseline must know, what rejects it first."""
    makers = (
        _low_agreement, _simulated, _unfinished, _unchecked, _suspect_controls, _many_excluded, _few_annotators,
        _busy_annotators, _outside_labels, _spelling, _missing, _unread, _fast_answers, _joined_gold, _without_gold,
        _variants, _low_pay, _other_datasets,
    )  # fmt: skip
    return tuple(finding for maker in makers for finding in maker(evidence))


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


def _low_agreement(evidence: Evidence) -> Iterator[Finding]:
    low, items, allowed = (
        evidence.decided.low_agreement,
        evidence.items.height,
        evidence.settings.max_low_agreement,
    )
    if low > allowed * items:
        text = Text(
            "{low} of {items} items ({share:.0%}) have no majority ({rule}), more than the {allowed:.0%} allowed: the "
            "estimate is not valid and must not be used",
            low=low,
            items=items,
            share=low / items,
            rule=majority_rule(evidence.decided.votes_needed),
            allowed=allowed,
        )
        yield Finding(code="low_agreement", sentence=text, rejects=True)


def _simulated(evidence: Evidence) -> Iterator[Finding]:
    if any(name.startswith(SIMULATED_PREFIX) for name in evidence.annotators["annotator"]):
        text = Text("the annotators are simulated: the estimate says nothing about people")
        yield Finding(code=SIMULATED, sentence=text)


def _unfinished(evidence: Evidence) -> Iterator[Finding]:
    if evidence.responses.planned is None:
        return
    items, overlap = evidence.responses.planned
    tests = evidence.responses.table.filter(~pl.col("is_control")).unique(["item", "respondent"])
    people = tests.group_by("item").len()["len"]
    without = items - len(people)
    if few := without + int((people < overlap).sum()):
        text = Text(
            "{few} of {items:# planned item|# planned items} {few:has|have} fewer than {overlap:# answer|# answers}, "
            "{without} of them none",
            few=few,
            items=items,
            overlap=overlap,
            without=without,
        )
        yield Finding(code="unfinished", sentence=text)


def _unchecked(evidence: Evidence) -> Iterator[Finding]:
    annotators, least = evidence.annotators, evidence.settings.min_controls
    unjudged = annotators.filter(pl.col("controls") < least).height
    if not unjudged:
        return
    if annotators["controls"].sum():
        text = Text(
            "{n} of {annotators} annotators answered {least:1=no control item|fewer than {least} control items}: they "
            "could not be judged and were kept",
            n=unjudged,
            annotators=annotators.height,
            least=least,
        )
    elif evidence.responses.table["is_control"].any():
        text = Text(
            "none of the control items has a known answer in {field}: annotators were not checked, "
            "and none was excluded",
            field=evidence.responses.answer_field,
        )
    else:
        text = Text("there are no control items: annotators were not checked, and none was excluded")
    yield Finding(code="no_controls", sentence=text)


def _suspect_controls(evidence: Evidence) -> Iterator[Finding]:
    suspects = sorted(control.item for control in evidence.controls if control.suspect)
    if suspects:
        text = Text(
            "{n} of {controls} control items may have a wrong known answer: most annotators who are accurate on the "
            "other control items agree on another answer (check the known answers)",
            n=len(suspects),
            controls=len(evidence.controls),
        )
        yield Finding(code="suspect_controls", sentence=text, items=tuple(map(str, suspects)))


def _many_excluded(evidence: Evidence) -> Iterator[Finding]:
    excluded, annotators = int(evidence.annotators["excluded"].sum()), evidence.annotators.height
    if excluded > _MOST_EXCLUDED * annotators:
        text = Text(
            "{n} of {annotators} annotators ({share:.0%}) are excluded, more than a third: the estimate describes only "
            "the remaining annotators",
            n=excluded,
            annotators=annotators,
            share=excluded / annotators,
        )
        yield Finding(code="many_excluded", sentence=text)


def _few_annotators(evidence: Evidence) -> Iterator[Finding]:
    annotators = evidence.annotators.filter(~pl.col("excluded")).height
    if annotators < FEWEST_ANNOTATORS:
        text = Text(
            "with {n:# annotator|# annotators} no model can be told from people: ask at least {least}",
            n=annotators,
            least=FEWEST_ANNOTATORS,
        )
        yield Finding(code="few_annotators", sentence=text)


def _busy_annotators(evidence: Evidence) -> Iterator[Finding]:
    if not evidence.programs:  # verdicts have no consensus with which people agree
        names = [str(annotator) for annotator in evidence.pool.everyone.annotators]
        busy = finding_on_busy_annotators(evidence.pool.votes, evidence.decided.consensus.label, names)
        yield from [busy] if busy else []


def _outside_labels(evidence: Evidence) -> Iterator[Finding]:
    labels = evidence.pool.order
    outside = evidence.responses.table.filter(~pl.col("answer").is_in(labels)) if labels else None
    if outside is not None and outside.height:
        first = outside.row(0, named=True)
        text = Text(
            "{n:# answer is|# answers are} not among the dataset's labels (the first is '{first}': {file}, row {row}); "
            "{n:it counts as a vote and is|they count as votes and are} always wrong",
            n=outside.height,
            first=shortened(first["answer"], 30),
            file=first["file"],
            row=first["row"],
        )
        half = 2 * outside.height >= evidence.responses.table.height
        yield Finding(code="outside_labels", sentence=text, rejects=half)


def _spelling(evidence: Evidence) -> Iterator[Finding]:
    merged, counts = evidence.merged, evidence.merged.counts
    written = sorted((text for text in counts if counts[text]), key=lambda text: (-counts[text], text))
    if written:
        spellings = [
            Text(
                "'{written}'{script:none=|cyrillic= in Cyrillic letters} ({n}) as '{kept}'",
                written=shortened(text, 30),
                script="cyrillic" if looks_like(text, merged.spelling[text]) else "none",
                n=counts[text],
                kept=shortened(merged.spelling[text], 30),
            )
            for text in written[:_MOST_LISTED]
        ]
        text = Text(
            "spellings of one answer were merged: {spellings}{more}",
            spellings=spellings,
            more=_more(len(written) - _MOST_LISTED),
        )
        yield Finding(code="spelling", sentence=text)
    answer_counts = dict(evidence.responses.table["answer"].value_counts().iter_rows())
    if near := near_spellings(answer_counts, evidence.pool.order):
        pairs = [
            Text(
                "'{written}' ({answers}) for '{label}' ({label_answers})",
                written=typo.answer,
                answers=typo.answers,
                label=typo.label,
                label_answers=typo.label_answers,
            )
            for typo in near[:_MOST_NEAR]
        ]
        text = Text(
            "{n:# answer looks like a misspelling|# answers look like misspellings}: {pairs}{more} (recode in "
            "reading.yaml merges them)",
            n=len(near),
            pairs=pairs,
            more=_more(len(near) - _MOST_NEAR),
        )
        yield Finding(code="spelling", sentence=text)


def _more(n: int) -> Text | str:
    return Text(" and {n} more", n=n) if n > 0 else ""


def _missing(evidence: Evidence) -> Iterator[Finding]:
    if lost := evidence.responses.dropped.get("without_annotator", 0):
        text = Text(
            "{n:# row has|# rows have} no annotator and {n:is|are} left out, as the reading says", n=lost
        )
        yield Finding(code="missing", sentence=text)
    if missing := evidence.merged.missing:
        texts = [
            Text("'{text}' ({n})", text=shortened(text, 30), n=n)
            for text, n in list(missing.items())[:_MOST_LISTED]
        ]
        text = Text(
            "{n:# answer is|# answers are} missing: {texts} (see missing in reading.yaml)",
            n=sum(missing.values()),
            texts=texts,
        )
        yield Finding(code="missing", sentence=text)


def _unread(evidence: Evidence) -> Iterator[Finding]:
    for unread in evidence.responses.unread:
        yield Finding(code="unread", sentence=unread.sentence)
    median = evidence.cost.median_seconds_per_answer
    if median is not None and median > _MOST_SECONDS and not evidence.responses.scored:
        text = Text(
            "the median answer took {seconds:.0f} seconds: if the durations are in milliseconds, name their column "
            "duration_ms",
            seconds=median,
        )
        yield Finding(code="unread", sentence=text)


def _fast_answers(evidence: Evidence) -> Iterator[Finding]:
    timed = faster_than_reading(evidence.responses).drop_nulls()
    fast = timed.filter("fast")
    unread = 2 * fast.height > timed.height
    if fast.height > _MOST_FAST * timed.height:
        text = Text(
            "{n} of {answers:# answer|# answers} ({share:.0%}), by {people:# annotator|# annotators}, were given "
            "faster than anyone can read the item{unread}",
            n=fast.height,
            answers=timed.height,
            share=fast.height / timed.height,
            people=fast["respondent"].n_unique(),
            unread=Text(": the estimate says nothing about people who read") if unread else "",
        )
        yield Finding(code="fast_answers", sentence=text)


def _joined_gold(evidence: Evidence) -> Iterator[Finding]:
    """Say that gold answers were joined on names that differ: the reader must know that they are the same."""
    if evidence.gold and evidence.gold.facts.joined:
        field, column = evidence.gold.facts.joined
        text = Text(
            "gold answers are joined by {key} of {file}, whose values are those of {field} in the pool",
            key=Text("the column {column}", column=column) if column else Text("the numbers of the rows"),
            file=evidence.gold.facts.source,
            field=field,
        )
        yield Finding(code="gold_joined", sentence=text)


def _without_gold(evidence: Evidence) -> Iterator[Finding]:
    if evidence.gold and (numbers := evidence.gold.facts.items_without_gold):
        text = Text(
            "{n:# item of the pool has no gold answer and is|# items of the pool have no gold answer and are} not "
            "scored ({n:item|items} {numbers})",
            n=len(numbers),
            numbers=", ".join(map(str, numbers[:10])) + (", …" if len(numbers) > 10 else ""),
        )
        yield Finding(code="without_gold", sentence=text)


def _variants(evidence: Evidence) -> Iterator[Finding]:
    """Name each incomplete variant of the exam with its missing tasks."""
    crowd = evidence.crowd
    if crowd is None or "grade_norm" not in crowd.declaration.metrics:
        return
    for variant, lacking in incomplete_variants(crowd.items).items():
        yield Finding(code="incomplete_variant", sentence=_variant(str(variant), lacking))


def _variant(variant: str, lacking: Sequence[str]) -> Text:
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


def _low_pay(evidence: Evidence) -> Iterator[Finding]:
    least, paid = evidence.settings.minimum_hourly, evidence.cost
    if least is not None and paid.hourly is not None and paid.hourly < least:
        text = Text(
            "annotators earned {earned} an hour, less than the minimum of {least}",
            earned=Money(paid.hourly, paid.currency),
            least=Money(least, paid.currency),
        )
        yield Finding(code="low_pay", sentence=text)


def _other_datasets(evidence: Evidence) -> Iterator[Finding]:
    if "reliable" not in evidence.annotators.columns:
        return
    names = tuple(evidence.annotators.filter(~pl.col("reliable"))["annotator"])
    if names:
        text = Text(
            "{n:# annotator agrees|# annotators agree} with the majority on other datasets less than 90 % as often as "
            "the others do: where they differ from a gold answer, doubt their answers first ({names})",
            n=len(names),
            names=listed(names),
        )
        yield Finding(code="other_datasets", sentence=text, people=names)


#: The busiest annotators are those who together gave this share of the answers.
_BUSY: Final = 1 / 4
#: What makes them a cause of concern: so many points less agreement with the consensus, in so many standard errors.
_WORSE, _STANDARD_ERRORS = 0.1, 3.0
#: A single annotator with a larger share of the answers is named.
_MOST_BY_ONE: Final = 1 / 3


def finding_on_busy_annotators(votes: Votes, consensus: IntArray, names: Sequence[str]) -> Finding | None:
    """Return a warning if the people who do most of the work make intervals too short.

    Args:
        votes: the answers that count.
        consensus: shape (items,), the consensus labels.
        names: shape (annotators,), the annotators' ids by code.
    """
    answered = np.bincount(votes.annotator, minlength=votes.annotators)
    share = float(answered.max(initial=0)) / max(len(votes), 1)
    people = int((answered > 0).sum())
    if people > 2 and share > max(_MOST_BY_ONE, 2 / people):
        text = Text(
            "one annotator ({name}) gave {share:.0%} of the answers: the estimate is to a large part theirs",
            name=names[int(answered.argmax())],
            share=share,
        )
        return Finding(code="busy_annotator", sentence=text)
    worse = worse_busy_annotators(votes, consensus)
    if worse is None:
        return None
    busy, part_of_answers, own, others = worse
    text = Text(
        "the {n:# annotator|# annotators} with the most work gave {share:.0%} of the answers and {n:agrees|agree} "
        "with the consensus on {own:.0%} of them, the others on {others:.0%}: intervals may be too short, because "
        "they cannot know how many such people another sample has",
        n=busy,
        share=part_of_answers,
        own=own,
        others=others,
    )
    return Finding(code="busy_annotator", sentence=text)


def worse_busy_annotators(votes: Votes, consensus: IntArray) -> tuple[int, float, float, float] | None:
    """Find out whether the annotators with the most work agree with the consensus less often than the others.

    Args:
        votes: the answers.
        consensus: shape (items,), the consensus labels.

    Returns:
        The number of these annotators, their share of the answers, and the share of agreeing answers of theirs and of
        the others; `None` if they do not agree clearly less often.
    """
    decided = consensus[votes.item] != NO_LABEL
    agrees = (votes.label == consensus[votes.item])[decided]
    person = votes.annotator[decided]
    answered = np.bincount(person, minlength=votes.annotators)
    order = np.argsort(-answered, kind="stable")
    cumulative = np.cumsum(answered[order])
    n = int(np.searchsorted(cumulative, _BUSY * agrees.size)) + 1
    people = int((answered > 0).sum())
    if people < 6 or n > people / 4:
        return None
    busy = np.isin(person, order[:n])
    own, others = float(agrees[busy].mean()), float(agrees[~busy].mean())
    error = np.sqrt(own * (1 - own) / busy.sum() + others * (1 - others) / (~busy).sum())
    if others - own < max(_WORSE, _STANDARD_ERRORS * float(error)):
        return None
    return n, float(busy.mean()), own, others
