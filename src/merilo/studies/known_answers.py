"""Choose items with known answers: examples for the instruction, control items and training items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from typing import Final

import numpy as np

from merilo.datasets.declaration import Dataset
from merilo.datasets.rendering import render
from merilo.items import Item
from merilo.studies.drawing import draw_balanced
from merilo.studies.item_fields import ANSWER, LENGTH, ComparedShare, fields_of, grouping_fields
from merilo.studies.study_source import comparable
from merilo.studies.study_tasks import one_answer
from merilo.wording import listed


def compare_controls(
    controls: Sequence[Item], test: Sequence[Item], declared: Dataset
) -> tuple[ComparedShare, ...]:
    """Compare control items with test items by the dataset's groups, the right answer and the length.

    Args:
        controls: the control items.
        test: the test items.
        declared: their dataset.

    Returns:
        A row for each value of a field that both kinds of items have, those of one field together; empty if there are
        no items of one kind.
    """
    if not controls or not test:
        return ()
    ends = np.quantile([_length(item) for item in test], (0.25, 0.5, 0.75))
    there, here = (
        Counter(
            sign
            for item in items
            for sign in (
                *_signs(item, declared),
                f"{LENGTH}: quartile {int(np.searchsorted(ends, _length(item))) + 1}",
            )
        )
        for items in (test, controls)
    )
    both = {sign.partition(": ")[0] for sign in there} & {sign.partition(": ")[0] for sign in here}
    return tuple(
        ComparedShare(field, value, there[sign], len(test), here[sign], len(controls))
        for sign in sorted(there.keys() | here.keys())
        for field, _, value in [sign.partition(": ")]
        if field in both
    )


def telling_shares(shares: Sequence[ComparedShare]) -> list[str]:
    """Return what tells control items from test items: a sentence for each field, on the value that differs most."""
    ranked = sorted(shares, key=lambda share: abs(share.deviation))
    worst = {share.field: share for share in ranked if share.telling}
    return [
        f"control items differ from test items by {share.field}: {share.value} is {share.share:.0%} of the test and "
        f"{share.chosen_share:.0%} of the control items"
        for share in worst.values()
    ]


def _length(item: Item) -> int:
    """The characters of an item's own fields: its template may be any of the dataset's prompts."""
    shown = [item.inputs] if isinstance(item.inputs, str) else [str(value) for value in item.inputs.values()]
    return sum(map(len, shown))


#: An example is short enough to be read at a glance up to this number of characters.
_BRIEF: Final = 500
#: Examples of datasets without labels.
_FEWEST: Final = 2
#: Fields with more categories than this are not compared with the test when control items are drawn.
_MOST_FIELDS: Final = 6


def screen_known(pool: Sequence[Item], test: Sequence[Item]) -> tuple[tuple[Item, ...], list[str]]:
    """Keep the items that have a gold answer, repeat no question of the test, and are not repeated.

    Args:
        pool: items with known answers.
        test: the items of the test, also those that are not drawn unless they are the pool.

    Returns:
        The items that may be used; and why others are not, a phrase for each reason.
    """
    seen = dict.fromkeys(comparable(test), "test")
    usable: list[Item] = []
    in_test: list[str] = []
    unanswered = repeated = 0
    for item, text in zip(pool, comparable(pool), strict=True):
        if one_answer(item.outputs) is None:
            unanswered += 1
        elif text not in seen:
            seen[text] = "pool"
            usable.append(item)
        elif seen[text] == "test":
            in_test.append(str(item.id))
        else:
            repeated += 1
    faults = {
        f"items {listed(in_test, 5)} repeat questions of the test and are not used": len(in_test),
        f"{unanswered} without one gold answer are not used": unanswered,
        f"{repeated} repeat others and are not used": repeated,
    }
    return tuple(usable), [fault for fault, count in faults.items() if count]


def choose_examples(
    solved: Sequence[Item],
    test: Sequence[Item],
    declared: Dataset,
    *,
    most: int,
    written: Sequence[Item] = (),
) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """Choose few solved items that show every label, every form of prompt and every domain.

    In this order of importance.

    Each step takes the item that shows most of what is not shown yet: of equals a short one, then one of the
    dataset, then the first.

    Args:
        solved: the solved items of the dataset, not of the test.
        test: the items whose domains and kinds of answer are to be shown.
        declared: their dataset.
        most: the largest number of solved items of the dataset.
        written: examples written for Merilo, used where the dataset's own show too little.

    Returns:
        The examples; and the domains and kinds of answer that none of them shows: `domain: law`, `answer: 0`.
    """
    wanted = dict.fromkeys(sign for item in test for sign in _signs(item, declared))
    wanted |= dict.fromkeys(f"{ANSWER}: {label}" for label in declared.answer.labels)
    forms = {sign for sign in wanted if sign.startswith((f"{ANSWER}: ", f"{declared.prompts_by}: "))}
    left = set(wanted)
    candidates = [(item, set(_signs(item, declared)), True) for item in solved]
    candidates += [(item, set(_signs(item, declared)), False) for item in written]
    brief = {id(item): len(render(item, declared)) <= _BRIEF for item, _, _ in candidates}
    chosen: list[Item] = []
    free = most

    def gain(candidate: tuple[Item, set[str], bool]) -> tuple[int, bool, bool, bool, int]:
        item, signs, own = candidate
        new = signs & left
        return len(new & forms), bool(new), brief[id(item)], own, len(new)

    while left or len(chosen) < _FEWEST:
        there = [candidate for candidate in candidates if free > 0 or not candidate[2]]
        if not there:
            break
        best = max(there, key=gain)
        if not best[1] & left and len(chosen) >= _FEWEST:
            break
        candidates.remove(best)
        chosen.append(best[0])
        free -= best[2]
        left -= best[1]
    return tuple(chosen), tuple(sign for sign in wanted if sign in left)


def opening_turns(
    turns: Sequence[Item], declared: Dataset, *, most: int
) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """Return the beginning of a solved dialogue, until every label was shown: a turn needs those before it.

    Args:
        turns: the turns of one dialogue.
        declared: its dataset.
        most: the largest number of turns.
    """
    left = dict.fromkeys(f"{ANSWER}: {label}" for label in declared.answer.labels)
    chosen: list[Item] = []
    for item in turns[:most]:
        if chosen and not left:
            break
        chosen.append(item)
        for sign in _signs(item, declared):
            left.pop(sign, None)
    return tuple(chosen), tuple(left)


def _signs(item: Item, declared: Dataset) -> list[str]:
    """Return what an example of this item shows: its groups, and its kind of answer."""
    values = []
    for name in grouping_fields(declared):
        value = item.value(name)
        if isinstance(value, str | int) and not isinstance(value, bool):
            values.append(f"{name}: {value}")
    if declared.answer.labels:
        answers = item.outputs.values() if isinstance(item.outputs, dict) else [item.outputs]
        values += [
            f"{ANSWER}: {value}"
            for value in dict.fromkeys(map(str, answers))
            if value in declared.answer.labels
        ]
    return values


def spacing(share: float) -> int:
    """Return one task in how many is a control item, for a share of control items.

    Example:
        >>> spacing(0.05), spacing(0.3), spacing(0.9)
        (20, 3, 2)
    """
    return max(round(1 / share), 2)


def wanted_controls(items: int, every: int) -> int:
    """Return the number of control items of which an annotator who answers all items gets each once.

    Args:
        items: the items of the test.
        every: one task in so many is a control item.

    Example:
        >>> wanted_controls(1000, 20), wanted_controls(8, 20)
        (53, 1)
    """
    return max(ceil(items / (every - 1)), 1)


def choose_controls(
    pool: Sequence[Item], test: Sequence[Item], declared: Dataset, *, wanted: int, seed: int
) -> tuple[Item, ...]:
    """Choose control items that look like the test.

    Of a larger pool, those that have the test's distribution of fields.

    Args:
        pool: items that passed `screen_known`.
        test: the items that annotators answer.
        declared: their dataset.
        wanted: the number of control items; fewer if the pool is smaller.
        seed: the random seed.
    """
    chosen = list(pool)
    if len(pool) > wanted:
        both = [*test, *pool]
        fields, _ = fields_of(both, declared, size=max(wanted, 25))
        fields = fields[:_MOST_FIELDS]
        own = [replace(field, codes=field.codes[len(test) :]) for field in fields]
        shares = [[count / len(test) for count in field.counts(range(len(test)))] for field in fields]
        if own:
            chosen = [pool[place] for place in draw_balanced(own, wanted, seed=seed, like=shares)]
        else:
            chosen = chosen[:wanted]
    return tuple(chosen)
