"""`merilo code`: run and score generated programs."""

from __future__ import annotations

import typer

from merilo.cli.code_doctor import doctor
from merilo.cli.code_score import score

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Run generated programs in a sandbox and score them."
)


@app.callback()
def code() -> None:
    """Run generated programs in a sandbox and score them."""


app.command("score")(score)
app.command("doctor")(doctor)
