"""How a served study stands: by hand, against `merilo study status`, and of pools of every shape."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from collected_answers import START, Given, put_answers, simulate
from every import every
from sqlalchemy import Connection, select, update

from merilo.reports.study_status import study_status
from merilo.site.annotator_steps import ShownTask, next_task, person_of
from merilo.site.author_actions import AuthorActions
from merilo.site.database import database_url, open_database, snapshot, writing
from merilo.site.overview_texts import overview_texts
from merilo.site.schema import PERSON, STUDY
from merilo.site.served_study import ServedStudy, load_study, register
from merilo.site.serving import collect_site
from merilo.site.status import read_counts, site_status
from merilo.studies.collected import import_files
from merilo.studies.study_folder import StudyFolder

Frozen = Callable[..., StudyFolder]


def registered(
    connection: Connection, folder: StudyFolder, arm: str = "people", **rules: object
) -> ServedStudy:
    study = load_study(folder, arm)
    return register(connection, replace(study, rules=replace(study.rules, **rules)), 1)  # type: ignore[arg-type]


def test_the_status_of_a_small_study_is_that_computed_by_hand(connection: Connection, frozen: Frozen) -> None:
    study = registered(connection, frozen())
    control = study.rules.tests
    known = study.tasks[control].known or ""
    put_answers(
        connection,
        study,
        [
            Given("ann", 0, "1", 4.0), Given("ann", 1, "0", 6.0), Given("ann", 2, "1", 8.0), Given("ann", control, known, 2.0),
            Given("bob", 0, "1", 5.0), Given("bob", 1, "0", 5.0), Given("bob", 2, "1", 5.0),
            Given("cid", 0, "0", 9.0),
        ],
    )  # fmt: skip
    found = site_status(connection, study, START)
    counts, status = found.counts, found.status
    assert status is not None
    needed = 3 * study.rules.tests
    assert (counts.needed, counts.answered, counts.complete, counts.in_hand) == (needed, 7, 1, 0)
    # Observed disagreement 2 (item 0), expected (7 * 7 - 4 * 4 - 3 * 3) / 6 = 4.
    assert status.alpha == 0.5
    assert (status.low_agreement, status.answers, status.counted, status.estimate) == (0.0, 7, 7, None)
    ann, bob, cid = found.people
    assert [one.pseudonym for one in (ann, bob, cid)] == ["ann", "bob", "cid"]
    assert (ann.seconds, bob.seconds) == (5.0, 5.0)
    assert (ann.answers, ann.controls, ann.controls_right, bob.controls) == (3, 1, 1, 0)
    assert (ann.earned, bob.earned, cid.earned, found.earned) == (0.2, 0.15, 0.05, 0.4)
    assert found.paid is not None
    assert found.paid.hours == pytest.approx(44 / 3600, abs=1e-6)
    missing = needed - 7
    controls = -(-missing // 4)  # one task in 5 is a control item
    more, pay = found.left
    assert more == missing + controls
    assert pay == pytest.approx(0.05 * (missing + controls))
    assert found.hours_left == pytest.approx(missing * 5.0 / 3600)
    whole = 0.05 * (needed + -(-needed // 4))
    assert (found.final_pay, found.planned_pay) == pytest.approx((0.4 + pay, whole))


def test_people_are_finished_while_there_is_no_task_for_them(connection: Connection, frozen: Frozen) -> None:
    study = registered(connection, frozen(), overlap=1, every=0)
    simulate(connection, study, {"a": 1.0}, most=2)
    simulate(connection, study, {"b": 1.0})

    def stages() -> dict[str, int]:
        return dict(read_counts(connection, study).stages)

    assert stages() == {"working": 1, "finished": 1}
    name = connection.scalar(select(PERSON.c.pseudonym).where(PERSON.c.stage == "working"))
    AuthorActions(connection, study, START, "author").exclude(str(name), "guesses")
    person = person_of(connection, study, 2)
    assert person is not None
    assert isinstance(next_task(connection, study, person, START), ShownTask)
    assert stages() == {"excluded": 1, "working": 1}


def test_a_task_that_somebody_has_is_counted_as_being_answered_and_its_item_is_not_complete(
    connection: Connection, frozen: Frozen
) -> None:
    study = registered(connection, frozen(), overlap=1, every=0)
    simulate(connection, study, {"a": 1.0}, most=2)
    person = person_of(connection, study, 1)
    assert person is not None
    next_task(connection, study, person, START + 10**6)
    counts = read_counts(connection, study)
    assert (counts.answered, counts.in_hand, counts.held, counts.complete) == (2, 1, 1, 2)
    assert counts.missing == counts.needed - 2


def test_people_who_were_stopped_or_excluded_are_paid_for_what_they_did(
    connection: Connection, frozen: Frozen
) -> None:
    study = registered(connection, frozen())
    given = [Given(who, task, "1", counts=who == "ann") for who in ("ann", "bob", "cid") for task in range(4)]
    put_answers(connection, study, given, {"bob": "stopped", "cid": "excluded"})
    found = site_status(connection, study, START)
    assert {one.pseudonym: one.earned for one in found.people} == dict.fromkeys(("ann", "bob", "cid"), 0.2)
    assert found.earned == 0.6
    assert found.status is not None
    assert found.status.cost is not None
    assert found.status.cost.total == 0.2
    assert (found.counts.answered, found.status.answers) == (4, 4)


SHAPES = [
    ("bps", "people", {"a": 0.9, "b": 0.8, "c": 0.9, "d": 0.7}, 0.0, {}),
    ("bps", "people", {"a": 0.9, "b": 0.95, "guesser": 0.1, "d": 0.9}, 0.0, {"every": 2}),
    ("bps", "people", {"a": 1.0}, 0.0, {}),
    ("chegeka", "people", {"a": 0.7, "b": 0.7, "c": 0.7}, 0.0, {}),
    ("simplear", "people", {"a": 0.9, "b": 0.7, "c": 0.9}, 0.0, {}),
    ("use", "people", {"a": 1.0, "b": 0.9, "c": 0.9}, 0.0, {}),
    ("rutie", "people", {"a": 0.9, "b": 0.9, "c": 0.9}, 0.0, {}),
    ("bps", "experts", {"a": 0.9, "b": 0.8, "c": 0.9}, 0.2, {}),
]


@pytest.mark.thorough
@every(
    "name, arm, people, skips, rules",
    SHAPES,
    ids=["labels", "a guesser", "one person", "open", "numbers", "exam", "dialogue", "experts"],
)
def test_the_status_equals_that_of_study_status_after_an_import(
    name: str, arm: str, people: dict[str, float], skips: float, rules: dict, frozen: Frozen, tmp_path: Path
) -> None:
    folder = frozen(name, f"{name}-{arm}-{len(people)}-{len(rules)}", experts=arm == "experts", overlap=2)
    engine = open_database(database_url(folder.path, None))
    with writing(engine) as connection:
        study = register(connection, load_study(folder, arm), 1)
        simulate(connection, replace(study, rules=replace(study.rules, **rules)), people, skips=skips)
        connection.execute(update(PERSON).where(PERSON.c.external == "d").values(stage="excluded"))
    with snapshot(engine) as connection:
        found = site_status(connection, study, START, estimate=True)
        hidden = site_status(connection, study, START)
    engine.dispose()
    made = collect_site(folder.path, arm=arm)
    (tmp_path / "answers.csv").write_text(made.table, encoding="utf-8")
    import_files(folder, [tmp_path / "answers.csv"])
    status = study_status(folder, arm=arm, estimate=True)
    assert found.status is not None
    assert replace(found.status, files=status.files) == status
    assert hidden.status == replace(found.status, estimate=None)
    known = {one.pseudonym: one for one in found.people}
    assert set(known) >= {one.annotator for one in status.annotators}
    for one in status.annotators:
        own = known[one.annotator]
        assert own.answers == one.answers
        if not skips:
            assert own.controls == one.controls


def test_before_any_answer_there_is_nothing_to_tell(connection: Connection, frozen: Frozen) -> None:
    study = registered(connection, frozen())
    found = site_status(connection, study, START, estimate=True)
    assert (found.status, found.paid, found.earned, found.people, found.rate) == (None, None, 0.0, [], None)
    texts = overview_texts(found, "en")
    assert texts["alpha"] == "not defined yet: there are no answers"
    assert (texts["people"], texts["points"], texts["hourly"]) == ("nobody yet", "", "none yet")


def test_if_everybody_is_below_the_threshold_the_agreement_says_so(
    connection: Connection, frozen: Frozen
) -> None:
    study = registered(connection, frozen())
    control = study.rules.tests
    wrong = "1" if study.tasks[control].known == "0" else "0"
    put_answers(
        connection, study, [one for who in "ab" for one in (Given(who, 0, "1"), Given(who, control, wrong))]
    )
    texts = overview_texts(site_status(connection, study, START), "en")
    assert texts["alpha"] == "not defined: everyone is below the threshold on control items"
    assert texts["counted"] == "0 of 2"


def test_without_control_items_and_with_equal_answers_there_is_no_agreement(
    connection: Connection, frozen: Frozen
) -> None:
    study = registered(connection, frozen(controls=[]))
    put_answers(connection, study, [Given(who, task, "1") for who in "ab" for task in range(3)])
    found = site_status(connection, study, START)
    assert [one.controls for one in found.people] == [0, 0]
    texts = overview_texts(found, "en")
    assert texts["alpha"] == "not defined yet: no item has two answers, or all answers are equal"
    assert texts["controls"] == "none yet"


def test_programs_are_counted_and_paid_but_not_compared(connection: Connection, frozen: Frozen) -> None:
    study = registered(connection, frozen("ruhumaneval"))
    put_answers(connection, study, [Given(who, 0, f"    return {who!r}") for who in "ab"])
    found = site_status(connection, study, START)
    assert found.status is not None
    assert (found.status.answers, found.status.alpha, found.earned) == (2, None, 0.1)
    assert overview_texts(found, "en")["alpha"] == "not computed: the answers are programs"


def test_a_paused_study_has_no_expected_end(connection: Connection, frozen: Frozen) -> None:
    study = registered(connection, frozen())
    given = [
        Given(who, task, "1", after=(2 * task + (who == "b")) * 200_000) for who in "ab" for task in range(8)
    ]
    put_answers(connection, study, given)
    now = START + 3_200_000
    assert site_status(connection, study, now).end is not None
    connection.execute(update(STUDY).values(paused=True))
    assert site_status(connection, study, now).end is None


def test_who_answers_within_a_second_is_marked_if_there_are_others_to_compare(
    connection: Connection, frozen: Frozen
) -> None:
    items = 10
    study = registered(connection, frozen("simplear", overlap=6))
    tasks = range(min(items, study.training.start))
    assert len(tasks) == items
    given = [Given(who, task, "7", 0.9 if who == "fast" else 6.0) for who in ("fast", "a", "b", "c") for task in tasks]  # fmt: skip
    put_answers(connection, study, given)
    assert not any(one.hasty for one in site_status(connection, study, START).people)
    put_answers(connection, study, [Given("d", task, "7", 6.0) for task in tasks])
    assert {one.pseudonym: one.hasty for one in site_status(connection, study, START).people} == {
        "fast": True, "a": False, "b": False, "c": False, "d": False,
    }  # fmt: skip
