"""The annotation site as a real process, started by its command; or served by a thread of this process."""

import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import uvicorn
from ended_process import ended_process

from merilo.site.annotation_site import AnnotationSite
from merilo.site.app import make_app
from merilo.site.bounded_http import BoundedHttp
from merilo.site.serving import SERVER, opened_site, opened_studies
from merilo.site.state import State


@contextmanager
def running_site(
    study: Path, *options: str, command: str = "serve", errors: IO[bytes] | int = subprocess.STDOUT
) -> Iterator[tuple[str, dict[str, str], subprocess.Popen]]:
    """The site's address, the path of each group's pages, and the process; it is ended by SIGINT as by Ctrl-C.

    What it says on standard error goes to `errors`.
    """
    with ended_process(
        [sys.executable, "-m", "merilo", "study", command, str(study), "--port", "0", *options],
        stopped_by=signal.SIGINT,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
    ) as process:
        said, address = [], ""
        for line in process.stdout:
            said.append(line)
            if line.startswith(("The site is running at ", "The preview is running at ")):
                address = line.split()[5].rstrip(";")
                break
        assert address, "".join(said)
        paths = {
            line.split(": http")[0]: f"/s/{line.split('/s/')[1].split('/')[0]}/"
            for line in said
            if "/s/" in line
        }
        yield address, paths, process


#: The studies that `served_site` serves -> the site.
_SERVED: dict[Path, AnnotationSite] = {}


def live_state(study: Path) -> State:
    """The state of a study that `served_site` serves, to change it beside the server."""
    site = _SERVED[study]
    return next(state for state in site.states.values() if state.study.arm_name == "people")


@contextmanager
def served_site(study: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """The address of the same server in a thread of this process, and the path of each group's pages.

    For tests that neither kill the server nor look at what its command prints: a new Python costs two seconds.
    """
    with opened_studies(study, None) as (journal, studies):
        site = _SERVED[study] = opened_site(journal, studies)
        settings = uvicorn.Config(
            make_app(site), http=BoundedHttp, **{**SERVER, "timeout_graceful_shutdown": 1}
        )
        server = uvicorn.Server(settings)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
            thread.start()
            try:
                yield (
                    f"http://127.0.0.1:{listener.getsockname()[1]}",
                    {one.arm_name: one.path for one in studies},
                )
            finally:
                server.should_exit = True
                thread.join()
                del _SERVED[study]
