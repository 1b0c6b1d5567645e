"""How a pool is decided: which answers are votes, how many make a majority, and which aggregator decides.

`decide` decides a pool by its settings, `aggregate` any table by one method. Answers that are verdicts (programs that
pass their tests, answers that were scored elsewhere) have no consensus: each counts by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from merilo.errors import UsageError, argument
from merilo.metrics.pass_at_k import PASSED
from merilo.people.aggregation import NO_LABEL, Consensus, Resolution, is_open
from merilo.people.aggregation.content import break_ties_by_medoid, labels_of_items, majority_of_parts
from merilo.people.aggregation.dawid_skene import auto, dawid_skene
from merilo.people.aggregation.glad import glad
from merilo.people.aggregation.majority import MinVotes, cascade, majority, plurality, resolve_by_skill
from merilo.people.agreement import places_on_scale
from merilo.people.frames import Frame, encoded, is_pandas, pandas_of
from merilo.people.votes import Encoding, Votes, encode
from merilo.responses import Responses
from merilo.settings import Settings
from merilo.statistics import FloatArray
from merilo.statistics.intervals import exact_interval

#: If at least this share of items has the same overlap, the pool counts as having one overlap.
_EVEN: Final = 0.95


@dataclass(frozen=True, slots=True)
class PoolVotes:
    """All answers of a pool, with the annotators' skill.

    Attributes:
        everyone: all answers, including answers to control items and by excluded annotators.
        tests: shape (n,), true for answers to test items, including those by excluded annotators.
        counted: shape (n,), true for the answers that count: answers to test items by annotators who were not excluded.
        included: shape (n,), true for answers by annotators who were not excluded, including those to control items.
        skill: shape (annotators,), the platform's skill if it gave any, else the accuracy on control items;
            NaN if unknown.
        in_order: code of an item whose answers are lists of numbers -> whether their order matters; empty if only
            whole answers are voted on.
        composed: answers that nobody gave and that a majority of each part gives; their codes follow those of
            `everyone.labels`.
        skipped: whether annotators skipped items that may be their own, so that items have fewer answers by design.
        order: the labels of the dataset, or of the reading, from low to high; empty if none are declared.
        declared_open: whether answers are free text, if it is declared; `None`: it follows from the number of labels.
    """

    everyone: Encoding
    tests: NDArray[np.bool_]
    counted: NDArray[np.bool_]
    included: NDArray[np.bool_]
    skill: FloatArray
    in_order: Mapping[int, bool] = field(default_factory=dict)
    composed: tuple[str, ...] = ()
    skipped: bool = False
    order: tuple[str, ...] = ()
    declared_open: bool | None = None

    @property
    def labels(self) -> list[str]:
        """The texts of all labels by code, those of `composed` too."""
        return [*self.everyone.labels.cast(pl.String).to_list(), *self.composed]

    @property
    def votes(self) -> Votes:
        """The votes that count."""
        return self.everyone.votes.where(self.counted)

    def scale(self, settings: Settings) -> FloatArray | None:
        """Return the labels' places on an ordered scale, shape (labels,).

        `None` if labels are names, or are neither numbers nor all in the dataset's order of labels.
        """
        names = self.everyone.labels.cast(pl.String).to_list()
        return None if settings.level == "nominal" else places_on_scale(names, self.order)

    @property
    def open_answers(self) -> bool:
        """Whether answers are typed freely."""
        return is_open(self.everyone.votes, self.declared_open)

    def needed(self, min_votes: int | Literal["majority"]) -> MinVotes:
        """Compute how many equal votes make a majority for each item.

        Args:
            min_votes: the number for every item, or "majority". If at least 95 % of the items had the same overlap
                before exclusion, "majority" means more than half of this overlap, also for an item that lost answers.
                Otherwise, and where annotators skipped items of their own, it means more than half of the item's own
                answers. It is at least 2.
        """
        if min_votes != "majority":
            return min_votes
        votes = self.everyone.votes
        before, left = (
            np.bincount(votes.item[mask], minlength=votes.items) for mask in (self.tests, self.counted)
        )
        return np.maximum(left // 2 + 1, 2) if self.skipped else votes_needed(before, left)


def votes_needed(before: NDArray[np.int64], left: NDArray[np.int64]) -> NDArray[np.int64]:
    """Compute how many equal votes make a majority: more than half.

    Args:
        before: shape (items,), the number of answers to an item; 0 for items outside the study.
        left: shape (items,), the number of these answers that count.

    Returns:
        Shape (items,), at least 2: an item with one answer has no majority.

    Example:
        >>> votes_needed(np.array([5, 5, 5]), np.array([5, 4, 3])).tolist()
        [3, 3, 3]
        >>> votes_needed(np.array([1, 3, 9]), np.array([1, 3, 8])).tolist()
        [2, 2, 5]
    """
    asked = before[before > 0]
    overlap = int(np.bincount(asked).argmax()) if asked.size else 0
    even = asked.size > 0 and float((asked == overlap).mean()) >= _EVEN
    own = np.where(even & (left <= overlap), overlap, left)
    return np.asarray(np.maximum(own // 2 + 1, 2), dtype=np.int64)


def pool_votes(responses: Responses, annotators: pl.DataFrame) -> PoolVotes:
    """Make votes of the answers of a pool.

    Args:
        responses: the responses, including those to control items.
        annotators: one row for each annotator with `excluded`, `skill` and `control_accuracy`; see `judged_annotators`.
    """
    table = responses.table.drop_nulls(["item", "respondent", "answer"])
    known = table["control"].drop_nulls().unique().to_list()
    everyone = encode(table["item"], table["respondent"], table["answer"], known_labels=known)
    names = everyone.annotators.to_frame("annotator")
    people = names.join(annotators, on="annotator", how="left", maintain_order="left")
    included = (~people["excluded"].fill_null(value=False).to_numpy())[everyone.votes.annotator]
    column = "skill" if people["skill"].is_not_null().any() else "control_accuracy"
    skill = people[column].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    tests = ~table["is_control"].to_numpy()
    skipped = not {"may_be_mine", "not_shown"}.isdisjoint(responses.dropped)
    return PoolVotes(everyone, tests, included & tests, included, skill, skipped=skipped)


def decide(pool: PoolVotes, settings: Settings, *, free_text: bool = False) -> Consensus:
    """Decide every item of a pool.

    A model as the aggregator is fitted to the answers of all annotators who were not excluded, including their answers
    to control items. GLAD that resolves ties, in the cascade or alone, is fitted to all answers, including those of
    excluded annotators: they have no vote, but their answers are informative about the difficulty of items.

    Args:
        pool: the votes.
        settings: the aggregator, how items that it leaves unresolved are treated, how many votes make a majority.
        free_text: whether answers are free texts: a tie of votes is then broken by the answer with the
            largest token F1 to the item's answers, before skill and abilities are used. Not with `resolve="none"`.

    Returns:
        The consensus, in the codes of `pool.everyone`. Items used only as control items are not part of
        a baseline.

    Raises:
        UsageError: the aggregator is Dawid-Skene and the answers are open.
    """
    if settings.aggregator == "majority":
        return _by_votes(pool, settings, free_text=free_text)
    opened = pool.open_answers
    votes = pool.everyone.votes.where(pool.included)
    if settings.aggregator == "auto":
        decided = auto(votes, open_answers=opened, scale=pool.scale(settings))
    else:
        model: Callable[..., Consensus] = dawid_skene if settings.aggregator == "dawid-skene" else glad
        decided = model(votes, open_answers=opened)
    left = decided.label == NO_LABEL
    if settings.resolve == "none" or not left[pool.votes.item].any():
        return decided
    return decided.where(left, _by_votes(pool, settings, free_text=free_text))


def _by_votes(pool: PoolVotes, settings: Settings, *, free_text: bool) -> Consensus:
    """Count votes, resolve ties as the settings say, and decide what is left by what the answers say."""
    votes, needed = pool.votes, pool.needed(settings.min_votes)
    if settings.resolve == "none":
        return majority(votes, needed)
    if settings.resolve == "skill":
        decided = resolve_by_skill(votes, pool.skill, needed)
    else:
        known = settings.resolve == "cascade" and not np.isnan(pool.skill).all()
        decided = cascade(
            votes,
            everyone=pool.everyone.votes,
            skill=pool.skill if known else None,
            open_answers=pool.open_answers,
            min_votes=needed,
        )
    if free_text:
        decided = break_ties_by_medoid(decided, votes, pool.labels)
    if not pool.in_order:
        return decided
    # Lists of numbers are decided number by number, if each of them has a majority.
    clear = np.isin(decided.how, (Resolution.UNANIMOUS, Resolution.MAJORITY))
    label, share = np.full_like(decided.label, NO_LABEL), decided.confidence.copy()
    codes = {text: code for code, text in enumerate(pool.labels)}
    for item, (answer, part) in _majorities_of_parts(pool, needed).items():
        if not clear[item] and answer in codes:
            label[item], share[item] = codes[answer], part
    return decided.where(label != NO_LABEL, Consensus.of(label, Resolution.PARTS, share))


def with_parts(
    pool: PoolVotes, in_order: Mapping[int, bool], min_votes: int | Literal["majority"]
) -> PoolVotes:
    """Let the numbers of lists be voted on one by one.

    Args:
        pool: the votes.
        in_order: number of an item -> whether its answers are sequences; otherwise sets.
        min_votes: how many equal votes make a majority; see `PoolVotes.needed`.
    """
    numbers = map(int, pool.everyone.items)
    codes = {code: in_order[number] for code, number in enumerate(numbers) if number in in_order}
    pool = replace(pool, in_order=codes)
    parts = {answer for answer, _ in _majorities_of_parts(pool, pool.needed(min_votes)).values()}
    return replace(pool, composed=tuple(sorted(parts - {*pool.labels})))


def _majorities_of_parts(pool: PoolVotes, min_votes: MinVotes) -> dict[int, tuple[str, float]]:
    """Return the answer that majorities of its parts give, with their smallest share of the votes, by item."""
    listed = np.isin(pool.votes.item, [*pool.in_order])
    needed, texts = np.broadcast_to(min_votes, pool.everyone.votes.items), pool.labels
    answers = labels_of_items(pool.votes.where(listed))
    parts = {
        item: majority_of_parts(
            {texts[label]: n for label, n in counts.items()}, int(needed[item]), ordered=pool.in_order[item]
        )
        for item, counts in answers.items()
    }
    return {item: part for item, part in parts.items() if part is not None}


def each_answer(pool: PoolVotes) -> Consensus:
    """Return the consensus of programs: no label for any item, because every answer counts by itself."""
    items = pool.everyone.votes.items
    how = np.full(items, Resolution.EACH_ANSWER, dtype=np.int8)
    return Consensus(np.full(items, NO_LABEL, dtype=np.int32), how, np.full(items, np.nan))


def passed_shares(pool: PoolVotes) -> dict[int | str, float]:
    """Return the share of an item's programs that pass, by item number; items without a counted answer are left out."""
    written, passed = counts_of(pool.votes.item, pool.votes.items, verdicts(pool.votes, pool.labels))
    numbers = enumerate(pool.everyone.items)
    return {int(number): float(passed[code] / written[code]) for code, number in numbers if written[code]}


def with_passed(annotators: pl.DataFrame, pool: PoolVotes) -> pl.DataFrame:
    """Add each annotator's counted programs: `programs`, `passed`, `pass@1` with its Clopper-Pearson interval."""
    counts = counts_of(pool.votes.annotator, pool.votes.annotators, verdicts(pool.votes, pool.labels))
    pairs = list(zip(*(count.tolist() for count in counts), strict=True))
    intervals = [exact_interval(passed, written) if written else None for written, passed in pairs]
    columns = {
        "annotator": pool.everyone.annotators.cast(pl.String),
        "programs": counts[0],
        "passed": counts[1],
        "pass@1": [passed / written if written else None for written, passed in pairs],
        "pass@1_low": [ends and ends.low for ends in intervals],
        "pass@1_high": [ends and ends.high for ends in intervals],
    }
    table = pl.DataFrame(columns, schema_overrides=dict.fromkeys([*columns][3:], pl.Float64))
    return annotators.join(table, on="annotator", how="left", maintain_order="left")


def verdicts(votes: Votes, labels: Sequence[str]) -> FloatArray:
    """Return 1 for each answer that passed and 0 for the others, shape (n,)."""
    right = np.array([label == PASSED for label in labels], dtype=np.float64)
    return np.asarray(right[votes.label])


def counts_of(
    code: NDArray[np.integer], size: int, right: FloatArray
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the programs of each item (or annotator) by its code, and those that pass, shape (size,) each."""
    return np.bincount(code, minlength=size), np.bincount(code, right, size).astype(np.int64)


Method: TypeAlias = Literal["majority", "auto", "dawid-skene", "glad", "cascade"]

_METHODS: Final[dict[str, Callable[[Votes], Consensus]]] = {
    "majority": partial(plurality, min_votes=1),
    "auto": auto,
    "dawid-skene": dawid_skene,
    "glad": glad,
    "cascade": cascade,
}


def aggregate(data: Frame | Responses, method: Method = "majority", *, order: Sequence[Any] = ()) -> Any:  # noqa: ANN401 - a table of the library of the input
    """Compute one label for each task from the labels of several workers.

    Args:
        data: a table of pandas or Polars with the columns `task`, `worker` and `label`, or the result of
            `read_responses`: its answers to items, without those to control items, of all annotators.
        method: "majority" (most votes), "auto", "dawid-skene", "glad" or "cascade".
        order: the labels from the lowest to the highest, if they are ordered: "auto" then takes the weighted median.

    Returns:
        A table of the same library (Polars for responses), sorted by `task`: `task`, `label` (null if labels tie),
        `confidence` (the probability of the label under a model; its share of the votes for "majority" and
        "cascade") and `resolved_by`.

    Raises:
        UsageError: there is no such method, a column is missing, or the labels do not suit the method or the order.

    Example:
        >>> frame = pl.DataFrame({"task": [1, 1, 1], "worker": [*"abc"], "label": ["x", "x", "y"]})
        >>> aggregate(frame).select("task", "label", "resolved_by").rows()
        [(1, 'x', 'majority')]
    """
    if method not in _METHODS:
        raise UsageError(
            f"there is no method '{method}' (choose from: {', '.join(_METHODS)})", field=argument("method")
        )
    if len(order) and method != "auto":
        raise UsageError(f"the order of labels is for the method 'auto', not '{method}'", field="order")
    encoding = encoded(data)
    names = encoding.labels.to_list()
    if len(order):
        places = {label: place for place, label in enumerate(order)}
        if missing := [label for label in names if label not in places]:
            raise UsageError(f"order has no place for label '{missing[0]}'", field="order")
        consensus = auto(encoding.votes, scale=[places[label] for label in names])
    else:
        consensus = _METHODS[method](encoding.votes)
    labels = [None if code == NO_LABEL else names[code] for code in consensus.label.tolist()]
    ways = [Resolution(way).name.lower() for way in consensus.how.tolist()]
    columns = {
        "task": encoding.items,
        "label": pl.Series(labels, dtype=encoding.labels.dtype),
        "confidence": pl.Series(consensus.confidence).fill_nan(None),
        "resolved_by": ways,
    }
    table = pl.DataFrame(columns)
    return pandas_of(table) if is_pandas(data) else table
