"""The limits on codes, new people and answers; what people do in a study is not hindered."""

from collections.abc import Callable

import pytest
from site_in_process import form_in, from_elsewhere, hidden, opened_site, to_first_task, visiting
from starlette.requests import Request

from merilo.site.serving import invite_to_site
from merilo.site.visitor_limits import SteadyLimit, VisitorLimits, address_of
from merilo.studies.study_folder import StudyFolder

pytestmark = pytest.mark.usefixtures("both_databases")

Frozen = Callable[..., StudyFolder]


class Clock:
    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


def asked_from(host: str | None) -> Request:
    return Request({"type": "http", "client": None if host is None else (host, 1), "headers": []})


def test_a_steady_limit_lets_a_burst_through_and_then_one_in_its_seconds() -> None:
    clock = Clock()
    limit = SteadyLimit[str](3, 10.0, clock=clock)
    for _ in range(3):
        assert limit.wait("a") == 0
        limit.count("a")
    assert limit.wait("a") == 10.0
    assert limit.wait("b") == 0
    clock.seconds += 10
    assert limit.wait("a") == 0
    limit.count("a")
    assert limit.wait("a") == 10.0
    clock.seconds += 1000
    for _ in range(3):
        assert limit.wait("a") == 0, "unused time gives no more than the burst"
        limit.count("a")
    assert limit.wait("a") == 10.0


def test_many_addresses_do_not_grow_the_table() -> None:
    table = SteadyLimit[str](5, 1.0, largest=100)
    for number in range(10_000):
        table.count(f"10.0.{number // 256}.{number % 256}")
    assert len(table) == 100


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::1"),
        (None, ""),
        ("<script>" * 50, ("<script>" * 50)[:64]),
    ],
)
def test_an_address_is_the_customer_and_not_one_of_their_many_addresses(
    host: str | None, address: str
) -> None:
    assert address_of(asked_from(host)) == address


def test_wrong_codes_from_one_address_are_refused_for_a_while_and_others_come_in(frozen: Frozen) -> None:
    folder = frozen()
    ((_, link),) = invite_to_site(folder.path)
    with opened_site(folder) as site, visiting(site, "203.0.113.9") as guesser:
        site.limits = VisitorLimits(Clock())
        statuses = [guesser.get(f"/i/GUESS-{number}").status_code for number in range(70)]
        assert statuses == [404] * 60 + [429] * 10
        token = hidden(guesser.get("/").text, "token")
        refused = guesser.post("/enter", data={"token": token, "code": "X"})
        assert refused.status_code == 429
        assert int(refused.headers["Retry-After"]) > 0
        assert f"Подождите {refused.headers['Retry-After']} с" in refused.text
        told = guesser.get("/i/X", headers={"Accept": "application/json"})
        assert told.status_code == 429
        assert told.json()["error"]
        assert guesser.get(link).status_code == 200, "a right code is let in"
        here = from_elsewhere(guesser, "127.0.0.1")
        assert {here.get("/i/NO").status_code for _ in range(100)} == {404}, "this computer is not limited"


@pytest.mark.parametrize(("address", "allowed"), [("10.0.0.1", 100), ("127.8.0.1", 130)])
def test_nobody_answers_faster_than_a_human_being(frozen: Frozen, address: str, allowed: int) -> None:
    with opened_site(frozen()) as site, visiting(site, address) as client:
        clock = Clock()
        site.limits = VisitorLimits(clock)
        path = site.studies[0].path
        page = to_first_task(client, path, "fast")
        sent = form_in(page)
        got = [client.post(f"{path}task", data=sent, follow_redirects=False) for _ in range(130)]
        assert [one.status_code for one in got] == [303] * allowed + [429] * (130 - allowed)
        clock.seconds += 1
        assert client.post(f"{path}task", data=sent, follow_redirects=False).status_code == 303
