"""Edit the plan of a study as its author does, in `study.yaml`."""

from collections.abc import Mapping
from pathlib import Path

import yaml


def edit_plan(study: Path, changes: Mapping[str, object]) -> None:
    """Set keys of a plan.

    Args:
        study: the study's folder.
        changes: path of a key, such as `arms.people.overlap`, with `*` for every arm -> its new value.
    """
    path = study / "study.yaml"
    plan = yaml.safe_load(path.read_text(encoding="utf-8"))
    for key, value in changes.items():
        *parents, last = key.split(".")
        sections = [plan]
        for name in parents:
            sections = [one for held in sections for one in (held.values() if name == "*" else [held[name]])]
        for section in sections:
            section[last] = value
    path.write_text(yaml.safe_dump(plan, allow_unicode=True, sort_keys=False), encoding="utf-8")
