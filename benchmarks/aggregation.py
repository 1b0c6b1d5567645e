"""Compare aggregation and agreement with crowd-kit and krippendorff: time, objective, labels, memory.

    python benchmarks/aggregation.py [--answers 1000000] [--glad-answers 100000] [--large 10000000]

crowd-kit's GLAD takes about a minute; `--glad-answers 20000` makes it faster. Both libraries get the same simulated answers: crowd-kit
in a pandas table, Merilo in a Polars table. Dawid-Skene runs without a prior for the number of iterations that crowd-kit needed.
Exit status 1: a ratio, or the time on open answers, misses its target.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import polars as pl

from merilo.people.aggregation.dawid_skene import dawid_skene
from merilo.people.aggregation.glad import GladLikelihood, glad
from merilo.people.agreement import krippendorff_alpha
from merilo.people.votes import Votes, encode

T = TypeVar("T")


def timed(work: Callable[[], T], times: int = 3) -> tuple[float, T]:
    """Return the processor time of the fastest of several runs, in seconds over all threads, and the result.

    Processor time is measured because other work on the machine affects it less than wall time.
    """
    best, result = float("inf"), None
    for _ in range(times):
        start = time.process_time()
        result = work()
        best = min(best, time.process_time() - start)
    return best, result


def simulated(answers: int, people: int, labels: int, seed: int = 0) -> tuple[Votes, np.ndarray]:
    """Return simulated answers, five per item, and the true labels; annotators differ in ability and items in difficulty."""
    rng = np.random.default_rng(seed)
    items = answers // 5
    item = np.repeat(np.arange(items, dtype=np.int32), 5)
    # Five different annotators per item: a random one, and the next ones at random distances.
    steps = rng.integers(1, people // 5, (items, 5))
    annotator = ((rng.integers(0, people, items)[:, None] + steps.cumsum(axis=1)) % people).reshape(-1)
    ability, beta = rng.normal(1, 1, people), np.exp(rng.normal(0, 1, items))
    truth = rng.integers(0, labels, items)
    right = rng.random(item.size) < 1 / (1 + np.exp(-ability[annotator] * beta[item]))
    wrong = (truth[item] + rng.integers(1, labels, item.size)) % labels
    label = np.where(right, truth[item], wrong)
    return Votes(item, annotator.astype(np.int32), label.astype(np.int32), items, people, labels), truth


MISSED: list[str] = []


def want(what: str, *, met: bool) -> None:
    """Remember what was missed."""
    if not met:
        MISSED.append(what)


def row(work: str, peer: float | None, ours: float, at_least: str, more: str = "") -> None:
    ratio = "" if peer is None else f"{peer / ours:7.1f} x"
    theirs = "" if peer is None else f"{peer:9.2f}"
    print(f"{work:<50}{theirs:>10}{ours:>9.2f}{ratio:>11}  {at_least:<14}{more}", flush=True)


def compare_glad(answers: int) -> None:
    import pandas as pd
    from crowdkit.aggregation import GLAD

    votes, truth = simulated(answers, 200, 4)
    frame = pd.DataFrame({"task": votes.item, "worker": votes.annotator, "label": votes.label})
    ours, consensus = timed(lambda: glad(votes))
    peer, theirs = timed(lambda: GLAD(n_iter=100).fit(frame.copy()), times=1)
    likelihood = GladLikelihood.of(votes)
    point = np.concatenate([theirs.alphas_.sort_index(), theirs.betas_.sort_index()])
    reached = -likelihood.value_and_gradient(point)[0]
    row(f"GLAD, {answers:,} answers", peer, ours, "(150 x)")
    want("GLAD, 150 x", met=peer / ours >= 150)
    fit = consensus.fit
    labels = theirs.probas_[range(4)].to_numpy().argmax(axis=1)
    print(
        f"{'  objective (log-likelihood and priors)':<50}{reached:>10.0f}{fit.log_likelihood[-1]:>9.0f}  higher is better"
    )
    print(
        f"{'  iterations':<50}{len(theirs.loss_history_):>10}{fit.iterations:>9}  ours converged: {fit.converged}"
    )
    print(f"{'  right labels':<50}{(labels == truth).mean():>10.4f}{(consensus.label == truth).mean():>9.4f}")


def compare_dawid_skene(answers: int) -> None:
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    votes, truth = simulated(answers, 1000, 4)
    frame = pd.DataFrame({"task": votes.item, "worker": votes.annotator, "label": votes.label})
    peer, theirs = timed(lambda: DawidSkene().fit(frame.copy()), times=2)
    iterations = len(theirs.loss_history_)
    ours, consensus = timed(lambda: dawid_skene(votes, iterations=iterations, tolerance=0), times=5)
    row(f"Dawid-Skene, {answers:,} answers, {iterations} iterations, integer ids", peer, ours, "(6 x)")
    want("Dawid-Skene with integer ids, 6 x", met=peer / ours >= 6)
    table = theirs.probas_[range(4)].sort_index().to_numpy()
    same = (table.argmax(axis=1) == consensus.label).mean()
    away = np.nanmax(np.abs(table.max(axis=1) - consensus.confidence))
    print(f"{'  labels the same, confidences apart at most':<50}{same:>10.6f}{away:>9.0e}")
    until, converged = timed(lambda: dawid_skene(votes), times=1)
    more = f"{converged.fit.iterations} iterations; right {(converged.label == truth).mean():.4f}"
    row("  ours until it converges", None, until, "", more)

    shuffled = np.random.default_rng(1).permutation(len(votes))
    names = [f"{what}-{{:08d}}" for what in ("item", "annotator", "label")]
    columns = [
        pl.DataFrame({"code": code[shuffled]}).select(pl.format(name.replace("{:08d}", "{}"), pl.col("code").cast(pl.String).str.zfill(8)))
        .to_series()
        for name, code in zip(names, (votes.item, votes.annotator, votes.label), strict=True)
    ]  # fmt: skip
    texts = pd.DataFrame(dict(zip(("task", "worker", "label"), (c.to_list() for c in columns), strict=True)))
    peer, _ = timed(lambda: DawidSkene().fit(texts.copy()), times=1)
    ours, consensus = timed(lambda: dawid_skene(encode(*columns).votes, iterations=iterations, tolerance=0))
    row(f"Dawid-Skene, {answers:,} answers, string ids, shuffled", peer, ours, "(12 x)")
    want("Dawid-Skene with string ids, 12 x", met=peer / ours >= 12)
    encoding, _ = timed(lambda: encode(*columns))
    row("  of which encoding", None, encoding, "")


def compare_alpha(answers: int) -> None:
    import krippendorff

    votes, _ = simulated(answers, 200, 4)
    table = np.full((votes.annotators, votes.items), np.nan)
    table[votes.annotator, votes.item] = votes.label
    peer, theirs = timed(
        lambda: krippendorff.alpha(reliability_data=table, level_of_measurement="nominal"), times=1
    )
    ours, alpha = timed(lambda: krippendorff_alpha(votes))
    row(f"Krippendorff's alpha, {answers:,} answers", peer, ours, "", f"{theirs:.6f} and {alpha:.6f}")


def open_votes(answers: int, people: int) -> tuple[Votes, np.ndarray]:
    """Open answers, five an item: numbers, where most wrong ones are near the right one, and the true labels."""
    rng = np.random.default_rng(0)
    items = answers // 5
    item = np.repeat(np.arange(items, dtype=np.int32), 5)
    steps = rng.integers(1, people // 5, (items, 5))
    annotator = ((rng.integers(0, people, items)[:, None] + steps.cumsum(axis=1)) % people).reshape(-1)
    truth = rng.integers(0, 100 * items, items)
    right = rng.random(item.size) < rng.beta(6, 3, people)[annotator]
    names, label = np.unique(
        np.where(right, truth[item], truth[item] + rng.geometric(0.05, item.size)), return_inverse=True
    )
    votes = Votes(item, annotator.astype(np.int32), label.astype(np.int32), items, people, int(names.size))
    return votes, np.searchsorted(names, truth)


def open_answers(answers: int) -> None:
    """GLAD on open answers, and whether its time grows with the answers alone."""
    most, seconds = 20.0, {}
    for size in (answers // 10, answers):
        votes, truth = open_votes(size, 5000)
        seconds[size], consensus = timed(lambda votes=votes: glad(votes), times=2)
        more = f"{votes.labels:,} labels, right {(consensus.label == truth).mean():.4f}"
        row(f"GLAD, {size:,} open answers", None, seconds[size], "", more)
    growth = seconds[answers] / seconds[answers // 10]
    print(f"  {growth:.1f} x the time for 10 x the answers (at most 15); at most {most:g} s")
    want(f"GLAD on open answers, {most:g} s", met=seconds[answers] <= most)
    want("GLAD on open answers, linear", met=growth <= 15)


def open_pool_process(answers: int, people: int, most: float) -> None:
    """`merilo baseline` as a whole process on open answers with gold: the best wall time of several runs."""
    votes, truth = open_votes(answers, people)
    with tempfile.TemporaryDirectory() as folder:
        pool, gold = Path(folder) / "pool.csv", Path(folder) / "gold.csv"
        table = pl.DataFrame({"task": votes.item, "worker": votes.annotator, "answer": votes.label})
        table.select(pl.format("item {}", "task").alias("task"), "worker", "answer").write_csv(pool)
        items = pl.DataFrame({"task": np.arange(votes.items), "gold": truth})
        items.select(pl.format("item {}", "task").alias("task"), "gold").write_csv(gold)
        command = [
            sys.executable,
            "-m",
            "merilo",
            "baseline",
            str(pool),
            "--item",
            "task",
            "--annotator",
            "worker",
        ]
        command += ["--answer", "answer", "--gold", str(gold), "--gold-column", "gold", "--json", "-"]
        times = []
        for _ in range(5 if answers < 100_000 else 1):
            start = time.perf_counter()
            done = subprocess.run(command, capture_output=True, check=False)
            times.append(time.perf_counter() - start)
            if done.returncode not in {0, 1}:
                sys.exit(done.stderr.decode())
    what = f"merilo baseline, {answers:,} open answers, {people} people"
    row(what, None, min(times), f"({most:g} s)", f"wall time; {votes.labels:,} labels")
    want(f"{what}, {most:g} s", met=min(times) <= most)


def large(answers: int) -> None:
    """One large fit in a process of its own, so that its memory can be seen."""
    votes, truth = simulated(answers, 5000, 4)
    seconds, consensus = timed(lambda: dawid_skene(votes), times=1)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    fit = consensus.fit
    more = (
        f"{memory:.2f} GB in all, {fit.iterations} iterations, converged: {fit.converged}, "
        f"right {(consensus.label == truth).mean():.4f}"
    )
    row(f"Dawid-Skene, {answers:,} answers, a process of its own", None, seconds, "(4 GB)", more)


def main() -> None:
    warnings.simplefilter("ignore", DeprecationWarning)
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--answers", type=int, default=1_000_000)
    options.add_argument("--glad-answers", type=int, default=100_000)
    options.add_argument("--large", type=int, default=10_000_000)
    options.add_argument("--only-large", action="store_true", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.only_large:
        large(chosen.large)
        return
    print(f"{'seconds of processor time':<50}{'peer':>10}{'ours':>9}{'ratio':>11}  at least")
    compare_glad(chosen.glad_answers)
    compare_dawid_skene(chosen.answers)
    compare_alpha(min(chosen.answers, 100_000))
    subprocess.run([sys.executable, __file__, "--only-large", "--large", str(chosen.large)], check=True)
    # A fit of a small pool costs next to nothing in the process of `merilo baseline`.
    votes, _ = simulated(4000, 190, 4)
    row("GLAD, 4,000 answers, several starts", None, timed(lambda: glad(votes))[0], "")
    open_answers(chosen.answers)
    for people in (100, 230):
        open_pool_process(3150, people, 1.5)
    open_pool_process(chosen.answers, 5000, 20.0)
    for missed in MISSED:
        print(f"MISSED  {missed}")
    sys.exit(1 if MISSED else 0)


if __name__ == "__main__":
    main()
