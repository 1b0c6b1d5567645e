"""Hostile texts in every field that is shown, in a real Chromium: no script runs, the policy is not asked, the text is shown as it is."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from urllib.parse import quote

import pytest
from author_session import author_link
from hostile_text import HOSTILE
from markupsafe import escape
from site_in_process import hidden, opened_site, visiting
from site_process import served_site
from study_people import frozen, study_of

from merilo.items import Item
from merilo.site.serving import invite_to_site
from merilo.studies.study_folder import StudyFolder

#: Texts of one item, so that a study of a few items shows all of them.
PACKS = tuple(HOSTILE[start : start + 16] for start in range(0, len(HOSTILE), 16))
NAME = "".join(HOSTILE[44:52]) + "{{ 7*7 }}"


def packed(texts: Sequence[str]) -> str:
    return "\n".join(texts)


def frozen_study(path, **more: object) -> StudyFolder:
    items = [
        Item(f"<b onclick=alert({n})>", "Текст: {inputs}\nОтвет:", packed(pack), f"gold {n}", {"id": f"<b onclick=alert({n})>"})
        for n, pack in enumerate(PACKS)
    ]  # fmt: skip
    training = [
        Item(f"t{n}", "{inputs}", packed(pack), pack[0], {"id": f"t{n}", "hint": packed(pack)})
        for n, pack in enumerate(PACKS)
    ]
    controls = [Item("c0", "{inputs}", "Контроль", "ответ", {"id": "c0"})]
    study = study_of(
        path, items, controls, name=json.dumps(NAME), dataset_name="rudetox", training=training,
        instruction="# " + HOSTILE[0] + "\n\n" + "\n\n".join(HOSTILE) + "\n\n[x](javascript:alert(1)) <javascript:alert(1)>\n", **more,
    )  # fmt: skip
    plan = study.path / "study.yaml"
    plan.write_text(
        plan.read_text("utf-8").replace("training: {}", "training: {threshold: 0.0}"), encoding="utf-8"
    )
    return frozen(study)


class Watched:
    """A page of a browser that notes dialogs, errors, refusals of the policy, and requests to other sites."""

    def __init__(self, browser, address: str) -> None:
        self.address = address
        self.noticed: list[str] = []
        context = browser.new_context(locale="ru-RU")
        self.page = context.new_page()
        self.page.on(
            "dialog", lambda dialog: (self.noticed.append(f"dialog {dialog.message}"), dialog.dismiss())
        )
        self.page.on(
            "console", lambda said: self.noticed.append(said.text) if not _expected(said.text) else None
        )
        self.page.on("pageerror", lambda error: self.noticed.append(str(error)))
        self.page.on("request", lambda one: self.noticed.append(one.url) if not one.url.startswith((address, "data:,")) else None)  # fmt: skip

    def open(self, path: str) -> None:
        self.page.goto(self.address + path)
        self.check()

    def check(self) -> None:
        assert not self.noticed, self.page.url
        state = self.page.evaluate(
            "[document.scripts.length, document.querySelectorAll('main svg script, main svg use, main svg animate, main math, main iframe, main object, main embed, main base, main meta, "
            "main link, main style, main marquee, main b, main template').length, [...document.querySelectorAll('*')].flatMap((one) => [...one.attributes])"
            ".filter((one) => one.name.startsWith('on') || /^\\s*(javascript|data:text)/i.test(one.value)).map((one) => one.name + '=' + one.value)]"
        )
        assert state[0] <= 1, "the site's own script alone"
        # A text in the value of a field may look like an address; an attribute that runs or leads somewhere may not.
        assert state[1] == 0
        assert not [one for one in state[2] if not one.startswith(("value=", "title=", "aria-label="))]

    def submit(self, **fields: str) -> None:
        """Fill the form of the item and send it as a browser without the script does."""
        with self.page.expect_navigation():
            self.page.evaluate(
                "(fields) => { const form = document.getElementById('item'); for (const [name, value] of Object.entries(fields)) {"
                "const found = form.querySelector(`textarea[name='${name}'], input[name='${name}']`); if (found) { found.removeAttribute('maxlength'); found.value = value; } }"
                "HTMLFormElement.prototype.submit.call(form); }",
                fields,
            )
        self.check()

    def shown(self, selector: str) -> str:
        return "".join(self.page.eval_on_selector_all(selector, "(all) => all.map((one) => one.textContent)"))


def _expected(text: str) -> bool:
    """What Chromium writes of an answer with status 404 or 422."""
    return text.startswith("Failed to load resource: the server responded with a status of 4")


def enter(browser, address: str, folder: StudyFolder) -> Watched:
    """A browser that has opened the author's link."""
    author = Watched(browser, address)
    author.page.goto(address + author_link(folder.path))
    author.page.wait_for_selector("#progress")
    author.check()
    return author


def lines_of(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()]


def test_the_corpus_is_large_and_without_repetition() -> None:
    assert len(set(HOSTILE)) == len(HOSTILE) >= 60


def test_annotators_and_the_author_see_hostile_texts_as_texts(tmp_path, browser) -> None:
    folder = frozen_study(tmp_path / "study")
    with served_site(folder.path) as (address, paths):
        path = paths["people"]
        seen = Watched(browser, address)
        seen.open(f"{path}?worker_id={quote(HOSTILE[0] + HOSTILE[44])}&note=" + quote(HOSTILE[0]))
        assert NAME in seen.page.title()
        assert seen.shown("header .name, header a").count(NAME) >= 1
        seen.page.click("button.main")
        instruction = seen.shown(".instruction")
        plain = [text for text in HOSTILE[:52] if not set(text) & set("`\\&*_[]#")]
        assert len(plain) > 30
        assert not [text for text in plain if " ".join(text.split()) not in " ".join(instruction.split())]
        seen.check()
        seen.page.click("button.main")
        for pack in PACKS:
            assert packed(pack) in seen.shown(".prompt")
            seen.submit(answer="<img src=x onerror=alert(2)>")
            main = seen.shown("main")
            assert packed(pack) in main
            assert main.count(pack[0]) >= 2, "the known answer"
            assert "<img src=x onerror=alert(2)>" in seen.shown(".given")
            seen.open(path)
        answered = 0
        while seen.page.query_selector("form#item"):
            pack = PACKS[answered % len(PACKS)]
            typed = "".join(pack)
            seen.submit(answer=typed, comment=packed(pack) + "x" * 2001)
            assert seen.page.input_value("#answer") == typed.replace("\n", "").replace("\r", "")
            assert seen.page.input_value("#comment").startswith(packed(pack))
            seen.submit(comment=packed(pack))
            answered += 1
        assert answered >= len(PACKS)
        for odd in ("pause?note=", "?language=", "nothing/"):
            seen.open(path + odd + quote(HOSTILE[0]))
            assert HOSTILE[0] not in seen.page.content()
        seen.open("/i/" + quote(HOSTILE[6], safe=""))

        author = enter(browser, address, folder)
        assert NAME in author.shown("header")
        key = path.strip("/").split("/")[1]
        for name in ("", "?invite=1", "?sort=" + quote(HOSTILE[0])):
            author.open(f"/author/{key}/{name}")
            assert NAME in author.shown("body")
        main = author.shown("main")
        assert HOSTILE[0] + HOSTILE[44] in main, "the platform's id"
        author.open(author.page.get_attribute("a[href*='person=p']", "href"))
        reason = " ".join(HOSTILE[6:20])
        author.page.fill("#reason", reason[:400])
        with author.page.expect_navigation():
            author.page.click("form[action$='exclude'] button")
        author.check()
        assert reason[:400] in author.shown("main")
        for table in ("answers.csv", "comments.csv", "log.csv"):
            got = author.page.request.get(f"{address}/author/{key}/{table}")
            assert got.headers["content-type"].startswith("text/csv")
            assert got.headers["x-content-type-options"] == "nosniff"
            assert got.headers["content-disposition"].startswith("attachment")
            rows = list(csv.reader(io.StringIO(got.text())))
            assert len({len(row) for row in rows}) == 1
            if table != "answers.csv":
                assert not [cell for row in rows for cell in row if cell[:1] in "=+@" and cell], "no formulas"


@pytest.mark.thorough
def test_names_of_experts_are_texts_too(tmp_path, browser) -> None:
    folder = frozen_study(tmp_path / "study", experts=True)
    names = tuple(" ".join(text.split())[:200] for text in (*HOSTILE[:3], *HOSTILE[44:50]))
    invite_to_site(folder.path, experts=names)
    with served_site(folder.path) as (address, paths):
        author = enter(browser, address, folder)
        key = paths["experts"].strip("/").split("/")[1]
        author.open(f"/author/{key}/?invite=1")
        for name in names:
            assert name in author.shown("main")
        author.page.fill("textarea[name=names]", "\n".join(HOSTILE[6:9]))
        with author.page.expect_navigation():
            author.page.click("form:has(textarea[name=names]) button.main")
        author.check()
        for name in HOSTILE[6:9]:
            assert name in author.shown("main")


@pytest.mark.parametrize(
    "text", ["</title><script>alert(1)</script>", '" onmouseover="alert(1)', "{{ 7*7 }}"]
)
def test_a_wrong_code_is_shown_as_it_was_typed(frozen: Callable[..., StudyFolder], text: str) -> None:
    with opened_site(frozen()) as site, visiting(site) as client:
        token = hidden(client.get("/").text, "token")
        page = client.post("/enter", data={"token": token, "code": text}).text
        assert str(escape(text)) in page
        assert escape(text) == text or text not in page
        assert "49" not in page.replace(token, "")
