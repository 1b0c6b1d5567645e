"""Bytes that no browser sends: the server answers each with a status below 500, or closes the connection, and goes on."""

import socket
from collections.abc import Iterator
from urllib.parse import quote

import httpx
import pytest
from attacked_site import AttackedSite, attacked_site, check_answer, status_of
from site_in_process import hidden, to_first_task
from study_people import bundled_study, frozen

from merilo.site.bounded_http import LARGEST_HEAD, MOST_HEADERS


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedSite]:
    folder = frozen(bundled_study(tmp_path_factory.mktemp("raw") / "study"))
    with attacked_site(
        folder.path, folder.path.parent / "log.txt", "--address", "https://study.example.org"
    ) as running:
        yield running
        assert not running.complaints()
        assert running.process.poll() is None


@pytest.fixture(scope="module")
def person(site: AttackedSite) -> Iterator[tuple[httpx.Client, dict[str, str]]]:
    """A browser of somebody who has a task before them, and the form of that task."""
    with httpx.Client(base_url=site.address, follow_redirects=True, timeout=30) as client:
        page = to_first_task(client, site.paths["people"], "victim")
        yield client, {"token": hidden(page, "token"), "task": hidden(page, "task")}


def cookies(client: httpx.Client) -> str:
    return "; ".join(f"{one.name}={one.value}" for one in client.cookies.jar)


def get(path: str, *headers: str) -> bytes:
    lines = "".join(f"{one}\r\n" for one in headers)
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{lines}Connection: close\r\n\r\n".encode("latin-1")


def post(path: str, body: bytes, *headers: str, kind: str = "application/x-www-form-urlencoded") -> bytes:
    lines = "".join(f"{one}\r\n" for one in headers)
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{lines}Connection: close\r\n\r\n"
    return head.encode("latin-1") + body


BROKEN = {
    "no HTTP": b"hello\r\n\r\n",
    "TLS": bytes.fromhex("16030100a5010000a10303") + bytes(200),
    "only NUL": b"\0" * 1000,
    "HTTP/0.9": b"GET /\r\n",
    "HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "no version": b"GET / \r\n\r\n",
    "version 9": b"GET / HTTP/9.9\r\n\r\n",
    "NUL in a header": b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n",
    "header without colon": b"GET / HTTP/1.1\r\nHost: localhost\r\nnothing\r\n\r\n",
    "space before colon": b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
    "folded header": b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n",
    "bare LF": b"GET / HTTP/1.1\nHost: a\n\n",
    "two lengths": b"POST /enter HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    "length and chunks": b"POST /enter HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "negative length": b"POST /enter HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    "length of letters": b"POST /enter HTTP/1.1\r\nHost: localhost\r\nContent-Length: ten\r\n\r\n",
    "huge length": b"POST /enter HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999999\r\n\r\n",
    "bad chunk": b"POST /enter HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n",
    "unknown coding": b"POST /enter HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n",
    "UTF-8 in the path": "GET /я HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(),
    "bytes in the path": b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "URL without path": b"GET http://evil.example HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "open bracket": b"GET http://[::1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "CONNECT": b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    "many headers": b"GET / HTTP/1.1\r\n" + b"".join(b"X%d: a\r\n" % n for n in range(MOST_HEADERS + 5)) + b"\r\n",
    "large header": b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * (LARGEST_HEAD + 10) + b"\r\n\r\n",
    "large header without end": b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 2_000_000,
    "large cookie": b"GET / HTTP/1.1\r\nHost: localhost\r\nCookie: " + b"merilo_person=1; " * 10_000 + b"\r\n\r\n",
    "large path": b"GET /" + b"a" * (LARGEST_HEAD + 10) + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
}  # fmt: skip


@pytest.mark.parametrize("request_name", BROKEN)
def test_what_is_not_a_request_is_refused(site: AttackedSite, request_name: str) -> None:
    answer = site.send(BROKEN[request_name], then_close=True)
    status = status_of(answer)
    assert status < 500
    if status:
        check_answer(answer)
    assert not site.complaints()


def odd_requests(path: str) -> dict[str, bytes]:
    secret = "merilo_person=1.aaaaaa.AAAAAAAAAAAAAAAAAAAAAAAAAAA"
    home = f"{path}?worker_id=w"
    return {
        "asterisk": b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "absolute URL": get(f"http://evil.example{path}"),
        "no host": f"GET {home} HTTP/1.1\r\nConnection: close\r\n\r\n".encode(),
        "two hosts": get(home, "Host: evil.example"),
        "host of bytes": b"GET / HTTP/1.1\r\nHost: \xff\xfe\r\nConnection: close\r\n\r\n",
        "forwarded nonsense": get(home, "X-Forwarded-For: <script>, \x7f, 999.1.1.1", "X-Forwarded-Proto: javascript", "X-Forwarded-Host: evil.example"),
        "many forwarded": get(home, "X-Forwarded-For: " + "1.2.3.4," * 5000),
        "invalid UTF-8 in the path": get(f"{path}%ff%fe"),
        "NUL in the path": get(f"{path}%00"),
        "surrogate in the path": get("/s/%ed%a0%80/"),
        "surrogate in the code": get("/i/%ed%a0%80%ed%b0%80"),
        "NUL in the code": get("/i/%00%00"),
        "long code": get("/i/" + "A" * 30_000),
        "invalid UTF-8 in the query": get(f"{path}?worker_id=%ff%fe%ed%a0%80"),
        "NUL in the query": get(f"{path}?worker_id=%00a%00"),
        "only NUL in the query": get(f"{path}?worker_id=%00"),
        "long id": get(f"{path}?worker_id=" + "%d1%8f" * 9000),
        "many parameters": get(f"{path}?" + "&".join(f"worker_id={n}" for n in range(3000))),
        "note of bytes": get(f"{path}pause?note=%ff%00"),
        "cookie of bytes": get(f"{path}task", "Cookie: merilo_person=\xff\xfe; merilo_visit=\xed\xa0\x80"),
        "forged cookie": get(f"{path}task", f"Cookie: {secret}"),
        "broken cookie": get(f"{path}task", 'Cookie: merilo_person="\\777\\000; ====;;; =; merilo_visit'),
        "large number in the cookie": get(f"{path}task", "Cookie: merilo_person=" + "9" * 4000 + ".a.b"),
        "upgrade": get("/", "Upgrade: websocket", "Sec-WebSocket-Key: aaaaaaaaaaaaaaaaaaaaaa==", "Sec-WebSocket-Version: 13"),
        "upgrade with connection": b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: aaaaaaaaaaaaaaaaaaaaaa==\r\nSec-WebSocket-Version: 13\r\n\r\n",
        "upgrade to HTTP/2": b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n",
        "range": get("/static/annotator.js", "Range: bytes=0-1,5-3,-99999999999999999999"),
        "conditional": get("/static/annotator.js", "If-None-Match: *", "If-Modified-Since: never"),
        "languages": get("/", "Accept-Language: " + "xx;q=nan," * 5000),
        "language of bytes": get("/", "Accept-Language: \xff\xfe\xa0;;;==,,,"),
        "accept of bytes": get("/nothing", "Accept: \xff\xfeapplication/json"),
        "unknown method": b"BREW / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "json": post("/enter", b'{"code": "a"}', kind="application/json"),
        "multipart": post("/enter", b'--b\r\nContent-Disposition: form-data; name="code"\r\n\r\na\r\n--b--\r\n', kind="multipart/form-data; boundary=b"),
        "nested multipart": post("/enter", b"--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n" * 5000, kind="multipart/form-data; boundary=b"),
        "multipart without boundary": post("/enter", b"--" * 9000, kind="multipart/form-data"),
        "10,000 fields": post("/enter", b"&".join(b"f%d=1" % n for n in range(10_000))),
        "10,000 times one field": post("/enter", b"token=a&" * 10_000),
        "invalid UTF-8 in the form": post("/enter", b"token=%ff%fe&code=\xff\xfe\x00%ed%a0%80"),
        "percent signs": post("/enter", b"%%%%%%=%%%%&" * 50),
        "empty form": post("/enter", b""),
        "large form": post("/enter", b"code=" + b"a" * 2_000_000),
        "expects 100": post("/enter", b"code=a", "Expect: 100-continue"),
        "expects a wonder": post("/enter", b"code=a", "Expect: a-wonder"),
    }  # fmt: skip


NAMES = tuple(odd_requests("/s/KEY/"))


@pytest.mark.parametrize("name", NAMES)
def test_odd_requests_are_answered(site: AttackedSite, name: str) -> None:
    answer = site.send(odd_requests(site.paths["people"])[name])
    assert 200 <= status_of(answer) < 500
    check_answer(answer)
    assert not site.complaints()


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "OPTIONS"])
def test_other_methods_do_nothing_and_name_the_allowed_ones(site: AttackedSite, method: str) -> None:
    for path in (
        "/",
        "/enter",
        "/i/CODE",
        site.paths["people"],
        f"{site.paths['people']}task",
        "/static/annotator.css",
    ):
        answer = site.send(
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
        )
        assert status_of(answer) == 405, path
        assert b"\r\nallow: " in answer.lower()
        check_answer(answer)


@pytest.mark.parametrize("name", [
    "../site.db", "..%2fsite.db", "%2e%2e/site.db", "%2e%2e%2fsite.db", "..%5csite.db", "....//site.db", "%252e%252e%252fsite.db", "/etc/passwd",
    "%2fetc%2fpasswd", "annotator.css%00.png", "annotator.css/../../app.py", "./annotator.css", "annotator.css/", "ANNOTATOR.CSS", "annotator.css%0d%0aX: y",
    "%c0%ae%c0%ae%c0%afsite.db", "", "a" * 5000,
])  # fmt: skip
def test_files_are_found_by_their_name_alone(
    site: AttackedSite, person: tuple[httpx.Client, dict], name: str
) -> None:
    for folder in ("/static/", f"{site.paths['people']}media/"):
        answer = site.send(get(folder + name.replace(" ", "%20"), f"Cookie: {cookies(person[0])}"))
        assert status_of(answer) in {307, 404}, answer[:200]
        assert b"root:" not in answer
        assert b"SQLite" not in answer
        check_answer(answer)


@pytest.mark.parametrize(("lines", "status"), [
    ("Host: evil.example", 421), ("Host: localhost.evil.example", 421), ("Host: ", 421), ("Host: study.example.org@evil.example:1", 421),
    ("Host: localhost\r\nHost: localhost", 400), ("X: y", 400), ("Host: study.example.org", 303), ("Host: STUDY.example.org:8443", 303),
    ("Host: 192.0.2.7:8000", 303), ("Host: [2001:db8::7]:8000", 303), ("Host: localhost\r\nX-Forwarded-Host: evil.example", 303),
])  # fmt: skip
def test_only_requests_for_the_sites_own_names_are_answered(
    site: AttackedSite, lines: str, status: int
) -> None:
    request = get(f"{site.paths['people']}?worker_id=h").replace(b"Host: localhost", lines.encode())
    answer = site.send(request)
    assert status_of(answer) == status, answer[:200]
    check_answer(answer)
    assert b"evil" not in answer
    assert b"example.org" not in answer


def test_a_request_of_http_1_0_needs_no_host(site: AttackedSite) -> None:
    assert status_of(site.send(b"GET / HTTP/1.0\r\n\r\n")) == 200


def test_head_is_answered_as_get_without_the_body(site: AttackedSite) -> None:
    for path in ("/", "/health", "/nothing", "/static/annotator.css", site.paths["people"], "/author/"):
        whole, bare = (site.send(get(path).replace(b"GET", method)) for method in (b"GET", b"HEAD"))
        head = whole.partition(b"\r\n\r\n")[0]
        assert status_of(bare) == status_of(whole)
        assert bare.endswith(b"\r\n\r\n"), bare[-200:]
        names = [{line.split(b":")[0] for line in one.split(b"\r\n")} for one in (head, bare.strip())]
        assert names[0] == names[1]
        check_answer(bare)


def test_a_redirect_stays_on_the_site(site: AttackedSite) -> None:
    for path in (
        "//evil.example/",
        "/\\evil.example",
        "//evil.example/s/x",
        "/s//evil.example/",
        "/%2f%2fevil.example/",
    ):
        answer = site.send(get(path))
        assert status_of(answer) < 500
        lines = [line for line in answer.split(b"\r\n") if line.lower().startswith(b"location:")]
        assert not any(b"//evil" in line or b"\\evil" in line for line in lines), lines


@pytest.mark.parametrize(("fields", "status"), [
    (b"answer=1&answer=0", 422), (b"answer=%ff%fe", 422), (b"answer=1%00", 303), (b"answer=%ed%a0%80", 422), (b"answer[]=1", 422),
    (b"answer=1&comment=%ed%a0%80%00%ff", 303), (b"answer=1&then=%ff", 303), (b"answer=1&then=mine", 303), (b"answer=" + b"1" * 60_000, 422),
    (b"answer=1&comment=" + quote("\u202e\u0000\u200b").encode(), 303), (b"answer=1&task=x&task=y", 303),
])  # fmt: skip
def test_odd_answers_are_saved_once_or_refused_with_the_form(
    site: AttackedSite, person: tuple[httpx.Client, dict], fields: bytes, status: int
) -> None:
    client, form = person
    body = f"token={quote(form['token'])}&task={form['task']}&".encode() + fields
    answer = site.send(post(f"{site.paths['people']}task", body, f"Cookie: {cookies(client)}"))
    assert status_of(answer) == status
    check_answer(answer)


def test_a_browser_that_leaves_while_it_sends_leaves_no_traces(site: AttackedSite) -> None:
    head = b"POST /enter HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\ncode="
    for request in (head, head + b"a" * 500, b"GET / HT", b"GET /"):
        with socket.create_connection(site.place, timeout=30) as opened:
            opened.sendall(request)
    assert status_of(site.send(get("/"))) == 200
    assert not site.complaints()


@pytest.mark.thorough
def test_many_requests_in_one_packet_are_answered_in_order(site: AttackedSite) -> None:
    with socket.create_connection(site.place, timeout=30) as opened:
        one = b"GET /static/annotator.css HTTP/1.1\r\nHost: localhost\r\n\r\n"
        opened.sendall(one * 6 + get("/nothing"))
        got = b""
        while more := opened.recv(65536):
            got += more
    assert got.count(b"HTTP/1.1 200 OK") == 6
    assert got.rindex(b"HTTP/1.1 404") > got.rindex(b"HTTP/1.1 200")
