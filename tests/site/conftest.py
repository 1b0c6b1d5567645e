"""Frozen studies for the tests of the site."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from site_process import running_site
from study_people import bundled_study

from merilo.studies.freezing import freeze_plan
from merilo.studies.study_folder import StudyFolder


@pytest.fixture
def frozen(tmp_path: Path) -> Callable[..., StudyFolder]:
    """A frozen study of a bundled dataset; its shots are the control items."""

    def made(name: str = "bps", **more: object) -> StudyFolder:
        folder = bundled_study(tmp_path / "study", name, **more)
        weights = "".join(f"{one.item.id},all,1\n" for one in folder.items())
        (folder.path / "weights.csv").write_text(f"id,stratum,weight\n{weights}", encoding="utf-8")
        freeze_plan(folder, day="2026-01-12", force=True)
        return folder

    return made


_STARTED: dict[str, tuple[str, str]] = {}


@pytest.fixture(scope="module")
def servers() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack
    _STARTED.clear()


@pytest.fixture
def served_once(servers: ExitStack) -> Callable[..., tuple[str, str]]:
    """Address and path of one server for all tests of a module."""

    def start(frozen: Callable[..., StudyFolder]) -> tuple[str, str]:
        if "people" not in _STARTED:
            address, paths, _ = servers.enter_context(running_site(frozen().path))
            _STARTED["people"] = address, paths["people"]
        return _STARTED["people"]

    return start
