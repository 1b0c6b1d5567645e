"""The commands on the pages print what the pages say.

`tests/support/documented.py` tells how a page marks them. After a change of output, `UPDATE_DOCS=1 pytest
tests/test_documented_commands.py` writes the text blocks anew (those without a line `...`); read them before you commit.
"""

import contextlib
import io
import itertools
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from made_once import made_demo
from simulated_pool import simulated_pool
from tests.support.command import merilo, printed
from tests.support.documented import (
    ANYTHING,
    Block,
    blocks,
    commands,
    is_part,
    pages,
    shows,
    stories,
    tidy,
    twins,
)

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))

PAGES = {str(path.relative_to(ROOT)): path for path in pages(ROOT)}
STORIES = {
    f"{name}:{group[0].line}": (path, number)
    for name, path in PAGES.items()
    for number, group in enumerate(stories(path.read_text(encoding="utf-8")))
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("DISPLAY", raising=False)
    return tmp_path


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `merilo demo` makes, for all pages that start with it."""
    return made_demo(tmp_path_factory) / "merilo-demo"


@pytest.mark.parametrize("story", STORIES)
def test_commands_print_what_the_page_shows(story: str, folder: Path, request: pytest.FixtureRequest) -> None:
    path, number = STORIES[story]
    group = stories(path.read_text(encoding="utf-8"))[number]
    faults: list[str] = []
    if group[0].place == "demo":
        shutil.copytree(request.getfixturevalue("demo"), folder / "merilo-demo")
    else:
        furnish(folder, group[0])
    for block, follower in itertools.pairwise([*group, None]):
        assert block
        if block.file:
            Path(block.file).parent.mkdir(parents=True, exist_ok=True)
            Path(block.file).write_text(block.text, encoding="utf-8")
        elif block.place:
            after = follower if follower and not follower.place and not follower.file else None
            for told, screen in run(block, after, lambda: request.getfixturevalue("demo")):
                if not shows(told, screen):
                    rewrite(path, told, tidy(screen))
                    faults.append(f"{story}, the block at line {block.line} prints:\n{tidy(screen)}")
    assert not faults, "\n\n".join(faults)


def run(block: Block, after: Block | None, demo: Callable[[], Path]) -> list[tuple[str, str]]:
    """Run a block. The demo is run once for all pages: it takes long, and always makes the same files.

    Returns:
        What the page shows, and what was printed.
    """
    output = after.text if after and after.language == "text" else None
    if block.language == "python":
        screen = io.StringIO()
        with contextlib.redirect_stdout(screen):
            exec(compile(block.text, f"the block at line {block.line}", "exec"), {})
        return [] if output is None else [(output, screen.getvalue())]
    found = []
    todo = commands(block)
    for command in todo:
        if command.words == ("demo", "--no-open"):
            shutil.copytree(demo(), "merilo-demo")
            continue
        last = command is todo[-1]
        expected = block.status if last else 0
        to_json = last and after is not None and after.language == "json" and "-" in command.words
        if command.to or to_json:
            done = merilo(*command.words)
            assert done.status == expected, done.err
            if command.to:
                Path(command.to).write_text(done.out, encoding="utf-8")
            elif after:
                assert not (fault := is_part(json.loads(after.text), done.json)), fault
            continue
        status, screen_text = printed(*command.words)
        assert status == expected, screen_text
        told = command.shows if command.shows is not None else output if last else None
        if told is not None:
            found.append((told, screen_text))
    return found


def furnish(folder: Path, block: Block) -> None:
    """Bring the files that the commands read."""
    if block.place.startswith("pools/"):
        pool = DATA / block.place
        if not pool.is_dir():
            pytest.skip(f"the published pool {block.place} is not beside this checkout")
        exports = sorted(pool.glob("assignments*.tsv"))
        for path in pool.iterdir():
            (folder / path.name).symlink_to(path)
        if len(exports) == 1:
            (folder / "assignments.tsv").symlink_to(exports[0])
        for name, pattern in block.names:
            (path,) = pool.glob(pattern)
            (folder / name).symlink_to(path)
    else:
        assert block.place == "empty folder", f"there is no place called '{block.place}'"


def rewrite(path: Path, told: str, screen: str) -> None:
    """Update an output on a page and its Russian twin if UPDATE_DOCS is set."""
    if os.environ.get("UPDATE_DOCS") and ANYTHING not in told.splitlines():
        for page in (path, *(russian for russian, english in twins(ROOT).items() if english == path)):
            text = page.read_text(encoding="utf-8")
            page.write_text(text.replace(f"\n{tidy(told)}\n", f"\n{screen}\n", 1), encoding="utf-8")


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_every_command_of_a_tutorial_is_run_from_nothing(path: Path) -> None:
    page = path.read_text(encoding="utf-8")
    assert len(stories(page)) == 1
    assert stories(page)[0][0].place == "empty folder"
    for block in blocks(page):
        if block.language in {"console", "python"}:
            assert block.place, f"the block at line {block.line} is not run"


@pytest.mark.parametrize("name", PAGES)
def test_every_output_on_a_page_is_checked(name: str) -> None:
    """Every block of commands with output is run, or the page states why not."""
    page = PAGES[name].read_text(encoding="utf-8")
    for block, after in itertools.pairwise([*blocks(page), None]):
        if block is None or block.language != "console" or block.place:
            continue
        lines = page.splitlines()
        if any("<!-- not run:" in line for line in lines[max(0, block.line - 4) : block.line - 1]):
            continue
        inside = [line for line in block.text.replace("\\\n", " ").splitlines() if not line.startswith("$ ")]
        assert not inside, f"{name}, line {block.line}: the output is not checked"
        assert after is None or after.language != "text", (
            f"{name}, line {after.line}: the output is not checked"
        )


@pytest.fixture
def baseline_json(folder: Path) -> Callable[..., dict]:
    pool = simulated_pool(folder, "bps", 20)

    def make(*options: str) -> dict:
        return merilo(
            *("baseline", pool / "export.tsv", "--dataset", "bps", "--gold", pool / "test.json"),
            *(*options, "--json", "-"),
        ).json

    return make


def test_every_key_of_the_baseline_json_is_explained(baseline_json: Callable[..., dict]) -> None:
    page = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"`([\w.]+)`", page))
    model = Path("bps/rule.jsonl")
    for options in ((), ("--resolve", "none"), ("--model", str(model))):
        found = baseline_json(*options)
        keys = {*found, *(key for metric in found["metrics"].values() for key in keys_of(metric))}
        for part in ("responses", "annotators", "items", "agreement", "cost", "gold"):
            keys |= {f"{part}.{key}" for key in found[part] or {}}
        missing = sorted(keys - explained)
        assert not missing, f"docs/json.md does not explain {', '.join(missing)}"


def test_every_file_of_a_baseline_folder_is_explained(demo: Path) -> None:
    page = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    for path in (demo / "everyday" / "hb").iterdir():
        named = f"`{path.name}/`" if path.is_dir() else f"`{re.sub('_(en|ru)$', '_*', path.stem)}."
        assert named in page, f"docs/report.md does not name {path.name}"


def keys_of(metric: dict) -> set[str]:
    inner = (keys_of(value) for value in metric.values() if isinstance(value, dict))
    return set(metric).union(*inner)


def test_blocks_are_run_where_the_comment_above_them_says() -> None:
    page = (
        "<!-- run: demo, exit status 1 -->\n```console\n$ merilo a \\\n    --b > c.yaml\n```\n\nIt prints:\n\n"
        "```text\nx\n```\n\n<!-- file: d.csv -->\n```\nid\n```\n\n```console\n$ merilo e\n```\n"
    )
    console, text, file, other = blocks(page)
    assert (console.place, console.status, text.place) == ("demo", 1, "")
    assert [(one.words, one.to) for one in commands(console)] == [(("a", "--b"), "c.yaml")]
    assert (file.file, other.place) == ("d.csv", "")
    with pytest.raises(ValueError, match="only merilo's commands"):
        commands(Block("console", "$ rm -r .\n", 1))
