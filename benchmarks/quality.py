"""Measure how many simulated unreliable annotators and wrong gold answers Merilo finds, compared with simpler methods.

    python benchmarks/quality.py [--studies 30] [--answers 100000] [--crowds FOLDER]

FOLDER holds public crowds with known truth; default: ../shared/data/crowds.

Forty simulated annotators (three spammers, three who always give one answer, three who hurry, three who tire) answer four hundred items,
five annotators per item, on pages of two items and a control item. One item in twenty is hard and has a common wrong answer; one gold
answer in twenty-five is wrong. Annotators are compared with the published rule (less than half of the control items correct), gold answers
with the majority and crowd-kit's Dawid-Skene, which report a gold answer if their label is different.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl

from merilo.people.aggregation import majority
from merilo.people.gold_model import fit_gold_model
from merilo.people.quality import Work, work_of
from merilo.people.quality.annotators import people_quality
from merilo.people.quality.controls import control_accuracy
from merilo.people.votes import Votes, encode

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))
from planted_study import FLAGS_OF, Detection, Planted, Tally, planted_study

CROWDS = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "crowds"


def below_half(study: Planted) -> set[int]:
    """The published rule."""
    controls = control_accuracy(study.work, guess=0.25)
    return {person for person, one in enumerate(controls) if one.answers and one.accuracy < 0.5}


def against(labels: np.ndarray, study: Planted) -> set[int]:
    """Return the items whose label differs from the gold answer."""
    return set(np.flatnonzero((labels >= 0) & (labels != study.gold)).tolist())


def crowd_kit(study: Planted) -> np.ndarray:
    """crowd-kit's Dawid-Skene on the same answers."""
    from crowdkit.aggregation import DawidSkene

    votes = study.work.votes
    table = pd.DataFrame({"task": votes.item, "worker": votes.annotator, "label": votes.label})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = DawidSkene(n_iter=100).fit_predict(table.drop_duplicates(["task", "worker"]))
    labels = np.full(votes.items, -1)
    labels[found.index.to_numpy()] = found.to_numpy()
    return labels


def line(name: str, peer: str, theirs: Tally | None, ours: Tally) -> None:
    shown = (
        f"{theirs.precision:9.2f} {theirs.recall:7.2f}" if theirs and theirs.accused else f"{'-':>9} {'-':>7}"
    )
    ratio = f"{ours.recall / theirs.recall:8.2f}" if theirs and theirs.recall else f"{'-':>8}"
    print(f"{name:<28} {peer:<22} {shown}   {ours.precision:9.2f} {ours.recall:7.2f} {ratio}")


def find(studies: int) -> None:
    ours = Detection()
    rule = {kind: Tally() for kind in FLAGS_OF}
    everybody, by_majority, by_crowd_kit = Tally(), Tally(), Tally()
    for seed in range(studies):
        study = planted_study(seed)
        ours.add(study)
        out = below_half(study)
        bad = {person for person, kind in enumerate(study.kinds) if kind != "careful"}
        everybody.add(bad, out)
        for kind, tally in rule.items():
            planted = {person for person in bad if study.kinds[person] == kind}
            tally.add(planted, out & (planted | (set(range(len(study.kinds))) - bad)))
        wrong = set(np.flatnonzero(study.wrong_gold).tolist())
        tests = study.work.votes.where(~study.work.control)
        by_majority.add(wrong, against(majority(tests).label, study))
        by_crowd_kit.add(wrong, against(crowd_kit(study), study))
    print(f"{studies} studies{'':<41}{'peer':>10}{'ours':>22}{'':>10}ratio of")
    print(
        f"{'planted':<28} {'peer':<22} {'precision':>9} {'recall':>7}   {'precision':>9} {'recall':>7}   recall"
    )
    for kind, tally in rule.items():
        line(f"{kind} ({ours.kinds[kind].planted})", "below half on controls", tally, ours.kinds[kind])
    line(f"any bad person ({everybody.planted})", "below half on controls", everybody, ours.bad)
    line(f"wrong gold ({by_majority.planted})", "majority", by_majority, ours.golds)
    line(f"wrong gold ({by_crowd_kit.planted})", "crowd-kit Dawid-Skene", by_crowd_kit, ours.golds)
    said, true = np.array(ours.said), np.array(ours.true)
    print("\nthe probability that a gold answer is wrong: estimated, and true")
    for low, high in ((0, 0.1), (0.1, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.0)):
        here = (said >= low) & ((said < high) if high < 1 else (said <= 1))
        if here.any():
            print(
                f"  {low:.1f} .. {high:.1f}  {int(here.sum()):6d} items   said {said[here].mean():.3f}   true {true[here].mean():.3f}"
            )


def speed(answers: int) -> None:
    rng = np.random.default_rng(0)
    items, people = answers // 5, max(10, answers // 500)
    item = np.repeat(np.arange(items), 5).astype(np.int32)
    person = ((np.arange(item.size) * 7919) % people).astype(np.int32)
    truth = rng.integers(4, size=items).astype(np.int32)
    label = np.where(rng.random(item.size) < 0.9, truth[item], rng.integers(4, size=item.size)).astype(
        np.int32
    )
    votes = Votes(item, person, label, items, people, 4)
    n = len(votes)
    work = Work(
        votes, item < items // 20, label == truth[item], np.arange(n, dtype=float), np.arange(n) // 3,
        rng.lognormal(3, 0.5, n), np.full(n, 100.0),
    )  # fmt: skip
    start = time.perf_counter()
    people_quality(work, [str(code) for code in range(people)])
    middle = time.perf_counter()
    model = fit_gold_model(votes, truth)
    end = time.perf_counter()
    print(
        f"\n{n} answers of {people} people: quality {middle - start:.2f} s; gold model {end - middle:.2f} s",
        end="",
    )
    print(f" ({len(model.log_posterior)} iterations)")


def open_answers(items: int, people: int, overlap: int = 5) -> None:
    """Measure time and memory on typed numbers, a third of them wrong, with many different texts."""
    rng = np.random.default_rng(0)
    truth = rng.integers(100, 99_999, items)
    item = np.repeat(np.arange(items), overlap)
    person = np.concatenate([rng.choice(people, overlap, replace=False) for _ in range(items)])
    wrong = truth[item] + rng.integers(-5000, 5000, item.size)
    encoding = encode(item, person, np.where(rng.random(item.size) < 0.3, wrong, truth[item]).astype(str),
                      known_labels=np.unique(truth.astype(str)).tolist())  # fmt: skip
    labels = encoding.labels.to_list()
    code = {label: place for place, label in enumerate(labels)}
    gold = np.array([code[str(one)] for one in truth], dtype=np.int32)
    names = [f"p{one}" for one in range(encoding.votes.annotators)]
    start = time.perf_counter()
    fit_gold_model(encoding.votes, gold)
    middle = time.perf_counter()
    people_quality(work_of(encoding.votes), names)
    end = time.perf_counter()
    print(
        f"{item.size} open answers of {people} people, {len(labels)} strings: gold model {middle - start:.2f} s; "
        f"quality {end - middle:.2f} s; peak memory of the process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB"
    )


def crowds(folder: Path, seeds: int = 3) -> None:
    """Measure on public crowds with known true labels (columns task, worker, label, truth), where one gold answer in 25 is made wrong."""
    print(
        f"\n{'crowd':<24} {'planted':>8} {'found':>8} {'false':>8} {'average precision':>18} {'log loss':>9}"
    )
    scores = []
    for path in sorted(folder.glob("*.csv.gz")):
        table = pl.read_csv(path, infer_schema=False).unique(
            ["task", "worker"], keep="first", maintain_order=True
        )
        truth = dict(table.drop_nulls("truth").select("task", "truth").iter_rows())
        encoding = encode(
            table["task"], table["worker"], table["label"], known_labels=sorted(set(truth.values()))
        )
        code = {label: place for place, label in enumerate(encoding.labels.to_list())}
        gold = np.array(
            [code[truth[one]] if one in truth else -1 for one in encoding.items.to_list()], dtype=np.int32
        )
        known = np.flatnonzero(gold >= 0)
        rows = []
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            n = max(3, len(known) // 25)
            bad = rng.choice(known, n, replace=False)
            shown = gold.copy()
            shown[bad] = (shown[bad] + rng.integers(1, encoding.votes.labels, n)) % encoding.votes.labels
            model = fit_gold_model(encoding.votes, shown)
            said, true = np.clip(model.gold_wrong[known], 1e-9, 1 - 1e-9), np.isin(known, bad)
            hit = true[np.argsort(-model.log_odds[known], kind="stable")]
            precision = (np.cumsum(hit) / np.arange(1, hit.size + 1))[hit].mean()
            loss = -np.where(true, np.log(said), np.log1p(-said)).mean()
            rows.append((n, ((said >= 0.5) & true).sum(), ((said >= 0.5) & ~true).sum(), precision, loss))
        mean = np.mean(rows, axis=0)
        scores.append(mean[3:])
        print(
            f"{path.name.split('.')[0]:<24} {mean[0]:8.1f} {mean[1]:8.1f} {mean[2]:8.1f} {mean[3]:18.3f} {mean[4]:9.3f}"
        )
    if scores:
        precision, loss = np.mean(scores, axis=0)
        print(f"{'mean':<24} {'':26} {precision:18.3f} {loss:9.3f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=30)
    parser.add_argument("--answers", type=int, default=100_000)
    parser.add_argument(
        "--crowds", type=Path, default=CROWDS, help="a folder of public crowds with known truth"
    )
    given = parser.parse_args()
    find(given.studies)
    speed(given.answers)
    open_answers(600, 103)
    open_answers(10_000, 500)
    if any(given.crowds.glob("*.csv.gz")):
        crowds(given.crowds)
    else:
        print(
            f"{given.crowds} holds no tables of crowds (*.csv.gz): the comparison on real crowds is left out"
        )


if __name__ == "__main__":
    main()
