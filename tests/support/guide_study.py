"""An expert test with everything that the guide mentions, taken from its dataset to the verified folder `hb/`.

People answer in the files of Toloka, experts in plain tables. The commands are those that a user types.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from random import Random

from study_people import of_kind
from tests.support.command import Outcome, merilo
from tests.support.edited_plan import edit_plan
from tests.support.study_people import answered, visits

from merilo.studies.study_folder import open_study

MINE = "пропустить вопрос, так как он, возможно, был придуман мной"
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


@dataclass(frozen=True)
class GuideStudy:
    """A study of experts and of people without training, with its folders and what the commands printed."""

    root: Path
    created: Mapping
    verified: Outcome

    @property
    def hb(self) -> Path:
        return self.root / "hb"

    @property
    def study(self) -> Path:
        return self.root / "study"

    def text(self, name: str) -> str:
        return (self.root / name).read_text(encoding="utf-8")

    def rows(self, name: str, delimiter: str = ",") -> list[dict[str, str]]:
        text = (self.root / name).read_text(encoding="utf-8-sig")
        return list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter))

    def json(self, name: str) -> dict:
        return json.loads(self.text(name))

    @cached_property
    def metrics(self) -> dict:
        return self.json("hb/baseline.json")

    @cached_property
    def plan(self) -> dict:
        return self.json("study/frozen.json")["plan"]

    @cached_property
    def experts(self) -> dict:
        return self.metrics["arms"]["experts"]

    @cached_property
    def items(self) -> list[dict]:
        return [json.loads(line) for line in self.text("study/items.jsonl").splitlines()]

    @cached_property
    def controls(self) -> list[dict]:
        return [json.loads(line) for line in self.text("study/controls.jsonl").splitlines()]


def dataset(folder: Path) -> Path:
    """Write a dataset of 320 sums in three domains, with 60 solved items, metadata and cards."""
    random = Random(5)

    def item(number: int) -> dict[str, object]:
        first, second = random.randrange(10, 99), random.randrange(10, 99)
        options = [first + second + step for step in (0, 1, -1, 10)]
        random.shuffle(options)
        author = AUTHORS[random.randrange(len(AUTHORS))]
        return {
            "instruction": 0,
            "inputs": {
                "question": f"{first} + {second} = ? (№ {number})",
                **{f"option_{letter}": str(option) for letter, option in zip("abcd", options, strict=True)},
            },
            "outputs": "ABCD"[options.index(first + second)],
            "meta": {"id": number, "domain": DOMAINS[number % 3], "author": author},
        }

    folder.mkdir()
    entries = [item(number) for number in range(1, 389)]
    metadata = {
        "dataset_name": "Sums", "dataset_size": "len(DATA)", "skills": ["Reasoning", "Expert domain knowledge"],
        "metrics": {"Accuracy": {"en": "share of right answers", "ru": "доля верных ответов"}}, "human_benchmark": {},
    }  # fmt: skip
    readmes = {
        "ru": {"Описание задачи": "Сложите два числа.", "Мотивация": "Проверка счёта.", "Авторы": "А. Автор"},
        "en": {
            "Task description": "Add two numbers.",
            "Motivation": "Counting.",
            "Contributors": "A. Author",
        },
    }
    files = {
        "test.json": {"data": entries[:320]},
        "shots.json": {"data": entries[320:380]},
        "raw_dataset_meta.json": metadata,
        **{f"raw_readme_{language}.json": text for language, text in readmes.items()},
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, ensure_ascii=False, indent=4), encoding="utf-8")
    (folder / "dataset.yaml").write_text(DECLARATION, encoding="utf-8")
    (folder.parent / "training.json").write_text(json.dumps({"data": entries[380:]}), encoding="utf-8")
    return folder


def guide_study(root: Path) -> GuideStudy:
    """Take the dataset to `hb/`, command by command."""
    data, study = dataset(root / "dataset"), root / "study"
    created = _done(
        "study", "create", data, "--out", study, "--size", ASKED, "--training", root / "training.json", "--json", "-",
    ).json  # fmt: skip
    _decide(study)
    _done("study", "validate", study)
    _done("study", "freeze", study, "--date", "2026-11-22")
    _done("study", "export", study, "--platform", "toloka", "--out", root / "toloka")
    _done("study", "export", study, "--platform", "table", "--arm", "experts", "--out", root / "sheets")
    opened = open_study(study)
    people = []
    for visit in visits(opened, people=10):
        # One person chooses the last option everywhere, and fails the control items.
        careless = visit.person == 101
        people.append(replace(visit, answers=dict.fromkeys(visit.answers, "D")) if careless else visit)
    exported = answered("toloka", root / "toloka", people)
    (root / "assignments.tsv").write_text(exported, encoding="utf-8", newline="")
    (root / "experts.csv").write_text(_experts(root), encoding="utf-8", newline="")
    _done("study", "import", study, root / "assignments.tsv", root / "experts.csv")
    _done("study", "baseline", study, "--out", study / "baseline")
    _done("report", study, "--out", root / "hb", "--cards", data)
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


def _done(*words: object) -> Outcome:
    done = merilo(*words)
    assert done.status == 0, f"{words}: {done.err}"
    return done


def _experts(root: Path) -> str:
    """Every expert fills in their own sheet; one answer in 20 is wrong, and one in 30 is marked."""
    study, random = open_study(root / "study"), Random(3)
    right = {task.id: str(task.item.outputs) for task in of_kind(study, "test", "control")}
    filled = []
    for sheet in sorted((root / "sheets").glob("*/tasks.csv")):
        expert = sheet.parent.name[3:]
        rows = csv.DictReader(io.StringIO(sheet.read_text(encoding="utf-8-sig"), newline=""))
        for number, row in enumerate(rows):
            known = right.get(row["task"])
            if known is None:
                continue
            drawn = random.random()
            answer = MINE if drawn < 1 / 30 else random.choice("ABCD") if drawn < 1 / 12 else known
            page = f"{expert}-{number // 10}"
            filled.append(
                {**row, "respondent": expert, "answer": answer, "page": page, "seconds": "250", "reward": "5"}
            )
    text = io.StringIO()
    writer = csv.DictWriter(text, list(filled[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(filled)
    return text.getvalue()
