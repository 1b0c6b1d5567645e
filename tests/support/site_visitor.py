"""A person at a page of the annotation site, in a real browser: by mouse, or by keyboard alone."""

from pathlib import Path
from typing import Any

from study_people import frozen

from merilo.site.serving import read_site
from merilo.site.state import Assignment
from merilo.studies.study_folder import StudyFolder

#: The task on the page, and its heading: when they change, the next page is there.
_SHOWN = "[document.querySelector('input[name=task]')?.value, document.querySelector('h1')?.innerText, location.href].join(' ')"


class Visitor:
    """A person with a page of a browser.

    Args:
        page: the page.
        address: the site's address.
    """

    def __init__(self, page: Any, address: str) -> None:
        self.page = page
        self.address = address

    def come(self, path: str) -> None:
        self.page.goto(self.address + path)

    def begin(self, path: str) -> None:
        """Come in, agree, read the instruction."""
        self.come(path)
        self.page.click("button.main")
        self.page.wait_for_selector(".instruction")
        self.page.click("button.main")
        self.page.wait_for_selector("form#item, a.main")

    @property
    def heading(self) -> str:
        return self.page.inner_text("h1")

    @property
    def task(self) -> str:
        return self.page.get_attribute("input[name=task]", "value")

    @property
    def prompt(self) -> str:
        """The prompt of the current task, not of the earlier turns."""
        return self.page.inner_text("form .prompt")

    def send(self, button: str = "next") -> None:
        """Press a button of the form and wait for the next page."""
        before = self.page.evaluate(_SHOWN)
        self.page.click(f"button[name=then][value={button}]")
        self.changed(before)

    def changed(self, before: str) -> None:
        self.page.wait_for_function(
            f"before => document.readyState === 'complete' && {_SHOWN} !== before", arg=before
        )

    def choose(self, label: str) -> None:
        self.page.locator(".options label").filter(has=self.page.locator(f"input[value='{label}']")).click()

    def press(self, key: str) -> None:
        """Press a key that leads to another page, and wait for it."""
        before = self.page.evaluate(_SHOWN)
        self.page.keyboard.press(key)
        self.changed(before)

    def tab_to(self, selector: str) -> None:
        """Press Tab until an element has the focus."""
        wanted = self.page.locator(selector).first
        wanted.wait_for()
        for _ in range(40):
            if wanted.evaluate("one => one === document.activeElement"):
                seen = self.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
                labelled = self.page.evaluate("document.activeElement.closest('.options label') !== null")
                assert seen != "none" or labelled, f"the focus on {selector} is not visible"
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"{selector} is not reached by Tab; the focus is on {self.focused}")

    @property
    def focused(self) -> str:
        return self.page.evaluate("document.activeElement.outerHTML.slice(0, 120)")


def stored(folder: StudyFolder) -> list[Assignment]:
    """The answers to items of everybody, in the order in which they were given."""
    people = read_site(folder.path).people.values()
    held = [person.tasks[task] for person in people for task in person.order]
    return sorted((one for one in held if one.state == "answered"), key=lambda one: one.place)


def refrozen(folder: StudyFolder, **changes: str) -> StudyFolder:
    """The same study with parts of its plan replaced, frozen again; "_" stands for a space in the part's name."""
    plan = folder.path / "study.yaml"
    text = plan.read_text(encoding="utf-8")
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    plan.write_text(text, encoding="utf-8")
    return frozen(folder)


def in_two_languages(folder: StudyFolder) -> StudyFolder:
    """The same study with pages and instruction in Russian and English."""
    (folder.path / "instruction.en.md").write_text("# Task\n\nAnswer the question.\n", encoding="utf-8")
    return refrozen(
        folder,
        **{
            "languages: [ru]": "languages: [ru, en]",
            "{ru: instruction.ru.md}": "{ru: instruction.ru.md, en: instruction.en.md}",
        },
    )


def with_samples(folder: Path, files: dict[str, bytes]) -> None:
    """Put files into the folder `samples/` beside the dataset's file."""
    samples = folder / "samples"
    samples.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (samples / name).write_bytes(content)
