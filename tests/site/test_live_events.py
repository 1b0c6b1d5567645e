"""Live figures: computed once for all dashboards, sent when they change, ended with the session and the server."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator

import httpx
import pytest
from author_session import PASSWORD, form_token, signed_in
from collected_answers import Given, put_answers, simulate
from site_in_process import opened_site
from site_process import running_site, served_site

from merilo.site import live_events
from merilo.site.annotation_site import AnnotationSite
from merilo.site.collected_figures import estimate_so_far
from merilo.site.database import database_url, open_database, writing
from merilo.site.served_study import ServedStudy, load_study, register
from merilo.site.serving import set_site_password
from merilo.studies.study_folder import StudyFolder

pytestmark = pytest.mark.usefixtures("both_databases")

Frozen = Callable[..., StudyFolder]


def answer(folder: StudyFolder, person: str, task: int) -> None:
    """An answer, written by another process than the server."""
    engine = open_database(database_url(folder.path, None))
    with writing(engine) as connection:
        study = register(connection, load_study(folder, "people"), 1)
        put_answers(connection, study, [Given(person, task, "1")])
    engine.dispose()


def figures_in(lines: Iterator[str]) -> dict:
    for line in lines:
        if line.startswith("data: {") and "shown" in line:
            return json.loads(line.removeprefix("data: "))["shown"]
    raise AssertionError("the events ended")


@pytest.mark.thorough
def test_an_answer_of_another_process_is_sent_and_a_stopping_server_ends_the_events(frozen: Frozen) -> None:
    folder = frozen()
    with (
        running_site(folder.path) as (address, paths, process),
        httpx.Client(base_url=address, timeout=60) as client,
    ):
        live = paths["people"].replace("/s/", "/author/") + "live"
        assert client.get(live).status_code == 401
        signed_in(client, folder.path)
        with client.stream("GET", live) as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            assert stream.headers["cache-control"] == "no-store"
            assert "default-src 'none'" in stream.headers["content-security-policy"]
            lines = stream.iter_lines()
            assert figures_in(lines)["answered"].startswith("0 ")
            answer(folder, "ann", 0)
            assert figures_in(lines)["answered"].startswith("1 ")
            process.send_signal(2)
            assert list(lines)[-1] == "", "the last event is whole"
        process.wait(30)
        assert process.returncode == 0


@pytest.mark.thorough
def test_a_new_password_ends_the_events(frozen: Frozen) -> None:
    folder = frozen()
    with (
        served_site(folder.path) as (address, paths),
        httpx.Client(base_url=address, timeout=60) as client,
    ):
        signed_in(client, folder.path)
        with client.stream("GET", paths["people"].replace("/s/", "/author/") + "live") as stream:
            lines = stream.iter_lines()
            figures_in(lines)
            set_site_password(folder.path, "another password")
            answer(folder, "ann", 0)
            rest = list(lines)
        assert "event: end" in rest
        assert not any(line.startswith("event: figures") for line in rest)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at the database without rests."""
    for name in ("EVERY", "REST"):
        monkeypatch.setattr(live_events, name, 0.01)


async def allowed() -> bool:
    return True


async def next_figures(events: AsyncIterator[bytes]) -> dict:
    async for event in events:
        if event.startswith(b"event: figures"):
            return json.loads(event.split(b"data: ", 1)[1])["shown"]
    raise AssertionError("the events ended")


def watched(site: AnnotationSite, study: ServedStudy) -> AsyncIterator[bytes]:
    return site.live.events(study, "en", allowed)


@pytest.mark.usefixtures("at_once")
def test_twenty_dashboards_share_one_computation_and_without_them_nothing_is_computed(frozen: Frozen) -> None:
    with opened_site(frozen()) as site:
        study = next(iter(site.by_number.values()))

        def write(person: str) -> None:
            with writing(site.engine) as connection:
                put_answers(connection, study, [Given(person, 0, "1")])

        async def watch() -> None:
            dashboards = [watched(site, study) for _ in range(20)]
            first = await asyncio.gather(*map(next_figures, dashboards))
            assert {one["answered"][:2] for one in first} == {"0 "}
            assert (site.live.watchers(study), site.live.computations(study)) == (20, 1)
            await asyncio.to_thread(write, "ann")
            second = await asyncio.gather(*map(next_figures, dashboards))
            assert {one["answered"][:2] for one in second} == {"1 "}
            assert site.live.computations(study) == 2
            for one in dashboards:
                await one.aclose()
            assert site.live.watchers(study) == 0
            await asyncio.to_thread(write, "bob")
            assert not [one for one in asyncio.all_tasks() if one is not asyncio.current_task() and not one.done()
                        and not one.cancelling()], "no loop is left"  # fmt: skip
            assert site.live.computations(study) == 2

        asyncio.run(watch())


@pytest.mark.usefixtures("at_once")
def test_what_did_not_change_is_not_sent_again(frozen: Frozen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_events, "HEARTBEAT", 0.05)
    with opened_site(frozen()) as site:
        study = next(iter(site.by_number.values()))

        async def watch() -> list[bytes]:
            events = watched(site, study)
            await next_figures(events)
            rest = [await anext(events) for _ in range(5)]
            await events.aclose()
            return rest

        assert asyncio.run(watch()) == [b": still here\n\n"] * 5


@pytest.mark.usefixtures("at_once")
def test_a_stopped_server_ends_all_events(frozen: Frozen) -> None:
    with opened_site(frozen()) as site:
        study = next(iter(site.by_number.values()))

        async def watch() -> int:
            events = watched(site, study)
            await next_figures(events)
            site.live.stop()
            return len([event async for event in events])

        assert asyncio.run(watch()) == 0


@pytest.mark.thorough
def test_the_estimate_is_hidden_until_it_is_asked_for_and_every_look_is_recorded(frozen: Frozen) -> None:
    folder = frozen()
    engine = open_database(database_url(folder.path, None))
    with writing(engine) as connection:
        study = register(connection, load_study(folder, "people"), 1)
        simulate(connection, study, {"a": 0.6, "b": 0.6, "c": 0.6}, seed=2)
    expected = estimate_so_far(engine, study).estimate
    engine.dispose()
    assert expected is not None
    assert 0 < expected.value < 1
    value = f"{expected.value:.4f}"
    home = f"/author/{study.key}/"
    english = {"accept-language": "en"}
    with (
        served_site(folder.path) as (address, _),
        httpx.Client(base_url=address, timeout=60, headers=english) as client,
    ):
        signed_in(client, folder.path)
        for page in ("", "people", "estimate", "log"):
            assert value not in client.get(home + page).text, page
        token = form_token(client.get(f"{home}estimate").text)
        assert client.post(f"{home}estimate", data={"token": "x"}).status_code == 403
        shown = client.post(f"{home}estimate", data={"token": token}).text
        assert f'<dd id="estimate">{value}</dd>' in shown
        client.post(f"{home}estimate", data={"token": token})
        log = client.get(f"{home}log").text
    assert log.lower().count("estimate") == 2
    assert PASSWORD not in log


@pytest.mark.thorough
def test_people_are_sorted_by_links_and_paged(frozen: Frozen) -> None:
    folder = frozen()
    engine = open_database(database_url(folder.path, None))
    with writing(engine) as connection:
        study = register(connection, load_study(folder, "people"), 1)
        put_answers(connection, study, [Given(f"p{n:03}", n % 3, "1", counts=False) for n in range(205)])
        put_answers(connection, study, [Given("<b>x</b>", 0, "1", counts=False)])
    engine.dispose()
    home = f"/author/{study.key}/people"
    with served_site(folder.path) as (address, _), httpx.Client(base_url=address, timeout=60) as client:
        assert client.get(home).status_code == 302
        signed_in(client, folder.path)
        last = client.get(f"{home}?sort=pseudonym&order=asc&page=3").text
        assert [last.count(f">p{n:03}</a>") for n in (198, 199, 204)] == [0, 1, 1]
        assert 'aria-sort="ascending"' in last
        assert "order=asc&amp;page=2" in last
        first = client.get(f"{home}?sort=pseudonym&order=desc").text
        assert first.index(">p204</a>") < first.index(">p203</a>")
        every = client.get(f"{home}?sort=pseudonym&order=asc").text
        assert "<b>x</b>" not in every
        assert "&lt;b&gt;x&lt;/b&gt;" in every
        for odd in (
            "?sort=nothing",
            "?page=-1",
            "?page=99999999999999999999",
            "?page=%D9%A3",
            "?order=&sort=",
        ):
            assert client.get(home + odd).status_code == 200, odd
