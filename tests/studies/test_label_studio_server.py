"""A running Label Studio imports the tasks of a study, and Merilo reads what it exports."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from study_people import bundled_study, visits

from merilo.api.study_baseline import study_baseline, study_responses
from merilo.strict_json import Json
from merilo.studies.study_export import export_study
from merilo.studies.study_folder import StudyFolder
from merilo.studies.study_import import import_files
from merilo.studies.study_tasks import study_tasks

pytestmark = pytest.mark.slow

TOKEN = "0123456789abcdef0123456789abcdef01234567"


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
    """Label Studio on a free port of this machine; `MERILO_LABEL_STUDIO` names its program where it is not on PATH."""
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
        process = subprocess.Popen(
            [program, "start", "--no-browser", "--data-dir", str(room), "--internal-host", "127.0.0.1",
             "--port", str(port), "--username", "author@example.com", "--password", "a-long-password",
             "--user-token", TOKEN, "--enable-legacy-api-token"],
            stdout=log, stderr=log, cwd=room,
            env={**outside, "LATEST_VERSION_CHECK": "false", "COLLECT_ANALYTICS": "false", "LABEL_STUDIO_BASE_DATA_DIR": str(room), "SENTRY_DSN": ""},
        )  # fmt: skip
    try:
        found = Server(f"http://127.0.0.1:{port}")
        _wait(found, process, room / "log")
        yield found
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


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


def _annotated(server: Server, folder: StudyFolder, room: Path) -> tuple[int, dict[str, str]]:
    """Export a study, import its tasks into the server and annotate them; return the project and what was answered."""
    export_study(folder, "label-studio", room / "out")
    config = (room / "out" / "labels.xml").read_text("utf-8")
    made = server.ask("/api/projects", {"title": folder.plan.study, "label_config": config})
    assert isinstance(made, dict)
    project = made["id"]
    assert isinstance(project, int)
    tasks = json.loads((room / "out" / "tasks.json").read_text("utf-8"))
    told = server.ask(f"/api/projects/{project}/import", tasks)
    assert isinstance(told, dict)
    assert told["task_count"] == len(tasks)
    answers = {task: answer for visit in visits(folder, people=1) for task, answer in visit.answers.items()}
    listed = server.ask(f"/api/tasks?project={project}&page_size=1000&fields=all")
    assert isinstance(listed, dict)
    for task in listed["tasks"]:  # type: ignore[union-attr]
        answer = answers[task["data"]["task"]]  # type: ignore[index,call-overload]
        value: Json = {"choices": [answer]} if "<Choices" in config else {"text": [answer]}
        kind = "choices" if "<Choices" in config else "textarea"
        result: Json = [{"from_name": "answer", "to_name": "prompt", "type": kind, "value": value}]
        server.ask(f"/api/tasks/{task['id']}/annotations/", {"result": result, "lead_time": 12.5})  # type: ignore[index,call-overload]
    return project, answers


def _collected(folder: StudyFolder) -> dict[str, str]:
    """Item's id -> answer, as the study has it after the import."""
    responses = study_responses(folder)
    numbers = dict(responses.items.select("item", "id").iter_rows())
    return {numbers[item]: answer for item, answer in responses.table.select("item", "answer").iter_rows()}


@pytest.mark.parametrize("name", ["bps", "chegeka"])
def test_label_studio_imports_the_tasks_and_its_exports_are_read(
    name: str, server: Server, tmp_path: Path
) -> None:
    folder = bundled_study(tmp_path / "study", name, overlap=1)
    project, answers = _annotated(server, folder, tmp_path)
    tasks = study_tasks(folder)
    wanted = {str(task.item): " ".join(answers[task.id].split()) for task in (*tasks.tests, *tasks.controls)}
    for kind, file in (("JSON", "export.json"), ("JSON_MIN", "min.json"), ("CSV", "export.csv")):
        own = bundled_study(tmp_path / kind / "study", name, overlap=1)
        path = tmp_path / kind / file
        path.write_bytes(server.file(f"/api/projects/{project}/export?exportType={kind}"))
        import_files(own, [path])
        assert _collected(own) == wanted, kind
        assert study_baseline(own).details.items == len(tasks.tests)


def test_label_studio_shows_a_hostile_prompt_as_text(server: Server, tmp_path: Path) -> None:
    """The server keeps the prompt byte by byte and the configuration that shows it with its text tag."""
    folder = bundled_study(tmp_path / "study", "bps", overlap=1)
    export_study(folder, "label-studio", tmp_path / "out")
    tasks = json.loads((tmp_path / "out" / "tasks.json").read_text("utf-8"))[:1]
    tasks[0]["data"]["prompt"] = "<script>alert(1)</script> ${x} &amp;"
    config = (tmp_path / "out" / "labels.xml").read_text("utf-8")
    made = server.ask("/api/projects", {"title": "hostile", "label_config": config})
    assert isinstance(made, dict)
    server.ask(f"/api/projects/{made['id']}/import", tasks)
    exported = json.loads(
        server.file(f"/api/projects/{made['id']}/export?exportType=JSON&download_all_tasks=true")
    )
    assert exported[0]["data"]["prompt"] == tasks[0]["data"]["prompt"]
