"""The way of a dataset from its file to the comparison with a model, taken with commands and files alone.

Five people answer every item. They know a task by the text that they read, and they answer on the site's pages or in a
platform's export. `PATTERNS` decides who is wrong where, so every item's majority is known beforehand.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from command import Outcome, merilo
from edited_plan import edit_plan
from site_in_process import hidden, opened_site, to_first_task, visiting
from study_people import NAMES, Visit, answered

from merilo.studies.study_folder import open_study

#: What five people answer, item after item: right (r), or wrong in one of three ways. One answer has the most votes.
PATTERNS = ("rrrrr", "rrrra", "raraa", "rrrrr", "rarra", "rabrc", "rrrrr", "rrrrr")
PEOPLE = len(PATTERNS[0])
#: Control items after which the site stops somebody who answers them wrong.
STOPPED_AFTER = 5

Entry = Mapping[str, Any]
#: An item and the labels of its answer -> the right answer, and wrong ones.
Choices = Callable[[Entry, Sequence[str]], tuple[str, ...]]


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
        if kind.startswith(("multiple_choice", "matching")) and (
            numbers := self._by_number(kind == "matching")
        ):
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
        published: `baseline.json` of the folder `hb/`.
        verified: the output of `verify --json -`.
        runs: model -> metric -> its value and its number of items.
        said: model -> item's id -> the model's answer.
        compared: model -> metric -> their part of the output of `compare --json -`.
    """

    root: Path
    items: Sequence[AnsweredItem]
    baseline: Entry
    published: Entry
    verified: Entry
    runs: Mapping[str, Mapping[str, tuple[float, int]]]
    said: Mapping[str, Mapping[str, Any]]
    compared: Mapping[str, Mapping[str, Entry]]

    def people_file(self) -> list[dict[str, str]]:
        """The baseline's own table of people."""
        return _table(self.root / "study" / "baseline" / "annotators.csv")

    def consensus_file(self) -> dict[str, str]:
        """Item's id -> the answer of people in the baseline's own table."""
        rows = _table(self.root / "study" / "baseline" / "consensus.csv")
        return {row["id"]: row["label"].lower() for row in rows}


def done(*words: object) -> Outcome:
    """Run a command that must succeed."""
    outcome = merilo(*words)
    assert outcome.status == 0, f"merilo {' '.join(map(str, words))}: {outcome.err}"
    return outcome


def answered_study(root: Path, data: Path, choices: Choices) -> Path:
    """Make the study of a dataset, let people answer it on the site, and import their answers; return its folder."""
    return _answered_study(root, data, choices, "site", ())[0]


def _answered_study(
    root: Path, data: Path, choices: Choices, where: str, options: Sequence[object]
) -> tuple[Path, list[dict[str, str]], dict[str, list[dict[str, Any]]], dict[str, list[str]]]:
    study = root / "study"
    done("study", "create", data, "--out", study, *options)
    decided = {"arms.*.overlap": PEOPLE, "arms.*.pay.per_page": 3.0, "arms.people.pay.per_page": 0.5}
    edit_plan(study, decided)
    done("study", "freeze", study, "--date", "2026-11-22", "--yes")
    done("study", "export", study, "--platform", "table", "--out", root / "tasks")
    tasks = _table(root / "tasks" / "tasks.csv")
    shown = {
        file: _lines(study / f"{file}.jsonl")
        for file in ("items", "controls", "training")
        if (study / f"{file}.jsonl").exists()
    }
    by_task = _answers(tasks, shown, choices)
    if where == "site":
        _answer_on_site(study, f"/s/{tasks[0]['study']}/", by_task, shown.get("training", ()))
        done("study", "collect", study, "--out", root / "collected.csv")
        done("study", "import", study, root / "collected.csv")
    else:
        done("study", "export", study, "--platform", where, "--out", root / "export")
        exported = answered(where, root / "export", _visits(tasks, by_task, whole=where == "abc"))
        (root / NAMES[where]).write_text(exported, encoding="utf-8", newline="")
        done("study", "import", study, root / NAMES[where])
    return study, tasks, shown, by_task


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
    study, tasks, shown, by_task = _answered_study(root, data, choices, where, options)
    baseline = done("study", "baseline", study, "--out", study / "baseline", "--json", "-").json
    done("report", study, "--out", root / "hb")
    verified = done("verify", root / "hb", "--json", "-").json
    runs, said = {}, {}
    for model in ("gold", "random"):
        ran = done(
            "run", "--model", model, "--study", study, "--out", root / model, *run_options, "--json", "-"
        ).json
        ((name, result),) = ran["datasets"].items()
        runs[model] = {metric: (found["value"], found["n"]) for metric, found in result["metrics"].items()}
        log = root / model / f"{name}.jsonl"
        lines = _lines(log) if log.exists() else []  # programs are run, and their results written
        said[model] = {str(line["id"]): line["answer"] for line in lines}
    compared = done("compare", study / "baseline", root / "gold", root / "random", "--json", "-").json
    prompts = {row["prompt"]: row["task"] for row in tasks}
    return WalkedRoad(
        root,
        [AnsweredItem(one, tuple(by_task[prompts[one["prompt"]]][:PEOPLE])) for one in shown["items"]],
        baseline,
        json.loads((root / "hb" / "baseline.json").read_text(encoding="utf-8")),
        verified,
        runs,
        said,
        _by_metric(compared),
    )


def _by_metric(compared: Entry) -> dict[str, dict[str, Entry]]:
    """The rows by model, metric (one, or the several correlations of ruEthics) and whom they are beside."""
    found: dict[str, dict[str, Entry]] = {}
    for row in compared["rows"]:
        of_model = found.setdefault(row["model"].partition(" ")[0], {})
        of_model.setdefault(row["score"]["name"], {})[row["beside"]] = row
    return found


def answer_study(root: Path, study: Path, answer: Callable[[Entry], Sequence[str]]) -> None:
    """Let people answer a study on the site, and import what they said.

    Args:
        root: a folder for the tables.
        study: the study, which is frozen here.
        answer: an item, as the study's file holds it -> the answer of each person, and last that of somebody careless.
    """
    done("study", "freeze", study, "--date", "2026-11-22", "--yes")
    tables = root / f"tables-{study.name}"
    done("study", "export", study, "--platform", "table", "--out", tables)
    tasks = _table(tables / "tasks.csv")
    shown = {one["prompt"]: one for name in ("items", "controls") for one in _lines(study / f"{name}.jsonl")}
    by_task = {row["task"]: answer(shown[row["prompt"]]) for row in tasks}
    _answer_on_site(study, f"/s/{tasks[0]['study']}/", by_task, ())
    done("study", "collect", study, "--out", tables / "collected.csv")
    done("study", "import", study, tables / "collected.csv")


def _table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")))


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _answers(
    tasks: Sequence[Mapping[str, str]], shown: Mapping[str, Sequence[Entry]], choices: Choices
) -> dict[str, list[str]]:
    """The answers of the people to each task, and last a wrong one. Only answers to items follow the patterns."""
    patterns = {one["prompt"]: PATTERNS[place % len(PATTERNS)] for place, one in enumerate(shown["items"])}
    entries = {one["prompt"]: one for file in shown.values() for one in file}
    assert len(entries) == sum(map(len, shown.values())), "people tell the items apart by their texts"
    found = {}
    for row in tasks:
        labels = row["labels"].split(" | ") if row.get("labels") else []
        right, *wrong = choices(entries[row["prompt"]], labels)
        known = dict(zip("rabc", [right, *wrong, *3 * [right]], strict=False))
        pattern = patterns.get(row["prompt"], "r" * PEOPLE)
        found[row["task"]] = [known[letter] for letter in f"{pattern}a"]
    return found


def _answer_on_site(
    study: Path, path: str, answers: Mapping[str, Sequence[str]], training: Sequence[Entry]
) -> None:
    """People come one after the other and answer until the site thanks them. First comes one who is always wrong."""
    english = open_study(study).plan.languages == ("en",)
    with opened_site(open_study(study)) as site, visiting(site) as client:
        for person in (PEOPLE, *range(PEOPLE)) if _stops(study) else range(PEOPLE):
            client.cookies.clear()
            page = to_first_task(client, path, f"w{person}")
            for _ in training:
                solved = next(one for one in training if _shows(page, one["prompt"]))
                page = _sent(client, f"{path}training", page, solved["outputs"])
                assert 'class="verdict right"' in page
                page = client.get(path).text
            for _ in range(len(answers) + 1):
                if 'name="task"' not in page:
                    break
                for kind, source in re.findall(r'<(img|audio|video) [^>]*?src="([^"]+)"', page):
                    sent = client.get(source)
                    assert sent.headers["content-type"].startswith(kind.replace("img", "image")), sent
                page = _sent(client, f"{path}task", page, answers[hidden(page, "task")][person])
            stopped = ("Участие завершено", "Your part is finished")[english]
            end = stopped if person == PEOPLE else ("Спасибо!", "Thank you!")[english]
            assert f"<h1>{end}</h1>" in page, page
            assert not english or not re.search("[а-яё]", page), "an English study speaks Russian"


def _stops(study: Path) -> bool:
    """Whether there are enough control items to stop somebody."""
    controls = study / "controls.jsonl"
    return controls.exists() and len(_lines(controls)) >= STOPPED_AFTER


def _sent(client: Any, address: str, page: str, answer: str) -> str:
    form = {"token": hidden(page, "token"), "task": hidden(page, "task"), "answer": _typed(page, answer)}
    page = client.post(address, data=form).text
    assert 'role="alert"' not in page, f"{answer!r} to {_prompt(page)}"
    return str(page)


def _typed(page: str, answer: str) -> str | list[str]:
    """The answer as the fields of the page take it: ticks and a field for each letter take a number each."""
    several = 'type="checkbox"' in page or (page.count('name="answer"') > 1 and 'type="radio"' not in page)
    return answer.split(",") if several else answer


def _prompt(page: str) -> str:
    found = re.search(r'<div class="prompt[^"]*">(.*?)</div>', page, re.DOTALL)
    return html.unescape(found[1]) if found else page


def _shows(page: str, prompt: str) -> bool:
    """Whether a page shows a prompt; options that are buttons are not repeated in the text."""
    return set(_prompt(page).splitlines()) <= {*prompt.splitlines(), ""}


def _visits(
    tasks: Sequence[Mapping[str, str]], answers: Mapping[str, Sequence[str]], *, whole: bool
) -> list[Visit]:
    """Every person answers every page, or the whole study as one page: a dialogue of ABC is one."""
    pages: dict[str, list[str]] = {}
    for row in tasks:
        pages.setdefault("" if whole else row["page"], []).append(row["task"])
    start = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
    return [
        Visit(
            number=100 * person + place,
            person=100 + person,
            started=start + timedelta(minutes=10 * place),
            seconds=20 * len(page),
            answers={task: answers[task][person] for task in page},
        )
        for person in range(PEOPLE)
        for place, page in enumerate(pages.values())
    ]


def experts_answer(root: Path, items: Sequence[AnsweredItem]) -> None:
    """Invite an expert of all domains for each person; on the site they answer as the items say."""
    study = root / "study"
    names = [word for person in range(PEOPLE) for word in ("--expert", f"expert{person}")]
    folder = open_study(study)
    asked = [task for task in folder.tasks("experts") if task.kind == "test"]
    domains = [word for name in sorted({task.domain for task in asked} - {""}) for word in ("--domain", name)]
    invited = done("study", "invite", study, *names, *domains).out
    links = [line.split("\t")[1] for line in invited.splitlines()]
    known = {one.item["prompt"]: one.answers for one in items}
    controls = study / "controls.jsonl"
    if controls.exists():
        known |= {one["prompt"]: PEOPLE * (one["outputs"],) for one in _lines(controls)}
    done("study", "export", study, "--arm", "experts", "--platform", "table", "--out", root / "expert-tasks")
    tables = (root / "expert-tasks").rglob("tasks.csv")
    prompts = {row["task"]: row["prompt"] for table in tables for row in _table(table)}
    with opened_site(open_study(study)) as site, visiting(site) as client:
        for person, link in enumerate(links):
            client.cookies.clear()
            page = client.get(urlsplit(link).path)
            path = page.url.path
            text = page.text
            for step in ("consent", "instruction"):
                text = client.post(f"{path}{step}", data={"token": hidden(text, "token")}).text
            while 'name="task"' in text:
                text = _sent(client, f"{path}task", text, known[prompts[hidden(text, "task")]][person])
            assert "<h1>Спасибо!</h1>" in text, text
    done("study", "collect", study, "--arm", "experts", "--out", root / "experts.csv")
    done("study", "import", study, root / "experts.csv")
