"""A study on Prolific: people come with their ids, go back with the code of their fate, and are paid once."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from command import Outcome, merilo
from prolific_server import TOKEN, Prolific, prolific_server
from site_in_process import hidden, opened_site, visiting
from site_process import served_site
from sqlalchemy import select
from study_people import study_of

from merilo.datasets import dataset
from merilo.datasets.ready_items import examples
from merilo.errors import DataError
from merilo.items import Item
from merilo.site.prolific_study import on_prolific
from merilo.site.schema import BONUS, ERASED, PERSON
from merilo.studies.study_folder import StudyFolder, freeze_plan, open_study
from merilo.studies.study_tasks import study_tasks

CODES = {"complete": "DONE0001", "no_consent": "NOCO0002", "screened_out": "SCRE0003", "stopped": "STOP0004"}
WRONG = {"0": "1", "1": "0"}


@pytest.fixture
def panel(tmp_path: Path) -> Callable[..., StudyFolder]:
    """A frozen study with a training, whose people get 6 items; its plan has the codes of Prolific or leaves them to `create`."""

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
        weights = "".join(f"{one.item.id},all,1\n" for one in study.items())
        (study.path / "weights.csv").write_text(f"id,stratum,weight\n{weights}", encoding="utf-8")
        study = open_study(study.path)
        freeze_plan(study, day="2026-01-12", force=True)
        return study

    return made


def renamed(item: Item, number: int) -> Item:
    """The item under another id."""
    return replace(item, id=number, meta={**item.meta, "id": number})


@pytest.fixture
def prolific(monkeypatch: pytest.MonkeyPatch) -> Iterator[Prolific]:
    """The service, where the commands find it."""
    with prolific_server() as (service, address):
        monkeypatch.setenv("PROLIFIC_URL", address)
        monkeypatch.setenv("PROLIFIC_TOKEN", TOKEN)
        yield service


def arrived(client: httpx.Client, path: str, person: str, session: str = "s1") -> str:
    """The first page of somebody whom Prolific sends."""
    return client.get(f"{path}?PROLIFIC_PID={person}&STUDY_ID=st1&SESSION_ID={session}").text


def sent(client: httpx.Client, path: str, page: str, **form: str) -> str:
    """The page after a form."""
    return client.post(path, data={"token": hidden(page, "token"), **form}).text


def trained(client: httpx.Client, path: str, page: str, answers: dict[str, str]) -> str:
    """Agree, read the instruction, answer the training; the page that follows."""
    page = sent(client, f"{path}consent", page)
    page = sent(client, f"{path}instruction", page)
    while f'action="{path}training"' in page:
        task = hidden(page, "task")
        sent(client, f"{path}training", page, task=task, answer=answers[task])
        page = client.get(path).text
    return page


def worked(client: httpx.Client, path: str, page: str, answers: dict[str, str], most: int = 100) -> str:
    """Answer until there is no task, or so many; the page that follows."""
    while 'name="task"' in page and most:
        most -= 1
        task = hidden(page, "task")
        page = sent(client, f"{path}task", page, task=task, answer=answers.get(task, "1"))
    return page


@pytest.mark.parametrize("fate", CODES)
def test_the_last_page_leads_back_with_the_code_of_the_fate(fate: str, panel, database: str) -> None:
    folder = panel()
    tasks = study_tasks(folder)
    known = {task.id: str(task.known) for task in (*tasks.controls, *tasks.training)}
    wrong = {task: WRONG[answer] for task, answer in known.items()}
    with opened_site(folder, database=database) as site, visiting(site) as client:
        (study,) = site.by_key.values()
        study.__dict__["rules"] = replace(study.rules, stop_after=1)
        page = arrived(client, study.path, "w1", "s0")
        page = arrived(client, study.path, "w1", "s1")
        if fate == "no_consent":
            page = sent(client, f"{study.path}decline", page)
            assert "Всё же участвовать" in page
        else:
            page = trained(client, study.path, page, wrong if fate == "screened_out" else known)
            page = worked(client, study.path, page, wrong if fate == "stopped" else known)
        assert f'href="https://app.prolific.com/submissions/complete?cc={CODES[fate]}"' in page
        assert not [code for code in CODES.values() if code != CODES[fate] and code in page]
        with site.engine.connect() as connection:
            row = connection.execute(select(PERSON)).one()
        assert (row.external, row.session, row.panel, row.completion) == ("w1", "s1", "st1", CODES[fate])


class Panel:
    """People whom Prolific sends to the site over HTTP.

    Args:
        service: Prolific.
        study: the study's id there.
        folder: the study.
    """

    def __init__(self, service: Prolific, study: str, folder: StudyFolder) -> None:
        self.service, self.study = service, study
        tasks = study_tasks(folder)
        self.known = {task.id: str(task.known) for task in (*tasks.controls, *tasks.training)}
        self.wrong = {task: WRONG[answer] for task, answer in self.known.items()}

    def comes(self, person: str) -> tuple[httpx.Client, str, str]:
        """A browser of somebody whom Prolific sends, the study's path, and the first page."""
        address = self.service.send(self.study, person)
        client = httpx.Client(base_url=address.partition("/s/")[0], follow_redirects=True, trust_env=False)
        return client, address[len(str(client.base_url)) :].partition("?")[0], client.get(address).text

    def takes_part(self, person: str, *, trains: bool = True, guesses: bool = False, most: int = 100) -> str:
        """Agree, train, work; the last page."""
        client, path, page = self.comes(person)
        with closing(client):
            page = trained(client, path, page, self.known if trains else self.wrong)
            return worked(client, path, page, self.wrong if guesses else self.known, most)

    def goes_back(self, person: str, page: str) -> None:
        """Press the button that leads back."""
        found = re.search(r'href="(https://app\.prolific\.com[^"]+)"', page)
        assert found is not None, page
        self.service.hand_in(person, found[1])

    def returns(self, *people: str, status: str = "RETURNED") -> None:
        """Give the place up."""
        for person in people:
            self.service.of(person)["status"] = status


def command(name: str, folder: StudyFolder, *words: object) -> Outcome:
    """Run a command of Prolific, which must do its work."""
    done = merilo("study", "prolific", name, folder.path, *words)
    assert done.status == 0, done.err
    return done


def test_the_whole_road_from_the_draft_to_the_baseline(
    panel, prolific: Prolific, both_databases: None, tmp_path: Path
) -> None:
    folder = panel(codes=False)
    people = tmp_path / "people.csv"
    with served_site(folder.path) as (address, _):
        made = command("create", folder, "--address", address, "--json", "-").json
        assert command("create", folder, "--publish").out.startswith(
            f"{made['study']}, UNPUBLISHED: 4 places, $0.40 each"
        )
        published = command("create", folder, "--publish", "--yes", "--json", "-").json
        assert published == {**made, "status": "ACTIVE"}
        assert len(prolific.studies) == 1
        come = Panel(prolific, made["study"], folder)

        client, path, page = come.comes("declines")
        with closing(client):
            come.goes_back("declines", sent(client, f"{path}decline", page))
        come.goes_back("fails", come.takes_part("fails", trains=False))
        come.takes_part("fails and returns", trains=False)
        come.goes_back("guesses", come.takes_part("guesses", guesses=True))
        come.takes_part("leaves", most=3)
        come.takes_part("late")
        come.returns("declines", "fails and returns", "leaves")
        come.returns("late", status="TIMED-OUT")
        followed = command("status", folder, "--json", "-").json
        assert (followed["given_back"], followed["missing_answers"], followed["missing_places"]) == (2, 24, 1)
        assert command("status", folder, "--json", "-").json["given_back"] == 0
        with httpx.Client(base_url=address, follow_redirects=True, trust_env=False) as client:
            assert "Вы отказались от места на Prolific" in arrived(client, path, "leaves")
            late = arrived(client, path, "late")
        come.goes_back("late", late)
        followed = command("status", folder, "--json", "-").json
        assert followed["reinstated"] == 1
        assert followed["missing_answers"] in {17, 18}, "one or two of 8 tasks are control items"
        finished = 1
        while command("status", folder, "--json", "-").json["missing_answers"]:
            come.goes_back(f"person {finished}", come.takes_part(f"person {finished}"))
            finished += 1
        come.goes_back("nothing left", come.takes_part("nothing left"))

        followed = command("status", folder, "--out", people, "--json", "-").json
    assert (followed["missing_answers"], followed["to_approve"]) == (0, finished)
    assert followed["people"] == {"AWAITING REVIEW": finished + 2, "RETURNED": 3, "SCREENED OUT": 1}
    rows = {row["id"]: row for row in csv.DictReader(io.StringIO(people.read_text("utf-8")))}
    assert ",".join(rows["late"]) == "id,session,status,stage,code,answers,minutes,pay,bonus"
    codes = {code["code_type"]: code["code"] for code in prolific.studies[made["study"]]["completion_codes"]}
    told = {name: (rows[name]["code"], rows[name]["pay"], rows[name]["bonus"]) for name in rows}
    assert told["declines"] == (codes["NO_CONSENT"], "0.00", "0.00")
    assert told["fails"] == (codes["FIXED_SCREENOUT"], "0.30", "0.00")
    assert told["fails and returns"] == (codes["FIXED_SCREENOUT"], "0.30", "0.30")
    work = f"{0.05 * int(rows['guesses']['answers']):.2f}"
    assert told["guesses"] == (codes["FAILED_ATTENTION_CHECK"], work, "0.00")
    assert told["leaves"] == (codes["FAILED_ATTENTION_CHECK"], "0.00", "0.00")
    assert told["nothing left"] == (codes["COMPLETED"], "0.00", "0.00")
    assert told["late"] == told["person 1"] == (codes["COMPLETED"], "0.40", "0.00")
    assert {rows[name]["session"] for name in rows} == set(prolific.submissions)

    statuses = Counter(one["status"] for one in prolific.submissions.values())
    assert command("approve", folder).out.startswith(
        f"to approve: {finished} submissions, ${0.4 * finished:.2f}".removesuffix(".00")
    )
    assert Counter(one["status"] for one in prolific.submissions.values()) == statuses
    assert command("approve", folder, "--yes", "--json", "-").json["approved"] == finished
    assert command("approve", folder, "--yes", "--json", "-").json["approved"] == 0
    assert prolific.of("late")["status"] == "APPROVED"
    assert prolific.of("guesses")["status"] == "AWAITING REVIEW"

    come.returns("guesses")
    due = {prolific.of("fails and returns")["id"]: 0.3, prolific.of("guesses")["id"]: float(work)}
    assert command("pay", folder, "--json", "-").json["bonuses"] == due
    assert not prolific.payments
    assert command("pay", folder, "--yes", "--json", "-").json["bonuses"] == due
    again = command("pay", folder, "--yes", "--json", "-").json
    assert (again["bonuses"], again["unconfirmed"]) == ({}, 2)
    prolific.settle()
    again = command("pay", folder, "--yes", "--json", "-").json
    assert (again["bonuses"], again["unconfirmed"]) == ({}, 0)
    text = people.read_text("utf-8").splitlines(keepends=True)
    people.write_text(
        "".join(re.sub("0.00$", "0.50", row) if "person 1" in row else row for row in text), "utf-8"
    )
    for _ in range(2):
        command("pay", folder, "--bonuses", people, "--yes")
        prolific.settle()
    assert prolific.bonuses() == {
        "fails and returns": 30,
        "guesses": round(100 * float(work)),
        "person 1": 50,
    }

    answers = tmp_path / "answers.csv"
    assert merilo("study", "collect", folder.path, "--out", answers).status == 0
    assert merilo("study", "import", folder.path, answers).status == 0
    baseline = merilo("study", "baseline", folder.path, "--json", "-").json
    assert baseline["annotators"]["excluded"] == 1
    assert baseline["items"]["overlap"] == {"2": 12}


def test_a_payment_whose_answer_is_lost_is_not_made_twice(panel, prolific: Prolific, tmp_path: Path) -> None:
    folder = panel()
    with served_site(folder.path) as (address, _):
        study = command("create", folder, "--address", address, "--publish", "--yes", "--json", "-").json[
            "study"
        ]
        come = Panel(prolific, study, folder)
        come.takes_part("fails", trains=False)
    assert {code["code"] for code in prolific.studies[study]["completion_codes"]} == set(CODES.values())
    come.returns("fails")
    prolific.lost = {"/pay/"}
    complaint = merilo("study", "prolific", "pay", folder.path, "--yes").complaint
    assert (
        "whether Prolific pays 1 bonus is not known: look at its pages, and give --again only if" in complaint
    )
    assert command("pay", folder, "--yes", "--json", "-").json["unconfirmed"] == 1
    assert len(prolific.queue) == 1
    prolific.queue.clear()  # it was never paid
    for _ in range(2):
        assert "--again" in command("pay", folder, "--yes").err
    command("pay", folder, "--yes", "--again")
    prolific.settle()
    command("pay", folder, "--yes", "--again")
    prolific.settle()
    assert prolific.bonuses() == {"fails": 30}

    session = prolific.of("fails")["id"]
    table = tmp_path / "people.csv"
    pay = ("study", "prolific", "pay", folder.path, "--bonuses", table, "--yes")
    for row, why in (
        ("x,1.00", "people.csv, session: there is no 'x' in this study"),
        (f"{session},1.005", "people.csv, row 2: needs a session and an amount in whole cents, such as 0.50"),
        (f"{session},1.00\n{session},1.00", f"people.csv, row 3: the session {session} stands twice"),
    ):
        table.write_text(f"session,bonus\n{row}\n", "utf-8")
        assert merilo(*pay).complaint.endswith(why)
    table.write_text(f"session,bonus\n{session},1.00\n", "utf-8")
    prolific.refused = {"/pay/"}
    assert merilo(*pay).complaint.endswith("/pay/ (status 400): not enough money")
    command("pay", folder, "--bonuses", table, "--yes")
    prolific.settle()
    assert prolific.bonuses() == {"fails": 100}

    with on_prolific(folder.path) as panel_study:
        report = panel_study.report()
        plan = panel_study.due(report, {session: 120})
        panel_study.pay(report, plan)
        with pytest.raises(DataError, match="another command asked for these bonuses meanwhile"):
            panel_study.pay(report, plan)
        prolific.settle()
        assert merilo("study", "erase", folder.path, "fails", "--yes").status == 0
        with panel_study.engine.connect() as connection:
            assert set(connection.scalars(select(BONUS.c.session))) == {ERASED}
            assert connection.execute(select(PERSON.c.session, PERSON.c.panel)).one() == (None, None)
    assert prolific.bonuses() == {"fails": 120}


def test_what_prolific_cannot_do_is_said_in_one_sentence(panel, prolific: Prolific, monkeypatch) -> None:
    def complaint(name: str, *words: object) -> str:
        return merilo("study", "prolific", name, folder.path, *words).complaint

    folder = panel(per_page=None)
    assert "does not state the pay (arms.people.pay.per_page)" in complaint(
        "create", "--address", "http://127.0.0.1"
    )
    (folder.path / "site.db").unlink()
    folder = panel(screening=0.4)
    assert "screening must be less than the pay of a complete part (0.40)" in complaint(
        "create", "--address", "http://a"
    )
    (folder.path / "site.db").unlink()
    folder = panel()
    assert "the address of the site is not known: give --address URL" in complaint("create")
    assert "is not on Prolific: run 'merilo study prolific create' first" in complaint("status")
    assert complaint("create", "--address", "a").endswith("(status 400): external_study_url: not a URL")
    assert complaint("create", "--adopt", "5f3a").endswith("GET studies/5f3a/ (status 404): Not found.")
    prolific.currency = "GBP"
    command("create", folder, "--address", "https://study.example.org")
    assert "pays this study in GBP, and the plan says USD" in complaint("create", "--publish", "--yes")
    assert "pays this study in GBP, and the plan says USD" in complaint("approve", "--yes")
    assert "this study is on Prolific already, as 5f0" in complaint("create", "--adopt", "5f3a")
    assert complaint("create", "--places", 9).endswith("000: change it on Prolific's pages")
    monkeypatch.setenv("PROLIFIC_TOKEN", "wrong")
    assert complaint("status").endswith(
        "Prolific does not accept the token in PROLIFIC_TOKEN for this request"
    )
    monkeypatch.delenv("PROLIFIC_TOKEN")
    assert "there is no token of Prolific" in complaint("status")
    monkeypatch.setenv("PROLIFIC_TOKEN", TOKEN)
    monkeypatch.setenv("PROLIFIC_URL", "http://api.example.org")
    assert "PROLIFIC_URL must be an address with https://" in complaint("status")
    monkeypatch.setenv("PROLIFIC_URL", "http://127.0.0.1:1")
    assert "Prolific does not answer at http://127.0.0.1:1 (" in complaint("status")


def test_hostile_text_of_the_panel_reaches_no_terminal_and_no_spreadsheet(
    panel, prolific: Prolific, tmp_path: Path
) -> None:
    folder, people = panel(), tmp_path / "people.csv"
    made = command(
        "create", folder, "--address", "https://study.example.org", "--publish", "--yes", "--json", "-"
    ).json
    prolific.send(made["study"], "=HYPERLINK(A1)")
    visit = prolific.of("=HYPERLINK(A1)")
    visit.update(status="\x1b]0;owned\x07\x1b[2JAPPROVED", study_code="@SUM(A1)\r\n")
    followed = merilo("study", "prolific", "status", folder.path, "--out", people)
    assert followed.status == 0
    assert not {"\x1b", "\x07"} & set(followed.out + followed.err)
    (row,) = csv.DictReader(io.StringIO(people.read_text("utf-8")))
    assert not any(value.startswith(("=", "@", "+", "-")) for value in row.values())
    prolific.studies[made["study"]]["status"] = "\x1b[31mACTIVE"
    assert "\x1b" not in merilo("study", "prolific", "status", folder.path).out
    prolific.submissions["\x1b[2J"] = {**visit, "id": "\x1b[2J", "status": ["ACTIVE"]}
    assert "\x1b" not in merilo("study", "prolific", "status", folder.path).err
