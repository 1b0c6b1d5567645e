"""Reading, inference, reference and dialogue."""

from __future__ import annotations

from typing import Final

from merilo.datasets.catalogue.sources import measured, super_glue, tape
from merilo.datasets.declaration import Answer, Dataset, Shots

PARUS: Final = Dataset(
    name="parus",
    title="PARus",
    about="Which of two sentences is the cause or the effect of a premise",
    fields=("premise", "choice1", "choice2"),
    answer=Answer(kind="choice", labels=("1", "2")),
    metrics=("acc",),
    shots=Shots(count=1),
    prompts_by="task",
    sizes={"1.0": 400, "1.2": 500},
    in_total=True,
    gold="closed",
    skills=("Common everyday knowledge",),
    human=(super_glue("acc", 0.982, 400),),
)

RCB: Final = Dataset(
    name="rcb",
    title="RCB",
    about="Whether a text entails a hypothesis, contradicts it, or neither",
    fields=("premise", "hypothesis"),
    cluster="premise",
    answer=Answer(kind="choice", labels=("1", "2", "3")),
    metrics=("acc", "f1_macro"),
    shots=Shots(count=1),
    sizes={"1.0": 438, "1.2": 438},
    in_total=True,
    gold="closed",
    skills=("Common everyday knowledge",),
    human=(super_glue("f1_macro", 0.68, 438), super_glue("acc", 0.702, 438)),
)

RWSD: Final = Dataset(
    name="rwsd",
    title="RWSD",
    about="Whether a pronoun and a phrase in a sentence mean the same",
    fields=("text", "span1_index", "span1_text", "span2_index", "span2_text"),
    cluster="text",
    hidden=("span1_index", "span2_index"),
    pool_fields={"span1_text": ("word",), "span2_text": ("pronoun",)},
    answer=Answer(kind="choice", labels=("Да", "Нет")),
    metrics=("acc",),
    shots=Shots(count=1),
    sizes={"1.0": 260, "1.2": 260},
    in_total=True,
    gold="closed",
    skills=("Common everyday knowledge",),
    human=(measured("acc", 0.837, 259),),
)

RUTIE: Final = Dataset(
    name="rutie",
    title="ruTiE",
    about="A dialogue of several hundred questions that remember one another, two answers each",
    fields=("question", "choice1", "choice2"),
    pool_fields={"choice1": ("answer_1",), "choice2": ("answer_2",)},
    cluster="dialog_id",
    answer=Answer(kind="choice", labels=("1", "2")),
    metrics=("acc",),
    shots=Shots(earlier_turns=True),
    sizes={"1.0": 430, "1.2": 430},
    in_total=True,
    gold="closed",
    skills=("Common everyday knowledge",),
    human=(measured("acc", 0.977, 430),),
)

MULTIQ: Final = Dataset(
    name="multiq",
    title="MultiQ",
    about="A question whose answer is found by joining two texts",
    fields=("text", "support_text", "question"),
    cluster="text",
    answer=Answer(kind="text", alternatives=";"),
    metrics=("f1", "em"),
    sizes={"1.0": 900, "1.2": 900},
    in_total=True,
    gold="closed",
    skills=("Common everyday knowledge",),
    human=(tape("f1", 0.928, 900), tape("em", 0.910, 900)),
)

DATASETS: Final = (PARUS, RCB, RWSD, RUTIE, MULTIQ)
