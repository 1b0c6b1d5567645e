"""A real server process for simulated people, whose clock follows them: `python -m merilo.site.simulated_server STUDY SEED`.

The server differs from `merilo study serve` in three points. Every request says in the header `merilo-time` what time it is. People's
pseudonyms are their ids, which say that they are simulated. Their orders are drawn from the seed. The same requests therefore give
the same answers, to the byte.

The process prints its port and serves until its standard input is closed, so it ends with the process that started it.
"""

from __future__ import annotations

import logging
import socket
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Final

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from merilo.errors import UsageError
from merilo.people.simulation import SIMULATED_PREFIX
from merilo.site.annotation_site import AnnotationSite
from merilo.site.app import make_app, return_overdue
from merilo.site.database import database_url, open_database, writing
from merilo.site.new_people import NewPeople
from merilo.site.served_study import load_study
from merilo.site.server_clock import ServerClock
from merilo.site.study_registration import cookie_key, register
from merilo.studies.study_folder import open_study

#: The header of a request that states the simulated time, in milliseconds since 1970.
TIME_HEADER: Final = "merilo-time"

#: Milliseconds of simulated time between two searches for tasks that were not answered in time.
_SEARCH_EVERY: Final = 60_000

#: The search by the real clock is not used; seconds.
_NEVER: Final = 1e6


class SimulatedClock(ServerClock):
    """A clock that shows the time that it was set to, and never runs backwards.

    Example:
        >>> clock = SimulatedClock()
        >>> clock.set(5_000)
        >>> clock.now()
        5000
    """

    def __init__(self) -> None:
        super().__init__()
        self._now = 0

    def set(self, milliseconds: int) -> None:
        """Set the clock."""
        self._now = max(self._now, milliseconds)

    def now(self) -> int:
        """Return the time, in milliseconds since 1970."""
        return self._now


class SimulatedNewcomers(NewPeople):
    """Admits only simulated people, under their own ids and with seeds that can be drawn again.

    Args:
        seed: the seed of the simulation.
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(f"newcomers {seed}")

    def pseudonym(self, external: str) -> str:
        """Return the id of a simulated person as their pseudonym.

        Raises:
            UsageError: the id does not say that the person is simulated.
        """
        if not external.startswith(SIMULATED_PREFIX):
            raise UsageError(f"only simulated people are admitted here, not '{external}'")
        return external

    def seed(self) -> int:
        """Return the seed of a new person's order."""
        return self._random.getrandbits(62)


def following_time(app: ASGIApp, site: AnnotationSite, clock: SimulatedClock) -> ASGIApp:
    """Return an application that sets the clock by the header of every request before it is answered."""
    searched = 0

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal searched
        if scope["type"] == "http":
            told = dict(scope["headers"]).get(TIME_HEADER.encode())
            if told is not None:
                clock.set(int(told))
            if clock.now() - searched >= _SEARCH_EVERY:
                searched = clock.now()
                await return_overdue(site)
        await app(scope, receive, send)

    return serve


def main(words: Sequence[str]) -> int:
    """Serve a study until the standard input is closed.

    Args:
        words: the study's folder and the seed.
    """
    folder, seed = open_study(Path(words[0])), int(words[1])
    engine = open_database(database_url(folder.path, None))
    try:
        clock = SimulatedClock()
        with writing(engine) as connection:
            studies = [register(connection, load_study(folder, arm), 0) for arm in folder.plan.arms]
            key = cookie_key(connection)
        site = AnnotationSite(engine, studies, clock, key, newcomers=SimulatedNewcomers(seed))
        app = following_time(make_app(site, overdue_every=_NEVER), site, clock)
        logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
        server = uvicorn.Server(
            uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=1)
        )

        def end_with_the_parent() -> None:
            sys.stdin.buffer.read()
            server.should_exit = True

        with socket.create_server(("127.0.0.1", 0)) as listener:
            threading.Thread(target=end_with_the_parent, daemon=True).start()
            sys.stdout.write(f"{listener.getsockname()[1]}\n")
            sys.stdout.flush()
            server.run(sockets=[listener])
    finally:
        engine.dispose()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
