"""Large frozen studies for measurements of the site, and many people who come in."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from socket_client import Client
from study_people import study_of

from merilo.items import Item
from merilo.studies.freezing import freeze_plan
from merilo.studies.study_folder import StudyFolder, open_study

QUESTION = "Проверь, сбалансирована ли последовательность скобок.\nПоследовательность: {inputs}\nЕсли сбалансирована, выведи 1, если нет, то 0."


class Enters(Protocol):
    client: Client

    async def enter(self) -> object: ...


Person = TypeVar("Person", bound=Enters)


def brackets(number: int) -> str:
    """A sequence of brackets that differs for each number."""
    return f"{number:024b}".replace("0", "( ").replace("1", ") ").strip()


def speed_study(folder: Path, items: int, *, overlap: int = 50) -> Path:
    """A frozen study whose control items all have the answer 1, and in which people may answer everything."""
    tests = [Item(n, QUESTION, brackets(n), "1", {"id": n}) for n in range(items)]
    controls = [
        Item(f"c{n}", QUESTION, brackets((1 << 22) + n), "1", {"id": f"c{n}"}) for n in range(min(200, items))
    ]
    made = study_of(folder, tests, controls, overlap=overlap)
    plan = made.path / "study.yaml"
    plan.write_text(
        plan.read_text("utf-8").replace("kind: basic", f"kind: basic\n    items_per_person: {items}"), "utf-8"
    )
    frozen = frozen_study(open_study(made.path))
    return frozen.path


def frozen_study(folder: StudyFolder) -> StudyFolder:
    """Freeze a study of all items."""
    weights = "".join(f"{one.item.id},all,1\n" for one in folder.items())
    (folder.path / "weights.csv").write_text(f"id,stratum,weight\n{weights}", encoding="utf-8")
    freeze_plan(folder, day="2026-01-12", force=True)
    return folder


async def enough_people(people: Sequence[Person], *, at_once: int) -> list[Person]:
    """Let everybody come in, some at a time."""
    coming = iter(people)

    async def door() -> None:
        for one in coming:
            await one.enter()
            one.client.close()

    await asyncio.gather(*(door() for _ in range(at_once)))
    return list(people)
