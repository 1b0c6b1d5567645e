"""A server that is killed: acknowledged answers are kept, and people go on where they were."""

import signal
from collections.abc import Callable
from pathlib import Path

import httpx
from command import merilo
from site_in_process import agree, form_in, hidden
from site_process import running_site

from merilo.site.served_study import ServedStudy
from merilo.site.serving import serve_study
from merilo.studies.study_folder import StudyFolder


def test_an_acknowledged_answer_outlives_kill_9_and_the_person_goes_on(
    frozen: Callable[..., StudyFolder], database: str
) -> None:
    folder = frozen()
    with running_site(folder.path, "--database", database) as (address, paths, process):
        client = httpx.Client(follow_redirects=True, timeout=30)
        path = paths["people"]
        page = client.get(f"{address}{path}?worker_id=1").text
        page = agree(client, f"{address}{path}", page)
        sent = form_in(page)
        page = client.post(f"{address}{path}task", data=sent).text
        assert ">Задание 2</h1>" in page
        process.kill()
    with running_site(folder.path, "--database", database) as (address, _, _):
        again = client.get(f"{address}{path}task").text
        assert hidden(again, "task") == hidden(page, "task"), "the cookie and the task are still valid"
        again = client.post(f"{address}{path}task", data=sent).text
        assert hidden(again, "task") == hidden(page, "task"), "an answer that is sent again is taken once"
        other = client.post(f"{address}{path}task", data={**sent, "answer": "0"}).text
        assert "Сохранён первый ответ" in other
    client.close()


def test_an_interrupt_stops_the_server_from_the_moment_that_it_says_it_runs(
    frozen: Callable[..., StudyFolder], database: str
) -> None:
    folder = frozen()

    def interrupted(address: str, studies: list[ServedStudy], _: str) -> None:
        said.extend(one.folder.path for one in studies)
        addresses.append(address)
        # With Python's own handler an interrupt is lost if it comes while a module is imported.
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        signal.raise_signal(signal.SIGINT)

    said: list[Path] = []
    addresses: list[str] = []
    serve_study(folder.path, port=0, database=database, started=interrupted)
    assert said == [folder.path]
    invited = merilo("study", "invite", folder.path, "--arm", "people", "--database", database)
    assert invited.out.startswith(f"{addresses[0]}/i/"), "links begin with the address of the server"
