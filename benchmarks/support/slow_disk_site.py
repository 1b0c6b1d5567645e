"""Serve a study as `merilo study serve` does, with a disk that can be slower: `slow_disk_site.py STUDY PORT SECONDS GROUP [DATABASE]`.

`SECONDS` are added to every commit of the writer; `GROUP` is the most operations of one commit, 0 for the writer's own number.
"""

import sys
import threading
import time
from pathlib import Path

from sqlalchemy import Connection, Engine, event

from merilo.site import journal
from merilo.site.serving import serve_study


def main(study: str, port: str, seconds: str, group: str, database: str = "") -> None:
    delay = float(seconds)
    if int(group):
        journal.GROUP = int(group)
    if delay:

        @event.listens_for(Engine, "commit")
        def slow(_: Connection) -> None:
            if threading.current_thread().name == "site writer":
                time.sleep(delay)

    serve_study(
        Path(study),
        port=int(port),
        database=database or None,
        started=lambda _, arms, _author: print(f"The site is running: {arms[0].path}", flush=True),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
