"""Serve a study as `merilo study serve` does, with a disk that can be slower: `slow_disk_site.py STUDY PORT SECONDS [DATABASE]`.

`SECONDS` are added to every commit of the writer.
"""

import gc
import sys
import threading
import time
from pathlib import Path

from sqlalchemy import Engine, event

from merilo.site.serving import serve_study


def main(study: str, port: str, seconds: str, database: str = "") -> None:
    gc.set_threshold(200_000, 20, 20)  # as the command does
    delay = float(seconds)
    if delay:

        @event.listens_for(Engine, "before_cursor_execute")
        def slow(_: object, __: object, statement: str, *___: object) -> None:
            if statement == "COMMIT" and threading.current_thread().name.startswith("site writer"):
                time.sleep(delay)

    serve_study(
        Path(study),
        port=int(port),
        database=database or None,
        started=lambda _, arms, _author: print(f"The site is running: {arms[0].path}", flush=True),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
