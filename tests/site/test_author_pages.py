"""The author's pages over HTTP: what they show, what they change, and what they refuse."""

import re
from collections.abc import Callable, Iterator
from html import unescape

import httpx
import pytest
from every import every
from fastapi.testclient import TestClient
from site_in_process import from_elsewhere, hidden, opened_site, to_first_task, visiting
from sqlalchemy import select
from starlette.routing import BaseRoute, Route

from merilo.site.annotation_site import AnnotationSite
from merilo.site.app import make_app
from merilo.site.audit_log import LoggedEvent, events
from merilo.site.author_session import set_password
from merilo.site.database import writing
from merilo.site.schema import INVITATION, PERSON
from merilo.site.served_study import ServedStudy
from merilo.site.serving import collect_site
from merilo.studies.study_folder import StudyFolder

Frozen = Callable[..., StudyFolder]
PASSWORD = "correct horse battery"
HOSTILE = "<script>alert('x')</script>{{ 1867 * 7919 }}\"'&"


@pytest.fixture
def folder(frozen: Frozen) -> StudyFolder:
    return frozen(experts=True)


@pytest.fixture
def site(folder: StudyFolder) -> Iterator[AnnotationSite]:
    with opened_site(folder) as opened:
        with writing(opened.engine) as connection:
            set_password(connection, PASSWORD, 1)
        yield opened


@pytest.fixture
def client(site: AnnotationSite) -> Iterator[TestClient]:
    """The browser of an author who has signed in."""
    with visiting(site) as opened:
        sign_in(opened)
        yield opened


def sign_in(client: TestClient) -> None:
    sent = {"token": hidden(client.get("/author/").text, "token"), "password": PASSWORD}
    assert client.post("/author/sign-in", data=sent).url.path == "/author/"


def another_author(client: TestClient) -> TestClient:
    other = from_elsewhere(client, "127.0.0.2")
    sign_in(other)
    return other


def study_of(site: AnnotationSite, arm: str = "people") -> ServedStudy:
    return next(study for study in site.by_key.values() if study.arm_name == arm)


def person_at_work(client: TestClient, site: AnnotationSite, answers: int = 2, name: str = "w-77") -> tuple[TestClient, str]:  # fmt: skip
    """The browser of somebody who has answered some tasks and has one more before them, and their page's address."""
    study = study_of(site)
    browser = from_elsewhere(client, "127.0.0.3")
    page = to_first_task(browser, f"/s/{study.key}/", name)
    for number in range(answers):
        sent = {"token": hidden(page, "token"), "task": hidden(page, "task"), "answer": "1", "comment": f"{HOSTILE} {number}"}  # fmt: skip
        page = browser.post(f"/s/{study.key}/task", data=sent).text
    with site.engine.connect() as connection:
        found = connection.scalar(select(PERSON.c.pseudonym).where(PERSON.c.external == name))
    return browser, f"/author/{study.key}/people/{found}"


def post(client: TestClient, address: str, **fields: str) -> httpx.Response:
    """Send a form with the token of this browser."""
    return client.post(address, data={"token": hidden(client.get("/author/").text, "token"), **fields})


def logged(site: AnnotationSite, arm: str = "people") -> list[LoggedEvent]:
    with site.engine.connect() as connection:
        return events(connection, study_of(site, arm).rules.study)


def test_nothing_of_the_author_is_reachable_without_a_session(site: AnnotationSite) -> None:
    key, open_to_all = (
        study_of(site).key,
        {"/author/", "/author/sign-in", "/author/sign-out", "/author/language"},
    )
    app = make_app(site)

    def of(routes: list[BaseRoute]) -> Iterator[Route]:
        for route in routes:
            if isinstance(route, Route):
                yield route
            else:
                yield from of(getattr(getattr(route, "original_router", route), "routes", []))

    asked = 0
    with TestClient(app, follow_redirects=False) as stranger:
        token = hidden(stranger.get("/author/").text, "token")
        for route in of(app.routes):
            if not route.path.startswith("/author") or route.path in open_to_all:
                continue
            address = route.path.replace("{key}", key).replace("{pseudonym}", "p1")
            for method in sorted((route.methods or set()) - {"HEAD"}):
                answer = stranger.request(
                    method, address, data={"token": token} if method == "POST" else None
                )
                table = address.endswith((".csv", "/live"))
                assert answer.status_code == (401 if table else 302), f"{method} {address}"
                assert table or answer.headers["location"].startswith("/author/")
                assert study_of(site).title not in answer.text
                asked += 1
    assert asked >= 15


def test_signing_in_leads_back_to_the_page_that_was_asked_for(site: AnnotationSite) -> None:
    address = f"/author/{study_of(site).key}/log"
    with visiting(site) as stranger:
        page = stranger.get(address).text
        assert page.count(f'name="next" value="{address}"') == 1
        sent = {"token": hidden(page, "token"), "next": address, "password": PASSWORD}
        assert stranger.post("/author/sign-in", data=sent).url.path == address


@every("address", ["/author/other-server/", "/author/other-server/log", "/author/other-server/answers.csv",
                                     "/author/other-server/people/p1", "/author/KEY/people/p1", "/author/KEY/people/p%001", "/author/KEY/people/p1/erase", "/author/KEY/nothing"])  # fmt: skip
def test_what_this_server_does_not_have_is_not_found(
    address: str, client: TestClient, site: AnnotationSite
) -> None:
    answer = client.get(address.replace("KEY", study_of(site).key))
    assert answer.status_code == 404
    assert "Такой страницы нет" in answer.text


def test_a_form_without_this_browsers_token_changes_nothing(client: TestClient, site: AnnotationSite) -> None:
    _, page = person_at_work(client, site)
    base = f"/author/{study_of(site).key}"
    addresses = [
        f"{base}/pause",
        f"{base}/invitations",
        f"{page}/exclude",
        f"{page}/reinstate",
        f"{page}/erase",
    ]
    before = logged(site)
    for address in addresses:
        answer = client.post(address, data={"token": "x", "reason": "x", "count": "1", "once": "x"})
        assert answer.status_code == 403
        assert "Страница устарела" in answer.text
    assert logged(site) == before


def test_a_person_with_an_open_task_is_excluded_and_reinstated(
    client: TestClient, site: AnnotationSite
) -> None:
    browser, page = person_at_work(client, site)
    key = study_of(site).key
    task = browser.get(f"/s/{key}/task").text
    answer = post(client, f"{page}/exclude", reason="")
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text
    answer = post(client, f"{page}/exclude", reason=HOSTILE)
    assert answer.status_code == 200
    assert "исключён" in answer.text
    sent = {"token": hidden(task, "token"), "task": hidden(task, "task"), "answer": "1"}
    assert "не принят" in browser.post(f"/s/{key}/task", data=sent).text
    assert "Автор исследования завершил ваше участие" in browser.get(f"/s/{key}/").text
    excluded = client.get("/author/").text and post(client, f"{page}/exclude", reason="again")
    assert excluded.status_code == 200, "a form that is sent twice"
    assert [one.what for one in logged(site)][:2] == ["excluded", "signed_in"]
    assert post(client, f"{page}/reinstate").status_code == 200
    assert "Задание" in browser.get(f"/s/{key}/task").text
    assert [one.what for one in logged(site)][:2] == ["reinstated", "excluded"]


def test_two_authors_at_once_are_told_what_the_first_one_did(
    client: TestClient, site: AnnotationSite
) -> None:
    _, page = person_at_work(client, site)
    other = another_author(client)
    post(client, f"{page}/exclude", reason="first reason")
    answer = post(other, f"{page}/exclude", reason="second reason")
    assert "first reason" in answer.text
    assert "second reason" not in answer.text
    assert post(client, f"{page}/erase").url.path.endswith("/log")
    assert post(other, f"{page}/reinstate").status_code == 404, "the person was erased in the meantime"
    assert other.get(page).status_code == 404
    assert logged(site)[0].what == "erased"


def test_hostile_text_stays_text_on_every_page(client: TestClient, site: AnnotationSite) -> None:
    _, page = person_at_work(client, site)
    base = f"/author/{study_of(site).key}"
    experts = f"/author/{study_of(site, 'experts').key}"
    post(client, f"{page}/exclude", reason=HOSTILE)
    made = client.get(f"{experts}/invitations").text
    links = post(client, f"{experts}/invitations", once=hidden(made, "once"), names=HOSTILE)
    pages = [links] + [client.get(one) for one in (
        page, f"{page}/erase", f"{base}/log", f"{base}/export", f"{base}/invitations", f"{experts}/invitations", f"{experts}/log", f"{base}/people",
        f"{base}/log?before={HOSTILE}", f"{base}/invitations?page=-1",
    )]  # fmt: skip
    for answer in pages:
        assert answer.status_code == 200
        assert "<script>alert" not in answer.text
        assert str(1867 * 7919) not in answer.text, "a template inside the text was filled in"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert sum(HOSTILE in unescape(answer.text) for answer in pages) >= 5


def test_links_are_shown_once_and_a_form_that_is_sent_twice_makes_them_once(
    client: TestClient, site: AnnotationSite
) -> None:
    address = f"/author/{study_of(site).key}/invitations"
    once = hidden(client.get(address).text, "once")
    first = post(client, address, once=once, count="3")
    links = re.findall(r"http://testserver(/i/[A-Z0-9-]+)", first.text)
    assert len(set(links)) == 3
    assert (
        re.findall(r"http://testserver(/i/[A-Z0-9-]+)", post(client, address, once=once, count="3").text)
        == links
    )
    assert not any(link in client.get(address).text for link in links)
    with site.engine.connect() as connection:
        assert len(connection.execute(select(INVITATION)).all()) == 3
    assert [one.what for one in logged(site)][:2] == ["links_made", "signed_in"]
    assert "Согласие" in from_elsewhere(client, "127.0.0.9").get(links[0]).text
    listed = client.get(address).text
    for _ in range(2):
        post(client, f"{address}/revoke", invitation=hidden(listed, "invitation"))
    opened = [from_elsewhere(client, "127.0.0.9").get(link).status_code for link in links]
    assert sorted(opened) == [200, 200, 404]


@every("count", ["", "0", "1001", "-1", "x", "٣", "9" * 30])
def test_a_wrong_number_of_links_is_refused(count: str, client: TestClient, site: AnnotationSite) -> None:
    answer = post(client, f"/author/{study_of(site).key}/invitations", once="a", count=count)
    assert answer.status_code == 422
    assert "от 1 до 1000" in answer.text


def test_experts_are_invited_by_name_and_an_unused_name_can_be_erased(
    client: TestClient, site: AnnotationSite
) -> None:
    address = f"/author/{study_of(site, 'experts').key}/invitations"
    for wrong in (" \n\0 ", "x" * 201):
        assert post(client, address, once="a", names=wrong).status_code == 422
    made = post(client, address, once="a", names="Анна\n\n Бо\0рис  Б. \nАнна")
    assert len(re.findall("/i/", made.text)) == 2
    listed = client.get(address).text
    assert "Борис Б." in listed
    for hashed in re.findall(r'name="invitation" value="(\w+)"', listed):
        post(client, f"{address}/erase", invitation=f"{hashed}\0")
    assert "Борис" not in client.get(address).text + str(logged(site, "experts"))


def test_a_paused_study_says_so_to_authors_and_annotators(client: TestClient, site: AnnotationSite) -> None:
    browser, _ = person_at_work(client, site, answers=0)
    base = f"/author/{study_of(site).key}"
    page = post(client, f"{base}/pause", next=f"{base}/log")
    assert page.url.path == f"{base}/log"
    assert "Исследование приостановлено" in page.text
    assert "приостановил" in browser.get(f"/s/{study_of(site).key}/task").text
    post(client, f"{base}/resume", next="https://evil.example/")
    assert "Задание" in browser.get(f"/s/{study_of(site).key}/task").text


def test_the_downloaded_table_has_the_bytes_of_study_collect(
    client: TestClient, site: AnnotationSite, folder: StudyFolder
) -> None:
    person_at_work(client, site, 3)
    base = f"/author/{study_of(site).key}"
    answer = client.get(f"{base}/answers.csv")
    assert answer.content == collect_site(folder.path).table.encode()
    assert answer.content.count(b"\n") == 4
    assert answer.headers["content-disposition"] == f'attachment; filename="answers-{study_of(site).key}.csv"'
    comments = client.get(f"{base}/comments.csv").text
    assert comments.count("alert") == 3
    assert "w-77" not in answer.text + comments
    assert [one.what for one in logged(site)][:2] == ["comments_exported", "answers_exported"]


def test_the_log_has_pages(client: TestClient, site: AnnotationSite) -> None:
    base = f"/author/{study_of(site).key}"
    for _ in range(26):
        post(client, f"{base}/pause")
        post(client, f"{base}/resume")
    first = client.get(f"{base}/log").text
    assert first.count('<tr role="row">') == 51
    older = re.search(r'href="([^"]+\?before=\d+)"', first)
    assert older is not None
    rest = client.get(older[1]).text
    assert 'rel="next"' not in rest
    assert rest.count('<tr role="row">') == 1 + len(logged(site)) + 4 - 50


def test_an_author_chooses_the_language(client: TestClient, site: AnnotationSite) -> None:
    address = f"/author/{study_of(site).key}/log"
    assert '<html lang="ru">' in client.get(address).text
    page = post(client, "/author/language", language="en", next=address)
    assert page.url.path == address
    assert '<html lang="en">' in page.text
    assert '<html lang="en">' in client.get("/author/").text
