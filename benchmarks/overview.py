"""The author's page beside annotators: the annotators' time with and without it, and the time of the page.

    python benchmarks/overview.py [--answers 100000] [--pages 20] [--people 20] [--seconds 20]

It makes a study whose database holds many answers, starts `merilo study serve` on it, and lets people answer for some seconds, first without
and then with open pages of the author, which reload every 2 seconds. It prints the answers a second, the percentiles of a save with its next
page and of a reload, and the time of the status.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

import httpx

from merilo.items import Item
from merilo.site.journal import Event, Journal, LogEntry, database_url
from merilo.site.served_study import load_study
from merilo.site.serving import read_site
from merilo.site.state import State
from merilo.site.status import site_status
from merilo.studies.study_folder import StudyFolder

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from author_session import author_link
from edited_plan import edit_plan
from site_process import running_site
from study_people import frozen, study_of
from support.site_client import hidden, processor_seconds

OVERLAP = 5
TEXT = "Сбалансирована ли последовательность: {inputs}? Ответ 1 или 0."


def study_with_answers(path: Path, answers: int, fresh: int) -> StudyFolder:
    """A frozen study whose items have `answers` answers, and `fresh` items without any."""
    answered = answers // OVERLAP
    items = [Item(n, TEXT, "( " * (n % 40) + ") " * (n // 40), str(n % 2), {"id": n}) for n in range(1, answered + fresh + 1)]  # fmt: skip
    controls = [Item(f"c{n}", TEXT, "[ " * n, "0", {"id": f"c{n}"}) for n in range(1, 51)]
    made = study_of(path, items, controls, overlap=OVERLAP)
    edit_plan(path, {"controls.every": 20, "arms.people.items_per_person": 100_000})
    folder = frozen(made)
    chance, start = random.Random(1), 1_790_000_000_000
    study = load_study(folder, "people")
    people = max(OVERLAP, answers // 200)
    came = [
        (start, "came", f"id{n:08x}", None, {"pseudonym": f"p{n:08x}", "source": "platform", "external": f"old {n}", "language": "ru", "seed": n})
        for n in range(people)
    ]  # fmt: skip
    moved = [(start, "moved", f"id{n:08x}", None, {"to": "working"}) for n in range(people)]
    places, given, saved = [0] * people, [], []
    for task in range(answered):
        for person in chance.sample(range(people), OVERLAP):
            places[person] += 1
            at, seconds = start + chance.randrange(86_400_000), round(chance.lognormvariate(2, 0.5), 3)
            name = f"id{person:08x}"
            given.append(
                (at - int(1000 * seconds), "given", name, task, {"place": places[person], "due": at})
            )
            saved.append((at, "answered", name, task, {"seconds": seconds, "answer": str((task + (chance.random() < 0.1)) % 2)}))  # fmt: skip
    events = [Event(at, kind, person, task, facts) for at, kind, person, task, facts in (*came, *moved, *given, *saved)]  # fmt: skip
    journal = Journal(database_url(path, None))
    assert journal.take()
    state = State(study)
    state.begin(start)
    journal.append(state.unwritten())
    journal.append([LogEntry(study.key, events)])
    journal.close()
    return folder


async def annotator(address: str, path: str, name: str, until: float, times: list[float]) -> None:
    """Answer tasks until the time is over."""
    async with httpx.AsyncClient(base_url=address, timeout=60, follow_redirects=True) as client:
        page = (await client.get(f"{path}?worker_id={name}")).text
        for step in ("consent", "instruction"):
            page = (await client.post(f"{path}{step}", data={"token": hidden(page, "token")})).text
        while time.monotonic() < until and 'name="task"' in page:
            sent = {"token": hidden(page, "token"), "task": hidden(page, "task"), "answer": "1"}
            began = time.monotonic()
            page = (await client.post(f"{path}task", data=sent)).text
            times.append(time.monotonic() - began)


async def reloaded(address: str, page: str, cookies: httpx.Cookies, until: float, times: list[float]) -> None:
    """Reload the author's page until the time is over."""
    async with httpx.AsyncClient(base_url=address, timeout=60, cookies=cookies) as client:
        while time.monotonic() < until:
            began = time.monotonic()
            (await client.get(page)).raise_for_status()
            times.append(time.monotonic() - began)
            await asyncio.sleep(2)


async def measured(
    address: str, path: str, link: str, process: int, *, people: int, pages: int, seconds: float, label: str
) -> None:
    """Let people answer beside pages of the author, and print their times."""
    async with httpx.AsyncClient(base_url=address, timeout=60) as client:
        await client.get(link)
        cookies = client.cookies
    until, times, before = time.monotonic() + seconds, [], processor_seconds(process)
    reloads: list[float] = []
    page = path.replace("/s/", "/author/")
    watching = [asyncio.create_task(reloaded(address, page, cookies, until, reloads)) for _ in range(pages)]
    await asyncio.gather(*(annotator(address, path, f"{label} {n}", until, times) for n in range(people)))
    await asyncio.gather(*watching)
    used = processor_seconds(process) - before
    cuts, loads = (statistics.quantiles(one or [0.0, 0.0], n=100) for one in (times, reloads))
    print(f"{label}: {len(times) / seconds:.0f} answers/s, median {1000 * cuts[49]:.0f} ms, p95 {1000 * cuts[94]:.0f} ms, "
          f"{len(reloads)} reloads, median {1000 * loads[49]:.0f} ms, p95 {1000 * loads[94]:.0f} ms, {used:.1f} s of processor time")  # fmt: skip


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--answers", type=int, default=100_000)
    parser.add_argument("--pages", type=int, default=20)
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=20.0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as own:
        folder = study_with_answers(Path(own) / "study", asked.answers, 4000)
        began = time.perf_counter()
        state = read_site(folder.path)
        print(f"{asked.answers:,} answers: read from the log in {time.perf_counter() - began:.2f} s")
        began, cpu = time.perf_counter(), time.process_time()
        site_status(state, 1_790_100_000_000)
        print(f"{asked.answers:,} answers: status {time.perf_counter() - began:.2f} s ({time.process_time() - cpu:.2f} s of processor time)")  # fmt: skip
        with running_site(folder.path) as (address, paths, server):
            for at, (label, pages) in enumerate((("without", 0), ("with", asked.pages)) * 2):
                work = measured(
                    address, paths["people"], author_link(folder.path), server.pid,
                    people=asked.people, pages=pages, seconds=asked.seconds, label=f"{label} pages, {at}",
                )  # fmt: skip
                asyncio.run(work)


if __name__ == "__main__":
    main()
