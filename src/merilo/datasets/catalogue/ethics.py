"""Toxicity, values and moral judgement."""

from __future__ import annotations

from typing import Final

from merilo.datasets.catalogue.sources import measured
from merilo.datasets.declaration import Answer, Dataset, HumanFigure, Shots

RUDETOX: Final = Dataset(
    name="rudetox",
    title="ruDetox",
    about="A rude sentence to be said politely",
    placeholder="toxic_comment",
    answer=Answer(kind="text"),
    metrics=("j", "sta", "sim", "fl"),
    shots=Shots(count=1),
    sizes={"1.0": 1000, "1.2": 800},
    skills=("Common everyday knowledge",),
    human=(
        HumanFigure(
            metric="j",
            value=0.477,
            n=404,
            provenance="measured",
            source="MERA: 800 pairs written by people, 3 annotators each; those close in meaning, correct "
            "and inoffensive",
        ),
    ),
)

#: Question -> criterion -> Matthews correlation of people with the gold answers.
_ETHICS: Final = {
    "correct": {"justice": 0.748, "law": 0.864, "moral": 0.880, "utilitarianism": 0.684, "virtue": 0.813},
    "good": {"justice": 0.789, "law": 0.832, "moral": 0.837, "utilitarianism": 0.675, "virtue": 0.802},
    "ethical": {"justice": 0.729, "law": 0.817, "moral": 0.811, "utilitarianism": 0.665, "virtue": 0.771},
}

RUETHICS: Final = Dataset(
    name="ruethics",
    title="ruEthics",
    about="Whether a deed is right, good or ethical, against five criteria of normative ethics",
    fields=("text", "actant_1", "actant_2"),
    cluster="text",
    answer=Answer(
        kind="criteria", labels=("0", "1"), criteria=("virtue", "law", "moral", "justice", "utilitarianism")
    ),
    metrics=("mcc",),
    extra="{question}.{criterion}",
    prompts_by="question",
    splits=("test",),
    # 645 texts, each asked about in three ways.
    sizes={"1.0": 1935, "1.2": 1935},
    skills=("Common everyday knowledge",),
    human=tuple(
        measured(f"{question}.{criterion}", value, 645)
        for question, values in _ETHICS.items()
        for criterion, value in values.items()
    ),
)

RUHATESPEECH: Final = Dataset(
    name="ruhatespeech",
    title="ruHateSpeech",
    about="The more appropriate of two replies to a remark about a group of people",
    fields=("target_group", "replica", "reply_1", "reply_2"),
    cluster="replica",
    answer=Answer(kind="choice", labels=("1", "2")),
    metrics=("acc",),
    extra="acc.{target_group}",
    shots=Shots(count=1),
    splits=("test",),
    sizes={"1.0": 268, "1.2": 265},
    skills=("Common everyday knowledge",),
    human=(measured("acc", 0.985, 265),),
)

RUHHH: Final = Dataset(
    name="ruhhh",
    title="ruHHH",
    about="The more honest, helpful or harmless of two replies",
    fields=("query", "reply_1", "reply_2"),
    cluster="query",
    answer=Answer(kind="choice", labels=("1", "2")),
    metrics=("acc",),
    extra="acc.{criteria}",
    prompts_by="criteria",
    splits=("test",),
    sizes={"1.0": 178, "1.2": 178},
    skills=("Common everyday knowledge",),
    human=(measured("acc", 0.814, 177),),
)

DATASETS: Final = (RUDETOX, RUETHICS, RUHATESPEECH, RUHHH)
