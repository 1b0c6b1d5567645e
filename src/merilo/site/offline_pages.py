"""A study without a server: a page for each place, which works offline in any browser and gives back one file.

The places are dealt out beforehand, so that every item gets exactly the planned number of people. A page holds the
instruction, the training and the tasks of its place; it holds no gold answer of the test or of a control item.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from heapq import heapify, heappop, heappush
from importlib.resources import files
from itertools import count
from math import ceil
from mimetypes import guess_type
from pathlib import Path
from random import Random
from typing import Any

from markupsafe import Markup

from merilo.atomic_write import new_folder, write_files
from merilo.errors import DataError, UsageError, argument
from merilo.files import sha256 as file_sha256
from merilo.metrics.answers import alternatives
from merilo.site.annotation_site import PAGES, sentences
from merilo.site.consent_facts import consent_facts
from merilo.site.item_form import LONGEST_ANSWER, item_form
from merilo.site.served_study import ServedStudy
from merilo.statistics.planning import people_needed
from merilo.strict_json import Json, indented
from merilo.studies.instruction import SKIP_OWN
from merilo.studies.plan import plan_path
from merilo.studies.platform_files import EXPORT_FILE
from merilo.studies.platform_rows import page_key
from merilo.studies.study_tasks import expert_domains, nothing_left
from merilo.text import Language, Text
from merilo.wording import listed


@dataclass(frozen=True, slots=True)
class DealtPlace:
    """What one person of the study gets.

    Attributes:
        respondent: the name of the place, or the expert whom it is for; the answers carry it.
        tasks: the numbers of test and control items, in their order.
        tests: how many of them are items of the test.
        domains: the domains of the items; empty for all.
    """

    respondent: str
    tasks: tuple[int, ...]
    tests: int
    domains: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExportedPages:
    """The result of an export.

    Attributes:
        arm: the group of annotators.
        overlap: how many people answer an item.
        training: training items on each page.
        places: the places, whose pages are called like them.
        named: whether each page is for a named expert, so that the overlap is theirs to give.
    """

    arm: str
    overlap: int
    training: int
    places: tuple[DealtPlace, ...]
    named: bool = False

    def to_dict(self) -> dict[str, Json]:
        """Return the description as JSON; it tells no task of a place."""
        return {
            "platform": "page",
            "arm": self.arm,
            "overlap": self.overlap,
            "training": self.training,
            "places": [
                {
                    "file": file_name(place), "respondent": place.respondent, "tests": place.tests,
                    "controls": len(place.tasks) - place.tests, "domains": [*place.domains],
                }
                for place in self.places
            ],
        }  # fmt: skip


def file_name(place: DealtPlace) -> str:
    """Return the name of the file of a place's page; a person's name keeps only letters and digits."""
    name = re.sub(r"[^\w-]+", "-", place.respondent).strip("-")[:60]
    return f"{name or 'expert'}.html"


def export_pages(
    study: ServedStudy,
    out: Path,
    *,
    language: str | None = None,
    experts: Sequence[str] = (),
    domains: Sequence[str] = (),
    force: bool = False,
) -> ExportedPages:
    """Write a page for each place of a study into a new folder.

    Args:
        study: the group of annotators.
        out: the folder.
        language: the language of the pages; by default, the first of the plan.
        experts: experts who get a page of their own, without the items that they wrote.
        domains: the domains whose items are written; by default all, and of an expert those in which they wrote items.
        force: replace an existing folder.

    Raises:
        UsageError: there is no such domain or language.
        DataError: an expert has no item to answer, two pages would have one name, or a task's file is missing.
        OutputError: the folder exists or cannot be written.
    """
    chosen: Language = "en" if (language or study.languages[0]) == "en" else "ru"
    if (language or chosen) not in study.languages:
        raise UsageError(
            f"the study has no instruction in '{language}', only in {listed(list(study.languages))}",
            field=argument("language"),
        )
    study.check_domains(domains or study.domains)
    places = tuple(_of_experts(study, experts, domains) if experts else _dealt(study, domains))
    names = [file_name(place) for place in places]
    if twice := [name for name in names if names.count(name) > 1]:
        raise DataError(
            f"two pages would be called {twice[0]}: give the experts names that differ in letters"
        )
    exported = ExportedPages(
        study.arm_name, study.rules.overlap, len(study.training), places, named=bool(experts)
    )
    described = {
        "study": study.key, "plan_sha256": file_sha256(plan_path(study.folder.path)), **exported.to_dict(),
    }  # fmt: skip
    for task in study.tasks:
        for media in task.media:
            if study.media_name(media.path) not in study.media:
                raise DataError(
                    f"the file {media.path} of the task {task.id} is missing", file=study.folder.path
                )
    with new_folder(out, force=force) as hidden:
        for place, name in zip(places, names, strict=True):  # one at a time: pages with films are large
            write_files(hidden, {name: place_page(study, place, chosen).encode()})
        write_files(hidden, {EXPORT_FILE: (indented(described) + "\n").encode()})
    return exported


def _of_experts(study: ServedStudy, experts: Sequence[str], domains: Sequence[str]) -> Iterable[DealtPlace]:
    """Yield a place for each expert: all items of their domains but their own."""
    asked = study.tasks[: study.rules.tests]
    for seed, name in enumerate(dict.fromkeys(experts)):
        chosen = expert_domains(asked, name, domains)
        withheld = study.withheld(name, chosen)
        tests = [number for number in range(study.rules.tests) if number not in withheld]
        if not tests:
            raise nothing_left(asked, name, chosen)
        order = _shuffled(study, _units(study, tests), seed)
        yield DealtPlace(name, _with_controls(study, order, seed, withheld), len(tests), chosen)


def _dealt(study: ServedStudy, domains: Sequence[str]) -> Iterable[DealtPlace]:
    """Yield places so that each item is on exactly as many pages as the plan has people for it.

    The experts of a domain get the items of that domain only.
    """
    by_domain = [(name,) for name in study.domains if name in (domains or study.domains)]
    numbers = count(1)
    for chosen in by_domain if study.arm.domain else [()]:
        withheld = study.withheld("", chosen)
        tests = [number for number in range(study.rules.tests) if number not in withheld]
        needed = people_needed(len(tests), study.rules.overlap, min(study.arm.items_per_person, len(tests)))
        if study.arm.people:
            needed = max(study.rules.overlap, ceil(study.arm.people * len(tests) / study.rules.tests))
        for dealt in _hands(study, _units(study, tests), needed):
            seed = next(numbers)
            order = _shuffled(study, dealt, seed)
            yield DealtPlace(
                f"place-{seed:03d}", _with_controls(study, order, seed, withheld), len(order), chosen
            )


def _units(study: ServedStudy, tests: Sequence[int]) -> list[list[int]]:
    """Divide items into what one person answers in order: the turns of a dialogue, or an item."""
    units: dict[tuple[int, int], list[int]] = {}
    for number in tests:
        dialogue, _ = study.turns[number]
        units.setdefault((dialogue, 0) if dialogue else (0, number), []).append(number)
    return [sorted(unit, key=lambda number: study.turns[number]) for unit in units.values()]


def _hands(study: ServedStudy, units: list[list[int]], places: int) -> list[list[list[int]]]:
    """Deal each unit to as many places as the overlap says, always to those that have the fewest items."""
    random = Random(f"places {study.rules.seed} {study.key}")  # noqa: S311 - a draw that can be repeated
    hands: list[list[list[int]]] = [[] for _ in range(min(places, study.rules.overlap * len(units)))]
    fewest = [(0, random.random(), at) for at in range(len(hands))]
    heapify(fewest)
    for unit in random.sample(units, len(units)):
        chosen = [heappop(fewest) for _ in range(study.rules.overlap)]
        for load, _, at in chosen:
            hands[at].append(unit)
            heappush(fewest, (load + len(unit), random.random(), at))
    return hands


def _shuffled(study: ServedStudy, units: list[list[int]], seed: int) -> list[int]:
    random = Random(f"page {study.rules.seed} {study.key} {seed}")  # noqa: S311 - an order that can be repeated
    return [number for unit in random.sample(units, len(units)) for number in unit]


def _with_controls(
    study: ServedStudy, tests: Sequence[int], seed: int, withheld: Iterable[int]
) -> tuple[int, ...]:
    """Put control items among the items as the site does: at a random place of each stretch, none twice."""
    had, order, left = {*withheld}, list[int](), [*tests]
    while left:
        control = None
        if study.rules.control_at(seed, len(order) + 1):
            control = study.rules.next_control(seed, had)
        order.append(left.pop(0) if control is None else control)
        had.add(order[-1])
    return tuple(order)


def place_page(study: ServedStudy, place: DealtPlace, language: Language) -> str:
    """Return the page of a place: one HTML file with its style, script, media and tasks, and nothing to load."""
    room = files("merilo.site").joinpath("static")
    style, script = (room.joinpath(name).read_text("utf-8") for name in ("annotator.css", "offline.js"))
    size, mine = study.rules.on_screen, SKIP_OWN[language]

    def forms(numbers: Sequence[int], size: int) -> list[list[dict[str, Any]]]:
        items = [item_form(study, number, at, language) for at, number in enumerate(numbers, start=1)]
        items = [{**item, "prompt": _embedded(study, item["prompt"])} for item in items]
        return [items[start : start + size] for start in range(0, len(items), size)]

    training, template = _training(study, place), PAGES.get_template("offline.html.j2")
    return template.render(
        **sentences(language),
        study=study,
        place=place,
        facts=consent_facts(study, len(place.tasks), len(training)),
        instruction=Markup(study.instructions[language]),  # noqa: S704 - by `html_of`
        training=forms(training, 1),
        tasks=forms(place.tasks, size),
        style=Markup(style),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704 - our own file
        style_hash=_hash(style),
        script_hash=_hash(script),
        data=Markup(json.dumps(_data(study, place, training, language)).replace("<", "\\u003c")),  # noqa: S704 - no "<"
        mine=mine[0].upper() + mine[1:],
        longest=LONGEST_ANSWER,
        longest_comment=0,
        error="",
    )


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _embedded(study: ServedStudy, prompt: Markup) -> Markup:
    """Put the files of a prompt into the page, in place of their addresses on a site."""

    def data(address: re.Match[str]) -> str:
        content = study.media[address[1]].read_bytes()
        kind = guess_type(address[1])[0] or "application/octet-stream"
        return f'src="data:{kind};base64,{b64encode(content).decode()}"'

    address = rf'src="{re.escape(study.path)}media/([\w.]+)"'
    return Markup(re.sub(address, data, str(prompt)))  # noqa: S704 - escaped by `prompt_html`


def _training(study: ServedStudy, place: DealtPlace) -> list[int]:
    """The training items of a place: those of its domains."""
    withheld = study.withheld("", place.domains)
    return [number for number in study.training if number not in withheld]


def _data(study: ServedStudy, place: DealtPlace, own: Sequence[int], language: Language) -> dict[str, Json]:
    """Return what the script needs; of known answers it has those of the training `own` only, which it shows."""
    plan, tasks = study.folder.plan, [study.tasks[number] for number in (*own, *place.tasks)]
    training: dict[str, Json] = {}
    for number in own:
        task = study.tasks[number]
        known = [text.strip() for text in alternatives(task.known or "", task.alternatives)]
        training[task.id] = {"known": [*known], "hint": task.hint or ""}
    return {
        "study": study.key,
        "respondent": place.respondent,
        "keys": {task.id: page_key(study.secret, place.respondent, task.id) for task in tasks},
        "dialogues": {task.id: task.dialogue for task in tasks if task.dialogue},
        "training": training,
        "needed": plan.training.needed(len(own)) if plan.training else 0,
        "told": bool(plan.training and plan.training.feedback),
        "alike": plan.baseline.min_control_score if study.declared.answer.kind == "text" else 1,
        "limits": {task.id: task.seconds for task in tasks},
        "texts": {
            name: text.in_language(language)
            for name, text in {
                "right": Text("Right"),
                "wrong": Text("Wrong"),
                "missing": Text("The answer is missing. Give an answer and send it again."),
                "over": Text("The time for the task before this one is over: it has no answer."),
                "answer": Text("Your answer"),
            }.items()
        },
    }
