"""The interval over items and annotators of groups and experts is that of their own votes."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command import merilo
from exports import row, toloka, written

from merilo.baselines.decision_rule import exclusion_variance, tie_weights
from merilo.baselines.expert_scores import LabelScores, score_experts
from merilo.people.decision import PoolVotes
from merilo.people.gold import Gold
from merilo.people.out_of_bag import OutOfBagDesign, out_of_bag
from merilo.people.uncertainty.two_way import TwoWay, two_way
from merilo.people.votes import Encoding, Votes, encode
from merilo.responses import SCHEMA, Responses


def crowd(items: int, people: int, seed: int = 0) -> list[tuple[int, str, str]]:
    """(item, annotator, label): five answers an item, label A is right in 60 to 95 % of answers."""
    rng = np.random.default_rng(seed)
    ability = np.linspace(0.6, 0.95, people)
    return [
        (item, f"w{person:02}", "A" if rng.random() < ability[person] else str(rng.choice(["B", "C"])))
        for item in range(items)
        for person in sorted(rng.choice(people, 5, replace=False).tolist())
    ]


def alone(answers: list[tuple[int, str, str]], **rule: int) -> TwoWay:
    """The interval computed from these answers only."""
    votes = encode(*(pl.Series(column) for column in zip(*answers, strict=True))).votes
    right = np.array([label == "A" for _, _, label in answers], dtype=float)
    return two_way(votes, right, resamples=0, **rule)


def pool_of(folder: Path, answers: list[tuple[int, str, str]], domains: int) -> tuple[Path, Path]:
    items = {item for item, _, _ in answers}
    gold = [
        {"inputs": f"q{item}", "outputs": "A", "meta": {"id": item, "domain": f"d{item % domains}"}}
        for item in items
    ]
    return (
        written(folder / "p.tsv", toloka([row(f"q{item}", label, who) for item, who, label in answers])),
        written(folder / "gold.json", json.dumps({"data": {"test": gold}})),
    )


@pytest.fixture
def grouped(tmp_path: Path) -> tuple[list[tuple[int, str, str]], dict]:
    answers = crowd(60, 12)
    pool, gold = pool_of(tmp_path, answers, 2)
    found = merilo(
        "baseline", pool, "--gold", gold, "--by", "domain", "--resolve", "none", "--max-low-agreement", "1",
        "--out", tmp_path / "out", "--json", "-",
    ).json  # fmt: skip
    return answers, found


def test_a_group_has_the_interval_of_its_own_items(grouped: tuple[list, dict]) -> None:
    answers, found = grouped
    for domain in (0, 1):
        inside = [one for one in answers if one[0] % 2 == domain]
        expected = alone(inside, min_votes=3)
        group = found["by"]["domain"][f"d{domain}"]["acc"]
        assert group["value"] == pytest.approx(expected.value, abs=1e-6)
        assert group["ci95_items_and_annotators"] == pytest.approx(
            (expected.interval.low, expected.interval.high), abs=1e-6
        )
        assert group["ci95_items_and_annotators"][0] < group["ci95"][0]


def test_a_model_that_decides_is_fitted_again_without_groups_of_annotators(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A third of the annotators guess, so that the weights of all depend on who takes part.
    rng = np.random.default_rng(5)
    answers = [
        (item, f"w{who:02}", "A" if rng.random() < (0.5 if who % 3 == 0 else 0.7) else "B")
        for item in range(60)
        for who in sorted(rng.choice(12, 5, replace=False).tolist())
    ] + [(60, f"w{who:02}", "B") for who in range(12)]
    pool, gold = pool_of(tmp_path, answers, 2)
    found = merilo("baseline", pool, "--gold", gold, "--aggregator", "auto", "--json", "-").json
    own = found["metrics"]["acc"]
    monkeypatch.setattr("merilo.baselines.decision_rule.MOST_REFITTED", 0)
    kept = merilo("baseline", pool, "--gold", gold, "--aggregator", "auto", "--json", "-").json
    kept_low, kept_high = kept["metrics"]["acc"]["ci95_items_and_annotators"]
    low, high = own["ci95_items_and_annotators"]
    assert high - low > 1.05 * (kept_high - kept_low)


def test_a_group_of_one_item_or_of_two_annotators_has_null_or_a_wide_interval(tmp_path: Path) -> None:
    answers = crowd(12, 12)
    # One item each; the last one was answered by two annotators.
    answers = [one for one in answers if one[0] < 11] + [(11, "w00", "A"), (11, "w01", "A")]
    pool, gold = pool_of(tmp_path, answers, 12)
    found = merilo(
        "baseline", pool, "--gold", gold, "--by", "domain", "--max-low-agreement", "1", "--json", "-"
    ).json["by"]["domain"]
    assert found["d11"]["acc"]["ci95_items_and_annotators"] is None
    for name in set(found) - {"d11"}:
        if interval := found[name].get("acc", {}).get("ci95_items_and_annotators"):
            assert interval[1] - interval[0] > 0.5


def test_unknown_skills_count_as_the_mean_and_ability_decides_after_skill() -> None:
    votes = Votes(np.zeros(3, np.int32), np.arange(3, dtype=np.int32), np.zeros(3, np.int32), 1, 3, 1)
    skill, ability = np.array([0.2, np.nan, 1.0]), np.array([0.0, 1.0, 0.5])
    weight = tie_weights(votes, skill, ability)
    assert weight == pytest.approx(1 + 1e-3 * np.array([0, 0.5, 1]) + 1e-6 * ability)
    assert tie_weights(votes, np.full(3, np.nan), None) == pytest.approx(np.ones(3))


FIVE = ["ann", "bob", "cat", "dan", "eve"]


def experts(
    items: int, *, own: bool = True, seed: int = 0
) -> tuple[LabelScores, list[tuple[int, str, str]], Responses]:
    """Each expert wrote a fifth of the items and skips them; answers are right in 70 to 95 %."""
    rng = np.random.default_rng(seed)
    ability = dict(zip(FIVE, np.linspace(0.7, 0.95, 5), strict=True))
    rows, counted = [], []
    for item in range(items):
        for who in FIVE:
            if own and FIVE[item % 5] == who:
                rows.append((item, who, "skip: this may be mine"))
                continue
            label = "A" if rng.random() < ability[who] else str(rng.choice(["B", "C"]))
            rows.append((item, who, label))
            counted.append((item, who, label))
    responses = responses_of(rows)
    return (
        score_experts(out_of_bag(responses, OutOfBagDesign()), responses, right(items), None),
        counted,
        responses,
    )


def responses_of(rows: list[tuple[int, str, str]]) -> Responses:
    table = pl.DataFrame(
        [{"item": n, "respondent": who, "answer": answer, "is_control": False} for n, who, answer in rows],
        schema_overrides={"item": pl.UInt32},
    )
    table = table.with_columns(
        pl.lit(None, dtype).alias(name) for name, dtype in SCHEMA.items() if name not in table.columns
    ).select(list(SCHEMA))
    numbers = sorted({one[0] for one in rows})
    items = pl.DataFrame(
        {"item": numbers, "question": [f"question {n}" for n in numbers]},
        schema_overrides={"item": pl.UInt32},
    )
    return Responses(table, items, len(rows), {})


def right(items: int) -> Gold:
    schema = {"item": pl.UInt32, "gold": pl.String, "id": pl.String}
    rows = [(n, "A", None) for n in range(items)]
    return Gold(pl.DataFrame(rows, schema=schema, orient="row"), "gold.csv")


Answers = list[tuple[int, str, str]]


def skills(answers: Answers) -> dict[str, float]:
    """Each expert's share of answers equal to the label that more than half of at least three answers gave."""
    agreed: dict[str, list[bool]] = {who: [] for who in FIVE}
    for item in {item for item, _, _ in answers}:
        given = {who: label for at, who, label in answers if at == item}
        ((label, most),) = Counter(given.values()).most_common(1)
        if len(given) >= 3 and 2 * most > len(given):
            for who, one in given.items():
                agreed[who].append(one == label)
    return {who: sum(found) / len(found) for who, found in agreed.items() if found}


def by_hand(answers: Answers, skill: dict[str, float]) -> TwoWay:
    """The interval of these answers if the label with the most votes decides, and the sum of skills breaks ties."""
    right = []
    for item in sorted({item for item, _, _ in answers}):
        support: dict[str, tuple[int, float]] = {}
        for _, who, label in (one for one in answers if one[0] == item):
            votes, skilled = support.get(label, (0, 0.0))
            support[label] = (votes + 1, round(skilled + skill.get(who, 0.0), 9))
        best = [label for label, strength in support.items() if strength == max(support.values())]
        right.append(best == ["A"])
    low, high = min(skill.values()), max(skill.values())
    encoding = encode(*(pl.Series(column) for column in zip(*answers, strict=True)))
    worth = np.array([label == "A" for _, _, label in answers], dtype=float)
    weight = np.array([1 + 1e-3 * (skill[who] - low) / (high - low) for _, who, _ in answers])
    return two_way(encoding.votes, worth, weight=weight, value=float(np.mean(right)), resamples=0)


def test_all_items_of_experts_enter_the_interval_over_items_and_experts() -> None:
    scored, counted, _ = experts(100)
    labels = [Counter(label for at, _, label in counted if at == item) for item in range(100)]
    # Four answers are left on every item; several items have no label that three experts gave.
    assert sum(max(one.values()) < 3 for one in labels) > 5
    expected = by_hand(counted, skills(counted))
    found, acc = scored.two_ways["acc"], scored.scores.main["acc"]
    assert (found.value, acc.value) == (pytest.approx(expected.value), pytest.approx(expected.value))
    assert (found.n, acc.n, found.annotators) == (100, 100, 5)
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (expected.interval.low, expected.interval.high)
    )
    assert acc.interval is not None
    assert found.interval.low < acc.interval.low
    assert found.interval.high > acc.interval.high


def test_the_interval_of_experts_has_a_part_from_items_and_a_part_from_experts() -> None:
    scored, _, _ = experts(100)
    found = scored.two_ways["acc"]
    assert found.item_error == pytest.approx(np.sqrt(found.value * (1 - found.value) / 100), rel=0.05)
    assert found.annotator_error > 0
    assert found.freedom <= 4
    # Experts who answer alike differ by nothing: only the items' part is left.
    rows = [(n, who, "B" if n % 5 == 0 else "A") for n in range(100) for who in FIVE]
    responses = responses_of(rows)
    alike = score_experts(out_of_bag(responses, OutOfBagDesign()), responses, right(100), None)
    assert alike.two_ways["acc"].value == pytest.approx(0.8)
    assert alike.two_ways["acc"].annotator_error == 0
    assert alike.two_ways["acc"].item_error == pytest.approx(0.04)


def test_an_item_with_too_few_answers_for_the_rule_enters_the_experts_interval() -> None:
    _, counted, _ = experts(60)
    rows = [*counted, *((60, who, "B") for who in FIVE[:2])]
    responses = responses_of(rows)
    result = out_of_bag(responses, OutOfBagDesign())
    assert (result.items[60].outcome, result.items[60].label) == ("too_few", "B")
    scored = score_experts(result, responses, right(61), None)
    expected, without = by_hand(rows, skills(counted)), by_hand(counted, skills(counted))
    assert (scored.two_ways["acc"].n, without.n) == (61, 60)
    # Two experts decided the new item wrongly.
    assert scored.two_ways["acc"].value == pytest.approx(without.value * 60 / 61)
    assert (scored.two_ways["acc"].interval.low, scored.two_ways["acc"].interval.high) == pytest.approx(
        (expected.interval.low, expected.interval.high)
    )


def test_two_experts_have_no_interval_over_experts() -> None:
    rows = [(n, who, "A") for n in range(20) for who in FIVE[:2]]
    responses = responses_of(rows)
    scored = score_experts(out_of_bag(responses, OutOfBagDesign(min_answers=1)), responses, right(20), None)
    assert scored.scores.main["acc"].value == 1
    assert scored.two_ways == {}


def test_experts_who_decide_no_item_score_zero_with_a_wide_interval() -> None:
    rows = [(n, who, answer) for n in range(5) for who, answer in zip(FIVE, "AABBC", strict=True)]
    responses = responses_of(rows)
    scored = score_experts(out_of_bag(responses, OutOfBagDesign()), responses, right(5), None)
    found = scored.two_ways["acc"]
    assert (found.value, found.n, found.annotators) == (0.0, 5, 5)
    # Wilson's interval over five items that are all wrong ends at z² / (n + z²).
    assert found.interval.low == 0.0
    assert 1.96**2 / (5 + 1.96**2) < found.interval.high < 1


def test_a_domain_of_experts_has_the_interval_of_its_own_items() -> None:
    _, counted, responses = experts(80)
    result = out_of_bag(
        responses, OutOfBagDesign(), domains={n: "law" if n < 40 else "art" for n in range(80)}
    )
    scored = score_experts(result, responses, right(80), None)
    # Ties of a domain are broken by the skill that the experts show in all domains.
    expected = by_hand([one for one in counted if one[0] < 40], skills(counted))
    found = scored.domain_two_ways["law"]
    assert scored.by_domain["law"].value == pytest.approx(expected.value)
    assert (found.value, found.n, found.annotators) == (pytest.approx(expected.value), 40, 5)
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (expected.interval.low, expected.interval.high)
    )


def test_the_variance_of_experts_contains_that_of_the_skills_that_break_ties() -> None:
    """On hard items with two labels and four answers, a quarter of the items tie; other experts have other skills."""
    rng = np.random.default_rng(2)
    values, variances = [], []
    for _ in range(100):
        ability, difficulty = 0.5 + 0.5 * rng.standard_normal(5), rng.standard_normal(150)
        answered = rng.random((150, 5)) < 1 / (1 + np.exp(difficulty[:, None] - ability))
        rows = [
            (item, who, "may be mine" if item % 5 == expert else "BA"[int(answered[item, expert])])
            for item in range(150)
            for expert, who in enumerate(FIVE)
        ]
        responses = responses_of(rows)
        found = score_experts(out_of_bag(responses, OutOfBagDesign()), responses, right(150), None)
        both = found.two_ways["acc"]
        values.append(both.value)
        variances.append(both.item_error**2 + both.annotator_error**2)
    assert 0.85 < np.mean(variances) / np.var(values) < 1.5


def test_the_number_of_excluded_annotators_is_a_matter_of_chance() -> None:
    """A consensus of fewer answers is worse, and another study excludes another number of annotators."""
    rng = np.random.default_rng(1)
    values, variances = [], []
    for _ in range(300):
        person = np.argsort(rng.random((150, 20)), axis=1)[:, :5].ravel().astype(np.int32)
        item = np.repeat(np.arange(150, dtype=np.int32), 5)
        # Most people are alike, so that only their number makes a difference.
        label = np.where(rng.random(750) < 0.65, 0, rng.integers(1, 4, 750)).astype(np.int32)
        everyone = Votes(item, person, label, 150, 20, 4)
        kept = (rng.random(20) < 0.6)[person]
        names = (pl.Series(range(150)), pl.Series(range(20)), pl.Series(["A", "B", "C", "D"]))
        tests = np.ones(750, np.bool_)
        skill = np.full(20, np.nan)
        pool = PoolVotes(Encoding(everyone, *names, 0), tests, kept, kept, skill)
        worth = (pool.votes.label == 0).astype(float)
        both = two_way(pool.votes, worth, exclusion=exclusion_variance(pool), resamples=0)
        values.append(both.value)
        variances.append(both.item_error**2 + both.annotator_error**2)
    assert 0.85 < np.mean(variances) / np.var(values) < 1.5
