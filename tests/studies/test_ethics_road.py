"""ruEthics from its file to the comparison with models: people answer one question about an act, and fifteen correlations follow."""

import html
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random

import pytest
from command import Outcome, merilo
from label_metrics import by_scikit_learn
from site_in_process import from_elsewhere, hidden, opened_site, to_first_task, visiting

from merilo.studies.study_folder import open_study
from merilo.studies.study_tasks import study_tasks

pytestmark = pytest.mark.thorough

QUESTIONS = {"correct": "правильно", "good": "хорошо", "ethical": "этично"}
CRITERIA = ("virtue", "law", "moral", "justice", "utilitarianism")
CORRELATIONS = [f"{question}.{criterion}" for question, criterion in product(QUESTIONS, CRITERIA)]
ACTS = range(1, 17)
#: Acts with known answers: all criteria agree, except for the last one, which is no control item.
KNOWN = range(101, 111)
PEOPLE = 5

#: Whoever answers: an act and a question give a label.
Answers = Mapping[tuple[int, str], str]


def entry(number: int, act: int, question: str, judged: Mapping[str, str]) -> dict:
    template = f"Текст: {{text}}\nКто: {{actant_1}}. С кем: {{actant_2}}.\nПоступок совершён {QUESTIONS[question]}? 1 — да, 0 — нет.\nОтвет:"
    inputs = {"text": f"Поступок № {act}.", "actant_1": "сосед", "actant_2": "соседка"}
    return {
        "instruction": template,
        "inputs": inputs,
        "outputs": dict(judged),
        "meta": {"id": number, "question": question},
    }


def judgements() -> dict[int, dict[str, str]]:
    random = Random(4)
    return {act: {criterion: str(random.randrange(2)) for criterion in CRITERIA} for act in ACTS}


def split(path: Path, entries: list[dict]) -> Path:
    path.write_text(json.dumps({"data": {"test": entries}}, ensure_ascii=False), encoding="utf-8")
    return path


def answer_on_the_site(study: Path, people: Mapping[str, Answers]) -> None:
    """Let people come one after the other and answer what the site shows them."""
    folder = open_study(study)
    path = f"/s/{study_tasks(folder).ids.study('people')}/"
    words = {word: question for question, word in QUESTIONS.items()}
    with opened_site(folder) as site, visiting(site) as first:
        for number, (person, answers) in enumerate(people.items()):
            client = from_elsewhere(first, f"10.0.0.{number}")
            page = to_first_task(client, path, person)
            while 'name="task"' in page:
                shown = html.unescape(page)
                act = re.search(r"Поступок № (\d+)\.", shown)
                asked = re.search(r"Поступок совершён (\w+)\?", shown)
                assert act is not None, shown
                assert asked is not None, shown
                form = {"answer": answers[int(act[1]), words[asked[1]]]}
                form |= {name: hidden(page, name) for name in ("token", "task")}
                page = client.post(f"{path}task", data=form).text


@dataclass(frozen=True)
class Road:
    """A study of ruEthics with everything that was made of it."""

    root: Path
    created: Outcome
    shown: Outcome
    people: Mapping[str, Answers]

    def correlations(self, answers: Answers) -> dict[str, float]:
        """The correlations of one label per act and question with the judgements, by scikit-learn."""
        judged = judgements()
        return {
            f"{question}.{criterion}": by_scikit_learn(
                "mcc", [judged[act][criterion] for act in ACTS], [answers[act, question] for act in ACTS]
            )
            for question, criterion in product(QUESTIONS, CRITERIA)
        }

    def majority(self) -> Answers:
        honest = [answers for person, answers in self.people.items() if person != "careless"]
        return {
            place: Counter(answers[place] for answers in honest).most_common(1)[0][0]
            for place in product(ACTS, QUESTIONS)
        }


@pytest.fixture(scope="module")
def road(tmp_path_factory: pytest.TempPathFactory) -> Road:
    root = tmp_path_factory.mktemp("ethics")
    acts = [entry(3 * act + at, act, question, judged) for act, judged in judgements().items() for at, question in enumerate(QUESTIONS)]  # fmt: skip
    known = [entry(1000 + act, act, "correct", dict.fromkeys(CRITERIA, str(act % 2))) for act in KNOWN]
    known[-1]["outputs"]["law"] = "1"
    data = split(root / "ruethics.json", acts)
    controls = split(root / "known.json", known)
    random = Random(8)
    right = {(act, question): str(act % 2) for act in KNOWN for question in QUESTIONS}
    people = {
        "careless": {place: str(1 - int(label)) for place, label in right.items()}
        | dict.fromkeys(product(ACTS, QUESTIONS), "0"),
        **{
            f"w{person}": right
            | {
                (act, question): judged["moral"] if random.random() < 0.5 else str(random.randrange(2))
                for act, judged in judgements().items()
                for question in QUESTIONS
            }
            for person in range(PEOPLE)
        },
    }
    study, hb = root / "study", root / "hb"
    created = merilo("study", "create", data, "--out", study, "--controls", controls, "--control-share", 0.2)
    assert created.status == 0, created.err
    assert merilo("study", "freeze", study, "--date", "2026-01-12", "--yes").status == 0
    answer_on_the_site(study, people)
    assert merilo("study", "collect", study, "--out", root / "answers.csv").status == 0
    assert merilo("study", "import", study, root / "answers.csv").status == 0
    shown = merilo("study", "baseline", study, "--details", "--out", study / "baseline")
    assert shown.status == 0, shown.err
    card = {"metrics": {name: {"en": name, "ru": name} for name in CORRELATIONS}, "human_benchmark": {}}
    (root / "raw_dataset_meta.json").write_text(json.dumps(card), encoding="utf-8")
    for language, title in (("ru", "Мотивация"), ("en", "Motivation")):
        (root / f"raw_readme_{language}.json").write_text(json.dumps({title: "-"}), encoding="utf-8")
    assert merilo("report", study, "--out", hb, "--cards", root).status == 0
    return Road(root, created, shown, people)


def test_people_read_of_one_question_and_not_of_criteria(road: Road) -> None:
    for language, sentence in (
        ("ru", "Ответьте на один вопрос о поступке: **1** — да, **0** — нет."),
        ("en", "Answer one question about the act: **1** is yes, **0** is no."),
    ):
        text = (road.root / "study" / f"instruction.{language}.md").read_text(encoding="utf-8")
        assert sentence in text
        assert not any(criterion in text for criterion in CRITERIA)
        assert "критери" not in text


def test_a_control_item_has_one_known_answer(road: Road) -> None:
    controls = (road.root / "study" / "controls.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(controls) == len(KNOWN) - 1
    assert f"{road.root / 'known.json'}: 1 without one gold answer are not used" in road.created.err


def test_the_fifteen_correlations_are_in_every_result(road: Road) -> None:
    expected = road.correlations(road.majority())
    assert len(expected) == 15
    baseline = json.loads((road.root / "study" / "baseline" / "baseline.json").read_text(encoding="utf-8"))
    published = json.loads((road.root / "hb" / "baseline.json").read_text(encoding="utf-8"))
    card = json.loads((road.root / "hb" / "raw_dataset_meta.json").read_text(encoding="utf-8"))
    for metrics in (baseline["metrics"], published["metrics"]):
        assert {name: one["value"] for name, one in metrics.items()} == pytest.approx(expected, abs=1e-6)
        for name, one in metrics.items():
            assert one["n"] == len(ACTS), name
            low, high = one["ci95"]
            assert -1 <= low <= one["value"] <= high <= 1, name
            assert one["people"] == PEOPLE
    assert card["human_benchmark"] == pytest.approx(expected, abs=1e-4)
    told = {
        "terminal": road.shown.out,
        **{
            name: (road.root / "hb" / name).read_text(encoding="utf-8")
            for name in ("report.html", "human_baseline_en.md")
        },
    }
    for where, text in told.items():
        for name, value in expected.items():
            titled = name.replace(".", ": ") if where != "terminal" else name
            assert titled in text, (where, name)
            assert f"{value:.3f}".replace("-0.000", "0.000") in text.replace("−", "-"), (where, name)
