"""Studies for tests, and simulated people who answer them in each platform's own export format.

The people know a task only by what was exported: they read the exported files, and their answers are looked up by the task's id
that stands there.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from command import done
from exports import csv_rows

from merilo.datasets import dataset
from merilo.datasets.bundled_items import examples
from merilo.items import Item
from merilo.studies.instruction import SKIP_OWN
from merilo.studies.study_folder import StudyFolder, freeze_plan, item_lines, open_study
from merilo.studies.study_tasks import StudyTask, interleaved, pages

REWARD = 0.05
NINE = datetime(2026, 3, 2, 9, tzinfo=UTC)

PLAN = """\
study: {name}
dataset: {dataset}
seed: {seed}
languages: [ru]
source: {{file: test.json, sha256: "0"}}
arms:
  people:
    kind: basic
    overlap: {overlap}
    items_per_page: {page}
    pay: {{per_page: 0.05, currency: USD}}
{more}subset: {{size: {size}, of: {size}}}
controls: {{every: 5}}
{training}instruction: {{ru: instruction.ru.md}}
"""

EXPERTS = """\
  experts:
    kind: expert
    overlap: 3
    items_per_page: {page}
    pay: {{per_page: 2.0, currency: RUB}}
    time_limit: 60.0
    skip_own: true
"""


def study_of(
    folder: Path,
    items: Sequence[Item],
    controls: Sequence[Item],
    *,
    name: str = "trial",
    dataset_name: str = "bps",
    training: Sequence[Item] = (),
    page: int = 1,
    overlap: int = 3,
    seed: int = 7,
    experts: bool = False,
    instruction: str = "# Задание\n\nОтветьте на вопрос.\n",
) -> StudyFolder:
    """Write a study's folder as `merilo study create` lays it out."""
    declared = dataset(dataset_name)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "items.jsonl").write_text(item_lines(items, declared), encoding="utf-8")
    (folder / "controls.jsonl").write_text(item_lines(controls, declared), encoding="utf-8")
    (folder / "training.jsonl").write_text(item_lines(training, declared), encoding="utf-8")
    (folder / "instruction.ru.md").write_text(instruction, encoding="utf-8")
    weights = io.StringIO()
    csv.writer(weights).writerows([("id", "stratum", "weight"), *((item.id, "all", 1) for item in items)])
    (folder / "weights.csv").write_text(weights.getvalue(), encoding="utf-8", newline="")
    more = EXPERTS.format(page=page) if experts else ""
    text = PLAN.format(
        name=name, dataset=dataset_name, seed=seed, overlap=overlap, page=page, size=len(items), more=more,
        training="training: {}\n" if training else "",
    )  # fmt: skip
    (folder / "study.yaml").write_text(text, encoding="utf-8")
    return open_study(folder)


def bundled_study(folder: Path, of: str = "bps", /, **more: object) -> StudyFolder:
    """A study of a bundled dataset, whose shots are the control items."""
    splits = examples(dataset(of))
    given = {"controls": splits["shots"].items, **more}
    return study_of(folder, splits["test"].items, dataset_name=of, **given)  # type: ignore[arg-type]


def frozen(folder: StudyFolder) -> StudyFolder:
    """The study with its plan, as it stands in the file now, frozen."""
    study = open_study(folder.path)
    freeze_plan(study, day="2026-01-12", force=True)
    return study


def of_kind(folder: StudyFolder, *kinds: str) -> list[StudyTask]:
    """The tasks of a study of some kinds: test, control, training."""
    return [task for task in folder.tasks() if task.kind in kinds]


def of_dialogue(task: StudyTask, dialogue: int, turn: int) -> StudyTask:
    """The task as a turn of a dialogue; both are numbered from 0."""
    meta = {**task.item.meta, "dialog_id": dialogue, "question_id": turn}
    return replace(task, item=replace(task.item, meta=meta))


@dataclass(frozen=True)
class Visit:
    """One page that one person answered.

    Attributes:
        number: the page's number on the platform.
        person: the person's number.
        started: when the page was opened.
        seconds: how long it took.
        answers: task's id -> answer, in the order of the page.
        reward: what is paid for the page.
        status: what became of the page on Toloka.
    """

    number: int | str
    person: int | str
    started: datetime
    seconds: float
    answers: Mapping[str, str]
    reward: float = REWARD
    status: str = "APPROVED"

    @property
    def submitted(self) -> datetime:
        return self.started + timedelta(seconds=self.seconds)


def visits(folder: StudyFolder, *, people: int = 6, seed: int = 1, wrong: Sequence[str] = ()) -> list[Visit]:
    """Return the pages of all annotators; each page is answered by as many annotators as the overlap.

    Answers are right four times out of five; a wrong one is drawn from the labels or from `wrong`.
    """
    random = Random(seed)
    arm = folder.plan.arms["people"]
    labels = list(folder.declared().answer.labels) or list(wrong)
    tests, controls = of_kind(folder, "test"), of_kind(folder, "control")
    gold = {task.id: str(task.item.outputs) for task in (*tests, *controls)}
    found = []
    clock = dict.fromkeys(range(101, 101 + people), NINE)
    for page in pages(interleaved(tests, controls), arm.items_per_page):
        for person in sorted(random.sample(sorted(clock), arm.overlap)):
            answers = {
                task.id: gold[task.id] if random.random() < 0.8 else random.choice(labels or [gold[task.id]])
                for task in page
            }
            visit = Visit(
                len(found) + 1, person, clock[person], 10 * len(page) + random.randrange(30), answers
            )
            clock[person] = visit.submitted + timedelta(seconds=5)
            found.append(visit)
    return found


def answered(platform: str, export: Path, people: Sequence[Visit]) -> str:
    """The platform's export of a study that was exported to a folder and answered by people."""
    return _ANSWERED[platform](export, people)


def collect(study: Path, root: Path, platform: str, people: Sequence[Visit]) -> None:
    """Export a study below a folder, let people answer it on a platform, and import their answers."""
    done("study", "export", study, "--platform", platform, "--out", root / "export")
    file = root / NAMES[platform]
    file.write_text(answered(platform, root / "export", people), encoding="utf-8", newline="")
    done("study", "import", study, file)


#: The names of the files that platforms export.
NAMES = {
    "toloka": "assignments.tsv",
    "abc": "results.tsv",
    "label-studio": "project.json",
    "mturk": "Batch_1_batch_results.csv",
    "table": "answers.csv",
}


def _written(rows: Sequence[Mapping[str, str]], delimiter: str) -> str:
    text = io.StringIO()
    names = dict.fromkeys(name for row in rows for name in row)
    # csv quotes a carriage return only as part of an end of line
    alone = any("\r" in value for row in rows for value in row.values())
    quoting = csv.QUOTE_ALL if alone else csv.QUOTE_MINIMAL
    writer = csv.DictWriter(text, list(names), "", delimiter=delimiter, lineterminator="\n", quoting=quoting)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _iso(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds")


def _toloka(export: Path, people: Sequence[Visit]) -> str:
    """A row an answer; where a project offers the mark "may be mine" beside an open answer, people tick that."""
    tasks = {row["INPUT:task"]: row for path in export.rglob("t*.tsv") for row in csv_rows(path)}
    beside = any('"mine"' in path.read_text(encoding="utf-8") for path in export.rglob("project.json"))
    rows = []
    for visit in people:
        for task, answer in visit.answers.items():
            shown = {name: text for name, text in tasks[task].items() if name.startswith("INPUT:")}
            rest = {name: text for name, text in tasks[task].items() if not name.startswith("INPUT:")}
            mine = beside and answer in SKIP_OWN.values()
            rows.append({
                **shown, "OUTPUT:answer": "" if mine else answer, **({"OUTPUT:mine": "true" if mine else ""} if beside else {}),
                **rest, "HINT:default_language": "",
                "ASSIGNMENT:link": f"https://platform.toloka.ai/task/1/{visit.number}",
                "ASSIGNMENT:task_id": f"task--{task}", "ASSIGNMENT:assignment_id": str(visit.number),
                "ASSIGNMENT:task_suite_id": f"suite--{visit.number}", "ASSIGNMENT:worker_id": str(visit.person),
                "ASSIGNMENT:status": visit.status, "ASSIGNMENT:started": _iso(visit.started),
                "ASSIGNMENT:submitted": _iso(visit.submitted), "ASSIGNMENT:accepted": _iso(visit.submitted),
                "ASSIGNMENT:reward": f"{visit.reward:.10f}",
            })  # fmt: skip
    return _written(rows, "\t")


def _abc(export: Path, people: Sequence[Visit]) -> str:
    table = csv_rows(export / "tasks.tsv")
    if "INPUT:dialog" in table[0]:
        return _abc_dialogues(table, people)
    tasks = {row["INPUT:task"]: row for row in table}
    rows = [
        {**tasks[task], "OUTPUT:answer": answer, **_abc_page(visit)}
        for visit in people
        for task, answer in visit.answers.items()
    ]
    return "\ufeff" + _written(rows, "\t")


def _abc_page(visit: Visit) -> dict[str, str]:
    return {
        "ASSIGNMENT:time_spent": str(visit.seconds), "ASSIGNMENT:date_start": f"{visit.started:%Y-%m-%d %H:%M:%S}",
        "ASSIGNMENT:date_end": f"{visit.submitted:%Y-%m-%d %H:%M:%S}", "ASSIGNMENT:user_id": str(visit.person),
        "ASSIGNMENT:result_id": f"r{visit.number}", "ASSIGNMENT:data_id": f"d{visit.number}",
        "ASSIGNMENT:status": "COMPLETED", "ASSIGNMENT:worker_id": str(visit.person),
        "ASSIGNMENT:reward": str(REWARD), "ASSIGNMENT:assignment_id": str(visit.number), "ACCEPT:verdict": "",
        "ACCEPT:comment": "",
    }  # fmt: skip


def _abc_dialogues(table: Sequence[Mapping[str, str]], people: Sequence[Visit]) -> str:
    """A row a person and dialogue; the person answers every turn of it."""
    rows = []
    for row in table:
        turns = [turn["task"] for turn in json.loads(row["INPUT:dialog"])]
        for visit in people:
            if set(turns) <= set(visit.answers):
                result = [{"answer": visit.answers[turn]} for turn in turns]
                rows.append(
                    {**row, "OUTPUT:answer": "", "OUTPUT:result": json.dumps(result), **_abc_page(visit)}
                )
    return "\ufeff" + _written(rows, "\t")


def _label_studio(export: Path, people: Sequence[Visit]) -> str:
    """An annotation a task: Label Studio shows one task at a time."""
    tasks = json.loads((export / "tasks.json").read_text(encoding="utf-8"))
    form = (export / "labels.xml").read_text(encoding="utf-8")
    kind = "choices" if "<Choices" in form else "number" if "<Number" in form else "textarea"
    exported, of_value = [], {"choices": "choices", "textarea": "text"}
    for number, task in enumerate(tasks, start=1):
        annotations = []
        for visit in people:
            answer = visit.answers.get(task["data"]["task"])
            if answer is not None:
                value = {"number": int(answer)} if kind == "number" else {of_value[kind]: [answer]}
                annotations.append({
                    "id": visit.number, "completed_by": visit.person, "was_cancelled": False, "ground_truth": False,
                    "result": [{"id": "x", "type": kind, "value": value, "origin": "manual", "to_name": "prompt",
                                "from_name": "answer"}],
                    "created_at": f"{visit.submitted:%Y-%m-%dT%H:%M:%S}.000000Z", "lead_time": float(visit.seconds),
                    "task": number, "project": 1,
                })  # fmt: skip
        exported.append(
            {"id": number, "annotations": annotations, "data": task["data"], "meta": {}, "project": 1}
        )
    return json.dumps(exported, ensure_ascii=False)


def _mturk(export: Path, people: Sequence[Visit]) -> str:
    hits = [row for path in sorted(export.glob("tasks*.csv")) for row in csv_rows(path)]
    rows = []
    for number, hit in enumerate(hits, start=1):
        shown = [(name.removeprefix("task_"), text) for name, text in hit.items() if name.startswith("task_")]
        rows += [
            {
                "HITId": f"H{number}", "HITTypeId": "T", "Title": "trial", "Reward": f"${REWARD:.2f}",
                "AssignmentId": str(visit.number), "WorkerId": str(visit.person), "AssignmentStatus": "Approved",
                "AcceptTime": f"{visit.started:%a %b %d %H:%M:%S} UTC {visit.started:%Y}",
                "SubmitTime": f"{visit.submitted:%a %b %d %H:%M:%S} UTC {visit.submitted:%Y}",
                "WorkTimeInSeconds": str(visit.seconds),
                **{f"Input.{name}": text for name, text in hit.items()},
                **{f"Answer.answer_{place}": visit.answers[task] for place, task in shown},
            }
            for visit in people
            if all(task in visit.answers for _, task in shown)
        ]  # fmt: skip
    return _written(rows, ",")


def _csv(export: Path, people: Sequence[Visit]) -> str:
    tasks = {row["task"]: row for row in csv_rows(export / "tasks.csv")}
    rows = [
        {
            **tasks[task], "respondent": str(visit.person), "answer": answer, "page": str(visit.number),
            "started": _iso(visit.started), "submitted": _iso(visit.submitted), "seconds": str(visit.seconds),
            "reward": str(visit.reward),
        }
        for visit in people
        for task, answer in visit.answers.items()
    ]  # fmt: skip
    return "\ufeff" + _written(rows, ",")


_ANSWERED: Mapping[str, Callable[[Path, Sequence[Visit]], str]] = {
    "toloka": _toloka,
    "abc": _abc,
    "label-studio": _label_studio,
    "mturk": _mturk,
    "table": _csv,
}
