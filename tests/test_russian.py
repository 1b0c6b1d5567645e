"""Habits of the Russian texts."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = [
    path
    for pattern in (
        *("src/merilo/**/*.py", "src/merilo/**/*.j2", "src/merilo/**/*.yaml"),
        *("README.ru.md", "docs/ru/**/*.md"),
    )
    for path in sorted(ROOT.glob(pattern))
]


def test_people_are_addressed_as_vy_without_a_capital() -> None:
    """Prompts of the datasets are addressed to models and are not part of the program's own texts."""
    own = [path for path in SOURCES if "prompts" not in path.parts]
    for path in own:
        text = path.read_text("utf-8")
        assert not re.search(r"[а-яё,] (?:Вы|Вас|Вам|Вами|Ваш\w*)\b", text), path
        assert not re.search(r"\b(?:[Тт]ебя|[Тт]ебе|[Тт]обой|[Тт]воего|[Тт]воих|[Тт]воей)\b", text), path
