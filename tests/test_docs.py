"""Documentation and code say the same."""

import re
from pathlib import Path

import pytest
from scripts.docs_commands import every_command, reference
from tests.support.documented import blocks, twins

from merilo import errors
from merilo.cli import COMMANDS
from merilo.cli.application import subcommands
from merilo.datasets import dataset, names
from merilo.version import __version__

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))


def test_the_reference_lists_every_command_and_option() -> None:
    page = reference()
    for path, command in every_command():
        if not subcommands(command):
            assert f"merilo {path}\n" in page
            for parameter in command.params:
                if parameter.param_type_name == "option" and not getattr(parameter, "hidden", False):
                    assert parameter.name == "help" or parameter.opts[-1] in page


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_told_of(name: str) -> None:
    told = [path for path in PAGES if f"merilo {name}" in path.read_text(encoding="utf-8")]
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
    "path",
    [*PAGES, ROOT / "README.md", ROOT / "README.ru.md"],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_links_between_pages_lead_somewhere_and_named_benchmarks_are_there(path: Path) -> None:
    for script in re.findall(r"benchmarks/[\w/]+\.\w+", path.read_text(encoding="utf-8")):
        assert (ROOT / script).exists(), f"{path.name} names {script}"
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", without_code(path)):
        if target.startswith(("http:", "https:", "mailto:")):
            continue
        page = path.parent / target if target else path
        assert page.exists(), f"{path.name} links to {target}"
        if anchor and page.suffix == ".md":
            assert anchor in anchors(page), f"{path.name} links to {target}#{anchor}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(DOCS)))
def test_a_page_says_in_its_first_line_who_needs_it(path: Path) -> None:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines()[1:] if line]
    first = next(line for line in lines if not re.fullmatch(r"\[(По-русски|In English)\]\(.*\)", line))
    assert path.name == "commands.md" or first.startswith(("For ", "Для ")), first


def without_code(path: Path) -> str:
    fence = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
    return fence.sub("", path.read_text(encoding="utf-8"))


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as mkdocs and GitHub make them."""
    titles = re.findall(r"^#+ (.+)$", without_code(path), re.MULTILINE)
    return {re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in titles}


@pytest.mark.parametrize("path", twins(ROOT), ids=lambda path: str(path.relative_to(DOCS)))
def test_a_russian_page_has_the_sections_and_the_code_of_the_english_one(path: Path) -> None:
    """Only the comments behind commands are translated."""
    assert shape(path) == shape(twins(ROOT)[path]), "change both pages"


def shape(path: Path) -> tuple[int, list[str]]:
    """The number of sections and the code of a page without comments behind commands."""
    sections = re.findall(r"^## ", without_code(path), re.MULTILINE)
    code = [re.sub(r" +# .*", "", block.text) for block in blocks(path.read_text(encoding="utf-8"))]
    return len(sections), code


def test_the_citation_names_the_version() -> None:
    assert f"version: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_every_page_is_in_the_navigation() -> None:
    named = re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(named) == sorted(["commands.md", *(str(path.relative_to(DOCS)) for path in PAGES)])
