"""The HTTP interface under schemathesis, by the site's own OpenAPI description, against a real server process."""

import re
from collections.abc import Iterator
from random import Random
from typing import Any

import httpx
import pytest
from attacked_site import AttackedSite, attacked_site
from author_session import signed_in
from described_requests import FORMS
from described_requests import description as described
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import Case, openapi
from site_in_process import hidden, opened_site, to_first_task
from study_people import bundled_study, frozen

from merilo.site.app import make_app
from merilo.site.serving import read_site
from merilo.studies.study_folder import StudyFolder

pytestmark = pytest.mark.thorough


#: Requests of one operation in one role, and steps of the random walk.
EXAMPLES = 12
STEPS = 500


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    return frozen(bundled_study(tmp_path_factory.mktemp("fuzz") / "study", experts=True))


@pytest.fixture(scope="module")
def description(folder: StudyFolder) -> dict[str, Any]:
    with opened_site(folder, database=f"sqlite:///{folder.path.parent / 'description.db'}") as site:
        return described(make_app(site))


@pytest.fixture(scope="module")
def site(folder: StudyFolder) -> Iterator[AttackedSite]:
    with attacked_site(folder.path, folder.path.parent / "log.txt") as running:
        yield running
        assert running.process.poll() is None, "the server is still running"
        assert not running.complaints()


def known_values(site: AttackedSite, form: dict[str, str], person: str) -> dict[str, list[str]]:
    """Values that lead past the first check of a request."""
    keys = [path.strip("/").split("/")[1] for path in site.paths.values()]
    return {"key": keys, "token": [form["token"]], "task": [form["task"]], "pseudonym": [person], "answer": ["0", "1"]}  # fmt: skip


def with_known(description: dict[str, Any], known: dict[str, list[str]]) -> dict[str, Any]:
    """The description where half of the drawn tokens, keys and tasks are real ones."""

    def real(name: str, schema: dict[str, Any]) -> dict[str, Any]:
        if name not in known:
            return schema
        if schema.get("type") == "array":
            several = {"type": "array", "items": {"anyOf": [{"enum": known[name]}, {"type": "string"}]}}
            return {"anyOf": [{"enum": [[value] for value in known[name]]}, several]}
        return {"anyOf": [{"enum": known[name]}, {"enum": known[name]}, {"type": "string"}]}

    paths: dict[str, Any] = {}
    for path, operations in description["paths"].items():
        paths[path] = {}
        for method, operation in operations.items():
            one = {**operation, "parameters": []}
            for given_one in operation.get("parameters", []):
                schema = real(given_one["name"], given_one["schema"])
                one["parameters"].append({**given_one, "schema": schema})
            if path in FORMS and method == "post":
                fields = {"token": {"type": "string"}, **FORMS[path]}
                schema = {"type": "object", "properties": {name: real(name, s) for name, s in fields.items()}, "required": ["token"]}  # type: ignore[arg-type]  # fmt: skip
                one["requestBody"] = {
                    "required": True,
                    "content": {"application/x-www-form-urlencoded": {"schema": schema}},
                }
            paths[path][method] = one
    return {**description, "paths": paths}


def check(site: AttackedSite, case: Case, cookies: str) -> None:
    """One request: an answer below 500 within the time, without a trace of the program."""
    headers = {"Cookie": cookies} if cookies else {}
    answer = case.call(base_url=site.address, headers=headers, timeout=20, allow_redirects=False)
    assert answer.status_code < 500, (answer.status_code, case.as_curl_command())
    assert "content-security-policy" in {name.lower() for name in answer.headers}
    body = answer.content.decode("utf-8", "replace")
    assert "Traceback" not in body
    assert 'File "/' not in body


@pytest.fixture(scope="module")
def roles(site: AttackedSite, folder: StudyFolder) -> dict[str, tuple[str, dict[str, str]]]:
    """Role -> the cookies of its browser and the fields of its form."""
    found = {"stranger": ("", {"token": "x", "task": "x"})}
    with httpx.Client(base_url=site.address, follow_redirects=True, timeout=30) as client:
        page = to_first_task(client, site.paths["people"], "fuzzed")
        found["person"] = written(client), {"token": hidden(page, "token"), "task": hidden(page, "task")}
    with httpx.Client(base_url=site.address, follow_redirects=True, timeout=30) as client:
        signed_in(client, folder.path)
        token = hidden(client.get("/author/").text, "token")
        assert "merilo_author" in written(client)
        found["author"] = written(client), {"token": token, "task": "x"}
    return found


def written(client: httpx.Client) -> str:
    return "; ".join(f"{one.name}={one.value}" for one in client.cookies.jar)


def pseudonyms(folder: StudyFolder) -> list[str]:
    return [person.pseudonym for person in read_site(folder.path).people.values()]


@pytest.mark.parametrize("role", ["stranger", "person", "author"])
def test_no_request_by_the_description_fails_the_server(
    site: AttackedSite,
    description: dict[str, Any],
    folder: StudyFolder,
    roles: dict[str, tuple[str, dict[str, str]]],
    role: str,
) -> None:
    cookies, form = roles[role]
    schema = openapi.from_dict(with_known(description, known_values(site, form, pseudonyms(folder)[0])))
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) > 30
    for operation in operations:
        if role == "person" and operation.path.startswith("/author"):
            continue

        @seed(15)
        @settings(max_examples=EXAMPLES, deadline=None, database=None, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))  # fmt: skip
        @given(case=operation.as_strategy())
        def run(case: Case) -> None:
            check(site, case, cookies)

        run()
    assert not site.complaints()


def test_no_order_of_a_persons_steps_fails_the_server(site: AttackedSite, folder: StudyFolder) -> None:
    """A random walk of two people who press everything, in any order, with old and new forms."""
    chance = Random(15)
    path = site.paths["people"]
    seen = {"token": ["x", ""], "task": ["0" * 12, "x", ""]}
    with (
        httpx.Client(base_url=site.address, follow_redirects=True, timeout=20) as one,
        httpx.Client(base_url=site.address, follow_redirects=True, timeout=20) as other,
    ):
        for _ in range(STEPS):
            client = chance.choice([one, one, other])
            place = chance.choice(["", "?worker_id=a", "?worker_id=b", "instruction", "training", "task", "task", "task", "pause", "pause?note=late", "language", "consent", "decline"])  # fmt: skip
            if (
                place in {"consent", "decline", "instruction", "language", "training", "task"}
                and chance.random() < 0.7
            ):
                fields = {
                    "token": chance.choice(seen["token"][-3:]), "task": chance.choice(seen["task"][-4:]), "answer": chance.choice(["0", "1", "", "\ud7ff"]),
                    "then": chance.choice(["next", "pause", "mine", ""]), "language": chance.choice(["ru", "en", "fr"]), "comment": chance.choice(["", "x" * 2001]),
                }  # fmt: skip
                answer = client.post(path + place, data=fields)
            else:
                answer = client.get(path + place)
            assert answer.status_code < 500, (place, answer.text[:300])
            for name in seen:
                seen[name] += re.findall(rf'name="{name}" value="([^"]+)"', answer.text)
    assert not site.complaints()
    held = [one for person in read_site(folder.path).people.values() for one in person.tasks.values()]
    assert any(one.state == "answered" for one in held)
