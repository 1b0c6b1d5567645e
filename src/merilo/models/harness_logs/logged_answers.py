"""The answer that a row of a log gives, in the form of the dataset."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from merilo.datasets.bare_forms import option_fields
from merilo.datasets.declaration import Dataset
from merilo.items import Item
from merilo.models.answer_extraction import ExtractedAnswer, extract
from merilo.models.asking import ChatMessage, Request
from merilo.models.harness_logs.item_matching import squeezed
from merilo.models.harness_logs.log_rows import LogRow

#: A letter that names a choice: after "ANSWER:", as Inspect asks for it, or alone.
_ANSWERED: Final = re.compile(r"(?i:answer)\s*:?\s*\**\(?([A-Z])\b")
_ALONE: Final = re.compile(r"\W*([A-Z])\W*")


def answer_of(row: LogRow, declared: Dataset, item: Item) -> ExtractedAnswer:
    """Return the answer of a row, by the rules of `merilo run`.

    If the harness compared choices that are not the dataset's labels, or named the choices of a generated answer by letters,
    a choice stands for the label whose option has the same text, or else for the label in the same position.
    """
    labels = declared.answer.labels
    if row.reply.loglikelihoods:
        places = _places(row.choices, declared, item)
        if not places:
            values = row.reply.loglikelihoods
            best = row.choices[values.index(max(values))]
            return ExtractedAnswer(best.strip(), "answered", "text of the likeliest choice", best)
        reply = replace(row.reply, loglikelihoods=tuple(row.reply.loglikelihoods[place] for place in places))
        return extract(declared, item, _request(row, declared, item, choices=labels), reply)
    letters = [letter for letter, _ in row.letters]
    places = _places([text for _, text in row.letters], declared, item)
    if places and [letters[place] for place in places] != [*labels]:
        text = row.reply.text
        found = [*_ANSWERED.finditer(text)][-1:] or [*filter(None, [_ALONE.fullmatch(text)])]
        if found and found[0][1] in letters:
            label = labels[places.index(letters.index(found[0][1]))]
            return ExtractedAnswer(label, "answered", "letter of the choice", found[0][0])
    return extract(declared, item, _request(row, declared, item), row.reply)


def _places(choices: Sequence[str], declared: Dataset, item: Item) -> list[int]:
    """Return the place of each label's choice among the choices; empty if choices and labels do not correspond."""
    texts, labels = [squeezed(choice) for choice in choices], declared.answer.labels
    if not labels or len(texts) != len(labels):
        return []
    inputs = item.inputs if isinstance(item.inputs, Mapping) else {}
    options = [squeezed(str(inputs.get(field, ""))) for field in option_fields(declared).values()]
    for known in ([squeezed(label) for label in labels], options):
        if len(set(texts)) == len(texts) and set(texts) == set(known) and len(known) == len(texts):
            return [texts.index(one) for one in known]
    return [*range(len(labels))]


def _request(row: LogRow, declared: Dataset, item: Item, choices: Sequence[str] = ()) -> Request:
    """Return the request as far as the log tells it."""
    prompt = row.prompt or ""
    said = (ChatMessage("user", (prompt,)),)
    return Request(
        declared.name, item.id, row.sample, said, prompt, choices=tuple(choices), stop=declared.stop
    )
