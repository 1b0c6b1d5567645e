"""Baselines of answers that were collected with adaptive overlap: what stays equal, what is unbiased, what is warned of."""

from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from every import every

import merilo
from merilo.errors import UsageError
from merilo.people.decision import adaptive_votes_needed
from merilo.people.votes import Votes
from merilo.reports.baseline import BaselineResult
from merilo.settings import AdaptiveDesign

LABELS = ("a", "b", "c")


def table_of(answers: dict[str, str], *, seed: int = 0) -> pl.DataFrame:
    """Answers in the order of time; another person for each answer to an item."""
    rows = [
        {"id": item, "worker": f"w{place}", "label": answer, "submitted": f"2026-01-01T00:00:{place:02d}"}
        for item, given in answers.items()
        for place, answer in enumerate(given)
    ]
    frame = pl.DataFrame(rows)
    return frame.sample(fraction=1, shuffle=True, seed=seed)


def collected(full: dict[str, str], design: AdaptiveDesign) -> dict[str, str]:
    """The part of the answers that the design collects, equal answers in one spelling."""
    return {
        item: given
        if design.overlap.in_fixed_slice(design.seed, item) or len(set(given[: design.overlap.start])) > 1
        else given[: design.overlap.start]
        for item, given in full.items()
    }


def baseline_of(answers: dict[str, str], adaptive: str | None, **more: object) -> BaselineResult:
    responses = merilo.read_responses(table_of(answers), item="id", annotator="worker", answer="label")
    gold = dict.fromkeys(answers, "a")
    return merilo.baseline(responses, gold=gold, adaptive=adaptive, **more)  # type: ignore[arg-type]


def drawn(items: int, people: int, seed: int) -> dict[str, str]:
    rng = np.random.default_rng(seed)
    ease = rng.uniform(0.3, 1.0, items)
    return {
        str(item): "".join(
            "a" if rng.random() < ease[item] else str(rng.choice(["b", "c"])) for _ in range(people)
        )
        for item in range(items)
    }


def test_the_consensus_is_that_of_five_people_wherever_five_have_a_majority() -> None:
    every_vote = {"".join(votes): "".join(votes) for votes in product(LABELS, repeat=5)}
    design = AdaptiveDesign.of("3:5:0.1:4")
    settings = {"resolve": "none", "max_low_agreement": 1.0}
    full = baseline_of(every_vote, None, **settings)
    part = baseline_of(collected(every_vote, design), str(design), **settings)
    assert part.consensus.sort("id")["label"].to_list() == full.consensus.sort("id")["label"].to_list()
    assert part.details.low_agreement == full.details.low_agreement
    assert part.metrics["acc"].value == full.metrics["acc"].value
    assert part.details.used.height < full.details.used.height


def test_three_agreeing_people_can_be_outvoted_by_seven_and_the_report_says_so() -> None:
    every_vote = {"".join(votes): "".join(votes) for votes in product("ab", repeat=7)}
    design = AdaptiveDesign.of("3:7:0.5:1")
    part = baseline_of(collected(every_vote, design), str(design))
    fixed = [item for item in every_vote if design.overlap.in_fixed_slice(1, item)]
    agree = [item for item in fixed if len(set(item[:3])) == 1]
    changed = [item for item in agree if item.count(item[0]) < 4]
    check = part.to_dict()["adaptive"]["check"]
    assert (check["items"], check["changed"]) == (len(agree), len(changed))
    assert changed
    assert any(f"differs on {len(changed)} of the {len(agree)} items" in text for text in part.warnings)


def test_a_baseline_takes_these_answers_in_the_order_of_time() -> None:
    full = drawn(120, 5, seed=3)
    design = AdaptiveDesign.of("3:5:0.2:9")
    part = collected(full, design)
    made = baseline_of(part, str(design))
    chosen = {
        item: given if design.overlap.in_fixed_slice(9, item) else given[:3] for item, given in part.items()
    }
    single = made.metrics["acc"].single_person
    assert single is not None
    assert single.answers == sum(map(len, chosen.values())) == made.agreement.answers
    assert single.mean == pytest.approx(np.mean([given.count("a") / len(given) for given in chosen.values()]))
    fixed = baseline_of(chosen, None)
    assert made.agreement.krippendorff_alpha == pytest.approx(fixed.agreement.krippendorff_alpha)


def test_an_item_of_equal_answers_keeps_its_majority_if_one_annotator_is_excluded() -> None:
    votes = Votes(
        *np.array([[0, 0, 1, 1, 1, 2, 2, 2, 2], [0, 1, 0, 1, 2, 0, 1, 2, 3], [0, 0, 0, 0, 1, 0, 0, 1, 1]]),
        3,
        4,
        2,
    )
    assert adaptive_votes_needed(votes, AdaptiveDesign.of("3:5").overlap).tolist() == [2, 3, 3]


@every(
    "answers, text",
    [
        ({"1": "aaa", "2": "ab", "3": "aba"}, "2 items have fewer answers than the adaptive overlap 3 to 5 gives"),
        ({"1": "aaa", "2": "abaaa", "3": "aaaa"}, "1 item has more answers than the adaptive overlap 3 to 5 gives"),
    ],
)  # fmt: skip
def test_answers_that_do_not_follow_the_design_are_warned_of(answers: dict[str, str], text: str) -> None:
    made = baseline_of(answers, "3:5")
    assert any(text in warning for warning in made.warnings), made.warnings


def test_the_random_share_needs_the_items_ids() -> None:
    frame = table_of({"1": "aaa", "2": "aab"}).rename({"id": "question"})
    responses = merilo.read_responses(frame, item="question", annotator="worker", answer="label")
    with pytest.raises(UsageError, match="have no field 'id'"):
        merilo.baseline(responses, adaptive="3:5:0.1:0")
    assert merilo.baseline(responses, adaptive="3:5").to_dict()["adaptive"]["items"]["fixed"] == 0


def test_a_comparison_with_a_model_uses_the_same_answers_of_single_people(tmp_path: Path) -> None:
    full = drawn(80, 5, seed=5)
    design = AdaptiveDesign.of("3:5:0.2:2")
    made = baseline_of(collected(full, design), str(design))
    made.save(tmp_path / "out")
    (found,) = merilo.compare(tmp_path / "out", {"model": dict.fromkeys(full, "a")}).comparisons.values()
    single = next(one for one in found.matches if one.kind == "single")
    mean = made.metrics["acc"].single_person
    assert mean is not None
    assert single.difference.value == pytest.approx(1 - mean.mean)
