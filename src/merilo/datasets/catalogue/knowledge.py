"""Knowledge of the world, of school subjects and of professions."""

from __future__ import annotations

from typing import Final

from merilo.datasets.catalogue.sources import annotated_test, measured, mmlu_experts, mmlu_untrained, tape
from merilo.datasets.declaration import Answer, Dataset, HumanFigure, Shots

_LETTERS: Final = Answer(kind="choice", labels=tuple("ABCD"))
_OPTIONS: Final = ("option_a", "option_b", "option_c", "option_d")

MATHLOGICQA: Final = Dataset(
    name="mathlogicqa",
    title="MathLogicQA",
    about="School mathematics and logic, four answers",
    fields=("text", *_OPTIONS),
    answer=_LETTERS,
    metrics=("acc",),
    shots=Shots(count=1),
    sizes={"1.0": 1143, "1.2": 1143},
    in_total=True,
    gold="closed",
    skills=("Common domain knowledge",),
    human=(measured("acc", 0.995, 1130),),
)

RUMMLU: Final = Dataset(
    name="rummlu",
    title="ruMMLU",
    about="Subjects from school to profession, four answers",
    fields=("text", *_OPTIONS, "subject"),
    answer=_LETTERS,
    metrics=("acc",),
    extra="acc.{domain}",
    shots=Shots(count=1, same="domain"),
    sizes={"1.0": 961, "1.2": 14012},
    skills=("Expert domain knowledge",),
    human=(mmlu_experts(), annotated_test(), mmlu_untrained()),
)

MAMURAMU: Final = Dataset(
    name="mamuramu",
    title="MaMuRAMu",
    about="Subjects from school to profession, four answers, written in Russian",
    fields=("text", *_OPTIONS, "subject"),
    answer=_LETTERS,
    metrics=("acc",),
    extra="acc.{domain}",
    shots=Shots(count=1, same="domain"),
    sizes={"1.2": 4248},
    in_total=True,
    gold="closed",
    skills=("Expert domain knowledge",),
    human=(mmlu_experts(), annotated_test()),
)

CHEGEKA: Final = Dataset(
    name="chegeka",
    title="CheGeKa",
    about="Quiz questions with a free answer",
    fields=("text", "topic"),
    answer=Answer(kind="text", alternatives=";"),
    metrics=("f1", "em"),
    shots=Shots(count=1),
    sizes={"1.0": 416, "1.2": 416},
    in_total=True,
    gold="closed",
    skills=("Common everyday knowledge",),
    human=(tape("f1", 0.719, 416), tape("em", 0.645, 416)),
)

RUWORLDTREE: Final = Dataset(
    name="ruworldtree",
    title="ruWorldTree",
    about="Elementary science, four answers",
    fields=("question", *_OPTIONS),
    answer=_LETTERS,
    metrics=("acc", "f1_macro"),
    shots=Shots(count=1),
    sizes={"1.0": 525, "1.2": 525},
    in_total=True,
    gold="closed",
    skills=("Common everyday knowledge", "Common domain knowledge"),
    human=(tape("f1_macro", 0.838, 525), tape("acc", 0.837, 525)),
)

RUOPENBOOKQA: Final = Dataset(
    name="ruopenbookqa",
    title="ruOpenBookQA",
    about="Elementary science that needs a fact from outside the question, four answers",
    fields=("question", *_OPTIONS),
    answer=_LETTERS,
    metrics=("acc", "f1_macro"),
    shots=Shots(count=1),
    sizes={"1.0": 400, "1.2": 400},
    in_total=True,
    gold="closed",
    skills=("Common everyday knowledge", "Common domain knowledge"),
    human=(tape("f1_macro", 0.875, 400), tape("acc", 0.865, 400)),
)

USE: Final = Dataset(
    name="use",
    title="USE",
    about="The state exam in Russian, part 1: 26 tasks a variant",
    fields=("task", "text", "choices", "additional_text"),
    # The comma lists alternatives in the tasks of type "text" only; elsewhere it divides the numbers of one answer.
    answer=Answer(kind="text", alternatives=","),
    metrics=("grade_norm",),
    extra="grade_norm.task{id_task}",
    shots=Shots(count=1, same="id_task"),
    stop=("\n", "."),
    prompts_by="type",
    # The dataset's description calls the second one the dev set, the hub calls it `validation`.
    splits=("train", "validation", "test"),
    sizes={"1.0": 900, "1.2": 900},
    in_total=True,
    gold="closed",
    skills=("Common domain knowledge",),
    human=(
        HumanFigure(
            metric="grade_norm",
            value=0.701,
            n=None,
            provenance="official statistics",
            source="state exam of 2019: mean primary score of part 1, 23.835 of 34",
        ),
    ),
)

DATASETS: Final = (MATHLOGICQA, RUMMLU, MAMURAMU, CHEGEKA, RUWORLDTREE, RUOPENBOOKQA, USE)
