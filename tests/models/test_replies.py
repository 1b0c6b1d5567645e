"""Answers are read from the log as each reply would be read alone."""

import json
import re
from pathlib import Path

import pytest

from merilo.datasets import Answer, Dataset, dataset
from merilo.datasets.bundled_items import examples
from merilo.items import Item
from merilo.models.asking import ModelReply, Request
from merilo.models.reply_answers import answers_in, read_reply
from merilo.models.run_log import open_log, replies_of_run
from merilo.settings import Manner

LINES = (Path(__file__).parent / "replies" / "guard.jsonl").read_text(encoding="utf-8").splitlines()
#: A reply with the letter Б would change how others are read.
REPLIES = [
    (row["reply"], "length" if row["cut"] else "stop")
    for row in map(json.loads, LINES)
    if not re.search(r"\b[БГДЖЗИ]\b", row["reply"])
]


#: Questions of four and of five options.
OWN = Dataset(
    name="own",
    title="Own",
    about="A choice",
    fields=("question", *(f"option_{label}" for label in "abcde")),
    hidden=("option_e",),
    answer=Answer(kind="choice", labels=tuple("ABCDE")),
    metrics=("acc",),
)
OWN_ITEMS = [
    Item(
        number, "{question}", {"question": "?", **{f"option_{label}": f"{label}{number}" for label in labels}}
    )
    for number, labels in enumerate(("abcde", "abcd", "abcde", "abcd"))
]


@pytest.mark.parametrize("manner", ["merilo", "harness"])
@pytest.mark.parametrize("name", ["rummlu", "rwsd", "bps", "simplear", "use", "chegeka", "ruethics", "own"])
def test_a_reply_in_a_log_is_read_as_it_would_be_alone(name: str, manner: Manner, tmp_path: Path) -> None:
    """Readings are shared between items; a reply that repeats a text of an item is read for that item."""
    declared = OWN if name == "own" else dataset(name)
    items = OWN_ITEMS if name == "own" else examples(declared)["test"].items[:6]
    texts = [
        str(value)
        for item in items
        for value in (item.inputs.values() if not isinstance(item.inputs, str) else [item.inputs])
    ]
    # Every reply is given to every item, and so are replies that repeat a text of one of them.
    replies = REPLIES + [(f"{text}.", "stop") for text in texts if len(text) < 80]
    replies += [(f"Ответ: {text}", "stop") for text in texts if len(text) < 80]
    with open_log(tmp_path) as log:
        for item in items:
            for sample, (text, finish) in enumerate(replies, 1):
                log.append(Request(name, item.id, sample, (), "?"), ModelReply(text=text, finish=finish))
    replies_in_log = replies_of_run(tmp_path, declared)
    found = answers_in(replies_in_log, {str(item.id): item for item in items}, manner=manner)
    alone = [
        read_reply(declared, item, ModelReply(text=text, finish=finish), manner)
        for item in items
        for sample, (text, finish) in enumerate(replies, 1)
    ]
    assert [(one.outcome, one.answer) for one in found.rows] == [
        (one.outcome, "" if one.answer is None else one.answer) for one in alone if one.outcome != "failed"
    ]
    assert len({one.outcome for one in found.rows}) >= (3 if manner == "merilo" else 1)
