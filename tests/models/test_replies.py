"""Answers are read from the log as each reply would be read alone."""

import json
from pathlib import Path

import pytest

from merilo.datasets import dataset
from merilo.datasets.ready_items import examples
from merilo.models.asking import ModelReply, Request
from merilo.models.replies import replies_of_run
from merilo.models.reply_answers import answers_in, read_reply
from merilo.models.run_log import open_log

LINES = (Path(__file__).parent / "replies" / "guard.jsonl").read_text(encoding="utf-8").splitlines()
REPLIES = [(row["reply"], "length" if row["cut"] else "stop") for row in map(json.loads, LINES)]


@pytest.mark.parametrize("name", ["rummlu", "rwsd", "bps", "simplear", "use", "chegeka", "ruethics"])
def test_a_reply_in_a_log_is_read_as_it_would_be_alone(name: str, tmp_path: Path) -> None:
    """Readings are shared between items; a reply that repeats a text of an item is read for that item."""
    declared = dataset(name)
    items = examples(declared)["test"].items[:6]
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
    found = answers_in(replies_of_run(tmp_path, declared), {str(item.id): item for item in items})
    alone = [
        read_reply(declared, item, ModelReply(text=text, finish=finish))
        for item in items
        for sample, (text, finish) in enumerate(replies, 1)
    ]
    assert [(one.outcome, one.answer) for one in found.rows] == [
        (one.outcome, "" if one.answer is None else one.answer) for one in alone if one.outcome != "failed"
    ]
    assert len({one.outcome for one in found.rows}) >= 3
