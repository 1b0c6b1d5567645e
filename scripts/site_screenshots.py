#!/usr/bin/env python3
"""Take the pictures of the annotation site in docs/images, from bundled items: PYTHONPATH=src python scripts/site_screenshots.py [NAME...].

The packages of the tests, Chromium and Pillow are needed. The same code gives the same pictures: people have fixed seeds, and the clock of the
page stands still. Only the overview shows the time of the day.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "support")]

import site_people
from author_session import author_link
from browser import opened_browser
from PIL import Image
from playwright.sync_api import Browser
from site_in_process import only_state, opened_site
from site_process import live_state, served_site
from site_visitor import Visitor, in_two_languages
from study_people import study_of

from merilo.datasets import dataset
from merilo.datasets.bundled_items import examples
from merilo.items import Item
from merilo.site.serving import invite_to_site
from merilo.studies.study_folder import StudyFolder

IMAGES = ROOT / "docs" / "images"
PHONE = {
    "viewport": {"width": 390, "height": 780},
    "device_scale_factor": 1.5,
    "is_mobile": True,
    "has_touch": True,
}
DESKTOP = {"viewport": {"width": 860, "height": 640}, "device_scale_factor": 1.5}

#: The largest picture, in bytes.
LARGEST = 150_000


def study(folder: Path, name: str, items: Sequence[Item], experts: bool = False) -> StudyFolder:
    """A frozen study of some items of a bundled dataset, without control items, in two languages."""
    made = study_of(folder, items, [], dataset_name=name, name=dataset(name).title, experts=experts)
    plan = folder / "study.yaml"
    plan.write_text(plan.read_text("utf-8").replace("controls: {every: 5}\n", ""), encoding="utf-8")
    return in_two_languages(made)


def same_order(folder: StudyFolder) -> None:
    """Give everybody the same order of items."""
    for person in live_state(folder.path).people.values():
        person.seed = 2026


def visitor(
    browser: Browser, address: str, folder: StudyFolder, path: str, screen: Mapping[str, Any]
) -> Visitor:
    """Somebody who has read the instruction, on a page whose clock stands still."""
    person = Visitor(browser.new_context(locale="en-US", color_scheme="light", **screen).new_page(), address)
    person.page.clock.install()
    person.come(path)
    same_order(folder)
    person.page.click("button.main")
    person.page.wait_for_selector(".instruction")
    person.page.click("button.main")
    person.page.wait_for_selector("form#item, a.main")
    return person


def save(person: Visitor, name: str, *, whole: bool = True) -> None:
    """Save the page, or what the window shows of it, as a picture of 128 colours."""
    taken = Image.open(io.BytesIO(person.page.screenshot(full_page=whole, animations="disabled")))
    file = IMAGES / f"site-{name}.png"
    taken.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(file, optimize=True)
    size = file.stat().st_size
    print(f"{file.relative_to(ROOT)}: {taken.width} x {taken.height}, {size // 1000} kB")
    if size > LARGEST:
        raise SystemExit(f"{file}: larger than {LARGEST // 1000} kB")


def phone(browser: Browser, work: Path) -> None:
    made = study(work / "phone", "parus", examples(dataset("parus"))["test"].items[:12])
    with served_site(made.path) as (address, paths):
        person = visitor(browser, address, made, paths["people"] + "?worker_id=1", PHONE)
        for _ in range(4):
            person.choose("1")
            person.send()
        person.choose("2")
        save(person, "phone")


def exam(browser: Browser, work: Path) -> None:
    made = study(work / "exam", "use", [examples(dataset("use"))["test"].items[12]])
    with served_site(made.path) as (address, paths):
        person = visitor(browser, address, made, paths["people"] + "?worker_id=1", DESKTOP)
        person.choose("2")
        person.choose("5")
        save(person, "exam")


def dialogue(browser: Browser, work: Path) -> None:
    made = study(work / "dialogue", "rutie", examples(dataset("rutie"))["test"].items)
    with served_site(made.path) as (address, paths):
        person = visitor(browser, address, made, paths["people"] + "?worker_id=1", DESKTOP)
        for answer in "12":
            person.choose(answer)
            person.send()
        save(person, "dialogue")


def expert(browser: Browser, work: Path) -> None:
    made = study(work / "expert", "rummlu", examples(dataset("rummlu"))["test"].items[:10], experts=True)
    ((_, link),) = invite_to_site(made.path, experts=("Anna Petrova",))
    with served_site(made.path) as (address, _):
        person = visitor(browser, address, made, link, DESKTOP)
        person.page.click("a.main")
        person.page.wait_for_selector("#left")
        person.page.evaluate(
            "document.getElementById('left').textContent = 52"
        )  # the server's clock does not stand still
        save(person, "expert")


def overview(browser: Browser, work: Path) -> None:
    made = study(work / "overview", "ruhhh", examples(dataset("ruhhh"))["test"].items)
    with opened_site(made) as site:
        site_people.START = round(1000 * time()) - 630_000  # a rate needs ten minutes
        state = only_state(site)
        site_people.simulate(state, {"Anna": 1.0, "Boris": 0.98, "Vera": 0.95}, most=9)
        site.journal.append(state.unwritten())
    with served_site(made.path) as (address, _):
        page = browser.new_context(locale="en-US", color_scheme="light", **DESKTOP).new_page()
        page.goto(address + author_link(made.path))
        page.wait_for_selector("#progress")
        page.set_viewport_size({"width": 860, "height": 920})
        save(Visitor(page, address), "overview", whole=False)


if __name__ == "__main__":
    with TemporaryDirectory() as folder, opened_browser() as chromium:
        for take in (phone, exam, dialogue, expert, overview):
            if take.__name__ in sys.argv[1:] or not sys.argv[1:]:
                take(chromium, Path(folder))
