"""The same answers of the same people give the same baseline to the byte, collected on the site or imported from Toloka.

The answers are given on the site. They are then written as Toloka would export them: from the site's database and the files of
`merilo study export`, not from the table that the site collects.
"""

import json
import re
import shutil
from collections.abc import Sequence
from contextlib import chdir
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path
from random import Random

import pytest
from command import merilo
from study_people import Visit, answered, frozen, of_kind, study_of

from merilo.datasets import dataset
from merilo.datasets.bundled_items import examples
from merilo.items import Item
from merilo.people.spelling import NOT_SHOWN
from merilo.site.annotator_steps import (
    SentAnswer,
    ShownTask,
    next_task,
    next_training,
    save_answers,
)
from merilo.site.journal import Journal, database_url
from merilo.site.people_access import admit_from_platform, admit_invited, new_invitation
from merilo.site.served_study import load_study
from merilo.site.serving import read_site
from merilo.site.state import State
from merilo.studies.instruction import SKIP_OWN
from merilo.studies.study_folder import StudyFolder

START = 1_790_000_000_123

#: Texts that tables, spreadsheets and readers of numbers like to change.
AWKWARD = (
    "NA", "null", "None", "007", "1e5", "=1+1", "-", '"', 'a "b" c', "a\tb", "a;b", "a,b", "true", "nan", "'x", "ё", "\u00a0", "1,3",
    "first\nsecond", "a\rb", "#N/A", "\\n", "\ufeffx", "\u2028",
)  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """A study and how people answer it.

    Attributes:
        name: the dataset.
        wrong: answers of people who do not know, used in turn.
        knows: the share of answers that are right.
        people: how many come from a platform.
        overlap: how many people answer an item.
        guessing: how many of them never know, and are stopped.
        excluded: how many of the others the author excludes in the end.
        arm: the group of annotators.
        training: whether there is a training.
        page: the tasks of a page, by which the pay is divided.
        authors: whether the items name experts as their authors.
    """

    name: str
    wrong: Sequence[str] = AWKWARD
    knows: float = 0.8
    people: int = 5
    overlap: int = 3
    guessing: int = 0
    excluded: int = 0
    arm: str = "people"
    training: bool = False
    page: int = 1
    authors: bool = False


SHAPES = {
    "labels": Shape("bps", ("0", "1"), page=4),
    "numbers": Shape("simplear", ("0", "12", "-7", "3.5", "+4", "007")),
    "sets": Shape("use", ("1", "1,3", "3,1", "1, 3", "2,4,5")),
    "open text": Shape("chegeka", page=3, knows=0.2, people=9, overlap=9),
    "programs": Shape("ruhumaneval", ("def f():\n    return 1", "  return 'a\tb'\n    # \"q\"", "pass")),
    "experts": Shape("bps", ("0", "1"), arm="experts", authors=True, page=3),
    "experts, open text": Shape("chegeka", knows=0.9, arm="experts", authors=True),
    "stopped and excluded": Shape("bps", ("0", "1"), people=8, guessing=2, excluded=1),
    "training": Shape("lcs", ("0", "1", "2"), training=True, people=6, guessing=1),
}

#: Texts of a published folder that say on which platform people answered, and the hashes of these files.
NAMING_THE_PLATFORM = {
    "croissant.json", "manifest.json", "checklist.md", "human_baseline_ru.md", "human_baseline_en.md", "cost_en.md",
    "cost_ru.md", "report.html", "baseline.json", "raw/settings.json",
}  # fmt: skip


def same_but_for_the_platform(site: Path, toloka: Path) -> bool:
    """Whether two published folders differ only where they name the platform, and have the same figures there."""
    ours, theirs = contents(site), contents(toloka)
    differing = {name for name in ours if ours[name] != theirs.get(name)}
    counted = differing - {"manifest.json", "checklist.md"}  # hashes, and how a platform pays and recruits
    return (
        ours.keys() == theirs.keys()
        and differing <= NAMING_THE_PLATFORM
        and all(figures(ours[name]) == figures(theirs[name]) for name in counted)
    )


EXPERTS = ("Anna", "Boris", "Vera", "Gleb")


def frozen_study(folder: Path, shape: Shape) -> StudyFolder:
    """A frozen study of bundled items, each of them with an author if the shape says so."""
    splits = examples(dataset(shape.name))
    tests, known = list(splits["test"].items), list(splits["shots"].items)
    if shape.authors:
        tests = [with_author(item, EXPERTS[at % len(EXPERTS)]) for at, item in enumerate(tests)]
    training, controls = (known[:2], known[2:]) if shape.training else ([], known)
    made = study_of(
        folder, tests, controls, dataset_name=shape.name, training=training, page=shape.page,
        overlap=shape.overlap, experts=shape.arm == "experts",
    )  # fmt: skip
    return frozen(made)


def with_author(item: Item, author: str) -> Item:
    return Item(item.id, item.instruction, item.inputs, item.outputs, {**item.meta, "author": author})


def answer_on_the_site(folder: StudyFolder, shape: Shape) -> None:
    """Let everybody answer in turn, and some break off: times, orders and repetitions are as on the site."""
    random, now, wrong = Random(shape.name), START, cycle(shape.wrong)
    gold = {task.id: str(task.item.outputs) for task in of_kind(folder, "test")}
    journal = Journal(database_url(folder.path, None))
    assert journal.take()
    state = State(load_study(folder, shape.arm))
    state.begin(1)
    study = state.study
    for number in range(len(EXPERTS) if shape.arm == "experts" else shape.people):
        if shape.arm == "experts":
            code, _ = new_invitation(state, EXPERTS[number], now, actor="author")
            admitted = admit_invited([state], code, "ru", now)
        else:
            admitted = admit_from_platform(state, "platform", f"w{number}", "ru", now)
        assert admitted is not None
        person = admitted.person
        state.record(now, "moved", person.id, to="training" if shape.training else "working")
        while person.stage == "training":
            shown = next_training(state, person, now)
            assert shown is not None
            now += random.randrange(900, 9000)
            save_answers(
                state,
                person,
                [SentAnswer(number=shown.number, answer=str(study.tasks[shown.number].known))],
                now,
            )
        while person.stage == "working":
            given = next_task(state, person, now)
            if not isinstance(given, ShownTask):
                break
            task = study.tasks[given.number]
            late = study.arm.time_limit is not None and random.random() < 0.05
            now += 64_000 if late else random.randrange(900, 40_000)
            knows = number >= shape.guessing and random.random() < shape.knows
            answer = (task.known or gold[task.id]) if knows else next(wrong)
            if shape.guessing and not knows and task.known:
                answer = next(text for text in shape.wrong if text != task.known)
            mine = study.arm.skip_own and random.random() < 0.15
            sent = SentAnswer(number=given.number, answer="" if mine else answer, skipped=mine)
            assert save_answers(state, person, [sent], now)[given.number] == ("late" if late else "saved")
            if random.random() < 0.1:
                save_answers(state, person, [SentAnswer(number=given.number, answer="repeated")], now + 1)
    working = [person for person in state.people.values() if person.stage == "working"]
    for person in working[: shape.excluded]:
        state.record(now, "excluded", person.id, reason="test")
    journal.append(state.unwritten())
    journal.close()


def tolokas_export(folder: StudyFolder, shape: Shape, exported: Path) -> str:
    """The answers in the site's database as Toloka exports them; answers of excluded people are rejected there."""
    state = read_site(folder.path, arm=shape.arm)
    arm, tasks = state.study.arm, state.study.tasks
    pages = [
        Visit(
            number=f"{person.pseudonym}-{held.place or -held.task - 1}",
            person=person.pseudonym,
            started=datetime.fromtimestamp(held.given / 1000, UTC),
            seconds=(held.answered - held.given) / 1000,
            answers={tasks[held.task].id: SKIP_OWN["ru"] if held.skipped else held.answer},
            reward=(arm.pay.per_page or 0) / arm.items_per_page,
            status="REJECTED" if person.stage == "excluded" else "APPROVED",
        )
        for person in sorted(state.people.values(), key=lambda one: one.pseudonym)
        for held in sorted(person.tasks.values(), key=lambda one: -(one.answered or 0))
        if held.state == "answered"
    ]
    return answered("toloka", exported, pages)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def figures(text: bytes) -> list[bytes]:
    return re.findall(rb"\d[\d.,]*", text)


def done(*words: object) -> None:
    outcome = merilo(*words)
    assert outcome.status in {0, 1}, outcome.err
    assert outcome.status == 0 or words[1] == "baseline", outcome.err


def both_ways(root: Path, shape: Shape) -> tuple[Path, Path]:
    """The study with the answers from the site, and its copy with the same answers from Toloka; both have baselines."""
    folder = frozen_study(root / "site" / "study", shape)
    (root / "toloka").mkdir()
    shutil.copytree(folder.path, root / "toloka" / "study")
    answer_on_the_site(folder, shape)
    for place in ("site", "toloka"):
        with chdir(root / place):
            if place == "site":
                done("study", "collect", "study", "--arm", shape.arm, "--out", "answers.csv")
            else:
                done("study", "export", "study", "--platform", "toloka", "--arm", shape.arm, "--out", "out")
                Path("answers.tsv").write_text(
                    tolokas_export(folder, shape, Path("out")), encoding="utf-8", newline=""
                )
            done("study", "import", "study", "answers.csv" if place == "site" else "answers.tsv")
            if shape.name != "ruhumaneval":  # programs are scored by running them
                done("study", "baseline", "study", "--arm", shape.arm, "--out", "study/baseline")
    return root / "site" / "study", root / "toloka" / "study"


@pytest.mark.parametrize("shape", SHAPES.values(), ids=list(SHAPES))
def test_answers_of_the_site_and_of_toloka_give_the_same_baseline_to_the_byte(
    shape: Shape, tmp_path: Path
) -> None:
    site, toloka = both_ways(tmp_path, shape)
    answers = Path("answers") / f"{shape.arm}.jsonl"
    ours, theirs = ((one / answers).read_text(encoding="utf-8").splitlines() for one in (site, toloka))
    # The site knows which items it did not show to their authors; Toloka does not know its workers.
    shown = [line for line in ours if json.loads(line)["answer"] != NOT_SHOWN]
    assert shown == theirs
    assert (len(shown) < len(ours)) == (shape.arm == "experts")
    assert len(ours) > 10
    given = {json.loads(line)["answer"] for line in ours}
    if shape == SHAPES["open text"]:
        assert given >= {text for text in AWKWARD if text.strip()}
    assert (SKIP_OWN["ru"] in given) == (shape.arm == "experts")
    if shape.arm == "experts":
        ours_json, theirs_json = (
            json.loads((one / "baseline" / "baseline.json").read_text(encoding="utf-8"))
            for one in (site, toloka)
        )
        for what in ("metrics", "items", "agreement", "resolved_by", "cost"):
            assert ours_json[what] == theirs_json[what]
    elif shape.name != "ruhumaneval":
        assert same_but_for_the_platform(site / "baseline", toloka / "baseline")
