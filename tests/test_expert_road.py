"""The whole road of an expert study: domains in the plan and in the invitations, answers over HTTP, and both baselines.

Forty sums in two domains. Three experts of law and three of medicine, one of them of both; each wrote some of the questions of
their domain. Only commands, files and the site's pages are used, and what comes out is computed here again.
"""

import csv
import io
import json
import re
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from author_session import signed_in
from command import Outcome, merilo
from edited_plan import edit_plan
from guide_study import DECLARATION
from site_in_process import hidden, opened_site, to_first_task, visiting
from starlette.testclient import TestClient
from study_people import of_kind

from merilo.items import Item, Split, write_splits
from merilo.reports.study_baseline import study_baseline
from merilo.site.annotator_steps import (
    SentAnswer,
    ShownTask,
    answer_training,
    consent,
    most_places,
    next_task,
    next_training,
    read_instruction,
    save_answers,
    training_of,
)
from merilo.site.answer_export import collect_answers
from merilo.site.people_access import admit_invited, new_invitation
from merilo.site.served_study import load_study
from merilo.site.serving import read_site
from merilo.site.state import State
from merilo.studies.collected import import_files
from merilo.studies.creation import create_studies
from merilo.studies.plan_checks import freeze_study, validate_study
from merilo.studies.study_folder import open_study

#: Expert -> domains. Vera knows both.
EXPERTS = {
    "anna": ("law",),
    "boris": ("law",),
    "vera": ("law", "medicine"),
    "gleb": ("medicine",),
    "dina": ("medicine",),
}
OPTION = "пропустить вопрос, так как он, возможно, был придуман мной"
#: Item -> what its experts answer, in the order of `EXPERTS`: right (r), wrong (a, b) or skipped (s).
ANSWERS = {1: "raa", 2: "rab", 3: "rss", 4: "sss"}
#: Experts who leave after so many items of the test.
LEAVE = {"gleb": 10, "dina": 12}


def author(number: int) -> str:
    """The author of an item: every fifth item of a domain is by one of its experts, others by somebody else."""
    return {5: "anna", 10: "boris", 25: "gleb", 30: "dina", 35: "vera", 36: "vera"}.get(number, "somebody")


def domain(number: int) -> str:
    """The domain of an item; every second solved item is of law."""
    return "law" if number <= 20 or (number > 100 and number % 2) else "medicine"


def dataset(folder: Path) -> Path:
    def item(number: int) -> dict[str, Any]:
        options = {
            f"option_{letter}": str(number + step) for letter, step in zip("abcd", (1, 2, 3, 4), strict=True)
        }
        meta = {"id": number, "domain": domain(number), "author": author(number)}
        question = f"{number} + {number % 4 + 1} = ?"
        return {
            "instruction": 0,
            "inputs": {"question": question, **options},
            "outputs": "ABCD"[number % 4],
            "meta": meta,
        }

    folder.mkdir()
    readmes = {
        "ru": {"Описание задачи": "Сложите два числа.", "Human baseline": ""},
        "en": {"Task description": "Add two numbers.", "Human baseline": ""},
    }
    metadata = {
        "dataset_name": "Sums", "skills": ["Expert domain knowledge"], "human_benchmark": {},
        "metrics": {"Accuracy": {"en": "share of right answers", "ru": "доля верных ответов"}},
    }  # fmt: skip
    files = {
        "test.json": {"data": [item(number) for number in range(1, 41)]},
        "shots.json": {"data": [item(number) for number in range(101, 121)]},
        "raw_dataset_meta.json": metadata,
        **{f"raw_readme_{language}.json": text for language, text in readmes.items()},
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    (folder / "dataset.yaml").write_text(DECLARATION, encoding="utf-8")
    return folder


def done(*words: object) -> Outcome:
    outcome = merilo(*words)
    assert outcome.status == 0, f"merilo {' '.join(map(str, words))}: {outcome.err}"
    return outcome


@dataclass(frozen=True)
class ExpertRoad:
    """The files of the study, the pages that experts saw, and what the commands printed."""

    root: Path
    seen: Mapping[str, set[int]]
    controls: Mapping[str, list[str]]
    collected: Mapping[str, Any]
    people: Mapping[str, Any]
    verified: Outcome

    @property
    def experts(self) -> Mapping[str, Any]:
        return self.people["arms"]["experts"]

    def json(self, name: str) -> Any:
        return json.loads((self.root / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def road(tmp_path_factory: pytest.TempPathFactory) -> ExpertRoad:
    return walked(tmp_path_factory.mktemp("expert-road"))


def walked(root: Path) -> ExpertRoad:
    data, study = dataset(root / "dataset"), root / "study"
    done(
        "study", "create", data, "--out", study, "--per-domain", 20, "--control-share", 0.2,
    )  # fmt: skip
    edit_plan(study, {"arms.*.overlap": 3, "arms.*.items_per_page": 1})
    edit_plan(study, {"arms.people.pay.per_page": 0.1, "arms.experts.pay.per_page": 3.0})
    figures = done("study", "validate", study, "--json", "-").json["plan"]["arms"]["experts"]
    assert figures["people"] == 6, "an expert of one domain answers no more than its 20 items"
    assert figures["answers"] == 120
    done("study", "freeze", study, "--date", "2026-11-22", "--yes")
    folder = open_study(study)
    number_of = {task.id: int(task.item.id) for task in of_kind(folder, "test")}
    known = {task.id: task.known for task in of_kind(folder, "control")}
    control_of = {
        task.id: domain(int(str(task.item.id).removeprefix("control-")))
        for task in of_kind(folder, "control")
    }
    seen, controls, links = {}, {}, {}
    for name, domains in EXPERTS.items():
        given = [word for one in domains for word in ("--domain", one)]
        links[name] = done("study", "invite", study, "--expert", name, *given).out.split("\t")[1].strip()
    with opened_site(open_study(study)) as site, visiting(site) as client:
        for name, link in links.items():
            client.cookies.clear()
            met: list[str] = []
            controls[name] = met
            seen[name] = answer_all(
                client, link.removeprefix("http://127.0.0.1:8000"), name, number_of, known, met
            )
            met[:] = [control_of[task] for task in met]
        path = f"/s/{folder.arm_id('people')}/"
        for person in range(3):
            client.cookies.clear()
            page = to_first_task(client, path, f"w{person}")
            untrained(client, path, page, person, number_of, known)
    collected = done(
        "study", "collect", study, "--arm", "experts", "--out", root / "e.csv", "--json", "-"
    ).json
    done("study", "collect", study, "--out", root / "p.csv")
    done("study", "import", study, root / "e.csv", root / "p.csv")
    made = done("study", "baseline", study, "--out", study / "baseline", "--json", "-").json
    done("report", study, "--out", root / "hb", "--cards", data)
    return ExpertRoad(root, seen, controls, collected, made, merilo("verify", root / "hb", "--json", "-"))


def answer_all(
    client: TestClient,
    link: str,
    name: str,
    number_of: Mapping[str, int],
    known: Mapping[str, str | None],
    met: list[str],
) -> set[int]:
    """An expert comes in with their link and answers what the site shows, until it thanks them; `met` gets the controls."""
    response = client.get(link)
    path, page = f"/{response.url.path.strip('/')}/", response.text
    for step in ("consent", "instruction"):
        if step == "instruction":
            assert OPTION in page, "the instruction quotes the option"
        page = client.post(f"{path}{step}", data={"token": hidden(page, "token")}).text
    seen: set[int] = set()
    for _ in range(60):
        if 'name="task"' not in page:
            break
        assert OPTION[1:] in page, "the button has the words of the instruction"
        task = hidden(page, "task")
        form = {"token": hidden(page, "token"), "task": task, "then": "next"}
        if task in known:
            form["answer"] = str(known[task])
            met.append(task)
        else:
            if len(seen) == LEAVE.get(name):
                return seen
            number = number_of[task]
            seen.add(number)
            said = given_by(name, number)
            form |= {"then": "mine"} if said == "s" else {"answer": letter(number, said)}
        page = client.post(f"{path}task", data=form).text
        assert 'role="alert"' not in page, page
    assert "<h1>Спасибо!</h1>" in page, page
    return seen


def untrained(
    client: TestClient,
    path: str,
    page: str,
    person: int,
    number_of: Mapping[str, int],
    known: Mapping[str, str | None],
) -> None:
    """People without training know every second answer."""
    assert OPTION[1:] not in page
    for _ in range(60):
        if 'name="task"' not in page:
            return
        task = hidden(page, "task")
        answer = known.get(task) or letter(number_of[task], "r" if number_of[task] % 2 else "a")
        form = {"token": hidden(page, "token"), "task": task, "then": "next", "answer": answer}
        page = client.post(f"{path}task", data=form).text


def of_domain(number: int) -> list[str]:
    return [name for name, domains in EXPERTS.items() if domain(number) in domains]


def given_by(name: str, number: int) -> str:
    return dict(zip(of_domain(number), ANSWERS.get(number, "rrr"), strict=True))[name]


def letter(number: int, said: str) -> str:
    return "ABCD"[(number + "rab".index(said)) % 4]


def test_an_expert_gets_the_items_of_their_domains_without_their_own(road: ExpertRoad) -> None:
    for name, domains in EXPERTS.items():
        expected = {number for number in range(1, 41) if domain(number) in domains and author(number) != name}
        assert road.seen[name] <= expected if name in LEAVE else road.seen[name] == expected, name


def test_experts_get_the_plans_share_of_control_items_of_their_own_domains(road: ExpertRoad) -> None:
    """One task in five is a control item."""
    for name, domains in EXPERTS.items():
        assert set(road.controls[name]) <= set(domains), name
        assert abs(len(road.controls[name]) - len(road.seen[name]) / 4) <= 1, name


def test_an_item_has_n_minus_k_answers_and_those_who_wrote_it_are_counted(road: ExpertRoad) -> None:
    rows = consensus(road)
    assert set(rows) == set(range(1, 41)), "no item is left out"
    for number in (5, 10):
        assert rows[number]["votes"] == "2", "one of three experts wrote the item"
    dropped = road.experts["responses"]["dropped"]
    assert (dropped["not_shown"], dropped["may_be_mine"]) == (6, 5)
    missing = (19 - 10) + (19 - 12)
    assert road.experts["responses"]["used"] == 2 * 3 * 20 - 6 - 5 - missing


def consensus(road: ExpertRoad) -> dict[int, dict[str, str]]:
    text = (road.root / "hb" / "experts" / "consensus.csv").read_text(encoding="utf-8")
    return {int(row["id"]): row for row in csv.DictReader(io.StringIO(text))}


def test_the_majority_of_the_other_experts_decides_and_the_value_follows(road: ExpertRoad) -> None:
    rows = consensus(road)
    # Item 1: two of three agree on a wrong answer. 2: three different ones. 3: one answer. 4: none.
    assert (rows[1]["label"], rows[1]["resolved_by"]) == (letter(1, "a"), "majority")
    assert rows[2]["resolved_by"] in {"skill", "top_skill", "glad", "unresolved"}
    assert (rows[3]["label"], rows[3]["resolved_by"]) == (letter(3, "r"), "unanimous")
    assert (rows[4]["label"], rows[4]["resolved_by"], rows[4]["votes"]) == ("", "unresolved", "0")
    decided = {number: row["label"] for number, row in rows.items() if row["label"]}
    right = sum(label == "ABCD"[number % 4] for number, label in decided.items())
    assert road.experts["metrics"]["acc"]["value"] == pytest.approx(right / len(decided))
    assert road.experts["metrics"]["acc"]["n"] == len(decided)
    assert road.experts["items"]["total"] == 40
    several = [row for row in rows.values() if int(row["votes"]) > 1]
    by_majority = sum(row["resolved_by"] in {"unanimous", "majority"} for row in several)
    assert road.experts["agreement"]["low_agreement"] == 40 - by_majority
    assert {"domain=law: acc", "domain=medicine: acc"} <= {one["name"] for one in road.experts["groups"]}


def test_people_without_training_get_all_domains_and_stand_beside_the_experts(road: ExpertRoad) -> None:
    assert (road.people["arm"], road.people["metrics"]["acc"]["value"]) == ("people", 0.5)
    of_consensus, of_one = road.people["differences"]
    voted = sum(row["votes"] != "0" for row in consensus(road).values())
    assert (of_consensus["name"], of_consensus["n"]) == ("experts minus people: acc", voted)
    assert of_one["name"] == "experts minus people: acc of one person"
    for one in (of_consensus, of_one):
        assert one["ci95"][0] < one["value"] < one["ci95"][1]
    alone = done("study", "baseline", road.root / "study", "--arm", "experts", "--json", "-").json
    assert alone["metrics"] == road.experts["metrics"]


def test_the_card_says_who_answered_what_and_for_how_much(road: ExpertRoad) -> None:
    people, experts = road.json("hb/raw_readme_ru.json")["Human baseline"].split("Эксперты.")
    assert people.startswith("Люди.")
    assert "5 раз; вопрос не показан автору 6 раз" in experts
    assert "альфа Криппендорфа" in experts
    cost = road.experts["cost"]
    assert cost["total"] == pytest.approx(3 * cost["pages"])
    assert "За разметку выплачено" in experts
    assert "за час работы" in experts
    assert "эксперты минус люди" in experts
    metadata = road.json("hb/raw_dataset_meta.json")
    assert metadata["human_benchmark"] == {"Accuracy": 0.5}
    assert metadata["human_benchmark_expert"] == {
        "Accuracy": round(road.experts["human_benchmark"]["metrics"]["acc"]["value"], 4)
    }


def test_the_folder_can_be_computed_again_by_a_reader(road: ExpertRoad) -> None:
    assert road.verified.status == 0, road.verified.out
    # Nor does a name stand in the items, whose authors are experts.
    for path in (road.root / "hb").rglob("*.*"):
        text = path.read_text(encoding="utf-8")
        assert not [name for name in (*EXPERTS, "somebody") if re.search(rf"\b{name}\b", text)], path
    gold = (road.root / "hb" / "raw" / "experts" / "gold.csv").read_text(encoding="utf-8")
    assert '""meta.author"": ""2""' in gold


def test_an_invitation_needs_a_domain_that_there_is(road: ExpertRoad) -> None:
    study = road.root / "study"
    without = merilo("study", "invite", study, "--expert", "egor")
    assert without.status == 2
    assert "--domain (choose from: law, medicine)" in without.complaint
    strange = merilo("study", "invite", study, "--expert", "egor", "--domain", "physics")
    assert strange.status == 2
    assert "there is no domain 'physics' (choose from: law, medicine)" in strange.complaint
    nameless = merilo("study", "invite", study, "--arm", "people", "--domain", "law")
    assert nameless.status == 2


def test_a_new_invitation_changes_the_domains_of_an_expert(road: ExpertRoad) -> None:
    study = road.root / "study"

    def states() -> Counter[str]:
        person = read_site(study, arm="experts").person_from("expert", "anna")
        assert person is not None
        return Counter(person.withheld.values())

    before = states()
    assert (before["foreign"], before["own"]) == (20 + 5, 1), "the control items of the other domain too"
    done("study", "invite", study, "--expert", "anna", "--domain", "law", "--domain", "medicine")
    assert (states()["foreign"], states()["own"]) == (0, 1)
    done("study", "invite", study, "--expert", "anna", "--domain", "law")
    assert states() == before


def test_a_sheet_has_the_domains_of_its_expert(road: ExpertRoad) -> None:
    study = road.root / "study"
    made = done(
        *("study", "export", study, "--platform", "table"),
        *("--arm", "experts", "--expert", "anna", "--out", road.root / "s1"),
        *("--json", "-"),
    ).json
    (sheet,) = made["sheets"]
    assert (sheet["domains"], sheet["tests"], sheet["left_out"]) == (["law"], 19, 1)
    made = done(
        "study", "export", study, "--platform", "table", "--arm", "experts", "--expert", "egor", "--domain", "medicine",
        "--out", road.root / "s2", "--json", "-",
    ).json  # fmt: skip
    (sheet,) = made["sheets"]
    assert (sheet["domains"], sheet["tests"], sheet["left_out"]) == (["medicine"], 20, 0)
    wrong = merilo(
        *("study", "export", study, "--platform", "table"),
        *("--arm", "experts", "--domain", "art", "--out", road.root / "s3"),
    )
    assert "there is no domain 'art' (choose from: law, medicine)" in wrong.complaint


def test_the_author_ticks_the_domains_of_experts(road: ExpertRoad) -> None:
    study = road.root / "study"
    home = f"/author/{open_study(study).arm_id('experts')}/"
    path = f"{home}invitations"
    with opened_site(open_study(study)) as site, visiting(site) as client:
        signed_in(client, study)
        page = client.get(f"{home}?invite=1").text
        assert '<input type="checkbox" name="domain" value="medicine">' in page
        form = {"token": hidden(page, "token"), "once": hidden(page, "once"), "names": "Зоя"}
        refused = client.post(path, data=form)
        assert refused.status_code == 422
        assert 'role="alert"' in refused.text
        made = client.post(path, data={**form, "domain": ["medicine"]})
        assert made.status_code == 200
        assert "Зоя <small>medicine</small>" in client.get(f"{home}?invite=1").text


def test_the_plan_names_the_field_of_the_domains_and_is_checked(road: ExpertRoad, tmp_path: Path) -> None:
    plan = road.root / "study" / "study.yaml"
    assert re.search(r"^    domain: domain", plan.read_text(encoding="utf-8"), re.MULTILINE)
    assert re.search(r"^    domain: null", plan.read_text(encoding="utf-8"), re.MULTILINE), (
        "people get all items"
    )
    copy = tmp_path / "study"
    shutil.copytree(road.root / "study", copy)
    changed = plan.read_text(encoding="utf-8").replace("    domain: domain", "    domain: subject")
    (copy / "study.yaml").write_text(changed, encoding="utf-8")
    checked = merilo("study", "validate", copy)
    assert checked.status == 1
    assert "arms.experts.domain" in checked.out + checked.err


FIVE = ("law", "art", "biology", "physics", "history")
TIME_LIMITS = {"field": "domain", "seconds": {"law": 240, "art": 300, "biology": 300, "physics": 300}}


def test_honest_experts_of_five_domains_are_kept_and_get_the_plans_share_of_controls(tmp_path: Path) -> None:
    """100 items of each domain, of which its experts know 93 %, and 30 % of those of others; one task in 20 is known."""

    def items(kind: str, of_each: int) -> Split:
        rows = [(domain, f"{kind} {n} of {domain}") for domain in FIVE for n in range(of_each)]
        options = {f"option_{letter}": letter for letter in "abcd"}
        return Split(
            kind,
            tuple(
                Item(name, 0, {"question": name, **options}, "ABCD"[n % 4], {"id": name, "domain": domain})
                for n, (domain, name) in enumerate(rows)
            ),
        )

    (tmp_path / "dataset.yaml").write_text(DECLARATION + "skills: [Expert domain knowledge]\n", "utf-8")
    write_splits(tmp_path / "sums.json", [items("test", 120), items("shots", 16)])
    write_splits(tmp_path / "training.json", [items("training", 3)])
    made = create_studies(
        tmp_path / "sums.json", tmp_path / "study", dataset=str(tmp_path / "dataset.yaml"), per_domain=100,
        field=("domain",), training=tmp_path / "training.json",
    )[""]  # fmt: skip
    assert not any(
        "of the domain" in warning or "control items that its" in warning for warning in made.warnings
    )
    edit_plan(tmp_path / "study", {"arms.experts.overlap": 3, "arms.experts.time_limit": TIME_LIMITS})
    (short,) = [one for one in validate_study(tmp_path / "study").problems if "time_limit" in str(one)]
    assert "arms.experts.time_limit: items test 0 of history, " in str(short)
    edit_plan(tmp_path / "study", {"arms.experts.time_limit.seconds.history": 420})
    freeze_study(tmp_path / "study")
    state, random = State(load_study(open_study(tmp_path / "study"), "experts"), ()), Random(1)
    tasks, now = state.study.tasks, 1_790_000_000_000
    gold = {task.item.id: item.outputs for task, item in zip(tasks, state.study.folder.items(), strict=False)}
    for domain, number in product(FIVE, range(3)):
        code, _ = new_invitation(state, f"{domain}{number}", now, domains=[domain], actor="author")
        admission = admit_invited([state], code, "ru", now)
        assert admission is not None
        person = admission.person
        assert most_places(state.study, person) in {105, 106}, "the consent page speaks of their own tasks"
        assert len(training_of(state.study, person)) == 3
        consent(state, person, now)
        read_instruction(state, person, now)
        for wrong in (True, False, False):
            shown = next_training(state, person, now)
            assert shown is not None
            assert tasks[shown.number].domain == domain
            known = str(tasks[shown.number].known)
            answer_training(
                state, person, SentAnswer(number=shown.number, answer="-" if wrong else known), now
            )
        assert person.stage == "working", "one slip in three passes"
        while isinstance(shown := next_task(state, person, now), ShownTask):
            task = tasks[shown.number]
            assert shown.left == {"history": 420, "law": 240}.get(domain, 300)
            knows = random.random() < (0.93 if task.domain == domain else 0.3)
            right = str(task.known or gold[task.item.id])
            now += 10_000
            answer = right if knows else "ABCD"["ABCD".index(right) - 1]
            save_answers(state, person, [SentAnswer(number=shown.number, answer=answer)], now)
        met = [tasks[task] for task in person.order if state.rules.is_control(task)]
        assert {task.domain for task in met} == {domain}
        assert (len(person.order) - len(met), len(met) in {5, 6}) == (100, True), "one task in twenty"
    table = tmp_path / "answers.csv"
    table.write_text(collect_answers(state).table, "utf-8")
    import_files(open_study(tmp_path / "study"), [table])
    baseline = study_baseline(tmp_path / "study", arm="experts")
    assert (baseline.annotator_counts.total, baseline.annotator_counts.excluded) == (15, 0)
    assert baseline.response_counts.dropped == {}
