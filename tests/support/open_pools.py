"""Made-up pools of open answers with the faults that real ones have, and the truth beside them."""

from dataclasses import dataclass

import numpy as np

from merilo.people.votes import Votes, encode


@dataclass(frozen=True)
class OpenPool:
    """Votes on open answers, and the code of each item's true label (-1 if no annotator gave it)."""

    votes: Votes
    truth: np.ndarray


def _pool(answers: list[tuple[int, int, str]], truths: list[str]) -> OpenPool:
    encoding = encode(*(list(column) for column in zip(*answers, strict=True)))
    codes = {label: code for code, label in enumerate(encoding.labels)}
    return OpenPool(
        encoding.votes, np.array([codes.get(truths[item], -1) for item in encoding.items], dtype=np.int64)
    )


def open_pool(fault: str, *, seed: int = 0, largest: int = 2000) -> OpenPool:
    """300 sums, each answered by five of 40 people whose accuracy is drawn from a beta distribution of mean 0.73.

    Args:
        fault: how people err. "slips": one digit is mistyped. "near misses": one or ten too many or too few. "copying": as
            slips, and person 1 gives person 0's answer, next to whom they are asked on a third of the items. "copying
            everywhere": the same on all items. "attractive": on a fifth of the items seven of ten wrong answers are the
            same.
        seed: of the random numbers.
        largest: answers are from 100 to below this.
    """
    rng = np.random.default_rng(seed)
    accuracy = rng.beta(8, 3, 40)
    truths = [str(number) for number in rng.integers(100, largest, 300)]
    answers: list[tuple[int, int, str]] = []
    for item, truth in enumerate(truths):
        asked = rng.choice(40, 5, replace=False)
        together = fault == "copying everywhere" or (fault == "copying" and item % 3 == 0)
        if together:
            asked = np.r_[[0, 1], 2 + rng.choice(38, 3, replace=False)]
        lure = str(int(truth) + 90)
        given: dict[int, str] = {}
        for person in asked:
            if rng.random() < accuracy[person]:
                answer = truth
            elif fault == "near misses":
                answer = str(int(truth) + int(rng.choice([-10, -1, 1, 10])))
            elif fault == "attractive" and item % 5 == 0 and rng.random() < 0.7:
                answer = lure
            else:
                place = int(rng.integers(len(truth)))
                digit = str((int(truth[place]) + int(rng.integers(1, 10))) % 10)
                answer = truth[:place] + digit + truth[place + 1 :]
            given[int(person)] = answer
        if together:
            given[1] = given[0]
        answers += [(item, person, answer) for person, answer in given.items()]
    return _pool(answers, truths)
