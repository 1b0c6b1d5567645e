"""Several tasks on a page: saved together or partly, each with its share of the page's time."""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable

import pytest
from accessibility import AccessibilityCheck
from site_in_process import hidden, opened_site, state_of, to_first_task, visiting
from site_process import served_site
from site_visitor import Visitor, refrozen, stored

from merilo.site.answer_export import collect_answers
from merilo.site.journal import ServerClock
from merilo.studies.plan_checks import validate_study
from merilo.studies.study_folder import StudyFolder

Frozen = Callable[..., StudyFolder]

THREE = {"kind: basic": "kind: basic\n    items_on_screen: 3"}


class StandingClock(ServerClock):
    """A clock that a test moves."""

    def __init__(self, at: list[int]) -> None:
        super().__init__()
        self.at = at

    def now(self) -> int:
        return self.at[0]


@pytest.mark.thorough
def test_a_page_is_answered_by_keys_saved_partly_and_nothing_typed_is_lost(frozen: Frozen, browser) -> None:
    folder, check = refrozen(frozen("bps"), **THREE), AccessibilityCheck()
    with served_site(folder.path) as (address, paths):
        person = Visitor(browser.new_context(locale="ru-RU").new_page(), address)
        page = person.page
        person.begin(paths["people"] + "?worker_id=1")
        assert person.heading == "Задания 1–3"
        assert page.locator(".task .prompt").count() == 3
        check(page, "three tasks")
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        page.keyboard.press("0")
        page.locator("summary").nth(2).click()
        page.locator("textarea").nth(2).fill("не понял")
        person.send()
        assert person.heading == "Задание 3"
        assert "Остальные ответы сохранены" in page.inner_text("#error")
        assert page.input_value("textarea") == "не понял", (
            "what was typed beside a missing answer is there again"
        )
        check(page, "one task is left")
        person.choose("0")
        person.send()
        assert person.heading == "Задания 4–6"
        page.locator("input[value='1']").nth(1).check()
        page.reload()
        assert page.locator("input[value='1']").nth(1).is_checked(), "a chosen option outlives the page"
        person.send("pause")
        page.click("a.main")
        assert page.locator(".task").count() == 2
        check.passed(2)
    rows = stored(folder)
    assert sorted(row.answer for row in rows) == ["0", "0", "1", "1"]
    assert Counter(row.comment for row in rows) == {None: 3, "не понял": 1}


@pytest.mark.thorough
def test_pages_of_several_tasks_keep_the_overlap_and_share_their_time_and_pay(
    frozen: Frozen, database: str
) -> None:
    folder = refrozen(frozen("bps", overlap=2, experts=True), **THREE)
    now = [1_800_000_000_000]
    with opened_site(folder, StandingClock(now), database) as site, visiting(site) as client:
        study = state_of(site).study
        for name in "abc":
            client.cookies.clear()
            page = to_first_task(client, study.path, name)
            while tasks := re.findall(r'name="task" value="([^"]+)"', page):
                endings = [f"-{task}" if len(tasks) > 1 else "" for task in tasks]
                known = [study.tasks[study.numbers[task]].known or "1" for task in tasks]
                answers = {f"answer{ending}": text for ending, text in zip(endings, known, strict=True)}
                sent = dict(list(answers.items())[: 2 if name == "a" else 3])
                now[0] += 12_000
                page = client.post(
                    f"{study.path}task", data={"token": hidden(page, "token"), "task": tasks, **sent}
                ).text
        state = state_of(site)
        counted = [task for one in state.people.values() for task in one.order if one.tasks[task].counts]
        table = collect_answers(state).table
        assert Counter(Counter(counted).values()) == {2: study.rules.tests}
    rows = list(csv.DictReader(io.StringIO(table)))
    pages = Counter(row["page"] for row in rows)
    assert {2, 3} <= set(pages.values()) <= {1, 2, 3}
    for row in rows:
        assert float(row["seconds"]) == 12.0
        assert float(row["reward"]) == pytest.approx(0.05 * pages[row["page"]])


def test_a_page_that_takes_longer_than_its_tasks_are_kept_is_refused_and_so_are_turns(frozen: Frozen) -> None:
    bps, dialogues = frozen("bps").path, frozen("rutie", "turns").path
    for folder, tasks in ((bps, 16), (dialogues, 2)):
        plan = folder / "study.yaml"
        plan.write_text(
            plan.read_text("utf-8").replace("kind: basic", f"kind: basic\n    items_on_screen: {tasks}"),
            "utf-8",
        )
    (slow,) = [str(one) for one in validate_study(bps).problems if "items_on_screen" in str(one)]
    assert "a page takes 32 minutes, but after 30 its tasks go to others" in slow
    (turns,) = [str(one) for one in validate_study(dialogues).problems if "items_on_screen" in str(one)]
    assert "answered one after another" in turns
