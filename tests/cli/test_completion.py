"""Shells complete what the commands declare."""

import shutil
import subprocess
from pathlib import Path

import pytest
from command import merilo

#: What a shell prints as completions of the line, given the script.
_ASK = {
    "bash": """source "$1"; COMP_WORDS=(${@:2}); [ "${@: -1}" ] || COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _merilo; printf '%s\\n' "${COMPREPLY[@]}" """,
    "zsh": """autoload -U compinit && compinit -D -u; source "$1"
        words=("${@:2}"); setopt ksharrays; COMP_WORDS=("${words[@]}"); COMP_CWORD=$((${#words[@]} - 1))
        _merilo; printf '%s\\n' "${COMPREPLY[@]}" """,
    "fish": 'source $argv[1]; complete --do-complete "$argv[2..-1]" | string split -f1 \\t',
}


@pytest.mark.parametrize("shell", sorted(_ASK))
@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (["merilo", "ba"], {"baseline"}),
        (["merilo", "study", "fr"], {"freeze"}),
        (["merilo", "baseline", "pool.tsv", "--min-v"], {"--min-votes"}),
        (["merilo", "report", "export", "hb", "--form"], {"--format"}),
        (["merilo", "study", "mturk", "app"], {"approve"}),
    ],
)
def test_a_shell_completes(shell: str, line: list[str], wanted: set[str], tmp_path: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "merilo"
    script.write_text(merilo("completion", shell).out)
    call = [program, *(["--no-config"] if shell == "fish" else []), "-c", _ASK[shell]]
    name = [] if shell == "fish" else [shell]
    done = subprocess.run([*call, *name, script, *line], capture_output=True, text=True, check=False)
    found = {word for word in done.stdout.split() if word.startswith(line[-1])}
    assert found == wanted, done.stderr
