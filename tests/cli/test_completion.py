"""Shells complete what the commands declare."""

import pytest
from command import merilo

from merilo.cli import COMMANDS


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("merilo ba", {"baseline"}),
        ("merilo ", set(COMMANDS)),
        ("merilo study fr", {"freeze"}),
        ("merilo baseline pool.tsv --min-v", {"--min-votes"}),
    ],
)
def test_a_shell_completes(line: str, wanted: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_MERILO_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
    done = merilo()
    assert done.status == 0
    assert set(done.out.split()) == wanted


def test_the_script_of_a_shell_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_MERILO_COMPLETE", "source_fish")
    assert merilo().out.startswith("complete --command merilo ")
