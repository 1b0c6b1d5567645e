"""An expert test with everything that the guide mentions, taken from its dataset to the verified folder `hb/`.

People answer in the files of Toloka, experts in plain tables. The commands are those that a user types.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from random import Random

from command import Outcome, done, merilo
from edited_plan import edit_plan
from exports import csv_rows
from study_people import NINE, Visit, answered, collect, of_kind, visits

from merilo.studies.study_folder import open_study

MINE_TEXT = "пропустить вопрос, так как он, возможно, был придуман мной"
DOMAINS = ("law", "medicine", "physics")
AUTHORS = ("anna", "boris", "vera", "gleb")
ASKED = 160

DECLARATION = """\
name: sums
title: Sums
fields: [question, option_a, option_b, option_c, option_d]
answer: {kind: choice, labels: [A, B, C, D]}
metrics: [acc]
extra: acc.{domain}
prompts: ["{question}\\nA {option_a}\\nB {option_b}\\nC {option_c}\\nD {option_d}\\nОтвет:"]
"""


@dataclass
class Folder:
    """The files of a study of people and experts, from its dataset to `hb/`, and what is read in them."""

    root: Path

    @property
    def hb(self) -> Path:
        return self.root / "hb"

    @property
    def study(self) -> Path:
        return self.root / "study"

    def text(self, name: str) -> str:
        return (self.root / name).read_text(encoding="utf-8")

    def rows(self, name: str) -> list[dict[str, str]]:
        return csv_rows(self.root / name)

    def json(self, name: str) -> dict:
        return json.loads(self.text(name))

    @cached_property
    def metrics(self) -> dict:
        return self.json("hb/baseline.json")

    @cached_property
    def experts(self) -> dict:
        return self.metrics["arms"]["experts"]


@dataclass
class GuideStudy(Folder):
    """The study of the guide, with what two commands printed."""

    created: Mapping
    verified: Outcome

    @cached_property
    def plan(self) -> dict:
        return self.json("study/frozen.json")["plan"]

    @cached_property
    def items(self) -> list[dict]:
        return [json.loads(line) for line in self.text("study/items.jsonl").splitlines()]

    @cached_property
    def controls(self) -> list[dict]:
        return [json.loads(line) for line in self.text("study/controls.jsonl").splitlines()]


def sum_of(number: int, meta: Mapping[str, str]) -> dict[str, object]:
    """An item of the dataset of sums."""
    options = {f"option_{letter}": str(number + step) for step, letter in enumerate("abcd", start=1)}
    return {
        "instruction": 0,
        "inputs": {"question": f"{number} + {number % 4 + 1} = ?", **options},
        "outputs": "ABCD"[number % 4],
        "meta": {"id": number, **meta},
    }


def write_sums(folder: Path, test: range, shots: range, meta: Callable[[int], Mapping[str, str]]) -> Path:
    """Write a dataset of sums with its declaration, metadata and cards."""
    folder.mkdir()
    metadata = {
        "dataset_name": "Sums", "dataset_size": "len(DATA)", "skills": ["Reasoning", "Expert domain knowledge"],
        "metrics": {"Accuracy": {"en": "share of right answers", "ru": "доля верных ответов"}}, "human_benchmark": {},
    }  # fmt: skip
    russian = {"Описание задачи": "Сложите два числа.", "Мотивация": "Проверка счёта.", "Авторы": "А. Автор"}
    english = {"Task description": "Add two numbers.", "Motivation": "Counting.", "Contributors": "A. Author"}
    files = {
        "test.json": {"data": [sum_of(number, meta(number)) for number in test]},
        "shots.json": {"data": [sum_of(number, meta(number)) for number in shots]},
        "raw_dataset_meta.json": metadata,
        "raw_readme_ru.json": russian,
        "raw_readme_en.json": english,
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, ensure_ascii=False, indent=4), encoding="utf-8")
    (folder / "dataset.yaml").write_text(DECLARATION, encoding="utf-8")
    return folder


def _meta(number: int) -> dict[str, str]:
    return {"domain": DOMAINS[number % 3], "author": AUTHORS[number // 12 % len(AUTHORS)]}


def guide_study(root: Path) -> GuideStudy:
    """Take the dataset to `hb/`, command by command."""
    data, study = write_sums(root / "dataset", range(1, 321), range(321, 381), _meta), root / "study"
    training = {"data": [sum_of(number, _meta(number)) for number in range(381, 389)]}
    (root / "training.json").write_text(json.dumps(training), encoding="utf-8")
    created = done(
        "study", "create", data, "--out", study, "--size", ASKED, "--training", root / "training.json", "--json", "-",
    ).json  # fmt: skip
    _decide(study)
    done("study", "validate", study)
    done("study", "freeze", study, "--date", "2026-11-22")
    # One person errs where the others are right, and fails the control items.
    careless = dict(zip("ABCD", "BCDA", strict=True))
    people = [
        visit if visit.person != 101 else replace(visit, answers={task: careless[answer] for task, answer in visit.answers.items()})
        for visit in visits(open_study(study), people=10, seed=2)
    ]  # fmt: skip
    collect(study, root, "toloka", people)
    _experts_answer(root, study)
    done("study", "baseline", study, "--out", study / "baseline")
    done("report", study, "--out", root / "hb", "--cards", data)
    return GuideStudy(root, created, merilo("verify", root / "hb", "--json", "-"))


def _decide(study: Path) -> None:
    """Edit the plan and the instructions."""
    rule = {"ru": "Не обсуждайте задания.", "en": "Do not discuss the tasks."}
    rules = open_study(study).plan.restrictions
    decided = {
        "arms.*.items_per_page": 10,
        "arms.*.time_limit": 60,
        "arms.people.pay.per_page": 0.5,
        "arms.experts.pay.per_page": 5.0,
        "arms.experts.overlap": 4,
        "restrictions": [*map(asdict, rules), rule],
    }
    edit_plan(study, decided)
    for language, limit in (
        ("ru", "На задание отводится 60 секунд."),
        ("en", "You have 60 seconds for a task."),
    ):
        path = study / f"instruction.{language}.md"
        text = path.read_text(encoding="utf-8")
        last = f"- {rules[-1].text(language)}\n"
        assert last in text
        path.write_text(text.replace(last, f"{last}- {rule[language]}\n- {limit}\n"), encoding="utf-8")


def _experts_answer(root: Path, study: Path) -> None:
    """Every expert fills in their own sheet; one answer in 20 is wrong, and one in 30 is marked."""
    done("study", "export", study, "--platform", "table", "--arm", "experts", "--out", root / "sheets")
    random, files = Random(3), []
    right = {task.id: str(task.item.outputs) for task in of_kind(open_study(study), "test", "control")}

    def said(task: str) -> str:
        drawn = random.random()
        return MINE_TEXT if drawn < 1 / 30 else random.choice("ABCD") if drawn < 1 / 12 else right[task]

    for sheet in sorted((root / "sheets").iterdir()):
        if (sheet / "tasks.csv").exists():
            expert = sheet.name[3:]
            tasks = [row["task"] for row in csv_rows(sheet / "tasks.csv") if row["task"] in right]
            filled = [
                Visit(f"{expert}-{at}", expert, NINE + timedelta(minutes=at), 250, {task: said(task) for task in tasks[at : at + 10]}, 5.0)
                for at in range(0, len(tasks), 10)
            ]  # fmt: skip
            files.append(root / f"{expert}.csv")
            files[-1].write_text(answered("table", sheet, filled), encoding="utf-8", newline="")
    done("study", "import", study, *files)
