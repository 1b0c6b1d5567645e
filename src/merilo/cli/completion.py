"""`merilo completion`: a script that completes commands and options in a shell, written from the commands."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

import typer

from merilo.cli import COMMANDS
from merilo.cli.application import every_command, subcommands

Shell: TypeAlias = Literal["bash", "zsh", "fish"]

app = typer.Typer(add_completion=False)

#: zsh runs scripts of bash after these two lines, and keeps those of the words that begin as the typed one.
_ZSH = "autoload -U +X compinit && compinit -u\nautoload -U +X bashcompinit && bashcompinit\n"

_BASH = """\
_merilo() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before= words= n
  for ((n = 1; n < COMP_CWORD; n++)); do
    case "$before${{COMP_WORDS[n]}}" in
      {groups}) before="$before${{COMP_WORDS[n]}} ";;
      {commands}) before="$before${{COMP_WORDS[n]}}"; break;;
    esac
  done
  case "$before" in
{cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _merilo merilo
"""

_FISH = """\
function __merilo_at
  set -l path
  for word in (commandline -opc)[2..-1]
    set -l next (string trim "$path $word")
    contains -- $next {known}; and set path $next
  end
  test "$path" = "$argv[1]"
end"""


@app.command()
def completion(
    shell: Annotated[Shell, typer.Argument(help="The shell.", show_default=False)],
) -> int:
    """Print the script that completes commands and options in a shell; the shell's start-up file evaluates it."""
    sys.stdout.write(script(shell))
    return 0


def script(shell: Shell) -> str:
    """Return the script for a shell."""
    known = _known()
    if shell == "fish":
        return _fish(known)
    groups = [path for path in known if path and any(other.startswith(f"{path} ") for other in known)]
    leaves = [path for path in known if path and path not in groups]
    cases = [
        f'    "{path}{" " if path in groups else ""}") words="{" ".join(words)}";;'
        for path, words in known.items()
    ]
    text = _BASH.format(
        groups="|".join(f'"{path}"' for path in groups),
        commands="|".join(f'"{path}"' for path in leaves),
        cases="\n".join(cases),
    )
    return _ZSH + text if shell == "zsh" else text


def _fish(known: Mapping[str, Mapping[str, str]]) -> str:
    lines = [_FISH.format(known=" ".join(f"'{path}'" for path in known if path))]
    for path, words in known.items():
        at = f"complete -c merilo -n '__merilo_at \"{path}\"'"
        for word, text in words.items():
            shown = text.partition("\n")[0].partition(". ")[0].rstrip(".").replace("'", "’")
            lines.append(
                f"{at} {f'-l {word[2:]}' if word.startswith('--') else f'-f -a {word}'} -d '{shown}'"
            )
    return "\n".join(lines) + "\n"


def _known() -> dict[str, dict[str, str]]:
    """Return, for each command, the words that can follow it, with their help; the program itself is the empty text."""
    known = {"": {name: text for name, (_, text) in COMMANDS.items()} | {"--help": "", "--version": ""}}
    for path, command in every_command():
        known[path] = {name: one.help or "" for name, one in subcommands(command).items()}
        for parameter in command.get_params(typer.Context(command)):
            if parameter.param_type_name == "option":
                known[path] |= {
                    name: parameter.help or "" for name in parameter.opts if name.startswith("--")
                }
    return known
