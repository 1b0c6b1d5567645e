"""Two hundred people finish a study over HTTP while its server is killed: no answer is lost, and none is doubled."""

import asyncio
import subprocess
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from http_people import Browser, HttpPerson
from site_process import running_site
from study_people import study_of

from merilo.datasets import dataset
from merilo.datasets.ready_items import examples
from merilo.site.serving import read_site
from merilo.studies.study_folder import StudyFolder, freeze_plan
from merilo.studies.study_tasks import study_tasks

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

ITEMS, OVERLAP, PEOPLE, EVERY = 1000, 5, 200, 5


def frozen_study(folder: Path, items: int, **more: object) -> StudyFolder:
    """A study of so many questions with short answers in text, so that every answer can be told from every other."""
    bundled = examples(dataset("chegeka"))
    one = bundled["test"].items[0]
    assert isinstance(one.inputs, dict)
    questions = [
        replace(one, inputs={**one.inputs, "text": f"Вопрос {n}"}, meta={**one.meta, "id": n})
        for n in range(items)
    ]
    study = study_of(folder, questions, bundled["shots"].items, dataset_name="chegeka", **more)  # type: ignore[arg-type]
    weights = "".join(f"{one.id},all,1\n" for one in study.items())
    (study.path / "weights.csv").write_text(f"id,stratum,weight\n{weights}", encoding="utf-8")
    freeze_plan(study, day="2026-01-12", force=True)
    return study


class Servers:
    """Server processes of one study, which are killed and started again on their ports.

    Args:
        study: the study's folder.
        database: the address of the database.
    """

    def __init__(self, study: Path, database: str, count: int = 1) -> None:
        self._study, self._options = study, ("--database", database)
        self._stack = ExitStack()
        self._processes: list[subprocess.Popen] = []
        self.addresses: list[str] = []
        self.paths: dict[str, str] = {}
        for _ in range(count):
            address, self.paths, process = self._stack.enter_context(running_site(study, *self._options))
            self.addresses.append(address)
            self._processes.append(process)

    def kill(self, which: int) -> None:
        """Kill a process as the system does when memory runs out."""
        self._processes[which].kill()
        self._processes[which].wait()

    def start_again(self, which: int) -> None:
        """Start a killed process again on its port."""
        port = self.addresses[which].rpartition(":")[2]
        site = running_site(self._study, *self._options, "--port", port)
        _, _, self._processes[which] = self._stack.enter_context(site)

    def __enter__(self) -> "Servers":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def take_part(
    study: StudyFolder, servers: Servers, people: int, kills: list[tuple[int, int]]
) -> list[HttpPerson]:
    """Let people answer; after so many acknowledged answers, a process is killed and started again."""
    known = {task.id: str(task.known) for task in study_tasks(study).controls}
    pending, answers = list(kills), Counter[str]()

    async def all_of_them() -> list[HttpPerson]:
        starts: list[asyncio.Task[None]] = []

        def acknowledged() -> None:
            answers["all"] += 1
            if pending and answers["all"] == pending[0][0]:
                which = pending.pop(0)[1]
                servers.kill(which)
                starts.append(asyncio.create_task(asyncio.to_thread(servers.start_again, which)))

        def person(number: int) -> HttpPerson:
            def answer(task: str) -> str:
                answers[f"{number} {task}"] += 1
                return known.get(task, f"{number} {task} {answers[f'{number} {task}']}")

            browser = Browser(servers.addresses, number)
            return HttpPerson(browser, servers.paths["people"], str(number), answer, acknowledged)

        everyone = [person(number) for number in range(people)]
        await asyncio.gather(*(one.take_part() for one in everyone))
        await asyncio.gather(*starts)
        return everyone

    done = asyncio.run(all_of_them())
    assert not pending, "every kill took place"
    return done


def holds(study: StudyFolder, database: str, everyone: list[HttpPerson], overlap: int) -> None:
    """Compare what was acknowledged with the database, answer by answer, and the database with the rules of the study."""
    tasks = study_tasks(study)
    ids = [task.id for task in (*tasks.tests, *tasks.controls)]
    state = read_site(study.path, database=database)
    rows = [
        (person.external, ids[task], person.tasks[task])
        for person in state.people.values()
        for task in person.order
    ]
    stored = {(name, task): held.answer for name, task, held in rows if held.state == "answered"}
    acknowledged = {(one.number, task): answer for one in everyone for task, answer in one.kept.items()}
    assert acknowledged == stored
    tests = Counter(held.task for _, _, held in rows if held.counts)
    assert tests == dict.fromkeys(range(len(tasks.tests)), overlap)
    answered = [held for _, _, held in rows if state.rules.is_test(held.task) and held.state == "answered"]
    assert len(answered) == overlap * len(tasks.tests)
    assert set(state.open) == {0}
    for one in everyone:
        mine = [held for name, _, held in rows if name == one.number]
        assert [ids[row.task] for row in mine] == one.seen, "the order in which the person saw the items"
        assert len(set(one.seen)) == len(one.seen), "an item came twice"
        blocks = [(row.place - 1) // EVERY for row in mine if row.task >= len(tasks.tests)]
        assert blocks == list(range(len(blocks))), "one control item in each so many tasks"
        assert len(blocks) >= min(len(mine) // EVERY, len(tasks.controls))


@pytest.mark.slow
def test_nothing_is_lost_or_doubled_although_the_server_is_killed_twice(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'site.db'}"
    study = frozen_study(tmp_path / "study", ITEMS, overlap=OVERLAP)
    with Servers(study.path, database) as servers:
        everyone = take_part(study, servers, PEOPLE, [(1500, 0), (3500, 0)])
    holds(study, database, everyone, OVERLAP)
