"""A study goes to a running Label Studio through its SDK, people annotate it there, and their answers make a baseline."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from command import Outcome, merilo
from ended_process import ended_process
from study_people import bundled_study, frozen, study_of, visits

from merilo.items import Item
from merilo.reports.study_baseline import study_baseline
from merilo.strict_json import Json
from merilo.studies.collected import answers_file, import_files
from merilo.studies.platform_rows import MAY_BE_MINE
from merilo.studies.study_folder import StudyFolder
from merilo.studies.study_tasks import study_tasks

pytest.importorskip("label_studio_sdk", reason="the extra 'label-studio' is not installed")

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

TOKEN = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", TOKEN)


class Server:
    """A Label Studio with one user."""

    def __init__(self, url: str) -> None:
        self.url = url

    def ask(self, path: str, content: Json = None) -> Json:
        """Send a request of the API; with content, a POST."""
        request = urllib.request.Request(
            f"{self.url}{path}",
            None if content is None else json.dumps(content).encode(),
            {"Authorization": f"Token {TOKEN}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())  # type: ignore[no-any-return]

    def file(self, path: str) -> bytes:
        request = urllib.request.Request(f"{self.url}{path}", headers={"Authorization": f"Token {TOKEN}"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Label Studio on a free port of this machine.

    `MERILO_LABEL_STUDIO` names its program where it is not on PATH; `MERILO_LABEL_STUDIO_URL` is the address of one that runs
    already and has the token below.
    """
    running = os.environ.get("MERILO_LABEL_STUDIO_URL")
    if running:
        yield Server(running)
        return
    program = os.environ.get("MERILO_LABEL_STUDIO") or shutil.which("label-studio")
    if not program:
        pytest.skip(
            "label-studio is not installed (pip install label-studio; MERILO_LABEL_STUDIO names the program)"
        )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    room = tmp_path_factory.mktemp("label-studio")
    outside = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}
    with (room / "log").open("wb") as log:
        started = ended_process(
            [program, "start", "--no-browser", "--data-dir", str(room), "--internal-host", "127.0.0.1",
             "--port", str(port), "--username", "author@example.com", "--password", "a-long-password",
             "--user-token", TOKEN, "--enable-legacy-api-token"],
            stdout=log, stderr=log, cwd=room,
            stopped_by=signal.SIGTERM,
            env={**outside, "LATEST_VERSION_CHECK": "false", "COLLECT_ANALYTICS": "false", "LABEL_STUDIO_BASE_DATA_DIR": str(room), "SENTRY_DSN": ""},
        )  # fmt: skip
        with started as process:
            found = Server(f"http://127.0.0.1:{port}")
            _wait(found, process, room / "log")
            yield found


def _wait(server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the server answers; it creates its database first, which takes minutes on a busy machine."""
    for _ in range(900):
        try:
            server.ask("/api/projects")
        except urllib.error.HTTPError as error:
            pytest.fail(f"Label Studio answers with status {error.code}: {log.read_text()[-2000:]}")
        except (urllib.error.URLError, ConnectionError):
            with suppress(subprocess.TimeoutExpired):
                pytest.fail(
                    f"Label Studio ended with status {process.wait(timeout=1)}: {log.read_text()[-2000:]}"
                )
        else:
            return
    pytest.fail(f"Label Studio does not answer: {log.read_text()[-2000:]}")


def _users(server: Server, count: int) -> list[int]:
    """The ids of annotators, made where they are missing."""
    known = server.ask("/api/users")
    assert isinstance(known, list)
    ids = sorted(one["id"] for one in known if isinstance(one, dict))  # type: ignore[type-var]
    for number in range(len(ids), count):
        name = f"person{number}@example.com"
        made = server.ask("/api/users/", {"email": name, "username": name, "first_name": f"Person {number}"})
        assert isinstance(made, dict)
        ids.append(made["id"])
    return [int(one) for one in ids[:count]]  # type: ignore[arg-type]


def _project(server: Server, folder: StudyFolder, arm: str = "people") -> tuple[int, dict[str, int]]:
    """Push a study to the server; return the project, and task's id -> the server's number of it."""
    made = merilo(
        "study", "label-studio", "push", folder.path, "--url", server.url, "--arm", arm, "--json", "-"
    )
    assert made.status == 0, made.err
    listed = server.ask(f"/api/tasks?project={made.json['project']}&page_size=1000&fields=all")
    assert isinstance(listed, dict)
    return made.json["project"], {task["data"]["task"]: task["id"] for task in listed["tasks"]}  # type: ignore[index,call-overload,misc,union-attr]


def _pull(server: Server, folder: StudyFolder, arm: str = "people") -> Outcome:
    return merilo(
        "study", "label-studio", "pull", folder.path, "--url", server.url, "--arm", arm, "--json", "-"
    )


def _name() -> str:
    """A name of its own for a study: a server that runs already may know those of earlier tests."""
    return f"trial-{secrets.token_hex(4)}"


def _annotate(server: Server, task: int, person: int, *results: tuple[str, str, Json]) -> None:
    """Send one annotation with results (name of the tag, type, value)."""
    result: Json = [
        {"from_name": name, "to_name": "prompt", "type": kind, "value": {_VALUES[kind]: value}}
        for name, kind, value in results
    ]
    server.ask(
        f"/api/tasks/{task}/annotations/", {"result": result, "lead_time": 12.5, "completed_by": person}
    )


_VALUES = {"choices": "choices", "textarea": "text", "number": "number"}


def _collected(folder: StudyFolder, arm: str = "people") -> set[tuple[str, str, str]]:
    """(item's id, annotator, answer) of every answer that the study has after the import."""
    rows = [json.loads(line) for line in answers_file(folder, arm).read_text("utf-8").splitlines()]
    return {(str(row["id"]), row["respondent"], row["answer"]) for row in rows}


@pytest.mark.parametrize(
    ("name", "kind"), [("bps", "choices"), ("chegeka", "textarea"), ("simplear", "number")]
)
def test_label_studio_imports_the_tasks_and_its_exports_are_read(
    name: str, kind: str, server: Server, tmp_path: Path
) -> None:
    called = _name()
    folder = frozen(bundled_study(tmp_path / "study", name, name=called))
    assert "push it first" in _pull(server, folder).complaint
    project, numbers = _project(server, folder)
    users = dict(enumerate(_users(server, 3), start=101))
    tasks = {task.id: task for task in (*study_tasks(folder).tests, *study_tasks(folder).controls)}
    wanted = set()
    for visit in visits(folder, people=3, wrong=["7"]):
        for task, answer in visit.answers.items():
            value: Json = int(answer) if kind == "number" else [answer]
            _annotate(server, numbers[task], users[visit.person], ("answer", kind, value))
            wanted.add((str(tasks[task].item), str(users[visit.person]), answer))
    assert len(wanted) == 3 * len(tasks)
    assert _project(server, folder) == (project, numbers)
    pulled = _pull(server, folder)
    assert pulled.status == 0, pulled.err
    assert _collected(folder) == wanted
    rows = [json.loads(line) for line in answers_file(folder, "people").read_text("utf-8").splitlines()]
    assert {row["seconds"] for row in rows} == {12.5}
    assert all(row["submitted"] > row["started"] for row in rows)
    assert _pull(server, folder).json["added"] == []
    assert study_baseline(folder).details.items == len(folder.items())
    for form, file in (("JSON_MIN", "min.json"), ("CSV", "export.csv")):
        own = bundled_study(tmp_path / form / "study", name, name=called)
        path = tmp_path / form / file
        path.write_bytes(server.file(f"/api/projects/{project}/export?exportType={form}"))
        (made,) = import_files(own, [path]).added
        assert made.platform == "label-studio"
        assert _collected(own) == wanted, form


def test_the_mark_beside_an_open_answer_comes_back_as_the_option(server: Server, tmp_path: Path) -> None:
    items = [Item(n, "{text}{topic}", {"text": f"q{n}", "topic": ""}, "a", {"id": n}) for n in (1, 2)]
    folder = frozen(
        study_of(tmp_path / "study", items, [], name=_name(), dataset_name="chegeka", experts=True)
    )
    _, numbers = _project(server, folder, "experts")
    first, second = (task.id for task in study_tasks(folder).tests)
    (person,) = _users(server, 1)
    _annotate(server, numbers[first], person, ("mine", "choices", [MAY_BE_MINE]))
    _annotate(server, numbers[second], person, ("answer", "textarea", ["да"]))
    assert _pull(server, folder, "experts").status == 0
    assert _collected(folder, "experts") == {("1", str(person), MAY_BE_MINE), ("2", str(person), "да")}


def test_label_studio_keeps_a_hostile_prompt_as_the_text_that_it_is(server: Server, tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script> ${x} &amp; \"'"
    item = Item(1, "{inputs}", hostile, "1", {"id": 1})
    project, _ = _project(server, frozen(study_of(tmp_path / "study", [item], [], name=_name())))
    exported = json.loads(
        server.file(f"/api/projects/{project}/export?exportType=JSON&download_all_tasks=true")
    )
    assert exported[0]["data"]["prompt"] == hostile


def test_a_server_that_refuses_or_is_not_there_is_named(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = frozen(bundled_study(tmp_path / "study"))
    push = ("study", "label-studio", "push", folder.path, "--url")
    assert "http://127.0.0.1:9: " in merilo(*push, "http://127.0.0.1:9").complaint
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", "0" * 40)
    assert merilo(*push, server.url).complaint.endswith("refused the request (status 401): Invalid token.")
    monkeypatch.delenv("LABEL_STUDIO_API_KEY")
    assert "LABEL_STUDIO_API_KEY must hold the access token" in merilo(*push, server.url).complaint
