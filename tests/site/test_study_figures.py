"""The figures of the author's overview: by hand, against `merilo study status`, and of pools of every shape."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from collected_answers import START, Given, put_answers, simulate
from every import every
from sqlalchemy import Connection, select, update

from merilo.errors import DataError
from merilo.reports.study_status import study_status
from merilo.site.annotator_steps import ShownTask, next_task, person_of
from merilo.site.author_actions import AuthorActions
from merilo.site.collected_figures import collected_figures, estimate_so_far
from merilo.site.database import database_url, open_database, snapshot, writing
from merilo.site.overview_texts import people_columns, sorted_people
from merilo.site.schema import PERSON, STUDY
from merilo.site.served_study import ServedStudy, load_study, register
from merilo.site.serving import collect_site
from merilo.site.study_figures import StudyFigures, figures_at, read_counts
from merilo.studies.collected import import_files
from merilo.studies.study_folder import StudyFolder

Frozen = Callable[..., StudyFolder]


def registered(
    connection: Connection, folder: StudyFolder, arm: str = "people", **rules: object
) -> ServedStudy:
    study = load_study(folder, arm)
    return register(connection, replace(study, rules=replace(study.rules, **rules)), 1)  # type: ignore[arg-type]


def figures_of(connection: Connection, study: ServedStudy, now: int = START) -> StudyFigures:
    collected = collected_figures(connection, study)
    return figures_at(study, read_counts(connection, study), collected, now)


def test_the_figures_of_a_small_study_are_those_computed_by_hand(
    connection: Connection, frozen: Frozen
) -> None:
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
    figures = figures_of(connection, study)
    counts, agreement = figures.counts, figures.collected.agreement
    needed = 3 * study.rules.tests
    assert (counts.needed, counts.answered, counts.complete, counts.in_hand) == (needed, 7, 1, 0)
    # Observed disagreement 2 (item 0), expected (7 * 7 - 4 * 4 - 3 * 3) / 6 = 4.
    assert agreement.alpha == 0.5
    assert (agreement.low_agreement, agreement.answers, agreement.counted) == (0.0, 7, 7)
    ann, bob, cid = figures.collected.people
    assert [one.pseudonym for one in (ann, bob, cid)] == ["ann", "bob", "cid"]
    # One of two others agrees on item 0; the other one on items 1 and 2.
    assert ann.agreement == pytest.approx((0.5 + 1 + 1) / 3)
    assert (cid.agreement, cid.compared) == (0.0, 1)
    assert (ann.median_seconds, bob.median_seconds) == (5.0, 5.0)
    assert (ann.answers, ann.control_accuracy, bob.control_accuracy) == (3, 1.0, None)
    controls_of_ann = people_columns("USD")["controls"].shown(ann)
    assert controls_of_ann.en == "100% (21%–100%); 1 of 1"
    assert (ann.earned, bob.earned, cid.earned, figures.earned) == (0.2, 0.15, 0.05, 0.4)
    assert figures.collected.paid is not None
    assert figures.collected.paid.hours == pytest.approx(44 / 3600, abs=1e-6)
    missing = needed - 7
    controls = -(-missing // 4)  # one task in 5 is a control item
    assert (figures.remaining.answers, figures.remaining.controls) == (missing, controls)
    assert figures.remaining.pay == pytest.approx(0.05 * (missing + controls))
    assert figures.remaining.hours == pytest.approx(missing * 5.0 / 3600)
    whole = 0.05 * (needed + -(-needed // 4))
    assert (figures.final_pay, figures.planned_pay) == pytest.approx((0.4 + figures.remaining.pay, whole))


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
    figures = figures_of(connection, study)
    assert {one.pseudonym: one.earned for one in figures.collected.people} == dict.fromkeys(
        ("ann", "bob", "cid"), 0.2
    )
    assert figures.earned == 0.6
    assert figures.collected.collected is not None
    assert figures.collected.collected.total == 0.2
    assert (figures.counts.answered, figures.collected.agreement.answers) == (4, 4)


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
def test_the_figures_equal_those_of_study_status_after_an_import(
    name: str, arm: str, people: dict[str, float], skips: float, rules: dict, frozen: Frozen, tmp_path: Path
) -> None:
    folder = frozen(
        name,
        f"{name}-{arm}-{len(people)}-{len(rules)}",
        experts=arm == "experts",
        overlap=2,
    )
    engine = open_database(database_url(folder.path, None))
    with writing(engine) as connection:
        study = register(connection, load_study(folder, arm), 1)
        simulate(connection, replace(study, rules=replace(study.rules, **rules)), people, skips=skips)
        connection.execute(update(PERSON).where(PERSON.c.external == "d").values(stage="excluded"))
    with snapshot(engine) as connection:
        figures = figures_of(connection, study)
    made = collect_site(folder.path, arm=arm)
    estimate = estimate_so_far(engine, study)
    engine.dispose()
    (tmp_path / "answers.csv").write_text(made.table, encoding="utf-8")
    import_files(folder, [tmp_path / "answers.csv"])
    status = study_status(folder, arm=arm, estimate=True)
    found = figures.collected
    assert found.agreement.alpha == status.alpha
    assert found.agreement.low_agreement == status.low_agreement
    assert found.agreement.answers == status.answers
    assert bool(found.agreement.why) == bool(status.problem), status.problem
    if not status.problem:
        assert found.agreement.counted == status.counted
    assert found.collected == status.cost
    if not made.left_out["excluded"]:
        assert figures.earned == (status.cost.total if status.cost else None)
    known = {one.pseudonym: one for one in found.people}
    assert set(known) >= {one.annotator for one in status.annotators}
    for one in status.annotators:
        own = known[one.annotator]
        assert (own.answers, own.skipped) == (one.answers, one.skipped)
        if not status.problem:
            assert own.median_seconds == one.median_seconds
        if not skips and not status.problem:
            assert (own.person.controls, own.control_accuracy) == (one.controls, one.control_accuracy)
    assert estimate.estimate == status.estimate
    assert replace(estimate, files=status.files) == status


def test_before_any_answer_there_are_no_figures_and_no_estimate(frozen: Frozen) -> None:
    folder = frozen()
    engine = open_database(database_url(folder.path, None))
    with writing(engine) as connection:
        study = register(connection, load_study(folder, "people"), 1)
        figures = figures_of(connection, study)
    assert figures.collected.agreement.why == "no_answers"
    assert (figures.collected.agreement.alpha, figures.rate, figures.end, figures.remaining.hours) == (
        None,
    ) * 4
    assert (figures.earned, figures.collected.people, figures.points) == (0.0, (), ())
    assert figures.remaining.pay is not None
    with pytest.raises(DataError):
        estimate_so_far(engine, study)
    engine.dispose()


def test_if_everybody_is_below_the_threshold_the_agreement_says_so(
    connection: Connection, frozen: Frozen
) -> None:
    study = registered(connection, frozen())
    control = study.rules.tests
    wrong = "1" if study.tasks[control].known == "0" else "0"
    put_answers(
        connection, study, [one for who in "ab" for one in (Given(who, 0, "1"), Given(who, control, wrong))]
    )
    agreement = figures_of(connection, study).collected.agreement
    assert (agreement.alpha, agreement.why, agreement.counted) == (None, "all_below", 0)


def test_a_study_without_control_items_has_no_control_accuracy(
    connection: Connection, frozen: Frozen
) -> None:
    study = registered(connection, frozen(controls=[]))
    put_answers(connection, study, [Given(who, task, "1") for who in "ab" for task in range(3)])
    figures = figures_of(connection, study)
    assert [one.control_accuracy for one in figures.collected.people] == [None, None]
    assert figures.collected.agreement.alpha is None, "all answers are equal"
    assert figures.collected.agreement.why == ""


def test_programs_are_counted_and_paid_but_not_compared(connection: Connection, frozen: Frozen) -> None:
    study = registered(connection, frozen("ruhumaneval"))
    put_answers(connection, study, [Given(who, 0, f"    return {who!r}") for who in "ab"])
    figures = figures_of(connection, study)
    assert (figures.collected.agreement.why, figures.collected.agreement.answers) == ("programs", 2)
    assert (figures.earned, figures.collected.people[0].agreement) == (0.1, None)


def test_a_paused_study_has_no_expected_end(connection: Connection, frozen: Frozen) -> None:
    study = registered(connection, frozen())
    given = [
        Given(who, task, "1", after=(2 * task + (who == "b")) * 200_000) for who in "ab" for task in range(8)
    ]
    put_answers(connection, study, given)
    now = START + 3_200_000
    assert figures_of(connection, study, now).end is not None
    connection.execute(update(STUDY).values(paused=True))
    assert figures_of(connection, study, now).end is None


def test_people_without_a_value_come_last_in_both_directions(connection: Connection, frozen: Frozen) -> None:
    study = registered(connection, frozen())
    control = study.rules.tests
    known = study.tasks[control].known or ""
    put_answers(connection, study, [Given("a", 0, "1"), Given("b", control, known), Given("c", control, "x")])
    people = figures_of(connection, study).collected.people
    for descending, wanted in ((True, "bca"), (False, "cba")):
        found = sorted_people(people, people_columns("USD")["controls"].value, descending=descending)
        assert "".join(one.pseudonym for one in found) == wanted
