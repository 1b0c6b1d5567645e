"""What people read before they take part, what they tell about themselves, and how many stay."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from accessibility import AccessibilityCheck
from author_session import signed_in
from command import merilo
from site_in_process import form_in, from_elsewhere, hidden, only_state, opened_site, visiting
from site_process import served_site
from site_visitor import Visitor, in_two_languages, refrozen
from starlette.testclient import TestClient

from merilo.site.annotation_site import AnnotationSite
from merilo.site.author_actions import AuthorActions
from merilo.site.journal import ServerClock
from merilo.studies.study_folder import StudyFolder

Frozen = Callable[..., StudyFolder]

CONSENT = """\
consent:
  organisation: {ru: Институт чисел, en: Institute of Numbers}
  contact: anna@example.org
  purpose: {ru: Сравнить людей и модели}
  ethics: {ru: "Комиссия, протокол 7", en: "Board <b>, record 7"}
demographics:
  - {name: age}
  - name: brackets
    question: {ru: "Знакомы ли вам скобки?", en: "Do you know brackets?"}
    options: [{ru: да, en: "yes"}, {ru: нет, en: "no"}]
"""


def with_consent(folder: StudyFolder, **changes: str) -> StudyFolder:
    return refrozen(in_two_languages(folder), **{"subset: {size": f"{CONSENT}subset: {{size"}, **changes)


def said(site: AnnotationSite) -> list[tuple[object, ...]]:
    """What people told about themselves: question, place of the option."""
    return sorted(row for person in only_state(site).people.values() for row in person.background.items())


def test_people_read_what_the_author_says_and_may_decline(frozen: Frozen, both_databases: None) -> None:
    with opened_site(with_consent(frozen())) as site, visiting(site) as client:
        path = site.studies[0].path
        page = client.get(f"{path}?worker_id=a", headers={"Accept-Language": "en"}).text
        for told in (
            "Institute of Numbers",
            "anna@example.org",
            "Сравнить людей",
            "Board &lt;b&gt;, record 7",
        ):
            assert told in page
        assert "at most 10" in page
        assert "2 voluntary questions" in page
        assert "about 20 minutes" in page, "10 tasks at 30 an hour"
        assert "$0.50 for all tasks" in page, "0.05 a task"
        client.post(f"{path}decline", data={"token": hidden(page, "token")})
        assert "You did not agree" in client.get(path).text
        assert client.get(f"{path}task").url.path == path, "no tasks"
        page = client.get(f"{path}consent").text
        page = client.post(f"{path}consent", data={"token": hidden(page, "token")}).text
        assert "How old are you?" in page
        assert "Do you know brackets?" in page
        token = hidden(page, "token")
        assert client.get(f"{path}instruction").url.path == f"{path}questions"
        page = client.post(f"{path}questions", data={"token": token, "age": "1", "brackets": "7"}).text
        assert 'class="instruction"' in page
        client.post(f"{path}questions", data={"token": token, "age": "2"})
        assert said(site) == [("age", 1), ("brackets", None)], (
            "an unknown option is none; a second form changes nothing"
        )
        (person,) = only_state(site).people.values()
        AuthorActions(only_state(site), 9, "author").erase(person.pseudonym)
        assert said(site) == []


class SlowPeople(ServerClock):
    """A clock of the past: a quarter of a minute passes before each request, and the people were there hours ago."""

    at: int | None = None

    def now(self) -> int:
        """Return the time."""
        self.at = super().now() - 20_000_000 if self.at is None else self.at + 15_000
        return self.at

    def ends(self) -> None:
        """Go on with the true time."""
        self.at = super().now()


def answered(browser: TestClient, page: str, path: str, tasks: int) -> None:
    """Answer some tasks as people do, or all."""
    for _ in range(tasks):
        if 'name="task"' not in page:
            return
        sent = form_in(page, then="next")
        page = browser.post(f"{path}task", data=sent).text


def test_dropouts_refusals_and_what_people_said_reach_the_report_as_counts(
    frozen: Frozen, both_databases: None, tmp_path: Path
) -> None:
    study = with_consent(frozen(overlap=20), **{"per_page: 0.05": "minimum_per_hour: 3.0, per_page: 0.0001"})
    clock = SlowPeople()
    with opened_site(study, clock) as site, visiting(site) as client:
        path = site.studies[0].path
        # Whoever gives their age as a number of tasks: two answer a few and leave, one leaves before, six finish.
        for name, age, tasks in (
            ("q", None, 0),
            ("w", 2, 2),
            ("x", 3, 1),
            *((f"f{n}", 1, 99) for n in range(6)),
        ):
            browser = from_elsewhere(client, "127.0.0.1")
            page = browser.get(f"{path}?worker_id={name}").text
            page = browser.post(f"{path}consent", data={"token": hidden(page, "token")}).text
            if age is not None:
                page = browser.post(
                    f"{path}questions", data={"token": hidden(page, "token"), "age": age}
                ).text
                page = browser.post(f"{path}instruction", data={"token": hidden(page, "token")}).text
                answered(browser, page, path, tasks)
        refusing = from_elsewhere(client, "127.0.0.1")
        page = refusing.get(f"{path}?worker_id=d").text
        refusing.post(f"{path}decline", data={"token": hidden(page, "token")})
        clock.ends()
        signed_in(client, study.path)
        page = client.get(f"/author/{path.strip('/').split('/')[1]}/", headers={"Accept-Language": "en"}).text
        assert "1 of 10 (10%)" in page, "refusals"
        assert "3 of 9 (33.3%)" in page, "dropouts"
        assert "among the tasks: 2; tasks answered before: 1, 2" in page
        assert "below the minimum of the plan, $3" in page
    assert (
        merilo(
            "study", "collect", study.path, "--out", tmp_path / "a.csv", "--counts", tmp_path / "p.json"
        ).status
        == 0
    )
    counts = json.loads((tmp_path / "p.json").read_text("utf-8"))
    assert counts["people"]["finished"] == 6
    age, brackets = counts["people"]["personal"]
    assert (age["options"], age["other"]) == ([], 8), "two other people would be told apart"
    assert brackets["declined"] == 8
    assert merilo("study", "import", study.path, tmp_path / "a.csv", tmp_path / "p.json").status == 0
    hb = tmp_path / "hb"
    assert merilo("study", "baseline", study.path, "--out", study.path / "baseline").status == 0
    assert merilo("report", study.path, "--out", hb).status == 0
    found = json.loads((hb / "baseline.json").read_text("utf-8"))
    assert found["participation"]["left"] == {"questions": 1, "working": 2}
    assert "an hour, less than the minimum of $3" in str(found["findings"])
    assert "<td>agreed and left before the end</td>" in plain(hb / "report.html")
    checklist = (hb / "checklist.md").read_text("utf-8")
    assert "| Board \\<b\\>, record 7 |" in checklist
    assert "| 3 of 9 (33.3%) of those who agreed |" in checklist
    assert "How old are you? all answers: too few people for single counts: 8" in checklist
    assert merilo("verify", hb).status == 0
    for change, said in (
        ({"people": {**counts["people"], "came": "ten"}}, "p.json, came: must be a whole number"),
        ({"people": {**counts["people"], "came": -1}}, "p.json, came: must be 0 or more"),
        ({"study": "another"}, "p.json: has counts of people of another study"),
    ):
        (tmp_path / "p.json").write_text(json.dumps({**counts, **change}), "utf-8")
        assert said in merilo("study", "import", study.path, tmp_path / "p.json").complaint


def plain(page: Path) -> str:
    """A page in English."""
    return re.sub(r'<span lang="ru">.*?</span>|</?span[^>]*>', "", page.read_text("utf-8"))


def test_the_freeze_names_what_the_consent_lacks_and_pay_below_the_minimum(frozen: Frozen) -> None:
    study = with_consent(frozen(), **{"per_page: 0.05": "minimum_per_hour: 3.0, per_page: 0.05"})
    warnings = " ".join(merilo("study", "validate", study.path, "--json", "-").json["warnings"])
    assert "lack consent.purpose.en, consent.data, consent.kept" in warnings
    assert "people earn 1.50 USD an hour at 30 tasks an hour, below the minimum of 3.00" in warnings
    assert "pay at least 0.10 for a page" in warnings


@pytest.mark.slow
def test_consent_refusal_and_questions_are_accessible_in_both_languages(frozen: Frozen, browser) -> None:
    check = AccessibilityCheck()
    with served_site(with_consent(frozen()).path) as (address, paths):
        for locale, refuse in (("ru-RU", "Не соглашаюсь"), ("en-US", "I do not agree")):
            person = Visitor(browser.new_context(locale=locale).new_page(), address)
            page = person.page
            person.come(f"{paths['people']}?worker_id={locale}")
            check(page, f"consent {locale}")
            page.get_by_role("button", name=refuse).click()
            page.wait_for_selector("a.main")
            check(page, f"refused {locale}")
            page.click("a.main")
            page.click("button.main")
            page.wait_for_selector("fieldset")
            check(page, f"questions {locale}")
            page.locator("label", has_text="25–34").click()
            check(page, f"a chosen option {locale}")
            page.click("button.main")
            page.wait_for_selector(".instruction")
    check.passed(8)
