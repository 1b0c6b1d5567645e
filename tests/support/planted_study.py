"""A simulated study in which bad annotators and wrong golds were planted, and how many wrong golds are found."""

from dataclasses import dataclass, field

import numpy as np

from merilo.people.gold_model import fit_gold_model
from merilo.people.votes import Votes

#: How many people of each kind; most are careful.
PANEL = {"careful": 28, "spammer": 3, "clicker": 3, "hasty": 3, "tiring": 3}

OPTIONS, ITEMS, CONTROLS, OVERLAP, PAGE = 4, 400, 40, 5, 2


@dataclass
class Planted:
    votes: Votes
    gold: np.ndarray
    wrong_gold: np.ndarray


def planted_study(seed: int, *, options: int = OPTIONS, items: int = ITEMS) -> Planted:
    """Forty people answer four hundred items, five each, two on a page with a control.

    Careful people are right on an ordinary item with chance 0.92 or so; spammers answer blindly; clickers give one answer
    nineteen times of twenty; hasty people are right less often; tiring people are careful
    at first and nearly blind at the end. One item of twenty is hard (and has a lure), one gold of twenty-five is wrong.
    """
    rng = np.random.default_rng(seed)
    kinds = [kind for kind, n in PANEL.items() for _ in range(n)]
    people = len(kinds)
    ability = rng.normal(2.5, 0.6, people)
    for person, kind in enumerate(kinds):
        if kind == "hasty":
            ability[person] -= 1.2
    everything = items + CONTROLS
    truth = rng.integers(options, size=everything)
    difficulty = rng.normal(0, 0.8, everything)
    hard = np.zeros(everything, bool)
    hard[:items] = rng.random(items) < 0.05
    difficulty[hard] += 3.0
    difficulty[items:] -= 0.5
    wrong = np.zeros(everything, bool)
    wrong[:items] = rng.random(items) < 0.04
    gold = np.where(wrong, (truth + rng.integers(1, options, everything)) % options, truth)
    lure = (truth + rng.integers(1, options, everything)) % options
    favourite = rng.integers(options, size=people)
    table = []
    for person, asked in enumerate(_assigned(rng, people, items)):
        pages = np.array_split(asked, max(1, len(asked) // PAGE))
        controls = items + rng.permutation(CONTROLS)
        for place, page in enumerate(pages):
            progress = place / len(pages)
            for item in rng.permutation([*page, controls[place % CONTROLS]]):
                blind = kinds[person] == "spammer" or (
                    kinds[person] == "tiring" and rng.random() < 1.3 * progress - 0.2
                )
                if blind:
                    label = rng.integers(options)
                elif kinds[person] == "clicker" and rng.random() < 0.95:
                    label = favourite[person]
                elif rng.random() < 1 / (1 + np.exp(difficulty[item] - ability[person])):
                    label = truth[item]
                elif rng.random() < 0.5:
                    label = lure[item]
                else:
                    label = (truth[item] + rng.integers(1, options)) % options
                table.append((item, person, label))
    item, person, label = (np.array(column, dtype=np.int32) for column in zip(*table, strict=True))
    return Planted(Votes(item, person, label, everything, people, options), gold.astype(np.int32), wrong)


def _assigned(rng: np.random.Generator, people: int, items: int) -> list[list[int]]:
    """Every item to five different people, as evenly as it goes: rounds of all people in random order."""
    asked: list[list[int]] = [[] for _ in range(people)]
    for item in rng.permutation(items):
        load = np.array([len(own) for own in asked]) + rng.random(people)
        for person in np.argsort(load)[:OVERLAP]:
            asked[person].append(int(item))
    return asked


@dataclass
class Tally:
    """How many were planted, how many were accused, how many accusations were true."""

    planted: int = 0
    accused: int = 0
    found: int = 0

    @property
    def precision(self) -> float:
        return self.found / self.accused if self.accused else float("nan")

    @property
    def recall(self) -> float:
        return self.found / self.planted if self.planted else float("nan")

    def add(self, planted: set, accused: set) -> None:
        self.planted += len(planted)
        self.accused += len(accused)
        self.found += len(planted & accused)


@dataclass
class Detection:
    """Wrong gold answers that were found in many studies."""

    golds: Tally = field(default_factory=Tally)
    said: list[float] = field(default_factory=list)
    true: list[bool] = field(default_factory=list)

    def add(self, study: Planted) -> None:
        votes = study.votes
        first = np.unique(votes.annotator.astype(np.int64) * votes.items + votes.item, return_index=True)[1]
        gold_wrong = fit_gold_model(votes.where(np.isin(np.arange(len(votes)), first)), study.gold).gold_wrong
        self.golds.add(
            set(np.flatnonzero(study.wrong_gold).tolist()), set(np.flatnonzero(gold_wrong >= 0.5).tolist())
        )
        self.said += gold_wrong.tolist()
        self.true += study.wrong_gold.tolist()


def detected(studies: int, first_seed: int = 0, **shape: int) -> Detection:
    """Plant and look for, in many studies."""
    detection = Detection()
    for seed in range(first_seed, first_seed + studies):
        detection.add(planted_study(seed, **shape))
    return detection
