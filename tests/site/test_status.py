"""How a served study stands: by hand, against `merilo study status`, and of pools of every shape."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from every import every
from site_people import START, Given, put_answers, served, simulate

from merilo.reports.study_status import study_status
from merilo.site.annotator_steps import ShownTask, next_task
from merilo.site.answer_export import collect_answers
from merilo.site.author_actions import AuthorActions
from merilo.site.overview_texts import chart_points, overview_texts
from merilo.site.status import quick_status, site_status
from merilo.studies.study_folder import StudyFolder
from merilo.studies.study_import import import_files

Frozen = Callable[..., StudyFolder]


def test_the_status_of_a_small_study_is_that_computed_by_hand(frozen: Frozen) -> None:
    state = served(frozen())
    control = state.rules.tests
    known = state.study.tasks[control].known or ""
    put_answers(
        state,
        [
            Given("ann", 0, "1", 4.0), Given("ann", 1, "0", 6.0), Given("ann", 2, "1", 8.0), Given("ann", control, known, 2.0),
            Given("bob", 0, "1", 5.0), Given("bob", 1, "0", 5.0), Given("bob", 2, "1", 5.0),
            Given("cid", 0, "0", 9.0),
        ],
    )  # fmt: skip
    found = site_status(state, START)
    status = found.status
    assert status is not None
    needed = 3 * state.rules.tests
    assert (found.needed, found.answered, found.complete, found.in_hand) == (needed, 7, 1, 0)
    # Observed disagreement 2 (item 0), expected (7 * 7 - 4 * 4 - 3 * 3) / 6 = 4.
    assert status.alpha == 0.5
    assert (status.low_agreement, status.answers, status.counted, status.estimate) == (0.0, 7, 7, None)
    ann, bob, cid = found.people
    assert [one.person.pseudonym for one in (ann, bob, cid)] == ["ann", "bob", "cid"]
    assert (ann.seconds, bob.seconds) == (5.0, 5.0)
    assert (ann.person.answers, ann.person.controls, ann.person.controls_right, bob.person.controls) == (
        3,
        1,
        1,
        0,
    )
    assert (ann.earned, bob.earned, cid.earned, found.earned) == (0.2, 0.15, 0.05, 0.4)
    assert (found.hours, found.hourly) == pytest.approx((44 / 3600, 0.4 * 3600 / 44))
    missing = needed - 7
    controls = -(-missing // 4)  # one task in 5 is a control item
    more, pay = found.left
    assert more == missing + controls
    assert pay == pytest.approx(0.05 * (missing + controls))
    assert found.hours_left == pytest.approx(missing * 5.0 / 3600)
    whole = 0.05 * (needed + -(-needed // 4))
    assert (found.final_pay, found.planned_pay) == pytest.approx((0.4 + pay, whole))


def test_people_are_finished_while_there_is_no_task_for_them(frozen: Frozen) -> None:
    state = served(frozen(), overlap=1, every=0)
    simulate(state, {"a": 1.0}, most=2)
    simulate(state, {"b": 1.0})

    def stages() -> dict[str, int]:
        return dict(Counter(person.stage for person in state.people.values()))

    assert stages() == {"working": 1, "finished": 1}
    first, second = state.people.values()
    AuthorActions(state, START, "author").exclude(first.pseudonym, "guesses")
    assert isinstance(next_task(state, second, START), ShownTask)
    assert stages() == {"excluded": 1, "working": 1}


def test_a_task_that_somebody_has_is_counted_as_being_answered_and_its_item_is_not_complete(
    frozen: Frozen,
) -> None:
    state = served(frozen(), overlap=1, every=0)
    simulate(state, {"a": 1.0}, most=2)
    (person,) = state.people.values()
    next_task(state, person, START + 10**6)
    counts = quick_status(state, START)
    assert (counts.answered, counts.in_hand, counts.complete) == (2, 1, 2)
    assert counts.missing == counts.needed - 2


def test_people_who_were_stopped_or_excluded_are_paid_for_what_they_did(frozen: Frozen) -> None:
    state = served(frozen())
    given = [Given(who, task, "1", counts=who == "ann") for who in ("ann", "bob", "cid") for task in range(4)]
    put_answers(state, given, {"bob": "stopped", "cid": "excluded"})
    found = site_status(state, START)
    assert {one.person.pseudonym: one.earned for one in found.people} == dict.fromkeys(
        ("ann", "bob", "cid"), 0.2
    )
    assert found.earned == 0.6
    assert found.status is not None
    assert found.status.cost is not None
    assert found.status.cost.total == 0.2
    assert (found.answered, found.status.answers) == (4, 4)


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
    state = served(folder, arm, **rules)
    simulate(state, people, skips=skips)
    for person in state.people.values():
        person.stage = "excluded" if person.external == "d" else person.stage
    found = site_status(state, START, estimate=True)
    hidden = site_status(state, START)
    made = collect_answers(state)
    (tmp_path / "answers.csv").write_text(made.table, encoding="utf-8")
    import_files(folder, [tmp_path / "answers.csv"])
    status = study_status(folder, arm=arm, estimate=True)
    assert found.status is not None
    assert replace(found.status, files=status.files) == status
    assert hidden.status == replace(found.status, estimate=None)
    known = {one.person.pseudonym: one for one in found.people}
    assert set(known) >= {one.annotator for one in status.annotators}
    for one in status.annotators:
        own = known[one.annotator]
        assert own.person.answers == one.answers
        if not skips:
            assert own.person.controls == one.controls


def test_before_any_answer_there_is_nothing_to_tell(frozen: Frozen) -> None:
    state = served(frozen())
    found = site_status(state, START, estimate=True)
    assert (found.status, found.hourly, found.earned, found.people, found.rate) == (None, None, 0.0, [], None)
    texts = overview_texts(found, "en")
    assert texts["alpha"] == "not defined yet: there are no answers"
    assert (texts["people"], chart_points(found)) == ("nobody yet", "")


def test_if_everybody_is_below_the_threshold_the_agreement_says_so(frozen: Frozen) -> None:
    state = served(frozen())
    control = state.rules.tests
    wrong = "1" if state.study.tasks[control].known == "0" else "0"
    put_answers(state, [one for who in "ab" for one in (Given(who, 0, "1"), Given(who, control, wrong))])
    texts = overview_texts(site_status(state, START), "en")
    assert texts["alpha"] == "not defined: everyone is below the threshold on control items"
    assert texts["counted"] == "0 of 2"


def test_without_control_items_and_with_equal_answers_there_is_no_agreement(frozen: Frozen) -> None:
    state = served(frozen(controls=[]))
    put_answers(state, [Given(who, task, "1") for who in "ab" for task in range(3)])
    found = site_status(state, START)
    assert [one.person.controls for one in found.people] == [0, 0]
    texts = overview_texts(found, "en")
    assert texts["alpha"] == "not defined yet: no item has two answers, or all answers are equal"


def test_programs_are_counted_and_paid_but_not_compared(frozen: Frozen) -> None:
    state = served(frozen("ruhumaneval"))
    put_answers(state, [Given(who, 0, f"    return {who!r}") for who in "ab"])
    found = site_status(state, START)
    assert found.status is not None
    assert (found.status.answers, found.status.alpha, found.earned) == (2, None, 0.1)
    assert overview_texts(found, "en")["alpha"] == "not computed: the answers are programs"


def test_a_paused_study_has_no_expected_end(frozen: Frozen) -> None:
    state = served(frozen())
    given = [
        Given(who, task, "1", after=(2 * task + (who == "b")) * 200_000) for who in "ab" for task in range(8)
    ]
    put_answers(state, given)
    now = START + 3_200_000
    assert site_status(state, now).end is not None
    state.paused = True
    assert site_status(state, now).end is None


def test_who_answers_within_a_second_is_marked_if_there_are_others_to_compare(frozen: Frozen) -> None:
    items = 10
    state = served(frozen("simplear", overlap=6))
    tasks = range(min(items, state.study.training.start))
    assert len(tasks) == items
    given = [Given(who, task, "7", 0.9 if who == "fast" else 6.0) for who in ("fast", "a", "b", "c") for task in tasks]  # fmt: skip
    put_answers(state, given)
    assert not any(one.hasty for one in site_status(state, START).people)
    put_answers(state, [Given("d", task, "7", 6.0) for task in tasks])
    assert {one.person.pseudonym: one.hasty for one in site_status(state, START).people} == {
        "fast": True, "a": False, "b": False, "c": False, "d": False,
    }  # fmt: skip
