"""People of platforms: they come with their ids, go back with the code of their fate, and stand in the table of pay."""

import csv
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from command import done, merilo
from edited_plan import edit_plan
from site_in_process import (
    agree,
    answer_on,
    form_in,
    from_elsewhere,
    hidden,
    only_state,
    opened_site,
    visiting,
    with_rules,
)
from site_people import come_in, given, save, served
from study_people import bundled_study, frozen, of_dialogue, of_kind, study_of

from merilo.datasets import dataset
from merilo.datasets.bundled_items import examples
from merilo.items import Item
from merilo.site.annotator_steps import (
    ShownTask,
    is_complete,
    most_places,
    most_tasks,
    next_task,
    return_overdue,
)
from merilo.site.answer_export import paid_people, participation
from merilo.site.served_study import load_study
from merilo.site.state import Person, State
from merilo.studies.study_folder import StudyFolder

CODES = {"complete": "DONE0001", "no_consent": "NOCO0002", "screened_out": "SCRE0003", "stopped": "STOP0004"}
WRONG = {"0": "1", "1": "0"}


@pytest.fixture
def panel(tmp_path: Path) -> Callable[..., StudyFolder]:
    """A frozen study with a training, whose people get 6 items; its plan has the codes of Prolific or none."""

    def made(*, codes: bool = True, **pay: object) -> StudyFolder:
        splits = examples(dataset("bps"))
        shots = splits["shots"].items
        study = study_of(
            tmp_path / "study",
            [renamed(one, n) for n, one in enumerate(splits["test"].items * 2)][:12],
            [renamed(one, 1000 + n) for n, one in enumerate(shots * 2)],
            training=shots,
            overlap=2,
        )
        plan = study.path / "study.yaml"
        more = "    items_per_person: 6\n"
        if codes:
            more += f"    prolific: {{{', '.join(f'{name}: {code}' for name, code in CODES.items())}}}\n"
        pay = {"per_page": 0.05, "screening": 0.3, "currency": "USD", **pay}
        text = re.sub("pay: .*", f"pay: {json.dumps(pay)}", plan.read_text("utf-8"))
        plan.write_text(text.replace("    pay:", f"{more}    pay:"), encoding="utf-8")
        return frozen(study)

    return made


def renamed(item: Item, number: int) -> Item:
    """The item under another id."""
    return replace(item, id=number, meta={**item.meta, "id": number})


def arrived(client: httpx.Client, path: str, person: str, name: str = "PROLIFIC_PID") -> str:
    """The first page of somebody whom a platform sends."""
    return client.get(path, params={name: person, "STUDY_ID": "st1", "SESSION_ID": "s1"}).text


def sent(client: httpx.Client, path: str, page: str, **form: str) -> str:
    """The page after a form."""
    return client.post(path, data={"token": hidden(page, "token"), **form}).text


def trained(client: httpx.Client, path: str, page: str, answers: dict[str, str]) -> str:
    """Agree, read the instruction, answer the training; the page that follows."""
    page = agree(client, path, page)
    while f'action="{path}training"' in page:
        client.post(f"{path}training", data=form_in(page, answers[hidden(page, "task")]))
        page = client.get(path).text
    return page


@pytest.mark.parametrize("fate", CODES)
def test_the_last_page_leads_back_with_the_code_of_the_fate(fate: str, panel, database: str) -> None:
    folder = panel()
    known = {task.id: str(task.known) for task in of_kind(folder, "control", "training")}
    wrong = {task: WRONG[answer] for task, answer in known.items()}
    with opened_site(folder, database=database) as site, visiting(site) as client:
        (study,) = site.studies
        with_rules(site, stop_after=1)
        arrived(client, study.path, "w1")
        page = arrived(client, study.path, "w1")
        if fate == "no_consent":
            page = sent(client, f"{study.path}decline", page)
            assert "Всё же участвовать" in page
        else:
            page = trained(client, study.path, page, wrong if fate == "screened_out" else known)
            page = answer_on(client, study.path, page, wrong if fate == "stopped" else known)
        assert f'href="https://app.prolific.com/submissions/complete?cc={CODES[fate]}"' in page
        assert not [code for code in CODES.values() if code != CODES[fate] and code in page]
        (row,) = only_state(site).people.values()
        assert (row.external, row.completion) == ("w1", CODES[fate])


def test_whoever_ends_before_the_plans_number_of_answers_has_no_complete_part(panel, tmp_path: Path) -> None:
    folder = panel()
    known = {task.id: str(task.known) for task in of_kind(folder, "control", "training")}
    with opened_site(folder) as site, visiting(site) as visitor:
        (study,) = site.studies
        clock = site.clock.now
        for name in ("a", "b", "c", "expired"):
            client = from_elsewhere(visitor, "127.0.0.1")
            page = trained(client, study.path, arrived(client, study.path, name), known)
            page = answer_on(client, study.path, page, known, 3 if name == "expired" else 100)
        with_rules(site, time_limit=1.0, every=0)
        for task in (person := only_state(site).person_from("prolific", "expired")).order:  # type: ignore[union-attr]
            if person.tasks[task].state == "open":
                only_state(site).record(clock(), "expired", person.id, task)
        only_state(site).open[:] = [0] * study.rules.tests
        only_state(site)._free.clear()
        page = client.get(f"{study.path}task").text
        assert f"cc={CODES['stopped']}" in page
        assert CODES["complete"] not in page
    row = collected_people(folder, tmp_path / "people.csv")["expired"]
    assert (row["answers"], row["pay"], row["bonus"]) == ("3", "0.00", "0.15")


def collected_people(folder: StudyFolder, out: Path, *words: object) -> dict[str, dict[str, str]]:
    """The rows of the table of people by their ids."""
    answers = out.with_name("answers.csv")
    done("study", "collect", folder.path, "--out", answers, "--people", out, "--force", *words)
    return {row["id"]: row for row in csv.DictReader(io.StringIO(out.read_text("utf-8")))}


def test_the_table_of_people_says_what_each_did_and_is_owed(
    panel, both_databases: None, tmp_path: Path
) -> None:
    folder, people = panel(), tmp_path / "people.csv"
    known = {task.id: str(task.known) for task in of_kind(folder, "control", "training")}
    wrong = {task: WRONG[answer] for task, answer in known.items()}
    with opened_site(folder) as site, visiting(site) as visitor:
        (study,) = site.studies
        with_rules(site, stop_after=1)
        path = study.path

        def comes(person: str, name: str = "PROLIFIC_PID") -> tuple[httpx.Client, str]:
            client = from_elsewhere(visitor, "127.0.0.1")
            return client, arrived(client, path, person, name)

        client, page = comes("declines")
        sent(client, f"{path}decline", page)
        client, page = comes("fails")
        trained(client, path, page, wrong)
        client, page = comes("guesses")
        answer_on(client, path, trained(client, path, page, known), wrong)
        client, page = comes("leaves")
        answer_on(client, path, trained(client, path, page, known), known, 2)
        client, page = comes("finishes")
        answer_on(client, path, trained(client, path, page, known), known)
        client, page = comes("=HYPERLINK(A1)", "worker_id")
        answer_on(client, path, trained(client, path, page, known), known)
    done("study", "invite", folder.path)

    rows = collected_people(folder, people)
    assert (
        ",".join(rows["fails"]) == "platform,id,code,stage,answers,seconds,controls,controls_right,pay,bonus"
    )
    assert [*rows] == ["declines", "fails", "guesses", "leaves", "finishes", "'=HYPERLINK(A1)"]
    told = {
        name: (row["platform"], row["code"], row["stage"], row["pay"], row["bonus"])
        for name, row in rows.items()
    }
    work = f"{0.05 * int(rows['guesses']['answers']):.2f}"
    assert told["declines"] == ("prolific", CODES["no_consent"], "declined", "0.00", "0.00")
    assert told["fails"] == ("prolific", CODES["screened_out"], "refused", "0.00", "0.30")
    assert told["guesses"] == ("prolific", CODES["stopped"], "stopped", "0.00", work)
    assert told["leaves"] == ("prolific", "", "working", "0.00", "0.00")
    assert told["finishes"] == ("prolific", CODES["complete"], "finished", "0.40", "0.00")
    own = rows["'=HYPERLINK(A1)"]
    assert (own["platform"], own["pay"], own["bonus"]) == ("platform", "0.40", "0.00")
    assert re.fullmatch("[2-9A-Z]{10}", own["code"])
    assert (rows["guesses"]["controls"], rows["guesses"]["controls_right"]) == ("1", "0")
    assert (rows["finishes"]["answers"], rows["finishes"]["controls"]) == (
        "8",
        rows["finishes"]["controls_right"],
    )
    assert rows["leaves"]["answers"] == "2"
    assert all(row["seconds"].isdigit() for row in rows.values())

    assert merilo("study", "exclude", folder.path, "finishes", "--reason", "returned").status == 0
    assert merilo("study", "erase", folder.path, "leaves", "--yes").status == 0
    later = collected_people(folder, people)
    assert rows.keys() - later.keys() == {"leaves"}
    assert (later["finishes"]["stage"], later["finishes"]["pay"]) == ("excluded", "0.00")


def test_without_pay_and_codes_in_the_plan_the_table_leaves_the_pay_empty(panel, tmp_path: Path) -> None:
    folder, people = panel(codes=False, per_page=None), tmp_path / "people.csv"
    known = {task.id: str(task.known) for task in of_kind(folder, "control", "training")}
    with opened_site(folder) as site, visiting(site) as client:
        (study,) = site.studies
        page = answer_on(
            client, study.path, trained(client, study.path, arrived(client, study.path, "w1"), known), known
        )
    assert "app.prolific.com" not in page
    row = collected_people(folder, people)["w1"]
    assert row["code"] in page
    assert (row["pay"], row["bonus"]) == ("", "")


def test_whoever_has_no_item_left_is_finished_and_owed_without_another_visit(tmp_path: Path) -> None:
    state = served(frozen(bundled_study(tmp_path)), overlap=1)
    first, second, late = (come_in(state, name) for name in ("first", "second", "late"))
    kept = given(state, second)
    while isinstance(shown := next_task(state, first, 20), ShownTask):
        save(state, first, shown.number, "1", 30)
    assert (shown, first.stage) == ("wait", "working")
    save(state, second, kept.number, "1", 40)
    assert next_task(state, late, 50) == "done"
    rows = {row["id"]: row for row in csv.DictReader(io.StringIO(paid_people(state)))}
    for person in (first, second):
        row = rows[person.external]
        owed = 0.05 * int(row["answers"])
        assert (row["code"], row["stage"], row["pay"], row["bonus"]) == (
            "",
            "finished",
            "0.00",
            f"{owed:.2f}",
        )
    came = participation(state, 60)
    assert (came.agreed, came.finished, came.without_tasks) == (3, 0, 3)


def test_a_complete_part_is_paid_as_the_consent_page_promises(tmp_path: Path) -> None:
    state = served(frozen(bundled_study(tmp_path)), overlap=1)
    person = come_in(state)
    assert most_places(state.study, person) == most_tasks(state.study)
    answer_all(state, person)
    assert_paid_in_full(state, person)


def answer_all(state: State, person: Person, *, items: int = 1_000, lost: int = 0) -> object:
    """Answer so many items after some ran out of time, control items rightly; return what the person is told last."""
    now = 10
    while person.answers < items and isinstance(shown := next_task(state, person, now), ShownTask):
        task = state.study.tasks[shown.number]
        if lost and task.known is None:
            lost, now = lost - 1, now + 31 * 60_000
            return_overdue(state, now)
        else:
            now += 5_000
            save(state, person, shown.number, task.known or (task.labels or ["1"])[0], now)
    return shown


def assert_paid_in_full(state: State, person: Person) -> None:
    assert is_complete(state, person)
    (row,) = csv.DictReader(io.StringIO(paid_people(state)))
    whole = f"{0.05 * most_places(state.study, person):.2f}"
    assert (row["stage"], row["pay"], row["bonus"]) == ("finished", whole, "0.00")
    came = participation(state, 10_000_000_000)
    assert (came.finished, came.left, came.under_way) == (1, {}, 0)


@pytest.fixture
def short(tmp_path: Path) -> Callable[[], State]:
    """A study with more items than the four of a person's part."""
    study = bundled_study(tmp_path, overlap=3)
    edit_plan(study.path, {"arms.people.items_per_person": 4})
    folder = frozen(study)
    return lambda: served(folder)


def test_control_items_in_place_of_items_that_ran_out_of_time_fill_a_part(short: Callable[[], State]) -> None:
    fewest = 4
    for name in "abcdefgh":
        state = short()
        person = come_in(state, name)
        assert answer_all(state, person, lost=3) == "most"
        assert_paid_in_full(state, person)
        fewest = min(fewest, person.answers)
    assert fewest < 4, "nobody got one control item more"


def test_whoever_leaves_before_the_last_control_item_is_paid_what_is_counted(
    short: Callable[[], State],
) -> None:
    for name in "abcdefghijkl":
        state = short()
        person = come_in(state, name)
        answer_all(state, person, items=4)
        if not person.controls:
            break
    assert not person.controls
    assert_paid_in_full(state, person)


@pytest.fixture
def dialogues(tmp_path: Path) -> State:
    """A study of ten dialogues of three turns, of which a person's part of ten items takes four."""
    study = bundled_study(tmp_path, "rutie", overlap=1)
    edit_plan(study.path, {"arms.people.items_per_person": 10})
    plain = load_study(frozen(study), "people")
    assert plain.rules.tests == 30
    turns = tuple(
        of_dialogue(task, 1 + number // 3, number % 3) for number, task in enumerate(plain.tasks[:30])
    )
    return State(replace(plain, tasks=turns + plain.tasks[30:]))


def test_a_part_of_dialogues_is_promised_and_paid_by_whole_dialogues(dialogues: State) -> None:
    person = come_in(dialogues)
    assert most_places(dialogues.study, person) == 12
    assert answer_all(dialogues, person) == "most"
    assert person.answers == 12
    assert_paid_in_full(dialogues, person)


def test_a_dialogue_that_is_broken_off_goes_to_others_and_completes_nothing(dialogues: State) -> None:
    person, later = come_in(dialogues), 31 * 60_000
    answer_all(
        dialogues, person, items=10
    )  # the first of the fourth dialogue's turns; then they never come again
    assert not is_complete(dialogues, person)
    return_overdue(dialogues, 50_000)
    assert sum(dialogues.open) == 18, "its turns are theirs for a while"
    return_overdue(dialogues, 50_000 + later)
    assert sum(dialogues.open) == 21
    assert not is_complete(dialogues, person)
    assert next_task(dialogues, person, 60_000 + later) == "most"
    (row,) = csv.DictReader(io.StringIO(paid_people(dialogues)))
    assert (row["pay"], row["bonus"]) == ("0.00", "0.50")
