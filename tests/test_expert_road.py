"""The whole road of an expert study: domains in the plan and in the invitations, answers over HTTP, and both baselines.

Forty sums in two domains. Three experts of law and three of medicine, one of them of both; each wrote some of the questions of
their domain. Only commands, files and the site's pages are used, and what comes out is computed here again.
"""

import json
import re
import shutil
from collections import Counter
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from random import Random

import pytest
from author_session import signed_in
from command import done, merilo
from edited_plan import edit_plan
from every import every
from guide_study import MINE_TEXT, Folder, sum_of, write_sums
from site_in_process import hidden, opened_site, to_first_task, visiting
from study_people import of_kind
from walked_road import MINE, answer_tasks, by_link, import_collected, invite_experts

from merilo.reports.study_baseline import study_baseline
from merilo.site.annotator_steps import (
    SentAnswer,
    ShownTask,
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
from merilo.studies.creation import create_studies
from merilo.studies.plan_checks import freeze_study, validate_study
from merilo.studies.study_folder import open_study
from merilo.studies.study_import import import_files

#: Expert -> domains. Vera knows both.
EXPERTS = {
    "anna": ("law",),
    "boris": ("law",),
    "vera": ("law", "medicine"),
    "gleb": ("medicine",),
    "dina": ("medicine",),
}
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


class ExpertRoad(Folder):
    """The files of the study, what experts saw, and what the commands printed.

    Attributes:
        seen: expert -> the numbers of the items that they were shown.
        controls: expert -> the domains of the control items that they were shown.
        verified: the output of `verify --json -`.
    """

    seen: Mapping[str, set[int]]
    controls: Mapping[str, list[str]]
    verified: Mapping


@pytest.fixture(scope="module")
def road(tmp_path_factory: pytest.TempPathFactory) -> ExpertRoad:
    road = ExpertRoad(tmp_path_factory.mktemp("expert-road"))
    root, study = road.root, road.study
    data = write_sums(
        root / "dataset",
        range(1, 41),
        range(101, 121),
        lambda number: {"domain": domain(number), "author": author(number)},
    )
    done("study", "create", data, "--out", study, "--per-domain", 20, "--control-share", 0.2)
    pay = {"arms.people.pay.per_page": 0.1, "arms.experts.pay.per_page": 3.0}
    edit_plan(study, {"arms.*.overlap": 3, "arms.*.items_per_page": 1, **pay})
    figures = done("study", "validate", study, "--json", "-").json["plan"]["arms"]["experts"]
    assert figures["people"] == 6, "an expert of one domain answers no more than its 20 items"
    assert figures["answers"] == 120
    done("study", "freeze", study, "--date", "2026-11-22", "--yes")
    folder = open_study(study)
    numbers = {task.id: int(task.item.id) for task in of_kind(folder, "test")}
    controls = of_kind(folder, "control")
    known = {task.id: str(task.known) for task in controls}
    control_of = {task.id: domain(int(str(task.item.id).removeprefix("control-"))) for task in controls}
    road.seen, road.controls = {name: set() for name in EXPERTS}, {name: [] for name in EXPERTS}

    def of_expert(name: str, task: str) -> str | None:
        if task in known:
            road.controls[name].append(control_of[task])
            return known[task]
        if len(road.seen[name]) == LEAVE.get(name):
            return None
        road.seen[name].add(numbers[task])
        said = dict(zip(of_domain(numbers[task]), ANSWERS.get(numbers[task], "rrr"), strict=True))[name]
        return MINE if said == "s" else letter(numbers[task], said)

    def of_people(task: str) -> str:
        """People without training know every second answer."""
        return known.get(task) or letter(numbers[task], "r" if numbers[task] % 2 else "a")

    links = {
        name: invite_experts(
            study, "--expert", name, *(word for one in domains for word in ("--domain", one))
        )[0]
        for name, domains in EXPERTS.items()
    }
    with opened_site(open_study(study)) as site, visiting(site) as client:
        for name, link in links.items():
            path, page = by_link(client, link)
            assert MINE_TEXT[1:] in page, "the button has the words of the instruction"
            page = answer_tasks(client, path, page, lambda task, name=name: of_expert(name, task))
            assert ("<h1>Спасибо!</h1>" in page) == (name not in LEAVE), page
        path = f"/s/{folder.arm_id('people')}/"
        for person in range(3):
            client.cookies.clear()
            page = to_first_task(client, path, f"w{person}")
            assert MINE_TEXT[1:] not in page
            answer_tasks(client, path, page, of_people)
    import_collected(study, "experts", "people")
    done("study", "baseline", study, "--out", study / "baseline")
    done("report", study, "--out", road.hb, "--cards", data)
    road.verified = done("verify", road.hb, "--json", "-").json
    return road


def of_domain(number: int) -> list[str]:
    return [name for name, domains in EXPERTS.items() if domain(number) in domains]


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
    return {int(row["id"]): row for row in road.rows("hb/experts/consensus.csv")}


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
    assert (road.metrics["arm"], road.metrics["metrics"]["acc"]["value"]) == ("people", 0.5)
    of_consensus, of_one = road.metrics["differences"]
    voted = sum(row["votes"] != "0" for row in consensus(road).values())
    assert (of_consensus["name"], of_consensus["n"]) == ("experts minus people: acc", voted)
    assert of_one["name"] == "experts minus people: acc of one person"
    for one in (of_consensus, of_one):
        assert one["ci95"][0] < one["value"] < one["ci95"][1]
    alone = done("study", "baseline", road.study, "--arm", "experts", "--json", "-").json
    assert alone["metrics"] == road.experts["metrics"]


def test_the_card_says_who_answered_what_and_for_how_much(road: ExpertRoad) -> None:
    people, experts = road.json("hb/raw_readme_ru.json")["Human baseline"].split("Экспертный human baseline.")
    assert people.startswith("Базовый human baseline.")
    assert "5 раз; вопрос не показан автору 6 раз" in experts
    assert "Альфа Криппендорфа" in experts
    cost = road.experts["cost"]
    assert cost["total"] == pytest.approx(3 * cost["pages"])
    assert "За разметку выплачено" in experts
    assert "Почасовая оплата по измеренному времени" in experts
    assert "эксперты минус люди" in experts
    metadata = road.json("hb/raw_dataset_meta.json")
    assert metadata["human_benchmark"] == {"Accuracy": 0.5}
    assert metadata["human_benchmark_expert"] == {
        "Accuracy": round(road.experts["human_benchmark"]["metrics"]["acc"]["value"], 4)
    }


def test_the_folder_can_be_computed_again_and_names_nobody(road: ExpertRoad) -> None:
    assert road.verified["verified"] is True
    # Nor does a name stand in the items, whose authors are experts.
    for path in road.hb.rglob("*.*"):
        text = path.read_text(encoding="utf-8")
        assert not [name for name in (*EXPERTS, "somebody") if re.search(rf"\b{name}\b", text)], path
    assert '""meta.author"": ""2""' in road.text("hb/raw/experts/gold.csv")


@every(("words", "sentence"), [
    (("invite", "--expert", "egor"), "--domain (choose from: law, medicine)"),
    (("invite", "--expert", "egor", "--domain", "physics"), "there is no domain 'physics' (choose from: law, medicine)"),
    (("invite", "--arm", "people", "--domain", "law"), "experts are invited by name: give --expert NAME"),
    (("export", "--platform", "table", "--arm", "experts", "--domain", "art", "--out", "s3"),
     "there is no domain 'art' (choose from: law, medicine)"),
])  # fmt: skip
def test_a_domain_must_be_one_that_there_is(words: tuple[str, ...], sentence: str, road: ExpertRoad) -> None:
    refused = merilo("study", words[0], road.study, *words[1:])
    assert refused.status == 2
    assert sentence in refused.complaint


def test_a_new_invitation_changes_the_domains_of_an_expert(road: ExpertRoad) -> None:
    study = road.study

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


@every(("words", "domains", "tests", "left_out"), [
    (("--expert", "anna"), ["law"], 19, 1),
    (("--expert", "egor", "--domain", "medicine"), ["medicine"], 20, 0),
])  # fmt: skip
def test_a_sheet_has_the_domains_of_its_expert(
    words: tuple[str, ...], domains: list[str], tests: int, left_out: int, road: ExpertRoad
) -> None:
    options = "--platform", "table", "--arm", "experts", *words, "--out", road.root / f"sheets of {words[1]}"
    (sheet,) = done("study", "export", road.study, *options, "--json", "-").json["sheets"]
    assert (sheet["domains"], sheet["tests"], sheet["left_out"]) == (domains, tests, left_out)


def test_the_author_ticks_the_domains_of_experts(road: ExpertRoad) -> None:
    study = road.study
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
    plan = road.study / "study.yaml"
    assert re.search(r"^    domain: domain", plan.read_text(encoding="utf-8"), re.MULTILINE)
    assert re.search(r"^    domain: null", plan.read_text(encoding="utf-8"), re.MULTILINE), (
        "people get all items"
    )
    copy = tmp_path / "study"
    shutil.copytree(road.study, copy)
    changed = plan.read_text(encoding="utf-8").replace("    domain: domain", "    domain: subject")
    (copy / "study.yaml").write_text(changed, encoding="utf-8")
    checked = merilo("study", "validate", copy)
    assert checked.status == 1
    assert "arms.experts.domain" in checked.out + checked.err


FIVE = ("law", "art", "biology", "physics", "history")
TIME_LIMITS = {"field": "domain", "seconds": {"law": 240, "art": 300, "biology": 300, "physics": 300}}


def test_honest_experts_of_five_domains_are_kept_and_get_the_plans_share_of_controls(tmp_path: Path) -> None:
    """100 items of each domain, of which its experts know 93 %, and 30 % of those of others; one task in 20 is known."""

    def meta(number: int) -> dict[str, str]:
        return {"domain": FIVE[number % 5]}

    data = write_sums(tmp_path / "dataset", range(600), range(600, 680), meta)
    training = {"data": [sum_of(number, meta(number)) for number in range(680, 695)]}
    (tmp_path / "training.json").write_text(json.dumps(training), encoding="utf-8")
    made = create_studies(
        data, tmp_path / "study", per_domain=100, field=("domain",), training=tmp_path / "training.json"
    )[""]
    assert not any(
        "of the domain" in warning or "control items that its" in warning for warning in made.warnings
    )
    edit_plan(tmp_path / "study", {"arms.experts.overlap": 3, "arms.experts.time_limit": TIME_LIMITS})
    (short,) = [one for one in validate_study(tmp_path / "study").problems if "time_limit" in str(one)]
    assert "arms.experts.time_limit: items 9, 14, " in str(short)
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
        person.seed = random.getrandbits(60)  # the same order of tasks in every run
        assert most_places(state.study, person) in {105, 106}, "the consent page speaks of their own tasks"
        assert len(training_of(state.study, person)) == 3
        consent(state, person, now)
        read_instruction(state, person, now)
        for wrong in (True, False, False):
            shown = next_training(state, person, now)
            assert shown is not None
            assert tasks[shown.number].domain == domain
            known = str(tasks[shown.number].known)
            save_answers(
                state, person, [SentAnswer(number=shown.number, answer="-" if wrong else known)], now
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
