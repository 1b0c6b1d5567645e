"""An engine of Docker's for the tests alone, and an image of the Python that runs them: nothing is asked of a network."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from ended_process import ended_process

#: The official images' name for this Python: where the engine has it, none is fetched.
IMAGE = f"python:{sys.version_info.major}.{sys.version_info.minor}-slim"

_PATIENCE = 60.0


@contextlib.contextmanager
def engine() -> Iterator[str]:
    """The address of an engine that knows `IMAGE`, for the length of a block; the test is skipped where there can be none."""
    if os.geteuid() != 0:
        pytest.skip("an engine of Docker's own is started by root only")
    if shutil.which("dockerd") is None or shutil.which("docker") is None:
        pytest.skip("Docker's engine is not installed (Debian's package docker.io)")
    with tempfile.TemporaryDirectory(prefix="merilo-docker-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        address = f"unix://{folder / 'socket'}"
        with (
            (folder / "log").open("wb") as log,
            ended_process(
                _command(folder, address), stopped_by=signal.SIGTERM, stdout=log, stderr=log
            ) as daemon,
        ):
            _await(daemon, address, folder / "log")
            _import_image(folder / "image.tar", address)
            yield address


def _command(folder: Path, address: str) -> list[str]:
    """A daemon that leaves the machine's network as it is."""
    words = ["dockerd", "--host", address, "--bridge", "none", "--iptables=false", "--ip-forward=false"]
    (folder / "none.json").write_text("{}")
    places = {"--data-root": "data", "--exec-root": "exec", "--pidfile": "pid", "--config-file": "none.json"}
    return [*words, *(word for option, path in places.items() for word in (option, str(folder / path)))]


def _await(daemon: "subprocess.Popen[bytes]", address: str, log: Path) -> None:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end and daemon.poll() is None:
        done = subprocess.run(["docker", "--host", address, "version"], capture_output=True, check=False)
        if done.returncode == 0:
            return
        time.sleep(0.2)
    last = log.read_text(errors="replace").strip().splitlines()[-1:]
    pytest.skip(f"Docker's engine does not start here: {''.join(last)}")


def _import_image(archive: Path, address: str) -> None:
    """An image as the official ones are: Python in /usr/local, the libraries that it needs, and nothing else."""
    python = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    standard = Path(sysconfig.get_path("stdlib"))
    extensions = (standard / "lib-dynload").glob("*.so")
    libraries = {}
    for binary in [python, *extensions]:
        found = subprocess.run(["ldd", binary], capture_output=True, text=True, check=False).stdout
        libraries |= {Path(path).name: Path(path) for path in re.findall(r"(/\S+) \(0x", found)}
    with tarfile.open(archive, "w") as tar:
        tar.add(python, arcname="usr/local/bin/python3")
        tar.add(standard, arcname=f"usr/local/lib/{standard.name}", filter=_without_packages)
        for name, path in libraries.items():
            loader = name.startswith("ld-")
            tar.add(path.resolve(), arcname=str(path)[1:] if loader else f"usr/local/lib/{name}")
    settings = "ENV PATH=/usr/local/bin LD_LIBRARY_PATH=/usr/local/lib"
    subprocess.run(
        ["docker", "--host", address, "import", "--change", settings, archive, IMAGE],
        capture_output=True,
        check=True,
    )
    archive.unlink()


def _without_packages(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    unneeded = r"(site-packages|dist-packages|__pycache__|test|tests|idlelib|ensurepip|config-[^/]*)(/|$)"
    return None if re.search(unneeded, entry.name) else entry
