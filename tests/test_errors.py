"""Errors name arguments as their reader writes them."""

import ast
import re
from pathlib import Path

import pytest
from command import merilo
from every import every

import merilo as package
from merilo.errors import InputError, UsageError, argument, for_command_line, for_library
from merilo.settings import Settings

ROOT = Path(package.__file__).parent


def test_one_sentence_names_an_argument_in_two_ways() -> None:
    error = UsageError(f"give {argument('encoding', 'cp1251', given='cp1251')}", field=argument("min_votes"))
    assert str(error) == "min_votes: give encoding='cp1251'"
    assert error.on_command_line == "--min-votes: give --encoding cp1251"
    assert error.place.field == "min_votes"


def test_an_error_made_of_another_keeps_both_names() -> None:
    first = UsageError(f"give {argument('gold', 'FILE')}")
    second = InputError(f"{first.marked} or nothing", file="a.csv")
    assert (str(second), second.on_command_line) == (
        "a.csv: give gold or nothing",
        "a.csv: give --gold FILE or nothing",
    )


@every("text", ["", "a {b} c", "--min-votes", "\\1 \\2", "ﷲ"])
def test_a_text_that_names_no_argument_stays_as_it_is(text: str) -> None:
    assert for_library(text) == for_command_line(text) == text


def test_the_command_line_names_flags_and_the_library_names_arguments(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^min_votes must be 1 or more or 'majority'$"):
        Settings(min_votes=0)
    pool = tmp_path / "pool.csv"
    pool.write_text("item,annotator,answer\n1,a,x\n")
    complaint = merilo("baseline", pool, "--min-votes", "0").complaint
    assert complaint.endswith("--min-votes must be 1 or more or 'majority'")


BELOW = sorted(path for path in ROOT.rglob("*.py") if "cli" not in path.relative_to(ROOT).parts)


def literals(path: Path) -> list[str]:
    """The texts in a module, without docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in statements
    ]


#: Flags of other programs, help of options, the label of a report of the command line, and commands that a provenance records.
OTHERS = {
    "backends.py", "baseline_facts.py", "docker.py", "log_formats.py", "plan.py", "page.py", "settings.py", "study_baseline.py",
}  # fmt: skip


@pytest.mark.thorough
def test_no_message_below_the_command_line_writes_a_flag() -> None:
    found = [
        f"{path.name}: {text}"
        for path in BELOW
        if path.name not in OTHERS
        for text in literals(path)
        if re.search(r"(?<![\w-])--[a-z]", text)
    ]
    assert not found, found
