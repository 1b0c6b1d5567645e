"""Several studies on one server, and what the server refuses when it starts."""

import logging
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from command import done
from site_in_process import agree, form_in, hidden
from site_process import running_site

from merilo.errors import DataError, UsageError
from merilo.site.answer_export import collect_answers
from merilo.site.serving import invite_to_site, read_site, serve_study
from merilo.studies.study_folder import StudyFolder

Frozen = Callable[..., StudyFolder]


@pytest.mark.thorough
def test_one_browser_takes_part_in_two_studies_of_the_same_name(frozen: Frozen, database: str) -> None:
    first = frozen("bps", "first", seed=1)
    second = frozen("simplear", "second", seed=2)
    assert first.plan.study == second.plan.study
    link = invite_to_site(second.path, database=database)[0][1]
    with (
        running_site(first.path, str(second.path), "--database", database) as (address, paths, _),
        httpx.Client(base_url=address, follow_redirects=True, timeout=60) as client,
    ):
        in_first, in_second = (paths[f"{one.path}, people"] for one in (first, second))
        pages = {
            in_first: agree(client, in_first, client.get(f"{in_first}?worker_id=1").text),
            in_second: agree(client, in_second, client.get(link).text),
        }
        for path, page in pages.items():
            sent = form_in(page)
            following = hidden(client.post(f"{path}task", data=sent).text, "task")
            assert following != sent["task"]
            assert hidden(client.get(f"{path}task").text, "task") == following
            elsewhere = in_first if path == in_second else in_second
            assert client.post(f"{elsewhere}task", data=sent).status_code == 409, "a task of the other study"
    assert [collect_answers(read_site(one.path, database=database)).answers for one in (first, second)] == [
        1,
        1,
    ]


def test_several_studies_need_a_database_that_is_named(frozen: Frozen) -> None:
    with pytest.raises(UsageError, match="several studies need one database: give database"):
        serve_study(frozen("bps", "a").path, frozen("bps", "b", seed=9).path)


def test_a_study_is_served_once(frozen: Frozen, database: str) -> None:
    study = frozen("bps", "a").path
    with pytest.raises(UsageError, match=rf"{study} is given twice"):
        serve_study(study, study, database=database)
    copy = shutil.copytree(study, study.parent / "copy")
    with pytest.raises(UsageError, match=rf"{copy} holds the same study as {study}"):
        serve_study(study, copy, database=database)


def test_a_study_that_was_changed_after_the_freeze_is_named(frozen: Frozen, database: str) -> None:
    good, bad = frozen("bps", "good"), frozen("simplear", "bad", seed=3)
    with (bad.path / "items.jsonl").open("a", encoding="utf-8") as items:
        items.write("\n")
    (bad.path / "study.yaml").write_text(
        (bad.path / "study.yaml").read_text().replace("overlap: 3", "overlap: 2")
    )
    with pytest.raises(DataError, match="changed after the freeze") as refused:
        serve_study(good.path, bad.path, database=database)
    assert str(bad.path) in str(refused.value)


def test_a_port_in_use_is_named_and_another_one_is_asked_for(frozen: Frozen) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=rf"cannot listen on 127\.0\.0\.1:{port} .*give another port"):
            serve_study(frozen().path, port=port)


def test_a_proxy_is_an_address_or_a_network_and_a_public_address_one_of_the_web(frozen: Frozen) -> None:
    study = frozen().path
    for wrong in ("*", "proxy", "10.0.0.1/99"):
        with pytest.raises(UsageError, match="addresses or networks"):
            serve_study(study, proxy=wrong)
    for wrong in ("study.example.org", "ftp://a", "https://", "https://[x"):
        with pytest.raises(UsageError, match="takes an address such as"):
            serve_study(study, address=wrong)


@pytest.mark.thorough
def test_only_a_known_proxy_tells_that_the_browser_uses_https(frozen: Frozen) -> None:
    told = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.7"}
    for proxy, secure in (("127.0.0.0/8", True), ("10.0.0.1", False)):
        with running_site(frozen().path, "--proxy", proxy) as (address, paths, _):
            found = httpx.get(f"{address}{paths['people']}?worker_id=1", headers=told, timeout=60)
        assert ("Secure" in found.headers["set-cookie"]) == secure


@pytest.mark.parametrize(("options", "warning"), [
    (("--host", "0.0.0.0"), "without encryption"), ((), ""),
    (("--host", "0.0.0.0", "--address", "https://a.example"), "--proxy names no reverse proxy"),
    (("--address", "https://a.example", "--proxy", "10.0.0.1"), ""),
])  # fmt: skip
def test_a_site_that_others_reach_without_https_is_warned_of(
    options: tuple[str, ...], warning: str, frozen: Frozen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)
    closed: list[str] = []
    others = logging.Handler()
    others.close = lambda: closed.append("a handler of somebody else")  # type: ignore[method-assign]
    outcome = done("study", "serve", frozen().path, "--port", "0", *options)
    assert outcome.err.count("warning:") == bool(warning)
    assert warning in outcome.err
    assert not closed
    assert not logging.getLogger("uvicorn").handlers, "none keeps the stream of this moment"


@pytest.mark.thorough
def test_the_author_takes_part_in_a_preview_before_the_freeze_and_nothing_is_stored(
    frozen: Frozen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = frozen("bps", experts=True).path
    (study / "frozen.json").unlink()
    before = {one: one.read_bytes() for one in study.iterdir()}
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with running_site(study, command="preview") as (address, paths, process):
        for arm in ("people", "experts"):
            with httpx.Client(base_url=address, follow_redirects=True, timeout=60) as client:
                path = paths[arm]
                page = agree(client, path, client.get(path).text)
                assert "ничего не сохраняется" in page
                page = client.get(f"{path}task").text
                sent = form_in(page)
                page = client.post(f"{path}task", data=sent).text
                assert hidden(page, "task") != sent["task"]
                assert "2" in page[page.index("<h1") : page.index("</h1>")]
        assert [one.name for one in tmp_path.glob("merilo-preview-*/*.db")] == ["preview.db"]
    assert process.returncode == 0
    assert not list(tmp_path.glob("merilo-preview-*"))
    assert {one: one.read_bytes() for one in study.iterdir()} == before
