"""Texts that databases refuse or cut: zero characters, halves of surrogate pairs, and the longest answer."""

from collections.abc import Callable

from site_in_process import hidden, only_state, opened_site, to_first_task, visiting

from merilo.site.item_form import LONGEST_ANSWER, LONGEST_COMMENT
from merilo.site.state import State
from merilo.studies.study_folder import StudyFolder

Frozen = Callable[..., StudyFolder]


SENT_AND_KEPT = {
    "%00a%00": "a",
    "%ED%A0%80": "\ufffd\ufffd\ufffd",
    "%F0%9F%98%80" * LONGEST_ANSWER: "😀" * LONGEST_ANSWER,
    "e%CC%81 %E2%80%AE%EF%BB%BFx": "e\u0301 \u202e\ufeffx",
    "%5C%27%22%3B--%25s+%25%28a%29s": "\\'\";--%s %(a)s",
}


def test_a_text_is_stored_as_it_was_sent(frozen: Frozen, database: str) -> None:
    headers = {"content-type": "application/x-www-form-urlencoded"}
    remark = "%00" + "%D1%8F" * LONGEST_COMMENT
    with opened_site(frozen("chegeka"), database=database) as site, visiting(site) as client:
        path = site.studies[0].path
        for number, sent in enumerate(SENT_AND_KEPT):
            page = to_first_task(client, path, str(number))
            fields = (
                f"token={hidden(page, 'token')}&task={hidden(page, 'task')}&answer={sent}&comment={remark}"
            )
            done = client.post(f"{path}task", content=fields, headers=headers, follow_redirects=False)
            assert done.status_code == 303, sent[:40]
        (study,) = site.studies
        state = State(study, site.journal.events(study.key))  # as another process reads it
        people = sorted(state.people.values(), key=lambda person: person.created)
        stored = [
            (held.answer, held.comment)
            for person in people
            for held in person.tasks.values()
            if held.state == "answered"
        ]
    assert stored == [(kept, "я" * LONGEST_COMMENT) for kept in SENT_AND_KEPT.values()]


def test_ids_of_platforms_that_no_database_stores_do_not_break_the_site(
    frozen: Frozen, database: str
) -> None:
    with opened_site(frozen(), database=database) as site, visiting(site) as client:
        path = site.studies[0].path
        for one in ("%00", "a%00b", "%ED%A0%80", "x" * 5000, "%F0%9F%98%80"):
            assert client.get(f"{path}?PROLIFIC_PID={one}").status_code == 200, one
        assert client.get("/i/%00").status_code == 404
        known = {person.external for person in only_state(site).people.values()}
    assert known == {"ab", "\ufffd\ufffd\ufffd", "x" * 200, "😀"}
