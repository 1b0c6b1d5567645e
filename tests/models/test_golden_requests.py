"""What a model is sent for every dataset, in Merilo's prompts and in those of the benchmark's harness.

The files in `golden/` are read by a person and compared with the requests.

`UPDATE_GOLDEN=1` writes them anew.
"""

import os
from pathlib import Path

import pytest
from every import every

from merilo.datasets import Dataset, dataset, names
from merilo.datasets.bundled_items import examples
from merilo.errors import MeriloError
from merilo.items import Item
from merilo.models.asking import Request
from merilo.models.prompter import Prompter
from merilo.settings import RunSettings

GOLDEN = Path(__file__).parent / "golden"

#: The forms of a request that each file shows.
FORMS = (
    ("continued text, 0 shots", RunSettings(prompts="merilo", shots=0), False),
    ("continued text, 1 shot", RunSettings(prompts="merilo", shots=1), False),
    ("continued text, 2 shots", RunSettings(prompts="merilo", shots=2), False),
    ("chat, 0 shots", RunSettings(prompts="merilo", shots=0, system="Отвечай кратко."), True),
    ("chat, 1 shot", RunSettings(prompts="merilo", shots=1), True),
    ("harness, continued text, as the dataset declares", RunSettings(prompts="harness"), False),
    ("harness, chat, 0 shots", RunSettings(prompts="harness", shots=0), True),
)
DIALOGUE_FORMS = (
    ("continued text, first turn", RunSettings(prompts="merilo"), False),
    ("continued text, third turn", RunSettings(prompts="merilo"), False),
    ("chat, third turn", RunSettings(prompts="merilo"), True),
    ("chat, third turn, as people saw it", RunSettings(as_people=True), True),
    ("harness, continued text, third turn", RunSettings(prompts="harness"), False),
)


def asked(declared: Dataset) -> list[Item]:
    """The items that a file shows: the first one of each group of prompts."""
    items = examples(declared)["test"].items
    if declared.shots.earlier_turns:
        return [items[0]]
    first: dict[object, Item] = {}
    for item in items:
        first.setdefault(item.meta.get(declared.prompts_by) if declared.prompts_by else None, item)
    return list(first.values())


def shown(request: Request) -> str:
    """A request as a page of text."""
    if request.messages:
        body = "\n".join(f"<{message.role}>\n{message.text}" for message in request.messages)
    else:
        body = request.prompt
    asked_for = (
        f"compared: {' | '.join(map(repr, request.choices))}"
        if request.choices
        else f"generated: at most {request.max_tokens} tokens, temperature {request.temperature:g}, "
        f"seed {request.seed}, stop {list(request.stop)}"
    )
    return f"{body}⏎\n[{asked_for}]\n"


def page(declared: Dataset) -> str:
    """The golden file of a dataset."""
    splits = examples(declared)
    pool = [*splits["shots"].items, *splits["test"].items]
    dialogue = declared.shots.earlier_turns
    sections = []
    for item in asked(declared):
        group = f", {item.meta[declared.prompts_by]}" if declared.prompts_by else ""
        for title, settings, chat in DIALOGUE_FORMS if dialogue else FORMS:
            try:
                prompter = Prompter(declared, pool, settings, chat=chat, items=splits["test"].items)
                if "third" in title:
                    first, second, third = splits["test"].items[:3]
                    request = prompter.request(third, earlier=[(first, "1"), (second, None)])
                else:
                    request = prompter.request(item)
                body = shown(request)
            except MeriloError as error:
                body = f"(status {error.exit_status}) {error}\n"
            sections.append(f"=== {title}{group} ===\n{body}")
    return "\n".join(sections)


@every("name", names())
def test_the_requests_of_a_dataset_are_those_that_a_person_read(name: str) -> None:
    file = GOLDEN / f"{name}.txt"
    text = page(dataset(name))
    if os.environ.get("UPDATE_GOLDEN"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    if not file.is_file():
        pytest.fail(f"{file.name} is missing: run with UPDATE_GOLDEN=1 and read it")
    assert text == file.read_text(encoding="utf-8")


def test_every_golden_file_belongs_to_a_dataset() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(names())
