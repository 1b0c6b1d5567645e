"""Large frozen studies for measurements of the site, and many people at work in them."""

from dataclasses import dataclass
from pathlib import Path

from edited_plan import edit_plan
from site_people import come_in, given
from study_people import frozen, study_of

from merilo.items import Item
from merilo.site.serving import opened_site, opened_studies
from merilo.site.site_requests import VisitorCookies

QUESTION = "Проверь, сбалансирована ли последовательность скобок.\nПоследовательность: {inputs}\nЕсли сбалансирована, выведи 1, если нет, то 0."


@dataclass(frozen=True)
class Browser:
    """What a browser holds of a person who has an item before them."""

    cookies: dict[str, str]
    token: str
    task: str


def brackets(number: int) -> str:
    """A sequence of brackets that differs for each number."""
    return f"{number:024b}".replace("0", "( ").replace("1", ") ").strip()


def speed_study(folder: Path, items: int, *, overlap: int = 50) -> Path:
    """A frozen study whose control items all have the answer 1, and in which people may answer everything."""
    tests = [Item(n, QUESTION, brackets(n), "1", {"id": n}) for n in range(items)]
    controls = [
        Item(f"c{n}", QUESTION, brackets((1 << 22) + n), "1", {"id": f"c{n}"}) for n in range(min(200, items))
    ]
    made = study_of(folder, tests, controls, overlap=overlap)
    edit_plan(made.path, {"arms.people.items_per_person": items})
    return frozen(made).path


def people_at_work(study: Path, count: int, database: str | None = None) -> list[Browser]:
    """Let people in who have read the instruction and have an item before them, without a server."""
    with opened_studies(study, database) as (journal, studies):
        site = opened_site(journal, studies)
        served, cookies, now = studies[0], site.cookies, site.clock.now()
        state, browsers = site.states[served.key], []
        for number in range(count):
            person = come_in(state, f"w{number}", now)
            shown = given(state, person, now)
            visit = cookies.new_visit()
            signed = {
                VisitorCookies.VISIT: visit,
                f"{VisitorCookies.PERSON}-{served.key}": cookies.person(person.id),
            }
            browsers.append(Browser(signed, cookies.form_token(visit), served.tasks[shown.number].id))
        journal.append(state.unwritten())
    return browsers
