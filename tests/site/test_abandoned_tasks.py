"""People who leave: their tasks go to others, and every item gets its overlap of answers that count."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from site_in_process import (
    SetClock,
    answer_on,
    form_in,
    from_elsewhere,
    hidden,
    only_state,
    opened_site,
    to_first_task,
    visiting,
)
from study_people import frozen, of_kind, study_of

from merilo.datasets import dataset
from merilo.datasets.bundled_items import examples
from merilo.items import Item
from merilo.people.controls import judged_annotators
from merilo.site.annotation_site import AnnotationSite
from merilo.site.annotator_steps import return_overdue
from merilo.site.answer_export import collected_rows, read_answers, responses_of
from merilo.studies.plan import STOP_AFTER
from merilo.studies.study_folder import StudyFolder

Frozen = Callable[..., StudyFolder]


def test_tasks_of_people_who_left_go_to_others_and_their_late_answers_are_not_taken(
    frozen: Frozen, database: str
) -> None:
    folder, clock = frozen(overlap=3), SetClock()
    known = {task.id: str(task.known) for task in of_kind(folder, "control")}
    with opened_site(folder, clock, database) as site, visiting(site) as first:
        study = site.studies[0]
        path = f"/s/{study.key}/"
        browsers = [first, *(from_elsewhere(first, "127.0.0.1") for _ in range(7))]
        pages = [to_first_task(one, path, str(number)) for number, one in enumerate(browsers)]
        left = {n: answer_on(browsers[n], path, pages[n], known, most=2) for n in range(4)}
        waiting = {n: answer_on(browsers[n], path, pages[n], known) for n in range(4, 8)}
        assert any(f'href="{path}task"' in page for page in waiting.values()), (
            "somebody waits for the tasks of others"
        )
        clock.milliseconds += 31 * 60 * 1000
        return_overdue(only_state(site), clock.now())
        for n in waiting:
            answer_on(browsers[n], path, browsers[n].get(f"{path}task").text, known)
        for n, page in left.items():
            task = hidden(page, "task")
            told = browsers[n].post(f"{path}task", data=form_in(page, known.get(task, "1")))
            assert "передали другому участнику" in told.text or task in known
        state = only_state(site)
        answered = [
            task
            for person in state.people.values()
            for task in person.order
            if person.tasks[task].state == "answered" and state.rules.is_test(task)
        ]
        assert set(state.open) == {0}
    assert Counter(answered) == dict.fromkeys(range(study.rules.tests), 3)


def counted_answers(site: AnnotationSite) -> Counter[str]:
    """The answers to each item of the test that the baseline will count."""
    (study,), state = site.studies, only_state(site)
    responses = responses_of(study, collected_rows(state, read_answers(state)))
    plan = study.folder.plan.baseline
    judged = judged_annotators(
        responses, min_control_accuracy=plan.min_control_accuracy, min_controls=plan.min_controls
    )
    out = judged.filter("excluded")["annotator"].to_list()
    table = responses.table.filter(~responses.table["is_control"] & ~responses.table["respondent"].is_in(out))
    return Counter(table["item"])


def opposite(known: dict[str, str]) -> dict[str, str]:
    """Wrong answers to the control items."""
    wrong = {"0": "1", "1": "0"}
    return {task: wrong[right] for task, right in known.items()}


def overdue(site: AnnotationSite, clock: SetClock, minutes: int = 31) -> None:
    """Let time pass in which nobody does anything, until the server looks for tasks without answers."""
    clock.milliseconds += minutes * 60 * 1000
    return_overdue(only_state(site), clock.now())


def numbered(item: Item, number: int) -> Item:
    """The item under another id."""
    return replace(item, id=number, meta={**item.meta, "id": number})


def panel_study(folder: Path, count: int, overlap: int) -> StudyFolder:
    """A study in which one task in 5 is a control item and nobody gets more than 10 items."""
    bundled = examples(dataset("bps"))
    items = [numbered(one, n) for n, one in enumerate(bundled["test"].items * count)][:count]
    solved = [numbered(one, 1000 + n) for n, one in enumerate(bundled["shots"].items * 3)]
    study = study_of(folder, items, solved, overlap=overlap)
    plan = study.path / "study.yaml"
    text = plan.read_text("utf-8").replace("items_per_page: 1", "items_per_page: 1\n    items_per_person: 10")
    plan.write_text(text, encoding="utf-8")
    return frozen(study)


@pytest.mark.parametrize(
    ("people", "items", "overlap"),
    [(40, 24, 2), pytest.param(200, 150, 4, marks=[pytest.mark.slow, pytest.mark.thorough])],
)
def test_guessers_who_are_never_stopped_do_not_hold_the_places_of_a_panel(
    people: int, items: int, overlap: int, tmp_path: Path, database: str
) -> None:
    folder, clock, random = panel_study(tmp_path / "study", items, overlap), SetClock(), Random(5)
    known = {task.id: str(task.known) for task in of_kind(folder, "control")}
    wrong = opposite(known)
    with opened_site(folder, clock, database) as site, visiting(site) as first:
        (study,) = site.studies
        path = f"/s/{study.key}/"
        for number in range(people):
            person = from_elsewhere(first, "127.0.0.1")
            # One person in three guesses at control items; some people leave in the middle.
            answers = wrong if number % 3 == 0 and number < 0.7 * people else known
            page = to_first_task(person, path, f"w{number}")
            answer_on(person, path, page, answers, most=random.choice([6, 8, 100]))
            overdue(site, clock, 31 if number % 10 == 0 else 1)
        assert sorted(counted_answers(site).values()) == [overlap] * items
        controls = [person.controls for person in only_state(site).people.values()]
        assert len(controls) == people
        assert max(controls) < STOP_AFTER, "the rule of the site alone stops nobody"


def test_somebody_who_comes_back_gets_the_places_back_that_are_free(frozen: Frozen, database: str) -> None:
    folder, clock = frozen(overlap=1), SetClock()
    known = {task.id: str(task.known) for task in of_kind(folder, "control")}
    wrong = opposite(known)
    with opened_site(folder, clock, database) as site, visiting(site) as first:
        (study,) = site.studies
        path = f"/s/{study.key}/"
        page = to_first_task(first, path, "w0")
        for _ in range(6):  # one of the first five tasks is a control item
            page = answer_on(first, path, page, wrong, most=1)
        assert held_answers(site) >= 4
        overdue(site, clock)
        assert held_answers(site) == 0
        first.get(f"{path}task")
        assert held_answers(site) >= 4


def test_a_device_forgets_who_leaves_it_and_the_link_leads_back_to_the_same_task(frozen: Frozen) -> None:
    with opened_site(frozen()) as site, visiting(site) as client:
        (path,) = (study.path for study in site.studies)
        page = to_first_task(client, path, "w0")
        assert "Выйти на этом устройстве</button>" in client.get(f"{path}pause").text
        left = client.post(f"{path}leave", data={"token": hidden(page, "token")})
        assert "Вы вышли из исследования" in left.text
        assert left.headers["Clear-Site-Data"] == '"storage"'
        assert 'name="task"' not in client.get(f"{path}task").text
        assert hidden(client.get(f"{path}?worker_id=w0").text, "task") == hidden(page, "task")


def held_answers(site: AnnotationSite) -> int:
    """How many answers hold a place of their item."""
    people = only_state(site).people.values()
    return sum(
        held.counts and held.state == "answered" for person in people for held in person.tasks.values()
    )
