"""The author's link, and the page that it opens, over HTTP: what it shows, what it changes, and what it refuses."""

import csv
import io
import json
import re
import threading
from collections.abc import Callable, Iterator
from html import unescape
from typing import Any

import httpx
import pytest
from author_session import TABLES, author_link, signed_in
from site_in_process import form_in, from_elsewhere, hidden, opened_site, state_of, to_first_task, visiting
from site_people import Given, put_answers
from site_process import running_site
from starlette.routing import BaseRoute, Route
from starlette.testclient import TestClient

from merilo.errors import UsageError
from merilo.site import author, status
from merilo.site.annotation_site import AnnotationSite
from merilo.site.answer_export import collect_answers, paid_people, people_counts
from merilo.site.app import make_app
from merilo.site.author import author_secret
from merilo.site.author_actions import ORDERS, SECRET_HEADER
from merilo.site.journal import ServerClock
from merilo.site.served_study import ServedStudy
from merilo.site.serving import read_site
from merilo.site.status import SiteStatus
from merilo.studies.study_folder import StudyFolder

Frozen = Callable[..., StudyFolder]
HOSTILE = "<script>alert('x')</script>{{ 1867 * 7919 }}\"'&"


@pytest.fixture
def folder(frozen: Frozen) -> StudyFolder:
    return frozen(experts=True)


@pytest.fixture
def site(folder: StudyFolder) -> Iterator[AnnotationSite]:
    with opened_site(folder) as opened:
        yield opened


@pytest.fixture
def client(site: AnnotationSite, folder: StudyFolder) -> Iterator[TestClient]:
    """A browser that has opened the author's link."""
    with visiting(site) as opened:
        opened.headers["Accept-Language"] = "en"
        signed_in(opened, folder.path)
        yield opened


def study_of(site: AnnotationSite, arm: str = "people") -> ServedStudy:
    return next(study for study in site.studies if study.arm_name == arm)


def home(site: AnnotationSite, arm: str = "people") -> str:
    return f"/author/{study_of(site, arm).key}/"


def person_at_work(client: TestClient, site: AnnotationSite, answers: int = 2, name: str = "w-77") -> tuple[TestClient, str]:  # fmt: skip
    """The browser of somebody who has answered some tasks and has one more before them, and their pseudonym."""
    study = study_of(site)
    browser = from_elsewhere(client, "127.0.0.3")
    page = to_first_task(browser, f"/s/{study.key}/", name)
    for number in range(answers):
        sent = form_in(page, comment=f"{HOSTILE} {number}")  # fmt: skip
        page = browser.post(f"/s/{study.key}/task", data=sent).text
    person = state_of(site).person_from("platform", name)
    assert person is not None
    return browser, person.pseudonym


def post(client: TestClient, address: str, **fields: str) -> httpx.Response:
    """Send a form with the token of this browser."""
    return client.post(address, data={"token": hidden(client.get("/author/").text, "token"), **fields})


def test_without_the_link_there_are_no_pages_of_the_author(site: AnnotationSite, folder: StudyFolder) -> None:
    link = author_link(folder.path)

    def of(routes: list[BaseRoute]) -> Iterator[Route]:
        for route in routes:
            if isinstance(route, Route):
                yield route
            else:
                yield from of(getattr(getattr(route, "original_router", route), "routes", []))

    def paths() -> Iterator[tuple[str, str]]:
        for route in of(make_app(site).routes):
            path = route.path.replace("{key}", study_of(site).key).replace("{name}", "answers.csv")
            path = path.replace("{pseudonym}", "p0").replace("{secret}", "x" * 43)
            if path.startswith("/author/"):
                yield from ((method, path) for method in route.methods or () if method != "HEAD")

    with visiting(site, "203.0.113.9") as stranger:
        missing = stranger.get("/nothing")
        token = hidden(stranger.get("/").text, "token")
        found = list(paths())
        assert len(found) >= 10
        for method, path in found:
            cookies = ("", f"{author.COOKIE}=author.x.y")
            for cookie in cookies:
                answer = stranger.request(
                    method, path, data={"token": token} if method == "POST" else None, headers={"Cookie": cookie} if cookie else {}
                )  # fmt: skip
                assert (answer.status_code, answer.text) == (404, missing.text), path
        for wrong in (
            link[:-1],
            link + "a",
            link.swapcase(),
            "/author/",
            f"/author/{'ж' * 43}",
            "/author/%00",
        ):
            for _ in range(20):
                assert stranger.get(wrong).status_code == 404
        assert author.COOKIE not in stranger.cookies
        assert stranger.get(link).status_code == 200, "guesses lock nobody out"


def test_the_link_gives_a_cookie_and_leads_to_an_address_without_the_secret(
    site: AnnotationSite, folder: StudyFolder
) -> None:
    link = author_link(folder.path)
    with visiting(site) as client:
        entered = client.get(link, follow_redirects=False)
        assert '<meta http-equiv="refresh" content="0; url=/author/">' in entered.text
        assert link.rsplit("/", 1)[1] not in entered.text + str(entered.headers)
        assert entered.headers["referrer-policy"] == "no-referrer"
        (cookie,) = [one for one in entered.headers.get_list("set-cookie") if one.startswith(author.COOKIE)]
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
        page = client.get("/author/")
        assert page.url.path == f"/author/{site.studies[0].key}/"
        assert link.rsplit("/", 1)[1] not in page.text
        assert '<meta http-equiv="refresh" content="30">' in page.text
        assert 'http-equiv="refresh"' not in client.get(f"{page.url.path}?still=1").text
    with visiting(site, "203.0.113.9") as secure:
        answer = secure.get(f"https://testserver{link}")
        assert "Secure" in next(one for one in answer.headers.get_list("set-cookie") if author.COOKIE in one)


def test_the_secret_is_kept_and_the_environment_replaces_it(
    folder: StudyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened_site(folder) as site, visiting(site) as client:
        first = author_link(folder.path)
        assert len(first) == len("/author/") + 43
        signed_in(client, folder.path)
        old = client.cookies[author.COOKIE]
    with opened_site(folder):
        assert author_link(folder.path) == first, "it is kept"
    monkeypatch.setenv(author.LINK_VARIABLE, "a-secret-of-the-environment")
    with opened_site(folder):
        assert author_link(folder.path) == "/author/a-secret-of-the-environment"
    monkeypatch.delenv(author.LINK_VARIABLE)
    with opened_site(folder):
        assert author_link(folder.path) == "/author/a-secret-of-the-environment", "it stays"
    with opened_site(folder) as site, visiting(site) as client:
        assert client.get(first).status_code == 404
        assert client.get("/author/", headers={"Cookie": f"{author.COOKIE}={old}"}).status_code == 404
    for wrong in ("short", "a secret with spaces in it", "x" * 201):
        monkeypatch.setenv(author.LINK_VARIABLE, wrong)
        with pytest.raises(UsageError, match="must have 20 to 200 letters"):
            author_secret(None)


def test_an_old_cookie_opens_nothing(
    site: AnnotationSite, folder: StudyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with visiting(site) as client:
        signed_in(client, folder.path)
        assert client.get(home(site)).status_code == 200
        now = author.time.time() + author.COOKIE_LIFETIME + 5
        monkeypatch.setattr("merilo.site.author.time.time", lambda: now)
        assert client.get(home(site)).status_code == 404


def test_the_command_prints_the_link_and_a_preview_has_none(frozen: Frozen) -> None:
    folder = frozen()
    with running_site(folder.path) as (address, _, _):
        link = author_link(folder.path)
        assert httpx.get(address + link, timeout=30).status_code == 200
    with running_site(folder.path, command="preview") as (address, _, _):
        assert httpx.get(address + link, timeout=30).status_code == 404


def test_a_form_without_this_browsers_token_changes_nothing(client: TestClient, site: AnnotationSite) -> None:
    _, name = person_at_work(client, site)
    foreign = hidden(from_elsewhere(client, "127.0.0.9").get("/").text, "token")
    for token in ("", foreign):
        for path in ("pause", "estimate", "invitations", f"people/{name}/exclude", f"people/{name}/erase"):
            fields = {"token": token, "reason": "x", "sure": "1", "count": "1", "once": "x"}
            assert client.post(home(site) + path, data=fields).status_code == 403, path
    assert "log.csv" in client.get(home(site)).text
    assert len(client.get(f"{home(site)}log.csv").text.splitlines()) == 2, "the download alone"


@pytest.mark.parametrize(
    "path", ["/author/nothing/", "{home}nothing", "{home}?person=p0000000000", "{home}people/x/exclude"]
)
def test_what_this_server_does_not_have_is_not_found(
    path: str, client: TestClient, site: AnnotationSite
) -> None:
    path = path.format(home=home(site))
    sent = post(client, path, reason="x") if path.endswith("exclude") else client.get(path)
    assert sent.status_code == 404


def test_a_person_is_excluded_reinstated_and_erased(client: TestClient, site: AnnotationSite) -> None:
    browser, name = person_at_work(client, site)
    people = f"{home(site)}people/{name}"
    for reason in ("", " \n", "x" * 1001):
        assert post(client, f"{people}/exclude", reason=reason).status_code == 422
    page = post(client, f"{people}/exclude", reason=HOSTILE)
    assert (page.status_code, page.url.path) == (200, home(site))
    assert "Reinstate, erase" in page.text
    assert HOSTILE in unescape(page.text)
    assert HOSTILE not in page.text
    assert 'name="task"' not in browser.get(f"/s/{study_of(site).key}/task").text
    opened = client.get(f"{home(site)}?person={name}").text
    assert 'http-equiv="refresh"' not in opened, "what is typed is not lost"
    assert "They go on where they were." in opened
    assert "Exclude, erase" in post(client, f"{people}/reinstate").text
    assert 'name="task"' in browser.get(f"/s/{study_of(site).key}/task").text
    assert post(client, f"{people}/erase").status_code == 422, "the box is not ticked"
    page = post(client, f"{people}/erase", sure="1")
    assert name not in page.text
    assert post(client, f"{people}/erase", sure="1").status_code == 404
    assert 'name="task"' not in browser.get(f"/s/{study_of(site).key}/task").text, "the cookie opens nothing"
    log = csv.DictReader(io.StringIO(client.get(f"{home(site)}log.csv").text))
    assert [row["what"] for row in log] == ["erased", "downloaded"]


def test_what_another_process_does_is_shown(
    client: TestClient, site: AnnotationSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("merilo.site.status.REST", 0.0)
    _, name = person_at_work(client, site)
    assert "excluded: 1" not in client.get(home(site)).text
    order = {
        "do": "exclude",
        "studies": [study_of(site).key],
        "person": name,
        "reason": "by the command line",
    }
    assert (
        client.post(ORDERS, json=order, headers={SECRET_HEADER: site.author_secret or ""}).status_code == 200
    )
    page = client.get(home(site)).text
    assert "excluded: 1" in page
    assert "by the command line" in page


def test_links_are_shown_once_and_a_form_that_is_sent_twice_makes_them_once(
    client: TestClient, site: AnnotationSite
) -> None:
    page = client.get(f"{home(site)}?invite=1").text
    form = {"token": hidden(page, "token"), "once": hidden(page, "once"), "count": "2"}
    first, second = (client.post(f"{home(site)}invitations", data=form).text for _ in range(2))
    links = re.findall(r"http://testserver/i/[0-9A-Z-]+", first)
    assert len(set(links)) == 2
    assert re.findall(r"http://testserver/i/[0-9A-Z-]+", second) == links
    page = client.get(f"{home(site)}?invite=1").text
    assert not [link for link in links if link in page]
    assert page.count('name="invitation"') == 2
    page = post(client, f"{home(site)}invitations/revoke", invitation=hidden(page, "invitation")).text
    assert page.count('name="invitation"') == 1
    for count in ("0", "1001", "x", "²"):
        assert client.post(f"{home(site)}invitations", data={**form, "count": count}).status_code == 422


def test_experts_are_invited_by_name_and_an_unused_name_can_be_forgotten(
    client: TestClient, site: AnnotationSite
) -> None:
    page = client.get(f"{home(site, 'experts')}?invite=1").text
    form = {
        "token": hidden(page, "token"),
        "once": hidden(page, "once"),
        "names": f"Анна\n\n Анна \n{HOSTILE}",
    }
    made = client.post(f"{home(site, 'experts')}invitations", data=form).text
    assert HOSTILE in unescape(made)
    assert HOSTILE not in made
    assert made.count("/i/") == 2
    for names in ("", "x" * 201, "\n".join(map(str, range(1001)))):
        refused = client.post(f"{home(site, 'experts')}invitations", data={**form, "names": names})
        assert refused.status_code == 422
    hashed = next(one.hash for one in state_of(site, "experts").invitations.values() if one.name == "Анна")
    page = post(client, f"{home(site, 'experts')}invitations/revoke", invitation=str(hashed)).text
    assert "Анна" not in page
    assert "Анна" not in client.get(f"{home(site, 'experts')}log.csv").text


def test_a_paused_study_says_so_to_the_author_and_to_annotators(
    client: TestClient, site: AnnotationSite
) -> None:
    browser, _ = person_at_work(client, site)
    assert "The study is paused" in post(client, f"{home(site)}pause").text
    assert (
        "приостановил" in from_elsewhere(client, "127.0.0.4").get(f"{study_of(site).path}?worker_id=n").text
        or browser
    )
    assert "The study is paused" not in post(client, f"{home(site)}resume").text


def test_the_downloaded_tables_are_those_of_the_commands(
    client: TestClient, site: AnnotationSite, folder: StudyFolder
) -> None:
    person_at_work(client, site)
    got = {name: client.get(home(site) + name) for name in TABLES}
    assert got["answers.csv"].text == collect_answers(read_site(folder.path, arm="people")).table
    counts = people_counts(read_site(folder.path, arm="people"), ServerClock().now())
    assert got["counts.json"].text == counts
    assert got["people.csv"].text == paid_people(read_site(folder.path, arm="people"))
    rows = [json.loads(line) for line in got["answers.jsonl"].text.splitlines()]
    assert len(rows) == len(got["answers.csv"].text.splitlines()) - 1
    assert {one["answer"] for one in rows} == {"1"}
    for name, answer in got.items():
        stem, suffix = name.split(".")
        assert (
            answer.headers["content-disposition"]
            == f'attachment; filename="{stem}-{study_of(site).key}.{suffix}"'
        )
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_estimate_is_hidden_until_it_is_asked_for_and_every_look_is_recorded(
    client: TestClient, site: AnnotationSite
) -> None:
    put_answers(state_of(site), [Given("ann", task, "1") for task in range(4)])
    page = client.get(home(site)).text
    assert "The estimate is hidden." in page
    assert 'id="f-estimate"' not in page
    page = post(client, f"{home(site)}estimate").text
    assert 'id="f-estimate"' in page
    assert 'http-equiv="refresh"' not in page
    assert "The estimate is hidden." in client.get(home(site)).text
    assert "estimate_shown" in client.get(f"{home(site)}log.csv").text
    assert "There is no estimate yet" in post(client, f"{home(site, 'experts')}estimate").text


def test_the_page_is_in_the_browsers_language_until_another_is_chosen(
    client: TestClient, site: AnnotationSite
) -> None:
    assert "<h1>Overview</h1>" in client.get(home(site)).text
    assert "<h1>Обзор</h1>" in post(client, f"{home(site)}language", language="ru").text
    assert "<h1>Overview</h1>" in post(client, f"{home(site)}language", language="en").text


def test_people_are_sorted_by_links_and_a_long_table_is_shown_on_request(
    client: TestClient, site: AnnotationSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [person_at_work(client, site, answers, name)[1] for answers, name in ((1, "a"), (3, "b"))]

    def order(query: str) -> list[str]:
        return re.findall(r'<th scope="row">(\w+)', client.get(f"{home(site)}?{query}").text)

    assert order("") == order("sort=nonsense") == names[::-1]
    assert set(order("sort=seconds")) == set(order("sort=controls")) == set(order("sort=state")) == set(names)
    monkeypatch.setattr(author, "LISTED", 1)
    assert order("") == names[1:]
    assert order("all=1") == names[::-1]


def test_the_first_look_at_a_large_study_does_not_wait_for_the_agreement(
    client: TestClient, site: AnnotationSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, name = person_at_work(client, site, 3)
    computed, ends = status.site_status, threading.Event()

    def slow(*given: Any, **more: Any) -> SiteStatus:
        ends.wait(60)
        return computed(*given, **more)

    monkeypatch.setattr(status, "site_status", slow)
    monkeypatch.setattr(status, "PATIENCE", 0.05)
    page = client.get(home(site)).text
    assert "being computed" in page
    assert name in page
    ends.set()
    monkeypatch.setattr(status, "PATIENCE", 60.0)
    assert "being computed" not in client.get(home(site)).text
