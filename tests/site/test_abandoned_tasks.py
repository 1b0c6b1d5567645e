"""People who close the browser with a task before them: the task goes to others, and the overlap is reached exactly."""

from collections import Counter
from collections.abc import Callable

from fastapi.testclient import TestClient
from site_in_process import from_elsewhere, hidden, opened_site, to_first_task, visiting
from sqlalchemy import select

from merilo.site.assignment import Allocation
from merilo.site.database import ServerClock, writing
from merilo.site.schema import ANSWERED, RESPONSE, TASK
from merilo.studies.study_folder import StudyFolder
from merilo.studies.study_tasks import study_tasks

Frozen = Callable[..., StudyFolder]


class SetClock(ServerClock):
    """A clock that a test sets forward; it follows no other."""

    ahead = 0

    def now(self) -> int:
        return super().now() + self.ahead

    def follow(self, read: Callable[[], int]) -> None:
        """Stay as it is."""


def answer_on(client: TestClient, path: str, page: str, known: dict[str, str], most: int = 1000) -> str:
    """Answer until there is no task, or so many; the page that is then shown."""
    while 'name="task"' in page and most:
        task = hidden(page, "task")
        sent = {"token": hidden(page, "token"), "task": task, "answer": known.get(task, "1")}
        page = client.post(f"{path}task", data=sent).text
        most -= 1
    return page


def test_tasks_of_people_who_left_go_to_others_and_their_late_answers_are_not_taken(
    frozen: Frozen, database: str
) -> None:
    folder, clock = frozen(overlap=3), SetClock()
    known = {task.id: str(task.known) for task in study_tasks(folder).controls}
    with opened_site(folder, clock, database) as site, visiting(site) as first:
        study = next(iter(site.by_key.values()))
        path = f"/s/{study.key}/"
        browsers = [first, *(from_elsewhere(first, "127.0.0.1") for _ in range(7))]
        pages = [to_first_task(one, path, str(number)) for number, one in enumerate(browsers)]
        left = {n: answer_on(browsers[n], path, pages[n], known, most=2) for n in range(4)}
        waiting = {n: answer_on(browsers[n], path, pages[n], known) for n in range(4, 8)}
        assert any(f'href="{path}task"' in page for page in waiting.values()), (
            "somebody waits for the tasks of others"
        )
        clock.ahead += 31 * 60 * 1000
        with writing(site.engine) as connection:
            Allocation(connection, study.rules, clock.now()).return_overdue()
        for n in waiting:
            answer_on(browsers[n], path, browsers[n].get(f"{path}task").text, known)
        for n, page in left.items():
            sent = {"token": hidden(page, "token"), "task": hidden(page, "task"), "answer": "1"}
            told = browsers[n].post(f"{path}task", data=sent)
            assert "передали другому участнику" in told.text or sent["task"] in known
        with site.engine.connect() as connection:
            rows = connection.execute(
                select(RESPONSE.c.person, RESPONSE.c.task).where(
                    RESPONSE.c.state == ANSWERED, RESPONSE.c.task < study.rules.tests
                )
            ).all()
            assert set(connection.scalars(select(TASK.c.open))) == {0}
    assert Counter(row.task for row in rows) == dict.fromkeys(range(study.rules.tests), 3)
    assert len(set(map(tuple, rows))) == len(rows)
