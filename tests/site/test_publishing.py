"""The files for publishing the site: the Compose file holds what the site needs, and nginx serves the site with them."""

import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from ipaddress import ip_address, ip_network
from pathlib import Path

import httpx
import pytest
import yaml
from ended_process import ended_process
from postgres_server import PostgresServer
from site_in_process import agree, form_in, hidden
from site_process import running_site

from merilo.cli.study_site import app
from merilo.site.journal import DATABASE_VARIABLE, database_url
from merilo.site.served_study import load_study
from merilo.studies.study_folder import StudyFolder

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"

Frozen = Callable[..., StudyFolder]

pytestmark = pytest.mark.skipif(
    not DEPLOY.exists(), reason="the files come with a clone, not with the package"
)


def compose() -> dict:
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))


def test_only_the_proxy_of_the_compose_file_can_be_reached_and_no_password_is_in_it() -> None:
    services = compose()["services"]
    assert {name for name, one in services.items() if "ports" in one} == {"proxy"}
    assert services["proxy"]["ports"] == ["80:80", "443:443"]
    for one in (
        services["database"]["environment"]["POSTGRES_PASSWORD"],
        services["site"]["environment"]["PGPASSWORD"],
    ):
        assert one.startswith("${POSTGRES_PASSWORD:?")
    assert all(":" in one["image"] for one in services.values() if "image" in one), (
        "every image has a version"
    )


def test_the_site_of_the_compose_file_waits_for_its_database_and_believes_its_proxy() -> None:
    made = compose()
    site, database = made["services"]["site"], made["services"]["database"]
    command, folder, *options = site["command"]
    given = dict(option.removeprefix("--").split("=", 1) for option in options)
    serve = next(one for one in app.registered_commands if one.callback and one.callback.__name__ == command)
    assert set(given) <= set(serve.callback.__annotations__)
    url = database_url(Path(), site["environment"][DATABASE_VARIABLE])
    assert (url.host, url.username) == ("database", database["environment"]["POSTGRES_USER"])
    assert url.database == database["environment"]["POSTGRES_DB"]
    assert url.password is None
    subnet = made["networks"]["default"]["ipam"]["config"][0]["subnet"]
    assert given["proxy"] == subnet
    assert ip_network(subnet).is_private
    assert not ip_address(given["host"]).is_loopback
    assert any(volume.split(":")[1] == str(Path(folder).parent) for volume in site["volumes"])
    assert site["depends_on"]["database"]["condition"] == "service_healthy"
    assert "database" in made["volumes"]
    assert "/health" in str(site["healthcheck"]["test"])


def test_the_image_is_made_of_files_that_exist_and_runs_as_nobody() -> None:
    lines = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").splitlines()
    kept = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").split()
    copied = [name for line in lines if line.startswith("COPY") for name in line.split()[1:-1]]
    assert copied
    for name in copied:
        assert (DEPLOY.parent / name).exists()
        assert f"!{name}" in kept
    assert "USER nobody" in lines
    assert (DEPLOY.parent / "requirements" / "lock.txt").exists()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def nginx(folder: Path, sites: list[str]) -> Iterator[tuple[int, int]]:
    """nginx with the published configuration, other ports and a certificate of its own; its ports for HTTP and HTTPS."""
    program, openssl = shutil.which("nginx"), shutil.which("openssl")
    if program is None or openssl is None:
        pytest.skip("nginx or openssl is not installed (Debian's packages nginx-light and openssl)")
    folder.mkdir()
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=DNS:localhost", "-keyout", folder / "privkey.pem", "-out", folder / "fullchain.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    plain, secure = free_port(), free_port()
    text = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    servers = "\n".join(f"server {one.removeprefix('http://')};" for one in sites)
    temporary = "".join(
        f"{kind}_temp_path {folder / kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    for published, here in {
        "server site:8000;": servers,
        "listen 80;": f"listen 127.0.0.1:{plain};",
        "listen 443 ssl;": f"listen 127.0.0.1:{secure} ssl;",
        "/etc/nginx/certificates": str(folder),
        "/tmp/nginx.pid": str(folder / "pid"),
        "http {": f"http {{\n{temporary}",
    }.items():
        assert published in text
        text = text.replace(published, here)
    (folder / "nginx.conf").write_text(text, encoding="utf-8")
    command = [program, "-p", folder, "-c", folder / "nginx.conf", "-e", folder / "error.log"]
    subprocess.run([*command, "-t"], check=True, capture_output=True)
    foreground = [*command, "-g", "daemon off;"]
    with ended_process(foreground, stopped_by=signal.SIGTERM, stderr=subprocess.DEVNULL):
        yield plain, secure


@pytest.mark.thorough
def test_people_answer_through_nginx_although_a_server_process_is_killed(
    postgres: PostgresServer, frozen: Frozen, tmp_path: Path
) -> None:
    database, folder = postgres.new_database(), frozen()
    with ExitStack() as stack:
        options = ("--database", database, "--proxy", "127.0.0.1")
        address, paths, process = stack.enter_context(running_site(folder.path, *options))
        path = paths["people"]
        plain, secure = stack.enter_context(nginx(tmp_path / "nginx", [address]))
        trusted = ssl.create_default_context(cafile=str(tmp_path / "nginx" / "fullchain.pem"))
        client = stack.enter_context(
            httpx.Client(
                verify=trusted,
                follow_redirects=True,
                timeout=60,
                transport=httpx.HTTPTransport(verify=trusted, retries=5),
            )
        )
        led = client.get(f"http://localhost:{plain}{path}", follow_redirects=False)
        assert (led.status_code, led.headers["location"]) == (308, f"https://localhost{path}")
        base = f"https://localhost:{secure}"
        first = client.get(f"{base}{path}?worker_id=1", follow_redirects=False)
        assert "Secure" in first.headers["set-cookie"]
        assert first.headers["location"] == path, "no address of a process is shown"
        page = client.get(f"{base}{path}").text
        page = agree(client, f"{base}{path}", page)
        seen = []
        for turn in range(6):
            seen.append(hidden(page, "task"))
            answered = client.post(f"{base}{path}task", data=form_in(page))
            assert answered.status_code == 200, answered.text
            page = answered.text
            if turn == 2:
                process.kill()
                process.wait()
                port = address.rpartition(":")[2]
                stack.enter_context(running_site(folder.path, *options, "--port", port))
        assert len(set(seen)) == 6


def test_the_folder_of_a_space_serves_its_study(
    frozen: Frozen, tmp_path: Path, browser: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = tmp_path / "space"
    shutil.copytree(DEPLOY / "space", space)
    study = frozen()
    shutil.copytree(study.path, space / "study")
    front = yaml.safe_load((space / "README.md").read_text("utf-8").split("---")[1])
    dockerfile = (space / "Dockerfile").read_text("utf-8")
    assert f"EXPOSE {front['app_port']}" in dockerfile
    assert 'CMD ["/space/start"]' in dockerfile
    secret = "a-secret-of-the-author-that-nobody-guesses-1"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    where = {
        "MERILO_DATA": str(tmp_path),
        "MERILO_HOST": "127.0.0.1",
        "PORT": str(port),
        "MERILO_AUTHOR_SECRET": secret,
    }
    program = Path(sys.executable).parent
    for name, value in {**where, "PATH": f"{program}:{os.environ['PATH']}"}.items():
        monkeypatch.setenv(name, value)
    with ended_process(
        [space / "start"],
        stopped_by=signal.SIGINT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert any("is running at" in line for line in process.stdout)
        page = browser.new_page()
        site = f"http://127.0.0.1:{port}"
        assert page.goto(f"{site}/author/{secret}").ok
        page.goto(f"{site}{load_study(study, 'people').path}?PROLIFIC_PID=5f3759df5f3759df5f3759df")
        page.locator("button.main").click()
        page.locator("button.main").click()
        page.locator("input[name=answer]").first.check()
        page.locator("form#item button.main").click()
        page.get_by_role("heading", name="Задание 2").wait_for()
        page.close()
    assert (tmp_path / "site.db").stat().st_size


def test_a_space_without_storage_or_secret_does_not_start(tmp_path: Path) -> None:
    shutil.copytree(DEPLOY / "space", tmp_path / "space")
    for data, said in ((tmp_path, "no persistent storage"), (Path("/proc"), "MERILO_AUTHOR_SECRET")):
        started = subprocess.run(
            [tmp_path / "space" / "start"],
            env={"PATH": os.environ["PATH"], "SPACE_HOST": "me-study.example", "MERILO_DATA": str(data)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (started.returncode, said in started.stderr) == (1, True)
