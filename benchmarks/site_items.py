"""The annotation site's allocation in a study of 1,000,000 items: the next item, an answer, and the search for overdue tasks.

    python benchmarks/site_items.py [--items 1000000]

The times are those of one decision each, without its commit: at the beginning; for a person who has answered 10,000 items; at the end, when
few items are free and the person has answered nearly all others; and when nothing is left for them.

Exit status 1: the next item takes 20 ms or longer in the median.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median

from merilo.site.annotator_steps import SentAnswer, ShownTask, next_task, return_overdue, save_answers
from merilo.site.served_study import load_study
from merilo.site.state import Person, State
from merilo.studies.study_folder import open_study

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from support.site_study import speed_study

ALLOWED = 0.020
OVERLAP = 3


def timed(name: str, operation: Callable[[int], object], count: int) -> bool:
    """Time an operation, print it, and return whether it takes too long."""
    walls = []
    for number in range(count):
        start = time.perf_counter()
        found = operation(number)
        walls.append(time.perf_counter() - start)
    print(f"{name:60} median {1000 * median(walls):8.2f} ms, slowest {1000 * max(walls):8.2f} ms   ({found})")
    return median(walls) >= ALLOWED


def come(state: State, name: str, seed: int) -> Person:
    """Let somebody in who works."""
    state.record(0, "came", name, pseudonym=name, source="link", external=name, language="ru", seed=seed)
    state.record(0, "moved", name, to="working")
    return state.people[name]


def answer(state: State, person: Person, low: int, high: int) -> None:
    """Let a person answer the items from one number to another, those that are free."""
    for task in range(low, high):
        if state.open[task]:
            state.record(0, "given", person.id, task, place=len(person.order) + 1, due=1_800_000)
            state.record(5_000, "answered", person.id, task, seconds=5.0, answer="1")
    state.unwritten()


def measure(folder: Path, items: int) -> bool:
    """Enlarge a small study, and time the allocation."""
    study = load_study(open_study(folder), "people")
    rules = replace(study.rules, tests=items, controls=0, training=0, every=0, overlap=OVERLAP)
    state = State(replace(study, tasks=study.tasks[:1] * items, rules=rules))
    people = [come(state, f"p{number}", 7919 * number) for number in range(1101)]

    def loop(person: Person) -> Callable[[int], object]:
        def once(number: int) -> object:
            shown = next_task(state, person, 10_000 + number)
            if not isinstance(shown, ShownTask):
                return shown
            sent = [SentAnswer(number=shown.number, answer="1")]
            return save_answers(state, person, sent, 10_000 + number)[shown.number]

        return once

    slow = timed("next item and save, at the beginning", loop(people[1]), 300)
    for number in range(2, 52):
        low = (number * 791_900) % (items - 10_000)
        answer(state, people[number], low, low + 10_000)
    slow |= timed("the same for a person who has answered 10,000", loop(people[2]), 300)
    for person in people[100:1100]:
        next_task(state, person, 0)
    slow |= timed(
        "search for overdue tasks, 1,000 open, none overdue", lambda _: return_overdue(state, 20_000), 20
    )
    answer(state, people[60], 40, items)
    timed("next item for somebody who answered all but 40, all free", loop(people[60]), 5)
    for person in people[61:63]:
        answer(state, person, 60, items)
    slow |= timed("next item for them, 60 items free", loop(people[60]), 30)
    timed("search that gives 1,000 overdue tasks back", lambda _: return_overdue(state, 10_000_000), 1)
    return slow


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=1_000_000, help="more than 10,000")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as own:
        return int(measure(speed_study(Path(own) / "study", 20).parent / "study", asked.items))


if __name__ == "__main__":
    sys.exit(main())
