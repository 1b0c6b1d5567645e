"""Imports point downward only, as the design says."""

import ast
import re
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from every import every

import merilo

ROOT = Path(merilo.__file__).parent
TESTS = Path(__file__).parent

#: A part may import the parts of lower levels, and its own.
LEVELS = {
    "cli": 10,
    "reports": 8,
    "site": 8.5,
    "submissions": 8,
    "runs": 7.5,
    "baselines": 7,
    "studies": 7.2,
    "models": 6,
    "people": 6,
    "sandbox": 6,
    "datasets": 5,
    "metrics": 4.5,
    "statistics": 4,
    "answer_tables": 4,
    "responses": 3.7,
    "file_reading": 3.5,
    "items": 3,
    "estimate": 3.2,
    "records": 3,
    "participation": 3.1,
    "strict_json": 2,
    "strict_yaml": 2,
    "files": 1,
    "atomic_write": 1,
    "plain_rows": 0,
    "wording": 0,
    "text": 0,
    "errors": 0,
    "settings": 3,
    "version": 0,
}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def part_of(module: str) -> str:
    return module.split(".")[1] if "." in module else "merilo"


def imports_of(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} uses a relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
    return {name for name in found if name.split(".")[0] == "merilo" and "." in name}


MODULES = sorted(path for path in ROOT.rglob("*.py") if path.parent != ROOT or path.stem in LEVELS)


#: The result of the library prints and saves itself, so this module alone may name what renders it.
RENDERED = {"baselines/baseline.py": "reports"}


@every("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_downward_only(path: Path) -> None:
    own = path.relative_to(ROOT).parts[0].removesuffix(".py")
    for name in imports_of(path):
        if part_of(name) == RENDERED.get(path.relative_to(ROOT).as_posix()):
            continue
        other = part_of(name)
        assert other in LEVELS, f"{name} is not a part of the house"
        assert other == own or LEVELS[other] < LEVELS[own], f"{own} must not import {other}"


#: These parts name a module by the command, function or page that it makes, so that it may have the name of what it shows.
DOORS = {"cli", "reports"}


def test_no_two_modules_share_a_name() -> None:
    where: dict[str, list[str]] = {}
    for path in MODULES:
        own = path.relative_to(ROOT)
        if own.parts[0] not in DOORS and path.name not in {"__init__.py", "__main__.py"}:
            where.setdefault(path.name, []).append(str(own))
    shared = [" and ".join(paths) for paths in where.values() if len(paths) > 1]
    assert not shared, f"modules of one name: {'; '.join(shared)}"


def test_no_two_public_classes_share_a_name() -> None:
    where: dict[str, list[str]] = {}
    for path in MODULES:
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                where.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    shared = [f"{name} in {' and '.join(paths)}" for name, paths in where.items() if len(paths) > 1]
    assert not shared, f"classes of one name: {'; '.join(shared)}"


def name_of(path: Path) -> str:
    """The name that a module is imported by."""
    return ".".join(["merilo", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__")


def test_no_modules_of_the_sandbox_import_each_other_in_a_circle() -> None:
    known = {name_of(path): path for path in MODULES if path.is_relative_to(ROOT / "sandbox")}
    left = {name: imports_of(path) & set(known) - {name} for name, path in known.items()}
    while free := [name for name, needed in left.items() if not needed & set(left)]:
        for name in free:
            del left[name]
    assert not left, f"these import each other: {', '.join(sorted(left))}"


@every("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_pattern_repeats_a_group_possessively(path: Path) -> None:
    """Python before 3.11.5 matches such groups wrongly, and nothing says so."""
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"\)(?:[*+?]|\{[\d,]+\})\+|\(\?>", text)


def test_every_test_has_a_time_limit_and_every_process_that_tests_start_an_end(
    pytestconfig: pytest.Config,
) -> None:
    assert pytestconfig.pluginmanager.hasplugin("timeout")
    assert 0 < float(pytestconfig.getini("timeout")) <= 600
    starts = [path.name for path in TESTS.rglob("*.py") if "subprocess.Popen(" in path.read_text("utf-8")]
    assert sorted(starts) == ["ended_process.py", "test_architecture.py"]


GUIDE = TESTS.parent / "CONTRIBUTING.md"
IN_A_CLONE = pytest.mark.skipif(not GUIDE.exists(), reason="CONTRIBUTING.md comes with a clone")


@IN_A_CLONE
def test_every_file_that_contributors_are_told_of_exists() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    house = re.findall(r"^  ([\w/.]+)  ", text[text.index("src/merilo/\n") :], re.MULTILINE)
    assert {name.removesuffix("/").removesuffix(".py") for name in house} >= LEVELS.keys()
    named = re.findall(r"`([\w./]+(?:/|\.(?:py|toml|md|po)))`|\]\(([\w./]+)\)", text)
    named = [name or link for name, link in named]
    missing = [
        name for name in (*house, *named) if not any((root / name).exists() for root in (ROOT, TESTS.parent))
    ]
    assert not missing
    assert len(house) >= 30
    assert len(named) >= 30


@IN_A_CLONE
def test_contributors_are_told_the_levels_of_imports() -> None:
    text = GUIDE.read_text(encoding="utf-8").partition("<!-- levels -->")[2].split("\n\n")[0]
    told = [set(re.findall(r"`(\w+)`", level)) for level in text.split(">")]
    heights = [[LEVELS[name] for name in level] for level in told]
    assert set().union(*told) == LEVELS.keys()
    assert all(min(upper) > max(lower) for upper, lower in pairwise(heights))
