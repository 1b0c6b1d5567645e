"""The way of a dataset from its file to the comparison with a model, taken with commands, files and pages alone.

Five people answer every item, on the site's pages or in a platform's export. `PATTERNS` decides who is wrong where, so every
item's majority is known beforehand.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from command import done
from edited_plan import edit_plan
from exports import csv_rows
from site_in_process import agree, hidden, opened_site, to_first_task, visiting
from starlette.testclient import TestClient
from study_people import NINE, Visit, collect, of_kind

from merilo.studies.study_folder import open_study
from merilo.studies.study_tasks import StudyTask, interleaved, pages

#: What five people answer, item after item: right (r), or wrong in one of three ways. One answer has the most votes.
PATTERNS = ("rrrrr", "rrrra", "raraa", "rrrrr", "rarra", "rabrc", "rrrrr", "rrrrr")
PEOPLE = len(PATTERNS[0])
#: Control items after which the site stops somebody who answers them wrong.
STOPPED_AFTER = 5
#: An answer that stands for the button "may be mine".
MINE = "mine"

Entry = Mapping[str, Any]
#: An item and the labels of its answer -> the right answer, and wrong ones.
Choices = Callable[[Entry, Sequence[str]], tuple[str, ...]]
#: An item and the labels of its answer -> the answer of each person, and last that of somebody careless.
Said = Callable[[Entry, Sequence[str]], Sequence[str]]


@dataclass(frozen=True)
class AnsweredItem:
    """An item of the study, as its file holds it, and what each person answered."""

    item: Entry
    answers: tuple[str, ...]

    @property
    def id(self) -> str:
        return str(self.item["meta"]["id"])

    @property
    def gold(self) -> Any:
        return self.item["outputs"]

    @property
    def consensus(self) -> str:
        """The answer that most people gave, as the first of them wrote it; case does not count.

        In the exam a list of numbers is decided number by number if no answer has a majority, but every number has.
        """
        kind = self.item["meta"].get("type", "")
        lists = kind.startswith(("multiple_choice", "matching"))
        if lists and (numbers := self._by_number(kind == "matching")):
            return numbers
        votes = Counter(answer.lower() for answer in self.answers).most_common()
        assert len(votes) == 1 or votes[0][1] > votes[1][1], f"a tie: {votes}"
        return next(answer for answer in self.answers if answer.lower() == votes[0][0])

    def _by_number(self, ordered: bool) -> str:
        lists = [answer.split(",") for answer in self.answers]
        if 2 * max(Counter(self.answers).values()) > PEOPLE:
            return ""
        if ordered:
            places = [Counter(place).most_common(1)[0] for place in zip(*lists, strict=True)]
            return ",".join(one for one, n in places) if all(2 * n > PEOPLE for _, n in places) else ""
        chosen = Counter(one for numbers in lists for one in numbers)
        return ",".join(sorted(one for one, n in chosen.items() if 2 * n > PEOPLE))


@dataclass(frozen=True)
class WalkedRoad:
    """What the commands made of a dataset.

    Attributes:
        root: the folder of all files.
        items: the items with the answers that people gave.
        baseline: the output of `study baseline --json -`.
        verified: the output of `verify --json -`.
        runs: model -> metric -> its value and its number of items.
        compared: model -> metric -> whom the model is beside -> their row of `compare --json -`.
    """

    root: Path
    items: Sequence[AnsweredItem]
    baseline: Entry
    verified: Entry
    runs: Mapping[str, Mapping[str, tuple[float, int]]]
    compared: Mapping[str, Mapping[str, Mapping[str, Entry]]]

    def table(self, name: str) -> list[dict[str, str]]:
        """A table of the baseline's folder."""
        return csv_rows(self.root / "study" / "baseline" / name)


def walk(
    root: Path,
    data: Path,
    choices: Choices,
    *,
    where: str = "site",
    options: Sequence[object] = (),
    run_options: Sequence[object] = (),
) -> WalkedRoad:
    """Take a dataset to the comparison with two models.

    Args:
        root: an empty folder.
        data: the dataset's file or folder.
        choices: what people can answer to an item.
        where: `site`, or the platform whose export people fill in.
        options: further options of `study create`.
        run_options: further options of `run`.
    """
    study, items = answered_study(root, data, choices, where=where, options=options)
    baseline = done("study", "baseline", study, "--out", study / "baseline", "--json", "-").json
    done("report", study, "--out", root / "hb")
    verified = done("verify", root / "hb", "--json", "-").json
    runs = {}
    for model in ("gold", "random"):
        asked = "run", "--model", model, "--study", study, "--out", root / model, *run_options
        (result,) = done(*asked, "--json", "-").json["datasets"].values()
        runs[model] = {metric: (found["value"], found["n"]) for metric, found in result["metrics"].items()}
    compared: dict[str, dict[str, dict[str, Entry]]] = {}
    sources = (study / "baseline", root / "gold", root / "random")
    for row in done("compare", *sources, "--json", "-").json["rows"]:
        of_model = compared.setdefault(row["model"].partition(" ")[0], {})
        of_model.setdefault(row["score"]["name"], {})[row["beside"]] = row
    return WalkedRoad(root, items, baseline, verified, runs, compared)


def answered_study(
    root: Path, data: Path, choices: Choices, *, where: str = "site", options: Sequence[object] = ()
) -> tuple[Path, list[AnsweredItem]]:
    """Make the study of a dataset, and let people answer it by the patterns; its folder, and its items."""
    study = root / "study"
    done("study", "create", data, "--out", study, *options)
    edit_plan(study, {"arms.*.overlap": PEOPLE, "arms.*.pay.per_page": 3.0, "arms.people.pay.per_page": 0.5})
    patterns = {
        one["prompt"]: PATTERNS[place % len(PATTERNS)] for place, one in enumerate(lines(study, "items"))
    }

    def said(entry: Entry, labels: Sequence[str]) -> list[str]:
        right, *wrong = choices(entry, labels)
        known = dict(zip("rabc", [right, *wrong, *3 * [right]], strict=False))
        return [known[letter] for letter in patterns.get(entry["prompt"], "r" * PEOPLE) + "a"]

    return study, answer_study(root, study, said, where)


def answer_study(root: Path, study: Path, said: Said, where: str = "site") -> list[AnsweredItem]:
    """Freeze a study, let people answer it, and import what they said; the items with their answers."""
    done("study", "freeze", study, "--date", "2026-11-22", "--yes")
    folder = open_study(study)
    tests, controls = of_kind(folder, "test"), of_kind(folder, "control")
    entries = {one["prompt"]: one for name in ("items", "controls", "training") for one in lines(study, name)}
    answers = {task.id: said(entries[task.prompt], task.labels) for task in (*tests, *controls)}
    if where == "site":
        _answer_on_site(study, f"/s/{folder.arm_id('people')}/", answers, len(controls))
        import_collected(study, "people")
    else:
        shown = interleaved(tests, controls)
        on_pages = pages(shown, folder.plan.arms["people"].items_per_page)
        # A dialogue of ABC is one page.
        collect(study, root, where, _visits([shown] if where == "abc" else on_pages, answers))
    return [AnsweredItem(entries[task.prompt], tuple(answers[task.id][:PEOPLE])) for task in tests]


def import_collected(study: Path, *arms: str) -> None:
    """Import what the site has collected of some groups."""
    files = [study.parent / f"{study.name}-{arm}.csv" for arm in arms]
    for arm, file in zip(arms, files, strict=True):
        done("study", "collect", study, "--arm", arm, "--out", file)
    done("study", "import", study, *files)


def lines(study: Path, name: str) -> list[dict[str, Any]]:
    """The entries of one of a study's files, none where it has no such file."""
    path = study / f"{name}.jsonl"
    return [*map(json.loads, path.read_text(encoding="utf-8").splitlines())] if path.exists() else []


def _answer_on_site(study: Path, path: str, answers: Mapping[str, Sequence[str]], controls: int) -> None:
    """People come one after the other and answer until the site thanks them. First comes one who is always wrong."""
    english = open_study(study).plan.languages == ("en",)
    with opened_site(open_study(study)) as site, visiting(site) as client:
        for person in (PEOPLE, *range(PEOPLE)) if controls >= STOPPED_AFTER else range(PEOPLE):
            client.cookies.clear()
            page = to_first_task(client, path, f"w{person}")
            for _ in lines(study, "training"):
                page = _solve(client, path, page, lines(study, "training"))
            page = answer_tasks(client, path, page, lambda task, person=person: answers[task][person])
            stopped = ("Участие завершено", "Your part is finished")[english]
            end = stopped if person == PEOPLE else ("Спасибо!", "Thank you!")[english]
            assert f"<h1>{end}</h1>" in page, page
            assert not english or not re.search("[а-яё]", page), "an English study speaks Russian"


def _solve(client: TestClient, path: str, page: str, training: Sequence[Entry]) -> str:
    """Answer the training item on a page rightly; the next page."""
    (solved,) = [one for one in training if one["inputs"]["question"] in page]
    assert 'class="verdict right"' in _sent(client, f"{path}training", page, solved["outputs"])
    return str(client.get(path).text)


def answer_tasks(client: TestClient, path: str, page: str, answer: Callable[[str], str | None]) -> str:
    """Answer the task on a page and those that follow, until there is none or the answer is `None`; the last page."""
    while 'name="task"' in page and (text := answer(hidden(page, "task"))) is not None:
        for kind, source in re.findall(r'<(img|audio|video) [^>]*?src="([^"]+)"', page):
            sent = client.get(source)
            assert sent.headers["content-type"].startswith(kind.replace("img", "image")), sent
        page = _sent(client, f"{path}task", page, text)
    return page


def _sent(client: TestClient, address: str, page: str, answer: str) -> str:
    """Send an answer as the fields of the page take it: ticks and a field for each letter take a number each."""
    several = 'type="checkbox"' in page or (page.count('name="answer"') > 1 and 'type="radio"' not in page)
    form: dict[str, Any] = {"token": hidden(page, "token"), "task": hidden(page, "task"), "then": "next"}
    form |= {"then": MINE} if answer == MINE else {"answer": answer.split(",") if several else answer}
    after = str(client.post(address, data=form).text)
    assert 'role="alert"' not in after, f"{answer!r} to {page}"
    return after


def _visits(on_pages: Sequence[Sequence[StudyTask]], answers: Mapping[str, Sequence[str]]) -> list[Visit]:
    """Every person answers every page."""
    return [
        Visit(
            100 * person + place, 100 + person, NINE + timedelta(minutes=10 * place), 20 * len(page),
            {task.id: answers[task.id][person] for task in page},
        )
        for person in range(PEOPLE)
        for place, page in enumerate(on_pages)
    ]  # fmt: skip


def invite_experts(study: Path, *words: object) -> list[str]:
    """The paths of the links of invited experts."""
    invited = done("study", "invite", study, *words).out
    return [urlsplit(line.split("\t")[1]).path for line in invited.splitlines()]


def by_link(client: TestClient, link: str) -> tuple[str, str]:
    """Come in by the link of an invitation, agree, read the instruction; the path of the study, and the page."""
    client.cookies.clear()
    page = client.get(link)
    path = f"/{page.url.path.strip('/')}/"
    return path, agree(client, path, page.text)


def experts_answer(root: Path, items: Sequence[AnsweredItem]) -> None:
    """Invite an expert of all domains for each person; on the site they answer as the items say."""
    study = root / "study"
    tasks = open_study(study).tasks("experts")
    domains = [word for name in sorted({task.domain for task in tasks} - {""}) for word in ("--domain", name)]
    names = [word for person in range(PEOPLE) for word in ("--expert", f"expert{person}")]
    links = invite_experts(study, *names, *domains)
    known = {one.item["prompt"]: one.answers for one in items}
    answers = {
        task.id: known[task.prompt] if task.kind == "test" else PEOPLE * (str(task.known),) for task in tasks
    }
    with opened_site(open_study(study)) as site, visiting(site) as client:
        for person, link in enumerate(links):
            path, page = by_link(client, link)
            page = answer_tasks(client, path, page, lambda task, person=person: answers[task][person])
            assert "<h1>Спасибо!</h1>" in page, page
    import_collected(study, "experts")
