"""Documentation and code say the same."""

import re
from pathlib import Path

import pytest

from merilo import errors
from merilo.cli import COMMANDS
from merilo.cli.reference import reference
from merilo.datasets import dataset, names

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))


def test_the_reference_of_commands_is_that_of_the_commands() -> None:
    page = (DOCS / "commands.md").read_text(encoding="utf-8")
    assert page == reference(), "run `make reference`"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_told_of_beyond_its_reference(name: str) -> None:
    told = [
        path
        for path in PAGES
        if path.name != "commands.md" and f"merilo {name}" in path.read_text(encoding="utf-8")
    ]
    assert told, f"no page explains 'merilo {name}'"


@pytest.mark.parametrize("name", names())
def test_every_dataset_is_documented(name: str) -> None:
    page = (DOCS / "datasets.md").read_text(encoding="utf-8")
    assert dataset(name).title in page


def test_every_error_stands_in_the_tree_at_the_head_of_its_module() -> None:
    classes = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, Exception)
    }
    assert all(name in (errors.__doc__ or "") for name in classes)


@pytest.mark.parametrize(
    "path", [*PAGES, ROOT / "README.md", ROOT / "README.ru.md"], ids=lambda path: path.name
)
def test_links_between_pages_lead_somewhere(path: Path) -> None:
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if not target.startswith(("http:", "https:", "mailto:")):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_every_page_is_in_the_navigation() -> None:
    named = re.findall(r"([\w-]+\.md)", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert sorted(named) == sorted(path.name for path in PAGES)
