"""Right answers within a time and their price, of people and models: the numbers, and from the run to the page."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command import merilo
from compared_pools import asked, pools

from merilo.baselines.time_and_price import TimeAndPrice, TimedAnswers, price_of_model, priced
from merilo.people.votes import Votes
from merilo.statistics.intervals import Interval, wilson


def side(seconds: list[list[float]], right: list[list[int]], *, people: bool) -> TimedAnswers:
    """Answers of a table of items by respondents."""
    items, each = np.shape(seconds)
    item, who = (part.astype(np.int32) for part in np.divmod(np.arange(items * each), each))
    votes = Votes(item, who if people else who * 0, who * 0, items, each if people else 1, 1)
    return TimedAnswers(votes, np.ravel(right).astype(float), np.ravel(seconds).astype(float), people)


def beside(people: TimedAnswers | None, model: TimedAnswers | None) -> TimeAndPrice:
    return TimeAndPrice((), people, model, None, None, None, None)


def test_a_late_answer_earns_nothing_and_items_have_equal_weight() -> None:
    found = side([[1, 5], [2, 9], [30, 3]], [[1, 1], [0, 1], [1, 1]], people=False)
    assert [found.within(at)[0] for at in (0.5, 1, 5, 9, 100)] == pytest.approx(
        [0, 1 / 6, 3 / 6, 4 / 6, 5 / 6]
    )
    assert found.shares(np.array([0.5, 1, 5, 9, 100])) == pytest.approx([0, 1 / 6, 3 / 6, 4 / 6, 5 / 6])
    three = side([[1, 2, 3]] * 20, [[1, 1, 0]] * 20, people=True)
    value, interval = three.within(2.5)
    assert value == pytest.approx(2 / 3)
    assert interval is not None
    assert interval.low < value < interval.high
    assert side([[1, 2]] * 20, [[1, 1]] * 20, people=True).within(5)[1] is None


def test_the_time_at_which_both_have_as_many_right_answers() -> None:
    slow = side([[10, 20, 30]] * 10, [[1, 1, 1]] * 10, people=True)
    quick = side([[1]] * 10, [[1]] * 5 + [[0]] * 5, people=False)
    found = beside(slow, quick)
    # Half of the items are right after 1 s; people have 2 of 3 right after 20 s.
    assert found.equal_time == (20.0, "model")
    assert found.ahead is None
    assert beside(slow, side([[1]] * 10, [[1]] * 10, people=False)).equal_time is None
    assert beside(slow, side([[1]] * 10, [[1]] * 10, people=False)).ahead == "model"
    assert beside(None, quick).equal_time is None


def test_equal_costs_give_the_interval_of_the_share() -> None:
    points = np.array([1.0] * 30 + [0.0] * 10)
    found = price_of_model(np.full(40, 0.02), points)
    interval = wilson(30, 40)
    assert found is not None
    assert found == priced(0.02, 0.75, interval, "USD")
    assert (found.value, found.low) == pytest.approx((0.02 / 0.75, 0.02 / interval.high))
    assert priced(0.02, 0.0, Interval(0, 0.1, 0.95, ""), "USD") is None
    assert priced(0.02, 0.01, Interval(0, 0.1, 0.95, ""), "USD").high == np.inf
    assert price_of_model(np.full(5, 0.02), np.zeros(5)) is None


def test_unequal_costs_give_the_ratio_of_the_sums_and_clusters_widen_it() -> None:
    random = np.random.default_rng(1)
    cost, points = random.gamma(2, 0.01, 200), (random.random(200) < 0.6).astype(float)
    found = price_of_model(cost, points)
    assert found is not None
    assert found.value == pytest.approx(cost.sum() / points.sum())
    draws = random.integers(200, size=(2000, 200))
    resampled = cost[draws].sum(axis=1) / points[draws].sum(axis=1)
    assert [found.low, found.high] == pytest.approx(np.quantile(resampled, [0.025, 0.975]), rel=0.03)
    rows = np.repeat(np.arange(200), 3)
    alone = price_of_model(cost[rows], points[rows])
    together = price_of_model(cost[rows], points[rows], clusters=rows.astype(np.int32))
    assert together is not None
    assert alone is not None
    assert np.log(together.high / together.low) > 1.6 * np.log(alone.high / alone.low)


def test_equal_pay_brings_the_prices_together() -> None:
    accuracy, interval = 0.8, Interval(0.7, 0.9, 0.95, "")
    people, model = (
        priced(0.04, accuracy, interval, "USD"),
        priced(0.004, 0.5, Interval(0.4, 0.6, 0.95, ""), "USD"),
    )
    found = TimeAndPrice((), None, None, people, model, 0.04, (accuracy, interval))
    value, low, high = found.ratio
    assert value == pytest.approx(0.05 / 0.008)
    assert low < value < high
    pay, *_ = found.equal_pay
    assert pay / accuracy == pytest.approx(model.value)
    other = TimeAndPrice(
        (), None, None, priced(2.0, accuracy, interval, "RUB"), model, 2.0, (accuracy, interval)
    )
    assert (other.ratio, other.equal_pay) == (None, None)


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A baseline whose people have times and pay, and a run with a log of times and costs."""
    folder = tmp_path_factory.mktemp("timed")
    people = pools(folder) / "bps" / "baseline"
    record = people / "baseline.json"
    content = json.loads(record.read_text(encoding="utf-8"))
    content["cost"] |= {"total": 8.0, "hours": 1.0, "currency": "USD", "answers": 200}
    record.write_text(json.dumps(content), encoding="utf-8")
    random = np.random.default_rng(2)
    table = pl.read_parquet(people / "responses.parquet")
    seconds = pl.Series("page_seconds", np.exp(random.normal(3, 0.5, table.height)))
    table.with_columns(seconds, page=pl.lit(None, dtype=pl.String)).write_parquet(
        people / "responses.parquet"
    )
    run = asked(folder, "most-frequent", "bps", "run")
    log = run / "log" / "bps.jsonl"
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for place, line in enumerate(lines):
        line |= {"cost": 0.001 * (1 + place % 3), "seconds": 0.5 + 0.1 * (place % 7)}
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return people, run


def test_time_and_price_stand_in_the_json_the_terminal_and_the_page(
    compared: tuple[Path, Path], tmp_path: Path
) -> None:
    found = merilo("compare", *compared, "--json", "-").json["models"][0]
    timed = found["time_and_price"]
    last = timed["within"][-1]
    assert last["seconds"] > 20
    single = found["comparisons"]["single"]
    assert last["model"]["value"] == pytest.approx(single["model"])
    assert last["people"]["value"] <= single["people"] + 1e-6
    values = [one["people"]["value"] for one in timed["within"]]
    assert values == sorted(values)
    for one in timed["within"]:
        for name in ("people", "model"):
            low, high = one[name]["ci95"]
            assert low - 1e-9 <= one[name]["value"] <= high + 1e-9
    price = timed["price_of_right_answer"]
    assert price["people"]["value"] == pytest.approx(0.04 / single["people"], rel=1e-5)
    mean_cost = found["per_item"]["cost"]
    assert price["model"]["value"] == pytest.approx(mean_cost / single["model"], rel=0.05)
    assert timed["equal_pay_per_answer"]["value"] == pytest.approx(
        price["model"]["value"] * single["people"], rel=1e-4
    )
    assert timed["ahead_before"] in {"people", "model", None}
    shown = merilo("compare", *compared, "--details").out
    assert "Right answers within a time" in shown
    assert "A right answer costs" in shown
    assert "Right answers within a time" not in merilo("compare", *compared).out
    done = merilo("compare", *compared, "--out", tmp_path / "page.html")
    assert done.status == 0, done.err
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Time and price of right answers" in page
    assert "Верные ответы за данное время" in page


def test_a_file_of_answers_has_no_time_and_price(compared: tuple[Path, Path], tmp_path: Path) -> None:
    people, run = compared
    copied = tmp_path / "copied.jsonl"
    copied.write_text((run / "bps.jsonl").read_text(encoding="utf-8"), encoding="utf-8")
    assert merilo("compare", people, copied, "--json", "-").json["models"][0]["time_and_price"] is None
