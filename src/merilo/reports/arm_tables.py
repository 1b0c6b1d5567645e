"""The arms of a study as tables: a column for each arm, and the differences of each pair."""

from __future__ import annotations

from collections.abc import Iterator

from merilo.baselines.arms import Arms, ArmValue, PairValue
from merilo.people.uncertainty.two_way import LEAST_ANNOTATORS
from merilo.reports.estimates import EMPTY, DataTable
from merilo.text import Text, joined


def arm_tables(arms: Arms) -> tuple[DataTable, DataTable]:
    """Return the table of the arms and that of their pairs."""
    columns = arms.arms
    estimates = DataTable(
        Text("Arms of the study"),
        ("", *(one.arm for one in columns)),
        (
            (Text("single person"), *(_value(one.single) for one in columns)),
            (Text("consensus", context="column"), *(_value(one.consensus) for one in columns)),
            (Text("annotators", context="row"), *(str(one.annotators) for one in columns)),
            (Text("answers", context="column"), *(str(one.answers) for one in columns)),
            (Text("items", context="row"), *(str(one.items) for one in columns)),
        ),
    )
    pairs = DataTable(
        Text("Differences between the arms"),
        (
            "",
            Text("who answers"),
            Text("difference", context="column"),
            Text("95 % interval"),
            Text("p", context="column"),
            Text("items", context="column"),
        ),
        tuple(
            (
                Text("{second} minus {first}", second=one.second, first=one.first),
                name,
                *_difference(found),
                str(one.items),
            )
            for one in arms.differences
            for name, found in (
                (Text("single person"), one.single),
                (Text("majority of as many answers"), one.consensus),
            )
        ),
        2,
    )
    return estimates, pairs


def arm_notes(arms: Arms) -> Iterator[Text]:
    """Yield what the tables are about, and what is missing in them, a sentence each."""
    yield Text(
        "Two arms are compared on the items that both answered, over items and both arms’ annotators; p has Holm’s "
        "correction over the pairs."
    )
    if any(one.annotators < LEAST_ANNOTATORS for one in arms.arms):
        yield Text(
            "An arm of fewer than {n:# annotator|# annotators} has no interval and no test: so few say nothing about "
            "others.",
            n=LEAST_ANNOTATORS,
        )
    if any(not one.items for one in arms.differences):
        yield Text("Arms without a common item have no difference.")
    if arms.without_answers:
        yield Text("Without answers that count: {names}.", names=joined([*arms.without_answers], ", "))


def _value(one: ArmValue) -> Text | str:
    if one.value is None:
        return EMPTY
    if one.over_both is None:
        return Text("{value:.3f}", value=one.value)
    return Text(
        "{value:.3f} [{low:.3f}, {high:.3f}]", value=one.value, low=one.over_both[0], high=one.over_both[1]
    )


def _difference(one: PairValue) -> tuple[Text | str, Text | str, Text | str]:
    if one.difference is None:
        return EMPTY, EMPTY, EMPTY
    value = Text("{value:+.3f}", value=one.difference)
    if one.over_both is None or one.p_holm is None:
        return value, EMPTY, EMPTY
    low, high = one.over_both
    return value, Text("[{low:+.3f}, {high:+.3f}]", low=low, high=high), Text("{p:.2g}", p=one.p_holm)
