"""The figures of a study while somebody watches, computed once for all open dashboards.

Every study that is watched has one loop, which reads the counts every few seconds and computes the rest only
after a change, at most a twentieth of the time. It runs in threads beside the event loop, starts with the
first watcher and ends with the last one.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from merilo.site.collected_figures import (
    CollectedFigures,
    collected_figures,
)
from merilo.site.database import snapshot
from merilo.site.overview_texts import overview_texts
from merilo.site.served_study import ServedStudy
from merilo.site.site_requests import RefusedRequestError
from merilo.site.study_figures import SiteCounts, StudyFigures, figures_at, read_counts
from merilo.text import Language

if TYPE_CHECKING:
    from merilo.site.annotation_site import AnnotationSite


Result = TypeVar("Result")

#: Seconds between two looks at a study that somebody watches.
EVERY: Final = 2.0

#: A computation is repeated at the earliest after so many times its own duration.
REST: Final = 20.0

#: Seconds without an event after which a line is sent that keeps the connection open.
HEARTBEAT: Final = 15.0

#: Milliseconds after which a browser connects again.
RETRY: Final = 5000


@dataclass(eq=False)
class _Watched:
    """One study: its latest figures, and who waits for the next."""

    study: ServedStudy
    collected: CollectedFigures | None = None
    figures: StudyFigures | None = None
    computed_for: SiteCounts | None = None
    next_look: float = 0.0
    next_computation: float = 0.0
    watchers: int = 0
    computations: int = 0
    loop: asyncio.Task[None] | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    one: asyncio.Lock = field(default_factory=asyncio.Lock)


class LiveFigures:
    """The figures of all studies of a server process.

    Args:
        site: the site.
    """

    def __init__(self, site: AnnotationSite) -> None:
        self._site = site
        self._watched: dict[int, _Watched] = {}
        self._stopped = False

    async def figures(self, study: ServedStudy) -> StudyFigures:
        """Return the figures, computed now unless they were computed a moment ago.

        Raises:
            RefusedRequestError: the database cannot be read.
        """
        return await self._look(self._of(study))

    def watchers(self, study: ServedStudy) -> int:
        """Return how many dashboards watch a study."""
        return self._of(study).watchers

    def computations(self, study: ServedStudy) -> int:
        """Return how often the figures that need all answers were computed."""
        return self._of(study).computations

    def stop(self) -> None:
        """End all events: the server stops."""
        self._stopped = True
        for watched in self._watched.values():
            watched.changed.set()
            if watched.loop is not None:
                watched.loop.cancel()

    async def events(
        self,
        study: ServedStudy,
        language: Language,
        allowed: Callable[[], Awaitable[bool]],
    ) -> AsyncIterator[bytes]:
        """Yield server-sent events: `figures` when what is shown changed.

        `end` when the watcher may not watch any more.

        Args:
            study: the study.
            language: the language of the texts.
            allowed: whether the watcher is still signed in; asked before every event and heartbeat.
        """
        watched = self._of(study)
        watched.watchers += 1
        try:
            yield f"retry: {RETRY}\n\n".encode()
            if watched.loop is None or watched.loop.done():
                watched.loop = asyncio.create_task(self._watch(watched))
            sent: Mapping[str, str] | None = None
            while not self._stopped:
                changed = watched.changed
                if not await allowed():
                    yield b"event: end\ndata: {}\n\n"
                    return
                texts = None if watched.figures is None else overview_texts(watched.figures, language)
                if texts is not None and texts != sent:
                    sent = texts
                    data = json.dumps({"shown": texts}, ensure_ascii=False)
                    yield f"event: figures\ndata: {data}\n\n".encode()
                else:
                    yield b": still here\n\n"
                with suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), HEARTBEAT)
        finally:
            watched.watchers -= 1
            if not watched.watchers and watched.loop is not None:
                watched.loop.cancel()
                watched.loop = None

    def _of(self, study: ServedStudy) -> _Watched:
        return self._watched.setdefault(study.rules.study, _Watched(study))

    async def _watch(self, watched: _Watched) -> None:
        while not self._stopped:
            before = watched.figures
            with suppress(
                RefusedRequestError
            ):  # a database that cannot be reached now: the next look finds it
                await self._look(watched)
            if watched.figures is not before:
                changed, watched.changed = watched.changed, asyncio.Event()
                changed.set()
            await asyncio.sleep(max(EVERY, watched.next_look - time.monotonic()))

    async def _look(self, watched: _Watched) -> StudyFigures:
        """Read the counts, compute the rest if it is due, and keep the figures; one look at a time."""
        async with watched.one:
            now = time.monotonic()
            if watched.figures is not None and now < watched.next_look:
                return watched.figures
            compute = watched.collected is None or now >= watched.next_computation
            try:
                await asyncio.to_thread(self._read, watched, compute=compute)
            except Exception as error:
                if isinstance(getattr(error, "orig", error), self._site.engine.dialect.loaded_dbapi.Error):
                    raise RefusedRequestError(503, "not_saved") from error
                raise
            watched.next_look = max(watched.next_look, time.monotonic() + EVERY / 2)
            assert watched.figures is not None  # noqa: S101 - `_read` has set it
            return watched.figures

    def _read(self, watched: _Watched, *, compute: bool) -> None:
        """Read and compute, in a thread."""
        study, started = watched.study, time.monotonic()
        with snapshot(self._site.engine) as connection:
            counts = read_counts(connection, study)
            watched.next_look = time.monotonic() + REST * (time.monotonic() - started)
            if watched.collected is None or (compute and counts != watched.computed_for):
                began = time.monotonic()
                watched.collected = collected_figures(connection, study)
                watched.computed_for = counts
                watched.computations += 1
                watched.next_computation = time.monotonic() + REST * (time.monotonic() - began)
        watched.figures = figures_at(study, counts, watched.collected, self._site.clock.now())
